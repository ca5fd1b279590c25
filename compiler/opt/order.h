/* Private to order.c, which has results of products turned, and order_operands.c. */
#ifndef TSR_OPT_ORDER_H
#define TSR_OPT_ORDER_H
#include "pass.h"

/* Puts into `out` kernels that turn what this one, the product k as order.c recognises it, reads, and it reads what they make: of matrices that lie one within the other; or the vector by which a matrix,
 * which alone may have a class of axes for itself, is multiplied. */
void tsr_order_operands(tsr_pass *p, tsr_loop_unit *u, tsr_stmt *kernel, const tsr_contraction *k, bool of_matrices, tsr_stmts *out);
#endif
