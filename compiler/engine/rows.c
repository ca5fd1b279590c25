/* Rows of A, or of B, where they lie: instead of a packed copy, a table of pointers.
 *
 * K is cut into stretches along which A lies side by side (a window's channels).  For the rows of a block and the stretches of K's
 * block the table says where each row's stretch begins, or, where a guard lets nothing in, at zeros:
 *
 *     table[stretch][row], list[panel] = { n, the stretches in which some row of the panel is inside }
 *
 * so that padding is neither copied nor multiplied where a whole tile lies in it.  Tiles walk their panel's list.  Where the rows of a tile stand one step apart,
 * the table has the second one's place alone, and the list also says which stretches leave out the first row, or the last.  B's rows, where
 * what is summed are the positions under windows, are the depths, a stretch of N long; without lists.  Of these padding is left out depth by depth (`kept`):
 *
 *     table[stretch][i] = { where the i-th depth that is inside begins, its place in A }, kept[stretch] = how many
 *
 * No guard mentions the last loop of a stretch.  Of a short one, joined from several loops, guards may mention the others: what such a guard
 * cuts, at the edge of an image, is copied into vectors of its own, zeros outside. */
#include "rows.h"

enum { MOST_LISTED = 32 };

static LLVMValueRef slot(tsr_kit *k, LLVMTypeRef type, LLVMValueRef p, LLVMValueRef i) { return LLVMBuildInBoundsGEP2(k->b, type, p, &i, 1, ""); }

static tsr_guards guards_of(const tsr_expr *e)
{
	tsr_guards out = { 0 };
	while (e->kind == TSR_EXPR_LOOKUP)
		e = e->lookup.value;
	for (; e->kind == TSR_EXPR_SELECT; e = e->select.inside)
		for (uint32_t i = 0; i < e->select.n; i++) {
			if (out.n == TSR_MOST_GUARDS)
				tsr_bug("an operand with more than %d guards", TSR_MOST_GUARDS);
			out.at[out.n++] = e->select.ranges[i];
		}
	return out;
}

/* The depths of the block in which the stretch is inside, one behind the other. */
static void fill_kept(tsr_kit *k, const tsr_rows *r, LLVMValueRef row, LLVMValueRef count)
{
	tsr_emit *e = r->e;
	const tsr_expr *x = tsr_contract_guarded(r->value);
	tsr_guards guards = guards_of(r->value);
	LLVMValueRef n = tsr_kit_table(k, 1), one = tsr_kit_int(k, 1);
	LLVMBuildStore(k->b, tsr_kit_int(k, 0), n);
	tsr_walk_run run = tsr_walk_run_begin(k, e, r->across, r->first, r->count, 1);
	tsr_rows_look_up(r);
	LLVMValueRef so_far = LLVMBuildLoad2(k->b, k->i64, n, ""), at = LLVMBuildShl(k->b, so_far, one, "");
	LLVMBuildStore(k->b, tsr_emit_address(e, x->load.buffer, x->load.index), slot(k, k->ptr, row, at));
	LLVMBuildStore(k->b, tsr_kit_mul(k, run.place, r->apart), slot(k, k->i64, row, LLVMBuildOr(k->b, at, one, "")));
	LLVMBuildStore(k->b, tsr_kit_add(k, so_far, LLVMBuildZExt(k->b, tsr_rows_hold(k, r, &guards, false), k->i64, "")), n);
	tsr_walk_run_end(k, e, &run);
	LLVMBuildStore(k->b, LLVMBuildLoad2(k->b, k->i64, n, ""), count);
}

/* Where the stretch begins in each row of the block; `outside`: see outside_of. */
static void fill_stretch(tsr_kit *k, const tsr_rows *r, LLVMValueRef outside, LLVMValueRef row, LLVMValueRef edges)
{
	tsr_emit *e = r->e;
	const tsr_expr *x = tsr_contract_guarded(r->value);
	tsr_guards guards = guards_of(r->value);
	if (r->edge && tsr_rows_by_ends(k, r, outside, row, edges, &guards))
		return;
	if (outside)
		LLVMBuildStore(k->b, tsr_kit_int(k, 1), outside);
	tsr_walk_run run = tsr_walk_run_begin(k, e, r->across, r->first, r->count, 1);
	tsr_rows_look_up(r);
	LLVMValueRef p = tsr_emit_address(e, x->load.buffer, x->load.index);
	if (guards.n)
		p = LLVMBuildSelect(k->b, tsr_rows_hold(k, r, &guards, false), p, r->zeros, "");
	LLVMBuildStore(k->b, p, slot(k, k->ptr, row, run.place));
	tsr_walk_run_end(k, e, &run);
	if (r->edge)
		tsr_rows_edges(k, r, row, edges, &guards);
}

/* Which stretches a panel has to walk: those in which some row is inside. */
static void fill_list(tsr_kit *k, const tsr_rows *r, LLVMValueRef first, LLVMValueRef list)
{
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), n = tsr_kit_table(k, 1);
	bool guarded = guards_of(r->value).n > 0;
	LLVMBuildStore(k->b, zero, n);
	tsr_count t = tsr_count_begin(k, zero, r->stretches, one);
	LLVMValueRef row = slot(k, k->ptr, r->table, tsr_kit_add(k, tsr_kit_mul(k, t.i, tsr_kit_int(k, r->capacity)), first));
	LLVMValueRef any = guarded ? LLVMBuildNot(k->b, tsr_rows_at_zeros(k, r, row, r->mr, true), "") : LLVMConstInt(k->i1, 1, false);
	LLVMValueRef so_far = LLVMBuildLoad2(k->b, k->i64, n, "");
	LLVMBuildStore(k->b, t.i, slot(k, k->i64, list, tsr_kit_add(k, so_far, one)));
	LLVMBuildStore(k->b, tsr_kit_add(k, so_far, LLVMBuildZExt(k->b, any, k->i64, "")), n);
	tsr_count_end(k, &t);
	LLVMBuildStore(k->b, LLVMBuildLoad2(k->b, k->i64, n, ""), list);
}

/* Each panel walks all stretches. */
static void list_all(tsr_kit *k, const tsr_rows *r)
{
	tsr_count p = tsr_count_begin(k, tsr_kit_int(k, 0), r->count, tsr_kit_int(k, r->mr));
	LLVMValueRef list = tsr_rows_list(k, r, p.i);
	LLVMBuildStore(k->b, r->stretches, list);
	for (int64_t t = 0; t < r->most; t++)
		LLVMBuildStore(k->b, tsr_kit_int(k, t), slot(k, k->i64, list, tsr_kit_int(k, t + 1)));
	tsr_count_end(k, &p);
}

/* ---- rows one step apart: a tile needs one pointer --------------------------------------------------------------------- */

/* Of each panel the second row's pointer, from which the others are so many steps away, and by bits, one for each stretch, in its list which way the stretch
 * reaches its rows: between the first and the last one all are inside or none is, so that three rows say it.  A window has no more than 64 places (TSR_MOST_TAPS). */
static void fill_panels(tsr_kit *k, const tsr_rows *r, LLVMValueRef row, LLVMValueRef t)
{
	tsr_emit *e = r->e;
	const tsr_expr *x = tsr_contract_guarded(r->value);
	tsr_guards guards = guards_of(r->value);
	uint32_t last = r->across->loop[r->across->nloops - 1].sym;
	const int64_t down[3] = { 0, 1, (int64_t)r->mr - 1 };
	tsr_walk_run run = tsr_walk_run_begin(k, e, r->across, r->first, r->count, r->mr);
	LLVMValueRef inside[3], list = tsr_rows_list(k, r, run.place), at = e->syms[last], zero = tsr_kit_int(k, 0);
	for (int i = 0; i < 3; i++) {
		e->syms[last] = tsr_kit_add(k, at, tsr_kit_int(k, down[i]));
		inside[i] = tsr_rows_hold(k, r, &guards, false);
		if (i == 1)
			LLVMBuildStore(k->b, tsr_emit_address(e, x->load.buffer, x->load.index), slot(k, k->ptr, row, tsr_kit_add(k, run.place, tsr_kit_int(k, 1))));
	}
	LLVMValueRef here[TSR_WAYS] = { [TSR_WAY_ALL] = LLVMBuildAnd(k->b, inside[0], inside[2], ""), [TSR_WAY_BUT_FIRST] = LLVMBuildNot(k->b, inside[0], ""),
									[TSR_WAY_BUT_LAST] = LLVMBuildNot(k->b, inside[2], "") };
	for (unsigned way = 0; way < TSR_WAYS; way++) {
		LLVMValueRef cell = slot(k, k->i64, list, tsr_kit_int(k, way)), bit = LLVMBuildZExt(k->b, LLVMBuildAnd(k->b, inside[1], here[way], ""), k->i64, "");
		LLVMValueRef before = LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntEQ, t, zero, ""), zero, LLVMBuildLoad2(k->b, k->i64, cell, ""), "");
		LLVMBuildStore(k->b, LLVMBuildOr(k->b, before, LLVMBuildShl(k->b, bit, t, ""), ""), cell);
	}
	tsr_walk_run_end(k, e, &run);
}

/* The bits of a panel become its list: where the stretches of each way end, and these.  A stretch that no way has is written behind all. */
static void list_by_bits(tsr_kit *k, const tsr_rows *r, LLVMValueRef list)
{
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), bits[TSR_WAYS], next[TSR_WAYS], end = zero;
	for (unsigned way = 0; way < TSR_WAYS; way++) {
		LLVMValueRef cell = slot(k, k->i64, list, tsr_kit_int(k, way));
		bits[way] = LLVMBuildLoad2(k->b, k->i64, cell, "");
		next[way] = tsr_kit_table(k, 1);
		LLVMBuildStore(k->b, end, next[way]);
		end = tsr_kit_add(k, end, tsr_kit_intrinsic(k, "llvm.ctpop", &k->i64, 1, &bits[way], 1));
		LLVMBuildStore(k->b, end, cell);
	}
	tsr_count t = tsr_count_begin(k, zero, r->stretches, one);
	LLVMValueRef place = end;
	for (unsigned way = 0; way < TSR_WAYS; way++) {
		LLVMValueRef bit = LLVMBuildAnd(k->b, LLVMBuildLShr(k->b, bits[way], t.i, ""), one, ""), at = LLVMBuildLoad2(k->b, k->i64, next[way], "");
		place = LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntNE, bit, zero, ""), at, place, "");
		LLVMBuildStore(k->b, tsr_kit_add(k, at, bit), next[way]);
	}
	LLVMBuildStore(k->b, t.i, slot(k, k->i64, list, tsr_kit_add(k, place, tsr_kit_int(k, TSR_WAYS))));
	tsr_count_end(k, &t);
}

/* ---- all of a block's ----------------------------------------------------------------------------------------------------- */

/* A tile's rows past the end read zeros. */
static void fill_past(tsr_kit *k, const tsr_rows *r, LLVMValueRef row)
{
	LLVMValueRef mr = tsr_kit_int(k, r->mr), most = tsr_kit_add(k, r->count, tsr_kit_int(k, r->mr - 1));
	LLVMValueRef whole = LLVMBuildMul(k->b, LLVMBuildUDiv(k->b, most, mr, ""), mr, "");
	tsr_count i = tsr_count_begin(k, r->count, whole, tsr_kit_int(k, 1));
	LLVMBuildStore(k->b, r->zeros, slot(k, k->ptr, row, i.i));
	tsr_count_end(k, &i);
}

/* Room for whether padding keeps rows of a block outside of all of a stretch.  Only where stretches are short and tiles are so low that panels are many. */
static LLVMValueRef outside_of(tsr_kit *k, const tsr_rows *r)
{
	if (!r->list || !r->edge || r->most > MOST_LISTED || !tsr_target_few_registers(k->target))
		return NULL;
	LLVMValueRef outside = tsr_kit_table(k, 1);
	LLVMBuildStore(k->b, tsr_kit_int(k, 0), outside);
	return outside;
}

static void fill_lists(tsr_kit *k, const tsr_rows *r, LLVMValueRef outside)
{
	LLVMValueRef zero = tsr_kit_int(k, 0), some = outside ? LLVMBuildICmp(k->b, LLVMIntNE, LLVMBuildLoad2(k->b, k->i64, outside, ""), zero, "") : NULL;
	tsr_guard none = { 0 }, any = { 0 };
	if (outside) {
		none = tsr_guard_begin(k, LLVMBuildNot(k->b, some, ""));
		list_all(k, r);
		tsr_guard_end(k, none);
		any = tsr_guard_begin(k, some);
	}
	tsr_count p = tsr_count_begin(k, zero, r->count, tsr_kit_int(k, r->mr));
	if (r->step)
		list_by_bits(k, r, tsr_rows_list(k, r, p.i));
	else
		fill_list(k, r, p.i, tsr_rows_list(k, r, p.i));
	tsr_count_end(k, &p);
	if (outside)
		tsr_guard_end(k, any);
}

void tsr_rows_emit(tsr_kit *k, const tsr_rows *r)
{
	tsr_emit *e = r->e;
	LLVMValueRef outside = outside_of(k, r);
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), run = tsr_kit_int(k, r->run);
	LLVMValueRef before = LLVMBuildUDiv(k->b, r->along_first, run, "");
	tsr_count t = tsr_count_begin(k, zero, r->stretches, one);
	tsr_walks_decode(k, e, r->along, r->stretch.n, tsr_kit_add(k, before, t.i));
	tsr_rows_at_begin(k, r);             /* blocks hold whole stretches of several loops, but may be a part of one loop's */
	e->syms[r->stretch.loop[r->stretch.n - 1]] = r->stretch.n > 1 ? zero : LLVMBuildNSWSub(k->b, r->along_first, LLVMBuildNSWMul(k->b, before, run, ""), "");
	LLVMValueRef at = tsr_kit_mul(k, t.i, tsr_kit_int(k, r->capacity)), row = slot(k, k->ptr, r->table, r->kept ? tsr_kit_mul(k, at, tsr_kit_int(k, 2)) : at);
	if (r->kept)
		fill_kept(k, r, row, slot(k, k->i64, r->kept, t.i));
	else if (r->step)
		fill_panels(k, r, row, t.i);
	else
		fill_stretch(k, r, outside, row, r->edge ? tsr_kit_at(k, r->edges, tsr_kit_mul(k, at, tsr_kit_int(k, r->edge))) : NULL);
	if (r->list && !r->step)
		fill_past(k, r, row);
	tsr_count_end(k, &t);
	if (r->list)
		fill_lists(k, r, outside);
}

bool tsr_rows_keep(const tsr_rows *r) { return !r->edge && guards_of(r->value).n > 0; }

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
	tsr_guards guards = guards_of(r.value);
	for (uint32_t i = 0; i < guards.n; i++)
		r.edge = tsr_rows_cuts(&r, &guards.at[i]) ? tsr_rows_padded(k, r.run) : r.edge;
	r.most = r.run < block ? block / r.run : 1;
	r.zeros = tsr_emit_zeros(k->module, "tsr.zeros", (uint64_t)r.run * k->elem_bytes, TSR_LINE, false);
	return r;
}
