/* Values and their copies as one buffer: random programs full of copies, of which many are copied too early, in part, turned, or changed while the other is read, must leave in all that lasts
 * the same bits before and after the pass. */
#include "../../compiler/opt/opt.h"
#include "../../compiler/base/text.h"
#include "check.h"
#include "draw.h"
#include <stdlib.h>

enum { PROGRAMS = 3000, OWN = 7, SHARED = 2, UNITS = 2, BUFFERS = UNITS * OWN + SHARED, SIDE = 3 };

static uint32_t unit;
static bool stored[BUFFERS];         /* in this unit, perhaps in part */

/* One of the unit's, or of those that all have; mostly one that it has stored already, or not yet. */
static uint32_t any(bool already)
{
	uint32_t b = 0;
	for (int tries = 0; tries < 20; tries++) {
		b = draw(OWN + SHARED);
		b = b < OWN ? unit * OWN + b : UNITS * OWN + b - OWN;
		if (stored[b] == already || draw(30) == 0)
			break;
	}
	return b;
}

static const char *element(tsr_arena *a, uint32_t b)
{
	static const char *const index[] = { "[j, i]", "[i, 0]", "[2 - i, j]", "[i, 2 - j]" };
	return tsr_format(a, "%%b%u%s", b, draw(10) ? "[i, j]" : index[draw(4)]);
}

static void statement(tsr_arena *a, tsr_text *t)
{
	uint32_t x = any(true), y = any(true), z = any(true), kind = draw(5);
	bool guarded = draw(12) == 0;
	if (guarded)
		tsr_text_add(t, "if j - 1 in 0..3 { ");
	if (kind < 2) {
		z = any(draw(5) == 0);
		tsr_text_addf(t, "store %%b%u[i, j] = %s\n", z, element(a, y));
		x = z;
	} else if (kind < 4) {
		tsr_text_addf(t, "update %s += mul.f32(%s, 0.5)\n", element(a, x), element(a, y));
	} else {
		x = any(false);
		tsr_text_addf(t, "store %s = add.f32(%s, %s)\n", element(a, x), element(a, y), draw(2) ? element(a, z) : "0.25");
	}
	stored[x] = true;
	if (guarded)
		tsr_text_add(t, "}\n");
}

static void statements(tsr_arena *a, tsr_text *t)
{
	for (uint32_t n = 1 + draw(3); n > 0; n--)
		statement(a, t);
}

/* One or two nests, the second one's loops within the first one's or behind them; or all of it twice. */
static void kernel(tsr_arena *a, tsr_text *t, uint32_t n)
{
	uint32_t form = draw(6), to = draw(10) ? SIDE : SIDE - 1;
	tsr_text_addf(t, "kernel k%u { %sfor i in 0..%u serial { for j in 0..3 serial {\n", n, form == 2 ? "for r in 0..2 serial { " : "", to);
	statements(a, t);
	if (form == 0) {
		tsr_text_add(t, "} } for i in 0..3 serial { for j in 0..3 serial {\n");
		statements(a, t);
	} else if (form == 1) {
		tsr_text_add(t, "} for j in 0..3 serial {\n");
		statements(a, t);
	}
	tsr_text_addf(t, "%s} } }\n", form == 2 ? "}" : "");
}

static const char *program(tsr_arena *a)
{
	tsr_text t;
	tsr_text_init(&t, a);
	for (uint32_t b = 0; b < BUFFERS; b++)
		tsr_text_addf(&t, "buffer %%b%u : f32[3, 3] %s\n", b, draw(3) ? "value" : draw(2) ? "grad observed" : "state observed");
	for (uint32_t u = 0; u < UNITS; u++) {
		tsr_text_addf(&t, "unit u%u {\n", u);
		unit = u;
		memset(stored, 0, sizeof stored);
		for (uint32_t n = 2; n > 0; n--) {
			uint32_t b = any(false);
			tsr_text_addf(&t, "kernel first%u { for i in 0..3 parallel { for j in 0..3 parallel { store %%b%u[i, j] = %u.5 } } }\n", n, b, draw(4));
			stored[b] = true;
		}
		for (uint32_t n = 2 + draw(6); n > 0; n--)
			kernel(a, &t, n);
		tsr_text_add(&t, "}\n");
	}
	return tsr_text_str(&t);
}

typedef struct memory { float of[BUFFERS][SIDE * SIDE]; } memory;

/* The units in turn, twice. */
static memory run(const tsr_loops *l)
{
	memory x;
	void *buffers[BUFFERS];
	for (uint32_t b = 0; b < BUFFERS; b++) {
		buffers[b] = x.of[b];
		for (uint32_t i = 0; i < SIDE * SIDE; i++)
			x.of[b][i] = (float)((b * 7 + i * 5) % 9) / 4 - 1;
	}
	tsr_machine m = { .buffers = buffers };
	for (uint32_t step = 0; step < 2 * UNITS; step++)
		tsr_loops_run(l, step % UNITS, &m);
	return x;
}

static bool equal(const tsr_loops *l, const memory *x, const memory *y)
{
	bool same = true;
	for (uint32_t b = 0; b < BUFFERS; b++)
		same &= !l->buffers.at[b]->observed || memcmp(x->of[b], y->of[b], sizeof x->of[b]) == 0;
	return same;
}

int main(void)
{
	static const char *const chosen[] = { "copies", "fuse,copies", "reduce,virtual,fuse,copies,rows,inplace" };
	enum { CHOSEN = sizeof chosen / sizeof *chosen };
	tsr_target target = *tsr_target_by_name("avx512");
	uint32_t one[CHOSEN] = { 0 };
	for (uint32_t n = 0; n < PROGRAMS; n++) {
		tsr_compiler *tc = tsr_compiler_new();
		state = 1000 + (uint64_t)n;
		const char *text = program(tc->arena);
		uint32_t file = tsr_source_add(tc, "random.loop", text, strlen(text));
		tsr_loops *l = tsr_loops_read(tc, file);
		tsr_diags_render(tc, stdout, false);
		if (!CHECK(l != NULL))
			return check_end("copies");
		memory want = run(l);
		for (uint32_t i = 0; i < CHOSEN; i++) {
			l = tsr_loops_read(tc, file);
			tsr_opt_options options = { .level = 2, .fuse = true, .threads = TSR_THREADS_NONE, .passes = chosen[i] };
			CHECK(tsr_opt_run(l, &target, &options));
			for (uint32_t k = 0; k < l->notes.n; k++)
				one[i] += strstr(l->notes.at[k], "and its copy") != NULL;
			memory got = run(l);
			if (!CHECK(equal(l, &got, &want))) {
				printf("program %u after %s:\n%s", n, chosen[i], text);
				tsr_loops_print(l, stdout);
				return check_end("copies");
			}
		}
		tsr_compiler_free(tc);
	}
	for (uint32_t i = 0; i < CHOSEN; i++) {
		printf("%s: %u values became one with their copies in %d programs\n", chosen[i], one[i], PROGRAMS);
		CHECK(one[i] > PROGRAMS / 10);
	}
	return check_end("copies");
}
