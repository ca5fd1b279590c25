/* Unknown values: how they come about, arithmetic with them, and what functions give for them.  See unknown.h. */
#include "guess.h"
#include "../base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static tsr_unknown *unknown_new(tsr_eval *ev, tsr_unknown_kind kind, uint64_t from, tsr_name text)
{
	tsr_unknown *u = TSR_NEW(ev->arena, tsr_unknown);
	tsr_unknown_term *t = TSR_NEW(ev->arena, tsr_unknown_term);
	*t = (tsr_unknown_term){1, text};
	*u = (tsr_unknown){.text = text, .from = from, .kind = kind, .nterms = 1, .terms = t};
	if (tsr_map_find(&ev->guess->config, tsr_key(text)))
		u->kind = TSR_UNKNOWN_CONFIG;
	return u;
}

tsr_value tsr_unknown_value(tsr_eval *ev, tsr_unknown_kind kind, uint64_t from, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return (tsr_value){.kind = TSR_VALUE_UNKNOWN, .unknown = unknown_new(ev, kind, from, tsr_eval_name(ev, text))};
}

tsr_value tsr_unknown_part(tsr_eval *ev, const tsr_unknown *u, tsr_unknown_kind kind, const char *part)
{
	return tsr_unknown_value(ev, kind, u->from, "%s.%s", u->text, part);
}

tsr_value tsr_unknown_list(tsr_eval *ev, tsr_unknown *u)
{
	if (u->kind == TSR_UNKNOWN_LIST)
		return u->list;
	if (!tsr_unknown_configure(ev, u))
		return TSR_POISON;
	tsr_value *one = TSR_NEW(ev->arena, tsr_value);
	*one = tsr_unknown_part(ev, u, TSR_UNKNOWN_OPEN, "0");
	u->kind = TSR_UNKNOWN_LIST;
	return u->list = tsr_value_list(1, one);
}

bool tsr_unknown_configure(tsr_eval *ev, tsr_unknown *u)
{
	if (u->kind == TSR_UNKNOWN_TENSOR) {
		tsr_map_put(&ev->guess->config, tsr_key(u->text));
		ev->guess->again = true;
		return false;
	}
	if (u->kind == TSR_UNKNOWN_OPEN)
		u->kind = TSR_UNKNOWN_CONFIG;
	return true;
}

void tsr_unknown_pass(tsr_eval *ev, tsr_span span, const char *text)
{
	tsr_push(ev->arena, &ev->guess->passed, ((tsr_passed){span, text}));
}

void tsr_unknown_give_up(tsr_eval *ev, tsr_span span, const char *text)
{
	ev->guess->given_up = true;
	tsr_unknown_pass(ev, span, text);
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------------------- */

static bool is_unknown(tsr_value v) { return v.kind == TSR_VALUE_UNKNOWN; }
static uint64_t from_of(tsr_value v) { return is_unknown(v) ? v.unknown->from : 0; }

static bool is_settled(tsr_value v)
{
	switch (v.kind) {
	case TSR_VALUE_UNIT: case TSR_VALUE_INT: case TSR_VALUE_FLOAT: case TSR_VALUE_BOOL: case TSR_VALUE_STRING:
	case TSR_VALUE_LIST: case TSR_VALUE_TUPLE: case TSR_VALUE_OPTION: return true;
	case TSR_VALUE_UNKNOWN: return v.unknown->kind == TSR_UNKNOWN_CONFIG;
	case TSR_VALUE_POISON: case TSR_VALUE_FUNCTION: case TSR_VALUE_TENSOR: case TSR_VALUE_CODE: case TSR_VALUE_NUMBER:
	case TSR_VALUE_LABEL: case TSR_VALUE_ARGUMENT: return false;
	}
	return false;
}

/* A whole number or an unknown as a linear form. */
static bool linear(tsr_value v, tsr_unknown *out)
{
	if (v.kind == TSR_VALUE_INT)
		*out = (tsr_unknown){.k = v.integer};
	else if (is_unknown(v))
		*out = *v.unknown;
	return v.kind == TSR_VALUE_INT || is_unknown(v);
}

static tsr_value linear_value(tsr_eval *ev, int64_t k, uint32_t n, const tsr_unknown_term *terms, uint64_t from)
{
	tsr_text t;
	if (n == 0)
		return tsr_value_int(k);
	tsr_text_init(&t, ev->arena);
	for (uint32_t i = 0; i < n; i++) {
		int64_t c = terms[i].coef;
		tsr_text_add(&t, c < 0 ? "-" : i ? "+" : "");
		if (c != 1 && c != -1)
			tsr_text_addf(&t, "%lld*", (long long)(c < 0 ? -c : c));
		tsr_text_add(&t, terms[i].name);
	}
	if (k)
		tsr_text_addf(&t, "%+lld", (long long)k);
	tsr_value v = tsr_unknown_value(ev, TSR_UNKNOWN_CONFIG, from, "%s", tsr_text_str(&t));
	v.unknown->k = k;
	v.unknown->nterms = n;
	v.unknown->terms = terms;
	return v;
}

/* x + factor * y. */
static tsr_value add(tsr_eval *ev, const tsr_unknown *x, const tsr_unknown *y, int64_t factor)
{
	tsr_unknown_term *out = TSR_NEW_N(ev->arena, tsr_unknown_term, x->nterms + y->nterms + 1);
	uint32_t n = 0;
	for (uint32_t i = 0; i < x->nterms; i++)
		out[n++] = x->terms[i];
	for (uint32_t j = 0; j < y->nterms; j++) {
		uint32_t at = 0;
		while (at < n && out[at].name != y->terms[j].name)
			at++;
		if (at == n)
			out[n++] = (tsr_unknown_term){0, y->terms[j].name};
		out[at].coef += factor * y->terms[j].coef;
	}
	uint32_t kept = 0;
	for (uint32_t i = 0; i < n; i++)
		if (out[i].coef)
			out[kept++] = out[i];
	return linear_value(ev, x->k + factor * y->k, kept, out, x->from | y->from);
}

static bool arithmetic(tsr_eval *ev, tsr_name op, tsr_value a, tsr_value b, tsr_value *out)
{
	tsr_unknown x, y, zero = {0};
	bool times = strcmp(op, "*") == 0 || strcmp(op, "*.") == 0;
	if (!linear(a, &x) || !linear(b, &y) || x.nterms + y.nterms > 8)
		return false;
	if (strcmp(op, "+") == 0)
		*out = add(ev, &x, &y, 1);
	else if (strcmp(op, "-") == 0)
		*out = add(ev, &x, &y, -1);
	else if (times && !x.nterms && x.k > -1000000 && x.k < 1000000)
		*out = add(ev, &zero, &y, x.k);
	else if (times && !y.nterms && y.k > -1000000 && y.k < 1000000)
		*out = add(ev, &zero, &x, y.k);
	else
		return false;
	return true;
}

static const char *operand(tsr_eval *ev, tsr_value v)
{
	const char *s = tsr_value_str(ev->arena, v);
	return strpbrk(s, " +-*/") && s[0] != '(' && s[0] != '"' ? tsr_format(ev->arena, "(%s)", s) : s;
}

bool tsr_unknown_binary(tsr_eval *ev, tsr_level level, tsr_name op, tsr_value a, tsr_value b, tsr_value *out)
{
	bool list = strcmp(op, "::") == 0 || strcmp(op, "@") == 0 || strcmp(op, "^") == 0;
	bool config = level == TSR_LEVEL_CONFIG && (is_unknown(a) || is_settled(a)) && (is_unknown(b) || is_settled(b));
	if (!config && !list && !(is_settled(a) && is_settled(b)))
		return false;
	if ((is_unknown(a) && strcmp(op, "::") != 0 && !tsr_unknown_configure(ev, a.unknown)) || (is_unknown(b) && !tsr_unknown_configure(ev, b.unknown)))
		*out = TSR_POISON;
	else if (!arithmetic(ev, op, a, b, out))
		*out = tsr_unknown_value(ev, TSR_UNKNOWN_CONFIG, from_of(a) | from_of(b), "%s %s %s", operand(ev, a), op, operand(ev, b));
	return true;
}

bool tsr_unknown_unary(tsr_eval *ev, tsr_level level, tsr_name op, tsr_value a, tsr_value *out)
{
	tsr_unknown zero = {0};
	bool minus = op[0] == '-' || op[0] == '~';
	if (level != TSR_LEVEL_CONFIG && !is_settled(a))
		return false;
	if (!tsr_unknown_configure(ev, a.unknown))
		*out = TSR_POISON;
	else
		*out = minus ? add(ev, &zero, a.unknown, -1) : tsr_unknown_value(ev, TSR_UNKNOWN_CONFIG, from_of(a), "%s %s", op, operand(ev, a));
	return true;
}

bool tsr_unknown_spec(tsr_eval *ev, tsr_name op, tsr_value a, tsr_value b)
{
	bool one = strcmp(op, "++") == 0 || strcmp(op, "@^^") == 0 || strcmp(op, "@--") == 0;
	return is_unknown(b) && (one || a.kind == TSR_VALUE_TUPLE) && tsr_unknown_configure(ev, b.unknown);
}

/* ---- functions ---------------------------------------------------------------------------------------------------------------- */

static bool takes_list(const tsr_call *c, const tsr_param *p)
{
	return c->name && strncmp(c->name, "List.", 5) == 0 && (strcmp(p->label, "l") == 0 || strcmp(p->label, "r") == 0);
}

bool tsr_unknown_among(const tsr_call *c, const tsr_value **args, const tsr_param *params)
{
	bool any = false, lists = false;
	for (uint32_t i = 0; i < c->n; i++)
		if (args[i] && takes_list(c, &params[i])) {
			lists = true;
			if (!is_unknown(*args[i]))
				continue;
			tsr_value *list = TSR_NEW(c->ev->arena, tsr_value);
			*list = tsr_unknown_list(c->ev, args[i]->unknown);
			args[i] = list;
		}
	for (uint32_t i = 0; i < c->n; i++)
		any |= args[i] && is_unknown(*args[i]) && (!lists || strcmp(params[i].label, "n") == 0);
	return any;
}

tsr_value tsr_unknown_builtin(const tsr_call *c)
{
	uint64_t from = 0;
	tsr_text t;
	tsr_text_init(&t, c->ev->arena);
	tsr_text_add(&t, c->name ? c->name : "function");
	for (uint32_t i = 0; i < c->n; i++) {
		if (!c->args[i])
			continue;
		if (is_unknown(*c->args[i]) && !tsr_unknown_configure(c->ev, c->args[i]->unknown))
			return TSR_POISON;
		from |= from_of(*c->args[i]);
		tsr_text_addf(&t, " %s", operand(c->ev, *c->args[i]));
	}
	bool number = c->name && (strcmp(c->name, "float") == 0 || strcmp(c->name, "int") == 0 || strcmp(c->name, "float_of_int") == 0);
	if (number)
		return *c->args[0];
	return tsr_unknown_value(c->ev, TSR_UNKNOWN_OPEN, from, "%s", tsr_text_str(&t));
}

tsr_value tsr_unknown_applied(tsr_eval *ev, tsr_value f, uint32_t n, const tsr_actual *args)
{
	uint64_t from = f.unknown->from;
	if (!tsr_unknown_configure(ev, f.unknown))
		return TSR_POISON;
	for (uint32_t i = 0; i < n; i++)
		from |= from_of(args[i].value);
	tsr_unknown_pass(ev, args[0].span, tsr_format(ev->arena, "what `%s` gives: it is a function that the caller gives", f.unknown->text));
	return tsr_unknown_value(ev, TSR_UNKNOWN_OPEN, from, "(%s ..)", f.unknown->text);
}
