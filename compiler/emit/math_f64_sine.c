/* Sine and cosine in f64; how to read them: math.c. */
#include "maths.h"

/* |x| = q pi/2 + r + low, r in [-pi/4, pi/4]; q modulo 4 in the low bits of `big`. */
typedef struct reduced { LLVMValueRef r, low, big; } reduced;

/* From here on the C library computes. */
static double far_from(const tsr_maths *m) { return m->e->target->fma ? 0x1p25 : 0x1p20; }

/* pi/2 in three parts.  Fused with its product the first difference is exact, a multiple of 2^-53 below 1.  The second part has 28 digits, a product
 * of 2^-81 with q: r is exact below 2^-28, and where it is rounded, what it differs by from `rough` is exact. */
static void by_fused(const tsr_maths *m, LLVMValueRef x, LLVMValueRef q, reduced *to)
{
	static const double part[3] = {0x1.921fb54442d18p+0, 0x1.1a62632000000p-54, 0x1.145c06e0e6895p-82};
	LLVMValueRef rough = tsr_math_mad(m, q, N(-part[0]), x);
	to->r = tsr_math_mad(m, q, N(-part[1]), rough);
	to->low = tsr_math_mad(m, q, N(-part[2]), tsr_math_mad(m, q, N(-part[1]), SUB(rough, to->r)));
}

/* pi/2 in three parts of 33 digits, whose products with q are exact, and a rest. */
static void by_parts(const tsr_maths *m, LLVMValueRef x, LLVMValueRef q, reduced *to)
{
	static const double part[4] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e0p-69, 0x1.b839a252049c1p-104};
	LLVMValueRef rough = SUB(x, MUL(q, N(part[0]))), p = MUL(q, N(part[1]));
	to->r = SUB(rough, p);
	to->low = SUB(SUB(SUB(SUB(rough, to->r), p), MUL(q, N(part[2]))), MUL(q, N(part[3])));
}

static reduced reduce(const tsr_maths *m, LLVMValueRef x)
{
	reduced to = {.big = tsr_math_mad(m, x, N(0x1.45f306dc9c883p-1), N(TSR_MATH_WHOLE))};
	LLVMValueRef q = SUB(to.big, N(TSR_MATH_WHOLE));
	(m->e->target->fma ? by_fused : by_parts)(m, x, q, &to);
	return to;
}

/* sin for shift 0, cos for shift 1: quadrant q + shift chooses polynomial and sign. */
LLVMValueRef tsr_math_sine_f64(const tsr_maths *m, LLVMValueRef x, int shift)
{
	LLVMValueRef a = tsr_math_magnitude(m, x);
	reduced to = reduce(m, a);
	LLVMValueRef r = to.r, z = MUL(r, r), zz = MUL(z, z), half = MUL(z, N(0.5)), whole = SUB(N(1), half);
	LLVMValueRef s = POLY_APART(z, zz, -0x1.5555555555548p-3, 0x1.111111110f730p-7, -0x1.a01a019be921fp-13, 0x1.71de35552c344p-19, -0x1.ae5e4b84e013cp-26,
		0x1.5d8b55ee976bcp-33);
	LLVMValueRef sine = ADD(tsr_math_mad(m, MUL(r, z), s, MUL(to.low, whole)), r);
	/* 1 - z/2 loses bits, which are added back */
	LLVMValueRef c = POLY_APART(z, zz, 0x1.555555555554cp-5, -0x1.6c16c16c1521dp-10, 0x1.a01a019cbf0d7p-16, -0x1.27e4f812657bep-22, 0x1.1ee9f110d4b29p-29,
		-0x1.8fb10a435e491p-37);
	LLVMValueRef lost = tsr_math_mad(m, NEG(r), to.low, SUB(SUB(N(1), whole), half));
	LLVMValueRef cosine = ADD(tsr_math_mad(m, zz, c, lost), whole);
	LLVMValueRef q = shift ? LLVMBuildAdd(m->b, BITS(to.big), W(1), "") : BITS(to.big);
	LLVMValueRef odd = LLVMBuildICmp(m->b, LLVMIntSLT, SHL(q, 63), W(0), ""), sign = W(UINT64_C(1) << 63), flip = AND(SHL(q, 62), sign);
	if (shift == 0)
		flip = LLVMBuildXor(m->b, flip, AND(BITS(x), sign), "");
	LLVMValueRef y = FLOAT(LLVMBuildXor(m->b, BITS(IF(odd, cosine, sine)), flip, ""));
	tsr_math_bounds near = {a, 0, far_from(m)};
	return tsr_math_or_library(m, 1, &near, y, shift ? TSR_OP_COS : TSR_OP_SIN, &x);
}
