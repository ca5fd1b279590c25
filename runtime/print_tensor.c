/* A whole tensor as text.
 *
 *   y : 2  [0. 7.5]
 *   a : 3 -> 2
 *     [[1. 2. 3.]
 *      [4. 5. 6.]]
 *
 * A vector that fits stays on the line of its name.  From rank 2 on the innermost axis runs along a line and its columns
 * are aligned at the point.  Rows longer than LINE columns go on below.  Above ALL elements an axis shows EDGE positions at each end. */
#include "internal.h"
#include <string.h>

enum { ALL = 1000, EDGE = 3, LINE = 100, MARGIN = 2 };

typedef struct layout {
	tsr_ctx *ctx;
	const void *data;
	int prec;
	int64_t rank;
	const int64_t *dims;
	bool edges;      /* leave out what is not at an edge */
	size_t before, after; /* columns of the longest element up to its point, and from there on */
	int64_t column;  /* where the next character goes */
} layout;

static size_t element(const layout *l, int64_t at, char *text)
{
	enum tsr_rt_family family = tsr_rt_prec_family(l->prec);
	if (family == TSR_FAMILY_FLOAT)
		return tsr_rt_number_f64(text, tsr_element_f64(l->data, l->prec, at), 0, -1, 0, l->prec != TSR_F64);
	int64_t value = tsr_element_i64(l->data, l->prec, at);
	if (family == TSR_FAMILY_BOOL)
		return (size_t)sprintf(text, "%s", value ? "true" : "false");
	return tsr_rt_number_i64(text, value, 0, 0);
}

/* Characters before the point or the exponent, or all. */
static size_t until_point(const layout *l, const char *text)
{
	return tsr_rt_prec_family(l->prec) == TSR_FAMILY_FLOAT ? strcspn(text, ".e") : strlen(text);
}

/* The position after `k` that is shown; the gap of an abridged axis is jumped over. */
static int64_t following(const layout *l, int64_t axis, int64_t k)
{
	bool abridged = l->edges && l->dims[axis] > 2 * EDGE;
	return abridged && k == EDGE - 1 ? l->dims[axis] - EDGE : k + 1;
}

static void measure(layout *l, int64_t axis, int64_t offset)
{
	if (axis == l->rank) {
		char text[TSR_RT_NUMBER];
		size_t n = element(l, offset, text), before = until_point(l, text);
		if (before > l->before)
			l->before = before;
		if (n - before > l->after)
			l->after = n - before;
		return;
	}
	for (int64_t k = 0; k < l->dims[axis]; k = following(l, axis, k))
		measure(l, axis + 1, offset * l->dims[axis] + k);
}

static void put(layout *l, const char *text, size_t n)
{
	tsr_rt_write(l->ctx, text, n);
	l->column += (int64_t)n;
}

static void blanks(layout *l, size_t n)
{
	while (n--)
		put(l, " ", 1);
}

static void new_line(layout *l, int64_t indent)
{
	put(l, "\n", 1);
	l->column = 0;
	blanks(l, (size_t)(MARGIN + indent));
}

/* Between two entries of an axis: a line break for rows, a blank (or a break where the line is full) for elements. */
static void separate(layout *l, int64_t axis, size_t next)
{
	if (axis + 1 < l->rank || l->column + 1 + (int64_t)next > LINE)
		new_line(l, axis + 1);
	else
		put(l, " ", 1);
}

static void show(layout *l, int64_t axis, int64_t offset)
{
	char text[TSR_RT_NUMBER];
	put(l, "[", 1);
	for (int64_t k = 0, next; k < l->dims[axis]; k = next) {
		next = following(l, axis, k);
		if (axis + 1 < l->rank) {
			if (k)
				separate(l, axis, 0);
			show(l, axis + 1, offset * l->dims[axis] + k);
		} else {
			size_t n = element(l, offset * l->dims[axis] + k, text), before = until_point(l, text);
			size_t left = l->before > before ? l->before - before : 0, after = n - before;
			size_t right = l->after > after ? l->after - after : 0;
			if (k)
				separate(l, axis, left + n + right);
			blanks(l, left);
			put(l, text, n);
			blanks(l, right);
		}
		if (next > k + 1) {
			separate(l, axis, 3);
			put(l, "...", 3);
		}
	}
	put(l, "]", 1);
}

/* A size that was not known while compiling is put in from dims. */
static void shape_text(layout *l, const char *shape)
{
	for (const char *c = shape; *c; c++) {
		char text[TSR_RT_NUMBER];
		if (*c != TSR_SHAPE_SIZE)
			put(l, c, 1);
		else
			put(l, text, tsr_rt_number_i64(text, l->dims[*++c - 'A'], 0, 0));
	}
}

void tsr_print_tensor(tsr_ctx *ctx, const char *name, int32_t prec, int64_t nb, int64_t no, int64_t ni,
					  const int64_t *dims, const char *shape, const void *data)
{
	layout l = {.ctx = ctx, .data = data, .prec = prec, .rank = nb + no + ni, .dims = dims};
	int64_t count = 1;
	for (int64_t k = 0; k < l.rank; k++)
		if (__builtin_mul_overflow(count, dims[k], &count))
			count = INT64_MAX;
	l.edges = count > ALL;
	put(&l, name, strlen(name));
	if (shape[0]) {
		put(&l, " : ", 3);
		shape_text(&l, shape);
	}
	if (l.rank < 2)
		put(&l, "  ", 2);
	if (l.rank == 0) {
		char text[TSR_RT_NUMBER];
		put(&l, text, element(&l, 0, text));
	} else if (l.rank == 1) {
		show(&l, 0, 0);
	} else {
		measure(&l, 0, 0);
		new_line(&l, 0);
		show(&l, 0, 0);
	}
	put(&l, "\n", 1);
}
