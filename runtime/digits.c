/* Text as a number: the whole text must be one, blanks around it aside. */
#include "internal.h"
#include <errno.h>
#include <stdlib.h>

static bool only_blanks(const char *s)
{
	while (*s == ' ' || *s == '\t' || *s == '\r' || *s == '\n')
		s++;
	return *s == 0;
}

bool tsr_rt_parse_i64(const char *text, int64_t *value)
{
	char *end;
	errno = 0;
	long long v = strtoll(text, &end, 10);
	if (end == text || errno || !only_blanks(end))
		return false;
	*value = v;
	return true;
}

/* A decimal number, "nan" or "inf"; one too large for f64 is refused, one too small is 0 or the nearest there is. */
bool tsr_rt_parse_f64(const char *text, double *value)
{
	char *end;
	errno = 0;
	double v = strtod(text, &end);
	if (end == text || !only_blanks(end))
		return false;
	if (errno == ERANGE && (v > 1 || v < -1))
		return false;
	*value = v;
	return true;
}
