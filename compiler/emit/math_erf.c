/* The error function in f32; how to read it: math.c. */
#include "maths.h"

enum { CENTRE, VALUE, SLOPE, ERF_DEGREE = 5 };

/* By AVX-512's tables of 16 entries: eight intervals of |x| up to 1.31 and eight twice as wide, which four bits of 1 + 0.76 |x| name; from
 * the last one's end on erf is 1.  In each a polynomial of the distance from a centre at which erf is nearly an f32, so that rounding the
 * value there costs nothing; in the first one |x| itself stands in the place of that value. */
static LLVMValueRef emit_erf_looked_up(const tsr_maths *m, LLVMValueRef x)
{
	static const double table[SLOPE + ERF_DEGREE][TSR_MATH_REGISTER] = {
		{1.476612449, 1.805479884, 2.132255316, 2.461235046, 2.789640188, 3.117835045, 3.449095488, 3.744049072,
		 0, 0.2459812909, 0.4101757407, 0.5743811131, 0.7386344075, 0.9025458097, 1.066211104, 1.230713129},
		{0.9632242918, 0.9893302917, 0.9974341393, 0.999499917, 0.999920249, 0.9999896288, 0.9999989271, 0.9999998808,
		 0, 0.272062242, 0.4381366968, 0.5833790898, 0.7037860155, 0.7981832027, 0.8684071302, 0.9182271957},
		{0.1275046915, 0.04332715273, 0.01196546108, 0.00264021405, 0.0004706922045, 6.772185588e-05, 7.691034625e-06, 9.216308854e-07,
		 0.1283791661, 1.062129021, 0.9536467791, 0.8112885952, 0.6539015174, 0.4996703565, 0.3620315492, 0.248112604},
		{-0.188281253, -0.07822843641, -0.02551284432, -0.006497265305, -0.001312596607, -0.0002110056957, -2.651400973e-05, -3.402206403e-06,
		 6.956129823e-07, -0.2612634897, -0.3911620975, -0.4659881592, -0.4829937518, -0.4509754181, -0.3860020638, -0.3053557575},
		{0.142839998, 0.07971968502, 0.03228062019, 0.009781983681, 0.002284558024, 0.0004160757817, 5.834276453e-05, 8.249564416e-06,
		 -0.3761614859, -0.3111826777, -0.210908711, -0.09198978543, 0.01986304671, 0.1047900692, 0.1537008584, 0.1678340137},
		{-0.04195077717, -0.04563451558, -0.02597939782, -0.009982028045, -0.002805154072, -0.000595895166, -9.512003453e-05, -1.713943675e-05,
		 0.000550784287, 0.1250562072, 0.173218593, 0.1813509315, 0.1534218639, 0.1029966027, 0.04679844156, -0.00131166901},
		{-0.01780967042, 0.008917328902, 0.01231007464, 0.006806382909, 0.002416054485, 0.0006114233984, 0.0001149281379, 2.475236761e-05,
		 0.1099134088, 0.07937032729, 0.03388756886, -0.01430802792, -0.05053742975, -0.06812887639, -0.06638186425, -0.04971720651},
	};
	enum { BITS_BELOW = 20 };
	LLVMValueRef a = tsr_math_magnitude(m, x);
	a = IF(LESS(N(3.9375), a), N(3.9375), a);
	LLVMValueRef u = tsr_math_mad(m, a, N(0.7618), N(1)), at = LLVMBuildLShr(m->b, BITS(u), I(BITS_BELOW), "");
	LLVMValueRef t = SUB(a, tsr_math_looked_up(m, table[CENTRE], at)), p = tsr_math_looked_up(m, table[SLOPE + ERF_DEGREE - 1], at);
	for (unsigned k = ERF_DEGREE - 1; k-- > 0;)
		p = tsr_math_mad(m, p, t, tsr_math_looked_up(m, table[SLOPE + k], at));
	LLVMValueRef later = LLVMBuildFCmp(m->b, LLVMRealUGE, u, N(1.125), ""), value = IF(later, tsr_math_looked_up(m, table[VALUE], at), a);
	return tsr_math_with_sign_of(m, tsr_math_mad(m, p, t, value), x);
}

/* Near 0 x + x p(x^2); elsewhere 1 - 2^q(x), q fitted to the logarithm of erfc.  That is -2 at the point from which q counts, so that what it leaves
 * beside its whole part is rounded as the small number that it is. */
static LLVMValueRef emit_erf_short(const tsr_maths *m, LLVMValueRef x)
{
	LLVMValueRef sign = LLVMBuildAnd(m->b, BITS(x), I(INT32_MIN), ""), a = FLOAT(LLVMBuildXor(m->b, BITS(x), sign, "")), z = MUL(a, a);
	LLVMValueRef p = POLY(z, 0.12837916017, -0.37612571672, 0.11282716146, -0.02680250858, 0.00505104112, -0.00063148611);
	LLVMValueRef near = tsr_math_mad(m, p, a, a);
	LLVMValueRef t = SUB(IF(LESS(N(4), a), N(4), a), N(0.8134198188781738)), of_whole = N(12582912.0 + 127 - 2);
	LLVMValueRef q = POLY(t, -3.359985568, -1.179601889, -0.07167106711, 0.01707760729, -0.003041201413, 0.0002880516918);
	LLVMValueRef big = tsr_math_mad(m, t, q, of_whole), r = tsr_math_mad(m, t, q, SUB(of_whole, big));
	LLVMValueRef e = POLY(r, 1, 0.6931469776, 0.2402224209, 0.05550733743, 0.009671512643, 0.001326472715);
	LLVMValueRef far = tsr_math_mad(m, LLVMBuildFNeg(m->b, e, ""), FLOAT(LLVMBuildShl(m->b, BITS(big), I(23), "")), N(1));
	return FLOAT(LLVMBuildOr(m->b, BITS(IF(LESS(a, N(0.85)), near, far)), sign, ""));
}

/* One polynomial for all of it: h = 1 - erfc^1/8 is smooth, and what it lacks matters the less the nearer it is to 1.  h / |x| is fitted from 0 to 4;
 * 1 - (1 - h)^2 = h (2 - h), three times, is erf. */
LLVMValueRef tsr_math_erf_beside(const tsr_maths *m, LLVMValueRef x)
{
	enum { SQUARES = 3 };
	LLVMValueRef sign = LLVMBuildAnd(m->b, BITS(x), I(INT32_MIN), ""), a = FLOAT(LLVMBuildXor(m->b, BITS(x), sign, ""));
	LLVMValueRef t = IF(LESS(N(4), a), N(4), a);
	LLVMValueRef h = MUL(t, POLY(t, 0.1410473585, 0.06963095069, 0.002086114138, -0.006582700647, -0.0001939899666, 0.000517346838, -9.022829181e-05, 4.960156275e-06));
	for (int i = 0; i < SQUARES; i++)
		h = tsr_math_mad(m, LLVMBuildFNeg(m->b, h, ""), h, ADD(h, h));
	return FLOAT(LLVMBuildOr(m->b, BITS(h), sign, ""));
}

/* Near 0 x + x p(x^2); elsewhere 1 - e^q(x), q fitted to the logarithm of erfc. */
LLVMValueRef tsr_math_erf(const tsr_maths *m, LLVMValueRef x)
{
	if (tsr_math_in_registers(m->e, m->f))
		return emit_erf_looked_up(m, x);
	if (tsr_math_short(m->e))
		return emit_erf_short(m, x);
	LLVMValueRef a = tsr_math_magnitude(m, x), z = MUL(a, a);
	LLVMValueRef p = POLY(z, 0.1283791666, -0.3761263370, 0.1128369394, -0.0268592708, 0.0052006343, -0.00081374375, 8.3452248e-5);
	LLVMValueRef near = tsr_math_mad(m, p, a, a);
	LLVMValueRef t = IF(LESS(N(4), a), N(4), a);
	LLVMValueRef q = POLY(t, 0.00017468444823, -1.12951493054, -0.63334690615, -0.10828008965, 0.02511942755, -0.00417106309,
		0.00043446263, -2.10950515e-5);
	LLVMValueRef far = SUB(N(1), tsr_math_exp_near(m, q));
	return tsr_math_with_sign_of(m, IF(LESS(a, N(0.9275)), near, far), x);
}
