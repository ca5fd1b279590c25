/* Solving some of the facts again.  A fact is an emitted constraint or a row that a leaf states. A trial emits chosen facts
 * into a fresh store, as they were emitted here and in the same order, so that nothing that was solved or poisoned here
 * bears on it; a leaf's row that was not chosen is any row at all, and the leaf does not close by itself there.
 *
 * Terms are copied from the constraints as they were emitted: a variable stands for the variable that was written, never
 * for its class. */
#include "store.h"
#include "../base/map.h"

typedef struct replay {
	const tsr_store *from;
	tsr_store *to;
	tsr_map dims, rows, blank;       /* variable -> copy + 1; source of a row that was not chosen -> row variable + 1 */
	tsr_map chosen;                  /* source constraint -> its copy + 1 */
} replay;

static tsr_dim copy_dim(replay *r, tsr_dim d);

static uint32_t copy_dim_var(replay *r, uint32_t var)
{
	tsr_map_entry *e = tsr_map_put(&r->dims, var);
	if (!e->value.i) {
		const tsr_dim_var *v = &r->from->dims.at[var];
		tsr_dim d = tsr_dim_fresh(r->to, v->label, v->span);
		r->to->dims.at[d.var].discardable = v->discardable;
		r->to->dims.at[d.var].by_use = r->to->dims.at[d.var].in_leaf = v->by_use;
		e->value.i = d.var + 1;
	}
	return (uint32_t)(e->value.i - 1);
}

static uint32_t copy_row_var(replay *r, uint32_t var)
{
	tsr_map_entry *e = tsr_map_put(&r->rows, var);
	if (!e->value.i) {
		uint32_t v = tsr_row_var_new(r->to);
		r->to->rows.at[v].in_spec = r->from->rows.at[var].in_spec;
		r->to->rows.at[v].by_use = r->to->rows.at[v].in_leaf = r->from->rows.at[var].by_use;
		e->value.i = v + 1;
	}
	return (uint32_t)(e->value.i - 1);
}

static tsr_affine *copy_affine(replay *r, const tsr_affine *a)
{
	tsr_affine *t = TSR_NEW(r->to->arena, tsr_affine);
	*t = *a;
	t->over = copy_dim(r, a->over);
	if (a->has_kernel)
		t->kernel = copy_dim(r, a->kernel);
	return t;
}

static tsr_dim copy_dim(replay *r, tsr_dim d)
{
	d.from = 0;
	switch (d.kind) {
	case TSR_DIM_VAR: d.var = copy_dim_var(r, d.var); return d;
	case TSR_DIM_AFFINE: d.affine = copy_affine(r, d.affine); return d;
	case TSR_DIM_CONCAT: {
		tsr_dim *at = TSR_NEW_N(r->to->arena, tsr_dim, d.concat.n + 1);
		for (uint32_t i = 0; i < d.concat.n; i++)
			at[i] = copy_dim(r, d.concat.at[i]);
		d.concat.at = at;
		return d;
	}
	case TSR_DIM_ATOM: case TSR_DIM_UNIT: case TSR_DIM_ZERO: case TSR_DIM_POISON: return d;
	}
	return d;
}

static tsr_dim *copy_axes(replay *r, const tsr_dim *at, uint32_t n)
{
	tsr_dim *out = n ? TSR_NEW_N(r->to->arena, tsr_dim, n) : NULL;
	for (uint32_t i = 0; i < n; i++)
		out[i] = copy_dim(r, at[i]);
	return out;
}

/* A row that a leaf states, with the leaf's choice; a row that nothing states is the row that was written. */
static tsr_row copy_row(replay *r, tsr_row row)
{
	bool stated = row.from && (!tsr_row_open(row) || tsr_row_flanks(row));
	if (stated && !tsr_map_find(&r->chosen, row.from - 1)) {
		tsr_map_entry *e = tsr_map_put(&r->blank, row.from);
		if (!e->value.i)
			e->value.i = tsr_row_var_new(r->to) + 1;
		return (tsr_row){.var = (uint32_t)(e->value.i - 1)};
	}
	row.from = 0;
	row.lead = copy_axes(r, row.lead, row.nlead);
	row.trail = copy_axes(r, row.trail, row.ntrail);
	if (tsr_row_open(row))
		row.var = copy_row_var(r, row.var);
	return row;
}

static void copy_payload(replay *r, const tsr_cstr *c, tsr_cstr *n)
{
	switch (c->kind) {
	case TSR_C_DIM_EQUAL: case TSR_C_DIM_BELOW:
		n->dim.a = copy_dim(r, c->dim.a);
		n->dim.b = copy_dim(r, c->dim.b);
		return;
	case TSR_C_ROW_EQUAL: case TSR_C_ROW_BELOW: {
		tsr_row a = copy_row(r, c->row.a);
		tsr_cstr_rows(r->to, n, a, copy_row(r, c->row.b));
		return;
	}
	case TSR_C_AT_LEAST:
		n->at_least.d = copy_dim(r, c->at_least.d);
		n->at_least.n = c->at_least.n;
		return;
	case TSR_C_TOTAL:
		n->total = c->total;
		n->total.on_dims = n->total.on_rows = (tsr_ids){0};
		n->total.rows = TSR_NEW_N(r->to->arena, tsr_row, c->total.n + 1);
		for (uint32_t i = 0; i < c->total.n; i++)
			n->total.rows[i] = copy_row(r, c->total.rows[i]);
		if (c->total.has_dim)
			n->total.d = copy_dim(r, c->total.d);
		return;
	case TSR_C_AFFINE:
		n->affine.d = copy_dim(r, c->affine.d);
		n->affine.term = copy_affine(r, c->affine.term);
		tsr_list_add(r->to, &r->to->dims.at[n->affine.d.var].defs, n, TSR_SIDE_NONE);
		return;
	case TSR_C_CONCAT:
		n->concat = c->concat;
		n->concat.strict = false;
		n->concat.on_dims = (tsr_ids){0};
		n->concat.d = copy_dim(r, c->concat.d);
		n->concat.at = copy_axes(r, c->concat.at, c->concat.n);
		tsr_list_add(r->to, &r->to->dims.at[n->concat.d.var].defs, n, TSR_SIDE_NONE);
		return;
	case TSR_C_LOOKUP:
		n->lookup.batch = copy_row(r, c->lookup.batch);
		n->lookup.input = copy_row(r, c->lookup.input);
		n->lookup.rest_batch = copy_row(r, c->lookup.rest_batch);
		n->lookup.rest_input = copy_row(r, c->lookup.rest_input);
		n->lookup.d = copy_dim(r, c->lookup.d);
		return;
	case TSR_C_JOIN:
		n->join.whole = copy_row(r, c->join.whole);
		n->join.front = copy_row(r, c->join.front);
		n->join.back = copy_row(r, c->join.back);
		return;
	case TSR_C_SOURCE:
		return;
	}
}

/* The constraint and the conditions of the terms in it, which follow it directly. */
static void emit_again(replay *r, const tsr_cstr *c)
{
	tsr_store *to = r->to;
	tsr_cstr *n = tsr_cstr_new(to, c->kind, NULL, c->why);
	n->operand = c->operand;
	n->kind_a = c->kind_a;
	n->kind_b = c->kind_b;
	tsr_push(to->arena, &to->emitted, n->id);
	copy_payload(r, c, n);
	for (uint32_t i = c->id + 1; i < r->from->cstrs.n; i++) {
		const tsr_cstr *term = r->from->cstrs.at[i];
		if (term->parent != c->id || (term->kind != TSR_C_AFFINE && term->kind != TSR_C_CONCAT))
			break;
		copy_payload(r, term, tsr_cstr_new(to, term->kind, n, NULL));
	}
	tsr_solve(to);
}

/* A leaf of which a row was chosen, once, however many of its rows were. */
static void leaf_again(replay *r, const tsr_cstr *source)
{
	const tsr_leaf *l = &r->from->leaves.at[source->source.leaf];
	tsr_store *to = r->to;
	uint32_t at = to->leaves.n ? to->leaves.n - 1 : 0;
	if (!to->leaves.n || to->leaves.at[at].source != l->source) {
		tsr_leaf again = *l;
		again.reported = false;
		at = to->leaves.n;
		tsr_push(to->arena, &to->leaves, again);
		to->leaves.at[at].shape = (tsr_shape){0};
		for (uint32_t k = 0; k < TSR_KINDS; k++)
			to->leaves.at[at].shape.row[k].var = TSR_NO_ROW;
	}
	tsr_cstr *n = tsr_cstr_new(to, TSR_C_SOURCE, NULL, source->why);
	tsr_map_put(&r->chosen, source->id)->value.i = n->id + 1;
	tsr_row row = copy_row(r, l->shape.row[source->kind_b]);
	tsr_leaf_row(to, at, source->kind_b, &row, n->id);
	row.from = 0;
	to->leaves.at[at].shape.row[source->kind_b] = row;
}

static tsr_store *fresh_store(const tsr_store *s, tsr_arena *arena, tsr_trial *t)
{
	tsr_store *to = tsr_store_on(s->tc, arena);
	to->steps_base = s->steps_base;
	to->steps_each = s->steps_each;
	to->trial = t;
	for (uint32_t i = 0; i < s->symbols.n; i++) {
		tsr_symbol sym = s->symbols.at[i];
		sym.solved = false;
		tsr_push(arena, &to->symbols, sym);
	}
	return to;
}

tsr_trial *tsr_trial_run(tsr_store *s, uint32_t n, const uint32_t *facts, bool close, const tsr_shape *shape)
{
	tsr_arena *arena = tsr_arena_new();
	tsr_trial *t = TSR_NEW(arena, tsr_trial);
	replay r = {.from = s, .to = fresh_store(s, arena, t)};
	t->store = r.to;
	tsr_map_init(&r.dims, arena);
	tsr_map_init(&r.rows, arena);
	tsr_map_init(&r.blank, arena);
	tsr_map_init(&r.chosen, arena);
	for (uint32_t i = 0; i < n && !t->failed; i++) {
		const tsr_cstr *c = s->cstrs.at[facts[i]];
		if (c->kind == TSR_C_SOURCE)
			leaf_again(&r, c);
		else
			emit_again(&r, c);
	}
	if (shape)
		for (uint32_t k = 0; k < TSR_KINDS; k++)
			t->shape.row[k] = copy_row(&r, shape->row[k]);
	if (close && !t->failed)
		tsr_store_close(r.to);
	t->emitted = r.to->cstrs.n;
	return t;
}

void tsr_trial_free(tsr_trial *t)
{
	tsr_arena_free(t->store->arena);
}
