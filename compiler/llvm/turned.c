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
 * it is four squares, as many as pairs of lines take.
 *
 * At the ends of the loops a square has fewer iterations: its rows are read and written under masks, and those that do not exist
 * repeat the last one. */
#include "emit.h"
#include "team.h"

enum { BLOCK = 1024, LINE = 64, MOST_TURNED = 4, MOST_NODES = 24, LINES_TOGETHER = 2, LEAST_REGISTER = 32, MOST_TOGETHER = LINES_TOGETHER * LINE / LEAST_REGISTER };

typedef struct nest {
	tsr_emit *e;
	const tsr_stmt *across, *along, *leaf;
	unsigned lanes;
	bool lines;                                  /* every row of the result begins at the same place of a line */
	bool around;                                 /* rows of squares that go together are lines that go around the caches */
	unsigned together;                           /* squares that do, and that one row of each fills the lines of */
	uint32_t n, nodes;
	const tsr_expr *load[MOST_TURNED];           /* those that are turned */
} nest;

/* ---- which nests ---------------------------------------------------------------------------------------------------------- */

static bool plain(nest *x, const tsr_expr *v)
{
	if (++x->nodes > MOST_NODES || x->lanes * (unsigned)tsr_prec_bytes(v->prec) > x->e->target->vector_bytes)
		return false;
	switch (v->kind) {
	case TSR_EXPR_CONST: case TSR_EXPR_INDEX: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER:
		return true;
	case TSR_EXPR_LOAD:
		if (tsr_emit_along(x->e, x->along, v->load.buffer, v->load.index) >= 0)
			return true;
		if (tsr_emit_along(x->e, x->across, v->load.buffer, v->load.index) != 1 || x->n == MOST_TURNED)
			return false;
		x->load[x->n++] = v;
		return true;
	case TSR_EXPR_OP:
		for (uint32_t i = 0; i < tsr_op_get(v->op.op)->arity; i++)
			if (!plain(x, v->op.args[i]))
				return false;
		return tsr_emit_in_lanes(v);
	case TSR_EXPR_CONVERT:
		return plain(x, v->converted);
	case TSR_EXPR_LOCAL: case TSR_EXPR_LOOKUP: case TSR_EXPR_SELECT: case TSR_EXPR_KINDS:
		break;
	}
	return false;
}

static bool recognise(nest *x, const tsr_stmt *s)
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
	x->lines = tsr_size_is_const(b->dims[b->rank - 1]) && b->dims[b->rank - 1].k * bytes % LINE == 0;
	x->around = x->lines && inner->loop.stream && x->lanes * bytes == e->target->vector_bytes && e->target->vector_bytes >= LEAST_REGISTER;
	x->together = x->around ? LINES_TOGETHER * LINE / e->target->vector_bytes : 1;
	return plain(x, leaf->store.value) && x->n > 0;
}

/* ---- squares -------------------------------------------------------------------------------------------------------------- */

/* One row of a square: what stands for the turned loads. */
typedef struct row { tsr_emit_leaves leaves; const nest *x; LLVMValueRef value[MOST_TURNED]; } row;

static LLVMValueRef turned_leaf(const tsr_emit_leaves *leaves, const tsr_expr *leaf)
{
	const row *r = (const row *)leaves;
	for (uint32_t i = 0; i < r->x->n; i++)
		if (r->x->load[i] == leaf)
			return r->value[i];
	return NULL;
}

/* log2(lanes) rounds of interleaving halves turn rows into columns. */
static void transpose(tsr_emit *e, unsigned lanes, LLVMValueRef *v)
{
	LLVMValueRef at[2][64], next[64], half[2];
	for (unsigned i = 0; i < lanes; i++) {
		at[0][i] = LLVMConstInt(e->i32, i / 2 + (i % 2) * lanes, false);
		at[1][i] = LLVMConstInt(e->i32, lanes / 2 + i / 2 + (i % 2) * lanes, false);
	}
	half[0] = LLVMConstVector(at[0], lanes), half[1] = LLVMConstVector(at[1], lanes);
	for (unsigned round = 1; round < lanes; round *= 2) {
		for (unsigned i = 0; i < lanes; i++)
			next[i] = LLVMBuildShuffleVector(e->builder, v[i / 2], v[i / 2 + lanes / 2], half[i % 2], "");
		for (unsigned i = 0; i < lanes; i++)
			v[i] = next[i];
	}
}

static LLVMValueRef less(tsr_emit *e, LLVMValueRef x, LLVMValueRef y)
{
	return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, x, y, ""), x, y, "");
}

static LLVMValueRef plus(tsr_emit *e, LLVMValueRef x, int64_t y) { return y ? LLVMBuildNSWAdd(e->builder, x, tsr_emit_i64(e, y), "") : x; }

/* The first `count` lanes. */
static LLVMValueRef first_lanes(tsr_emit *e, unsigned lanes, LLVMValueRef count)
{
	LLVMValueRef lane[64];
	for (unsigned i = 0; i < lanes; i++)
		lane[i] = LLVMConstInt(e->i64, i, false);
	LLVMValueRef numbers = LLVMConstVector(lane, lanes);
	return LLVMBuildICmp(e->builder, LLVMIntSLT, numbers, tsr_emit_splat(e, count, LLVMTypeOf(numbers)), "");
}

/* Where a square begins, and how many of its iterations there are; NULL: all. */
typedef struct square { LLVMValueRef across, along, rows, columns; } square;

/* value[i][k]: load i where the outer loop stands at its k-th iteration of the square, along the inner one. */
static void load_turned(const nest *x, const square *q, LLVMValueRef (*value)[64])
{
	tsr_emit *e = x->e;
	LLVMValueRef mask = q->rows ? first_lanes(e, x->lanes, q->rows) : NULL;
	e->syms[x->across->loop.sym] = q->across;
	for (uint32_t i = 0; i < x->n; i++) {
		tsr_prec p = e->loops->buffers.at[x->load[i]->load.buffer]->prec;
		for (unsigned k = 0; k < x->lanes; k++) {
			LLVMValueRef at = tsr_emit_i64(e, k);
			if (q->columns)
				at = less(e, at, plus(e, q->columns, -1));
			e->syms[x->along->loop.sym] = LLVMBuildNSWAdd(e->builder, q->along, at, "");
			LLVMValueRef address = tsr_emit_address(e, x->load[i]->load.buffer, x->load[i]->load.index);
			LLVMValueRef v = mask ? tsr_emit_load_masked(e, p, address, mask) : tsr_emit_load_lanes(e, p, address, x->lanes);
			value[i][k] = tsr_emit_convert(e, v, p, x->load[i]->prec);
		}
		transpose(e, x->lanes, value[i]);
	}
}

static void emit_row(const nest *x, const square *q, unsigned k, LLVMValueRef (*value)[64], tsr_wide *w)
{
	tsr_emit *e = x->e;
	row r = {.leaves = {turned_leaf}, .x = x};
	for (uint32_t i = 0; i < x->n; i++)
		r.value[i] = value[i][k];
	e->syms[x->across->loop.sym] = plus(e, q->across, k);
	e->syms[x->along->loop.sym] = q->along;
	e->leaves = &r.leaves;
	e->wide = w;
	tsr_emit_stmts(e, &x->along->loop.body);
	e->wide = NULL;
	e->leaves = NULL;
}

/* So many squares that follow each other along the inner loop, row by row of all of them. */
static void emit_squares(const nest *x, const square *q, unsigned n)
{
	tsr_emit *e = x->e;
	LLVMValueRef value[MOST_TOGETHER][MOST_TURNED][64];
	square at[MOST_TOGETHER];
	bool lines = x->around && (n == x->together || x->e->target->vector_bytes == LINE);
	tsr_wide w = {.loop = x->along, .lanes = x->lanes, .mask = q->columns ? first_lanes(e, x->lanes, q->columns) : NULL, .around = lines ? x->leaf : NULL};
	for (unsigned i = 0; i < n; i++) {
		at[i] = *q;
		at[i].along = plus(e, q->along, i * x->lanes);
		load_turned(x, &at[i], value[i]);
	}
	for (unsigned k = 0; k < x->lanes; k++) {
		LLVMBasicBlockRef there = NULL, after = NULL;
		if (q->rows) {
			there = tsr_emit_block(e, "row"), after = tsr_emit_block(e, "next");
			LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, tsr_emit_i64(e, k), q->rows, ""), there, after);
			LLVMPositionBuilderAtEnd(e->builder, there);
		}
		for (unsigned i = 0; i < n; i++)
			emit_row(x, &at[i], k, value[i], &w);
		if (after) {
			LLVMBuildBr(e->builder, after);
			LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(e->builder));
			LLVMPositionBuilderAtEnd(e->builder, after);
		}
	}
}

/* A whole square, or what is left of one. */
static void whole_or_part(const nest *x, LLVMValueRef across, LLVMValueRef along, LLVMValueRef rows, LLVMValueRef columns)
{
	tsr_emit *e = x->e;
	LLVMValueRef lanes = tsr_emit_i64(e, x->lanes);
	LLVMBasicBlockRef whole = tsr_emit_block(e, "whole"), part = tsr_emit_block(e, "part"), after = tsr_emit_block(e, "after");
	LLVMValueRef all = LLVMBuildAnd(e->builder, LLVMBuildICmp(e->builder, LLVMIntSGE, rows, lanes, ""), LLVMBuildICmp(e->builder, LLVMIntSGE, columns, lanes, ""), "");
	LLVMBuildCondBr(e->builder, all, whole, part);
	LLVMPositionBuilderAtEnd(e->builder, whole);
	emit_squares(x, &(square){across, along, NULL, NULL}, 1);
	LLVMBuildBr(e->builder, after);
	LLVMPositionBuilderAtEnd(e->builder, part);
	emit_squares(x, &(square){across, along, less(e, rows, lanes), less(e, columns, lanes)}, 1);
	LLVMBuildBr(e->builder, after);
	LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(e->builder));
	LLVMPositionBuilderAtEnd(e->builder, after);
}

/* Those whole ones that go together, or each square of `columns` for itself. */
static void together_or_apart(const nest *x, LLVMValueRef across, LLVMValueRef along, LLVMValueRef rows, LLVMValueRef columns)
{
	tsr_emit *e = x->e;
	LLVMBasicBlockRef together = tsr_emit_block(e, "together"), apart = tsr_emit_block(e, "apart"), after = tsr_emit_block(e, "after");
	LLVMValueRef lanes = tsr_emit_i64(e, x->lanes), all = LLVMBuildAnd(e->builder, LLVMBuildICmp(e->builder, LLVMIntSGE, rows, lanes, ""),
		LLVMBuildICmp(e->builder, LLVMIntSGE, columns, tsr_emit_i64(e, x->together * x->lanes), ""), "");
	LLVMBuildCondBr(e->builder, all, together, apart);
	LLVMPositionBuilderAtEnd(e->builder, together);
	emit_squares(x, &(square){across, along, NULL, NULL}, x->together);
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
static bool divides_along(const nest *x)
{
	const tsr_size *n = &x->along->loop.extent;
	return x->around && x->across->loop.split && x->e->team && tsr_size_is_const(*n) && n->k >= BLOCK;
}

/* Where a thread begins or ends: the first of all, or at the beginning of squares. */
static LLVMValueRef bound(const nest *x, LLVMValueRef first, LLVMValueRef end, bool last)
{
	tsr_emit *e = x->e;
	int64_t step = x->together * x->lanes;
	LLVMValueRef n = tsr_team_bound(e, tsr_emit_i64(e, (x->along->loop.extent.k + step - 1) / step), last);
	LLVMValueRef at = LLVMBuildNSWAdd(e->builder, LLVMBuildNSWMul(e->builder, n, tsr_emit_i64(e, step), ""), first, "");
	return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntEQ, n, tsr_emit_i64(e, 0), ""), n, less(e, at, end), "");
}

/* How far to the next squares along a row: where it begins, to the first whole line. */
static LLVMValueRef to_next(const nest *x, LLVMValueRef first, LLVMValueRef at)
{
	tsr_emit *e = x->e;
	LLVMValueRef step = tsr_emit_i64(e, x->together * x->lanes);
	if (!x->lines)
		return step;
	LLVMValueRef short_first = LLVMBuildAnd(e->builder, LLVMBuildICmp(e->builder, LLVMIntEQ, at, tsr_emit_i64(e, 0), ""),
		LLVMBuildICmp(e->builder, LLVMIntNE, first, tsr_emit_i64(e, 0), ""), "");
	return LLVMBuildSelect(e->builder, short_first, less(e, first, step), step, "");
}

bool tsr_emit_turned(tsr_emit *e, const tsr_stmt *s, LLVMValueRef from, LLVMValueRef to)
{
	nest x = {.e = e};
	if (!recognise(&x, s))
		return false;
	uint32_t across = s->loop.sym, along = x.along->loop.sym;
	LLVMValueRef outer = e->syms[across], inner = e->syms[along], begin = tsr_emit_i64(e, 0), end = tsr_emit_size(e, x.along->loop.extent);
	bool divides = divides_along(&x);
	if (divides)
		from = tsr_emit_i64(e, 0), to = tsr_emit_size(e, s->loop.extent);
	tsr_emit_loop a = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, BLOCK), TSR_FOR_SERIAL);
	LLVMValueRef a_end = less(e, plus(e, a.index, BLOCK), to);
	e->syms[across] = a.index, e->syms[along] = begin;
	LLVMValueRef first = tsr_emit_to_line(e, e->loops->buffers.at[x.leaf->store.buffer]->prec, tsr_emit_address(e, x.leaf->store.buffer, x.leaf->store.index));
	if (divides) {
		begin = bound(&x, first, end, false);
		end = bound(&x, first, end, true);
	}
	tsr_emit_loop b = tsr_emit_loop_begin(e, begin, end, tsr_emit_i64(e, 0), TSR_FOR_SERIAL);
	b.step = to_next(&x, first, b.index);
	tsr_emit_loop c = tsr_emit_loop_begin(e, a.index, a_end, tsr_emit_i64(e, x.lanes), TSR_FOR_SERIAL);
	(x.around ? together_or_apart : whole_or_part)(&x, c.index, b.index, left(e, to, c.index), less(e, b.step, left(e, end, b.index)));
	tsr_emit_loop_end(e, &c);
	tsr_emit_loop_end(e, &b);
	tsr_emit_loop_end(e, &a);
	e->syms[across] = outer;
	e->syms[along] = inner;
	return true;
}
