/* Index maps: from a record's rule and its tensors' solved shapes to an iteration space and one map per slot.
 *
 * Global sizes, local identities: constraints are read again for this record alone.  Equality makes two axes one loop;
 * an inequality whose operand axis is the claim-free unit pins the operand to 0.  A reduction is a loop that a map omits. */
#ifndef TSR_PROJ_PROJ_H
#define TSR_PROJ_PROJ_H
#include "../elab/graph.h"

/* A symbol that an index mentions. */
typedef enum { TSR_SYM_LOOP, TSR_SYM_NUMBER } tsr_sym_kind;      /* a loop of this space; a runtime number of the program */
typedef struct tsr_sym { tsr_sym_kind kind; uint32_t id; } tsr_sym;

/* offset + sum of coef * symbol.  Iter(s) is one term of coefficient 1, Fix(c) has no terms. `base` is a run-time size
 * added to the offset (components of a concatenation behind a symbolic one); constant zero otherwise. */
typedef struct tsr_index_term { int64_t coef; tsr_sym sym; } tsr_index_term;
typedef struct tsr_index {
	int64_t offset;
	tsr_size base;
	uint32_t n;
	tsr_index_term *terms;
	bool guarded;                /* padded: positions outside [0, size) contribute nothing */
	bool checked;                /* mentions a runtime number: bounds are checked when the code runs */
} tsr_index;

typedef struct tsr_loop_axis { tsr_size extent; tsr_name label; } tsr_loop_axis;   /* label: from the spec, for dumps; may be NULL */

/* The map of one slot: an index per axis of the tensor, in memory order (batch, output, input). */
typedef struct tsr_map_axes { uint32_t n; tsr_index *axes; } tsr_map_axes;

/* One piece of an iteration space. A record without concatenations has one piece; with them, one per combination of
 * live components, run one after the other; a slot that is not live in a piece has live = false. */
enum { TSR_MOST_SPACE_LOOPS = 64 };      /* sets of loops are words */
typedef struct tsr_piece {
	uint32_t nloops;
	tsr_loop_axis *loops;        /* loops of the left-hand side in memory order, then those of the operands */
	tsr_map_axes *maps;          /* per slot */
	bool *live;                  /* per slot */
} tsr_piece;

typedef struct tsr_proj {
	tsr_record_id record;
	uint32_t npieces;
	tsr_piece *pieces;
} tsr_proj;

/* NULL when the maps conflict (reported, E05xx). */
tsr_proj *tsr_proj_derive(tsr_graph *g, tsr_record_id record);

/* Facts about a map over a piece. */
bool tsr_map_injective(const tsr_piece *p, const tsr_map_axes *m);           /* no two points share a cell */
/* The same with the loops of the set `fixed` standing still. */
bool tsr_map_injective_within(const tsr_piece *p, const tsr_map_axes *m, uint64_t fixed);
/* The loops on which two points that share a cell must agree, those of `fixed` given; injective when these are all. */
uint64_t tsr_map_determined(const tsr_piece *p, const tsr_map_axes *m, uint64_t fixed);
/* Least and greatest value of an index over its loops, runtime numbers left out. */
typedef struct tsr_interval { tsr_size low, high; } tsr_interval;
tsr_interval tsr_index_interval(tsr_arena *a, const tsr_piece *p, const tsr_index *x);
/* Every cell of a tensor of this shape is written by some point of some piece. */
bool tsr_proj_surjective(const tsr_graph *g, const tsr_proj *p, uint32_t slot);
/* The same for some of the pieces only; a NULL `active` means all. */
bool tsr_pieces_surjective(const tsr_graph *g, const tsr_proj *p, uint32_t slot, const bool *active);
/* No cell of the slot is reached from both pieces. */
bool tsr_pieces_disjoint(const tsr_proj *p, uint32_t i, uint32_t j, uint32_t slot);
/* Bit i set: loop i is not mentioned by the map (a reduction when the slot is written). */
uint64_t tsr_map_omitted(const tsr_piece *p, const tsr_map_axes *m);

void tsr_proj_print(const tsr_graph *g, const tsr_proj *p, FILE *out);       /* --dump=proj */
/* Every index in bounds at every point (intervals for affine maps), no overlapping summands; a fault of ours when not. */
void tsr_proj_check(const tsr_graph *g, const tsr_proj *p);
#endif
