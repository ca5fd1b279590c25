/* POLICY: concatenations that are one unknown size, and whose components nothing else pairs, are paired by position in the
 * source. Where one side is longer, its components that may vanish do, the last first; what is then left over has nothing to
 * be equal to, and must vanish too.
 *
 * What two concatenations have in common is taken off first; where one component is left on each side, arithmetic makes
 * them equal, and such pairs come before those that position alone makes. All pairs of a round are found before the
 * first is made, so that the order of the sizes, and of the concatenations of one size, does not matter. */
#include "store.h"

typedef struct equation { tsr_cstr *cause; tsr_dim a, b; } equation;
typedef TSR_VEC(equation) equations;
typedef struct side { tsr_dim *at; uint32_t n; } side;

static side components(tsr_store *s, const tsr_cstr *c)
{
	side x = {TSR_NEW_N(s->arena, tsr_dim, c->concat.n + 1), 0};
	for (uint32_t i = 0; i < c->concat.n; i++) {
		tsr_dim d = tsr_dim_find(s, c->concat.at[i]);
		if (d.kind != TSR_DIM_ZERO)
			x.at[x.n++] = d;
	}
	return x;
}

static void take_out(side *x, uint32_t i)
{
	for (x->n--; i < x->n; i++)
		x->at[i] = x->at[i + 1];
}

/* Also where one stands as a symbol and the other as the number that conditions leave it. */
static bool same(tsr_store *s, tsr_dim a, tsr_dim b)
{
	if (tsr_dim_same(s, a, b))
		return true;
	if (a.kind != TSR_DIM_ATOM || b.kind != TSR_DIM_ATOM || a.atom.basis != b.atom.basis)
		return false;
	return tsr_size_equal(tsr_size_given(s, tsr_size_normal(s, a.atom.size)), tsr_size_given(s, tsr_size_normal(s, b.atom.size)));
}

/* Takes off what stands on both sides, as often as it does. */
static void cancel(tsr_store *s, side *x, side *y)
{
	for (uint32_t i = 0; i < x->n;) {
		uint32_t j = 0;
		while (j < y->n && !same(s, x->at[i], y->at[j]))
			j++;
		if (j == y->n) {
			i++;
			continue;
		}
		take_out(x, i);
		take_out(y, j);
	}
}

static bool may_vanish(const tsr_store *s, tsr_dim d) { return tsr_dim_is_var(d) && s->dims.at[d.var].discardable; }

static void shorten(tsr_store *s, side *x, uint32_t n, tsr_cstr *cause, equations *out)
{
	for (uint32_t i = x->n; i-- > 0 && x->n > n;)
		if (may_vanish(s, x->at[i])) {
			tsr_push(s->arena, out, ((equation){cause, x->at[i], tsr_dim_zero()}));
			take_out(x, i);
		}
}

/* The equations between two concatenations; only where at most `most` components are left of either. */
static void pair_two(tsr_store *s, tsr_cstr *c, tsr_cstr *d, uint32_t most, equations *out)
{
	side x = components(s, c), y = components(s, d);
	cancel(s, &x, &y);
	if (x.n > most || y.n > most)
		return;
	shorten(s, &x, y.n, c, out);
	shorten(s, &y, x.n, c, out);
	for (uint32_t i = 0; i < x.n || i < y.n; i++)
		tsr_push(s->arena, out, ((equation){c, i < x.n ? x.at[i] : tsr_dim_zero(), i < y.n ? y.at[i] : tsr_dim_zero()}));
}

static void pair_all(tsr_store *s, uint32_t root, uint32_t most, equations *out)
{
	TSR_VEC(tsr_cstr *) open = {0};
	TSR_EACH(s, i, &s->dims.at[root].defs)
		if (tsr_cell_cstr(s, i)->kind == TSR_C_CONCAT && !tsr_cell_cstr(s, i)->done)
			tsr_push(s->arena, &open, tsr_cell_cstr(s, i));
	for (uint32_t i = 0; i < open.n; i++)
		for (uint32_t j = 0; j < i; j++)
			pair_two(s, open.at[i], open.at[j], most, out);
}

/* All equations of this round, and whether one of them gives an unknown its value. */
static bool collect(tsr_store *s, uint32_t most, equations *out)
{
	bool any = false;
	out->n = 0;
	for (uint32_t v = 0; v < s->dims.n && !(TSR_PLANTED(13) && out->n); v++)           /* one size after the other */
		if (s->dims.at[v].defs.n > 1 && !s->dims.at[v].bound && tsr_forest_find(s->dim_forest, v) == v)
			pair_all(s, v, most, out);
	for (uint32_t i = 0; i < out->n; i++)
		any |= tsr_dim_is_var(out->at[i].a) || tsr_dim_is_var(out->at[i].b);
	return any;
}

bool tsr_pair_concats(tsr_store *s)
{
	equations all = {0};
	bool any = collect(s, 1, &all) || collect(s, UINT32_MAX, &all);
	for (uint32_t i = 0; i < all.n; i++)
		tsr_dim_equate(s, all.at[i].cause, all.at[i].a, all.at[i].b);
	return any;
}
