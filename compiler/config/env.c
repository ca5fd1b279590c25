/* Names in scope: a chain of bindings, frames of definitions and tables of opened modules, innermost first.
 *
 * A long run of bindings, such as a file of thousands of definitions, is indexed on the way: the binding at every 32nd place of
 * a run holds a table of as many bindings as the greatest power of two that divides its place. So a name is found, or not, in about
 * 32 + log n steps, and making the tables costs log n for each binding. */
#include "eval.h"
#include <string.h>

static tsr_env *node(tsr_arena *a, const tsr_env *up, int kind)
{
	tsr_env *e = TSR_NEW(a, tsr_env);
	e->up = up;
	e->kind = kind;
	return e;
}

enum { EVERY = 32 };

static void index_run(tsr_arena *a, tsr_env *e)
{
	tsr_map *index = TSR_NEW(a, tsr_map);
	tsr_map_init(index, a);
	const tsr_env *at = e;
	for (uint32_t i = e->run & -e->run; i > 0; i--, at = at->up)
		if (!tsr_map_find(index, tsr_key(at->bind.name)))
			tsr_map_put(index, tsr_key(at->bind.name))->value.p = (void *)at;
	e->index = index;
	e->past = at;
}

tsr_env *tsr_env_bind(tsr_arena *a, const tsr_env *up, tsr_name name, tsr_value value)
{
	tsr_env *e = node(a, up, TSR_ENV_NAME);
	e->bind.name = name;
	e->bind.value = value;
	e->run = up && up->kind == TSR_ENV_NAME ? up->run + 1 : 1;
	if (e->run % EVERY == 0)
		index_run(a, e);
	return e;
}

tsr_env *tsr_env_frame(tsr_arena *a, const tsr_env *up, tsr_frame *frame)
{
	tsr_env *e = node(a, up, TSR_ENV_FRAME);
	e->frame = frame;
	return e;
}

tsr_env *tsr_env_table(tsr_arena *a, const tsr_env *up, const tsr_map *table)
{
	tsr_env *e = node(a, up, TSR_ENV_TABLE);
	e->table = table;
	return e;
}

static const tsr_map *table_of(const tsr_env *e)
{
	return e->kind == TSR_ENV_FRAME ? &e->frame->names : e->table;
}

bool tsr_env_lookup(const tsr_env *env, tsr_name name, tsr_value *out)
{
	for (; env; env = env->index ? env->past : env->up) {
		if (env->index) {
			tsr_map_entry *bound = tsr_map_find(env->index, tsr_key(name));
			if (!bound)
				continue;
			env = bound->value.p;
		}
		if (env->kind == TSR_ENV_NAME) {
			if (env->bind.name != name)
				continue;
			*out = env->bind.value;
			return true;
		}
		tsr_map_entry *found = tsr_map_find(table_of(env), tsr_key(name));
		if (found) {
			*out = *(tsr_value *)found->value.p;
			return true;
		}
	}
	return false;
}

tsr_frame *tsr_env_nearest_frame(const tsr_env *env)
{
	for (; env; env = env->index ? env->past : env->up)
		if (env->kind == TSR_ENV_FRAME)
			return env->frame;
	return NULL;
}

tsr_frame *tsr_frame_new(tsr_arena *a, tsr_instance *instance, bool application)
{
	tsr_frame *f = TSR_NEW(a, tsr_frame);
	tsr_map_init(&f->names, a);
	f->instance = instance;
	f->application = application;
	return f;
}

tsr_instance *tsr_instance_new(tsr_eval *ev, tsr_name path)
{
	tsr_instance *i = TSR_NEW(ev->arena, tsr_instance);
	tsr_map_init(&i->made, ev->arena);
	i->path = path;
	return i;
}

void tsr_frame_put(tsr_arena *a, tsr_frame *f, tsr_name name, tsr_value v)
{
	tsr_value *kept = TSR_NEW(a, tsr_value);
	*kept = v;
	tsr_map_put(&f->names, tsr_key(name))->value.p = kept;
}

/* Edit distance with neighbours swapped, at most `limit`; more counts as limit + 1. */
static uint32_t distance(const char *a, const char *b, uint32_t limit)
{
	enum { LONG = 40 };
	uint32_t n = (uint32_t)strlen(a), m = (uint32_t)strlen(b);
	if (n > LONG || m > LONG || (n > m ? n - m : m - n) > limit)
		return limit + 1;
	uint32_t d[LONG + 1][LONG + 1];
	for (uint32_t i = 0; i <= n; i++)
		for (uint32_t j = 0; j <= m; j++) {
			if (!i || !j) {
				d[i][j] = i + j;
				continue;
			}
			uint32_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	return d[n][m];
}

static bool is_word(tsr_name s)
{
	return (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_';
}

tsr_name tsr_env_nearest(const tsr_env *env, tsr_name name)
{
	uint32_t best = (uint32_t)strlen(name) / 3 + 1;
	tsr_name found = NULL;
	if (!is_word(name))
		return NULL;
	for (; env; env = env->up) {
		if (env->kind == TSR_ENV_NAME) {
			uint32_t d = is_word(env->bind.name) ? distance(name, env->bind.name, best) : best;
			if (d < best) {
				best = d;
				found = env->bind.name;
			}
			continue;
		}
		const tsr_map *table = table_of(env);
		for (uint32_t i = 0; i < table->n; i++) {
			tsr_name other = (tsr_name)(uintptr_t)table->entries[i].key;
			uint32_t d = is_word(other) ? distance(name, other, best) : best;
			if (d < best) {
				best = d;
				found = other;
			}
		}
	}
	return found;
}
