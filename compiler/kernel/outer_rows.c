/* Windows over channels (outer.c) for several places of a row at once:
 *
 *     for w parallel { for c parallel {
 *         let s = 0; for i reduce { for j reduce { if w + j - 1 in 0..56 { set s = s + x[.., w + j - 1, c] k[i, j, c] } } }; store y[.., w, c] = s
 *     } }
 *
 * One place alone loads two numbers for each multiply-add, the image's and the kernel's.  Of eight places side by side the kernel's are the same, and the image's are
 * those of their neighbours, so that a loop over j that is written out loads each once: a window of 3 x 3 has 13 loads where it had 48.  Sums stay in registers, one of
 * lanes for each place, which is as many as multiply-adds need that none waits for the one before.
 *
 * Of images whose channels come first the places are rows, and the lanes places of a row.  Guards that mention these are masks, which are the same for all rows; so are, in rows at
 * the edge, those of the rows, and what is left over begins within the rows before.  (7 x 7 for each channel of 28 x 28 took five times as long, with one sum that waited for itself.)
 *
 * Else places whose windows reach over an edge are known while compiling, and so is what of the window they have; those that are left begin within the ones before.  Where that
 * would be much code, they go one by one, as all would without this.  Each sum is added in the order that is written either way, and
 * fused as there. */
#include "team.h"
#include "../opt/opt.h"
#include <string.h>

enum { PLACES = 8, FEWEST = 4, FEWEST_LANES = 6, MOST_INNER = 4, MOST_LOCALS = 8, LINE = 64, FEW = 4, MANY = 8, MOST_BEFORE = 16 };    /* few, many: registers of channels */

typedef struct places {
	tsr_emit *e;
	const tsr_stmt *row, *loop;                /* w, and c within it */
	tsr_groups groups;                         /* that c stands for; or none */
	uint32_t n_inner;
	const tsr_stmt *inner[MOST_INNER];         /* loops within, of known extents */
	uint32_t n_locals;
	tsr_local_id local[MOST_LOCALS];           /* of each place its own */
	bool shared;                               /* some load is the next place's, too, or sums of one place are too few */
	bool torn;                                 /* some guard mentions the lanes */
	int64_t inside, outside;                   /* the lanes' iterations that such guards let all in of: from and to */
	bool whole;                                /* only these are emitted now */
	bool edge;                                 /* windows of some of the places that are emitted now reach over an edge */
	bool parts;                                /* what guards say of a place hangs on loops alone that are written out */
	int64_t first, end;                        /* of the places whose windows reach over no edge of the row */
	uint32_t most;                             /* so many places together: of an image from memory fewer, whose lines are nearer */
	uint32_t n;                                /* of those that are emitted together */
	tsr_emit_view view[PLACES];
	LLVMValueRef mask[PLACES];                 /* what guards let in of each; NULL: all */
	bool out[PLACES];                          /* they let in none of it */
	tsr_below below;                           /* what is asked for of an image that comes from memory */
	const tsr_stmt *around;                    /* the store whose whole lines go around the caches, or NULL */
} places;

/* ---- which nests ---------------------------------------------------------------------------------------------------------- */

static const tsr_stmt *inner_of(const places *x, const tsr_lin_term *t)
{
	return tsr_loop_among(x->inner, x->n_inner, t);
}

static bool has_loop(const tsr_stmt *s)
{
	for (uint32_t i = 0; i < s->loop.body.n; i++)
		if (s->loop.body.at[i]->kind == TSR_STMT_FOR)
			return true;
	return false;
}

/* The iterations of the loop, whose places these are, for which the guard lets everything in; false: it also hangs on what is not known here. */
static bool within(const places *x, const tsr_range *r, uint32_t sym, int64_t *from, int64_t *to)
{
	int64_t step = tsr_lin_coef(&r->index, sym), least = r->index.offset, most = r->index.offset;
	if (step <= 0 || !tsr_size_is_const(r->size) || !tsr_size_is_const(r->index.base))
		return false;
	least += r->index.base.k, most += r->index.base.k;
	for (uint32_t i = 0; i < r->index.n; i++) {
		const tsr_lin_term *t = &r->index.terms[i];
		const tsr_stmt *s = inner_of(x, t);
		if (t->kind == TSR_LSYM_LOOP && t->id == sym)
			continue;
		if (!s)
			return false;
		*(t->coef < 0 ? &least : &most) += t->coef * (s->loop.extent.k - 1);
	}
	int64_t first = least < 0 ? (-least + step - 1) / step : 0, last = r->size.k - 1 - most;
	*from = *from > first ? *from : first;
	last = last < 0 ? 0 : last / step + 1;
	*to = *to < last ? *to : last;
	return true;
}

/* Loops that such a guard mentions are written out: with places that are known, it is known at each position. */
static bool known_of(const places *x, const tsr_range *r)
{
	for (uint32_t i = 0; i < r->index.n; i++) {
		const tsr_stmt *s = inner_of(x, &r->index.terms[i]);
		if (s && (s->loop.extent.k > TSR_MOST_WRITTEN || has_loop(s)))
			return false;
	}
	return true;
}

static bool third_is_enough(const places *x)
{
	enum { LONG = 1024 };       /* bytes of a place's channels */
	return x->below.image && (tsr_target_few_registers(x->e->target) || (tsr_size_is_const(x->loop->loop.extent) && x->loop->loop.extent.k * 4 >= LONG));
}

/* Neighbours' windows, which are so far apart, have more in common along the axis than not; or, where channels come first, something.  (5 x 5 and 7 x 7 that move by two 2.1 to 2.6 times as fast,
 * with AVX2's instructions 1.3 to 1.8, 5 x 5 by three 1.4 and 1.1; 2 x 2 0.85.  Of 3 x 3 by two neighbours have a third in common, which is enough where the rows
 * below are asked for, and registers are few (1.08 to 2.3) or channels many (of 256 2.0, greatest 1.5; of 64 0.93 and 0.76, of 128 1.2 and 0.86).) */
static bool neighbours_share(const places *x, const tsr_expr *load, uint32_t axis, const tsr_stmt *window)
{
	int64_t step = window ? tsr_lin_coef(&load->load.index[axis], x->row->loop.sym) : 0;
	return step == 1 || (step > 1 && step <= TSR_MOST_STRIDE && window->loop.extent.k > step + !third_is_enough(x)) || (step == 2 && tsr_emit_strided(x->e, x->loop, load->load.buffer, load->load.index));
}

static void note_loads(places *x, tsr_expr *v)
{
	tsr_expr *part[TSR_MOST_PARTS];
	bool row = false;
	for (uint32_t i = tsr_expr_parts(v, part); i-- > 0;)
		note_loads(x, part[i]);
	if (v->kind == TSR_EXPR_LOAD)
		tsr_below_note(x->e, &x->below, x->row, x->loop, x->inner, x->n_inner, v);
	for (uint32_t axis = 0; v->kind == TSR_EXPR_LOAD && axis < x->e->loops->buffers.at[v->load.buffer]->rank; axis++) {
		row |= tsr_lin_mentions(&v->load.index[axis], x->row->loop.sym);
		for (uint32_t i = 0; i < v->load.index[axis].n; i++)
			x->shared |= neighbours_share(x, v, axis, inner_of(x, &v->load.index[axis].terms[i]));
	}
	x->shared |= x->groups.group && v->kind == TSR_EXPR_LOAD && !row;
}

static bool plain(places *x, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		switch (s->kind) {
		case TSR_STMT_LET:
			if (x->n_locals == MOST_LOCALS)
				return false;
			x->local[x->n_locals++] = s->let.local;
			note_loads(x, s->let.value);
			break;
		case TSR_STMT_SET:
			note_loads(x, s->let.value);
			break;
		case TSR_STMT_STORE:
			break;
		case TSR_STMT_FOR:
			if (x->n_inner == MOST_INNER || !tsr_size_is_const(s->loop.extent) || s->loop.extent.k <= 0)
				return false;
			x->inner[x->n_inner++] = s;
			if (!plain(x, &s->loop.body))
				return false;
			break;
		case TSR_STMT_IF:
			for (uint32_t r = 0; r < s->cond.n; r++) {
				bool lanes = tsr_lin_mentions(&s->cond.ranges[r].index, x->loop->loop.sym), row = tsr_lin_mentions(&s->cond.ranges[r].index, x->row->loop.sym);
				if ((lanes && (row || tsr_lin_coef(&s->cond.ranges[r].index, x->loop->loop.sym) < 1 || !within(x, &s->cond.ranges[r], x->loop->loop.sym, &x->inside, &x->outside)))
					|| (row && !within(x, &s->cond.ranges[r], x->row->loop.sym, &x->first, &x->end)))
					return false;
				x->torn |= lanes;
				x->parts &= !row || known_of(x, &s->cond.ranges[r]);
			}
			if (!plain(x, &s->cond.body))
				return false;
			break;
		case TSR_STMT_UPDATE: case TSR_STMT_LETSYM: case TSR_STMT_RANDOM: case TSR_STMT_CHECK: case TSR_STMT_KERNEL: case TSR_STMT_KINDS:
			return false;
		}
	}
	return true;
}

/* Of a register. */
static unsigned lanes_of(const places *x) { return x->groups.group ? (unsigned)x->groups.lanes : x->e->target->vector_bytes / 4; }

/* The store that goes around the caches, of rows that are whole lines, each a register. */
static const tsr_stmt *around_of(const places *x)
{
	const tsr_stmt *s = tsr_emit_streams(x->e, x->loop) ? tsr_emit_around_of(x->loop) : NULL;
	const tsr_buffer *b = s ? x->e->loops->buffers.at[s->store.buffer] : NULL;
	if (!b || !b->rank || x->groups.group || x->torn || tsr_prec_bytes(b->prec) != 4 || x->e->target->vector_bytes != LINE || tsr_emit_along(x->e, x->loop, s->store.buffer, s->store.index) != 1)
		return NULL;
	const tsr_size row = b->dims[tsr_buffer_last(b)];
	return tsr_size_is_const(row) && row.k * tsr_prec_bytes(b->prec) % LINE == 0 ? s : NULL;
}

static bool understand(places *x, const tsr_stmt *s)
{
	const tsr_stmt *c = s->loop.body.n == 1 ? s->loop.body.at[0] : NULL;
	tsr_emit *e = x->e;
	if (e->wide || s->loop.how != TSR_FOR_PARALLEL || tsr_emit_streams(e, s) || s->loop.contraction || !tsr_size_is_const(s->loop.extent) || !c
		|| c->kind != TSR_STMT_FOR || c->loop.contraction || !tsr_size_is_const(c->loop.extent))
		return false;
	x->row = s, x->loop = c->loop.split || !tsr_emit_has_masks(e) ? NULL : tsr_emit_groups(e, c, &x->groups);
	x->shared = x->loop && x->groups.count * 4 < FEW * (int64_t)e->target->vector_bytes;
	if (!x->loop)
		x->loop = c;
	c = x->loop;
	x->first = 0, x->end = s->loop.extent.k, x->parts = true;
	x->inside = 0, x->outside = c->loop.extent.k;
	bool shares = s->loop.split && !x->groups.group;
	if (shares || !plain(x, &c->loop.body) || (s->loop.split && (x->first || x->end < s->loop.extent.k)) || (x->torn && s->loop.extent.k % FEWEST && !tsr_emit_may_repeat(&c->loop.body)))
		return false;
	x->around = around_of(x);
	if ((x->torn && !tsr_emit_has_masks(e)) || (tsr_emit_streams(e, c) && !x->below.image))        /* what asks for nothing goes around the caches place by place */
		return false;
	x->parts &= !x->torn && x->first <= MOST_BEFORE;
	x->most = x->below.image ? FEWEST : PLACES;
	return x->shared && tsr_emit_outer_pays(e, c, x->torn || tsr_emit_has_masks(e) ? FEWEST_LANES : lanes_of(x), x->groups.group ? &x->groups : NULL)
		&& (x->torn || x->parts ? s->loop.extent.k : x->end - x->first) >= FEWEST;
}

/* ---- emission -------------------------------------------------------------------------------------------------------------- */

static void stand(places *x, uint32_t sym, LLVMValueRef at)
{
	for (uint32_t k = 0; k < x->n; k++)
		x->view[k].syms[sym] = at;
}

static void side_by_side(places *x, const tsr_stmts *body);

static void each_in_turn(places *x, const tsr_stmt *s)
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
		w.mask = x->mask[k];
		tsr_emit_stmts(e, &one);
	}
	e->wide = all;
	tsr_emit_enter(e, &outside);
}

/* What is left of a guard is the same for all places, but for masks. */
typedef struct guard { uint32_t n; tsr_range *ranges; LLVMBasicBlockRef after; LLVMValueRef mask[PLACES]; bool out[PLACES]; } guard;

static guard what_is_left(const places *x, const tsr_stmt *s)
{
	guard g = {.ranges = TSR_NEW_N(x->e->tc->arena, tsr_range, s->cond.n + 1)};
	for (uint32_t i = 0; i < s->cond.n; i++)
		if (!tsr_lin_mentions(&s->cond.ranges[i].index, x->row->loop.sym) && !tsr_lin_mentions(&s->cond.ranges[i].index, x->loop->loop.sym))
			g.ranges[g.n++] = s->cond.ranges[i];
	return g;
}

static LLVMValueRef both(tsr_emit *e, LLVMValueRef x, LLVMValueRef y) { return x && y ? LLVMBuildAnd(e->builder, x, y, "") : x ? x : y; }

/* Lanes that such ranges let in, which are the same in all rows. */
static LLVMValueRef lanes_in(places *x, const tsr_stmt *s)
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

/* Of each place what the guard lets in of it, beside what was before: all or nothing, where the place and the position in its window are known. */
static void enter_masks(places *x, guard *g, const tsr_stmt *s)
{
	tsr_emit *e = x->e;
	tsr_emit_view outside = tsr_emit_view_now(e);
	tsr_emit_enter(e, &x->view[0]);
	LLVMValueRef lanes = x->torn && !x->whole ? lanes_in(x, s) : NULL;
	for (uint32_t k = 0; k < x->n; k++) {
		g->mask[k] = x->mask[k], g->out[k] = x->out[k];
		x->mask[k] = both(e, x->mask[k], lanes);
		tsr_emit_enter(e, &x->view[k]);
		for (uint32_t i = 0; i < s->cond.n && x->edge; i++)
			if (tsr_lin_mentions(&s->cond.ranges[i].index, x->row->loop.sym)) {
				LLVMValueRef in = tsr_emit_in_ranges(e, 1, &s->cond.ranges[i]);
				x->out[k] |= LLVMIsConstant(in) && !LLVMConstIntGetZExtValue(in);
				if (!LLVMIsConstant(in))
					x->mask[k] = both(e, x->mask[k], tsr_emit_splat(e, in, LLVMVectorType(e->i1, e->wide->lanes)));
			}
	}
	tsr_emit_enter(e, &outside);
}

static void leave_masks(places *x, const guard *g)
{
	memcpy(x->mask, g->mask, sizeof x->mask);
	memcpy(x->out, g->out, sizeof x->out);
}

static void enter_guard(places *x, guard *g)
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

static void leave_guard(places *x, const guard *g)
{
	tsr_emit *e = x->e;
	if (!g->n)
		return;
	LLVMBuildBr(e->builder, g->after);
	LLVMMoveBasicBlockAfter(g->after, LLVMGetInsertBlock(e->builder));
	LLVMPositionBuilderAtEnd(e->builder, g->after);
}

/* A loop that is written out: what is left of a guard and does not mention it is asked once, so that nothing parts the loads. */
static void written_out(places *x, const tsr_stmt *s)
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

static void loop_of_all(places *x, const tsr_stmt *s)
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

static void guarded(places *x, const tsr_stmt *s)
{
	guard g = what_is_left(x, s);
	enter_guard(x, &g);
	enter_masks(x, &g, s);
	side_by_side(x, &s->cond.body);
	leave_masks(x, &g);
	leave_guard(x, &g);
}

static void side_by_side(places *x, const tsr_stmts *body)
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
static void channels(places *x, LLVMValueRef at, LLVMValueRef from, LLVMValueRef to, bool some)
{
	tsr_emit *e = x->e;
	bool masked = some && tsr_emit_has_masks(e);
	unsigned lanes = some && !masked ? 1 : lanes_of(x);
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
		x->mask[k] = w.mask;
	}
	tsr_below_ask(e, &x->below, x->inner, x->n_inner, at, x->n, c.index);
	e->wide = &w, e->places = true;
	side_by_side(x, &x->loop->loop.body);
	e->wide = NULL, e->places = false;
	tsr_emit_loop_end(e, &c);
}

/* The result's store, where all rows of a buffer of many channels begin at the same place of a line; or NULL. */
static const tsr_stmt *in_lines(const places *x)
{
	const tsr_stmt *s = x->loop->loop.body.at[x->loop->loop.body.n - 1];
	const tsr_buffer *b = s->kind == TSR_STMT_STORE ? x->e->loops->buffers.at[s->store.buffer] : NULL;
	bool known = b && tsr_emit_has_masks(x->e) && !x->groups.group && b->rank && tsr_emit_along(x->e, x->loop, s->store.buffer, s->store.index) == 1 && tsr_size_is_const(b->dims[tsr_buffer_last(b)]) && tsr_emit_foreign(b);
	return known && b->dims[tsr_buffer_last(b)].k * tsr_prec_bytes(b->prec) % LINE == 0 && x->loop->loop.extent.k * 4 >= MANY * (int64_t)x->e->target->vector_bytes ? s : NULL;
}

/* Where a line of the result begins: each of a caller's vectors would lie across two lines.  That costs a mask more at either end (3x3, arrays that begin 16 bytes behind a
 * line, of 128 channels 1.06 times as fast so, of 256 and 512 1.15, of 64 0.92). */
static LLVMValueRef first_line(places *x, LLVMValueRef at, LLVMValueRef from, LLVMValueRef to)
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

/* The lanes up to those that guards let all in of, and these; where the others begin. */
static LLVMValueRef lanes_inside(places *x, LLVMValueRef at)
{
	tsr_emit *e = x->e;
	int64_t lanes = lanes_of(x), from = (x->inside + lanes - 1) / lanes * lanes, to = from + (x->outside > from ? (x->outside - from) / lanes * lanes : 0);
	if (to == from)
		return tsr_emit_i64(e, 0);
	channels(x, at, tsr_emit_i64(e, 0), tsr_emit_i64(e, from), false);
	x->whole = true;
	channels(x, at, tsr_emit_i64(e, from), tsr_emit_i64(e, to), false);
	x->whole = false;
	return tsr_emit_i64(e, to);
}

/* Of the channels this thread's, and where whole vectors of them begin and end. */
typedef struct range { LLVMValueRef first, line, whole, all; } range;

static range range_of(places *x, LLVMValueRef at)
{
	tsr_emit *e = x->e;
	LLVMValueRef all = tsr_emit_size(e, x->loop->loop.extent), lanes = tsr_emit_i64(e, lanes_of(x));
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
static void tile(places *x, LLVMValueRef at, range r)
{
	channels(x, at, r.first, r.line, true);
	if (x->torn && r.line == r.first && !(x->loop->loop.split && x->e->team))
		r.line = lanes_inside(x, at);
	channels(x, at, r.line, r.whole, false);
	channels(x, at, r.whole, r.all, true);
}

/* Places from .. to, n at a time; where those that are left begin. */
static LLVMValueRef some(places *x, LLVMValueRef from, LLVMValueRef to, uint32_t n)
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

static int64_t together(places *x, int64_t from, int64_t to, uint32_t n)
{
	some(x, tsr_emit_i64(x->e, from), tsr_emit_i64(x->e, to), n);
	return from + (to - from) / n * n;
}

/* Those before `first` and from `rest` on, one by one. */
static void one_by_one(places *x, int64_t before, int64_t rest)
{
	tsr_emit *e = x->e;
	int64_t extent = x->row->loop.extent.k;
	LLVMValueRef first = tsr_emit_i64(e, before);
	tsr_emit_loop w = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), tsr_emit_i64(e, before + extent - rest), tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
	LLVMValueRef behind = LLVMBuildNSWAdd(e->builder, w.index, tsr_emit_i64(e, rest - before), "");
	e->syms[x->row->loop.sym] = LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, w.index, first, ""), w.index, behind, "");
	tsr_emit_stmts(e, &x->row->loop.body);
	tsr_emit_loop_end(e, &w);
}

/* Rows of lanes that are torn: those at the edges by masks, too, as many together as there are of the fewest. */
static void rows_with_edges(places *x)
{
	int64_t extent = x->row->loop.extent.k, least = FEWEST, lead = (x->first + least - 1) / least * least, rest;
	x->edge = true;
	rest = together(x, 0, lead < extent / least * least ? lead : extent / least * least, FEWEST);
	x->edge = false;
	for (uint32_t n = x->most; n >= FEWEST; n /= 2)
		if (rest < x->end)
			rest = together(x, rest, x->end, n);
	x->edge = true;
	rest = together(x, rest, extent, FEWEST);
	if (rest < extent)
		together(x, extent - least, extent, FEWEST);
}

/* Of known places n from that one on, some of which may lie at an edge. */
static int64_t at_edge(places *x, int64_t at, uint32_t n)
{
	x->n = n, x->edge = true;
	tile(x, tsr_emit_i64(x->e, at), range_of(x, tsr_emit_i64(x->e, at)));
	x->edge = false;
	return at + n;
}

/* All, those at the edges at places that are known; where those that are left begin. */
static int64_t all_places(places *x)
{
	int64_t extent = x->row->loop.extent.k, at = 0;
	while (at < x->first && at + x->most <= extent)
		at = at_edge(x, at, x->most);
	if (at >= x->first && at < x->end)
		at = together(x, at, x->end, x->most);
	while (at + FEWEST <= extent)
		at = at_edge(x, at, at + x->most <= extent ? x->most : FEWEST);
	return at == extent || !tsr_emit_may_repeat(&x->loop->loop.body) ? at : at_edge(x, extent - FEWEST, FEWEST);
}

/* Threads' shares of places of which none reaches over an edge. */
static void share(places *x, LLVMValueRef from, LLVMValueRef to)
{
	tsr_emit *e = x->e;
	from = some(x, from, to, x->most);
	from = some(x, from, to, FEWEST);
	tsr_emit_loop w = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
	e->syms[x->row->loop.sym] = w.index;
	tsr_emit_stmts(e, &x->row->loop.body);
	tsr_emit_loop_end(e, &w);
}

bool tsr_emit_outer_rows(tsr_emit *e, const tsr_stmt *s, LLVMValueRef from, LLVMValueRef to)
{
	places x = {.e = e};
	if (!understand(&x, s))
		return false;
	LLVMValueRef outside = e->syms[s->loop.sym];
	bool written = e->written, reorder = e->reorder;
	e->written = true, e->reorder = false;
	int64_t before = 0, rest = s->loop.extent.k;
	if (s->loop.split)
		share(&x, from, to);
	else if (x.torn)
		rows_with_edges(&x);
	else if (x.parts)
		rest = all_places(&x);
	else
		before = x.first, rest = together(&x, together(&x, before, x.end, x.most), x.end, FEWEST);
	e->written = written, e->reorder = reorder;
	if (before || rest < s->loop.extent.k)
		one_by_one(&x, before, rest);
	e->syms[s->loop.sym] = outside;
	return true;
}
