/* What the runtime's own files share: the context and the few services that everything else stands on.  Names that other
 * files of the runtime use begin with tsr_rt_; nobody outside the runtime includes this header. */
#ifndef TSR_RUNTIME_INTERNAL_H
#define TSR_RUNTIME_INTERNAL_H
#include "prec.h"
#include "tsr_abi.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct tsr_block tsr_block; /* memory.c */
typedef struct tsr_chunk tsr_chunk; /* str.c */
typedef struct tsr_landing tsr_landing; /* embed.c */
typedef struct tsr_call tsr_call; /* embed.c */
typedef struct tsr_openmp tsr_openmp; /* threads.c */
typedef struct tsr_profile tsr_profile; /* profile.c */

struct tsr_context {
	const tsr_program *program;
	tsr_config config;
	char **args; /* the program's own arguments, after the options were taken out */
	int64_t nargs;
	const char *program_path; /* argv[0] */
	uint64_t seed;

	void **buffers;
	int64_t *syms;
	int64_t *nums;
	tsr_block *blocks; /* every block that is alive, for tsr_finish */
	unsigned colour;   /* of the next large block */
	void *work;        /* threads.c: what kernels divided among threads work in; a block that grows */
	size_t work_bytes;
	struct tsr_turn *turns; /* threads.c: of each queue one for every thread; at the beginning of `work` */
	int agreed[3];     /* threads.c: what a team's threads agree on, in turns */
	tsr_openmp *openmp; /* threads.c: NULL until it is looked for */

	tsr_chunk *strings;              /* newest chunk first */
	void (*free_strings)(tsr_ctx *); /* set by str.c when it first allocates, so that a program without strings does
                                      not link it */
	tsr_profile *profile;            /* NULL until the first kernel that is timed ends: with --profile only */
	void (*end_profile)(tsr_ctx *);  /* set with it, for the same reason */
	char *out;                       /* text that was printed and not yet written; NULL until something is */
	size_t out_used;
	bool out_terminal;
	double out_time; /* when text was last handed over because a line was finished */
	bool out_failed; /* reported already: later text is dropped in silence */
	bool stopping;   /* inside tsr_exit: a second failure must not start over */

	double start_time;
	bool bar_shown;        /* the cursor stands behind a progress bar */
	double progress_shown; /* when the bar was last drawn */
	int progress_tenth;    /* the last tenth for which a plain line was written */

	uint64_t draw_next; /* next word of the stream "main" */
	uint32_t draw_key[4];
	bool draw_ready;

	bool opened;                            /* tsr_open went well */
	bool embedded;                          /* made by tsr_open: failures are returned, and nothing is printed unasked */
	void (*leave)(tsr_ctx *, int32_t status); /* set while an embedded context runs: does not return */
	tsr_landing *landing;                   /* where it goes */
	const tsr_call *call;                   /* embed.c: the call under way */
	tsr_status failure;                     /* what the failure under way is */

	char error[1024];
};

enum { TSR_RT_OUT_SIZE = 1 << 14 };

/* memory.c.  realloc through the configuration; a failure of a size above 0 ends the program. */
void *tsr_rt_memory(tsr_ctx *ctx, void *old, size_t size);
/* A block as tsr_alloc_block's, of bytes that may be any: for what is written before it is read. */
void *tsr_rt_alloc_unset(tsr_ctx *ctx, int64_t bytes);
/* So many buffers, in one block that lasts as long as the context; each by itself where an address sanitizer watches.  An entry of the table says how many bytes it
 * has, and then where they are. */
void tsr_rt_share_block(tsr_ctx *ctx, int64_t n, void **table);
void tsr_rt_free_blocks(tsr_ctx *ctx);
/* The size of an array, 0 when an axis has no positions; false when it overflows. */
bool tsr_rt_bytes(int prec, int64_t rank, const int64_t *dims, int64_t *bytes);

/* output.c */
void tsr_rt_write(tsr_ctx *ctx, const char *text, size_t length);
/* Hands everything over; 0 or an errno value.  Reports nothing. */
int tsr_rt_drain(tsr_ctx *ctx);
/* Takes a progress bar off the terminal before something else is written there. */
void tsr_rt_clear_bar(tsr_ctx *ctx);

/* fail.c.  Reports without ending. */
void tsr_rt_report(tsr_ctx *ctx, const char *where, const char *message);

/* options.c.  Takes the runtime's options out of argv. */
void tsr_rt_options(tsr_ctx *ctx, int argc, char **argv);

/* context.c */
double tsr_rt_now(void);
/* A context without tables; NULL when there is no memory for it.  `config` may be NULL. */
tsr_ctx *tsr_rt_new(const tsr_program *program, const tsr_config *config);
/* The tables, and the buffers of known size. */
void tsr_rt_make_tables(tsr_ctx *ctx);
/* Writes out what was printed; the status to end with. */
int32_t tsr_rt_close_output(tsr_ctx *ctx, int32_t status);
void tsr_rt_free(tsr_ctx *ctx);

/* number.c.  Both write at most TSR_RT_NUMBER characters, NUL included, and return the length. */
enum { TSR_RT_NUMBER = 512 };
size_t tsr_rt_number_i64(char *to, int64_t value, int64_t width, int32_t style);
size_t tsr_rt_number_f64(char *to, double value, int64_t width, int64_t precision, int32_t style, bool single);

/* digits.c.  A whole text as a number: decimal, surrounding blanks allowed. */
bool tsr_rt_parse_i64(const char *text, int64_t *value);
bool tsr_rt_parse_f64(const char *text, double *value);
#endif
