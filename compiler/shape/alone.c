/* Was it right to solve applications once?  After closing it is asked whether anything outside of the regions that applications share
 * gave one of their variables its value, or a candidate for it; see Note [Shared applications] in elab/share.c. */
#include "region.h"
#include "../base/map.h"

typedef struct verdict {
	tsr_store *s;
	uint32_t n;
	const tsr_region *const *friends;
	tsr_map given;                   /* classes of rows (odd keys) and dimensions that every application was given alike */
} verdict;

/* Emitted within one of the regions that all applications have in common. */
static bool common(const verdict *v, uint32_t id)
{
	uint32_t cstr = tsr_cstr_root(v->s, v->s->cstrs.at[id])->id;
	for (uint32_t i = 0; i < v->n; i++)
		if (cstr >= v->friends[i]->from.cstrs && cstr < v->friends[i]->to.cstrs)
			return true;
	return false;
}

static bool row_given(const verdict *v, uint32_t root) { return tsr_map_find(&v->given, 2 * (uint64_t)root + 1) != NULL; }
static bool dim_given(const verdict *v, uint32_t root) { return tsr_map_find(&v->given, 2 * (uint64_t)root) != NULL; }

static void note_given(verdict *v, const tsr_shape *shape)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		tsr_row r = shape->row[k];
		bool poison = false;
		if (tsr_row_open(r))
			tsr_map_put(&v->given, 2 * (uint64_t)tsr_forest_find(v->s->row_forest, r.var) + 1);
		r = tsr_row_find(v->s, r, &poison);      /* and the axes that it has got since */
		for (uint32_t i = 0; i < tsr_row_flanks(r); i++)
			if (tsr_row_axis(r, i).kind == TSR_DIM_VAR)
				tsr_map_put(&v->given, 2 * (uint64_t)tsr_forest_find(v->s->dim_forest, tsr_row_axis(r, i).var));
	}
}

/* A parameter's row that nothing but a candidate kept from being an error, of no axes: another application might have had none. */
static bool excused(tsr_store *s, const tsr_row_var *r)
{
	bool poison = false;
	return r->in_param && !r->from_template && !(r->input && !r->in_spec) && r->cause == TSR_NO_ID && r->has_bound
		&& tsr_row_flanks(tsr_row_find(s, r->value, &poison)) == 0;
}

static bool row_alone(const verdict *v, uint32_t root)
{
	const tsr_row_var *r = &v->s->rows.at[root];
	return row_given(v, root) || ((r->cause == TSR_NO_ID || common(v, r->cause)) && !excused(v->s, r));
}

static bool dim_alone(const verdict *v, uint32_t root)
{
	const tsr_dim_var *d = &v->s->dims.at[root];
	return dim_given(v, root) || ((d->cause == TSR_NO_ID || common(v, d->cause)) && (!d->has_lower || common(v, d->lower_cause)));
}

/* Nothing was added to a linked row. */
static bool vanished(tsr_store *s, tsr_row link)
{
	bool poison = false;
	tsr_row r = tsr_row_find(s, link, &poison);
	return !poison && !tsr_row_open(r) && tsr_row_flanks(r) == 0 && !s->rows.at[tsr_forest_find(s->row_forest, link.var)].in_leaf;
}

enum { OURS = 1, FROM_OUTSIDE = 2, AXES = 4 };

/* What was proposed from outside to a row that may take it, or pass it on, must be nothing, and nothing else proposed. */
static bool proposals_alone(verdict *v, const tsr_row_list *links)
{
	tsr_store *s = v->s;
	tsr_map said;
	tsr_map_init(&said, s->arena);
	for (uint32_t i = 0; i < links->n; i++)
		tsr_map_put(&said, tsr_forest_find(s->row_forest, links->at[i].var))->value.i = OURS;
	for (uint32_t i = 0; i < v->n; i++)
		for (uint32_t r = v->friends[i]->from.rows; r < v->friends[i]->to.rows; r++)
			if (!row_given(v, tsr_forest_find(s->row_forest, r)))
				tsr_map_put(&said, tsr_forest_find(s->row_forest, r))->value.i = OURS;
	for (uint32_t i = 0; i < s->proposals.n; i++) {
		const tsr_proposal *p = &s->proposals.at[i];
		uint32_t root = tsr_forest_find(s->row_forest, p->row);
		tsr_map_entry *e = tsr_map_find(&said, root);
		if (!e)
			continue;
		e->value.i |= (p->axes ? AXES : 0) | (common(v, p->by) ? 0 : FROM_OUTSIDE);
		if ((e->value.i & FROM_OUTSIDE) && ((e->value.i & AXES) || s->rows.at[root].in_leaf))
			return false;
	}
	return true;
}

bool tsr_regions_made(uint32_t n, const tsr_region *const *regions, const tsr_shape *shape)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		for (uint32_t i = 0; i < n; i++)
			if (tsr_row_open(shape->row[k]) && shape->row[k].var >= regions[i]->from.rows && shape->row[k].var < regions[i]->to.rows)
				return true;
	return false;
}

bool tsr_region_alone(tsr_store *s, uint32_t n, const tsr_region *const *regions, uint32_t ngiven, const tsr_shape *given,
                      const tsr_row_list *links)
{
	verdict v = {.s = s, .n = n, .friends = regions};
	tsr_map_init(&v.given, s->arena);
	for (uint32_t i = 0; i < ngiven; i++)
		note_given(&v, &given[i]);
	for (uint32_t i = 0; i < links->n; i++)
		if (!vanished(s, links->at[i]))
			return false;
	if (!proposals_alone(&v, links))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t d = regions[i]->from.dims; d < regions[i]->to.dims; d++)
			if (!dim_alone(&v, tsr_forest_find(s->dim_forest, d)))
				return false;
		for (uint32_t r = regions[i]->from.rows; r < regions[i]->to.rows; r++)
			if (!row_alone(&v, tsr_forest_find(s->row_forest, r)))
				return false;
	}
	return true;
}
