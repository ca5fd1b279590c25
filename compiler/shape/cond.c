/* Section 4, conditions: at-least, total elements, affine and concatenated sizes.  Each is propagated whenever one of its
 * variables is bound: with one unknown left it solves it, with none it is verified. */
#include "store.h"

static void poison_all(tsr_store *s, tsr_cstr *c, uint32_t n, const tsr_dim *at)
{
	c->done = true;
	for (uint32_t i = 0; i < n; i++)
		tsr_poison_dim(s, at[i]);
}

static tsr_dim derived(const tsr_cstr *c, tsr_size size, tsr_name basis)
{
	return (tsr_dim){.kind = TSR_DIM_ATOM, .from = c->id + 1, .atom = {size, basis}};
}

static tsr_size minus(tsr_store *s, tsr_size x, tsr_size y)
{
	return tsr_size_add(s->arena, x, tsr_size_scale(s->arena, y, -1));
}

/* Arithmetic gives a size, not always all of a dimension: a 1, and a symbol that may be 1, may be the claim-free unit; where
 * another part of the term bears the name, an unknown one may bear it or not; an axis under a total may bear any. Such a size
 * comes late: when closing has begun and nothing else is left to do, so that what the constraints say of it comes first,
 * whatever their order. Then it is an atom. Those whose basis is certain come first, then those that bear a name, then those
 * that might; and numbers before sizes with symbols, of which there may be no product. */
static bool premature(tsr_store *s, const tsr_cstr *c, tsr_size q, bool basis_open, tsr_name basis)
{
	int doubt = !basis_open ? TSR_SETTLE_SURE : basis ? TSR_SETTLE_NAMED : TSR_SETTLE_BARE;
	if ((int)s->settling >= doubt + !tsr_size_is_const(q) || !(basis_open || !tsr_size_is_const(q) || q.k == 1))
		return false;
	tsr_push(s->arena, &s->late, c->id);
	return true;
}

static bool too_small(tsr_size x, int64_t least) { return tsr_size_is_const(x) && x.k < least; }
static tsr_name basis_of(tsr_dim d) { return d.kind == TSR_DIM_ATOM ? d.atom.basis : NULL; }

/* ---- at least ---------------------------------------------------------------------------------------------------- */

void tsr_visit_at_least(tsr_store *s, tsr_cstr *c)
{
	tsr_dim d = tsr_dim_find(s, c->at_least.d);
	tsr_size size;
	if (tsr_dim_is_var(d)) {
		tsr_watch_dim(s, c, d.var);
		return;
	}
	c->done = true;
	if (!tsr_dim_size(s, d, &size))
		return;
	if (!tsr_size_is_const(size))
		tsr_require(s, TSR_CONDITION_AT_LEAST, size, tsr_size_const(c->at_least.n), c->why);
	if (too_small(size, c->at_least.n)) {
		tsr_fault_at_least(s, c, size);
		tsr_poison_dim(s, c->at_least.d);
	}
}

/* ---- total elements ---------------------------------------------------------------------------------------------- */

typedef struct product {
	tsr_size known;              /* of the axes that are known */
	uint32_t nvars, nopen;
	tsr_dim var;                 /* an unknown axis */
	bool poison, unsupported;    /* a product of symbols has no linear form */
	bool given;                  /* symbols to which conditions leave one value stand for it */
} product;

static void multiply(tsr_store *s, tsr_cstr *c, product *p, tsr_dim axis)
{
	tsr_dim d = tsr_dim_find(s, axis);
	tsr_size size;
	if (d.kind == TSR_DIM_POISON) {
		p->poison = true;
	} else if (tsr_dim_is_var(d)) {
		p->nvars++;
		p->var = d;
		tsr_watch_dim(s, c, d.var);
	} else if (tsr_dim_size(s, d, &size)) {
		if (p->given)
			size = tsr_size_given(s, size);
		if (tsr_size_is_const(size))
			p->known = tsr_size_scale(s->arena, p->known, size.k);
		else if (tsr_size_is_const(p->known))
			p->known = tsr_size_scale(s->arena, size, p->known.k);
		else
			p->unsupported = true;
	}
}

/* An unknown that is a symbol and a number at once stands as either, by the order of the constraints: where that decides whether
 * there is a product of symbols, numbers take the symbols' place. */
static product axes_product(tsr_store *s, tsr_cstr *c, bool given)
{
	product p = {.known = tsr_size_const(1), .given = given};
	for (uint32_t i = 0; i < (TSR_PLANTED(12) ? 1 : c->total.n); i++) {           /* the first row alone */
		tsr_row r = tsr_row_find(s, c->total.rows[i], &p.poison);
		for (uint32_t j = 0; j < tsr_row_flanks(r); j++)
			multiply(s, c, &p, tsr_row_axis(r, j));
		if (tsr_row_open(r)) {
			p.nopen++;
			tsr_watch_row(s, c, r.var, TSR_SIDE_NONE);
		}
	}
	return p.unsupported && !given ? axes_product(s, c, true) : p;
}

static void fail_total(tsr_store *s, tsr_cstr *c, tsr_size have, tsr_size want)
{
	c->done = true;
	tsr_fault_total(s, c, have, want);
	for (uint32_t i = 0; i < c->total.n; i++)
		tsr_poison_row(s, c->total.rows[i]);
	if (c->total.has_dim)
		tsr_poison_dim(s, c->total.d);
}

/* Every axis is known: product = size, or product = coef * d with d unknown. */
static void total_known(tsr_store *s, tsr_cstr *c, tsr_size have, bool has_want, tsr_size want)
{
	tsr_size d;
	if (!has_want && premature(s, c, have, true, NULL))
		return;
	c->done = true;
	if (has_want) {
		if (!tsr_size_meet(s, have, want, c->why))
			fail_total(s, c, have, want);
	} else if (tsr_size_divide(s, have, c->total.coef, true, c->why, &d) && !too_small(d, 1)) {
		tsr_dim_equate(s, c, c->total.d, derived(c, d, NULL));
	} else {
		fail_total(s, c, have, tsr_size_const(c->total.coef));
	}
}

/* The total, where it is known. */
static bool wanted(tsr_store *s, tsr_cstr *c, bool *poison, tsr_size *want)
{
	*want = c->total.size;
	if (!c->total.has_dim)
		return true;
	tsr_dim d = tsr_dim_find(s, c->total.d);
	*poison |= d.kind == TSR_DIM_POISON;
	if (tsr_dim_size(s, d, want)) {
		*want = tsr_size_scale(s->arena, *want, c->total.coef);
		return true;
	}
	if (tsr_dim_is_var(d)) {
		s->dims.at[d.var].of_total = true;
		tsr_watch_dim(s, c, d.var);
	}
	return false;
}

bool tsr_total_made(tsr_store *s, tsr_cstr *c)
{
	product p = axes_product(s, c, false);
	tsr_size want;
	return wanted(s, c, &p.poison, &want) && (p.nvars || tsr_size_equal(p.known, want));
}

/* The number that want is of `known`, which has symbols; 0: none. */
static tsr_size ratio(tsr_store *s, tsr_size want, tsr_size known)
{
	tsr_size q = tsr_size_const(want.nterms ? want.terms[0].coef / known.terms[0].coef : 0);
	return tsr_size_equal(tsr_size_scale(s->arena, known, q.k), want) ? q : tsr_size_const(0);
}

/* One axis is unknown. A quotient by symbols is none that could be written: the others may say what it is, to the last. */
static void total_axis(tsr_store *s, tsr_cstr *c, const product *p, tsr_size want)
{
	tsr_size known = p->known, q = tsr_size_is_const(known) ? want : ratio(s, want, known);
	if (!tsr_size_is_const(known) && q.k == 0) {
		known = tsr_size_given(s, known);
		want = tsr_size_given(s, want);
		q = tsr_size_is_const(known) ? want : ratio(s, want, known);
	}
	bool number = tsr_size_is_const(known), writable = number ? known.k > 0 : q.k != 0;
	if (!writable && !number && s->settling < TSR_SETTLE_TOTALS) {
		tsr_push(s->arena, &s->late, c->id);
		return;
	}
	if (writable && premature(s, c, q, true, NULL))
		return;
	if (!writable || (number && !tsr_size_divide(s, want, known.k, true, c->why, &q)) || too_small(q, 1)) {
		fail_total(s, c, p->known, want);
		return;
	}
	c->done = true;
	tsr_dim_equate(s, c, p->var, derived(c, q, NULL));
}

void tsr_visit_total(tsr_store *s, tsr_cstr *c)
{
	product p = axes_product(s, c, false);
	tsr_size want;
	bool has_want = wanted(s, c, &p.poison, &want);
	if (p.poison) {
		c->done = true;
	} else if (tsr_size_is_const(p.known) && p.known.k == 0) {
		fail_total(s, c, p.known, want);
	} else if (p.unsupported) {                   /* visited again when closing has solved what symbols it could */
		if (s->settling < TSR_SETTLE_TOTALS)
			tsr_push(s->arena, &s->late, c->id);
	} else if (p.nopen == 0 && p.nvars == 0) {
		total_known(s, c, p.known, has_want, want);
	} else if (has_want && tsr_size_is_const(p.known) && tsr_size_is_const(want) && want.k % p.known.k != 0) {
		fail_total(s, c, p.known, want);
	} else if (p.nopen == 0 && p.nvars == 1 && has_want) {
		total_axis(s, c, &p, want);
	}
}

/* ---- affine ------------------------------------------------------------------------------------------------------ */

/* d = S * over + D * kernel + K. */
typedef struct line { int64_t S, D, K; } line;

static line line_of(const tsr_affine *t)
{
	if (t->runtime)
		return (line){t->stride, t->has_kernel ? t->dilation : 0, 1 - t->stride + t->offset - (t->has_kernel ? t->dilation : 0)};
	if (!t->has_kernel) {
		int64_t q = t->offset / t->stride - (t->offset % t->stride < 0);
		return (line){t->stride, 0, t->stride * q};
	}
	switch (t->pad) {
	case TSR_PAD_SAME: return (line){t->stride, 0, 0};
	case TSR_PAD_VALID: case TSR_PAD_NONE: break;
	}
	return (line){t->stride, t->dilation, 1 - t->stride - (TSR_PLANTED(8) ? 1 : t->dilation) + t->offset};  /* the kernel's last point */
}

static void fail_affine(tsr_store *s, tsr_cstr *c)
{
	const tsr_affine *t = c->affine.term;
	tsr_fault_affine(s, c, tsr_dim_find(s, c->affine.d), tsr_dim_find(s, t->over),
		t->has_kernel ? tsr_dim_find(s, t->kernel) : tsr_dim_unit());
	poison_all(s, c, 3, (tsr_dim[]){c->affine.d, t->over, t->has_kernel ? t->kernel : t->over});
}

/* num / by is the size of `unknown`, or the sizes do not fit. */
static void affine_solve(tsr_store *s, tsr_cstr *c, tsr_dim unknown, tsr_size num, int64_t by, tsr_name basis, bool basis_open)
{
	tsr_size q;
	if (premature(s, c, tsr_size_is_const(num) ? tsr_size_const(num.k == by) : num, basis_open, basis))
		return;
	if (!tsr_size_divide(s, num, by, true, c->why, &q) || too_small(q, 1)) {
		fail_affine(s, c);
		return;
	}
	if (!tsr_size_is_const(q) && (num.k != 0 || c->affine.term->has_kernel))
		tsr_require(s, TSR_CONDITION_AT_LEAST, q, tsr_size_const(1), c->why);
	tsr_dim_equate(s, c, unknown, derived(c, q, basis));
}

/* A runtime number is added: the axis only has to cover the static part. */
static void affine_bounded(tsr_store *s, tsr_cstr *c, tsr_dim d, bool covered, tsr_size cover)
{
	tsr_size size;
	if (!covered || !tsr_dim_size(s, d, &size))
		return;
	c->done = true;
	tsr_size room = minus(s, size, cover);
	if (too_small(room, 0))
		fail_affine(s, c);
	else if (!tsr_size_is_const(room))
		tsr_require(s, TSR_CONDITION_AT_LEAST, size, cover, c->why);
}

void tsr_visit_affine(tsr_store *s, tsr_cstr *c)
{
	const tsr_affine *t = c->affine.term;
	tsr_dim terms[3] = {c->affine.d, t->over, t->has_kernel ? t->kernel : tsr_dim_unit()};
	tsr_dim d = tsr_dim_find(s, terms[0]), o = tsr_dim_find(s, terms[1]), k = tsr_dim_find(s, terms[2]);
	if (d.kind == TSR_DIM_POISON || o.kind == TSR_DIM_POISON || k.kind == TSR_DIM_POISON) {
		poison_all(s, c, 3, terms);
		return;
	}
	if (o.kind == TSR_DIM_ZERO || k.kind == TSR_DIM_ZERO) {
		fail_affine(s, c);
		return;
	}
	if (d.kind == TSR_DIM_UNIT && !t->runtime) {
		tsr_fault_unit_term(s, c);
		poison_all(s, c, 3, terms);
		return;
	}
	for (uint32_t i = 0; i < 3; i++) {
		tsr_dim x = i == 0 ? d : i == 1 ? o : k;
		if (tsr_dim_is_var(x)) {
			s->dims.at[x.var].in_term = true;
			tsr_watch_dim(s, c, x.var);
		}
	}
	if (t->open)
		return;
	line l = line_of(t);
	tsr_size ds, os, ks;
	bool has_d = tsr_dim_size(s, d, &ds), has_o = tsr_dim_size(s, o, &os), has_k = tsr_dim_size(s, k, &ks);
	tsr_size part = tsr_size_const(l.K);          /* K, plus what is known of the rest */
	if (has_k)
		part = tsr_size_add(s->arena, part, tsr_size_scale(s->arena, ks, l.D));
	bool k_free = has_k || l.D == 0;
	tsr_name merged;
	if (t->runtime) {
		if (has_o)
			part = tsr_size_add(s->arena, part, tsr_size_scale(s->arena, os, l.S));
		affine_bounded(s, c, d, has_o && k_free, part);
	} else if (has_o && k_free) {
		tsr_size sum = tsr_size_add(s->arena, part, tsr_size_scale(s->arena, os, l.S));
		tsr_meet how = tsr_basis_merge(basis_of(o), basis_of(k), &merged) ? TSR_MEET_OK : TSR_MEET_BASIS;
		if (how == TSR_MEET_BASIS) {
			tsr_fault_meet(s, c, o, k, how);
			poison_all(s, c, 3, terms);
		} else if (too_small(sum, 1) || (has_d && !tsr_size_meet(s, ds, sum, c->why))) {
			fail_affine(s, c);
		} else if (!has_d && !has_k && !basis_of(o)) {
			return;                                       /* a padded axis bears the name that the kernel may have */
		} else if (!has_d || has_k || basis_of(o)) {                 /* a padded axis may know d and over before the kernel's basis */
			c->done = has_k;
			tsr_dim_equate(s, c, d, derived(c, sum, merged));
		}
	} else if (has_d && k_free) {
		affine_solve(s, c, o, minus(s, ds, part), l.S, basis_of(d), basis_of(d) && t->has_kernel && (!has_k || basis_of(k)));
	} else if (has_d && has_o && l.D != 0) {
		affine_solve(s, c, k, minus(s, minus(s, ds, part), tsr_size_scale(s->arena, os, l.S)), l.D,
			basis_of(o) == basis_of(d) ? NULL : basis_of(d), basis_of(d) && basis_of(o));
	}
}

/* ---- concatenation ----------------------------------------------------------------------------------------------- */

typedef struct parts {
	tsr_size sum;                /* of the known components */
	uint32_t nvars, nlasting, nknown;    /* unknown; unknown and not discardable; known and not zero */
	tsr_dim var, last;           /* an unknown component; a known one */
	tsr_name basis;
	bool poison, basis_clash;
	tsr_dim clash;
} parts;

static parts parts_of(tsr_store *s, tsr_cstr *c)
{
	parts p = {.sum = tsr_size_const(0)};
	for (uint32_t i = 0; i < c->concat.n; i++) {
		tsr_dim x = tsr_dim_find(s, c->concat.at[i]);
		tsr_size size;
		if (x.kind == TSR_DIM_POISON) {
			p.poison = true;
		} else if (tsr_dim_is_var(x)) {
			p.nvars++;
			p.nlasting += !s->dims.at[x.var].discardable;
			p.var = x;
			s->dims.at[x.var].in_term = true;
			tsr_watch_dim(s, c, x.var);
		} else if (x.kind != TSR_DIM_ZERO && tsr_dim_size(s, x, &size)) {
			p.sum = tsr_size_add(s->arena, p.sum, size);
			p.nknown++;
			if (!tsr_basis_merge(p.basis, basis_of(x), &p.basis)) {
				p.basis_clash = true;
				p.clash = x;
			} else if (basis_of(x) || p.nknown == 1) {
				p.last = x;
			}
		}
	}
	return p;
}

static void fail_concat(tsr_store *s, tsr_cstr *c, tsr_size have, tsr_size want)
{
	tsr_fault_concat(s, c, have, want);
	tsr_poison_dim(s, c->concat.d);
	poison_all(s, c, c->concat.n, c->concat.at);
}

static void fail_basis(tsr_store *s, tsr_cstr *c, tsr_dim a, tsr_dim b)
{
	tsr_fault_meet(s, c, a, b, a.kind == TSR_DIM_UNIT || b.kind == TSR_DIM_UNIT ? TSR_MEET_UNIT : TSR_MEET_BASIS);
	tsr_poison_dim(s, c->concat.d);
	poison_all(s, c, c->concat.n, c->concat.at);
}

/* The whole is known: what is left over belongs to the unknown components. */
static void concat_rest(tsr_store *s, tsr_cstr *c, const parts *p, tsr_dim d, tsr_size whole)
{
	tsr_size rest = minus(s, whole, p->sum);
	if (too_small(rest, TSR_PLANTED(9) ? 0 : p->nlasting)) {               /* what must last may vanish */
		fail_concat(s, c, p->sum, whole);
	} else if (p->nknown && (d.kind == TSR_DIM_UNIT ? p->last.kind != TSR_DIM_UNIT : p->basis && p->basis != basis_of(d))) {
		fail_basis(s, c, p->last, d);
	} else if (tsr_size_is_const(rest) && rest.k == 0) {
		c->done = true;
		for (uint32_t i = 0; i < c->concat.n; i++)
			if (tsr_dim_is_var(tsr_dim_find(s, c->concat.at[i])))
				tsr_dim_equate(s, c, c->concat.at[i], tsr_dim_zero());
		if (p->nknown)
			tsr_dim_equate(s, c, d, p->nknown == 1 ? p->last : derived(c, p->sum, p->basis));
	} else if (p->nvars == 1 && (!p->nknown || !premature(s, c, rest, p->basis != NULL, basis_of(d)))) {
		c->done = true;
		if (!tsr_size_is_const(rest) && p->nknown && !TSR_PLANTED(11))    /* what is known when the program runs is there */
			tsr_require(s, TSR_CONDITION_AT_LEAST, rest, tsr_size_const(1), c->why);
		tsr_dim_equate(s, c, p->var, p->nknown ? derived(c, rest, basis_of(d)) : d);
	}
}

void tsr_visit_concat(tsr_store *s, tsr_cstr *c)
{
	parts p = parts_of(s, c);
	tsr_dim d = tsr_dim_find(s, c->concat.d);
	tsr_size whole;
	if (p.poison || d.kind == TSR_DIM_POISON) {
		tsr_poison_dim(s, c->concat.d);
		poison_all(s, c, c->concat.n, c->concat.at);
	} else if (p.basis_clash) {
		fail_basis(s, c, p.last, p.clash);
	} else if (p.nvars == 0 && p.nknown == 0) {
		fail_concat(s, c, p.sum, tsr_size_const(1));
	} else if (p.nvars == 0) {
		c->done = true;
		if (p.nknown > 1 && tsr_dim_size(s, d, &whole) && !tsr_size_meet(s, p.sum, whole, c->why))
			fail_concat(s, c, p.sum, whole);
		else if (p.nknown > 1 && d.kind == TSR_DIM_UNIT)
			tsr_fault_unit_term(s, c);
		else
			tsr_dim_equate(s, c, d, p.nknown == 1 ? p.last : derived(c, p.sum, p.basis));
	} else if (tsr_dim_size(s, d, &whole)) {
		concat_rest(s, c, &p, d, whole);
	} else if (p.nvars == 1 && p.nknown == 0) {
		c->done = true;
		s->dims.at[p.var.var].discardable = false;            /* all cannot vanish */
		tsr_dim_equate(s, c, d, p.var);
	} else {
		tsr_watch_dim(s, c, d.var);
		if (!c->concat.strict && tsr_dim_strict(s, d.var)) {
			c->concat.strict = true;
			tsr_wake(s, &s->dims.at[d.var].watchers);
		}
	}
}

/* POLICY (closing, step 4): an axis with a runtime number that nothing else sizes is as long as its static part. */
void tsr_close_bounded(tsr_store *s)
{
	for (uint32_t i = 0; i < s->of_kind[TSR_C_AFFINE].n; i++) {
		tsr_cstr *c = s->cstrs.at[s->of_kind[TSR_C_AFFINE].at[i]];
		if (c->done || !c->affine.term->runtime)
			continue;
		const tsr_affine *t = c->affine.term;
		line l = line_of(t);
		tsr_size os, ks = tsr_size_const(1);
		tsr_dim d = tsr_dim_find(s, c->affine.d);
		if (!tsr_dim_is_var(d) || !tsr_dim_size(s, tsr_dim_find(s, t->over), &os)
			|| (t->has_kernel && !tsr_dim_size(s, tsr_dim_find(s, t->kernel), &ks)))
			continue;
		tsr_size sum = tsr_size_add(s->arena, tsr_size_scale(s->arena, os, l.S), tsr_size_scale(s->arena, ks, l.D));
		tsr_dim_equate(s, c, d, derived(c, tsr_size_add(s->arena, sum, tsr_size_const(l.K)), NULL));
	}
	tsr_solve(s);
}
