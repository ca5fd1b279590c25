/* Contractions: block loops around packing and register tiles.
 *
 *     batch loops
 *       for jc by nc, for pc by kc:            B's block packed once (or read in place)
 *         for ic by mc:                        A's block packed (or read in place)
 *           for jr by nr, for ir by mr:        one tile
 *
 * The schedule says what is packed and how large the blocks are; this file only follows it.  A tile whose columns do not lie
 * side by side in C, or whose height is known only at run time, goes through a small buffer and is stored from there.
 *
 * Among threads one class is divided, in whole tiles.  Rows: B's block is packed by all together, into memory that they share, and
 * they wait for each other before it is read and before it is written again.  Columns and batches: each packs what it needs. */
#include "contract.h"
#include "team.h"
#include "../base/plant.h"
#include <string.h>

typedef struct engine {
	tsr_kit k;
	tsr_emit *e;
	const tsr_contraction *c;
	const tsr_schedule *s;
	tsr_group cls[TSR_CLASSES];
	const tsr_walks *walks;          /* per class */
	LLVMValueRef base[TSR_SIDES];    /* where this batch's operands begin */
	LLVMValueRef packed_a, packed_b, buffer, rows;
	LLVMValueRef columns;            /* table of a column of tiles' places in C, where N has several axes */
	tsr_rows pointed, across;        /* A's rows, B's rows, where they are read in place */
	bool direct;                     /* tiles store into C themselves */
	bool split;                      /* divided among threads, by the class that the schedule names */
	uint32_t split_batch;            /* which loop of the batch */
} engine;

static LLVMValueRef stride_value(engine *g, const tsr_loops *l, uint32_t sym, tsr_side side)
{
	const tsr_contraction *c = g->c;
	const tsr_lin *index = side == TSR_SIDE_C ? c->c_index : side == TSR_SIDE_A ? c->a_index : c->b_index;
	const tsr_buffer *b = l->buffers.at[side == TSR_SIDE_C ? c->c : side == TSR_SIDE_A ? c->a : c->b];
	LLVMValueRef total = tsr_kit_int(&g->k, 0), step = tsr_kit_int(&g->k, 1);
	for (uint32_t axis = b->rank; axis-- > 0;) {
		for (uint32_t t = 0; t < index[axis].n; t++) {
			const tsr_lin_term *term = &index[axis].terms[t];
			if (term->kind == TSR_LSYM_LOOP && term->id == sym)
				total = tsr_kit_add(&g->k, total, tsr_kit_mul(&g->k, step, tsr_kit_int(&g->k, term->coef)));
		}
		step = tsr_kit_mul(&g->k, step, tsr_emit_size(g->e, b->dims[axis]));
	}
	return total;
}

static LLVMValueRef at_least_one(tsr_kit *k, LLVMValueRef n)
{
	return LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntSGT, n, tsr_kit_int(k, 0), ""), n, tsr_kit_int(k, 1), "");
}

/* Extents are at least one, since places are found by dividing by them; the count tells that there is nothing. */
static void group_make(engine *g, const tsr_loops *l, const tsr_walks *x, tsr_group *out)
{
	out->n = x->n;
	out->at = TSR_NEW_N(l->tc->arena, tsr_span_axis, x->n + 1);
	out->count = tsr_kit_int(&g->k, 1);
	for (uint32_t i = 0; i < x->n; i++) {
		LLVMValueRef n = tsr_emit_size(g->e, x->at[i].extent);
		out->count = tsr_kit_mul(&g->k, out->count, n);
		out->at[i].extent = at_least_one(&g->k, n);
		for (int side = 0; side < TSR_SIDES; side++)
			out->at[i].stride[side] = x->at[i].known || !tsr_contract_plain(l, g->c, (tsr_side)side)
				? tsr_kit_int(&g->k, x->at[i].stride[side]) : stride_value(g, l, x->at[i].sym, (tsr_side)side);
	}
	for (int side = 0; side < TSR_SIDES; side++)
		out->unit[side] = x->n == 0 || (x->at[x->n - 1].known && x->at[x->n - 1].stride[side] == 1);
}

LLVMValueRef tsr_group_offset(tsr_kit *k, const tsr_group *g, tsr_side side, LLVMValueRef i)
{
	LLVMValueRef total = tsr_kit_int(k, 0);
	for (uint32_t d = g->n; d-- > 0;) {
		LLVMValueRef here = i;
		if (d > 0) {
			LLVMValueRef outer = LLVMBuildUDiv(k->b, i, g->at[d].extent, "");
			here = LLVMBuildNSWSub(k->b, i, LLVMBuildNSWMul(k->b, outer, g->at[d].extent, ""), "");
			i = outer;
		}
		total = tsr_kit_add(k, total, tsr_kit_mul(k, here, g->at[d].stride[side]));
	}
	return total;
}

/* ---- one tile ---------------------------------------------------------------------------------------------------- */

typedef struct block {
	LLVMValueRef m, n, depth, kfirst, add;    /* first row and column; K's block; whether C already holds a part */
	LLVMValueRef rows, cols;                  /* of this block */
	LLVMValueRef a, b;                        /* panels, when packed */
} block;

static tsr_stride known_stride(LLVMValueRef v)
{
	return LLVMIsAConstantInt(v) ? (tsr_stride){ true, LLVMConstIntGetSExtValue(v) } : (tsr_stride){ false, 0 };
}

static LLVMValueRef only_stride(engine *g, tsr_loop_class cls, tsr_side side)
{
	return g->cls[cls].n ? g->cls[cls].at[0].stride[side] : tsr_kit_int(&g->k, 0);
}

/* acc(old, what the buffer holds), which is acc(neutral, sum): what was subtracted there is added here. */
static LLVMValueRef joined(engine *g, LLVMValueRef add, LLVMTypeRef type, LLVMValueRef at, LLVMValueRef mask, LLVMValueRef sum)
{
	tsr_kit *k = &g->k;
	LLVMValueRef old = LLVMBuildSelect(k->b, add, tsr_kit_load(k, type, at, mask), tsr_kit_neutral(k, type), "");
	return k->acc == TSR_ACC_SUB ? LLVMBuildFAdd(k->b, old, sum, "") : tsr_kit_acc(k, old, sum);
}

/* The tile's sums, waiting in the buffer, into C: rows as vectors where C has stride one, else element by element. */
static void scatter(engine *g, LLVMValueRef m, LLVMValueRef n, LLVMValueRef rows, LLVMValueRef cols, LLVMValueRef add)
{
	tsr_kit *k = &g->k;
	const tsr_group *gm = &g->cls[TSR_CLASS_M], *gn = &g->cls[TSR_CLASS_N];
	bool vectors = gn->n <= 1 && gn->unit[TSR_SIDE_C];
	LLVMValueRef zero = tsr_kit_int(k, 0), mask[16];
	uint32_t vecs = vectors ? g->s->nr / k->lanes : 0;
	for (uint32_t v = 0; v < vecs; v++)
		mask[v] = tsr_kit_mask(k, cols, v * k->lanes);
	tsr_count i = tsr_count_begin(k, zero, rows, tsr_kit_int(k, 1));
	LLVMValueRef row = tsr_kit_at(k, g->base[TSR_SIDE_C], tsr_group_offset(k, gm, TSR_SIDE_C, tsr_kit_add(k, m, i.i)));
	LLVMValueRef from = tsr_kit_at(k, g->buffer, tsr_kit_mul(k, i.i, tsr_kit_int(k, g->s->nr)));
	for (uint32_t v = 0; v < vecs; v++) {
		LLVMValueRef lane = tsr_kit_int(k, v * k->lanes), at = tsr_kit_at(k, tsr_kit_at(k, row, n), lane);
		LLVMValueRef sum = tsr_kit_load(k, k->vec, tsr_kit_at(k, from, lane), NULL);
		tsr_kit_store(k, joined(g, add, k->vec, at, mask[v], sum), at, mask[v]);
	}
	if (!vectors) {
		tsr_count j = tsr_count_begin(k, zero, cols, tsr_kit_int(k, 1));
		LLVMValueRef off = tsr_group_offset(k, gn, TSR_SIDE_C, tsr_kit_add(k, n, j.i));
		if (gn->n > 1)
			off = LLVMBuildLoad2(k->b, k->i64, LLVMBuildInBoundsGEP2(k->b, k->i64, g->columns, &j.i, 1, ""), "");
		LLVMValueRef at = tsr_kit_at(k, row, off), sum = tsr_kit_load(k, k->elem, tsr_kit_at(k, from, j.i), NULL);
		tsr_kit_store(k, joined(g, add, k->elem, at, NULL, sum), at, NULL);
		tsr_count_end(k, &j);
	}
	tsr_count_end(k, &i);
}

/* Where each column of these tiles lies in C. */
static void fill_columns(engine *g, LLVMValueRef n, LLVMValueRef cols)
{
	tsr_kit *k = &g->k;
	tsr_count j = tsr_count_begin(k, tsr_kit_int(k, 0), cols, tsr_kit_int(k, 1));
	LLVMValueRef off = tsr_group_offset(k, &g->cls[TSR_CLASS_N], TSR_SIDE_C, tsr_kit_add(k, n, j.i));
	LLVMBuildStore(k->b, off, LLVMBuildInBoundsGEP2(k->b, k->i64, g->columns, &j.i, 1, ""));
	tsr_count_end(k, &j);
}

typedef struct size_of_tile { uint32_t rows, vecs; bool masked; LLVMValueRef valid_rows, cols; } size_of_tile;

/* The tile's place in B and in C, and C's stride from row to row. */
typedef struct tile_place { LLVMValueRef m, n, b, b_k, b_shift, c, c_row, add; } tile_place;

static tile_place place_of(engine *g, const block *bl, LLVMValueRef ir, LLVMValueRef jr)
{
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	tile_place p = { .m = tsr_kit_add(k, bl->m, ir), .n = tsr_kit_add(k, bl->n, jr), .b_shift = tsr_kit_int(k, 0) };
	if (s->cols) {
		LLVMValueRef run = tsr_kit_int(k, g->across.run), stretch = LLVMBuildUDiv(k->b, jr, run, "");
		LLVMValueRef at = tsr_kit_mul(k, stretch, tsr_kit_int(k, g->across.capacity));
		p.b_shift = LLVMBuildNSWSub(k->b, jr, LLVMBuildNSWMul(k->b, stretch, run, ""), "");
		p.b = LLVMBuildInBoundsGEP2(k->b, k->ptr, g->across.table, &at, 1, "");
	}
	p.b_k = s->cols ? tsr_kit_int(k, 1) : s->pack_b ? tsr_kit_int(k, s->nr) : only_stride(g, TSR_CLASS_K, TSR_SIDE_B);
	p.b = s->cols ? p.b : s->pack_b ? tsr_kit_at(k, bl->b, tsr_kit_mul(k, jr, bl->depth))
		: tsr_kit_at(k, g->base[TSR_SIDE_B], tsr_kit_add(k, p.n, tsr_kit_mul(k, bl->kfirst, p.b_k)));
	p.c_row = g->direct ? only_stride(g, TSR_CLASS_M, TSR_SIDE_C) : tsr_kit_int(k, s->nr);
	p.c = g->direct ? tsr_kit_at(k, g->base[TSR_SIDE_C], tsr_kit_add(k, p.n, tsr_kit_mul(k, p.m, p.c_row))) : g->buffer;
	p.add = g->direct ? bl->add : LLVMConstInt(k->i1, 0, false);
	return p;
}

static void call(tsr_kit *k, LLVMValueRef f, LLVMValueRef *arg, unsigned n)
{
	LLVMBuildCall2(k->b, LLVMGlobalGetValueType(f), f, arg, n, "");
}

static void packed_tile(engine *g, const block *bl, LLVMValueRef ir, const tile_place *p, size_of_tile z)
{
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	LLVMValueRef arg[TSR_TILE_PARAMS] = { [TSR_TILE_B] = p->b, [TSR_TILE_C] = p->c, [TSR_TILE_DEPTH] = bl->depth, [TSR_TILE_COLS] = z.cols,
										  [TSR_TILE_ADD] = p->add, [TSR_TILE_B_K] = p->b_k, [TSR_TILE_C_ROW] = p->c_row, [TSR_TILE_B_SHIFT] = p->b_shift };
	arg[TSR_TILE_A_ROW] = s->pack_a ? tsr_kit_int(k, 1) : only_stride(g, TSR_CLASS_M, TSR_SIDE_A);
	arg[TSR_TILE_A_K] = s->pack_a ? tsr_kit_int(k, s->mr) : only_stride(g, TSR_CLASS_K, TSR_SIDE_A);
	arg[TSR_TILE_A] = s->pack_a ? tsr_kit_at(k, bl->a, tsr_kit_mul(k, ir, bl->depth))
		: tsr_kit_at(k, g->base[TSR_SIDE_A], tsr_kit_add(k, tsr_kit_mul(k, p->m, arg[TSR_TILE_A_ROW]), tsr_kit_mul(k, bl->kfirst, arg[TSR_TILE_A_K])));
	tsr_tile t = { z.rows, z.vecs, z.masked, known_stride(arg[TSR_TILE_A_ROW]), known_stride(arg[TSR_TILE_A_K]),
				   known_stride(arg[TSR_TILE_B_K]), known_stride(arg[TSR_TILE_C_ROW]), s->cols };
	call(k, tsr_tile_function(k, &t), arg, TSR_TILE_PARAMS);
}

static void pointed_tile(engine *g, LLVMValueRef ir, const tile_place *p, size_of_tile z)
{
	tsr_kit *k = &g->k;
	const tsr_rows *r = &g->pointed;
	LLVMValueRef arg[TSR_ROWS_PARAMS] = { LLVMBuildInBoundsGEP2(k->b, k->ptr, r->table, &ir, 1, ""), p->b, p->c, tsr_rows_list(k, r, ir), z.cols,
										  p->add, p->b_k, p->c_row };
	tsr_rows_tile t = { z.rows, z.vecs, z.masked, r->run < g->s->kc ? r->run : g->s->kc, r->capacity, known_stride(p->b_k), known_stride(p->c_row) };
	call(k, tsr_rows_tile_function(k, &t), arg, TSR_ROWS_PARAMS);
}

static void tile_call(engine *g, const block *bl, LLVMValueRef ir, LLVMValueRef jr, size_of_tile z)
{
	tile_place p = place_of(g, bl, ir, jr);
	if (g->s->rows)
		pointed_tile(g, ir, &p, z);
	else
		packed_tile(g, bl, ir, &p, z);
	if (!g->direct)
		scatter(g, p.m, p.n, z.valid_rows, z.cols, bl->add);
}

static int64_t constant(LLVMValueRef v) { return LLVMIsAConstantInt(v) ? LLVMConstIntGetSExtValue(v) : -1; }

/* All tiles of one column of the block: full ones, then the remaining height as a smaller tile. */
static void tile_column(engine *g, const block *bl, LLVMValueRef jr, size_of_tile z)
{
	tsr_kit *k = &g->k;
	uint32_t mr = g->s->mr;
	int64_t total = constant(g->cls[TSR_CLASS_M].count);
	LLVMValueRef step = tsr_kit_int(k, mr);
	LLVMValueRef full = LLVMBuildMul(k->b, LLVMBuildUDiv(k->b, bl->rows, step, ""), step, "");
	if (g->columns)
		fill_columns(g, tsr_kit_add(k, bl->n, jr), z.cols);
	if (total < 0 || total >= mr) {
		tsr_count i = tsr_count_begin(k, tsr_kit_int(k, 0), full, step);
		z.rows = mr;
		z.valid_rows = step;
		tile_call(g, bl, i.i, jr, z);
		tsr_count_end(k, &i);
	}
	if (total >= 0 && total % mr == 0)
		return;
	LLVMValueRef rest = LLVMBuildSub(k->b, bl->rows, full, "");
	tsr_guard some = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSGT, rest, tsr_kit_int(k, 0), ""));
	z.rows = total >= 0 ? (uint32_t)(total % mr) : mr;
	z.valid_rows = rest;
	tile_call(g, bl, full, jr, z);
	tsr_guard_end(k, some);
}

/* The columns of a block from `first` on, `total` of them where that is known and all lie in one block. */
static void column_tiles(engine *g, const block *bl, LLVMValueRef first, LLVMValueRef cols, int64_t total)
{
	tsr_kit *k = &g->k;
	uint32_t nr = g->s->nr, vecs = nr / k->lanes;
	LLVMValueRef step = tsr_kit_int(k, nr);
	LLVMValueRef full = LLVMBuildMul(k->b, LLVMBuildUDiv(k->b, cols, step, ""), step, "");
	if (total < 0 || total >= nr) {
		tsr_count j = tsr_count_begin(k, tsr_kit_int(k, 0), full, step);
		tile_column(g, bl, tsr_kit_add(k, first, j.i), (size_of_tile){ 0, vecs, false, NULL, step });
		tsr_count_end(k, &j);
	}
	if (total >= 0 && total % nr == 0)
		return;
	LLVMValueRef rest = LLVMBuildSub(k->b, cols, full, "");
	tsr_guard some = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSGT, rest, tsr_kit_int(k, 0), ""));
	uint32_t left = total >= 0 ? (uint32_t)(total % nr) : nr;
	bool padded = g->s->pack_b && !g->direct;    /* whole vectors are there to be read and to be written */
	tile_column(g, bl, tsr_kit_add(k, first, full),
				(size_of_tile){ 0, (left + k->lanes - 1) / k->lanes, !padded && (total < 0 || left % k->lanes), NULL, rest });
	tsr_guard_end(k, some);
}

/* Where B's rows are read in place no tile reaches from one stretch into the next. */
static void tiles(engine *g, const block *bl)
{
	tsr_kit *k = &g->k;
	LLVMValueRef zero = tsr_kit_int(k, 0);
	if (!g->s->cols) {
		column_tiles(g, bl, zero, bl->cols, constant(g->cls[TSR_CLASS_N].count));
		return;
	}
	LLVMValueRef run = tsr_kit_int(k, g->across.run);
	tsr_count t = tsr_count_begin(k, zero, bl->cols, run);
	column_tiles(g, bl, t.i, run, g->across.run);
	tsr_count_end(k, &t);
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

static bool splits(const engine *g, tsr_loop_class cls) { return g->split && g->s->split == cls; }
static bool packs_together(const engine *g) { return splits(g, TSR_CLASS_M) && g->s->pack_b; }

typedef struct stretch { LLVMValueRef from, to; } stretch;

/* This thread's positions of `count`, in whole units. */
static stretch stretch_of(engine *g, LLVMValueRef count, uint32_t unit)
{
	tsr_kit *k = &g->k;
	LLVMValueRef step = tsr_kit_int(k, unit);
	LLVMValueRef units = LLVMBuildUDiv(k->b, tsr_kit_add(k, count, tsr_kit_int(k, unit - 1)), step, "");
	LLVMValueRef to = tsr_kit_mul(k, tsr_team_bound(g->e, units, true), step);
	return (stretch){ tsr_kit_mul(k, tsr_team_bound(g->e, units, false), step), tsr_kit_min(k, to, count) };
}

/* ---- blocks ------------------------------------------------------------------------------------------------------- */

static void pack_panels(engine *g, const tsr_pack *p)
{
	bool a = p->side == TSR_SIDE_A;
	if (tsr_contract_plain(g->e->loops, g->c, p->side)) {
		tsr_pack_emit(&g->k, p);
		return;
	}
	tsr_computed v = { g->e, a ? g->c->a_value : g->c->b_value, g->e->loops->buffers.at[g->c->c]->prec,
					&g->walks[a ? TSR_CLASS_M : TSR_CLASS_N], &g->walks[TSR_CLASS_K], g->rows };
	tsr_pack_computed(&g->k, p, &v);
}

static void pack(engine *g, tsr_side side, const block *bl)
{
	bool a = side == TSR_SIDE_A;
	tsr_kit *k = &g->k;
	tsr_pack p = { side, &g->cls[a ? TSR_CLASS_M : TSR_CLASS_N], &g->cls[TSR_CLASS_K], g->base[side], a ? bl->a : bl->b,
				   a ? bl->m : bl->n, a ? bl->rows : bl->cols, bl->kfirst, bl->depth, a ? g->s->mr : g->s->nr };
	if (a || !packs_together(g)) {
		pack_panels(g, &p);
		return;
	}
	stretch mine = stretch_of(g, bl->cols, g->s->nr);
	p.across_first = tsr_kit_add(k, bl->n, mine.from);
	p.across_count = LLVMBuildSub(k->b, mine.to, mine.from, "");
	p.to = tsr_kit_at(k, bl->b, tsr_kit_mul(k, mine.from, bl->depth));
	tsr_guard some = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSGT, p.across_count, tsr_kit_int(k, 0), ""));
	pack_panels(g, &p);
	tsr_guard_end(k, some);
	tsr_team_wait(g->e);
}

/* The rows of this block. */
static void point(engine *g, const block *bl)
{
	tsr_kit *k = &g->k;
	tsr_rows *r = &g->pointed;
	r->first = bl->m;
	r->count = bl->rows;
	r->along_first = bl->kfirst;
	r->stretches = r->run < g->s->kc ? LLVMBuildUDiv(k->b, bl->depth, tsr_kit_int(k, r->run), "") : tsr_kit_int(k, 1);
	tsr_rows_emit(k, r);
}

/* The rows of B under this block's columns. */
static void point_across(engine *g, const block *bl)
{
	tsr_kit *k = &g->k;
	tsr_rows *r = &g->across;
	r->first = bl->kfirst;
	r->count = bl->depth;
	r->along_first = bl->n;
	r->stretches = LLVMBuildUDiv(k->b, bl->cols, tsr_kit_int(k, r->run), "");
	tsr_rows_emit(k, r);
}

static void blocks(engine *g)
{
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	LLVMValueRef zero = tsr_kit_int(k, 0), m = g->cls[TSR_CLASS_M].count, n = g->cls[TSR_CLASS_N].count,
				 depth = g->cls[TSR_CLASS_K].count;
	block bl = { .a = g->packed_a, .b = g->packed_b };
	stretch rows = { zero, m }, cols = { zero, n };
	if (splits(g, TSR_CLASS_M))
		rows = stretch_of(g, m, s->mr);
	if (splits(g, TSR_CLASS_N))
		cols = stretch_of(g, n, s->cols ? (uint32_t)g->across.run : s->nr);
	LLVMValueRef nc = tsr_kit_int(k, s->nc), kc = tsr_kit_int(k, s->kc), mc = tsr_kit_int(k, s->mc);
	tsr_count jc = tsr_count_begin(k, cols.from, cols.to, nc);
	bl.n = jc.i;
	bl.cols = tsr_kit_min(k, nc, LLVMBuildSub(k->b, cols.to, jc.i, ""));
	/* a sum over nothing still stores its neutral value */
	tsr_count pc = tsr_count_begin(k, zero, at_least_one(k, depth), kc);
	bl.kfirst = pc.i;
	bl.depth = tsr_kit_min(k, kc, LLVMBuildSub(k->b, depth, pc.i, ""));
	bl.add = g->c->clear ? LLVMBuildICmp(k->b, LLVMIntSGT, pc.i, zero, "") : LLVMConstInt(k->i1, 1, false);
	if (s->pack_b)
		pack(g, TSR_SIDE_B, &bl);
	if (s->cols)
		point_across(g, &bl);
	tsr_count ic = tsr_count_begin(k, rows.from, rows.to, mc);
	bl.m = ic.i;
	bl.rows = tsr_kit_min(k, mc, LLVMBuildSub(k->b, rows.to, ic.i, ""));
	if (s->pack_a)
		pack(g, TSR_SIDE_A, &bl);
	if (s->rows)
		point(g, &bl);
	tiles(g, &bl);
	tsr_count_end(k, &ic);
	if (packs_together(g))
		tsr_team_wait(g->e);
	tsr_count_end(k, &pc);
	tsr_count_end(k, &jc);
}

static void batches(engine *g, uint32_t depth)
{
	const tsr_group *batch = &g->cls[TSR_CLASS_BATCH];
	if (depth == batch->n) {
		blocks(g);
		return;
	}
	tsr_kit *k = &g->k;
	const tsr_walk *axis = &g->walks[TSR_CLASS_BATCH].at[depth];
	LLVMValueRef count = tsr_emit_size(g->e, axis->extent);
	stretch mine = { tsr_kit_int(k, 0), count };
	if (splits(g, TSR_CLASS_BATCH) && depth == g->split_batch)
		mine = stretch_of(g, count, 1);
	tsr_count i = tsr_count_begin(k, mine.from, mine.to, tsr_kit_int(k, 1));
	LLVMValueRef outer[TSR_SIDES];
	memcpy(outer, g->base, sizeof outer);
	for (int side = 0; side < TSR_SIDES; side++)
		if (g->base[side])
			g->base[side] = tsr_kit_at(k, g->base[side], tsr_kit_mul(k, i.i, batch->at[depth].stride[side]));
	g->e->syms[axis->sym] = i.i;
	batches(g, depth + 1);
	memcpy(g->base, outer, sizeof outer);
	tsr_count_end(k, &i);
}

/* ---- setting up ----------------------------------------------------------------------------------------------------- */

/* This thread's work area: its own memory in a team, behind its rows; else one for all contractions of the module, as large as the
 * largest needs, one per thread. */
static LLVMValueRef scratch(engine *g, uint64_t bytes)
{
	tsr_kit *k = &g->k;
	tsr_seat *team = g->e->team;
	if (team) {
		if (team->row_bytes + bytes > team->own_bytes)
			team->own_bytes = team->row_bytes + bytes;
		return tsr_emit_offset(g->e, TSR_PREC_U8, team->own, tsr_kit_int(k, (int64_t)team->row_bytes));
	}
	LLVMTypeRef type = LLVMArrayType2(LLVMInt8TypeInContext(k->context), bytes);
	LLVMValueRef old = LLVMGetNamedGlobal(k->module, TSR_PANELS);
	if (old && LLVMGetArrayLength2(LLVMGlobalGetValueType(old)) >= bytes)
		return old;
	LLVMValueRef area = LLVMAddGlobal(k->module, type, TSR_PANELS ".");
	LLVMSetInitializer(area, LLVMConstNull(type));
	LLVMSetLinkage(area, LLVMInternalLinkage);
	LLVMSetThreadLocal(area, true);
	LLVMSetAlignment(area, 4096);
	if (old) {
		LLVMReplaceAllUsesWith(old, area);
		LLVMDeleteGlobal(old);
	}
	LLVMSetValueName2(area, TSR_PANELS, strlen(TSR_PANELS));
	return area;
}

static int64_t at_most(int64_t block, LLVMValueRef count)
{
	int64_t n = constant(count);
	return n >= 0 && n < block ? n : block;
}

/* Elements that evaluating an operand row by row needs; turning them reads up to one vector past the last. */
static int64_t value_rows(engine *g, int64_t depth)
{
	const tsr_loops *l = g->e->loops;
	const tsr_walks *m = &g->walks[TSR_CLASS_M], *n = &g->walks[TSR_CLASS_N], *k = &g->walks[TSR_CLASS_K];
	int64_t width = 0;
	if (g->s->pack_a && !tsr_contract_plain(l, g->c, TSR_SIDE_A) && tsr_computed_by_rows(l, g->c->a_value, m, k))
		width = g->s->mr;
	if (g->s->pack_b && !tsr_contract_plain(l, g->c, TSR_SIDE_B) && tsr_computed_by_rows(l, g->c->b_value, n, k) && g->s->nr > width)
		width = g->s->nr;
	return width ? width * depth + g->k.lanes : 0;
}

static void work_space(engine *g)
{
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	int64_t depth = at_most(s->kc, g->cls[TSR_CLASS_K].count);
	int64_t rows = (at_most(s->mc, g->cls[TSR_CLASS_M].count) + s->mr - 1) / s->mr * s->mr;
	int64_t cols = (at_most(s->nc, g->cls[TSR_CLASS_N].count) + s->nr - 1) / s->nr * s->nr;
	int64_t a = s->pack_a ? (rows * depth * k->elem_bytes + 255) / 128 * 128 : 0;
	int64_t b = s->pack_b ? (cols * depth * k->elem_bytes + 255) / 128 * 128 : 0;
	int64_t gap = g->e->sanitize ? TSR_REDZONE : 0;
	g->direct = g->cls[TSR_CLASS_M].n <= 1 && g->cls[TSR_CLASS_N].n <= 1 && g->cls[TSR_CLASS_N].unit[TSR_SIDE_C]
		&& constant(g->cls[TSR_CLASS_M].count) >= 0;
	if (!g->direct && g->cls[TSR_CLASS_N].n > 1)
		g->columns = tsr_kit_table(k, s->nr);
	int64_t buffer = g->direct ? 0 : (int64_t)s->mr * s->nr * k->elem_bytes;
	int64_t rows_bytes = value_rows(g, depth) * k->elem_bytes;
	tsr_rows *r = &g->pointed;
	if (s->rows)
		*r = tsr_rows_of(k, g->e, g->c, TSR_SIDE_A, g->walks, rows);
	if (s->cols)
		g->across = tsr_rows_of(k, g->e, g->c, TSR_SIDE_B, g->walks, depth);
	int64_t across = g->across.most * g->across.capacity * 8;
	int64_t table = r->most * r->capacity * 8, list = r->mr ? (r->most + 1) * (r->capacity / r->mr) * 8 : 0;
	if (packs_together(g)) {
		tsr_seat *team = g->e->team;
		g->packed_b = team->shared;
		team->shared_bytes = (uint64_t)(b + gap) > team->shared_bytes ? (uint64_t)(b + gap) : team->shared_bytes;
		tsr_emit_redzone(g->e, g->packed_b, 0, b, gap);
		b = 0;
	}
	enum { PIECES = 7 };
	int64_t piece[PIECES] = { a, b, buffer, rows_bytes, (table + 63) / 64 * 64, (list + 63) / 64 * 64,
								 (across + 63) / 64 * 64 }, at[PIECES + 1] = { 0 };
	for (int i = 0; i < PIECES; i++)
		at[i + 1] = at[i] + piece[i] + (piece[i] ? gap : 0);
	if (at[PIECES] == 0)
		return;
	LLVMValueRef area = scratch(g, (uint64_t)at[PIECES]), place[PIECES];
	for (int i = 0; i < PIECES; i++) {
		place[i] = tsr_emit_offset(g->e, TSR_PREC_U8, area, tsr_kit_int(k, at[i]));
		if (piece[i])
			tsr_emit_redzone(g->e, area, at[i], piece[i], gap);
	}
	g->packed_a = place[0];
	g->packed_b = g->packed_b ? g->packed_b : place[1];
	g->buffer = place[2];
	g->rows = place[3];
	r->table = place[4];
	r->list = s->rows ? place[5] : NULL;
	g->across.table = place[6];
}

/* The index with this contraction's loops at 0. */
static LLVMValueRef base_of(engine *g, const tsr_loops *l, tsr_buffer_id buffer, const tsr_lin *index)
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
	return tsr_kit_at(&g->k, g->e->buffers[buffer], total);
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
	k->elem = prec == TSR_PREC_F64 ? LLVMDoubleTypeInContext(k->context) : LLVMFloatTypeInContext(k->context);
	k->elem_bytes = tsr_prec_bytes(prec);
	k->lanes = target->vector_bytes / k->elem_bytes;
	k->vec = LLVMVectorType(k->elem, k->lanes);
	k->lanes_i1 = LLVMVectorType(k->i1, k->lanes);
	k->fma = target->fma;
	k->acc = c->acc;
	k->combine = c->combine;
}

bool tsr_emit_contraction(tsr_emit *e, const tsr_stmt *loop)
{
	const tsr_contraction *c = loop->loop.contraction;
	const tsr_loops *l = e->loops;
	if (!c || c->schedule.mr == 0)
		return false;
	engine g = { .e = e, .c = c, .s = &c->schedule, .split = loop->loop.split && e->team };
	kit_make(&g.k, e, e->target, c, l->buffers.at[c->c]->prec);
	tsr_contract_view view;
	tsr_contract_view_make(l, c, &view);
	for (int cls = 0; cls < TSR_CLASSES; cls++)
		group_make(&g, l, &view.cls[cls], &g.cls[cls]);
	g.walks = view.cls;
	g.split_batch = tsr_walks_longest(&view.cls[TSR_CLASS_BATCH]);
	g.base[TSR_SIDE_C] = base_of(&g, l, c->c, c->c_index);
	if (tsr_contract_plain(l, c, TSR_SIDE_A))
		g.base[TSR_SIDE_A] = base_of(&g, l, c->a, c->a_index);
	if (tsr_contract_plain(l, c, TSR_SIDE_B))
		g.base[TSR_SIDE_B] = base_of(&g, l, c->b, c->b_index);
	/* what the classes do not walk stands at 0 */
	for (uint32_t i = 0; i < c->nloops; i++)
		e->syms[c->loops[i].sym] = tsr_kit_int(&g.k, 0);
	work_space(&g);
	batches(&g, 0);
	for (uint32_t i = 0; i < c->nloops; i++)
		e->syms[c->loops[i].sym] = NULL;
	return true;
}
