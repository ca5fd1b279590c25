/* Folds what is known when compiling, and drops what nobody can notice.
 *
 *   values      operations on constants; x * 1, x + 0, x - 0, x / 1, x / 2^n, x ** 1, x ** 2, - - x, where of a constant; conversions
 *               of constants.  Nothing that changes a NaN, an infinity or a rounding.
 *   statements  loops without iterations, updates by the neutral value
 *   kernels     those that write only buffers which no code loads and the program level does not see; empty ones */
#include "pass.h"
#include <math.h>

static bool is_number(const tsr_expr *e, double x)
{
	if (e->kind != TSR_EXPR_CONST)
		return false;
	return tsr_prec_is_float(e->prec) ? e->value.d == x : tsr_prec_is_int(e->prec) && (double)e->value.i == x;
}

static bool power_of_two(const tsr_expr *e)
{
	int exponent;
	return e->kind == TSR_EXPR_CONST && (e->prec == TSR_PREC_F32 || e->prec == TSR_PREC_F64) && isnormal(e->value.d)
		&& fabs(frexp(e->value.d, &exponent)) == 0.5 && exponent > -100 && exponent < 100;
}

/* Evaluating it twice costs next to nothing. */
static bool cheap(const tsr_expr *e) { return e->kind == TSR_EXPR_LOAD || e->kind == TSR_EXPR_LOCAL; }

static tsr_expr *fold(tsr_pass *p, tsr_expr *e)
{
	uint32_t arity = tsr_op_get(e->op.op)->arity;
	tsr_scalar args[3];
	for (uint32_t i = 0; i < arity; i++) {
		if (e->op.args[i]->kind != TSR_EXPR_CONST)
			return e;
		args[i] = e->op.args[i]->value;
	}
	return tsr_expr_const(p->arena, tsr_op_apply(e->op.op, e->op.operand_prec, args));
}

static tsr_expr *power(tsr_pass *p, tsr_expr *e, tsr_expr *x, tsr_expr *y)
{
	if (is_number(y, 1))
		return x;
	if (is_number(y, 2) && cheap(x))
		return tsr_expr_op(p->arena, TSR_OP_MUL, e->prec, x, tsr_expr_place(p->arena, p->l, x, 0, NULL, NULL), NULL);
	return e;
}

static tsr_expr *op(tsr_pass *p, tsr_expr *e)
{
	tsr_expr *x = e->op.args[0], *y = e->op.args[1], *z = e->op.args[2], *folded = fold(p, e);
	if (folded != e)
		return folded;
	tsr_expr *same = e;
	switch ((int)e->op.op) {
	case TSR_OP_ID: same = x; break;
	case TSR_OP_NEG: same = x->kind == TSR_EXPR_OP && x->op.op == TSR_OP_NEG ? x->op.args[0] : e; break;
	case TSR_OP_ADD: same = is_number(y, 0) ? x : is_number(x, 0) ? y : e; break;
	case TSR_OP_SUB: same = is_number(y, 0) ? x : e; break;
	case TSR_OP_MUL: same = is_number(y, 1) ? x : is_number(x, 1) ? y : e; break;
	case TSR_OP_POW: same = power(p, e, x, y); break;
	case TSR_OP_WHERE: same = x->kind == TSR_EXPR_CONST ? (x->value.i ? y : z) : e; break;
	case TSR_OP_DIV:
		if (power_of_two(y))
			return tsr_expr_op(p->arena, TSR_OP_MUL, e->prec, x,
				tsr_expr_const(p->arena, tsr_scalar_of(e->prec, 1 / y->value.d)), NULL);
		same = is_number(y, 1) ? x : e;
		break;
	default: break;
	}
	return same->prec == e->prec ? same : e;
}

static tsr_expr *rewrite(void *user, tsr_expr *e)
{
	tsr_pass *p = user;
	tsr_expr *out = e;
	switch (e->kind) {
	case TSR_EXPR_OP: out = op(p, e); break;
	case TSR_EXPR_CONVERT:
		if (e->converted->kind == TSR_EXPR_CONST)
			out = tsr_expr_const(p->arena, tsr_scalar_convert(e->converted->value, e->prec));
		else if (e->converted->prec == e->prec)
			out = e->converted;
		break;
	case TSR_EXPR_SELECT: out = e->select.n == 0 ? e->select.inside : e; break;
	case TSR_EXPR_CONST: case TSR_EXPR_LOAD: case TSR_EXPR_LOCAL: case TSR_EXPR_INDEX: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER:
	case TSR_EXPR_LOOKUP: case TSR_EXPR_KINDS: break;
	}
	p->changes += out != e;
	return out;
}

static bool without_effect(const tsr_stmt *s)
{
	switch (s->kind) {
	case TSR_STMT_FOR: return s->loop.body.n == 0 || (tsr_size_is_const(s->loop.extent) && s->loop.extent.k <= 0);
	case TSR_STMT_IF: return s->cond.body.n == 0;
	case TSR_STMT_KERNEL: return s->kernel.body.n == 0;
	case TSR_STMT_UPDATE:
		return (s->store.acc == TSR_ACC_ADD || s->store.acc == TSR_ACC_SUB) ? is_number(s->store.value, 0)
			: (s->store.acc == TSR_ACC_MUL || s->store.acc == TSR_ACC_DIV) && is_number(s->store.value, 1);
	case TSR_STMT_STORE: case TSR_STMT_LET: case TSR_STMT_SET: case TSR_STMT_LETSYM: case TSR_STMT_RANDOM: case TSR_STMT_CHECK:
	case TSR_STMT_KINDS: break;
	}
	return false;
}

static void clean(tsr_pass *p, tsr_stmts *body)
{
	for (uint32_t i = body->n; i-- > 0;) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR)
			clean(p, &s->loop.body);
		else if (s->kind == TSR_STMT_IF)
			clean(p, &s->cond.body);
		else if (s->kind == TSR_STMT_KERNEL)
			clean(p, &s->kernel.body);
		if (without_effect(s)) {
			tsr_stmts_remove(body, i);
			p->changes++;
		}
	}
}

/* ---- buffers that nobody reads -------------------------------------------------------------------------------------------- */

bool tsr_buffer_kept(const tsr_buffer *b)
{
	return b->observed || (b->kind != TSR_BUFFER_VALUE && b->kind != TSR_BUFFER_GRAD && b->kind != TSR_BUFFER_TEMP);
}

/* A kernel that can stop the run is there for that. */
bool tsr_stmts_check(const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_CHECK || (s->kind == TSR_STMT_FOR && tsr_stmts_check(&s->loop.body)) || (s->kind == TSR_STMT_IF && tsr_stmts_check(&s->cond.body)))
			return true;
	}
	return false;
}

/* From the last kernel of a unit to the first, so that what fed only a dropped kernel is dropped in the same sweep. */
static bool drop_unread(tsr_pass *p, tsr_arena *a)
{
	bool dropped = false;
	uint32_t *loads = TSR_NEW_N(a, uint32_t, p->l->buffers.n + 1);
	tsr_body_uses *units = TSR_NEW_N(a, tsr_body_uses, p->l->units.n + 1);
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		tsr_body_uses_make(&units[u], a, &p->l->units.at[u]->body);
		for (uint32_t i = 0; i < units[u].body->n; i++)
			for (uint32_t j = 0; j < units[u].at[i].v.n; j++)
				loads[units[u].at[i].v.at[j].buffer] += units[u].at[i].v.at[j].loads;
	}
	for (uint32_t u = 0; u < p->l->units.n; u++)
		for (uint32_t i = units[u].body->n; i-- > 0;) {
			const tsr_uses *use = &units[u].at[i];
			bool needed = units[u].body->at[i]->kind != TSR_STMT_KERNEL || tsr_stmts_check(&units[u].body->at[i]->kernel.body);
			for (uint32_t j = 0; j < use->v.n; j++)
				needed |= tsr_use_writes(use->v.at[j]) && (tsr_buffer_kept(p->l->buffers.at[use->v.at[j].buffer]) || loads[use->v.at[j].buffer]);
			if (needed)
				continue;
			for (uint32_t j = 0; j < use->v.n; j++)
				loads[use->v.at[j].buffer] -= use->v.at[j].loads;
			tsr_body_remove(&units[u], i);
			p->changes++;
			dropped = true;
		}
	return dropped;
}

void tsr_pass_simplify(tsr_pass *p)
{
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		tsr_stmts *body = &p->l->units.at[u]->body;
		for (uint32_t i = 0; i < body->n; i++)
			tsr_stmt_rewrite(body->at[i], rewrite, p);
		clean(p, body);
	}
	tsr_arena *a = tsr_arena_new();
	while (drop_unread(p, a))
		;
	tsr_arena_free(a);
}
