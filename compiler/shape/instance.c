/* Schemes: the constraints of an application, solved without closing in a store of their own, for arguments of which no more is known
 * than how many axes they have and which of these claim nothing.  What is found there holds for every application to such arguments;
 * an instance is a copy of it in the program's store (region.c), whose arguments are then equal to those of the application.
 *
 * An argument of the scheme has, axis for axis,
 *
 *   1*                       the unit, where the application's axis is the unit
 *   an axis that is solid    where it is a size, or will be one: never the unit (tsr_dim_strict)
 *   an axis                  where it is not known
 *
 * and a row variable at the marker where the row is open. So all that solving does with rows is done as the application itself
 * would have it done; see Note [Instances]. */
#include "region.h"
#include "../base/map.h"

struct tsr_scheme {
	tsr_store *of, *store;           /* the program's; its own */
	tsr_region *region;
	TSR_VEC(tsr_shape) arguments;
	tsr_map rows;                    /* row variable of the program -> that of the scheme + 1 */
	tsr_map unknown;                 /* axes of arguments that are not known */
};

tsr_scheme *tsr_scheme_new(tsr_store *s)
{
	tsr_scheme *k = TSR_NEW(s->arena, tsr_scheme);
	k->of = s;
	k->store = tsr_store_new(s->tc);
	tsr_store_guess(k->store);
	tsr_map_init(&k->rows, s->arena);
	tsr_map_init(&k->unknown, s->arena);
	k->region = tsr_region_begin(k->store);
	return k;
}

tsr_store *tsr_scheme_store(const tsr_scheme *k) { return k->store; }
uint64_t tsr_scheme_steps(const tsr_scheme *k) { return k->store->steps; }

/* ---- arguments ------------------------------------------------------------------------------------------------------------- */

typedef enum { AXIS_UNIT, AXIS_SOLID, AXIS_UNKNOWN, AXIS_NONE } axis_kind;

/* What may vanish, or is nothing, has no place in a scheme. */
static axis_kind axis_kind_of(tsr_store *s, tsr_dim d)
{
	d = tsr_dim_find(s, d);
	switch (d.kind) {
	case TSR_DIM_UNIT: return AXIS_UNIT;
	case TSR_DIM_ATOM: return AXIS_SOLID;
	case TSR_DIM_VAR: return s->dims.at[d.var].discardable ? AXIS_NONE : tsr_dim_strict(s, d.var) ? AXIS_SOLID : AXIS_UNKNOWN;
	case TSR_DIM_ZERO: case TSR_DIM_POISON: case TSR_DIM_AFFINE: case TSR_DIM_CONCAT: return AXIS_NONE;
	}
	return AXIS_NONE;
}

tsr_dim tsr_scheme_size(tsr_scheme *k)
{
	tsr_dim d = tsr_dim_fresh(k->store, NULL, TSR_NOWHERE);
	k->store->dims.at[d.var].solid = true;
	return d;
}

static bool argument_axis(tsr_scheme *k, tsr_dim d, tsr_dim *out)
{
	switch (axis_kind_of(k->of, d)) {
	case AXIS_UNIT: *out = tsr_dim_unit(); return true;
	case AXIS_SOLID: *out = tsr_scheme_size(k); return true;
	case AXIS_UNKNOWN:
		*out = tsr_dim_fresh(k->store, NULL, TSR_NOWHERE);
		tsr_map_put(&k->unknown, out->var);
		return true;
	case AXIS_NONE: break;
	}
	return false;
}

/* One variable for one of the program's. It is no template's, so that it takes over what the other one is (tsr_join_rows). */
static uint32_t argument_var(tsr_scheme *k, uint32_t var)
{
	tsr_map_entry *e = tsr_map_put(&k->rows, var);
	if (!e->value.i) {
		uint32_t v = tsr_row_var_new(k->store);
		k->store->rows.at[v].from_template = true;
		e->value.i = v + 1;
	}
	return (uint32_t)(e->value.i - 1);
}

bool tsr_scheme_argument(tsr_scheme *k, const tsr_shape *actual, tsr_shape *out)
{
	for (uint32_t kind = 0; kind < TSR_KINDS; kind++) {
		bool poison = false;
		tsr_row r = tsr_row_find(k->of, actual->row[kind], &poison);
		uint32_t n = tsr_row_flanks(r);
		tsr_dim *at = TSR_NEW_N(k->store->arena, tsr_dim, n + 1);
		for (uint32_t i = 0; i < n; i++)
			if (poison || !argument_axis(k, tsr_row_axis(r, i), &at[i]))
				return false;
		out->row[kind] = (tsr_row){.nlead = r.nlead, .ntrail = r.ntrail, .lead = at, .trail = at + r.nlead,
		                           .var = tsr_row_open(r) ? argument_var(k, r.var) : TSR_NO_ROW};
	}
	tsr_push(k->store->arena, &k->arguments, *out);
	return true;
}

void tsr_scheme_simplify(tsr_scheme *k, uint32_t nseen, const tsr_shape *seen, uint32_t nlabels, const tsr_label *labels)
{
	TSR_VEC(tsr_shape) all = {0};
	for (uint32_t i = 0; i < nseen; i++)
		tsr_push(k->store->arena, &all, seen[i]);
	for (uint32_t i = 0; i < k->arguments.n; i++)
		tsr_push(k->store->arena, &all, k->arguments.at[i]);
	tsr_store_simplify(k->store, all.n, all.at, nlabels, labels);
}

bool tsr_scheme_end(tsr_scheme *k)
{
	tsr_region_end(k->store, k->region);
	return tsr_region_keep(k->store, k->region);
}

const tsr_region *tsr_scheme_region(const tsr_scheme *k) { return k->region; }

/* ---- for which arguments it is ------------------------------------------------------------------------------------------------- */

/* What arguments would stand for; class of the scheme -> the first of the program's that meets it. */
typedef struct fitting {
	const tsr_scheme *k;
	tsr_map dims, rows, back;
	TSR_VEC(tsr_dim) met;
} fitting;

static axis_kind own_kind(const tsr_scheme *k, tsr_dim own)
{
	return own.kind == TSR_DIM_UNIT ? AXIS_UNIT : tsr_map_find(&k->unknown, own.var) ? AXIS_UNKNOWN : AXIS_SOLID;
}

/* Sizes that the scheme says are equal are the same size, not one that would have to become it. */
static bool axis_fits(fitting *f, tsr_dim own, tsr_dim actual)
{
	tsr_store *s = f->k->of;
	tsr_dim a = tsr_dim_find(s, actual), g = tsr_dim_find(f->k->store, own);
	if (axis_kind_of(s, a) != own_kind(f->k, own))
		return false;
	if (own.kind == TSR_DIM_UNIT || a.kind != TSR_DIM_ATOM)
		return true;
	if (g.kind != TSR_DIM_VAR)
		return tsr_dims_one(s, a, g);
	tsr_map_entry *e = tsr_map_put(&f->dims, g.var);
	if (e->value.i)
		return tsr_dims_one(s, a, f->met.at[e->value.i - 1]);
	tsr_push(s->arena, &f->met, a);
	e->value.i = f->met.n;
	return true;
}

/* Nobody but its own definition, and who counts elements, waits for the row; nobody who cares that it ends, if it only ends. */
static bool unwatched(tsr_store *s, uint32_t var, bool ends)
{
	TSR_EACH(s, i, &s->rows.at[var].watchers) {
		const tsr_cstr *c = tsr_cell_cstr(s, i);
		tsr_row_side side = s->cells.at[i].side;
		if (!c->done && c->kind != TSR_C_TOTAL && side != TSR_SIDE_RESULT && !(ends && side == TSR_SIDE_OPERAND))
			return false;
	}
	return true;
}

static bool var_fits(fitting *f, uint32_t own, uint32_t actual)
{
	tsr_store *g = f->k->store;
	tsr_map_entry *e = tsr_map_put(&f->rows, own), *back = tsr_map_put(&f->back, actual);
	if (e->value.i && e->value.i != actual + 1)
		return false;
	const tsr_row_var *v = &g->rows.at[tsr_forest_find(g->row_forest, own)];
	if (v->bound && back->value.i && back->value.i != own + 1)
		return false;
	bool again = e->value.i;
	e->value.i = actual + 1;
	back->value.i = v->bound || !back->value.i ? own + 1 : back->value.i;
	return again || !v->bound || unwatched(f->k->of, actual, !tsr_row_open(v->value) && tsr_row_flanks(v->value) == 0);
}

static bool row_fits(fitting *f, tsr_row own, tsr_row actual)
{
	bool poison = false;
	tsr_row a = tsr_row_find(f->k->of, actual, &poison);
	if (poison || a.nlead != own.nlead || a.ntrail != own.ntrail || tsr_row_open(a) != tsr_row_open(own))
		return false;
	for (uint32_t i = 0; i < tsr_row_flanks(a); i++)
		if (!axis_fits(f, tsr_row_axis(own, i), tsr_row_axis(a, i)))
			return false;
	return !tsr_row_open(a) || var_fits(f, own.var, a.var);
}

bool tsr_scheme_fits(const tsr_scheme *k, const tsr_shape *actual)
{
	fitting f = {.k = k};
	tsr_map *maps[] = {&f.dims, &f.rows, &f.back};
	for (uint32_t i = 0; i < 3; i++)
		tsr_map_init(maps[i], k->of->arena);
	for (uint32_t i = 0; i < k->arguments.n; i++)
		for (uint32_t kind = 0; kind < TSR_KINDS; kind++)
			if (!row_fits(&f, k->arguments.at[i].row[kind], actual[i].row[kind]))
				return false;
	return true;
}

/* ---- instances -------------------------------------------------------------------------------------------------------------------- */

/* Nothing but axes that claim nothing. */
static bool says_nothing(const tsr_row *r)
{
	for (uint32_t i = 0; i < tsr_row_flanks(*r); i++)
		if (tsr_row_axis(*r, i).kind != TSR_DIM_UNIT)
			return false;
	return !tsr_row_open(*r);
}

tsr_shape tsr_scheme_given(const tsr_scheme *k, const tsr_region *instance, uint32_t argument)
{
	return tsr_region_shape(k->of, k->region, instance, &k->arguments.at[argument]);
}

tsr_region *tsr_scheme_instance(const tsr_scheme *k, const tsr_shape *actual, const tsr_why *why)
{
	tsr_region *copy = tsr_region_repeat(k->of, k->region);
	for (uint32_t i = 0; i < k->arguments.n; i++) {
		tsr_shape own = tsr_scheme_given(k, copy, i);
		for (uint32_t kind = 0; kind < TSR_KINDS; kind++)
			if (!says_nothing(&own.row[kind]))
				tsr_emit_row_equal(k->of, own.row[kind], actual[i].row[kind], *why);
	}
	return copy;
}

/* Note [Instances]
 * Emission to given arguments and an instance of the scheme solve the same constraints: the body's, and that the scheme's arguments are
 * the application's. Only the order differs: the equalities come last.
 *
 * Over dimensions no order matters. A solid axis is taken for an atom before it is known which; the rules for it are those for atoms,
 * `a <= d` makes them equal, and it is one in the end, or the application does not fit and is emitted.
 *
 * Over rows an order may decide a marker, or where axes grow. But rows are solved by their lengths and variables alone; those of the
 * arguments are the same in both; so the body's constraints do the same to them, one after the other. What could come in between is
 * what waits outside for a row of an argument that the body binds. Where the body ends a row, that lengthens nothing, and matters to
 * no inequality; where it makes one longer, nothing may wait for that but the row's own definition (its tensor as the result of an
 * operation), to which it makes no difference either. tsr_scheme_fits sees to that, and that what is bound stands for one variable.
 *
 * What a variable is besides (a leaf's, used by a spec, part of a term) is joined with the application's, and neutral in the scheme. */
