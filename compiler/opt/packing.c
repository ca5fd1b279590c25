/* What of a contraction's operands is packed: what cannot be read in place, and what can where the walk through it would leave the caches' reach (blocks of a
 * matrix larger than L2, lines that fall into few sets of L1) and it is used often enough. */
#include "schedule.h"

enum { STRIDED_NEAR = 112, ENOUGH = 24, ENOUGH_NEAR = 36, ENOUGH_RUN = 64, ENOUGH_APART = 200, ENOUGH_DOWN = 40, ENOUGH_CROWDED = 128, ENOUGH_PAGED = 32, ENOUGH_PAGED_NEAR = 8,
	   PAGE = 4096, FEW_COLUMNS = 8, FEW_ROWS_ACROSS = 6, OFTEN = 1000 };

/* Each step of K is on another page of A, and N has too few columns for a packed copy of that. */
static bool far_apart(const tsr_problem *p, const tsr_schedule *s)
{
	int64_t step = p->a_step * p->bytes;
	return step > PAGE && step % PAGE != 0 && p->n > 0 && p->n < FEW_COLUMNS * (int64_t)s->nr;
}

bool tsr_by_strides(const tsr_problem *p) { return !p->must_a && !p->must_b && !p->run && !p->across && !p->turn && p->m > 0; }

/* A lies across K, as in x^T x, and so do few columns of B: neither stays in the first cache while the other's tiles pass by, but for shallow blocks of K
 * (and C is near enough to be added to more often). */
bool tsr_both_across(const tsr_problem *p)
{
	return p->t->ways && p->a_step != 1 && tsr_by_strides(p) && !p->streams && p->n > 0 && p->k > TSR_STRIDED && p->m * p->n * p->bytes <= p->t->l2 / 4;
}

/* Rows of a tile, of which so many make a copy worth its price; tall ones, whose rows stand one stride apart, are no reason for another choice. */
static int64_t usual_rows(const tsr_problem *p, const tsr_schedule *s) { return s->step && s->mr > p->t->tile_m ? p->t->tile_m : s->mr; }

/* A batch of B's, each of more than the first cache holds, all together more than the second: tiles would wait for the lines of each (5 to 15 %).
 * Short sums would not (2 to 5 % slower). */
static bool passes_by(const tsr_problem *p)
{
	int64_t each = p->k * p->n * p->bytes;
	return p->batch > 1 && p->k > TSR_SHORT_SUM && p->n > 0 && !p->run && each > p->t->l1 && p->batch * each > p->t->l2;
}

/* Lines that lie so many bytes apart share few sets of the first cache, fewer lines than a block has depths: each tile gets its panel from the second cache
 * anew (1.05 to 2.2 times slower).  Where registers are few, and the sets are four or less, half as many are enough, since lines of A and C that pass fall into the same sets
 * (384 to 768 rows by 512 columns over 8 and 16 depths 1.3 to 1.8). */
static bool crowds(const tsr_problem *p, int64_t apart)
{
	enum { LINE = 64, FEW_SETS = 4 };
	int64_t way = p->t->ways ? p->t->l1 / p->t->ways : 0, sets = 1, depth = p->k < 0 || p->k > TSR_DEPTH ? TSR_DEPTH : p->k;
	while (sets * LINE < way && sets * apart % way)
		sets++;
	int64_t room = sets * p->t->ways;
	return way && apart && (depth > room || (tsr_target_few_registers(p->t) && sets <= FEW_SETS && 2 * depth >= room));
}

/* So many rows pay for a copy of such lines.  Where rows of B are whole pages apart, few do, since of a panel hardly a line stays for the next tile (where registers are few, 8 to 127 rows by 1024 to
 * 4096 columns over 16 to 256 depths are 1.1 to 2.1 times as fast). */
static int64_t enough_crowded(const tsr_problem *p, const tsr_schedule *s)
{
	bool paged = p->row % PAGE == 0, few = tsr_target_few_registers(p->t) && p->n >= FEW_COLUMNS * (int64_t)s->nr;
	return !paged ? ENOUGH_CROWDED : p->run ? ENOUGH_PAGED : few ? ENOUGH_PAGED_NEAR : ENOUGH_CROWDED;
}

/* What a tile's panel of B takes of the first cache where B's rows lie apart: the lines that its columns fall into, one more where they begin anywhere. */
static bool overflows(const tsr_problem *p, const tsr_schedule *s)
{
	enum { LINE = 64 };
	int64_t depth = p->k < 0 || p->k > TSR_DEPTH ? TSR_DEPTH : p->k, width = (int64_t)s->nr * p->bytes, begin = LINE;
	while (begin > 1 && (width % begin || p->row % begin))
		begin /= 2;
	return p->t->ways && p->row && !p->run && p->n > (int64_t)s->nr && depth * (width + LINE - begin) > p->t->l1 / 4 * 3;
}

/* Few columns that fill no vectors: each row of B is loaded by a mask, and from two lines (3 to 10 %, windows 3 to 6). */
static bool cuts_vectors(const tsr_problem *p, const tsr_schedule *s)
{
	return p->t->ways && p->row && p->m >= 2 * ENOUGH_CROWDED && p->n > 0 && p->n <= (int64_t)s->nr && p->n % p->lanes;
}

/* So many rows that a copy of B costs nothing beside them: from one that is side by side, panels come to the first cache with fewer waits than from rows
 * that lie apart, however near (3 to 8 %; sums of few terms, and a B that the first cache holds, gain nothing). */
static bool used_often(const tsr_problem *p, const tsr_schedule *s, int64_t m)
{
	return p->m > 0 && (p->run ? p->run == p->k : p->a_step == 1) && p->k > TSR_SHORT_SUM && p->n * p->k * p->bytes > p->t->l1 && m >= OFTEN * usual_rows(p, s);
}

/* A processor that has to look ahead by itself does so along long stretches of A's rows, which pass by a narrow B. */
bool tsr_in_long_rows(const tsr_problem *p)
{
	return p->t->streams && p->n > 0 && p->n * TSR_PASSING_LONG * p->bytes <= p->t->l2 / 2 && !p->must_a && !p->run && p->a_step == 1;
}

/* Then panels of B, which come again and again from the second cache, have all sets of the first one only where they are copied: B's rows leave out those
 * of the panels beside (32 columns are 1.2 to 1.6 times as fast). */
static bool passes_long(const tsr_problem *p, const tsr_schedule *s)
{
	return tsr_in_long_rows(p) && p->n > (int64_t)s->nr && p->m >= ENOUGH_NEAR * usual_rows(p, s) && p->k > TSR_SHORT_SUM;
}

/* A's rows are found by pointers, where registers are many and processors look ahead by themselves: so high tiles need so few of B's lines that they come from the second
 * cache in time, and a copy is more to wait for (in place 0 to 4 % faster, two threads up to 1.5 times).  Not of four rows (ResNet-18's gradients of 4x4: 1 to 2 % of its step), and
 * not where B's rows are whole pages apart. */
static bool is_pointed(const tsr_problem *p, const tsr_schedule *s)
{
	return p->run && p->row % PAGE != 0 && s->mr >= p->t->tile_m && p->t->streams && !tsr_target_few_registers(p->t);
}

/* Whether so many rows are worth a packed copy of B.  Rows of it that lie near each other are read in place as fast from the second cache, and
 * so are they where what is read beside them is apart, or is found by pointers: then a copy is only more to move, and to wait for.  Not where that
 * is far apart: then it takes the lines and pages that B in place would need as well (8 to 30 % faster with 1500 to 16000 rows). */
static bool worth_packing_b(const tsr_problem *p, const tsr_schedule *s, int64_t m)
{
	if (p->down)                 /* of rows whole pages apart so few lines stay near that fewer rows pay for a copy */
		return p->row % PAGE ? m >= ENOUGH_DOWN * (int64_t)s->mr : m >= ENOUGH_CROWDED;
	if (p->streams)
		return p->t->streams && !tsr_follows_rows(p) && !tsr_reads_deep(p);
	if (is_pointed(p, s) && p->run < p->k)                /* from the last one, too, where K has several loops */
		return false;
	if (used_often(p, s, m) || passes_long(p, s))
		return true;
	bool near = p->row && p->row < PAGE, nearly = p->row && p->row <= PAGE;
	if (p->run ? near : p->a_step != 1 && nearly && !passes_by(p) && !far_apart(p, s))
		return false;
	return m >= (p->run ? p->row % PAGE ? ENOUGH_RUN : ENOUGH_RUN / 2 : near ? ENOUGH_NEAR : ENOUGH) * usual_rows(p, s);
}

/* Short sums by rows of A that lie across K, as a weights' gradient of a small batch has them, and whose lines fall into few sets of the first cache: each tile would get them from the second
 * one (1024 to 4096 rows by 32 to 384 columns over 16 to 64 depths are 1.25 to 1.9 times as fast with a copy, 512 and 768 rows by 128 columns and more 1.05 to 1.2). */
static bool crosses_sets(const tsr_problem *p, const tsr_schedule *s, int64_t n, int64_t k)
{
	int64_t apart = p->a_step * p->bytes, least = (apart % PAGE ? FEW_COLUMNS : 2) * (int64_t)s->nr;
	return tsr_by_strides(p) && tsr_target_few_registers(p->t) && p->a_step != 1 && n >= least && k > p->t->ways && (k <= TSR_SHORT_SUM || apart % PAGE == 0) && crowds(p, apart);
}

/* Whether a packed copy of A is worth its price.  The lines that a tile's rows have in a block stay in the first cache while it passes by B's, but
 * not where each step of K is on a page of its own: three tiles side by side pay for the copy there (1.05 to 1.7 times as fast), short sums
 * beside a B that is copied, too, want more of them.  Panels that are near are one column each, of which a line of A serves no more: short sums pay, too. */
static bool worth_packing_a(const tsr_problem *p, const tsr_schedule *s, int64_t n, int64_t k, bool large)
{
	int64_t many = FEW_COLUMNS * (int64_t)s->nr;
	if (p->down)
		return false;
	bool apart = p->a_step * p->bytes >= PAGE / 8 * 7 && k > TSR_SHORT_SUM;
	if (apart && (!s->pack_b || k >= TSR_STRIDED || n >= many))
		return n > 2 * (int64_t)s->nr;
	bool strided = p->a_step != 1 && k > (tsr_near_panels(p->t) ? STRIDED_NEAR : TSR_STRIDED) && (!s->pack_b || p->must_b);
	/* rows that are nearly enough for any copy of B pass by a deep block of it that is near, rather than by shallow ones (128 rows: up to 15 %) */
	bool pass = p->t->streams && p->m >= ENOUGH * (int64_t)p->t->tile_m / 6 * 5;
	bool crowded = p->a_step != 1 && s->pack_b && n > many && crowds(p, p->a_step * p->bytes);
	return crowded || (n >= many && ((p->streams && !tsr_follows_rows(p) && !tsr_reads_deep(p) && !pass) || (large && !s->pack_b) || strided));
}

/* Where panels of B are near and those of A pass by, large products pay for copies of both: a row of A in place takes an address and a line of its own in
 * each step, and rows of B one line each, on pages of their own (1.05 to 1.1 times as fast, 1.2 to 1.9 where A is transposed). */
static bool worth_packing_both(const tsr_problem *p, int64_t m, int64_t n, int64_t k)
{
	enum { LEAST = 512, LEAST_TURNED = 128 };
	if (!tsr_by_strides(p) || p->streams || !tsr_near_panels(p->t) || k <= TSR_SHORT_SUM)
		return false;
	int64_t a = m * k * p->bytes, b = n * k * p->bytes;
	if (p->a_step != 1)
		return n >= LEAST_TURNED && m >= LEAST_TURNED && b > p->t->l2 / 2;
	return n >= LEAST && m >= LEAST && a >= TSR_LARGE_A * p->t->l2 && b >= p->t->l2;
}

void tsr_choose_packing(const tsr_problem *p, tsr_schedule *s)
{
	int64_t m = p->m < 0 ? INT32_MAX : p->m, n = p->n < 0 ? INT32_MAX : p->n, k = p->k < 0 ? INT32_MAX : p->k;
	bool large_a = k > 0 && m > p->t->l2 / p->bytes / k, large_b = (k > 0 && n > p->t->l2 / p->bytes / k) || passes_by(p);
	/* of a large A the panels pass by, which are near then and need no copy */
	bool page = p->row && p->row % PAGE == 0 && (k > 512 || (large_a && p->a_step == 1 && k >= TSR_STRIDED));
	s->cols = p->across != 0;
	s->dense = p->dense;
	/* beside rows that are found by pointers, one row of B on each page leaves nothing for a processor to look ahead on */
	bool apart = p->run && p->row > PAGE;
	/* beside a large A one of both is packed: B, which is the smaller one, and by whose panels rows of A pass (4 to 15 %) */
	bool smaller = large_a && p->m > 0 && !p->run && p->a_step == 1 && k > TSR_SHORT_SUM && n >= FEW_COLUMNS * (int64_t)s->nr;
	/* a copy that few rows use costs more than reading B in place, where tiles ask for the next panel ahead of time */
	bool pieced = p->pieced && m >= ENOUGH_APART * usual_rows(p, s);
	/* of rows whole pages apart hardly a panel's first lines stay, of others not all where they are more than the first cache has (1.05 to 1.4 times slower) */
	bool crowded = !p->streams && !p->down && m >= enough_crowded(p, s)
		&& ((!is_pointed(p, s) && crowds(p, p->row)) || overflows(p, s) || cuts_vectors(p, s));
	/* panels of B from a copy have all sets of the first cache, beside lines of A that lie apart (1.05 to 1.3 times as fast) */
	bool shallow = tsr_both_across(p) && !p->down && m >= FEW_ROWS_ACROSS * (int64_t)s->mr && n > 2 * (int64_t)s->nr;
	bool pays = (large_b || p->down || page || apart || smaller || used_often(p, s, m) || passes_long(p, s)) && worth_packing_b(p, s, m);
	s->pack_b = p->must_b || pieced || (p->turn && p->stretch % s->nr) || (!s->cols && !p->turn && (pays || crowded || shallow));
	s->rows = p->run != 0;
	bool crosses = crosses_sets(p, s, n, k);
	s->pack_a = p->must_a || (!s->rows && (crosses || worth_packing_a(p, s, n, k, large_a)));
	if (worth_packing_both(p, m, n, k) || (crosses && n * k * p->bytes > p->t->l1))
		s->pack_a = s->pack_b = true;
}
