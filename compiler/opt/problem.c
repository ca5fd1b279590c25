/* What a contraction is to those who choose its schedule: counts, what can be read in place, how far apart rows lie. */
#include "schedule.h"

/* Under each of A's stretches of so many, B's rows are the same distance apart. */
static bool stretches_fit(const tsr_walks *k, int64_t run)
{
	return run && k->n && tsr_size_is_const(k->at[k->n - 1].extent) && k->at[k->n - 1].extent.k % run == 0;
}

static bool one_loop(const tsr_walks *x) { return x->n <= 1; }

/* Positions of the class behind the loop along which this operand lies side by side. */
static int64_t behind_unit(const tsr_walks *x, tsr_side side)
{
	int64_t n = 1;
	for (uint32_t i = x->n; i-- > 0 && !(x->at[i].known && x->at[i].stride[side] == 1);)
		n *= i > 0 && tsr_size_is_const(x->at[i].extent) ? x->at[i].extent.k : TSR_DEPTH;
	return n < TSR_DEPTH / 4 ? n : 1;
}

/* Where C lies side by side in stretches that are no lines, but one behind the other for a row after the other. */
static void lines_of_rows(tsr_problem *p, const tsr_contraction *c, const tsr_walks *m, const tsr_walks *n)
{
	enum { LINE = 64 };
	const tsr_walk *row = m->n ? &m->at[m->n - 1] : NULL, *column = n->n ? &n->at[n->n - 1] : NULL;
	if (!row || !column || !row->known || !column->known || !tsr_size_is_const(row->extent) || !tsr_size_is_const(column->extent) || !c->clear || c->tail
		|| column->stride[TSR_SIDE_C] != 1 || row->stride[TSR_SIDE_C] != column->extent.k || column->extent.k < p->lanes)
		return;
	int64_t run = column->extent.k, rows = row->extent.k < 2 * TSR_MOST_ROWS ? row->extent.k : 2 * TSR_MOST_ROWS, line = LINE / p->bytes;
	while (rows > 1 && (row->extent.k % rows || run * rows % line))
		rows--;
	if (run % line && rows > 1)
		p->run_c = run, p->rows_c = rows, p->most_c = row->extent.k;
	for (p->few_c = 1; p->run_c && run * p->few_c % line;)
		p->few_c++;
}

bool tsr_problem_halves(const tsr_problem *p)
{
	enum { MOST = 128 };         /* of more, what is left idle is little */
	int64_t half = p->lanes / 2, rest = (p->across ? p->across : p->n) % p->lanes;
	return p->t->half_units && !p->pairs && (p->across ? rest == half : p->n > 0 && p->n < MOST && rest && rest <= half);
}

bool tsr_problem_stretches(const tsr_problem *p, int64_t columns)
{
	int64_t blocks = p->k > 0 ? (p->k + TSR_DEPTH - 1) / TSR_DEPTH : 1, depth = p->k > 0 ? p->k / blocks : TSR_DEPTH;
	return p->across && !tsr_problem_halves(p) && columns > p->across && columns * depth * p->bytes <= p->t->l2 && tsr_round_up(p->across, p->lanes) * 7 >= p->across * 8;
}

/* Stretches that leave much of their last vector idle are copied side by side, where C's columns are, make one block, and rows enough use the copy. */
static bool joins_stretches(const tsr_problem *p, const tsr_walks *n)
{
	enum { LEAST_ROWS = 32, LEAST_EACH = 8 };        /* the copy of one position of a batch is little beside all of them */
	return tsr_problem_stretches(p, p->n) && n->n == 1 && tsr_walks_unit(n, TSR_SIDE_C) && p->m >= (p->batch > 1 ? LEAST_EACH : LEAST_ROWS);
}

int64_t tsr_problem_columns(const tsr_problem *p) { return p->across && !p->dense ? p->across : p->n; }

/* Each line of B is used by a tile or few, so that what its coming costs counts; rows enough would make a copy of it worth its price. */
static bool is_stream(const tsr_problem *p)
{
	enum { FEW = 144, APART = 1024 };
	bool in_place = p->row >= APART && !p->must_b && !p->run && !p->across && !p->turn;
	return in_place && p->m > 1 && p->m < FEW && p->n > 0 && p->depth > 2 * p->t->l2 / p->bytes / p->n;
}

/* Of A a tile has one line in each step of K then, however high it is, so that tall tiles need the fewest lines, and where registers are many those come in time from where they lie
 * (14 x 32 of 128 to 4096 rows 1.01 to 1.14 times as fast as 6 x 64 of packed ones, 9 to 140 rows by a B that no near cache holds up to 1.7 times).  Not of few terms, of so few rows that their
 * sums wait for nothing else, not where so much of both comes from memory that A is worth a copy, or one of them for so many rows, though too few to copy B (0.93 to 0.97), and of rows of B whole
 * pages apart only deep ones (196 terms 0.95 to 0.98). */
static bool goes_down(const tsr_problem *p)
{
	enum { FEWEST = 4, TALL_VECS = 2, LEAST_DEPTH = 192, LEAST_PAGED = 512, LARGE = 8, MANY = 128, COPIED = 560, PAGE = 4096 };
	bool plain = p->a_step != 1 && !p->must_a && !p->must_b && !p->run && !p->across && !p->turn && p->row > 0;
	if (!plain || !p->t->streams || tsr_target_few_registers(p->t) || p->m <= FEWEST || p->n <= TALL_VECS * (int64_t)p->lanes || p->k < LEAST_DEPTH)
		return false;
	int64_t a = p->m * p->depth * p->bytes, b = p->n * p->depth * p->bytes;
	bool far_a = a >= LARGE * p->t->l2, far_b = b >= LARGE * p->t->l2, waits = (far_a || far_b) && p->m >= MANY && p->m < COPIED;
	return a + b > p->t->l1 && !(far_a && far_b && !p->streams) && !waits && (p->row % PAGE || p->k >= LEAST_PAGED || p->streams);
}

/* Of both operands a position of the batch begins where the one before ends along K. */
static int64_t depth_of_all(const tsr_problem *p, const tsr_walks *batch, const tsr_walks *k)
{
	if (batch->n != 1 || k->n != 1 || !batch->at[0].known || !k->at[0].known || p->k < 0)
		return p->k;
	for (int side = TSR_SIDE_A; side <= TSR_SIDE_B; side++)
		if (batch->at[0].stride[side] != p->k * k->at[0].stride[side])
			return p->k;
	return p->k * p->batch;
}

/* B's of a batch, all with the same A, that are one tile wide and follow each other. */
static bool are_panels(const tsr_problem *p, const tsr_walks *batch)
{
	const tsr_walk *last = batch->n ? &batch->at[batch->n - 1] : NULL;
	return last && last->known && last->stride[TSR_SIDE_A] == 0 && p->n == (int64_t)p->t->tile_n * p->lanes && p->row == p->n * p->bytes
		&& p->k > 0 && last->stride[TSR_SIDE_B] == p->k * p->n;
}

/* Sums of products whose rows and columns are each one loop; A lies side by side along K. */
static bool rows_by_columns(const tsr_contraction *c, const tsr_walks *m, const tsr_walks *n, const tsr_walks *k)
{
	bool sums = c->combine == TSR_OP_MUL && (c->acc == TSR_ACC_ADD || c->acc == TSR_ACC_SUB) && !c->watched && !c->turned;
	bool loops = m->n <= 1 && n->n == 1 && k->n == 1 && (!m->n || m->at[0].known) && n->at[0].known && k->at[0].known;
	return sums && loops && k->at[0].stride[TSR_SIDE_A] == 1;
}

static bool along_rows(const tsr_loops *l, const tsr_contraction *c, const tsr_walks *m, const tsr_walks *n, const tsr_walks *k)
{
	return tsr_contract_plain(l, c, TSR_SIDE_B) && rows_by_columns(c, m, n, k);
}

/* And what B is computed of lies side by side along K, too. */
static bool is_computed(const tsr_loops *l, const tsr_contraction *c, const tsr_walks *m, const tsr_walks *n, const tsr_walks *k)
{
	return !tsr_contract_plain(l, c, TSR_SIDE_B) && n->nloops == 1 && rows_by_columns(c, m, n, k)
		&& tsr_expr_lies_along(l, c->b_value, k->loop[k->nloops - 1].sym, n->loop[0].sym);
}

/* And B does, too. */
static bool is_dots(const tsr_loops *l, const tsr_contraction *c, const tsr_walks *m, const tsr_walks *n, const tsr_walks *k)
{
	return along_rows(l, c, m, n, k) && k->at[0].stride[TSR_SIDE_B] == 1 && n->at[0].stride[TSR_SIDE_B] > 0;
}

/* Plain loops have lanes along the class' last axis: it fills half of a register, and its places lie near each other in C and in these operands. */
static bool has_lanes(const tsr_problem *p, const tsr_walks *x, bool in_a, bool in_b)
{
	const tsr_walk *last = x->n ? &x->at[x->n - 1] : NULL;
	bool all = last && last->known && 2 * tsr_walks_count(x) >= p->lanes, in[] = { [TSR_SIDE_A] = in_a, [TSR_SIDE_B] = in_b, [TSR_SIDE_C] = true };
	for (int side = 0; all && side < (int)(sizeof in / sizeof *in); side++)
		all = !in[side] || (last->stride[side] > 0 && last->stride[side] <= TSR_MOST_STRIDE);
	return all;
}

static bool is_reordered(const tsr_problem *p, const tsr_contract_view *v)
{
	bool lanes = has_lanes(p, &v->cls[TSR_CLASS_M], true, false) || has_lanes(p, &v->cls[TSR_CLASS_N], false, true) || has_lanes(p, &v->cls[TSR_CLASS_BATCH], true, true);
	return (p->must_a || p->must_b) && !lanes;
}

tsr_problem tsr_problem_of(const tsr_loops *l, const tsr_contraction *c, const tsr_contract_view *v, const tsr_target *t)
{
	const tsr_walks *m = &v->cls[TSR_CLASS_M], *n = &v->cls[TSR_CLASS_N], *k = &v->cls[TSR_CLASS_K];
	tsr_problem p = { .t = t, .bytes = tsr_prec_bytes(c->prec) };
	p.lanes = t->vector_bytes / p.bytes;
	p.m = tsr_walks_count(m) < 0 && c->most_rows ? c->most_rows : tsr_walks_count(m);
	p.n = tsr_walks_count(n);
	p.k = tsr_walks_count(k);
	p.batch = tsr_walks_count(&v->cls[TSR_CLASS_BATCH]);
	p.must_a = !one_loop(m) || !one_loop(k) || p.m < 0;
	p.plain_a = tsr_contract_plain(l, c, TSR_SIDE_A);
	p.must_a |= !p.plain_a;
	p.run = c->run.length, p.across = c->across.length;
	p.must_a &= !p.run;
	p.flat = p.must_a && tsr_walks_unit(m, TSR_SIDE_A);
	p.flat_stretches = p.must_a && m->n > 1 && m->at[m->n - 1].known && m->at[m->n - 1].stride[TSR_SIDE_A] == 1;
	bool steady = one_loop(k) || stretches_fit(k, c->run.length);
	p.must_b = !tsr_contract_plain(l, c, TSR_SIDE_B) || !one_loop(n) || !steady || !tsr_walks_unit(n, TSR_SIDE_B);
	p.pieced = steady && !one_loop(k);
	p.dots = p.must_b && !p.must_a && !p.run && !p.across && is_dots(l, c, m, n, k);
	p.computed = !p.must_a && !p.run && !p.across && is_computed(l, c, m, n, k);
	p.crosses = !p.dots && !p.must_a && !p.must_b && !p.run && !p.across && p.plain_a && along_rows(l, c, m, n, k);
	p.torn = (p.dots || p.crosses) && ((m->n && m->at[0].stride[TSR_SIDE_A] % p.lanes) || (p.dots && n->at[0].stride[TSR_SIDE_B] % p.lanes));
	p.windows = c->b_value->kind == TSR_EXPR_SELECT || c->b_value->kind == TSR_EXPR_LOOKUP || n->nloops > 1;
	p.must_b &= !p.across;
	p.a_step = k->n == 1 && k->at[0].known ? k->at[0].stride[TSR_SIDE_A] : 1;
	p.a_row = !p.must_a && !p.run && p.a_step == 1 && m->n && m->at[0].known ? m->at[0].stride[TSR_SIDE_A] * p.bytes : 0;
	p.row = k->n && steady && k->at[k->n - 1].known ? k->at[k->n - 1].stride[TSR_SIDE_B] * p.bytes : 0;
	p.dense = joins_stretches(&p, n);
	lines_of_rows(&p, c, m, n);
	if (n->n > 1 && tsr_walks_known(m) && tsr_walks_known(n) && !c->turned)
		p.rows = m, p.columns = n;
	if (c->turned) {
		uint32_t i = n->n;
		for (p.turn = 1; n->at[--i].stride[TSR_SIDE_C] != 1;)
			p.turn *= n->at[i].extent.k;
		p.stretch = n->at[n->n - 1].stride[TSR_SIDE_B] == 1 ? p.turn : 1;
		p.turn *= n->at[i].extent.k;
		/* tiles lie within stretches */
		p.must_b = !tsr_contract_plain(l, c, TSR_SIDE_B) || !one_loop(k) || p.stretch % p.lanes;
	}
	p.depth = depth_of_all(&p, &v->cls[TSR_CLASS_BATCH], k);
	p.panels = are_panels(&p, &v->cls[TSR_CLASS_BATCH]);
	p.streams = is_stream(&p);
	p.down = goes_down(&p);
	p.reordered = is_reordered(&p, v) && p.plain_a && tsr_contract_plain(l, c, TSR_SIDE_B);
	p.k_unit = behind_unit(k, TSR_SIDE_A) > 1 ? behind_unit(k, TSR_SIDE_A) : behind_unit(k, TSR_SIDE_B);
	return p;
}
