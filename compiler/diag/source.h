/* Source files, and spans of text in them.  File 0 is "no file": its spans print without a line. */
#ifndef TSR_DIAG_SOURCE_H
#define TSR_DIAG_SOURCE_H
#include "../base/names.h"
#include "../base/vec.h"

/* Bytes [start, end) of a file. */
typedef struct tsr_span { uint32_t file, start, end; } tsr_span;
#define TSR_NOWHERE ((tsr_span){0, 0, 0})
static inline bool tsr_span_same(tsr_span a, tsr_span b) { return a.file == b.file && a.start == b.start && a.end == b.end; }

typedef struct tsr_source {
	tsr_name path;                   /* as it is shown to the user */
	const char *text;                /* NUL-terminated */
	size_t size;
	TSR_VEC(uint32_t) lines;         /* start offset of each line */
} tsr_source;

typedef struct tsr_position { tsr_name path; uint32_t line, column; } tsr_position;   /* both from 1; column in characters (UTF-8) */

typedef struct tsr_compiler tsr_compiler;

/* Reads `path`; 0 when it cannot be read (errno says why; nothing is reported). The same path is read once. */
uint32_t tsr_source_load(tsr_compiler *tc, const char *path);
/* A source from memory, for tests and for text inside string literals. */
uint32_t tsr_source_add(tsr_compiler *tc, const char *path, const char *text, size_t size);
const tsr_source *tsr_source_get(tsr_compiler *tc, uint32_t file);
/* A file of the standard library: what goes wrong there is told of the place in the program that led there. */
bool tsr_source_in_library(tsr_compiler *tc, uint32_t file);
tsr_position tsr_position_of(tsr_compiler *tc, tsr_span span);
/* The smallest span that covers both; they lie in the same file. */
tsr_span tsr_span_join(tsr_span a, tsr_span b);
#endif
