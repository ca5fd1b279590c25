/* Whether two applications of one function see the same things: their environments are walked side by side, until they are
 * one and the same.  Strings, lists and functions are compared, functions by their body and what they see; tensors, labels, instances and
 * whole numbers that differ are the caller's to judge.  A frame of the first may know less than one of the second, which has been used since. */
#include "eval.h"
#include <string.h>

typedef struct walk {
	const tsr_alike *judge;
	tsr_map seen;                    /* of the first side -> what it was compared with */
} walk;

static bool values_alike(walk *w, const tsr_value *a, const tsr_value *b);

/* Compared before, or being compared: a function may see itself. */
static bool seen(walk *w, const void *a, const void *b)
{
	tsr_map_entry *e = tsr_map_put(&w->seen, tsr_key(a));
	if (e->value.p == b)
		return true;
	e->value.p = (void *)(uintptr_t)b;
	return false;
}

static bool instances_alike(walk *w, tsr_instance *a, tsr_instance *b)
{
	return a == b || (a && b && w->judge->instance(w->judge->data, a, b));
}

static bool frames_alike(walk *w, const tsr_frame *a, const tsr_frame *b)
{
	if (a->application != b->application || a->names.n > b->names.n || !instances_alike(w, a->instance, b->instance))
		return false;
	for (uint32_t i = 0; i < a->names.n; i++)
		if (a->names.entries[i].key != b->names.entries[i].key
		    || !values_alike(w, a->names.entries[i].value.p, b->names.entries[i].value.p))
			return false;
	return true;
}

static bool envs_alike(walk *w, const tsr_env *a, const tsr_env *b)
{
	for (; a != b; a = a->up, b = b->up) {
		if (!a || !b || a->kind != b->kind)
			return false;
		if (seen(w, a, b))
			return true;
		switch (a->kind) {
		case TSR_ENV_NAME:
			if (a->bind.name != b->bind.name || !values_alike(w, &a->bind.value, &b->bind.value))
				return false;
			break;
		case TSR_ENV_FRAME:
			if (a->frame != b->frame && !frames_alike(w, a->frame, b->frame))
				return false;
			break;
		case TSR_ENV_TABLE:
			if (a->table != b->table)
				return false;
			break;
		}
	}
	return true;
}

static bool functions_alike(walk *w, const tsr_function *f, const tsr_function *g)
{
	if (f == g)
		return true;
	if (f->kind != g->kind || f->nparams != g->nparams || f->fn != g->fn || f->data != g->data || f->body != g->body
	    || f->level != g->level || !f->instance != !g->instance)
		return false;
	if (seen(w, f, g))
		return true;
	if (!instances_alike(w, f->instance, g->instance))
		return false;
	for (uint32_t i = 0; i < f->nparams; i++)
		if (f->given[i].given != g->given[i].given || f->given[i].whole != g->given[i].whole
		    || (f->given[i].given && !values_alike(w, &f->given[i].value, &g->given[i].value)))
			return false;
	return f->kind != TSR_FUNCTION_CLOSURE || envs_alike(w, f->env, g->env);
}

static bool strings_alike(walk *w, const tsr_value *a, const tsr_value *b)
{
	const tsr_origin *x = a->string.origin, *y = b->string.origin;
	if (strcmp(a->string.text, b->string.text) != 0 || !x != !y)
		return false;
	return x == y || envs_alike(w, x->env, y->env);
}

static bool values_alike(walk *w, const tsr_value *a, const tsr_value *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case TSR_VALUE_POISON: return false;
	case TSR_VALUE_UNIT: return true;
	case TSR_VALUE_INT: return a->integer == b->integer || w->judge->number(w->judge->data, a, b);
	case TSR_VALUE_BOOL: return a->integer == b->integer;
	case TSR_VALUE_FLOAT: return memcmp(&a->real, &b->real, sizeof a->real) == 0;
	case TSR_VALUE_STRING: return strings_alike(w, a, b);
	case TSR_VALUE_LIST: case TSR_VALUE_TUPLE: case TSR_VALUE_OPTION:
		if (a->items.n != b->items.n)
			return false;
		for (uint32_t i = 0; i < a->items.n && a->items.at != b->items.at; i++)
			if (!values_alike(w, &a->items.at[i], &b->items.at[i]))
				return false;
		return true;
	case TSR_VALUE_FUNCTION: return functions_alike(w, a->function, b->function);
	case TSR_VALUE_TENSOR: case TSR_VALUE_LABEL: return w->judge->same(w->judge->data, a, b);
	case TSR_VALUE_CODE: return a->code == b->code;
	case TSR_VALUE_NUMBER: return a->number == b->number;
	case TSR_VALUE_UNKNOWN: return a->unknown == b->unknown;
	case TSR_VALUE_ARGUMENT: return a->argument.position == b->argument.position && a->argument.deflt == b->argument.deflt;
	}
	return false;
}

bool tsr_env_alike(tsr_arena *arena, const tsr_env *a, const tsr_env *b, const tsr_alike *judge)
{
	walk w = {.judge = judge};
	tsr_map_init(&w.seen, arena);
	return envs_alike(&w, a, b);
}
