/* Tiles of several places of a row (outer_rows.c): statements by statements for all of them, channels by vectors, what guards let in of each by masks. */
#include "outer_rows.h"
#include <string.h>

enum { LINE = 64 };

static void stand(tsr_places *x, uint32_t sym, LLVMValueRef at)
{
	for (uint32_t k = 0; k < x->n; k++)
		x->view[k].syms[sym] = at;
}

static void side_by_side(tsr_places *x, const tsr_stmts *body);

static void each_in_turn(tsr_places *x, const tsr_stmt *s)
{
	tsr_emit *e = x->e;
	tsr_stmts one = {(tsr_stmt **)&s, 1, 1};
	tsr_emit_view outside = tsr_emit_view_now(e);
	const tsr_wide *all = e->wide;
	tsr_wide w = *all;
	e->wide = &w;
	for (uint32_t k = 0; k < x->n; k++) {
		if (x->out[k])
			continue;
		tsr_emit_enter(e, &x->view[k]);
		w.mask = x->mask[k], w.some = x->in[k];
		tsr_emit_stmts(e, &one);
	}
	e->wide = all;
	tsr_emit_enter(e, &outside);
}

/* What is left of a guard is the same for all places, but for masks. */
typedef struct guard { uint32_t n; tsr_range *ranges; LLVMBasicBlockRef after; LLVMValueRef mask[TSR_MOST_PLACES], in[TSR_MOST_PLACES]; bool out[TSR_MOST_PLACES]; } guard;

static guard what_is_left(const tsr_places *x, const tsr_stmt *s)
{
	guard g = {.ranges = TSR_NEW_N(x->e->tc->arena, tsr_range, s->cond.n + 1)};
	for (uint32_t i = 0; i < s->cond.n; i++)
		if (!tsr_lin_mentions(&s->cond.ranges[i].index, x->row->loop.sym) && !tsr_lin_mentions(&s->cond.ranges[i].index, x->loop->loop.sym))
			g.ranges[g.n++] = s->cond.ranges[i];
	return g;
}

static LLVMValueRef both(tsr_emit *e, LLVMValueRef x, LLVMValueRef y) { return x && y ? LLVMBuildAnd(e->builder, x, y, "") : x ? x : y; }

/* Lanes that such ranges let in, which are the same in all rows. */
static LLVMValueRef lanes_in(tsr_places *x, const tsr_stmt *s)
{
	tsr_emit *e = x->e;
	LLVMValueRef out = NULL, lane[64];
	for (uint32_t i = 0; i < s->cond.n; i++) {
		int64_t step = tsr_lin_coef(&s->cond.ranges[i].index, x->loop->loop.sym);
		if (!step)
			continue;
		for (unsigned k = 0; k < e->wide->lanes; k++)
			lane[k] = LLVMConstInt(e->i32, (uint64_t)step * k, false);
		LLVMValueRef lanes = LLVMConstVector(lane, e->wide->lanes);
		LLVMValueRef at = LLVMBuildTrunc(e->builder, tsr_emit_lin(e, &s->cond.ranges[i].index), e->i32, "");
		LLVMValueRef size = LLVMBuildTrunc(e->builder, tsr_emit_size(e, s->cond.ranges[i].size), e->i32, "");
		LLVMValueRef place = LLVMBuildAdd(e->builder, lanes, tsr_emit_splat(e, at, LLVMTypeOf(lanes)), "");
		out = both(e, out, LLVMBuildICmp(e->builder, LLVMIntULT, place, tsr_emit_splat(e, size, LLVMTypeOf(lanes)), ""));      /* what is below 0 is more than any size */
	}
	return out;
}

bool tsr_places_beside(tsr_emit *e, tsr_size places, int64_t step, tsr_size size, int64_t *more)
{
	tsr_size all = tsr_size_scale(e->loops->tc->arena, places, step);
	*more = size.k - all.k;
	all.k = size.k;
	return tsr_extent_equal(all, size);
}

/* Whether the guard lets in place k of a long row's first ones, or of its last. */
static LLVMValueRef known_in(const tsr_places *x, uint32_t k, const tsr_range *r)
{
	tsr_emit *e = x->e;
	int64_t step = tsr_lin_coef(&r->index, x->row->loop.sym), at = r->index.offset + r->index.base.k + step * (x->edge == TSR_EDGE_LAST ? (int64_t)k - x->n : k), more;
	for (uint32_t i = 0; i < r->index.n; i++)
		if (r->index.terms[i].id != x->row->loop.sym)
			at += r->index.terms[i].coef * LLVMConstIntGetSExtValue(e->syms[r->index.terms[i].id]);
	if (!tsr_places_beside(e, x->row->loop.extent, step, r->size, &more))
		tsr_bug("a guard of places that are known hangs on others");
	return LLVMConstInt(e->i1, x->edge == TSR_EDGE_LAST ? at < more : at >= 0, false);
}

/* Of each place what the guard lets in of it, beside what was before: all or nothing, where the place and the position in its window are known. */
static void enter_masks(tsr_places *x, guard *g, const tsr_stmt *s)
{
	tsr_emit *e = x->e;
	tsr_emit_view outside = tsr_emit_view_now(e);
	tsr_emit_enter(e, &x->view[0]);
	LLVMValueRef lanes = x->torn && !x->whole ? lanes_in(x, s) : NULL;
	for (uint32_t k = 0; k < x->n; k++) {
		g->mask[k] = x->mask[k], g->in[k] = x->in[k], g->out[k] = x->out[k];
		x->mask[k] = both(e, x->mask[k], lanes);
		tsr_emit_enter(e, &x->view[k]);
		for (uint32_t i = 0; i < s->cond.n && x->edge; i++)
			if (tsr_lin_mentions(&s->cond.ranges[i].index, x->row->loop.sym)) {
				LLVMValueRef in = x->edge == TSR_EDGE_ANY ? tsr_emit_in_ranges(e, 1, &s->cond.ranges[i]) : known_in(x, k, &s->cond.ranges[i]);
				x->out[k] |= LLVMIsConstant(in) && !LLVMConstIntGetZExtValue(in);
				if (!LLVMIsConstant(in)) {
					x->mask[k] = both(e, x->mask[k], tsr_emit_splat(e, in, LLVMVectorType(e->i1, e->wide->lanes)));
					x->in[k] = both(e, x->in[k], in);
				}
			}
	}
	tsr_emit_enter(e, &outside);
}

static void leave_masks(tsr_places *x, const guard *g)
{
	memcpy(x->mask, g->mask, sizeof x->mask);
	memcpy(x->in, g->in, sizeof x->in);
	memcpy(x->out, g->out, sizeof x->out);
}

static void enter_guard(tsr_places *x, guard *g)
{
	tsr_emit *e = x->e;
	if (!g->n)
		return;
	LLVMBasicBlockRef then = tsr_emit_block(e, "then");
	tsr_emit_view outside = tsr_emit_view_now(e);
	g->after = tsr_emit_block(e, "after");
	tsr_emit_enter(e, &x->view[0]);
	LLVMBuildCondBr(e->builder, tsr_emit_in_ranges(e, g->n, g->ranges), then, g->after);
	tsr_emit_enter(e, &outside);
	LLVMPositionBuilderAtEnd(e->builder, then);
}

static void leave_guard(tsr_places *x, const guard *g)
{
	tsr_emit *e = x->e;
	if (!g->n)
		return;
	LLVMBuildBr(e->builder, g->after);
	LLVMMoveBasicBlockAfter(g->after, LLVMGetInsertBlock(e->builder));
	LLVMPositionBuilderAtEnd(e->builder, g->after);
}

/* A loop that is written out: what is left of a guard and does not mention it is asked once, so that nothing parts the loads. */
static void written_out(tsr_places *x, const tsr_stmt *s)
{
	const tsr_stmts *body = &s->loop.body;
	const tsr_stmt *asked = NULL;
	guard g = {0};
	if (body->n == 1 && body->at[0]->kind == TSR_STMT_IF && !x->torn) {
		bool same = true;
		g = what_is_left(x, body->at[0]);
		for (uint32_t i = 0; i < g.n; i++)
			same &= !tsr_lin_mentions(&g.ranges[i].index, s->loop.sym);
		if (same)
			asked = body->at[0], body = &asked->cond.body;
		else
			g.n = 0;
	}
	enter_guard(x, &g);
	for (int64_t i = 0; i < s->loop.extent.k; i++) {
		stand(x, s->loop.sym, tsr_emit_i64(x->e, i));
		if (asked)
			enter_masks(x, &g, asked);
		side_by_side(x, body);
		if (asked)
			leave_masks(x, &g);
	}
	leave_guard(x, &g);
}

static void loop_of_all(tsr_places *x, const tsr_stmt *s)
{
	tsr_emit *e = x->e;
	bool reorder = e->reorder, innermost = s->loop.extent.k <= TSR_MOST_WRITTEN;
	for (uint32_t i = 0; i < s->loop.body.n; i++)
		innermost &= s->loop.body.at[i]->kind != TSR_STMT_FOR || s->loop.extent.k * s->loop.body.at[i]->loop.extent.k <= TSR_MOST_POSITIONS;
	e->reorder = s->loop.how == TSR_FOR_REDUCE || (reorder && s->loop.how != TSR_FOR_SERIAL);
	if (innermost)
		written_out(x, s);
	else {
		tsr_emit_loop loop = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), tsr_emit_size(e, s->loop.extent), tsr_emit_i64(e, 1), s->loop.how);
		stand(x, s->loop.sym, loop.index);
		side_by_side(x, &s->loop.body);
		tsr_emit_loop_end(e, &loop);
	}
	e->reorder = reorder;
}

static void guarded(tsr_places *x, const tsr_stmt *s)
{
	guard g = what_is_left(x, s);
	enter_guard(x, &g);
	enter_masks(x, &g, s);
	side_by_side(x, &s->cond.body);
	leave_masks(x, &g);
	leave_guard(x, &g);
}

static void side_by_side(tsr_places *x, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR)
			loop_of_all(x, s);
		else if (s->kind == TSR_STMT_IF)
			guarded(x, s);
		else
			each_in_turn(x, s);
	}
}

/* Channels from .. to of so many places from `at` on; `some`: fewer than fill a register. */
static void channels(tsr_places *x, LLVMValueRef at, LLVMValueRef from, LLVMValueRef to, bool some)
{
	tsr_emit *e = x->e;
	bool masked = some && tsr_emit_has_masks(e);
	unsigned lanes = some && !masked ? 1 : tsr_places_lanes(x);
	tsr_wide w = {.loop = x->loop, .lanes = lanes, .around = some ? NULL : x->around, .holds = true};
	if (x->groups.group) {
		tsr_emit_group_lanes(&w, &x->groups);
		e->syms[w.group] = tsr_emit_i64(e, 0);
	}
	if (from == to || tsr_emit_surely_none(from, to))
		return;
	tsr_emit_loop c = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, lanes), TSR_FOR_SERIAL);
	w.mask = masked ? tsr_emit_lanes_left(e, c.index, to, lanes) : NULL;
	for (uint32_t k = 0; k < x->n; k++) {
		x->view[k] = tsr_emit_view_copy(e);
		for (uint32_t i = 0; i < x->n_locals; i++)
			x->view[k].locals[x->local[i]] = NULL;
		x->view[k].syms[x->row->loop.sym] = LLVMBuildNSWAdd(e->builder, at, tsr_emit_i64(e, k), "");
		x->view[k].syms[x->loop->loop.sym] = c.index;
		x->mask[k] = w.mask, x->in[k] = NULL;
	}
	tsr_below_ask(e, &x->below, x->inner, x->n_inner, at, x->n, c.index);
	e->wide = &w, e->places = true;
	side_by_side(x, &x->loop->loop.body);
	e->wide = NULL, e->places = false;
	tsr_emit_loop_end(e, &c);
}

/* The result's store, where all rows of a buffer of many channels begin at the same place of a line; or NULL. */
static const tsr_stmt *in_lines(const tsr_places *x)
{
	const tsr_stmt *s = x->loop->loop.body.at[x->loop->loop.body.n - 1];
	const tsr_buffer *b = s->kind == TSR_STMT_STORE ? x->e->loops->buffers.at[s->store.buffer] : NULL;
	bool known = b && tsr_emit_has_masks(x->e) && !x->groups.group && b->rank && tsr_emit_along(x->e, x->loop, s->store.buffer, s->store.index) == 1 && tsr_size_is_const(b->dims[tsr_buffer_last(b)]) && tsr_emit_foreign(b);
	return known && b->dims[tsr_buffer_last(b)].k * tsr_prec_bytes(b->prec) % LINE == 0 && x->loop->loop.extent.k * 4 >= TSR_MANY_CHANNELS * (int64_t)x->e->target->vector_bytes ? s : NULL;
}

/* Where a line of the result begins: each of a caller's vectors would lie across two lines.  That costs a mask more at either end (3x3, arrays that begin 16 bytes behind a
 * line, of 128 channels 1.06 times as fast so, of 256 and 512 1.15, of 64 0.92). */
static LLVMValueRef first_line(tsr_places *x, LLVMValueRef at, LLVMValueRef from, LLVMValueRef to)
{
	tsr_emit *e = x->e;
	const tsr_stmt *s = x->around ? x->around : in_lines(x);
	if (!s)
		return from;
	e->syms[x->row->loop.sym] = at, e->syms[x->loop->loop.sym] = from;
	LLVMValueRef off = tsr_emit_to_line(e, e->loops->buffers.at[s->store.buffer]->prec, tsr_emit_address(e, s->store.buffer, s->store.index));
	LLVMValueRef line = LLVMBuildNSWAdd(e->builder, from, off, "");
	return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, line, to, ""), line, to, "");
}

LLVMValueRef tsr_places_end_of(tsr_emit *e, int64_t known, uint32_t n, const tsr_places_end *ends, LLVMValueRef all)
{
	LLVMValueRef end = known < INT64_MAX ? tsr_emit_chosen(e, LLVMIntSLT, all, tsr_emit_i64(e, known)) : all;
	for (uint32_t i = 0; i < n; i++) {
		LLVMValueRef last = LLVMBuildNSWSub(e->builder, tsr_emit_size(e, ends[i].size), tsr_emit_i64(e, ends[i].most + 1), "");
		last = LLVMBuildSDiv(e->builder, LLVMBuildNSWAdd(e->builder, tsr_emit_chosen(e, LLVMIntSGT, last, tsr_emit_i64(e, -ends[i].step)), tsr_emit_i64(e, ends[i].step), ""), tsr_emit_i64(e, ends[i].step), "");
		end = tsr_emit_chosen(e, LLVMIntSLT, end, last);
	}
	return end;
}

/* The lanes up to those that guards let all in of, and these; where the others begin. */
static LLVMValueRef lanes_inside(tsr_places *x, LLVMValueRef at)
{
	tsr_emit *e = x->e;
	int64_t lanes = tsr_places_lanes(x), first = (x->inside + lanes - 1) / lanes * lanes;
	LLVMValueRef none = tsr_emit_i64(e, 0), begin = tsr_emit_i64(e, first), end = tsr_places_end_of(e, x->outside, x->n_lane_ends, x->lane_end, tsr_emit_size(e, x->loop->loop.extent));
	LLVMValueRef some = LLVMBuildICmp(e->builder, LLVMIntSGE, end, LLVMBuildNSWAdd(e->builder, begin, tsr_emit_i64(e, lanes), ""), "");
	LLVMValueRef length = LLVMBuildNSWSub(e->builder, end, begin, ""), whole = LLVMBuildNSWSub(e->builder, end, LLVMBuildSRem(e->builder, length, tsr_emit_i64(e, lanes), ""), "");
	LLVMValueRef from = LLVMBuildSelect(e->builder, some, begin, none, ""), to = LLVMBuildSelect(e->builder, some, whole, none, "");
	channels(x, at, none, from, false);
	x->whole = true;
	channels(x, at, from, to, false);
	x->whole = false;
	return to;
}

/* Of the channels this thread's, and where whole vectors of them begin and end. */
typedef struct range { LLVMValueRef first, line, whole, all; } range;

static range range_of(tsr_places *x, LLVMValueRef at)
{
	tsr_emit *e = x->e;
	LLVMValueRef all = tsr_emit_size(e, x->loop->loop.extent), lanes = tsr_emit_i64(e, tsr_places_lanes(x));
	range r = {.first = tsr_emit_i64(e, 0), .all = all};
	if (x->loop->loop.split && e->team) {
		r.first = tsr_team_bound(e, all, false);
		r.all = tsr_team_bound(e, all, true);
	}
	r.line = first_line(x, at, r.first, r.all);
	r.whole = LLVMBuildNSWSub(e->builder, r.all, LLVMBuildSRem(e->builder, LLVMBuildNSWSub(e->builder, r.all, r.line, ""), lanes, ""), "");
	return r;
}

/* n places from `at` on. */
static void tile(tsr_places *x, LLVMValueRef at, range r)
{
	channels(x, at, r.first, r.line, true);
	if (x->torn && r.line == r.first && !(x->loop->loop.split && x->e->team))
		r.line = lanes_inside(x, at);
	channels(x, at, r.line, r.whole, false);
	channels(x, at, r.whole, r.all, true);
}

void tsr_places_tile(tsr_places *x, LLVMValueRef at, uint32_t n)
{
	x->n = n;
	tile(x, at, range_of(x, at));
}

LLVMValueRef tsr_places_some(tsr_places *x, LLVMValueRef from, LLVMValueRef to, uint32_t n)
{
	tsr_emit *e = x->e;
	LLVMValueRef rest = LLVMBuildSRem(e->builder, LLVMBuildNSWSub(e->builder, to, from, ""), tsr_emit_i64(e, n), ""), end = LLVMBuildNSWSub(e->builder, to, rest, "");
	if (tsr_emit_surely_none(from, end))
		return from;
	x->n = n;
	range r = range_of(x, from);
	tsr_emit_loop w = tsr_emit_loop_begin(e, from, end, tsr_emit_i64(e, n), TSR_FOR_SERIAL);
	tile(x, w.index, r);
	tsr_emit_loop_end(e, &w);
	return end;
}
