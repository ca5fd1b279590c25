/* Packing an operand that is an expression: padding, conversions, producers.  It is evaluated once per packed element.
 *
 * Either positions run fastest, straight into the panel, or depth runs fastest, into a row per position, and the rows are then turned
 * like those of any operand: whichever way more of what the expression loads lies side by side in memory.  Both are one
 * walk: an outer flat position, decoded into its loops, and stretches of the inner class's last loop, which LLVM vectorises.
 * Loops are decoded in the order in which the class was flattened (tsr_walks.loop). */
#include "contract.h"

typedef struct walk { tsr_kit *k; const tsr_computed *v; const tsr_walks *outer, *inner; } walk;

void tsr_walks_decode(tsr_kit *k, tsr_emit *e, const tsr_walks *x, uint32_t without, LLVMValueRef flat)
{
	for (uint32_t i = x->nloops - without; i-- > 0;) {
		LLVMValueRef extent = tsr_emit_size(e, x->loop[i].extent), here = flat;
		if (i > 0) {
			flat = LLVMBuildUDiv(k->b, here, extent, "");
			here = LLVMBuildNSWSub(k->b, here, LLVMBuildNSWMul(k->b, flat, extent, ""), "");
		}
		e->syms[x->loop[i].sym] = here;
	}
}

tsr_walk_run tsr_walk_run_begin(tsr_kit *k, tsr_emit *e, const tsr_walks *x, LLVMValueRef first, LLVMValueRef count)
{
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), at = zero, from = first, length = count;
	tsr_walk_run r = { .torn = x->nloops > 1 };
	if (r.torn) {                /* the loop's step is this run's length, found inside it */
		LLVMValueRef extent = tsr_emit_size(e, x->loop[x->nloops - 1].extent);
		r.runs = tsr_count_begin(k, zero, count, one);
		at = r.runs.i;
		LLVMValueRef flat = tsr_kit_add(k, first, at), outer = LLVMBuildUDiv(k->b, flat, extent, "");
		from = LLVMBuildNSWSub(k->b, flat, LLVMBuildNSWMul(k->b, outer, extent, ""), "");
		length = tsr_kit_min(k, LLVMBuildNSWSub(k->b, extent, from, ""), LLVMBuildNSWSub(k->b, count, at, ""));
		r.runs.step = length;
		tsr_walks_decode(k, e, x, 1, outer);
	}
	r.loop = tsr_emit_loop_begin(e, zero, length, one, TSR_FOR_VECTOR);
	if (x->nloops)
		e->syms[x->loop[x->nloops - 1].sym] = tsr_kit_add(k, from, r.loop.index);
	r.place = tsr_kit_add(k, at, r.loop.index);
	return r;
}

void tsr_walk_run_end(tsr_kit *k, tsr_emit *e, tsr_walk_run *r)
{
	tsr_emit_loop_end(e, &r->loop);
	if (r->torn)
		tsr_count_end(k, &r->runs);
}

/* to[i] = value at the inner positions first + i, for i in [0, count), the outer loops being set. */
static void stretch(const walk *w, LLVMValueRef first, LLVMValueRef count, LLVMValueRef to)
{
	tsr_emit *e = w->v->e;
	tsr_walk_run r = tsr_walk_run_begin(w->k, e, w->inner, first, count);
	LLVMValueRef value = tsr_emit_convert(e, tsr_emit_expr(e, w->v->value), w->v->value->prec, w->v->prec);
	if (w->v->prec == TSR_PREC_BOOL)
		value = LLVMBuildZExt(w->k->b, value, w->k->elem, "");
	tsr_kit_store(w->k, value, tsr_kit_at(w->k, to, r.place), NULL);
	tsr_walk_run_end(w->k, e, &r);
}

/* Positions of the panel that exist, each a row of depths; then the panel from the rows. */
static void by_rows(const walk *w, const tsr_pack *p, LLVMValueRef panel, LLVMValueRef first, LLVMValueRef valid)
{
	tsr_kit *k = w->k;
	LLVMValueRef one = tsr_kit_int(k, 1);
	tsr_count i = tsr_count_begin(k, tsr_kit_int(k, 0), valid, one);
	tsr_walks_decode(k, w->v->e, w->outer, 0, tsr_kit_add(k, first, i.i));
	stretch(w, p->along_first, p->depth, tsr_kit_at(k, w->v->rows, tsr_kit_mul(k, i.i, p->depth)));
	tsr_count_end(k, &i);
	tsr_span_axis row = { .extent = valid }, depth = { .extent = p->depth };
	row.stride[p->side] = p->depth;
	depth.stride[p->side] = one;
	tsr_group across = { .n = 1, .at = &row, .count = valid }, along = { .n = 1, .at = &depth, .count = p->depth };
	along.unit[p->side] = true;
	tsr_pack again = *p;
	again.across = &across, again.along = &along;
	again.from = w->v->rows, again.to = panel;
	again.across_first = again.along_first = tsr_kit_int(k, 0);
	again.across_count = valid;
	tsr_pack_emit(k, &again);
}

static void by_columns(const walk *w, const tsr_pack *p, LLVMValueRef panel, LLVMValueRef first, LLVMValueRef valid)
{
	tsr_kit *k = w->k;
	tsr_count d = tsr_count_begin(k, tsr_kit_int(k, 0), p->depth, tsr_kit_int(k, 1));
	tsr_walks_decode(k, w->v->e, w->outer, 0, tsr_kit_add(k, p->along_first, d.i));
	stretch(w, first, valid, tsr_kit_at(k, panel, tsr_kit_mul(k, d.i, tsr_kit_int(k, p->width))));
	tsr_count_end(k, &d);
}

/* How many loads of the expression lie side by side along this loop. */
static uint32_t side_by_side(const tsr_loops *l, const tsr_expr *x, uint32_t sym)
{
	uint32_t n = 0;
	switch (x->kind) {
	case TSR_EXPR_LOAD: {
		uint32_t rank = l->buffers.at[x->load.buffer]->rank;
		for (uint32_t axis = 0; axis < rank; axis++)
			for (uint32_t t = 0; t < x->load.index[axis].n; t++) {
				const tsr_lin_term *term = &x->load.index[axis].terms[t];
				if (term->kind == TSR_LSYM_LOOP && term->id == sym)
					n = axis + 1 == rank && term->coef == 1;
			}
		return n;
	}
	case TSR_EXPR_OP:
		for (uint32_t i = 0; i < tsr_op_get(x->op.op)->arity; i++)
			n += side_by_side(l, x->op.args[i], sym);
		return n;
	case TSR_EXPR_CONVERT: return side_by_side(l, x->converted, sym);
	case TSR_EXPR_LOOKUP: return side_by_side(l, x->lookup.at, sym) + side_by_side(l, x->lookup.value, sym);
	case TSR_EXPR_SELECT: return side_by_side(l, x->select.inside, sym) + side_by_side(l, x->select.outside, sym);
	case TSR_EXPR_CONST: case TSR_EXPR_LOCAL: case TSR_EXPR_INDEX: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: case TSR_EXPR_KINDS: break;
	}
	return 0;
}

static uint32_t last_loop(const tsr_walks *x, const tsr_loops *l, const tsr_expr *value)
{
	return x->nloops ? side_by_side(l, value, x->loop[x->nloops - 1].sym) : 0;
}

bool tsr_computed_by_rows(const tsr_loops *l, const tsr_expr *value, const tsr_walks *across, const tsr_walks *along)
{
	return last_loop(along, l, value) > last_loop(across, l, value);
}

void tsr_pack_computed(tsr_kit *k, const tsr_pack *p, const tsr_computed *v)
{
	bool rows = tsr_computed_by_rows(v->e->loops, v->value, v->across, v->along);
	walk w = { k, v, rows ? v->across : v->along, rows ? v->along : v->across };
	LLVMValueRef width = tsr_kit_int(k, p->width);
	tsr_count c = tsr_count_begin(k, tsr_kit_int(k, 0), p->across_count, width);
	LLVMValueRef panel = tsr_kit_at(k, p->to, tsr_kit_mul(k, c.i, p->depth)), first = tsr_kit_add(k, p->across_first, c.i);
	LLVMValueRef valid = tsr_kit_min(k, width, LLVMBuildSub(k->b, p->across_count, c.i, ""));
	(rows ? by_rows : by_columns)(&w, p, panel, first, valid);
	tsr_count_end(k, &c);
}
