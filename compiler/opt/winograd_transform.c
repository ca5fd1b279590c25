/* The transforms of winograd.c along one axis (Toom and Cook's, with the points 0, 1, -1 and infinity, and 2 and -2 where a tile has four places).
 *
 * The window and the tile are polynomials, taken at each point and divided by the product of what the point is apart from the others; the image's points are divided by the polynomial that has all other
 * points for zeros; results are sums of powers of the points.  Infinity takes the leading coefficient. */
#include "winograd.h"
#include <stdlib.h>

static const int8_t point[] = { 0, 1, -1, 2, -2 };
static const int8_t divisor[][5] = { { 1, 2, 2 }, { 4, -6, -6, 24, 24 } };       /* the first of four points, -1, is in the image's row */
static const int8_t image_4[4][4] = { { 1, 0, -1, 0 }, { 0, 1, 1, 0 }, { 0, -1, 1, 0 }, { 0, -1, 0, 1 } };
static const int8_t image_6[6][6] = { { 4, 0, -5, 0, 1, 0 }, { 0, -4, -4, 1, 1, 0 }, { 0, 4, -4, -1, 1, 0 }, { 0, -2, -1, 2, 1, 0 }, { 0, 2, -1, -2, 1, 0 }, { 0, 4, 0, -5, 0, 1 } };

int tsr_wino_from(const tsr_winograd *w, tsr_wino_side side)
{
	return side == TSR_WINO_WINDOW ? TSR_WINO_TAPS : side == TSR_WINO_TILE ? w->tile : tsr_wino_points(w);
}

int tsr_wino_to(const tsr_winograd *w, tsr_wino_side side)
{
	return side == TSR_WINO_OF_WINDOW ? TSR_WINO_TAPS : side == TSR_WINO_OF_TILE ? w->tile : tsr_wino_points(w);
}

static int power(int x, int n)
{
	int all = 1;
	while (n-- > 0)
		all *= x;
	return all;
}

/* Of value number k in what is made, number i, but for the divisor. */
static int coefficient(const tsr_winograd *w, tsr_wino_side side, int i, int k)
{
	int last = tsr_wino_points(w) - 1;
	switch (side) {
	case TSR_WINO_IMAGE: return last == 3 ? image_4[i][k] : image_6[i][k];
	case TSR_WINO_WINDOW: case TSR_WINO_TILE: return i == last ? k == tsr_wino_from(w, side) - 1 : power(point[i], k);
	case TSR_WINO_OF_TILE: case TSR_WINO_OF_WINDOW: break;
	}
	return k == last ? i == tsr_wino_to(w, side) - 1 : power(point[k], i);
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
	int common = 0, sign = 1;
	for (int k = first; k < end; k += step) {
		int c = value[k] ? coefficient(w, side, i, k) : 0;
		if (c) {
			common = common == 0 || common == abs(c) ? abs(c) : 1;
			sign = c < 0 ? -1 : 1;
		}
	}
	for (int k = first; k < end; k += step) {
		int c = value[k] ? coefficient(w, side, i, k) : 0;
		if (c)
			add(w, &sum, times(w, local(w, value[k]), abs(c) / common), c * sign < 0);
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
	return all && powers && i < last ? times(w, all, 1.0 / divisor[last > 3][i]) : all;
}
