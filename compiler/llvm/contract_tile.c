/* Register tiles: rows x vecs vectors of C stay in registers while the loop over K runs.
 *
 * Each variant (size, masks, which strides are constants) is one internal function, shared by all contractions of the module,
 * so that a product costs a few calls of code and not a copy of the kernel per edge.  The loop over K is unrolled by two
 * with all accumulators as phis; nothing is left to an optimiser beyond addressing. */
#include "contract.h"
#include <string.h>

enum { UNROLL = 2 };

typedef struct inside { tsr_kit *k; const tsr_tile *t; LLVMValueRef a_row, a_k, b_k, c_row, *mask; } inside;

static LLVMValueRef stride_value(tsr_kit *k, tsr_stride s, LLVMValueRef f, unsigned param)
{
	return s.known ? tsr_kit_int(k, s.v) : LLVMGetParam(f, param);
}

/* One step of K at a and b: acc[row][vec] += a[row] * b[vec]. */
static void tile_step(const inside *in, LLVMValueRef a, LLVMValueRef b, LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	const tsr_tile *t = in->t;
	LLVMValueRef bv[16];
	for (uint32_t v = 0; v < t->vecs; v++)
		bv[v] = tsr_kit_load(k, k->vec, tsr_kit_at(k, b, tsr_kit_int(k, v * k->lanes)), in->mask[v]);
	for (uint32_t r = 0; r < t->rows; r++) {
		LLVMValueRef at = tsr_kit_at(k, a, tsr_kit_mul(k, in->a_row, tsr_kit_int(k, r)));
		LLVMValueRef x = tsr_kit_splat(k, tsr_kit_load(k, k->elem, at, NULL));
		for (uint32_t v = 0; v < t->vecs; v++)
			acc[r * t->vecs + v] = tsr_kit_step(k, acc[r * t->vecs + v], x, bv[v]);
	}
}

typedef struct run { LLVMValueRef a, b, *acc; } run;

/* `count` times `unroll` steps from the state in `r`, which is moved past them. */
static void tile_loop(const inside *in, LLVMValueRef count, unsigned unroll, run *r)
{
	tsr_kit *k = in->k;
	uint32_t n = in->t->rows * in->t->vecs;
	LLVMBasicBlockRef before = LLVMGetInsertBlock(k->b);
	LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(k->context, k->fn, "k");
	LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(k->context, k->fn, "k.end");
	LLVMBuildCondBr(k->b, LLVMBuildICmp(k->b, LLVMIntSGT, count, tsr_kit_int(k, 0), ""), body, after);
	LLVMPositionBuilderAtEnd(k->b, body);
	LLVMValueRef i = LLVMBuildPhi(k->b, k->i64, "i"), a = LLVMBuildPhi(k->b, k->ptr, "a"), b = LLVMBuildPhi(k->b, k->ptr, "b");
	LLVMValueRef phi[512], acc[512];
	for (uint32_t j = 0; j < n; j++)
		acc[j] = phi[j] = LLVMBuildPhi(k->b, k->vec, "acc");
	LLVMValueRef at = a, bt = b;
	for (unsigned u = 0; u < unroll; u++) {
		tile_step(in, at, bt, acc);
		at = tsr_kit_at(k, a, tsr_kit_mul(k, in->a_k, tsr_kit_int(k, u + 1)));
		bt = tsr_kit_at(k, b, tsr_kit_mul(k, in->b_k, tsr_kit_int(k, u + 1)));
	}
	LLVMValueRef next = LLVMBuildNSWAdd(k->b, i, tsr_kit_int(k, 1), "");
	LLVMBasicBlockRef latch = LLVMGetInsertBlock(k->b);
	LLVMBuildCondBr(k->b, LLVMBuildICmp(k->b, LLVMIntSLT, next, count, ""), body, after);
	LLVMBasicBlockRef from[2] = { before, latch };
	LLVMAddIncoming(i, (LLVMValueRef[]){ tsr_kit_int(k, 0), next }, from, 2);
	LLVMAddIncoming(a, (LLVMValueRef[]){ r->a, at }, from, 2);
	LLVMAddIncoming(b, (LLVMValueRef[]){ r->b, bt }, from, 2);
	for (uint32_t j = 0; j < n; j++)
		LLVMAddIncoming(phi[j], (LLVMValueRef[]){ r->acc[j], acc[j] }, from, 2);
	LLVMPositionBuilderAtEnd(k->b, after);
	LLVMValueRef a0 = r->a, b0 = r->b;
	r->a = LLVMBuildPhi(k->b, k->ptr, "a");
	LLVMAddIncoming(r->a, (LLVMValueRef[]){ a0, at }, from, 2);
	r->b = LLVMBuildPhi(k->b, k->ptr, "b");
	LLVMAddIncoming(r->b, (LLVMValueRef[]){ b0, bt }, from, 2);
	for (uint32_t j = 0; j < n; j++) {
		LLVMValueRef out = LLVMBuildPhi(k->b, k->vec, "acc");
		LLVMAddIncoming(out, (LLVMValueRef[]){ r->acc[j], acc[j] }, from, 2);
		r->acc[j] = out;
	}
}

static void tile_store(const inside *in, LLVMValueRef c, LLVMValueRef *acc, bool add)
{
	tsr_kit *k = in->k;
	for (uint32_t r = 0; r < in->t->rows; r++)
		for (uint32_t v = 0; v < in->t->vecs; v++) {
			LLVMValueRef at = tsr_kit_at(k, c, tsr_kit_mul(k, in->c_row, tsr_kit_int(k, r)));
			at = tsr_kit_at(k, at, tsr_kit_int(k, v * k->lanes));
			LLVMValueRef old = add ? tsr_kit_load(k, k->vec, at, in->mask[v]) : tsr_kit_neutral(k, k->vec);
			LLVMValueRef sum = acc[r * in->t->vecs + v];
			if (add || k->acc == TSR_ACC_SUB)
				sum = tsr_kit_acc(k, old, sum);
			tsr_kit_store(k, sum, at, in->mask[v]);
		}
}

/* C is on its way while the sums are made. */
static void fetch_ahead(const inside *in, LLVMValueRef c)
{
	tsr_kit *k = in->k;
	for (uint32_t r = 0; r < in->t->rows; r++)
		for (uint32_t v = 0; v < in->t->vecs; v++) {
			LLVMValueRef at = tsr_kit_at(k, c, tsr_kit_mul(k, in->c_row, tsr_kit_int(k, r)));
			LLVMValueRef args[4] = { tsr_kit_at(k, at, tsr_kit_int(k, v * k->lanes)), LLVMConstInt(k->i32, 1, false),
									 LLVMConstInt(k->i32, 3, false), LLVMConstInt(k->i32, 1, false) };
			tsr_kit_intrinsic(k, "llvm.prefetch", &k->ptr, 1, args, 4);
		}
}

static void tile_body(tsr_kit *k, const tsr_tile *t, LLVMValueRef f)
{
	LLVMValueRef mask[16] = { 0 }, acc[512];
	inside in = { k, t, stride_value(k, t->a_row, f, TSR_TILE_A_ROW), stride_value(k, t->a_k, f, TSR_TILE_A_K),
				  stride_value(k, t->b_k, f, TSR_TILE_B_K), stride_value(k, t->c_row, f, TSR_TILE_C_ROW), mask };
	if (t->masked)
		for (uint32_t v = 0; v < t->vecs; v++)
			mask[v] = tsr_kit_mask(k, LLVMGetParam(f, TSR_TILE_COLS), v * k->lanes);
	for (uint32_t j = 0; j < t->rows * t->vecs; j++)
		acc[j] = tsr_kit_neutral(k, k->vec);
	fetch_ahead(&in, LLVMGetParam(f, TSR_TILE_C));
	run r = { LLVMGetParam(f, TSR_TILE_A), LLVMGetParam(f, TSR_TILE_B), acc };
	LLVMValueRef depth = LLVMGetParam(f, TSR_TILE_DEPTH);
	tile_loop(&in, LLVMBuildUDiv(k->b, depth, tsr_kit_int(k, UNROLL), ""), UNROLL, &r);
	tile_loop(&in, LLVMBuildAnd(k->b, depth, tsr_kit_int(k, UNROLL - 1), ""), 1, &r);
	LLVMBasicBlockRef more = LLVMAppendBasicBlockInContext(k->context, f, "add");
	LLVMBasicBlockRef set = LLVMAppendBasicBlockInContext(k->context, f, "set");
	LLVMBuildCondBr(k->b, LLVMGetParam(f, TSR_TILE_ADD), more, set);
	LLVMPositionBuilderAtEnd(k->b, more);
	tile_store(&in, LLVMGetParam(f, TSR_TILE_C), r.acc, true);
	LLVMBuildRetVoid(k->b);
	LLVMPositionBuilderAtEnd(k->b, set);
	tile_store(&in, LLVMGetParam(f, TSR_TILE_C), r.acc, false);
	LLVMBuildRetVoid(k->b);
}

static void name_stride(char *out, size_t size, const char *what, tsr_stride s)
{
	size_t n = strlen(out);
	if (s.known)
		snprintf(out + n, size - n, ".%s%lld", what, (long long)s.v);
}

LLVMValueRef tsr_tile_function(tsr_kit *k, const tsr_tile *t)
{
	char name[200];
	snprintf(name, sizeof name, "tsr.tile.%s%u.%ux%u%s.%s%s", k->elem_bytes == 8 ? "d" : "f", k->lanes, t->rows, t->vecs,
			 t->masked ? "m" : "", tsr_acc_get(k->acc)->text, tsr_op_get(k->combine)->name);
	name_stride(name, sizeof name, "ar", t->a_row);
	name_stride(name, sizeof name, "ak", t->a_k);
	name_stride(name, sizeof name, "bk", t->b_k);
	name_stride(name, sizeof name, "cr", t->c_row);
	LLVMValueRef f = LLVMGetNamedFunction(k->module, name);
	if (f)
		return f;
	LLVMTypeRef params[TSR_TILE_PARAMS] = { k->ptr, k->ptr, k->ptr, k->i64, k->i64, k->i1, k->i64, k->i64, k->i64, k->i64 };
	f = tsr_kit_function(k, name, params, TSR_TILE_PARAMS, 3);
	LLVMBasicBlockRef here = LLVMGetInsertBlock(k->b);
	LLVMMetadataRef place = LLVMGetCurrentDebugLocation2(k->b);
	LLVMValueRef outer = k->fn;
	k->fn = f;
	LLVMSetCurrentDebugLocation2(k->b, NULL);
	LLVMPositionBuilderAtEnd(k->b, LLVMAppendBasicBlockInContext(k->context, f, "entry"));
	tile_body(k, t, f);
	k->fn = outer;
	LLVMPositionBuilderAtEnd(k->b, here);
	LLVMSetCurrentDebugLocation2(k->b, place);
	return f;
}
