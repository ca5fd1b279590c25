/* emit/math.c: the largest error of every elementary function in f32, in units of the last place, against the C library in
 * double: 2^20 arguments spread over all bit patterns.
 *
 *     math --bits N [FUNCTION [CPU]]     2^N of them, where 32 is every one; the largest error is printed, and where it is */
#include "check.h"
#include "emit_kit.h"
#include "../../compiler/base/text.h"
#include <math.h>

enum { BLOCK = 1 << 16 };

static double inverse(double x) { return 1 / x; }
static double inverse_root(double x) { return 1 / sqrt(x); }
static double exp_of_less(double x) { return exp(-x); }
static double normal(double x) { return 0.5 * erfc(-x); }
static double logistic(double x) { return 1 / (1 + exp(-x)); }
static double logistic_of_twice(double x) { return 1 / (1 + exp(-2 * x)); }
static double above_normal(double x) { return 0.5 * erfc((double)0.7071067811865476f * x); }
static double logistic_of_less(double x) { return 1 / (1 + exp(x / 2)); }

/* `of`: what it is computed as, where that is not the function of its name. */
static const struct { const char *name; double (*f)(double); double allowed; const char *of; } functions[] = {
	{"exp", exp, 1.5, NULL}, {"exp2", exp2, 1.5, NULL}, {"log", log, 1.5, NULL}, {"log2", log2, 1.5, NULL},
	{"tanh", tanh, 1.5, NULL}, {"erf", erf, 1.5, NULL}, {"sin", sin, 1.5, NULL}, {"cos", cos, 1.5, NULL}, {"sqrt", sqrt, 0.5, NULL},
	{"recip", inverse, 0.5, NULL}, {"rsqrt", inverse_root, 1.5, NULL},
	{"exp_of_less", exp_of_less, 1.5, "exp.f32(sub.f32(0:f32, %x[i]))"}, {"exp_of_neg", exp_of_less, 1.5, "exp.f32(neg.f32(%x[i]))"},
	{"erf_in_sum", normal, 1.5, "add.f32(0.5:f32, mul.f32(0.5:f32, erf.f32(%x[i])))"},
	{"exp_in_sum", logistic, 3.5, "recip.f32(add.f32(1:f32, exp.f32(neg.f32(%x[i]))))"},
	{"tanh_in_sum", logistic_of_twice, 1.5, "add.f32(0.5:f32, mul.f32(0.5:f32, tanh.f32(%x[i])))"},
	{"erf_of_product", above_normal, 1.5, "add.f32(mul.f32(-0.5:f32, erf.f32(mul.f32(%x[i], 0.7071067811865476:f32))), 0.5:f32)"},
	{"tanh_of_product", logistic_of_less, 1.5, "add.f32(0.5:f32, mul.f32(tanh.f32(mul.f32(-0.25:f32, %x[i])), 0.5:f32))"},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static float *x, *y, *z;

/* The last place of an f32 of this magnitude: 2^(exponent - 23), of denormals that of the smallest normal. */
static double last_place(double want)
{
	uint64_t bits;
	memcpy(&bits, &want, 8);
	int64_t exponent = (int64_t)(bits >> 52 & 2047) - 1023;
	bits = (uint64_t)((exponent < -126 ? -126 : exponent) - 23 + 1023) << 52;
	memcpy(&want, &bits, 8);
	return want;
}

/* The error of a sum with a constant, which is exact where its terms are, or is told as it is: what is small beside the constant has that one's last place, 2^-24. */
static double parts_of_one(float got, double want)
{
	if (isnan(want) || isnan(got))
		return isnan(want) && isnan(got) ? 0 : INFINITY;
	bool ends = (want == 0.5 || want < 0x1p-27 || want > 1 - 0x1p-27) && got != (float)(round(want * 2) / 2) && fabs((double)got - want) > want * 0x1p-21;
	return ends ? INFINITY : fabs((double)got - want) * 0x1p24;
}

/* Of the exact result `want`; NaN must meet NaN, and what rounds to infinity must be infinite. */
static double ulps(float got, double want)
{
	float near = (float)want;
	if (isnan(want) || isnan(got))
		return isnan(want) && isnan(got) ? 0 : INFINITY;
	if (got == near)
		return isinf(near) ? 0 : fabs((double)got - want) / last_place(want);
	if (isinf(near) || isinf(got))
		return fabs(want) < 0x1.fffffep127 || isinf(want) ? INFINITY : 1;
	return fabs((double)got - want) / last_place(want);
}

/* Of 1 / (1 + e^-x), whose sum stops growing where the exponential is nearly the largest number. */
static double ulps_of_logistic(float got, double want)
{
	return want < 0x1p-124 ? got < 0x1p-123 ? 0 : INFINITY : ulps(got, want);
}

static double error_of(double (*f)(double), float got, double want)
{
	return f == normal || f == logistic_of_twice || f == above_normal || f == logistic_of_less ? parts_of_one(got, want) : f == logistic ? ulps_of_logistic(got, want) : ulps(got, want);
}

static float of_bits(uint32_t bits)
{
	float f;
	memcpy(&f, &bits, 4);
	return f;
}

static void test_function(const kit *k, int which, uint64_t count, bool chosen)
{
	kit_unit unit = kit_find(k, functions[which].name);
	void *buffers[] = {x, y, z};
	double worst = 0;
	float at = 0, gave = 0;
	uint64_t step = (UINT64_C(1) << 32) / count;
	for (uint64_t block = 0; block < count; block += BLOCK) {
		for (uint64_t i = 0; i < BLOCK; i++)
			x[i] = of_bits((uint32_t)((block + i) * step + (step > 1 ? (block + i) * 2654435761u % step : 0)));
		unit(NULL, buffers, NULL, NULL);
		for (int i = 0; i < BLOCK; i++) {
			double want = functions[which].f((double)x[i]), d = error_of(functions[which].f, z[i], want);
			if (d > worst)
				worst = d, at = x[i], gave = z[i];
		}
	}
	if (!CHECK(worst <= functions[which].allowed + 1e-9) || chosen)
		printf("%s %.3f ulp at %a: %a, not %a\n", functions[which].name, worst, (double)at, (double)gave, functions[which].f((double)at));
}

/* What a lane gives is its argument's affair alone, whatever stands beside it: vectors of ordinary arguments may take a shorter way. */
static void test_neighbours(const kit *k, int which)
{
	enum { APART = 37 };
	static const float far[] = {200, -200, -95, INFINITY, -INFINITY, NAN, 1e30f};
	void *buffers[] = {x, y, z};
	for (int i = 0; i < BLOCK; i++)
		x[i] = (float)(i * 16807 % 20011 - 10005) / 115;
	kit_find(k, functions[which].name)(NULL, buffers, NULL, NULL);
	memcpy(y, z, BLOCK * 4);
	for (int i = 0; i < BLOCK; i += APART)
		x[i] = far[i / APART % 7];
	kit_find(k, functions[which].name)(NULL, buffers, NULL, NULL);
	int differ = 0;
	for (int i = 0; i < BLOCK; i++)
		differ += i % APART && memcmp(&y[i], &z[i], 4) != 0;
	if (!CHECK(differ == 0))
		printf("%s: %d results depend on their neighbours\n", functions[which].name, differ);
}

/* Axes of one place behind the one that is walked change no bit: tables in registers are looked up there, too. */
static void test_trailing(const kit *k)
{
	void *buffers[] = {x, y, z, y};
	for (int i = 0; i < BLOCK; i++)
		x[i] = (float)(i + 1) / 1000;
	kit_find(k, "log")(NULL, buffers, NULL, NULL);
	kit_find(k, "trailing")(NULL, buffers, NULL, NULL);
	CHECK(!memcmp(y, z, BLOCK * 4));
}

/* Bases over many magnitudes, exponents that keep most results finite, and every pair of special values. */
static void test_pow(const kit *k, bool chosen)
{
	static const float special[] = {0, -0.f, 1, -1, 2, -2, 3, -3, 0.5f, -0.5f, INFINITY, -INFINITY, NAN, 1e-40f, -1e-40f, 16777216, -16777217.f,
		3e38f, 0.99999994f, 1.0000001f, 1e10f, -1e10f, 8388609, 8388607.5f};
	enum { S = sizeof special / sizeof *special };
	void *buffers[] = {x, y, z};
	uint64_t state = 88172645463325252u;
	double worst = 0;
	float base = 0, exponent = 0;
	for (int round = 0; round < (chosen ? 16384 : 16); round++) {
		for (int i = 0; i < BLOCK; i++) {
			state ^= state << 13, state ^= state >> 7, state ^= state << 17;
			x[i] = of_bits((uint32_t)state & 0x7fffffff);
			float reach = (float)(130 / fabs(log2((double)x[i]) + 1e-9));
			y[i] = (float)(int32_t)(state >> 32) * 0x1p-31f * (reach < 1e9f ? reach : 1);
			if (round == 0 && i < S * S)
				x[i] = special[i / S], y[i] = special[i % S];
		}
		kit_find(k, "pow")(NULL, buffers, NULL, NULL);
		for (int i = 0; i < BLOCK; i++) {
			double want = pow((double)x[i], (double)y[i]), d = ulps(z[i], want);
			if (isnan(want) && isnan(z[i]))
				d = 0;
			if (d > worst)
				worst = d, base = x[i], exponent = y[i];
		}
	}
	if (!CHECK(worst <= 1.5) || chosen)
		printf("pow %.3f ulp at %a ^ %a\n", worst, (double)base, (double)exponent);
}

/* Exponents that are known while compiling, which are products: of all magnitudes, and special bases. */
static const char *const exponents[] = { "2", "3", "4", "5", "7", "16", "-1", "-2", "-3", "-16", "0.5", "-0.5", "17", "1.5" };
enum { EXPONENTS = sizeof exponents / sizeof *exponents };

static void test_exponents(const kit *k)
{
	static const float special[] = {0, -0.f, 1, -1, 2, -2, INFINITY, -INFINITY, NAN, 1e-40f, -1e-40f, 3e38f, -3e38f, 0x1p-126f};
	enum { S = sizeof special / sizeof *special };
	void *buffers[] = {x, y, z};
	for (uint32_t i = 0; i < BLOCK; i++)
		x[i] = i < S ? special[i] : of_bits(i * 2654435761u);
	for (int j = 0; j < EXPONENTS; j++) {
		double worst = 0;
		float at = 0;
		char name[16];
		snprintf(name, sizeof name, "pow%d", j);
		kit_find(k, name)(NULL, buffers, NULL, NULL);
		for (int i = 0; i < BLOCK; i++) {
			double want = pow((double)x[i], atof(exponents[j])), d = ulps(z[i], want);
			if (want == 0 && !signbit(want) != !signbit(z[i]))
				d = INFINITY;
			if (!strcmp(exponents[j], "3") && fabs(want) < 0x1p-100)
				d /= 2;                      /* one unit is allowed */
			if (d > worst)
				worst = d, at = x[i];
		}
		if (!CHECK(worst <= 0.50001))
			printf("pow %.5f ulp at %a ^ %s\n", worst, (double)at, exponents[j]);
	}
}

/* Of all x by one y, whose reciprocal compiled loops take once: as good as correctly rounded from 2^-110 on, below it a little worse. */
static void test_division(const kit *k, uint64_t count, bool chosen)
{
	static const float special[] = {0, -0.f, 1, -1, 3, -7, 0.1f, INFINITY, -INFINITY, NAN, 1e-45f, 1e-40f, -0x1p-127f, 0x1.fffffcp-127f, 0x1p-126f,
		0x1.8p-126f, 0x1p126f, 0x1.5p126f, -0x1.fffffep127f, 0x1.000002p0f, 0x1.fffffep0f, 0x1.fffffep-1f};
	enum { S = sizeof special / sizeof *special };
	kit_unit unit = kit_find(k, "divided");
	void *buffers[] = {x, y, z};
	double worst = 0, below = 0;
	float at = 0, by = 0;
	for (uint64_t block = 0; block < count / BLOCK + S; block++) {
		y[0] = block < S ? special[block] : of_bits((uint32_t)block * 2246822519u);
		for (uint64_t i = 0; i < BLOCK; i++)
			x[i] = of_bits((uint32_t)(i << 16 | (i * 40503 + block * 40507) % 65536));
		unit(NULL, buffers, NULL, NULL);
		for (int i = 0; i < BLOCK; i++) {
			double want = (double)x[i] / (double)y[0], d = ulps(z[i], want);
			if (fabs(want) < 0x1p-110)
				below = d > below ? d : below;
			else if (d > worst)
				worst = d, at = x[i], by = y[0];
		}
	}
	if (!CHECK(worst <= 0.50001) || !CHECK(below <= 1.5) || chosen)
		printf("division %.5f ulp at %a / %a, below 2^-110 %.3f\n", worst, (double)at, (double)by, below);
}

/* Rows whose last elements fill no register; the first is all in one. */
static const int remainder_rows[] = {BLOCK, 2, 5, 13, 33};

static void check_remainders(const kit *k, int row)
{
	int differ = 0, last = 0, count = BLOCK / row * row;
	char unit[24];
	snprintf(unit, sizeof unit, "remainder%d", row);
	memset(z, 0, BLOCK * sizeof *z);
	kit_find(k, unit)(NULL, (void *[]){x, y, z}, NULL, NULL);
	for (int i = 0; i < count; i++) {
		float r = fmodf(x[i], y[i]), want = r != 0 && (r < 0) != (y[i] < 0) ? r + y[i] : r;
		if (isnan(want) ? !isnan(z[i]) : memcmp(&want, &z[i], 4) != 0)
			differ++, last = i;
	}
	if (!CHECK(differ == 0))
		printf("%d remainders in rows of %d differ, as %a modulo %a, which is %a\n", differ, row, (double)x[last], (double)y[last], (double)z[last]);
}

/* x modulo y is the C library's remainder, moved by y where their signs differ, to the bit: of all magnitudes, quotients at and beside whole numbers, special ones. */
static void test_remainders(const kit *k)
{
	static const float special[] = {0, -0.f, 1, -1, 3, -3, 0.1f, INFINITY, -INFINITY, NAN, 1e-45f, -1e-40f, 0x1p-126f, 0x1.fffffep127f, -0x1p21f, 0x1.000002p21f};
	enum { S = sizeof special / sizeof *special };
	uint64_t state = 88172645463325252u;
	for (int round = 0; round < 24; round++) {
		for (int i = 0; i < BLOCK; i++) {
			state ^= state << 13, state ^= state >> 7, state ^= state << 17;
			x[i] = of_bits((uint32_t)state), y[i] = of_bits((uint32_t)(state >> 32));
			if (round % 4)                  /* quotients below 2^24, of which a half are at a whole number or a place beside one */
				y[i] = (i & 1 ? 1 : -1) * (1 + (float)(state >> 40) * 0x1p-24f);
			float many = (float)(state % (UINT64_C(1) << (1 + i % 24)));
			if (round % 4 == 1)
				x[i] = y[i] * many;
			else if (round % 4 == 2)
				x[i] = nextafterf(y[i] * many, i & 2 ? INFINITY : -INFINITY);
			else if (round % 4 == 3)
				x[i] = (i & 2 ? 1 : -1) * many * 0.37f;
			if (round == 0 && i < S * S)
				x[i] = special[i / S], y[i] = special[i % S];
		}
		for (unsigned i = 0; i < sizeof remainder_rows / sizeof *remainder_rows; i++)
			check_remainders(k, remainder_rows[i]);
	}
}

int main(int argc, char **argv)
{
	tsr_arena *a = tsr_arena_new();
	tsr_text t;
	bool chosen = argc > 2 && !strcmp(argv[1], "--bits");
	uint64_t count = UINT64_C(1) << (chosen ? atoi(argv[2]) : 20);
	tsr_text_init(&t, a);
	tsr_text_addf(&t, "buffer %%x : f32[%d] value observed\nbuffer %%y : f32[%d] value observed\nbuffer %%z : f32[%d] value observed\n", BLOCK, BLOCK, BLOCK);
	tsr_text_addf(&t, "buffer %%t : f32[%d, 1] value observed\nunit trailing { kernel k { for i in 0..%d parallel { store %%t[i, 0] = log.f32(%%x[i]) } } }\n", BLOCK, BLOCK);
	for (int i = 0; i < FUNCTIONS; i++)
		tsr_text_addf(&t, "unit %s { kernel k { for i in 0..%d parallel { store %%z[i] = %s } } }\n", functions[i].name, BLOCK,
			functions[i].of ? functions[i].of : tsr_format(a, "%s.f32(%%x[i])", functions[i].name));
	tsr_text_addf(&t, "unit pow { kernel k { for i in 0..%d parallel { store %%z[i] = pow.f32(%%x[i], %%y[i]) } } }\n", BLOCK);
	for (int j = 0; j < EXPONENTS; j++)
		tsr_text_addf(&t, "unit pow%d { kernel k { for i in 0..%d parallel { store %%z[i] = pow.f32(%%x[i], %s:f32) } } }\n", j, BLOCK, exponents[j]);
	tsr_text_addf(&t, "unit divided { kernel k { for i in 0..%d parallel { store %%z[i] = div.f32(%%x[i], %%y[0]) } } }\n", BLOCK);
	for (unsigned j = 0; j < sizeof remainder_rows / sizeof *remainder_rows; j++) {
		int n = remainder_rows[j];
		tsr_text_addf(&t, "unit remainder%d { kernel k { for i in 0..%d parallel { for j in 0..%d parallel {"
			" store %%z[%d*i + j] = mod.f32(%%x[%d*i + j], %%y[%d*i + j]) } } } }\n", n, BLOCK / n, n, n, n, n);
	}
	x = aligned_alloc(64, BLOCK * 4), y = aligned_alloc(64, BLOCK * 4), z = aligned_alloc(64, BLOCK * 4);
	kit k = kit_compile(tsr_text_str(&t), 2, argc > 4 ? argv[4] : NULL);
	for (int i = 0; i < FUNCTIONS; i++)
		if (argc < 4 || !strcmp(argv[3], functions[i].name)) {
			test_function(&k, i, count, chosen);
			test_neighbours(&k, i);
		}
	if (argc < 4 || !strcmp(argv[3], "pow"))
		test_pow(&k, chosen);
	if (argc < 4) {
		test_trailing(&k);
		test_exponents(&k);
		test_remainders(&k);
	}
	if (argc < 4 || !strcmp(argv[3], "division"))
		test_division(&k, count, chosen);
	kit_free(&k);
	free(x), free(y), free(z);
	tsr_arena_free(a);
	return check_end("math");
}
