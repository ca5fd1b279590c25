/* Whether a mask hides positions of a softmax that goes by blocks (strip_online.c) so that blocks of nothing else can be left out (masked_blocks.c): at hidden positions scores are a number, the weights are 0 if that is far
 * enough below the maximum, and so is all that is made of them. */
#include "strip.h"
#include "masked.h"
#include <math.h>

typedef struct hidden_value { tsr_buffer_id b; double is; } hidden_value;
typedef struct hiding { tsr_strip *g; tsr_masked m; tsr_ids zero; TSR_VEC(hidden_value) values; } hiding;       /* what members before the softmax store at hidden positions; which buffers are zero there */

static bool is_mask(const hiding *h, const tsr_expr *e, tsr_mask *out) { return tsr_mask_of(&h->m, e, out) && tsr_mask_same(out, h->g->mask); }

/* What the expression is at a hidden position, the local being `is`. */
static bool value_of(const hiding *h, const tsr_expr *e, double is, double *out)
{
	tsr_mask mask;
	double x, y;
	if (e->kind == TSR_EXPR_CONST || e->kind == TSR_EXPR_LOCAL) {
		*out = e->kind == TSR_EXPR_LOCAL ? is : e->value.d;
		return tsr_prec_is_float(e->prec);
	}
	if (is_mask(h, e, &mask))
		return value_of(h, mask.outside, is, out);
	for (uint32_t i = 0; e->kind == TSR_EXPR_LOAD && i < h->values.n; i++)
		if (h->values.at[i].b == e->load.buffer) {
			*out = h->values.at[i].is;
			return true;
		}
	if (e->kind != TSR_EXPR_OP || tsr_op_get(e->op.op)->arity != 2 || !value_of(h, e->op.args[0], is, &x) || !value_of(h, e->op.args[1], is, &y))
		return false;
	if (e->op.op != TSR_OP_MUL && e->op.op != TSR_OP_DIV && e->op.op != TSR_OP_ADD && e->op.op != TSR_OP_SUB)
		return false;
	*out = e->op.op == TSR_OP_MUL ? x * y : e->op.op == TSR_OP_DIV ? x / y : e->op.op == TSR_OP_ADD ? x + y : x - y;
	*out = e->prec == TSR_PREC_F32 ? (double)(float)*out : *out;
	return true;
}

/* Divided by a number that is at least 1. */
static bool by_number(const tsr_expr *e) { return e->kind == TSR_EXPR_OP && e->op.op == TSR_OP_DIV && e->op.args[1]->kind == TSR_EXPR_CONST && fabs(e->op.args[1]->value.d) >= 1; }

/* It is, where products that members before the softmax compute are of moderate operands. */
static bool stays_finite(const hiding *h, const tsr_expr *e)
{
	if (e->kind == TSR_EXPR_CONST)
		return tsr_prec_is_float(e->prec) && isfinite(e->value.d);
	if (e->kind == TSR_EXPR_LOAD) {
		const tsr_strip *g = h->g;
		for (uint32_t m = 0; m < g->online.rows; m++)
			if (g->member[m].contraction && g->member[m].contraction->c == e->load.buffer)
				return true;
		for (uint32_t axis = 0; axis < g->p->l->buffers.at[e->load.buffer]->rank; axis++)
			if (tsr_strip_axis_tag(g, e->load.buffer, axis) == g->online.walk)
				return tsr_ids_have(&h->zero, e->load.buffer);
		return true;                 /* a number of the row */
	}
	if (by_number(e))
		return stays_finite(h, e->op.args[0]);
	return e->kind == TSR_EXPR_OP && (e->op.op == TSR_OP_ADD || e->op.op == TSR_OP_SUB || e->op.op == TSR_OP_MUL) && stays_finite(h, e->op.args[0]) && stays_finite(h, e->op.args[1]);
}

static bool zero(const hiding *h, const tsr_expr *e)
{
	tsr_mask mask;
	if (e->kind == TSR_EXPR_CONST)
		return tsr_prec_is_float(e->prec) && e->value.d == 0;
	if (e->kind == TSR_EXPR_LOAD)
		return tsr_ids_have(&h->zero, e->load.buffer);
	if (is_mask(h, e, &mask))
		return zero(h, mask.outside);
	if (by_number(e))
		return zero(h, e->op.args[0]);
	return e->kind == TSR_EXPR_OP && e->op.op == TSR_OP_MUL && ((zero(h, e->op.args[0]) && stays_finite(h, e->op.args[1])) || (stays_finite(h, e->op.args[0]) && zero(h, e->op.args[1])));
}

static void becomes(hiding *h, tsr_buffer_id b, bool is_zero)
{
	for (uint32_t i = 0; i < h->zero.n; i++)
		if (h->zero.at[i] == b)
			h->zero.at[i] = TSR_NONE;
	if (is_zero)
		tsr_push(h->g->a, &h->zero, b);
}

/* Looks at the member: strips are its loop that is cut. */
static void enter(hiding *h, const tsr_strip_member *m)
{
	h->m.strips = NULL;
	h->m.around.n = 0;
	for (uint32_t i = 0; i < m->nest.n; i++) {
		if (tsr_strip_loop_tag(h->g, m->nest.loop[i]->loop.sym) == h->g->cut)
			h->m.strips = m->nest.loop[i];
		tsr_push(h->g->a, &h->m.around, m->nest.loop[i]);
	}
}

/* Its sums are of products, whose tail, if it has one, stores the same number at all hidden positions. */
static bool product_hides(hiding *h, const tsr_strip_member *m)
{
	const tsr_contraction *k = m->contraction;
	double is;
	if (!k || k->acc != TSR_ACC_ADD || k->combine != TSR_OP_MUL)
		return false;
	if (!k->tail)
		return true;
	const tsr_stmt *store = k->tail->stores.at[0];
	enter(h, m);
	if (m >= &h->g->member[h->g->online.rows] || k->tail->stores.n != 1 || k->tail->lets.n || !h->m.strips || !value_of(h, store->store.value, NAN, &is) || isnan(is))
		return false;
	tsr_push(h->g->a, &h->values, ((hidden_value){ store->store.buffer, is }));
	return true;
}

/* The softmax's weights, and what its row makes of them. */
static bool rows_hide(hiding *h)
{
	const tsr_strip_member *m = &h->g->member[h->g->online.rows];
	const tsr_stmts *row = tsr_strip_innermost(&m->kernel->kernel.body);
	double most, top, score;
	enter(h, m);
	uint32_t depth = h->m.around.n;
	for (uint32_t i = 0; i < row->n; i++) {
		const tsr_stmt *s = row->at[i];
		if (s->kind != TSR_STMT_FOR) {
			if (i == TSR_ONLINE_TOP && !value_of(h, s->store.value, most, &top))
				return false;
			continue;
		}
		const tsr_stmt *in = s->loop.body.at[0];
		tsr_push(h->g->a, &h->m.around, s);
		bool ok = true;
		if (i < TSR_ONLINE_TOP)
			ok = value_of(h, in->let.value->op.args[1], NAN, &most);
		else if (i == TSR_ONLINE_WEIGHTS)
			ok = value_of(h, in->store.value->op.args[0]->op.args[0], NAN, &score) && score == top;
		if (i == TSR_ONLINE_WEIGHTS || i == TSR_ONLINE_QUOTIENT)
			becomes(h, in->store.buffer, true);
		else if (in->kind == TSR_STMT_STORE)
			becomes(h, in->store.buffer, zero(h, in->store.value));
		else if (i > TSR_ONLINE_QUOTIENT)
			ok = zero(h, in->let.value->op.args[1]);
		h->m.around.n = depth;
		if (!ok)
			return false;
	}
	h->g->online.outside = top;
	return isfinite(top) || top < 0;
}

bool tsr_strip_hides(tsr_strip *g)
{
	const tsr_online *o = &g->online;
	hiding h = { .g = g, .m = { .p = g->p, .a = g->a, .only = g->only, .later = true } };
	if (!g->mask || !g->mask->upper || g->mask->lower || g->mask->panels || g->mask->step < 1)
		return false;
	for (uint32_t i = 0; i < o->last; i++)
		if (i != o->rows && !product_hides(&h, &g->member[i]))
			return false;
	if (!rows_hide(&h) || !h.m.strips)
		return false;
	for (uint32_t i = o->rows + 1; i < o->last; i++)
		if (!tsr_ids_have(&h.zero, g->member[i].contraction->a) && !tsr_ids_have(&h.zero, g->member[i].contraction->b))
			return false;
	return true;
}
