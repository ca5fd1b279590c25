/* A function's constraints as one would say them: how the shapes hang together where no operand broadcasts.
 *
 * First what is exact: an interior that nothing else bears on is what closing would make of it, its only operand, or where there
 * is none the claim-free unit and no axes. Then what is left is read with `=` for `<=`, one constraint after the other. Where that
 * contradicts the rest the caller begins again and keeps that constraint; and an argument's row is not given an axis of
 * a fixed size because another operand has it: `ids = classes` says nothing of the axes of `ids`. What is kept stands in the
 * `where` of the scheme.
 *
 * Only for printing: mistakes are found by the constraints as they are. Each round looks at every constraint; a function has
 * hundreds. */
#include "store.h"

/* The operands above a result. busy: another condition bears on it; open: there may be more of them. */
typedef struct uppers { uint32_t n, only; bool busy, open; } uppers;

typedef struct reading {
	tsr_store *s;
	const tsr_kept *kept;
	uppers *dims, *rows;
	uint32_t ndims, nrows;
} reading;

static bool is_kept(const reading *r, uint32_t id)
{
	for (uint32_t i = 0; i < r->kept->n; i++)
		if (r->kept->at[i] == id)
			return true;
	return false;
}

/* ---- what bears on each variable -------------------------------------------------------------------------------------------- */

static void busy_dim(reading *r, tsr_dim d)
{
	d = tsr_dim_find(r->s, d);
	if (tsr_dim_is_var(d))
		r->dims[d.var].busy = true;
}

static void open_dim(reading *r, tsr_dim d)
{
	d = tsr_dim_find(r->s, d);
	if (tsr_dim_is_var(d))
		r->dims[d.var].open = true;
}

static void busy_row(reading *r, tsr_row row)
{
	bool poison = false;
	row = tsr_row_find(r->s, row, &poison);
	if (tsr_row_open(row))
		r->rows[row.var].busy = true;
	for (uint32_t i = 0; i < tsr_row_flanks(row); i++)
		busy_dim(r, tsr_row_axis(row, i));
}

static void upper_dim(reading *r, const tsr_cstr *c)
{
	tsr_dim a = tsr_dim_find(r->s, c->dim.a), b = tsr_dim_find(r->s, c->dim.b);
	if (!tsr_dim_is_var(a))
		return;
	if (!tsr_dim_is_var(b)) {
		r->dims[a.var].busy = true;
		return;
	}
	uppers *u = &r->dims[a.var];
	if (a.var != b.var && (u->n == 0 || u->only != b.var)) {
		u->n++;
		u->only = b.var;
	}
}

static void look_at(reading *r, const tsr_cstr *c)
{
	bool poison = false;
	switch (c->kind) {
	case TSR_C_DIM_BELOW: upper_dim(r, c); return;
	case TSR_C_ROW_BELOW: {
		tsr_row a = tsr_row_find(r->s, c->row.a, &poison);
		if (tsr_row_open(a)) {
			r->rows[a.var].n++;
			r->rows[a.var].only = c->id;
		}
		for (uint32_t i = 0; i < tsr_row_flanks(a); i++)          /* more operands may be seen above them */
			open_dim(r, tsr_row_axis(a, i));
		return;
	}
	case TSR_C_ROW_EQUAL: busy_row(r, c->row.rest[0]); busy_row(r, c->row.rest[1]); return;
	case TSR_C_DIM_EQUAL: busy_dim(r, c->dim.a); busy_dim(r, c->dim.b); return;
	case TSR_C_AT_LEAST:
		if (c->at_least.n > 1)
			busy_dim(r, c->at_least.d);
		return;
	case TSR_C_TOTAL:
		for (uint32_t i = 0; i < c->total.n; i++)
			busy_row(r, c->total.rows[i]);
		if (c->total.has_dim)
			busy_dim(r, c->total.d);
		return;
	case TSR_C_AFFINE:
		busy_dim(r, c->affine.d);
		busy_dim(r, c->affine.term->over);
		if (c->affine.term->has_kernel)
			busy_dim(r, c->affine.term->kernel);
		return;
	case TSR_C_CONCAT:
		busy_dim(r, c->concat.d);
		for (uint32_t i = 0; i < c->concat.n; i++)
			busy_dim(r, c->concat.at[i]);
		return;
	case TSR_C_LOOKUP:
		busy_row(r, c->lookup.batch);
		busy_row(r, c->lookup.input);
		busy_row(r, c->lookup.rest_batch);
		busy_row(r, c->lookup.rest_input);
		busy_dim(r, c->lookup.d);
		return;
	case TSR_C_JOIN:
		busy_row(r, c->join.whole);
		busy_row(r, c->join.front);
		busy_row(r, c->join.back);
		return;
	case TSR_C_SOURCE: return;
	}
}

static void look(reading *r)
{
	r->ndims = r->s->dims.n;
	r->nrows = r->s->rows.n;
	r->dims = TSR_NEW_N(r->s->arena, uppers, r->ndims + 1);
	r->rows = TSR_NEW_N(r->s->arena, uppers, r->nrows + 1);
	for (uint32_t i = 0; i < r->s->cstrs.n; i++)
		if (!r->s->cstrs.at[i]->done)
			look_at(r, r->s->cstrs.at[i]);
}

/* ---- exactly ------------------------------------------------------------------------------------------------------------------ */

static bool interior_dims(reading *r)
{
	tsr_store *s = r->s;
	bool any = false;
	for (uint32_t v = 0; v < r->ndims; v++) {
		const tsr_dim_var *d = &s->dims.at[v];
		const uppers *u = &r->dims[v];
		if (tsr_forest_find(s->dim_forest, v) != v || d->bound || d->in_leaf || d->defs.n || u->open || u->n > 1 || (u->busy && u->n == 0))
			continue;
		uint32_t up = u->n ? tsr_forest_find(s->dim_forest, u->only) : v;
		if (u->n == 0)
			tsr_bind_dim(s, v, tsr_dim_unit(), NULL);
		else if (up != v && !s->dims.at[up].bound)
			tsr_join_dims(s, v, up, s->cstrs.at[0]);
		else
			continue;
		any = true;
	}
	tsr_solve(s);
	return any;
}

/* The operand's row, with the result's axes in place of those that stretch. */
static tsr_row stretched(tsr_store *s, tsr_row res, tsr_row op)
{
	bool poison = false;
	res = tsr_row_find(s, res, &poison);
	op = tsr_row_copy(s, tsr_row_find(s, op, &poison));
	for (uint32_t i = 0; i < op.nlead && i < res.nlead; i++)
		if (tsr_dim_find(s, op.lead[i]).kind == TSR_DIM_UNIT)
			op.lead[i] = res.lead[i];
	for (uint32_t i = 1; i <= op.ntrail && i <= res.ntrail; i++)
		if (tsr_dim_find(s, op.trail[op.ntrail - i]).kind == TSR_DIM_UNIT)
			op.trail[op.ntrail - i] = res.trail[res.ntrail - i];
	return op;
}

/* The rows of a result and of its operand are the same. */
static void equate(tsr_store *s, tsr_cstr *c)
{
	if (c->kind == TSR_C_ROW_BELOW)
		tsr_derive_row_equal(s, c, c->row.a, stretched(s, c->row.a, c->row.b));
	else
		tsr_derive_dim(s, c, TSR_C_DIM_EQUAL, c->dim.a, c->dim.b, (tsr_place){TSR_NO_ID, TSR_NO_ID});
	c->done = true;
	tsr_solve(s);
}

/* An argument's row would get an axis of a fixed size from another operand. */
static bool lends_axes(const reading *r, const tsr_cstr *c)
{
	tsr_store *s = r->s;
	bool poison = false;
	if (c->kind != TSR_C_ROW_BELOW)
		return false;
	tsr_row a = tsr_row_find(s, c->row.a, &poison), b = tsr_row_find(s, c->row.b, &poison);
	if (!tsr_row_open(b) || !s->rows.at[b.var].in_leaf || s->rows.at[b.var].in_param)
		return false;
	for (uint32_t i = 0; i < a.nlead; i++)
		if (i >= b.nlead && tsr_dim_find(s, a.lead[i]).kind == TSR_DIM_ATOM)
			return true;
	for (uint32_t i = 0; i + b.ntrail < a.ntrail; i++)
		if (tsr_dim_find(s, a.trail[i]).kind == TSR_DIM_ATOM)
			return true;
	return false;
}

/* The only operand is a parameter that has no more axes than its uses ask for: the bias of a convolution. */
static bool closes_with(tsr_store *s, uint32_t v, const tsr_cstr *c)
{
	bool poison = false;
	tsr_row a = tsr_row_find(s, c->row.a, &poison), b = tsr_row_find(s, c->row.b, &poison);
	if (!tsr_row_open(b) || !s->rows.at[b.var].in_param || s->rows.at[b.var].in_data || a.var != v)
		return false;
	const tsr_row_var *p = &s->rows.at[b.var];
	return (s->rows.at[v].from_template && tsr_row_flanks(a)) || (p->input && !p->in_spec);
}

static bool interior_rows(reading *r, uint32_t *failed)
{
	tsr_store *s = r->s;
	bool any = false;
	for (uint32_t v = 0; v < r->nrows && !s->trial->failed; v++) {
		const uppers *u = &r->rows[v];
		if (tsr_forest_find(s->row_forest, v) != v || s->rows.at[v].bound || u->busy || u->n > 1)
			continue;
		if (s->rows.at[v].in_leaf && !(u->n == 0 && s->rows.at[v].in_param && !s->rows.at[v].in_data && s->rows.at[v].from_template))
			continue;
		if (u->n == 0 || closes_with(s, v, s->cstrs.at[u->only])) {
			tsr_bind_row(s, v, tsr_row_empty(), NULL);
			tsr_solve(s);
		} else if (!s->cstrs.at[u->only]->done && !is_kept(r, u->only) && !lends_axes(r, s->cstrs.at[u->only])) {
			*failed = u->only;
			equate(s, s->cstrs.at[u->only]);
		} else {
			continue;
		}
		any = true;
	}
	return any;
}

/* ---- without broadcasting ------------------------------------------------------------------------------------------------------- */

static bool next_equation(reading *r, uint32_t *failed)
{
	tsr_store *s = r->s;
	for (int kind = TSR_C_ROW_BELOW; kind >= TSR_C_DIM_BELOW; kind -= TSR_C_ROW_BELOW - TSR_C_DIM_BELOW)
		for (uint32_t i = 0; i < s->cstrs.n; i++) {
			tsr_cstr *c = s->cstrs.at[i];
			if (c->done || (int)c->kind != kind || is_kept(r, i) || lends_axes(r, c))
				continue;
			*failed = i;
			equate(s, c);
			return true;
		}
	return false;
}

bool tsr_store_principal(tsr_store *s, const tsr_kept *kept, uint32_t *failed)
{
	reading r = {.s = s, .kept = kept};
	tsr_trial silent = {0};
	struct tsr_trial *around = s->trial;
	s->trial = &silent;
	*failed = TSR_NO_ID;
	do {
		do
			look(&r);
		while (!silent.failed && (interior_dims(&r) || interior_rows(&r, failed)));
	} while (!silent.failed && next_equation(&r, failed));
	s->trial = around;
	return !silent.failed;
}
