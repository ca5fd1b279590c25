/* Primitives on scalars and vectors.  Their meaning is ops/ops.c's; each function here is that meaning in instructions.
 * Products and sums of floats may contract to fused ones; nothing else about them is relaxed, except that accumulation
 * inside a REDUCE loop may be reordered. */
#include "emit.h"
#include <math.h>
#include <string.h>

static bool is_unsigned(tsr_prec p)
{
	return p == TSR_PREC_U8 || p == TSR_PREC_U32 || p == TSR_PREC_BOOL;
}

static LLVMValueRef intrinsic(tsr_emit *e, const char *name, unsigned n, LLVMValueRef *args)
{
	LLVMTypeRef type = LLVMTypeOf(args[0]);
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, &type, 1);
	return LLVMBuildCall2(e->builder, LLVMIntrinsicGetType(e->context, id, &type, 1), f, args, n, "");
}

static LLVMValueRef with_flags(LLVMValueRef x, LLVMFastMathFlags flags)
{
	if (LLVMIsAInstruction(x) && LLVMCanValueUseFastMathFlags(x))
		LLVMSetFastMathFlags(x, LLVMGetFastMathFlags(x) | flags);
	return x;
}

void tsr_emit_allow_reorder(LLVMValueRef x)
{
	with_flags(x, LLVMFastMathAllowReassoc | LLVMFastMathAllowContract);
}

static LLVMValueRef contractible(LLVMValueRef x)
{
	return with_flags(x, LLVMFastMathAllowContract);
}

static LLVMValueRef mod_by_library(tsr_emit *e, LLVMValueRef x, LLVMValueRef y)
{
	LLVMBuilderRef b = e->builder;
	LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(x)), r = LLVMBuildFRem(b, x, y, "");
	LLVMValueRef differ = LLVMBuildXor(b, LLVMBuildFCmp(b, LLVMRealOLT, r, zero, ""), LLVMBuildFCmp(b, LLVMRealOLT, y, zero, ""), "");
	LLVMValueRef some = LLVMBuildFCmp(b, LLVMRealUNE, r, zero, "");
	return LLVMBuildSelect(b, LLVMBuildAnd(b, some, differ, ""), LLVMBuildFAdd(b, r, y, ""), r, "");
}

/* x where it is the greater (less) one or NaN, else y; LLVM selects it as one instruction and a blend. */
static LLVMValueRef float_pick(tsr_emit *e, LLVMRealPredicate than, LLVMValueRef x, LLVMValueRef y)
{
	LLVMBuilderRef b = e->builder;
	LLVMValueRef picked = LLVMBuildSelect(b, LLVMBuildFCmp(b, than, x, y, ""), x, y, "");
	return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, x, x, ""), x, picked, "");
}

/* pow where the exponent is a small constant: the same number in fewer steps. */
static LLVMValueRef small_power(tsr_emit *e, LLVMValueRef x, LLVMValueRef y)
{
	if (!LLVMIsAConstantFP(y))
		return NULL;
	LLVMBool loses;
	double k = LLVMConstRealGetDouble(y, &loses);
	if (k == 1)
		return x;
	if (k == 2)
		return contractible(LLVMBuildFMul(e->builder, x, x, ""));
	if (k == -1)
		return LLVMBuildFDiv(e->builder, tsr_emit_number(e, LLVMTypeOf(x), 1), x, "");
	return NULL;
}

static LLVMValueRef divided(tsr_emit *e, LLVMValueRef x, LLVMValueRef y)
{
	return LLVMBuildFDiv(e->builder, x, y, "");
}

/* x times a factor that most often is 1: a branch that always goes the same way costs the vector units nothing. */
static LLVMValueRef scaled_by(tsr_emit *e, LLVMValueRef x, LLVMValueRef factor, LLVMValueRef one)
{
	LLVMBuilderRef b = e->builder;
	if (LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMVectorTypeKind)
		return LLVMBuildFMul(b, x, factor, "");
	LLVMBasicBlockRef before = LLVMGetInsertBlock(b), scale = tsr_emit_block(e, "scale"), scaled = tsr_emit_block(e, "scaled");
	tsr_emit_seldom(e, one, scaled, scale);
	LLVMPositionBuilderAtEnd(b, scale);
	LLVMValueRef product = LLVMBuildFMul(b, x, tsr_emit_splat(e, factor, LLVMTypeOf(x)), "");
	LLVMBuildBr(b, scaled);
	LLVMPositionBuilderAtEnd(b, scaled);
	LLVMValueRef phi = LLVMBuildPhi(b, LLVMTypeOf(x), ""), values[2] = {x, product};
	LLVMBasicBlockRef from[2] = {before, scale};
	LLVMAddIncoming(phi, values, from, 2);
	return phi;
}

/* The reciprocal once, then for each x an approximate quotient, what it leaves, and that divided too: exact where nothing underflows on
 * the way.  A y below 1/2 is scaled by a power of two to lie above it, and x with it: neither its reciprocal nor
 * x can then overflow unless the quotient does.  Where x, y or the quotient is infinite or y is 0, what is left is no number
 * or the first product's opposite, their sum is NaN, and the first product is the answer. */
LLVMValueRef tsr_emit_quotient(tsr_emit *e, LLVMValueRef x, LLVMValueRef y)
{
	LLVMBuilderRef b = e->builder;
	LLVMTypeRef t = LLVMTypeOf(x);
	LLVMValueRef shift = LLVMConstInt(e->i32, 23, false), least = LLVMConstInt(e->i32, 127, false);
	LLVMValueRef exponent = LLVMBuildAnd(b, LLVMBuildLShr(b, LLVMBuildBitCast(b, y, e->i32, ""), shift, ""), LLVMConstInt(e->i32, 255, false), "");
	LLVMValueRef other = LLVMBuildSub(b, LLVMConstInt(e->i32, 253, false), exponent, "");
	other = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSLT, other, least, ""), least, other, "");
	LLVMValueRef factor = LLVMBuildBitCast(b, LLVMBuildShl(b, other, shift, ""), e->f32, "");
	LLVMValueRef divisor = LLVMBuildFMul(b, y, factor, "");
	LLVMValueRef reciprocal = tsr_emit_splat(e, LLVMBuildFDiv(b, LLVMConstReal(e->f32, 1), divisor, ""), t);
	LLVMValueRef dividend = scaled_by(e, x, factor, LLVMBuildICmp(b, LLVMIntEQ, other, least, "")), q = LLVMBuildFMul(b, dividend, reciprocal, "");
	LLVMValueRef rest_of[3] = {tsr_emit_splat(e, LLVMBuildFNeg(b, divisor, ""), t), q, dividend};
	LLVMValueRef rest = intrinsic(e, "llvm.fma", 3, rest_of), nearer_of[3] = {rest, reciprocal, q};
	return tsr_emit_unless_nan(e, intrinsic(e, "llvm.fma", 3, nearer_of), q);
}

static LLVMValueRef compare(tsr_emit *e, LLVMRealPredicate p, LLVMValueRef *a)
{
	return LLVMBuildFCmp(e->builder, p, a[0], a[1], "");
}

static LLVMValueRef float_op(tsr_emit *e, tsr_op op, tsr_prec p, LLVMValueRef *a)
{
	LLVMBuilderRef b = e->builder;
	switch (op) {
	case TSR_OP_ID:    return a[0];
	case TSR_OP_NEG:   return LLVMBuildFNeg(b, a[0], "");
	case TSR_OP_ABS:   return intrinsic(e, "llvm.fabs", 1, a);
	case TSR_OP_SQRT:  return intrinsic(e, "llvm.sqrt", 1, a);
	case TSR_OP_RECIP: return divided(e, tsr_emit_number(e, LLVMTypeOf(a[0]), 1), a[0]);
	case TSR_OP_RSQRT: return divided(e, tsr_emit_number(e, LLVMTypeOf(a[0]), 1), intrinsic(e, "llvm.sqrt", 1, a));
	case TSR_OP_FLOOR: return intrinsic(e, "llvm.floor", 1, a);
	case TSR_OP_CEIL:  return intrinsic(e, "llvm.ceil", 1, a);
	case TSR_OP_TRUNC: return intrinsic(e, "llvm.trunc", 1, a);
	case TSR_OP_ROUND: return intrinsic(e, "llvm.nearbyint", 1, a);
	case TSR_OP_ADD:   return contractible(LLVMBuildFAdd(b, a[0], a[1], ""));
	case TSR_OP_SUB:   return contractible(LLVMBuildFSub(b, a[0], a[1], ""));
	case TSR_OP_MUL:   return contractible(LLVMBuildFMul(b, a[0], a[1], ""));
	case TSR_OP_DIV:   return divided(e, a[0], a[1]);
	case TSR_OP_IDIV: {
		LLVMValueRef q = tsr_emit_round_to(e, p, divided(e, a[0], a[1]));
		return intrinsic(e, "llvm.floor", 1, &q);
	}
	case TSR_OP_MOD:
		return tsr_emit_has_mod(e) && LLVMGetTypeKind(LLVMTypeOf(a[0])) == LLVMVectorTypeKind ? tsr_emit_mod(e, a[0], a[1], mod_by_library) : mod_by_library(e, a[0], a[1]);
	case TSR_OP_FMA:   return intrinsic(e, "llvm.fma", 3, a);
	case TSR_OP_MAX:   return float_pick(e, LLVMRealOGT, a[0], a[1]);
	case TSR_OP_MIN:   return float_pick(e, LLVMRealOLT, a[0], a[1]);
	case TSR_OP_LT:    return compare(e, LLVMRealOLT, a);
	case TSR_OP_LE:    return compare(e, LLVMRealOLE, a);
	case TSR_OP_GT:    return compare(e, LLVMRealOGT, a);
	case TSR_OP_GE:    return compare(e, LLVMRealOGE, a);
	case TSR_OP_AT:
	case TSR_OP_EQ:    return compare(e, LLVMRealOEQ, a);
	case TSR_OP_NE:    return compare(e, LLVMRealUNE, a);
	case TSR_OP_WHERE: return LLVMBuildSelect(b, a[0], a[1], a[2], "");
	case TSR_OP_POW: {
		LLVMValueRef r = small_power(e, a[0], a[1]);
		return r ? r : tsr_emit_math(e, op, a);
	}
	case TSR_OP_EXP: case TSR_OP_LOG: case TSR_OP_EXP2: case TSR_OP_LOG2: case TSR_OP_SIN: case TSR_OP_COS: case TSR_OP_TANH:
	case TSR_OP_ERF:
		return tsr_emit_math(e, op, a);
	case TSR_OP_NOT: case TSR_OP_AND: case TSR_OP_OR: case TSR_OPS:
		break;
	}
	tsr_bug("%s on %s", tsr_op_get(op)->name, tsr_prec_name(p));
}

/* Rounds towards minus infinity; x / 0 is 0, and the overflow of -x wraps, without the machine's trap. */
static LLVMValueRef int_idiv(tsr_emit *e, bool is_u, LLVMValueRef x, LLVMValueRef y)
{
	LLVMBuilderRef b = e->builder;
	LLVMTypeRef t = LLVMTypeOf(x);
	LLVMValueRef zero = LLVMConstNull(t), one = tsr_emit_number(e, t, 1), by_zero = LLVMBuildICmp(b, LLVMIntEQ, y, zero, "");
	if (is_u) {
		LLVMValueRef q = LLVMBuildUDiv(b, x, LLVMBuildSelect(b, by_zero, one, y, ""), "");
		return LLVMBuildSelect(b, by_zero, zero, q, "");
	}
	LLVMValueRef by_minus = LLVMBuildICmp(b, LLVMIntEQ, y, LLVMConstAllOnes(t), "");
	LLVMValueRef d = LLVMBuildSelect(b, LLVMBuildOr(b, by_zero, by_minus, ""), one, y, "");
	LLVMValueRef q = LLVMBuildSDiv(b, x, d, ""), r = LLVMBuildSRem(b, x, d, "");
	LLVMValueRef signs = LLVMBuildICmp(b, LLVMIntSLT, LLVMBuildXor(b, r, d, ""), zero, "");
	LLVMValueRef down = LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntNE, r, zero, ""), signs, "");
	q = LLVMBuildSub(b, q, LLVMBuildZExt(b, down, t, ""), "");
	q = LLVMBuildSelect(b, by_minus, LLVMBuildNeg(b, x, ""), q, "");
	return LLVMBuildSelect(b, by_zero, zero, q, "");
}

static LLVMValueRef int_compare(tsr_emit *e, bool is_u, tsr_op op, LLVMValueRef *a)
{
	LLVMIntPredicate p = LLVMIntEQ;
	if (op == TSR_OP_LT)
		p = is_u ? LLVMIntULT : LLVMIntSLT;
	else if (op == TSR_OP_LE)
		p = is_u ? LLVMIntULE : LLVMIntSLE;
	else if (op == TSR_OP_GT)
		p = is_u ? LLVMIntUGT : LLVMIntSGT;
	else if (op == TSR_OP_GE)
		p = is_u ? LLVMIntUGE : LLVMIntSGE;
	else if (op == TSR_OP_NE)
		p = LLVMIntNE;
	return LLVMBuildICmp(e->builder, p, a[0], a[1], "");
}

static LLVMValueRef int_op(tsr_emit *e, tsr_op op, tsr_prec p, LLVMValueRef *a)
{
	LLVMBuilderRef b = e->builder;
	bool is_u = is_unsigned(p);
	switch (op) {
	case TSR_OP_ID: case TSR_OP_FLOOR: case TSR_OP_CEIL: case TSR_OP_TRUNC: case TSR_OP_ROUND:
		return a[0];
	case TSR_OP_NEG: return LLVMBuildNeg(b, a[0], "");
	case TSR_OP_ABS: {
		LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(a[0]));
		return is_u ? a[0] : LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSLT, a[0], zero, ""), LLVMBuildNeg(b, a[0], ""), a[0], "");
	}
	case TSR_OP_ADD:  return LLVMBuildAdd(b, a[0], a[1], "");
	case TSR_OP_SUB:  return LLVMBuildSub(b, a[0], a[1], "");
	case TSR_OP_MUL:  return LLVMBuildMul(b, a[0], a[1], "");
	case TSR_OP_FMA:  return LLVMBuildAdd(b, LLVMBuildMul(b, a[0], a[1], ""), a[2], "");
	case TSR_OP_IDIV: return int_idiv(e, is_u, a[0], a[1]);
	case TSR_OP_MOD:  return LLVMBuildSub(b, a[0], LLVMBuildMul(b, int_idiv(e, is_u, a[0], a[1]), a[1], ""), "");
	case TSR_OP_MAX:
		return p == TSR_PREC_BOOL ? LLVMBuildOr(b, a[0], a[1], "") : intrinsic(e, is_u ? "llvm.umax" : "llvm.smax", 2, a);
	case TSR_OP_MIN:
		return p == TSR_PREC_BOOL ? LLVMBuildAnd(b, a[0], a[1], "") : intrinsic(e, is_u ? "llvm.umin" : "llvm.smin", 2, a);
	case TSR_OP_LT: case TSR_OP_LE: case TSR_OP_GT: case TSR_OP_GE: case TSR_OP_EQ: case TSR_OP_AT: case TSR_OP_NE:
		return int_compare(e, is_u, op, a);
	case TSR_OP_NOT:   return LLVMBuildNot(b, a[0], "");
	case TSR_OP_AND:   return LLVMBuildAnd(b, a[0], a[1], "");
	case TSR_OP_OR:    return LLVMBuildOr(b, a[0], a[1], "");
	case TSR_OP_WHERE: return LLVMBuildSelect(b, a[0], a[1], a[2], "");
	case TSR_OP_EXP: case TSR_OP_LOG: case TSR_OP_EXP2: case TSR_OP_LOG2: case TSR_OP_SIN: case TSR_OP_COS: case TSR_OP_TANH:
	case TSR_OP_ERF: case TSR_OP_SQRT: case TSR_OP_RECIP: case TSR_OP_RSQRT: case TSR_OP_DIV: case TSR_OP_POW: case TSR_OPS:
		break;
	}
	tsr_bug("%s on %s", tsr_op_get(op)->name, tsr_prec_name(p));
}

LLVMValueRef tsr_emit_op(tsr_emit *e, tsr_op op, tsr_prec p, LLVMValueRef *args)
{
	if (!tsr_prec_is_float(p))
		return int_op(e, op, p, args);
	LLVMValueRef x = float_op(e, op, p, args);
	return tsr_op_get(op)->result == TSR_RESULT_BOOL ? x : tsr_emit_round_to(e, p, x);
}

LLVMValueRef tsr_emit_acc(tsr_emit *e, tsr_acc acc, tsr_prec p, LLVMValueRef element, LLVMValueRef value)
{
	LLVMValueRef args[2] = {element, value};
	if (acc == TSR_ACC_SET)
		return value;
	if (e->reorder && tsr_prec_is_float(p) && (acc == TSR_ACC_MAX || acc == TSR_ACC_MIN))
		return with_flags(intrinsic(e, acc == TSR_ACC_MAX ? "llvm.maximum" : "llvm.minimum", 2, args), LLVMFastMathNoSignedZeros);
	LLVMValueRef r = tsr_emit_op(e, tsr_acc_get(acc)->op, p, args);
	if (e->reorder && !e->written && tsr_prec_is_float(p) && (acc == TSR_ACC_ADD || acc == TSR_ACC_SUB || acc == TSR_ACC_MUL))
		tsr_emit_allow_reorder(r);
	return r;
}

LLVMValueRef tsr_emit_neutral(tsr_emit *e, tsr_acc acc, tsr_prec p, LLVMValueRef like)
{
	return tsr_emit_splat(e, tsr_emit_constant(e, tsr_acc_neutral(acc, p)), LLVMTypeOf(like));
}
