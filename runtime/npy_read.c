/* The npy format (NumPy's own; versions 1 to 3), read from any source of bytes.
 *
 * A magic string, a version, the length of a header, the header as a Python dictionary of three entries, the elements.
 * The dictionary is read by a small scanner that accepts any order, blanks and either quote, and nothing else. */
#include "array.h"
#include <stdlib.h>
#include <string.h>

enum { LONGEST_HEADER = 1 << 20 };

/* ---- element types ---- */

static const struct {
	const char *text;
	int prec;
} types[] = {{"b1", TSR_BOOL}, {"u1", TSR_U8},  {"i1", TSR_I8},  {"i2", TSR_I16}, {"i4", TSR_I32}, {"u4", TSR_U32},
			 {"i8", TSR_I64},  {"f2", TSR_F16}, {"f4", TSR_F32}, {"f8", TSR_F64}, {"V1", TSR_F8},  {"V2", TSR_BF16}};

static bool element_type(tsr_rt_array *a, const char *descr)
{
	char order = descr[0];
	if (order && strchr("<>|=", order)) {
		descr++;
	} else {
		order = '=';
	}
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		if (strcmp(descr, types[i].text) != 0)
			continue;
		a->header.prec = types[i].prec;
		if (order == '>' && tsr_rt_prec_bytes(types[i].prec) > 1)
			return tsr_rt_wrong(a, "holds big-endian numbers ('>%s'); save it with .astype('<%s')", descr, descr);
		return true;
	}
	return tsr_rt_wrong(a, "holds elements of type '%.40s', which is none of the precisions here", descr);
}

/* ---- the dictionary ---- */

typedef struct scanner {
	const char *at; /* NUL-terminated */
	tsr_rt_array *array;
} scanner;

static bool malformed(tsr_rt_array *a)
{
	return tsr_rt_wrong(a, "has a malformed npy header");
}

static void blanks(scanner *s)
{
	while (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r')
		s->at++;
}

static bool take(scanner *s, char c)
{
	blanks(s);
	if (*s->at != c)
		return false;
	s->at++;
	return true;
}

static bool word(scanner *s, const char *text)
{
	size_t n = strlen(text);
	blanks(s);
	if (strncmp(s->at, text, n) != 0)
		return false;
	s->at += n;
	return true;
}

/* A quoted string without escapes, of less than `size` bytes. */
static bool quoted(scanner *s, char *to, size_t size)
{
	blanks(s);
	char quote = *s->at;
	if (quote != '\'' && quote != '"')
		return false;
	const char *end = strchr(s->at + 1, quote);
	if (!end || (size_t)(end - s->at) > size)
		return false;
	size_t n = (size_t)(end - s->at) - 1;
	memcpy(to, s->at + 1, n);
	to[n] = 0;
	s->at = end + 1;
	return true;
}

/* A size; Python 2 wrote an L behind it. */
static bool size(scanner *s, int64_t *value)
{
	blanks(s);
	if (*s->at < '0' || *s->at > '9')
		return false;
	for (*value = 0; *s->at >= '0' && *s->at <= '9'; s->at++)
		if (__builtin_mul_overflow(*value, (int64_t)10, value) || __builtin_add_overflow(*value, *s->at - '0', value))
			return tsr_rt_wrong(s->array, "has an axis longer than any memory");
	if (*s->at == 'L')
		s->at++;
	return true;
}

static bool shape(scanner *s)
{
	tsr_header *h = &s->array->header;
	if (!take(s, '('))
		return malformed(s->array);
	for (h->rank = 0; !take(s, ')'); h->rank++) {
		if (h->rank == TSR_MAX_RANK)
			return tsr_rt_wrong(s->array, "has more than %d axes", TSR_MAX_RANK);
		s->array->error[0] = 0;
		if (!size(s, &h->dims[h->rank]))
			return s->array->error[0] ? false : malformed(s->array);
		if (!take(s, ',')) {
			h->rank++;
			return take(s, ')') || malformed(s->array);
		}
	}
	return true;
}

static bool entry(scanner *s, tsr_rt_source *source, unsigned *seen)
{
	char name[24], descr[64];
	if (!quoted(s, name, sizeof name) || !take(s, ':'))
		return malformed(s->array);
	if (strcmp(name, "shape") == 0) {
		*seen |= 1;
		return shape(s);
	}
	if (strcmp(name, "fortran_order") == 0) {
		*seen |= 2;
		source->fortran = word(s, "True");
		return source->fortran || word(s, "False") || malformed(s->array);
	}
	if (strcmp(name, "descr") == 0) {
		*seen |= 4;
		blanks(s);
		if (*s->at == '[')
			return tsr_rt_wrong(s->array, "holds records (a structured type), not numbers");
		return quoted(s, descr, sizeof descr) ? element_type(s->array, descr) : malformed(s->array);
	}
	return malformed(s->array);
}

static bool dictionary(scanner *s, tsr_rt_source *source)
{
	unsigned seen = 0;
	if (!take(s, '{'))
		return malformed(s->array);
	while (!take(s, '}')) {
		if (!entry(s, source, &seen))
			return false;
		if (!take(s, ',')) {
			if (!take(s, '}'))
				return malformed(s->array);
			break;
		}
	}
	blanks(s);
	return (seen == 7 && !*s->at) || malformed(s->array);
}

/* ---- the stream ---- */

static bool some(tsr_rt_source *s, tsr_rt_array *a, void *to, size_t n)
{
	if (n > s->left)
		return tsr_rt_wrong(a, "is cut short: %llu bytes are missing", (unsigned long long)(n - s->left));
	s->left -= n;
	return s->read(s, a, to, n);
}

bool tsr_rt_npy_header(tsr_rt_source *s, tsr_rt_array *a)
{
	unsigned char start[12];
	if (s->left < 10)
		return tsr_rt_wrong(a, "is not an npy array: it has only %llu bytes", (unsigned long long)s->left);
	if (!some(s, a, start, 8))
		return false;
	if (memcmp(start, "\x93NUMPY", 6) != 0)
		return tsr_rt_wrong(a, "is not an npy array: it does not begin like one");
	if (start[6] < 1 || start[6] > 3)
		return tsr_rt_wrong(a, "is an npy array of version %d.%d; 1 to 3 are read", start[6], start[7]);
	size_t field = start[6] == 1 ? 2 : 4, length = 0;
	if (!some(s, a, start, field))
		return false;
	for (size_t i = field; i--;)
		length = length << 8 | start[i];
	if (length > LONGEST_HEADER)
		return malformed(a);
	char *text = malloc(length + 1);
	if (!text)
		return tsr_rt_wrong(a, "no memory for its header");
	bool good = some(s, a, text, length);
	if (good) {
		text[length] = 0;
		scanner scan = {text, a};
		good = strlen(text) == length ? dictionary(&scan, s) : malformed(a);
	}
	free(text);
	return good;
}

/* Column-major elements into row-major places: `index` counts through the file's order, first axis fastest. */
static void transpose(const tsr_header *h, const char *from, char *to, size_t size)
{
	int64_t index[TSR_MAX_RANK] = {0}, stride[TSR_MAX_RANK], count = 1, at = 0;
	for (int32_t k = h->rank; k--;) {
		stride[k] = count;
		count *= h->dims[k];
	}
	for (int64_t n = 0; n < count; n++, from += size) {
		memcpy(to + (size_t)at * size, from, size);
		for (int32_t k = 0; k < h->rank; k++) {
			at += stride[k];
			if (++index[k] < h->dims[k])
				break;
			at -= stride[k] * h->dims[k];
			index[k] = 0;
		}
	}
}

bool tsr_rt_npy_data(tsr_rt_source *s, tsr_rt_array *a, void *data)
{
	if (!s->fortran || a->header.rank < 2 || !a->bytes)
		return some(s, a, data, a->bytes);
	char *columns = malloc(a->bytes);
	if (!columns)
		return tsr_rt_wrong(a, "no memory for %zu bytes", a->bytes);
	bool good = some(s, a, columns, a->bytes);
	if (good)
		transpose(&a->header, columns, data, tsr_rt_prec_bytes(a->header.prec));
	free(columns);
	return good;
}
