/* AVX-512's and AMX's instructions that compiled code names, in plain C, after the Software Developer's Manual: for machines that lack them.
 *
 * Vectors come as addresses of their elements, the result's address first; a function is called as LLVM names the instruction, with _ for
 * each dot.  Immediate operands are what the compiler gives: rounding 9 is downwards, 4 as the thread has it. */
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 16, DOWNWARDS = 9, AS_SET = 4 };

static _Noreturn void unknown(const char *instruction)
{
	fprintf(stderr, "%s is not known in this form\n", instruction);
	exit(1);
}

static uint32_t bits(float x)
{
	uint32_t b;
	memcpy(&b, &x, sizeof b);
	return b;
}

static float quiet(float x)
{
	uint32_t b = bits(x) | 0x400000;
	memcpy(&x, &b, sizeof b);
	return x;
}

static int signalling(float x) { return isnan(x) && !(bits(x) & 0x400000); }

/* ---- AVX-512 ---- */

static float scaled(float x, float by)
{
	if (isnan(x))
		return !signalling(x) && isinf(by) ? (by > 0 ? INFINITY : 0) : quiet(x);
	if (isnan(by))
		return quiet(by);
	if (isinf(by)) {
		if (by > 0)
			return x == 0 ? -NAN : copysignf(INFINITY, x);
		return isinf(x) ? -NAN : copysignf(0, x);
	}
	double n = floor(by);
	return ldexpf(x, (int)fmax(-1000, fmin(1000, n)));
}

void llvm_x86_avx512_mask_scalef_ps_512(float *r, const float *x, const float *by, const float *otherwise, uint16_t some, int32_t rounding)
{
	if (rounding != AS_SET)
		unknown("vscalefps");
	for (int i = 0; i < LANES; i++)
		r[i] = some >> i & 1 ? scaled(x[i], by[i]) : otherwise[i];
}

void llvm_x86_avx512_mask_getexp_ps_512(float *r, const float *x, const float *otherwise, uint16_t some, int32_t rounding)
{
	(void)otherwise;
	if (rounding != AS_SET || some != UINT16_MAX)
		unknown("vgetexpps");
	for (int i = 0; i < LANES; i++)
		r[i] = isnan(x[i]) ? quiet(x[i]) : isinf(x[i]) ? INFINITY : x[i] == 0 ? -INFINITY : logbf(x[i]);
}

/* From 3/4 to 3/2, NaN of what is less than 0. */
void llvm_x86_avx512_mask_getmant_ps_512(float *r, const float *x, int32_t how, const float *otherwise, uint16_t some, int32_t rounding)
{
	(void)otherwise;
	if (rounding != AS_SET || some != UINT16_MAX || how != 11)
		unknown("vgetmantps");
	for (int i = 0; i < LANES; i++) {
		int exponent;
		float half = frexpf(x[i], &exponent);
		r[i] = isnan(x[i]) ? quiet(x[i]) : x[i] == 0 ? copysignf(1, x[i]) : x[i] < 0 ? -NAN : isinf(x[i]) ? 1 : half < 0.75f ? 2 * half : half;
	}
}

void llvm_x86_avx512_vfmadd_ps_512(float *r, const float *x, const float *y, const float *z, int32_t rounding)
{
	if (rounding != DOWNWARDS)
		unknown("vfmadd213ps");
	fesetround(FE_DOWNWARD);
	for (int i = 0; i < LANES; i++)
		r[i] = fmaf(x[i], y[i], z[i]);
	fesetround(FE_TONEAREST);
}

void llvm_x86_avx512_sub_ps_512(float *r, const float *x, const float *y, int32_t rounding)
{
	if (rounding != DOWNWARDS)
		unknown("vsubps");
	fesetround(FE_DOWNWARD);
	for (int i = 0; i < LANES; i++) {
		volatile float difference = x[i] - y[i];
		r[i] = difference;
	}
	fesetround(FE_TONEAREST);
}

void llvm_x86_avx512_permvar_sf_512(float *r, const float *table, const int32_t *at)
{
	for (int i = 0; i < LANES; i++)
		r[i] = table[at[i] & (LANES - 1)];
}

static int kind(float x)
{
	if (isnan(x))
		return signalling(x) ? 1 : 0;
	if (x == 0)
		return 2;
	if (x == 1)
		return 3;
	if (isinf(x))
		return x < 0 ? 4 : 5;
	return x < 0 ? 6 : 7;
}

void llvm_x86_avx512_mask_fixupimm_ps_512(float *r, const float *to, const float *x, const uint32_t *table, int32_t report, uint16_t some, int32_t rounding)
{
	if (rounding != AS_SET || report)
		unknown("vfixupimmps");
	for (int i = 0; i < LANES; i++) {
		uint32_t token = table[i] >> 4 * kind(x[i]) & 15;
		if (token > 1)
			unknown("vfixupimmps");
		r[i] = some >> i & 1 && token ? x[i] : to[i];
	}
}

static float bf16(const uint8_t *at)
{
	uint16_t half;
	float x;
	memcpy(&half, at, sizeof half);
	uint32_t b = (uint32_t)half << 16;
	memcpy(&x, &b, sizeof x);
	return x;
}

/* The product of the odd ones first. */
void llvm_x86_avx512bf16_dpbf16ps_512(float *r, const float *sum, const uint8_t *x, const uint8_t *y)
{
	for (int i = 0; i < LANES; i++)
		r[i] = fmaf(bf16(x + 4 * i), bf16(y + 4 * i), fmaf(bf16(x + 4 * i + 2), bf16(y + 4 * i + 2), sum[i]));
}

/* ---- AMX: eight tiles of at most 16 rows of 64 bytes ---- */

enum { TILES = 8, ROWS = 16, ROW = 64 };
typedef struct { uint8_t palette, start, reserved[14]; uint16_t row[16]; uint8_t rows[16]; } setting;

static _Thread_local setting set;
static _Thread_local uint8_t tile[TILES][ROWS][ROW];

void llvm_x86_ldtilecfg(const void *from)
{
	memcpy(&set, from, sizeof set);
	memset(tile, 0, sizeof tile);
	if (set.palette != 1)
		unknown("ldtilecfg");
}

void llvm_x86_tilerelease(void) { memset(&set, 0, sizeof set); }

/* A tile that is not set up is a fault of the processor's. */
static void in_use(int t)
{
	if (set.palette != 1 || t < 0 || t >= TILES || !set.rows[t] || set.rows[t] > ROWS || !set.row[t] || set.row[t] > ROW)
		unknown("a tile's shape");
}

void llvm_x86_tilezero(int8_t t)
{
	in_use(t);
	memset(tile[t], 0, sizeof tile[t]);
}

void llvm_x86_tileloadd64(int8_t t, const uint8_t *from, int64_t step)
{
	in_use(t);
	memset(tile[t], 0, sizeof tile[t]);
	for (int i = 0; i < set.rows[t]; i++)
		memcpy(tile[t][i], from + i * step, set.row[t]);
}

void llvm_x86_tilestored64(int8_t t, uint8_t *to, int64_t step)
{
	in_use(t);
	for (int i = 0; i < set.rows[t]; i++)
		memcpy(to + i * step, tile[t][i], set.row[t]);
}

/* Each pair's two products are added to the sum one after the other. */
void llvm_x86_tdpbf16ps(int8_t c, int8_t a, int8_t b)
{
	in_use(a), in_use(b), in_use(c);
	if (set.rows[a] != set.rows[c] || set.row[b] != set.row[c] || set.row[a] != 4 * set.rows[b])
		unknown("tdpbf16ps");
	for (int m = 0; m < set.rows[c]; m++)
		for (int k = 0; k < set.rows[b]; k++)
			for (int n = 0; n < set.row[c] / 4; n++) {
				float sum;
				memcpy(&sum, &tile[c][m][4 * n], sizeof sum);
				for (int p = 0; p < 2; p++)
					sum = fmaf(bf16(&tile[a][m][4 * k + 2 * p]), bf16(&tile[b][k][4 * n + 2 * p]), sum);
				memcpy(&tile[c][m][4 * n], &sum, sizeof sum);
			}
}

/* Stands before the runtime's: what it would ask the system for is here. */
int32_t tsr_matrix_unit(void) { return 1; }
