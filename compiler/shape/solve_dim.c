/* Section 4, dimensions: equality is unification; the rules of `d <= d'`, one function each.
 * In `a <= b`, a is the result's side and b the operand's; the claim-free unit is the top. See Note [Derived sizes]. */
#include "store.h"

static void fail(tsr_store *s, tsr_cstr *c, tsr_dim a, tsr_dim b, tsr_meet how)
{
	c->done = true;
	tsr_fault_meet(s, c, a, b, how);
	tsr_poison_dim(s, c->kind == TSR_C_AFFINE ? c->affine.d : c->kind == TSR_C_CONCAT ? c->concat.d : c->dim.a);
	if (c->kind == TSR_C_DIM_EQUAL || (c->kind == TSR_C_DIM_BELOW && c->dim.a.kind != TSR_DIM_VAR))
		tsr_poison_dim(s, c->dim.b);
}

/* Only what may vanish is empty. */
static bool must_last(const tsr_store *s, tsr_dim a, tsr_dim value)
{
	return tsr_dim_is_var(a) && value.kind == TSR_DIM_ZERO && !s->dims.at[a.var].discardable;
}

void tsr_dim_equate(tsr_store *s, tsr_cstr *c, tsr_dim a, tsr_dim b)
{
	a = tsr_dim_find(s, a);
	b = tsr_dim_find(s, b);
	if (must_last(s, a, b) || must_last(s, b, a)) {
		fail(s, c, a, b, TSR_MEET_SIZE);
	} else if (tsr_dim_is_var(a) && tsr_dim_is_var(b)) {
		if (a.var != b.var)
			tsr_join_dims(s, a.var, b.var, c);
	} else if (tsr_dim_is_var(a)) {
		tsr_bind_dim(s, a.var, b, c);
	} else if (tsr_dim_is_var(b)) {
		tsr_bind_dim(s, b.var, a, c);
	} else {
		tsr_meet how = tsr_dim_meet(s, a, b, c->why);
		if (how != TSR_MEET_OK)
			fail(s, c, a, b, how);
	}
}

void tsr_visit_dim_equal(tsr_store *s, tsr_cstr *c)
{
	c->done = true;
	tsr_dim_equate(s, c, c->dim.a, c->dim.b);
}

/* A concatenation may still turn out to be one claim-free component when all others may vanish and none is there. */
static bool concat_may_be_unit(tsr_store *s, const tsr_cstr *def)
{
	uint32_t lasting = 0;
	for (uint32_t i = 0; i < def->concat.n; i++) {
		tsr_dim x = tsr_dim_find(s, def->concat.at[i]);
		if (x.kind == TSR_DIM_ATOM)
			return false;
		lasting += !(x.kind == TSR_DIM_ZERO || (tsr_dim_is_var(x) && s->dims.at[x.var].discardable));
	}
	return lasting <= 1;
}

bool tsr_dim_strict(tsr_store *s, uint32_t root)
{
	const tsr_dim_var *v = &s->dims.at[root];
	if (v->solid)
		return true;
	TSR_EACH(s, i, &v->defs) {
		const tsr_cstr *def = tsr_cell_cstr(s, i);
		if (def->kind == TSR_C_AFFINE || !concat_may_be_unit(s, def))
			return true;
	}
	return false;
}

/* `a <= d` with d an atom: a = d. */
static void pin(tsr_store *s, tsr_cstr *c, tsr_dim a, tsr_dim b)
{
	c->done = true;
	tsr_dim_equate(s, c, a, b);
}

/* `d <= a`: a lower bound; a second, different one makes a the claim-free unit. A derived size is no unit. */
static void bound_below(tsr_store *s, tsr_cstr *c, tsr_dim atom, uint32_t a)
{
	if (tsr_dim_strict(s, a)) {
		c->done = true;
		tsr_bind_dim(s, a, atom, c);
		return;
	}
	tsr_watch_dim(s, c, a);
	tsr_lower_dim(s, a, atom, c);
}

/* `a <= b`: adjacency; what lies below a lies below b. */
static void adjacent(tsr_store *s, tsr_cstr *c, uint32_t a, uint32_t b)
{
	if (a == b) {
		c->done = true;
		return;
	}
	if (tsr_dim_strict(s, b)) {
		c->done = true;
		tsr_join_dims(s, a, b, c);
		return;
	}
	tsr_watch_dim(s, c, a);
	tsr_watch_dim(s, c, b);
	if (s->dims.at[a].has_lower && !TSR_PLANTED(3))           /* bounds do not pass along */
		tsr_lower_dim(s, b, s->dims.at[a].lower, c);
}

/* What lies below the unit is not empty. */
static void lasts(tsr_store *s, uint32_t a)
{
	if (!s->dims.at[a].discardable)
		return;
	s->dims.at[a].discardable = false;
	tsr_wake(s, &s->dims.at[a].watchers);
}

void tsr_visit_dim_below(tsr_store *s, tsr_cstr *c)
{
	tsr_dim a = tsr_dim_find(s, c->dim.a), b = tsr_dim_find(s, c->dim.b);
	if (b.kind == TSR_DIM_UNIT || (TSR_PLANTED(2) && a.kind == TSR_DIM_UNIT)) {      /* the unit below says nothing */
		c->done = true;
		if (a.kind == TSR_DIM_ZERO)
			fail(s, c, a, b, TSR_MEET_SIZE);
		else if (tsr_dim_is_var(a))
			lasts(s, a.var);
	} else if (a.kind == TSR_DIM_POISON || b.kind == TSR_DIM_POISON || a.kind == TSR_DIM_UNIT
		|| a.kind == TSR_DIM_ZERO || b.kind == TSR_DIM_ZERO || b.kind == TSR_DIM_ATOM) {
		pin(s, c, a, b);
	} else if (tsr_dim_is_var(a)) {
		adjacent(s, c, a.var, b.var);
	} else {
		bound_below(s, c, a, b.var);
	}
}

/* Note [Derived sizes]
 * A size that an affine or a concatenated term defines is never the claim-free unit. So as an operand it turns an
 * inequality into an equality, and that loses no solution: what lies below it is it. As a result, `v <= x`, it stays an
 * inequality unless the term itself is written in the constraint (tsr_emit_dim_below): x may be claim-free, as the number
 * in `conv (image + 1.)` is; v becomes x's bound as soon as it is known. The property belongs to the class of
 * variables, not to the order of arrival: bounds that were recorded before the term was met are facts in any case, and
 * a class that two of them had made the unit is refused by the term's condition.
 * A concatenation of which all components but one may vanish is exempt until one of those is known to be there. */
