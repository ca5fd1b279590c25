/* Schemes of applications: what an application asked of the store is asked once more, of a store where the shapes of its arguments are
 * not known but for how many axes they have (shape/instance.c).  An application with arguments of other sizes follows an instance of it.
 *
 * Where the configuration's numbers differ between two earlier applications which asked for the same otherwise, the sizes that leaves
 * declare, or `set_dim` states, are left to each instance as well.  That every number which differs is such a size is a guess: what
 * else it decided shows as something that does not follow, and then the program is elaborated without this (share level SHAPES). */
#include "share.h"
#include <string.h>

/* Schemes that are made in vain for one function; earlier applications, and schemes, that are looked at for one. */
enum { MOST_REFUSED = 3, MOST_TRIED = 4, MOST_SCHEMES = 16 };
/* What asks for less is emitted at no higher cost. */
#define WORTH_A_SCHEME 6

/* ---- making one ----------------------------------------------------------------------------------------------------------------- */

/* What was asked for before, in terms of the scheme. */
typedef struct making {
	tsr_elab *el;
	tsr_generic *k;
	tsr_store *s;
	const tsr_application *like;     /* the one whose numbers differ, or NULL */
	const tsr_likeness *of;          /* tensors of the application at hand that correspond to those of the earlier one */
	tsr_map tensors;                 /* tensor -> tsr_shape */
	tsr_map rows, dims;              /* variables that it made -> tsr_row, tsr_dim */
	tsr_asked_list *asked;
	bool failed;
} making;

static tsr_dim dim_of(making *m, tsr_dim d)
{
	d.from = 0;
	if (d.kind == TSR_DIM_VAR) {
		tsr_map_entry *e = tsr_map_find(&m->dims, d.var);
		m->failed |= !e || !e->value.p;
		return e && e->value.p ? *(tsr_dim *)e->value.p : tsr_dim_unit();
	}
	m->failed |= d.kind != TSR_DIM_UNIT && !(d.kind == TSR_DIM_ATOM && tsr_size_is_const(d.atom.size));
	return d;
}

static tsr_row row_of(making *m, tsr_row r)
{
	tsr_dim *at = TSR_NEW_N(m->el->arena, tsr_dim, r.nlead + r.ntrail + 1);
	for (uint32_t i = 0; i < r.nlead + r.ntrail; i++)
		at[i] = dim_of(m, i < r.nlead ? r.lead[i] : r.trail[i - r.nlead]);
	r.lead = at;
	r.trail = at + r.nlead;
	r.from = 0;
	if (r.var == TSR_NO_ROW)
		return r;
	tsr_map_entry *e = tsr_map_find(&m->rows, r.var);
	m->failed |= !e || !e->value.p;
	r.var = e && e->value.p ? ((tsr_row *)e->value.p)->var : TSR_NO_ROW;
	return r;
}

static tsr_shape shape_of(making *m, const tsr_shape *shape)
{
	tsr_shape out;
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		out.row[k] = row_of(m, shape->row[k]);
	return out;
}

static void *kept(making *m, const void *at, size_t size)
{
	return memcpy(tsr_alloc(m->el->arena, size), at, size);
}

/* Two variables that were one: which is meant is not known any more. */
static void note_var(tsr_map *map, uint32_t var, void *what)
{
	tsr_map_entry *e = tsr_map_find(map, var);
	tsr_map_put(map, var)->value.p = e ? NULL : what;
}

static void note_tensor(making *m, tsr_tensor_id id, const tsr_shape *shape)
{
	if (id != TSR_NONE)
		tsr_map_put(&m->tensors, id)->value.p = kept(m, shape, sizeof *shape);
}

/* The tensor of the application at hand that stands where `id` stood. */
static tsr_tensor_id counterpart(const tsr_likeness *c, tsr_tensor_id id)
{
	tsr_tensor_id found = id;
	for (uint32_t i = 0; i < c->pairs.n; i++)
		if (c->pairs.at[i].b == id) {
			if (found != id && found != c->pairs.at[i].a)
				return TSR_NONE;
			found = c->pairs.at[i].a;
		}
	return found;
}

static tsr_shape argument(making *m, tsr_tensor_id id)
{
	tsr_shape out = {0};
	tsr_tensor_id now = counterpart(m->of, id);
	m->failed |= now == TSR_NONE || !tsr_scheme_argument(m->k->scheme, &tsr_tensor_get(m->el->g, now)->shape, &out);
	if (m->failed)
		return out;
	tsr_push(m->el->arena, &m->k->arguments, id);
	note_tensor(m, id, &out);
	return out;
}

/* Made within, an argument, or one whose shape is written: a number's. */
static tsr_shape tensor_shape(making *m, tsr_tensor_id id, const tsr_shape *shape)
{
	tsr_map_entry *e = id == TSR_NONE ? NULL : tsr_map_find(&m->tensors, id);
	if (e)
		return *(tsr_shape *)e->value.p;
	if (id != TSR_NONE && id < m->k->of->first_tensor)
		return argument(m, id);
	return shape_of(m, shape);
}

static tsr_shape fresh(making *m, const tsr_shape *was)
{
	tsr_shape out = tsr_shape_fresh(m->s);
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		m->failed |= was->row[k].nlead + was->row[k].ntrail || was->row[k].var == TSR_NO_ROW;
		tsr_map_put(&m->rows, was->row[k].var)->value.p = kept(m, &out.row[k], sizeof(tsr_row));
	}
	return out;
}

/* The sizes in which two leaves differ are left open. */
static bool open_sizes(making *m, const tsr_asked *e, const tsr_asked *like, tsr_shape *out)
{
	bool any = false;
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		for (uint32_t i = 0; i < e->shape.row[k].ntrail; i++)
			if (!tsr_dims_one(m->el->g->store, e->shape.row[k].trail[i], like->shape.row[k].trail[i])) {
				out->row[k].trail[i] = tsr_scheme_size(m->k->scheme);
				any = true;
			}
	return any;
}

static void ask_leaf(making *m, const tsr_asked *e, const tsr_asked *like, tsr_asked *as)
{
	const tsr_tensor *t = tsr_tensor_get(m->el->g, e->tensor);
	as->shape = shape_of(m, &e->shape);
	as->sized = like && open_sizes(m, e, like, &as->shape);
	if (m->failed)
		return;
	tsr_store_leaf(m->s, &as->shape, t->kind == TSR_TENSOR_PARAM ? TSR_LEAF_PARAM : TSR_LEAF_PLAIN, t->name, t->span);
	note_tensor(m, e->tensor, &as->shape);
}

static void ask_operands(making *m, const tsr_asked *e, tsr_asked *as)
{
	tsr_shape *shapes = TSR_NEW_N(m->el->arena, tsr_shape, e->n + 1);
	for (uint32_t i = 0; i < e->n; i++)
		shapes[i] = tensor_shape(m, e->tensors[i], &e->shapes[i]);
	as->shape = tensor_shape(m, e->tensor, &e->shape);
	as->shapes = shapes;
	note_tensor(m, e->tensor, &as->shape);
}

static void ask_rule(making *m, const tsr_asked *e, tsr_asked *as)
{
	tsr_rule *rule = kept(m, e->rule, sizeof *e->rule);
	ask_operands(m, e, as);
	if (m->failed)
		return;
	tsr_emit_rule(m->s, rule, &as->shape, as->shapes);
	as->rule = rule;
	for (uint32_t i = 0; i < rule->nlabels; i++) {
		const tsr_label *was = &e->rule->labels[i];
		if (was->is_row)
			note_var(&m->rows, was->row.var, &rule->labels[i].row);
		else
			note_var(&m->dims, was->dim.var, &rule->labels[i].dim);
	}
}

static void ask_equal(making *m, const tsr_asked *e, tsr_asked *as)
{
	ask_operands(m, e, as);
	for (uint32_t k = 0; k < TSR_KINDS && !m->failed; k++)
		tsr_emit_row_equal(m->s, as->shape.row[k], as->shapes[0].row[k], (tsr_why){.span = TSR_NOWHERE, .other = TSR_NOWHERE});
}

static tsr_label label_of(making *m, tsr_label l)
{
	if (l.is_row)
		l.row = row_of(m, l.row);
	else
		l.dim = dim_of(m, l.dim);
	return l;
}

static void set_label(making *m, const tsr_asked *e, const tsr_asked *like, tsr_asked *as, tsr_why why)
{
	as->sized = like && like->number != e->number;
	if (!as->sized) {
		tsr_emit_set_label(m->s, &as->a, tsr_size_const(e->number), why);
		return;
	}
	as->size = tsr_scheme_size(m->k->scheme);
	tsr_emit_equal_labels(m->s, &as->a, &(tsr_label){.dim = as->size}, why);
}

static void ask_label(making *m, const tsr_asked *e, const tsr_asked *like, tsr_asked *as)
{
	tsr_why why = {.span = TSR_NOWHERE, .other = TSR_NOWHERE};
	as->a = label_of(m, e->a);
	if (e->fact != TSR_SHARE_SET)
		as->b = label_of(m, e->b);
	if (m->failed)
		return;
	switch (e->fact) {
	case TSR_SHARE_SET: set_label(m, e, like, as, why); return;
	case TSR_SHARE_SAME: tsr_emit_equal_labels(m->s, &as->a, &as->b, why); return;
	case TSR_SHARE_SCALE:
		tsr_emit_dim_equal(m->s, as->a.dim, tsr_dim_affine(m->s, (tsr_affine){.stride = e->number, .dilation = 1, .over = as->b.dim}), why);
		return;
	}
}

static void ask(making *m, uint32_t i)
{
	const tsr_application *t = m->k->of;
	const tsr_asked *e = &t->asked->at[t->first + i], *like = m->like ? &m->like->asked->at[m->like->first + i] : NULL;
	tsr_asked as = *e;
	as.from = tsr_store_emission(m->s);
	switch (e->kind) {
	case TSR_ASKED_FRESH: as.shape = fresh(m, &e->shape); break;
	case TSR_ASKED_LEAF: ask_leaf(m, e, like, &as); break;
	case TSR_ASKED_RULE: ask_rule(m, e, &as); break;
	case TSR_ASKED_EQUAL: ask_equal(m, e, &as); break;
	case TSR_ASKED_LABEL: ask_label(m, e, like, &as); break;
	}
	tsr_push(m->el->arena, m->asked, as);
}

/* Parts of a concatenated axis can be named wherever the tensor is known (named.c). */
static bool names_parts(const tsr_rule *rule)
{
	return rule->spec && strchr(rule->spec->text, '^');
}

static void simplify(making *m)
{
	TSR_VEC(tsr_shape) seen = {0};
	TSR_VEC(tsr_label) labels = {0};
	for (uint32_t i = 0; i < m->k->of->results.n; i++) {
		tsr_map_entry *e = tsr_map_find(&m->tensors, m->k->of->results.at[i]);
		if (e)
			tsr_push(m->el->arena, &seen, *(tsr_shape *)e->value.p);
	}
	for (uint32_t i = 0; i < m->asked->n; i++) {
		const tsr_asked *e = &m->asked->at[i];
		for (uint32_t j = 0; e->kind == TSR_ASKED_RULE && names_parts(e->rule) && j < e->rule->nlabels; j++)
			tsr_push(m->el->arena, &labels, e->rule->labels[j]);
	}
	tsr_scheme_simplify(m->k->scheme, seen.n, seen.at, labels.n, labels.at);
}

/* NULL where what the application asked for is no scheme: it mentions variables of others, is wrong, or leaves something to the run. */
static tsr_generic *make(tsr_elab *el, const tsr_application *t, const tsr_application *like, const tsr_likeness *c)
{
	tsr_generic *k = TSR_NEW(el->arena, tsr_generic);
	making m = {.el = el, .k = k, .like = like, .of = c, .asked = TSR_NEW(el->arena, tsr_asked_list)};
	tsr_map *maps[] = {&m.tensors, &m.rows, &m.dims};
	for (uint32_t i = 0; i < 3; i++)
		tsr_map_init(maps[i], el->arena);
	k->of = t;
	k->scheme = tsr_scheme_new(el->g->store);
	m.s = tsr_scheme_store(k->scheme);
	for (uint32_t i = 0; i < t->last - t->first && !m.failed; i++)
		ask(&m, i);
	el->share->stats.schemes++;
	if (!m.failed && t->hidden)
		simplify(&m);
	el->share->stats.steps += tsr_scheme_steps(k->scheme);
	if (m.failed || !tsr_scheme_end(k->scheme))
		return NULL;
	k->as = (tsr_application){.body = t->body, .asked = m.asked, .last = m.asked->n, .region = (tsr_region *)(uintptr_t)tsr_scheme_region(k->scheme)};
	return k;
}

/* ---- finding one ---------------------------------------------------------------------------------------------------------------- */

tsr_shape *tsr_shapes_of(tsr_elab *el, uint32_t n, const tsr_tensor_id *tensors)
{
	tsr_shape *shapes = TSR_NEW_N(el->arena, tsr_shape, n + 1);
	for (uint32_t i = 0; i < n; i++)
		shapes[i] = tsr_tensor_get(el->g, tensors[i])->shape;
	return shapes;
}

/* What the application at hand gives for the arguments; false where the scheme is not for these. */
static bool fits(tsr_elab *el, const tsr_generic *k, const tsr_likeness *c, const tsr_tensor_id **given)
{
	tsr_tensor_id *tensors = TSR_NEW_N(el->arena, tsr_tensor_id, k->arguments.n + 1);
	if (!tsr_places_within(&c->numbers, &k->numbers))
		return false;
	for (uint32_t i = 0; i < k->arguments.n; i++) {
		tensors[i] = counterpart(c, k->arguments.at[i]);
		if (tensors[i] == TSR_NONE)
			return false;
	}
	*given = tensors;
	return tsr_scheme_fits(k->scheme, tsr_shapes_of(el, k->arguments.n, tensors));
}

/* Another application that asked for the same where these numbers, at least, were others. */
static const tsr_application *with_other_numbers(tsr_elab *el, const tsr_body *all, const tsr_application *t, const tsr_places *numbers,
                                                 tsr_likeness *c)
{
	for (uint32_t i = all->written.n, left = MOST_SCHEMES; i-- > 0 && left-- > 0;) {
		const tsr_application *u = all->written.at[i];
		if (tsr_applications_alike(el, t, u) && tsr_envs_like(el, u->env, t->env, true, c) && tsr_places_within(numbers, &c->numbers))
			return u;
	}
	return NULL;
}

static const tsr_generic *made_for(tsr_elab *el, tsr_body *all, const tsr_application *t, const tsr_likeness *c, const tsr_tensor_id **given)
{
	tsr_likeness other = {0};
	const tsr_application *like = c->numbers.n ? with_other_numbers(el, all, t, &c->numbers, &other) : NULL;
	if (c->numbers.n && !like)
		return NULL;
	tsr_generic *k = make(el, t, like, c);
	if (k && like)
		k->numbers = other.numbers;
	if (!k || !fits(el, k, c, given)) {
		all->refused++;
		return NULL;
	}
	tsr_push(el->arena, &all->generic, k);
	return k;
}

const tsr_generic *tsr_generic_for(tsr_elab *el, tsr_body *all, const tsr_env *env, const tsr_tensor_id **given)
{
	tsr_likeness c;
	for (uint32_t i = all->generic.n; i-- > 0;)
		if (tsr_application_like(el, all->generic.at[i]->of, env, true, &c) && fits(el, all->generic.at[i], &c, given))
			return all->generic.at[i];
	if (tsr_share_failed(el) || all->generic.n == MOST_SCHEMES)
		return NULL;
	for (uint32_t i = all->written.n, left = MOST_TRIED; i-- > 0 && left-- > 0 && all->refused < MOST_REFUSED;) {
		const tsr_application *t = all->written.at[i];
		const tsr_generic *k = NULL;
		if (t->last - t->first >= WORTH_A_SCHEME && tsr_application_like(el, t, env, true, &c))
			k = made_for(el, all, t, &c, given);
		if (k)
			return k;
	}
	return NULL;
}
