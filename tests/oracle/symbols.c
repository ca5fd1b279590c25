/* Judging problems with symbols: sizes that are known when the program runs.  The outcome is solved symbols, conditions for
 * the run, and sizes that are linear in symbols; it is right when it is right for every choice of values:
 *
 *   sound     where the conditions hold, the result satisfies every constraint
 *   forced    values that are refused before closing leave no solution, where a symbol is not taken for a number by chance:
 *             bounds of one unknown that are a symbol and another size are a deliberate broadcast, whatever the values are, and
 *             components pair with symbols as with any other size. So this is judged where there are no inequalities and
 *             concatenations, and else for values that no size of the problem has. What has a symbolic size does not vanish
 *   exact     there the outcome is that of the problem with the values written in place of the symbols; but a total that has
 *             symbols among its axes may be refused, as it has no linear form; and where an unknown stands twice in one, and is a
 *             symbol, values may be refused but those for which closing the others first gives it a form
 *   order     every order allows the same values, with the same result */
#include "oracle.h"
#include <string.h>

enum { LARGEST = 4, STRANGE = 2, MAX_VALUES = (LARGEST + STRANGE) * (LARGEST + STRANGE) };
static const int strange[STRANGE] = {11, 17};

static int all_values(const problem *p, at_values *at)
{
	int n = 0, each = LARGEST + STRANGE;
	for (int i = 0; i < each; i++)
		for (int j = 0; j < (p->nsymbols > 1 ? each : 1); j++)
			at[n++] = (at_values){.value = {i < LARGEST ? i + 1 : strange[i - LARGEST], j < LARGEST ? j + 1 : strange[j - LARGEST]}};
	return n;
}

static bool has_order(const problem *p)
{
	for (int i = 0; i < p->ncons; i++)
		if (p->at[i].kind == DIM_LE || p->at[i].a.kind == T_CONCAT || p->at[i].b.kind == T_CONCAT)
			return true;
	return false;
}

static bool vanishes(const problem *p, const ground *g)
{
	for (int i = 0; i < p->ndims; i++)
		if (g->dim[i] == ZERO)
			return true;
	return false;
}

/* Values that nothing else has. */
static bool are_strange(const problem *p, const int *value)
{
	for (int i = 0; i < p->nsymbols; i++)
		if (value[i] <= LARGEST || (i && value[i] == value[0]))
			return false;
	return true;
}

static void complain_at(const problem *p, tally *t, const char *what, const at_values *at, const ground *g)
{
	complain(p, t, what, g);
	for (int i = 0; i < p->nsymbols && t->shown >= 0; i++)
		printf("      ?%c = %d\n", "nm"[i], at->value[i]);
}

static bool has_total(const problem *p)
{
	for (int i = 0; i < p->ncons; i++)
		if (p->at[i].kind == TOTAL)
			return true;
	return false;
}

/* A total in which an unknown stands twice. */
static bool has_square(const problem *p)
{
	for (int i = 0; i < p->ncons; i++) {
		int times[MAX_DIMS] = {0};
		const flat_row *rows[2] = {&p->at[i].ra, &p->at[i].rb};
		for (int r = 0; p->at[i].kind == TOTAL && r < p->at[i].nrows; r++)
			for (int k = 0; k < rows[r]->ntrail; k++)
				if (rows[r]->trail[k].kind == T_VAR && times[rows[r]->trail[k].part[0].at]++)
					return true;
	}
	return false;
}

static bool same_dims(const problem *p, const ground *a, const ground *b) { return !memcmp(a->dim, b->dim, (size_t)p->ndims * sizeof *a->dim); }

/* Under a total that waits for a symbol, an axis of size 1 is closed before the total could say that it is an atom. */
static bool same_sizes(const problem *p, const ground *a, const ground *b)
{
	for (int i = 0; i < p->ndims; i++)
		if (a->dim[i] != b->dim[i] && !(has_total(p) && size_of(a->dim[i]) == 1 && size_of(b->dim[i]) == 1))
			return false;
	return true;
}

/* Every order against the first; false when they differ. */
static bool same_in_every_order(const problem *p, tally *t, const at_values *first, int n)
{
	int order[MAX_CONS] = {0, 1, 2, 3, 4};
	at_values other[MAX_VALUES];
	outcome out;
	while (next_order(order, p->ncons)) {
		all_values(p, other);
		solver_run_at(p, order, &out, other, n);
		t->runs++;
		judge_budget(p, t, &out);
		for (int i = 0; i < n; i++)
			if (other[i].holds != first[i].holds || (first[i].holds && !same_dims(p, &other[i].result, &first[i].result))) {
				complain_at(p, t, "the order of the constraints changes the outcome", &first[i], first[i].holds ? &first[i].result : NULL);
				if (other[i].holds)
					complain_at(p, t, "  the other outcome", &other[i], &other[i].result);
				return false;
			}
	}
	return true;
}

/* One choice of values, for which no size is another by chance: against the enumeration, and against the numbers. */
static bool judge_exactly(const problem *p, tally *t, const at_values *at)
{
	static const int order[MAX_CONS] = {0, 1, 2, 3, 4};
	int codes[32];
	ground g;
	outcome out;
	problem q = problem_at(p, at->value), there = q;
	memset(there.discardable, 0, sizeof there.discardable);
	query all = {.codes = codes, .ncodes = codes_of(&q, codes, 12), .agree = true, .budget = 200000, .gave_up = &t->gave_up};
	if (!at->early && ground_search(&there, &all, &g, NULL)) {
		complain_at(p, t, "values for which there are solutions are refused", at, &g);
		return false;
	}
	solver_run(&q, order, &out);
	if (!at->holds && !out.error && vanishes(p, &out.result))
		return true;
	if (out.error == at->holds || (at->holds && !same_sizes(p, &out.result, &at->result))) {
		complain_at(p, t, "the outcome is not that of the numbers in place of the symbols", at, at->holds ? &at->result : NULL);
		if (!out.error)
			complain_at(&q, t, "  that of the numbers", at, &out.result);
		return false;
	}
	return true;
}

static bool judge_value(const problem *p, tally *t, const outcome *out, const at_values *at)
{
	problem q = problem_at(p, at->value);
	if (at->holds && (at->unsolved || !holds_all(&q, &at->result))) {
		complain_at(p, t, "the closed sizes violate a constraint", at, &at->result);
		return false;
	}
	if ((has_order(p) && !are_strange(p, at->value)) || (out->error && has_total(p)) || (!at->holds && has_square(p)))
		return true;
	return judge_exactly(p, t, at);
}

void judge_symbols(const problem *p, tally *t)
{
	static const int order[MAX_CONS] = {0, 1, 2, 3, 4};
	at_values at[MAX_VALUES];
	outcome out;
	int n = all_values(p, at), allowed = 0;
	solver_run_at(p, order, &out, at, n);
	t->sets++;
	t->runs++;
	t->early += out.early_error;
	judge_budget(p, t, &out);
	for (int i = 0; i < n; i++) {
		allowed += at[i].holds;
		if (!judge_value(p, t, &out, &at[i]))
			return;
	}
	t->closed += allowed > 0;
	t->refused += out.error && !out.early_error;
	same_in_every_order(p, t, at, n);
}
