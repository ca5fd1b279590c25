/* Memory whose size is known only when the program runs: at the start where files say it, in a call where its arguments do.
 *
 * What keeps its contents has a block of its own.  The rest lies in slots (opt/buffers.c): a slot is as large as the largest buffer
 * of this owner in it, and the slots lie one after the other in one block, the address of each buffer in the table.  A call's
 * blocks stay for the next call and grow where that needs more. */
#include "host.h"

enum { ALIGN = 64, SHIFT = 3 * ALIGN };      /* as in the arena: slots do not stand whole pages apart */

static LLVMValueRef at(tsr_emit *e, LLVMTypeRef type, LLVMValueRef table, uint32_t i)
{
	LLVMValueRef index = tsr_emit_i64(e, i);
	return LLVMBuildInBoundsGEP2(e->builder, type, table, &index, 1, "");
}

LLVMValueRef tsr_emit_dims(tsr_emit *e, const tsr_buffer *b)
{
	if (tsr_emit_constant_bytes(b) >= 0) {
		int64_t *dims = TSR_NEW_N(e->tc->arena, int64_t, b->rank + 1);
		for (uint32_t i = 0; i < b->rank; i++)
			dims[i] = tsr_buffer_shape(b)[i].k;
		return tsr_emit_integers(e, b->rank, dims);
	}
	LLVMValueRef dims = tsr_emit_alloca(e, LLVMArrayType2(e->i64, b->rank), "dims");
	for (uint32_t i = 0; i < b->rank; i++)
		LLVMBuildStore(e->builder, tsr_emit_size(e, tsr_buffer_shape(b)[i]), at(e, e->i64, dims, i));
	return dims;
}

LLVMValueRef tsr_emit_bytes(tsr_emit *e, const tsr_buffer *b)
{
	tsr_span span = b->tensor == TSR_NONE ? TSR_NOWHERE : tsr_tensor_get(e->host->graph, b->tensor)->span;
	LLVMValueRef size[5] = {e->ctx, tsr_emit_where(e, span), LLVMConstInt(e->i32, b->prec, false), tsr_emit_i64(e, b->rank),
		tsr_emit_dims(e, b)};
	return tsr_emit_call(e, "tsr_array_bytes", e->i64, 5, size);
}

static bool belongs(tsr_emit *e, const tsr_buffer *b, tsr_owner owner)
{
	return tsr_emit_constant_bytes(b) < 0 && b->kind != TSR_BUFFER_FILE && b->kind != TSR_BUFFER_INPUT
		&& tsr_host_owner_of(e->host->graph, b->rank, b->dims) == owner;
}

/* In a call values are stored before they are read, so what was there does not matter; state and gradients begin at zero. */
static void own_blocks(tsr_emit *e, tsr_owner owner)
{
	for (uint32_t i = 0; i < e->loops->buffers.n; i++) {
		const tsr_buffer *b = e->loops->buffers.at[i];
		if (b->home != TSR_HOME_OWN || !belongs(e, b, owner))
			continue;
		bool zero = b->kind != TSR_BUFFER_VALUE && b->kind != TSR_BUFFER_TEMP;
		LLVMValueRef args[4] = {e->ctx, tsr_emit_i64(e, i), tsr_emit_bytes(e, b), LLVMConstInt(e->i32, zero, false)};
		tsr_emit_call(e, "tsr_reserve_buffer", e->ptr, 4, args);
	}
}

static LLVMValueRef rounded(tsr_emit *e, LLVMValueRef bytes)
{
	LLVMValueRef more = LLVMBuildAdd(e->builder, bytes, tsr_emit_i64(e, ALIGN - 1 + SHIFT), "");
	return LLVMBuildAnd(e->builder, more, tsr_emit_i64(e, -ALIGN), "");
}

/* The largest of the owner's buffers in the slot, or NULL. */
static LLVMValueRef slot_bytes(tsr_emit *e, tsr_owner owner, uint32_t slot)
{
	LLVMValueRef most = NULL;
	for (uint32_t i = 0; i < e->loops->buffers.n; i++) {
		const tsr_buffer *b = e->loops->buffers.at[i];
		if (b->home != TSR_HOME_SLOT || b->offset != slot || !belongs(e, b, owner))
			continue;
		LLVMValueRef bytes = tsr_emit_bytes(e, b);
		most = most ? LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntUGT, bytes, most, ""), bytes, most, "") : bytes;
	}
	return most;
}

void tsr_emit_memory(tsr_emit *e, tsr_owner owner)
{
	LLVMValueRef total = tsr_emit_i64(e, 0), *from = TSR_NEW_N(e->tc->arena, LLVMValueRef, e->loops->nslots + 1);
	bool any = false;
	own_blocks(e, owner);
	for (uint32_t slot = 0; slot < e->loops->nslots; slot++) {
		LLVMValueRef bytes = slot_bytes(e, owner, slot);
		from[slot] = total;
		any |= bytes != NULL;
		if (bytes)
			total = LLVMBuildAdd(e->builder, total, rounded(e, bytes), "");
	}
	if (!any)
		return;
	LLVMValueRef args[4] = {e->ctx, tsr_emit_i64(e, tsr_emit_slots_row(e, owner)), total, LLVMConstInt(e->i32, 0, false)};
	LLVMValueRef base = tsr_emit_call(e, "tsr_reserve_buffer", e->ptr, 4, args);
	for (uint32_t i = 0; i < e->loops->buffers.n; i++) {
		const tsr_buffer *b = e->loops->buffers.at[i];
		if (b->home == TSR_HOME_SLOT && belongs(e, b, owner))
			LLVMBuildStore(e->builder, tsr_emit_offset(e, TSR_PREC_U8, base, from[b->offset]), at(e, e->ptr, e->buffer_table, i));
	}
}
