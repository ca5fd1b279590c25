/* Sums that wait for each other: where N follows B's order and C lies side by side along another of its loops, tiles store into a block of
 * their own, whose rows are
 *
 *     rows of M x { columns that are turned together: a part of the loop along which C lies side by side x N's last loop }
 *
 * and when all that is summed has been added there, squares of the two loops are turned in registers (turn.c), so that B is read as it lies
 * and C is written by lines. */
#include "private.h"

enum { PAGE = 4096 };

/* A line more than the columns, so that rows stay at lines, and do not fall into the same few of a cache. */
int64_t tsr_engine_waiting_row(const tsr_engine *g)
{
	int64_t line = TSR_LINE / g->k.elem_bytes, row = ((g->s->turn ? g->s->turn : g->s->join) + line - 1) / line * line + (g->s->turn ? line : 0);
	return row * g->k.elem_bytes % PAGE < TSR_LINE ? row + line : row;
}

LLVMValueRef tsr_engine_waiting(tsr_engine *g, const tsr_block *bl, LLVMValueRef m, LLVMValueRef n)
{
	tsr_kit *k = &g->k;
	if (g->s->join)
		m = LLVMBuildNSWSub(k->b, m, bl->m, "");
	LLVMValueRef row = tsr_kit_mul(k, m, tsr_kit_int(k, tsr_engine_waiting_row(g)));
	return tsr_kit_at(k, g->waiting, tsr_kit_add(k, row, LLVMBuildNSWSub(k->b, n, bl->turned, "")));
}

/* ---- what is read next ------------------------------------------------------------------------------------------------- */

/* What the next block reads of B comes into the second cache while tiles compute, in the order of memory, some lines for each step of K.
 * Packed: where a stretch of columns with all their depths lies in one piece. */
static void next_panels(tsr_engine *g, LLVMValueRef ir, LLVMValueRef n_at, tsr_tile *tile, LLVMValueRef *next)
{
	tsr_kit *k = &g->k;
	const tsr_group *n = &g->cls[TSR_CLASS_N], *along = &g->cls[TSR_CLASS_K];
	int64_t depth = tsr_kit_known(along->count), line = TSR_LINE / k->elem_bytes, rows = tsr_kit_known(g->cls[TSR_CLASS_M].count), run = tsr_group_run(n, TSR_SIDE_B);
	int64_t apart = tsr_kit_known(n->at[n->n - 1].stride[TSR_SIDE_B]), deep = tsr_kit_known(along->at[0].stride[TSR_SIDE_B]);
	if (!(apart == 1 && deep == run) && !(deep == 1 && apart == depth))
		return;
	LLVMValueRef nr = tsr_kit_int(k, g->s->nr), mr = tsr_kit_int(k, g->s->mr), tiles = tsr_kit_int(k, (rows + g->s->mr - 1) / g->s->mr);
	LLVMValueRef at = tsr_kit_min(k, tsr_kit_add(k, n_at, tsr_kit_int(k, g->s->nc)), LLVMBuildNSWSub(k->b, n->count, nr, ""));
	LLVMValueRef in = LLVMBuildURem(k->b, at, tsr_kit_int(k, run), "");
	LLVMValueRef place = tsr_kit_add(k, tsr_kit_mul(k, LLVMBuildUDiv(k->b, in, nr, ""), tiles), LLVMBuildUDiv(k->b, ir, mr, ""));
	LLVMValueRef first = tsr_group_offset(k, n, TSR_SIDE_B, LLVMBuildNSWSub(k->b, at, in, ""));
	tile->ahead = 1;
	*next = tsr_kit_at(k, g->base[TSR_SIDE_B], tsr_kit_add(k, first, tsr_kit_mul(k, place, tsr_kit_int(k, depth * line))));
}

/* In place: a stretch's rows, one for each depth, of which the tiles of this one ask for equal parts. */
static void next_rows(tsr_engine *g, LLVMValueRef n_at, tsr_tile *tile, LLVMValueRef *next, LLVMValueRef *left)
{
	tsr_kit *k = &g->k;
	const tsr_group *n = &g->cls[TSR_CLASS_N], *along = &g->cls[TSR_CLASS_K];
	int64_t depth = tsr_kit_known(along->count), line = TSR_LINE / k->elem_bytes, run = tsr_group_run(n, TSR_SIDE_B);
	int64_t deep = tsr_kit_known(along->at[0].stride[TSR_SIDE_B]);
	if (run % line || deep < run)
		return;
	LLVMValueRef columns = tsr_kit_int(k, run), lines = tsr_kit_int(k, run / line), in = LLVMBuildURem(k->b, n_at, columns, "");
	LLVMValueRef at = tsr_kit_min(k, tsr_kit_add(k, LLVMBuildNSWSub(k->b, n_at, in, ""), columns), LLVMBuildNSWSub(k->b, n->count, columns, ""));
	LLVMValueRef place = tsr_kit_mul(k, LLVMBuildUDiv(k->b, in, tsr_kit_int(k, line), ""), tsr_kit_int(k, depth));
	LLVMValueRef row = LLVMBuildUDiv(k->b, place, lines, ""), beside = tsr_kit_mul(k, LLVMBuildURem(k->b, place, lines, ""), tsr_kit_int(k, line));
	LLVMValueRef first = tsr_kit_add(k, tsr_group_offset(k, n, TSR_SIDE_B, at), tsr_kit_add(k, tsr_kit_mul(k, row, tsr_kit_int(k, deep)), beside));
	tile->ahead = (uint32_t)((int64_t)g->s->nr / line);
	tile->ahead_row = deep, tile->ahead_width = run;
	*next = tsr_kit_at(k, g->base[TSR_SIDE_B], first);
	*left = LLVMBuildNSWSub(k->b, columns, beside, "");
}

void tsr_engine_ahead(tsr_engine *g, LLVMValueRef ir, LLVMValueRef n_at, tsr_tile *tile, LLVMValueRef *next, LLVMValueRef *left)
{
	const tsr_group *along = &g->cls[TSR_CLASS_K];
	if (!g->s->turn || along->n != 1 || tsr_kit_known(along->count) > g->s->kc || tsr_group_run(&g->cls[TSR_CLASS_N], TSR_SIDE_B) <= 0)
		return;
	if (g->s->pack_b)
		next_panels(g, ir, n_at, tile, next);
	else
		next_rows(g, n_at, tile, next, left);
}

/* The first tile of a column would wait for its panel of B: of a packed block that the second cache does not hold, the tiles of the column before ask
 * for it together; behind the last one comes the first, with the next rows (4 to 6 % of large contractions, two threads). */
void tsr_engine_next_panel(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef jr, LLVMValueRef b, tsr_tile *tile, LLVMValueRef *next)
{
	enum { ROUNDS = 12, MOST = 4, LARGE = 2 };
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	int64_t line = TSR_LINE / k->elem_bytes, rows = tsr_kit_known(g->cls[TSR_CLASS_M].count), columns = tsr_kit_known(g->cls[TSR_CLASS_N].count);
	int64_t block = (columns > 0 && columns < s->nc ? columns : s->nc) * s->kc * k->elem_bytes;
	if (!s->pack_a || !s->pack_b || s->turn || s->cols || rows < 0 || block < LARGE * g->e->target->l2)
		return;
	int64_t tiles = (rows < s->mc ? rows : s->mc) / s->mr, lines = s->nr * s->kc / line;
	if (!tiles || lines > tiles * ROUNDS * MOST)
		return;
	tile->soon = (uint32_t)((lines + tiles * ROUNDS - 1) / (tiles * ROUNDS));
	LLVMValueRef nr = tsr_kit_int(k, s->nr), more = LLVMBuildICmp(k->b, LLVMIntSLT, tsr_kit_add(k, jr, nr), bl->cols, "");
	LLVMValueRef panel = tsr_kit_mul(k, LLVMBuildSelect(k->b, more, nr, LLVMBuildNSWSub(k->b, tsr_kit_int(k, 0), jr, ""), ""), bl->b_each);
	LLVMValueRef part = tsr_kit_mul(k, tsr_tile_number(k, ir, s->mr), tsr_kit_int(k, tile->soon * ROUNDS * line));
	LLVMValueRef at = tsr_kit_add(k, panel, part);
	*next = LLVMBuildGEP2(k->b, k->elem, b, &at, 1, "");
}

/* Rows that come from memory meet a copy of few columns, which is near, and nothing else brings them in time. */
static bool asks_for_rows(const tsr_engine *g, int64_t rows)
{
	int64_t columns = tsr_kit_known(g->cls[TSR_CLASS_N].count), depth = tsr_kit_known(g->cls[TSR_CLASS_K].count);
	return g->e->target->panels_ahead && columns > 0 && columns <= TSR_DOTS_GROUP && tsr_target_far(g->e->target, rows * depth * g->k.elem_bytes);
}

/* Tiles of dot products have the same columns for all rows, and ask for the next ones in a group's walk, so that memory works meanwhile: each for one column of four, or where there are fewer tiles,
 * and a processor is known to be better off, for its part of them; one tile, or as many as the run says, for those of the next group. */
void tsr_engine_next_dots(tsr_engine *g, LLVMValueRef ir, LLVMValueRef b, tsr_tile *tile, LLVMValueRef *next)
{
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	int64_t rows = tsr_kit_known(g->cls[TSR_CLASS_M].count), tiles = rows < 0 ? 1 : (rows + s->mr - 1) / s->mr;
	tile->next_rows = s->dots && s->pack_b && rows > s->mr && asks_for_rows(g, rows);
	bool all = k->target->panels_ahead && tiles < TSR_DOTS_GROUP;
	int64_t columns = tsr_kit_known(g->cls[TSR_CLASS_N].count), depth = tsr_kit_known(g->cls[TSR_CLASS_K].count);
	if (!s->dots || s->pack_b || rows == 0 || (tiles == 1 && !all) || !tsr_target_far(g->e->target, columns * depth * k->elem_bytes))
		return;
	LLVMValueRef turn = LLVMBuildURem(k->b, LLVMBuildUDiv(k->b, ir, tsr_kit_int(k, s->mr), ""), tsr_kit_int(k, TSR_DOTS_GROUP), "");
	tile->ahead = all ? (TSR_DOTS_GROUP + (uint32_t)tiles - 1) / (uint32_t)tiles : 1;
	int64_t each = all ? tile->ahead : s->nr / TSR_DOTS_GROUP;
	LLVMValueRef column = tsr_kit_add(k, tsr_kit_int(k, all && tiles == 1 ? TSR_DOTS_GROUP : s->nr), tsr_kit_mul(k, turn, tsr_kit_int(k, each)));
	LLVMValueRef at = tsr_kit_mul(k, column, tsr_kit_int(k, tile->b_column));
	*next = LLVMBuildGEP2(k->b, k->elem, b, &at, 1, "");
}

/* B as it lies, in elements of C, of which neighbours in bf16 are one where pairs of them are multiplied: `each` of its own. */
typedef struct lying { LLVMValueRef base; bool turned; int64_t row, each; } lying;

static lying as_it_lies(tsr_engine *g)
{
	const tsr_group *n = &g->cls[TSR_CLASS_N], *along = &g->cls[TSR_CLASS_K];
	if (g->pairs) {
		tsr_narrow_b b = tsr_narrow_b_of(g);
		return (lying){ b.row % 2 ? NULL : b.base, b.turned, b.row / 2, 2 };
	}
	bool plain = n->n == 1 && along->n == 1 && n->unit[TSR_SIDE_B];
	return (lying){ plain ? g->base[TSR_SIDE_B] : NULL, false, plain ? tsr_kit_known(along->at[0].stride[TSR_SIDE_B]) : 0, 1 };
}

/* Few rows by a large B: a block takes not much longer to be multiplied than to come from memory, so tiles ask for the rows of the next one, in the
 * order in which they lie, and packing finds them in the second cache. */
void tsr_engine_next_block(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef jr, tsr_tile *tile, LLVMValueRef *next, LLVMValueRef *left)
{
	tsr_kit *k = &g->k;
	const tsr_schedule *s = g->s;
	const tsr_group *n = &g->cls[TSR_CLASS_N], *along = &g->cls[TSR_CLASS_K];
	int64_t line = TSR_LINE / k->elem_bytes, rows = tsr_kit_known(g->cls[TSR_CLASS_M].count), columns = tsr_kit_known(n->count), depth = tsr_kit_known(along->count);
	if (!k->target->streams || !s->pack_b || s->turn || s->cols || s->rows || rows < 0 || columns < s->nc || depth < s->kc || tile->soon)
		return;
	lying b = as_it_lies(g);
	int64_t tiles = (rows + s->mr - 1) / s->mr, rounds = s->kc / b.each / TSR_ROUND, within = (b.turned ? s->kc : s->nc) / b.each, width = (within + line - 1) / line * line;
	if (rows > s->mc || !b.base || b.row * b.each < (b.turned ? depth : columns) || !rounds || columns * depth / b.each * k->elem_bytes <= 2 * g->e->target->l2)
		return;
	int64_t each = (s->nr * s->kc / b.each / line + tiles - 1) / tiles;
	tile->later = (uint32_t)((each + rounds - 1) / rounds);
	tile->ahead_row = b.row, tile->ahead_width = width;
	LLVMValueRef down = tsr_kit_add(k, bl->kfirst, bl->depth), more = LLVMBuildICmp(k->b, LLVMIntSLT, down, along->count, "");
	LLVMValueRef from_k = LLVMBuildSelect(k->b, more, down, tsr_kit_int(k, 0), ""), from_n = LLVMBuildSelect(k->b, more, bl->n, tsr_kit_add(k, bl->n, bl->cols), "");
	LLVMValueRef tile_at = tsr_kit_add(k, tsr_kit_mul(k, LLVMBuildUDiv(k->b, jr, tsr_kit_int(k, s->nr), ""), tsr_kit_int(k, tiles)), tsr_tile_number(k, ir, s->mr));
	LLVMValueRef first = tsr_kit_mul(k, tile_at, tsr_kit_int(k, each)), per = tsr_kit_int(k, width / line);
	LLVMValueRef beside = tsr_kit_mul(k, LLVMBuildURem(k->b, first, per, ""), tsr_kit_int(k, line)), across = b.turned ? from_k : from_n;
	across = b.each > 1 ? LLVMBuildUDiv(k->b, across, tsr_kit_int(k, b.each), "") : across;
	LLVMValueRef at = tsr_kit_add(k, tsr_kit_mul(k, tsr_kit_add(k, b.turned ? from_n : from_k, LLVMBuildUDiv(k->b, first, per, "")), tsr_kit_int(k, b.row)), tsr_kit_add(k, across, beside));
	*next = LLVMBuildGEP2(k->b, k->elem, b.base, &at, 1, "");
	*left = LLVMBuildNSWSub(k->b, tsr_kit_int(k, width), beside, "");
}

/* ---- on the way to C --------------------------------------------------------------------------------------------------- */

/* The axis of N along which C lies side by side: what comes behind it is turned with it. */
static uint32_t part_of(const tsr_group *n)
{
	uint32_t i = n->n - 1;
	while (tsr_kit_known(n->at[i].stride[TSR_SIDE_C]) != 1)
		i--;
	return i;
}

/* Strides of C that are lines, but for this axis of M and this one of N. */
static bool by_lines(const tsr_engine *g, uint32_t but_m, uint32_t but_n)
{
	int64_t line = TSR_LINE / g->k.elem_bytes;
	for (int cls = TSR_CLASS_M; cls <= TSR_CLASS_N; cls++)
		for (uint32_t i = 0; i < g->cls[cls].n; i++)
			if (tsr_kit_known(g->cls[cls].at[i].stride[TSR_SIDE_C]) % line && i != (cls == TSR_CLASS_M ? but_m : but_n))
				return false;
	return g->stream;
}

/* All squares of these columns in one row: those that lie side by side in C one after the other. */
static void turn_row(tsr_engine *g, LLVMValueRef from, LLVMValueRef to, bool around)
{
	tsr_kit *k = &g->k;
	const tsr_group *n = &g->cls[TSR_CLASS_N];
	uint32_t at = part_of(n);
	const tsr_span_axis *part = &n->at[at], *last = &n->at[n->n - 1];
	tsr_group between = tsr_group_axes(n, at + 1, n->n - 1);
	int64_t places = (tsr_kit_known(part->extent) + k->lanes - 1) / k->lanes * k->lanes;
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), lanes = tsr_kit_int(k, k->lanes);
	LLVMValueRef width = tsr_kit_int(k, tsr_turn_squares(k, around) * k->lanes), table = tsr_kit_table(k, (uint32_t)places), others = one;
	for (uint32_t i = 0; i < between.n; i++)
		others = tsr_kit_mul(k, others, between.at[i].extent);
	LLVMValueRef step = last->stride[TSR_SIDE_C], turn = tsr_turn_function(k, around), behind = tsr_kit_mul(k, others, last->extent);
	tsr_count l = tsr_count_begin(k, zero, tsr_kit_int(k, places), one);
	LLVMValueRef row = tsr_kit_min(k, l.i, LLVMBuildNSWSub(k->b, part->extent, one, ""));
	LLVMBuildStore(k->b, tsr_kit_at(k, from, tsr_kit_mul(k, row, behind)), LLVMBuildInBoundsGEP2(k->b, k->ptr, table, &l.i, 1, ""));
	tsr_count_end(k, &l);
	tsr_count o = tsr_count_begin(k, zero, others, one), q = tsr_count_begin(k, zero, last->extent, lanes), p = tsr_count_begin(k, zero, part->extent, width);
	LLVMValueRef place = tsr_kit_add(k, p.i, tsr_group_offset(k, &between, TSR_SIDE_C, o.i));
	LLVMValueRef arg[TSR_TURN_PARAMS] = { LLVMBuildInBoundsGEP2(k->b, k->ptr, table, &p.i, 1, ""), tsr_kit_at(k, to, tsr_kit_add(k, place, tsr_kit_mul(k, q.i, step))),
										  tsr_kit_add(k, tsr_kit_mul(k, o.i, last->extent), q.i), step,
										  tsr_kit_min(k, lanes, LLVMBuildNSWSub(k->b, part->extent, p.i, "")),
										  tsr_kit_min(k, lanes, LLVMBuildNSWSub(k->b, last->extent, q.i, "")) };
	LLVMBuildCall2(k->b, LLVMGlobalGetValueType(turn), turn, arg, TSR_TURN_PARAMS, "");
	tsr_count_end(k, &p);
	tsr_count_end(k, &q);
	tsr_count_end(k, &o);
}

static void turn_rows(tsr_engine *g, const tsr_block *bl, bool around)
{
	tsr_kit *k = &g->k;
	LLVMValueRef columns = tsr_group_offset(k, &g->cls[TSR_CLASS_N], TSR_SIDE_C, bl->turned);
	tsr_count m = tsr_count_begin(k, tsr_kit_int(k, 0), g->cls[TSR_CLASS_M].count, tsr_kit_int(k, 1));
	LLVMValueRef to = tsr_kit_at(k, g->base[TSR_SIDE_C], tsr_kit_add(k, columns, tsr_group_offset(k, &g->cls[TSR_CLASS_M], TSR_SIDE_C, m.i)));
	turn_row(g, tsr_engine_waiting(g, bl, m.i, bl->turned), to, around);
	tsr_count_end(k, &m);
}

/* `deliver` of all that waits, around the caches where C begins at a line and `lines` are written. */
static void deliver(tsr_engine *g, const tsr_block *bl, bool lines, void (*rows)(tsr_engine *, const tsr_block *, bool))
{
	tsr_kit *k = &g->k;
	if (!lines) {
		rows(g, bl, false);
		return;
	}
	LLVMValueRef past = LLVMBuildAnd(k->b, LLVMBuildPtrToInt(k->b, g->base[TSR_SIDE_C], k->i64, ""), tsr_kit_int(k, TSR_LINE - 1), "");
	LLVMValueRef aligned = LLVMBuildICmp(k->b, LLVMIntEQ, past, tsr_kit_int(k, 0), "");
	tsr_guard around = tsr_guard_begin(k, aligned);
	rows(g, bl, true);
	tsr_guard_end(k, around);
	tsr_guard within = tsr_guard_begin(k, LLVMBuildNot(k->b, aligned, ""));
	rows(g, bl, false);
	tsr_guard_end(k, within);
}

void tsr_engine_turn(tsr_engine *g, const tsr_block *bl)
{
	uint32_t part = part_of(&g->cls[TSR_CLASS_N]);
	bool lines = tsr_kit_known(g->cls[TSR_CLASS_N].at[part].extent) % (TSR_LINE / g->k.elem_bytes) == 0;
	deliver(g, bl, lines && by_lines(g, UINT32_MAX, part), turn_rows);
}

/* ---- rows that are joined ---------------------------------------------------------------------------------------------------- */

static void store_within(tsr_kit *k, LLVMValueRef value, LLVMValueRef at) { tsr_kit_store(k, value, at, NULL); }

static uint32_t common(uint32_t x, uint32_t y) { return y ? common(y, x % y) : x; }

/* The vector that begins `at` elements behind those at `from`, which are rows of `run` one behind the other in C. */
static LLVMValueRef joined(tsr_kit *k, LLVMValueRef from, LLVMValueRef row, uint32_t run, uint32_t at)
{
	uint32_t first = at / run, in = at % run, lanes = k->lanes;
	LLVMValueRef place[2], part[2], pick[64];
	for (uint32_t i = 0; i < 2; i++) {
		place[i] = tsr_kit_add(k, tsr_kit_mul(k, row, tsr_kit_int(k, first + i)), tsr_kit_int(k, (int64_t)in - (int64_t)i * run));
		if (i == 0 || in + lanes > run)
			part[i] = tsr_kit_load(k, k->vec, LLVMBuildGEP2(k->b, k->elem, from, &place[i], 1, ""), NULL);
	}
	if (in + lanes <= run)
		return part[0];
	for (uint32_t i = 0; i < lanes; i++)
		pick[i] = LLVMConstInt(k->i32, in + i < run ? i : lanes + i, false);
	return LLVMBuildShuffleVector(k->b, part[0], part[1], LLVMConstVector(pick, lanes), "");
}

/* The last axis of M lies around the last one of N in C: so many rows as fill whole vectors at a time. */
static void join_rows(tsr_engine *g, const tsr_block *bl, bool around)
{
	tsr_kit *k = &g->k;
	const tsr_group *m = &g->cls[TSR_CLASS_M], *n = &g->cls[TSR_CLASS_N];
	uint32_t run = (uint32_t)tsr_kit_known(n->at[n->n - 1].extent), rows = (uint32_t)tsr_kit_known(m->at[m->n - 1].extent);
	rows = common(rows, (uint32_t)g->s->mc);
	uint32_t unit = k->lanes / common(k->lanes, run), whole = rows / unit * unit;
	LLVMValueRef zero = tsr_kit_int(k, 0), width = tsr_kit_int(k, run), height = tsr_kit_int(k, rows), row = tsr_kit_int(k, tsr_engine_waiting_row(g));
	tsr_count s = tsr_count_begin(k, zero, tsr_kit_int(k, g->s->join), width);
	LLVMValueRef columns = tsr_group_offset(k, n, TSR_SIDE_C, tsr_kit_add(k, bl->turned, s.i));
	tsr_count r = tsr_count_begin(k, zero, bl->rows, height);
	LLVMValueRef to = tsr_kit_at(k, g->base[TSR_SIDE_C], tsr_kit_add(k, columns, tsr_group_offset(k, m, TSR_SIDE_C, tsr_kit_add(k, bl->m, r.i))));
	tsr_count u = tsr_count_begin(k, zero, tsr_kit_int(k, whole), tsr_kit_int(k, unit));
	LLVMValueRef from = tsr_kit_at(k, g->waiting, tsr_kit_add(k, tsr_kit_mul(k, tsr_kit_add(k, r.i, u.i), row), s.i));
	LLVMValueRef out = tsr_kit_at(k, to, tsr_kit_mul(k, u.i, width));
	for (uint32_t at = 0; at < unit * run; at += k->lanes)
		(around ? tsr_kit_store_around : store_within)(k, joined(k, from, row, run, at), tsr_kit_at(k, out, tsr_kit_int(k, at)));
	tsr_count_end(k, &u);
	tsr_count_end(k, &r);
	tsr_count_end(k, &s);
}

void tsr_engine_join(tsr_engine *g, const tsr_block *bl)
{
	deliver(g, bl, by_lines(g, g->cls[TSR_CLASS_M].n - 1, g->cls[TSR_CLASS_N].n - 1), join_rows);
}
