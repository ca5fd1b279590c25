/* Schemes of applications. What an application asks of the store is asked of a store of its own, where of the shapes of its arguments no
 * more is known than how many axes they have (shape/instance.c), and of its sizes nothing; what is applied in it follows schemes in its
 * turn. The application itself, and each that asks for the same with arguments and sizes of its own, follows an instance. */
#include "share.h"
#include <string.h>

/* Schemes that are made in vain for one function; schemes of one function, each for another structure of its arguments. */
enum { MOST_REFUSED = 8, MOST_SCHEMES = 256 };

/* ---- what may have one -------------------------------------------------------------------------------------------------------- */

/* As it is written; variables of others are not for a scheme. */
static bool row_stands(const tsr_row *r)
{
	for (uint32_t i = 0; i < r->nlead + r->ntrail; i++) {
		const tsr_dim *d = i < r->nlead ? &r->lead[i] : &r->trail[i - r->nlead];
		if (d->kind != TSR_DIM_UNIT && !(d->kind == TSR_DIM_ATOM && tsr_size_is_const(d->atom.size)))
			return false;
	}
	return r->var == TSR_NO_ROW && !r->nlead;
}

/* What it asks for mentions nothing from outside but tensors and labels. */
static bool asks_alone(const tsr_asked *e)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		const tsr_row *r = &e->written.row[k];
		if (e->kind == TSR_ASKED_LEAF && e->stated[k] && !row_stands(r))
			return false;
		if (e->kind == TSR_ASKED_EQUAL && e->tensors[0] == TSR_NONE && (r->nlead || r->var != TSR_NO_ROW))
			return false;
	}
	return true;
}

/* ---- making one ----------------------------------------------------------------------------------------------------------------- */

/* What stands aside while a scheme of `t` is solved. */
typedef struct making {
	tsr_elab *el;
	tsr_generic *k;
	const tsr_application *t;
	tsr_store *store;
	tsr_applications open;
	tsr_inside *inside;
	tsr_asked *asked;                /* as they were */
	tsr_shape *within, *arguments;   /* the shapes of its tensors */
	uint32_t next;                   /* tsr_share.next */
	bool failed;
} making;

static void *kept(tsr_elab *el, const void *at, size_t size)
{
	return size ? memcpy(tsr_alloc(el->arena, size), at, size) : NULL;
}

/* The sizes that it states are left open. */
static void open_sizes(making *m, uint32_t at, tsr_asked *e)
{
	for (uint32_t k = 0; e->kind == TSR_ASKED_LEAF && k < TSR_KINDS; k++) {
		if (!e->stated[k])
			continue;
		tsr_row r = tsr_row_closed(m->el->g->store, e->written.row[k].ntrail, e->written.row[k].trail);
		for (uint32_t i = 0; i < r.ntrail; i++) {
			r.trail[i].from = 0;
			if (r.trail[i].kind != TSR_DIM_ATOM)
				continue;
			tsr_push(m->el->arena, &m->k->sizes, ((tsr_sized){at, (tsr_kind)k, i}));
			r.trail[i] = tsr_scheme_size(m->k->scheme);
		}
		e->shape.row[k] = r;
	}
	if (e->kind != TSR_ASKED_LABEL || e->fact != TSR_SHARE_SET)
		return;
	tsr_push(m->el->arena, &m->k->sizes, ((tsr_sized){.at = at}));
	e->size = tsr_scheme_size(m->k->scheme);
}

/* A label from outside. */
static void lend(making *m, const tsr_label *l, tsr_inside *inside)
{
	tsr_label own = *l;
	tsr_shape shape = tsr_label_shape(m->el, l), as;
	m->failed |= !tsr_scheme_argument(m->k->scheme, m->store, &shape, &as);
	if (m->failed)
		return;
	if (own.is_row)
		own.row = as.row[TSR_OUTPUT];
	else
		own.dim = as.row[TSR_OUTPUT].trail[0];
	tsr_map_put(&inside->labels, tsr_key(l))->value.p = kept(m->el, &own, sizeof own);
	tsr_push(m->el->arena, &m->k->labels, l);
}

/* From here on it is the scheme's store that is asked. */
static void aside(making *m, const tsr_likeness *c)
{
	tsr_elab *el = m->el;
	tsr_share *s = el->share;
	const tsr_application *t = m->t;
	uint32_t n = t->last_tensor - t->first_tensor;
	m->asked = kept(el, &s->asked.at[t->first], (t->last - t->first) * sizeof *m->asked);
	m->within = TSR_NEW_N(el->arena, tsr_shape, n + 1);
	for (uint32_t i = 0; i < n; i++)
		m->within[i] = tsr_tensor_get(el->g, t->first_tensor + i)->shape;
	m->arguments = TSR_NEW_N(el->arena, tsr_shape, c->pairs.n + 1);
	for (uint32_t i = 0; i < c->pairs.n; i++) {
		tsr_tensor *a = tsr_tensor_get(el->g, c->pairs.at[i].a);
		m->arguments[i] = a->shape;
		tsr_push(el->arena, &m->k->arguments, a->id);
		m->failed |= !tsr_scheme_argument(m->k->scheme, m->store, &m->arguments[i], &a->shape);
	}
	tsr_inside *inside = TSR_NEW(el->arena, tsr_inside);
	tsr_map_init(&inside->axes, el->arena);
	tsr_map_init(&inside->labels, el->arena);
	for (uint32_t i = 0; i < c->labels.n; i++)
		lend(m, c->labels.at[i], inside);
	el->g->store = tsr_scheme_store(m->k->scheme);
	s->inside = inside;
	s->open = (tsr_applications){0};
	for (uint32_t i = t->first; i < t->last; i++) {
		m->failed |= !asks_alone(&s->asked.at[i]);
		if (!m->failed)
			open_sizes(m, i - t->first, &s->asked.at[i]);
	}
}

static void back(making *m)
{
	tsr_elab *el = m->el;
	tsr_share *s = el->share;
	const tsr_application *t = m->t;
	el->g->store = m->store;
	s->inside = m->inside;
	s->open = m->open;
	if (t->last > t->first)
		memcpy(&s->asked.at[t->first], m->asked, (t->last - t->first) * sizeof *m->asked);
	for (uint32_t i = 0; i < t->last_tensor - t->first_tensor; i++)
		tsr_tensor_get(el->g, t->first_tensor + i)->shape = m->within[i];
	for (uint32_t i = 0; i < m->k->arguments.n; i++)
		tsr_tensor_get(el->g, m->k->arguments.at[i])->shape = m->arguments[i];
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
	for (uint32_t i = 0; i < m->t->results.n; i++)
		tsr_push(m->el->arena, &seen, tsr_tensor_get(m->el->g, m->t->results.at[i])->shape);
	for (uint32_t i = m->t->first; i < m->t->last; i++) {
		const tsr_asked *e = &m->t->asked->at[i];
		for (uint32_t j = 0; e->kind == TSR_ASKED_RULE && names_parts(e->rule) && j < e->rule->nlabels; j++)
			tsr_push(m->el->arena, &labels, e->rule->labels[j]);
	}
	tsr_scheme_simplify(m->k->scheme, seen.n, seen.at, labels.n, labels.at);
}

/* What was asked for in terms that an instance has; `end`: the first constraint of what was asked for next. */
static tsr_asked quantified(tsr_elab *el, tsr_scheme *k, tsr_asked e, uint32_t end)
{
	tsr_shape *shapes = TSR_NEW_N(el->arena, tsr_shape, e.n + 1);
	e.from = tsr_scheme_left(k, e.from);
	e.to = tsr_scheme_left(k, e.to ? e.to : end);
	if (e.kind == TSR_ASKED_LABEL) {
		e.a = tsr_scheme_label(k, e.a);
		if (e.at_b)
			e.b = tsr_scheme_label(k, e.b);
		return e;
	}
	e.shape = tsr_scheme_shape(k, &e.shape);
	for (uint32_t i = 0; i < e.n; i++)
		shapes[i] = tsr_scheme_shape(k, &e.shapes[i]);
	e.shapes = shapes;
	if (e.kind != TSR_ASKED_RULE)
		return e;
	e.rule = kept(el, e.rule, sizeof *e.rule);
	e.rule->labels = kept(el, e.rule->labels, e.rule->nlabels * sizeof *e.rule->labels);
	for (uint32_t i = 0; i < e.rule->nlabels; i++)
		e.rule->labels[i] = tsr_scheme_label(k, e.rule->labels[i]);
	return e;
}

static void quantify(tsr_elab *el, tsr_generic *k)
{
	tsr_asked_list *asked = TSR_NEW(el->arena, tsr_asked_list);
	for (uint32_t i = 0; i < k->asked.n; i++)
		tsr_push(el->arena, asked, quantified(el, k->scheme, k->asked.at[i], i + 1 < k->asked.n ? k->asked.at[i + 1].from : UINT32_MAX));
	k->as = (tsr_application){.asked = asked, .last = asked->n};
}

/* As it is now; rules and their labels belong to the application. */
static void keep_asked(making *m)
{
	for (uint32_t i = m->t->first; i < m->t->last; i++) {
		tsr_asked e = m->t->asked->at[i];
		if (e.kind == TSR_ASKED_RULE) {
			e.rule = kept(m->el, e.rule, sizeof *e.rule);
			e.rule->labels = kept(m->el, e.rule->labels, e.rule->nlabels * sizeof *e.rule->labels);
		}
		tsr_push(m->el->arena, &m->k->asked, e);
	}
}

/* NULL where what the application asks for is no scheme: it mentions variables of others, is wrong, or leaves something to the run. */
static tsr_generic *make(tsr_elab *el, const tsr_application *t)
{
	tsr_share *s = el->share;
	tsr_likeness c;
	if (!tsr_applications_like(el, t, t, &c))
		return NULL;
	tsr_generic *k = TSR_NEW(el->arena, tsr_generic);
	making m = {.el = el, .k = k, .t = t, .store = el->g->store, .open = s->open, .inside = s->inside, .next = s->next};
	k->of = t;
	k->scheme = tsr_scheme_new(m.store);
	aside(&m, &c);
	if (!m.failed) {
		tsr_share_emit(el, t);
		if (t->hidden)
			simplify(&m);
		m.failed = !tsr_scheme_end(k->scheme);
		s->stats.twice += m.failed && !tsr_share_failed(el);      /* in vain */
		s->stats.steps += tsr_scheme_steps(k->scheme);
	}
	if (!m.failed)
		keep_asked(&m);
	else
		s->next = m.next;
	back(&m);
	if (!m.failed)
		quantify(el, k);
	return m.failed ? NULL : k;
}

/* ---- finding one ---------------------------------------------------------------------------------------------------------------- */

static tsr_dim size_of(const tsr_asked *e, const tsr_sized *which)
{
	return e->kind == TSR_ASKED_LABEL ? e->size : e->shape.row[which->kind].trail[which->axis];
}

/* The tensor of the application at hand that stands where `id` stands in the earlier one. */
static tsr_tensor_id counterpart(const tsr_likeness *c, tsr_tensor_id id)
{
	tsr_map_entry *e = tsr_map_find(&c->now, id);
	return e ? (tsr_tensor_id)(e->value.i - 1) : TSR_NONE;
}

/* What the application at hand has for what the scheme was made of. Labels correspond in the order in which they are met. */
static void give(tsr_elab *el, const tsr_generic *k, const tsr_likeness *c, tsr_given *given)
{
	given->n = k->arguments.n + k->labels.n;
	given->tensors = TSR_NEW_N(el->arena, tsr_tensor_id, given->n + 1);
	given->shapes = TSR_NEW_N(el->arena, tsr_shape, given->n + 1);
	given->sizes = TSR_NEW_N(el->arena, tsr_dim, k->sizes.n + 1);
	for (uint32_t i = 0; i < k->arguments.n; i++) {
		given->tensors[i] = counterpart(c, k->arguments.at[i]);
		given->shapes[i] = tsr_tensor_get(el->g, given->tensors[i])->shape;
	}
	for (uint32_t i = 0; i < k->labels.n; i++) {
		given->tensors[k->arguments.n + i] = TSR_NONE;
		given->shapes[k->arguments.n + i] = tsr_label_shape(el, c->labels.at[i]);
	}
	for (uint32_t i = 0; i < k->sizes.n; i++)
		given->sizes[i] = size_of(&c->t->asked->at[c->t->first + k->sizes.at[i].at], &k->sizes.at[i]);
}

/* The numbers in which the application at hand differs from the one that the scheme was made of are sizes of the scheme. */
static bool sizes_fit(const tsr_generic *k, const tsr_likeness *c)
{
	for (uint32_t i = 0; i < c->differ.n; i++) {
		uint32_t at = c->differ.at[i];
		bool open = false;
		for (uint32_t j = 0; j < k->sizes.n && !open; j++)
			open = k->sizes.at[j].at == at;
		if (!open)
			return false;
	}
	return true;
}

static const tsr_generic *with_scheme(tsr_elab *el, tsr_generic *k, tsr_scheme *scheme)
{
	if (scheme == k->scheme)
		return k;
	for (uint32_t i = 0; i < k->others.n; i++)
		if (k->others.at[i]->scheme == scheme)
			return k->others.at[i];
	tsr_generic *other = kept(el, k, sizeof *k);
	other->scheme = scheme;
	quantify(el, other);
	tsr_push(el->arena, &k->others, other);
	return other;
}

/* What of the scheme fits, or NULL. */
static const tsr_generic *fitting(tsr_elab *el, tsr_generic *k, const tsr_application *t, tsr_given *given)
{
	tsr_likeness c;
	if (!tsr_applications_like(el, t, k->of, &c) || !sizes_fit(k, &c))
		return NULL;
	give(el, k, &c, given);
	tsr_scheme *as = tsr_scheme_fitting(k->scheme, el->g->store, given->shapes, given->sizes);
	if (!as)
		tsr_share_not(el, TSR_AGAIN_ROWS);
	return as ? with_scheme(el, k, as) : NULL;
}

const tsr_generic *tsr_generic_for(tsr_elab *el, const tsr_application *t, tsr_given *given)
{
	tsr_body *all = t->all;
	const tsr_generic *fit = NULL;
	for (uint32_t i = all->generic.n; i-- > 0 && !fit;)
		fit = fitting(el, all->generic.at[i], t, given);
	return fit;
}

const tsr_generic *tsr_generic_of(tsr_elab *el, tsr_application *t, tsr_given *given)
{
	tsr_body *all = t->all;
	if (all->generic.n == MOST_SCHEMES || all->refused == MOST_REFUSED)
		return NULL;
	tsr_generic *k = make(el, t);
	const tsr_generic *fit = k ? fitting(el, k, t, given) : NULL;
	if (fit)
		tsr_push(el->arena, &all->generic, k);
	else
		all->refused++;
	return fit;
}
