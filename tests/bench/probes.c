/* Built with -O2 -march=native -fopenmp.  The loops are as plain as they can be: what they reach is what any loop can reach. */
#include "probes.h"
#include <immintrin.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#if defined(__AVX512F__)
typedef float lanes __attribute__((vector_size(64)));
#define STREAM(p, x) _mm512_stream_ps((p), (__m512)(x))
#elif defined(__AVX__)
typedef float lanes __attribute__((vector_size(32)));
#define STREAM(p, x) _mm256_stream_ps((p), (__m256)(x))
#else
typedef float lanes __attribute__((vector_size(16)));
#define STREAM(p, x) _mm_stream_ps((p), (__m128)(x))
#endif
typedef lanes any_lanes __attribute__((aligned(4)));

enum { ACCUMULATORS = 12, ROUNDS = 40000, LANES = sizeof(lanes) / sizeof(float), BLOCK = 1 << 12, HUGE = 1 << 21, COLOURS = 16 };

#define AT(p, i) (*(const any_lanes *)((p) + (i)))
#define TO(p, i) (*(any_lanes *)((p) + (i)))

double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static float spin(float start, long rounds)
{
	lanes x = (lanes){0} + start, y = (lanes){0} + 0.001f, a[ACCUMULATORS], sum = {0};
	for (int k = 0; k < ACCUMULATORS; k++)
		a[k] = x * (float)k;
	for (long i = 0; i < rounds; i++) {
#pragma GCC unroll 12
		for (int k = 0; k < ACCUMULATORS; k++)
			a[k] = a[k] * x + y;
		__asm__ volatile("" : "+x"(x), "+x"(y));
	}
	for (int k = 0; k < ACCUMULATORS; k++)
		sum += a[k];
	return sum[0];
}

static double peak(long rounds)
{
	volatile float start = 0.999f, sink = 0;
	int threads = 0;
	double begin = now();
#pragma omp parallel reduction(+ : threads)
	{
		threads++;
		sink = spin(start, rounds);
	}
	(void)sink;
	return 2.0 * ACCUMULATORS * LANES * (double)rounds * threads / (now() - begin) * 1e-9;
}

double probe_peak(void)
{
	return peak(ROUNDS);
}

double probe_peak_of(double flop)
{
	return peak((long)(flop / (2.0 * ACCUMULATORS * LANES * omp_get_max_threads())) + 1);
}

/* Arrays begin at different distances from a page boundary: those that are walked together would otherwise meet in the same
 * sets of the cache, and a load would wait for a store 4 KiB away.  Numbers between -1 and 1 have all their digits, as a program's have: matrix
 * registers, to which a number of eight digits is one third and two zeros, multiply such 1.2 to 1.3 times as fast. */
float *probe_array(size_t n)
{
	static int colour;
	size_t bytes = (n * sizeof(float) / HUGE + 2) * HUGE;
	char *base = aligned_alloc(HUGE, bytes);
	if (!base)
		abort();
	madvise(base, bytes, MADV_HUGEPAGE);
	float *a = (float *)(void *)(base + colour++ % COLOURS * 3 * 64);
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < n; i++)
		a[i] = (float)(int32_t)((uint32_t)i * 0x9e3779b1u) * 0x1p-31f;
	return a;
}

void probe_free(float *a)
{
	free((char *)a - (uintptr_t)a % HUGE);
}

/* A block of BLOCK elements at a time; the last one may be shorter, and then the array's end is left out: less than a vector. */
#define EACH(i, n) \
	_Pragma("omp parallel for schedule(static)") for (size_t block = 0; block < (n); block += BLOCK) \
		for (size_t i = block; i + LANES <= (n) && i < block + BLOCK; i += LANES)

float probe_read(const float *a, size_t n)
{
	float sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
	for (size_t block = 0; block < n; block += BLOCK) {
		lanes x[4] = {{0}};
		for (size_t i = block; i + 4 * LANES <= n && i < block + BLOCK; i += 4 * LANES)
			for (size_t k = 0; k < 4; k++)
				x[k] += AT(a, i + k * LANES);
		lanes y = x[0] + x[1] + x[2] + x[3];
		sum += y[0];
	}
	return sum;
}

void probe_write(float *d, size_t n, bool stream)
{
	lanes one = (lanes){0} + 1.f;
	if (stream)
		EACH(i, n) STREAM(d + i, one);
	else
		EACH(i, n) TO(d, i) = one;
	_mm_sfence();
}

void probe_copy(float *d, const float *a, size_t n, bool stream)
{
	if (stream)
		EACH(i, n) STREAM(d + i, AT(a, i));
	else
		EACH(i, n) TO(d, i) = AT(a, i);
	_mm_sfence();
}

void probe_triad(float *d, const float *a, const float *b, size_t n, bool stream)
{
	if (stream)
		EACH(i, n) STREAM(d + i, AT(a, i) * 3.f + AT(b, i));
	else
		EACH(i, n) TO(d, i) = AT(a, i) * 3.f + AT(b, i);
	_mm_sfence();
}

void probe_update(float *p, float *m, float *v, const float *g, size_t n)
{
	EACH(i, n) {
		lanes x = AT(g, i), first = AT(m, i) * .9f + x, second = AT(v, i) * .9f + x;
		TO(m, i) = first;
		TO(v, i) = second;
		TO(p, i) = AT(p, i) - first - second;
	}
}

static struct { size_t held, most; } counted;

void *probe_memory(void *user, void *memory, size_t size)
{
	(void)user;
	size_t *old = memory ? (size_t *)memory - 8 : NULL;
	counted.held -= old ? *old : 0;
	if (!size) {
		free(old);
		return NULL;
	}
	size_t *new = realloc(old, size + 8 * sizeof *new);
	if (!new)
		return NULL;
	*new = size;
	counted.held += size;
	counted.most = counted.held > counted.most ? counted.held : counted.most;
	return new + 8;
}

size_t probe_memory_most(void)
{
	size_t most = counted.most;
	counted.most = counted.held;
	return most;
}
