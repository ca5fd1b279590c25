/* Arithmetic of the configuration level.  Integers and floats mix; `/` of integers and `%` round towards minus infinity;
 * a result that does not fit is a mistake of the program, not a wrapped number. */
#include "eval.h"
#include "../base/text.h"
#include <math.h>
#include <string.h>

typedef enum {
	OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_TRUE_DIV, OP_MOD, OP_POW, OP_TRUE_POW, OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE,
	OP_AND, OP_OR, OP_CONS, OP_APPEND, OP_JOIN, OPS
} config_op;

static bool find(tsr_name name, config_op *out)
{
	static const char *const text[OPS] = {"+", "-", "*", "/", "/.", "%", "**", "**.", "=", "<>", "<", "<=", ">", ">=",
	                                      "&&", "||", "::", "@", "^"};
	if (strcmp(name, "*.") == 0)
		name = "*";
	for (int i = 0; i < OPS; i++)
		if (strcmp(name, text[i]) == 0) {
			*out = (config_op)i;
			return true;
		}
	return false;
}

static tsr_value overflow(tsr_eval *ev, tsr_span at)
{
	tsr_eval_report(ev, TSR_E_ARITHMETIC, at, "the result does not fit into 64 bits");
	return TSR_POISON;
}

static tsr_value integer_power(tsr_eval *ev, int64_t x, int64_t n, tsr_span at)
{
	int64_t r = 1;
	for (; n; n >>= 1) {
		if ((n & 1) && __builtin_mul_overflow(r, x, &r))
			return overflow(ev, at);
		if (n > 1 && __builtin_mul_overflow(x, x, &x))
			return overflow(ev, at);
	}
	return tsr_value_int(r);
}

static int64_t floor_div(int64_t x, int64_t y) { return x / y - (x % y != 0 && (x < 0) != (y < 0)); }

static tsr_value integers(tsr_eval *ev, config_op op, int64_t x, int64_t y, tsr_span at)
{
	int64_t r = 0;
	bool bad = false;
	switch (op) {
	case OP_ADD: bad = __builtin_add_overflow(x, y, &r); break;
	case OP_SUB: bad = __builtin_sub_overflow(x, y, &r); break;
	case OP_MUL: bad = __builtin_mul_overflow(x, y, &r); break;
	case OP_DIV: case OP_MOD:
		if (y == 0) {
			tsr_eval_report(ev, TSR_E_ARITHMETIC, at, "division by zero");
			return TSR_POISON;
		}
		if (y == -1)
			bad = op == OP_DIV && __builtin_sub_overflow(0, x, &r);
		else
			r = op == OP_DIV ? floor_div(x, y) : x - y * floor_div(x, y);
		break;
	case OP_POW:
		return y < 0 ? tsr_value_float(pow((double)x, (double)y)) : integer_power(ev, x, y, at);
	case OP_TRUE_DIV: case OP_TRUE_POW: case OP_EQ: case OP_NE: case OP_LT: case OP_LE: case OP_GT: case OP_GE:
	case OP_AND: case OP_OR: case OP_CONS: case OP_APPEND: case OP_JOIN: case OPS: break;
	}
	return bad ? overflow(ev, at) : tsr_value_int(r);
}

static tsr_value floats(config_op op, double x, double y)
{
	switch (op) {
	case OP_ADD: return tsr_value_float(x + y);
	case OP_SUB: return tsr_value_float(x - y);
	case OP_MUL: return tsr_value_float(x * y);
	case OP_DIV: case OP_TRUE_DIV: return tsr_value_float(x / y);
	case OP_MOD: return tsr_value_float(x - y * floor(x / y));
	case OP_POW: case OP_TRUE_POW: return tsr_value_float(pow(x, y));
	case OP_EQ: case OP_NE: case OP_LT: case OP_LE: case OP_GT: case OP_GE: case OP_AND: case OP_OR: case OP_CONS:
	case OP_APPEND: case OP_JOIN: case OPS: break;
	}
	return TSR_POISON;
}

/* -1, 0, 1, or 2 where nothing orders the two (NaN, other kinds). */
static int order(tsr_value a, tsr_value b)
{
	if (a.kind == TSR_VALUE_INT && b.kind == TSR_VALUE_INT)
		return (a.integer > b.integer) - (a.integer < b.integer);
	if (tsr_value_is_number(a) && tsr_value_is_number(b)) {
		double x = tsr_value_number(a), y = tsr_value_number(b);
		return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
	}
	if (a.kind == TSR_VALUE_STRING && b.kind == TSR_VALUE_STRING) {
		int c = strcmp(a.string.text, b.string.text);
		return (c > 0) - (c < 0);
	}
	return 2;
}

static bool comparable(tsr_value v, uint64_t *left)
{
	if (*left == 0)
		return false;
	--*left;
	switch (v.kind) {
	case TSR_VALUE_UNIT: case TSR_VALUE_INT: case TSR_VALUE_FLOAT: case TSR_VALUE_BOOL: case TSR_VALUE_STRING: return true;
	case TSR_VALUE_LIST: case TSR_VALUE_TUPLE: case TSR_VALUE_OPTION:
		for (uint32_t i = 0; i < v.items.n; i++)
			if (!comparable(v.items.at[i], left))
				return false;
		return true;
	case TSR_VALUE_POISON: case TSR_VALUE_FUNCTION: case TSR_VALUE_TENSOR: case TSR_VALUE_CODE: case TSR_VALUE_NUMBER:
	case TSR_VALUE_LABEL: case TSR_VALUE_ARGUMENT: case TSR_VALUE_UNKNOWN: return false;
	}
	return false;
}

static bool lists(tsr_eval *ev, config_op op, tsr_value a, tsr_value b, tsr_span at, tsr_value *out)
{
	if (b.kind != TSR_VALUE_LIST || (op == OP_APPEND && a.kind != TSR_VALUE_LIST))
		return false;
	uint32_t n = op == OP_CONS ? 1 : a.items.n;
	*out = TSR_POISON;
	if (!tsr_eval_steps(ev, tsr_steps_of_items((uint64_t)n + b.items.n), at))
		return true;
	tsr_value *items = TSR_NEW_N(ev->arena, tsr_value, n + b.items.n + 1);
	if (n)
		memcpy(items, op == OP_CONS ? &a : a.items.at, n * sizeof *items);
	if (b.items.n)
		memcpy(items + n, b.items.at, b.items.n * sizeof *items);
	*out = tsr_value_list(n + b.items.n, items);
	return true;
}

static bool equality(tsr_eval *ev, config_op op, tsr_value a, tsr_value b, tsr_span at, tsr_value *out)
{
	enum { MOST = 1 << 24 };
	uint64_t left = MOST;
	bool fit = comparable(a, &left) && comparable(b, &left);
	*out = tsr_value_bool(fit && tsr_value_equal(a, b, &left) == (op == OP_EQ));
	if (!tsr_eval_steps(ev, left ? tsr_steps_of_items(MOST - left) : MOST, at))
		*out = TSR_POISON;
	return fit || !left;
}

static tsr_value joined(tsr_eval *ev, const char *a, const char *b, tsr_span at)
{
	size_t n = strlen(a), m = strlen(b);
	if (!tsr_eval_steps(ev, tsr_steps_of_bytes(n + m), at))
		return TSR_POISON;
	char *text = tsr_alloc(ev->arena, n + m + 1);
	memcpy(text, a, n);
	memcpy(text + n, b, m);
	return tsr_value_string(text);
}

static bool ordered(config_op op, tsr_value a, tsr_value b, tsr_value *out)
{
	int c = order(a, b);
	bool numbers = tsr_value_is_number(a) && tsr_value_is_number(b);
	if (c == 2 && !numbers)
		return false;
	*out = tsr_value_bool(c != 2 && (op == OP_LT ? c < 0 : op == OP_LE ? c <= 0 : op == OP_GT ? c > 0 : c >= 0));
	return true;
}

static tsr_value arithmetic(tsr_eval *ev, config_op op, tsr_value a, tsr_value b, tsr_span at)
{
	return a.kind == TSR_VALUE_INT && b.kind == TSR_VALUE_INT && op != OP_TRUE_DIV && op != OP_TRUE_POW
		? integers(ev, op, a.integer, b.integer, at) : floats(op, tsr_value_number(a), tsr_value_number(b));
}

bool tsr_config_binary(tsr_eval *ev, tsr_name name, tsr_value a, tsr_value b, tsr_span at, tsr_value *out)
{
	config_op op;
	if (!find(name, &op))
		return false;
	bool numbers = tsr_value_is_number(a) && tsr_value_is_number(b);
	bool strings = a.kind == TSR_VALUE_STRING && b.kind == TSR_VALUE_STRING;
	switch (op) {
	case OP_ADD: case OP_SUB: case OP_MUL: case OP_DIV: case OP_MOD: case OP_POW:
		if (!numbers)
			return false;
		*out = arithmetic(ev, op, a, b, at);
		return true;
	case OP_TRUE_DIV: case OP_TRUE_POW:
		if (numbers)
			*out = arithmetic(ev, op, a, b, at);
		return numbers;
	case OP_EQ: case OP_NE:
		return equality(ev, op, a, b, at, out);
	case OP_LT: case OP_LE: case OP_GT: case OP_GE:
		return ordered(op, a, b, out);
	case OP_AND: case OP_OR:
		if (a.kind != TSR_VALUE_BOOL || b.kind != TSR_VALUE_BOOL)
			return false;
		*out = tsr_value_bool(op == OP_AND ? a.integer && b.integer : a.integer || b.integer);
		return true;
	case OP_CONS: case OP_APPEND: return lists(ev, op, a, b, at, out);
	case OP_JOIN:
		if (strings)
			*out = joined(ev, a.string.text, b.string.text, at);
		return strings;
	case OPS: break;
	}
	return false;
}
