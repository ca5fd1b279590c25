/* The tiles of a block: where each lies in the operands and in C.
 *
 * Tiles store into C by strides, or by tables where a class has several axes (store.c).  One whose columns lie apart in C, or whose
 * height is known only at run time, goes through a small buffer and is stored from there. */
#include "private.h"

static LLVMValueRef only_stride(tsr_engine *g, tsr_loop_class cls, tsr_side side)
{
	return g->cls[cls].n ? g->cls[cls].at[0].stride[side] : tsr_kit_int(&g->k, 0);
}

/* B's stride along the depths of a stretch, where it is read in place. */
static LLVMValueRef depth_stride(tsr_engine *g)
{
	const tsr_group *along = &g->cls[TSR_CLASS_K];
	return along->n ? along->at[along->n - 1].stride[TSR_SIDE_B] : tsr_kit_int(&g->k, 0);
}

/* acc(old, what the buffer holds), which is acc(neutral, sum): what was subtracted there is added here. */
static LLVMValueRef joined(tsr_engine *g, LLVMValueRef add, LLVMTypeRef type, LLVMValueRef at, LLVMValueRef mask, LLVMValueRef sum)
{
	tsr_kit *k = &g->k;
	LLVMValueRef old = LLVMBuildSelect(k->b, add, tsr_kit_load(k, type, at, mask), tsr_kit_neutral(k, type), "");
	return k->acc == TSR_ACC_SUB ? tsr_kit_plus(k, old, sum) : tsr_kit_acc(k, old, sum);
}

/* The tile's sums, waiting in the buffer, into C: rows as vectors where C has stride one, else element by element. */
static void scatter(tsr_engine *g, LLVMValueRef m, LLVMValueRef n, LLVMValueRef rows, LLVMValueRef cols, LLVMValueRef add)
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

/* panel: rows of its panel of A, where that is packed and not of the schedule's tile; else 0; valid_rows: of a last tile, which has fewer than `rows` where their number is known only at run time; `waits`: so it is stored from the buffer;
 * `a_step`, `below`: how it asks for the next rows of A, see tsr_tile.asks; NULL, 0: it does not; `sums`: of matrix registers, which only go
 * to C; or NULL. */
typedef struct size_of_tile { uint32_t rows, vecs, panel, below, cut; bool masked, waits; LLVMValueRef valid_rows, cols, a_step, sums; } size_of_tile;

/* The tile's place in B and in C, and C's stride from row to row; `depth`: where it has fewer than its block; or NULL. */
typedef struct tile_place { LLVMValueRef m, n, depth, b, b_k, b_shift, c, c_row, c_rows, c_columns, add; tsr_c_form form; const tsr_tail_plan *tail; const tsr_gaps *gaps; } tile_place;

static tile_place place_of(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef jr, bool waits)
{
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	tile_place p = { .m = tsr_kit_add(k, bl->m, ir), .n = tsr_kit_add(k, bl->n, jr), .b_shift = tsr_kit_int(k, 0) };
	if (s->cols && !s->dense) {
		LLVMValueRef run = tsr_kit_int(k, g->across.run), stretch = LLVMBuildUDiv(k->b, jr, run, "");
		LLVMValueRef at = tsr_kit_mul(k, stretch, tsr_kit_int(k, g->across.capacity * (g->across.kept ? 2 : 1)));
		p.b_shift = LLVMBuildNSWSub(k->b, jr, LLVMBuildNSWMul(k->b, stretch, run, ""), "");
		p.b = LLVMBuildInBoundsGEP2(k->b, k->ptr, g->across.table, &at, 1, "");
		p.depth = g->across.kept ? LLVMBuildLoad2(k->b, k->i64, LLVMBuildInBoundsGEP2(k->b, k->i64, g->across.kept, &stretch, 1, ""), "") : NULL;
	}
	LLVMValueRef column = (s->turn || s->dots) && !s->pack_b ? tsr_group_offset(k, &g->cls[TSR_CLASS_N], TSR_SIDE_B, p.n) : p.n;
	LLVMValueRef row = depth_stride(g);
	p.b_k = s->dense ? tsr_kit_int(k, tsr_rows_width(k, &g->across)) : s->cols ? tsr_kit_int(k, 1)
		: s->pack_b ? tsr_kit_int(k, s->nr) : bl->apart ? tsr_kit_mul(k, row, bl->apart) : row;
	p.b = s->dense ? tsr_kit_at(k, bl->b, jr) : s->cols ? p.b : s->pack_b ? tsr_kit_at(k, bl->b, tsr_kit_mul(k, jr, bl->b_each))
		: tsr_engine_at(g, TSR_SIDE_B, g->base[TSR_SIDE_B], g->b_places ? column : tsr_kit_add(k, column, tsr_kit_mul(k, bl->kfirst, row)));
	bool aside = tsr_engine_sets_aside(g);
	p.c_row = waits || aside ? tsr_kit_int(k, s->nr) : s->turn || s->join ? tsr_kit_int(k, tsr_engine_waiting_row(g)) : only_stride(g, TSR_CLASS_M, TSR_SIDE_C);
	p.c_rows = p.c_columns = LLVMConstNull(k->ptr);
	p.tail = !waits && g->tail && g->tail->in_tiles ? g->tail : NULL;
	bool apart = waits || tsr_tail_passes(p.tail);
	p.c_row = apart ? tsr_kit_int(k, s->nr) : p.c_row;
	p.form = apart ? (tsr_c_form){ .row = { true, s->nr } } : g->form;
	p.c = apart ? g->buffer : g->base[TSR_SIDE_C];
	p.add = waits ? LLVMConstInt(k->i1, 0, false) : bl->add;
	if (aside)
		p.c = tsr_aside_place(g, ir, jr);
	else if (s->turn || s->join)
		p.c = tsr_engine_waiting(g, bl, p.m, p.n);
	else if (p.form.stretches) {
		p.c_rows = LLVMBuildInBoundsGEP2(k->b, k->i64, g->c_rows, &ir, 1, "");
		p.c_columns = g->c_columns;
	} else if (!apart)
		p.c = tsr_kit_at(k, p.c, tsr_kit_add(k, p.n, tsr_kit_mul(k, p.m, p.c_row)));
	return p;
}

/* B's block stays in the second cache and A's rows pass by, each read once. */
static bool rows_pass(const tsr_engine *g)
{
	enum { LARGE = 1 << 18 };        /* bytes of B beside which the first cache keeps no rows of A */
	const tsr_schedule *s = g->s;
	int64_t m = tsr_kit_known(g->cls[TSR_CLASS_M].count), n = tsr_kit_known(g->cls[TSR_CLASS_N].count);
	bool in_place = !s->pack_b && n > 0 && m >= n && (n < s->nc ? n : s->nc) * s->kc * g->k.elem_bytes > LARGE;
	return (s->pack_b || in_place) && !s->panels && !s->pack_a && !s->rows && !s->cols && !s->turn && !s->dots && !g->columns && !g->form.stretches;
}

/* Rows of B that are read in place lie apart, so that nothing but asking brings the next tiles' while these are at work: of each row, `lines`
 * lines by every tile of a column, so that together they ask for a panel; the next one, or the first one further down. */
typedef struct tile_ahead { uint32_t lines; LLVMValueRef from; } tile_ahead;

/* Where the columns behind those of the tile at n lie in B; the last ones' where there are none. */
static LLVMValueRef next_columns(tsr_engine *g, LLVMValueRef n)
{
	tsr_kit *k = &g->k;
	const tsr_group *cols = &g->cls[TSR_CLASS_N];
	LLVMValueRef nr = tsr_kit_int(k, g->s->nr);
	return tsr_group_offset(k, cols, TSR_SIDE_B, tsr_kit_min(k, tsr_kit_add(k, n, nr), LLVMBuildNSWSub(k->b, cols->count, nr, "")));
}

/* From this block's rows of B to those of K's next one. */
static LLVMValueRef block_after(tsr_engine *g, const tsr_block *bl)
{
	tsr_kit *k = &g->k;
	const tsr_group *along = &g->cls[TSR_CLASS_K];
	if (!g->b_places)
		return tsr_kit_mul(k, bl->depth, depth_stride(g));
	LLVMValueRef next = tsr_group_offset(k, along, TSR_SIDE_B, tsr_kit_add(k, bl->kfirst, bl->depth));
	return LLVMBuildNSWSub(k->b, next, tsr_group_offset(k, along, TSR_SIDE_B, bl->kfirst), "");
}

/* Where the positions of a batch all have the same A: how far the next one's B is; else NULL. */
static LLVMValueRef next_position(const tsr_engine *g)
{
	const tsr_group *batch = &g->cls[TSR_CLASS_BATCH];
	const tsr_span_axis *last = batch->n && g->base[TSR_SIDE_A] && g->base[TSR_SIDE_B] ? &batch->at[batch->n - 1] : NULL;
	return last && tsr_kit_known(last->stride[TSR_SIDE_A]) == 0 ? last->stride[TSR_SIDE_B] : NULL;
}

/* So few rows of B in turn that the processor looks ahead along each of them. */
static bool walked(const tsr_engine *g)
{
	return !g->s->pack_b && !g->s->cols && (g->s->spread || g->s->kc <= tsr_target_streams(g->e->target, tsr_kit_known(g->cls[TSR_CLASS_M].count))) && tsr_kit_known(g->cls[TSR_CLASS_K].count) > g->s->kc;
}

static LLVMValueRef whole_panels(tsr_engine *g, LLVMValueRef columns)
{
	tsr_kit *k = &g->k;
	LLVMValueRef nr = tsr_kit_int(k, g->s->nr);
	return tsr_kit_mul(k, LLVMBuildUDiv(k->b, tsr_kit_add(k, columns, tsr_kit_int(k, g->s->nr - 1)), nr, ""), nr);
}

static tile_ahead ahead_of(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef jr, const tile_place *p)
{
	enum { MANY_TILES = 16 };
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	int64_t rows = tsr_kit_known(g->cls[TSR_CLASS_M].count), tiles = rows > 0 ? ((rows < s->mc ? rows : s->mc) + s->mr - 1) / s->mr : 1;
	int64_t line = TSR_LINE / k->elem_bytes, lines = (s->nr + line - 1) / line, each = (lines + tiles - 1) / tiles, parts = (lines + each - 1) / each;
	int64_t n = tsr_kit_known(g->cls[TSR_CLASS_N].count), depth = tsr_kit_known(g->cls[TSR_CLASS_K].count);
	LLVMValueRef position = depth > 0 && depth <= s->kc ? next_position(g) : NULL;
	/* in the second cache with what else is there, or soon, when the first tiles of many have read it */
	bool near = n > 0 && depth > 0 && n * depth * k->elem_bytes <= g->e->target->l2 / (tiles >= MANY_TILES ? 1 : 8) && !position;
	if (s->cols || s->pack_b || s->dots || near || walked(g) || (tsr_kit_known(p->b_k) < line * 4 && !s->turn) || rows_pass(g))
		return (tile_ahead){ 0, tsr_kit_int(k, 0) };
	int64_t panels = g->e->target->panels_ahead && (n < 0 || n > s->nr) ? g->e->target->panels_ahead : 1;
	LLVMValueRef far = tsr_kit_int(k, panels * s->nr), more = LLVMBuildICmp(k->b, LLVMIntSLT, tsr_kit_add(k, jr, far), bl->cols, "");
	/* of the next block the panel that is as far from here as if it began behind the last one */
	LLVMValueRef behind = panels > 1 ? LLVMBuildNSWSub(k->b, far, whole_panels(g, bl->cols), "") : LLVMBuildNSWSub(k->b, tsr_kit_int(k, 0), jr, "");
	LLVMValueRef next = LLVMBuildSelect(k->b, more, far, LLVMBuildNSWAdd(k->b, position ? position : block_after(g, bl), behind, ""), "");
	if (s->turn)                 /* columns follow B's stretches */
		next = LLVMBuildNSWSub(k->b, next_columns(g, p->n), tsr_group_offset(k, &g->cls[TSR_CLASS_N], TSR_SIDE_B, p->n), "");
	LLVMValueRef part = LLVMBuildURem(k->b, LLVMBuildUDiv(k->b, ir, tsr_kit_int(k, s->mr), ""), tsr_kit_int(k, parts), "");
	return (tile_ahead){ (uint32_t)each, tsr_kit_add(k, next, tsr_kit_mul(k, part, tsr_kit_int(k, each * line))) };
}

static void call(tsr_kit *k, LLVMValueRef f, LLVMValueRef *arg, unsigned n)
{
	LLVMBuildCall2(k->b, LLVMGlobalGetValueType(f), f, arg, n, "");
}

static void packed_tile(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef jr, const tile_place *p, tile_ahead ahead, size_of_tile z)
{
	enum { SHALLOW = 24 };
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	LLVMValueRef arg[TSR_MOST_PARAMS] = { [TSR_TILE_B] = p->b, [TSR_TILE_C] = p->c, [TSR_TILE_DEPTH] = p->depth ? p->depth : tsr_engine_steps(g, bl->depth), [TSR_TILE_COLS] = z.cols,
										  [TSR_TILE_ADD] = p->add, [TSR_TILE_B_K] = p->b_k, [TSR_TILE_C_ROW] = p->c_row, [TSR_TILE_B_SHIFT] = p->b_shift,
										  [TSR_TILE_C_ROWS] = p->c_rows, [TSR_TILE_C_COLUMNS] = p->c_columns, [TSR_TILE_AROUND] = g->around,
										  [TSR_TILE_B_AHEAD] = ahead.from, [TSR_TILE_A_AHEAD] = LLVMConstNull(k->ptr), [TSR_TILE_A_STEP] = z.a_step ? z.a_step : tsr_kit_int(k, 0) };
	LLVMValueRef one = tsr_kit_int(k, 1), row = s->pack_a ? one : only_stride(g, TSR_CLASS_M, TSR_SIDE_A);
	arg[TSR_TILE_A_ROW] = !g->pairs ? row : s->pack_a ? bl->a_each : tsr_engine_steps(g, row);
	arg[TSR_TILE_A_K] = g->pairs ? one : s->pack_a ? tsr_kit_int(k, z.panel ? z.panel : s->mr) : only_stride(g, TSR_CLASS_K, TSR_SIDE_A);
	arg[TSR_TILE_A] = s->pack_a ? tsr_kit_at(k, bl->a, tsr_kit_mul(k, ir, bl->a_each))
		: tsr_kit_at(k, g->base[TSR_SIDE_A], tsr_kit_add(k, tsr_kit_mul(k, p->m, arg[TSR_TILE_A_ROW]), tsr_kit_mul(k, tsr_engine_steps(g, bl->kfirst), arg[TSR_TILE_A_K])));
	if (bl->apart)
		arg[TSR_TILE_A_K] = tsr_kit_mul(k, arg[TSR_TILE_A_K], bl->apart);
	if (z.sums)
		arg[TSR_TILE_A] = z.sums, arg[TSR_TILE_A_ROW] = tsr_kit_int(k, s->nr), arg[TSR_TILE_A_K] = tsr_kit_int(k, 0);
	if (z.a_step) {
		LLVMValueRef below = tsr_kit_mul(k, arg[TSR_TILE_A_ROW], tsr_kit_int(k, s->mr)), rounds = LLVMBuildUDiv(k->b, arg[TSR_TILE_DEPTH], tsr_kit_int(k, TSR_ROUND), "");
		LLVMValueRef part = tsr_kit_mul(k, LLVMBuildUDiv(k->b, jr, tsr_kit_int(k, s->nr), ""), tsr_kit_mul(k, rounds, z.a_step));
		LLVMValueRef next = LLVMBuildGEP2(k->b, k->elem, arg[TSR_TILE_A], &below, 1, "");
		arg[TSR_TILE_A_AHEAD] = LLVMBuildGEP2(k->b, LLVMInt8TypeInContext(k->context), next, &part, 1, "");
	}
	if (z.below) {
		LLVMValueRef part = tsr_kit_mul(k, LLVMBuildUDiv(k->b, jr, tsr_kit_int(k, s->nr), ""), tsr_kit_int(k, z.below * TSR_LINE / k->elem_bytes));
		LLVMValueRef at = tsr_kit_add(k, tsr_kit_mul(k, arg[TSR_TILE_A_ROW], tsr_kit_int(k, s->mr)), part);
		arg[TSR_TILE_A_AHEAD] = LLVMBuildGEP2(k->b, k->elem, arg[TSR_TILE_A], &at, 1, "");
	}
	tsr_tile t = { z.rows, z.vecs, z.masked, tsr_kit_stride(arg[TSR_TILE_A_ROW]), tsr_kit_stride(arg[TSR_TILE_A_K]),
				   tsr_kit_stride(arg[TSR_TILE_B_K]), p->form, .b_table = s->cols && !s->dense, .b_kept = p->depth != NULL, .b_lines = ahead.lines, .b_near = ahead.lines && s->turn, .b_walked = walked(g), .watched = g->seen != NULL,
				   .given = z.sums != NULL, .asks = z.a_step != NULL, .below = z.below, .tail = p->tail, .gaps = p->gaps,
				   .b_column = tsr_copies_columns(g) ? tsr_columns_each(g) : s->dots ? tsr_kit_known(g->cls[TSR_CLASS_N].at[0].stride[TSR_SIDE_B]) : 0 };
	t.b_column /= g->pairs ? 2 : 1;
	int64_t columns = tsr_kit_known(g->cls[TSR_CLASS_N].count);
	t.columns = s->dots && z.masked && columns > 0 && columns < k->lanes && columns % TSR_DOTS_GROUP ? (uint32_t)columns : 0;
	t.cut = s->dots ? 0 : z.cut, t.padded = t.cut && s->pack_b;
	int64_t depth = tsr_kit_known(g->cls[TSR_CLASS_K].count);
	t.shallow = depth >= 0 && (depth < s->kc ? depth : s->kc) < SHALLOW;
	arg[TSR_TILE_SEEN] = g->seen ? g->seen : LLVMConstNull(k->ptr);
	arg[TSR_TILE_NEXT] = LLVMConstNull(k->ptr), arg[TSR_TILE_NEXT_LEFT] = tsr_kit_int(k, 0);
	if (s->early)
		tsr_early_tile(g, bl, ir, jr, &t, arg);
	else if (!z.sums) {
		tsr_engine_ahead(g, ir, p->n, &t, &arg[TSR_TILE_NEXT], &arg[TSR_TILE_NEXT_LEFT]);
		tsr_engine_next_panel(g, bl, ir, jr, p->b, &t, &arg[TSR_TILE_NEXT]);
		tsr_engine_next_dots(g, ir, p->b, &t, &arg[TSR_TILE_NEXT]);
		tsr_engine_next_block(g, bl, ir, jr, &t, &arg[TSR_TILE_NEXT], &arg[TSR_TILE_NEXT_LEFT]);
	}
	tsr_tail_args(g, p->tail, p->m, p->n, bl->last, arg + TSR_TILE_PARAMS);
	call(k, tsr_tile_function(k, &t), arg, TSR_TILE_PARAMS + tsr_tail_params(p->tail));
}

/* From one place of a loop of A's rows to the next, in what tiles multiply; 0: it is not known, or between two of these. */
static int64_t rows_apart(tsr_engine *g, const tsr_expr *a, const tsr_contract_loop *loop)
{
	int64_t apart = tsr_kit_known(tsr_engine_stride(g, a->load.buffer, a->load.index, loop->sym)), each = g->pairs ? 2 : 1;
	return apart > 0 && apart % each == 0 ? apart / each : 0;
}

/* Tiles whose rows of A are places of a row of an image ask for what the next row reads, of an A that no second cache holds; where it does not hold some rows either, or there is no other,
 * for what the third tile from here does. */
static void asks_beyond(tsr_engine *g, tsr_rows_tile *t)
{
	enum { ROWS = 4, TILES = 3 };
	const tsr_target *target = g->e->target;
	const tsr_walks *rows = &g->walks[TSR_CLASS_M];
	const tsr_expr *a = tsr_contract_guarded(g->c->a_value);
	if (!target->rows_ahead || !a || a->kind != TSR_EXPR_LOAD || !rows->nloops || tsr_buffer_guess(g->e->loops->buffers.at[a->load.buffer]) <= target->rows_ahead)
		return;
	int64_t down = rows->nloops > 1 ? rows_apart(g, a, &rows->loop[rows->nloops - 2]) : 0;
	t->each = rows_apart(g, a, &rows->loop[rows->nloops - 1]);
	t->beyond = !t->each ? 0 : down && down * g->k.elem_bytes <= target->l2 / ROWS ? down : TILES * t->rows * t->each;
}

static void pointed_tile(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, const tile_place *p, tile_ahead ahead, size_of_tile z)
{
	tsr_kit *k = &g->k;
	const tsr_rows *r = &g->pointed;
	LLVMValueRef arg[TSR_MOST_PARAMS] = { LLVMBuildInBoundsGEP2(k->b, k->ptr, r->table, &ir, 1, ""), p->b, p->c, tsr_rows_list(k, r, ir), z.cols,
										  p->add, p->b_k, p->c_row, p->c_rows, p->c_columns, g->around, ahead.from, g->b_places ? g->b_places : LLVMConstNull(k->ptr), g->seen ? g->seen : LLVMConstNull(k->ptr) };
	tsr_rows_tile t = { z.rows, z.vecs, z.masked, g->b_places != NULL, g->seen != NULL, z.cut, z.cut && g->s->pack_b, (r->run < g->s->kc ? r->run : g->s->kc) / (g->pairs ? 2 : 1), r->capacity, r->most, tsr_kit_stride(p->b_k), p->form, ahead.lines, p->tail, r->step, p->gaps, 0, 0 };
	asks_beyond(g, &t);
	tsr_tail_args(g, p->tail, p->m, p->n, bl->last, arg + TSR_ROWS_PARAMS);
	call(k, tsr_rows_tile_function(k, &t), arg, TSR_ROWS_PARAMS + tsr_tail_params(p->tail));
}

static void any_tile(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef jr, const tile_place *p, tile_ahead ahead, size_of_tile z)
{
	if (g->s->rows)
		pointed_tile(g, bl, ir, p, ahead, z);
	else
		packed_tile(g, bl, ir, jr, p, ahead, z);
}

static void vector_tile(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef jr, size_of_tile z)
{
	const tsr_kit *k = &g->k;
	bool passing = tsr_tail_passes(g->tail), waits = z.waits || !g->direct || (passing && !g->tail->in_tiles);
	tile_place p = place_of(g, bl, ir, jr, waits);
	tile_ahead ahead = ahead_of(g, bl, ir, jr, &p);
	p.form.stream &= !z.masked && z.vecs * k->lanes * k->elem_bytes % TSR_LINE == 0;
	bool clears = g->c->gaps && !waits && tsr_gaps_in_tiles(g);
	if (clears) {
		tile_place cleared = p;
		cleared.gaps = g->c->gaps;
		tsr_guard once = tsr_guard_begin(&g->k, LLVMBuildNot(k->b, p.add, ""));
		any_tile(g, bl, ir, jr, &cleared, ahead, z);
		tsr_guard_end(&g->k, once);
		once = tsr_guard_begin(&g->k, p.add);
		any_tile(g, bl, ir, jr, &p, ahead, z);
		tsr_guard_end(&g->k, once);
	} else
		any_tile(g, bl, ir, jr, &p, ahead, z);
	if (waits && !passing)
		scatter(g, p.m, p.n, z.valid_rows, z.cols, bl->add);
	if (g->c->gaps && !clears) {
		tsr_guard once = tsr_guard_begin(&g->k, LLVMBuildNot(k->b, bl->add, ""));
		tsr_gaps_emit(g, &(tsr_gap_tile){ p.m, ir, p.n, z.valid_rows, z.cols, z.vecs });
		tsr_guard_end(&g->k, once);
	}
	if (g->tail && !p.tail) {
		tsr_guard last = tsr_guard_begin(&g->k, bl->last);
		tsr_tail_apply(g, p.m, p.n, z.valid_rows, z.cols);
		tsr_guard_end(&g->k, last);
	}
}

/* Some rows of the sums at a time go to C as those of a vector tile do; of as many as the run says those that are fewer wait. */
static void matrix_tile(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef jr, size_of_tile z)
{
	enum { SOME = 8 };
	tsr_kit *k = &g->k;
	uint32_t rest = z.waits ? SOME : z.rows % SOME;
	LLVMValueRef some = tsr_kit_int(k, SOME), nr = tsr_kit_int(k, g->s->nr), all = z.waits ? z.valid_rows : tsr_kit_int(k, z.rows), whole = LLVMBuildAnd(k->b, all, tsr_kit_int(k, -SOME), "");
	LLVMValueRef sums = tsr_matrix_sums(g, bl, ir, tsr_kit_at(k, bl->b, tsr_kit_mul(k, jr, bl->b_each)), z.rows, z.vecs);
	size_of_tile part = z;
	if (z.rows >= SOME) {
		tsr_count i = tsr_count_begin(k, tsr_kit_int(k, 0), whole, some);
		part.rows = SOME, part.valid_rows = some, part.waits = false, part.sums = tsr_kit_at(k, sums, tsr_kit_mul(k, i.i, nr));
		vector_tile(g, bl, tsr_kit_add(k, ir, i.i), jr, part);
		tsr_count_end(k, &i);
	}
	if (rest) {
		tsr_guard left = z.waits ? tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSLT, whole, all, "")) : (tsr_guard){ 0 };
		part.rows = rest, part.valid_rows = LLVMBuildNSWSub(k->b, all, whole, ""), part.waits = z.waits, part.sums = tsr_kit_at(k, sums, tsr_kit_mul(k, whole, nr));
		vector_tile(g, bl, tsr_kit_add(k, ir, whole), jr, part);
		if (z.waits)
			tsr_guard_end(k, left);
	}
}

static void tile_call(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef jr, size_of_tile z)
{
	(g->matrix ? matrix_tile : vector_tile)(g, bl, ir, jr, z);
}

static bool any_full(const tsr_tiling *t) { return t->total < 0 || t->total >= t->unit; }
static bool any_rest(const tsr_tiling *t) { return t->total < 0 || t->total % t->unit; }

static size_of_tile with_rows(tsr_engine *g, const tsr_tiling *t, bool full, size_of_tile z)
{
	uint32_t mr = g->s->mr;
	z.rows = full || t->total < 0 ? mr : (uint32_t)(t->total % mr);
	z.valid_rows = full ? t->step : t->rest;
	z.waits = !full && t->total < 0;
	return z;
}

/* Where rows are few each height of what is behind whole tiles, known only when it runs, has a tile of its own; elsewhere one of a known height does, or one that waits; of rows
 * found by pointers two of these, of a half and a whole tile (37 rows by tiles of 9 took 1.25 times as long as known ones with one, which computed 45, and take 1.1). */
static bool all_heights(const tsr_engine *g, const tsr_tiling *t) { return t->total < 0 && g->c->most_rows; }

enum { PARTS = 2 };

static bool in_parts(const tsr_engine *g, const tsr_tiling *t) { return t->total < 0 && !g->c->most_rows && g->s->rows && !g->s->pack_a && !g->matrix && g->s->mr >= 2 * PARTS; }

static uint32_t heights_of(const tsr_engine *g, const tsr_tiling *t) { return !any_rest(t) ? 0 : all_heights(g, t) ? g->s->mr - 1 : in_parts(g, t) ? PARTS : 1; }

/* Rows of so many parts of a tile. */
static uint32_t part_of_tile(const tsr_engine *g, uint32_t n) { return (g->s->mr * n + PARTS - 1) / PARTS; }

/* The tile behind whole ones, number i of these. */
static tsr_guard height_begin(tsr_engine *g, const tsr_tiling *t, uint32_t i, size_of_tile *z)
{
	tsr_kit *k = &g->k;
	*z = with_rows(g, t, false, *z);
	if (in_parts(g, t)) {
		z->rows = part_of_tile(g, i + 1);
		return tsr_guard_begin(k, LLVMBuildAnd(k->b, LLVMBuildICmp(k->b, LLVMIntSGT, t->rest, tsr_kit_int(k, part_of_tile(g, i)), ""), LLVMBuildICmp(k->b, LLVMIntSLE, t->rest, tsr_kit_int(k, z->rows), ""), ""));
	}
	if (!all_heights(g, t))
		return tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSGT, t->rest, tsr_kit_int(k, 0), ""));
	z->rows = i + 1, z->valid_rows = tsr_kit_int(k, i + 1), z->waits = false;
	return tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntEQ, t->rest, z->valid_rows, ""));
}

static size_of_tile with_cols(tsr_engine *g, const tsr_tiling *t, bool full, size_of_tile z)
{
	uint32_t nr = g->s->nr, lanes = g->k.lanes, left = full || t->total < 0 ? nr : (uint32_t)(t->total % nr);
	/* whole vectors are there to be read, and to be written or cut where they are stored */
	bool padded = g->s->pack_b && (!g->direct || g->form.stretches);
	z.vecs = (left + lanes - 1) / lanes;
	z.masked = !full && !padded && (t->total < 0 || left % lanes);
	z.cols = full ? t->step : t->rest;
	return z;
}

/* What is behind whole tiles can have so many widths: one, but where threads' columns end at any vector. */
typedef struct widths { uint32_t least, most; bool any; } widths;

static widths widths_of(const tsr_engine *g, const tsr_tiling *t)
{
	bool any = g->split && g->s->split == TSR_CLASS_N && g->s->by_vectors;
	uint32_t most = any_rest(t) || any ? g->s->nr / g->k.lanes : 0;
	return any ? (widths){ 1, most - 1, true } : (widths){ most, most, false };
}

/* The tile behind whole ones, where it has so many vectors. */
static tsr_guard rest_begin(tsr_engine *g, const tsr_tiling *t, widths w, uint32_t vecs, size_of_tile *z)
{
	tsr_kit *k = &g->k;
	*z = with_cols(g, t, false, *z);
	if (!w.any && t->total >= 0 && z->masked && g->k.target->masks == TSR_MASKS_NONE)
		z->cut = (uint32_t)(t->total % g->s->nr);
	z->vecs = w.any ? vecs : z->vecs;
	LLVMValueRef here = w.any ? LLVMBuildICmp(k->b, LLVMIntEQ, t->rest, tsr_kit_int(k, vecs * k->lanes), "")
		: LLVMBuildICmp(k->b, LLVMIntSGT, t->rest, tsr_kit_int(k, 0), "");
	return tsr_guard_begin(k, here);
}

/* What is done with each tile of a column or a row, at row `ir`. */
typedef void at_rows(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef jr, size_of_tile z);

/* Those that share rows. */
static void shared_tiles(tsr_engine *g, const tsr_block *bl, LLVMValueRef jr, const tsr_heights *h, size_of_tile z, at_rows *at)
{
	tsr_kit *k = &g->k;
	uint32_t rest = h->shared % h->low;
	LLVMValueRef low = tsr_kit_int(k, h->low), behind = tsr_kit_add(k, h->whole, tsr_kit_int(k, h->shared - rest));
	tsr_guard both = tsr_guard_begin(k, h->both);
	z.rows = z.panel = h->low, z.valid_rows = low, z.waits = false;
	tsr_count i = tsr_count_begin(k, h->whole, behind, low);
	at(g, bl, i.i, jr, z);
	tsr_count_end(k, &i);
	if (rest) {
		z.rows = rest, z.valid_rows = tsr_kit_int(k, rest);
		at(g, bl, behind, jr, z);
	}
	tsr_guard_end(k, both);
}

static void each_height(tsr_engine *g, const tsr_block *bl, LLVMValueRef jr, const tsr_heights *h, size_of_tile z, at_rows *at)
{
	tsr_kit *k = &g->k;
	const tsr_tiling *t = &h->t;
	if (any_full(t)) {
		tsr_count i = tsr_count_begin(k, tsr_kit_int(k, 0), h->whole, t->step);
		at(g, bl, i.i, jr, with_rows(g, t, true, z));
		tsr_count_end(k, &i);
	}
	if (h->shared)
		shared_tiles(g, bl, jr, h, z, at);
	for (uint32_t i = 0; i < heights_of(g, t) && !h->always; i++) {
		size_of_tile rest = z;
		tsr_guard other = h->shared ? tsr_guard_begin(k, LLVMBuildNot(k->b, h->both, "")) : (tsr_guard){ 0 };
		tsr_guard some = height_begin(g, t, i, &rest);
		at(g, bl, t->full, jr, rest);
		tsr_guard_end(k, some);
		if (h->shared)
			tsr_guard_end(k, other);
	}
}

/* A is what a kernel has just left in a cache. */
static bool in_strip(const tsr_engine *g)
{
	const tsr_buffer *a = g->c->a == TSR_NONE ? NULL : g->e->loops->buffers.at[g->c->a];
	return a && (a->row || a->home == TSR_HOME_THREAD);
}

/* So few rows of A that the next position of a batch finds them in the second cache. */
static bool comes_again(tsr_engine *g)
{
	int64_t rows = tsr_kit_known(g->cls[TSR_CLASS_M].count), depth = tsr_kit_known(g->cls[TSR_CLASS_K].count);
	return next_position(g) && rows > 0 && depth > 0 && rows * depth * g->k.elem_bytes <= g->e->target->l2;
}

/* The tiles of a column ask for the next rows of A where there are no other columns that would find them near, and no strip (opt/strip.c). */
static void ask_ahead(tsr_engine *g, size_of_tile *z)
{
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	int64_t columns = tsr_kit_known(g->cls[TSR_CLASS_N].count);
	if (s->pack_a || s->rows || s->dots || in_strip(g) || comes_again(g) || columns < 1 || columns > s->nr || tsr_kit_known(only_stride(g, TSR_CLASS_K, TSR_SIDE_A)) != 1)
		return;
	z->a_step = tsr_kit_int(k, TSR_ROUND * k->elem_bytes);
}

/* All tiles of one column of the block: full ones, then the remaining height as a smaller tile. */
static void tile_column(tsr_engine *g, const tsr_block *bl, LLVMValueRef jr, size_of_tile z)
{
	tsr_kit *k = &g->k;
	if (g->columns)
		tsr_fill_columns(g, tsr_kit_add(k, bl->n, jr), z.cols);
	if (g->form.knit)
		tsr_fill_stretches(g, tsr_kit_add(k, bl->n, jr));
	else if (g->form.stretches)
		tsr_fill_vectors(g, tsr_kit_add(k, bl->n, jr), z.cols);
	if (g->matrix)
		tsr_matrix_column(g, bl, tsr_kit_at(k, bl->b, tsr_kit_mul(k, jr, bl->b_each)), z.vecs);
	tsr_heights h = tsr_heights_of(g, bl->rows, z.vecs);
	ask_ahead(g, &z);
	each_height(g, bl, jr, &h, z, tile_call);
}

/* The columns of a block from `first` on, `total` of them where that is known and all lie in one block. */
static void column_tiles(tsr_engine *g, const tsr_block *bl, LLVMValueRef first, LLVMValueRef cols, int64_t total)
{
	tsr_kit *k = &g->k;
	LLVMValueRef zero = tsr_kit_int(k, 0);
	tsr_tiling t = tsr_tiling_of(k, first, cols, total, g->s->nr);
	if (any_full(&t)) {
		tsr_count j = tsr_count_begin(k, zero, t.full, t.step);
		tile_column(g, bl, tsr_kit_add(k, first, j.i), with_cols(g, &t, true, (size_of_tile){ 0 }));
		tsr_count_end(k, &j);
	}
	widths w = widths_of(g, &t);
	for (uint32_t v = w.least; v && v <= w.most; v++) {
		size_of_tile z = { 0 };
		tsr_guard some = rest_begin(g, &t, w, v, &z);
		tile_column(g, bl, tsr_kit_add(k, first, t.full), z);
		tsr_guard_end(k, some);
	}
}

/* The tiles of a row of the block ask for the next rows of A together.  In rounds of few multiply-adds whatever asks takes their place, so that each
 * tile asks for a part of each row once; else a little in each round, more often than need be. */
static void ask_below(tsr_engine *g, const tsr_block *bl, size_of_tile *z)
{
	enum { FEW = 16, MOST = 8 };
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	int64_t n = tsr_kit_known(g->cls[TSR_CLASS_N].count), tiles = ((n > 0 && n < s->nc ? n : s->nc) + s->nr - 1) / s->nr;
	int64_t lines = (s->kc * k->elem_bytes + TSR_LINE - 1) / TSR_LINE, each = (lines + tiles - 1) / tiles;
	if (tsr_kit_known(only_stride(g, TSR_CLASS_K, TSR_SIDE_A)) != 1)
		return;
	if (g->e->target->tile_m * g->e->target->tile_n < FEW)
		z->below = (uint32_t)(each < MOST ? each : MOST);
	else
		z->a_step = LLVMBuildUDiv(k->b, tsr_kit_add(k, bl->cols, tsr_kit_int(k, (int64_t)TSR_ROUND * k->elem_bytes * g->s->nr - 1)), bl->cols, "");
}

/* The tiles of one row of the block, along B's panels as they lie in memory. */
static void tile_row(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef first, size_of_tile z)
{
	tsr_kit *k = &g->k;
	tsr_tiling t = tsr_tiling_of(k, first, bl->cols, tsr_kit_known(g->cls[TSR_CLASS_N].count), g->s->nr);
	ask_below(g, bl, &z);
	if (any_full(&t)) {
		tsr_count j = tsr_count_begin(k, first, t.full, t.step);
		tile_call(g, bl, ir, j.i, with_cols(g, &t, true, z));
		tsr_count_end(k, &j);
	}
	widths w = widths_of(g, &t);
	for (uint32_t v = w.least; v && v <= w.most; v++) {
		size_of_tile rest = z;
		tsr_guard some = rest_begin(g, &t, w, v, &rest);
		tile_call(g, bl, ir, t.full, rest);
		tsr_guard_end(k, some);
	}
}

static void row_tiles(tsr_engine *g, const tsr_block *bl)
{
	tsr_heights h = tsr_heights_of(g, bl->rows, g->s->nr / g->k.lanes);
	each_height(g, bl, tsr_kit_int(&g->k, 0), &h, (size_of_tile){ 0 }, tile_row);
}

/* Where B's rows are read in place no tile reaches from one stretch into the next. */
void tsr_engine_tiles(tsr_engine *g, const tsr_block *bl)
{
	tsr_kit *k = &g->k;
	LLVMValueRef zero = tsr_kit_int(k, 0);
	if (g->form.stretches)
		tsr_fill_rows(g, bl);
	if (g->s->join) {
		tsr_block some = *bl;
		tsr_count t = tsr_count_begin(k, zero, bl->cols, tsr_kit_int(k, g->s->join));
		some.turned = tsr_kit_add(k, bl->n, t.i);
		column_tiles(g, &some, t.i, t.step, g->s->join);
		tsr_engine_join(g, &some);
		tsr_count_end(k, &t);
		return;
	}
	if (rows_pass(g)) {
		row_tiles(g, bl);
		return;
	}
	if (!g->s->cols || g->s->dense) {
		column_tiles(g, bl, zero, bl->cols, g->s->turn ? g->s->turn : tsr_kit_known(g->cls[TSR_CLASS_N].count));
		return;
	}
	LLVMValueRef run = tsr_kit_int(k, g->across.run);
	tsr_count t = tsr_count_begin(k, zero, bl->cols, run);
	column_tiles(g, bl, t.i, run, g->across.run);
	tsr_count_end(k, &t);
}
