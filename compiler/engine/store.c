/* How the sums of a register tile reach C.
 *
 * Where rows are one stride apart and columns lie side by side, C's pointer and that stride say all.  Else two tables do: for each row
 * where it begins, and for each vector of columns the stretches of C that it falls into:
 *
 *     rows[row] = offset, columns[vector][stretch] = { offset of lane 0, as if the whole vector lay in this stretch; lanes below the next one }
 *
 * so that any number of axes in either class is written by vectors, those that reach over the end of a stretch in parts.  A part
 * without lanes has an offset of C all the same.  Where every vector has as many lanes in each of its stretches (`part`), these are loaded and stored
 * as short vectors, without masks.
 *
 * Where rows follow each other in C but are no whole lines (`knit`), the second table has one offset for each stretch of columns, and
 * vectors that fill lines are put together of the registers of several rows.
 *
 * A tail is applied by K's last block, to what C would become; only tiles without tables have one. */
#include "kit.h"

typedef struct ends { LLVMValueRef row[64], offset[16][TSR_MOST_STRETCHES], mask[16][TSR_MOST_STRETCHES]; } ends;

static LLVMValueRef cell(tsr_kit *k, LLVMValueRef table, uint32_t i)
{
	LLVMValueRef at = tsr_kit_int(k, i);
	return LLVMBuildLoad2(k->b, k->i64, LLVMBuildInBoundsGEP2(k->b, k->i64, table, &at, 1, ""), "");
}

/* What the tables say; without them the same from strides. */
static void read_ends(const tsr_tile_end *t, ends *e)
{
	tsr_kit *k = t->k;
	uint32_t n = t->form.stretches;
	for (uint32_t r = 0; r < t->rows; r++)
		e->row[r] = tsr_kit_at(k, t->c, n ? cell(k, t->row_table, r) : tsr_kit_mul(k, t->row, tsr_kit_int(k, r)));
	for (uint32_t v = 0; v < t->vecs; v++) {
		e->offset[v][0] = tsr_kit_int(k, v * k->lanes);
		e->mask[v][0] = t->mask[v];
		LLVMValueRef before = NULL;
		for (uint32_t s = 0; s < n; s++) {
			uint32_t at = 2 * (v * n + s);
			e->offset[v][s] = cell(k, t->column_table, at);
			LLVMValueRef below = t->form.whole || t->form.part ? NULL : tsr_kit_mask(k, cell(k, t->column_table, at + 1), 0);
			e->mask[v][s] = before ? LLVMBuildXor(k->b, below, before, "") : below;
			before = below;
		}
	}
}

/* Where lane 0 would lie may be outside of C. */
static LLVMValueRef part_of(const tsr_tile_end *t, const ends *e, uint32_t r, uint32_t v, uint32_t s)
{
	return LLVMBuildGEP2(t->k->b, t->k->elem, e->row[r], (LLVMValueRef *)&e->offset[v][s], 1, "");
}

/* The vector's lanes that lie in one stretch, where these are the same everywhere: where, and which. */
static LLVMValueRef equal_place(const tsr_tile_end *t, const ends *e, uint32_t r, uint32_t v, uint32_t s)
{
	LLVMValueRef lane = tsr_kit_int(t->k, s * t->form.part);
	return LLVMBuildGEP2(t->k->b, t->k->elem, part_of(t, e, r, v, s), &lane, 1, "");
}

static LLVMValueRef equal_part(const tsr_tile_end *t, LLVMValueRef vector, uint32_t s)
{
	LLVMValueRef pick[64];
	for (uint32_t i = 0; i < t->form.part; i++)
		pick[i] = LLVMConstInt(t->k->i32, s * t->form.part + i, false);
	return LLVMBuildShuffleVector(t->k->b, vector, vector, LLVMConstVector(pick, t->form.part), "");
}

/* A vector of what lies in its stretches. */
static LLVMValueRef put_together(const tsr_tile_end *t, const ends *e, uint32_t r, uint32_t v)
{
	tsr_kit *k = t->k;
	uint32_t part = t->form.part;
	LLVMValueRef all = NULL, wide[64], pick[64];
	for (uint32_t s = 0; s * part < k->lanes; s++) {
		for (uint32_t i = 0; i < k->lanes; i++) {
			wide[i] = LLVMConstInt(k->i32, i % part, false);
			pick[i] = LLVMConstInt(k->i32, i / part == s ? k->lanes + i : i, false);
		}
		LLVMValueRef x = tsr_kit_load(k, LLVMVectorType(k->elem, part), equal_place(t, e, r, v, s), NULL);
		x = LLVMBuildShuffleVector(k->b, x, x, LLVMConstVector(wide, k->lanes), "");
		all = all ? LLVMBuildShuffleVector(k->b, all, x, LLVMConstVector(pick, k->lanes), "") : x;
	}
	return all;
}

static uint32_t parts(const tsr_tile_end *t) { return t->form.stretches ? t->form.stretches : 1; }

static LLVMValueRef old_sums(const tsr_tile_end *t, const ends *e, uint32_t r, uint32_t v)
{
	tsr_kit *k = t->k;
	if (t->form.part)
		return put_together(t, e, r, v);
	LLVMValueRef old = tsr_kit_load(k, k->vec, part_of(t, e, r, v, 0), e->mask[v][0]);
	for (uint32_t s = 1; s < parts(t); s++) {
		LLVMValueRef more = tsr_kit_load(k, k->vec, part_of(t, e, r, v, s), e->mask[v][s]);
		old = LLVMBuildSelect(k->b, e->mask[v][s], more, old, "");
	}
	return old;
}

/* `add`: whether C's old sums count, as a value. */
static void store_tail(const tsr_tile_end *t, LLVMValueRef add, const LLVMValueRef *acc)
{
	tsr_kit *k = t->k;
	ends e;
	LLVMValueRef sum[512], neutral = tsr_kit_neutral(k, k->vec);
	read_ends(t, &e);
	for (uint32_t r = 0; r < t->rows; r++)
		for (uint32_t v = 0; v < t->vecs; v++) {
			LLVMValueRef *to = &sum[r * t->vecs + v];
			*to = acc[r * t->vecs + v];
			if (!t->tail->whole)
				*to = tsr_kit_acc(k, LLVMBuildSelect(k->b, add, old_sums(t, &e, r, v), neutral, ""), *to);
			else if (k->acc == TSR_ACC_SUB)
				*to = tsr_kit_acc(k, neutral, *to);
		}
	if (t->form.stream) {
		tsr_guard around = tsr_guard_begin(k, t->around);
		tsr_tail_store(t, sum, true);
		LLVMBuildRetVoid(k->b);
		LLVMPositionBuilderAtEnd(k->b, around.after);
	}
	tsr_tail_store(t, sum, false);
	LLVMBuildRetVoid(k->b);
}

/* ---- lines of several rows ------------------------------------------------------------------------------------------- */

/* Lanes `to` .. `limit` of a vector are a row's columns from `first` on. */
static LLVMValueRef row_part(const tsr_tile_end *t, const LLVMValueRef *row, uint32_t first, uint32_t to, uint32_t limit)
{
	uint32_t lanes = t->k->lanes, v = first / lanes, next = (first + limit - to - 1) / lanes;
	LLVMValueRef pick[64];
	for (uint32_t i = 0; i < lanes; i++)
		pick[i] = i >= to && i < limit ? LLVMConstInt(t->k->i32, first + i - to - v * lanes, false) : LLVMGetPoison(t->k->i32);
	return LLVMBuildShuffleVector(t->k->b, row[v], row[next], LLVMConstVector(pick, lanes), "");
}

/* The vector that lies `at` elements behind where a stretch of the row begins; no vector holds parts of more than two rows. */
static LLVMValueRef knitted(const tsr_tile_end *t, const LLVMValueRef *acc, uint32_t row, uint32_t stretch, uint32_t at)
{
	uint32_t lanes = t->k->lanes, run = t->form.knit, in = at % run, mine = run - in < lanes ? run - in : lanes;
	const LLVMValueRef *first = acc + (row + at / run) * t->vecs;
	LLVMValueRef x = row_part(t, first, stretch * run + in, 0, mine), pick[64];
	if (mine == lanes)
		return x;
	LLVMValueRef y = row_part(t, first + t->vecs, stretch * run, mine, lanes);
	for (uint32_t i = 0; i < lanes; i++)
		pick[i] = LLVMConstInt(t->k->i32, i < mine ? i : lanes + i, false);
	return LLVMBuildShuffleVector(t->k->b, x, y, LLVMConstVector(pick, lanes), "");
}

/* Rows that fill whole lines together. */
static uint32_t rows_of_lines(const tsr_tile_end *t)
{
	uint32_t line = TSR_LINE / t->k->elem_bytes, rows = 1;
	while (rows * t->form.knit % line)
		rows++;
	return rows;
}

/* Does `put` for each vector of the tile, as it lies in C. */
typedef void knit_put(const tsr_tile_end *t, LLVMValueRef *acc, uint32_t row, uint32_t stretch, uint32_t at, LLVMValueRef place);

static void each_knitted(const tsr_tile_end *t, LLVMValueRef *acc, knit_put *put)
{
	tsr_kit *k = t->k;
	uint32_t rows = rows_of_lines(t), run = t->form.knit;
	for (uint32_t r = 0; r < t->rows; r += rows) {
		LLVMValueRef row = tsr_kit_at(k, t->c, cell(k, t->row_table, r));
		for (uint32_t s = 0; s * run < t->vecs * k->lanes; s++) {
			LLVMValueRef from = tsr_kit_at(k, row, cell(k, t->column_table, s));
			for (uint32_t at = 0; at < rows * run; at += k->lanes)
				put(t, acc, r, s, at, tsr_kit_at(k, from, tsr_kit_int(k, at)));
		}
	}
}

static LLVMValueRef knitted_sum(const tsr_tile_end *t, LLVMValueRef *acc, uint32_t row, uint32_t stretch, uint32_t at, LLVMValueRef old)
{
	LLVMValueRef sum = knitted(t, acc, row, stretch, at);
	return old || t->k->acc == TSR_ACC_SUB ? tsr_kit_acc(t->k, old ? old : tsr_kit_neutral(t->k, t->k->vec), sum) : sum;
}

static void knit_set(const tsr_tile_end *t, LLVMValueRef *acc, uint32_t row, uint32_t stretch, uint32_t at, LLVMValueRef place)
{
	tsr_kit_store(t->k, knitted_sum(t, acc, row, stretch, at, NULL), place, NULL);
}

static void knit_around(const tsr_tile_end *t, LLVMValueRef *acc, uint32_t row, uint32_t stretch, uint32_t at, LLVMValueRef place)
{
	tsr_kit_store_around(t->k, knitted_sum(t, acc, row, stretch, at, NULL), place);
}

static void knit_add(const tsr_tile_end *t, LLVMValueRef *acc, uint32_t row, uint32_t stretch, uint32_t at, LLVMValueRef place)
{
	tsr_kit_store(t->k, knitted_sum(t, acc, row, stretch, at, tsr_kit_load(t->k, t->k->vec, place, NULL)), place, NULL);
}

static void knit_fetch(const tsr_tile_end *t, LLVMValueRef *acc, uint32_t row, uint32_t stretch, uint32_t at, LLVMValueRef place)
{
	(void)acc, (void)row, (void)stretch, (void)at;
	tsr_kit_fetch(t->k, place, true);
}

/* ---- all of a tile --------------------------------------------------------------------------------------------------- */

static void store(const tsr_tile_end *t, LLVMValueRef *acc, bool add, bool around)
{
	if (t->form.knit) {
		each_knitted(t, acc, add ? knit_add : around ? knit_around : knit_set);
		return;
	}
	tsr_kit *k = t->k;
	ends e;
	read_ends(t, &e);
	for (uint32_t r = 0; r < t->rows; r++)
		for (uint32_t v = 0; v < t->vecs; v++) {
			LLVMValueRef sum = acc[r * t->vecs + v];
			if (add || k->acc == TSR_ACC_SUB)
				sum = tsr_kit_acc(k, add ? old_sums(t, &e, r, v) : tsr_kit_neutral(k, k->vec), sum);
			if (around)
				tsr_kit_store_around(k, sum, part_of(t, &e, r, v, 0));
			for (uint32_t s = 0; !around && s < parts(t); s++) {
				if (t->form.part)
					tsr_kit_store(k, equal_part(t, sum, s), equal_place(t, &e, r, v, s), NULL);
				else
					tsr_kit_store(k, sum, part_of(t, &e, r, v, s), e.mask[v][s]);
			}
		}
}

void tsr_part_store(const tsr_tile_end *t, bool add, LLVMValueRef *acc) { store(t, acc, add, false); }

static void fetch_c(const tsr_tile_end *t)
{
	tsr_kit *k = t->k;
	ends e;
	tsr_guard fetch = { 0 };
	if (t->form.stream)
		fetch = tsr_guard_begin(k, LLVMBuildNot(k->b, t->around, ""));
	tsr_tile_end first = *t;
	first.form.whole = true;
	if (t->form.knit)
		each_knitted(t, NULL, knit_fetch);
	else
		read_ends(&first, &e);
	for (uint32_t r = 0; r < t->rows && !t->form.knit; r++)
		for (uint32_t v = 0; v < t->vecs; v++)
			tsr_kit_fetch(k, part_of(t, &e, r, v, 0), true);
	if (t->form.stream)
		tsr_guard_end(k, fetch);
}

void tsr_tile_fetch(const tsr_tile_end *t)
{
	if (!tsr_tail_passes(t->tail))
		fetch_c(t);
	tsr_tail_fetch(t);
}

void tsr_tile_store(const tsr_tile_end *t, LLVMValueRef add, LLVMValueRef *acc)
{
	tsr_kit *k = t->k;
	if (t->tail) {
		LLVMBasicBlockRef last = LLVMAppendBasicBlockInContext(k->context, k->fn, "last");
		LLVMBasicBlockRef part = t->tail->whole ? NULL : LLVMAppendBasicBlockInContext(k->context, k->fn, "part");
		if (part)
			LLVMBuildCondBr(k->b, LLVMGetParam(k->fn, t->param), last, part);
		else
			LLVMBuildBr(k->b, last);
		LLVMPositionBuilderAtEnd(k->b, last);
		store_tail(t, add, acc);
		if (!part)
			return;
		LLVMPositionBuilderAtEnd(k->b, part);
	}
	LLVMBasicBlockRef more = LLVMAppendBasicBlockInContext(k->context, k->fn, "add");
	LLVMBasicBlockRef set = LLVMAppendBasicBlockInContext(k->context, k->fn, "set");
	LLVMBuildCondBr(k->b, add, more, set);
	LLVMPositionBuilderAtEnd(k->b, more);
	store(t, acc, true, false);
	LLVMBuildRetVoid(k->b);
	LLVMPositionBuilderAtEnd(k->b, set);
	if (t->form.stream) {
		tsr_guard around = tsr_guard_begin(k, t->around);
		store(t, acc, false, true);
		LLVMBuildRetVoid(k->b);
		LLVMPositionBuilderAtEnd(k->b, around.after);
	}
	store(t, acc, false, false);
	LLVMBuildRetVoid(k->b);
}

void tsr_form_name(const tsr_c_form *f, char *out, size_t size)
{
	if (f->knit)
		snprintf(out, size, ".k%u%s", f->knit, f->stream ? "s" : "");
	else if (f->stretches)
		snprintf(out, size, ".c%u%s%s%s", f->stretches, f->whole ? "w" : "", f->part ? "p" : "", f->stream ? "s" : "");
	else if (f->row.known)
		snprintf(out, size, ".cr%lld%s", (long long)f->row.v, f->stream ? "s" : "");
}
