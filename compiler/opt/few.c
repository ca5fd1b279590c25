/* Few rows, few columns, few products: dot products, whose lanes are steps of K (engine/dots.c), what is left to plain loops, and few rows of as many as
 * the run says. */
#include "schedule.h"

enum { FEW_ROWS = 8, MANY_ROWS = 12, MOST_ASKED = 40, LONG = 4096, PAGE = 4096 };

/* Of a tile whose groups of columns are summed up together. */
static int64_t most_rows(const tsr_problem *p) { return ((int64_t)p->t->vector_registers - 1 - TSR_DOTS_GROUP) / TSR_DOTS_GROUP; }

enum { ADD_UP = 5 };

/* So few that a turned copy of B would take longer: a column of it costs TURN cycles an element, a row's sum `add_up` cycles, since it is added up out of a vector, and each of its steps so much more
 * than one of a tile, the most where rows begin within lines. */
static bool turning_costs_more(const tsr_problem *p, double slower, int64_t add_up)
{
	enum { TURN = 2 };
	return (double)p->m * (slower * (double)p->k / p->lanes + (double)add_up) <= TURN * (double)p->k;
}

/* Where registers are few a tile is two rows, whose sums wait for each other more the longer they are (12 to 20 rows of 64 and 128 depths by 32 to 8192 columns are 1.05 to 1.45 times as fast by a
 * turned copy; not by fewer columns, of which a tile wastes more: 10 by 512 depths 0.63). */
static int64_t add_up_of(const tsr_problem *p)
{
	enum { MOST = 20, SHARE = 4, VECTORS = 4 };
	return !tsr_target_few_registers(p->t) || p->n < VECTORS * (int64_t)p->lanes ? ADD_UP : p->k < SHARE * MOST ? p->k / SHARE : MOST;
}

/* Columns that are asked for while those before them are multiplied, in stretches that may be longer then than the first cache is large: the second one has them in time (2 to 24 rows by 4096 x 4096
 * 1.1 to 1.9 times as fast; 64 0.98 times). */
static bool from_memory(const tsr_problem *p) { return p->t->panels_ahead && !p->pairs && p->m <= MOST_ASKED && tsr_target_far(p->t, p->n * p->k * p->bytes); }

/* Few rows, or few columns, do not pay for a turned copy of B: tiles of dot products read it as it lies. */
static bool along_k(const tsr_problem *p, tsr_schedule *s)
{
	enum { FEW_GROUPS = 2, LEAST_STEPS = 4, LEAST_STEPS_FEW = 8, SHORT_ROW = 1 << 10 };
	bool far = tsr_target_far(p->t, p->n * p->k * p->bytes), few_registers = tsr_target_few_registers(p->t);
	/* of several columns at once a processor that looks ahead by itself gets more; by long vectors not from its last cache, where one after the other is enough, nor by the shortest ones of
	 * columns that end soon (64 matrices of 256 x 256 0.7) */
	bool at_once = p->t->streams && (far || (few_registers && (p->t->fma || p->k * p->bytes > SHORT_ROW)));
	if (!p->dots || p->lanes < TSR_DOTS_GROUP || p->m < (at_once ? 1 : 2) || p->n < 2)
		return false;
	double slower = p->torn ? 1 : !p->t->streams ? 0.25 : far && p->pairs ? 1.25 : far && few_registers ? 0.75 : 0.375;
	/* sums of so few steps are not worth adding up; where registers are few each group of columns wants more (2708 rows of 32 and 64 depths by 5 to 8 columns 1.2 to 1.8 times as fast by tiles) */
	int64_t groups = (p->n + TSR_DOTS_GROUP - 1) / TSR_DOTS_GROUP, steps = few_registers ? LEAST_STEPS_FEW * groups : LEAST_STEPS;
	if (!turning_costs_more(p, slower, add_up_of(p)) && (groups > FEW_GROUPS || p->k < steps * (int64_t)p->lanes))
		return false;
	int64_t most = most_rows(p) < TSR_DOTS_ROWS ? most_rows(p) : TSR_DOTS_ROWS;
	s->dots = s->must_b = true;
	/* of columns that come from memory those of a group stay in the first cache, beside the rows that they meet, which whole pages apart have no more lines there than it has ways; stretches are long,
	 * since each one's sums are added up (8 to 64 rows by 4096 x 4096: 1.2 to 1.3 times as fast as by 6 rows and 16 columns that stay there).  With few registers all of a tile's do */
	bool from_far = p->t->streams && far && !p->pairs && p->m > most, asked = from_memory(p);
	bool low = asked ? p->m > MANY_ROWS && p->k * p->bytes % PAGE == 0 : from_far && most > TSR_DOTS_GROUP;
	s->mr = (uint32_t)tsr_even_rows(p->m, low ? TSR_DOTS_GROUP : most);
	s->nr = p->lanes;
	int64_t near = !from_far ? TSR_LONGEST : few_registers && p->m > FEW_ROWS ? p->t->l1 / 2 / p->lanes / p->bytes : p->t->l1 / (s->mr + TSR_DOTS_GROUP) / p->bytes;
	s->kc = tsr_block_of(p->k, asked ? LONG : p->m <= s->mr ? TSR_LONGEST : near < TSR_LONGEST / 2 ? near : TSR_LONGEST / 2, 1);
	s->mc = tsr_block_of(p->m, TSR_LONGEST, s->mr);
	s->nc = tsr_block_of(p->n, TSR_LONGEST, s->nr);
	return true;
}

/* Few columns of a B that lies across leave most of a vector idle.  Turned, they are those of dot products: a row takes half a cycle for each vector of each column, a little
 * more where A's rows begin within lines, and what adds up the sums of each group, where a tile of one vector takes half a cycle and more for each depth.  Turning a vector of
 * depths takes a cycle for each of them and some for each column.  (2 to 8 columns are 1.3 to 9 times as fast, where registers are many; 9 to 12 where a processor looks ahead by itself, on others 0.83 to 1.03.) */
static bool across_k(const tsr_problem *p, tsr_schedule *s)
{
	enum { COLUMN = 4, GROUP = TSR_DOTS_GROUP };
	bool far = tsr_target_far(p->t, p->m * p->depth * p->bytes), few = p->n <= (far ? 1 : p->t->streams ? 3 : 2) * GROUP && p->n < p->lanes;     /* memory is as fast for tiles */
	if (!p->crosses || p->m < 2 || p->n < 2 || !few || p->k < p->lanes || p->lanes < GROUP || tsr_target_few_registers(p->t))
		return false;
	double steps = (double)((p->k + p->lanes - 1) / p->lanes), n = (double)p->n, groups = (double)((p->n + GROUP - 1) / GROUP);
	double row = steps * n * (p->torn ? 0.6 : 0.5) + ADD_UP * groups, copy = steps * ((double)p->lanes + COLUMN * n);
	if (row + copy / (double)p->m > (double)p->k / 2)
		return false;
	s->dots = s->pack_b = true;
	s->mr = (uint32_t)tsr_even_rows(p->m, most_rows(p));
	s->nr = p->lanes;
	/* the copy stays in the first cache, or in the second one where A comes from memory, which wants long stretches of its rows */
	int64_t most = (far ? p->t->l2 / 4 : p->t->l1 / 2) / (p->n * p->bytes);
	s->kc = tsr_block_of(p->k, most < TSR_LONGEST ? most : TSR_LONGEST, p->lanes);
	s->mc = tsr_block_of(p->m, TSR_LONGEST, s->mr);
	s->nc = s->nr;
	return true;
}

/* Columns that are computed, as weights of 8 or 16 bits are converted, wait side by side along K, those of a tile at a time (4 to 64 rows by 4096 x 4096: 1.1 to 2.5 times
 * as fast as turned). */
static bool computed(const tsr_problem *p, tsr_schedule *s)
{
	if (!p->computed || p->lanes < TSR_DOTS_GROUP || p->m < 2 || p->n < 2 * (int64_t)p->lanes || !turning_costs_more(p, 0.375, ADD_UP))
		return false;
	s->dots = s->pack_b = s->must_b = true;
	s->mr = (uint32_t)tsr_even_rows(p->m, most_rows(p) < TSR_DOTS_GROUP ? most_rows(p) : TSR_DOTS_GROUP);
	s->nr = p->lanes;
	/* which is much beside few rows: then it stays in the first cache */
	int64_t near = p->m <= FEW_ROWS ? p->t->l1 / 2 / p->lanes / p->bytes : p->t->l1 / (s->mr + TSR_DOTS_GROUP) / p->bytes;
	s->kc = tsr_block_of(p->k, near < TSR_LONGEST / 2 ? near : TSR_LONGEST / 2, p->lanes);
	s->mc = tsr_block_of(p->m, TSR_LONGEST, s->mr);
	s->nc = s->nr;
	return true;
}

bool tsr_choose_dots(const tsr_problem *p, tsr_schedule *s) { return along_k(p, s) || across_k(p, s) || computed(p, s); }

/* So few products that plain loops are as fast.  Where masks cost nothing a tile of any few columns takes a tenth to half of their time; not of one vector that fills a register of
 * sixteen lanes, by which they go, too, nor where turning a B of few columns would cost as much as all else, nor of one row along many columns or many depths.  Nor where operands are packed for a few
 * products, but for those whose axes lie in another order, which plain loops read number by number (48 random batches of such matrices 3.7 times as fast in the mean, 0.5 to 22
 * times, 14 with AVX2 2.0). */
bool tsr_is_tiny(const tsr_problem *p)
{
	enum { COMPUTED = 4096, IN_PLACE = 512, TURNED = 300, MASKED = 16, WHOLE = 16, FEW = 8, DEEP = 32, LEAST_DEPTH = 3, LEAST_ROWS = 2, LEAST_ROWS_BOTH = 5, LEAST_COLUMNS = 4 };
	bool must = p->must_a || p->must_b;
	int64_t products = p->m * p->n * p->k;
	if (p->m <= 0 || p->n <= 0 || p->k <= 0)
		return false;
	bool reordered = p->reordered && !p->dots && p->k >= LEAST_DEPTH && p->m >= (p->must_a && p->must_b ? LEAST_ROWS_BOTH : LEAST_ROWS);
	if (p->t->masks != TSR_MASKS_ALL || p->pairs || p->run || p->across || p->turn)
		return products < (must && !(reordered && p->n >= LEAST_COLUMNS && (p->t->masks == TSR_MASKS_ALL || !p->windows)) ? COMPUTED : IN_PLACE);
	if (must && reordered)
		return products < MASKED;
	if (must)
		return products < (p->dots && p->n >= FEW ? TURNED : COMPUTED);
	bool whole = p->lanes >= WHOLE && p->n >= p->lanes;
	if (whole && p->n == p->lanes && p->m * p->k <= WHOLE)
		return true;
	return products < (p->m == 1 && (whole || p->k > DEEP) ? IN_PLACE : MASKED);
}

/* One column, or two beside rows that lie along K in stretches that fill vectors, are sums along vectors; of other few columns a tile makes 1.2 to 60 times as many.  So it does of any where masks cost nothing and
 * sums are short, or there are many products (up to 5 times as many). */
bool tsr_is_narrow(const tsr_problem *p)
{
	enum { SHORT = 32 };
	if (p->n > 1 && p->t->masks == TSR_MASKS_ALL && !p->must_a && !p->must_b && !p->pairs && !p->run && !p->across && !p->turn && ((p->k > 0 && p->k <= SHORT) || p->batch != 1))
		return false;
	return p->n > 0 && p->n * 4 <= p->lanes && p->n < 4 && (p->n == 1 || p->m < FEW_ROWS || (p->n == 2 && p->a_step == 1 && !(p->run && p->run < p->lanes)));
}

/* ---- as many rows as the run says ------------------------------------------------------------------------------------------
 *
 * They are few more often than not: one example that is asked about, a handful that came together.  A schedule for any number packs all of B for them, which
 * takes 2 to 7 times as long as what follows.  So a contraction whose rows are one such loop has others: one for up to 64 rows, chosen as for 24, or, if that packs B, for up to 16, as for 4; and, where B comes row by row from memory or the last
 * cache, one for up to 3, chosen as for 2.  Each has a tile for every height that a last tile can have (engine/place.c).  (One row by 512 x 2048 61 us for 97 by tiles of four, 16 rows 298 for 334, 40 rows
 * 746 for 903 by the schedule for any.) */

/* Of dot products, which would turn B else (1.2 to 1.35 times as fast at 24 and 32 rows of 256 to 2048 depths, level at 64), and of what reads B in place: up to so many rows, as for so many. */
enum { SHALLOW_ROWS = 4, MOST_DOTS = 32, SHALLOW = 32 };      /* shallow: rows of B in turn */
typedef struct up_to { int64_t rows, like; } up_to;
static const up_to few_rows = { 3, 2 }, some_rows = { 16, 4 }, many_rows = { 64, 24 };

/* All rows are one loop of run-time extent, and all else is known. */
static bool rows_alone(const tsr_contract_view *v)
{
	const tsr_walks *m = &v->cls[TSR_CLASS_M];
	return m->nloops == 1 && tsr_walks_count(m) < 0 && tsr_walks_count(&v->cls[TSR_CLASS_N]) > 0 && tsr_walks_count(&v->cls[TSR_CLASS_K]) > 0
		&& tsr_walks_count(&v->cls[TSR_CLASS_BATCH]) > 0;
}

static bool schedule_for(const tsr_loops *l, const tsr_contraction *c, const tsr_target *t, int64_t most, tsr_contraction *out)
{
	*out = *c;
	out->loops = TSR_NEW_N(l->tc->arena, tsr_contract_loop, c->nloops + 1);
	for (uint32_t i = 0; i < c->nloops; i++)
		out->loops[i] = c->loops[i];
	out->most_rows = most;
	return tsr_contract_schedule(l, out, t);
}

/* What may be another schedule of the same contraction. */
static bool same_kind(const tsr_contraction *c, const tsr_contract_view *v, tsr_contraction *out)
{
	tsr_schedule *s = &out->schedule;
	if (s->early || s->turn || s->join || s->knit || out->turned)
		return false;
	/* what follows may count on sums of one block (tail.c, passing.c) */
	if (tsr_contract_one_block(c) && !tsr_contract_one_block(out))
		s->kc = tsr_walks_count(&v->cls[TSR_CLASS_K]);
	s->split = c->schedule.few;
	return true;
}

static bool in_place_up_to(const tsr_loops *l, const tsr_contraction *c, const tsr_target *t, up_to most, tsr_contraction *out)
{
	if (!schedule_for(l, c, t, most.like, out) || out->schedule.pack_b)
		return false;
	if (out->schedule.dots && most.rows > MOST_DOTS)
		most.rows = most.like;
	if (most.rows < SHALLOW_ROWS && out->schedule.mr < most.rows)
		most.rows = out->schedule.mr;
	out->most_rows = most.rows, out->schedule.mc = tsr_round_up(most.rows, out->schedule.mr);
	return true;
}

uint32_t tsr_contract_few(const tsr_loops *l, const tsr_contraction *c, const tsr_target *t, tsr_contraction *out)
{
	tsr_contract_view v;
	tsr_contract_view_make(l, c, &v);
	if (!c->schedule.mr || c->turned || c->schedule.named || !rows_alone(&v))
		return 0;
	if (schedule_for(l, c, t, MOST_DOTS, out) && out->schedule.dots)
		return same_kind(c, &v, out);
	uint32_t n = in_place_up_to(l, c, t, few_rows, out) && same_kind(c, &v, out) && out->schedule.kc <= SHALLOW;
	tsr_contraction narrow;
	if (t->matrix && tsr_contract_narrow(l, c, &narrow)) {    /* others go by matrix registers */
		up_to fewer = { tsr_matrix_enough(&narrow, TSR_CLASS_M) - 1, some_rows.like };
		return n + (in_place_up_to(l, c, t, fewer, &out[n]) && same_kind(c, &v, &out[n]));
	}
	return n + ((in_place_up_to(l, c, t, many_rows, &out[n]) || in_place_up_to(l, c, t, some_rows, &out[n])) && same_kind(c, &v, &out[n]));
}

uint32_t tsr_narrow_lanes(const tsr_problem *p)
{
	enum { LEAST_BYTES = 16 };
	uint32_t half = p->lanes / 2;
	bool one = p->t->masks == TSR_MASKS_LOADS && p->n == half && half * p->bytes >= LEAST_BYTES;
	return one || tsr_problem_halves(p) ? half : 0;
}
