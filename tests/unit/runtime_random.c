/* Random words: the vectors published with Random123, position-addressable streams, draws. */
#include "runtime_context.h"
#include <math.h>

static void test_known_answers(void)
{
	static const struct {
		uint32_t counter[4], key[4], want[4];
	} cases[] = {
	    {{0, 0, 0, 0}, {0, 0, 0, 0}, {0x9c6ca96a, 0xe17eae66, 0xfc10ecd4, 0x5256a7d8}},
	    {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u, ~0u, ~0u}, {0x2a881696, 0x57012287, 0xf6c7446e, 0xa16a6732}},
	    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
	     {0xa4093822, 0x299f31d0, 0x082efa98, 0xec4e6c89},
	     {0x59cd1dbb, 0xb8879579, 0x86b5d00c, 0xac8b6d84}},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint32_t got[4];
		tsr_threefry(cases[i].counter, cases[i].key, got);
		for (int k = 0; k < 4; k++)
			CHECK_INT(got[k], cases[i].want[k]);
	}
}

/* Every start and length around the edges of a group, and a counter that carries into its upper half. */
static void test_streams(void)
{
	static const uint64_t starts[] = {0, 1, 2, 3, 4, 63, 64, 65, 130, 0xFFFFFFFFull * 4 - 70, (uint64_t)7 << 40};
	const uint32_t key[4] = {1, 2, 3, 0xDEADBEEF};
	uint32_t words[300];
	for (size_t s = 0; s < sizeof starts / sizeof *starts; s++)
		for (int n = 0; n <= 200; n += n < 10 ? 1 : 19) {
			int wrong = 0;
			words[n] = 12345;
			tsr_random_words(words, n, key, starts[s]);
			for (int j = 0; j < n; j++) {
				uint64_t at = starts[s] + (uint64_t)j;
				const uint32_t counter[4] = {(uint32_t)(at / 4), (uint32_t)(at / 4 >> 32), 0, 0};
				uint32_t want[4];
				tsr_threefry(counter, key, want);
				wrong += words[j] != want[at % 4];
			}
			CHECK(!wrong && words[n] == 12345);
		}
}

/* The key is pinned: weights drawn by an older version stay what they were. */
static void test_keys(void)
{
	uint32_t a[4], b[4], empty[4];
	tsr_random_key("net.hidden.w", 1, a);
	tsr_random_key("net.hidden.w", 2, b);
	CHECK(memcmp(a, b, sizeof a) != 0);
	tsr_random_key("net.hidden.b", 1, b);
	CHECK(memcmp(a, b, sizeof a) != 0);
	const uint32_t offset_basis[4] = {0x6295c58d, 0x62b82175, 0x07bb0142, 0x6c62272e}, seed[4] = {5, 0, 0, 0};
	tsr_threefry(seed, offset_basis, b);
	tsr_random_key("", 5, empty);
	CHECK(memcmp(empty, b, sizeof b) == 0);
	/* FNV-1a-128 of "foobar", as its authors publish it: 343e1662793c64bf6f0d3597ba446f18 */
	const uint32_t foobar[4] = {0xba446f18, 0x6f0d3597, 0x793c64bf, 0x343e1662};
	tsr_threefry(seed, foobar, b);
	tsr_random_key("foobar", 5, a);
	CHECK(memcmp(a, b, sizeof b) == 0);
}

static void test_draws(void)
{
	caught c;
	tsr_config config = caught_config(&c);
	static const tsr_program program = {.name = "test", .seed = 3};
	tsr_ctx *ctx = tsr_start_with(0, NULL, &program, &config);
	double sum = 0, square = 0, uniform = 0;
	int counts[3] = {0}, chosen[4] = {0};
	const float weights[4] = {1, 0, 3, 0};
	for (int i = 0; i < 20000; i++) {
		double u = tsr_draw_uniform(ctx), n = tsr_draw_normal(ctx);
		if (u < 0 || u >= 1)
			CHECK(!"a uniform number outside [0, 1)");
		uniform += u;
		sum += n;
		square += n * n;
		counts[tsr_draw_int(ctx, "", 3)]++;
		chosen[tsr_draw_choice(ctx, "", weights, 4)]++;
	}
	CHECK(fabs(uniform / 20000 - 0.5) < 0.01);
	CHECK(fabs(sum / 20000) < 0.03 && fabs(square / 20000 - 1) < 0.04);
	for (int k = 0; k < 3; k++)
		CHECK(abs(counts[k] - 6667) < 300);
	CHECK(chosen[1] == 0 && chosen[3] == 0 && abs(chosen[0] - 5000) < 300);
	CHECK_INT(tsr_draw_int(ctx, "", 1), 0);
	CHECK_STR(FAILS(tsr_draw_int(ctx, "x.tsr:1:2", 0)), "x.tsr:1:2: a draw needs at least 1 possibility, and has 0");
	const float bad[2] = {1, -1}, none[2] = {0, 0};
	CHECK_STR(FAILS(tsr_draw_choice(ctx, "x", bad, 2)), "x: weight 1 of a choice is -1");
	CHECK_STR(FAILS(tsr_draw_choice(ctx, "x", none, 2)), "x: a choice needs a weight above 0 among its 2");
	tsr_finish(ctx);
}

/* The same seed gives the same draws; --seed replaces the program's. */
static void test_seed(void)
{
	static const tsr_program one = {.name = "test", .seed = 7}, other = {.name = "test", .seed = 8};
	char *plain[] = {"test", NULL}, *given[] = {"test", "--seed", "7", NULL};
	caught c;
	tsr_config config = caught_config(&c);
	tsr_ctx *a = tsr_start_with(1, plain, &one, &config), *b = tsr_start_with(3, given, &other, &config);
	for (int i = 0; i < 5; i++)
		CHECK(tsr_draw_uniform(a) == tsr_draw_uniform(b));
	CHECK_INT(tsr_arg_count(b), 0);
	tsr_finish(a);
	tsr_finish(b);
}

int main(void)
{
	test_known_answers();
	test_streams();
	test_keys();
	test_draws();
	test_seed();
	return check_end("runtime_random");
}
