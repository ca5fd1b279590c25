/* The contraction engine's small vocabulary: counted loops, vectors, masks, the accumulate/combine pair. */
#include "kit.h"
#include <string.h>

tsr_kit tsr_kit_of(const tsr_kit *k, tsr_prec prec, LLVMTypeRef elem, uint32_t bytes)
{
	tsr_kit out = *k;
	out.prec = prec, out.elem = elem, out.elem_bytes = bytes;
	out.lanes = k->lanes * k->elem_bytes / bytes;
	out.vec = LLVMVectorType(elem, out.lanes);
	out.lanes_i1 = LLVMVectorType(k->i1, out.lanes);
	return out;
}

LLVMValueRef tsr_kit_int(tsr_kit *k, int64_t n) { return LLVMConstInt(k->i64, (unsigned long long)n, true); }

int64_t tsr_kit_known(LLVMValueRef v) { return LLVMIsAConstantInt(v) ? LLVMConstIntGetSExtValue(v) : -1; }

uint32_t tsr_stretches(uint32_t lanes, int64_t run, bool aligned)
{
	if (aligned && (run % lanes == 0 || lanes % run == 0))
		return run < lanes ? (uint32_t)(lanes / run) : 1;
	return run >= lanes ? 2 : (uint32_t)((lanes - 2) / run + 2);
}

tsr_stride tsr_kit_stride(LLVMValueRef v)
{
	return LLVMIsAConstantInt(v) ? (tsr_stride){ true, LLVMConstIntGetSExtValue(v) } : (tsr_stride){ false, 0 };
}

LLVMValueRef tsr_kit_some(tsr_kit *k, LLVMValueRef n)
{
	return LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntSGT, n, tsr_kit_int(k, 0), ""), n, tsr_kit_int(k, 1), "");
}

static bool is_int(LLVMValueRef v, int64_t n) { return LLVMIsAConstantInt(v) && LLVMConstIntGetSExtValue(v) == n; }

LLVMValueRef tsr_kit_add(tsr_kit *k, LLVMValueRef x, LLVMValueRef y)
{
	return is_int(x, 0) ? y : is_int(y, 0) ? x : LLVMBuildNSWAdd(k->b, x, y, "");
}

LLVMValueRef tsr_kit_mul(tsr_kit *k, LLVMValueRef x, LLVMValueRef y)
{
	return is_int(x, 1) ? y : is_int(y, 1) ? x : LLVMBuildNSWMul(k->b, x, y, "");
}

LLVMValueRef tsr_kit_min(tsr_kit *k, LLVMValueRef x, LLVMValueRef y)
{
	return LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntSLT, x, y, ""), x, y, "");
}

LLVMValueRef tsr_kit_max(tsr_kit *k, LLVMValueRef x, LLVMValueRef y)
{
	return LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntSLT, x, y, ""), y, x, "");
}

LLVMValueRef tsr_kit_at(tsr_kit *k, LLVMValueRef p, LLVMValueRef n)
{
	return is_int(n, 0) ? p : LLVMBuildInBoundsGEP2(k->b, k->elem, p, &n, 1, "");
}

LLVMValueRef tsr_kit_intrinsic(tsr_kit *k, const char *name, LLVMTypeRef *types, unsigned ntypes, LLVMValueRef *args, unsigned nargs)
{
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(k->module, id, types, ntypes);
	return LLVMBuildCall2(k->b, LLVMIntrinsicGetType(k->context, id, types, ntypes), f, args, nargs, "");
}

LLVMValueRef tsr_kit_load(tsr_kit *k, LLVMTypeRef type, LLVMValueRef p, LLVMValueRef mask)
{
	if (mask) {
		LLVMValueRef args[4] = { p, LLVMConstInt(k->i32, k->elem_bytes, false), mask, LLVMConstNull(type) };
		return tsr_kit_intrinsic(k, "llvm.masked.load", (LLVMTypeRef[]){ type, k->ptr }, 2, args, 4);
	}
	LLVMValueRef v = LLVMBuildLoad2(k->b, type, p, "");
	LLVMSetAlignment(v, k->pairs ? k->elem_bytes / 2 : k->elem_bytes);        /* in place they begin with any element of bf16 */
	return v;
}

static void fetch(tsr_kit *k, LLVMValueRef p, bool written, unsigned near)
{
	LLVMValueRef args[4] = { p, LLVMConstInt(k->i32, written, false), LLVMConstInt(k->i32, near, false), LLVMConstInt(k->i32, 1, false) };
	tsr_kit_intrinsic(k, "llvm.prefetch", &k->ptr, 1, args, 4);
}

void tsr_kit_fetch(tsr_kit *k, LLVMValueRef p, bool written) { fetch(k, p, written, 3); }
void tsr_kit_fetch_far(tsr_kit *k, LLVMValueRef p) { fetch(k, p, false, 2); }

void tsr_kit_store(tsr_kit *k, LLVMValueRef value, LLVMValueRef p, LLVMValueRef mask)
{
	if (mask) {
		LLVMValueRef args[4] = { value, p, LLVMConstInt(k->i32, k->elem_bytes, false), mask };
		tsr_kit_intrinsic(k, "llvm.masked.store", (LLVMTypeRef[]){ LLVMTypeOf(value), k->ptr }, 2, args, 4);
		return;
	}
	LLVMSetAlignment(LLVMBuildStore(k->b, value, p), k->elem_bytes);
}

/* Where there are no masks at all, those of constants become stores of single lanes. */
bool tsr_kit_masks_stores(const tsr_kit *k) { return k->target->masks != TSR_MASKS_LOADS; }

/* Without a mask it is as many whole stores as n has bits. */
void tsr_kit_store_some(tsr_kit *k, LLVMValueRef value, LLVMValueRef p, uint32_t first, uint32_t n)
{
	enum { MOST_LANES = 64 };
	LLVMValueRef lane[MOST_LANES];
	if (tsr_kit_masks_stores(k)) {
		for (uint32_t i = 0; i < k->lanes; i++)
			lane[i] = LLVMConstInt(k->i1, first <= i && i < first + n, false);
		tsr_kit_store(k, value, p, LLVMConstVector(lane, k->lanes));
		return;
	}
	for (uint32_t at = first, part = k->lanes; at < first + n; part /= 2) {
		if (first + n - at < part)
			continue;
		for (uint32_t i = 0; i < part; i++)
			lane[i] = LLVMConstInt(k->i32, at + i, false);
		LLVMValueRef some = LLVMBuildShuffleVector(k->b, value, LLVMGetPoison(k->vec), LLVMConstVector(lane, part), "");
		tsr_kit_store(k, some, tsr_kit_at(k, p, tsr_kit_int(k, at)), NULL);
		at += part;
	}
}

void tsr_kit_store_around(tsr_kit *k, LLVMValueRef value, LLVMValueRef at)
{
	LLVMMetadataRef one = LLVMValueAsMetadata(LLVMConstInt(k->i32, 1, false));
	LLVMValueRef s = LLVMBuildStore(k->b, value, at);
	LLVMSetAlignment(s, k->lanes * k->elem_bytes);
	LLVMSetMetadata(s, LLVMGetMDKindIDInContext(k->context, "nontemporal", 11), LLVMMetadataAsValue(k->context, LLVMMDNodeInContext2(k->context, &one, 1)));
}

LLVMValueRef tsr_kit_splat(tsr_kit *k, LLVMValueRef scalar)
{
	LLVMValueRef undef = LLVMGetPoison(k->vec);
	LLVMValueRef one = LLVMBuildInsertElement(k->b, undef, scalar, LLVMConstInt(k->i32, 0, false), "");
	return LLVMBuildShuffleVector(k->b, one, undef, LLVMConstNull(LLVMVectorType(k->i32, k->lanes)), "");
}

LLVMValueRef tsr_kit_mask(tsr_kit *k, LLVMValueRef limit, uint32_t first)
{
	LLVMValueRef lane[64];
	for (uint32_t i = 0; i < k->lanes; i++)
		lane[i] = LLVMConstInt(k->i32, first + i, false);
	LLVMTypeRef ints = LLVMVectorType(k->i32, k->lanes);
	LLVMValueRef n = LLVMBuildTrunc(k->b, limit, k->i32, "");
	LLVMValueRef one = LLVMBuildInsertElement(k->b, LLVMGetPoison(ints), n, LLVMConstInt(k->i32, 0, false), "");
	LLVMValueRef all = LLVMBuildShuffleVector(k->b, one, LLVMGetPoison(ints), LLVMConstNull(ints), "");
	return LLVMBuildICmp(k->b, LLVMIntSLT, LLVMConstVector(lane, k->lanes), all, "");
}

/* The larger or the smaller: of floats NaN where either is, and which zero does not matter. */
static LLVMValueRef extreme(tsr_kit *k, bool most, LLVMValueRef x, LLVMValueRef y)
{
	static const char *const names[3][2] = { { "llvm.minimum", "llvm.maximum" }, { "llvm.smin", "llvm.smax" }, { "llvm.umin", "llvm.umax" } };
	bool is_float = tsr_prec_is_float(k->prec), is_signed = k->prec == TSR_PREC_I32 || k->prec == TSR_PREC_I64;
	LLVMTypeRef type = LLVMTypeOf(x);
	LLVMValueRef out = tsr_kit_intrinsic(k, names[is_float ? 0 : is_signed ? 1 : 2][most], &type, 1, (LLVMValueRef[]){ x, y }, 2);
	if (is_float)
		LLVMSetFastMathFlags(out, LLVMFastMathNoSignedZeros);
	return out;
}

static LLVMValueRef apply(tsr_kit *k, tsr_op op, LLVMValueRef x, LLVMValueRef y)
{
	bool is_float = tsr_prec_is_float(k->prec);
	if (op == TSR_OP_MUL)
		return is_float ? LLVMBuildFMul(k->b, x, y, "") : LLVMBuildMul(k->b, x, y, "");
	if (op == TSR_OP_ADD)
		return is_float ? LLVMBuildFAdd(k->b, x, y, "") : LLVMBuildAdd(k->b, x, y, "");
	if (op == TSR_OP_SUB)
		return is_float ? LLVMBuildFSub(k->b, x, y, "") : LLVMBuildSub(k->b, x, y, "");
	if (op == TSR_OP_MAX || op == TSR_OP_MIN)
		return extreme(k, op == TSR_OP_MAX, x, y);
	if (op == TSR_OP_AND || op == TSR_OP_OR)
		return op == TSR_OP_AND ? LLVMBuildAnd(k->b, x, y, "") : LLVMBuildOr(k->b, x, y, "");
	tsr_bug("a contraction with %s", tsr_op_get(op)->name);
}

/* The odd products first, then the even ones, each rounded with its sum; denormals are 0, before and after. */
static LLVMValueRef step_of_pairs(tsr_kit *k, LLVMValueRef sum, LLVMValueRef x, LLVMValueRef y)
{
	LLVMTypeRef type = LLVMVectorType(LLVMBFloatTypeInContext(k->context), 2 * k->lanes);
	LLVMValueRef args[3] = { sum, LLVMBuildBitCast(k->b, x, type, ""), LLVMBuildBitCast(k->b, y, type, "") };
	return tsr_kit_intrinsic(k, "llvm.x86.avx512bf16.dpbf16ps.512", NULL, 0, args, 3);
}

LLVMValueRef tsr_kit_step(tsr_kit *k, LLVMValueRef sum, LLVMValueRef x, LLVMValueRef y)
{
	if (k->pairs)
		return step_of_pairs(k, sum, x, y);
	tsr_op add = k->acc == TSR_ACC_SUB ? TSR_OP_ADD : tsr_acc_get(k->acc)->op;
	if (k->target->fma && tsr_prec_is_float(k->prec) && add == TSR_OP_ADD && k->combine == TSR_OP_MUL)
		return tsr_kit_intrinsic(k, "llvm.fma", (LLVMTypeRef[]){ LLVMTypeOf(sum) }, 1, (LLVMValueRef[]){ x, y, sum }, 3);
	return apply(k, add, sum, apply(k, k->combine, x, y));
}

LLVMValueRef tsr_kit_acc(tsr_kit *k, LLVMValueRef old, LLVMValueRef sum) { return apply(k, tsr_acc_get(k->acc)->op, old, sum); }

LLVMValueRef tsr_kit_plus(tsr_kit *k, LLVMValueRef x, LLVMValueRef y) { return apply(k, TSR_OP_ADD, x, y); }

LLVMValueRef tsr_kit_neutral(tsr_kit *k, LLVMTypeRef type)
{
	tsr_scalar neutral = tsr_acc_neutral(k->acc, k->prec);
	LLVMValueRef all[64], one = tsr_prec_is_float(k->prec) ? LLVMConstReal(k->elem, neutral.d)
		: LLVMConstInt(k->elem, (unsigned long long)neutral.i, true);
	if (type == k->elem)
		return one;
	for (uint32_t i = 0; i < k->lanes; i++)
		all[i] = one;
	return LLVMConstVector(all, k->lanes);
}

tsr_count tsr_count_begin(tsr_kit *k, LLVMValueRef start, LLVMValueRef limit, LLVMValueRef step)
{
	tsr_count c = { .step = step };
	LLVMBasicBlockRef before = LLVMGetInsertBlock(k->b);
	LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(k->context, k->fn, "body");
	c.head = LLVMAppendBasicBlockInContext(k->context, k->fn, "loop");
	c.exit = LLVMAppendBasicBlockInContext(k->context, k->fn, "done");
	LLVMBuildBr(k->b, c.head);
	LLVMPositionBuilderAtEnd(k->b, c.head);
	c.i = LLVMBuildPhi(k->b, k->i64, "i");
	LLVMAddIncoming(c.i, &start, &before, 1);
	LLVMBuildCondBr(k->b, LLVMBuildICmp(k->b, LLVMIntSLT, c.i, limit, ""), body, c.exit);
	LLVMPositionBuilderAtEnd(k->b, body);
	return c;
}

void tsr_count_end(tsr_kit *k, const tsr_count *c)
{
	LLVMValueRef next = LLVMBuildNSWAdd(k->b, c->i, c->step, "");
	LLVMBasicBlockRef here = LLVMGetInsertBlock(k->b);
	LLVMBuildBr(k->b, c->head);
	LLVMAddIncoming(c->i, &next, &here, 1);
	LLVMPositionBuilderAtEnd(k->b, c->exit);
}

tsr_guard tsr_guard_begin(tsr_kit *k, LLVMValueRef when)
{
	LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(k->context, k->fn, "if");
	tsr_guard g = { LLVMAppendBasicBlockInContext(k->context, k->fn, "if.end") };
	LLVMBuildCondBr(k->b, when, body, g.after);
	LLVMPositionBuilderAtEnd(k->b, body);
	return g;
}

void tsr_guard_end(tsr_kit *k, tsr_guard g)
{
	LLVMBuildBr(k->b, g.after);
	LLVMPositionBuilderAtEnd(k->b, g.after);
}

LLVMValueRef tsr_kit_table(tsr_kit *k, uint32_t n)
{
	LLVMBasicBlockRef here = LLVMGetInsertBlock(k->b), entry = LLVMGetEntryBasicBlock(k->fn);
	LLVMValueRef first = LLVMGetFirstInstruction(entry);
	if (first)
		LLVMPositionBuilderBefore(k->b, first);
	else
		LLVMPositionBuilderAtEnd(k->b, entry);
	LLVMValueRef table = LLVMBuildAlloca(k->b, LLVMArrayType2(k->i64, n), "offsets");
	LLVMPositionBuilderAtEnd(k->b, here);
	return table;
}

static void mark(tsr_kit *k, LLVMValueRef f, LLVMAttributeIndex at, const char *name)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
	LLVMAddAttributeAtIndex(f, at, LLVMCreateEnumAttribute(k->context, kind, 0));
}

/* Target attributes are those of the function being filled: a helper must run on the same machine, and is watched like it. */
LLVMValueRef tsr_kit_function(tsr_kit *k, const char *name, LLVMTypeRef *params, unsigned nparams, unsigned pointers)
{
	static const char *const texts[] = { "target-cpu", "target-features", "prefer-vector-width", "min-legal-vector-width" };
	LLVMValueRef f = LLVMAddFunction(k->module, name, LLVMFunctionType(LLVMVoidTypeInContext(k->context), params, nparams, false));
	LLVMSetLinkage(f, LLVMInternalLinkage);
	mark(k, f, LLVMAttributeFunctionIndex, "nounwind");
	mark(k, f, LLVMAttributeFunctionIndex, "noinline");
	unsigned watched = LLVMGetEnumAttributeKindForName("sanitize_address", strlen("sanitize_address"));
	if (LLVMGetEnumAttributeAtIndex(k->fn, LLVMAttributeFunctionIndex, watched))
		mark(k, f, LLVMAttributeFunctionIndex, "sanitize_address");
	for (unsigned i = 0; i < pointers; i++)
		mark(k, f, i + 1, "noalias");
	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
		LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(k->fn, LLVMAttributeFunctionIndex, texts[i], (unsigned)strlen(texts[i]));
		if (a)
			LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, a);
	}
	return f;
}

LLVMValueRef tsr_kit_named(tsr_kit *k, const char *name, LLVMTypeRef *params, unsigned nparams, unsigned pointers, tsr_body_maker *body,
						   const void *user)
{
	LLVMValueRef f = LLVMGetNamedFunction(k->module, name);
	if (f)
		return f;
	f = tsr_kit_function(k, name, params, nparams, pointers);
	LLVMBasicBlockRef here = LLVMGetInsertBlock(k->b);
	LLVMMetadataRef place = LLVMGetCurrentDebugLocation2(k->b);
	LLVMValueRef outer = k->fn;
	k->fn = f;
	LLVMSetCurrentDebugLocation2(k->b, NULL);
	LLVMPositionBuilderAtEnd(k->b, LLVMAppendBasicBlockInContext(k->context, f, "entry"));
	body(k, user, f);
	k->fn = outer;
	LLVMPositionBuilderAtEnd(k->b, here);
	LLVMSetCurrentDebugLocation2(k->b, place);
	return f;
}
