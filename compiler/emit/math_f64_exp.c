/* Exponentials and hyperbolic tangent in f64; how to read them: math.c. */
#include "maths.h"

static const double LN2_SHORT = 0x1.62e42fefa3800p-1, LN2_REST = 0x1.ef35793c76730p-45;

LLVMValueRef tsr_math_exp_rest_f64(const tsr_maths *m, LLVMValueRef x, LLVMValueRef z)
{
	return POLY_APART(x, z, 0x1.000000000000ap-1, 0x1.55555555554f9p-3, 0x1.555555555083dp-5, 0x1.1111111127cfdp-7, 0x1.6c16c184390c7p-10,
		0x1.a01a012a1503ap-13, 0x1.a01999e17c93dp-16, 0x1.71df25a6033d2p-19, 0x1.28ad9c4c48ad5p-22, 0x1.ad7f53d8d7fc8p-26);
}

LLVMValueRef tsr_math_exp2_rest_f64(const tsr_maths *m, LLVMValueRef x, LLVMValueRef z)
{
	return POLY_APART(x, z, 0x1.ebfbdff82c59cp-3, 0x1.c6b08d704a0d4p-5, 0x1.3b2ab6fba110cp-7, 0x1.5d87fe78b3b82p-10, 0x1.4309130c28f67p-13,
		0x1.ffcbfbf91a965p-17, 0x1.62bfcd8624e18p-20, 0x1.b5260c7724ba0p-24, 0x1.e61229bd75aa5p-28, 0x1.e81133148a321p-32);
}

/* ---- 2^n times a number in [0.7, 1.42) ----------------------------------------------------------------------------------- */

/* As in f32 (math_exp.c): 2^n as two factors, of which the larger half is normal, and only the last product can leave the normal range; what
 * is rounded to 0 has a first factor of 0. */
enum { ABOVE = 1077, TWOS = 2 * 1023 - ABOVE, EXPONENT = 52 };

/* What is more than 1, and the sum in whose low bits n stands. */
typedef struct number { LLVMValueRef more, big; } number;

static LLVMValueRef times_power(const tsr_maths *m, number x)
{
	return FLOAT(LLVMBuildAdd(m->b, BITS(ADD(N(1), x.more)), SHL(BITS(x.big), EXPONENT), ""));
}

static LLVMValueRef times_any_power(const tsr_maths *m, number x)
{
	LLVMValueRef p = MUL(ADD(N(1), x.more), N(0x1p969)), both = SHL(BITS(x.big), EXPONENT);
	_Static_assert(TWOS == 969, "what p is scaled by");
	LLVMValueRef one = AND(LSHR(both, 1), W(0xfff0000000000000));
	return MUL(MUL(p, FLOAT(one)), FLOAT(LLVMBuildSub(m->b, both, one, "")));
}

/* e^x = 2^n e^r; ln 2 in two parts, the first short enough for exact products.  What the second one takes away joins the small part, which r^2 is in;
 * `less` is what the sum of both loses. */
static number split_exp(const tsr_maths *m, LLVMValueRef x, int above, LLVMValueRef *less)
{
	LLVMValueRef of_whole = N(TSR_MATH_WHOLE + above), big = tsr_math_mad(m, x, N(0x1.71547652b82fep+0), of_whole), n = SUB(big, of_whole);
	LLVMValueRef most = tsr_math_mad(m, n, N(-LN2_SHORT), x), r = tsr_math_mad(m, n, N(-LN2_REST), most), z = MUL(r, r);
	LLVMValueRef rest = tsr_math_mad(m, n, N(-LN2_REST), MUL(z, tsr_math_exp_rest_f64(m, r, z))), sum = ADD(most, rest);
	if (less)
		*less = SUB(rest, SUB(sum, most));
	return (number){sum, big};
}

static LLVMValueRef exp_of_moderate(const tsr_maths *m, const LLVMValueRef *x)
{
	return times_power(m, split_exp(m, x[0], 0, NULL));
}

static LLVMValueRef exp_of_any(const tsr_maths *m, const LLVMValueRef *x)
{
	return times_any_power(m, split_exp(m, tsr_math_clamp(m, x[0], -746, 710), ABOVE, NULL));
}

LLVMValueRef tsr_math_exp_f64(const tsr_maths *m, LLVMValueRef x)
{
	tsr_math_bounds moderate = {x, -708, 709};
	return tsr_math_either_way(m, 1, &moderate, &x, exp_of_moderate, exp_of_any);
}

/* 2^x = 2^n 2^r. */
static number split_exp2(const tsr_maths *m, LLVMValueRef x, int above)
{
	LLVMValueRef of_whole = N(TSR_MATH_WHOLE + above), big = ADD(x, of_whole), r = SUB(x, SUB(big, of_whole)), z = MUL(r, r);
	return (number){tsr_math_mad(m, r, N(0x1.62e42fefa39efp-1), MUL(z, tsr_math_exp2_rest_f64(m, r, z))), big};
}

static LLVMValueRef exp2_of_moderate(const tsr_maths *m, const LLVMValueRef *x)
{
	return times_power(m, split_exp2(m, x[0], 0));
}

static LLVMValueRef exp2_of_any(const tsr_maths *m, const LLVMValueRef *x)
{
	return times_any_power(m, split_exp2(m, tsr_math_clamp(m, x[0], -1076, 1025), ABOVE));
}

LLVMValueRef tsr_math_exp2_f64(const tsr_maths *m, LLVMValueRef x)
{
	tsr_math_bounds moderate = {x, -1021, 1023};
	return tsr_math_either_way(m, 1, &moderate, &x, exp2_of_moderate, exp2_of_any);
}

/* With u = e^(-2|x|) - 1, tanh |x| = -u / (2 + u).  u and 2 + u are kept in two parts each, and what the rounded quotient leaves is divided, too:
 * the result is nearly correctly rounded, and from 19.07 on it is 1. */
LLVMValueRef tsr_math_tanh_f64(const tsr_maths *m, LLVMValueRef x)
{
	LLVMValueRef a = tsr_math_magnitude(m, x), y = MUL(IF(LESS(N(20), a), N(20), a), N(-2)), less;
	number e = split_exp(m, y, 1023, &less);
	LLVMValueRef power = FLOAT(SHL(BITS(e.big), EXPONENT)), most = SUB(power, N(1)), more = MUL(power, e.more);
	LLVMValueRef u = ADD(most, more), low = tsr_math_mad(m, power, less, ADD(SUB(more, SUB(u, most)), SUB(power, ADD(most, N(1)))));
	LLVMValueRef under = ADD(u, N(2)), under_low = ADD(SUB(u, SUB(under, N(2))), low), inverse = DIV(N(-1), under);
	LLVMValueRef q = MUL(u, inverse);      /* positive */
	LLVMValueRef left = tsr_math_rest(m, NEG(u), q, under);
	left = SUB(left, tsr_math_mad(m, q, under_low, low));
	return tsr_math_with_sign_of(m, tsr_math_mad(m, NEG(left), inverse, q), x);
}
