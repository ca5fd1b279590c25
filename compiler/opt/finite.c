/* A point at which an operand lies outside contributes nothing, and a contraction lets the operand be 0 there: which is the same where
 * the other operand is finite, and NaN where it is an infinity or a NaN.  So a contraction that has such points looks for that, and
 * where it finds it the nest runs as it stands, guard and all.  Each such product leaves a NaN in a sum, which the engine sees before it
 * stores that; where the nest cannot be repeated then, since it adds to what was there or overwrites what it reads, the other operand is
 * looked through first:
 *
 *     let $f = false                                       let $f = false
 *     the contraction, $f its witness                      for .. reduce { set $f = $f or x - x <> 0 }
 *     letsym #s = $f                                       letsym #s = $f
 *                                                          if #s in 0..1 { the contraction }
 *     if #s - 1 in 0..1 { the nest }                       if #s - 1 in 0..1 { the nest }
 *
 * The nest alone never sets its witness: it is right as it stands.  The same holds of a maximum of sums, where what lies outside is minus
 * infinity.  Each element that is looked at is one that many products use; each thread looks for itself.
 *
 * Requires schedule; the last pass, because both forms share the statements of the nest. */
#include "pass.h"

/* Whole numbers, converted, are. */
static bool always_finite(const tsr_expr *e)
{
	switch (e->kind) {
	case TSR_EXPR_CONVERT: return !tsr_prec_is_float(e->converted->prec);
	case TSR_EXPR_LOOKUP: return always_finite(e->lookup.value);
	case TSR_EXPR_SELECT: return always_finite(e->select.inside) && always_finite(e->select.outside);
	case TSR_EXPR_CONST: return !tsr_prec_is_float(e->prec) || e->value.d - e->value.d == 0;
	case TSR_EXPR_INDEX: case TSR_EXPR_SIZE: return true;
	case TSR_EXPR_LOAD: case TSR_EXPR_LOCAL: case TSR_EXPR_NUMBER: case TSR_EXPR_OP: case TSR_EXPR_KINDS: break;
	}
	return false;
}

/* The last axis along which the loop moves in what lies in memory of x; -1: along none. */
static int innermost_axis(const tsr_loops *l, const tsr_expr *x, uint32_t sym)
{
	int last = -1;
	if (x->kind == TSR_EXPR_LOAD)
		for (uint32_t axis = 0; axis < l->buffers.at[x->load.buffer]->rank; axis++)
			last = tsr_lin_mentions(&x->load.index[axis], sym) ? (int)axis : last;
	tsr_expr *part[TSR_MOST_PARTS];
	for (uint32_t i = 0, n = tsr_expr_parts(x, part); x->kind != TSR_EXPR_LOAD && i < n; i++) {
		int axis = innermost_axis(l, part[i], sym);
		last = axis > last ? axis : last;
	}
	return last;
}

/* The loops that x mentions, the last one of which moves in the order of memory. */
static uint32_t in_order_of_memory(tsr_pass *p, uint32_t nloops, const tsr_contract_loop *loops, const tsr_expr *x, const tsr_contract_loop **out)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < nloops; i++) {
		if (!tsr_expr_mentions(p->l, x, loops[i].sym))
			continue;
		uint32_t at = n++;
		for (; at > 0 && innermost_axis(p->l, x, out[at - 1]->sym) > innermost_axis(p->l, x, loops[i].sym); at--)
			out[at] = out[at - 1];
		out[at] = &loops[i];
	}
	return n;
}

void tsr_look_through(tsr_pass *p, uint32_t nloops, const tsr_contract_loop *loops, const tsr_expr *x, tsr_expr *bad, tsr_local_id flag, tsr_stmts *out)
{
	tsr_arena *a = p->arena;
	tsr_stmt *s = tsr_stmt_new(a, TSR_STMT_SET, TSR_NOWHERE);
	s->let.local = flag;
	s->let.prec = TSR_PREC_BOOL;
	s->let.value = tsr_expr_op(a, TSR_OP_OR, TSR_PREC_BOOL, tsr_expr_local(a, flag, TSR_PREC_BOOL), bad, NULL);
	const tsr_contract_loop **order = TSR_NEW_N(a, const tsr_contract_loop *, nloops + 1);
	for (uint32_t i = in_order_of_memory(p, nloops, loops, x, order); i-- > 0;) {
		tsr_stmt *loop = tsr_stmt_new(a, TSR_STMT_FOR, TSR_NOWHERE);
		loop->loop.sym = order[i]->sym;
		loop->loop.name = "i";
		loop->loop.extent = order[i]->extent;
		loop->loop.how = TSR_FOR_REDUCE;
		tsr_push(a, &loop->loop.body, s);
		s = loop;
	}
	tsr_push(a, out, s);
}

static tsr_expr *copy(tsr_pass *p, const tsr_expr *x) { return tsr_expr_place(p->arena, p->l, x, 0, NULL, NULL); }

static void look_at_operand(tsr_pass *p, const tsr_contraction *k, const tsr_expr *x, tsr_local_id flag, tsr_stmts *out)
{
	tsr_expr *none = tsr_expr_op(p->arena, TSR_OP_SUB, x->prec, copy(p, x), copy(p, x), NULL);
	tsr_look_through(p, k->nloops, k->loops, x, tsr_expr_op(p->arena, TSR_OP_NE, x->prec, none, tsr_expr_const(p->arena, tsr_scalar_of(x->prec, 0)), NULL), flag, out);
}

tsr_stmt *tsr_stmt_when(tsr_pass *p, uint32_t sym, int64_t is, tsr_stmt *what)
{
	tsr_stmt *s = tsr_stmt_new(p->arena, TSR_STMT_IF, what->span);
	s->cond.n = 1;
	s->cond.ranges = TSR_NEW(p->arena, tsr_range);
	*s->cond.ranges = (tsr_range){tsr_lin_add_sym(p->arena, tsr_lin_const(-is), 1, TSR_LSYM_DATA, sym), tsr_size_const(1)};
	tsr_push(p->arena, &s->cond.body, what);
	return s;
}

/* The nest without the engine.  What is divided among threads as a contraction may not be as a nest: one thread computes it. */
static tsr_stmt *plain_nest(tsr_pass *p, tsr_loop_unit *u, const tsr_stmt *nest)
{
	tsr_stmt *plain = tsr_stmt_new(p->arena, TSR_STMT_FOR, nest->span);
	*plain = *nest;
	plain->loop.contraction = NULL;
	plain->loop.seldom = true;
	if (!nest->loop.split)
		return plain;
	plain->loop.split = false;
	tsr_stmt *once = tsr_stmt_new(p->arena, TSR_STMT_FOR, nest->span);
	once->loop.sym = u->nsyms++;
	once->loop.name = "once";
	once->loop.extent = tsr_size_const(1);
	once->loop.how = TSR_FOR_PARALLEL;
	once->loop.split = once->loop.seldom = true;
	tsr_push(p->arena, &once->loop.body, plain);
	return once;
}

/* Once done the nest can be done again: it overwrites, and nothing that it reads. */
static bool repeatable(const tsr_loops *l, const tsr_contraction *k)
{
	tsr_prec prec = l->buffers.at[k->c]->prec;
	if (!k->clear || (prec != TSR_PREC_F32 && prec != TSR_PREC_F64))
		return false;
	const tsr_tail *t = k->tail;
	for (uint32_t i = 0; t && i < t->stores.n; i++)
		for (uint32_t j = 0; j < t->lets.n + t->stores.n; j++)
			if (tsr_expr_reads(j < t->lets.n ? t->lets.at[j]->let.value : t->stores.at[j - t->lets.n]->store.value, t->stores.at[i]->store.buffer))
				return false;
	return true;
}

static void both_ways(tsr_pass *p, tsr_loop_unit *u, tsr_stmt *nest, tsr_stmts *out)
{
	tsr_contraction *k = nest->loop.contraction;
	bool after = repeatable(p->l, k);
	tsr_stmt *let = tsr_stmt_new(p->arena, TSR_STMT_LET, nest->span), *sym = tsr_stmt_new(p->arena, TSR_STMT_LETSYM, nest->span);
	let->let.local = u->nlocals++;
	let->let.prec = TSR_PREC_BOOL;
	let->let.value = tsr_expr_const(p->arena, tsr_scalar_of(TSR_PREC_BOOL, 0));
	sym->letsym.sym = u->nsyms++;
	sym->letsym.value = tsr_expr_convert(p->arena, tsr_expr_local(p->arena, let->let.local, TSR_PREC_BOOL), TSR_PREC_I32);
	tsr_push(p->arena, out, let);
	if (after) {
		k->watched = true;
		k->witness = let->let.local;
		tsr_push(p->arena, out, nest);
	}
	if (!after && k->a_finite)
		look_at_operand(p, k, k->a_value, let->let.local, out);
	if (!after && k->b_finite)
		look_at_operand(p, k, k->b_value, let->let.local, out);
	tsr_push(p->arena, out, sym);
	if (!after)
		tsr_push(p->arena, out, tsr_stmt_when(p, sym->letsym.sym, 0, nest));
	tsr_push(p->arena, out, tsr_stmt_when(p, sym->letsym.sym, 1, plain_nest(p, u, nest)));
}

static bool doubtful(tsr_contraction *k)
{
	k->a_finite &= !always_finite(k->a_value);
	k->b_finite &= !always_finite(k->b_value);
	return k->schedule.mr && (k->a_finite || k->b_finite);
}

static void visit(tsr_pass *p, tsr_loop_unit *u, tsr_stmts *body)
{
	tsr_stmts out = {0};
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_KERNEL)
			visit(p, u, &s->kernel.body);
		else if (s->kind == TSR_STMT_IF)
			visit(p, u, &s->cond.body);
		else if (s->kind == TSR_STMT_FOR && !s->loop.contraction)
			visit(p, u, &s->loop.body);
		if (s->kind == TSR_STMT_FOR && s->loop.contraction && doubtful(s->loop.contraction)) {
			both_ways(p, u, s, &out);
			p->changes++;
		} else {
			tsr_push(p->arena, &out, s);
		}
	}
	*body = out;
}

void tsr_pass_finite(tsr_pass *p)
{
	for (uint32_t i = 0; i < p->l->units.n; i++)
		visit(p, p->l->units.at[i], &p->l->units.at[i]->body);
}
