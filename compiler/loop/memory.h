/* The runtime as the interpreter uses it: elements of arrays, and streams of random words.  A header of its own, since the
 * runtime's names for buffers and files are not the compiler's. */
#ifndef TSR_LOOP_MEMORY_H
#define TSR_LOOP_MEMORY_H
#include "../ops/ops.h"

tsr_scalar tsr_loop_element(const void *data, tsr_prec prec, int64_t at);
void tsr_loop_element_set(void *data, int64_t at, tsr_scalar value);
/* Words first .. first + n - 1 of the stream of that name. */
void tsr_loop_random(const char *key, uint64_t seed, uint64_t first, int64_t n, uint32_t *words);
#endif
