/* Diagnostics as JSON, and as text: one block each, in order of place, the source line with a caret under the span.  A tab in the
 * line is kept, and repeated in the caret's line, so that the caret stands right at any tab width. */
#include "diag.h"
#include "../base/text.h"
#include <stdlib.h>
#include <string.h>

static const char *const codes[] = {
#define TSR_DIAG(name, code, severity, headline) [TSR_##name] = code,
#include "diag.def"
#undef TSR_DIAG
};

static const tsr_severity severities[] = {
#define TSR_DIAG(name, code, severity, headline) [TSR_##name] = severity,
#include "diag.def"
#undef TSR_DIAG
};

typedef struct style { const char *bold, *error, *warning, *note, *off; } style;

static const style plain = {"", "", "", "", ""};
static const style coloured = {"\033[1m", "\033[1;31m", "\033[1;35m", "\033[1;36m", "\033[0m"};

static bool continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

static void print_place(tsr_compiler *tc, tsr_span span, FILE *out, const style *s)
{
	tsr_position p = tsr_position_of(tc, span);
	if (span.file)
		fprintf(out, "%s%s:%u:%u:%s ", s->bold, p.path, p.line, p.column, s->off);
	else
		fprintf(out, "%s%s:%s ", s->bold, p.path, s->off);
}

enum { BEFORE = 60, AFTER = 100 };       /* characters of a long line that are shown around the caret */

/* The character at p as it is shown: what a terminal could take amiss is a question mark. Gives its bytes. */
static size_t show(const char *p, const char *end, FILE *out)
{
	size_t n = tsr_utf8_length(p, end);
	bool control = n == 1 && ((unsigned char)*p < 32 || *p == 127) && *p != '\t';
	if (n == 0 || control)
		fputc('?', out);
	else
		fwrite(p, 1, n, out);
	return n ? n : 1;
}

static const char *back(const char *line, const char *p, int characters)
{
	while (p > line && characters-- > 0)
		do
			p--;
		while (p > line && continues(*p));
	return p;
}

static const char *forth(const char *p, const char *end, int characters)
{
	while (p < end && characters-- > 0) {
		size_t n = tsr_utf8_length(p, end);
		p += n ? n : 1;
	}
	return p;
}

/* The line where the span starts, and under it a caret at the start and a tilde for each further character up to the
 * span's end or the line's.  Of a long line the part around the caret is shown. */
static void print_line(tsr_compiler *tc, tsr_span span, FILE *out, const style *s)
{
	const tsr_source *src = tsr_source_get(tc, span.file);
	uint32_t number = tsr_position_of(tc, span).line;
	const char *line = src->text + src->lines.at[number - 1];
	const char *end = memchr(line, '\n', (size_t)(src->text + src->size - line));
	if (!end)
		end = src->text + src->size;
	if (end > line && end[-1] == '\r')
		end--;
	size_t start = span.start < src->size ? span.start : src->size, stop = span.end < src->size ? span.end : src->size;
	const char *from = src->text + start, *to = src->text + stop;
	if (from > end)
		from = end;
	const char *first = forth(line, end, BEFORE + AFTER) == end ? line : back(line, from, BEFORE);
	const char *last = first == line && forth(line, end, BEFORE + AFTER) == end ? end : forth(from, end, AFTER);
	const char *left = first > line ? "... " : "", *right = last < end ? " ..." : "";
	int gutter = fprintf(out, "  %u", number);
	fprintf(out, " | %s", left);
	for (const char *p = first; p < last;)
		p += show(p, last, out);
	fprintf(out, "%s\n%*s | %*s", right, gutter, "", (int)strlen(left), "");
	for (const char *p = first; p < from; p = forth(p, from, 1))
		fputc(*p == '\t' ? '\t' : ' ', out);
	fprintf(out, "%s^", s->error);
	if (from < last)
		for (const char *p = forth(from, last, 1); p < to && p < last; p = forth(p, last, 1))
			fputc('~', out);
	fprintf(out, "%s\n", s->off);
}

static void print_diag(tsr_compiler *tc, const tsr_diag *d, FILE *out, const style *s)
{
	bool error = severities[d->code] == TSR_ERROR;
	print_place(tc, d->span, out, s);
	fprintf(out, "%s%s[%s]:%s %s\n", error ? s->error : s->warning, error ? "error" : "warning", codes[d->code], s->off,
	        d->text);
	if (d->span.file)
		print_line(tc, d->span, out, s);
	for (uint32_t i = 0; i < d->notes.n; i++) {
		if (d->notes.at[i].span.file)
			print_place(tc, d->notes.at[i].span, out, s);
		fprintf(out, "%snote:%s %s\n", s->note, s->off, d->notes.at[i].text);
	}
	if (d->hint)
		fprintf(out, "%shint:%s %s\n", s->note, s->off, d->hint);
}

static bool before(tsr_span a, tsr_span b)
{
	return a.file != b.file ? a.file < b.file : a.start < b.start;
}

/* In order of place; the order of reporting within one. */
static tsr_diag **in_order(tsr_compiler *tc, tsr_arena *scratch, uint32_t *errors)
{
	tsr_diag **sorted = TSR_NEW_N(scratch, tsr_diag *, tc->diags.n + 1);
	*errors = 0;
	for (uint32_t i = 0; i < tc->diags.n; i++) {
		tsr_diag *d = tc->diags.at[i];
		*errors += severities[d->code] == TSR_ERROR;
		uint32_t at = i;
		for (; at > 0 && before(d->span, sorted[at - 1]->span); at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = d;
	}
	return sorted;
}

void tsr_diags_render(tsr_compiler *tc, FILE *out, bool colour)
{
	const style *s = colour ? &coloured : &plain;
	tsr_arena *scratch = tsr_arena_new();
	uint32_t errors;
	tsr_diag **sorted = in_order(tc, scratch, &errors);
	for (uint32_t i = 0; i < tc->diags.n; i++)
		print_diag(tc, sorted[i], out, s);
	if (errors < tc->nerrors)
		fprintf(out, "%u more errors are not shown\n", tc->nerrors - errors);
	tsr_arena_free(scratch);
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */

void tsr_place_json(tsr_compiler *tc, tsr_text *t, tsr_span span)
{
	if (!span.file) {
		tsr_text_add(t, "\"file\": null, \"line\": null, \"column\": null, \"end_line\": null, \"end_column\": null");
		return;
	}
	tsr_position from = tsr_position_of(tc, span), to = tsr_position_of(tc, (tsr_span){span.file, span.end, span.end});
	tsr_text_add(t, "\"file\": ");
	tsr_text_json(t, from.path);
	tsr_text_addf(t, ", \"line\": %u, \"column\": %u, \"end_line\": %u, \"end_column\": %u", from.line, from.column, to.line, to.column);
}

static void diag_json(tsr_compiler *tc, const tsr_diag *d, tsr_text *t)
{
	tsr_text_addf(t, "{\"code\": \"%s\", \"severity\": \"%s\", ", codes[d->code], severities[d->code] == TSR_ERROR ? "error" : "warning");
	tsr_place_json(tc, t, d->span);
	tsr_text_add(t, ", \"message\": ");
	tsr_text_json(t, d->text);
	tsr_text_add(t, ", \"notes\": [");
	for (uint32_t i = 0; i < d->notes.n; i++) {
		tsr_text_add(t, i ? ", {" : "{");
		tsr_place_json(tc, t, d->notes.at[i].span);
		tsr_text_add(t, ", \"message\": ");
		tsr_text_json(t, d->notes.at[i].text);
		tsr_text_char(t, '}');
	}
	tsr_text_add(t, "], \"hint\": ");
	if (d->hint)
		tsr_text_json(t, d->hint);
	else
		tsr_text_add(t, "null");
	tsr_text_add(t, "}\n");
}

void tsr_diags_render_json(tsr_compiler *tc, FILE *out)
{
	tsr_arena *scratch = tsr_arena_new();
	uint32_t errors;
	tsr_diag **sorted = in_order(tc, scratch, &errors);
	tsr_text t;
	tsr_text_init(&t, scratch);
	for (uint32_t i = 0; i < tc->diags.n; i++)
		diag_json(tc, sorted[i], &t);
	fputs(tsr_text_str(&t), out);
	tsr_arena_free(scratch);
}
