/* The iteration space of one record while it is being worked out: a node per axis of each slot, and one per label of the
 * spec; classes of nodes share a loop.  Private to proj/.
 *
 *   derive.c   nodes, unions and pins from the rule
 *   strata.c   loops for the classes, then affine and concatenated axes in terms of them: the pieces */
#ifndef TSR_PROJ_SPACE_H
#define TSR_PROJ_SPACE_H
#include "proj.h"
#include "../base/forest.h"
#include "../base/plant.h"

#define TSR_NO_NODE UINT32_MAX

/* An axis that is a function of other nodes. */
typedef enum { TSR_DERIVED_AFFINE, TSR_DERIVED_CONCAT, TSR_DERIVED_JOINT } tsr_derived_kind;
typedef struct tsr_derived {
	tsr_derived_kind kind;
	tsr_span span;
	union {
		struct {
			int64_t stride, dilation, offset, number_coef;
			uint32_t over, kernel;           /* nodes, or TSR_NO_NODE */
			tsr_number_id number;            /* or TSR_NONE */
			tsr_pad pad;
		} affine;
		struct { uint32_t n, *at; } concat;      /* and JOINT: the last part runs fastest */
	};
} tsr_derived;

/* What is known of a class; kept at its representative. A pin beats iteration. */
typedef struct tsr_node {
	bool sized, pinned;
	tsr_size size;
	int64_t pin;
	tsr_name label;
	const tsr_derived *derived;
} tsr_node;

typedef struct tsr_slot_axes { uint32_t n, *nodes; tsr_size *sizes; } tsr_slot_axes;     /* in memory order */

typedef struct tsr_space {
	tsr_graph *g;
	const tsr_record *record;
	tsr_arena *arena;
	tsr_forest *forest;
	TSR_VEC(tsr_node) nodes;
	uint32_t nslots;
	tsr_slot_axes *slots;
} tsr_space;

/* Memory order of the kinds. */
static const tsr_kind tsr_memory_order[TSR_KINDS] = {TSR_BATCH, TSR_OUTPUT, TSR_INPUT};

/* NULL when a slot is poison or something was reported. */
tsr_space *tsr_space_derive(tsr_graph *g, const tsr_record *record);
static inline tsr_node *tsr_space_class(tsr_space *s, uint32_t node) { return &s->nodes.at[tsr_forest_find(s->forest, node)]; }
/* Loops and index maps. NULL when something was reported. */
tsr_proj *tsr_space_solve(tsr_space *s);

/* x - y is known to be at least n. */
bool tsr_size_exceeds(tsr_arena *a, tsr_size x, tsr_size y, int64_t n);
#endif
