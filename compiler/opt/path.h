/* The order in which a product of many factors is summed: the numbers only, apart from any code.
 *
 * Factors stand over sets of loops.  A step runs over the loops of its parts, each a factor or the result of an earlier
 * step, and sums out those that nothing else needs; the last one keeps what the target has.  A point of a step costs one operation for
 * each product and one for the sum, if it sums, so that a contraction of two costs twice the product of its extents. */
#ifndef TSR_OPT_PATH_H
#define TSR_OPT_PATH_H
#include "../base/arena.h"
#include <stdbool.h>
#include <stdint.h>

enum { TSR_MOST_FACTORS = 64, TSR_EXACT_FACTORS = 10 };

typedef struct tsr_path_factor { uint64_t loops; uint32_t work; /* operations that one value of it takes */ } tsr_path_factor;

typedef struct tsr_path_problem {
	uint32_t nfactors;
	const tsr_path_factor *factors;
	const double *extents;       /* per loop */
	uint64_t kept;               /* loops of the target */
	bool in_order;               /* combine the factors from the left, as in the product itself */
	double room;                 /* elements that an intermediate may have, where there is a choice */
} tsr_path_problem;

/* Part p is factor p below nfactors, and the result of step p - nfactors from there on. */
typedef struct tsr_path_step { uint64_t over, keeps; uint32_t nparts, *parts; double operations; } tsr_path_step;
typedef struct tsr_path { uint32_t nsteps; tsr_path_step *steps; double operations; } tsr_path;

/* All factors in one step. */
double tsr_path_direct(const tsr_path_problem *q);
/* The cheapest tree for up to TSR_EXACT_FACTORS, among equals the one with the smaller intermediates; beyond, the best of several
 * greedy ones, improved exactly in parts.  One step where no tree costs less. */
tsr_path *tsr_path_plan(tsr_arena *a, const tsr_path_problem *q);
#endif
