/* Why: the facts that an error, or a size, follows from.
 *
 * First a slice: what the proof forests and the causes of the bindings name, from the constraint that failed (or from the
 * variables of the size) backwards. A slice holds more than is needed, so each fact is then taken away in turn, many at a
 * time where that goes, and the rest is solved again (replay.c): what does not follow without it stays. The result is
 * irredundant by construction, and tests take each fact away once more. */
#include "store.h"
#include "../base/map.h"
#include <stdlib.h>
#include <string.h>

/* Constraints that trials of one chain may solve: a chain of a thousand steps is minimised, one of ten thousand is shown whole. */
#define MOST_WORK 3000000

/* ---- the slice --------------------------------------------------------------------------------------------------- */

typedef struct slice {
	tsr_store *s;
	bool closing;
	tsr_map dims, rows, cstrs, facts;
	tsr_ids dim_work, row_work, cstr_work;
	tsr_ids out;
} slice;

static void seen(slice *l, tsr_map *in, tsr_ids *work, uint32_t id)
{
	tsr_map_entry *e = tsr_map_put(in, id);
	if (!e->value.i)
		tsr_push(l->s->arena, work, id);
	e->value.i = 1;
}

static void add_fact(slice *l, uint32_t id) { seen(l, &l->facts, &l->out, id); }

static void add_stamp(slice *l, uint32_t from)
{
	if (from)
		seen(l, &l->cstrs, &l->cstr_work, from - 1);
}

static void add_dim(slice *l, tsr_dim d)
{
	add_stamp(l, d.from);
	switch (d.kind) {
	case TSR_DIM_VAR: seen(l, &l->dims, &l->dim_work, d.var); return;
	case TSR_DIM_AFFINE:
		add_dim(l, d.affine->over);
		if (d.affine->has_kernel)
			add_dim(l, d.affine->kernel);
		return;
	case TSR_DIM_CONCAT:
		for (uint32_t i = 0; i < d.concat.n; i++)
			add_dim(l, d.concat.at[i]);
		return;
	case TSR_DIM_ATOM: case TSR_DIM_UNIT: case TSR_DIM_ZERO: case TSR_DIM_POISON: return;
	}
}

/* The rank of a row: its variable and the leaf that states it; and every axis where `axes`. */
static void add_row(slice *l, tsr_row r, bool axes)
{
	add_stamp(l, r.from);
	if (tsr_row_open(r))
		seen(l, &l->rows, &l->row_work, r.var);
	for (uint32_t i = 0; i < tsr_row_flanks(r) && axes; i++)
		add_dim(l, tsr_row_axis(r, i));
}

static void add_cstr(slice *l, uint32_t id)
{
	if (id != TSR_NO_ID)
		seen(l, &l->cstrs, &l->cstr_work, id);
}

static void add_leaf(slice *l, uint32_t leaf)
{
	for (uint32_t k = 0; leaf != TSR_NO_ID && l->s->leaves.at[leaf].source != TSR_NO_ID && k < TSR_KINDS; k++)
		add_fact(l, l->s->leaves.at[leaf].source + k);
}

static void add_path(slice *l, tsr_forest *f, uint32_t var)
{
	uint32_t *path, n = tsr_forest_explain(f, var, tsr_forest_find(f, var), l->s->arena, &path);
	for (uint32_t i = 0; i < n; i++)
		add_cstr(l, path[i]);
}

/* What made the class of a variable, bound it and bounded it; a size that a term defines follows from the term. */
static void follow_dim(slice *l, uint32_t var)
{
	tsr_store *s = l->s;
	uint32_t root = tsr_forest_find(s->dim_forest, var);
	const tsr_dim_var *v = &s->dims.at[root];
	add_path(l, s->dim_forest, var);
	add_cstr(l, v->cause);
	add_cstr(l, v->has_lower ? v->lower_cause : TSR_NO_ID);
	if (v->bound)
		add_stamp(l, v->value.from);
	TSR_EACH(s, i, &v->defs)
		add_cstr(l, s->cells.at[i].cstr);
	if (l->closing && v->cause == TSR_NO_ID)
		add_leaf(l, v->leaf);
	if (!l->closing || v->cause != TSR_NO_ID)
		return;
	TSR_EACH(s, i, &v->watchers)                         /* a class that closing decided: by what it found waiting */
		add_cstr(l, s->cells.at[i].cstr);
}

static void follow_row(slice *l, uint32_t var)
{
	tsr_store *s = l->s;
	uint32_t root = tsr_forest_find(s->row_forest, var);
	const tsr_row_var *v = &s->rows.at[root];
	add_path(l, s->row_forest, var);
	add_cstr(l, v->cause);
	if (v->bound && tsr_row_open(v->value))
		seen(l, &l->rows, &l->row_work, v->value.var);
	if (!l->closing || v->cause != TSR_NO_ID)
		return;
	add_leaf(l, v->leaf);
	TSR_EACH(s, i, &v->watchers)
		add_cstr(l, s->cells.at[i].cstr);
}

/* A constraint's own variables; of what it was derived from, the ranks alone. */
static void follow_cstr(slice *l, uint32_t id)
{
	tsr_store *s = l->s;
	const tsr_cstr *c = s->cstrs.at[id];
	for (bool own = true;; own = false) {
		switch (c->kind) {
		case TSR_C_DIM_EQUAL: case TSR_C_DIM_BELOW: add_dim(l, c->dim.a); add_dim(l, c->dim.b); break;
		case TSR_C_ROW_EQUAL: case TSR_C_ROW_BELOW: add_row(l, c->row.a, false); add_row(l, c->row.b, false); break;
		case TSR_C_AT_LEAST: add_dim(l, c->at_least.d); break;
		case TSR_C_TOTAL:
			for (uint32_t i = 0; i < c->total.n; i++)
				add_row(l, tsr_row_find(s, c->total.rows[i], &(bool){0}), own), add_row(l, c->total.rows[i], own);
			if (c->total.has_dim)
				add_dim(l, c->total.d);
			break;
		case TSR_C_AFFINE: add_dim(l, c->affine.d); add_dim(l, (tsr_dim){.kind = TSR_DIM_AFFINE, .affine = c->affine.term}); break;
		case TSR_C_CONCAT:
			add_dim(l, c->concat.d);
			add_dim(l, (tsr_dim){.kind = TSR_DIM_CONCAT, .concat = {c->concat.n, c->concat.at}});
			break;
		case TSR_C_LOOKUP:
			add_row(l, c->lookup.batch, own), add_row(l, c->lookup.rest_batch, own);
			add_row(l, c->lookup.input, own), add_row(l, c->lookup.rest_input, own);
			add_dim(l, c->lookup.d);
			break;
		case TSR_C_JOIN:
			add_row(l, c->join.whole, own), add_row(l, c->join.front, own), add_row(l, c->join.back, own);
			break;
		case TSR_C_SOURCE: break;
		}
		if (c->parent == c->id)
			break;
		c = s->cstrs.at[c->parent];
	}
	add_fact(l, c->id);
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static slice slice_new(tsr_store *s, bool closing)
{
	slice l = {.s = s, .closing = closing};
	tsr_map *maps[] = {&l.dims, &l.rows, &l.cstrs, &l.facts};
	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		tsr_map_init(maps[i], s->arena);
	return l;
}

static tsr_ids slice_end(slice *l)
{
	while (l->dim_work.n || l->row_work.n || l->cstr_work.n) {
		if (l->cstr_work.n)
			follow_cstr(l, l->cstr_work.at[--l->cstr_work.n]);
		else if (l->row_work.n)
			follow_row(l, l->row_work.at[--l->row_work.n]);
		else
			follow_dim(l, l->dim_work.at[--l->dim_work.n]);
	}
	if (l->out.n)
		qsort(l->out.at, l->out.n, sizeof *l->out.at, ascending);
	return l->out;
}

/* Every fact: where the slice is not enough, because closing decided something on the way. */
static tsr_ids everything(tsr_store *s)
{
	tsr_ids all = {0};
	for (uint32_t i = 0; i < s->cstrs.n; i++)
		if (s->cstrs.at[i]->parent == i)
			tsr_push(s->arena, &all, i);
	return all;
}

/* ---- minimisation ------------------------------------------------------------------------------------------------ */

/* What is asked of a trial: the error `code` (any error where closing has no part in it, the hidden dimension at `span`), or the
 * size of an axis. */
typedef struct question {
	tsr_store *s;
	const tsr_chain *chain;
	const tsr_shape *shape;          /* NULL: an error */
	tsr_kind kind;
	uint32_t axis;
	tsr_solved_row row;              /* what the shape's row was solved to here */
	uint64_t work;
} question;

static bool same_axis(const question *q, tsr_trial *t)
{
	tsr_solved out;
	if (t->failed || !tsr_store_solved(t->store, &t->shape, &out))
		return false;
	const tsr_solved_row *got = &out.row[q->kind];
	if (got->n != q->row.n)
		return false;
	tsr_solved_axis a = got->axes[q->axis], b = q->row.axes[q->axis];
	return a.unit == b.unit && a.basis == b.basis && tsr_size_equal(a.size, b.size);
}

static bool holds(question *q, const tsr_ids *facts)
{
	bool close = q->shape || q->chain->closing;
	tsr_trial *t = tsr_trial_run(q->s, facts->n, facts->at, close, q->shape);
	bool yes;
	if (q->shape)
		yes = same_axis(q, t);
	else if (q->chain->code == TSR_E_HIDDEN_DIM)
		yes = t->hidden && tsr_span_same(t->hidden_at, q->chain->span);
	else
		yes = t->failed && (!close || t->code == q->chain->code);
	q->work += t->emitted + facts->n;
	tsr_trial_free(t);
	return yes;
}

static tsr_ids without(tsr_arena *a, const tsr_ids *facts, uint32_t from, uint32_t to)
{
	tsr_ids out = {0};
	for (uint32_t i = 0; i < facts->n; i++)
		if (i < from || i >= to)
			tsr_push(a, &out, facts->at[i]);
	return out;
}

/* Takes away runs of facts, of half the length each time; at length one until a whole round takes nothing away, because what
 * closing decides is not monotone. False when the work ran out before. */
static bool minimise(question *q, tsr_ids *facts)
{
	uint32_t run = facts->n > 1 ? facts->n / 2 : 1;
	for (;;) {
		bool any = false;
		for (uint32_t at = 0; at < facts->n;) {
			if (q->work > MOST_WORK)
				return false;
			tsr_ids fewer = without(q->s->arena, facts, at, at + run);
			if (holds(q, &fewer)) {
				*facts = fewer;
				any = true;
			} else {
				at += run;
			}
		}
		if (run == 1 && !any)
			return true;
		run = run > 1 ? run / 2 : 1;
	}
}

static tsr_chain answer(question *q, tsr_chain chain, tsr_ids facts)
{
	q->chain = &chain;
	bool found = holds(q, &facts);
	if (!found && !q->shape && !chain.closing) {
		chain.closing = q->s->closing;
		found = chain.closing && holds(q, &facts);
	}
	if (!found) {
		facts = everything(q->s);
		found = facts.n < MOST_WORK / 20 && holds(q, &facts);
	}
	chain.irredundant = found && minimise(q, &facts);
	chain.nfacts = found ? facts.n : 0;
	chain.facts = facts.at;
	if (!q->shape)
		chain.start = tsr_dim_unit();
	return chain;
}

tsr_chain tsr_chain_of(tsr_store *s, const tsr_cstr *c, tsr_diag_code code)
{
	slice l = slice_new(s, s->closing);
	add_cstr(&l, c->id);
	question q = {.s = s};
	return answer(&q, (tsr_chain){.code = code, .span = tsr_cstr_root(s, c)->why->span}, slice_end(&l));
}

tsr_chain tsr_chain_of_place(tsr_store *s, tsr_span span, tsr_diag_code code)
{
	slice l = slice_new(s, true);
	for (uint32_t i = 0; i < s->cstrs.n; i++)
		if (tsr_span_same(s->cstrs.at[i]->why->span, span))
			add_cstr(&l, i);
	question q = {.s = s};
	return answer(&q, (tsr_chain){.code = code, .span = span, .closing = true}, slice_end(&l));
}

tsr_chain tsr_chain_of_hidden(tsr_store *s, uint32_t leaf, uint32_t var)
{
	slice l = slice_new(s, true);
	add_leaf(&l, leaf);
	if (var != TSR_NO_ID)
		seen(&l, &l.dims, &l.dim_work, var);
	question q = {.s = s};
	tsr_chain chain = {.code = TSR_E_HIDDEN_DIM, .closing = true, .span = leaf != TSR_NO_ID ? s->leaves.at[leaf].span : TSR_NOWHERE};
	return answer(&q, chain, slice_end(&l));
}

uint32_t tsr_store_nchains(const tsr_store *s) { return s->chains.n; }
const tsr_chain *tsr_store_chain(const tsr_store *s, uint32_t i) { return &s->chains.at[i]; }

static tsr_ids chosen(tsr_store *s, const tsr_chain *chain, uint32_t except)
{
	tsr_ids facts = {0};
	for (uint32_t i = 0; i < chain->nfacts; i++)
		if (i != except)
			tsr_push(s->arena, &facts, chain->facts[i]);
	return facts;
}

bool tsr_chain_holds(tsr_store *s, const tsr_chain *chain, uint32_t except)
{
	question q = {.s = s, .chain = chain};
	tsr_ids facts = chosen(s, chain, except);
	return holds(&q, &facts);
}

static question about(tsr_store *s, const tsr_shape *shape, tsr_kind kind, uint32_t axis)
{
	tsr_solved out;
	question q = {.s = s, .shape = shape, .kind = kind, .axis = axis};
	if (tsr_store_solved(s, shape, &out))
		q.row = out.row[kind];
	return q;
}

tsr_chain tsr_store_why(tsr_store *s, const tsr_shape *shape, tsr_kind kind, uint32_t axis)
{
	bool poison = false;
	slice l = slice_new(s, true);
	tsr_row r = tsr_row_find(s, shape->row[kind], &poison);
	add_row(&l, shape->row[kind], false);
	add_dim(&l, tsr_row_axis(r, axis));
	question q = about(s, shape, kind, axis);
	return answer(&q, (tsr_chain){.code = TSR_DIAG_COUNT, .closing = true, .start = tsr_row_axis(r, axis)}, slice_end(&l));
}

bool tsr_why_holds(tsr_store *s, const tsr_chain *chain, uint32_t except, const tsr_shape *shape, tsr_kind kind, uint32_t axis)
{
	question q = about(s, shape, kind, axis);
	q.chain = chain;
	tsr_ids facts = chosen(s, chain, except);
	return holds(&q, &facts);
}
