/* What columns.c and short_rows.c share: loops over rows around loops over columns, which update what no row's own is. */
#ifndef TSR_KERNEL_COLUMN_NEST_H
#define TSR_KERNEL_COLUMN_NEST_H
#include "nests.h"

enum { TSR_COLUMN_LOOPS = 16 };

typedef struct tsr_column_nest {
	uint32_t rows, n;                                  /* loops over rows; these and those over columns behind them */
	const tsr_stmt *loop[TSR_COLUMN_LOOPS];            /* the innermost last */
	const tsr_stmts *body;
	int64_t joined;                                    /* columns of the two innermost loops, where they are taken as one, in whole vectors, and the outer one stands at 0; else 0 */
} tsr_column_nest;

static inline const tsr_stmt *tsr_innermost_columns(const tsr_column_nest *x) { return x->loop[x->n - 1]; }

/* The nest that begins with this loop; false: it is none of these. */
bool tsr_column_nest_of(tsr_column_nest *x, const tsr_stmt *loop);
/* The statement updates elements side by side along the columns, the same ones by all rows, of what no other statement touches. */
bool tsr_column_nest_sums(tsr_emit *e, const tsr_column_nest *x, const tsr_stmt *s);
/* All loops over columns but the innermost, of which `columns` is given this thread's, from .. to; the order of sums is what that makes it. */
void tsr_column_nest_walk(tsr_emit *e, const tsr_column_nest *x, void (*columns)(void *user, LLVMValueRef from, LLVMValueRef to), void *user);
#endif
