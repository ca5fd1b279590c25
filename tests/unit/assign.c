/* code/ and loop/lower: windows, concatenations, runtime numbers, accumulators, precisions, tensors without buffers, and
 * the mistakes that index maps show. */
#include "graph_kit.h"
#include <math.h>

/* ---- windows ------------------------------------------------------------------------------------------------------- */

typedef struct window { const char *spec, *x, *w, *y; int n, k, m, stride, dilation, left; } window;

/* y[o] =:+ x[stride*o + dilation*j - left] w[j], and both gradients, accumulated into what is there. */
static void test_window(const window *c)
{
	kit k = kit_new();
	tsr_tensor *x = kit_tensor(&k, TSR_TENSOR_PARAM, "x", c->x), *w = kit_tensor(&k, TSR_TENSOR_PARAM, "w", c->w);
	tsr_tensor *y = kit_tensor(&k, TSR_TENSOR_OP, "y", c->y), *slots[3] = {y, x, w};
	tsr_record_id r = kit_record(&k, TSR_LOGIC_SPEC, c->spec, 3, slots);
	tsr_rhs *xv = kit_read(&k, x, TSR_PART_VALUE, 1), *wv = kit_read(&k, w, TSR_PART_VALUE, 2), *g = kit_read(&k, y, TSR_PART_GRAD, 0);
	kit_code(&k, "forward", kit_assign_tree(&k, kit_assign(r, y, TSR_PART_VALUE, 0, TSR_ACC_ADD, KIT_CLEAR, kit_op(&k, TSR_OP_MUL, xv, wv, NULL))));
	kit_code(&k, "gx", kit_assign_tree(&k, kit_assign(r, x, TSR_PART_GRAD, 1, TSR_ACC_ADD, KIT_KEEP, kit_op(&k, TSR_OP_MUL, g, wv, NULL))));
	kit_code(&k, "gx0", kit_assign_tree(&k, kit_assign(r, x, TSR_PART_GRAD, 1, TSR_ACC_ADD, KIT_CLEAR, kit_op(&k, TSR_OP_MUL, g, wv, NULL))));
	kit_code(&k, "gw", kit_assign_tree(&k, kit_assign(r, w, TSR_PART_GRAD, 2, TSR_ACC_ADD, KIT_CLEAR, kit_op(&k, TSR_OP_MUL, xv, g, NULL))));
	kit_code(&k, "max", kit_assign_tree(&k, kit_assign(r, y, TSR_PART_VALUE, 0, TSR_ACC_MAX, KIT_CLEAR, kit_op(&k, TSR_OP_ADD, xv, wv, NULL))));
	tsr_loops *l = kit_lower(&k);
	kit_memory *m = kit_memory_new(&k, l);
	double *xd = kit_data(m, l, x, TSR_PART_VALUE), *wd = kit_data(m, l, w, TSR_PART_VALUE), *yd = kit_data(m, l, y, TSR_PART_VALUE);
	double *gx = kit_data(m, l, x, TSR_PART_GRAD), *gw = kit_data(m, l, w, TSR_PART_GRAD), *gy = kit_data(m, l, y, TSR_PART_GRAD);
	double wy[32] = {0}, wgx[32] = {0}, wgw[32] = {0}, wmax[32];
	for (int i = 0; i < c->n; i++)
		xd[i] = i * i % 7 - 3, gx[i] = i;
	for (int i = 0; i < c->k; i++)
		wd[i] = i * 3 % 5 - 1, gw[i] = 77;
	for (int i = 0; i < c->m; i++)
		gy[i] = i % 3 + 1, yd[i] = 99, wmax[i] = -INFINITY;
	for (int o = 0; o < c->m; o++)
		for (int j = 0; j < c->k; j++) {
			int at = c->stride * o + c->dilation * j - c->left;
			if (at < 0 || at >= c->n)
				continue;
			wy[o] += xd[at] * wd[j];
			wgx[at] += gy[o] * wd[j];
			wgw[j] += xd[at] * gy[o];
			wmax[o] = fmax(wmax[o], xd[at] + wd[j]);
		}
	bool good = tsr_loops_run(l, 0, &m->m) && !memcmp(yd, wy, sizeof(double) * (size_t)c->m);
	good &= tsr_loops_run(l, 1, &m->m);
	for (int i = 0; i < c->n; i++)
		good &= gx[i] == wgx[i] + i;
	good &= tsr_loops_run(l, 2, &m->m);
	for (int i = 0; i < c->n; i++)
		good &= gx[i] == wgx[i];
	good &= tsr_loops_run(l, 3, &m->m) && tsr_loops_run(l, 4, &m->m);
	for (int i = 0; i < c->k; i++)
		good &= gw[i] == wgw[i];
	for (int i = 0; i < c->m; i++)
		good &= yd[i] == wmax[i];
	if (!CHECK(good)) {
		printf("    %s\n", c->spec);
		tsr_loops_print(l, stdout);
	}
	tsr_compiler_free(k.tc);
}

static void test_windows(void)
{
	static const window cases[] = {
		{"o<+j; j => o", "9", "3", "7", 9, 3, 7, 1, 1, 0},
		{"2*o<+j; j => o", "9", "3", "4", 9, 3, 4, 2, 1, 0},
		{"o<+2*j; j => o", "9", "3", "5", 9, 3, 5, 1, 2, 0},
		{"o=+j; j => o", "8", "3", "8", 8, 3, 8, 1, 1, 1},
		{"o=+j; j => o", "8", "4", "8", 8, 4, 8, 1, 1, 2},
		{"2*o=+j; j => o", "8", "3", "4", 8, 3, 4, 2, 1, 1},
		{"o=+2*j; j => o", "7", "3", "7", 7, 3, 7, 1, 2, 2},
		{"3*o<+j; j => o", "9", "3", "3", 9, 3, 3, 3, 1, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		test_window(&cases[i]);
}

/* ---- concatenations ------------------------------------------------------------------------------------------------ */

static void test_concat(void)
{
	kit k = kit_new();
	tsr_tensor *a = kit_tensor(&k, TSR_TENSOR_PARAM, "a", "2 2"), *b = kit_tensor(&k, TSR_TENSOR_PARAM, "b", "3 2");
	tsr_tensor *y = kit_tensor(&k, TSR_TENSOR_OP, "y", "6 2"), *slots[3] = {y, a, b};
	tsr_record_id r = kit_record(&k, TSR_LOGIC_SPEC, "p, c; q, c => p^1^q, c", 3, slots);
	tsr_codetree *seq = kit_tree(&k, TSR_CODE_SEQ, 0);
	tsr_push(k.tc->arena, &seq->seq, kit_assign_tree(&k, kit_assign(r, y, TSR_PART_VALUE, 0, TSR_ACC_ADD, KIT_CLEAR, kit_read(&k, a, TSR_PART_VALUE, 1))));
	tsr_push(k.tc->arena, &seq->seq, kit_assign_tree(&k, kit_assign(r, y, TSR_PART_VALUE, 0, TSR_ACC_ADD, KIT_KEEP, kit_read(&k, b, TSR_PART_VALUE, 2))));
	kit_code(&k, "forward", seq);
	kit_code(&k, "gb", kit_assign_tree(&k, kit_assign(r, b, TSR_PART_GRAD, 2, TSR_ACC_ADD, KIT_CLEAR, kit_read(&k, y, TSR_PART_GRAD, 0))));
	tsr_loops *l = kit_lower(&k);
	kit_memory *m = kit_memory_new(&k, l);
	double *ad = kit_data(m, l, a, TSR_PART_VALUE), *bd = kit_data(m, l, b, TSR_PART_VALUE), *yd = kit_data(m, l, y, TSR_PART_VALUE);
	for (int i = 0; i < 12; i++)
		yd[i] = 99, kit_data(m, l, y, TSR_PART_GRAD)[i] = i;
	for (int i = 0; i < 4; i++)
		ad[i] = 10 + i;
	for (int i = 0; i < 6; i++)
		bd[i] = 20 + i;
	static const double want[12] = {10, 11, 12, 13, 0, 0, 20, 21, 22, 23, 24, 25};
	CHECK(tsr_loops_run(l, 0, &m->m) && !memcmp(yd, want, sizeof want));
	CHECK(tsr_loops_run(l, 1, &m->m));
	for (int i = 0; i < 6; i++)
		CHECK_INT(kit_data(m, l, b, TSR_PART_GRAD)[i], 6 + i);
	tsr_compiler_free(k.tc);
}

/* Two components that meet in one place of the result: a sum over both, whose store must not overwrite. */
static void test_concat_as_sum(void)
{
	kit k = kit_new();
	tsr_tensor *x = kit_tensor(&k, TSR_TENSOR_PARAM, "x", "5"), *y = kit_tensor(&k, TSR_TENSOR_OP, "y", ""), *slots[2] = {y, x};
	tsr_record_id r = kit_record(&k, TSR_LOGIC_SPEC, "p^q => ", 2, slots);
	kit_label(&k, r, "p", 2);
	kit_label(&k, r, "q", 3);
	kit_code(&k, "sum", kit_assign_tree(&k, kit_assign(r, y, TSR_PART_VALUE, 0, TSR_ACC_ADD, KIT_CLEAR, kit_read(&k, x, TSR_PART_VALUE, 1))));
	tsr_loops *l = kit_lower(&k);
	kit_memory *m = kit_memory_new(&k, l);
	for (int i = 0; i < 5; i++)
		kit_data(m, l, x, TSR_PART_VALUE)[i] = i + 1;
	CHECK(tsr_loops_run(l, 0, &m->m));
	CHECK_INT(kit_data(m, l, y, TSR_PART_VALUE)[0], 15);
	tsr_compiler_free(k.tc);
}

/* ---- runtime numbers ----------------------------------------------------------------------------------------------- */

static void test_minibatch(void)
{
	kit k = kit_new();
	kit_number(&k, "i");
	tsr_tensor *x = kit_tensor(&k, TSR_TENSOR_FILE, "x", "10 | 2"), *y = kit_tensor(&k, TSR_TENSOR_OP, "y", "3 | 2"), *slots[2] = {y, x};
	tsr_record_id r = kit_record(&k, TSR_LOGIC_SPEC, "3*@i+j | c => j | c", 2, slots);
	kit_code(&k, "step", kit_assign_tree(&k, kit_assign(r, y, TSR_PART_VALUE, 0, TSR_ACC_SET, KIT_CLEAR, kit_read(&k, x, TSR_PART_VALUE, 1))));
	tsr_loops *l = kit_lower(&k);
	kit_memory *m = kit_memory_new(&k, l);
	double *xd = kit_data(m, l, x, TSR_PART_VALUE), *yd = kit_data(m, l, y, TSR_PART_VALUE);
	for (int i = 0; i < 20; i++)
		xd[i] = i;
	int64_t numbers[1] = {2};
	m->m.numbers = numbers;
	CHECK(tsr_loops_run(l, 0, &m->m) && yd[0] == 12 && yd[5] == 17);
	for (int64_t bad = -1; bad <= 3; bad += 4) {
		numbers[0] = bad;
		m->failed = NULL;
		CHECK(!tsr_loops_run(l, 0, &m->m));
		CHECK_STR(m->failed, "`x` along `i`");
	}
	const tsr_stmt *check = l->units.at[0]->body.at[0];
	CHECK(check->kind == TSR_STMT_CHECK && check->check.range.size.k == 3);
	tsr_compiler_free(k.tc);
}

/* ---- accumulators and precisions ------------------------------------------------------------------------------------ */

/* y acc= x over "ij => i", from y = start: what the accumulator makes of it, by hand. */
static void test_accumulators(void)
{
	static const struct { tsr_acc acc; kit_clear clear; double start, want; } cases[] = {
		{TSR_ACC_ADD, KIT_CLEAR, 5, 9}, {TSR_ACC_ADD, KIT_KEEP, 5, 14}, {TSR_ACC_SUB, KIT_CLEAR, 5, -9}, {TSR_ACC_SUB, KIT_KEEP, 5, -4},
		{TSR_ACC_MUL, KIT_CLEAR, 5, 24}, {TSR_ACC_MUL, KIT_KEEP, 5, 120}, {TSR_ACC_DIV, KIT_CLEAR, 48, 1. / 24}, {TSR_ACC_DIV, KIT_KEEP, 48, 2},
		{TSR_ACC_MAX, KIT_CLEAR, 5, 4}, {TSR_ACC_MAX, KIT_KEEP, 5, 5}, {TSR_ACC_MIN, KIT_CLEAR, 1, 2}, {TSR_ACC_MIN, KIT_KEEP, 1, 1},
		{TSR_ACC_POW, KIT_CLEAR, 2, 1}, {TSR_ACC_POW, KIT_KEEP, 2, 16777216}, {TSR_ACC_AND, KIT_CLEAR, 0, 1}, {TSR_ACC_OR, KIT_KEEP, 0, 1},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int reduced = 0; reduced < 2; reduced++) {
			kit k = kit_new();
			tsr_tensor *x = kit_tensor(&k, TSR_TENSOR_PARAM, "x", "2 3"), *y = kit_tensor(&k, TSR_TENSOR_STATE, "y", "2");
			tsr_tensor *slots[2] = {y, x};
			tsr_record_id r = kit_record(&k, TSR_LOGIC_SPEC, "ij => i", 2, slots);
			tsr_tensor *one = kit_tensor(&k, TSR_TENSOR_PARAM, "one", "2"), *alone[2] = {y, one};
			tsr_record_id r1 = kit_record(&k, TSR_LOGIC_POINTWISE, NULL, 2, alone);
			tsr_assign a = kit_assign(r, y, TSR_PART_VALUE, 0, cases[i].acc, cases[i].clear, kit_read(&k, x, TSR_PART_VALUE, 1));
			if (!reduced)
				a = kit_assign(r1, y, TSR_PART_VALUE, 0, cases[i].acc, cases[i].clear, kit_read(&k, one, TSR_PART_VALUE, 1));
			kit_code(&k, "code", kit_assign_tree(&k, a));
			tsr_loops *l = kit_lower(&k);
			kit_memory *m = kit_memory_new(&k, l);
			double *xd = kit_data(m, l, x, TSR_PART_VALUE), *yd = kit_data(m, l, y, TSR_PART_VALUE), want = cases[i].want;
			for (int j = 0; j < 6; j++)
				xd[j] = j % 3 + 2;
			yd[0] = yd[1] = cases[i].start;
			kit_data(m, l, one, TSR_PART_VALUE)[1] = 3;
			if (!reduced) {
				tsr_acc acc = cases[i].acc;
				const double s = cases[i].clear ? tsr_acc_get(acc)->neutral : cases[i].start;
				bool truth = acc == TSR_ACC_AND || acc == TSR_ACC_OR;
				tsr_prec p = truth ? TSR_PREC_BOOL : TSR_PREC_F64;
				tsr_scalar args[2] = {tsr_scalar_of(p, s), tsr_scalar_of(p, 3)};
				want = tsr_scalar_convert(tsr_op_apply(tsr_acc_get(acc)->op, p, args), TSR_PREC_F64).d;
			}
			CHECK(tsr_loops_run(l, 0, &m->m));
			if (!CHECK(yd[1] == want))
				printf("    accumulator %s: %g, not %g\n", tsr_acc_get(cases[i].acc)->text, yd[1], want);
			tsr_compiler_free(k.tc);
		}
}

/* 300 ones in u8 and 4096 + 1 in f16 only come out right when they are summed in a wider precision. */
static void test_narrow_sums(void)
{
	kit k = kit_new();
	tsr_tensor *x = kit_tensor(&k, TSR_TENSOR_PARAM, "x", "300"), *y = kit_tensor(&k, TSR_TENSOR_STATE, "y", "");
	tsr_tensor *slots[2] = {y, x};
	x->prec = TSR_PREC_F16;
	y->prec = TSR_PREC_F16;
	tsr_record_id r = kit_record(&k, TSR_LOGIC_SPEC, "i => ", 2, slots);
	kit_code(&k, "sum", kit_assign_tree(&k, kit_assign(r, y, TSR_PART_VALUE, 0, TSR_ACC_ADD, KIT_CLEAR, kit_read(&k, x, TSR_PART_VALUE, 1))));
	tsr_loops *l = kit_lower(&k);
	kit_memory *m = kit_memory_new(&k, l);
	for (int i = 0; i < 300; i++)
		((_Float16 *)kit_data(m, l, x, TSR_PART_VALUE))[i] = i == 0 ? (_Float16)2048 : (_Float16)1;
	CHECK(tsr_loops_run(l, 0, &m->m));
	CHECK((double)*(_Float16 *)kit_data(m, l, y, TSR_PART_VALUE) == 2348);
	tsr_compiler_free(k.tc);
}

/* ---- tensors without a buffer --------------------------------------------------------------------------------------- */

static void test_virtual(void)
{
	kit k = kit_new();
	tsr_tensor *two = kit_tensor(&k, TSR_TENSOR_FILL, "two", "1*"), *at = kit_tensor(&k, TSR_TENSOR_POSITIONS, "at", "3 | 4");
	tsr_tensor *lr = kit_tensor(&k, TSR_TENSOR_NUMBER, "lr", "1*"), *y = kit_tensor(&k, TSR_TENSOR_OP, "y", "3 | 4"), *slots[4] = {y, two, at, lr};
	two->fill.value = tsr_number_whole(2);
	at->prec = TSR_PREC_I32;
	lr->number.number = kit_number(&k, "n");
	tsr_record_id r = kit_record(&k, TSR_LOGIC_POINTWISE, NULL, 4, slots);
	tsr_rhs *rhs = kit_op(&k, TSR_OP_FMA, kit_read(&k, two, TSR_PART_VALUE, 1), kit_read(&k, at, TSR_PART_VALUE, 2), kit_read(&k, lr, TSR_PART_VALUE, 3));
	kit_code(&k, "code", kit_assign_tree(&k, kit_assign(r, y, TSR_PART_VALUE, 0, TSR_ACC_SET, KIT_CLEAR, rhs)));
	tsr_loops *l = kit_lower(&k);
	CHECK_INT(l->buffers.n, 1);
	kit_memory *m = kit_memory_new(&k, l);
	int64_t numbers[1] = {100};
	m->m.numbers = numbers;
	CHECK(tsr_loops_run(l, 0, &m->m));
	CHECK_INT(kit_data(m, l, y, TSR_PART_VALUE)[7], 114);
	tsr_compiler_free(k.tc);
}

/* won[all] =: (a + b = y); ga =+ where won g 0, with the mask over the whole space. */
static void test_winner_mask(void)
{
	kit k = kit_new();
	tsr_tensor *a = kit_tensor(&k, TSR_TENSOR_PARAM, "a", "2 3"), *b = kit_tensor(&k, TSR_TENSOR_PARAM, "b", "3");
	tsr_tensor *won = kit_tensor(&k, TSR_TENSOR_OP, "won", ""), *y = kit_tensor(&k, TSR_TENSOR_OP, "y", "2"), *slots[3] = {y, a, b};
	won->prec = TSR_PREC_BOOL;
	a->differentiable = y->differentiable = true;
	tsr_record_id r = y->op.record = kit_record(&k, TSR_LOGIC_SPEC, "ij; j => i", 3, slots);
	tsr_rhs *sum = kit_op(&k, TSR_OP_ADD, kit_read(&k, a, TSR_PART_VALUE, 1), kit_read(&k, b, TSR_PART_VALUE, 2), NULL);
	y->op.forward = TSR_NEW(k.tc->arena, tsr_assigns);
	y->op.backward = TSR_NEW(k.tc->arena, tsr_assigns);
	tsr_push(k.tc->arena, &y->op.forward->v, kit_assign(r, y, TSR_PART_VALUE, 0, TSR_ACC_MAX, KIT_CLEAR, sum));
	tsr_push(k.tc->arena, &y->op.backward->v, kit_assign(r, won, TSR_PART_VALUE, TSR_SLOT_ALL, TSR_ACC_SET, KIT_CLEAR,
		kit_op(&k, TSR_OP_EQ, sum, kit_read(&k, y, TSR_PART_VALUE, 0), NULL)));
	for (int i = 1; i < 3; i++)
		tsr_push(k.tc->arena, &y->op.backward->v, kit_assign(r, i == 1 ? a : b, TSR_PART_GRAD, i, TSR_ACC_ADD, KIT_KEEP,
			kit_op(&k, TSR_OP_WHERE, kit_read(&k, won, TSR_PART_VALUE, TSR_SLOT_ALL), kit_read(&k, y, TSR_PART_GRAD, 0), kit_const(&k, 0))));
	tsr_codetree *seq = kit_tree(&k, TSR_CODE_SEQ, 0);
	tsr_push(k.tc->arena, &seq->seq, kit_tree(&k, TSR_CODE_FORWARD, y->id));
	tsr_push(k.tc->arena, &seq->seq, kit_tree(&k, TSR_CODE_BACKPROP, y->id));
	kit_code(&k, "step", seq);
	tsr_loops *l = kit_lower(&k);
	kit_memory *m = kit_memory_new(&k, l);
	static const double values[6] = {1, 5, 2, 9, 0, 3};
	memcpy(kit_data(m, l, a, TSR_PART_VALUE), values, sizeof values);
	kit_data(m, l, b, TSR_PART_VALUE)[2] = 4;
	kit_data(m, l, y, TSR_PART_GRAD)[0] = 10;
	kit_data(m, l, y, TSR_PART_GRAD)[1] = 20;
	CHECK(tsr_loops_run(l, 0, &m->m));
	static const double want[6] = {0, 0, 10, 20, 0, 0};
	CHECK(!memcmp(kit_data(m, l, a, TSR_PART_GRAD), want, sizeof want));
	CHECK(kit_data(m, l, b, TSR_PART_GRAD) == NULL);         /* b is not differentiable: nothing is emitted for it */
	tsr_compiler_free(k.tc);
}

/* ---- mistakes ------------------------------------------------------------------------------------------------------ */

static void test_mistakes(void)
{
	static const struct { const char *spec, *y, *a, *b; tsr_diag_code code; } cases[] = {
		{"ij; => i", "2", "2 3", "", TSR_E_NOT_INJECTIVE},
		{"i, j; => i<+j", "4", "2 3", "", TSR_E_NOT_INJECTIVE},
		{"i; i => i^i", "4", "2", "2", TSR_E_CONCAT_OVERLAP},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		kit k = kit_new();
		tsr_tensor *a = kit_tensor(&k, TSR_TENSOR_PARAM, "a", cases[i].a), *b = kit_tensor(&k, TSR_TENSOR_PARAM, "b", cases[i].b);
		tsr_tensor *y = kit_tensor(&k, TSR_TENSOR_OP, "y", cases[i].y), *slots[3] = {y, a, b};
		tsr_record_id r = y->op.record = kit_record(&k, TSR_LOGIC_SPEC, cases[i].spec, 3, slots);
		y->op.forward = TSR_NEW(k.tc->arena, tsr_assigns);
		bool set = cases[i].code == TSR_E_NOT_INJECTIVE;
		for (int j = 1; j < (set ? 2 : 3); j++)
			tsr_push(k.tc->arena, &y->op.forward->v, kit_assign(r, y, TSR_PART_VALUE, 0, set ? TSR_ACC_SET : TSR_ACC_ADD, j == 1 ? KIT_CLEAR : KIT_KEEP,
				kit_read(&k, j == 1 ? a : b, TSR_PART_VALUE, j)));
		kit_code(&k, "code", kit_tree(&k, TSR_CODE_FORWARD, y->id));
		CHECK(kit_lower(&k) == NULL);
		CHECK(k.tc->nerrors == 1 && k.tc->diags.at[0]->code == cases[i].code);
		tsr_compiler_free(k.tc);
	}
}

/* y =: c over "ij; => i" reads nothing along j: the loop goes. */
static void test_set_without_the_omitted_loop(void)
{
	kit k = kit_new();
	tsr_tensor *a = kit_tensor(&k, TSR_TENSOR_PARAM, "a", "2 3"), *c = kit_tensor(&k, TSR_TENSOR_PARAM, "c", "2");
	tsr_tensor *y = kit_tensor(&k, TSR_TENSOR_OP, "y", "2"), *slots[3] = {y, a, c};
	tsr_record_id r = kit_record(&k, TSR_LOGIC_SPEC, "ij; i => i", 3, slots);
	kit_code(&k, "code", kit_assign_tree(&k, kit_assign(r, y, TSR_PART_VALUE, 0, TSR_ACC_SET, KIT_CLEAR, kit_read(&k, c, TSR_PART_VALUE, 2))));
	tsr_loops *l = kit_lower(&k);
	const tsr_stmt *kernel = l->units.at[0]->body.at[0], *loop = kernel->kernel.body.at[0];
	CHECK(loop->kind == TSR_STMT_FOR && loop->loop.how == TSR_FOR_PARALLEL && loop->loop.body.at[0]->kind == TSR_STMT_STORE);
	tsr_compiler_free(k.tc);
}

/* A target that is read at other places than it is written is walked through in order. */
static void test_self_reading(void)
{
	kit k = kit_new();
	tsr_tensor *y = kit_tensor(&k, TSR_TENSOR_STATE, "y", "3 3"), *slots[2] = {y, y};
	tsr_record_id r = kit_record(&k, TSR_LOGIC_SPEC, "ij => ji", 2, slots), r1 = kit_record(&k, TSR_LOGIC_SPEC, "ij => ij", 2, slots);
	kit_code(&k, "across", kit_assign_tree(&k, kit_assign(r, y, TSR_PART_VALUE, 0, TSR_ACC_SET, KIT_CLEAR, kit_read(&k, y, TSR_PART_VALUE, 1))));
	kit_code(&k, "along", kit_assign_tree(&k, kit_assign(r1, y, TSR_PART_VALUE, 0, TSR_ACC_SET, KIT_CLEAR, kit_read(&k, y, TSR_PART_VALUE, 1))));
	tsr_loops *l = kit_lower(&k);
	CHECK(l->units.at[0]->body.at[0]->kernel.body.at[0]->loop.how == TSR_FOR_SERIAL);
	CHECK(l->units.at[1]->body.at[0]->kernel.body.at[0]->loop.how == TSR_FOR_PARALLEL);
	tsr_compiler_free(k.tc);
}

int main(void)
{
	test_windows();
	test_concat();
	test_concat_as_sum();
	test_minibatch();
	test_accumulators();
	test_narrow_sums();
	test_virtual();
	test_winner_mask();
	test_mistakes();
	test_set_without_the_omitted_loop();
	test_self_reading();
	return check_end("assign");
}
