/* POLICY: closing.  What the constraints leave open is decided here, in five steps, each followed by solving; a step
 * decides for all of its variables at once, from what was known before it, so that no order among them matters.
 *
 *   1 leaves, and what is inside affine and concatenated terms, take their lower bounds
 *   2 components that may vanish, vanish
 *   3 leaves have no more axes than these, and claim nothing; a parameter must not be open
 *   4 at-least n is n; a total over unknown rows is one output axis
 *   5 interiors go upward: no more axes, the claim-free unit
 *
 * Whatever a later step makes known may give a leaf its bound, so step 1 is taken again after each.
 * A row's bound is a candidate, not a fact (inequality of rows is not transitive): it is computed from the results that
 * the row is an operand of, and through them along chains of variables, flank by flank; the shorter flank wins. */
#include "store.h"
#include "../base/map.h"

/* ---- step 1 ------------------------------------------------------------------------------------------------------ */

/* The inequality in a cell of a variable's list, where the variable stands on the given side; NULL where it is another or done. */
static inline const tsr_cstr *waiting(tsr_store *s, uint32_t cell, tsr_row_side side)
{
	if (s->cells.at[cell].side != side)
		return NULL;
	const tsr_cstr *c = tsr_cell_cstr(s, cell);
	s->looks++;
	return c->done ? NULL : c;
}

/* The flanks that one inequality proposes for the operand's variable: what is left of the result's axes, known so far,
 * when the operand's flanks are taken from both ends, around the result's marker; nothing when nothing is known of them. */
static void propose(tsr_store *s, uint32_t by, tsr_outline res, tsr_outline op, tsr_refresh *out)
{
	uint32_t marker = res.nlead, n = res.nlead + res.ntrail;
	bool known = res.var == TSR_NO_ROW;
	if (!known && res.var != op.var && s->rows.at[res.var].has_bound) {
		known = true;
		marker += s->rows.at[res.var].bound_lead;
		n += s->rows.at[res.var].bound_lead + s->rows.at[res.var].bound_trail;
	}
	if (n < op.nlead + op.ntrail)
		return;
	uint32_t to = n - op.ntrail;
	marker = marker < op.nlead ? op.nlead : marker > to ? to : marker;
	if (!known && to == op.nlead)
		return;
	if (s->guess)
		tsr_push(s->arena, &s->proposals, ((tsr_proposal){out->var, by, to > op.nlead}));
	out->lead = !out->any || marker - op.nlead < out->lead ? marker - op.nlead : out->lead;
	out->trail = !out->any || to - marker < out->trail ? to - marker : out->trail;
	out->any = true;
}

static void mark_dirty(tsr_store *s, tsr_ids *list, uint32_t root)
{
	root = tsr_forest_find(s->row_forest, root);
	if (s->rows.at[root].state != TSR_ROW_CLEAN || s->rows.at[root].bound)
		return;
	s->rows.at[root].state = TSR_ROW_DIRTY;
	tsr_push(s->arena, list, root);
}

static inline void first_visit(tsr_store *s, uint32_t var)
{
	tsr_row_var *v = &s->rows.at[var];
	v->state = TSR_ROW_VISITED;
	tsr_push(s->arena, &s->refreshing, ((tsr_refresh){.var = var, .left = v->watchers.n, .cell = v->watchers.first, .low = s->refreshing.n}));
}

static void keep(tsr_store *s, const tsr_refresh *found)
{
	tsr_row_var *v = &s->rows.at[found->var];
	v->state = TSR_ROW_REFRESHED;
	v->has_bound = found->any;
	v->bound_lead = found->lead;
	v->bound_trail = found->trail;
}

/* The shallowest visit to which a variable leads that is being refreshed. */
static uint32_t leads_to(const tsr_store *s, uint32_t var)
{
	for (uint32_t i = s->in_circle.n; i-- > 0;)
		if (s->in_circle.at[i].var == var)
			return s->in_circle.at[i].low;
	for (uint32_t i = s->refreshing.n; i-- > 0;)
		if (s->refreshing.at[i].var == var)
			return i;
	return TSR_NO_ID;
}

/* The deepest visit is done. A circle is kept all at once, when the visit that began it is. */
static inline void leave(tsr_store *s)
{
	tsr_refresh *done = &s->refreshing.at[--s->refreshing.n];
	if (done->low < s->refreshing.n) {
		tsr_refresh *up = done - 1;
		up->low = done->low < up->low ? done->low : up->low;
		tsr_push(s->arena, &s->in_circle, *done);
		return;
	}
	keep(s, done);
	while (s->in_circle.n && s->in_circle.at[s->in_circle.n - 1].low >= s->refreshing.n)
		keep(s, &s->in_circle.at[--s->in_circle.n]);
}

/* Goes on through the inequalities that v is an operand of; true where the result of one has to be refreshed first. */
static bool look_on(tsr_store *s, tsr_refresh *v, uint32_t *first)
{
	for (; v->left; v->left--, v->cell = s->cells.at[v->cell].next) {
		const tsr_cstr *c = waiting(s, v->cell, TSR_SIDE_OPERAND);
		bool poison = false;
		if (!c)
			continue;
		tsr_outline res = tsr_row_outline(s, &c->row.a, &poison);
		tsr_row_state state = res.var != TSR_NO_ROW ? s->rows.at[res.var].state : TSR_ROW_CLEAN;
		if (state == TSR_ROW_DIRTY) {
			*first = res.var;
			return true;
		}
		if (state == TSR_ROW_VISITED) {
			uint32_t low = leads_to(s, res.var);
			v->low = low < v->low ? low : v->low;
		}
		propose(s, c->id, res, tsr_row_outline(s, &c->row.b, &poison), v);
	}
	return false;
}

/* Recomputes the candidates of row variables from those of the results that they are operands of, results before their
 * operands: a variable is refreshed when the dirty variables that it depends on have been. In a circle of variables all see
 * the candidates of the round before, wherever the circle was entered (it is found as Tarjan finds components). */
static void refresh_after_results(tsr_store *s, uint32_t root)
{
	if (s->rows.at[root].state == TSR_ROW_DIRTY)
		first_visit(s, root);
	while (s->refreshing.n) {
		tsr_refresh *top = &s->refreshing.at[s->refreshing.n - 1];
		uint32_t first;
		if (look_on(s, top, &first))
			first_visit(s, first);
		else
			leave(s);
	}
}

/* What was touched, and every operand that it bears on, into s->dirty_now. */
static void dirty_rows(tsr_store *s)
{
	tsr_ids *all = &s->dirty_now;
	all->n = 0;
	for (uint32_t i = 0; i < s->dirty_rows.n; i++)
		mark_dirty(s, all, s->dirty_rows.at[i]);
	s->dirty_rows.n = 0;
	for (uint32_t i = 0; i < all->n && !s->all_dirty; i++)
		TSR_EACH(s, j, &s->rows.at[all->at[i]].watchers) {
			const tsr_cstr *c = waiting(s, j, TSR_SIDE_RESULT);
			uint32_t op = c ? tsr_row_outline(s, &c->row.b, &(bool){false}).var : TSR_NO_ROW;
			if (op != TSR_NO_ROW)
				mark_dirty(s, all, op);
		}
	s->all_dirty = false;
}

static tsr_row fresh_axes(tsr_store *s, uint32_t nlead, uint32_t ntrail)
{
	tsr_row r = {.nlead = nlead, .ntrail = ntrail, .var = TSR_NO_ROW};
	r.lead = nlead ? TSR_NEW_N(s->arena, tsr_dim, nlead) : NULL;
	r.trail = ntrail ? TSR_NEW_N(s->arena, tsr_dim, ntrail) : NULL;
	for (uint32_t i = 0; i < nlead; i++)
		r.lead[i] = tsr_dim_fresh(s, NULL, TSR_NOWHERE);
	for (uint32_t i = 0; i < ntrail; i++)
		r.trail[i] = tsr_dim_fresh(s, NULL, TSR_NOWHERE);
	return r;
}

/* Leaves' open rows take their candidates: the axes are fresh, and get their own bounds through the inequalities. */
static bool rows_take_bounds(tsr_store *s)
{
	bool any = false;
	dirty_rows(s);
	for (uint32_t i = s->dirty_now.n; i-- > 0;) {       /* results mostly come after their operands */
		if (i >= TSR_SOON)
			tsr_list_soon(s, &s->rows.at[s->dirty_now.at[i - TSR_SOON]].watchers);
		refresh_after_results(s, s->dirty_now.at[i]);
	}
	for (uint32_t i = 0; i < s->dirty_now.n; i++) {
		tsr_row_var *v = &s->rows.at[s->dirty_now.at[i]];
		v->state = TSR_ROW_CLEAN;
		if (v->bound || !v->has_bound || !v->in_leaf)
			continue;
		any = true;
		tsr_bind_row(s, s->dirty_now.at[i], fresh_axes(s, v->bound_lead, v->bound_trail), NULL);
	}
	tsr_solve(s);
	return any;
}

static bool dims_take_bounds(tsr_store *s)
{
	bool any = false;
	tsr_ids dirty = s->dirty_dims;
	s->dirty_dims = (tsr_ids){0};
	for (uint32_t i = 0; i < dirty.n; i++) {
		uint32_t root = tsr_forest_find(s->dim_forest, dirty.at[i]);
		const tsr_dim_var *v = &s->dims.at[root];
		if (v->bound || !v->has_lower || !(v->in_leaf || v->in_term || TSR_PLANTED(10)))   /* interiors go down */
			continue;
		any = true;
		tsr_bind_dim(s, root, v->lower, s->cstrs.at[v->lower_cause]);
	}
	tsr_solve(s);
	return any;
}

static void take_bounds(tsr_store *s)
{
	tsr_solve(s);
	do
		while (rows_take_bounds(s))
			;
	while (dims_take_bounds(s) || s->dirty_rows.n);
}

/* ---- steps 2 to 5 ------------------------------------------------------------------------------------------------ */

static bool open_dim(tsr_store *s, uint32_t v) { return tsr_forest_find(s->dim_forest, v) == v && !s->dims.at[v].bound; }
static bool open_row(tsr_store *s, uint32_t v) { return tsr_forest_find(s->row_forest, v) == v && !s->rows.at[v].bound; }

/* The variables that are open, one after the other: of those that were when this was asked last, and those made since. */
typedef struct walk { uint32_t i, kept; } walk;

static bool next_of(tsr_store *s, tsr_open *o, bool rows, walk *w, uint32_t *v)
{
	tsr_ids *l = &o->ids;
	for (uint32_t n = rows ? s->rows.n : s->dims.n; w->i == 0 && o->listed < n; o->listed++)
		tsr_push(s->arena, l, o->listed);
	while (w->i < l->n) {
		*v = l->at[w->i++];
		if (w->i + TSR_SOON < l->n) {
			uint32_t soon = l->at[w->i + TSR_SOON];
			tsr_list_soon(s, rows ? &s->rows.at[soon].watchers : &s->dims.at[soon].watchers);
		}
		if (rows ? open_row(s, *v) : open_dim(s, *v)) {
			l->at[w->kept++] = *v;
			return true;
		}
	}
	l->n = w->kept;
	return false;
}

static bool next_dim(tsr_store *s, walk *w, uint32_t *v) { return next_of(s, &s->open_dims, false, w, v); }
static bool next_row(tsr_store *s, walk *w, uint32_t *v) { return next_of(s, &s->open_rows, true, w, v); }

static void pair_concats(tsr_store *s)
{
	while (tsr_pair_concats(s))
		take_bounds(s);
}

/* The first unknown component, where all of them may vanish and none is known; NULL otherwise. */
static tsr_dim_var *would_be_empty(tsr_store *s, const tsr_cstr *c)
{
	tsr_dim_var *first = NULL;
	for (uint32_t i = 0; i < c->concat.n; i++) {
		tsr_dim d = tsr_dim_find(s, c->concat.at[i]);
		if (d.kind == TSR_DIM_ZERO)
			continue;
		if (!tsr_dim_is_var(d) || !s->dims.at[d.var].discardable)
			return NULL;
		first = first ? first : &s->dims.at[d.var];
	}
	return first;
}

/* A component may vanish because its siblings cover an axis, which they do not when they all vanish: so the first one stays.
 * What stays is found before any is told, so that the order of the concatenations does not matter. */
static void keep_one(tsr_store *s)
{
	TSR_VEC(tsr_dim_var *) kept = {0};
	for (uint32_t i = 0; i < s->of_kind[TSR_C_CONCAT].n; i++) {
		const tsr_cstr *c = s->cstrs.at[s->of_kind[TSR_C_CONCAT].at[i]];
		tsr_dim_var *first = c->done ? NULL : would_be_empty(s, c);
		if (first)
			tsr_push(s->arena, &kept, first);
	}
	for (uint32_t i = 0; i < kept.n; i++)
		kept.at[i]->discardable = false;
}

static void discard(tsr_store *s)
{
	keep_one(s);
	uint32_t v;
	for (walk w = {0}; next_dim(s, &w, &v);)
		if (s->dims.at[v].discardable)
			tsr_bind_dim(s, v, tsr_dim_zero(), NULL);
	take_bounds(s);
}

static void resolve_words(tsr_store *s)
{
	for (uint32_t i = 0; i < s->of_kind[TSR_C_ROW_EQUAL].n; i++) {
		tsr_cstr *c = s->cstrs.at[s->of_kind[TSR_C_ROW_EQUAL].at[i]];
		if (tsr_word_deferred(s, c)) {
			tsr_word_resolve(s, c);
			tsr_solve(s);
		}
	}
	take_bounds(s);
}

/* In the order of the program, so that what is looked up in a result of a lookup is known. */
static void resolve_lookups(tsr_store *s)
{
	static const tsr_cstr_kind kinds[] = {TSR_C_LOOKUP, TSR_C_JOIN};
	for (uint32_t k = 0; k < 2; k++)
		for (uint32_t i = 0; i < s->of_kind[kinds[k]].n; i++) {
			tsr_cstr *c = s->cstrs.at[s->of_kind[kinds[k]].at[i]];
			if (c->done)
				continue;
			tsr_gather_resolve(s, c);
			take_bounds(s);
		}
}

/* Variables under a pending total are left to step 4. */
static void under_totals(tsr_store *s, tsr_map *rows, tsr_map *dims)
{
	tsr_map_init(rows, s->arena);
	tsr_map_init(dims, s->arena);
	for (uint32_t i = 0; i < s->of_kind[TSR_C_TOTAL].n; i++) {
		const tsr_cstr *c = s->cstrs.at[s->of_kind[TSR_C_TOTAL].at[i]];
		if (c->done)
			continue;
		for (uint32_t j = 0; j < c->total.n; j++) {
			bool poison = false;
			tsr_row r = tsr_row_find(s, c->total.rows[j], &poison);
			if (tsr_row_open(r))
				tsr_map_put(rows, r.var)->value.i = 1;
			for (uint32_t k = 0; k < tsr_row_flanks(r); k++) {
				tsr_dim d = tsr_dim_find(s, tsr_row_axis(r, k));
				if (tsr_dim_is_var(d))
					tsr_map_put(dims, d.var)->value.i = 1;
			}
		}
		tsr_dim d = c->total.has_dim ? tsr_dim_find(s, c->total.d) : tsr_dim_unit();
		if (tsr_dim_is_var(d))
			tsr_map_put(dims, d.var)->value.i = 1;
	}
}

/* The greatest at-least n >= 2 of each open dimension. */
static void at_leasts(tsr_store *s, tsr_map *out)
{
	tsr_map_init(out, s->arena);
	for (uint32_t i = 0; i < s->of_kind[TSR_C_AT_LEAST].n; i++) {
		const tsr_cstr *c = s->cstrs.at[s->of_kind[TSR_C_AT_LEAST].at[i]];
		tsr_dim d = !c->done ? tsr_dim_find(s, c->at_least.d) : tsr_dim_unit();
		if (!tsr_dim_is_var(d) || c->at_least.n < 2)
			continue;
		tsr_map_entry *e = tsr_map_put(out, d.var);
		if (c->at_least.n > e->value.i)
			e->value.i = c->at_least.n;
	}
}

static void hidden(tsr_store *s, uint32_t leaf, uint32_t var, tsr_kind kind)
{
	if (leaf != TSR_NO_ID && s->leaves.at[leaf].reported)
		return;
	if (leaf != TSR_NO_ID)
		s->leaves.at[leaf].reported = true;
	tsr_fault_hidden(s, leaf, var, kind);
}

/* A parameter's open row may close where a template introduced it (the axes that the template made are asked for instead), and
 * in the input where it is used only pointwise. */
static bool must_be_given(const tsr_row_var *r) { return r->in_param && !r->from_template && !(r->input && !r->in_spec); }

/* Parameters first: the poison of one that is reported spreads to those that hang together with it. */
static void leaf_rows(tsr_store *s)
{
	tsr_map rows, dims;
	under_totals(s, &rows, &dims);
	uint32_t v;
	for (walk w = {0}; next_row(s, &w, &v);) {
		const tsr_row_var *r = &s->rows.at[v];
		if (!must_be_given(r) || tsr_map_find(&rows, v))
			continue;
		hidden(s, r->leaf, TSR_NO_ID, r->input ? TSR_INPUT : TSR_OUTPUT);
		tsr_poison_row(s, (tsr_row){.var = v});
		tsr_solve(s);
	}
	for (walk w = {0}; next_row(s, &w, &v);)
		if (s->rows.at[v].in_leaf && !tsr_map_find(&rows, v))
			tsr_bind_row(s, v, tsr_row_empty(), NULL);
	take_bounds(s);
}

/* A derived size (one that an affine or concatenated term defines) waits for what defines it, to the end. */
static void leaf_dims(tsr_store *s, bool derived_too)
{
	tsr_map rows, dims, least;
	under_totals(s, &rows, &dims);
	at_leasts(s, &least);
	uint32_t v;
	for (walk w = {0}; next_dim(s, &w, &v);) {
		const tsr_dim_var *d = &s->dims.at[v];
		if (!d->in_param || (d->defs.n && !derived_too) || tsr_map_find(&dims, v))
			continue;
		hidden(s, d->leaf, v, TSR_KINDS);
		tsr_poison_dim(s, (tsr_dim){.kind = TSR_DIM_VAR, .var = v});
		tsr_solve(s);
	}
	for (walk w = {0}; next_dim(s, &w, &v);) {
		const tsr_dim_var *d = &s->dims.at[v];
		if (d->in_leaf && !(d->defs.n && !derived_too) && !tsr_map_find(&dims, v) && !tsr_map_find(&least, v))
			tsr_bind_dim(s, v, tsr_dim_unit(), NULL);
	}
	take_bounds(s);
}

static void close_at_least(tsr_store *s)
{
	tsr_map least;
	at_leasts(s, &least);
	for (uint32_t i = 0; i < least.n; i++) {
		uint32_t v = (uint32_t)least.entries[i].key;
		tsr_dim n = tsr_dim_atom(least.entries[i].value.i, NULL);
		if (open_dim(s, v))
			tsr_bind_dim(s, v, s->dims.at[v].has_lower ? s->dims.at[v].lower : n, NULL);
	}
	take_bounds(s);
}

/* A total over unknown rows: where the known axes do not make it, one axis of the last open row (the output); no more axes. */
static void close_totals(tsr_store *s)
{
	for (uint32_t i = 0; i < s->of_kind[TSR_C_TOTAL].n; i++) {
		tsr_cstr *c = s->cstrs.at[s->of_kind[TSR_C_TOTAL].at[i]];
		if (c->done)
			continue;
		bool poison = false, given = tsr_total_made(s, c);
		for (uint32_t j = c->total.n; j-- > 0;) {
			tsr_row r = tsr_row_find(s, c->total.rows[j], &poison);
			if (tsr_row_open(r))
				tsr_bind_row(s, r.var, fresh_axes(s, 0, given ? 0 : 1), c);
			given |= tsr_row_open(r);
		}
		take_bounds(s);
	}
}

/* A window of which nothing is known has one point; an axis with a runtime number is as long as its static part. */
static void close_terms(tsr_store *s)
{
	for (uint32_t i = 0; i < s->of_kind[TSR_C_AFFINE].n; i++) {
		const tsr_cstr *c = s->cstrs.at[s->of_kind[TSR_C_AFFINE].at[i]];
		if (c->done || !c->affine.term->has_kernel)
			continue;
		tsr_dim k = tsr_dim_find(s, c->affine.term->kernel);
		if (tsr_dim_is_var(k) && !s->dims.at[k.var].defs.n)
			tsr_bind_dim(s, k.var, tsr_dim_unit(), NULL);
	}
	take_bounds(s);
}

static void close_interiors(tsr_store *s)
{
	uint32_t v;
	for (walk w = {0}; next_row(s, &w, &v);)
		tsr_bind_row(s, v, tsr_row_empty(), NULL);
	take_bounds(s);
	close_terms(s);
	for (walk w = {0}; next_dim(s, &w, &v);)
		if (!s->dims.at[v].defs.n && !s->dims.at[v].of_total)
			tsr_bind_dim(s, v, tsr_dim_unit(), NULL);
	take_bounds(s);
	tsr_close_bounded(s);
	leaf_dims(s, true);
	for (walk w = {0}; next_dim(s, &w, &v);)
		tsr_bind_dim(s, v, tsr_dim_unit(), NULL);
	take_bounds(s);
}

bool tsr_store_close(tsr_store *s)
{
	tsr_solve(s);
	s->closing = s->all_dirty = true;
	uint32_t v;
	for (walk w = {0}; next_row(s, &w, &v);)
		tsr_push(s->arena, &s->dirty_rows, v);
	for (walk w = {0}; next_dim(s, &w, &v);)
		tsr_push(s->arena, &s->dirty_dims, v);
	take_bounds(s);                  /* 1 */
	pair_concats(s);
	discard(s);                      /* 2 */
	resolve_words(s);
	resolve_lookups(s);
	leaf_rows(s);                    /* 3 */
	leaf_dims(s, false);
	close_at_least(s);               /* 4 */
	close_totals(s);
	close_interiors(s);              /* 5 */
	for (uint32_t i = 0; i < s->symbols.n; i++) {
		tsr_symbol *sym = &s->symbols.at[i];
		sym->value = tsr_size_normal(s, sym->value);
		sym->dividend = tsr_size_normal(s, sym->dividend);
	}
	tsr_settle_conditions(s);
	return s->nerrors == 0;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

bool tsr_store_dim(tsr_store *s, tsr_dim d, tsr_solved_axis *out)
{
	d = tsr_dim_find(s, d);
	*out = (tsr_solved_axis){.unit = d.kind == TSR_DIM_UNIT, .basis = d.kind == TSR_DIM_ATOM ? d.atom.basis : NULL};
	return tsr_dim_size(s, d, &out->size);
}

bool tsr_store_solved(tsr_store *s, const tsr_shape *shape, tsr_solved *out)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		bool poison = false;
		tsr_row r = tsr_row_find(s, shape->row[k], &poison);
		tsr_solved_row *to = &out->row[k];
		to->n = tsr_row_flanks(r);
		to->marker = r.nlead;
		to->axes = to->n ? TSR_NEW_N(s->arena, tsr_solved_axis, to->n) : NULL;
		if (poison || tsr_row_open(r))
			return false;
		for (uint32_t i = 0; i < to->n; i++)
			if (!tsr_store_dim(s, tsr_row_axis(r, i), &to->axes[i]))
				return false;
	}
	return true;
}

void tsr_solved_given(tsr_store *s, tsr_solved *shape)
{
	for (uint32_t k = 0; s->conditions.n && k < TSR_KINDS; k++)
		for (uint32_t i = 0; i < shape->row[k].n; i++)
			shape->row[k].axes[i].size = tsr_size_given(s, shape->row[k].axes[i].size);
}

bool tsr_store_label(tsr_store *s, const tsr_label *l, tsr_size *out)
{
	tsr_solved_axis axis;
	if (!l->is_row) {
		bool ok = tsr_store_dim(s, l->dim, &axis);
		*out = axis.size;
		return ok;
	}
	bool poison = false;
	tsr_row r = tsr_row_find(s, l->row, &poison);
	*out = tsr_size_const(1);
	if (poison || tsr_row_open(r))
		return false;
	for (uint32_t i = 0; i < tsr_row_flanks(r); i++) {
		if (!tsr_store_dim(s, tsr_row_axis(r, i), &axis))
			return false;
		if (tsr_size_is_const(axis.size))
			*out = tsr_size_scale(s->arena, *out, axis.size.k);
		else if (tsr_size_is_const(*out))
			*out = tsr_size_scale(s->arena, axis.size, out->k);
		else
			return false;
	}
	return true;
}
