/* Results that are written piece by piece (pieces.c). */
#ifndef TSR_OPT_PIECES_H
#define TSR_OPT_PIECES_H
#include "pass.h"

/* The statement at `at` clears a buffer: what is added to it piece by piece is stored.  True where the pieces are all of it, and the clearing was removed. */
bool tsr_store_pieces(tsr_pass *p, tsr_body_uses *uses, uint32_t at);
#endif
