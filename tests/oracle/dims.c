/* Problems over dimensions.  Exhaustive: three variables, the claim-free unit and atoms of sizes 1 to 3 in two bases, every
 * set of one to four of the 72 relations that mention a variable, each variable an interior or a leaf. Of the sets
 * that differ by renaming the variables, or by exchanging sizes 2 and 3, or the two bases, only the first is judged.
 * Sampled: parameters, at-least conditions, totals; affine and concatenated terms; symbols. */
#include "oracle.h"
#include <string.h>

enum { VARS = 3, CONSTS = 7, TERMS = VARS + CONSTS, MOST = 160 };

typedef struct relation { bool below; int8_t a, b; } relation;      /* places in the list of terms: variables first */
static const int16_t consts[CONSTS] = {UNIT, ATOM(1, 0), ATOM(2, 0), ATOM(3, 0), ATOM(1, 1), ATOM(2, 1), ATOM(3, 1)};

typedef struct table { relation at[MOST]; int n, image[MOST][24]; int nimages; int8_t perm[24][VARS]; } table;

static int find_relation(const table *t, relation r)
{
	for (int i = 0; i < t->n; i++) {
		relation x = t->at[i];
		if (x.below == r.below && ((x.a == r.a && x.b == r.b) || (!r.below && x.a == r.b && x.b == r.a)))
			return i;
	}
	return -1;
}

static int rename_term(int x, const int8_t *perm, bool sizes, bool bases)
{
	static const int8_t size_swap[CONSTS] = {0, 1, 3, 2, 4, 6, 5}, basis_swap[CONSTS] = {0, 4, 5, 6, 1, 2, 3};
	if (x < VARS)
		return perm[x];
	x -= VARS;
	x = sizes ? size_swap[x] : x;
	return VARS + (bases ? basis_swap[x] : x);
}

static void fill_table(table *t)
{
	static const int8_t perms[6][VARS] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	memset(t, 0, sizeof *t);
	for (int below = 0; below < 2; below++)
		for (int8_t a = 0; a < TERMS; a++)
			for (int8_t b = 0; b < TERMS; b++)
				if (a != b && (a < VARS || b < VARS) && (below || a < b))
					t->at[t->n++] = (relation){below, a, b};
	for (int i = 0; i < 24; i++) {
		memcpy(t->perm[i], perms[i % 6], VARS);
		for (int r = 0; r < t->n; r++)
			t->image[r][i] = find_relation(t, (relation){t->at[r].below,
				(int8_t)rename_term(t->at[r].a, perms[i % 6], i / 6 & 1, i / 12 & 1),
				(int8_t)rename_term(t->at[r].b, perms[i % 6], i / 6 & 1, i / 12 & 1)});
	}
	t->nimages = 24;
}

static void sort(int *x, int n)
{
	for (int i = 1; i < n; i++)
		for (int j = i; j > 0 && x[j] < x[j - 1]; j--) {
			int swap = x[j];
			x[j] = x[j - 1];
			x[j - 1] = swap;
		}
}

/* The set and its roles come first among their images. */
static bool canonical(const table *t, const int *set, int n, int roles)
{
	for (int i = 1; i < t->nimages; i++) {
		int image[4], renamed = 0, order = 0;
		for (int j = 0; j < n; j++)
			image[j] = t->image[set[j]][i];
		sort(image, n);
		for (int j = 0; j < n && !order; j++)
			order = image[j] - set[j];
		for (int v = 0; v < VARS; v++)
			renamed |= (roles >> v & 1) << t->perm[i][v];
		if (order < 0 || (order == 0 && renamed < roles))
			return false;
	}
	return true;
}

static term term_at(int x) { return x < VARS ? term_var(x) : term_code(consts[x - VARS]); }

static void pose(const table *t, const int *set, int n, int roles, tally *out)
{
	problem p = {.ndims = VARS, .ncons = n};
	for (int v = 0; v < VARS; v++)
		p.dim_role[v] = roles >> v & 1 ? LEAF : INTERIOR;
	for (int i = 0; i < n; i++) {
		relation r = t->at[set[i]];
		p.at[i] = (cons){.kind = r.below ? DIM_LE : DIM_EQ, .a = term_at(r.a), .b = term_at(r.b)};
	}
	judge_dims(&p, out);
}

/* Extends a set by relations after its last one. */
static void extend(const table *t, int *set, int n, const plan *plan, unsigned long *count, tally *out)
{
	unsigned long every = n == 4 ? plan->every_dims4 : plan->every_dims;
	for (int roles = 0; roles < 8 && n; roles++)
		if (++*count % every == 0 && in_share(plan, *count) && canonical(t, set, n, roles))
			pose(t, set, n, roles, out);
	for (int r = n ? set[n - 1] + 1 : 0; r < t->n && n < 4; r++) {
		set[n] = r;
		extend(t, set, n + 1, plan, count, out);
	}
}

void dims_every(const plan *plan, tally *out)
{
	static table t;
	int set[4];
	unsigned long count = 0;
	fill_table(&t);
	extend(&t, set, 0, plan, &count, out);
}

/* ---- samples with terms ------------------------------------------------------------------------------------------ */

static simple some_simple(uint64_t *seed, const problem *p, int largest)
{
	int code = pick(seed, 5) ? ATOM(1 + pick(seed, largest), pick(seed, 6) ? 0 : 1) : UNIT;
	if (p->nsymbols && pick(seed, 3))
		code = SYMBOL(pick(seed, p->nsymbols), pick(seed, 6) ? 0 : 1);
	return pick(seed, 3) ? (simple){.is_var = true, .at = (int8_t)pick(seed, p->ndims)} : (simple){.code = (int16_t)code};
}

static term some_term(uint64_t *seed, const problem *p)
{
	term t = {.kind = T_VAR, .nparts = 1};
	switch (pick(seed, 5)) {
	case 0:
		t.kind = T_AFFINE;
		t.nparts = (int8_t)(1 + (pick(seed, 3) > 0));
		t.stride = (int8_t)(1 + pick(seed, 3));
		t.dilation = (int8_t)(t.nparts > 1 ? 1 + pick(seed, 2) : 0);
		t.padded = t.nparts > 1 && pick(seed, 3) == 0;
		t.offset = (int8_t)(t.padded || pick(seed, 3) ? 0 : pick(seed, t.stride));
		break;
	case 1:
		t.kind = T_CONCAT;
		t.nparts = (int8_t)(2 + pick(seed, MAX_PARTS - 1));
		break;
	default:
		break;
	}
	for (int i = 0; i < t.nparts; i++)
		t.part[i] = some_simple(seed, p, t.kind == T_VAR ? 6 : 3);
	if (t.kind == T_VAR && !t.part[0].is_var)
		t.kind = T_CONST;
	return t;
}

static bool mentions_variable(const cons *c)
{
	for (int i = 0; i < MAX_PARTS; i++)
		if ((i < c->a.nparts && c->a.part[i].is_var) || (i < c->b.nparts && c->b.part[i].is_var))
			return true;
	for (int i = 0; i < MAX_FLANK; i++)
		if ((i < c->ra.ntrail && c->ra.trail[i].part[0].is_var) || (i < c->rb.ntrail && c->rb.trail[i].part[0].is_var))
			return true;
	return false;
}

static bool in_a_concat(const problem *p, int v)
{
	for (int i = 0; i < p->ncons; i++)
		for (int j = 0; j < 2; j++) {
			const term *t = j ? &p->at[i].b : &p->at[i].a;
			for (int k = 0; k < t->nparts && t->kind == T_CONCAT; k++)
				if (t->part[k].is_var && t->part[k].at == v)
					return true;
		}
	return false;
}

/* The elements of one row or two, of axes alone: at most one of them a symbol, as a product of symbols is tested when the
 * program runs. */
static void some_total(uint64_t *seed, const problem *p, cons *c)
{
	int axes = 1 + pick(seed, 3);
	bool symbol = false;
	*c = (cons){.kind = TOTAL, .nrows = (int8_t)(1 + pick(seed, 2)), .n = (int16_t)(1 + pick(seed, 6)), .ra.var = -1, .rb.var = -1};
	for (int i = 0; i < axes; i++) {
		flat_row *r = c->nrows > 1 && i ? &c->rb : &c->ra;
		simple x = some_simple(seed, p, 3);
		if (!x.is_var && is_symbol(x.code) && symbol)
			x.code = ATOM(2, 0);
		symbol |= !x.is_var && is_symbol(x.code);
		r->trail[r->ntrail++] = (term){.kind = x.is_var ? T_VAR : T_CONST, .nparts = 1, .part = {x}};
	}
	if (pick(seed, 2))
		c->a = term_var(pick(seed, p->ndims));
}

static void some_constraint(uint64_t *seed, const problem *p, cons *c)
{
	int kind = pick(seed, 8);
	if (p->nsymbols && pick(seed, 6) == 0) {
		some_total(seed, p, c);
		return;
	}
	*c = (cons){.kind = kind == 0 ? AT_LEAST : kind < 4 ? DIM_EQ : DIM_LE, .n = (int16_t)(1 + pick(seed, 3))};
	c->a = kind == 0 ? term_var(pick(seed, p->ndims)) : some_term(seed, p);
	if (kind > 0)
		c->b = some_term(seed, p);
}

static problem some_problem(uint64_t *seed, int nsymbols)
{
	problem p = {.ndims = 3, .ncons = 1 + pick(seed, 3), .nsymbols = nsymbols};
	for (int v = 0; v < p.ndims; v++)
		p.dim_role[v] = pick(seed, 3) == 0 ? LEAF : INTERIOR;
	for (int i = 0; i < nsymbols; i++)
		p.exported[i] = pick(seed, 2);
	for (int c = 0; c < p.ncons; c++)
		do
			some_constraint(seed, &p, &p.at[c]);
		while (!mentions_variable(&p.at[c]));
	for (int v = 0; v < p.ndims; v++)
		p.discardable[v] = pick(seed, 3) == 0 && in_a_concat(&p, v);
	return p;
}

/* Concatenations that are equal to each other, mostly of unknowns that they share: what has to be paired. */
static problem some_pairs(uint64_t *seed)
{
	problem p = {.ndims = 3, .ncons = 2 + pick(seed, 2)};
	for (int v = 0; v < p.ndims; v++)
		p.dim_role[v] = pick(seed, 3) ? INTERIOR : LEAF;
	for (int c = 0; c < p.ncons; c++) {
		cons *x = &p.at[c];
		*x = (cons){.kind = pick(seed, 2) ? DIM_EQ : DIM_LE, .a = {.kind = T_CONCAT}, .b = {.kind = T_CONCAT}};
		term *sides[2] = {&x->a, &x->b};
		for (int i = 0; i < 2; i++) {
			sides[i]->nparts = (int8_t)(2 + (pick(seed, 4) == 0));
			for (int k = 0; k < sides[i]->nparts; k++)
				sides[i]->part[k] = pick(seed, 6) ? (simple){.is_var = true, .at = (int8_t)pick(seed, p.ndims)} : some_simple(seed, &p, 3);
		}
	}
	for (int v = 0; v < p.ndims; v++)
		p.discardable[v] = pick(seed, 3) == 0 && in_a_concat(&p, v);
	return p;
}

/* One concatenation of unknowns, and what some of them are. */
static problem some_sum(uint64_t *seed)
{
	problem p = {.ndims = 3, .ncons = 1 + pick(seed, 3)};
	cons *x = &p.at[0];
	*x = (cons){.kind = DIM_EQ, .a = {.kind = T_CONCAT, .nparts = (int8_t)(2 + pick(seed, 2))}, .b = term_code(ATOM(1 + pick(seed, 6), pick(seed, 8) == 0))};
	for (int k = 0; k < x->a.nparts; k++)
		x->a.part[k] = pick(seed, 6) ? (simple){.is_var = true, .at = (int8_t)k} : some_simple(seed, &p, 3);
	for (int c = 1; c < p.ncons; c++) {
		int code = pick(seed, 6) ? ATOM(1 + pick(seed, 4), pick(seed, 8) == 0) : UNIT;
		p.at[c] = (cons){.kind = DIM_EQ, .a = term_var(pick(seed, p.ndims)), .b = pick(seed, 4) ? term_code(code) : term_var(pick(seed, p.ndims))};
	}
	for (int v = 0; v < p.ndims; v++)
		p.discardable[v] = pick(seed, 4) == 0 && in_a_concat(&p, v);
	return p;
}

void dims_sampled(const plan *plan, tally *out)
{
	for (unsigned long i = 0; i < plan->terms; i++) {
		uint64_t seed = seed_of(plan, i);
		if (!in_share(plan, i))
			continue;
		problem p = i % 4 > 1 ? some_problem(&seed, 0) : i % 4 ? some_pairs(&seed) : some_sum(&seed);
		judge_terms(&p, out);
	}
}

void symbols_sampled(const plan *plan, tally *out)
{
	for (unsigned long i = 0; i < plan->symbols; i++) {
		uint64_t seed = seed_of(plan, i);
		if (!in_share(plan, i))
			continue;
		problem p = some_problem(&seed, 1 + pick(&seed, MAX_SYMBOLS));
		judge_symbols(&p, out);
	}
}
