/* The string builder, and how a floating-point number is written: the fewest digits that read back as the same number,
 * positional between 1e-5 and 1e16, with an exponent outside. */
#include "text.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tsr_text_init(tsr_text *t, tsr_arena *a)
{
	*t = (tsr_text){.arena = a};
}

/* Room for n more characters and the NUL. */
static void reserve(tsr_text *t, size_t n)
{
	size_t want = t->n + n + 1;
	if (want <= t->cap)
		return;
	size_t cap = t->cap ? t->cap * 2 : 64;
	if (cap < want)
		cap = want;
	t->at = tsr_realloc(t->arena, t->at, t->n, cap);
	t->cap = cap;
}

void tsr_text_add_n(tsr_text *t, const char *s, size_t n)
{
	reserve(t, n);
	if (n)
		memcpy(t->at + t->n, s, n);
	t->n += n;
}

void tsr_text_add(tsr_text *t, const char *s)
{
	tsr_text_add_n(t, s, strlen(s));
}

void tsr_text_char(tsr_text *t, char c)
{
	tsr_text_add_n(t, &c, 1);
}

void tsr_text_addf(tsr_text *t, const char *fmt, ...)
{
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (n > 0) {
		reserve(t, (size_t)n);
		vsnprintf(t->at + t->n, (size_t)n + 1, fmt, again);
		t->n += (size_t)n;
	}
	va_end(again);
}

/* The decimal digits of |x|, without trailing zeros, and the exponent of the first one. */
static int shortest_digits(double x, char digits[32], int *exponent)
{
	char s[40];
	for (int precision = 0; precision < 17; precision++) {
		snprintf(s, sizeof s, "%.*e", precision, fabs(x));
		if (strtod(s, NULL) == fabs(x))
			break;
	}
	int n = 0;
	const char *p = s;
	for (; *p != 'e'; p++)
		if (*p != '.')
			digits[n++] = *p;
	*exponent = atoi(p + 1);
	while (n > 1 && digits[n - 1] == '0')
		n--;
	return n;
}

void tsr_text_float(tsr_text *t, double x)
{
	if (isnan(x)) {
		tsr_text_add(t, "nan");
		return;
	}
	if (signbit(x))
		tsr_text_char(t, '-');
	if (isinf(x)) {
		tsr_text_add(t, "inf");
		return;
	}
	char digits[32];
	int e, n = shortest_digits(x, digits, &e);
	if (e < -5 || e >= 16) {
		tsr_text_char(t, digits[0]);
		if (n > 1)
			tsr_text_char(t, '.');
		tsr_text_add_n(t, digits + 1, (size_t)n - 1);
		tsr_text_addf(t, "e%d", e);
		return;
	}
	if (e < 0)
		tsr_text_char(t, '0');
	for (int i = 0; i <= e; i++)
		tsr_text_char(t, i < n ? digits[i] : '0');
	tsr_text_char(t, '.');
	for (int i = -1; i > e; i--)
		tsr_text_char(t, '0');
	for (int i = e < 0 ? 0 : e + 1; i < n; i++)
		tsr_text_char(t, digits[i]);
}

const char *tsr_text_str(tsr_text *t)
{
	reserve(t, 0);
	t->at[t->n] = 0;
	return t->at;
}

/* Length of the UTF-8 character at s, 0 where there is none: overlong forms, surrogates and what lies past U+10FFFF are refused. */
static size_t utf8_length(const unsigned char *s)
{
	if (s[0] < 0x80)
		return 1;
	size_t n = s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return n;
}

void tsr_text_json(tsr_text *t, const char *s)
{
	tsr_text_char(t, '"');
	while (*s) {
		size_t n = utf8_length((const unsigned char *)s);
		if (*s == '"' || *s == '\\')
			tsr_text_addf(t, "\\%c", *s);
		else if (*s == '\n')
			tsr_text_add(t, "\\n");
		else if (*s == '\t')
			tsr_text_add(t, "\\t");
		else if ((unsigned char)*s < 0x20 || *s == 0x7f)
			tsr_text_addf(t, "\\u%04x", (unsigned)(unsigned char)*s);
		else if (n)
			tsr_text_add_n(t, s, n);
		else
			tsr_text_add(t, "\\ufffd");
		s += n ? n : 1;
	}
	tsr_text_char(t, '"');
}

size_t tsr_utf8_length(const char *p, const char *end)
{
	unsigned char c = (unsigned char)*p;
	size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
	if (n == 0 || (size_t)(end - p) < n)
		return 0;
	for (size_t i = 1; i < n; i++)
		if (((unsigned char)p[i] & 0xc0) != 0x80)
			return 0;
	unsigned char second = n > 2 ? (unsigned char)p[1] : 0x90;
	return (c == 0xe0 && second < 0xa0) || (c == 0xf0 && second < 0x90) || (c == 0xf4 && second > 0x8f) ? 0 : n;
}
