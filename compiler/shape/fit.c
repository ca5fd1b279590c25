/* For which arguments a scheme is, and with which of its sizes apart: where an instance would be what emission finds.  Note [Instances] in instance.c
 * has the argument. */
#include "region.h"
#include "../base/map.h"
#include <string.h>

/* What arguments would stand for; class of the scheme -> the first of the program's that meets it. */
typedef struct fitting {
	const tsr_scheme *k;
	tsr_store *s;
	tsr_map dims, rows, back;
	TSR_VEC(tsr_dim) met;
	tsr_ids apart;                   /* representatives of sizes that are one in the scheme, and not here */
	tsr_ids grown;                   /* rows that the body makes longer, and something outside waits for */
} fitting;

static tsr_axis_sort own_sort(const tsr_scheme *k, tsr_dim own)
{
	return own.kind == TSR_DIM_UNIT ? TSR_SORT_UNIT : own.kind == TSR_DIM_ZERO ? TSR_SORT_ZERO : (tsr_axis_sort)tsr_map_find(&k->sorts, own.var)->value.i;
}

/* In order, each once. */
static void set_apart(fitting *f, uint32_t root)
{
	uint32_t i = f->apart.n;
	while (i > 0 && f->apart.at[i - 1] > root)
		i--;
	if (i > 0 && f->apart.at[i - 1] == root)
		return;
	tsr_push(f->k->arena, &f->apart, root);
	memmove(&f->apart.at[i + 1], &f->apart.at[i], (f->apart.n - 1 - i) * sizeof *f->apart.at);
	f->apart.at[i] = root;
}

/* In a scheme's store sizes of different arguments are different, even if something before made them one: in its instances they may be. */
static bool one_size(fitting *f, tsr_dim a, tsr_dim b)
{
	return f->s->generic && a.kind == TSR_DIM_VAR && b.kind == TSR_DIM_VAR ? a.var == b.var : tsr_dims_one(f->s, a, b);
}

/* Sizes that the scheme says are equal are the same size, or apart. */
static bool axis_fits(fitting *f, tsr_dim own, tsr_dim actual)
{
	if (tsr_sort_of(f->s, actual) != own_sort(f->k, own))
		return false;
	if (own.kind != TSR_DIM_VAR || own_sort(f->k, own) != TSR_SORT_SOLID)
		return true;
	tsr_dim g = tsr_dim_find(f->k->store, own);
	uint32_t root = tsr_forest_find(f->k->store->dim_forest, own.var);
	tsr_map_entry *e = tsr_map_put(&f->dims, root);
	if (!one_size(f, actual, e->value.i ? f->met.at[e->value.i - 1] : g.kind == TSR_DIM_VAR ? actual : g))
		set_apart(f, root);
	tsr_push(f->s->arena, &f->met, actual);
	e->value.i = e->value.i ? e->value.i : f->met.n;
	return true;
}

/* Nobody waits for the row but those who count elements; its own definition, as the result of an operation; results of which it is an
 * operand, which never bind it. */
static bool waits_at_most(tsr_store *s, uint32_t var, bool result, bool operand)
{
	TSR_EACH(s, i, &s->rows.at[var].watchers) {
		const tsr_cstr *c = tsr_cell_cstr(s, i);
		tsr_row_side side = s->cells.at[i].side;
		if (!c->done && c->kind != TSR_C_TOTAL && !(result && side == TSR_SIDE_RESULT) && !(operand && side == TSR_SIDE_OPERAND))
			return false;
	}
	return true;
}

/* Grown once, and no further: it is still open, or has ended, then or later. */
static bool grows_once(const tsr_store *g, const tsr_row_var *v)
{
	if (!tsr_row_open(v->value))
		return true;
	const tsr_row_var *rest = &g->rows.at[tsr_forest_find(g->row_forest, v->value.var)];
	return !rest->bound || (!tsr_row_open(rest->value) && tsr_row_flanks(rest->value) == 0);
}

static tsr_fit var_fits(fitting *f, uint32_t own, uint32_t actual)
{
	tsr_store *g = f->k->store;
	tsr_map_entry *e = tsr_map_put(&f->rows, own), *back = tsr_map_put(&f->back, actual);
	if (e->value.i && e->value.i != actual + 1)
		return TSR_FIT_NOT_ROWS;
	const tsr_row_var *v = &g->rows.at[tsr_forest_find(g->row_forest, own)];
	if (v->bound && back->value.i && back->value.i != own + 1)
		return TSR_FIT_NOT_ROWS;
	bool again = e->value.i;
	e->value.i = actual + 1;
	back->value.i = v->bound || !back->value.i ? own + 1 : back->value.i;
	bool ends = v->bound && !tsr_row_open(v->value) && tsr_row_flanks(v->value) == 0;
	if (again || !v->bound || waits_at_most(f->s, actual, true, ends))
		return TSR_FIT;
	tsr_push(f->s->arena, &f->grown, actual);
	return grows_once(g, v) ? TSR_FIT : TSR_FIT_NOT_WATCHED;
}

/* Results outside of what grows may grow with it, and results of these; above: which row of an argument a row follows. False where it cannot be
 * said: something but an inequality waits, or the row of an argument is among them, or one follows two. */
static bool follow_apart(fitting *f, uint32_t from, tsr_map *above)
{
	enum { MOST = 64 };
	tsr_store *s = f->s;
	uint32_t reached[MOST] = {from}, n = 1;
	for (uint32_t at = 0; at < n; at++)
		TSR_EACH(s, i, &s->rows.at[reached[at]].watchers) {
			const tsr_cstr *c = tsr_cell_cstr(s, i);
			if (c->done || c->kind == TSR_C_TOTAL || (c->kind == TSR_C_ROW_BELOW && s->cells.at[i].side == TSR_SIDE_RESULT))
				continue;
			if (c->kind != TSR_C_ROW_BELOW)
				return false;
			uint32_t result = tsr_row_outline(s, &c->row.a, &(bool){false}).var;
			if (result == TSR_NO_ROW || result == reached[at])
				continue;
			tsr_map_entry *e = tsr_map_put(above, result);
			if (e->value.i == from + 1)
				continue;
			if (e->value.i || n == MOST || tsr_map_find(&f->back, result))
				return false;
			e->value.i = from + 1;
			reached[n++] = result;
		}
	return true;
}

/* Rows of arguments grow by the body alone, and what follows one outside follows no other. */
static bool grow_apart(fitting *f)
{
	tsr_map above;
	tsr_map_init(&above, f->s->arena);
	for (uint32_t i = 0; i < f->grown.n; i++)
		if (!follow_apart(f, f->grown.at[i], &above))
			return false;
	return true;
}

static tsr_fit row_fits(fitting *f, tsr_row own, tsr_row actual)
{
	bool poison = false;
	tsr_row a = tsr_row_find(f->s, actual, &poison);
	tsr_fit fit = TSR_FIT;
	if (poison || a.nlead != own.nlead || a.ntrail != own.ntrail || tsr_row_open(a) != tsr_row_open(own))
		return TSR_FIT_NOT_ROWS;
	for (uint32_t i = 0; i < tsr_row_flanks(a) && fit == TSR_FIT; i++)
		fit = axis_fits(f, tsr_row_axis(own, i), tsr_row_axis(a, i)) ? TSR_FIT : TSR_FIT_NOT_ROWS;
	return fit != TSR_FIT || !tsr_row_open(a) ? fit : var_fits(f, own.var, a.var);
}

tsr_fit tsr_scheme_fits(tsr_scheme *k, tsr_store *s, const tsr_shape *actual, const tsr_dim *sizes, tsr_scheme **as)
{
	fitting f = {.k = k, .s = s};
	tsr_fit fit = TSR_FIT;
	tsr_map *maps[] = {&f.dims, &f.rows, &f.back};
	for (uint32_t i = 0; i < 3; i++)
		tsr_map_init(maps[i], k->arena);
	for (uint32_t i = 0; i < k->arguments.n; i++)
		for (uint32_t kind = 0; kind < TSR_KINDS && fit == TSR_FIT; kind++)
			fit = row_fits(&f, k->arguments.at[i].row[kind], actual[i].row[kind]);
	for (uint32_t i = 0; i < k->sizes.n && fit == TSR_FIT; i++)
		fit = axis_fits(&f, k->sizes.at[i], sizes[i]) ? TSR_FIT : TSR_FIT_NOT_ROWS;
	if (fit == TSR_FIT && !grow_apart(&f))
		fit = TSR_FIT_NOT_WATCHED;
	if (fit == TSR_FIT)
		*as = tsr_scheme_with_apart(k, f.apart);
	return fit;
}
