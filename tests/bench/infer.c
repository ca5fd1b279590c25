/* The cost of shape inference: the families of networks.h at 10 to 100,000 operations.  Prints time and memory per operation,
 * the solver's steps, and the exponent fitted between 1,000 and 100,000 operations: 1 is linear.
 *
 *     build-release/bench/infer [LARGEST [FAMILY [SMALLEST]]] */
#include "networks.h"
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ROUNDS 3

typedef struct figures { double emitted, seconds, bytes; unsigned long operations; tsr_store_stats stats; bool ok; } figures;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static figures measure(const family *f, unsigned long operations)
{
	net n = {.tc = tsr_compiler_new()};
	size_t before = tsr_arena_used(n.tc->arena);
	figures out;
	double begin = now();
	n.s = tsr_store_new(n.tc);
	f->build(&n, operations);
	out.emitted = now() - begin;
	out.ok = tsr_store_close(n.s);
	out.seconds = now() - begin;
	out.bytes = (double)(tsr_arena_used(n.tc->arena) - before);
	out.stats = tsr_store_statistics(n.s);
	out.operations = n.operations;
	if (!out.ok)
		tsr_diags_render(n.tc, stdout, false);
	tsr_compiler_free(n.tc);
	return out;
}

/* The best of some rounds. */
static figures best(const family *f, unsigned long operations)
{
	figures out = measure(f, operations);
	for (int i = 1; i < ROUNDS; i++) {
		figures again = measure(f, operations);
		if (again.seconds < out.seconds)
			out = again;
	}
	return out;
}

static void show(const family *f, const figures *r)
{
	double n = (double)r->operations;
	printf("  %-12s %8lu operations %9.4f s (%.4f s to close)  %7.2f us/op  %7.0f bytes/op  %5.1f steps, %5.1f looks, %4.1f constraints, %4.1f + %4.1f variables/op%s\n",
		f->name, r->operations, r->seconds, r->seconds - r->emitted, r->seconds / n * 1e6, r->bytes / n, (double)r->stats.steps / n, (double)r->stats.looks / n,
		(double)r->stats.constraints / n, (double)r->stats.dim_vars / n, (double)r->stats.row_vars / n, r->ok ? "" : "  FAILED");
	fflush(stdout);
}

static void series(const family *f, unsigned long smallest, unsigned long largest)
{
	double x = 0, y = 0, xx = 0, xy = 0, points = 0;
	for (unsigned long n = smallest; n <= largest; n *= 10) {
		figures r = best(f, n);
		show(f, &r);
		if (n < 1000)
			continue;
		double u = log((double)n), v = log(r.seconds);
		x += u, y += v, xx += u * u, xy += u * v, points++;
	}
	double exponent = (points * xy - x * y) / (points * xx - x * x);
	if (points > 1)
		printf("  %-12s exponent from 1,000 on: %.3f\n", f->name, exponent);
}

/* Memory comes fresh from the system for every network, as it does for a compiler that has just been started: what an
 * earlier one freed would favour the small ones. */
int main(int argc, char **argv)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 16);
	unsigned long largest = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	const char *only = argc > 2 ? argv[2] : "";
	unsigned long smallest = argc > 3 ? strtoul(argv[3], NULL, 10) : 10;
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (!*only || strcmp(only, families[i].name) == 0)
			series(&families[i], smallest, largest);
	return 0;
}
