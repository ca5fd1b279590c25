/* The contraction engine: packed register tiles for every sum of products in the language.
 *
 *     tsr_emit_contraction(e, loop);        in a kernel, at the loop that heads the contraction */
#ifndef TSR_ENGINE_ENGINE_H
#define TSR_ENGINE_ENGINE_H
#include "../emit/emit.h"

/* Emits the contraction that heads this FOR; false: not one of its shapes, nothing was emitted, plain loops follow. */
bool tsr_emit_contraction(tsr_emit *e, const tsr_stmt *loop);
/* Rows that it has, as the run knows. */
LLVMValueRef tsr_contraction_rows(tsr_emit *e, const tsr_contraction *c);
/* What its internal functions, one for each variant of a tile, are named by. */
#define TSR_TILE_PREFIX "tsr.tile."
#endif
