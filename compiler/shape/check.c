/* Every emitted constraint holds in the closed store.  The ground semantics of sections 1 to 3 are written out here a
 * second time, on solved rows only, and share no rule with the solver; a fault is ours. */
#include "store.h"

typedef struct ground { bool unit, zero; tsr_size size; tsr_name basis; } ground;
typedef struct ground_row { uint32_t n, marker; ground *at; } ground_row;

static _Noreturn void broken(tsr_store *s, const tsr_cstr *c, const char *how)
{
	const tsr_cstr *root = tsr_cstr_root(s, c);
	tsr_position p = root->why->span.file ? tsr_position_of(s->tc, root->why->span) : (tsr_position){"", 0, 0};
	tsr_bug("shape check: constraint %u (%s, line %u) does not hold: %s", c->id, root->why->what ? root->why->what : "?", p.line, how);
}

static ground ground_dim(tsr_store *s, const tsr_cstr *c, tsr_dim d)
{
	ground g = {0};
	d = tsr_dim_find(s, d);
	if (!tsr_dim_size(s, d, &g.size))
		broken(s, c, "a dimension is unsolved");
	g.unit = d.kind == TSR_DIM_UNIT;
	g.zero = d.kind == TSR_DIM_ZERO;
	g.basis = d.kind == TSR_DIM_ATOM ? d.atom.basis : NULL;
	return g;
}

static ground_row ground_of(tsr_store *s, const tsr_cstr *c, tsr_row r)
{
	bool poison = false;
	r = tsr_row_find(s, r, &poison);
	if (tsr_row_open(r))
		broken(s, c, "a row is open");
	ground_row g = {tsr_row_flanks(r), r.nlead, TSR_NEW_N(s->arena, ground, tsr_row_flanks(r) + 1)};
	for (uint32_t i = 0; i < g.n; i++)
		g.at[i] = ground_dim(s, c, tsr_row_axis(r, i));
	return g;
}

/* Equal now, or equal when the program runs, by a condition that is tested there. */
static bool sizes_agree(tsr_store *s, tsr_size a, tsr_size b)
{
	if (tsr_size_equal(a, b))
		return true;
	tsr_size diff = tsr_size_add(s->arena, a, tsr_size_scale(s->arena, b, -1));
	for (uint32_t i = 0; i < s->conditions.n; i++) {
		if (s->conditions.at[i].kind != TSR_CONDITION_EQUAL)
			continue;
		tsr_size l = tsr_size_normal(s, s->conditions.at[i].left), r = tsr_size_normal(s, s->conditions.at[i].right);
		tsr_size known = tsr_size_add(s->arena, l, tsr_size_scale(s->arena, r, -1));
		if (tsr_size_equal(diff, known) || tsr_size_equal(diff, tsr_size_scale(s->arena, known, -1)))
			return true;
	}
	return false;
}

static bool ground_equal(tsr_store *s, ground a, ground b)
{
	return a.unit == b.unit && a.zero == b.zero && a.basis == b.basis && sizes_agree(s, a.size, b.size);
}

static bool ground_below(tsr_store *s, ground res, ground op) { return (op.unit && !res.zero) || ground_equal(s, res, op); }

/* The operand, with claim-free units inserted at its marker, lies pointwise above the result. */
static bool row_below(tsr_store *s, ground_row res, ground_row op)
{
	if (res.n < op.n)
		return false;
	for (uint32_t i = 0; i < op.n; i++) {
		uint32_t at = i < op.marker ? i : i + res.n - op.n;
		if (!ground_below(s, res.at[at], op.at[i]))
			return false;
	}
	return true;
}

static bool row_equal(tsr_store *s, ground_row a, ground_row b)
{
	for (uint32_t i = 0; i < a.n && a.n == b.n; i++)
		if (!ground_equal(s, a.at[i], b.at[i]))
			return false;
	return a.n == b.n;
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

static bool affine_holds(tsr_store *s, const tsr_cstr *c)
{
	const tsr_affine *t = c->affine.term;
	ground d = ground_dim(s, c, c->affine.d), o = ground_dim(s, c, t->over);
	ground k = t->has_kernel ? ground_dim(s, c, t->kernel) : (ground){.unit = true, .size = tsr_size_const(1)};
	if (!tsr_size_is_const(d.size) || !tsr_size_is_const(o.size) || !tsr_size_is_const(k.size))
		return true;                     /* linear in symbols: tested on entry where it was not solved */
	int64_t last = t->stride * (o.size.k - 1) + t->offset + (t->has_kernel ? (k.size.k - 1) * t->dilation : 0);
	if (t->runtime)
		return d.size.k >= last + 1;
	if (d.unit || (o.basis && k.basis && o.basis != k.basis) || d.basis != (o.basis ? o.basis : k.basis))
		return false;
	if (!t->has_kernel)
		return d.size.k == t->stride * (o.size.k + floor_div(t->offset, t->stride));
	switch (t->pad) {
	case TSR_PAD_SAME: return d.size.k == t->stride * o.size.k;
	case TSR_PAD_VALID: case TSR_PAD_NONE: break;
	}
	return d.size.k == last + 1;
}

static bool concat_holds(tsr_store *s, const tsr_cstr *c)
{
	tsr_size sum = tsr_size_const(0);
	for (uint32_t i = 0; i < c->concat.n; i++)
		sum = tsr_size_add(s->arena, sum, ground_dim(s, c, c->concat.at[i]).size);
	return sizes_agree(s, sum, ground_dim(s, c, c->concat.d).size);
}

static bool total_holds(tsr_store *s, const tsr_cstr *c)
{
	int64_t have = 1;
	tsr_size want = c->total.size;
	for (uint32_t i = 0; i < c->total.n; i++) {
		ground_row r = ground_of(s, c, c->total.rows[i]);
		for (uint32_t j = 0; j < r.n; j++) {
			if (!tsr_size_is_const(r.at[j].size))
				return true;             /* products of symbols are tested on entry */
			have *= r.at[j].size.k;
		}
	}
	if (c->total.has_dim)
		want = tsr_size_scale(s->arena, ground_dim(s, c, c->total.d).size, c->total.coef);
	return sizes_agree(s, tsr_size_const(have), tsr_size_normal(s, want));
}

static ground_row without_first(ground_row r) { return (ground_row){r.n - 1, 0, r.at + 1}; }

/* The axis is the leftmost batch axis, and what is left is left; where there is none, it is all of the input. */
static bool lookup_holds(tsr_store *s, const tsr_cstr *c)
{
	ground_row batch = ground_of(s, c, c->lookup.batch), input = ground_of(s, c, c->lookup.input), *in = batch.n ? &batch : &input;
	if (in->n == 0 || (in == &input && input.n != 1) || !ground_equal(s, in->at[0], ground_dim(s, c, c->lookup.d)))
		return false;
	*in = without_first(*in);
	return row_equal(s, batch, ground_of(s, c, c->lookup.rest_batch)) && row_equal(s, input, ground_of(s, c, c->lookup.rest_input));
}

static bool join_holds(tsr_store *s, const tsr_cstr *c)
{
	ground_row whole = ground_of(s, c, c->join.whole), front = ground_of(s, c, c->join.front), back = ground_of(s, c, c->join.back);
	if (whole.n != front.n + back.n)
		return false;
	return row_equal(s, (ground_row){front.n, 0, whole.at}, front) && row_equal(s, (ground_row){back.n, 0, whole.at + front.n}, back);
}

static bool holds(tsr_store *s, const tsr_cstr *c)
{
	ground least;
	switch (c->kind) {
	case TSR_C_DIM_EQUAL: return ground_equal(s, ground_dim(s, c, c->dim.a), ground_dim(s, c, c->dim.b));
	case TSR_C_DIM_BELOW: return ground_below(s, ground_dim(s, c, c->dim.a), ground_dim(s, c, c->dim.b));
	case TSR_C_ROW_EQUAL: return row_equal(s, ground_of(s, c, c->row.a), ground_of(s, c, c->row.b));
	case TSR_C_ROW_BELOW: return row_below(s, ground_of(s, c, c->row.a), ground_of(s, c, c->row.b));
	case TSR_C_AT_LEAST:
		least = ground_dim(s, c, c->at_least.d);
		return !tsr_size_is_const(least.size) || least.size.k >= c->at_least.n;
	case TSR_C_TOTAL: return total_holds(s, c);
	case TSR_C_AFFINE: return affine_holds(s, c);
	case TSR_C_CONCAT: return concat_holds(s, c);
	case TSR_C_LOOKUP: return lookup_holds(s, c);
	case TSR_C_JOIN: return join_holds(s, c);
	case TSR_C_SOURCE: return true;
	}
	return true;
}

/* After errors there is poison in the store, and nothing to check. */
void tsr_store_check(tsr_store *s)
{
	if (s->nerrors)
		return;
	for (uint32_t i = 0; i < s->cstrs.n; i++) {
		const tsr_cstr *c = s->cstrs.at[i];
		bool emitted = c->parent == c->id || c->kind == TSR_C_AFFINE || c->kind == TSR_C_CONCAT;
		if (emitted && !holds(s, c))
			broken(s, c, "the closed sizes violate it");
	}
}
