/* The store: variables, constraints, watch lists, bindings, the worklist and its step budget.
 *
 * Cost: a constraint stands in the list of each variable that it waits for, and is queued when one of them is bound or gets
 * a lower bound, which happens at most a constant number of times per variable, or is joined with another; joining moves
 * the shorter list and wakes that one alone. So the visits are O(n log n) in the constraints, and no step looks at the
 * whole store. */
#include "store.h"
#include <string.h>

/* Visits per constraint that the budget allows on the average; far above what any finite program needs. */
#define STEPS_PER_CONSTRAINT 400
#define STEPS_BASE 20000

tsr_store *tsr_store_on(tsr_compiler *tc, tsr_arena *arena)
{
	tsr_store *s = TSR_NEW(arena, tsr_store);
	s->tc = tc;
	s->arena = arena;
	s->dim_forest = tsr_forest_new(s->arena);
	s->row_forest = tsr_forest_new(s->arena);
	s->operand = -1;
	s->kind_a = s->kind_b = TSR_KINDS;
	tsr_map_init(&s->noted, s->arena);
	s->steps_base = STEPS_BASE;
	s->steps_each = STEPS_PER_CONSTRAINT;
	return s;
}

tsr_store *tsr_store_new(tsr_compiler *tc) { return tsr_store_on(tc, tc->arena); }


/* ---- building ---------------------------------------------------------------------------------------------------- */

tsr_dim tsr_dim_fresh(tsr_store *s, tsr_name label, tsr_span span)
{
	uint32_t v = tsr_forest_add(s->dim_forest);
	tsr_push(s->arena, &s->dims, ((tsr_dim_var){.label = label, .span = span, .leaf = TSR_NO_ID, .cause = TSR_NO_ID, .lower_cause = TSR_NO_ID}));
	return (tsr_dim){.kind = TSR_DIM_VAR, .var = v};
}

uint32_t tsr_row_var_new(tsr_store *s)
{
	uint32_t v = tsr_forest_add(s->row_forest);
	tsr_push(s->arena, &s->rows, ((tsr_row_var){.leaf = TSR_NO_ID, .cause = TSR_NO_ID}));
	return v;
}

tsr_row tsr_row_fresh(tsr_store *s) { return (tsr_row){.var = tsr_row_var_new(s)}; }

tsr_row tsr_row_closed(tsr_store *s, uint32_t n, const tsr_dim *axes)
{
	tsr_row r = {.ntrail = n, .var = TSR_NO_ROW};
	r.trail = n ? TSR_NEW_N(s->arena, tsr_dim, n) : NULL;
	for (uint32_t i = 0; i < n; i++)
		r.trail[i] = axes[i];
	return r;
}

tsr_shape tsr_shape_fresh(tsr_store *s)
{
	tsr_shape shape;
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		shape.row[k] = tsr_row_fresh(s);
	return shape;
}

uint32_t tsr_store_symbol(tsr_store *s, tsr_name name, tsr_span span, bool exported)
{
	tsr_push(s->arena, &s->symbols, ((tsr_symbol){.name = name, .span = span, .exported = exported}));
	return s->symbols.n - 1;
}

void tsr_store_symbol_given(tsr_store *s, uint32_t symbol) { s->symbols.at[symbol].given = true; }
uint32_t tsr_store_nsymbols(const tsr_store *s) { return s->symbols.n; }
const tsr_symbol *tsr_store_symbol_get(const tsr_store *s, uint32_t symbol) { return &s->symbols.at[symbol]; }
uint32_t tsr_store_nconditions(const tsr_store *s) { return s->conditions.n; }
const tsr_condition *tsr_store_condition(const tsr_store *s, uint32_t i) { return &s->conditions.at[i]; }

tsr_store_stats tsr_store_statistics(const tsr_store *s)
{
	return (tsr_store_stats){s->steps, s->looks, s->cstrs.n, s->dims.n, s->rows.n};
}

/* ---- constraints ------------------------------------------------------------------------------------------------- */

static size_t size_of(tsr_cstr_kind kind)
{
	const tsr_cstr *c = NULL;
	switch (kind) {
	case TSR_C_SOURCE: return offsetof(tsr_cstr, source) + sizeof c->source;
	case TSR_C_DIM_EQUAL: case TSR_C_DIM_BELOW: return offsetof(tsr_cstr, dim) + sizeof c->dim;
	case TSR_C_ROW_EQUAL: case TSR_C_ROW_BELOW: return offsetof(tsr_cstr, row) + sizeof c->row;
	case TSR_C_AT_LEAST: return offsetof(tsr_cstr, at_least) + sizeof c->at_least;
	case TSR_C_TOTAL: return offsetof(tsr_cstr, total) + sizeof c->total;
	case TSR_C_AFFINE: return offsetof(tsr_cstr, affine) + sizeof c->affine;
	case TSR_C_CONCAT: return offsetof(tsr_cstr, concat) + sizeof c->concat;
	case TSR_C_LOOKUP: return offsetof(tsr_cstr, lookup) + sizeof c->lookup;
	case TSR_C_JOIN: return offsetof(tsr_cstr, join) + sizeof c->join;
	}
	return sizeof *c;
}

static bool same_why(const tsr_why *a, const tsr_why *b)
{
	return tsr_span_same(a->span, b->span) && tsr_span_same(a->other, b->other) && a->what == b->what && a->result == b->result
		&& a->operands[0] == b->operands[0] && a->operands[1] == b->operands[1] && a->operands[2] == b->operands[2]
		&& a->noperands == b->noperands && a->within == b->within;
}

/* One operation's constraints come one after the other, with one reason. */
const tsr_why *tsr_why_keep(tsr_store *s, const tsr_why *why)
{
	if (!s->last_why || !same_why(s->last_why, why)) {
		tsr_why *copy = TSR_NEW(s->arena, tsr_why);
		*copy = *why;
		s->last_why = copy;
	}
	return s->last_why;
}

tsr_cstr *tsr_cstr_copy(tsr_arena *a, const tsr_cstr *c)
{
	return memcpy(tsr_alloc(a, size_of(c->kind)), c, size_of(c->kind));
}

tsr_cstr *tsr_cstr_new(tsr_store *s, tsr_cstr_kind kind, const tsr_cstr *parent, const tsr_why *why)
{
	tsr_cstr *c = tsr_alloc(s->arena, size_of(kind));
	c->kind = kind;
	c->id = s->cstrs.n;
	c->axis = c->back = TSR_NO_ID;
	if (parent) {
		c->parent = parent->id;
		c->why = parent->why;
		c->operand = parent->operand;
		c->kind_a = parent->kind_a;
		c->kind_b = parent->kind_b;
	} else {
		c->parent = c->id;
		c->why = tsr_why_keep(s, why);
		c->operand = s->operand;
		c->kind_a = s->kind_a;
		c->kind_b = s->kind_b;
	}
	tsr_push(s->arena, &s->cstrs, c);
	if (kind == TSR_C_SOURCE) {
		c->done = true;
		return c;
	}
	if (kind != TSR_C_DIM_EQUAL && kind != TSR_C_DIM_BELOW && kind != TSR_C_ROW_BELOW)
		tsr_push(s->arena, &s->of_kind[kind], c->id);
	tsr_enqueue(s, c);
	return c;
}

const tsr_cstr *tsr_cstr_root(tsr_store *s, const tsr_cstr *c)
{
	while (c->parent != c->id)
		c = s->cstrs.at[c->parent];
	return c;
}

void tsr_derive_dim(tsr_store *s, tsr_cstr *parent, tsr_cstr_kind kind, tsr_dim a, tsr_dim b, tsr_place at)
{
	tsr_dim x = tsr_dim_find(s, a), y = tsr_dim_find(s, b);
	bool apart = s->generic && a.kind == TSR_DIM_VAR && b.kind == TSR_DIM_VAR && a.var != b.var;     /* in an instance they may be */
	if (x.kind == y.kind && tsr_dim_same(s, x, y) && x.kind != TSR_DIM_POISON && !apart)
		return;
	tsr_cstr *c = tsr_cstr_new(s, kind, parent, NULL);
	c->axis = at.axis;
	c->back = at.back;
	c->dim.a = a;
	c->dim.b = b;
}

void tsr_cstr_rows(tsr_store *s, tsr_cstr *c, tsr_row a, tsr_row b)
{
	c->row.a = a;
	c->row.b = b;
	if (c->kind != TSR_C_ROW_EQUAL)
		return;
	c->row.rest = TSR_NEW_N(s->arena, tsr_row, 2);
	c->row.rest[0] = a;
	c->row.rest[1] = b;
}

void tsr_derive_row_equal(tsr_store *s, tsr_cstr *parent, tsr_row a, tsr_row b)
{
	tsr_cstr *c = tsr_cstr_new(s, TSR_C_ROW_EQUAL, parent, NULL);
	tsr_cstr_rows(s, c, a, b);
}

tsr_dim tsr_store_term(tsr_store *s, tsr_dim d, const tsr_cstr *parent, const tsr_why *why)
{
	if (d.kind == TSR_DIM_AFFINE) {
		tsr_affine *t = TSR_NEW(s->arena, tsr_affine);
		*t = *d.affine;
		t->over = tsr_store_term(s, t->over, parent, why);
		if (t->has_kernel)
			t->kernel = tsr_store_term(s, t->kernel, parent, why);
		tsr_dim v = tsr_dim_fresh(s, NULL, why->span);
		tsr_cstr *c = tsr_cstr_new(s, TSR_C_AFFINE, parent, why);
		c->affine.d = v;
		c->affine.term = t;
		tsr_list_add(s, &s->dims.at[v.var].defs, c, TSR_SIDE_NONE);
		return v;
	}
	if (d.kind != TSR_DIM_CONCAT)
		return d;
	tsr_dim v = tsr_dim_fresh(s, NULL, why->span);
	tsr_dim *at = TSR_NEW_N(s->arena, tsr_dim, d.concat.n + 1);
	for (uint32_t i = 0; i < d.concat.n; i++)
		at[i] = tsr_store_term(s, d.concat.at[i], parent, why);
	tsr_cstr *c = tsr_cstr_new(s, TSR_C_CONCAT, parent, why);
	c->concat.d = v;
	c->concat.n = d.concat.n;
	c->concat.at = at;
	tsr_list_add(s, &s->dims.at[v.var].defs, c, TSR_SIDE_NONE);
	return v;
}

/* ---- what is known of variables ---------------------------------------------------------------------------------- */

/* What lies in a leaf's row is in the leaf. */
static void inherit_dim(tsr_store *s, tsr_dim d, const tsr_row_var *from)
{
	d = tsr_dim_find(s, d);
	if (d.kind != TSR_DIM_VAR)
		return;
	tsr_dim_var *v = &s->dims.at[d.var];
	bool news = from->in_leaf && !v->in_leaf;
	v->in_leaf |= from->in_leaf;
	if (v->leaf == TSR_NO_ID || (from->in_param && !v->in_param))
		v->leaf = from->leaf != TSR_NO_ID ? from->leaf : v->leaf;
	v->in_param |= from->in_param;
	if (news && s->closing)
		tsr_push(s->arena, &s->dirty_dims, d.var);
}

static void inherit_row(tsr_row_var *v, const tsr_row_var *from)
{
	if (v->leaf == TSR_NO_ID || (from->in_param && !v->in_param))
		v->leaf = from->leaf != TSR_NO_ID ? from->leaf : v->leaf;
	v->in_leaf |= from->in_leaf;
	v->in_param |= from->in_param;
	v->in_data |= from->in_data;
	v->input |= from->input;
	v->in_spec |= from->in_spec;
}

void tsr_bind_dim(tsr_store *s, uint32_t root, tsr_dim value, const tsr_cstr *cause)
{
	tsr_dim_var *v = &s->dims.at[root];
	v->bound = true;
	v->value = value;
	v->cause = cause ? cause->id : TSR_NO_ID;
	tsr_wake(s, &v->watchers);
}

/* Two bounds that symbols tell apart: whether they are equal is known when all is known, also of the conditions for the run. */
static bool may_agree(tsr_store *s, tsr_dim a, tsr_dim b)
{
	if (a.kind != TSR_DIM_ATOM || b.kind != TSR_DIM_ATOM || a.atom.basis != b.atom.basis)
		return false;
	tsr_size x = tsr_size_normal(s, a.atom.size), y = tsr_size_normal(s, b.atom.size);
	return tsr_size_add(s->arena, x, tsr_size_scale(s->arena, y, -1)).nterms && (s->settling < TSR_SETTLE_BOUNDS || tsr_size_required(s, x, y));
}

void tsr_lower_dim(tsr_store *s, uint32_t root, tsr_dim atom, const tsr_cstr *cause)
{
	tsr_dim_var *v = &s->dims.at[root];
	if (v->has_lower) {
		if (TSR_PLANTED(1) || tsr_dim_same(s, v->lower, atom))                    /* the first bound stays */
			return;
		if (!may_agree(s, v->lower, atom))
			tsr_bind_dim(s, root, tsr_dim_unit(), cause);
		else if (s->settling < TSR_SETTLE_BOUNDS)
			tsr_push(s->arena, &s->late, cause->id);
		return;
	}
	v->has_lower = true;
	v->lower = atom;
	v->lower_cause = cause->id;
	tsr_wake(s, &v->watchers);
	if (s->closing)
		tsr_push(s->arena, &s->dirty_dims, root);
}

/* Those that waited for b find a in its place; those that waited for a are woken where a class learns something from b. */
void tsr_join_dims(tsr_store *s, uint32_t a, uint32_t b, const tsr_cstr *cause)
{
	if (s->dims.at[a].watchers.n < s->dims.at[b].watchers.n) {
		uint32_t swap = a;
		a = b;
		b = swap;
	}
	bool stricter = tsr_dim_strict(s, b) && !tsr_dim_strict(s, a);
	tsr_forest_union(s->dim_forest, a, b, cause->id);
	tsr_dim_var *v = &s->dims.at[a], *w = &s->dims.at[b];
	bool news = (w->has_lower && !v->has_lower) || stricter || (v->discardable && !w->discardable);
	tsr_list_append(s, &v->watchers, &w->watchers);
	tsr_list_append(s, &v->defs, &w->defs);
	if (!v->label) {
		v->label = w->label;
		v->span = w->span;
	}
	if (v->leaf == TSR_NO_ID || (w->in_param && !v->in_param))
		v->leaf = w->leaf != TSR_NO_ID ? w->leaf : v->leaf;
	v->in_leaf |= w->in_leaf;
	v->in_param |= w->in_param;
	v->in_term |= w->in_term;
	v->of_total |= w->of_total;
	v->solid |= w->solid;
	v->discardable &= w->discardable;             /* what lasts on one side lasts */
	tsr_wake(s, news ? &v->watchers : &w->watchers);
	if (w->has_lower && v->has_lower) {
		if (!tsr_dim_same(s, v->lower, w->lower) && !may_agree(s, v->lower, w->lower))   /* else w's comes again, with its constraint */
			tsr_bind_dim(s, a, tsr_dim_unit(), cause);
	} else if (w->has_lower && !v->has_lower) {
		v->has_lower = true;
		v->lower = w->lower;
		v->lower_cause = w->lower_cause;
	}
	if (s->closing)
		tsr_push(s->arena, &s->dirty_dims, a);
}

/* Longer than any row of a tensor; a recursion that adds an axis each time ends here, before it fills the memory. */
enum { LONGEST_ROW = 256 };

void tsr_bind_row(tsr_store *s, uint32_t root, tsr_row value, const tsr_cstr *cause)
{
	if (tsr_row_flanks(value) > LONGEST_ROW && cause) {
		tsr_fault_long(s, cause, tsr_row_flanks(value));
		tsr_poison_row(s, value);
		tsr_poison_row(s, (tsr_row){.var = root});
		return;
	}
	tsr_row_var *v = &s->rows.at[root];
	v->bound = true;
	v->value = value;
	v->cause = cause ? cause->id : TSR_NO_ID;
	for (uint32_t i = 0; i < tsr_row_flanks(value); i++)
		inherit_dim(s, tsr_row_axis(value, i), v);
	if (tsr_row_open(value)) {
		uint32_t in = tsr_forest_find(s->row_forest, value.var);
		inherit_row(&s->rows.at[in], v);
		if (s->closing)
			tsr_push(s->arena, &s->dirty_rows, in);
	}
	tsr_wake(s, &v->watchers);
}

void tsr_join_rows(tsr_store *s, uint32_t a, uint32_t b, const tsr_cstr *cause)
{
	if (s->rows.at[a].watchers.n < s->rows.at[b].watchers.n) {
		uint32_t swap = a;
		a = b;
		b = swap;
	}
	tsr_forest_union(s->row_forest, a, b, cause->id);
	tsr_row_var *v = &s->rows.at[a], *w = &s->rows.at[b];
	tsr_list_append(s, &v->watchers, &w->watchers);
	inherit_row(v, w);
	v->from_template &= w->from_template;
	v->label = v->label ? v->label : w->label;
	v->depth = v->depth > w->depth ? v->depth : w->depth;
	tsr_wake(s, &w->watchers);
	if (s->closing)
		tsr_push(s->arena, &s->dirty_rows, a);
}

void tsr_poison_dim(tsr_store *s, tsr_dim d)
{
	if (d.kind != TSR_DIM_VAR)
		return;
	uint32_t root = tsr_forest_find(s->dim_forest, d.var);
	if (!s->dims.at[root].bound)
		tsr_bind_dim(s, root, tsr_dim_poison(), NULL);
	else
		s->dims.at[root].value = tsr_dim_poison();
}

void tsr_poison_row(tsr_store *s, tsr_row r)
{
	if (!tsr_row_open(r))
		return;
	uint32_t root = tsr_forest_find(s->row_forest, r.var);
	s->rows.at[root].poison = true;
	if (!s->rows.at[root].bound)
		tsr_bind_row(s, root, tsr_row_empty(), NULL);
}

void tsr_store_poison(tsr_store *s, const tsr_shape *shape)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		bool poison = false;
		tsr_row r = tsr_row_find(s, shape->row[k], &poison);
		for (uint32_t i = 0; i < tsr_row_flanks(r); i++)
			if (tsr_dim_is_var(tsr_dim_find(s, tsr_row_axis(r, i))))
				tsr_poison_dim(s, tsr_row_axis(r, i));
		if (tsr_row_open(r))
			tsr_poison_row(s, (tsr_row){.var = r.var});
	}
	tsr_solve(s);
}

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

static void mark_leaf_row(tsr_store *s, tsr_row r, const tsr_row_var *as)
{
	bool poison = false;
	r = tsr_row_find(s, r, &poison);
	for (uint32_t i = 0; i < tsr_row_flanks(r); i++)
		inherit_dim(s, tsr_row_axis(r, i), as);
	if (tsr_row_open(r))
		inherit_row(&s->rows.at[r.var], as);
}

/* Axes and row are stamped with the place that states them. */
static void stamp(tsr_dim *at, uint32_t n, uint32_t from)
{
	for (uint32_t i = 0; i < n; i++)
		if (at[i].from == 0)
			at[i].from = from;
}

void tsr_leaf_row(tsr_store *s, uint32_t leaf, uint32_t k, tsr_row *r, uint32_t source)
{
	bool param = s->leaves.at[leaf].kind == TSR_LEAF_PARAM;
	tsr_row_var as = {.in_leaf = true, .in_param = param, .in_data = !param, .input = k == TSR_INPUT, .leaf = leaf};
	r->from = source + 1;
	stamp(r->lead, r->nlead, source + 1);
	stamp(r->trail, r->ntrail, source + 1);
	mark_leaf_row(s, *r, &as);
}

void tsr_store_leaf(tsr_store *s, tsr_shape *shape, tsr_leaf_kind kind, tsr_name name, tsr_span span)
{
	tsr_leaf leaf = {.kind = kind, .name = name, .span = span, .source = s->cstrs.n};
	tsr_why why = {.span = span, .what = kind == TSR_LEAF_PARAM ? "the parameter" : NULL, .result = name};
	tsr_push(s->arena, &s->leaves, leaf);
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		tsr_cstr *source = tsr_cstr_new(s, TSR_C_SOURCE, NULL, &why);
		source->kind_b = (tsr_kind)k;
		source->source.leaf = s->leaves.n - 1;
		tsr_leaf_row(s, s->leaves.n - 1, k, &shape->row[k], source->id);
	}
	s->leaves.at[s->leaves.n - 1].shape = *shape;
}

static void set_why(tsr_store *s, const tsr_leaf *l, const tsr_why *why)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		s->cstrs.at[l->source + k]->why = tsr_why_keep(s, why);
}

void tsr_store_leaf_called(tsr_store *s, const char *what, const tsr_within *within)
{
	const tsr_leaf *l = &s->leaves.at[s->leaves.n - 1];
	tsr_why why = *s->cstrs.at[l->source]->why;
	why.what = what;
	why.within = within;
	set_why(s, l, &why);
}

void tsr_store_leaf_named(tsr_store *s, const tsr_shape *shape, tsr_name name)
{
	if (shape->row[0].from == 0)
		return;
	tsr_leaf *l = &s->leaves.at[s->cstrs.at[shape->row[0].from - 1]->source.leaf];
	l->name = name;
	tsr_why why = *s->cstrs.at[l->source]->why;
	why.result = name;
	set_why(s, l, &why);
}

void tsr_store_interior(tsr_store *s, const tsr_shape *shape, tsr_name name, tsr_span span)
{
	tsr_push(s->arena, &s->leaves, ((tsr_leaf){.shape = *shape, .name = name, .span = span, .interior = true, .source = TSR_NO_ID}));
}

/* ---- solving ----------------------------------------------------------------------------------------------------- */

static void visit(tsr_store *s, tsr_cstr *c)
{
	switch (c->kind) {
	case TSR_C_DIM_EQUAL: tsr_visit_dim_equal(s, c); return;
	case TSR_C_DIM_BELOW: tsr_visit_dim_below(s, c); return;
	case TSR_C_ROW_EQUAL: tsr_visit_row_equal(s, c); return;
	case TSR_C_ROW_BELOW: tsr_visit_row_below(s, c); return;
	case TSR_C_AT_LEAST: tsr_visit_at_least(s, c); return;
	case TSR_C_TOTAL: tsr_visit_total(s, c); return;
	case TSR_C_AFFINE: tsr_visit_affine(s, c); return;
	case TSR_C_CONCAT: tsr_visit_concat(s, c); return;
	case TSR_C_LOOKUP: tsr_visit_lookup(s, c); return;
	case TSR_C_JOIN: tsr_visit_join(s, c); return;
	case TSR_C_SOURCE: return;
	}
}

void tsr_visited(tsr_store *s, tsr_cstr *c)
{
	if (s->generic && !c->visited)
		tsr_push(s->arena, &s->visits, c->id);
	c->visited = true;
}

static void step(tsr_store *s, tsr_cstr *c)
{
	if (c->done || s->exhausted)
		return;
	if (++s->steps > s->steps_base + s->steps_each * s->emitted.n) {
		s->exhausted = true;
		tsr_fault_budget(s, c);
		return;
	}
	tsr_visited(s, c);
	visit(s, c);
}

static void work_off(tsr_store *s)
{
	while (s->head < s->queue.n) {
		tsr_cstr *c = s->cstrs.at[s->queue.at[s->head++]];
		if (s->head + TSR_SOON < s->queue.n)
			__builtin_prefetch(s->cstrs.at[s->queue.at[s->head + TSR_SOON]]);
		c->queued = false;
		step(s, c);
	}
	s->queue.n = s->head = 0;
}

/* What came late, as far as the given level; false where all of it waits on. */
static bool settle(tsr_store *s, int level)
{
	tsr_ids late = s->late;
	s->late = (tsr_ids){0};
	s->settling = level;
	for (uint32_t i = 0; i < late.n; i++)
		step(s, s->cstrs.at[late.at[i]]);
	s->settling = TSR_SETTLE_NONE;
	return s->late.n < late.n;
}

void tsr_solve(tsr_store *s)
{
	if (s->solving)
		return;
	s->solving = true;
	work_off(s);
	while (s->closing && s->late.n) {
		for (int level = TSR_SETTLE_SURE; level <= TSR_SETTLE_TOTALS && !settle(s, level);)
			level++;
		work_off(s);
	}
	s->solving = false;
}
