/* Rows whose number only the run knows are few more often than not: one example that is asked about, a handful that came together.  A schedule for any number
 * packs all of B for them, which takes 2 to 7 times as long as what follows.  So a contraction whose rows are one such loop has two: this one, for no more than
 * so many rows, is chosen as if they were that many, and each height that a last tile can have has a tile of its own (engine/place.c). */
#include "schedule.h"

/* Of dot products, which would turn B else (1.2 to 1.35 times as fast at 24 and 32 rows of 256 to 2048 depths, level at 64), and of what reads B in place. */
enum { MOST_DOTS = 32, MOST = 16, TILE = 4 };

/* All rows are one loop of run-time extent, and all else is known. */
static bool rows_alone(const tsr_contract_view *v)
{
	const tsr_walks *m = &v->cls[TSR_CLASS_M];
	return m->nloops == 1 && tsr_walks_count(m) < 0 && tsr_walks_count(&v->cls[TSR_CLASS_N]) > 0 && tsr_walks_count(&v->cls[TSR_CLASS_K]) > 0
		&& tsr_walks_count(&v->cls[TSR_CLASS_BATCH]) > 0;
}

static bool schedule_for(const tsr_loops *l, const tsr_contraction *c, const tsr_target *t, int64_t most, tsr_contraction *out)
{
	*out = *c;
	out->loops = TSR_NEW_N(l->tc->arena, tsr_contract_loop, c->nloops + 1);
	for (uint32_t i = 0; i < c->nloops; i++)
		out->loops[i] = c->loops[i];
	out->most_rows = most;
	return tsr_contract_schedule(l, out, t);
}

bool tsr_contract_few(const tsr_loops *l, const tsr_contraction *c, const tsr_target *t, tsr_contraction *out)
{
	tsr_contract_view v;
	tsr_contract_view_make(l, c, &v);
	tsr_schedule *s = &out->schedule;
	if (!c->schedule.mr || c->turned || c->schedule.named || !rows_alone(&v))
		return false;
	bool dots = schedule_for(l, c, t, MOST_DOTS, out) && s->dots;
	if (!dots && (!schedule_for(l, c, t, TILE, out) || s->pack_b))
		return false;
	if (!dots)
		out->most_rows = MOST, s->mc = tsr_round_up(MOST, s->mr);
	if (s->early || s->turn || s->join || s->knit || out->turned)
		return false;
	/* what follows may count on sums of one block (tail.c, passing.c) */
	if (tsr_contract_one_block(c) && !tsr_contract_one_block(out))
		s->kc = tsr_walks_count(&v.cls[TSR_CLASS_K]);
	s->split = c->schedule.few;
	return true;
}
