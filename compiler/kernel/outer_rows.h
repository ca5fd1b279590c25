/* Private to outer_rows.c, which says what this is about and walks the places of a row, and outer_tiles.c, which computes some of them together. */
#ifndef TSR_KERNEL_OUTER_ROWS_H
#define TSR_KERNEL_OUTER_ROWS_H
#include "team.h"
#include "../opt/opt.h"

enum { TSR_MOST_PLACES = 8, TSR_MOST_INNER = 4, TSR_MOST_LOCALS = 8, TSR_MOST_ENDS = 4, TSR_MANY_CHANNELS = 8 };    /* many: registers of channels */

/* Windows of some of these places reach over an edge, nobody knows which; the first ones of a row, or the last ones, of more places than both, are known. */
typedef enum { TSR_EDGE_NONE, TSR_EDGE_ANY, TSR_EDGE_FIRST, TSR_EDGE_LAST } tsr_places_edge;
/* A guard lets in `step` times an iteration, and `most` at the furthest place of the window, below `size`. */
typedef struct tsr_places_end { tsr_size size; int64_t most, step; } tsr_places_end;

typedef struct tsr_places {
	tsr_emit *e;
	const tsr_stmt *row, *loop;                /* w, and c within it */
	tsr_groups groups;                         /* that c stands for; or none */
	uint32_t n_inner;
	const tsr_stmt *inner[TSR_MOST_INNER];     /* loops within, of known extents */
	uint32_t n_locals;
	tsr_local_id local[TSR_MOST_LOCALS];       /* of each place its own */
	bool shared;                               /* some load is the next place's, too, or sums of one place are too few */
	bool torn;                                 /* some guard mentions the lanes */
	int64_t inside, outside;                   /* the lanes' iterations that such guards let all in of: from and to, which is INT64_MAX where only the run knows how many there are */
	uint32_t n_lane_ends, n_row_ends;          /* further guards, of sizes that only the run knows */
	tsr_places_end lane_end[TSR_MOST_ENDS], row_end[TSR_MOST_ENDS];
	bool later;                                /* only the run knows how many lanes, or places, there are, or which of these are a thread's */
	bool whole;                                /* only these are emitted now */
	tsr_places_edge edge;                      /* where the places stand that are emitted now */
	bool known;                                /* what guards say of a place hangs on loops alone that are written out */
	bool parts;                                /* and all places are known */
	int64_t first, end;                        /* of the places whose windows reach over no edge of the row; INT64_MAX as above */
	uint32_t most;                             /* so many places together: of an image from memory fewer, whose lines are nearer */
	uint32_t n;                                /* of those that are emitted together */
	tsr_emit_view view[TSR_MOST_PLACES];
	LLVMValueRef mask[TSR_MOST_PLACES];        /* what guards let in of each; NULL: all */
	LLVMValueRef in[TSR_MOST_PLACES];          /* whether those of the place itself let anything in; NULL: they do */
	bool out[TSR_MOST_PLACES];                 /* they let in none of it */
	tsr_below below;                           /* what is asked for of an image that comes from memory */
	const tsr_stmt *around;                    /* the store whose whole lines go around the caches, or NULL */
} tsr_places;

/* Of a register. */
static inline unsigned tsr_places_lanes(const tsr_places *x) { return x->groups.group ? (unsigned)x->groups.lanes : x->e->target->vector_bytes / 4; }
/* Iterations below which these let everything in, and `known`, of `all`. */
LLVMValueRef tsr_places_end_of(tsr_emit *e, int64_t known, uint32_t n, const tsr_places_end *ends, LLVMValueRef all);
/* A size is as many steps as there are places, and so much more. */
bool tsr_places_beside(tsr_emit *e, tsr_size places, int64_t step, tsr_size size, int64_t *more);
/* n places from `at` on. */
void tsr_places_tile(tsr_places *x, LLVMValueRef at, uint32_t n);
/* Places from .. to, n at a time; where those that are left begin. */
LLVMValueRef tsr_places_some(tsr_places *x, LLVMValueRef from, LLVMValueRef to, uint32_t n);
#endif
