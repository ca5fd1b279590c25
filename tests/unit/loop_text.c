/* loop/: the textual form read back exactly, the reference interpreter against plain C. */
#include "../../compiler/loop/loop.h"
#include "check.h"
#include <stdlib.h>

static const char program[] =
	"symbol ?n\n"
	"symbol ?quarter = ?n - 1 / 4\n"
	"symbol ?left = 3*?n + 2*?quarter % 4\n"
	"number @i\n"
	"buffer %x : f32[6, 4] value observed\n"
	"buffer %net.w : f32[4, 3] param\n"
	"buffer %y : f32[6, 3] value\n"
	"buffer %k : i32[3] literal = {1, -2, 3}\n"
	"buffer %\"odd name\" : u8[?n - 1, 2*?n + 3] input\n"
	"buffer %r : u32[4] value\n"
	"buffer %z : f32[6] temp\n"
	"unit step {\n"
	"  check 2*@i - 1 in 0..6 \"minibatch \\\"index\\\"\"\n"
	"  random %r \"net.w\" per_run\n"
	"  kernel y.1 {\n"
	"    for a.0 in 0..6 parallel {\n"
	"      for b.1 in 0..3 vector {\n"
	"        let $0 : f32 = 0.\n"
	"        for k.2 in 0..4 reduce {\n"
	"          set $0 = add.f32($0, mul.f32(%x[a.0, k.2], %net.w[k.2, b.1]))\n"
	"        }\n"
	"        store %y[a.0, b.1] = $0\n"
	"      }\n"
	"    }\n"
	"  }\n"
	"  kernel z large 4096 of 8(?n)(?n + 2) + 64, 1 of 4(?n) {\n"
	"    for a.0 in 0..6 serial {\n"
	"      store %z[a.0] = where.f32(lt.f32(%y[a.0, 0], 1.5), select(a.0 - 2 in 0..3, 2*a.0 + @i + 1 in 0..?n; %y[a.0 - 2, 1]; -inf), convert.f32(7:u8))\n"
	"      update %z[a.0] += convert.f32(add.i32(%k[0], index.i32(3*a.0 - 2)))\n"
	"      update %z[a.0] @^= size.f32(?n + 2)\n"
	"      letsym t.3 = convert.i32(number.i64(@i))\n"
	"      if t.3 in 0..6 {\n"
	"        update %z[t.3] *= 2.\n"
	"      }\n"
	"    }\n"
	"  }\n"
	"}\n";

static const char *printed(const tsr_loops *l)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	tsr_loops_print(l, out);
	fclose(out);
	return text;
}

static tsr_loops *read_text(tsr_compiler *tc, const char *text)
{
	return tsr_loops_read(tc, tsr_source_add(tc, "test.loop", text, strlen(text)));
}

static void test_round_trip(void)
{
	tsr_compiler *tc = tsr_compiler_new();
	tsr_loops *l = read_text(tc, program);
	tsr_diags_render(tc, stdout, false);
	if (CHECK(l != NULL)) {
		tsr_loops_check(l, "reading");
		const char *once = printed(l);
		CHECK_STR(once, program);
		CHECK_INT(l->units.at[0]->nsyms, 4);
		CHECK_INT(l->units.at[0]->nlocals, 1);
		free((void *)once);
	}
	tsr_loops *bare = read_text(tc, "buffer %x : f32[2] temp # comment\nunit u { kernel k { for a in 0..2 { store %x[a] = 1.0:f32 } } }");
	if (CHECK(bare != NULL)) {
		const char *text = printed(bare);
		CHECK_STR(text, "buffer %x : f32[2] temp\nunit u {\n  kernel k {\n    for a.0 in 0..2 serial {\n"
						"      store %x[a.0] = 1.\n    }\n  }\n}\n");
		free((void *)text);
	}
	tsr_compiler_free(tc);
}

static void test_malformed(void)
{
	static const char *const bad[] = {
		"buffer x : f32[] temp", "buffer %x : f33[] temp", "buffer %x : f32[2 temp", "buffer %x : f32[?n] temp", "unit u {",
		"buffer %x : f32[2] temp unit u { kernel k { store %x[q] = 1.0 } }",
		"buffer %x : f32[2] temp unit u { kernel k { store %x[0] = foo.f32(1.0) } }",
		"buffer %x : f32[2] temp unit u { kernel k { store %x[0, 1] = 1.0 } }",
		"buffer %x : f32[2] temp unit u { kernel k { set $0 = 1.0 store %x[0] = $1 } }",
		"buffer %x : f32[2] temp unit u { kernel k { update %x[0] ?= 1.0 } }", "unit u { check 0 in 0..2 \"x } ", "{", "unit u { spin }",
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		tsr_compiler *tc = tsr_compiler_new();
		tsr_loops *l = read_text(tc, bad[i]);
		if (!CHECK(l == NULL && tc->nerrors == 1))
			printf("    in: %s\n", bad[i]);
		tsr_compiler_free(tc);
	}
}

typedef struct failure { const char *what; int64_t index, size; } failure;

static void note_failure(void *user, tsr_span span, const char *what, int64_t index, int64_t size)
{
	(void)span;
	*(failure *)user = (failure){what, index, size};
}

static void test_run(void)
{
	tsr_compiler *tc = tsr_compiler_new();
	tsr_loops *l = read_text(tc, program);
	float x[24], w[12], y[18], z[6], want_z[6];
	int32_t k[3] = {1, -2, 3};
	uint8_t odd[1];
	uint32_t r[4] = {0}, before[4];
	for (int i = 0; i < 24; i++)
		x[i] = (float)(i % 7) * 0.37f - 1;
	for (int i = 0; i < 12; i++)
		w[i] = (float)(i % 5) * 0.21f - 0.3f;
	void *buffers[] = {x, w, y, k, odd, r, z};
	int64_t numbers[] = {2}, symbols[3] = {9};
	uint64_t counters[7] = {0};
	failure f = {0};
	tsr_loops_divide(l, symbols);
	CHECK(symbols[1] == 2 && symbols[2] == 3);
	tsr_machine m = {buffers, numbers, symbols, 7, counters, NULL, &f, note_failure};
	CHECK(tsr_loops_run(l, 0, &m));
	int right = 1;
	for (int a = 0; a < 6; a++)
		for (int b = 0; b < 3; b++) {
			float sum = 0;
			for (int c = 0; c < 4; c++) {
				float product = x[a * 4 + c] * w[c * 3 + b];
				sum += product;
			}
			right &= y[a * 3 + b] == sum;
		}
	CHECK(right);
	for (int a = 0; a < 6; a++) {
		float inside = a >= 2 && a < 5 && 2 * a + 3 < 9 ? y[(a - 2) * 3 + 1] : -INFINITY;
		want_z[a] = y[a * 3] < 1.5f ? inside : 7;
		want_z[a] += (float)(1 + 3 * a - 2);
		want_z[a] = want_z[a] > 11 ? want_z[a] : 11;
		want_z[2] *= 2;
	}
	CHECK(!memcmp(z + 3, want_z + 3, 12));
	CHECK(z[2] == want_z[2]);
	CHECK_INT(counters[5], 4);
	memcpy(before, r, sizeof r);
	CHECK(tsr_loops_run(l, 0, &m) && memcmp(before, r, sizeof r));
	numbers[0] = 4;
	CHECK(!tsr_loops_run(l, 0, &m));
	CHECK_STR(f.what, "minibatch \"index\"");
	CHECK_INT(f.index, 7);
	CHECK_INT(f.size, 6);
	tsr_compiler_free(tc);
}

int main(void)
{
	test_round_trip();
	test_malformed();
	test_run();
	return check_end("loop_text");
}
