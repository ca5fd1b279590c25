/* Sums for each place of a window, over all of an image (opt/window_sums.c says which, and what lanes are).
 *
 * Where lanes are steps of a row each sum has a register of its own, whose lanes are joined at the end.  Where windows reach over the ends of the row, or it ends within a register, masks are
 * constants.
 *
 * Where images are larger than the second cache, the outermost summed loops go around all places (`around`), and sums wait where they are stored.
 *
 * One branch says of each step whether all places' guards let it in; else each place asks its own.  Each sum adds in the order that is written, or, of a row's steps, in one that follows from the
 * row's length alone, whatever threads there are. */
#include "team.h"
#include "wide_sums.h"
#include "../opt/opt.h"

enum { WRITTEN = 8, SELDOM = 2 };         /* places together where the sums are seldom asked for */

typedef struct sums {
	tsr_emit *e;
	tsr_window_sums of;
	tsr_stmt *groups;                        /* one loop for lanes of groups, or NULL */
	uint32_t n;                              /* places that are emitted now */
	tsr_emit_view view[TSR_MOST_WINDOW_SUMS];
} sums;

static int64_t extent(const tsr_stmt *loop) { return loop->loop.extent.k; }

/* ---- emission -------------------------------------------------------------------------------------------------------------- */

/* Of the loops that are held all. */
static int64_t places_held(const sums *x)
{
	int64_t n = 1;
	for (uint32_t i = 0; i < x->of.nresults; i++)
		n *= x->of.held[i] ? extent(x->of.results[i]) : 1;
	return n;
}

static void stand(sums *x, uint32_t sym, LLVMValueRef at)
{
	x->e->syms[sym] = at;
	for (uint32_t k = 0; k < x->n; k++)
		x->view[k].syms[sym] = at;
}

/* The views of all held places, `together` of them from `base` on of the loop that is parted, which come one after the other: what a held place reads is wanted for these alone then. */
static void make_views(sums *x, LLVMValueRef base, int64_t together)
{
	tsr_emit *e = x->e;
	x->n = (uint32_t)(places_held(x) * together);
	for (uint32_t k = 0; k < x->n; k++) {
		int64_t left = k / together;
		x->view[k] = tsr_emit_view_copy(e);
		x->view[k].locals[x->of.let->let.local] = NULL;
		for (uint32_t i = x->of.nresults; i-- > 0;)
			if (x->of.held[i]) {
				x->view[k].syms[x->of.results[i]->loop.sym] = tsr_emit_i64(e, left % extent(x->of.results[i]));
				left /= extent(x->of.results[i]);
			}
		if (x->of.parted != TSR_NONE)
			x->view[k].syms[x->of.results[x->of.parted]->loop.sym] = LLVMBuildNSWAdd(e->builder, base, tsr_emit_i64(e, k % together), "");
	}
}

/* The statement for each place from `from` to `to`. */
static void each(sums *x, const tsr_stmt *s, uint32_t from, uint32_t to)
{
	tsr_stmts one = {(tsr_stmt **)&s, 1, 1};
	tsr_emit_view outside = tsr_emit_view_now(x->e);
	for (uint32_t k = from; k < to; k++) {
		tsr_emit_enter(x->e, &x->view[k]);
		tsr_emit_stmts(x->e, &one);
	}
	tsr_emit_enter(x->e, &outside);
}

/* All places' guards let in this step, but for ranges along the lanes: each range's least index and its greatest are within it.  The places are those of the views. */
static LLVMValueRef all_in(sums *x)
{
	tsr_emit *e = x->e;
	tsr_emit_view outside = tsr_emit_view_now(e);
	LLVMValueRef all = NULL;
	for (uint32_t i = 0; x->of.guard && i < x->of.guard->cond.n; i++) {
		const tsr_range *r = &x->of.guard->cond.ranges[i];
		if (x->of.along && tsr_lin_mentions(&r->index, x->of.lane->loop.sym))
			continue;
		for (int most = 0; most < 2; most++) {
			LLVMValueRef *syms = tsr_emit_names_copy(e, x->view[0].syms, e->nsyms);
			for (uint32_t t = 0; t < r->index.n; t++) {          /* the corner: the first place along each loop or the last */
				bool last = (r->index.terms[t].coef > 0) == most;
				if (r->index.terms[t].kind == TSR_LSYM_LOOP)
					syms[r->index.terms[t].id] = x->view[last ? x->n - 1 : 0].syms[r->index.terms[t].id];
			}
			tsr_emit_enter(e, &(tsr_emit_view){syms, e->locals, e->buffers});
			LLVMValueRef in = tsr_emit_in_ranges(e, 1, r);
			all = all ? LLVMBuildAnd(e->builder, all, in, "") : in;
			tsr_emit_enter(e, &outside);
		}
	}
	return all;
}

static tsr_emit_loop begin(sums *x, const tsr_stmt *loop)
{
	tsr_emit_loop l = tsr_emit_loop_begin(x->e, tsr_emit_i64(x->e, 0), tsr_emit_size(x->e, loop->loop.extent), tsr_emit_i64(x->e, 1), TSR_FOR_SERIAL);
	stand(x, loop->loop.sym, l.index);
	return l;
}

/* What is added in one step. */
static void step(sums *x)
{
	tsr_emit *e = x->e;
	LLVMValueRef all = all_in(x);
	if (!all) {
		each(x, x->of.guard ? x->of.guard : x->of.set, 0, x->n);
		return;
	}
	tsr_emit_fork f = tsr_emit_fork_usual(e, all, "inside");
	each(x, x->of.set, 0, x->n);
	tsr_emit_fork_other(e, &f);
	each(x, x->of.guard, 0, x->n);
	tsr_emit_fork_end(e, &f);
}

/* ---- lanes that are steps of a row */

/* Which lanes of the row's register number v the guards of place k let in; all of them, some, or none. */
typedef enum known { NONE, SOME, ALL } known;

static known lanes_in(const sums *x, uint32_t k, int64_t v, unsigned lanes, LLVMValueRef *mask)
{
	tsr_emit *e = x->e;
	LLVMValueRef lane[64];
	unsigned n = 0;
	for (unsigned i = 0; i < lanes; i++) {
		int64_t at = v * lanes + i;
		bool in = at < extent(x->of.lane);
		for (uint32_t g = 0; x->of.guard && g < x->of.guard->cond.n; g++) {
			const tsr_range *r = &x->of.guard->cond.ranges[g];
			if (!tsr_lin_mentions(&r->index, x->of.lane->loop.sym))
				continue;
			int64_t index = r->index.base.k + r->index.offset;
			for (uint32_t t = 0; t < r->index.n; t++)
				index += r->index.terms[t].coef * (r->index.terms[t].id == x->of.lane->loop.sym ? at : LLVMConstIntGetSExtValue(x->view[k].syms[r->index.terms[t].id]));
			in &= index >= 0 && index < r->size.k;
		}
		lane[i] = LLVMConstInt(e->i1, in, false);
		n += in;
	}
	*mask = LLVMConstVector(lane, lanes);
	return n == 0 ? NONE : n < lanes ? SOME : ALL;
}

static void register_of(sums *x, tsr_wide *w, int64_t v, uint32_t from, uint32_t to)
{
	stand(x, x->of.lane->loop.sym, tsr_emit_i64(x->e, v * w->lanes));
	for (uint32_t k = from; k < to; k++) {
		LLVMValueRef mask;
		known in = lanes_in(x, k, v, w->lanes, &mask);
		w->mask = in == SOME ? mask : NULL;
		if (in != NONE)
			each(x, x->of.set, k, k + 1);
	}
	w->mask = NULL;
}

/* A row of these places: registers at its ends by masks, those between in a loop, or written out where they are few. */
static void row(sums *x, tsr_wide *w, uint32_t from, uint32_t to)
{
	tsr_emit *e = x->e;
	int64_t all = (extent(x->of.lane) + w->lanes - 1) / w->lanes, head = 0, tail = all;
	LLVMValueRef unused;
	for (uint32_t k = from; k < to; k++) {
		while (head < tail && lanes_in(x, k, head, w->lanes, &unused) != ALL)
			head++;
		while (tail > head && lanes_in(x, k, tail - 1, w->lanes, &unused) != ALL)
			tail--;
	}
	for (int64_t v = 0; v < all; v++) {
		if (v == head && tail - head > WRITTEN) {
			tsr_emit_loop l = tsr_emit_loop_begin(e, tsr_emit_i64(e, head * w->lanes), tsr_emit_i64(e, tail * w->lanes), tsr_emit_i64(e, w->lanes), TSR_FOR_SERIAL);
			stand(x, x->of.lane->loop.sym, l.index);
			each(x, x->of.set, from, to);
			tsr_emit_loop_end(e, &l);
			v = tail - 1;
		} else
			register_of(x, w, v, from, to);
	}
}

static void rows(sums *x, tsr_wide *w)
{
	tsr_emit *e = x->e;
	LLVMValueRef all = all_in(x);
	tsr_emit_fork f = {0};
	if (all)
		f = tsr_emit_fork_usual(e, all, "inside");
	row(x, w, 0, x->n);
	if (!all)
		return;
	tsr_emit_fork_other(e, &f);
	for (uint32_t k = 0; k < x->n; k++) {
		tsr_emit_view outside = tsr_emit_view_now(e);
		LLVMValueRef in = NULL;
		tsr_emit_enter(e, &x->view[k]);
		for (uint32_t i = 0; i < x->of.guard->cond.n; i++)
			if (!tsr_lin_mentions(&x->of.guard->cond.ranges[i].index, x->of.lane->loop.sym)) {
				LLVMValueRef one = tsr_emit_in_ranges(e, 1, &x->of.guard->cond.ranges[i]);
				in = in ? LLVMBuildAnd(e->builder, in, one, "") : one;
			}
		tsr_emit_enter(e, &outside);
		LLVMBasicBlockRef then = tsr_emit_block(e, "then"), after = tsr_emit_block(e, "after");
		LLVMBuildCondBr(e->builder, in, then, after);
		LLVMPositionBuilderAtEnd(e->builder, then);
		row(x, w, k, k + 1);
		LLVMBuildBr(e->builder, after);
		LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(e->builder));
		LLVMPositionBuilderAtEnd(e->builder, after);
	}
	tsr_emit_fork_end(e, &f);
}

/* ---- all lanes of so many places */

static void walk(sums *x, tsr_wide *w)
{
	tsr_emit_loop loop[TSR_MOST_WINDOW_LOOPS];
	uint32_t n = x->of.nsummed - x->of.along;
	for (uint32_t i = x->of.around; i < n; i++)
		loop[i] = begin(x, x->of.summed[i]);
	if (x->of.along)
		rows(x, w);
	else
		step(x);
	while (n-- > x->of.around)
		tsr_emit_loop_end(x->e, &loop[n]);
}

/* A product of what is loaded, which is 0 where that is. */
static bool zeros(const tsr_expr *v)
{
	return v->kind == TSR_EXPR_LOAD || (v->kind == TSR_EXPR_OP && v->op.op == TSR_OP_MUL && zeros(v->op.args[0]) && zeros(v->op.args[1]));
}

static void along_rows(sums *x)
{
	tsr_emit *e = x->e;
	tsr_wide w = {.loop = x->of.lane, .lanes = e->target->vector_bytes / 4, .holds = true, .zeros = zeros(x->of.set->let.value->op.args[1])};
	tsr_wide_sum sum[TSR_MOST_WINDOW_SUMS];
	tsr_emit_view outside = tsr_emit_view_now(e);
	each(x, x->of.let, 0, x->n);
	for (uint32_t k = 0; k < x->n; k++) {
		sum[k] = (tsr_wide_sum){.id = x->of.let->let.local, .prec = TSR_PREC_F32, .acc = TSR_ACC_ADD};
		tsr_emit_enter(e, &x->view[k]);
		tsr_wide_sum_begin(e, &sum[k], w.lanes);
	}
	tsr_emit_enter(e, &outside);
	e->wide = &w;
	walk(x, &w);
	e->wide = NULL;
	for (uint32_t k = 0; k < x->n; k++) {
		tsr_emit_enter(e, &x->view[k]);
		tsr_wide_sum_end(e, &w, &sum[k], w.lanes);
	}
	tsr_emit_enter(e, &outside);
	each(x, x->of.store, 0, x->n);
}

/* Results of several groups, each where it belongs. */
static void store_lanes(sums *x, const tsr_wide *w)
{
	tsr_emit *e = x->e;
	tsr_emit_view outside = tsr_emit_view_now(e);
	e->wide = NULL;
	for (uint32_t k = 0; k < x->n; k++) {
		tsr_emit_enter(e, &x->view[k]);
		LLVMValueRef local = e->locals[x->of.let->let.local], v = LLVMBuildLoad2(e->builder, LLVMGetAllocatedType(local), local, ""), at = e->syms[x->of.lane->loop.sym];
		LLVMValueRef group = x->of.group ? LLVMBuildUDiv(e->builder, at, tsr_emit_i64(e, w->each), "") : NULL;
		for (unsigned i = 0; i < w->lanes; i++) {
			e->syms[x->of.lane->loop.sym] = x->of.group ? tsr_emit_i64(e, i % w->each) : LLVMBuildNSWAdd(e->builder, at, tsr_emit_i64(e, i), "");
			if (x->of.group)
				e->syms[w->group] = LLVMBuildNSWAdd(e->builder, group, tsr_emit_i64(e, i / w->each), "");
			LLVMValueRef lane = w->lanes > 1 ? LLVMBuildExtractElement(e->builder, v, tsr_emit_i64(e, i), "") : v;
			tsr_emit_fork f = {0};
			if (w->mask)
				f = tsr_emit_fork_begin(e, LLVMBuildExtractElement(e->builder, w->mask, tsr_emit_i64(e, i), ""), "lane");
			tsr_emit_store(e, TSR_PREC_F32, lane, tsr_emit_address(e, x->of.store->store.buffer, x->of.store->store.index));
			if (w->mask) {
				tsr_emit_fork_other(e, &f);
				tsr_emit_fork_end(e, &f);
			}
		}
		e->syms[x->of.lane->loop.sym] = at;
		if (x->of.group)
			e->syms[w->group] = tsr_emit_i64(e, 0);
	}
	tsr_emit_enter(e, &outside);
	e->wide = w;
}

/* What the sums are so far, but at first. */
static void take_up(sums *x)
{
	tsr_emit *e = x->e;
	tsr_expr *stored = TSR_NEW(e->tc->arena, tsr_expr);
	*stored = (tsr_expr){.kind = TSR_EXPR_LOAD, .prec = TSR_PREC_F32, .load = {x->of.store->store.buffer, x->of.store->store.index}};
	LLVMValueRef place = tsr_emit_i64(e, 0);
	for (uint32_t i = 0; i < x->of.around; i++)
		place = LLVMBuildOr(e->builder, place, e->syms[x->of.summed[i]->loop.sym], "");
	tsr_emit_fork f = tsr_emit_fork_begin(e, LLVMBuildICmp(e->builder, LLVMIntNE, place, tsr_emit_i64(e, 0), ""), "later");
	tsr_emit_view outside = tsr_emit_view_now(e);
	for (uint32_t k = 0; k < x->n; k++) {
		tsr_emit_enter(e, &x->view[k]);
		LLVMBuildStore(e->builder, tsr_emit_expr(e, stored), e->locals[x->of.let->let.local]);
	}
	tsr_emit_enter(e, &outside);
	tsr_emit_fork_other(e, &f);
	tsr_emit_fork_end(e, &f);
}

/* Lanes from .. to, so many at a time. */
static void lanes_of(sums *x, LLVMValueRef base, int64_t together, LLVMValueRef from, LLVMValueRef to, unsigned lanes, bool masked)
{
	tsr_emit *e = x->e;
	tsr_wide w = {.loop = x->groups ? x->groups : x->of.lane, .lanes = lanes, .holds = true};
	if (tsr_emit_surely_none(from, to))
		return;
	if (x->of.group) {
		w.each = (unsigned)extent(x->of.lane), w.group = x->of.group->loop.sym;
		e->syms[w.group] = tsr_emit_i64(e, 0);
	}
	tsr_emit_loop loop = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, lanes), TSR_FOR_SERIAL);
	e->syms[x->of.lane->loop.sym] = loop.index;
	w.mask = masked ? tsr_emit_lanes_left(e, loop.index, to, lanes) : NULL;
	make_views(x, base, together);
	e->wide = &w;
	each(x, x->of.let, 0, x->n);
	if (x->of.around)
		take_up(x);
	walk(x, &w);
	if (!x->of.group && tsr_emit_along(e, x->of.lane, x->of.store->store.buffer, x->of.store->store.index) == 1)
		each(x, x->of.store, 0, x->n);
	else
		store_lanes(x, &w);
	e->wide = NULL;
	tsr_emit_loop_end(e, &loop);
}

static LLVMValueRef down(tsr_emit *e, LLVMValueRef from, LLVMValueRef to, unsigned lanes)
{
	LLVMValueRef count = LLVMBuildNSWSub(e->builder, to, from, "");
	return LLVMBuildNSWSub(e->builder, to, LLVMBuildSRem(e->builder, count, tsr_emit_i64(e, lanes), ""), "");
}

/* Threads share one of the two loops that are lanes together. */
static bool shared_groups(const sums *x) { return x->of.group && (x->of.group->loop.split || x->of.lane->loop.split); }

/* So many places from `base` on, in all lanes. */
static void places_at(sums *x, LLVMValueRef base, int64_t together)
{
	tsr_emit *e = x->e;
	unsigned one = e->target->vector_bytes / 4;
	if (x->of.along) {
		make_views(x, base, together);
		along_rows(x);
		return;
	}
	LLVMValueRef from = tsr_emit_i64(e, 0), to = tsr_emit_i64(e, extent(x->groups ? x->groups : x->of.lane));
	if (shared_groups(x) && e->team) {      /* whole registers */
		LLVMValueRef n = tsr_emit_i64(e, extent(x->groups) / one);
		from = LLVMBuildNSWMul(e->builder, tsr_team_bound(e, n, false), tsr_emit_i64(e, one), "");
		to = LLVMBuildNSWMul(e->builder, tsr_team_bound(e, n, true), tsr_emit_i64(e, one), "");
	} else if (!x->of.group && x->of.lane->loop.split && e->team) {
		from = tsr_team_bound(e, to, false);
		to = tsr_team_bound(e, to, true);
	}
	unsigned beside = 2 * together * places_held(x) <= tsr_window_sums_most(e->target) ? 2 : 1;
	LLVMValueRef wide = down(e, from, to, one * beside), whole = down(e, wide, to, one);
	lanes_of(x, base, together, from, wide, one * beside, false);
	if (beside > 1)
		lanes_of(x, base, together, wide, whole, one, false);
	bool masks = tsr_emit_has_masks(e);
	if (!x->of.group)
		lanes_of(x, base, together, whole, to, masks ? one : 1, masks);
}

/* All places of the loop that is parted, so many at a time; those that are left over belong to the last thread. */
static void parts(sums *x)
{
	tsr_emit *e = x->e;
	const tsr_stmt *loop = x->of.parted == TSR_NONE ? NULL : x->of.results[x->of.parted];
	int64_t all = loop ? extent(loop) : 1, together = x->of.together, whole = all / together;
	if (together == all) {
		places_at(x, tsr_emit_i64(e, 0), all);
		return;
	}
	bool shared = loop->loop.split && e->team;
	LLVMValueRef n = tsr_emit_i64(e, whole), each = tsr_emit_i64(e, together), last = n, first = tsr_emit_i64(e, 0);
	if (shared)
		first = tsr_team_bound(e, n, false), last = tsr_team_bound(e, n, true);
	tsr_emit_loop l = tsr_emit_loop_begin(e, LLVMBuildNSWMul(e->builder, first, each, ""), LLVMBuildNSWMul(e->builder, last, each, ""), each, TSR_FOR_SERIAL);
	places_at(x, l.index, together);
	tsr_emit_loop_end(e, &l);
	if (whole * together == all)
		return;
	tsr_emit_fork f = {0};
	if (shared)
		f = tsr_emit_fork_begin(e, LLVMBuildICmp(e->builder, LLVMIntEQ, last, n, ""), "last");
	places_at(x, tsr_emit_i64(e, whole * together), all - whole * together);
	if (shared) {
		tsr_emit_fork_other(e, &f);
		tsr_emit_fork_end(e, &f);
	}
}

/* The loops around: those over other results one by one, and over places that are not taken together. */
static void around(sums *x, uint32_t i)
{
	tsr_emit *e = x->e;
	if (i == x->of.nresults) {
		parts(x);
		return;
	}
	const tsr_stmt *s = x->of.results[i];
	if (x->of.held[i] || i == x->of.parted || s == x->of.lane || s == x->of.group) {
		around(x, i + 1);
		return;
	}
	LLVMValueRef from = tsr_emit_i64(e, 0), to = tsr_emit_size(e, s->loop.extent), outside = e->syms[s->loop.sym];
	if (s->loop.split && e->team) {
		from = tsr_team_bound(e, to, false);
		to = tsr_team_bound(e, to, true);
	}
	tsr_emit_loop l = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
	e->syms[s->loop.sym] = l.index;
	around(x, i + 1);
	e->syms[s->loop.sym] = outside;
	tsr_emit_loop_end(e, &l);
}

bool tsr_emit_window_sums(tsr_emit *e, const tsr_stmt *s)
{
	sums x = {.e = e};
	if (e->wide || e->options->level < 1 || e->sanitize || !tsr_window_sums_of(e->loops, e->target, s, &x.of) || (shared_groups(&x) && (!e->body || e->body->n != 1)))
		return false;
	if (e->seldom && x.of.parted != TSR_NONE && x.of.together > SELDOM)
		x.of.together = SELDOM;
	if (x.of.group) {
		x.groups = TSR_NEW(e->loops->tc->arena, tsr_stmt);
		*x.groups = *x.of.lane;
		x.groups->loop.extent = tsr_size_const(extent(x.of.lane) * extent(x.of.group));
	}
	bool written = e->written, reorder = e->reorder;
	e->written = e->reorder = true;
	tsr_emit_loop loop[TSR_MOST_WINDOW_LOOPS];
	for (uint32_t i = 0; i < x.of.around; i++)
		loop[i] = begin(&x, x.of.summed[i]);
	around(&x, 0);
	for (uint32_t i = x.of.around; i-- > 0;)
		tsr_emit_loop_end(e, &loop[i]);
	e->written = written, e->reorder = reorder;
	return true;
}
