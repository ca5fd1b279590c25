/* Few rows of A: to pack a block of B takes a sixth of the time in which its tiles multiply, but these leave most of what a core can load and store unused.  So
 * there are two buffers, and while tiles read one block's panels from the first, each of them packs a part of the next block into the second, a row of a panel in
 * a round.  Blocks are narrow; those of the same depths follow each other, so that A's rows stay near, and only the first of all is packed before its tiles.
 *
 * B's rows may be pages apart, where no core looks ahead by itself: lines are asked for SOON rows ahead, and beside a block's last rows the first ones of the block behind it, since
 * what is not asked for there, a sixteenth of all lines, costs as much as all else that memory does (32 rows by 4096 x 4096: 4 % with one thread, with two up to 8). */
#include "private.h"
#include "inner.h"
#include "../emit/queue.h"

enum { SOON = 16, IN_TURN = 4, SOON_IN_TURN = 4 };

bool tsr_early_in_turns(const tsr_engine *g) { return g->split && g->s->early && g->s->dynamic; }

int64_t tsr_early_bytes(const tsr_engine *g, int64_t bytes) { return g->s->early ? 2 * bytes : bytes; }

/* Tiles store to panel after panel, and a core that sees three equal distances fetches panels behind the last one. */
int64_t tsr_early_behind(const tsr_engine *g, int64_t panel)
{
	return g->s->early && g->s->nc > 3 * g->s->nr ? g->e->target->strides_ahead * panel : 0;
}

/* Where a block of B begins. */
typedef struct place { LLVMValueRef n, k; } place;

/* The panels of this block of B, which are packed now where the thread has had no block before; and the next one, of the columns up to `to`, with the way from there to the one
 * behind it (`after`). */
static void next_block(tsr_engine *g, tsr_block *bl, LLVMValueRef before, place next, place after, LLVMValueRef to, LLVMValueRef nc)
{
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	int64_t cols = tsr_kit_known(g->cls[TSR_CLASS_N].count), deep = tsr_kit_known(g->cls[TSR_CLASS_K].count);
	LLVMValueRef nr = tsr_kit_int(k, s->nr), odd = LLVMBuildTrunc(k->b, before, k->i1, "");
	LLVMValueRef size = tsr_kit_int(k, ((cols < s->nc ? cols : s->nc) + s->nr - 1) / s->nr * s->nr * (deep < s->kc ? deep : s->kc));
	LLVMValueRef second = tsr_kit_at(k, g->packed_b, size);
	bl->b = LLVMBuildSelect(k->b, odd, second, g->packed_b, "");
	bl->to = LLVMBuildSelect(k->b, odd, g->packed_b, second, "");
	tsr_guard first = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntEQ, before, tsr_kit_int(k, 0), ""));
	tsr_engine_pack(g, TSR_SIDE_B, bl);
	tsr_guard_end(k, first);
	LLVMValueRef rows = tsr_kit_min(k, tsr_kit_int(k, s->kc), LLVMBuildNSWSub(k->b, g->depth, next.k, ""));
	bl->width = tsr_kit_min(k, nc, LLVMBuildNSWSub(k->b, to, next.n, ""));
	bl->panel = tsr_kit_mul(k, rows, nr);
	bl->lines = tsr_kit_mul(k, rows, LLVMBuildSDiv(k->b, bl->width, nr, ""));
	LLVMValueRef row = g->cls[TSR_CLASS_K].at[0].stride[TSR_SIDE_B], at = tsr_kit_add(k, tsr_kit_mul(k, next.k, row), next.n);
	bl->next = LLVMBuildGEP2(k->b, k->elem, g->base[TSR_SIDE_B], &at, 1, "");
	LLVMValueRef down = LLVMBuildNSWSub(k->b, after.k, tsr_kit_add(k, next.k, rows), "");
	bl->after = tsr_kit_add(k, LLVMBuildNSWSub(k->b, after.n, next.n, ""), tsr_kit_mul(k, down, row));
}

/* Beside this one, or in the first columns of the rows below. */
static place behind(tsr_engine *g, place at, LLVMValueRef from, LLVMValueRef to, LLVMValueRef nc)
{
	tsr_kit *k = &g->k;
	LLVMValueRef beside = tsr_kit_add(k, at.n, nc), more = LLVMBuildICmp(k->b, LLVMIntSLT, beside, to, "");
	LLVMValueRef below = tsr_kit_min(k, tsr_kit_add(k, at.k, tsr_kit_int(k, g->s->kc)), g->depth);
	return (place){ LLVMBuildSelect(k->b, more, beside, from, ""), LLVMBuildSelect(k->b, more, at.k, below, "") };
}

/* Blocks of so many columns that lie side by side. */
static LLVMValueRef blocks_of(tsr_kit *k, LLVMValueRef columns, LLVMValueRef nc)
{
	return LLVMBuildUDiv(k->b, tsr_kit_add(k, columns, LLVMBuildNSWSub(k->b, nc, tsr_kit_int(k, 1), "")), nc, "");
}

/* Of the block of this number, of those in these columns. */
static place place_of(tsr_engine *g, LLVMValueRef number, tsr_share cols, LLVMValueRef blocks, LLVMValueRef nc)
{
	tsr_kit *k = &g->k;
	LLVMValueRef deep = tsr_kit_mul(k, LLVMBuildUDiv(k->b, number, blocks, ""), tsr_kit_int(k, g->s->kc));
	LLVMValueRef beside = tsr_kit_mul(k, LLVMBuildURem(k->b, number, blocks, ""), nc);
	return (place){ tsr_kit_add(k, cols.from, beside), tsr_kit_min(k, deep, g->depth) };
}

/* What a thread keeps from block to block, in variables: how many it has computed of one share, and one more than the first depth of A's rows that it has packed. */
typedef struct kept { LLVMValueRef done, depth; } kept;

static LLVMValueRef load(tsr_kit *k, LLVMValueRef variable) { return LLVMBuildLoad2(k->b, k->i64, variable, ""); }

/* The blocks that this thread takes of one thread's columns. */
static void take_blocks(tsr_engine *g, tsr_block *bl, const tsr_queue *q, const kept *own, tsr_share cols, LLVMValueRef nc)
{
	tsr_kit *k = &g->k;
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), blocks = blocks_of(k, LLVMBuildNSWSub(k->b, cols.to, cols.from, ""), nc), some = tsr_kit_some(k, blocks);
	LLVMValueRef deep = blocks_of(k, g->depth, tsr_kit_int(k, g->s->kc));
	tsr_taking t = tsr_taking_ahead_begin(g->e, q, tsr_kit_mul(k, blocks, deep));
	place here = place_of(g, t.mine, cols, some, nc), next = place_of(g, t.next, cols, some, nc);
	tsr_engine_depths(g, bl, here.k);
	bl->n = here.n;
	bl->cols = tsr_kit_min(k, nc, LLVMBuildNSWSub(k->b, cols.to, here.n, ""));
	LLVMValueRef depth = tsr_kit_add(k, here.k, one), before = load(k, own->done);
	tsr_guard other = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntNE, load(k, own->depth), depth, ""));
	if (g->s->pack_a)
		tsr_engine_pack(g, TSR_SIDE_A, bl);
	LLVMBuildStore(k->b, depth, own->depth);
	tsr_guard_end(k, other);
	next_block(g, bl, before, next, behind(g, next, cols.from, cols.to, nc), cols.to, nc);
	LLVMBuildStore(k->b, tsr_kit_add(k, before, one), own->done);
	tsr_guard adds = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSGT, here.k, zero, ""));
	LLVMValueRef args[5] = { g->e->ctx, q->number, q->lane, g->e->team->threads, LLVMBuildNSWSub(k->b, t.mine, blocks, "") };
	tsr_emit_call(g->e, "tsr_behind", g->e->none, 5, args);
	tsr_guard_end(k, adds);
	tsr_engine_tiles(g, bl);
	tsr_taking_ahead_end(g->e, &t);
}

/* Each thread computes blocks of its own columns, and then of those of threads that are not ready.  It knows which block it has next while it multiplies, and packs A's rows where it
 * comes to other depths. */
static void emit_turns(tsr_engine *g, tsr_block *bl, LLVMValueRef columns, LLVMValueRef nc)
{
	enum { HELPED = 8 };         /* threads, itself among them */
	tsr_kit *k = &g->k;
	LLVMValueRef zero = tsr_kit_int(k, 0), threads = g->e->team->threads;
	kept own = { tsr_emit_alloca(g->e, k->i64, "done"), tsr_emit_alloca(g->e, k->i64, "depth") };
	tsr_queue q;
	tsr_queue_open(g->e, &q);
	LLVMBuildStore(k->b, zero, own.depth);
	tsr_count helped = tsr_count_begin(k, zero, tsr_kit_min(k, threads, tsr_kit_int(k, HELPED)), tsr_kit_int(k, 1));
	LLVMValueRef whose = LLVMBuildURem(k->b, tsr_kit_add(k, g->e->team->thread, helped.i), threads, "");
	LLVMBuildStore(k->b, zero, own.done);
	tsr_queue_enter(g->e, &q, whose);
	take_blocks(g, bl, &q, &own, tsr_share_at(g, whose, columns, g->s->nr), nc);
	tsr_count_end(k, &helped);
}

void tsr_early_emit(tsr_engine *g, tsr_block *bl, LLVMValueRef from_m, LLVMValueRef to_m, LLVMValueRef from_n, LLVMValueRef to_n, LLVMValueRef nc)
{
	tsr_kit *k = &g->k;
	LLVMValueRef mc = tsr_kit_int(k, g->s->mc), kc = tsr_kit_int(k, g->s->kc);
	tsr_count ic = tsr_count_begin(k, from_m, to_m, mc);
	bl->m = ic.i;
	bl->rows = tsr_kit_min(k, mc, LLVMBuildNSWSub(k->b, to_m, ic.i, ""));
	if (tsr_early_in_turns(g)) {
		emit_turns(g, bl, to_n, nc);
		tsr_count_end(k, &ic);
		return;
	}
	tsr_count pc = tsr_count_begin(k, tsr_kit_int(k, 0), g->depth, kc);
	tsr_engine_depths(g, bl, pc.i);
	if (g->s->pack_a)
		tsr_engine_pack(g, TSR_SIDE_A, bl);
	tsr_count jc = tsr_count_begin(k, from_n, to_n, nc);
	bl->n = jc.i;
	bl->cols = tsr_kit_min(k, nc, LLVMBuildNSWSub(k->b, to_n, jc.i, ""));
	LLVMValueRef blocks = blocks_of(k, LLVMBuildNSWSub(k->b, to_n, from_n, ""), nc), row = LLVMBuildUDiv(k->b, bl->kfirst, kc, "");
	LLVMValueRef before = tsr_kit_add(k, tsr_kit_mul(k, row, blocks), LLVMBuildUDiv(k->b, LLVMBuildNSWSub(k->b, bl->n, from_n, ""), nc, ""));
	place next = behind(g, (place){ bl->n, bl->kfirst }, from_n, to_n, nc);
	next_block(g, bl, before, next, behind(g, next, from_n, to_n, nc), to_n, nc);
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

/* Where a processor looks ahead along few rows by itself, and rows are pages apart, it takes some side by side for lines to come at memory's pace (32 rows by 4096 x 4096: 3 to 4 %). */
static uint32_t rows_in_turn(const tsr_engine *g)
{
	int64_t depth = tsr_kit_known(g->cls[TSR_CLASS_K].count);
	bool whole = depth > 0 && depth % IN_TURN == 0 && g->s->kc % IN_TURN == 0;
	return tsr_target_few_registers(g->e->target) && whole ? IN_TURN : 1;
}

/* An equal part, in the order in which the next block is copied.  Panels tell B's step themselves, and its place says how far on lies what is asked for. */
void tsr_early_tile(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef jr, tsr_tile *tile, LLVMValueRef *arg)
{
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	uint32_t beside = rows_in_turn(g);
	LLVMValueRef zero = tsr_kit_int(k, 0), nr = tsr_kit_int(k, s->nr), row = g->cls[TSR_CLASS_K].at[0].stride[TSR_SIDE_B], in_turn = tsr_kit_int(k, beside);
	LLVMValueRef high = tsr_tile_number(k, bl->rows, s->mr), tiles = tsr_kit_mul(k, high, LLVMBuildUDiv(k->b, bl->cols, nr, ""));
	LLVMValueRef each = LLVMBuildSDiv(k->b, tsr_kit_add(k, bl->lines, LLVMBuildNSWSub(k->b, tiles, tsr_kit_int(k, 1), "")), tiles, "");
	LLVMValueRef number = tsr_kit_add(k, tsr_kit_mul(k, LLVMBuildUDiv(k->b, jr, nr, ""), high), tsr_tile_number(k, ir, s->mr));
	LLVMValueRef first = tsr_kit_min(k, tsr_kit_mul(k, number, each), bl->lines), panels = LLVMBuildSDiv(k->b, bl->width, nr, "");
	LLVMValueRef some = LLVMBuildICmp(k->b, LLVMIntSGT, bl->lines, zero, ""), per = tsr_kit_mul(k, tsr_kit_some(k, panels), in_turn), within = LLVMBuildSRem(k->b, first, per, "");
	LLVMValueRef across = LLVMBuildUDiv(k->b, within, in_turn, ""), turn = LLVMBuildURem(k->b, within, in_turn, "");
	LLVMValueRef down = tsr_kit_add(k, tsr_kit_mul(k, LLVMBuildSDiv(k->b, first, per, ""), in_turn), turn);
	LLVMValueRef from = tsr_kit_add(k, tsr_kit_mul(k, down, row), tsr_kit_mul(k, across, nr)), to = tsr_kit_add(k, tsr_kit_mul(k, across, bl->panel), tsr_kit_mul(k, down, nr));
	tile->copied = tsr_kit_known(row);
	tile->beside = beside;
	tile->crowded = is_crowded(g);
	arg[TSR_TILE_NEXT] = LLVMBuildGEP2(k->b, k->elem, bl->next, &from, 1, "");
	arg[TSR_TILE_NEXT_LEFT] = LLVMBuildNSWSub(k->b, per, within, "");
	arg[TSR_TILE_A_AHEAD] = LLVMBuildGEP2(k->b, k->elem, bl->to, &to, 1, "");
	arg[TSR_TILE_A_STEP] = LLVMBuildSelect(k->b, some, tsr_kit_min(k, each, LLVMBuildNSWSub(k->b, bl->lines, first, "")), zero, "");
	arg[TSR_TILE_B_AHEAD] = bl->width;
	arg[TSR_TILE_B_SHIFT] = bl->panel;
	LLVMValueRef soon = tsr_kit_int(k, beside > 1 ? SOON_IN_TURN : SOON), last = LLVMBuildICmp(k->b, LLVMIntSGE, tsr_kit_mul(k, tsr_kit_add(k, down, soon), nr), bl->panel, "");
	arg[TSR_TILE_B_K] = tsr_kit_add(k, tsr_kit_mul(k, row, soon), LLVMBuildSelect(k->b, last, bl->after, zero, ""));
}

/* ---- inside a tile ------------------------------------------------------------------------------------------------------ */

tsr_copying tsr_copying_of(tsr_kit *k, const tsr_tile *t, LLVMValueRef f)
{
	int64_t nr = t->vecs * k->lanes, back = t->beside - 1;
	LLVMValueRef width = LLVMGetParam(f, TSR_TILE_B_AHEAD), panel = LLVMGetParam(f, TSR_TILE_B_SHIFT), panels = LLVMBuildSDiv(k->b, width, tsr_kit_int(k, nr), "");
	LLVMValueRef others = LLVMBuildNSWSub(k->b, panels, tsr_kit_int(k, 1), "");
	return (tsr_copying){ .soon = LLVMGetParam(f, TSR_TILE_B_K), .row = t->copied, .vecs = t->vecs, .beside = t->beside, .crowded = t->crowded,
						  .each = tsr_kit_mul(k, panels, tsr_kit_int(k, t->beside)), .across_from = tsr_kit_int(k, nr - back * t->copied), .across_to = LLVMBuildNSWSub(k->b, panel, tsr_kit_int(k, back * nr), ""),
						  .down_from = LLVMBuildNSWSub(k->b, tsr_kit_int(k, t->copied + nr), width, ""), .down_to = LLVMBuildNSWSub(k->b, tsr_kit_int(k, nr), tsr_kit_mul(k, others, panel), "") };
}

/* The way from this row of a panel to the next one. */
static void next_row(tsr_kit *k, const tsr_copying *c, LLVMValueRef *from, LLVMValueRef *to, LLVMValueRef *left)
{
	LLVMValueRef zero = tsr_kit_int(k, 0), less = LLVMBuildNSWSub(k->b, *left, tsr_kit_int(k, 1), ""), down = LLVMBuildICmp(k->b, LLVMIntSLE, less, zero, "");
	LLVMValueRef from_step = c->across_from, to_step = c->across_to;
	if (c->beside > 1) {
		LLVMValueRef within = LLVMBuildICmp(k->b, LLVMIntNE, LLVMBuildAnd(k->b, less, tsr_kit_int(k, c->beside - 1), ""), zero, "");
		from_step = LLVMBuildSelect(k->b, within, tsr_kit_int(k, c->row), from_step, "");
		to_step = LLVMBuildSelect(k->b, within, tsr_kit_int(k, c->vecs * k->lanes), to_step, "");
	}
	from_step = LLVMBuildSelect(k->b, down, c->down_from, from_step, "");
	to_step = LLVMBuildSelect(k->b, down, c->down_to, to_step, "");
	*from = LLVMBuildGEP2(k->b, k->elem, *from, &from_step, 1, "");
	*to = LLVMBuildGEP2(k->b, k->elem, *to, &to_step, 1, "");
	*left = LLVMBuildSelect(k->b, down, c->each, less, "");
}

void tsr_copy_row(tsr_kit *k, const tsr_copying *c, LLVMValueRef *from, LLVMValueRef *to, LLVMValueRef *left)
{
	for (int64_t line = 0; line < (int64_t)c->vecs * k->lanes; line += TSR_LINE / k->elem_bytes) {
		LLVMValueRef soon = tsr_kit_add(k, c->soon, tsr_kit_int(k, line));
		tsr_kit_fetch(k, LLVMBuildGEP2(k->b, k->elem, *from, &soon, 1, ""), false);
	}
	for (uint32_t v = 0; v < c->vecs; v++) {
		LLVMValueRef lane = tsr_kit_int(k, v * k->lanes);
		tsr_kit_store(k, tsr_kit_load(k, k->vec, tsr_kit_at(k, *from, lane), NULL), tsr_kit_at(k, *to, lane), NULL);
	}
	next_row(k, c, from, to, left);
}
