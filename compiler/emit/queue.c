/* Queues of numbered parts of a kernel's work, which threads take in turns, each the next one when it is ready.
 *
 * Parts are numbered in the order in which one thread alone would come to them; each thread's code passes through all of them and does those whose
 * number it has taken, so that nobody waits between one stretch of parts and the next. */
#include "queue.h"

static LLVMValueRef load(tsr_emit *e, LLVMValueRef variable) { return LLVMBuildLoad2(e->builder, e->i64, variable, ""); }

void tsr_queue_open(tsr_emit *e, tsr_queue *q)
{
	q->number = tsr_emit_i64(e, e->team->queues++);
	q->mine = tsr_emit_alloca(e, e->i64, "mine");
	q->first = tsr_emit_alloca(e, e->i64, "first");
}

static void take(tsr_emit *e, const tsr_queue *q)
{
	LLVMValueRef args[5] = {e->ctx, q->number, q->lane, e->team->thread, e->team->threads};
	LLVMBuildStore(e->builder, tsr_emit_call(e, "tsr_take", e->i64, 5, args), q->mine);
}

void tsr_queue_enter(tsr_emit *e, tsr_queue *q, LLVMValueRef lane)
{
	q->lane = lane;
	LLVMBuildStore(e->builder, tsr_emit_i64(e, 0), q->first);
	take(e, q);
}

LLVMValueRef tsr_queue_limit(tsr_emit *e, const tsr_queue *q, LLVMValueRef count) { return LLVMBuildNSWAdd(e->builder, load(e, q->first), count, ""); }

LLVMValueRef tsr_queue_any(tsr_emit *e, const tsr_queue *q, LLVMValueRef limit)
{
	return LLVMBuildICmp(e->builder, LLVMIntSLT, load(e, q->mine), limit, "");
}

void tsr_queue_pass(tsr_emit *e, const tsr_queue *q, LLVMValueRef limit) { LLVMBuildStore(e->builder, limit, q->first); }

static tsr_taking head(tsr_emit *e, const tsr_queue *q)
{
	tsr_taking t = {.head = tsr_emit_block(e, "turns"), .exit = tsr_emit_block(e, "turns.end")};
	LLVMBuildBr(e->builder, t.head);
	LLVMPositionBuilderAtEnd(e->builder, t.head);
	t.mine = load(e, q->mine);
	return t;
}

static void enter(tsr_emit *e, const tsr_taking *t, LLVMValueRef limit)
{
	LLVMBasicBlockRef body = tsr_emit_block(e, "turn");
	LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, t->mine, limit, ""), body, t->exit);
	LLVMPositionBuilderAtEnd(e->builder, body);
}

static void again(tsr_emit *e, const tsr_taking *t)
{
	LLVMBuildBr(e->builder, t->head);
	LLVMPositionBuilderAtEnd(e->builder, t->exit);
}

tsr_taking tsr_taking_begin(tsr_emit *e, const tsr_queue *q, LLVMValueRef limit)
{
	tsr_taking t = head(e, q);
	enter(e, &t, limit);
	t.part = LLVMBuildNSWSub(e->builder, t.mine, load(e, q->first), "");
	return t;
}

void tsr_taking_end(tsr_emit *e, const tsr_queue *q, const tsr_taking *t)
{
	take(e, q);
	again(e, t);
}

/* Before the limit is looked at, so that a thread which has none left says that it has done all of its own. */
tsr_taking tsr_taking_ahead_begin(tsr_emit *e, const tsr_queue *q, LLVMValueRef limit)
{
	tsr_taking t = head(e, q);
	t.part = t.mine;
	LLVMValueRef args[6] = {e->ctx, q->number, q->lane, e->team->thread, e->team->threads, t.mine};
	t.next = tsr_emit_call(e, "tsr_take_ahead", e->i64, 6, args);
	LLVMBuildStore(e->builder, t.next, q->mine);
	enter(e, &t, limit);
	return t;
}

void tsr_taking_ahead_end(tsr_emit *e, const tsr_taking *t) { again(e, t); }
