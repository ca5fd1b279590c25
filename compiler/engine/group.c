/* Packing positions that lie side by side into panels that are no whole vectors: several panels at once, which whole vectors fill together.
 *
 * Three vectors are four panels of six rows, or eight.  Each is loaded once, wherever the stretches lie that it is one of, or its halves of two, and what two of
 * them have of a panel is put together in registers; a panel by itself would load by masks, twice where it is torn. */
#include "kit.h"

enum { MOST_VECTORS = 8, MOST_PIECES = 2 * MOST_VECTORS, MOST_LANES = 64, SOME = 8, AHEAD = 16 };
enum { GROUP_ROWS, GROUP_TO, GROUP_PANEL, GROUP_STEP, GROUP_COUNT, GROUP_AHEAD, GROUP_PARAMS };

typedef struct group { uint32_t width, piece; bool exact; } group;      /* piece: lanes that lie side by side; exact: nothing is written behind a panel's depth */

/* Positions that are whole vectors and whole panels. */
static uint32_t positions(uint32_t lanes, uint32_t width)
{
	uint32_t n = lanes;
	while (n % width)
		n += lanes;
	return n;
}

/* Elements first .. first + count of all vectors together, count <= lanes; lanes behind them hold anything. */
static LLVMValueRef elements(tsr_kit *k, LLVMValueRef *v, uint32_t first, uint32_t count)
{
	uint32_t w = k->lanes, at = first / w, shift = first % w;
	LLVMValueRef lane[MOST_LANES];
	if (!shift)
		return v[at];
	bool two = shift + count > w;
	for (uint32_t i = 0; i < w; i++)
		lane[i] = i < count ? LLVMConstInt(k->i32, shift + i, false) : LLVMGetPoison(k->i32);
	return LLVMBuildShuffleVector(k->b, v[at], two ? v[at + 1] : LLVMGetPoison(k->vec), LLVMConstVector(lane, w), "");
}

/* A vector of pieces at these places. */
static LLVMValueRef joined(tsr_kit *k, const LLVMValueRef *at, uint32_t piece)
{
	if (piece == k->lanes)
		return tsr_kit_load(k, k->vec, at[0], NULL);
	LLVMValueRef half[2], lane[MOST_LANES];
	for (uint32_t i = 0; i < 2; i++)
		half[i] = tsr_kit_load(k, LLVMVectorType(k->elem, piece), at[i], NULL);
	for (uint32_t i = 0; i < k->lanes; i++)
		lane[i] = LLVMConstInt(k->i32, i, false);
	return LLVMBuildShuffleVector(k->b, half[0], half[1], LLVMConstVector(lane, k->lanes), "");
}

/* void group(rows, to, panel, step, count, ahead): to[q * panel + d * W + i] = rows[p][d * step + lane] for d < count, where element q * W + i of all is `lane` of
 * piece p; what is `ahead` elements further is asked for. */
static void group_body(tsr_kit *k, const void *user, LLVMValueRef f)
{
	const group *g = user;
	uint32_t all = positions(k->lanes, g->width), w = g->width, pieces = all / g->piece;
	LLVMValueRef row[MOST_PIECES], here[MOST_PIECES], v[MOST_VECTORS], zero = tsr_kit_int(k, 0), ahead = LLVMGetParam(f, GROUP_AHEAD);
	for (uint32_t i = 0; i < pieces; i++) {
		LLVMValueRef at = tsr_kit_int(k, i);
		row[i] = LLVMBuildLoad2(k->b, k->ptr, LLVMBuildInBoundsGEP2(k->b, k->ptr, LLVMGetParam(f, GROUP_ROWS), &at, 1, ""), "");
	}
	tsr_count d = tsr_count_begin(k, zero, LLVMGetParam(f, GROUP_COUNT), tsr_kit_int(k, 1));
	LLVMValueRef from = tsr_kit_mul(k, d.i, LLVMGetParam(f, GROUP_STEP)), to = tsr_kit_at(k, LLVMGetParam(f, GROUP_TO), tsr_kit_mul(k, d.i, tsr_kit_int(k, w)));
	for (uint32_t i = 0; i < pieces; i++) {
		here[i] = tsr_kit_at(k, row[i], from);
		tsr_kit_fetch(k, LLVMBuildGEP2(k->b, k->elem, here[i], &ahead, 1, ""), false);
		if ((i + 1) * g->piece % k->lanes == 0)
			v[(i + 1) * g->piece / k->lanes - 1] = joined(k, here + i + 1 - k->lanes / g->piece, g->piece);
	}
	for (uint32_t q = 0; q < all / w; q++) {
		LLVMValueRef panel = tsr_kit_at(k, to, tsr_kit_mul(k, tsr_kit_int(k, q), LLVMGetParam(f, GROUP_PANEL)));
		for (uint32_t i = 0; i < w; i += k->lanes) {
			uint32_t count = w - i < k->lanes ? w - i : k->lanes;
			LLVMValueRef value = elements(k, v, q * w + i, count), at = tsr_kit_at(k, panel, tsr_kit_int(k, i));
			if (g->exact && count < k->lanes)
				tsr_kit_store_some(k, value, at, 0, count);
			else
				tsr_kit_store(k, value, at, NULL);
		}
	}
	tsr_count_end(k, &d);
	LLVMBuildRetVoid(k->b);
}

static LLVMValueRef group_function(tsr_kit *k, uint32_t width, uint32_t piece, bool exact)
{
	group g = { width, piece, exact };
	char name[60];
	snprintf(name, sizeof name, TSR_TILE_PREFIX "group.%s.%u.%u%s%s", tsr_prec_name(k->prec), k->lanes, width, piece < k->lanes ? "h" : "", exact ? "e" : "");
	LLVMTypeRef params[GROUP_PARAMS] = { k->ptr, k->ptr, k->i64, k->i64, k->i64, k->i64 };
	return tsr_kit_named(k, name, params, GROUP_PARAMS, 2, group_body, &g);
}

/* Whether it pays to put halves of vectors together, whose places are found for as many depths as lie along one loop: 1.06 times as fast where these are many,
 * 0.97 to 0.99 where they are few. */
static bool many_depths(const tsr_kit *k, const tsr_pack *p)
{
	int64_t depths = tsr_kit_known(p->along->at[p->along->n - 1].extent);
	return p->along->n == 1 || depths < 0 || depths >= k->lanes;
}

uint32_t tsr_pack_group_piece(const tsr_kit *k, const tsr_pack *p)
{
	const tsr_group *across = p->across;
	if (!across->n || !across->unit[p->side] || !p->along->n || p->width % k->lanes == 0 || p->width < 2 || positions(k->lanes, p->width) > MOST_VECTORS * k->lanes)
		return 0;
	int64_t run = across->n > 1 ? tsr_group_run(across, p->side) : 0;
	uint32_t half = k->lanes / 2;
	if (run >= 0 && run % k->lanes == 0)
		return k->lanes;
	return run > 0 && half > 1 && run % half == 0 && many_depths(k, p) ? half : 0;
}

/* Depths from .. to of `groups` groups. */
static void depths(tsr_kit *k, const tsr_pack *p, LLVMValueRef groups, LLVMValueRef from, LLVMValueRef to, uint32_t piece, bool exact)
{
	uint32_t all = positions(k->lanes, p->width), pieces = all / piece;
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), width = tsr_kit_int(k, p->width), panel = tsr_kit_mul(k, p->depth, width);
	LLVMValueRef table = tsr_kit_table(k, pieces), function = group_function(k, p->width, piece, exact);
	const tsr_span_axis *last = &p->along->at[p->along->n - 1];
	tsr_count g = tsr_count_begin(k, zero, groups, one);
	LLVMValueRef first = tsr_kit_mul(k, g.i, tsr_kit_int(k, all)), out = tsr_kit_at(k, p->to, tsr_kit_mul(k, first, p->depth));
	tsr_count d = tsr_count_begin(k, from, to, one);
	LLVMValueRef at = tsr_kit_add(k, p->along_first, d.i), offset = tsr_group_offset(k, p->along, p->side, at), in = tsr_kit_at(k, p->from, offset);
	LLVMValueRef later = tsr_kit_min(k, tsr_kit_add(k, d.i, tsr_kit_int(k, AHEAD)), LLVMBuildNSWSub(k->b, p->depth, one, ""));
	LLVMValueRef ahead = LLVMBuildNSWSub(k->b, tsr_group_offset(k, p->along, p->side, tsr_kit_add(k, p->along_first, later)), offset, "");
	d.step = tsr_kit_min(k, LLVMBuildNSWSub(k->b, to, d.i, ""), tsr_kit_int(k, AHEAD));
	if (p->along->n > 1)
		d.step = tsr_kit_min(k, d.step, LLVMBuildNSWSub(k->b, last->extent, LLVMBuildURem(k->b, at, last->extent, ""), ""));
	for (uint32_t i = 0; i < pieces; i++) {
		LLVMValueRef position = tsr_kit_add(k, p->across_first, tsr_kit_add(k, first, tsr_kit_int(k, i * piece))), slot = tsr_kit_int(k, i);
		LLVMBuildStore(k->b, tsr_kit_at(k, in, tsr_group_offset(k, p->across, p->side, position)), LLVMBuildInBoundsGEP2(k->b, k->ptr, table, &slot, 1, ""));
	}
	LLVMValueRef args[GROUP_PARAMS] = { table, tsr_kit_at(k, out, tsr_kit_mul(k, d.i, width)), panel, last->stride[p->side], d.step, ahead };
	LLVMBuildCall2(k->b, LLVMGlobalGetValueType(function), function, args, GROUP_PARAMS, "");
	tsr_count_end(k, &d);
	tsr_count_end(k, &g);
}

/* So many of a panel's last depths are written exactly: what a whole vector writes behind a depth is the next depths', which come later, or the next panel's
 * first ones, which are there already. */
static uint32_t exact_depths(uint32_t lanes, uint32_t width)
{
	uint32_t behind = lanes - (width - 1) % lanes - 1;
	return (behind + width - 1) / width;
}

/* A few depths of all groups at a time, whose lines the first cache has meanwhile. */
LLVMValueRef tsr_pack_groups(tsr_kit *k, const tsr_pack *p)
{
	LLVMValueRef zero = tsr_kit_int(k, 0);
	uint32_t piece = tsr_pack_group_piece(k, p);
	if (!piece)
		return zero;
	uint32_t all = positions(k->lanes, p->width);
	LLVMValueRef groups = LLVMBuildUDiv(k->b, p->across_count, tsr_kit_int(k, all), "");
	if (p->across->n > 1) {        /* a block may begin within a piece */
		LLVMValueRef over = LLVMBuildAnd(k->b, p->across_first, tsr_kit_int(k, piece - 1), "");
		groups = LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntEQ, over, zero, ""), groups, zero, "");
	}
	tsr_guard some = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSGT, p->depth, zero, ""));
	LLVMValueRef last = LLVMBuildNSWSub(k->b, p->depth, tsr_kit_int(k, exact_depths(k->lanes, p->width)), "");
	last = LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntSGT, last, zero, ""), last, zero, "");
	tsr_count d = tsr_count_begin(k, zero, last, tsr_kit_int(k, SOME));
	depths(k, p, groups, d.i, tsr_kit_min(k, tsr_kit_add(k, d.i, tsr_kit_int(k, SOME)), last), piece, false);
	tsr_count_end(k, &d);
	depths(k, p, groups, last, p->depth, piece, true);
	tsr_guard_end(k, some);
	return tsr_kit_mul(k, groups, tsr_kit_int(k, all));
}
