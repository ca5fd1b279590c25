/* How far orders of computing may be apart: the bound is the textbook's for sums of products, holds for random orders and trees, is 0
 * where numbers are exact in any order, and follows values through functions and choices. */
#include "../../compiler/loop/spread.h"
#include "check.h"
#include <stdlib.h>

enum { MOST = 400 };

static uint64_t state = 5;
static double draw(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (double)(state >> 40) / (1 << 24) - 0.5;
}

static tsr_scalar f32(double x) { return tsr_scalar_of(TSR_PREC_F32, x); }

typedef struct judged { tsr_scalar v; tsr_spread s; } judged;

static judged given(double x) { return (judged){f32(x), tsr_spread_given(f32(x))}; }

static judged apply(tsr_op op, judged x, judged y, judged z)
{
	tsr_scalar v[3] = {x.v, y.v, z.v};
	tsr_spread s[3] = {x.s, y.s, z.s};
	judged r = {.v = tsr_op_apply(op, op == TSR_OP_WHERE ? y.v.prec : x.v.prec, v)};
	r.s = tsr_spread_op(op, v, s, r.v);
	return r;
}

static judged apply2(tsr_op op, judged x, judged y) { return apply(op, x, y, y); }

static judged dot(int n, const double *a, const double *b)
{
	judged sum = given(0);
	for (int i = 0; i < n; i++)
		sum = apply2(TSR_OP_ADD, sum, apply2(TSR_OP_MUL, given(a[i]), given(b[i])));
	return sum;
}

/* The terms in random order, summed as a random tree, some products fused. */
static float another_order(int n, const double *a, const double *b)
{
	float part[MOST];
	for (int i = 0; i < n; i++)
		part[i] = (float)a[i] * (float)b[i];
	for (int left = n; left > 1; left--) {
		int i = rand() % left, j = rand() % (left - 1);
		j += j >= i;
		part[i < j ? i : j] = part[i] + part[j];
		part[i < j ? j : i] = part[left - 1];
	}
	return part[0];
}

static void test_sums(void)
{
	double a[MOST], b[MOST];
	for (int turn = 0; turn < 200; turn++) {
		int n = 2 + rand() % (MOST - 2);
		double size = 0, g = (n + 1) * 0x1p-24;
		for (int i = 0; i < n; i++) {
			a[i] = f32(draw()).d, b[i] = f32(draw()).d;
			size += fabs(a[i] * b[i]);
		}
		judged sum = dot(n, a, b);
		double bound = tsr_spread_bound(sum.s), textbook = 2 * g / (1 - g) * size;
		CHECK(bound >= 0.99 * textbook * n / (n + 1) && bound <= 1.01 * textbook);
		for (int k = 0; k < 5; k++)
			CHECK(fabs((double)another_order(n, a, b) - sum.v.d) <= bound);
		a[0] += a[0] < 0 ? -0.5 : 0.5, b[0] += b[0] < 0 ? -0.5 : 0.5;
		if (n < 100)
			CHECK(fabs((double)another_order(n, a, b) - sum.v.d) > bound);
	}
}

static void test_whole_numbers(void)
{
	double a[MOST], b[MOST];
	for (int i = 0; i < MOST; i++)
		a[i] = floor(16 * draw()) / 4, b[i] = floor(16 * draw()) / 8;
	judged sum = dot(MOST, a, b);
	CHECK(tsr_spread_bound(sum.s) == 0);
	CHECK(tsr_spread_bound(apply2(TSR_OP_LT, sum, sum).s) == 0);
	judged large = apply2(TSR_OP_ADD, given(0x1p24), given(1));      /* one digit too many */
	CHECK(tsr_spread_bound(large.s) > 0);
}

static void test_functions(void)
{
	judged third = apply2(TSR_OP_DIV, given(1), given(3)), none = given(0), sum = apply2(TSR_OP_ADD, third, third);
	double d = tsr_spread_bound(sum.s);
	CHECK(d > 0x1p-25 && d < 0x1p-21);
	double of_exp = tsr_spread_bound(apply2(TSR_OP_EXP, sum, none).s);
	CHECK(of_exp > exp(sum.v.d) * d && of_exp < exp(sum.v.d) * (2 * d + 0x1p-20));
	CHECK(tsr_spread_bound(apply2(TSR_OP_FLOOR, sum, none).s) == 0);
	judged one = apply2(TSR_OP_ADD, sum, third);                     /* 1, or nearly */
	CHECK(tsr_spread_bound(apply2(TSR_OP_FLOOR, one, none).s) >= 1);
	CHECK(isinf(tsr_spread_bound(apply2(TSR_OP_RECIP, apply2(TSR_OP_SUB, one, given(1)), none).s)));
	judged open = apply2(TSR_OP_LT, one, given(1)), shut = apply2(TSR_OP_LT, one, given(1.5));
	CHECK(tsr_spread_bound(open.s) > 0 && tsr_spread_bound(shut.s) == 0);
	CHECK(tsr_spread_bound(apply(TSR_OP_WHERE, open, given(7), given(2)).s) >= 5);
	CHECK(tsr_spread_bound(apply(TSR_OP_WHERE, shut, given(7), given(2)).s) == 0);
	CHECK(tsr_spread_bound(apply2(TSR_OP_MAX, one, given(5)).s) == 0 && tsr_spread_bound(apply2(TSR_OP_MAX, one, given(-5)).s) > 0);
}

int main(void)
{
	srand(1);
	test_sums();
	test_whole_numbers();
	test_functions();
	return check_end("spread");
}
