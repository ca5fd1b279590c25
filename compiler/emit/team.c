/* What threads that compute a kernel together know of each other. */
#include "emit.h"

LLVMValueRef tsr_team_bound(tsr_emit *e, LLVMValueRef count, bool end)
{
	LLVMValueRef thread = e->team->thread;
	if (end)
		thread = LLVMBuildNSWAdd(e->builder, thread, tsr_emit_i64(e, 1), "");
	return LLVMBuildUDiv(e->builder, LLVMBuildNSWMul(e->builder, count, thread, ""), e->team->threads, "");
}

void tsr_team_wait(tsr_emit *e)
{
	LLVMValueRef args[2] = {e->ctx, e->team->threads};
	tsr_emit_call(e, "tsr_wait", e->none, 2, args);
}

LLVMValueRef tsr_team_agree(tsr_emit *e, LLVMValueRef says)
{
	LLVMValueRef args[5] = {e->ctx, e->team->threads, e->team->thread, tsr_emit_i64(e, e->team->agreed++), says};
	return tsr_emit_call(e, "tsr_agree", e->i64, 5, args);
}
