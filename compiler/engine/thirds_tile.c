/* Products of thirds (thirds.c): of a step's panels, or of A's planes, by matrix registers; and of panels that are odd by vectors, of the numbers that their thirds are.  An operand whose numbers are in bf16 as they are has one
 * third alone, and is multiplied by all of the other's. */
#include "inner.h"
#include "private.h"

enum { LANES = 16, SQUARE = LANES * LANES, THIRDS = 3, TILE = 2 * LANES, DEPTHS = 2 * LANES, STEP = THIRDS * 2 * SQUARE };

static LLVMValueRef further(tsr_kit *k, LLVMValueRef p, int64_t n) { return tsr_kit_at(k, p, tsr_kit_int(k, n)); }

static LLVMValueRef bytes_further(tsr_kit *k, LLVMValueRef p, LLVMValueRef bytes) { return LLVMBuildGEP2(k->b, LLVMInt8TypeInContext(k->context), p, &bytes, 1, ""); }

/* Further by some of A's thirds. */
static LLVMValueRef third_at(tsr_kit *k, LLVMValueRef p, uint32_t third, const tsr_thirds_rows *a) { return bytes_further(k, p, tsr_kit_mul(k, a->third, tsr_kit_int(k, third))); }

/* A line of A's next step. */
static LLVMValueRef next_line(tsr_kit *k, const tsr_thirds_form *form, const tsr_thirds_rows *a, uint32_t line)
{
	if (!form->planes)
		return further(k, a->half[0], STEP + line * LANES);
	uint32_t row = line / THIRDS;
	return bytes_further(k, third_at(k, a->next[row / LANES], line % THIRDS, a), tsr_kit_mul(k, a->row, tsr_kit_int(k, row % LANES)));
}

/* Some lines of the next step, between two instructions that multiply: panels come from the second cache, and planes of many channels do; of runs a line has several windows. */
static void ask(tsr_kit *k, const tsr_thirds_form *form, const tsr_thirds_rows *a, LLVMValueRef b, uint32_t *line)
{
	enum { LINES_AT_ONCE = 4, OF_THIRD = 2 * SQUARE / LANES };
	for (uint32_t i = 0; i < LINES_AT_ONCE; i++, ++*line) {
		if (*line < form->a * OF_THIRD && !form->runs)
			tsr_kit_fetch(k, next_line(k, form, a, *line), false);
		if (*line < form->b * OF_THIRD)
			tsr_kit_fetch(k, further(k, b, STEP + *line * LANES), false);
	}
}

/* The largest product comes last, so that what a number times 1 is sums up to has all its digits; and each has an operand of the one before. */
void tsr_thirds_multiply(tsr_kit *k, const tsr_thirds_form *form, const tsr_thirds_rows *a, LLVMValueRef b, uint32_t rows, uint32_t columns)
{
	static const struct { uint8_t a, b; } order[] = { { 2, 0 }, { 1, 0 }, { 1, 1 }, { 0, 1 }, { 0, 2 }, { 0, 0 } };
	LLVMValueRef row = tsr_kit_int(k, LANES * 4);
	uint32_t line = 0, of_a = THIRDS, of_b = THIRDS;
	for (uint32_t p = 0; p < sizeof order / sizeof *order; p++) {
		if (order[p].a >= form->a || order[p].b >= form->b)
			continue;
		for (uint32_t i = 0; i < rows && order[p].a != of_a; i++)
			tsr_matrix_load(k, TSR_MATRIX_A + i, third_at(k, a->half[i], order[p].a, a), a->row);
		for (uint32_t j = 0; j < columns && order[p].b != of_b; j++)
			tsr_matrix_load(k, TSR_MATRIX_B + j, further(k, b, order[p].b * 2 * SQUARE + j * SQUARE), row);
		of_a = order[p].a, of_b = order[p].b;
		for (uint32_t i = 0; i < rows; i++)
			for (uint32_t j = 0; j < columns; j++) {
				tsr_matrix_multiply(k, i, j);
				ask(k, form, a, b, &line);
			}
	}
}

/* Of a step's depths in the planes one of the numbers of its tap. */
static LLVMValueRef tap(tsr_kit *k, LLVMValueRef f, LLVMValueRef step, uint32_t what)
{
	LLVMValueRef at = tsr_kit_add(k, tsr_kit_mul(k, step, tsr_kit_int(k, TSR_TAP_NUMBERS)), tsr_kit_int(k, what));
	return LLVMBuildLoad2(k->b, k->i64, LLVMBuildInBoundsGEP2(k->b, k->i64, LLVMGetParam(f, TSR_MATRIX_TAPS), &at, 1, ""), "");
}

/* Where both halves of a step begin: in runs a place has another number of bytes where rows are multiplied together. */
static void in_planes(tsr_kit *k, LLVMValueRef f, LLVMValueRef step, bool runs, LLVMValueRef half[2])
{
	static const uint32_t from[2] = { TSR_MATRIX_OF_A, TSR_MATRIX_SECOND }, place[2] = { TSR_MATRIX_PLACE, TSR_MATRIX_SECOND_PLACE };
	for (uint32_t i = 0; i < 2; i++) {
		half[i] = bytes_further(k, LLVMGetParam(f, from[i]), tap(k, f, step, TSR_TAP_BYTES));
		if (runs)
			half[i] = bytes_further(k, half[i], LLVMBuildMul(k->b, LLVMGetParam(f, place[i]), tap(k, f, step, TSR_TAP_PLACE), ""));
	}
}

tsr_thirds_rows tsr_thirds_rows_at(tsr_kit *k, LLVMValueRef f, LLVMValueRef step, const tsr_thirds_form *form)
{
	tsr_thirds_rows out = { .row = form->planes ? LLVMGetParam(f, TSR_MATRIX_ROW) : tsr_kit_int(k, LANES * 4), .third = tsr_kit_int(k, (form->planes ? LANES : 2 * SQUARE) * 4) };
	if (form->planes) {
		if (form->runs)
			out.row = tap(k, f, step, TSR_TAP_PLACE), out.third = tap(k, f, step, TSR_TAP_THIRD);
		in_planes(k, f, step, form->runs, out.half);
		in_planes(k, f, tsr_kit_add(k, step, tsr_kit_int(k, 1)), form->runs, out.next);
		return out;
	}
	out.half[0] = tsr_kit_at(k, LLVMGetParam(f, TSR_MATRIX_OF_A), tsr_kit_mul(k, step, tsr_kit_int(k, STEP)));
	out.half[1] = further(k, out.half[0], SQUARE);
	return out;
}

/* Sixteen numbers whose thirds, so many, are half `half` of what lies there. */
static LLVMValueRef whole(tsr_kit *k, LLVMValueRef at, uint32_t half, uint32_t thirds, LLVMValueRef third_bytes)
{
	LLVMTypeRef ints = LLVMVectorType(k->i32, LANES), numbers = LLVMVectorType(LLVMFloatTypeInContext(k->context), LANES);
	LLVMValueRef third[THIRDS], cut = tsr_kit_splat(k, LLVMConstInt(k->i32, half ? 0xffff0000u : 16, false));
	for (uint32_t t = 0; t < thirds; t++) {
		LLVMValueRef both = LLVMBuildLoad2(k->b, ints, bytes_further(k, at, tsr_kit_mul(k, third_bytes, tsr_kit_int(k, t))), "");
		LLVMSetAlignment(both, 2);
		third[t] = LLVMBuildBitCast(k->b, half ? LLVMBuildAnd(k->b, both, cut, "") : LLVMBuildShl(k->b, both, cut, ""), numbers, "");
	}
	return thirds < THIRDS ? third[0] : LLVMBuildFAdd(k->b, third[0], LLVMBuildFAdd(k->b, third[1], third[2], ""), "");
}

/* Room for a step's numbers of one operand, in rows of a tile or a step. */
static LLVMValueRef step_room(tsr_kit *k)
{
	LLVMValueRef room = tsr_kit_table(k, TILE * DEPTHS / 2);
	LLVMSetAlignment(room, TSR_LINE);
	return room;
}

/* A step's products of some rows. */
static void odd_rows(tsr_kit *k, LLVMValueRef a, LLVMValueRef b, LLVMValueRef sums, LLVMValueRef add)
{
	enum { ROWS = 8 };
	LLVMTypeRef number = LLVMFloatTypeInContext(k->context), vector = LLVMVectorType(number, LANES);
	LLVMValueRef acc[2 * ROWS];
	tsr_count i = tsr_count_begin(k, tsr_kit_int(k, 0), tsr_kit_int(k, TILE), tsr_kit_int(k, ROWS));
	LLVMValueRef row = tsr_kit_mul(k, i.i, tsr_kit_int(k, TILE)), to = tsr_kit_at(k, sums, row), from = tsr_kit_at(k, a, row);
	for (uint32_t j = 0; j < 2 * ROWS; j++)
		acc[j] = LLVMBuildSelect(k->b, add, tsr_kit_load(k, vector, further(k, to, j * LANES), NULL), LLVMConstNull(vector), "");
	tsr_carried c;
	tsr_carried_begin(k, &c, 2 * ROWS, tsr_kit_int(k, DEPTHS), acc);
	LLVMValueRef column[2];
	for (uint32_t j = 0; j < 2; j++)
		column[j] = tsr_kit_load(k, vector, tsr_kit_at(k, further(k, b, j * LANES), tsr_kit_mul(k, c.i, tsr_kit_int(k, TILE))), NULL);
	for (uint32_t r = 0; r < ROWS; r++) {
		LLVMValueRef x = tsr_kit_splat(k, tsr_kit_load(k, number, tsr_kit_at(k, further(k, from, r * DEPTHS), c.i), NULL));
		for (uint32_t j = 0; j < 2; j++)
			acc[2 * r + j] = tsr_kit_intrinsic(k, "llvm.fma", &vector, 1, (LLVMValueRef[]){ x, column[j], acc[2 * r + j] }, 3);
	}
	tsr_carried_end(k, &c, 1, acc);
	for (uint32_t j = 0; j < 2 * ROWS; j++)
		tsr_kit_store(k, acc[j], further(k, to, j * LANES), NULL);
	tsr_count_end(k, &i);
}

/* Of a step's pairs, in which neighbours stand, those whose first or second one is among so many depths; all, if these are. */
static LLVMValueRef counted(tsr_kit *k, LLVMValueRef depths, uint32_t half)
{
	LLVMValueRef pairs = LLVMBuildLShr(k->b, tsr_kit_add(k, depths, tsr_kit_int(k, 1 - (int64_t)half)), tsr_kit_int(k, 1), "");
	return tsr_kit_mask(k, pairs, 0);
}

/* By vectors, step by step, of the numbers that both panels' thirds are; `which`: their form. */
void tsr_thirds_odd_body(tsr_kit *given, const void *which, LLVMValueRef f)
{
	const tsr_thirds_form *form = which;
	tsr_kit lanes = *given, *k = &lanes;
	lanes.lanes = LANES;
	LLVMValueRef zero = tsr_kit_int(k, 0), all = tsr_kit_int(k, LANES), of_a = step_room(k), of_b = step_room(k);
	tsr_count s = tsr_count_begin(k, zero, LLVMGetParam(f, TSR_MATRIX_STEPS), tsr_kit_int(k, 1));
	tsr_thirds_rows a = tsr_thirds_rows_at(k, f, s.i, form);
	LLVMValueRef b = tsr_kit_at(k, LLVMGetParam(f, TSR_MATRIX_OF_B), tsr_kit_mul(k, s.i, tsr_kit_int(k, STEP)));
	tsr_count r = tsr_count_begin(k, zero, tsr_kit_int(k, TILE), tsr_kit_int(k, 1));
	LLVMValueRef from = tsr_kit_mul(k, r.i, all), pair = LLVMBuildAnd(k->b, r.i, tsr_kit_int(k, LANES - 1), ""), columns = LLVMBuildAnd(k->b, r.i, all, "");
	LLVMValueRef first = LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntEQ, columns, zero, ""), a.half[0], a.half[1], ""), row = bytes_further(k, first, tsr_kit_mul(k, pair, a.row));
	LLVMValueRef third_of_b = tsr_kit_int(k, 2 * SQUARE * 4);
	for (uint32_t half = 0; half < 2; half++) {
		LLVMValueRef of_row = whole(k, row, half, form->a, a.third);
		if (form->planes)             /* what is behind them are other windows' numbers, which times 0 may be a NaN */
			of_row = LLVMBuildSelect(k->b, counted(k, tap(k, f, s.i, TSR_TAP_DEPTHS), half), of_row, LLVMConstNull(LLVMTypeOf(of_row)), "");
		tsr_kit_store(k, of_row, tsr_kit_at(k, further(k, of_a, half * LANES), tsr_kit_mul(k, r.i, tsr_kit_int(k, DEPTHS))), NULL);
		tsr_kit_store(k, whole(k, tsr_kit_at(k, b, from), half, form->b, third_of_b), tsr_kit_at(k, further(k, of_b, half * LANES * TILE), tsr_kit_add(k, tsr_kit_mul(k, pair, tsr_kit_int(k, TILE)), columns)), NULL);
	}
	tsr_count_end(k, &r);
	odd_rows(k, of_a, of_b, LLVMGetParam(f, TSR_MATRIX_SUMS), LLVMBuildOr(k->b, LLVMGetParam(f, TSR_MATRIX_ADD), LLVMBuildICmp(k->b, LLVMIntSGT, s.i, zero, ""), ""));
	tsr_count_end(k, &s);
	LLVMBuildRetVoid(k->b);
}
