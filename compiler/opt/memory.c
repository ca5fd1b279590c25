/* --dump=memory: every buffer with its bytes, where it lies and while which statements of which units it is alive; and as a
 * picture, time to the right and the arena's offsets downwards. */
#include "pass.h"

typedef struct totals { int64_t own, run_time, least; } totals;

static const char *statement_name(const tsr_loops *l, uint32_t unit, uint32_t at)
{
	const tsr_stmt *s = l->units.at[unit]->body.at[at];
	return s->kind == TSR_STMT_KERNEL ? s->kernel.name : s->kind == TSR_STMT_RANDOM ? "random" : "check";
}

/* The most that is alive at once: no layout needs less. */
static int64_t least_arena(const tsr_loops *l, const tsr_lives *lives)
{
	int64_t most = 0;
	for (uint32_t u = 0; u < l->units.n; u++)
		for (uint32_t at = 0; at < l->units.at[u]->body.n; at++) {
			int64_t sum = 0;
			for (uint32_t b = 0; b < l->buffers.n; b++)
				for (uint32_t i = 0; l->buffers.at[b]->home == TSR_HOME_ARENA && i < lives[b].v.n; i++)
					if (lives[b].v.at[i].unit == u && lives[b].v.at[i].first <= at && at <= lives[b].v.at[i].last)
						sum += tsr_buffer_bytes(l->buffers.at[b]);
			most = sum > most ? sum : most;
		}
	return most;
}

static totals totals_of(const tsr_loops *l, const tsr_lives *lives)
{
	totals t = { 0 };
	for (uint32_t i = 0; i < l->buffers.n; i++) {
		const tsr_buffer *b = l->buffers.at[i];
		int64_t bytes = tsr_buffer_bytes(b);
		t.run_time += bytes < 0;
		t.own += bytes > 0 && b->home == TSR_HOME_OWN ? bytes : 0;
	}
	t.least = least_arena(l, lives);
	return t;
}

static void print_buffer(const tsr_loops *l, const tsr_buffer *b, const tsr_lives *lives, FILE *out)
{
	int64_t bytes = tsr_buffer_bytes(b);
	if (bytes < 0)
		fprintf(out, "%12s", "run-time");
	else
		fprintf(out, "%12lld", (long long)bytes);
	if (b->home == TSR_HOME_ARENA)
		fprintf(out, "%12lld  ", (long long)b->offset);
	else if (b->home == TSR_HOME_SLOT)
		fprintf(out, "%8s%4lld  ", "slot", (long long)b->offset);
	else
		fprintf(out, "%12s  ", b->home == TSR_HOME_OWN ? "own" : b->home == TSR_HOME_THREAD ? "thread" : b->home == TSR_HOME_CALLER ? "caller" : "none");
	fprintf(out, "%s", b->name);
	for (uint32_t i = 0; i < lives->v.n; i++) {
		const tsr_life *x = &lives->v.at[i];
		fprintf(out, "%s %s: %s", i ? ";" : "  ", l->units.at[x->unit]->name, statement_name(l, x->unit, x->first));
		if (x->first != x->last)
			fprintf(out, " .. %s", statement_name(l, x->unit, x->last));
	}
	fprintf(out, "\n");
}

void tsr_opt_print_memory(const tsr_loops *l, FILE *out)
{
	tsr_arena *a = tsr_arena_new();
	tsr_lives *lives = tsr_lives_of(l, a);
	totals t = totals_of(l, lives);
	fprintf(out, "%12s%12s  %s\n", "bytes", "offset", "buffer, and while what it is alive");
	for (uint32_t i = 0; i < l->buffers.n; i++)
		print_buffer(l, l->buffers.at[i], &lives[i], out);
	fprintf(out, "%12lld  arena; %lld are alive at once\n", (long long)l->arena_bytes, (long long)t.least);
	fprintf(out, "%12lld  buffers with memory of their own%s\n", (long long)t.own, t.run_time ? ", and those whose size is known when it runs" : "");
	if (l->recomputed_bytes)
		fprintf(out, "%12lld  computed again rather than kept: buffers called .again\n", (long long)l->recomputed_bytes);
	if (l->separate_bytes)
		fprintf(out, "%12lld  saved against memory of its own for every buffer\n", (long long)(l->separate_bytes - t.own - l->arena_bytes));
	tsr_arena_free(a);
}

/* ---- the picture ------------------------------------------------------------------------------------------------------------ */

enum { WIDTH = 1200, HEIGHT = 480, MARGIN = 20, HEAD = 24 };

static void text(const char *s, FILE *out)
{
	for (; *s; s++)
		if (*s == '<')
			fputs("&lt;", out);
		else if (*s == '&')
			fputs("&amp;", out);
		else
			fputc(*s, out);
}

static void rectangle(const tsr_loops *l, const tsr_buffer *b, const tsr_life *x, double top, FILE *out)
{
	double column = (double)WIDTH / (l->units.at[x->unit]->body.n ? l->units.at[x->unit]->body.n : 1);
	double scale = (double)HEIGHT / (double)l->arena_bytes;
	fprintf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"hsl(%u,60%%,70%%)\" stroke=\"#444\" stroke-width=\"0.3\"><title>",
		MARGIN + x->first * column, top + (double)b->offset * scale, (x->last - x->first + 1) * column, (double)tsr_buffer_bytes(b) * scale,
		b->id * 47 % 360);
	text(b->name, out);
	fprintf(out, ", %lld bytes at %lld, ", (long long)tsr_buffer_bytes(b), (long long)b->offset);
	text(statement_name(l, x->unit, x->first), out);
	fprintf(out, " .. ");
	text(statement_name(l, x->unit, x->last), out);
	fprintf(out, "</title></rect>\n");
}

void tsr_opt_print_memory_svg(const tsr_loops *l, FILE *out)
{
	tsr_arena *a = tsr_arena_new();
	tsr_lives *lives = tsr_lives_of(l, a);
	bool *drawn = TSR_NEW_N(a, bool, l->units.n + 1);
	uint32_t panels = 0;
	for (uint32_t b = 0; b < l->buffers.n; b++)
		for (uint32_t i = 0; l->buffers.at[b]->home == TSR_HOME_ARENA && i < lives[b].v.n; i++)
			drawn[lives[b].v.at[i].unit] = true;
	for (uint32_t u = 0; u < l->units.n; u++)
		panels += drawn[u];
	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" font-family=\"sans-serif\" font-size=\"12\">\n", WIDTH + 2 * MARGIN,
		MARGIN + panels * (HEIGHT + HEAD + MARGIN));
	double top = MARGIN + HEAD;
	for (uint32_t u = 0; u < l->units.n; u++) {
		if (!drawn[u])
			continue;
		fprintf(out, "<text x=\"%d\" y=\"%.0f\">", MARGIN, top - 6);
		text(l->units.at[u]->name, out);
		fprintf(out, ": %u statements, arena of %lld bytes</text>\n", l->units.at[u]->body.n, (long long)l->arena_bytes);
		fprintf(out, "<rect x=\"%d\" y=\"%.0f\" width=\"%d\" height=\"%d\" fill=\"#f4f4f4\"/>\n", MARGIN, top, WIDTH, HEIGHT);
		for (uint32_t b = 0; b < l->buffers.n; b++)
			for (uint32_t i = 0; l->buffers.at[b]->home == TSR_HOME_ARENA && i < lives[b].v.n; i++)
				if (lives[b].v.at[i].unit == u)
					rectangle(l, l->buffers.at[b], &lives[b].v.at[i], top, out);
		top += HEIGHT + HEAD + MARGIN;
	}
	fprintf(out, "</svg>\n");
	tsr_arena_free(a);
}
