/* What lies side by side along a loop, and what is the same for all of it. */
#include "emit.h"

bool tsr_emit_has_masks(const tsr_emit *e) { return e->target->masks == TSR_MASKS_ALL; }

int tsr_emit_along(const tsr_emit *e, const tsr_stmt *loop, tsr_buffer_id buffer, const tsr_lin *index)
{
	const tsr_buffer *b = e->loops->buffers.at[buffer];
	uint32_t last = tsr_buffer_last(b);
	for (uint32_t axis = 0; axis < last; axis++)
		if (tsr_lin_mentions(&index[axis], loop->loop.sym))
			return -1;
	int64_t step = b->rank ? tsr_lin_coef(&index[last], loop->loop.sym) : 0;
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
		return !tsr_lin_mentions(&x->index, loop->loop.sym);
	case TSR_EXPR_LOAD:
		for (uint32_t i = 0; i < e->loops->buffers.at[x->load.buffer]->rank; i++)
			if (tsr_lin_mentions(&x->load.index[i], loop->loop.sym))
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

/* Of a register's lanes, whose elements are `step` apart, so many registers have all: each begins behind the one before, and the last so much earlier that it ends with the last
 * lane's element.  Which of them has lane i's, and where. */
static unsigned first_of(unsigned lanes, unsigned step, unsigned part) { return part + 1 == step ? (step - 1) * (lanes - 1) : part * lanes; }

static unsigned part_of(unsigned lanes, unsigned step, unsigned i, unsigned *at)
{
	unsigned part = i * step / lanes;
	*at = i * step - first_of(lanes, step, part);
	return part;
}

/* Which elements of a part are those of the mask's lanes. */
static LLVMValueRef spread_mask(tsr_emit *e, LLVMValueRef mask, unsigned lanes, unsigned step, unsigned part)
{
	LLVMValueRef at[64];
	for (unsigned i = 0; i < lanes; i++)
		at[i] = LLVMConstInt(e->i32, lanes, false);
	for (unsigned i = 0; i < lanes; i++) {
		unsigned element;
		if (part_of(lanes, step, i, &element) == part)
			at[element] = LLVMConstInt(e->i32, i, false);
	}
	return LLVMBuildShuffleVector(e->builder, mask, LLVMConstNull(LLVMTypeOf(mask)), LLVMConstVector(at, lanes), "");
}

int64_t tsr_emit_step(const tsr_emit *e, const tsr_stmt *loop, tsr_buffer_id buffer, const tsr_lin *index)
{
	int64_t step;
	return tsr_index_stride(e->loops->buffers.at[buffer], index, loop->loop.sym, &step) ? step : -1;
}

bool tsr_emit_strided(const tsr_emit *e, const tsr_stmt *loop, tsr_buffer_id buffer, const tsr_lin *index)
{
	int64_t step = tsr_emit_step(e, loop, buffer, index), bytes = tsr_prec_bytes(e->loops->buffers.at[buffer]->prec);
	return step > 1 && step <= TSR_MOST_STRIDE && ((bytes == 4 && e->target->masks != TSR_MASKS_NONE) || (bytes < 4 && step > 2 && tsr_emit_has_masks(e)));
}

LLVMValueRef tsr_emit_of_parts(tsr_emit *e, unsigned lanes, unsigned n, LLVMValueRef *part, const unsigned *of, const unsigned *at)
{
	LLVMValueRef all = part[0], from[64], none = LLVMGetPoison(LLVMTypeOf(part[0]));
	for (unsigned k = n > 1; k < n || k == 0; k++) {
		/* the first shuffle takes lanes of the first two parts, each later one what there is and its own */
		for (unsigned i = 0; i < lanes; i++)
			from[i] = of[i] > k ? LLVMGetPoison(e->i32) : LLVMConstInt(e->i32, k && of[i] == k ? lanes + at[i] : k <= 1 ? at[i] : i, false);
		all = LLVMBuildShuffleVector(e->builder, all, k ? part[k] : none, LLVMConstVector(from, lanes), "");
	}
	return all;
}

LLVMValueRef tsr_emit_concat(tsr_emit *e, LLVMValueRef *part, unsigned n)
{
	LLVMValueRef at[64];
	for (unsigned lanes = 2 * LLVMGetVectorSize(LLVMTypeOf(part[0])); n > 1; n /= 2, lanes *= 2) {
		for (unsigned i = 0; i < lanes; i++)
			at[i] = LLVMConstInt(e->i32, i, false);
		for (unsigned i = 0; i < n / 2; i++)
			part[i] = LLVMBuildShuffleVector(e->builder, part[2 * i], part[2 * i + 1], LLVMConstVector(at, lanes), "");
	}
	return part[0];
}

LLVMValueRef tsr_emit_wide_load_strided(tsr_emit *e, tsr_prec p, LLVMValueRef address, unsigned step)
{
	unsigned lanes = e->wide->lanes, of[64], at[64];
	LLVMValueRef part[64];
	for (unsigned k = 0; k < step; k++) {
		LLVMValueRef first = tsr_emit_i64(e, first_of(lanes, step, k));
		LLVMValueRef there = LLVMBuildInBoundsGEP2(e->builder, tsr_emit_memory_type(e, p), address, &first, 1, "");
		part[k] = e->wide->mask ? tsr_emit_load_masked(e, p, there, spread_mask(e, e->wide->mask, lanes, step, k)) : tsr_emit_load_lanes(e, p, there, lanes);
	}
	for (unsigned i = 0; i < lanes; i++)
		of[i] = part_of(lanes, step, i, &at[i]);
	return tsr_emit_of_parts(e, lanes, step, part, of, at);
}

void tsr_emit_wide_store_strided(tsr_emit *e, tsr_prec p, LLVMValueRef value, LLVMValueRef address, unsigned step)
{
	unsigned lanes = e->wide->lanes;
	LLVMTypeRef type = LLVMVectorType(e->i1, lanes);
	LLVMValueRef all = e->wide->mask ? e->wide->mask : LLVMConstAllOnes(type), from[64];
	if (!e->wide->mask && !tsr_emit_has_masks(e)) {      /* where a masked store takes as long as stores of all lanes */
		for (unsigned i = 0; i < lanes; i++) {
			LLVMValueRef at = tsr_emit_i64(e, (int64_t)i * step), lane = LLVMBuildExtractElement(e->builder, value, tsr_emit_i64(e, i), "");
			tsr_emit_store_lanes(e, p, lane, LLVMBuildInBoundsGEP2(e->builder, tsr_emit_memory_type(e, p), address, &at, 1, ""));
		}
		return;
	}
	for (unsigned k = 0; k < step; k++) {
		LLVMValueRef first = tsr_emit_i64(e, first_of(lanes, step, k));
		for (unsigned i = 0; i < lanes; i++)
			from[i] = LLVMGetPoison(e->i32);
		for (unsigned i = 0; i < lanes; i++) {
			unsigned element;
			if (part_of(lanes, step, i, &element) == k)
				from[element] = LLVMConstInt(e->i32, i, false);
		}
		LLVMValueRef spread = LLVMBuildShuffleVector(e->builder, value, LLVMGetPoison(LLVMTypeOf(value)), LLVMConstVector(from, lanes), "");
		LLVMValueRef there = LLVMBuildInBoundsGEP2(e->builder, tsr_emit_memory_type(e, p), address, &first, 1, "");
		tsr_emit_store_masked(e, p, spread, there, spread_mask(e, all, lanes, step, k));
	}
}

LLVMValueRef tsr_emit_wide_load(tsr_emit *e, tsr_prec p, LLVMValueRef address)
{
	return e->wide->mask ? tsr_emit_load_masked(e, p, address, e->wide->mask) : tsr_emit_load_lanes(e, p, address, e->wide->lanes);
}
