/* Private to winograd*.c: a sum of products over a window of three by three places, or five by five, or of as many along one axis. */
#ifndef TSR_OPT_WINOGRAD_H
#define TSR_OPT_WINOGRAD_H
#include "pass.h"

/* A tile of two, or four, places and a window meet in as many points as both have places together, less one, and as many products are enough. */
enum { TSR_WINO_POINTS = 6 /* at most */, TSR_WINO_AXES = 2, TSR_WINO_RANK = 8 };

/* Along one axis of the image, which is read at first + tile * its size + point: point = place within the tile + place of the window. */
typedef struct tsr_wino_axis {
	const tsr_stmt *whole, *tiled;       /* the loop over its places; the one that is cut into tiles */
	uint32_t axis;                       /* of the image */
	bool back;                           /* iteration k of the whole loop is the last place less k */
	int64_t first, tiles;
} tsr_wino_axis;

typedef struct tsr_winograd {
	tsr_pass *p;
	tsr_loop_unit *unit;
	tsr_stmt *kernel;
	tsr_nest made, summed;               /* loops of the results, and of what is summed */
	const tsr_expr *image, *filter;      /* the two LOADs */
	int taps, tile;                      /* places of the window along each axis, 3 or 5; and of a tile, 2, or 4 by 3 */
	bool over;                           /* tiles are summed over, as in the gradient of weights; else they are of results */
	tsr_wino_axis window[TSR_WINO_AXES];         /* the first one without loops where the image has one window */
	const tsr_stmt *cut;                 /* the loop that is cut into blocks, each of which goes through several kernels at once; NULL: one kernel after the other */
	bool columns;                        /* it is one of results that the image is read for again; else one over rows of tiles, or around it */
	uint32_t outer;                      /* loops around it, of `made` or of `summed` */
	int64_t rows, parts;                 /* its iterations in a block; parts in which blocks are summed, 1 where they are not */
} tsr_winograd;

static inline int tsr_wino_points(const tsr_winograd *w) { return w->tile + w->taps - 1; }
static inline bool tsr_wino_flat(const tsr_winograd *w) { return !w->window[0].tiled; }
static inline int tsr_wino_planes(const tsr_winograd *w) { return tsr_wino_points(w) * (tsr_wino_flat(w) ? 1 : tsr_wino_points(w)); }

/* winograd_transform.c: what is made of what along one axis: of the image's points as many; of the window's places, and of a tile's, points; of the products those of a tile, and of a window. */
typedef enum { TSR_WINO_IMAGE, TSR_WINO_WINDOW, TSR_WINO_TILE, TSR_WINO_OF_TILE, TSR_WINO_OF_WINDOW } tsr_wino_side;
int tsr_wino_from(const tsr_winograd *w, tsr_wino_side side);
int tsr_wino_to(const tsr_winograd *w, tsr_wino_side side);
/* Number `i` of what is made, of locals; NULL stands for 0, and is returned where all are. */
tsr_expr *tsr_wino_combined(const tsr_winograd *w, tsr_wino_side side, int i, tsr_expr *const *value);

/* Iterations of a loop, those over images guessed where only the run knows how many these are. */
enum { TSR_WINO_GUESS = 8 };
static inline int64_t tsr_wino_iterations(const tsr_stmt *loop) { return tsr_size_is_const(loop->loop.extent) ? loop->loop.extent.k : TSR_WINO_GUESS; }

/* The loop of the nests with this symbol, or NULL. */
const tsr_stmt *tsr_wino_loop(const tsr_winograd *w, uint32_t sym);
/* Which window's `whole` or `tiled` loop it is, or -1. */
int tsr_wino_window(const tsr_winograd *w, uint32_t sym);
/* Chooses the tile, which is no larger than that, and blocks; false: the sum as it stands takes less time. */
bool tsr_wino_choose(tsr_winograd *w);
/* Kernels that take the place of the one. */
void tsr_wino_build(tsr_winograd *w, tsr_stmts *out);
#endif
