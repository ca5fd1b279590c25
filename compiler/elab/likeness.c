/* Which earlier application an application is like: what the two ask for is compared, one for one.  Like: the same operations on tensors
 * that correspond, whatever the shapes of those that are arguments, and whatever sizes leaves declare and `set_dim` states. The same: the
 * same sizes, and equal shapes, but for parameters of one scheme that can be folded and rows that can be linked. */
#include "share.h"
#include <string.h>

enum { CANDIDATES = 64 };        /* earlier applications of a function that are looked at */

static uint64_t mixed(uint64_t key, uint64_t more)
{
	key = (key ^ more) * 0x9e3779b97f4a7c15u;
	return key ^ key >> 29;
}

static uint64_t of_text(uint64_t key, const char *text)
{
	for (; *text; text++)
		key = mixed(key, (unsigned char)*text);
	return key;
}

/* ---- what is asked for ----------------------------------------------------------------------------------------------------------- */

/* Coefficients and offsets put in. */
static const char *spec_text(tsr_elab *el, const tsr_spec *spec)
{
	return strpbrk(spec->text, "*+") ? tsr_spec_str(el->arena, spec) : spec->text;
}

static uint64_t key_of(tsr_elab *el, const tsr_asked *e)
{
	uint64_t key = mixed(e->kind, e->n);
	if (e->kind == TSR_ASKED_RULE) {
		key = mixed(mixed(key, e->rule->logic), (uint64_t)e->rule->least);
		key = e->rule->spec ? of_text(key, spec_text(el, e->rule->spec)) : key;
	}
	if (e->kind == TSR_ASKED_LABEL)
		key = mixed(mixed(key, e->fact), e->fact == TSR_SHARE_SCALE ? (uint64_t)e->number : 0);
	return key;
}

uint64_t tsr_application_key(tsr_elab *el, const tsr_application *t)
{
	uint64_t key = 0;
	for (uint32_t i = t->first; i < t->last; i++)
		key = mixed(key, key_of(el, &t->asked->at[i]));
	return key;
}

/* ---- shapes that are the same ------------------------------------------------------------------------------------------------------ */

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

static bool folds(tsr_elab *el, tsr_likeness *c, const tsr_tensor *a, const tsr_region *r, const tsr_tensor *b, const tsr_region *onto)
{
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
static bool instances(tsr_elab *el, tsr_likeness *c, const tsr_tensor *a, const tsr_tensor *b)
{
	for (const tsr_owner *r = tsr_owner_of(el, a->id); r; r = r->around)
		for (const tsr_owner *onto = tsr_owner_of(el, b->id); onto; onto = onto->around)
			if (folds(el, c, a, r->region, b, onto->region))
				return true;
	return false;
}

static bool same_shape(tsr_elab *el, tsr_likeness *c, const tsr_tensor *a, const tsr_tensor *b)
{
	bool one = true;
	for (int k = 0; k < TSR_KINDS; k++)
		one &= tsr_rows_one(el->g->store, a->shape.row[k], b->shape.row[k]);
	if (one || instances(el, c, a, b))
		return true;
	if (a->kind != TSR_TENSOR_OP || b->kind != TSR_TENSOR_OP || !tsr_shapes_linkable(el->g->store, &a->shape, &b->shape))
		return false;
	tsr_push(el->arena, &c->links, ((tsr_pair){a->id, b->id}));
	return true;
}

/* ---- tensors that correspond ------------------------------------------------------------------------------------------------------ */

static bool is_within(const tsr_likeness *c, tsr_tensor_id id, bool earlier)
{
	const tsr_application *t = earlier ? c->earlier : c->t;
	return id >= t->first_tensor && id < t->last_tensor;
}

static bool tensors_like(tsr_elab *el, tsr_likeness *c, tsr_tensor_id a, tsr_tensor_id b)
{
	if (a == TSR_NONE || b == TSR_NONE)
		return a == b;
	const tsr_tensor *x = tsr_tensor_get(el->g, a), *y = tsr_tensor_get(el->g, b);
	if (x->poison || y->poison)
		return false;
	if (x->number_alone || y->number_alone)
		return x->number_alone && y->number_alone;
	tsr_map_entry *e = tsr_map_put(&c->now, b);
	if (e->value.i > 0)
		return e->value.i == (int64_t)a + 1;
	bool within = is_within(c, a, false);
	if (within != is_within(c, b, true))
		return false;
	e->value.i = (int64_t)a + 1;
	if (!within) {
		tsr_push(el->arena, &c->pairs, ((tsr_pair){a, b}));
		c->others |= a != b;
	}
	return within || a == b || !c->strict || same_shape(el, c, x, y);
}

/* ---- sizes ---- */

static bool rows_like(tsr_store *s, const tsr_row *a, const tsr_row *b, bool *differ)
{
	if (a->nlead != b->nlead || a->ntrail != b->ntrail || (a->var == TSR_NO_ROW) != (b->var == TSR_NO_ROW))
		return false;
	for (uint32_t i = 0; i < a->nlead + a->ntrail; i++) {
		tsr_dim x = i < a->nlead ? a->lead[i] : a->trail[i - a->nlead], y = i < b->nlead ? b->lead[i] : b->trail[i - b->nlead];
		bool sizes = x.kind == TSR_DIM_ATOM && y.kind == TSR_DIM_ATOM && x.atom.basis == y.atom.basis;
		if (x.kind != y.kind || (!sizes && (x.kind == TSR_DIM_VAR ? x.var != y.var : !tsr_dims_one(s, x, y))))
			return false;
		*differ |= sizes && !tsr_size_equal(x.atom.size, y.atom.size);
		if (sizes && i < a->nlead && !tsr_size_equal(x.atom.size, y.atom.size))
			return false;
	}
	return true;
}

static bool leaves_like(tsr_elab *el, const tsr_asked *a, const tsr_asked *b, bool *differ)
{
	if (a->param != b->param)
		return false;
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		if (a->stated[k] != b->stated[k] || (a->stated[k] && !rows_like(el->g->store, &a->written.row[k], &b->written.row[k], differ)))
			return false;
	return true;
}

/* Of two annotations: the sizes in them, too. */
static bool annotations_like(const tsr_shape *a, const tsr_shape *b)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		const tsr_row *x = &a->row[k], *y = &b->row[k];
		if (x->nlead != y->nlead || x->ntrail != y->ntrail)
			return false;
		for (uint32_t i = 0; i < x->nlead + x->ntrail; i++) {
			tsr_dim d = i < x->nlead ? x->lead[i] : x->trail[i - x->nlead], e = i < x->nlead ? y->lead[i] : y->trail[i - x->nlead];
			if (d.kind != e.kind || (d.kind == TSR_DIM_ATOM && (!tsr_size_equal(d.atom.size, e.atom.size) || d.atom.basis != e.atom.basis)))
				return false;
		}
	}
	return true;
}

/* Where in [t->first, t->last) the label's operation is asked for; -1: outside. */
static int64_t place_of(const tsr_elab *el, const tsr_application *t, const tsr_label *l)
{
	tsr_map_entry *e = tsr_map_find(&el->share->label_at, tsr_key(l));
	return e && e->value.i >= t->first && e->value.i < t->last ? e->value.i - t->first : -1;
}

/* The same label of the same operation; or labels from outside, which correspond. */
static bool labels_like(const tsr_elab *el, tsr_likeness *c, const tsr_label *a, const tsr_label *b)
{
	if (!a || !b)
		return a == b;
	int64_t at = place_of(el, c->t, a);
	if (at != place_of(el, c->earlier, b) || a->is_row != b->is_row)
		return false;
	if (at >= 0)
		return a->name == b->name;
	for (uint32_t i = 0; i < c->labels.n; i++)
		if (c->labels.at[i] == a || c->earlier_labels.at[i] == b)
			return c->labels.at[i] == a && c->earlier_labels.at[i] == b;
	tsr_push(el->arena, &c->labels, a);
	tsr_push(el->arena, &c->earlier_labels, b);
	return a == b || !c->strict;
}

/* ---- one for one ------------------------------------------------------------------------------------------------------------------ */

static bool rules_like(tsr_elab *el, const tsr_rule *a, const tsr_rule *b)
{
	if (a->logic != b->logic || a->least != b->least || !a->spec != !b->spec)
		return false;
	return a->spec == b->spec || strcmp(spec_text(el, a->spec), spec_text(el, b->spec)) == 0;
}

static bool asked_like(tsr_elab *el, tsr_likeness *c, uint32_t i, uint32_t j)
{
	const tsr_asked *a = &c->t->asked->at[i], *b = &c->earlier->asked->at[j];
	bool differ = false;
	if (a->kind != b->kind || a->n != b->n || !tensors_like(el, c, a->tensor, b->tensor))
		return false;
	for (uint32_t k = 0; k < a->n; k++)
		if (!tensors_like(el, c, a->tensors[k], b->tensors[k]))
			return false;
	switch (a->kind) {
	case TSR_ASKED_FRESH: return true;
	case TSR_ASKED_EQUAL: return a->tensors[0] != TSR_NONE || annotations_like(&a->written, &b->written);
	case TSR_ASKED_RULE: return rules_like(el, a->rule, b->rule);
	case TSR_ASKED_LEAF:
		if (!leaves_like(el, a, b, &differ))
			return false;
		break;
	case TSR_ASKED_LABEL:
		if (a->fact != b->fact || !labels_like(el, c, a->at_a, b->at_a) || !labels_like(el, c, a->at_b, b->at_b))
			return false;
		differ = a->number != b->number;
		if (differ && a->fact != TSR_SHARE_SET)
			return false;
		break;
	}
	if (differ)
		tsr_push(el->arena, &c->differ, j - c->earlier->first);
	return !differ || !c->strict;
}

/* Nothing is seen of this one that is not seen of the earlier one. */
static bool results_like(const tsr_likeness *c)
{
	if (!c->earlier->hidden)
		return true;
	for (uint32_t i = 0; c->t->hidden && i < c->t->results.n; i++) {
		bool seen = !is_within(c, c->t->results.at[i], false);
		for (uint32_t j = 0; j < c->earlier->results.n && !seen; j++) {
			tsr_map_entry *e = tsr_map_find(&c->now, c->earlier->results.at[j]);
			seen = e && e->value.i == (int64_t)c->t->results.at[i] + 1;
		}
		if (!seen)
			return false;
	}
	return c->t->hidden;
}

static bool like(tsr_elab *el, const tsr_application *t, const tsr_application *earlier, bool strict, tsr_likeness *c)
{
	*c = (tsr_likeness){.t = t, .earlier = earlier, .strict = strict};
	if (t->key != earlier->key || t->last - t->first != earlier->last - earlier->first)
		return false;
	tsr_map_init(&c->now, el->arena);
	for (uint32_t i = 0; i < t->last - t->first; i++)
		if (!asked_like(el, c, t->first + i, earlier->first + i))
			return false;
	return results_like(c);
}

bool tsr_applications_like(tsr_elab *el, const tsr_application *t, const tsr_application *earlier, tsr_likeness *c)
{
	return like(el, t, earlier, false, c);
}

/* ---- the same ---------------------------------------------------------------------------------------------------------------------- */

tsr_application *tsr_application_same(tsr_elab *el, const tsr_application *t, tsr_likeness *c)
{
	const tsr_body *all = t->all;
	for (uint32_t i = all->written.n, left = CANDIDATES; i-- > 0 && left > 0;) {
		tsr_application *u = all->written.at[i];
		if (u->key != t->key)
			continue;
		left--;
		if (like(el, t, u, true, c))
			return u;
	}
	return NULL;
}

/* ---- was it solved before ------------------------------------------------------------------------------------------------------------ */

uint64_t tsr_application_outline(tsr_elab *el, const tsr_application *t)
{
	tsr_likeness c;
	TSR_VEC(tsr_shape) shapes = {0};
	if (!tsr_applications_like(el, t, t, &c))
		return 0;
	for (uint32_t i = 0; i < c.pairs.n; i++)
		tsr_push(el->arena, &shapes, tsr_tensor_get(el->g, c.pairs.at[i].a)->shape);
	for (uint32_t i = 0; i < c.labels.n; i++)
		tsr_push(el->arena, &shapes, tsr_label_shape(el, c.labels.at[i]));
	return tsr_shapes_outline(el->g->store, shapes.n, shapes.at);
}

bool tsr_application_isomorphic(tsr_elab *el, const tsr_application *t)
{
	tsr_likeness c;
	for (uint32_t i = 0; i < t->all->solved.n; i++) {
		const tsr_application *u = t->all->solved.at[i];
		if (u->outline == t->outline && tsr_applications_like(el, t, u, &c))
			return true;
	}
	return false;
}
