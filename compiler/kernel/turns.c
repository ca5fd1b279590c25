/* Loops whose iterations threads take in turns: see emit/queue.c. */
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

static void loop(tsr_emit *e, const tsr_queue *q, const tsr_stmt *s)
{
	LLVMValueRef count = tsr_emit_size(e, s->loop.extent);
	if (s->loop.turns == TSR_TURNS_TAKEN) {
		LLVMValueRef limit = tsr_queue_limit(e, q, count);
		taken(e, q, s, limit);
		tsr_queue_pass(e, q, limit);
		return;
	}
	tsr_emit_loop l = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), count, tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
	LLVMValueRef outer = e->syms[s->loop.sym];
	bool reorder = e->reorder;
	e->syms[s->loop.sym] = l.index;
	e->reorder = reorder && s->loop.how != TSR_FOR_SERIAL;
	walked(e, q, &s->loop.body);
	e->syms[s->loop.sym] = outer;
	e->reorder = reorder;
	tsr_emit_loop_end(e, &l);
}

void tsr_emit_turns(tsr_emit *e, const tsr_stmt *s)
{
	tsr_queue q;
	tsr_queue_open(e, &q);
	tsr_queue_enter(e, &q, tsr_emit_i64(e, 0));
	loop(e, &q, s);
}
