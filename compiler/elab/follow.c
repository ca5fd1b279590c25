/* An application follows one that asks for the same: what that one has found is what this one asks for, one for one, and nothing is
 * emitted.
 *
 *   the same     the answer is the very same shape.
 *   a copy       of a region: the answer is what that shape is in the copy; constraints get the reasons of this application.
 *   an instance  of a scheme: the answer is what that shape is in the instance. What it is asked of keeps the shapes that it has, which are
 *                now known to be those that the scheme stands on. */
#include "share.h"
#include <string.h>

typedef struct following {
	tsr_elab *el;
	const tsr_application *of;
	const tsr_region *copy;
	const tsr_generic *k;
	const tsr_scheme_copy *instance;
} following;

static tsr_shape here(const following *f, const tsr_shape *shape)
{
	if (f->instance)
		return tsr_copy_shape(f->instance, shape);
	return f->copy ? tsr_region_shape(f->el->g->store, f->of->region, f->copy, shape) : *shape;
}

static tsr_label label_here(const following *f, const tsr_label *l)
{
	if (f->instance)
		return tsr_copy_label(f->instance, *l);
	return f->copy ? tsr_region_label(f->el->g->store, f->of->region, f->copy, l) : *l;
}

/* Which of its constraints those are. Those of a copy get their own reason. */
static void constraints(const following *f, tsr_asked *m, uint32_t i, const tsr_why *why)
{
	tsr_store *s = f->el->g->store;
	const tsr_asked *e = &f->of->asked->at[f->of->first + i];
	uint32_t end = e->to ? e->to : f->of->first + i + 1 < f->of->last ? e[1].from : f->copy ? tsr_region_ends(f->of->region) : 0;
	m->from = e->from;
	m->to = e->to;
	if (f->instance)
		m->from = tsr_copy_why(s, f->k->scheme, f->instance, e->from, e->to, why);
	else if (f->copy)
		m->from = tsr_region_why(s, f->of->region, f->copy, e->from, end, why);
	if ((f->instance || f->copy) && e->to)
		m->to = m->from + e->to - e->from;
}

static void fresh(const following *f, tsr_asked *m, const tsr_asked *e)
{
	tsr_tensor *t = tsr_tensor_get(f->el->g, m->tensor);
	m->shape = here(f, &e->shape);
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		if (t->shape.row[k].var == TSR_ROW_PENDING)
			t->shape.row[k] = m->shape.row[k];
}

static void leaf(const following *f, tsr_asked *m, const tsr_asked *e)
{
	tsr_tensor *t = tsr_tensor_get(f->el->g, m->tensor);
	tsr_shape shape = here(f, &e->shape);
	m->shape = shape;
	if (!f->copy && !f->instance) {
		m->leaf = e->leaf;
		tsr_map_put(&f->el->share->canonical, t->id)->value.i = e->leaf;
	}
	t->shape = shape;
}

static void shapes(const following *f, tsr_asked *m, const tsr_asked *e)
{
	tsr_shape *all = TSR_NEW_N(f->el->arena, tsr_shape, e->n + 1);
	if (f->instance) {
		tsr_asked_shapes(f->el, m);
		return;
	}
	m->shape = here(f, &e->shape);
	for (uint32_t i = 0; i < e->n; i++)
		all[i] = here(f, &e->shapes[i]);
	m->shapes = all;
}

static void rule(const following *f, tsr_asked *m, const tsr_asked *e)
{
	tsr_label *labels = TSR_NEW_N(f->el->arena, tsr_label, e->rule->nlabels + 1);
	for (uint32_t i = 0; i < e->rule->nlabels; i++)
		labels[i] = label_here(f, &e->rule->labels[i]);
	m->rule->why.noperands = m->rule->noperands;
	tsr_labels_take(m->rule, e->rule->nlabels, labels);
	shapes(f, m, e);
}

static void give(const following *f, tsr_asked *m, uint32_t i)
{
	const tsr_asked *e = &f->of->asked->at[f->of->first + i];
	switch (m->kind) {
	case TSR_ASKED_FRESH: fresh(f, m, e); break;
	case TSR_ASKED_LEAF: leaf(f, m, e); break;
	case TSR_ASKED_RULE: rule(f, m, e); break;
	case TSR_ASKED_EQUAL: shapes(f, m, e); break;
	case TSR_ASKED_LABEL:
		m->a = tsr_label_now(f->el, m->at_a);
		if (m->at_b)
			m->b = tsr_label_now(f->el, m->at_b);
		break;
	}
	constraints(f, m, i, m->kind == TSR_ASKED_RULE ? &m->rule->why : m->why);
}

void tsr_follow(tsr_elab *el, tsr_application *t, const tsr_application *of, const tsr_region *copy, const tsr_generic *k,
                const tsr_scheme_copy *instance)
{
	following f = {el, of, copy, k, instance};
	for (uint32_t i = 0; i < t->last - t->first; i++)
		give(&f, &el->share->asked.at[t->first + i], i);
}
