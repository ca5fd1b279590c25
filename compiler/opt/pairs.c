/* Contractions of bf16 by bf16 whose sums are f32: which they are, and how vectors compute them where the target has an instruction for two products.
 *
 * What vectors multiply then are pairs of neighbours along K, each as wide as a number of f32, so that to whoever chooses tiles and blocks this is a
 * contraction of f32 half as deep.  B is packed, which puts its depths in pairs (engine/matrix.c), 0 behind an odd last one; rows of A that lie along K consist of
 * pairs where they are, if all of them begin with an even depth, and so do B's where both are read as dot products; so are stretches of an even number. */
#include "schedule.h"

/* The operand in bf16, of which it is the f32; or NULL. */
static tsr_expr *narrowed(tsr_arena *a, tsr_expr *x)
{
	if (x->kind == TSR_EXPR_CONVERT)
		return x->converted->prec == TSR_PREC_BF16 ? x->converted : NULL;
	if (x->kind != TSR_EXPR_SELECT && x->kind != TSR_EXPR_LOOKUP)
		return NULL;
	tsr_expr *inner = narrowed(a, x->kind == TSR_EXPR_SELECT ? x->select.inside : x->lookup.value), *out = TSR_NEW(a, tsr_expr);
	*out = *x;
	out->prec = TSR_PREC_BF16;
	if (x->kind == TSR_EXPR_LOOKUP) {
		out->lookup.value = inner;
		return inner ? out : NULL;
	}
	if (!inner || x->select.outside->kind != TSR_EXPR_CONST || x->select.outside->value.d != 0)
		return NULL;
	out->select.inside = inner;
	out->select.outside = tsr_expr_const(a, tsr_scalar_of(TSR_PREC_BF16, 0));
	return out;
}

bool tsr_contract_narrow(const tsr_loops *l, const tsr_contraction *c, tsr_contraction *out)
{
	*out = *c;
	if (c->prec != TSR_PREC_F32 || c->acc != TSR_ACC_ADD || c->combine != TSR_OP_MUL)
		return false;
	out->a_value = narrowed(l->tc->arena, c->a_value);
	out->b_value = narrowed(l->tc->arena, c->b_value);
	if (!out->a_value || !out->b_value)
		return false;
	if (out->a_value->kind == TSR_EXPR_LOAD)
		out->a = out->a_value->load.buffer, out->a_index = out->a_value->load.index;
	if (out->b_value->kind == TSR_EXPR_LOAD)
		out->b = out->b_value->load.buffer, out->b_index = out->b_value->load.index;
	return true;
}

static bool even(const tsr_walks *x, tsr_side side)
{
	bool all = true;
	for (uint32_t i = 0; i < x->n; i++)
		all &= x->at[i].known && x->at[i].stride[side] % 2 == 0;
	return all;
}

/* An operand, of which this class are the positions, is pairs where it lies. */
static bool in_place(const tsr_loops *l, const tsr_contraction *narrow, const tsr_contract_view *v, tsr_side side, tsr_loop_class across)
{
	const tsr_walks *x = &v->cls[across], *k = &v->cls[TSR_CLASS_K];
	return tsr_contract_plain(l, narrow, side) && x->n <= 1 && tsr_walks_count(x) > 0 && k->n == 1 && tsr_walks_unit(k, side)
		&& tsr_size_is_const(k->at[0].extent) && k->at[0].extent.k % 2 == 0 && even(x, side) && even(&v->cls[TSR_CLASS_BATCH], side);
}

/* Rows of the operand begin within lines. */
static bool torn(const tsr_problem *p, const tsr_walks *x, tsr_side side) { return x->n && x->at[0].stride[side] % (2 * p->lanes); }

bool tsr_pairs_as_they_lie(const tsr_loops *l, const tsr_contraction *c, const tsr_target *t)
{
	tsr_contraction narrow;
	return t->pairs && tsr_contract_narrow(l, c, &narrow) && narrow.a_value->kind == TSR_EXPR_LOAD && narrow.b_value->kind == TSR_EXPR_LOAD;
}

/* Few rows of A use a panel of B so few times that its way to the second cache and back counts: blocks of few rows of B, of all columns, come in the order of memory and stay
 * near (8 and 16 rows by 4096 x 4096: 1.2 to 1.4 times as fast, by 2048 x 2048 1.1).  Of more, rows whole pages apart share the lines of the second cache, which keeps no
 * more than some hundred of those that tiles ask for before they are packed (64 rows by 4096 x 4096: 1.05); and C is added to more often. */
static int64_t shallow(const tsr_loops *l, const tsr_contraction *narrow, const tsr_contract_view *v, const tsr_problem *p)
{
	enum { FEW_ROWS = 16, MOST_ROWS = 64, LEAST = 32, PAGE = 4096 };
	const tsr_walks *n = &v->cls[TSR_CLASS_N], *k = &v->cls[TSR_CLASS_K];
	bool rows = tsr_contract_plain(l, narrow, TSR_SIDE_B) && n->n == 1 && tsr_walks_unit(n, TSR_SIDE_B) && k->n == 1 && k->at[0].known && p->m > 0 && p->n > 0 && p->k > 0;
	if (!rows || !p->t->streams || p->m > MOST_ROWS)
		return 0;
	if (p->m > FEW_ROWS && (k->at[0].stride[TSR_SIDE_B] * 2 < PAGE || !tsr_target_far(p->t, p->n * p->k * 2)))
		return 0;
	return 2 * p->m > LEAST ? 2 * p->m : LEAST;
}

/* A's rows are stretches of whole pairs, as the channels under a window are, and tiles read them through pointers. */
static bool in_stretches(const tsr_loops *l, tsr_contraction *c, tsr_contraction *narrow, tsr_contract_view *v, tsr_problem *p)
{
	enum { SHORTEST = 32, LONGEST = 1536 };      /* none of which cannot be cut into blocks, as the schedule wants them */
	tsr_stretch run = tsr_contract_run(l, narrow);
	if (run.n != 1 || run.length % 2 || run.length < SHORTEST || run.length > LONGEST || p->m < 0 || p->k < 0)
		return false;
	c->run = narrow->run = run;
	tsr_contract_view_make(l, narrow, v);
	*p = tsr_problem_of(l, narrow, v, p->t);
	return true;
}

bool tsr_pairs_problem(const tsr_loops *l, tsr_contraction *c, const tsr_target *t, tsr_contract_view *v, tsr_problem *p)
{
	enum { SHORTEST = 8 };       /* depths */
	tsr_contraction narrow;
	if (!t->pairs || !tsr_contract_narrow(l, c, &narrow))
		return false;
	c->run = narrow.run = (tsr_stretch){ 0 };
	narrow.schedule.pairs = true, narrow.schedule.pack_a = narrow.schedule.pack_b = false;
	tsr_contract_view_make(l, &narrow, v);
	*p = tsr_problem_of(l, &narrow, v, t);
	const tsr_walks *m = &v->cls[TSR_CLASS_M], *n = &v->cls[TSR_CLASS_N];
	bool dots = p->dots && in_place(l, &narrow, v, TSR_SIDE_A, TSR_CLASS_M) && in_place(l, &narrow, v, TSR_SIDE_B, TSR_CLASS_N);
	int64_t steps = shallow(l, &narrow, v, p);
	bool begins = dots && (torn(p, m, TSR_SIDE_A) || torn(p, n, TSR_SIDE_B));
	if (!dots) {                 /* loops that only B keeps apart are one */
		narrow.schedule.pack_b = true;
		tsr_contract_view_make(l, &narrow, v);
		*p = tsr_problem_of(l, &narrow, v, t);
	}
	if ((p->k >= 0 && p->k < SHORTEST) || (c->watched && p->m < 0))     /* rows past the last one, which nobody stores, would be watched */
		return false;
	bool must_a = !in_place(l, &narrow, v, TSR_SIDE_A, TSR_CLASS_M) && !in_stretches(l, c, &narrow, v, p);
	p->must_a = must_a, p->must_b = true;
	p->pairs = true, p->shallow = steps, p->dots = dots, p->torn = begins;
	p->windows = p->pieced = p->streams = p->down = p->flat = p->crosses = false;
	p->a_row = p->must_a ? 0 : p->a_row / 2;
	p->k = p->k < 0 ? -1 : (p->k + 1) / 2, p->run /= 2;
	p->depth = p->k, p->k_unit = 1, p->a_step = 1, p->row = 0;
	return true;
}
