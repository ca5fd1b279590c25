/* Application: labelled, optional and unit arguments, partial application, and the instance that `()` makes.
 *
 * A call is complete when every parameter that is not optional has its argument; optional ones that were not given take
 * their defaults then.  What is left over is applied to the result. */
#include "guess.h"
#include "../base/text.h"
#include <string.h>

/* ---- making functions --------------------------------------------------------------------------------------------- */

static tsr_function *function_new(tsr_eval *ev, tsr_function_kind kind, uint32_t n, const tsr_param *params)
{
	tsr_function *f = TSR_NEW(ev->arena, tsr_function);
	f->kind = kind;
	f->nparams = n;
	f->params = params;
	f->given = TSR_NEW_N(ev->arena, tsr_given, n);
	return f;
}

static tsr_value function_value(tsr_function *f)
{
	return (tsr_value){.kind = TSR_VALUE_FUNCTION, .function = f};
}

tsr_value tsr_function_new(tsr_eval *ev, const tsr_env *env, tsr_level level, uint32_t n, const tsr_param *params,
                           const tsr_ast *body, tsr_name self)
{
	tsr_function *f = function_new(ev, TSR_FUNCTION_CLOSURE, n, params);
	f->level = level;
	f->body = body;
	f->env = env;
	if (self)
		f->env = tsr_env_bind(ev->arena, env, self, function_value(f));
	return function_value(f);
}

/* Parameters from a row of a builtin table: "x ?spec ~forward ()". */
static const tsr_param *parse_params(tsr_eval *ev, const char *text, uint32_t *n)
{
	TSR_VEC(tsr_param) v = {0};
	while (*text) {
		size_t len = strcspn(text, " ");
		tsr_param p = {.kind = *text == '~' ? TSR_ARG_LABEL : *text == '?' ? TSR_ARG_OPTION : TSR_ARG_PLAIN};
		if (p.kind != TSR_ARG_PLAIN)
			p.label = tsr_intern_n(ev->tc->names, text + 1, len - 1);
		else
			p.label = tsr_intern_n(ev->tc->names, text, len);
		tsr_push(ev->arena, &v, p);
		text += len;
		text += strspn(text, " ");
	}
	*n = v.n;
	return v.at;
}

tsr_value tsr_function_builtin(tsr_eval *ev, const tsr_builtin *b, void *data)
{
	uint32_t n = 0;
	const tsr_param *params = parse_params(ev, b->params + (b->params[0] == '!'), &n);
	tsr_function *f = function_new(ev, TSR_FUNCTION_BUILTIN, n, params);
	f->name = tsr_eval_name(ev, b->name);
	f->fn = b->fn;
	f->unknown = b->params[0] == '!';
	f->data = data;
	return function_value(f);
}

tsr_value tsr_function_operation(tsr_eval *ev, tsr_name name, tsr_builtin_fn fn, uint32_t arity, void *data)
{
	tsr_text text;
	uint32_t n = 0;
	tsr_text_init(&text, ev->arena);
	tsr_text_add(&text, "?spec ?logic");
	for (uint32_t i = 0; i < arity; i++)
		tsr_text_addf(&text, " x%u", i + 1);
	const tsr_param *params = parse_params(ev, tsr_text_str(&text), &n);
	tsr_function *f = function_new(ev, arity ? TSR_FUNCTION_BUILTIN : TSR_FUNCTION_VARIADIC, n, params);
	f->name = name;
	f->fn = fn;
	f->unknown = true;
	f->data = data;
	return function_value(f);
}

void *tsr_function_data(tsr_value f, tsr_builtin_fn fn)
{
	return f.kind == TSR_VALUE_FUNCTION && f.function->kind != TSR_FUNCTION_CLOSURE && f.function->fn == fn
		? f.function->data : NULL;
}

void tsr_function_name(tsr_value f, tsr_name name)
{
	if (f.kind == TSR_VALUE_FUNCTION && !f.function->name)
		f.function->name = name;
}

bool tsr_function_closure(tsr_value f, const tsr_ast **body, const tsr_env **env, tsr_level *level)
{
	if (f.kind != TSR_VALUE_FUNCTION || f.function->kind != TSR_FUNCTION_CLOSURE)
		return false;
	*body = f.function->body;
	*env = f.function->env;
	*level = f.function->level;
	return true;
}

const char *tsr_function_describe(tsr_arena *a, tsr_value v)
{
	if (v.kind != TSR_VALUE_FUNCTION)
		return tsr_value_kind_name(v);
	const tsr_function *f = v.function;
	tsr_text t;
	tsr_text_init(&t, a);
	bool any = false;
	tsr_text_add(&t, "a function");
	for (uint32_t i = 0; i < f->nparams; i++) {
		const tsr_param *p = &f->params[i];
		if (f->given[i].given || p->kind == TSR_ARG_OPTION)
			continue;
		tsr_text_add(&t, any ? ", " : " that still takes ");
		any = true;
		if (p->kind == TSR_ARG_LABEL)
			tsr_text_addf(&t, "~%s", p->label);
		else if (p->pat)
			tsr_text_add(&t, p->pat->kind == TSR_PAT_NAME ? p->pat->name : p->pat->kind == TSR_PAT_UNIT ? "()" : "an argument");
		else
			tsr_text_add(&t, p->label);
	}
	return tsr_strdup(a, tsr_text_str(&t));
}

/* ---- giving arguments ---------------------------------------------------------------------------------------------- */

static bool is_unit(const tsr_param *p)
{
	return p->kind == TSR_ARG_PLAIN && p->pat && p->pat->kind == TSR_PAT_UNIT;
}

/* The parameter that takes `arg`, or nparams. */
static uint32_t place(const tsr_function *f, const tsr_actual *arg)
{
	for (uint32_t i = 0; i < f->nparams; i++) {
		const tsr_param *p = &f->params[i];
		if (f->given[i].given)
			continue;
		if (arg->kind == TSR_ARG_PLAIN ? p->kind == TSR_ARG_PLAIN : p->kind != TSR_ARG_PLAIN && p->label == arg->label)
			return i;
	}
	return f->nparams;
}

static bool complete(const tsr_function *f)
{
	for (uint32_t i = 0; i < f->nparams; i++)
		if (!f->given[i].given && f->params[i].kind != TSR_ARG_OPTION)
			return false;
	return true;
}

static tsr_function *copy(tsr_eval *ev, const tsr_function *f)
{
	tsr_function *g = TSR_NEW(ev->arena, tsr_function);
	*g = *f;
	g->given = TSR_NEW_N(ev->arena, tsr_given, f->nparams + 1);
	if (f->nparams)
		memcpy(g->given, f->given, f->nparams * sizeof *g->given);
	return g;
}

static const char *name_of(tsr_eval *ev, const tsr_function *f)
{
	return f->name ? tsr_format(ev->arena, "`%s`", f->name) : "the function";
}

/* "`f` takes 2 arguments" or what it still waits for. */
static const char *capacity(tsr_eval *ev, const tsr_function *f)
{
	uint32_t plain = 0;
	for (uint32_t i = 0; i < f->nparams; i++) {
		plain += f->params[i].kind == TSR_ARG_PLAIN;
		if (!f->given[i].given && f->params[i].kind != TSR_ARG_OPTION)
			return tsr_format(ev->arena, "it is %s", tsr_function_describe(ev->arena, (tsr_value){.kind = TSR_VALUE_FUNCTION,
			                                                                                      .function = (tsr_function *)f}));
	}
	return tsr_format(ev->arena, "it takes %u argument%s", plain, plain == 1 ? "" : "s");
}

static tsr_value refuse(tsr_eval *ev, const tsr_function *f, const tsr_actual *arg)
{
	if (arg->kind == TSR_ARG_PLAIN) {
		tsr_eval_report(ev, TSR_E_ARGUMENTS, arg->span, "%s has no parameter left for this argument: %s", name_of(ev, f), capacity(ev, f));
		return TSR_POISON;
	}
	tsr_diag *d = tsr_eval_report(ev, TSR_E_ARGUMENTS, arg->label_span.file ? arg->label_span : arg->span, "%s has no parameter ~%s", name_of(ev, f), arg->label);
	tsr_text t;
	tsr_text_init(&t, ev->arena);
	for (uint32_t i = 0; i < f->nparams; i++)
		if (f->params[i].kind != TSR_ARG_PLAIN)
			tsr_text_addf(&t, "%s%c%s", t.n ? ", " : "", f->params[i].kind == TSR_ARG_LABEL ? '~' : '?', f->params[i].label);
	if (t.n)
		tsr_hint(ev->tc, d, "its labels are %s", tsr_text_str(&t));
	return TSR_POISON;
}

/* ---- complete calls ------------------------------------------------------------------------------------------------ */

static tsr_value call_builtin(tsr_eval *ev, const tsr_function *f, tsr_span site)
{
	const tsr_value **args = TSR_NEW_N(ev->arena, const tsr_value *, f->nparams + 1);
	tsr_span *spans = TSR_NEW_N(ev->arena, tsr_span, f->nparams + 1);
	for (uint32_t i = 0; i < f->nparams; i++) {
		tsr_given *g = &f->given[i];
		spans[i] = g->given ? g->span : site;
		args[i] = g->given ? &g->value : NULL;
		if (g->given && g->whole)
			args[i] = g->value.kind == TSR_VALUE_OPTION ? (g->value.items.n ? &g->value.items.at[0] : NULL) : &g->value;
	}
	tsr_call call = {ev, ev->level, ev->env, site, f->name, f->nparams, args, spans, f->data};
	return ev->guess && !f->unknown && tsr_unknown_among(&call, args, f->params) ? tsr_unknown_builtin(&call) : f->fn(&call);
}

/* The value that an optional parameter binds. */
static tsr_value optional(tsr_eval *ev, const tsr_function *f, uint32_t i, const tsr_env *env)
{
	const tsr_param *p = &f->params[i];
	const tsr_given *g = &f->given[i];
	tsr_value v = TSR_POISON;
	bool some = g->given;
	if (g->given && g->whole && g->value.kind == TSR_VALUE_OPTION) {
		some = g->value.items.n == 1;
		v = some ? g->value.items.at[0] : v;
	} else if (g->given) {
		v = g->value;
	}
	if (p->deflt)
		return some ? v : tsr_evaluate(ev, TSR_LEVEL_CONFIG, env, p->deflt);
	return some ? tsr_value_is_poison(v) ? v : tsr_value_some(ev->arena, v) : tsr_value_none();
}

static const tsr_env *bind_param(tsr_eval *ev, const tsr_function *f, uint32_t i, const tsr_env *env)
{
	const tsr_param *p = &f->params[i];
	tsr_value v = p->kind == TSR_ARG_OPTION ? optional(ev, f, i, env) : f->given[i].value;
	if (!p->pat)
		return tsr_env_bind(ev->arena, env, p->label, v);
	const tsr_env *bound = tsr_match(ev, env, p->pat, v);
	if (!bound) {
		tsr_diag *d = tsr_eval_report(ev, TSR_E_NO_CASE, f->given[i].span, "%s cannot take this argument: it is %s", name_of(ev, f),
		                              tsr_function_describe(ev->arena, v));
		tsr_note_at(ev->tc, d, p->span, "the parameter");
	}
	return bound;
}

/* In a recursion under one let-binding each application has a path of its own: "blocks", "blocks.1", "blocks.2". */
static void enter(tsr_eval *ev, tsr_active *here, const tsr_function *f, tsr_span site)
{
	*here = (tsr_active){ev->active, f->name, site, f->body, ev->path, ev->path, 0};
	for (const tsr_active *up = ev->active; up; up = up->up)
		if (up->body == f->body) {
			if (up->path == ev->path && up->base) {
				char turn[16];
				here->base = up->base;
				here->turn = up->turn + 1;
				snprintf(turn, sizeof turn, "%u", here->turn);
				here->path = tsr_path_join(ev, up->base, turn);
			}
			break;
		}
	ev->active = here;
	ev->path = here->path;
}

static tsr_value body(tsr_eval *ev, const tsr_function *f, const tsr_env *env)
{
	ev->hooks->enter(ev, f->body);
	tsr_value v = tsr_evaluate(ev, f->level, env, f->body);
	ev->hooks->leave(ev, v);
	return v;
}

static tsr_value call_closure(tsr_eval *ev, tsr_function *f, tsr_span site)
{
	tsr_name path = ev->path;
	tsr_active here;
	enter(ev, &here, f, site);
	const tsr_env *env = f->env;
	tsr_frame *around = tsr_env_nearest_frame(env);
	tsr_instance *opened = NULL;
	if (f->level == TSR_LEVEL_CD && f->definition) {
		opened = tsr_instance_new(ev, ev->path);
		env = tsr_env_frame(ev->arena, env, tsr_frame_new(ev->arena, opened, false));
	} else if (!f->instance && around && around->instance && !around->application && !around->instance->open) {
		around->instance->round++;
		env = tsr_env_frame(ev->arena, env, tsr_frame_new(ev->arena, around->instance, true));
	}
	for (uint32_t i = 0; env && i < f->nparams; i++) {
		env = bind_param(ev, f, i, env);
		if (!env || !f->instance || !is_unit(&f->params[i]))
			continue;
		env = tsr_env_frame(ev->arena, env, tsr_frame_new(ev->arena, f->instance, false));
		if (i + 1 < f->nparams) {
			f->instance->round++;
			env = tsr_env_frame(ev->arena, env, tsr_frame_new(ev->arena, f->instance, true));
		} else {
			opened = f->instance;
		}
	}
	if (opened)
		opened->open = true;
	tsr_value v = env ? body(ev, f, env) : TSR_POISON;
	if (opened)
		opened->open = false;
	ev->active = here.up;
	ev->path = path;
	return v;
}

static tsr_value call_complete(tsr_eval *ev, tsr_function *f, tsr_span site)
{
	return f->kind == TSR_FUNCTION_CLOSURE ? call_closure(ev, f, site) : call_builtin(ev, f, site);
}

/* An operation of any number of operands takes all the plain arguments there are. */
static tsr_value call_variadic(tsr_eval *ev, tsr_function *f, uint32_t nargs, const tsr_actual *args, tsr_span site)
{
	tsr_param *params = TSR_NEW_N(ev->arena, tsr_param, f->nparams + nargs);
	tsr_given *given = TSR_NEW_N(ev->arena, tsr_given, f->nparams + nargs);
	uint32_t n = f->nparams;
	memcpy(params, f->params, n * sizeof *params);
	memcpy(given, f->given, n * sizeof *given);
	for (uint32_t i = 0; i < nargs; i++) {
		uint32_t at = args[i].kind == TSR_ARG_PLAIN ? n++ : place(f, &args[i]);
		if (args[i].kind != TSR_ARG_PLAIN && at == f->nparams)
			return refuse(ev, f, &args[i]);
		given[at] = (tsr_given){true, args[i].kind == TSR_ARG_OPTION, args[i].value, args[i].span};
	}
	f = copy(ev, f);
	f->params = params;
	f->given = given;
	bool operands = n > f->nparams;
	f->nparams = operands ? n : f->nparams;
	return operands ? call_builtin(ev, f, site) : function_value(f);
}

/* The instance that a `()` makes, at `site`. */
static tsr_instance *instance_at(tsr_eval *ev, tsr_span site)
{
	const tsr_frame *caller = ev->env ? tsr_env_nearest_frame(ev->env) : NULL;
	tsr_instance *made = tsr_instance_new(ev, ev->path);
	if (!caller || !caller->instance)
		return made;
	if (caller->application && caller->instance->round > 1 && !tsr_source_in_library(ev->tc, site.file))
		made->again = site;
	else
		made->again = caller->instance->again;
	return made;
}

tsr_value tsr_apply(tsr_eval *ev, tsr_value v, uint32_t nargs, const tsr_actual *args, tsr_span site)
{
	if (nargs == 0 || tsr_value_is_poison(v))
		return v;
	if (v.kind == TSR_VALUE_UNKNOWN)
		return tsr_unknown_applied(ev, v, nargs, args);
	if (v.kind != TSR_VALUE_FUNCTION) {
		tsr_eval_report(ev, TSR_E_ARGUMENTS, args[0].span, "this is applied to an argument, but it is %s", tsr_value_kind_name(v));
		return TSR_POISON;
	}
	tsr_function *f = copy(ev, v.function);
	if (f->kind == TSR_FUNCTION_VARIADIC)
		return call_variadic(ev, f, nargs, args, site);
	tsr_actual *left = TSR_NEW_N(ev->arena, tsr_actual, nargs);
	uint32_t nleft = 0;
	for (uint32_t i = 0; i < nargs; i++) {
		uint32_t at = place(f, &args[i]);
		if (at == f->nparams || (nleft && args[i].kind == TSR_ARG_PLAIN)) {
			left[nleft++] = args[i];
			continue;
		}
		f->given[at] = (tsr_given){true, args[i].kind == TSR_ARG_OPTION, args[i].value, args[i].span};
		if (is_unit(&f->params[at]) && f->kind == TSR_FUNCTION_CLOSURE && f->level == TSR_LEVEL_OP && !f->instance)
			f->instance = instance_at(ev, site);
	}
	if (!complete(f))
		return nleft ? refuse(ev, f, &left[0]) : function_value(f);
	tsr_value result = call_complete(ev, f, site);
	if (nleft && result.kind != TSR_VALUE_FUNCTION && !tsr_value_is_poison(result))
		return refuse(ev, f, &left[0]);
	return tsr_apply(ev, result, nleft, left, site);
}

tsr_value tsr_apply_values(tsr_eval *ev, tsr_value f, uint32_t n, const tsr_value *args, tsr_span site)
{
	tsr_actual *actuals = TSR_NEW_N(ev->arena, tsr_actual, n);
	for (uint32_t i = 0; i < n; i++)
		actuals[i] = (tsr_actual){.kind = TSR_ARG_PLAIN, .value = args[i], .span = site};
	return tsr_apply(ev, f, n, actuals, site);
}
