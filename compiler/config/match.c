/* Pattern matching: names bound to the parts of a value. */
#include "guess.h"
#include <stdio.h>
#include <string.h>

static const tsr_env *match_items(tsr_eval *ev, const tsr_env *env, const tsr_pat *pat, tsr_value v)
{
	if (v.items.n != pat->items.n)
		return NULL;
	for (uint32_t i = 0; env && i < v.items.n; i++)
		env = tsr_match(ev, env, pat->items.at[i], v.items.at[i]);
	return env;
}

/* Poison matches every pattern: what it would have bound is poison too. */
static const tsr_env *bind_poison(tsr_eval *ev, const tsr_env *env, const tsr_pat *pat)
{
	if (pat->kind == TSR_PAT_NAME)
		env = tsr_env_bind(ev->arena, env, pat->name, TSR_POISON);
	for (uint32_t i = 0; i < pat->items.n; i++)
		env = bind_poison(ev, env, pat->items.at[i]);
	return env;
}

/* What is not known has the form that the pattern asks for. A pattern that need not match was chosen, or is taken for the one that
 * does: then this way need not be there. */
static const tsr_env *bind_unknown(tsr_eval *ev, const tsr_env *env, const tsr_pat *pat, tsr_value v)
{
	char part[16];
	switch (pat->kind) {
	case TSR_PAT_ANY: case TSR_PAT_UNIT: return env;
	case TSR_PAT_NAME: return tsr_env_bind(ev->arena, env, pat->name, v);
	case TSR_PAT_OR: return bind_unknown(ev, env, pat->items.at[0], v);
	case TSR_PAT_TUPLE: break;
	case TSR_PAT_INT: case TSR_PAT_BOOL: case TSR_PAT_STRING: case TSR_PAT_NONE: case TSR_PAT_LIST: case TSR_PAT_SOME: case TSR_PAT_CONS:
		ev->guess->unsure = true;
		break;
	}
	for (uint32_t i = 0; i < pat->items.n; i++) {
		snprintf(part, sizeof part, "%u", i);
		env = bind_unknown(ev, env, pat->items.at[i], tsr_unknown_part(ev, v.unknown, TSR_UNKNOWN_OPEN, part));
	}
	return env;
}

const tsr_env *tsr_match(tsr_eval *ev, const tsr_env *env, const tsr_pat *pat, tsr_value v)
{
	if (!env)
		env = ev->root;
	if (v.kind == TSR_VALUE_POISON)
		return bind_poison(ev, env, pat);
	if (v.kind == TSR_VALUE_UNKNOWN)
		return bind_unknown(ev, env, pat, v);
	switch (pat->kind) {
	case TSR_PAT_ANY: return env;
	case TSR_PAT_NAME: return tsr_env_bind(ev->arena, env, pat->name, v);
	case TSR_PAT_UNIT: return v.kind == TSR_VALUE_UNIT ? env : NULL;
	case TSR_PAT_INT:
		return tsr_value_is_number(v) && tsr_value_number(v) == (double)pat->value ? env : NULL;
	case TSR_PAT_BOOL: return v.kind == TSR_VALUE_BOOL && v.integer == pat->value ? env : NULL;
	case TSR_PAT_STRING: return v.kind == TSR_VALUE_STRING && strcmp(v.string.text, pat->text) == 0 ? env : NULL;
	case TSR_PAT_TUPLE: return v.kind == TSR_VALUE_TUPLE ? match_items(ev, env, pat, v) : NULL;
	case TSR_PAT_LIST: return v.kind == TSR_VALUE_LIST ? match_items(ev, env, pat, v) : NULL;
	case TSR_PAT_NONE: return v.kind == TSR_VALUE_OPTION && v.items.n == 0 ? env : NULL;
	case TSR_PAT_SOME:
		return v.kind == TSR_VALUE_OPTION && v.items.n == 1 ? tsr_match(ev, env, pat->items.at[0], v.items.at[0]) : NULL;
	case TSR_PAT_CONS:
		if (v.kind != TSR_VALUE_LIST || v.items.n == 0)
			return NULL;
		env = tsr_match(ev, env, pat->items.at[0], v.items.at[0]);
		return env ? tsr_match(ev, env, pat->items.at[1], tsr_value_list(v.items.n - 1, v.items.at + 1)) : NULL;
	case TSR_PAT_OR: {
		const tsr_env *first = tsr_match(ev, env, pat->items.at[0], v);
		return first ? first : tsr_match(ev, env, pat->items.at[1], v);
	}
	}
	return NULL;
}
