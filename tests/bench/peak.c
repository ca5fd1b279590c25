/* For each line on standard input: the best rate of fused multiply-adds in f32 over some short samples, in GFLOP/s.
 * Sixteen independent accumulators of the widest vectors; built with -O2 -march=native. */
#include <stdio.h>
#include <time.h>

#if defined(__AVX512F__)
typedef float lanes __attribute__((vector_size(64)));
#elif defined(__AVX__)
typedef float lanes __attribute__((vector_size(32)));
#else
typedef float lanes __attribute__((vector_size(16)));
#endif

enum { ACCUMULATORS = 12, ROUNDS = 20000, SAMPLES = 40 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double sample(lanes *out, lanes x, lanes y)
{
	lanes a[ACCUMULATORS];
	for (int k = 0; k < ACCUMULATORS; k++)
		a[k] = x * (float)k;
	double begin = now();
	for (int i = 0; i < ROUNDS; i++) {
#pragma GCC unroll 12
		for (int k = 0; k < ACCUMULATORS; k++)
			a[k] = a[k] * x + y;
		__asm__ volatile("" : "+x"(x), "+x"(y));
	}
	double seconds = now() - begin;
	for (int k = 0; k < ACCUMULATORS; k++)
		*out += a[k];
	return 2.0 * ACCUMULATORS * ROUNDS * (sizeof(lanes) / sizeof(float)) / seconds * 1e-9;
}

int main(void)
{
	volatile float start = 0.999f;
	lanes x = (lanes){0} + start, y = (lanes){0} + 0.001f, sum = {0};
	int c;
	while ((c = getchar()) != EOF) {
		if (c != '\n')
			continue;
		double best = 0;
		for (int i = 0; i < SAMPLES; i++) {
			double rate = sample(&sum, x, y);
			best = rate > best ? rate : best;
		}
		printf("%.1f %g\n", best, (double)sum[0] * 1e-30);
		fflush(stdout);
	}
	return 0;
}
