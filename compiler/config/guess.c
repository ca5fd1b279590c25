/* Attempts at a function that nobody has called: its arguments, and the ways through it.  See unknown.h. */
#include "guess.h"
#include "../base/text.h"

enum { MOST_CHOICES = 40, MOST_WAYS_OUT = 6, MOST_STEPS = 100000 };

tsr_guess *tsr_guess_new(tsr_eval *ev)
{
	tsr_guess *g = TSR_NEW(ev->arena, tsr_guess);
	tsr_map_init(&g->config, ev->arena);
	return g;
}

tsr_guess *tsr_eval_guess(const tsr_eval *ev) { return ev->guess; }

void tsr_guess_begin(tsr_eval *ev, tsr_guess *g)
{
	g->at = g->narguments = g->passed.n = 0;
	g->decided = 0;
	g->again = g->unsure = g->given_up = false;
	g->steps = ev->steps;
	g->most_steps = ev->steps + MOST_STEPS;
	ev->guess = g;
}

void tsr_guess_end(tsr_eval *ev, tsr_guess *g)
{
	ev->guess = NULL;
	ev->steps = g->steps;
	ev->exhausted = false;
}

bool tsr_guess_next(tsr_guess *g)
{
	g->choices.n = g->at < g->choices.n ? g->at : g->choices.n;
	while (g->choices.n) {
		tsr_choice *last = &g->choices.at[g->choices.n - 1];
		if (++last->turn < last->n)
			return true;
		g->choices.n--;
	}
	return false;
}

uint32_t tsr_guess_choose(tsr_eval *ev, tsr_choice_kind kind, const char *what, uint64_t from, uint32_t n, uint32_t first)
{
	tsr_guess *g = ev->guess;
	tsr_name name = tsr_eval_name(ev, what);
	for (uint32_t i = 0; i < g->at; i++)
		if (g->choices.at[i].what == name)
			return (g->choices.at[i].first + g->choices.at[i].turn) % g->choices.at[i].n;
	g->unsure |= (g->decided & from) != 0;
	g->decided |= from;
	if (g->at == MOST_CHOICES) {
		tsr_unknown_give_up(ev, TSR_NOWHERE, "more decisions than are followed");
		return first;
	}
	/* a way that need not be there is gone once, for the scheme; and no function has hundreds */
	if (g->at == g->choices.n)
		tsr_push(ev->arena, &g->choices, ((tsr_choice){kind, name, from, g->unsure || g->at >= MOST_WAYS_OUT ? 1 : n, first, 0}));
	const tsr_choice *c = &g->choices.at[g->at++];
	return c->n == 1 ? first : (c->first + c->turn) % c->n;
}

int tsr_guess_condition(tsr_eval *ev, tsr_value v)
{
	if (!tsr_unknown_configure(ev, v.unknown))
		return -1;
	return tsr_guess_choose(ev, TSR_CHOICE_IF, v.unknown->text, v.unknown->from, 2, 0) == 0;
}

static bool over_lists(const tsr_ast *match)
{
	for (uint32_t i = 0; i < match->match.cases.n; i++) {
		tsr_pat_kind kind = match->match.cases.at[i].pat->kind;
		if (kind == TSR_PAT_LIST || kind == TSR_PAT_CONS)
			return true;
	}
	return false;
}

/* A guard is taken to hold. */
const tsr_case *tsr_guess_case(tsr_eval *ev, const tsr_ast *match, tsr_value *v, const tsr_env **env)
{
	const tsr_unknown *u = v->unknown;
	if (over_lists(match) || !tsr_unknown_configure(ev, v->unknown)) {
		*v = tsr_unknown_list(ev, v->unknown);
		return NULL;
	}
	const char *what = tsr_format(ev->arena, "match %s", u->text);
	const tsr_case *c = &match->match.cases.at[tsr_guess_choose(ev, TSR_CHOICE_MATCH, what, u->from, match->match.cases.n, 0)];
	bool unsure = ev->guess->unsure;
	*env = tsr_match(ev, *env, c->pat, *v);
	ev->guess->unsure = unsure;
	return c;
}

bool tsr_guess_range(tsr_eval *ev, tsr_span span, tsr_value over, tsr_value *out)
{
	tsr_value *item = TSR_NEW(ev->arena, tsr_value);
	if (!tsr_unknown_configure(ev, over.unknown))
		return false;
	tsr_unknown_pass(ev, span, "all turns of this loop but one");
	*item = tsr_unknown_part(ev, over.unknown, TSR_UNKNOWN_CONFIG, "i");
	*out = tsr_value_list(1, item);
	return true;
}

bool tsr_guess_over(tsr_eval *ev, bool deep, tsr_span span)
{
	tsr_guess *g = ev->guess;
	if (!g->again && !g->given_up && (deep || ev->steps > g->most_steps))
		tsr_unknown_give_up(ev, span, "the rest: how far it goes depends on the arguments");
	return g->again || g->given_up;
}

/* ---- arguments ----------------------------------------------------------------------------------------------------------- */

static bool is_number(const tsr_ast *e) { return e->kind == TSR_AST_INT || e->kind == TSR_AST_FLOAT; }

static uint64_t next_bit(tsr_eval *ev)
{
	uint32_t n = ev->guess->narguments++;
	return (uint64_t)1 << (n < 63 ? n : 63);
}

/* What a pattern takes apart; each name in it is an argument of its own. */
static tsr_value of_pattern(tsr_eval *ev, const tsr_pat *p, tsr_unknown_kind kind)
{
	switch (p->kind) {
	case TSR_PAT_UNIT: return TSR_UNIT;
	case TSR_PAT_TUPLE: {
		tsr_value *items = TSR_NEW_N(ev->arena, tsr_value, p->items.n + 1);
		for (uint32_t i = 0; i < p->items.n; i++)
			items[i] = of_pattern(ev, p->items.at[i], kind);
		return (tsr_value){.kind = TSR_VALUE_TUPLE, .items = {p->items.n, items}};
	}
	case TSR_PAT_NAME: return tsr_unknown_value(ev, kind, next_bit(ev), "%s", p->name);
	case TSR_PAT_ANY: case TSR_PAT_INT: case TSR_PAT_BOOL: case TSR_PAT_STRING: case TSR_PAT_LIST: case TSR_PAT_CONS:
	case TSR_PAT_NONE: case TSR_PAT_SOME: case TSR_PAT_OR: break;
	}
	return tsr_unknown_value(ev, kind, next_bit(ev), "_");
}

static bool is_unit(const tsr_param *p) { return p->kind == TSR_ARG_PLAIN && p->pat && p->pat->kind == TSR_PAT_UNIT; }

/* An optional argument: given and unknown, or left out; false where it is left out. A number with a default stands for itself. */
static bool optional(tsr_eval *ev, const tsr_function *f, const tsr_param *p, tsr_value *out)
{
	uint64_t bit = next_bit(ev);
	if (f->kind != TSR_FUNCTION_CLOSURE || (p->deflt && ev->guess->defaults))
		return false;
	if (p->deflt && is_number(p->deflt)) {
		*out = tsr_unknown_value(ev, TSR_UNKNOWN_CONFIG, bit, "%s", p->label);
		return true;
	}
	if (p->deflt && p->deflt->kind == TSR_AST_BOOL) {
		*out = tsr_value_bool(tsr_guess_choose(ev, TSR_CHOICE_FLAG, p->label, bit, 2, p->deflt->integer != 0) != 0);
		return true;
	}
	if (p->deflt || tsr_guess_choose(ev, TSR_CHOICE_GIVEN, p->label, bit, 2, 0) == 0)
		return false;
	*out = tsr_unknown_value(ev, TSR_UNKNOWN_OPEN, bit, "%s", p->label);
	return true;
}

static uint32_t last_unit(const tsr_function *f)
{
	for (uint32_t i = f->nparams; f->kind == TSR_FUNCTION_CLOSURE && i-- > 0;)
		if (is_unit(&f->params[i]))
			return i;
	return 0;
}

tsr_value tsr_guess_apply(tsr_eval *ev, tsr_value v, tsr_span site, tsr_guess_arguments *out)
{
	const tsr_function *f = v.function;
	uint32_t n = f->nparams + (f->kind == TSR_FUNCTION_VARIADIC ? 2 : 0), nargs = 0, unit = last_unit(f);
	tsr_actual *args = TSR_NEW_N(ev->arena, tsr_actual, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		const tsr_param *p = i < f->nparams ? &f->params[i] : &(tsr_param){.kind = TSR_ARG_PLAIN};
		tsr_unknown_kind kind = i < unit ? TSR_UNKNOWN_CONFIG : TSR_UNKNOWN_OPEN;
		tsr_guess_argument a = {.kind = p->kind, .name = p->label, .unit = is_unit(p)};
		if (i < f->nparams && f->given[i].given)
			continue;
		if (!a.name)
			a.name = p->pat && p->pat->kind == TSR_PAT_NAME ? p->pat->name : tsr_eval_name(ev, tsr_format(ev->arena, "x%u", nargs + 1));
		bool given = true;
		if (p->kind == TSR_ARG_OPTION)
			given = optional(ev, f, p, &a.value);
		else if (p->kind == TSR_ARG_PLAIN && p->pat)
			a.value = of_pattern(ev, p->pat, kind);
		else
			a.value = tsr_unknown_value(ev, kind, next_bit(ev), "%s", a.name);
		if (given)
			args[nargs++] = (tsr_actual){p->kind, p->label, a.value, site, TSR_NOWHERE};
		if (f->kind == TSR_FUNCTION_CLOSURE || p->kind != TSR_ARG_OPTION)
			tsr_push(ev->arena, out, a);
	}
	return nargs ? tsr_apply(ev, v, nargs, args, site) : TSR_POISON;
}

bool tsr_guess_has_defaults(tsr_value v)
{
	if (v.kind != TSR_VALUE_FUNCTION || v.function->kind != TSR_FUNCTION_CLOSURE)
		return false;
	for (uint32_t i = 0; i < v.function->nparams; i++) {
		const tsr_ast *deflt = v.function->params[i].deflt;
		if (deflt && is_number(deflt))
			return true;
	}
	return false;
}
