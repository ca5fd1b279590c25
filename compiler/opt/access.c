/* Every element that a statement loads, stores or updates, for passes that ask which iterations of a loop meet. */
#include "pass.h"
#include <math.h>

bool tsr_expr_is_local(const tsr_expr *e, tsr_local_id local) { return e && e->kind == TSR_EXPR_LOCAL && e->local == local; }

bool tsr_expr_is_neutral(const tsr_expr *e, tsr_acc acc)
{
	if (e->kind != TSR_EXPR_CONST)
		return false;
	tsr_scalar neutral = tsr_acc_neutral(acc, e->prec);
	return tsr_prec_is_float(e->prec) ? e->value.d == neutral.d : e->value.i == neutral.i;
}

bool tsr_expr_is_element(const tsr_loops *l, const tsr_expr *e, const tsr_stmt *store)
{
	if (e->kind != TSR_EXPR_LOAD || e->load.buffer != store->store.buffer)
		return false;
	for (uint32_t i = 0; i < l->buffers.at[e->load.buffer]->rank; i++)
		if (!tsr_lin_equal(e->load.index[i], store->store.index[i]))
			return false;
	return true;
}

static void expr_accesses(const tsr_expr *e, tsr_accesses *out)
{
	tsr_expr *part[TSR_MOST_PARTS];
	if (e->kind == TSR_EXPR_LOAD) {
		tsr_access x = { e->load.buffer, e->load.index, false };
		tsr_push(out->a, &out->v, x);
	}
	out->data |= e->kind == TSR_EXPR_LOOKUP;
	for (uint32_t i = 0, n = tsr_expr_parts(e, part); i < n; i++)
		expr_accesses(part[i], out);
}

void tsr_stmt_accesses(const tsr_stmt *s, tsr_accesses *out)
{
	const tsr_stmts *body = NULL;
	switch (s->kind) {
	case TSR_STMT_FOR:
		out->engine |= s->loop.contraction && s->loop.contraction->schedule.mr;
		body = &s->loop.body;
		break;
	case TSR_STMT_IF: body = &s->cond.body; break;
	case TSR_STMT_STORE: case TSR_STMT_UPDATE: {
		tsr_access x = { s->store.buffer, s->store.index, true };
		expr_accesses(s->store.value, out);
		tsr_push(out->a, &out->v, x);
		break;
	}
	case TSR_STMT_LET: case TSR_STMT_SET: expr_accesses(s->let.value, out); break;
	case TSR_STMT_LETSYM:
		expr_accesses(s->letsym.value, out);
		out->data = true;
		break;
	case TSR_STMT_RANDOM: case TSR_STMT_CHECK: case TSR_STMT_KERNEL: out->unknown = true; break;
	case TSR_STMT_KINDS: break;
	}
	for (uint32_t i = 0; body && i < body->n; i++)
		tsr_stmt_accesses(body->at[i], out);
}

/* A few products of a number with itself. */
static bool small_power(const tsr_expr *e)
{
	enum { MOST = 4 };
	const tsr_expr *n = e->op.op == TSR_OP_POW ? e->op.args[1] : NULL;
	return n && n->kind == TSR_EXPR_CONST && n->value.d == trunc(n->value.d) && fabs(n->value.d) <= MOST;
}

static tsr_expr *in_function(void *user, tsr_expr *e)
{
	bool computed = e->kind == TSR_EXPR_OP && tsr_op_get(e->op.op)->result == TSR_RESULT_FLOAT && !small_power(e);
	*(bool *)user |= computed && e->op.op != TSR_OP_DIV && e->op.op != TSR_OP_SQRT && e->op.op != TSR_OP_RECIP && e->op.op != TSR_OP_RSQRT;
	return e;
}

bool tsr_stmt_has_functions(tsr_stmt *s)
{
	bool found = false;
	tsr_stmt_rewrite(s, in_function, &found);
	return found;
}

/* One axis of the buffer is the bare loop in every access of both. */
static bool aligned(const tsr_loops *l, tsr_buffer_id b, const tsr_accesses *x, uint32_t xsym, const tsr_accesses *y, uint32_t ysym)
{
	for (uint32_t axis = 0; axis < l->buffers.at[b]->rank; axis++) {
		bool all = true;
		for (uint32_t i = 0; i < x->v.n; i++)
			all &= x->v.at[i].buffer != b || tsr_lin_bare(&x->v.at[i].index[axis], xsym);
		for (uint32_t i = 0; i < y->v.n; i++)
			all &= y->v.at[i].buffer != b || tsr_lin_bare(&y->v.at[i].index[axis], ysym);
		if (all)
			return true;
	}
	return false;
}

bool tsr_accesses_independent(const tsr_loops *l, const tsr_accesses *x, uint32_t xsym, const tsr_accesses *y, uint32_t ysym)
{
	if (x->unknown || y->unknown || x->engine || y->engine)
		return false;
	for (uint32_t i = 0; i < x->v.n; i++)
		for (uint32_t j = 0; j < y->v.n; j++)
			if (x->v.at[i].buffer == y->v.at[j].buffer && (x->v.at[i].write || y->v.at[j].write)
				&& !aligned(l, x->v.at[i].buffer, x, xsym, y, ysym))
				return false;
	return true;
}
