/* What lies side by side along a loop, and what is the same for all of it. */
#include "emit.h"

bool tsr_emit_has_masks(const tsr_emit *e) { return e->target->masks == TSR_MASKS_ALL; }

int64_t tsr_emit_coefficient(const tsr_lin *x, uint32_t sym)
{
	int64_t coef = 0;
	for (uint32_t i = 0; i < x->n; i++)
		if (x->terms[i].kind == TSR_LSYM_LOOP && x->terms[i].id == sym)
			coef += x->terms[i].coef;
	return coef;
}

int tsr_emit_along(const tsr_emit *e, const tsr_stmt *loop, tsr_buffer_id buffer, const tsr_lin *index)
{
	const tsr_buffer *b = e->loops->buffers.at[buffer];
	uint32_t last = tsr_buffer_last(b);
	for (uint32_t axis = 0; axis < last; axis++)
		if (tsr_emit_coefficient(&index[axis], loop->loop.sym))
			return -1;
	int64_t step = b->rank ? tsr_emit_coefficient(&index[last], loop->loop.sym) : 0;
	return step < 0 || step > 1 ? -1 : (int)step;
}

bool tsr_emit_fixed(const tsr_emit *e, const tsr_stmt *loop, const tsr_expr *x)
{
	switch (x->kind) {
	case TSR_EXPR_CONST: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER:
		return true;
	case TSR_EXPR_LOCAL:
		for (uint32_t i = 0; i < loop->loop.body.n; i++) {
			const tsr_stmt *s = loop->loop.body.at[i];
			if ((s->kind == TSR_STMT_LET || s->kind == TSR_STMT_SET) && s->let.local == x->local)
				return false;
		}
		return true;
	case TSR_EXPR_INDEX:
		return !tsr_emit_coefficient(&x->index, loop->loop.sym);
	case TSR_EXPR_LOAD:
		for (uint32_t i = 0; i < e->loops->buffers.at[x->load.buffer]->rank; i++)
			if (tsr_emit_coefficient(&x->load.index[i], loop->loop.sym))
				return false;
		return true;
	case TSR_EXPR_OP:
		for (uint32_t i = 0; i < tsr_op_get(x->op.op)->arity; i++)
			if (!tsr_emit_fixed(e, loop, x->op.args[i]))
				return false;
		return true;
	case TSR_EXPR_CONVERT:
		return tsr_emit_fixed(e, loop, x->converted);
	case TSR_EXPR_LOOKUP: case TSR_EXPR_SELECT: case TSR_EXPR_KINDS:
		break;
	}
	return false;
}

/* Lane i is element 2 i; the second of the two begins with the last element of the first, so that nothing is read behind the last lane's. */
static LLVMValueRef every_second(tsr_emit *e, LLVMValueRef low, LLVMValueRef high, unsigned lanes)
{
	LLVMValueRef at[64];
	for (unsigned i = 0; i < lanes; i++)
		at[i] = LLVMConstInt(e->i32, 2 * i + (2 * i >= lanes), false);
	return LLVMBuildShuffleVector(e->builder, low, high, LLVMConstVector(at, lanes), "");
}

/* Which elements of the first or of the second are read for the lanes of the mask. */
static LLVMValueRef spread_mask(tsr_emit *e, bool second)
{
	unsigned lanes = e->wide->lanes;
	LLVMValueRef at[64];
	for (unsigned i = 0; i < lanes; i++) {
		unsigned element = second ? i + lanes - 1 : i;
		at[i] = LLVMConstInt(e->i32, element % 2 ? lanes : element / 2, false);
	}
	return LLVMBuildShuffleVector(e->builder, e->wide->mask, LLVMConstNull(LLVMTypeOf(e->wide->mask)), LLVMConstVector(at, lanes), "");
}

bool tsr_emit_second(const tsr_emit *e, const tsr_stmt *loop, tsr_buffer_id buffer, const tsr_lin *index)
{
	const tsr_buffer *b = e->loops->buffers.at[buffer];
	for (uint32_t axis = 0; axis < tsr_buffer_last(b); axis++)
		if (tsr_emit_coefficient(&index[axis], loop->loop.sym))
			return false;
	return b->rank && tsr_emit_coefficient(&index[tsr_buffer_last(b)], loop->loop.sym) == 2 && tsr_prec_bytes(b->prec) == 4 && e->target->masks != TSR_MASKS_NONE;
}

LLVMValueRef tsr_emit_wide_load_second(tsr_emit *e, tsr_prec p, LLVMValueRef address)
{
	unsigned lanes = e->wide->lanes;
	LLVMValueRef at = tsr_emit_i64(e, lanes - 1), half[2], next = LLVMBuildInBoundsGEP2(e->builder, tsr_emit_memory_type(e, p), address, &at, 1, "");
	for (int i = 0; i < 2; i++)
		half[i] = e->wide->mask ? tsr_emit_load_masked(e, p, i ? next : address, spread_mask(e, i)) : tsr_emit_load_lanes(e, p, i ? next : address, lanes);
	return every_second(e, half[0], half[1], lanes);
}

LLVMValueRef tsr_emit_wide_load(tsr_emit *e, tsr_prec p, LLVMValueRef address)
{
	return e->wide->mask ? tsr_emit_load_masked(e, p, address, e->wide->mask) : tsr_emit_load_lanes(e, p, address, e->wide->lanes);
}
