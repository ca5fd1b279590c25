/* Copies in which loops' symbols stand for other indices: what passes put one nest into another with. */
#include "pass.h"

tsr_lin tsr_lin_place(tsr_arena *a, const tsr_lin *x, uint32_t n, const uint32_t *syms, const tsr_lin *to)
{
	tsr_lin out = tsr_lin_const(x->offset);
	out = tsr_lin_add_size(a, out, 1, x->base);
	for (uint32_t t = 0; t < x->n; t++) {
		const tsr_lin_term *term = &x->terms[t];
		bool placed = false;
		for (uint32_t i = 0; i < n && term->kind == TSR_LSYM_LOOP && !placed; i++)
			if (syms[i] == term->id) {
				out = tsr_lin_add(a, out, term->coef, to[i]);
				placed = true;
			}
		if (!placed)
			out = tsr_lin_add_sym(a, out, term->coef, term->kind, term->id);
	}
	return out;
}

tsr_expr *tsr_expr_place(tsr_arena *a, const tsr_loops *l, const tsr_expr *e, uint32_t n, const uint32_t *syms, const tsr_lin *to)
{
	tsr_expr *out = TSR_NEW(a, tsr_expr);
	*out = *e;
	switch (e->kind) {
	case TSR_EXPR_LOAD: {
		uint32_t rank = l->buffers.at[e->load.buffer]->rank;
		out->load.index = TSR_NEW_N(a, tsr_lin, rank + 1);
		for (uint32_t i = 0; i < rank; i++)
			out->load.index[i] = tsr_lin_place(a, &e->load.index[i], n, syms, to);
		break;
	}
	case TSR_EXPR_INDEX:
		out->index = tsr_lin_place(a, &e->index, n, syms, to);
		break;
	case TSR_EXPR_OP:
		for (uint32_t i = 0; i < tsr_op_get(e->op.op)->arity; i++)
			out->op.args[i] = tsr_expr_place(a, l, e->op.args[i], n, syms, to);
		break;
	case TSR_EXPR_CONVERT:
		out->converted = tsr_expr_place(a, l, e->converted, n, syms, to);
		break;
	case TSR_EXPR_LOOKUP:
		out->lookup.at = tsr_expr_place(a, l, e->lookup.at, n, syms, to);
		out->lookup.value = tsr_expr_place(a, l, e->lookup.value, n, syms, to);
		break;
	case TSR_EXPR_SELECT:
		out->select.ranges = TSR_NEW_N(a, tsr_range, e->select.n + 1);
		for (uint32_t i = 0; i < e->select.n; i++) {
			out->select.ranges[i].index = tsr_lin_place(a, &e->select.ranges[i].index, n, syms, to);
			out->select.ranges[i].size = e->select.ranges[i].size;
		}
		out->select.inside = tsr_expr_place(a, l, e->select.inside, n, syms, to);
		out->select.outside = tsr_expr_place(a, l, e->select.outside, n, syms, to);
		break;
	case TSR_EXPR_CONST: case TSR_EXPR_LOCAL: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: case TSR_EXPR_KINDS:
		break;
	}
	return out;
}


/* ---- statements ------------------------------------------------------------------------------------------------------------ */

void tsr_place_loop(tsr_placing *x, uint32_t sym, tsr_lin to, const tsr_size *extent)
{
	tsr_placed e = { sym, extent != NULL, extent ? *extent : tsr_size_const(0) };
	tsr_push(x->p->arena, &x->loops, e);
	tsr_push(x->p->arena, &x->syms, sym);
	tsr_push(x->p->arena, &x->to, to);
}

static tsr_local_id local_of(const tsr_placing *x, tsr_local_id id)
{
	for (uint32_t i = x->locals.n; i-- > 0;)
		if (x->locals.at[i].from == id)
			return x->locals.at[i].to;
	return id;
}

static tsr_expr *placed_local(void *user, tsr_expr *e)
{
	if (e->kind == TSR_EXPR_LOCAL)
		e->local = local_of(user, e->local);
	return e;
}

static tsr_expr *place(tsr_placing *x, const tsr_expr *e)
{
	return tsr_expr_rewrite(tsr_expr_place(x->p->arena, x->p->l, e, x->syms.n, x->syms.at, x->to.at), placed_local, x);
}

static void place_for(tsr_placing *x, const tsr_stmt *s, tsr_stmts *out)
{
	uint32_t i = 0;
	while (i < x->syms.n && x->syms.at[i] != s->loop.sym)
		i++;
	if (i < x->syms.n && !x->loops.at[i].stays) {
		tsr_stmts_place(x, &s->loop.body, out);
		return;
	}
	tsr_stmt *copy = tsr_stmt_new(x->p->arena, TSR_STMT_FOR, s->span);
	copy->loop.sym = x->unit->nsyms++;
	copy->loop.name = s->loop.name;
	copy->loop.how = s->loop.how;
	copy->loop.extent = i < x->syms.n ? x->loops.at[i].extent : s->loop.extent;
	tsr_push(x->p->arena, out, copy);
	if (i == x->syms.n)
		tsr_place_loop(x, s->loop.sym, tsr_lin_const(0), &s->loop.extent);
	tsr_lin before = x->to.at[i];
	x->to.at[i] = tsr_lin_add_sym(x->p->arena, before, 1, TSR_LSYM_LOOP, copy->loop.sym);
	tsr_stmts_place(x, &s->loop.body, &copy->loop.body);
	x->to.at[i] = before;
}

static void place_stmt(tsr_placing *x, const tsr_stmt *s, tsr_stmts *out)
{
	tsr_arena *a = x->p->arena;
	if (s->kind == TSR_STMT_FOR) {
		place_for(x, s, out);
		return;
	}
	tsr_stmt *copy = tsr_stmt_new(a, s->kind, s->span);
	*copy = *s;
	tsr_push(a, out, copy);
	switch (s->kind) {
	case TSR_STMT_STORE: case TSR_STMT_UPDATE: {
		uint32_t rank = x->p->l->buffers.at[s->store.buffer]->rank;
		copy->store.value = place(x, s->store.value);
		copy->store.index = TSR_NEW_N(a, tsr_lin, rank + 1);
		for (uint32_t i = 0; i < rank; i++)
			copy->store.index[i] = tsr_lin_place(a, &s->store.index[i], x->syms.n, x->syms.at, x->to.at);
		return;
	}
	case TSR_STMT_LET: case TSR_STMT_SET:
		copy->let.value = place(x, s->let.value);
		if (s->kind == TSR_STMT_LET) {
			tsr_local_pair pair = { s->let.local, x->unit->nlocals++ };
			tsr_push(a, &x->locals, pair);
		}
		copy->let.local = local_of(x, s->let.local);
		return;
	case TSR_STMT_IF:
		copy->cond.ranges = TSR_NEW_N(a, tsr_range, s->cond.n + 1);
		for (uint32_t i = 0; i < s->cond.n; i++)
			copy->cond.ranges[i] = (tsr_range){ tsr_lin_place(a, &s->cond.ranges[i].index, x->syms.n, x->syms.at, x->to.at), s->cond.ranges[i].size };
		copy->cond.body = (tsr_stmts){ 0 };
		tsr_stmts_place(x, &s->cond.body, &copy->cond.body);
		return;
	case TSR_STMT_FOR: case TSR_STMT_LETSYM: case TSR_STMT_RANDOM: case TSR_STMT_CHECK: case TSR_STMT_KERNEL: case TSR_STMT_KINDS: break;
	}
	tsr_bug("a statement that cannot be placed elsewhere");
}

void tsr_stmts_place(tsr_placing *x, const tsr_stmts *body, tsr_stmts *out)
{
	for (uint32_t i = 0; i < body->n; i++)
		place_stmt(x, body->at[i], out);
}
