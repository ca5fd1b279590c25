/* e^x in f32 by 2's powers of eighths, from a table in one register of eight numbers (AVX2). */
#include "maths.h"
#include <math.h>

enum { EIGHTHS = 8 };

/* 2^(j/8) times the number near 1 that leaves all of them nearest to f32 (0.12 units of 2^-24 at most), 1 / 0.99753773; no entry is below 1. */
static const double table[EIGHTHS] = {1.0024683475494385, 1.0931994915008545, 1.1921424865722656, 1.300040602684021, 1.4177043437957764,
	1.5460175275802612, 1.6859440803527832, 1.8385350704193115};

/* What multiplies must fuse: products are rounded with their sums. */
bool tsr_math_by_eighths(const tsr_emit *e)
{
	return e->target->lookup == EIGHTHS && e->target->fma;
}

static LLVMValueRef lanes_of(const tsr_maths *m, LLVMValueRef x, unsigned from, unsigned n, unsigned of)
{
	LLVMValueRef at[64];
	for (unsigned i = 0; i < n; i++)
		at[i] = LLVMConstInt(m->e->i32, from + i % of, false);
	return LLVMBuildShuffleVector(m->b, x, LLVMGetPoison(LLVMTypeOf(x)), LLVMConstVector(at, n), "");
}

/* The entry that the low three bits of each lane name, as bits.  Less than a register, or a single number, is looked up as one. */
static LLVMValueRef looked_up(const tsr_maths *m, const uint32_t *entries, LLVMValueRef at)
{
	static const char name[] = "llvm.x86.avx2.permps";
	tsr_emit *e = m->e;
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, LLVMLookupIntrinsicID(name, sizeof name - 1), NULL, 0), entry[EIGHTHS];
	for (unsigned j = 0; j < EIGHTHS; j++)
		entry[j] = LLVMConstInt(e->i32, entries[j], false);
	LLVMTypeRef register_type = LLVMVectorType(e->f32, EIGHTHS);
	LLVMValueRef given[2] = {LLVMConstBitCast(LLVMConstVector(entry, EIGHTHS), register_type), NULL};
	bool single = LLVMGetTypeKind(m->i) != LLVMVectorTypeKind;
	unsigned lanes = single ? 1 : LLVMGetVectorSize(m->i);
	LLVMValueRef out = LLVMGetPoison(m->f), first = tsr_emit_number(e, e->i32, 0);
	if (single)
		at = LLVMBuildInsertElement(m->b, LLVMConstNull(LLVMVectorType(e->i32, EIGHTHS)), at, first, "");
	for (unsigned from = 0; from < lanes; from += EIGHTHS) {
		unsigned here = lanes - from < EIGHTHS ? lanes - from : EIGHTHS;
		given[1] = single || lanes == EIGHTHS ? at : lanes_of(m, at, from, EIGHTHS, here);
		LLVMValueRef part = LLVMBuildCall2(m->b, LLVMGlobalGetValueType(f), f, given, 2, "");
		if (single)
			return BITS(LLVMBuildExtractElement(m->b, part, first, ""));
		if (lanes == EIGHTHS)
			return BITS(part);
		LLVMValueRef place[64], wide = lanes_of(m, part, 0, lanes, EIGHTHS);
		for (unsigned i = 0; i < lanes; i++)
			place[i] = LLVMConstInt(e->i32, i >= from && i < from + here ? lanes + i : i, false);
		out = LLVMBuildShuffleVector(m->b, out, wide, LLVMConstVector(place, lanes), "");
	}
	return BITS(out);
}

/* e^x = 2^(k/8) e^r.  The sign of an x that is `less` negated is free in the instructions that it enters. */
static const double of_eighths = 1572864.0;                                  /* 1.5 * 2^20: the last bit is 1/8 */
static LLVMValueRef eighths_of(const tsr_maths *m, bool less) { return N(less ? -1.44269504088896341 : 1.44269504088896341); }

/* What of x is left, by ln 2 in two parts, of which the first product is rounded with its sum. */
static LLVMValueRef rest_of(const tsr_maths *m, LLVMValueRef x, bool less, LLVMValueRef eighths)
{
	LLVMValueRef r = tsr_math_mad(m, eighths, N(-0.693147182464599609), less ? LLVMBuildFNeg(m->b, x, "") : x);
	return tsr_math_mad(m, eighths, N(1.90465429995776805e-9), r);
}

/* e^r = (1 + q) / the table's factor. */
static LLVMValueRef q_of(const tsr_maths *m, LLVMValueRef r)
{
	return POLY(r, -0.0024622888304293156, 0.9975377321243286, 0.49884694814682007, 0.16627971827983856);
}

/* The sum's bits are those of 1.5 * 2^20 less k, so that the lower x is, or NaN of whatever sign, the larger they are, and one constant serves twice.  An entry
 * that the low three name, to which they are added where eighths stand, and whole powers less are 2^(k/8) in one difference. */
LLVMValueRef tsr_math_exp_finish(const tsr_maths *m, const tsr_emit_half *x)
{
	uint32_t entries[EIGHTHS];
	for (uint32_t j = 0; j < EIGHTHS; j++)
		entries[j] = tsr_math_bits_of(ldexp(table[(EIGHTHS - j) % EIGHTHS], j ? -1 : 0)) + (j << 20);
	LLVMValueRef k = BITS(x->sum);
	LLVMValueRef power = FLOAT(LLVMBuildSub(m->b, looked_up(m, entries, k), LLVMBuildShl(m->b, k, I(20), ""), ""));
	return tsr_math_mad(m, power, q_of(m, x->rest), power);
}

tsr_emit_half tsr_math_exp_start(const tsr_maths *m, LLVMValueRef x, bool less)
{
	LLVMValueRef sum = tsr_math_mad(m, x, eighths_of(m, !less), N(of_eighths));
	return (tsr_emit_half){sum, rest_of(m, x, less, SUB(N(of_eighths), sum))};
}

static LLVMValueRef any_beyond(const tsr_maths *m, LLVMIntPredicate than, LLVMValueRef bits)
{
	enum { LEAST = 125 };                    /* of sixteenths a little more, so that the bits of numbers within bounds, taken together, stay within, too */
	double most = m->e->target->lookup == EIGHTHS ? of_eighths + LEAST : TSR_MATH_OF_SIXTEENTHS + 126 - 1 / 16.;
	LLVMValueRef low = LLVMBuildICmp(m->b, than, bits, tsr_emit_number(m->e, LLVMTypeOf(bits), tsr_math_bits_of(most)), "");
	return tsr_math_intrinsic(m, "llvm.vector.reduce.or", LLVMTypeOf(low), 1, &low);
}

/* A negative NaN is none, which may as well be computed the usual way: signed numbers are compared in one instruction. */
LLVMValueRef tsr_math_any_vanishes(const tsr_maths *m, const tsr_emit_half *x)
{
	return any_beyond(m, LLVMIntSGT, tsr_math_over_registers(m, "llvm.smax", BITS(x->sum)));
}

LLVMValueRef tsr_math_exp_failed(const tsr_maths *m, LLVMValueRef worst) { return any_beyond(m, LLVMIntUGT, worst); }

LLVMValueRef tsr_math_exp_apart(const tsr_maths *m, LLVMValueRef x, bool less, int above, int twos, LLVMValueRef *whole)
{
	uint32_t entries[EIGHTHS];
	for (uint32_t j = 0; j < EIGHTHS; j++)
		entries[j] = tsr_math_bits_of(ldexp(table[j], twos));
	LLVMValueRef of_all = N(of_eighths + above), big = tsr_math_mad(m, x, eighths_of(m, less), of_all), k = BITS(big), t = FLOAT(looked_up(m, entries, k));
	*whole = LLVMBuildShl(m->b, LLVMBuildAnd(m->b, k, I(-EIGHTHS), ""), I(20), "");
	return tsr_math_mad(m, t, q_of(m, rest_of(m, x, less, SUB(big, of_all))), t);
}
