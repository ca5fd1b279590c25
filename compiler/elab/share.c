/* Applications that emit the same: a function that is applied again makes the same constraints, and they are solved once.  Every
 * application writes down what it asks of the store (follow.c); a later one follows that instead of emitting it:
 *
 *   as a copy      an application to configuration alone, such as `layer ()`: its constraints mention nothing outside, they are
 *                  a scheme, and an instance of it has variables of its own (shape/region.c).
 *   as the same    an application to tensors whose shapes are the same: what it makes has the same shapes too, the very same
 *                  variables. Parameters that an instance alone owns and that nothing has touched are folded onto those of the
 *                  first, and an argument that agrees with the first's in all that is known is linked to it.
 *   as an instance an application to other shapes, or with other sizes in its configuration: of the scheme that is made of the earlier
 *                  one (generic.c).
 *
 * The second is a guess about what is still to come. See Note [Shared applications]. */
#include "share.h"

/* An application to other shapes than before is linked only where that pays: the guess may be wrong. */
#define WORTH_LINKING 32

tsr_share *tsr_share_new(tsr_elab *el, tsr_share_level level)
{
	tsr_share *s = TSR_NEW(el->arena, tsr_share);
	s->level = level;
	tsr_map_init(&s->by_body, el->arena);
	tsr_map_init(&s->canonical, el->arena);
	tsr_map_init(&s->mint_of, el->arena);
	return s;
}

static tsr_body *body_of(tsr_elab *el, const tsr_ast *body)
{
	tsr_map_entry *e = tsr_map_put(&el->share->by_body, tsr_key(body));
	if (!e->value.p)
		e->value.p = TSR_NEW(el->arena, tsr_body);
	return e->value.p;
}

/* ---- being written down -------------------------------------------------------------------------------------------------------- */

static void begin(tsr_elab *el, const tsr_ast *body, tsr_body *all, const tsr_env *env, bool again)
{
	tsr_application *t = TSR_NEW(el->arena, tsr_application);
	*t = (tsr_application){.body = body, .all = all, .why = el->share->why, .env = env, .round = tsr_round_of(env),
	                       .instances = tsr_eval_instances(el->ev), .decides = tsr_trace_decisions(el->ev), .asked = &el->share->asked,
	                       .first = el->share->asked.n, .again = again, .first_tensor = el->g->tensors.n, .region = tsr_region_begin(el->g->store)};
	tsr_map_init(&t->applied, el->arena);
	tsr_push(el->arena, &el->share->open, t);
}

static void own_tensors(tsr_elab *el, uint32_t from, const tsr_region *r)
{
	tsr_share *s = el->share;
	tsr_owner *mine = TSR_NEW(el->arena, tsr_owner);
	mine->region = r;
	while (s->owner_of.n < el->g->tensors.n)
		tsr_push(el->arena, &s->owner_of, NULL);
	for (uint32_t i = from; i < s->owner_of.n; i++) {
		tsr_owner **o = &s->owner_of.at[i];
		while (*o && *o != mine)
			o = &(*o)->around;
		*o = mine;
	}
}

static bool has_variables(const tsr_shape *shape)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		const tsr_row *r = &shape->row[k];
		for (uint32_t i = 0; i < r->nlead + r->ntrail; i++)
			if ((i < r->nlead ? r->lead[i] : r->trail[i - r->nlead]).kind == TSR_DIM_VAR)
				return true;
		if (r->var != TSR_NO_ROW)
			return true;
	}
	return false;
}

/* An application to configuration alone is a scheme as it stands: it is kept for those that repeat it, the first time as long as that is no
 * more than a few times of what there is. (A recursion has applications inside of one another.) */
static bool worth_keeping(tsr_elab *el, const tsr_application *t)
{
	enum { TIMES = 4, AT_LEAST = 4096 };
	tsr_share *s = el->share;
	uint32_t size = tsr_region_ends(t->region) - tsr_region_begins(t->region);
	if (t->again)
		return true;
	if (s->kept + size > AT_LEAST + TIMES * (uint64_t)tsr_store_emission(el->g->store))
		return false;
	for (uint32_t i = t->first; i < t->last; i++) {
		const tsr_asked *e = &t->asked->at[i];
		for (uint32_t k = 0; k < e->n; k++)
			if (e->tensors && e->tensors[k] < t->first_tensor && has_variables(&e->shapes[k]))
				return false;
	}
	s->kept += size;
	return true;
}

/* The tensors in a value; false where it may lead to more. */
static bool tensors_in(tsr_elab *el, const tsr_value *v, tsr_application *t)
{
	switch (v->kind) {
	case TSR_VALUE_TENSOR:
		if (v->tensor.id != TSR_NONE)
			tsr_push(el->arena, &t->results, v->tensor.id);
		return true;
	case TSR_VALUE_TUPLE: case TSR_VALUE_LIST: case TSR_VALUE_OPTION:
		for (uint32_t i = 0; i < v->items.n; i++)
			if (!tensors_in(el, &v->items.at[i], t))
				return false;
		return true;
	case TSR_VALUE_UNIT: case TSR_VALUE_INT: case TSR_VALUE_FLOAT: case TSR_VALUE_BOOL: case TSR_VALUE_NUMBER: return true;
	case TSR_VALUE_POISON: case TSR_VALUE_LABEL: case TSR_VALUE_STRING: case TSR_VALUE_FUNCTION: case TSR_VALUE_CODE: case TSR_VALUE_UNKNOWN:
	case TSR_VALUE_ARGUMENT: return false;
	}
	return false;
}

static void end(tsr_elab *el, tsr_value result, bool instance)
{
	tsr_share *s = el->share;
	tsr_application *t = s->open.at[--s->open.n];
	t->last = s->asked.n;
	t->decided = tsr_trace_decisions(el->ev);
	t->hidden = tensors_in(el, &result, t);
	tsr_region_end(el->g->store, t->region);
	if (t->first == t->last)
		return;
	if (!instance) {
		s->stats.solved[!t->all->solved ? TSR_AGAIN_FIRST : t->body ? t->why : TSR_AGAIN_SPOILED]++;
		t->all->solved++;
	}
	if (!t->body || tsr_share_failed(el))
		return;
	if (worth_keeping(el, t))
		t->closed = tsr_region_keep(el->g->store, t->region);
	if (t->closed)
		own_tensors(el, t->first_tensor, t->region);
	tsr_push(el->arena, &body_of(el, t->body)->written, t);
	tsr_push(el->arena, &s->all, t);
}

/* ---- followed ---------------------------------------------------------------------------------------------------------------------- */

static void follow(tsr_elab *el, const tsr_application *t, const tsr_region *copy, const tsr_generic *instance)
{
	tsr_share *s = el->share;
	s->following = t;
	s->copy = copy;
	s->instance = instance;
	s->made = NULL;
	s->cursor = t->first;
	s->depth = 0;
	s->tensor = el->g->tensors.n;
}

static bool leads_to(const tsr_elab *el, const tsr_likeness *c, const tsr_application *t)
{
	return c->pairs.n && (c->links.n + c->folds.n == 0 || t->last - t->first >= WORTH_LINKING) && !tsr_share_failed(el);
}

/* The parameters of one region are those of the other. */
static void note_fold(tsr_elab *el, tsr_application *t, const tsr_fold *f)
{
	tsr_push(el->arena, &t->onto, f->onto);
	tsr_region_fold(el->g->store, f->r, f->onto);
}

static void follow_as_same(tsr_elab *el, tsr_application *t, const tsr_likeness *c)
{
	tsr_share *s = el->share;
	for (uint32_t i = 0; i < c->folds.n; i++)
		note_fold(el, t, &c->folds.at[i]);
	for (uint32_t i = 0; i < c->links.n; i++)
		tsr_shapes_link(el->g->store, &tsr_tensor_get(el->g, c->links.at[i].a)->shape, &tsr_tensor_get(el->g, c->links.at[i].b)->shape,
		                &t->links);
	for (uint32_t i = 0; i < c->pairs.n; i++) {
		const tsr_pair *p = &c->pairs.at[i];
		tsr_map_put(&t->applied, p->a);
		tsr_map_put(&t->applied, p->b);
		if (tsr_owner_of(el, p->a))
			tsr_map_put(&s->canonical, p->a)->value.i = p->b;
	}
	for (uint32_t i = 0; i < s->open.n; i++)
		tsr_push(el->arena, &s->open.at[i]->uses, t);
	t->shared = true;
	s->stats.same++;
	follow(el, t, NULL, NULL);
}

/* It is written down, too: what comes with the same shapes as this one is the same. */
static void follow_as_instance(tsr_elab *el, const tsr_ast *body, tsr_body *all, const tsr_env *env, const tsr_generic *k, const tsr_tensor_id *given)
{
	tsr_share *s = el->share;
	uint32_t n = k->arguments.n;
	const tsr_within *within = tsr_elab_within(el);
	tsr_why why = {.span = within ? within->site : body->span, .other = TSR_NOWHERE, .within = within, .what = "the arguments"};
	begin(el, body, all, env, false);
	s->stats.instances++;
	const tsr_scheme_copy *made = tsr_scheme_instance(k->scheme, tsr_shapes_of(el, n, given), &why);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < s->open.n; j++)
			if (given[i] < s->open.at[j]->first_tensor)
				tsr_push(el->arena, &s->open.at[j]->given, tsr_scheme_given(k->scheme, made, i));
	follow(el, &k->as, NULL, k);
	s->made = made;
	s->given = given;
	s->mine.n = 0;
}

void tsr_share_enter(tsr_eval *ev, const tsr_env *env, const tsr_ast *body)
{
	tsr_elab *el = tsr_elab_of(ev);
	tsr_share *s = el->share;
	tsr_likeness c;
	const tsr_tensor_id *given;
	if (!s || s->broken)
		return;
	if (s->following) {
		s->depth++;
		return;
	}
	tsr_body *all = body_of(el, body);
	s->why = TSR_AGAIN_CONFIG;
	tsr_application *t = tsr_application_same(el, all, env, &c);
	const tsr_generic *k = NULL;
	if (t && !c.pairs.n && t->closed) {
		s->stats.copied++;
		follow(el, t, tsr_region_repeat(el->g->store, t->region), NULL);
	} else if (t && leads_to(el, &c, t)) {
		follow_as_same(el, t, &c);
	} else if ((!t || c.pairs.n) && (k = tsr_generic_for(el, all, env, &given))) {
		follow_as_instance(el, body, all, env, k, given);
	} else {
		if (t)
			tsr_share_not(el, c.pairs.n ? TSR_AGAIN_SMALL : TSR_AGAIN_REPEATED);
		begin(el, body, all, env, t != NULL);
	}
}

/* What was followed has come to its end. */
static void arrived(tsr_elab *el, tsr_value result)
{
	tsr_share *s = el->share;
	if (s->cursor != s->following->last) {
		s->broken = true;
		s->misled |= s->instance && s->instance->numbers.n;
	}
	if (s->copy)
		own_tensors(el, s->tensor, s->copy);
	s->following = NULL;
	if (s->instance && !s->broken)
		end(el, result, true);
	s->instance = NULL;
}

void tsr_share_leave(tsr_eval *ev, tsr_value result)
{
	tsr_elab *el = tsr_elab_of(ev);
	tsr_share *s = el->share;
	if (!s || s->broken)
		return;
	if (!s->following)
		end(el, result, false);
	else if (s->depth > 0)
		s->depth--;
	else
		arrived(el, result);
}

/* ---- was the guess right ---------------------------------------------------------------------------------------------------------- */

/* Applied to the leaf `one` of the first application: then to that of each. */
static bool covers(const tsr_elab *el, const tsr_application *u, tsr_tensor_id one)
{
	const tsr_map *others = &el->share->canonical;
	for (uint32_t i = 0; i < others->n; i++)
		if (others->entries[i].value.i == one && !tsr_map_find(&u->applied, others->entries[i].key))
			return false;
	return true;
}

static void add_friends(tsr_elab *el, const tsr_application *t, tsr_regions *out)
{
	for (uint32_t i = 0; i < out->n; i++)
		if (out->at[i] == t->region)
			return;
	tsr_push(el->arena, out, t->region);
	for (uint32_t i = 0; i < t->onto.n; i++)
		tsr_push(el->arena, out, t->onto.at[i]);
	for (uint32_t i = 0; i < t->uses.n; i++)
		add_friends(el, t->uses.at[i], out);
}

/* Applications to leaves of t, which count as part of it when each instance's leaf was given to one. */
static void add_covering(tsr_elab *el, const tsr_application *t, tsr_regions *out)
{
	tsr_share *s = el->share;
	for (uint32_t i = 0; i < s->all.n; i++) {
		const tsr_application *u = s->all.at[i];
		bool any = false, all = u->shared && u != t;
		for (uint32_t k = t->first; all && k < t->last; k++) {
			const tsr_asked *e = &t->asked->at[k];
			if (e->kind != TSR_ASKED_LEAF || !tsr_map_find(&u->applied, e->leaf))
				continue;
			any = true;
			all = covers(el, u, e->leaf);
		}
		if (any && all)
			add_friends(el, u, out);
	}
}

static bool alone(tsr_elab *el, const tsr_application *t)
{
	tsr_regions friends = {0};
	TSR_VEC(tsr_shape) given = {0};
	for (uint32_t i = 0; i < t->given.n; i++)
		tsr_push(el->arena, &given, t->given.at[i]);
	add_friends(el, t, &friends);
	add_covering(el, t, &friends);
	for (uint32_t i = t->first; i < t->last; i++)
		for (uint32_t k = 0; k < t->asked->at[i].n; k++)
			if (!tsr_regions_made(friends.n, friends.at, &t->asked->at[i].shapes[k]))
				tsr_push(el->arena, &given, t->asked->at[i].shapes[k]);
	return tsr_region_alone(el->g->store, friends.n, friends.at, given.n, given.at, &t->links);
}

tsr_share_level tsr_graph_shares_well(tsr_graph *g)
{
	tsr_elab *el = g->elab;
	tsr_share *s = el->share;
	if (!s)
		return TSR_SHARE_NONE;
	if (s->misled)
		return TSR_SHARE_SHAPES;
	if (s->broken || tsr_share_failed(el))
		return TSR_SHARE_NONE;
	for (uint32_t i = 0; i < s->all.n; i++)
		if (s->all.at[i]->shared && !alone(el, s->all.at[i]))
			return TSR_SHARE_NONE;
	return s->level;
}

const char *tsr_again_str(tsr_again why)
{
	static const char *const text[] = {
#define TSR_AGAIN(name, why) why,
#include "again.def"
#undef TSR_AGAIN
	};
	return text[why];
}

tsr_share_stats tsr_graph_shared(const tsr_graph *g)
{
	return g->elab->share ? g->elab->share->stats : (tsr_share_stats){0};
}

/* Note [Shared applications]
 * Let F be the constraints of the program with every application emitted, and Q what is emitted when applications that are the
 * same share their variables. Every solution of Q solves F: an application that was not emitted has the shapes of one that was,
 * and that one's constraints hold. So all that the rules of section 4 derive in F holds in the solution of Q, and what may
 * differ is policy: a leaf that took another bound, an interior that went up further.
 *
 * Suppose that in Q no variable of the shared application got its value, or its candidate, from a constraint outside of it,
 * except through the shapes that all applications were given alike. Then in F each of the applications, one after the other, is
 * solved by the same steps from the same shapes, and closes in the same way; a linked row, of which only what lies in front of
 * the known axes is open, closes to nothing in each because it does so in Q without any candidate. So the solutions agree.
 * tsr_graph_shares_well decides whether that is so; where it is not, or where anything is wrong with the program, the driver
 * elaborates it again with every application emitted. Optimisers touch parameters from outside: such an application counts as
 * part of the shared one when it is itself shared and was applied to the parameter of every instance.
 *
 * An instance of a scheme is no guess (Note [Instances] in shape/instance.c), and may itself be what later applications are the same
 * as. What it stands on are variables of its own which are joined with those of its arguments: these count as given, too. */
