/* Between threads.c and apart.c: what of a kernel threads can divide. */
#ifndef TSR_OPT_APART_H
#define TSR_OPT_APART_H
#include "schedule.h"

typedef struct tsr_divide { tsr_pass *p; tsr_arena *scratch; uint32_t *touched; } tsr_divide;      /* per buffer: by how many statements of kernels */

/* Each thread can have the buffer for itself. */
bool tsr_private_row(const tsr_divide *d, tsr_buffer_id b);
/* Iterations of this loop of the statement, whose accesses these are, write nothing that others of them touch. */
bool tsr_iterations_apart(const tsr_divide *d, const tsr_stmt *s, const tsr_accesses *x, uint32_t sym);

/* Loops of a nest from the outermost one on, each the last statement of the one before and all with iterations apart, so that all their iterations together can be
 * taken in any order; only the last but one has other statements, before it.  None where what they do is not worth a turn: where there is no product inside. */
typedef struct tsr_taken_loops { uint32_t n; tsr_stmt *loop[TSR_MOST_LOOPS]; } tsr_taken_loops;
tsr_taken_loops tsr_loops_taken(const tsr_divide *d, tsr_stmt *root, const tsr_accesses *x);
#endif
