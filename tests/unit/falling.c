/* What is known to be at most 0 (opt/falling.c): a kernel, its exponential, and whether its argument is taken for a value less the greatest of them; whether
 * that value may be read again. */
#include "../../compiler/opt/opt.h"
#include "../../compiler/base/text.h"
#include "check.h"

/* $1 is the greatest of %x[i, ..]; in its loop stands `first`, behind it `between`, in the second loop `second` behind %e[i, j] = exp(<argument>),
 * or before it where that begins with <. */
typedef struct kernel { const char *greatest, *extent, *of, *first, *between, *argument, *second; bool falls, lasts; } kernel;

static const kernel kernels[] = {
	{"%x[i, t]", "40", "$0", "", "", "sub.f32(%x[i, j], $1)", "", true, true},
	{"%x[i, t]", "40", "mul.f32($0, 0.125)", "", "", "sub.f32(mul.f32(%x[i, j], 0.125), $1)", "", true, true},
	{"%x[i, t]", "40", "mul.f32(0.125, $0)", "", "", "sub.f32(mul.f32(%x[i, j], 0.125), $1)", "", true, true},
	{"mul.f32(%x[i, t], %y[t])", "40", "$0", "", "", "sub.f32(mul.f32(%x[i, j], %y[j]), $1)", "", true, true},
	{"add.f32(%x[i, t], $9)", "40", "$0", "", "", "sub.f32(add.f32(%x[i, j], $9), $1)", "", true, true},
	{"%x[i, t]", "40", "$0", "", "store %y[i] = 3.", "sub.f32(%x[i, j], $1)", "store %x[i, j] = %e[i, j]", true, false},
	{"%x[i, t]", "40", "$0", "store %y[t] = 3.", "", "sub.f32(%x[i, j], $1)", "", true, true},
	/* another value, other places, another factor, a negative one, or not less the greatest */
	{"%x[i, t]", "40", "$0", "", "", "sub.f32(%e[i, j], $1)", "", false, false},
	{"%x[0, t]", "40", "$0", "", "", "sub.f32(%x[i, j], $1)", "", false, false},
	{"%x[i, t]", "39", "$0", "", "", "sub.f32(%x[i, j], $1)", "", false, false},
	{"%x[i, 39 - t]", "40", "$0", "", "", "sub.f32(%x[i, j], $1)", "", false, false},
	{"%x[i, t]", "40", "mul.f32($0, 0.25)", "", "", "sub.f32(mul.f32(%x[i, j], 0.125), $1)", "", false, false},
	{"%x[i, t]", "40", "mul.f32($0, -1.)", "", "", "sub.f32(mul.f32(%x[i, j], -1.), $1)", "", false, false},
	{"%x[i, t]", "40", "$0", "", "", "sub.f32(mul.f32(%x[i, j], 2.), $1)", "", false, false},
	{"%x[i, t]", "40", "add.f32($0, -3.)", "", "", "sub.f32(%x[i, j], $1)", "", false, false},
	{"%x[i, t]", "40", "$0", "", "", "sub.f32($1, %x[i, j])", "", false, false},
	{"%x[i, t]", "40", "$0", "", "", "add.f32(%x[i, j], $1)", "", false, false},
	/* what is read or compared changes */
	{"%x[i, t]", "40", "$0", "", "store %x[i, 3] = 200.", "sub.f32(%x[i, j], $1)", "", false, false},
	{"%x[i, t]", "40", "$0", "", "for s in 0..40 parallel { store %x[i, s] = 200. }", "sub.f32(%x[i, j], $1)", "", false, false},
	{"%x[i, t]", "40", "$0", "store %x[i, t] = 200.", "", "sub.f32(%x[i, j], $1)", "", false, false},
	{"%x[i, t]", "40", "$0", "", "", "sub.f32(%x[i, j], $1)", "store %x[i, 39 - j] = 200.", false, false},
	{"%x[i, t]", "40", "$0", "", "", "sub.f32(%x[i, j], $1)", "update %x[i, 3] += 200.", false, false},
	{"%x[i, t]", "40", "$0", "", "set $1 = -200.", "sub.f32(%x[i, j], $1)", "", false, false},
	{"%x[i, t]", "40", "$0", "set $0 = -200.", "", "sub.f32(%x[i, j], $1)", "", false, false},
	{"%x[i, t]", "40", "$0", "", "", "sub.f32(%x[i, j], $1)", "<store %x[i, j] = 200.", false, false},
	{"add.f32(%x[i, t], $9)", "40", "$0", "", "set $9 = 200.", "sub.f32(add.f32(%x[i, j], $9), $1)", "", false, false},
};

static const char *text_of(tsr_arena *a, const kernel *k)
{
	bool before = *k->second == '<';
	return tsr_format(a, "buffer %%x : f32[30, 40] state observed\nbuffer %%e : f32[30, 40] state observed\nbuffer %%y : f32[40] state observed\n"
		"unit u {\nkernel k {\nfor i in 0..30 serial {\nlet $9 : f32 = 2.\nlet $0 : f32 = -inf\nfor t in 0..%s reduce {\nset $0 = max.f32($0, %s)\n%s\n}\n"
		"let $1 : f32 = %s\n%s\nfor j in 0..40 serial {\n%s\nstore %%e[i, j] = exp.f32(%s)\n%s\n}\n}\n}\n}\n", k->extent, k->greatest, k->first, k->of, k->between, before ? k->second + 1 : "", k->argument, before ? "" : k->second);
}

/* The argument of the exponential. */
static const tsr_expr *argument(const tsr_stmts *body)
{
	const tsr_stmts *rows = &body->at[0]->loop.body;
	for (uint32_t i = 0; i < rows->n; i++) {
		for (uint32_t k = 0; rows->at[i]->kind == TSR_STMT_FOR && k < rows->at[i]->loop.body.n; k++) {
			const tsr_stmt *s = rows->at[i]->loop.body.at[k];
			if (s->kind == TSR_STMT_STORE && s->store.value->kind == TSR_EXPR_OP && s->store.value->op.op == TSR_OP_EXP)
				return s->store.value->op.args[0];
		}
	}
	return NULL;
}

/* Rows of two loops that begin with these statements, each with whether they may be done twice. */
static const struct { const char *first, *second; bool repeat; } rows[] = {
	{"store %e[i, t] = %x[i, t]", "store %y[j] = %e[i, j]", true},
	{"set $0 = max.f32($0, %x[i, t])", "store %e[i, j] = exp.f32(%x[i, j])\nset $0 = add.f32($0, %e[i, j])", true},
	{"store %x[i, t] = mul.f32(%x[i, t], 2.)", "store %y[j] = 1.", false},
	{"store %e[i, t] = %x[i, t]", "store %x[i, j] = %y[j]", false},
	{"set $0 = max.f32($0, %x[i, t])", "if j in 0..20 { store %x[i, j] = 3. }", false},
	{"set $9 = add.f32($9, %x[i, t])", "store %y[j] = 1.", false},
	{"update %e[i, t] += 1.", "store %y[j] = 1.", false},
};

static void test_rows(void)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tsr_compiler *tc = tsr_compiler_new();
		const char *text = tsr_format(tc->arena, "buffer %%x : f32[30, 40] state observed\nbuffer %%e : f32[30, 40] state observed\nbuffer %%y : f32[40] state observed\n"
			"unit u {\nkernel k {\nlet $9 : f32 = 0.\nfor i in 0..30 serial {\nlet $0 : f32 = 0.\nfor t in 0..40 serial {\n%s\n}\nfor j in 0..40 serial {\n%s\n}\n}\n}\n}\n", rows[i].first, rows[i].second);
		tsr_loops *l = tsr_loops_read(tc, tsr_source_add(tc, "rows.loop", text, strlen(text)));
		tsr_diags_render(tc, stdout, false);
		if (CHECK(l != NULL) && !CHECK(tsr_stmts_repeat(&l->units.at[0]->body.at[0]->kernel.body.at[1]->loop.body, 3) == rows[i].repeat))
			printf("%s", text);
		tsr_compiler_free(tc);
	}
}

int main(void)
{
	test_rows();
	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
		tsr_compiler *tc = tsr_compiler_new();
		const char *text = text_of(tc->arena, &kernels[i]);
		tsr_loops *l = tsr_loops_read(tc, tsr_source_add(tc, "falling.loop", text, strlen(text)));
		tsr_diags_render(tc, stdout, false);
		if (!CHECK(l != NULL))
			return check_end("falling");
		const tsr_stmts *body = &l->units.at[0]->body.at[0]->kernel.body;
		tsr_falling f = {0};
		const tsr_expr *x = argument(body);
		bool falls = x && tsr_expr_falls(l, body, x, &f);
		if (!CHECK(x && falls == kernels[i].falls && f.lasts == kernels[i].lasts))
			printf("%s", text);
		tsr_compiler_free(tc);
	}
	return check_end("falling");
}
