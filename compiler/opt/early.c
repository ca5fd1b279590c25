/* Few rows of A by a B that is worth a copy, where processors look ahead by themselves: the tiles of one block copy the next (engine/early.c). */
#include "schedule.h"

enum { LEAST_ROWS = 28, MOST_ROWS = 128, FEW_APART = 64, LEAST_COLUMNS = 512, LEAST_DEPTH = 128, COLUMNS = 32, DEPTH = 512, COLUMNS_FAR = 128, DEPTH_FAR = 256, FAR = 2, LINE = 64 };

bool tsr_early_sizes(const tsr_target *t, int64_t m, int64_t n, int64_t k)
{
	return m >= LEAST_ROWS && m <= MOST_ROWS && n >= LEAST_COLUMNS && k >= LEAST_DEPTH && t->streams && tsr_near_panels(t);
}

/* All rows are one block, which the second cache holds beside two of B; of 196 it is neither faster nor slower.  More than a few rows that are not one stride apart are read as fast through pointers. */
bool tsr_may_be_early(const tsr_problem *p)
{
	bool plain = p->plain_a && !p->must_b && !p->run && !p->across && !p->turn && !p->run_c && !p->pieced && p->a_step == 1 && p->row && p->batch == 1;
	return plain && (!p->must_a || p->m <= FEW_APART) && tsr_early_sizes(p->t, p->m, p->n, p->k);
}

/* The tile, and whether its columns fill lines, so that it can. */
bool tsr_choose_early(const tsr_problem *p, tsr_schedule *s)
{
	tsr_problem near = *p;
	near.streams &= !tsr_may_be_early(p);
	tsr_choose_tile(&near, s);
	bool early = tsr_may_be_early(p) && p->n % s->nr == 0 && s->nr * p->bytes % LINE == 0;
	if (!early && near.streams != p->streams)
		tsr_choose_tile(p, s);
	return early;
}

/* Of narrow blocks the first, which has to be packed before its tiles, is little, and rows of them are still some lines side by side in memory. */
void tsr_early_blocks(const tsr_problem *p, tsr_schedule *s)
{
	bool far = p->n * p->k * p->bytes > FAR * p->t->l3;
	int64_t near = p->t->l2 / 5 * 2 / (p->m * p->bytes), deep = far ? DEPTH_FAR : DEPTH, most = near < deep ? near : deep, parts = (p->k + most - 1) / most;
	s->pack_a = s->pack_b = s->panels = s->early = true;
	s->kc = tsr_round_up((p->k + parts - 1) / parts, p->lanes);
	s->mc = tsr_round_up(p->m, s->mr);
	s->nc = tsr_round_up(far ? COLUMNS_FAR : COLUMNS, s->nr);
}
