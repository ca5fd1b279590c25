/* Packing: one operand's block, read through any index map, into panels that tiles walk with stride one.
 *
 * Three ways to read: positions side by side in memory are copied as vectors; depth side by side is turned by square
 * transposes in registers, unless elements are bytes; anything else goes element by element.  Where a class has several axes, this is done stretch by
 * stretch of the innermost one. */
#include "contract.h"
#include "../base/plant.h"

enum { MOST_TURNED = 16 };          /* rows of a square that registers hold */

typedef struct panel { tsr_kit *k; const tsr_pack *p; LLVMValueRef to, first, valid; } panel;

/* Where position i of the panel begins in memory; positions past the end repeat the last one. */
static LLVMValueRef position_offset(const panel *n, LLVMValueRef i)
{
	tsr_kit *k = n->k;
	LLVMValueRef last = LLVMBuildSub(k->b, n->valid, tsr_kit_int(k, 1), "");
	return tsr_group_offset(k, n->p->across, n->p->side, tsr_kit_add(k, n->first, tsr_kit_min(k, i, last)));
}

static LLVMValueRef position(const panel *n, LLVMValueRef i) { return tsr_kit_at(n->k, n->p->from, position_offset(n, i)); }

static LLVMValueRef deep(const panel *n, LLVMValueRef d)
{
	return tsr_group_offset(n->k, n->p->along, n->p->side, tsr_kit_add(n->k, n->p->along_first, d));
}

static LLVMValueRef target(const panel *n, LLVMValueRef d, LLVMValueRef i)
{
	tsr_kit *k = n->k;
	return tsr_kit_at(k, tsr_kit_at(k, n->to, tsr_kit_mul(k, d, tsr_kit_int(k, n->p->width))), i);
}

/* Depths [first, limit) element by element; where each position begins is looked up in a table made once per panel. */
static void pack_elements(const panel *n, LLVMValueRef first, LLVMValueRef limit)
{
	tsr_kit *k = n->k;
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), width = tsr_kit_int(k, n->p->width);
	LLVMValueRef table = tsr_kit_table(k, n->p->width);
	tsr_guard some = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSLT, first, limit, ""));
	tsr_count i = tsr_count_begin(k, zero, width, one);
	LLVMBuildStore(k->b, position_offset(n, i.i), LLVMBuildInBoundsGEP2(k->b, k->i64, table, &i.i, 1, ""));
	tsr_count_end(k, &i);
	tsr_count d = tsr_count_begin(k, first, limit, one);
	LLVMValueRef from = tsr_kit_at(k, n->p->from, deep(n, d.i)), to = target(n, d.i, zero);
	i = tsr_count_begin(k, zero, width, one);
	LLVMValueRef at = LLVMBuildLoad2(k->b, k->i64, LLVMBuildInBoundsGEP2(k->b, k->i64, table, &i.i, 1, ""), "");
	tsr_kit_store(k, tsr_kit_load(k, k->elem, tsr_kit_at(k, from, at), NULL), tsr_kit_at(k, to, i.i), NULL);
	tsr_count_end(k, &i);
	tsr_count_end(k, &d);
	tsr_guard_end(k, some);
}

/* Full vectors run over into the next depth, which is written later; the last one into the slack. */
static void pack_vectors(const panel *n)
{
	tsr_kit *k = n->k;
	uint32_t vecs = (n->p->width + k->lanes - 1) / k->lanes;
	LLVMValueRef mask[16], row = tsr_kit_at(k, n->p->from, tsr_group_offset(k, n->p->across, n->p->side, n->first));
	for (uint32_t v = 0; v < vecs; v++)
		mask[v] = tsr_kit_mask(k, n->valid, v * k->lanes);
	tsr_count d = tsr_count_begin(k, tsr_kit_int(k, 0), n->p->depth, tsr_kit_int(k, 1));
	LLVMValueRef from = tsr_kit_at(k, row, deep(n, d.i));
	for (uint32_t v = 0; v < vecs; v++) {
		LLVMValueRef lane = tsr_kit_int(k, v * k->lanes);
		tsr_kit_store(k, tsr_kit_load(k, k->vec, tsr_kit_at(k, from, lane), mask[v]), target(n, d.i, lane), NULL);
	}
	tsr_count_end(k, &d);
}

/* log2(lanes) rounds of interleaving halves turn rows into columns. */
static void transpose(tsr_kit *k, LLVMValueRef *v)
{
	uint32_t w = k->lanes;
	LLVMValueRef lo[64], hi[64], next[64];
	for (uint32_t i = 0; i < w; i++) {
		lo[i] = LLVMConstInt(k->i32, i / 2 + (i % 2) * w, false);
		hi[i] = LLVMConstInt(k->i32, w / 2 + i / 2 + (i % 2) * w, false);
	}
	LLVMValueRef low = LLVMConstVector(lo, w), high = LLVMConstVector(hi, w);
	for (uint32_t round = 1; round < w; round *= 2) {
		for (uint32_t i = 0; i < w / 2; i++) {
			next[2 * i] = LLVMBuildShuffleVector(k->b, v[i], v[i + w / 2], low, "");
			next[2 * i + 1] = LLVMBuildShuffleVector(k->b, v[i], v[i + w / 2], high, "");
		}
		for (uint32_t i = 0; i < w; i++)
			v[i] = next[i];
	}
}

static LLVMValueRef lane_mask(tsr_kit *k, uint32_t n)
{
	LLVMValueRef bit[64];
	for (uint32_t i = 0; i < k->lanes; i++)
		bit[i] = LLVMConstInt(k->i1, i < n, false);
	return n >= k->lanes ? NULL : LLVMConstVector(bit, k->lanes);
}

/* Depths [first, limit), side by side in memory: whole vectors by transposes, the rest element by element. */
static void pack_run(const panel *n, LLVMValueRef first, LLVMValueRef limit)
{
	tsr_kit *k = n->k;
	uint32_t w = k->lanes;
	LLVMValueRef whole = LLVMBuildAnd(k->b, LLVMBuildSub(k->b, limit, first, ""), tsr_kit_int(k, -(int64_t)w), "");
	LLVMValueRef end = tsr_kit_add(k, first, whole);
	for (uint32_t i0 = 0; i0 < n->p->width; i0 += w) {
		uint32_t rows = n->p->width - i0 < w ? n->p->width - i0 : w;
		LLVMValueRef row[64], v[64], some = lane_mask(k, rows);
		for (uint32_t i = 0; i < rows; i++)
			row[i] = position(n, tsr_kit_int(k, i0 + i));
		tsr_count d = tsr_count_begin(k, first, end, tsr_kit_int(k, w));
		LLVMValueRef off = deep(n, d.i);
		for (uint32_t i = 0; i < w; i++)
			v[i] = i < rows ? tsr_kit_load(k, k->vec, tsr_kit_at(k, row[i], off), NULL) : LLVMGetPoison(k->vec);
		transpose(k, v);
		for (uint32_t i = 0; i < w; i++)
			tsr_kit_store(k, v[i], target(n, tsr_kit_add(k, d.i, tsr_kit_int(k, i)), tsr_kit_int(k, i0)), some);
		tsr_count_end(k, &d);
	}
	pack_elements(n, end, limit);
}

/* The depth's innermost axis has stride one: its stretches one after the other. */
static void pack_runs(const panel *n)
{
	tsr_kit *k = n->k;
	const tsr_group *along = n->p->along;
	if (along->n <= 1) {
		pack_run(n, tsr_kit_int(k, 0), n->p->depth);
		return;
	}
	LLVMValueRef extent = along->at[along->n - 1].extent, zero = tsr_kit_int(k, 0);
	LLVMValueRef before = LLVMBuildURem(k->b, n->p->along_first, extent, "");
	tsr_count d = tsr_count_begin(k, LLVMBuildNeg(k->b, before, ""), n->p->depth, extent);
	LLVMValueRef first = LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntSGT, d.i, zero, ""), d.i, zero, "");
	pack_run(n, first, tsr_kit_min(k, tsr_kit_add(k, d.i, extent), n->p->depth));
	tsr_count_end(k, &d);
}

/* Positions side by side in memory, unless the panel crosses from one stretch of the innermost axis to the next. */
static void pack_across(const panel *n)
{
	tsr_kit *k = n->k;
	const tsr_group *across = n->p->across;
	if (across->n <= 1) {
		pack_vectors(n);
		return;
	}
	LLVMValueRef extent = across->at[across->n - 1].extent, at = LLVMBuildURem(k->b, n->first, extent, "");
	LLVMValueRef inside = LLVMBuildICmp(k->b, LLVMIntSLE, tsr_kit_add(k, at, n->valid), extent, "");
	tsr_guard whole = tsr_guard_begin(k, inside);
	pack_vectors(n);
	tsr_guard_end(k, whole);
	tsr_guard torn = tsr_guard_begin(k, LLVMBuildNot(k->b, inside, ""));
	pack_elements(n, tsr_kit_int(k, 0), n->p->depth);
	tsr_guard_end(k, torn);
}

void tsr_pack_emit(tsr_kit *k, const tsr_pack *p)
{
	LLVMValueRef width = tsr_kit_int(k, p->width);
	tsr_count c = tsr_count_begin(k, tsr_kit_int(k, 0), p->across_count, width);
	LLVMValueRef at = TSR_PLANTED(23) ? tsr_kit_add(k, c.i, width) : c.i;             /* one panel further */
	panel n = { k, p, tsr_kit_at(k, p->to, tsr_kit_mul(k, at, p->depth)), tsr_kit_add(k, p->across_first, c.i),
				tsr_kit_min(k, width, LLVMBuildSub(k->b, p->across_count, c.i, "")) };
	if (p->across->unit[p->side])
		pack_across(&n);
	else if (p->along->unit[p->side] && k->lanes <= MOST_TURNED)
		pack_runs(&n);
	else
		pack_elements(&n, tsr_kit_int(k, 0), p->depth);
	tsr_count_end(k, &c);
}
