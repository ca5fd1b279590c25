/* Sine and cosine in f32, with the argument reduced exactly however large it is; how to read them: math.c. */
#include "maths.h"
#include <math.h>

enum { PARTS = 4, PART = 24, WORD = 32, STEPS = 4, UNDER = WORD - PART - 1 };

/* 2/pi in binary behind a word of zeros. */
static const uint32_t two_over_pi[TSR_MATH_REGISTER] = {0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB};

/* Word at + k, where `at` is at most STEPS. */
static LLVMValueRef word(const tsr_maths *m, LLVMValueRef at, unsigned k)
{
	if (tsr_math_in_registers(m->e, m->f))
		return tsr_math_word_looked_up(m, two_over_pi, LLVMBuildAdd(m->b, at, I(k), ""));
	LLVMValueRef w = I(two_over_pi[k]);
	for (unsigned i = 1; i <= STEPS; i++)
		w = IF(LLVMBuildICmp(m->b, LLVMIntUGE, at, I(i), ""), I(two_over_pi[i + k]), w);
	return w;
}

/* 2^j 2/pi modulo 2^25 for j = 0 .. 128 as four whole numbers of 24 binary digits each, in f64; the first one counts twos, each further one
 * is of 2^-24 of that.  The modulus is harmless: an f32 is s 2^j where 2^23 s is whole, and 2^25 / 2^23 is four quadrants. */
static void digits(const tsr_maths *m, LLVMValueRef j, LLVMValueRef *part)
{
	LLVMValueRef from = LLVMBuildAdd(m->b, j, I(UNDER), ""), at = LLVMBuildLShr(m->b, from, I(5), ""), off = LLVMBuildAnd(m->b, from, I(WORD - 1), "");
	LLVMValueRef given[PARTS], line[PARTS - 1], mask = I((1 << PART) - 1);
	for (unsigned k = 0; k < PARTS; k++)
		given[k] = word(m, at, k);
	for (unsigned k = 0; k < PARTS - 1; k++)
		line[k] = tsr_math_intrinsic(m, "llvm.fshl", m->i, 3, (LLVMValueRef[]){given[k], given[k + 1], off});
	part[0] = LLVMBuildLShr(m->b, line[0], I(8), "");
	part[1] = LLVMBuildAnd(m->b, LLVMBuildOr(m->b, LLVMBuildShl(m->b, line[0], I(16), ""), LLVMBuildLShr(m->b, line[1], I(16), ""), ""), mask, "");
	part[2] = LLVMBuildAnd(m->b, LLVMBuildOr(m->b, LLVMBuildShl(m->b, line[1], I(8), ""), LLVMBuildLShr(m->b, line[2], I(24), ""), ""), mask, "");
	part[3] = LLVMBuildAnd(m->b, line[2], mask, "");
	for (unsigned k = 0; k < PARTS; k++)
		part[k] = LLVMBuildSIToFP(m->b, part[k], m->d, "");
}

/* |x| = q pi/2 + r + low, r in [-pi/4, pi/4]; q modulo 4 in its low bits. */
typedef struct reduced { LLVMValueRef r, low, q; } reduced;

/* For every finite x = s 2^j: the products of s with the parts are exact in f64, and the first two sum to whole quadrants exactly. */
static reduced quadrant(const tsr_maths *m, LLVMValueRef x)
{
	LLVMValueRef bits = BITS(x);
	LLVMValueRef j = LLVMBuildSub(m->b, LLVMBuildLShr(m->b, bits, I(23), ""), I(127), "");
	j = IF(LLVMBuildICmp(m->b, LLVMIntSLT, j, I(0), ""), I(0), j);
	LLVMValueRef s = LLVMBuildFPExt(m->b, FLOAT(LLVMBuildSub(m->b, bits, LLVMBuildShl(m->b, j, I(23), ""), "")), m->d, "");
	LLVMValueRef p[PARTS];
	digits(m, j, p);
	for (int k = 0; k < PARTS; k++)
		p[k] = MUL(MUL(s, D(ldexp(1, 1 - PART * k))), p[k]);
	LLVMValueRef big = ADD(ADD(p[0], p[1]), D(6755399441055744.0));         /* 1.5 * 2^52: rounds to a whole number */
	LLVMValueRef whole = SUB(big, D(6755399441055744.0));
	LLVMValueRef part = ADD(ADD(SUB(p[0], whole), p[1]), ADD(p[2], p[3]));
	LLVMValueRef wide = MUL(part, D(1.57079632679489661923)), r = LLVMBuildFPTrunc(m->b, wide, m->f, "");
	LLVMValueRef low = LLVMBuildFPTrunc(m->b, SUB(wide, LLVMBuildFPExt(m->b, r, m->d, "")), m->f, "");
	return (reduced){r, low, LLVMBuildTrunc(m->b, LLVMBuildBitCast(m->b, big, m->l, ""), m->i, "")};
}

/* For x < NEAR, whose quotient by pi/2 has 13 digits (Cody, Waite 1980). */
static const double NEAR = 8192;

/* pi/2 in three f32: the first difference is exact where multiply-adds are fused, the second one is (Knuth's) a sum and what it loses, and so
 * is the product that it takes away. */
static reduced by_fused(const tsr_maths *m, LLVMValueRef x, LLVMValueRef q)
{
	static const double first = 0x1.921fb6p+0, second = -0x1.777a5cp-25, third = -0x1.ee59dap-50;
	LLVMValueRef rough = tsr_math_mad(m, q, N(-first), x), p = MUL(q, N(-second)), lost = tsr_math_mad(m, q, N(second), p);
	LLVMValueRef r = ADD(rough, p), b = SUB(r, rough), low = ADD(SUB(rough, SUB(r, b)), SUB(p, b));
	return (reduced){r, tsr_math_mad(m, q, N(-third), SUB(low, lost)), NULL};
}

/* pi/2 in two f64, the first one short, so that its product with the quotient is exact. */
static reduced by_wide(const tsr_maths *m, LLVMValueRef x, LLVMValueRef q)
{
	LLVMValueRef quotient = LLVMBuildFPExt(m->b, q, m->d, "");
	LLVMValueRef wide = SUB(SUB(LLVMBuildFPExt(m->b, x, m->d, ""), MUL(quotient, D(0x1.921fb544p+0))), MUL(quotient, D(0x1.0b4611a626331p-34)));
	LLVMValueRef r = LLVMBuildFPTrunc(m->b, wide, m->f, "");
	return (reduced){r, LLVMBuildFPTrunc(m->b, SUB(wide, LLVMBuildFPExt(m->b, r, m->d, "")), m->f, ""), NULL};
}

static reduced near_quadrant(const tsr_maths *m, LLVMValueRef x)
{
	LLVMValueRef big = tsr_math_mad(m, x, N(0.63661977236758134), N(12582912)), q = SUB(big, N(12582912));   /* 1.5 * 2^23 */
	reduced to = m->e->target->fma ? by_fused(m, x, q) : by_wide(m, x, q);
	to.q = BITS(big);
	return to;
}

static reduced either(const tsr_maths *m, LLVMValueRef near, reduced a, reduced b)
{
	return (reduced){IF(near, a.r, b.r), IF(near, a.low, b.low), IF(near, a.q, b.q)};
}

/* What a lane's result is depends on its argument alone: where one of them is not near, each is reduced in its own way. */
static reduced reduce(const tsr_maths *m, LLVMValueRef x)
{
	LLVMValueRef near = LESS(x, N(NEAR));
	reduced by_few = near_quadrant(m, x), to;
	if (LLVMGetTypeKind(m->f) != LLVMVectorTypeKind || !tsr_math_may_branch(m))
		return either(m, near, by_few, quadrant(m, x));
	LLVMBasicBlockRef before = LLVMGetInsertBlock(m->b), far = tsr_emit_block(m->e, "far"), join = tsr_emit_block(m->e, "reduced");
	LLVMBuildCondBr(m->b, tsr_math_intrinsic(m, "llvm.vector.reduce.and", LLVMTypeOf(near), 1, &near), join, far);
	LLVMPositionBuilderAtEnd(m->b, far);
	reduced by_all = either(m, near, by_few, quadrant(m, x));
	LLVMBasicBlockRef from[2] = {before, LLVMGetInsertBlock(m->b)};
	LLVMBuildBr(m->b, join);
	LLVMPositionBuilderAtEnd(m->b, join);
	LLVMValueRef *const into[] = {&to.r, &to.low, &to.q}, few[] = {by_few.r, by_few.low, by_few.q}, all[] = {by_all.r, by_all.low, by_all.q};
	for (int i = 0; i < 3; i++) {
		*into[i] = LLVMBuildPhi(m->b, LLVMTypeOf(few[i]), "");
		LLVMAddIncoming(*into[i], (LLVMValueRef[]){few[i], all[i]}, from, 2);
	}
	return to;
}

/* Quadrant q + shift chooses polynomial and sign. */
LLVMValueRef tsr_math_sine(const tsr_maths *m, LLVMValueRef x, int shift)
{
	reduced to = reduce(m, tsr_math_magnitude(m, x));
	LLVMValueRef r = to.r, low = to.low, z = MUL(r, r), half = MUL(z, N(0.5)), whole = SUB(N(1), half);
	LLVMValueRef s = POLY(z, -0.16666666642, 0.00833332937, -0.00019839331, 2.7182744e-6);
	LLVMValueRef sine = ADD(tsr_math_mad(m, MUL(r, z), s, low), r);
	/* 1 - z/2 loses bits, which are added back */
	LLVMValueRef c = POLY(z, 0.04166666662, -0.00138888837, 2.47995159e-5, -2.72098921e-7);
	LLVMValueRef lost = SUB(SUB(SUB(N(1), whole), half), MUL(r, low));
	LLVMValueRef cosine = ADD(tsr_math_mad(m, MUL(z, z), c, lost), whole);
	LLVMValueRef q = LLVMBuildAdd(m->b, to.q, I(shift), "");
	LLVMValueRef odd = LLVMBuildICmp(m->b, LLVMIntNE, LLVMBuildAnd(m->b, q, I(1), ""), I(0), "");
	LLVMValueRef flip = LLVMBuildShl(m->b, LLVMBuildAnd(m->b, q, I(2), ""), I(30), "");
	if (shift == 0)
		flip = LLVMBuildXor(m->b, flip, LLVMBuildAnd(m->b, BITS(x), LLVMBuildShl(m->b, I(1), I(31), ""), ""), "");
	LLVMValueRef y = FLOAT(LLVMBuildXor(m->b, BITS(IF(odd, cosine, sine)), flip, ""));
	return IF(LESS(tsr_math_magnitude(m, x), N(INFINITY)), y, N(NAN));
}
