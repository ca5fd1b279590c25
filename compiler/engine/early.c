/* Few rows of A: to pack a block of B takes a sixth of the time in which its tiles multiply, but these leave most of what a core can load and store unused.  So
 * there are two buffers, and while tiles read one block's panels from the first, each of them packs a part of the next block into the second, a row of a panel in
 * a round.  Blocks are narrow; those of the same depths follow each other, so that A's rows stay near, and only the first of all is packed before its tiles.
 *
 * B's rows may be pages apart, where no core looks ahead by itself: lines are asked for SOON rows ahead, and beside a block's last rows the first ones of the block behind it, since
 * what is not asked for there, a sixteenth of all lines, costs as much as all else that memory does (32 rows by 4096 x 4096: 4 % with one thread, with two up to 8). */
#include "private.h"
#include "inner.h"

enum { SOON = 16 };

int64_t tsr_early_bytes(const tsr_engine *g, int64_t bytes) { return g->s->early ? 2 * bytes : bytes; }

/* Tiles store to panel after panel, and a core that sees three equal distances fetches panels behind the last one. */
int64_t tsr_early_behind(const tsr_engine *g, int64_t panel)
{
	return g->s->early && g->s->nc > 3 * g->s->nr ? g->e->target->strides_ahead * panel : 0;
}

/* The panels of this block, one of the columns from .. to, which are packed where it is the first of its rows; and the next block, with the way from there to the one behind it:
 * beside it, or in the first columns of the rows below, or nowhere. */
static void next_block(tsr_engine *g, tsr_block *bl, LLVMValueRef from, LLVMValueRef to, LLVMValueRef nc)
{
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	int64_t cols = tsr_kit_known(g->cls[TSR_CLASS_N].count), deep = tsr_kit_known(g->cls[TSR_CLASS_K].count);
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), kc = tsr_kit_int(k, s->kc), nr = tsr_kit_int(k, s->nr), depth = g->cls[TSR_CLASS_K].count;
	LLVMValueRef blocks = LLVMBuildUDiv(k->b, tsr_kit_add(k, LLVMBuildNSWSub(k->b, to, from, ""), LLVMBuildNSWSub(k->b, nc, one, "")), nc, "");
	LLVMValueRef before = tsr_kit_add(k, tsr_kit_mul(k, LLVMBuildUDiv(k->b, bl->kfirst, kc, ""), blocks), LLVMBuildUDiv(k->b, LLVMBuildNSWSub(k->b, bl->n, from, ""), nc, ""));
	LLVMValueRef odd = LLVMBuildTrunc(k->b, before, k->i1, ""), size = tsr_kit_int(k, ((cols < s->nc ? cols : s->nc) + s->nr - 1) / s->nr * s->nr * (deep < s->kc ? deep : s->kc));
	LLVMValueRef second = tsr_kit_at(k, g->packed_b, size);
	bl->b = LLVMBuildSelect(k->b, odd, second, g->packed_b, "");
	bl->to = LLVMBuildSelect(k->b, odd, g->packed_b, second, "");
	tsr_guard first = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntEQ, before, zero, ""));
	tsr_engine_pack(g, TSR_SIDE_B, bl);
	tsr_guard_end(k, first);
	LLVMValueRef beside = tsr_kit_add(k, bl->n, bl->cols), more = LLVMBuildICmp(k->b, LLVMIntSLT, beside, to, "");
	LLVMValueRef next_n = LLVMBuildSelect(k->b, more, beside, from, ""), next_k = LLVMBuildSelect(k->b, more, bl->kfirst, tsr_kit_add(k, bl->kfirst, bl->depth), "");
	LLVMValueRef rows = tsr_kit_min(k, kc, LLVMBuildNSWSub(k->b, depth, next_k, ""));
	bl->width = tsr_kit_min(k, nc, LLVMBuildNSWSub(k->b, to, next_n, ""));
	bl->panel = tsr_kit_mul(k, rows, nr);
	bl->lines = tsr_kit_mul(k, rows, LLVMBuildSDiv(k->b, bl->width, nr, ""));
	LLVMValueRef row = g->cls[TSR_CLASS_K].at[0].stride[TSR_SIDE_B], at = tsr_kit_add(k, tsr_kit_mul(k, next_k, row), next_n);
	bl->next = LLVMBuildGEP2(k->b, k->elem, g->base[TSR_SIDE_B], &at, 1, "");
	LLVMValueRef wider = LLVMBuildICmp(k->b, LLVMIntSLT, tsr_kit_add(k, next_n, bl->width), to, ""), deeper = LLVMBuildICmp(k->b, LLVMIntSLT, tsr_kit_add(k, next_k, rows), depth, "");
	LLVMValueRef below = LLVMBuildSelect(k->b, deeper, LLVMBuildNSWSub(k->b, from, next_n, ""), zero, "");
	bl->after = LLVMBuildSelect(k->b, wider, LLVMBuildNSWSub(k->b, bl->width, tsr_kit_mul(k, rows, row), ""), below, "");
}

void tsr_early_emit(tsr_engine *g, tsr_block *bl, LLVMValueRef from_m, LLVMValueRef to_m, LLVMValueRef from_n, LLVMValueRef to_n, LLVMValueRef nc)
{
	tsr_kit *k = &g->k;
	LLVMValueRef mc = tsr_kit_int(k, g->s->mc);
	tsr_count ic = tsr_count_begin(k, from_m, to_m, mc);
	bl->m = ic.i;
	bl->rows = tsr_kit_min(k, mc, LLVMBuildNSWSub(k->b, to_m, ic.i, ""));
	tsr_count pc = tsr_count_begin(k, tsr_kit_int(k, 0), g->cls[TSR_CLASS_K].count, tsr_kit_int(k, g->s->kc));
	tsr_engine_depths(g, bl, pc.i);
	if (g->s->pack_a)
		tsr_engine_pack(g, TSR_SIDE_A, bl);
	tsr_count jc = tsr_count_begin(k, from_n, to_n, nc);
	bl->n = jc.i;
	bl->cols = tsr_kit_min(k, nc, LLVMBuildNSWSub(k->b, to_n, jc.i, ""));
	next_block(g, bl, from_n, to_n, nc);
	tsr_engine_tiles(g, bl);
	tsr_count_end(k, &jc);
	tsr_count_end(k, &pc);
	tsr_count_end(k, &ic);
}

/* Few tiles share a block's rows, so that each packs nearly as many as it has rounds. */
static bool is_crowded(const tsr_engine *g)
{
	int64_t rows = tsr_kit_known(g->cls[TSR_CLASS_M].count), high = (rows + g->s->mr - 1) / g->s->mr;
	return high > 0 && g->s->kc / high > g->s->kc / TSR_ROUND - g->s->mr;
}

/* An equal part, in the order in which the next block lies in memory.  Panels tell B's step themselves, and its place says how far on lies what is asked for. */
void tsr_early_tile(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef jr, tsr_tile *tile, LLVMValueRef *arg)
{
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	LLVMValueRef zero = tsr_kit_int(k, 0), mr = tsr_kit_int(k, s->mr), nr = tsr_kit_int(k, s->nr), row = g->cls[TSR_CLASS_K].at[0].stride[TSR_SIDE_B];
	LLVMValueRef high = LLVMBuildUDiv(k->b, tsr_kit_add(k, bl->rows, tsr_kit_int(k, s->mr - 1)), mr, ""), tiles = tsr_kit_mul(k, high, LLVMBuildUDiv(k->b, bl->cols, nr, ""));
	LLVMValueRef each = LLVMBuildSDiv(k->b, tsr_kit_add(k, bl->lines, LLVMBuildNSWSub(k->b, tiles, tsr_kit_int(k, 1), "")), tiles, "");
	LLVMValueRef number = tsr_kit_add(k, tsr_kit_mul(k, LLVMBuildUDiv(k->b, jr, nr, ""), high), LLVMBuildUDiv(k->b, ir, mr, ""));
	LLVMValueRef first = tsr_kit_min(k, tsr_kit_mul(k, number, each), bl->lines), panels = LLVMBuildSDiv(k->b, bl->width, nr, "");
	LLVMValueRef some = LLVMBuildICmp(k->b, LLVMIntSGT, bl->lines, zero, ""), per = tsr_kit_some(k, panels);
	LLVMValueRef down = LLVMBuildSDiv(k->b, first, per, ""), across = LLVMBuildSRem(k->b, first, per, ""), beside = tsr_kit_mul(k, across, nr);
	LLVMValueRef from = tsr_kit_add(k, tsr_kit_mul(k, down, row), beside), to = tsr_kit_add(k, tsr_kit_mul(k, across, bl->panel), tsr_kit_mul(k, down, nr));
	tile->copied = tsr_kit_known(row);
	tile->crowded = is_crowded(g);
	arg[TSR_TILE_NEXT] = LLVMBuildGEP2(k->b, k->elem, bl->next, &from, 1, "");
	arg[TSR_TILE_NEXT_LEFT] = LLVMBuildNSWSub(k->b, bl->width, beside, "");
	arg[TSR_TILE_A_AHEAD] = LLVMBuildGEP2(k->b, k->elem, bl->to, &to, 1, "");
	arg[TSR_TILE_A_STEP] = LLVMBuildSelect(k->b, some, tsr_kit_min(k, each, LLVMBuildNSWSub(k->b, bl->lines, first, "")), zero, "");
	arg[TSR_TILE_B_AHEAD] = bl->width;
	arg[TSR_TILE_B_SHIFT] = bl->panel;
	LLVMValueRef soon = tsr_kit_int(k, SOON), last = LLVMBuildICmp(k->b, LLVMIntSGE, tsr_kit_mul(k, tsr_kit_add(k, down, soon), nr), bl->panel, "");
	arg[TSR_TILE_B_K] = tsr_kit_add(k, tsr_kit_mul(k, row, soon), LLVMBuildSelect(k->b, last, bl->after, zero, ""));
}

/* ---- inside a tile ------------------------------------------------------------------------------------------------------ */

tsr_copying tsr_copying_of(tsr_kit *k, const tsr_tile *t, LLVMValueRef f)
{
	int64_t nr = t->vecs * k->lanes;
	tsr_copying c = { .width = LLVMGetParam(f, TSR_TILE_B_AHEAD), .panel = LLVMGetParam(f, TSR_TILE_B_SHIFT), .soon = LLVMGetParam(f, TSR_TILE_B_K),
					  .row = t->copied, .vecs = t->vecs, .crowded = t->crowded };
	LLVMValueRef others = LLVMBuildNSWSub(k->b, LLVMBuildSDiv(k->b, c.width, tsr_kit_int(k, nr), ""), tsr_kit_int(k, 1), "");
	c.down_from = LLVMBuildNSWSub(k->b, tsr_kit_int(k, t->copied + nr), c.width, "");
	c.down_to = LLVMBuildNSWSub(k->b, tsr_kit_int(k, nr), tsr_kit_mul(k, others, c.panel), "");
	return c;
}

void tsr_copy_row(tsr_kit *k, const tsr_copying *c, LLVMValueRef *from, LLVMValueRef *to, LLVMValueRef *left)
{
	LLVMValueRef zero = tsr_kit_int(k, 0), nr = tsr_kit_int(k, c->vecs * k->lanes);
	for (int64_t line = 0; line < (int64_t)c->vecs * k->lanes; line += TSR_LINE / k->elem_bytes) {
		LLVMValueRef soon = tsr_kit_add(k, c->soon, tsr_kit_int(k, line));
		tsr_kit_fetch(k, LLVMBuildGEP2(k->b, k->elem, *from, &soon, 1, ""), false);
	}
	for (uint32_t v = 0; v < c->vecs; v++) {
		LLVMValueRef lane = tsr_kit_int(k, v * k->lanes);
		tsr_kit_store(k, tsr_kit_load(k, k->vec, tsr_kit_at(k, *from, lane), NULL), tsr_kit_at(k, *to, lane), NULL);
	}
	LLVMValueRef less = LLVMBuildNSWSub(k->b, *left, nr, ""), down = LLVMBuildICmp(k->b, LLVMIntSLE, less, zero, "");
	LLVMValueRef from_step = LLVMBuildSelect(k->b, down, c->down_from, nr, ""), to_step = LLVMBuildSelect(k->b, down, c->down_to, c->panel, "");
	*from = LLVMBuildGEP2(k->b, k->elem, *from, &from_step, 1, "");
	*to = LLVMBuildGEP2(k->b, k->elem, *to, &to_step, 1, "");
	*left = LLVMBuildSelect(k->b, down, c->width, less, "");
}
