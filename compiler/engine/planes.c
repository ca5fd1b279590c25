/* Windows by matrix registers, from planes (opt/planes.c): of each place of an image's row its channels in thirds,
 *
 *     [row][place][32 channels][third][16 pairs]
 *
 * as panels of A have them, pairs being 16 channels apart; or, where channels are not whole steps, of each row its thirds, one number after the other, and those of some rows that are multiplied together, pixel by pixel,
 *
 *     [third][row][pixel][channel], or [row][third][pixel][channel], [row][third][pixel][row][channel]
 *
 * in which neighbours are pairs, and behind a window's numbers others follow, which meet zeros of B.  A register of A is sixteen places, one stride apart, for each step somewhere else: so a number is taken apart once,
 * where panels have it as often as there are taps.  What is padding is 0.
 *
 * Rows of a block begin anywhere in an image, and may end in another.  Of each image its places are computed from the first that is a result to the last, those between two rows, too; sums of these are overwritten by
 * the next result's.  Rows of planes are odd, as panels are (thirds.c), and so are the lines of results that read them, however rows are divided into blocks: what says so lies before the planes. */
#include "inner.h"
#include "private.h"
#include <string.h>

enum { LANES = 16, THIRDS = 3, TILE = 2 * LANES, DEPTHS = 2 * LANES, GROUP = THIRDS * LANES, LINE = TSR_LINE / 4, SPARE = TILE + 1 };

/* A tile's sums; before the block's first row and behind its last one what else their tiles have computed, and a row that is no result. */
int64_t tsr_planes_sums_bytes(const tsr_engine *g) { return (LANES + SPARE + TILE) * (int64_t)g->s->nr * 4; }

LLVMValueRef tsr_planes_sums(tsr_engine *g, LLVMValueRef room) { return tsr_kit_at(&g->k, room, tsr_kit_int(&g->k, LANES * (int64_t)g->s->nr)); }

/* ---- a block's planes ---------------------------------------------------------------------------------------------------- */

/* Its first row's image, and row of the images' planes, one behind the other; where it says whether any row is odd, which of them are, and which lines of results that begin there. */
typedef struct block { tsr_engine *g; const tsr_planes *p; const tsr_plane_sizes *s; LLVMValueRef image, first, any, rows, lines, at; } block;

static LLVMValueRef by(tsr_kit *k, LLVMValueRef x, LLVMValueRef n, LLVMValueRef *rest)
{
	LLVMValueRef q = LLVMBuildUDiv(k->b, x, n, "");
	*rest = LLVMBuildNSWSub(k->b, x, tsr_kit_mul(k, q, n), "");
	return q;
}

/* Where the windows of the line begin that this row of the product is on, and its image. */
static LLVMValueRef plane_row(const block *x, LLVMValueRef row, LLVMValueRef *image)
{
	tsr_kit *k = &x->g->k;
	LLVMValueRef rest, column;
	*image = by(k, row, tsr_kit_mul(k, x->s->lines, x->s->columns), &rest);
	LLVMValueRef line = by(k, rest, x->s->columns, &column);
	return tsr_kit_add(k, tsr_kit_mul(k, *image, x->s->high), tsr_kit_mul(k, line, tsr_kit_int(k, x->p->h.step)));
}

static LLVMValueRef further(tsr_kit *k, LLVMValueRef p, LLVMValueRef bytes) { return LLVMBuildGEP2(k->b, LLVMInt8TypeInContext(k->context), p, &bytes, 1, ""); }

static block block_of(tsr_engine *g, const tsr_block *bl)
{
	tsr_kit *k = &g->k;
	block x = { .g = g, .p = &g->planes, .s = &g->plane, .any = bl->a };
	x.rows = tsr_kit_at(k, x.any, tsr_kit_int(k, LINE));
	x.lines = tsr_kit_at(k, x.rows, x.s->flags);
	x.at = tsr_kit_at(k, x.lines, x.s->flags);
	x.first = plane_row(&x, bl->m, &x.image);
	return x;
}

/* void apart(from, to, count, head, third): so many numbers, whole steps of them or, in `runs`, any; head becomes 1 where some are odd. */
enum { APART_FROM, APART_TO, APART_COUNT, APART_HEAD, APART_THIRD, APART_PARAMS };
typedef struct apart { bool odd, runs; } apart;

/* Where the i-th vector goes, or pair of vectors. */
static LLVMValueRef goes_to(tsr_kit *k, LLVMValueRef f, LLVMValueRef i, int64_t each, uint32_t third)
{
	LLVMValueRef of_third = tsr_kit_mul(k, LLVMGetParam(f, APART_THIRD), tsr_kit_int(k, third));
	return further(k, LLVMGetParam(f, APART_TO), tsr_kit_add(k, tsr_kit_mul(k, i, tsr_kit_int(k, each)), of_third));
}

/* One vector's thirds, side by side; no more than there are, since another row may follow. */
static void apart_runs(tsr_kit *full, tsr_kit *pair, const apart *how, LLVMValueRef f, LLVMValueRef i, LLVMValueRef *seen)
{
	tsr_kit half = tsr_kit_of(full, TSR_PREC_BF16, LLVMInt16TypeInContext(full->context), 2), *k = full;
	LLVMValueRef third[THIRDS], first = tsr_kit_mul(k, i, tsr_kit_int(k, LANES)), some = tsr_kit_mask(k, LLVMBuildNSWSub(k->b, LLVMGetParam(f, APART_COUNT), first, ""), 0);
	tsr_thirds_of(full, pair, tsr_kit_load(k, k->vec, tsr_kit_at(k, LLVMGetParam(f, APART_FROM), first), some), how->odd, third, seen);
	for (uint32_t t = 0; t < THIRDS; t++) {
		LLVMValueRef upper = LLVMBuildLShr(k->b, LLVMBuildBitCast(k->b, third[t], pair->vec, ""), tsr_kit_splat(pair, LLVMConstInt(k->i32, 16, false)), "");
		tsr_kit_store(&half, LLVMBuildTrunc(k->b, upper, LLVMVectorType(half.elem, LANES), ""), goes_to(k, f, i, LANES * 2, t), some);
	}
}

/* Two vectors' thirds, in pairs. */
static void apart_steps(tsr_kit *full, tsr_kit *pair, const apart *how, LLVMValueRef f, LLVMValueRef i, LLVMValueRef *seen)
{
	LLVMValueRef two[2], third[THIRDS], from = tsr_kit_at(full, LLVMGetParam(f, APART_FROM), tsr_kit_mul(full, i, tsr_kit_int(full, DEPTHS)));
	for (uint32_t n = 0; n < 2; n++)
		two[n] = tsr_kit_load(full, full->vec, tsr_kit_at(full, from, tsr_kit_int(full, n * LANES)), NULL);
	tsr_thirds_pair(full, pair, two, how->odd, third, seen);
	for (uint32_t t = 0; t < THIRDS; t++)
		tsr_kit_store(full, third[t], goes_to(full, f, i, GROUP * 4, t), NULL);
}

static void apart_body(tsr_kit *given, const void *which, LLVMValueRef f)
{
	const apart *how = which;
	tsr_kit full = tsr_kit_of(given, TSR_PREC_F32, LLVMFloatTypeInContext(given->context), 4), pair = tsr_kit_of(given, TSR_PREC_I32, given->i32, 4), *k = &full;
	LLVMValueRef seen = LLVMConstNull(full.vec), each = tsr_kit_int(k, how->runs ? LANES : DEPTHS);
	tsr_carried c;
	tsr_carried_begin(k, &c, 1, LLVMBuildUDiv(k->b, tsr_kit_add(k, LLVMGetParam(f, APART_COUNT), tsr_kit_int(k, LANES - 1)), each, ""), &seen);
	(how->runs ? apart_runs : apart_steps)(k, &pair, how, f, c.i, &seen);
	tsr_carried_end(k, &c, 1, &seen);
	if (!how->odd) {
		tsr_guard some = tsr_guard_begin(k, tsr_thirds_some_odd(k, seen));
		LLVMBuildStore(k->b, LLVMConstInt(k->i32, 1, false), LLVMGetParam(f, APART_HEAD));
		tsr_guard_end(k, some);
	}
	LLVMBuildRetVoid(k->b);
}

static void take_apart(const block *x, LLVMValueRef from, LLVMValueRef to, LLVMValueRef head, bool odd)
{
	tsr_kit *k = &x->g->k;
	apart how = { odd, x->p->runs };
	char name[64];
	snprintf(name, sizeof name, TSR_TILE_PREFIX "thirds.apart%s%s", odd ? ".odd" : "", how.runs ? ".runs" : "");
	LLVMTypeRef params[APART_PARAMS] = { k->ptr, k->ptr, k->i64, k->ptr, k->i64 };
	LLVMValueRef f = tsr_kit_named(k, name, params, APART_PARAMS, APART_COUNT, apart_body, &how);
	LLVMValueRef arg[APART_PARAMS] = { from, to, tsr_kit_mul(k, x->s->inside, tsr_kit_int(k, x->p->channels)), head, tsr_kit_int(k, tsr_planes_third(x->g)) };
	LLVMBuildCall2(k->b, LLVMGlobalGetValueType(f), f, arg, APART_PARAMS, "");
}

/* So many bytes from one on, lines or, in runs, any. */
static void clear(const block *x, LLVMValueRef row, LLVMValueRef from, LLVMValueRef bytes)
{
	tsr_kit *k = &x->g->k;
	if (tsr_kit_known(bytes))
		LLVMBuildMemSet(k->b, further(k, row, from), LLVMConstInt(LLVMInt8TypeInContext(k->context), 0, false), bytes, x->p->runs ? 2 : TSR_LINE);
}

/* Where the image's first row is, all loops of windows standing at 0. */
static LLVMValueRef image_at(const block *x, LLVMValueRef image)
{
	tsr_engine *g = x->g;
	const tsr_walks *m = &g->walks[TSR_CLASS_M];
	const tsr_expr *v = x->p->value;
	uint32_t rank = g->e->loops->buffers.at[v->load.buffer]->rank;
	tsr_lin *index = TSR_NEW_N(g->e->tc->arena, tsr_lin, rank + 1);
	for (uint32_t axis = 0; axis < rank; axis++)
		index[axis] = axis == x->p->w.axis || axis == x->p->h.axis ? tsr_lin_const(0) : v->load.index[axis];
	tsr_kit *k = &g->k;
	LLVMValueRef at, *stood = TSR_NEW_N(g->e->tc->arena, LLVMValueRef, m->nloops + 1);
	for (uint32_t i = 0; i < m->nloops; i++)
		stood[i] = g->e->syms[m->loop[i].sym];
	for (uint32_t i = m->nloops - (x->p->h.axis == TSR_NONE ? 1 : 2); i-- > 0;) {
		LLVMValueRef here = image;
		image = i ? by(k, image, tsr_kit_some(k, tsr_emit_size(g->e, m->loop[i].extent)), &here) : image;
		g->e->syms[m->loop[i].sym] = here;
	}
	at = tsr_emit_address(g->e, v->load.buffer, index);
	for (uint32_t i = 0; i < m->nloops; i++)
		g->e->syms[m->loop[i].sym] = stood[i];
	return at;
}

/* void together(from, to, row, third, third of to, count): of a third's rows so far apart one, pixel by pixel, in so many periods of whole lines. */
enum { TOGETHER_FROM, TOGETHER_TO, TOGETHER_ROW, TOGETHER_THIRD, TOGETHER_THIRD_TO, TOGETHER_COUNT, TOGETHER_PARAMS };

/* Lines of a period, which begins with a pixel as the next one does; its pixels. */
static int64_t period_lines(const tsr_planes *p)
{
	int64_t pixel = p->tall * p->channels, by_two = pixel & -pixel;
	return pixel / (by_two < DEPTHS ? by_two : DEPTHS);
}

static int64_t period_pixels(const tsr_planes *p) { return period_lines(p) * DEPTHS / (p->tall * p->channels); }

/* Which row and which of its numbers from the line's first pixel on stands at a place of a line. */
typedef struct picked { int64_t row, number; } picked;

static picked picked_at(const tsr_planes *p, int64_t line, int64_t at)
{
	int64_t pixel = p->tall * p->channels, all = line * DEPTHS + at;
	return (picked){ all / p->channels % p->tall, (all / pixel - line * DEPTHS / pixel) * p->channels + all % p->channels };
}

/* Vectors of the line's rows from its first pixel on; two to a vector where few of their numbers are the line's.  How many rows each has. */
static int64_t rows_of_line(tsr_kit *k, const tsr_planes *p, int64_t line, LLVMValueRef from, LLVMValueRef down, LLVMValueRef *of)
{
	int64_t most = 0, first = line * DEPTHS / (p->tall * p->channels) * p->channels;
	LLVMValueRef pick[DEPTHS];
	for (int64_t i = 0; i < DEPTHS; i++) {
		most = picked_at(p, line, i).number > most ? picked_at(p, line, i).number : most;
		pick[i] = LLVMConstInt(k->i32, (uint64_t)i, false);
	}
	int64_t lanes = most < LANES ? LANES : DEPTHS, rows = DEPTHS / lanes;
	for (int64_t row = 0; row < p->tall; row++) {
		LLVMValueRef at = further(k, from, tsr_kit_add(k, tsr_kit_int(k, first * 2), tsr_kit_mul(k, down, tsr_kit_int(k, row))));
		of[row] = LLVMBuildLoad2(k->b, LLVMVectorType(LLVMInt16TypeInContext(k->context), (unsigned)lanes), at, "");
		LLVMSetAlignment(of[row], 2);
	}
	for (int64_t row = 0; rows > 1 && row < p->tall; row += rows)
		of[row / rows] = LLVMBuildShuffleVector(k->b, of[row], row + 1 < p->tall ? of[row + 1] : LLVMGetUndef(LLVMTypeOf(of[row])), LLVMConstVector(pick, DEPTHS), "");
	return rows;
}

/* The first two vectors give what is theirs, then each what is its. */
static LLVMValueRef line_together(tsr_kit *k, const tsr_planes *p, int64_t line, LLVMValueRef from, LLVMValueRef down)
{
	LLVMValueRef of[DEPTHS], pick[DEPTHS];
	int64_t rows = rows_of_line(k, p, line, from, down, of), vectors = (p->tall + rows - 1) / rows;
	for (int64_t v = 1; v < vectors || v == 1; v++) {
		for (int64_t i = 0; i < DEPTHS; i++) {
			picked x = picked_at(p, line, i);
			int64_t lane = x.row % rows * (DEPTHS / rows) + x.number, whose = x.row / rows;
			pick[i] = whose > v ? LLVMGetUndef(k->i32) : LLVMConstInt(k->i32, (uint64_t)(whose == v ? DEPTHS + lane : v == 1 ? lane : i), false);
		}
		of[0] = LLVMBuildShuffleVector(k->b, of[0], vectors > 1 ? of[v] : of[0], LLVMConstVector(pick, DEPTHS), "");
	}
	return of[0];
}

static void together_body(tsr_kit *k, const void *which, LLVMValueRef f)
{
	const tsr_planes *p = which;
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), down = LLVMGetParam(f, TOGETHER_ROW);
	tsr_count t = tsr_count_begin(k, zero, tsr_kit_int(k, THIRDS), one), c = tsr_count_begin(k, zero, LLVMGetParam(f, TOGETHER_COUNT), one);
	LLVMValueRef at = tsr_kit_mul(k, c.i, tsr_kit_int(k, period_pixels(p) * p->channels * 2)), at_to = tsr_kit_mul(k, c.i, tsr_kit_int(k, period_lines(p) * TSR_LINE));
	LLVMValueRef from = further(k, LLVMGetParam(f, TOGETHER_FROM), tsr_kit_add(k, tsr_kit_mul(k, t.i, LLVMGetParam(f, TOGETHER_THIRD)), at));
	LLVMValueRef to = further(k, LLVMGetParam(f, TOGETHER_TO), tsr_kit_add(k, tsr_kit_mul(k, t.i, LLVMGetParam(f, TOGETHER_THIRD_TO)), at_to));
	for (int64_t line = 0; line < period_lines(p); line++)
		LLVMSetAlignment(LLVMBuildStore(k->b, line_together(k, p, line, from, down), further(k, to, tsr_kit_int(k, line * TSR_LINE))), TSR_LINE);
	tsr_count_end(k, &c);
	tsr_count_end(k, &t);
	LLVMBuildRetVoid(k->b);
}

/* How many rows below a row the last one is that is multiplied together with it. */
static int64_t below(const tsr_planes *p) { return (p->tall - 1) * p->apart; }

/* What is multiplied together of rows until row `c`; as far as a step behind the last window. */
static void together(const block *x, LLVMValueRef c)
{
	tsr_kit *k = &x->g->k;
	const tsr_planes *p = x->p;
	if (p->tall == 1)
		return;
	char name[64];
	snprintf(name, sizeof name, TSR_TILE_PREFIX "thirds.together.%d.%d", (int)p->tall, (int)p->channels);
	LLVMTypeRef params[TOGETHER_PARAMS] = { k->ptr, k->ptr, k->i64, k->i64, k->i64, k->i64 };
	LLVMValueRef f = tsr_kit_named(k, name, params, TOGETHER_PARAMS, TOGETHER_ROW, together_body, p);
	LLVMValueRef first = LLVMBuildNSWSub(k->b, c, tsr_kit_int(k, below(p)), "");
	tsr_guard some = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSGE, first, tsr_kit_int(k, 0), ""));
	LLVMValueRef from = further(k, x->at, tsr_kit_mul(k, first, tsr_kit_int(k, p->row))), to = further(k, from, tsr_kit_int(k, THIRDS * p->pitch));
	int64_t periods = (p->pixels + DEPTHS / (p->tall * p->channels)) / period_pixels(p) + 1;
	LLVMValueRef arg[TOGETHER_PARAMS] = { from, to, tsr_kit_int(k, p->apart * p->row), tsr_kit_int(k, p->pitch), tsr_kit_int(k, p->joined), tsr_kit_int(k, periods) };
	LLVMBuildCall2(k->b, LLVMGlobalGetValueType(f), f, arg, TOGETHER_PARAMS, "");
	tsr_guard_end(k, some);
}

/* Where the row's numbers are that there are, h being inside. */
static LLVMValueRef numbers_at(const block *x, LLVMValueRef image, LLVMValueRef h)
{
	tsr_kit *k = &x->g->k;
	const tsr_planes *p = x->p;
	const tsr_buffer *b = x->g->e->loops->buffers.at[p->value->load.buffer];
	LLVMValueRef row = p->h.axis == TSR_NONE ? tsr_kit_int(k, 0) : h;
	for (uint32_t axis = p->h.axis == TSR_NONE ? b->rank : p->h.axis + 1; axis < b->rank; axis++)
		row = tsr_kit_mul(k, row, tsr_emit_size(x->g->e, b->dims[axis]));
	return tsr_kit_at(k, image_at(x, image), tsr_kit_add(k, row, tsr_kit_int(k, p->w.least > 0 ? p->w.least * p->channels : 0)));
}

/* Whether row `h` of the image is one; where rows behind a block's are looked at, the image, too. */
static LLVMValueRef exists(const block *x, LLVMValueRef image, LLVMValueRef h)
{
	tsr_kit *k = &x->g->k;
	LLVMValueRef inside = LLVMBuildICmp(k->b, LLVMIntULT, h, x->s->extent, "");
	LLVMValueRef images = LLVMBuildUDiv(k->b, x->g->cls[TSR_CLASS_M].count, tsr_kit_mul(k, x->s->lines, x->s->columns), "");
	return x->p->after ? LLVMBuildAnd(k->b, inside, LLVMBuildICmp(k->b, LLVMIntSLT, image, images, ""), "") : inside;
}

/* Row `c` of the planes. */
static void plane(const block *x, LLVMValueRef c, bool odd)
{
	tsr_kit *k = &x->g->k;
	const tsr_planes *p = x->p;
	LLVMValueRef zero = tsr_kit_int(k, 0), left = tsr_kit_int(k, p->w.least < 0 ? -p->w.least : 0), pixel = tsr_kit_int(k, p->runs ? p->channels * 2 : p->place);
	LLVMValueRef last = tsr_kit_add(k, left, x->s->inside), right = LLVMBuildNSWSub(k->b, x->s->pixels, last, "");
	LLVMValueRef high, image = by(k, tsr_kit_add(k, x->first, c), x->s->high, &high), to = further(k, x->at, tsr_kit_mul(k, c, x->s->row));
	LLVMValueRef h = tsr_kit_add(k, high, tsr_kit_int(k, p->h.axis == TSR_NONE ? 0 : p->h.least)), inside = exists(x, image, h);
	for (int64_t t = 0; p->runs && t < THIRDS; t++)
		clear(x, to, tsr_kit_int(k, t * tsr_planes_third(x->g)), tsr_kit_int(k, p->pitch));
	tsr_guard some = tsr_guard_begin(k, inside);
	clear(x, to, zero, p->runs ? zero : tsr_kit_mul(k, left, pixel));
	take_apart(x, numbers_at(x, image, h), further(k, to, tsr_kit_mul(k, left, pixel)), tsr_kit_at(k, x->rows, c), odd);
	clear(x, to, tsr_kit_mul(k, last, pixel), p->runs ? zero : tsr_kit_mul(k, right, pixel));
	tsr_guard_end(k, some);
	tsr_guard none = tsr_guard_begin(k, LLVMBuildNot(k->b, inside, ""));
	clear(x, to, zero, p->runs ? zero : x->s->row);
	tsr_guard_end(k, none);
}

static LLVMValueRef says(tsr_kit *k, LLVMValueRef at) { return LLVMBuildLoad2(k->b, k->i32, at, ""); }
static LLVMValueRef is_odd(tsr_kit *k, LLVMValueRef x) { return LLVMBuildICmp(k->b, LLVMIntNE, x, LLVMConstInt(k->i32, 0, false), ""); }

/* Odd rows once more, cut rather than rounded; and the lines of results that read them. */
static void odd_rows(const block *x, LLVMValueRef count)
{
	tsr_kit *k = &x->g->k;
	tsr_count c = tsr_count_begin(k, tsr_kit_int(k, 0), count, tsr_kit_int(k, 1));
	LLVMValueRef some = LLVMConstInt(k->i32, 0, false);
	for (int64_t i = 0; i < x->p->h.span + x->p->after; i++)
		some = LLVMBuildOr(k->b, some, says(k, tsr_kit_at(k, x->rows, tsr_kit_add(k, c.i, tsr_kit_int(k, i)))), "");
	LLVMBuildStore(k->b, some, tsr_kit_at(k, x->lines, c.i));
	tsr_guard again = tsr_guard_begin(k, is_odd(k, says(k, tsr_kit_at(k, x->rows, c.i))));
	plane(x, c.i, true);
	tsr_guard_end(k, again);
	together(x, c.i);
	tsr_count_end(k, &c);
}

void tsr_planes_pack(tsr_engine *g, const tsr_block *bl)
{
	tsr_kit *k = &g->k;
	block x = block_of(g, bl);
	LLVMValueRef image, last = tsr_kit_add(k, bl->m, LLVMBuildNSWSub(k->b, bl->rows, tsr_kit_int(k, 1), ""));
	LLVMValueRef count = LLVMBuildNSWSub(k->b, tsr_kit_add(k, plane_row(&x, last, &image), tsr_kit_int(k, x.p->h.span + x.p->after)), x.first, "");
	clear(&x, x.any, tsr_kit_int(k, 0), tsr_kit_mul(k, tsr_kit_add(k, tsr_kit_mul(k, x.s->flags, tsr_kit_int(k, 2)), tsr_kit_int(k, LINE)), tsr_kit_int(k, 4)));
	tsr_count c = tsr_count_begin(k, tsr_kit_int(k, 0), count, tsr_kit_int(k, 1));
	plane(&x, c.i, false);
	together(&x, c.i);
	LLVMBuildStore(k->b, LLVMBuildOr(k->b, says(k, x.any), says(k, tsr_kit_at(k, x.rows, c.i)), ""), x.any);
	tsr_count_end(k, &c);
	tsr_guard some = tsr_guard_begin(k, is_odd(k, says(k, x.any)));
	odd_rows(&x, count);
	tsr_guard_end(k, some);
}

/* ---- tiles --------------------------------------------------------------------------------------------------------------- */

static LLVMValueRef constants(tsr_kit *k, const char *name, LLVMValueRef *of, int64_t n)
{
	LLVMValueRef value = LLVMConstArray2(k->i64, of, (uint64_t)n), table = LLVMAddGlobal(k->module, LLVMTypeOf(value), name);
	LLVMSetInitializer(table, value);
	LLVMSetGlobalConstant(table, true);
	LLVMSetLinkage(table, LLVMInternalLinkage);
	return table;
}

LLVMValueRef tsr_planes_depths(tsr_engine *g)
{
	LLVMValueRef *at = TSR_NEW_N(g->e->tc->arena, LLVMValueRef, g->planes.depth);
	for (int64_t i = 0; i < g->planes.depth; i++)
		at[i] = tsr_kit_int(&g->k, tsr_planes_depth_at(&g->planes, i));
	return constants(&g->k, "depths", at, g->planes.depth);
}

/* Rows and columns from a place's first window to the tap. */
static void tap_at(const tsr_engine *g, int64_t tap, int64_t *row, int64_t *column)
{
	const tsr_walks *along = &g->walks[TSR_CLASS_K];
	const tsr_planes *p = &g->planes;
	const tsr_lin *index = p->value->load.index, *h = p->h.axis == TSR_NONE ? NULL : &index[p->h.axis], *w = &index[p->w.axis];
	*row = h ? h->offset + h->base.k - p->h.least : 0, *column = w->offset + w->base.k - p->w.least;
	for (uint32_t i = along->nloops - 1; i-- > 0; tap /= along->loop[i].extent.k) {
		int64_t here = tap % along->loop[i].extent.k;
		*row += h ? here * tsr_lin_coef(h, along->loop[i].sym) : 0;
		*column += here * tsr_lin_coef(w, along->loop[i].sym);
	}
}

/* The same, of values some of which only the run knows. */
static LLVMValueRef stored(tsr_kit *k, LLVMValueRef *of, int64_t n)
{
	LLVMValueRef table = tsr_kit_table(k, (uint32_t)n);
	for (int64_t i = 0; i < n; i++) {
		LLVMValueRef at = tsr_kit_int(k, i);
		LLVMBuildStore(k->b, of[i], LLVMBuildInBoundsGEP2(k->b, k->i64, table, &at, 1, ""));
	}
	return table;
}

/* What there is to know of each step, and of the last one once more, which is asked for. */
LLVMValueRef tsr_planes_taps(tsr_engine *g)
{
	tsr_kit *k = &g->k;
	const tsr_planes *p = &g->planes;
	int64_t steps = p->depth / DEPTHS, runs = p->taps * p->channels / p->run, row, column, tall = p->tall;
	LLVMValueRef *at = TSR_NEW_N(g->e->tc->arena, LLVMValueRef, TSR_TAP_NUMBERS * (steps + 1)), *to = at;
	for (int64_t run = 0; run < runs; run += tall) {
		tall = run + p->tall <= runs ? p->tall : 1;
		tap_at(g, run * (p->run / p->channels), &row, &column);
		for (int64_t depth = 0; depth < tall * p->run; depth += DEPTHS, to += TSR_TAP_NUMBERS) {
			int64_t pixel = tall * p->channels * 2, left = tall * p->run - depth;
			int64_t within = p->runs ? (tall > 1 ? THIRDS * p->pitch : 0) + column * pixel + depth * 2 : column * p->place + depth / DEPTHS * GROUP * 4;
			to[TSR_TAP_BYTES] = tsr_kit_add(k, tsr_kit_mul(k, tsr_kit_int(k, row), g->plane.row), tsr_kit_int(k, within));
			to[TSR_TAP_DEPTHS] = tsr_kit_int(k, left < DEPTHS ? left : DEPTHS);
			to[TSR_TAP_PLACE] = tsr_kit_int(k, p->w.step * (p->runs ? pixel : p->place));
			to[TSR_TAP_THIRD] = tsr_kit_int(k, tall > 1 ? p->joined : tsr_planes_third(g));
		}
	}
	memcpy(to, to - TSR_TAP_NUMBERS, TSR_TAP_NUMBERS * sizeof *to);
	return p->later ? stored(k, at, TSR_TAP_NUMBERS * (steps + 1)) : constants(k, "taps", at, TSR_TAP_NUMBERS * (steps + 1));
}

/* Bytes from the image's first row of planes to a place's, of runs to its line's. */
static LLVMValueRef bytes_to(const block *x, LLVMValueRef place, LLVMValueRef *column)
{
	tsr_kit *k = &x->g->k;
	LLVMValueRef line = by(k, place, x->s->places, column);
	return tsr_kit_add(k, tsr_kit_mul(k, line, tsr_kit_mul(k, x->s->row, tsr_kit_int(k, x->p->h.step))), tsr_kit_mul(k, *column, tsr_kit_int(k, x->p->w.step * x->p->place)));
}

/* void results(from, to, odd, column, results, places, step, all): a tile's rows, so many of each `places` in turn from column `column` on, one behind the other; a row behind the last one is written, too.  Of the odd kind only
 * those of lines of which `odd`, a step further for each line, or `all` says so. */
enum { RESULTS_FROM, RESULTS_TO, RESULTS_ODD, RESULTS_COLUMN, RESULTS_WIDE, RESULTS_PLACES, RESULTS_STEP, RESULTS_ALL, RESULTS_PARAMS };

static void results_body(tsr_kit *k, const void *which, LLVMValueRef f)
{
	const bool *odd = which;
	LLVMValueRef zero = tsr_kit_int(k, 0), row[3] = { zero, LLVMGetParam(f, RESULTS_COLUMN), zero };      /* where the next one goes, the column, and the line */
	tsr_carried c;
	tsr_carried_begin(k, &c, 3, tsr_kit_int(k, TILE), row);
	LLVMValueRef from = tsr_kit_at(k, LLVMGetParam(f, RESULTS_FROM), tsr_kit_mul(k, c.i, tsr_kit_int(k, TILE))), to = tsr_kit_at(k, LLVMGetParam(f, RESULTS_TO), tsr_kit_mul(k, row[0], tsr_kit_int(k, TILE))), own = NULL;
	LLVMValueRef result = LLVMBuildICmp(k->b, LLVMIntSLT, row[1], LLVMGetParam(f, RESULTS_WIDE), "");
	if (*odd)                    /* what is no result would be written over another line's */
		own = LLVMBuildAnd(k->b, result, is_odd(k, LLVMBuildOr(k->b, says(k, tsr_kit_at(k, LLVMGetParam(f, RESULTS_ODD), row[2])), LLVMGetParam(f, RESULTS_ALL), "")), "");
	for (uint32_t v = 0; v < TILE / k->lanes; v++) {
		LLVMValueRef lane = tsr_kit_int(k, v * k->lanes), at = tsr_kit_at(k, to, lane), sum = tsr_kit_load(k, k->vec, tsr_kit_at(k, from, lane), NULL);
		tsr_kit_store(k, own ? LLVMBuildSelect(k->b, own, sum, tsr_kit_load(k, k->vec, at, NULL), "") : sum, at, NULL);
	}
	LLVMValueRef one = tsr_kit_int(k, 1), next = tsr_kit_add(k, row[1], one), end = LLVMBuildICmp(k->b, LLVMIntEQ, next, LLVMGetParam(f, RESULTS_PLACES), "");
	row[0] = LLVMBuildSelect(k->b, result, tsr_kit_add(k, row[0], one), row[0], "");
	row[1] = LLVMBuildSelect(k->b, end, zero, next, "");
	row[2] = LLVMBuildSelect(k->b, end, tsr_kit_add(k, row[2], LLVMGetParam(f, RESULTS_STEP)), row[2], "");
	tsr_carried_end(k, &c, 1, row);
	LLVMBuildRetVoid(k->b);
}

/* A tile's place in its image, where its line of results begins in the planes, and its results in the block; and whether B's panel is odd. */
typedef struct place { LLVMValueRef column, line, to, all; } place;

static void keep(const block *x, LLVMValueRef tile, const place *at, bool odd)
{
	tsr_kit *k = &x->g->k;
	LLVMTypeRef params[RESULTS_PARAMS] = { k->ptr, k->ptr, k->ptr, k->i64, k->i64, k->i64, k->i64, k->i32 };
	LLVMValueRef f = tsr_kit_named(k, odd ? TSR_TILE_PREFIX "thirds.results.odd" : TSR_TILE_PREFIX "thirds.results", params, RESULTS_PARAMS, RESULTS_COLUMN, results_body, &odd);
	LLVMValueRef arg[RESULTS_PARAMS] = { tile, at->to, tsr_kit_at(k, x->lines, at->line), at->column, x->s->columns, x->s->places, tsr_kit_int(k, x->p->h.step), at->all };
	LLVMBuildCall2(k->b, LLVMGlobalGetValueType(f), f, arg, RESULTS_PARAMS, "");
}

/* Both registers of rows, or where the second one's are all behind the last result one. */
static void product(tsr_engine *g, LLVMValueRef two, bool wide, LLVMValueRef *arg)
{
	tsr_kit *k = &g->k;
	for (int tall = 0; tall < 2; tall++) {
		tsr_guard some = tsr_guard_begin(k, tall ? two : LLVMBuildNot(k->b, two, ""));
		tsr_matrix_of_planes(g, tall, wide, false, arg);
		tsr_guard_end(k, some);
	}
}

/* An image's places of the block, from the first result to behind the last one. */
typedef struct span { LLVMValueRef from, to; } span;

static span span_of(const block *x, LLVMValueRef from, LLVMValueRef until)
{
	tsr_kit *k = &x->g->k;
	LLVMValueRef one = tsr_kit_int(k, 1), places = x->s->places, column[2], line[2] = { by(k, from, x->s->columns, &column[0]), by(k, LLVMBuildNSWSub(k->b, until, one, ""), x->s->columns, &column[1]) };
	span out = { tsr_kit_add(k, tsr_kit_mul(k, line[0], places), column[0]), tsr_kit_add(k, tsr_kit_add(k, tsr_kit_mul(k, line[1], places), column[1]), one) };
	LLVMValueRef apart = LLVMBuildICmp(k->b, LLVMIntEQ, LLVMBuildAnd(k->b, places, tsr_kit_int(k, LANES - 1), ""), tsr_kit_int(k, 0), "");     /* a register holds no places of two rows */
	out.from = LLVMBuildAnd(k->b, out.from, LLVMBuildSelect(k->b, apart, tsr_kit_int(k, -LANES), tsr_kit_int(k, -1), ""), "");
	return out;
}

void tsr_planes_column(tsr_engine *g, const tsr_block *bl, LLVMValueRef b, uint32_t vecs)
{
	tsr_kit *k = &g->k;
	block x = block_of(g, bl);
	const tsr_planes *p = x.p;
	LLVMValueRef one = tsr_kit_int(k, 1), all = tsr_kit_mul(k, x.s->lines, x.s->columns), none = LLVMConstInt(k->i1, 0, false), only_results = LLVMBuildICmp(k->b, LLVMIntEQ, x.s->places, x.s->columns, "");
	LLVMValueRef end = tsr_kit_add(k, bl->m, bl->rows), images = LLVMBuildUDiv(k->b, tsr_kit_add(k, end, LLVMBuildNSWSub(k->b, all, one, "")), all, "");
	LLVMValueRef tile = tsr_kit_at(k, g->sums, tsr_kit_int(k, (tsr_planes_room(g) + SPARE) * TILE)), of_b = LLVMBuildZExt(k->b, tsr_thirds_panel_odd(k, b, bl->b_each), k->i32, "");
	LLVMValueRef odd = is_odd(k, LLVMBuildOr(k->b, says(k, x.any), of_b, "")), column[2];
	tsr_count i = tsr_count_begin(k, x.image, images, one);
	LLVMValueRef before = tsr_kit_mul(k, i.i, all), high = LLVMBuildNSWSub(k->b, tsr_kit_mul(k, i.i, x.s->high), x.first, "");
	span s = span_of(&x, tsr_kit_max(k, tsr_kit_int(k, 0), LLVMBuildNSWSub(k->b, bl->m, before, "")), tsr_kit_min(k, all, LLVMBuildNSWSub(k->b, end, before, "")));
	tsr_count c = tsr_count_begin(k, s.from, s.to, tsr_kit_int(k, TILE));
	LLVMValueRef second = tsr_kit_add(k, c.i, tsr_kit_int(k, LANES)), planes = further(k, x.at, tsr_kit_mul(k, high, x.s->row));
	LLVMValueRef half[2] = { further(k, planes, bytes_to(&x, c.i, &column[0])), further(k, planes, bytes_to(&x, second, &column[1])) };
	place at = { .all = of_b };
	LLVMValueRef line = by(k, c.i, x.s->places, &at.column), results = tsr_kit_add(k, tsr_kit_mul(k, line, x.s->columns), tsr_kit_min(k, at.column, x.s->columns));
	at.line = tsr_kit_add(k, high, tsr_kit_mul(k, line, tsr_kit_int(k, p->h.step)));
	at.to = tsr_kit_at(k, g->sums, tsr_kit_mul(k, tsr_kit_add(k, results, LLVMBuildNSWSub(k->b, before, bl->m, "")), tsr_kit_int(k, TILE)));
	LLVMValueRef arg[TSR_MATRIX_PLANE_PARAMS] = { half[0], b, LLVMBuildSelect(k->b, only_results, at.to, tile, ""), tsr_kit_int(k, p->w.step * p->place), tsr_kit_int(k, p->depth / DEPTHS), none, half[1], g->taps, column[0], column[1] };
	product(g, LLVMBuildICmp(k->b, LLVMIntSLT, second, s.to, ""), vecs > 1, arg);
	tsr_guard others = tsr_guard_begin(k, LLVMBuildNot(k->b, only_results, ""));
	keep(&x, tile, &at, false);
	tsr_guard_end(k, others);
	tsr_guard some = tsr_guard_begin(k, odd);
	arg[TSR_MATRIX_SUMS] = tile;
	tsr_matrix_of_planes(g, true, true, true, arg);
	keep(&x, tile, &at, true);
	tsr_guard_end(k, some);
	tsr_count_end(k, &c);
	tsr_count_end(k, &i);
}
