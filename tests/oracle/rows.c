/* Problems over rows.  Exhaustive, with two row variables, each an interior or a leaf, markers everywhere they can be:
 *   single constraints, flanks of up to two axes of {1 claim-free, 1, 2, 3, a variable}
 *   pairs, open flanks of one axis and closed rows of two, of {1 claim-free, 2, 3}
 *   triples, flanks and closed rows of one axis, of {2, 3}
 * Sets that differ by renaming the two variables, or by exchanging sizes 2 and 3, are judged once.
 * Sampled: three variables, flanks of three axes, four constraints, parameters, totals; and lookups by positions, with rows that
 * follow one another. */
#include "oracle.h"
#include <stdlib.h>
#include <string.h>

typedef struct rows_table { flat_row *at; int n; } rows_table;
typedef struct cons_table { cons *at; int n, *image[4]; } cons_table;
typedef struct alphabet { const int *codes; int ncodes, open_axes, closed_axes; bool variable; } alphabet;

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static term letter(const alphabet *a, int i) { return i < a->ncodes ? term_code(a->codes[i]) : term_var(0); }

static void add_rows(rows_table *t, const alphabet *a, int var, int axes)
{
	int letters = a->ncodes + a->variable, words = 1;
	for (int i = 0; i < axes; i++)
		words *= letters;
	for (int marker = 0; marker <= axes; marker++)
		for (int w = 0; w < words; w++) {
			flat_row r = {.nlead = (int8_t)marker, .ntrail = (int8_t)(axes - marker), .var = (int8_t)var};
			for (int i = 0, rest = w; i < axes; i++, rest /= letters)
				*(i < marker ? &r.lead[i] : &r.trail[i - marker]) = letter(a, rest % letters);
			t->at = realloc(t->at, (size_t)(t->n + 1) * sizeof *t->at);
			t->at[t->n++] = r;
		}
}

static int swapped_code(int code) { return code == ATOM(2, 0) ? ATOM(3, 0) : code == ATOM(3, 0) ? ATOM(2, 0) : code; }

static flat_row renamed(flat_row r, bool vars, bool sizes)
{
	r.var = (int8_t)(vars && r.var >= 0 ? 1 - r.var : r.var);
	for (int i = 0; i < MAX_FLANK && sizes; i++) {
		r.lead[i].part[0].code = (int16_t)swapped_code(r.lead[i].part[0].code);
		r.trail[i].part[0].code = (int16_t)swapped_code(r.trail[i].part[0].code);
	}
	return r;
}

static int place_of(const rows_table *t, const flat_row *r)
{
	for (int i = 0; i < t->n; i++)
		if (!memcmp(&t->at[i], r, sizeof *r))
			return i;
	return -1;
}

static int find_cons(const int *place, int n, bool below, int a, int b) { return place[(below ? n * n : 0) + (!below && b < a ? b * n + a : a * n + b)]; }

static cons_table constraints(const alphabet *a)
{
	rows_table rows = {0};
	cons_table t = {0};
	for (int var = -1; var < 2; var++)
		for (int axes = 0; axes <= (var < 0 ? a->closed_axes : a->open_axes); axes++)
			add_rows(&rows, a, var, axes);
	int n = rows.n, *place = malloc(sizeof *place * 2 * (size_t)n * (size_t)n), *sides = malloc(sizeof *sides * 4 * (size_t)n * (size_t)n);
	int *image[4];
	t.at = malloc(sizeof *t.at * 2 * (size_t)n * (size_t)n);
	for (int below = 0; below < 2; below++)
		for (int i = 0; i < n; i++)
			for (int j = below ? 0 : i; j < n; j++) {
				if (rows.at[i].var < 0 && rows.at[j].var < 0)
					continue;
				place[below * n * n + i * n + j] = t.n;
				sides[2 * t.n] = i;
				sides[2 * t.n + 1] = j;
				t.at[t.n++] = (cons){.kind = below ? ROW_LE : ROW_EQ, .ra = rows.at[i], .rb = rows.at[j]};
			}
	for (int k = 0; k < 4; k++) {
		image[k] = malloc(sizeof *image[k] * (size_t)n);
		t.image[k] = malloc(sizeof *t.image[k] * (size_t)t.n);
		for (int i = 0; i < n; i++) {
			flat_row r = renamed(rows.at[i], k & 1, k & 2);
			image[k][i] = place_of(&rows, &r);
		}
		for (int i = 0; i < t.n; i++)
			t.image[k][i] = find_cons(place, n, t.at[i].kind == ROW_LE, image[k][sides[2 * i]], image[k][sides[2 * i + 1]]);
		free(image[k]);
	}
	free(place);
	free(sides);
	free(rows.at);
	return t;
}

static void drop(cons_table *t)
{
	free(t->at);
	for (int k = 0; k < 4; k++)
		free(t->image[k]);
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

static bool canonical(const cons_table *t, const int *set, int n, int roles)
{
	for (int k = 1; k < 4; k++) {
		int image[3], order = 0, other = k & 1 ? roles >> 1 | (roles & 1) << 1 : roles;
		for (int i = 0; i < n; i++) {
			int x = t->image[k][set[i]], j = i;
			for (; j > 0 && image[j - 1] > x; j--)
				image[j] = image[j - 1];
			image[j] = x;
		}
		for (int i = 0; i < n && !order; i++)
			order = image[i] - set[i];
		if (order < 0 || (order == 0 && other < roles))
			return false;
	}
	return true;
}

static void pose(const cons_table *t, const alphabet *a, const int *set, int n, int roles, tally *out)
{
	problem p = {.ndims = a->variable, .nrows = 2, .ncons = n};
	for (int v = 0; v < 2; v++)
		p.row_role[v] = roles >> v & 1 ? LEAF : INTERIOR;
	for (int i = 0; i < n; i++)
		p.at[i] = t->at[set[i]];
	judge_rows(&p, out);
}

/* Every `every`-th canonical set of n constraints. `count` runs over all sets: the stride is prime to the roles. */
static void extend(const cons_table *t, const alphabet *a, int *set, int have, int n, unsigned long every, const plan *plan, unsigned long *count, tally *out)
{
	for (int r = have ? set[have - 1] + 1 : 0; r < t->n; r++) {
		set[have] = r;
		if (have + 1 < n) {
			extend(t, a, set, have + 1, n, every, plan, count, out);
			continue;
		}
		for (int roles = 0; roles < 4; roles++)
			if (++*count % every == 0 && in_share(plan, *count) && canonical(t, set, n, roles))
				pose(t, a, set, n, roles, out);
	}
}

static void every_set(const alphabet *a, int n, unsigned long every, const plan *plan, tally *out)
{
	int set[3];
	unsigned long count = 0;
	cons_table t = constraints(a);
	extend(&t, a, set, 0, n, every, plan, &count, out);
	drop(&t);
}

void rows_every(const plan *plan, tally *out)
{
	static const int all[] = {UNIT, ATOM(1, 0), ATOM(2, 0), ATOM(3, 0)}, three[] = {UNIT, ATOM(2, 0), ATOM(3, 0)};
	if (plan->every_rows1)
		every_set(&(alphabet){all, 4, 2, 2, true}, 1, plan->every_rows1, plan, out);
	if (plan->every_rows2)
		every_set(&(alphabet){three, 3, 1, 2, false}, 2, plan->every_rows2, plan, out);
	if (plan->every_rows3)
		every_set(&(alphabet){three + 1, 2, 1, 1, false}, 3, plan->every_rows3, plan, out);
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static term some_axis(uint64_t *seed, int ndims)
{
	switch (pick(seed, 6)) {
	case 0: return term_code(UNIT);
	case 1: return term_code(ATOM(1, 0));
	case 2: case 3: return term_code(ATOM(2 + pick(seed, 2), 0));
	default: return ndims ? term_var(pick(seed, ndims)) : term_code(ATOM(2, 0));
	}
}

static flat_row some_row(uint64_t *seed, int nrows, int ndims, int axes)
{
	int n = pick(seed, axes + 1), lead = pick(seed, n + 1);
	flat_row r = {.nlead = (int8_t)lead, .ntrail = (int8_t)(n - lead), .var = (int8_t)(pick(seed, 4) ? pick(seed, nrows) : -1)};
	for (int i = 0; i < lead; i++)
		r.lead[i] = some_axis(seed, ndims);
	for (int i = 0; i < n - lead; i++)
		r.trail[i] = some_axis(seed, ndims);
	return r;
}

static role some_role(uint64_t *seed)
{
	int x = pick(seed, 8);
	return x < 4 ? INTERIOR : x < 7 ? LEAF : PARAM;
}

void rows_sampled(const plan *plan, tally *out)
{
	for (unsigned long i = 0; i < plan->rows + plan->totals; i++) {
		uint64_t seed = seed_of(plan, i);
		if (!in_share(plan, i))
			continue;
		bool total = i >= plan->rows;
		problem p = {.ndims = 2, .nrows = 2 + (!total && pick(&seed, 2)), .ncons = 2 + pick(&seed, 3)};
		for (int v = 0; v < p.nrows; v++)
			p.row_role[v] = some_role(&seed);
		for (int v = 0; v < p.ndims; v++)
			p.dim_role[v] = pick(&seed, 3) ? INTERIOR : LEAF;
		for (int c = 0; c < p.ncons; c++) {
			cons *x = &p.at[c];
			*x = (cons){.kind = pick(&seed, 3) ? ROW_LE : ROW_EQ};
			x->ra = some_row(&seed, p.nrows, p.ndims, p.nrows > 2 ? 2 : 3);
			x->rb = some_row(&seed, p.nrows, p.ndims, p.nrows > 2 ? 2 : 3);
			if (total && c == 0) {
				x->kind = TOTAL;
				x->nrows = (int8_t)(1 + pick(&seed, 2));
				x->n = (int16_t)(1 + pick(&seed, 6));
				if (pick(&seed, 3) == 0)
					x->a = term_var(pick(&seed, p.ndims));
			}
		}
		judge_rows(&p, out);
	}
}

/* ---- lookups ------------------------------------------------------------------------------------------------------ */

static flat_row row_of(uint64_t *seed, int var, int ndims, int axes)
{
	flat_row r = some_row(seed, 1, ndims, axes);
	r.var = (int8_t)(r.var < 0 ? -1 : var);
	return r;
}

static flat_row just(int var) { return (flat_row){.var = (int8_t)var}; }

/* A row that follows another; the three are mostly over variables of their own. */
static cons some_join(uint64_t *seed, const problem *p)
{
	bool own = pick(seed, 4) > 0;
	cons c = {.kind = JOIN};
	flat_row *rows[3] = {&c.ra, &c.rb, &c.rc};
	for (int i = 0; i < 3; i++)
		*rows[i] = pick(seed, 2) ? just(own ? i : pick(seed, p->nrows)) : row_of(seed, own ? i : pick(seed, p->nrows), p->ndims, 2);
	return c;
}

/* As an operation emits it: what is left over are rows without axes of their own. */
static cons some_lookup(uint64_t *seed, const problem *p)
{
	return (cons){.kind = LOOKUP, .a = term_var(0), .ra = row_of(seed, 0, p->ndims, 2), .rb = row_of(seed, 1, p->ndims, 2),
		.rc = just(2), .rd = just(3)};
}

static cons some_relation(uint64_t *seed, const problem *p)
{
	if (pick(seed, 5) == 0)
		return (cons){.kind = DIM_EQ, .a = term_var(pick(seed, p->ndims)), .b = some_axis(seed, p->ndims)};
	return (cons){.kind = pick(seed, 3) ? ROW_EQ : ROW_LE, .ra = some_row(seed, p->nrows, p->ndims, 2), .rb = some_row(seed, p->nrows, p->ndims, 2)};
}

void lookups_sampled(const plan *plan, tally *out)
{
	for (unsigned long i = 0; i < plan->lookups; i++) {
		uint64_t seed = seed_of(plan, i);
		if (!in_share(plan, i))
			continue;
		bool lookup = pick(&seed, 2);
		problem p = {.ndims = 2, .nrows = lookup ? 4 : 3, .ncons = 1 + pick(&seed, 4)};
		for (int v = 0; v < 3 - lookup; v++)
			p.row_role[v] = some_role(&seed);
		p.at[0] = lookup ? some_lookup(&seed, &p) : some_join(&seed, &p);
		for (int c = 1; c < p.ncons; c++)
			p.at[c] = pick(&seed, 3) ? some_relation(&seed, &p) : lookup && pick(&seed, 2) ? some_lookup(&seed, &p) : some_join(&seed, &p);
		judge_rows(&p, out);
	}
}
