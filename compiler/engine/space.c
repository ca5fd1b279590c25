/* What a contraction needs before its loops: sizes and strides as values, and memory for panels, tables of pointers and tiles that
 * wait to be stored. */
#include "private.h"
#include <string.h>

LLVMValueRef tsr_engine_stride(tsr_engine *g, tsr_buffer_id buffer, const tsr_lin *index, uint32_t sym)
{
	const tsr_buffer *b = g->e->loops->buffers.at[buffer];
	LLVMValueRef total = tsr_kit_int(&g->k, 0), step = tsr_kit_int(&g->k, 1);
	for (uint32_t axis = b->rank; axis-- > 0;) {
		if (tsr_lin_mentions(&index[axis], sym))
			total = tsr_kit_add(&g->k, total, tsr_kit_mul(&g->k, step, tsr_kit_int(&g->k, tsr_lin_coef(&index[axis], sym))));
		step = tsr_kit_mul(&g->k, step, tsr_emit_size(g->e, b->dims[axis]));
	}
	return total;
}

LLVMValueRef tsr_engine_at(tsr_engine *g, tsr_side side, LLVMValueRef p, LLVMValueRef n)
{
	tsr_kit *k = &g->k;
	return g->pairs && side != TSR_SIDE_C ? LLVMBuildInBoundsGEP2(k->b, LLVMInt16TypeInContext(k->context), p, &n, 1, "") : tsr_kit_at(k, p, n);
}

LLVMValueRef tsr_engine_steps(tsr_engine *g, LLVMValueRef depth)
{
	tsr_kit *k = &g->k;
	return g->pairs ? LLVMBuildLShr(k->b, tsr_kit_add(k, depth, tsr_kit_int(k, 1)), tsr_kit_int(k, 1), "") : depth;
}

static LLVMValueRef stride_value(tsr_engine *g, uint32_t sym, tsr_side side)
{
	const tsr_contraction *c = g->c;
	const tsr_lin *index = side == TSR_SIDE_C ? c->c_index : side == TSR_SIDE_A ? c->a_index : c->b_index;
	return tsr_engine_stride(g, side == TSR_SIDE_C ? c->c : side == TSR_SIDE_A ? c->a : c->b, index, sym);
}

/* Extents are at least one, since places are found by dividing by them; the count tells that there is nothing. */
void tsr_engine_group(tsr_engine *g, const tsr_loops *l, const tsr_walks *x, tsr_group *out)
{
	out->n = x->n;
	out->at = TSR_NEW_N(l->tc->arena, tsr_span_axis, x->n + 1);
	out->count = tsr_kit_int(&g->k, 1);
	for (uint32_t i = 0; i < x->n; i++) {
		LLVMValueRef n = tsr_emit_size(g->e, x->at[i].extent);
		out->count = tsr_kit_mul(&g->k, out->count, n);
		out->at[i].extent = tsr_kit_some(&g->k, n);
		for (int side = 0; side < TSR_SIDES; side++)
			out->at[i].stride[side] = x->at[i].known || !tsr_contract_plain(l, g->c, (tsr_side)side)
				? tsr_kit_int(&g->k, x->at[i].stride[side]) : stride_value(g, x->at[i].sym, (tsr_side)side);
	}
	for (int side = 0; side < TSR_SIDES; side++)
		out->unit[side] = x->n == 0 || tsr_kit_known(out->at[x->n - 1].stride[side]) == 1;
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

tsr_group tsr_group_axes(const tsr_group *g, uint32_t first, uint32_t limit) { return (tsr_group){ .n = limit - first, .at = g->at + first }; }

tsr_group tsr_group_in_memory(tsr_engine *g, const tsr_group *x, tsr_side side)
{
	tsr_kit *k = &g->k;
	tsr_group all = { .at = TSR_NEW_N(g->e->tc->arena, tsr_span_axis, x->n + 1), .count = x->count };
	for (uint32_t i = 0; i < x->n; i++) {
		tsr_span_axis *outer = all.n ? &all.at[all.n - 1] : NULL, axis = x->at[i];
		int64_t extent = tsr_kit_known(axis.extent), stride = tsr_kit_known(axis.stride[side]);
		if (outer && extent > 0 && stride > 0 && tsr_kit_known(outer->extent) > 0 && tsr_kit_known(outer->stride[side]) == extent * stride) {
			axis.extent = tsr_kit_mul(k, outer->extent, axis.extent);
			*outer = axis;
		} else
			all.at[all.n++] = axis;
	}
	all.unit[side] = x->unit[side];
	return all;
}

int64_t tsr_group_run(const tsr_group *g, tsr_side side)
{
	int64_t run = 1;
	for (uint32_t i = g->n; i-- > 0;) {
		int64_t extent = tsr_kit_known(g->at[i].extent), stride = tsr_kit_known(g->at[i].stride[side]);
		if (i + 1 < g->n && stride != run * tsr_kit_known(g->at[g->n - 1].stride[side]))
			break;
		run = extent > 0 && stride > 0 ? run * extent : -1;
		if (run < 0)
			break;
	}
	return run;
}

/* This thread's work area: its stack for what is small, which the sanitizer does not watch. */
static LLVMValueRef work_area(tsr_engine *g, uint64_t bytes)
{
	if (!g->e->team || !g->s->small || bytes > TSR_SMALL_BYTES || g->e->sanitize)
		return tsr_emit_work_area(g->e, bytes);
	LLVMValueRef area = tsr_emit_alloca(g->e, LLVMArrayType2(LLVMInt8TypeInContext(g->k.context), bytes), "");
	LLVMSetAlignment(area, TSR_LINE);
	return area;
}

static int64_t at_most(int64_t block, LLVMValueRef count)
{
	int64_t n = tsr_kit_known(count);
	return n >= 0 && n < block ? n : block;
}

/* Elements that evaluating an operand row by row needs; turning them reads up to one vector past the last. */
static int64_t value_rows(tsr_engine *g, int64_t depth)
{
	const tsr_loops *l = g->e->loops;
	const tsr_walks *m = &g->walks[TSR_CLASS_M], *n = &g->walks[TSR_CLASS_N], *k = &g->walks[TSR_CLASS_K];
	int64_t width = 0;
	if (g->s->pack_a && !tsr_contract_plain(l, g->c, TSR_SIDE_A) && tsr_computed_by_rows(l, g->c->a_value, m, k))
		width = g->s->mr;
	if (g->s->pack_b && !tsr_copies_columns(g) && !tsr_contract_plain(l, g->c, TSR_SIDE_B) && tsr_computed_by_rows(l, g->c->b_value, n, k) && g->s->nr > width)
		width = g->s->nr;
	return width ? width * depth + g->k.lanes : 0;
}

/* Each row and each stretch of C begins at a line if C does. */
static bool by_lines(const tsr_engine *g)
{
	int64_t line = TSR_LINE / g->k.elem_bytes;
	for (int cls = TSR_CLASS_M; cls <= TSR_CLASS_N; cls++)
		for (uint32_t i = 0; i < g->cls[cls].n; i++) {
			int64_t stride = tsr_kit_known(g->cls[cls].at[i].stride[TSR_SIDE_C]);
			bool last = i + 1 == g->cls[cls].n && (cls == TSR_CLASS_N || g->s->knit);
			if (!last && (stride <= 0 || stride % line))
				return false;
		}
	return g->s->nr % line == 0 && (!g->s->cols || g->s->dense || g->c->across.length % line == 0);
}

/* How tiles store into C themselves: its columns lie side by side, or in stretches that are not too short. */
static bool form_of(const tsr_engine *g, tsr_c_form *form)
{
	const tsr_group *m = &g->cls[TSR_CLASS_M], *n = &g->cls[TSR_CLASS_N];
	uint32_t lanes = g->k.lanes;
	if (g->s->turn || g->s->join) {
		form->row = (tsr_stride){ true, tsr_engine_waiting_row(g) };
		return true;
	}
	if (tsr_engine_sets_aside(g)) {
		form->row = (tsr_stride){ true, g->s->nr };
		return true;
	}
	if (!n->unit[TSR_SIDE_C])
		return false;
	if (n->n <= 1 && m->n <= 1 && !g->s->knit) {
		form->row = tsr_kit_stride(m->n ? m->at[0].stride[TSR_SIDE_C] : tsr_kit_int((tsr_kit *)&g->k, 0));
		form->stream = g->stream && by_lines(g);
		return true;
	}
	if (g->s->knit) {
		*form = (tsr_c_form){ .stretches = 1, .whole = true, .stream = g->stream && by_lines(g), .knit = (uint32_t)g->s->knit };
		return true;
	}
	int64_t run = n->n ? tsr_kit_known(n->at[n->n - 1].extent) : 1;
	bool aligned = !g->s->cols || g->s->dense || g->c->across.length % lanes == 0;
	if (n->n > 1 && run < 2)
		return false;
	form->stretches = n->n > 1 ? tsr_stretches(lanes, run, aligned) : 1;
	form->whole = aligned && run > 0 && run % lanes == 0 && (g->s->cols || tsr_kit_known(n->count) >= 0);
	bool equal = aligned && n->n > 1 && run > 0 && run < lanes && lanes % run == 0 && !g->s->cols && tsr_kit_known(n->count) % lanes == 0;
	form->part = equal ? (uint32_t)run : 0;
	form->stream = g->stream && form->whole && run % (TSR_LINE / g->k.elem_bytes) == 0 && by_lines(g);
	if (form->stretches <= TSR_MOST_STRETCHES)
		return true;
	*form = (tsr_c_form){ 0 };
	return false;
}

/* Sums that wait, of all rows or of a block's; joining reads up to one vector past the last. */
static int64_t waiting_of(const tsr_engine *g, int64_t rows)
{
	int64_t n = g->s->turn ? tsr_kit_known(g->cls[TSR_CLASS_M].count) : g->s->join ? rows : 0;
	return n ? (n * tsr_engine_waiting_row(g) + g->k.lanes) * g->k.elem_bytes : 0;
}

static int64_t edges_of(const tsr_kit *k, const tsr_rows *r) { return (r->most * r->capacity * r->edge * k->elem_bytes + 63) / 64 * 64; }

static void to_c(tsr_engine *g)
{
	g->direct = form_of(g, &g->form);
	if (!g->tail)
		return;
	g->tail->in_tiles = g->tail->like_c && g->direct && !g->form.stretches;
	g->form.stream &= g->tail->in_tiles && !g->c->tail->passing;     /* sums that are read again stay near */
}

/* Tables of operands whose rows are read where they lie; the bytes of a copy of B's. */
static int64_t point_at_rows(tsr_engine *g, int64_t rows, int64_t depth)
{
	if (g->s->rows)
		g->pointed = tsr_rows_of(&g->k, g->e, g->c, TSR_SIDE_A, g->walks, rows);
	if (g->s->step) {
		const tsr_walks *m = &g->walks[TSR_CLASS_M];
		const tsr_expr *a = tsr_contract_guarded(g->c->a_value);
		g->pointed.step = tsr_kit_known(tsr_engine_stride(g, a->load.buffer, a->load.index, m->loop[m->nloops - 1].sym));
	}
	if (g->s->cols)
		g->across = tsr_rows_of(&g->k, g->e, g->c, TSR_SIDE_B, g->walks, depth);
	return g->s->dense ? (tsr_rows_width(&g->k, &g->across) * depth * g->k.elem_bytes + 255) / 128 * 128 : 0;
}

/* Elements of a panel for each of its positions: where these are pairs, a row of A may have one more vector of them. */
static int64_t depth_of(const tsr_engine *g)
{
	int64_t depth = at_most(g->s->kc, g->cls[TSR_CLASS_K].count), lanes = g->k.lanes;
	if (g->s->thirds)
		return tsr_thirds_each_known(g->s->planes ? g->planes.depth : depth);
	return g->matrix || g->pairs ? (depth + 2 * lanes - 1) / (2 * lanes) * lanes + lanes : depth;
}

/* Where anything is fetched behind so many bytes, no other thread's memory begins before its end. */
static void keep_apart(tsr_engine *g, int64_t bytes, int64_t behind)
{
	if (g->e->team && behind)
		tsr_emit_work_area(g->e, (uint64_t)(bytes + behind));
}

/* Of B's rows tiles walk only those that lie inside. */
static bool keeps_depths(const tsr_engine *g)
{
	return g->s->cols && !g->s->dense && !g->matrix && !g->pairs && tsr_rows_keep(&g->across);
}

/* The table of B's rows; of those that are kept each has two numbers, and behind them is how many there are. */
static int64_t bytes_across(const tsr_engine *g)
{
	int64_t rows = g->across.most * g->across.capacity;
	return keeps_depths(g) ? rows * 16 + g->across.most * 8 : rows * 8 + (g->across.edge ? 64 : 0);        /* looked through in vectors */
}

static void place_across(tsr_engine *g, LLVMValueRef at)
{
	tsr_kit *k = &g->k;
	const tsr_group *along = &g->cls[TSR_CLASS_K];
	g->across.table = at;
	if (!keeps_depths(g))
		return;
	g->across.apart = g->s->pack_a ? tsr_kit_int(k, g->s->mr) : along->n ? along->at[0].stride[TSR_SIDE_A] : tsr_kit_int(k, 0);
	g->across.kept = tsr_emit_offset(g->e, TSR_PREC_U8, at, tsr_kit_int(k, g->across.most * g->across.capacity * 16));
}

void tsr_engine_space(tsr_engine *g)
{
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	int64_t depth = depth_of(g);
	int64_t rows = (at_most(s->mc, g->cls[TSR_CLASS_M].count) + s->mr - 1) / s->mr * s->mr;
	int64_t cols = (at_most(s->nc, g->cls[TSR_CLASS_N].count) + s->nr - 1) / s->nr * s->nr;
	int64_t tall = g->pairs ? tsr_matrix_rows(rows) : rows, a = s->planes ? tsr_planes_bytes(g) : s->pack_a ? (tall * depth * k->elem_bytes + 255) / 128 * 128 : 0;
	int64_t b = tsr_copies_columns(g) ? tsr_columns_bytes(g) : s->pack_b ? (cols * depth * k->elem_bytes + 255) / 128 * 128 : 0;
	int64_t gap = g->e->sanitize ? TSR_REDZONE : 0;
	to_c(g);
	bool passing = tsr_tail_passes(g->tail);
	bool waits = !g->direct || passing || (tsr_kit_known(g->cls[TSR_CLASS_M].count) < 0 && !g->c->most_rows);
	if (waits && !passing && g->cls[TSR_CLASS_N].n > 1)
		g->columns = tsr_kit_table(k, s->nr);
	if (g->form.stretches)
		g->c_columns = tsr_kit_table(k, 2 * g->form.stretches * (s->nr / k->lanes));
	int64_t buffer = waits ? (int64_t)s->mr * s->nr * k->elem_bytes : 0;
	int64_t c_rows = g->form.stretches ? (rows * 8 + 63) / 64 * 64 : 0, rows_bytes = g->matrix || g->pairs ? 0 : value_rows(g, depth) * k->elem_bytes;
	tsr_rows *r = &g->pointed;
	b = tsr_early_bytes(g, b) + point_at_rows(g, rows, depth);
	int64_t across = bytes_across(g);
	int64_t table = r->most * r->capacity * 8 + (r->edge ? 64 : 0), list = r->mr ? tsr_rows_list_length(r) * (r->capacity / r->mr) * 8 : 0;
	if (tsr_engine_packs_together(g)) {
		tsr_seat *team = g->e->team;
		g->packed_b = team->shared;
		tsr_seat_needs(team, (uint64_t)(b + gap), 0);
		tsr_emit_redzone(g->e, g->packed_b, 0, b, gap);
		b = 0;
	}
	int64_t waiting = tsr_engine_sets_aside(g) ? tsr_aside_bytes(g, cols) : waiting_of(g, rows);
	int64_t lines = tsr_lines_bytes(g), places = s->rows && !s->pack_b && g->cls[TSR_CLASS_K].n > 1 ? r->most * 8 : 0;
	int64_t sums = g->matrix ? (tsr_matrix_deep(g) ? rows : s->mr) * (int64_t)s->nr * 4 + (s->planes ? tsr_planes_sums_bytes(g) : 0) : 0, narrow = g->matrix || g->pairs ? tsr_matrix_narrow_bytes(g, tall, cols, depth) : 0;
	enum { PIECES = 15 };
	int64_t piece[PIECES] = { a, b, buffer, rows_bytes, (table + 63) / 64 * 64, (list + 63) / 64 * 64, (across + 63) / 64 * 64, c_rows, waiting,
								 edges_of(k, r), edges_of(k, &g->across), lines, (places + 63) / 64 * 64, sums, narrow }, at[PIECES + 1] = { 0 };
	for (int i = 0; i < PIECES; i++)
		at[i + 1] = at[i] + piece[i] + (piece[i] ? gap : 0);
	if (at[PIECES] == 0)
		return;
	keep_apart(g, at[2], tsr_early_behind(g, s->nr * depth * k->elem_bytes));
	LLVMValueRef area = work_area(g, (uint64_t)at[PIECES]), place[PIECES];
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
	place_across(g, place[6]);
	g->c_rows = place[7];
	g->waiting = place[8];
	g->lines = lines ? place[11] : NULL;
	r->edges = place[9], g->across.edges = place[10];
	g->b_places = places ? place[12] : NULL, g->sums = s->planes ? tsr_planes_sums(g, place[13]) : place[13], g->narrow = place[14];
}
