/* Powers in f64: 2^(y log2 |x|), the logarithm and the product in two numbers each; how to read them: math.c. */
#include "maths.h"
#include <math.h>

/* high + low; low is small beside high. */
typedef struct pair { LLVMValueRef high, low; } pair;

/* x, a multiple of y's last place or larger than y, and y + less. */
static pair joined(const tsr_maths *m, LLVMValueRef x, LLVMValueRef y, LLVMValueRef less)
{
	LLVMValueRef sum = ADD(x, y);
	return (pair){sum, ADD(SUB(y, SUB(sum, x)), less)};
}

static pair times(const tsr_maths *m, pair x, pair y)
{
	LLVMValueRef p = MUL(x.high, y.high), low = tsr_math_lost(m, x.high, y.high, p);
	return (pair){p, tsr_math_mad(m, x.high, y.low, tsr_math_mad(m, x.low, y.high, low))};
}

/* log2 m = s (c1 + z (c3 + z p(z))), z = s^2, s = (m - 1) / (m + 1); but for p all in two numbers: within 2^-65 of itself. */
static pair log2_of(const tsr_maths *m, LLVMValueRef x)
{
	LLVMValueRef k, f = tsr_math_parts_f64(m, x, &k), under = ADD(f, N(2)), inverse = DIV(N(1), under);
	pair s = {.high = MUL(f, inverse)};
	LLVMValueRef under_low = SUB(f, SUB(under, N(2))), left = tsr_math_rest(m, f, s.high, under);
	s.low = MUL(tsr_math_mad(m, NEG(s.high), under_low, left), inverse);
	pair z = times(m, s, s);
	LLVMValueRef p = POLY_APART(z.high, MUL(z.high, z.high), 0x1.2776c50ef9bfcp-1, 0x1.a61762a7aedddp-2, 0x1.484b13d6acff0p-2, 0x1.0c9a853ae8c2bp-2,
		0x1.c68ee966b7245p-3, 0x1.8a09b6a86c262p-3, 0x1.58fce57c84d21p-3, 0x1.61f000dd9f16ep-3);
	pair c = joined(m, N(0x1.ec709dc3a03fdp-1), MUL(z.high, p), N(0x1.d27f05548af0cp-55));
	c = times(m, z, c);
	c = joined(m, N(0x1.71547652b82fep+1), c.high, ADD(c.low, N(0x1.777d0ffda0d24p-55)));
	c = times(m, s, c);
	return joined(m, k, c.high, c.low);
}

/* 2^(t + low) for |t| <= 1020. */
static LLVMValueRef exp2_of(const tsr_maths *m, LLVMValueRef t, LLVMValueRef low)
{
	LLVMValueRef big = ADD(t, N(TSR_MATH_WHOLE)), r = SUB(t, SUB(big, N(TSR_MATH_WHOLE))), ln2 = N(0x1.62e42fefa39efp-1);
	LLVMValueRef w = MUL(r, ln2), less = tsr_math_mad(m, low, ln2, tsr_math_mad(m, r, N(0x1.abc9e3b39803fp-56), tsr_math_lost(m, r, ln2, w)));
	LLVMValueRef z = MUL(w, w), rest = MUL(z, tsr_math_exp_rest_f64(m, w, z)), more = tsr_math_mad(m, less, ADD(w, rest), ADD(rest, less));   /* e^less = 1 + less */
	LLVMValueRef p = ADD(N(1), ADD(w, more));
	return FLOAT(LLVMBuildAdd(m->b, BITS(p), SHL(BITS(big), 52), ""));
}

/* x^n for the few n that this is within one unit for; NULL for others. */
static LLVMValueRef few_products(const tsr_maths *m, LLVMValueRef x, double n)
{
	if (fabs(n) == 0.5) {            /* of -0 it is that of 0, of minus infinity that of infinity */
		LLVMValueRef y = IF(SAME(x, N(-INFINITY)), N(INFINITY), ADD(x, N(0))), root = tsr_math_intrinsic(m, "llvm.sqrt", m->f, 1, &y);
		return n < 0 ? DIV(N(1), root) : root;
	}
	if (n == 3)
		return MUL(MUL(x, x), x);
	return n == 2 ? MUL(x, x) : n == 1 ? x : n == -1 ? DIV(N(1), x) : NULL;
}

/* Negative bases have a power where y is known to be whole; for what else they have, for what ends in neither a normal number nor
 * within the range, and for all that is no number, the library. */
LLVMValueRef tsr_math_pow_f64(const tsr_maths *m, LLVMValueRef x, LLVMValueRef y)
{
	double n = 0.5;
	bool known = tsr_math_constant(y, &n), whole = known && n == trunc(n) && fabs(n) < 0x1p53;
	LLVMValueRef product = known ? few_products(m, x, n) : NULL;
	if (product)
		return product;
	LLVMValueRef a = whole ? tsr_math_magnitude(m, x) : x;
	pair l = log2_of(m, a);
	LLVMValueRef t = MUL(y, l.high), low = tsr_math_mad(m, y, l.low, tsr_math_lost(m, y, l.high, t)), r = exp2_of(m, t, low);
	r = whole && fmod(n, 2) ? tsr_math_with_sign_of(m, r, x) : r;
	tsr_math_bounds bounds[3] = {{a, 0x1p-1022, 0x1.fffffffffffffp1023}, {t, -1020, 1020}, {y, -0x1p900, 0x1p900}};
	return tsr_math_or_library(m, known && fabs(n) < 0x1p900 ? 2 : 3, bounds, r, TSR_OP_POW, (LLVMValueRef[]){x, y});
}
