/* The loop IR: what runs, as loops over buffers.  It knows no operations, no specs and no tensors' rows: only extents,
 * linear indices and primitives.
 *
 * Meaning: statements run in order; a FOR of any loop kind means the same as a serial one (the kind is a promise that
 * order does not matter, or permission to vectorise).  Buffers never alias.  Floats are IEEE in the precision noted;
 * integers wrap.  A contraction note on a FOR promises what the nest computes; the nest itself stays complete, so the
 * interpreter ignores the note. */
#ifndef TSR_LOOP_LOOP_H
#define TSR_LOOP_LOOP_H
#include "../code/code.h"
#include "spread.h"

typedef uint32_t tsr_buffer_id;
typedef uint32_t tsr_local_id;

/* ---- indices --------------------------------------------------------------------------------------------------- */

typedef enum { TSR_LSYM_LOOP, TSR_LSYM_NUMBER, TSR_LSYM_DATA } tsr_lsym_kind;     /* FOR's; a runtime number; LETSYM's or LOOKUP's */
typedef struct tsr_lin_term { int64_t coef; tsr_lsym_kind kind; uint32_t id; } tsr_lin_term;
/* offset + base + sum of coef * symbol. */
typedef struct tsr_lin { int64_t offset; tsr_size base; uint32_t n; tsr_lin_term *terms; } tsr_lin;

static inline tsr_lin tsr_lin_const(int64_t offset) { return (tsr_lin){offset, {0, 0, NULL}, 0, NULL}; }
/* Adding to an index: terms of one symbol are merged, those of coefficient 0 dropped. The arrays are new; nothing is shared. */
tsr_lin tsr_lin_add_sym(tsr_arena *a, tsr_lin x, int64_t coef, tsr_lsym_kind kind, uint32_t id);
tsr_lin tsr_lin_add_size(tsr_arena *a, tsr_lin x, int64_t coef, tsr_size s);
tsr_lin tsr_lin_add(tsr_arena *a, tsr_lin x, int64_t coef, tsr_lin y);
bool tsr_lin_equal(tsr_lin x, tsr_lin y);
bool tsr_extent_equal(tsr_size x, tsr_size y);         /* terms in any order */
/* index.c: what it grows by from one iteration of the loop to the next; whether that is anything; whether it is this loop's symbol and nothing else. */
int64_t tsr_lin_coef(const tsr_lin *x, uint32_t loop);
bool tsr_lin_mentions(const tsr_lin *x, uint32_t loop);
bool tsr_lin_bare(const tsr_lin *x, uint32_t loop);

/* index in [0, size) */
typedef struct tsr_range { tsr_lin index; tsr_size size; } tsr_range;

/* ---- buffers ---------------------------------------------------------------------------------------------------- */

typedef enum {
	TSR_BUFFER_PARAM, TSR_BUFFER_STATE, TSR_BUFFER_VALUE, TSR_BUFFER_GRAD, TSR_BUFFER_LITERAL, TSR_BUFFER_FILE,
	TSR_BUFFER_INPUT, TSR_BUFFER_TEMP
} tsr_buffer_kind;

/* Where a buffer's elements lie: in memory of its own; in the memory that many share, one after the other; in a slot of such
 * memory that is laid out when the program knows its sizes; nowhere, because no code touches it; or in work memory of which each
 * thread has its own, since it holds what belongs to one iteration of a loop that is divided among threads; or where the caller of an
 * exported function wants its result. */
typedef enum { TSR_HOME_OWN, TSR_HOME_ARENA, TSR_HOME_SLOT, TSR_HOME_NONE, TSR_HOME_THREAD, TSR_HOME_CALLER } tsr_home;

typedef struct tsr_buffer {
	tsr_buffer_id id;
	tsr_name name;               /* "net.hidden.w", "net.hidden.w.grad" */
	tsr_buffer_kind kind;
	tsr_prec prec;
	uint32_t rank;
	tsr_size *dims;              /* memory order, row-major, last axis contiguous */
	tsr_size *shape;             /* the program level's, where code sees other dims (opt/collapse.c), as many of them; or NULL */
	tsr_tensor_id tensor;        /* TSR_NONE for TEMP */
	bool row;                    /* holds what belongs to one iteration of the loops around it (opt/rows.c) */
	bool scratch;                /* each run stores what it reads of it before, which indices alone do not tell: said by the pass that made it (opt/winograd_build.c) */
	bool asked;                  /* a later pass reads it (opt/masked_blocks.c) */
	bool observed;               /* the program level reads or writes it, or it lasts whatever the code does, as parameters do: always stored */
	uint32_t returned;           /* 1 + the unit that computes it for a caller, who alone sees it; 0: others see it */
	tsr_numbers data;            /* LITERAL */
	uint64_t count;
	tsr_home home;               /* OWN until opt/buffers.c has run */
	int64_t offset;              /* ARENA, THREAD: of element 0, in bytes; a multiple of 64. SLOT: the slot's number */
} tsr_buffer;

static inline const tsr_size *tsr_buffer_shape(const tsr_buffer *b) { return b->shape ? b->shape : b->dims; }
/* The last axis of more than one place, along which elements lie side by side: a number in an expression adds an axis of one place, which says nothing of where they are.  0 if there is none. */
static inline uint32_t tsr_buffer_last(const tsr_buffer *b)
{
	uint32_t axis = b->rank ? b->rank - 1 : 0;
	while (axis && tsr_size_is_const(b->dims[axis]) && b->dims[axis].k == 1)
		axis--;
	return axis;
}
/* So many elements lie between what an iteration of the loop touches and what the next one does; false where that hangs on a size that only the run knows. */
/* The same element of the buffer, wherever the loops are. */
bool tsr_index_equal(const tsr_buffer *b, const tsr_lin *x, const tsr_lin *y);
bool tsr_index_stride(const tsr_buffer *b, const tsr_lin *index, uint32_t loop, int64_t *out);
/* Which element it is of a row of so many that lie side by side, where the loops x and y choose the row: `offset`, and what one more loop adds (coefficient 0: none does).  Rows are the last axis, or lie
 * one behind the other along it, as an axis that stands for (group, channel) has them; there the element may not be in the row. */
bool tsr_index_in_row(const tsr_buffer *b, const tsr_lin *index, int64_t row, uint32_t x, uint32_t y, tsr_lin_term *by, int64_t *offset);

/* ---- expressions and statements --------------------------------------------------------------------------------- */

typedef enum {
#define TSR_EXPR(kind, text, doc) TSR_EXPR_##kind,
#include "loop.def"
	TSR_EXPR_KINDS
} tsr_expr_kind;

typedef struct tsr_expr tsr_expr;
struct tsr_expr {
	tsr_expr_kind kind;
	tsr_prec prec;                       /* of the value */
	union {
		tsr_scalar value;                                            /* CONST */
		struct { tsr_buffer_id buffer; tsr_lin *index; } load;       /* rank indices */
		tsr_local_id local;
		tsr_lin index;                                               /* INDEX */
		tsr_size size;                                               /* SIZE */
		uint32_t number;                                             /* NUMBER */
		struct { tsr_op op; tsr_prec operand_prec; tsr_expr *args[3]; } op;
		tsr_expr *converted;
		struct { uint32_t sym; tsr_expr *at, *value; } lookup;           /* sym names at in value */
		struct { uint32_t n; tsr_range *ranges; tsr_expr *inside, *outside; } select;
	};
};

typedef enum { TSR_FOR_SERIAL, TSR_FOR_PARALLEL, TSR_FOR_VECTOR, TSR_FOR_REDUCE } tsr_for_kind;
/* SERIAL: order matters. PARALLEL: iterations are independent. VECTOR: independent and meant for lanes. REDUCE: the body
 * accumulates into a local or one element with an associative accumulator whose order may be changed. */

typedef enum {
#define TSR_STMT(kind, text, doc) TSR_STMT_##kind,
#include "loop.def"
	TSR_STMT_KINDS
} tsr_stmt_kind;

typedef enum { TSR_TURNS_NONE, TSR_TURNS_WALKED, TSR_TURNS_TAKEN } tsr_turns_kind;
typedef struct tsr_stmt tsr_stmt;
typedef TSR_VEC(tsr_stmt *) tsr_stmts;
/* Memory whose size the run knows: `each` bytes, as often as the extents' product says.  So much of it together is at least so many bytes, or where one thread computes the kernel so many. */
typedef struct tsr_bytes { int64_t each; uint32_t n; tsr_size *extents; } tsr_bytes;
typedef struct tsr_large { TSR_VEC(tsr_bytes) parts; int64_t least, alone; } tsr_large;
struct tsr_stmt {
	tsr_stmt_kind kind;
	tsr_span span;
	union {
		struct {
			uint32_t sym; tsr_name name; tsr_size extent; tsr_for_kind how;
			const tsr_lin *from, *until;                         /* none before this one is needed, and none from this one on, between which there is one at least (opt/masked.c); or NULL */
			const struct tsr_hidden *hidden;                     /* blocks of a strip, of which a mask hides the last ones (opt/strip_hidden.c, until opt/masked.c); or NULL */
			bool split;                                          /* divided among threads (opt/threads.c) */
			tsr_turns_kind turns;                                /* or its iterations, with those of loops around it, are taken by them in turns */
			bool seldom;                                         /* whether it runs hangs on what is seldom in data (opt/finite.c): its code is short rather than fast */
			bool stream;                                         /* its last store goes around the caches (opt/stream.c) */
			int64_t overlap;                                     /* walks of several rows go together (opt/overlap.c), if the run says that they have some and at most so many iterations; 0: they do not; INT64_MAX: they do */
			uint32_t parts, part_sym;                            /* a sum, taken in so many parts if the run says that it is long, and two symbols for where one begins and ends (opt/totals.c); or 0 */
			tsr_expr *ahead;                                     /* an element that is read soon, to be fetched by now; or NULL */
			tsr_stmts body;
			struct tsr_contraction *contraction;                 /* set by opt/classify, or NULL */
		} loop;
		struct { tsr_buffer_id buffer; tsr_lin *index; tsr_acc acc; tsr_expr *value; } store;   /* STORE, UPDATE */
		struct { tsr_local_id local; tsr_prec prec; tsr_expr *value; } let;                     /* LET, SET */
		struct { uint32_t sym; tsr_expr *value; } letsym;
		struct { uint32_t n; tsr_range *ranges; tsr_stmts body; } cond;
		struct { tsr_buffer_id buffer; tsr_name key; bool per_run; } random;                    /* per_run: a new stretch of the stream each run */
		struct { tsr_range range; const char *what; } check;
		struct {
			tsr_name name; tsr_stmts body;
			struct tsr_team *team;                               /* NULL: one thread computes it */
			TSR_VEC(tsr_large) large;                            /* its loops stream, and look ahead, only where all of this holds */
		} kernel;
	};
};

/* Of a FOR or an IF what it holds; NULL of others. */
static inline tsr_stmts *tsr_stmt_inside(const tsr_stmt *s) { return (tsr_stmts *)(s->kind == TSR_STMT_FOR ? &s->loop.body : s->kind == TSR_STMT_IF ? &s->cond.body : NULL); }

/* Constructors; `prec` of the result follows from the parts. */
tsr_expr *tsr_expr_const(tsr_arena *a, tsr_scalar value);
tsr_expr *tsr_expr_load(tsr_arena *a, const tsr_buffer *b, tsr_lin *index);
tsr_expr *tsr_expr_local(tsr_arena *a, tsr_local_id local, tsr_prec prec);
tsr_expr *tsr_expr_op(tsr_arena *a, tsr_op op, tsr_prec operand_prec, tsr_expr *x, tsr_expr *y, tsr_expr *z);
tsr_expr *tsr_expr_convert(tsr_arena *a, tsr_expr *x, tsr_prec to);         /* x itself when it is of that precision */
tsr_stmt *tsr_stmt_new(tsr_arena *a, tsr_stmt_kind kind, tsr_span span);

/* The expressions directly below this one, which are its own: how many. */
enum { TSR_MOST_PARTS = 3 };
uint32_t tsr_expr_parts(const tsr_expr *e, tsr_expr *parts[TSR_MOST_PARTS]);

/* ---- contractions ------------------------------------------------------------------------------------------------
 * FOR nest computing  C[c] acc= combine(A[a], B[b])  with the loops sorted by who mentions them; a
 * batch may have loops that only B and C mention, too, positions of which all have the same A.  Filled by
 * opt/classify.c, completed with a schedule by opt/schedule.c, turned into packed register-tile code by the emitter. */
typedef enum { TSR_CLASS_BATCH, TSR_CLASS_M, TSR_CLASS_N, TSR_CLASS_K, TSR_CLASSES } tsr_loop_class;
typedef struct tsr_contract_loop { uint32_t sym; tsr_size extent; tsr_loop_class cls; const tsr_lin *from, *until; } tsr_contract_loop;     /* `from`, `until`: its FOR's */
/* Columns whose sums a tile of dot products adds up at once, and its rows at most. */
enum { TSR_DOTS_GROUP = 4, TSR_DOTS_ROWS = 8 };
enum { TSR_SMALL_BYTES = 1 << 15 };  /* of a thread's stack */
typedef struct tsr_blocks { int64_t m, n, k; } tsr_blocks;
typedef struct tsr_schedule {
	uint32_t mr, nr;             /* register tile: rows, columns (columns a multiple of the vector width) */
	int64_t mc, nc, kc;          /* cache blocks */
	uint32_t lanes;              /* of a vector, where the columns are half of one and would be masks; 0: all that it has */
	bool pack_a, pack_b;
	bool must_a, must_b;         /* cannot be read in place */
	bool crowded;                /* A could be read in place, but its rows would crowd the caches */
	bool rows;                   /* tiles read A's rows where they lie, through pointers to each: see tsr_contraction.run */
	bool step;                   /* which are one stride apart in each tile, and what is padding for the first or the last of them is left out */
	bool cols;                   /* and B's likewise: see tsr_contraction.across */
	bool dense;                  /* the stretches of a row of B, found so, are copied side by side first */
	bool panels;                 /* a block of A stays near while one panel of B after the other goes by it, though A is not packed: else its rows go by a block of B */
	bool early;                  /* and B's next block is packed meanwhile, by the tiles of the one before (engine/early.c) */
	int64_t turn;                /* columns whose sums are turned together on their way to C: see tsr_contraction.turned; 0: none are */
	int64_t join;                /* columns that wait, a block of rows at a time, until rows that follow each other in C fill its lines; 0: none do */
	bool pairs;                  /* operands are bf16, and neighbours along K are multiplied together, two of each: a depth of kc is half as many steps */
	bool thirds;                 /* by matrix registers: operands are f32, three numbers of bf16 each (engine/thirds.c) */
	bool planes;                 /* ... windows of which A's are read from planes of an image (opt/planes.c) */
	bool blocks_named;           /* a file says in which blocks that is: */
	tsr_blocks named_blocks;     /* of depth 0: in none, but by vectors */
	bool asked;                  /* so they should be where that is possible, whether or not it pays; for tests */
	bool spread;                 /* the rows of B that a block has are as far apart as there are blocks */
	bool dots;                   /* both operands are read in place along K, whose steps are the lanes of vectors that are added up at a tile's end */
	int64_t together;            /* rows that all positions of a batch compute before any computes the next ones; 0: one position after the other */
	bool aside;                  /* sums wait side by side, tile by tile, until all that is summed has been added there */
	int64_t knit;                /* tiles themselves put such lines together, of rows that are so many columns in C; 0: they do not */
	bool by_vectors;             /* N's are divided by vectors of columns rather than tiles, whose remainders have any number of them */
	tsr_loop_class split;        /* whose positions are divided among threads when the loop is split: BATCH, M or N */
	tsr_loop_class few;          /* and which of them where rows are few (opt/few.c) */
	bool dynamic;                /* threads take blocks of rows in turns, those of each column of the grid by themselves, rather than even shares */
	bool alone;                  /* each thread packs all of B that it reads, and keeps its share of C */
	bool own_rows;               /* in turns: each begins with rows of its own, side by side, and helps with others' when it is ready */
	int64_t grid;                /* M's and N's are: at most so many threads, a power of two, side by side along N; of a batch's positions: M's, too,
								  * where threads are more than these; 0: one class alone */
	bool small;                  /* a thread's panels and tables lie on its stack (small.c) */
	bool named;                  /* tile, blocks and packing are those of a file, and stay so */
	const char *reason;          /* for --dump=schedule */
	const char *form;            /* what opt/tuned.c calls such contractions; NULL unless schedules are read or tuned */
} tsr_schedule;
/* What becomes of a sum before it is stored: the nest's last statements, LETs of values and then STOREs, of expressions of the sum's local, of
 * those values and of elements, at the sum's own place.  What they store they may read before, there, so that all of them can be computed
 * before any is stored.  C is the first one's buffer, where parts of the sum wait for the others, and which none of them reads; unless
 * `passing`: one block of K takes the whole sum, which nobody but the tail gets. */
enum { TSR_MOST_LETS = 8 };
typedef struct tsr_tail { tsr_local_id sum; tsr_stmts lets, stores; bool passing; } tsr_tail;
/* Loops of a class along which an operand lies side by side, the widest first; n 0: none.  Where guards mention some of them, all but the last
 * one, `length` is small. */
enum { TSR_MOST_JOINED = 4, TSR_MOST_GUARDED = 64 };
typedef struct tsr_stretch { uint32_t n, loop[TSR_MOST_JOINED]; int64_t length; } tsr_stretch;
/* Places that a product leaves out between its rows and that are zero: so many elements behind each row's own in C (opt/gaps.c). */
typedef struct tsr_gaps { uint32_t n; int64_t *at; bool around; } tsr_gaps;      /* around: and are written around the caches */
typedef struct tsr_contraction {
	uint32_t nloops; tsr_contract_loop *loops;
	tsr_expr *a_value, *b_value; /* the operand as an expression of its loops (padding, conversions, producers); usually a LOAD */
	tsr_buffer_id c, a, b;       /* a, b: the LOAD's, or TSR_NONE where the value is another expression */
	tsr_lin *c_index, *a_index, *b_index;
	tsr_stretch run;             /* of K along which A lies side by side, when its rows are read in place */
	tsr_stretch across;          /* of N along which B lies side by side, likewise */
	int64_t most_rows;           /* of M, whose number only the run knows: not more than these; 0: any number (opt/few.c) */
	int64_t turned;              /* N follows B where C does not: sums wait in B's order and are turned, about so many columns at once; 0: N follows C */
	bool cut;                    /* columns that lie side by side in B are cut for that */
	bool watched;                /* where a sum is a NaN the local `witness` becomes true, for all threads alike */
	tsr_local_id witness;
	bool a_finite, b_finite;     /* it must be: the other operand is 0 where a guard, which only the nest itself has, lets nothing in */
	tsr_prec prec;               /* of the operands and the sums */
	tsr_acc acc; tsr_op combine;
	bool clear;                  /* C is set to neutral first by the nest itself */
	tsr_tail *tail;              /* NULL: C is the sum itself */
	tsr_gaps *gaps;              /* which the engine clears, as the nest before it says that clears all of C and is left out; or NULL */
	tsr_schedule schedule;
} tsr_contraction;

/* ---- threads ---------------------------------------------------------------------------------------------------------
 * Every thread of a team runs the whole kernel; of a split loop each takes a stretch of its own, one after the other of the
 * threads, and at the end of a split loop that another statement follows they wait for each other.  What is computed for an
 * element does not depend on how many there are. */
typedef struct tsr_work { double each; uint32_t n; tsr_size *extents; } tsr_work;     /* `each` nanoseconds, as often as the extents' product says */
typedef struct tsr_team { TSR_VEC(tsr_work) work; int64_t row_bytes; uint32_t nlater; } tsr_team;     /* the kernel's work; its buffers at home in THREAD, and how many there are whose size only the run knows */

/* ---- a program of units ------------------------------------------------------------------------------------------ */

typedef struct tsr_loop_unit {
	tsr_name name;
	tsr_stmts body;              /* KERNEL, CHECK and RANDOM statements */
	uint32_t nsyms, nlocals;     /* numbered from 0 in each unit */
} tsr_loop_unit;

/* A size that a division of another one gives: how often `by` is in it, or (`rest`) what is left. */
typedef struct tsr_quotient { uint32_t symbol; tsr_size of; int64_t by; bool rest; } tsr_quotient;

typedef struct tsr_loops {
	tsr_compiler *tc;
	tsr_graph *graph;            /* NULL when read from text */
	TSR_VEC(tsr_buffer *) buffers;
	TSR_VEC(tsr_loop_unit *) units;              /* same index as tsr_code.units */
	TSR_VEC(tsr_name) numbers;                   /* runtime numbers */
	TSR_VEC(tsr_name) symbols;                   /* run-time sizes */
	TSR_VEC(tsr_quotient) quotients;             /* those of them that follow from earlier ones */
	TSR_VEC(const char *) notes;                 /* what passes decided, one line each, for --dump=schedule */
	int64_t separate_bytes;                      /* what all buffers of known size would take without opt/buffers.c; 0 before it */
	int64_t recomputed_bytes;                    /* of buffers that opt/remat.c has computed again rather than kept */
	uint32_t nslots;                             /* each as large as the largest of its buffers turns out */
	int64_t arena_bytes;                         /* of the buffers at home in the arena; its contents last for one unit */
} tsr_loops;

/* The buffer that holds a tensor's value or gradient, or TSR_NONE when it is virtual. */
tsr_buffer_id tsr_loops_buffer(const tsr_loops *l, tsr_tensor_id tensor, tsr_part part);
/* index.c: so many of its loads, of those that hang on the other loop, too (TSR_NONE: of all), go from one element to the next along the loop. */
uint32_t tsr_expr_unit_loads(const tsr_loops *l, const tsr_expr *x, uint32_t loop, uint32_t other);
/* More of them do so along x than along y: of those that hang on both, or else of all. */
bool tsr_expr_lies_along(const tsr_loops *l, const tsr_expr *e, uint32_t x, uint32_t y);

/* build.c: the size divided, as a size: a number, or a symbol of the quotients'. */
tsr_size tsr_loops_quotient(tsr_loops *l, tsr_size of, int64_t by, bool rest);
/* interp.c: its value; all of them are set, which follow from the other symbols. */
int64_t tsr_quotient_eval(const tsr_quotient *q, const int64_t *symbols);
void tsr_loops_divide(const tsr_loops *l, int64_t *symbols);

/* Lowers every unit: one KERNEL of plain nests per assignment and piece, with initialisation as section 5 of the
 * inference paper says (`=:acc` on an injective map stores once, elsewhere neutral first where needed).
 * FILL, POSITIONS, NUMBER and SIZE tensors become expressions, never buffers, unless observed.
 * `observed[2 * tensor + part]` (may be NULL): values and gradients that the program level reads or writes; `returned`, likewise:
 * 1 + the unit that computes it for a caller who alone sees it, or 0. */
tsr_loops *tsr_loops_lower(const tsr_code *code, const bool *observed, const uint32_t *returned);
void tsr_loops_print(const tsr_loops *l, FILE *out);                         /* --dump=loop; print.c describes the text */
void tsr_loops_print_unit(const tsr_loops *l, uint32_t unit, FILE *out);
/* Reads the printed form (for running single passes from text); NULL when malformed (reported). */
tsr_loops *tsr_loops_read(tsr_compiler *tc, uint32_t file);
void tsr_loops_check(const tsr_loops *l, const char *after);                 /* tsr_bug("after pass X: ...") when ill-formed */

/* The elements of a literal, as memory has them. */
void *tsr_loops_literal(tsr_arena *a, const tsr_buffer *b);

/* The reference interpreter: runs a unit over memory given by the caller. buffers[i] holds buffer i's elements in its
 * precision. A failed CHECK calls fail(user, ...) and stops the unit with false. */
typedef struct tsr_machine {
	void **buffers;
	const int64_t *numbers;
	const int64_t *symbols;
	uint64_t seed;
	uint64_t *random_counters;   /* per buffer: words drawn so far by per_run statements */
	tsr_spread **spreads;        /* per buffer and element, to be kept up beside the values; NULL: none are */
	void *user;
	void (*fail)(void *user, tsr_span span, const char *what, int64_t index, int64_t size);
} tsr_machine;
bool tsr_loops_run(const tsr_loops *l, uint32_t unit, tsr_machine *m);
int64_t tsr_size_eval(tsr_size s, const int64_t *symbols);
#endif
