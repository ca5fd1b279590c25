/* Few rows of A by a B that is worth a copy, where processors look ahead by themselves: the tiles of one block copy the next (engine/early.c).
 *
 * Where registers are few, panels have to be near for it, A is always packed, and the tile is that of any product.  Where they are many, tiles are two vectors wide: a round
 * copies two lines then, and what is to copy meets about as many rounds as it has rows (4 to 25 % faster than tiles of 6 x 64, which copy in two thirds of their rounds). */
#include "schedule.h"

enum { LINE = 64, HALF_PAGE = 2048, PAGE = 2 * HALF_PAGE };
enum { LEAST_ROWS = 28, LEAST_ROWS_NEAR = 9, MOST_ROWS = 160, MOST_CROWDED = 224, FEW_APART = 64, LEAST_COLUMNS = 512, LEAST_DEPTH = 128, COLUMNS = 64, COLUMNS_FAR = 128, FAR = 2, DEPTH = 256 };
/* where registers are many */
enum { ENOUGH_WIDE = 128, MOST_ROWS_WIDE = 400, MANY_WIDE = 256, MANY_COLUMNS_WIDE = 1024, LEAST_COLUMNS_WIDE = 128, LEAST_DEPTH_WIDE = 64, COLUMNS_WIDE = 32 };
enum { VECTORS = 2, LEAST_HEIGHT = 5, MOST_HEIGHT = 10, LATENCY = 4, ROUND = 4 };

/* A B of up to twice the second cache is read as fast in place by fewer rows than 128, one that the first cache holds by any, and any by fewer rows than 28, which leave too
 * little time (9 to 14 rows take 1.3 to 1.8 times as long with copies).  Where a target has deep panels, rows of B that are half pages apart leave hardly a line of a panel in
 * place for the next tile (32 x 1024 x 512 takes 1.4 times as long so, 49 x 1024 x 512 1.25; rows that are anything else apart up to 1.03 times as long with copies). */
static bool enough_rows(const tsr_target *t, int64_t m, int64_t bytes, int64_t row)
{
	bool crowded = t->panel_depth && row % HALF_PAGE == 0 && bytes > t->l2 / 8;
	return (m >= ENOUGH_WIDE && bytes > t->l1) || ((crowded || bytes > 2 * t->l2) && m >= LEAST_ROWS);
}

/* Where registers are few, and panels are near, 9 rows are enough for a B that is more than twice the second cache (9 to 24 rows by 1024 x 1024 to 4096 x 4096 1.02 to 1.25 times as fast, by 512 x 512
 * up to 0.82). */
static bool enough_rows_near(const tsr_target *t, int64_t m, int64_t bytes) { return m >= LEAST_ROWS || (m >= LEAST_ROWS_NEAR && bytes > 2 * t->l2); }

bool tsr_early_sizes(const tsr_target *t, int64_t m, int64_t n, int64_t k, int64_t each, int64_t row)
{
	if (tsr_target_few_registers(t))
		return enough_rows_near(t, m, n * k * each) && m <= MOST_ROWS && n >= LEAST_COLUMNS && k >= LEAST_DEPTH && t->streams && tsr_near_panels(t);
	return enough_rows(t, m, n * k * each, row) && m <= MOST_ROWS_WIDE && n >= LEAST_COLUMNS_WIDE && k >= LEAST_DEPTH_WIDE && t->streams;
}

static bool is_far(const tsr_problem *p) { return tsr_target_far(p->t, p->n * p->k * p->bytes); }

/* Where tiles that read a B in place ask for it two panels ahead, they are as fast or faster up to some hundred rows (26 to 64 rows by a B from memory 1.03 to 1.16 times, from the last cache 1.0 to 1.09; by one
 * of 4 and 8 MB 0.95 to 0.98 times where A's rows are whole pages apart, and those that have to be packed are better off so). */
static bool in_place_as_fast(const tsr_problem *p)
{
	enum { MANY = 96, LARGE = 4 };       /* the latter in shares of the last cache */
	int64_t bytes = p->n * p->k * p->bytes;
	return p->t->panels_ahead && p->streams && !p->must_a && p->m < MANY && bytes > (p->a_row % PAGE ? 2 * p->t->l2 : LARGE * p->t->l3);
}

/* All rows are one block, which the second cache holds beside two of B; where registers are few, 196 are neither faster nor slower, and more than a few rows that are not one
 * stride apart are read as fast through pointers.  But those that would crowd the caches are packed, once for each block of K here (196 rows of 28 x 28 x 512 with stride 2 by 1024 columns: best
 * times 1.03 to 1.05 by two threads, 1.02 by one; medians 0.99 to 1.03). */
bool tsr_may_be_early(const tsr_problem *p)
{
	bool plain = p->plain_a && !p->must_b && !p->run && !p->across && !p->turn && !p->run_c && !p->pieced && p->a_step == 1 && p->row && p->batch == 1;
	bool apart = p->must_a && tsr_target_few_registers(p->t) && p->m > FEW_APART, crowd = apart && p->rows_crowd && p->m <= MOST_CROWDED;
	return plain && (!apart || crowd) && !in_place_as_fast(p) && tsr_early_sizes(p->t, crowd ? FEW_APART : p->m, p->n, p->k, p->bytes, p->row);
}

/* Multiply-adds' cycles of all tiles of a column, for each step of K, and what is copied behind them because they are too few: as many as steps in a round have rounds
 * enough. */
static int64_t column_time(int64_t m, int64_t rows)
{
	int64_t tiles = (m + rows - 1) / rows, rest = m % rows, full = m / rows * rows;
	int64_t late = tiles < ROUND ? ROUND - tiles : 0;
	return full + (rest > 0 && rest < LATENCY ? LATENCY : rest) + late;
}

/* As even as can be, and the higher of two that are. */
static void choose_rows(const tsr_problem *p, tsr_schedule *s)
{
	s->nr = VECTORS * p->lanes;
	s->mr = MOST_HEIGHT;
	for (int64_t rows = MOST_HEIGHT - 1; rows >= LEAST_HEIGHT; rows--)
		if (column_time(p->m, rows) < column_time(p->m, s->mr))
			s->mr = (uint32_t)rows;
}

static bool fills_lines(const tsr_problem *p, const tsr_schedule *s) { return p->n % s->nr == 0 && s->nr * p->bytes % LINE == 0; }

/* The tile, and whether its columns fill lines, so that it can.  What meanwhile is copied is worth more than what other tiles than the target's gain (32 rows by 4 x 24: 1.1). */
bool tsr_choose_early(const tsr_problem *p, tsr_schedule *s)
{
	tsr_problem near = *p;
	bool may = tsr_may_be_early(p), few = tsr_target_few_registers(p->t);
	near.streams &= !may;
	if (may && !few)
		choose_rows(p, s);
	else
		tsr_choose_tile(&near, s);
	if (may && few && !fills_lines(p, s))
		s->mr = p->t->tile_m, s->nr = p->t->tile_n * p->lanes;
	bool early = may && fills_lines(p, s);
	if (!early && may)
		tsr_choose_tile(p, s);
	return early;
}

/* Of narrow blocks the first, which has to be packed before its tiles, is little, and rows of them are still some lines side by side in memory.  Where registers are few a panel is no deeper
 * than half of the first cache, of which neighbours may use the rest (49 x 2048 x 512, 49 x 512 x 2048, 80 x 1024 x 1024 beside them 1.1 to 1.25 times as fast as blocks half as wide and twice
 * as deep, which are level with it where nobody disturbs). */
static int64_t columns_of_block(const tsr_problem *p, bool many, bool more)
{
	bool far = p->n * p->k * p->bytes > FAR * p->t->l3;
	if (far && !more && (!many || is_far(p)))
		return COLUMNS_FAR;
	return many && !far ? COLUMNS_WIDE : COLUMNS;
}

static void narrow_blocks(const tsr_problem *p, tsr_schedule *s)
{
	bool many = !tsr_target_few_registers(p->t);
	/* a panel leaves the first cache a third for A's lines and what is copied, unless the second one gives it as fast */
	int64_t wide = p->t->panel_depth ? p->t->panel_depth : p->t->l1 / 3 * 2 / (s->nr * p->bytes), deep = many ? wide : DEPTH;
	/* more rows take less of the second cache, of which neighbours may use a part (beside them one thread is 5 % sooner) */
	bool more = !many && p->m > MOST_ROWS;
	int64_t near = p->t->l2 / 5 * (more ? 1 : 2) / (p->m * p->bytes), most = near < deep ? near : deep, parts = (p->k + most - 1) / most;
	s->kc = tsr_round_up((p->k + parts - 1) / parts, p->lanes);
	s->nc = tsr_round_up(columns_of_block(p, many, more), s->nr);
}

void tsr_early_blocks(const tsr_problem *p, tsr_schedule *s)
{
	s->pack_b = s->panels = s->early = true;
	/* rows of A that stay in the second cache, or pass by few columns, are read as fast where they lie, and need no copy (2 to 5 %); more that pass by many do */
	bool passes = p->m > MANY_WIDE && p->n >= MANY_COLUMNS_WIDE;
	/* as do those whose lines for one step of K, whole pages apart, are more than the first cache has ways (100 x 2048 x 2048 1.03 to 1.06) */
	bool crowd = p->a_row && p->a_row % PAGE == 0 && p->t->ways && s->mr > p->t->ways;
	s->pack_a = p->must_a || tsr_target_few_registers(p->t) || is_far(p) || passes || crowd;
	s->mc = tsr_round_up(p->m, s->mr);
	narrow_blocks(p, s);
}
