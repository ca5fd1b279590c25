/* Lines asked for while a tile's loop runs, some a round: those of C that the tile will end in, and a part of what tiles after this
 * one read of A or of B.  Asked for all at once they would take every line that a core can wait for, and B's, which come from the second
 * cache meanwhile, would have to wait as well.  What says where the next line is has to cost next to nothing: where two threads share a core, as
 * they do on most of what is rented, each gets half of the instructions that a cycle can begin, and a loop that has many beside its
 * multiply-adds takes as much longer. */
#include "kit.h"

static int64_t line(const tsr_kit *k) { return TSR_LINE / k->elem_bytes; }

/* Pointers here may leave their array. */
static LLVMValueRef beyond(tsr_kit *k, LLVMValueRef p, LLVMValueRef n) { return LLVMBuildGEP2(k->b, k->elem, p, &n, 1, ""); }

/* ---- lines by their number ------------------------------------------------------------------------------------------------------- */

static uint32_t lines_of_row(const tsr_tile_end *t) { return (t->vecs * t->k->lanes * t->k->elem_bytes + TSR_LINE - 1) / TSR_LINE; }

uint32_t tsr_tile_lines(const tsr_tile_end *t) { return t->rows * lines_of_row(t); }

static void line_place(const tsr_tile_end *t, LLVMValueRef at, LLVMValueRef *row, LLVMValueRef *column)
{
	tsr_kit *k = t->k;
	LLVMValueRef each = tsr_kit_int(k, lines_of_row(t)), last = tsr_kit_min(k, at, tsr_kit_int(k, tsr_tile_lines(t) - 1));
	*row = LLVMBuildUDiv(k->b, last, each, "");
	*column = tsr_kit_mul(k, LLVMBuildURem(k->b, last, each, ""), tsr_kit_int(k, line(k)));
}

/* What one of a tile's tables says. */
static LLVMValueRef told(tsr_kit *k, LLVMValueRef table, LLVMValueRef i)
{
	return LLVMBuildLoad2(k->b, k->i64, LLVMBuildInBoundsGEP2(k->b, k->i64, table, &i, 1, ""), "");
}

void tsr_line_ahead(const tsr_tile_end *t, LLVMValueRef row, LLVMValueRef column)
{
	tsr_kit *k = t->k;
	LLVMValueRef across = column, down = row;
	if (t->form.stretches) {
		LLVMValueRef vector = tsr_kit_mul(k, LLVMBuildUDiv(k->b, column, tsr_kit_int(k, k->lanes), ""), tsr_kit_int(k, 2 * t->form.stretches));
		down = told(k, t->row_table, row);
		across = told(k, t->column_table, vector);
	} else
		down = tsr_kit_mul(k, row, t->row);
	LLVMValueRef at = beyond(k, t->c, tsr_kit_add(k, down, across));
	if (!t->form.stream && !tsr_tail_passes(t->tail))
		tsr_kit_fetch(k, at, t->form.stretches != 0);
	if (t->gaps)
		tsr_gaps_clear(t, at);
	tsr_tail_ahead(t, row, column);
}

uint32_t tsr_tile_parts(const tsr_tile_end *t, uint32_t lines) { return (lines_of_row(t) + lines - 1) / lines; }

void tsr_part_ahead(const tsr_tile_end *t, LLVMValueRef part, uint32_t lines, uint32_t i)
{
	tsr_kit *k = t->k;
	LLVMValueRef each = tsr_kit_int(k, tsr_tile_parts(t, lines)), row = LLVMBuildUDiv(k->b, part, each, "");
	LLVMValueRef first = tsr_kit_mul(k, LLVMBuildURem(k->b, part, each, ""), tsr_kit_int(k, lines * line(k)));
	if (i >= lines_of_row(t))
		return;
	LLVMValueRef column = tsr_kit_add(k, first, tsr_kit_int(k, i * line(k)));
	if (t->gaps && lines_of_row(t) % lines)      /* what is asked for may be none of the row's, what is cleared may not */
		column = tsr_kit_min(k, column, tsr_kit_int(k, (lines_of_row(t) - 1) * line(k)));
	tsr_line_ahead(t, row, column);
}

void tsr_tile_ahead(const tsr_tile_end *t, LLVMValueRef at)
{
	LLVMValueRef row, column;
	line_place(t, at, &row, &column);
	tsr_line_ahead(t, row, column);
}

/* ---- what later tiles read of A ----------------------------------------------------------------------------------------------- */

LLVMValueRef tsr_rows_ahead(tsr_kit *k, uint32_t rows, LLVMValueRef row, LLVMValueRef round, LLVMValueRef at, LLVMValueRef step)
{
	enum { TURNS = 4 };
	uint32_t each = (rows + TURNS - 1) / TURNS;
	LLVMValueRef turn = LLVMBuildAnd(k->b, round, tsr_kit_int(k, TURNS - 1), "");
	LLVMValueRef first = beyond(k, at, tsr_kit_mul(k, row, tsr_kit_mul(k, turn, tsr_kit_int(k, each))));
	for (uint32_t i = 0; i < each; i++)
		tsr_kit_fetch_far(k, beyond(k, first, tsr_kit_mul(k, row, tsr_kit_int(k, i))));
	return LLVMBuildGEP2(k->b, LLVMInt8TypeInContext(k->context), at, &step, 1, "");
}

LLVMValueRef tsr_row_ahead(tsr_kit *k, uint32_t lines, LLVMValueRef row, LLVMValueRef at)
{
	for (uint32_t i = 0; i < lines; i++)
		tsr_kit_fetch_far(k, beyond(k, at, tsr_kit_int(k, i * line(k))));
	return beyond(k, at, row);
}

/* ---- what later blocks read ------------------------------------------------------------------------------------------------ */

void tsr_far_step(tsr_kit *k, const tsr_far *x, LLVMValueRef *at, LLVMValueRef *left)
{
	tsr_kit_fetch_far(k, *at);
	LLVMValueRef to = beyond(k, *at, tsr_kit_int(k, line(k)));
	if (x->row == x->width) {
		*at = to;
		return;
	}
	LLVMValueRef less = LLVMBuildNSWSub(k->b, *left, tsr_kit_int(k, line(k)), ""), zero = tsr_kit_int(k, 0);
	LLVMValueRef down = LLVMBuildICmp(k->b, LLVMIntSLE, less, zero, "");
	*at = LLVMBuildSelect(k->b, down, beyond(k, to, tsr_kit_int(k, x->row - x->width)), to, "");
	*left = LLVMBuildSelect(k->b, down, tsr_kit_int(k, x->width), less, "");
}
