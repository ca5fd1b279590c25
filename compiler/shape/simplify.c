/* What closing would find in every instance of a scheme is found once.  An interior that is the result of nothing but one operand, and is
 * itself only an operand of inequalities, is that operand when all is closed: it lies below it, and nothing else holds it there; where
 * the operand is a size it is that size; where the operand claims nothing, or ends, it goes up to it. The candidates that it would
 * pass on to the operand are those that the operand gets when the two are one.  An interior that is the result of no open operand any
 * more, and an operand of inequalities, ends, or claims nothing.
 *
 * Kept apart are variables that anything else may still bear on: those of leaves and arguments, those that are seen from outside (in the
 * results, in labels), those in conditions; and axes above which more operands may be seen, when one grows. */
#include "region.h"
#include <string.h>

typedef struct simplifying {
	tsr_store *s;
	uint32_t nrows, ndims;
	bool *row_kept, *dim_kept;       /* by representative */
	uint32_t *row_uppers, *dim_uppers;   /* inequalities in which it is the result */
} simplifying;

/* ---- what is kept ---------------------------------------------------------------------------------------------------------- */

static void keep_dim(simplifying *x, tsr_dim d)
{
	d = tsr_dim_find(x->s, d);
	if (tsr_dim_is_var(d))
		x->dim_kept[d.var] = true;
}

static void keep_row(simplifying *x, tsr_row r)
{
	bool poison = false;
	r = tsr_row_find(x->s, r, &poison);
	for (uint32_t i = 0; i < tsr_row_flanks(r); i++)
		keep_dim(x, tsr_row_axis(r, i));
	if (tsr_row_open(r))
		x->row_kept[r.var] = true;
}

static void keep_shape(simplifying *x, const tsr_shape *shape)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		keep_row(x, shape->row[k]);
}

static void keep_condition(simplifying *x, const tsr_cstr *c)
{
	switch (c->kind) {
	case TSR_C_DIM_EQUAL: keep_dim(x, c->dim.a); keep_dim(x, c->dim.b); return;
	case TSR_C_ROW_EQUAL: keep_row(x, c->row.a); keep_row(x, c->row.b); return;
	case TSR_C_AT_LEAST: keep_dim(x, c->at_least.d); return;
	case TSR_C_TOTAL:
		for (uint32_t i = 0; i < c->total.n; i++)
			keep_row(x, c->total.rows[i]);
		if (c->total.has_dim)
			keep_dim(x, c->total.d);
		return;
	case TSR_C_AFFINE:
		keep_dim(x, c->affine.d);
		keep_dim(x, c->affine.term->over);
		if (c->affine.term->has_kernel)
			keep_dim(x, c->affine.term->kernel);
		return;
	case TSR_C_CONCAT:
		keep_dim(x, c->concat.d);
		for (uint32_t i = 0; i < c->concat.n; i++)
			keep_dim(x, c->concat.at[i]);
		return;
	case TSR_C_LOOKUP:
		keep_row(x, c->lookup.batch);
		keep_row(x, c->lookup.input);
		keep_row(x, c->lookup.rest_batch);
		keep_row(x, c->lookup.rest_input);
		keep_dim(x, c->lookup.d);
		return;
	case TSR_C_JOIN:
		keep_row(x, c->join.whole);
		keep_row(x, c->join.front);
		keep_row(x, c->join.back);
		return;
	case TSR_C_DIM_BELOW: case TSR_C_ROW_BELOW: case TSR_C_SOURCE: return;
	}
}

static void keep_what_others_say(simplifying *x)
{
	tsr_store *s = x->s;
	for (uint32_t i = 0; i < s->cstrs.n; i++)
		if (!s->cstrs.at[i]->done)
			keep_condition(x, s->cstrs.at[i]);
	for (uint32_t v = 0; v < s->rows.n; v++)
		if (s->rows.at[v].in_leaf)
			keep_row(x, (tsr_row){.var = v});
	for (uint32_t v = 0; v < s->dims.n; v++) {
		const tsr_dim_var *d = &s->dims.at[v];
		if (d->in_leaf || d->in_term || d->of_total || d->discardable || d->defs.n)
			keep_dim(x, (tsr_dim){.kind = TSR_DIM_VAR, .var = v});
	}
}

/* ---- rows -------------------------------------------------------------------------------------------------------------------- */

static void count_uppers(simplifying *x)
{
	tsr_store *s = x->s;
	memset(x->row_uppers, 0, s->rows.n * sizeof *x->row_uppers);
	memset(x->dim_uppers, 0, s->dims.n * sizeof *x->dim_uppers);
	for (uint32_t i = 0; i < s->cstrs.n; i++) {
		const tsr_cstr *c = s->cstrs.at[i];
		bool poison = false;
		if (c->done || (c->kind != TSR_C_ROW_BELOW && c->kind != TSR_C_DIM_BELOW))
			continue;
		if (c->kind == TSR_C_ROW_BELOW) {
			tsr_outline res = tsr_row_outline(s, &c->row.a, &poison);
			if (res.var != TSR_NO_ROW)
				x->row_uppers[res.var]++;
		} else if (tsr_dim_is_var(tsr_dim_find(s, c->dim.a))) {
			x->dim_uppers[tsr_dim_find(s, c->dim.a).var]++;
		}
	}
}

/* The result's variable becomes that of the operand, which stays what it is. */
static void one_row(simplifying *x, uint32_t result, uint32_t operand, tsr_cstr *c)
{
	tsr_store *s = x->s;
	tsr_row_var was = s->rows.at[operand];
	c->done = true;
	tsr_join_rows(s, operand, result, c);
	uint32_t root = tsr_forest_find(s->row_forest, operand);
	tsr_row_var *v = &s->rows.at[root];
	was.watchers = v->watchers;
	*v = was;
	x->row_kept[root] = x->row_kept[operand];
	x->row_uppers[root] = x->row_uppers[operand];
}

static bool simplify_row(simplifying *x, tsr_cstr *c)
{
	bool poison = false;
	tsr_outline res = tsr_row_outline(x->s, &c->row.a, &poison), op = tsr_row_outline(x->s, &c->row.b, &poison);
	if (res.var == TSR_NO_ROW || op.var == TSR_NO_ROW || res.var == op.var || poison || res.nlead != op.nlead || res.ntrail != op.ntrail)
		return false;
	if (x->row_kept[res.var] || x->row_uppers[res.var] != 1)
		return false;
	one_row(x, res.var, op.var, c);
	return true;
}

static bool end_row(simplifying *x, tsr_cstr *c)
{
	bool poison = false;
	tsr_outline op = tsr_row_outline(x->s, &c->row.b, &poison);
	if (op.var == TSR_NO_ROW || poison || x->row_kept[op.var] || x->row_uppers[op.var])
		return false;
	tsr_bind_row(x->s, op.var, tsr_row_empty(), NULL);
	return true;
}

/* ---- axes -------------------------------------------------------------------------------------------------------------------- */

/* A longer result may yet meet more of its operand. */
static void keep_growing(simplifying *x)
{
	tsr_store *s = x->s;
	for (uint32_t i = 0; i < s->cstrs.n; i++) {
		const tsr_cstr *c = s->cstrs.at[i];
		bool poison = false;
		if (c->done || c->kind != TSR_C_ROW_BELOW)
			continue;
		tsr_row res = tsr_row_find(s, c->row.a, &poison), op = tsr_row_find(s, c->row.b, &poison);
		if (res.nlead == op.nlead && res.ntrail == op.ntrail)
			continue;
		for (uint32_t k = 0; k < tsr_row_flanks(res); k++)
			keep_dim(x, tsr_row_axis(res, k));
	}
}

static bool simplify_dim(simplifying *x, tsr_cstr *c)
{
	tsr_store *s = x->s;
	tsr_dim a = tsr_dim_find(s, c->dim.a), b = tsr_dim_find(s, c->dim.b);
	if (!tsr_dim_is_var(a) || !tsr_dim_is_var(b) || a.var == b.var || x->dim_kept[a.var] || x->dim_uppers[a.var] != 1)
		return false;
	if (s->dims.at[b.var].discardable)
		return false;
	bool kept = x->dim_kept[b.var];
	uint32_t uppers = x->dim_uppers[b.var];
	c->done = true;
	tsr_join_dims(s, a.var, b.var, c);
	b = tsr_dim_find(s, b);
	if (tsr_dim_is_var(b)) {
		x->dim_kept[b.var] = kept;
		x->dim_uppers[b.var] = uppers;
	}
	return true;
}

static bool free_dim(simplifying *x, tsr_cstr *c)
{
	tsr_store *s = x->s;
	tsr_dim a = tsr_dim_find(s, c->dim.a), b = tsr_dim_find(s, c->dim.b);
	if (!tsr_dim_is_var(b) || x->dim_kept[b.var] || x->dim_uppers[b.var] || tsr_dim_strict(s, b.var))
		return false;
	if (tsr_dim_is_var(a) && s->dims.at[a.var].discardable)
		return false;
	tsr_bind_dim(s, b.var, tsr_dim_unit(), NULL);
	return true;
}

/* ---- both -------------------------------------------------------------------------------------------------------------------- */

static bool each(simplifying *x, tsr_cstr_kind kind, bool (*simplify)(simplifying *, tsr_cstr *))
{
	bool any = false;
	count_uppers(x);
	for (uint32_t i = 0; i < x->s->cstrs.n; i++) {
		tsr_cstr *c = x->s->cstrs.at[i];
		if (!c->done && c->kind == kind)
			any |= simplify(x, c);
	}
	tsr_solve(x->s);
	TSR_ASSERT(x->s->rows.n == x->nrows && x->s->dims.n == x->ndims);        /* nothing grows: no row becomes longer */
	return any;
}

static void both(simplifying *x)
{
	while (each(x, TSR_C_ROW_BELOW, simplify_row) || each(x, TSR_C_ROW_BELOW, end_row))
		;
	keep_growing(x);
	while (each(x, TSR_C_DIM_BELOW, simplify_dim) || each(x, TSR_C_DIM_BELOW, free_dim))
		;
}

void tsr_store_simplify(tsr_store *s, uint32_t nseen, const tsr_shape *seen, uint32_t nlabels, const tsr_label *labels)
{
	simplifying x = {s, s->rows.n, s->dims.n, TSR_NEW_N(s->arena, bool, s->rows.n + 1), TSR_NEW_N(s->arena, bool, s->dims.n + 1),
	                 TSR_NEW_N(s->arena, uint32_t, s->rows.n + 1), TSR_NEW_N(s->arena, uint32_t, s->dims.n + 1)};
	for (uint32_t i = 0; i < nseen; i++)
		keep_shape(&x, &seen[i]);
	for (uint32_t i = 0; i < nlabels; i++)
		if (labels[i].is_row)
			keep_row(&x, labels[i].row);
		else
			keep_dim(&x, labels[i].dim);
	keep_what_others_say(&x);
	both(&x);
}
