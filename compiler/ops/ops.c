/* What primitives, accumulators and precisions mean.  The tables are expansions of op.def and of the runtime's prec.def;
 * the rules of promotion and of rounding are decided here.
 *
 * A float of any precision travels as a double that is exactly representable in it; an integer as an int64_t inside its
 * range.  Every function that makes a value of precision p ends in `rounded` or `wrapped`, which restore that. */
#include "ops.h"
#include "../diag/diag.h"

typedef enum { FAMILY_BOOL, FAMILY_INT, FAMILY_FLOAT } family;

typedef struct prec_info { const char *name; uint32_t bytes; family family; } prec_info;

static const tsr_op_info op_table[] = {
#define TSR_OP(NAME, text, infix, arity, result) {text, infix, arity, TSR_RESULT_##result},
#include "op.def"
};

static const tsr_acc_info acc_table[] = {
#define TSR_ACC(NAME, text, op, neutral, over) {text, TSR_OP_##op, neutral, TSR_OP_##over},
#include "op.def"
};

static const prec_info prec_table[] = {
	{"none", 0, FAMILY_BOOL},
#define TSR_PREC(NAME, text, bytes, family) {text, bytes, FAMILY_##family},
#include "../../runtime/prec.def"
#undef TSR_PREC
};

const tsr_op_info *tsr_op_get(tsr_op op)
{
	TSR_ASSERT(op < TSR_OPS);
	return &op_table[op];
}

const tsr_acc_info *tsr_acc_get(tsr_acc acc)
{
	TSR_ASSERT(acc < TSR_ACCS);
	return &acc_table[acc];
}

bool tsr_acc_any_order(tsr_acc acc)
{
	switch (acc) {
	case TSR_ACC_ADD: case TSR_ACC_SUB: case TSR_ACC_MUL: case TSR_ACC_MAX: case TSR_ACC_MIN: case TSR_ACC_AND: case TSR_ACC_OR:
		return true;
	case TSR_ACC_SET: case TSR_ACC_DIV: case TSR_ACC_POW: case TSR_ACCS:
		break;
	}
	return false;
}

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

bool tsr_op_find(const char *text, uint32_t arity, tsr_op *out)
{
	for (uint32_t i = 0; i < TSR_OPS; i++) {
		const tsr_op_info *o = &op_table[i];
		if (o->arity == arity && (same(o->name, text) || (o->infix[0] && same(o->infix, text)))) {
			*out = (tsr_op)i;
			return true;
		}
	}
	return false;
}

bool tsr_acc_find(const char *text, tsr_acc *out)
{
	for (uint32_t i = 0; i < TSR_ACCS; i++)
		if (same(acc_table[i].text, text)) {
			*out = (tsr_acc)i;
			return true;
		}
	return false;
}

/* ---- precisions ---------------------------------------------------------------------------------------------------- */

static const prec_info *prec_of(tsr_prec p)
{
	TSR_ASSERT(p < TSR_PRECS);
	return &prec_table[p];
}

const char *tsr_prec_name(tsr_prec p)
{
	return prec_of(p)->name;
}

bool tsr_prec_find(const char *text, tsr_prec *out)
{
	for (uint32_t i = 1; i < TSR_PRECS; i++)
		if (same(prec_table[i].name, text)) {
			*out = (tsr_prec)i;
			return true;
		}
	return false;
}

uint32_t tsr_prec_bytes(tsr_prec p)
{
	return prec_of(p)->bytes;
}

bool tsr_prec_is_int(tsr_prec p)
{
	return p != TSR_PREC_NONE && prec_of(p)->family == FAMILY_INT;
}

static bool is_signed(tsr_prec p)
{
	return p == TSR_PREC_I8 || p == TSR_PREC_I16 || p == TSR_PREC_I32 || p == TSR_PREC_I64;
}

/* The least precision that holds both where there is one: a float beats an integer, an integer a bool, f16 with bf16 gives
 * f32, an unsigned with a signed one of the same width the next signed width. */
tsr_prec tsr_prec_promote(tsr_prec a, tsr_prec b)
{
	if (a == b || b == TSR_PREC_NONE)
		return a;
	if (a == TSR_PREC_NONE)
		return b;
	tsr_prec low = a < b ? a : b, high = a < b ? b : a;
	if (prec_of(low)->family != prec_of(high)->family)
		return high;
	if (low == TSR_PREC_F16 && high == TSR_PREC_BF16)
		return TSR_PREC_F32;
	if (low == TSR_PREC_U8 && high == TSR_PREC_I8)
		return TSR_PREC_I16;
	if (high == TSR_PREC_U32 && is_signed(low))
		return TSR_PREC_I64;
	return high;
}

/* Arithmetic is done in at least i32; f8 is a storage format, whose arithmetic is f32. */
static tsr_prec arithmetic(tsr_prec p)
{
	if (p == TSR_PREC_F8)
		return TSR_PREC_F32;
	return p == TSR_PREC_NONE || p >= TSR_PREC_I32 ? p : TSR_PREC_I32;
}

tsr_prec tsr_op_operand_prec(tsr_op op, const tsr_prec *args)
{
	const tsr_op_info *info = tsr_op_get(op);
	tsr_prec p = TSR_PREC_NONE;
	for (uint32_t i = op == TSR_OP_WHERE ? 1 : 0; i < info->arity; i++)
		p = tsr_prec_promote(p, args[i]);
	switch (info->result) {
	case TSR_RESULT_SAME:
		return arithmetic(p);
	case TSR_RESULT_FLOAT:
		return p == TSR_PREC_F64 || p == TSR_PREC_NONE ? p : TSR_PREC_F32;
	case TSR_RESULT_LOGIC:
		return TSR_PREC_BOOL;
	case TSR_RESULT_KEEP:
	case TSR_RESULT_BOOL:
		return p;
	}
	tsr_bug("unknown result rule");
}

tsr_prec tsr_op_result_prec(tsr_op op, const tsr_prec *args)
{
	switch (tsr_op_get(op)->result) {
	case TSR_RESULT_BOOL:
	case TSR_RESULT_LOGIC:
		return TSR_PREC_BOOL;
	case TSR_RESULT_SAME:
	case TSR_RESULT_KEEP:
	case TSR_RESULT_FLOAT:
		return tsr_op_operand_prec(op, args);
	}
	tsr_bug("unknown result rule");
}

tsr_prec tsr_prec_accumulator(tsr_prec p)
{
	switch (p) {
	case TSR_PREC_F8: case TSR_PREC_F16: case TSR_PREC_BF16:
		return TSR_PREC_F32;
	case TSR_PREC_U8: case TSR_PREC_I8: case TSR_PREC_I16:
		return TSR_PREC_I32;
	case TSR_PREC_NONE: case TSR_PREC_BOOL: case TSR_PREC_I32: case TSR_PREC_U32: case TSR_PREC_I64: case TSR_PREC_F32:
	case TSR_PREC_F64: case TSR_PRECS:
		return p;
	}
	tsr_bug("unknown precision");
}

/* ---- scalars ------------------------------------------------------------------------------------------------------- */

/* The nearest number with `bits` of significand and exponents from `emin`, ties to even; past `max` it is infinite. */
static double rounded_to(double x, int bits, int emin, double max)
{
	if (x == 0 || !isfinite(x))
		return x;
	int e;
	frexp(x, &e);
	int quantum = (e - 1 < emin ? emin : e - 1) - (bits - 1);
	double r = ldexp(nearbyint(ldexp(x, -quantum)), quantum);
	return fabs(r) > max ? copysign(INFINITY, x) : r;
}

static double rounded(tsr_prec p, double x)
{
	switch (p) {
	case TSR_PREC_F8:
		return rounded_to(x, 3, -14, 57344);                    /* e5m2 */
	case TSR_PREC_F16:
		return rounded_to(x, 11, -14, 65504);
	case TSR_PREC_BF16:
		return rounded_to(x, 8, -126, 0x1.fep127);
	case TSR_PREC_F32:
		return (double)(float)x;
	case TSR_PREC_F64:
		return x;
	case TSR_PREC_NONE: case TSR_PREC_BOOL: case TSR_PREC_U8: case TSR_PREC_I8: case TSR_PREC_I16: case TSR_PREC_I32:
	case TSR_PREC_U32: case TSR_PREC_I64: case TSR_PRECS:
		break;
	}
	tsr_bug("a float of precision %s", prec_of(p)->name);
}

static int64_t wrapped(tsr_prec p, uint64_t x)
{
	switch (p) {
	case TSR_PREC_BOOL:
		return x != 0;
	case TSR_PREC_U8:
		return (uint8_t)x;
	case TSR_PREC_I8:
		return (int8_t)(uint8_t)x;
	case TSR_PREC_I16:
		return (int16_t)(uint16_t)x;
	case TSR_PREC_I32:
		return (int32_t)(uint32_t)x;
	case TSR_PREC_U32:
		return (uint32_t)x;
	case TSR_PREC_I64:
		return (int64_t)x;
	case TSR_PREC_NONE: case TSR_PREC_F8: case TSR_PREC_F16: case TSR_PREC_BF16: case TSR_PREC_F32: case TSR_PREC_F64:
	case TSR_PRECS:
		break;
	}
	tsr_bug("an integer of precision %s", prec_of(p)->name);
}

static tsr_scalar of_double(tsr_prec p, double x)
{
	return (tsr_scalar){.prec = p, .d = rounded(p, x)};
}

static tsr_scalar of_int(tsr_prec p, uint64_t x)
{
	return (tsr_scalar){.prec = p, .i = wrapped(p, x)};
}

/* Least and greatest value of an integer precision, as the doubles just outside which a float saturates. */
static void int_range(tsr_prec p, int64_t *low, int64_t *high)
{
	uint32_t bits = 8 * prec_of(p)->bytes;
	if (is_signed(p)) {
		*high = (int64_t)(UINT64_MAX >> (65 - bits));
		*low = -*high - 1;
	} else {
		*low = 0;
		*high = (int64_t)(UINT64_MAX >> (64 - bits));
	}
}

static int64_t saturated(tsr_prec p, double x)
{
	int64_t low, high;
	int_range(p, &low, &high);
	if (isnan(x))
		return 0;
	if (x <= (double)low)
		return low;
	if (x >= (double)high)
		return high;
	return (int64_t)x;
}

tsr_scalar tsr_scalar_of(tsr_prec p, double x)
{
	return tsr_scalar_convert((tsr_scalar){.prec = TSR_PREC_F64, .d = x}, p);
}

tsr_scalar tsr_acc_neutral(tsr_acc acc, tsr_prec p)
{
	double x = tsr_acc_get(acc)->neutral;
	return p == TSR_PREC_BOOL ? (tsr_scalar){.prec = p, .i = x > 0} : tsr_scalar_of(p, x);
}

tsr_scalar tsr_number_whole(int64_t x) { return (tsr_scalar){.prec = TSR_PREC_I64, .i = x}; }
tsr_scalar tsr_number_real(double x) { return (tsr_scalar){.prec = TSR_PREC_F64, .d = x}; }
double tsr_number_double(tsr_scalar x) { return x.prec == TSR_PREC_F64 ? x.d : (double)x.i; }

tsr_scalar tsr_number_in(tsr_prec p, tsr_scalar x)
{
	int64_t low, high;
	if (x.prec != TSR_PREC_I64 || !tsr_prec_is_int(p))
		return tsr_scalar_convert(x, p);
	int_range(p, &low, &high);
	return of_int(p, (uint64_t)(x.i < low ? low : x.i > high ? high : x.i));
}

tsr_scalar tsr_numbers_get(tsr_numbers n, uint64_t i)
{
	return n.whole ? tsr_number_whole(n.at[i].i) : tsr_number_real(n.at[i].d);
}

const char *tsr_number_str(tsr_arena *a, tsr_scalar x, int digits)
{
	return x.prec == TSR_PREC_F64 ? tsr_format(a, "%.*g", digits, x.d) : tsr_format(a, "%lld", (long long)x.i);
}

tsr_scalar tsr_scalar_convert(tsr_scalar x, tsr_prec to)
{
	bool from_float = tsr_prec_is_float(x.prec);
	if (x.prec == to)
		return x;
	if (to == TSR_PREC_BOOL)
		return of_int(to, from_float ? x.d != 0 : x.i != 0);
	if (tsr_prec_is_int(to))
		return of_int(to, from_float ? (uint64_t)saturated(to, x.d) : (uint64_t)x.i);
	if (from_float)
		return of_double(to, x.d);
	return (tsr_scalar){.prec = to, .d = to == TSR_PREC_F32 ? (double)(float)x.i : rounded(to, (double)x.i)};
}

/* ---- primitives ---------------------------------------------------------------------------------------------------- */

static double float_mod(double x, double y)
{
	double r = fmod(x, y);
	return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

static double float_max(double x, double y)
{
	return isnan(x) || x > y ? x : y;
}

static double float_min(double x, double y)
{
	return isnan(x) || x < y ? x : y;
}

static tsr_scalar truth(bool x)
{
	return (tsr_scalar){.prec = TSR_PREC_BOOL, .i = x};
}

static tsr_scalar apply_float(tsr_op op, tsr_prec p, double x, double y, double z)
{
	switch (op) {
	case TSR_OP_ID:    return of_double(p, x);
	case TSR_OP_NEG:   return of_double(p, -x);
	case TSR_OP_ABS:   return of_double(p, fabs(x));
	case TSR_OP_EXP:   return of_double(p, exp(x));
	case TSR_OP_LOG:   return of_double(p, log(x));
	case TSR_OP_EXP2:  return of_double(p, exp2(x));
	case TSR_OP_LOG2:  return of_double(p, log2(x));
	case TSR_OP_SIN:   return of_double(p, sin(x));
	case TSR_OP_COS:   return of_double(p, cos(x));
	case TSR_OP_TANH:  return of_double(p, tanh(x));
	case TSR_OP_ERF:   return of_double(p, erf(x));
	case TSR_OP_SQRT:  return of_double(p, sqrt(x));
	case TSR_OP_RECIP: return of_double(p, 1 / x);
	case TSR_OP_RSQRT: return of_double(p, 1 / sqrt(x));
	case TSR_OP_FLOOR: return of_double(p, floor(x));
	case TSR_OP_CEIL:  return of_double(p, ceil(x));
	case TSR_OP_TRUNC: return of_double(p, trunc(x));
	case TSR_OP_ROUND: return of_double(p, nearbyint(x));
	case TSR_OP_ADD:   return of_double(p, x + y);
	case TSR_OP_SUB:   return of_double(p, x - y);
	case TSR_OP_MUL:   return of_double(p, x * y);
	case TSR_OP_DIV:   return of_double(p, x / y);
	case TSR_OP_IDIV:  return of_double(p, floor(rounded(p, x / y)));
	case TSR_OP_MOD:   return of_double(p, float_mod(x, y));
	case TSR_OP_POW:   return of_double(p, pow(x, y));
	case TSR_OP_MAX:   return of_double(p, float_max(x, y));
	case TSR_OP_MIN:   return of_double(p, float_min(x, y));
	case TSR_OP_LT:    return truth(x < y);
	case TSR_OP_LE:    return truth(x <= y);
	case TSR_OP_GT:    return truth(x > y);
	case TSR_OP_GE:    return truth(x >= y);
	case TSR_OP_AT:
	case TSR_OP_EQ:    return truth(x == y);
	case TSR_OP_NE:    return truth(x != y);
	case TSR_OP_FMA:
		return p == TSR_PREC_F32 ? of_double(p, (double)fmaf((float)x, (float)y, (float)z)) : of_double(p, fma(x, y, z));
	case TSR_OP_NOT: case TSR_OP_AND: case TSR_OP_OR: case TSR_OP_WHERE: case TSR_OPS:
		break;
	}
	tsr_bug("%s on %s", op_table[op].name, prec_of(p)->name);
}

static uint64_t int_idiv(int64_t x, int64_t y)
{
	if (y == 0)
		return 0;
	if (y == -1)
		return -(uint64_t)x;
	int64_t q = x / y;
	return (uint64_t)(q - (x % y != 0 && (x < 0) != (y < 0)));
}

static tsr_scalar apply_int(tsr_op op, tsr_prec p, int64_t x, int64_t y, int64_t z)
{
	uint64_t u = (uint64_t)x, v = (uint64_t)y;
	switch (op) {
	case TSR_OP_ID: case TSR_OP_FLOOR: case TSR_OP_CEIL: case TSR_OP_TRUNC: case TSR_OP_ROUND:
		return of_int(p, u);
	case TSR_OP_NEG:  return of_int(p, -u);
	case TSR_OP_ABS:  return of_int(p, x < 0 ? -u : u);
	case TSR_OP_ADD:  return of_int(p, u + v);
	case TSR_OP_SUB:  return of_int(p, u - v);
	case TSR_OP_MUL:  return of_int(p, u * v);
	case TSR_OP_FMA:  return of_int(p, u * v + (uint64_t)z);
	case TSR_OP_IDIV: return of_int(p, int_idiv(x, y));
	case TSR_OP_MOD:  return of_int(p, u - int_idiv(x, y) * v);
	case TSR_OP_MAX:  return of_int(p, x > y ? u : v);
	case TSR_OP_MIN:  return of_int(p, x < y ? u : v);
	case TSR_OP_LT:   return truth(x < y);
	case TSR_OP_LE:   return truth(x <= y);
	case TSR_OP_GT:   return truth(x > y);
	case TSR_OP_GE:   return truth(x >= y);
	case TSR_OP_AT:
	case TSR_OP_EQ:   return truth(x == y);
	case TSR_OP_NE:   return truth(x != y);
	case TSR_OP_NOT:  return truth(!x);
	case TSR_OP_AND:  return truth(x && y);
	case TSR_OP_OR:   return truth(x || y);
	case TSR_OP_EXP: case TSR_OP_LOG: case TSR_OP_EXP2: case TSR_OP_LOG2: case TSR_OP_SIN: case TSR_OP_COS: case TSR_OP_TANH:
	case TSR_OP_ERF: case TSR_OP_SQRT: case TSR_OP_RECIP: case TSR_OP_RSQRT: case TSR_OP_DIV: case TSR_OP_POW:
	case TSR_OP_WHERE: case TSR_OPS:
		break;
	}
	tsr_bug("%s on %s", op_table[op].name, prec_of(p)->name);
}

tsr_scalar tsr_op_apply(tsr_op op, tsr_prec operand_prec, const tsr_scalar *args)
{
	uint32_t arity = tsr_op_get(op)->arity;
	tsr_scalar none = {.prec = operand_prec};
	for (uint32_t i = 0; i < arity; i++)
		if (args[i].prec != (op == TSR_OP_WHERE && i == 0 ? TSR_PREC_BOOL : operand_prec))
			tsr_bug("operand %u of %s is %s, not %s", i, op_table[op].name, prec_of(args[i].prec)->name,
				prec_of(operand_prec)->name);
	if (op == TSR_OP_WHERE)
		return args[0].i ? args[1] : args[2];
	tsr_scalar y = arity > 1 ? args[1] : none, z = arity > 2 ? args[2] : none;
	if (tsr_prec_is_float(operand_prec))
		return apply_float(op, operand_prec, args[0].d, y.d, z.d);
	return apply_int(op, operand_prec, args[0].i, y.i, z.i);
}
