/* Parallel loops around loops that sum, as windows over channels are: iterations of the outer loop are computed side by side, each sum
 * in a lane of its own, so that what lies side by side along the outer loop is read and written as vectors, and the loops within stay as
 * they are.  (LLVM vectorises innermost loops.)
 *
 * The loop's elements lie side by side along it, or every second to fourth one does, or they are the same for all of it.  Locals are its own, and are held in lanes from the start.
 * A guard that does not mention the loop is a branch; where it does, by itself, the lanes that it lets in are a stretch of them: mostly
 * all, and else a mask.
 *
 * Each sum is added up in the order that is written, in lanes as where one iteration is left over: which iterations are, follows from where
 * threads' shares end, and LLVM would add up a single one across its terms.
 *
 * Where the result goes around the caches (opt/stream.c), whole lines of it do, and what is read from memory is asked for ahead. */
#include "nests.h"
#include "../opt/opt.h"

enum { MOST_STATEMENTS = 24, MOST_LOCALS = 8, MOST_LARGE = 2, MOST_INNER = 8, MOST_WRITTEN = 4, FEWEST_LANES = 6 };

typedef struct outer {
	tsr_emit *e;
	const tsr_stmt *loop;
	const tsr_groups *groups;    /* the loop stands for these (opt/groups.c), or NULL */
	bool sums;                   /* there is a loop within */
	uint32_t statements, nlocals, ninner, nlarge;
	tsr_local_id local[MOST_LOCALS];
	uint32_t inner[MOST_INNER];             /* symbols of the loops within */
	const tsr_expr *large[MOST_LARGE];      /* loads side by side from arrays that no cache holds, one of each array */
} outer;

/* ---- which loops ---------------------------------------------------------------------------------------------------------- */

static bool narrow(tsr_prec p) { return tsr_prec_bytes(p) <= 4; }

static bool mine(const outer *x, tsr_local_id id)
{
	for (uint32_t i = 0; i < x->nlocals; i++)
		if (x->local[i] == id)
			return true;
	return false;
}

static void note_large(outer *x, const tsr_expr *load)
{
	for (uint32_t i = 0; i < x->nlarge; i++)
		if (x->large[i]->load.buffer == load->load.buffer)
			return;
	if (x->nlarge < MOST_LARGE && tsr_emit_large(x->e, load->load.buffer) && tsr_emit_along(x->e, x->loop, load->load.buffer, load->load.index) == 1)
		x->large[x->nlarge++] = load;
}

static bool plain_expr(outer *x, const tsr_expr *v)
{
	if (!narrow(v->prec))
		return false;
	switch (v->kind) {
	case TSR_EXPR_CONST: case TSR_EXPR_INDEX: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: case TSR_EXPR_LOCAL:
		return true;
	case TSR_EXPR_LOAD:
		note_large(x, v);
		return narrow(x->e->loops->buffers.at[v->load.buffer]->prec) && (x->groups || tsr_emit_along(x->e, x->loop, v->load.buffer, v->load.index) >= 0 || tsr_emit_strided(x->e, x->loop, v->load.buffer, v->load.index));
	case TSR_EXPR_OP:
		for (uint32_t i = 0; i < tsr_op_get(v->op.op)->arity; i++)
			if (!plain_expr(x, v->op.args[i]))
				return false;
		return narrow(v->op.operand_prec) && tsr_emit_in_lanes(x->e, v);
	case TSR_EXPR_CONVERT:
		return plain_expr(x, v->converted);
	case TSR_EXPR_LOOKUP: case TSR_EXPR_SELECT: case TSR_EXPR_KINDS:
		break;
	}
	return false;
}

/* Every second to fourth element is written, as of an image under windows that are two apart. */
static bool apart(const outer *x, const tsr_stmt *s)
{
	return s->kind == TSR_STMT_STORE && !x->groups && !tsr_emit_streams(x->e, x->loop) && tsr_prec_bytes(x->e->loops->buffers.at[s->store.buffer]->prec) == 4
		&& tsr_emit_strided(x->e, x->loop, s->store.buffer, s->store.index);
}

static bool plain_body(outer *x, const tsr_stmts *body);

static bool plain_stmt(outer *x, const tsr_stmt *s)
{
	switch (s->kind) {
	case TSR_STMT_LET:
		if (x->nlocals == MOST_LOCALS || !narrow(s->let.prec))
			return false;
		x->local[x->nlocals++] = s->let.local;
		return plain_expr(x, s->let.value);
	case TSR_STMT_SET:
		return mine(x, s->let.local) && plain_expr(x, s->let.value);
	case TSR_STMT_STORE: case TSR_STMT_UPDATE:
		return narrow(x->e->loops->buffers.at[s->store.buffer]->prec) && (tsr_emit_along(x->e, x->loop, s->store.buffer, s->store.index) == 1 || apart(x, s))
			&& plain_expr(x, s->store.value);
	case TSR_STMT_FOR:
		x->sums = true;
		if (x->ninner == MOST_INNER)
			return false;
		x->inner[x->ninner++] = s->loop.sym;
		return !s->loop.contraction && !s->loop.split && plain_body(x, &s->loop.body);
	case TSR_STMT_IF:
		for (uint32_t i = 0; i < s->cond.n; i++) {
			int64_t step = tsr_lin_coef(&s->cond.ranges[i].index, x->loop->loop.sym);
			if (step != 0 && step != 1 && !(step == 2 && x->e->target->masks != TSR_MASKS_NONE))
				return false;
		}
		return plain_body(x, &s->cond.body);
	case TSR_STMT_LETSYM: case TSR_STMT_RANDOM: case TSR_STMT_CHECK: case TSR_STMT_KERNEL: case TSR_STMT_KINDS:
		break;
	}
	return false;
}

static bool plain_body(outer *x, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++)
		if (++x->statements > MOST_STATEMENTS || !plain_stmt(x, body->at[i]))
			return false;
	return true;
}

static bool pays(outer *x, int64_t least)
{
	const tsr_stmt *s = x->loop;
	return x->e->target->vector_bytes >= 16 && x->e->options->level && !x->e->wide && s->loop.how == TSR_FOR_PARALLEL
		&& (!tsr_size_is_const(s->loop.extent) || s->loop.extent.k >= least) && plain_body(x, &s->loop.body) && x->sums;
}

bool tsr_emit_outer_pays(tsr_emit *e, const tsr_stmt *s, int64_t least, const tsr_groups *groups)
{
	outer x = {.e = e, .loop = s, .groups = groups};
	return pays(&x, least);
}

/* ---- guards --------------------------------------------------------------------------------------------------------------- */

/* Lanes from `first` up to `end`. */
static LLVMValueRef stretch(tsr_emit *e, LLVMValueRef first, LLVMValueRef end)
{
	LLVMValueRef lane[64];
	for (unsigned i = 0; i < e->wide->lanes; i++)
		lane[i] = LLVMConstInt(e->i32, i, false);
	LLVMValueRef lanes = LLVMConstVector(lane, e->wide->lanes);
	LLVMValueRef from = tsr_emit_splat(e, LLVMBuildTrunc(e->builder, first, e->i32, ""), LLVMTypeOf(lanes));
	LLVMValueRef to = tsr_emit_splat(e, LLVMBuildTrunc(e->builder, end, e->i32, ""), LLVMTypeOf(lanes));
	return LLVMBuildAnd(e->builder, LLVMBuildICmp(e->builder, LLVMIntSGE, lanes, from, ""), LLVMBuildICmp(e->builder, LLVMIntSLT, lanes, to, ""), "");
}

static void under_mask(tsr_emit *e, const tsr_stmts *body, LLVMValueRef mask)
{
	const tsr_wide *outside = e->wide;
	tsr_wide w = *outside;
	w.mask = outside->mask ? LLVMBuildAnd(e->builder, outside->mask, mask, "") : mask;
	e->wide = &w;
	tsr_emit_stmts(e, body);
	e->wide = outside;
}

/* So many lanes, one or two elements each, have or begin within these. */
static LLVMValueRef lanes_for(tsr_emit *e, LLVMValueRef elements, int64_t step)
{
	LLVMValueRef one = tsr_emit_i64(e, 1);
	return step == 2 ? LLVMBuildAShr(e->builder, LLVMBuildNSWAdd(e->builder, elements, one, ""), one, "") : elements;
}

bool tsr_emit_outer_guard(tsr_emit *e, const tsr_stmt *s)
{
	LLVMValueRef zero = tsr_emit_i64(e, 0), lanes = e->wide ? tsr_emit_i64(e, e->wide->lanes) : NULL, first = zero, end = lanes, all = NULL;
	bool torn = false;
	for (uint32_t i = 0; e->wide && e->wide->lanes > 1 && i < s->cond.n; i++)
		torn |= tsr_lin_mentions(&s->cond.ranges[i].index, e->wide->loop->loop.sym);
	if (!torn)
		return false;
	for (uint32_t i = 0; i < s->cond.n; i++) {
		int64_t step = tsr_lin_coef(&s->cond.ranges[i].index, e->wide->loop->loop.sym);
		if (!step) {
			LLVMValueRef in = tsr_emit_in_ranges(e, 1, &s->cond.ranges[i]);
			all = all ? LLVMBuildAnd(e->builder, all, in, "") : in;
			continue;
		}
		LLVMValueRef at = tsr_emit_lin(e, &s->cond.ranges[i].index), size = tsr_emit_size(e, s->cond.ranges[i].size);
		first = tsr_emit_chosen(e, LLVMIntSGT, first, lanes_for(e, LLVMBuildNSWSub(e->builder, zero, at, ""), step));
		end = tsr_emit_chosen(e, LLVMIntSLT, end, lanes_for(e, LLVMBuildNSWSub(e->builder, size, at, ""), step));
	}
	LLVMBasicBlockRef some = tsr_emit_block(e, "some"), whole = tsr_emit_block(e, "whole"), part = tsr_emit_block(e, "part"), after = tsr_emit_block(e, "after");
	LLVMValueRef any = LLVMBuildICmp(e->builder, LLVMIntSLT, first, end, "");
	LLVMBuildCondBr(e->builder, all ? LLVMBuildAnd(e->builder, all, any, "") : any, some, after);
	LLVMPositionBuilderAtEnd(e->builder, some);
	LLVMValueRef every = LLVMBuildICmp(e->builder, LLVMIntEQ, LLVMBuildNSWSub(e->builder, end, first, ""), lanes, "");
	LLVMBuildCondBr(e->builder, every, whole, part);
	LLVMPositionBuilderAtEnd(e->builder, whole);
	tsr_emit_stmts(e, &s->cond.body);
	LLVMBuildBr(e->builder, after);
	LLVMMoveBasicBlockAfter(part, LLVMGetInsertBlock(e->builder));
	LLVMPositionBuilderAtEnd(e->builder, part);
	under_mask(e, &s->cond.body, stretch(e, first, end));
	LLVMBuildBr(e->builder, after);
	LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(e->builder));
	LLVMPositionBuilderAtEnd(e->builder, after);
	return true;
}

/* ---- loops within ----------------------------------------------------------------------------------------------------------- */

/* Each iteration's guards have a branch of their own, which mostly goes the same way. */
bool tsr_emit_outer_short(tsr_emit *e, const tsr_stmt *s)
{
	bool innermost = e->wide && e->wide->holds && e->wide->lanes > 1 && tsr_size_is_const(s->loop.extent) && s->loop.extent.k <= (e->wide->each ? TSR_MOST_WRITTEN : MOST_WRITTEN);
	for (uint32_t i = 0; i < s->loop.body.n; i++) {
		const tsr_stmt *in = s->loop.body.at[i];
		innermost &= in->kind != TSR_STMT_FOR || (e->wide && (e->wide->each || s->loop.how == TSR_FOR_PARALLEL) && tsr_size_is_const(in->loop.extent) && in->loop.extent.k * s->loop.extent.k <= TSR_MOST_POSITIONS);
	}
	if (!innermost)
		return false;
	LLVMValueRef outside = e->syms[s->loop.sym];
	bool reorder = e->reorder;
	e->reorder = s->loop.how == TSR_FOR_REDUCE || (reorder && s->loop.how != TSR_FOR_SERIAL);
	for (int64_t i = 0, n = tsr_emit_window(e, s) ? 0 : s->loop.extent.k; i < n; i++) {
		e->syms[s->loop.sym] = tsr_emit_i64(e, i);
		tsr_emit_stmts(e, &s->loop.body);
	}
	e->syms[s->loop.sym] = outside;
	e->reorder = reorder;
	return true;
}

/* ---- the loop ------------------------------------------------------------------------------------------------------------- */

/* Of a window's positions, those of the first one. */
static void fetch_soon(const outer *x, const tsr_wide *w, LLVMValueRef index)
{
	tsr_emit *e = x->e;
	LLVMValueRef outside[MOST_INNER], at = e->syms[x->loop->loop.sym];
	for (uint32_t i = 0; i < x->ninner; i++)
		outside[i] = e->syms[x->inner[i]], e->syms[x->inner[i]] = tsr_emit_i64(e, 0);
	tsr_emit_fetch_soon(e, w, x->nlarge, x->large, index);
	for (uint32_t i = 0; i < x->ninner; i++)
		e->syms[x->inner[i]] = outside[i];
	e->syms[x->loop->loop.sym] = at;
}

static void emit_lanes(const outer *x, unsigned lanes, LLVMValueRef from, LLVMValueRef to, bool masked)
{
	tsr_emit *e = x->e;
	bool around = tsr_emit_streams(e, x->loop) && lanes > 1 && !masked;
	tsr_wide w = {.loop = x->loop, .lanes = lanes, .holds = true, .around = around ? tsr_emit_around_of(x->loop) : NULL};
	tsr_emit_group_lanes(&w, x->groups);
	if (tsr_emit_surely_none(from, to))
		return;
	tsr_emit_loop loop = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, lanes), TSR_FOR_SERIAL);
	loop.few = lanes == 1;
	e->syms[x->loop->loop.sym] = loop.index;
	if (around)
		fetch_soon(x, &w, loop.index);
	e->wide = &w;
	if (masked)
		w.mask = stretch(e, tsr_emit_i64(e, 0), LLVMBuildNSWSub(e->builder, to, loop.index, ""));
	tsr_emit_stmts(e, &x->loop->loop.body);
	e->wide = NULL;
	tsr_emit_loop_end(e, &loop);
}

static LLVMValueRef down(tsr_emit *e, LLVMValueRef from, LLVMValueRef to, unsigned lanes)
{
	LLVMValueRef count = LLVMBuildNSWSub(e->builder, to, from, "");
	return LLVMBuildNSWSub(e->builder, to, LLVMBuildSRem(e->builder, count, tsr_emit_i64(e, lanes), ""), "");
}

/* All registers at a time, then one, then some lanes of one.  Where registers are few a quarter of them hold sums, so that a multiply-add need not wait for the one
 * before; then half as many follow, and whole ones, since a store of some lanes takes long there. */
static void emit_from(const outer *x, LLVMValueRef from, LLVMValueRef to)
{
	tsr_emit *e = x->e;
	bool few = tsr_target_few_registers(e->target);
	unsigned one = x->groups ? (unsigned)x->groups->lanes : e->target->vector_bytes / 4, all = one * (e->target->vector_registers / (few ? 4 : 8));
	LLVMValueRef wide_end = down(e, from, to, all), end = tsr_emit_has_masks(e) ? to : down(e, wide_end, to, one);
	emit_lanes(x, all, from, wide_end, false);
	for (unsigned lanes = all / 2; few && lanes >= one; lanes /= 2) {
		LLVMValueRef begin = wide_end;
		wide_end = down(e, begin, to, lanes);
		emit_lanes(x, lanes, begin, wide_end, false);
	}
	emit_lanes(x, one, wide_end, end, end == to && !x->groups);
	if (end != to && !x->groups)
		emit_lanes(x, 1, end, to, false);
}

const tsr_stmt *tsr_emit_groups(const tsr_emit *e, const tsr_stmt *s, tsr_groups *groups)
{
	if (!tsr_groups_of(e->loops, e->target, s, groups))
		return NULL;
	tsr_stmt *one = TSR_NEW(e->loops->tc->arena, tsr_stmt);
	*one = *groups->each;
	one->loop.extent = tsr_size_const(groups->count);
	return one;
}

void tsr_emit_group_lanes(tsr_wide *w, const tsr_groups *groups)
{
	if (groups)
		w->each = (unsigned)groups->results, w->group = groups->group->loop.sym;
}

/* Groups from .. to: the loop over results, made longer, stands for both.  Of a thread's share some may be left that fill no register: these go one by one, in lanes as well, so that each
 * sum is added up in the same order whoever does it. */
static bool emit_groups(tsr_emit *e, const tsr_stmt *s, LLVMValueRef from, LLVMValueRef to)
{
	tsr_groups groups;
	outer x = {.e = e, .loop = tsr_emit_groups(e, s, &groups), .groups = &groups};
	if (!x.loop || !pays(&x, groups.lanes))
		return false;
	LLVMValueRef outside = e->syms[s->loop.sym], each = tsr_emit_i64(e, groups.results);
	LLVMValueRef first = LLVMBuildNSWMul(e->builder, from, each, ""), all = LLVMBuildNSWMul(e->builder, to, each, ""), end = down(e, first, all, (unsigned)groups.lanes);
	bool written = e->written;
	e->written = true;
	e->syms[s->loop.sym] = tsr_emit_i64(e, 0);
	emit_from(&x, first, end);
	if (s->loop.split)
		emit_lanes(&x, (unsigned)groups.results, end, all, false);
	e->written = written;
	e->syms[s->loop.sym] = outside;
	return true;
}

bool tsr_emit_outer(tsr_emit *e, const tsr_stmt *s, LLVMValueRef from, LLVMValueRef to)
{
	outer x = {.e = e, .loop = s};
	if (emit_groups(e, s, from, to))
		return true;
	if (!pays(&x, tsr_emit_has_masks(e) ? FEWEST_LANES : e->target->vector_bytes / 4))
		return false;
	LLVMValueRef outside = e->syms[s->loop.sym], first = from;
	bool written = e->written;
	e->written = true;
	if (tsr_emit_streams(e, s)) {
		first = tsr_emit_first_line(e, s, tsr_emit_around_of(s), from, to);
		emit_lanes(&x, tsr_emit_has_masks(e) ? e->target->vector_bytes / 4 : 1, from, first, tsr_emit_has_masks(e));
	}
	emit_from(&x, first, to);
	e->written = written;
	e->syms[s->loop.sym] = outside;
	return true;
}
