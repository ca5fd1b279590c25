/* Kernels that threads compute together.  Such a kernel is a function that every thread of the team runs; it takes, after what it
 * touches, the thread's number, how many there are, memory that all share and memory of the thread's own.  The runtime is
 * given a second function that reads the arguments from a record and calls the first, whose pointers are noalias only as
 * parameters. */
#include "team.h"
#include <string.h>

#define EACH_THREAD 50e3             /* nanoseconds of work */
#define MOST_THREADS 1024.0

/* ---- inside -------------------------------------------------------------------------------------------------------------- */

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

void tsr_team_stmts(tsr_emit *e, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmts one = {&body->at[i], 1, 1};
		if (i > 0)
			tsr_team_wait(e);
		tsr_emit_stmts(e, &one);
	}
}

/* ---- the call ------------------------------------------------------------------------------------------------------------ */

/* Threads that the work is worth, at least one. */
static LLVMValueRef worth(tsr_emit *e, const tsr_team *team)
{
	LLVMValueRef sum = LLVMConstReal(e->f64, 0), most = LLVMConstReal(e->f64, MOST_THREADS), one = LLVMConstReal(e->f64, 1);
	for (uint32_t i = 0; i < team->work.n; i++) {
		LLVMValueRef each = LLVMConstReal(e->f64, team->work.at[i].each / EACH_THREAD);
		for (uint32_t k = 0; k < team->work.at[i].n; k++)
			each = LLVMBuildFMul(e->builder, each, LLVMBuildSIToFP(e->builder, tsr_emit_size(e, team->work.at[i].extents[k]), e->f64, ""), "");
		sum = LLVMBuildFAdd(e->builder, sum, each, "");
	}
	sum = LLVMBuildSelect(e->builder, LLVMBuildFCmp(e->builder, LLVMRealOLT, sum, most, ""), sum, most, "");
	sum = LLVMBuildSelect(e->builder, LLVMBuildFCmp(e->builder, LLVMRealOGT, sum, one, ""), sum, one, "");
	return LLVMBuildFPToSI(e->builder, sum, e->i64, "");
}

static LLVMValueRef field(tsr_emit *e, LLVMTypeRef record, LLVMValueRef at, unsigned i)
{
	return LLVMBuildStructGEP2(e->builder, record, at, i, "");
}

LLVMValueRef tsr_team_entry(tsr_emit *e, LLVMValueRef kernel, unsigned nargs, LLVMTypeRef record)
{
	LLVMTypeRef types[5] = {e->ptr, e->i64, e->i64, e->ptr, e->ptr};
	LLVMBasicBlockRef back = LLVMGetInsertBlock(e->builder);
	const char *name = tsr_format(e->tc->arena, "%s.thread", LLVMGetValueName(kernel));
	LLVMValueRef f = LLVMAddFunction(e->module, name, LLVMFunctionType(e->none, types, 5, false));
	LLVMValueRef *args = TSR_NEW_N(e->tc->arena, LLVMValueRef, nargs + 4);
	LLVMSetLinkage(f, LLVMInternalLinkage);
	tsr_emit_function_attributes(e, f);
	LLVMPositionBuilderAtEnd(e->builder, LLVMAppendBasicBlockInContext(e->context, f, "entry"));
	LLVMSetCurrentDebugLocation2(e->builder, NULL);
	for (unsigned i = 0; i < nargs; i++)
		args[i] = LLVMBuildLoad2(e->builder, LLVMStructGetTypeAtIndex(record, i), field(e, record, LLVMGetParam(f, 0), i), "");
	for (unsigned i = 0; i < 4; i++)
		args[nargs + i] = LLVMGetParam(f, i + 1);
	LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(kernel), kernel, args, nargs + 4, "");
	LLVMBuildRetVoid(e->builder);
	LLVMPositionBuilderAtEnd(e->builder, back);
	return f;
}

void tsr_team_call(tsr_emit *e, const tsr_team *team, const tsr_team_kernel *k, LLVMTypeRef record, unsigned nargs, LLVMValueRef *values)
{
	LLVMValueRef data = tsr_emit_alloca(e, record, "arguments");
	for (unsigned i = 0; i < nargs; i++)
		LLVMBuildStore(e->builder, values[i], field(e, record, data, i));
	LLVMValueRef args[6] = {e->ctx, k->entry, data, worth(e, team), tsr_emit_i64(e, (int64_t)k->shared_bytes),
		tsr_emit_i64(e, (int64_t)k->own_bytes)};
	tsr_emit_call(e, "tsr_parallel", e->none, 6, args);
}
