/* The elementary functions in f64: their way in, and what they are written with (maths.h).  How to read them: math.c.
 *
 * They hold for every argument by themselves but for two, which leave what is rare to the C library: powers that leave the normal range or whose base is
 * negative, and sine and cosine of large arguments. */
#include "maths.h"
#include <string.h>

LLVMValueRef tsr_math_poly_apart(const tsr_maths *m, LLVMValueRef x, LLVMValueRef z, unsigned n, const double *c)
{
	LLVMValueRef part[2];
	for (unsigned odd = 0; odd < 2; odd++) {
		unsigned k = n - 1 - (n - 1 + odd) % 2;
		part[odd] = N(c[k]);
		for (; k >= 2; k -= 2)
			part[odd] = tsr_math_mad(m, part[odd], z, N(c[k - 2]));
	}
	return tsr_math_mad(m, part[1], x, part[0]);
}

/* The upper half of an f64's digits, and the lower one. */
static void halves(const tsr_maths *m, LLVMValueRef x, LLVMValueRef *high, LLVMValueRef *low)
{
	LLVMValueRef wide = MUL(x, N(0x1p27 + 1));
	*high = SUB(wide, SUB(wide, x));
	*low = SUB(x, *high);
}

LLVMValueRef tsr_math_lost(const tsr_maths *m, LLVMValueRef x, LLVMValueRef y, LLVMValueRef high)
{
	if (m->e->target->fma)
		return tsr_math_mad(m, x, y, NEG(high));
	LLVMValueRef a, b, c, d;
	halves(m, x, &a, &b);
	halves(m, y, &c, &d);
	return ADD(ADD(ADD(SUB(MUL(a, c), high), MUL(a, d)), MUL(b, c)), MUL(b, d));
}

LLVMValueRef tsr_math_rest(const tsr_maths *m, LLVMValueRef z, LLVMValueRef x, LLVMValueRef y)
{
	if (m->e->target->fma)
		return tsr_math_mad(m, NEG(x), y, z);
	LLVMValueRef high = MUL(x, y);
	return SUB(SUB(z, high), tsr_math_lost(m, x, y, high));
}

/* ---- what is rare ------------------------------------------------------------------------------------------------------- */

static LLVMValueRef within(const tsr_maths *m, LLVMValueRef x, double low, double high)
{
	LLVMTypeRef t = LLVMTypeOf(x);
	LLVMValueRef above = LLVMBuildFCmp(m->b, LLVMRealOGE, x, tsr_emit_number(m->e, t, low), "");
	return AND(above, LLVMBuildFCmp(m->b, LLVMRealOLE, x, tsr_emit_number(m->e, t, high), ""));
}

/* Which of a loop's last lanes are not past its end, where nobody stores what is computed of them; NULL: all. */
static LLVMValueRef lanes_kept(const tsr_maths *m)
{
	LLVMValueRef mask = m->e->wide && LLVMGetTypeKind(m->f) == LLVMVectorTypeKind ? m->e->wide->mask : NULL;
	return mask && LLVMGetVectorSize(LLVMTypeOf(mask)) == LLVMGetVectorSize(m->f) ? mask : NULL;
}

static LLVMValueRef lanes_within(const tsr_maths *m, unsigned n, const tsr_math_bounds *bounds)
{
	LLVMValueRef all = NULL;
	for (unsigned i = 0; i < n; i++) {
		LLVMValueRef one = within(m, bounds[i].x, bounds[i].low, bounds[i].high);
		all = all ? AND(all, one) : one;
	}
	LLVMValueRef kept = lanes_kept(m);
	return kept ? LLVMBuildOr(m->b, all, LLVMBuildNot(m->b, kept, ""), "") : all;
}

/* Register by register, whose answers are joined before they are asked. */
static LLVMValueRef all_within(const tsr_maths *m, unsigned n, const tsr_math_bounds *bounds)
{
	if (lanes_kept(m)) {
		LLVMValueRef all = lanes_within(m, n, bounds);
		return tsr_math_intrinsic(m, "llvm.vector.reduce.and", LLVMTypeOf(all), 1, &all);
	}
	unsigned lanes = LLVMGetVectorSize(m->f), one = m->e->target->vector_bytes / (LLVMGetElementType(m->f) == m->e->f64 ? 8 : 4);
	LLVMValueRef at[64], all = NULL;
	one = one < lanes ? one : lanes;
	for (unsigned from = 0; from < lanes; from += one)
		for (unsigned i = 0; i < n; i++) {
			for (unsigned k = 0; k < one; k++)
				at[k] = LLVMConstInt(m->e->i32, from + k, false);
			LLVMValueRef part = LLVMBuildShuffleVector(m->b, bounds[i].x, LLVMGetPoison(LLVMTypeOf(bounds[i].x)), LLVMConstVector(at, one), "");
			LLVMValueRef here = within(m, part, bounds[i].low, bounds[i].high);
			all = all ? AND(all, here) : here;
		}
	return tsr_math_intrinsic(m, "llvm.vector.reduce.and", LLVMTypeOf(all), 1, &all);
}

typedef struct fork { LLVMBasicBlockRef often, seldom, join; } fork;

static fork fork_on(const tsr_maths *m, LLVMValueRef usual)
{
	tsr_emit *e = m->e;
	fork f = {tsr_emit_block(e, "usual"), tsr_emit_block(e, "rare"), tsr_emit_block(e, "either")};
	tsr_emit_seldom(e, usual, f.often, f.seldom);
	LLVMPositionBuilderAtEnd(m->b, f.seldom);
	return f;
}

static LLVMValueRef join_on(const tsr_maths *m, const fork *f, LLVMValueRef often, LLVMBasicBlockRef often_from, LLVMValueRef seldom, LLVMBasicBlockRef seldom_from)
{
	LLVMPositionBuilderAtEnd(m->b, f->join);
	LLVMValueRef phi = LLVMBuildPhi(m->b, m->f, ""), values[2] = {often, seldom};
	LLVMBasicBlockRef from[2] = {often_from, seldom_from};
	LLVMAddIncoming(phi, values, from, 2);
	return phi;
}

LLVMValueRef tsr_math_either_way(const tsr_maths *m, unsigned n, const tsr_math_bounds *bounds, const LLVMValueRef *args, tsr_math_way few, tsr_math_way all)
{
	if (LLVMGetTypeKind(m->f) != LLVMVectorTypeKind || !tsr_math_may_branch(m))
		return all(m, args);
	fork f = fork_on(m, all_within(m, n, bounds));
	LLVMValueRef seldom = all(m, args);
	LLVMBasicBlockRef seldom_from = LLVMGetInsertBlock(m->b);
	LLVMBuildBr(m->b, f.join);
	LLVMPositionBuilderAtEnd(m->b, f.often);
	LLVMValueRef often = few(m, args);
	LLVMBasicBlockRef often_from = LLVMGetInsertBlock(m->b);
	LLVMBuildBr(m->b, f.join);
	return join_on(m, &f, often, often_from, seldom, seldom_from);
}

/* The C library's function, lane by lane.  What it does not touch is not said: LLVM would call it for all iterations, wanted or not. */
static LLVMValueRef call_library(const tsr_maths *m, tsr_op op, LLVMValueRef *args)
{
	tsr_emit *e = m->e;
	const char *name = tsr_op_get(op)->name;
	unsigned n = tsr_op_get(op)->arity;
	LLVMTypeRef type = LLVMTypeOf(args[0]), types[2] = {e->f64, e->f64};
	LLVMTypeRef ftype = LLVMFunctionType(e->f64, types, n, false);
	LLVMValueRef f = LLVMGetNamedFunction(e->module, name);
	if (!f) {
		unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
		f = LLVMAddFunction(e->module, name, ftype);
		LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(e->context, nounwind, 0));
	}
	if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
		return LLVMBuildCall2(e->builder, ftype, f, args, n, "");
	LLVMValueRef result = LLVMGetPoison(type);
	for (unsigned i = 0; i < LLVMGetVectorSize(type); i++) {
		LLVMValueRef lane = LLVMConstInt(e->i32, i, false), one[2];
		for (unsigned k = 0; k < n; k++)
			one[k] = LLVMBuildExtractElement(e->builder, args[k], lane, "");
		result = LLVMBuildInsertElement(e->builder, result, LLVMBuildCall2(e->builder, ftype, f, one, n, ""), lane, "");
	}
	return result;
}

LLVMValueRef tsr_math_or_else(const tsr_maths *m, unsigned n, const tsr_math_bounds *bounds, LLVMValueRef fast, tsr_math_else other, const void *given)
{
	LLVMValueRef lanes = lanes_within(m, n, bounds);
	if (!tsr_math_may_branch(m))
		return IF(lanes, fast, other(m, given));
	bool vector = LLVMGetTypeKind(m->f) == LLVMVectorTypeKind;
	fork f = fork_on(m, vector ? all_within(m, n, bounds) : lanes);
	LLVMValueRef seldom = IF(lanes, fast, other(m, given));
	LLVMBuildBr(m->b, f.join);
	LLVMPositionBuilderAtEnd(m->b, f.often);
	LLVMBuildBr(m->b, f.join);
	return join_on(m, &f, fast, f.often, seldom, f.seldom);
}

typedef struct call { tsr_op op; LLVMValueRef *args; } call;

static LLVMValueRef called(const tsr_maths *m, const void *given)
{
	const call *c = given;
	return call_library(m, c->op, c->args);
}

LLVMValueRef tsr_math_or_library(const tsr_maths *m, unsigned n, const tsr_math_bounds *bounds, LLVMValueRef fast, tsr_op op, LLVMValueRef *args)
{
	return tsr_math_or_else(m, n, bounds, fast, called, &(call){op, args});
}

LLVMValueRef tsr_math_f64(const tsr_maths *m, tsr_op op, LLVMValueRef *args)
{
	if (op == TSR_OP_EXP)
		return tsr_math_exp_f64(m, args[0]);
	if (op == TSR_OP_EXP2)
		return tsr_math_exp2_f64(m, args[0]);
	if (op == TSR_OP_LOG)
		return tsr_math_log_f64(m, args[0]);
	if (op == TSR_OP_LOG2)
		return tsr_math_log2_f64(m, args[0]);
	if (op == TSR_OP_TANH)
		return tsr_math_tanh_f64(m, args[0]);
	if (op == TSR_OP_ERF)
		return tsr_math_erf_f64(m, args[0]);
	if (op == TSR_OP_SIN)
		return tsr_math_sine_f64(m, args[0], 0);
	if (op == TSR_OP_COS)
		return tsr_math_sine_f64(m, args[0], 1);
	return op == TSR_OP_POW ? tsr_math_pow_f64(m, args[0], args[1]) : NULL;
}
