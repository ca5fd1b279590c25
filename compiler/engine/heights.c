/* How the rows of a block fall into tiles: whole ones, and what is behind them.
 *
 * Few rows behind whole tiles wait for their own sums.  Where registers are few the last tiles share their rows with them: 128 rows by 6 are 18 tiles of 6 and four of 5, which hide what a
 * sum waits for; 8 rows are two of 4.  Of an A that is packed the panels of these are as high as they are, one behind the other where the last whole ones and the rest would stand. */
#include "private.h"

tsr_tiling tsr_tiling_of(tsr_kit *k, LLVMValueRef from, LLVMValueRef count, int64_t total, uint32_t unit)
{
	tsr_tiling t = { .from = from, .step = tsr_kit_int(k, unit), .total = total, .unit = unit };
	t.full = LLVMBuildMul(k->b, LLVMBuildUDiv(k->b, count, t.step, ""), t.step, "");
	t.rest = LLVMBuildSub(k->b, count, t.full, "");
	return t;
}

/* Cycles of a step of K: multiply-adds, their loads (opt/register_tile.c), and what a sum waits for the one before. */
static double step_of(uint32_t rows, uint32_t vecs)
{
	enum { LATENCY = 4 };
	double adds = rows * vecs / 2.0, loads = 0.65 * (rows + vecs), most = adds > loads ? adds : loads;
	return most > LATENCY ? most : LATENCY;
}

/* Tiles of these heights can share rows, and pay: by as many steps' cycles less than whole ones and the rest take.  Rows that are found by pointers stand in panels of whole tiles, and
 * so do those of which B's tables say where a depth lies (rows.c: fill_kept). */
static bool may_share(const tsr_engine *g)
{
	const tsr_schedule *s = g->s;
	bool few = g->e->target->streams && tsr_target_few_registers(g->e->target), plain = !s->pack_a || (tsr_contract_plain(g->e->loops, g->c, TSR_SIDE_A) && (!s->cols || s->dense));
	return few && plain && !s->rows && !s->dots && !s->turn && !s->join && !g->form.knit && !g->matrix && !g->pairs;
}

/* The last `n` tiles are `low` rows high, or less. */
static void share(tsr_heights *h, uint32_t n, uint32_t mr, uint32_t rest)
{
	h->shared = (n - 1) * mr + rest;
	h->low = (h->shared + n - 1) / n;
}

/* Tiles of a row less than whole ones, where there are enough; else the last one and the rest. */
static void choose(tsr_heights *h, uint32_t mr, uint32_t vecs)
{
	uint32_t rest = h->t.total > (int64_t)mr ? (uint32_t)(h->t.total % mr) : 0, n = mr - rest, all = mr + rest;
	double whole = step_of(mr, vecs), alone = step_of(rest, vecs);
	if (!rest)
		return;
	if (h->t.total >= (int64_t)n * (mr - 1) && n > 1 && n * step_of(mr - 1, vecs) < (n - 1) * whole + alone)
		share(h, n, mr, rest);
	else if (step_of((all + 1) / 2, vecs) + step_of(all / 2, vecs) < whole + alone)
		share(h, 2, mr, rest);
}

tsr_heights tsr_heights_of(tsr_engine *g, LLVMValueRef rows, uint32_t vecs)
{
	tsr_kit *k = &g->k;
	tsr_heights h = { .t = tsr_tiling_of(k, tsr_kit_int(k, 0), rows, tsr_kit_known(g->cls[TSR_CLASS_M].count), g->s->mr) };
	h.whole = h.t.full;
	if (may_share(g))
		choose(&h, g->s->mr, g->s->pack_a ? g->s->nr / k->lanes : vecs);         /* panels are the same for all columns */
	if (!h.shared)
		return h;
	h.always = !g->split && !g->from[TSR_CLASS_M] && !g->until[TSR_CLASS_M] && !g->end && h.t.total <= g->s->mc;         /* elsewhere a block can be less than that */
	LLVMValueRef above = LLVMBuildNSWSub(k->b, rows, tsr_kit_int(k, h.shared), ""), zero = tsr_kit_int(k, 0);
	h.both = LLVMBuildAnd(k->b, LLVMBuildICmp(k->b, LLVMIntSGT, h.t.rest, zero, ""), LLVMBuildICmp(k->b, LLVMIntSGE, above, zero, ""), "");
	h.whole = LLVMBuildSelect(k->b, h.both, above, h.t.full, "");
	return h;
}

LLVMValueRef tsr_tile_number(tsr_kit *k, LLVMValueRef ir, uint32_t mr)
{
	return LLVMBuildUDiv(k->b, tsr_kit_add(k, ir, tsr_kit_int(k, mr - 1)), tsr_kit_int(k, mr), "");
}
