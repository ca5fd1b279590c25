/* What pull.c and pull_pays.c share: a nest that scatters, and how its axes are pulled. */
#ifndef TSR_OPT_PULL_H
#define TSR_OPT_PULL_H
#include "pass.h"

enum { TSR_PULL_RANGES = 32, TSR_PULL_NESTS = 64, TSR_PULL_RUN_TIME = 1000 };

/* One nest that writes: its loops, those that name the place and those that are summed. */
typedef struct tsr_scatter {
	tsr_pass *p;
	tsr_loop_unit *unit;
	const tsr_stmt *kernel;
	uint32_t n, nranges;
	tsr_stmt *loop[TSR_MOST_LOOPS];
	tsr_range ranges[TSR_PULL_RANGES];
	tsr_stmt *target;            /* STORE or UPDATE */
	const tsr_buffer *x;
	tsr_acc acc, collect;        /* of the element, and of the sum */
	tsr_expr *value;
	bool serial;                 /* a loop whose order matters, or a guard of the place */
	uint32_t names[TSR_MOST_LOOPS];      /* per loop: in how many axes of the place */
} tsr_scatter;

/* How one axis is pulled; pivot TSR_NONE: it stays as it is. */
typedef struct tsr_pull_plan { uint32_t pivot, window; int64_t stride, step, gcd; double points; } tsr_pull_plan;

/* pull.c: the kernel that gathers the places of these residues, one for each axis that has several; NULL when it would do nothing. */
tsr_stmt *tsr_pull_gather(const tsr_scatter *s, const tsr_pull_plan *plans, const int64_t *residue, bool clear);
/* The residues of nest number `at`, one for each axis; false: there are fewer nests. */
bool tsr_pull_residues(const tsr_scatter *s, const tsr_pull_plan *plans, uint32_t at, int64_t *residue);
/* pull_pays.c: the nest that most products go through is faster than the scatter. */
bool tsr_pull_pays(const tsr_scatter *s, const tsr_pull_plan *plans);
#endif
