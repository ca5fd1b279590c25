/* Regions: a stretch of emission, and what came of it.
 *
 * A function that is applied again would emit the same constraints again, and they would be solved in the same way. Two things
 * are done instead (elab/share.c decides which, and checks that the same is emitted):
 *
 *   repeat   a region that mentions no variable from outside itself is a solved scheme: all its variables are quantified. It is
 *            instantiated by copying its variables and constraints, as they stood when it was emitted. This is what solving would
 *            have made of it, id by id.
 *   fold     a repeated region that nothing has touched since is made one with another that came of the same scheme: from then on
 *            their shapes are the same variables.
 *
 * Folding guesses that what happens to the one happens to the other. When everything is closed, tsr_region_alone tells whether
 * anything else could have made a difference (alone.c); see Note [Shared applications] in elab/share.c. */
#include "region.h"

static tsr_mark mark_of(const tsr_store *s)
{
	return (tsr_mark){s->dims.n, s->rows.n, s->cstrs.n, s->leaves.n, s->emitted.n, s->symbols.n, s->conditions.n, s->late.n, s->nerrors};
}

void tsr_store_guess(tsr_store *s)
{
	s->trial = TSR_NEW(s->arena, tsr_trial);
	s->guess = true;
}

bool tsr_store_failed(const tsr_store *s) { return s->nerrors > 0; }

tsr_region *tsr_region_begin(tsr_store *s)
{
	tsr_region *r = TSR_NEW(s->arena, tsr_region);
	r->from = mark_of(s);
	return r;
}

void tsr_region_end(tsr_store *s, tsr_region *r) { r->to = mark_of(s); }

/* ---- copies ------------------------------------------------------------------------------------------------------------ */

/* Moves every id of one region; `outside` is set where an id belongs to none. */
typedef struct mover {
	tsr_store *s;
	tsr_mark from, to;
	tsr_mark by;
	bool outside;
	const tsr_cells *cells;          /* lists are made of these, */
	tsr_cells *to_cells;             /* and will be of those */
} mover;

static uint32_t moved(mover *m, uint32_t id, uint32_t from, uint32_t to, uint32_t by)
{
	m->outside |= id < from || id >= to;
	return id + by;
}

static uint32_t moved_cstr(mover *m, uint32_t id)
{
	return id == TSR_NO_ID ? id : moved(m, id, m->from.cstrs, m->to.cstrs, m->by.cstrs);
}

static tsr_dim move_dim(mover *m, tsr_dim d)
{
	if (d.from)
		d.from = moved_cstr(m, d.from - 1) + 1;
	switch (d.kind) {
	case TSR_DIM_VAR: d.var = moved(m, d.var, m->from.dims, m->to.dims, m->by.dims); return d;
	case TSR_DIM_AFFINE: case TSR_DIM_CONCAT: m->outside = true; return d;       /* a stored term is a variable */
	case TSR_DIM_ATOM: case TSR_DIM_UNIT: case TSR_DIM_ZERO: case TSR_DIM_POISON: return d;
	}
	return d;
}

static tsr_dim *move_axes(mover *m, const tsr_dim *at, uint32_t n)
{
	tsr_dim *out = n ? TSR_NEW_N(m->s->arena, tsr_dim, n) : NULL;
	for (uint32_t i = 0; i < n; i++)
		out[i] = move_dim(m, at[i]);
	return out;
}

static tsr_row move_row(mover *m, tsr_row r)
{
	if (r.from)
		r.from = moved_cstr(m, r.from - 1) + 1;
	r.lead = move_axes(m, r.lead, r.nlead);
	r.trail = move_axes(m, r.trail, r.ntrail);
	if (tsr_row_open(r))
		r.var = moved(m, r.var, m->from.rows, m->to.rows, m->by.rows);
	return r;
}

static tsr_ids move_ids(mover *m, const tsr_ids *ids, uint32_t from, uint32_t to, uint32_t by)
{
	tsr_ids out = {0};
	for (uint32_t i = 0; i < ids->n; i++)
		tsr_push(m->s->arena, &out, moved(m, ids->at[i], from, to, by));
	return out;
}

static tsr_list move_list(mover *m, const tsr_list *l)
{
	tsr_list out = {0};
	for (uint32_t i = 0, at = l->first; i < l->n; i++, at = m->cells->at[at].next) {
		tsr_cell cell = m->cells->at[at];
		cell.cstr = moved_cstr(m, cell.cstr);
		tsr_cells_add(m->s->arena, m->to_cells, &out, cell);
	}
	return out;
}

static tsr_dim_var move_dim_var(mover *m, tsr_dim_var v)
{
	if (v.bound)
		v.value = move_dim(m, v.value);
	else if (v.has_lower)
		v.lower = move_dim(m, v.lower);
	v.cause = moved_cstr(m, v.cause);
	v.lower_cause = moved_cstr(m, v.lower_cause);
	if (v.leaf != TSR_NO_ID)
		v.leaf = moved(m, v.leaf, m->from.leaves, m->to.leaves, m->by.leaves);
	v.defs = move_list(m, &v.defs);
	v.watchers = move_list(m, &v.watchers);
	return v;
}

static tsr_row_var move_row_var(mover *m, tsr_row_var v)
{
	if (v.bound)
		v.value = move_row(m, v.value);
	v.cause = moved_cstr(m, v.cause);
	if (v.leaf != TSR_NO_ID)
		v.leaf = moved(m, v.leaf, m->from.leaves, m->to.leaves, m->by.leaves);
	v.watchers = move_list(m, &v.watchers);
	return v;
}

static tsr_dim replace_dim(void *m, tsr_dim d) { return move_dim(m, d); }
static tsr_row replace_row(void *m, tsr_row r) { return move_row(m, r); }

static void move_payload(mover *m, tsr_cstr *c)
{
	tsr_cstr_replace(m->s->arena, c, &(tsr_replacing){m, replace_dim, replace_row});
	if (c->kind == TSR_C_TOTAL) {
		c->total.on_dims = move_ids(m, &c->total.on_dims, m->from.dims, m->to.dims, m->by.dims);
		c->total.on_rows = move_ids(m, &c->total.on_rows, m->from.rows, m->to.rows, m->by.rows);
	}
	if (c->kind == TSR_C_CONCAT)
		c->concat.on_dims = move_ids(m, &c->concat.on_dims, m->from.dims, m->to.dims, m->by.dims);
	if (c->kind == TSR_C_SOURCE)
		c->source.leaf = moved(m, c->source.leaf, m->from.leaves, m->to.leaves, m->by.leaves);
}

static tsr_cstr *move_cstr(mover *m, const tsr_cstr *of)
{
	tsr_cstr *c = tsr_cstr_copy(m->s->arena, of);
	bool rows = tsr_cstr_waits_on_rows(c);
	move_payload(m, c);
	c->id = moved_cstr(m, c->id);
	c->parent = moved_cstr(m, c->parent);
	for (uint32_t i = 0; i < sizeof c->on / sizeof *c->on; i++)
		if (c->on[i])
			c->on[i] = 1 + (rows ? moved(m, c->on[i] - 1, m->from.rows, m->to.rows, m->by.rows)
				: moved(m, c->on[i] - 1, m->from.dims, m->to.dims, m->by.dims));
	return c;
}

static tsr_leaf move_leaf(mover *m, tsr_leaf l)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		l.shape.row[k] = move_row(m, l.shape.row[k]);
	l.source = moved_cstr(m, l.source);
	return l;
}

/* A number that fits nothing outside, or a mistake: such a region is no scheme. */
bool tsr_region_quiet(const tsr_region *r)
{
	return r->from.symbols == r->to.symbols && r->from.conditions == r->to.conditions && r->from.late == r->to.late
		&& r->from.errors == r->to.errors;
}

bool tsr_region_keep(tsr_store *s, tsr_region *r)
{
	mover m = {.s = s, .from = r->from, .to = r->to};
	if (!tsr_region_quiet(r) || s->head < s->queue.n)
		return false;
	tsr_region_state *k = TSR_NEW(s->arena, tsr_region_state);
	m.cells = &s->cells;
	m.to_cells = &k->cells;
	k->from = r->from;
	k->to = r->to;
	k->dims = TSR_NEW_N(s->arena, tsr_dim_var, r->to.dims - r->from.dims + 1);
	k->rows = TSR_NEW_N(s->arena, tsr_row_var, r->to.rows - r->from.rows + 1);
	k->cstrs = TSR_NEW_N(s->arena, tsr_cstr *, r->to.cstrs - r->from.cstrs + 1);
	k->leaves = TSR_NEW_N(s->arena, tsr_leaf, r->to.leaves - r->from.leaves + 1);
	k->emitted = TSR_NEW_N(s->arena, uint32_t, r->to.emitted - r->from.emitted + 1);
	for (uint32_t i = r->from.dims; i < r->to.dims && !m.outside; i++)
		k->dims[i - r->from.dims] = move_dim_var(&m, s->dims.at[i]);
	for (uint32_t i = r->from.rows; i < r->to.rows && !m.outside; i++)
		k->rows[i - r->from.rows] = move_row_var(&m, s->rows.at[i]);
	for (uint32_t i = r->from.cstrs; i < r->to.cstrs && !m.outside; i++)
		k->cstrs[i - r->from.cstrs] = move_cstr(&m, s->cstrs.at[i]);
	for (uint32_t i = r->from.leaves; i < r->to.leaves; i++)
		k->leaves[i - r->from.leaves] = move_leaf(&m, s->leaves.at[i]);
	for (uint32_t i = r->from.emitted; i < r->to.emitted; i++)
		k->emitted[i - r->from.emitted] = s->emitted.at[i];
	if (m.outside)
		return false;
	k->dim_forest = tsr_forest_keep(s->dim_forest, r->from.dims, r->to.dims, s->arena);
	k->row_forest = tsr_forest_keep(s->row_forest, r->from.rows, r->to.rows, s->arena);
	r->kept = k;
	return true;
}

tsr_region *tsr_region_repeat(tsr_store *s, const tsr_region *of)
{
	const tsr_region_state *k = of->kept;
	tsr_region *r = tsr_region_begin(s);
	mover m = {.s = s, .from = k->from, .to = k->to, .cells = &k->cells, .to_cells = &s->cells};
	m.by = (tsr_mark){.dims = s->dims.n - k->from.dims, .rows = s->rows.n - k->from.rows, .cstrs = s->cstrs.n - k->from.cstrs,
	              .leaves = s->leaves.n - k->from.leaves};
	for (uint32_t i = 0; i < k->to.dims - k->from.dims; i++)
		tsr_push(s->arena, &s->dims, move_dim_var(&m, k->dims[i]));
	for (uint32_t i = 0; i < k->to.rows - k->from.rows; i++)
		tsr_push(s->arena, &s->rows, move_row_var(&m, k->rows[i]));
	for (uint32_t i = 0; i < k->to.cstrs - k->from.cstrs; i++) {
		tsr_cstr *c = move_cstr(&m, k->cstrs[i]);
		tsr_push(s->arena, &s->cstrs, c);
		if (c->kind != TSR_C_SOURCE && c->kind != TSR_C_DIM_EQUAL && c->kind != TSR_C_DIM_BELOW && c->kind != TSR_C_ROW_BELOW)
			tsr_push(s->arena, &s->of_kind[c->kind], c->id);
	}
	for (uint32_t i = 0; i < k->to.leaves - k->from.leaves; i++)
		tsr_push(s->arena, &s->leaves, move_leaf(&m, k->leaves[i]));
	for (uint32_t i = 0; i < k->to.emitted - k->from.emitted; i++)
		tsr_push(s->arena, &s->emitted, k->emitted[i] + m.by.cstrs);
	tsr_forest_repeat(s->dim_forest, k->dim_forest, m.by.cstrs);
	tsr_forest_repeat(s->row_forest, k->row_forest, m.by.cstrs);
	r->kept = of->kept;
	tsr_region_end(s, r);
	return r;
}

/* Of the template's region `of` and its copy `to`. Variables from outside the region stay. */
static mover mover_between(tsr_store *s, const tsr_region *of, const tsr_region *to)
{
	mover m = {.s = s, .from = of->from, .to = of->to};
	m.by = (tsr_mark){.dims = to->from.dims - of->from.dims, .rows = to->from.rows - of->from.rows,
	              .cstrs = to->from.cstrs - of->from.cstrs, .leaves = to->from.leaves - of->from.leaves};
	return m;
}

tsr_shape tsr_region_shape(tsr_store *s, const tsr_region *of, const tsr_region *to, const tsr_shape *shape)
{
	mover m = mover_between(s, of, to);
	tsr_shape out;
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		out.row[k] = move_row(&m, shape->row[k]);
	return out;
}

tsr_label tsr_region_label(tsr_store *s, const tsr_region *of, const tsr_region *to, const tsr_label *l)
{
	mover m = mover_between(s, of, to);
	tsr_label out = *l;
	if (l->is_row)
		out.row = move_row(&m, l->row);
	else
		out.dim = move_dim(&m, l->dim);
	return out;
}

uint32_t tsr_store_emission(const tsr_store *s) { return s->cstrs.n; }

uint32_t tsr_region_begins(const tsr_region *r) { return r->from.cstrs; }
uint32_t tsr_region_ends(const tsr_region *r) { return r->to.cstrs; }

uint32_t tsr_region_why(tsr_store *s, const tsr_region *of, const tsr_region *to, uint32_t from, uint32_t end, const tsr_why *why)
{
	uint32_t by = to->from.cstrs - of->from.cstrs;
	for (uint32_t i = from; why && i < end; i++) {
		tsr_cstr *c = s->cstrs.at[i + by];
		tsr_why own = *why;
		own.other = c->why->other;
		c->why = tsr_why_keep(s, &own);
	}
	return from + by;
}

/* ---- folding ------------------------------------------------------------------------------------------------------------- */

/* The copy stands as it was made: nothing has been said of it since. */
static bool untouched(tsr_store *s, const tsr_region *r)
{
	const tsr_region_state *k = r->kept;
	for (uint32_t i = 0; i < r->to.dims - r->from.dims; i++) {
		const tsr_dim_var *v = &s->dims.at[r->from.dims + i], *was = &k->dims[i];
		if (v->bound != was->bound || v->has_lower != was->has_lower || v->watchers.n != was->watchers.n || v->in_term != was->in_term)
			return false;
	}
	for (uint32_t i = 0; i < r->to.rows - r->from.rows; i++) {
		const tsr_row_var *v = &s->rows.at[r->from.rows + i], *was = &k->rows[i];
		if (v->bound != was->bound || v->watchers.n != was->watchers.n || v->in_spec != was->in_spec)
			return false;
	}
	return tsr_forest_unchanged(s->dim_forest, k->dim_forest, r->from.dims)
		&& tsr_forest_unchanged(s->row_forest, k->row_forest, r->from.rows);
}

bool tsr_region_foldable(tsr_store *s, const tsr_region *r, const tsr_region *onto)
{
	return r != onto && r->kept && r->kept == onto->kept && untouched(s, r);
}

bool tsr_region_holds(const tsr_region *r, const tsr_shape *shape, const tsr_region *onto, const tsr_shape *other)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		const tsr_row *a = &shape->row[k], *b = &other->row[k];
		if (tsr_row_open(*a) != tsr_row_open(*b) || a->nlead != b->nlead || a->ntrail != b->ntrail)
			return false;
		if (tsr_row_open(*a) && a->var - r->from.rows != b->var - onto->from.rows)
			return false;
	}
	return true;
}

/* A place for joins that no constraint makes. */
static uint32_t joint(tsr_store *s)
{
	tsr_why why = {.span = TSR_NOWHERE};
	tsr_cstr *c = tsr_cstr_new(s, TSR_C_SOURCE, NULL, &why);
	c->source.leaf = TSR_NO_ID;
	return c->id;
}

void tsr_region_fold(tsr_store *s, const tsr_region *r, const tsr_region *onto)
{
	uint32_t reason = joint(s);
	for (uint32_t i = 0; i < r->to.dims - r->from.dims; i++)
		if (tsr_forest_find(s->dim_forest, r->from.dims + i) == r->from.dims + i)
			tsr_forest_union(s->dim_forest, onto->from.dims + i, r->from.dims + i, reason);
	for (uint32_t i = 0; i < r->to.rows - r->from.rows; i++)
		if (tsr_forest_find(s->row_forest, r->from.rows + i) == r->from.rows + i)
			tsr_forest_union(s->row_forest, onto->from.rows + i, r->from.rows + i, reason);
	for (uint32_t i = r->from.cstrs; i < r->to.cstrs; i++)
		s->cstrs.at[i]->done = true;             /* what they say is said of the other */
}

/* ---- the same shape --------------------------------------------------------------------------------------------------------- */

bool tsr_dims_one(tsr_store *s, tsr_dim a, tsr_dim b)
{
	a = tsr_dim_find(s, a);
	b = tsr_dim_find(s, b);
	return a.kind != TSR_DIM_POISON && a.kind != TSR_DIM_AFFINE && a.kind != TSR_DIM_CONCAT && tsr_dim_same(s, a, b);
}

static bool flanks_one(tsr_store *s, tsr_row a, tsr_row b)
{
	if (a.nlead != b.nlead || a.ntrail != b.ntrail || tsr_row_open(a) != tsr_row_open(b))
		return false;
	for (uint32_t i = 0; i < tsr_row_flanks(a); i++)
		if (!tsr_dims_one(s, tsr_row_axis(a, i), tsr_row_axis(b, i)))
			return false;
	return true;
}

bool tsr_rows_one(tsr_store *s, tsr_row a, tsr_row b)
{
	bool poison = false;
	a = tsr_row_find(s, a, &poison);
	b = tsr_row_find(s, b, &poison);
	return !poison && flanks_one(s, a, b) && a.var == b.var;
}

bool tsr_shapes_linkable(tsr_store *s, const tsr_shape *a, const tsr_shape *b)
{
	bool known = false;
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		bool poison = false;
		tsr_row x = tsr_row_find(s, a->row[k], &poison), y = tsr_row_find(s, b->row[k], &poison);
		if (poison || !flanks_one(s, x, y))
			return false;
		if (tsr_row_open(x) && (s->rows.at[x.var].in_leaf || s->rows.at[y.var].in_leaf))
			return false;
		known |= tsr_row_flanks(x) > 0;
	}
	return known;
}

void tsr_shapes_link(tsr_store *s, const tsr_shape *a, const tsr_shape *b, tsr_row_list *links)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		bool poison = false;
		tsr_row x = tsr_row_find(s, a->row[k], &poison), y = tsr_row_find(s, b->row[k], &poison);
		if (!tsr_row_open(x))
			continue;
		tsr_push(s->arena, links, ((tsr_row){.var = x.var}));
		if (x.var == y.var)
			continue;
		uint32_t reason = joint(s);
		tsr_join_rows(s, x.var, y.var, s->cstrs.at[reason]);
	}
	tsr_solve(s);
}
