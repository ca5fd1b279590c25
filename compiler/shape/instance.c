/* Schemes: the constraints of an application, solved without closing in a store of their own, for arguments of which no more is known
 * than how many axes they have and which of these claim nothing.  What is found there holds for every application to such arguments;
 * an instance is what is left of it (quantify.c), in the program's store, with the application's arguments for those of the scheme.
 *
 * An argument of the scheme has, axis for axis,
 *
 *   1*                       the unit, where the application's axis is the unit
 *   an axis that is solid    where it is a size, or will be one: never the unit (tsr_dim_strict)
 *   an axis                  where it is not known, which may vanish where the application's may
 *   nothing                  where it has vanished
 *
 * and a row variable at the marker where the row is open. So all that solving does with rows is done as the application itself
 * would have it done; see Note [Instances]. */
#include "region.h"
#include "../base/map.h"
#include <string.h>

tsr_scheme *tsr_scheme_new(tsr_store *s)
{
	tsr_scheme *k = TSR_NEW(s->arena, tsr_scheme);
	k->arena = s->arena;
	k->store = tsr_store_new(s->tc);
	k->store->generic = true;
	tsr_store_guess(k->store);
	tsr_map_init(&k->rows, s->arena);
	tsr_map_init(&k->sorts, s->arena);
	k->region = tsr_region_begin(k->store);
	return k;
}

tsr_store *tsr_scheme_store(const tsr_scheme *k) { return k->store; }
uint64_t tsr_scheme_steps(const tsr_scheme *k) { return k->store->steps; }

/* ---- arguments ------------------------------------------------------------------------------------------------------------- */

tsr_axis_sort tsr_sort_of(tsr_store *s, tsr_dim d)
{
	d = tsr_dim_find(s, d);
	switch (d.kind) {
	case TSR_DIM_UNIT: return TSR_SORT_UNIT;
	case TSR_DIM_ATOM: return TSR_SORT_SOLID;
	case TSR_DIM_VAR:
		if (s->dims.at[d.var].discardable)
			return tsr_dim_strict(s, d.var) ? TSR_SORT_NONE : TSR_SORT_VANISHING;
		return tsr_dim_strict(s, d.var) ? TSR_SORT_SOLID : TSR_SORT_UNKNOWN;
	case TSR_DIM_ZERO: return TSR_SORT_ZERO;
	case TSR_DIM_POISON: case TSR_DIM_AFFINE: case TSR_DIM_CONCAT: return TSR_SORT_NONE;
	}
	return TSR_SORT_NONE;
}

tsr_dim tsr_scheme_size(tsr_scheme *k)
{
	tsr_dim d = tsr_dim_fresh(k->store, NULL, TSR_NOWHERE);
	k->store->dims.at[d.var].solid = true;
	tsr_map_put(&k->sorts, d.var)->value.i = TSR_SORT_SOLID;
	tsr_push(k->store->arena, &k->sizes, d);
	return d;
}

static bool argument_axis(tsr_scheme *k, tsr_store *s, tsr_dim d, tsr_dim *out)
{
	tsr_axis_sort sort = tsr_sort_of(s, d);
	switch (sort) {
	case TSR_SORT_UNIT: *out = tsr_dim_unit(); return true;
	case TSR_SORT_ZERO: *out = tsr_dim_zero(); return true;
	case TSR_SORT_SOLID: case TSR_SORT_UNKNOWN: case TSR_SORT_VANISHING:
		*out = tsr_dim_fresh(k->store, NULL, TSR_NOWHERE);
		k->store->dims.at[out->var].solid = sort == TSR_SORT_SOLID;
		k->store->dims.at[out->var].discardable = sort == TSR_SORT_VANISHING;
		tsr_map_put(&k->sorts, out->var)->value.i = sort;
		return true;
	case TSR_SORT_NONE: break;
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

bool tsr_scheme_argument(tsr_scheme *k, tsr_store *s, const tsr_shape *actual, tsr_shape *out)
{
	for (uint32_t kind = 0; kind < TSR_KINDS; kind++) {
		bool poison = false;
		tsr_row r = tsr_row_find(s, actual->row[kind], &poison);
		uint32_t n = tsr_row_flanks(r);
		tsr_dim *at = TSR_NEW_N(k->store->arena, tsr_dim, n + 1);
		for (uint32_t i = 0; i < n; i++)
			if (poison || !argument_axis(k, s, tsr_row_axis(r, i), &at[i]))
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

static tsr_shape stated_shape(tsr_scheme *k, tsr_shape shape)
{
	for (uint32_t i = 0; i < TSR_KINDS; i++) {
		tsr_row *r = &shape.row[i];
		*r = tsr_row_copy(k->store, *r);
		for (uint32_t j = 0; j < tsr_row_flanks(*r); j++) {
			tsr_dim *d = j < r->nlead ? &r->lead[j] : &r->trail[j - r->nlead];
			*d = tsr_quantified_dim(&k->left, *d);
		}
	}
	return shape;
}

static void take(tsr_scheme *k)
{
	tsr_quantify(&k->left, k->store, k->arena, k->apart.n ? &k->apart : NULL);
	for (uint32_t i = 0; i < k->arguments.n; i++) {
		tsr_push(k->arena, &k->stated, stated_shape(k, k->arguments.at[i]));
		tsr_push(k->arena, &k->given, tsr_scheme_shape(k, &k->arguments.at[i]));
	}
	for (uint32_t i = 0; i < k->sizes.n; i++)
		tsr_push(k->arena, &k->stated_sizes, tsr_quantified_dim(&k->left, k->sizes.at[i]));
}

bool tsr_scheme_end(tsr_scheme *k)
{
	tsr_region_end(k->store, k->region);
	if (!tsr_region_quiet(k->region) || k->store->head < k->store->queue.n)
		return false;
	take(k);
	return true;
}

static bool same_apart(const tsr_ids *a, const tsr_ids *b)
{
	return a->n == b->n && (a->n == 0 || memcmp(a->at, b->at, a->n * sizeof *a->at) == 0);
}

tsr_scheme *tsr_scheme_with_apart(tsr_scheme *k, tsr_ids apart)
{
	if (apart.n == 0)
		return k;
	for (uint32_t i = 0; i < k->others.n; i++)
		if (same_apart(&k->others.at[i]->apart, &apart))
			return k->others.at[i];
	tsr_scheme *other = TSR_NEW(k->arena, tsr_scheme);
	*other = (tsr_scheme){.store = k->store, .arena = k->arena, .arguments = k->arguments, .sizes = k->sizes, .apart = apart};
	take(other);
	tsr_push(k->arena, &k->others, other);
	return other;
}

tsr_shape tsr_scheme_shape(tsr_scheme *k, const tsr_shape *shape)
{
	tsr_shape out;
	for (uint32_t i = 0; i < TSR_KINDS; i++)
		out.row[i] = tsr_quantified_row(&k->left, shape->row[i]);
	return out;
}

tsr_label tsr_scheme_label(tsr_scheme *k, tsr_label l)
{
	if (l.is_row)
		l.row = tsr_quantified_row(&k->left, l.row);
	else
		l.dim = tsr_quantified_dim(&k->left, l.dim);
	return l;
}

uint32_t tsr_scheme_left(const tsr_scheme *k, uint32_t emission)
{
	uint32_t from = 0, to = k->left.roots.n;      /* they are sorted */
	while (from < to) {
		uint32_t mid = from + (to - from) / 2;
		if (k->left.roots.at[mid] < emission)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* ---- how rows are made --------------------------------------------------------------------------------------------------------- */

static uint64_t mixed(uint64_t key, uint64_t more)
{
	key = (key ^ more) * 0x9e3779b97f4a7c15u;
	return key ^ key >> 29;
}

uint64_t tsr_shapes_outline(tsr_store *s, uint32_t n, const tsr_shape *shapes)
{
	tsr_map rows;
	uint64_t key = n;
	tsr_map_init(&rows, s->arena);
	for (uint32_t i = 0; i < n * TSR_KINDS; i++) {
		bool poison = false;
		tsr_row r = tsr_row_find(s, shapes[i / TSR_KINDS].row[i % TSR_KINDS], &poison);
		key = mixed(mixed(key, r.nlead), r.ntrail);
		for (uint32_t j = 0; j < tsr_row_flanks(r); j++)
			key = mixed(key, tsr_sort_of(s, tsr_row_axis(r, j)));
		if (!tsr_row_open(r))
			continue;
		tsr_map_entry *e = tsr_map_put(&rows, r.var);
		e->value.i = e->value.i ? e->value.i : (int64_t)rows.n;
		key = mixed(key, (uint64_t)e->value.i);
	}
	return key;
}

/* ---- instances -------------------------------------------------------------------------------------------------------------------- */

tsr_shape tsr_copy_shape(const tsr_scheme_copy *copy, const tsr_shape *shape)
{
	tsr_shape out;
	for (uint32_t i = 0; i < TSR_KINDS; i++)
		out.row[i] = tsr_copied_row(copy, shape->row[i]);
	return out;
}

tsr_label tsr_copy_label(const tsr_scheme_copy *copy, tsr_label l)
{
	if (l.is_row)
		l.row = tsr_copied_row(copy, l.row);
	else
		l.dim = tsr_copied_dim(copy, l.dim);
	return l;
}

uint32_t tsr_copy_why(tsr_store *s, const tsr_scheme *k, const tsr_scheme_copy *copy, uint32_t from, uint32_t to, const tsr_why *why)
{
	for (uint32_t i = from; why && i < to; i++) {
		tsr_cstr *c = s->cstrs.at[copy->cstrs + i];
		tsr_why own = *why;
		own.other = k->left.cstrs.at[i]->why->other;
		c->why = tsr_why_keep(s, &own);
	}
	return copy->cstrs + from;
}

tsr_shape tsr_scheme_given(const tsr_scheme *k, const tsr_scheme_copy *copy, uint32_t argument)
{
	return tsr_copy_shape(copy, &k->given.at[argument]);
}

/* Axes that are known, and sizes, stand in the place of the scheme's. */
static void put_known(const tsr_scheme *k, tsr_store *s, const tsr_shape *actual, const tsr_dim *sizes, tsr_scheme_copy *copy)
{
	copy->dims = TSR_NEW_N(k->arena, tsr_dim, k->left.dims.n + 1);
	for (uint32_t i = 0; i < k->left.dims.n; i++)
		copy->dims[i] = tsr_dim_poison();
	for (uint32_t i = 0; i < k->stated_sizes.n; i++)
		if (tsr_dim_is_var(k->stated_sizes.at[i]) && sizes[i].kind == TSR_DIM_ATOM)
			copy->dims[k->stated_sizes.at[i].var] = sizes[i];
	for (uint32_t i = 0; i < k->stated.n; i++)
		for (uint32_t kind = 0; kind < TSR_KINDS; kind++) {
			tsr_row own = k->stated.at[i].row[kind], r = tsr_row_find(s, actual[i].row[kind], &(bool){false});
			for (uint32_t j = 0; j < tsr_row_flanks(own); j++) {
				tsr_dim d = tsr_row_axis(own, j), a = tsr_dim_find(s, tsr_row_axis(r, j));
				if (tsr_dim_is_var(d) && a.kind == TSR_DIM_ATOM && copy->dims[d.var].kind == TSR_DIM_POISON)
					copy->dims[d.var] = a;
			}
		}
}

tsr_scheme_copy *tsr_scheme_instance(const tsr_scheme *k, tsr_store *s, const tsr_shape *actual, const tsr_dim *sizes, const tsr_why *why)
{
	tsr_scheme_copy *copy = TSR_NEW(k->arena, tsr_scheme_copy);
	put_known(k, s, actual, sizes, copy);
	tsr_instantiate(&k->left, s, copy, why);
	return copy;
}

void tsr_scheme_settle(const tsr_scheme *k, tsr_store *s, const tsr_scheme_copy *copy, const tsr_shape *actual, const tsr_dim *sizes,
                       const tsr_why *why)
{
	for (uint32_t i = 0; i < k->given.n; i++) {
		tsr_shape own = tsr_scheme_given(k, copy, i);
		for (uint32_t kind = 0; kind < TSR_KINDS; kind++)
			if (!tsr_rows_one(s, own.row[kind], actual[i].row[kind]))
				tsr_emit_row_equal(s, own.row[kind], actual[i].row[kind], *why);
	}
	for (uint32_t i = 0; i < k->stated_sizes.n; i++) {
		tsr_dim own = tsr_copied_dim(copy, k->stated_sizes.at[i]);
		if (!tsr_dims_one(s, own, sizes[i]))
			tsr_emit_dim_equal(s, own, sizes[i], *why);
	}
	tsr_instance_begins(&k->left, s, copy);
}

/* Note [Instances]
 * Emission to given arguments and an instance of the scheme solve the same constraints: the body's, and that the scheme's arguments are
 * the application's. Only the order differs: the equalities come last. (A size that is known takes the place of the scheme's variable at
 * once, and wakes the constraints that mention it: that is what the equality would do.) What is done in the scheme has said all that it
 * has to say, in bindings, which are in the terms.
 *
 * Over dimensions no order matters. A solid axis is taken for an atom before it is known which; the rules for it are those for atoms,
 * `a <= d` makes them equal, and it is one in the end. Where two that the scheme makes one are not the same here, and only the run knows
 * whether they are equal, emission would give each of the variables one of them, and say a condition of an operation. So in an instance for
 * such sizes each variable stands for itself, and the constraints between them are solved again, in the order in which the scheme visited
 * them: of sizes that are all known there, a first visit decides. A scheme that follows another in its own store keeps all sizes apart that
 * are of different variables: in its own instances they may be different sizes.
 *
 * Over rows an order may decide a marker, or where axes grow. But rows are solved by their lengths and variables alone; those of the
 * arguments are the same in both, and what is outside of an application is not visited before it is complete (Note [Applications]); so the
 * body's constraints do the same to them, one after the other, and leave the same rows. What then waits outside for one of them is visited in
 * the order in which it was emitted, in both. tsr_scheme_fitting sees to it that a row that is bound stands for one variable.
 *
 * An argument's axis that may vanish does in the scheme, too, until something says that it lasts; the two are joined, and what either learnt
 * holds of both.
 *
 * What a variable is besides (a leaf's, used by a spec, part of a term) is joined with the application's, and neutral in the scheme. */
