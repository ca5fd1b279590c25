/* Scores are computed again before strips are formed (strip.c): a product of what was computed, over few terms, whose result is larger than both, and what follows it in place, as softmax's
 * weights.
 *
 *     scores = q k;  weights;  y = weights v;  ..;  dv = weights dy, ..           as training reads them once more, long after
 *
 * While others read them later the first group has to store all of it, and the second one to read it.  With a copy of the product and its softmax before the late reader each group keeps them to itself, a
 * strip at a time: a transformer of 1024 positions is trained in half the memory, and 1.16 times as fast with what a mask hides left out.  remat.c would compute them again, too, since they take
 * most bytes for a nanosecond, but only once all groups are formed.
 *
 * Requires rows.  All results keep their bits but for sums over strips. */
#include "remat.h"

enum { LARGE = 1 << 22, NARROW = 256, LATE = 8 };        /* bytes; terms of each sum; statements between two that touch it */

static bool computed(const tsr_remat *r, tsr_buffer_id b) { return b != TSR_NONE && !tsr_buffer_kept(r->l->buffers.at[b]); }

/* The first kernel is such a product, and another one writes over it. */
static bool narrow_product(const tsr_remat *r, const tsr_remat_candidate *c)
{
	const tsr_stmt *kernel = r->uses->body->at[c->kernels[0]], *nest = kernel->kernel.body.n == 1 ? kernel->kernel.body.at[0] : NULL;
	const tsr_contraction *k = nest && nest->kind == TSR_STMT_FOR ? nest->loop.contraction : NULL;
	int64_t terms = 1;
	if (c->n < 2 || !k || !k->schedule.mr || k->c != c->x || !k->clear || !computed(r, k->a) || !computed(r, k->b) || c->bytes <= tsr_remat_bytes(r, k->a) + tsr_remat_bytes(r, k->b))
		return false;
	for (uint32_t i = 0; i < k->nloops; i++) {
		if (!tsr_size_is_const(k->loops[i].extent))
			return false;
		terms *= k->loops[i].cls == TSR_CLASS_K ? k->loops[i].extent.k : 1;
	}
	return terms <= NARROW;
}

/* Where X lies unused for longest. */
static bool find(tsr_remat *r, tsr_buffer_id x, tsr_remat_candidate *c)
{
	const tsr_touches *t = &r->of[x];
	uint32_t longest = LATE, at = 0;
	for (uint32_t i = 0; i + 1 < t->v.n; i++)
		if (t->v.at[i + 1].at - t->v.at[i].at > longest)
			longest = t->v.at[i + 1].at - t->v.at[i].at, at = t->v.at[i].at + 1;
	return at && tsr_remat_candidate_of(r, x, (tsr_remat_fullest){ INT64_MAX, at }, c) && !c->nkept && narrow_product(r, c);
}

/* One of the unit's buffers; false: there is none. */
static bool one(tsr_remat *r, uint32_t unit)
{
	tsr_remat_candidate c;
	bool found = false;
	r->step = tsr_arena_new();
	tsr_remat_look(r, unit);
	for (uint32_t x = 0; x < r->l->buffers.n && !found; x++)
		found = r->of[x].v.n && tsr_remat_bytes(r, x) >= LARGE && find(r, x, &c);
	if (found)
		tsr_remat_do(r, &c);
	tsr_arena_free(r->step);
	return found;
}

void tsr_pass_again(tsr_pass *p)
{
	if (p->options->keep || !p->options->fuse)
		return;
	tsr_remat r = tsr_remat_begin(p);
	for (uint32_t u = 0; u < p->l->units.n; u++)
		while (one(&r, u))
			;
	tsr_arena_free(r.a);
}
