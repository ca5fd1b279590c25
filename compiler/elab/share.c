/* Applications that emit the same: a function that is applied again to the same shapes makes the same constraints, and they are
 * solved once.  Every application writes down what it asks of the store, event by event; the next one that sees the same (the
 * environments are compared, config/alike.c) follows those events, each of which is verified, instead of emitting them:
 *
 *   as a copy    an application to configuration alone, such as `layer ()`: its constraints mention nothing outside, they are
 *                a scheme, and an instance of it has variables of its own (shape/region.c).
 *   as the same  an application to tensors whose shapes are the same: what it makes has the same shapes too, the very same
 *                variables. Parameters that an instance alone owns and that nothing has touched are folded onto those of the
 *                first, and an argument that agrees with the first's in all that is known is linked to it.
 *
 * The second is a guess about what is still to come. See Note [Shared applications]. */
#include "state.h"
#include <string.h>

/* An application to other shapes than before is followed only where that pays: the guess may be wrong. */
#define WORTH_LINKING 32
#define CANDIDATES 64            /* earlier applications of a function that are looked at */

typedef enum { EVENT_FRESH, EVENT_LEAF, EVENT_RULE, EVENT_EQUAL, EVENT_LABEL } event_kind;

typedef struct event {
	event_kind kind;
	tsr_shape shape;                 /* what came of it; EQUAL: the left side; RULE: the result */
	tsr_tensor_id leaf;              /* LEAF */
	uint32_t n;
	const tsr_shape *shapes;         /* operands; EQUAL: the right side */
	const tsr_rule *rule;
	tsr_share_fact fact;             /* LABEL */
	tsr_label a, b;
	int64_t number;
	tsr_why why;
	uint32_t from;                   /* the first constraint of it */
} event;

typedef TSR_VEC(const tsr_region *) regions;

typedef struct template {
	const tsr_ast *body;
	const tsr_env *env;
	uint32_t round;                  /* which application of its instance */
	uint32_t first, last;            /* events */
	uint32_t first_tensor;
	tsr_region *region;
	bool scheme;                     /* can be copied */
	bool again;                      /* one like it was there before */
	bool shared;                     /* followed as the same, at least once */
	regions onto;                    /* what parameters of later applications were folded onto */
	TSR_VEC(struct template *) uses; /* shared applications inside of it */
	tsr_map applied;                 /* tensors that it was applied to, of all applications */
	tsr_row_list links;
} template;

typedef struct pair { tsr_tensor_id a, b; } pair;
typedef struct fold { const tsr_region *r, *onto; } fold;

struct tsr_share {
	bool broken;                     /* something did not follow */
	TSR_VEC(event) events;
	TSR_VEC(template *) templates;
	tsr_map by_body;                 /* body -> list of templates */
	TSR_VEC(template *) open;        /* being written down, innermost last */
	template *following;
	const tsr_region *copy;          /* of the region that is followed, or NULL: the same */
	uint32_t cursor, depth, tensor;
	TSR_VEC(const tsr_region *) region_of;   /* tensor -> the copy that made it, or NULL */
	tsr_map canonical;               /* leaf of an application that was shared -> that of the first */
	tsr_share_stats stats;
};

static bool failed(const tsr_elab *el) { return el->tc->nerrors || tsr_store_failed(el->g->store); }

typedef struct templates { TSR_VEC(template *) v; } templates;

tsr_share *tsr_share_new(tsr_elab *el)
{
	tsr_share *s = TSR_NEW(el->arena, tsr_share);
	tsr_map_init(&s->by_body, el->arena);
	tsr_map_init(&s->canonical, el->arena);
	return s;
}

/* ---- events ----------------------------------------------------------------------------------------------------------------- */

static bool shapes_one(tsr_elab *el, const tsr_shape *a, const tsr_shape *b)
{
	for (int k = 0; k < TSR_KINDS; k++)
		if (!tsr_rows_one(el->g->store, a->row[k], b->row[k]))
			return false;
	return true;
}

static tsr_shape here(tsr_elab *el, const tsr_shape *shape)
{
	tsr_share *s = el->share;
	return s->copy ? tsr_region_shape(el->g->store, s->following->region, s->copy, shape) : *shape;
}

static tsr_label label_here(tsr_elab *el, const tsr_label *l)
{
	tsr_share *s = el->share;
	return s->copy ? tsr_region_label(el->g->store, s->following->region, s->copy, l) : *l;
}

/* The event that is followed now, if it is of this kind; what follows is not the same otherwise. */
static const event *next_event(tsr_elab *el, event_kind kind)
{
	tsr_share *s = el->share;
	const event *e = s->cursor < s->following->last ? &s->events.at[s->cursor] : NULL;
	if (!e || e->kind != kind) {
		s->broken = true;
		return NULL;
	}
	s->cursor++;
	return e;
}

static bool follows(const tsr_elab *el) { return el->share && !el->share->broken && el->share->following; }
static bool writes(const tsr_elab *el) { return el->share && !el->share->broken && el->share->open.n; }

static void write_event(tsr_elab *el, event e)
{
	if (writes(el))
		tsr_push(el->arena, &el->share->events, e);
}

/* What was followed is an event of the applications around it. A copy's constraints get their own reason. */
static void followed(tsr_elab *el, const event *e, event as, const tsr_why *why)
{
	tsr_share *s = el->share;
	const template *t = s->following;
	as.kind = e->kind;
	as.from = e->from;
	if (s->copy) {
		uint32_t end = s->cursor < t->last ? s->events.at[s->cursor].from : tsr_region_ends(t->region);
		as.from = tsr_region_why(el->g->store, t->region, s->copy, e->from, end, why);
	}
	write_event(el, as);
}

static bool expect(tsr_elab *el, bool same)
{
	if (!same) {
 		el->share->broken = true;}
	return same;
}

tsr_shape tsr_elab_fresh(tsr_elab *el)
{
	if (follows(el)) {
		const event *e = next_event(el, EVENT_FRESH);
		if (e) {
			tsr_shape shape = here(el, &e->shape);
			followed(el, e, (event){.shape = shape}, NULL);
			return shape;
		}
	}
	event e = {.kind = EVENT_FRESH, .from = tsr_store_emission(el->g->store), .shape = tsr_shape_fresh(el->g->store)};
	write_event(el, e);
	return e.shape;
}

bool tsr_share_leaf(tsr_elab *el, tsr_tensor *t)
{
	if (!follows(el))
		return false;
	const event *e = next_event(el, EVENT_LEAF);
	if (!e)
		return false;
	tsr_shape shape = here(el, &e->shape);
	if (!expect(el, shapes_one(el, &t->shape, &shape)))
		return false;
	t->shape = shape;
	if (!el->share->copy)
		tsr_map_put(&el->share->canonical, t->id)->value.i = e->leaf;
	followed(el, e, (event){.shape = shape, .leaf = el->share->copy ? t->id : e->leaf}, NULL);
	return true;
}

void tsr_share_leaf_made(tsr_elab *el, const tsr_tensor *t, uint32_t from)
{
	write_event(el, (event){.kind = EVENT_LEAF, .shape = t->shape, .leaf = t->id, .from = from});
}

static tsr_label *labels_here(tsr_elab *el, const tsr_rule *rule)
{
	tsr_label *out = TSR_NEW_N(el->arena, tsr_label, rule->nlabels + 1);
	for (uint32_t i = 0; i < rule->nlabels; i++)
		out[i] = label_here(el, &rule->labels[i]);
	return out;
}

/* Equal environments give equal specs, but for one that the making of an argument decided: a region's. */
static bool specs_one(const tsr_spec *a, const tsr_spec *b)
{
	return a && b ? strcmp(a->text, b->text) == 0 : !a == !b;
}

static bool follow_rule(tsr_elab *el, tsr_rule *rule, const tsr_shape *result, const tsr_shape *operands)
{
	const event *e = next_event(el, EVENT_RULE);
	if (!e || !expect(el, e->rule->logic == rule->logic && e->n == rule->noperands && e->rule->least == rule->least
	                      && specs_one(e->rule->spec, rule->spec)))
		return false;
	tsr_shape r = here(el, &e->shape), *ops = TSR_NEW_N(el->arena, tsr_shape, e->n + 1);
	bool same = shapes_one(el, result, &r);
	for (uint32_t i = 0; i < e->n; i++) {
		ops[i] = here(el, &e->shapes[i]);
		same &= shapes_one(el, &operands[i], &ops[i]);
	}
	if (!expect(el, same))
		return false;
	rule->why.noperands = rule->noperands;
	rule->nlabels = e->rule->nlabels;
	rule->labels = labels_here(el, e->rule);
	followed(el, e, (event){.shape = r, .n = e->n, .shapes = ops, .rule = rule}, &rule->why);
	return true;
}

void tsr_elab_emit(tsr_elab *el, tsr_rule *rule, const tsr_shape *result, const tsr_shape *operands)
{
	if (follows(el) && follow_rule(el, rule, result, operands))
		return;
	event e = {.kind = EVENT_RULE, .from = tsr_store_emission(el->g->store), .shape = *result, .n = rule->noperands, .rule = rule};
	tsr_emit_rule(el->g->store, rule, result, operands);
	if (!writes(el))
		return;
	tsr_shape *copy = TSR_NEW_N(el->arena, tsr_shape, e.n + 1);
	for (uint32_t i = 0; i < e.n; i++)
		copy[i] = operands[i];
	e.shapes = copy;
	write_event(el, e);
}

bool tsr_share_equal(tsr_elab *el, const tsr_shape *a, const tsr_shape *b, const tsr_why *why)
{
	if (follows(el)) {
		const event *e = next_event(el, EVENT_EQUAL);
		if (e) {
			tsr_shape x = here(el, &e->shape), *y = TSR_NEW(el->arena, tsr_shape);
			*y = here(el, &e->shapes[0]);
			if (expect(el, shapes_one(el, a, &x) && shapes_one(el, b, y))) {
				followed(el, e, (event){.shape = x, .n = 1, .shapes = y}, why);
				return true;
			}
		}
	}
	tsr_shape *y = TSR_NEW(el->arena, tsr_shape);
	*y = *b;
	write_event(el, (event){.kind = EVENT_EQUAL, .shape = *a, .n = 1, .shapes = y, .from = tsr_store_emission(el->g->store)});
	return false;
}

static bool labels_one(tsr_elab *el, const tsr_label *a, const tsr_label *b)
{
	if (a->is_row != b->is_row || a->name != b->name)
		return false;
	return a->is_row ? tsr_rows_one(el->g->store, a->row, b->row) : tsr_dims_one(el->g->store, a->dim, b->dim);
}

bool tsr_share_label(tsr_elab *el, tsr_share_fact fact, const tsr_label *a, const tsr_label *b, int64_t number, const tsr_why *why)
{
	static const tsr_label none = {.is_row = false};
	event as = {.kind = EVENT_LABEL, .fact = fact, .a = *a, .b = b ? *b : none, .number = number,
	            .from = tsr_store_emission(el->g->store)};
	if (follows(el)) {
		const event *e = next_event(el, EVENT_LABEL);
		if (e) {
			tsr_label x = label_here(el, &e->a), y = b ? label_here(el, &e->b) : none;
			if (expect(el, e->fact == fact && e->number == number && labels_one(el, a, &x) && (!b || labels_one(el, b, &y)))) {
				followed(el, e, as, why);
				return true;
			}
		}
	}
	write_event(el, as);
	return false;
}

/* Sizes of the run belong to the place that asks for them. */
void tsr_share_spoil(tsr_elab *el)
{
	tsr_share *s = el->share;
	if (!s)
		return;
	s->broken |= s->following != NULL;
	for (uint32_t i = 0; i < s->open.n; i++)
		s->open.at[i]->body = NULL;
}

/* ---- which application an application is like ---------------------------------------------------------------------------- */

typedef struct comparison {
	tsr_elab *el;
	TSR_VEC(pair) pairs;             /* tensors that correspond and are not the same */
	TSR_VEC(fold) folds;
	TSR_VEC(pair) links;
} comparison;

static bool pending_fold(const comparison *c, const tsr_region *r, const tsr_region *onto)
{
	for (uint32_t i = 0; i < c->folds.n; i++)
		if (c->folds.at[i].r == r)
			return c->folds.at[i].onto == onto;
	return false;
}

static const tsr_region *region_of(const tsr_elab *el, tsr_tensor_id id)
{
	return id < el->share->region_of.n ? el->share->region_of.at[id] : NULL;
}

/* Parameters at the same place of two instances. */
static bool instances(comparison *c, const tsr_tensor *a, const tsr_tensor *b)
{
	tsr_elab *el = c->el;
	const tsr_region *r = region_of(el, a->id), *onto = region_of(el, b->id);
	if (!r || !onto || !tsr_region_holds(r, &a->shape, onto, &b->shape))
		return false;
	if (pending_fold(c, r, onto))
		return true;
	if (!tsr_region_foldable(el->g->store, r, onto))
		return false;
	tsr_push(el->arena, &c->folds, ((fold){r, onto}));
	return true;
}

static bool same_tensor(comparison *c, const tsr_value *x, const tsr_value *y)
{
	tsr_elab *el = c->el;
	if (x->tensor.part != y->tensor.part || x->tensor.slot != y->tensor.slot)
		return false;
	if (x->tensor.id == y->tensor.id)
		return true;
	if (x->tensor.id == TSR_NONE || y->tensor.id == TSR_NONE)
		return false;
	const tsr_tensor *a = tsr_tensor_get(el->g, x->tensor.id), *b = tsr_tensor_get(el->g, y->tensor.id);
	if (a->poison || b->poison)
		return false;
	tsr_push(el->arena, &c->pairs, ((pair){a->id, b->id}));
	if (shapes_one(el, &a->shape, &b->shape) || instances(c, a, b))
		return true;
	if (a->kind != TSR_TENSOR_OP || b->kind != TSR_TENSOR_OP || !tsr_shapes_linkable(el->g->store, &a->shape, &b->shape))
		return false;
	tsr_push(el->arena, &c->links, ((pair){a->id, b->id}));
	return true;
}

static bool same(void *data, const tsr_value *x, const tsr_value *y)
{
	comparison *c = data;
	if (x->kind == TSR_VALUE_TENSOR)
		return same_tensor(c, x, y);
	return x->label == y->label || labels_one(c->el, x->label->label, y->label->label);
}

static uint32_t round_of(const tsr_env *env)
{
	const tsr_frame *f = tsr_env_nearest_frame(env);
	return f && f->instance ? f->instance->round : 0;
}

static bool alike(tsr_elab *el, const template *t, const tsr_env *env, comparison *c)
{
	*c = (comparison){.el = el};
	if (t->round != round_of(env))
		return false;
	return tsr_env_alike(el->arena, env, t->env, &(tsr_alike){same, c});
}

static template *like(tsr_elab *el, const tsr_ast *body, const tsr_env *env, comparison *c)
{
	tsr_map_entry *found = tsr_map_find(&el->share->by_body, tsr_key(body));
	const templates *all = found ? found->value.p : NULL;
	for (uint32_t i = all ? all->v.n : 0, left = CANDIDATES; i-- > 0 && left-- > 0;)
		if (alike(el, all->v.at[i], env, c))
			return all->v.at[i];
	return NULL;
}

/* ---- applications ------------------------------------------------------------------------------------------------------------- */

static void begin_template(tsr_elab *el, const tsr_ast *body, const tsr_env *env, bool again)
{
	template *t = TSR_NEW(el->arena, template);
	*t = (template){.body = body, .env = env, .round = round_of(env), .first = el->share->events.n, .again = again,
	                .first_tensor = el->g->tensors.n, .region = tsr_region_begin(el->g->store)};
	tsr_map_init(&t->applied, el->arena);
	tsr_push(el->arena, &el->share->open, t);
}

static void own_tensors(tsr_elab *el, uint32_t from, const tsr_region *r)
{
	tsr_share *s = el->share;
	while (s->region_of.n < el->g->tensors.n)
		tsr_push(el->arena, &s->region_of, NULL);
	for (uint32_t i = from; i < s->region_of.n; i++)
		s->region_of.at[i] = r;
}

static void end_template(tsr_elab *el)
{
	tsr_share *s = el->share;
	template *t = s->open.at[--s->open.n];
	t->last = s->events.n;
	tsr_region_end(el->g->store, t->region);
	if (!t->body || t->first == t->last || failed(el))
		return;
	if (t->again)
		t->scheme = tsr_region_keep(el->g->store, t->region);
	if (t->scheme)
		own_tensors(el, t->first_tensor, t->region);
	tsr_map_entry *e = tsr_map_put(&s->by_body, tsr_key(t->body));
	if (!e->value.p)
		e->value.p = TSR_NEW(el->arena, templates);
	templates *all = e->value.p;
	tsr_push(el->arena, &all->v, t);
	tsr_push(el->arena, &s->templates, t);
}

static void follow(tsr_elab *el, template *t, const tsr_region *copy)
{
	tsr_share *s = el->share;
	s->following = t;
	s->copy = copy;
	s->cursor = t->first;
	s->depth = 0;
	s->tensor = el->g->tensors.n;
}

static bool leads_to(const tsr_elab *el, const comparison *c, const template *t)
{
	return c->pairs.n && (c->links.n + c->folds.n == 0 || t->last - t->first >= WORTH_LINKING) && !failed(el);
}

/* The parameters of one region are those of the other. */
static void note_fold(tsr_elab *el, template *t, const fold *f)
{
	tsr_push(el->arena, &t->onto, f->onto);
	tsr_region_fold(el->g->store, f->r, f->onto);
}

static void follow_as_same(tsr_elab *el, template *t, const comparison *c)
{
	tsr_share *s = el->share;
	for (uint32_t i = 0; i < c->folds.n; i++)
		note_fold(el, t, &c->folds.at[i]);
	for (uint32_t i = 0; i < c->links.n; i++)
		tsr_shapes_link(el->g->store, &tsr_tensor_get(el->g, c->links.at[i].a)->shape, &tsr_tensor_get(el->g, c->links.at[i].b)->shape,
		                &t->links);
	for (uint32_t i = 0; i < c->pairs.n; i++) {
		const pair *p = &c->pairs.at[i];
		tsr_map_put(&t->applied, p->a);
		tsr_map_put(&t->applied, p->b);
		if (region_of(el, p->a))
			tsr_map_put(&s->canonical, p->a)->value.i = p->b;
	}
	for (uint32_t i = 0; i < s->open.n; i++)
		tsr_push(el->arena, &s->open.at[i]->uses, t);
	t->shared = true;
	s->stats.same++;
	follow(el, t, NULL);
}

void tsr_share_enter(tsr_eval *ev, const tsr_env *env, const tsr_ast *body)
{
	tsr_elab *el = tsr_elab_of(ev);
	tsr_share *s = el->share;
	comparison c;
	if (!s || s->broken)
		return;
	if (s->following) {
		s->depth++;
		return;
	}
	template *t = like(el, body, env, &c);
	if (t && !c.pairs.n && t->scheme) {
		s->stats.copied++;
		follow(el, t, tsr_region_repeat(el->g->store, t->region));
	} else if (t && leads_to(el, &c, t)) {
		follow_as_same(el, t, &c);
	} else {
		s->stats.solved++;
		begin_template(el, body, env, t != NULL);
	}
}

void tsr_share_leave(tsr_eval *ev)
{
	tsr_elab *el = tsr_elab_of(ev);
	tsr_share *s = el->share;
	if (!s || s->broken)
		return;
	if (!s->following) {
		end_template(el);
	} else if (s->depth > 0) {
		s->depth--;
	} else {
		s->broken |= s->cursor != s->following->last;
		if (s->copy)
			own_tensors(el, s->tensor, s->copy);
		s->following = NULL;
	}
}

/* ---- was the guess right ---------------------------------------------------------------------------------------------------------- */

/* Applied to the leaf `one` of the first application: then to that of each. */
static bool covers(const tsr_elab *el, const template *u, tsr_tensor_id one)
{
	const tsr_map *others = &el->share->canonical;
	for (uint32_t i = 0; i < others->n; i++)
		if (others->entries[i].value.i == one && !tsr_map_find(&u->applied, others->entries[i].key))
			return false;
	return true;
}

static void add_friends(tsr_elab *el, const template *t, regions *out)
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
static void add_covering(tsr_elab *el, const template *t, regions *out)
{
	tsr_share *s = el->share;
	for (uint32_t i = 0; i < s->templates.n; i++) {
		const template *u = s->templates.at[i];
		bool any = false, all = u->shared && u != t;
		for (uint32_t k = t->first; all && k < t->last; k++) {
			const event *e = &s->events.at[k];
			if (e->kind != EVENT_LEAF || !tsr_map_find(&u->applied, e->leaf))
				continue;
			any = true;
			all = covers(el, u, e->leaf);
		}
		if (any && all)
			add_friends(el, u, out);
	}
}

static bool alone(tsr_elab *el, const template *t)
{
	tsr_share *s = el->share;
	regions friends = {0};
	TSR_VEC(tsr_shape) given = {0};
	add_friends(el, t, &friends);
	add_covering(el, t, &friends);
	for (uint32_t i = t->first; i < t->last; i++)
		for (uint32_t k = 0; k < s->events.at[i].n; k++)
			if (!tsr_regions_made(friends.n, friends.at, &s->events.at[i].shapes[k]))
				tsr_push(el->arena, &given, s->events.at[i].shapes[k]);
	return tsr_region_alone(el->g->store, friends.n, friends.at, given.n, given.at, &t->links);
}

bool tsr_graph_shares_well(tsr_graph *g)
{
	tsr_elab *el = g->elab;
	tsr_share *s = el->share;
	if (!s)
		return true;
	if (s->broken || failed(el))
		return false;
	for (uint32_t i = 0; i < s->templates.n; i++)
		if (s->templates.at[i]->shared && !alone(el, s->templates.at[i])) {
 			return false;}
	return true;
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
 * part of the shared one when it is itself shared and was applied to the parameter of every instance. */
