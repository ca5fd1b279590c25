/* code/ and loop/lower: assignments over index maps, run by the reference interpreter, against direct evaluation. */
#include "graph_kit.h"
#include <math.h>

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void fill_random(double *at, uint64_t n, uint64_t *state)
{
	for (uint64_t i = 0; i < n; i++)
		at[i] = (double)(int64_t)(next_random(state) % 19) - 9;
}

static const char *loops_text(kit *k, const tsr_loops *l, uint32_t unit)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	tsr_loops_print_unit(l, unit, out);
	fclose(out);
	char *copy = tsr_strdup(k->tc->arena, text);
	free(text);
	return copy;
}

/* y = spec(a, b) with its gradients, as a graph with one unit "forward" and one "backward". */
typedef struct product { kit k; tsr_tensor *y, *a, *b; tsr_loops *l; } product;

static product product_of(tsr_logic logic, const char *spec, const char *result, const char *x, const char *w)
{
	product p = {.k = kit_new()};
	kit *k = &p.k;
	p.a = kit_tensor(k, TSR_TENSOR_PARAM, "a", x);
	p.b = kit_tensor(k, TSR_TENSOR_PARAM, "b", w);
	p.y = kit_tensor(k, TSR_TENSOR_OP, "y", result);
	p.a->differentiable = p.b->differentiable = p.y->differentiable = true;
	tsr_tensor *slots[3] = {p.y, p.a, p.b};
	tsr_record_id r = p.y->op.record = kit_record(k, logic, spec, 3, slots);
	p.y->op.forward = TSR_NEW(k->tc->arena, tsr_assigns);
	p.y->op.backward = TSR_NEW(k->tc->arena, tsr_assigns);
	tsr_assign forward = kit_assign(r, p.y, TSR_PART_VALUE, 0, TSR_ACC_ADD, KIT_CLEAR,
		kit_op(k, TSR_OP_MUL, kit_read(k, p.a, TSR_PART_VALUE, 1), kit_read(k, p.b, TSR_PART_VALUE, 2), NULL));
	tsr_assign to_a = kit_assign(r, p.a, TSR_PART_GRAD, 1, TSR_ACC_ADD, KIT_KEEP,
		kit_op(k, TSR_OP_MUL, kit_read(k, p.y, TSR_PART_GRAD, 0), kit_read(k, p.b, TSR_PART_VALUE, 2), NULL));
	tsr_assign to_b = kit_assign(r, p.b, TSR_PART_GRAD, 2, TSR_ACC_ADD, KIT_KEEP,
		kit_op(k, TSR_OP_MUL, kit_read(k, p.a, TSR_PART_VALUE, 1), kit_read(k, p.y, TSR_PART_GRAD, 0), NULL));
	tsr_push(k->tc->arena, &p.y->op.forward->v, forward);
	tsr_push(k->tc->arena, &p.y->op.backward->v, to_a);
	tsr_push(k->tc->arena, &p.y->op.backward->v, to_b);
	kit_code(k, "forward", kit_tree(k, TSR_CODE_FORWARD, p.y->id));
	tsr_codetree *seq = kit_tree(k, TSR_CODE_SEQ, 0);
	tsr_push(k->tc->arena, &seq->seq, kit_tree(k, TSR_CODE_ZERO_GRADS, p.y->id));
	tsr_push(k->tc->arena, &seq->seq, kit_tree(k, TSR_CODE_BACKPROP, p.y->id));
	kit_code(k, "backward", seq);
	return p;
}

static void test_matmul_text(void)
{
	product p = product_of(TSR_LOGIC_COMPOSE, NULL, "5 -> 3", "4 -> 3", "5 -> 4");
	tsr_record_id alone = kit_record(&p.k, TSR_LOGIC_POINTWISE, NULL, 1, &p.y);
	tsr_codetree *seq = p.k.g->codes.at[1]->tree, *backprop = seq->seq.at[1];
	seq->seq.at[1] = kit_assign_tree(&p.k, kit_assign(alone, p.y, TSR_PART_GRAD, 0, TSR_ACC_SET, KIT_CLEAR, kit_const(&p.k, 1)));
	tsr_push(p.k.tc->arena, &seq->seq, backprop);
	p.l = kit_lower(&p.k);
	CHECK_STR(loops_text(&p.k, p.l, 0),
		"unit forward {\n  kernel y {\n    for i.0 in 0..3 parallel {\n      for j.1 in 0..5 parallel {\n        let $0 : f64 = 0.:f64\n"
		"        for k.2 in 0..4 reduce {\n          set $0 = add.f64($0, mul.f64(%a[i.0, k.2], %b[k.2, j.1]))\n        }\n"
		"        store %y[i.0, j.1] = $0\n      }\n    }\n  }\n}\n");
	CHECK_STR(loops_text(&p.k, p.l, 1),
		"unit backward {\n"
		"  kernel y.grad {\n    for i.0 in 0..3 parallel {\n      for j.1 in 0..5 parallel {\n        store %y.grad[i.0, j.1] = 1.:f64\n      }\n    }\n  }\n"
		"  kernel a.grad {\n    for i.2 in 0..3 parallel {\n      for k.4 in 0..4 parallel {\n        let $0 : f64 = 0.:f64\n"
		"        for j.3 in 0..5 reduce {\n          set $0 = add.f64($0, mul.f64(%y.grad[i.2, j.3], %b[k.4, j.3]))\n        }\n"
		"        store %a.grad[i.2, k.4] = $0\n      }\n    }\n  }\n"
		"  kernel b.grad {\n    for k.7 in 0..4 parallel {\n      for j.6 in 0..5 parallel {\n        let $1 : f64 = 0.:f64\n"
		"        for i.5 in 0..3 reduce {\n          set $1 = add.f64($1, mul.f64(%a[i.5, k.7], %y.grad[i.5, j.6]))\n        }\n"
		"        store %b.grad[k.7, j.6] = $1\n      }\n    }\n  }\n}\n");
	tsr_compiler_free(p.k.tc);
}

/* ---- random specs against enumeration of their labels ---------------------------------------------------------------- */

/* A spec of single letters, by hand: rows of letters or digits in memory order (batch, output) of each slot. */
typedef struct random_spec { char rows[3][2][8]; int size[8]; } random_spec;

static void random_row(char *row, int limit, uint64_t *s, const char *letters)
{
	int n = (int)(next_random(s) % (uint64_t)(limit + 1)), len = (int)strlen(letters);
	for (int i = 0; i < n; i++)
		row[i] = letters[next_random(s) % (uint64_t)len];
	row[n] = 0;
}

static void make_spec(random_spec *r, uint64_t *s)
{
	for (int i = 0; i < 8; i++)
		r->size[i] = 1 + (int)(next_random(s) % 4);
	char used[32] = "";
	for (int slot = 1; slot < 3; slot++)
		for (int k = 0; k < 2; k++) {
			random_row(r->rows[slot][k], 2, s, next_random(s) % 8 ? "abcde" : "abcd1");
			strcat(used, r->rows[slot][k]);
		}
	char letters[32] = "";
	int n = 0;
	for (char *c = used; *c; c++)
		if (isalpha((unsigned char)*c))
			letters[n++] = *c;
	r->rows[0][0][0] = r->rows[0][1][0] = 0;
	for (int k = 0; k < 2 && letters[0]; k++)
		random_row(r->rows[0][k], 2, s, letters);
}

static int axis_size(const random_spec *r, char c)
{
	return isdigit((unsigned char)c) ? c - '0' + 2 : r->size[c - 'a'];
}

static void spec_text(const random_spec *r, char *out)
{
	static const int order[3] = {1, 2, 0};
	static const char *const ends[3] = {";", "=>", ""};
	out[0] = 0;
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 2; k++) {
			for (const char *c = r->rows[order[i]][k]; *c; c++)
				sprintf(out + strlen(out), "%c ", *c);
			strcat(out, k == 0 ? "| " : "");
		}
		strcat(out, ends[i]);
	}
}

static void shape_text(const random_spec *r, int slot, char *out)
{
	out[0] = 0;
	for (int k = 0; k < 2; k++) {
		for (const char *c = r->rows[slot][k]; *c; c++)
			sprintf(out + strlen(out), "%d ", axis_size(r, *c));
		strcat(out, k == 0 ? "| " : "");
	}
}

static uint64_t place_of(const random_spec *r, int slot, const int *at)
{
	uint64_t place = 0;
	for (int k = 0; k < 2; k++)
		for (const char *c = r->rows[slot][k]; *c; c++)
			place = place * (uint64_t)axis_size(r, *c) + (uint64_t)(isdigit((unsigned char)*c) ? *c - '0' : at[*c - 'a']);
	return place;
}

static uint64_t count_of(const random_spec *r, int slot)
{
	uint64_t n = 1;
	for (int k = 0; k < 2; k++)
		for (const char *c = r->rows[slot][k]; *c; c++)
			n *= (uint64_t)axis_size(r, *c);
	return n;
}

/* For each point of the labels that occur: y += a b, ga += gy b, gb += a gy. */
static void enumerate(const random_spec *r, double *const v[3], const double *gy, double *ga, double *gb)
{
	int at[8] = {0}, used[8] = {0};
	for (int slot = 0; slot < 3; slot++)
		for (int k = 0; k < 2; k++)
			for (const char *c = r->rows[slot][k]; *c; c++)
				if (isalpha((unsigned char)*c))
					used[*c - 'a'] = 1;
	for (;;) {
		uint64_t y = place_of(r, 0, at), a = place_of(r, 1, at), b = place_of(r, 2, at);
		v[0][y] += v[1][a] * v[2][b];
		ga[a] += gy[y] * v[2][b];
		gb[b] += v[1][a] * gy[y];
		int i = 0;
		while (i < 8 && (!used[i] || ++at[i] == r->size[i]))
			at[i++] = 0;
		if (i == 8)
			return;
	}
}

static bool equal(const double *x, const double *y, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (x[i] != y[i])
			return false;
	return true;
}

static void test_random_specs(void)
{
	uint64_t s = 88172645463325252u;
	for (int round = 0; round < 400; round++) {
		random_spec r;
		char text[64], shapes[3][64];
		make_spec(&r, &s);
		spec_text(&r, text);
		for (int i = 0; i < 3; i++)
			shape_text(&r, i, shapes[i]);
		product p = product_of(TSR_LOGIC_SPEC, text, shapes[0], shapes[1], shapes[2]);
		p.l = kit_lower(&p.k);
		kit_memory *m = kit_memory_new(&p.k, p.l);
		uint64_t n[3] = {count_of(&r, 0), count_of(&r, 1), count_of(&r, 2)};
		double *want[3], *ga = calloc(n[1], 8), *gb = calloc(n[2], 8);
		for (int i = 0; i < 3; i++)
			want[i] = calloc(n[i], 8);
		fill_random(want[1], n[1], &s);
		fill_random(want[2], n[2], &s);
		memcpy(kit_data(m, p.l, p.a, TSR_PART_VALUE), want[1], n[1] * 8);
		memcpy(kit_data(m, p.l, p.b, TSR_PART_VALUE), want[2], n[2] * 8);
		double *gy = kit_data(m, p.l, p.y, TSR_PART_GRAD);
		fill_random(kit_data(m, p.l, p.a, TSR_PART_GRAD), n[1], &s);
		fill_random(kit_data(m, p.l, p.y, TSR_PART_VALUE), n[0], &s);
		bool ran = tsr_loops_run(p.l, 0, &m->m);
		/* the gradient of y is set to zero by the unit: run once for that, then again from a given one without it */
		ran &= tsr_loops_run(p.l, 1, &m->m);
		bool zeroed = true;
		for (uint64_t i = 0; i < n[0]; i++)
			zeroed &= gy[i] == 0;
		enumerate(&r, want, gy, ga, gb);
		bool good = ran && zeroed && equal(want[0], kit_data(m, p.l, p.y, TSR_PART_VALUE), n[0])
			&& equal(ga, kit_data(m, p.l, p.a, TSR_PART_GRAD), n[1]) && equal(gb, kit_data(m, p.l, p.b, TSR_PART_GRAD), n[2]);
		fill_random(gy, n[0], &s);
		p.k.g->codes.at[1]->tree->seq.at[0] = kit_tree(&p.k, TSR_CODE_SEQ, 0);
		tsr_loops *again = kit_lower(&p.k);
		kit_memory *m2 = kit_memory_new(&p.k, again);
		memcpy(kit_data(m2, again, p.a, TSR_PART_VALUE), want[1], n[1] * 8);
		memcpy(kit_data(m2, again, p.b, TSR_PART_VALUE), want[2], n[2] * 8);
		memcpy(kit_data(m2, again, p.y, TSR_PART_GRAD), gy, n[0] * 8);
		tsr_loops_run(again, 1, &m2->m);
		memset(want[0], 0, n[0] * 8);
		enumerate(&r, want, gy, ga, gb);
		good = good && equal(ga, kit_data(m2, again, p.a, TSR_PART_GRAD), n[1]) && equal(gb, kit_data(m2, again, p.b, TSR_PART_GRAD), n[2]);
		if (!CHECK(good))
			printf("    %s with %s, %s, %s\n%s", text, shapes[0], shapes[1], shapes[2], loops_text(&p.k, p.l, 0));
		for (int i = 0; i < 3; i++)
			free(want[i]);
		free(ga);
		free(gb);
		tsr_compiler_free(p.k.tc);
	}
}

int main(void)
{
	test_matmul_text();
	test_random_specs();
	return check_end("lower");
}
