/* Exponential and hyperbolic tangent in f32; how to read them: math.c. */
#include "maths.h"
#include <math.h>

/* x * 2^n with one rounding, n being `whole` as a float, by AVX-512's instruction, 0 in lanes outside of `some`, which is NULL for all;
 * NULL where the lanes are no whole registers.  2 to a whole number that is infinite is infinite or 0 even where x is NaN. */
static LLVMValueRef scaled_by_machine(const tsr_maths *m, LLVMValueRef x, LLVMValueRef whole, LLVMValueRef some)
{
	return tsr_math_in_registers(m->e, m->f) ? tsr_math_by_machine(m->e, "llvm.x86.avx512.mask.scalef.ps.512", x, whole, NULL, -1, some) : NULL;
}

/* x * 2^n for n in -252 .. 254, with one rounding: each factor is a normal number, and only the last product can leave
 * the normal range. */
static LLVMValueRef scale(const tsr_maths *m, LLVMValueRef x, LLVMValueRef n, LLVMValueRef whole)
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
static LLVMValueRef unless_vanishing(const tsr_maths *m, LLVMValueRef p, LLVMValueRef x, double low)
{
	return IF(LESS(x, N(low)), N(0), p);
}

/* x * 2^n where that stays normal. */
static LLVMValueRef scale_near(const tsr_maths *m, LLVMValueRef x, LLVMValueRef n, LLVMValueRef whole)
{
	LLVMValueRef once = scaled_by_machine(m, x, whole, NULL);
	return once ? once : MUL(x, FLOAT(LLVMBuildShl(m->b, LLVMBuildAdd(m->b, n, I(127), ""), I(23), "")));
}

/* e^x = 2^n e^r: gives 2^twos e^r, and the sum in whose low bits n + `above` stands; ln 2 in two parts, the first short enough for exact products.
 * The sign of an x that is `less` negated is free in the instructions that it enters. */
static LLVMValueRef split_exp(const tsr_maths *m, LLVMValueRef x, bool less, int above, int twos, LLVMValueRef *bits)
{
	static const double of_r[] = {1, 1, 0.5, 0.1666651818, 0.0416662056, 0.0083688967, 0.00139505015};
	double c[sizeof of_r / sizeof *of_r];
	for (unsigned i = 0; i < sizeof c / sizeof *c; i++)
		c[i] = ldexp(of_r[i], twos);
	LLVMValueRef of_whole = N(12582912.0 + above);
	LLVMValueRef big = tsr_math_mad(m, x, N(less ? -1.44269504088896341 : 1.44269504088896341), of_whole), whole = SUB(big, of_whole);
	LLVMValueRef r = tsr_math_mad(m, whole, N(-0.693359375), less ? LLVMBuildFNeg(m->b, x, "") : x);
	r = tsr_math_mad(m, whole, N(2.12194440054690583e-4), r);
	*bits = LLVMBuildShl(m->b, BITS(big), I(23), "");
	return tsr_math_poly(m, r, sizeof c / sizeof *c, c);
}

/* In AVX-512's code for single numbers. */
static LLVMValueRef reduced_exp(const tsr_maths *m, LLVMValueRef x, LLVMValueRef *n, LLVMValueRef *whole)
{
	*whole = tsr_math_nearest(m, tsr_math_mad(m, x, N(1.44269504088896341), N(12582912.0)), n);
	LLVMValueRef r = tsr_math_mad(m, *whole, N(-0.693359375), x);
	r = tsr_math_mad(m, *whole, N(2.12194440054690583e-4), r);
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

/* 2^(j/16) times the number near 1 that leaves all 16 nearest to f32 (0.19 units at most), 1 / 1.000617764890194 the rest. */
static const double sixteenths[TSR_MATH_REGISTER] = {1.0006177425384521, 1.0449188947677612, 1.0911813974380493, 1.139492154121399, 1.1899417638778687,
	1.2426249980926514, 1.2976406812667847, 1.355092167854309, 1.4150872230529785, 1.4777384996414185, 1.543163537979126, 1.611485242843628, 1.6828317642211914,
	1.7573370933532715, 1.8351410627365112, 1.9163897037506104};

/* e^r less 1 - `first`, the entry's rest taken in, of x = `whole` ln 2 + r, 0 <= r < ln 2 / 16, where the cubic is positive.  Where it is multiplied by itself the first part of
 * ln 2 is enough, so that nothing waits for the second one. */
static const double entries_rest = -6.17383492348633575e-4;
static LLVMValueRef rest(const tsr_maths *m, LLVMValueRef x, LLVMValueRef whole, double first)
{
	LLVMValueRef nearly = tsr_math_mad(m, whole, N(-0.693147182464599609), x), r = tsr_math_mad(m, whole, N(1.90465429995776805e-9), nearly);
	return tsr_math_mad(m, POLY(nearly, 0.99938324, 0.49960336, 0.17006299), r, N(first + entries_rest));
}

/* t e^r. */
static LLVMValueRef times_rest(const tsr_maths *m, LLVMValueRef t, LLVMValueRef x, LLVMValueRef whole) { return tsr_math_mad(m, t, rest(m, x, whole, 0), t); }

/* e^x = 2^(k/16) e^r by a table in a register: gives the product but for 2's whole power, floor(*whole).  k is rounded downwards however far x is beyond all results. */
static LLVMValueRef exp_by_table(const tsr_maths *m, LLVMValueRef x, LLVMValueRef *whole)
{
	LLVMValueRef product[3] = {x, N(1.44269504088896341), N(TSR_MATH_OF_SIXTEENTHS)};
	LLVMValueRef big = tsr_math_downwards(m, "llvm.x86.avx512.vfmadd.ps.512", 3, product), apart[2] = {big, N(TSR_MATH_OF_SIXTEENTHS)};
	*whole = tsr_math_downwards(m, "llvm.x86.avx512.sub.ps.512", 2, apart);
	return times_rest(m, tsr_math_looked_up(m, sixteenths, BITS(big)), x, *whole);
}

/* 2^(k/16) where no power vanishes: the sum's bits are those of a constant less k, as in math_eighths.c, and name the entry, and say whether some lane's power is out of bounds. */
static LLVMValueRef power_at_once(const tsr_maths *m, LLVMValueRef k, LLVMValueRef whole)
{
	uint32_t entries[TSR_MATH_REGISTER];
	for (uint32_t j = 0; j < TSR_MATH_REGISTER; j++) {
		double entry = sixteenths[(TSR_MATH_REGISTER - j) % TSR_MATH_REGISTER];
		entries[j] = m->e->target->scales ? tsr_math_bits_of(entry) : tsr_math_bits_of(ldexp(entry, j ? 1 : 2)) + (j << 19);
	}
	LLVMValueRef t = tsr_math_word_looked_up(m, entries, k);
	if (m->e->target->scales)
		return scaled_by_machine(m, FLOAT(t), whole, NULL);
	return FLOAT(LLVMBuildSub(m->b, t, LLVMBuildShl(m->b, k, I(19), ""), ""));
}

LLVMValueRef tsr_math_exp_at_once(const tsr_maths *m, LLVMValueRef x, LLVMValueRef acc, LLVMValueRef *sum)
{
	LLVMValueRef product[3] = {x, N(-1.44269504088896341), N(TSR_MATH_OF_SIXTEENTHS)};
	*sum = tsr_math_upwards(m, "llvm.x86.avx512.vfmadd.ps.512", 3, product);
	LLVMValueRef whole = SUB(N(TSR_MATH_OF_SIXTEENTHS), *sum), t = power_at_once(m, BITS(*sum), whole);
	return acc ? tsr_math_mad(m, t, rest(m, x, whole, 1), acc) : times_rest(m, t, x, whole);
}

LLVMValueRef tsr_math_exp_added(const tsr_maths *m, LLVMValueRef x, LLVMValueRef acc)
{
	LLVMValueRef sum, low = N(-87);
	return tsr_math_exp_at_once(m, IF(LESS(x, low), low, x), acc, &sum);
}

/* AVX-512's scaling makes infinity of what is too large by itself; an infinite x leaves NaN times 2^infinity, which the instruction takes for
 * infinity.  What vanishes is masked where it is scaled, whatever came of it before.  Signs are free in the instructions that the argument enters. */
static LLVMValueRef emit_exp_scaled(const tsr_maths *m, LLVMValueRef x)
{
	LLVMValueRef whole, less = negated(x);
	LLVMValueRef p = exp_by_table(m, less ? LLVMBuildFNeg(m->b, less, "") : x, &whole);
	LLVMValueRef some = less ? LLVMBuildFCmp(m->b, LLVMRealULE, less, N(104), "") : LLVMBuildFCmp(m->b, LLVMRealUGE, x, N(-104), "");
	return scaled_by_machine(m, p, whole, some);
}

/* 2^n as two factors, 2^-102 and what makes exponents of both: the larger half is at least 2^-126, and only the last product can leave the normal
 * range.  Where all is rounded to 0, which is below -104, n is at most -151, and the first factor is 0: the processor takes up to hundreds of cycles
 * for a result below the normal numbers, and masked positions, at -1e9, are half of attention's. */
enum { ABOVE = 152, TWOS = 2 * 127 - ABOVE };

/* `both`: n + ABOVE in the place of an exponent. */
static LLVMValueRef scale_short(const tsr_maths *m, LLVMValueRef p, LLVMValueRef both)
{
	LLVMValueRef one = LLVMBuildAnd(m->b, LLVMBuildLShr(m->b, both, I(1), ""), I((int32_t)0xff800000), "");
	return MUL(MUL(p, FLOAT(one)), FLOAT(LLVMBuildSub(m->b, both, one, "")));
}

static LLVMValueRef exp_of_any(const tsr_maths *m, LLVMValueRef x, LLVMValueRef less)
{
	LLVMValueRef both, of = less ? tsr_math_clamp(m, less, -89, 105) : tsr_math_clamp(m, x, -105, 89);
	LLVMValueRef p = tsr_math_by_eighths(m->e) ? tsr_math_exp_apart(m, of, less, ABOVE, TWOS, &both) : split_exp(m, of, less, ABOVE, TWOS, &both);
	return scale_short(m, p, both);
}

/* The same numbers where all results are normal. */
static LLVMValueRef exp_of_moderate(const tsr_maths *m, LLVMValueRef x, LLVMValueRef less)
{
	if (tsr_math_by_eighths(m->e)) {
		tsr_emit_half half = tsr_math_exp_start(m, less ? less : x, less);
		return tsr_math_exp_finish(m, &half);
	}
	LLVMValueRef exponent, p = split_exp(m, less ? less : x, less, 0, 0, &exponent);
	return FLOAT(LLVMBuildAdd(m->b, BITS(p), exponent, ""));
}

LLVMValueRef tsr_math_over_registers(const tsr_maths *m, const char *name, LLVMValueRef x)
{
	LLVMValueRef at[64];
	unsigned lanes = LLVMGetVectorSize(m->i), least = m->e->target->vector_bytes / 4;
	for (unsigned i = 0; i < lanes; i++)
		at[i] = LLVMConstInt(m->e->i32, i, false);
	for (; lanes > least; lanes /= 2) {
		LLVMValueRef half[2];
		for (int i = 0; i < 2; i++)
			half[i] = LLVMBuildShuffleVector(m->b, x, x, LLVMConstVector(at + i * (int)lanes / 2, lanes / 2), "");
		x = name ? tsr_math_intrinsic(m, name, LLVMTypeOf(half[0]), 2, half) : LLVMBuildOr(m->b, half[0], half[1], "");
	}
	return x;
}

/* Whether a lane's magnitude is above `most`, or NaN, by its bits. */
static LLVMValueRef any_above(const tsr_maths *m, LLVMValueRef x, double most)
{
	LLVMValueRef a = tsr_math_over_registers(m, "llvm.smax", LLVMBuildAnd(m->b, BITS(x), I(INT32_MAX), ""));
	LLVMTypeRef type = LLVMVectorType(m->e->f32, LLVMGetVectorSize(LLVMTypeOf(a)));
	LLVMValueRef above = LLVMBuildFCmp(m->b, LLVMRealUGT, LLVMBuildBitCast(m->b, a, type, ""), tsr_emit_number(m->e, type, most), "");
	return tsr_math_intrinsic(m, "llvm.vector.reduce.or", LLVMTypeOf(above), 1, &above);
}

/* Some most often, or all: both are computed in branches of their own. */
typedef struct branches { LLVMBasicBlockRef all, join, from[2]; LLVMValueRef given[2]; } branches;

static branches begin_usual(const tsr_maths *m, LLVMValueRef extreme)
{
	LLVMBasicBlockRef few = tsr_emit_block(m->e, "moderate");
	branches b = {.all = tsr_emit_block(m->e, "extreme"), .join = tsr_emit_block(m->e, "exp")};
	tsr_emit_seldom(m->e, LLVMBuildNot(m->b, extreme, ""), few, b.all);
	LLVMPositionBuilderAtEnd(m->b, few);
	return b;
}

static void end_branch(const tsr_maths *m, branches *b, unsigned i, LLVMValueRef given, LLVMBasicBlockRef next)
{
	b->given[i] = given;
	b->from[i] = LLVMGetInsertBlock(m->b);
	LLVMBuildBr(m->b, b->join);
	LLVMPositionBuilderAtEnd(m->b, next);
}

static LLVMValueRef joined(const tsr_maths *m, branches *b)
{
	LLVMValueRef phi = LLVMBuildPhi(m->b, m->f, "");
	LLVMAddIncoming(phi, b->given, b->from, 2);
	return phi;
}

static LLVMValueRef emit_exp_short(const tsr_maths *m, LLVMValueRef x)
{
	LLVMValueRef less = negated(x);
	if (LLVMGetTypeKind(m->f) != LLVMVectorTypeKind || !tsr_math_may_branch(m))
		return exp_of_any(m, x, less);
	branches b = begin_usual(m, any_above(m, less ? less : x, 86.9));
	end_branch(m, &b, 0, exp_of_moderate(m, x, less), b.all);
	end_branch(m, &b, 1, exp_of_any(m, x, less), b.join);
	return joined(m, &b);
}

LLVMValueRef tsr_math_exp_rest(const tsr_maths *m, const tsr_emit_half *half, const tsr_emit_again *again)
{
	branches b = begin_usual(m, tsr_math_any_vanishes(m, half));
	end_branch(m, &b, 0, tsr_math_exp_finish(m, half), b.all);
	end_branch(m, &b, 1, exp_of_any(m, again->of(again), NULL), b.join);
	return joined(m, &b);
}

/* e^x = 2^n e^r as a product with 2^n, which a sum takes in: the rounding of the product, and of what is less than the sum's last place, do not matter
 * there.  1.54 * 2^-24 are the polynomial's.  The exponential of what is `less` negated. */
static tsr_emit_half start_to_add(const tsr_maths *m, LLVMValueRef x, bool less)
{
	LLVMValueRef of_whole = N(12582912.0 + 127), sum = tsr_math_mad(m, x, N(less ? -1.44269504088896341 : 1.44269504088896341), of_whole);
	LLVMValueRef whole = SUB(sum, of_whole), r = tsr_math_mad(m, whole, N(-0.693147182464599609), less ? LLVMBuildFNeg(m->b, x, "") : x);
	return (tsr_emit_half){sum, tsr_math_mad(m, whole, N(1.90465429995776805e-9), r)};
}

tsr_emit_half tsr_math_exp_beside_start(const tsr_maths *m, LLVMValueRef x)
{
	LLVMValueRef less = negated(x);
	return start_to_add(m, less ? tsr_math_clamp(m, less, -88, 87) : tsr_math_clamp(m, x, -87, 88), less != NULL);
}

LLVMValueRef tsr_math_exp_beside_finish(const tsr_maths *m, const tsr_emit_half *x)
{
	LLVMValueRef p = POLY(x->rest, 1, 0.999999702, 0.4999915063, 0.1666764766, 0.0418978557, 0.008289726451);
	LLVMValueRef product = MUL(p, FLOAT(LLVMBuildShl(m->b, BITS(x->sum), I(23), "")));
	LLVMSetFastMathFlags(product, LLVMFastMathAllowContract);
	return product;
}

LLVMValueRef tsr_math_exp_beside(const tsr_maths *m, LLVMValueRef x)
{
	if (!tsr_math_short(m->e))
		return tsr_math_exp(m, x);
	if (m->e->target->fma) {
		tsr_emit_half half = tsr_math_exp_beside_start(m, x);
		return tsr_math_exp_beside_finish(m, &half);
	}
	LLVMValueRef factor, less = negated(x);
	x = less ? tsr_math_clamp(m, less, -89, 87) : tsr_math_clamp(m, x, -87, 89);
	LLVMValueRef p = split_exp(m, x, less, 126, 1, &factor);
	return MUL(p, FLOAT(factor));
}

LLVMValueRef tsr_math_exp(const tsr_maths *m, LLVMValueRef x)
{
	if (tsr_math_in_registers(m->e, m->f))
		return emit_exp_scaled(m, x);
	if (tsr_math_short(m->e))
		return emit_exp_short(m, x);
	LLVMValueRef n, whole, p = reduced_exp(m, tsr_math_clamp(m, x, -104, 89), &n, &whole);
	return scale(m, unless_vanishing(m, p, x, -104), n, whole);
}

LLVMValueRef tsr_math_exp_near(const tsr_maths *m, LLVMValueRef x)
{
	LLVMValueRef n, whole;
	if (tsr_math_in_registers(m->e, m->f)) {
		LLVMValueRef of = exp_by_table(m, x, &whole);
		return scaled_by_machine(m, of, whole, NULL);
	}
	if (tsr_math_short(m->e)) {
		LLVMValueRef factor, p = split_exp(m, x, false, 127, 0, &factor);
		return MUL(p, FLOAT(factor));
	}
	LLVMValueRef p = reduced_exp(m, x, &n, &whole);
	return scale_near(m, p, n, whole);
}

static LLVMValueRef emit_exp2_short(const tsr_maths *m, LLVMValueRef x)
{
	static const double of_r[] = {0.69314718054, 0.24022651078, 0.05550410963, 0.00961803654, 0.00133334303, 0.00015467238, 1.531507e-5};
	double c[1 + sizeof of_r / sizeof *of_r] = {ldexp(1, TWOS)};
	for (unsigned i = 0; i < sizeof of_r / sizeof *of_r; i++)
		c[1 + i] = ldexp(of_r[i], TWOS);
	LLVMValueRef of_whole = N(12582912.0 + ABOVE);
	x = tsr_math_clamp(m, x, -151, 129);
	LLVMValueRef big = ADD(x, of_whole), r = SUB(x, SUB(big, of_whole));
	return scale_short(m, tsr_math_poly(m, r, sizeof c / sizeof *c, c), LLVMBuildShl(m->b, BITS(big), I(23), ""));
}

LLVMValueRef tsr_math_exp2(const tsr_maths *m, LLVMValueRef x)
{
	if (tsr_math_short(m->e))
		return emit_exp2_short(m, x);
	LLVMValueRef bits, given = x;
	x = tsr_math_clamp(m, x, -151, 129);
	LLVMValueRef n = tsr_math_nearest(m, ADD(x, N(12582912.0)), &bits), r = SUB(x, n);
	LLVMValueRef p = POLY(r, 0.69314718054, 0.24022651078, 0.05550410963, 0.00961803654, 0.00133334303, 0.00015467238, 1.531507e-5);
	return scale(m, unless_vanishing(m, tsr_math_mad(m, p, r, N(1)), given, -150), bits, n);
}

/* e^2a for 0 <= a < 10, whose relative error matters the less the larger a is: ln 2 / 2 in one part. */
static LLVMValueRef exp_of_twice(const tsr_maths *m, LLVMValueRef a)
{
	LLVMValueRef of_whole = N(12582912.0 + 127), big = tsr_math_mad(m, a, N(2 * 1.44269504088896341), of_whole);
	LLVMValueRef r = tsr_math_mad(m, SUB(big, of_whole), N(-0.5 * 0.693147180559945309), a);
	LLVMValueRef p = POLY(r, 1, 2, 2, 8 * 0.1666651818, 16 * 0.0416662056, 32 * 0.0083688967, 64 * 0.00139505015);
	return MUL(p, FLOAT(LLVMBuildShl(m->b, BITS(big), I(23), "")));
}

/* (e^2x - 1) / (e^2x + 1), of either sign: exact where it is 0, 1 and -1. */
LLVMValueRef tsr_math_tanh_beside(const tsr_maths *m, LLVMValueRef x)
{
	x = tsr_math_clamp(m, x, -9.5, 9.5);
	LLVMValueRef of_whole = N(12582912.0 + 127), big = tsr_math_mad(m, x, N(2 * 1.44269504088896341), of_whole);
	LLVMValueRef r = tsr_math_mad(m, SUB(big, of_whole), N(-0.5 * 0.693147180559945309), x);
	LLVMValueRef p = POLY(r, 1, 2 * 0.999999702, 4 * 0.4999915063, 8 * 0.1666764766, 16 * 0.0418978557, 32 * 0.008289726451);
	LLVMValueRef power = FLOAT(LLVMBuildShl(m->b, BITS(big), I(23), ""));
	return DIV(tsr_math_mad(m, p, power, N(-1)), tsr_math_mad(m, p, power, N(1)));
}

/* Near 0 a polynomial; elsewhere 1 - 2 / (e^2|x| + 1), which is 1 from 9.02 on. */
LLVMValueRef tsr_math_tanh(const tsr_maths *m, LLVMValueRef x)
{
	LLVMValueRef a = tsr_math_magnitude(m, x), z = MUL(x, x);
	LLVMValueRef p = POLY(z, -0.3333333091, 0.1333320976, -0.0539472045, 0.0217029671, -0.0081826739, 0.0021475369);
	LLVMValueRef near = tsr_math_mad(m, MUL(a, z), p, a);
	LLVMValueRef e;
	if (tsr_math_short(m->e) && m->e->target->fma)
		e = exp_of_twice(m, IF(LESS(N(9.5), a), N(9.5), a));
	else {
		LLVMValueRef twice = ADD(a, a);
		e = tsr_math_exp_near(m, IF(LESS(N(19), twice), N(19), twice));
	}
	LLVMValueRef far = SUB(N(1), DIV(N(2), ADD(e, N(1))));
	return tsr_math_with_sign_of(m, IF(LESS(a, N(0.625)), near, far), x);
}
