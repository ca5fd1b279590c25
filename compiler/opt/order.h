/* Private to order.c, which has results of products turned, and order_operands.c. */
#ifndef TSR_OPT_ORDER_H
#define TSR_OPT_ORDER_H
#include "pass.h"

/* Puts into `out` kernels that turn what this one, the product k as order.c recognises it, reads of matrices that lie one within the other; it reads what they make. */
void tsr_order_operands(tsr_pass *p, tsr_loop_unit *u, tsr_stmt *kernel, const tsr_contraction *k, tsr_stmts *out);
/* Likewise the vector by which it multiplies a matrix: no operand has a class of axes for itself but the matrix. */
void tsr_order_vector(tsr_pass *p, tsr_loop_unit *u, tsr_stmt *kernel, const tsr_contraction *k, tsr_stmts *out);
#endif
