/* Tensor contractions of one shared object, ours, against what a user of a matrix library writes: transposing what does not lie as a
 * matrix, a product by OpenBLAS, and transposing the result.
 *
 *     contractions MODEL.so NAME [OPENBLAS]
 *
 * For each line `function seconds m n k turned_a turned_b swapped` and three descriptions of tensors, x, y and z, on standard input: `ours=`,
 * `blas=` in seconds, `peak=` in GFLOP/s, `differs=` relative to the largest element.  A description is `elements rank`, and where
 * the tensor is transposed, which is when its rank is not 0, for each axis of the target, slowest first, its size and its stride in
 * the source.  contractions.py decides the order of axes.  turned: that factor of the product, after the transposition; swapped: the
 * first factor is y. */
#include "probes.h"
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 8, TILE = 16 };
typedef struct order { size_t elements; int rank; int64_t size[MOST], from[MOST], to[MOST]; } order;
typedef void gemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
typedef int ours(void *ctx, const float *x, const float *y, float *z);

/* ---- transposing: tiles of the axis that is fastest in the source and the one that is fastest in the target ------------------------ */

static void tile(const float *from, float *to, int64_t rows, int64_t columns, int64_t read, int64_t write)
{
	if (rows == TILE && columns == TILE) {
		for (int i = 0; i < TILE; i++)
			for (int j = 0; j < TILE; j++)
				to[i * write + j] = from[j * read + i];
	} else {
		for (int64_t i = 0; i < rows; i++)
			for (int64_t j = 0; j < columns; j++)
				to[i * write + j] = from[j * read + i];
	}
}

static void plane(const order *o, int fast, const float *from, float *to)
{
	int last = o->rank - 1;
	if (fast == last) {
		for (int64_t j = 0; j < o->size[last]; j++)
			to[j] = from[j];
		return;
	}
	for (int64_t i = 0; i < o->size[fast]; i += TILE)
		for (int64_t j = 0; j < o->size[last]; j += TILE)
			tile(from + i + j * o->from[last], to + i * o->to[fast] + j, o->size[fast] - i < TILE ? o->size[fast] - i : TILE,
				 o->size[last] - j < TILE ? o->size[last] - j : TILE, o->from[last], o->to[fast]);
}

static void transpose(const order *o, const float *from, float *to)
{
	int fast = o->rank - 1;
	int64_t planes = 1;
	for (int k = 0; k < o->rank; k++)
		fast = o->from[k] == 1 ? k : fast;
	for (int k = 0; k < o->rank - 1; k++)
		planes *= k == fast ? 1 : o->size[k];
#pragma omp parallel for schedule(static)
	for (int64_t p = 0; p < planes; p++) {
		int64_t rest = p, read = 0, write = 0;
		for (int k = o->rank - 2; k >= 0; k--)
			if (k != fast) {
				read += rest % o->size[k] * o->from[k];
				write += rest % o->size[k] * o->to[k];
				rest /= o->size[k];
			}
		plane(o, fast, from + read, to + write);
	}
}

/* ---- one contraction --------------------------------------------------------------------------------------------------------- */

typedef struct problem {
	char function[100];
	double seconds;
	int m, n, k, turned_a, turned_b, swapped;
	order x, y, z;
	float *a, *b, *c;            /* x, y, z as matrices; the same memory where they lie so already */
} problem;

static bool read_order(order *o)
{
	int64_t stride = 1;
	if (scanf("%zu %d", &o->elements, &o->rank) != 2 || o->rank > MOST)
		return false;
	for (int k = 0; k < o->rank; k++)
		if (scanf("%ld %ld", &o->size[k], &o->from[k]) != 2)
			return false;
	for (int k = o->rank - 1; k >= 0; k--) {
		o->to[k] = stride;
		stride *= o->size[k];
	}
	return true;
}

static void by_blas(const problem *p, gemm *blas, const float *x, const float *y, float *z)
{
	if (p->x.rank)
		transpose(&p->x, x, p->a);
	if (p->y.rank)
		transpose(&p->y, y, p->b);
	blas(101, p->turned_a ? 112 : 111, p->turned_b ? 112 : 111, p->m, p->n, p->k, 1, p->swapped ? p->b : p->a, p->turned_a ? p->m : p->k,
		 p->swapped ? p->a : p->b, p->turned_b ? p->k : p->n, 0, p->c, p->n);
	if (p->z.rank)
		transpose(&p->z, p->c, z);
}

static double differs(const float *z, const float *want, size_t n)
{
	double worst = 0, largest = 0;
	for (size_t i = 0; i < n; i++) {
		worst = fmax(worst, fabs((double)z[i] - want[i]));
		largest = fmax(largest, fabs((double)want[i]));
	}
	return worst / largest;
}

static void measure(problem *p, ours *f, void *ctx, gemm *blas)
{
	float *x = probe_array(p->x.elements), *y = probe_array(p->y.elements), *z = probe_array(p->z.elements), *want = probe_array(p->z.elements);
	p->a = p->x.rank ? probe_array(p->x.elements) : x;
	p->b = p->y.rank ? probe_array(p->y.elements) : y;
	p->c = p->z.rank ? probe_array(p->z.elements) : want;
	double own = 1e9, theirs = 1e9, peak = 0, begin = now();
	do {
		for (int i = 0; i < 8; i++)
			peak = fmax(peak, probe_peak());
		double t = now();
		f(ctx, x, y, z);
		own = fmin(own, now() - t);
		t = now();
		if (blas)
			by_blas(p, blas, x, y, want);
		theirs = fmin(theirs, now() - t);
	} while (now() - begin < p->seconds);
	printf("ours=%g peak=%g", own, peak);
	if (blas)
		printf(" blas=%g differs=%g", theirs, differs(z, want, p->z.elements));
	puts("");
	fflush(stdout);
	if (p->x.rank)
		probe_free(p->a);
	if (p->y.rank)
		probe_free(p->b);
	if (p->z.rank)
		probe_free(p->c);
	probe_free(x), probe_free(y), probe_free(z), probe_free(want);
}

int main(int argc, char **argv)
{
	void *model = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL, *library = argc > 3 ? dlopen(argv[3], RTLD_NOW | RTLD_LOCAL) : NULL, *ctx = NULL;
	char name[220];
	if (!model)
		return 1;
	union { void *object; gemm *f; } blas = {library ? dlsym(library, "cblas_sgemm") : NULL};
	snprintf(name, sizeof name, "%s_open", argv[2]);
	union { void *object; int (*f)(void **, void *); } open = {dlsym(model, name)};
	if (!open.object || open.f(&ctx, NULL))
		return 1;
	problem p;
	while (scanf("%99s %lf %d %d %d %d %d %d", p.function, &p.seconds, &p.m, &p.n, &p.k, &p.turned_a, &p.turned_b, &p.swapped) == 8) {
		snprintf(name, sizeof name, "%s_%s", argv[2], p.function);
		union { void *object; ours *f; } u = {dlsym(model, name)};
		if (!u.object || !read_order(&p.x) || !read_order(&p.y) || !read_order(&p.z))
			return 1;
		measure(&p, u.f, ctx, blas.f);
	}
	return 0;
}
