/* The search for ground solutions.  Ranks and markers are chosen first, row by row, and a choice is given up as soon as a
 * constraint over the rows chosen so far refuses it. With them a row constraint is a set of pairs of axes, each `a = b` or
 * `a <= b`: every unknown axis has a set of codes, and the pairs take codes away until nothing more goes. What is left
 * is tried, the axis with the fewest codes first. Constraints over terms and products are looked at when all that they
 * mention has a value. */
#include "oracle.h"
#include <string.h>

enum { MAX_SLOTS = MAX_DIMS + MAX_ROWS * MAX_RANK, MAX_PAIRS = MAX_CONS * (MAX_RANK + MAX_FLANK) };

/* One side of a pair: an unknown, a code, or a term that has its value later. */
typedef struct operand { int slot; int code; const term *term; } operand;        /* slot, else term, else code */
typedef struct pair { int8_t a, b; bool below; } pair;                           /* slots */
typedef struct late { uint64_t needs; const cons *whole; operand a, b; bool below; } late;   /* whole NULL: two operands */
typedef struct product { int n, by, times, nslots; int8_t slot[2 * MAX_RANK]; } product;          /* of the unknowns' sizes and `by` is n, or n * slot `times` */
typedef struct state { uint32_t dom[MAX_SLOTS]; uint64_t known; } state;

typedef struct search {
	const problem *p;
	const query *q;
	ground g;
	int *slot[MAX_SLOTS], nslots, ncodes;
	int dim_slot[MAX_DIMS], row_slot[MAX_ROWS];                              /* -1: it is fixed */
	int codes[32];                                                           /* those of the query, and ZERO */
	uint32_t unit, zero, all;                                                /* as sets of codes */
	pair pair[MAX_PAIRS]; int npairs;
	late late[MAX_PAIRS]; int nlate;
	product product[MAX_CONS]; int nproducts;
	const fact *against;
	long tried;
} search;

/* ---- constraints over codes: the ranks and markers are chosen ------------------------------------------------------ */

static operand simple_operand(const search *s, simple x)
{
	if (!x.is_var)
		return (operand){-1, x.code, NULL};
	return s->dim_slot[x.at] < 0 ? (operand){-1, s->g.dim[x.at], NULL} : (operand){s->dim_slot[x.at], 0, NULL};
}

static operand term_operand(const search *s, const term *t)
{
	return t->kind == T_CONST || t->kind == T_VAR ? simple_operand(s, t->part[0]) : (operand){-1, 0, t};
}

static operand axis_operand(const search *s, const flat_row *r, int i)
{
	int n = r->var < 0 ? 0 : s->g.row[r->var].n, at = i - r->nlead;
	if (i < r->nlead)
		return term_operand(s, &r->lead[i]);
	if (at >= n)
		return term_operand(s, &r->trail[at - n]);
	return s->row_slot[r->var] < 0 ? (operand){-1, s->g.row[r->var].at[at], NULL} : (operand){s->row_slot[r->var] + at, 0, NULL};
}

static uint64_t needs_of(const search *s, operand x)
{
	uint64_t needs = x.slot >= 0 ? 1ull << x.slot : 0;
	for (int i = 0; x.slot < 0 && x.term && i < x.term->nparts; i++) {
		operand part = simple_operand(s, x.term->part[i]);
		needs |= part.slot >= 0 ? 1ull << part.slot : 0;
	}
	return needs;
}

static bool holds(int a, int b, bool below) { return a != NOTHING && b != NOTHING && (below ? code_below(a, b) : a == b); }

static bool add_pair(search *s, state *st, operand a, operand b, bool below)
{
	if (a.term || b.term)
		s->late[s->nlate++] = (late){needs_of(s, a) | needs_of(s, b), NULL, a, b, below};
	else if (a.slot >= 0 && b.slot >= 0)
		s->pair[s->npairs++] = (pair){(int8_t)a.slot, (int8_t)b.slot, below};
	else if (a.slot < 0 && b.slot < 0)
		return holds(a.code, b.code, below);
	for (int i = 0; i < s->ncodes && !a.term && !b.term; i++) {
		if (a.slot >= 0 && b.slot < 0 && !holds(s->codes[i], b.code, below))
			st->dom[a.slot] &= ~(1u << i);
		if (b.slot >= 0 && a.slot < 0 && !holds(a.code, s->codes[i], below))
			st->dom[b.slot] &= ~(1u << i);
	}
	return true;
}

/* The unknowns of a row under a total; true when a term is among its axes. */
static bool add_factors(search *s, const flat_row *r, uint64_t *needs, product *x)
{
	bool terms = false;
	for (int i = 0; i < ground_rank(r, &s->g); i++) {
		operand axis = axis_operand(s, r, i);
		*needs |= needs_of(s, axis);
		terms |= axis.term != NULL;
		if (axis.slot >= 0)
			x->slot[x->nslots++] = (int8_t)axis.slot;
		else if (!axis.term)
			x->by *= size_of(axis.code);
	}
	return terms;
}

static bool add_total(search *s, const cons *c)
{
	late whole = {.whole = c, .needs = needs_of(s, (operand){-1, 0, &c->a})};
	operand times = c->a.nparts ? term_operand(s, &c->a) : (operand){-1, ATOM(1, 0), NULL};
	product x = {.n = c->n * (times.slot < 0 && !times.term ? size_of(times.code) : 1), .by = 1, .times = times.slot};
	bool terms = times.term != NULL;
	for (int i = 0; i < c->nrows; i++)
		terms |= add_factors(s, i ? &c->rb : &c->ra, &whole.needs, &x);
	s->late[s->nlate++] = whole;
	if (terms)
		return true;
	s->product[s->nproducts++] = x;
	return true;
}

/* n axes of a from axis i on are those of b from axis j on. */
static bool add_axes(search *s, state *st, const flat_row *a, int i, const flat_row *b, int j, int n)
{
	for (int k = 0; k < n; k++)
		if (!add_pair(s, st, axis_operand(s, a, i + k), axis_operand(s, b, j + k), false))
			return false;
	return true;
}

static bool add_join(search *s, state *st, const cons *c)
{
	int front = ground_rank(&c->rb, &s->g);
	return add_axes(s, st, &c->ra, 0, &c->rb, 0, front) && add_axes(s, st, &c->ra, front, &c->rc, 0, ground_rank(&c->rc, &s->g));
}

static bool add_lookup(search *s, state *st, const cons *c)
{
	int batch = ground_rank(&c->ra, &s->g);
	if (!add_pair(s, st, term_operand(s, &c->a), axis_operand(s, batch ? &c->ra : &c->rb, 0), false))
		return false;
	return !batch || (add_axes(s, st, &c->ra, 1, &c->rc, 0, batch - 1)
		&& add_axes(s, st, &c->rb, 0, &c->rd, 0, ground_rank(&c->rb, &s->g)));
}

static bool add_constraint(search *s, state *st, const cons *c)
{
	int na, nb, marker;
	switch (c->kind) {
	case DIM_EQ: case DIM_LE:
		return add_pair(s, st, term_operand(s, &c->a), term_operand(s, &c->b), ground_is_order(c));
	case AT_LEAST:
		s->late[s->nlate++] = (late){.needs = needs_of(s, term_operand(s, &c->a)), .whole = c};
		return true;
	case TOTAL: return add_total(s, c);
	case JOIN: return add_join(s, st, c);
	case LOOKUP: return add_lookup(s, st, c);
	case ROW_EQ: case ROW_LE: break;
	}
	na = ground_rank(&c->ra, &s->g);
	nb = ground_rank(&c->rb, &s->g);
	marker = ground_marker(&c->rb, &s->g);
	for (int i = 0; i < nb; i++) {
		operand a = axis_operand(s, &c->ra, i < marker || c->kind == ROW_EQ ? i : i + na - nb);
		if (!add_pair(s, st, a, axis_operand(s, &c->rb, i), c->kind == ROW_LE))
			return false;
	}
	return true;
}

/* ---- trying ------------------------------------------------------------------------------------------------------ */

static bool propagate_pairs(const search *s, state *st)
{
	for (bool again = true; again;) {
		again = false;
		for (int i = 0; i < s->npairs; i++) {
			pair x = s->pair[i];
			uint32_t a = st->dom[x.a], b = st->dom[x.b];
			uint32_t na = a & (b | (x.below && (b & s->unit) ? ~s->zero : 0));
			uint32_t nb = b & (na | (x.below && (na & ~s->zero) ? s->unit : 0));
			again |= na != a || nb != b;
			st->dom[x.a] = na;
			st->dom[x.b] = nb;
			if (!na || !nb)
				return false;
		}
	}
	return true;
}

static bool single(uint32_t set) { return (set & (set - 1)) == 0; }

static uint32_t divisors(const search *s, int n)
{
	uint32_t out = 0;
	for (int i = 0; i < s->ncodes; i++)
		out |= (uint32_t)(size_of(s->codes[i]) > 0 && n % size_of(s->codes[i]) == 0) << i;
	return out;
}

/* A size that is not known yet divides what those that are known leave of a product. */
static bool propagate_product(const search *s, state *st, const product *x, bool *again)
{
	int rest = x->n;
	if (x->times >= 0 && !single(st->dom[x->times]))
		return true;
	if (x->times >= 0)
		rest *= size_of(s->codes[__builtin_ctz(st->dom[x->times])]);
	if (x->by == 0 || rest % x->by)
		return false;
	rest /= x->by;
	for (int i = 0; i < x->nslots; i++) {
		uint32_t set = st->dom[x->slot[i]];
		int size = single(set) ? size_of(s->codes[__builtin_ctz(set)]) : 1;
		if (size == 0 || rest % size)
			return false;
		rest /= size;
	}
	uint32_t may = divisors(s, rest);
	for (int i = 0; i < x->nslots; i++) {
		uint32_t *set = &st->dom[x->slot[i]];
		if (single(*set) || (*set & may) == *set)
			continue;
		*set &= may;
		*again = true;
		if (!*set)
			return false;
	}
	return true;
}

static bool propagate(const search *s, state *st)
{
	for (bool again = true; again;) {
		again = false;
		if (!propagate_pairs(s, st))
			return false;
		for (int i = 0; i < s->nproducts; i++)
			if (!propagate_product(s, st, &s->product[i], &again))
				return false;
	}
	return true;
}

static int operand_code(const search *s, operand x)
{
	return x.slot >= 0 ? *s->slot[x.slot] : x.term ? ground_term(x.term, s->g.dim) : x.code;
}

/* What mentions only unknowns that have a value, and one that had none before. */
static bool late_hold(const search *s, uint64_t known, uint64_t before, bool first)
{
	for (int i = 0; i < s->nlate; i++) {
		const late *x = &s->late[i];
		if ((x->needs & ~known) || !(first || (x->needs & ~before)))
			continue;
		if (x->whole ? !ground_holds(s->p, x->whole, &s->g) : !holds(operand_code(s, x->a), operand_code(s, x->b), x->below))
			return false;
	}
	const fact *f = s->against;
	return !(f && f->kind == F_SAME && s->g.dim[f->var] == s->g.dim[f->other]
		&& known >> s->dim_slot[f->var] & known >> s->dim_slot[f->other] & 1);
}

/* 1: strictly above, 0: the same, -1: neither. The rank of a row that lies higher is no greater. */
static int row_above(const ground_row *x, const ground_row *than)
{
	bool strict = x->n < than->n;
	for (int i = 0; i < x->n; i++) {
		int other = than->at[i < x->marker ? i : i + than->n - x->n];
		if (x->n > than->n || !code_below(other, x->at[i]))
			return -1;
		strict |= other != x->at[i];
	}
	return x->n > than->n ? -1 : strict;
}

static bool is_higher(const search *s)
{
	bool strict = false;
	const ground *g = &s->g, *than = s->q->fixed;
	for (int i = 0; i < s->p->ndims; i++) {
		if (!code_below(than->dim[i], g->dim[i]))
			return false;
		strict |= than->dim[i] != g->dim[i];
	}
	for (int i = 0; i < s->p->nrows; i++) {
		const ground_row *x = &g->row[i], *old = &than->row[i];
		int above = row_above(x, old);
		if (above < 0 || (s->q->markers_stay && (x->marker > old->marker || x->n - x->marker > old->n - old->marker)))
			return false;
		strict |= above > 0;
	}
	return strict;
}

static bool accept(const search *s)
{
	if ((s->q->higher && !is_higher(s)) || (s->q->agree && !ground_terms_agree(s->p, &s->g)))
		return false;
	return !s->q->found || s->q->found(s->q->context, &s->g);
}

/* How many codes, as far as `enough`. */
static int count(uint32_t set, int enough)
{
	int n = 0;
	for (; set && n < enough; set &= set - 1)
		n++;
	return n;
}

static bool try_all(search *s, const state *from, bool first)
{
	state st = *from;
	int best = -1, fewest = 33;
	if ((s->q->budget && ++s->tried > s->q->budget) || !propagate(s, &st))
		return false;
	for (int i = 0; i < s->nslots; i++) {
		if (!st.dom[i])
			return false;
		if (!single(st.dom[i])) {
			int n = count(st.dom[i], fewest);
			best = n < fewest ? i : best;
			fewest = n < fewest ? n : fewest;
		} else if (!(st.known >> i & 1)) {
			*s->slot[i] = s->codes[__builtin_ctz(st.dom[i])];
			st.known |= 1ull << i;
		}
	}
	if (!late_hold(s, st.known, from->known, first))
		return false;
	for (int i = 0; i < s->nproducts; i++)         /* what a product depends on comes first */
		if (s->product[i].times >= 0 && !single(st.dom[s->product[i].times]))
			best = s->product[i].times;
	if (best < 0)
		return accept(s);
	for (uint32_t left = st.dom[best]; left; left &= left - 1) {
		state next = st;
		next.dom[best] = left & -left;
		if (try_all(s, &next, false))
			return true;
	}
	return false;
}

/* ---- what solutions must contradict --------------------------------------------------------------------------------- */

/* Takes away what agrees with the statement; false when nothing is left that contradicts it. */
static bool contradict(search *s, state *st, const fact *f)
{
	const ground_row *r = &s->g.row[f->var];
	int slot = -1;
	s->against = f;
	switch (f->kind) {
	case F_SAME: return true;
	case F_DIM: slot = s->dim_slot[f->var]; break;
	case F_RANK_AT_LEAST: return r->n < f->value;
	case F_RANK: return r->n != f->value;
	case F_MARKER: return r->marker != f->value;
	case F_LEAD: case F_TRAIL:
		if (f->other >= r->n)
			return true;
		slot = s->row_slot[f->var] + (f->kind == F_LEAD ? f->other : r->n - 1 - f->other);
		break;
	}
	for (int i = 0; i < s->ncodes; i++)
		if (s->codes[i] == f->value)
			st->dom[slot] &= ~(1u << i);
	return st->dom[slot] != 0;
}

static bool any_contradicts(search *s, const state *st, int *which)
{
	for (*which = 0; *which < s->q->nagainst; ++*which) {
		state st2 = *st;
		if (contradict(s, &st2, &s->q->against[*which]) && try_all(s, &st2, true))
			return true;
	}
	return false;
}

/* ---- ranks and markers -------------------------------------------------------------------------------------------- */

static uint32_t codes_for_dim(const search *s, int v) { return s->p->discardable[v] ? s->all | s->zero : s->all; }

/* The solution lies above: an axis has the code that lies below it, or is the unit. */
static uint32_t codes_above(const search *s, uint32_t set, int code)
{
	uint32_t out = 0;
	for (int i = 0; i < s->ncodes; i++)
		out |= (uint32_t)code_below(code, s->codes[i]) << i;
	return set & out;
}

static void make_slots(search *s, state *st)
{
	bool higher = s->q->higher;
	s->nslots = s->npairs = s->nlate = s->nproducts = 0;
	for (int v = 0; v < s->p->ndims; v++) {
		s->dim_slot[v] = s->q->fix_dim[v] ? -1 : s->nslots;
		if (s->q->fix_dim[v])
			continue;
		s->slot[s->nslots] = &s->g.dim[v];
		st->dom[s->nslots++] = higher ? codes_above(s, codes_for_dim(s, v), s->q->fixed->dim[v]) : codes_for_dim(s, v);
	}
	for (int v = 0; v < s->p->nrows; v++) {
		ground_row *r = &s->g.row[v];
		s->row_slot[v] = s->q->fix_row[v] ? -1 : s->nslots;
		for (int i = 0; i < r->n && !s->q->fix_row[v]; i++) {
			const ground_row *than = higher ? &s->q->fixed->row[v] : NULL;
			s->slot[s->nslots] = &r->at[i];
			st->dom[s->nslots++] = higher ? codes_above(s, s->all, than->at[i < r->marker ? i : i + than->n - r->n]) : s->all;
		}
	}
}

static bool with_ranks(search *s, int *which)
{
	state st = {.known = 0};
	make_slots(s, &st);
	s->against = NULL;
	for (int i = 0; i < s->p->ncons; i++)
		if (!add_constraint(s, &st, &s->p->at[i]))
			return false;
	if (!propagate(s, &st))
		return false;
	return s->q->nagainst ? any_contradicts(s, &st, which) : try_all(s, &st, true);
}

/* Markers bear on inequalities through their open operands alone. */
static bool marker_matters(const problem *p)
{
	for (int i = 0; i < p->ncons; i++)
		if (p->at[i].kind == ROW_LE && p->at[i].rb.var >= 0)
			return true;
	return false;
}

/* The row chosen last that c mentions; -1: none. */
static int last_row(const cons *c)
{
	const flat_row *r[4];
	int last = -1;
	for (int i = rows_of(c, r); i-- > 0;)
		last = r[i]->var > last ? r[i]->var : last;
	return last;
}

static bool markers_fit(const search *s, int v)
{
	for (int i = 0; i < s->p->ncons && s->q->agree; i++)
		if (last_row(&s->p->at[i]) == v && !ground_markers_agree(s->p, &s->p->at[i], &s->g))
			return false;
	return true;
}

static bool choose_markers(search *s, int v, int *which)
{
	if (v == s->p->nrows)
		return with_ranks(s, which);
	int most = s->q->fix_row[v] && !s->q->markers ? s->g.row[v].marker : s->g.row[v].n;
	for (int m = s->q->fix_row[v] && !s->q->markers ? most : 0; m <= most; m++) {
		s->g.row[v].marker = m;
		if (markers_fit(s, v) && choose_markers(s, v + 1, which))
			return true;
	}
	return false;
}

static bool ranks_fit(const search *s, int v)
{
	for (int i = 0; i < s->p->ncons; i++)
		if (last_row(&s->p->at[i]) == v && !ground_ranks_fit(&s->p->at[i], &s->g))
			return false;
	return true;
}

static bool choose_ranks(search *s, int v, int *which)
{
	if (s->q->budget && s->tried > s->q->budget)
		return false;
	if (v == s->p->nrows) {
		if (s->q->markers || marker_matters(s->p))
			return markers_fit(s, -1) && choose_markers(s, 0, which);
		for (int i = 0; i < s->p->nrows; i++)
			if (!s->q->fix_row[i])
				s->g.row[i].marker = 0;
		return with_ranks(s, which);
	}
	int low = s->q->fix_row[v] ? s->g.row[v].n : 0, high = s->q->fix_row[v] ? low : s->q->max_rank;
	if (s->q->higher && s->q->fixed->row[v].n < high)
		high = s->q->fixed->row[v].n;
	for (int n = low; n <= high; n++) {
		s->g.row[v].n = n;
		if (ranks_fit(s, v) && choose_ranks(s, v + 1, which))
			return true;
	}
	return false;
}

bool ground_search(const problem *p, const query *q, ground *out, int *contradicted)
{
	search s = {.p = p, .q = q, .ncodes = q->ncodes + 1};
	int which = 0;
	if (q->fixed)
		s.g = *q->fixed;
	memcpy(s.codes, q->codes, (size_t)q->ncodes * sizeof *q->codes);
	s.codes[q->ncodes] = ZERO;
	s.zero = 1u << q->ncodes;
	s.all = s.zero - 1;
	for (int i = 0; i < q->ncodes; i++)
		s.unit |= (uint32_t)(q->codes[i] == UNIT) << i;
	bool found = ranks_fit(&s, -1) && choose_ranks(&s, 0, &which);
	if (found && out)
		*out = s.g;
	if (found && contradicted)
		*contradicted = which;
	if (q->gave_up && q->budget && s.tried > q->budget)
		++*q->gave_up;
	return found;
}

typedef struct collector { int (*out)[MAX_DIMS]; int n, max; } collector;

static bool collect(void *context, const ground *g)
{
	collector *c = context;
	memcpy(c->out[c->n++], g->dim, sizeof g->dim);
	return c->n == c->max;
}

int ground_all_dims(const problem *p, const int *codes, int ncodes, int (*out)[MAX_DIMS], int max)
{
	collector c = {out, 0, max};
	query q = {.codes = codes, .ncodes = ncodes, .found = collect, .context = &c};
	ground_search(p, &q, NULL, NULL);
	return c.n;
}
