/* The oracle's command: which part of which enumeration is run.
 *     oracle --ci | --full [--only FAMILY] [--seed N] [--show N] [--doubts N] [--jobs N]
 * --show disagreements, and --doubts sets of each policy in which the order matters, are printed, per process.
 * Prints one line per family and ends with `N passed, N failed`: constraint sets, each in every order of arrival. The sets
 * are shared out among processes, one per processor unless --jobs says otherwise; which are judged does not depend on that. */
#include "oracle.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_JOBS = 64 };
typedef void generator(const plan *plan, tally *t);

static void add(tally *to, const tally *x)
{
	to->sets += x->sets;
	to->runs += x->runs;
	to->failed += x->failed;
	to->unsatisfiable += x->unsatisfiable;
	to->early += x->early;
	to->closed += x->closed;
	to->refused += x->refused;
	for (int i = 0; i < POLICIES; i++)
		to->ambiguous[i] += x->ambiguous[i];
	to->most_steps = x->most_steps > to->most_steps ? x->most_steps : to->most_steps;
	to->gave_up += x->gave_up;
}

/* Runs the shares in processes of their own; what ends badly counts as a failure. */
static tally run_shares(generator *run, plan plan, const tally *begin)
{
	tally *of = mmap(NULL, plan.parts * sizeof *of, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), all = {0};
	pid_t child[MAX_JOBS];
	fflush(stdout);
	for (plan.part = 0; plan.part < plan.parts; plan.part++) {
		child[plan.part] = fork();
		if (child[plan.part] == 0) {
			tally t = *begin;
			run(&plan, &t);
			of[plan.part] = t;
			fflush(stdout);
			_exit(0);
		}
	}
	for (unsigned i = 0; i < plan.parts; i++) {
		int status = -1;
		if (child[i] < 0 || waitpid(child[i], &status, 0) < 0 || status != 0) {
			printf("disagreement: share %u of %u ends with status %d\n", i, plan.parts, status);
			of[i].failed++;
		}
		add(&all, &of[i]);
	}
	munmap(of, plan.parts * sizeof *of);
	return all;
}

static void report(const char *name, const tally *t, double seconds)
{
	printf("%-8s %9lu sets, %10lu runs: %lu without solutions, %lu of them found before closing; %lu closed, %lu refused by policy; ambiguous:",
		name, t->sets, t->runs, t->unsatisfiable, t->early, t->closed, t->refused);
	const char *sep = " ";
	for (int i = 1; i < POLICIES; i++)
		if (t->ambiguous[i]) {
			printf("%s%lu by %s", sep, t->ambiguous[i], policy_names[i]);
			sep = ", ";
		}
	printf("%s; at most %lu steps; %d searches not finished; %.1f s; %lu disagreements\n", *sep == ' ' ? " none" : "", t->most_steps,
		t->gave_up, seconds, t->failed);
	fflush(stdout);
}

static void family(const char *name, const char *only, const plan *plan, generator *run, const tally *begin, tally *all)
{
	struct timespec from, to;
	if (only && strcmp(only, name))
		return;
	clock_gettime(CLOCK_MONOTONIC, &from);
	tally t = run_shares(run, *plan, begin);
	clock_gettime(CLOCK_MONOTONIC, &to);
	report(name, &t, (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9);
	add(all, &t);
}

int main(int argc, char **argv)
{
	plan ci = {.every_dims4 = 51, .every_dims = 3, .every_rows1 = 7, .every_rows2 = 61, .every_rows3 = 299, .terms = 60000, .symbols = 20000,
		.rows = 25000, .totals = 25000, .lookups = 30000, .maps = 20000, .seed = 1};
	plan full = {.every_dims4 = 1, .every_dims = 1, .every_rows1 = 1, .every_rows2 = 1, .every_rows3 = 1, .terms = 2000000, .symbols = 1000000,
		.rows = 1000000, .totals = 1000000, .lookups = 1000000, .maps = 1000000, .seed = 1};
	plan p = ci;
	const char *only = NULL;
	tally begin = {.shown = 5};
	long jobs = sysconf(_SC_NPROCESSORS_ONLN);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--full"))
			p = full;
		else if (!strcmp(argv[i], "--only") && i + 1 < argc)
			only = argv[++i];
		else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
			p.seed = strtoull(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--show") && i + 1 < argc)
			begin.shown = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--doubts") && i + 1 < argc)
			for (int n = atoi(argv[++i]), k = 0; k < POLICIES; k++)
				begin.doubts[k] = n;
		else if (!strcmp(argv[i], "--jobs") && i + 1 < argc)
			jobs = atol(argv[++i]);
	}
	p.parts = (unsigned)(jobs < 1 ? 1 : jobs > MAX_JOBS ? MAX_JOBS : jobs);
	tally all = {0};
	family("dims", only, &p, dims_every, &begin, &all);
	family("terms", only, &p, dims_sampled, &begin, &all);
	family("symbols", only, &p, symbols_sampled, &begin, &all);
	family("rows", only, &p, rows_every, &begin, &all);
	family("samples", only, &p, rows_sampled, &begin, &all);
	family("lookups", only, &p, lookups_sampled, &begin, &all);
	family("maps", only, &p, maps_sampled, &begin, &all);
	printf("%lu constraint sets, %lu runs of the solver\n", all.sets, all.runs);
	printf("%lu passed, %lu failed\n", all.failed < all.sets ? all.sets - all.failed : 0, all.failed);
	return all.failed > 0;
}
