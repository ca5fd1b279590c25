/* Inside shape/: regions and schemes, for region.c, alone.c, terms.c, quantify.c, instance.c and fit.c. */
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
bool tsr_region_quiet(const tsr_region *r);

/* ---- terms.c ----------------------------------------------------------------------------------------------------- */

typedef struct tsr_replacing { void *data; tsr_dim (*dim)(void *data, tsr_dim d); tsr_row (*row)(void *data, tsr_row r); } tsr_replacing;
/* Of a copy: each of its terms is replaced. What it waits for is the caller's. */
void tsr_cstr_replace(tsr_arena *a, tsr_cstr *c, const tsr_replacing *r);

/* ---- quantify.c --------------------------------------------------------------------------------------------------- */

/* What is left of a solved store: variables that are free, by number, and constraints that are not done. */
typedef struct tsr_quantified {
	tsr_store *of;
	tsr_arena *arena;
	tsr_map dim_at, row_at, leaf_at;     /* variable of the store -> its number + 1 */
	TSR_VEC(tsr_dim_var) dims;       /* of their constraints by number */
	TSR_VEC(tsr_row_var) rows;
	tsr_ids leaves;                  /* those that variables mention: of the store */
	TSR_VEC(tsr_cstr *) cstrs;       /* in the order of the constraints that emitted them, */
	tsr_ids roots;                   /* which these are, in the store; */
	tsr_ids order;                   /* and in their own order */
	tsr_cells cells;
	bool bounded;                    /* a dimension has a lower bound */
	const tsr_ids *apart;            /* representatives of sizes that are one in the store, and not in the instance: each of their variables
	                                  * has a number of its own, and what made them one is left */
	tsr_ids again;                   /* where any are: the constraints, in the order in which an instance solves them again */
} tsr_quantified;

void tsr_quantify(tsr_quantified *q, tsr_store *s, tsr_arena *arena, const tsr_ids *apart);
/* Terms of the store as terms over numbers. */
tsr_dim tsr_quantified_dim(tsr_quantified *q, tsr_dim d);
tsr_row tsr_quantified_row(tsr_quantified *q, tsr_row r);

/* An instance in another store: what stands for the dimensions, and where its rows and constraints begin. */
struct tsr_scheme_copy { tsr_arena *arena; tsr_dim *dims; uint32_t rows, cstrs; };
/* Dimensions that copy->dims has already are not made. */
void tsr_instantiate(const tsr_quantified *q, tsr_store *to, tsr_scheme_copy *copy, const tsr_why *why);
/* Its arguments are what they are in the other store: what is left is to be solved there, too. */
void tsr_instance_begins(const tsr_quantified *q, tsr_store *to, const tsr_scheme_copy *copy);
tsr_dim tsr_copied_dim(const tsr_scheme_copy *copy, tsr_dim d);
tsr_row tsr_copied_row(const tsr_scheme_copy *copy, tsr_row r);

/* ---- instance.c --------------------------------------------------------------------------------------------------- */

struct tsr_scheme {
	tsr_store *store;                /* its own */
	tsr_arena *arena;
	tsr_region *region;
	TSR_VEC(tsr_shape) arguments;
	tsr_quantified left;             /* since the end */
	TSR_VEC(tsr_dim) sizes, stated_sizes;    /* that every application gives: of the store; over its numbers */
	TSR_VEC(tsr_shape) stated, given;    /* the arguments over its numbers: as they were stated, as they are */
	tsr_map rows;                    /* row variable of the application that it is made of -> that of the scheme + 1 */
	tsr_map sorts;                   /* axes of arguments that are variables -> tsr_axis_sort */
	tsr_ids apart;                   /* representatives of sizes that are one in the store and not in the instances */
	TSR_VEC(tsr_scheme *) others;    /* this one with sizes apart */
};

/* What of an axis of an argument its scheme knows. */
typedef enum { TSR_SORT_UNIT, TSR_SORT_SOLID, TSR_SORT_UNKNOWN, TSR_SORT_VANISHING, TSR_SORT_ZERO, TSR_SORT_NONE } tsr_axis_sort;
tsr_axis_sort tsr_sort_of(tsr_store *s, tsr_dim d);
/* The scheme where these sizes are kept apart; itself where there are none. */
tsr_scheme *tsr_scheme_with_apart(tsr_scheme *k, tsr_ids apart);
#endif
