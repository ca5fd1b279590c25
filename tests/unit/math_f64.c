/* emit/math_f64*.c: the largest error of every elementary function in f64, in units of the last place, against the C library in long double (64 digits
 * and more).  Arguments: half of them dense where the function does not vanish or overflow, half spread over all bit patterns, and special ones.
 *
 *     math_f64 --bits N [FUNCTION [CPU]]     2^N of them for each; the largest error is printed, and where it is */
#include "check.h"
#include "emit_kit.h"
#include "../../compiler/base/text.h"
#include <math.h>

enum { BLOCK = 1 << 14, ODD = 37 };

static long double power_of_two(long double x) { return exp2l(x); }
static long double normal(long double x) { return 0.5L * erfcl(-fabsl(x)); }
static long double cube(long double x) { return x * x * x; }
static long double fifth(long double x) { return powl(x, 5); }
static long double down(long double x) { return powl(x, -4); }
static long double root(long double x) { return isinf(x) ? INFINITY : sqrtl(x + 0); }

/* Between `from` and `to` arguments lie dense.  `of`: what it is computed as, where that is not the function of its name. */
static const struct { const char *name; long double (*f)(long double); double from, to, allowed; const char *of; } functions[] = {
	{"exp", expl, -746, 710, 1, NULL}, {"exp2", power_of_two, -1076, 1025, 1, NULL}, {"log", logl, 0, 4, 1, NULL}, {"log2", log2l, 0, 4, 1, NULL},
	{"tanh", tanhl, -20, 20, 1.15, NULL}, {"erf", erfl, -6, 6, 1.15, NULL}, {"sin", sinl, -100, 100, 1, NULL}, {"cos", cosl, -100, 100, 1, NULL},
	{"half_erf", normal, 0, 6, 1.5, "add.f64(0.5:f64, mul.f64(0.5:f64, erf.f64(abs.f64(%x[i]))))"},
	{"cube", cube, -100, 100, 1.5, "pow.f64(%x[i], 3:f64)"}, {"fifth", fifth, -100, 100, 1, "pow.f64(%x[i], 5:f64)"},
	{"down", down, -100, 100, 1, "pow.f64(%x[i], -4:f64)"}, {"root", root, 0, 100, 0.5, "pow.f64(%x[i], 0.5:f64)"},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static double *x, *y, *z;
static uint64_t state = 88172645463325252u;

static uint64_t draw(void)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return state * 0x2545F4914F6CDD1D;
}

static double of_bits(uint64_t bits)
{
	double f;
	memcpy(&f, &bits, 8);
	return f;
}

static double between(double from, double to) { return from + (to - from) * ((double)(draw() >> 11) * 0x1p-53); }

/* Of the exact result `want`; NaN must meet NaN, and what rounds to infinity must be infinite. */
static double ulps(double got, long double want)
{
	double near = (double)want;
	int exponent;
	if (isnan(want) || isnan(got))
		return isnan(want) && isnan(got) ? 0 : INFINITY;
	if (isinf(near) || isinf(got))
		return got == near || (fabsl(want) > 0x1.fffffffffffffp1023L && !isinf(want) && fabs(got) > 0x1.fffffffffffffp1022) ? 0 : INFINITY;
	if (want == 0)
		return got == 0 && !signbit(got) == !signbit(near) ? 0 : INFINITY;
	frexpl(want, &exponent);
	return (double)(fabsl((long double)got - want) / ldexpl(1, (exponent < -1021 ? -1021 : exponent) - 53));
}

static const double special[] = {0, -0., 1, -1, 2, -2, 0.5, -0.5, 3, INFINITY, -INFINITY, NAN, 0x1p-1022, 0x1p-1074, -0x1p-1074, 0x1.fffffffffffffp-1023,
	0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023, 0x1.fffffffffffffp-1, 0x1.0000000000001p0, 709.782712893384, 709.7827128933841, -745.1332191019411,
	-745.1332191019412, -745.13, -708.3964185322641, 1023.9999999999999, 1024, -1074, -1075, -1074.5, -1022, 0x1.921fb54442d18p0, 0x1.921fb54442d18p1,
	0x1.6ac5b262ca1ffp+849, 0x1p30, 0x1.0000000000001p30, 0x1.fffffffffffffp29, 0x1p20, 0x1p1000, 0x1.6a09e667f3bcdp-1, 0x1.6a09e667f3bccp-1,
	0x1.6a09e667f3bcdp0, 0x1.6a09e667f3bccp0, 5.9, 5.92, 5.93, 6, 19, 19.06154746539849, 19.07, 1e-300, 1e-20, 1e-8, 1e300, 1e-320};
enum { SPECIAL = sizeof special / sizeof *special };

/* Multiples of pi/2 and their neighbours, where a reduced argument has hardly any digits left. */
static double near_zero(void)
{
	double at = (double)(draw() % (UINT64_C(1) << draw() % 34)) * 0x1.921fb54442d18p0;
	return at + (double)((int64_t)(draw() % 5) - 2) * (nextafter(at, INFINITY) - at);
}

static double argument(int which, uint64_t i)
{
	uint64_t kind = draw() % 8;
	if (i < SPECIAL)
		return special[i];
	if (kind < 4)
		return between(functions[which].from, functions[which].to);
	if (kind == 4)
		return functions[which].f == sinl || functions[which].f == cosl ? near_zero() : 1 + between(-0x1p-3, 0x1p-3);
	return kind == 5 ? between(-2, 2) : of_bits(draw());
}

static kit_unit find(const kit *k, int which, const char *of)
{
	char name[32];
	snprintf(name, sizeof name, "of_%s%s", functions[which].name, of);
	return kit_find(k, name);
}

static double library(int which, double at, double got)
{
	double want = functions[which].f == sinl ? sin(at) : cos(at);
	return (isnan(want) && isnan(got)) || got == want ? 0 : INFINITY;
}

/* Arguments for which the C library's own result is what is promised. */
static bool by_library(int which, double at) { return (functions[which].f == sinl || functions[which].f == cosl) && fabs(at) > 0x1p25; }

static void test_function(const kit *k, int which, uint64_t count, bool fused, bool chosen)
{
	kit_unit unit = find(k, which, "");
	void *buffers[] = {x, y, z};
	double worst = 0, at = 0, gave = 0;
	for (uint64_t block = 0; block < count; block += BLOCK) {
		for (uint64_t i = 0; i < BLOCK; i++)
			x[i] = argument(which, block + i);
		unit(NULL, buffers, NULL, NULL);
		for (int i = 0; i < BLOCK; i++) {
			double d = by_library(which, x[i]) ? library(which, x[i], z[i]) : ulps(z[i], functions[which].f((long double)x[i]));
			if (d > worst)
				worst = d, at = x[i], gave = z[i];
		}
	}
	if (!CHECK(worst <= functions[which].allowed + (fused ? 0 : 0.3)) || chosen)
		printf("%s %.3f ulp at %a: %a, not %La\n", functions[which].name, worst, at, gave, functions[which].f((long double)at));
}

/* What a lane gives is its argument's affair alone, whatever stands beside it, and the same in an odd loop's end and in a loop without vectors. */
static void test_neighbours(const kit *k, const kit *plain, int which)
{
	static const double far[] = {800, -800, -740, INFINITY, -INFINITY, NAN, 1e300, 1e10, 0, -1, 1e-310};
	void *buffers[] = {x, y, z};
	for (int i = 0; i < BLOCK; i++)
		x[i] = (double)(i * 16807 % 20011 - 4005) / 115;
	find(k, which, "")(NULL, buffers, NULL, NULL);
	memcpy(y, z, BLOCK * 8);
	for (int i = 0; i < BLOCK; i += ODD)
		x[i] = far[i / ODD % 11];
	find(k, which, "")(NULL, buffers, NULL, NULL);
	int differ = 0;
	for (int i = 0; i < BLOCK; i++)
		differ += i % ODD && memcmp(&y[i], &z[i], 8) != 0;
	if (!CHECK(differ == 0))
		printf("%s: %d results depend on their neighbours\n", functions[which].name, differ);
	memcpy(y, z, BLOCK * 8);
	for (int from = 0, part = 0; from + ODD <= BLOCK; from += ODD, part++) {
		void *there[] = {x + from, NULL, z + from};
		memset(z + from, 0, ODD * 8);
		find(part % 2 ? k : plain, which, "_odd")(NULL, there, NULL, NULL);
		for (int i = from; i < from + ODD; i++)
			differ += !(isnan(y[i]) && isnan(z[i])) && memcmp(&y[i], &z[i], 8) != 0;
	}
	if (!CHECK(differ == 0))
		printf("%s: %d results depend on where a loop ends, or on vectors\n", functions[which].name, differ);
}

/* Bases over all magnitudes and near 1, exponents that keep most results finite, and every pair of special values. */
static void test_pow(const kit *k, uint64_t count, bool chosen)
{
	void *buffers[] = {x, y, z};
	double worst = 0, base = 0, exponent = 0;
	for (uint64_t block = 0; block < count; block += BLOCK) {
		for (uint64_t i = 0; i < BLOCK; i++) {
			uint64_t kind = draw() % 4;
			x[i] = kind == 0 ? 1 + between(-0x1p-6, 0x1p-6) : kind == 1 ? between(0, 8) : of_bits(draw() >> 1);
			double reach = 1080 / fabs(log2(x[i]));
			y[i] = between(-1, 1) * (reach < 1e300 ? reach : 1);
			y[i] = kind == 1 && i % 2 ? trunc(y[i]) : y[i];
			x[i] = kind == 1 && i % 16 == 1 ? -x[i] : x[i];
			if (block == 0 && i < SPECIAL * SPECIAL)
				x[i] = special[i / SPECIAL], y[i] = special[i % SPECIAL];
		}
		kit_find(k, "of_pow")(NULL, buffers, NULL, NULL);
		for (int i = 0; i < BLOCK; i++) {
			double d = ulps(z[i], powl((long double)x[i], (long double)y[i]));
			if (d > worst)
				worst = d, base = x[i], exponent = y[i];
		}
	}
	if (!CHECK(worst <= 1) || chosen)
		printf("pow %.3f ulp at %a ^ %a\n", worst, base, exponent);
}

/* x modulo y is the C library's remainder, moved by y where their signs differ, to the bit. */
static void test_remainders(const kit *k)
{
	void *buffers[] = {x, y, z};
	int differ = 0;
	for (int round = 0; round < 64; round++) {
		for (int i = 0; i < BLOCK; i++) {
			double many = (double)(draw() % (UINT64_C(1) << (1 + i % 53)));
			x[i] = of_bits(draw()), y[i] = of_bits(draw());
			if (round % 4)
				y[i] = i & 1 ? between(1, 2) : between(-2, -1), x[i] = round % 4 == 1 ? y[i] * many : round % 4 == 2 ? nextafter(y[i] * many, i & 2 ? INFINITY : -INFINITY) : many * 0.37;
			if (round == 0 && i < SPECIAL * SPECIAL)
				x[i] = special[i / SPECIAL], y[i] = special[i % SPECIAL];
		}
		kit_find(k, "of_remainder")(NULL, buffers, NULL, NULL);
		for (int i = 0; i < BLOCK; i++) {
			double r = fmod(x[i], y[i]), want = r != 0 && (r < 0) != (y[i] < 0) ? r + y[i] : r;
			differ += isnan(want) ? !isnan(z[i]) : memcmp(&want, &z[i], 8) != 0;
		}
	}
	if (!CHECK(differ == 0))
		printf("%d remainders differ\n", differ);
}

static const char *program(tsr_arena *a)
{
	tsr_text t;
	tsr_text_init(&t, a);
	tsr_text_addf(&t, "buffer %%x : f64[%d] value observed\nbuffer %%y : f64[%d] value observed\nbuffer %%z : f64[%d] value observed\n", BLOCK, BLOCK, BLOCK);
	for (int i = 0; i < FUNCTIONS; i++)
		for (int odd = 0; odd < 2; odd++)
			tsr_text_addf(&t, "unit of_%s%s { kernel k { for i in 0..%d parallel { store %%z[i] = %s } } }\n", functions[i].name, odd ? "_odd" : "", odd ? ODD : BLOCK,
				functions[i].of ? functions[i].of : tsr_format(a, "%s.f64(%%x[i])", functions[i].name));
	tsr_text_addf(&t, "unit of_pow { kernel k { for i in 0..%d parallel { store %%z[i] = pow.f64(%%x[i], %%y[i]) } } }\n", BLOCK);
	tsr_text_addf(&t, "unit of_remainder { kernel k { for i in 0..%d parallel { store %%z[i] = mod.f64(%%x[i], %%y[i]) } } }\n", BLOCK);
	return tsr_text_str(&t);
}

static void test_level(const char *text, const char *cpu, uint64_t count, const char *only, bool chosen)
{
	bool fused = !cpu || strcmp(cpu, "x86-64-v2");
	kit k = kit_compile(text, 2, cpu), plain = kit_compile(text, 0, cpu);
	for (int i = 0; i < FUNCTIONS; i++)
		if (!only || !strcmp(only, functions[i].name)) {
			test_function(&k, i, count, fused, chosen);
			test_neighbours(&k, &plain, i);
		}
	if (!only || !strcmp(only, "pow"))
		test_pow(&k, count, chosen);
	if (!only)
		test_remainders(&k);
	kit_free(&k);
	kit_free(&plain);
}

int main(int argc, char **argv)
{
	tsr_arena *a = tsr_arena_new();
	bool chosen = argc > 2 && !strcmp(argv[1], "--bits");
	uint64_t count = UINT64_C(1) << (chosen ? atoi(argv[2]) : 17);
	const char *text = program(a);
	x = aligned_alloc(64, BLOCK * 8), y = aligned_alloc(64, BLOCK * 8), z = aligned_alloc(64, BLOCK * 8);
	test_level(text, argc > 4 ? argv[4] : NULL, count, argc > 3 ? argv[3] : NULL, chosen);
#ifdef __x86_64__
	if (!chosen)
		test_level(text, "x86-64-v2", count / 4, NULL, false);
#endif
	free(x), free(y), free(z);
	tsr_arena_free(a);
	return check_end("math_f64");
}
