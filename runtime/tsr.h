/* The Tessera runtime: what a C program sees.
 *
 * A context (tsr_context) owns everything a compiled model needs while it runs: buffers, run-time sizes, the state of
 * random draws, the output stream, the last error.  Contexts share nothing: two of them may be used by two threads at
 * the same time, one of them by one thread at a time.
 *
 * Conventions:
 *   - a function that can fail returns a tsr_status; tsr_last_error(ctx) then holds the message;
 *   - handles are opaque and belong to the context that made them;
 *   - "takes" in a comment means that ownership passes to the runtime, "gives" that it passes to the caller, and
 *     without either word a pointer is only looked at during the call;
 *   - nothing in the runtime prints, or ends the process, except through the callbacks of tsr_config. */
#ifndef TSR_H
#define TSR_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TSR_VERSION_MAJOR 0
#define TSR_VERSION_MINOR 1
#define TSR_VERSION_PATCH 0
/* One number that grows with every release: compare with `#if TSR_VERSION_NUMBER >= 100`. */
#define TSR_VERSION_NUMBER (TSR_VERSION_MAJOR * 10000 + TSR_VERSION_MINOR * 100 + TSR_VERSION_PATCH)
#define TSR_VERSION_STRING "0.1.0"

/* The version of the archive that was linked, to be compared with the header's TSR_VERSION_NUMBER. */
int tsr_version(void);

/* How a call ended. */
typedef enum tsr_status {
	TSR_OK = 0,
	TSR_FAILED = 1,       /* the program or its data is at fault: a size, an index, a malformed file */
	TSR_NO_MEMORY = 2,    /* an allocation failed */
	TSR_OUTPUT_FAILED = 3 /* standard output or a saved file could not be written */
} tsr_status;

/* One running instance of a compiled program.  Opaque. */
typedef struct tsr_context tsr_context;

/* Receives each error once, as "where: error: message" split into its two parts.  `where` is "file.tsr:line:column", or
 * "" where no place in the source is to blame.  Both strings live until the callback returns. */
typedef void (*tsr_error_fn)(void *user, const char *where, const char *message);

/* Receives what the program prints, in order, in pieces of any length.  Returns 0, or an errno value when the text
 * could not be written: the program then stops with TSR_OUTPUT_FAILED. */
typedef int (*tsr_write_fn)(void *user, const char *text, size_t length);

/* Receives the progress of a long loop: `done` of `total` steps of `what` (total 0: unknown). */
typedef void (*tsr_progress_fn)(void *user, const char *what, int64_t done, int64_t total);

/* Resizes like realloc: `memory` NULL allocates, `size` 0 frees and returns NULL.  NULL for a size above 0 means that
 * there is no memory. */
typedef void *(*tsr_memory_fn)(void *user, void *memory, size_t size);

/* Ends the program after a failure.  Must not return: exit, longjmp, or abort. */
typedef void (*tsr_stop_fn)(void *user, tsr_status status);

/* How a context treats the world around it.  Every callback may be NULL: then text goes to standard output, progress to
 * standard error, and memory comes from realloc.  Errors and failures: in a context that NAME_open made, no `error` means that
 * tsr_last_error alone tells, and `stop` is never called, since every call returns; in a program run by NAME_main errors go
 * to standard error and a failure exits with status 1. */
typedef struct tsr_config {
	tsr_error_fn error;
	tsr_write_fn write;
	tsr_progress_fn progress;
	tsr_memory_fn memory;
	tsr_stop_fn stop;
	void *user;           /* handed to every callback */
	const char *data_dir; /* where data files are looked up first; NULL: nowhere special */
	uint64_t seed;        /* with seed_given != 0: replaces the program's own seed */
	int seed_given;
	int nargs;               /* what `argument 1` ... of the program name: files that are opened with the context */
	const char *const *args; /* the strings must live as long as the context */
} tsr_config;

/* Fills `config` with the defaults: all NULL and 0.  Call it first, so that a field added later has its default. */
void tsr_config_init(tsr_config *config);

/* The message of the last failed call on `ctx`, "" when nothing failed, with the place in the source where there is one:
 * "model.tsr:12:30: x has 5 batch positions ...".  It lives until the next failure.  NULL is allowed: "no memory". */
const char *tsr_last_error(const tsr_context *ctx);

/* Ends a context that NAME_open of a generated header gave: writes out what was printed, frees everything.  TSR_OUTPUT_FAILED when
 * text could not be written.  NULL is allowed and does nothing. */
tsr_status tsr_close(tsr_context *ctx);

#ifdef __cplusplus
}
#endif
#endif
