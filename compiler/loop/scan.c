/* Cuts the textual loop IR into tokens: names with a sigil or without, numbers, strings, single characters and "..". */
#include "scan.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void tsr_loop_expected(tsr_loop_scanner *k, const char *expected)
{
	if (k->failed)
		return;
	k->failed = true;
	tsr_span span = {k->file, k->now.start, k->now.end};
	tsr_report(k->tc, TSR_E_LOOP_TEXT, span, "%s is expected here", expected);
}

static bool name_char(const char *s)
{
	return isalnum((unsigned char)*s) || *s == '_' || *s == '\'' || (*s == '.' && (isalnum((unsigned char)s[1]) || s[1] == '_'));
}

static uint32_t plain_name(tsr_loop_scanner *k, uint32_t at)
{
	while (name_char(k->text + at))
		at++;
	return at;
}

/* The contents of the string that begins at `at`; *end is past its closing quote. */
static tsr_name string_at(tsr_loop_scanner *k, uint32_t at, uint32_t *end)
{
	size_t room = 1, n = 0;
	while (k->text[at + room] && k->text[at + room] != '"')
		room += k->text[at + room] == '\\' && k->text[at + room + 1] ? 2 : 1;
	char *s = tsr_alloc(k->tc->arena, room);
	for (at++; k->text[at] && k->text[at] != '"'; at++) {
		char c = k->text[at];
		if (c == '\\' && k->text[at + 1])
			c = k->text[++at] == 'n' ? '\n' : k->text[at];
		s[n++] = c;
	}
	if (!k->text[at])
		tsr_loop_expected(k, "a closing \"");
	*end = k->text[at] ? at + 1 : at;
	return tsr_intern_n(k->tc->names, s, n);
}

static void number_token(tsr_loop_scanner *k)
{
	const char *s = k->text + k->at;
	size_t digits = strspn(s, "0123456789"), n = digits;
	if (s[n] == '.' && s[n + 1] != '.')
		n += 1 + strspn(s + n + 1, "0123456789");
	if ((s[n] == 'e' || s[n] == 'E') && (isdigit((unsigned char)s[n + 1]) || ((s[n + 1] == '-' || s[n + 1] == '+') && isdigit((unsigned char)s[n + 2]))))
		n += 2 + strspn(s + n + 2, "0123456789");
	k->now.kind = n == digits ? TSR_TOKEN_INT : TSR_TOKEN_FLOAT;
	k->now.d = strtod(s, NULL);
	k->now.i = (int64_t)strtoull(s, NULL, 10);
	k->at += (uint32_t)n;
}

static tsr_loop_token_kind sigil_kind(char c)
{
	return c == '%' ? TSR_TOKEN_BUFFER : c == '@' ? TSR_TOKEN_NUMBER : c == '?' ? TSR_TOKEN_SYMBOL : TSR_TOKEN_NAME;
}

void tsr_loop_next(tsr_loop_scanner *k)
{
	while (isspace((unsigned char)k->text[k->at]) || k->text[k->at] == '#')
		k->at += k->text[k->at] == '#' ? (uint32_t)strcspn(k->text + k->at, "\n") : 1;
	const char *s = k->text + k->at;
	k->now = (tsr_loop_token){.start = k->at};
	bool sigil = sigil_kind(*s) != TSR_TOKEN_NAME && (isalpha((unsigned char)s[1]) || s[1] == '_' || s[1] == '"');
	if (!*s) {
		k->now.kind = TSR_TOKEN_END;
	} else if (sigil || isalpha((unsigned char)*s) || *s == '_') {
		uint32_t start = k->at + (sigil ? 1 : 0), end;
		k->now.kind = sigil_kind(*s);
		if (k->text[start] == '"')
			k->now.text = string_at(k, start, &end);
		else
			k->now.text = tsr_intern_n(k->tc->names, k->text + start, (end = plain_name(k, start)) - start);
		k->at = end;
	} else if (*s == '"') {
		k->now.kind = TSR_TOKEN_STRING;
		k->now.text = string_at(k, k->at, &k->at);
	} else if (isdigit((unsigned char)*s)) {
		number_token(k);
	} else if (*s == '$' && isdigit((unsigned char)s[1])) {
		k->now.kind = TSR_TOKEN_LOCAL;
		k->at++;
		number_token(k);
		k->now.kind = TSR_TOKEN_LOCAL;
	} else {
		size_t n = s[0] == '.' && s[1] == '.' ? 2 : 1;
		k->now.kind = TSR_TOKEN_PUNCT;
		k->now.text = tsr_intern_n(k->tc->names, s, n);
		k->at += (uint32_t)n;
	}
	k->now.end = k->at;
}

bool tsr_loop_is(const tsr_loop_scanner *k, tsr_loop_token_kind kind, const char *text)
{
	return !k->failed && k->now.kind == kind && !strcmp(k->now.text, text);
}

bool tsr_loop_accept(tsr_loop_scanner *k, tsr_loop_token_kind kind, const char *text)
{
	bool yes = tsr_loop_is(k, kind, text);
	if (yes)
		tsr_loop_next(k);
	return yes;
}

void tsr_loop_expect(tsr_loop_scanner *k, const char *text)
{
	if (!tsr_loop_accept(k, TSR_TOKEN_PUNCT, text))
		tsr_loop_expected(k, tsr_format(k->tc->arena, "'%s'", text));
}

tsr_name tsr_loop_expect_name(tsr_loop_scanner *k, tsr_loop_token_kind kind, const char *what)
{
	tsr_name text = k->now.text;
	if (k->failed || k->now.kind != kind) {
		tsr_loop_expected(k, what);
		return "";
	}
	tsr_loop_next(k);
	return text;
}
