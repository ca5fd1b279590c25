/* Windows by matrix registers, from planes (opt/planes.c): of each place of an image's row its channels in thirds,
 *
 *     [row][place][32 channels][third][16 pairs]
 *
 * as panels of A have them, pairs being 16 channels apart; or, where channels are not whole steps, of each result what its window reads of the row, pairs being neighbours: copied from the row in thirds, with what
 * follows it there, which meets zeros of B.  A register of A is sixteen places of the plane, one stride apart, for each step somewhere else: so a number is taken apart once, where panels have it as
 * often as there are taps.  What is padding is 0.
 *
 * Rows of a block begin anywhere in an image, and may end in another.  Of each image its places are computed from the first that is a result to the last, those between two rows, too; sums of these are overwritten by
 * the next result's.  Rows of planes are odd, as panels are (thirds.c), and so are the lines of results that read them, however rows are divided into blocks: what says so lies before the planes. */
#include "inner.h"
#include "private.h"
#include <string.h>

enum { LANES = 16, THIRDS = 3, TILE = 2 * LANES, DEPTHS = 2 * LANES, GROUP = THIRDS * LANES, LINE = TSR_LINE / 4, SPARE = TILE + 1 };

/* Bytes of a place; of a plane's row. */
static int64_t place_of(const tsr_planes *p) { return (p->run + DEPTHS - 1) / DEPTHS * GROUP * 4; }
static int64_t row_of(const tsr_planes *p) { return p->wide * place_of(p); }

/* Bytes of a third of an image's row, and of whole steps behind its last place. */
static int64_t third_of(const tsr_planes *p) { return p->runs ? ((p->pixels * p->channels + p->run) * 2 + TSR_LINE - 1) / TSR_LINE * TSR_LINE + TSR_LINE : 0; }

static int64_t room_of(const tsr_engine *g)
{
	int64_t m = tsr_kit_known(g->cls[TSR_CLASS_M].count), rows = m < g->s->mc ? m : g->s->mc;
	return (rows + g->s->mr - 1) / g->s->mr * g->s->mr;
}

/* Rows of a block's planes, and as many behind them as the line of a last tile's last place reads. */
static int64_t rows_of(const tsr_engine *g)
{
	int64_t rows = tsr_planes_rows(&g->planes, room_of(g)) + 2 * g->planes.h.step + g->planes.h.span;
	return (rows + LINE - 1) / LINE * LINE;
}

int64_t tsr_planes_bytes(const tsr_engine *g)
{
	const tsr_planes *p = &g->planes;
	int64_t bytes = (LINE + 2 * rows_of(g)) * 4 + (tsr_planes_rows(p, room_of(g)) + 2 * p->h.step) * row_of(p) + p->behind * place_of(p) + THIRDS * third_of(p);
	return (bytes + 255) / 128 * 128;
}

/* A tile's sums; before the block's first row and behind its last one what else their tiles have computed, and a row that is no result. */
int64_t tsr_planes_sums_bytes(const tsr_engine *g) { return (LANES + SPARE + TILE) * (int64_t)g->s->nr * 4; }

LLVMValueRef tsr_planes_sums(tsr_engine *g, LLVMValueRef room) { return tsr_kit_at(&g->k, room, tsr_kit_int(&g->k, LANES * (int64_t)g->s->nr)); }

/* ---- a block's planes ---------------------------------------------------------------------------------------------------- */

/* Its first row's image, and row of the images' planes, one behind the other; where it says whether any row is odd, which of them are, and which lines of results that begin there; and room for a row's thirds. */
typedef struct block { tsr_engine *g; const tsr_planes *p; LLVMValueRef image, first, any, rows, lines, line, at; } block;

static LLVMValueRef by(tsr_kit *k, LLVMValueRef x, int64_t n, LLVMValueRef *rest)
{
	LLVMValueRef q = LLVMBuildUDiv(k->b, x, tsr_kit_int(k, n), "");
	*rest = LLVMBuildNSWSub(k->b, x, tsr_kit_mul(k, q, tsr_kit_int(k, n)), "");
	return q;
}

/* Where the windows of the line begin that this row of the product is on, and its image. */
static LLVMValueRef plane_row(const block *x, LLVMValueRef row, LLVMValueRef *image)
{
	tsr_kit *k = &x->g->k;
	LLVMValueRef rest, column;
	*image = by(k, row, x->p->h.results * x->p->w.results, &rest);
	LLVMValueRef line = by(k, rest, x->p->w.results, &column);
	return tsr_kit_add(k, tsr_kit_mul(k, *image, tsr_kit_int(k, x->p->high)), tsr_kit_mul(k, line, tsr_kit_int(k, x->p->h.step)));
}

static LLVMValueRef further(tsr_kit *k, LLVMValueRef p, LLVMValueRef bytes) { return LLVMBuildGEP2(k->b, LLVMInt8TypeInContext(k->context), p, &bytes, 1, ""); }

static block block_of(tsr_engine *g, const tsr_block *bl)
{
	tsr_kit *k = &g->k;
	block x = { .g = g, .p = &g->planes, .any = bl->a };
	x.rows = tsr_kit_at(k, x.any, tsr_kit_int(k, LINE));
	x.lines = tsr_kit_at(k, x.rows, tsr_kit_int(k, rows_of(g)));
	x.line = tsr_kit_at(k, x.lines, tsr_kit_int(k, rows_of(g)));
	x.at = further(k, x.line, tsr_kit_int(k, THIRDS * third_of(x.p)));
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

static void apart_body(tsr_kit *given, const void *which, LLVMValueRef f)
{
	const apart *how = which;
	tsr_kit full = tsr_kit_of(given, TSR_PREC_F32, LLVMFloatTypeInContext(given->context), 4), pair = tsr_kit_of(given, TSR_PREC_I32, given->i32, 4), *k = &full;
	LLVMTypeRef halves = LLVMVectorType(LLVMInt16TypeInContext(k->context), LANES);
	LLVMValueRef seen = LLVMConstNull(full.vec), two[2], third[THIRDS], count = LLVMGetParam(f, APART_COUNT), each = tsr_kit_int(k, how->runs ? LANES : DEPTHS);
	tsr_carried c;
	tsr_carried_begin(k, &c, 1, LLVMBuildUDiv(k->b, tsr_kit_add(k, count, tsr_kit_int(k, LANES - 1)), each, ""), &seen);
	LLVMValueRef from = tsr_kit_at(k, LLVMGetParam(f, APART_FROM), tsr_kit_mul(k, c.i, each));
	if (how->runs) {
		two[0] = tsr_kit_load(k, full.vec, from, tsr_kit_mask(k, LLVMBuildNSWSub(k->b, count, tsr_kit_mul(k, c.i, each), ""), 0));
		tsr_thirds_of(&full, &pair, two[0], how->odd, third, &seen);
	} else {
		for (uint32_t i = 0; i < 2; i++)
			two[i] = tsr_kit_load(k, full.vec, tsr_kit_at(k, from, tsr_kit_int(k, i * LANES)), NULL);
		tsr_thirds_pair(&full, &pair, two, how->odd, third, &seen);
	}
	for (uint32_t t = 0; t < THIRDS; t++) {
		if (how->runs)
			third[t] = LLVMBuildTrunc(k->b, LLVMBuildLShr(k->b, LLVMBuildBitCast(k->b, third[t], pair.vec, ""), tsr_kit_splat(&pair, LLVMConstInt(k->i32, 16, false)), ""), halves, "");
		LLVMSetAlignment(LLVMBuildStore(k->b, third[t], goes_to(k, f, c.i, how->runs ? LANES * 2 : GROUP * 4, t)), how->runs ? 2 : 4);
	}
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
	LLVMValueRef arg[APART_PARAMS] = { from, to, tsr_kit_int(k, x->p->inside * x->p->channels), head, tsr_kit_int(k, x->p->runs ? third_of(x->p) : LANES * 4) };
	LLVMBuildCall2(k->b, LLVMGlobalGetValueType(f), f, arg, APART_PARAMS, "");
}

/* So many bytes from one on. */
static void clear(tsr_kit *k, LLVMValueRef row, int64_t from, int64_t bytes)
{
	if (bytes)
		LLVMBuildMemSet(k->b, further(k, row, tsr_kit_int(k, from)), LLVMConstInt(LLVMInt8TypeInContext(k->context), 0, false), tsr_kit_int(k, bytes), TSR_LINE);
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
		LLVMValueRef here;
		image = by(k, image, m->loop[i].extent.k, &here);
		g->e->syms[m->loop[i].sym] = here;
	}
	at = tsr_emit_address(g->e, v->load.buffer, index);
	for (uint32_t i = 0; i < m->nloops; i++)
		g->e->syms[m->loop[i].sym] = stood[i];
	return at;
}

/* void windows(from, to, third, step, count, steps): of so many places so many steps of each third, which begin a step further from one to the next. */
enum { WINDOWS_FROM, WINDOWS_TO, WINDOWS_THIRD, WINDOWS_STEP, WINDOWS_COUNT, WINDOWS_STEPS, WINDOWS_PARAMS };

static void windows_body(tsr_kit *given, const void *which, LLVMValueRef f)
{
	(void)which;
	tsr_kit pair = tsr_kit_of(given, TSR_PREC_I32, given->i32, 4), *k = &pair;
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), steps = LLVMGetParam(f, WINDOWS_STEPS);
	tsr_count c = tsr_count_begin(k, zero, LLVMGetParam(f, WINDOWS_COUNT), one), s = tsr_count_begin(k, zero, steps, one);
	LLVMValueRef from = tsr_kit_add(k, tsr_kit_mul(k, c.i, LLVMGetParam(f, WINDOWS_STEP)), tsr_kit_mul(k, s.i, tsr_kit_int(k, DEPTHS * 2)));
	LLVMValueRef to = tsr_kit_mul(k, tsr_kit_add(k, tsr_kit_mul(k, c.i, steps), s.i), tsr_kit_int(k, GROUP * 4));
	for (uint32_t t = 0; t < THIRDS; t++) {
		LLVMValueRef of_third = tsr_kit_add(k, from, tsr_kit_mul(k, LLVMGetParam(f, WINDOWS_THIRD), tsr_kit_int(k, t)));
		LLVMValueRef v = LLVMBuildLoad2(k->b, k->vec, further(k, LLVMGetParam(f, WINDOWS_FROM), of_third), "");
		LLVMSetAlignment(v, 2);
		tsr_kit_store(k, v, further(k, LLVMGetParam(f, WINDOWS_TO), tsr_kit_add(k, to, tsr_kit_int(k, t * LANES * 4))), NULL);
	}
	tsr_count_end(k, &s);
	tsr_count_end(k, &c);
	LLVMBuildRetVoid(k->b);
}

/* The row's places, of its thirds. */
static void windows(const block *x, LLVMValueRef to)
{
	tsr_kit *k = &x->g->k;
	const tsr_planes *p = x->p;
	LLVMTypeRef params[WINDOWS_PARAMS] = { k->ptr, k->ptr, k->i64, k->i64, k->i64, k->i64 };
	LLVMValueRef f = tsr_kit_named(k, TSR_TILE_PREFIX "thirds.windows", params, WINDOWS_PARAMS, WINDOWS_THIRD, windows_body, NULL);
	LLVMValueRef arg[WINDOWS_PARAMS] = { x->line, to, tsr_kit_int(k, third_of(p)), tsr_kit_int(k, p->each * p->channels * 2), tsr_kit_int(k, p->wide), tsr_kit_int(k, (p->run + DEPTHS - 1) / DEPTHS) };
	LLVMBuildCall2(k->b, LLVMGlobalGetValueType(f), f, arg, WINDOWS_PARAMS, "");
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

/* Row `c` of the planes. */
static void plane(const block *x, LLVMValueRef c, bool odd)
{
	tsr_kit *k = &x->g->k;
	const tsr_planes *p = x->p;
	int64_t left = p->w.least < 0 ? -p->w.least : 0, right = p->pixels - left - p->inside, pixel = p->runs ? p->channels * 2 : place_of(p);
	LLVMValueRef high, image = by(k, tsr_kit_add(k, x->first, c), p->high, &high), to = further(k, x->at, tsr_kit_mul(k, c, tsr_kit_int(k, row_of(p))));
	LLVMValueRef h = tsr_kit_add(k, high, tsr_kit_int(k, p->h.axis == TSR_NONE ? 0 : p->h.least)), inside = LLVMBuildICmp(k->b, LLVMIntULT, h, tsr_kit_int(k, p->h.size), "");
	LLVMValueRef row = p->runs ? x->line : to;
	tsr_guard some = tsr_guard_begin(k, inside);
	clear(k, row, 0, p->runs ? THIRDS * third_of(p) : left * pixel);
	take_apart(x, numbers_at(x, image, h), further(k, row, tsr_kit_int(k, left * pixel)), tsr_kit_at(k, x->rows, c), odd);
	clear(k, row, (left + p->inside) * pixel, p->runs ? 0 : right * pixel);
	if (p->runs)
		windows(x, to);
	tsr_guard_end(k, some);
	tsr_guard none = tsr_guard_begin(k, LLVMBuildNot(k->b, inside, ""));
	clear(k, to, 0, row_of(p));
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
	for (int64_t i = 0; i < x->p->h.span; i++)
		some = LLVMBuildOr(k->b, some, says(k, tsr_kit_at(k, x->rows, tsr_kit_add(k, c.i, tsr_kit_int(k, i)))), "");
	LLVMBuildStore(k->b, some, tsr_kit_at(k, x->lines, c.i));
	tsr_guard again = tsr_guard_begin(k, is_odd(k, says(k, tsr_kit_at(k, x->rows, c.i))));
	plane(x, c.i, true);
	tsr_guard_end(k, again);
	tsr_count_end(k, &c);
}

void tsr_planes_pack(tsr_engine *g, const tsr_block *bl)
{
	tsr_kit *k = &g->k;
	block x = block_of(g, bl);
	LLVMValueRef image, last = tsr_kit_add(k, bl->m, LLVMBuildNSWSub(k->b, bl->rows, tsr_kit_int(k, 1), ""));
	LLVMValueRef count = LLVMBuildNSWSub(k->b, tsr_kit_add(k, plane_row(&x, last, &image), tsr_kit_int(k, x.p->h.span)), x.first, "");
	clear(k, x.any, 0, (LINE + 2 * rows_of(g)) * 4);
	tsr_count c = tsr_count_begin(k, tsr_kit_int(k, 0), count, tsr_kit_int(k, 1));
	plane(&x, c.i, false);
	LLVMBuildStore(k->b, LLVMBuildOr(k->b, says(k, x.any), says(k, tsr_kit_at(k, x.rows, c.i)), ""), x.any);
	tsr_count_end(k, &c);
	tsr_guard some = tsr_guard_begin(k, is_odd(k, says(k, x.any)));
	odd_rows(&x, count);
	tsr_guard_end(k, some);
}

/* ---- tiles --------------------------------------------------------------------------------------------------------------- */

/* Of each step in how many bytes its depths lie from where a place's first window begins, and how many there are; of the last one once more, which is asked for. */
static LLVMValueRef taps_of(const block *x)
{
	tsr_kit *k = &x->g->k;
	const tsr_walks *along = &x->g->walks[TSR_CLASS_K];
	const tsr_planes *p = x->p;
	const tsr_lin *index = p->value->load.index, *h = p->h.axis == TSR_NONE ? NULL : &index[p->h.axis], *w = &index[p->w.axis];
	int64_t runs = p->taps * p->channels / p->run, each = (p->run + DEPTHS - 1) / DEPTHS, steps = runs * each;
	LLVMValueRef *at = TSR_NEW_N(x->g->e->tc->arena, LLVMValueRef, 2 * (steps + 1));
	for (int64_t step = 0; step < steps; step++) {
		int64_t depth = step % each * DEPTHS, rest = step / each * (p->run / p->channels), high = h ? h->offset + h->base.k - p->h.least : 0, column = w->offset + w->base.k - p->w.least;
		for (uint32_t i = along->nloops - 1; i-- > 0; rest /= along->loop[i].extent.k) {
			int64_t here = rest % along->loop[i].extent.k;
			high += h ? here * tsr_lin_coef(h, along->loop[i].sym) : 0;
			column += here * tsr_lin_coef(w, along->loop[i].sym);
		}
		at[2 * step] = tsr_kit_int(k, high * row_of(p) + column * place_of(p) + depth / DEPTHS * GROUP * 4);
		at[2 * step + 1] = tsr_kit_int(k, p->run - depth < DEPTHS ? p->run - depth : DEPTHS);
	}
	memcpy(at + 2 * steps, at + 2 * (steps - 1), 2 * sizeof *at);
	LLVMValueRef value = LLVMConstArray2(k->i64, at, 2 * ((uint64_t)steps + 1)), table = LLVMAddGlobal(k->module, LLVMTypeOf(value), "taps");
	LLVMSetInitializer(table, value);
	LLVMSetGlobalConstant(table, true);
	LLVMSetLinkage(table, LLVMInternalLinkage);
	return table;
}

/* Bytes from the image's first row of planes to a place. */
static LLVMValueRef bytes_to(const block *x, LLVMValueRef place)
{
	tsr_kit *k = &x->g->k;
	LLVMValueRef column, line = by(k, place, x->p->places, &column);
	return tsr_kit_add(k, tsr_kit_mul(k, line, tsr_kit_int(k, x->p->h.step * row_of(x->p))), tsr_kit_mul(k, column, tsr_kit_int(k, x->p->step * place_of(x->p))));
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
	LLVMValueRef arg[RESULTS_PARAMS] = { tile, at->to, tsr_kit_at(k, x->lines, at->line), at->column, tsr_kit_int(k, x->p->w.results), tsr_kit_int(k, x->p->places), tsr_kit_int(k, x->p->h.step), at->all };
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
	LLVMValueRef one = tsr_kit_int(k, 1), places = tsr_kit_int(k, x->p->places), column[2], line[2] = { by(k, from, x->p->w.results, &column[0]), by(k, LLVMBuildNSWSub(k->b, until, one, ""), x->p->w.results, &column[1]) };
	span out = { tsr_kit_add(k, tsr_kit_mul(k, line[0], places), column[0]), tsr_kit_add(k, tsr_kit_add(k, tsr_kit_mul(k, line[1], places), column[1]), one) };
	if (x->p->places % LANES == 0)      /* a register holds no places of two rows */
		out.from = LLVMBuildAnd(k->b, out.from, tsr_kit_int(k, -LANES), "");
	return out;
}

void tsr_planes_column(tsr_engine *g, const tsr_block *bl, LLVMValueRef b, uint32_t vecs)
{
	tsr_kit *k = &g->k;
	block x = block_of(g, bl);
	const tsr_planes *p = x.p;
	LLVMValueRef one = tsr_kit_int(k, 1), all = tsr_kit_int(k, p->h.results * p->w.results), taps = taps_of(&x), none = LLVMConstInt(k->i1, 0, false);
	LLVMValueRef end = tsr_kit_add(k, bl->m, bl->rows), images = LLVMBuildUDiv(k->b, tsr_kit_add(k, end, LLVMBuildNSWSub(k->b, all, one, "")), all, "");
	LLVMValueRef tile = tsr_kit_at(k, g->sums, tsr_kit_int(k, (room_of(g) + SPARE) * TILE)), of_b = LLVMBuildZExt(k->b, tsr_thirds_panel_odd(k, b, bl->b_each), k->i32, "");
	LLVMValueRef odd = is_odd(k, LLVMBuildOr(k->b, says(k, x.any), of_b, "")), row = tsr_kit_int(k, p->step * place_of(p));
	tsr_count i = tsr_count_begin(k, x.image, images, one);
	LLVMValueRef before = tsr_kit_mul(k, i.i, all), high = LLVMBuildNSWSub(k->b, tsr_kit_mul(k, i.i, tsr_kit_int(k, p->high)), x.first, "");
	span s = span_of(&x, tsr_kit_max(k, tsr_kit_int(k, 0), LLVMBuildNSWSub(k->b, bl->m, before, "")), tsr_kit_min(k, all, LLVMBuildNSWSub(k->b, end, before, "")));
	tsr_count c = tsr_count_begin(k, s.from, s.to, tsr_kit_int(k, TILE));
	LLVMValueRef second = tsr_kit_add(k, c.i, tsr_kit_int(k, LANES)), planes = tsr_kit_mul(k, high, tsr_kit_int(k, row_of(p)));
	LLVMValueRef arg[TSR_MATRIX_PLANE_PARAMS] = { further(k, x.at, tsr_kit_add(k, planes, bytes_to(&x, c.i))), b, tile, row, tsr_kit_int(k, p->depth / DEPTHS), none, further(k, x.at, tsr_kit_add(k, planes, bytes_to(&x, second))), taps };
	product(g, LLVMBuildICmp(k->b, LLVMIntSLT, second, s.to, ""), vecs > 1, arg);
	place at = { .all = of_b };
	LLVMValueRef line = by(k, c.i, p->places, &at.column), results = tsr_kit_add(k, tsr_kit_mul(k, line, tsr_kit_int(k, p->w.results)), tsr_kit_min(k, at.column, tsr_kit_int(k, p->w.results)));
	at.line = tsr_kit_add(k, high, tsr_kit_mul(k, line, tsr_kit_int(k, p->h.step)));
	at.to = tsr_kit_at(k, g->sums, tsr_kit_mul(k, tsr_kit_add(k, results, LLVMBuildNSWSub(k->b, before, bl->m, "")), tsr_kit_int(k, TILE)));
	keep(&x, tile, &at, false);
	tsr_guard some = tsr_guard_begin(k, odd);
	tsr_matrix_of_planes(g, true, true, true, arg);
	keep(&x, tile, &at, true);
	tsr_guard_end(k, some);
	tsr_count_end(k, &c);
	tsr_count_end(k, &i);
}
