/* Private to loop/: lowering in progress.
 *
 *   lower.c   buffers, units, fills, run-time checks
 *   nest.c    one assignment over one piece of its space -> a kernel
 *   value.c   right-hand sides -> expressions */
#ifndef TSR_LOOP_LOWER_H
#define TSR_LOOP_LOWER_H
#include "loop.h"
#include "../base/map.h"

typedef struct tsr_lowering {
	const tsr_code *code;
	tsr_graph *g;
	tsr_loops *l;
	tsr_arena *arena;
	const bool *observed;            /* at 2 * tensor + part, or NULL */
	const uint32_t *returned;        /* likewise */
	tsr_map values, grads;           /* tensor -> buffer */
	tsr_loop_unit *unit;
	TSR_VEC(bool) written;           /* per buffer: the current unit has written all of it */
} tsr_lowering;

/* Where accumulation begins: with the element as it is, or with the accumulator's neutral element, in which case nothing
 * is read and each cell is stored once. */
typedef enum { TSR_FROM_ELEMENT, TSR_FROM_NEUTRAL } tsr_start;

/* One assignment over one piece; loop i of the piece is symbol first_sym + i of the unit. */
typedef struct tsr_nest {
	tsr_lowering *w;
	const tsr_assign *a;
	const tsr_piece *p;
	uint32_t first_sym;
	TSR_VEC(tsr_range) guards;       /* of the operands */
} tsr_nest;

tsr_prec tsr_grad_prec(tsr_prec value);
/* The buffer of a tensor's value or gradient, made when it is first asked for; piece: for tensors over a whole space. */
tsr_buffer *tsr_lower_buffer(tsr_lowering *w, const tsr_operand *o, const tsr_piece *piece);
/* A buffer is read: what this unit has not written must have been kept from an earlier run. */
void tsr_lower_reads(tsr_lowering *w, tsr_buffer *b);

void tsr_lower_piece(tsr_lowering *w, const tsr_assign *a, const tsr_piece *p, tsr_start start);

/* value.c */
tsr_lin tsr_lower_index(const tsr_nest *n, const tsr_index *x);
/* Indices of an operand's buffer; its guards are added to `guards` where it is not NULL. */
tsr_lin *tsr_lower_access(tsr_nest *n, const tsr_operand *o, tsr_buffer *b);
/* The guards of every padded axis of the assignment's record, but for those that hold already. */
void tsr_lower_guards(tsr_nest *n, uint32_t nheld, const tsr_range *held);
/* The right-hand side, converted to precision `want` (TSR_PREC_NONE: as it is). */
tsr_expr *tsr_lower_value(tsr_nest *n, const tsr_rhs *rhs, tsr_prec want);
/* What an accumulator of precision p combines with: sums and products of narrow floats are computed in p, so that what is
 * accumulated is not rounded on the way. */
tsr_expr *tsr_lower_combined(tsr_nest *n, const tsr_rhs *rhs, tsr_prec p);
/* A conversion, done at once where the value is a constant. */
tsr_expr *tsr_lower_convert(tsr_arena *a, tsr_expr *e, tsr_prec to);
#endif
