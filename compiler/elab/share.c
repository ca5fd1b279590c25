/* Applications that emit the same: a function that is applied again makes the same constraints, and they are solved once.  When the program
 * is complete, all that it asked for is gone through in order; each application in it that asks for the like of what an earlier one asked for
 * (likeness.c) follows that (follow.c) instead of emitting it:
 *
 *   as an instance of a scheme (generic.c), which is solved in a store of its own when the first application comes that others are like: the
 *                  first is an instance, too. What is applied in the body follows schemes there as it would here.
 *   as a copy      one that mentions nothing outside, such as `layer ()`, and was there before: of its constraints as they are by
 *                  now (shape/region.c), with variables of its own.
 *   as the same    an application to tensors whose shapes are the same: what it makes has the same shapes too, the very same
 *                  variables. Parameters that an instance alone owns and that nothing has touched are folded onto those of the
 *                  first, and an argument that agrees with the first's in all that is known is linked to it.
 *
 * The last is a guess about what is still to come (alone.c), so it is for the program's store only. An application that no other one is like
 * is emitted where it stands. */
#include "share.h"

/* An application to other shapes than before is linked only where that pays: the guess may be wrong. */
#define WORTH_LINKING 32

tsr_share *tsr_share_new(tsr_elab *el, tsr_share_level level)
{
	tsr_share *s = TSR_NEW(el->arena, tsr_share);
	tsr_map *maps[] = {&s->by_body, &s->canonical, &s->label_at, &s->alias_of};
	s->level = s->stats.level = level;
	for (uint32_t i = 0; i < sizeof maps / sizeof *maps; i++)
		tsr_map_init(maps[i], el->arena);
	return s;
}

tsr_body *tsr_share_body(tsr_elab *el, const tsr_ast *body)
{
	tsr_map_entry *e = tsr_map_put(&el->share->by_body, tsr_key(body));
	if (!e->value.p) {
		tsr_body *all = e->value.p = TSR_NEW(el->arena, tsr_body);
		tsr_map_init(&all->keys, el->arena);
	}
	return e->value.p;
}

/* ---- solved ------------------------------------------------------------------------------------------------------------------------ */

static void own_tensors(tsr_elab *el, const tsr_application *t, const tsr_region *r)
{
	tsr_share *s = el->share;
	tsr_owner *mine = TSR_NEW(el->arena, tsr_owner);
	mine->region = r;
	while (s->owner_of.n < t->last_tensor)
		tsr_push(el->arena, &s->owner_of, NULL);
	for (uint32_t i = t->first_tensor; i < t->last_tensor; i++) {
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

static void begin(tsr_elab *el, tsr_application *t)
{
	tsr_map_init(&t->applied, el->arena);
	t->region = tsr_region_begin(el->g->store);
	tsr_push(el->arena, &el->share->open, t);
}

static void end(tsr_elab *el, tsr_application *t)
{
	tsr_share *s = el->share;
	s->open.n--;
	tsr_region_end(el->g->store, t->region);
	if (t->spoiled || t->apart || s->inside || tsr_share_failed(el))
		return;
	if (worth_keeping(el, t))
		t->closed = tsr_region_keep(el->g->store, t->region);
	if (t->closed)
		own_tensors(el, t, t->region);
	tsr_push(el->arena, &t->all->written, t);
	tsr_push(el->arena, &s->all, t);
}

/* The next application that begins here, and asks for something. */
static tsr_application *begins(tsr_share *s, uint32_t at)
{
	while (s->next < s->written.n && s->written.at[s->next]->first <= at) {
		tsr_application *t = s->written.at[s->next++];
		if (t->first == at && t->last > at)
			return t;
	}
	return NULL;
}

static void apply(tsr_elab *el, tsr_application *t);

void tsr_share_emit(tsr_elab *el, const tsr_application *t)
{
	tsr_share *s = el->share;
	for (uint32_t i = t->first; i < t->last;) {
		tsr_application *inner = begins(s, i);
		if (inner)
			apply(el, inner);
		else
			tsr_asked_emit(el, &s->asked.at[i]);
		i = inner ? inner->last : i + 1;
	}
}

/* It is solved now, for itself or as a scheme. */
static void note_solved(tsr_elab *el, tsr_application *t, tsr_again why)
{
	tsr_share *s = el->share;
	bool twice = !t->spoiled && !t->apart && tsr_application_isomorphic(el, t);
	if (twice && why < TSR_AGAIN_OUTSIDE)
		why = TSR_AGAIN_OUTSIDE;
	s->stats.solved[!t->all->solved.n ? TSR_AGAIN_FIRST : t->spoiled ? TSR_AGAIN_SPOILED : why]++;
	s->stats.twice += twice;
	tsr_push(el->arena, &t->all->solved, t);
}

static void solve(tsr_elab *el, tsr_application *t)
{
	begin(el, t);
	tsr_share_emit(el, t);
	end(el, t);
}

/* ---- followed ---------------------------------------------------------------------------------------------------------------------- */

static bool leads_to(const tsr_elab *el, const tsr_likeness *c, const tsr_application *t)
{
	return el->share->level == TSR_SHARE_ALL && c->others
		&& (c->links.n + c->folds.n == 0 || t->last - t->first >= WORTH_LINKING) && !tsr_share_failed(el);
}

/* The parameters of one region are those of the other. */
static void note_fold(tsr_elab *el, tsr_application *t, const tsr_fold *f)
{
	tsr_push(el->arena, &t->onto, f->onto);
	tsr_region_fold(el->g->store, f->r, f->onto);
}

static void follow_as_same(tsr_elab *el, tsr_application *t, tsr_application *of, const tsr_likeness *c)
{
	tsr_share *s = el->share;
	for (uint32_t i = 0; i < c->folds.n; i++)
		note_fold(el, of, &c->folds.at[i]);
	for (uint32_t i = 0; i < c->links.n; i++)
		tsr_shapes_link(el->g->store, &tsr_tensor_get(el->g, c->links.at[i].a)->shape, &tsr_tensor_get(el->g, c->links.at[i].b)->shape,
		                &of->links);
	for (uint32_t i = 0; i < c->pairs.n; i++) {
		const tsr_pair *p = &c->pairs.at[i];
		if (p->a == p->b)
			continue;
		tsr_map_put(&of->applied, p->a);
		tsr_map_put(&of->applied, p->b);
		if (tsr_owner_of(el, p->a))
			tsr_map_put(&s->canonical, p->a)->value.i = p->b;
	}
	for (uint32_t i = 0; i < s->open.n; i++)
		tsr_push(el->arena, &s->open.at[i]->uses, of);
	of->shared = true;
	s->stats.same++;
	tsr_follow(el, t, of, NULL, NULL, NULL);
}

static void follow_as_copy(tsr_elab *el, tsr_application *t, const tsr_application *of)
{
	const tsr_region *copy = tsr_region_repeat(el->g->store, of->region);
	el->share->stats.copied++;
	tsr_follow(el, t, of, copy, NULL, NULL);
	own_tensors(el, t, copy);
}

/* It may be followed as those that are solved here: what comes with the same shapes as this one is the same. */
static void follow_as_instance(tsr_elab *el, tsr_application *t, const tsr_generic *k, const tsr_given *given)
{
	tsr_share *s = el->share;
	begin(el, t);
	const tsr_scheme_copy *made = tsr_scheme_instance(k->scheme, el->g->store, given->shapes, given->sizes, &t->why);
	for (uint32_t i = 0; i < given->n; i++)
		for (uint32_t j = 0; j < s->open.n; j++)
			if (given->tensors[i] == TSR_NONE || given->tensors[i] < s->open.at[j]->first_tensor)
				tsr_push(el->arena, &s->open.at[j]->given, tsr_scheme_given(k->scheme, made, i));
	tsr_follow(el, t, &k->as, NULL, k, made);
	tsr_scheme_settle(k->scheme, el->g->store, made, given->shapes, given->sizes, &t->why);
	end(el, t);
}

/* One that asks for the same comes, or may come: it is worth a scheme. */
static bool asked_again(const tsr_share *s, const tsr_application *t)
{
	return !s->complete || tsr_map_find(&t->all->keys, t->key)->value.i > 1;
}

static void apply_one(tsr_elab *el, tsr_application *t)
{
	tsr_share *s = el->share;
	tsr_likeness c;
	t->apart |= tsr_share_failed(el);
	if (t->apart) {
		note_solved(el, t, TSR_AGAIN_DEEP);
		solve(el, t);
		return;
	}
	tsr_given given;
	const tsr_generic *k = NULL;
	t->outline = tsr_application_outline(el, t);
	s->why = TSR_AGAIN_OTHER;
	tsr_application *of = t->spoiled || s->inside ? NULL : tsr_application_same(el, t, &c);
	t->again = of != NULL;
	if (of && !c.others && of->closed) {
		follow_as_copy(el, t, of);
	} else if (of && leads_to(el, &c, of)) {
		follow_as_same(el, t, of, &c);
	} else if (!t->spoiled && (k = tsr_generic_for(el, t, &given))) {
		s->stats.instances++;
		follow_as_instance(el, t, k, &given);
	} else {
		note_solved(el, t, s->why);
		if (!t->spoiled && asked_again(s, t) && (k = tsr_generic_of(el, t, &given))) {
			s->stats.schemes++;
			follow_as_instance(el, t, k, &given);
		} else {
			solve(el, t);
		}
	}
}

static void apply(tsr_elab *el, tsr_application *t)
{
	tsr_store_enter(el->g->store);
	apply_one(el, t);
	tsr_store_leave(el->g->store);
}

/* Applications inside of one another are compared as a part of each: what is deep, such as a recursion, only as long as that is no more than a
 * few times of what there is. */
static void compare(tsr_elab *el, tsr_application *t)
{
	enum { TIMES = 64, AT_LEAST = 1 << 16 };
	tsr_share *s = el->share;
	s->compared += t->last - t->first;
	t->apart = s->compared > AT_LEAST + TIMES * (uint64_t)s->asked.n;
	if (t->apart)
		return;
	t->key = tsr_application_key(el, t);
	tsr_map_put(&t->all->keys, t->key)->value.i++;
}

bool tsr_share_waits(const tsr_elab *el, const tsr_tensor *t)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		if (t->shape.row[k].var == TSR_ROW_PENDING)
			return el->share != NULL;
	return false;
}

void tsr_share_solve(tsr_elab *el, bool complete)
{
	tsr_share *s = el->share;
	s->complete = complete;
	s->next = 0;
	for (uint32_t i = 0; i < s->written.n; i++)
		compare(el, s->written.at[i]);
	tsr_share_emit(el, &(tsr_application){.first = s->emitted, .last = s->asked.n});
	s->emitted = s->asked.n;
	for (uint32_t i = 0; i < s->alias_of.n; i++) {
		const tsr_map_entry *e = &s->alias_of.entries[i];
		tsr_tensor_get(el->g, (tsr_tensor_id)e->key)->shape = tsr_tensor_get(el->g, (tsr_tensor_id)e->value.i)->shape;
	}
	tsr_map_init(&s->alias_of, el->arena);
	s->written.n = 0;
}

/* ---- afterwards --------------------------------------------------------------------------------------------------------------------- */

tsr_share_level tsr_graph_shares_well(tsr_graph *g)
{
	tsr_elab *el = g->elab;
	tsr_share *s = el->share;
	if (!s || el->tc->nerrors)
		return TSR_SHARE_NONE;
	if (tsr_share_failed(el))                /* perhaps for a guess */
		return s->stats.same ? TSR_SHARE_SCHEMES : TSR_SHARE_NONE;
	for (uint32_t i = 0; i < s->all.n; i++)
		if (s->all.at[i]->shared && !tsr_application_alone(el, s->all.at[i]))
			return TSR_SHARE_SCHEMES;
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

