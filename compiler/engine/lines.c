/* B in place begins at a line of the caches, or it is copied to where it does.
 *
 * What callers hand over begins wherever their allocator left it, a large array of malloc's 16 bytes behind a line; then every vector of B
 * crosses two lines, each time a tile reads it, and products of 256 and more lose a fifth.  Whether it does is known when the code runs.
 * A copy costs each element of B once, so it is made where many tiles read it, and where it stays in the second cache.  What the
 * compiler lays out begins at lines. */
#include "private.h"

enum { LEAST_TILES = 8 };

int64_t tsr_lines_bytes(const tsr_engine *g)
{
	const tsr_schedule *s = g->s;
	const tsr_group *n = &g->cls[TSR_CLASS_N], *k = &g->cls[TSR_CLASS_K];
	if (s->pack_b || s->dots || s->cols || s->turn || s->join || !g->base[TSR_SIDE_B] || g->c->b == TSR_NONE
		|| g->e->loops->buffers.at[g->c->b]->kind != TSR_BUFFER_INPUT || n->n != 1 || k->n != 1 || !n->unit[TSR_SIDE_B])
		return 0;
	int64_t rows = tsr_kit_known(g->cls[TSR_CLASS_M].count), cols = tsr_kit_known(n->count), depth = tsr_kit_known(k->count);
	int64_t row = tsr_kit_known(k->at[0].stride[TSR_SIDE_B]), bytes = g->k.elem_bytes;
	bool few = rows < 0 ? g->c->most_rows : rows < LEAST_TILES * (int64_t)s->mr;
	if (few || cols < s->nr || depth < 1 || row < cols || row * bytes % TSR_LINE || depth * row * bytes > g->e->target->l2)
		return 0;
	return depth * row * bytes;
}

void tsr_lines_emit(tsr_engine *g, LLVMValueRef from, LLVMValueRef to)
{
	tsr_kit *k = &g->k;
	if (!g->lines)
		return;
	LLVMValueRef b = g->base[TSR_SIDE_B], zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1);
	LLVMValueRef past = LLVMBuildAnd(k->b, LLVMBuildPtrToInt(k->b, b, k->i64, ""), tsr_kit_int(k, TSR_LINE - 1), "");
	LLVMValueRef apart = LLVMBuildICmp(k->b, LLVMIntNE, past, zero, ""), some = LLVMBuildICmp(k->b, LLVMIntSGT, to, from, "");
	LLVMValueRef many = LLVMBuildICmp(k->b, LLVMIntSGE, g->cls[TSR_CLASS_M].count, tsr_kit_int(k, LEAST_TILES * (int64_t)g->s->mr), "");
	apart = LLVMBuildAnd(k->b, apart, many, "");
	tsr_guard copied = tsr_guard_begin(k, LLVMBuildAnd(k->b, apart, some, ""));
	tsr_count row = tsr_count_begin(k, zero, g->cls[TSR_CLASS_K].count, one);
	LLVMValueRef at = tsr_kit_add(k, tsr_kit_mul(k, row.i, g->cls[TSR_CLASS_K].at[0].stride[TSR_SIDE_B]), from);
	LLVMValueRef bytes = tsr_kit_mul(k, LLVMBuildNSWSub(k->b, to, from, ""), tsr_kit_int(k, k->elem_bytes));
	LLVMBuildMemCpy(k->b, tsr_kit_at(k, g->lines, at), k->elem_bytes, tsr_kit_at(k, b, at), k->elem_bytes, bytes);
	tsr_count_end(k, &row);
	tsr_guard_end(k, copied);
	g->base[TSR_SIDE_B] = LLVMBuildSelect(k->b, apart, g->lines, b, "");
}
