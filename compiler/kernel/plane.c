/* Windows over planes, as over images whose channels come first: lanes are places of a row of results, and several rows of them are computed together.
 *
 *     for h parallel { for w parallel {
 *         let s = 0; for i reduce { for j reduce { if h + i - 3 in 0..28, w + j - 3 in 0..28 { set s = s + x[.., h + i - 3, w + j - 3] k[i, j] } } }; store y[.., h, w] = s
 *     } }
 *
 * One row alone loads a vector of the image for each multiply-add, and where the window is wide most of them lie across the end of a line.  Rows of results side by side read
 * the same rows of the image, at other places of the window, and vectors side by side the same elements of the kernel.  So a tile of both goes by the rows that are read: each
 * row's vectors are loaded once for all results whose windows reach it, and each sum is still added in the order that is written.
 *
 * Where vectors lie is known while compiling, and so are the lanes that a guard lets in at the ends of a row; a guard of rows is a branch for each row that is read,
 * and of small windows one for all of them.  What is left over of a row, or of the rows, is computed with what comes before it, some of which is stored twice.
 *
 * A loop around both of the window's, as over the planes of a volume or the channels of an image, goes around a tile's rows: its sums are added plane by plane, as they are written.
 *
 * Where registers are many, and threads do not divide the rows, outer_rows.c writes small windows out, whose loads fit multiply-adds with masks.  Results that go around the caches do so in whole
 * lines, which begin at one column in all rows; the tiles at both ends of a row reach over them and store some of theirs again. */
#include "nests.h"

enum { MOST_ABREAST = 4, MOST_TILE = 16, FEWEST_LANES = 4, FEWEST_POSITIONS = 2, MOST_POSITIONS = 64, MOST_OUTER_ROWS = 25, MOST_TWICE = 200, MOST_LOCALS = 8, MOST_RANGES = 8, LINE = 64, LEAST_LINES = 16 };

typedef struct plane {
	tsr_emit *e;
	const tsr_stmt *rows, *lane;            /* h and w */
	const tsr_stmt *layers, *down, *across;         /* i and j, and the loop around them, or NULL */
	const tsr_stmts *each;                  /* what is done at each position */
	int64_t step, reach;                    /* rows that are read between two rows of results, and between two positions down the window */
	uint32_t nrows, nlanes, nlayers, nlocals;
	const tsr_range *row_range[MOST_RANGES], *lane_range[MOST_RANGES], *layer_range[MOST_RANGES];
	tsr_local_id local[MOST_LOCALS];        /* of each place its own */
	const tsr_stmt *around;                 /* the store that goes around the caches, or NULL */
	LLVMValueRef to_line;                   /* from a multiple of vectors on, to where lines of it begin, the same in all rows */
	unsigned lanes;
	uint32_t abreast;                       /* vectors side by side, at most */
} plane;

/* Rows from `row` on by vectors, each so many columns behind `base`; `edge`: base is 0, and some of their windows may reach over an end of the row. */
typedef struct tile {
	LLVMValueRef row, base;
	uint32_t rows, abreast;
	int64_t at[MOST_ABREAST];
	bool edge;
	bool inner;                             /* guards of rows let in all that are read */
	tsr_emit_view view[MOST_TILE];
} tile;

/* ---- which nests ------------------------------------------------------------------------------------------------------------ */

static bool known(const tsr_stmt *s) { return s->kind == TSR_STMT_FOR && tsr_size_is_const(s->loop.extent) && s->loop.extent.k > 0; }

/* Positions across the window, which may go down alone. */
static int64_t across_all(const plane *x) { return x->across ? x->across->loop.extent.k : 1; }

static int64_t across_step(const plane *x, const tsr_lin *index) { return x->across ? tsr_lin_coef(index, x->across->loop.sym) : 0; }

/* Columns of the lanes and positions across the window alone. */
static bool of_columns(const plane *x, const tsr_range *r)
{
	bool only = tsr_size_is_const(r->size) && tsr_size_is_const(r->index.base);
	for (uint32_t i = 0; i < r->index.n; i++)
		only &= r->index.terms[i].kind == TSR_LSYM_LOOP && (r->index.terms[i].id == x->lane->loop.sym || (x->across && r->index.terms[i].id == x->across->loop.sym));
	return only;
}

/* Layers alone, for all of a tile. */
static bool of_layers(const plane *x, const tsr_lin *index)
{
	return !tsr_lin_mentions(index, x->rows->loop.sym) && !tsr_lin_mentions(index, x->lane->loop.sym) && !tsr_lin_mentions(index, x->down->loop.sym) && !across_step(x, index);
}

/* The same for all rows of results whose windows reach one row. */
static bool of_row(const plane *x, const tsr_lin *index)
{
	return tsr_lin_coef(index, x->rows->loop.sym) * x->reach == tsr_lin_coef(index, x->down->loop.sym) * x->step;
}

static bool sort_ranges(plane *x, const tsr_stmt *guard)
{
	for (uint32_t i = 0; i < guard->cond.n; i++) {
		const tsr_range *r = &guard->cond.ranges[i];
		bool lanes = tsr_lin_mentions(&r->index, x->lane->loop.sym), across = across_step(x, &r->index) != 0;
		bool layers = x->layers && tsr_lin_mentions(&r->index, x->layers->loop.sym);
		uint32_t *n = layers ? &x->nlayers : lanes ? &x->nlanes : &x->nrows;
		if (*n == MOST_RANGES || (layers ? !of_layers(x, &r->index) : lanes ? !of_columns(x, r) : across || !of_row(x, &r->index)))
			return false;
		(layers ? x->layer_range : lanes ? x->lane_range : x->row_range)[(*n)++] = r;
	}
	return true;
}

/* A load along the lanes whose rows are those of a window: what rows are read. */
static void find_rows(plane *x, tsr_expr *v)
{
	tsr_expr *part[TSR_MOST_PARTS];
	for (uint32_t i = tsr_expr_parts(v, part); i-- > 0;)
		find_rows(x, part[i]);
	for (uint32_t axis = 0; v->kind == TSR_EXPR_LOAD && !x->step && axis + 1 < x->e->loops->buffers.at[v->load.buffer]->rank; axis++) {
		int64_t step = tsr_lin_coef(&v->load.index[axis], x->rows->loop.sym), reach = tsr_lin_coef(&v->load.index[axis], x->down->loop.sym);
		if (step > 0 && reach > 0)
			x->step = step, x->reach = reach;
	}
}

/* Lanes load whole elements of 32 bits, side by side or every second one. */
static bool loads_fit(const plane *x, tsr_expr *v)
{
	tsr_expr *part[TSR_MOST_PARTS];
	for (uint32_t i = tsr_expr_parts(v, part); i-- > 0;)
		if (!loads_fit(x, part[i]))
			return false;
	return v->kind != TSR_EXPR_LOAD || tsr_emit_along(x->e, x->lane, v->load.buffer, v->load.index) == 0 || tsr_prec_bytes(x->e->loops->buffers.at[v->load.buffer]->prec) == 4;
}

static bool sets(plane *x)
{
	for (uint32_t i = 0; i < x->each->n; i++) {
		const tsr_stmt *s = x->each->at[i];
		if (s->kind != TSR_STMT_SET || !loads_fit(x, s->let.value))
			return false;
		find_rows(x, s->let.value);
	}
	return x->step;
}

/* The loops of the window and what is done at each of its positions. */
static bool window(plane *x, const tsr_stmt *s)
{
	const tsr_stmt *guard[2] = {NULL, NULL};
	const tsr_stmts *body = &s->loop.body;
	uint32_t n = 0;
	if (x->down || !known(s))
		return false;
	x->down = s;
	for (; body->n == 1; ) {
		const tsr_stmt *in = body->at[0];
		if (in->kind == TSR_STMT_FOR && x->across && !x->layers && known(in) && !n)
			x->layers = x->down, x->down = x->across, x->across = in, body = &in->loop.body;
		else if (in->kind == TSR_STMT_FOR && !x->across && known(in))
			x->across = in, body = &in->loop.body;
		else if (in->kind == TSR_STMT_IF && n < 2)
			guard[n++] = in, body = &in->cond.body;
		else
			break;
	}
	x->each = body;
	if (!sets(x))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!sort_ranges(x, guard[i]))
			return false;
	return true;
}

/* Values, the window, values and stores; what is stored may be stored twice. */
static bool plain(plane *x)
{
	const tsr_stmts *body = &x->lane->loop.body;
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		bool value = s->kind == TSR_STMT_LET || s->kind == TSR_STMT_SET;
		if (s->kind == TSR_STMT_FOR ? !window(x, s) : !(value || s->kind == TSR_STMT_STORE) || !loads_fit(x, value ? s->let.value : s->store.value))
			return false;
		if (s->kind == TSR_STMT_LET && x->nlocals == MOST_LOCALS)
			return false;
		if (s->kind == TSR_STMT_LET)
			x->local[x->nlocals++] = s->let.local;
	}
	return x->down && tsr_emit_may_repeat(body);
}

/* Vectors of the row: whole registers, or parts of them where a row has less. */
static void shape(plane *x)
{
	int64_t columns = x->lane->loop.extent.k;
	x->lanes = x->e->target->vector_bytes / 4;
	while (x->lanes > FEWEST_LANES && x->lanes > columns)
		x->lanes /= 2;
	int64_t vectors = (columns + x->lanes - 1) / x->lanes, tiles = (vectors + MOST_ABREAST - 1) / MOST_ABREAST;
	x->abreast = (uint32_t)((vectors + tiles - 1) / tiles);
}

/* What goes around the caches does so in whole lines, which begin at the same column of each row. */
static bool in_lines(plane *x)
{
	x->around = tsr_emit_around_of(x->lane);
	const tsr_buffer *b = x->e->loops->buffers.at[x->around->store.buffer];
	int64_t bytes = tsr_prec_bytes(b->prec), row;
	return bytes == 4 && tsr_emit_along(x->e, x->lane, b->id, x->around->store.index) == 1 && tsr_index_stride(b, x->around->store.index, x->rows->loop.sym, &row) && row * bytes % LINE == 0
		&& x->lane->loop.extent.k * bytes >= LEAST_LINES * LINE && x->e->target->vector_bytes >= LINE / 2;
}

static bool understand(plane *x, const tsr_stmt *s)
{
	tsr_emit *e = x->e;
	const tsr_stmt *w = s->loop.body.n == 1 ? s->loop.body.at[0] : NULL;
	if (e->wide || e->leaves || e->target->masks == TSR_MASKS_NONE || s->loop.how != TSR_FOR_PARALLEL || tsr_emit_streams(e, s) || s->loop.contraction || !known(s) || !w || !known(w)
		|| w->loop.how != TSR_FOR_PARALLEL || w->loop.contraction || w->loop.split || !tsr_emit_outer_pays(e, w, FEWEST_LANES, NULL))
		return false;
	x->rows = s, x->lane = w;
	/* results of volumes do not go around the caches: 128 x 256 x 256 by 3 x 3 x 3 took 1.2 times as long, 1.4 with AVX2's instructions */
	if (!plain(x) || (tsr_emit_streams(e, w) && !x->layers && !in_lines(x)))
		return false;
	int64_t positions = x->down->loop.extent.k * across_all(x), least = tsr_target_few_registers(e->target) || s->loop.split || x->layers ? FEWEST_POSITIONS : MOST_OUTER_ROWS + 1;
	return positions >= least && positions <= MOST_POSITIONS && x->down->loop.extent.k > 1;
}

/* ---- emission ---------------------------------------------------------------------------------------------------------------- */

static void make_views(const plane *x, tile *t)
{
	tsr_emit *e = x->e;
	for (uint32_t k = 0; k < t->rows * t->abreast; k++) {
		t->view[k] = tsr_emit_view_copy(e);
		for (uint32_t i = 0; i < x->nlocals; i++)
			t->view[k].locals[x->local[i]] = NULL;
		t->view[k].syms[x->rows->loop.sym] = LLVMBuildNSWAdd(e->builder, t->row, tsr_emit_i64(e, k / t->abreast), "");
		t->view[k].syms[x->lane->loop.sym] = LLVMBuildNSWAdd(e->builder, t->base, tsr_emit_i64(e, t->at[k % t->abreast]), "");
	}
}

/* Which lanes from that column on the guards let in at a position across: NULL for all of them; false: none. */
static bool lanes_in(const plane *x, int64_t column, int64_t across, LLVMValueRef *mask)
{
	LLVMValueRef lane[64];
	unsigned in = 0;
	for (unsigned k = 0; k < x->lanes; k++) {
		bool inside = true;
		for (uint32_t i = 0; i < x->nlanes; i++) {
			const tsr_range *r = x->lane_range[i];
			int64_t at = r->index.offset + r->index.base.k + tsr_lin_coef(&r->index, x->lane->loop.sym) * (column + k) + across_step(x, &r->index) * across;
			inside &= at >= 0 && at < r->size.k;
		}
		in += inside;
		lane[k] = LLVMConstInt(x->e->i1, inside, false);
	}
	*mask = in == x->lanes ? NULL : LLVMConstVector(lane, x->lanes);
	return in;
}

/* Where in the window of the tile's row r the row stands that is read; false: it is not reached. */
static bool position_of(const plane *x, int64_t read, uint32_t r, int64_t *down)
{
	int64_t at = read - r * x->step;
	*down = at / x->reach;
	return at >= 0 && at % x->reach == 0 && *down < x->down->loop.extent.k;
}

static void at_position(const plane *x, tile *t, int64_t read, int64_t across)
{
	tsr_emit *e = x->e;
	const tsr_wide *all = e->wide;
	tsr_wide w = *all;
	int64_t down;
	e->wide = &w;
	for (uint32_t v = 0; v < t->abreast; v++) {
		w.mask = NULL;
		if (t->edge && !lanes_in(x, t->at[v], across, &w.mask))
			continue;
		for (uint32_t r = 0; r < t->rows; r++) {
			const tsr_emit_view *view = &t->view[r * t->abreast + v];
			if (!position_of(x, read, r, &down))
				continue;
			view->syms[x->down->loop.sym] = tsr_emit_i64(e, down);
			if (x->across)
				view->syms[x->across->loop.sym] = tsr_emit_i64(e, across);
			tsr_emit_enter(e, view);
			tsr_emit_stmts(e, x->each);
		}
	}
	e->wide = all;
}

/* Of the rows that are read for the tile, the first of which is 0. */
static int64_t last_read(const plane *x, const tile *t) { return (t->rows - 1) * x->step + (x->down->loop.extent.k - 1) * x->reach; }

/* What guards of rows say of the one that is read; NULL: there are none. */
static LLVMValueRef row_in(const plane *x, const tile *t, int64_t read)
{
	tsr_emit *e = x->e;
	tsr_emit_view outside = tsr_emit_view_now(e);
	LLVMValueRef in = NULL;
	int64_t down;
	uint32_t r = 0;
	while (!position_of(x, read, r, &down))
		r++;
	t->view[r * t->abreast].syms[x->down->loop.sym] = tsr_emit_i64(e, down);
	tsr_emit_enter(e, &t->view[r * t->abreast]);
	for (uint32_t i = 0; i < x->nrows; i++) {
		LLVMValueRef one = tsr_emit_in_ranges(e, 1, x->row_range[i]);
		in = in ? LLVMBuildAnd(e->builder, in, one, "") : one;
	}
	tsr_emit_enter(e, &outside);
	return in;
}

static bool reached(const plane *x, const tile *t, int64_t read)
{
	int64_t down;
	for (uint32_t r = 0; r < t->rows; r++)
		if (position_of(x, read, r, &down))
			return true;
	return false;
}

/* All positions that use the row that is read. */
static void one_row(const plane *x, tile *t, int64_t read)
{
	tsr_emit *e = x->e;
	LLVMValueRef in = t->inner ? NULL : row_in(x, t, read);
	LLVMBasicBlockRef then = in ? tsr_emit_block(e, "then") : NULL, after = in ? tsr_emit_block(e, "after") : NULL;
	if (in) {
		LLVMBuildCondBr(e->builder, in, then, after);
		LLVMPositionBuilderAtEnd(e->builder, then);
	}
	for (int64_t j = 0; j < across_all(x); j++)
		at_position(x, t, read, j);
	if (in) {
		LLVMBuildBr(e->builder, after);
		LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(e->builder));
		LLVMPositionBuilderAtEnd(e->builder, after);
	}
}

static void all_read(const plane *x, tile *t)
{
	for (int64_t read = 0; read <= last_read(x, t); read++)
		if (reached(x, t, read))
			one_row(x, t, read);
}

static void one_layer(const plane *x, tile *t, LLVMValueRef layer)
{
	tsr_emit *e = x->e;
	LLVMValueRef in = NULL;
	e->syms[x->layers->loop.sym] = layer;
	for (uint32_t k = 0; k < t->rows * t->abreast; k++)
		t->view[k].syms[x->layers->loop.sym] = layer;
	for (uint32_t i = 0; i < x->nlayers; i++) {
		LLVMValueRef one = tsr_emit_in_ranges(e, 1, x->layer_range[i]);
		in = in ? LLVMBuildAnd(e->builder, in, one, "") : one;
	}
	if (!in) {
		all_read(x, t);
		return;
	}
	tsr_emit_fork f = tsr_emit_fork_usual(e, in, "layer");
	all_read(x, t);
	tsr_emit_fork_other(e, &f);
	tsr_emit_fork_end(e, &f);
}

/* The window of all of the tile, row by row of those that are read. */
static void sums(const plane *x, tile *t)
{
	tsr_emit *e = x->e;
	bool reorder = e->reorder;
	e->reorder = (x->across ? x->across : x->down)->loop.how == TSR_FOR_REDUCE;
	if (x->layers) {
		tsr_emit_loop loop = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), tsr_emit_size(e, x->layers->loop.extent), tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
		one_layer(x, t, loop.index);
		tsr_emit_loop_end(e, &loop);
	} else
		all_read(x, t);
	e->reorder = reorder;
}

static void all_of(const plane *x, tile *t)
{
	tsr_emit *e = x->e;
	const tsr_stmts *body = &x->lane->loop.body;
	tsr_emit_view outside = tsr_emit_view_now(e);
	tsr_wide w = {.loop = x->lane, .lanes = x->lanes, .holds = true, .around = t->edge ? NULL : x->around};
	make_views(x, t);
	e->wide = &w;
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmts one = {&body->at[i], 1, 1};
		if (body->at[i]->kind == TSR_STMT_FOR)
			sums(x, t);
		for (uint32_t k = 0; body->at[i]->kind != TSR_STMT_FOR && k < t->rows * t->abreast; k++) {
			tsr_emit_enter(e, &t->view[k]);
			tsr_emit_stmts(e, &one);
		}
		tsr_emit_enter(e, &outside);
	}
	e->wide = NULL;
}

/* Guards of rows hold for those between where they hold for the first and for the last one.  Small windows are written out without them, too: a branch for each row
 * parts so few loads and multiply-adds there that those of 3 x 3 took 1.4 times as long; with 7 x 7 the code alone is 5 % slower. */
static void emit_tile(const plane *x, tile *t)
{
	tsr_emit *e = x->e;
	if (!x->nrows || t->rows * t->abreast * x->down->loop.extent.k * across_all(x) > MOST_TWICE) {
		all_of(x, t);
		return;
	}
	make_views(x, t);
	LLVMValueRef first = row_in(x, t, 0), last = row_in(x, t, last_read(x, t));
	tsr_emit_fork f = tsr_emit_fork_usual(e, LLVMBuildAnd(e->builder, first, last, ""), "inner");
	t->inner = true;
	all_of(x, t);
	t->inner = false;
	tsr_emit_fork_other(e, &f);
	all_of(x, t);
	tsr_emit_fork_end(e, &f);
}

/* Columns from .. to, with guards, in tiles as even as can be. */
static void columns_at_edge(const plane *x, tile t, int64_t from, int64_t to)
{
	int64_t lanes = x->lanes, vectors = (to - from + lanes - 1) / lanes;
	t.base = tsr_emit_i64(x->e, 0), t.edge = true;
	for (int64_t tiles = (vectors + x->abreast - 1) / x->abreast; tiles > 0; tiles--) {
		t.abreast = (uint32_t)((vectors + tiles - 1) / tiles);
		for (uint32_t v = 0; v < t.abreast; v++, from += lanes)
			t.at[v] = from + lanes <= to ? from : to - lanes;
		vectors -= t.abreast;
		emit_tile(x, &t);
	}
}

/* Columns whose windows reach over no end of the row at any position; from a multiple of a tile on, so many tiles. */
static int64_t inside(const plane *x, int64_t *from)
{
	int64_t width = (int64_t)x->lanes * x->abreast, columns = x->lane->loop.extent.k, first = 0, end = columns;
	LLVMValueRef mask;
	for (int64_t j = 0; j < across_all(x); j++) {
		while (first < columns && (!lanes_in(x, first, j, &mask) || mask))
			first++;
		while (end > 0 && (!lanes_in(x, end - x->lanes, j, &mask) || mask))
			end--;
	}
	*from = (first + width - 1) / width * width;
	end -= x->around ? LINE / 4 - 1 : 0;
	return *from < end ? (end - *from) / width : 0;
}

/* All columns of so many rows from that one on. */
static void emit_rows(const plane *x, LLVMValueRef row, uint32_t rows)
{
	tsr_emit *e = x->e;
	int64_t width = (int64_t)x->lanes * x->abreast, columns = x->lane->loop.extent.k, from, tiles = inside(x, &from), more = x->around ? LINE / 4 : 0;
	tile t = {.row = row, .rows = rows};
	if (tiles < 2) {
		columns_at_edge(x, t, 0, columns);
		return;
	}
	columns_at_edge(x, t, 0, from + more);
	tsr_emit_loop loop = tsr_emit_loop_begin(e, tsr_emit_i64(e, from), tsr_emit_i64(e, from + tiles * width), tsr_emit_i64(e, width), TSR_FOR_SERIAL);
	t.base = x->around ? LLVMBuildNSWAdd(e->builder, loop.index, x->to_line, "") : loop.index, t.abreast = x->abreast;
	for (uint32_t v = 0; v < t.abreast; v++)
		t.at[v] = v * x->lanes;
	emit_tile(x, &t);
	tsr_emit_loop_end(e, &loop);
	columns_at_edge(x, t, from + tiles * width, columns);
}

/* Rows from .. to, so many together; a thread's share ends in single ones. */
static void all_rows(const plane *x, LLVMValueRef from, LLVMValueRef to)
{
	tsr_emit *e = x->e;
	int64_t extent = x->rows->loop.extent.k, n = e->target->vector_registers / 2 / x->abreast;
	n = n < extent ? n : extent;
	bool whole = !(x->rows->loop.split && e->team);
	LLVMValueRef step = tsr_emit_i64(e, n), last = LLVMBuildNSWSub(e->builder, to, step, "");
	LLVMValueRef end = whole ? to : LLVMBuildNSWSub(e->builder, to, LLVMBuildSRem(e->builder, LLVMBuildNSWSub(e->builder, to, from, ""), step, ""), "");
	tsr_emit_loop loop = tsr_emit_loop_begin(e, from, end, step, TSR_FOR_SERIAL);
	emit_rows(x, whole ? LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, loop.index, last, ""), loop.index, last, "") : loop.index, (uint32_t)n);
	tsr_emit_loop_end(e, &loop);
	if (whole)
		return;
	loop = tsr_emit_loop_begin(e, end, to, tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
	emit_rows(x, loop.index, 1);
	tsr_emit_loop_end(e, &loop);
}

bool tsr_emit_plane(tsr_emit *e, const tsr_stmt *s, LLVMValueRef from, LLVMValueRef to)
{
	plane x = {.e = e};
	if (!understand(&x, s))
		return false;
	bool written = e->written, reorder = e->reorder;
	e->written = true, e->reorder = false;
	shape(&x);
	if (x.around) {
		e->syms[s->loop.sym] = from, e->syms[x.lane->loop.sym] = tsr_emit_i64(e, 0);
		x.to_line = tsr_emit_to_line(e, TSR_PREC_F32, tsr_emit_address(e, x.around->store.buffer, x.around->store.index));
	}
	all_rows(&x, from, to);
	e->written = written, e->reorder = reorder;
	return true;
}
