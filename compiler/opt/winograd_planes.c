/* Where the elements of tiles are kept, and the loops that go through them. */
#include "winograd_build.h"
#include "../base/text.h"

/* ---- loops ------------------------------------------------------------------------------------------------------------- */

/* A place of a window, which no loop goes through. */
bool tsr_wino_is_place(const tsr_winograd *w, const tsr_stmt *loop) { return w->window[0].whole == loop || w->window[1].whole == loop; }

/* A loop around blocks. */
bool tsr_wino_is_outer(const tsr_winograd *w, const tsr_stmt *loop)
{
	const tsr_nest *n = w->over ? &w->summed : &w->made;
	for (uint32_t i = 0; w->cut && i < w->outer; i++)
		if (n->loop[i] == loop)
			return true;
	return false;
}

/* Blocks are parts of what is summed. */
bool tsr_wino_sums_blocks(const tsr_winograd *w) { return w->cut && w->over && !w->columns; }

/* So many iterations the loop has within a block, those over tiles for each tile. */
tsr_size tsr_wino_within(const tsr_winograd *w, const tsr_stmt *loop)
{
	int window = tsr_wino_window(w, loop->loop.sym);
	return loop == w->cut ? tsr_size_const(w->rows) : window >= 0 ? tsr_size_const(w->window[window].tiles) : loop->loop.extent;
}

tsr_lin tsr_wino_symbol(const tsr_winograd *w, uint32_t sym) { return tsr_lin_add_sym(w->p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, sym); }

/* A loop like that one. */
tsr_stmt *tsr_wino_loop_like(const tsr_winograd *w, const tsr_stmt *like, tsr_size extent, tsr_for_kind how)
{
	tsr_stmt *s = tsr_stmt_new(w->p->arena, TSR_STMT_FOR, like->span);
	s->loop.sym = w->unit->nsyms++;
	s->loop.name = like->loop.name;
	s->loop.extent = extent;
	s->loop.how = how;
	return s;
}

/* In place of that one, from iteration `from` on; in the kernel's body from here on. */
tsr_stmt *tsr_wino_enter(const tsr_winograd *w, tsr_wino_loops *s, const tsr_stmt *loop, int64_t from, tsr_size extent, tsr_for_kind how)
{
	tsr_stmt *f = tsr_wino_loop_like(w, loop, extent, how);
	tsr_lin kept = tsr_wino_symbol(w, f->loop.sym);
	kept.offset = from;
	s->of[s->n].loop = loop;
	s->of[s->n].kept = kept;
	s->of[s->n++].at = loop == w->cut ? tsr_lin_add(w->p->arena, kept, 1, s->block) : kept;
	return f;
}

static uint32_t place_of(const tsr_wino_loops *s, const tsr_stmt *loop)
{
	for (uint32_t i = s->n; i-- > 0;)
		if (s->of[i].loop == loop)
			return i;
	tsr_bug("a loop of a window's sum is missing");
}

tsr_lin tsr_wino_at(const tsr_wino_loops *s, const tsr_stmt *loop) { return s->of[place_of(s, loop)].at; }

/* Of a loop over tiles, this place of the tile. */
tsr_lin tsr_wino_in(const tsr_winograd *w, const tsr_wino_loops *s, int window, int64_t place)
{
	tsr_lin x = tsr_lin_add(w->p->arena, tsr_lin_const(0), w->tile, tsr_wino_at(s, w->window[window].tiled));
	x.offset += place;
	return x;
}

/* ---- planes ---------------------------------------------------------------------------------------------------------- */

/* `row`: of one block. */
static tsr_buffer *planes_buffer(const tsr_winograd *w, const char *what, const tsr_wino_set *x, tsr_prec prec, bool row)
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
		b->dims[axis++] = tsr_wino_within(w, x->at[i]);
	}
	tsr_size *last = &b->dims[b->rank - 1], longer = tsr_row_apart(prec, *last);
	if (longer.k > last->k)
		*last = longer;
	else if (!x->tiled && x->n > 1)          /* planes would meet as rows would: a row more in each */
		b->dims[x->parted + 1].k++;
	tsr_push(a, &w->p->l->buffers, b);
	return b;
}

/* `row`: within the loops around blocks. */
static void add_axis(const tsr_winograd *w, tsr_wino_set *x, const tsr_stmt *loop, bool row)
{
	if (tsr_wino_is_place(w, loop) || (row && tsr_wino_is_outer(w, loop)))
		return;
	x->tiled |= tsr_wino_window(w, loop->loop.sym) >= 0;
	x->at[x->n++] = loop;
}

/* Of an operand: the loops along its axes. */
tsr_wino_set tsr_wino_planes_of_load(const tsr_winograd *w, const char *what, const tsr_expr *load, bool row)
{
	tsr_wino_set x = { 0 };
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
tsr_wino_set tsr_wino_planes_of_results(const tsr_winograd *w, bool row)
{
	tsr_wino_set x = { .parted = w->parts > 1 };
	for (uint32_t i = 0; i < w->made.n; i++)
		add_axis(w, &x, w->made.loop[i], row);
	x.buffer = planes_buffer(w, "planes", &x, w->image->prec, row);
	return x;
}

tsr_lin *tsr_wino_index(const tsr_winograd *w, const tsr_wino_set *x, const tsr_wino_loops *s)
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

tsr_stmt *tsr_wino_store(const tsr_winograd *w, const tsr_wino_set *to, const tsr_wino_loops *s, tsr_expr *value)
{
	tsr_stmt *store = tsr_stmt_new(w->p->arena, TSR_STMT_STORE, w->kernel->span);
	store->store.buffer = to->buffer->id;
	store->store.index = tsr_wino_index(w, to, s);
	store->store.value = value;
	return store;
}

tsr_expr *tsr_wino_zero(const tsr_winograd *w) { return tsr_expr_const(w->p->arena, tsr_scalar_of(w->image->prec, 0)); }
