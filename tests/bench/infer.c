/* The cost of shape inference: chains, trees and residual networks of 10 to 100,000 operations, built straight through
 * shape.h, with parameters whose shapes are inferred. Prints time and memory per operation, the solver's steps, and the
 * exponent fitted between 1,000 and 100,000 operations: 1 is linear.
 *
 *     build-release/bench/infer [LARGEST]
 *
 *   chain     x := relu(w * x + b), a parameter w and b each
 *   tree      pairs of leaves added, pairs of sums added, ... with a broadcast leaf at every fourth place
 *   residual  x := x + w2 * relu(w1 * x + b1), blocks of five operations */
#include "../../compiler/shape/shape.h"
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct net { tsr_compiler *tc; tsr_store *s; unsigned long operations; } net;

static tsr_shape leaf(net *n, tsr_leaf_kind kind)
{
	tsr_shape x = tsr_shape_fresh(n->s);
	if (kind == TSR_LEAF_PARAM)
		x.row[TSR_BATCH] = tsr_row_closed(n->s, 0, NULL);
	tsr_store_leaf(n->s, &x, kind, NULL, TSR_NOWHERE);
	return x;
}

static tsr_shape apply(net *n, tsr_logic logic, uint32_t noperands, const tsr_shape *operands)
{
	tsr_shape c = tsr_shape_fresh(n->s);
	tsr_rule rule = {.logic = logic, .noperands = noperands, .why = {.what = "`op`"}};
	tsr_emit_rule(n->s, &rule, &c, operands);
	tsr_store_interior(n->s, &c, NULL, TSR_NOWHERE);
	n->operations++;
	return c;
}

static tsr_shape unary(net *n, tsr_shape x) { return apply(n, TSR_LOGIC_POINTWISE, 1, &x); }
static tsr_shape add(net *n, tsr_shape a, tsr_shape b) { return apply(n, TSR_LOGIC_POINTWISE, 2, (tsr_shape[]){a, b}); }
static tsr_shape compose(net *n, tsr_shape a, tsr_shape b) { return apply(n, TSR_LOGIC_COMPOSE, 2, (tsr_shape[]){a, b}); }

/* b | ... -> 64 as data has it. */
static tsr_shape data(net *n, int64_t size)
{
	tsr_dim batch = tsr_dim_atom(32, NULL), out = tsr_dim_atom(size, NULL);
	tsr_shape x = {{tsr_row_closed(n->s, 1, &batch), tsr_row_closed(n->s, 0, NULL), tsr_row_closed(n->s, 1, &out)}};
	tsr_store_leaf(n->s, &x, TSR_LEAF_PLAIN, NULL, TSR_NOWHERE);
	return x;
}

/* A parameter whose output is given: the hidden dimension. */
static tsr_shape weight(net *n, int64_t out)
{
	tsr_shape w = tsr_shape_fresh(n->s);
	tsr_dim d = tsr_dim_atom(out, NULL);
	w.row[TSR_BATCH] = tsr_row_closed(n->s, 0, NULL);
	w.row[TSR_OUTPUT] = tsr_row_closed(n->s, 1, &d);
	tsr_store_leaf(n->s, &w, TSR_LEAF_PARAM, NULL, TSR_NOWHERE);
	return w;
}

static void chain(net *n, unsigned long operations)
{
	tsr_shape x = data(n, 64);
	while (n->operations < operations)
		x = unary(n, add(n, compose(n, weight(n, 64), x), leaf(n, TSR_LEAF_PARAM)));
}

static void tree(net *n, unsigned long operations)
{
	unsigned long width = operations / 2 + 1, have = 0;
	tsr_shape *level = malloc((width + 1) * sizeof *level);
	for (; have < width; have++)
		level[have] = have % 4 == 3 ? leaf(n, TSR_LEAF_PLAIN) : unary(n, data(n, 64));
	for (; have > 1; have = (have + 1) / 2)
		for (unsigned long i = 0; i < (have + 1) / 2; i++)
			level[i] = 2 * i + 1 < have ? add(n, level[2 * i], level[2 * i + 1]) : level[2 * i];
	free(level);
}

static void residual(net *n, unsigned long operations)
{
	tsr_shape x = data(n, 64);
	while (n->operations < operations) {
		tsr_shape h = unary(n, add(n, compose(n, weight(n, 128), x), leaf(n, TSR_LEAF_PARAM)));
		x = add(n, x, compose(n, leaf(n, TSR_LEAF_PARAM), h));
	}
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double measure(const char *name, void (*build)(net *, unsigned long), unsigned long operations)
{
	net n = {.tc = tsr_compiler_new()};
	struct mallinfo2 before = mallinfo2();
	double begin = now();
	n.s = tsr_store_new(n.tc);
	build(&n, operations);
	double emitted = now() - begin;
	bool ok = tsr_store_close(n.s);
	double seconds = now() - begin;
	struct mallinfo2 after = mallinfo2();
	double bytes = (double)(after.uordblks + after.hblkhd) - (double)(before.uordblks + before.hblkhd);
	tsr_store_stats stats = tsr_store_statistics(n.s);
	printf("  %-9s %8lu operations %9.4f s (%.4f s to close)  %7.2f us/op  %7.0f bytes/op  %5.1f steps, %4.1f constraints, %4.1f + %4.1f variables/op%s\n", name, n.operations, seconds,
		seconds - emitted, seconds / (double)n.operations * 1e6, bytes / (double)n.operations,
		(double)stats.steps / (double)n.operations, (double)stats.constraints / (double)n.operations,
		(double)stats.dim_vars / (double)n.operations, (double)stats.row_vars / (double)n.operations, ok ? "" : "  FAILED");
	if (!ok)
		tsr_diags_render(n.tc, stdout, false);
	fflush(stdout);
	tsr_compiler_free(n.tc);
	return seconds;
}

static void series(const char *name, void (*build)(net *, unsigned long), unsigned long largest)
{
	double x = 0, y = 0, xx = 0, xy = 0, points = 0;
	for (unsigned long n = 10; n <= largest; n *= 10) {
		double t = measure(name, build, n);
		if (n < 1000)
			continue;
		double u = log((double)n), v = log(t);
		x += u, y += v, xx += u * u, xy += u * v, points++;
	}
	if (points > 1)
		printf("  %-9s exponent from 1,000 on: %.2f\n", name, (points * xy - x * y) / (points * xx - x * x));
}

/* Memory comes fresh from the system for every network, as it does for a compiler that has just been started: what an
 * earlier one freed would favour the small ones. */
int main(int argc, char **argv)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 16);
	unsigned long largest = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	series("chain", chain, largest);
	series("tree", tree, largest);
	series("residual", residual, largest);
	return 0;
}
