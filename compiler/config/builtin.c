/* The configuration level's own functions: lists, options, conversions.  Names of tensors and code come from elab/, all
 * operations from the standard library. */
#include "eval.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static tsr_value arg(const tsr_call *c, uint32_t i) { return *c->args[i]; }

static bool list_arg(const tsr_call *c, uint32_t i)
{
	if (arg(c, i).kind == TSR_VALUE_LIST)
		return true;
	tsr_eval_type_error(c->ev, c->spans[i], "a list", arg(c, i));
	return false;
}

static bool int_arg(const tsr_call *c, uint32_t i)
{
	if (arg(c, i).kind == TSR_VALUE_INT)
		return true;
	tsr_eval_type_error(c->ev, c->spans[i], "an int", arg(c, i));
	return false;
}

/* f applied to n arguments, as the k-th element of a list: what it makes is named by its place. */
static tsr_value element(const tsr_call *c, tsr_value f, uint32_t k, uint32_t n, const tsr_value *args)
{
	char turn[16];
	if (c->ev->exhausted)
		return TSR_POISON;
	snprintf(turn, sizeof turn, "%u", k);
	tsr_name old = tsr_eval_push_path(c->ev, turn);
	uint32_t since = c->ev->hooks->mark(c->ev);
	tsr_value v = tsr_apply_values(c->ev, f, n, args, c->site);
	c->ev->hooks->named(c->ev, tsr_eval_path(c->ev), v, since);
	tsr_eval_set_path(c->ev, old);
	return v;
}

/* A new list of n; of none, and poison, when it would be too much. */
static tsr_value list_of(const tsr_call *c, uint32_t n, tsr_value **at)
{
	*at = NULL;
	if (!tsr_eval_steps(c->ev, tsr_steps_of_items(n), c->site))
		return TSR_POISON;
	*at = TSR_NEW_N(c->ev->arena, tsr_value, n + 1);
	return tsr_value_list(n, *at);
}

static tsr_value list_map(const tsr_call *c)
{
	if (!list_arg(c, 1))
		return TSR_POISON;
	tsr_value l = arg(c, 1), *at, out = list_of(c, l.items.n, &at);
	if (!at)
		return out;
	for (uint32_t i = 0; i < l.items.n; i++)
		at[i] = element(c, arg(c, 0), i, 1, &l.items.at[i]);
	return out;
}

static tsr_value list_mapi(const tsr_call *c)
{
	if (!list_arg(c, 1))
		return TSR_POISON;
	tsr_value l = arg(c, 1), *at, out = list_of(c, l.items.n, &at);
	if (!at)
		return out;
	for (uint32_t i = 0; i < l.items.n; i++)
		at[i] = element(c, arg(c, 0), i, 2, (tsr_value[]){tsr_value_int(i), l.items.at[i]});
	return out;
}

static tsr_value list_map2(const tsr_call *c)
{
	if (!list_arg(c, 1) || !list_arg(c, 2))
		return TSR_POISON;
	tsr_value l = arg(c, 1), r = arg(c, 2), *at;
	if (l.items.n != r.items.n) {
		tsr_eval_report(c->ev, TSR_E_ARGUMENTS, c->spans[2], "the lists have %u and %u elements", l.items.n, r.items.n);
		return TSR_POISON;
	}
	tsr_value out = list_of(c, l.items.n, &at);
	if (!at)
		return out;
	for (uint32_t i = 0; i < l.items.n; i++)
		at[i] = element(c, arg(c, 0), i, 2, (tsr_value[]){l.items.at[i], r.items.at[i]});
	return out;
}

static tsr_value list_iter(const tsr_call *c)
{
	if (!list_arg(c, 1))
		return TSR_POISON;
	tsr_value l = arg(c, 1), *at;
	list_of(c, l.items.n, &at);
	if (!at)
		return TSR_POISON;
	for (uint32_t i = 0; i < l.items.n; i++)
		at[i] = element(c, arg(c, 0), i, 1, &l.items.at[i]);
	return c->ev->hooks->sequence(c->ev, l.items.n, at, c->site);
}

static tsr_value list_filter(const tsr_call *c)
{
	if (!list_arg(c, 1))
		return TSR_POISON;
	tsr_value l = arg(c, 1), *at, out = list_of(c, l.items.n, &at);
	if (!at)
		return out;
	out.items.n = 0;
	for (uint32_t i = 0; i < l.items.n; i++) {
		tsr_value keep = element(c, arg(c, 0), i, 1, &l.items.at[i]);
		if (keep.kind != TSR_VALUE_BOOL)
			return tsr_eval_type_error(c->ev, c->spans[0], "a function that gives a bool", keep);
		if (keep.integer)
			at[out.items.n++] = l.items.at[i];
	}
	return out;
}

static tsr_value list_fold_left(const tsr_call *c)
{
	if (!list_arg(c, 2))
		return TSR_POISON;
	tsr_value l = arg(c, 2), v = arg(c, 1);
	for (uint32_t i = 0; i < l.items.n; i++)
		v = element(c, arg(c, 0), i, 2, (tsr_value[]){v, l.items.at[i]});
	return v;
}

static tsr_value list_fold_right(const tsr_call *c)
{
	if (!list_arg(c, 1))
		return TSR_POISON;
	tsr_value l = arg(c, 1), v = arg(c, 2);
	for (uint32_t i = l.items.n; i-- > 0;)
		v = element(c, arg(c, 0), i, 2, (tsr_value[]){l.items.at[i], v});
	return v;
}

enum { MOST_ELEMENTS = 1000000 };

static tsr_value too_long(const tsr_call *c, uint32_t i, int64_t n)
{
	tsr_eval_report(c->ev, TSR_E_ARGUMENTS, c->spans[i], "a list cannot have %lld elements", (long long)n);
	return TSR_POISON;
}

static bool count_arg(const tsr_call *c, uint32_t i)
{
	if (!int_arg(c, i))
		return false;
	if (arg(c, i).integer >= 0 && arg(c, i).integer <= MOST_ELEMENTS)
		return true;
	too_long(c, i, arg(c, i).integer);
	return false;
}

static tsr_value list_init(const tsr_call *c)
{
	if (!count_arg(c, 0))
		return TSR_POISON;
	uint32_t n = (uint32_t)arg(c, 0).integer;
	tsr_value *at, out = list_of(c, n, &at);
	if (!at)
		return out;
	for (uint32_t i = 0; i < n; i++)
		at[i] = element(c, arg(c, 1), i, 1, (tsr_value[]){tsr_value_int(i)});
	return out;
}

static tsr_value list_range(const tsr_call *c)
{
	if (!count_arg(c, 0))
		return TSR_POISON;
	uint32_t n = (uint32_t)arg(c, 0).integer;
	tsr_value *at, out = list_of(c, n, &at);
	if (!at)
		return out;
	for (uint32_t i = 0; i < n; i++)
		at[i] = tsr_value_int(i);
	return out;
}

static tsr_value list_length(const tsr_call *c)
{
	return list_arg(c, 0) ? tsr_value_int(arg(c, 0).items.n) : TSR_POISON;
}

static tsr_value list_nth(const tsr_call *c)
{
	if (!list_arg(c, 0) || !int_arg(c, 1))
		return TSR_POISON;
	tsr_value l = arg(c, 0);
	int64_t i = arg(c, 1).integer;
	if (i >= 0 && i < l.items.n)
		return l.items.at[i];
	tsr_eval_report(c->ev, TSR_E_ARGUMENTS, c->spans[1], "the list has %u elements, counted from 0; there is no element %lld",
	                l.items.n, (long long)i);
	return TSR_POISON;
}

static tsr_value end_of(const tsr_call *c, bool tail)
{
	if (!list_arg(c, 0))
		return TSR_POISON;
	tsr_value l = arg(c, 0);
	if (l.items.n)
		return tail ? tsr_value_list(l.items.n - 1, l.items.at + 1) : l.items.at[0];
	tsr_eval_report(c->ev, TSR_E_ARGUMENTS, c->spans[0], "the list is empty");
	return TSR_POISON;
}

static tsr_value list_hd(const tsr_call *c) { return end_of(c, false); }
static tsr_value list_tl(const tsr_call *c) { return end_of(c, true); }

static tsr_value list_rev(const tsr_call *c)
{
	if (!list_arg(c, 0))
		return TSR_POISON;
	tsr_value l = arg(c, 0), *at, out = list_of(c, l.items.n, &at);
	if (!at)
		return out;
	for (uint32_t i = 0; i < l.items.n; i++)
		at[i] = l.items.at[l.items.n - 1 - i];
	return out;
}

static tsr_value list_append(const tsr_call *c)
{
	tsr_value out = TSR_POISON;
	if (list_arg(c, 0) && list_arg(c, 1))
		tsr_config_binary(c->ev, tsr_eval_name(c->ev, "@"), arg(c, 0), arg(c, 1), c->site, &out);
	return out;
}

static tsr_value list_concat(const tsr_call *c)
{
	if (!list_arg(c, 0))
		return TSR_POISON;
	tsr_value l = arg(c, 0), *at, out;
	uint64_t n = 0;
	for (uint32_t i = 0; i < l.items.n; i++) {
		if (l.items.at[i].kind != TSR_VALUE_LIST)
			return tsr_eval_type_error(c->ev, c->spans[0], "a list of lists", l.items.at[i]);
		n += l.items.at[i].items.n;
	}
	if (n > MOST_ELEMENTS)
		return too_long(c, 0, (int64_t)n);
	out = list_of(c, (uint32_t)n, &at);
	for (uint32_t i = 0; at && i < l.items.n; i++)
		for (uint32_t j = 0; j < l.items.at[i].items.n; j++)
			*at++ = l.items.at[i].items.at[j];
	return out;
}

static tsr_value option_some(const tsr_call *c) { return tsr_value_some(c->ev->arena, arg(c, 0)); }

static tsr_value tuple_part(const tsr_call *c, uint32_t i)
{
	tsr_value v = arg(c, 0);
	return v.kind == TSR_VALUE_TUPLE && v.items.n == 2 ? v.items.at[i] : tsr_eval_type_error(c->ev, c->spans[0], "a pair", v);
}

static tsr_value tuple_fst(const tsr_call *c) { return tuple_part(c, 0); }
static tsr_value tuple_snd(const tsr_call *c) { return tuple_part(c, 1); }

static tsr_value ignore(const tsr_call *c) { return tsr_value_is_poison(arg(c, 0)) ? TSR_POISON : TSR_UNIT; }

static tsr_value to_float(const tsr_call *c)
{
	tsr_value v = arg(c, 0);
	return tsr_value_is_number(v) ? tsr_value_float(tsr_value_number(v)) : tsr_eval_type_error(c->ev, c->spans[0], "a number", v);
}

static tsr_value to_int(const tsr_call *c)
{
	tsr_value v = arg(c, 0);
	if (!tsr_value_is_number(v))
		return tsr_eval_type_error(c->ev, c->spans[0], "a number", v);
	double x = trunc(tsr_value_number(v));
	if (x >= -9.2e18 && x <= 9.2e18)
		return v.kind == TSR_VALUE_INT ? v : tsr_value_int((int64_t)x);
	tsr_eval_report(c->ev, TSR_E_ARITHMETIC, c->spans[0], "%g is no 64-bit integer", x);
	return TSR_POISON;
}

static tsr_value to_string(const tsr_call *c)
{
	tsr_value v = arg(c, 0);
	if (v.kind == TSR_VALUE_STRING || tsr_value_is_poison(v))
		return v;
	return tsr_value_string(tsr_value_str(c->ev->arena, v));
}

static tsr_value failwith(const tsr_call *c)
{
	tsr_value v = arg(c, 0);
	if (v.kind != TSR_VALUE_STRING && v.kind != TSR_VALUE_UNKNOWN)
		return tsr_eval_type_error(c->ev, c->spans[0], "a string", v);
	tsr_eval_report(c->ev, TSR_E_FAILWITH, c->site, "%s", v.kind == TSR_VALUE_UNKNOWN ? v.unknown->text : v.string.text);
	return TSR_POISON;
}

static const tsr_builtin library[] = {
	{"List.map", "f l", list_map}, {"List.mapi", "f l", list_mapi}, {"List.map2", "f l r", list_map2},
	{"List.iter", "f l", list_iter}, {"List.filter", "f l", list_filter},
	{"List.fold_left", "f init l", list_fold_left}, {"List.fold_right", "f l init", list_fold_right},
	{"List.init", "n f", list_init}, {"List.length", "l", list_length}, {"List.nth", "l n", list_nth},
	{"List.hd", "l", list_hd}, {"List.tl", "l", list_tl}, {"List.rev", "l", list_rev},
	{"List.append", "l r", list_append}, {"List.concat", "l", list_concat},
	{"range", "n", list_range}, {"reduce_spec", "slot", tsr_builtin_reduce_spec}, {"Some", "!x", option_some}, {"fst", "pair", tuple_fst}, {"snd", "pair", tuple_snd},
	{"ignore", "!x", ignore}, {"float", "x", to_float}, {"int", "x", to_int},
	{"float_of_int", "x", to_float}, {"int_of_float", "x", to_int},
	{"string_of_int", "x", to_string}, {"string_of_float", "x", to_string}, {"failwith", "!message", failwith},
};

void tsr_eval_bind_library(tsr_eval *ev)
{
	tsr_eval_add_builtins(ev, sizeof library / sizeof *library, library);
	ev->root = tsr_env_bind(ev->arena, ev->root, tsr_eval_name(ev, "None"), tsr_value_none());
	ev->root = tsr_env_bind(ev->arena, ev->root, tsr_eval_name(ev, "List"), TSR_UNIT);
}
