/* Short windows along a loop whose iterations are lanes (outer.c), where a load across the end of a line is dear: at one of its positions the window reads
 * what lies beside the results, which begin where lines do. Its lanes are read there, and those of the other positions are made of them and of the few
 * elements before and behind, which are read one by one.
 *
 * Only where all lanes are inside at all positions; elsewhere each position goes by itself. */
#include "nests.h"

enum { MOST_LOADS = 2, MOST_POSITIONS = 4 };

typedef struct window {
	tsr_emit_leaves leaves;
	tsr_emit *e;
	const tsr_stmt *loop;
	const tsr_stmts *body;                      /* at each position, within the guard */
	const tsr_stmt *guard;                      /* or NULL */
	uint32_t nloads;
	const tsr_expr *load[MOST_LOADS];
	int64_t beside[MOST_LOADS];                 /* the position at which it is read beside the results */
	LLVMValueRef lanes[MOST_LOADS][MOST_POSITIONS];
	int64_t at;                                 /* the position that is emitted */
} window;

/* ---- which windows --------------------------------------------------------------------------------------------------------- */

/* The position at which the load's lanes are those of the loop, or -1. */
static int64_t position_beside(const window *x, const tsr_expr *load)
{
	const tsr_buffer *b = x->e->loops->buffers.at[load->load.buffer];
	const tsr_lin *last = b->rank ? &load->load.index[tsr_buffer_last(b)] : NULL;
	if (b->prec != TSR_PREC_F32 || !last || last->n != 2 || tsr_emit_along(x->e, x->e->wide->loop, b->id, load->load.index) != 1
		|| tsr_emit_along(x->e, x->loop, b->id, load->load.index) != 1)
		return -1;
	return -last->offset >= 0 && -last->offset < x->loop->loop.extent.k ? -last->offset : -1;
}

static void find_loads(window *x, const tsr_expr *v)
{
	tsr_expr *part[TSR_MOST_PARTS];
	int64_t beside = v->kind == TSR_EXPR_LOAD ? position_beside(x, v) : -1;
	if (beside >= 0 && x->nloads < MOST_LOADS) {
		x->beside[x->nloads] = beside;
		x->load[x->nloads++] = v;
	}
	for (uint32_t i = 0, n = tsr_expr_parts(v, part); v->kind != TSR_EXPR_LOAD && i < n; i++)
		find_loads(x, part[i]);
}

static bool takes(window *x)
{
	const tsr_wide *w = x->e->wide;
	if (!x->e->target->torn_loads || !w || !w->around || w->mask || x->loop->loop.extent.k > MOST_POSITIONS)
		return false;
	if (x->body->n == 1 && x->body->at[0]->kind == TSR_STMT_IF) {
		x->guard = x->body->at[0];
		x->body = &x->guard->cond.body;
	}
	for (uint32_t i = 0; i < x->body->n; i++) {
		const tsr_stmt *s = x->body->at[i];
		if (s->kind != TSR_STMT_SET && s->kind != TSR_STMT_LET)
			return false;
		find_loads(x, s->let.value);
	}
	return x->nloads;
}

/* ---- emission ------------------------------------------------------------------------------------------------------------------ */

static void stand_at(window *x, int64_t position)
{
	x->at = position;
	x->e->syms[x->loop->loop.sym] = tsr_emit_i64(x->e, position);
}

/* All lanes are where the guard lets them in, at all positions: at the first and at the last one, since it moves evenly from one to the other. */
static LLVMValueRef all_inside(window *x)
{
	LLVMBuilderRef b = x->e->builder;
	LLVMValueRef inside = NULL, zero = tsr_emit_i64(x->e, 0);
	for (uint32_t i = 0; i < 2 * x->guard->cond.n; i++) {
		const tsr_range *r = &x->guard->cond.ranges[i / 2];
		stand_at(x, i % 2 ? x->loop->loop.extent.k - 1 : 0);
		int64_t more = tsr_lin_coef(&r->index, x->e->wide->loop->loop.sym) ? x->e->wide->lanes - 1 : 0;
		LLVMValueRef first = tsr_emit_lin(x->e, &r->index), last = LLVMBuildNSWAdd(b, first, tsr_emit_i64(x->e, more), "");
		LLVMValueRef here = LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntSGE, first, zero, ""), LLVMBuildICmp(b, LLVMIntSLT, last, tsr_emit_size(x->e, r->size), ""), "");
		inside = inside ? LLVMBuildAnd(b, inside, here, "") : here;
	}
	return inside;
}

/* Of what is read at `position`, the element in that lane. */
static LLVMValueRef element(window *x, const tsr_expr *load, int64_t position, int64_t lane)
{
	stand_at(x, position);
	LLVMValueRef address = tsr_emit_address(x->e, load->load.buffer, load->load.index);
	return tsr_emit_load(x->e, TSR_PREC_F32, tsr_emit_offset(x->e, TSR_PREC_F32, address, tsr_emit_i64(x->e, lane)));
}

/* The lanes of `both`, one after the other, from lane `first` on. */
static LLVMValueRef lanes_from(window *x, LLVMValueRef one, LLVMValueRef other, int64_t first)
{
	LLVMValueRef lane[64];
	for (unsigned i = 0; i < x->e->wide->lanes; i++)
		lane[i] = LLVMConstInt(x->e->i32, (uint64_t)first + i, false);
	return LLVMBuildShuffleVector(x->e->builder, one, other, LLVMConstVector(lane, x->e->wide->lanes), "");
}

static void read_once(window *x, uint32_t k)
{
	const tsr_expr *load = x->load[k];
	int64_t n = x->e->wide->lanes, beside = x->beside[k];
	stand_at(x, beside);
	LLVMValueRef here = tsr_emit_expr(x->e, load), before = LLVMGetPoison(LLVMTypeOf(here)), behind = before;
	for (int64_t i = 0; i < beside; i++)
		before = LLVMBuildInsertElement(x->e->builder, before, element(x, load, i, 0), tsr_emit_i64(x->e, n - beside + i), "");
	for (int64_t i = beside + 1; i < x->loop->loop.extent.k; i++)
		behind = LLVMBuildInsertElement(x->e->builder, behind, element(x, load, i, n - 1), tsr_emit_i64(x->e, i - beside - 1), "");
	for (int64_t i = 0; i < x->loop->loop.extent.k; i++)
		x->lanes[k][i] = i == beside ? here : i < beside ? lanes_from(x, before, here, n - beside + i) : lanes_from(x, here, behind, i - beside);
}

static LLVMValueRef lanes_of(const tsr_emit_leaves *leaves, const tsr_expr *leaf)
{
	const window *x = (const window *)leaves;
	for (uint32_t k = 0; k < x->nloads; k++)
		if (x->load[k] == leaf)
			return x->lanes[k][x->at];
	return NULL;
}

static void each_position(window *x, const tsr_stmts *body)
{
	for (int64_t i = 0; i < x->loop->loop.extent.k; i++) {
		stand_at(x, i);
		tsr_emit_stmts(x->e, body);
	}
}

static void whole_window(window *x)
{
	const tsr_emit_leaves *others = x->e->leaves;
	for (uint32_t k = 0; k < x->nloads; k++)
		read_once(x, k);
	x->e->leaves = &x->leaves;
	each_position(x, x->body);
	x->e->leaves = others;
}

bool tsr_emit_window(tsr_emit *e, const tsr_stmt *s)
{
	window x = {.leaves = {lanes_of}, .e = e, .loop = s, .body = &s->loop.body};
	if (e->leaves || !takes(&x))
		return false;
	if (!x.guard) {
		whole_window(&x);
		return true;
	}
	LLVMBasicBlockRef whole = tsr_emit_block(e, "whole"), part = tsr_emit_block(e, "part"), after = tsr_emit_block(e, "after");
	LLVMBuildCondBr(e->builder, all_inside(&x), whole, part);
	LLVMPositionBuilderAtEnd(e->builder, whole);
	whole_window(&x);
	LLVMBuildBr(e->builder, after);
	LLVMMoveBasicBlockAfter(part, LLVMGetInsertBlock(e->builder));
	LLVMPositionBuilderAtEnd(e->builder, part);
	each_position(&x, &s->loop.body);
	LLVMBuildBr(e->builder, after);
	LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(e->builder));
	LLVMPositionBuilderAtEnd(e->builder, after);
	return true;
}
