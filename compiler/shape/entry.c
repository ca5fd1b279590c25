/* Conditions for the run: what must hold of the sizes that are known when the program runs.  Closing leaves them here; those
 * that the solved symbols decide are decided, and those that no sizes satisfy together are a mistake now, not one of every run:
 * `?n = 2` beside `?n = 3`. Finding that is substitution: a condition that fixes a symbol is put into all others. */
#include "store.h"

/* What conditions fix: a number per symbol, 0 where nothing does. */
typedef struct fixed { tsr_store *s; int64_t *at; } fixed;

static tsr_size substitute(const fixed *f, tsr_size x)
{
	tsr_store *s = f->s;
	tsr_size out = tsr_size_const(x.k);
	for (uint32_t i = 0; i < x.nterms; i++) {
		const tsr_symbol *sym = &s->symbols.at[x.terms[i].symbol];
		tsr_size one = {0, 1, &x.terms[i]}, dividend = sym->derived ? substitute(f, sym->dividend) : x;
		if (f->at[x.terms[i].symbol])
			one = tsr_size_const(x.terms[i].coef * f->at[x.terms[i].symbol]);
		else if (sym->derived && tsr_size_is_const(dividend))
			one = tsr_size_const(x.terms[i].coef * tsr_floor_div(dividend.k, sym->divisor));
		out = tsr_size_add(s->arena, out, one);
	}
	return out;
}

static tsr_size room_of(const fixed *f, const tsr_condition *c)
{
	return substitute(f, tsr_size_add(f->s->arena, c->left, tsr_size_scale(f->s->arena, c->right, -1)));
}

/* One condition in the light of the others: false where it cannot hold. Sets *news when it fixes a symbol. */
static bool possible(fixed *f, const tsr_condition *c, bool *news)
{
	tsr_size room = room_of(f, c);
	bool equal = c->kind == TSR_CONDITION_EQUAL;
	if (tsr_size_is_const(room))
		return equal ? room.k == 0 : room.k >= 0;
	uint32_t symbol = room.terms[0].symbol;
	if (!equal || room.nterms > 1 || f->s->symbols.at[symbol].derived)
		return true;
	int64_t coef = room.terms[0].coef;
	if (room.k % coef != 0 || -room.k / coef < 1)
		return false;
	f->at[symbol] = -room.k / coef;
	return *news = true;
}

/* x without the last symbol that `zero`, which is 0, gives as the others. */
static tsr_size without(tsr_store *s, tsr_size x, tsr_size zero)
{
	const tsr_size_term *last = NULL;
	for (uint32_t i = 0; i < zero.nterms; i++)
		if ((zero.terms[i].coef == 1 || zero.terms[i].coef == -1) && (!last || zero.terms[i].symbol > last->symbol))
			last = &zero.terms[i];
	for (uint32_t i = 0; last && i < x.nterms; i++)
		if (x.terms[i].symbol == last->symbol)
			return tsr_size_add(s->arena, x, tsr_size_scale(s->arena, zero, -x.terms[i].coef * last->coef));
	return x;
}

tsr_size tsr_size_given(tsr_store *s, tsr_size x)
{
	fixed f = {s, s->symbols.n ? TSR_NEW_N(s->arena, int64_t, s->symbols.n) : NULL};
	for (bool news = s->conditions.n > 0 && x.nterms; news;) {
		news = false;
		for (uint32_t i = 0; i < s->conditions.n; i++)
			possible(&f, &s->conditions.at[i], &news);
	}
	x = tsr_size_normal(s, substitute(&f, x));
	for (uint32_t i = 0; i < s->conditions.n && x.nterms; i++)
		if (s->conditions.at[i].kind == TSR_CONDITION_EQUAL)
			x = without(s, x, tsr_size_normal(s, room_of(&f, &s->conditions.at[i])));
	return x;
}

/* Solved symbols put in; what is then decided leaves the list. */
static void settle(tsr_store *s)
{
	fixed none = {s, s->symbols.n ? TSR_NEW_N(s->arena, int64_t, s->symbols.n) : NULL};
	uint32_t n = s->conditions.n;
	const tsr_condition *all = s->conditions.at;
	s->conditions.at = NULL;
	s->conditions.n = s->conditions.cap = 0;
	tsr_map_init(&s->noted, s->arena);
	for (uint32_t i = 0; i < n; i++) {
		tsr_condition c = all[i];
		c.left = tsr_size_normal(s, c.left);
		c.right = tsr_size_normal(s, c.right);
		tsr_size room = room_of(&none, &c);
		if (!tsr_size_is_const(room))
			tsr_require(s, c.kind, c.left, c.right, &c.why);
		else if (c.kind == TSR_CONDITION_EQUAL ? room.k != 0 : room.k < 0)
			tsr_fault_condition(s, &c, c.left, c.right);
	}
}

void tsr_settle_conditions(tsr_store *s)
{
	for (uint32_t i = 0; i < s->of_kind[TSR_C_TOTAL].n; i++) {
		tsr_cstr *c = s->cstrs.at[s->of_kind[TSR_C_TOTAL].at[i]];
		if (!c->done)
			tsr_visit_total(s, c);
		if (!c->done && !s->nerrors)
			tsr_fault_product(s, c);
	}
	settle(s);
	fixed f = {s, s->symbols.n ? TSR_NEW_N(s->arena, int64_t, s->symbols.n) : NULL};
	bool *refused = s->conditions.n ? TSR_NEW_N(s->arena, bool, s->conditions.n) : NULL;
	for (bool news = true; news;) {
		news = false;
		for (uint32_t i = 0; i < s->conditions.n; i++) {
			const tsr_condition *c = &s->conditions.at[i];
			if (refused[i] || possible(&f, c, &news))
				continue;
			refused[i] = true;
			tsr_fault_condition(s, c, substitute(&f, c->left), substitute(&f, c->right));
		}
	}
}
