/* Precision inference.  Files, draws, positions and what the user annotated are fixed; the result of an operation follows
 * from its operands by the rules of op.def; literals, numbers, parameters and state take the precision of what they meet:
 * an integer written without a point stays an integer next to integers, everything else is f32 unless it meets another
 * float.  Two passes: results from operands while the demands on those that adapt are collected, then every right-hand side
 * gets its precisions and conversions. */
#include "state.h"

typedef struct infer { tsr_graph *g; tsr_prec *demand; } infer;

/* What an operand brings: NONE is an integer that adapts, `adapts` with F32 a float that does. */
typedef struct brought { tsr_prec prec; bool adapts; } brought;

static bool adapts_as_integer(const tsr_tensor *t)
{
	return (t->kind == TSR_TENSOR_FILL && t->fill.integer) || (t->kind == TSR_TENSOR_LITERAL && t->literal.integer);
}

tsr_prec tsr_tensor_grad_prec(const tsr_tensor *t)
{
	return t->prec == TSR_PREC_F64 ? TSR_PREC_F64 : TSR_PREC_F32;
}

static brought of_operand(const infer *in, const tsr_operand *o)
{
	const tsr_tensor *t = tsr_tensor_get(in->g, o->tensor);
	if (o->part == TSR_PART_GRAD)
		return (brought){t->prec == TSR_PREC_F64 ? TSR_PREC_F64 : TSR_PREC_F32, false};
	if (t->prec != TSR_PREC_NONE)
		return (brought){t->prec, false};
	return (brought){adapts_as_integer(t) ? TSR_PREC_NONE : TSR_PREC_F32, true};
}

static void demand(infer *in, const tsr_rhs *r, tsr_prec p)
{
	if (r->kind != TSR_RHS_OPERAND || r->operand.part == TSR_PART_GRAD || p == TSR_PREC_NONE)
		return;
	const tsr_tensor *t = tsr_tensor_get(in->g, r->operand.tensor);
	if (t->prec == TSR_PREC_NONE && (adapts_as_integer(t) || tsr_prec_is_float(p)))
		in->demand[t->id] = tsr_prec_promote(in->demand[t->id], p);
}

/* The operands' precisions as the primitive sees them: those that adapt give way to those that do not. */
static void meet(tsr_op op, uint32_t n, const brought *b, tsr_prec *precs)
{
	tsr_prec firm = TSR_PREC_NONE;
	for (uint32_t i = op == TSR_OP_WHERE; i < n; i++)
		if (!b[i].adapts)
			firm = tsr_prec_promote(firm, b[i].prec);
	for (uint32_t i = 0; i < n; i++)
		precs[i] = b[i].adapts && b[i].prec == TSR_PREC_F32 && tsr_prec_is_float(firm) ? firm : b[i].prec;
}

static brought inferred(infer *in, const tsr_rhs *r)
{
	switch (r->kind) {
	case TSR_RHS_OPERAND: return of_operand(in, &r->operand);
	case TSR_RHS_CONST: return (brought){r->prec, r->prec != TSR_PREC_BOOL};
	case TSR_RHS_CONVERT: return (brought){r->prec, false};
	case TSR_RHS_OP: break;
	}
	uint32_t n = tsr_op_get(r->op.op)->arity;
	brought b[3] = {{0}};
	tsr_prec precs[3];
	bool adapts = true;
	for (uint32_t i = 0; i < n; i++) {
		b[i] = inferred(in, r->op.args[i]);
		adapts &= b[i].adapts || (i == 0 && r->op.op == TSR_OP_WHERE);
	}
	meet(r->op.op, n, b, precs);
	tsr_prec p = tsr_op_operand_prec(r->op.op, precs);
	for (uint32_t i = r->op.op == TSR_OP_WHERE; i < n; i++)
		demand(in, r->op.args[i], p);
	tsr_prec result = tsr_op_result_prec(r->op.op, precs);
	return (brought){result, adapts && result != TSR_PREC_BOOL};
}

static void infer_target(infer *in, const tsr_assign *a)
{
	tsr_tensor *t = tsr_tensor_get(in->g, a->target.tensor);
	brought b = inferred(in, a->rhs);
	if (a->target.part == TSR_PART_GRAD)
		return;
	demand(in, a->rhs, t->prec != TSR_PREC_NONE ? t->prec : in->demand[t->id]);
	if (t->prec_fixed)
		return;
	tsr_prec args[3] = {b.prec, b.prec, b.prec};
	tsr_prec p = a->acc == TSR_ACC_SET ? b.prec : tsr_op_result_prec(tsr_acc_get(a->acc)->op, args);
	if (t->kind == TSR_TENSOR_OP) {
		t->prec = tsr_prec_promote(t->prec, p == TSR_PREC_NONE ? TSR_PREC_F32 : p);
	} else if (t->prec == TSR_PREC_NONE && !b.adapts && tsr_prec_is_float(p)) {
		in->demand[t->id] = tsr_prec_promote(in->demand[t->id], p);
	}
}

static void infer_code(infer *in, const tsr_codetree *c)
{
	switch (c->kind) {
	case TSR_CODE_SEQ:
		for (uint32_t i = 0; i < c->seq.n; i++)
			infer_code(in, c->seq.at[i]);
		return;
	case TSR_CODE_ASSIGN: infer_target(in, &c->assign); return;
	case TSR_CODE_COMMENT: infer_code(in, c->comment.body); return;
	case TSR_CODE_FORWARD: case TSR_CODE_BACKPROP: case TSR_CODE_ZERO_GRADS: case TSR_CODE_FETCH: return;
	}
}

/* ---- conversions ----------------------------------------------------------------------------------------------------------- */

static tsr_rhs *converted(infer *in, tsr_rhs *r, tsr_prec to)
{
	if (r->prec == to)
		return r;
	if (r->kind == TSR_RHS_CONST) {
		r->prec = to;
		return r;
	}
	tsr_rhs *c = TSR_NEW(in->g->tc->arena, tsr_rhs);
	c->kind = TSR_RHS_CONVERT;
	c->span = r->span;
	c->prec = to;
	c->converted = r;
	return c;
}

static void settle(infer *in, tsr_rhs *r)
{
	switch (r->kind) {
	case TSR_RHS_OPERAND: r->prec = of_operand(in, &r->operand).prec; return;
	case TSR_RHS_CONST: case TSR_RHS_CONVERT: return;
	case TSR_RHS_OP: break;
	}
	uint32_t n = tsr_op_get(r->op.op)->arity;
	brought b[3] = {{0}};
	tsr_prec precs[3];
	for (uint32_t i = 0; i < n; i++) {
		settle(in, r->op.args[i]);
		b[i] = (brought){r->op.args[i]->prec, r->op.args[i]->kind == TSR_RHS_CONST && r->op.args[i]->prec != TSR_PREC_BOOL};
	}
	meet(r->op.op, n, b, precs);
	tsr_prec p = tsr_op_operand_prec(r->op.op, precs);
	if (p == TSR_PREC_NONE) {
		p = TSR_PREC_F32;
		for (uint32_t i = 0; i < n; i++)
			precs[i] = precs[i] == TSR_PREC_NONE ? p : precs[i];
	}
	r->op.operand_prec = p;
	r->prec = tsr_op_result_prec(r->op.op, precs);
	for (uint32_t i = 0; i < n; i++)
		r->op.args[i] = converted(in, r->op.args[i], r->op.op == TSR_OP_WHERE && i == 0 ? TSR_PREC_BOOL : p);
}

static void settle_assign(void *data, tsr_assign *a)
{
	infer *in = data;
	const tsr_tensor *t = tsr_tensor_get(in->g, a->target.tensor);
	tsr_prec to = a->target.part == TSR_PART_GRAD ? tsr_tensor_grad_prec(t) : t->prec;
	settle(in, a->rhs);
	a->rhs = converted(in, a->rhs, a->acc == TSR_ACC_SET ? to : tsr_prec_accumulator(to));
}

void tsr_prec_infer(tsr_graph *g)
{
	infer in = {g, TSR_NEW_N(g->tc->arena, tsr_prec, g->tensors.n + 1)};
	for (uint32_t i = 0; i < g->tensors.n; i++) {
		tsr_tensor *t = g->tensors.at[i];
		if (t->kind == TSR_TENSOR_SIZE || (t->kind == TSR_TENSOR_NUMBER && g->numbers.at[t->number.number]->integer))
			t->prec = TSR_PREC_I32;
		if (t->kind != TSR_TENSOR_OP)
			continue;
		for (uint32_t k = 0; t->op.forward && k < t->op.forward->v.n; k++)
			infer_target(&in, &t->op.forward->v.at[k]);
		for (uint32_t k = 0; t->op.backward && k < t->op.backward->v.n; k++)
			infer_target(&in, &t->op.backward->v.at[k]);
		if (t->prec == TSR_PREC_NONE && t->op.record != TSR_NONE)
			t->prec = TSR_PREC_F32;
	}
	for (uint32_t i = 0; i < g->codes.n; i++)
		infer_code(&in, g->codes.at[i]->tree);
	for (uint32_t i = 0; i < g->elab->codes.n; i++)          /* what let%main runs is no code of the graph yet */
		infer_code(&in, g->elab->codes.at[i].tree);
	for (uint32_t i = 0; i < g->tensors.n; i++)
		if (g->tensors.at[i]->prec == TSR_PREC_NONE)
			g->tensors.at[i]->prec = in.demand[i] != TSR_PREC_NONE ? in.demand[i] : TSR_PREC_F32;
	tsr_graph_each_assign(g, settle_assign, &in);
	g->settled = true;
}

void tsr_prec_settle_code(tsr_graph *g, tsr_codetree *code)
{
	infer in = {g, NULL};
	tsr_code_each_assign(code, settle_assign, &in);
}
