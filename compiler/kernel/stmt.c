/* Statements of the loop IR, each by the emitter that knows its shape. */
#include "nests.h"
#include "../engine/engine.h"
#include <string.h>

LLVMValueRef *tsr_emit_names_copy(tsr_emit *e, LLVMValueRef *from, size_t n)
{
	LLVMValueRef *to = TSR_NEW_N(e->tc->arena, LLVMValueRef, n + 1);
	memcpy(to, from, n * sizeof *from);
	return to;
}

tsr_emit_view tsr_emit_view_copy(tsr_emit *e)
{
	return (tsr_emit_view){tsr_emit_names_copy(e, e->syms, e->nsyms), tsr_emit_names_copy(e, e->locals, e->nlocals), e->buffers};
}

/* ---- loops ------------------------------------------------------------------------------------------------------------- */

static void emit_for(tsr_emit *e, const tsr_stmt *s);

/* Loops of which the innermost one stands for all. */
static bool emit_flat(tsr_emit *e, const tsr_stmt *s)
{
	LLVMValueRef together = e->symbols[e->loops->symbols.n];      /* of what this is in */
	const tsr_stmt *flat = e->wide ? NULL : tsr_emit_flat(e, s);
	if (!flat)
		return false;
	emit_for(e, flat);
	e->symbols[e->loops->symbols.n] = together;
	return true;
}

static bool emit_flat_window(tsr_emit *e, const tsr_stmt *s)
{
	const tsr_stmt *flat = tsr_emit_flat_window(e, s);
	if (flat)
		emit_for(e, flat);
	return flat;
}

static bool emit_turned_joined(tsr_emit *e, const tsr_stmt *s)
{
	const tsr_stmt *joined = e->wide ? NULL : tsr_emit_turned_joined(e, s);
	if (joined)
		emit_for(e, joined);
	return joined;
}

/* It, or a loop in it, leaves iterations out: what computes many iterations at once counts on all of them. */
static bool cut_short(const tsr_stmt *s)
{
	const tsr_stmts *body = tsr_stmt_inside(s);
	bool found = s->kind == TSR_STMT_FOR && (s->loop.from || s->loop.until);
	for (uint32_t i = 0; body && i < body->n && !found; i++)
		found = cut_short(body->at[i]);
	return found;
}

static void emit_for(tsr_emit *e, const tsr_stmt *s)
{
	if (s->loop.seldom && !e->seldom) {
		e->seldom = true;
		emit_for(e, s);
		e->seldom = false;
		return;
	}
	if (s->loop.turns && e->team) {
		tsr_emit_turns(e, s);
		return;
	}
	if (s->loop.contraction && (tsr_emit_one_row(e, s) || tsr_emit_contraction(e, s)))
		return;
	bool whole = !cut_short(s);
	if (tsr_emit_sum_parts(e, s) || (whole && (emit_flat_window(e, s) || tsr_emit_window_sums(e, s) || tsr_emit_short_rows(e, s) || tsr_emit_columns(e, s) || emit_flat(e, s) || tsr_emit_group_rows(e, s) || tsr_emit_short_sums(e, s) || emit_turned_joined(e, s)
		|| tsr_emit_scan(e, s))))
		return;
	if (tsr_size_is_const(s->loop.extent) && s->loop.extent.k <= 0)
		return;
	bool groups = whole && tsr_emit_around_groups(e, s);
	if (whole && !groups && tsr_emit_outer_short(e, s))
		return;
	LLVMValueRef from = tsr_emit_first(e, s), to = tsr_emit_end(e, s);
	if (s->loop.split && e->team) {
		from = tsr_team_bound(e, to, false);
		to = tsr_team_bound(e, to, true);
	}
	if (whole && !groups && !e->wide && (tsr_emit_turned(e, s, from, to) || tsr_emit_plane(e, s, from, to) || tsr_emit_lane_tiles(e, s, from, to) || tsr_emit_outer_rows(e, s, from, to) || tsr_emit_outer(e, s, from, to)))
		return;
	if (!e->wide && (tsr_emit_records(e, s, from, to) || tsr_emit_wide(e, s, from, to)))
		return;
	if (tsr_emit_streams(e, s) && !e->wide) {
		tsr_emit_stream(e, s, from, to);
		return;
	}
	if (s->loop.overlap && !e->wide && tsr_emit_overlap(e, s, from, to))
		return;
	tsr_emit_loop loop = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, 1), s->loop.how);
	LLVMValueRef outer = e->syms[s->loop.sym];
	bool reorder = e->reorder;
	e->syms[s->loop.sym] = loop.index;
	/* sums side by side along a loop that threads may divide: default<O3> adds up a few known columns across rows, which a share's bounds hide from it */
	bool beside = s->loop.how == TSR_FOR_PARALLEL && e->options->level > 2;
	e->reorder = s->loop.how == TSR_FOR_REDUCE || (reorder && s->loop.how != TSR_FOR_SERIAL && !beside);
	tsr_emit_stmts(e, &s->loop.body);
	e->syms[s->loop.sym] = outer;
	e->reorder = reorder;
	tsr_emit_loop_end(e, &loop);
}

/* ---- the others --------------------------------------------------------------------------------------------------------- */

static LLVMValueRef place_of(tsr_emit *e, const tsr_stmt *s)
{
	const tsr_stream *to = e->stream && e->stream->store == s ? e->stream : NULL;
	if (!to)
		return tsr_emit_address(e, s->store.buffer, s->store.index);
	if (!to->first)
		return to->address;
	return tsr_emit_offset(e, e->loops->buffers.at[s->store.buffer]->prec, to->address, LLVMBuildNSWSub(e->builder, e->syms[to->sym], to->first, ""));
}

static void emit_store(tsr_emit *e, const tsr_stmt *s)
{
	tsr_prec p = e->loops->buffers.at[s->store.buffer]->prec;
	LLVMValueRef value = tsr_emit_convert(e, tsr_emit_expr(e, s->store.value), s->store.value->prec, p);
	LLVMValueRef address = place_of(e, s);
	if (s->kind == TSR_STMT_UPDATE) {
		LLVMValueRef args[2] = {e->wide ? tsr_emit_wide_load(e, p, address) : tsr_emit_load(e, p, address), value};
		tsr_emit_alike(e, 2, args);
		value = tsr_emit_acc(e, s->store.acc, p, args[0], args[1]);
	}
	if (e->wide)
		tsr_emit_wide_store(e, s, p, value, address);
	else
		tsr_emit_store(e, p, value, address);
}

/* In loops whose order is written out, a product is fused with the sum, or an exponential that is one at its end, and nothing else is: left to LLVM, it would depend on what else
 * LLVM makes of the loop.  NULL for other operations. */
static LLVMValueRef summed(tsr_emit *e, tsr_acc acc, const tsr_expr *v)
{
	const tsr_expr *x = v->op.args[1];
	if (!e->written || acc != TSR_ACC_ADD || v->prec != TSR_PREC_F32 || x->prec != TSR_PREC_F32)
		return NULL;
	bool product = e->target->fma && x->kind == TSR_EXPR_OP && x->op.op == TSR_OP_MUL && x->op.operand_prec == TSR_PREC_F32;
	bool power = tsr_emit_adds_exp(e, v) != NULL;
	LLVMValueRef sum = tsr_emit_expr(e, v->op.args[0]), args[3] = {sum, product || power ? NULL : tsr_emit_expr(e, x), NULL}, r;
	if (power)
		r = tsr_emit_expr(e, v);
	else if (product) {
		args[0] = tsr_emit_expr(e, x->op.args[0]), args[1] = tsr_emit_expr(e, x->op.args[1]), args[2] = sum;
		tsr_emit_alike(e, 3, args);
		r = tsr_emit_op(e, TSR_OP_FMA, TSR_PREC_F32, args);
	} else {
		tsr_emit_alike(e, 2, args);
		r = LLVMBuildFAdd(e->builder, args[0], args[1], "");
	}
	return e->wide && e->wide->mask && !e->wide->zeros ? LLVMBuildSelect(e->builder, e->wide->mask, r, sum, "") : r;
}

/* The operation of a SET that accumulates, `x = x + ..`, is allowed to be reordered like an UPDATE's. */
static LLVMValueRef accumulated(tsr_emit *e, const tsr_stmt *s)
{
	const tsr_expr *v = s->let.value;
	if (e->reorder && s->kind == TSR_STMT_SET && v->kind == TSR_EXPR_OP && v->op.args[0]->kind == TSR_EXPR_LOCAL &&
	    v->op.args[0]->local == s->let.local && v->op.operand_prec == v->prec && v->op.args[0]->prec == v->prec)
		for (int acc = TSR_ACC_ADD; acc < TSR_ACCS; acc++)
			if (tsr_acc_get((tsr_acc)acc)->op == v->op.op) {
				LLVMValueRef sum = summed(e, (tsr_acc)acc, v);
				if (sum)
					return sum;
				LLVMValueRef value = tsr_emit_convert(e, tsr_emit_expr(e, v->op.args[1]), v->op.args[1]->prec, v->prec);
				LLVMValueRef args[2] = {tsr_emit_expr(e, v->op.args[0]), value};
				tsr_emit_alike(e, 2, args);
				if (e->wide && e->wide->mask)
					args[1] = LLVMBuildSelect(e->builder, e->wide->mask, args[1], tsr_emit_neutral(e, (tsr_acc)acc, v->prec, args[1]), "");
				LLVMValueRef picked = e->wide ? tsr_emit_wide_pick(e, s->let.local, (tsr_acc)acc, args[0], args[1]) : NULL;
				return picked ? picked : tsr_emit_acc(e, (tsr_acc)acc, v->prec, args[0], args[1]);
			}
	return tsr_emit_expr(e, v);
}

/* A value of a loop in lanes: in lanes itself, and where it is set under a mask, what it was elsewhere. */
static LLVMValueRef held(tsr_emit *e, const tsr_stmt *s, LLVMValueRef value)
{
	LLVMTypeRef type = LLVMTypeOf(value);
	if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
		value = tsr_emit_splat(e, value, LLVMVectorType(type, e->wide->lanes));
	if (s->kind == TSR_STMT_LET || !e->wide->mask || e->wide->zeros)
		return value;
	LLVMValueRef before = LLVMBuildLoad2(e->builder, LLVMTypeOf(value), e->locals[s->let.local], "");
	return LLVMBuildSelect(e->builder, e->wide->mask, value, before, "");
}

static void emit_let(tsr_emit *e, const tsr_stmt *s)
{
	tsr_local_id id = s->let.local;
	LLVMValueRef value = accumulated(e, s);
	if (s->kind == TSR_STMT_LET)
		e->local_precs[id] = s->let.prec;
	value = tsr_emit_convert(e, value, s->let.value->prec, e->local_precs[id]);
	if (e->wide && e->wide->holds && e->wide->lanes > 1)
		value = held(e, s, value);
	if (s->kind == TSR_STMT_LET && (!e->locals[id] || LLVMGetAllocatedType(e->locals[id]) != LLVMTypeOf(value)))
		e->locals[id] = tsr_emit_alloca(e, LLVMTypeOf(value), "local");
	LLVMBuildStore(e->builder, value, e->locals[id]);
}

static void emit_if(tsr_emit *e, const tsr_stmt *s)
{
	if (tsr_emit_outer_guard(e, s))
		return;
	LLVMBasicBlockRef then = tsr_emit_block(e, "then"), after = tsr_emit_block(e, "after");
	LLVMBuildCondBr(e->builder, tsr_emit_in_ranges(e, s->cond.n, s->cond.ranges), then, after);
	LLVMPositionBuilderAtEnd(e->builder, then);
	tsr_emit_stmts(e, &s->cond.body);
	LLVMBuildBr(e->builder, after);
	LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(e->builder));
	LLVMPositionBuilderAtEnd(e->builder, after);
}

void tsr_emit_check(tsr_emit *e, const tsr_range *range, const char *what, tsr_span span)
{
	LLVMBasicBlockRef fail = tsr_emit_block(e, "fail"), pass = tsr_emit_block(e, "pass");
	LLVMBuildCondBr(e->builder, tsr_emit_in_ranges(e, 1, range), pass, fail);
	LLVMPositionBuilderAtEnd(e->builder, fail);
	LLVMValueRef args[5] = {e->ctx, tsr_emit_where(e, span), tsr_emit_text(e, what ? what : "the tensor"),
		tsr_emit_lin(e, &range->index), tsr_emit_size(e, range->size)};
	tsr_emit_call(e, "tsr_fail_index", e->none, 5, args);
	LLVMBuildUnreachable(e->builder);
	LLVMPositionBuilderAtEnd(e->builder, pass);
}

/* Words of the buffer's stream.  How many were drawn so far is kept in the table of numbers, behind the program's own. */
static void emit_random(tsr_emit *e, const tsr_stmt *s)
{
	const tsr_buffer *b = e->loops->buffers.at[s->random.buffer];
	LLVMValueRef seed = tsr_emit_call(e, "tsr_seed", e->i64, 1, &e->ctx), first = tsr_emit_i64(e, 0), counter = NULL;
	LLVMValueRef count = tsr_emit_i64(e, 1), key = tsr_emit_alloca(e, LLVMArrayType2(e->i32, 4), "key");
	for (uint32_t i = 0; i < b->rank; i++)
		count = LLVMBuildNSWMul(e->builder, count, tsr_emit_size(e, b->dims[i]), "");
	LLVMValueRef name[3] = {tsr_emit_text(e, s->random.key), seed, key};
	tsr_emit_call(e, "tsr_random_key", e->none, 3, name);
	if (s->random.per_run) {
		LLVMValueRef at = tsr_emit_i64(e, (int64_t)e->loops->numbers.n + s->random.buffer);
		counter = LLVMBuildInBoundsGEP2(e->builder, e->i64, e->number_table, &at, 1, "");
		first = LLVMBuildLoad2(e->builder, e->i64, counter, "");
	}
	LLVMValueRef args[4] = {e->buffers[s->random.buffer], count, key, first};
	tsr_emit_call(e, "tsr_random_words", e->none, 4, args);
	if (counter)
		LLVMBuildStore(e->builder, LLVMBuildAdd(e->builder, first, count, ""), counter);
}

static void emit_stmt(tsr_emit *e, const tsr_stmt *s)
{
	tsr_emit_position_of(e, s->span);
	switch (s->kind) {
	case TSR_STMT_FOR:
		emit_for(e, s);
		return;
	case TSR_STMT_STORE: case TSR_STMT_UPDATE:
		emit_store(e, s);
		return;
	case TSR_STMT_LET: case TSR_STMT_SET:
		emit_let(e, s);
		return;
	case TSR_STMT_LETSYM:
		e->syms[s->letsym.sym] = tsr_emit_convert(e, tsr_emit_expr(e, s->letsym.value), s->letsym.value->prec, TSR_PREC_I64);
		return;
	case TSR_STMT_IF:
		emit_if(e, s);
		return;
	case TSR_STMT_RANDOM:
		emit_random(e, s);
		return;
	case TSR_STMT_CHECK:
		tsr_emit_check(e, &s->check.range, s->check.what, s->span);
		return;
	case TSR_STMT_KERNEL:
		tsr_emit_kernel_call(e, s);
		return;
	case TSR_STMT_KINDS:
		break;
	}
	tsr_bug("a statement of no kind");
}

bool tsr_emit_left_out(const tsr_stmts *body, uint32_t i)
{
	const tsr_stmt *next = i + 1 < body->n ? body->at[i + 1] : NULL;
	return next && next->kind == TSR_STMT_FOR && next->loop.contraction && next->loop.contraction->gaps;
}

void tsr_emit_stmts(tsr_emit *e, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++)
		if (!tsr_emit_left_out(body, i))
			emit_stmt(e, body->at[i]);
}
