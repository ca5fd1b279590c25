/* What section 6 states, for one problem: every order of arrival is run, and the outcomes are compared with each other and
 * with the ground solutions.
 *
 *   early     an error before closing: there is no solution (with rows: none whose markers agree, see below)
 *   complete  where there is none, the error comes before closing: dimensions without terms, and one sum of known size
 *   forced    what is bound before closing is so in every such solution
 *   closed    the closed result satisfies every constraint, in every order, and what must last does not vanish
 *   highest   no solution that has the leaves' values (and those inside terms) is strictly higher; where the markers of
 *             the result do not agree, since the policy of markers has chosen: none with these markers
 *   refused   an error in closing where there are solutions: only by the closing policy. For dimensions without terms the
 *             policy is foretold from the set of solutions, and the outcome must be exactly that; otherwise a
 *             leaf, a term's size, a condition, a word equation or an alignment must have been open when closing began
 *   order     every order has the same outcome, up to policies. Two act before closing; sets in which they make a
 *             difference are counted as ambiguous: constraints that hand one row different markers, of which the first
 *             decides (counted by what differs: only markers, or sizes and errors too); and axes that a template grows in
 *             one order, while in another they wait to be aligned, or as a word equation; and by one of closing: of several
 *             lookups, or rows of two open parts, that wait when it begins, the first that the program has is decided first.
 *             Over dimensions alone there is none
 *   budget    the steps stay far below the budget
 *
 * Markers: an equality hands the marker of one side to the other, and an axis grown by an inequality stands on the side of
 * the marker on which the operand has it. These policies lose solutions in which a constraint's two sides disagree about
 * the marker, and no others: those in which all agree must survive. */
#include "oracle.h"
#include <string.h>

const char *const policy_names[POLICIES] = {"nothing", "markers", "sizes after markers", "alignments", "words", "lookups"};

enum { MAX_STEPS = 4000, MAX_SOLUTIONS = 20000 };

static void print_ground(const problem *p, const ground *g)
{
	for (int i = 0; i < p->ndims; i++)
		printf("      %c = %d (basis %d)%s\n", 'a' + i, size_of(g->dim[i]), basis_of(g->dim[i]), g->dim[i] == UNIT ? " unit" : "");
	for (int i = 0; i < p->nrows; i++) {
		printf("      %c = [", 'p' + i);
		for (int j = 0; j <= g->row[i].n; j++) {
			if (j == g->row[i].marker)
				printf(" .");
			if (j < g->row[i].n)
				printf(" %d%s", size_of(g->row[i].at[j]), g->row[i].at[j] == UNIT ? "*" : "");
		}
		printf(" ]\n");
	}
}

static void complain_of(const problem *p, tally *t, const char *what, const ground *g, const fact *x)
{
	static const char *const kinds[] = {"the size", "equal sizes", "the rank at least", "the rank", "the marker", "an axis from the left",
		"an axis from the right"};
	t->failed++;
	if (t->shown-- <= 0)
		return;
	printf("disagreement: %s\n", what);
	problem_print(p, stdout);
	if (x)
		printf("      bound: %s of variable %d (%d): %d\n", kinds[x->kind], x->var, x->other, x->value);
	if (g)
		print_ground(p, g);
}

void complain(const problem *p, tally *t, const char *what, const ground *g) { complain_of(p, t, what, g, NULL); }

/* ---- order ------------------------------------------------------------------------------------------------------- */

static bool same_ground(const problem *p, const ground *a, const ground *b, bool markers)
{
	for (int i = 0; i < p->ndims; i++)
		if (a->dim[i] != b->dim[i])
			return false;
	for (int i = 0; i < p->nrows; i++) {
		const ground_row *x = &a->row[i], *y = &b->row[i];
		if (x->n != y->n || (markers && x->marker != y->marker) || memcmp(x->at, y->at, (size_t)x->n * sizeof *x->at))
			return false;
	}
	return true;
}

/* The sizes that a total may give. */
static int largest_for(const problem *p)
{
	int largest = 0;
	for (int i = 0; i < p->ncons; i++)
		largest = p->at[i].kind == TOTAL && p->at[i].n > largest ? p->at[i].n : largest;
	return largest;
}

/* Constraints that hand one row different markers: there are solutions, and none in which all agree. Where there is no
 * solution, that may be so of the reasons why: `late` says that only the time at which it is found differs. */
static bool policies_clash(const problem *p, bool late, int max_rank)
{
	int codes[32], n = 0;
	const flat_row *rows[4];
	for (int i = 0; i < p->ncons; i++)
		n += rows_of(&p->at[i], rows) > 0;
	query q = {.codes = codes, .ncodes = codes_of(p, codes, largest_for(p)), .max_rank = max_rank, .agree = true, .markers = true};
	if (n < 2 || ground_search(p, &q, NULL, NULL))
		return false;
	q.agree = false;
	return late || ground_search(p, &q, NULL, NULL);
}

/* A result in which a constraint's sides do not agree about a marker: one of them, or closing, has decided. */
static bool markers_disagree(const problem *p, const ground *g)
{
	for (int i = 0; i < p->ncons; i++)
		if (!ground_markers_agree(p, &p->at[i], g))
			return true;
	return false;
}

/* Before closing the two are one. */
static bool same_facts(const outcome *a, const outcome *b)
{
	return !a->early_error && !b->early_error && a->nfacts == b->nfacts && !memcmp(a->facts, b->facts, (size_t)a->nfacts * sizeof *a->facts);
}

/* Why two orders may differ. */
static policy why_different(const problem *p, const outcome *a, const outcome *b, bool contents, int max_rank)
{
	bool closed = !a->error && !b->error;
	if (p->nrows == 0)
		return BY_NOTHING;
	if ((!a->error && markers_disagree(p, &a->result)) || (!b->error && markers_disagree(p, &b->result)))
		return closed && contents ? BY_MARKERS : BY_SIZES;
	if (!(closed && contents) && policies_clash(p, a->error && b->error, max_rank))
		return BY_SIZES;
	if (a->words || b->words || a->alignments || b->alignments)
		return a->words || b->words ? BY_WORDS : BY_ALIGNMENTS;
	return a->lookups && b->lookups && same_facts(a, b) ? BY_LOOKUPS : BY_NOTHING;
}

bool next_order(int *order, int n)
{
	int i = n - 2, j = n - 1;
	while (i >= 0 && order[i] > order[i + 1])
		i--;
	if (i < 0)
		return false;
	while (order[j] < order[i])
		j--;
	int swap = order[i];
	order[i] = order[j];
	order[j] = swap;
	for (int a = i + 1, b = n - 1; a < b; a++, b--) {
		swap = order[a];
		order[a] = order[b];
		order[b] = swap;
	}
	return true;
}

bool holds_all(const problem *p, const ground *g)
{
	for (int i = 0; i < p->ndims; i++)
		if (g->dim[i] == ZERO && !p->discardable[i])
			return false;
	for (int i = 0; i < p->ncons; i++)
		if (!ground_holds(p, &p->at[i], g))
			return false;
	return true;
}

void judge_budget(const problem *p, tally *t, const outcome *out)
{
	t->runs++;
	if (out->steps > t->most_steps)
		t->most_steps = out->steps;
	if (out->exhausted || out->steps > MAX_STEPS)
		complain(p, t, "solving does not end within its budget", NULL);
}

/* What holds of every run, also of those whose outcome is a matter of policy. */
static void count_run(const problem *p, tally *t, const outcome *out)
{
	judge_budget(p, t, out);
	if (!out->error && (out->unsolved || !holds_all(p, &out->result)))
		complain(p, t, "the closed sizes violate a constraint", &out->result);
}

static void show_doubt(const problem *p, tally *t, policy why, const outcome *a, const outcome *b)
{
	const outcome *two[2] = {a, b};
	if (t->doubts[why]-- <= 0)
		return;
	printf("ambiguous by %s:\n", policy_names[why]);
	problem_print(p, stdout);
	for (int i = 0; i < 2; i++) {
		printf("    %s:\n", two[i]->early_error ? "an error" : two[i]->error ? "an error in closing" : i ? "and" : "closes to");
		if (!two[i]->error)
			print_ground(p, &two[i]->result);
	}
}

/* Runs every order; false when a disagreement was found. */
static bool run_orders(const problem *p, tally *t, outcome *first, int max_rank)
{
	int order[MAX_CONS] = {0, 1, 2, 3, 4};
	outcome other;
	t->sets++;
	solver_run(p, order, first);
	count_run(p, t, first);
	while (next_order(order, p->ncons)) {
		solver_run(p, order, &other);
		count_run(p, t, &other);
		bool error = other.error || first->error, contents = error || same_ground(p, &first->result, &other.result, false);
		bool same = other.error == first->error && contents;
		if (same && other.early_error == first->early_error && (error || same_ground(p, &first->result, &other.result, true)))
			continue;
		policy why = why_different(p, first, &other, contents, max_rank);
		if (why != BY_NOTHING) {
			t->ambiguous[why]++;
			show_doubt(p, t, why, first, &other);
			return true;
		}
		complain(p, t, same && error ? "the order decides when an error is found"
			: "the order of the constraints changes the outcome", first->error ? NULL : &first->result);
		if (t->shown >= 0 && !other.error)
			complain_of(p, t, "  the other outcome", &other.result, NULL);
		return false;
	}
	return true;
}

/* ---- closed results ---------------------------------------------------------------------------------------------- */

static bool in_term(const problem *p, int v)
{
	for (int i = 0; i < p->ncons; i++) {
		const term *sides[2] = {&p->at[i].a, &p->at[i].b};
		for (int j = 0; j < 2; j++)
			for (int k = 0; k < sides[j]->nparts; k++)
				if ((sides[j]->kind == T_AFFINE || sides[j]->kind == T_CONCAT || p->at[i].kind == AT_LEAST)
					&& sides[j]->part[k].is_var && sides[j]->part[k].at == v)
					return true;
	}
	return false;
}

static void check_closed(const problem *p, tally *t, const outcome *out, const query *base)
{
	ground higher;
	t->closed++;
	if (out->unsolved)
		return;
	query q = *base;
	q.markers_stay = markers_disagree(p, &out->result);
	q.fixed = &out->result;
	q.higher = true;
	for (int i = 0; i < p->ndims; i++)
		q.fix_dim[i] = p->dim_role[i] != INTERIOR || in_term(p, i) || p->discardable[i];
	for (int i = 0; i < p->nrows; i++)
		q.fix_row[i] = p->row_role[i] != INTERIOR;
	for (int i = 0; i < p->ncons; i++)
		if (p->at[i].kind == TOTAL)
			return;
	if (ground_search(p, &q, &higher, NULL))
		complain(p, t, "a solution with the same leaves lies strictly higher", &higher);
}

/* ---- dimensions without terms: the policy foretold ------------------------------------------------------------------ */

typedef struct family { int n; int (*at)[MAX_DIMS]; } family;

static bool single(const family *f, int v)
{
	for (int i = 1; i < f->n; i++)
		if (f->at[i][v] != f->at[0][v])
			return false;
	return true;
}

/* The lower bound of v: the one atom besides the unit that solutions give it. */
static int bound_of(const family *f, int v)
{
	int atom = NOTHING;
	for (int i = 0; i < f->n; i++) {
		if (f->at[i][v] == UNIT)
			continue;
		if (atom != NOTHING && f->at[i][v] != atom)
			return NOTHING;
		atom = f->at[i][v];
	}
	return atom;
}

static void keep(family *f, int v, int code)
{
	int n = 0;
	for (int i = 0; i < f->n; i++)
		if (f->at[i][v] == code)
			memmove(f->at[n++], f->at[i], sizeof f->at[i]);
	f->n = n;
}

static bool leaves_take_bounds(const problem *p, family *f)
{
	int chosen[MAX_DIMS];
	bool any = false;
	for (int v = 0; v < p->ndims; v++) {
		chosen[v] = p->dim_role[v] != INTERIOR && f->n && !single(f, v) ? bound_of(f, v) : NOTHING;
		any |= chosen[v] != NOTHING;
	}
	for (int v = 0; v < p->ndims; v++)
		if (chosen[v] != NOTHING)
			keep(f, v, chosen[v]);
	return any;
}

static void close_open(const problem *p, family *f, bool interiors, bool *hidden)
{
	bool open[MAX_DIMS];
	while (leaves_take_bounds(p, f))
		;
	for (int v = 0; v < p->ndims; v++)
		open[v] = f->n && !single(f, v) && (interiors || p->dim_role[v] != INTERIOR);
	for (int v = 0; v < p->ndims; v++) {
		*hidden |= open[v] && p->dim_role[v] == PARAM;
		if (open[v])
			keep(f, v, UNIT);
	}
}

/* The one outcome that steps 1, 3 and 5 leave; none when they leave no solution. */
static bool foretell(const problem *p, family *f, bool *hidden)
{
	close_open(p, f, false, hidden);
	close_open(p, f, true, hidden);
	return f->n > 0 && !*hidden;
}

static void check_facts_dims(const problem *p, tally *t, const outcome *out, const family *f)
{
	for (int i = 0; i < out->nfacts; i++) {
		const fact *x = &out->facts[i];
		for (int j = 0; j < f->n; j++)
			if (x->kind == F_DIM ? f->at[j][x->var] != x->value : f->at[j][x->var] != f->at[j][x->other]) {
				ground g = {0};
				memcpy(g.dim, f->at[j], sizeof g.dim);
				complain(p, t, "a solution contradicts what is bound before closing", &g);
				return;
			}
	}
}

/* What all solutions agree on is bound before closing. */
static void check_complete_dims(const problem *p, tally *t, const outcome *out, const family *f)
{
	for (int v = 0; v < p->ndims; v++) {
		bool known = false;
		for (int i = 0; i < out->nfacts; i++)
			known |= out->facts[i].kind == F_DIM && out->facts[i].var == v;
		if (!known && single(f, v)) {
			complain(p, t, "all solutions agree on a size that is not bound before closing", NULL);
			return;
		}
	}
}

void judge_dims(const problem *p, tally *t)
{
	static int store[MAX_SOLUTIONS][MAX_DIMS];
	int codes[16];
	outcome out;
	bool hidden = false;
	if (!run_orders(p, t, &out, 0))
		return;
	query q = {.codes = codes, .ncodes = codes_of(p, codes, 2)};
	family f = {ground_all_dims(p, codes, q.ncodes, store, MAX_SOLUTIONS), store};
	t->unsatisfiable += f.n == 0;
	t->early += out.early_error;
	if (out.early_error != (f.n == 0)) {
		complain(p, t, f.n ? "an error where there are solutions" : "no solution, and no error before closing", NULL);
		return;
	}
	if (out.early_error)
		return;
	check_facts_dims(p, t, &out, &f);
	check_complete_dims(p, t, &out, &f);
	bool closes = foretell(p, &f, &hidden);
	if (closes == out.error)
		complain(p, t, closes ? "closing refuses what its policy allows" : "closing allows what its policy refuses", NULL);
	else if (!closes)
		t->refused++;
	else if (memcmp(out.result.dim, f.at[0], (size_t)p->ndims * sizeof(int)))
		complain(p, t, "closing chooses otherwise than its policy", &out.result);
	else
		check_closed(p, t, &out, &q);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static bool open_operands(const problem *p)
{
	for (int i = 0; i < p->ncons; i++)
		if (p->at[i].kind == ROW_LE && p->at[i].rb.var >= 0)
			return true;
	return false;
}

static bool check_facts(const problem *p, tally *t, const outcome *out, query q)
{
	fact facts[MAX_FACTS];
	int which;
	ground g;
	bool markers = open_operands(p);
	q.against = facts;
	for (int i = 0; i < out->nfacts; i++)
		if (markers || out->facts[i].kind != F_MARKER)
			facts[q.nagainst++] = out->facts[i];
	if (!q.nagainst || !ground_search(p, &q, &g, &which))
		return true;
	complain_of(p, t, "a solution contradicts what is bound before closing", &g, &facts[which]);
	return false;
}

static void judge(const problem *p, tally *t, const outcome *out, const int *codes, int ncodes, int max_rank)
{
	ground g;
	query q = {.codes = codes, .ncodes = ncodes, .max_rank = max_rank, .agree = true, .budget = 200000, .gave_up = &t->gave_up};
	bool any = ground_search(p, &q, &g, NULL);
	t->early += out->early_error;
	t->unsatisfiable += !any;
	if (out->early_error) {
		if (any)
			complain(p, t, "an error before closing where there are solutions", &g);
	} else if (!check_facts(p, t, out, q)) {
		return;
	} else if (!out->error) {
		check_closed(p, t, out, &q);
	} else if (any && !out->open_choice) {
		complain(p, t, "closing refuses although only interiors were open", &g);
	} else {
		t->refused += any;
	}
}

/* Ranks are enumerated past the longest flanks, as far as that can be afforded. */
static int ranks_for(const problem *p)
{
	int longest = 0;
	for (int i = 0; i < p->ncons; i++) {
		const flat_row *rows[4] = {&p->at[i].ra, &p->at[i].rb};
		int n = p->at[i].kind == TOTAL ? 2 : rows_of(&p->at[i], rows), sum = 0;
		for (int j = 0; j < n; j++) {
			int axes = rows[j]->nlead + rows[j]->ntrail;
			longest = axes > longest ? axes : longest;
			sum += j ? axes : 0;
		}
		longest = p->at[i].kind == JOIN && sum > longest ? sum : longest;
	}
	return longest + (p->nrows < 3);
}

void judge_rows(const problem *p, tally *t)
{
	int codes[32], max_rank = ranks_for(p);
	outcome out;
	if (run_orders(p, t, &out, max_rank))
		judge(p, t, &out, codes, codes_of(p, codes, largest_for(p)), max_rank);
}

static bool named(const term *t)
{
	for (int i = 0; i < t->nparts; i++)
		if (!t->part[i].is_var && basis_of(t->part[i].code))
			return true;
	return false;
}

/* One concatenation of unlike unknowns, of a known size, and sizes of some of them: here arithmetic misses nothing. */
static bool one_sum(const problem *p)
{
	int sums = 0;
	for (int i = 0; i < p->ncons; i++) {
		const cons *c = &p->at[i];
		sums += c->a.kind == T_CONCAT;
		if (c->kind != DIM_EQ || c->a.kind == T_AFFINE || c->b.kind != T_CONST || named(&c->a) || named(&c->b))
			return false;
		for (int j = 0; j < c->a.nparts; j++)
			for (int k = 0; k < j; k++)
				if (c->a.part[j].is_var && c->a.part[k].is_var && c->a.part[j].at == c->a.part[k].at)
					return false;
	}
	return sums == 1;
}

void judge_terms(const problem *p, tally *t)
{
	int codes[32];
	outcome out;
	if (!run_orders(p, t, &out, 0))
		return;
	query all = {.codes = codes, .ncodes = codes_of(p, codes, 12)};
	if (!out.early_error && one_sum(p) && !ground_search(p, &all, NULL, NULL))
		complain(p, t, "no solution, and no error before closing", NULL);
	else
		judge(p, t, &out, codes, all.ncodes, 0);
}
