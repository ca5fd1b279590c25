/* Private to the block loops of contractions: what is known of one contraction while its code is emitted. */
#ifndef TSR_ENGINE_PRIVATE_H
#define TSR_ENGINE_PRIVATE_H
#include "kit.h"
#include "../emit/queue.h"

/* Sizes of planes (plane_sizes.c): lines of an image's results, and columns of these; rows that an image has, and with what is padding those that are read, their pixels, and which of these there are; bytes from row to row; places of a row;
 * rows of the product to a block, of which the planes have so many rows, those behind them, too; and as many numbers that say which are odd. */
typedef struct tsr_plane_sizes { LLVMValueRef lines, columns, extent, high, pixels, inside, row, places, block, all, flags; } tsr_plane_sizes;

typedef struct tsr_engine {
	tsr_kit k;
	tsr_emit *e;
	const tsr_contraction *c;
	const tsr_schedule *s;
	bool matrix;                     /* tiles are products of matrix registers: matrix.c */
	bool pairs;                      /* they are those of vectors, by pairs: panels are as those of matrix registers, and the strides of operands in bf16 */
	tsr_group cls[TSR_CLASSES];
	LLVMValueRef from[TSR_CLASSES], until[TSR_CLASSES];      /* positions of the class that are needed, where these are not all; or NULL */
	LLVMValueRef depth;              /* where those of K end */
	const tsr_walks *walks;          /* per class */
	LLVMValueRef base[TSR_SIDES];    /* where this batch's operands begin */
	LLVMValueRef packed_a, packed_b, buffer, rows;
	LLVMValueRef waiting;            /* sums that are turned, joined, or laid aside on their way to C */
	LLVMValueRef sums, narrow;       /* of matrix registers, on their way to C; rows of bf16 on their way into panels */
	LLVMValueRef columns;            /* table of a column of tiles' places in C, where N has several axes and tiles cannot store there */
	tsr_rows pointed, across;        /* A's rows, B's rows, where they are read in place */
	tsr_planes planes;               /* what A's windows are of, where the schedule has them read from planes: */
	tsr_plane_sizes plane;
	LLVMValueRef taps;               /* where a step's are: see TSR_TAP_NUMBERS */
	LLVMValueRef lines;              /* room for a B that may begin between two lines; NULL: it does not, or it does not matter */
	LLVMValueRef b_places;           /* table of where the rows of B under each stretch of A's begin, where K has several axes; or NULL */
	LLVMValueRef seen;               /* a number that becomes 1 where a sum is a NaN, or NULL */
	bool direct;                     /* tiles store into C themselves, in this form */
	tsr_c_form form;
	LLVMValueRef c_rows, c_columns;  /* its tables: for the rows of a block, for the columns of a tile */
	bool stream;                     /* C should be written around the caches */
	LLVMValueRef around;             /* and this batch's can be */
	bool split;                      /* divided among threads, by the class that the schedule names */
	uint32_t split_batch;            /* which loop of the batch */
	LLVMValueRef first, end;         /* of the rows that all positions of the batch compute before the next ones; NULL: all at once */
	struct tsr_row_queue *queue;        /* of blocks of rows, which threads take in turns; NULL: each has its own */
	tsr_tail_plan *tail;             /* NULL where there is none */
} tsr_engine;

typedef struct tsr_block {
	LLVMValueRef m, n, depth, kfirst, add;    /* first row and column; K's block; whether C already holds a part */
	LLVMValueRef last;                        /* of K's blocks */
	LLVMValueRef apart;                       /* so many rows of B from one of the block's to the next, and columns of A; NULL: one */
	LLVMValueRef rows, cols;                  /* of this block */
	LLVMValueRef turned;                      /* first column of those that wait for each other */
	LLVMValueRef a, b;                        /* panels, when packed */
	LLVMValueRef a_each, b_each;              /* elements of them for each row, each column */
	LLVMValueRef next, to, width, panel, lines; /* of the block that tiles of this one pack: see early.c */
	LLVMValueRef after;                       /* elements from the row below its last one to the first row of the block behind it */
} tsr_block;

/* space.c: a class's sizes and strides as values; the memory for panels, tables and tiles that wait to be stored. */
void tsr_engine_group(tsr_engine *g, const tsr_loops *l, const tsr_walks *x, tsr_group *out);
/* The class as this operand's memory has it: axes that follow each other there are one, whatever the other operand's do. */
tsr_group tsr_group_in_memory(tsr_engine *g, const tsr_group *x, tsr_side side);
void tsr_engine_space(tsr_engine *g);
/* Elements from one iteration of a loop to the next. */
LLVMValueRef tsr_engine_stride(tsr_engine *g, tsr_buffer_id buffer, const tsr_lin *index, uint32_t sym);
/* So many elements of an operand further. */
LLVMValueRef tsr_engine_at(tsr_engine *g, tsr_side side, LLVMValueRef p, LLVMValueRef n);
/* Of so many depths the steps of a tile. */
LLVMValueRef tsr_engine_steps(tsr_engine *g, LLVMValueRef depth);
/* lines.c: the room that B's copy wants, 0: there is none; and, before the blocks, these columns in it, where B wants it. */
int64_t tsr_lines_bytes(const tsr_engine *g);
void tsr_lines_emit(tsr_engine *g, LLVMValueRef from, LLVMValueRef to);
/* columns.c: whether B's columns are copied so that each lies side by side; elements from one to the next, and the bytes of all; and the copy of a block of K. */
bool tsr_copies_columns(const tsr_engine *g);
int64_t tsr_columns_each(const tsr_engine *g);
int64_t tsr_columns_bytes(const tsr_engine *g);
void tsr_columns_copy(tsr_engine *g, const tsr_block *bl);
/* fill.c: where these columns lie in C, one by one; the block's rows; the stretches into which the columns' vectors fall; and those that lines are put together of. */
void tsr_fill_columns(tsr_engine *g, LLVMValueRef n, LLVMValueRef cols);
void tsr_fill_rows(tsr_engine *g, const tsr_block *bl);
void tsr_fill_vectors(tsr_engine *g, LLVMValueRef n, LLVMValueRef cols);
void tsr_fill_stretches(tsr_engine *g, LLVMValueRef n);
/* heights.c: the part of a class's positions in a block that whole tiles cover, and the part of a tile behind them; a column's, or a row's, tiles, of which the last
 * ones (behind `whole`) may share their rows (`shared`, `low` rows each, where `both` says so); and the number of the one at this row. */
typedef struct tsr_tiling { LLVMValueRef from, step, full, rest; int64_t total, unit; } tsr_tiling;
typedef struct tsr_heights { tsr_tiling t; uint32_t shared, low; bool always; LLVMValueRef whole, both; } tsr_heights;
tsr_tiling tsr_tiling_of(tsr_kit *k, LLVMValueRef from, LLVMValueRef count, int64_t total, uint32_t unit);
tsr_heights tsr_heights_of(tsr_engine *g, LLVMValueRef rows, uint32_t vecs);
LLVMValueRef tsr_tile_number(tsr_kit *k, LLVMValueRef ir, uint32_t mr);
/* place.c: all tiles of a block. */
void tsr_engine_tiles(tsr_engine *g, const tsr_block *bl);
/* stage.c: elements from row to row of the sums that wait; where those of this place do; and their way to C. */
int64_t tsr_engine_waiting_row(const tsr_engine *g);
LLVMValueRef tsr_engine_waiting(tsr_engine *g, const tsr_block *bl, LLVMValueRef m, LLVMValueRef n);
void tsr_engine_turn(tsr_engine *g, const tsr_block *bl);
void tsr_engine_join(tsr_engine *g, const tsr_block *bl);
/* aside.c: whether sums wait tile by tile; the bytes of such a block; where the tile at this row and column of it is; and the way of these
 * rows of all columns of the block to C, where they do. */
bool tsr_engine_sets_aside(const tsr_engine *g);
int64_t tsr_aside_bytes(const tsr_engine *g, int64_t cols);
LLVMValueRef tsr_aside_place(tsr_engine *g, LLVMValueRef ir, LLVMValueRef jr);
void tsr_aside_emit(tsr_engine *g, const tsr_block *bl, LLVMValueRef from, LLVMValueRef to);
/* contract.c: packs a block's rows or columns; the block of K that begins here. */
void tsr_engine_pack(tsr_engine *g, tsr_side side, const tsr_block *bl);
void tsr_engine_depths(tsr_engine *g, tsr_block *bl, LLVMValueRef first);
/* early.c: whether threads take blocks of B in turns; the bytes of both buffers, of which one has `bytes`; those behind them that no other thread should write; all blocks of these rows and columns, nc at a time; and what the tile at this row and
 * column packs of the next block. */
bool tsr_early_in_turns(const tsr_engine *g);
int64_t tsr_early_bytes(const tsr_engine *g, int64_t bytes);
int64_t tsr_early_behind(const tsr_engine *g, int64_t panel);
void tsr_early_emit(tsr_engine *g, tsr_block *bl, LLVMValueRef from_m, LLVMValueRef to_m, LLVMValueRef from_n, LLVMValueRef to_n, LLVMValueRef nc);
void tsr_early_tile(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef jr, tsr_tile *tile, LLVMValueRef *arg);
/* What the tile at this row of its block and this column fetches for the next block, if anything: see tsr_tile.ahead. */
void tsr_engine_ahead(tsr_engine *g, LLVMValueRef ir, LLVMValueRef n_at, tsr_tile *tile, LLVMValueRef *next, LLVMValueRef *left);
void tsr_engine_next_panel(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef jr, LLVMValueRef b, tsr_tile *tile, LLVMValueRef *next);
void tsr_engine_next_dots(tsr_engine *g, LLVMValueRef ir, LLVMValueRef b, tsr_tile *tile, LLVMValueRef *next);
void tsr_engine_next_block(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef jr, tsr_tile *tile, LLVMValueRef *next, LLVMValueRef *left);
/* gaps.c: whether tiles clear what lies between the rows of C; and, where they do not, that beside so many of them from row m (ir of the block) on, in so many columns from n on. */
bool tsr_gaps_in_tiles(const tsr_engine *g);
typedef struct tsr_gap_tile { LLVMValueRef m, ir, n, rows, cols; uint32_t vecs; } tsr_gap_tile;
void tsr_gaps_emit(tsr_engine *g, const tsr_gap_tile *t);
/* tail.c: the plan, before the loops; where its operands begin, inside the batch; a tile's arguments; and, for tiles that have
 * stored their sums, the tail applied to rows x cols elements. */
void tsr_tail_plan_make(tsr_engine *g);
void tsr_tail_begin(tsr_engine *g);
void tsr_tail_args(tsr_engine *g, const tsr_tail_plan *t, LLVMValueRef m, LLVMValueRef n, LLVMValueRef last, LLVMValueRef *arg);
void tsr_tail_apply(tsr_engine *g, LLVMValueRef m, LLVMValueRef n, LLVMValueRef rows, LLVMValueRef cols);
/* matrix.c: the setting of matrix registers, for this thread, and its end; steps of 32 depths, the last of which may have fewer; elements of a panel for each row of A, each column of B, of so many depths; how many of so many rows packing writes; the bytes of rows on their way into panels; and packing. */
void tsr_matrix_begin(tsr_kit *k);
void tsr_matrix_end(tsr_kit *k);
LLVMValueRef tsr_matrix_steps(tsr_kit *k, LLVMValueRef depth);
LLVMValueRef tsr_matrix_each(tsr_kit *k, tsr_side side, LLVMValueRef depth);
int64_t tsr_matrix_rows(int64_t rows);
int64_t tsr_matrix_narrow_bytes(tsr_engine *g, int64_t rows, int64_t cols, int64_t depth);
void tsr_matrix_pack(tsr_engine *g, const tsr_pack *p, LLVMValueRef each);
/* What multiplies tiles takes; the first registers of operands, sums of A + i and B + j being in 2 i + j; a register from rows so far apart; and the products of A + i and B + j.
 * Of A's planes it takes more: where its second half begins; a table, of each step and one behind the last, of bytes from there and of depths, and in runs of bytes of a place and of a third; and in runs the places at which
 * both halves begin. */
enum { TSR_MATRIX_OF_A, TSR_MATRIX_OF_B, TSR_MATRIX_SUMS, TSR_MATRIX_ROW, TSR_MATRIX_STEPS, TSR_MATRIX_ADD, TSR_MATRIX_PARAMS, TSR_MATRIX_SECOND = TSR_MATRIX_PARAMS, TSR_MATRIX_TAPS, TSR_MATRIX_PLACE, TSR_MATRIX_SECOND_PLACE,
	   TSR_MATRIX_PLANE_PARAMS };
enum { TSR_TAP_BYTES, TSR_TAP_DEPTHS, TSR_TAP_PLACE, TSR_TAP_THIRD, TSR_TAP_NUMBERS };
enum { TSR_MATRIX_A = 4, TSR_MATRIX_B = 6 };
void tsr_matrix_load(tsr_kit *k, uint32_t r, LLVMValueRef from, LLVMValueRef row);
void tsr_matrix_multiply(tsr_kit *k, uint32_t i, uint32_t j);
/* matrix.c: one such, of A's planes; by vectors, whole, where these are odd. */
void tsr_matrix_of_planes(tsr_engine *g, bool tall, bool wide, bool odd, LLVMValueRef *arg);
/* thirds.c: elements of a panel for each position, of so many depths; bytes that packing needs beside; packing; elements of a step of a panel; the products of one step, and whether the panels
 * hold what registers cannot multiply, which then vectors do. */
LLVMValueRef tsr_thirds_each(tsr_kit *k, LLVMValueRef depth);
int64_t tsr_thirds_each_known(int64_t depth);
int64_t tsr_thirds_line_bytes(void);
void tsr_thirds_pack(tsr_engine *g, const tsr_pack *p, LLVMValueRef each);
int64_t tsr_thirds_step(void);
/* So many thirds A's numbers have, and B's: three or one.  A's are in planes, of runs. */
typedef struct tsr_thirds_form { uint8_t a, b; bool planes, runs; } tsr_thirds_form;
tsr_thirds_form tsr_thirds_form_of(const tsr_engine *g);
/* thirds_tile.c: A's rows of a step: where both halves' first thirds begin; bytes from row to row, and from third to third; in planes those of the next step. */
typedef struct tsr_thirds_rows { LLVMValueRef half[2], next[2], row, third; } tsr_thirds_rows;
tsr_thirds_rows tsr_thirds_rows_at(tsr_kit *k, LLVMValueRef f, LLVMValueRef step, const tsr_thirds_form *form);
void tsr_thirds_multiply(tsr_kit *k, const tsr_thirds_form *form, const tsr_thirds_rows *a, LLVMValueRef b, uint32_t rows, uint32_t columns);
/* The thirds of one vector, each in the upper half of its lanes; of two, paired lane by lane; `seen` becomes a NaN where some are not their own; whether it has. */
void tsr_thirds_of(tsr_kit *full, tsr_kit *pair, LLVMValueRef v, bool odd, LLVMValueRef *out, LLVMValueRef *seen);
void tsr_thirds_pair(tsr_kit *full, tsr_kit *pair, const LLVMValueRef two[2], bool odd, LLVMValueRef *out, LLVMValueRef *seen);
LLVMValueRef tsr_thirds_some_odd(tsr_kit *k, LLVMValueRef seen);
LLVMValueRef tsr_thirds_panel_odd(tsr_kit *k, LLVMValueRef panel, LLVMValueRef each);
tsr_body_maker tsr_thirds_odd_body;
/* plane_sizes.c: sizes of a contraction of so many rows, constants where they are known; whether there is room for such planes; and the room, in rows of the product that a block may have, in bytes, and from one third of a row to
 * the next. */
tsr_plane_sizes tsr_plane_sizes_of(tsr_kit *k, tsr_emit *e, const tsr_planes *p, const tsr_schedule *s, LLVMValueRef count);
LLVMValueRef tsr_planes_fit(tsr_kit *k, const tsr_planes *p, const tsr_plane_sizes *x);
int64_t tsr_planes_room(const tsr_engine *g);
int64_t tsr_planes_bytes(const tsr_engine *g);
int64_t tsr_planes_third(const tsr_engine *g);
/* planes.c: A's windows, read from planes of some rows of an image (opt/planes.c): bytes of sums on their way to a block's rows, and where in that room they begin; the table of steps; the planes of a block; and of a column of
 * tiles the sums.  How many depths B has, runs being filled up; and a table, of each of them which of the sum's it is. */
int64_t tsr_planes_sums_bytes(const tsr_engine *g);
LLVMValueRef tsr_planes_sums(tsr_engine *g, LLVMValueRef room);
LLVMValueRef tsr_planes_taps(tsr_engine *g);
void tsr_planes_pack(tsr_engine *g, const tsr_block *bl);
void tsr_planes_column(tsr_engine *g, const tsr_block *bl, LLVMValueRef b, uint32_t vecs);
LLVMValueRef tsr_planes_depths(tsr_engine *g);
static inline LLVMValueRef tsr_planes_depth(tsr_engine *g, LLVMValueRef depth) { return g->s->planes ? tsr_kit_int(&g->k, g->planes.depth) : depth; }
/* direct.c: where the batch's B begins, as it lies in memory in bf16, in rows so far apart along N or, `turned`, along K; NULL: it does not lie so.  Its panels
 * for tiles of pairs. */
typedef struct tsr_narrow_b { LLVMValueRef base; bool turned; int64_t row; } tsr_narrow_b;
tsr_narrow_b tsr_narrow_b_of(tsr_engine *g);
void tsr_pack_narrow_b(tsr_engine *g, const tsr_pack *p, const tsr_narrow_b *b, LLVMValueRef each);
/* matrix.c: sums of many depths are taken for all rows of the block, before any tile of the column asks for its own, a part of the depths after the other; those of few depths when it asks. */
bool tsr_matrix_deep(const tsr_engine *g);
void tsr_matrix_column(tsr_engine *g, const tsr_block *bl, LLVMValueRef b, uint32_t vecs);
LLVMValueRef tsr_matrix_sums(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef b, uint32_t rows, uint32_t vecs);
/* shares.c: what of a contraction this thread computes.  Positions that are its own, in whole units; that are another one's; of the batch's loop at this depth; its
 * rows and columns; and columns of a block, where these are cut into as few as the schedule allows. */
typedef struct tsr_share { LLVMValueRef from, to; } tsr_share;
tsr_share tsr_share_of(tsr_engine *g, LLVMValueRef count, uint32_t unit);
tsr_share tsr_share_at(tsr_engine *g, LLVMValueRef thread, LLVMValueRef count, uint32_t unit);
tsr_share tsr_share_batch(tsr_engine *g, uint32_t depth, LLVMValueRef count);
void tsr_shares_divide(tsr_engine *g, tsr_share *rows, tsr_share *cols);
LLVMValueRef tsr_share_block(tsr_engine *g, tsr_share cols, LLVMValueRef most);
/* So many rows a block has at most, and fewer where planes of as many are larger than they should be. */
LLVMValueRef tsr_block_rows(tsr_engine *g);
/* B's block is packed by all threads into memory that they share. */
bool tsr_engine_packs_together(const tsr_engine *g);
/* The queues, where the schedule has them: around all blocks. */
void tsr_shares_begin(tsr_engine *g);
void tsr_shares_end(tsr_engine *g);
/* The blocks of rows that meet one block of B: all that this thread has any for, in turns with others where the schedule says so. */
typedef struct tsr_turns { tsr_share rows; tsr_count count; tsr_guard any; tsr_taking taking; LLVMValueRef limit; } tsr_turns;
/* Around what packs B, where a thread that helps another one has that block already: ends where there is an end. */
tsr_guard tsr_once_begin(tsr_engine *g);
tsr_turns tsr_turns_begin(tsr_engine *g, tsr_share rows);
void tsr_turns_each(tsr_engine *g, tsr_turns *t, LLVMValueRef kfirst, tsr_block *bl);
void tsr_turns_end(tsr_engine *g, tsr_turns *t);
#endif
