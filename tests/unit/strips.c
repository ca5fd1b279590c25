/* Kernels that run in strips against the reference interpreter: random chains of products and row by row work, in which some
 * buffers are kept to the group, some are seen by others, some sums go over what is cut into strips, and some kernels must not be joined.
 * All numbers are small whole numbers, so that no order of summation can excuse a difference. */
#include "../../compiler/opt/opt.h"
#include "../../compiler/base/text.h"
#include "check.h"
#include "draw.h"
#include "loops_kit.h"
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 150, MOST_ELEMENTS = 1 << 13 };
static int extent[128];              /* of the axes: batch b, rows s, heads h, columns t, depth d */

static void put(tsr_text *t, const char *text)
{
	while (*text)
		text = put_piece(t, text, extent);
}

static const char *const buffers =
	"buffer %q : f32[#b, #s, #h, #d] state observed\n"  "buffer %k : f32[#b, #t, #h, #d] state observed\n"
	"buffer %v : f32[#b, #t, #h, #d] state observed\n"  "buffer %g : f32[#b, #s, #h, #d] state observed\n"
	"buffer %dv : f32[#b, #t, #h, #d] value observed\n"
	"buffer %dk : f32[#b, #t, #h, #d] value observed\n" "buffer %low : f32[#b, #s, #h] value\n"
	"buffer %z : f32[#b, #s, #h, #t] value observed\n"  "buffer %all : f32[#h] value observed\n";

/* What may stand between the product x and the end, in this order: each is taken so often in eight. */
static const struct { uint32_t often; const char *text; } members[] = {
	{ 4, "kernel low { <b> <s> <h> let $9 : f32 = 100. <t+> set $9 = min.f32($9, %x[b, s, h, t]) } store %low[b, s, h] = $9 } } } }" },
	{ 5, "kernel dv { <b> <t> <h> <d> let $1 : f32 = 0. <s+> set $1 = add.f32($1, mul.f32(%x[b, s, h, t], %g[b, s, h, d])) } store %dv[b, t, h, d] = $1 } } } } }" },
	{ 7, "kernel e { <b> <s> <h> <t> store %e[b, s, h, t] = sub.f32(%x[b, s, h, t], 3.) } } } } }" },
	{ 1, "kernel q2 { <b> <s> <h> <d> update %q[b, s, h, d] += -1. } } } } }" },
	{ 4, "kernel more { <b> <s> <h> <t> update %e[b, s, h, t] += mul.f32(2., %x[b, s, h, t]) } } } } }" },
	{ 6, "kernel y { <b> <s> <h> <d> let $2 : f32 = 0. <t+> set $2 = add.f32($2, mul.f32(%e[b, s, h, t], %v[b, t, h, d])) } store %y[b, s, h, d] = $2 } } } } }" },
	{ 1, "kernel late { <b> <s> <h> <t> store %z[b, s, h, t] = %x[b, #s - 1 - s, h, t] } } } } }" },
	{ 5, "kernel dk { <b> <t> <h> <d> let $3 : f32 = 0. <s+> set $3 = add.f32($3, mul.f32(%e[b, s, h, t], %g[b, s, h, d])) } store %dk[b, t, h, d] = $3 } } } } }" },
	{ 2, "kernel dk2 { <b> <t> <h> <d> let $4 : f32 = %dk[b, t, h, d] <s+> set $4 = add.f32($4, mul.f32(%e[b, s, h, t], %q[b, s, h, d])) } store %dk[b, t, h, d] = $4 } } } } }" },
	{ 1, "kernel k2 { <b> <t> <h> <d> update %k[b, t, h, d] += %dk[b, t, h, d] } } } } }" },
	{ 2, "kernel z { <b> <s> <h> <t> store %z[b, s, h, t] = sub.f32(%e[b, s, h, t], %low[b, s, h]) } } } } }" },
	{ 1, "kernel all { <h> let $5 : f32 = 0. <b+> <s+> set $5 = add.f32($5, %low[b, s, h]) } } store %all[h] = $5 } }" },
	{ 1, "kernel g2 { <b> <s> <h> <d> store %g[b, s, h, d] = %y[b, s, h, d] } } } } }" },
};
enum { MEMBERS = sizeof members / sizeof *members };

static const char *program(tsr_arena *a)
{
	tsr_text t;
	tsr_text_init(&t, a);
	extent['b'] = 1 + (int)draw(2), extent['h'] = 1 + (int)draw(2), extent['d'] = 6 + (int)draw(6);
	extent['s'] = 16 + (int)draw(48), extent['t'] = 12 + (int)draw(17);
	bool dies = !draw(3);            /* the second operand is made here, and is not needed behind the group, whose result could lie where it does */
	if (dies)
		extent['t'] = extent['s'] = 16 + (int)draw(24);
	put(&t, buffers);
	put(&t, dies ? "buffer %kk : f32[#b, #t, #h, #d] value\nbuffer %y : f32[#b, #s, #h, #d] value\nbuffer %o : f32[#b, #s, #h] value observed\n" : "buffer %y : f32[#b, #s, #h, #d] value observed\n");
	put(&t, draw(9) ? "buffer %x : f32[#b, #s, #h, #t] value\n" : "buffer %x : f32[#b, #s, #h, #t] value observed\n");
	put(&t, draw(6) ? "buffer %e : f32[#b, #s, #h, #t] value\n" : "buffer %e : f32[#b, #s, #h, #t] value observed\n");
	put(&t, "unit u {\n");
	if (dies)
		put(&t, "kernel kk { <b> <t> <h> <d> let $6 : f32 = 0. for j in 0..2 reduce { set $6 = add.f32($6, %k[b, t, h, d]) } store %kk[b, t, h, d] = $6 } } } } }\n");
	put(&t, draw(2) ? "kernel x { <b> <s> <h> <t>" : "kernel x { <b> <h> <s> <t>");
	put(&t, " let $0 : f32 = 0. <d+> set $0 = add.f32($0, mul.f32(%q[b, s, h, d], ");
	put(&t, dies ? "%kk[b, t, h, d])) } store %x[b, s, h, t] = $0 } } } } }\n" : "%k[b, t, h, d])) } store %x[b, s, h, t] = $0 } } } } }\n");
	for (uint32_t i = 0; i < MEMBERS; i++)
		if (draw(8) < members[i].often) {
			put(&t, members[i].text);
			put(&t, "\n");
		}
	if (dies)
		put(&t, "kernel o { <b> <s> <h> let $7 : f32 = 0. <d+> set $7 = add.f32($7, %y[b, #s - 1 - s, h, d]) } store %o[b, s, h] = $7 } } } }\n");
	put(&t, "}\n");
	return tsr_text_str(&t);
}

/* Runs the unit twice; the memory of all buffers. Values are kept small by what the state holds. */
static float *run(const tsr_loops *l)
{
	uint32_t n = l->buffers.n;
	float *memory = calloc((size_t)n * MOST_ELEMENTS, sizeof *memory);
	void **at = calloc(n, sizeof *at);
	for (uint32_t b = 0; b < n; b++) {
		at[b] = memory + (size_t)b * MOST_ELEMENTS;
		for (uint32_t i = 0; i < MOST_ELEMENTS && l->buffers.at[b]->kind == TSR_BUFFER_STATE; i++)
			((float *)at[b])[i] = (float)((int)((b * 7 + i * 5 + i / 11) % 5) - 2);
	}
	tsr_machine m = { .buffers = at };
	tsr_loops_run(l, 0, &m);
	free(at);
	return memory;
}

static bool equal(const tsr_loops *l, const float *x, const float *y)
{
	for (uint32_t b = 0; b < l->buffers.n; b++)
		if (l->buffers.at[b]->observed && memcmp(x + (size_t)b * MOST_ELEMENTS, y + (size_t)b * MOST_ELEMENTS, MOST_ELEMENTS * sizeof *x))
			return false;
	return true;
}

int main(void)
{
	tsr_target target = *tsr_target_by_name("avx512");
	target.l2 = 1 << 12;                     /* so small that strips pay in small programs */
	static const char *const chosen[] = { "classify,schedule,strip", "classify,schedule,fuse,rows,strip,narrow", "classify,schedule,fuse,rows,reuse,strip,narrow",
		"classify,schedule,reuse,strip", NULL };
	uint32_t kept = 0, built = 0, sums = 0, taken = 0;
	for (int n = 0; n < PROGRAMS; n++) {
		tsr_compiler *tc = tsr_compiler_new();
		state = 77 + (uint64_t)n;
		const char *text = program(tc->arena);
		uint32_t file = tsr_source_add(tc, "random.loop", text, strlen(text));
		tsr_loops *l = tsr_loops_read(tc, file);
		tsr_diags_render(tc, stdout, false);
		if (!CHECK(l != NULL))
			return check_end("strips");
		float *want = run(l);
		for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
			l = tsr_loops_read(tc, file);
			tsr_opt_options options = { .level = 2, .fuse = true, .threads = n % 2 ? TSR_THREADS_ALL : TSR_THREADS_NONE, .passes = chosen[i] };
			CHECK(tsr_opt_run(l, &target, &options));
			float *got = run(l);
			if (!CHECK(equal(l, got, want))) {
				printf("program %d after %s:\n%s", n, chosen[i] ? chosen[i] : "the pipeline", text);
				tsr_loops_print(l, stdout);
				return check_end("strips");
			}
			free(got);
			uint32_t here = notes_with(l, "in strips of");
			kept += here, built += here > 0, sums += notes_with(l, "over the strips") > 0;
			taken += notes_with(l, "taken in turns") > 0;
		}
		free(want);
		tsr_compiler_free(tc);
	}
	printf("%u buffers are kept to strips in %u results of %d programs, in %u of which something is summed over them; threads take turns in %u\n", kept, built, PROGRAMS, sums, taken);
	CHECK(built > PROGRAMS / 2 && sums > PROGRAMS / 3 && built - sums > PROGRAMS / 10 && taken > 0);
	return check_end("strips");
}
