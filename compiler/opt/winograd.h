/* Private to winograd*.c: a sum of products over a window of three by three places. */
#ifndef TSR_OPT_WINOGRAD_H
#define TSR_OPT_WINOGRAD_H
#include "pass.h"

/* F(2, 3) and F(3, 2): a tile of two places and three of a window meet in four points, and four products are enough for the six. */
enum { TSR_WINO_TILE = 2, TSR_WINO_TAPS = 3, TSR_WINO_POINTS = 4, TSR_WINO_PLANES = TSR_WINO_POINTS * TSR_WINO_POINTS, TSR_WINO_AXES = 2, TSR_WINO_RANK = 8 };

/* Along one axis of the image, which is read at first + 2 * tile + point: point = place within the tile + place of the window. */
typedef struct tsr_wino_axis {
	const tsr_stmt *whole, *tiled;       /* the loop over three places; the one that is cut into tiles */
	uint32_t axis;                       /* of the image */
	bool back;                           /* iteration k of the whole loop is place 2 - k */
	int64_t first, tiles;
} tsr_wino_axis;

typedef struct tsr_winograd {
	tsr_pass *p;
	tsr_loop_unit *unit;
	tsr_stmt *kernel;
	tsr_nest made, summed;               /* loops of the results, and of what is summed */
	const tsr_expr *image, *filter;      /* the two LOADs */
	bool over;                           /* tiles are summed over, as in the gradient of weights; else they are of results */
	tsr_wino_axis window[TSR_WINO_AXES];
	const tsr_stmt *cut;                 /* the loop that is cut into blocks, each of which goes through several kernels at once; NULL: one kernel after the other */
	bool columns;                        /* it is one of results that the image is read for again; else one over rows of tiles, or around it */
	uint32_t outer;                      /* loops around it, of `made` or of `summed` */
	int64_t rows, parts;                 /* its iterations in a block; parts in which blocks are summed, 1 where they are not */
} tsr_winograd;

/* The loop of the nests with this symbol, or NULL. */
const tsr_stmt *tsr_wino_loop(const tsr_winograd *w, uint32_t sym);
/* Which window's `whole` or `tiled` loop it is, or -1. */
int tsr_wino_window(const tsr_winograd *w, uint32_t sym);
/* Chooses blocks; false: the sum as it stands takes less time. */
bool tsr_wino_choose(tsr_winograd *w);
/* Kernels that take the place of the one. */
void tsr_wino_build(tsr_winograd *w, tsr_stmts *out);
#endif
