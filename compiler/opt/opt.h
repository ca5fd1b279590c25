/* Loop IR to loop IR.  passes.def lists every pass; the pipeline is chosen by the optimisation level and the target. */
#ifndef TSR_OPT_OPT_H
#define TSR_OPT_OPT_H
#include "../loop/loop.h"
#include "../target/target.h"

/* Whether kernels are divided among threads: never, where it pays, or wherever it is possible (for tests). */
typedef enum { TSR_THREADS_NONE, TSR_THREADS_AUTO, TSR_THREADS_ALL } tsr_threads;

/* Schedules that were measured: see tuned.c. */
typedef struct tsr_schedules tsr_schedules;
tsr_schedules *tsr_schedules_new(tsr_compiler *tc, const char *path);
tsr_schedules *tsr_schedules_read(tsr_compiler *tc, const char *path);       /* NULL: no file, or a bad one (reported) */
/* What its line says of matrix registers. */
const char *tsr_schedule_thirds(tsr_arena *a, const tsr_schedule *s);
void tsr_schedules_set(tsr_schedules *s, const char *key, const tsr_schedule *schedule, const char *remark);
bool tsr_schedules_write(const tsr_schedules *s);                            /* to its path; false: reported */
/* Warns where there are schedules in it, but none of this target's. */
void tsr_schedules_suit(const tsr_schedules *s, const tsr_target *target);
/* A scheduled contraction gets what the file has for its form; false where that is nonsense for it (reported). */
bool tsr_schedules_apply(tsr_schedules *s, const tsr_loops *l, tsr_contraction *k, const tsr_target *target);
/* The form of a contraction that the model has scheduled; NULL where sizes are known only at run time. */
const char *tsr_schedule_key(const tsr_loops *l, const tsr_contraction *k, const tsr_target *target);
/* Why a contraction that the model schedules like `model` cannot be computed like `s`, or NULL. */
const char *tsr_schedule_unfit(const tsr_schedule *s, const tsr_schedule *model, const tsr_target *target, uint32_t elem_bytes);

/* What a schedule does not name, but the model's does: how operands are read, and what waits where, as far as its tile and packing allow. */
void tsr_schedule_follow(tsr_schedule *s, const tsr_schedule *model);

/* Bytes behind whatever lies in memory that several share, when a sanitizer is to see who leaves his own. */
enum { TSR_REDZONE = 64 };

typedef struct tsr_opt_options {
	int level;
	bool fuse;
	bool sanitize;               /* no arena; redzones between the rows of a thread */
	tsr_schedules *schedules;    /* preferred to the model, or NULL */
	bool keep;                   /* nothing is computed again unless the limit demands it */
	int tile;                    /* windows are computed by tiles of at most so many places along each axis, 2 or 4, where it pays (winograd.c); 0: as they stand */
	bool tile_all;               /* wherever it is possible, by tiles of that size and small blocks, for tests */
	int64_t memory_limit;        /* bytes for all buffers; 0: none */
	tsr_threads threads;
	bool whole;                  /* kernels as they are with these threads, but nothing is divided */
	const char *passes;          /* comma-separated, or NULL: the pipeline of the level */
} tsr_opt_options;

/* Runs the pipeline in place; in debug builds the checker runs after every pass. false: an unknown pass was named (reported). */
bool tsr_opt_run(tsr_loops *l, const tsr_target *target, const tsr_opt_options *options);
/* --dump=schedule: what was fused, inlined, classified and how each contraction is scheduled, with operations and bytes. */
void tsr_opt_print_schedule(const tsr_loops *l, const tsr_target *target, FILE *out);

/* The top-level statements of a unit between which a buffer is alive: the first and the last that touch it. */
typedef struct tsr_life { uint32_t unit, first, last; } tsr_life;
typedef struct tsr_lives { TSR_VEC(tsr_life) v; } tsr_lives;
/* Per buffer, its life in each unit that touches it. */
tsr_lives *tsr_lives_of(const tsr_loops *l, tsr_arena *a);
bool tsr_expr_reads(const tsr_expr *e, tsr_buffer_id b);
bool tsr_expr_reads_local(const tsr_expr *e, tsr_local_id id);
bool tsr_expr_has_locals(const tsr_expr *e);
/* falling.c: whether x, in a loop somewhere in `body`, is at most 0, but for some roundings, or NaN, being a value less the greatest of an earlier loop; those loops,
 * and whether nothing beside them changes that value. */
typedef struct tsr_falling { const tsr_stmt *greatest, *less; bool lasts; } tsr_falling;
bool tsr_expr_falls(const tsr_loops *l, const tsr_stmts *body, const tsr_expr *x, tsr_falling *out);
/* The first n statements, done twice, leave what they leave when they are done once. */
bool tsr_stmts_repeat(const tsr_stmts *body, uint32_t n);
/* Of a loop that opt/overlap.c marks: which statements of its body no walk waits for, n of them, and the locals that they read of the others (late.c). */
typedef struct tsr_late { bool *of; uint32_t n, nread; tsr_local_id *read; bool functions; } tsr_late;
tsr_late tsr_late_of(const tsr_loops *l, tsr_arena *a, const tsr_stmt *row);
/* joined.c: in all that is touched, an iteration of the loop `outer` is as far as `extent` of the loop `inner`; of statements that load, store and compute. */
bool tsr_expr_follows(const tsr_loops *l, const tsr_expr *x, uint32_t outer, uint32_t inner, tsr_size extent);
bool tsr_stmt_follows(const tsr_loops *l, const tsr_stmt *s, uint32_t outer, uint32_t inner, tsr_size extent);
/* Of a nest of n loops around this statement, those that are one with loop number `inner` and not marked in `with` yet are marked there: how many iterations all of
 * them have; 0: only the run knows. */
int64_t tsr_loops_joined(const tsr_loops *l, uint32_t n, tsr_stmt *const *loop, const tsr_stmt *leaf, uint32_t inner, bool *with);
/* groups.c: the loops over groups and over the few results of each, of which registers hold several groups', how many of them there are, and lanes of a register, or of its half; false: the loop is none over groups. */
typedef struct tsr_groups { const tsr_stmt *group, *each; int64_t results, count, lanes; } tsr_groups;
bool tsr_groups_of(const tsr_loops *l, const tsr_target *t, const tsr_stmt *s, tsr_groups *out);
/* There is such a loop in a nest of loops that hold nothing but the next, or, where `turning`, will be when the pass has turned what all iterations around it read. */
bool tsr_groups_within(const tsr_loops *l, const tsr_target *t, const tsr_stmt *nest, bool turning, tsr_groups *out);
/* Rows of which only the run knows that they have fewer elements are not walked together (overlap.c). */
enum { TSR_LEAST_OVERLAP = 32 };
/* Iterations of a loop within such lanes that are written out, and of two loops together. */
enum { TSR_MOST_WRITTEN = 8, TSR_MOST_POSITIONS = 25 };
/* window_sums.c: sums for each place of a window that are added up in one walk (kernel/window_sums.c). */
enum { TSR_MOST_WINDOW_LOOPS = 8, TSR_MOST_WINDOW_LOADS = 4, TSR_MOST_WINDOW_SUMS = 28 };
typedef struct tsr_window_sums {
	const tsr_loops *l;
	const tsr_target *t;
	uint32_t nresults, nsummed, nloads;
	const tsr_stmt *results[TSR_MOST_WINDOW_LOOPS], *summed[TSR_MOST_WINDOW_LOOPS];
	const tsr_stmt *let, *guard, *set, *store;       /* guard may be NULL */
	const tsr_expr *load[TSR_MOST_WINDOW_LOADS];
	bool place[TSR_MOST_WINDOW_LOOPS];       /* of the loops over results: over a window's places, or what else some load is the same for */
	const tsr_stmt *lane, *group;            /* lanes are these iterations; and, where `group`, of that loop's, too */
	bool along;                              /* lanes are steps of the innermost summed loop */
	bool image;                              /* what is summed is all of an image, and results are a window's places */
	bool held[TSR_MOST_WINDOW_LOOPS];        /* of these loops all places have their sums in registers, */
	uint32_t parted;                         /* and of this one so many at a time; TSR_NONE: of no other */
	int64_t together;
	uint32_t around;                         /* so many of the outermost summed loops go around all places, whose sums wait where they are stored */
} tsr_window_sums;
/* The nest that begins with the loop is such; false: it is not. */
bool tsr_window_sums_of(const tsr_loops *l, const tsr_target *t, const tsr_stmt *loop, tsr_window_sums *out);
/* Channels, or what else stands beside a window's places, that share one element of the other operand. */
int64_t tsr_window_sums_channels(const tsr_window_sums *x);
/* Registers for sums, TSR_MOST_WINDOW_SUMS at most. */
int64_t tsr_window_sums_most(const tsr_target *t);
/* Bytes of a buffer, or -1 when they are known only at run time. */
int64_t tsr_buffer_bytes(const tsr_buffer *b);
/* What choices take the size for, and the bytes of a buffer, where only the run knows them: TSR_GUESSED for each number that it gives. */
enum { TSR_GUESSED = 16 };
int64_t tsr_size_guess(tsr_size x);
int64_t tsr_buffer_guess(const tsr_buffer *b);
/* tsr_index_stride, by such sizes: INT64_MAX where that is no number. */
int64_t tsr_stride_guess(const tsr_buffer *b, const tsr_lin *index, uint32_t loop);
/* --dump=memory and --dump=memory-svg: where every buffer lies and how long it lives. */
void tsr_opt_print_memory(const tsr_loops *l, FILE *out);
void tsr_opt_print_memory_svg(const tsr_loops *l, FILE *out);

/* A contraction as its strides: each class a list of loops, outermost first, whose adjacent members have been fused where
 * all operands that are plain loads allow it, but for A's where its rows are read in place; an operand that is an expression has stride 0 everywhere.  Loops of extent 1
 * are gone. */
typedef enum { TSR_SIDE_C, TSR_SIDE_A, TSR_SIDE_B, TSR_SIDES } tsr_side;
typedef struct tsr_walk {
	uint32_t sym;                /* the loop; of a fused axis the outermost one */
	tsr_size extent;
	bool known;                  /* all strides are constants */
	int64_t stride[TSR_SIDES];   /* in elements; meaningful when known */
} tsr_walk;
/* `loop`: the loops before any were fused; position p of the class is its place in this order, the last loop running fastest. */
typedef struct tsr_walks { uint32_t n; tsr_walk *at; uint32_t nloops; tsr_contract_loop *loop; } tsr_walks;
typedef struct tsr_contract_view { tsr_walks cls[TSR_CLASSES]; } tsr_contract_view;
void tsr_contract_view_make(const tsr_loops *l, const tsr_contraction *k, tsr_contract_view *out);
/* planes.c: windows that matrix registers read from planes of an image's rows.  Of each axis: which it is (TSR_NONE: there are no rows but one), how long, how many results stand along it and how far apart, and which
 * places the first of these reads, from `least` on. */
typedef struct tsr_plane_axis { uint32_t axis; tsr_size extent, count; int64_t size, results, step, least, span; } tsr_plane_axis;
typedef struct tsr_planes {
	const tsr_expr *value;       /* A's element */
	tsr_plane_axis h, w;
	bool later;                  /* only the run knows how high or wide images are (`extent`, `count`), and all numbers below that follow from it are those of one that is some LATER results high and wide */
	int64_t channels, taps;
	int64_t run;                 /* numbers of a place: channels, or in runs what a window reads of a row */
	bool runs;                   /* which steps, whole ones otherwise, fill up with zeros of B */
	int64_t tall, apart;         /* so many rows of a window, so far apart, are multiplied together, runs of all of them being one; those that are left each by itself */
	int64_t depth;               /* of all that is summed, with those zeros */
	int64_t pixels, inside;      /* of a row, with what is padding; those that there are */
	int64_t high;                /* rows of an image, with what is padding */
	int64_t place;               /* bytes of a place of whole steps; in runs 0 */
	int64_t pitch, joined;       /* bytes from one row of runs to the next in a third, where none are multiplied together; of a third of a row, and of rows together, where some are */
	int64_t row, bytes, behind;  /* bytes from one row to the next; of all that is kept of a row; and that tiles may read behind the last one */
	int64_t after;               /* rows of which a step reads what lies behind the row it is of */
	int64_t places;              /* of a row, as tiles count them: those of the results come first */
} tsr_planes;
/* matrix.c: so many numbers of bf16, thirds (engine/thirds.c), an operand's are the sums of: three, or one where they are in bf16 as they are. */
uint32_t tsr_thirds_count(const tsr_expr *operand);
bool tsr_planes_of(const tsr_loops *l, const tsr_contraction *c, const tsr_contract_view *v, tsr_planes *out);
/* Bytes of planes that a block of rows should not have more of; and those that there is room for where only the run knows how wide images are. */
enum { TSR_PLANES_BYTES = 512 << 10, TSR_PLANES_ROOM = 2 << 20 };
/* Of runs, which depth stands at a place of B's panels; -1: a zero that fills a step up. */
int64_t tsr_planes_depth_at(const tsr_planes *p, int64_t at);
/* Of an image's, or of several images', under any so many rows of the product that follow each other. */
int64_t tsr_planes_rows(const tsr_planes *p, int64_t rows);
/* The operand is an element of memory in C's precision, which tiles could read in place; else packing evaluates it. */
bool tsr_contract_plain(const tsr_loops *l, const tsr_contraction *k, tsr_side side);
/* One block of K takes the whole sum: its schedule stores C once. */
bool tsr_contract_one_block(const tsr_contraction *k);
/* The class of the loop with this symbol; TSR_CLASSES: it has none.  How many places the class' loops have, each of unknown length as if it were long. */
tsr_loop_class tsr_contract_class(const tsr_contraction *k, uint32_t sym);
int64_t tsr_contract_count(const tsr_contraction *k, tsr_loop_class cls);
/* The element that an operand is within its guards, outside of which it is 0; or NULL. */
const tsr_expr *tsr_contract_guarded(const tsr_expr *operand);
/* The stretch along which A's rows could be read in place: see tsr_contraction.run. */
tsr_stretch tsr_contract_run(const tsr_loops *l, const tsr_contraction *k);
/* The same of B: see tsr_contraction.across. */
tsr_stretch tsr_contract_across(const tsr_loops *l, const tsr_contraction *k);
/* N could follow B and C's sums be turned: C lies side by side along a loop of N that is not the one along which B's columns are nearest. */
bool tsr_contract_turns(const tsr_loops *l, const tsr_contraction *k);
/* The operand lies side by side along some loop of the class. */
bool tsr_walks_along(const tsr_walks *x, tsr_side side);
/* All strides and sizes are known while compiling. */
bool tsr_walks_known(const tsr_walks *x);
/* A class is one loop (or none) with this constant stride in the operand. */
bool tsr_walks_unit(const tsr_walks *x, tsr_side side);
/* Product of the extents, or -1 when one is known only at run time. */
int64_t tsr_walks_count(const tsr_walks *x);
/* The loop of a class with most iterations, as far as they are known: its place. */
uint32_t tsr_walks_longest(const tsr_walks *x);
/* Chooses the register tile, the cache blocks and what is packed; false: plain loops are better. */
bool tsr_contract_schedule(const tsr_loops *l, tsr_contraction *k, const tsr_target *target);
/* The contraction as it is computed where its rows are few, whose number only the run knows: at most out[i].most_rows, more of them from one to the next; how many these are, 0: it has one schedule for all. */
enum { TSR_FEW = 2 };
uint32_t tsr_contract_few(const tsr_loops *l, const tsr_contraction *c, const tsr_target *target, tsr_contraction *out);
/* The same sums of products of bf16, all of which its operands are the f32 of; false: they are not. */
bool tsr_contract_narrow(const tsr_loops *l, const tsr_contraction *k, tsr_contraction *out);
/* Sums of products of f32, which matrix registers could compute. */
bool tsr_contract_thirds(const tsr_loops *l, const tsr_contraction *k, const tsr_target *target);
/* The contraction as matrix registers compute it, with its schedule; false: they do not. */
bool tsr_contract_matrix(const tsr_loops *l, const tsr_contraction *k, const tsr_target *target, tsr_contraction *out);
/* So many of the class, at least, have to turn out to be there where only the run knows how many: its rows, columns or depths; 0: any number. */
int64_t tsr_matrix_enough(const tsr_contraction *c, tsr_loop_class cls);
/* Rows and columns that stay together when a contraction is divided: tiles, or what waits for each other on its way to C. */
int64_t tsr_schedule_rows(const tsr_schedule *s);
int64_t tsr_schedule_columns(const tsr_schedule *s);
#endif
