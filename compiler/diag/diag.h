/* Diagnostics: collected, located, coded, and rendered at the end.
 *
 * A user's mistake is tsr_report(), and compilation goes on with a poison value, so that one run finds many mistakes;
 * whoever meets poison reports nothing.  A fault of the compiler is tsr_bug(): it says so and exits with status 70.
 * At most 20 errors are kept; identical (code, span) pairs are reported once. */
#ifndef TSR_DIAG_DIAG_H
#define TSR_DIAG_DIAG_H
#include "source.h"
#include "../base/text.h"
#include <stdio.h>

typedef enum {
#define TSR_DIAG(name, code, severity, headline) TSR_##name,
#include "diag.def"
#undef TSR_DIAG
	TSR_DIAG_COUNT
} tsr_diag_code;

typedef enum { TSR_ERROR, TSR_WARNING } tsr_severity;

typedef struct tsr_note { tsr_span span; const char *text; } tsr_note;

typedef struct tsr_diag {
	tsr_diag_code code;
	tsr_span span;
	const char *text;
	TSR_VEC(tsr_note) notes;         /* other places involved, in order */
	const char *hint;                /* what to write instead, or NULL */
} tsr_diag;

/* Everything hangs off the compiler; it is created by the driver (and by tests) and passed first everywhere. */
struct tsr_compiler {
	tsr_arena *arena;                /* names, AST, modules, graph, results */
	tsr_names *names;
	TSR_VEC(tsr_source *) sources;
	TSR_VEC(tsr_diag *) diags;
	uint32_t nerrors, nwarnings;
	const struct tsr_options *options;   /* driver/options.h; NULL in unit tests */
	TSR_VEC(const char *) include_dirs;  /* -I, in order: where modules and data files named by the program are looked up */
	const char *stdlib_dir;              /* the standard library's folder, or NULL */
	TSR_VEC(const char *) data_files;    /* data files whose headers were read while compiling, for -MD */
};

/* Forgets what was reported: the same is found again, told better. */
void tsr_diags_clear(tsr_compiler *tc);

tsr_compiler *tsr_compiler_new(void);
void tsr_compiler_free(tsr_compiler *tc);

/* Records a diagnostic; the result takes notes and a hint (it is never NULL, even past the limit). */
tsr_diag *tsr_report(tsr_compiler *tc, tsr_diag_code code, tsr_span span, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void tsr_note_at(tsr_compiler *tc, tsr_diag *d, tsr_span span, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void tsr_hint(tsr_compiler *tc, tsr_diag *d, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* All diagnostics, sorted by place, with source line and caret. Format of one:
 *     examples/x.tsr:3:14: error[E0301]: the sizes 3 and 4 meet on one axis
 *       3 | let%op y = a * v
 *         |              ^
 *     examples/x.tsr:1:5: note: ...
 *     hint: ... */
void tsr_diags_render(tsr_compiler *tc, FILE *out, bool colour);

/* The same, one JSON object a line: code, severity, message, place, notes with their places, hint (null where there is none).
 * A place is file, line, column, end_line, end_column, or null; columns count characters from 1, the end is exclusive. */
void tsr_diags_render_json(tsr_compiler *tc, FILE *out);
/* The members of a place in an object: `"file": .., "line": ..`; or each null. */
void tsr_place_json(tsr_compiler *tc, tsr_text *t, tsr_span span);

_Noreturn void tsr_bug_at(const char *file, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define tsr_bug(...) tsr_bug_at(__FILE__, __LINE__, __VA_ARGS__)
#define TSR_ASSERT(c) ((c) ? (void)0 : tsr_bug("assertion failed: %s", #c))
#endif
