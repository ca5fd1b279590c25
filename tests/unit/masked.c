/* Strips of which a mask hides a part (opt/masked.c) against the same loops with all of it, in the interpreter: random attention with its gradients, of which masks, what stands for hidden values
 * and what is asked for differ.  Some have hidden values that count, or operands that are not finite, so that nothing may be left out; and memory is full of NaN before anything is stored there. */
#include "../../compiler/opt/opt.h"
#include "../../compiler/base/text.h"
#include "check.h"
#include "draw.h"
#include "loops_kit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 90, MOST_ELEMENTS = 1 << 15 };
static int extent[128];              /* of the axes: heads h, rows s, columns t, depth d */
static char mask[300];               /* of s and t */
static const char *hidden;           /* what stands for what it hides */

/* Pieces of loops_kit.h, and ?(x ~ y) the choice between x and what the mask hides x by. */
static void put(tsr_text *t, const char *text, bool first)
{
	while (*text)
		if (*text == '?') {
			const char *middle = strchr(text, '~'), *end = strchr(text, '!');
			char x[200] = "", y[200] = "";
			memcpy(x, text + 1, (size_t)(middle - text - 1));
			memcpy(y, middle + 1, (size_t)(end - middle - 1));
			tsr_text_addf(t, "where.f32(%s, %s, %s)", mask, first ? x : *y ? y : hidden, first ? *y ? y : hidden : x);
			text = end + 1;
		} else
			text = put_piece(t, text, extent);
}

static const char *const buffers =
	"buffer %q : f32[#h, #s, #d] state observed\n" "buffer %k : f32[#h, #t, #d] state observed\n" "buffer %v : f32[#h, #t, #d] state observed\n" "buffer %g : f32[#h, #s, #d] state observed\n"
	"buffer %y : f32[#h, #s, #d] value observed\n" "buffer %dq : f32[#h, #s, #d] value observed\n" "buffer %dk : f32[#h, #t, #d] value observed\n" "buffer %dv : f32[#h, #t, #d] value observed\n"
	"buffer %x : f32[#h, #s, #t] value\n" "buffer %dp : f32[#h, #s, #t] value\n" "buffer %m : f32[#h, #s] value\n" "buffer %e : f32[#h, #s, #t] value\n" "buffer %tot : f32[#h, #s] value\n"
	"buffer %del : f32[#h, #s] value\n" "buffer %ds : f32[#h, #s, #t] value\n" "buffer %see : bool[#s, #t] value\n" "buffer %pad : bool[#t] state observed\n";

static const char *const scores = "kernel x { <h> <s> <t> let $0 : f32 = 0. <d+> set $0 = add.f32($0, mul.f32(%q[h, s, d], %k[h, t, d])) } store %x[h, s, t] = $0 } } } }\n";
static const char *const hidden_scores =
	"kernel x { <h> <s> <t> let $0 : f32 = 0. <d+> set $0 = add.f32($0, mul.f32(%q[h, s, d], %k[h, t, d])) } store %x[h, s, t] = ?mul.f32($0, 0.5)~! } } } }\n";
static const char *const products = "kernel dp { <h> <s> <t> let $1 : f32 = 0. <d+> set $1 = add.f32($1, mul.f32(%g[h, s, d], %v[h, t, d])) } store %dp[h, s, t] = $1 } } } }\n";
static const char *const softmax =
	"kernel m { <h> <s> let $2 : f32 = -inf <t+> set $2 = max.f32($2, ?mul.f32(%x[h, s, t], 0.5)~!) } store %m[h, s] = $2 } } }\n"
	"kernel e { <h> <s> <t> store %e[h, s, t] = exp.f32(sub.f32(?mul.f32(%x[h, s, t], 0.5)~!, %m[h, s])) } } } }\n"
	"kernel tot { <h> <s> let $3 : f32 = 0. <t+> set $3 = add.f32($3, %e[h, s, t]) } store %tot[h, s] = $3 } } }\n";
static const char *const plain_softmax =
	"kernel m { <h> <s> let $2 : f32 = -inf <t+> set $2 = max.f32($2, %x[h, s, t]) } store %m[h, s] = $2 } } }\n"
	"kernel e { <h> <s> <t> store %e[h, s, t] = exp.f32(sub.f32(%x[h, s, t], %m[h, s])) } } } }\n"
	"kernel tot { <h> <s> let $3 : f32 = 0. <t+> set $3 = add.f32($3, %e[h, s, t]) } store %tot[h, s] = $3 } } }\n";
static const char *const no_softmax = "kernel e { <h> <s> <t> store %e[h, s, t] = ?%x[h, s, t]~0.! } } } }\n";
static const char *const quotients = "buffer %p : f32[#h, #s, #t] value\n";
static const char *const divide = "kernel p { <h> <s> <t> store %p[h, s, t] = div.f32(%e[h, s, t], %tot[h, s]) } } } }\n";
/* Readers of the weights %w, each of which is taken so often in eight; ds comes before what reads it. */
static const struct { uint32_t often; bool gradient; const char *text; } readers[] = {
	{ 6, false, "kernel y { <h> <s> <d> let $4 : f32 = 0. <t+> set $4 = add.f32($4, mul.f32(%w[h, s, t], %v[h, t, d])) } store %y[h, s, d] = $4 } } } }\n" },
	{ 6, false, "kernel dv { <h> <t> <d> let $5 : f32 = 0. <s+> set $5 = add.f32($5, mul.f32(%w[h, s, t], %g[h, s, d])) } store %dv[h, t, d] = $5 } } } }\n" },
	{ 8, true, "kernel del { <h> <s> let $6 : f32 = 0. <t+> set $6 = add.f32($6, mul.f32(%dp[h, s, t], %w[h, s, t])) } store %del[h, s] = $6 } } }\n" },
	{ 8, true, "kernel ds { <h> <s> <t> store %ds[h, s, t] = mul.f32(?mul.f32(%w[h, s, t], sub.f32(%dp[h, s, t], %del[h, s]))~0.!, 0.5) } } } }\n" },
	{ 7, true, "kernel dq { <h> <s> <d> let $7 : f32 = 0. <t+> set $7 = add.f32($7, mul.f32(%ds[h, s, t], %k[h, t, d])) } store %dq[h, s, d] = $7 } } } }\n" },
	{ 7, true, "kernel dk { <h> <t> <d> let $8 : f32 = 0. <s+> set $8 = add.f32($8, mul.f32(%ds[h, s, t], %q[h, s, d])) } store %dk[h, t, d] = $8 } } } }\n" },
	{ 1, false, "kernel shift { <h> <s> <d> store %y[h, s, d] = %w[h, s, d] } } } }\n" },
	{ 1, false, "kernel sum { <h> <s> <d> let $9 : f32 = 0. <t+> set $9 = add.f32($9, mul.f32(%x[h, s, t], %v[h, t, d])) } store %dq[h, s, d] = $9 } } } }\n" },
};

/* Whether it is true of what is to be seen. */
static bool draw_mask(void)
{
	static const struct { const char *left, *op, *right; bool seen; } forms[] = { { "s + ", "ge", "t", true }, { "s + ", "gt", "t", true }, { "t + ", "lt", "s", true }, { "s + ", "lt", "t", false },
		{ "t + ", "ge", "s", false }, { "t + ", "gt", "s", false }, { "s + ", "ge", "2*t", true } };
	uint32_t f = draw(8) < 7 ? draw(6) : 6;
	char one[80], two[200];
	bool seen = forms[f].seen, more = !draw(3), window = !draw(3), alone = window && !draw(3);      /* hidden, too, where data say so, and before so many positions, or only there */
	int width = 5 + (int)draw(30);
	snprintf(one, sizeof one, "%s.i32(index.i32(%s%d), index.i32(%s))", forms[f].op, forms[f].left, (int)draw(4), forms[f].right);
	if (alone)
		snprintf(two, sizeof two, seen ? "ge.i32(index.i32(t + %d), index.i32(s))" : "lt.i32(index.i32(t + %d), index.i32(s))", width);
	else if (window)
		snprintf(two, sizeof two, seen ? "and.bool(%s, gt.i32(index.i32(t + %d), index.i32(s)))" : "or.bool(%s, le.i32(index.i32(t + %d), index.i32(s)))", one, width);
	else
		snprintf(two, sizeof two, "%s", one);
	snprintf(mask, sizeof mask, more ? seen ? "and.bool(%s, %%pad[t])" : "or.bool(%%pad[t], %s)" : "%s", two);
	return seen;
}

static const char *program(tsr_arena *a)
{
	static const char *const values[] = { "-1000000000.", "-inf", "-1e30", "-50.", "0." };
	tsr_text t;
	tsr_text_init(&t, a);
	extent['h'] = 1 + (int)!draw(4), extent['d'] = 9 + (int)draw(10), extent['s'] = 64 + (int)draw(48), extent['t'] = 64 + (int)draw(48);
	extent['s'] -= draw(3) ? extent['s'] % 16 : 0;
	extent['t'] -= draw(2) ? extent['t'] % 16 : 0;
	bool first = draw_mask();
	hidden = values[draw(8) < 6 ? draw(3) : 3 + draw(2)];
	bool divided = draw(2), gradient = draw(3) > 0, at_once = !draw(3);      /* hidden as soon as they are computed */
	put(&t, buffers, first);
	if (divided)
		put(&t, quotients, first);
	put(&t, "unit u {\n", first);
	if (draw(2)) {                           /* the mask in memory */
		char kernel[500];
		snprintf(kernel, sizeof kernel, "kernel see { <s> <t> store %%see[s, t] = %s } } }\n", mask);
		put(&t, kernel, first);
		snprintf(mask, sizeof mask, "%%see[s, t]");
	}
	put(&t, at_once ? hidden_scores : scores, first);
	if (gradient)
		put(&t, products, first);
	bool linear = !draw(5);
	put(&t, linear ? no_softmax : at_once ? plain_softmax : softmax, first);
	divided &= !linear;
	if (divided)
		put(&t, divide, first);
	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
		char text[600] = "";
		if (draw(8) >= readers[i].often || (readers[i].gradient && !gradient))
			continue;
		for (const char *c = readers[i].text; *c; c++)
			if (c[0] == '%' && c[1] == 'w')
				strcat(text, divided ? "%p" : "%e"), c++;
			else
				strncat(text, c, 1);
		put(&t, text, first);
	}
	put(&t, "}\n", first);
	return tsr_text_str(&t);
}

/* `wild`: 1 a number that is none, 2 one that is huge, 3 scores below what stands for hidden ones; in a place that the program gives. */
static float *run(const tsr_loops *l, uint32_t wild, uint32_t where)
{
	uint32_t n = l->buffers.n;
	float *memory = malloc((size_t)n * MOST_ELEMENTS * sizeof *memory);
	void **at = calloc(n, sizeof *at);
	memset(memory, 0xFF, (size_t)n * MOST_ELEMENTS * sizeof *memory);
	for (uint32_t b = 0; b < n; b++) {
		at[b] = memory + (size_t)b * MOST_ELEMENTS;
		int64_t elements = 1;
		for (uint32_t i = 0; i < l->buffers.at[b]->rank; i++)
			elements *= l->buffers.at[b]->dims[i].k;
		bool logic = l->buffers.at[b]->prec == TSR_PREC_BOOL;
		for (int64_t i = 0; i < elements && logic; i++)
			((bool *)at[b])[i] = i * 7 % 5 != 0;
		for (int64_t i = 0; i < elements && l->buffers.at[b]->kind == TSR_BUFFER_STATE && !logic; i++)
			((float *)at[b])[i] = (float)((int)((b * 7 + (uint32_t)i * 5 + (uint32_t)i / 11) % 9) - 4) / 4;
		if (l->buffers.at[b]->kind == TSR_BUFFER_STATE && b == where % 4 && wild)
			((float *)at[b])[where / 4 % elements] = wild == 1 ? NAN : wild == 2 ? 1e20f : -1e12f;
	}
	tsr_machine m = { .buffers = at };
	tsr_loops_run(l, 0, &m);
	free(at);
	return memory;
}

static bool same(float x, float y) { return x == y || (x != x && y != y); }

static bool equal(const tsr_loops *l, const float *x, const float *y)
{
	for (uint32_t b = 0; b < l->buffers.n; b++)
		for (uint32_t i = 0; l->buffers.at[b]->observed && i < MOST_ELEMENTS; i++)
			if (!same(x[(size_t)b * MOST_ELEMENTS + i], y[(size_t)b * MOST_ELEMENTS + i])) {
				printf("%s, element %u: %g for %g\n", l->buffers.at[b]->name, i, (double)x[(size_t)b * MOST_ELEMENTS + i], (double)y[(size_t)b * MOST_ELEMENTS + i]);
				return false;
			}
	return true;
}

int main(void)
{
	static const char *const targets[] = { "avx512", "avx2", "zen4" };
	uint32_t hidden_in = 0, wild_in = 0, windows = 0;
	for (int n = 0; n < PROGRAMS; n++) {
		tsr_target target = *tsr_target_by_name(targets[n % 3]);
		target.l2 = 1 << 12;                     /* so small that strips pay in small programs */
		tsr_compiler *tc = tsr_compiler_new();
		state = 99 + (uint64_t)n;
		const char *text = program(tc->arena);
		uint32_t file = tsr_source_add(tc, "random.loop", text, strlen(text)), wild = draw(2) ? 1 + draw(3) : 0, where = draw(1 << 16);
		tsr_loops *all = loops_after(tc, file, &target, "classify,schedule,fuse,rows,reuse,strip,walks,held,overlap"), *some = loops_after(tc, file, &target, "classify,schedule,fuse,rows,reuse,strip,walks,held,overlap,masked");
		tsr_diags_render(tc, stdout, false);
		if (!CHECK(all && some)) {
			printf("%s", text);
			return check_end("masked");
		}
		float *want = run(all, wild, where), *got = run(some, wild, where);
		if (!CHECK(equal(all, got, want))) {
			printf("program %d:\n%s", n, text);
			tsr_loops_print(some, stdout);
			return check_end("masked");
		}
		free(want);
		free(got);
		bool here = notes_with(some, "which a mask hides") > 0;
		windows += notes_with(some, "leaves out positions before") > 0;
		hidden_in += here, wild_in += here && wild;
		tsr_compiler_free(tc);
	}
	printf("something is left out of %u of %d programs, %u of them with numbers that forbid it in places, of %u before what is seen\n", hidden_in, PROGRAMS, wild_in, windows);
	CHECK(windows > PROGRAMS / 12 && hidden_in > PROGRAMS / 3 && wild_in > PROGRAMS / 8);
	return check_end("masked");
}
