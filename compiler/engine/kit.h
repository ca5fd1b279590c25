/* Private to the contraction engine: the kit that its files emit with.
 *   contract.c block loops around packing and tiles
 *   place.c    the tiles of a block
 *   heights.c  how its rows fall into them
 *   shares.c   what of it each thread computes
 *   early.c    tiles that pack the next block
 *   space.c    sizes, strides and memory
 *   pack.c     operands into panels
 *   group.c    several panels at once, of whole vectors
 *   turn.c     those that lie side by side along another loop
 *   weave.c    rows of a panel turned in registers
 *   lines.c    B in place, where it begins between two lines
 *   columns.c  few columns of B that lie across, side by side along K for those
 *   value.c    operands that are expressions, likewise
 *   padded.c   padded ones
 *   apart.c    elements a few apart into lanes
 *   rows.c     A's rows where they lie, through pointers
 *   edges.c    copies of those that padding cuts
 *   copy.c     B's, side by side
 *   tile.c     register tiles, one internal function per variant
 *   dots.c     those whose lanes are steps of K
 *   stretch.c  the same of rows where they lie
 *   inner.c    what their loops are made of
 *   ahead.c    lines asked for while a tile's loop runs
 *   store.c    their sums into C
 *   stage.c    sums that wait, and are turned on their way to C
 *   aside.c    sums that are laid aside, tile by tile
 *   matrix.c   matrix registers, and panels for them and for pairs
 *   thirds.c   f32 by matrix registers, in three numbers of bf16 each; thirds_tile.c: their products
 *   planes.c   the same of windows, from planes of an image's rows
 *   direct.c   B's, where it lies in memory as these want it but for the order
 *   tail.c     what becomes of the sums before they are stored */
#ifndef TSR_ENGINE_KIT_H
#define TSR_ENGINE_KIT_H
#include "../opt/opt.h"
#include "engine.h"
#include <llvm-c/Core.h>

typedef struct tsr_kit {
	LLVMContextRef context;
	LLVMModuleRef module;
	LLVMBuilderRef b;
	LLVMValueRef fn;             /* the function being filled */
	LLVMTypeRef i1, i32, i64, ptr, elem, vec, lanes_i1;
	uint32_t lanes;              /* elements of one vector */
	uint32_t elem_bytes;
	const tsr_target *target;
	tsr_prec prec;               /* of elements; a bool is a byte 0 or 1 */
	tsr_acc acc;
	tsr_op combine;
	bool pairs;                  /* what is multiplied are pairs of bf16, in elements of f32: both products are summed */
} tsr_kit;

/* The same of elements of another precision, so many bytes each. */
tsr_kit tsr_kit_of(const tsr_kit *k, tsr_prec prec, LLVMTypeRef elem, uint32_t bytes);

/* A counted loop being emitted: for (i = start; i < limit; i += step). */
typedef struct tsr_count { LLVMBasicBlockRef head, exit; LLVMValueRef i, step; } tsr_count;
tsr_count tsr_count_begin(tsr_kit *k, LLVMValueRef start, LLVMValueRef limit, LLVMValueRef step);
void tsr_count_end(tsr_kit *k, const tsr_count *c);

/* Code under a condition. */
typedef struct tsr_guard { LLVMBasicBlockRef after; } tsr_guard;
tsr_guard tsr_guard_begin(tsr_kit *k, LLVMValueRef when);
void tsr_guard_end(tsr_kit *k, tsr_guard g);
/* Room for n numbers of 64 bits in the frame of the function. */
LLVMValueRef tsr_kit_table(tsr_kit *k, uint32_t n);

LLVMValueRef tsr_kit_int(tsr_kit *k, int64_t n);
/* The number, or -1 where it is not known. */
int64_t tsr_kit_known(LLVMValueRef v);
/* n, or 1 where that is less. */
LLVMValueRef tsr_kit_some(tsr_kit *k, LLVMValueRef n);
LLVMValueRef tsr_kit_add(tsr_kit *k, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef tsr_kit_mul(tsr_kit *k, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef tsr_kit_min(tsr_kit *k, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef tsr_kit_max(tsr_kit *k, LLVMValueRef x, LLVMValueRef y);
/* p + n elements */
LLVMValueRef tsr_kit_at(tsr_kit *k, LLVMValueRef p, LLVMValueRef n);
/* Element-aligned loads and stores; `mask` NULL: all lanes. Lanes masked off read as zero. */
LLVMValueRef tsr_kit_load(tsr_kit *k, LLVMTypeRef type, LLVMValueRef p, LLVMValueRef mask);
void tsr_kit_store(tsr_kit *k, LLVMValueRef value, LLVMValueRef p, LLVMValueRef mask);
/* Lanes first .. first + n of the value go where they would be if all of it went to p. */
void tsr_kit_store_some(tsr_kit *k, LLVMValueRef value, LLVMValueRef p, uint32_t first, uint32_t n);
/* Some lanes are stored by a mask; else by as many whole stores as it takes. */
bool tsr_kit_masks_stores(const tsr_kit *k);
/* A whole line, or an aligned part of one that the next vectors fill, around the caches. */
void tsr_kit_store_around(tsr_kit *k, LLVMValueRef value, LLVMValueRef p);
/* What lies there is read or written soon. */
void tsr_kit_fetch(tsr_kit *k, LLVMValueRef p, bool written);
/* What lies there is read later: into the second cache. */
void tsr_kit_fetch_far(tsr_kit *k, LLVMValueRef p);
/* Lane i is on iff first + i < limit. */
LLVMValueRef tsr_kit_mask(tsr_kit *k, LLVMValueRef limit, uint32_t first);
LLVMValueRef tsr_kit_splat(tsr_kit *k, LLVMValueRef scalar);
/* acc(sum, combine(x, y)), and acc(x, y) alone; old + sum, which is what joins sums that are subtracted */
LLVMValueRef tsr_kit_step(tsr_kit *k, LLVMValueRef sum, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef tsr_kit_acc(tsr_kit *k, LLVMValueRef old, LLVMValueRef sum);
LLVMValueRef tsr_kit_plus(tsr_kit *k, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef tsr_kit_neutral(tsr_kit *k, LLVMTypeRef type);
LLVMValueRef tsr_kit_intrinsic(tsr_kit *k, const char *name, LLVMTypeRef *types, unsigned ntypes, LLVMValueRef *args, unsigned nargs);
/* Attributes of an internal helper; `pointers` parameters from the first on are noalias. */
LLVMValueRef tsr_kit_function(tsr_kit *k, const char *name, LLVMTypeRef *params, unsigned nparams, unsigned pointers);

/* The internal function of this name, made by `body` unless it is there. */
typedef void tsr_body_maker(tsr_kit *k, const void *user, LLVMValueRef f);
LLVMValueRef tsr_kit_named(tsr_kit *k, const char *name, LLVMTypeRef *params, unsigned nparams, unsigned pointers, tsr_body_maker *body,
						   const void *user);

/* A stride in elements that is a constant of the tile or an argument of its call. */
typedef struct tsr_stride { bool known; int64_t v; } tsr_stride;
tsr_stride tsr_kit_stride(LLVMValueRef v);

/* How a tile's rows and columns lie in C.  `stretches`: into how many of C a vector of columns falls at most, where tables say which; 0: rows are
 * `row` apart and columns lie side by side. */
enum { TSR_MOST_STRETCHES = 4, TSR_LINE = 64 };
typedef struct tsr_c_form {
	tsr_stride row;
	uint32_t stretches;
	bool whole;                  /* with tables: no vector is cut */
	uint32_t part;               /* with tables: so many lanes of each vector lie in each of its stretches, whatever the table says; 0: it says */
	bool stream;                 /* all vectors are whole and fill lines where C begins at one, and then go around the caches */
	uint32_t knit;               /* with tables: rows of so many columns lie one behind the other, and lines are put together of several */
} tsr_c_form;

/* What a tail reads and writes besides C: elements of a buffer, or a number (`buffer` none).  `value`: NULL of what is only written; `stored`: it is written.  Set by
 * tail.c: `row` elements from row to row, columns side by side (`along`) or the same; where the batch's elements begin. */
typedef struct tsr_tail_operand {
	const tsr_expr *value;
	tsr_prec prec;
	tsr_buffer_id buffer;
	const tsr_lin *index;
	bool along, stored;
	LLVMValueRef row, base;
} tsr_tail_operand;
/* `to`: of each store but one into C, the operand that is written; `like_c`: they lie like C; `in_tiles`: tiles apply it to their registers; `whole`: K is one block; `number`: of the tails of this code. */
typedef struct tsr_tail_plan { tsr_emit *e; const tsr_tail *tail; uint32_t n, nodes, number, *to; tsr_tail_operand *at; bool like_c, in_tiles, whole; } tsr_tail_plan;
/* Its sums are stored nowhere but as what becomes of them. */
static inline bool tsr_tail_passes(const tsr_tail_plan *t) { return t && t->tail->passing; }
/* Behind a tile's other parameters: `last`, K's last block, and of each operand where it is and its row. */
uint32_t tsr_tail_params(const tsr_tail_plan *t);
void tsr_tail_types(tsr_kit *k, const tsr_tail_plan *t, LLVMTypeRef *type);
void tsr_tail_name(const tsr_tail_plan *t, char *out, size_t size);
enum { TSR_MOST_PARAMS = 160 };

typedef struct tsr_tile {
	uint32_t rows, vecs;
	bool masked;                 /* fewer than vecs * lanes columns: `cols` says how many */
	tsr_stride a_row, a_k, b_k;
	tsr_c_form c;
	uint32_t ahead;              /* so many lines for each step of K, from `next` on, of what is read after this block; 0: none */
	int64_t ahead_row, ahead_width;  /* which lies in rows of so many elements, so far apart; `next_left`: of the first row */
	uint32_t soon;               /* so many lines, from `next` on, in each of the rounds that ask for C's; 0: none */
	bool next_rows;              /* of dot products: asks for the rows behind its own, which the next tile reads */
	uint32_t later;              /* so many lines in each round, of what is packed after this block, in rows as `ahead` has them; 0: none */
	bool b_table;                /* b is a table of pointers to B's rows, which are read from b_shift on */
	uint32_t b_lines;            /* of each row of B so many lines, b_ahead elements further, are asked for */
	bool b_kept;                 /* where its place in A follows each row's pointer: see tsr_rows.kept */
	bool b_near;                 /* into the first cache */
	bool b_walked;               /* few rows of B at a time, along which the processor looks ahead by itself */
	bool watched;                /* `seen` becomes 1 where a sum is a NaN */
	bool shallow;                /* its sums are of few terms */
	int64_t copied;              /* rows of B so far apart, of which it packs a_step panels' rows for the next block: see early.c; 0: none */
	uint32_t beside;             /* so many of those in turn */
	bool crowded;                /* the rounds that ask for C's lines are needed for it, too */
	bool given;                  /* the sums are there, at `a`, in rows a_row apart: they only go to C */
	bool asks;                   /* for lines of A: in each round one of each of so many rows as the tile has, from a_ahead on, then a_step bytes further */
	uint32_t below;              /* or for so many lines of each of those rows, a row in each of the rounds that ask for C's; 0: none */
	const tsr_tail_plan *tail;   /* or NULL */
	const tsr_gaps *gaps;        /* which it clears beside its rows; or NULL */
	int64_t b_column;            /* from one column of B to the next where lanes are steps of K (dots.c); else 0 */
	uint32_t columns;            /* of B, where these are fewer than a vector's lanes, no whole groups, and their number is known; else 0 */
	uint32_t cut;                /* the number of columns, where that is known and there are no masks but what they are made of; else 0 */
	bool padded;                 /* what is masked is there to be read */
} tsr_tile;
/* void tile(a, b, c, depth, cols, add, a_row, a_k, b_k, c_row, b_shift, c_rows, c_columns, around, b_ahead, a_ahead, a_step, next, next_left, seen):
 * `add` false: C is overwritten; `around`: around the caches. */
enum { TSR_TILE_A, TSR_TILE_B, TSR_TILE_C, TSR_TILE_DEPTH, TSR_TILE_COLS, TSR_TILE_ADD, TSR_TILE_A_ROW, TSR_TILE_A_K,
	   TSR_TILE_B_K, TSR_TILE_C_ROW, TSR_TILE_B_SHIFT, TSR_TILE_C_ROWS, TSR_TILE_C_COLUMNS, TSR_TILE_AROUND, TSR_TILE_B_AHEAD,
	   TSR_TILE_A_AHEAD, TSR_TILE_A_STEP, TSR_TILE_NEXT, TSR_TILE_NEXT_LEFT, TSR_TILE_SEEN, TSR_TILE_PARAMS };
enum { TSR_ROUND = 4 };          /* steps of K that its loop takes at once */
LLVMValueRef tsr_tile_function(tsr_kit *k, const tsr_tile *tile);

/* A tile whose rows of A are read where they lie: see rows.c. `run`: elements of a stretch; `capacity`: pointers from one
 * stretch's to the next one's; `stretches`: of a block; `places`: a table says where each stretch's rows of B begin, else they follow each other.
 * void tile(table, b, c, list, cols, add, b_k, c_row, c_rows, c_columns, around, b_ahead, b_places, seen): `table` is at the tile's first row. */
typedef struct tsr_rows_tile {
	uint32_t rows, vecs;
	bool masked, places, watched;
	uint32_t cut;                /* see tsr_tile.cut and padded */
	bool padded;
	int64_t run, capacity, stretches;
	tsr_stride b_k;
	tsr_c_form c;
	uint32_t b_lines;
	const tsr_tail_plan *tail;
	int64_t step;                /* see tsr_rows.step */
	const tsr_gaps *gaps;
	int64_t beyond, each;        /* rounds ask for what lies so many elements behind its rows, which are so far apart; 0: none does */
} tsr_rows_tile;
/* Which rows of a tile a stretch reaches, where they are all one step apart; the list begins with where the stretches of each way end. */
typedef enum { TSR_WAY_ALL, TSR_WAY_BUT_FIRST, TSR_WAY_BUT_LAST, TSR_WAYS } tsr_way;
static inline uint32_t tsr_rows_ways(int64_t step) { return step ? TSR_WAYS : 1; }
enum { TSR_ROWS_TABLE, TSR_ROWS_B, TSR_ROWS_C, TSR_ROWS_LIST, TSR_ROWS_COLS, TSR_ROWS_ADD, TSR_ROWS_B_K, TSR_ROWS_C_ROW,
	   TSR_ROWS_C_ROWS, TSR_ROWS_C_COLUMNS, TSR_ROWS_AROUND, TSR_ROWS_B_AHEAD, TSR_ROWS_B_PLACES, TSR_ROWS_SEEN, TSR_ROWS_PARAMS };
LLVMValueRef tsr_rows_tile_function(tsr_kit *k, const tsr_rows_tile *tile);

/* A tile's place in C, inside its function: `row` without tables, `mask` of each vector likewise; its tail, whose parameters begin at
 * `param`. */
typedef struct tsr_tile_end {
	tsr_kit *k;
	uint32_t rows, vecs;
	tsr_c_form form;
	LLVMValueRef c, row, row_table, column_table, *mask, around;
	const tsr_tail_plan *tail;
	uint32_t param;
	const tsr_gaps *gaps;
} tsr_tile_end;
/* Lines to be asked for while a loop runs, in rows of constant width, from the middle of one on, without an end: `at` is the line, `left` what is
 * left of its row. */
typedef struct tsr_far { int64_t row, width; } tsr_far;
void tsr_far_step(tsr_kit *k, const tsr_far *x, LLVMValueRef *at, LLVMValueRef *left);
/* So many lines at `at`; where the next row has its own. */
LLVMValueRef tsr_row_ahead(tsr_kit *k, uint32_t lines, LLVMValueRef row, LLVMValueRef at);
/* Of so many rows the lines at `at`, some in each of four rounds; where the next round's are. */
LLVMValueRef tsr_rows_ahead(tsr_kit *k, uint32_t rows, LLVMValueRef row, LLVMValueRef round, LLVMValueRef at, LLVMValueRef step);

/* C, and of small tiles what a tail reads and writes, is asked for at once. */
void tsr_tile_fetch(const tsr_tile_end *t);
/* A line of C (of a vector that falls into several stretches the first), and what the tail has beside it: at a column, and counted row by row, where
 * behind the last one it is that again.  Of the tail alone. */
void tsr_line_ahead(const tsr_tile_end *t, LLVMValueRef row, LLVMValueRef column);
void tsr_tile_ahead(const tsr_tile_end *t, LLVMValueRef line);
void tsr_tail_ahead(const tsr_tile_end *t, LLVMValueRef row, LLVMValueRef column);
/* Whoever asks for a line of C clears those of the gaps behind it, too; gaps.c: these, and the tail of a name that says which. */
void tsr_gaps_clear(const tsr_tile_end *t, LLVMValueRef at);
void tsr_gaps_name(const tsr_gaps *gaps, char *name, size_t size);
uint32_t tsr_tile_lines(const tsr_tile_end *t);
/* The i-th line of a part of the tile's end, of which each row has so many, of so many lines. */
uint32_t tsr_tile_parts(const tsr_tile_end *t, uint32_t lines);
void tsr_part_ahead(const tsr_tile_end *t, LLVMValueRef part, uint32_t lines, uint32_t i);
/* Stores the sums and returns from the function. */
void tsr_tile_store(const tsr_tile_end *t, LLVMValueRef add, LLVMValueRef *acc);
/* Stores those of some rows of a tile without a tail, without returning. */
void tsr_part_store(const tsr_tile_end *t, bool add, LLVMValueRef *acc);
/* The same of what the tail makes of the sums. */
void tsr_tail_fetch(const tsr_tile_end *t);
void tsr_tail_store(const tsr_tile_end *t, LLVMValueRef *sum, bool around);
/* For the name of a tile's function. */
void tsr_form_name(const tsr_c_form *f, char *out, size_t size);

/* A class of loops with its sizes and strides as values. */
typedef struct tsr_span_axis { LLVMValueRef extent, stride[TSR_SIDES]; } tsr_span_axis;
typedef struct tsr_group { uint32_t n; tsr_span_axis *at; LLVMValueRef count; bool unit[TSR_SIDES]; } tsr_group;   /* unit: the innermost axis has stride 1 */
/* Offset in `side` of the flat position `i` of a class. */
LLVMValueRef tsr_group_offset(tsr_kit *k, const tsr_group *g, tsr_side side, LLVMValueRef i);

/* Its axes from `first` to before `limit`, of which only these two matter. */
tsr_group tsr_group_axes(const tsr_group *g, uint32_t first, uint32_t limit);
/* Positions from a multiple of which on so many are the same stride apart in `side`, or -1. */
int64_t tsr_group_run(const tsr_group *g, tsr_side side);

/* Panels of `width` positions of `across` (M or N), each depth x width elements, position fastest:
 *     to[panel][depth][width] = from[across first + panel * width + i][along first + d]
 * Positions past the end repeat the last one.  Writes up to one vector past the last panel. */
typedef struct tsr_pack {
	tsr_side side;
	const tsr_group *across, *along;
	LLVMValueRef from, to;
	LLVMValueRef across_first, across_count, along_first, depth;
	uint32_t width;
} tsr_pack;
void tsr_pack_emit(tsr_kit *k, const tsr_pack *p);
/* group.c: panels that are no whole vectors, of positions side by side, as many as are whole vectors together; the position behind them.  So many lanes, a vector's
 * or half of them, lie in one stretch each; 0: there are no such groups. */
uint32_t tsr_pack_group_piece(const tsr_kit *k, const tsr_pack *p);
LLVMValueRef tsr_pack_groups(tsr_kit *k, const tsr_pack *p);
/* turn.c: void turn(rows, to, from, step, width, count): to[i * step + lane] = rows[lane][from + i] for i < count, lane < width; the
 * pointers of the other lanes are some of those.  `around`: of as many squares side by side as make lines, which are written around the caches. */
enum { TSR_TURN_ROWS, TSR_TURN_TO, TSR_TURN_FROM, TSR_TURN_STEP, TSR_TURN_WIDTH, TSR_TURN_COUNT, TSR_TURN_PARAMS };
LLVMValueRef tsr_turn_function(tsr_kit *k, bool around);
uint32_t tsr_turn_squares(const tsr_kit *k, bool around);
/* weave.c: `rows`, a power of two, turned: element d of row r is then the one at d * rows + r of all vectors together. */
void tsr_weave(tsr_kit *k, LLVMValueRef *v, uint32_t rows);
/* void strip(rows, to, from, step, count): to[i * step + r] = rows[r][from + i] for i < count, r < width; `usual`: what count mostly is;
 * `adjacent`: the step is the width. */
enum { TSR_STRIP_ROWS, TSR_STRIP_TO, TSR_STRIP_FROM, TSR_STRIP_STEP, TSR_STRIP_COUNT, TSR_STRIP_PARAMS };
LLVMValueRef tsr_strip_function(tsr_kit *k, uint32_t width, uint32_t usual, bool adjacent);
/* Where an axis of the depths lies side by side in memory, the panel at `to` of positions first .. first + valid; and where one
 * of the positions does which is not the last, all panels. */
void tsr_pack_turned(tsr_kit *k, const tsr_pack *p, uint32_t axis, LLVMValueRef to, LLVMValueRef first, LLVMValueRef valid);
void tsr_pack_crossed(tsr_kit *k, const tsr_pack *p, uint32_t axis);
/* Into how many stretches of so many positions a vector falls at most; `aligned`: vectors begin at multiples of their lanes. */
uint32_t tsr_stretches(uint32_t lanes, int64_t run, bool aligned);

/* Sets the loops of `x` but its last `without`, from a flat position over just them. */
void tsr_walks_decode(tsr_kit *k, tsr_emit *e, const tsr_walks *x, uint32_t without, LLVMValueRef flat);

/* A loop over the flat positions first .. first + count of a class, stretch by stretch of its last loop, whose symbols are set inside;
 * `place`: the position from `first` on.  Of so many positions one, which lie in one stretch: 1, all. */
typedef struct tsr_walk_run { tsr_count runs; bool torn; tsr_emit_loop loop; LLVMValueRef place; } tsr_walk_run;
tsr_walk_run tsr_walk_run_begin(tsr_kit *k, tsr_emit *e, const tsr_walks *x, LLVMValueRef first, LLVMValueRef count, int64_t every);
void tsr_walk_run_end(tsr_kit *k, tsr_emit *e, tsr_walk_run *r);

/* The table of a block: rows `first` .. of M (`across`), stretches of K (`along`, the stretch's loops last) from along_first on. The loops
 * of the batch are set. `most`: stretches of a block; the list of a panel says which of them it walks; NULL: there are no lists, and no
 * rows past the end. `edge`: elements of a copy of a stretch that a guard cuts, 0: none does.  Of B the same, with its classes. */
typedef struct tsr_rows {
	tsr_emit *e;
	const tsr_expr *value;
	const tsr_walks *across, *along;
	LLVMValueRef table, list, zeros, edges;
	LLVMValueRef first, count, along_first, stretches;
	tsr_stretch stretch;
	int64_t run, capacity, most, edge;
	int64_t step;                /* the rows of each tile lie so far apart, and of each stretch all are inside, none, or all but the first or the last; 0 */
	LLVMValueRef kept, apart;    /* of B: of each stretch the table has those depths alone that no guard keeps out, each with its place in A, where depths are so far apart, and so many are they; or NULL */
	uint32_t mr;
} tsr_rows;
/* All but the memory and the block; `walks`: per class. */
tsr_rows tsr_rows_of(tsr_kit *k, tsr_emit *e, const tsr_contraction *c, tsr_side side, const tsr_walks *walks, int64_t capacity);
void tsr_rows_emit(tsr_kit *k, const tsr_rows *r);
/* There is padding that can be left out depth by depth. */
bool tsr_rows_keep(const tsr_rows *r);
/* copy.c: the stretches of each row of a block, which has all of them, side by side; from one row's begin to the next. */
void tsr_rows_copy(tsr_kit *k, const tsr_rows *r, LLVMValueRef to);
int64_t tsr_rows_width(const tsr_kit *k, const tsr_rows *r);
/* Numbers of a panel's list; the list of the one that begins at this row of the block. */
int64_t tsr_rows_list_length(const tsr_rows *r);
LLVMValueRef tsr_rows_list(tsr_kit *k, const tsr_rows *r, LLVMValueRef row);

/* An operand that packing evaluates: its loops in the order in which positions count, and room for a panel's rows. The loops of
 * the batch are set; `from` and the groups of tsr_pack are not looked at. */
typedef struct tsr_computed { tsr_emit *e; const tsr_expr *value; tsr_prec prec; const tsr_walks *across, *along; LLVMValueRef rows; } tsr_computed;
/* Evaluated with depth running fastest, through `rows`. */
bool tsr_computed_by_rows(const tsr_loops *l, const tsr_expr *value, const tsr_walks *across, const tsr_walks *along);
void tsr_pack_computed(tsr_kit *k, const tsr_pack *p, const tsr_computed *v);
/* apart.c: lanes whose elements lie `apart` from each other are those of so many parts of a vector each, side by side; where a part begins, which of its elements are of lanes lower .. upper, and
 * the lanes of all parts. */
int64_t tsr_apart_at(const tsr_kit *k, uint32_t apart, uint32_t part);
LLVMValueRef tsr_apart_mask(tsr_kit *k, uint32_t apart, uint32_t part, LLVMValueRef lower, LLVMValueRef upper);
LLVMValueRef tsr_apart_lanes(tsr_kit *k, uint32_t apart, const LLVMValueRef *part);
/* padded.c: the operand is what lies in memory, so many elements apart along the inner class's last loop, with a constant outside some ranges (0: it is not); what lies
 * within its SELECTs; the constant in all lanes. */
uint32_t tsr_padded(const tsr_kit *k, const tsr_computed *v, const tsr_walks *inner);
const tsr_expr *tsr_padded_within(const tsr_expr *x);
LLVMValueRef tsr_padded_outside(tsr_kit *k, const tsr_computed *v);
/* Of the positions [*begin, *end) of the loop `sym`, counted from where its symbol stands, those that lie inside. */
void tsr_padded_inside(tsr_kit *k, tsr_emit *e, const tsr_expr *x, uint32_t sym, uint32_t apart, LLVMValueRef *begin, LLVMValueRef *end);
/* All panels of it at once; false: it is not padded so, or another way is better.  *only: where this holds alone, or (NULL) always. */
bool tsr_pack_padded(tsr_kit *k, const tsr_pack *p, const tsr_computed *v, LLVMValueRef *only);
/* to[i] = the value at the inner positions first + i, i < count, as it lies in memory, the outer loops being set. */
void tsr_computed_stretch(tsr_kit *k, const tsr_computed *v, const tsr_walks *inner, LLVMValueRef first, LLVMValueRef count, LLVMValueRef to);
#endif
