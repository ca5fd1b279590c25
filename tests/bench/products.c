/* Matrix products of many shapes against OpenBLAS, in turns: each shape as a loop program of its own, compiled like any other.
 * Prints GFLOP/s of both (best of many), their ratio and the geometric mean.  Arguments: names of shapes to take, or none for all.
 *
 *     make && cc -std=c11 -D_GNU_SOURCE -O2 -I$(llvm-config-19 --includedir) tests/bench/products.c build/libtsrc.a build/libtessera.a \
 *         $(llvm-config-19 --ldflags --libs) -lopenblas -lminizip -lz -lm -o build/products
 *     OPENBLAS_CORETYPE=SkylakeX OPENBLAS_NUM_THREADS=1 build/products */
#include "../../compiler/llvm/llvm.h"
#include "../../compiler/opt/opt.h"
#include "../../compiler/base/text.h"
#include <cblas.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct shape { const char *name; int batch, m, n, k; bool a_turned, b_turned; } shape;

static const shape shapes[] = {
	{ "64", 1, 64, 64, 64, 0, 0 }, { "128", 1, 128, 128, 128, 0, 0 }, { "256", 1, 256, 256, 256, 0, 0 },
	{ "512", 1, 512, 512, 512, 0, 0 }, { "1024", 1, 1024, 1024, 1024, 0, 0 }, { "2048", 1, 2048, 2048, 2048, 0, 0 },
	{ "1024-At", 1, 1024, 1024, 1024, 1, 0 }, { "1024-Bt", 1, 1024, 1024, 1024, 0, 1 }, { "1000", 1, 1000, 1000, 1000, 0, 0 },
	{ "1x4096x4096", 1, 1, 4096, 4096, 0, 0 }, { "32x4096x4096", 1, 32, 4096, 4096, 0, 0 }, { "4096x32x4096", 1, 4096, 32, 4096, 0, 0 },
	{ "64-of-64", 64, 64, 64, 64, 0, 0 }, { "12-of-128x64x128", 12, 128, 64, 128, 0, 0 }, { "12-of-128x128x64-Bt", 12, 128, 128, 64, 0, 1 },
	{ "50x64x64-Bt", 1, 50, 64, 64, 0, 1 }, { "50x10x64-Bt", 1, 50, 10, 64, 0, 1 }, { "64x64x50-At", 1, 64, 64, 50, 1, 0 },
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const char *program(tsr_arena *a, const shape *s)
{
	return tsr_format(a,
		"buffer %%a : f32[%d, %d, %d] input\nbuffer %%b : f32[%d, %d, %d] input\nbuffer %%c : f32[%d, %d, %d] value observed\n"
		"unit product { kernel c { for z in 0..%d parallel { for i in 0..%d parallel { for j in 0..%d parallel {\n"
		"let $0 : f32 = 0.\nfor k in 0..%d reduce { set $0 = add.f32($0, mul.f32(%%a[z, %s], %%b[z, %s])) }\n"
		"store %%c[z, i, j] = $0 } } } } }\n",
		s->batch, s->a_turned ? s->k : s->m, s->a_turned ? s->m : s->k, s->batch, s->b_turned ? s->n : s->k, s->b_turned ? s->k : s->n,
		s->batch, s->m, s->n, s->batch, s->m, s->n, s->k, s->a_turned ? "k, i" : "i, k", s->b_turned ? "j, k" : "k, j");
}

typedef void (*unit)(void *, void **, int64_t *, int64_t *);

static unit compile(tsr_compiler *tc, const char *text)
{
	tsr_loops *l = tsr_loops_read(tc, tsr_source_add(tc, "product.loop", text, strlen(text)));
	tsr_llvm_options options = { .level = 2, .program = "product", .entry = "main" };
	tsr_llvm *m = tsr_llvm_open(tc, &options);
	tsr_opt_options opt = { .level = 2, .fuse = true };
	char path[] = "/tmp/product-XXXXXX";
	if (!l || !m || !tsr_opt_run(l, tsr_llvm_target(m), &opt))
		exit(1);
	tsr_llvm_emit(m, l, NULL);
	tsr_llvm_optimise(m);
	close(mkstemp(path));
	tsr_llvm_write(m, TSR_CODE_OBJECT, path);
	tsr_llvm_close(m);
	const char *library = tsr_format(tc->arena, "%s.so", path);
	if (system(tsr_format(tc->arena, "cc -shared -o %s %s", library, path)))
		exit(1);
	void *handle = dlopen(library, RTLD_NOW);
	unlink(path);
	unlink(library);
	union { void *p; unit f; } u = { dlsym(handle, "product") };
	return u.f;
}

static void blas(const shape *s, const float *a, const float *b, float *c)
{
	for (int z = 0; z < s->batch; z++)
		cblas_sgemm(CblasRowMajor, s->a_turned ? CblasTrans : CblasNoTrans, s->b_turned ? CblasTrans : CblasNoTrans, s->m, s->n, s->k, 1,
			a + (size_t)z * (size_t)(s->m * s->k), s->a_turned ? s->m : s->k, b + (size_t)z * (size_t)(s->n * s->k), s->b_turned ? s->k : s->n,
			0, c + (size_t)z * (size_t)(s->m * s->n), s->n);
}

static float *matrix(size_t count)
{
	size_t bytes = (count * sizeof(float) + 4095) / 4096 * 4096;
	float *m = aligned_alloc(4096, bytes);
	for (size_t i = 0; i < bytes / sizeof *m; i++)
		m[i] = (float)((int)(i * 37 % 17) - 8) / 8;
	return m;
}

static double measure(const shape *s)
{
	tsr_compiler *tc = tsr_compiler_new();
	unit f = compile(tc, program(tc->arena, s));
	size_t na = (size_t)s->batch * (size_t)s->m * (size_t)s->k, nb = (size_t)s->batch * (size_t)s->n * (size_t)s->k,
		   nc = (size_t)s->batch * (size_t)s->m * (size_t)s->n;
	float *a = matrix(na), *b = matrix(nb), *c = matrix(nc), *want = matrix(nc);
	void *buffers[] = { a, b, c };
	double flops = 2. * s->batch * s->m * s->n * s->k, ours = 1e9, theirs = 1e9, begin = now(), wrong = 0;
	for (int round = 0; round < 5 || (round < 3000 && now() - begin < 1.2); round++) {
		double t = now();
		f(NULL, buffers, NULL, NULL);
		t = now() - t;
		ours = t < ours ? t : ours;
		t = now();
		blas(s, a, b, want);
		t = now() - t;
		theirs = t < theirs ? t : theirs;
	}
	for (size_t i = 0; i < nc; i++)
		wrong = fmax(wrong, fabs((double)c[i] - want[i]) / (1 + fabs((double)want[i])));
	printf("%-22s %8.1f  OpenBLAS %8.1f  ratio %.3f%s\n", s->name, flops / ours * 1e-9, flops / theirs * 1e-9, theirs / ours,
		   wrong < 1e-4 ? "" : "  WRONG");
	fflush(stdout);
	free(a), free(b), free(c), free(want);
	tsr_compiler_free(tc);
	return theirs / ours;
}

int main(int argc, char **argv)
{
	double product = 0;
	int count = 0;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		bool wanted = argc == 1;
		for (int j = 1; j < argc; j++)
			wanted |= !strcmp(argv[j], shapes[i].name);
		if (wanted) {
			product += log(measure(&shapes[i]));
			count++;
		}
	}
	printf("geometric mean of the ratios %.3f\n", exp(product / (count ? count : 1)));
	return 0;
}
