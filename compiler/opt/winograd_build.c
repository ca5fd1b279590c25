/* The kernels that winograd.c makes of one. */
#include "winograd.h"
#include "../base/text.h"

/* Planes of elements, one for each two points, which have loops for axes: of tiles, the planes before the second loop over them; or of all elements beside the windows, the planes first, behind the parts of a sum. */
typedef struct planes { tsr_buffer *buffer; uint32_t n; const tsr_stmt *at[TSR_WINO_RANK + 1]; bool tiled, parted; } planes;

/* Where a nest of one of the kernels stands: for each loop of before its iteration, or tile, and where that is kept. */
typedef struct symbols {
	uint32_t n;
	struct { const tsr_stmt *loop; tsr_lin at, kept; } of[2 * TSR_MOST_LOOPS];
	tsr_lin block, plane, part;          /* the first iteration of the loop that is cut into blocks */
} symbols;

/* ---- loops ------------------------------------------------------------------------------------------------------------- */

/* A place of a window, which no loop goes through. */
static bool is_place(const tsr_winograd *w, const tsr_stmt *loop) { return w->window[0].whole == loop || w->window[1].whole == loop; }

/* A loop around blocks. */
static bool is_outer(const tsr_winograd *w, const tsr_stmt *loop)
{
	const tsr_nest *n = w->over ? &w->summed : &w->made;
	for (uint32_t i = 0; w->cut && i < w->outer; i++)
		if (n->loop[i] == loop)
			return true;
	return false;
}

/* Blocks are parts of what is summed. */
static bool sums_blocks(const tsr_winograd *w) { return w->cut && w->over && !w->columns; }

/* So many iterations the loop has within a block, those over tiles for each tile. */
static tsr_size iterations(const tsr_winograd *w, const tsr_stmt *loop)
{
	int window = tsr_wino_window(w, loop->loop.sym);
	return loop == w->cut ? tsr_size_const(w->rows) : window >= 0 ? tsr_size_const(w->window[window].tiles) : loop->loop.extent;
}

static tsr_lin of_symbol(const tsr_winograd *w, uint32_t sym) { return tsr_lin_add_sym(w->p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, sym); }

/* A loop like that one. */
static tsr_stmt *loop_like(const tsr_winograd *w, const tsr_stmt *like, tsr_size extent, tsr_for_kind how)
{
	tsr_stmt *s = tsr_stmt_new(w->p->arena, TSR_STMT_FOR, like->span);
	s->loop.sym = w->unit->nsyms++;
	s->loop.name = like->loop.name;
	s->loop.extent = extent;
	s->loop.how = how;
	return s;
}

/* In place of that one, from iteration `from` on; in the kernel's body from here on. */
static tsr_stmt *enter(const tsr_winograd *w, symbols *s, const tsr_stmt *loop, int64_t from, tsr_size extent, tsr_for_kind how)
{
	tsr_stmt *f = loop_like(w, loop, extent, how);
	tsr_lin kept = of_symbol(w, f->loop.sym);
	kept.offset = from;
	s->of[s->n].loop = loop;
	s->of[s->n].kept = kept;
	s->of[s->n++].at = loop == w->cut ? tsr_lin_add(w->p->arena, kept, 1, s->block) : kept;
	return f;
}

static uint32_t place_of(const symbols *s, const tsr_stmt *loop)
{
	for (uint32_t i = s->n; i-- > 0;)
		if (s->of[i].loop == loop)
			return i;
	tsr_bug("a loop of a window's sum is missing");
}

static tsr_lin at(const symbols *s, const tsr_stmt *loop) { return s->of[place_of(s, loop)].at; }

/* Of a loop over tiles, this place of the tile. */
static tsr_lin in_tile(const tsr_winograd *w, const symbols *s, int window, int64_t place)
{
	tsr_lin x = tsr_lin_add(w->p->arena, tsr_lin_const(0), w->tile, at(s, w->window[window].tiled));
	x.offset += place;
	return x;
}

/* ---- planes ---------------------------------------------------------------------------------------------------------- */

/* Planes would meet in the same sets of a cache: a line more in each row. */
enum { MEETING = 1024, LINE = 64 };

/* `row`: of one block. */
static tsr_buffer *planes_buffer(const tsr_winograd *w, const char *what, const planes *x, tsr_prec prec, bool row)
{
	tsr_arena *a = w->p->arena;
	tsr_buffer *b = TSR_NEW(a, tsr_buffer);
	*b = (tsr_buffer){ .id = w->p->l->buffers.n, .kind = TSR_BUFFER_TEMP, .prec = prec, .rank = x->n + 1 + x->parted, .tensor = TSR_NONE, .row = row, .scratch = true };
	b->name = tsr_intern(w->p->l->tc->names, tsr_format(a, "%s.%s%u", w->kernel->kernel.name, what, b->id));
	b->dims = TSR_NEW_N(a, tsr_size, b->rank);
	uint32_t axis = 0;
	if (x->parted)
		b->dims[axis++] = tsr_size_const(w->parts);
	if (!x->tiled)
		b->dims[axis++] = tsr_size_const(tsr_wino_planes(w));
	for (uint32_t i = 0; i < x->n; i++) {
		if (x->at[i] == w->window[1].tiled)
			b->dims[axis++] = tsr_size_const(tsr_wino_planes(w));
		b->dims[axis++] = iterations(w, x->at[i]);
	}
	int64_t bytes = tsr_prec_bytes(prec), *last = &b->dims[b->rank - 1].k;
	if (*last * bytes % MEETING == 0)
		*last += LINE / bytes;
	else if (!x->tiled && x->n > 1)
		b->dims[x->parted + 1].k++;
	tsr_push(a, &w->p->l->buffers, b);
	return b;
}

/* `row`: within the loops around blocks. */
static void add_axis(const tsr_winograd *w, planes *x, const tsr_stmt *loop, bool row)
{
	if (is_place(w, loop) || (row && is_outer(w, loop)))
		return;
	x->tiled |= tsr_wino_window(w, loop->loop.sym) >= 0;
	x->at[x->n++] = loop;
}

/* Of an operand: the loops along its axes. */
static planes planes_of_load(const tsr_winograd *w, const char *what, const tsr_expr *load, bool row)
{
	planes x = { 0 };
	for (uint32_t axis = 0; axis < w->p->l->buffers.at[load->load.buffer]->rank; axis++) {
		const tsr_lin *index = &load->load.index[axis];
		if (index->n == 1)
			add_axis(w, &x, tsr_wino_loop(w, index->terms[0].id), row);
		else if (index->n)
			add_axis(w, &x, w->window[tsr_wino_window(w, index->terms[0].id)].tiled, row);
	}
	x.buffer = planes_buffer(w, what, &x, load->prec, row);
	return x;
}

/* Of the results: the loops that make them, in their order. */
static planes planes_of_results(const tsr_winograd *w, bool row)
{
	planes x = { .parted = w->parts > 1 };
	for (uint32_t i = 0; i < w->made.n; i++)
		add_axis(w, &x, w->made.loop[i], row);
	x.buffer = planes_buffer(w, "planes", &x, w->image->prec, row);
	return x;
}

static tsr_lin *planes_index(const tsr_winograd *w, const planes *x, const symbols *s)
{
	tsr_lin *index = TSR_NEW_N(w->p->arena, tsr_lin, x->n + 3);
	uint32_t axis = 0;
	if (x->parted)
		index[axis++] = s->part;
	if (!x->tiled)
		index[axis++] = s->plane;
	for (uint32_t i = 0; i < x->n; i++) {
		if (x->at[i] == w->window[1].tiled)
			index[axis++] = s->plane;
		index[axis++] = s->of[place_of(s, x->at[i])].kept;
	}
	return index;
}

static tsr_stmt *store_in(const tsr_winograd *w, const planes *to, const symbols *s, tsr_expr *value)
{
	tsr_stmt *store = tsr_stmt_new(w->p->arena, TSR_STMT_STORE, w->kernel->span);
	store->store.buffer = to->buffer->id;
	store->store.index = planes_index(w, to, s);
	store->store.value = value;
	return store;
}

static tsr_expr *zero(const tsr_winograd *w) { return tsr_expr_const(w->p->arena, tsr_scalar_of(w->image->prec, 0)); }

/* ---- what is made of the points of a tile ------------------------------------------------------------------------------------- */

/* Reads or writes point (i, j) of a tile; NULL: it is 0. */
typedef struct cell cell;
struct cell {
	const tsr_winograd *w;
	tsr_wino_side side;
	tsr_expr *(*load)(const cell *c, int i, int j);
	void (*store)(const cell *c, int i, int j, tsr_expr *value, tsr_stmts *out);
	bool (*inside)(const cell *c, int window, int64_t tile, int point);  /* of what lies in tiles: not outside of all; NULL: nothing does */
	const planes *planes;
	const symbols *s;
	int64_t tile[TSR_WINO_AXES];                         /* one of those that this copy of the statements is for */
};

static tsr_expr *let(const cell *c, tsr_expr *value, tsr_stmts *out)
{
	if (!value)
		return NULL;
	tsr_stmt *s = tsr_stmt_new(c->w->p->arena, TSR_STMT_LET, c->w->kernel->span);
	s->let.local = c->w->unit->nlocals++;
	s->let.prec = value->prec;
	s->let.value = value;
	tsr_push(c->w->p->arena, out, s);
	return tsr_expr_local(c->w->p->arena, s->let.local, value->prec);
}

static void cell_statements(const cell *c, tsr_stmts *out)
{
	tsr_expr *point[TSR_WINO_POINTS], *across[TSR_WINO_POINTS][TSR_WINO_POINTS], *along[TSR_WINO_POINTS];
	int from = tsr_wino_from(c->w, c->side), to = tsr_wino_to(c->w, c->side);
	for (int j = 0; j < from; j++) {
		for (int i = 0; i < from; i++)
			point[i] = let(c, c->load(c, i, j), out);
		for (int i = 0; i < to; i++)
			across[i][j] = let(c, tsr_wino_combined(c->w, c->side, i, point), out);
	}
	for (int i = 0; i < to; i++) {
		for (int j = 0; j < from; j++)
			along[j] = across[i][j];
		for (int j = 0; j < to; j++)
			c->store(c, i, j, tsr_wino_combined(c->w, c->side, j, along), out);
	}
}

/* ---- loops around it -------------------------------------------------------------------------------------------------------- */

/* The points of the tile that are inside, as bits. */
static unsigned inside_of(const cell *c, int window, int64_t tile)
{
	unsigned bits = 0;
	for (int i = 0; i < tsr_wino_points(c->w); i++)
		bits |= (unsigned)(!c->inside || c->inside(c, window, tile, i)) << i;
	return bits;
}

/* Tiles from this one on of which the same points are inside. */
static int64_t alike(const cell *c, int window, int64_t from)
{
	int64_t to = from + 1;
	while (to < c->w->window[window].tiles && inside_of(c, window, to) == inside_of(c, window, from))
		to++;
	return to - from;
}

/* The loops from number `i` of the planes on; tiles at the sides, of which points are outside, have statements of their own. */
static void loops_from(cell c, symbols s, uint32_t i, tsr_stmts *out)
{
	const tsr_winograd *w = c.w;
	tsr_arena *a = w->p->arena;
	c.s = &s;
	if (i == c.planes->n) {
		cell_statements(&c, out);
		return;
	}
	const tsr_stmt *loop = c.planes->at[i];
	int window = tsr_wino_window(w, loop->loop.sym);
	if (window == 1) {                       /* along a row, one loop after the other */
		for (int64_t from = 0, n; from < w->window[1].tiles; from += n) {
			symbols here = s;
			n = alike(&c, 1, from);
			c.tile[1] = from;
			tsr_stmt *f = enter(w, &here, loop, from, tsr_size_const(n), TSR_FOR_PARALLEL);
			tsr_push(a, out, f);
			loops_from(c, here, i + 1, &f->loop.body);
		}
		return;
	}
	tsr_stmt *f = enter(w, &s, loop, 0, iterations(w, loop), TSR_FOR_PARALLEL);
	tsr_push(a, out, f);
	for (int64_t from = 0, n; window == 0 && from < w->window[0].tiles; from += n) {       /* rows in one loop, which threads divide */
		n = alike(&c, 0, from);
		c.tile[0] = from;
		tsr_stmt *when = tsr_stmt_new(a, TSR_STMT_IF, w->kernel->span);
		when->cond.n = 1;
		when->cond.ranges = TSR_NEW(a, tsr_range);
		*when->cond.ranges = (tsr_range){ tsr_lin_add(a, at(&s, loop), 1, tsr_lin_const(-from)), tsr_size_const(n) };
		if (n < w->window[0].tiles)
			tsr_push(a, &f->loop.body, when);
		loops_from(c, s, i + 1, n < w->window[0].tiles ? &when->cond.body : &f->loop.body);
	}
	if (window < 0)
		loops_from(c, s, i + 1, &f->loop.body);
}

/* ---- the operands --------------------------------------------------------------------------------------------------------------- */

static tsr_expr *load_of(const cell *c, const tsr_expr *like, const int point[TSR_WINO_AXES])
{
	const tsr_winograd *w = c->w;
	tsr_arena *a = w->p->arena;
	const tsr_buffer *b = w->p->l->buffers.at[like->load.buffer];
	tsr_lin *index = TSR_NEW_N(a, tsr_lin, b->rank + 1);
	for (uint32_t axis = 0; axis < b->rank; axis++) {
		const tsr_lin *x = &like->load.index[axis];
		int window = x->n ? tsr_wino_window(w, x->terms[0].id) : -1;
		const tsr_wino_axis *of = window >= 0 ? &w->window[window] : NULL;
		if (!x->n)
			index[axis] = tsr_lin_place(a, x, 0, NULL, NULL);
		else if (!of)
			index[axis] = at(c->s, tsr_wino_loop(w, x->terms[0].id));
		else if (x->n == 1 && x->terms[0].id == of->whole->loop.sym)
			index[axis] = tsr_lin_const(of->back ? w->taps - 1 - point[window] : point[window]);
		else
			index[axis] = in_tile(w, c->s, window, point[window] + (x->n > 1 ? of->first : 0));
	}
	return tsr_expr_load(a, b, index);
}

static bool image_inside(const cell *c, int window, int64_t tile, int point)
{
	const tsr_wino_axis *x = &c->w->window[window];
	int64_t at = x->first + c->w->tile * tile + point;
	return at >= 0 && at < c->w->p->l->buffers.at[c->w->image->load.buffer]->dims[x->axis].k;
}

/* Of a loop that is cut into tiles. */
static bool tile_inside(const cell *c, int window, int64_t tile, int point)
{
	return point >= c->w->tile || c->w->tile * tile + point < c->w->window[window].tiled->loop.extent.k;
}

static tsr_expr *load_image(const cell *c, int i, int j)
{
	return image_inside(c, 0, c->tile[0], i) && image_inside(c, 1, c->tile[1], j) ? load_of(c, c->w->image, (int[]){ i, j }) : NULL;
}

static tsr_expr *load_filter(const cell *c, int i, int j)
{
	return !c->w->over || (tile_inside(c, 0, c->tile[0], i) && tile_inside(c, 1, c->tile[1], j)) ? load_of(c, c->w->filter, (int[]){ i, j }) : NULL;
}

static void store_plane(const cell *c, int i, int j, tsr_expr *value, tsr_stmts *out)
{
	symbols s = *c->s;
	s.plane = tsr_lin_const(i * tsr_wino_points(c->w) + j);
	tsr_push(c->w->p->arena, out, store_in(c->w, c->planes, &s, value ? value : zero(c->w)));
}

static void image(const tsr_winograd *w, const planes *x, symbols s, tsr_stmts *out)
{
	loops_from((cell){ .w = w, .side = TSR_WINO_IMAGE, .load = load_image, .store = store_plane, .inside = image_inside, .planes = x }, s, 0, out);
}

static void filter(const tsr_winograd *w, const planes *x, symbols s, tsr_stmts *out)
{
	loops_from((cell){ .w = w, .side = w->over ? TSR_WINO_TILE : TSR_WINO_WINDOW, .load = load_filter, .store = store_plane, .inside = w->over ? tile_inside : NULL, .planes = x }, s, 0, out);
}

/* ---- the products ------------------------------------------------------------------------------------------------------------- */

/* The loops of before within a block; what they hold goes into the innermost one. */
static tsr_stmts *loops_of(const tsr_winograd *w, const tsr_nest *nest, tsr_for_kind how, symbols *s, tsr_stmts *out)
{
	for (uint32_t i = 0; i < nest->n; i++) {
		if (is_place(w, nest->loop[i]) || is_outer(w, nest->loop[i]))
			continue;
		tsr_stmt *f = enter(w, s, nest->loop[i], 0, iterations(w, nest->loop[i]), how);
		tsr_push(w->p->arena, out, f);
		out = &f->loop.body;
	}
	return out;
}

/* Around the loops that make the results. */
static tsr_stmts *loop_over_planes(const tsr_winograd *w, symbols *s, tsr_stmts *out)
{
	tsr_stmt *f = loop_like(w, w->window[0].tiled, tsr_size_const(tsr_wino_planes(w)), TSR_FOR_PARALLEL);
	f->loop.name = tsr_intern(w->p->l->tc->names, "plane");
	s->plane = of_symbol(w, f->loop.sym);
	tsr_push(w->p->arena, out, f);
	return loops_of(w, &w->made, TSR_FOR_PARALLEL, s, &f->loop.body);
}

/* What is summed over blocks. */
static void clear(const tsr_winograd *w, const planes *to, symbols s, tsr_stmts *out)
{
	tsr_stmts *body = loop_over_planes(w, &s, out);
	tsr_push(w->p->arena, body, store_in(w, to, &s, zero(w)));
}

static void product(const tsr_winograd *w, const planes *image, const planes *filter, const planes *to, symbols s, tsr_stmts *out)
{
	tsr_arena *a = w->p->arena;
	const tsr_stmt *first = w->made.body->at[0];
	tsr_stmts *body = loop_over_planes(w, &s, out);
	tsr_prec prec = first->let.prec;
	tsr_stmt *sum = tsr_stmt_new(a, TSR_STMT_LET, first->span), *set = tsr_stmt_new(a, TSR_STMT_SET, first->span);
	sum->let.local = set->let.local = w->unit->nlocals++;
	sum->let.prec = set->let.prec = prec;
	sum->let.value = zero(w);
	tsr_push(a, body, sum);
	tsr_stmts *inner = loops_of(w, &w->summed, TSR_FOR_REDUCE, &s, body);
	tsr_expr *x = tsr_expr_load(a, image->buffer, planes_index(w, image, &s)), *y = tsr_expr_load(a, filter->buffer, planes_index(w, filter, &s));
	set->let.value = tsr_expr_op(a, TSR_OP_ADD, prec, tsr_expr_local(a, sum->let.local, prec), tsr_expr_op(a, TSR_OP_MUL, prec, x, y, NULL), NULL);
	tsr_push(a, inner, set);
	tsr_stmt *store = store_in(w, to, &s, tsr_expr_local(a, sum->let.local, prec));
	if (sums_blocks(w)) {
		store->kind = TSR_STMT_UPDATE;
		store->store.acc = TSR_ACC_ADD;
	}
	tsr_push(a, body, store);
}

/* ---- the results ------------------------------------------------------------------------------------------------------------------ */

/* Of some parts their sum, in pairs. */
static tsr_expr *load_parts(const cell *c, symbols *s, int64_t first, int64_t parts)
{
	tsr_arena *a = c->w->p->arena;
	if (parts > 1) {
		tsr_expr *low = load_parts(c, s, first, parts / 2), *high = load_parts(c, s, first + parts / 2, parts - parts / 2);
		return tsr_expr_op(a, TSR_OP_ADD, low->prec, low, high, NULL);
	}
	s->part = tsr_lin_const(first);
	return tsr_expr_load(a, c->planes->buffer, planes_index(c->w, c->planes, s));
}

static tsr_expr *load_plane(const cell *c, int i, int j)
{
	symbols s = *c->s;
	s.plane = tsr_lin_const(i * tsr_wino_points(c->w) + j);
	return load_parts(c, &s, 0, c->planes->parted ? c->w->parts : 1);
}

/* What follows the sum, at this place. */
static void store_result(const cell *c, int i, int j, tsr_expr *value, tsr_stmts *out)
{
	const tsr_winograd *w = c->w;
	tsr_arena *a = w->p->arena;
	if (!w->over && !(tile_inside(c, 0, c->tile[0], i) && tile_inside(c, 1, c->tile[1], j)))
		return;
	tsr_placing x = { .p = w->p, .unit = w->unit };
	for (uint32_t k = 0; k < w->made.n; k++) {
		const tsr_stmt *s = w->made.loop[k];
		int window = tsr_wino_window(w, s->loop.sym), point = window == 1 ? j : i;
		tsr_lin place = tsr_lin_const(window >= 0 && w->window[window].back ? w->taps - 1 - point : point);
		tsr_place_loop(&x, s->loop.sym, window < 0 ? at(c->s, s) : w->over ? place : in_tile(w, c->s, window, point), NULL);
	}
	tsr_local_pair sum = { w->made.body->at[0]->let.local, let(c, value, out)->local };
	tsr_push(a, &x.locals, sum);
	tsr_stmts rest = { w->made.body->at + 2, w->made.body->n - 2, w->made.body->n - 2 };
	tsr_stmts_place(&x, &rest, out);
}

static void result(const tsr_winograd *w, const planes *x, symbols s, tsr_stmts *out)
{
	loops_from((cell){ .w = w, .side = w->over ? TSR_WINO_OF_WINDOW : TSR_WINO_OF_TILE, .load = load_plane, .store = store_result, .inside = w->over ? NULL : tile_inside, .planes = x }, s, 0, out);
}

/* ---- all of it ---------------------------------------------------------------------------------------------------------------------- */

/* A kernel of its own. */
static tsr_stmts *kernel_of(const tsr_winograd *w, const char *what, tsr_stmts *out)
{
	tsr_stmt *k = tsr_stmt_new(w->p->arena, TSR_STMT_KERNEL, w->kernel->span);
	k->kernel.name = what ? tsr_intern(w->p->l->tc->names, tsr_format(w->p->arena, "%s.%s", w->kernel->kernel.name, what)) : w->kernel->kernel.name;
	tsr_push(w->p->arena, out, k);
	return &k->kernel.body;
}

/* The loops around blocks, all of which share memory; of a sum over them the first one in parts, each of which begins with `to`. */
static tsr_stmts *blocks(const tsr_winograd *w, const planes *to, symbols *s, tsr_stmts *out)
{
	tsr_arena *a = w->p->arena;
	const tsr_nest *nest = sums_blocks(w) ? &w->summed : &w->made;
	if (w->parts > 1) {
		tsr_stmt *f = loop_like(w, w->outer ? nest->loop[0] : w->cut, tsr_size_const(w->parts), TSR_FOR_SERIAL);
		f->loop.name = tsr_intern(w->p->l->tc->names, "part");
		s->part = of_symbol(w, f->loop.sym);
		tsr_push(a, out, f);
		out = &f->loop.body;
	}
	if (sums_blocks(w))
		clear(w, to, *s, out);
	for (uint32_t i = 0; i <= w->outer; i++) {
		const tsr_stmt *loop = i < w->outer ? nest->loop[i] : w->cut;
		int window = tsr_wino_window(w, loop->loop.sym);
		tsr_size each = i < w->outer ? loop->loop.extent : tsr_size_const((window < 0 ? loop->loop.extent.k : w->window[window].tiles) / w->rows);
		bool parted = !i && w->parts > 1;
		if (parted)
			each = tsr_size_const(each.k / w->parts);
		tsr_stmt *f = loop_like(w, loop, each, TSR_FOR_SERIAL);
		tsr_lin here = of_symbol(w, f->loop.sym);
		if (parted)
			here = tsr_lin_add(a, here, each.k, s->part);
		s->of[s->n].loop = loop;
		s->of[s->n].at = s->of[s->n].kept = here;
		s->n++;
		if (i == w->outer)
			s->block = tsr_lin_add(a, tsr_lin_const(0), w->rows, here);
		tsr_push(a, out, f);
		out = &f->loop.body;
	}
	return out;
}

/* Of the four steps those that share a block make one kernel: the image's but where blocks are of columns, the other operand's there and where blocks are summed, and the results' where they are not. */
void tsr_wino_build(tsr_winograd *w, tsr_stmts *out)
{
	bool cut = w->cut != NULL, image_in = cut && !w->columns, filter_in = cut && (w->columns || w->over), results_in = cut && !sums_blocks(w);
	planes of_image = planes_of_load(w, "image", w->image, image_in), of_filter = planes_of_load(w, "filter", w->filter, filter_in), of_results = planes_of_results(w, results_in);
	symbols none = { 0 }, within = { 0 };
	if (!filter_in)
		filter(w, &of_filter, none, kernel_of(w, "filter", out));
	if (!image_in)
		image(w, &of_image, none, kernel_of(w, "image", out));
	tsr_stmts *body = kernel_of(w, results_in ? NULL : "planes", out);
	if (cut)
		body = blocks(w, &of_results, &within, body);
	if (filter_in)
		filter(w, &of_filter, within, body);
	if (image_in)
		image(w, &of_image, within, body);
	product(w, &of_image, &of_filter, &of_results, within, body);
	result(w, &of_results, results_in ? within : none, results_in ? body : kernel_of(w, NULL, out));
	w->p->changes++;
	tsr_pass_note(w->p, "%s: %s takes %d products for %d, by tiles of %d x %d", w->unit->name, w->kernel->kernel.name, tsr_wino_planes(w), w->taps * w->taps * w->tile * w->tile, w->tile, w->tile);
	if (cut)
		tsr_pass_note(w->p, "%s: %s is made in blocks of %lld of %s", w->unit->name, w->kernel->kernel.name, (long long)w->rows, w->cut->loop.name);
}
