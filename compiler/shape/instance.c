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

struct tsr_scheme {
	tsr_store *store;                /* its own */
	tsr_arena *arena;
	tsr_region *region;
	TSR_VEC(tsr_shape) arguments;
	tsr_quantified left;             /* since the end */
	TSR_VEC(tsr_dim) sizes, stated_sizes;    /* that every application gives: of the store; over its numbers */
	TSR_VEC(tsr_shape) stated, given;    /* the arguments over its numbers: as they were stated, as they are */
	tsr_map rows;                    /* row variable of the application that it is made of -> that of the scheme + 1 */
	tsr_map kinds;                   /* axes of arguments that are variables -> axis_kind */
	tsr_ids apart;                   /* representatives of sizes that are one in the store and not in the instances */
	TSR_VEC(tsr_scheme *) others;    /* this one with sizes apart */
};

tsr_scheme *tsr_scheme_new(tsr_store *s)
{
	tsr_scheme *k = TSR_NEW(s->arena, tsr_scheme);
	k->arena = s->arena;
	k->store = tsr_store_new(s->tc);
	k->store->generic = true;
	tsr_store_guess(k->store);
	tsr_map_init(&k->rows, s->arena);
	tsr_map_init(&k->kinds, s->arena);
	k->region = tsr_region_begin(k->store);
	return k;
}

tsr_store *tsr_scheme_store(const tsr_scheme *k) { return k->store; }
uint64_t tsr_scheme_steps(const tsr_scheme *k) { return k->store->steps; }

/* ---- arguments ------------------------------------------------------------------------------------------------------------- */

typedef enum { AXIS_UNIT, AXIS_SOLID, AXIS_UNKNOWN, AXIS_VANISHING, AXIS_ZERO, AXIS_NONE } axis_kind;

static axis_kind axis_kind_of(tsr_store *s, tsr_dim d)
{
	d = tsr_dim_find(s, d);
	switch (d.kind) {
	case TSR_DIM_UNIT: return AXIS_UNIT;
	case TSR_DIM_ATOM: return AXIS_SOLID;
	case TSR_DIM_VAR:
		if (s->dims.at[d.var].discardable)
			return tsr_dim_strict(s, d.var) ? AXIS_NONE : AXIS_VANISHING;
		return tsr_dim_strict(s, d.var) ? AXIS_SOLID : AXIS_UNKNOWN;
	case TSR_DIM_ZERO: return AXIS_ZERO;
	case TSR_DIM_POISON: case TSR_DIM_AFFINE: case TSR_DIM_CONCAT: return AXIS_NONE;
	}
	return AXIS_NONE;
}

tsr_dim tsr_scheme_size(tsr_scheme *k)
{
	tsr_dim d = tsr_dim_fresh(k->store, NULL, TSR_NOWHERE);
	k->store->dims.at[d.var].solid = true;
	tsr_map_put(&k->kinds, d.var)->value.i = AXIS_SOLID;
	tsr_push(k->store->arena, &k->sizes, d);
	return d;
}

static bool argument_axis(tsr_scheme *k, tsr_store *s, tsr_dim d, tsr_dim *out)
{
	axis_kind kind = axis_kind_of(s, d);
	switch (kind) {
	case AXIS_UNIT: *out = tsr_dim_unit(); return true;
	case AXIS_ZERO: *out = tsr_dim_zero(); return true;
	case AXIS_SOLID: case AXIS_UNKNOWN: case AXIS_VANISHING:
		*out = tsr_dim_fresh(k->store, NULL, TSR_NOWHERE);
		k->store->dims.at[out->var].solid = kind == AXIS_SOLID;
		k->store->dims.at[out->var].discardable = kind == AXIS_VANISHING;
		tsr_map_put(&k->kinds, out->var)->value.i = kind;
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

/* ---- for which arguments it is ------------------------------------------------------------------------------------------------- */

/* What arguments would stand for; class of the scheme -> the first of the program's that meets it. */
typedef struct fitting {
	const tsr_scheme *k;
	tsr_store *s;
	tsr_map dims, rows, back;
	TSR_VEC(tsr_dim) met;
	tsr_ids apart;                   /* representatives of sizes that are one in the scheme, and not here */
	tsr_ids grown;                   /* rows that the body makes longer, and something outside waits for */
} fitting;

static axis_kind own_kind(const tsr_scheme *k, tsr_dim own)
{
	return own.kind == TSR_DIM_UNIT ? AXIS_UNIT : own.kind == TSR_DIM_ZERO ? AXIS_ZERO : (axis_kind)tsr_map_find(&k->kinds, own.var)->value.i;
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
	if (axis_kind_of(f->s, actual) != own_kind(f->k, own))
		return false;
	if (own.kind != TSR_DIM_VAR || own_kind(f->k, own) != AXIS_SOLID)
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

static bool same_apart(const tsr_ids *a, const tsr_ids *b)
{
	return a->n == b->n && (a->n == 0 || memcmp(a->at, b->at, a->n * sizeof *a->at) == 0);
}

static tsr_scheme *with_apart(tsr_scheme *k, tsr_ids apart)
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
		*as = with_apart(k, f.apart);
	return fit;
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
			key = mixed(key, axis_kind_of(s, tsr_row_axis(r, j)));
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
 * arguments are the same in both; so the body's constraints do the same to them, one after the other. What could come in between is
 * what waits outside for a row of an argument that the body binds. Where the body ends a row, that lengthens nothing, and matters to
 * no inequality. Where it makes one longer, once, that matters to results of which it is an operand, and to results of these: they may grow with
 * it. (Not to the row's own definition, nor to any operand: a result never binds these.) As long as no row of an argument is among them, nothing outside binds one,
 * so the body's rows are solved as they are alone; and as long as none of them follows two rows that grow, it makes no difference to them when
 * it happens: their own axes follow from how long the one is, and it is the only one that changes.
 * tsr_scheme_fits sees to all that, and that what is bound stands for one variable.
 *
 * An argument's axis that may vanish does in the scheme, too, until something says that it lasts; the two are joined, and what either learnt
 * holds of both.
 *
 * What a variable is besides (a leaf's, used by a spec, part of a term) is joined with the application's, and neutral in the scheme. */
