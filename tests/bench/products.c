/* Matrix products of one shared object, ours, against the libraries that are there, in turns.
 *
 *     products MODEL.so NAME PEERS...          a peer is LIBRARY=PATH
 *
 * For each line `function batch m n k b_turned seconds` on standard input: `name=seconds` of every contender, the best of all rounds,
 * `peak=` in GFLOP/s and `read=` in GB/s, probed in the same turns, `beside=`, ours as a fraction of the peak in pairs of samples, and
 * `wrong=`, the largest difference from a sum in double relative to the sum of the factors' sizes.  All of them use as many threads as OpenMP is told; batches go to the libraries one product
 * a call, by a parallel loop. */
#include "probes.h"
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct shape { int batch, m, n, k, turned; } shape;
typedef struct contender contender;
/* One product, row by row: c = a * b, where b is n x k when turned.  false: this library has no such product. */
typedef bool product(const contender *p, const shape *s, const float *a, const float *b, float *c);
struct contender { const char *name; product *run; void *call; double best; };

static void cblas(const contender *p, const shape *s, const float *a, const float *b, float *c)
{
	typedef void call(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
	union { void *object; call *f; } u = {p->call};
	u.f(101, 111, s->turned ? 112 : 111, s->m, s->n, s->k, 1, a, s->k, b, s->turned ? s->k : s->n, 0, c, s->n);
}

static bool openblas(const contender *p, const shape *s, const float *a, const float *b, float *c)
{
	cblas(p, s, a, b, c);
	return true;
}

/* Fortran's interface, columns first: the product of the transposed in the other order. */
static bool blis(const contender *p, const shape *s, const float *a, const float *b, float *c)
{
	typedef void call(const char *, const char *, const int *, const int *, const int *, const float *, const float *, const int *,
					  const float *, const int *, const float *, float *, const int *);
	union { void *object; call *f; } u = {p->call};
	float one = 1, zero = 0;
	u.f(s->turned ? "T" : "N", "N", &s->n, &s->m, &s->k, &one, b, s->turned ? &s->k : &s->n, a, &s->k, &zero, c, &s->n);
	return true;
}

static bool onednn(const contender *p, const shape *s, const float *a, const float *b, float *c)
{
	typedef int call(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t, float, float *, int64_t);
	union { void *object; call *f; } u = {p->call};
	return u.f('N', s->turned ? 'T' : 'N', s->m, s->n, s->k, 1, a, s->k, b, s->turned ? s->k : s->n, 0, c, s->n) == 0;
}

/* Only small products are generated; the kernel is kept by the library. */
static bool libxsmm(const contender *p, const shape *s, const float *a, const float *b, float *c)
{
	typedef void kernel(const float *, const float *, float *);
	typedef kernel *dispatch(int, int, int, const int *, const int *, const int *, const float *, const float *, const int *, const int *);
	union { void *object; dispatch *f; } u = {p->call};
	if (s->turned || s->m > 256 || s->n > 256 || s->k > 256)
		return false;
	float one = 1, zero = 0;
	kernel *f = u.f(s->n, s->m, s->k, NULL, NULL, NULL, &one, &zero, NULL, NULL);
	if (f)
		f(b, a, c);
	return f != NULL;
}

static const struct { const char *name, *symbol; product *run; } libraries[] = {
	{"OpenBLAS", "cblas_sgemm", openblas}, {"BLIS", "sgemm_", blis}, {"oneDNN", "dnnl_sgemm", onednn}, {"libxsmm", "libxsmm_smmdispatch", libxsmm},
};
enum { LIBRARIES = sizeof libraries / sizeof *libraries, BURST = 400, PAIRS = 10000, SAMPLE = 20000000 };

typedef int ours(void *ctx, const float *a, const float *b, float *c);

static void each(const contender *p, const shape *s, const float *a, const float *b, float *c)
{
	size_t na = (size_t)s->m * (size_t)s->k, nb = (size_t)s->k * (size_t)s->n, nc = (size_t)s->m * (size_t)s->n;
	if (s->batch == 1)
		p->run(p, s, a, b, c);
	else
#pragma omp parallel for schedule(static)
		for (int z = 0; z < s->batch; z++)
			p->run(p, s, a + (size_t)z * na, b + (size_t)z * nb, c + (size_t)z * nc);
}

/* A burst: the contender's own data are in the caches from the second call on, as for every other one. */
static double burst(const contender *p, const shape *s, ours *f, void *ctx, const float *a, const float *b, float *c)
{
	double best = 1e9, begin = now();
	for (int i = 0; i < BURST && (i < 2 || now() - begin < 1e-3); i++) {
		double t = now();
		if (f)
			f(ctx, a, b, c);
		else
			each(p, s, a, b, c);
		t = now() - t;
		best = t < best ? t : best;
	}
	return best;
}

/* Some elements of the result, compared with sums in double. */
static double wrong(const shape *s, const float *a, const float *b, const float *c)
{
	double worst = 0;
	size_t elements = (size_t)s->batch * (size_t)s->m * (size_t)s->n, step = elements / 97 + 1;
	for (size_t e = 0; e < elements; e += step) {
		size_t j = e % (size_t)s->n, i = e / (size_t)s->n, z = i / (size_t)s->m, k = (size_t)s->k;
		double sum = 0, size = 0;
		for (size_t x = 0; x < k; x++) {
			double y = (double)a[i * k + x] * b[s->turned ? (z * (size_t)s->n + j) * k + x : (z * k + x) * (size_t)s->n + j];
			sum += y;
			size += fabs(y);
		}
		worst = fmax(worst, fabs(sum - (double)c[e]) / (size + 1e-30));
	}
	return worst;
}

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The fraction of the peak that is reached: in turns a sample of ours and one of multiply-adds alone that is as long, as many of both,
 * the middle of their quotients.  The clock stands at one of several steps a tenth apart and changes within milliseconds: the best of
 * many short samples and the best of a few long ones do not see the same ones.  Nor do short samples beside long work: directly after a
 * product multiply-adds make less than it made itself, and then, as they load nothing, their clock climbs for tens of milliseconds. */
static double beside(const shape *s, ours *f, void *ctx, const float *a, const float *b, float *c, double seconds)
{
	double quotients[PAIRS], begin = now(), flop = 2.0 * s->batch * s->m * s->n * s->k;
	int calls = flop < SAMPLE ? (int)(SAMPLE / flop) : 1, n = 0;
	for (; n < PAIRS && (n < 9 || now() - begin < seconds); n++) {
		double t = now();
		for (int i = 0; i < calls; i++)
			f(ctx, a, b, c);
		t = now() - t;
		quotients[n] = calls * flop / t * 1e-9 / probe_peak_of(calls * flop);
	}
	qsort(quotients, (size_t)n, sizeof *quotients, rising);
	return quotients[n / 2];
}

/* What only some shapes ask for: how fast an operand as large as this one is read. */
static double reading(const float *b, size_t n)
{
	double best = 1e9;
	for (int i = 0; i < 3; i++) {
		double t = now();
		volatile float sink = probe_read(b, n);
		(void)sink;
		best = fmin(best, now() - t);
	}
	return (double)n * sizeof(float) / best * 1e-9;
}

static void measure(const shape *s, contender *peers, int count, ours *f, void *ctx, double seconds)
{
	size_t nb = (size_t)s->batch * (size_t)s->k * (size_t)s->n;
	float *a = probe_array((size_t)s->batch * (size_t)s->m * (size_t)s->k), *b = probe_array(nb);
	float *c = probe_array((size_t)s->batch * (size_t)s->m * (size_t)s->n);
	double own = 1e9, peak = 0, read = 0, begin = now();
	for (int i = 0; i < count; i++)
		peers[i].best = 1e9;
	for (int round = 0; round < 3 || now() - begin < seconds; round++) {
		own = fmin(own, burst(NULL, s, f, ctx, a, b, c));
		for (int i = 0; i < 4; i++)
			peak = fmax(peak, probe_peak());
		if (s->m == 1)
			read = fmax(read, reading(b, nb));
		for (int i = 0; i < count; i++)
			if (peers[i].run(&peers[i], &(shape){1, s->m, s->n, s->k, s->turned}, a, b, c))
				peers[i].best = fmin(peers[i].best, burst(&peers[i], s, NULL, NULL, a, b, c));
	}
	double fraction = beside(s, f, ctx, a, b, c, 3 * seconds);
	printf("ours=%g peak=%g beside=%g read=%g wrong=%g", own, peak, fraction, read, wrong(s, a, b, c));
	for (int i = 0; i < count; i++)
		if (peers[i].best < 1e8)
			printf(" %s=%g", peers[i].name, peers[i].best);
	puts("");
	fflush(stdout);
	probe_free(a), probe_free(b), probe_free(c);
}

static int find(contender *peers, int argc, char **argv)
{
	int count = 0;
	for (int i = 3; i < argc; i++)
		for (int k = 0; k < LIBRARIES; k++) {
			size_t n = strlen(libraries[k].name);
			if (strncmp(argv[i], libraries[k].name, n) || argv[i][n] != '=')
				continue;
			void *library = dlopen(argv[i] + n + 1, RTLD_NOW | RTLD_LOCAL), *call = library ? dlsym(library, libraries[k].symbol) : NULL;
			if (call)
				peers[count++] = (contender){libraries[k].name, libraries[k].run, call, 0};
		}
	return count;
}

int main(int argc, char **argv)
{
	contender peers[LIBRARIES];
	void *model = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL, *ctx = NULL;
	char name[200];
	if (!model) {
		fprintf(stderr, "%s\n", argc > 2 ? dlerror() : "products MODEL.so NAME PEERS...");
		return 1;
	}
	snprintf(name, sizeof name, "%s_open", argv[2]);
	union { void *object; int (*f)(void **, void *); } open = {dlsym(model, name)};
	int count = find(peers, argc, argv);
	if (!open.object || open.f(&ctx, NULL))
		return 1;
	char function[100];
	shape s;
	double seconds;
	while (scanf("%99s %d %d %d %d %d %lf", function, &s.batch, &s.m, &s.n, &s.k, &s.turned, &seconds) == 7) {
		snprintf(name, sizeof name, "%s_%s", argv[2], function);
		union { void *object; ours *f; } u = {dlsym(model, name)};
		if (!u.f)
			return 1;
		measure(&s, peers, count, u.f, ctx, seconds);
	}
	return 0;
}
