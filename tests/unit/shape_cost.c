/* The cost of inference is linear: visits of constraints and looks at lists per operation stay the same when programs grow
 * eightfold, for every family of tests/bench/networks.h. Counted, not timed; `make bench` times them. */
#include "../bench/networks.h"
#include "check.h"

static double per_operation(const family *f, unsigned long operations, bool looks)
{
	net n = {.tc = tsr_compiler_new()};
	n.s = tsr_store_new(n.tc);
	f->build(&n, operations);
	bool ok = tsr_store_close(n.s);
	CHECK(ok);
	tsr_store_check(n.s);
	tsr_store_stats stats = tsr_store_statistics(n.s);
	double x = (double)(looks ? stats.looks : stats.steps) / (double)n.operations;
	tsr_compiler_free(n.tc);
	return x;
}

int main(void)
{
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		for (int looks = 0; looks < 2; looks++) {
			double small = per_operation(&families[i], 250, looks), large = per_operation(&families[i], 2000, looks);
			if (large > small * 1.25 + 1)
				printf("%s (%s): %.1f %s per operation become %.1f\n", families[i].name, families[i].what, small,
					looks ? "looks" : "steps", large);
			CHECK(large <= small * 1.25 + 1);
		}
	return check_end("shape_cost");
}
