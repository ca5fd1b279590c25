/* Loops whose iterations threads take in turns: see emit/queue.c.
 *
 * Where threads walk a loop around those, each begins with iterations of its own, as many as anybody's, and helps the others when it has done with them: what
 * an iteration does before its parts, as turning a head's keys is, each thread would else do for all of them. */
#include "nests.h"
#include "../emit/queue.h"

static void iteration(tsr_emit *e, const tsr_stmt *s, LLVMValueRef index, const tsr_stmts *body)
{
	LLVMValueRef outer = e->syms[s->loop.sym];
	bool reorder = e->reorder;
	e->syms[s->loop.sym] = index;
	e->reorder = reorder && s->loop.how != TSR_FOR_SERIAL;
	tsr_emit_stmts(e, body);
	e->syms[s->loop.sym] = outer;
	e->reorder = reorder;
}

static void taken(tsr_emit *e, const tsr_queue *q, const tsr_stmt *s, LLVMValueRef limit)
{
	tsr_taking t = tsr_taking_begin(e, q, limit);
	iteration(e, s, t.part, &s->loop.body);
	tsr_taking_end(e, q, &t);
}

static void loop(tsr_emit *e, const tsr_queue *q, const tsr_stmt *s);

/* One iteration of a loop that all threads walk: what is before the loop inside, each thread does for itself, if it has any part of that. */
static void walked(tsr_emit *e, const tsr_queue *q, const tsr_stmts *body)
{
	const tsr_stmt *last = body->at[body->n - 1];
	if (last->loop.turns == TSR_TURNS_WALKED) {
		loop(e, q, last);
		return;
	}
	tsr_stmts before = {body->at, body->n - 1, body->n - 1};
	LLVMValueRef limit = tsr_queue_limit(e, q, tsr_emit_size(e, last->loop.extent));
	LLVMBasicBlockRef some = tsr_emit_block(e, "some"), after = tsr_emit_block(e, "after");
	LLVMBuildCondBr(e->builder, tsr_queue_any(e, q, limit), some, after);
	LLVMPositionBuilderAtEnd(e->builder, some);
	tsr_emit_stmts(e, &before);
	taken(e, q, last, limit);
	LLVMBuildBr(e->builder, after);
	LLVMPositionBuilderAtEnd(e->builder, after);
	tsr_queue_pass(e, q, limit);
}

static void walk(tsr_emit *e, const tsr_queue *q, const tsr_stmt *s, LLVMValueRef from, LLVMValueRef to)
{
	tsr_emit_loop l = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
	LLVMValueRef outer = e->syms[s->loop.sym];
	bool reorder = e->reorder;
	e->syms[s->loop.sym] = l.index;
	e->reorder = reorder && s->loop.how != TSR_FOR_SERIAL;
	walked(e, q, &s->loop.body);
	e->syms[s->loop.sym] = outer;
	e->reorder = reorder;
	tsr_emit_loop_end(e, &l);
}

static void loop(tsr_emit *e, const tsr_queue *q, const tsr_stmt *s)
{
	LLVMValueRef count = tsr_emit_size(e, s->loop.extent);
	if (s->loop.turns != TSR_TURNS_TAKEN) {
		walk(e, q, s, tsr_emit_i64(e, 0), count);
		return;
	}
	LLVMValueRef limit = tsr_queue_limit(e, q, count);
	taken(e, q, s, limit);
	tsr_queue_pass(e, q, limit);
}

/* Where a thread's own iterations begin. */
static LLVMValueRef own_from(tsr_emit *e, LLVMValueRef count, LLVMValueRef thread)
{
	return LLVMBuildUDiv(e->builder, LLVMBuildNSWMul(e->builder, count, thread, ""), e->team->threads, "");
}

/* A lane for each thread, from its own on. */
static void by_lanes(tsr_emit *e, tsr_queue *q, const tsr_stmt *s)
{
	LLVMValueRef one = tsr_emit_i64(e, 1), count = tsr_emit_size(e, s->loop.extent);
	tsr_emit_loop l = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), e->team->threads, one, TSR_FOR_SERIAL);
	LLVMValueRef lane = LLVMBuildURem(e->builder, LLVMBuildNSWAdd(e->builder, e->team->thread, l.index, ""), e->team->threads, "");
	tsr_queue_enter(e, q, lane);
	walk(e, q, s, own_from(e, count, lane), own_from(e, count, LLVMBuildNSWAdd(e->builder, lane, one, "")));
	tsr_emit_loop_end(e, &l);
}

void tsr_emit_turns(tsr_emit *e, const tsr_stmt *s)
{
	tsr_queue q;
	tsr_queue_open(e, &q);
	if (s->loop.turns == TSR_TURNS_WALKED) {
		by_lanes(e, &q, s);
		return;
	}
	tsr_queue_enter(e, &q, tsr_emit_i64(e, 0));
	loop(e, &q, s);
}
