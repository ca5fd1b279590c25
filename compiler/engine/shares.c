/* What of a contraction each thread computes.
 *
 * Even shares: one class is divided, in whole tiles.  Where rows are many, threads take blocks of them in turns instead, each the next one when it is
 * ready: two threads are never equally fast, since cores have neighbours, siblings or different clocks, and with even shares all wait for the slowest.
 * The blocks are numbered in the order in which one thread would come to them, from one batch position, block of columns and block of K to the next, so
 * that nobody waits between these; only a block of rows whose sums are not complete as far as the block of K before has to be waited for.  Which thread
 * computes an element has no influence on its bits.
 *
 * Where threads stand side by side along the columns, too, each such group has a queue of its own, and a thread whose queue is empty helps the others:
 * so each packs its own part of B but for what it takes over at the end.  Where each packs all of B, the groups are single threads, whose rows lie side by
 * side: what a thread stored or read of them in one run it finds in its own cache in the next. */
#include "private.h"
#include "../base/arena.h"

enum { TURNS = 24 };                 /* blocks of rows for each thread, at least, where these are not too small */
enum { HELPED = 8 };                  /* threads, where each has rows of its own, itself among them: to ask all of many takes longer than their ends differ */
enum { LEAST_TILES = 4, SMALL_TILES = 2 };           /* of rows, in a block of them */

struct tsr_row_queue {
	tsr_queue q;
	LLVMValueRef beside, group;                     /* groups; the one that this thread works in */
	bool own_rows;                                  /* groups are single threads, each with rows of its own */
	LLVMValueRef packed;                            /* where one block of B serves all groups: whether this thread has it */
	tsr_count helped;                               /* groups so far */
	LLVMValueRef large, rows;                       /* of the blocks that meet one of B so many have so many rows */
	LLVMValueRef small, blocks;                     /* and those behind them these; all of them */
};

static bool splits(const tsr_engine *g, tsr_loop_class cls) { return g->split && g->s->split == cls; }

/* What one thread has just written another one gets from that core's second cache, which takes longer than to pack it again, unless it has left that
 * cache meanwhile, or has to be computed. */
bool tsr_engine_packs_together(const tsr_engine *g)
{
	const tsr_schedule *s = g->s;
	bool near = s->nc * s->kc * g->k.elem_bytes <= g->e->target->l2 / 2 && tsr_contract_plain(g->e->loops, g->c, TSR_SIDE_B);
	return splits(g, TSR_CLASS_M) && s->pack_b && !near && !s->alone && !tsr_copies_columns(g);
}

/* ---- even shares -------------------------------------------------------------------------------------------------- */

typedef struct seat { LLVMValueRef thread, threads; } seat;

/* The positions of `count` that are this seat's, in whole units. */
static tsr_share share_at(tsr_engine *g, seat at, LLVMValueRef count, uint32_t unit)
{
	tsr_kit *k = &g->k;
	LLVMValueRef step = tsr_kit_int(k, unit);
	LLVMValueRef units = LLVMBuildUDiv(k->b, tsr_kit_add(k, count, tsr_kit_int(k, unit - 1)), step, "");
	LLVMValueRef next = LLVMBuildNSWAdd(k->b, at.thread, tsr_kit_int(k, 1), "");
	LLVMValueRef from = LLVMBuildUDiv(k->b, LLVMBuildNSWMul(k->b, units, at.thread, ""), at.threads, "");
	LLVMValueRef to = LLVMBuildUDiv(k->b, LLVMBuildNSWMul(k->b, units, next, ""), at.threads, "");
	return (tsr_share){ tsr_kit_mul(k, from, step), tsr_kit_min(k, tsr_kit_mul(k, to, step), count) };
}

tsr_share tsr_share_of(tsr_engine *g, LLVMValueRef count, uint32_t unit)
{
	return share_at(g, (seat){ g->e->team->thread, g->e->team->threads }, count, unit);
}

tsr_share tsr_share_at(tsr_engine *g, LLVMValueRef thread, LLVMValueRef count, uint32_t unit) { return share_at(g, (seat){ thread, g->e->team->threads }, count, unit); }

/* Where threads stand in rows and columns the largest power of two that divides their number stands side by side. */
static LLVMValueRef beside_of(tsr_engine *g)
{
	tsr_kit *k = &g->k;
	LLVMValueRef most = LLVMBuildOr(k->b, g->e->team->threads, tsr_kit_int(k, g->s->grid), "");
	return LLVMBuildAnd(k->b, most, LLVMBuildNeg(k->b, most, ""), "");
}

static void grid_of(tsr_engine *g, tsr_share *rows, tsr_share *cols)
{
	tsr_kit *k = &g->k;
	LLVMValueRef thread = g->e->team->thread, threads = g->e->team->threads, beside = beside_of(g);
	*rows = share_at(g, (seat){ LLVMBuildUDiv(k->b, thread, beside, ""), LLVMBuildUDiv(k->b, threads, beside, "") }, rows->to, g->s->mr);
	*cols = share_at(g, (seat){ LLVMBuildURem(k->b, thread, beside, ""), beside }, cols->to, g->s->nr);
}

/* Where threads are more than the positions of the batch, so many of them share one position's rows. */
static LLVMValueRef sharers(tsr_engine *g)
{
	LLVMValueRef count = tsr_emit_size(g->e, g->walks[TSR_CLASS_BATCH].at[g->split_batch].extent);
	return tsr_kit_some(&g->k, LLVMBuildUDiv(g->k.b, g->e->team->threads, count, ""));
}

tsr_share tsr_share_batch(tsr_engine *g, uint32_t depth, LLVMValueRef count)
{
	tsr_kit *k = &g->k;
	if (!splits(g, TSR_CLASS_BATCH) || depth != g->split_batch)
		return (tsr_share){ tsr_kit_int(k, 0), count };
	if (!g->s->grid)
		return tsr_share_of(g, count, 1);
	LLVMValueRef share = sharers(g), thread = g->e->team->thread, threads = g->e->team->threads;
	return share_at(g, (seat){ LLVMBuildUDiv(k->b, thread, share, ""), LLVMBuildUDiv(k->b, threads, share, "") }, count, 1);
}

static LLVMValueRef parts_of(tsr_kit *k, LLVMValueRef count, LLVMValueRef each)
{
	return LLVMBuildUDiv(k->b, tsr_kit_add(k, count, LLVMBuildNSWSub(k->b, each, tsr_kit_int(k, 1), "")), each, "");
}

LLVMValueRef tsr_share_block(tsr_engine *g, tsr_share cols, LLVMValueRef most)
{
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	if (!splits(g, TSR_CLASS_N) || s->cols || s->turn || s->join)
		return most;
	/* as few blocks as there have to be, alike but for a tile */
	LLVMValueRef nr = tsr_kit_int(k, s->nr), tiles = tsr_kit_some(k, parts_of(k, LLVMBuildSub(k->b, cols.to, cols.from, ""), nr));
	return tsr_kit_mul(k, parts_of(k, tiles, parts_of(k, tiles, tsr_kit_int(k, s->nc / s->nr))), nr);
}

/* ---- in turns ----------------------------------------------------------------------------------------------------- */

/* B is one block, whatever rows it meets. */
static bool packs_once(const tsr_engine *g)
{
	int64_t n = tsr_kit_known(g->cls[TSR_CLASS_N].count), depth = tsr_kit_known(g->cls[TSR_CLASS_K].count);
	return g->s->pack_b && !g->cls[TSR_CLASS_BATCH].n && n >= 0 && n <= g->s->nc && depth >= 0 && depth <= g->s->kc;
}

void tsr_shares_begin(tsr_engine *g)
{
	tsr_kit *k = &g->k;
	if (!g->split || !g->s->dynamic || tsr_early_in_turns(g))
		return;
	tsr_seat *team = g->e->team;
	struct tsr_row_queue *q = g->queue = TSR_NEW(g->e->tc->arena, struct tsr_row_queue);
	tsr_queue_open(g->e, &q->q);
	q->group = tsr_kit_int(k, 0);
	q->own_rows = g->s->own_rows && splits(g, TSR_CLASS_M) && !tsr_engine_packs_together(g);
	if (q->own_rows && packs_once(g)) {
		q->packed = tsr_emit_alloca(g->e, k->i1, "packed");
		LLVMBuildStore(k->b, LLVMConstInt(k->i1, 0, false), q->packed);
	}
	if (g->s->grid || q->own_rows) {
		q->beside = q->own_rows ? team->threads : beside_of(g);
		q->helped = tsr_count_begin(k, tsr_kit_int(k, 0), q->own_rows ? tsr_kit_min(k, q->beside, tsr_kit_int(k, HELPED)) : q->beside, tsr_kit_int(k, 1));
		q->group = LLVMBuildURem(k->b, tsr_kit_add(k, team->thread, q->helped.i), q->beside, "");
	}
	tsr_queue_enter(g->e, &q->q, q->group);
}

void tsr_shares_end(tsr_engine *g)
{
	if (g->queue && g->queue->beside)
		tsr_count_end(&g->k, &g->queue->helped);
	g->queue = NULL;
}

static LLVMValueRef select_if(tsr_kit *k, LLVMValueRef when, LLVMValueRef yes, LLVMValueRef no) { return LLVMBuildSelect(k->b, when, yes, no, ""); }

/* So many rows at least has a block that threads take in turns: some tiles, and what is worth being taken. */
static int64_t least_rows(const tsr_engine *g, int64_t tiles)
{
	const tsr_schedule *s = g->s;
	int64_t unit = (int64_t)tsr_schedule_rows(s), rows = tiles * unit, n = tsr_kit_known(g->cls[TSR_CLASS_N].count), depth = tsr_kit_known(g->cls[TSR_CLASS_K].count);
	if (n > 0 && depth > 0) {
		int64_t each = (n < s->nc ? n : s->nc) * (depth < s->kc ? depth : s->kc), worth = (g->e->target->least_turn + each - 1) / each;
		rows = worth > rows ? (worth + unit - 1) / unit * unit : rows;
	}
	return rows < s->mc ? rows : s->mc;
}

LLVMValueRef tsr_block_rows(tsr_engine *g) { return g->s->planes ? g->plane.block : tsr_kit_int(&g->k, g->s->mc); }

/* Threads that pack B together all wait for its next block: where there are several, each thread has as many blocks of rows, alike but for a tile (21 for two threads took 1.05 times
 * as long as 22). */
static void alike(tsr_engine *g, LLVMValueRef count, LLVMValueRef members, LLVMValueRef several)
{
	tsr_kit *k = &g->k;
	struct tsr_row_queue *q = g->queue;
	LLVMValueRef unit = tsr_kit_int(k, (int64_t)tsr_schedule_rows(g->s)), tiles = parts_of(k, count, unit);
	LLVMValueRef blocks = tsr_kit_min(k, tsr_kit_mul(k, parts_of(k, count, tsr_kit_mul(k, q->rows, members)), members), tiles);
	LLVMValueRef each = LLVMBuildUDiv(k->b, tiles, tsr_kit_some(k, blocks), ""), small = tsr_kit_mul(k, each, unit);
	q->rows = select_if(k, several, tsr_kit_add(k, small, unit), q->rows);
	q->large = select_if(k, several, LLVMBuildNSWSub(k->b, tiles, tsr_kit_mul(k, each, blocks), ""), q->large);
	q->small = select_if(k, several, small, q->small);
	q->blocks = select_if(k, several, blocks, q->blocks);
}

/* One block of B alone: a fifth of the rows is left for small blocks, which end at nearly the same time.  Several ones: blocks of as many rows that all
 * threads have some turns.  One thread that is alone takes whole blocks. */
static void turns_of(tsr_engine *g, tsr_share rows, tsr_share cols)
{
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	struct tsr_row_queue *q = g->queue;
	int64_t unit = (int64_t)tsr_schedule_rows(s);
	LLVMValueRef one = tsr_kit_int(k, 1), each = tsr_kit_int(k, unit), most = tsr_block_rows(g), threads = g->e->team->threads;
	LLVMValueRef members = q->beside ? LLVMBuildUDiv(k->b, threads, q->beside, "") : threads;
	LLVMValueRef wide = parts_of(k, LLVMBuildSub(k->b, cols.to, cols.from, ""), tsr_kit_int(k, s->nc)), deep = parts_of(k, g->cls[TSR_CLASS_K].count, tsr_kit_int(k, s->kc));
	LLVMValueRef count = q->own_rows ? LLVMBuildNSWSub(k->b, rows.to, rows.from, "") : rows.to, times = LLVMBuildMul(k->b, wide, deep, ""), single = LLVMBuildICmp(k->b, LLVMIntULE, times, one, ""), alone = LLVMBuildICmp(k->b, LLVMIntEQ, threads, one, "");
	LLVMValueRef all = LLVMBuildMul(k->b, count, times, ""), some = LLVMBuildUDiv(k->b, LLVMBuildMul(k->b, count, tsr_kit_int(k, 4), ""), tsr_kit_int(k, 5), "");
	LLVMValueRef turns = parts_of(k, all, LLVMBuildMul(k->b, members, tsr_kit_int(k, TURNS), "")), share = LLVMBuildUDiv(k->b, some, members, "");
	turns = tsr_kit_max(k, tsr_kit_mul(k, parts_of(k, turns, each), each), tsr_kit_int(k, least_rows(g, LEAST_TILES)));
	share = tsr_kit_max(k, tsr_kit_mul(k, LLVMBuildUDiv(k->b, share, each, ""), each), each);
	q->rows = select_if(k, alone, most, tsr_kit_min(k, select_if(k, single, share, turns), most));
	LLVMValueRef in_turn = tsr_kit_mul(k, members, q->rows), whole = parts_of(k, count, q->rows);
	q->large = select_if(k, LLVMBuildAnd(k->b, single, LLVMBuildNot(k->b, alone, ""), ""), tsr_kit_mul(k, LLVMBuildUDiv(k->b, some, in_turn, ""), members), whole);
	LLVMValueRef rest = tsr_kit_max(k, LLVMBuildNSWSub(k->b, count, tsr_kit_mul(k, q->large, q->rows), ""), tsr_kit_int(k, 0));
	q->small = tsr_kit_min(k, tsr_kit_int(k, least_rows(g, SMALL_TILES)), most);
	q->blocks = tsr_kit_add(k, q->large, parts_of(k, rest, q->small));
	if (tsr_engine_packs_together(g))
		alike(g, count, members, LLVMBuildNot(k->b, LLVMBuildOr(k->b, single, alone, ""), ""));
}

void tsr_shares_divide(tsr_engine *g, tsr_share *rows, tsr_share *cols)
{
	const tsr_schedule *s = g->s;
	uint32_t unit = (uint32_t)tsr_schedule_rows(s);
	if (tsr_early_in_turns(g))
		return;
	if (g->queue) {
		if (g->queue->own_rows)
			*rows = share_at(g, (seat){ g->queue->group, g->queue->beside }, rows->to, unit);
		else
			*cols = g->queue->beside ? share_at(g, (seat){ g->queue->group, g->queue->beside }, cols->to, s->nr) : *cols;
		turns_of(g, *rows, *cols);
		return;
	}
	if (splits(g, TSR_CLASS_M))
		*rows = tsr_share_of(g, rows->to, unit);
	if (splits(g, TSR_CLASS_BATCH) && s->grid) {
		LLVMValueRef share = sharers(g);
		*rows = share_at(g, (seat){ LLVMBuildURem(g->k.b, g->e->team->thread, share, ""), share }, rows->to, unit);
	}
	if (splits(g, TSR_CLASS_N) && s->grid)
		grid_of(g, rows, cols);
	else if (splits(g, TSR_CLASS_N))
		*cols = tsr_share_of(g, cols->to, s->by_vectors ? g->k.lanes : (uint32_t)(s->cols ? g->across.run : tsr_schedule_columns(s)));
}

tsr_turns tsr_turns_begin(tsr_engine *g, tsr_share rows)
{
	tsr_kit *k = &g->k;
	tsr_turns t = { .rows = rows };
	if (!g->queue)
		return t;
	t.limit = tsr_queue_limit(g->e, &g->queue->q, g->queue->blocks);
	if (!tsr_engine_packs_together(g))
		t.any = tsr_guard_begin(k, tsr_queue_any(g->e, &g->queue->q, t.limit));
	return t;
}

tsr_guard tsr_once_begin(tsr_engine *g)
{
	tsr_kit *k = &g->k;
	if (!g->queue || !g->queue->packed)
		return (tsr_guard){ 0 };
	LLVMValueRef there = LLVMBuildLoad2(k->b, k->i1, g->queue->packed, "");
	tsr_guard first = tsr_guard_begin(k, LLVMBuildNot(k->b, there, ""));
	LLVMBuildStore(k->b, LLVMConstInt(k->i1, 1, false), g->queue->packed);
	return first;
}

/* Until the block of rows whose sums this one adds to is complete as far as the block of K before. */
static void wait_for_sums(tsr_engine *g, LLVMValueRef mine, LLVMValueRef kfirst)
{
	tsr_kit *k = &g->k;
	const struct tsr_row_queue *q = g->queue;
	int64_t depth = tsr_kit_known(g->cls[TSR_CLASS_K].count);
	if (tsr_engine_packs_together(g) || (depth >= 0 && depth <= g->s->kc))
		return;
	tsr_guard adds = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSGT, kfirst, tsr_kit_int(k, 0), ""));
	LLVMValueRef args[5] = { g->e->ctx, q->q.number, q->group, g->e->team->threads, LLVMBuildNSWSub(k->b, mine, q->blocks, "") };
	tsr_emit_call(g->e, "tsr_behind", g->e->none, 5, args);
	tsr_guard_end(k, adds);
}

void tsr_turns_each(tsr_engine *g, tsr_turns *t, LLVMValueRef kfirst, tsr_block *bl)
{
	tsr_kit *k = &g->k;
	LLVMValueRef each = tsr_block_rows(g);
	if (!g->queue) {
		t->count = tsr_count_begin(k, t->rows.from, t->rows.to, each);
		bl->m = t->count.i;
	} else {
		const struct tsr_row_queue *q = g->queue;
		t->taking = tsr_taking_begin(g->e, &q->q, t->limit);
		wait_for_sums(g, t->taking.mine, kfirst);
		LLVMValueRef i = t->taking.part, behind = LLVMBuildNSWSub(k->b, i, q->large, "");
		LLVMValueRef is_large = LLVMBuildICmp(k->b, LLVMIntSLT, i, q->large, "");
		each = select_if(k, is_large, q->rows, q->small);
		LLVMValueRef down = select_if(k, is_large, tsr_kit_mul(k, i, q->rows), tsr_kit_add(k, tsr_kit_mul(k, q->large, q->rows), tsr_kit_mul(k, behind, q->small)));
		bl->m = q->own_rows ? tsr_kit_add(k, t->rows.from, down) : down;
	}
	bl->rows = tsr_kit_min(k, each, LLVMBuildSub(k->b, t->rows.to, bl->m, ""));
}

void tsr_turns_end(tsr_engine *g, tsr_turns *t)
{
	tsr_kit *k = &g->k;
	if (!g->queue) {
		tsr_count_end(k, &t->count);
		return;
	}
	tsr_taking_end(g->e, &g->queue->q, &t->taking);
	if (t->any.after)
		tsr_guard_end(k, t->any);
	tsr_queue_pass(g->e, &g->queue->q, t->limit);
}
