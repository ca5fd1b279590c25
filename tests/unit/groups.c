/* opt/groups.c against the reference interpreter: random nests over few results of each of many groups leave what they left before the pass, and are seen to be such exactly where their
 * numbers and what they read allow it. */
#include "check.h"
#include "draw.h"
#include "loops_kit.h"

enum { PROGRAMS = 300 };

/* What of k each result has for itself lies in any order; some of it is the same for all groups, which makes a contraction of more than a few numbers, or is another one for each place. */
static const char *program(tsr_arena *a, bool *turns)
{
	static const char *const place[] = { "j.3, g.1, c.4, f.2", "g.1, f.2, j.3, c.4", "j.3, g.1, f.2, c.4", "j.3, c.4, f.2, 0", "w.0, g.1, c.4, f.2", "j.3 + 1, g.1, f.2, c.4" };
	int f = 2 << draw(3), g = draw(3) ? (f < 16 && draw(4) == 0 ? 8 / f : 16 / f * (1 + (int)draw(3))) : 1 + (int)draw(12), c = 2 + (int)draw(5), w = 1 + (int)draw(draw(4) ? 48 : 16), kw = 1 + (int)draw(3);
	uint32_t order = draw(sizeof place / sizeof *place);
	int extents[][4] = { { kw, g, c, f }, { g, f, kw, c }, { kw, g, f, c }, { kw, c, f, 1 }, { w, g, c, f }, { kw + 1, g, f, c } }, *k = extents[order];
	bool last = draw(6) == 0;            /* the nest adds to what it reads */
	*turns = g > 1 && ((f < 16 && f * g % 16 == 0) || (f < 8 && f * g == 8)) && w >= 16 && (order != 3 || (f <= 4 && c * kw <= 4)) && order != 4 && !last;
	tsr_text t;
	tsr_text_init(&t, a);
	tsr_text_addf(&t, "buffer %%x : f32[%d, %d, %d] param\nbuffer %%k : f32[%d, %d, %d, %d] param\nbuffer %%y : f32[%d, %d, %d] value observed\n", w + kw, g, c, k[0], k[1], k[2], k[3], w, g, f);
	tsr_text_addf(&t, "unit u { kernel n {\nfor w.0 in 0..%d parallel {\nfor g.1 in 0..%d parallel {\nfor f.2 in 0..%d parallel {\nlet $0 : f32 = 0.\n", w, g, f);
	tsr_text_addf(&t, "for j.3 in 0..%d reduce {\nfor c.4 in 0..%d reduce {\nset $0 = add.f32($0, mul.f32(%%x[w.0 + j.3, g.1, c.4], %s))\n}\n}\n", kw, c,
				  last ? "%y[0, g.1, 0]" : tsr_format(a, "%%k[%s]", place[order]));
	tsr_text_addf(&t, "store %%y[w.0, g.1, f.2] = $0\n}\n}\n}\n}\n}\n");
	return tsr_text_str(&t);
}

static tsr_loops *read(tsr_compiler *tc, uint32_t file)
{
	tsr_loops *l = tsr_loops_read(tc, file);
	tsr_diags_render(tc, stdout, false);
	return l;
}

int main(void)
{
	state = 11;
	uint32_t turned = 0;
	for (int i = 0; i < PROGRAMS; i++) {
		tsr_compiler *tc = tsr_compiler_new();
		bool turns;
		const char *text = program(tc->arena, &turns);
		uint32_t file = tsr_source_add(tc, "groups.loop", text, strlen(text));
		tsr_loops *before = read(tc, file), *after = read(tc, file);
		tsr_opt_options options = { .level = 2, .fuse = true, .threads = TSR_THREADS_ALL, .passes = draw(2) ? "groups" : "groups,classify,schedule,threads" };
		if (!CHECK(before && after && tsr_opt_run(after, tsr_target_by_name("avx512"), &options)))
			return check_end("groups");
		size_t n = 0;
		float *want = interpreted(before, 2, &n), *got = interpreted(after, 2, &n);
		bool did = after->buffers.n > 3 && after->buffers.at[3]->name && strstr(after->buffers.at[3]->name, "turned");
		if (!CHECK(!memcmp(want, got, n * sizeof *want)) || !CHECK(did == turns)) {
			printf("program %d, %s:\n%s", i, turns ? "turns" : "stays", text);
			tsr_loops_print(after, stdout);
			return check_end("groups");
		}
		turned += did;
		free(want), free(got);
		tsr_compiler_free(tc);
	}
	printf("%u of %d were turned\n", turned, PROGRAMS);
	CHECK(turned > PROGRAMS / 6);
	return check_end("groups");
}
