/* Whether tiles pay, and which blocks all that is done for them goes through at once. */
#include "winograd.h"

/* Nanoseconds: of a product in a tile of registers; of an element that is made of others and read again: near, far, and from memory. */
#define EACH_PRODUCT 0.0175
#define EACH_NEAR 0.12
#define EACH_FAR 0.4
#define EACH_BEYOND 0.7
/* Loops that are lanes, and depth of the products; tiles of a block, and blocks; depth of a block that adds to the results; parts of such sums; second caches that hold what is near, blocks of
 * images, of columns; columns of a block, how many times as large as the image's planes theirs are. For tests all is smaller. */
enum { LEAST_CHANNELS = 16, LEAST_TILES = 24, LEAST_BLOCKS = 6, DEEP = 128, MOST_PARTS = 8, ROOM = 4, IMAGES_ROOM = 3, COLUMNS_ROOM = 5, LAST_ROOM = 10, COLUMNS = 32, FAR = 2, SMALLER = 40, SMALL = 2, LARGE = 4 };

/* Elements of the image and of the other operand, results and sums, of each tile or of all: the extents of their loops, but for the windows', multiplied. `small`: for tests. */
typedef struct sizes { double image, filter, results, sums, tiles, around; bool small; } sizes;

static double extents(const tsr_winograd *w, const tsr_nest *n)
{
	double all = 1;
	for (uint32_t i = 0; i < n->n; i++)
		all *= tsr_wino_window(w, n->loop[i]->loop.sym) < 0 ? (double)tsr_wino_iterations(n->loop[i]) : 1;
	return all;
}

static double elements(const tsr_winograd *w, const tsr_expr *load)
{
	double all = 1;
	for (uint32_t axis = 0; axis < w->p->l->buffers.at[load->load.buffer]->rank; axis++) {
		const tsr_lin *x = &load->load.index[axis];
		all *= x->n == 1 && tsr_wino_window(w, x->terms[0].id) < 0 ? (double)tsr_wino_iterations(tsr_wino_loop(w, x->terms[0].id)) : 1;
	}
	return all;
}

/* In all planes. */
static double bytes_of(const tsr_winograd *w, double n) { return n * tsr_wino_planes(w) * tsr_prec_bytes(w->image->prec); }

/* Both planes of a block are near together, and each is small enough for threads to have their own. */
static bool fits(double x, double y, double room) { return x + y <= room && x <= TSR_MOST_PLANE_BYTES && y <= TSR_MOST_PLANE_BYTES; }

/* Of all products along one axis those of which the image has no element are left out by a sum that goes over it as it stands. */
static double inside(const tsr_winograd *w, const tsr_wino_axis *x)
{
	if (!x->tiled)
		return 1;
	int64_t n = 0, size = w->p->l->buffers.at[w->image->load.buffer]->dims[x->axis].k;
	for (int64_t i = 0; i < x->tiled->loop.extent.k; i++)
		for (int64_t k = 0; k < w->taps; k++)
			n += x->first + i + k >= 0 && x->first + i + k < size;
	return (double)n;
}

static double made(const tsr_winograd *w, double n, bool near)
{
	double bytes = bytes_of(w, n);
	return n * tsr_wino_planes(w) * (near || bytes <= 2 * (double)w->p->target->l2 ? EACH_NEAR : bytes <= LAST_ROOM * (double)w->p->target->l3 ? EACH_FAR : EACH_BEYOND);
}

/* Nanoseconds: of the products, and of what is made of the operands, and of what the products give. */
static double time_of(const tsr_winograd *w, const sizes *s)
{
	double tiled = s->image * s->tiles, filter = s->filter * (w->over ? s->tiles : 1), results = s->results * (w->over ? 1 : s->tiles);
	double planes = s->results * s->sums * s->tiles * tsr_wino_planes(w);
	bool rows = w->cut && !w->columns;
	return planes * EACH_PRODUCT + made(w, tiled, rows) + made(w, filter, w->columns || (rows && w->over)) + made(w, results, w->columns || (rows && !w->over));
}

/* The loops around the cut one are loops of all that is kept for a block. */
static bool all_around(const tsr_winograd *w, const tsr_nest *nest)
{
	for (uint32_t i = 0; i < w->outer; i++)
		if (tsr_wino_window(w, nest->loop[i]->loop.sym) >= 0 || !tsr_expr_mentions(w->p->l, w->image, nest->loop[i]->loop.sym) || (w->over && !tsr_expr_mentions(w->p->l, w->filter, nest->loop[i]->loop.sym)))
			return false;
	return true;
}

/* Rows of tiles that all kernels go through at once, so that what passes between them stays in the second cache: as many as there is room for. Or of small images as few as make rows of products. */
static void choose_rows(tsr_winograd *w, const sizes *s, const tsr_nest *nest)
{
	const tsr_wino_axis *y = &w->window[0], *x = &w->window[1];
	double image = bytes_of(w, s->image / s->around), results = bytes_of(w, s->results / s->around), room = (double)w->p->target->l2;
	int64_t least = s->small ? 1 : LEAST_TILES, blocks = s->small ? 2 : LEAST_BLOCKS;
	for (int64_t rows = 1; !tsr_wino_flat(w) && rows <= y->tiles; rows++)
		if (y->tiles % rows == 0 && fits((double)(rows * x->tiles) * image, (double)(rows * x->tiles) * results, room) && rows * x->tiles >= least && s->around * (double)(y->tiles / rows) >= (double)blocks)
			w->rows = rows, w->cut = y->tiled;
	if (w->cut || !w->outer || !tsr_size_is_const(nest->loop[w->outer - 1]->loop.extent))
		return;
	int64_t images = nest->loop[w->outer - 1]->loop.extent.k;
	for (int64_t rows = images; rows >= 1; rows--)
		if (images % rows == 0 && fits((double)rows * s->tiles * image, (double)rows * s->tiles * results, IMAGES_ROOM * room) && (double)rows * s->tiles >= (double)least * 2 && s->around / (double)rows >= (double)blocks)
			w->rows = rows, w->cut = nest->loop[w->outer - 1];
	w->outer -= w->cut != NULL;
}

/* Columns of results, where the other operand's planes, or the results', are far larger than the image's: as many as there is room for. */
static void choose_columns(tsr_winograd *w, const sizes *s)
{
	for (uint32_t i = 0; i < w->made.n; i++)
		if (!tsr_size_is_const(w->made.loop[i]->loop.extent))
			return;                  /* planes of a block are a thread's own, which have to have a size */
	const tsr_stmt *loop = w->made.loop[w->made.n - 1];
	double room = (double)w->p->target->l2, image = bytes_of(w, s->image * s->tiles), filter = bytes_of(w, s->filter * (w->over ? s->tiles : 1)), results = bytes_of(w, s->results * (w->over ? 1 : s->tiles));
	int64_t columns = loop->loop.extent.k, lanes = s->small ? 1 : COLUMNS;
	if (tsr_expr_mentions(w->p->l, w->image, loop->loop.sym) || !tsr_expr_mentions(w->p->l, w->filter, loop->loop.sym) || (filter + results < FAR * image && !s->small))
		return;
	for (int64_t n = lanes; n < columns; n += lanes)
		if (columns % n == 0 && fits(filter * (double)n / (double)columns, results * (double)n / (double)columns, COLUMNS_ROOM * room) && columns / n >= (s->small ? 2 : LEAST_BLOCKS))
			w->rows = n, w->cut = loop, w->columns = true;
	w->outer = w->columns ? 0 : w->outer;
}

/* Of sums over tiles as few rows, or images, as are deep enough for the results, which each block adds to; the blocks are summed in parts, which threads divide. */
static void choose_blocks(tsr_winograd *w, const sizes *s, const tsr_nest *nest)
{
	int64_t all = w->window[0].tiles, each = w->window[1].tiles, around = (int64_t)s->around, deep = s->small ? DEEP / SMALLER : DEEP;
	const tsr_stmt *cut = w->window[0].tiled;
	if ((s->tiles < (double)deep || tsr_wino_flat(w)) && w->outer) {       /* the loop around them */
		cut = nest->loop[--w->outer];
		each *= all, all = cut->loop.extent.k, around /= all;
	}
	if (!cut)
		return;
	w->rows = all;
	for (int64_t rows = all; rows * each >= deep; rows--)
		w->rows = all % rows == 0 ? rows : w->rows;
	int64_t blocks = all / w->rows, first = w->outer ? nest->loop[0]->loop.extent.k : blocks;
	double room = ROOM * (double)w->p->target->l2;
	for (int64_t parts = 2; parts <= MOST_PARTS && (double)parts * bytes_of(w, s->results) <= room; parts++)
		w->parts = first % parts == 0 ? parts : w->parts;
	double tiles = (double)(w->rows * each) / s->around;
	if (around * blocks >= (s->small ? 2 : LEAST_BLOCKS) && w->parts > 1 && fits(tiles * bytes_of(w, s->image), tiles * bytes_of(w, s->filter), room))
		w->cut = cut;
	else
		w->parts = 1;
}

/* By tiles of this size: the time that they take. */
static double choose(tsr_winograd *w, int tile)
{
	const tsr_nest *nest = w->over ? &w->summed : &w->made;
	w->tile = tile, w->parts = 1, w->outer = 0, w->cut = NULL, w->columns = false;
	for (int i = 0; i < TSR_WINO_AXES; i++)
		w->window[i].tiles = w->window[i].tiled ? (w->window[i].tiled->loop.extent.k + tile - 1) / tile : 1;
	sizes s = { elements(w, w->image), elements(w, w->filter), extents(w, &w->made), extents(w, &w->summed), (double)(w->window[0].tiles * w->window[1].tiles), 1, w->p->options->tile_all };
	for (; w->outer < nest->n && nest->loop[w->outer] != w->window[tsr_wino_flat(w)].tiled; w->outer++)
		s.around *= (double)tsr_wino_iterations(nest->loop[w->outer]);
	if (all_around(w, nest) && w->over && tsr_size_is_const(nest->loop[0]->loop.extent))
		choose_blocks(w, &s, nest);
	else if (all_around(w, nest) && !w->over)
		choose_rows(w, &s, nest);
	if (!w->cut)
		choose_columns(w, &s);
	return time_of(w, &s);
}

bool tsr_wino_choose(tsr_winograd *w)
{
	bool small = w->p->options->tile_all, large = w->p->options->tile == LARGE && w->taps + LARGE - 1 <= TSR_WINO_POINTS;
	double small_tiles = choose(w, SMALL), large_tiles = large ? choose(w, LARGE) : 0, least = large && large_tiles < small_tiles ? large_tiles : small_tiles;
	if (large && !small && large_tiles >= small_tiles)
		choose(w, SMALL);
	double products = extents(w, &w->made) * extents(w, &w->summed), depth = extents(w, &w->summed) * (w->over ? (double)(w->window[0].tiles * w->window[1].tiles) : 1);
	return small || (w->made.loop[w->made.n - 1]->loop.extent.k >= LEAST_CHANNELS && depth >= LEAST_CHANNELS
		&& products * inside(w, &w->window[0]) * inside(w, &w->window[1]) * EACH_PRODUCT > least);
}
