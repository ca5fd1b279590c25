/* Nests that opt/turn.c has prepared: two inner loops, a result that lies side by side along the inner one, operands that lie side by
 * side along the outer one.  A square of as many iterations of both as a register has lanes is computed at a time: of such an operand,
 * its rows are loaded as vectors along the outer loop and turned in registers into vectors along the inner one; everything else is as
 * in wide.c.
 *
 * Squares follow each other along the outer loop, so that as many rows as they have are read from end to end, in blocks in which the pages
 * that they write stay as few as the processor knows addresses of: narrower ones would cut what is read into short stretches.  Where every
 * row of the result begins at the same place of a line, so do the squares, and write whole lines, around the caches where opt/stream.c
 * says so.  Then two squares are turned together and every row of the result gets two lines one right after the other: memory takes pairs
 * a half faster than single lines of far rows (measured; four of them, or all of one square first, are slower again).  Where a register is half a line,
 * it is four squares, as many as pairs of lines take.  Where the processor alone looks ahead along rows, blocks go through memory of their own instead
 * (turned_aside.c).
 *
 * At the ends of the loops a square has fewer iterations: its rows are read and written under masks, and those that do not exist
 * repeat the last one. */
#include "turned.h"
#include "team.h"

enum { LINE = 64, MOST_NODES = 24, LINES_TOGETHER = 2, LEAST_REGISTER = 32, MOST_TOGETHER = LINES_TOGETHER * LINE / LEAST_REGISTER };

/* ---- which nests ---------------------------------------------------------------------------------------------------------- */

static bool plain(tsr_turned *x, const tsr_expr *v)
{
	if (++x->nodes > MOST_NODES || x->lanes * (unsigned)tsr_prec_bytes(v->prec) > x->e->target->vector_bytes)
		return false;
	switch (v->kind) {
	case TSR_EXPR_CONST: case TSR_EXPR_INDEX: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER:
		return true;
	case TSR_EXPR_LOAD:
		if (tsr_emit_along(x->e, x->along, v->load.buffer, v->load.index) >= 0) {
			x->beside |= tsr_emit_along(x->e, x->along, v->load.buffer, v->load.index) > 0;
			return true;
		}
		if (tsr_emit_along(x->e, x->across, v->load.buffer, v->load.index) != 1 || x->n == TSR_MOST_TURNED)
			return false;
		x->load[x->n++] = v;
		return true;
	case TSR_EXPR_OP:
		x->functions |= tsr_op_get(v->op.op)->result == TSR_RESULT_FLOAT;
		for (uint32_t i = 0; i < tsr_op_get(v->op.op)->arity; i++)
			if (!plain(x, v->op.args[i]))
				return false;
		return tsr_emit_in_lanes(x->e, v);
	case TSR_EXPR_CONVERT:
		return plain(x, v->converted);
	case TSR_EXPR_LOCAL: case TSR_EXPR_LOOKUP: case TSR_EXPR_SELECT: case TSR_EXPR_KINDS:
		break;
	}
	return false;
}

/* Elements of the last axis, or of all that the inner loop goes over where others were joined with it; 1 where neither is known. */
static int64_t row_of(const tsr_buffer *b, const tsr_stmt *inner)
{
	int64_t row = 1, joined = tsr_size_is_const(inner->loop.extent) ? inner->loop.extent.k : 0;
	for (uint32_t axis = b->rank; axis-- > 0 && tsr_size_is_const(b->dims[axis]);) {
		row *= b->dims[axis].k;
		if (row >= joined)
			return row == joined || axis + 1 == b->rank ? row : 1;
	}
	return 1;
}

bool tsr_turned_recognise(tsr_turned *x, const tsr_stmt *s)
{
	tsr_emit *e = x->e;
	const tsr_stmt *inner = s->loop.body.n == 1 ? s->loop.body.at[0] : NULL;
	if (e->wide || e->target->vector_bytes < 16 || !e->options->level || s->loop.how != TSR_FOR_PARALLEL || !inner
		|| inner->kind != TSR_STMT_FOR || inner->loop.how != TSR_FOR_PARALLEL || inner->loop.contraction || inner->loop.split
		|| inner->loop.body.n != 1)
		return false;
	const tsr_stmt *leaf = inner->loop.body.at[0];
	x->across = s, x->along = inner, x->leaf = leaf;
	if ((leaf->kind != TSR_STMT_STORE && leaf->kind != TSR_STMT_UPDATE) || tsr_emit_along(e, inner, leaf->store.buffer, leaf->store.index) != 1)
		return false;
	const tsr_buffer *b = e->loops->buffers.at[leaf->store.buffer];
	int64_t bytes = tsr_prec_bytes(b->prec);
	x->lanes = e->target->vector_bytes / (bytes > 4 ? 8 : 4);
	x->lines = row_of(b, inner) * bytes % LINE == 0;
	x->around = x->lines && tsr_emit_streams(e, inner) && x->lanes * bytes == e->target->vector_bytes && e->target->vector_bytes >= LEAST_REGISTER;
	x->together = x->around ? LINES_TOGETHER * LINE / e->target->vector_bytes : 1;
	if (!plain(x, leaf->store.value) || !x->n)
		return false;
	x->between = !x->lines && tsr_emit_streams(e, inner) && leaf->kind == TSR_STMT_STORE && x->lanes * bytes == LINE && tsr_turned_paced(x);
	x->between = x->between && tsr_turned_run(x);
	return true;
}

/* ---- squares -------------------------------------------------------------------------------------------------------------- */

/* So many squares that follow each other along the inner loop, row by row of all of them. */
static void emit_squares(const tsr_turned *x, const tsr_square *q, unsigned n)
{
	tsr_emit *e = x->e;
	LLVMValueRef value[MOST_TOGETHER][TSR_MOST_TURNED][TSR_MOST_LANES];
	tsr_square at[MOST_TOGETHER];
	bool lines = x->around && (n == x->together || x->e->target->vector_bytes == LINE);
	tsr_wide w = {.loop = x->along, .lanes = x->lanes, .mask = q->columns ? tsr_turned_lanes(e, x->lanes, q->columns) : NULL, .around = lines ? x->leaf : NULL};
	for (unsigned i = 0; i < n; i++) {
		at[i] = *q;
		at[i].along = tsr_turned_plus(e, q->along, i * x->lanes);
		tsr_turned_load(x, &at[i], value[i]);
	}
	for (unsigned k = 0; k < x->lanes; k++) {
		LLVMBasicBlockRef there = NULL, after = NULL;
		if (q->rows) {
			there = tsr_emit_block(e, "row"), after = tsr_emit_block(e, "next");
			LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, tsr_emit_i64(e, k), q->rows, ""), there, after);
			LLVMPositionBuilderAtEnd(e->builder, there);
		}
		for (unsigned i = 0; i < n; i++)
			tsr_turned_row(x, &at[i], k, value[i], &w);
		if (after) {
			LLVMBuildBr(e->builder, after);
			LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(e->builder));
			LLVMPositionBuilderAtEnd(e->builder, after);
		}
	}
}

/* A whole square, or what is left of one. */
static void whole_or_part(const tsr_turned *x, LLVMValueRef across, LLVMValueRef along, LLVMValueRef rows, LLVMValueRef columns)
{
	tsr_emit *e = x->e;
	LLVMValueRef lanes = tsr_emit_i64(e, x->lanes);
	LLVMBasicBlockRef whole = tsr_emit_block(e, "whole"), part = tsr_emit_block(e, "part"), after = tsr_emit_block(e, "after");
	LLVMValueRef all = LLVMBuildAnd(e->builder, LLVMBuildICmp(e->builder, LLVMIntSGE, rows, lanes, ""), LLVMBuildICmp(e->builder, LLVMIntSGE, columns, lanes, ""), "");
	LLVMBuildCondBr(e->builder, all, whole, part);
	LLVMPositionBuilderAtEnd(e->builder, whole);
	emit_squares(x, &(tsr_square){.across = across, .along = along}, 1);
	LLVMBuildBr(e->builder, after);
	LLVMPositionBuilderAtEnd(e->builder, part);
	emit_squares(x, &(tsr_square){.across = across, .along = along, .rows = tsr_turned_less(e, rows, lanes), .columns = tsr_turned_less(e, columns, lanes)}, 1);
	LLVMBuildBr(e->builder, after);
	LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(e->builder));
	LLVMPositionBuilderAtEnd(e->builder, after);
}

/* Those whole ones that go together, or each square of `columns` for itself. */
static void together_or_apart(const tsr_turned *x, LLVMValueRef across, LLVMValueRef along, LLVMValueRef rows, LLVMValueRef columns)
{
	tsr_emit *e = x->e;
	LLVMBasicBlockRef together = tsr_emit_block(e, "together"), apart = tsr_emit_block(e, "apart"), after = tsr_emit_block(e, "after");
	LLVMValueRef lanes = tsr_emit_i64(e, x->lanes), all = LLVMBuildAnd(e->builder, LLVMBuildICmp(e->builder, LLVMIntSGE, rows, lanes, ""),
		LLVMBuildICmp(e->builder, LLVMIntSGE, columns, tsr_emit_i64(e, x->together * x->lanes), ""), "");
	LLVMBuildCondBr(e->builder, all, together, apart);
	LLVMPositionBuilderAtEnd(e->builder, together);
	emit_squares(x, &(tsr_square){.across = across, .along = along}, x->together);
	LLVMBuildBr(e->builder, after);
	LLVMPositionBuilderAtEnd(e->builder, apart);
	LLVMValueRef end = LLVMBuildNSWAdd(e->builder, along, columns, "");
	tsr_emit_loop each = tsr_emit_loop_begin(e, along, end, lanes, TSR_FOR_SERIAL);
	whole_or_part(x, across, each.index, rows, LLVMBuildNSWSub(e->builder, end, each.index, ""));
	tsr_emit_loop_end(e, &each);
	LLVMBuildBr(e->builder, after);
	LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(e->builder));
	LLVMPositionBuilderAtEnd(e->builder, after);
}

/* ---- blocks --------------------------------------------------------------------------------------------------------------- */

static LLVMValueRef left(tsr_emit *e, LLVMValueRef end, LLVMValueRef at) { return LLVMBuildNSWSub(e->builder, end, at, ""); }

/* Whether threads divide the inner loop instead of the outer one, which the passes have divided: each then reads whole rows, where both would read
 * a half of every one, and writes a part of each row of the result that begins on a line (64M elements, two threads: 1.14 times as fast). */
static bool divides_along(const tsr_turned *x)
{
	const tsr_size *n = &x->along->loop.extent;
	return (x->around || x->between) && x->across->loop.split && x->e->team && tsr_size_is_const(*n) && n->k >= TSR_TURNED_BLOCK;
}

/* Where a thread begins or ends: the first of all, or at the beginning of squares. */
static LLVMValueRef bound(const tsr_turned *x, LLVMValueRef first, LLVMValueRef end, bool last)
{
	tsr_emit *e = x->e;
	int64_t run = tsr_turned_run(x), step = run ? run : x->together * x->lanes;
	LLVMValueRef n = tsr_team_bound(e, tsr_emit_i64(e, (x->along->loop.extent.k + step - 1) / step), last);
	LLVMValueRef at = LLVMBuildNSWAdd(e->builder, LLVMBuildNSWMul(e->builder, n, tsr_emit_i64(e, step), ""), first, "");
	return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntEQ, n, tsr_emit_i64(e, 0), ""), n, tsr_turned_less(e, at, end), "");
}

/* How far to the next squares along a row: where it begins, to the first whole line. */
static LLVMValueRef to_next(const tsr_turned *x, LLVMValueRef first, LLVMValueRef at)
{
	tsr_emit *e = x->e;
	LLVMValueRef step = tsr_emit_i64(e, x->together * x->lanes);
	if (!x->lines)
		return step;
	LLVMValueRef short_first = LLVMBuildAnd(e->builder, LLVMBuildICmp(e->builder, LLVMIntEQ, at, tsr_emit_i64(e, 0), ""),
		LLVMBuildICmp(e->builder, LLVMIntNE, first, tsr_emit_i64(e, 0), ""), "");
	return LLVMBuildSelect(e->builder, short_first, tsr_turned_less(e, first, step), step, "");
}

/* Iterations of both loops, those of the outer one in a block that ends before `to`; and where along a row the first whole line begins. */
typedef struct stretch { LLVMValueRef across, across_end, to, begin, end, first; } stretch;

static void emit_in_place(const tsr_turned *x, const stretch *s)
{
	tsr_emit *e = x->e;
	tsr_emit_loop b = tsr_emit_loop_begin(e, s->begin, s->end, tsr_emit_i64(e, 0), TSR_FOR_SERIAL);
	b.step = to_next(x, s->first, b.index);
	tsr_emit_loop c = tsr_emit_loop_begin(e, s->across, s->across_end, tsr_emit_i64(e, x->lanes), TSR_FOR_SERIAL);
	(x->around ? together_or_apart : whole_or_part)(x, c.index, b.index, left(e, s->to, c.index), tsr_turned_less(e, b.step, left(e, s->end, b.index)));
	tsr_emit_loop_end(e, &c);
	tsr_emit_loop_end(e, &b);
}

static LLVMValueRef either(tsr_emit *e, LLVMValueRef when, LLVMValueRef x, LLVMValueRef y) { return LLVMBuildSelect(e->builder, when, x, y, ""); }

/* From the first whole line on blocks of whole squares go through memory of their own, or in runs; what is left before them, behind them and beside them does not. */
static void emit_blocks(const tsr_turned *x, const stretch *s, LLVMValueRef area)
{
	tsr_emit *e = x->e;
	int64_t run = tsr_turned_run(x);
	LLVMValueRef zero = tsr_emit_i64(e, 0), most = tsr_emit_i64(e, run ? run : tsr_turned_aside(x)), columns = tsr_emit_i64(e, run ? tsr_turned_run_columns(x) : x->lanes);
	LLVMValueRef over = LLVMBuildURem(e->builder, left(e, s->across_end, s->across), columns, ""), whole = LLVMBuildNSWSub(e->builder, s->across_end, over, "");
	LLVMValueRef from = either(e, LLVMBuildICmp(e->builder, LLVMIntSLT, s->begin, s->first, ""), tsr_turned_less(e, s->first, s->end), s->begin);
	LLVMValueRef room = left(e, s->end, x->between ? s->begin : from);
	if (x->between) {      /* a line takes a square more than it fills, and what lies before the first one and behind the last is part of a square that is written whole */
		room = tsr_turned_plus(e, room, -(int64_t)x->lanes);
		room = either(e, LLVMBuildICmp(e->builder, LLVMIntSLT, room, zero, ""), zero, room);
		from = s->begin;
	}
	LLVMValueRef blocks = LLVMBuildUDiv(e->builder, room, most, "");
	LLVMValueRef until = LLVMBuildNSWAdd(e->builder, from, LLVMBuildNSWMul(e->builder, blocks, most, ""), "");
	if (run)
		tsr_turned_runs(x, s->across, whole, from, until);
	else {
		tsr_emit_loop b = tsr_emit_loop_begin(e, from, until, most, TSR_FOR_SERIAL);
		tsr_turned_block(x, area, s->across, whole, b.index);
		tsr_emit_loop_end(e, &b);
	}
	if (x->between)
		from = tsr_turned_less(e, tsr_turned_plus(e, s->begin, x->lanes), s->end);
	enum { BEFORE, BEHIND, BESIDE, PARTS };
	tsr_emit_loop part = tsr_emit_loop_begin(e, zero, tsr_emit_i64(e, PARTS), tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
	LLVMValueRef before = LLVMBuildICmp(e->builder, LLVMIntEQ, part.index, tsr_emit_i64(e, BEFORE), "");
	LLVMValueRef behind = LLVMBuildICmp(e->builder, LLVMIntEQ, part.index, tsr_emit_i64(e, BEHIND), "");
	LLVMValueRef beside = LLVMBuildICmp(e->builder, LLVMIntEQ, part.index, tsr_emit_i64(e, BESIDE), "");
	stretch left_over = {.across = either(e, beside, whole, s->across), .across_end = either(e, beside, s->across_end, whole), .to = s->to,
		.begin = either(e, behind, until, s->begin), .end = either(e, before, from, s->end), .first = s->first};
	emit_in_place(x, &left_over);
	tsr_emit_loop_end(e, &part);
}

bool tsr_emit_turned(tsr_emit *e, const tsr_stmt *s, LLVMValueRef from, LLVMValueRef to)
{
	tsr_turned x = {.e = e};
	if (!tsr_turned_recognise(&x, s))
		return false;
	uint32_t across = s->loop.sym, along = x.along->loop.sym;
	LLVMValueRef outer = e->syms[across], inner = e->syms[along], begin = tsr_emit_i64(e, 0), end = tsr_emit_size(e, x.along->loop.extent);
	LLVMValueRef area = tsr_turned_area(&x);
	bool divides = divides_along(&x);
	if (divides)
		from = tsr_emit_i64(e, 0), to = tsr_emit_size(e, s->loop.extent);
	tsr_emit_loop a = tsr_emit_loop_begin(e, from, to, tsr_turned_run(&x) ? left(e, to, from) : tsr_emit_i64(e, TSR_TURNED_BLOCK), TSR_FOR_SERIAL);
	LLVMValueRef a_end = tsr_turned_less(e, LLVMBuildNSWAdd(e->builder, a.index, a.step, ""), to);
	e->syms[across] = a.index, e->syms[along] = begin;
	LLVMValueRef first = tsr_emit_to_line(e, e->loops->buffers.at[x.leaf->store.buffer]->prec, tsr_emit_address(e, x.leaf->store.buffer, x.leaf->store.index));
	if (divides) {
		LLVMValueRef lines = x.between ? begin : first;
		begin = bound(&x, lines, end, false);
		end = bound(&x, lines, end, true);
	}
	stretch of = {a.index, a_end, to, begin, end, first};
	if (tsr_turned_aside(&x) || tsr_turned_run(&x))
		emit_blocks(&x, &of, area);
	else
		emit_in_place(&x, &of);
	tsr_emit_loop_end(e, &a);
	e->syms[across] = outer;
	e->syms[along] = inner;
	return true;
}
