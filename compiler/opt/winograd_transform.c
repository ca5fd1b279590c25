/* The transforms of winograd.c along one axis (Toom and Cook's), with the points 0, 1, -1 and infinity, or 0, 3/4, -3/4, 3/2, -3/2 and infinity where a tile has four places, or a window five.
 *
 * The window and the tile are polynomials, taken at each point and divided by the product of what the point is apart from the others; the image's points are divided by the polynomial that has all other
 * points for zeros; results are sums of powers of the points.  Infinity takes the leading coefficient.
 *
 * Of points that are pairs p, -p and fractions of powers of two these have about the least error: root mean square of random numbers, 64 channels, 8e-7 of the results, where 0, 1, -1, 2, -2 has 1.7e-6 (and a
 * tile of two 2.8e-7, where a sum in order has 4.3e-7). */
#include "winograd.h"
#include <math.h>

static const double points_4[] = { 0, 1, -1 }, points_6[] = { 0, 0.75, -0.75, 1.5, -1.5 };

static double point(const tsr_winograd *w, int i) { return tsr_wino_points(w) == 4 ? points_4[i] : points_6[i]; }

int tsr_wino_from(const tsr_winograd *w, tsr_wino_side side)
{
	return side == TSR_WINO_WINDOW ? w->taps : side == TSR_WINO_TILE ? w->tile : tsr_wino_points(w);
}

int tsr_wino_to(const tsr_winograd *w, tsr_wino_side side)
{
	return side == TSR_WINO_OF_WINDOW ? w->taps : side == TSR_WINO_OF_TILE ? w->tile : tsr_wino_points(w);
}

static double power(double x, int n)
{
	double all = 1;
	while (n-- > 0)
		all *= x;
	return all;
}

/* How far point i is from all others, multiplied. */
static double apart(const tsr_winograd *w, int i)
{
	double all = 1;
	for (int k = 0; k + 1 < tsr_wino_points(w); k++)
		all *= k == i ? 1 : point(w, i) - point(w, k);
	return all;
}

/* Of x^k in the polynomial that has all points but number i for zeros. */
static double without(const tsr_winograd *w, int i, int k)
{
	double c[TSR_WINO_POINTS] = { 1 };
	for (int j = 0, n = 0; j + 1 < tsr_wino_points(w); j++) {
		if (j == i)
			continue;
		n++;
		for (int m = n; m >= 0; m--)
			c[m] = (m ? c[m - 1] : 0) - point(w, j) * (m < n ? c[m] : 0);
	}
	return c[k];
}

/* Of value number k in what is made, number i, but for the divisor, whose sign is the image's. */
static double coefficient(const tsr_winograd *w, tsr_wino_side side, int i, int k)
{
	int last = tsr_wino_points(w) - 1;
	switch (side) {
	case TSR_WINO_IMAGE: return without(w, i, k) * (i < last && apart(w, i) < 0 ? -1 : 1);
	case TSR_WINO_WINDOW: case TSR_WINO_TILE: return i == last ? k == tsr_wino_from(w, side) - 1 : power(point(w, i), k);
	case TSR_WINO_OF_TILE: case TSR_WINO_OF_WINDOW: break;
	}
	return k == last ? i == tsr_wino_to(w, side) - 1 : power(point(w, k), i);
}

static tsr_expr *operation(const tsr_winograd *w, tsr_op op, tsr_expr *x, tsr_expr *y) { return tsr_expr_op(w->p->arena, op, x->prec, x, y, NULL); }

static tsr_expr *times(const tsr_winograd *w, tsr_expr *x, double factor)
{
	return factor == 1 ? x : operation(w, TSR_OP_MUL, x, tsr_expr_const(w->p->arena, tsr_scalar_of(x->prec, factor)));
}

static tsr_expr *local(const tsr_winograd *w, const tsr_expr *x) { return tsr_expr_local(w->p->arena, x->local, x->prec); }

/* A signed sum; NULL is 0. */
typedef struct signed_sum { tsr_expr *plus, *minus; } signed_sum;

static void add(const tsr_winograd *w, signed_sum *s, tsr_expr *x, bool minus)
{
	tsr_expr **of = minus ? &s->minus : &s->plus;
	*of = *of ? operation(w, TSR_OP_ADD, *of, x) : x;
}

static tsr_expr *joined(const tsr_winograd *w, signed_sum s)
{
	return !s.minus ? s.plus : s.plus ? operation(w, TSR_OP_SUB, s.plus, s.minus) : operation(w, TSR_OP_NEG, s.minus, NULL);
}

/* Values that stand together: those of points of one size, or all of even, or of odd, number, so that what two results share is the same expression, the last of them with a plus; `negative`: it has a minus. */
static tsr_expr *part(const tsr_winograd *w, tsr_wino_side side, int i, int first, int step, int end, tsr_expr *const *value, bool *negative)
{
	signed_sum sum = { NULL, NULL };
	double common = 0, sign = 1;
	for (int k = first; k < end; k += step) {
		double c = value[k] ? coefficient(w, side, i, k) : 0;
		if (c != 0) {
			common = common == 0 || common == fabs(c) ? fabs(c) : 1;
			sign = c < 0 ? -1 : 1;
		}
	}
	for (int k = first; k < end; k += step) {
		double c = value[k] ? coefficient(w, side, i, k) : 0;
		if (c != 0)
			add(w, &sum, times(w, local(w, value[k]), fabs(c) / common), c * sign < 0);
	}
	*negative = sign < 0;
	tsr_expr *all = joined(w, sum);
	return all ? times(w, all, common) : NULL;
}

tsr_expr *tsr_wino_combined(const tsr_winograd *w, tsr_wino_side side, int i, tsr_expr *const *value)
{
	signed_sum sum = { NULL, NULL };
	int from = tsr_wino_from(w, side), last = tsr_wino_points(w) - 1;
	bool results = side == TSR_WINO_OF_TILE || side == TSR_WINO_OF_WINDOW, powers = side == TSR_WINO_WINDOW || side == TSR_WINO_TILE;
	for (int first = 0; first < (results ? from : 2); first += results && first > 0 && first < last ? 2 : 1) {
		bool pair = results && first > 0 && first < last, negative;
		tsr_expr *x = part(w, side, i, first, results ? 1 : 2, !results ? from : pair ? first + 2 : first + 1, value, &negative);
		if (x)
			add(w, &sum, x, negative);
	}
	tsr_expr *all = joined(w, sum);
	return all && powers && i < last ? times(w, all, 1 / fabs(apart(w, i))) : all;
}
