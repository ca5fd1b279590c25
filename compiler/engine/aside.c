/* Sums that wait aside: of a block's columns all rows, until all blocks of K have been added,
 *
 *     a tile's columns { a tile's rows { one row's part } }
 *
 * so that tiles, which few rows by shallow blocks of K end often, find what they add to in one stretch.  In C their rows are as far apart as B's
 * are: together more pages than a core keeps in mind, and lines that fall into the same few of a cache with B's (a tenth of the time at a pitch of a page or four). */
#include "private.h"

bool tsr_engine_sets_aside(const tsr_engine *g) { return g->s->aside && !g->tail; }

/* Rows of a tile's columns, whole tiles. */
static int64_t height(const tsr_engine *g)
{
	int64_t known = tsr_kit_known(g->cls[TSR_CLASS_M].count), rows = known < 0 ? g->c->most_rows : known, mr = g->s->mr;
	return (rows + mr - 1) / mr * mr;
}

int64_t tsr_aside_bytes(const tsr_engine *g, int64_t cols) { return height(g) * cols * g->k.elem_bytes; }

LLVMValueRef tsr_aside_place(tsr_engine *g, LLVMValueRef ir, LLVMValueRef jr)
{
	tsr_kit *k = &g->k;
	LLVMValueRef above = tsr_kit_mul(k, ir, tsr_kit_int(k, g->s->nr));
	return tsr_kit_at(k, g->waiting, tsr_kit_add(k, tsr_kit_mul(k, jr, tsr_kit_int(k, height(g))), above));
}

/* `columns` of these rows to C. */
static void part_of_rows(tsr_engine *g, const tsr_block *bl, const LLVMValueRef *rows, LLVMValueRef jr, LLVMValueRef columns)
{
	tsr_kit *k = &g->k;
	LLVMValueRef bytes = tsr_kit_mul(k, columns, tsr_kit_int(k, k->elem_bytes)), to = tsr_kit_at(k, g->base[TSR_SIDE_C], tsr_kit_add(k, bl->n, jr));
	tsr_count i = tsr_count_begin(k, rows[0], rows[1], tsr_kit_int(k, 1));
	LLVMValueRef from = tsr_aside_place(g, LLVMBuildNSWSub(k->b, i.i, rows[0], ""), jr);
	LLVMBuildMemCpy(k->b, tsr_kit_at(k, to, tsr_group_offset(k, &g->cls[TSR_CLASS_M], TSR_SIDE_C, i.i)), k->elem_bytes, from, k->elem_bytes, bytes);
	tsr_count_end(k, &i);
}

void tsr_aside_emit(tsr_engine *g, const tsr_block *bl, LLVMValueRef from, LLVMValueRef to)
{
	if (!tsr_engine_sets_aside(g))
		return;
	tsr_kit *k = &g->k;
	LLVMValueRef nr = tsr_kit_int(k, g->s->nr), rest = LLVMBuildURem(k->b, bl->cols, nr, ""), whole = LLVMBuildNSWSub(k->b, bl->cols, rest, "");
	LLVMValueRef rows[2] = { from, to };
	tsr_count j = tsr_count_begin(k, tsr_kit_int(k, 0), whole, nr);
	part_of_rows(g, bl, rows, j.i, nr);
	tsr_count_end(k, &j);
	tsr_guard some = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSGT, rest, tsr_kit_int(k, 0), ""));
	part_of_rows(g, bl, rows, whole, rest);
	tsr_guard_end(k, some);
}
