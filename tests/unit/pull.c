/* Scattered products and what they become: random windows that are written, of any stride, dilation and offset, guarded where they
 * reach beyond, must leave the same numbers when their nests are gathered and when the engine's notes are on them.  All numbers are
 * small multiples of a power of two, so that sums are exact in any order.  The interpreter runs both. */
#include "../../compiler/base/text.h"
#include "../../compiler/opt/opt.h"
#include "check.h"
#include <stdlib.h>
#include <string.h>

enum { CASES = 500, LARGEST = 9 };

static uint64_t state;
static int draw(int n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (int)((state >> 33) % (uint64_t)n);
}

/* One windowed axis: stride*o + step*k + offset, of a buffer whose axis is `size` long. */
typedef struct window { int places, taps, stride, step, offset, size; bool guarded, runtime; } window;

static window draw_window(bool runtime)
{
	static const int strides[] = { 1, 1, 1, 2, 2, 3, 4, -1 };
	window w = { .places = 1 + draw(LARGEST), .taps = 1 + draw(4), .stride = strides[draw(8)], .step = 1 + draw(3), .runtime = runtime };
	if (draw(6) == 0)
		w.step = -w.step;
	int least = (w.stride < 0 ? w.stride * (w.places - 1) : 0) + (w.step < 0 ? w.step * (w.taps - 1) : 0);
	int most = (w.stride > 0 ? w.stride * (w.places - 1) : 0) + (w.step > 0 ? w.step * (w.taps - 1) : 0);
	w.guarded = draw(2) || runtime;
	w.offset = w.guarded ? -least - draw(3) : -least;
	w.size = w.guarded ? 1 + draw(most - least + 3) : most - least + 1 + draw(2);
	if (runtime) {                   /* places and size: ?n and a multiple of it */
		w.places = 7;
		w.stride = w.stride < 0 ? 1 : w.stride;
		w.size = w.stride * w.places;
	}
	return w;
}

typedef struct counted { const char *places, *size; } counted;

static counted written(tsr_arena *a, const window *w)
{
	if (!w->runtime)
		return (counted){ tsr_format(a, "%d", w->places), tsr_format(a, "%d", w->size) };
	return (counted){ "?n", w->stride == 1 ? "?n" : tsr_format(a, "%d*?n", w->stride) };
}

/* An axis before those of the windows, each of which begins with a comma, or behind them. */
static const char *beside(tsr_arena *a, bool first, const char *axis, const char *windows)
{
	return first ? tsr_format(a, ", %s%s", axis, windows) : tsr_format(a, "%s, %s", windows, axis);
}

static const char *program(tsr_arena *a)
{
	int windows = 1 + draw(2), channels = draw(3) ? 5 + draw(9) : 1 + draw(4), filters = draw(4) ? 8 + draw(24) : 1 + draw(3), batch = 1 + draw(3);
	bool local = draw(2), clear = draw(3), subtract = draw(8) == 0, maximum = !subtract && draw(8) == 0, runtime = draw(4) == 0;
	bool first = draw(3) == 0, depthwise = draw(4) == 0, pool = depthwise && draw(2);       /* channels come before the windows' axes; each has a window of its own, all of whose places have the same number */
	const char *symbol = runtime ? "symbol ?n\n" : "", *neutral = maximum ? "-inf" : "0.";
	tsr_text sizes, places, taps, index, from, window_at, guards, fors;
	tsr_text *all[] = { &sizes, &places, &taps, &index, &from, &window_at, &guards, &fors };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		tsr_text_init(all[i], a);
	for (int i = 0; i < windows; i++) {
		window w = draw_window(runtime && i == 0);
		counted c = written(a, &w);
		tsr_text_addf(&sizes, ", %s", c.size);
		tsr_text_addf(&places, ", %s", c.places);
		tsr_text_addf(&taps, "%d, ", w.taps);
		const char *at = tsr_format(a, "%d*o%d %c %d*k%d %c %d", w.stride, i, w.step < 0 ? '-' : '+', abs(w.step), i,
			w.offset < 0 ? '-' : '+', abs(w.offset));
		tsr_text_addf(&index, ", %s", at);
		tsr_text_addf(&from, ", o%d", i);
		tsr_text_addf(&window_at, "k%d, ", i);
		if (w.guarded)
			tsr_text_addf(&guards, "%s%s in 0..%s", *tsr_text_str(&guards) ? ", " : "", at, c.size);
		tsr_text_addf(&fors, "for o%d in 0..%s serial { for k%d in 0..%d serial {\n", i, c.places, i, w.taps);
	}
	const char *x = tsr_format(a, "%%x[b%s]", beside(a, first, "c", tsr_text_str(&index))), *y = tsr_format(a, "%%y[b%s]", beside(a, first, depthwise ? "c" : "f", tsr_text_str(&from)));
	const char *product = tsr_format(a, "%s.f32(%s, %%w[%s%sc])", maximum ? "add" : "mul", y, depthwise ? "0, " : "f, ", tsr_text_str(&window_at));
	if (pool)
		product = y;
	if (depthwise)
		filters = channels;
	const char *around = tsr_format(a, "for c in 0..%d parallel {", channels);
	const char *of_x = beside(a, first, tsr_format(a, "%d", channels), tsr_text_str(&sizes)), *of_y = beside(a, first, tsr_format(a, "%d", filters), tsr_text_str(&places));
	tsr_text t;
	tsr_text_init(&t, a);
	tsr_text_addf(&t, "%sbuffer %%x : f32[%d%s] value observed\nbuffer %%y : f32[%d%s] input\nbuffer %%w : f32[%d, %s%d] input\nunit u {\n", symbol, batch, of_x, batch, of_y,
		depthwise ? 1 : filters, tsr_text_str(&taps), channels);
	if (clear) {
		tsr_text_addf(&t, "kernel clear { for b in 0..%d parallel {", batch);
		const char *each = tsr_text_str(&sizes);
		int axis = 0;
		tsr_text at;
		tsr_text_init(&at, a);
		for (char *size = strtok((char *)each, ", "); size; size = strtok(NULL, ", "), axis++) {
			tsr_text_addf(&t, "for h%d in 0..%s parallel {", axis, size);
			tsr_text_addf(&at, ", h%d", axis);
		}
		tsr_text_addf(&t, "for c in 0..%d parallel { store ", channels);
		tsr_text_addf(&t, "%%x[b%s] = %s }", beside(a, first, "c", tsr_text_str(&at)), neutral);
		for (int i = 0; i <= axis + 1; i++)
			tsr_text_addf(&t, "}");
		tsr_text_addf(&t, "\n");
	}
	const char *guard = *tsr_text_str(&guards) ? tsr_format(a, "if %s {", tsr_text_str(&guards)) : "";
	tsr_text_addf(&t, "kernel x { for b in 0..%d parallel { %s%s%s\n%s", batch, first ? around : "", tsr_text_str(&fors), first ? "" : around, guard);
	if (depthwise)
		tsr_text_addf(&t, "update %s %s %s\n", x, subtract ? "-=" : maximum ? "@^=" : "+=", product);
	else if (local && !subtract)
		tsr_text_addf(&t, "let $0 : f32 = %s for f in 0..%d reduce { set $0 = %s.f32($0, %s) } store %s = $0\n", x, filters, maximum ? "max" : "add", product, x);
	else if (local)
		tsr_text_addf(&t, "let $0 : f32 = 0. for f in 0..%d reduce { set $0 = add.f32($0, %s) } store %s = sub.f32(%s, $0)\n", filters, product, x, x);
	else
		tsr_text_addf(&t, "for f in 0..%d reduce { update %s %s %s }\n", filters, x, subtract ? "-=" : maximum ? "@^=" : "+=", product);
	for (int i = 0; i < 2 + 2 * windows; i++)
		tsr_text_addf(&t, "}");
	tsr_text_addf(&t, "%s } }\n", *guard ? "}" : "");
	return tsr_text_str(&t);
}

/* What the unit leaves in x. */
static float *run(const tsr_loops *l, int64_t n, size_t *count)
{
	void **buffers = calloc(l->buffers.n, sizeof *buffers);
	for (uint32_t b = 0; b < l->buffers.n; b++) {
		size_t many = 1;
		for (uint32_t i = 0; i < l->buffers.at[b]->rank; i++)
			many *= (size_t)tsr_size_eval(l->buffers.at[b]->dims[i], &n);
		float *m = buffers[b] = malloc((many + 1) * sizeof *m);
		for (size_t i = 0; i < many; i++)
			m[i] = (float)((int)((i * 37 + b * 11) % 17) - 8) / 8;
		*count = b ? *count : many;
	}
	tsr_machine m = { .buffers = buffers, .symbols = &n };
	CHECK(tsr_loops_run(l, 0, &m));
	float *x = buffers[0];
	for (uint32_t b = 1; b < l->buffers.n; b++)
		free(buffers[b]);
	free(buffers);
	return x;
}

static bool same(const tsr_loops *before, const tsr_loops *after, int64_t n)
{
	size_t count = 0, again = 0;
	float *x = run(before, n, &count), *y = run(after, n, &again);
	bool ok = count == again && !memcmp(x, y, count * sizeof *x);
	free(x), free(y);
	return ok;
}

int main(void)
{
	static const char *const chosen[] = { "pull", "pull,reduce,virtual", "pull,reduce,virtual,classify,schedule,fuse,rows,threads,finite" };
	tsr_target target = *tsr_target_by_name("avx512");
	uint32_t gathered = 0, nests = 0;
	for (int i = 0; i < CASES; i++) {
		tsr_compiler *tc = tsr_compiler_new();
		state = 77 + (uint64_t)i * 1000003;
		const char *text = program(tc->arena);
		uint32_t file = tsr_source_add(tc, "scatter.loop", text, strlen(text));
		tsr_loops *before = tsr_loops_read(tc, file), *after = tsr_loops_read(tc, file);
		tsr_diags_render(tc, stdout, false);
		tsr_opt_options options = { .level = 2, .fuse = true, .threads = TSR_THREADS_ALL, .passes = chosen[i % 3] };
		if (!CHECK(before && after && tsr_opt_run(after, &target, &options))) {
			printf("%s\n", text);
			tsr_compiler_free(tc);
			break;
		}
		for (uint32_t note = 0; note < after->notes.n; note++) {
			gathered += strstr(after->notes.at[note], "is gathered") != NULL;
			nests += strstr(after->notes.at[note], "nests") != NULL;
		}
		if (!CHECK(same(before, after, 7) && same(before, after, 1) && same(before, after, 3))) {
			printf("%s\n", text);
			tsr_loops_print_unit(after, 0, stdout);
		}
		tsr_compiler_free(tc);
	}
	/* most are worth it, and many have a stride */
	CHECK(gathered > CASES / 3);
	CHECK(nests > CASES / 10);
	return check_end("pull");
}
