/* Schemes of applications: what an application asked of the store is asked once more, of a store where the shapes of its arguments are
 * not known but for how many axes they have (shape/instance.c), nor the sizes in which the application at hand differs from it. One that
 * asks for the same, with arguments and sizes of its own, follows an instance. */
#include "share.h"
#include <string.h>

/* Schemes that are made in vain for one function; earlier applications that are looked at for one; schemes of one function, each for
 * another structure of its arguments. */
enum { MOST_REFUSED = 8, MOST_TRIED = 4, MOST_SCHEMES = 256 };

/* ---- making one ----------------------------------------------------------------------------------------------------------------- */

/* What was asked for before, in terms of the scheme. */
typedef struct making {
	tsr_elab *el;
	tsr_generic *k;
	tsr_store *s;
	const tsr_likeness *of;          /* the earlier application, and what it has for that of the one at hand */
	const tsr_map *open;             /* whose sizes are left open: places in the earlier one; NULL: all */
	tsr_map tensors;                 /* tensor -> tsr_shape */
	tsr_map dims;                    /* axis of an annotation -> tsr_dim */
	tsr_map labels;                  /* label of a rule of it -> tsr_label */
	tsr_shape fresh;                 /* the shape that was asked for last, */
	uint32_t fresh_at;               /* by this */
	tsr_asked_list *asked;
	bool failed;
} making;

/* As it is written; variables of others are not for a scheme. */
static tsr_row row_of(making *m, tsr_row r)
{
	uint32_t n = r.nlead + r.ntrail;
	tsr_dim *at = TSR_NEW_N(m->el->arena, tsr_dim, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		at[i] = i < r.nlead ? r.lead[i] : r.trail[i - r.nlead];
		at[i].from = 0;
		m->failed |= at[i].kind != TSR_DIM_UNIT && !(at[i].kind == TSR_DIM_ATOM && tsr_size_is_const(at[i].atom.size));
	}
	m->failed |= r.var != TSR_NO_ROW;
	return (tsr_row){.nlead = r.nlead, .ntrail = r.ntrail, .lead = at, .trail = at + r.nlead, .var = TSR_NO_ROW};
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

static void note_tensor(making *m, tsr_tensor_id id, const tsr_shape *shape)
{
	if (id != TSR_NONE)
		tsr_map_put(&m->tensors, id)->value.p = kept(m, shape, sizeof *shape);
}

/* The tensor of the application at hand that stands where `id` stands in the earlier one. */
static tsr_tensor_id counterpart(const tsr_likeness *c, tsr_tensor_id id)
{
	tsr_map_entry *e = tsr_map_find(&c->now, id);
	return e && e->value.i > 0 ? (tsr_tensor_id)(e->value.i - 1) : TSR_NONE;
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

/* Made within, an argument, a result that has just been given its shape, or one whose shape is written: a number's. */
static tsr_shape tensor_shape(making *m, tsr_tensor_id id, const tsr_shape *shape, bool result)
{
	tsr_map_entry *e = id == TSR_NONE ? NULL : tsr_map_find(&m->tensors, id);
	if (e)
		return *(tsr_shape *)e->value.p;
	tsr_tensor_id now = id == TSR_NONE ? id : counterpart(m->of, id);
	if (now != TSR_NONE && (now < m->of->t->first_tensor || now >= m->of->t->last_tensor))
		return argument(m, id);
	if (result && m->fresh_at == m->asked->n)
		return m->fresh;
	return shape_of(m, shape);
}

static bool is_open(const making *m, uint32_t at) { return !m->open || tsr_map_find(m->open, at); }

static tsr_dim size(making *m, tsr_sized which)
{
	tsr_push(m->el->arena, &m->k->sizes, which);
	return tsr_scheme_size(m->k->scheme);
}

/* The sizes that a leaf states are left open. */
static void open_sizes(making *m, const tsr_asked *e, tsr_shape *out)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		for (uint32_t i = 0; e->stated[k] && i < e->shape.row[k].ntrail; i++)
			if (out->row[k].trail[i].kind == TSR_DIM_ATOM)
				out->row[k].trail[i] = size(m, (tsr_sized){m->asked->n, (tsr_kind)k, i});
}

static void ask_leaf(making *m, uint32_t at, const tsr_asked *e, tsr_asked *as)
{
	const tsr_tensor *t = tsr_tensor_get(m->el->g, e->tensor);
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		as->shape.row[k] = e->stated[k] ? row_of(m, e->shape.row[k]) : m->fresh.row[k];
		m->failed |= !e->stated[k] && m->fresh_at != m->asked->n;
	}
	if (m->failed)
		return;
	if (is_open(m, at))
		open_sizes(m, e, &as->shape);
	tsr_store_leaf(m->s, &as->shape, e->param ? TSR_LEAF_PARAM : TSR_LEAF_PLAIN, t->name, t->span);
	note_tensor(m, e->tensor, &as->shape);
}

/* An annotation: its unknown axes are its own. */
static tsr_shape annotation(making *m, tsr_shape shape)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		tsr_row *r = &shape.row[k];
		m->failed |= r->nlead || r->var != TSR_NO_ROW;
		r->trail = kept(m, r->trail, r->ntrail * sizeof *r->trail);
		for (uint32_t i = 0; i < r->ntrail; i++) {
			tsr_map_entry *e = r->trail[i].kind == TSR_DIM_VAR ? tsr_map_put(&m->dims, r->trail[i].var) : NULL;
			if (e && !e->value.p)
				e->value.p = kept(m, &(tsr_dim[]){tsr_dim_fresh(m->s, NULL, TSR_NOWHERE)}, sizeof(tsr_dim));
			if (e)
				r->trail[i] = *(tsr_dim *)e->value.p;
		}
	}
	return shape;
}

static void ask_operands(making *m, const tsr_asked *e, tsr_asked *as)
{
	tsr_shape *shapes = TSR_NEW_N(m->el->arena, tsr_shape, e->n + 1);
	bool written = e->kind == TSR_ASKED_EQUAL && e->tensors[0] == TSR_NONE;
	for (uint32_t i = 0; i < e->n; i++)
		shapes[i] = written ? annotation(m, e->shapes[i]) : tensor_shape(m, e->tensors[i], &e->shapes[i], false);
	as->shape = tensor_shape(m, e->tensor, &e->shape, true);
	as->shapes = shapes;
	if (!tsr_map_find(&m->tensors, e->tensor))
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
	for (uint32_t i = 0; i < rule->nlabels; i++)
		tsr_map_put(&m->labels, tsr_key(&e->rule->labels[i]))->value.p = &rule->labels[i];
}

static void ask_equal(making *m, const tsr_asked *e, tsr_asked *as)
{
	ask_operands(m, e, as);
	for (uint32_t k = 0; k < TSR_KINDS && !m->failed; k++)
		tsr_emit_row_equal(m->s, as->shape.row[k], as->shapes[0].row[k], (tsr_why){.span = TSR_NOWHERE, .other = TSR_NOWHERE});
}

static tsr_label label_of(making *m, const tsr_label *at)
{
	tsr_map_entry *e = tsr_map_find(&m->labels, tsr_key(at));
	m->failed |= !e;
	return e ? *(tsr_label *)e->value.p : *at;
}

static void set_label(making *m, uint32_t at, const tsr_asked *e, const tsr_asked *as, tsr_why why)
{
	if (is_open(m, at))
		tsr_emit_equal_labels(m->s, &as->a, &(tsr_label){.dim = size(m, (tsr_sized){.at = m->asked->n})}, why);
	else
		tsr_emit_set_label(m->s, &as->a, tsr_size_const(e->number), why);
}

static void ask_label(making *m, uint32_t at, const tsr_asked *e, tsr_asked *as)
{
	tsr_why why = {.span = TSR_NOWHERE, .other = TSR_NOWHERE};
	as->a = label_of(m, e->at_a);
	if (e->at_b)
		as->b = label_of(m, e->at_b);
	if (m->failed)
		return;
	switch (e->fact) {
	case TSR_SHARE_SET: set_label(m, at, e, as, why); return;
	case TSR_SHARE_SAME: tsr_emit_equal_labels(m->s, &as->a, &as->b, why); return;
	case TSR_SHARE_SCALE:
		tsr_emit_dim_equal(m->s, as->a.dim, tsr_dim_affine(m->s, (tsr_affine){.stride = e->number, .dilation = 1, .over = as->b.dim}), why);
		return;
	}
}

/* What the earlier one asked for; not, what it made that is there by now. */
static void ask(making *m, uint32_t at)
{
	const tsr_asked *e = &m->of->earlier->asked->at[m->of->earlier->first + at];
	tsr_asked as = *e;
	if (m->of->at.at[at] == TSR_NONE)
		return;
	as.from = tsr_store_emission(m->s);
	switch (e->kind) {
	case TSR_ASKED_FRESH:
		as.shape = m->fresh = tsr_shape_fresh(m->s);
		m->fresh_at = m->asked->n + 1;
		break;
	case TSR_ASKED_LEAF: ask_leaf(m, at, e, &as); break;
	case TSR_ASKED_RULE: ask_rule(m, e, &as); break;
	case TSR_ASKED_EQUAL: ask_equal(m, e, &as); break;
	case TSR_ASKED_LABEL: ask_label(m, at, e, &as); break;
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
	for (uint32_t i = 0; i < m->of->earlier->results.n; i++) {
		tsr_map_entry *e = tsr_map_find(&m->tensors, m->of->earlier->results.at[i]);
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

/* What was asked for in terms that an instance has; `end`: the first constraint of what was asked for next. */
static void quantified(tsr_elab *el, tsr_scheme *k, tsr_asked *e, uint32_t end)
{
	tsr_shape *shapes = TSR_NEW_N(el->arena, tsr_shape, e->n + 1);
	e->from = tsr_scheme_left(k, e->from);
	e->to = tsr_scheme_left(k, end);
	if (e->kind == TSR_ASKED_LABEL) {
		e->a = tsr_scheme_label(k, e->a);
		if (e->at_b)
			e->b = tsr_scheme_label(k, e->b);
		return;
	}
	e->shape = tsr_scheme_shape(k, &e->shape);
	for (uint32_t i = 0; i < e->n; i++)
		shapes[i] = tsr_scheme_shape(k, &e->shapes[i]);
	e->shapes = shapes;
	for (uint32_t i = 0; e->kind == TSR_ASKED_RULE && i < e->rule->nlabels; i++)
		e->rule->labels[i] = tsr_scheme_label(k, e->rule->labels[i]);
}

/* NULL where what the application asked for is no scheme: it mentions variables of others, is wrong, or leaves something to the run. */
static tsr_generic *make(tsr_elab *el, const tsr_likeness *c, const tsr_map *open)
{
	tsr_generic *k = TSR_NEW(el->arena, tsr_generic);
	making m = {.el = el, .k = k, .of = c, .open = open, .asked = TSR_NEW(el->arena, tsr_asked_list), .fresh_at = UINT32_MAX};
	tsr_map_init(&m.tensors, el->arena);
	tsr_map_init(&m.labels, el->arena);
	tsr_map_init(&m.dims, el->arena);
	k->of = c->earlier;
	k->found = c->found;
	k->scheme = tsr_scheme_new(el->g->store);
	m.s = tsr_scheme_store(k->scheme);
	for (uint32_t i = 0; i < c->at.n && !m.failed; i++)
		ask(&m, i);
	el->share->stats.schemes++;
	if (!m.failed && c->earlier->hidden)
		simplify(&m);
	el->share->stats.steps += tsr_scheme_steps(k->scheme);
	if (m.failed || !tsr_scheme_end(k->scheme))
		return NULL;
	for (uint32_t i = 0; i < m.asked->n; i++)
		quantified(el, k->scheme, &m.asked->at[i], i + 1 < m.asked->n ? m.asked->at[i + 1].from : UINT32_MAX);
	k->as = (tsr_application){.asked = m.asked, .last = m.asked->n};
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

tsr_dim *tsr_sizes_of(tsr_elab *el, const tsr_generic *k, const tsr_application *t)
{
	tsr_dim *sizes = TSR_NEW_N(el->arena, tsr_dim, k->sizes.n + 1);
	for (uint32_t i = 0; i < k->sizes.n; i++)
		sizes[i] = tsr_asked_size(&t->asked->at[t->first + k->sizes.at[i].at], &k->sizes.at[i]);
	return sizes;
}

/* The numbers in which the application at hand differs from the one that the scheme was made of are sizes of the scheme. */
static bool sizes_fit(const tsr_generic *k, const tsr_likeness *c)
{
	for (uint32_t i = 0; i < c->differ.n; i++) {
		uint32_t at = c->at.at[c->differ.at[i]] - c->t->first;
		bool open = false;
		for (uint32_t j = 0; j < k->sizes.n && !open; j++)
			open = k->sizes.at[j].at == at;
		if (!open)
			return false;
	}
	return true;
}

static bool found_the_same(const tsr_generic *k, const tsr_likeness *c)
{
	return k->found.n == c->found.n && (!k->found.n || memcmp(k->found.at, c->found.at, k->found.n * sizeof *k->found.at) == 0);
}

/* What the application at hand gives for the arguments; false where the scheme is not for these. */
static bool fits(tsr_elab *el, const tsr_generic *k, const tsr_likeness *c, const tsr_tensor_id **given)
{
	tsr_tensor_id *tensors = TSR_NEW_N(el->arena, tsr_tensor_id, k->arguments.n + 1);
	if (!found_the_same(k, c) || !sizes_fit(k, c)) {
		tsr_share_not(el, TSR_AGAIN_OUTSIDE);
		return false;
	}
	for (uint32_t i = 0; i < k->arguments.n; i++)
		tensors[i] = counterpart(c, k->arguments.at[i]);
	*given = tensors;
	tsr_fit fit = tsr_scheme_fits(k->scheme, tsr_shapes_of(el, k->arguments.n, tensors), tsr_sizes_of(el, k, c->t));
	if (fit != TSR_FIT)
		tsr_share_not(el, TSR_AGAIN_ROWS + (fit - TSR_FIT_NOT_ROWS));
	return fit == TSR_FIT;
}

/* Sizes that differ are left open; and all of them, where there is a scheme of the earlier one for others already. */
static const tsr_generic *made_for(tsr_elab *el, tsr_body *all, const tsr_likeness *c, const tsr_tensor_id **given)
{
	tsr_map open;
	bool some = true;
	tsr_map_init(&open, el->arena);
	for (uint32_t i = 0; i < c->differ.n; i++)
		tsr_map_put(&open, c->differ.at[i]);
	for (uint32_t i = 0; i < all->generic.n; i++)
		some &= all->generic.at[i]->of != c->earlier || !c->differ.n;
	tsr_generic *k = make(el, c, some ? &open : NULL);
	if (!k)
		tsr_share_not(el, TSR_AGAIN_OUTSIDE);
	if (!k || !fits(el, k, c, given)) {
		all->refused++;
		return NULL;
	}
	tsr_push(el->arena, &all->generic, k);
	return k;
}

const tsr_generic *tsr_generic_for(tsr_elab *el, const tsr_application *t, const tsr_tensor_id **given)
{
	tsr_likeness c;
	tsr_body *all = t->all;
	for (uint32_t i = all->generic.n; i-- > 0;)
		if (tsr_applications_like(el, t, all->generic.at[i]->of, &c) && fits(el, all->generic.at[i], &c, given))
			return all->generic.at[i];
	if (tsr_share_failed(el) || all->generic.n == MOST_SCHEMES)
		return NULL;
	for (uint32_t i = all->written.n, left = MOST_TRIED; i-- > 0 && left > 0 && all->refused < MOST_REFUSED;) {
		const tsr_generic *k = NULL;
		if (all->written.at[i]->key != t->key)
			continue;
		left--;
		if (tsr_applications_like(el, t, all->written.at[i], &c))
			k = made_for(el, all, &c, given);
		if (k)
			return k;
	}
	return NULL;
}
