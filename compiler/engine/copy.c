/* Stretches of B's rows that leave much of a vector idle, as 21 elements do, copied side by side (rows.c has their table).
 *
 * Each vector of the copy is put together in a register of the parts of the stretches that fall into it, and stored whole, to a line of its own:
 * stretch by stretch most stores would cross lines, and there would be more of them. */
#include "kit.h"

int64_t tsr_rows_width(const tsr_kit *k, const tsr_rows *r) { return (r->most * r->run + k->lanes - 1) / k->lanes * k->lanes; }

/* The elements from `first` on, of a row whose stretches begin at `from`; those behind the last stretch are 0. */
static LLVMValueRef put_together(tsr_kit *k, const tsr_rows *r, const LLVMValueRef *from, int64_t first)
{
	LLVMValueRef whole = LLVMConstNull(k->vec), lane[64];
	for (int64_t t = first / r->run; t < r->most && t * r->run < first + k->lanes; t++) {
		for (uint32_t i = 0; i < k->lanes; i++)
			lane[i] = LLVMConstInt(k->i1, (first + i) / r->run == t, false);
		LLVMValueRef off = tsr_kit_int(k, first - t * r->run), at = LLVMBuildGEP2(k->b, k->elem, from[t], &off, 1, "");
		LLVMValueRef args[4] = { at, LLVMConstInt(k->i32, k->elem_bytes, false), LLVMConstVector(lane, k->lanes), whole };
		whole = tsr_kit_intrinsic(k, "llvm.masked.load", (LLVMTypeRef[]){ k->vec, k->ptr }, 2, args, 4);
	}
	return whole;
}

/* The lines that are written are asked for some rows before, since a core waits for few of those that its stores miss. */
void tsr_rows_copy(tsr_kit *k, const tsr_rows *r, LLVMValueRef to)
{
	enum { BEFORE = 4, MOST = 512 };
	LLVMValueRef from[MOST];
	int64_t width = tsr_rows_width(k, r);
	tsr_count d = tsr_count_begin(k, tsr_kit_int(k, 0), r->count, tsr_kit_int(k, 1));
	LLVMValueRef row = tsr_kit_at(k, to, tsr_kit_mul(k, d.i, tsr_kit_int(k, width)));
	for (int64_t t = 0; t < r->most; t++) {
		LLVMValueRef at = tsr_kit_add(k, tsr_kit_int(k, t * r->capacity), d.i);
		from[t] = LLVMBuildLoad2(k->b, k->ptr, LLVMBuildInBoundsGEP2(k->b, k->ptr, r->table, &at, 1, ""), "");
	}
	for (int64_t v = 0; v < width; v += k->lanes) {
		LLVMValueRef later = tsr_kit_int(k, v + BEFORE * width);
		tsr_kit_fetch(k, LLVMBuildGEP2(k->b, k->elem, row, &later, 1, ""), true);
		tsr_kit_store(k, put_together(k, r, from, v), tsr_kit_at(k, row, tsr_kit_int(k, v)), NULL);
	}
	tsr_count_end(k, &d);
}
