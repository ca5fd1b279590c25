/* Rows of A, or of B, where they lie: instead of a packed copy, a table of pointers.
 *
 * K is cut into stretches along which A lies side by side (a window's channels).  For the rows of a block and the stretches of K's
 * block the table says where each row's stretch begins, or, where a guard lets nothing in, at zeros:
 *
 *     table[stretch][row], list[panel] = { n, the stretches in which some row of the panel is inside }
 *
 * so that padding is neither copied nor multiplied where a whole tile lies in it.  Tiles walk their panel's list.  B's rows, where
 * what is summed are the positions under windows, are the depths, a stretch of N long; without lists.
 *
 * No guard mentions the last loop of a stretch.  Of a short one, joined from several loops, guards may mention the others: what such a guard
 * cuts, at the edge of an image, is copied into vectors of its own, zeros outside. */
#include "contract.h"

enum { MOST_RANGES = 32, AT_ONCE = 8 };

static LLVMValueRef slot(tsr_kit *k, LLVMTypeRef type, LLVMValueRef p, LLVMValueRef i) { return LLVMBuildInBoundsGEP2(k->b, type, p, &i, 1, ""); }

/* The guards around A's element, all of which must hold. */
static uint32_t guards_of(const tsr_expr *e, tsr_range *out)
{
	uint32_t n = 0;
	while (e->kind == TSR_EXPR_LOOKUP)
		e = e->lookup.value;
	for (; e->kind == TSR_EXPR_SELECT; e = e->select.inside)
		for (uint32_t i = 0; i < e->select.n; i++) {
			if (n == MOST_RANGES)
				tsr_bug("an operand with more than %d guards", MOST_RANGES);
			out[n++] = e->select.ranges[i];
		}
	return n;
}

static int64_t extent_of(const tsr_walks *x, uint32_t sym)
{
	for (uint32_t i = 0; i < x->nloops; i++)
		if (x->loop[i].sym == sym)
			return x->loop[i].extent.k;
	tsr_bug("no loop of the contraction is %u", sym);
}

/* The places that are looked up, of the position at hand. */
static void look_up(const tsr_rows *r)
{
	tsr_emit *e = r->e;
	for (const tsr_expr *x = r->value; x->kind == TSR_EXPR_LOOKUP; x = x->lookup.value)
		e->syms[x->lookup.sym] = tsr_emit_convert(e, tsr_emit_expr(e, x->lookup.at), x->lookup.at->prec, TSR_PREC_I64);
}

/* How often a guard counts this loop of the stretch, but for the last one. */
static int64_t coefficient(const tsr_rows *r, const tsr_range *guard, uint32_t loop)
{
	for (uint32_t t = 0; t < guard->index.n; t++)
		if (guard->index.terms[t].kind == TSR_LSYM_LOOP && guard->index.terms[t].id == r->stretch.loop[loop])
			return guard->index.terms[t].coef;
	return 0;
}

static bool cuts(const tsr_rows *r, const tsr_range *guard)
{
	for (uint32_t i = 0; i + 1 < r->stretch.n; i++)
		if (coefficient(r, guard, i))
			return true;
	return false;
}

/* The stretch's loops stand where the guard's index is least, or largest. */
static void set_end(tsr_kit *k, const tsr_rows *r, const tsr_range *guard, bool largest)
{
	for (uint32_t i = 0; i + 1 < r->stretch.n; i++) {
		bool last = largest == (coefficient(r, guard, i) > 0);
		r->e->syms[r->stretch.loop[i]] = tsr_kit_int(k, last ? extent_of(r->along, r->stretch.loop[i]) - 1 : 0);
	}
}

static void set_begin(tsr_kit *k, const tsr_rows *r)
{
	for (uint32_t i = 0; i + 1 < r->stretch.n; i++)
		r->e->syms[r->stretch.loop[i]] = tsr_kit_int(k, 0);
}

/* The guards hold for all of the stretch; `uncut`: those that do not cut it. */
static LLVMValueRef all_hold(tsr_kit *k, const tsr_rows *r, uint32_t n, const tsr_range *guards, bool uncut)
{
	LLVMValueRef all = LLVMConstInt(k->i1, 1, false);
	for (uint32_t i = 0; i < n; i++)
		for (int end = 0; end < (cuts(r, &guards[i]) ? 2 : 1); end++)
			if (!uncut || !cuts(r, &guards[i])) {
				set_end(k, r, &guards[i], end != 0);
				all = LLVMBuildAnd(k->b, all, tsr_emit_in_ranges(r->e, 1, &guards[i]), "");
			}
	set_begin(k, r);
	return all;
}

/* Lane by lane: the guards that cut the stretch, from its element `first` on; the loops stand at its begin. */
static LLVMValueRef lanes_inside(tsr_kit *k, const tsr_rows *r, uint32_t n, const tsr_range *guards, int64_t first)
{
	LLVMTypeRef type = LLVMVectorType(k->i64, k->lanes);
	LLVMValueRef lane[64], all = NULL, none = LLVMConstNull(LLVMVectorType(k->i32, k->lanes));
	for (uint32_t g = 0; g < n; g++) {
		if (!cuts(r, &guards[g]))
			continue;
		for (uint32_t v = 0; v < k->lanes; v++) {
			int64_t at = first + v, index = 0;
			for (uint32_t i = r->stretch.n; i-- > 0;) {
				int64_t extent = extent_of(r->along, r->stretch.loop[i]);
				index += at % extent * (i + 1 < r->stretch.n ? coefficient(r, &guards[g], i) : 0);
				at /= extent;
			}
			lane[v] = tsr_kit_int(k, index);
		}
		LLVMValueRef pair[2] = { tsr_emit_lin(r->e, &guards[g].index), tsr_emit_size(r->e, guards[g].size) };
		for (int i = 0; i < 2; i++) {
			pair[i] = LLVMBuildInsertElement(k->b, LLVMGetPoison(type), pair[i], LLVMConstInt(k->i32, 0, false), "");
			pair[i] = LLVMBuildShuffleVector(k->b, pair[i], LLVMGetPoison(type), none, "");
		}
		LLVMValueRef in = LLVMBuildICmp(k->b, LLVMIntULT, LLVMBuildAdd(k->b, pair[0], LLVMConstVector(lane, k->lanes), ""), pair[1], "");
		all = all ? LLVMBuildAnd(k->b, all, in, "") : in;
	}
	return LLVMBuildAnd(k->b, all, tsr_kit_mask(k, tsr_kit_int(k, r->run), (uint32_t)first), "");
}

static int64_t padded(const tsr_kit *k, int64_t run) { return (run + k->lanes - 1) / k->lanes * k->lanes; }

/* Of n pointers from here on all are at zeros, or some. */
static LLVMValueRef at_zeros(tsr_kit *k, const tsr_rows *r, LLVMValueRef from, uint32_t n, bool all)
{
	LLVMTypeRef type = LLVMVectorType(k->i64, n), bits = LLVMIntTypeInContext(k->context, n);
	LLVMValueRef p = LLVMBuildLoad2(k->b, type, from, ""), zeros = LLVMBuildPtrToInt(k->b, r->zeros, k->i64, "");
	LLVMSetAlignment(p, 8);
	LLVMValueRef one = LLVMBuildInsertElement(k->b, LLVMGetPoison(type), zeros, LLVMConstInt(k->i32, 0, false), "");
	one = LLVMBuildShuffleVector(k->b, one, LLVMGetPoison(type), LLVMConstNull(LLVMVectorType(k->i32, n)), "");
	LLVMValueRef other = LLVMBuildBitCast(k->b, LLVMBuildICmp(k->b, all ? LLVMIntNE : LLVMIntEQ, p, one, ""), bits, "");
	return LLVMBuildICmp(k->b, all ? LLVMIntEQ : LLVMIntNE, other, LLVMConstNull(bits), "");
}

/* Rows whose stretch is cut get a copy of it, at their place among `edges`. */
static void fill_edges(tsr_kit *k, const tsr_rows *r, LLVMValueRef row, LLVMValueRef edges, uint32_t n, const tsr_range *guards)
{
	tsr_emit *e = r->e;
	const tsr_expr *x = tsr_contract_guarded(r->value);
	tsr_count many = tsr_count_begin(k, tsr_kit_int(k, 0), r->count, tsr_kit_int(k, AT_ONCE));
	tsr_guard some = tsr_guard_begin(k, at_zeros(k, r, slot(k, k->ptr, row, many.i), AT_ONCE, false));
	tsr_count i = tsr_count_begin(k, many.i, tsr_kit_min(k, r->count, tsr_kit_add(k, many.i, tsr_kit_int(k, AT_ONCE))), tsr_kit_int(k, 1));
	LLVMValueRef cell = slot(k, k->ptr, row, i.i);
	tsr_guard outside = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntEQ, LLVMBuildLoad2(k->b, k->ptr, cell, ""), r->zeros, ""));
	tsr_walks_decode(k, e, r->across, 0, tsr_kit_add(k, r->first, i.i));
	look_up(r);
	tsr_guard cut = tsr_guard_begin(k, all_hold(k, r, n, guards, true));
	LLVMValueRef from = tsr_emit_address(e, x->load.buffer, x->load.index);
	LLVMValueRef to = tsr_kit_at(k, edges, tsr_kit_mul(k, i.i, tsr_kit_int(k, padded(k, r->run))));
	for (int64_t v = 0; v < r->run; v += k->lanes) {
		LLVMValueRef lane = tsr_kit_int(k, v), inside = lanes_inside(k, r, n, guards, v);
		LLVMValueRef args[4] = { tsr_kit_at(k, from, lane), LLVMConstInt(k->i32, k->elem_bytes, false), inside, LLVMConstNull(k->vec) };
		LLVMValueRef some = tsr_kit_intrinsic(k, "llvm.masked.load", (LLVMTypeRef[]){ k->vec, k->ptr }, 2, args, 4);
		tsr_kit_store(k, some, tsr_kit_at(k, to, lane), NULL);
	}
	LLVMBuildStore(k->b, to, cell);
	tsr_guard_end(k, cut);
	tsr_guard_end(k, outside);
	tsr_count_end(k, &i);
	tsr_guard_end(k, some);
	tsr_count_end(k, &many);
}

/* Where the stretch begins in each row of the block. */
static void fill_stretch(tsr_kit *k, const tsr_rows *r, LLVMValueRef row, LLVMValueRef edges)
{
	tsr_emit *e = r->e;
	const tsr_expr *x = tsr_contract_guarded(r->value);
	tsr_range guards[MOST_RANGES];
	uint32_t n = guards_of(r->value, guards);
	tsr_walk_run run = tsr_walk_run_begin(k, e, r->across, r->first, r->count);
	look_up(r);
	LLVMValueRef p = tsr_emit_address(e, x->load.buffer, x->load.index);
	if (n)
		p = LLVMBuildSelect(k->b, all_hold(k, r, n, guards, false), p, r->zeros, "");
	LLVMBuildStore(k->b, p, slot(k, k->ptr, row, run.place));
	tsr_walk_run_end(k, e, &run);
	if (r->edge)
		fill_edges(k, r, row, edges, n, guards);
}

/* The stretch at `row` of a panel's table reaches its rows this way. */
static LLVMValueRef goes(tsr_kit *k, const tsr_rows *r, LLVMValueRef row, tsr_way way)
{
	LLVMValueRef some = LLVMBuildNot(k->b, at_zeros(k, r, row, r->mr, true), "");
	if (!r->step)
		return some;
	LLVMValueRef first = at_zeros(k, r, row, 1, true), last = at_zeros(k, r, slot(k, k->ptr, row, tsr_kit_int(k, r->mr - 1)), 1, true);
	LLVMValueRef here = way == TSR_WAY_BUT_FIRST ? first : way == TSR_WAY_BUT_LAST ? last : LLVMBuildNot(k->b, LLVMBuildOr(k->b, first, last, ""), "");
	return LLVMBuildAnd(k->b, some, here, "");
}

/* Which stretches a panel has to walk, way by way. */
static void fill_list(tsr_kit *k, const tsr_rows *r, LLVMValueRef first, LLVMValueRef list)
{
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), n = tsr_kit_table(k, 1);
	tsr_range guards[MOST_RANGES];
	bool guarded = guards_of(r->value, guards) > 0;
	uint32_t ways = tsr_rows_ways(r->step);
	LLVMBuildStore(k->b, zero, n);
	for (unsigned way = 0; way < ways; way++) {
		tsr_count t = tsr_count_begin(k, zero, guarded || !way ? r->stretches : zero, one);
		LLVMValueRef row = slot(k, k->ptr, r->table, tsr_kit_add(k, tsr_kit_mul(k, t.i, tsr_kit_int(k, r->capacity)), first));
		LLVMValueRef any = guarded ? goes(k, r, row, (tsr_way)way) : LLVMConstInt(k->i1, 1, false);
		LLVMValueRef so_far = LLVMBuildLoad2(k->b, k->i64, n, "");
		LLVMBuildStore(k->b, t.i, slot(k, k->i64, list, tsr_kit_add(k, so_far, tsr_kit_int(k, ways))));
		LLVMBuildStore(k->b, tsr_kit_add(k, so_far, LLVMBuildZExt(k->b, any, k->i64, "")), n);
		tsr_count_end(k, &t);
		LLVMBuildStore(k->b, LLVMBuildLoad2(k->b, k->i64, n, ""), slot(k, k->i64, list, tsr_kit_int(k, way)));
	}
}

/* A tile's rows past the end read zeros. */
static void fill_past(tsr_kit *k, const tsr_rows *r, LLVMValueRef row)
{
	LLVMValueRef mr = tsr_kit_int(k, r->mr), most = tsr_kit_add(k, r->count, tsr_kit_int(k, r->mr - 1));
	LLVMValueRef whole = LLVMBuildMul(k->b, LLVMBuildUDiv(k->b, most, mr, ""), mr, "");
	tsr_count i = tsr_count_begin(k, r->count, whole, tsr_kit_int(k, 1));
	LLVMBuildStore(k->b, r->zeros, slot(k, k->ptr, row, i.i));
	tsr_count_end(k, &i);
}

void tsr_rows_emit(tsr_kit *k, const tsr_rows *r)
{
	tsr_emit *e = r->e;
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), run = tsr_kit_int(k, r->run);
	LLVMValueRef before = LLVMBuildUDiv(k->b, r->along_first, run, "");
	tsr_count t = tsr_count_begin(k, zero, r->stretches, one);
	tsr_walks_decode(k, e, r->along, r->stretch.n, tsr_kit_add(k, before, t.i));
	set_begin(k, r);             /* blocks hold whole stretches of several loops, but may be a part of one loop's */
	e->syms[r->stretch.loop[r->stretch.n - 1]] = r->stretch.n > 1 ? zero : LLVMBuildNSWSub(k->b, r->along_first, LLVMBuildNSWMul(k->b, before, run, ""), "");
	LLVMValueRef at = tsr_kit_mul(k, t.i, tsr_kit_int(k, r->capacity)), row = slot(k, k->ptr, r->table, at);
	fill_stretch(k, r, row, r->edge ? tsr_kit_at(k, r->edges, tsr_kit_mul(k, at, tsr_kit_int(k, r->edge))) : NULL);
	if (r->list)
		fill_past(k, r, row);
	tsr_count_end(k, &t);
	if (!r->list)
		return;
	tsr_count p = tsr_count_begin(k, zero, r->count, tsr_kit_int(k, r->mr));
	fill_list(k, r, p.i, tsr_rows_list(k, r, p.i));
	tsr_count_end(k, &p);
}

int64_t tsr_rows_list_length(const tsr_rows *r) { return r->most + 1 + tsr_rows_ways(r->step); }

LLVMValueRef tsr_rows_list(tsr_kit *k, const tsr_rows *r, LLVMValueRef row)
{
	LLVMValueRef panel = LLVMBuildUDiv(k->b, row, tsr_kit_int(k, r->mr), "");
	return slot(k, k->i64, r->list, tsr_kit_mul(k, panel, tsr_kit_int(k, tsr_rows_list_length(r))));
}

tsr_rows tsr_rows_of(tsr_kit *k, tsr_emit *e, const tsr_contraction *c, tsr_side side, const tsr_walks *walks, int64_t capacity)
{
	bool a = side == TSR_SIDE_A;
	const tsr_schedule *s = &c->schedule;
	tsr_rows r = { .e = e, .value = a ? c->a_value : c->b_value, .across = &walks[a ? TSR_CLASS_M : TSR_CLASS_K],
				   .along = &walks[a ? TSR_CLASS_K : TSR_CLASS_N], .capacity = capacity, .mr = a ? s->mr : 1 };
	int64_t block = a ? s->kc : s->nc;
	r.stretch = a ? c->run : c->across;
	r.run = r.stretch.length;
	tsr_range guards[MOST_RANGES];
	for (uint32_t i = 0, n = guards_of(r.value, guards); i < n; i++)
		r.edge = cuts(&r, &guards[i]) ? padded(k, r.run) : r.edge;
	r.most = r.run < block ? block / r.run : 1;
	r.zeros = tsr_emit_zeros(k->module, "tsr.zeros", (uint64_t)r.run * k->elem_bytes, TSR_LINE, false);
	return r;
}
