/* Lookups by tensors of positions: which axis is looked up, and rows that follow one another.
 *
 *   LOOKUP   d is the leftmost axis of the batch row, or all of the input row where the batch row has none.  It waits until
 *            one of the two is known.
 *   JOIN     whole = front back.  A row has one variable, so it waits until front or back is closed; then it is an equality. */
#include "store.h"

static void poison_rows(tsr_store *s, tsr_cstr *c, uint32_t n, const tsr_row *rows)
{
	c->done = true;
	for (uint32_t i = 0; i < n; i++)
		tsr_poison_row(s, rows[i]);
}

void tsr_visit_lookup(tsr_store *s, tsr_cstr *c)
{
	bool poison = false;
	tsr_row batch = tsr_row_find(s, c->lookup.batch, &poison), rest = c->lookup.rest_batch;
	tsr_row_find(s, c->lookup.input, &poison);
	if (poison) {
		poison_rows(s, c, 2, (tsr_row[]){c->lookup.rest_batch, c->lookup.rest_input});
		tsr_poison_dim(s, c->lookup.d);
	} else if (tsr_row_flanks(batch)) {
		c->done = true;
		rest.lead = TSR_NEW(s->arena, tsr_dim);
		rest.lead[0] = c->lookup.d;
		rest.nlead = 1;
		c->kind_a = c->kind_b = TSR_BATCH;
		tsr_derive_row_equal(s, c, rest, c->lookup.batch);
		c->kind_a = c->kind_b = TSR_INPUT;
		tsr_derive_row_equal(s, c, c->lookup.rest_input, c->lookup.input);
	} else if (!tsr_row_open(batch) || TSR_PLANTED(17)) {                 /* what is not known to have axes has none */
		c->done = true;
		c->kind_a = c->kind_b = TSR_INPUT;
		tsr_derive_row_equal(s, c, tsr_row_closed(s, 1, &c->lookup.d), c->lookup.input);
		tsr_derive_row_equal(s, c, rest, tsr_row_empty());
		tsr_derive_row_equal(s, c, c->lookup.rest_input, tsr_row_empty());
	} else {
		tsr_watch_row(s, c, batch.var, TSR_SIDE_NONE);
	}
}

/* front back as one row, of which at most one has a variable: the marker stays there; of two closed rows the result grows where
 * front does, unless back has a marker of its own. */
static tsr_row joined(tsr_store *s, tsr_row front, tsr_row back)
{
	uint32_t nf = tsr_row_flanks(front), nb = tsr_row_flanks(back);
	tsr_dim *at = TSR_NEW_N(s->arena, tsr_dim, nf + nb + 1);
	for (uint32_t i = 0; i < nf + nb; i++)
		at[i] = i < nf ? tsr_row_axis(front, i) : tsr_row_axis(back, TSR_PLANTED(18) ? nf + nb - 1 - i : i - nf);   /* backwards */
	bool in_front = tsr_row_open(front) || (!tsr_row_open(back) && !back.nlead);
	tsr_row r = {.nlead = in_front ? front.nlead : nf + back.nlead, .var = tsr_row_open(front) ? front.var : back.var};
	r.ntrail = nf + nb - r.nlead;
	r.lead = at;
	r.trail = at + r.nlead;
	return r;
}

void tsr_visit_join(tsr_store *s, tsr_cstr *c)
{
	bool poison = false;
	tsr_row front = tsr_row_find(s, c->join.front, &poison), back = tsr_row_find(s, c->join.back, &poison);
	tsr_row_find(s, c->join.whole, &poison);
	if (poison) {
		poison_rows(s, c, 3, (tsr_row[]){c->join.whole, c->join.front, c->join.back});
	} else if (tsr_row_open(front) && tsr_row_open(back)) {
		tsr_watch_row(s, c, front.var, TSR_SIDE_NONE);
		tsr_watch_row(s, c, back.var, TSR_SIDE_NONE);
	} else {
		c->done = true;
		tsr_derive_row_equal(s, c, c->join.whole, joined(s, front, back));
	}
}

/* POLICY: what nothing has given a batch axis is looked up along its input; of two rows that follow one another and are both
 * open, the first has no more axes. */
void tsr_gather_resolve(tsr_store *s, tsr_cstr *c)
{
	bool poison = false;
	tsr_row open = tsr_row_find(s, c->kind == TSR_C_LOOKUP ? c->lookup.batch : c->join.front, &poison);
	if (!c->done && tsr_row_open(open))
		tsr_bind_row(s, open.var, tsr_row_empty(), c);
}
