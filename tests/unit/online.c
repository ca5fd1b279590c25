/* Softmaxes in strips that go by blocks (opt/strip_online.c), of which a mask may hide the last ones (opt/masked_blocks.c), against the same loops as they were written, in the interpreter: random attention with its gradients, of which rows, positions and what stands
 * around the softmax differ.  In f64, so that a difference is a fault and not an order of summation.  Some have numbers that are none, or infinite, or whole rows of -inf; and memory is full of NaN before
 * anything is stored there. */
#include "../../compiler/opt/opt.h"
#include "../../compiler/base/text.h"
#include "check.h"
#include "draw.h"
#include "loops_kit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 200, KNOWN = 120, MOST_ELEMENTS = 1 << 15, MOST_SYMBOLS = 16 };
static int extent[128];              /* of the axes: heads h, rows s, positions t, depth d */
static const char *scaled;           /* of a score @ */
static bool masked;
static bool later[128];              /* of axes s and t: the run alone knows */
static const char axes[] = "st";     /* such sizes, in this order */

/* Pieces of loops_kit.h, of which the run knows some sizes alone, and ?x! a score as the softmax has it. */
static void put(tsr_text *t, const char *text)
{
	while (*text)
		if (*text == '?') {
			const char *end = strchr(text, '!');
			for (const char *c = scaled; *c; c++)
				if (*c == '@')
					tsr_text_addf(t, "%.*s", (int)(end - text - 1), text + 1);
				else
					tsr_text_char(t, *c);
			text = end + 1;
		} else if (*text == '#' && later[(int)text[1]]) {
			tsr_text_addf(t, "?%c", text[1]);
			text += 2;
		} else if (*text == '<' && later[(int)text[1]]) {
			tsr_text_addf(t, "for %c in 0..?%c %s {", text[1], text[1], text[2] == '+' ? "reduce" : "parallel");
			text += text[2] == '+' ? 4 : 3;
		} else
			text = put_piece(t, text, extent);
}

static const char *const buffers =
	"buffer %q : f64[#h, #s, #d] state observed\n" "buffer %k : f64[#h, #t, #d] state observed\n" "buffer %v : f64[#h, #t, #d] state observed\n" "buffer %g : f64[#h, #s, #d] state observed\n"
	"buffer %far : f64[#s, #t] state observed\n"
	"buffer %y : f64[#h, #s, #d] value observed\n" "buffer %dq : f64[#h, #s, #d] value observed\n" "buffer %dk : f64[#h, #t, #d] value observed\n" "buffer %dv : f64[#h, #t, #d] value observed\n"
	"buffer %x : f64[#h, #s, #t] value\n" "buffer %dp : f64[#h, #s, #t] value\n" "buffer %e : f64[#h, #s, #t] value\n"
	"buffer %del : f64[#h, #s] value\n" "buffer %ds : f64[#h, #s, #t] value\n" "buffer %p : f64[#h, #s, #t] value\n" "buffer %log : f64[#h, #s] value observed\n";

/* Reader of weights %w, each taken so often in eight, in this order. */
static const struct { uint32_t often; bool gradient; const char *text; } readers[] = {
	{ 7, false, "kernel y { <h> <s> <d> let $4 : f64 = 0.:f64 <t+> set $4 = add.f64($4, mul.f64(%w[h, s, t], %v[h, t, d])) } store %y[h, s, d] = $4 } } } }\n" },
	{ 4, false, "kernel dv { <h> <t> <d> let $5 : f64 = 0.:f64 <s+> set $5 = add.f64($5, mul.f64(%w[h, s, t], %g[h, s, d])) } store %dv[h, t, d] = $5 } } } }\n" },
	{ 7, true, "kernel dq { <h> <s> <d> let $7 : f64 = 0.:f64 <t+> set $7 = add.f64($7, mul.f64(%ds[h, s, t], %k[h, t, d])) } store %dq[h, s, d] = $7 } } } }\n" },
	{ 7, true, "kernel dk { <h> <t> <d> let $8 : f64 = 0.:f64 <s+> set $8 = add.f64($8, mul.f64(%ds[h, s, t], %q[h, s, d])) } store %dk[h, t, d] = $8 } } } }\n" },
	{ 3, false, "kernel log { <h> <s> store %log[h, s] = add.f64(log.f64(%tot[h, s]), %m[h, s]) } } }\n" },
	{ 1, false, "kernel sum { <h> <s> <d> let $9 : f64 = 0.:f64 <t+> set $9 = add.f64($9, mul.f64(%x[h, s, t], %v[h, t, d])) } store %dq[h, s, d] = $9 } } } }\n" },
};

static const char *program(tsr_arena *a, bool among_later)
{
	static const char *const scales[] = { "@", "mul.f64(@, 0.5:f64)", "mul.f64(8.:f64, @)", "div.f64(@, 3.:f64)", "sub.f64(@, 1.:f64)", "mul.f64(@, -1.:f64)" };
	tsr_text t;
	tsr_text_init(&t, a);
	masked = draw(5) < 3;
	extent['h'] = 1 + (int)!draw(3), extent['d'] = 16 + (int)draw(18), extent['s'] = 32 + (int)draw(48), extent['t'] = 70 + (int)draw(120);
	scaled = scales[draw(16) ? draw(5) : 5];
	if (masked)
		extent['h'] = 1, extent['s'] = 48 + (int)draw(28), extent['t'] = draw(5) ? 128 * (2 + (int)draw(2)) : 300, extent['d'] = 16;
	for (const char *c = axes; *c; c++)
		later[(int)*c] = among_later && draw(3);
	if (later['s'] && !draw(3))          /* fewer than a strip, or a block, has */
		extent['s'] = 1 + (int)draw(40);
	if (later['t'] && !draw(3))
		extent['t'] = 1 + (int)draw(70);
	bool gradient = draw(5) < 2, divided = gradient || !draw(4), added = draw(4) > 0;
	for (const char *c = axes; *c; c++)
		if (later[(int)*c])
			tsr_text_addf(&t, "symbol ?%c\n", *c);
	put(&t, buffers);
	put(&t, draw(3) ? "buffer %m : f64[#h, #s] value\n" : "buffer %m : f64[#h, #s] value observed\n");
	put(&t, draw(6) ? "buffer %tot : f64[#h, #s] value\n" : "buffer %tot : f64[#h, #s] value observed\n");
	put(&t, "unit u {\nkernel x { <h> <s> <t> let $0 : f64 = 0.:f64 <d+> set $0 = add.f64($0, mul.f64(%q[h, s, d], %k[h, t, d])) } store %x[h, s, t] = $0 } } } }\n");
	if (gradient)
		put(&t, "kernel dp { <h> <s> <t> let $1 : f64 = 0.:f64 <d+> set $1 = add.f64($1, mul.f64(%g[h, s, d], %v[h, t, d])) } store %dp[h, s, t] = $1 } } } }\n");
	/* the row, as virtual, scaled and fuse leave it */
	static const char *const hidden[] = { "-1000000000.", "-1e30", "-inf", "-30." };
	char mask[100], score[300];
	int behind = (int)draw(70) - (draw(8) ? 0 : 20);
	snprintf(mask, sizeof mask, "ge.i32(index.i32(%d*s %c %d), index.i32(t))", 1 + (int)draw(4), behind < 0 ? '-' : '+', abs(behind));
	snprintf(score, sizeof score, "where.f64(%s, mul.f64(%%x[h, s, t], 0.5:f64), %s:f64)", mask, hidden[draw(8) % 4 == 3 ? 3 : draw(3)]);
	if (masked) {
		put(&t, "kernel m { <h> <s> let $2 : f64 = -inf:f64 <t+> set $2 = max.f64($2, ");
		tsr_text_addf(&t, "%s) } store %%m[h, s] = ", score);
		put(&t, "?$2!");
		put(&t, " <t> store %e[h, s, t] = exp.f64(sub.f64(");
		char scored[310];
		snprintf(scored, sizeof scored, "?%s!", score);
		put(&t, scored);
		put(&t, ", %m[h, s])) }");
	}
	put(&t, masked ? "" : added ? "kernel m { <h> <s> let $2 : f64 = -inf:f64 <t+> set $2 = max.f64($2, add.f64(%x[h, s, t], %far[s, t])) } store %m[h, s] = ?$2!"
		: "kernel m { <h> <s> let $2 : f64 = -inf:f64 <t+> set $2 = max.f64($2, %x[h, s, t]) } store %m[h, s] = ?$2!");
	put(&t, masked ? "" : added ? " <t> store %e[h, s, t] = exp.f64(sub.f64(?add.f64(%x[h, s, t], %far[s, t])!, %m[h, s])) }" : " <t> store %e[h, s, t] = exp.f64(sub.f64(?%x[h, s, t]!, %m[h, s])) }");
	put(&t,
		" let $3 : f64 = 0.:f64 <t+> set $3 = add.f64($3, %e[h, s, t]) } store %tot[h, s] = $3 ");
	if (divided)
		put(&t, "<t> store %p[h, s, t] = div.f64(%e[h, s, t], %tot[h, s]) } ");
	if (gradient)
		put(&t, draw(8) ? "let $6 : f64 = 0.:f64 <t+> set $6 = add.f64($6, mul.f64(%dp[h, s, t], %p[h, s, t])) } store %del[h, s] = $6 "
			: "let $6 : f64 = 0.:f64 <t+> set $6 = add.f64($6, mul.f64(%x[h, s, t], mul.f64(%p[h, s, t], %dp[h, s, t]))) } store %del[h, s] = $6 ");
	if (gradient && masked && draw(2)) {
		put(&t, "<t> ");
		tsr_text_addf(&t, "store %%ds[h, s, t] = mul.f64(where.f64(%s, mul.f64(%%p[h, s, t], sub.f64(%%dp[h, s, t], %%del[h, s])), 0.:f64), 0.5:f64) } ", mask);
	} else if (gradient)
		put(&t, "<t> store %ds[h, s, t] = mul.f64(mul.f64(%p[h, s, t], sub.f64(%dp[h, s, t], %del[h, s])), 0.5:f64) } ");
	put(&t, "} } }\n");
	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
		char text[600] = "";
		if (draw(8) >= readers[i].often || (readers[i].gradient && !gradient))
			continue;
		for (const char *c = readers[i].text; *c; c++)
			if (c[0] == '%' && c[1] == 'w')
				strcat(text, divided ? "%p" : "%e"), c++;
			else
				strncat(text, c, 1);
		put(&t, text);
	}
	if (!divided && draw(2))
		put(&t, "kernel y2 { <h> <s> <d> store %y[h, s, d] = div.f64(%y[h, s, d], %tot[h, s]) } } } }\n");
	put(&t, "}\n");
	return tsr_text_str(&t);
}

/* `wild`: 1 a number that is none, 2 an infinite one, 3 rows of which all or some places of a block are -inf (as far as the program adds `far`), 4 rows that are the least number, 5 scores that rise along the row, 6 a number that is huge. */
static double *run(const tsr_loops *l, uint32_t wild, uint32_t where)
{
	uint32_t n = l->buffers.n;
	double *memory = malloc((size_t)n * MOST_ELEMENTS * sizeof *memory);
	void **at = calloc(n, sizeof *at);
	int64_t symbols[MOST_SYMBOLS], nsymbols = 0;
	for (const char *c = axes; *c; c++)
		if (later[(int)*c])
			symbols[nsymbols++] = extent[(int)*c];
	CHECK(l->symbols.n <= MOST_SYMBOLS);
	tsr_loops_divide(l, symbols);
	memset(memory, 0xFF, (size_t)n * MOST_ELEMENTS * sizeof *memory);
	for (uint32_t b = 0; b < n; b++) {
		const tsr_buffer *x = l->buffers.at[b];
		double *to = at[b] = memory + (size_t)b * MOST_ELEMENTS;
		int64_t elements = 1, row = x->rank ? tsr_size_eval(x->dims[x->rank - 1], symbols) : 1;
		for (uint32_t i = 0; i < x->rank; i++)
			elements *= tsr_size_eval(x->dims[i], symbols);
		CHECK(elements <= MOST_ELEMENTS);
		for (int64_t i = 0; i < elements && x->kind == TSR_BUFFER_STATE; i++) {
			to[i] = (double)((int)((b * 7 + (uint32_t)i * 5 + (uint32_t)i / 11) % 9) - 4) / 4;
			if (strcmp(x->name, "far"))
				continue;
			int64_t s = i / row, t = i % row;
			bool whole = s % 7 == where % 7, some = (where / 7 + (uint32_t)s) % 3 ? t < (int64_t)(where / 21 % 90) : t > (int64_t)(where / 21 % 90);
			to[i] = wild == 3 ? (whole || some ? -INFINITY : 0) : wild == 4 && whole ? -1.7976931348623157e308 : wild == 5 ? (double)t * 20 : to[i];
		}
		if (x->kind == TSR_BUFFER_STATE && b == where % 4 && (wild == 1 || wild == 2 || wild == 6))
			to[where / 4 % elements] = wild == 1 ? NAN : wild == 2 ? INFINITY : 1e160;
	}
	tsr_machine m = { .buffers = at, .symbols = symbols };
	tsr_loops_run(l, 0, &m);
	free(at);
	return memory;
}

/* Among sums of huge numbers differences have no digits left. */
static bool near(double x, double y, bool huge) { return x == y || (x != x && y != y) || (isfinite(x) && isfinite(y) && fabs(x - y) <= 1e-11 * (huge ? 1e160 : 1 + fabs(y))); }

static bool equal(const tsr_loops *l, const double *x, const double *y, bool huge)
{
	for (uint32_t b = 0; b < l->buffers.n; b++)
		for (uint32_t i = 0; l->buffers.at[b]->observed && i < MOST_ELEMENTS; i++)
			if (!near(x[(size_t)b * MOST_ELEMENTS + i], y[(size_t)b * MOST_ELEMENTS + i], huge)) {
				printf("%s, element %u: %g for %g\n", l->buffers.at[b]->name, i, x[(size_t)b * MOST_ELEMENTS + i], y[(size_t)b * MOST_ELEMENTS + i]);
				return false;
			}
	return true;
}

int main(void)
{
	static const char *const targets[] = { "avx512", "avx2", "zen4" };
	uint32_t once = 0, twice = 0, rows = 0, wild_in = 0, hides = 0, unknown = 0, unknown_twice = 0, unknown_hides = 0;
	for (int n = 0; n < PROGRAMS; n++) {
		tsr_target target = *tsr_target_by_name(targets[n % 3]);
		target.l2 = 1 << 13;                     /* so small that strips pay in small programs, and only blocks of their rows fit */
		
		tsr_compiler *tc = tsr_compiler_new();
		state = 1999 + (uint64_t)n;
		const char *text = program(tc->arena, n >= KNOWN);
		target.l3 = masked ? 1 << 17 : 1 << 12;
		uint32_t file = tsr_source_add(tc, "random.loop", text, strlen(text)), wild = !draw(3) ? 0 : masked && draw(2) ? draw(3) ? 1 : 6 : draw(2) && !masked ? 3 : 1 + draw(6), where = draw(1 << 16);
		tsr_loops *plain = loops_after(tc, file, &target, ""), *strips = loops_after(tc, file, &target, "classify,schedule,fuse,rows,reuse,strip,walks,held,overlap,masked");
		tsr_diags_render(tc, stdout, false);
		if (!CHECK(plain && strips)) {
			printf("%s", text);
			return check_end("online");
		}
		double *want = run(plain, wild, where), *got = run(strips, wild, where);
		if (!CHECK(equal(plain, got, want, wild == 6))) {
			printf("program %d, wild %u:\n%s", n, wild, text);
			tsr_loops_print(strips, stdout);
			return check_end("online");
		}
		free(want);
		free(got);
		uint32_t blocks = notes_with(strips, "go by blocks of"), both = notes_with(strips, ", twice");
		unknown += blocks && (later['s'] || later['t']), unknown_twice += both && (later['s'] || later['t']);
		unknown_hides += (later['s'] || later['t']) && notes_with(strips, "leaves out blocks");
		once += blocks > both, twice += both > 0, rows += notes_with(strips, "is kept as") > 0 && !blocks, wild_in += blocks && wild, hides += notes_with(strips, "leaves out blocks") > 0;
		tsr_compiler_free(tc);
	}
	printf("%u of %d softmaxes go by blocks once, %u twice, %u by whole rows; %u that go by blocks have wild numbers; of %u blocks are left out; of %u the run knows rows or positions\n", once, PROGRAMS, twice, rows, wild_in, hides, unknown);
	CHECK(hides > PROGRAMS / 15 && once > PROGRAMS / 15 && twice > PROGRAMS / 8 && wild_in > PROGRAMS / 10 && unknown > (PROGRAMS - KNOWN) / 4 && unknown_twice > (PROGRAMS - KNOWN) / 16 && unknown_hides > (PROGRAMS - KNOWN) / 8);
	return check_end("online");
}
