/* Logarithms in f32; how to read them: math.c. */
#include "maths.h"
#include <math.h>

/* x = 2^k (1 + f) with 1 + f in [sqrt 1/2, sqrt 2); log(1 + f) = f + *y.  Subnormal numbers are scaled into the normal
 * range first. */
static LLVMValueRef split_log(const tsr_maths *m, LLVMValueRef x, LLVMValueRef *k, LLVMValueRef *y)
{
	LLVMValueRef small = LESS(x, N(0x1p-126));
	LLVMValueRef bits = BITS(IF(small, MUL(x, N(0x1p24)), x));
	LLVMValueRef above = LLVMBuildSub(m->b, bits, I(0x3f3504f3), "");       /* sqrt(1/2) */
	LLVMValueRef exponent = LLVMBuildAShr(m->b, above, I(23), "");
	LLVMValueRef mantissa = LLVMBuildSub(m->b, bits, LLVMBuildShl(m->b, exponent, I(23), ""), "");
	*k = SUB(LLVMBuildSIToFP(m->b, exponent, m->f, ""), IF(small, N(24), N(0)));
	LLVMValueRef f = SUB(FLOAT(mantissa), N(1)), z = MUL(f, f);
	LLVMValueRef p = POLY(f, 0.3333333286, -0.2499996594, 0.2000003561, -0.1666944055, 0.1428695767, -0.1242498583, 0.1101175318,
		-0.1079453012, 0.1074536240, -0.0615276299);
	*y = tsr_math_mad(m, z, N(-0.5), MUL(MUL(f, z), p));
	return f;
}

/* The ends of the domain: 0 gives -inf, inf gives inf, below 0 and NaN give NaN. */
static LLVMValueRef log_ends(const tsr_maths *m, LLVMValueRef x, LLVMValueRef r)
{
	r = IF(SAME(x, N(0)), N(-INFINITY), r);
	r = IF(LLVMBuildFCmp(m->b, LLVMRealUGE, x, N(0), ""), r, N(NAN));
	return IF(LLVMBuildFCmp(m->b, LLVMRealULT, x, N(INFINITY), ""), IF(LLVMBuildFCmp(m->b, LLVMRealUNO, x, x, ""), x, r), x);
}

/* By AVX-512's instructions for exponents and fractions and tables of 16 entries: x = 2^k m with m in [3/4, 3/2), and m = (1 + r) / c, c being the entry for the
 * four highest bits of m's fraction, so that r is in -0.032 .. 0.063; gives log(1 + r), and -log c in *of_c, which f32 holds but for 10^-12 of it by the choice of
 * c.  Around 1 c is 1 and r is exact.  k is infinite where x is, and minus infinity where it is 0; what is less gives NaN. */
static LLVMValueRef parts_by_table(const tsr_maths *m, LLVMValueRef x, LLVMValueRef *k, LLVMValueRef *of_c)
{
	enum { BITS_BELOW = 19, FROM_THREE_QUARTERS_NAN_BELOW_0 = 3 | 2 << 2 };
	static const double c[TSR_MATH_REGISTER] = {1, 0.9134257436, 0.8663313985, 0.8184323311, 0.7811353207, 0.7446572185, 0.7124681473, 0.6825687289,
		1.309998274, 1.255162835, 1.206585526, 1.160929322, 1.120702267, 1.080421805, 1.047510982, 1};
	static const double minus_log_c[TSR_MATH_REGISTER] = {0, 0.09055319428, 0.1434877664, 0.2003645599, 0.2470068783, 0.2948312759, 0.3390200734, 0.3818920553,
		-0.2700258195, -0.2272653133, -0.1877944916, -0.1492208242, -0.1139555126, -0.07735152543, -0.04641685635, 0};
	static const char exponent[] = "llvm.x86.avx512.mask.getexp.ps.512", fraction[] = "llvm.x86.avx512.mask.getmant.ps.512";
	LLVMValueRef of_x = tsr_math_by_machine_alone(m, fraction, x, FROM_THREE_QUARTERS_NAN_BELOW_0);
	*k = SUB(tsr_math_by_machine_alone(m, exponent, x, -1), tsr_math_by_machine_alone(m, exponent, of_x, -1));
	LLVMValueRef at = LLVMBuildLShr(m->b, BITS(of_x), I(BITS_BELOW), "");
	LLVMValueRef r = tsr_math_mad(m, of_x, tsr_math_looked_up(m, c, at), N(-1));
	*of_c = tsr_math_looked_up(m, minus_log_c, at);
	return tsr_math_mad(m, MUL(r, r), POLY(r, -0.4999999961, 0.3333447232, -0.250095833, 0.1889001565), r);
}

LLVMValueRef tsr_math_log(const tsr_maths *m, LLVMValueRef x)
{
	LLVMValueRef k, y;
	if (tsr_math_in_registers(m->e, m->f)) {
		LLVMValueRef of_c, of_r = parts_by_table(m, x, &k, &of_c);
		return tsr_math_mad(m, k, N(0.69313812255859375), ADD(of_c, tsr_math_mad(m, k, N(9.0580013515593954e-6), of_r)));
	}
	LLVMValueRef f = split_log(m, x, &k, &y);
	y = tsr_math_mad(m, k, N(-2.12194440054690583e-4), y);
	return log_ends(m, x, tsr_math_mad(m, k, N(0.693359375), ADD(f, y)));
}

LLVMValueRef tsr_math_log2(const tsr_maths *m, LLVMValueRef x)
{
	LLVMValueRef k, y;
	if (tsr_math_in_registers(m->e, m->f)) {     /* what log2 e and the sum of both parts lack is added last */
		LLVMValueRef of_c, of_r = parts_by_table(m, x, &k, &of_c), sum = ADD(of_c, of_r), lost = SUB(of_r, SUB(sum, of_c));
		LLVMValueRef rest = tsr_math_mad(m, lost, N(1.44269504), MUL(sum, N(1.9259629911e-8)));
		return ADD(tsr_math_mad(m, sum, N(1.44269502162933349609), k), rest);
	}
	/* log2 e = 1 + c: the sum f + y keeps its bits beside the products with c */
	LLVMValueRef f = split_log(m, x, &k, &y), c = N(0.44269504088896341);
	LLVMValueRef r = tsr_math_mad(m, y, c, tsr_math_mad(m, f, c, y));
	return log_ends(m, x, ADD(ADD(r, f), k));
}
