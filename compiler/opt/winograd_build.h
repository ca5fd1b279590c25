/* Private to winograd_build.c, which makes kernels of a window's sum, winograd_planes.c, which says where their elements are kept, and winograd_tiles.c, which makes planes of tiles and results of planes. */
#ifndef TSR_OPT_WINOGRAD_BUILD_H
#define TSR_OPT_WINOGRAD_BUILD_H
#include "winograd.h"

/* Planes of elements, one for each two points, which have loops for axes: of tiles, the planes before the second loop over them; or of all elements beside the windows, the planes first, behind the parts of a sum. */
typedef struct tsr_wino_set { tsr_buffer *buffer; uint32_t n; const tsr_stmt *at[TSR_WINO_RANK + 1]; bool tiled, parted; } tsr_wino_set;

/* Where a nest of one of the kernels stands: for each loop of before its iteration, or tile, and where that is kept. */
typedef struct tsr_wino_loops {
	uint32_t n;
	struct { const tsr_stmt *loop; tsr_lin at, kept; } of[2 * TSR_MOST_LOOPS];
	tsr_lin block, plane, part;          /* the first iteration of the loop that is cut into blocks */
} tsr_wino_loops;

/* ---- winograd_planes.c: loops and planes --------------------------------------------------------------------------------- */

/* A place of a window, which no loop goes through; a loop around blocks. */
bool tsr_wino_is_place(const tsr_winograd *w, const tsr_stmt *loop);
bool tsr_wino_is_outer(const tsr_winograd *w, const tsr_stmt *loop);
/* Blocks are parts of what is summed. */
bool tsr_wino_sums_blocks(const tsr_winograd *w);
/* So many iterations the loop has within a block, those over tiles for each tile. */
tsr_size tsr_wino_within(const tsr_winograd *w, const tsr_stmt *loop);
tsr_lin tsr_wino_symbol(const tsr_winograd *w, uint32_t sym);
/* A loop like that one; and in place of that one, from iteration `from` on, in the kernel's body from here on. */
tsr_stmt *tsr_wino_loop_like(const tsr_winograd *w, const tsr_stmt *like, tsr_size extent, tsr_for_kind how);
tsr_stmt *tsr_wino_enter(const tsr_winograd *w, tsr_wino_loops *s, const tsr_stmt *loop, int64_t from, tsr_size extent, tsr_for_kind how);
/* Where the loop of before stands; of a loop over tiles, this place of the tile. */
tsr_lin tsr_wino_at(const tsr_wino_loops *s, const tsr_stmt *loop);
tsr_lin tsr_wino_in(const tsr_winograd *w, const tsr_wino_loops *s, int window, int64_t place);
/* Planes of an operand, and of the results; `row`: of one block. */
tsr_wino_set tsr_wino_planes_of_load(const tsr_winograd *w, const char *what, const tsr_expr *load, bool row);
tsr_wino_set tsr_wino_planes_of_results(const tsr_winograd *w, bool row);
/* Where the loops stand, an element of the planes; a store there. */
tsr_lin *tsr_wino_index(const tsr_winograd *w, const tsr_wino_set *x, const tsr_wino_loops *s);
tsr_stmt *tsr_wino_store(const tsr_winograd *w, const tsr_wino_set *to, const tsr_wino_loops *s, tsr_expr *value);
tsr_expr *tsr_wino_zero(const tsr_winograd *w);

/* ---- winograd_tiles.c: what is made of the points of tiles, into these planes or from them ---------------------------------- */

void tsr_wino_image(const tsr_winograd *w, const tsr_wino_set *x, tsr_wino_loops s, tsr_stmts *out);
void tsr_wino_filter(const tsr_winograd *w, const tsr_wino_set *x, tsr_wino_loops s, tsr_stmts *out);
void tsr_wino_result(const tsr_winograd *w, const tsr_wino_set *x, tsr_wino_loops s, tsr_stmts *out);
#endif
