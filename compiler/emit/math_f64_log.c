/* Logarithms in f64; how to read them: math.c. */
#include "maths.h"
#include <math.h>

static const double LEAST = 0x1p-1022, MOST = 0x1.fffffffffffffp1023;

/* Exponents count from the bits of sqrt 1/2; 2^52 with an exponent in its low bits is that exponent as a number. */
LLVMValueRef tsr_math_parts_f64(const tsr_maths *m, LLVMValueRef x, LLVMValueRef *k)
{
	static const uint64_t root = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000, low = 0x000fffffffffffff;
	LLVMValueRef above = LLVMBuildAdd(m->b, BITS(x), W(one - root), "");
	*k = SUB(FLOAT(LLVMBuildOr(m->b, LSHR(above, 52), W(0x4330000000000000), "")), N(0x1p52 + 1023));
	return SUB(FLOAT(LLVMBuildAdd(m->b, AND(above, W(low)), W(root), "")), N(1));
}

LLVMValueRef tsr_math_artanh_rest_f64(const tsr_maths *m, LLVMValueRef z)
{
	LLVMValueRef p = POLY_APART(z, MUL(z, z), 0x1.5555555555592p-1, 0x1.999999997ff19p-2, 0x1.24924941e1533p-2, 0x1.c71c521454c01p-3, 0x1.74663cec7513fp-3,
		0x1.39a1e8e39468fp-3, 0x1.2f03b92b2c2a8p-3);
	return MUL(z, p);
}

/* log(1 + f) = f - (f^2/2 - rest): the rest is s (f^2/2 + z p(z)) for s = f / (2 + f). */
static LLVMValueRef rest_of_log(const tsr_maths *m, LLVMValueRef f, LLVMValueRef half)
{
	LLVMValueRef s = DIV(f, ADD(f, N(2)));
	return MUL(s, ADD(half, tsr_math_artanh_rest_f64(m, MUL(s, s))));
}

static LLVMValueRef log_of_parts(const tsr_maths *m, LLVMValueRef k, LLVMValueRef f)
{
	LLVMValueRef half = MUL(MUL(f, N(0.5)), f), rest = rest_of_log(m, f, half);
	LLVMValueRef low = tsr_math_mad(m, k, N(0x1.ef35793c76730p-45), rest);
	return tsr_math_mad(m, k, N(0x1.62e42fefa3800p-1), SUB(f, SUB(half, low)));
}

/* log2 e in two parts, of which the first is short, and so is the greater part of the logarithm: their product is exact. */
static LLVMValueRef log2_of_parts(const tsr_maths *m, LLVMValueRef k, LLVMValueRef f)
{
	LLVMValueRef half = MUL(MUL(f, N(0.5)), f), rest = rest_of_log(m, f, half);
	LLVMValueRef high = FLOAT(AND(BITS(SUB(f, half)), W(0xffffffff00000000))), low = ADD(SUB(SUB(f, high), half), rest);
	LLVMValueRef most = MUL(high, N(0x1.71547p+0)), sum = ADD(k, most);
	LLVMValueRef more = tsr_math_mad(m, ADD(low, high), N(0x1.94ae0bf85ddf4p-22), MUL(low, N(0x1.71547p+0)));
	return ADD(ADD(ADD(SUB(k, sum), most), more), sum);
}

typedef LLVMValueRef (*of_parts)(const tsr_maths *m, LLVMValueRef k, LLVMValueRef f);

static LLVMValueRef of_normal(const tsr_maths *m, LLVMValueRef x, of_parts log)
{
	LLVMValueRef k, f = tsr_math_parts_f64(m, x, &k);
	return log(m, k, f);
}

/* Subnormal numbers are scaled into the normal range first.  0 gives -inf, inf gives inf, below 0 and NaN give NaN. */
static LLVMValueRef of_any(const tsr_maths *m, LLVMValueRef x, of_parts log)
{
	LLVMValueRef small = LESS(x, N(LEAST)), k, f = tsr_math_parts_f64(m, IF(small, MUL(x, N(0x1p54)), x), &k);
	LLVMValueRef r = log(m, SUB(k, IF(small, N(54), N(0))), f);
	r = IF(SAME(x, N(0)), N(-INFINITY), r);
	r = IF(LLVMBuildFCmp(m->b, LLVMRealUGE, x, N(0), ""), r, N(NAN));
	return IF(LLVMBuildFCmp(m->b, LLVMRealULT, x, N(INFINITY), ""), IF(LLVMBuildFCmp(m->b, LLVMRealUNO, x, x, ""), x, r), x);
}

static LLVMValueRef log_of_normal(const tsr_maths *m, const LLVMValueRef *x) { return of_normal(m, x[0], log_of_parts); }
static LLVMValueRef log_of_any(const tsr_maths *m, const LLVMValueRef *x) { return of_any(m, x[0], log_of_parts); }
static LLVMValueRef log2_of_normal(const tsr_maths *m, const LLVMValueRef *x) { return of_normal(m, x[0], log2_of_parts); }
static LLVMValueRef log2_of_any(const tsr_maths *m, const LLVMValueRef *x) { return of_any(m, x[0], log2_of_parts); }

LLVMValueRef tsr_math_log_f64(const tsr_maths *m, LLVMValueRef x)
{
	tsr_math_bounds normal = {x, LEAST, MOST};
	return tsr_math_either_way(m, 1, &normal, &x, log_of_normal, log_of_any);
}

LLVMValueRef tsr_math_log2_f64(const tsr_maths *m, LLVMValueRef x)
{
	tsr_math_bounds normal = {x, LEAST, MOST};
	return tsr_math_either_way(m, 1, &normal, &x, log2_of_normal, log2_of_any);
}
