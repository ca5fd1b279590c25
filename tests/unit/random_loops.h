/* Random programs of several units that share buffers, as text: nests that store, update and collect, over rows, columns and scalars;
 * sums in which one position counts, and sums up to each position.
 * Numbers are small and dyadic, and only exact operations occur, so that no order of summation can excuse a difference. */
#ifndef TSR_TESTS_RANDOM_LOOPS_H
#define TSR_TESTS_RANDOM_LOOPS_H
#include "../../compiler/opt/opt.h"
#include "../../compiler/base/text.h"
#include "check.h"
#include "draw.h"
#include <stdlib.h>

enum { BUFFERS = 9, IDS = BUFFERS, UNITS = 2 };        /* the last one holds positions, of which some are outside */

/* Buffers over the axes i (rows) and j (3): rank 2, row, column, scalar.  In square programs both have 3, and some reads are
 * transposed or reversed. */
static const char *const index_ij[] = { "[i, j]", "[i]", "[j]", "[]" };
static int shape[BUFFERS], rows;

static const char *element(tsr_arena *a, uint32_t b) { return tsr_format(a, "%%b%u%s", b, index_ij[shape[b]]); }

static const char *read_element(tsr_arena *a, uint32_t b)
{
	static const char *const other[] = { "[j, i]", "[i, 2 - j]", "[2 - i, j]", "[2 - j, i]" };
	if (rows == 3 && shape[b] == 0 && draw(3) == 0)
		return tsr_format(a, "%%b%u%s", b, other[draw(4)]);
	return element(a, b);
}

static const char *value(tsr_arena *a, int with, int depth)
{
	uint32_t b = draw(BUFFERS);
	for (int tries = 0; tries < 40 && !(shape[b] == 3 || (with & 1 && shape[b] == 1) || (with & 2 && shape[b] == 2) || (with == 3 && shape[b] == 0)); tries++)
		b = draw(BUFFERS);
	bool fits = shape[b] == 3 || (with & 1 && shape[b] == 1) || (with & 2 && shape[b] == 2) || (with == 3 && shape[b] == 0);
	if (!fits || draw(5) == 0)
		return draw(2) ? "1.0" : draw(2) ? "0.0" : "0.5";
	if (depth > 2 || draw(3) == 0)
		return read_element(a, b);
	const char *x = value(a, with, depth + 1), *y = value(a, with, depth + 1);
	switch (draw(6)) {
	case 0: return tsr_format(a, "add.f32(%s, %s)", x, y);
	case 1: return tsr_format(a, "sub.f32(%s, %s)", x, y);
	case 2: return tsr_format(a, "max.f32(%s, %s)", x, y);
	case 3: return tsr_format(a, "where.f32(lt.f32(%s, 0.5), %s, %s)", x, y, element(a, b));
	case 4: return tsr_format(a, "mul.f32(%s, 0.5)", x);
	default: return tsr_format(a, "neg.f32(%s)", x);
	}
}

/* A product of several factors, each over rows, columns, both or neither.  All but one are 0, 1, 2 or -1: whatever order they are
 * multiplied and summed in is exact. */
static const char *product(tsr_arena *a, int with)
{
	const char *p = value(a, with, 2);
	for (uint32_t n = 1 + draw(4); n > 0; n--) {
		const char *small = tsr_format(a, "where.f32(lt.f32(%s, 0.5), %s, %s)", value(a, with, 3), draw(2) ? "1.0" : "0.0", draw(2) ? "2.0" : "-1.0");
		p = draw(2) ? tsr_format(a, "mul.f32(%s, %s)", p, small) : tsr_format(a, "mul.f32(%s, %s)", small, p);
	}
	return p;
}

static const char *summand(tsr_arena *a, int with) { return draw(3) ? value(a, with, 1) : product(a, with); }

static void loops(tsr_text *t, int with, const char *how_i, const char *how_j)
{
	if (with & 1)
		tsr_text_addf(t, "for i in 0..%d %s {\n", rows, how_i);
	if (with & 2)
		tsr_text_addf(t, "for j in 0..3 %s {\n", how_j);
}

static void close(tsr_text *t, int with)
{
	for (int bit = 1; bit < 4; bit *= 2)
		if (with & bit)
			tsr_text_addf(t, "}");
	tsr_text_add(t, "\n");
}

/* A sum, or an update, of which the position counts that a tensor names: looked up where the other axis is summed, added up where
 * the named one is written. */
static void one_position(tsr_arena *a, tsr_text *t, uint32_t b, int own)
{
	bool along_j = draw(2);
	const char *v = value(a, 3, 1), *how = own == 3 ? "serial" : "parallel";
	while (strstr(v, tsr_format(a, "%%b%u[", b)))
		v = value(a, 3, 2);
	const char *here = tsr_format(a, "eq.i32(%%ids[%s], index.i32(%s))", along_j ? "i" : "j", along_j ? "j" : "i");
	const char *e = draw(3) ? tsr_format(a, "where.f32(%s, %s, 0.0)", here, v)
		: tsr_format(a, draw(2) ? "mul.f32(where.f32(%s, 1.0, 0.0), %s)" : "neg.f32(mul.f32(where.f32(%s, 1.0, 0.0), %s))", here, v);
	loops(t, own, how, how);
	if (own < 3)
		tsr_text_addf(t, "let $0 : f32 = %s\n", draw(2) ? element(a, b) : "0.0");
	loops(t, 3 - own, "reduce", "reduce");
	if (own < 3)
		tsr_text_addf(t, "set $0 = add.f32($0, %s)\n", e);
	else
		tsr_text_addf(t, "update %s += %s\n", element(a, b), e);
	close(t, 3 - own);
	if (own < 3)
		tsr_text_addf(t, "store %s = $0\n", element(a, b));
	close(t, own);
}

/* A sum, or a maximum, of the positions along i before each one, or after it; the written position is called s. The maximum of
 * none is not stored: times a position that does not count it would not be 0. */
static void up_to_each(tsr_arena *a, tsr_text *t, uint32_t b)
{
	static const char *const orders[] = { "le", "lt", "ge", "gt" };
	bool columns = shape[b] == 0, largest = draw(3) == 0, swapped = draw(2);
	const char *x = tsr_format(a, columns ? "%%b%u[s, j]" : "%%b%u[s]", b), *neutral = largest ? "-inf" : "0.0", *v = value(a, columns ? 3 : 1, 1);
	while (strstr(v, tsr_format(a, "%%b%u[", b)))
		v = value(a, columns ? 3 : 1, 2);
	tsr_text_addf(t, "for s in 0..%d parallel {\n%s", rows, columns ? "for j in 0..3 parallel {\n" : "");
	tsr_text_addf(t, "let $0 : f32 = %s\nfor i in 0..%d reduce {\n", draw(2) ? x : neutral, rows);
	tsr_text_addf(t, "set $0 = %s.f32($0, where.f32(%s.i32(index.i32(%s), index.i32(%s)), %s, %s))\n}\n", largest ? "max" : "add", orders[draw(4)],
		swapped ? "s" : "i", swapped ? "i" : "s", v, neutral);
	tsr_text_addf(t, "store %s = %s\n}%s\n", x, largest ? "max.f32($0, -2.0)" : draw(2) ? "$0" : "neg.f32($0)", columns ? "}" : "");
}

static void kernel(tsr_arena *a, tsr_text *t, int n)
{
	static const int over[] = { 3, 1, 2, 0 };
	static const char *const accs[] = { "+=", "-=", "@^=" };
	uint32_t b = draw(BUFFERS);
	int own = over[shape[b]], kind = (int)draw(13);
	tsr_text_addf(t, "kernel k%d {\n", n);
	if (kind > 11 && own & 1) {
		up_to_each(a, t, b);
	} else if (kind > 9) {
		one_position(a, t, b, own);
	} else if (kind < 4) {                       /* point by point; may read what it writes */
		const char *v = value(a, own, 0), *how = strstr(v, tsr_format(a, "%%b%u[", b)) ? "serial" : "parallel";
		loops(t, own, how, how);
		tsr_text_addf(t, "store %s = %s\n", element(a, b), v);
		close(t, own);
	} else if (kind == 4) {
		const char *v = value(a, own, 0), *how = strstr(v, tsr_format(a, "%%b%u[", b)) ? "serial" : "parallel";
		loops(t, own, how, how);
		tsr_text_addf(t, "update %s %s %s\n", element(a, b), accs[draw(3)], v);
		close(t, own);
	} else if (kind > 7 && own < 3) {     /* collected in a local, from nothing or from the element */
		bool element_first = draw(2), largest = draw(3) == 0;
		const char *x = element(a, b), *v = summand(a, 3), *out = "$0";
		while (strstr(v, tsr_format(a, "%%b%u[", b)))
			v = value(a, 3, 2);
		if (!element_first && !largest && draw(2))
			out = draw(2) ? "neg.f32($0)" : tsr_format(a, "sub.f32(%s, $0)", x);
		if (draw(2)) {
			loops(t, own, "parallel", "parallel");
			tsr_text_addf(t, "store %s = %s\n", x, largest ? "-inf" : "0.0");
			close(t, own);
			tsr_text_addf(t, "} kernel k%dc {\n", n);
		}
		loops(t, own, "parallel", "parallel");
		tsr_text_addf(t, "let $0 : f32 = %s\n", element_first ? x : largest ? "-inf" : "0.0");
		loops(t, 3 - own, "reduce", "reduce");
		tsr_text_addf(t, "set $0 = %s.f32($0, %s)\n", largest ? "max" : "add", v);
		close(t, 3 - own);
		tsr_text_addf(t, "store %s = %s\n", x, out);
		close(t, own);
	} else {                              /* cleared or not, summed over what the target lacks */
		const char *acc = accs[draw(3)];
		if (draw(3)) {
			loops(t, own, "parallel", "parallel");
			tsr_text_addf(t, "store %s = %s\n", element(a, b), *acc == '@' ? "-inf" : "0.0");
			close(t, own);
			if (draw(2))
				tsr_text_addf(t, "} kernel k%db {\n", n);
		}
		loops(t, 3, own & 1 ? "parallel" : "reduce", own & 2 ? "parallel" : "reduce");
		const char *v = summand(a, 3);
		while (strstr(v, tsr_format(a, "%%b%u[", b)))
			v = value(a, 3, 2);
		tsr_text_addf(t, "update %s %s %s\n", element(a, b), acc, v);
		close(t, 3);
	}
	tsr_text_add(t, "}\n");
}

static const char *program(tsr_arena *a)
{
	tsr_text t;
	tsr_text_init(&t, a);
	rows = draw(2) ? 4 : 3;
	for (int b = 0; b < BUFFERS; b++) {
		shape[b] = b < 4 ? b : (int)draw(5) % 4;
		const char *kind = draw(3) ? "value" : draw(2) ? "grad" : draw(2) ? "value observed" : "state observed";
		const char *dims = shape[b] == 0 ? tsr_format(a, "[%d, 3]", rows) : shape[b] == 1 ? tsr_format(a, "[%d]", rows) : shape[b] == 2 ? "[3]" : "[]";
		tsr_text_addf(&t, "buffer %%b%d : f32%s %s\n", b, dims, kind);
	}
	tsr_text_add(&t, "buffer %ids : i32[4] input\n");
	for (int u = 0; u < UNITS; u++) {
		tsr_text_addf(&t, "unit u%d {\n", u);
		for (int n = 3 + (int)draw(8); n > 0; n--)
			kernel(a, &t, n);
		tsr_text_add(&t, "}\n");
	}
	return tsr_text_str(&t);
}
#endif
