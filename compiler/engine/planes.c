/* Windows by matrix registers, from planes (opt/planes.c): of each place of an image's row its channels in thirds,
 *
 *     [row][place][32 channels][third][16 pairs]
 *
 * as panels of A have them, pairs being 16 channels apart.  A register of A is sixteen places of the plane, one stride apart, for each tap somewhere else: so a number is taken apart once, where panels have it as
 * often as there are taps.  What is padding is 0.
 *
 * Rows of a block begin anywhere in an image, and may end in another.  Of each image its places are computed from the first that is a result to the last, those between two rows, too; sums of these are overwritten by
 * the next result's.  Rows of planes are odd, as panels are (thirds.c), and so are the lines of results that read them, however rows are divided into blocks: what says so lies before the planes. */
#include "inner.h"
#include "private.h"

enum { LANES = 16, THIRDS = 3, TILE = 2 * LANES, DEPTHS = 2 * LANES, GROUP = THIRDS * LANES, LINE = TSR_LINE / 4, SPARE = TILE + 1 };

/* Pairs of a place; of a plane's row. */
static int64_t place_of(const tsr_planes *p) { return p->channels / DEPTHS * GROUP; }
static int64_t row_of(const tsr_planes *p) { return p->wide * place_of(p); }

static tsr_planes planes_of(const tsr_engine *g)
{
	tsr_contract_view v;
	tsr_planes p;
	tsr_contract_view_make(g->e->loops, g->c, &v);
	if (!tsr_planes_of(g->e->loops, g->c, &v, &p))
		tsr_bug("the windows of a contraction have no planes");
	return p;
}

static int64_t room_of(const tsr_engine *g)
{
	int64_t m = tsr_kit_known(g->cls[TSR_CLASS_M].count), rows = m < g->s->mc ? m : g->s->mc;
	return (rows + g->s->mr - 1) / g->s->mr * g->s->mr;
}

/* Rows of a block's planes, and as many behind them as the line of a last tile's last place reads. */
static int64_t rows_of(const tsr_engine *g, const tsr_planes *p)
{
	int64_t rows = tsr_planes_rows(p, room_of(g)) + 2 * p->h.step + p->h.span;
	return (rows + LINE - 1) / LINE * LINE;
}

int64_t tsr_planes_bytes(tsr_engine *g)
{
	tsr_planes p = planes_of(g);
	int64_t pairs = LINE + 2 * rows_of(g, &p) + tsr_planes_rows(&p, room_of(g)) * row_of(&p) + p.behind * place_of(&p);
	return (pairs * 4 + 255) / 128 * 128;
}

/* A tile's sums; before the block's first row and behind its last one what else their tiles have computed, and a row that is no result. */
int64_t tsr_planes_sums_bytes(const tsr_engine *g) { return (LANES + SPARE + TILE) * (int64_t)g->s->nr * 4; }

LLVMValueRef tsr_planes_sums(tsr_engine *g, LLVMValueRef room) { return tsr_kit_at(&g->k, room, tsr_kit_int(&g->k, LANES * (int64_t)g->s->nr)); }

/* ---- a block's planes ---------------------------------------------------------------------------------------------------- */

/* Its first row's image, and row of the images' planes, one behind the other; where it says whether any row is odd, which of them are, and which lines of results that begin there. */
typedef struct block { tsr_engine *g; tsr_planes p; LLVMValueRef image, first, any, rows, lines, at; } block;

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
	*image = by(k, row, x->p.h.results * x->p.w.results, &rest);
	LLVMValueRef line = by(k, rest, x->p.w.results, &column);
	return tsr_kit_add(k, tsr_kit_mul(k, *image, tsr_kit_int(k, x->p.high)), tsr_kit_mul(k, line, tsr_kit_int(k, x->p.h.step)));
}

static block block_of(tsr_engine *g, const tsr_block *bl)
{
	tsr_kit *k = &g->k;
	block x = { .g = g, .p = planes_of(g), .any = bl->a };
	x.rows = tsr_kit_at(k, x.any, tsr_kit_int(k, LINE));
	x.lines = tsr_kit_at(k, x.rows, tsr_kit_int(k, rows_of(g, &x.p)));
	x.at = tsr_kit_at(k, x.lines, tsr_kit_int(k, rows_of(g, &x.p)));
	x.first = plane_row(&x, bl->m, &x.image);
	return x;
}

/* void line(from, to, groups, head): so many groups of 32 numbers in thirds; head becomes 1 where some are odd. */
enum { LINE_FROM, LINE_TO, LINE_GROUPS, LINE_HEAD, LINE_PARAMS };

static void line_body(tsr_kit *given, const void *which, LLVMValueRef f)
{
	const bool *odd = which;
	tsr_kit full = tsr_kit_of(given, TSR_PREC_F32, LLVMFloatTypeInContext(given->context), 4), pair = tsr_kit_of(given, TSR_PREC_I32, given->i32, 4), *k = &full;
	LLVMValueRef seen = LLVMConstNull(full.vec), two[2], third[THIRDS];
	tsr_carried c;
	tsr_carried_begin(k, &c, 1, LLVMGetParam(f, LINE_GROUPS), &seen);
	LLVMValueRef from = tsr_kit_at(k, LLVMGetParam(f, LINE_FROM), tsr_kit_mul(k, c.i, tsr_kit_int(k, DEPTHS))), to = tsr_kit_at(k, LLVMGetParam(f, LINE_TO), tsr_kit_mul(k, c.i, tsr_kit_int(k, GROUP)));
	for (uint32_t i = 0; i < 2; i++)
		two[i] = tsr_kit_load(k, full.vec, tsr_kit_at(k, from, tsr_kit_int(k, i * LANES)), NULL);
	tsr_thirds_pair(&full, &pair, two, *odd, third, &seen);
	for (uint32_t t = 0; t < THIRDS; t++)
		tsr_kit_store(k, third[t], tsr_kit_at(k, to, tsr_kit_int(k, t * LANES)), NULL);
	tsr_carried_end(k, &c, 1, &seen);
	if (!*odd) {
		tsr_guard some = tsr_guard_begin(k, tsr_thirds_some_odd(k, seen));
		LLVMBuildStore(k->b, LLVMConstInt(k->i32, 1, false), LLVMGetParam(f, LINE_HEAD));
		tsr_guard_end(k, some);
	}
	LLVMBuildRetVoid(k->b);
}

static void take_apart(tsr_kit *k, LLVMValueRef from, LLVMValueRef to, int64_t groups, LLVMValueRef head, bool odd)
{
	LLVMTypeRef params[LINE_PARAMS] = { k->ptr, k->ptr, k->i64, k->ptr };
	LLVMValueRef f = tsr_kit_named(k, odd ? TSR_TILE_PREFIX "thirds.plane.odd" : TSR_TILE_PREFIX "thirds.plane", params, LINE_PARAMS, LINE_GROUPS, line_body, &odd);
	LLVMValueRef arg[LINE_PARAMS] = { from, to, tsr_kit_int(k, groups), head };
	LLVMBuildCall2(k->b, LLVMGlobalGetValueType(f), f, arg, LINE_PARAMS, "");
}

/* So many pairs from one on. */
static void clear(tsr_kit *k, LLVMValueRef row, int64_t from, int64_t pairs)
{
	if (pairs)
		LLVMBuildMemSet(k->b, tsr_kit_at(k, row, tsr_kit_int(k, from)), LLVMConstInt(LLVMInt8TypeInContext(k->context), 0, false), tsr_kit_int(k, pairs * 4), TSR_LINE);
}

/* Where the image's first row is, all loops of windows standing at 0. */
static LLVMValueRef image_at(const block *x, LLVMValueRef image)
{
	tsr_engine *g = x->g;
	const tsr_walks *m = &g->walks[TSR_CLASS_M];
	const tsr_expr *v = x->p.value;
	uint32_t rank = g->e->loops->buffers.at[v->load.buffer]->rank;
	tsr_lin *index = TSR_NEW_N(g->e->tc->arena, tsr_lin, rank + 1);
	for (uint32_t axis = 0; axis < rank; axis++)
		index[axis] = axis == x->p.w.axis || axis == x->p.h.axis ? tsr_lin_const(0) : v->load.index[axis];
	tsr_kit *k = &g->k;
	LLVMValueRef at, *stood = TSR_NEW_N(g->e->tc->arena, LLVMValueRef, m->nloops + 1);
	for (uint32_t i = 0; i < m->nloops; i++)
		stood[i] = g->e->syms[m->loop[i].sym];
	for (uint32_t i = m->nloops - (x->p.h.axis == TSR_NONE ? 1 : 2); i-- > 0;) {
		LLVMValueRef here;
		image = by(k, image, m->loop[i].extent.k, &here);
		g->e->syms[m->loop[i].sym] = here;
	}
	at = tsr_emit_address(g->e, v->load.buffer, index);
	for (uint32_t i = 0; i < m->nloops; i++)
		g->e->syms[m->loop[i].sym] = stood[i];
	return at;
}

/* Row `c` of the planes. */
static void plane(const block *x, LLVMValueRef c, bool odd)
{
	tsr_kit *k = &x->g->k;
	const tsr_planes *p = &x->p;
	int64_t place = place_of(p), left = p->w.least < 0 ? -p->w.least : 0, right = p->wide - left - p->inside, from = p->w.least > 0 ? p->w.least : 0;
	LLVMValueRef high, image = by(k, tsr_kit_add(k, x->first, c), p->high, &high), to = tsr_kit_at(k, x->at, tsr_kit_mul(k, c, tsr_kit_int(k, row_of(p))));
	LLVMValueRef h = tsr_kit_add(k, high, tsr_kit_int(k, p->h.axis == TSR_NONE ? 0 : p->h.least)), inside = LLVMBuildICmp(k->b, LLVMIntULT, h, tsr_kit_int(k, p->h.size), ""), row = h;
	const tsr_buffer *b = x->g->e->loops->buffers.at[p->value->load.buffer];
	for (uint32_t axis = p->h.axis == TSR_NONE ? b->rank : p->h.axis + 1; axis < b->rank; axis++)
		row = tsr_kit_mul(k, row, tsr_emit_size(x->g->e, b->dims[axis]));
	row = tsr_kit_add(k, p->h.axis == TSR_NONE ? tsr_kit_int(k, 0) : row, tsr_kit_int(k, from * p->channels));
	tsr_guard some = tsr_guard_begin(k, inside);
	clear(k, to, 0, left * place);
	take_apart(k, tsr_kit_at(k, image_at(x, image), row), tsr_kit_at(k, to, tsr_kit_int(k, left * place)), p->inside * p->channels / DEPTHS, tsr_kit_at(k, x->rows, c), odd);
	clear(k, to, (left + p->inside) * place, right * place);
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
	for (int64_t i = 0; i < x->p.h.span; i++)
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
	LLVMValueRef count = LLVMBuildNSWSub(k->b, tsr_kit_add(k, plane_row(&x, last, &image), tsr_kit_int(k, x.p.h.span)), x.first, "");
	clear(k, x.any, 0, LINE + 2 * rows_of(g, &x.p));
	tsr_count c = tsr_count_begin(k, tsr_kit_int(k, 0), count, tsr_kit_int(k, 1));
	plane(&x, c.i, false);
	LLVMBuildStore(k->b, LLVMBuildOr(k->b, says(k, x.any), says(k, tsr_kit_at(k, x.rows, c.i)), ""), x.any);
	tsr_count_end(k, &c);
	tsr_guard some = tsr_guard_begin(k, is_odd(k, says(k, x.any)));
	odd_rows(&x, count);
	tsr_guard_end(k, some);
}

/* ---- tiles --------------------------------------------------------------------------------------------------------------- */

/* Of each step how many pairs its depths are from where a place's first window begins; the last one's once more, which is asked for. */
static LLVMValueRef taps_of(const block *x)
{
	tsr_kit *k = &x->g->k;
	const tsr_walks *along = &x->g->walks[TSR_CLASS_K];
	const tsr_lin *index = x->p.value->load.index;
	int64_t groups = x->p.channels / DEPTHS, steps = x->p.taps * groups;
	LLVMValueRef *at = TSR_NEW_N(x->g->e->tc->arena, LLVMValueRef, steps + 1);
	for (int64_t tap = 0; tap < x->p.taps; tap++) {
		int64_t rest = tap, h = x->p.h.axis == TSR_NONE ? 0 : index[x->p.h.axis].offset + index[x->p.h.axis].base.k - x->p.h.least;
		int64_t w = index[x->p.w.axis].offset + index[x->p.w.axis].base.k - x->p.w.least;
		for (uint32_t i = along->nloops - 1; i-- > 0; rest /= along->loop[i].extent.k) {
			int64_t here = rest % along->loop[i].extent.k;
			h += x->p.h.axis == TSR_NONE ? 0 : here * tsr_lin_coef(&index[x->p.h.axis], along->loop[i].sym);
			w += here * tsr_lin_coef(&index[x->p.w.axis], along->loop[i].sym);
		}
		for (int64_t group = 0; group < groups; group++)
			at[tap * groups + group] = tsr_kit_int(k, (h * x->p.wide + w) * place_of(&x->p) + group * GROUP);
	}
	at[steps] = at[steps - 1];
	LLVMValueRef value = LLVMConstArray2(k->i64, at, (uint64_t)steps + 1), table = LLVMAddGlobal(k->module, LLVMTypeOf(value), "taps");
	LLVMSetInitializer(table, value);
	LLVMSetGlobalConstant(table, true);
	LLVMSetLinkage(table, LLVMInternalLinkage);
	return table;
}

/* Pairs from the image's first row of planes to a place. */
static LLVMValueRef pairs_to(const block *x, LLVMValueRef place)
{
	tsr_kit *k = &x->g->k;
	LLVMValueRef column, line = by(k, place, x->p.places, &column);
	return tsr_kit_add(k, tsr_kit_mul(k, line, tsr_kit_int(k, x->p.h.step * row_of(&x->p))), tsr_kit_mul(k, column, tsr_kit_int(k, x->p.w.step * place_of(&x->p))));
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
	LLVMValueRef arg[RESULTS_PARAMS] = { tile, at->to, tsr_kit_at(k, x->lines, at->line), at->column, tsr_kit_int(k, x->p.w.results), tsr_kit_int(k, x->p.places), tsr_kit_int(k, x->p.h.step), at->all };
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
	LLVMValueRef one = tsr_kit_int(k, 1), places = tsr_kit_int(k, x->p.places), column[2], line[2] = { by(k, from, x->p.w.results, &column[0]), by(k, LLVMBuildNSWSub(k->b, until, one, ""), x->p.w.results, &column[1]) };
	span out = { tsr_kit_add(k, tsr_kit_mul(k, line[0], places), column[0]), tsr_kit_add(k, tsr_kit_add(k, tsr_kit_mul(k, line[1], places), column[1]), one) };
	if (x->p.places % LANES == 0)      /* a register holds no places of two rows */
		out.from = LLVMBuildAnd(k->b, out.from, tsr_kit_int(k, -LANES), "");
	return out;
}

void tsr_planes_column(tsr_engine *g, const tsr_block *bl, LLVMValueRef b, uint32_t vecs)
{
	tsr_kit *k = &g->k;
	block x = block_of(g, bl);
	const tsr_planes *p = &x.p;
	LLVMValueRef one = tsr_kit_int(k, 1), all = tsr_kit_int(k, p->h.results * p->w.results), taps = taps_of(&x), none = LLVMConstInt(k->i1, 0, false);
	LLVMValueRef end = tsr_kit_add(k, bl->m, bl->rows), images = LLVMBuildUDiv(k->b, tsr_kit_add(k, end, LLVMBuildNSWSub(k->b, all, one, "")), all, "");
	LLVMValueRef tile = tsr_kit_at(k, g->sums, tsr_kit_int(k, (room_of(g) + SPARE) * TILE)), of_b = LLVMBuildZExt(k->b, tsr_thirds_panel_odd(k, b, bl->b_each), k->i32, "");
	LLVMValueRef odd = is_odd(k, LLVMBuildOr(k->b, says(k, x.any), of_b, "")), row = tsr_kit_int(k, p->w.step * place_of(p) * 4);
	tsr_count i = tsr_count_begin(k, x.image, images, one);
	LLVMValueRef before = tsr_kit_mul(k, i.i, all), high = LLVMBuildNSWSub(k->b, tsr_kit_mul(k, i.i, tsr_kit_int(k, p->high)), x.first, "");
	span s = span_of(&x, tsr_kit_max(k, tsr_kit_int(k, 0), LLVMBuildNSWSub(k->b, bl->m, before, "")), tsr_kit_min(k, all, LLVMBuildNSWSub(k->b, end, before, "")));
	tsr_count c = tsr_count_begin(k, s.from, s.to, tsr_kit_int(k, TILE));
	LLVMValueRef second = tsr_kit_add(k, c.i, tsr_kit_int(k, LANES)), planes = tsr_kit_mul(k, high, tsr_kit_int(k, row_of(p)));
	LLVMValueRef arg[TSR_MATRIX_PLANE_PARAMS] = { tsr_kit_at(k, x.at, tsr_kit_add(k, planes, pairs_to(&x, c.i))), b, tile, row, tsr_matrix_steps(k, bl->depth), none, tsr_kit_at(k, x.at, tsr_kit_add(k, planes, pairs_to(&x, second))), taps };
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
