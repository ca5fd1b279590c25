/* Sums and other reductions of loops in vectors (wide.c): a vector of parts while the loop runs, joined behind it. */
#include "wide_sums.h"
#include <math.h>

enum { REGISTER = 16 };      /* lanes, where there are masks */

/* Lanes of a register that maxima are remembered by, and of what says which of them met a NaN: a mask's bits where there are masks, and else whole numbers. */
static unsigned lanes_of(const tsr_emit *e) { return tsr_emit_has_masks(e) ? REGISTER : e->target->vector_bytes / 4; }
static LLVMTypeRef met_type(tsr_emit *e) { return LLVMVectorType(tsr_emit_has_masks(e) ? e->i1 : e->i32, lanes_of(e)); }

tsr_acc tsr_wide_sum_of(const tsr_stmt *s)
{
	const tsr_expr *v = s->let.value;
	if (v->kind != TSR_EXPR_OP || tsr_op_get(v->op.op)->arity != 2 || v->op.args[0]->kind != TSR_EXPR_LOCAL
		|| v->op.args[0]->local != s->let.local || v->op.operand_prec != v->prec || v->op.args[0]->prec != v->prec)
		return TSR_ACC_SET;
	if (v->prec == TSR_PREC_F32 || v->prec == TSR_PREC_F64 || tsr_prec_is_int(v->prec))
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

/* The greater or less of two, either where one is NaN. */
static LLVMValueRef picked(tsr_emit *e, tsr_acc acc, LLVMValueRef x, LLVMValueRef y)
{
	return LLVMBuildSelect(e->builder, LLVMBuildFCmp(e->builder, acc == TSR_ACC_MAX ? LLVMRealOGT : LLVMRealOLT, x, y, ""), x, y, "");
}

static bool asks_once(const tsr_wide *w, tsr_local_id id, uint32_t *at)
{
	for (*at = 0; *at < w->nordered; ++*at)
		if (w->ordered[*at].id == id)
			return true;
	return false;
}

/* Not to be fused with products that it sums, which LLVM would do where it sees them. */
static LLVMValueRef joined(tsr_emit *e, const tsr_wide_sum *s, LLVMValueRef x, LLVMValueRef y)
{
	if ((s->prec == TSR_PREC_F32 || s->prec == TSR_PREC_F64) && s->acc == TSR_ACC_ADD)
		return LLVMBuildFAdd(e->builder, x, y, "");
	return tsr_emit_acc(e, s->acc, s->prec, x, y);
}

/* Registers of which one comparison says whether they have NaN. */
static unsigned asked_at_once(const tsr_emit *e, const tsr_wide *w) { return w->lanes < 2 * lanes_of(e) ? 1 : 2; }

/* Behind the loop: NaN where one was met. */
static void end_order(tsr_emit *e, const tsr_wide *w, uint32_t at, const tsr_wide_sum *s)
{
	LLVMBuilderRef b = e->builder;
	LLVMValueRef lanes = NULL;
	for (unsigned k = 0; k < w->lanes / (asked_at_once(e, w) * lanes_of(e)); k++) {
		LLVMValueRef part = w->ordered[at].lanes[k], more = LLVMBuildLoad2(b, LLVMGetAllocatedType(part), part, "");
		lanes = lanes ? LLVMBuildAnd(b, lanes, more, "") : more;
	}
	if (!tsr_emit_has_masks(e))
		lanes = LLVMBuildICmp(b, LLVMIntEQ, lanes, LLVMConstAllOnes(LLVMTypeOf(lanes)), "");
	LLVMTypeRef bits = LLVMIntTypeInContext(e->context, lanes_of(e));
	LLVMValueRef none = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildBitCast(b, lanes, bits, ""), LLVMConstAllOnes(bits), "");
	LLVMValueRef x = LLVMBuildLoad2(b, e->f32, s->outside, "");
	LLVMBuildStore(b, LLVMBuildSelect(b, none, x, LLVMConstReal(e->f32, (double)NAN), ""), s->outside);
}

/* Halves of the lanes on halves, and what is left into the local. */
void tsr_wide_sum_end(tsr_emit *e, const tsr_wide *w, tsr_wide_sum *s, unsigned lanes)
{
	LLVMValueRef part = e->locals[s->id], x = LLVMBuildLoad2(e->builder, LLVMGetAllocatedType(part), part, "");
	uint32_t at;
	bool picks = asks_once(w, s->id, &at);
	for (unsigned n = lanes / 2; n; n /= 2) {
		LLVMValueRef low = half_of(e, x, 0, n), high = half_of(e, x, n, n);
		x = picks ? picked(e, s->acc, low, high) : joined(e, s, low, high);
	}
	x = LLVMBuildExtractElement(e->builder, x, LLVMConstInt(e->i32, 0, false), "");
	x = joined(e, s, LLVMBuildLoad2(e->builder, LLVMGetAllocatedType(s->outside), s->outside, ""), x);
	e->locals[s->id] = s->outside;
	LLVMBuildStore(e->builder, x, s->outside);
	if (picks && !w->ordered[at].never)
		end_order(e, w, at, s);
}

/* A maximum that keeps NaN costs three instructions for a register.  One that does not costs one, and one says of a register, or of two at once,
 * whether they have any, which is asked once, at the end. */
void tsr_wide_order_begin(tsr_emit *e, tsr_wide *w, const tsr_wide_sum *s, bool never)
{
	if (!(tsr_emit_has_masks(e) || e->target->loses_nan) || w->lanes < lanes_of(e) || s->prec != TSR_PREC_F32 || (s->acc != TSR_ACC_MAX && s->acc != TSR_ACC_MIN))
		return;
	LLVMTypeRef type = met_type(e);
	w->ordered[w->nordered].never = never;
	for (unsigned k = 0; !never && k < w->lanes / (asked_at_once(e, w) * lanes_of(e)); k++) {
		w->ordered[w->nordered].lanes[k] = tsr_emit_alloca(e, type, "ordered");
		LLVMBuildStore(e->builder, LLVMConstAllOnes(type), w->ordered[w->nordered].lanes[k]);
	}
	w->ordered[w->nordered++].id = s->id;
}

LLVMValueRef tsr_emit_wide_pick(tsr_emit *e, tsr_local_id id, tsr_acc acc, LLVMValueRef element, LLVMValueRef value)
{
	LLVMBuilderRef b = e->builder;
	const tsr_wide *w = e->wide;
	uint32_t at;
	if (!asks_once(w, id, &at))
		return NULL;
	for (unsigned k = 0; !w->ordered[at].never && k < w->lanes / (asked_at_once(e, w) * lanes_of(e)); k++) {
		unsigned n = asked_at_once(e, w), one = lanes_of(e);
		LLVMValueRef low = half_of(e, value, n * k * one, one), high = half_of(e, value, (n * k + n - 1) * one, one);
		LLVMValueRef lanes = w->ordered[at].lanes[k], both = LLVMBuildFCmp(b, LLVMRealORD, low, high, "");
		if (!tsr_emit_has_masks(e))
			both = LLVMBuildSExt(b, both, met_type(e), "");
		LLVMBuildStore(b, LLVMBuildAnd(b, LLVMBuildLoad2(b, LLVMTypeOf(both), lanes, ""), both, ""), lanes);
	}
	return picked(e, acc, element, value);
}

uint32_t tsr_wide_sums(tsr_emit *e, const tsr_stmts *body, tsr_wide_sum *sums)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < body->n; i++)
		if (body->at[i]->kind == TSR_STMT_SET)
			sums[n++] = (tsr_wide_sum){.id = body->at[i]->let.local, .prec = e->local_precs[body->at[i]->let.local], .acc = tsr_wide_sum_of(body->at[i])};
	return n;
}
