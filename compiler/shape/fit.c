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

/* A row that the body makes longer, or ends, is one row. */
static bool var_fits(fitting *f, uint32_t own, uint32_t actual)
{
	const tsr_store *g = f->k->store;
	tsr_map_entry *e = tsr_map_put(&f->rows, own), *back = tsr_map_put(&f->back, actual);
	bool bound = g->rows.at[tsr_forest_find(g->row_forest, own)].bound;
	if ((e->value.i && e->value.i != actual + 1) || (bound && back->value.i && back->value.i != own + 1))
		return false;
	e->value.i = actual + 1;
	back->value.i = bound || !back->value.i ? own + 1 : back->value.i;
	return true;
}

static bool row_fits(fitting *f, tsr_row own, tsr_row actual)
{
	bool poison = false;
	tsr_row a = tsr_row_find(f->s, actual, &poison);
	bool fit = !poison && a.nlead == own.nlead && a.ntrail == own.ntrail && tsr_row_open(a) == tsr_row_open(own);
	for (uint32_t i = 0; fit && i < tsr_row_flanks(a); i++)
		fit = axis_fits(f, tsr_row_axis(own, i), tsr_row_axis(a, i));
	return fit && (!tsr_row_open(a) || var_fits(f, own.var, a.var));
}

tsr_scheme *tsr_scheme_fitting(tsr_scheme *k, tsr_store *s, const tsr_shape *actual, const tsr_dim *sizes)
{
	fitting f = {.k = k, .s = s};
	tsr_map *maps[] = {&f.dims, &f.rows, &f.back};
	for (uint32_t i = 0; i < 3; i++)
		tsr_map_init(maps[i], k->arena);
	for (uint32_t i = 0; i < k->arguments.n; i++)
		for (uint32_t kind = 0; kind < TSR_KINDS; kind++)
			if (!row_fits(&f, k->arguments.at[i].row[kind], actual[i].row[kind]))
				return NULL;
	for (uint32_t i = 0; i < k->sizes.n; i++)
		if (!axis_fits(&f, k->sizes.at[i], sizes[i]))
			return NULL;
	return tsr_scheme_with_apart(k, f.apart);
}
