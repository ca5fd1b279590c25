/* The elementary functions in f32, as straight-line code over scalars or vectors: no calls, no branches, so that loops
 * around them vectorise and they fuse with their neighbours.  Those in f64 are in math_f64.c and math_f64_*.c.
 *
 * How to read a function: reduce the argument to a small interval, a polynomial there, rebuild.  Polynomials are minimax
 * in the relative error of the result, their coefficients rounded to f32.  Comparisons are chosen so that NaN passes
 * through; each function states its largest error in units of the last place, which tests/unit/math.c measures.
 *
 * Here are powers and the way in; exponentials and tanh are in math_exp.c, logarithms in math_log.c, erf in math_erf.c, erf and tanh as a part of a sum in
 * math_sums.c, sine and cosine in math_sine.c, and what all are written with in math_kit.c. */
#include "maths.h"
#include <math.h>
#include <string.h>

static tsr_maths maths_for(tsr_emit *e, LLVMValueRef x)
{
	return (tsr_maths){e, e->builder, tsr_emit_type_like(e->f32, x), tsr_emit_type_like(e->i32, x), tsr_emit_type_like(e->f64, x),
		tsr_emit_type_like(e->i64, x)};
}

/* ---- powers ------------------------------------------------------------------------------------------------------------- */

/* log2 of a positive x, in f64: twice the area tangent of (m - 1) / (m + 1). */
static LLVMValueRef log2_wide(const tsr_maths *m, LLVMValueRef x)
{
	LLVMValueRef small = LESS(x, N(0x1p-126)), bits = BITS(IF(small, MUL(x, N(0x1p24)), x));
	LLVMValueRef exponent = LLVMBuildAShr(m->b, LLVMBuildSub(m->b, bits, I(0x3f3504f3), ""), I(23), "");
	LLVMValueRef mantissa = LLVMBuildSub(m->b, bits, LLVMBuildShl(m->b, exponent, I(23), ""), "");
	LLVMValueRef k = SUB(LLVMBuildSIToFP(m->b, exponent, m->d, ""), IF(small, D(24), D(0)));
	LLVMValueRef w = LLVMBuildFPExt(m->b, FLOAT(mantissa), m->d, "");
	LLVMValueRef s = DIV(SUB(w, D(1)), ADD(w, D(1)));
	LLVMValueRef p = POLY(MUL(s, s), 0x1.71547652b82ffp+1, 0x1.ec709dc39cf0ap-1, 0x1.2776c5162045dp-1, 0x1.a617570e6087dp-2,
		0x1.484f86f473701p-2, 0x1.0bbbf4d0eb499p-2, 0x1.f128a87524839p-3);
	LLVMValueRef r = tsr_math_mad(m, s, p, k);
	r = IF(SAME(x, N(0)), D(-INFINITY), r);
	return IF(SAME(x, N(INFINITY)), D(INFINITY), r);
}

static LLVMValueRef exp2_wide(const tsr_maths *m, LLVMValueRef t)
{
	t = tsr_math_clamp(m, t, -200, 200);
	LLVMValueRef big = ADD(t, D(6755399441055744.0)), n = SUB(big, D(6755399441055744.0)), r = SUB(t, n);
	LLVMValueRef p = POLY(r, 0x1.62e42fef84f67p-1, 0x1.ebfbdff80e260p-3, 0x1.c6b08dd7064c8p-5, 0x1.3b2ab737c606ep-7,
		0x1.5d874566b2fa0p-10, 0x1.430877010ece0p-13, 0x1.00dc889d13c00p-16, 0x1.640836cff3c00p-20);
	p = tsr_math_mad(m, p, r, D(1));
	LLVMValueRef shift = LLVMBuildShl(m->b, LLVMBuildBitCast(m->b, big, m->l, ""), tsr_emit_number(m->e, m->l, 52), "");
	LLVMValueRef scaled = LLVMBuildAdd(m->b, LLVMBuildBitCast(m->b, p, m->l, ""), shift, "");
	return LLVMBuildFPTrunc(m->b, LLVMBuildBitCast(m->b, scaled, m->d, ""), m->f, "");
}

static LLVMValueRef is_whole(const tsr_maths *m, LLVMValueRef x)
{
	return SAME(tsr_math_intrinsic(m, "llvm.trunc", m->f, 1, &x), x);
}

/* 2^(y log2 |x|) in f64, rounded once; then the cases of C's pow. */
static LLVMValueRef emit_pow(const tsr_maths *m, LLVMValueRef x, LLVMValueRef y)
{
	LLVMValueRef a = tsr_math_magnitude(m, x), one = N(1), inf = N(INFINITY);
	LLVMValueRef t = MUL(log2_wide(m, a), LLVMBuildFPExt(m->b, y, m->d, ""));
	LLVMValueRef r = exp2_wide(m, t);
	LLVMValueRef whole = is_whole(m, y), odd = LLVMBuildAnd(m->b, whole, LLVMBuildNot(m->b, is_whole(m, MUL(y, N(0.5))), ""), "");
	odd = LLVMBuildAnd(m->b, odd, LESS(tsr_math_magnitude(m, y), inf), "");
	r = IF(odd, tsr_math_with_sign_of(m, r, x), r);
	LLVMValueRef wrong = LLVMBuildAnd(m->b, LESS(x, N(0)), LLVMBuildNot(m->b, whole, ""), "");
	r = IF(LLVMBuildAnd(m->b, wrong, LESS(a, inf), ""), N(NAN), r);
	r = IF(LLVMBuildAnd(m->b, SAME(a, one), SAME(tsr_math_magnitude(m, y), inf), ""), one, r);
	r = IF(LLVMBuildFCmp(m->b, LLVMRealUNO, x, y, ""), ADD(x, y), r);
	return IF(LLVMBuildOr(m->b, SAME(y, N(0)), SAME(x, one), ""), one, r);
}

/* The number that all lanes of a constant are. */
bool tsr_math_constant(LLVMValueRef y, double *out)
{
	LLVMBool lost;
	if (LLVMIsAConstantDataVector(y)) {
		LLVMValueRef first = LLVMGetAggregateElement(y, 0);
		for (unsigned i = 1; i < LLVMGetVectorSize(LLVMTypeOf(y)); i++)
			if (LLVMGetAggregateElement(y, i) != first)
				return false;
		y = first;
	}
	if (!LLVMIsAConstantFP(y))
		return false;
	*out = LLVMConstRealGetDouble(y, &lost);
	return true;
}

/* x^3 in f32, what each of two products rounds away added to it: 0.5000001 units in the last place at most, of results below 2^-100, where that is no normal number, 1.  Where the sum is no number or 0 the
 * product is as it should be, sign and all. */
static LLVMValueRef cube(const tsr_maths *m, LLVMValueRef x)
{
	LLVMValueRef h = MUL(x, x), l = tsr_math_mad(m, x, x, NEG(h)), r = MUL(h, x), rest = tsr_math_mad(m, l, x, tsr_math_mad(m, h, x, NEG(r))), sum = ADD(r, rest);
	return IF(LLVMBuildFCmp(m->b, LLVMRealONE, sum, N(0), ""), sum, r);
}

/* x^n, n whole and not 0, and x^0.5, x^-0.5, in f64, rounded once; NULL for other exponents. */
static LLVMValueRef emit_power(const tsr_maths *m, LLVMValueRef x, LLVMValueRef y)
{
	enum { MOST = 16 };
	double n;
	if (!tsr_math_constant(y, &n) || n == 0 || fabs(n) > MOST || (n != trunc(n) && fabs(n) != 0.5))
		return NULL;
	if (n == 3 && m->e->target->fma)
		return cube(m, x);
	LLVMValueRef product = NULL, one = LLVMConstReal(LLVMDoubleTypeInContext(m->e->context), 1);
	if (fabs(n) == 0.5) {            /* of -0 it is that of 0, of minus infinity that of infinity */
		x = IF(SAME(x, N(-INFINITY)), N(INFINITY), ADD(x, N(0)));
		LLVMValueRef wide = LLVMBuildFPExt(m->b, x, m->d, "");
		product = tsr_math_intrinsic(m, "llvm.sqrt", m->d, 1, &wide);
	} else {
		LLVMValueRef square = LLVMBuildFPExt(m->b, x, m->d, "");
		for (int k = (int)fabs(n); k; k /= 2, square = k ? MUL(square, square) : square)
			if (k % 2)
				product = product ? MUL(product, square) : square;
	}
	if (n < 0)
		product = LLVMBuildFDiv(m->b, tsr_emit_splat(m->e, one, m->d), product, "");
	return LLVMBuildFPTrunc(m->b, product, m->f, "");
}

/* ---- entry ---------------------------------------------------------------------------------------------------------------- */

LLVMValueRef tsr_emit_exp_beside(tsr_emit *e, LLVMValueRef x)
{
	tsr_maths m = maths_for(e, x);
	return tsr_math_exp_beside(&m, x);
}

bool tsr_emit_has_halves(const tsr_emit *e) { return tsr_math_by_eighths(e); }
bool tsr_emit_hopes(const tsr_emit *e) { return tsr_math_by_eighths(e) || e->target->hopes; }
bool tsr_emit_asks_two(const tsr_emit *e) { return !tsr_math_short(e); }

tsr_emit_half tsr_emit_exp_start(tsr_emit *e, LLVMValueRef x, bool beside)
{
	tsr_maths m = maths_for(e, x);
	return beside ? tsr_math_exp_beside_start(&m, x) : tsr_math_exp_start(&m, x, false);
}

LLVMValueRef tsr_emit_exp_beside_rest(tsr_emit *e, const tsr_emit_half *half)
{
	tsr_maths m = maths_for(e, half->sum);
	return tsr_math_exp_beside_finish(&m, half);
}

static LLVMValueRef worse(const tsr_maths *m, LLVMValueRef worst, LLVMValueRef sum)
{
	if (!tsr_math_short(m->e))
		return LLVMBuildOr(m->b, worst, tsr_math_over_registers(m, NULL, BITS(sum)), "");
	LLVMValueRef both[2] = {worst, tsr_math_over_registers(m, "llvm.umax", BITS(sum))};
	return tsr_math_intrinsic(m, "llvm.umax", LLVMTypeOf(worst), 2, both);
}

LLVMValueRef tsr_emit_exp_hoped(tsr_emit *e, const tsr_emit_half *half, LLVMValueRef *worst)
{
	tsr_maths m = maths_for(e, half->sum);
	*worst = worse(&m, *worst, half->sum);
	return tsr_math_exp_finish(&m, half);
}

LLVMValueRef tsr_emit_exp_added(tsr_emit *e, LLVMValueRef x, LLVMValueRef acc)
{
	tsr_maths m = maths_for(e, x);
	return tsr_math_exp_added(&m, x, acc);
}

LLVMValueRef tsr_emit_exp_hoped_at_once(tsr_emit *e, LLVMValueRef x, LLVMValueRef acc, LLVMValueRef *worst)
{
	tsr_maths m = maths_for(e, x);
	LLVMValueRef sum, value = tsr_math_exp_at_once(&m, x, acc, &sum);
	*worst = worse(&m, *worst, sum);
	return value;
}

LLVMValueRef tsr_emit_exp_failed(tsr_emit *e, LLVMValueRef worst)
{
	tsr_maths m = maths_for(e, worst);
	return tsr_math_exp_failed(&m, worst);
}

LLVMValueRef tsr_emit_exp_rest(tsr_emit *e, const tsr_emit_half *half, const tsr_emit_again *again)
{
	tsr_maths m = maths_for(e, half->sum);
	return tsr_math_exp_rest(&m, half, again);
}

bool tsr_emit_has_beside(const tsr_emit *e) { return tsr_math_short(e) && e->target->fma; }

LLVMValueRef tsr_emit_beside(tsr_emit *e, tsr_op op, LLVMValueRef x)
{
	tsr_maths m = maths_for(e, x);
	return op == TSR_OP_ERF ? tsr_math_erf_beside(&m, x) : tsr_math_tanh_beside(&m, x);
}

bool tsr_emit_has_sums(const tsr_emit *e) { return !tsr_math_short(e); }

bool tsr_emit_sums_at_once(const tsr_emit *e, const tsr_emit_sum *sum, LLVMValueRef x)
{
	return tsr_math_in_registers(e, LLVMTypeOf(x)) && fabs(sum->constant) > 0x1p-60 && fabs(sum->constant) < 0x1p60;
}

LLVMValueRef tsr_emit_sum_at_once(tsr_emit *e, const tsr_emit_sum *sum, LLVMValueRef x)
{
	tsr_maths m = maths_for(e, x);
	return sum->op == TSR_OP_ERF ? tsr_math_erf_sum(&m, sum, x) : tsr_math_tanh_sum(&m, sum, x);
}

LLVMValueRef tsr_emit_math(tsr_emit *e, tsr_op op, LLVMValueRef *args)
{
	tsr_maths here = maths_for(e, args[0]), *m = &here;
	if (LLVMTypeOf(args[0]) != m->f) {
		here.f = here.d, here.i = here.l;
		return tsr_math_f64(m, op, args);
	}
	if (op == TSR_OP_EXP)
		return tsr_math_exp(m, args[0]);
	if (op == TSR_OP_EXP2)
		return tsr_math_exp2(m, args[0]);
	if (op == TSR_OP_LOG)
		return tsr_math_log(m, args[0]);
	if (op == TSR_OP_LOG2)
		return tsr_math_log2(m, args[0]);
	if (op == TSR_OP_TANH)
		return tsr_math_tanh(m, args[0]);
	if (op == TSR_OP_ERF)
		return tsr_math_erf(m, args[0]);
	if (op == TSR_OP_SIN)
		return tsr_math_sine(m, args[0], 0);
	if (op == TSR_OP_COS)
		return tsr_math_sine(m, args[0], 1);
	if (op != TSR_OP_POW)
		return NULL;
	LLVMValueRef power = emit_power(m, args[0], args[1]);
	return power ? power : emit_pow(m, args[0], args[1]);
}
