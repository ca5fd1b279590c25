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
#include "outer_rows.h"

enum { FEWEST = 4, FEWEST_LANES = 6, LINE = 64, FEW = 4, MOST_BEFORE = 16 };    /* few: registers of channels */

/* ---- which nests ---------------------------------------------------------------------------------------------------------- */

static const tsr_stmt *inner_of(const tsr_places *x, const tsr_lin_term *t)
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

/* Notes the iterations of the loop, the row's or the lanes', for which the guard lets everything in; false: it also hangs on what is not known here. */
static bool within(tsr_places *x, const tsr_range *r, uint32_t sym)
{
	int64_t step = tsr_lin_coef(&r->index, sym), least = r->index.offset, most = r->index.offset;
	if (step <= 0 || !tsr_size_is_const(r->index.base))
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
	bool row = sym == x->row->loop.sym;
	int64_t *from = row ? &x->first : &x->inside, *to = row ? &x->end : &x->outside;
	*from = *from > first ? *from : first;
	last = last < 0 ? 0 : last / step + 1;
	if (tsr_size_is_const(r->size)) {
		*to = *to < last ? *to : last;
		return true;
	}
	uint32_t *n = row ? &x->n_row_ends : &x->n_lane_ends;
	if (*n == TSR_MOST_ENDS)
		return false;
	(row ? x->row_end : x->lane_end)[(*n)++] = (tsr_places_end){ r->size, most, step };
	x->later = true;
	return true;
}

/* Loops that such a guard mentions are written out: with places that are known, it is known at each position. */
static bool known_of(const tsr_places *x, const tsr_range *r)
{
	for (uint32_t i = 0; i < r->index.n; i++) {
		const tsr_stmt *s = inner_of(x, &r->index.terms[i]);
		if (s && (s->loop.extent.k > TSR_MOST_WRITTEN || has_loop(s)))
			return false;
	}
	return true;
}

static bool third_is_enough(const tsr_places *x)
{
	enum { LONG = 1024 };       /* bytes of a place's channels */
	return x->below.image && (tsr_target_few_registers(x->e->target) || (tsr_size_is_const(x->loop->loop.extent) && x->loop->loop.extent.k * 4 >= LONG));
}

/* Neighbours' windows, which are so far apart, have more in common along the axis than not; or, where channels come first, something.  (5 x 5 and 7 x 7 that move by two 2.1 to 2.6 times as fast,
 * with AVX2's instructions 1.3 to 1.8, 5 x 5 by three 1.4 and 1.1; 2 x 2 0.85.  Of 3 x 3 by two neighbours have a third in common, which is enough where the rows
 * below are asked for, and registers are few (1.08 to 2.3) or channels many (of 256 2.0, greatest 1.5; of 64 0.93 and 0.76, of 128 1.2 and 0.86).) */
static bool neighbours_share(const tsr_places *x, const tsr_expr *load, uint32_t axis, const tsr_stmt *window)
{
	int64_t step = window ? tsr_lin_coef(&load->load.index[axis], x->row->loop.sym) : 0;
	return step == 1 || (step > 1 && step <= TSR_MOST_STRIDE && window->loop.extent.k > step + !third_is_enough(x)) || (step == 2 && tsr_emit_strided(x->e, x->loop, load->load.buffer, load->load.index));
}

static void note_loads(tsr_places *x, tsr_expr *v)
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

static bool plain(tsr_places *x, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		switch (s->kind) {
		case TSR_STMT_LET:
			if (x->n_locals == TSR_MOST_LOCALS)
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
			if (x->n_inner == TSR_MOST_INNER || !tsr_size_is_const(s->loop.extent) || s->loop.extent.k <= 0)
				return false;
			x->inner[x->n_inner++] = s;
			if (!plain(x, &s->loop.body))
				return false;
			break;
		case TSR_STMT_IF:
			for (uint32_t r = 0; r < s->cond.n; r++) {
				bool lanes = tsr_lin_mentions(&s->cond.ranges[r].index, x->loop->loop.sym), row = tsr_lin_mentions(&s->cond.ranges[r].index, x->row->loop.sym);
				if ((lanes && (row || tsr_lin_coef(&s->cond.ranges[r].index, x->loop->loop.sym) < 1 || !within(x, &s->cond.ranges[r], x->loop->loop.sym)))
					|| (row && !within(x, &s->cond.ranges[r], x->row->loop.sym)))
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

/* The store that goes around the caches, of rows that are whole lines, each a register. */
static const tsr_stmt *around_of(const tsr_places *x)
{
	const tsr_stmt *s = tsr_emit_streams(x->e, x->loop) ? tsr_emit_around_of(x->loop) : NULL;
	const tsr_buffer *b = s ? x->e->loops->buffers.at[s->store.buffer] : NULL;
	if (!b || !b->rank || x->groups.group || x->torn || tsr_prec_bytes(b->prec) != 4 || x->e->target->vector_bytes != LINE || tsr_emit_along(x->e, x->loop, s->store.buffer, s->store.index) != 1)
		return NULL;
	const tsr_size row = b->dims[tsr_buffer_last(b)];
	return tsr_size_is_const(row) && row.k * tsr_prec_bytes(b->prec) % LINE == 0 ? s : NULL;
}

static int64_t known(const tsr_stmt *loop) { return tsr_size_is_const(loop->loop.extent) ? loop->loop.extent.k : INT64_MAX; }

/* If threads share the places of groups none is at an edge; what is left over of rows that are torn is computed twice. */
static bool may_be_divided(const tsr_places *x)
{
	int64_t extent = x->row->loop.extent.k;
	return (!x->row->loop.split || (!x->first && x->end >= extent)) && (!x->torn || extent % FEWEST == 0 || tsr_emit_may_repeat(&x->loop->loop.body));
}

static bool understand(tsr_places *x, const tsr_stmt *s)
{
	const tsr_stmt *c = s->loop.body.n == 1 ? s->loop.body.at[0] : NULL;
	tsr_emit *e = x->e;
	if (e->wide || s->loop.how != TSR_FOR_PARALLEL || tsr_emit_streams(e, s) || s->loop.contraction || !c || c->kind != TSR_STMT_FOR || c->loop.contraction)
		return false;
	x->row = s, x->loop = c->loop.split || !tsr_emit_has_masks(e) || !tsr_size_is_const(c->loop.extent) ? NULL : tsr_emit_groups(e, c, &x->groups);
	x->shared = x->loop && x->groups.count * 4 < FEW * (int64_t)e->target->vector_bytes;
	if (!x->loop)
		x->loop = c;
	c = x->loop;
	x->first = 0, x->end = known(s), x->parts = true;
	x->inside = 0, x->outside = known(c);
	x->later = !tsr_size_is_const(s->loop.extent) || !tsr_size_is_const(c->loop.extent) || (s->loop.split && !x->groups.group);
	if (!plain(x, &c->loop.body) || (!x->later && !may_be_divided(x)))
		return false;
	x->around = around_of(x);
	if ((x->torn && !tsr_emit_has_masks(e)) || (tsr_emit_streams(e, c) && !x->below.image))        /* what asks for nothing goes around the caches place by place */
		return false;
	x->known = x->parts;
	x->parts &= !x->torn && !x->later && x->first <= MOST_BEFORE;
	x->most = x->below.image ? FEWEST : TSR_MOST_PLACES;
	return x->shared && tsr_emit_outer_pays(e, c, x->torn || tsr_emit_has_masks(e) ? FEWEST_LANES : tsr_places_lanes(x), x->groups.group ? &x->groups : NULL)
		&& (x->later || (x->torn || x->parts ? s->loop.extent.k : x->end - x->first) >= FEWEST);
}

/* ---- all places ------------------------------------------------------------------------------------------------------------ */

static int64_t together(tsr_places *x, int64_t from, int64_t to, uint32_t n)
{
	tsr_places_some(x, tsr_emit_i64(x->e, from), tsr_emit_i64(x->e, to), n);
	return from + (to - from) / n * n;
}

/* Those from .. before and rest .. to, one by one. */
static void one_by_one(tsr_places *x, LLVMValueRef from, LLVMValueRef before, LLVMValueRef rest, LLVMValueRef to)
{
	tsr_emit *e = x->e;
	LLVMValueRef between = LLVMBuildNSWSub(e->builder, rest, before, "");
	tsr_emit_loop w = tsr_emit_loop_begin(e, from, LLVMBuildNSWSub(e->builder, to, between, ""), tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
	LLVMValueRef behind = LLVMBuildNSWAdd(e->builder, w.index, between, "");
	e->syms[x->row->loop.sym] = LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, w.index, before, ""), w.index, behind, "");
	tsr_emit_stmts(e, &x->row->loop.body);
	tsr_emit_loop_end(e, &w);
}

/* Rows of lanes that are torn: those at the edges by masks, too, as many together as there are of the fewest. */
static void rows_with_edges(tsr_places *x)
{
	int64_t extent = x->row->loop.extent.k, least = FEWEST, lead = (x->first + least - 1) / least * least, rest;
	x->edge = TSR_EDGE_ANY;
	rest = together(x, 0, lead < extent / least * least ? lead : extent / least * least, FEWEST);
	x->edge = TSR_EDGE_NONE;
	for (uint32_t n = x->most; n >= FEWEST; n /= 2)
		if (rest < x->end)
			rest = together(x, rest, x->end, n);
	x->edge = TSR_EDGE_ANY;
	rest = together(x, rest, extent, FEWEST);
	if (rest < extent)
		together(x, extent - least, extent, FEWEST);
}

/* Of known places n from that one on, some of which may lie at an edge. */
static int64_t at_edge(tsr_places *x, int64_t at, uint32_t n)
{
	x->edge = TSR_EDGE_ANY;
	tsr_places_tile(x, tsr_emit_i64(x->e, at), n);
	x->edge = TSR_EDGE_NONE;
	return at + n;
}

/* All, those at the edges at places that are known; where those that are left begin. */
static int64_t all_places(tsr_places *x)
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
static void share(tsr_places *x, LLVMValueRef from, LLVMValueRef to)
{
	tsr_emit *e = x->e;
	from = tsr_places_some(x, from, to, x->most);
	from = tsr_places_some(x, from, to, FEWEST);
	tsr_emit_loop w = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
	e->syms[x->row->loop.sym] = w.index;
	tsr_emit_stmts(e, &x->row->loop.body);
	tsr_emit_loop_end(e, &w);
}

/* Places whose windows reach over no edge, so many together and then fewer; where those that are left begin. */
static LLVMValueRef inner_places(tsr_places *x, LLVMValueRef from, LLVMValueRef to)
{
	for (uint32_t n = x->most; n >= FEWEST; n /= 2)
		from = tsr_places_some(x, from, to, n);
	return from;
}

/* One thread walks a row of which only the run knows how long it is, few windows of which reach over an edge: then, of a long one, is known which. */
static bool knows_edges(const tsr_places *x)
{
	tsr_size all = x->row->loop.extent;
	bool known = x->known && !(x->row->loop.split && x->e->team) && x->end == INT64_MAX && x->first <= FEWEST && tsr_emit_may_repeat(&x->loop->loop.body);
	for (uint32_t i = 0; i < x->n_row_ends; i++) {
		int64_t beside;
		const tsr_places_end *r = &x->row_end[i];
		known &= tsr_places_beside(x->e, all, r->step, r->size, &beside) && r->most - beside <= r->step * FEWEST;
	}
	return known;
}

/* What is left over, with some of those before if there are enough; where those begin that are left still. */
static LLVMValueRef last_places(tsr_places *x, LLVMValueRef from, LLVMValueRef at, LLVMValueRef to)
{
	tsr_emit *e = x->e;
	if (!tsr_emit_may_repeat(&x->loop->loop.body))
		return at;
	LLVMValueRef last = LLVMBuildNSWSub(e->builder, to, tsr_emit_i64(e, FEWEST), "");
	LLVMValueRef left = LLVMBuildAnd(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, at, to, ""), LLVMBuildICmp(e->builder, LLVMIntSLE, from, last, ""), "");
	tsr_places_some(x, LLVMBuildSelect(e->builder, left, last, to, ""), to, FEWEST);
	return LLVMBuildSelect(e->builder, left, to, at, "");
}

/* Of such a row, in which these are some, those at the edges are known; the last ones are computed with some of those before. */
static void places_of_long_row(tsr_places *x, LLVMValueRef to, LLVMValueRef end)
{
	tsr_emit *e = x->e;
	LLVMValueRef at = tsr_emit_i64(e, 0), last = LLVMBuildNSWSub(e->builder, to, tsr_emit_i64(e, TSR_MOST_PLACES), "");
	if (x->first) {
		x->edge = TSR_EDGE_FIRST;
		tsr_places_tile(x, at, FEWEST);
		at = tsr_emit_i64(e, FEWEST);
	}
	x->edge = TSR_EDGE_NONE;
	at = tsr_places_some(x, at, end, x->most);
	LLVMValueRef left = LLVMBuildNSWAdd(e->builder, LLVMBuildNSWSub(e->builder, last, at, ""), tsr_emit_i64(e, FEWEST - 1), "");
	tsr_places_some(x, at, LLVMBuildNSWAdd(e->builder, at, LLVMBuildAnd(e->builder, left, tsr_emit_i64(e, -FEWEST), ""), ""), FEWEST);
	x->edge = TSR_EDGE_LAST;
	tsr_places_tile(x, last, TSR_MOST_PLACES);
	x->edge = TSR_EDGE_NONE;
}

/* Some of which may reach over an edge, from `at` on. */
static void edges(tsr_places *x, LLVMValueRef from, LLVMValueRef at, LLVMValueRef to)
{
	x->edge = TSR_EDGE_ANY;
	at = last_places(x, from, tsr_places_some(x, at, to, FEWEST), to);
	tsr_places_some(x, at, to, 1);
	x->edge = TSR_EDGE_NONE;
}

/* Of as many as only the run knows, or of which it knows where they reach over an edge: those by masks. */
static void places_later(tsr_places *x, LLVMValueRef from, LLVMValueRef to, LLVMValueRef first, LLVMValueRef end)
{
	tsr_emit *e = x->e;
	LLVMValueRef whole = LLVMBuildNSWAdd(e->builder, LLVMBuildNSWSub(e->builder, first, from, ""), tsr_emit_i64(e, FEWEST - 1), "");
	LLVMValueRef lead = tsr_emit_chosen(e, LLVMIntSLT, LLVMBuildNSWAdd(e->builder, from, LLVMBuildAnd(e->builder, whole, tsr_emit_i64(e, -FEWEST), ""), ""), to);
	x->edge = TSR_EDGE_ANY;
	LLVMValueRef at = tsr_places_some(x, from, lead, FEWEST);
	x->edge = TSR_EDGE_NONE;
	edges(x, from, inner_places(x, at, tsr_emit_chosen(e, LLVMIntSGT, end, at)), to);
}

/* Those before *before and from *rest on are left for one by one. */
static void later(tsr_places *x, LLVMValueRef from, LLVMValueRef to, LLVMValueRef *before, LLVMValueRef *rest)
{
	tsr_emit *e = x->e;
	LLVMValueRef first = tsr_emit_chosen(e, LLVMIntSLT, tsr_emit_chosen(e, LLVMIntSGT, tsr_emit_i64(e, x->first), from), to);
	LLVMValueRef end = tsr_emit_chosen(e, LLVMIntSLT, tsr_places_end_of(e, x->end, x->n_row_ends, x->row_end, tsr_emit_size(e, x->row->loop.extent)), to);
	end = tsr_emit_chosen(e, LLVMIntSGT, end, first);
	*before = *rest = to;
	if (knows_edges(x) && !e->seldom) {
		tsr_emit_fork f = tsr_emit_fork_usual(e, LLVMBuildICmp(e->builder, LLVMIntSGE, to, tsr_emit_i64(e, FEWEST + TSR_MOST_PLACES), ""), "long");
		places_of_long_row(x, to, end);
		tsr_emit_fork_other(e, &f);
		if (tsr_emit_has_masks(e))
			edges(x, from, from, to);
		else
			one_by_one(x, from, to, to, to);
		tsr_emit_fork_end(e, &f);
	} else if (tsr_emit_has_masks(e) && !e->seldom)
		places_later(x, from, to, first, end);
	else
		*before = first, *rest = inner_places(x, first, end);
}

bool tsr_emit_outer_rows(tsr_emit *e, const tsr_stmt *s, LLVMValueRef from, LLVMValueRef to)
{
	tsr_places x = {.e = e};
	if (!understand(&x, s) || (e->seldom && x.torn))
		return false;
	x.most = e->seldom ? FEWEST : x.most;
	LLVMValueRef outside = e->syms[s->loop.sym];
	bool written = e->written, reorder = e->reorder;
	e->written = true, e->reorder = false;
	int64_t before = 0, rest = s->loop.extent.k;
	LLVMValueRef first = to, last = to;           /* those before and from there on are left */
	if (x.later)
		later(&x, from, to, &first, &last);
	else if (s->loop.split)
		share(&x, from, to);
	else if (x.torn)
		rows_with_edges(&x);
	else if (x.parts && !e->seldom)
		rest = all_places(&x);
	else
		before = x.first, rest = together(&x, together(&x, before, x.end, x.most), x.end, FEWEST);
	if (before || rest < s->loop.extent.k)
		first = tsr_emit_i64(e, before), last = tsr_emit_i64(e, rest);
	e->written = written, e->reorder = reorder;
	if (first != to)
		one_by_one(&x, from, first, last, to);
	e->syms[s->loop.sym] = outside;
	return true;
}
