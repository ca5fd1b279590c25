/* Packing an operand that lies side by side along another loop than the panel's positions: blocks of lanes x lanes elements are turned in
 * registers, so that whole cache lines are read and vectors are written.
 *
 * What lies side by side is a loop of the depths, anywhere among them (tsr_pack_turned), or one of the positions that is not the last
 * (tsr_pack_crossed): then lines run across panels, and a block of panels is filled at once. */
#include "kit.h"

enum { AHEAD = 24, TOGETHER = 16 };        /* lines that are asked for before they are turned; rows that are read at once, of more than which a processor keeps no count */

/* v[i] = element from + i of each of the rows, of which `mask` are read. */
static void turned(tsr_kit *k, LLVMValueRef rows, LLVMValueRef from, LLVMValueRef mask, LLVMValueRef *v)
{
	for (uint32_t i = 0; i < k->lanes; i++) {
		LLVMValueRef at = tsr_kit_int(k, i), row = LLVMBuildLoad2(k->b, k->ptr, LLVMBuildInBoundsGEP2(k->b, k->ptr, rows, &at, 1, ""), "");
		v[i] = tsr_kit_load(k, k->vec, tsr_kit_at(k, row, from), mask);
	}
	tsr_weave(k, v, k->lanes);
}

static LLVMValueRef both(tsr_kit *k, LLVMValueRef x, LLVMValueRef y)
{
	LLVMValueRef lanes = tsr_kit_int(k, k->lanes);
	return LLVMBuildAnd(k->b, LLVMBuildICmp(k->b, LLVMIntEQ, x, lanes, ""), LLVMBuildICmp(k->b, LLVMIntEQ, y, lanes, ""), "");
}

/* Squares that make a line: stores around the caches are of whole lines, one after the other, since a processor gathers few of them at a time. */
uint32_t tsr_turn_squares(const tsr_kit *k, bool around)
{
	uint32_t vector = k->lanes * k->elem_bytes;
	return around && vector < TSR_LINE ? TSR_LINE / vector : 1;
}

static LLVMValueRef next_rows(tsr_kit *k, LLVMValueRef rows, uint32_t square)
{
	LLVMValueRef at = tsr_kit_int(k, square * k->lanes);
	return square ? LLVMBuildInBoundsGEP2(k->b, k->ptr, rows, &at, 1, "") : rows;
}

static void turn_body(tsr_kit *k, const void *around, LLVMValueRef f)
{
	enum { MOST = 64 };
	uint32_t squares = tsr_turn_squares(k, *(const bool *)around);
	LLVMValueRef rows = LLVMGetParam(f, TSR_TURN_ROWS), to = LLVMGetParam(f, TSR_TURN_TO), from = LLVMGetParam(f, TSR_TURN_FROM), v[MOST];
	LLVMValueRef step = LLVMGetParam(f, TSR_TURN_STEP), width = LLVMGetParam(f, TSR_TURN_WIDTH), count = LLVMGetParam(f, TSR_TURN_COUNT);
	LLVMBasicBlockRef full = LLVMAppendBasicBlockInContext(k->context, f, "full"), part = LLVMAppendBasicBlockInContext(k->context, f, "part");
	LLVMBuildCondBr(k->b, both(k, width, count), full, part);
	LLVMPositionBuilderAtEnd(k->b, full);
	for (uint32_t j = 0; j < squares; j++)
		turned(k, next_rows(k, rows, j), from, NULL, v + j * k->lanes);
	for (uint32_t i = 0; i < k->lanes; i++)
		for (uint32_t j = 0; j < squares; j++) {
			LLVMValueRef at = tsr_kit_at(k, to, tsr_kit_add(k, tsr_kit_mul(k, step, tsr_kit_int(k, i)), tsr_kit_int(k, j * k->lanes)));
			if (*(const bool *)around)
				tsr_kit_store_around(k, v[i + j * k->lanes], at);
			else
				tsr_kit_store(k, v[i], at, NULL);
		}
	LLVMBuildRetVoid(k->b);
	LLVMPositionBuilderAtEnd(k->b, part);
	LLVMValueRef some = tsr_kit_mask(k, width, 0);
	for (uint32_t j = 0; j < squares; j++) {
		turned(k, next_rows(k, rows, j), from, tsr_kit_mask(k, count, 0), v);
		for (uint32_t i = 0; i < k->lanes; i++) {
			tsr_guard in = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSLT, tsr_kit_int(k, i), count, ""));
			tsr_kit_store(k, v[i], tsr_kit_at(k, to, tsr_kit_add(k, tsr_kit_mul(k, step, tsr_kit_int(k, i)), tsr_kit_int(k, j * k->lanes))), some);
			tsr_guard_end(k, in);
		}
	}
	LLVMBuildRetVoid(k->b);
}

/* void cross(rows, to, from, place, far, width, count, total, panel): the element from + i of the row of a lane belongs at the position
 * p = place + i * far + lane, where 0 <= p < total: to[p / W * panel + p % W], panels being W wide. */
enum { CROSS_ROWS, CROSS_TO, CROSS_FROM, CROSS_PLACE, CROSS_FAR, CROSS_WIDTH, CROSS_COUNT, CROSS_TOTAL, CROSS_PANEL, CROSS_PARAMS };
/* usual: elements of a row that mostly come at once; depths: of so many, each `later` behind the one before in a panel, they lie one after the other; aligned: no vector lies
 * in two panels; whole: all have all lanes; even: `far` is some whole panels. */
typedef struct crossing { uint32_t panel_width, usual, depths; int64_t later; bool aligned, whole, even; } crossing;

static LLVMValueRef most(tsr_kit *k, LLVMValueRef x, LLVMValueRef y)
{
	return LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntSGT, x, y, ""), x, y, "");
}

/* One vector: its lanes from position p on. */
static void cross_store(tsr_kit *k, const crossing *c, LLVMValueRef f, LLVMValueRef to, LLVMValueRef p, LLVMValueRef value)
{
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), w = tsr_kit_int(k, c->panel_width);
	LLVMValueRef first = most(k, zero, LLVMBuildNSWSub(k->b, zero, p, ""));
	LLVMValueRef limit = tsr_kit_min(k, LLVMGetParam(f, CROSS_WIDTH), LLVMBuildNSWSub(k->b, LLVMGetParam(f, CROSS_TOTAL), p, ""));
	LLVMValueRef begin = LLVMBuildUDiv(k->b, most(k, p, zero), w, ""), end = tsr_kit_add(k, begin, one);
	if (c->aligned)
		end = LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntSLT, first, limit, ""), end, begin, "");
	else        /* the panel behind the last lane's */
		end = LLVMBuildUDiv(k->b, most(k, tsr_kit_add(k, tsr_kit_add(k, p, limit), tsr_kit_int(k, (int64_t)c->panel_width - 1)), zero), w, "");
	tsr_count panel = tsr_count_begin(k, begin, end, one);
	LLVMValueRef shift = LLVMBuildNSWSub(k->b, p, tsr_kit_mul(k, panel.i, w), "");      /* of lane 0 in this panel */
	LLVMValueRef from = most(k, first, LLVMBuildNSWSub(k->b, zero, shift, "")), past = tsr_kit_min(k, limit, LLVMBuildNSWSub(k->b, w, shift, ""));
	LLVMValueRef mask = LLVMBuildAnd(k->b, tsr_kit_mask(k, past, 0), LLVMBuildNot(k->b, tsr_kit_mask(k, from, 0), ""), "");
	LLVMValueRef at = tsr_kit_add(k, tsr_kit_mul(k, panel.i, LLVMGetParam(f, CROSS_PANEL)), shift);
	tsr_kit_store(k, value, LLVMBuildGEP2(k->b, k->elem, to, &at, 1, ""), mask);
	tsr_count_end(k, &panel);
}

/* What is `further` in each panel, `further` a constant. */
static LLVMValueRef further_on(tsr_kit *k, LLVMValueRef to, int64_t further) { return further ? tsr_kit_at(k, to, tsr_kit_int(k, further)) : to; }

/* Whole vectors, each some whole panels behind the one before. */
static void cross_evenly(tsr_kit *k, LLVMValueRef f, const crossing *c, LLVMValueRef w, LLVMValueRef *v)
{
	LLVMValueRef place = LLVMGetParam(f, CROSS_PLACE), panel = LLVMGetParam(f, CROSS_PANEL), begin = LLVMBuildUDiv(k->b, place, w, "");
	LLVMValueRef step = tsr_kit_mul(k, LLVMBuildUDiv(k->b, LLVMGetParam(f, CROSS_FAR), w, ""), panel);
	LLVMValueRef to = tsr_kit_add(k, tsr_kit_mul(k, begin, panel), LLVMBuildNSWSub(k->b, place, tsr_kit_mul(k, begin, w), ""));
	for (uint32_t i = 0; i < c->usual * c->depths; i++) {
		LLVMValueRef from = further_on(k, LLVMGetParam(f, CROSS_TO), i / c->usual * c->later);
		tsr_kit_store(k, v[i], tsr_kit_at(k, from, tsr_kit_add(k, to, tsr_kit_mul(k, step, tsr_kit_int(k, i % c->usual)))), NULL);
	}
}

/* As many elements of each row as usual, of all its depths. */
static void cross_usual(tsr_kit *k, const crossing *c, LLVMValueRef f)
{
	LLVMValueRef v[64], place = LLVMGetParam(f, CROSS_PLACE), far = LLVMGetParam(f, CROSS_FAR), w = tsr_kit_int(k, c->panel_width);
	uint32_t all = c->usual * c->depths;
	turned(k, LLVMGetParam(f, CROSS_ROWS), LLVMGetParam(f, CROSS_FROM), all < k->lanes ? tsr_kit_mask(k, tsr_kit_int(k, all), 0) : NULL, v);
	LLVMValueRef some = c->whole ? NULL : tsr_kit_mask(k, LLVMGetParam(f, CROSS_WIDTH), 0);
	if (c->even)
		cross_evenly(k, f, c, w, v);
	for (uint32_t i = 0; !c->even && i < all; i++) {
		LLVMValueRef p = tsr_kit_add(k, place, tsr_kit_mul(k, far, tsr_kit_int(k, i % c->usual))), panel = LLVMBuildUDiv(k->b, p, w, "");
		LLVMValueRef at = tsr_kit_add(k, tsr_kit_mul(k, panel, LLVMGetParam(f, CROSS_PANEL)), LLVMBuildNSWSub(k->b, p, tsr_kit_mul(k, panel, w), ""));
		tsr_kit_store(k, v[i], tsr_kit_at(k, further_on(k, LLVMGetParam(f, CROSS_TO), i / c->usual * c->later), at), some);
	}
}

static void cross_body(tsr_kit *k, const void *user, LLVMValueRef f)
{
	const crossing *c = user;
	LLVMValueRef count = LLVMGetParam(f, CROSS_COUNT), v[64], place = LLVMGetParam(f, CROSS_PLACE), far = LLVMGetParam(f, CROSS_FAR);
	LLVMValueRef last = tsr_kit_add(k, place, tsr_kit_mul(k, far, tsr_kit_int(k, c->usual - 1)));
	LLVMBasicBlockRef full = LLVMAppendBasicBlockInContext(k->context, f, "full"), part = LLVMAppendBasicBlockInContext(k->context, f, "part");
	LLVMValueRef width = LLVMGetParam(f, CROSS_WIDTH), inside = LLVMBuildICmp(k->b, LLVMIntSLE, tsr_kit_add(k, last, width), LLVMGetParam(f, CROSS_TOTAL), "");
	inside = LLVMBuildAnd(k->b, inside, LLVMBuildICmp(k->b, LLVMIntSGE, place, tsr_kit_int(k, 0), ""), "");
	inside = LLVMBuildAnd(k->b, inside, LLVMBuildICmp(k->b, LLVMIntEQ, count, tsr_kit_int(k, c->usual), ""), "");
	LLVMBuildCondBr(k->b, c->aligned ? inside : LLVMConstInt(k->i1, 0, false), full, part);
	LLVMPositionBuilderAtEnd(k->b, full);
	cross_usual(k, c, f);
	LLVMBuildRetVoid(k->b);
	LLVMPositionBuilderAtEnd(k->b, part);
	for (uint32_t d = 0; d < c->depths; d++) {
		LLVMValueRef from = LLVMGetParam(f, CROSS_FROM), to = further_on(k, LLVMGetParam(f, CROSS_TO), d * c->later);
		turned(k, LLVMGetParam(f, CROSS_ROWS), d ? tsr_kit_add(k, from, tsr_kit_int(k, d * c->usual)) : from, tsr_kit_mask(k, count, 0), v);
		for (uint32_t i = 0; i < (c->depths > 1 ? c->usual : k->lanes); i++) {
			tsr_guard in = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSLT, tsr_kit_int(k, i), count, ""));
			cross_store(k, c, f, to, tsr_kit_add(k, place, tsr_kit_mul(k, far, tsr_kit_int(k, i))), v[i]);
			tsr_guard_end(k, in);
		}
	}
	LLVMBuildRetVoid(k->b);
}

LLVMValueRef tsr_turn_function(tsr_kit *k, bool around)
{
	char name[60];
	snprintf(name, sizeof name, TSR_TILE_PREFIX "turn.%s.%u%s", tsr_prec_name(k->prec), k->lanes, around ? "s" : "");
	LLVMTypeRef params[TSR_TURN_PARAMS] = { k->ptr, k->ptr, k->i64, k->i64, k->i64, k->i64 };
	return tsr_kit_named(k, name, params, TSR_TURN_PARAMS, 2, turn_body, &around);
}

static LLVMValueRef cross_function(tsr_kit *k, const crossing *c)
{
	char name[90];
	int n = snprintf(name, sizeof name, TSR_TILE_PREFIX "cross.%s.%u.%u%s%s%s", tsr_prec_name(k->prec), k->lanes, c->panel_width, c->aligned ? "a" : "", c->whole ? "w" : "", c->even ? "e" : "");
	if (c->usual < k->lanes)
		n += snprintf(name + n, sizeof name - (size_t)n, ".%u", c->usual);
	if (c->depths > 1)
		snprintf(name + n, sizeof name - (size_t)n, "d%lld", (long long)c->later);
	LLVMTypeRef params[CROSS_PARAMS] = { k->ptr, k->ptr, k->i64, k->i64, k->i64, k->i64, k->i64, k->i64, k->i64 };
	return tsr_kit_named(k, name, params, CROSS_PARAMS, 2, cross_body, c);
}

static void call(tsr_kit *k, LLVMValueRef f, LLVMValueRef *arg, unsigned n)
{
	LLVMBuildCall2(k->b, LLVMGlobalGetValueType(f), f, arg, n, "");
}

/* ---- walking what lies side by side ------------------------------------------------------------------------------------ */

/* Product of the extents of the axes behind this one. */
static LLVMValueRef inner_count(tsr_kit *k, const tsr_group *g, uint32_t axis)
{
	LLVMValueRef n = tsr_kit_int(k, 1);
	for (uint32_t i = axis + 1; i < g->n; i++)
		n = tsr_kit_mul(k, n, g->at[i].extent);
	return n;
}

static LLVMValueRef up(tsr_kit *k, LLVMValueRef x, LLVMValueRef unit)
{
	return LLVMBuildUDiv(k->b, tsr_kit_add(k, x, LLVMBuildNSWSub(k->b, unit, tsr_kit_int(k, 1), "")), unit, "");
}

/* Positions [from, limit) over the axes up to `axis`, in pieces of at most a vector that lie side by side along it. */
typedef struct pieces { tsr_count runs, piece; LLVMValueRef at, length; } pieces;

static pieces pieces_begin(tsr_kit *k, const tsr_group *g, uint32_t axis, LLVMValueRef from, LLVMValueRef limit)
{
	pieces p;
	LLVMValueRef lanes = tsr_kit_int(k, k->lanes), extent = g->at[axis].extent;
	p.runs = tsr_count_begin(k, from, limit, lanes);
	LLVMValueRef length = LLVMBuildNSWSub(k->b, limit, p.runs.i, "");
	if (axis > 0)                /* the step is this run's length, found inside it */
		length = tsr_kit_min(k, length, LLVMBuildNSWSub(k->b, extent, LLVMBuildURem(k->b, p.runs.i, extent, ""), ""));
	p.runs.step = length;
	p.piece = tsr_count_begin(k, tsr_kit_int(k, 0), length, lanes);
	p.at = tsr_kit_add(k, p.runs.i, p.piece.i);
	p.length = tsr_kit_min(k, lanes, LLVMBuildNSWSub(k->b, length, p.piece.i, ""));
	return p;
}

static void pieces_end(tsr_kit *k, pieces *p)
{
	tsr_count_end(k, &p->piece);
	tsr_count_end(k, &p->runs);
}

static LLVMValueRef slot(tsr_kit *k, LLVMValueRef table, LLVMValueRef i) { return LLVMBuildInBoundsGEP2(k->b, k->ptr, table, &i, 1, ""); }

/* Of `count` rows the line at `from` is asked for. */
static void fetch_rows(tsr_kit *k, LLVMValueRef table, uint32_t count, LLVMValueRef from)
{
	for (uint32_t i = 0; i < count; i++)
		tsr_kit_fetch(k, tsr_kit_at(k, LLVMBuildLoad2(k->b, k->ptr, slot(k, table, tsr_kit_int(k, i)), ""), from), false);
}

/* Asks for what is turned some squares later, of so many rows: of the same stretch, or at this place of a stretch some positions behind `inside`, or behind `limit` at the begin of the rows
 * that come then (NULL: none).  Rows lie apart, and stretches are short: no processor asks for it by itself. */
typedef struct later { const tsr_pack *p; uint32_t axis, count; LLVMValueRef rows, then, inside, at, from, limit; } later;

static void fetch_later(tsr_kit *k, const later *x)
{
	const tsr_pack *p = x->p;
	bool last = x->axis + 1 == p->along->n;
	LLVMValueRef squares = tsr_kit_int(k, last ? (AHEAD / x->count + 1) * k->lanes : AHEAD / 2 / x->count + 1), rows = x->rows;
	tsr_group outer = tsr_group_axes(p->along, 0, x->axis + 1), inner = tsr_group_axes(p->along, x->axis + 1, p->along->n);
	LLVMValueRef end = last ? x->limit : inner_count(k, p->along, x->axis), next = tsr_kit_add(k, last ? x->at : x->inside, squares);
	if (last && x->then) {
		LLVMValueRef past = LLVMBuildICmp(k->b, LLVMIntSGE, next, end, "");
		next = LLVMBuildSelect(k->b, past, tsr_kit_add(k, x->from, LLVMBuildNSWSub(k->b, next, end, "")), next, "");
		rows = LLVMBuildSelect(k->b, past, x->then, rows, "");
	}
	next = tsr_kit_min(k, next, LLVMBuildNSWSub(k->b, end, tsr_kit_int(k, 1), ""));
	LLVMValueRef at = tsr_kit_add(k, tsr_group_offset(k, &outer, p->side, last ? next : x->at), tsr_group_offset(k, &inner, p->side, last ? x->inside : next));
	fetch_rows(k, rows, x->count, at);
}

void tsr_pack_turned(tsr_kit *k, const tsr_pack *p, uint32_t axis, LLVMValueRef to, LLVMValueRef first, LLVMValueRef valid)
{
	uint32_t w = k->lanes, some = w < TOGETHER ? TOGETHER : w, places = (p->width + some - 1) / some * some;
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), width = tsr_kit_int(k, p->width);
	LLVMValueRef table = tsr_kit_table(k, places), last = LLVMBuildNSWSub(k->b, valid, one, "");
	tsr_count i = tsr_count_begin(k, zero, tsr_kit_int(k, places), one);
	LLVMValueRef at = tsr_group_offset(k, p->across, p->side, tsr_kit_add(k, first, tsr_kit_min(k, i.i, last)));
	LLVMBuildStore(k->b, tsr_kit_at(k, p->from, at), slot(k, table, i.i));
	tsr_count_end(k, &i);
	int64_t side = axis > 0 ? tsr_kit_known(p->along->at[axis].extent) : -1;
	uint32_t usual = side > 1 && side < k->lanes ? (uint32_t)side : k->lanes;
	tsr_group outer = tsr_group_axes(p->along, 0, axis + 1), inner = tsr_group_axes(p->along, axis + 1, p->along->n);
	LLVMValueRef step = inner_count(k, p->along, axis), end = tsr_kit_add(k, p->along_first, p->depth);
	for (uint32_t c = 0; c < p->width; c += some) {
		uint32_t last_row = c + some < p->width ? c + some : p->width;
		tsr_count t = tsr_count_begin(k, zero, step, one);
		LLVMValueRef inside = tsr_group_offset(k, &inner, p->side, t.i);
		LLVMValueRef from = up(k, LLVMBuildNSWSub(k->b, p->along_first, t.i, ""), step), limit = up(k, LLVMBuildNSWSub(k->b, end, t.i, ""), step);
		pieces q = pieces_begin(k, p->along, axis, from, limit);
		LLVMValueRef depth = LLVMBuildNSWSub(k->b, tsr_kit_add(k, tsr_kit_mul(k, q.at, step), t.i), p->along_first, "");
		LLVMValueRef panel = tsr_kit_at(k, to, tsr_kit_mul(k, depth, width));
		fetch_later(k, &(later){ p, axis, last_row - c, slot(k, table, tsr_kit_int(k, c)), last_row < p->width ? slot(k, table, tsr_kit_int(k, last_row)) : NULL, t.i, q.at, from, limit });
		for (uint32_t r = c; r < last_row; r += w) {
			LLVMValueRef strip = tsr_strip_function(k, p->width - r < w ? p->width - r : w, usual, p->width <= w && tsr_kit_known(step) == 1);
			LLVMValueRef arg[TSR_STRIP_PARAMS] = { slot(k, table, tsr_kit_int(k, r)), tsr_kit_at(k, panel, tsr_kit_int(k, r)),
											  tsr_kit_add(k, tsr_group_offset(k, &outer, p->side, q.at), inside), tsr_kit_mul(k, step, width), q.length };
			call(k, strip, arg, TSR_STRIP_PARAMS);
		}
		pieces_end(k, &q);
		tsr_count_end(k, &t);
	}
}

/* What a last panel has beyond its positions is 0. */
static void clear_last(tsr_kit *k, const tsr_pack *p, LLVMValueRef panel)
{
	LLVMValueRef width = tsr_kit_int(k, p->width), whole = LLVMBuildUDiv(k->b, p->across_count, width, "");
	tsr_guard torn = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSLT, tsr_kit_mul(k, whole, width), p->across_count, ""));
	LLVMValueRef bytes = tsr_kit_mul(k, panel, tsr_kit_int(k, k->elem_bytes));
	LLVMBuildMemSet(k->b, tsr_kit_at(k, p->to, tsr_kit_mul(k, whole, panel)), LLVMConstInt(LLVMInt8TypeInContext(k->context), 0, false), bytes, k->elem_bytes);
	tsr_guard_end(k, torn);
}

/* What is the same for all depths of some rows; `table`: where these begin, `rows` of which there are. */
typedef struct rows_across { const tsr_pack *p; uint32_t axis, squares; bool whole; LLVMValueRef table, far, inside, rows, panel; } rows_across;

/* Depth d of them, and what `cross` takes with it; `then`: the one that comes next. */
static void cross_depth(tsr_kit *k, const rows_across *x, LLVMValueRef cross, LLVMValueRef d, LLVMValueRef then)
{
	const tsr_pack *p = x->p;
	tsr_group outer = tsr_group_axes(p->across, 0, x->axis + 1);
	LLVMValueRef deep = tsr_group_offset(k, p->along, p->side, tsr_kit_add(k, p->along_first, d)), next = NULL;
	if (x->whole)
		next = tsr_group_offset(k, p->along, p->side, tsr_kit_add(k, p->along_first, tsr_kit_min(k, then, LLVMBuildNSWSub(k->b, p->depth, tsr_kit_int(k, 1), ""))));
	LLVMValueRef begin = p->across_first, end = tsr_kit_add(k, begin, p->across_count);
	pieces q = pieces_begin(k, p->across, x->axis, LLVMBuildUDiv(k->b, begin, x->far, ""), up(k, end, x->far));
	LLVMValueRef place = LLVMBuildNSWSub(k->b, tsr_kit_add(k, tsr_kit_mul(k, q.at, x->far), x->inside), begin, "");
	for (uint32_t j = 0; j < x->squares; j++) {
		LLVMValueRef at = tsr_group_offset(k, &outer, p->side, q.at), here = tsr_kit_int(k, j * k->lanes), rest = j ? slot(k, x->table, here) : x->table;
		LLVMValueRef arg[CROSS_PARAMS] = { rest, tsr_kit_at(k, p->to, tsr_kit_mul(k, d, tsr_kit_int(k, p->width))), tsr_kit_add(k, deep, at),
										   j ? tsr_kit_add(k, place, here) : place, x->far, x->rows, q.length, p->across_count, x->panel };
		call(k, cross, arg, CROSS_PARAMS);
		if (next)
			fetch_rows(k, rest, k->lanes, tsr_kit_add(k, next, at));
	}
	pieces_end(k, &q);
}

/* Depths whose stretches, shorter than a vector, follow each other in memory: the axis that counts them, if vectors are some of them whole. */
static uint32_t follows(tsr_kit *k, const tsr_pack *p, uint32_t usual)
{
	int64_t depths = k->lanes / usual;
	for (uint32_t i = 0; usual < k->lanes && k->lanes % usual == 0 && i < p->along->n; i++)
		if (tsr_kit_known(p->along->at[i].stride[p->side]) == usual && tsr_kit_known(p->along->at[i].extent) > 0 && tsr_kit_known(p->along->at[i].extent) % depths == 0)
			return tsr_kit_known(inner_count(k, p->along, i)) > 0 ? i : TSR_NONE;
	return TSR_NONE;
}

/* All depths of these rows: where vectors are stretches of several depths, and a block begins and ends with such, as many at once. */
static void cross_depths(tsr_kit *k, const rows_across *x, const crossing *c)
{
	const tsr_pack *p = x->p;
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), cross = cross_function(k, c);
	uint32_t w = follows(k, p, c->usual);
	LLVMValueRef apart = zero;
	if (w != TSR_NONE) {
		crossing some = *c;
		LLVMValueRef inner = inner_count(k, p->along, w);
		some.depths = k->lanes / c->usual;
		some.later = tsr_kit_known(inner) * p->width;
		LLVMValueRef each = tsr_kit_mul(k, inner, tsr_kit_int(k, some.depths));
		apart = LLVMBuildOr(k->b, LLVMBuildURem(k->b, p->along_first, each, ""), LLVMBuildURem(k->b, p->depth, each, ""), "");
		tsr_guard whole = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntEQ, apart, zero, ""));
		tsr_count o = tsr_count_begin(k, zero, p->depth, each), i = tsr_count_begin(k, zero, inner, one);
		LLVMValueRef then = tsr_kit_add(k, i.i, one), behind = LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntEQ, then, inner, ""), each, then, "");
		cross_depth(k, x, cross_function(k, &some), tsr_kit_add(k, o.i, i.i), tsr_kit_add(k, o.i, behind));
		tsr_count_end(k, &i);
		tsr_count_end(k, &o);
		tsr_guard_end(k, whole);
		apart = LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntEQ, apart, zero, ""), p->depth, zero, "");
	}
	tsr_count d = tsr_count_begin(k, apart, p->depth, one);
	cross_depth(k, x, cross, d.i, tsr_kit_add(k, d.i, one));
	tsr_count_end(k, &d);
}

void tsr_pack_crossed(tsr_kit *k, const tsr_pack *p, uint32_t axis)
{
	const tsr_group *across = p->across;
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), lanes = tsr_kit_int(k, k->lanes), width = tsr_kit_int(k, p->width);
	LLVMValueRef far = inner_count(k, across, axis), run = across->at[across->n - 1].extent, table = tsr_kit_table(k, tsr_turn_squares(k, true) * k->lanes);
	LLVMValueRef panel = tsr_kit_mul(k, width, p->depth);
	int64_t length = tsr_kit_known(run);
	bool whole = p->width % k->lanes == 0 && length > 0 && length % k->lanes == 0;
	bool aligned = whole || (p->width % k->lanes == 0 && length > 0 && k->lanes % length == 0);
	/* vectors that are parts of a line come one after the other, and what the next depth has of their rows is asked for */
	uint32_t squares = tsr_target_few_registers(k->target) ? tsr_turn_squares(k, true) : 1;
	bool lines = squares > 1 && whole && length % (squares * k->lanes) == 0;
	squares = lines ? squares : 1;
	int64_t side = tsr_kit_known(across->at[axis].extent);
	uint32_t usual = side > 1 && side < k->lanes ? (uint32_t)side : k->lanes;
	crossing c = { p->width, usual, 1, 0, aligned, whole, lines && tsr_kit_known(far) > 0 && tsr_kit_known(far) % p->width == 0 };
	tsr_group inner = tsr_group_axes(across, axis + 1, across->n);
	clear_last(k, p, panel);
	tsr_count x = tsr_count_begin(k, zero, far, run), r = tsr_count_begin(k, zero, run, tsr_kit_int(k, squares * k->lanes));
	LLVMValueRef inside = tsr_kit_add(k, x.i, r.i), rows = tsr_kit_min(k, lanes, LLVMBuildNSWSub(k->b, run, r.i, ""));
	tsr_count l = tsr_count_begin(k, zero, tsr_kit_int(k, squares * k->lanes), one);
	LLVMValueRef row = tsr_kit_add(k, inside, lines ? l.i : tsr_kit_min(k, l.i, LLVMBuildNSWSub(k->b, rows, one, "")));
	LLVMBuildStore(k->b, tsr_kit_at(k, p->from, tsr_group_offset(k, &inner, p->side, row)), slot(k, table, l.i));
	tsr_count_end(k, &l);
	cross_depths(k, &(rows_across){ p, axis, squares, whole, table, far, inside, rows, panel }, &c);
	tsr_count_end(k, &r);
	tsr_count_end(k, &x);
}
