/* Register tiles of rows where they lie: each row of A is a list of stretches, which tables say, and a list says which of them the tile has. The
 * accumulators stay in registers while all of these run. */
#include "inner.h"
#include <string.h>

enum { SHORT_RUN = 8, APART = 1024 };

/* Rounds of one stretch, each of which may ask for a line. */
static int64_t rounds_of(int64_t run) { return run > SHORT_RUN ? run / TSR_ROUND : 1; }

/* What lies so many elements behind this place of the tile's rows, which are so far apart: of some of them in each round. */
static void behind_rows(const tsr_inner *in, LLVMValueRef first, LLVMValueRef at, int64_t apart, int64_t behind)
{
	tsr_kit *k = in->k;
	LLVMValueRef round = LLVMBuildUDiv(k->b, at, tsr_kit_int(k, TSR_ROUND), ""), next = tsr_kit_add(k, at, tsr_kit_int(k, behind));
	tsr_rows_ahead(k, in->rows, tsr_kit_int(k, apart), round, LLVMBuildGEP2(k->b, k->elem, first, &next, 1, ""), tsr_kit_int(k, 0));
}

/* Steps of one stretch from `from` up to `to`, in rounds; `first`: the line that the first of them asks for, or NULL. */
static void stretch_rounds(const tsr_inner *in, const LLVMValueRef *row, LLVMValueRef b, int64_t from, int64_t to, LLVMValueRef first, LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	tsr_carried c;
	tsr_carried_begin(k, &c, in->rows * in->vecs, tsr_kit_int(k, to - from), acc);
	if (first)
		tsr_tile_ahead(in->end, tsr_kit_add(k, first, LLVMBuildUDiv(k->b, c.i, tsr_kit_int(k, TSR_ROUND), "")));
	LLVMValueRef at = tsr_kit_add(k, c.i, tsr_kit_int(k, from)), bt = tsr_kit_at(k, b, tsr_kit_mul(k, at, in->b_k));
	if (in->near_rows)           /* less than APART bytes from each other they begin at lines of different sets of the first cache, which has the next lines of all of them beside these */
		behind_rows(in, row[0], at, in->near_rows, TSR_LINE / k->elem_bytes);
	if (in->beyond)              /* what the next row of places reads */
		behind_rows(in, row[0], at, in->each_row, in->beyond);
	for (int64_t u = 0; u < TSR_ROUND; u++)      /* between the steps they would hold what is loaded before them in registers, as tile_loop says */
		tsr_inner_lines(in, tsr_kit_at(k, bt, tsr_kit_mul(k, tsr_kit_int(k, u), in->b_k)));
	for (int64_t u = 0; u < TSR_ROUND; u++) {
		LLVMValueRef step = tsr_kit_int(k, u);
		tsr_inner_step(in, row, tsr_kit_add(k, at, step), tsr_kit_at(k, bt, tsr_kit_mul(k, step, in->b_k)), acc);
	}
	tsr_carried_end(k, &c, TSR_ROUND, acc);
}

/* One stretch of all rows, `before` of which are done: a short one step by step, else some rounds that ask for lines, others and what is left. */
static void stretch(const tsr_inner *in, const LLVMValueRef *row, LLVMValueRef b, LLVMValueRef before, int64_t run, LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	int64_t rounds = rounds_of(run), looped = run > SHORT_RUN ? rounds * TSR_ROUND : 0, lines = in->end ? tsr_tile_lines(in->end) : 0;
	int64_t asking = lines < rounds ? lines * TSR_ROUND : looped;
	if (in->end && !looped)
		tsr_tile_ahead(in->end, before);
	if (looped && asking)
		stretch_rounds(in, row, b, 0, asking, tsr_kit_mul(k, before, tsr_kit_int(k, rounds)), acc);
	if (looped > asking)
		stretch_rounds(in, row, b, asking, looped, NULL, acc);
	for (int64_t u = looped; u < run; u++) {
		LLVMValueRef bt = tsr_kit_at(k, b, tsr_kit_mul(k, tsr_kit_int(k, u), in->b_k));
		tsr_inner_lines(in, bt);
		tsr_inner_step(in, row, tsr_kit_int(k, u), bt, acc);
	}
}

/* Where the tile's rows begin in the stretch at `at`: as the table says, or, where they are all the same distance apart, that far from the second one,
 * which no stretch of the list leaves out: the first may lie outside. */
static void row_places(const tsr_inner *in, const tsr_rows_tile *t, LLVMValueRef f, LLVMValueRef at, LLVMValueRef *row)
{
	tsr_kit *k = in->k;
	LLVMValueRef first = tsr_kit_mul(k, at, tsr_kit_int(k, t->capacity)), table = LLVMGetParam(f, TSR_ROWS_TABLE);
	for (uint32_t r = 0; r < (t->step ? 1 : t->rows); r++) {
		LLVMValueRef i = tsr_kit_add(k, first, tsr_kit_int(k, t->step ? 1 : r));
		row[r] = LLVMBuildLoad2(k->b, k->ptr, LLVMBuildInBoundsGEP2(k->b, k->ptr, table, &i, 1, ""), "");
	}
	LLVMValueRef second = row[0];
	for (uint32_t r = 0; t->step && r < t->rows; r++) {
		LLVMValueRef down = tsr_kit_int(k, t->step * ((int64_t)r - 1));
		row[r] = LLVMBuildGEP2(k->b, k->pairs ? LLVMInt16TypeInContext(k->context) : k->elem, second, &down, 1, "");
	}
}

/* The stretches of the tile's list from `from` up to `to`, which reach these of its rows. */
static void stretches(const tsr_inner *in, const tsr_rows_tile *t, LLVMValueRef f, LLVMValueRef from, LLVMValueRef to, tsr_way way, LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	LLVMValueRef list = LLVMGetParam(f, TSR_ROWS_LIST), row[64];
	tsr_inner part = *in;
	uint32_t first = way == TSR_WAY_BUT_FIRST;
	part.rows = t->rows - (way != TSR_WAY_ALL);
	acc += first * t->vecs;
	tsr_carried c;
	tsr_carried_begin(k, &c, part.rows * t->vecs, LLVMBuildNSWSub(k->b, to, from, ""), acc);
	LLVMValueRef before = tsr_kit_add(k, from, c.i), next = tsr_kit_add(k, before, tsr_kit_int(k, tsr_rows_ways(t->step)));
	LLVMValueRef at = LLVMBuildLoad2(k->b, k->i64, LLVMBuildInBoundsGEP2(k->b, k->i64, list, &next, 1, ""), "");
	row_places(in, t, f, at, row);
	if (in->end && t->step) {
		uint32_t each = (uint32_t)((tsr_tile_lines(in->end) + t->stretches - 1) / t->stretches);
		for (uint32_t i = 0; i < each; i++)
			tsr_tile_ahead(in->end, tsr_kit_add(k, tsr_kit_mul(k, before, tsr_kit_int(k, each)), tsr_kit_int(k, i)));
		part.end = NULL;
	}
	LLVMValueRef place = t->places ? LLVMBuildLoad2(k->b, k->i64, LLVMBuildInBoundsGEP2(k->b, k->i64, LLVMGetParam(f, TSR_ROWS_B_PLACES), &at, 1, ""), "")
		: tsr_kit_mul(k, tsr_kit_mul(k, at, tsr_kit_int(k, t->run)), in->b_k);
	stretch(&part, row + first, tsr_kit_at(k, LLVMGetParam(f, TSR_ROWS_B), place), before, t->run, acc);
	tsr_carried_end(k, &c, 1, acc);
}

/* Of each way its stretches, each of which asks for a part of the tile's end. */
static void ways(const tsr_inner *in, const tsr_rows_tile *t, LLVMValueRef f, LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	LLVMValueRef from = tsr_kit_int(k, 0);
	for (unsigned way = TSR_WAY_ALL; way < TSR_WAYS; way++) {
		LLVMValueRef i = tsr_kit_int(k, way), to = LLVMBuildLoad2(k->b, k->i64, LLVMBuildInBoundsGEP2(k->b, k->i64, LLVMGetParam(f, TSR_ROWS_LIST), &i, 1, ""), "");
		stretches(in, t, f, from, to, (tsr_way)way, acc);
		from = to;
	}
}

/* The gaps beside the lines behind so many, which no stretch has asked for. */
static void clear_rest(const tsr_tile_end *end, LLVMValueRef from)
{
	tsr_kit *k = end->k;
	tsr_count i = tsr_count_begin(k, from, tsr_kit_int(k, tsr_tile_lines(end)), tsr_kit_int(k, 1));
	tsr_tile_ahead(end, i.i);
	tsr_count_end(k, &i);
}

/* All stretches of the list, the first of which ask for the tile's end. */
static void all_stretches(const tsr_inner *in, const tsr_rows_tile *t, LLVMValueRef f, const tsr_tile_end *end, LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	int64_t rounds = rounds_of(t->run), lines = tsr_tile_lines(end), asking = (lines + rounds - 1) / rounds;
	bool slowly = !t->c.knit && (!t->c.stream || t->tail) && t->stretches * rounds >= lines;
	if (!slowly || t->c.stream)
		tsr_tile_fetch(end);
	tsr_inner asks = *in;
	asks.end = slowly ? end : NULL;
	if (t->step) {
		ways(&asks, t, f, acc);
		return;
	}
	LLVMValueRef all = LLVMBuildLoad2(k->b, k->i64, LLVMGetParam(f, TSR_ROWS_LIST), ""), first = tsr_kit_int(k, 0);
	if (slowly) {
		LLVMValueRef some = asking < t->stretches ? tsr_kit_min(k, all, tsr_kit_int(k, asking)) : all;
		stretches(&asks, t, f, first, some, TSR_WAY_ALL, acc);
		first = some;
	}
	if (!slowly || asking < t->stretches)
		stretches(in, t, f, first, all, TSR_WAY_ALL, acc);
	if (t->gaps)
		clear_rest(end, tsr_kit_mul(k, first, tsr_kit_int(k, slowly ? rounds : 0)));
}

/* How far apart rows are that are near enough for that, in elements; 0 where a stretch has no next line. */
static int64_t near_rows(const tsr_kit *k, const tsr_rows_tile *t)
{
	if (t->run * k->elem_bytes <= TSR_LINE)
		return 0;
	int64_t step = !k->pairs ? t->step : t->step % 2 ? 0 : t->step / 2;
	return step * k->elem_bytes < APART ? step : 0;
}

static void rows_body(tsr_kit *k, const void *tile, LLVMValueRef f)
{
	const tsr_rows_tile *t = tile;
	LLVMValueRef mask[16] = { 0 }, acc[512], zero = tsr_kit_int(k, 0);
	tsr_inner in = { k, t->rows, t->vecs, zero, zero, tsr_inner_stride(k, t->b_k, f, TSR_ROWS_B_K), mask, NULL,
				  t->b_lines, false, LLVMGetParam(f, TSR_ROWS_B_AHEAD), NULL, 0, 0, NULL, NULL, near_rows(k, t), false, 0, 0, NULL, false, t->padded, t->beyond, t->each };
	for (uint32_t v = 0; t->masked && v < t->vecs; v++)
		mask[v] = tsr_kit_mask(k, t->cut ? tsr_kit_int(k, t->cut) : LLVMGetParam(f, TSR_ROWS_COLS), v * k->lanes);
	for (uint32_t j = 0; j < t->rows * t->vecs; j++)
		acc[j] = tsr_kit_neutral(k, k->vec);
	tsr_tile_end end = { k, t->rows, t->vecs, t->c, LLVMGetParam(f, TSR_ROWS_C), tsr_inner_stride(k, t->c.row, f, TSR_ROWS_C_ROW),
						 LLVMGetParam(f, TSR_ROWS_C_ROWS), LLVMGetParam(f, TSR_ROWS_C_COLUMNS), mask, LLVMGetParam(f, TSR_ROWS_AROUND), t->tail, TSR_ROWS_PARAMS, t->gaps };
	all_stretches(&in, t, f, &end, acc);
	if (t->watched)
		tsr_inner_watch(&in, LLVMGetParam(f, TSR_ROWS_SEEN), acc);
	tsr_tile_store(&end, LLVMGetParam(f, TSR_ROWS_ADD), acc);
}

LLVMValueRef tsr_rows_tile_function(tsr_kit *k, const tsr_rows_tile *t)
{
	char name[400];
	snprintf(name, sizeof name, "tsr.rows.%sx%u.%ux%u%s.%s%s.%lld.%lld", tsr_prec_name(k->prec), k->lanes, t->rows, t->vecs,
			 t->masked ? "m" : "", tsr_acc_get(k->acc)->text, k->pairs ? "pairs" : tsr_op_get(k->combine)->name, (long long)t->run, (long long)t->capacity);
	snprintf(name + strlen(name), sizeof name - strlen(name), ".n%lld%s%s", (long long)t->stretches, t->places ? "p" : "", t->watched ? "w" : "");
	if (t->step)
		snprintf(name + strlen(name), sizeof name - strlen(name), ".s%lld", (long long)t->step);
	if (t->beyond)
		snprintf(name + strlen(name), sizeof name - strlen(name), ".f%lld.%lld", (long long)t->beyond, (long long)t->each);
	tsr_name_cut(name, sizeof name, t->cut, t->padded);
	tsr_name_lines(name, sizeof name, t->b_lines);
	tsr_name_stride(name, sizeof name, "bk", t->b_k);
	tsr_form_name(&t->c, name + strlen(name), sizeof name - strlen(name));
	tsr_gaps_name(t->gaps, name, sizeof name);
	LLVMTypeRef params[TSR_MOST_PARAMS] = { k->ptr, k->ptr, k->ptr, k->ptr, k->i64, k->i1, k->i64, k->i64, k->ptr, k->ptr, k->i1, k->i64, k->ptr, k->ptr };
	tsr_name_tail(k, t->tail, name, sizeof name, params + TSR_ROWS_PARAMS);
	return tsr_kit_named(k, name, params, TSR_ROWS_PARAMS + tsr_tail_params(t->tail), 4, rows_body, t);
}
