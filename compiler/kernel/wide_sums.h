/* Reductions of loops in vectors: what wide.c asks of wide_sums.c. */
#ifndef TSR_KERNEL_WIDE_SUMS_H
#define TSR_KERNEL_WIDE_SUMS_H
#include "nests.h"

enum { TSR_MOST_WIDE_SUMS = 4 };

/* A local outside, and a vector in its place. */
typedef struct tsr_wide_sum { tsr_local_id id; tsr_prec prec; tsr_acc acc; LLVMValueRef outside; } tsr_wide_sum;

/* How `set $a = $a ..` joins; TSR_ACC_SET: it is no reduction that vectors can take. */
tsr_acc tsr_wide_sum_of(const tsr_stmt *s);
/* The reductions among the statements, TSR_MOST_WIDE_SUMS at most. */
uint32_t tsr_wide_sums(tsr_emit *e, const tsr_stmts *body, tsr_wide_sum *sums);
/* Puts a vector in the place of the local; and its lanes, joined, back into it. */
void tsr_wide_sum_begin(tsr_emit *e, tsr_wide_sum *s, unsigned lanes);
void tsr_wide_sum_end(tsr_emit *e, const tsr_wide *w, tsr_wide_sum *s, unsigned lanes);
/* A maximum or minimum asks once, behind the loop, whether it met a NaN; or it does not matter that it did. */
void tsr_wide_order_begin(tsr_emit *e, tsr_wide *w, const tsr_wide_sum *s, bool never);
#endif
