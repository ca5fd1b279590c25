/* The oracle's command: which part of which enumeration is run.
 *     oracle --ci | --full [--only dims|terms|rows|samples] [--seed N] [--show N]
 * Prints one line per family and ends with `N passed, N failed`: constraint sets, each in every order of arrival. */
#include "oracle.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void add(tally *to, const tally *x)
{
	to->sets += x->sets;
	to->runs += x->runs;
	to->failed += x->failed;
}

static void family(const char *name, const char *only, const plan *plan, void (*run)(const struct plan *, tally *), int show, tally *all)
{
	if (only && strcmp(only, name))
		return;
	tally t = {.shown = show};
	clock_t begin = clock();
	run(plan, &t);
	printf("%-8s %9lu sets, %10lu runs: %lu without solutions, %lu of them found before closing; %lu closed, %lu refused by policy, "
		"%lu ambiguous; at most %lu steps; %.1f s; %lu disagreements\n", name, t.sets, t.runs, t.unsatisfiable, t.early, t.closed,
		t.refused, t.ambiguous, t.most_steps, (double)(clock() - begin) / CLOCKS_PER_SEC, t.failed);
	fflush(stdout);
	add(all, &t);
}

int main(int argc, char **argv)
{
	plan ci = {.every_dims4 = 51, .every_dims = 3, .every_rows1 = 7, .every_rows2 = 61, .every_rows3 = 299, .terms = 80000,
		.rows = 25000, .totals = 25000, .seed = 88172645463325252u};
	plan full = {.every_dims4 = 1, .every_dims = 1, .every_rows1 = 1, .every_rows2 = 1, .every_rows3 = 1, .terms = 2000000,
		.rows = 1000000, .totals = 1000000, .seed = 88172645463325252u};
	plan p = ci;
	const char *only = NULL;
	int show = 5;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--full"))
			p = full;
		else if (!strcmp(argv[i], "--only") && i + 1 < argc)
			only = argv[++i];
		else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
			p.seed = strtoull(argv[++i], NULL, 10) * 2654435761u + 1;
		else if (!strcmp(argv[i], "--show") && i + 1 < argc)
			show = atoi(argv[++i]);
	}
	tally all = {0};
	family("dims", only, &p, dims_every, show, &all);
	family("terms", only, &p, dims_sampled, show, &all);
	family("rows", only, &p, rows_every, show, &all);
	family("samples", only, &p, rows_sampled, show, &all);
	printf("%lu constraint sets, %lu runs of the solver\n", all.sets, all.runs);
	printf("%lu passed, %lu failed\n", all.failed < all.sets ? all.sets - all.failed : 0, all.failed);
	return all.failed > 0;
}
