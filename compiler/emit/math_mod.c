/* x modulo y for floats, with the sign of y, in vectors; how to read it: math.c. */
#include "maths.h"

/* With n the whole part of the rounded quotient, x - n y is a number without rounding where it has y's sign: a multiple of the last place of x or y,
 * and less than y.  A quotient that was rounded up to a whole number makes n too large by one, and the rest has the other sign; y, added, gives what the exact
 * n would have given, rounded once in either case.  So the result is fmod's to the bit.  Large quotients, and what is no number, take the other way. */
typedef struct division { LLVMValueRef x, y; tsr_emit_remainder by_library; } division;

static LLVMValueRef divided_by_library(const tsr_maths *m, const void *given)
{
	const division *d = given;
	return d->by_library(m->e, d->x, d->y);
}

bool tsr_emit_has_mod(const tsr_emit *e) { return e->target->fma; }

LLVMValueRef tsr_emit_mod(tsr_emit *e, LLVMValueRef x, LLVMValueRef y, tsr_emit_remainder by_library)
{
	tsr_maths here = {.e = e, .b = e->builder, .f = LLVMTypeOf(x)}, *m = &here;
	bool doubles = LLVMGetElementType(here.f) == e->f64;
	LLVMValueRef quotient = DIV(x, y), n = tsr_math_intrinsic(m, "llvm.floor", here.f, 1, &quotient);
	LLVMValueRef rest = tsr_math_mad(m, NEG(n), y, x), zero = LLVMConstNull(here.f);
	LLVMValueRef other = LLVMBuildXor(m->b, LESS(rest, zero), LESS(y, zero), "");
	LLVMValueRef r = IF(SAME(rest, zero), tsr_math_with_sign_of(m, zero, x), IF(other, ADD(rest, y), rest));
	double many = doubles ? 0x1p50 : 0x1p21, most = doubles ? 0x1.fffffffffffffp1023 : 0x1.fffffep127;
	tsr_math_bounds usual[2] = {{quotient, -many, many}, {y, -most, most}};
	return tsr_math_or_else(m, 2, usual, r, divided_by_library, &(division){x, y, by_library});
}
