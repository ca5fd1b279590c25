/* Numbers as text: the same digits for print, strings and whole tensors.
 *
 * Without a precision a float is written with the fewest digits that read back as the same number, positional between 1e-5
 * and 1e16 (always with a point: "7.", "0.1") and with an exponent outside ("1e20", "2.5e-7"). */
#include "internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WIDTH = TSR_RT_NUMBER - 8, MAX_PRECISION = 100, LOWEST_POSITIONAL = -5, FIRST_EXPONENT = 16 };

/* Digits of |x| without trailing zeros, and the decimal exponent of the first. */
static int shortest_digits(double x, bool single, char digits[32], int *exponent)
{
	char s[40];
	x = fabs(x);
	for (int precision = 0; precision < 17; precision++) {
		snprintf(s, sizeof s, "%.*e", precision, x);
		if (single ? (double)strtof(s, NULL) == x : strtod(s, NULL) == x)
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

/* Body of a finite number, without its sign. */
static size_t shortest(char *to, double x, bool single, int style)
{
	char digits[32] = "", *t = to;
	int e, n = shortest_digits(x, single, digits, &e);
	if (style == TSR_STYLE_EXPONENT || (style != TSR_STYLE_FIXED && (e < LOWEST_POSITIONAL || e >= FIRST_EXPONENT))) {
		*t++ = digits[0];
		if (n > 1)
			*t++ = '.';
		memcpy(t, digits + 1, (size_t)n - 1);
		t += n - 1;
		return (size_t)(t - to) + (size_t)sprintf(t, "e%d", e);
	}
	if (e < 0)
		*t++ = '0';
	for (int i = 0; i <= e; i++)
		*t++ = i < n ? digits[i] : '0';
	*t++ = '.';
	for (int i = -1; i > e; i--)
		*t++ = '0';
	for (int i = e < 0 ? 0 : e + 1; i < n; i++)
		*t++ = digits[i];
	if (style == TSR_STYLE_GENERAL && t[-1] == '.')
		t--;
	return (size_t)(t - to);
}

/* Sign and body joined and padded: zeros go between the two. */
static size_t pad(char *to, const char *sign, const char *body, size_t n, int64_t width, bool zeros)
{
	size_t signs = strlen(sign), used = signs + n;
	size_t columns = (size_t)(width < 0 ? -width : width);
	if (width < -MAX_WIDTH || width > MAX_WIDTH)
		columns = MAX_WIDTH;
	size_t fill = columns > used ? columns - used : 0;
	char *t = to;
	if (width > 0 && !zeros)
		t = (char *)memset(t, ' ', fill) + fill;
	t = (char *)memcpy(t, sign, signs) + signs;
	if (width > 0 && zeros)
		t = (char *)memset(t, '0', fill) + fill;
	t = (char *)memcpy(t, body, n) + n;
	if (width < 0)
		t = (char *)memset(t, ' ', fill) + fill;
	*t = 0;
	return (size_t)(t - to);
}

size_t tsr_rt_number_f64(char *to, double value, int64_t width, int64_t precision, int32_t style, bool single)
{
	char body[TSR_RT_NUMBER];
	int letter = style & 255;
	bool nan = isnan(value);
	const char *sign = signbit(value) && !nan ? "-" : style & TSR_STYLE_SIGN && !nan ? "+" : "";
	if (nan || isinf(value))
		return pad(to, sign, nan ? "nan" : "inf", 3, width, false);
	size_t n;
	int digits = precision > MAX_PRECISION ? MAX_PRECISION : (int)precision;
	if (precision < 0)
		n = shortest(body, value, single, letter);
	else if (letter == TSR_STYLE_EXPONENT)
		n = (size_t)snprintf(body, sizeof body, "%.*e", digits, fabs(value));
	else if (letter == TSR_STYLE_GENERAL)
		n = (size_t)snprintf(body, sizeof body, "%.*g", digits, fabs(value));
	else
		n = (size_t)snprintf(body, sizeof body, "%.*f", digits, fabs(value));
	return pad(to, sign, body, n, width, style & TSR_STYLE_ZEROS);
}

size_t tsr_rt_number_i64(char *to, int64_t value, int64_t width, int32_t style)
{
	char body[32];
	uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	const char *form = (style & 255) == TSR_STYLE_HEX ? "%llx" : "%llu";
	size_t n = (size_t)snprintf(body, sizeof body, form, (unsigned long long)size);
	const char *sign = value < 0 ? "-" : style & TSR_STYLE_SIGN ? "+" : "";
	return pad(to, sign, body, n, width, style & TSR_STYLE_ZEROS);
}
