/* Sine and cosine in f32, with the argument reduced exactly however large it is; how to read them: math.c. */
#include "maths.h"
#include <math.h>

enum { POWERS = 129, PARTS = 4 };

/* 2^j 2/pi modulo 2^25 for j = 0 .. 128, each as four f32 of 24 binary digits, one array after the other.  The modulus is
 * harmless: an f32 is s 2^j where 2^23 s is whole, and 2^25 / 2^23 is four quadrants. */
static LLVMValueRef two_over_pi(tsr_emit *e)
{
	static const uint16_t digits[] = {0xA2F9, 0x836E, 0x4E44, 0x1529, 0xFC27, 0x57D1, 0xF534, 0xDDC0, 0xDB62, 0x9599, 0x3C43,
		0x9041, 0xFE51, 0x63AB, 0xDEBB, 0xC561};
	LLVMValueRef known = LLVMGetNamedGlobal(e->module, "tsr.two_over_pi"), values[PARTS * POWERS];
	if (known)
		return known;
	for (int k = 0; k < PARTS; k++)
		for (int j = 0; j < POWERS; j++) {
			double part = 0;
			for (int weight = 24 - 24 * k; weight > -24 * k; weight--) {
				int i = j - 1 - weight;                         /* binary digit i of 2/pi weighs 2^-(i+1) */
				if (i >= 0 && (digits[i / 16] >> (15 - i % 16) & 1))
					part += ldexp(1, weight);
			}
			values[k * POWERS + j] = LLVMConstReal(e->f32, part);
		}
	LLVMTypeRef type = LLVMArrayType2(e->f32, PARTS * POWERS);
	LLVMValueRef table = LLVMAddGlobal(e->module, type, "tsr.two_over_pi");
	LLVMSetInitializer(table, LLVMConstArray2(e->f32, values, PARTS * POWERS));
	LLVMSetLinkage(table, LLVMPrivateLinkage);
	LLVMSetGlobalConstant(table, true);
	LLVMSetAlignment(table, 64);
	return table;
}

/* Element `at` (lane by lane) of part `k` of the table, as f64. */
static LLVMValueRef table_part(const tsr_maths *m, LLVMValueRef table, LLVMValueRef at, int k)
{
	tsr_emit *e = m->e;
	bool vector = LLVMGetTypeKind(m->f) == LLVMVectorTypeKind;
	unsigned lanes = vector ? LLVMGetVectorSize(m->f) : 1;
	LLVMValueRef result = vector ? LLVMGetPoison(m->f) : NULL;
	for (unsigned i = 0; i < lanes; i++) {
		LLVMValueRef lane = LLVMConstInt(e->i32, i, false);
		LLVMValueRef index = vector ? LLVMBuildExtractElement(m->b, at, lane, "") : at;
		index = LLVMBuildAdd(m->b, LLVMBuildZExt(m->b, index, e->i64, ""), tsr_emit_i64(e, k * POWERS), "");
		LLVMValueRef x = LLVMBuildLoad2(m->b, e->f32, LLVMBuildInBoundsGEP2(m->b, e->f32, table, &index, 1, ""), "");
		result = vector ? LLVMBuildInsertElement(m->b, result, x, lane, "") : x;
	}
	return LLVMBuildFPExt(m->b, result, m->d, "");
}

/* |x| = q pi/2 + r with r in [-pi/4, pi/4], for every finite x = s 2^j: the products of s with the table's parts are exact
 * in f64, and the first two sum to whole quadrants exactly.  Gives r as r + *low in f32, and q modulo 4 in its low bits. */
static LLVMValueRef quadrant(const tsr_maths *m, LLVMValueRef x, LLVMValueRef *q, LLVMValueRef *low)
{
	LLVMValueRef table = two_over_pi(m->e), bits = BITS(x);
	LLVMValueRef j = LLVMBuildSub(m->b, LLVMBuildLShr(m->b, bits, I(23), ""), I(127), "");
	j = IF(LLVMBuildICmp(m->b, LLVMIntSLT, j, I(0), ""), I(0), j);
	LLVMValueRef s = LLVMBuildFPExt(m->b, FLOAT(LLVMBuildSub(m->b, bits, LLVMBuildShl(m->b, j, I(23), ""), "")), m->d, "");
	LLVMValueRef p[PARTS];
	for (int k = 0; k < PARTS; k++)
		p[k] = MUL(s, table_part(m, table, j, k));
	LLVMValueRef big = ADD(ADD(p[0], p[1]), D(6755399441055744.0));         /* 1.5 * 2^52: rounds to a whole number */
	LLVMValueRef whole = SUB(big, D(6755399441055744.0));
	*q = LLVMBuildTrunc(m->b, LLVMBuildBitCast(m->b, big, m->l, ""), m->i, "");
	LLVMValueRef part = ADD(ADD(SUB(p[0], whole), p[1]), ADD(p[2], p[3]));
	LLVMValueRef wide = MUL(part, D(1.57079632679489661923)), r = LLVMBuildFPTrunc(m->b, wide, m->f, "");
	*low = LLVMBuildFPTrunc(m->b, SUB(wide, LLVMBuildFPExt(m->b, r, m->d, "")), m->f, "");
	return r;
}

/* Quadrant q + shift chooses polynomial and sign. */
LLVMValueRef tsr_math_sine(const tsr_maths *m, LLVMValueRef x, int shift)
{
	LLVMValueRef q, low, r = quadrant(m, tsr_math_magnitude(m, x), &q, &low), z = MUL(r, r), half = MUL(z, N(0.5)), whole = SUB(N(1), half);
	LLVMValueRef s = POLY(z, -0.16666666642, 0.00833332937, -0.00019839331, 2.7182744e-6);
	LLVMValueRef sine = ADD(tsr_math_mad(m, MUL(r, z), s, low), r);
	/* 1 - z/2 loses bits, which are added back */
	LLVMValueRef c = POLY(z, 0.04166666662, -0.00138888837, 2.47995159e-5, -2.72098921e-7);
	LLVMValueRef lost = SUB(SUB(SUB(N(1), whole), half), MUL(r, low));
	LLVMValueRef cosine = ADD(tsr_math_mad(m, MUL(z, z), c, lost), whole);
	q = LLVMBuildAdd(m->b, q, I(shift), "");
	LLVMValueRef odd = LLVMBuildICmp(m->b, LLVMIntNE, LLVMBuildAnd(m->b, q, I(1), ""), I(0), "");
	LLVMValueRef flip = LLVMBuildShl(m->b, LLVMBuildAnd(m->b, q, I(2), ""), I(30), "");
	if (shift == 0)
		flip = LLVMBuildXor(m->b, flip, LLVMBuildAnd(m->b, BITS(x), LLVMBuildShl(m->b, I(1), I(31), ""), ""), "");
	LLVMValueRef y = FLOAT(LLVMBuildXor(m->b, BITS(IF(odd, cosine, sine)), flip, ""));
	return IF(LESS(tsr_math_magnitude(m, x), N(INFINITY)), y, N(NAN));
}
