/* What choosing a schedule shares: schedule.c (packing, blocks), problem.c (what there is to compute), register_tile.c (its tile). */
#ifndef TSR_OPT_SCHEDULE_H
#define TSR_OPT_SCHEDULE_H
#include "pass.h"

enum { TSR_MOST_ROWS = 24, TSR_MOST_VECS = 4, TSR_DEPTH = 384 };    /* of a tile; of a block of K where nothing asks for another */

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
	bool crowded;                /* B's rows are read in place, whole pages apart */
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
/* Of a B that few rows read where it lies, so few rows at a time that the processor looks ahead along each of them; more rows of A are worth a copy. */
static inline bool tsr_follows_rows(const tsr_problem *p) { return p->t->streams && p->m <= (int64_t)p->t->streams; }
/* Columns beside each other that tiles may cut as they like. */
int64_t tsr_problem_columns(const tsr_problem *p);
/* Rows of C that fill lines only together can be put together in a tile's registers. */
bool tsr_can_knit(const tsr_problem *p);
/* Where matrix registers take a sum in one block, vectors do, too, so that what follows it can be computed from its tiles (matrix.c). */
void tsr_matrix_deepen(const tsr_loops *l, const tsr_problem *p, tsr_contraction *c);
/* early.c: whether the next block of B can be packed by the tiles of the one before; whether it is, which sets mr and nr; and all else of such a schedule. */
bool tsr_may_be_early(const tsr_problem *p);
bool tsr_early_sizes(const tsr_target *t, int64_t m, int64_t n, int64_t k, int64_t each);
bool tsr_choose_early(const tsr_problem *p, tsr_schedule *s);
void tsr_early_blocks(const tsr_problem *p, tsr_schedule *s);
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
