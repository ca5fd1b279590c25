/* Evaluation of expressions, at every level but the program's.
 *
 * The level is passed down; a `let` or `fun` inside a definition is of the definition's level.  Depth and steps are
 * bounded, so that a program that never ends its configuration gets an error and not a crash. */
#include "eval.h"
#include "guess.h"
#include "../base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

enum { MAX_STACK = 6 << 20, MAX_STEPS = 5000000 };

/* Inlined into the one switch below, each would make every level of recursion as large as all of them together. */
#define OWN_FRAME __attribute__((noinline))

/* ---- the evaluator ------------------------------------------------------------------------------------------------- */

tsr_eval *tsr_eval_new(tsr_compiler *tc, const tsr_hooks *hooks, void *elab)
{
	tsr_eval *ev = TSR_NEW(tc->arena, tsr_eval);
	ev->tc = tc;
	ev->arena = tc->arena;
	ev->hooks = hooks;
	ev->elab = elab;
	tsr_eval_bind_library(ev);
	return ev;
}

void *tsr_eval_elab(tsr_eval *ev) { return ev->elab; }
tsr_compiler *tsr_eval_compiler(tsr_eval *ev) { return ev->tc; }
const tsr_env *tsr_eval_root(tsr_eval *ev) { return ev->root; }
tsr_name tsr_eval_path(tsr_eval *ev) { return ev->path; }
void tsr_eval_set_path(tsr_eval *ev, tsr_name path) { ev->path = path; }

void tsr_eval_add_builtins(tsr_eval *ev, uint32_t n, const tsr_builtin *table)
{
	for (uint32_t i = 0; i < n; i++)
		ev->root = tsr_env_bind(ev->arena, ev->root, tsr_eval_name(ev, table[i].name),
		                        tsr_function_builtin(ev, &table[i], NULL));
}

tsr_name tsr_path_join(tsr_eval *ev, tsr_name base, const char *last)
{
	return base ? tsr_eval_name(ev, tsr_format(ev->arena, "%s.%s", base, last)) : tsr_eval_name(ev, last);
}

tsr_name tsr_eval_push_path(tsr_eval *ev, tsr_name last)
{
	tsr_name old = ev->path;
	ev->path = tsr_path_join(ev, old, last);
	return old;
}

tsr_span tsr_eval_site_in(const tsr_eval *ev, uint32_t file, tsr_span site)
{
	for (const tsr_active *a = ev->active; a && site.file != file; a = a->up)
		if (a->site.file == file)
			return a->site;
	return site;
}

/* ---- reports --------------------------------------------------------------------------------------------------------- */

tsr_diag *tsr_eval_report(tsr_eval *ev, tsr_diag_code code, tsr_span span, const char *fmt, ...)
{
	va_list ap;
	char text[1024];
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	tsr_diag *d = tsr_report(ev->tc, code, span, "%s", text);
	uint32_t shown = 0;
	for (const tsr_active *a = ev->active; a && shown < 4; a = a->up)
		if (a->name && a->site.file && (a->site.file != span.file || a->site.start != span.start)) {
			tsr_note_at(ev->tc, d, a->site, "in `%s`, applied here", a->name);
			shown++;
		}
	return d;
}

uint32_t tsr_eval_active(const tsr_eval *ev, uint32_t most, tsr_name *names, tsr_span *sites)
{
	uint32_t n = 0;
	for (const tsr_active *a = ev->active; a && n < most; a = a->up)
		if (a->name && a->site.file) {
			names[n] = a->name;
			sites[n++] = a->site;
		}
	return n;
}

tsr_value tsr_eval_type_error(tsr_eval *ev, tsr_span span, const char *wanted, tsr_value v)
{
	bool unknown = v.kind == TSR_VALUE_UNKNOWN || (ev->guess && ev->hooks->suspect(ev, v));
	if (!tsr_value_is_poison(v) && !unknown)
		tsr_eval_report(ev, TSR_E_TYPE, span, "expected %s; this is %s", wanted, tsr_function_describe(ev->arena, v));
	return TSR_POISON;
}

static OWN_FRAME tsr_value only_in(tsr_eval *ev, const tsr_ast *e, const char *what, const char *where)
{
	tsr_eval_report(ev, TSR_E_LEVEL, e->span, "%s belongs in `%s`", what, where);
	return TSR_POISON;
}

/* ---- names ------------------------------------------------------------------------------------------------------------ */

static tsr_value unknown(tsr_eval *ev, const tsr_env *env, tsr_name qualifier, tsr_name name, tsr_span span)
{
	tsr_diag *d = tsr_eval_report(ev, TSR_E_UNKNOWN_NAME, span, "unknown name `%s%s%s`", qualifier ? qualifier : "",
	                              qualifier ? "." : "", name);
	tsr_name near = qualifier ? NULL : tsr_env_nearest(env, name);
	tsr_value v;
	tsr_name dotted = tsr_eval_name(ev, tsr_format(ev->arena, "%s.", name));
	if (near)
		tsr_hint(ev->tc, d, "did you mean `%s`?", near);
	else if (!qualifier && tsr_env_lookup(env, dotted, &v))              /* `/` and `**` of numbers, where a tensor stands */
		tsr_hint(ev->tc, d, "between tensors it is `%s`", dotted);
	return TSR_POISON;
}

tsr_value tsr_resolve(tsr_eval *ev, const tsr_env *env, tsr_name qualifier, tsr_name name, tsr_span span)
{
	tsr_value v;
	if (!qualifier)
		return tsr_env_lookup(env, name, &v) ? v : unknown(ev, env, NULL, name, span);
	if (tsr_env_lookup(ev->root, tsr_path_join(ev, qualifier, name), &v))
		return v;
	if (tsr_env_lookup(ev->root, qualifier, &v))       /* List, String: library modules that no file holds */
		return unknown(ev, env, qualifier, name, span);
	const tsr_map *table = ev->hooks->module(ev, qualifier, span);
	if (!table)
		return TSR_POISON;
	tsr_map_entry *found = tsr_map_find(table, tsr_key(name));
	return found ? *(tsr_value *)found->value.p : unknown(ev, env, qualifier, name, span);
}

/* ---- operators -------------------------------------------------------------------------------------------------------- */

static bool is_config(tsr_value v)
{
	switch (v.kind) {
	case TSR_VALUE_UNIT: case TSR_VALUE_INT: case TSR_VALUE_FLOAT: case TSR_VALUE_BOOL: case TSR_VALUE_STRING:
	case TSR_VALUE_LIST: case TSR_VALUE_TUPLE: case TSR_VALUE_OPTION: return true;
	case TSR_VALUE_POISON: case TSR_VALUE_FUNCTION: case TSR_VALUE_TENSOR: case TSR_VALUE_CODE: case TSR_VALUE_NUMBER:
	case TSR_VALUE_LABEL: case TSR_VALUE_ARGUMENT: case TSR_VALUE_UNKNOWN: return false;
	}
	return false;
}

static OWN_FRAME tsr_value text_at(tsr_eval *ev, const char *text, tsr_span span, const tsr_env *env)
{
	tsr_origin *o = TSR_NEW(ev->arena, tsr_origin);
	*o = (tsr_origin){span, env};
	tsr_value v = tsr_value_string(text);
	v.string.origin = o;
	return v;
}

static bool has_trail(const tsr_trail *t) { return t && (t->spec || t->logic); }

/* The operator, an ordinary name, applied to operands, spec and logic. */
static OWN_FRAME tsr_value apply_operator(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e, tsr_name op,
                                const tsr_trail *trail, const tsr_value *computed_spec, uint32_t n, const tsr_value *operands,
                                const tsr_span *spans)
{
	tsr_actual *args = TSR_NEW_N(ev->arena, tsr_actual, n + 2);
	uint32_t nargs = 0;
	bool poison = false;
	for (uint32_t i = 0; i < n; i++)
		poison |= tsr_value_is_poison(operands[i]);
	tsr_value f = tsr_resolve(ev, env, NULL, op, e->at);
	if (poison || tsr_value_is_poison(f)) {
		if (trail && trail->captures)
			ev->hooks->capture(ev, env, TSR_POISON, trail->captures);
		return TSR_POISON;
	}
	if (trail && trail->spec)
		args[nargs++] = (tsr_actual){TSR_ARG_LABEL, tsr_eval_name(ev, "spec"), text_at(ev, trail->spec, trail->spec_span, env),
		                             trail->spec_span, TSR_NOWHERE};
	else if (computed_spec)
		args[nargs++] = (tsr_actual){TSR_ARG_LABEL, tsr_eval_name(ev, "spec"), *computed_spec, e->at, TSR_NOWHERE};
	if (trail && trail->logic)
		args[nargs++] = (tsr_actual){TSR_ARG_LABEL, tsr_eval_name(ev, "logic"), text_at(ev, trail->logic, trail->logic_span, env),
		                             trail->logic_span, TSR_NOWHERE};
	for (uint32_t i = 0; i < n; i++)
		args[nargs++] = (tsr_actual){TSR_ARG_PLAIN, NULL, operands[i], spans[i], TSR_NOWHERE};
	ev->level = level;
	ev->env = env;
	tsr_value result = tsr_apply(ev, f, nargs, args, e->at);
	if (trail && trail->captures)
		ev->hooks->capture(ev, env, result, trail->captures);
	return result;
}

/* One operand, or the operands of a tuple: (a, b, c) +* "spec". */
static OWN_FRAME tsr_value apply_spec(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e, tsr_name op,
                            const tsr_trail *trail, const tsr_value *spec, tsr_value operand, tsr_span span)
{
	if (operand.kind != TSR_VALUE_TUPLE)
		return apply_operator(ev, level, env, e, op, trail, spec, 1, &operand, &span);
	tsr_span *spans = TSR_NEW_N(ev->arena, tsr_span, operand.items.n);
	for (uint32_t i = 0; i < operand.items.n; i++)
		spans[i] = span;
	return apply_operator(ev, level, env, e, op, trail, spec, operand.items.n, operand.items.at, spans);
}

/* The operand of a spec operator: a tuple there is a list of operands, not a literal. */
static OWN_FRAME tsr_value spec_operand(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e)
{
	if (e->kind != TSR_AST_TUPLE)
		return tsr_evaluate(ev, level, env, e);
	tsr_value *items = TSR_NEW_N(ev->arena, tsr_value, e->items.n);
	for (uint32_t i = 0; i < e->items.n; i++)
		items[i] = tsr_evaluate(ev, level, env, e->items.at[i]);
	return (tsr_value){.kind = TSR_VALUE_TUPLE, .items = {e->items.n, items}};
}

static bool is_spec_operator(tsr_name op)
{
	static const char *const text[] = {"++", "+*", "+++", "@^^", "@--", "@^+", "++^"};
	for (size_t i = 0; i < sizeof text / sizeof *text; i++)
		if (strcmp(op, text[i]) == 0)
			return true;
	return false;
}

static OWN_FRAME tsr_value binary(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e)
{
	tsr_name op = e->binary.op;
	const tsr_trail *trail = &e->binary.trail;
	tsr_value a = is_spec_operator(op) ? spec_operand(ev, level, env, e->binary.left) : tsr_evaluate(ev, level, env, e->binary.left);
	if (a.kind == TSR_VALUE_BOOL && !has_trail(trail) && (strcmp(op, "&&") == 0 || strcmp(op, "||") == 0)
	    && (a.integer != 0) == (op[0] == '|'))
		return a;
	tsr_value b = tsr_evaluate(ev, level, env, e->binary.right);
	if (strcmp(op, "|>") == 0) {
		ev->level = level;
		ev->env = env;
		return tsr_apply(ev, b, 1, &(tsr_actual){TSR_ARG_PLAIN, NULL, a, e->binary.left->span, TSR_NOWHERE}, e->at);
	}
	if (!trail->captures && (tsr_value_is_poison(a) || tsr_value_is_poison(b)))
		return TSR_POISON;
	tsr_value out;
	bool unknown = a.kind == TSR_VALUE_UNKNOWN || b.kind == TSR_VALUE_UNKNOWN;
	bool spec = b.kind == TSR_VALUE_STRING || (unknown && tsr_unknown_spec(ev, op, a, b));
	if (spec && is_spec_operator(op) && !has_trail(trail))
		return apply_spec(ev, level, env, e, op, trail, &b, a, e->binary.left->span);
	if (unknown && !has_trail(trail) && tsr_unknown_binary(ev, level, op, a, b, &out))
		return out;
	bool list = b.kind == TSR_VALUE_LIST && (strcmp(op, "::") == 0 || strcmp(op, "@") == 0);
	if (!has_trail(trail) && (list || (is_config(a) && is_config(b)))) {
		if (tsr_config_binary(ev, op, a, b, e->at, &out))
			return out;
		if (strcmp(op, "::") == 0 || strcmp(op, "@") == 0)
			return tsr_eval_type_error(ev, e->binary.right->span, "a list", b);
		tsr_eval_report(ev, TSR_E_TYPE, e->at, "`%s` has no meaning between %s and %s", op, tsr_value_kind_name(a), tsr_value_kind_name(b));
		return TSR_POISON;
	}
	tsr_value operands[2] = {a, b};
	tsr_span spans[2] = {e->binary.left->span, e->binary.right->span};
	return apply_operator(ev, level, env, e, op, trail, NULL, 2, operands, spans);
}

static OWN_FRAME tsr_value unary(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e)
{
	tsr_name op = e->unary.op;
	tsr_value v = tsr_evaluate(ev, level, env, e->unary.e);
	if (strcmp(op, "!") == 0 || tsr_value_is_poison(v))
		return v;
	bool minus = strcmp(op, "-") == 0 || strcmp(op, "~-") == 0 || strcmp(op, "-.") == 0;
	if (minus && v.kind == TSR_VALUE_INT)
		return tsr_value_int(v.integer == INT64_MIN ? v.integer : -v.integer);
	if (minus && v.kind == TSR_VALUE_FLOAT)
		return tsr_value_float(-v.real);
	if (!minus && v.kind == TSR_VALUE_BOOL)
		return tsr_value_bool(!v.integer);
	tsr_value out;
	if (v.kind == TSR_VALUE_UNKNOWN && tsr_unknown_unary(ev, level, op, v, &out))
		return out;
	return apply_operator(ev, level, env, e, tsr_eval_name(ev, minus ? "~-" : op), NULL, NULL, 1, &v, &e->unary.e->span);
}

/* ---- application ------------------------------------------------------------------------------------------------------- */

static OWN_FRAME tsr_value apply(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e)
{
	tsr_value f = tsr_evaluate(ev, level, env, e->apply.fn);
	uint32_t n = e->apply.args.n, unit = 0;
	tsr_actual *args = TSR_NEW_N(ev->arena, tsr_actual, n);
	for (uint32_t i = 0; i < n; i++)
		if (e->apply.args.at[i].value && e->apply.args.at[i].value->kind == TSR_AST_UNIT)
			unit = i;
	for (uint32_t i = 0; i < n; i++) {
		const tsr_arg *a = &e->apply.args.at[i];
		tsr_value v = a->value ? tsr_evaluate(ev, i < unit ? TSR_LEVEL_CONFIG : level, env, a->value)
		                       : tsr_resolve(ev, env, NULL, a->label, a->span);
		args[i] = (tsr_actual){a->kind, a->label, v, a->value ? a->value->span : a->span, a->span};
	}
	ev->level = level;
	ev->env = env;
	return tsr_apply(ev, f, n, args, e->apply.fn->span);
}

/* ---- bindings and control ---------------------------------------------------------------------------------------------- */

static tsr_level inner(tsr_level around, tsr_level written)
{
	return written == TSR_LEVEL_CONFIG ? around : written;
}

/* let (a, b) = ..: the parts take the names that the pattern gives them. */
static void name_parts(tsr_eval *ev, const tsr_pat *pat, tsr_value v, uint32_t since)
{
	if (!pat)
		return;
	if (pat->kind == TSR_PAT_NAME)
		ev->hooks->named(ev, tsr_path_join(ev, ev->path, pat->name), v, since);
	bool parts = v.kind == TSR_VALUE_TUPLE || v.kind == TSR_VALUE_LIST;
	if ((pat->kind == TSR_PAT_TUPLE || pat->kind == TSR_PAT_LIST) && parts && v.items.n == pat->items.n)
		for (uint32_t i = 0; i < v.items.n; i++)
			name_parts(ev, pat->items.at[i], v.items.at[i], since);
}

tsr_value tsr_evaluate_let(tsr_eval *ev, tsr_level around, const tsr_env *env, const tsr_ast *e)
{
	tsr_level level = inner(around, e->let.level);
	tsr_name name = e->let.pat->kind == TSR_PAT_NAME ? e->let.pat->name : NULL;
	tsr_value v;
	if (e->let.params.n) {
		v = tsr_function_new(ev, env, level, e->let.params.n, e->let.params.at, e->let.value, e->let.rec ? name : NULL);
		v.function->definition = true;
	} else {
		tsr_name old = ev->path;
		uint32_t since = ev->hooks->mark(ev);
		if (name)
			old = tsr_eval_push_path(ev, name);
		/* let rec f = fun x -> ..: the name is seen by the function that the value is */
		if (e->let.rec && name && e->let.value->kind == TSR_AST_FUN) {
			const tsr_ast *f = e->let.value;
			v = tsr_function_new(ev, env, inner(level, f->fun.level), f->fun.params.n, f->fun.params.at, f->fun.body, name);
		} else {
			v = tsr_evaluate(ev, level, env, e->let.value);
		}
		name_parts(ev, name ? NULL : e->let.pat, v, since);
		if (name)
			ev->hooks->named(ev, ev->path, v, since);
		ev->path = old;
	}
	if (name)
		tsr_function_name(v, name);
	return v;
}

static OWN_FRAME tsr_value let(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e)
{
	tsr_value v = tsr_evaluate_let(ev, level, env, e);
	const tsr_env *bound = tsr_match(ev, env, e->let.pat, v);
	if (!bound) {
		tsr_eval_report(ev, TSR_E_NO_CASE, e->let.pat->span, "the value does not have this form: it is %s", tsr_function_describe(ev->arena, v));
		return TSR_POISON;
	}
	return e->let.body ? tsr_evaluate(ev, level, bound, e->let.body) : TSR_UNIT;
}

/* 1, 0, or -1 after an error. */
static OWN_FRAME int condition(tsr_eval *ev, const tsr_env *env, const tsr_ast *e)
{
	tsr_value v = tsr_evaluate(ev, TSR_LEVEL_CONFIG, env, e);
	if (v.kind == TSR_VALUE_BOOL)
		return v.integer != 0;
	if (v.kind == TSR_VALUE_UNKNOWN)
		return tsr_guess_condition(ev, v);
	if (ev->guess && ev->hooks->suspect(ev, v))
		return -1;
	if (v.kind == TSR_VALUE_TENSOR || v.kind == TSR_VALUE_NUMBER || v.kind == TSR_VALUE_LABEL) {
		tsr_diag *d = tsr_eval_report(ev, TSR_E_RUN_TIME, e->span, "the condition of `if` is decided while compiling; this is %s",
		                              v.kind == TSR_VALUE_LABEL ? "a size known after inference" : tsr_value_kind_name(v));
		tsr_hint(ev->tc, d, "choose between elements with `where condition a b`");
		return -1;
	}
	tsr_eval_type_error(ev, e->span, "a bool", v);
	return -1;
}

static OWN_FRAME tsr_value choose(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e)
{
	int c = condition(ev, env, e->iff.cond);
	if (c < 0)
		return TSR_POISON;
	if (c)
		return tsr_evaluate(ev, level, env, e->iff.then);
	return e->iff.other ? tsr_evaluate(ev, level, env, e->iff.other) : TSR_UNIT;
}

static OWN_FRAME tsr_value match(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e)
{
	tsr_value v = tsr_evaluate(ev, TSR_LEVEL_CONFIG, env, e->match.subject);
	if (tsr_value_is_poison(v) || (ev->guess && ev->hooks->suspect(ev, v)))
		return TSR_POISON;
	const tsr_env *chosen = env;
	const tsr_case *only = v.kind == TSR_VALUE_UNKNOWN ? tsr_guess_case(ev, e, &v, &chosen) : NULL;
	if (only)
		return tsr_evaluate(ev, level, chosen, only->body);
	for (uint32_t i = 0; i < e->match.cases.n; i++) {
		const tsr_case *c = &e->match.cases.at[i];
		const tsr_env *bound = tsr_match(ev, env, c->pat, v);
		int guard = !bound ? 0 : !c->guard ? 1 : condition(ev, bound, c->guard);
		if (guard < 0)
			return TSR_POISON;
		if (guard)
			return tsr_evaluate(ev, level, bound, c->body);
	}
	if (v.kind == TSR_VALUE_TENSOR || v.kind == TSR_VALUE_NUMBER || v.kind == TSR_VALUE_LABEL)
		tsr_eval_report(ev, TSR_E_RUN_TIME, e->match.subject->span, "`match` is decided while compiling; this is %s", tsr_value_kind_name(v));
	else
		tsr_eval_report(ev, TSR_E_NO_CASE, e->match.subject->span, "no case matches: this is %s", tsr_value_str(ev->arena, v));
	return TSR_POISON;
}

static OWN_FRAME tsr_value sequence(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e)
{
	tsr_value *values = TSR_NEW_N(ev->arena, tsr_value, e->items.n);
	for (uint32_t i = 0; i < e->items.n; i++) {
		values[i] = tsr_evaluate(ev, level, env, e->items.at[i]);
		if (level == TSR_LEVEL_CD && values[i].kind == TSR_VALUE_FUNCTION)
			values[i] = tsr_eval_type_error(ev, e->items.at[i]->span, "code", values[i]);
	}
	if (level == TSR_LEVEL_CD)
		return ev->hooks->sequence(ev, e->items.n, values, e->span);
	return e->items.n ? values[e->items.n - 1] : TSR_UNIT;
}

static OWN_FRAME bool loop_values(tsr_eval *ev, const tsr_env *env, const tsr_ast *e, tsr_value *out)
{
	if (e->loop.list) {
		*out = tsr_evaluate(ev, TSR_LEVEL_CONFIG, env, e->loop.list);
		if (out->kind == TSR_VALUE_UNKNOWN)
			*out = tsr_unknown_list(ev, out->unknown);
		if (out->kind != TSR_VALUE_LIST)
			tsr_eval_type_error(ev, e->loop.list->span, "a list", *out);
		return out->kind == TSR_VALUE_LIST;
	}
	tsr_value from = tsr_evaluate(ev, TSR_LEVEL_CONFIG, env, e->loop.from), to = tsr_evaluate(ev, TSR_LEVEL_CONFIG, env, e->loop.to);
	if (from.kind == TSR_VALUE_UNKNOWN || to.kind == TSR_VALUE_UNKNOWN)
		return tsr_guess_range(ev, e->span, from.kind == TSR_VALUE_UNKNOWN ? from : to, out);
	if (from.kind != TSR_VALUE_INT || to.kind != TSR_VALUE_INT) {
		tsr_eval_type_error(ev, from.kind != TSR_VALUE_INT ? e->loop.from->span : e->loop.to->span, "an int", from.kind != TSR_VALUE_INT ? from : to);
		return false;
	}
	int64_t step = e->loop.down ? -1 : 1, n = (to.integer - from.integer) * step + 1;
	n = n < 0 ? 0 : n;
	if (n > 1000000) {
		tsr_eval_report(ev, TSR_E_TOO_LONG, e->span, "this loop would run %lld times while compiling", (long long)n);
		return false;
	}
	tsr_value *items = TSR_NEW_N(ev->arena, tsr_value, n + 1);
	for (int64_t i = 0; i < n; i++)
		items[i] = tsr_value_int(from.integer + i * step);
	*out = tsr_value_list((uint32_t)n, items);
	return true;
}

static OWN_FRAME tsr_value loop(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e)
{
	tsr_value list;
	if (!loop_values(ev, env, e, &list))
		return TSR_POISON;
	tsr_value *values = TSR_NEW_N(ev->arena, tsr_value, list.items.n + 1);
	for (uint32_t i = 0; i < list.items.n && !ev->exhausted; i++) {
		char turn[16];
		snprintf(turn, sizeof turn, "%u", i);
		const tsr_env *bound = tsr_match(ev, env, e->loop.pat, list.items.at[i]);
		if (!bound) {
			tsr_eval_report(ev, TSR_E_NO_CASE, e->loop.pat->span, "an element does not have this form: it is %s",
			                tsr_value_str(ev->arena, list.items.at[i]));
			return TSR_POISON;
		}
		tsr_name old = tsr_eval_push_path(ev, turn);
		values[i] = tsr_evaluate(ev, level, bound, e->loop.body);
		ev->path = old;
	}
	return level == TSR_LEVEL_CD ? ev->hooks->sequence(ev, list.items.n, values, e->span) : TSR_UNIT;
}

/* ---- composite values ---------------------------------------------------------------------------------------------------- */

static OWN_FRAME tsr_value items(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e, tsr_value_kind kind)
{
	tsr_value *at = TSR_NEW_N(ev->arena, tsr_value, e->items.n + 1);
	for (uint32_t i = 0; i < e->items.n; i++) {
		char turn[16];
		snprintf(turn, sizeof turn, "%u", i);
		tsr_name old = kind == TSR_VALUE_LIST ? tsr_eval_push_path(ev, turn) : ev->path;
		at[i] = tsr_evaluate(ev, level, env, e->items.at[i]);
		ev->path = old;
	}
	return (tsr_value){.kind = kind, .items = {e->items.n, at}};
}

static OWN_FRAME tsr_value closure(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e)
{
	return tsr_function_new(ev, env, inner(level, e->fun.level), e->fun.params.n, e->fun.params.at, e->fun.body, NULL);
}

static tsr_value evaluate(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e)
{
	bool config = level == TSR_LEVEL_CONFIG;
	switch (e->kind) {
	case TSR_AST_UNIT: return TSR_UNIT;
	case TSR_AST_INT: return tsr_value_int(e->integer);
	case TSR_AST_FLOAT: return tsr_value_float(e->real);
	case TSR_AST_BOOL: return tsr_value_bool(e->integer != 0);
	case TSR_AST_STRING: {
		tsr_span text = e->span;
		text.start += text.end > text.start + 1;           /* the quote */
		return text_at(ev, e->string.text, text, env);
	}
	case TSR_AST_NAME: return tsr_resolve(ev, env, e->name.qualifier, e->name.name, e->span);
	case TSR_AST_TUPLE: return config ? items(ev, level, env, e, TSR_VALUE_TUPLE) : ev->hooks->literal(ev, env, e);
	case TSR_AST_LIST: case TSR_AST_ARRAY:
		return config ? items(ev, level, env, e, TSR_VALUE_LIST) : ev->hooks->literal(ev, env, e);
	case TSR_AST_TAGGED: return config ? only_in(ev, e, "an annotation", "let%op") : ev->hooks->literal(ev, env, e);
	case TSR_AST_APPLY: return apply(ev, level, env, e);
	case TSR_AST_BINARY: return binary(ev, level, env, e);
	case TSR_AST_UNARY: return unary(ev, level, env, e);
	case TSR_AST_SPECOP:
		return apply_spec(ev, level, env, e, e->specop.op, &e->specop.trail, NULL, spec_operand(ev, level, env, e->specop.e),
		                  e->specop.e->span);
	case TSR_AST_FUN: return closure(ev, level, env, e);
	case TSR_AST_LET: return let(ev, level, env, e);
	case TSR_AST_IF: return choose(ev, level, env, e);
	case TSR_AST_MATCH: return match(ev, level, env, e);
	case TSR_AST_SEQ: return sequence(ev, level, env, e);
	case TSR_AST_DECL: return config ? only_in(ev, e, "a declaration `{ .. }`", "let%op") : ev->hooks->declare(ev, level, env, e);
	case TSR_AST_FIELD: {
		tsr_value v = tsr_evaluate(ev, level, env, e->field.e);
		return tsr_value_is_poison(v) ? v : ev->hooks->field(ev, v, e->field.field, e->span);
	}
	case TSR_AST_ASSIGN: return level == TSR_LEVEL_CD ? ev->hooks->assign(ev, env, e) : only_in(ev, e, "an assignment", "let%cd");
	case TSR_AST_COMMENT: return level == TSR_LEVEL_CD ? ev->hooks->comment(ev, env, e) : only_in(ev, e, "a block comment `~~(..)`", "let%cd");
	case TSR_AST_FOR: return loop(ev, level, env, e);
	case TSR_AST_INDEX: {
		tsr_value v = tsr_evaluate(ev, level, env, e->index.e);
		return tsr_value_is_poison(v) ? v : ev->hooks->region(ev, v, e);
	}
	case TSR_AST_STORE: return only_in(ev, e, "writing an element", "let%main");
	case TSR_AST_SETREF: return only_in(ev, e, "`:=`", "let%main");
	case TSR_AST_WHILE: return only_in(ev, e, "`while`", "let%main");
	case TSR_AST_OPEN: case TSR_AST_EXPORT: return only_in(ev, e, "this item", "the top level of a file");
	case TSR_AST_POISON: return TSR_POISON;
	case TSR_AST_KINDS: break;
	}
	tsr_bug("node kind %d", (int)e->kind);
}

void tsr_eval_exhaust(tsr_eval *ev, tsr_span at, const char *what)
{
	if (!ev->exhausted)
		tsr_report(ev->tc, TSR_E_TOO_LONG, at, "%s; it stood here", what);
	ev->exhausted = true;
	ev->steps = MAX_STEPS + 1;
}

bool tsr_eval_steps(tsr_eval *ev, uint64_t n, tsr_span at)
{
	ev->steps += n;
	if (ev->steps <= MAX_STEPS)
		return true;
	tsr_eval_exhaust(ev, at, tsr_format(ev->arena, "the configuration takes more than %d steps", MAX_STEPS));
	return false;
}

tsr_value tsr_evaluate(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e)
{
	char *here = __builtin_frame_address(0);
	if (!ev->depth)
		ev->stack = here;
	if (ev->exhausted || (ev->guess && tsr_guess_over(ev, ev->stack - here > MAX_STACK, e->span)))
		return TSR_POISON;
	if (ev->stack - here > MAX_STACK) {
		ev->exhausted = true;
		tsr_active *active = ev->active;
		ev->active = NULL;
		tsr_report(ev->tc, TSR_E_RECURSION, active ? active->site : e->span, "the configuration recurses too deeply here; does the recursion%s end?",
		           active && active->name ? tsr_format(ev->arena, " of `%s`", active->name) : "");
		ev->active = active;
		return TSR_POISON;
	}
	if (!tsr_eval_steps(ev, 1, e->span))
		return TSR_POISON;
	ev->depth++;
	tsr_value v = evaluate(ev, level, env, e);
	if (!--ev->depth && ev->exhausted && ev->steps <= MAX_STEPS)
		ev->exhausted = false;
	return v;
}
