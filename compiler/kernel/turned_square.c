/* Squares of two loops in registers (turned.c): what is loaded along one of them is turned into vectors along the other. */
#include "turned.h"
#include <string.h>

enum { QUARTERS = 4 };

LLVMValueRef tsr_turned_lanes(tsr_emit *e, unsigned lanes, LLVMValueRef count)
{
	LLVMValueRef lane[TSR_MOST_LANES];
	for (unsigned i = 0; i < lanes; i++)
		lane[i] = LLVMConstInt(e->i64, i, false);
	LLVMValueRef numbers = LLVMConstVector(lane, lanes);
	return LLVMBuildICmp(e->builder, LLVMIntSLT, numbers, tsr_emit_splat(e, count, LLVMTypeOf(numbers)), "");
}

/* One row of a square: what stands for the turned loads. */
typedef struct row { tsr_emit_leaves leaves; const tsr_turned *x; LLVMValueRef value[TSR_MOST_TURNED]; } row;

static LLVMValueRef turned_leaf(const tsr_emit_leaves *leaves, const tsr_expr *leaf)
{
	const row *r = (const row *)leaves;
	for (uint32_t i = 0; i < r->x->n; i++)
		if (r->x->load[i] == leaf)
			return r->value[i];
	return NULL;
}

/* Lane i of the result is from x or y, as i is even or odd: in `parts` equal parts of a register for itself, the first half of them or the second. */
static LLVMValueRef interleaved(tsr_emit *e, LLVMValueRef x, LLVMValueRef y, unsigned lanes, unsigned parts, bool second)
{
	LLVMValueRef at[TSR_MOST_LANES];
	unsigned each = lanes / parts;
	for (unsigned i = 0; i < lanes; i++)
		at[i] = LLVMConstInt(e->i32, i / each * each + i % each / 2 + (second ? each / 2 : 0) + (i % 2) * lanes, false);
	return LLVMBuildShuffleVector(e->builder, x, y, LLVMConstVector(at, lanes), "");
}

/* log2(rows) rounds of interleaving halves turn rows into columns, in each of the parts. */
static void turn(tsr_emit *e, unsigned rows, unsigned lanes, LLVMValueRef *v)
{
	LLVMValueRef next[TSR_MOST_LANES];
	for (unsigned round = 1; round < rows; round *= 2) {
		for (unsigned i = 0; i < rows; i++)
			next[i] = interleaved(e, v[i / 2], v[i / 2 + rows / 2], lanes, lanes / rows, i % 2);
		memcpy(v, next, rows * sizeof *v);
	}
}

/* Whole parts, a quarter of the lanes each: of two registers those that `of` names, two of x and then two of y. */
static LLVMValueRef of_quarters(tsr_emit *e, LLVMValueRef x, LLVMValueRef y, unsigned lanes, const unsigned (*of)[2])
{
	LLVMValueRef at[TSR_MOST_LANES];
	unsigned each = lanes / QUARTERS;
	for (unsigned i = 0; i < lanes; i++)
		at[i] = LLVMConstInt(e->i32, (*of)[i / each % 2] * each + i % each + i / each / 2 * lanes, false);
	return LLVMBuildShuffleVector(e->builder, x, y, LLVMConstVector(at, lanes), "");
}

/* Within the quarters of so many rows as one has lanes first, then whole quarters: of the k-th of each group of rows, quarter q is a piece of column k of q. */
static void turn_quarters(tsr_emit *e, unsigned lanes, LLVMValueRef *v)
{
	static const unsigned first[2] = {0, 1}, second[2] = {2, 3}, even[2] = {0, 2}, odd[2] = {1, 3};
	unsigned each = lanes / QUARTERS;
	LLVMValueRef column[TSR_MOST_LANES];
	for (unsigned g = 0; g < QUARTERS; g++)
		turn(e, each, lanes, v + g * each);
	for (unsigned k = 0; k < each; k++) {
		LLVMValueRef low = of_quarters(e, v[k], v[each + k], lanes, &first), high = of_quarters(e, v[k], v[each + k], lanes, &second);
		LLVMValueRef low_too = of_quarters(e, v[2 * each + k], v[3 * each + k], lanes, &first), high_too = of_quarters(e, v[2 * each + k], v[3 * each + k], lanes, &second);
		column[k] = of_quarters(e, low, low_too, lanes, &even);
		column[each + k] = of_quarters(e, low, low_too, lanes, &odd);
		column[2 * each + k] = of_quarters(e, high, high_too, lanes, &even);
		column[3 * each + k] = of_quarters(e, high, high_too, lanes, &odd);
	}
	memcpy(v, column, lanes * sizeof *v);
}

/* Halves that go to the same columns come together first where the target has them. */
static void turn_halves(tsr_emit *e, unsigned lanes, LLVMValueRef *v)
{
	LLVMValueRef half[TSR_MOST_LANES], at[2][TSR_MOST_LANES];
	unsigned each = lanes / 2;
	for (unsigned i = 0; i < lanes; i++) {
		at[0][i] = LLVMConstInt(e->i32, i / each * lanes + i % each, false);
		at[1][i] = LLVMConstInt(e->i32, i / each * lanes + i % each + each, false);
	}
	for (unsigned i = 0; i < lanes; i++)
		half[i] = LLVMBuildShuffleVector(e->builder, v[i % each], v[i % each + each], LLVMConstVector(at[i / each], lanes), "");
	turn(e, each, lanes, half);
	turn(e, each, lanes, half + each);
	memcpy(v, half, lanes * sizeof *v);
}

static void transpose(tsr_emit *e, tsr_prec p, unsigned lanes, LLVMValueRef *v)
{
	const tsr_target *t = e->target;
	if (t->quarters && p != TSR_PREC_BOOL && lanes * (unsigned)tsr_prec_bytes(p) == t->vector_bytes)
		turn_quarters(e, lanes, v);
	else if (t->halves && lanes >= 4)
		turn_halves(e, lanes, v);
	else
		turn(e, lanes, lanes, v);
}

/* Squares follow each other along the outer loop, where a row's lines end soon if that is short: what lies so many squares further along the inner one is asked for (keys of 256 to 1024
 * positions in the last cache: 1.2 to 1.3 times as fast), where the first cache still has it then (of rows of 1001 it has not, 0.84, nor of 513, 0.92).  Large results, which go around
 * the caches, have rows that are read from end to end.  Where requests are lost they only cost (images 0.88, 1000 x 1001 0.92, keys level), and by the shortest
 * vectors each line is asked for four times (channels last to first 0.85). */
static void ask_ahead(const tsr_turned *x, const tsr_square *q, const tsr_expr *load, unsigned k)
{
	enum { SQUARES = 2, SHORT = 16 };
	const tsr_target *t = x->e->target;
	int64_t row = tsr_size_is_const(x->across->loop.extent) ? x->across->loop.extent.k * (int64_t)tsr_prec_bytes(load->prec) : t->l1;
	if (!t->streams || t->vector_bytes <= SHORT || t->follows || t->loses_requests || x->around || q->columns || row * SQUARES * x->lanes > t->l1 / 2)
		return;
	x->e->syms[x->along->loop.sym] = tsr_turned_plus(x->e, q->along, k + SQUARES * x->lanes);
	tsr_emit_fetch(x->e, load, TSR_FETCH_NEAR);
}

void tsr_turned_load(const tsr_turned *x, const tsr_square *q, LLVMValueRef (*value)[TSR_MOST_LANES])
{
	tsr_emit *e = x->e;
	LLVMValueRef mask = q->rows ? tsr_turned_lanes(e, x->lanes, q->rows) : NULL;
	e->syms[x->across->loop.sym] = q->across;
	for (uint32_t i = 0; i < x->n; i++) {
		tsr_prec p = e->loops->buffers.at[x->load[i]->load.buffer]->prec;
		for (unsigned k = 0; k < x->lanes; k++) {
			LLVMValueRef at = tsr_emit_i64(e, k);
			ask_ahead(x, q, x->load[i], k);
			if (q->columns)
				at = tsr_turned_less(e, at, tsr_turned_plus(e, q->columns, -1));
			e->syms[x->along->loop.sym] = LLVMBuildNSWAdd(e->builder, q->along, at, "");
			LLVMValueRef address = tsr_emit_address(e, x->load[i]->load.buffer, x->load[i]->load.index);
			LLVMValueRef v = mask ? tsr_emit_load_masked(e, p, address, mask) : tsr_emit_load_lanes(e, p, address, x->lanes);
			value[i][k] = tsr_emit_convert(e, v, p, x->load[i]->prec);
		}
		if (q->waits)
			tsr_emit_wait(e);
		transpose(e, x->load[i]->prec, x->lanes, value[i]);
	}
}

void tsr_turned_row(const tsr_turned *x, const tsr_square *q, unsigned k, LLVMValueRef (*value)[TSR_MOST_LANES], tsr_wide *w)
{
	tsr_emit *e = x->e;
	row r = {.leaves = {turned_leaf}, .x = x};
	for (uint32_t i = 0; i < x->n; i++)
		r.value[i] = value[i][k];
	e->syms[x->across->loop.sym] = tsr_turned_plus(e, q->across, k);
	e->syms[x->along->loop.sym] = q->along;
	e->leaves = &r.leaves;
	e->wide = w;
	tsr_emit_stmts(e, &x->along->loop.body);
	e->wide = NULL;
	e->leaves = NULL;
}

