/* Section 1: sizes, atoms, the claim-free unit, symbols; what it means for two solved dimensions to be equal.
 * A size is a linear form over symbols; the normal form has its terms sorted by symbol and solved symbols replaced, so
 * that equal sizes are equal term by term. */
#include "store.h"
#include <string.h>

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

bool tsr_size_equal(tsr_size a, tsr_size b)
{
	if (a.k != b.k || a.nterms != b.nterms)
		return false;
	for (uint32_t i = 0; i < a.nterms; i++)
		if (a.terms[i].coef != b.terms[i].coef || a.terms[i].symbol != b.terms[i].symbol)
			return false;
	return true;
}

/* Sizes stop growing far above what any tensor may have, instead of wrapping around to something that looks like one. */
#define TSR_SIZE_END ((int64_t)1 << 62)
static int64_t clamp(int64_t x) { return x > TSR_SIZE_END ? TSR_SIZE_END : x < -TSR_SIZE_END ? -TSR_SIZE_END : x; }

static int64_t plus(int64_t x, int64_t y)
{
	int64_t r;
	return __builtin_add_overflow(x, y, &r) ? (x < 0 ? -TSR_SIZE_END : TSR_SIZE_END) : clamp(r);
}

static int64_t times(int64_t x, int64_t y)
{
	int64_t r;
	return __builtin_mul_overflow(x, y, &r) ? ((x < 0) == (y < 0) ? TSR_SIZE_END : -TSR_SIZE_END) : clamp(r);
}

tsr_size tsr_size_add(tsr_arena *arena, tsr_size x, tsr_size y)
{
	if (x.nterms == 0 && y.nterms == 0)
		return tsr_size_const(plus(x.k, y.k));
	tsr_size_term *out = TSR_NEW_N(arena, tsr_size_term, x.nterms + y.nterms);
	uint32_t n = 0, i = 0, j = 0;
	while (i < x.nterms || j < y.nterms) {
		tsr_size_term t;
		if (j == y.nterms || (i < x.nterms && x.terms[i].symbol < y.terms[j].symbol)) {
			t = x.terms[i++];
		} else if (i == x.nterms || y.terms[j].symbol < x.terms[i].symbol) {
			t = y.terms[j++];
		} else {
			t = x.terms[i++];
			t.coef = plus(t.coef, y.terms[j++].coef);
		}
		if (t.coef != 0)
			out[n++] = t;
	}
	return (tsr_size){plus(x.k, y.k), n, n ? out : NULL};
}

tsr_size tsr_size_scale(tsr_arena *arena, tsr_size x, int64_t factor)
{
	if (factor == 0 || x.nterms == 0)
		return tsr_size_const(times(x.k, factor));
	tsr_size_term *out = TSR_NEW_N(arena, tsr_size_term, x.nterms);
	for (uint32_t i = 0; i < x.nterms; i++)
		out[i] = (tsr_size_term){times(x.terms[i].coef, factor), x.terms[i].symbol};
	return (tsr_size){times(x.k, factor), x.nterms, out};
}

int64_t tsr_floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/* A quotient is solved when its dividend is a number. */
static bool is_solved(tsr_store *s, uint32_t symbol)
{
	tsr_symbol *sym = &s->symbols.at[symbol];
	if (sym->solved || !sym->derived)
		return sym->solved;
	sym->dividend = tsr_size_normal(s, sym->dividend);
	sym->solved = tsr_size_is_const(sym->dividend);
	if (sym->solved)
		sym->value = tsr_size_const(tsr_floor_div(sym->dividend.k, sym->divisor));
	return sym->solved;
}

tsr_size tsr_size_normal(tsr_store *s, tsr_size x)
{
	bool again = false;
	for (uint32_t i = 0; i < x.nterms; i++)
		again |= is_solved(s, x.terms[i].symbol);
	if (!again)
		return x;
	tsr_size out = tsr_size_const(x.k);
	for (uint32_t i = 0; i < x.nterms; i++) {
		const tsr_symbol *sym = &s->symbols.at[x.terms[i].symbol];
		tsr_size one = {0, 1, &x.terms[i]};
		if (sym->solved)
			one = tsr_size_scale(s->arena, tsr_size_normal(s, sym->value), x.terms[i].coef);
		out = tsr_size_add(s->arena, out, one);
	}
	return out;
}

tsr_size tsr_store_size(tsr_store *s, tsr_size x) { return tsr_size_normal(s, x); }

static uint64_t hash_size(uint64_t h, tsr_size x)
{
	h = (h ^ (uint64_t)x.k) * 0x9e3779b97f4a7c15u;
	for (uint32_t i = 0; i < x.nterms; i++)
		h = ((h ^ h >> 29 ^ x.terms[i].symbol) * 0x9e3779b97f4a7c15u) ^ (uint64_t)x.terms[i].coef;
	return h ^ h >> 32;
}

void tsr_require(tsr_store *s, tsr_condition_kind kind, tsr_size left, tsr_size right, const tsr_why *why)
{
	for (uint64_t h = hash_size(kind, left) + hash_size(kind, right);; h++) {
		tsr_map_entry *e = tsr_map_put(&s->noted, h);
		s->looks++;
		if (!e->value.i) {
			tsr_push(s->arena, &s->conditions, ((tsr_condition){kind, left, right, *why}));
			e->value.i = s->conditions.n;
			return;
		}
		const tsr_condition *c = &s->conditions.at[e->value.i - 1];
		bool turned = kind == TSR_CONDITION_EQUAL && tsr_size_equal(c->left, right) && tsr_size_equal(c->right, left);
		if (c->kind == kind && (turned || (tsr_size_equal(c->left, left) && tsr_size_equal(c->right, right))))
			return;
	}
}

bool tsr_size_required(tsr_store *s, tsr_size a, tsr_size b)
{
	tsr_size apart = tsr_size_add(s->arena, a, tsr_size_scale(s->arena, b, -1)), back = tsr_size_scale(s->arena, apart, -1);
	for (uint32_t i = 0; i < s->conditions.n; i++) {
		const tsr_condition *c = &s->conditions.at[i];
		tsr_size x = tsr_size_normal(s, c->left), y = tsr_size_normal(s, c->right);
		tsr_size known = tsr_size_add(s->arena, x, tsr_size_scale(s->arena, y, -1));
		if (c->kind == TSR_CONDITION_EQUAL && (tsr_size_equal(apart, known) || tsr_size_equal(back, known)))
			return true;
	}
	return false;
}

static bool mentions(tsr_store *s, tsr_size x, uint32_t symbol)
{
	for (uint32_t i = 0; i < x.nterms; i++) {
		const tsr_symbol *sym = &s->symbols.at[x.terms[i].symbol];
		if (x.terms[i].symbol == symbol || (sym->derived && mentions(s, tsr_size_normal(s, sym->dividend), symbol)))
			return true;
	}
	return false;
}

/* A size that only a call of an exported function knows. */
static bool of_a_call(tsr_store *s, tsr_size x)
{
	for (uint32_t i = 0; i < x.nterms; i++) {
		const tsr_symbol *sym = &s->symbols.at[x.terms[i].symbol];
		if (sym->exported || (sym->derived && of_a_call(s, tsr_size_normal(s, sym->dividend))))
			return true;
	}
	return false;
}

/* The symbol of `diff` that can be solved so that diff = 0: local, not derived, dividing all the rest
 * and not hidden in a quotient there; TSR_NO_ID otherwise. */
static uint32_t solvable(tsr_store *s, tsr_size diff)
{
	bool called = of_a_call(s, diff);
	for (uint32_t i = diff.nterms; i-- > 0;) {
		const tsr_symbol *sym = &s->symbols.at[diff.terms[i].symbol];
		int64_t c = diff.terms[i].coef;
		bool ok = !sym->exported && !sym->derived && !(sym->given && called) && diff.k % c == 0;
		for (uint32_t j = 0; j < diff.nterms && ok; j++)
			ok = diff.terms[j].coef % c == 0 && (j == i || !mentions(s, (tsr_size){0, 1, &diff.terms[j]}, diff.terms[i].symbol));
		if (ok)
			return i;
	}
	return TSR_NO_ID;
}

bool tsr_size_meet(tsr_store *s, tsr_size a, tsr_size b, const tsr_why *why)
{
	a = tsr_size_normal(s, a);
	b = tsr_size_normal(s, b);
	if (tsr_size_equal(a, b))
		return true;
	tsr_size diff = tsr_size_add(s->arena, a, tsr_size_scale(s->arena, b, -1));
	if (diff.nterms == 0)
		return false;
	uint32_t i = solvable(s, diff);
	if (i == TSR_NO_ID) {
		tsr_require(s, TSR_CONDITION_EQUAL, a, b, why);
		return true;
	}
	tsr_size_term t = diff.terms[i];
	tsr_size rest = tsr_size_const(-diff.k / t.coef);
	for (uint32_t j = 0; j < diff.nterms; j++) {
		tsr_size_term other = {-diff.terms[j].coef / t.coef, diff.terms[j].symbol};
		if (j != i)
			rest = tsr_size_add(s->arena, rest, (tsr_size){0, 1, memcpy(TSR_NEW(s->arena, tsr_size_term), &other, sizeof other)});
	}
	if (rest.nterms == 0 && rest.k < 1)
		return false;
	s->symbols.at[t.symbol].solved = true;
	s->symbols.at[t.symbol].value = rest;
	return true;
}

bool tsr_size_divide(tsr_store *s, tsr_size x, int64_t d, bool exact, const tsr_why *why, tsr_size *out)
{
	x = tsr_size_normal(s, x);
	int64_t floor_k = tsr_floor_div(x.k, d);
	bool whole = x.k % d == 0;
	for (uint32_t i = 0; i < x.nterms; i++)
		if (x.terms[i].coef % d != 0) {
			uint32_t id = s->symbols.n;
			tsr_name name = tsr_intern(s->tc->names, tsr_format(s->arena, "quotient%u", id));
			tsr_symbol sym = {.name = name, .span = why->span, .derived = true, .dividend = x, .divisor = d};
			tsr_push(s->arena, &s->symbols, sym);
			tsr_size_term *t = TSR_NEW(s->arena, tsr_size_term);
			*t = (tsr_size_term){1, id};
			*out = (tsr_size){0, 1, t};
			if (exact)
				tsr_require(s, TSR_CONDITION_EQUAL, x, tsr_size_scale(s->arena, *out, d), why);
			return true;
		}
	if (!whole && exact)
		return false;
	tsr_size_term *terms = x.nterms ? TSR_NEW_N(s->arena, tsr_size_term, x.nterms) : NULL;
	for (uint32_t i = 0; i < x.nterms; i++)
		terms[i] = (tsr_size_term){x.terms[i].coef / d, x.terms[i].symbol};
	*out = (tsr_size){floor_k, x.nterms, terms};
	return true;
}

/* ---- dimensions -------------------------------------------------------------------------------------------------- */

tsr_dim tsr_dim_unit(void) { return (tsr_dim){.kind = TSR_DIM_UNIT}; }
tsr_dim tsr_dim_zero(void) { return (tsr_dim){.kind = TSR_DIM_ZERO}; }
tsr_dim tsr_dim_poison(void) { return (tsr_dim){.kind = TSR_DIM_POISON}; }
bool tsr_dim_is_var(tsr_dim d) { return d.kind == TSR_DIM_VAR; }

/* The two reserved basis names are understood here, so that an annotation may write them. */
tsr_dim tsr_dim_atom(int64_t n, tsr_name basis)
{
	if (basis && strcmp(basis, "default") == 0)
		basis = NULL;
	if (n == 1 && basis && strcmp(basis, "bcast_if_1") == 0)
		return tsr_dim_unit();
	return (tsr_dim){.kind = TSR_DIM_ATOM, .atom = {tsr_size_const(n), basis}};
}

tsr_dim tsr_dim_symbol(tsr_store *s, uint32_t symbol, tsr_name basis)
{
	tsr_size_term *t = TSR_NEW(s->arena, tsr_size_term);
	*t = (tsr_size_term){1, symbol};
	return (tsr_dim){.kind = TSR_DIM_ATOM, .atom = {{0, 1, t}, basis}};
}

tsr_dim tsr_dim_find(tsr_store *s, tsr_dim d)
{
	if (d.kind != TSR_DIM_VAR)
		return d;
	d.var = tsr_forest_find(s->dim_forest, d.var);
	const tsr_dim_var *v = &s->dims.at[d.var];
	return v->bound ? v->value : d;
}

bool tsr_dim_size(tsr_store *s, tsr_dim d, tsr_size *out)
{
	switch (d.kind) {
	case TSR_DIM_ATOM: *out = tsr_size_normal(s, d.atom.size); return true;
	case TSR_DIM_UNIT: *out = tsr_size_const(1); return true;
	case TSR_DIM_ZERO: *out = tsr_size_const(0); return true;
	case TSR_DIM_VAR: case TSR_DIM_AFFINE: case TSR_DIM_CONCAT: case TSR_DIM_POISON: return false;
	}
	return false;
}

bool tsr_dim_same(tsr_store *s, tsr_dim a, tsr_dim b)
{
	if (a.kind != b.kind)
		return false;
	if (a.kind == TSR_DIM_VAR)
		return a.var == b.var;
	return a.kind != TSR_DIM_ATOM || (a.atom.basis == b.atom.basis
		&& tsr_size_equal(tsr_size_normal(s, a.atom.size), tsr_size_normal(s, b.atom.size)));
}

tsr_meet tsr_dim_meet(tsr_store *s, tsr_dim a, tsr_dim b, const tsr_why *why)
{
	if (a.kind == TSR_DIM_POISON || b.kind == TSR_DIM_POISON)
		return TSR_MEET_OK;
	if (a.kind != b.kind)
		return a.kind == TSR_DIM_ZERO || b.kind == TSR_DIM_ZERO ? TSR_MEET_SIZE : TSR_MEET_UNIT;
	if (a.kind != TSR_DIM_ATOM)
		return TSR_MEET_OK;
	if (a.atom.basis != b.atom.basis && !TSR_PLANTED(4))      /* bases do not count */
		return TSR_MEET_BASIS;
	return tsr_size_meet(s, a.atom.size, b.atom.size, why) ? TSR_MEET_OK : TSR_MEET_SIZE;
}

bool tsr_basis_merge(tsr_name a, tsr_name b, tsr_name *out)
{
	*out = a ? a : b;
	return !a || !b || a == b;
}
