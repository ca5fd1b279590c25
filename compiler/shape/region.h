/* Inside shape/: regions, for region.c, alone.c and instance.c. */
#ifndef TSR_SHAPE_REGION_H
#define TSR_SHAPE_REGION_H
#include "store.h"

/* How much there was of everything. */
typedef struct tsr_mark { uint32_t dims, rows, cstrs, leaves, emitted, symbols, conditions, late, errors; } tsr_mark;

/* The state of a region when its emission ended. */
typedef struct tsr_region_state {
	tsr_dim_var *dims;
	tsr_row_var *rows;
	tsr_cstr **cstrs;
	tsr_cells cells;                 /* of the variables' lists */
	tsr_leaf *leaves;
	uint32_t *emitted;
	tsr_forest_state *dim_forest, *row_forest;
	tsr_mark from, to;
} tsr_region_state;

struct tsr_region { tsr_mark from, to; tsr_region_state *kept; };
#endif
