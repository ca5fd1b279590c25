/* The elementary functions in f32, as straight-line code over scalars or vectors: no calls, no branches, so that loops
 * around them vectorise and they fuse with their neighbours.  In f64 each is a call of the C library.
 *
 * How to read a function: reduce the argument to a small interval, a polynomial there, rebuild.  Polynomials are minimax
 * in the relative error of the result, their coefficients rounded to f32.  Comparisons are chosen so that NaN passes
 * through; each function states its largest error in units of the last place, which tests/unit/math.c measures. */
#include "emit.h"
#include <math.h>
#include <string.h>

/* One function's types: f and i have as many lanes as the argument. */
typedef struct maths { tsr_emit *e; LLVMBuilderRef b; LLVMTypeRef f, i, d, l; } maths;

#define N(x)      tsr_emit_number(m->e, m->f, (x))
#define I(x)      tsr_emit_number(m->e, m->i, (x))
#define D(x)      tsr_emit_number(m->e, m->d, (x))
#define ADD(x, y) LLVMBuildFAdd(m->b, (x), (y), "")
#define SUB(x, y) LLVMBuildFSub(m->b, (x), (y), "")
#define MUL(x, y) LLVMBuildFMul(m->b, (x), (y), "")
#define DIV(x, y) LLVMBuildFDiv(m->b, (x), (y), "")
#define IF(c, x, y) LLVMBuildSelect(m->b, (c), (x), (y), "")
#define LESS(x, y)  LLVMBuildFCmp(m->b, LLVMRealOLT, (x), (y), "")
#define SAME(x, y)  LLVMBuildFCmp(m->b, LLVMRealOEQ, (x), (y), "")
#define BITS(x)   LLVMBuildBitCast(m->b, (x), m->i, "")
#define FLOAT(x)  LLVMBuildBitCast(m->b, (x), m->f, "")

static maths maths_for(tsr_emit *e, LLVMValueRef x)
{
	return (maths){e, e->builder, tsr_emit_type_like(e->f32, x), tsr_emit_type_like(e->i32, x), tsr_emit_type_like(e->f64, x),
		tsr_emit_type_like(e->i64, x)};
}

static LLVMValueRef intrinsic(const maths *m, const char *name, LLVMTypeRef type, unsigned n, LLVMValueRef *args)
{
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(m->e->module, id, &type, 1);
	return LLVMBuildCall2(m->b, LLVMIntrinsicGetType(m->e->context, id, &type, 1), f, args, n, "");
}

/* x * y + z, fused where the machine can. */
static LLVMValueRef mad(const maths *m, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z)
{
	LLVMValueRef args[3] = {x, y, z};
	return intrinsic(m, m->e->target->fma ? "llvm.fma" : "llvm.fmuladd", LLVMTypeOf(x), 3, args);
}

static LLVMValueRef magnitude(const maths *m, LLVMValueRef x)
{
	return intrinsic(m, "llvm.fabs", LLVMTypeOf(x), 1, &x);
}

static LLVMValueRef with_sign_of(const maths *m, LLVMValueRef x, LLVMValueRef sign)
{
	LLVMValueRef args[2] = {x, sign};
	return intrinsic(m, "llvm.copysign", LLVMTypeOf(x), 2, args);
}

/* c[0] + c[1] x + ... + c[n-1] x^(n-1) by Horner's rule. */
static LLVMValueRef poly(const maths *m, LLVMValueRef x, unsigned n, const double *c)
{
	LLVMTypeRef t = LLVMTypeOf(x);
	LLVMValueRef p = tsr_emit_number(m->e, t, c[n - 1]);
	for (unsigned i = n - 1; i-- > 0;)
		p = mad(m, p, x, tsr_emit_number(m->e, t, c[i]));
	return p;
}
#define POLY(x, ...) poly(m, (x), sizeof((const double[]){__VA_ARGS__}) / sizeof(double), (const double[]){__VA_ARGS__})

/* x limited to [low, high]; NaN stays. */
static LLVMValueRef clamp(const maths *m, LLVMValueRef x, double low, double high)
{
	LLVMTypeRef t = LLVMTypeOf(x);
	LLVMValueRef lo = tsr_emit_number(m->e, t, low), hi = tsr_emit_number(m->e, t, high);
	x = IF(LESS(x, lo), lo, x);
	return IF(LESS(hi, x), hi, x);
}

/* The nearest whole number to x, ties to even, for |x| < 2^22, from x + 1.5 * 2^23, which leaves no bits for a fraction.  The sum's
 * low bits are the number as an integer, given in *bits. */
static LLVMValueRef nearest(const maths *m, LLVMValueRef big, LLVMValueRef *bits)
{
	*bits = LLVMBuildSub(m->b, BITS(big), I(0x4b400000), "");
	return SUB(big, N(12582912.0));
}

enum { REGISTER = 16, MOST_REGISTERS = 4, AS_SET = 4 };

/* The lanes, where they are whole registers of AVX-512, or 0. */
static unsigned in_registers(const tsr_emit *e, LLVMTypeRef type)
{
	unsigned lanes = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
	return e->target->vector_bytes != 4 * REGISTER || lanes % REGISTER || lanes > REGISTER * MOST_REGISTERS ? 0 : lanes;
}

/* One register of x, its lanes from `from` on. */
static LLVMValueRef register_of(tsr_emit *e, LLVMValueRef x, unsigned from)
{
	LLVMValueRef at[REGISTER];
	for (unsigned i = 0; i < REGISTER; i++)
		at[i] = LLVMConstInt(e->i32, from + i, false);
	return LLVMBuildShuffleVector(e->builder, x, LLVMGetPoison(LLVMTypeOf(x)), LLVMConstVector(at, REGISTER), "");
}

/* Registers side by side as one vector; `part` is used up. */
static LLVMValueRef side_by_side(tsr_emit *e, LLVMValueRef *part, unsigned parts)
{
	LLVMValueRef at[REGISTER * MOST_REGISTERS];
	for (unsigned i = 0; i < REGISTER * parts; i++)
		at[i] = LLVMConstInt(e->i32, i, false);
	for (unsigned wide = REGISTER; parts > 1; parts /= 2, wide *= 2)
		for (unsigned i = 0; i < parts / 2; i++)
			part[i] = LLVMBuildShuffleVector(e->builder, part[2 * i], part[2 * i + 1], LLVMConstVector(at, 2 * wide), "");
	return part[0];
}

/* An instruction of AVX-512 on each register of x and y, which are whole registers; `third` is its third operand, NULL for 0.  `how` is
 * an immediate, or -1 for none.  Lanes outside of `some`, which is NULL for all, are those of the operand that the instruction merges. */
static LLVMValueRef by_machine(tsr_emit *e, const char *name, LLVMValueRef x, LLVMValueRef y, LLVMValueRef third, int how, LLVMValueRef some)
{
	unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(x));
	LLVMValueRef part[MOST_REGISTERS], f = LLVMGetIntrinsicDeclaration(e->module, LLVMLookupIntrinsicID(name, strlen(name)), NULL, 0);
	for (unsigned from = 0; from < lanes; from += REGISTER) {
		LLVMValueRef given[6];
		unsigned n = 0;
		given[n++] = register_of(e, x, from), given[n++] = register_of(e, y, from);
		given[n++] = third ? third : LLVMConstNull(LLVMVectorType(e->f32, REGISTER));
		if (how >= 0)
			given[n++] = LLVMConstInt(e->i32, (unsigned)how, false);
		given[n++] = some ? LLVMBuildBitCast(e->builder, register_of(e, some, from), e->i16, "") : LLVMConstInt(e->i16, 0xffff, false);
		given[n++] = LLVMConstInt(e->i32, AS_SET, false);
		part[from / REGISTER] = LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(f), f, given, n, "");
	}
	return side_by_side(e, part, lanes / REGISTER);
}

/* In each lane the entry of a table that the low bits of `at` name: one instruction for a register. */
static LLVMValueRef looked_up(const maths *m, const double *table, LLVMValueRef at)
{
	static const char name[] = "llvm.x86.avx512.permvar.sf.512";
	tsr_emit *e = m->e;
	unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(at));
	LLVMValueRef part[MOST_REGISTERS], entry[REGISTER], f = LLVMGetIntrinsicDeclaration(e->module, LLVMLookupIntrinsicID(name, sizeof name - 1), NULL, 0);
	for (unsigned i = 0; i < REGISTER; i++)
		entry[i] = LLVMConstReal(e->f32, table[i]);
	for (unsigned from = 0; from < lanes; from += REGISTER) {
		LLVMValueRef given[2] = {LLVMConstVector(entry, REGISTER), register_of(e, at, from)};
		part[from / REGISTER] = LLVMBuildCall2(m->b, LLVMGlobalGetValueType(f), f, given, 2, "");
	}
	return side_by_side(e, part, lanes / REGISTER);
}

/* x where it is a number, y where it is NaN. */
LLVMValueRef tsr_emit_unless_nan(tsr_emit *e, LLVMValueRef x, LLVMValueRef y)
{
	enum { KEEP_NAN = 0x11111100 };          /* what takes the place of a NaN, a signalling one, 0, 1, ...: 0 is y, 1 is x */
	if (!in_registers(e, LLVMTypeOf(x)))
		return LLVMBuildSelect(e->builder, LLVMBuildFCmp(e->builder, LLVMRealORD, x, x, ""), x, y, "");
	LLVMValueRef table = tsr_emit_number(e, LLVMVectorType(e->i32, REGISTER), KEEP_NAN);
	return by_machine(e, "llvm.x86.avx512.mask.fixupimm.ps.512", y, x, table, 0, NULL);
}

/* x * 2^n with one rounding, n being `whole` as a float, by AVX-512's instruction, 0 in lanes outside of `some`, which is NULL for all;
 * NULL where the lanes are no whole registers.  2 to a whole number that is infinite is infinite or 0 even where x is NaN. */
static LLVMValueRef scaled_by_machine(const maths *m, LLVMValueRef x, LLVMValueRef whole, LLVMValueRef some)
{
	return in_registers(m->e, m->f) ? by_machine(m->e, "llvm.x86.avx512.mask.scalef.ps.512", x, whole, NULL, -1, some) : NULL;
}

/* x * 2^n for n in -252 .. 254, with one rounding: each factor is a normal number, and only the last product can leave
 * the normal range. */
static LLVMValueRef scale(const maths *m, LLVMValueRef x, LLVMValueRef n, LLVMValueRef whole)
{
	LLVMValueRef once = scaled_by_machine(m, x, whole, NULL);
	if (once)
		return once;
	LLVMValueRef half = LLVMBuildAShr(m->b, n, I(1), ""), rest = LLVMBuildSub(m->b, n, half, "");
	LLVMValueRef one = LLVMBuildShl(m->b, LLVMBuildAdd(m->b, half, I(127), ""), I(23), "");
	LLVMValueRef two = LLVMBuildShl(m->b, LLVMBuildAdd(m->b, rest, I(127), ""), I(23), "");
	return MUL(MUL(x, FLOAT(one)), FLOAT(two));
}

/* 0 in place of p where x is so low that p * 2^n would be rounded to 0: the processor takes hundreds of cycles for a result below the
 * normal numbers, and masked positions, at -1e9, are half of attention's. */
static LLVMValueRef unless_vanishing(const maths *m, LLVMValueRef p, LLVMValueRef x, double low)
{
	return IF(LESS(x, N(low)), N(0), p);
}

/* x * 2^n where that stays normal. */
static LLVMValueRef scale_near(const maths *m, LLVMValueRef x, LLVMValueRef n, LLVMValueRef whole)
{
	LLVMValueRef once = scaled_by_machine(m, x, whole, NULL);
	return once ? once : MUL(x, FLOAT(LLVMBuildShl(m->b, LLVMBuildAdd(m->b, n, I(127), ""), I(23), "")));
}

/* e^x = 2^n e^r: gives e^r; ln 2 in two parts, the first short enough for exact products. */
static LLVMValueRef reduced_exp(const maths *m, LLVMValueRef x, LLVMValueRef *n, LLVMValueRef *whole)
{
	*whole = nearest(m, mad(m, x, N(1.44269504088896341), N(12582912.0)), n);
	LLVMValueRef r = mad(m, *whole, N(-0.693359375), x);
	r = mad(m, *whole, N(2.12194440054690583e-4), r);
	return POLY(r, 1, 1, 0.5, 0.1666651818, 0.0416662056, 0.0083688967, 0.00139505015);
}

/* x where what is given is 0 - x or -x, which differ in a zero's sign alone; NULL for anything else. */
static LLVMValueRef negated(LLVMValueRef x)
{
	LLVMValueRef neg = LLVMIsAUnaryOperator(x);
	if (neg && LLVMGetInstructionOpcode(neg) == LLVMFNeg)
		return LLVMGetOperand(neg, 0);
	neg = LLVMIsABinaryOperator(x);
	return neg && LLVMGetInstructionOpcode(neg) == LLVMFSub && LLVMIsNull(LLVMGetOperand(neg, 0)) ? LLVMGetOperand(neg, 1) : NULL;
}

/* By AVX-512's scaling, which makes infinity of what is too large by itself: the polynomial is positive wherever r may be, an infinite
 * x leaves NaN times 2^infinity, which the instruction takes for infinity.  What vanishes is masked where it is scaled, whatever came of it
 * before.  Signs are free in the instructions that the argument enters. */
static LLVMValueRef emit_exp_scaled(const maths *m, LLVMValueRef x)
{
	LLVMValueRef n, whole, less = negated(x);
	LLVMValueRef p = reduced_exp(m, less ? LLVMBuildFNeg(m->b, less, "") : x, &n, &whole);
	LLVMValueRef some = less ? LLVMBuildFCmp(m->b, LLVMRealULE, less, N(104), "") : LLVMBuildFCmp(m->b, LLVMRealUGE, x, N(-104), "");
	return scaled_by_machine(m, p, whole, some);
}

static LLVMValueRef emit_exp(const maths *m, LLVMValueRef x)
{
	if (in_registers(m->e, m->f))
		return emit_exp_scaled(m, x);
	LLVMValueRef n, whole, p = reduced_exp(m, clamp(m, x, -104, 89), &n, &whole);
	return scale(m, unless_vanishing(m, p, x, -104), n, whole);
}

/* For |x| < 87. */
static LLVMValueRef emit_exp_near(const maths *m, LLVMValueRef x)
{
	LLVMValueRef n, whole, p = reduced_exp(m, x, &n, &whole);
	return scale_near(m, p, n, whole);
}

static LLVMValueRef emit_exp2(const maths *m, LLVMValueRef x)
{
	LLVMValueRef bits, given = x;
	x = clamp(m, x, -151, 129);
	LLVMValueRef n = nearest(m, ADD(x, N(12582912.0)), &bits), r = SUB(x, n);
	LLVMValueRef p = POLY(r, 0.69314718054, 0.24022651078, 0.05550410963, 0.00961803654, 0.00133334303, 0.00015467238, 1.531507e-5);
	return scale(m, unless_vanishing(m, mad(m, p, r, N(1)), given, -150), bits, n);
}

/* x = 2^k (1 + f) with 1 + f in [sqrt 1/2, sqrt 2); log(1 + f) = f + *y.  Subnormal numbers are scaled into the normal
 * range first. */
static LLVMValueRef split_log(const maths *m, LLVMValueRef x, LLVMValueRef *k, LLVMValueRef *y)
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
	*y = mad(m, z, N(-0.5), MUL(MUL(f, z), p));
	return f;
}

/* The ends of the domain: 0 gives -inf, inf gives inf, below 0 and NaN give NaN. */
static LLVMValueRef log_ends(const maths *m, LLVMValueRef x, LLVMValueRef r)
{
	r = IF(SAME(x, N(0)), N(-INFINITY), r);
	r = IF(LLVMBuildFCmp(m->b, LLVMRealUGE, x, N(0), ""), r, N(NAN));
	return IF(LLVMBuildFCmp(m->b, LLVMRealULT, x, N(INFINITY), ""), IF(LLVMBuildFCmp(m->b, LLVMRealUNO, x, x, ""), x, r), x);
}

static LLVMValueRef emit_log(const maths *m, LLVMValueRef x)
{
	LLVMValueRef k, y, f = split_log(m, x, &k, &y);
	y = mad(m, k, N(-2.12194440054690583e-4), y);
	return log_ends(m, x, mad(m, k, N(0.693359375), ADD(f, y)));
}

static LLVMValueRef emit_log2(const maths *m, LLVMValueRef x)
{
	/* log2 e = 1 + c: the sum f + y keeps its bits beside the products with c */
	LLVMValueRef k, y, f = split_log(m, x, &k, &y), c = N(0.44269504088896341);
	LLVMValueRef r = mad(m, y, c, mad(m, f, c, y));
	return log_ends(m, x, ADD(ADD(r, f), k));
}

/* Near 0 a polynomial; elsewhere 1 - 2 / (e^2|x| + 1), which is 1 from 9.02 on. */
static LLVMValueRef emit_tanh(const maths *m, LLVMValueRef x)
{
	LLVMValueRef a = magnitude(m, x), z = MUL(x, x);
	LLVMValueRef p = POLY(z, -0.3333333091, 0.1333320976, -0.0539472045, 0.0217029671, -0.0081826739, 0.0021475369);
	LLVMValueRef near = mad(m, MUL(a, z), p, a);
	LLVMValueRef twice = ADD(a, a), e = emit_exp_near(m, IF(LESS(N(19), twice), N(19), twice));
	LLVMValueRef far = SUB(N(1), DIV(N(2), ADD(e, N(1))));
	return with_sign_of(m, IF(LESS(a, N(0.625)), near, far), x);
}

enum { CENTRE, VALUE, SLOPE, ERF_DEGREE = 5 };

/* By AVX-512's tables of 16 entries: eight intervals of |x| up to 1.31 and eight twice as wide, which four bits of 1 + 0.76 |x| name; from
 * the last one's end on erf is 1.  In each a polynomial of the distance from a centre at which erf is nearly an f32, so that rounding the
 * value there costs nothing; in the first one |x| itself stands in the place of that value. */
static LLVMValueRef emit_erf_looked_up(const maths *m, LLVMValueRef x)
{
	static const double table[SLOPE + ERF_DEGREE][REGISTER] = {
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
	LLVMValueRef a = magnitude(m, x);
	a = IF(LESS(N(3.9375), a), N(3.9375), a);
	LLVMValueRef u = mad(m, a, N(0.7618), N(1)), at = LLVMBuildLShr(m->b, BITS(u), I(BITS_BELOW), "");
	LLVMValueRef t = SUB(a, looked_up(m, table[CENTRE], at)), p = looked_up(m, table[SLOPE + ERF_DEGREE - 1], at);
	for (unsigned k = ERF_DEGREE - 1; k-- > 0;)
		p = mad(m, p, t, looked_up(m, table[SLOPE + k], at));
	LLVMValueRef later = LLVMBuildFCmp(m->b, LLVMRealUGE, u, N(1.125), ""), value = IF(later, looked_up(m, table[VALUE], at), a);
	return with_sign_of(m, mad(m, p, t, value), x);
}

/* Near 0 x + x p(x^2); elsewhere 1 - e^q(x), q fitted to the logarithm of erfc. */
static LLVMValueRef emit_erf(const maths *m, LLVMValueRef x)
{
	if (in_registers(m->e, m->f))
		return emit_erf_looked_up(m, x);
	LLVMValueRef a = magnitude(m, x), z = MUL(a, a);
	LLVMValueRef p = POLY(z, 0.1283791666, -0.3761263370, 0.1128369394, -0.0268592708, 0.0052006343, -0.00081374375, 8.3452248e-5);
	LLVMValueRef near = mad(m, p, a, a);
	LLVMValueRef t = IF(LESS(N(4), a), N(4), a);
	LLVMValueRef q = POLY(t, 0.00017468444823, -1.12951493054, -0.63334690615, -0.10828008965, 0.02511942755, -0.00417106309,
		0.00043446263, -2.10950515e-5);
	LLVMValueRef far = SUB(N(1), emit_exp_near(m, q));
	return with_sign_of(m, IF(LESS(a, N(0.9275)), near, far), x);
}

/* ---- sine and cosine -------------------------------------------------------------------------------------------------- */

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
static LLVMValueRef table_part(const maths *m, LLVMValueRef table, LLVMValueRef at, int k)
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
static LLVMValueRef quadrant(const maths *m, LLVMValueRef x, LLVMValueRef *q, LLVMValueRef *low)
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

/* sin for shift 0, cos for shift 1: quadrant q + shift chooses polynomial and sign. */
static LLVMValueRef emit_sine(const maths *m, LLVMValueRef x, int shift)
{
	LLVMValueRef q, low, r = quadrant(m, magnitude(m, x), &q, &low), z = MUL(r, r), half = MUL(z, N(0.5)), whole = SUB(N(1), half);
	LLVMValueRef s = POLY(z, -0.16666666642, 0.00833332937, -0.00019839331, 2.7182744e-6);
	LLVMValueRef sine = ADD(mad(m, MUL(r, z), s, low), r);
	/* 1 - z/2 loses bits, which are added back */
	LLVMValueRef c = POLY(z, 0.04166666662, -0.00138888837, 2.47995159e-5, -2.72098921e-7);
	LLVMValueRef lost = SUB(SUB(SUB(N(1), whole), half), MUL(r, low));
	LLVMValueRef cosine = ADD(mad(m, MUL(z, z), c, lost), whole);
	q = LLVMBuildAdd(m->b, q, I(shift), "");
	LLVMValueRef odd = LLVMBuildICmp(m->b, LLVMIntNE, LLVMBuildAnd(m->b, q, I(1), ""), I(0), "");
	LLVMValueRef flip = LLVMBuildShl(m->b, LLVMBuildAnd(m->b, q, I(2), ""), I(30), "");
	if (shift == 0)
		flip = LLVMBuildXor(m->b, flip, LLVMBuildAnd(m->b, BITS(x), LLVMBuildShl(m->b, I(1), I(31), ""), ""), "");
	LLVMValueRef y = FLOAT(LLVMBuildXor(m->b, BITS(IF(odd, cosine, sine)), flip, ""));
	return IF(LESS(magnitude(m, x), N(INFINITY)), y, N(NAN));
}

/* ---- powers ------------------------------------------------------------------------------------------------------------- */

/* log2 of a positive x, in f64: twice the area tangent of (m - 1) / (m + 1). */
static LLVMValueRef log2_wide(const maths *m, LLVMValueRef x)
{
	LLVMValueRef small = LESS(x, N(0x1p-126)), bits = BITS(IF(small, MUL(x, N(0x1p24)), x));
	LLVMValueRef exponent = LLVMBuildAShr(m->b, LLVMBuildSub(m->b, bits, I(0x3f3504f3), ""), I(23), "");
	LLVMValueRef mantissa = LLVMBuildSub(m->b, bits, LLVMBuildShl(m->b, exponent, I(23), ""), "");
	LLVMValueRef k = SUB(LLVMBuildSIToFP(m->b, exponent, m->d, ""), IF(small, D(24), D(0)));
	LLVMValueRef w = LLVMBuildFPExt(m->b, FLOAT(mantissa), m->d, "");
	LLVMValueRef s = DIV(SUB(w, D(1)), ADD(w, D(1)));
	LLVMValueRef p = POLY(MUL(s, s), 0x1.71547652b82ffp+1, 0x1.ec709dc39cf0ap-1, 0x1.2776c5162045dp-1, 0x1.a617570e6087dp-2,
		0x1.484f86f473701p-2, 0x1.0bbbf4d0eb499p-2, 0x1.f128a87524839p-3);
	LLVMValueRef r = mad(m, s, p, k);
	r = IF(SAME(x, N(0)), D(-INFINITY), r);
	return IF(SAME(x, N(INFINITY)), D(INFINITY), r);
}

static LLVMValueRef exp2_wide(const maths *m, LLVMValueRef t)
{
	t = clamp(m, t, -200, 200);
	LLVMValueRef big = ADD(t, D(6755399441055744.0)), n = SUB(big, D(6755399441055744.0)), r = SUB(t, n);
	LLVMValueRef p = POLY(r, 0x1.62e42fef84f67p-1, 0x1.ebfbdff80e260p-3, 0x1.c6b08dd7064c8p-5, 0x1.3b2ab737c606ep-7,
		0x1.5d874566b2fa0p-10, 0x1.430877010ece0p-13, 0x1.00dc889d13c00p-16, 0x1.640836cff3c00p-20);
	p = mad(m, p, r, D(1));
	LLVMValueRef shift = LLVMBuildShl(m->b, LLVMBuildBitCast(m->b, big, m->l, ""), tsr_emit_number(m->e, m->l, 52), "");
	LLVMValueRef scaled = LLVMBuildAdd(m->b, LLVMBuildBitCast(m->b, p, m->l, ""), shift, "");
	return LLVMBuildFPTrunc(m->b, LLVMBuildBitCast(m->b, scaled, m->d, ""), m->f, "");
}

static LLVMValueRef is_whole(const maths *m, LLVMValueRef x)
{
	return SAME(intrinsic(m, "llvm.trunc", m->f, 1, &x), x);
}

/* 2^(y log2 |x|) in f64, rounded once; then the cases of C's pow. */
static LLVMValueRef emit_pow(const maths *m, LLVMValueRef x, LLVMValueRef y)
{
	LLVMValueRef a = magnitude(m, x), one = N(1), inf = N(INFINITY);
	LLVMValueRef t = MUL(log2_wide(m, a), LLVMBuildFPExt(m->b, y, m->d, ""));
	LLVMValueRef r = exp2_wide(m, t);
	LLVMValueRef whole = is_whole(m, y), odd = LLVMBuildAnd(m->b, whole, LLVMBuildNot(m->b, is_whole(m, MUL(y, N(0.5))), ""), "");
	odd = LLVMBuildAnd(m->b, odd, LESS(magnitude(m, y), inf), "");
	r = IF(odd, with_sign_of(m, r, x), r);
	LLVMValueRef wrong = LLVMBuildAnd(m->b, LESS(x, N(0)), LLVMBuildNot(m->b, whole, ""), "");
	r = IF(LLVMBuildAnd(m->b, wrong, LESS(a, inf), ""), N(NAN), r);
	r = IF(LLVMBuildAnd(m->b, SAME(a, one), SAME(magnitude(m, y), inf), ""), one, r);
	r = IF(LLVMBuildFCmp(m->b, LLVMRealUNO, x, y, ""), ADD(x, y), r);
	return IF(LLVMBuildOr(m->b, SAME(y, N(0)), SAME(x, one), ""), one, r);
}

/* The number that all lanes of a constant are. */
static bool constant_of(LLVMValueRef y, double *out)
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

/* x^n, n whole and not 0, and x^0.5, x^-0.5, in f64, rounded once; NULL for other exponents. */
static LLVMValueRef emit_power(const maths *m, LLVMValueRef x, LLVMValueRef y)
{
	enum { MOST = 16 };
	double n;
	if (!constant_of(y, &n) || n == 0 || fabs(n) > MOST || (n != trunc(n) && fabs(n) != 0.5))
		return NULL;
	LLVMValueRef product = NULL, one = LLVMConstReal(LLVMDoubleTypeInContext(m->e->context), 1);
	if (fabs(n) == 0.5) {            /* of -0 it is that of 0, of minus infinity that of infinity */
		x = IF(SAME(x, N(-INFINITY)), N(INFINITY), ADD(x, N(0)));
		LLVMValueRef wide = LLVMBuildFPExt(m->b, x, m->d, "");
		product = intrinsic(m, "llvm.sqrt", m->d, 1, &wide);
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

/* The C library's function, lane by lane. */
static LLVMValueRef call_library(tsr_emit *e, const char *name, unsigned n, LLVMValueRef *args)
{
	LLVMTypeRef type = LLVMTypeOf(args[0]), types[2] = {e->f64, e->f64};
	LLVMTypeRef ftype = LLVMFunctionType(e->f64, types, n, false);
	LLVMValueRef f = LLVMGetNamedFunction(e->module, name);
	if (!f) {
		f = LLVMAddFunction(e->module, name, ftype);
		static const char *const facts[] = {"nounwind", "willreturn", "nosync", "nofree"};
		for (int i = 0; i < 4; i++) {
			unsigned kind = LLVMGetEnumAttributeKindForName(facts[i], strlen(facts[i]));
			LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(e->context, kind, 0));
		}
		unsigned memory = LLVMGetEnumAttributeKindForName("memory", 6);
		LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(e->context, memory, 0));
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

LLVMValueRef tsr_emit_math(tsr_emit *e, tsr_op op, LLVMValueRef *args)
{
	maths here = maths_for(e, args[0]), *m = &here;
	if (LLVMTypeOf(args[0]) != m->f)
		return call_library(e, tsr_op_get(op)->name, tsr_op_get(op)->arity, args);
	if (op == TSR_OP_EXP)
		return emit_exp(m, args[0]);
	if (op == TSR_OP_EXP2)
		return emit_exp2(m, args[0]);
	if (op == TSR_OP_LOG)
		return emit_log(m, args[0]);
	if (op == TSR_OP_LOG2)
		return emit_log2(m, args[0]);
	if (op == TSR_OP_TANH)
		return emit_tanh(m, args[0]);
	if (op == TSR_OP_ERF)
		return emit_erf(m, args[0]);
	if (op == TSR_OP_SIN)
		return emit_sine(m, args[0], 0);
	if (op == TSR_OP_COS)
		return emit_sine(m, args[0], 1);
	if (op != TSR_OP_POW)
		return NULL;
	LLVMValueRef power = emit_power(m, args[0], args[1]);
	return power ? power : emit_pow(m, args[0], args[1]);
}
