/* Running error analysis.  Beside each value v stands what other orders of computing may give: compiled code may add the terms of a
 * sum in any order and in any number of partial sums, fuse a product with the sum that takes it, move a factor out of a sum, and
 * round an elementary function to another neighbour.
 *
 * A value is thought of as a polynomial of values that came from elsewhere (given, or results of other functions).  `size` is the
 * polynomial with all signs made positive, `rounding` the units of roundoff on its longest path: for the sum of n products that is
 * gamma_n times the sum of |a_i b_i|, whatever the order.  `carried` is what the inputs' own bounds amount to.  Additions and
 * multiplications continue the polynomial; every other function closes it, and is followed over the interval in which its argument
 * lies.  A comparison whose sides may fall either way is undecided (carried 1), and what is chosen by it differs by as much as
 * the choices do.
 *
 * Numbers with few digits are exact in any order, which keeps comparisons of whole numbers decided: `grid`.  Sources: Higham, Accuracy
 * and Stability of Numerical Algorithms, chapters 3 and 4. */
#include "spread.h"
#include "../diag/diag.h"
#include <limits.h>
#include <string.h>

/* The worst of the elementary functions is below 1.5 units in the last place (docs/accuracy.md), that is 3 units of roundoff. */
#define FUNCTION_ROUNDING 3
#define SMALLEST 0x1p-148            /* two steps of the denormals of f32 */

#define NORMAL 0x1p-125              /* twice the least number of f32 and bf16 that is none */
#define LOW 0x1p-100
#define APART 0x1p-101               /* the thirds of a smaller number may be none, one of which is at most NORMAL / 2 */

enum { NO_GRID = INT32_MIN / 4, DIGITS = 53 };

static int digits(tsr_prec p)
{
	return p == TSR_PREC_F64 ? 53 : p == TSR_PREC_F16 ? 11 : p == TSR_PREC_BF16 ? 8 : p == TSR_PREC_F8 ? 3 : tsr_prec_is_float(p) ? 24 : 62;
}

/* ldexp(1, n), which all steps of a sum ask for: of a normal number only its exponent's bits are set. */
static double two_to(int n)
{
	if (n < -1022 || n > 1023)
		return ldexp(1, n);
	uint64_t bits = (uint64_t)(n + 1023) << 52;
	double x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

static double unit(tsr_prec p) { return tsr_prec_is_float(p) ? two_to(-digits(p)) : 0; }
static double larger(double a, double b) { return a > b ? a : b; }
static double number(tsr_scalar x) { return tsr_prec_is_float(x.prec) ? x.d : (double)x.i; }
static bool exact(const tsr_spread *s) { return s->rounding == 0 && s->carried == 0; }

/* From the value in real numbers. */
static double error(tsr_spread s)
{
	if (exact(&s))
		return 0;
	double g = s.rounding < 0.5 ? s.rounding / (1 - s.rounding) : INFINITY;
	return s.carried + g * (s.size + s.carried) + SMALLEST;
}

double tsr_spread_bound(tsr_spread s)
{
	double e = 2 * error(s);
	return e == e ? e : INFINITY;
}

tsr_spread tsr_spread_lost(void) { return (tsr_spread){.size = INFINITY, .carried = INFINITY, .rounding = 1}; }

tsr_spread tsr_spread_given(tsr_scalar value)
{
	tsr_spread s = {.size = fabs(number(value)), .grid = NO_GRID};
	int exponent;
	double m = frexp(s.size, &exponent);
	if (isfinite(m))
		s.grid = m == 0 ? 0 : exponent - DIGITS + __builtin_ctzll((unsigned long long)(m * 0x1p53));
	return s;
}

/* A rounding to precision p, unless no order can need one: all partial results have few enough digits, those of products that are taken apart (engine/thirds.c), too, which may be 2^-7 larger. */
static void round_to(tsr_spread *s, tsr_prec p, bool whole)
{
	bool fits = whole && s->grid > NO_GRID && s->size * (p == TSR_PREC_F32 ? 1.01 : 1) <= two_to(digits(p) + s->grid) && s->grid >= -100;
	if (!fits)
		s->rounding += unit(p);
}

static tsr_spread sum(const tsr_spread *a, const tsr_spread *b, tsr_prec p)
{
	tsr_spread s = {a->size + b->size, a->carried + b->carried, larger(a->rounding, b->rounding), a->grid < b->grid ? a->grid : b->grid};
	round_to(&s, p, exact(a) && exact(b));
	return s;
}

static tsr_spread product(const tsr_spread *a, const tsr_spread *b, tsr_prec p)
{
	tsr_spread s = {a->size * b->size, a->carried * (b->size + b->carried) + b->carried * a->size, a->rounding + b->rounding, NO_GRID};
	if (a->size == 0 && exact(a) && isfinite(b->size))
		return *a;
	if (b->size == 0 && exact(b) && isfinite(a->size))
		return *b;
	if (a->grid > NO_GRID && b->grid > NO_GRID)
		s.grid = a->grid + b->grid;
	round_to(&s, p, exact(a) && exact(b));
	return s;
}

/* An f32 that is a bf16, which has the upper half of its bits. */
static bool in_bf16(double value)
{
	float x = (float)value;
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	return !(bits & 0xffff);
}

/* Numbers that bf16 holds may be multiplied by instructions that take denormals for 0, and make none of a product or of a sum (engine/matrix.c, opt/pairs.c):
 * of a sum whose products are at least LOW all partial sums are 0 or normal.  Of other numbers their thirds may be (engine/thirds.c), two of which are lost at most, and of six products of these
 * what is below NORMAL. */
static tsr_spread flushed(const tsr_scalar *x, const tsr_spread *factors, tsr_prec p)
{
	tsr_spread s = product(&factors[0], &factors[1], p);
	double a = fabs(number(x[0])), b = fabs(number(x[1]));
	bool some = p == TSR_PREC_F32 && isfinite(a * b) && a * b > 0, narrow = some;
	for (int i = 0; i < 2 && narrow; i++)
		narrow = in_bf16(x[i].d);
	if (narrow && (a < NORMAL || b < NORMAL))
		s.carried += a * b;
	if (some && !narrow)
		s.carried += (a < APART ? NORMAL * b : 0) + (b < APART ? NORMAL * a : 0);
	if (some && a * b < LOW)
		s.carried += (narrow ? 1 : 6) * NORMAL;
	return s;
}

/* A new beginning: `value` was computed with `roundings`, and its argument's freedom amounts to `carried`. */
static tsr_spread closed(tsr_scalar value, double carried, double roundings)
{
	tsr_spread s = tsr_spread_given(value);
	s.carried = carried == carried ? carried : INFINITY;
	s.rounding = roundings * unit(value.prec);
	return s;
}

static tsr_spread either(tsr_spread a, tsr_spread b)
{
	return (tsr_spread){larger(a.size, b.size), larger(a.carried, b.carried), larger(a.rounding, b.rounding), a.grid < b.grid ? a.grid : b.grid};
}

/* ---- functions of one argument -------------------------------------------------------------------------------------------- */

/* How far f(y) is from f(x), at most, for all y within d of x. f is monotone where it is finite. */
static double over(tsr_op op, tsr_scalar x, double d)
{
	double most = 0, at = number(x);
	tsr_scalar middle = {.prec = TSR_PREC_F64, .d = at}, here = tsr_op_apply(op, TSR_PREC_F64, &middle);
	for (int side = -1; side <= 1; side += 2) {
		tsr_scalar end = {.prec = TSR_PREC_F64, .d = at + side * d}, there = tsr_op_apply(op, TSR_PREC_F64, &end);
		double far = fabs(there.d - here.d);
		most = far == far ? larger(most, far) : INFINITY;
	}
	return most;
}

static tsr_spread function(tsr_op op, tsr_scalar x, tsr_spread s, tsr_scalar value)
{
	double d = tsr_spread_bound(s), at = fabs(number(x));
	bool whole = op == TSR_OP_FLOOR || op == TSR_OP_CEIL || op == TSR_OP_TRUNC || op == TSR_OP_ROUND;
	if (op == TSR_OP_SIN || op == TSR_OP_COS)
		return closed(value, d < 2 ? d : 2, FUNCTION_ROUNDING);
	if ((op == TSR_OP_RECIP || op == TSR_OP_RSQRT) && d >= at)
		return closed(value, INFINITY, 0);
	return closed(value, d == 0 ? 0 : over(op, x, d), whole ? 0 : FUNCTION_ROUNDING);
}

/* ---- of two and three ------------------------------------------------------------------------------------------------------ */

static tsr_spread quotient(const tsr_scalar *x, const tsr_spread *s, tsr_scalar value)
{
	double dx = tsr_spread_bound(s[0]), dy = tsr_spread_bound(s[1]), below = fabs(number(x[1])) - dy, q = fabs(number(value));
	if (dx == 0 && dy == 0)
		return closed(value, 0, 1);
	return closed(value, below > 0 ? (dx + q * dy) / below : INFINITY, 1);
}

static tsr_spread power(const tsr_scalar *x, const tsr_spread *s, tsr_scalar value)
{
	double dx = tsr_spread_bound(s[0]), dy = tsr_spread_bound(s[1]), at = number(x[0]), to = number(x[1]), here = pow(at, to), most = 0;
	if (at <= dx && at >= -dx && dx > 0)
		most = to > 0 ? fabs(here) : INFINITY;
	if ((at <= dx && dy > 0) || !isfinite(dx + dy))
		most = INFINITY;
	for (int i = -1; i <= 1; i += 2)
		for (int j = -1; j <= 1 && dx + dy > 0; j += 2) {
			double far = fabs(pow(at + i * dx, to + j * dy) - here);
			most = far == far ? larger(most, far) : INFINITY;
		}
	return closed(value, most, FUNCTION_ROUNDING);
}

static tsr_spread remainder_of(const tsr_scalar *x, const tsr_spread *s, tsr_scalar value)
{
	double dx = tsr_spread_bound(s[0]), dy = tsr_spread_bound(s[1]), a = number(x[0]), b = number(x[1]), parts = floor(a / b);
	if (dx == 0 && dy == 0)
		return closed(value, 0, 0);
	double d = dx + fabs(parts) * dy, rest = fabs(number(value));
	return closed(value, rest - d > 0 && rest + d < fabs(b) - dy ? d : INFINITY, 1);
}

static tsr_spread comparison(const tsr_scalar *x, const tsr_spread *s, tsr_scalar value)
{
	double d = tsr_spread_bound(s[0]) + tsr_spread_bound(s[1]), apart = fabs(number(x[0]) - number(x[1]));
	bool open = d > 0 && !(apart > d) && !isinf(number(x[0])) && !isinf(number(x[1]));
	return closed(value, open ? 1 : 0, 0);
}

/* False whatever the other is, or true: the settled side decides. */
static tsr_spread logic(tsr_op op, const tsr_scalar *x, const tsr_spread *s, tsr_scalar value)
{
	bool open = s[0].carried > 0 || s[1].carried > 0;
	for (int i = 0; i < 2; i++)
		open &= !(s[i].carried == 0 && (x[i].i != 0) == (op == TSR_OP_OR));
	return closed(value, open ? 1 : 0, 0);
}

static tsr_spread choice(const tsr_scalar *x, const tsr_spread *s)
{
	tsr_spread taken = s[x[0].i ? 1 : 2];
	if (s[0].carried == 0)
		return taken;
	double apart = fabs(number(x[1]) - number(x[2]));
	tsr_spread both = either(s[1], s[2]);
	both.carried += (apart == apart ? apart : INFINITY) + tsr_spread_bound(s[1]) + tsr_spread_bound(s[2]);
	return both;
}

/* The one that is chosen, where no order of computing chooses the other. */
static tsr_spread extremum(tsr_op op, const tsr_scalar *x, const tsr_spread *s)
{
	double a = number(x[0]), b = number(x[1]);
	if (fabs(a - b) > tsr_spread_bound(s[0]) + tsr_spread_bound(s[1]))
		return s[(a > b) == (op == TSR_OP_MAX) ? 0 : 1];
	return either(s[0], s[1]);
}

static tsr_spread of_integers(tsr_op op, const tsr_spread *s, tsr_scalar value)
{
	for (uint32_t i = 0; i < tsr_op_get(op)->arity; i++)
		if (s[i].carried > 0)
			return tsr_spread_lost();
	return closed(value, 0, 0);
}

tsr_spread tsr_spread_op(tsr_op op, const tsr_scalar *x, const tsr_spread *s, tsr_scalar value)
{
	tsr_prec p = value.prec;
	tsr_spread of_two;
	switch (op) {
	case TSR_OP_ID: case TSR_OP_NEG: case TSR_OP_ABS:
		return s[0];
	case TSR_OP_ADD: case TSR_OP_SUB:
		return sum(&s[0], &s[1], p);
	case TSR_OP_MUL:
		return flushed(x, s, p);
	case TSR_OP_FMA:
		of_two = flushed(x, s, p);
		return sum(&of_two, &s[2], p);
	case TSR_OP_MAX: case TSR_OP_MIN:
		return extremum(op, x, s);
	case TSR_OP_DIV: case TSR_OP_IDIV:
		return tsr_prec_is_float(p) ? quotient(x, s, value) : of_integers(op, s, value);
	case TSR_OP_MOD:
		return tsr_prec_is_float(p) ? remainder_of(x, s, value) : of_integers(op, s, value);
	case TSR_OP_POW:
		return power(x, s, value);
	case TSR_OP_LT: case TSR_OP_LE: case TSR_OP_GT: case TSR_OP_GE: case TSR_OP_EQ: case TSR_OP_AT: case TSR_OP_NE:
		return comparison(x, s, value);
	case TSR_OP_AND: case TSR_OP_OR:
		return logic(op, x, s, value);
	case TSR_OP_NOT:
		return closed(value, s[0].carried, 0);
	case TSR_OP_WHERE:
		return choice(x, s);
	case TSR_OP_EXP: case TSR_OP_LOG: case TSR_OP_EXP2: case TSR_OP_LOG2: case TSR_OP_SIN: case TSR_OP_COS: case TSR_OP_TANH:
	case TSR_OP_ERF: case TSR_OP_SQRT: case TSR_OP_RECIP: case TSR_OP_RSQRT: case TSR_OP_FLOOR: case TSR_OP_CEIL: case TSR_OP_TRUNC:
	case TSR_OP_ROUND:
		return function(op, x[0], s[0], value);
	case TSR_OPS:
		break;
	}
	tsr_bug("an operation of no kind");
}

tsr_spread tsr_spread_convert(tsr_scalar x, tsr_spread s, tsr_scalar value)
{
	tsr_prec from = x.prec, to = value.prec;
	if (from == to)
		return s;
	if (to == TSR_PREC_BOOL)
		return closed(value, tsr_spread_bound(s) > 0 && fabs(number(x)) <= tsr_spread_bound(s) ? 1 : 0, 0);
	if (!tsr_prec_is_float(to))
		return tsr_prec_is_float(from) && tsr_spread_bound(s) > 0 ? closed(value, over(TSR_OP_TRUNC, x, tsr_spread_bound(s)), 0) : closed(value, s.carried, 0);
	if (tsr_prec_is_float(from) && digits(from) <= digits(to))
		return s;
	round_to(&s, to, exact(&s));
	return s;
}
