/* Constraints with all their terms replaced: copies into another place (region.c), and into another store (quantify.c). */
#include "region.h"

bool tsr_cstr_waits_on_rows(const tsr_cstr *c)
{
	return c->kind == TSR_C_ROW_EQUAL || c->kind == TSR_C_ROW_BELOW || c->kind == TSR_C_LOOKUP || c->kind == TSR_C_JOIN;
}

static tsr_row *rows_of(tsr_arena *a, uint32_t n, const tsr_row *at, const tsr_replacing *r)
{
	tsr_row *out = TSR_NEW_N(a, tsr_row, n + 1);
	for (uint32_t i = 0; i < n; i++)
		out[i] = r->row(r->data, at[i]);
	return out;
}

void tsr_cstr_replace(tsr_arena *a, tsr_cstr *c, const tsr_replacing *r)
{
	tsr_affine *term;
	tsr_dim *at;
	switch (c->kind) {
	case TSR_C_DIM_EQUAL: case TSR_C_DIM_BELOW:
		c->dim.a = r->dim(r->data, c->dim.a);
		c->dim.b = r->dim(r->data, c->dim.b);
		return;
	case TSR_C_ROW_EQUAL: case TSR_C_ROW_BELOW:
		c->row.a = r->row(r->data, c->row.a);
		c->row.b = r->row(r->data, c->row.b);
		if (c->kind == TSR_C_ROW_EQUAL)
			c->row.rest = rows_of(a, 2, c->row.rest, r);
		return;
	case TSR_C_AT_LEAST: c->at_least.d = r->dim(r->data, c->at_least.d); return;
	case TSR_C_TOTAL:
		c->total.rows = rows_of(a, c->total.n, c->total.rows, r);
		if (c->total.has_dim)
			c->total.d = r->dim(r->data, c->total.d);
		return;
	case TSR_C_AFFINE:
		term = TSR_NEW(a, tsr_affine);
		*term = *c->affine.term;
		term->over = r->dim(r->data, term->over);
		if (term->has_kernel)
			term->kernel = r->dim(r->data, term->kernel);
		c->affine.d = r->dim(r->data, c->affine.d);
		c->affine.term = term;
		return;
	case TSR_C_CONCAT:
		c->concat.d = r->dim(r->data, c->concat.d);
		at = TSR_NEW_N(a, tsr_dim, c->concat.n + 1);
		for (uint32_t i = 0; i < c->concat.n; i++)
			at[i] = r->dim(r->data, c->concat.at[i]);
		c->concat.at = at;
		return;
	case TSR_C_LOOKUP:
		c->lookup.batch = r->row(r->data, c->lookup.batch);
		c->lookup.input = r->row(r->data, c->lookup.input);
		c->lookup.rest_batch = r->row(r->data, c->lookup.rest_batch);
		c->lookup.rest_input = r->row(r->data, c->lookup.rest_input);
		c->lookup.d = r->dim(r->data, c->lookup.d);
		return;
	case TSR_C_JOIN:
		c->join.whole = r->row(r->data, c->join.whole);
		c->join.front = r->row(r->data, c->join.front);
		c->join.back = r->row(r->data, c->join.back);
		return;
	case TSR_C_SOURCE: return;
	}
}
