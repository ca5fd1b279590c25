/* Times the units of a loop program as compiled code: FILE.loop [LEVEL [PASSES]].  Prints per unit the best and the median time,
 * and what compiling took.  For looking at passes and schedules without the stages before them.
 *
 *     make && cc -std=c11 -D_GNU_SOURCE -O2 -I$(llvm-config-19 --includedir) tests/bench/loops.c build/libtsrc.a build/libtessera.a \
 *         $(llvm-config-19 --ldflags --libs) -lminizip -lz -lm -o build/loops */
#include "../../compiler/llvm/llvm.h"
#include "../../compiler/opt/opt.h"
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;
	return (a > b) - (a < b);
}

static void *memory_of(const tsr_buffer *b)
{
	int64_t count = 1;
	for (uint32_t i = 0; i < b->rank; i++)
		count *= b->dims[i].k;
	size_t bytes = (size_t)count * tsr_prec_bytes(b->prec);
	void *m = aligned_alloc(64, (bytes + 127) / 64 * 64);
	memset(m, 0, (bytes + 127) / 64 * 64);
	for (int64_t i = 0; i < count && b->prec == TSR_PREC_F32; i++)
		((float *)m)[i] = (float)(int32_t)((uint32_t)i * 0x9e3779b1u) * 0x1p-34f;
	return m;
}

/* Largest difference, relative to 1, between each unit run once and the program as written run by the interpreter. */
static void compare(const tsr_loops *plain, const tsr_loops *l, void *handle)
{
	int64_t numbers[64] = { 0 }, symbols[64] = { 0 };
	void **x = calloc(l->buffers.n + 1, sizeof *x), **y = calloc(l->buffers.n + 1, sizeof *y);
	double work = 0;
	for (uint32_t i = 0; i < l->buffers.n; i++) {
		x[i] = memory_of(l->buffers.at[i]), y[i] = memory_of(l->buffers.at[i]);
		double n = 1;
		for (uint32_t d = 0; d < l->buffers.at[i]->rank; d++)
			n *= (double)l->buffers.at[i]->dims[d].k;
		work += n;
	}
	tsr_machine m = { .buffers = y, .numbers = numbers, .symbols = symbols };
	for (uint32_t u = 0; work < 1e6 && u < l->units.n; u++) {
		union { void *p; void (*call)(void *, void **, int64_t *, int64_t *); } f = { dlsym(handle, l->units.at[u]->name) };
		double worst = 0;
		const char *where = "";
		f.call(NULL, x, symbols, numbers);
		tsr_loops_run(plain, u, &m);
		for (uint32_t i = 0; i < l->buffers.n; i++) {
			const tsr_buffer *b = l->buffers.at[i];
			int64_t count = 1;
			for (uint32_t d = 0; d < b->rank; d++)
				count *= b->dims[d].k;
			for (int64_t e = 0; b->observed && b->prec == TSR_PREC_F32 && e < count; e++) {
				double p = ((float *)x[i])[e], q = ((float *)y[i])[e], d = p > q ? p - q : q - p, size = q < 0 ? -q : q;
				d /= size > 1 ? size : 1;
				if (!(d <= worst)) {
					worst = d;
					where = b->name;
				}
			}
		}
		printf("%-20s differs by %g (%s)\n", l->units.at[u]->name, worst, where);
	}
}

static tsr_loops *read_again(tsr_compiler *tc, const char *path) { return tsr_loops_read(tc, tsr_source_load(tc, path)); }

int main(int argc, char **argv)
{
	tsr_compiler *tc = tsr_compiler_new();
	uint32_t file = argc > 1 ? tsr_source_load(tc, argv[1]) : 0;
	tsr_loops *l = file ? tsr_loops_read(tc, file) : NULL;
	tsr_diags_render(tc, stderr, false);
	if (!l)
		return 1;
	tsr_llvm_options options = { .level = argc > 2 ? atoi(argv[2]) : 2, .program = "loops", .entry = "main" };
	double start = now();
	tsr_llvm *m = tsr_llvm_open(tc, &options);
	tsr_opt_options opt = { .level = options.level, .fuse = true, .passes = argc > 3 ? argv[3] : NULL };
	if (!m || !tsr_opt_run(l, tsr_llvm_target(m), &opt)) {
		tsr_diags_render(tc, stderr, false);
		return 1;
	}
	double passes = now();
	tsr_llvm_emit(m, l, NULL);
	double emitted = now();
	tsr_llvm_optimise(m);
	double optimised = now();
	char path[] = "/tmp/loops-XXXXXX.o", library[sizeof path + 4], command[256];
	close(mkstemps(path, 2));
	snprintf(library, sizeof library, "%s.so", path);
	snprintf(command, sizeof command, "cc -shared -o %s %s build/libtessera.a -lminizip -lz -lm", library, path);
	if (!tsr_llvm_write(m, TSR_CODE_OBJECT, path))
		tsr_diags_render(tc, stderr, false);
	double written = now();
	printf("passes %.1f ms, emit %.1f, optimise %.1f, write %.1f\n", (passes - start) * 1e3, (emitted - passes) * 1e3,
		   (optimised - emitted) * 1e3, (written - optimised) * 1e3);
	bool linked = system(command) == 0;
	unlink(path);
	if (!linked)
		return 1;
	void *handle = dlopen(library, RTLD_NOW), **buffers = calloc(l->buffers.n + 1, sizeof *buffers);
	unlink(library);
	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	for (uint32_t i = 0; i < l->buffers.n; i++)
		buffers[i] = memory_of(l->buffers.at[i]);
	int64_t numbers[64] = { 0 }, symbols[64] = { 0 };
	compare(read_again(tc, argv[1]), l, handle);
	for (uint32_t u = 0; u < l->units.n; u++) {
		union { void *p; void (*call)(void *, void **, int64_t *, int64_t *); } f = { dlsym(handle, l->units.at[u]->name) };
		double times[2000], total = now();
		int n = 0;
		while (f.p && n < 2000 && (n < 5 || now() - total < 1)) {
			double t = now();
			f.call(NULL, buffers, symbols, numbers);
			times[n++] = now() - t;
		}
		qsort(times, (size_t)n, sizeof *times, ascending);
		printf("%-20s best %10.2f us, median %10.2f us\n", l->units.at[u]->name, n ? times[0] * 1e6 : 0, n ? times[n / 2] * 1e6 : 0);
	}
	tsr_llvm_close(m);
	return 0;
}
