/* Blocks that are turned through memory of their own (turned.c), where the processor alone brings lines from memory (`streams` of the target).  It does so
 * along rows that are read from end to end, and memory takes lines of far rows the faster the more of them come one right after the other: what is read is
 * whole rows of a block, eight side by side, of which squares are turned and kept; then row by row of the result is written from what was kept, eight
 * lines in a row.  Both at once, squares of the next block beside rows of this one, was no faster: what is kept twice leaves the second cache.
 *
 * A register of each eight rows lies beside those of their other columns, so that squares are kept as they come; eight rows more begin a line further in
 * the cache's sets. */
#include "turned.h"

enum { ROWS = 128, LINE = 64, NUMBER = 4 };

int64_t tsr_turned_aside(const tsr_turned *x)
{
	const tsr_target *t = x->e->target;
	bool registers = x->n == 1 && tsr_prec_bytes(x->load[0]->prec) == NUMBER && x->lanes * NUMBER == t->vector_bytes && x->load[0]->prec != TSR_PREC_BOOL;
	return t->streams && !tsr_turned_run(x) && x->around && registers && ROWS * TSR_TURNED_BLOCK * NUMBER <= t->l2 ? ROWS : 0;
}

/* Bytes from a register of eight rows to that of the next eight. */
static int64_t stride(const tsr_turned *x) { return TSR_TURNED_BLOCK * x->e->target->vector_bytes + LINE; }

LLVMValueRef tsr_turned_area(const tsr_turned *x)
{
	int64_t rows = tsr_turned_aside(x);
	return rows ? tsr_emit_work_area(x->e, (uint64_t)(rows / x->lanes * stride(x))) : NULL;
}

/* Where the register of `column` and the rows from `row` on is kept. */
static LLVMValueRef kept(const tsr_turned *x, LLVMValueRef area, LLVMValueRef column, LLVMValueRef row)
{
	tsr_emit *e = x->e;
	LLVMValueRef at = LLVMBuildNSWMul(e->builder, LLVMBuildUDiv(e->builder, row, tsr_emit_i64(e, x->lanes), ""), tsr_emit_i64(e, stride(x)), "");
	at = LLVMBuildNSWAdd(e->builder, at, LLVMBuildNSWMul(e->builder, column, tsr_emit_i64(e, x->e->target->vector_bytes), ""), "");
	return tsr_emit_offset(e, TSR_PREC_U8, area, at);
}

static void keep(const tsr_turned *x, LLVMValueRef area, LLVMValueRef across, LLVMValueRef end, LLVMValueRef along)
{
	tsr_emit *e = x->e;
	LLVMValueRef value[TSR_MOST_TURNED][TSR_MOST_LANES], lanes = tsr_emit_i64(e, x->lanes);
	tsr_emit_loop r = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), tsr_emit_i64(e, ROWS), lanes, TSR_FOR_SERIAL);
	tsr_emit_loop c = tsr_emit_loop_begin(e, across, end, lanes, TSR_FOR_SERIAL);
	tsr_square q = {.across = c.index, .along = LLVMBuildNSWAdd(e->builder, along, r.index, "")};
	tsr_turned_load(x, &q, value);
	LLVMValueRef column = LLVMBuildNSWSub(e->builder, c.index, across, "");
	for (unsigned k = 0; k < x->lanes; k++) {
		LLVMValueRef to = kept(x, area, LLVMBuildNSWAdd(e->builder, column, tsr_emit_i64(e, k), ""), r.index);
		LLVMSetAlignment(LLVMBuildStore(e->builder, value[0][k], to), e->target->vector_bytes);
	}
	tsr_emit_loop_end(e, &c);
	tsr_emit_loop_end(e, &r);
}

static void write(const tsr_turned *x, LLVMValueRef area, LLVMValueRef across, LLVMValueRef end, LLVMValueRef along)
{
	tsr_emit *e = x->e;
	tsr_wide w = {.loop = x->along, .lanes = x->lanes, .around = x->leaf};
	LLVMTypeRef type = LLVMVectorType(tsr_emit_register_type(e, x->load[0]->prec), x->lanes);
	tsr_emit_loop c = tsr_emit_loop_begin(e, across, end, tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
	LLVMValueRef column = LLVMBuildNSWSub(e->builder, c.index, across, "");
	for (unsigned r = 0; r < ROWS; r += x->lanes) {
		LLVMValueRef value[TSR_MOST_TURNED][TSR_MOST_LANES], row = tsr_emit_i64(e, r);
		value[0][0] = LLVMBuildLoad2(e->builder, type, kept(x, area, column, row), "");
		LLVMSetAlignment(value[0][0], e->target->vector_bytes);
		tsr_turned_row(x, &(tsr_square){.across = c.index, .along = LLVMBuildNSWAdd(e->builder, along, row, "")}, 0, value, &w);
	}
	tsr_emit_loop_end(e, &c);
}

void tsr_turned_block(const tsr_turned *x, LLVMValueRef area, LLVMValueRef across, LLVMValueRef end, LLVMValueRef along)
{
	keep(x, area, across, end, along);
	write(x, area, across, end, along);
}
