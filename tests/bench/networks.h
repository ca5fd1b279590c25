/* Families of programs of any number of operations, built straight through shape.h as elaboration would build them; for the
 * benchmark of inference and for the test that its cost is linear.  Parameters' shapes are inferred.  See the table at the end. */
#ifndef TSR_TESTS_NETWORKS_H
#define TSR_TESTS_NETWORKS_H
#include "../../compiler/shape/shape.h"
#include <stdlib.h>

typedef struct net {
	tsr_compiler *tc;
	tsr_store *s;
	unsigned long operations;
	tsr_spec *spec;                  /* of the operations that have one; parsed once */
	const tsr_label *labels;         /* of the last operation with a spec */
} net;

/* ---- operations ---------------------------------------------------------------------------------------------------- */

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
	if (logic == TSR_LOGIC_SPEC)
		rule.spec = n->spec;
	tsr_emit_rule(n->s, &rule, &c, operands);
	tsr_store_interior(n->s, &c, NULL, TSR_NOWHERE);
	n->operations++;
	n->labels = rule.labels;
	return c;
}

static tsr_shape unary(net *n, tsr_shape x) { return apply(n, TSR_LOGIC_POINTWISE, 1, &x); }
static tsr_shape add(net *n, tsr_shape a, tsr_shape b) { return apply(n, TSR_LOGIC_POINTWISE, 2, (tsr_shape[]){a, b}); }
static tsr_shape compose(net *n, tsr_shape a, tsr_shape b) { return apply(n, TSR_LOGIC_COMPOSE, 2, (tsr_shape[]){a, b}); }
static tsr_shape einsum(net *n, tsr_shape a) { return apply(n, TSR_LOGIC_SPEC, 1, &a); }
static tsr_shape einsum2(net *n, tsr_shape a, tsr_shape b) { return apply(n, TSR_LOGIC_SPEC, 2, (tsr_shape[]){a, b}); }

static void speak(net *n, const char *spec) { n->spec = tsr_spec_parse(n->tc, spec, TSR_NOWHERE); }

static tsr_shape exact(net *n, uint32_t nbatch, tsr_dim batch, tsr_dim out)
{
	return (tsr_shape){{tsr_row_closed(n->s, nbatch, &batch), tsr_row_closed(n->s, 0, NULL), tsr_row_closed(n->s, 1, &out)}};
}

/* 32 | ... -> size as data has it. */
static tsr_shape data(net *n, int64_t size)
{
	tsr_shape x = exact(n, 1, tsr_dim_atom(32, NULL), tsr_dim_atom(size, NULL));
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

/* x is known after all: everything before it hears of it at once. */
static void settle(net *n, tsr_shape x, int64_t size)
{
	tsr_shape known = exact(n, 1, tsr_dim_atom(32, NULL), tsr_dim_atom(size, NULL));
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		tsr_emit_row_equal(n->s, x.row[k], known.row[k], (tsr_why){.what = "the result"});
}

/* ---- families ------------------------------------------------------------------------------------------------------ */

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

static void recurrence(net *n, unsigned long operations)
{
	tsr_shape x = data(n, 64), w = weight(n, 64), b = leaf(n, TSR_LEAF_PARAM);
	while (n->operations < operations)
		x = unary(n, add(n, compose(n, w, x), b));
}

static void readers(net *n, unsigned long operations)
{
	tsr_shape x = unary(n, leaf(n, TSR_LEAF_PLAIN)), y = x;
	while (n->operations + 2 < operations)
		y = add(n, x, leaf(n, TSR_LEAF_PARAM));
	settle(n, unary(n, y), 64);
}

static void relabelled(net *n, unsigned long operations)
{
	speak(n, "b | i => b | i");
	tsr_shape x = leaf(n, TSR_LEAF_PLAIN), y = unary(n, x);
	while (n->operations + 2 < operations) {
		y = einsum(n, x);
		y = add(n, y, leaf(n, TSR_LEAF_PARAM));
	}
	settle(n, y, 64);
}

static void backwards(net *n, unsigned long operations)
{
	tsr_shape x = leaf(n, TSR_LEAF_PLAIN);
	while (n->operations < operations)
		x = add(n, x, leaf(n, TSR_LEAF_PARAM));
	settle(n, x, 64);
}

static void rope(net *n, unsigned long operations)
{
	tsr_shape x = leaf(n, TSR_LEAF_PLAIN);
	while (n->operations < operations)
		x = unary(n, x);
	settle(n, x, 64);
}

static void dimensions(net *n, unsigned long operations)
{
	tsr_dim d = tsr_dim_fresh(n->s, NULL, TSR_NOWHERE);
	tsr_shape x = exact(n, 0, tsr_dim_unit(), d);
	tsr_store_leaf(n->s, &x, TSR_LEAF_PLAIN, NULL, TSR_NOWHERE);
	for (; n->operations < operations; n->operations++) {
		tsr_dim e = tsr_dim_fresh(n->s, NULL, TSR_NOWHERE);
		tsr_emit_dim_below(n->s, e, d, (tsr_why){.what = "`op`"});
		d = e;
	}
	tsr_emit_dim_equal(n->s, d, tsr_dim_atom(64, NULL), (tsr_why){.what = "the result"});
}

static void concatenation(net *n, unsigned long operations)
{
	speak(n, "..b.. | a; ..b.. | c => ..b.. | a^c");
	tsr_shape x = data(n, 64);
	while (n->operations < operations)
		x = einsum2(n, x, data(n, 3));
}

static void pieces(net *n, unsigned long operations)
{
	speak(n, "..b.. | a; ..b.. | c => ..b.. | a^c");
	tsr_shape x = leaf(n, TSR_LEAF_PLAIN);
	while (n->operations < operations) {
		x = einsum2(n, x, leaf(n, TSR_LEAF_PLAIN));
		tsr_emit_set_label(n->s, &n->labels[2], tsr_size_const(3), (tsr_why){.what = "`set_dim`"});
	}
	settle(n, x, 3 * (int64_t)n->operations + 64);
}

static void captures(net *n, unsigned long operations)
{
	speak(n, "..b.. | h; h -> d => ..b.. | d");
	tsr_shape x = data(n, 64);
	while (n->operations < operations) {
		x = einsum2(n, x, leaf(n, TSR_LEAF_PARAM));
		tsr_emit_set_label(n->s, &n->labels[2], tsr_size_const(16), (tsr_why){.what = "`set_dim`"});
	}
}

static void convolution(net *n, unsigned long operations)
{
	speak(n, "..b.. | o<+k -> ; k => ..b.. | o -> ");
	tsr_dim batch = tsr_dim_atom(32, NULL), in = tsr_dim_atom(2 * (int64_t)operations + 64, NULL), three = tsr_dim_atom(3, NULL);
	tsr_shape x = {{tsr_row_closed(n->s, 1, &batch), tsr_row_closed(n->s, 1, &in), tsr_row_closed(n->s, 0, NULL)}};
	tsr_store_leaf(n->s, &x, TSR_LEAF_PLAIN, NULL, TSR_NOWHERE);
	while (n->operations < operations) {
		tsr_shape k = {{tsr_row_closed(n->s, 0, NULL), tsr_row_closed(n->s, 0, NULL), tsr_row_closed(n->s, 1, &three)}};
		tsr_store_leaf(n->s, &k, TSR_LEAF_PARAM, NULL, TSR_NOWHERE);
		x = einsum2(n, x, k);
	}
}

static void totals(net *n, unsigned long operations)
{
	tsr_shape x = data(n, 64);
	while (n->operations < operations) {
		tsr_shape y = leaf(n, TSR_LEAF_PLAIN);
		tsr_emit_total(n->s, TSR_KINDS, y.row, tsr_size_const(2048), (tsr_why){.what = "`reshape`"});
		x = add(n, x, y);
	}
}

static void words(net *n, unsigned long operations)
{
	tsr_dim four = tsr_dim_atom(4, NULL);
	for (; n->operations < operations; n->operations++) {
		tsr_row x = tsr_row_fresh(n->s), y = tsr_row_fresh(n->s);
		x.lead = y.trail = &four;
		x.nlead = y.ntrail = 1;
		tsr_emit_row_equal(n->s, x, y, (tsr_why){.what = "`op`"});
	}
}

static void conditions(net *n, unsigned long operations)
{
	tsr_dim d = tsr_dim_atom(64, NULL);
	for (; n->operations < operations; n->operations++) {
		tsr_dim rigid = tsr_dim_symbol(n->s, tsr_store_symbol(n->s, NULL, TSR_NOWHERE, true), NULL);
		tsr_emit_dim_equal(n->s, rigid, d, (tsr_why){.what = "`op`"});
	}
}

typedef struct family { const char *name; void (*build)(net *, unsigned long); const char *what; } family;

static const family families[] = {
	{"chain", chain, "x := relu(w * x + b), a parameter w and b each"},
	{"tree", tree, "pairs of leaves added, pairs of sums added, ... with a broadcast leaf at every fourth place"},
	{"residual", residual, "x := x + w2 * relu(w1 * x + b1), blocks of five operations"},
	{"recurrence", recurrence, "the chain with one w and one b for all steps"},
	{"readers", readers, "one tensor, whose shape is known last, is an operand of every operation, each with its own parameter"},
	{"relabelled", relabelled, "the same, each operation with a spec, whose labels join the tensor's axes"},
	{"backwards", backwards, "parameters added up, the shape of the sum known last"},
	{"rope", rope, "a leaf under a long chain of operations whose end is known last"},
	{"dimensions", dimensions, "a long chain of inequalities of dimensions, known at its end"},
	{"joined", concatenation, "something appended at every step"},
	{"pieces", pieces, "the same, the whole known last"},
	{"captures", captures, "specs whose labels are pinned, parameters in between"},
	{"windows", convolution, "a long chain of convolutions"},
	{"totals", totals, "a reshape added at every step"},
	{"words", words, "row equations that only closing decides"},
	{"conditions", conditions, "a condition for the run from every operation"},
};
#endif
