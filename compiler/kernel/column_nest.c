/* Loops over rows around loops over columns: which nests they are, and the walk through all but the innermost loop. */
#include "column_nest.h"
#include "team.h"
#include "../opt/opt.h"

bool tsr_column_nest_of(tsr_column_nest *x, const tsr_stmt *s)
{
	for (;; s = s->loop.body.at[0]) {
		bool row = s->loop.how == TSR_FOR_REDUCE, column = s->loop.how == TSR_FOR_PARALLEL;
		if (x->n == TSR_COLUMN_LOOPS || s->loop.contraction || s->loop.stream || s->loop.ahead || !(row || column) || (row && x->n > x->rows)
			|| (row && s->loop.split))
			return false;
		x->rows += row;
		x->loop[x->n++] = s;
		x->body = &s->loop.body;
		if (x->body->n != 1 || x->body->at[0]->kind != TSR_STMT_FOR)
			return x->rows && x->rows < x->n;
	}
}

bool tsr_column_nest_sums(tsr_emit *e, const tsr_column_nest *x, const tsr_stmt *s)
{
	if (s->kind != TSR_STMT_UPDATE || !tsr_emit_side_by_side(e, tsr_innermost_columns(x), s))
		return false;
	const tsr_buffer *b = e->loops->buffers.at[s->store.buffer];
	for (uint32_t axis = 0; axis < b->rank; axis++)
		for (uint32_t i = 0; i < x->rows; i++)
			if (tsr_lin_mentions(&s->store.index[axis], x->loop[i]->loop.sym))
				return false;
	for (uint32_t i = 0; i < x->body->n; i++) {
		const tsr_stmt *o = x->body->at[i];
		if (tsr_expr_reads(o->store.value, b->id) || (o != s && o->store.buffer == b->id))
			return false;
	}
	return true;
}

void tsr_column_nest_walk(tsr_emit *e, const tsr_column_nest *x, void (*columns)(void *user, LLVMValueRef from, LLVMValueRef to), void *user)
{
	tsr_emit_loop around[TSR_COLUMN_LOOPS];
	bool reorder = e->reorder;
	e->reorder = false;
	for (uint32_t i = x->rows; i < x->n; i++) {
		const tsr_stmt *s = x->loop[i];
		bool joined = i + 1 == x->n && x->joined;
		int64_t lanes = joined ? e->target->vector_bytes / 4 : 1;
		LLVMValueRef from = tsr_emit_i64(e, 0), to = joined ? tsr_emit_i64(e, x->joined / lanes) : tsr_emit_size(e, s->loop.extent);
		if (i + 2 == x->n && x->joined) {
			e->syms[s->loop.sym] = from;
			continue;
		}
		if ((joined ? x->loop[i - 1] : s)->loop.split && e->team) {
			from = tsr_team_bound(e, to, false);
			to = tsr_team_bound(e, to, true);
		}
		if (joined)
			from = LLVMBuildNSWMul(e->builder, from, tsr_emit_i64(e, lanes), ""), to = LLVMBuildNSWMul(e->builder, to, tsr_emit_i64(e, lanes), "");
		if (i + 1 == x->n) {
			columns(user, from, to);
			break;
		}
		around[i] = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
		e->syms[s->loop.sym] = around[i].index;
	}
	for (uint32_t i = x->n - (x->joined ? 2 : 1); i-- > x->rows;)
		tsr_emit_loop_end(e, &around[i]);
	for (uint32_t i = 0; i < x->n; i++)
		e->syms[x->loop[i]->loop.sym] = NULL;
	e->reorder = reorder;
}
