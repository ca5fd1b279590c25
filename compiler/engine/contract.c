/* Contractions: block loops around packing and register tiles.
 *
 *     batch loops, within blocks of rows where a row has all of the batch's positions
 *       for jc by nc, for pc by kc:            B's block packed once (or read in place)
 *         for ic by mc:                        A's block packed (or read in place)
 *           for jr by nr, for ir by mr:        one tile
 *
 * The schedule says what is packed and how large the blocks are; the engine only follows it.
 *
 * Among threads one class is divided, in whole tiles, or rows and columns both.  Rows: a large block of B is packed by all together, into memory that they
 * share, and they wait for each other before it is read and before it is written again.  Otherwise each packs what it needs. */
#include "private.h"
#include "../base/plant.h"
#include <string.h>

/* ---- blocks ------------------------------------------------------------------------------------------------------- */

static void pack_panels(tsr_engine *g, const tsr_pack *p, LLVMValueRef each)
{
	bool a = p->side == TSR_SIDE_A;
	if (g->matrix || g->pairs) {
		tsr_matrix_pack(g, p, each);
		return;
	}
	if (tsr_contract_plain(g->e->loops, g->c, p->side)) {
		tsr_group across = tsr_group_in_memory(g, p->across, p->side), along = tsr_group_in_memory(g, p->along, p->side);
		tsr_pack joined = *p;
		joined.across = &across;
		joined.along = &along;
		tsr_pack_emit(&g->k, &joined);
		return;
	}
	tsr_computed v = { g->e, a ? g->c->a_value : g->c->b_value, g->c->prec,
					&g->walks[a ? TSR_CLASS_M : TSR_CLASS_N], &g->walks[TSR_CLASS_K], g->rows };
	tsr_pack_computed(&g->k, p, &v);
}

/* A's panels, those of the rows that tiles share as high as these are. */
static void pack_rows(tsr_engine *g, tsr_pack *p, const tsr_block *bl)
{
	tsr_kit *k = &g->k;
	tsr_heights h = tsr_heights_of(g, bl->rows, g->s->nr / k->lanes);
	if (h.shared)
		p->across_count = LLVMBuildSelect(k->b, h.both, h.whole, bl->rows, "");
	pack_panels(g, p, bl->a_each);
	if (!h.shared)
		return;
	tsr_guard two = tsr_guard_begin(k, h.both);
	p->width = h.low;
	p->across_first = tsr_kit_add(k, bl->m, h.whole);
	p->across_count = LLVMBuildSub(k->b, bl->rows, h.whole, "");
	p->to = tsr_kit_at(k, bl->a, tsr_kit_mul(k, h.whole, bl->a_each));
	pack_panels(g, p, bl->a_each);
	tsr_guard_end(k, two);
}

void tsr_engine_pack(tsr_engine *g, tsr_side side, const tsr_block *bl)
{
	bool a = side == TSR_SIDE_A;
	tsr_kit *k = &g->k;
	if (a && g->s->planes) {
		tsr_planes_pack(g, bl);
		return;
	}
	if (!a && tsr_copies_columns(g)) {
		tsr_columns_copy(g, bl);
		return;
	}
	tsr_pack p = { side, &g->cls[a ? TSR_CLASS_M : TSR_CLASS_N], &g->cls[TSR_CLASS_K], g->base[side], a ? bl->a : bl->b,
				   a ? bl->m : bl->n, a ? bl->rows : bl->cols, bl->kfirst, bl->depth, a ? g->s->mr : g->s->nr };
	if (a) {
		pack_rows(g, &p, bl);
		return;
	}
	if (!tsr_engine_packs_together(g)) {
		pack_panels(g, &p, bl->b_each);
		return;
	}
	tsr_share mine = tsr_share_of(g, bl->cols, g->s->nr);
	p.across_first = tsr_kit_add(k, bl->n, mine.from);
	p.across_count = LLVMBuildSub(k->b, mine.to, mine.from, "");
	p.to = tsr_kit_at(k, bl->b, tsr_kit_mul(k, mine.from, bl->b_each));
	tsr_guard some = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSGT, p.across_count, tsr_kit_int(k, 0), ""));
	pack_panels(g, &p, bl->b_each);
	tsr_guard_end(k, some);
	tsr_team_wait(g->e);
}

/* The rows of this block. */
static void point(tsr_engine *g, const tsr_block *bl)
{
	tsr_kit *k = &g->k;
	tsr_rows *r = &g->pointed;
	r->first = bl->m;
	r->count = bl->rows;
	r->along_first = bl->kfirst;
	r->stretches = r->run < g->s->kc ? LLVMBuildUDiv(k->b, bl->depth, tsr_kit_int(k, r->run), "") : tsr_kit_int(k, 1);
	tsr_rows_emit(k, r);
	if (!g->b_places)
		return;
	tsr_count t = tsr_count_begin(k, tsr_kit_int(k, 0), r->stretches, tsr_kit_int(k, 1));
	LLVMValueRef at = tsr_kit_add(k, bl->kfirst, tsr_kit_mul(k, t.i, tsr_kit_int(k, r->run)));
	LLVMBuildStore(k->b, tsr_group_offset(k, &g->cls[TSR_CLASS_K], TSR_SIDE_B, at), LLVMBuildInBoundsGEP2(k->b, k->i64, g->b_places, &t.i, 1, ""));
	tsr_count_end(k, &t);
}

/* The rows of B under this block's columns. */
static void point_across(tsr_engine *g, const tsr_block *bl)
{
	tsr_kit *k = &g->k;
	tsr_rows *r = &g->across;
	r->first = bl->kfirst;
	r->count = bl->depth;
	r->along_first = bl->n;
	r->stretches = LLVMBuildUDiv(k->b, bl->cols, tsr_kit_int(k, r->run), "");
	tsr_rows_emit(k, r);
	if (g->s->dense)
		tsr_rows_copy(k, r, bl->b);
}

/* Of a block. */
static LLVMValueRef most_depths(tsr_engine *g)
{
	int64_t depth = tsr_kit_known(g->cls[TSR_CLASS_K].count), kc = g->s->kc;
	return tsr_kit_int(&g->k, depth >= 0 && depth < kc ? depth : kc);
}

void tsr_engine_depths(tsr_engine *g, tsr_block *bl, LLVMValueRef first)
{
	tsr_kit *k = &g->k;
	LLVMValueRef depth = g->depth;
	bl->kfirst = first;
	bl->depth = tsr_kit_min(k, tsr_kit_int(k, g->s->kc), LLVMBuildSub(k->b, depth, first, ""));
	/* vectors find rows and panels in the same places for all blocks, by constants */
	LLVMValueRef deep = g->pairs ? most_depths(g) : bl->depth;
	LLVMValueRef thirds = g->s->thirds ? tsr_thirds_each(k, tsr_planes_depth(g, bl->depth)) : NULL;
	bl->a_each = thirds ? thirds : g->matrix || g->pairs ? tsr_matrix_each(k, TSR_SIDE_A, deep) : bl->depth;
	bl->b_each = thirds ? thirds : g->matrix || g->pairs ? tsr_matrix_each(k, TSR_SIDE_B, deep) : tsr_copies_columns(g) ? tsr_kit_int(k, tsr_columns_each(g)) : bl->depth;
	bl->add = g->c->clear ? LLVMBuildICmp(k->b, LLVMIntSGT, first, g->from[TSR_CLASS_K] ? g->from[TSR_CLASS_K] : tsr_kit_int(k, 0), "") : LLVMConstInt(k->i1, 1, false);
	bl->last = g->tail && g->tail->whole ? LLVMConstInt(k->i1, 1, false)
		: LLVMBuildICmp(k->b, LLVMIntSGE, tsr_kit_add(k, first, bl->depth), depth, "");
}

/* How many rows of B lie between those that one block has, and whether some are left over behind all of them: each block has the next row of every stream, the last one what is left. */
typedef struct spread { int64_t apart, rest; } spread;

static spread spread_of(const tsr_engine *g)
{
	int64_t depth = tsr_kit_known(g->cls[TSR_CLASS_K].count), kc = g->s->kc;
	bool all = !g->from[TSR_CLASS_K] && !g->until[TSR_CLASS_K] && g->cls[TSR_CLASS_K].n == 1;
	return g->s->spread && all && depth > kc ? (spread){ depth / kc, depth % kc } : (spread){ 0, 0 };
}

static void spread_depths(tsr_engine *g, tsr_block *bl, spread x, LLVMValueRef number)
{
	tsr_kit *k = &g->k;
	LLVMValueRef kc = tsr_kit_int(k, g->s->kc), one = tsr_kit_int(k, 1), apart = tsr_kit_int(k, x.apart), whole = LLVMBuildICmp(k->b, LLVMIntSLT, number, apart, "");
	bl->kfirst = x.rest ? LLVMBuildSelect(k->b, whole, number, tsr_kit_int(k, x.apart * g->s->kc), "") : number;
	bl->depth = x.rest ? LLVMBuildSelect(k->b, whole, kc, tsr_kit_int(k, x.rest), "") : kc;
	bl->apart = x.rest ? LLVMBuildSelect(k->b, whole, apart, one, "") : apart;
	bl->a_each = bl->b_each = bl->depth;
	bl->add = g->c->clear ? LLVMBuildICmp(k->b, LLVMIntSGT, number, tsr_kit_int(k, 0), "") : LLVMConstInt(k->i1, 1, false);
	bl->last = LLVMBuildICmp(k->b, LLVMIntSGE, number, tsr_kit_int(k, x.apart + (x.rest > 0) - 1), "");
}

/* K's blocks, one after the other; a sum over nothing still stores its neutral value. */
static tsr_count depths_begin(tsr_engine *g, tsr_block *bl)
{
	tsr_kit *k = &g->k;
	spread x = spread_of(g);
	LLVMValueRef zero = tsr_kit_int(k, 0), first = g->from[TSR_CLASS_K] ? g->from[TSR_CLASS_K] : zero;
	tsr_count pc = x.apart ? tsr_count_begin(k, zero, tsr_kit_int(k, x.apart + (x.rest > 0)), tsr_kit_int(k, 1))
		: tsr_count_begin(k, first, tsr_kit_some(k, g->depth), tsr_kit_int(k, g->s->kc));
	if (x.apart)
		spread_depths(g, bl, x, pc.i);
	else
		tsr_engine_depths(g, bl, pc.i);
	return pc;
}

/* Of these positions of the class those that are needed, in whole tiles (opt/masked.c).  A tile beyond them computes what nobody asks for, or adds zeros. */
static tsr_share needed(tsr_engine *g, tsr_loop_class cls, tsr_share all, int64_t tile)
{
	tsr_kit *k = &g->k;
	LLVMValueRef unit = tsr_kit_int(k, tile);
	if (g->until[cls])
		all.to = tsr_kit_min(k, all.to, tsr_kit_mul(k, LLVMBuildUDiv(k->b, tsr_kit_add(k, g->until[cls], tsr_kit_int(k, tile - 1)), unit, ""), unit));
	if (g->from[cls])
		all.from = tsr_kit_max(k, all.from, tsr_kit_mul(k, LLVMBuildUDiv(k->b, g->from[cls], unit, ""), unit));
	return all;
}

static void blocks(tsr_engine *g)
{
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	LLVMValueRef zero = tsr_kit_int(k, 0), m = g->cls[TSR_CLASS_M].count, n = g->cls[TSR_CLASS_N].count;
	tsr_block bl = { .a = g->packed_a, .b = g->packed_b };
	tsr_share rows = { zero, m }, cols = { zero, n };
	tsr_shares_divide(g, &rows, &cols);
	rows = needed(g, TSR_CLASS_M, rows, s->mr);
	cols = needed(g, TSR_CLASS_N, cols, s->nr);
	if (g->end)
		rows = (tsr_share){ tsr_kit_max(k, rows.from, g->first), tsr_kit_min(k, rows.to, g->end) };
	tsr_lines_emit(g, cols.from, cols.to);
	LLVMValueRef line = LLVMBuildAnd(k->b, LLVMBuildPtrToInt(k->b, g->base[TSR_SIDE_C], k->i64, ""), tsr_kit_int(k, TSR_LINE - 1), "");
	g->around = g->form.stream || (g->c->gaps && g->c->gaps->around) ? LLVMBuildICmp(k->b, LLVMIntEQ, line, zero, "") : LLVMConstInt(k->i1, 0, false);
	LLVMValueRef nc = tsr_kit_int(k, s->nc);
	tsr_count turned = { 0 };
	if (s->turn) {
		turned = tsr_count_begin(k, cols.from, cols.to, tsr_kit_int(k, s->turn));
		cols = (tsr_share){ turned.i, tsr_kit_add(k, turned.i, turned.step) };
		bl.turned = turned.i;
	}
	nc = tsr_share_block(g, cols, nc);
	if (s->early) {
		tsr_early_emit(g, &bl, rows.from, rows.to, cols.from, cols.to, nc);
		return;
	}
	tsr_count jc = tsr_count_begin(k, cols.from, cols.to, nc);
	bl.n = jc.i;
	bl.cols = tsr_kit_min(k, nc, LLVMBuildSub(k->b, cols.to, jc.i, ""));
	tsr_count pc = depths_begin(g, &bl);
	tsr_turns turns = tsr_turns_begin(g, rows);
	if (s->pack_b) {
		tsr_guard once = tsr_once_begin(g);
		tsr_engine_pack(g, TSR_SIDE_B, &bl);
		if (once.after)
			tsr_guard_end(k, once);
	}
	if (s->cols)
		point_across(g, &bl);
	tsr_turns_each(g, &turns, pc.i, &bl);
	if (s->pack_a)
		tsr_engine_pack(g, TSR_SIDE_A, &bl);
	if (s->rows)
		point(g, &bl);
	tsr_engine_tiles(g, &bl);
	tsr_turns_end(g, &turns);
	if (tsr_engine_packs_together(g))
		tsr_team_wait(g->e);
	tsr_count_end(k, &pc);
	tsr_aside_emit(g, &bl, rows.from, rows.to);
	tsr_count_end(k, &jc);
	if (s->turn) {
		tsr_engine_turn(g, &bl);
		tsr_count_end(k, &turned);
	}
}

static void batches(tsr_engine *g, uint32_t depth)
{
	const tsr_group *batch = &g->cls[TSR_CLASS_BATCH];
	if (depth == batch->n) {
		tsr_tail_begin(g);
		blocks(g);
		return;
	}
	tsr_kit *k = &g->k;
	const tsr_walk *axis = &g->walks[TSR_CLASS_BATCH].at[depth];
	LLVMValueRef count = tsr_emit_size(g->e, axis->extent);
	tsr_share mine = needed(g, TSR_CLASS_BATCH, tsr_share_batch(g, depth, count), 1);
	tsr_count i = tsr_count_begin(k, mine.from, mine.to, tsr_kit_int(k, 1));
	LLVMValueRef outer[TSR_SIDES];
	memcpy(outer, g->base, sizeof outer);
	for (int side = 0; side < TSR_SIDES; side++)
		if (g->base[side])
			g->base[side] = tsr_engine_at(g, (tsr_side)side, g->base[side], tsr_kit_mul(k, i.i, batch->at[depth].stride[side]));
	g->e->syms[axis->sym] = i.i;
	batches(g, depth + 1);
	memcpy(g->base, outer, sizeof outer);
	tsr_count_end(k, &i);
}

/* All positions of the batch: for all rows, or for some at a time. */
static void all_batches(tsr_engine *g)
{
	tsr_kit *k = &g->k;
	if (!g->s->together || g->queue) {
		batches(g, 0);
		return;
	}
	LLVMValueRef rows = g->cls[TSR_CLASS_M].count, each = tsr_kit_int(k, g->s->together);
	tsr_count c = tsr_count_begin(k, tsr_kit_int(k, 0), rows, each);
	g->first = c.i, g->end = tsr_kit_min(k, rows, tsr_kit_add(k, c.i, each));
	batches(g, 0);
	g->first = g->end = NULL;
	tsr_count_end(k, &c);
}

/* ---- setting up ----------------------------------------------------------------------------------------------------- */

/* The index with this contraction's loops at 0. */
static LLVMValueRef base_of(tsr_engine *g, const tsr_loops *l, tsr_side side, tsr_buffer_id buffer, const tsr_lin *index)
{
	const tsr_buffer *b = l->buffers.at[buffer];
	LLVMValueRef total = tsr_kit_int(&g->k, 0);
	for (uint32_t axis = 0; axis < b->rank; axis++) {
		tsr_lin outer = index[axis];
		outer.terms = TSR_NEW_N(l->tc->arena, tsr_lin_term, outer.n + 1);
		outer.n = 0;
		for (uint32_t t = 0; t < index[axis].n; t++) {
			bool own = false;
			for (uint32_t i = 0; i < g->c->nloops; i++)
				own |= index[axis].terms[t].kind == TSR_LSYM_LOOP && index[axis].terms[t].id == g->c->loops[i].sym;
			if (!own)
				outer.terms[outer.n++] = index[axis].terms[t];
		}
		total = tsr_kit_mul(&g->k, total, tsr_emit_size(g->e, b->dims[axis]));
		total = tsr_kit_add(&g->k, total, tsr_emit_lin(g->e, &outer));
	}
	total = TSR_PLANTED(22) ? tsr_kit_add(&g->k, total, tsr_kit_int(&g->k, 1)) : total;      /* one further */
	return tsr_engine_at(g, side, g->e->buffers[buffer], total);
}

static void kit_make(tsr_kit *k, tsr_emit *e, const tsr_target *target, const tsr_contraction *c, tsr_prec prec)
{
	k->context = e->context;
	k->module = e->module;
	k->b = e->builder;
	k->fn = e->function;
	k->i1 = LLVMInt1TypeInContext(k->context);
	k->i32 = LLVMInt32TypeInContext(k->context);
	k->i64 = LLVMInt64TypeInContext(k->context);
	k->ptr = LLVMPointerTypeInContext(k->context, 0);
	k->prec = prec;
	k->elem = tsr_emit_memory_type(e, prec);
	k->elem_bytes = tsr_prec_bytes(prec);
	k->lanes = c->schedule.lanes ? c->schedule.lanes : target->vector_bytes / k->elem_bytes;
	k->vec = LLVMVectorType(k->elem, k->lanes);
	k->lanes_i1 = LLVMVectorType(k->i1, k->lanes);
	k->target = target;
	k->acc = c->acc;
	k->combine = c->combine;
}

/* The witness, of all threads that the contraction is divided among. */
static void say_seen(tsr_engine *g)
{
	tsr_kit *k = &g->k;
	LLVMValueRef seen = LLVMBuildLoad2(k->b, k->i64, g->seen, ""), local = g->e->locals[g->c->witness];
	if (g->split)
		seen = tsr_team_agree(g->e, seen);
	LLVMTypeRef type = LLVMGetAllocatedType(local);
	seen = LLVMBuildICmp(k->b, LLVMIntNE, seen, tsr_kit_int(k, 0), "");
	LLVMBuildStore(k->b, LLVMBuildOr(k->b, LLVMBuildLoad2(k->b, type, local, ""), LLVMBuildZExtOrBitCast(k->b, seen, type, ""), ""), local);
}

static void contraction(tsr_emit *e, const tsr_stmt *loop, const tsr_contraction *c, bool matrix)
{
	const tsr_loops *l = e->loops;
	tsr_engine g = { .e = e, .c = c, .s = &c->schedule, .matrix = matrix, .pairs = !matrix && c->schedule.pairs, .split = loop->loop.split && e->team, .stream = loop->loop.stream };
	kit_make(&g.k, e, e->target, c, c->prec);
	g.k.pairs = g.pairs;
	tsr_contract_view view;
	tsr_contract_view_make(l, c, &view);
	for (int cls = 0; cls < TSR_CLASSES; cls++)
		tsr_engine_group(&g, l, &view.cls[cls], &g.cls[cls]);
	g.walks = view.cls;
	if (c->schedule.planes && !tsr_planes_of(l, c, &view, &g.planes))
		tsr_bug("the windows of a contraction have no planes");
	if (c->schedule.planes)
		g.plane = tsr_plane_sizes_of(&g.k, e, &g.planes, &c->schedule, g.cls[TSR_CLASS_M].count);
	g.split_batch = tsr_walks_longest(&view.cls[TSR_CLASS_BATCH]);
	g.base[TSR_SIDE_C] = base_of(&g, l, TSR_SIDE_C, c->c, c->c_index);
	if (tsr_contract_plain(l, c, TSR_SIDE_A))
		g.base[TSR_SIDE_A] = base_of(&g, l, TSR_SIDE_A, c->a, c->a_index);
	if (tsr_contract_plain(l, c, TSR_SIDE_B))
		g.base[TSR_SIDE_B] = base_of(&g, l, TSR_SIDE_B, c->b, c->b_index);
	for (uint32_t i = 0; i < c->nloops; i++) {
		if (c->loops[i].until)
			g.until[c->loops[i].cls] = tsr_emit_lin(e, c->loops[i].until);
		if (c->loops[i].from)
			g.from[c->loops[i].cls] = tsr_kit_max(&g.k, tsr_emit_lin(e, c->loops[i].from), tsr_kit_int(&g.k, 0));
	}
	g.depth = g.cls[TSR_CLASS_K].count;
	if (g.until[TSR_CLASS_K])
		g.depth = tsr_kit_min(&g.k, g.depth, g.until[TSR_CLASS_K]);
	/* what the classes do not walk stands at 0 */
	for (uint32_t i = 0; i < c->nloops; i++)
		e->syms[c->loops[i].sym] = tsr_kit_int(&g.k, 0);
	tsr_tail_plan_make(&g);
	tsr_engine_space(&g);
	if (c->watched) {
		g.seen = tsr_kit_table(&g.k, 1);
		LLVMBuildStore(g.k.b, tsr_kit_int(&g.k, 0), g.seen);
	}
	if (c->schedule.planes)
		g.taps = tsr_planes_taps(&g);
	if (matrix)
		tsr_matrix_begin(&g.k);
	tsr_shares_begin(&g);
	all_batches(&g);
	tsr_shares_end(&g);
	if (matrix)
		tsr_matrix_end(&g.k);
	if (c->watched)
		say_seen(&g);
	for (uint32_t i = 0; i < c->nloops; i++)
		e->syms[c->loops[i].sym] = NULL;
}

static void set_unit(tsr_emit *e, tsr_multiplier unit)
{
	if (e->team)
		e->team->unit = unit;
}

static LLVMValueRef count_of(tsr_emit *e, const tsr_contraction *c, tsr_loop_class cls)
{
	LLVMValueRef n = LLVMConstInt(e->i64, 1, false);
	for (uint32_t i = 0; i < c->nloops; i++)
		if (c->loops[i].cls == cls)
			n = LLVMBuildMul(e->builder, n, tsr_emit_size(e, c->loops[i].extent), "");
	return n;
}

LLVMValueRef tsr_contraction_rows(tsr_emit *e, const tsr_contraction *c) { return count_of(e, c, TSR_CLASS_M); }

static LLVMValueRef both(tsr_emit *e, LLVMValueRef x, LLVMValueRef y) { return x && y ? LLVMBuildAnd(e->builder, x, y, "") : x ? x : y; }

/* Planes of as wide rows as the run says have room; NULL: none are. */
static LLVMValueRef planes_fit(tsr_emit *e, const tsr_contraction *c)
{
	tsr_contract_view view;
	tsr_planes planes;
	tsr_contract_view_make(e->loops, c, &view);
	if (!c->schedule.planes || !tsr_planes_of(e->loops, c, &view, &planes) || !planes.later)
		return NULL;
	tsr_kit k;
	kit_make(&k, e, e->target, c, c->prec);
	tsr_plane_sizes sizes = tsr_plane_sizes_of(&k, e, &planes, &c->schedule, tsr_contraction_rows(e, c));
	return tsr_planes_fit(&k, &planes, &sizes);
}

/* What only the run knows is enough to be taken apart, and not too much; NULL: all is known. */
static LLVMValueRef is_enough(tsr_emit *e, const tsr_contraction *c)
{
	LLVMValueRef enough = planes_fit(e, c);
	for (int cls = TSR_CLASS_M; cls <= TSR_CLASS_K; cls++) {
		LLVMValueRef n = count_of(e, c, (tsr_loop_class)cls);
		int64_t least = tsr_matrix_enough(c, (tsr_loop_class)cls);
		if (!LLVMIsConstant(n) && least && !c->schedule.asked)
			enough = both(e, enough, LLVMBuildICmp(e->builder, LLVMIntSGE, n, LLVMConstInt(e->i64, (uint64_t)least, false), ""));
	}
	return enough;
}

/* By vectors; or by matrix registers, where the machine's system allows that.  Where sizes decide, too, a machine that has them needs room for both. */
static void by_registers(tsr_emit *e, const tsr_stmt *loop, const tsr_contraction *c)
{
	tsr_contraction narrow;
	if (tsr_contract_matrix(e->loops, c, e->target, &narrow)) {
		LLVMValueRef may = tsr_emit_by_matrix(e), enough = is_enough(e, &narrow);
		tsr_emit_fork f = tsr_emit_fork_begin(e, both(e, may, enough), "matrix");
		set_unit(e, TSR_BY_MATRIX);
		contraction(e, loop, &narrow, true);
		tsr_emit_fork_other(e, &f);
		set_unit(e, enough ? TSR_BY_BOTH : TSR_BY_VECTORS);
		contraction(e, loop, c, false);
		set_unit(e, TSR_BY_BOTH);
		tsr_emit_fork_end(e, &f);
	} else if (c->schedule.pairs && tsr_contract_narrow(e->loops, c, &narrow))
		contraction(e, loop, &narrow, false);
	else
		contraction(e, loop, c, false);
}

bool tsr_emit_contraction(tsr_emit *e, const tsr_stmt *loop)
{
	const tsr_contraction *c = loop->loop.contraction;
	tsr_contraction few[TSR_FEW];
	tsr_emit_fork f[TSR_FEW];
	if (!c || c->schedule.mr == 0)
		return false;
	uint32_t n = tsr_contract_few(e->loops, c, e->target, few);
	for (uint32_t i = 0; i < n; i++) {
		LLVMValueRef most = LLVMConstInt(e->i64, (uint64_t)few[i].most_rows, false);
		f[i] = tsr_emit_fork_begin(e, LLVMBuildICmp(e->builder, LLVMIntSLE, tsr_contraction_rows(e, c), most, ""), "few");
		by_registers(e, loop, &few[i]);
		tsr_emit_fork_other(e, &f[i]);
	}
	by_registers(e, loop, c);
	while (n-- > 0)
		tsr_emit_fork_end(e, &f[n]);
	return true;
}
