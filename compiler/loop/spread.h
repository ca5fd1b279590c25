/* How far another order of computing may lead: a bound beside each value of the interpreter; see spread.c. */
#ifndef TSR_LOOP_SPREAD_H
#define TSR_LOOP_SPREAD_H
#include "../ops/ops.h"

/* In every order of computing a value lies within  carried + g (size + carried)  of the value in real numbers, g = rounding / (1 -
 * rounding); the latter is at most `size` from 0.  Where `rounding` and `carried` are 0, it is in every order the same multiple of
 * 2^grid.  All zeros: nothing is known but the value. */
typedef struct tsr_spread { double size, carried, rounding; int32_t grid; } tsr_spread;

/* Of a number that is given. */
tsr_spread tsr_spread_given(tsr_scalar value);
/* Of the result `value` of tsr_op_apply, whose operands these are. */
tsr_spread tsr_spread_op(tsr_op op, const tsr_scalar *args, const tsr_spread *spreads, tsr_scalar value);
/* Of `value`, which x was converted to. */
tsr_spread tsr_spread_convert(tsr_scalar x, tsr_spread s, tsr_scalar value);
/* The most by which two orders differ: infinite where nothing can be said. */
double tsr_spread_bound(tsr_spread s);
/* Nothing is known of a value that hangs on undecided ones. */
tsr_spread tsr_spread_lost(void);
#endif
