/* Who waits for what: a constraint stands in the lists of the unsolved variables that it mentions, and is queued when one of them
 * learns something.  Lists are cells of one array, in the order in which the constraints came; a list that is joined to another
 * still says which cells were its own. */
#include "store.h"

void tsr_enqueue(tsr_store *s, tsr_cstr *c)
{
	if (c->done || c->queued)
		return;
	c->queued = true;
	tsr_ids *to = tsr_holds(s, c) ? &s->held : &s->queue;
	tsr_push(s->arena, to, c->id);
}


void tsr_cells_add(tsr_arena *a, tsr_cells *cells, tsr_list *l, tsr_cell cell)
{
	cell.next = 0;
	if (l->n++)
		cells->at[l->last].next = cells->n;
	else
		l->first = cells->n;
	l->last = cells->n;
	tsr_push(a, cells, cell);
}

void tsr_list_add(tsr_store *s, tsr_list *l, const tsr_cstr *c, tsr_row_side side)
{
	tsr_cells_add(s->arena, &s->cells, l, (tsr_cell){c->id, side, 0});
}

void tsr_list_append(tsr_store *s, tsr_list *a, const tsr_list *b)
{
	if (!b->n)
		return;
	if (a->n)
		s->cells.at[a->last].next = b->first;
	else
		a->first = b->first;
	a->last = b->last;
	a->n += b->n;
}

/* Is the class of `root` among the variables that were noted? Else it is noted. */
static bool noted(tsr_store *s, tsr_forest *forest, tsr_ids *on, uint32_t root)
{
	for (uint32_t i = 0; i < on->n; i++)
		if (tsr_forest_find(forest, on->at[i]) == root)
			return true;
	tsr_push(s->arena, on, root);
	return false;
}

/* Row and dimension constraints mention two unsolved variables at most, affine ones three: a slot whose variable has been bound
 * is free again. */
static bool noted_here(tsr_store *s, tsr_cstr *c, bool rows, uint32_t root)
{
	uint32_t *slot = NULL;
	for (uint32_t i = 0; i < sizeof c->on / sizeof *c->on; i++) {
		uint32_t at = !c->on[i] ? TSR_NO_ID : tsr_forest_find(rows ? s->row_forest : s->dim_forest, c->on[i] - 1);
		if (at == root)
			return true;
		if (at == TSR_NO_ID || (rows ? s->rows.at[at].bound : s->dims.at[at].bound))
			slot = &c->on[i];
	}
	if (!slot)
		tsr_bug("constraint %u waits for more variables than it can mention", c->id);
	*slot = root + 1;
	return false;
}

void tsr_watch_dim(tsr_store *s, tsr_cstr *c, uint32_t root)
{
	if (c->kind == TSR_C_TOTAL ? noted(s, s->dim_forest, &c->total.on_dims, root)
		: c->kind == TSR_C_CONCAT ? noted(s, s->dim_forest, &c->concat.on_dims, root) : noted_here(s, c, false, root))
		return;
	tsr_list_add(s, &s->dims.at[root].watchers, c, TSR_SIDE_NONE);
}

/* A variable that stands on both sides has the constraint twice in its list. */
static bool noted_side(tsr_store *s, tsr_cstr *c, uint32_t root, tsr_row_side side)
{
	uint32_t *on = &c->on[side == TSR_SIDE_OPERAND], was = *on;
	*on = root + 1;
	return was && tsr_forest_find(s->row_forest, was - 1) == root;
}

void tsr_watch_row(tsr_store *s, tsr_cstr *c, uint32_t root, tsr_row_side side)
{
	if (side != TSR_SIDE_NONE ? noted_side(s, c, root, side)
		: c->kind == TSR_C_TOTAL ? noted(s, s->row_forest, &c->total.on_rows, root) : noted_here(s, c, true, root))
		return;
	tsr_list_add(s, &s->rows.at[root].watchers, c, side);
}

void tsr_wake(tsr_store *s, const tsr_list *watchers)
{
	s->looks += watchers->n;
	TSR_EACH(s, i, watchers)
		tsr_enqueue(s, tsr_cell_cstr(s, i));
}
