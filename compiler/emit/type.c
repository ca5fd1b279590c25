/* Types, constants, conversions between precisions, and elements in memory. */
#include "emit.h"
#include <math.h>
#include <string.h>

static bool is_narrow(tsr_prec p)
{
	return p == TSR_PREC_F16 || p == TSR_PREC_BF16 || p == TSR_PREC_F8;
}

static bool is_signed(tsr_prec p)
{
	return p == TSR_PREC_I8 || p == TSR_PREC_I16 || p == TSR_PREC_I32 || p == TSR_PREC_I64;
}

LLVMTypeRef tsr_emit_register_type(tsr_emit *e, tsr_prec p)
{
	switch (p) {
	case TSR_PREC_BOOL:
		return e->i1;
	case TSR_PREC_U8: case TSR_PREC_I8:
		return e->i8;
	case TSR_PREC_I16:
		return e->i16;
	case TSR_PREC_I32: case TSR_PREC_U32:
		return e->i32;
	case TSR_PREC_I64:
		return e->i64;
	case TSR_PREC_F8: case TSR_PREC_F16: case TSR_PREC_BF16: case TSR_PREC_F32:
		return e->f32;
	case TSR_PREC_F64:
		return e->f64;
	case TSR_PREC_NONE: case TSR_PRECS:
		break;
	}
	tsr_bug("a value without a precision");
}

/* Narrow floats lie as whole numbers: where a processor has no registers for them, LLVM moves vectors of halfs (shuffles, selections)
 * through f32 and back, for bf16 by a function that not every system's library has. */
LLVMTypeRef tsr_emit_memory_type(tsr_emit *e, tsr_prec p)
{
	switch (p) {
	case TSR_PREC_BOOL: case TSR_PREC_F8:
		return e->i8;
	case TSR_PREC_F16: case TSR_PREC_BF16:
		return e->i16;
	case TSR_PREC_U8: case TSR_PREC_I8: case TSR_PREC_I16: case TSR_PREC_I32: case TSR_PREC_U32: case TSR_PREC_I64:
	case TSR_PREC_F32: case TSR_PREC_F64:
		return tsr_emit_register_type(e, p);
	case TSR_PREC_NONE: case TSR_PRECS:
		break;
	}
	tsr_bug("an element without a precision");
}

LLVMTypeRef tsr_emit_lanes(LLVMTypeRef scalar, unsigned lanes)
{
	return lanes > 1 ? LLVMVectorType(scalar, lanes) : scalar;
}

LLVMTypeRef tsr_emit_type_like(LLVMTypeRef scalar, LLVMValueRef like)
{
	LLVMTypeRef t = LLVMTypeOf(like);
	return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMVectorType(scalar, LLVMGetVectorSize(t)) : scalar;
}

LLVMValueRef tsr_emit_i64(tsr_emit *e, int64_t x)
{
	return LLVMConstInt(e->i64, (uint64_t)x, true);
}

LLVMValueRef tsr_emit_splat(tsr_emit *e, LLVMValueRef scalar, LLVMTypeRef type)
{
	if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
		return scalar;
	unsigned lanes = LLVMGetVectorSize(type);
	if (LLVMIsConstant(scalar)) {
		LLVMValueRef all[64];
		TSR_ASSERT(lanes <= 64);
		for (unsigned i = 0; i < lanes; i++)
			all[i] = scalar;
		return LLVMConstVector(all, lanes);
	}
	LLVMValueRef one = LLVMBuildInsertElement(e->builder, LLVMGetPoison(type), scalar, LLVMConstInt(e->i32, 0, false), "");
	return LLVMBuildShuffleVector(e->builder, one, LLVMGetPoison(type), LLVMConstNull(LLVMVectorType(e->i32, lanes)), "");
}

static LLVMTypeRef element_type(LLVMTypeRef t)
{
	return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : t;
}

LLVMValueRef tsr_emit_number(tsr_emit *e, LLVMTypeRef type, double x)
{
	LLVMTypeRef t = element_type(type);
	bool integer = LLVMGetTypeKind(t) == LLVMIntegerTypeKind;
	return tsr_emit_splat(e, integer ? LLVMConstInt(t, (uint64_t)(int64_t)x, true) : LLVMConstReal(t, x), type);
}

LLVMValueRef tsr_emit_constant(tsr_emit *e, tsr_scalar x)
{
	LLVMTypeRef t = tsr_emit_register_type(e, x.prec);
	return tsr_prec_is_float(x.prec) ? LLVMConstReal(t, x.d) : LLVMConstInt(t, (uint64_t)x.i, is_signed(x.prec));
}

/* ---- conversions ----------------------------------------------------------------------------------------------------- */

static LLVMValueRef call1(tsr_emit *e, const char *name, LLVMTypeRef *overloads, unsigned n, LLVMValueRef x)
{
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, overloads, n);
	return LLVMBuildCall2(e->builder, LLVMIntrinsicGetType(e->context, id, overloads, n), f, &x, 1, "");
}

/* A float as the bits of f8 (e5m2, the upper half of an f16) in an i8.  Rounding to f16 first would round twice, so the
 * f16 is rounded to odd: towards zero, with the last bit set when something was lost. */
static LLVMValueRef to_f8(tsr_emit *e, LLVMValueRef x)
{
	LLVMBuilderRef b = e->builder;
	LLVMTypeRef f32 = tsr_emit_type_like(e->f32, x), i16 = tsr_emit_type_like(e->i16, x), i8 = tsr_emit_type_like(e->i8, x);
	LLVMValueRef half = LLVMBuildFPTrunc(b, x, tsr_emit_type_like(LLVMHalfTypeInContext(e->context), x), "");
	LLVMValueRef back = LLVMBuildFPExt(b, half, f32, ""), bits = LLVMBuildBitCast(b, half, i16, "");
	LLVMValueRef away = LLVMBuildFCmp(b, LLVMRealOGT, call1(e, "llvm.fabs", &f32, 1, back), call1(e, "llvm.fabs", &f32, 1, x), "");
	LLVMValueRef lost = LLVMBuildFCmp(b, LLVMRealONE, back, x, "");
	bits = LLVMBuildSub(b, bits, LLVMBuildZExt(b, away, i16, ""), "");
	bits = LLVMBuildOr(b, bits, LLVMBuildZExt(b, lost, i16, ""), "");
	LLVMValueRef even = LLVMBuildAnd(b, LLVMBuildLShr(b, bits, tsr_emit_number(e, i16, 8), ""), tsr_emit_number(e, i16, 1), "");
	LLVMValueRef up = LLVMBuildAdd(b, LLVMBuildAdd(b, bits, tsr_emit_number(e, i16, 0x7f), ""), even, "");
	LLVMValueRef top = LLVMBuildTrunc(b, LLVMBuildLShr(b, up, tsr_emit_number(e, i16, 8), ""), i8, "");
	return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, x, x, ""), tsr_emit_number(e, i8, 0x7e), top, "");
}

static LLVMValueRef from_f8(tsr_emit *e, LLVMValueRef x)
{
	LLVMBuilderRef b = e->builder;
	LLVMTypeRef i16 = tsr_emit_type_like(e->i16, x);
	LLVMValueRef bits = LLVMBuildShl(b, LLVMBuildZExt(b, x, i16, ""), tsr_emit_number(e, i16, 8), "");
	LLVMValueRef half = LLVMBuildBitCast(b, bits, tsr_emit_type_like(LLVMHalfTypeInContext(e->context), x), "");
	return LLVMBuildFPExt(b, half, tsr_emit_type_like(e->f32, x), "");
}

/* What from_bf16 made x of, if it did: it is rounded already. */
static LLVMValueRef widened(LLVMValueRef x)
{
	LLVMValueRef up = LLVMIsABitCastInst(x) ? LLVMGetOperand(x, 0) : NULL;
	LLVMValueRef wide = up && LLVMIsAInstruction(up) && LLVMGetInstructionOpcode(up) == LLVMShl ? LLVMGetOperand(up, 0) : NULL;
	LLVMValueRef narrow = wide && LLVMIsAZExtInst(wide) ? LLVMGetOperand(wide, 0) : NULL;
	return narrow && LLVMGetIntTypeWidth(element_type(LLVMTypeOf(narrow))) == 16 ? narrow : NULL;
}

/* To nearest even, a NaN quiet; by integers, since the instruction that some machines have takes denormals for 0, and where there is
 * none LLVM calls a function that not every system's library has. */
static LLVMValueRef to_bf16(tsr_emit *e, LLVMValueRef x)
{
	LLVMBuilderRef b = e->builder;
	LLVMValueRef same = widened(x);
	if (same)
		return same;
	LLVMTypeRef i32 = tsr_emit_type_like(e->i32, x);
	LLVMValueRef bits = LLVMBuildBitCast(b, x, i32, ""), top = LLVMBuildLShr(b, bits, tsr_emit_number(e, i32, 16), "");
	LLVMValueRef even = LLVMBuildAnd(b, top, tsr_emit_number(e, i32, 1), "");
	LLVMValueRef up = LLVMBuildAdd(b, LLVMBuildAdd(b, bits, tsr_emit_number(e, i32, 0x7fff), ""), even, "");
	LLVMValueRef quiet = LLVMBuildOr(b, top, tsr_emit_number(e, i32, 0x40), "");
	LLVMValueRef out = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, x, x, ""), quiet, LLVMBuildLShr(b, up, tsr_emit_number(e, i32, 16), ""), "");
	return LLVMBuildTrunc(b, out, tsr_emit_type_like(e->i16, x), "");
}

static LLVMValueRef from_bf16(tsr_emit *e, LLVMValueRef x)
{
	LLVMTypeRef i32 = tsr_emit_type_like(e->i32, x);
	LLVMValueRef bits = LLVMBuildShl(e->builder, LLVMBuildZExt(e->builder, x, i32, ""), tsr_emit_number(e, i32, 16), "");
	return LLVMBuildBitCast(e->builder, bits, tsr_emit_type_like(e->f32, x), "");
}

static LLVMValueRef to_f16(tsr_emit *e, LLVMValueRef x)
{
	LLVMValueRef half = LLVMBuildFPTrunc(e->builder, x, tsr_emit_type_like(LLVMHalfTypeInContext(e->context), x), "");
	return LLVMBuildBitCast(e->builder, half, tsr_emit_type_like(e->i16, x), "");
}

static LLVMValueRef from_f16(tsr_emit *e, LLVMValueRef x)
{
	LLVMValueRef half = LLVMBuildBitCast(e->builder, x, tsr_emit_type_like(LLVMHalfTypeInContext(e->context), x), "");
	return LLVMBuildFPExt(e->builder, half, tsr_emit_type_like(e->f32, x), "");
}

LLVMValueRef tsr_emit_to_memory(tsr_emit *e, tsr_prec p, LLVMValueRef x)
{
	if (p == TSR_PREC_BOOL)
		return LLVMBuildZExt(e->builder, x, tsr_emit_type_like(e->i8, x), "");
	if (p == TSR_PREC_F8)
		return to_f8(e, x);
	if (p == TSR_PREC_BF16)
		return to_bf16(e, x);
	if (p == TSR_PREC_F16)
		return to_f16(e, x);
	return x;
}

LLVMValueRef tsr_emit_from_memory(tsr_emit *e, tsr_prec p, LLVMValueRef x)
{
	if (p == TSR_PREC_BOOL)
		return LLVMBuildTrunc(e->builder, x, tsr_emit_type_like(e->i1, x), "");
	if (p == TSR_PREC_F8)
		return from_f8(e, x);
	if (p == TSR_PREC_BF16)
		return from_bf16(e, x);
	if (p == TSR_PREC_F16)
		return from_f16(e, x);
	return x;
}

static LLVMValueRef float_to_int(tsr_emit *e, LLVMValueRef x, tsr_prec to)
{
	LLVMTypeRef types[2] = {tsr_emit_type_like(tsr_emit_register_type(e, to), x), LLVMTypeOf(x)};
	return call1(e, is_signed(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat", types, 2, x);
}

static LLVMValueRef int_to_int(tsr_emit *e, LLVMValueRef x, tsr_prec from, tsr_prec to)
{
	LLVMTypeRef type = tsr_emit_type_like(tsr_emit_register_type(e, to), x);
	unsigned narrow = LLVMGetIntTypeWidth(element_type(LLVMTypeOf(x))), wide = LLVMGetIntTypeWidth(element_type(type));
	if (narrow == wide)
		return x;
	if (narrow > wide)
		return LLVMBuildTrunc(e->builder, x, type, "");
	return is_signed(from) ? LLVMBuildSExt(e->builder, x, type, "") : LLVMBuildZExt(e->builder, x, type, "");
}

/* To any float's register form, without the rounding of a narrow one. */
static LLVMValueRef to_float(tsr_emit *e, LLVMValueRef x, tsr_prec from, tsr_prec to)
{
	LLVMTypeRef type = tsr_emit_type_like(tsr_emit_register_type(e, to), x);
	if (!tsr_prec_is_float(from))
		return is_signed(from) ? LLVMBuildSIToFP(e->builder, x, type, "") : LLVMBuildUIToFP(e->builder, x, type, "");
	if (LLVMTypeOf(x) == type)
		return x;
	return to == TSR_PREC_F64 ? LLVMBuildFPExt(e->builder, x, type, "") : LLVMBuildFPTrunc(e->builder, x, type, "");
}

LLVMValueRef tsr_emit_round_to(tsr_emit *e, tsr_prec p, LLVMValueRef x)
{
	return is_narrow(p) ? tsr_emit_from_memory(e, p, tsr_emit_to_memory(e, p, x)) : x;
}

LLVMValueRef tsr_emit_convert(tsr_emit *e, LLVMValueRef x, tsr_prec from, tsr_prec to)
{
	if (from == to)
		return x;
	bool is_float = tsr_prec_is_float(from);
	if (to == TSR_PREC_BOOL) {
		LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(x));
		return is_float ? LLVMBuildFCmp(e->builder, LLVMRealUNE, x, zero, "") : LLVMBuildICmp(e->builder, LLVMIntNE, x, zero, "");
	}
	if (tsr_prec_is_int(to))
		return is_float ? float_to_int(e, x, to) : int_to_int(e, x, from, to);
	return tsr_emit_round_to(e, to, to_float(e, x, from, to));
}

/* ---- memory ------------------------------------------------------------------------------------------------------------ */

LLVMValueRef tsr_emit_load_lanes(tsr_emit *e, tsr_prec p, LLVMValueRef address, unsigned lanes)
{
	LLVMValueRef x = LLVMBuildLoad2(e->builder, tsr_emit_lanes(tsr_emit_memory_type(e, p), lanes), address, "");
	LLVMSetAlignment(x, tsr_prec_bytes(p));
	return tsr_emit_from_memory(e, p, x);
}

static LLVMValueRef call_masked(tsr_emit *e, const char *name, LLVMTypeRef type, LLVMValueRef *args)
{
	LLVMTypeRef overloads[2] = {type, e->ptr};
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, overloads, 2);
	return LLVMBuildCall2(e->builder, LLVMIntrinsicGetType(e->context, id, overloads, 2), f, args, 4, "");
}

LLVMValueRef tsr_emit_load_masked(tsr_emit *e, tsr_prec p, LLVMValueRef address, LLVMValueRef mask)
{
	LLVMTypeRef type = tsr_emit_type_like(tsr_emit_memory_type(e, p), mask);
	LLVMValueRef args[4] = {address, LLVMConstInt(e->i32, (uint64_t)tsr_prec_bytes(p), false), mask, LLVMConstNull(type)};
	return tsr_emit_from_memory(e, p, call_masked(e, "llvm.masked.load", type, args));
}

/* How many lanes the mask names, where that is known and they are the first ones; or 0. */
static unsigned first_lanes(LLVMValueRef mask)
{
	unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(mask)), n = 0;
	for (unsigned i = 0; i < lanes; i++) {
		LLVMValueRef lane = LLVMIsConstant(mask) ? LLVMGetAggregateElement(mask, i) : NULL;
		if (!lane || !LLVMIsAConstantInt(lane) || (LLVMConstIntGetZExtValue(lane) && n < i))
			return 0;
		n += LLVMConstIntGetZExtValue(lane) != 0;
	}
	return n;
}

/* The first n lanes, in halves of registers, quarters and so on. */
static void store_pieces(tsr_emit *e, tsr_prec p, LLVMValueRef value, LLVMValueRef address, unsigned n)
{
	LLVMValueRef lane[64];
	for (unsigned at = 0, size = 64; at < n; size /= 2)
		if (at + size <= n) {
			LLVMValueRef place = tsr_emit_i64(e, at);
			for (unsigned i = 0; i < size; i++)
				lane[i] = LLVMConstInt(e->i32, at + i, false);
			LLVMValueRef piece = LLVMBuildShuffleVector(e->builder, value, LLVMGetPoison(LLVMTypeOf(value)), LLVMConstVector(lane, size), "");
			tsr_emit_store_lanes(e, p, piece, LLVMBuildInBoundsGEP2(e->builder, tsr_emit_memory_type(e, p), address, &place, 1, ""));
			at += size;
		}
}

void tsr_emit_store_masked(tsr_emit *e, tsr_prec p, LLVMValueRef value, LLVMValueRef address, LLVMValueRef mask)
{
	unsigned first = e->target->masks == TSR_MASKS_ALL ? 0 : first_lanes(mask);      /* a store by a mask takes some twenty cycles where masks are registers of numbers */
	if (first) {
		store_pieces(e, p, value, address, first);
		return;
	}
	LLVMValueRef args[4] = {tsr_emit_to_memory(e, p, value), address, LLVMConstInt(e->i32, (uint64_t)tsr_prec_bytes(p), false), mask};
	call_masked(e, "llvm.masked.store", LLVMTypeOf(args[0]), args);
}

LLVMValueRef tsr_emit_load(tsr_emit *e, tsr_prec p, LLVMValueRef address)
{
	return tsr_emit_load_lanes(e, p, address, 1);
}

LLVMValueRef tsr_emit_store_lanes(tsr_emit *e, tsr_prec p, LLVMValueRef value, LLVMValueRef address)
{
	LLVMValueRef store = LLVMBuildStore(e->builder, tsr_emit_to_memory(e, p, value), address);
	LLVMSetAlignment(store, tsr_prec_bytes(p));
	return store;
}

void tsr_emit_store(tsr_emit *e, tsr_prec p, LLVMValueRef value, LLVMValueRef address)
{
	tsr_emit_store_lanes(e, p, value, address);
}

LLVMValueRef tsr_emit_alloca(tsr_emit *e, LLVMTypeRef type, const char *name)
{
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
	LLVMMetadataRef place = LLVMGetCurrentDebugLocation2(e->builder);
	LLVMValueRef first = LLVMGetFirstInstruction(e->entry);
	if (first)
		LLVMPositionBuilderBefore(e->builder, first);
	else
		LLVMPositionBuilderAtEnd(e->builder, e->entry);
	LLVMValueRef a = LLVMBuildAlloca(e->builder, type, name);
	LLVMPositionBuilderAtEnd(e->builder, here);
	LLVMSetCurrentDebugLocation2(e->builder, place);
	return a;
}
