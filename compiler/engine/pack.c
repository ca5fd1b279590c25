/* Packing: one operand's block, read through any index map, into panels that tiles walk with stride one.
 *
 * Positions that lie side by side in memory are copied as vectors, in parts where they come to the end of a stretch; what lies
 * side by side along another loop is turned in registers (turn.c), unless elements are bytes; only where nothing does it goes element by element. */
#include "kit.h"
#include "../base/plant.h"

enum { MOST_TURNED = 16, BESIDE = 4 };          /* rows of a square that registers hold; depths that are copied side by side where a processor looks ahead in each */
enum { GROUP = 4 };                              /* panels: of fewer no distance is seen */

/* `some`: only some of its depths are written, beside others that may be already; `apart`: its positions lie so far from each other. */
typedef struct panel { tsr_kit *k; const tsr_pack *p; LLVMValueRef to, first, valid; bool some; uint32_t apart; } panel;

/* Where position i of the panel begins in memory; positions past the end repeat the last one. */
static LLVMValueRef position_offset(const panel *n, LLVMValueRef i)
{
	tsr_kit *k = n->k;
	LLVMValueRef last = LLVMBuildSub(k->b, n->valid, tsr_kit_int(k, 1), "");
	return tsr_group_offset(k, n->p->across, n->p->side, tsr_kit_add(k, n->first, tsr_kit_min(k, i, last)));
}

static LLVMValueRef deep(const panel *n, LLVMValueRef d)
{
	return tsr_group_offset(n->k, n->p->along, n->p->side, tsr_kit_add(n->k, n->p->along_first, d));
}

static LLVMValueRef target(const panel *n, LLVMValueRef d, LLVMValueRef i)
{
	tsr_kit *k = n->k;
	return tsr_kit_at(k, tsr_kit_at(k, n->to, tsr_kit_mul(k, d, tsr_kit_int(k, n->p->width))), i);
}

/* Element by element; where each position begins is looked up in a table made once per panel. */
static void pack_elements(const panel *n)
{
	tsr_kit *k = n->k;
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), width = tsr_kit_int(k, n->p->width);
	LLVMValueRef table = tsr_kit_table(k, n->p->width);
	tsr_count i = tsr_count_begin(k, zero, width, one);
	LLVMBuildStore(k->b, position_offset(n, i.i), LLVMBuildInBoundsGEP2(k->b, k->i64, table, &i.i, 1, ""));
	tsr_count_end(k, &i);
	tsr_count d = tsr_count_begin(k, zero, n->p->depth, one);
	LLVMValueRef from = tsr_kit_at(k, n->p->from, deep(n, d.i)), to = target(n, d.i, zero);
	i = tsr_count_begin(k, zero, width, one);
	LLVMValueRef at = LLVMBuildLoad2(k->b, k->i64, LLVMBuildInBoundsGEP2(k->b, k->i64, table, &i.i, 1, ""), "");
	tsr_kit_store(k, tsr_kit_load(k, k->elem, tsr_kit_at(k, from, at), NULL), tsr_kit_at(k, to, i.i), NULL);
	tsr_count_end(k, &i);
	tsr_count_end(k, &d);
}

/* Full vectors run over into the next depth, which is written later, and the last one into the next panel or the slack: not where that panel has some
 * of its depths already. */
static void put(const panel *n, LLVMValueRef value, LLVMValueRef d, uint32_t v)
{
	uint32_t first = v * n->k->lanes;
	LLVMValueRef to = target(n, d, tsr_kit_int(n->k, first));
	if (n->some && n->p->width - first < n->k->lanes)
		tsr_kit_store_some(n->k, value, to, 0, n->p->width - first);
	else
		tsr_kit_store(n->k, value, to, NULL);
}

static void pack_vectors(const panel *n)
{
	tsr_kit *k = n->k;
	uint32_t vecs = (n->p->width + k->lanes - 1) / k->lanes;
	LLVMValueRef mask[16][TSR_MOST_STRIDE], row = tsr_kit_at(k, n->p->from, tsr_group_offset(k, n->p->across, n->p->side, n->first)), part[TSR_MOST_STRIDE];
	for (uint32_t v = 0; v < vecs; v++)
		for (uint32_t i = 0; i < n->apart; i++)
			mask[v][i] = tsr_apart_mask(k, n->apart, i, tsr_kit_int(k, 0), v ? LLVMBuildNSWSub(k->b, n->valid, tsr_kit_int(k, v * k->lanes), "") : n->valid);
	tsr_count d = tsr_count_begin(k, tsr_kit_int(k, 0), n->p->depth, tsr_kit_int(k, 1));
	LLVMValueRef from = tsr_kit_at(k, row, deep(n, d.i));
	for (uint32_t v = 0; v < vecs; v++) {
		for (uint32_t i = 0; i < n->apart; i++)
			part[i] = tsr_kit_load(k, k->vec, tsr_kit_at(k, from, tsr_kit_int(k, (int64_t)v * k->lanes * n->apart + tsr_apart_at(k, n->apart, i))), mask[v][i]);
		put(n, tsr_apart_lanes(k, n->apart, part), d.i, v);
	}
	tsr_count_end(k, &d);
}

/* The line that is read next but one in this column: a processor that looks ahead along a row begins anew with each one, and rows of a block are short. */
static void fetch_below(const panel *n, LLVMValueRef here, uint32_t element)
{
	tsr_kit *k = n->k;
	LLVMValueRef below = tsr_kit_mul(k, n->p->along->at[0].stride[n->p->side], tsr_kit_int(k, 2 * BESIDE));
	LLVMValueRef at = tsr_kit_add(k, below, tsr_kit_int(k, element));
	tsr_kit_fetch(k, LLVMBuildGEP2(k->b, k->elem, here, &at, 1, ""), false);
}

/* From depth d on `beside` depths of the panel that begins at `there`, whose first positions are `here`. */
static void copy_rows(const panel *first, const LLVMValueRef *here, LLVMValueRef there, uint32_t beside)
{
	const tsr_pack *p = first->p;
	tsr_kit *k = first->k;
	for (uint32_t i = 0; i < beside; i++)
		for (uint32_t v = 0; v < p->width; v += k->lanes) {
			if (beside > 1 && p->along->n == 1 && v * k->elem_bytes % TSR_LINE == 0)
				fetch_below(first, here[i], v);
			LLVMValueRef at = tsr_kit_int(k, i * p->width + v);
			tsr_kit_store(k, tsr_kit_load(k, k->vec, tsr_kit_at(k, here[i], tsr_kit_int(k, v)), NULL), tsr_kit_at(k, there, at), NULL);
		}
}

/* Depths from .. to of `all` panels from the first on, whose positions are in `row`, `beside` at a time; NULL: of GROUP panels that are told apart. */
static void depths(tsr_kit *k, const panel *first, LLVMValueRef row, LLVMValueRef all, LLVMValueRef from, LLVMValueRef to, uint32_t beside)
{
	const tsr_pack *p = first->p;
	LLVMValueRef zero = tsr_kit_int(k, 0), width = tsr_kit_int(k, p->width), in[BESIDE], here[BESIDE];
	tsr_count d = tsr_count_begin(k, from, to, tsr_kit_int(k, beside));
	for (uint32_t i = 0; i < beside; i++)
		in[i] = tsr_kit_at(k, row, deep(first, tsr_kit_add(k, d.i, tsr_kit_int(k, i))));
	LLVMValueRef out = target(first, d.i, zero);
	tsr_count n = { .i = zero };
	if (all)
		n = tsr_count_begin(k, zero, all, tsr_kit_int(k, 1));
	for (int64_t g = 0; g < (all ? 1 : GROUP); g++) {
		LLVMValueRef number = tsr_kit_add(k, n.i, tsr_kit_int(k, g));
		for (uint32_t i = 0; i < beside; i++)
			here[i] = tsr_kit_at(k, in[i], tsr_kit_mul(k, number, width));
		copy_rows(first, here, tsr_kit_at(k, out, tsr_kit_mul(k, number, tsr_kit_mul(k, width, p->depth))), beside);
	}
	if (all)
		tsr_count_end(k, &n);
	tsr_count_end(k, &d);
}

/* All depths of so many panels; several of them side by side where a processor looks ahead in each of their rows. */
static void all_depths(tsr_kit *k, const panel *first, LLVMValueRef row, LLVMValueRef all)
{
	LLVMValueRef zero = tsr_kit_int(k, 0), rest = zero;
	if (k->target->streams) {
		rest = LLVMBuildAnd(k->b, first->p->depth, tsr_kit_int(k, -(int64_t)BESIDE), "");
		depths(k, first, row, all, zero, rest, BESIDE);
	}
	depths(k, first, row, all, rest, first->p->depth, 1);
}

/* A core that fetches ahead what one instruction stores at equal distances would fetch panels behind the last one, which another thread may have written (two threads' weights'
 * gradients of 56 x 56 x 256 by 128 channels took 1.25 times as long).  So each panel of a few is stored to by instructions of its own.  How many panels have been packed. */
static LLVMValueRef pack_groups_by_depths(tsr_kit *k, const panel *first, LLVMValueRef row, LLVMValueRef all)
{
	const tsr_pack *p = first->p;
	LLVMValueRef grouped = LLVMBuildAnd(k->b, all, tsr_kit_int(k, -(int64_t)GROUP), ""), width = tsr_kit_int(k, p->width);
	tsr_count g = tsr_count_begin(k, tsr_kit_int(k, 0), grouped, tsr_kit_int(k, GROUP));
	LLVMValueRef beside = tsr_kit_mul(k, g.i, width);
	panel some = *first;
	some.to = tsr_kit_at(k, first->to, tsr_kit_mul(k, beside, p->depth));
	all_depths(k, &some, tsr_kit_at(k, row, beside), NULL);
	tsr_count_end(k, &g);
	return grouped;
}

/* All whole panels of positions that lie side by side, a depth at a time: memory is read in the order in which it lies, which is fetched ahead. */
static LLVMValueRef pack_by_depths(tsr_kit *k, const tsr_pack *p)
{
	LLVMValueRef width = tsr_kit_int(k, p->width), all = LLVMBuildUDiv(k->b, p->across_count, width, ""), left = all;
	panel first = { k, p, p->to, p->across_first, width, false, 1 };
	LLVMValueRef row = tsr_kit_at(k, p->from, tsr_group_offset(k, p->across, p->side, p->across_first));
	if (k->target->strides_ahead) {
		LLVMValueRef grouped = pack_groups_by_depths(k, &first, row, all), beside = tsr_kit_mul(k, grouped, width);
		left = LLVMBuildNSWSub(k->b, all, grouped, "");
		first.to = tsr_kit_at(k, first.to, tsr_kit_mul(k, beside, p->depth));
		row = tsr_kit_at(k, row, beside);
	}
	all_depths(k, &first, row, left);
	return tsr_kit_mul(k, all, width);
}

/* A vector of positions, in the stretches of the innermost axis that it falls into. */
typedef struct torn { LLVMValueRef offset[TSR_MOST_STRETCHES], mask[TSR_MOST_STRETCHES][TSR_MOST_STRIDE]; } torn;

static torn torn_vector(const panel *n, uint32_t first, uint32_t stretches)
{
	tsr_kit *k = n->k;
	const tsr_group *across = n->p->across;
	LLVMValueRef run = across->at[across->n - 1].extent, zero = tsr_kit_int(k, 0), before = zero, each = tsr_kit_int(k, n->apart);
	LLVMValueRef left = tsr_kit_min(k, LLVMBuildNSWSub(k->b, n->valid, tsr_kit_int(k, first), ""), tsr_kit_int(k, k->lanes));
	LLVMValueRef some = LLVMBuildICmp(k->b, LLVMIntSGT, left, zero, "");
	LLVMValueRef from = tsr_kit_add(k, n->first, LLVMBuildSelect(k->b, some, tsr_kit_int(k, first), zero, ""));
	LLVMValueRef past = LLVMBuildNSWSub(k->b, run, LLVMBuildURem(k->b, from, run, ""), ""), offset = tsr_group_offset(k, across, n->p->side, from);
	torn t;
	for (uint32_t s = 0; s < stretches; s++) {
		LLVMValueRef below = tsr_kit_min(k, left, past);
		t.offset[s] = offset;
		for (uint32_t i = 0; i < n->apart; i++)
			t.mask[s][i] = tsr_apart_mask(k, n->apart, i, before, below);
		before = below;
		LLVMValueRef there = LLVMBuildICmp(k->b, LLVMIntSLT, past, left, "");
		LLVMValueRef next = tsr_group_offset(k, across, n->p->side, LLVMBuildSelect(k->b, there, tsr_kit_add(k, from, past), from, ""));
		offset = LLVMBuildSelect(k->b, there, LLVMBuildNSWSub(k->b, next, tsr_kit_mul(k, past, each), ""), offset, "");
		past = tsr_kit_add(k, past, run);
	}
	return t;
}

/* Its lanes of the depth that begins at `from`. */
static LLVMValueRef torn_lanes(const panel *n, torn *t, uint32_t stretches, LLVMValueRef from)
{
	tsr_kit *k = n->k;
	LLVMValueRef part[TSR_MOST_STRIDE];
	for (uint32_t i = 0; i < n->apart; i++) {
		LLVMValueRef here = tsr_kit_at(k, from, tsr_kit_int(k, tsr_apart_at(k, n->apart, i)));
		part[i] = LLVMConstNull(k->vec);
		for (uint32_t s = 0; s < stretches; s++) {
			LLVMValueRef at = LLVMBuildGEP2(k->b, k->elem, here, &t->offset[s], 1, "");
			LLVMValueRef args[4] = { at, LLVMConstInt(k->i32, k->elem_bytes, false), t->mask[s][i], part[i] };
			part[i] = tsr_kit_intrinsic(k, "llvm.masked.load", (LLVMTypeRef[]){ k->vec, k->ptr }, 2, args, 4);
		}
	}
	return tsr_apart_lanes(k, n->apart, part);
}

/* The same of positions that lie in several stretches, each vector in so many at most. */
static void pack_torn(const panel *n, uint32_t stretches)
{
	tsr_kit *k = n->k;
	uint32_t vecs = (n->p->width + k->lanes - 1) / k->lanes;
	torn vector[16];
	for (uint32_t v = 0; v < vecs; v++)
		vector[v] = torn_vector(n, v * k->lanes, stretches);
	tsr_count d = tsr_count_begin(k, tsr_kit_int(k, 0), n->p->depth, tsr_kit_int(k, 1));
	LLVMValueRef from = tsr_kit_at(k, n->p->from, deep(n, d.i));
	for (uint32_t v = 0; v < vecs; v++)
		put(n, torn_lanes(n, &vector[v], stretches, from), d.i, v);
	tsr_count_end(k, &d);
}

/* Positions side by side in memory, or as far apart as they are, unless the panel crosses from one stretch of the innermost axis to the next. */
static void pack_across(const panel *n)
{
	tsr_kit *k = n->k;
	const tsr_group *across = n->p->across;
	if (across->n <= 1) {
		pack_vectors(n);
		return;
	}
	LLVMValueRef extent = across->at[across->n - 1].extent, at = LLVMBuildURem(k->b, n->first, extent, "");
	LLVMValueRef inside = LLVMBuildICmp(k->b, LLVMIntSLE, tsr_kit_add(k, at, n->valid), extent, "");
	tsr_guard whole = tsr_guard_begin(k, inside);
	pack_vectors(n);
	tsr_guard_end(k, whole);
	tsr_guard torn = tsr_guard_begin(k, LLVMBuildNot(k->b, inside, ""));
	uint32_t lanes = n->p->width < k->lanes ? n->p->width : k->lanes;
	int64_t run = tsr_kit_known(extent);
	uint32_t stretches = run > 0 ? tsr_stretches(lanes, run, n->p->width % k->lanes == 0) : TSR_MOST_STRETCHES + 1;
	if (stretches <= TSR_MOST_STRETCHES)
		pack_torn(n, stretches);
	else
		pack_elements(n);
	tsr_guard_end(k, torn);
}

/* Stretches of whole panels, row by row: what lies side by side is read at once, and what comes a few rows later is fetched by then. */
static void pack_lines(tsr_kit *k, const tsr_pack *p)
{
	enum { LINES = 36 };
	const tsr_group *across = p->across;
	int64_t length = tsr_group_run(across, p->side), rows = LINES * TSR_LINE / (length * k->elem_bytes);
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), run = tsr_kit_int(k, length), width = tsr_kit_int(k, p->width);
	LLVMValueRef last = LLVMBuildNSWSub(k->b, p->depth, one, ""), panel = tsr_kit_mul(k, p->depth, width);
	tsr_count s = tsr_count_begin(k, zero, p->across_count, run);
	LLVMValueRef at = tsr_kit_add(k, p->across_first, s.i);
	s.step = tsr_kit_min(k, LLVMBuildNSWSub(k->b, run, LLVMBuildURem(k->b, at, run, ""), ""), LLVMBuildNSWSub(k->b, p->across_count, s.i, ""));
	LLVMValueRef from = tsr_kit_at(k, p->from, tsr_group_offset(k, across, p->side, at)), to = tsr_kit_at(k, p->to, tsr_kit_mul(k, s.i, p->depth));
	tsr_count d = tsr_count_begin(k, zero, p->depth, one);
	LLVMValueRef next = tsr_kit_add(k, p->along_first, tsr_kit_min(k, tsr_kit_add(k, d.i, tsr_kit_int(k, rows > 1 ? rows : 1)), last));
	LLVMValueRef row = tsr_kit_at(k, from, tsr_group_offset(k, p->along, p->side, tsr_kit_add(k, p->along_first, d.i)));
	LLVMValueRef later = tsr_kit_at(k, from, tsr_group_offset(k, p->along, p->side, next)), place = tsr_kit_at(k, to, tsr_kit_mul(k, d.i, width));
	tsr_count c = tsr_count_begin(k, zero, s.step, width);
	LLVMValueRef out = tsr_kit_at(k, place, tsr_kit_mul(k, LLVMBuildUDiv(k->b, c.i, width, ""), panel));
	for (uint32_t v = 0; v < p->width; v += k->lanes) {
		LLVMValueRef lane = tsr_kit_int(k, v);
		tsr_kit_fetch(k, tsr_kit_at(k, tsr_kit_at(k, later, c.i), lane), false);
		tsr_kit_store(k, tsr_kit_load(k, k->vec, tsr_kit_at(k, tsr_kit_at(k, row, c.i), lane), NULL), tsr_kit_at(k, out, lane), NULL);
	}
	tsr_count_end(k, &c);
	tsr_count_end(k, &d);
	tsr_count_end(k, &s);
}

/* From one position to the next; more than a few, or what no masks can read: 0. */
static uint32_t apart_of(const tsr_kit *k, const tsr_pack *p)
{
	const tsr_group *across = p->across;
	int64_t apart = across->n ? tsr_kit_known(across->at[across->n - 1].stride[p->side]) : 1, run = across->n ? tsr_kit_known(across->at[across->n - 1].extent) : 1;
	if (across->unit[p->side] || apart <= 1)
		return across->unit[p->side] ? 1 : 0;
	bool few = apart <= TSR_MOST_STRIDE && run > 1 && tsr_stretches(p->width < k->lanes ? p->width : k->lanes, run, p->width % k->lanes == 0) <= TSR_MOST_STRETCHES;
	return few && k->elem_bytes >= 4 && k->target->masks != TSR_MASKS_NONE ? (uint32_t)apart : 0;
}

/* No panel is cut, by a stretch's end or by the last position. */
static bool by_stretches(const tsr_kit *k, const tsr_pack *p)
{
	int64_t run = p->across->n > 1 ? tsr_group_run(p->across, p->side) : -1;
	return p->across->unit[p->side] && run > 0 && run % p->width == 0 && p->width % k->lanes == 0;
}

/* The axis along which the operand lies side by side, if it can be turned. */
static int unit_axis(const tsr_kit *k, const tsr_group *g, tsr_side side)
{
	for (uint32_t i = 0; k->lanes <= MOST_TURNED && i < g->n; i++)
		if (tsr_kit_known(g->at[i].stride[side]) == 1 && tsr_kit_known(g->at[i].extent) != 1)
			return (int)i;
	return -1;
}

/* Of the panels of p from `begin` on the depths that `part` has, `before` of which come first. */
static void pack_panels(tsr_kit *k, const tsr_pack *p, const tsr_pack *part, LLVMValueRef begin, LLVMValueRef before, int turned)
{
	LLVMValueRef width = tsr_kit_int(k, p->width);
	tsr_count c = tsr_count_begin(k, begin, p->across_count, width);
	LLVMValueRef at = TSR_PLANTED(23) ? tsr_kit_add(k, c.i, width) : c.i;             /* one panel further */
	LLVMValueRef to = tsr_kit_at(k, tsr_kit_at(k, p->to, tsr_kit_mul(k, at, p->depth)), tsr_kit_mul(k, before, width));
	panel n = { k, part, to, tsr_kit_add(k, p->across_first, c.i), tsr_kit_min(k, width, LLVMBuildSub(k->b, p->across_count, c.i, "")), part != p, apart_of(k, p) };
	if (n.apart)
		pack_across(&n);
	else if (turned >= 0)
		tsr_pack_turned(k, p, (uint32_t)turned, n.to, n.first, n.valid);
	else
		pack_elements(&n);
	tsr_count_end(k, &c);
}

/* Panels share lines, several of them each; where stretches are short, finding those costs more than that they come again. */
static bool share_lines(const tsr_kit *k, const tsr_pack *p)
{
	int64_t run = p->across->n ? tsr_kit_known(p->across->at[p->across->n - 1].extent) : 0;
	return p->across->unit[p->side] && p->width % k->lanes && (run < 0 || run >= k->lanes);
}

/* Such panels from `begin` on, a few depths of all of them at a time, which the first cache has meanwhile. */
static void pack_by_some_depths(tsr_kit *k, const tsr_pack *p, LLVMValueRef begin)
{
	enum { SOME = 32 };
	LLVMValueRef some = tsr_kit_int(k, SOME), zero = tsr_kit_int(k, 0);
	tsr_count d = tsr_count_begin(k, zero, p->depth, some);
	tsr_pack part = *p;
	part.along_first = tsr_kit_add(k, p->along_first, d.i);
	part.depth = tsr_kit_min(k, some, LLVMBuildNSWSub(k->b, p->depth, d.i, ""));
	pack_panels(k, p, &part, begin, d.i, -1);
	tsr_count_end(k, &d);
}

void tsr_pack_emit(tsr_kit *k, const tsr_pack *p)
{
	int turned = unit_axis(k, p->along, p->side), crossed = unit_axis(k, p->across, p->side);
	if (!p->across->unit[p->side] && turned < 0 && crossed >= 0) {
		tsr_pack_crossed(k, p, (uint32_t)crossed);
		return;
	}
	if (by_stretches(k, p)) {
		pack_lines(k, p);
		return;
	}
	LLVMValueRef begin = tsr_kit_int(k, 0);
	if (p->across->n == 1 && p->across->unit[p->side] && p->width % k->lanes == 0)
		begin = pack_by_depths(k, p);
	if (share_lines(k, p) || tsr_pack_group_piece(k, p))
		pack_by_some_depths(k, p, tsr_pack_groups(k, p));
	else
		pack_panels(k, p, p, begin, tsr_kit_int(k, 0), turned);
}
