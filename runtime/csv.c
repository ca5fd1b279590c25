/* Tables of numbers as text.
 *
 * Fields are separated by commas, or where the first line has none, by semicolons or tabs; they may be quoted; blank lines
 * are skipped.  A first line with a field that is no number names the columns.  The whole file is read at once; opening
 * checks every field, so that reading cannot fail. */
#include "array.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct table {
	char *text; /* NUL-terminated */
	char *data; /* the first line of numbers */
	long data_line;
	char separator;
	int64_t rows, columns;
	int64_t first, count; /* the chosen columns */
} table;

/* One field: blanks and quotes around it removed, its end marked by position, not by a NUL. */
typedef struct field {
	char *at;
	size_t n;
	bool last; /* of its line */
} field;

static char *next_field(const table *t, char *s, field *f)
{
	while (*s == ' ' || (*s == '\t' && t->separator != '\t'))
		s++;
	char *end;
	if (*s == '"') {
		f->at = ++s;
		while (*s && *s != '"' && *s != '\n')
			s++;
		f->n = (size_t)(s - f->at);
		if (*s == '"')
			s++;
		while (*s && *s != t->separator && *s != '\n')
			s++;
		end = s;
	} else {
		f->at = s;
		while (*s && *s != t->separator && *s != '\n')
			s++;
		end = s;
		while (s > f->at && (s[-1] == ' ' || s[-1] == '\r' || s[-1] == '\t'))
			s--;
		f->n = (size_t)(s - f->at);
	}
	f->last = *end != t->separator;
	return *end ? end + 1 : end;
}

/* The next line that is not blank, counting; NULL at the end. */
static char *skip_blank(char *s, long *line)
{
	for (;;) {
		char *p = s;
		while (*p == ' ' || *p == '\t' || *p == '\r')
			p++;
		if (*p == 0)
			return NULL;
		if (*p != '\n')
			return s;
		s = p + 1;
		++*line;
	}
}

/* 0: no number; 1: a float; 2: an integer of 64 bits; 3: of 32. */
static int number(const field *f, double *real, int64_t *whole)
{
	char *end;
	if (f->n == 0 || f->at[0] == '\n')
		return 0;
	size_t digits = f->at[0] == '-' || f->at[0] == '+';
	digits = digits < f->n && strspn(f->at + digits, "0123456789") >= f->n - digits;
	errno = 0;
	if (digits) {
		*whole = strtoll(f->at, &end, 10);
		if (!errno && end == f->at + f->n) {
			*real = (double)*whole;
			return *whole >= INT32_MIN && *whole <= INT32_MAX ? 3 : 2;
		}
	}
	*real = strtod(f->at, &end);
	return end == f->at + f->n;
}

static bool load(tsr_rt_array *a, table *t)
{
	uint64_t size;
	FILE *f = tsr_rt_open(a, &size);
	if (!f)
		return false;
	bool good = size < SIZE_MAX && (t->text = malloc((size_t)size + 1));
	if (!good)
		tsr_rt_wrong(a, "no memory for %llu bytes", (unsigned long long)size);
	else if (fread(t->text, 1, (size_t)size, f) != size)
		good = tsr_rt_wrong(a, "could not be read to its end");
	else {
		t->text[size] = 0;
		if (strlen(t->text) != size)
			good = tsr_rt_wrong(a, "is not text: it holds a zero byte");
	}
	fclose(f);
	return good;
}

static void find_separator(table *t, const char *line)
{
	size_t n = strcspn(line, "\n");
	t->separator = memchr(line, ',', n) ? ',' : memchr(line, ';', n) ? ';' : memchr(line, '\t', n) ? '\t' : ',';
}

/* Counts the columns of the first line and decides whether it is a header. */
static bool first_line(tsr_rt_array *a, table *t, char **names)
{
	t->data_line = 1;
	char *s = skip_blank(t->text, &t->data_line);
	if (!s)
		return tsr_rt_wrong(a, "is empty");
	if (strncmp(s, "\xEF\xBB\xBF", 3) == 0)
		s += 3;
	find_separator(t, s);
	t->data = s;
	*names = NULL;
	field f;
	double real;
	int64_t whole;
	do {
		s = next_field(t, s, &f);
		t->columns++;
		if (!number(&f, &real, &whole))
			*names = t->data;
	} while (!f.last);
	if (*names) {
		t->data = s;
		t->data_line++;
	}
	return true;
}

/* Every field is a number, every row is as long as the first; the precision that holds the chosen columns. */
static bool check_fields(tsr_rt_array *a, table *t)
{
	long line = t->data_line;
	int kind = 3;
	for (char *s = t->data; (s = skip_blank(s, &line)); line++) {
		int64_t column = 0;
		field f;
		do {
			double real;
			int64_t whole;
			s = next_field(t, s, &f);
			bool chosen = column >= t->first && column - t->first < t->count;
			int found = number(&f, &real, &whole);
			if (chosen && !found)
				return tsr_rt_wrong(a, "line %ld, column %lld: '%.*s' is not a number", line, (long long)column + 1,
									(int)(f.n < 40 ? f.n : 40), f.at);
			if (chosen && found < kind)
				kind = found;
			column++;
		} while (!f.last);
		if (column != t->columns)
			return tsr_rt_wrong(a, "line %ld has %lld fields, and the first line has %lld", line, (long long)column,
								(long long)t->columns);
		t->rows++;
	}
	a->header.prec = kind == 3 ? TSR_I32 : kind == 2 ? TSR_I64 : TSR_F32;
	return true;
}

/* "7" or "0..63", positions from 0. */
static bool numbered(table *t, const char *key, bool *range)
{
	long long from, to;
	int used = 0;
	*range = false;
	if (key[0] < '0' || key[0] > '9')
		return false;
	if (sscanf(key, "%lld..%lld%n", &from, &to, &used) == 2 && !key[used])
		*range = true;
	else if (sscanf(key, "%lld%n", &from, &used) == 1 && !key[used])
		to = from;
	else
		return false;
	t->first = from;
	t->count = to - from + 1;
	return from <= to && to < t->columns;
}

static bool choose(tsr_rt_array *a, table *t, char *names)
{
	bool range = true;
	t->count = t->columns;
	if (!a->key) {
		range = t->columns > 1;
	} else {
		bool found = false;
		field f = {.last = names == NULL};
		for (int64_t column = 0; !f.last && !found; column++) {
			names = next_field(t, names, &f);
			if (f.n == strlen(a->key) && memcmp(f.at, a->key, f.n) == 0) {
				t->first = column;
				t->count = 1;
				found = true;
				range = false;
			}
		}
		if (!found && !numbered(t, a->key, &range))
			return tsr_rt_wrong(a, "has no column '%.60s' among its %lld", a->key, (long long)t->columns);
	}
	a->header.rank = range ? 2 : 1;
	return true;
}

static void shut(tsr_rt_array *a)
{
	table *t = a->state;
	free(t->text);
	free(t);
}

static bool open_csv(tsr_rt_array *a)
{
	table *t = a->state = calloc(1, sizeof *t);
	if (!t)
		return tsr_rt_wrong(a, "no memory");
	char *names = NULL;
	if (load(a, t) && first_line(a, t, &names) && choose(a, t, names) && check_fields(a, t)) {
		a->header.dims[0] = t->rows;
		a->header.dims[1] = t->count;
		return true;
	}
	shut(a);
	return false;
}

static bool read_csv(tsr_rt_array *a, void *data)
{
	const table *t = a->state;
	long line = 0;
	int64_t at = 0;
	for (char *s = t->data; (s = skip_blank(s, &line));) {
		field f;
		int64_t column = 0;
		do {
			double real = 0;
			int64_t whole = 0;
			s = next_field(t, s, &f);
			if (column >= t->first && column - t->first < t->count) {
				bool integer = number(&f, &real, &whole) > 1;
				if (integer)
					tsr_element_set_i64(data, a->header.prec, at++, whole);
				else
					tsr_element_set_f64(data, a->header.prec, at++, real);
			}
			column++;
		} while (!f.last);
	}
	return true;
}

const tsr_file_format tsr_format_csv = {"tsr_format_csv", ".csv", open_csv, read_csv, shut, true};
