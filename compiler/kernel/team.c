/* Kernels that threads compute together.  Such a kernel is a function that every thread of the team runs; it takes, after what it
 * touches, the thread's number, how many there are, memory that all share and memory of the thread's own.  The runtime is
 * given a second function that reads the arguments from a record and calls the first, whose pointers are noalias only as
 * parameters: so the second one also says where in the thread's memory each of its own buffers lies. */
#include "team.h"
#include <string.h>

#define EACH_THREAD 25e3             /* nanoseconds of work */
#define MOST_THREADS 1024.0

enum { LINE = 64 };

/* ---- inside -------------------------------------------------------------------------------------------------------------- */

static bool reads_memory(tsr_expr *x)
{
	tsr_expr *parts[TSR_MOST_PARTS];
	bool any = x->kind == TSR_EXPR_LOAD;
	for (uint32_t i = tsr_expr_parts(x, parts); i-- > 0;)
		any |= reads_memory(parts[i]);
	return any;
}

/* A thread's own affair. */
static bool is_private(const tsr_stmt *s)
{
	return ((s->kind == TSR_STMT_LET || s->kind == TSR_STMT_SET) && !reads_memory(s->let.value)) || (s->kind == TSR_STMT_LETSYM && !reads_memory(s->letsym.value));
}

/* What all know one of them stores. */
static void by_the_first(tsr_emit *e, const tsr_stmts *store)
{
	tsr_emit_fork f = tsr_emit_fork_begin(e, LLVMBuildICmp(e->builder, LLVMIntEQ, e->team->thread, tsr_emit_i64(e, 0), ""), "first");
	tsr_emit_stmts(e, store);
	tsr_emit_fork_other(e, &f);
	tsr_emit_fork_end(e, &f);
}

void tsr_team_stmts(tsr_emit *e, const tsr_stmts *body)
{
	bool waits = false;
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmts one = {&body->at[i], 1, 1};
		uint32_t agreed = e->team->agreed;
		if (tsr_emit_left_out(body, i))
			continue;
		if (is_private(body->at[i])) {
			tsr_emit_stmts(e, &one);
			continue;
		}
		if (waits)
			tsr_team_wait(e);
		if (body->at[i]->kind == TSR_STMT_STORE)
			by_the_first(e, &one);
		else
			tsr_emit_stmts(e, &one);
		waits = e->team->agreed == agreed;       /* which all of them have come to, last */
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

static bool is_told(const tsr_arguments *x, unsigned i) { return x->values[i] || x->later[i]; }

/* What all threads are told: the arguments but those that each thread has for itself, and where in its memory these lie if that is not known here. */
static LLVMTypeRef record_of(tsr_emit *e, const tsr_arguments *x)
{
	LLVMTypeRef *types = TSR_NEW_N(e->tc->arena, LLVMTypeRef, x->n + 1);
	unsigned n = 0;
	for (unsigned i = 0; i < x->n; i++)
		if (is_told(x, i))
			types[n++] = x->values[i] ? x->types[i] : e->i64;
	return LLVMStructTypeInContext(e->context, types, n, false);
}

static LLVMValueRef field(tsr_emit *e, LLVMTypeRef record, LLVMValueRef at, unsigned i)
{
	return LLVMBuildStructGEP2(e->builder, record, at, i, "");
}

LLVMValueRef tsr_team_entry(tsr_emit *e, LLVMValueRef kernel, const tsr_arguments *x)
{
	LLVMTypeRef types[5] = {e->ptr, e->i64, e->i64, e->ptr, e->ptr}, record = record_of(e, x);
	LLVMBasicBlockRef back = LLVMGetInsertBlock(e->builder);
	const char *name = tsr_format(e->tc->arena, "%s.thread", LLVMGetValueName(kernel));
	LLVMValueRef f = LLVMAddFunction(e->module, name, LLVMFunctionType(e->none, types, 5, false));
	LLVMValueRef *args = TSR_NEW_N(e->tc->arena, LLVMValueRef, x->n + 4);
	LLVMSetLinkage(f, LLVMInternalLinkage);
	tsr_emit_function_attributes(e, f);
	LLVMPositionBuilderAtEnd(e->builder, LLVMAppendBasicBlockInContext(e->context, f, "entry"));
	LLVMSetCurrentDebugLocation2(e->builder, NULL);
	for (unsigned i = 0, n = 0; i < x->n; i++) {
		LLVMValueRef told = is_told(x, i) ? LLVMBuildLoad2(e->builder, x->values[i] ? x->types[i] : e->i64, field(e, record, LLVMGetParam(f, 0), n++), "") : tsr_emit_i64(e, x->own[i]);
		args[i] = x->values[i] ? told : tsr_emit_offset(e, TSR_PREC_U8, LLVMGetParam(f, 4), told);
	}
	for (unsigned i = 0; i < 4; i++)
		args[x->n + i] = LLVMGetParam(f, i + 1);
	LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(kernel), kernel, args, x->n + 4, "");
	LLVMBuildRetVoid(e->builder);
	LLVMPositionBuilderAtEnd(e->builder, back);
	return f;
}

/* As much as the unit needs that this run computes with. */
static LLVMValueRef bytes(tsr_emit *e, uint64_t vectors, uint64_t matrix)
{
	LLVMValueRef by_vectors = tsr_emit_i64(e, (int64_t)vectors);
	if (vectors == matrix)
		return by_vectors;
	return LLVMBuildSelect(e->builder, tsr_emit_by_matrix(e), tsr_emit_i64(e, (int64_t)matrix), by_vectors, "");
}

/* Of rows that the caches hold; of longer ones only one is under way (opt/overlap.c). */
static LLVMValueRef bytes_of_copies(tsr_emit *e, const tsr_buffer *b, uint32_t copies)
{
	LLVMValueRef one = tsr_emit_row_distance(e, b), all = LLVMBuildNSWMul(e->builder, one, tsr_emit_i64(e, copies), "");
	return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLE, tsr_emit_row_bytes(e, b), tsr_emit_i64(e, e->target->l2), ""), all, one, "");
}

void tsr_team_call(tsr_emit *e, const tsr_team *team, const tsr_team_kernel *k, const tsr_arguments *x)
{
	LLVMTypeRef record = record_of(e, x);
	LLVMValueRef data = tsr_emit_alloca(e, record, "arguments");
	const tsr_room *vectors = &k->room[TSR_BY_VECTORS], *matrix = &k->room[TSR_BY_MATRIX];
	LLVMValueRef own = bytes(e, vectors->own, matrix->own);
	if (team->nlater)
		own = LLVMBuildAnd(e->builder, LLVMBuildNSWAdd(e->builder, own, tsr_emit_i64(e, LINE - 1), ""), tsr_emit_i64(e, -LINE), "");
	for (unsigned i = 0, told = 0; i < x->n; i++) {
		if (!is_told(x, i))
			continue;
		LLVMBuildStore(e->builder, x->values[i] ? x->values[i] : own, field(e, record, data, told++));
		if (x->later[i])
			own = LLVMBuildNSWAdd(e->builder, own, bytes_of_copies(e, x->later[i], k->copies[x->later[i]->offset]), "");
	}
	LLVMValueRef args[7] = {e->ctx, k->entry, data, worth(e, team), bytes(e, vectors->shared, matrix->shared), own, tsr_emit_i64(e, k->queues)};
	tsr_emit_call(e, "tsr_parallel", e->none, 7, args);
}
