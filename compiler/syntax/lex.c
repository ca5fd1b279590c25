/* Sources to tokens, and what the text of a token is worth.  The rules of the tokens themselves are in
 * grammar/tessera.re; here are the reports for text that is no token, and the values of numbers and strings. */
#include "lex.h"
#include "tessera.h"
#include "../base/text.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void report_bad(tsr_compiler *tc, int code, const tsr_scanner *s, tsr_span span)
{
	int n = (int)(s->cursor - s->start);
	if (n > 40)
		n = 40;
	if (code == TSR_SCAN_OPEN_STRING) {
		span.end = span.start + 1;
		tsr_diag *d = tsr_report(tc, TSR_E_UNCLOSED, span, "this string never ends");
		tsr_hint(tc, d, "close it with `\"`; a quote inside a string is written `\\\"`");
	} else if (code == TSR_SCAN_OPEN_COMMENT) {
		span.end = span.start + 2;
		tsr_diag *d = tsr_report(tc, TSR_E_UNCLOSED, span, "this comment never ends");
		if (s->start + 2 < s->limit && strchr(").*", s->start[2]))
			tsr_hint(tc, d, "an operator's name that begins with `*` needs a space: `( * )`, `( *. )`");
		else
			tsr_hint(tc, d, "comments nest: every `(*` inside needs its own `*)`");
	} else if (code == TSR_SCAN_BAD_NUMBER) {
		tsr_diag *d = tsr_report(tc, TSR_E_BAD_TOKEN, span, "`%.*s` is neither a number nor a name", n, s->start);
		tsr_hint(tc, d, "names begin with a letter");
	} else if (code == TSR_SCAN_BAD_LEVEL) {
		tsr_diag *d = tsr_report(tc, TSR_E_BAD_TOKEN, span, "there is no `%.*s`", n, s->start);
		tsr_hint(tc, d, "the levels are let%%op, let%%cd, let%%main, let%%export, fun%%op and fun%%cd, without spaces");
	} else {
		unsigned char c = (unsigned char)*s->start;
		if (c < 32 || c == 127)
			tsr_report(tc, TSR_E_BAD_TOKEN, span, "the character with code %d has no place in a program", c);
		else if (c == '\'')
			tsr_hint(tc, tsr_report(tc, TSR_E_BAD_TOKEN, span, "a quote begins nothing here"),
			         "there are no character literals; a text is written in double quotes");
		else if (!tsr_utf8_length(s->start, s->limit))
			tsr_report(tc, TSR_E_BAD_TOKEN, span, "the byte 0x%02x is no text in UTF-8", c);
		else
			tsr_report(tc, TSR_E_BAD_TOKEN, span, "`%.*s` has no place in a program outside strings and comments", n, s->start);
	}
}

tsr_tokens tsr_lex(tsr_compiler *tc, const char *text, size_t size, tsr_span base)
{
	tsr_tokens tokens = {0};
	tsr_scanner s = {text, text, text + size};
	const char *line = text;
	const char *seen = text;
	for (;;) {
		int code = tsr_scan(&s);
		for (; seen < s.start; seen++)
			if (*seen == '\n')
				line = seen + 1;
		tsr_span span = {base.file, base.start + (uint32_t)(s.start - text), base.start + (uint32_t)(s.cursor - text)};
		if (code < 0) {
			report_bad(tc, code, &s, span);
			if (code == TSR_SCAN_OPEN_COMMENT)
				s.cursor = s.limit;
			while (code == TSR_SCAN_OPEN_STRING && s.cursor < s.limit && *s.cursor != '\n')
				s.cursor++;
			if (code != TSR_SCAN_OPEN_COMMENT)
				tsr_push(tc->arena, &tokens, ((tsr_token){TK_BROKEN, s.start == line, s.start, span}));
			continue;
		}
		if (code == TSR_SCAN_END)
			span = (tsr_span){base.file, base.start + (uint32_t)size, base.start + (uint32_t)size};
		tsr_token t = {code, s.start == line, s.start, span};
		tsr_push(tc->arena, &tokens, t);
		if (code == TSR_SCAN_END)
			return tokens;
	}
}

size_t tsr_token_size(const tsr_token *t)
{
	return t->span.end - t->span.start;
}

bool tsr_token_is(const tsr_token *t, const char *text)
{
	return strlen(text) == tsr_token_size(t) && !memcmp(text, t->text, tsr_token_size(t));
}

/* The text without '_'. */
static const char *digits(tsr_compiler *tc, const tsr_token *t)
{
	size_t n = tsr_token_size(t), k = 0;
	char *s = tsr_alloc(tc->arena, n + 1);
	for (size_t i = 0; i < n; i++)
		if (t->text[i] != '_')
			s[k++] = t->text[i];
	return s;
}

int64_t tsr_token_int(tsr_compiler *tc, const tsr_token *t)
{
	const char *s = digits(tc, t);
	errno = 0;
	long long v = strtoll(s, NULL, s[0] == '0' && (s[1] == 'x' || s[1] == 'X') ? 16 : 10);
	if (errno)
		tsr_report(tc, TSR_E_BAD_TOKEN, t->span, "the number %s does not fit 64 bits", s);
	return v;
}

double tsr_token_float(tsr_compiler *tc, const tsr_token *t)
{
	const char *s = digits(tc, t);
	double x = strtod(s, NULL);
	if (isinf(x)) {
		tsr_diag *d = tsr_report(tc, TSR_E_BAD_TOKEN, t->span, "the number %s is larger than any float", s);
		tsr_hint(tc, d, "infinity is `1. / 0.`");
	}
	return x;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Decodes the escape after the backslash at *i, which moves past it; -1 for nothing to add, -2 for a bad one. */
static int escape(const char *s, size_t n, size_t *i)
{
	char c = s[(*i)++];
	switch (c) {
	case 'n': return '\n';
	case 't': return '\t';
	case 'r': return '\r';
	case 'b': return '\b';
	case ' ': case '"': case '\\': case '\'': return c;
	case '\n':                       /* a line break and the blanks that follow are left out */
		while (*i < n && (s[*i] == ' ' || s[*i] == '\t'))
			++*i;
		return -1;
	case 'x':
		if (*i + 2 <= n && hex(s[*i]) >= 0 && hex(s[*i + 1]) >= 0) {
			*i += 2;
			return hex(s[*i - 2]) * 16 + hex(s[*i - 1]);
		}
		return -2;
	default:
		break;
	}
	if (c >= '0' && c <= '9' && *i + 2 <= n && s[*i] >= '0' && s[*i] <= '9' && s[*i + 1] >= '0' && s[*i + 1] <= '9') {
		int v = (c - '0') * 100 + (s[*i] - '0') * 10 + (s[*i + 1] - '0');
		*i += 2;
		return v < 256 ? v : -2;
	}
	return -2;
}

const char *tsr_token_string(tsr_compiler *tc, const tsr_token *t, size_t *size, tsr_span *inside)
{
	const char *s = t->text + 1;
	size_t n = tsr_token_size(t) - 2, k = 0;
	char *out = tsr_alloc(tc->arena, n + 1);
	for (size_t i = 0; i < n;) {
		if (s[i] != '\\') {
			out[k++] = s[i++];
			continue;
		}
		size_t from = i++;
		int c = escape(s, n, &i);
		if (c >= 0)
			out[k++] = (char)c;
		else if (c == -2) {
			tsr_span where = {t->span.file, t->span.start + 1 + (uint32_t)from, t->span.start + 1 + (uint32_t)i};
			tsr_diag *d = tsr_report(tc, TSR_E_BAD_TOKEN, where, "there is no escape `%.*s` in strings", (int)(i - from), s + from);
			tsr_hint(tc, d, "a backslash itself is written `\\\\`; the escapes are \\n \\t \\r \\b \\\" \\\\ \\065 \\x41");
		}
	}
	if (size)
		*size = k;
	if (inside)
		*inside = (tsr_span){t->span.file, t->span.start + 1, t->span.end - 1};
	return out;
}
