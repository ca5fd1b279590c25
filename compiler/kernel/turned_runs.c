/* Squares in place (turned.c) on a processor whose memory takes lines around the caches only in runs (`store_run` of the target): Zen 5 writes single lines of far
 * rows at 0.3 of its bandwidth, pairs at 0.6, four at all of it, and the lines of a run need not follow at once: sixteen or thirty stores between two
 * of them cost nothing, sixty a half more.  So squares stay in registers, and those of a run's rows follow each other for some columns before the next columns come.
 *
 * So many rows at once are more than a processor looks ahead along, and where their ends lie whole pages apart the first cache loses what it has looked ahead for.
 * So each square asks for as many lines of the next block: 4096 x 4096 took 4.9 ms through a buffer (turned_aside.c), 4.8 in place without asking, and takes 3.0,
 * where a copy takes 2.2; a run of rows read from end to end before it is turned was no faster than the buffer.  Two blocks are a small part of the second cache.
 *
 * Where the processor forgets what it is asked for beyond the places of its first cache (`loses_requests`), a square of an array that comes from memory waits for all that it
 * loads before it asks.  Else loads of two squares more are under way, which hold these places until the second cache answers, one line in six cycles where rows are pages
 * apart, and every tenth line is not there when it is read.  With that 4096 x 4096 takes 2.6 ms; 2.9 where only requests depend on what was loaded, and 3.9 with the wait in every
 * second square.  Requests stay between the stores, since a processor that has waited is slow to read sixteen loads and sixteen requests in a row with their long addresses
 * (3.1 ms).  One square's columns at a time and some lines of a row asked for one after the other are the faster there (1.03 to 1.1), and where the last cache answers (1.06 to 1.19,
 * while waiting takes 1.3 times as long).  To wait for fewer lines (squares of f64) or twice in a square (two arrays) takes 1.2 to 1.5 times as long as not to; for these
 * a few rows side by side and two squares' columns are level or faster.
 *
 * What else is read as the result lies, far rows too, comes one line of each that way, which takes two and a half times as long as in whole rows, and functions
 * wait for each other in a square's rows: both go through a buffer. */
#include "turned.h"
#include "../opt/opt.h"

enum { LINE = 64, MOST_COLUMNS = 512, BETWEEN = 32, ASKED_ROWS = 4, PACED = 16 };

int64_t tsr_turned_run(const tsr_turned *x)
{
	const tsr_target *t = x->e->target;
	bool registers = t->vector_bytes == LINE && !x->beside && !x->functions;
	for (uint32_t i = 0; i < x->n; i++)
		registers &= x->lanes * (unsigned)tsr_prec_bytes(x->load[i]->prec) == LINE && x->load[i]->prec != TSR_PREC_BOOL;
	return x->around && registers ? (int64_t)t->store_run * x->lanes : 0;
}

/* So many loads of one array are in a square that their requests are worth pacing. */
static bool paced(const tsr_turned *x) { return x->e->target->loses_requests && x->n == 1 && x->lanes == PACED; }

static bool far(const tsr_turned *x) { return tsr_target_far(x->e->target, tsr_buffer_bytes(x->e->loops->buffers.at[x->load[0]->load.buffer])); }

int64_t tsr_turned_run_columns(const tsr_turned *x) { return paced(x) || x->lanes > BETWEEN ? x->lanes : BETWEEN; }

/* What is asked for while a block is turned: lines of the next one, from `row` and `column` of it on. */
typedef struct asking { LLVMValueRef across, along, width, row, column; } asking;

static LLVMValueRef now(tsr_emit *e, LLVMValueRef variable) { return LLVMBuildLoad2(e->builder, e->i64, variable, ""); }

/* One of the lines that a square asks for, of each array. */
static void ask(const tsr_turned *x, const asking *a, unsigned k)
{
	tsr_emit *e = x->e;
	unsigned lines = x->lanes / ASKED_ROWS, line = paced(x) ? k % lines : k / ASKED_ROWS;
	LLVMValueRef column = tsr_turned_plus(e, now(e, a->column), line * x->lanes), row = tsr_turned_plus(e, now(e, a->row), paced(x) ? k / lines : k % ASKED_ROWS);
	e->syms[x->across->loop.sym] = LLVMBuildNSWAdd(e->builder, a->across, column, "");
	e->syms[x->along->loop.sym] = LLVMBuildNSWAdd(e->builder, a->along, row, "");
	for (uint32_t i = 0; i < x->n; i++)
		tsr_emit_fetch(e, x->load[i], TSR_FETCH_NEAR);
}

static void advance(const tsr_turned *x, const asking *a)
{
	tsr_emit *e = x->e;
	LLVMValueRef zero = tsr_emit_i64(e, 0), next = tsr_turned_plus(e, now(e, a->column), x->lanes / ASKED_ROWS * x->lanes);
	LLVMValueRef at_end = LLVMBuildICmp(e->builder, LLVMIntSGE, next, a->width, "");
	LLVMBuildStore(e->builder, LLVMBuildSelect(e->builder, at_end, zero, next, ""), a->column);
	LLVMValueRef rows = LLVMBuildSelect(e->builder, at_end, tsr_emit_i64(e, ASKED_ROWS), zero, "");
	LLVMBuildStore(e->builder, LLVMBuildNSWAdd(e->builder, now(e, a->row), rows, ""), a->row);
}

static void square(const tsr_turned *x, LLVMValueRef across, LLVMValueRef along, const asking *a)
{
	tsr_emit *e = x->e;
	LLVMValueRef value[TSR_MOST_TURNED][TSR_MOST_LANES];
	tsr_square q = {.across = across, .along = along, .waits = paced(x) && far(x)};
	tsr_wide w = {.loop = x->along, .lanes = x->lanes, .around = x->leaf};
	tsr_turned_load(x, &q, value);
	for (unsigned k = 0; k < x->lanes; k++) {
		tsr_turned_row(x, &q, k, value, &w);
		if (paced(x))
			LLVMBuildFence(e->builder, LLVMAtomicOrderingSequentiallyConsistent, true, "");
		ask(x, a, k);
	}
	advance(x, a);
}

static void block(const tsr_turned *x, LLVMValueRef across, LLVMValueRef end, LLVMValueRef along, const asking *a)
{
	tsr_emit *e = x->e;
	LLVMValueRef lanes = tsr_emit_i64(e, x->lanes), some = tsr_emit_i64(e, tsr_turned_run_columns(x));
	LLVMBuildStore(e->builder, tsr_emit_i64(e, 0), a->row);
	LLVMBuildStore(e->builder, tsr_emit_i64(e, 0), a->column);
	tsr_emit_loop columns = tsr_emit_loop_begin(e, across, end, some, TSR_FOR_SERIAL);
	tsr_emit_loop rows = tsr_emit_loop_begin(e, along, tsr_turned_plus(e, along, tsr_turned_run(x)), lanes, TSR_FOR_SERIAL);
	tsr_emit_loop c = tsr_emit_loop_begin(e, columns.index, LLVMBuildNSWAdd(e->builder, columns.index, some, ""), lanes, TSR_FOR_SERIAL);
	square(x, c.index, rows.index, a);
	tsr_emit_loop_end(e, &c);
	tsr_emit_loop_end(e, &rows);
	tsr_emit_loop_end(e, &columns);
}

void tsr_turned_runs(const tsr_turned *x, LLVMValueRef across, LLVMValueRef end, LLVMValueRef along, LLVMValueRef until)
{
	tsr_emit *e = x->e;
	LLVMValueRef rows = tsr_emit_i64(e, tsr_turned_run(x)), most = tsr_emit_i64(e, paced(x) ? MOST_COLUMNS / 2 : MOST_COLUMNS);
	asking a = {.row = tsr_emit_alloca(e, e->i64, "row"), .column = tsr_emit_alloca(e, e->i64, "column")};
	tsr_emit_loop r = tsr_emit_loop_begin(e, along, until, rows, TSR_FOR_SERIAL);
	tsr_emit_loop c = tsr_emit_loop_begin(e, across, end, most, TSR_FOR_SERIAL);
	LLVMValueRef c_end = tsr_turned_less(e, LLVMBuildNSWAdd(e->builder, c.index, most, ""), end);
	LLVMValueRef last = LLVMBuildICmp(e->builder, LLVMIntEQ, c_end, end, ""), next = LLVMBuildNSWAdd(e->builder, r.index, rows, "");
	LLVMValueRef none = LLVMBuildICmp(e->builder, LLVMIntSGE, next, until, "");
	a.across = LLVMBuildSelect(e->builder, last, across, c_end, "");
	a.along = LLVMBuildSelect(e->builder, LLVMBuildAnd(e->builder, last, LLVMBuildNot(e->builder, none, ""), ""), next, r.index, "");
	a.width = LLVMBuildNSWSub(e->builder, c_end, c.index, "");
	block(x, c.index, c_end, r.index, &a);
	tsr_emit_loop_end(e, &c);
	tsr_emit_loop_end(e, &r);
}
