/* One element of an array, widened on reading and rounded on writing, for every precision.
 *
 * Floats to integers: towards zero, held within the range of the precision, NaN gives 0.  Integers to integers keep the
 * low bits.  Floats to narrower floats: to nearest, ties to even, overflow to infinity; f8 by way of no other format, so
 * that nothing is rounded twice. */
#include "internal.h"
#include <math.h>
#include <string.h>

/* A format of 1 sign, `exponent` and `mantissa` bits, laid out as IEEE lays them out. */
typedef struct small_float {
	int exponent, mantissa;
} small_float;

static const small_float f8 = {5, 2}, f16 = {5, 10}, bf16 = {8, 7};

static double widen(uint32_t bits, small_float f)
{
	int bias = (1 << (f.exponent - 1)) - 1;
	uint32_t top = (1u << f.exponent) - 1, e = bits >> f.mantissa & top, m = bits & ((1u << f.mantissa) - 1);
	double sign = bits >> (f.exponent + f.mantissa) & 1 ? -1 : 1;
	if (e == top)
		return m ? NAN : sign * INFINITY;
	if (e == 0)
		return sign * ldexp((double)m, 1 - bias - f.mantissa);
	return sign * ldexp((double)(m | 1u << f.mantissa), (int)e - bias - f.mantissa);
}

/* In units of the last place of the result's binade the value is rounded to a whole number, which carries into the exponent
 * by itself: the fields are adjacent. */
static uint32_t narrow(double x, small_float f)
{
	int bias = (1 << (f.exponent - 1)) - 1;
	uint32_t top = (1u << f.exponent) - 1, sign = signbit(x) ? 1u << (f.exponent + f.mantissa) : 0;
	if (isnan(x))
		return sign | top << f.mantissa | 1u << (f.mantissa - 1);
	if (isinf(x))
		return sign | top << f.mantissa;
	if (x == 0)
		return sign;
	int e = ilogb(x) < 1 - bias ? 1 - bias : ilogb(x);
	if (e > bias)
		return sign | top << f.mantissa;
	double units = rint(ldexp(fabs(x), f.mantissa - e));
	uint32_t base = (uint32_t)(e + bias - 1) << f.mantissa;
	uint32_t bits = base + (uint32_t)units;
	return sign | (bits >> f.mantissa >= top ? top << f.mantissa : bits);
}

#define LOAD(T)                                                                                                        \
	do {                                                                                                               \
		T v;                                                                                                           \
		memcpy(&v, (const char *)data + at * (int64_t)sizeof v, sizeof v);                                             \
		return v;                                                                                                      \
	} while (0)
#define STORE(T, x)                                                                                                    \
	do {                                                                                                               \
		T v = (T)(x);                                                                                                  \
		memcpy((char *)data + at * (int64_t)sizeof v, &v, sizeof v);                                                   \
		return;                                                                                                        \
	} while (0)

static uint32_t load16(const void *data, int64_t at)
{
	LOAD(uint16_t);
}
static uint32_t load8(const void *data, int64_t at)
{
	LOAD(uint8_t);
}

double tsr_element_f64(const void *data, int32_t prec, int64_t at)
{
	switch ((enum tsr_rt_prec)prec) {
	case TSR_F8:
		return widen(load8(data, at), f8);
	case TSR_F16:
		return widen(load16(data, at), f16);
	case TSR_BF16:
		return widen(load16(data, at), bf16);
	case TSR_F32:
		LOAD(float);
	case TSR_F64:
		LOAD(double);
	case TSR_BOOL:
	case TSR_U8:
	case TSR_I8:
	case TSR_I16:
	case TSR_I32:
	case TSR_U32:
	case TSR_I64:
		return (double)tsr_element_i64(data, prec, at);
	case TSR_NO_PREC:
	case TSR_PREC_END:
		break;
	}
	return 0;
}

static int64_t truncated(double x, double lowest, double beyond)
{
	if (isnan(x))
		return 0;
	if (x < lowest)
		x = lowest;
	if (x >= beyond)
		return beyond >= 0x1p63 ? INT64_MAX : (int64_t)beyond - 1;
	return (int64_t)x;
}

int64_t tsr_element_i64(const void *data, int32_t prec, int64_t at)
{
	switch ((enum tsr_rt_prec)prec) {
	case TSR_BOOL:
	case TSR_U8:
		LOAD(uint8_t);
	case TSR_I8:
		LOAD(int8_t);
	case TSR_I16:
		LOAD(int16_t);
	case TSR_I32:
		LOAD(int32_t);
	case TSR_U32:
		LOAD(uint32_t);
	case TSR_I64:
		LOAD(int64_t);
	case TSR_F8:
	case TSR_F16:
	case TSR_BF16:
	case TSR_F32:
	case TSR_F64:
		return truncated(tsr_element_f64(data, prec, at), -0x1p63, 0x1p63);
	case TSR_NO_PREC:
	case TSR_PREC_END:
		break;
	}
	return 0;
}

void tsr_element_set_f64(void *data, int32_t prec, int64_t at, double value)
{
	switch ((enum tsr_rt_prec)prec) {
	case TSR_BOOL:
		STORE(uint8_t, value != 0);
	case TSR_U8:
		STORE(uint8_t, truncated(value, 0, 0x1p8));
	case TSR_I8:
		STORE(int8_t, truncated(value, -0x1p7, 0x1p7));
	case TSR_I16:
		STORE(int16_t, truncated(value, -0x1p15, 0x1p15));
	case TSR_I32:
		STORE(int32_t, truncated(value, -0x1p31, 0x1p31));
	case TSR_U32:
		STORE(uint32_t, truncated(value, 0, 0x1p32));
	case TSR_I64:
		STORE(int64_t, truncated(value, -0x1p63, 0x1p63));
	case TSR_F8:
		STORE(uint8_t, narrow(value, f8));
	case TSR_F16:
		STORE(uint16_t, narrow(value, f16));
	case TSR_BF16:
		STORE(uint16_t, narrow(value, bf16));
	case TSR_F32:
		STORE(float, value);
	case TSR_F64:
		STORE(double, value);
	case TSR_NO_PREC:
	case TSR_PREC_END:
		break;
	}
}

void tsr_element_set_i64(void *data, int32_t prec, int64_t at, int64_t value)
{
	switch ((enum tsr_rt_prec)prec) {
	case TSR_BOOL:
		STORE(uint8_t, value != 0);
	case TSR_U8:
	case TSR_I8:
		STORE(uint8_t, value);
	case TSR_I16:
		STORE(uint16_t, value);
	case TSR_I32:
	case TSR_U32:
		STORE(uint32_t, value);
	case TSR_I64:
		STORE(int64_t, value);
	case TSR_F32:
		STORE(float, value);
	case TSR_F8:
	case TSR_F16:
	case TSR_BF16:
	case TSR_F64:
		tsr_element_set_f64(data, prec, at, (double)value);
		return;
	case TSR_NO_PREC:
	case TSR_PREC_END:
		break;
	}
}
