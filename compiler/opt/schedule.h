/* What choosing a schedule shares: schedule.c (blocks), packing.c (what is packed), few.c (few rows or columns), problem.c (what there is to compute), register_tile.c (its tile). */
#ifndef TSR_OPT_SCHEDULE_H
#define TSR_OPT_SCHEDULE_H
#include "pass.h"

enum { TSR_MOST_ROWS = 24, TSR_MOST_VECS = 4, TSR_DEPTH = 384, TSR_LONGEST = 2048 };    /* of a tile; of a block of K where nothing asks for another, and at most */

enum { TSR_DEEP = 2048 };        /* terms of a sum from which on deep.c may take it in parts */

/* Which stretches of K lie inside for each position of M, as bits (padding.c); the last loop of M counts `width` positions, `apart` bytes from each other in A. */
enum { TSR_MOST_PADDED = 1 << 15, TSR_MOST_TAPS = 64 };
typedef struct tsr_padding { int64_t positions, stretches, width, apart; const uint64_t *inside; } tsr_padding;
/* False: A has no guards, or ones of another kind, or there are too many positions. */
bool tsr_padding_of(const tsr_loops *l, const tsr_contraction *c, const tsr_contract_view *v, tsr_padding *out);
/* The share of the work that is left to tiles of so many rows, which leave out a stretch that none of them reaches; or, in `step`, one row of it
 * where it is the first or the last of all that are outside: 0 where others are, or where tiles cross the end of the last loop. */
double tsr_padding_left(const tsr_padding *p, int64_t rows, bool step);

typedef struct tsr_problem {
	const tsr_target *t;
	uint32_t lanes, bytes;
	int64_t m, n, k, batch;      /* counts, -1: known at run time */
	int64_t depth;               /* of the sum that the positions of the batch are parts of (deep.c); else k */
	bool must_a, must_b;         /* cannot be read in place */
	bool pairs;                  /* an element is a pair of bf16, a step of K two depths */
	int64_t shallow;             /* few rows by a B that comes from memory row by row: steps of a block in which these are so few that caches keep what is asked for; 0 */
	bool renews;                 /* a tail makes something new of what is there, by sums that are not deep: one block takes them, and no tile comes to both at once, late */
	bool reordered;              /* what must be packed lies in memory, in an order that neither tiles nor plain loops read well */
	bool plain_a;                /* A is what lies in memory: no guard, no lookup, nothing computed */
	int64_t run, across;         /* A's, B's rows are read in place, in stretches of so many; 0: they are not */
	bool dense;                  /* B's are copied side by side */
	bool pieced;                 /* B's rows are one distance apart only under each stretch of A's */
	bool windows;                /* B is guarded, looked up or lies in several stretches along N */
	bool flat;                   /* A is packed, of rows that lie side by side */
	bool flat_stretches;         /* ... in several stretches */
	int64_t a_step;              /* stride along K in A, when it is one loop */
	int64_t a_row;               /* bytes from one row of A to the next where rows lie side by side and are read in place; else 0 */
	int64_t k_unit;              /* depths of one position of the loop along which an operand lies side by side, where these are few */
	int64_t row;                 /* bytes from one row of B to the next, when known */
	bool dots, torn;             /* both lie side by side along K, and nothing else wants them packed; their rows begin within lines */
	bool computed;               /* so does A, and what B is computed of */
	bool crosses;                /* A lies side by side along K, B only across it, and each class is one loop: dot products could be of a turned copy of few columns */
	bool crowded;                /* B's rows are read in place, whole pages apart */
	bool panels;                 /* the batch's B's are panels of a tile's width, all for the same A */
	bool rows_crowd;             /* A's rows lie whole pages apart, and pointers to them would not keep them near */
	bool streams;                /* few rows read a B that no near cache holds where it lies: see most_depth */
	bool down;                   /* A lies across K, and a line of it, which comes from the second cache for each tile of a column anew, serves all of a tile's rows */
	int64_t turn, stretch;       /* columns that are turned together, 0: none; how many of them lie side by side in B, 1: not even two */
	int64_t run_c, rows_c, most_c; /* C lies side by side in so many columns and, behind each other, most_c rows, so many of which are whole lines; 0 */
	int64_t few_c;               /* the fewest of those rows that are */
	const tsr_padding *padding;  /* of A's rows, or NULL */
	const tsr_walks *rows, *columns; /* how C lies where its columns lie in several stretches, all known; or NULL */
} tsr_problem;

tsr_problem tsr_problem_of(const tsr_loops *l, const tsr_contraction *c, const tsr_contract_view *v, const tsr_target *t);
/* What it is in pairs of bf16, two products of which the target's vectors take at once, each pair a step of K (pairs.c), and as such seen by strides; false: it is not
 * computed so. */
bool tsr_pairs_problem(const tsr_loops *l, tsr_contraction *c, const tsr_target *t, tsr_contract_view *v, tsr_problem *p);
/* Where tiles ask for a panel in time fewer rows are better off by a few rows of B in turn (on Zen 4, rows apart by whole pages or not, from memory or the last cache: one more than
 * these is 1.1 to 1.3 times as fast by deep blocks). */
static inline int64_t tsr_few_by_rows(const tsr_problem *p)
{
	enum { FEW = 2, FEW_PAGED = 3, FEW_PAGED_FAR = 4, PAGE = 4096 };
	return p->row % PAGE ? FEW : tsr_target_far(p->t, p->n * p->k * p->bytes) ? FEW_PAGED_FAR : FEW_PAGED;
}
/* Of a B that few rows read where it lies, so few rows at a time that the processor looks ahead along each of them; more rows of A are worth a copy, or, where registers are
 * many, blocks so deep that C is added to seldom (5 to 8 rows 1.05 to 1.8 times as fast as by blocks of 8 depths, fewer slower; from memory 4 to 8; 7 and 8 where rows are whole pages apart, which crowd few lines). */
static inline bool tsr_follows_rows(const tsr_problem *p)
{
	enum { FEW = 4, FEW_FAR = 3, FEW_PAGED = 6, PAGE = 4096 };
	int64_t most = p->row % PAGE ? FEW : FEW_PAGED;
	if (tsr_target_far(p->t, p->n * p->k * p->bytes))
		most = FEW_FAR;
	if (tsr_target_few_registers(p->t))
		most = p->t->streams;
	if (p->t->panels_ahead)
		most = tsr_few_by_rows(p);
	return p->t->streams && p->m <= most;
}
/* Where registers are many, more rows read a B that streams by in deep blocks, too: tiles are as high as there are rows, or narrow, and a copy of both operands is 1.4 to 1.75
 * times slower for 9 to 14 rows, 1.05 to 1.3 for up to 143.  Not where it comes from memory, but for few rows, or some more if its rows begin on lines. */
static inline bool tsr_reads_deep(const tsr_problem *p)
{
	enum { MOST_FAR = 24, MOST_PAGED = 16, LINE = 64, PAGE = 4096 };
	int64_t most = p->row % LINE ? p->t->streams : p->row % PAGE ? MOST_FAR : MOST_PAGED;
	bool far = tsr_target_far(p->t, p->n * p->k * p->bytes), few = p->m <= most;
	return p->streams && p->t->streams && !tsr_target_few_registers(p->t) && !tsr_follows_rows(p) && (!far || few || p->t->panels_ahead);
}
/* A vector by a B from memory, in place, of which all there is to do is to read it: in rows that are far from each other (engine/contract.c).  Where threads have positions of a batch, as
 * deep.c makes them; those that share columns read far rows 0.9 to 0.97 times as fast as neighbours. */
static inline bool tsr_spreads(const tsr_problem *p)
{
	bool in_place = p->row && !p->must_b && !p->run && !p->across && !p->turn && !p->pairs;
	return p->t->spread && in_place && p->m == 1 && p->batch > 1 && p->n > 0 && p->k > 0 && p->depth > 0 && tsr_target_far(p->t, p->n * p->depth * p->bytes);
}
/* Columns, or stretches of a B, leave half of a register idle where halves, of which a core computes two at a time, would be full (24 columns 1.4 times as fast, 40 1.1, 120 1.07). */
bool tsr_problem_halves(const tsr_problem *p);
/* Stretches of a B that fill no vectors would be better side by side, so many columns of them in all. */
bool tsr_problem_stretches(const tsr_problem *p, int64_t columns);
/* Columns beside each other that tiles may cut as they like. */
int64_t tsr_problem_columns(const tsr_problem *p);
/* Rows of C that fill lines only together can be put together in a tile's registers. */
/* The tile that was chosen fills lines of rows that follow each other in C, where there are such. */
bool tsr_tile_fills_lines(const tsr_problem *p, const tsr_schedule *s);
bool tsr_can_knit(const tsr_problem *p);
/* Where matrix registers take a sum in one block, vectors do, too, so that what follows it can be computed from its tiles (matrix.c). */
void tsr_matrix_deepen(const tsr_loops *l, const tsr_problem *p, tsr_contraction *c);
/* packing.c: sets what is packed or read in place, of the tile that was chosen; A lies across K, as in x^T x, and so do few columns of B; and a processor that has to look ahead by
 * itself does so along long rows of A. */
enum { TSR_SHORT_SUM = 64, TSR_STRIDED = 256, TSR_PASSING_LONG = 1024, TSR_LARGE_A = 4 };      /* depths, depths of rows that lie apart, of long ones; second caches */
void tsr_choose_packing(const tsr_problem *p, tsr_schedule *s);
/* Both operands lie where they can be read, by strides, and nothing is turned. */
bool tsr_by_strides(const tsr_problem *p);
bool tsr_both_across(const tsr_problem *p);
bool tsr_in_long_rows(const tsr_problem *p);
/* early.c: whether the next block of B can be packed by the tiles of the one before; whether it is, which sets mr and nr; and all else of such a schedule. */
bool tsr_may_be_early(const tsr_problem *p);
bool tsr_early_sizes(const tsr_target *t, int64_t m, int64_t n, int64_t k, int64_t each, int64_t row);
bool tsr_choose_early(const tsr_problem *p, tsr_schedule *s);
void tsr_early_blocks(const tsr_problem *p, tsr_schedule *s);
/* batch.c: rows that all positions of the batch compute together, 0: all of them. */
int64_t tsr_batch_rows(const tsr_loops *l, const tsr_contraction *c, const tsr_problem *p, const tsr_contract_view *v, const tsr_schedule *s);
/* few.c: everything of a schedule of dot products, false: they are none; so few products that plain loops are as fast; and so few columns. */
bool tsr_choose_dots(const tsr_problem *p, tsr_schedule *s);
bool tsr_is_tiny(const tsr_problem *p);
bool tsr_is_narrow(const tsr_problem *p);
/* few.c: lanes of half a vector, where the columns are as many and a store of some lanes of a whole one is dear; else 0. */
uint32_t tsr_narrow_lanes(const tsr_problem *p);
/* Sets mr and nr. */
void tsr_choose_tile(const tsr_problem *p, tsr_schedule *s);
/* small.c: smaller blocks for what is divided among threads, where their work areas would be larger than all that is computed with. */
void tsr_schedule_small(const tsr_loops *l, const tsr_target *t, tsr_contraction *c);
/* The words of --dump=schedule for what is packed and read in place. */
const char *tsr_schedule_words(const tsr_schedule *s);

/* Rows of a tile where all tiles of at most `limit` are as high as each other. */
static inline int64_t tsr_even_rows(int64_t m, int64_t limit)
{
	int64_t tiles = (m + limit - 1) / limit;
	return (m + tiles - 1) / tiles;
}

static inline int64_t tsr_round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

/* `total` cut into equal blocks of at most `most`, in multiples of `unit`. */
static inline int64_t tsr_block_of(int64_t total, int64_t most, int64_t unit)
{
	most = most / unit * unit;
	if (most < unit)
		most = unit;
	if (total < 0)
		return most;
	int64_t parts = (total + most - 1) / most;
	return parts <= 1 ? tsr_round_up(total, unit) : tsr_round_up((total + parts - 1) / parts, unit);
}

/* A deep panel of B, of the table's tile, takes no more than half of the first cache, and the second one has no room for a block of B that rows of A pass
 * by: then it is panels of A that pass by one of B. */
static inline bool tsr_near_panels(const tsr_target *t)
{
	enum { DEEP = 256, SMALL = 1 << 19 };
	return t->l2 <= SMALL && (int64_t)t->tile_n * t->vector_bytes * DEEP <= t->l1 / 2;
}

/* The least of both. */
static inline int64_t tsr_multiple_of(int64_t x, int64_t y)
{
	int64_t n = x;
	while (n % y)
		n += x;
	return n;
}
#endif
