/* Lines asked for while a tile's loop runs, one or two a round: those of C that the tile will end in, then a part of what tiles after this
 * one read of A or of B.  Asked for all at once they would take every line that a core can wait for, and B's, which come from the second
 * cache meanwhile, would have to wait as well. */
#include "contract.h"

static int64_t line(const tsr_kit *k) { return TSR_LINE / k->elem_bytes; }

/* Pointers here may leave their array. */
static LLVMValueRef beyond(tsr_kit *k, LLVMValueRef p, LLVMValueRef n) { return LLVMBuildGEP2(k->b, k->elem, p, &n, 1, ""); }

int64_t tsr_ahead_lines(const tsr_kit *k, const tsr_ahead *x)
{
	return tsr_kit_known(x->c.rows) * ((tsr_kit_known(x->c.width) + line(k) - 1) / line(k));
}

void tsr_ahead_enter(tsr_kit *k, tsr_ahead *x)
{
	x->start[0] = x->c.first;
	x->start[1] = beyond(k, x->c.first, x->c.width);
	x->start[2] = tsr_kit_int(k, 0);
	x->total = tsr_kit_int(k, tsr_ahead_lines(k, x));
	if (x->next.first)
		x->total = tsr_kit_add(k, x->total, LLVMBuildNSWMul(k->b, x->next.rows, LLVMBuildUDiv(k->b, x->next.width, tsr_kit_int(k, line(k)), ""), ""));
}

/* The state: the line, the end of its row, which line it is. */
void tsr_ahead_begin(tsr_kit *k, tsr_ahead *x)
{
	for (int i = 0; i < TSR_AHEAD_STATE; i++)
		x->state[i] = x->phi[i] = LLVMBuildPhi(k->b, i < 2 ? k->ptr : k->i64, "ahead");
}

void tsr_ahead_step(tsr_kit *k, tsr_ahead *x)
{
	LLVMValueRef at = x->state[0], end = x->state[1], row = x->c.row, width = x->c.width, of_c = tsr_kit_int(k, tsr_ahead_lines(k, x));
	tsr_kit_fetch(k, at, false);
	LLVMValueRef place = tsr_kit_add(k, x->state[2], tsr_kit_int(k, 1));
	if (x->next.first) {
		LLVMValueRef behind = LLVMBuildICmp(k->b, LLVMIntSGT, place, of_c, "");
		row = LLVMBuildSelect(k->b, behind, x->next.row, row, "");
		width = LLVMBuildSelect(k->b, behind, x->next.width, width, "");
	}
	LLVMValueRef to = beyond(k, at, tsr_kit_int(k, line(k))), below = beyond(k, end, row);
	LLVMValueRef down = LLVMBuildICmp(k->b, LLVMIntUGE, to, end, "");
	to = LLVMBuildSelect(k->b, down, beyond(k, below, LLVMBuildNeg(k->b, width, "")), to, "");
	end = LLVMBuildSelect(k->b, down, below, end, "");
	if (x->next.first) {
		LLVMValueRef over = LLVMBuildICmp(k->b, LLVMIntEQ, place, of_c, "");
		to = LLVMBuildSelect(k->b, over, x->next.first, to, "");
		end = LLVMBuildSelect(k->b, over, beyond(k, x->next.first, x->next.width), end, "");
	}
	LLVMValueRef some = LLVMBuildICmp(k->b, LLVMIntSLT, place, x->total, "");
	x->state[0] = LLVMBuildSelect(k->b, some, to, at, "");
	x->state[1] = LLVMBuildSelect(k->b, some, end, x->state[1], "");
	x->state[2] = place;
}

void tsr_ahead_end(const tsr_ahead *x, LLVMBasicBlockRef *from)
{
	for (int i = 0; i < TSR_AHEAD_STATE; i++)
		LLVMAddIncoming(x->phi[i], (LLVMValueRef[]){ x->start[i], x->state[i] }, from, 2);
}

/* ---- lines by their number ------------------------------------------------------------------------------------------------------- */

static uint32_t lines_of_row(const tsr_tile_end *t) { return (t->vecs * t->k->lanes * t->k->elem_bytes + TSR_LINE - 1) / TSR_LINE; }

uint32_t tsr_tile_lines(const tsr_tile_end *t) { return t->rows * lines_of_row(t); }

void tsr_line_place(const tsr_tile_end *t, LLVMValueRef at, LLVMValueRef *row, LLVMValueRef *column)
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

void tsr_tile_ahead(const tsr_tile_end *t, LLVMValueRef at)
{
	tsr_kit *k = t->k;
	LLVMValueRef row, column;
	tsr_line_place(t, at, &row, &column);
	if (t->form.stretches) {
		LLVMValueRef vector = tsr_kit_mul(k, LLVMBuildUDiv(k->b, column, tsr_kit_int(k, k->lanes), ""), tsr_kit_int(k, 2 * t->form.stretches));
		row = told(k, t->row_table, row);
		column = told(k, t->column_table, vector);
	} else
		row = tsr_kit_mul(k, row, t->row);
	tsr_kit_fetch(k, beyond(k, t->c, tsr_kit_add(k, row, column)), t->form.stretches != 0);
	tsr_tail_ahead(t, at);
}

/* ---- what later blocks read ------------------------------------------------------------------------------------------------ */

void tsr_far_begin(tsr_kit *k, tsr_far *x)
{
	for (int i = 0; i < TSR_FAR_STATE; i++)
		x->state[i] = x->phi[i] = LLVMBuildPhi(k->b, i ? k->i64 : k->ptr, "far");
}

void tsr_far_step(tsr_kit *k, tsr_far *x)
{
	tsr_kit_fetch_far(k, x->state[0]);
	LLVMValueRef to = beyond(k, x->state[0], tsr_kit_int(k, line(k)));
	if (x->row == x->width) {
		x->state[0] = to;
		return;
	}
	LLVMValueRef left = LLVMBuildNSWSub(k->b, x->state[1], tsr_kit_int(k, line(k)), ""), zero = tsr_kit_int(k, 0);
	LLVMValueRef down = LLVMBuildICmp(k->b, LLVMIntSLE, left, zero, "");
	x->state[0] = LLVMBuildSelect(k->b, down, beyond(k, to, tsr_kit_int(k, x->row - x->width)), to, "");
	x->state[1] = LLVMBuildSelect(k->b, down, tsr_kit_int(k, x->width), left, "");
}

void tsr_far_end(const tsr_far *x, LLVMBasicBlockRef *from)
{
	for (int i = 0; i < TSR_FAR_STATE; i++)
		LLVMAddIncoming(x->phi[i], (LLVMValueRef[]){ x->start[i], x->state[i] }, from, 2);
}
