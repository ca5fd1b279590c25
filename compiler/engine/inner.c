/* Steps over K of a register tile, the loop that carries its accumulators, and names of tiles. */
#include "inner.h"
#include <string.h>

/* Bytes between rows of B beyond which a core does not see where the next ones are, and how many rows ahead they are asked for then: few, since
 * such rows share the lines of the first cache. */
enum { FAR_APART = 2048, SOON = 4, HALF_PAGE = 2048 };

LLVMValueRef tsr_inner_stride(tsr_kit *k, tsr_stride s, LLVMValueRef f, unsigned param)
{
	return s.known ? tsr_kit_int(k, s.v) : LLVMGetParam(f, param);
}

/* What lies further on in this row of B. */
void tsr_inner_lines(const tsr_inner *in, LLVMValueRef b)
{
	tsr_kit *k = in->k;
	for (uint32_t i = 0; i < in->lines; i++) {
		LLVMValueRef far = tsr_kit_add(k, in->b_ahead, tsr_kit_int(k, i * TSR_LINE / k->elem_bytes));
		LLVMValueRef at = LLVMBuildGEP2(k->b, k->elem, b, &far, 1, "");
		if (in->near)
			tsr_kit_fetch(k, at, false);
		else
			tsr_kit_fetch_far(k, at);
	}
}

/* Whether lines are asked for a few steps before they are read.  Of rows whole half pages apart so few find a place in the first cache that this only drives others from there, where
 * the second one has been asked for them in time (8 to 24 rows by 1024 to 4096 columns 1.3 to 2 times as fast without). */
static bool asks_soon(const tsr_inner *in)
{
	int64_t apart = tsr_kit_known(in->b_k) * in->k->elem_bytes;
	return !in->walked && apart > FAR_APART && !(in->k->target->panels_ahead && apart % HALF_PAGE == 0);
}

/* One step of K: acc[row][vec] += row[row][at] * b[vec]. */
void tsr_inner_step(const tsr_inner *in, const LLVMValueRef *row, LLVMValueRef at, LLVMValueRef b, LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	LLVMValueRef bv[16];
	for (uint32_t v = 0; v < in->vecs && asks_soon(in); v++) {
		LLVMValueRef soon = tsr_kit_int(k, SOON * tsr_kit_known(in->b_k) + v * k->lanes);
		tsr_kit_fetch(k, LLVMBuildGEP2(k->b, k->elem, b, &soon, 1, ""), false);
	}
	for (uint32_t v = 0; v < in->vecs; v++)
		bv[v] = tsr_kit_load(k, k->vec, tsr_kit_at(k, b, tsr_kit_int(k, v * k->lanes)), in->padded ? NULL : in->mask[v]);
	for (uint32_t r = 0; r < in->rows; r++) {
		LLVMValueRef x = tsr_kit_splat(k, tsr_kit_load(k, k->elem, tsr_kit_at(k, row[r], at), NULL));
		for (uint32_t v = 0; v < in->vecs; v++)
			acc[r * in->vecs + v] = tsr_kit_step(k, acc[r * in->vecs + v], x, bv[v]);
	}
}

void tsr_carried_begin(tsr_kit *k, tsr_carried *c, uint32_t n, LLVMValueRef limit, LLVMValueRef *acc)
{
	c->n = n;
	c->limit = limit;
	c->before = LLVMGetInsertBlock(k->b);
	c->body = LLVMAppendBasicBlockInContext(k->context, k->fn, "k");
	c->after = LLVMAppendBasicBlockInContext(k->context, k->fn, "k.end");
	LLVMBuildCondBr(k->b, LLVMBuildICmp(k->b, LLVMIntSGT, limit, tsr_kit_int(k, 0), ""), c->body, c->after);
	LLVMPositionBuilderAtEnd(k->b, c->body);
	c->i = LLVMBuildPhi(k->b, k->i64, "i");
	for (uint32_t j = 0; j < n; j++) {
		c->first[j] = acc[j];
		acc[j] = c->phi[j] = LLVMBuildPhi(k->b, LLVMTypeOf(acc[j]), "");
	}
}

void tsr_carried_end(tsr_kit *k, tsr_carried *c, int64_t step, LLVMValueRef *acc)
{
	LLVMValueRef next = LLVMBuildNSWAdd(k->b, c->i, tsr_kit_int(k, step), "");
	LLVMBasicBlockRef from[2] = { c->before, LLVMGetInsertBlock(k->b) };
	LLVMBuildCondBr(k->b, LLVMBuildICmp(k->b, LLVMIntSLT, next, c->limit, ""), c->body, c->after);
	LLVMAddIncoming(c->i, (LLVMValueRef[]){ tsr_kit_int(k, 0), next }, from, 2);
	for (uint32_t j = 0; j < c->n; j++)
		LLVMAddIncoming(c->phi[j], (LLVMValueRef[]){ c->first[j], acc[j] }, from, 2);
	LLVMPositionBuilderAtEnd(k->b, c->after);
	for (uint32_t j = 0; j < c->n; j++) {
		LLVMValueRef out = LLVMBuildPhi(k->b, LLVMTypeOf(acc[j]), "");
		LLVMAddIncoming(out, (LLVMValueRef[]){ c->first[j], acc[j] }, from, 2);
		acc[j] = out;
	}
}

/* `seen` becomes 1 where a sum is a NaN; a comparison sees two at once. */
void tsr_inner_watch(const tsr_inner *in, LLVMValueRef seen, const LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	LLVMValueRef any = LLVMConstNull(k->lanes_i1);
	for (uint32_t v = 0; v < in->vecs; v++) {
		LLVMValueRef column = LLVMConstNull(k->lanes_i1);
		for (uint32_t r = 0; r < in->rows; r += 2) {
			LLVMValueRef x = acc[r * in->vecs + v], y = r + 1 < in->rows ? acc[(r + 1) * in->vecs + v] : x;
			column = LLVMBuildOr(k->b, column, LLVMBuildFCmp(k->b, LLVMRealUNO, x, y, ""), "");
		}
		any = LLVMBuildOr(k->b, any, in->mask[v] ? LLVMBuildAnd(k->b, column, in->mask[v], "") : column, "");
	}
	LLVMTypeRef bits = LLVMIntTypeInContext(k->context, k->lanes);
	tsr_guard found = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntNE, LLVMBuildBitCast(k->b, any, bits, ""), LLVMConstNull(bits), ""));
	LLVMBuildStore(k->b, tsr_kit_int(k, 1), seen);
	tsr_guard_end(k, found);
}

void tsr_name_stride(char *out, size_t size, const char *what, tsr_stride s)
{
	size_t n = strlen(out);
	if (s.known)
		snprintf(out + n, size - n, ".%s%lld", what, (long long)s.v);
}

void tsr_name_lines(char *out, size_t size, uint32_t lines)
{
	size_t n = strlen(out);
	if (lines)
		snprintf(out + n, size - n, ".l%u", lines);
}

void tsr_name_cut(char *out, size_t size, uint32_t cut, bool padded)
{
	size_t n = strlen(out);
	if (cut)
		snprintf(out + n, size - n, ".k%u%s", cut, padded ? "p" : "");
}

/* The name and the parameters of a tile with this tail. */
void tsr_name_tail(tsr_kit *k, const tsr_tail_plan *tail, char *name, size_t size, LLVMTypeRef *params)
{
	if (!tail)
		return;
	tsr_tail_name(tail, name, size);
	tsr_tail_types(k, tail, params);
}
