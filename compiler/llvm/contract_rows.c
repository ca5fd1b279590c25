/* Rows of A, or of B, where they lie: instead of a packed copy, a table of pointers.
 *
 * K is cut into stretches along which A lies side by side and which no guard mentions (a window's channels).  For the rows of a
 * block and the stretches of K's block the table says where each row's stretch begins, or, where a guard lets nothing in, at zeros:
 *
 *     table[stretch][row], list[panel] = { n, the stretches in which some row of the panel is inside }
 *
 * so that padding is neither copied nor multiplied where a whole tile lies in it.  Tiles walk their panel's list.  B's rows, where
 * what is summed are the positions under windows, are the depths, a stretch of N long; without lists. */
#include "contract.h"
#include <string.h>

enum { MOST_RANGES = 32 };

static LLVMValueRef slot(tsr_kit *k, LLVMTypeRef type, LLVMValueRef p, LLVMValueRef i) { return LLVMBuildInBoundsGEP2(k->b, type, p, &i, 1, ""); }

/* The guards around A's element, all of which must hold. */
static uint32_t guards_of(const tsr_expr *e, tsr_range *out)
{
	uint32_t n = 0;
	for (; e->kind == TSR_EXPR_SELECT; e = e->select.inside)
		for (uint32_t i = 0; i < e->select.n; i++) {
			if (n == MOST_RANGES)
				tsr_bug("an operand with more than %d guards", MOST_RANGES);
			out[n++] = e->select.ranges[i];
		}
	return n;
}

/* Where the stretch begins in each row of the block. */
static void fill_stretch(tsr_kit *k, const tsr_rows *r, LLVMValueRef row)
{
	tsr_emit *e = r->e;
	const tsr_expr *x = tsr_contract_guarded(r->value);
	tsr_range guards[MOST_RANGES];
	uint32_t n = guards_of(r->value, guards);
	tsr_walk_run run = tsr_walk_run_begin(k, e, r->across, r->first, r->count);
	LLVMValueRef p = tsr_emit_address(e, x->load.buffer, x->load.index);
	if (n)
		p = LLVMBuildSelect(k->b, tsr_emit_in_ranges(e, n, guards), p, r->zeros, "");
	LLVMBuildStore(k->b, p, slot(k, k->ptr, row, run.place));
	tsr_walk_run_end(k, e, &run);
}

/* Which stretches a panel has to walk. */
static void fill_list(tsr_kit *k, const tsr_rows *r, LLVMValueRef first, LLVMValueRef list)
{
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), n = slot(k, k->i64, list, zero);
	bool guarded = r->value->kind == TSR_EXPR_SELECT;
	LLVMBuildStore(k->b, zero, n);
	tsr_count t = tsr_count_begin(k, zero, r->stretches, one);
	LLVMValueRef row = slot(k, k->ptr, r->table, tsr_kit_add(k, tsr_kit_mul(k, t.i, tsr_kit_int(k, r->capacity)), first));
	LLVMValueRef any = LLVMConstInt(k->i1, !guarded, false);
	for (uint32_t i = 0; guarded && i < r->mr; i++) {
		LLVMValueRef p = LLVMBuildLoad2(k->b, k->ptr, slot(k, k->ptr, row, tsr_kit_int(k, i)), "");
		any = LLVMBuildOr(k->b, any, LLVMBuildICmp(k->b, LLVMIntNE, p, r->zeros, ""), "");
	}
	LLVMValueRef so_far = LLVMBuildLoad2(k->b, k->i64, n, "");
	LLVMBuildStore(k->b, t.i, slot(k, k->i64, list, tsr_kit_add(k, so_far, one)));
	LLVMBuildStore(k->b, tsr_kit_add(k, so_far, LLVMBuildZExt(k->b, any, k->i64, "")), n);
	tsr_count_end(k, &t);
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
	uint32_t sym = r->along->loop[r->along->nloops - 1].sym;
	LLVMValueRef before = LLVMBuildUDiv(k->b, r->along_first, run, "");
	tsr_count t = tsr_count_begin(k, zero, r->stretches, one);
	tsr_walks_decode(k, e, r->along, 1, tsr_kit_add(k, before, t.i));
	e->syms[sym] = LLVMBuildNSWSub(k->b, r->along_first, LLVMBuildNSWMul(k->b, before, run, ""), "");
	LLVMValueRef row = slot(k, k->ptr, r->table, tsr_kit_mul(k, t.i, tsr_kit_int(k, r->capacity)));
	fill_stretch(k, r, row);
	if (r->list)
		fill_past(k, r, row);
	tsr_count_end(k, &t);
	if (!r->list)
		return;
	tsr_count p = tsr_count_begin(k, zero, r->count, tsr_kit_int(k, r->mr));
	fill_list(k, r, p.i, tsr_rows_list(k, r, p.i));
	tsr_count_end(k, &p);
}
LLVMValueRef tsr_rows_list(tsr_kit *k, const tsr_rows *r, LLVMValueRef row)
{
	LLVMValueRef panel = LLVMBuildUDiv(k->b, row, tsr_kit_int(k, r->mr), "");
	return slot(k, k->i64, r->list, tsr_kit_mul(k, panel, tsr_kit_int(k, r->most + 1)));
}

/* That many elements of 0, in memory. */
static LLVMValueRef rows_zeros(tsr_kit *k, int64_t elements)
{
	static const char name[] = "tsr.zeros";
	uint64_t bytes = (uint64_t)elements * k->elem_bytes;
	LLVMValueRef old = LLVMGetNamedGlobal(k->module, name);
	if (old && LLVMGetArrayLength2(LLVMGlobalGetValueType(old)) >= bytes)
		return old;
	LLVMTypeRef type = LLVMArrayType2(LLVMInt8TypeInContext(k->context), bytes);
	LLVMValueRef area = LLVMAddGlobal(k->module, type, "tsr.zeros.");
	LLVMSetInitializer(area, LLVMConstNull(type));
	LLVMSetLinkage(area, LLVMInternalLinkage);
	LLVMSetAlignment(area, 64);
	if (old) {
		LLVMReplaceAllUsesWith(old, area);
		LLVMDeleteGlobal(old);
	}
	LLVMSetValueName2(area, name, strlen(name));
	return area;
}

static int64_t extent_of(const tsr_contraction *c, uint32_t sym)
{
	for (uint32_t i = 0; i < c->nloops; i++)
		if (c->loops[i].sym == sym)
			return c->loops[i].extent.k;
	tsr_bug("no loop of the contraction is %u", sym);
}

tsr_rows tsr_rows_of(tsr_kit *k, tsr_emit *e, const tsr_contraction *c, tsr_side side, const tsr_walks *walks, int64_t capacity)
{
	bool a = side == TSR_SIDE_A;
	const tsr_schedule *s = &c->schedule;
	tsr_rows r = { .e = e, .value = a ? c->a_value : c->b_value, .across = &walks[a ? TSR_CLASS_M : TSR_CLASS_K],
				   .along = &walks[a ? TSR_CLASS_K : TSR_CLASS_N], .capacity = capacity, .mr = a ? s->mr : 1 };
	int64_t block = a ? s->kc : s->nc;
	r.run = extent_of(c, a ? c->run : c->across);
	r.most = r.run < block ? block / r.run : 1;
	r.zeros = rows_zeros(k, r.run);
	return r;
}
