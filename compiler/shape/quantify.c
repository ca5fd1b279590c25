/* A solved scheme is its free variables and the constraints that are not done: all that is bound stands as what it is bound to, and
 * whoever wrote it is forgotten.  An instance makes the free variables and these constraints anew, and nothing else; dimensions that its
 * arguments know are put in their place instead.
 *
 * Constraints stand in the order of those that emitted them, so that each operation's are together and get its reason; lists of
 * variables and of kinds keep the order in which they came. */
#include "region.h"
#include <stdlib.h>

/* ---- from the store ---------------------------------------------------------------------------------------------------- */

static uint32_t number_of(tsr_map *map, uint32_t id, uint32_t next, bool *fresh)
{
	tsr_map_entry *e = tsr_map_put(map, id);
	*fresh = !e->value.i;
	if (*fresh)
		e->value.i = next + 1;
	return (uint32_t)(e->value.i - 1);
}

static uint32_t leaf_number(tsr_quantified *q, uint32_t leaf)
{
	bool fresh = false;
	uint32_t i = leaf == TSR_NO_ID ? leaf : number_of(&q->leaf_at, leaf, q->leaves.n, &fresh);
	if (fresh)
		tsr_push(q->arena, &q->leaves, leaf);
	return i;
}

/* Of sizes that an instance has apart. */
static bool is_apart(const tsr_quantified *q, tsr_dim d)
{
	if (!q->apart || !tsr_dim_is_var(d))
		return false;
	uint32_t root = tsr_forest_find(q->of->dim_forest, d.var), i = 0;
	while (i < q->apart->n && q->apart->at[i] != root)
		i++;
	return i < q->apart->n;
}

/* Of a representative, or of a variable that is apart: of that one nothing is known. */
static uint32_t dim_number(tsr_quantified *q, uint32_t var)
{
	bool fresh;
	uint32_t i = number_of(&q->dim_at, var, q->dims.n, &fresh);
	if (fresh) {
		tsr_dim_var v = q->of->dims.at[var];
		if (is_apart(q, (tsr_dim){.kind = TSR_DIM_VAR, .var = var}))
			v.bound = v.has_lower = false;
		v.cause = v.lower_cause = TSR_NO_ID;
		v.leaf = leaf_number(q, v.leaf);
		if (v.has_lower)
			v.lower.from = 0;
		v.defs = v.watchers = (tsr_list){0};
		q->bounded |= v.has_lower;
		tsr_push(q->arena, &q->dims, v);
	}
	return i;
}

static uint32_t row_number(tsr_quantified *q, uint32_t root)
{
	bool fresh;
	uint32_t i = number_of(&q->row_at, root, q->rows.n, &fresh);
	if (fresh) {
		tsr_row_var v = q->of->rows.at[root];
		v.cause = TSR_NO_ID;
		v.leaf = leaf_number(q, v.leaf);
		v.watchers = (tsr_list){0};
		tsr_push(q->arena, &q->rows, v);
	}
	return i;
}

tsr_dim tsr_quantified_dim(tsr_quantified *q, tsr_dim d)
{
	if (!is_apart(q, d))
		d = tsr_dim_find(q->of, d);
	d.from = 0;
	if (tsr_dim_is_var(d))
		d.var = dim_number(q, d.var);
	return d;
}

tsr_row tsr_quantified_row(tsr_quantified *q, tsr_row r)
{
	bool poison = false;
	r = tsr_row_find(q->of, r, &poison);
	uint32_t n = tsr_row_flanks(r);
	tsr_dim *at = n ? TSR_NEW_N(q->arena, tsr_dim, n) : NULL;
	for (uint32_t i = 0; i < n; i++)
		at[i] = tsr_quantified_dim(q, tsr_row_axis(r, i));
	r.lead = at;
	r.trail = n ? at + r.nlead : NULL;
	r.from = 0;
	if (tsr_row_open(r))
		r.var = row_number(q, r.var);
	return r;
}

static tsr_dim as_number(void *q, tsr_dim d) { return tsr_quantified_dim(q, d); }
static tsr_row as_numbers(void *q, tsr_row r) { return tsr_quantified_row(q, r); }

static uint32_t waited_dim(tsr_quantified *q, uint32_t var)
{
	uint32_t root = tsr_forest_find(q->of->dim_forest, var);
	return q->of->dims.at[root].bound || q->apart ? TSR_NO_ID : dim_number(q, root);     /* apart: all of it is visited again */
}

static uint32_t waited_row(tsr_quantified *q, uint32_t var)
{
	uint32_t root = tsr_forest_find(q->of->row_forest, var);
	return q->of->rows.at[root].bound ? TSR_NO_ID : row_number(q, root);
}

static tsr_ids waited(tsr_quantified *q, const tsr_ids *on, uint32_t (*of)(tsr_quantified *, uint32_t))
{
	tsr_ids out = {0};
	for (uint32_t i = 0; i < on->n; i++)
		if (of(q, on->at[i]) != TSR_NO_ID)
			tsr_push(q->arena, &out, of(q, on->at[i]));
	return out;
}

typedef struct mentioning { const tsr_quantified *q; bool apart; } mentioning;
static tsr_dim mentioned(void *data, tsr_dim d)
{
	mentioning *m = data;
	m->apart |= is_apart(m->q, d);
	return d;
}
static tsr_row mentioned_row(void *data, tsr_row r)
{
	mentioning *m = data;
	r = tsr_row_find(m->q->of, r, &(bool){false});
	for (uint32_t i = 0; i < tsr_row_flanks(r); i++)
		mentioned(data, tsr_row_axis(r, i));
	return r;
}

/* What it said of sizes that are apart has to be said again. (Of the axes of rows that it aligned, constraints of their own speak.) */
static bool says_again(tsr_quantified *q, const tsr_cstr *c)
{
	mentioning m = {q, false};
	if (q->apart && !tsr_cstr_waits_on_rows(c))
		tsr_cstr_replace(q->arena, tsr_cstr_copy(q->arena, c), &(tsr_replacing){&m, mentioned, mentioned_row});
	return m.apart;
}

static tsr_cstr *numbered(tsr_quantified *q, const tsr_cstr *of)
{
	tsr_cstr *c = tsr_cstr_copy(q->arena, of);
	bool rows = tsr_cstr_waits_on_rows(of);
	c->done = c->done && !says_again(q, of);
	tsr_cstr_replace(q->arena, c, &(tsr_replacing){q, as_number, as_numbers});
	for (uint32_t i = 0; i < sizeof c->on / sizeof *c->on; i++)
		if (c->on[i])
			c->on[i] = 1 + (rows ? waited_row(q, c->on[i] - 1) : waited_dim(q, c->on[i] - 1));    /* TSR_NO_ID + 1 is free */
	if (c->kind == TSR_C_TOTAL) {
		c->total.on_dims = waited(q, &of->total.on_dims, waited_dim);
		c->total.on_rows = waited(q, &of->total.on_rows, waited_row);
	}
	if (c->kind == TSR_C_CONCAT)
		c->concat.on_dims = waited(q, &of->concat.on_dims, waited_dim);
	return c;
}

/* What is done says nothing any more, but what defines a variable (tsr_dim_strict), and what is said of sizes that are apart. */
static bool *lasting(tsr_quantified *q)
{
	tsr_store *s = q->of;
	bool *lasts = TSR_NEW_N(q->arena, bool, s->cstrs.n + 1);
	for (uint32_t i = 0; i < s->cstrs.n; i++)
		lasts[i] = !s->cstrs.at[i]->done || says_again(q, s->cstrs.at[i]);
	for (uint32_t v = 0; v < s->dims.n; v++)
		if (tsr_forest_find(s->dim_forest, v) == v && !s->dims.at[v].bound)
			TSR_EACH(s, i, &s->dims.at[v].defs)
				lasts[s->cells.at[i].cstr] = true;
	return lasts;
}

typedef struct placed { uint32_t root, id; } placed;

static int by_root(const void *a, const void *b)
{
	const placed *x = a, *y = b;
	return x->root != y->root ? (x->root > y->root) - (x->root < y->root) : (x->id > y->id) - (x->id < y->id);
}

static tsr_list listed(tsr_quantified *q, const tsr_list *l, const uint32_t *place)
{
	tsr_list out = {0};
	TSR_EACH(q->of, i, l) {
		tsr_cell cell = q->of->cells.at[i];
		if (place[cell.cstr] == TSR_NO_ID)
			continue;
		cell.cstr = place[cell.cstr] & 0x3fffffff;
		tsr_cells_add(q->arena, &q->cells, &out, cell);
	}
	return out;
}

static void put_in_order(tsr_quantified *q, const uint32_t *place)
{
	const tsr_ids *visits = &q->of->visits;
	for (uint32_t i = 0; i < visits->n; i++) {
		uint32_t at = place[visits->at[i]];
		if (at != TSR_NO_ID && !q->cstrs.at[at]->done)
			tsr_push(q->arena, &q->again, at);
	}
}

void tsr_quantify(tsr_quantified *q, tsr_store *s, tsr_arena *arena, const tsr_ids *apart)
{
	*q = (tsr_quantified){.of = s, .arena = arena, .apart = apart};
	tsr_map *maps[] = {&q->dim_at, &q->row_at, &q->leaf_at};
	for (uint32_t i = 0; i < 3; i++)
		tsr_map_init(maps[i], arena);
	TSR_VEC(placed) left = {0};
	bool *lasts = lasting(q);
	uint32_t *place = TSR_NEW_N(arena, uint32_t, s->cstrs.n + 1);
	for (uint32_t i = 0; i < s->cstrs.n; i++) {
		place[i] = TSR_NO_ID;
		if (lasts[i])
			tsr_push(arena, &left, ((placed){tsr_cstr_root(s, s->cstrs.at[i])->id, i}));
	}
	if (left.n)
		qsort(left.at, left.n, sizeof *left.at, by_root);
	for (uint32_t i = 0; i < left.n; i++) {
		place[left.at[i].id] = i;
		tsr_push(arena, &q->cstrs, numbered(q, s->cstrs.at[left.at[i].id]));
		tsr_push(arena, &q->roots, left.at[i].root);
	}
	for (uint32_t i = 0; i < s->cstrs.n; i++)
		if (place[i] != TSR_NO_ID)
			tsr_push(arena, &q->order, place[i]);
	for (uint32_t i = 0; i < q->dim_at.n; i++) {
		const tsr_dim_var *v = &s->dims.at[q->dim_at.entries[i].key];
		q->dims.at[i].defs = listed(q, &v->defs, place);
		q->dims.at[i].watchers = apart ? (tsr_list){0} : listed(q, &v->watchers, place);
	}
	for (uint32_t i = 0; i < q->row_at.n; i++)
		q->rows.at[i].watchers = listed(q, &s->rows.at[q->row_at.entries[i].key].watchers, place);
	if (apart)
		put_in_order(q, place);
}

/* ---- into another store -------------------------------------------------------------------------------------------------- */

typedef struct instantiation {
	const tsr_quantified *q;
	tsr_store *s;
	const tsr_scheme_copy *copy;
	bool known;                      /* a dimension that the constraint mentions is known by now */
} instantiation;

tsr_dim tsr_copied_dim(const tsr_scheme_copy *copy, tsr_dim d) { return tsr_dim_is_var(d) ? copy->dims[d.var] : d; }

tsr_row tsr_copied_row(const tsr_scheme_copy *copy, tsr_row r)
{
	uint32_t n = tsr_row_flanks(r);
	tsr_dim *at = n ? TSR_NEW_N(copy->arena, tsr_dim, n) : NULL;
	for (uint32_t i = 0; i < n; i++)
		at[i] = tsr_copied_dim(copy, tsr_row_axis(r, i));
	r.lead = at;
	r.trail = n ? at + r.nlead : NULL;
	if (tsr_row_open(r))
		r.var += copy->rows;
	return r;
}

static tsr_dim put_dim(void *data, tsr_dim d)
{
	instantiation *x = data;
	if (!tsr_dim_is_var(d))
		return d;
	d = x->copy->dims[d.var];
	x->known |= !tsr_dim_is_var(d);
	return d;
}

static tsr_row put_row(void *data, tsr_row r)
{
	instantiation *x = data;
	for (uint32_t i = 0; i < tsr_row_flanks(r); i++)
		put_dim(x, tsr_row_axis(r, i));
	return tsr_copied_row(x->copy, r);
}

static tsr_ids put_dims(instantiation *x, const tsr_ids *on)
{
	tsr_ids out = {0};
	for (uint32_t i = 0; i < on->n; i++)
		if (tsr_dim_is_var(x->copy->dims[on->at[i]]))
			tsr_push(x->s->arena, &out, x->copy->dims[on->at[i]].var);
	return out;
}

static void put_waits(instantiation *x, tsr_cstr *c)
{
	bool rows = tsr_cstr_waits_on_rows(c);
	for (uint32_t i = 0; i < sizeof c->on / sizeof *c->on; i++) {
		if (!c->on[i])
			continue;
		tsr_dim d = rows ? tsr_dim_unit() : x->copy->dims[c->on[i] - 1];
		c->on[i] = rows ? c->on[i] + x->copy->rows : tsr_dim_is_var(d) ? d.var + 1 : 0;
	}
	if (c->kind == TSR_C_CONCAT)
		c->concat.on_dims = put_dims(x, &c->concat.on_dims);
	if (c->kind != TSR_C_TOTAL)
		return;
	tsr_ids on = c->total.on_rows;
	c->total.on_dims = put_dims(x, &c->total.on_dims);
	c->total.on_rows = (tsr_ids){0};
	for (uint32_t i = 0; i < on.n; i++)
		tsr_push(x->s->arena, &c->total.on_rows, on.at[i] + x->copy->rows);
}

static void put_cstr(instantiation *x, const tsr_cstr *of, const tsr_why *why)
{
	tsr_store *s = x->s;
	tsr_cstr *c = tsr_cstr_copy(s->arena, of);
	x->known = false;
	tsr_cstr_replace(s->arena, c, &(tsr_replacing){x, put_dim, put_row});
	put_waits(x, c);
	c->id = c->parent = s->cstrs.n;
	c->why = why;
	c->queued = c->visited = false;
	tsr_push(s->arena, &s->cstrs, c);
	tsr_push(s->arena, &s->emitted, c->id);
	if (x->q->apart)
		return;
	tsr_visited(s, c);
	if (x->known)
		tsr_enqueue(s, c);
}

static tsr_list put_list(instantiation *x, const tsr_list *l)
{
	tsr_list out = {0};
	for (uint32_t i = 0, at = l->first; i < l->n; i++, at = x->q->cells.at[at].next) {
		tsr_cell cell = x->q->cells.at[at];
		cell.cstr = (cell.cstr + x->copy->cstrs) & 0x3fffffff;
		tsr_cells_add(x->s->arena, &x->s->cells, &out, cell);
	}
	return out;
}

/* The variables, in their order: ids of constraints are known before these are there. */
static void put_vars(instantiation *x, tsr_scheme_copy *copy, uint32_t anchor)
{
	tsr_store *s = x->s;
	uint32_t leaves = s->leaves.n;
	for (uint32_t i = 0; i < x->q->leaves.n; i++) {
		tsr_leaf l = x->q->of->leaves.at[x->q->leaves.at[i]];
		for (uint32_t k = 0; k < TSR_KINDS; k++)
			l.shape.row[k] = tsr_row_empty();
		l.source = TSR_NO_ID;
		tsr_push(s->arena, &s->leaves, l);
	}
	for (uint32_t i = 0; i < x->q->dims.n; i++) {
		if (copy->dims[i].kind != TSR_DIM_POISON)
			continue;
		tsr_dim_var v = x->q->dims.at[i];
		v.lower_cause = v.has_lower ? anchor : TSR_NO_ID;
		v.leaf = v.leaf == TSR_NO_ID ? v.leaf : v.leaf + leaves;
		v.defs = put_list(x, &v.defs);
		v.watchers = put_list(x, &v.watchers);
		copy->dims[i] = (tsr_dim){.kind = TSR_DIM_VAR, .var = tsr_forest_add(s->dim_forest)};
		tsr_push(s->arena, &s->dims, v);
	}
	copy->rows = s->rows.n;
	for (uint32_t i = 0; i < x->q->rows.n; i++) {
		tsr_row_var v = x->q->rows.at[i];
		v.leaf = v.leaf == TSR_NO_ID ? v.leaf : v.leaf + leaves;
		v.watchers = put_list(x, &v.watchers);
		tsr_forest_add(s->row_forest);
		tsr_push(s->arena, &s->rows, v);
	}
}

void tsr_instantiate(const tsr_quantified *q, tsr_store *to, tsr_scheme_copy *copy, const tsr_why *why)
{
	instantiation x = {q, to, copy, false};
	uint32_t anchor = TSR_NO_ID;
	copy->arena = to->arena;
	if (q->bounded) {                /* lower bounds have a cause */
		tsr_cstr *c = tsr_cstr_new(to, TSR_C_SOURCE, NULL, why);
		c->source.leaf = TSR_NO_ID;
		anchor = c->id;
	}
	copy->cstrs = to->cstrs.n;
	put_vars(&x, copy, anchor);
	why = tsr_why_keep(to, why);
	for (uint32_t i = 0; i < q->cstrs.n; i++)
		put_cstr(&x, q->cstrs.at[i], why);
	for (uint32_t i = 0; i < q->order.n; i++) {
		const tsr_cstr *c = to->cstrs.at[copy->cstrs + q->order.at[i]];
		if (c->kind != TSR_C_DIM_EQUAL && c->kind != TSR_C_DIM_BELOW && c->kind != TSR_C_ROW_BELOW)
			tsr_push(to->arena, &to->of_kind[c->kind], c->id);
	}
}

void tsr_instance_begins(const tsr_quantified *q, tsr_store *to, const tsr_scheme_copy *copy)
{
	tsr_solve(to);
	for (uint32_t i = 0; i < q->again.n; i++)
		tsr_enqueue(to, to->cstrs.at[copy->cstrs + q->again.at[i]]);
	tsr_solve(to);
}
