/* Rows where they lie, and the copies of those stretches that guards cut: see rows.c and edges.c. */
#ifndef TSR_ENGINE_CONTRACT_ROWS_H
#define TSR_ENGINE_CONTRACT_ROWS_H
#include "kit.h"

/* The guards around an element, all of which must hold. */
enum { TSR_MOST_GUARDS = 32 };
typedef struct tsr_guards { uint32_t n; tsr_range at[TSR_MOST_GUARDS]; } tsr_guards;
/* A guard mentions a loop of the stretch, but for the last one. */
bool tsr_rows_cuts(const tsr_rows *r, const tsr_range *guard);
/* The guards hold for all of the stretch; `uncut`: those that do not cut it. */
LLVMValueRef tsr_rows_hold(tsr_kit *k, const tsr_rows *r, const tsr_guards *guards, bool uncut);
/* The stretch's loops at 0, but the last one; the places that are looked up, of the position at hand. */
void tsr_rows_at_begin(tsr_kit *k, const tsr_rows *r);
void tsr_rows_look_up(const tsr_rows *r);
/* Of n pointers from here on all are at zeros, or some. */
LLVMValueRef tsr_rows_at_zeros(tsr_kit *k, const tsr_rows *r, LLVMValueRef from, uint32_t n, bool all);
/* Elements of a copy. */
int64_t tsr_rows_padded(const tsr_kit *k, int64_t run);
/* All pointers of a stretch with the copies of what is cut, where the rows that are cut are known; `outside` becomes another number than 0 where padding keeps some row
 * outside of all of the stretch; NULL: nobody asks.  false: they are not known. */
bool tsr_rows_by_ends(tsr_kit *k, const tsr_rows *r, LLVMValueRef outside, LLVMValueRef row, LLVMValueRef edges, const tsr_guards *guards);
/* Rows whose stretch is cut, whose pointers are at zeros so far, get a copy of it, at their place among `edges`. */
void tsr_rows_edges(tsr_kit *k, const tsr_rows *r, LLVMValueRef row, LLVMValueRef edges, const tsr_guards *guards);
#endif
