/* Sums and other reductions of loops in vectors (wide.c): a vector of parts while the loop runs, joined behind it. */
#include "wide_sums.h"
#include <math.h>

enum { REGISTER = 16 };      /* lanes, where there are masks */

tsr_acc tsr_wide_sum_of(const tsr_stmt *s)
{
	const tsr_expr *v = s->let.value;
	if (v->kind != TSR_EXPR_OP || tsr_op_get(v->op.op)->arity != 2 || v->op.args[0]->kind != TSR_EXPR_LOCAL
		|| v->op.args[0]->local != s->let.local || v->op.operand_prec != v->prec || v->op.args[0]->prec != v->prec)
		return TSR_ACC_SET;
	if (v->prec == TSR_PREC_F32 || tsr_prec_is_int(v->prec))
		for (int acc = TSR_ACC_ADD; acc < TSR_ACCS; acc++)
			if (tsr_acc_get((tsr_acc)acc)->op == v->op.op)
				return (tsr_acc)acc == TSR_ACC_ADD || (tsr_acc)acc == TSR_ACC_MUL || (tsr_acc)acc == TSR_ACC_MAX || (tsr_acc)acc == TSR_ACC_MIN
					? (tsr_acc)acc : TSR_ACC_SET;
	return TSR_ACC_SET;
}

static LLVMValueRef half_of(tsr_emit *e, LLVMValueRef x, unsigned from, unsigned n)
{
	LLVMValueRef at[64];
	for (unsigned i = 0; i < n; i++)
		at[i] = LLVMConstInt(e->i32, from + i, false);
	return LLVMBuildShuffleVector(e->builder, x, LLVMGetPoison(LLVMTypeOf(x)), LLVMConstVector(at, n), "");
}

void tsr_wide_sum_begin(tsr_emit *e, tsr_wide_sum *s, unsigned lanes)
{
	LLVMTypeRef type = tsr_emit_lanes(tsr_emit_register_type(e, s->prec), lanes);
	LLVMValueRef neutral = tsr_emit_constant(e, tsr_acc_neutral(s->acc, s->prec));
	s->outside = e->locals[s->id];
	e->locals[s->id] = tsr_emit_alloca(e, type, "part");
	LLVMBuildStore(e->builder, tsr_emit_splat(e, neutral, type), e->locals[s->id]);
}

/* Not to be fused with products that it sums, which LLVM would do where it sees them. */
static LLVMValueRef joined(tsr_emit *e, const tsr_wide_sum *s, LLVMValueRef x, LLVMValueRef y)
{
	if (s->prec == TSR_PREC_F32 && s->acc == TSR_ACC_ADD)
		return LLVMBuildFAdd(e->builder, x, y, "");
	return tsr_emit_acc(e, s->acc, s->prec, x, y);
}

/* Halves of the lanes on halves, and what is left into the local. */
void tsr_wide_sum_end(tsr_emit *e, tsr_wide_sum *s, unsigned lanes)
{
	LLVMValueRef part = e->locals[s->id], x = LLVMBuildLoad2(e->builder, LLVMGetAllocatedType(part), part, "");
	for (unsigned n = lanes / 2; n; n /= 2)
		x = joined(e, s, half_of(e, x, 0, n), half_of(e, x, n, n));
	x = LLVMBuildExtractElement(e->builder, x, LLVMConstInt(e->i32, 0, false), "");
	x = joined(e, s, LLVMBuildLoad2(e->builder, LLVMGetAllocatedType(s->outside), s->outside, ""), x);
	e->locals[s->id] = s->outside;
	LLVMBuildStore(e->builder, x, s->outside);
}

/* A maximum that keeps NaN costs three instructions for a register.  One that does not costs one, and half of one says of two registers
 * whether they have any, which is asked once, at the end. */
void tsr_wide_order_begin(tsr_emit *e, tsr_wide *w, const tsr_wide_sum *s)
{
	if (!tsr_emit_has_masks(e) || w->lanes < 2 * REGISTER || s->prec != TSR_PREC_F32 || (s->acc != TSR_ACC_MAX && s->acc != TSR_ACC_MIN))
		return;
	LLVMTypeRef type = LLVMVectorType(e->i1, w->lanes / 2);
	LLVMValueRef lanes = tsr_emit_alloca(e, type, "ordered");
	LLVMBuildStore(e->builder, LLVMConstAllOnes(type), lanes);
	w->ordered[w->nordered].id = s->id;
	w->ordered[w->nordered++].lanes = lanes;
}

LLVMValueRef tsr_emit_wide_pick(tsr_emit *e, tsr_local_id id, tsr_acc acc, LLVMValueRef element, LLVMValueRef value)
{
	LLVMBuilderRef b = e->builder;
	const tsr_wide *w = e->wide;
	for (uint32_t i = 0; i < w->nordered; i++) {
		LLVMValueRef lanes = w->ordered[i].lanes;
		if (w->ordered[i].id != id)
			continue;
		LLVMValueRef both = LLVMBuildFCmp(b, LLVMRealORD, half_of(e, value, 0, w->lanes / 2), half_of(e, value, w->lanes / 2, w->lanes / 2), "");
		LLVMBuildStore(b, LLVMBuildAnd(b, LLVMBuildLoad2(b, LLVMTypeOf(both), lanes, ""), both, ""), lanes);
		return LLVMBuildSelect(b, LLVMBuildFCmp(b, acc == TSR_ACC_MAX ? LLVMRealOGT : LLVMRealOLT, element, value, ""), element, value, "");
	}
	return NULL;
}

/* Behind the loop: NaN where one was met. */
void tsr_wide_order_end(tsr_emit *e, const tsr_wide *w, const tsr_wide_sum *s)
{
	LLVMBuilderRef b = e->builder;
	for (uint32_t i = 0; i < w->nordered; i++) {
		if (w->ordered[i].id != s->id)
			continue;
		LLVMTypeRef word = LLVMIntTypeInContext(e->context, w->lanes / 2);
		LLVMValueRef lanes = LLVMBuildLoad2(b, LLVMGetAllocatedType(w->ordered[i].lanes), w->ordered[i].lanes, "");
		LLVMValueRef none = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildBitCast(b, lanes, word, ""), LLVMConstAllOnes(word), "");
		LLVMValueRef x = LLVMBuildLoad2(b, e->f32, s->outside, "");
		LLVMBuildStore(b, LLVMBuildSelect(b, none, x, LLVMConstReal(e->f32, (double)NAN), ""), s->outside);
	}
}

uint32_t tsr_wide_sums(tsr_emit *e, const tsr_stmts *body, tsr_wide_sum *sums)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < body->n; i++)
		if (body->at[i]->kind == TSR_STMT_SET)
			sums[n++] = (tsr_wide_sum){.id = body->at[i]->let.local, .prec = e->local_precs[body->at[i]->let.local], .acc = tsr_wide_sum_of(body->at[i])};
	return n;
}
