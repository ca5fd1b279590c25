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

LLVMValueRef tsr_emit_work_area(tsr_emit *e, uint64_t bytes)
{
	tsr_seat *team = e->team;
	if (team) {
		if (team->row_bytes + bytes > team->own_bytes)
			team->own_bytes = team->row_bytes + bytes;
		return tsr_emit_offset(e, TSR_PREC_U8, team->own, tsr_emit_i64(e, (int64_t)team->row_bytes));
	}
	return own_address(e, tsr_emit_zeros(e->module, TSR_PANELS, bytes, 4096, true));
}
