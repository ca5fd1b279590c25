/* Section 2: rows.  A row is l . marker . r; an open row has a variable at the marker. Substituting l' . <p'> . r' for p
 * in l . <p> . r gives l l' . <p'> . r' r; that is all that tsr_row_find does, and it shortens chains on the way. Axes are shared,
 * never written after a row is bound. */
#include "store.h"
#include <string.h>

static tsr_dim *joined(tsr_store *s, const tsr_dim *a, uint32_t na, const tsr_dim *b, uint32_t nb)
{
	if (na + nb == 0)
		return NULL;
	tsr_dim *out = TSR_NEW_N(s->arena, tsr_dim, na + nb);
	if (na)
		memcpy(out, a, na * sizeof *a);
	if (nb)
		memcpy(out + na, b, nb * sizeof *b);
	return out;
}

tsr_row tsr_row_empty(void) { return (tsr_row){.var = TSR_NO_ROW}; }

tsr_row tsr_row_copy(tsr_store *s, tsr_row r)
{
	r.lead = joined(s, r.lead, r.nlead, NULL, 0);
	r.trail = joined(s, r.trail, r.ntrail, NULL, 0);
	return r;
}

/* The value of a bound variable, with no bound one left in it. */
static tsr_row *value_of(tsr_store *s, uint32_t root, bool *poison)
{
	tsr_row *value = &s->rows.at[root].value;
	if (tsr_row_open(*value) && s->rows.at[tsr_forest_find(s->row_forest, value->var)].bound)
		*value = tsr_row_find(s, *value, poison);
	return value;
}

tsr_row tsr_row_find(tsr_store *s, tsr_row r, bool *poison)
{
	if (!tsr_row_open(r))
		return r;
	uint32_t root = tsr_forest_find(s->row_forest, r.var);
	*poison |= s->rows.at[root].poison;
	r.var = root;
	if (!s->rows.at[root].bound)
		return r;
	const tsr_row *in = value_of(s, root, poison);
	if (in->nlead) {
		r.lead = r.nlead ? joined(s, r.lead, r.nlead, in->lead, in->nlead) : in->lead;
		r.nlead += in->nlead;
	}
	if (in->ntrail) {
		r.trail = r.ntrail ? joined(s, in->trail, in->ntrail, r.trail, r.ntrail) : in->trail;
		r.ntrail += in->ntrail;
	}
	r.var = tsr_row_open(*in) ? tsr_forest_find(s->row_forest, in->var) : TSR_NO_ROW;
	return r;
}

tsr_outline tsr_row_outline(tsr_store *s, const tsr_row *r, bool *poison)
{
	tsr_outline o = {r->nlead, r->ntrail, r->var};
	if (!tsr_row_open(*r))
		return o;
	o.var = tsr_forest_find(s->row_forest, r->var);
	*poison |= s->rows.at[o.var].poison;
	if (!s->rows.at[o.var].bound)
		return o;
	const tsr_row *in = value_of(s, o.var, poison);
	o.nlead += in->nlead;
	o.ntrail += in->ntrail;
	o.var = tsr_row_open(*in) ? tsr_forest_find(s->row_forest, in->var) : TSR_NO_ROW;
	return o;
}

tsr_row tsr_row_slice(tsr_store *s, tsr_row r, uint32_t from, uint32_t to)
{
	uint32_t marker = r.nlead < from ? from : r.nlead > to ? to : r.nlead;
	tsr_row out = {.nlead = marker - from, .ntrail = to - marker, .var = TSR_NO_ROW};
	out.lead = out.nlead ? TSR_NEW_N(s->arena, tsr_dim, out.nlead) : NULL;
	out.trail = out.ntrail ? TSR_NEW_N(s->arena, tsr_dim, out.ntrail) : NULL;
	for (uint32_t i = from; i < to; i++)
		*(i < marker ? &out.lead[i - from] : &out.trail[i - marker]) = tsr_row_axis(r, i);
	return out;
}
