/* Leaves out of strips what masked.c has found:
 *
 *     let $large = false;  for each operand of all strips { set $large = $large or it is not moderate }
 *     for strips s {
 *       let $own = $large;  for each operand's rows of the strip { set $own = .. }       threads may have stored to others' in their place (reuse.c)
 *       letsym #whole = $own
 *       what comes before the question, until step * s + first + beyond + all * #whole
 *       let $hidden = false
 *       if that is not all, and #whole is 0 { for rows i { set $hidden = $hidden or x(i, step * s + first) <> 0 } }
 *       letsym #again = $hidden
 *       if #again is 1 { what comes before the question, all of it }
 *       the rest, until step * s + first + all * #whole + all * #again
 *     } */
#include "masked.h"
#include <math.h>

static int64_t floor_of(int64_t x, int64_t each) { return x >= 0 ? x / each : -((each - 1 - x) / each); }

/* Where the loop ends, or begins. */
static tsr_lin *limit(const tsr_masking *x, const tsr_masked_cut *c, bool end)
{
	const tsr_mask *m = &x->m->mask;
	tsr_lin *out = TSR_NEW(x->a, tsr_lin);
	int64_t beyond = c->sums ? 0 : x->m->beyond, at = end ? floor_of(m->first + beyond + c->each - 1, c->each) : floor_of(m->low - beyond, c->each), all = m->extent / c->each;
	*out = tsr_lin_add_sym(x->a, tsr_lin_const(at), m->step / c->each, TSR_LSYM_LOOP, x->m->strips->loop.sym);
	*out = tsr_lin_add_sym(x->a, *out, end ? all : -all, TSR_LSYM_DATA, x->whole);
	if (c->at > x->m->checked && x->m->hopes.n)
		*out = tsr_lin_add_sym(x->a, *out, end ? all : -all, TSR_LSYM_DATA, x->again);
	return out;
}

/* What is computed again shares its loops (remat_copy.c). */
static void bound_loop(const tsr_masking *x, tsr_contraction *k, const tsr_stmt *loop)
{
	tsr_contract_loop *loops = TSR_NEW_N(x->a, tsr_contract_loop, k->nloops + 1);
	for (uint32_t i = 0; i < k->nloops; i++) {
		loops[i] = k->loops[i];
		if (loops[i].sym == loop->loop.sym)
			loops[i].from = loop->loop.from, loops[i].until = loop->loop.until;
	}
	k->loops = loops;
}

static void cut_loops(const tsr_masking *x)
{
	for (uint32_t i = 0; i < x->m->cuts.n; i++) {
		const tsr_masked_cut *c = &x->m->cuts.at[i];
		c->loop->loop.from = x->m->mask.lower ? limit(x, c, false) : NULL;
		c->loop->loop.until = x->m->mask.upper ? limit(x, c, true) : NULL;
		if (c->contraction)
			bound_loop(x, c->contraction, c->loop);
	}
}

/* The statement with all of its iterations, which share what they do with it. */
tsr_stmt *tsr_masking_all(const tsr_masking *x, const tsr_stmt *s)
{
	const tsr_stmts *in = tsr_stmt_inside(s);
	if (!in)
		return (tsr_stmt *)s;
	tsr_stmt *out = tsr_stmt_new(x->a, s->kind, s->span);
	*out = *s;
	*tsr_stmt_inside(out) = (tsr_stmts){ 0 };
	for (uint32_t i = 0; i < in->n; i++)
		tsr_push(x->a, tsr_stmt_inside(out), tsr_masking_all(x, in->at[i]));
	if (s->kind != TSR_STMT_FOR)
		return out;
	out->loop.from = out->loop.until = NULL;
	out->loop.overlap = 0;           /* it is seldom needed */
	if (s->loop.contraction) {
		tsr_contraction *k = out->loop.contraction = TSR_NEW(x->a, tsr_contraction);
		*k = *s->loop.contraction;
		k->loops = TSR_NEW_N(x->a, tsr_contract_loop, k->nloops + 1);
		for (uint32_t i = 0; i < k->nloops; i++) {
			k->loops[i] = s->loop.contraction->loops[i];
			k->loops[i].from = k->loops[i].until = NULL;
		}
	}
	return out;
}

static tsr_stmt *assign(const tsr_masking *x, tsr_stmt_kind kind, tsr_local_id local, tsr_expr *value)
{
	tsr_stmt *s = tsr_stmt_new(x->a, kind, x->m->strips->span);
	s->let.local = local;
	s->let.prec = TSR_PREC_BOOL;
	s->let.value = value;
	return s;
}

tsr_local_id tsr_masking_flag(const tsr_masking *x, tsr_local_id like, tsr_stmts *out)
{
	tsr_local_id id = x->m->unit->nlocals++;
	tsr_push(x->a, out, assign(x, TSR_STMT_LET, id, like == TSR_NONE ? tsr_expr_const(x->a, tsr_scalar_of(TSR_PREC_BOOL, 0)) : tsr_expr_local(x->a, like, TSR_PREC_BOOL)));
	return id;
}

uint32_t tsr_masking_number(const tsr_masking *x, tsr_local_id flag, tsr_stmts *out)
{
	tsr_stmt *s = tsr_stmt_new(x->a, TSR_STMT_LETSYM, x->m->strips->span);
	s->letsym.sym = x->m->unit->nsyms++;
	s->letsym.value = tsr_expr_convert(x->a, tsr_expr_local(x->a, flag, TSR_PREC_BOOL), TSR_PREC_I32);
	tsr_push(x->a, out, s);
	return s->letsym.sym;
}

static tsr_expr *copy(const tsr_masking *x, const tsr_expr *e) { return tsr_expr_place(x->a, x->p->l, e, 0, NULL, NULL); }

static tsr_expr *not_equal(const tsr_masking *x, tsr_expr *left, tsr_expr *right) { return tsr_expr_op(x->a, TSR_OP_NE, left->prec, left, right, NULL); }

/* As large as to overflow, or none, when it is multiplied by what makes sums of products of two such numbers overflow. */
static tsr_expr *immoderate(const tsr_masking *x, const tsr_expr *e)
{
	enum { F32_BITS = 77, F64_BITS = 574 };
	tsr_expr *y[2];
	for (int i = 0; i < 2; i++)
		y[i] = tsr_expr_op(x->a, TSR_OP_MUL, e->prec, copy(x, e), tsr_expr_const(x->a, tsr_scalar_of(e->prec, ldexp(1, e->prec == TSR_PREC_F32 ? F32_BITS : F64_BITS))), NULL);
	return not_equal(x, tsr_expr_op(x->a, TSR_OP_SUB, e->prec, y[0], y[1], NULL), tsr_expr_const(x->a, tsr_scalar_of(e->prec, 0)));
}

tsr_stmt *tsr_masking_set(const tsr_masking *x, tsr_local_id flag, tsr_expr *bad)
{
	return assign(x, TSR_STMT_SET, flag, tsr_expr_op(x->a, TSR_OP_OR, TSR_PREC_BOOL, tsr_expr_local(x->a, flag, TSR_PREC_BOOL), bad, NULL));
}

/* Whether what each row has at this position, which is hidden of all rows, is zero. */
static tsr_stmt *question(const tsr_masking *x, tsr_buffer_id id, tsr_lin at, tsr_local_id flag)
{
	const tsr_masked *m = x->m;
	const tsr_buffer *b = x->p->l->buffers.at[id];
	uint32_t row = m->unit->nsyms++;
	tsr_lin *index = TSR_NEW_N(x->a, tsr_lin, b->rank + 1);
	for (uint32_t axis = 0; axis < b->rank; axis++)
		index[axis] = tsr_lin_const(0);
	index[m->buffers[id].rows] = tsr_lin_add_sym(x->a, tsr_lin_const(0), 1, TSR_LSYM_LOOP, row);
	index[m->buffers[id].axis] = at;
	tsr_expr *bad = not_equal(x, tsr_expr_load(x->a, b, index), tsr_expr_const(x->a, tsr_scalar_of(b->prec, 0)));
	tsr_stmt *loop = tsr_loop_around(x->p, tsr_masking_set(x, flag, bad), m->strips, b->dims[m->buffers[id].rows], row);
	loop->loop.how = TSR_FOR_REDUCE;
	return loop;
}

/* All rows' questions at the last or the first position of the hidden ones on this side, where there are any. */
static tsr_stmt *questions(const tsr_masking *x, bool upper, tsr_local_id flag)
{
	const tsr_masked *m = x->m;
	tsr_lin at = tsr_lin_add_sym(x->a, tsr_lin_const(upper ? m->mask.first : m->mask.low - 1), m->mask.step, TSR_LSYM_LOOP, m->strips->loop.sym);
	tsr_stmt *s = tsr_stmt_new(x->a, TSR_STMT_IF, m->strips->span);
	s->cond.n = 2;
	s->cond.ranges = TSR_NEW_N(x->a, tsr_range, 2);
	s->cond.ranges[0] = (tsr_range){ at, tsr_size_const(m->mask.extent) };
	s->cond.ranges[1] = (tsr_range){ tsr_lin_add_sym(x->a, tsr_lin_const(0), 1, TSR_LSYM_DATA, x->whole), tsr_size_const(1) };
	for (uint32_t i = 0; i < m->hopes.n; i++) {
		bool asked = false;
		for (uint32_t k = 0; k < i; k++)
			asked |= m->hopes.at[k].b == m->hopes.at[i].b;
		if (!asked)
			tsr_push(x->a, &s->cond.body, question(x, m->hopes.at[i].b, at, flag));
	}
	return s;
}

/* The strips' loop is the first around operands. */
void tsr_masking_look(const tsr_masking *x, bool own, tsr_local_id flag, tsr_stmts *out)
{
	for (uint32_t i = 0; i < x->m->operands.n; i++) {
		const tsr_masked_operand *o = &x->m->operands.at[i];
		if (tsr_expr_mentions(x->p->l, o->x, x->m->strips->loop.sym) == own)
			tsr_look_through(x->p, o->n - 1, o->loops + 1, o->x, immoderate(x, o->x), flag, out);
	}
}

static void inside(tsr_masking *x, tsr_local_id large)
{
	tsr_masked *m = x->m;
	tsr_stmts *body = &m->strips->loop.body, out = { 0 };
	tsr_stmt *again = NULL;
	tsr_local_id own = tsr_masking_flag(x, large, &out);
	tsr_masking_look(x, true, own, &out);
	x->whole = tsr_masking_number(x, own, &out);
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_push(x->a, &out, body->at[i]);
		if (i != m->checked || !m->hopes.n)
			continue;
		tsr_local_id flag = tsr_masking_flag(x, TSR_NONE, &out);
		for (int upper = 1; upper >= 0; upper--)
			if (upper ? m->mask.upper : m->mask.lower)
				tsr_push(x->a, &out, questions(x, upper, flag));
		x->again = tsr_masking_number(x, flag, &out);
		again = tsr_stmt_when(x->p, x->again, 1, tsr_masking_all(x, body->at[0]));
		for (uint32_t k = 1; k <= i; k++)
			tsr_push(x->a, &again->cond.body, tsr_masking_all(x, body->at[k]));
		tsr_push(x->a, &out, again);
	}
	*body = out;
}

void tsr_masked_build(tsr_masked *m, tsr_stmts *body, uint32_t at)
{
	tsr_masking x = { m, m->p, m->p->arena, 0, 0 };
	tsr_stmts out = { 0 };
	for (uint32_t i = 0; i < at; i++)
		tsr_push(x.a, &out, body->at[i]);
	tsr_local_id large = tsr_masking_flag(&x, TSR_NONE, &out);
	tsr_masking_look(&x, false, large, &out);
	inside(&x, large);
	cut_loops(&x);
	for (uint32_t i = at; i < body->n; i++)
		tsr_push(x.a, &out, body->at[i]);
	*body = out;
	const char *name = m->strips->loop.name;
	if (m->mask.upper)
		tsr_pass_note(m->p, "%s: strip %s of %s leaves out positions from %lld %s + %lld on, which a mask hides", m->unit->name, name, m->kernel, (long long)m->mask.step, name, (long long)m->mask.first);
	if (m->mask.lower)
		tsr_pass_note(m->p, "%s: strip %s of %s leaves out positions before %lld %s + %lld, which a mask hides", m->unit->name, name, m->kernel, (long long)m->mask.step, name, (long long)m->mask.low);
}
