/* Parts of a kernel's work that threads take in turns, each the next one when it is ready.
 *
 * Parts are numbered in the order in which one thread alone would come to them; each thread's code passes through all of them and does those whose
 * number it has taken, so that nobody waits between one stretch of parts and the next. */
#include "turns.h"

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

tsr_taking tsr_taking_begin(tsr_emit *e, const tsr_queue *q, LLVMValueRef limit)
{
	tsr_taking t = {.head = tsr_emit_block(e, "turns"), .exit = tsr_emit_block(e, "turns.end")};
	LLVMBasicBlockRef body = tsr_emit_block(e, "turn");
	LLVMBuildBr(e->builder, t.head);
	LLVMPositionBuilderAtEnd(e->builder, t.head);
	t.mine = load(e, q->mine);
	LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, t.mine, limit, ""), body, t.exit);
	LLVMPositionBuilderAtEnd(e->builder, body);
	t.part = LLVMBuildNSWSub(e->builder, t.mine, load(e, q->first), "");
	return t;
}

void tsr_taking_end(tsr_emit *e, const tsr_queue *q, const tsr_taking *t)
{
	take(e, q);
	LLVMBuildBr(e->builder, t->head);
	LLVMPositionBuilderAtEnd(e->builder, t->exit);
}

/* ---- loops ------------------------------------------------------------------------------------------------------------------------ */

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
