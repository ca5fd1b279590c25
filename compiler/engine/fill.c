/* Tables of where the rows and columns of tiles lie in C: see store.c, which reads them. */
#include "private.h"

/* Where each column of these tiles lies in C. */
void tsr_fill_columns(tsr_engine *g, LLVMValueRef n, LLVMValueRef cols)
{
	tsr_kit *k = &g->k;
	tsr_count j = tsr_count_begin(k, tsr_kit_int(k, 0), cols, tsr_kit_int(k, 1));
	LLVMValueRef off = tsr_group_offset(k, &g->cls[TSR_CLASS_N], TSR_SIDE_C, tsr_kit_add(k, n, j.i));
	LLVMBuildStore(k->b, off, LLVMBuildInBoundsGEP2(k->b, k->i64, g->columns, &j.i, 1, ""));
	tsr_count_end(k, &j);
}

static void put(tsr_kit *k, LLVMValueRef value, LLVMValueRef table, LLVMValueRef at)
{
	LLVMBuildStore(k->b, value, LLVMBuildInBoundsGEP2(k->b, k->i64, table, &at, 1, ""));
}

/* The table of where the block's rows begin in C. */
void tsr_fill_rows(tsr_engine *g, const tsr_block *bl)
{
	tsr_kit *k = &g->k;
	tsr_count i = tsr_count_begin(k, tsr_kit_int(k, 0), bl->rows, tsr_kit_int(k, 1));
	put(k, tsr_group_offset(k, &g->cls[TSR_CLASS_M], TSR_SIDE_C, tsr_kit_add(k, bl->m, i.i)), g->c_rows, i.i);
	tsr_count_end(k, &i);
}

/* The table of the stretches of C into which the vectors of the columns n .. n + cols fall: see store.c. */
void tsr_fill_vectors(tsr_engine *g, LLVMValueRef n, LLVMValueRef cols)
{
	tsr_kit *k = &g->k;
	const tsr_group *gn = &g->cls[TSR_CLASS_N];
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), lanes = tsr_kit_int(k, k->lanes), run = gn->n ? gn->at[gn->n - 1].extent : cols;
	uint32_t stretches = g->form.stretches;
	tsr_count v = tsr_count_begin(k, zero, tsr_kit_int(k, g->s->nr / k->lanes), one);
	LLVMValueRef before = tsr_kit_mul(k, v.i, lanes), left = tsr_kit_min(k, LLVMBuildNSWSub(k->b, cols, before, ""), lanes);
	LLVMValueRef some = LLVMBuildICmp(k->b, LLVMIntSGT, left, zero, "");
	LLVMValueRef from = tsr_kit_add(k, n, LLVMBuildSelect(k->b, some, before, zero, "")), place = tsr_group_offset(k, gn, TSR_SIDE_C, from);
	LLVMValueRef past = gn->n > 1 ? LLVMBuildNSWSub(k->b, run, LLVMBuildURem(k->b, from, run, ""), "") : left;
	LLVMValueRef at = tsr_kit_mul(k, v.i, tsr_kit_int(k, 2 * stretches));
	for (uint32_t s = 0; s < stretches; s++) {
		put(k, place, g->c_columns, tsr_kit_add(k, at, tsr_kit_int(k, 2 * s)));
		put(k, tsr_kit_min(k, left, past), g->c_columns, tsr_kit_add(k, at, tsr_kit_int(k, 2 * s + 1)));
		if (s + 1 == stretches)
			break;
		LLVMValueRef there = LLVMBuildICmp(k->b, LLVMIntSLT, past, left, "");
		LLVMValueRef next = tsr_group_offset(k, gn, TSR_SIDE_C, LLVMBuildSelect(k->b, there, tsr_kit_add(k, from, past), from, ""));
		place = LLVMBuildSelect(k->b, there, LLVMBuildNSWSub(k->b, next, past, ""), place, "");
		past = tsr_kit_add(k, past, run);
	}
	tsr_count_end(k, &v);
}

/* The table of where the stretches begin that lines are put together of. */
void tsr_fill_stretches(tsr_engine *g, LLVMValueRef n)
{
	tsr_kit *k = &g->k;
	for (uint32_t i = 0; i * g->form.knit < g->s->nr; i++) {
		LLVMValueRef at = tsr_kit_add(k, n, tsr_kit_int(k, i * g->form.knit));
		put(k, tsr_group_offset(k, &g->cls[TSR_CLASS_N], TSR_SIDE_C, at), g->c_columns, tsr_kit_int(k, i));
	}
}
