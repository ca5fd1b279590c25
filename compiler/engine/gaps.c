/* The places between rows of C that stay zero (opt/gaps.c).  Each tile clears those beside its rows, in its columns, once, with the first block of K: line by
 * line beside the multiply-adds of the rounds that ask for C's lines, or, where vectors are no lines or do not fill them, all at once behind it.  (All at once for every tile takes as
 * long as to clear before: what comes from the second cache meanwhile waits, too.) */
#include "private.h"
#include <stdio.h>
#include <string.h>

/* ---- inside a tile ------------------------------------------------------------------------------------------------------ */

static void clear_line(const tsr_tile_end *t, LLVMValueRef at, bool around)
{
	tsr_kit *k = t->k;
	for (uint32_t i = 0; i < t->gaps->n; i++) {
		LLVMValueRef gap = tsr_kit_int(k, t->gaps->at[i]), place = LLVMBuildGEP2(k->b, k->elem, at, &gap, 1, "");
		if (around)
			tsr_kit_store_around(k, LLVMConstNull(k->vec), place);
		else
			tsr_kit_store(k, LLVMConstNull(k->vec), place, NULL);
	}
}

void tsr_gaps_clear(const tsr_tile_end *t, LLVMValueRef at)
{
	tsr_kit *k = t->k;
	if (!t->gaps->around) {
		clear_line(t, at, false);
		return;
	}
	LLVMBasicBlockRef lines = LLVMAppendBasicBlockInContext(k->context, k->fn, "around"), stores = LLVMAppendBasicBlockInContext(k->context, k->fn, "through");
	LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(k->context, k->fn, "cleared");
	LLVMBuildCondBr(k->b, t->around, lines, stores);
	LLVMPositionBuilderAtEnd(k->b, lines);
	clear_line(t, at, true);
	LLVMBuildBr(k->b, after);
	LLVMPositionBuilderAtEnd(k->b, stores);
	clear_line(t, at, false);
	LLVMBuildBr(k->b, after);
	LLVMPositionBuilderAtEnd(k->b, after);
}

void tsr_gaps_name(const tsr_gaps *gaps, char *name, size_t size)
{
	for (uint32_t i = 0; gaps && i < gaps->n; i++)
		snprintf(name + strlen(name), size - strlen(name), "%s%lld", i ? "." : gaps->around ? ".zs" : ".z", (long long)gaps->at[i]);
}

/* ---- behind it ---------------------------------------------------------------------------------------------------------- */

bool tsr_gaps_in_tiles(const tsr_engine *g)
{
	const tsr_kit *k = &g->k;
	return k->lanes * k->elem_bytes == TSR_LINE && tsr_kit_known(g->cls[TSR_CLASS_N].count) % k->lanes == 0 && g->direct && !g->matrix && !g->s->step && !g->s->dots;
}

static LLVMValueRef row_of(tsr_engine *g, LLVMValueRef m, LLVMValueRef ir, LLVMValueRef i)
{
	tsr_kit *k = &g->k;
	if (!g->form.stretches)
		return tsr_group_offset(k, &g->cls[TSR_CLASS_M], TSR_SIDE_C, tsr_kit_add(k, m, i));
	LLVMValueRef at = tsr_kit_add(k, ir, i);
	return LLVMBuildLoad2(k->b, k->i64, LLVMBuildInBoundsGEP2(k->b, k->i64, g->c_rows, &at, 1, ""), "");
}

void tsr_gaps_emit(tsr_engine *g, const tsr_gap_tile *t)
{
	enum { MOST_VECTORS = 16 };
	tsr_kit *k = &g->k;
	const tsr_gaps *gaps = g->c->gaps;
	LLVMValueRef mask[MOST_VECTORS], zero = LLVMConstNull(k->vec);
	bool whole = tsr_kit_known(g->cls[TSR_CLASS_N].count) % k->lanes == 0;
	for (uint32_t v = 0; v < t->vecs; v++)
		mask[v] = whole ? NULL : tsr_kit_mask(k, t->cols, v * k->lanes);
	tsr_count i = tsr_count_begin(k, tsr_kit_int(k, 0), t->rows, tsr_kit_int(k, 1));
	LLVMValueRef row = tsr_kit_at(k, g->base[TSR_SIDE_C], tsr_kit_add(k, row_of(g, t->m, t->ir, i.i), t->n));
	for (uint32_t gap = 0; gap < gaps->n; gap++)
		for (uint32_t v = 0; v < t->vecs; v++) {
			LLVMValueRef at = tsr_kit_at(k, row, tsr_kit_int(k, gaps->at[gap] + v * k->lanes));
			tsr_kit_store(k, zero, at, mask[v]);
		}
	tsr_count_end(k, &i);
}
