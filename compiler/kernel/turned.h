/* What turned.c, turned_aside.c and turned_runs.c share: a nest of two loops of which some loads are turned in registers, square by square. */
#ifndef TSR_KERNEL_TURNED_H
#define TSR_KERNEL_TURNED_H
#include "nests.h"

enum { TSR_TURNED_BLOCK = 1024, TSR_MOST_TURNED = 4, TSR_MOST_LANES = 64 };

typedef struct tsr_turned {
	tsr_emit *e;
	const tsr_stmt *across, *along, *leaf;
	unsigned lanes;
	bool lines;                                  /* every row of the result begins at the same place of a line */
	bool around;                                 /* rows of squares that go together are lines that go around the caches */
	bool between;                                /* lines that do are made of two squares, since rows of the result begin anywhere in one */
	unsigned together;                           /* squares that do, and that one row of each fills the lines of */
	uint32_t n, nodes;
	const tsr_expr *load[TSR_MOST_TURNED];       /* those that are turned */
	bool beside;                                 /* others lie as the result does */
	bool functions;                              /* some value takes more than an instruction or two */
} tsr_turned;

/* Where a square begins, and how many of its iterations there are; NULL: all. */
typedef struct tsr_square {
	LLVMValueRef across, along, rows, columns;
	bool waits;                                  /* what is loaded is there before anything behind it begins */
} tsr_square;

static inline LLVMValueRef tsr_turned_plus(tsr_emit *e, LLVMValueRef x, int64_t y) { return y ? LLVMBuildNSWAdd(e->builder, x, tsr_emit_i64(e, y), "") : x; }
static inline LLVMValueRef tsr_turned_less(tsr_emit *e, LLVMValueRef x, LLVMValueRef y)
{
	return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, x, y, ""), x, y, "");
}

/* turned.c: the loop and the one within are such a nest, of which this is then said. */
bool tsr_turned_recognise(tsr_turned *x, const tsr_stmt *loop);
/* The first `count` lanes. */
LLVMValueRef tsr_turned_lanes(tsr_emit *e, unsigned lanes, LLVMValueRef count);
/* turned_square.c: value[i][k]: load i where the outer loop stands at its k-th iteration of the square, along the inner one. */
void tsr_turned_load(const tsr_turned *x, const tsr_square *q, LLVMValueRef (*value)[TSR_MOST_LANES]);
/* Row k of a square, of these values. */
void tsr_turned_row(const tsr_turned *x, const tsr_square *q, unsigned k, LLVMValueRef (*value)[TSR_MOST_LANES], tsr_wide *w);

/* turned_aside.c: rows that a block takes which is turned through memory of its own, 0 where none is. */
int64_t tsr_turned_aside(const tsr_turned *x);
/* Such a block: all its rows from `along` on, `across` .. `end`, a number of whole squares. */
void tsr_turned_block(const tsr_turned *x, LLVMValueRef area, LLVMValueRef across, LLVMValueRef end, LLVMValueRef along);
/* The memory for it. */
LLVMValueRef tsr_turned_area(const tsr_turned *x);

/* turned_runs.c: whether requests are paced; rows whose lines go around the caches together, and columns of which they do in turn; 0 rows: nothing is known of runs. */
bool tsr_turned_paced(const tsr_turned *x);
int64_t tsr_turned_run(const tsr_turned *x);
int64_t tsr_turned_run_columns(const tsr_turned *x);
/* `along` .. `until`, a number of whole runs, and `across` .. `end`, of whole such columns; of rows that begin anywhere in a line, from the first line behind `along` to the last one that begins within a register behind
 * `until`, where there is a run. */
void tsr_turned_runs(const tsr_turned *x, LLVMValueRef across, LLVMValueRef end, LLVMValueRef along, LLVMValueRef until);
#endif
