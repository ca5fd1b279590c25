/* A thread's work area: memory for what it keeps near between reading and writing, panels of an operand, or a block that is being turned. */
#include "emit.h"
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

LLVMValueRef tsr_emit_work_area(tsr_emit *e, uint64_t bytes)
{
	tsr_seat *team = e->team;
	if (team) {
		if (team->row_bytes + bytes > team->own_bytes)
			team->own_bytes = team->row_bytes + bytes;
		return tsr_emit_offset(e, TSR_PREC_U8, team->own, tsr_emit_i64(e, (int64_t)team->row_bytes));
	}
	LLVMTypeRef type = LLVMArrayType2(e->i8, bytes);
	LLVMValueRef old = LLVMGetNamedGlobal(e->module, TSR_PANELS);
	if (old && LLVMGetArrayLength2(LLVMGlobalGetValueType(old)) >= bytes)
		return own_address(e, old);
	LLVMValueRef area = LLVMAddGlobal(e->module, type, TSR_PANELS ".");
	LLVMSetInitializer(area, LLVMConstNull(type));
	LLVMSetLinkage(area, LLVMInternalLinkage);
	LLVMSetThreadLocal(area, true);
	LLVMSetAlignment(area, 4096);
	if (old) {
		LLVMReplaceAllUsesWith(old, area);
		LLVMDeleteGlobal(old);
	}
	LLVMSetValueName2(area, TSR_PANELS, strlen(TSR_PANELS));
	return own_address(e, area);
}
