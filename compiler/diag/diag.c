/* Collecting diagnostics: what is kept, what is a repetition, and where the limit lies.  Wording is the reporter's;
 * layout is render.c's. */
#include "diag.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ERRORS 20

static const tsr_severity severities[] = {
#define TSR_DIAG(name, code, severity, headline) [TSR_##name] = severity,
#include "diag.def"
#undef TSR_DIAG
};

tsr_compiler *tsr_compiler_new(void)
{
	tsr_arena *a = tsr_arena_new();
	tsr_compiler *tc = TSR_NEW(a, tsr_compiler);
	tc->arena = a;
	tc->names = tsr_names_new(a);
	tsr_source_add(tc, "tsrc", "", 0);       /* file 0, "no file" */
	return tc;
}

void tsr_compiler_free(tsr_compiler *tc)
{
	if (tc)
		tsr_arena_free(tc->arena);
}

void tsr_diags_clear(tsr_compiler *tc)
{
	tc->diags.n = 0;
	tc->nerrors = tc->nwarnings = 0;
}

/* Messages stay readable whatever a program holds: of a name, a spec or a list that is longer than this the middle is left out. */
enum { LONGEST_PIECE = 140, LONGEST_TEXT = 900 };

/* The n bytes at s become their two ends; returns how many there are now. */
static size_t elide(char *s, size_t n, size_t most)
{
	static const char dots[] = " ... ";
	size_t tail = most / 4, head = most - tail - strlen(dots);
	if (n <= most)
		return n;
	while (head && ((unsigned char)s[head] & 0xc0) == 0x80)
		head--;
	while (((unsigned char)s[n - tail] & 0xc0) == 0x80)
		tail--;
	memcpy(s + head, dots, strlen(dots));
	memmove(s + head + strlen(dots), s + n - tail, tail);
	return head + strlen(dots) + tail;
}

static void shorten(char *s)
{
	char *to = s;
	for (const char *at = s; *at;) {
		size_t n = 1;
		if (*at == '`' || *at == '[') {
			const char *end = strchr(at + 1, *at == '[' ? ']' : '`');
			n = end ? (size_t)(end + 1 - at) : strlen(at);
		} else if (*at != ' ' && *at != '\n') {
			n = strcspn(at, " \n`[");
		}
		memmove(to, at, n);
		to += elide(to, n, LONGEST_PIECE);
		at += n;
	}
	s[elide(s, (size_t)(to - s), LONGEST_TEXT)] = 0;
}

static char *format(tsr_arena *a, const char *fmt, va_list args)
{
	va_list again;
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, fmt, args);
	size_t size = n < 0 ? 1 : (size_t)n + 1;
	char *s = tsr_alloc(a, size);
	if (n >= 0)
		vsnprintf(s, size, fmt, again);
	va_end(again);
	if (size > LONGEST_PIECE)
		shorten(s);
	return s;
}

static bool same_place(tsr_span a, tsr_span b)
{
	return a.file == b.file && a.start == b.start && a.end == b.end;
}

/* A mistake without a place is a repetition only when it says the same. */
static bool repeats(const tsr_compiler *tc, const tsr_diag *d)
{
	for (uint32_t i = 0; i < tc->diags.n; i++) {
		const tsr_diag *old = tc->diags.at[i];
		if (old->code == d->code && same_place(old->span, d->span) && (d->span.file || !strcmp(old->text, d->text)))
			return true;
	}
	return false;
}

tsr_diag *tsr_report(tsr_compiler *tc, tsr_diag_code code, tsr_span span, const char *fmt, ...)
{
	tsr_diag *d = TSR_NEW(tc->arena, tsr_diag);
	d->code = code;
	d->span = span;
	va_list args;
	va_start(args, fmt);
	d->text = format(tc->arena, fmt, args);
	va_end(args);
	if (repeats(tc, d))
		return d;
	bool error = severities[code] == TSR_ERROR;
	bool full = error && tc->nerrors >= MAX_ERRORS;
	*(error ? &tc->nerrors : &tc->nwarnings) += 1;
	if (!full)
		tsr_push(tc->arena, &tc->diags, d);
	return d;
}

void tsr_note_at(tsr_compiler *tc, tsr_diag *d, tsr_span span, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	tsr_note note = {span, format(tc->arena, fmt, args)};
	va_end(args);
	tsr_push(tc->arena, &d->notes, note);
}

void tsr_hint(tsr_compiler *tc, tsr_diag *d, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	d->hint = format(tc->arena, fmt, args);
	va_end(args);
}

_Noreturn void tsr_bug_at(const char *file, int line, const char *fmt, ...)
{
	const char *shown = strstr(file, "compiler/");
	fprintf(stderr, "tsrc: internal error at %s:%d: ", shown ? shown : file, line);
	va_list args;
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputs("\nThis is a fault of the compiler, not of the program: please report it with the program that shows it.\n", stderr);
	exit(70);
}
