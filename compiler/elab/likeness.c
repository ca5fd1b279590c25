/* Which earlier application an application is like: their environments are walked side by side (config/alike.c), and what is said of
 * tensors, labels and numbers is said here.  The same: equal shapes, but for parameters of one scheme that can be folded and rows that can
 * be linked. Loosely: tensors of any shape correspond; a scheme says which shapes it is for. */
#include "share.h"

enum { CANDIDATES = 64 };        /* earlier applications of a function that are looked at */

static bool pending_fold(const tsr_likeness *c, const tsr_region *r, const tsr_region *onto)
{
	for (uint32_t i = 0; i < c->folds.n; i++)
		if (c->folds.at[i].r == r)
			return c->folds.at[i].onto == onto;
	return false;
}

const tsr_owner *tsr_owner_of(const tsr_elab *el, tsr_tensor_id id)
{
	return id < el->share->owner_of.n ? el->share->owner_of.at[id] : NULL;
}

static bool folds(tsr_likeness *c, const tsr_tensor *a, const tsr_region *r, const tsr_tensor *b, const tsr_region *onto)
{
	tsr_elab *el = c->el;
	if (!tsr_region_holds(r, &a->shape, onto, &b->shape))
		return false;
	if (pending_fold(c, r, onto))
		return true;
	if (!tsr_region_foldable(el->g->store, r, onto))
		return false;
	tsr_push(el->arena, &c->folds, ((tsr_fold){r, onto}));
	return true;
}

/* Parameters at the same place of two instances. */
static bool instances(tsr_likeness *c, const tsr_tensor *a, const tsr_tensor *b)
{
	for (const tsr_owner *r = tsr_owner_of(c->el, a->id); r; r = r->around)
		for (const tsr_owner *onto = tsr_owner_of(c->el, b->id); onto; onto = onto->around)
			if (folds(c, a, r->region, b, onto->region))
				return true;
	return false;
}

static bool same_shape(tsr_likeness *c, const tsr_tensor *a, const tsr_tensor *b)
{
	tsr_elab *el = c->el;
	if (c->loose || tsr_shapes_one(el, &a->shape, &b->shape) || instances(c, a, b))
		return true;
	if (a->kind != TSR_TENSOR_OP || b->kind != TSR_TENSOR_OP || !tsr_shapes_linkable(el->g->store, &a->shape, &b->shape))
		return false;
	tsr_push(el->arena, &c->links, ((tsr_pair){a->id, b->id}));
	return true;
}

static bool same_tensor(tsr_likeness *c, const tsr_value *x, const tsr_value *y)
{
	tsr_elab *el = c->el;
	if (x->tensor.part != y->tensor.part || x->tensor.slot != y->tensor.slot)
		return false;
	if (x->tensor.id == y->tensor.id && !c->loose)
		return true;
	if (x->tensor.id == TSR_NONE || y->tensor.id == TSR_NONE)
		return x->tensor.id == y->tensor.id;
	const tsr_tensor *a = tsr_tensor_get(el->g, x->tensor.id), *b = tsr_tensor_get(el->g, y->tensor.id);
	if (a->poison || b->poison)
		return false;
	tsr_push(el->arena, &c->pairs, ((tsr_pair){a->id, b->id}));
	return same_shape(c, a, b);
}

static bool same(void *data, const tsr_value *x, const tsr_value *y)
{
	tsr_likeness *c = data;
	if (x->kind == TSR_VALUE_TENSOR)
		return same_tensor(c, x, y);
	const tsr_label *a = x->label->label, *b = y->label->label;
	return a == b || (c->loose ? a->is_row == b->is_row && a->name == b->name : tsr_labels_one(c->el, a, b));
}

/* They may be sizes: what they are for shows when they are asked for. */
static bool same_number(void *data, const tsr_value *a, const tsr_value *b)
{
	tsr_likeness *c = data;
	tsr_push(c->el->arena, &c->numbers, b);
	return c->loose && c->el->share->level == TSR_SHARE_SIZES && a->integer > 0 && b->integer > 0;
}

/* One for one. */
static bool same_instance(void *data, tsr_instance *a, tsr_instance *b)
{
	tsr_likeness *c = data;
	for (uint32_t i = 0; i < c->instances.n; i++)
		if (c->instances.at[i].a == a || c->instances.at[i].b == b)
			return c->instances.at[i].a == a && c->instances.at[i].b == b;
	tsr_push(c->el->arena, &c->instances, ((tsr_instances){a, b}));
	return true;
}

/* All that differ in one also differ in the other, of likenesses to the same application. */
bool tsr_places_within(const tsr_places *some, const tsr_places *all)
{
	for (uint32_t i = 0; i < some->n; i++) {
		bool found = false;
		for (uint32_t j = 0; j < all->n && !found; j++)
			found = all->at[j] == some->at[i];
		if (!found)
			return false;
	}
	return true;
}

uint32_t tsr_round_of(const tsr_env *env)
{
	const tsr_frame *f = tsr_env_nearest_frame(env);
	return f && f->instance ? f->instance->round : 0;
}

bool tsr_envs_like(tsr_elab *el, const tsr_env *env, const tsr_env *earlier, bool loose, tsr_likeness *c)
{
	*c = (tsr_likeness){.el = el, .loose = loose};
	return tsr_env_alike(el->arena, env, earlier, &(tsr_alike){same, same_number, same_instance, c});
}

bool tsr_application_like(tsr_elab *el, const tsr_application *t, const tsr_env *env, bool loose, tsr_likeness *c)
{
	return (loose || !t->declares || t->round == tsr_round_of(env)) && tsr_envs_like(el, env, t->env, loose, c);
}

static uint64_t mixed(uint64_t key, uint64_t more)
{
	key = (key ^ more) * 0x9e3779b97f4a7c15u;
	return key ^ key >> 29;
}

/* Of an application, what is known by now of what it is applied to: those with other keys are not the same. */
static uint64_t key_of(tsr_elab *el, const tsr_env *env)
{
	enum { MOST = 8 };
	tsr_value v;
	uint64_t key = 0;
	for (uint32_t i = 0; i < MOST && tsr_env_innermost(&env, &v); i++) {
		key = mixed(key, v.kind);
		if (v.kind == TSR_VALUE_INT || v.kind == TSR_VALUE_BOOL)
			key = mixed(key, (uint64_t)v.integer);
		if (v.kind == TSR_VALUE_TENSOR && v.tensor.id != TSR_NONE)
			key = mixed(key, tsr_shape_key(el->g->store, &tsr_tensor_get(el->g, v.tensor.id)->shape));
	}
	return key;
}

tsr_application *tsr_application_same(tsr_elab *el, const tsr_body *all, const tsr_env *env, tsr_likeness *c)
{
	uint64_t key = key_of(el, env);
	for (uint32_t i = all->written.n, left = CANDIDATES; i-- > 0 && left-- > 0;) {
		tsr_application *t = all->written.at[i];
		if (key_of(el, t->env) == key && tsr_application_like(el, t, env, false, c))
			return t;
	}
	return NULL;
}

static bool rows_alike(tsr_store *s, const tsr_row *a, const tsr_row *b)
{
	if (a->nlead != b->nlead || a->ntrail != b->ntrail || (a->var == TSR_NO_ROW) != (b->var == TSR_NO_ROW))
		return false;
	for (uint32_t i = 0; i < a->nlead + a->ntrail; i++) {
		tsr_dim x = i < a->nlead ? a->lead[i] : a->trail[i - a->nlead], y = i < a->nlead ? b->lead[i] : b->trail[i - a->nlead];
		if (x.kind != y.kind || (x.kind != TSR_DIM_ATOM && !tsr_dims_one(s, x, y)))
			return false;
		if (x.kind == TSR_DIM_ATOM && x.atom.basis != y.atom.basis)
			return false;
	}
	return true;
}

static bool leaves_alike(tsr_elab *el, const tsr_asked *a, const tsr_asked *b)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		if (a->stated[k] != b->stated[k] || (a->stated[k] && !rows_alike(el->g->store, &a->shape.row[k], &b->shape.row[k])))
			return false;
	return true;
}

static bool asked_alike(tsr_elab *el, const tsr_asked *a, const tsr_asked *b)
{
	if (a->kind != b->kind || a->n != b->n || !a->mint != !b->mint)
		return false;
	switch (a->kind) {
	case TSR_ASKED_FRESH: case TSR_ASKED_EQUAL: return true;
	case TSR_ASKED_LEAF: return leaves_alike(el, a, b);
	case TSR_ASKED_RULE:
		return a->rule->logic == b->rule->logic && a->rule->least == b->rule->least && tsr_specs_one(el, a->rule->spec, b->rule->spec);
	case TSR_ASKED_LABEL:
		return a->fact == b->fact && a->a.is_row == b->a.is_row && a->a.name == b->a.name && a->b.name == b->b.name
			&& (a->fact == TSR_SHARE_SET || a->number == b->number);
	}
	return false;
}

bool tsr_applications_alike(tsr_elab *el, const tsr_application *t, const tsr_application *u)
{
	if (t == u || t->last - t->first != u->last - u->first)
		return false;
	for (uint32_t i = 0; i < t->last - t->first; i++)
		if (!asked_alike(el, &t->asked->at[t->first + i], &u->asked->at[u->first + i]))
			return false;
	return true;
}
