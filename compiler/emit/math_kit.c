/* What the elementary functions are written with (maths.h). */
#include "maths.h"
#include <string.h>

LLVMValueRef tsr_math_intrinsic(const tsr_maths *m, const char *name, LLVMTypeRef type, unsigned n, LLVMValueRef *args)
{
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(m->e->module, id, &type, 1);
	return LLVMBuildCall2(m->b, LLVMIntrinsicGetType(m->e->context, id, &type, 1), f, args, n, "");
}

uint32_t tsr_math_bits_of(double x)
{
	float f = (float)x;
	uint32_t bits;
	memcpy(&bits, &f, sizeof bits);
	return bits;
}

LLVMValueRef tsr_math_mad(const tsr_maths *m, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z)
{
	LLVMValueRef args[3] = {x, y, z};
	return tsr_math_intrinsic(m, m->e->target->fma ? "llvm.fma" : "llvm.fmuladd", LLVMTypeOf(x), 3, args);
}

LLVMValueRef tsr_math_magnitude(const tsr_maths *m, LLVMValueRef x)
{
	return tsr_math_intrinsic(m, "llvm.fabs", LLVMTypeOf(x), 1, &x);
}

LLVMValueRef tsr_math_with_sign_of(const tsr_maths *m, LLVMValueRef x, LLVMValueRef sign)
{
	LLVMValueRef args[2] = {x, sign};
	return tsr_math_intrinsic(m, "llvm.copysign", LLVMTypeOf(x), 2, args);
}

LLVMValueRef tsr_math_poly(const tsr_maths *m, LLVMValueRef x, unsigned n, const double *c)
{
	LLVMTypeRef t = LLVMTypeOf(x);
	LLVMValueRef p = tsr_emit_number(m->e, t, c[n - 1]);
	for (unsigned i = n - 1; i-- > 0;)
		p = tsr_math_mad(m, p, x, tsr_emit_number(m->e, t, c[i]));
	return p;
}
LLVMValueRef tsr_math_clamp(const tsr_maths *m, LLVMValueRef x, double low, double high)
{
	LLVMTypeRef t = LLVMTypeOf(x);
	LLVMValueRef lo = tsr_emit_number(m->e, t, low), hi = tsr_emit_number(m->e, t, high);
	x = IF(LESS(x, lo), lo, x);
	return IF(LESS(hi, x), hi, x);
}

LLVMValueRef tsr_math_nearest(const tsr_maths *m, LLVMValueRef big, LLVMValueRef *bits)
{
	*bits = LLVMBuildSub(m->b, BITS(big), I(0x4b400000), "");
	return SUB(big, N(12582912.0));
}

enum { MOST_REGISTERS = 4, AS_SET = 4 };

bool tsr_math_short(const tsr_emit *e)
{
	return e->target->vector_bytes != 4 * TSR_MATH_REGISTER;
}

bool tsr_math_may_branch(const tsr_maths *m) { return LLVMGetBasicBlockParent(LLVMGetInsertBlock(m->b)) == m->e->function; }

unsigned tsr_math_in_registers(const tsr_emit *e, LLVMTypeRef type)
{
	unsigned lanes = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
	return tsr_math_short(e) || lanes % TSR_MATH_REGISTER || lanes > TSR_MATH_REGISTER * MOST_REGISTERS ? 0 : lanes;
}

/* One register of x, its lanes from `from` on. */
static LLVMValueRef register_of(tsr_emit *e, LLVMValueRef x, unsigned from)
{
	LLVMValueRef at[TSR_MATH_REGISTER];
	for (unsigned i = 0; i < TSR_MATH_REGISTER; i++)
		at[i] = LLVMConstInt(e->i32, from + i, false);
	return LLVMBuildShuffleVector(e->builder, x, LLVMGetPoison(LLVMTypeOf(x)), LLVMConstVector(at, TSR_MATH_REGISTER), "");
}

LLVMValueRef tsr_math_by_machine(tsr_emit *e, const char *name, LLVMValueRef x, LLVMValueRef y, LLVMValueRef third, int how, LLVMValueRef some)
{
	unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(x));
	LLVMValueRef part[MOST_REGISTERS], f = LLVMGetIntrinsicDeclaration(e->module, LLVMLookupIntrinsicID(name, strlen(name)), NULL, 0);
	for (unsigned from = 0; from < lanes; from += TSR_MATH_REGISTER) {
		LLVMValueRef given[6];
		unsigned n = 0;
		given[n++] = register_of(e, x, from), given[n++] = register_of(e, y, from);
		given[n++] = third ? third : LLVMConstNull(LLVMVectorType(e->f32, TSR_MATH_REGISTER));
		if (how >= 0)
			given[n++] = LLVMConstInt(e->i32, (unsigned)how, false);
		given[n++] = some ? LLVMBuildBitCast(e->builder, register_of(e, some, from), e->i16, "") : LLVMConstInt(e->i16, 0xffff, false);
		given[n++] = LLVMConstInt(e->i32, AS_SET, false);
		part[from / TSR_MATH_REGISTER] = LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(f), f, given, n, "");
	}
	return tsr_emit_concat(e, part, lanes / TSR_MATH_REGISTER);
}

LLVMValueRef tsr_math_by_machine_alone(const tsr_maths *m, const char *name, LLVMValueRef x, int how)
{
	tsr_emit *e = m->e;
	unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(x));
	LLVMValueRef part[MOST_REGISTERS], f = LLVMGetIntrinsicDeclaration(e->module, LLVMLookupIntrinsicID(name, strlen(name)), NULL, 0);
	for (unsigned from = 0; from < lanes; from += TSR_MATH_REGISTER) {
		LLVMValueRef given[5];
		unsigned n = 0;
		given[n++] = register_of(e, x, from);
		if (how >= 0)
			given[n++] = LLVMConstInt(e->i32, (unsigned)how, false);
		given[n++] = LLVMConstNull(LLVMVectorType(e->f32, TSR_MATH_REGISTER));
		given[n++] = LLVMConstInt(e->i16, 0xffff, false);
		given[n++] = LLVMConstInt(e->i32, AS_SET, false);
		part[from / TSR_MATH_REGISTER] = LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(f), f, given, n, "");
	}
	return tsr_emit_concat(e, part, lanes / TSR_MATH_REGISTER);
}

static LLVMValueRef rounded(const tsr_maths *m, const char *name, unsigned n, const LLVMValueRef *args, unsigned how)
{
	tsr_emit *e = m->e;
	unsigned lanes = LLVMGetVectorSize(m->f);
	LLVMValueRef part[MOST_REGISTERS], f = LLVMGetIntrinsicDeclaration(e->module, LLVMLookupIntrinsicID(name, strlen(name)), NULL, 0);
	for (unsigned from = 0; from < lanes; from += TSR_MATH_REGISTER) {
		LLVMValueRef given[4];
		for (unsigned i = 0; i < n; i++)
			given[i] = register_of(e, args[i], from);
		given[n] = LLVMConstInt(e->i32, how, false);
		part[from / TSR_MATH_REGISTER] = LLVMBuildCall2(m->b, LLVMGlobalGetValueType(f), f, given, n + 1, "");
	}
	return tsr_emit_concat(e, part, lanes / TSR_MATH_REGISTER);
}

enum { DOWNWARDS = 9, UPWARDS = 10 };
LLVMValueRef tsr_math_downwards(const tsr_maths *m, const char *name, unsigned n, const LLVMValueRef *args) { return rounded(m, name, n, args, DOWNWARDS); }
LLVMValueRef tsr_math_upwards(const tsr_maths *m, const char *name, unsigned n, const LLVMValueRef *args) { return rounded(m, name, n, args, UPWARDS); }

static LLVMValueRef looked_up(const tsr_maths *m, LLVMValueRef table, LLVMValueRef at)
{
	static const char name[] = "llvm.x86.avx512.permvar.sf.512";
	tsr_emit *e = m->e;
	unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(at));
	LLVMValueRef part[MOST_REGISTERS], f = LLVMGetIntrinsicDeclaration(e->module, LLVMLookupIntrinsicID(name, sizeof name - 1), NULL, 0);
	for (unsigned from = 0; from < lanes; from += TSR_MATH_REGISTER) {
		LLVMValueRef given[2] = {table, register_of(e, at, from)};
		part[from / TSR_MATH_REGISTER] = LLVMBuildCall2(m->b, LLVMGlobalGetValueType(f), f, given, 2, "");
	}
	return tsr_emit_concat(e, part, lanes / TSR_MATH_REGISTER);
}

LLVMValueRef tsr_math_looked_up(const tsr_maths *m, const double *table, LLVMValueRef at)
{
	LLVMValueRef entry[TSR_MATH_REGISTER];
	for (unsigned i = 0; i < TSR_MATH_REGISTER; i++)
		entry[i] = LLVMConstReal(m->e->f32, table[i]);
	return looked_up(m, LLVMConstVector(entry, TSR_MATH_REGISTER), at);
}

LLVMValueRef tsr_math_word_looked_up(const tsr_maths *m, const uint32_t *table, LLVMValueRef at)
{
	LLVMValueRef entry[TSR_MATH_REGISTER];
	for (unsigned i = 0; i < TSR_MATH_REGISTER; i++)
		entry[i] = LLVMConstInt(m->e->i32, table[i], false);
	LLVMTypeRef type = LLVMVectorType(m->e->f32, TSR_MATH_REGISTER);
	return BITS(looked_up(m, LLVMConstBitCast(LLVMConstVector(entry, TSR_MATH_REGISTER), type), at));
}

LLVMValueRef tsr_emit_unless_nan(tsr_emit *e, LLVMValueRef x, LLVMValueRef y)
{
	enum { KEEP_NAN = 0x11111100 };          /* what takes the place of a NaN, a signalling one, 0, 1, ...: 0 is y, 1 is x */
	if (!tsr_math_in_registers(e, LLVMTypeOf(x)))
		return LLVMBuildSelect(e->builder, LLVMBuildFCmp(e->builder, LLVMRealORD, x, x, ""), x, y, "");
	LLVMValueRef table = tsr_emit_number(e, LLVMVectorType(e->i32, TSR_MATH_REGISTER), KEEP_NAN);
	return tsr_math_by_machine(e, "llvm.x86.avx512.mask.fixupimm.ps.512", y, x, table, 0, NULL);
}
