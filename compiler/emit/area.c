/* A thread's work area: memory for what it keeps near between reading and writing, panels of an operand, or a block that is being turned. */
#include "emit.h"
#include "../opt/opt.h"
#include "../../runtime/tsr_abi.h"
#include <string.h>

/* The address of a thread's own global, asked for before anything else in the function.  In a shared object the first one to ask makes the
 * dynamic linker allocate, which leaves none of the vector registers above the 16th alone, and LLVM takes it that all of them are. */
static LLVMValueRef own_address(tsr_emit *e, LLVMValueRef global)
{
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder), entry = LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(here));
	LLVMValueRef first = LLVMGetFirstInstruction(entry);
	if (first)
		LLVMPositionBuilderBefore(e->builder, first);
	else
		LLVMPositionBuilderAtEnd(e->builder, entry);
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, LLVMLookupIntrinsicID("llvm.threadlocal.address", 24), &e->ptr, 1);
	LLVMValueRef address = LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(f), f, &global, 1, "");
	LLVMPositionBuilderAtEnd(e->builder, here);
	return address;
}

LLVMValueRef tsr_emit_zeros(LLVMModuleRef module, const char *name, uint64_t bytes, unsigned aligned, bool own)
{
	LLVMTypeRef type = LLVMArrayType2(LLVMInt8TypeInContext(LLVMGetModuleContext(module)), bytes);
	LLVMValueRef old = LLVMGetNamedGlobal(module, name);
	if (old && LLVMGetArrayLength2(LLVMGlobalGetValueType(old)) >= bytes)
		return old;
	LLVMValueRef made = LLVMAddGlobal(module, type, "");
	LLVMSetInitializer(made, LLVMConstNull(type));
	LLVMSetLinkage(made, LLVMInternalLinkage);
	LLVMSetThreadLocal(made, own);
	LLVMSetAlignment(made, aligned);
	if (old) {
		LLVMReplaceAllUsesWith(old, made);
		LLVMDeleteGlobal(old);
	}
	LLVMSetValueName2(made, name, strlen(name));
	return made;
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

void tsr_seat_needs(tsr_seat *team, uint64_t shared, uint64_t own)
{
	for (int u = 0; u < TSR_UNITS; u++)
		if (team->unit == TSR_BY_BOTH || team->unit == (tsr_multiplier)u)
			team->room[u] = (tsr_room){larger(team->room[u].shared, shared), larger(team->room[u].own, own)};
}

bool tsr_emit_row_later(const tsr_buffer *b)
{
	return b->home == TSR_HOME_THREAD && tsr_buffer_bytes(b) < 0;
}

LLVMValueRef tsr_emit_row_bytes(tsr_emit *e, const tsr_buffer *b)
{
	LLVMValueRef bytes = tsr_emit_i64(e, tsr_prec_bytes(b->prec));
	for (uint32_t axis = 0; axis < b->rank; axis++)
		bytes = LLVMBuildNSWMul(e->builder, bytes, tsr_emit_size(e, b->dims[axis]), "");
	return bytes;
}

/* Whole pages and a quarter, so that four of them are apart in pages (overlap.c says why). */
LLVMValueRef tsr_emit_row_distance(tsr_emit *e, const tsr_buffer *b)
{
	LLVMValueRef more = LLVMBuildNSWAdd(e->builder, tsr_emit_row_bytes(e, b), tsr_emit_i64(e, TSR_REDZONE + TSR_PAGE - 1), "");
	return LLVMBuildNSWAdd(e->builder, LLVMBuildAnd(e->builder, more, tsr_emit_i64(e, -TSR_PAGE), ""), tsr_emit_i64(e, TSR_PAGE / 4), "");
}

LLVMValueRef tsr_emit_by_matrix(tsr_emit *e)
{
	return LLVMBuildICmp(e->builder, LLVMIntNE, tsr_emit_call(e, "tsr_matrix_unit", e->i32, 0, NULL), LLVMConstNull(e->i32), "");
}

LLVMValueRef tsr_emit_work_area(tsr_emit *e, uint64_t bytes)
{
	tsr_seat *team = e->team;
	if (team) {
		tsr_seat_needs(team, 0, team->row_bytes + bytes);
		return tsr_emit_offset(e, TSR_PREC_U8, team->own, tsr_emit_i64(e, (int64_t)team->row_bytes));
	}
	return own_address(e, tsr_emit_zeros(e->module, TSR_PANELS, bytes, 4096, true));
}
