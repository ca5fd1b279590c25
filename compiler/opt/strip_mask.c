/* What a mask hides of a group's positions (masked.c) is the less the more rows a strip has: of 1024 x 1024 a strip of 128 rows computes 0.58, of 16 rows 0.53, and of 128 x 128 all, and
 * 0.69.  12 heads of 256 and 1024 positions by 16 rows rather than 128 were 1.31 and 1.13 times as fast, with gradients 1.29 and 1.08. */
#include "strip.h"
#include "masked.h"

/* A product, none of whose axes is that of positions: nothing of it is hidden, and few rows are less than its tiles want. */
static bool elsewhere(const tsr_strip *g, const tsr_strip_member *m, uint32_t positions)
{
	bool found = false;
	for (uint32_t i = 0; m->contraction && i < m->contraction->nloops && !found; i++)
		found = tsr_strip_loop_tag(g, m->contraction->loops[i].sym) == positions;
	return m->contraction && m->contraction->schedule.mr && !found;
}

void tsr_strip_mask(tsr_strip *g)
{
	uint32_t positions = 0;
	g->mask = NULL;
	for (uint32_t i = 0; i < g->n && !g->mask; i++) {
		tsr_stmt *cut = NULL;
		for (uint32_t k = 0; k < g->member[i].nest.n; k++)
			if (tsr_strip_loop_tag(g, g->member[i].nest.loop[k]->loop.sym) == g->cut)
				cut = g->member[i].nest.loop[k];
		if (!cut)
			continue;
		g->only = g->only ? g->only : tsr_only_stores(g->p->l, g->a);
		tsr_masked m = { .p = g->p, .a = g->a, .only = g->only, .strips = cut, .later = true };
		tsr_masks_find(&m, &g->member[i].kernel->kernel.body);
		if (m.below && m.along.n) {
			tsr_mask *mask = TSR_NEW(g->a, tsr_mask);
			*mask = m.mask;
			g->mask = mask;
			positions = tsr_strip_loop_tag(g, m.along.at[0]);
		}
	}
	for (uint32_t i = 0; i < g->n && g->mask; i++)
		if (!positions || elsewhere(g, &g->member[i], positions))
			g->mask = NULL;
}

double tsr_strip_product(const tsr_strip *g, const tsr_contraction *k)
{
	double steps = (double)tsr_prec_bytes(k->prec) / (g->p->target->vector_bytes * (g->p->target->half_units ? 1 : 2) * TSR_STRIP_GIGAHERTZ);
	for (uint32_t l = 0; l < k->nloops; l++)
		steps *= (double)tsr_strip_loop_guess(g, &k->loops[l]);
	return steps;
}

double tsr_strip_hidden(const tsr_strip *g)
{
	double time = 0;
	if (!g->mask || g->p->options->level < 2)
		return 0;
	for (uint32_t i = 0; i < g->n; i++)
		time += g->member[i].contraction ? tsr_strip_product(g, g->member[i].contraction) : 0;
	tsr_mask strip = *g->mask;           /* of so many rows */
	strip.step *= g->rows, strip.first += g->mask->step * (g->rows - 1);
	strip.extent = strip.extent ? strip.extent : TSR_STRIP_MANY;
	return time * (1 - tsr_masked_share(&strip, (g->extent + g->rows - 1) / g->rows, TSR_MASKED_BEYOND));
}
