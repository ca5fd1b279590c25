/* Private to factor.c and factor_build.c: a kernel that is a sum of products, and the tree that takes its place. */
#ifndef TSR_OPT_FACTOR_H
#define TSR_OPT_FACTOR_H
#include "pass.h"
#include "path.h"

enum { TSR_MOST_SUM_LOOPS = 64 };        /* sets of loops are words */

typedef struct tsr_sum {
	tsr_pass *p;
	tsr_loop_unit *unit;
	tsr_stmt *kernel;
	tsr_stmt *let, *out;         /* let: of the local form, or NULL */
	tsr_stmt *guard;
	tsr_expr *product;
	tsr_acc acc;                 /* SUB adds */
	bool minus;                  /* the local form subtracts */
	tsr_op over;
	uint32_t nloops;
	tsr_stmt *loop[TSR_MOST_SUM_LOOPS];
	uint32_t nfactors;
	tsr_expr *factor[TSR_MOST_FACTORS];
	tsr_path_factor facts[TSR_MOST_FACTORS];
	uint64_t kept;
	bool good;
} tsr_sum;

/* The loops that an index mentions. */
uint64_t tsr_sum_lin_loops(tsr_sum *s, const tsr_lin *x);
/* Pushes the kernels of the tree to `out`, the last one being s->kernel, and notes them for --dump=schedule.  An intermediate that an
 * earlier kernel of `out` holds already is not made again. */
void tsr_sum_build(tsr_sum *s, const tsr_path *path, const double *extents, tsr_arena *scratch, tsr_stmts *out);
#endif
