/* Chooses how each contraction is computed, from its sizes and the target's table alone.
 *
 * The register tile is the one with the least modelled time over the whole problem, its edges included: a step of K costs a
 * tile of r rows and v vectors the larger of its multiply-adds (two a cycle), its loads (two a cycle) and the latency of one
 * multiply-add; a tile's end costs its stores.  Packing: what cannot be read in place is packed; what can is packed when the
 * walk through it would leave the caches' reach (blocks of a matrix larger than L2) and it is used often enough.  K is cut so that a
 * B panel and an A block share L2, M so that A's block takes half of L2, N so that B's block takes three quarters of a share of L3; where A is not
 * packed its rows pass by a block of B that takes three quarters of L2. */
#include "pass.h"

enum { MOST_ROWS = 24, MOST_POINTERS = 12, MOST_VECS = 4, LATENCY = 4, DEPTH = 384, PASSING = 512, STRIDED = 256, LONGEST = 2048, TABLE = 48 << 10,
	   ENOUGH = 24, ENOUGH_NEAR = 36, ENOUGH_RUN = 64, SHORT_SUM = 64, LEAST_DEPTH = 64, PAGE = 4096 };

typedef struct problem {
	const tsr_target *t;
	uint32_t lanes, bytes;
	int64_t m, n, k, batch;      /* counts, -1: known at run time */
	bool must_a, must_b;         /* cannot be read in place */
	int64_t run, across;         /* A's, B's rows are read in place, in stretches of so many; 0: they are not */
	bool dense;                  /* B's are copied side by side */
	bool windows;                /* B is guarded, looked up or lies in several stretches along N */
	int64_t a_step;              /* stride along K in A, when it is one loop */
	int64_t k_unit;              /* depths of one position of the loop along which an operand lies side by side, where these are few */
	int64_t row;                 /* bytes from one row of B to the next, when known */
	int64_t turn, stretch;       /* columns that are turned together, 0: none; how many of them lie side by side in B, 1: not even two */
	int64_t run_c, rows_c, most_c; /* C lies side by side in so many columns and, behind each other, most_c rows, so many of which are whole lines; 0 */
	int64_t few_c;               /* the fewest of those rows that are */
} problem;

static bool one_loop(const tsr_walks *x) { return x->n <= 1; }

/* Positions of the class behind the loop along which this operand lies side by side. */
static int64_t behind_unit(const tsr_walks *x, tsr_side side)
{
	int64_t n = 1;
	for (uint32_t i = x->n; i-- > 0 && !(x->at[i].known && x->at[i].stride[side] == 1);)
		n *= i > 0 && tsr_size_is_const(x->at[i].extent) ? x->at[i].extent.k : DEPTH;
	return n < DEPTH / 4 ? n : 1;
}

/* Where C lies side by side in stretches that are no lines, but one behind the other for a row after the other. */
static void lines_of_rows(problem *p, const tsr_contraction *c, const tsr_walks *m, const tsr_walks *n)
{
	enum { LINE = 64 };
	const tsr_walk *row = m->n ? &m->at[m->n - 1] : NULL, *column = n->n ? &n->at[n->n - 1] : NULL;
	if (!row || !column || !row->known || !column->known || !tsr_size_is_const(row->extent) || !tsr_size_is_const(column->extent) || !c->clear || c->tail
		|| column->stride[TSR_SIDE_C] != 1 || row->stride[TSR_SIDE_C] != column->extent.k || column->extent.k < p->lanes)
		return;
	int64_t run = column->extent.k, rows = row->extent.k, line = LINE / p->bytes;
	while (rows > 1 && (rows > 2 * MOST_ROWS || row->extent.k % rows || run * rows % line))
		rows--;
	if (run % line && rows > 1)
		p->run_c = run, p->rows_c = rows, p->most_c = row->extent.k;
	for (p->few_c = 1; p->run_c && run * p->few_c % line;)
		p->few_c++;
}

static int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

/* Stretches that leave much of their last vector idle are copied side by side, where C's columns are, make one block, and rows enough use the copy. */
static bool joins_stretches(const problem *p, const tsr_walks *n)
{
	enum { LEAST_ROWS = 32, MOST_COLUMNS = 512 };
	return p->across && p->n > p->across && p->n <= MOST_COLUMNS && n->n == 1 && tsr_walks_unit(n, TSR_SIDE_C) && p->m >= LEAST_ROWS && round_up(p->across, p->lanes) * 7 >= p->across * 8;
}

/* Columns beside each other that tiles may cut as they like. */
static int64_t columns_of(const problem *p) { return p->across && !p->dense ? p->across : p->n; }

static problem understand(const tsr_loops *l, const tsr_contraction *c, const tsr_contract_view *v, const tsr_target *t)
{
	const tsr_walks *m = &v->cls[TSR_CLASS_M], *n = &v->cls[TSR_CLASS_N], *k = &v->cls[TSR_CLASS_K];
	problem p = { .t = t, .bytes = tsr_prec_bytes(l->buffers.at[c->c]->prec) };
	p.lanes = t->vector_bytes / p.bytes;
	p.m = tsr_walks_count(m);
	p.n = tsr_walks_count(n);
	p.k = tsr_walks_count(k);
	p.batch = tsr_walks_count(&v->cls[TSR_CLASS_BATCH]);
	p.must_a = !one_loop(m) || !one_loop(k) || p.m < 0;
	p.must_a |= !tsr_contract_plain(l, c, TSR_SIDE_A);
	p.run = c->run.length, p.across = c->across.length;
	p.must_a &= !p.run;
	p.must_b = !tsr_contract_plain(l, c, TSR_SIDE_B) || !one_loop(n) || !one_loop(k) || !tsr_walks_unit(n, TSR_SIDE_B);
	p.windows = c->b_value->kind == TSR_EXPR_SELECT || c->b_value->kind == TSR_EXPR_LOOKUP || n->nloops > 1;
	p.must_b &= !p.across;
	p.a_step = k->n == 1 && k->at[0].known ? k->at[0].stride[TSR_SIDE_A] : 1;
	p.row = k->n == 1 && k->at[0].known ? k->at[0].stride[TSR_SIDE_B] * p.bytes : 0;
	p.dense = joins_stretches(&p, n);
	lines_of_rows(&p, c, m, n);
	if (c->turned) {
		uint32_t i = n->n;
		for (p.turn = 1; n->at[--i].stride[TSR_SIDE_C] != 1;)
			p.turn *= n->at[i].extent.k;
		p.stretch = n->at[n->n - 1].stride[TSR_SIDE_B] == 1 ? p.turn : 1;
		p.turn *= n->at[i].extent.k;
		/* tiles lie within stretches */
		p.must_b = !tsr_contract_plain(l, c, TSR_SIDE_B) || !one_loop(k) || p.stretch % p.lanes;
	}
	p.k_unit = behind_unit(k, TSR_SIDE_A) > 1 ? behind_unit(k, TSR_SIDE_A) : behind_unit(k, TSR_SIDE_B);
	return p;
}

static double larger(double a, double b) { return a > b ? a : b; }

/* Cycles of one tile of r rows and v vectors. */
static double tile_time(const problem *p, int64_t r, int64_t v)
{
	double step = larger(larger((double)(r * v) / 2, (double)(r + v) / 2), LATENCY);
	double depth = p->k > 0 ? (double)p->k : DEPTH;
	return depth * step + 1.5 * (double)(r * v) + 20;
}

static double total_time(const problem *p, int64_t r, int64_t v)
{
	int64_t m = p->m > 0 ? p->m : 1024, n = columns_of(p) > 0 ? columns_of(p) : 1024, width = v * p->lanes;
	int64_t full_m = m / r, rest_m = m % r, full_n = n / width, rest_v = (n % width + p->lanes - 1) / p->lanes;
	double time = (double)(full_m * full_n) * tile_time(p, r, v);
	if (rest_m)
		time += (double)full_n * tile_time(p, rest_m, v);
	if (rest_v)
		time += (double)full_m * tile_time(p, r, rest_v);
	if (rest_m && rest_v)
		time += tile_time(p, rest_m, rest_v);
	return time;
}

/* Columns that are turned together are whole tiles, and so are those that lie side by side in B, where tiles of two vectors can be. */
static bool fits_turning(const problem *p, int64_t v)
{
	int64_t lanes = p->lanes;
	bool wide = false;
	for (int64_t w = 2; w <= MOST_VECS; w++)
		wide |= p->turn % (w * lanes) == 0 && p->stretch % (w * lanes) == 0;
	return p->turn % (v * lanes) == 0 && (!wide || p->stretch % (v * lanes) == 0);
}

static int64_t multiple_of(int64_t x, int64_t y)
{
	int64_t n = x;
	while (n % y)
		n += x;
	return n;
}

/* Where rows are joined, tiles are whole stretches of C's columns, where tiles of two vectors can be, and few of them whole rows of lines. */
static bool fits_joining(const problem *p, int64_t r, int64_t v)
{
	bool wide = false;
	for (int64_t w = 2; w <= MOST_VECS; w++)
		wide |= w * p->lanes % p->run_c == 0;
	int64_t rows = multiple_of(p->rows_c, r);
	return rows <= 3 * p->rows_c && (rows % p->most_c == 0 || p->most_c % rows == 0) && (!wide || v * p->lanes % p->run_c == 0);
}

/* Or a tile has all that fills its lines in registers. */
static bool fits_knitting(const problem *p, int64_t r, int64_t v)
{
	int64_t width = v * p->lanes;
	return p->most_c % p->few_c == 0 && p->m % p->few_c == 0 && r % p->few_c == 0 && width % p->run_c == 0 && p->n % width == 0;
}

static bool can_knit(const problem *p)
{
	bool can = false;
	for (int64_t v = 1; p->run_c && v <= MOST_VECS; v++)
		can |= fits_knitting(p, p->few_c, v) && p->few_c * v <= (int64_t)p->t->vector_registers / 2;
	return can;
}

/* B that is turned behind is read as it lies by tiles of as many rows as there are, so that each of its lines is read as seldom as can be. */
static bool choose_tall(const problem *p, tsr_schedule *s)
{
	enum { FEWEST = 20 };
	for (int64_t v = 1; v <= MOST_VECS; v++) {
		int64_t most = ((int64_t)p->t->vector_registers - 1 - v) / v, limit = most > MOST_ROWS ? MOST_ROWS : most;
		int64_t rows = (p->m + (p->m + limit - 1) / limit - 1) / ((p->m + limit - 1) / limit);
		if (p->stretch % (v * p->lanes) || rows * v < (FEWEST < most ? FEWEST : most / 2))
			continue;
		s->mr = (uint32_t)rows;
		s->nr = (uint32_t)(v * p->lanes);
		return true;
	}
	return false;
}

static void choose_tile(const problem *p, tsr_schedule *s)
{
	if (p->turn && !p->must_b && choose_tall(p, s))
		return;
	double best = 0;
	bool knit = can_knit(p);
	int64_t columns = columns_of(p);
	int64_t widest = columns > 0 && columns < MOST_VECS * (int64_t)p->lanes ? (columns + p->lanes - 1) / p->lanes : MOST_VECS;
	for (int64_t v = widest; v > 0; v--) {
		if (p->turn && !fits_turning(p, v))
			continue;
		int64_t most = ((int64_t)p->t->vector_registers - 1 - v) / v;
		int64_t limit = p->run ? MOST_POINTERS : MOST_ROWS;
		most = most > limit ? limit : most;
		for (int64_t r = most; r > 0 && r > most / 2; r--) {
			if (p->run_c && !(knit ? fits_knitting : fits_joining)(p, r, v))
				continue;
			bool table = r == p->t->tile_m && v == p->t->tile_n;
			double time = total_time(p, r, v) * (table ? 0.97 : 1);
			if (best == 0 || time < best * 0.995) {
				best = time;
				s->mr = (uint32_t)r;
				s->nr = (uint32_t)(v * p->lanes);
			}
		}
	}
}

/* `total` cut into equal blocks of at most `most`, in multiples of `unit`. */
static int64_t block_of(int64_t total, int64_t most, int64_t unit)
{
	most = most / unit * unit;
	if (most < unit)
		most = unit;
	if (total < 0)
		return most;
	int64_t parts = (total + most - 1) / most;
	return parts <= 1 ? round_up(total, unit) : round_up((total + parts - 1) / parts, unit);
}

/* Whether so many rows are worth a packed copy of B.  Rows of it that lie near each other are read in place as fast from the second cache, and
 * so are they where what is read beside them is far apart, or is found by pointers: then a copy is only more to move, and to wait for. */
static bool worth_packing_b(const problem *p, const tsr_schedule *s, int64_t m)
{
	bool near = p->row && p->row < PAGE, nearly = p->row && p->row <= PAGE;
	if (p->run ? near : p->a_step != 1 && nearly)
		return false;
	return m >= (p->run ? ENOUGH_RUN : near ? ENOUGH_NEAR : ENOUGH) * (int64_t)s->mr;
}

static void choose_packing(const problem *p, tsr_schedule *s)
{
	int64_t m = p->m < 0 ? INT32_MAX : p->m, n = p->n < 0 ? INT32_MAX : p->n, k = p->k < 0 ? INT32_MAX : p->k;
	bool large_b = k > 0 && n > p->t->l2 / p->bytes / k, page = p->row && p->row % PAGE == 0 && k > 512;
	s->cols = p->across != 0;
	s->dense = p->dense;
	/* a copy that few rows use costs more than reading B in place, where tiles ask for the next panel ahead of time */
	s->pack_b = p->must_b || (p->turn && p->stretch % s->nr) || (!s->cols && !p->turn && (large_b || page) && worth_packing_b(p, s, m));
	bool large_a = k > 0 && m > p->t->l2 / p->bytes / k, strided = p->a_step != 1 && k > STRIDED, crowded = p->a_step * p->bytes % PAGE == 0;
	/* the lines that a tile's rows have in a block stay in the first cache while it passes by B's, unless they all fall into the same few */
	strided &= !s->pack_b || p->must_b || crowded;
	int64_t columns = crowded ? 4 : 8;
	s->rows = p->run != 0;
	s->pack_a = p->must_a || (!s->rows && ((large_a && !s->pack_b) || strided) && n >= columns * (int64_t)s->nr);
}

/* Rows of B a page apart, read in place, fall into the same few lines of a cache: no more of them in turn than it can keep. */
static int64_t most_depth(const problem *p, const tsr_schedule *s)
{
	bool crowded = !s->pack_b && !s->cols && p->row && p->row % PAGE == 0;
	int64_t fit = crowded ? p->t->l2 / p->row : DEPTH;
	return fit < LEAST_DEPTH ? LEAST_DEPTH : fit < DEPTH ? fit : DEPTH;
}

/* K's blocks hold whole stretches of A's rows, or whole blocks make a stretch; false: neither. */
static bool choose_depth(const problem *p, int64_t most, int64_t *kc)
{
	if (!p->run)
		*kc = block_of(p->k, most, p->k_unit);
	else if (p->run <= most)
		*kc = p->run * block_of(p->k < 0 ? -1 : p->k / p->run, (most + most / 2) / p->run, 1);
	else {
		int64_t parts = 1;
		while (parts < p->run && (p->run % parts || p->run / parts > most + most / 4))
			parts++;
		*kc = p->run / parts >= DEPTH / 8 ? p->run / parts : p->run;
	}
	return *kc <= LONGEST;
}

/* Turning few rows of sums costs less than turning B, where there is more of that; they wait in the second cache. */
static problem consider_turning(const tsr_loops *l, tsr_contraction *c, problem p)
{
	enum { MOST_TURNED_LANES = 16 };
	tsr_contract_view v;
	if (!p.must_b || p.m < 2 || p.m > 2 * MOST_ROWS || p.k < p.m || p.lanes > MOST_TURNED_LANES || !tsr_contract_turns(l, c))
		return p;
	c->turned = true;
	tsr_contract_view_make(l, c, &v);
	problem turned = understand(l, c, &v, p.t);
	if (turned.turn % p.lanes == 0 && p.m * turned.turn * p.bytes <= p.t->l2 / 4 * 3)
		return turned;
	c->turned = false;
	return p;
}

/* The blocks, once what is packed and the depth of a stretch are known. */
static void choose_blocks(const problem *p, tsr_schedule *s, int64_t kc, bool short_sum)
{
	const tsr_target *t = p->t;
	/* A's rows pass by B's block, which has to be near; the fewer its columns, the more often */
	bool passing = s->pack_b && !s->pack_a && !s->rows && !p->must_b && !p->turn;
	s->kc = passing ? block_of(p->k, p->a_step == 1 ? PASSING : STRIDED, p->k_unit) : kc;
	int64_t each = s->kc * p->bytes, most_m = t->l2 / 2 / each;
	if (short_sum)               /* rows of a block that lie near each other are written together */
		most_m = t->l1 / 2 / each;
	if (p->run && most_m > TABLE / 8 / (s->kc / p->run + 1))
		most_m = TABLE / 8 / (s->kc / p->run + 1);
	s->mc = block_of(p->m, most_m, s->mr);
	s->nc = block_of(p->n, (passing ? t->l2 : t->l3) / 4 * 3 / each, s->nr);
	if (p->run_c && s->kc >= p->k && can_knit(p))
		s->knit = p->run_c;
	else if (p->run_c && s->kc >= p->k && p->n % multiple_of(s->nr, p->run_c) == 0) {
		s->join = multiple_of(s->nr, p->run_c);
		s->mc = multiple_of(s->mr, p->rows_c);
		s->nc = block_of(p->n, s->nc, s->join);
	}
	if (p->turn) {
		s->turn = p->turn;
		s->nc = s->pack_b ? block_of(p->turn, t->l2 / 4 / each, p->stretch % s->nr ? s->nr : p->stretch) : p->turn;
	}
	if (s->dense)
		s->nc = p->n;
	else if (s->cols)
		s->nc = p->across * block_of(p->n < 0 ? -1 : p->n / p->across, TABLE / 8 / s->kc, 1);
}

bool tsr_contract_schedule(const tsr_loops *l, tsr_contraction *c, const tsr_target *target)
{
	tsr_contract_view v;
	c->turned = false;
	tsr_contract_view_make(l, c, &v);
	problem p = understand(l, c, &v, target);
	int64_t kc;
	if (p.must_a && (c->run = tsr_contract_run(l, c)).n) {
		tsr_contract_view_make(l, c, &v);
		p = understand(l, c, &v, target);
		if (!choose_depth(&p, DEPTH, &kc)) {
			c->run = (tsr_stretch){ 0 };
			tsr_contract_view_make(l, c, &v);
			p = understand(l, c, &v, target);
		}
	}
	if (p.must_b && p.windows && !p.run && (c->across = tsr_contract_across(l, c)).n) {
		tsr_contract_view_make(l, c, &v);
		p = understand(l, c, &v, target);
	}
	p = consider_turning(l, c, p);
	tsr_schedule *s = &c->schedule;
	*s = (tsr_schedule){ .reason = "plain loops" };
	if (p.lanes < 2 || p.m == 0 || p.n == 0 || p.k == 0 || p.batch == 0)
		return false;
	bool tiny = p.m > 0 && p.n > 0 && p.k > 0 && p.m * p.n * p.k < (p.must_a || p.must_b ? 4096 : 512);
	bool narrow = p.n > 0 && p.n * 4 <= p.lanes && p.n < 4;
	if (tiny || narrow || (p.m == 1 && p.must_b)) {
		s->reason = tiny ? "plain loops: small" : "plain loops: a vector";
		return false;
	}
	bool short_sum = p.k > 0 && p.k <= SHORT_SUM && p.m * p.n * p.bytes > target->l3;        /* C is most of the traffic */
	if (!short_sum || p.turn || p.across)
		p.run_c = 0;
	choose_tile(&p, s);
	choose_packing(&p, s);
	choose_depth(&p, most_depth(&p, s), &kc);
	choose_blocks(&p, s, kc, short_sum);
	s->must_a = p.must_a, s->must_b = p.must_b;
	s->reason = s->turn && !s->pack_b ? (s->pack_a ? "turn C, pack A" : "turn C") : s->turn ? (s->pack_a ? "turn C, pack both" : "turn C, pack B") : s->dense ? (s->pack_a ? "B's rows copied, pack A" : "B's rows copied") : s->cols ? (s->pack_a ? "B's rows in place, pack A" : "B's rows in place") : s->rows ? (s->pack_b ? "A's rows in place, pack B" : "A's rows in place") : s->pack_a && s->pack_b ? "pack both" : s->pack_b ? "pack B" : s->pack_a ? "pack A" : "no packing";
	return true;
}

int64_t tsr_schedule_rows(const tsr_schedule *s) { return s->join ? s->mc : s->mr; }
int64_t tsr_schedule_columns(const tsr_schedule *s) { return s->join ? s->join : s->turn ? s->turn : s->nr; }

void tsr_contractions_schedule(tsr_pass *p, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR && s->loop.contraction)
			p->changes += tsr_contract_schedule(p->l, s->loop.contraction, p->target);
		if (s->kind == TSR_STMT_FOR && s->loop.contraction && s->loop.contraction->schedule.mr && p->options->schedules)
			tsr_schedules_apply(p->options->schedules, p->l, s->loop.contraction, p->target);
		if (s->kind == TSR_STMT_KERNEL)
			tsr_contractions_schedule(p, &s->kernel.body);
		else if (s->kind == TSR_STMT_IF)
			tsr_contractions_schedule(p, &s->cond.body);
		else if (s->kind == TSR_STMT_FOR)
			tsr_contractions_schedule(p, &s->loop.body);
	}
}

void tsr_pass_schedule(tsr_pass *p)
{
	for (uint32_t i = 0; i < p->l->units.n; i++)
		tsr_contractions_schedule(p, &p->l->units.at[i]->body);
}
