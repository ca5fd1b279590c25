/* Stretches of rows where they lie that a guard cuts, at the edge of an image: copies, zeros outside.
 *
 * Which rows these are the table says, where all have been looked for at first: their pointers are at zeros.  Where guards cut by the last loop of the rows alone, and
 * tiles are so low that panels are many, it is known while compiling: a few positions of that loop, whose lanes inside are known as well. */
#include "rows.h"

enum { AT_ONCE = 8, MOST_ENDS = 12, MOST_VECTORS = 16 };

static int64_t extent_of(const tsr_walks *x, uint32_t sym)
{
	for (uint32_t i = 0; i < x->nloops; i++)
		if (x->loop[i].sym == sym)
			return x->loop[i].extent.k;
	tsr_bug("no loop of the contraction is %u", sym);
}

void tsr_rows_look_up(const tsr_rows *r)
{
	tsr_emit *e = r->e;
	for (const tsr_expr *x = r->value; x->kind == TSR_EXPR_LOOKUP; x = x->lookup.value)
		e->syms[x->lookup.sym] = tsr_emit_convert(e, tsr_emit_expr(e, x->lookup.at), x->lookup.at->prec, TSR_PREC_I64);
}

bool tsr_rows_cuts(const tsr_rows *r, const tsr_range *guard)
{
	for (uint32_t i = 0; i + 1 < r->stretch.n; i++)
		if (tsr_lin_mentions(&guard->index, r->stretch.loop[i]))
			return true;
	return false;
}

/* The stretch's loops stand where the guard's index is least, or largest. */
static void set_end(tsr_kit *k, const tsr_rows *r, const tsr_range *guard, bool largest)
{
	for (uint32_t i = 0; i + 1 < r->stretch.n; i++) {
		bool last = largest == (tsr_lin_coef(&guard->index, r->stretch.loop[i]) > 0);
		r->e->syms[r->stretch.loop[i]] = tsr_kit_int(k, last ? extent_of(r->along, r->stretch.loop[i]) - 1 : 0);
	}
}

void tsr_rows_at_begin(tsr_kit *k, const tsr_rows *r)
{
	for (uint32_t i = 0; i + 1 < r->stretch.n; i++)
		r->e->syms[r->stretch.loop[i]] = tsr_kit_int(k, 0);
}

LLVMValueRef tsr_rows_hold(tsr_kit *k, const tsr_rows *r, const tsr_guards *guards, bool uncut)
{
	LLVMValueRef all = LLVMConstInt(k->i1, 1, false);
	for (uint32_t i = 0; i < guards->n; i++) {
		bool cuts = tsr_rows_cuts(r, &guards->at[i]);
		for (int end = 0; end < (cuts ? 2 : 1); end++)
			if (!uncut || !cuts) {
				set_end(k, r, &guards->at[i], end != 0);
				all = LLVMBuildAnd(k->b, all, tsr_emit_in_ranges(r->e, 1, &guards->at[i]), "");
			}
	}
	tsr_rows_at_begin(k, r);
	return all;
}

/* What element `at` of the stretch adds to a guard's index. */
static int64_t added(const tsr_rows *r, const tsr_range *guard, int64_t at)
{
	int64_t index = 0;
	for (uint32_t i = r->stretch.n; i-- > 0;) {
		int64_t extent = extent_of(r->along, r->stretch.loop[i]);
		index += at % extent * (i + 1 < r->stretch.n ? tsr_lin_coef(&guard->index, r->stretch.loop[i]) : 0);
		at /= extent;
	}
	return index;
}

/* Lane by lane: the guards that cut the stretch, from its element `first` on; the loops stand at its begin. */
static LLVMValueRef lanes_inside(tsr_kit *k, const tsr_rows *r, const tsr_guards *guards, int64_t first)
{
	LLVMTypeRef type = LLVMVectorType(k->i64, k->lanes);
	LLVMValueRef lane[64], all = NULL, none = LLVMConstNull(LLVMVectorType(k->i32, k->lanes));
	for (uint32_t g = 0; g < guards->n; g++) {
		const tsr_range *guard = &guards->at[g];
		if (!tsr_rows_cuts(r, guard))
			continue;
		for (uint32_t v = 0; v < k->lanes; v++)
			lane[v] = tsr_kit_int(k, added(r, guard, first + v));
		LLVMValueRef pair[2] = { tsr_emit_lin(r->e, &guard->index), tsr_emit_size(r->e, guard->size) };
		for (int i = 0; i < 2; i++) {
			pair[i] = LLVMBuildInsertElement(k->b, LLVMGetPoison(type), pair[i], LLVMConstInt(k->i32, 0, false), "");
			pair[i] = LLVMBuildShuffleVector(k->b, pair[i], LLVMGetPoison(type), none, "");
		}
		LLVMValueRef in = LLVMBuildICmp(k->b, LLVMIntULT, LLVMBuildAdd(k->b, pair[0], LLVMConstVector(lane, k->lanes), ""), pair[1], "");
		all = all ? LLVMBuildAnd(k->b, all, in, "") : in;
	}
	return LLVMBuildAnd(k->b, all, tsr_kit_mask(k, tsr_kit_int(k, r->run), (uint32_t)first), "");
}

int64_t tsr_rows_padded(const tsr_kit *k, int64_t run) { return (run + k->lanes - 1) / k->lanes * k->lanes; }

LLVMValueRef tsr_rows_at_zeros(tsr_kit *k, const tsr_rows *r, LLVMValueRef from, uint32_t n, bool all)
{
	LLVMTypeRef type = LLVMVectorType(k->i64, n), bits = LLVMIntTypeInContext(k->context, n);
	LLVMValueRef p = LLVMBuildLoad2(k->b, type, from, ""), zeros = LLVMBuildPtrToInt(k->b, r->zeros, k->i64, "");
	LLVMSetAlignment(p, 8);
	LLVMValueRef one = LLVMBuildInsertElement(k->b, LLVMGetPoison(type), zeros, LLVMConstInt(k->i32, 0, false), "");
	one = LLVMBuildShuffleVector(k->b, one, LLVMGetPoison(type), LLVMConstNull(LLVMVectorType(k->i32, n)), "");
	LLVMValueRef other = LLVMBuildBitCast(k->b, LLVMBuildICmp(k->b, all ? LLVMIntNE : LLVMIntEQ, p, one, ""), bits, "");
	return LLVMBuildICmp(k->b, all ? LLVMIntEQ : LLVMIntNE, other, LLVMConstNull(bits), "");
}

/* ---- copies ----------------------------------------------------------------------------------------------------------- */

/* A row's copy, the i-th of the block, whose pointer is at `cell`: of the lanes inside; NULL: the guards must be asked. */
static void copy(tsr_kit *k, const tsr_rows *r, LLVMValueRef cell, LLVMValueRef edges, LLVMValueRef i, const tsr_guards *guards, LLVMValueRef *inside)
{
	const tsr_expr *x = tsr_contract_guarded(r->value);
	LLVMValueRef from = tsr_emit_address(r->e, x->load.buffer, x->load.index);
	LLVMValueRef to = tsr_kit_at(k, edges, tsr_kit_mul(k, i, tsr_kit_int(k, tsr_rows_padded(k, r->run))));
	for (int64_t v = 0; v < r->run; v += k->lanes) {
		LLVMValueRef lane = tsr_kit_int(k, v), mask = inside ? inside[v / k->lanes] : lanes_inside(k, r, guards, v);
		LLVMValueRef args[4] = { tsr_kit_at(k, from, lane), LLVMConstInt(k->i32, k->elem_bytes, false), mask, LLVMConstNull(k->vec) };
		LLVMValueRef some = tsr_kit_intrinsic(k, "llvm.masked.load", (LLVMTypeRef[]){ k->vec, k->ptr }, 2, args, 4);
		tsr_kit_store(k, some, tsr_kit_at(k, to, lane), NULL);
	}
	LLVMBuildStore(k->b, to, cell);
}

void tsr_rows_edges(tsr_kit *k, const tsr_rows *r, LLVMValueRef row, LLVMValueRef edges, const tsr_guards *guards)
{
	tsr_count many = tsr_count_begin(k, tsr_kit_int(k, 0), r->count, tsr_kit_int(k, AT_ONCE));
	tsr_guard some = tsr_guard_begin(k, tsr_rows_at_zeros(k, r, LLVMBuildInBoundsGEP2(k->b, k->ptr, row, &many.i, 1, ""), AT_ONCE, false));
	tsr_count i = tsr_count_begin(k, many.i, tsr_kit_min(k, r->count, tsr_kit_add(k, many.i, tsr_kit_int(k, AT_ONCE))), tsr_kit_int(k, 1));
	LLVMValueRef cell = LLVMBuildInBoundsGEP2(k->b, k->ptr, row, &i.i, 1, "");
	tsr_guard outside = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntEQ, LLVMBuildLoad2(k->b, k->ptr, cell, ""), r->zeros, ""));
	tsr_walks_decode(k, r->e, r->across, 0, tsr_kit_add(k, r->first, i.i));
	tsr_rows_look_up(r);
	tsr_guard cut = tsr_guard_begin(k, tsr_rows_hold(k, r, guards, true));
	copy(k, r, cell, edges, i.i, guards, NULL);
	tsr_guard_end(k, cut);
	tsr_guard_end(k, outside);
	tsr_count_end(k, &i);
	tsr_guard_end(k, some);
	tsr_count_end(k, &many);
}

/* ---- known positions ---------------------------------------------------------------------------------------------------- */

/* Positions of the rows' last loop where guards cut the stretch. */
typedef struct ends { uint32_t n; int64_t at[MOST_ENDS]; } ends;

/* The guard mentions nothing but this loop and those of the stretch. */
static bool mentions_only(const tsr_rows *r, const tsr_range *guard, uint32_t sym)
{
	if (!tsr_size_is_const(guard->index.base) || !tsr_size_is_const(guard->size))
		return false;
	for (uint32_t t = 0; t < guard->index.n; t++) {
		bool known = guard->index.terms[t].kind == TSR_LSYM_LOOP && guard->index.terms[t].id == sym;
		for (uint32_t i = 0; i + 1 < r->stretch.n; i++)
			known |= guard->index.terms[t].kind == TSR_LSYM_LOOP && guard->index.terms[t].id == r->stretch.loop[i];
		if (!known && guard->index.terms[t].coef)
			return false;
	}
	return true;
}

/* Element `at` of the stretch lies inside of all guards that cut it, where the rows' last loop stands at `place`. */
static bool is_inside(const tsr_rows *r, const tsr_guards *guards, uint32_t sym, int64_t place, int64_t at)
{
	for (uint32_t g = 0; g < guards->n; g++) {
		const tsr_range *guard = &guards->at[g];
		if (!tsr_rows_cuts(r, guard))
			continue;
		int64_t index = guard->index.offset + guard->index.base.k + place * tsr_lin_coef(&guard->index, sym) + added(r, guard, at);
		if (index < 0 || index >= guard->size.k)
			return false;
	}
	return true;
}

/* Elements from one position of the rows' last loop to the next. */
static bool step_of(const tsr_rows *r, int64_t *out)
{
	const tsr_expr *x = tsr_contract_guarded(r->value);
	return tsr_index_stride(r->e->loops->buffers.at[x->load.buffer], x->load.index, r->across->loop[r->across->nloops - 1].sym, out);
}

/* false: they are not known, or many. */
static bool ends_of(const tsr_kit *k, const tsr_rows *r, const tsr_guards *guards, ends *out)
{
	const tsr_contract_loop *last = r->across->nloops ? &r->across->loop[r->across->nloops - 1] : NULL;
	*out = (ends){ 0 };
	if (!tsr_target_few_registers(k->target) || !last || !tsr_size_is_const(last->extent) || r->value->kind == TSR_EXPR_LOOKUP || r->run > MOST_VECTORS * k->lanes)
		return false;
	for (uint32_t g = 0; g < guards->n; g++)
		if (tsr_rows_cuts(r, &guards->at[g]) ? !mentions_only(r, &guards->at[g], last->sym) : tsr_lin_mentions(&guards->at[g].index, last->sym))
			return false;
	for (int64_t place = 0; place < last->extent.k; place++) {
		int64_t at = 0;
		while (at < r->run && is_inside(r, guards, last->sym, place, at))
			at++;
		if (at < r->run && out->n == MOST_ENDS)
			return false;
		if (at < r->run)
			out->at[out->n++] = place;
	}
	return true;
}

/* `n` pointers from `cell` on, `step` elements apart; behind them is room for some more. */
static void line_up(tsr_kit *k, LLVMValueRef cell, LLVMValueRef n, LLVMValueRef first, int64_t step)
{
	uint32_t lanes = k->target->vector_bytes / (uint32_t)sizeof(int64_t);
	LLVMValueRef lane[8], none = LLVMConstNull(LLVMVectorType(k->i32, lanes));
	for (uint32_t i = 0; i < lanes; i++)
		lane[i] = tsr_kit_int(k, step * i);
	tsr_count c = tsr_count_begin(k, tsr_kit_int(k, 0), n, tsr_kit_int(k, lanes));
	LLVMValueRef at = tsr_kit_mul(k, c.i, tsr_kit_int(k, step)), here = LLVMBuildGEP2(k->b, k->elem, first, &at, 1, "");
	LLVMValueRef all = LLVMBuildInsertElement(k->b, LLVMGetPoison(LLVMVectorType(k->ptr, lanes)), here, LLVMConstInt(k->i32, 0, false), "");
	all = LLVMBuildShuffleVector(k->b, all, LLVMGetPoison(LLVMTypeOf(all)), none, "");
	LLVMValueRef apart = LLVMConstVector(lane, lanes), stored = step ? LLVMBuildGEP2(k->b, k->elem, all, &apart, 1, "") : all;
	LLVMSetAlignment(LLVMBuildStore(k->b, stored, LLVMBuildInBoundsGEP2(k->b, k->ptr, cell, &c.i, 1, "")), sizeof(int64_t));
	tsr_count_end(k, &c);
}

/* Copies of the ends, those that are among the block's rows: the first position of the last loop would be the `begin`-th of these. */
static void copy_ends(tsr_kit *k, const tsr_rows *r, LLVMValueRef row, LLVMValueRef edges, const tsr_guards *guards, const ends *x, LLVMValueRef begin)
{
	uint32_t sym = r->across->loop[r->across->nloops - 1].sym;
	for (uint32_t j = 0; j < x->n; j++) {
		LLVMValueRef i = tsr_kit_add(k, begin, tsr_kit_int(k, x->at[j])), mask[MOST_VECTORS], lane[64];
		tsr_guard here = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntULT, i, r->count, ""));
		r->e->syms[sym] = tsr_kit_int(k, x->at[j]);
		for (int64_t v = 0; v < r->run; v += k->lanes) {
			for (uint32_t l = 0; l < k->lanes; l++)
				lane[l] = LLVMConstInt(k->i1, v + l < r->run && is_inside(r, guards, sym, x->at[j], v + l), false);
			mask[v / k->lanes] = LLVMConstVector(lane, k->lanes);
		}
		copy(k, r, LLVMBuildInBoundsGEP2(k->b, k->ptr, row, &i, 1, ""), edges, i, guards, mask);
		tsr_guard_end(k, here);
	}
}

/* Positions of the other loops in turn: of each all rows are a step apart, but for the ends, or at zeros. */
static void by_ends(tsr_kit *k, const tsr_rows *r, LLVMValueRef outside, LLVMValueRef row, LLVMValueRef edges, const tsr_guards *guards, const ends *x, int64_t step)
{
	tsr_emit *e = r->e;
	const tsr_contract_loop *last = &r->across->loop[r->across->nloops - 1];
	const tsr_expr *v = tsr_contract_guarded(r->value);
	LLVMValueRef extent = tsr_kit_int(k, last->extent.k), one = tsr_kit_int(k, 1), zero = tsr_kit_int(k, 0), limit = tsr_kit_add(k, r->first, r->count);
	LLVMValueRef until = LLVMBuildUDiv(k->b, tsr_kit_add(k, limit, tsr_kit_int(k, last->extent.k - 1)), extent, "");
	tsr_count outer = tsr_count_begin(k, LLVMBuildUDiv(k->b, r->first, extent, ""), until, one);
	LLVMValueRef begin = LLVMBuildNSWSub(k->b, tsr_kit_mul(k, outer.i, extent), r->first, "");
	LLVMValueRef from = LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntSLT, begin, zero, ""), zero, begin, "");
	LLVMValueRef n = LLVMBuildNSWSub(k->b, tsr_kit_min(k, tsr_kit_add(k, begin, extent), r->count), from, "");
	LLVMValueRef cell = LLVMBuildInBoundsGEP2(k->b, k->ptr, row, &from, 1, "");
	tsr_walks rest = *r->across;
	rest.nloops--;
	tsr_walks_decode(k, e, &rest, 0, outer.i);
	e->syms[last->sym] = LLVMBuildNSWSub(k->b, from, begin, "");
	LLVMValueRef holds = tsr_rows_hold(k, r, guards, true), at = tsr_emit_position(e, v->load.buffer, v->load.index);
	if (outside)
		LLVMBuildStore(k->b, LLVMBuildOr(k->b, LLVMBuildLoad2(k->b, k->i64, outside, ""), LLVMBuildZExt(k->b, LLVMBuildNot(k->b, holds, ""), k->i64, ""), ""), outside);
	tsr_guard inside = tsr_guard_begin(k, holds);
	line_up(k, cell, n, LLVMBuildGEP2(k->b, k->elem, e->buffers[v->load.buffer], &at, 1, ""), step);
	copy_ends(k, r, row, edges, guards, x, begin);
	tsr_guard_end(k, inside);
	tsr_guard none = tsr_guard_begin(k, LLVMBuildNot(k->b, holds, ""));
	line_up(k, cell, n, r->zeros, 0);
	tsr_guard_end(k, none);
	tsr_count_end(k, &outer);
}

bool tsr_rows_by_ends(tsr_kit *k, const tsr_rows *r, LLVMValueRef outside, LLVMValueRef row, LLVMValueRef edges, const tsr_guards *guards)
{
	ends known;
	int64_t step;
	if (!ends_of(k, r, guards, &known) || !step_of(r, &step))
		return false;
	by_ends(k, r, outside, row, edges, guards, &known, step);
	return true;
}
