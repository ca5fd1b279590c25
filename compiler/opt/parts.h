/* What sums that are taken in parts share: products (deep.c), and others (totals.c). */
#ifndef TSR_OPT_PARTS_H
#define TSR_OPT_PARTS_H
#include "pass.h"

/* A temporary of C's axes behind that of the parts. */
tsr_buffer *tsr_parts_buffer(tsr_pass *p, const tsr_buffer *c, int64_t parts, tsr_prec prec);
/* An index of C behind that of a part. */
tsr_lin *tsr_parts_index(tsr_pass *p, const tsr_buffer *c, tsr_lin part, const tsr_lin *index);
/* In place of the kernel two: NAME.parts, which makes the parts, and NAME, which puts them together. */
void tsr_parts_kernels(tsr_pass *p, const tsr_stmt *kernel, tsr_stmt *parts, tsr_stmts together, tsr_stmts *out);
#endif
