/* Planes of the operands' tiles, and results of the products' planes: statements for one tile, and the loops around them. */
#include "winograd_build.h"

/* ---- what is made of the points of a tile ------------------------------------------------------------------------------------- */

/* Reads or writes point (i, j) of a tile; NULL: it is 0. */
typedef struct cell cell;
struct cell {
	const tsr_winograd *w;
	tsr_wino_side side;
	tsr_expr *(*load)(const cell *c, int i, int j);
	void (*store)(const cell *c, int i, int j, tsr_expr *value, tsr_stmts *out);
	bool (*inside)(const cell *c, int window, int64_t tile, int point);  /* of what lies in tiles: not outside of all; NULL: nothing does */
	const tsr_wino_set *planes;
	const tsr_wino_loops *s;
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
	bool flat = tsr_wino_flat(c->w);
	for (int j = 0; j < from; j++) {
		for (int i = 0; i < (flat ? 1 : from); i++)
			point[i] = let(c, c->load(c, i, j), out);
		if (flat)
			across[0][j] = point[0];
		for (int i = 0; !flat && i < to; i++)
			across[i][j] = let(c, tsr_wino_combined(c->w, c->side, i, point), out);
	}
	for (int i = 0; i < (flat ? 1 : to); i++) {
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
static void loops_from(cell c, tsr_wino_loops s, uint32_t i, tsr_stmts *out)
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
			tsr_wino_loops here = s;
			n = alike(&c, 1, from);
			c.tile[1] = from;
			tsr_stmt *f = tsr_wino_enter(w, &here, loop, from, tsr_size_const(n), TSR_FOR_PARALLEL);
			tsr_push(a, out, f);
			loops_from(c, here, i + 1, &f->loop.body);
		}
		return;
	}
	tsr_stmt *f = tsr_wino_enter(w, &s, loop, 0, tsr_wino_within(w, loop), TSR_FOR_PARALLEL);
	tsr_push(a, out, f);
	for (int64_t from = 0, n; window == 0 && from < w->window[0].tiles; from += n) {       /* rows in one loop, which threads divide */
		n = alike(&c, 0, from);
		c.tile[0] = from;
		tsr_stmt *when = tsr_stmt_new(a, TSR_STMT_IF, w->kernel->span);
		when->cond.n = 1;
		when->cond.ranges = TSR_NEW(a, tsr_range);
		*when->cond.ranges = (tsr_range){ tsr_lin_add(a, tsr_wino_at(&s, loop), 1, tsr_lin_const(-from)), tsr_size_const(n) };
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
			index[axis] = tsr_wino_at(c->s, tsr_wino_loop(w, x->terms[0].id));
		else if (x->n == 1 && x->terms[0].id == of->whole->loop.sym)
			index[axis] = tsr_lin_const(of->back ? w->taps - 1 - point[window] : point[window]);
		else
			index[axis] = tsr_wino_in(w, c->s, window, point[window] + (x->n > 1 ? of->first : 0));
	}
	return tsr_expr_load(a, b, index);
}

static bool image_inside(const cell *c, int window, int64_t tile, int point)
{
	const tsr_wino_axis *x = &c->w->window[window];
	if (!x->tiled)
		return true;
	int64_t at = x->first + c->w->tile * tile + point;
	return at >= 0 && at < c->w->p->l->buffers.at[c->w->image->load.buffer]->dims[x->axis].k;
}

/* Of a loop that is cut into tiles. */
static bool tile_inside(const cell *c, int window, int64_t tile, int point)
{
	return !c->w->window[window].tiled || point >= c->w->tile || c->w->tile * tile + point < c->w->window[window].tiled->loop.extent.k;
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
	tsr_wino_loops s = *c->s;
	s.plane = tsr_lin_const(i * tsr_wino_points(c->w) + j);
	tsr_push(c->w->p->arena, out, tsr_wino_store(c->w, c->planes, &s, value ? value : tsr_wino_zero(c->w)));
}

void tsr_wino_image(const tsr_winograd *w, const tsr_wino_set *x, tsr_wino_loops s, tsr_stmts *out)
{
	loops_from((cell){ .w = w, .side = TSR_WINO_IMAGE, .load = load_image, .store = store_plane, .inside = image_inside, .planes = x }, s, 0, out);
}

void tsr_wino_filter(const tsr_winograd *w, const tsr_wino_set *x, tsr_wino_loops s, tsr_stmts *out)
{
	loops_from((cell){ .w = w, .side = w->over ? TSR_WINO_TILE : TSR_WINO_WINDOW, .load = load_filter, .store = store_plane, .inside = w->over ? tile_inside : NULL, .planes = x }, s, 0, out);
}

/* ---- the results ------------------------------------------------------------------------------------------------------------------ */

/* Of some parts their sum, in pairs. */
static tsr_expr *load_parts(const cell *c, tsr_wino_loops *s, int64_t first, int64_t parts)
{
	tsr_arena *a = c->w->p->arena;
	if (parts > 1) {
		tsr_expr *low = load_parts(c, s, first, parts / 2), *high = load_parts(c, s, first + parts / 2, parts - parts / 2);
		return tsr_expr_op(a, TSR_OP_ADD, low->prec, low, high, NULL);
	}
	s->part = tsr_lin_const(first);
	return tsr_expr_load(a, c->planes->buffer, tsr_wino_index(c->w, c->planes, s));
}

static tsr_expr *load_plane(const cell *c, int i, int j)
{
	tsr_wino_loops s = *c->s;
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
		tsr_place_loop(&x, s->loop.sym, window < 0 ? tsr_wino_at(c->s, s) : w->over ? place : tsr_wino_in(w, c->s, window, point), NULL);
	}
	tsr_local_pair sum = { w->made.body->at[0]->let.local, let(c, value, out)->local };
	tsr_push(a, &x.locals, sum);
	tsr_stmts rest = { w->made.body->at + 2, w->made.body->n - 2, w->made.body->n - 2 };
	tsr_stmts_place(&x, &rest, out);
}

void tsr_wino_result(const tsr_winograd *w, const tsr_wino_set *x, tsr_wino_loops s, tsr_stmts *out)
{
	loops_from((cell){ .w = w, .side = w->over ? TSR_WINO_OF_WINDOW : TSR_WINO_OF_TILE, .load = load_plane, .store = store_result, .inside = w->over ? NULL : tile_inside, .planes = x }, s, 0, out);
}
