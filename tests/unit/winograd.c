/* opt/winograd.c against the same loops as they stand, in the interpreter: random windows of three by three places, of five by five, and of as many along one axis, over images, what follows them, and the gradients of both. By tiles
 * of two places and of four. Numbers are whole and few, in f64, so that all sums are exact by tiles of two, those of quarters of a window's elements, too, and to ten digits where points are fractions. Memory is full of NaN before anything is stored there, and what the pass must leave alone is left alone. */
#include "../../compiler/opt/opt.h"
#include "../../compiler/base/text.h"
#include "check.h"
#include "draw.h"
#include "loops_kit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 300, LARGE = 4 };      /* the last ones are large enough for blocks whose products are deep */

/* Something about a program for which tiles are not right. */
typedef enum { NOTHING, STEP, GAP, CHANNEL_GUARD, KINDS } obstacle;

static int64_t images, height, width, groups, channels, filters, taps, tall, padding, out_height, out_width;     /* tall: places of the window down the image: as many, or one */
static bool back;                    /* the window runs backwards */

static void sizes(bool large)
{
	images = large ? 2 + 2 * (int)draw(2) : 1 + (int)draw(3), taps = draw(4) ? 3 : 5, tall = draw(4) ? taps : 1, height = large ? 24 + (int)draw(4) : taps + (int)draw(7), width = large ? 25 + (int)draw(3) : taps + (int)draw(7);
	groups = !large && draw(4) == 0 ? 2 : 1;
	channels = large ? 16 : 1 + (int)draw(5), filters = large ? 16 : 1 + (int)draw(20), padding = (int)draw(3), back = draw(2);
	out_height = tall > 1 ? height + 2 * padding - taps + 1 : height, out_width = width + 2 * padding - taps + 1;
}

/* An index of the image: a place of the result, or of what is summed, and one of the window, which may run backwards. */
static const char *place(tsr_arena *a, const char *tiled, const char *window, obstacle o)
{
	int64_t at = back ? taps - 1 - padding : -padding;
	const char *step = o == STEP ? "2*" : "", *gap = o == GAP ? "2*" : "", *offset = at ? tsr_format(a, " %c %d", at < 0 ? '-' : '+', abs((int)at)) : "";
	return back ? tsr_format(a, "-%s%s + %s%s%s", gap, window, step, tiled, offset) : tsr_format(a, "%s%s + %s%s%s", step, tiled, gap, window, offset);
}

static const char *guard(tsr_arena *a, const char *y, const char *x)
{
	return tall > 1 ? tsr_format(a, "if %s in 0..%d, %s in 0..%d {\n", y, (int)height, x, (int)width) : tsr_format(a, "if %s in 0..%d {\n", x, (int)width);
}

/* Windows over an image, forward or backward, whose results are followed by a few operations. */
static void windows(tsr_text *t, tsr_arena *a, obstacle o)
{
	bool turned = draw(2), tail = draw(2), swapped = draw(2), adds = draw(4) == 0;
	const char *y = tall > 1 ? place(a, "h.2", "i.5", o) : "h.2", *x = place(a, "w.3", "j.6", o);
	bool guarded = padding > 0 || o == STEP || o == GAP || draw(2);
	tsr_text_addf(t, "buffer %%x : f64[%d, %d, %d, %d, %d] state observed\n", (int)images, (int)height, (int)width, (int)groups, (int)channels);
	tsr_text_addf(t, "buffer %%k : f64[%d, %d, %d, %d, %d] state observed\n", (int)tall, (int)taps, (int)groups, (int)channels, (int)filters);
	tsr_text_addf(t, "buffer %%r : f64[%d, %d, %d, %d, %d] state observed\n", (int)images, (int)out_height, (int)out_width, (int)groups, (int)filters);
	tsr_text_addf(t, "buffer %%c : f64[%d, %d, %d, %d, %d] state observed\n", (int)images, (int)out_height, (int)out_width, (int)groups, (int)filters);
	tsr_text_add(t, "unit u { kernel c {\n");
	tsr_text_addf(t, "for b.0 in 0..%d parallel {\nfor %s in 0..%d parallel {\nfor %s in 0..%d parallel {\nfor g.1 in 0..%d parallel {\nfor f.4 in 0..%d parallel {\nlet $0 : f64 = 0. : f64\n", (int)images,
		turned ? "w.3" : "h.2", (int)(turned ? out_width : out_height), turned ? "h.2" : "w.3", (int)(turned ? out_height : out_width), (int)groups, (int)filters);
	tsr_text_addf(t, "for i.5 in 0..%d reduce {\nfor j.6 in 0..%d reduce {\nfor d.7 in 0..%d reduce {\n%s", (int)tall, (int)taps, (int)channels, guarded ? guard(a, y, x) : "");
	if (o == CHANNEL_GUARD)
		tsr_text_addf(t, "if d.7 in 0..%d {\n", (int)channels - 1);
	const char *image = tsr_format(a, "%%x[b.0, %s, %s, g.1, d.7]", y, x), *kernel = "%k[i.5, j.6, g.1, d.7, f.4]";
	tsr_text_addf(t, "set $0 = add.f64($0, mul.f64(%s, %s))\n%s%s}\n}\n}\n", swapped ? kernel : image, swapped ? image : kernel, guarded ? "}\n" : "", o == CHANNEL_GUARD ? "}\n" : "");
	if (adds)
		tsr_text_add(t, "update %c[b.0, h.2, w.3, g.1, f.4] += $0\n");
	else if (tail)
		tsr_text_add(t, "let $1 : f64 = max.f64(add.f64($0, %r[b.0, h.2, w.3, g.1, f.4]), 0. : f64)\nstore %c[b.0, h.2, w.3, g.1, f.4] = mul.f64($1, $1)\nstore %r[b.0, h.2, w.3, g.1, f.4] = sub.f64($1, $0)\n");
	else
		tsr_text_add(t, "store %c[b.0, h.2, w.3, g.1, f.4] = $0\n");
	tsr_text_add(t, "}\n}\n}\n}\n}\n}\n}\n");
}

/* The gradient of the window's elements. */
static void weights(tsr_text *t, tsr_arena *a, obstacle o)
{
	bool turned = draw(2), inner = draw(3) == 0, adds = draw(4) == 0;
	const char *y = tall > 1 ? place(a, "h.5", "i.2", o) : "h.5", *x = place(a, "w.6", "j.3", o);
	tsr_text_addf(t, "buffer %%x : f64[%d, %d, %d, %d, %d] state observed\n", (int)images, (int)height, (int)width, (int)groups, (int)channels);
	tsr_text_addf(t, "buffer %%y : f64[%d, %d, %d, %d, %d] state observed\n", (int)images, (int)out_height, (int)out_width, (int)groups, (int)filters);
	tsr_text_addf(t, "buffer %%r : f64[1] state observed\nbuffer %%c : f64[%d, %d, %d, %d, %d] state observed\n", (int)groups, (int)tall, (int)taps, (int)filters, (int)channels);
	tsr_text_add(t, "unit u { kernel c {\n");
	tsr_text_addf(t, "for g.1 in 0..%d parallel {\nfor %s in 0..%d parallel {\nfor %s in 0..%d parallel {\nfor f.4 in 0..%d parallel {\nfor d.7 in 0..%d parallel {\nlet $0 : f64 = 0. : f64\n", (int)groups,
		turned ? "j.3" : "i.2", (int)(turned ? taps : tall), turned ? "i.2" : "j.3", (int)(turned ? tall : taps), (int)filters, (int)channels);
	const char *over_images = tsr_format(a, "for b.0 in 0..%d reduce {\n", (int)images);
	tsr_text_addf(t, "%sfor h.5 in 0..%d reduce {\nfor w.6 in 0..%d reduce {\n%s%s", inner ? "" : over_images, (int)out_height, (int)out_width, inner ? over_images : "", guard(a, y, x));
	if (o == CHANNEL_GUARD)
		tsr_text_addf(t, "if d.7 in 0..%d {\n", (int)channels - 1);
	tsr_text_addf(t, "set $0 = add.f64($0, mul.f64(%%y[b.0, h.5, w.6, g.1, f.4], %%x[b.0, %s, %s, g.1, d.7]))\n}\n}\n}\n}\n%s%s %%c[g.1, i.2, j.3, f.4, d.7] %s\n}\n}\n}\n}\n}\n}\n}\n", y, x,
		o == CHANNEL_GUARD ? "}\n" : "", adds ? "update" : "store", adds ? "+= $0" : "= $0");
}

/* Tiles are of two places, results lie along lanes; of what is summed over as many places as it is made at either may be the window, but along both axes alike, unless it runs backwards. */
static bool fits(bool gradient, obstacle o)
{
	bool large = (out_height >= 2 || tall == 1) && out_width >= 2, clear = !gradient || tall == 1 || back || (out_height == taps) == (out_width == taps);
	return o == NOTHING && large && clear && (gradient ? channels : filters) > 1;
}

/* The memory of the observed buffers after one run. */
static double **run(const tsr_loops *l)
{
	double **buffers = calloc(l->buffers.n, sizeof *buffers);
	uint64_t before = state;
	state = 3;
	for (uint32_t b = 0; b < l->buffers.n; b++) {
		int64_t n = tsr_buffer_bytes(l->buffers.at[b]) / 8;
		buffers[b] = malloc((size_t)n * sizeof **buffers);
		for (int64_t i = 0; i < n; i++)
			buffers[b][i] = l->buffers.at[b]->observed ? (double)((int)draw(9) - 4) : NAN;
	}
	state = before;
	tsr_machine m = { .buffers = (void **)buffers };
	CHECK(tsr_loops_run(l, 0, &m));
	return buffers;
}

static bool equal(const tsr_loops *l, double **x, double **y, double tolerance)
{
	for (uint32_t b = 0; b < l->buffers.n; b++)
		for (int64_t i = 0; l->buffers.at[b]->observed && i < tsr_buffer_bytes(l->buffers.at[b]) / 8; i++)
			if (!(fabs(x[b][i] - y[b][i]) <= tolerance * fabs(x[b][i]) + tolerance))
				return false;
	return true;
}

static void drop(double **x, uint32_t n)
{
	for (uint32_t b = 0; b < n; b++)
		free(x[b]);
	free(x);
}

int main(void)
{
	static const char *const passes[] = { "winograd", "winograd,classify,schedule,fuse,rows,strip,threads", "tail,winograd,classify,schedule,fuse,rows,reuse,strip,threads,inplace,finite" };
	static const char *const targets[] = { "zen4", "avx2", "avx512" };
	uint32_t taken[2] = { 0 }, left = 0, flat = 0, blocks[2] = { 0 };
	state = 17;
	for (int n = 0; n < PROGRAMS; n++) {
		tsr_compiler *tc = tsr_compiler_new();
		bool large = n >= PROGRAMS - LARGE, gradient = large ? n % 2 == 1 : draw(2) == 1;
		obstacle o = !large && draw(4) == 0 ? (obstacle)draw(KINDS) : NOTHING;
		tsr_text t;
		sizes(large);
		tsr_text_init(&t, tc->arena);
		(gradient ? weights : windows)(&t, tc->arena, o);
		const char *text = tsr_text_str(&t);
		uint32_t file = tsr_source_add(tc, "winograd.loop", text, strlen(text));
		tsr_loops *before = tsr_loops_read(tc, file), *after = tsr_loops_read(tc, file);
		tsr_diags_render(tc, stdout, false);
		tsr_target target = *tsr_target_by_name(targets[draw(3)]);
		if (large)
			target.l2 = 1 << 16;
		tsr_opt_options options = { .level = 2, .fuse = true, .threads = TSR_THREADS_ALL, .tile_all = true, .tile = draw(2) ? 4 : 2, .passes = passes[draw(3)] };
		if (!CHECK(before && after && tsr_opt_run(after, &target, &options))) {
			printf("%s\n", text);
			return check_end("winograd");
		}
		uint32_t took = notes_with(after, " products for "), cut = notes_with(after, "in blocks of");
		taken[gradient] += took, flat += took && tall == 1, left += o != NOTHING, blocks[gradient] += cut;
		double **x = run(before), **y = run(after);
		if (!CHECK(equal(before, x, y, options.tile == 4 || taps == 5 ? 1e-10 : 0)) || !CHECK(took == fits(gradient, o))) {
			printf("program %d, %s, %s:\n%s\n", n, options.passes, target.name, text);
			tsr_loops_print(after, stdout);
			return check_end("winograd");
		}
		drop(x, before->buffers.n), drop(y, after->buffers.n);
		tsr_compiler_free(tc);
	}
	printf("%u windows and %u gradients by tiles, %u of them along one axis; %u and %u in blocks; %u are no such windows\n", taken[0], taken[1], flat, blocks[0], blocks[1], left);
	CHECK(taken[0] > PROGRAMS / 6 && taken[1] > PROGRAMS / 6 && blocks[0] > 0 && blocks[1] > 0 && left > PROGRAMS / 10 && flat > PROGRAMS / 20);
	return check_end("winograd");
}
