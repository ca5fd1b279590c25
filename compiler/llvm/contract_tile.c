/* Register tiles: rows x vecs vectors of C stay in registers while the loop over K runs.
 *
 * Each variant (size, masks, which strides are constants) is one internal function, shared by all contractions of the module,
 * so that a product costs a few calls of code and not a copy of the kernel per edge.  The loop over K takes four steps at once
 * with all accumulators as phis, first some rounds that ask for the tile's lines of C, then the others; nothing is left to an optimiser beyond addressing. */
#include "contract.h"
#include <string.h>

enum { SHORT_RUN = 8, APART = 1024 };
/* Bytes between rows of B beyond which a core does not see where the next ones are, and how many rows ahead they are asked for then: few, since
 * such rows share the lines of the first cache. */
enum { FAR_APART = 2048, SOON = 4 };

/* b_shift: where b is a table; of B `lines` lines a row are asked for, b_ahead further; far: `each` lines a step, see tsr_tile.ahead;
 * end: what the loop asks for line by line, or NULL; a_step: where it asks for rows of A, see tsr_tile.asks; near_rows: how far apart its rows are where it
 * asks for what follows in them, or 0. */
typedef struct inside {
	tsr_kit *k;
	uint32_t rows, vecs;
	LLVMValueRef a_row, a_k, b_k, *mask, b_shift;
	uint32_t lines;
	bool near;
	LLVMValueRef b_ahead;
	const tsr_far *far;
	uint32_t each;
	const tsr_tile_end *end;
	LLVMValueRef a_step;
	int64_t near_rows;
} inside;

static LLVMValueRef stride_value(tsr_kit *k, tsr_stride s, LLVMValueRef f, unsigned param)
{
	return s.known ? tsr_kit_int(k, s.v) : LLVMGetParam(f, param);
}

/* What lies further on in this row of B. */
static void lines_ahead(const inside *in, LLVMValueRef b)
{
	tsr_kit *k = in->k;
	for (uint32_t i = 0; i < in->lines; i++) {
		LLVMValueRef far = tsr_kit_add(k, in->b_ahead, tsr_kit_int(k, i * TSR_LINE / k->elem_bytes));
		LLVMValueRef at = LLVMBuildGEP2(k->b, k->elem, b, &far, 1, "");
		if (in->near)
			tsr_kit_fetch(k, at, false);
		else
			tsr_kit_fetch_far(k, at);
	}
}

/* One step of K: acc[row][vec] += row[row][at] * b[vec]. */
static void rows_step(const inside *in, const LLVMValueRef *row, LLVMValueRef at, LLVMValueRef b, LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	LLVMValueRef bv[16];
	for (uint32_t v = 0; v < in->vecs && tsr_kit_known(in->b_k) * k->elem_bytes > FAR_APART; v++) {
		LLVMValueRef soon = tsr_kit_int(k, SOON * tsr_kit_known(in->b_k) + v * k->lanes);
		tsr_kit_fetch(k, LLVMBuildGEP2(k->b, k->elem, b, &soon, 1, ""), false);
	}
	for (uint32_t v = 0; v < in->vecs; v++)
		bv[v] = tsr_kit_load(k, k->vec, tsr_kit_at(k, b, tsr_kit_int(k, v * k->lanes)), in->mask[v]);
	for (uint32_t r = 0; r < in->rows; r++) {
		LLVMValueRef x = tsr_kit_splat(k, tsr_kit_load(k, k->elem, tsr_kit_at(k, row[r], at), NULL));
		for (uint32_t v = 0; v < in->vecs; v++)
			acc[r * in->vecs + v] = tsr_kit_step(k, acc[r * in->vecs + v], x, bv[v]);
	}
}

/* The same of rows that are one stride apart. */
static void tile_step(const inside *in, LLVMValueRef a, LLVMValueRef b, LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	LLVMValueRef row[64];
	for (uint32_t r = 0; r < in->rows; r++)
		row[r] = tsr_kit_at(k, a, tsr_kit_mul(k, in->a_row, tsr_kit_int(k, r)));
	if (in->b_shift)
		b = tsr_kit_at(k, LLVMBuildLoad2(k->b, k->ptr, b, ""), in->b_shift);
	lines_ahead(in, b);
	rows_step(in, row, tsr_kit_int(k, 0), b, acc);
}

static LLVMValueRef b_after(const inside *in, LLVMValueRef b, unsigned steps)
{
	tsr_kit *k = in->k;
	LLVMValueRef n = tsr_kit_int(k, steps);
	return in->b_shift ? LLVMBuildInBoundsGEP2(k->b, k->ptr, b, &n, 1, "") : tsr_kit_at(k, b, tsr_kit_mul(k, in->b_k, n));
}

/* A loop over i = 0, step, .. below `limit` that carries the accumulators and what else stands behind them. */
typedef struct carried { LLVMBasicBlockRef before, body, after; LLVMValueRef i, limit, phi[512], first[512]; uint32_t n; } carried;

static void carried_begin(tsr_kit *k, carried *c, uint32_t n, LLVMValueRef limit, LLVMValueRef *acc)
{
	c->n = n;
	c->limit = limit;
	c->before = LLVMGetInsertBlock(k->b);
	c->body = LLVMAppendBasicBlockInContext(k->context, k->fn, "k");
	c->after = LLVMAppendBasicBlockInContext(k->context, k->fn, "k.end");
	LLVMBuildCondBr(k->b, LLVMBuildICmp(k->b, LLVMIntSGT, limit, tsr_kit_int(k, 0), ""), c->body, c->after);
	LLVMPositionBuilderAtEnd(k->b, c->body);
	c->i = LLVMBuildPhi(k->b, k->i64, "i");
	for (uint32_t j = 0; j < n; j++) {
		c->first[j] = acc[j];
		acc[j] = c->phi[j] = LLVMBuildPhi(k->b, LLVMTypeOf(acc[j]), "");
	}
}

static void carried_end(tsr_kit *k, carried *c, int64_t step, LLVMValueRef *acc)
{
	LLVMValueRef next = LLVMBuildNSWAdd(k->b, c->i, tsr_kit_int(k, step), "");
	LLVMBasicBlockRef from[2] = { c->before, LLVMGetInsertBlock(k->b) };
	LLVMBuildCondBr(k->b, LLVMBuildICmp(k->b, LLVMIntSLT, next, c->limit, ""), c->body, c->after);
	LLVMAddIncoming(c->i, (LLVMValueRef[]){ tsr_kit_int(k, 0), next }, from, 2);
	for (uint32_t j = 0; j < c->n; j++)
		LLVMAddIncoming(c->phi[j], (LLVMValueRef[]){ c->first[j], acc[j] }, from, 2);
	LLVMPositionBuilderAtEnd(k->b, c->after);
	for (uint32_t j = 0; j < c->n; j++) {
		LLVMValueRef out = LLVMBuildPhi(k->b, LLVMTypeOf(acc[j]), "");
		LLVMAddIncoming(out, (LLVMValueRef[]){ c->first[j], acc[j] }, from, 2);
		acc[j] = out;
	}
}

/* Behind the accumulators: where A and B are; the next rows of A; what later blocks read, and what is left of its row. */
enum { AT_A, AT_B, AT_NEXT, AT_FAR, AT_LEFT, PLACES };
/* What a round asks for of the tile's end: so many lines, of the part with its number, or counted row by row where tables say where they are. */
typedef enum asked { NOTHING, A_PART, SOME_LINES } asked;
enum { LINES = 2 };

static void ask(const inside *in, asked what, LLVMValueRef round, uint32_t i)
{
	tsr_kit *k = in->k;
	if (what == A_PART)
		tsr_part_ahead(in->end, round, LINES, i);
	else if (what == SOME_LINES)
		tsr_tile_ahead(in->end, tsr_kit_add(k, tsr_kit_mul(k, round, tsr_kit_int(k, LINES)), tsr_kit_int(k, i)));
}

/* `count` times `unroll` steps from the state in `acc`, which is moved past them. */
static void tile_loop(const inside *in, LLVMValueRef count, unsigned unroll, LLVMValueRef *acc, asked what)
{
	tsr_kit *k = in->k;
	LLVMValueRef *at = acc + (size_t)in->rows * in->vecs;
	carried c;
	carried_begin(k, &c, in->rows * in->vecs + PLACES, count, acc);
	if (in->a_step && unroll > 1)
		at[AT_NEXT] = tsr_rows_ahead(k, in->rows, in->a_row, c.i, at[AT_NEXT], in->a_step);
	LLVMValueRef a = at[AT_A], b = at[AT_B];
	for (uint32_t i = 0; i < LINES; i++)       /* no load may pass what asks: between the steps it would hold all that come before it in registers */
		ask(in, what, c.i, i);
	for (unsigned u = 0; u < unroll; u++) {
		for (uint32_t s = 0; unroll > 1 && s < in->each; s++)
			tsr_far_step(k, in->far, &at[AT_FAR], &at[AT_LEFT]);
		tile_step(in, at[AT_A], at[AT_B], acc);
		at[AT_A] = tsr_kit_at(k, a, tsr_kit_mul(k, in->a_k, tsr_kit_int(k, u + 1)));
		at[AT_B] = b_after(in, b, u + 1);
	}
	carried_end(k, &c, 1, acc);
}

/* `seen` becomes 1 where a sum is a NaN; a comparison sees two at once. */
static void watch(const inside *in, LLVMValueRef seen, const LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	LLVMValueRef any = LLVMConstNull(k->lanes_i1);
	for (uint32_t v = 0; v < in->vecs; v++) {
		LLVMValueRef column = LLVMConstNull(k->lanes_i1);
		for (uint32_t r = 0; r < in->rows; r += 2) {
			LLVMValueRef x = acc[r * in->vecs + v], y = r + 1 < in->rows ? acc[(r + 1) * in->vecs + v] : x;
			column = LLVMBuildOr(k->b, column, LLVMBuildFCmp(k->b, LLVMRealUNO, x, y, ""), "");
		}
		any = LLVMBuildOr(k->b, any, in->mask[v] ? LLVMBuildAnd(k->b, column, in->mask[v], "") : column, "");
	}
	LLVMTypeRef bits = LLVMIntTypeInContext(k->context, k->lanes);
	tsr_guard found = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntNE, LLVMBuildBitCast(k->b, any, bits, ""), LLVMConstNull(bits), ""));
	LLVMBuildStore(k->b, tsr_kit_int(k, 1), seen);
	tsr_guard_end(k, found);
}

/* Where there are too few rounds for so many lines, they come all at once. */
static void fetch_where_few(tsr_kit *k, const tsr_tile_end *end, LLVMValueRef rounds, int64_t lines)
{
	tsr_guard few = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSLT, rounds, tsr_kit_int(k, lines), ""));
	tsr_tile_fetch(end);
	tsr_guard_end(k, few);
}

/* How the loop asks for C's lines; `rounds` of it have all of them.  Those that are put together of several rows, or that threads write around the
 * caches, do not come so, and a large tile's tail then comes alone. */
static asked come_slowly(const tsr_tile *t, const tsr_tile_end *end, int64_t *rounds)
{
	bool told = t->c.stretches && !t->c.stream && !t->c.knit;
	*rounds = told ? (tsr_tile_lines(end) + LINES - 1) / LINES : t->rows * tsr_tile_parts(end, LINES);
	if (t->c.knit || (t->c.stretches && !told) || (t->c.stream && !t->tail))
		return NOTHING;
	return told ? SOME_LINES : A_PART;
}

static void tile_body(tsr_kit *k, const void *tile, LLVMValueRef f)
{
	const tsr_tile *t = tile;
	LLVMValueRef mask[16] = { 0 }, acc[512];
	tsr_far far = { t->ahead_row, t->ahead_width };
	inside in = { k, t->rows, t->vecs, stride_value(k, t->a_row, f, TSR_TILE_A_ROW), stride_value(k, t->a_k, f, TSR_TILE_A_K),
				  stride_value(k, t->b_k, f, TSR_TILE_B_K), mask, t->b_table ? LLVMGetParam(f, TSR_TILE_B_SHIFT) : NULL,
				  t->b_lines, t->b_near, LLVMGetParam(f, TSR_TILE_B_AHEAD), &far, t->ahead, NULL, t->asks ? LLVMGetParam(f, TSR_TILE_A_STEP) : NULL, 0 };
	if (t->masked)
		for (uint32_t v = 0; v < t->vecs; v++)
			mask[v] = tsr_kit_mask(k, LLVMGetParam(f, TSR_TILE_COLS), v * k->lanes);
	for (uint32_t j = 0; j < t->rows * t->vecs; j++)
		acc[j] = tsr_kit_neutral(k, k->vec);
	tsr_tile_end end = { k, t->rows, t->vecs, t->c, LLVMGetParam(f, TSR_TILE_C), stride_value(k, t->c.row, f, TSR_TILE_C_ROW),
						 LLVMGetParam(f, TSR_TILE_C_ROWS), LLVMGetParam(f, TSR_TILE_C_COLUMNS), mask, LLVMGetParam(f, TSR_TILE_AROUND), t->tail, TSR_TILE_PARAMS };
	in.end = &end;
	LLVMValueRef *at = acc + (size_t)t->rows * t->vecs, depth = LLVMGetParam(f, TSR_TILE_DEPTH);
	static const unsigned from[PLACES] = { TSR_TILE_A, TSR_TILE_B, TSR_TILE_A_AHEAD, TSR_TILE_NEXT, TSR_TILE_NEXT_LEFT };
	for (int i = 0; i < PLACES; i++)
		at[i] = LLVMGetParam(f, from[i]);
	LLVMValueRef rounds = LLVMBuildUDiv(k->b, depth, tsr_kit_int(k, TSR_ROUND), "");
	int64_t enough;
	asked slowly = come_slowly(t, &end, &enough);
	if (slowly == NOTHING || t->c.stream)
		tsr_tile_fetch(&end);
	else
		fetch_where_few(k, &end, rounds, enough);
	if (slowly != NOTHING) {
		LLVMValueRef first = tsr_kit_min(k, rounds, tsr_kit_int(k, enough));
		tile_loop(&in, first, TSR_ROUND, acc, slowly);
		rounds = LLVMBuildNSWSub(k->b, rounds, first, "");
	}
	tile_loop(&in, rounds, TSR_ROUND, acc, NOTHING);
	tile_loop(&in, LLVMBuildAnd(k->b, depth, tsr_kit_int(k, TSR_ROUND - 1), ""), 1, acc, NOTHING);
	if (t->watched)
		watch(&in, LLVMGetParam(f, TSR_TILE_SEEN), acc);
	tsr_tile_store(&end, LLVMGetParam(f, TSR_TILE_ADD), acc);
}

static void name_stride(char *out, size_t size, const char *what, tsr_stride s)
{
	size_t n = strlen(out);
	if (s.known)
		snprintf(out + n, size - n, ".%s%lld", what, (long long)s.v);
}

static void name_lines(char *out, size_t size, uint32_t lines)
{
	size_t n = strlen(out);
	if (lines)
		snprintf(out + n, size - n, ".l%u", lines);
}

/* The name and the parameters of a tile with this tail. */
static void with_tail(tsr_kit *k, const tsr_tail_plan *tail, char *name, size_t size, LLVMTypeRef *params)
{
	if (!tail)
		return;
	tsr_tail_name(tail, name, size);
	tsr_tail_types(k, tail, params);
}

LLVMValueRef tsr_tile_function(tsr_kit *k, const tsr_tile *t)
{
	char name[400];
	snprintf(name, sizeof name, TSR_TILE_PREFIX "%sx%u.%ux%u%s%s%s%s%.*s.%s%s", tsr_prec_name(k->prec), k->lanes, t->rows, t->vecs,
			 t->masked ? "m" : "", t->b_table ? "t" : "", t->b_near ? "b" : "", t->watched ? "w" : "", t->asks, "a", tsr_acc_get(k->acc)->text, tsr_op_get(k->combine)->name);
	name_lines(name, sizeof name, t->b_lines);
	if (t->ahead)
		snprintf(name + strlen(name), sizeof name - strlen(name), ".n%u.%lld.%lld", t->ahead, (long long)t->ahead_row, (long long)t->ahead_width);
	name_stride(name, sizeof name, "ar", t->a_row);
	name_stride(name, sizeof name, "ak", t->a_k);
	name_stride(name, sizeof name, "bk", t->b_k);
	tsr_form_name(&t->c, name + strlen(name), sizeof name - strlen(name));
	LLVMTypeRef params[TSR_MOST_PARAMS] = { k->ptr, k->ptr, k->ptr, k->i64, k->i64, k->i1, k->i64, k->i64, k->i64, k->i64, k->i64,
												k->ptr, k->ptr, k->i1, k->i64, k->ptr, k->i64, k->ptr, k->i64, k->ptr };
	with_tail(k, t->tail, name, sizeof name, params + TSR_TILE_PARAMS);
	return tsr_kit_named(k, name, params, TSR_TILE_PARAMS + tsr_tail_params(t->tail), 3, tile_body, t);
}

/* ---- rows where they lie ------------------------------------------------------------------------------------------- */

/* Rounds of one stretch, each of which may ask for a line. */
static int64_t rounds_of(int64_t run) { return run > SHORT_RUN ? run / TSR_ROUND : 1; }

/* Rows that lie less than APART bytes from each other begin at lines of different sets of the first cache, which has the next lines of all of them
 * beside these: of some rows in each round. */
static void next_of_rows(const inside *in, LLVMValueRef first, LLVMValueRef at)
{
	tsr_kit *k = in->k;
	LLVMValueRef round = LLVMBuildUDiv(k->b, at, tsr_kit_int(k, TSR_ROUND), ""), next = tsr_kit_add(k, at, tsr_kit_int(k, TSR_LINE / k->elem_bytes));
	tsr_rows_ahead(k, in->rows, tsr_kit_int(k, in->near_rows), round, LLVMBuildGEP2(k->b, k->elem, first, &next, 1, ""), tsr_kit_int(k, 0));
}

/* Steps of one stretch from `from` up to `to`, in rounds; `first`: the line that the first of them asks for, or NULL. */
static void stretch_rounds(const inside *in, const LLVMValueRef *row, LLVMValueRef b, int64_t from, int64_t to, LLVMValueRef first, LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	carried c;
	carried_begin(k, &c, in->rows * in->vecs, tsr_kit_int(k, to - from), acc);
	if (first)
		tsr_tile_ahead(in->end, tsr_kit_add(k, first, LLVMBuildUDiv(k->b, c.i, tsr_kit_int(k, TSR_ROUND), "")));
	LLVMValueRef at = tsr_kit_add(k, c.i, tsr_kit_int(k, from)), bt = tsr_kit_at(k, b, tsr_kit_mul(k, at, in->b_k));
	if (in->near_rows)
		next_of_rows(in, row[0], at);
	for (int64_t u = 0; u < TSR_ROUND; u++)      /* between the steps they would hold what is loaded before them in registers, as tile_loop says */
		lines_ahead(in, tsr_kit_at(k, bt, tsr_kit_mul(k, tsr_kit_int(k, u), in->b_k)));
	for (int64_t u = 0; u < TSR_ROUND; u++) {
		LLVMValueRef step = tsr_kit_int(k, u);
		rows_step(in, row, tsr_kit_add(k, at, step), tsr_kit_at(k, bt, tsr_kit_mul(k, step, in->b_k)), acc);
	}
	carried_end(k, &c, TSR_ROUND, acc);
}

/* One stretch of all rows, `before` of which are done: a short one step by step, else some rounds that ask for lines, others and what is left. */
static void stretch(const inside *in, const LLVMValueRef *row, LLVMValueRef b, LLVMValueRef before, int64_t run, LLVMValueRef *acc)
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
		lines_ahead(in, bt);
		rows_step(in, row, tsr_kit_int(k, u), bt, acc);
	}
}

/* Where the tile's rows begin in the stretch at `at`: as the table says, or, where they are all the same distance apart, that far from the second one,
 * which no stretch of the list leaves out: the first may lie outside. */
static void row_places(const inside *in, const tsr_rows_tile *t, LLVMValueRef f, LLVMValueRef at, LLVMValueRef *row)
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
		row[r] = LLVMBuildGEP2(k->b, k->elem, second, &down, 1, "");
	}
}

/* The stretches of the tile's list from `from` up to `to`, which reach these of its rows. */
static void stretches(const inside *in, const tsr_rows_tile *t, LLVMValueRef f, LLVMValueRef from, LLVMValueRef to, tsr_way way, LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	LLVMValueRef list = LLVMGetParam(f, TSR_ROWS_LIST), row[64];
	inside part = *in;
	uint32_t first = way == TSR_WAY_BUT_FIRST;
	part.rows = t->rows - (way != TSR_WAY_ALL);
	acc += first * t->vecs;
	carried c;
	carried_begin(k, &c, part.rows * t->vecs, LLVMBuildNSWSub(k->b, to, from, ""), acc);
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
	carried_end(k, &c, 1, acc);
}

/* Of each way its stretches, each of which asks for a part of the tile's end. */
static void ways(const inside *in, const tsr_rows_tile *t, LLVMValueRef f, LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	LLVMValueRef from = tsr_kit_int(k, 0);
	for (unsigned way = TSR_WAY_ALL; way < TSR_WAYS; way++) {
		LLVMValueRef i = tsr_kit_int(k, way), to = LLVMBuildLoad2(k->b, k->i64, LLVMBuildInBoundsGEP2(k->b, k->i64, LLVMGetParam(f, TSR_ROWS_LIST), &i, 1, ""), "");
		stretches(in, t, f, from, to, (tsr_way)way, acc);
		from = to;
	}
}

/* All stretches of the list, the first of which ask for the tile's end. */
static void all_stretches(const inside *in, const tsr_rows_tile *t, LLVMValueRef f, const tsr_tile_end *end, LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	int64_t rounds = rounds_of(t->run), lines = tsr_tile_lines(end), asking = (lines + rounds - 1) / rounds;
	bool slowly = !t->c.knit && (!t->c.stream || t->tail) && t->stretches * rounds >= lines;
	if (!slowly || t->c.stream)
		tsr_tile_fetch(end);
	inside asks = *in;
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
}

static void rows_body(tsr_kit *k, const void *tile, LLVMValueRef f)
{
	const tsr_rows_tile *t = tile;
	LLVMValueRef mask[16] = { 0 }, acc[512], zero = tsr_kit_int(k, 0);
	inside in = { k, t->rows, t->vecs, zero, zero, stride_value(k, t->b_k, f, TSR_ROWS_B_K), mask, NULL,
				  t->b_lines, false, LLVMGetParam(f, TSR_ROWS_B_AHEAD), NULL, 0, NULL, NULL, t->step * k->elem_bytes < APART ? t->step : 0 };
	for (uint32_t v = 0; t->masked && v < t->vecs; v++)
		mask[v] = tsr_kit_mask(k, LLVMGetParam(f, TSR_ROWS_COLS), v * k->lanes);
	for (uint32_t j = 0; j < t->rows * t->vecs; j++)
		acc[j] = tsr_kit_neutral(k, k->vec);
	tsr_tile_end end = { k, t->rows, t->vecs, t->c, LLVMGetParam(f, TSR_ROWS_C), stride_value(k, t->c.row, f, TSR_ROWS_C_ROW),
						 LLVMGetParam(f, TSR_ROWS_C_ROWS), LLVMGetParam(f, TSR_ROWS_C_COLUMNS), mask, LLVMGetParam(f, TSR_ROWS_AROUND), t->tail, TSR_ROWS_PARAMS };
	all_stretches(&in, t, f, &end, acc);
	if (t->watched)
		watch(&in, LLVMGetParam(f, TSR_ROWS_SEEN), acc);
	tsr_tile_store(&end, LLVMGetParam(f, TSR_ROWS_ADD), acc);
}

LLVMValueRef tsr_rows_tile_function(tsr_kit *k, const tsr_rows_tile *t)
{
	char name[400];
	snprintf(name, sizeof name, "tsr.rows.%sx%u.%ux%u%s.%s%s.%lld.%lld", tsr_prec_name(k->prec), k->lanes, t->rows, t->vecs,
			 t->masked ? "m" : "", tsr_acc_get(k->acc)->text, tsr_op_get(k->combine)->name, (long long)t->run, (long long)t->capacity);
	snprintf(name + strlen(name), sizeof name - strlen(name), ".n%lld%s%s", (long long)t->stretches, t->places ? "p" : "", t->watched ? "w" : "");
	if (t->step)
		snprintf(name + strlen(name), sizeof name - strlen(name), ".s%lld", (long long)t->step);
	name_lines(name, sizeof name, t->b_lines);
	name_stride(name, sizeof name, "bk", t->b_k);
	tsr_form_name(&t->c, name + strlen(name), sizeof name - strlen(name));
	LLVMTypeRef params[TSR_MOST_PARAMS] = { k->ptr, k->ptr, k->ptr, k->ptr, k->i64, k->i1, k->i64, k->i64, k->ptr, k->ptr, k->i1, k->i64, k->ptr, k->ptr };
	with_tail(k, t->tail, name, sizeof name, params + TSR_ROWS_PARAMS);
	return tsr_kit_named(k, name, params, TSR_ROWS_PARAMS + tsr_tail_params(t->tail), 4, rows_body, t);
}
