/* opt/channels.c and opt/deep.c against the reference interpreter: random gradients of windows' weights, of images whose channels come first or last, leave what they left before the passes, and
 * images are turned exactly where their channels are many, lie apart, and windows read them along what is summed.  Numbers are multiples of a power of two, so that sums are exact in any order. */
#include "check.h"
#include "draw.h"
#include "loops_kit.h"

enum { PROGRAMS = 200, LARGE = 2 };      /* the last ones are large enough for sums in parts, and for a result that is turned without */

static const char *program(tsr_arena *a, int large, bool *turns, bool *may)
{
	int images = large == 2 ? 4 : large ? 1 : 1 + (int)draw(3), channels = large ? 32 : 1 + (int)draw(20), filters = large ? 16 : 2 + (int)draw(12), stride = 1 + (int)draw(2), windows = large ? 2 : 1 + (int)draw(2);
	int k = large ? 3 : 1 + (int)draw(3), h = large == 2 ? 24 : large ? 44 : 2 + (int)draw(8), wide = stride * (h - 1) + k;
	bool first = large || draw(3), padded = draw(2), f_first = draw(2), order = draw(2), last = draw(8) == 0;          /* order: channels before places in the result; last: the nest adds to what it reads */
	int places = windows == 2 ? k * k : k, size = padded ? stride * h : wide;
	*may = first && windows == 1;        /* of so few products some are left to plain loops */
	*turns = first && channels >= 8 && places >= 3 && k < h && k > 1 && !last && filters >= 4;
	const char *at_h = tsr_format(a, "%d*h.4 + i.2%s", stride, padded ? " - 1" : ""), *at_w = tsr_format(a, "%d*w.5 + j.3%s", stride, padded ? " - 1" : "");
	int other = windows == 2 ? size : 1, of_y = windows == 2 ? h : 1, kh = windows == 2 ? k : 1;
	tsr_text t;
	tsr_text_init(&t, a);
	tsr_text_addf(&t, "buffer %%x : f32[%d, %s] param\n", images, first ? tsr_format(a, "%d, %d, %d", channels, other, size) : tsr_format(a, "%d, %d, %d", other, size, channels));
	tsr_text_addf(&t, "buffer %%y : f32[%d, %s] param\n", images, f_first ? tsr_format(a, "%d, %d, %d", filters, of_y, h) : tsr_format(a, "%d, %d, %d", of_y, h, filters));
	tsr_text_addf(&t, "buffer %%c : f32[%d, %s] value observed\n", filters, order ? tsr_format(a, "%d, %d, %d", channels, kh, k) : tsr_format(a, "%d, %d, %d", kh, k, channels));
	tsr_text_addf(&t, "unit u { kernel c {\nfor f.0 in 0..%d parallel {\nfor c.1 in 0..%d parallel {\nfor i.2 in 0..%d parallel {\nfor j.3 in 0..%d parallel {\nlet $0 : f32 = 0.\n", filters, channels, kh, k);
	tsr_text_addf(&t, "for b.6 in 0..%d reduce {\nfor h.4 in 0..%d reduce {\nfor w.5 in 0..%d reduce {\n", images, of_y, h);
	if (windows == 1)
		at_h = "0";
	if (padded)
		tsr_text_addf(&t, "if %s%s in 0..%d {\n", windows == 2 ? tsr_format(a, "%s in 0..%d, ", at_h, size) : "", at_w, size);
	const char *x = first ? tsr_format(a, "%%x[b.6, c.1, %s, %s]", at_h, at_w) : tsr_format(a, "%%x[b.6, %s, %s, c.1]", at_h, at_w);
	const char *y = last ? "%c[f.0, 0, 0, 0]" : f_first ? "%y[b.6, f.0, h.4, w.5]" : "%y[b.6, h.4, w.5, f.0]";
	tsr_text_addf(&t, "set $0 = add.f32($0, mul.f32(%s, %s))\n%s}\n}\n}\n", x, y, padded ? "}\n" : "");
	tsr_text_addf(&t, "store %%c[f.0, %s] = $0\n}\n}\n}\n}\n}\n}\n", order ? "c.1, i.2, j.3" : "i.2, j.3, c.1");
	return tsr_text_str(&t);
}

int main(void)
{
	state = 5;
	static const char *const passes[] = { "channels", "channels,deep", "channels,deep,tail,groups,classify,schedule,fuse,rows,turn,threads,finite" };
	tsr_target target = *tsr_target_by_name("avx512");
	uint32_t turned = 0, summed = 0;
	for (int i = 0; i < PROGRAMS; i++) {
		tsr_compiler *tc = tsr_compiler_new();
		bool turns, may;
		int large = i < PROGRAMS - LARGE ? 0 : 1 + (i - (PROGRAMS - LARGE));
		const char *text = program(tc->arena, large, &turns, &may);
		uint32_t file = tsr_source_add(tc, "channels.loop", text, strlen(text));
		tsr_loops *before = tsr_loops_read(tc, file), *after = tsr_loops_read(tc, file);
		tsr_diags_render(tc, stdout, false);
		tsr_opt_options options = { .level = 2, .fuse = true, .threads = TSR_THREADS_ALL, .passes = passes[large ? 2 : i % 3] };
		if (!CHECK(before && after && tsr_opt_run(after, &target, &options))) {
			printf("%s\n", text);
			return check_end("channels");
		}
		bool noted = false;
		for (uint32_t n = 0; n < after->notes.n; n++) {
			noted |= strstr(after->notes.at[n], "side by side") != NULL;
			summed += strstr(after->notes.at[n], "when it is summed") != NULL;
		}
		turned += noted;
		size_t count = 0;
		float *x = interpreted(before, 2, &count), *y = interpreted(after, 2, &count);
		if (!CHECK((noted == turns || (may && !noted)) && !memcmp(x, y, count * sizeof *x)))
			printf("%s\n", text);
		free(x), free(y);
		tsr_compiler_free(tc);
	}
	CHECK(turned > PROGRAMS / 10);
	CHECK(summed > 0);
	return check_end("channels");
}
