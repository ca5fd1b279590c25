/* Packing an operand that is an expression: padding, conversions, producers.  It is evaluated once per packed element.
 *
 * Either positions run fastest, straight into the panel, or depth runs fastest, into a row per position, and the rows are then turned
 * like those of any operand: whichever way more of what the expression loads lies side by side in memory.  Both are one
 * walk: an outer flat position, decoded into its loops, and stretches of the inner class's last loop, which LLVM vectorises.
 * Loops are decoded in the order in which the class was flattened (tsr_walks.loop). */
#include "kit.h"

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

/* Positions of the last loop from `from` on, whose first one is the `at`-th of those that are walked. */
typedef struct part { bool torn; tsr_count runs; LLVMValueRef at, from, length; } part;

static part part_begin(tsr_kit *k, tsr_emit *e, const tsr_walks *x, LLVMValueRef first, LLVMValueRef count)
{
	part p = { .torn = x->nloops > 1, .at = tsr_kit_int(k, 0), .from = first, .length = count };
	if (p.torn) {                /* the loop's step is this run's length, found inside it */
		LLVMValueRef extent = tsr_emit_size(e, x->loop[x->nloops - 1].extent);
		p.runs = tsr_count_begin(k, tsr_kit_int(k, 0), count, tsr_kit_int(k, 1));
		p.at = p.runs.i;
		LLVMValueRef flat = tsr_kit_add(k, first, p.at), outer = LLVMBuildUDiv(k->b, flat, extent, "");
		p.from = LLVMBuildNSWSub(k->b, flat, LLVMBuildNSWMul(k->b, outer, extent, ""), "");
		p.length = tsr_kit_min(k, LLVMBuildNSWSub(k->b, extent, p.from, ""), LLVMBuildNSWSub(k->b, count, p.at, ""));
		p.runs.step = p.length;
		tsr_walks_decode(k, e, x, 1, outer);
	}
	return p;
}

static void part_end(tsr_kit *k, part *p)
{
	if (p->torn)
		tsr_count_end(k, &p->runs);
}

/* ---- padding ------------------------------------------------------------------------------------------------------------------ */

static void padded_stretch(tsr_kit *k, const tsr_computed *v, const tsr_walks *inner, LLVMValueRef first, LLVMValueRef count, LLVMValueRef to)
{
	tsr_emit *e = v->e;
	const tsr_expr *x = v->value, *in = tsr_padded_within(x);
	uint32_t sym = inner->loop[inner->nloops - 1].sym;
	LLVMValueRef outside = tsr_padded_outside(k, v), begin = tsr_kit_int(k, 0), end;
	part p = part_begin(k, e, inner, first, count);
	e->syms[sym] = p.from;
	end = p.length;
	tsr_padded_inside(k, e, x, sym, 1, &begin, &end);
	LLVMValueRef some = LLVMBuildICmp(k->b, LLVMIntSLT, begin, end, "");
	begin = LLVMBuildSelect(k->b, some, begin, end, "");
	e->syms[sym] = tsr_kit_add(k, p.from, begin);       /* an address that is one, if anything is loaded */
	LLVMValueRef back = LLVMBuildNeg(k->b, begin, ""), from = tsr_emit_address(e, in->load.buffer, in->load.index);
	from = LLVMBuildGEP2(k->b, k->elem, from, &back, 1, "");
	tsr_count c = tsr_count_begin(k, tsr_kit_int(k, 0), p.length, tsr_kit_int(k, k->lanes));
	LLVMValueRef below = tsr_kit_mask(k, LLVMBuildNSWSub(k->b, begin, c.i, ""), 0), above = tsr_kit_mask(k, LLVMBuildNSWSub(k->b, end, c.i, ""), 0);
	LLVMValueRef mask = LLVMBuildAnd(k->b, above, LLVMBuildNot(k->b, below, ""), "");
	LLVMValueRef args[4] = { LLVMBuildGEP2(k->b, k->elem, from, &c.i, 1, ""), LLVMConstInt(k->i32, k->elem_bytes, false), mask, outside };
	LLVMValueRef value = tsr_kit_intrinsic(k, "llvm.masked.load", (LLVMTypeRef[]){ k->vec, k->ptr }, 2, args, 4);
	tsr_kit_store(k, value, tsr_kit_at(k, tsr_kit_at(k, to, p.at), c.i), tsr_kit_mask(k, LLVMBuildNSWSub(k->b, p.length, c.i, ""), 0));
	tsr_count_end(k, &c);
	part_end(k, &p);
}

/* ---- any expression -------------------------------------------------------------------------------------------------------------- */

tsr_walk_run tsr_walk_run_begin(tsr_kit *k, tsr_emit *e, const tsr_walks *x, LLVMValueRef first, LLVMValueRef count, int64_t every)
{
	part p = part_begin(k, e, x, first, count);
	tsr_walk_run r = { .torn = p.torn, .runs = p.runs };
	r.loop = tsr_emit_loop_begin(e, tsr_kit_int(k, 0), p.length, tsr_kit_int(k, every), every == 1 ? TSR_FOR_VECTOR : TSR_FOR_SERIAL);
	if (x->nloops)
		e->syms[x->loop[x->nloops - 1].sym] = tsr_kit_add(k, p.from, r.loop.index);
	r.place = tsr_kit_add(k, p.at, r.loop.index);
	return r;
}

void tsr_walk_run_end(tsr_kit *k, tsr_emit *e, tsr_walk_run *r)
{
	tsr_emit_loop_end(e, &r->loop);
	if (r->torn)
		tsr_count_end(k, &r->runs);
}

void tsr_computed_stretch(tsr_kit *k, const tsr_computed *v, const tsr_walks *inner, LLVMValueRef first, LLVMValueRef count, LLVMValueRef to)
{
	if (tsr_padded(k, v, inner) == 1) {
		padded_stretch(k, v, inner, first, count, to);
		return;
	}
	tsr_walk_run r = tsr_walk_run_begin(k, v->e, inner, first, count, 1);
	LLVMValueRef value = tsr_emit_convert(v->e, tsr_emit_expr(v->e, v->value), v->value->prec, v->prec);
	tsr_kit_store(k, tsr_emit_to_memory(v->e, v->prec, value), tsr_kit_at(k, to, r.place), NULL);
	tsr_walk_run_end(k, v->e, &r);
}

/* Positions of the panel that exist, each a row of depths; then the panel from the rows. */
static void by_rows(const walk *w, const tsr_pack *p, LLVMValueRef panel, LLVMValueRef first, LLVMValueRef valid)
{
	tsr_kit *k = w->k;
	LLVMValueRef one = tsr_kit_int(k, 1);
	tsr_count i = tsr_count_begin(k, tsr_kit_int(k, 0), valid, one);
	tsr_walks_decode(k, w->v->e, w->outer, 0, tsr_kit_add(k, first, i.i));
	tsr_computed_stretch(k, w->v, w->inner, p->along_first, p->depth, tsr_kit_at(k, w->v->rows, tsr_kit_mul(k, i.i, p->depth)));
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
	tsr_computed_stretch(k, w->v, w->inner, first, valid, tsr_kit_at(k, panel, tsr_kit_mul(k, d.i, tsr_kit_int(k, p->width))));
	tsr_count_end(k, &d);
}

bool tsr_computed_by_rows(const tsr_loops *l, const tsr_expr *value, const tsr_walks *across, const tsr_walks *along)
{
	return along->nloops && tsr_expr_lies_along(l, value, along->loop[along->nloops - 1].sym, across->nloops ? across->loop[across->nloops - 1].sym : TSR_NONE);
}

void tsr_pack_computed(tsr_kit *k, const tsr_pack *p, const tsr_computed *v)
{
	bool rows = tsr_computed_by_rows(v->e->loops, v->value, v->across, v->along);
	LLVMValueRef only = NULL;
	if ((!rows || tsr_padded(k, v, v->across) > 1) && tsr_pack_padded(k, p, v, &only) && !only)
		return;
	tsr_guard others = { NULL };
	if (only)
		others = tsr_guard_begin(k, LLVMBuildNot(k->b, only, ""));
	walk w = { k, v, rows ? v->across : v->along, rows ? v->along : v->across };
	LLVMValueRef width = tsr_kit_int(k, p->width);
	tsr_count c = tsr_count_begin(k, tsr_kit_int(k, 0), p->across_count, width);
	LLVMValueRef panel = tsr_kit_at(k, p->to, tsr_kit_mul(k, c.i, p->depth)), first = tsr_kit_add(k, p->across_first, c.i);
	LLVMValueRef valid = tsr_kit_min(k, width, LLVMBuildSub(k->b, p->across_count, c.i, ""));
	(rows ? by_rows : by_columns)(&w, p, panel, first, valid);
	tsr_count_end(k, &c);
	if (only)
		tsr_guard_end(k, others);
}
