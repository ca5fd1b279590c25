/* From loops to functions: units and their kernels, statement by statement.
 *
 *     tsr_emit_units(e);                    a function for each unit of e->loops, in e->unit_functions */
#ifndef TSR_KERNEL_KERNEL_H
#define TSR_KERNEL_KERNEL_H
#include "../emit/emit.h"

void tsr_emit_units(tsr_emit *e);
void tsr_emit_check(tsr_emit *e, const tsr_range *range, const char *what, tsr_span span);
#endif
