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
 * Rows of the result that begin anywhere in a line get their lines from two squares each, the one before and this one, of which each row has kept a register: the lanes of a
 * line are as many of one as its row begins behind a line, and of the other.  That goes down some columns from end to end, so that what is kept stays in the first cache.  The
 * lanes before a row's first line and behind its last one are written as parts of squares through the caches, with some of those that a line has, too: 4104 x 4000 takes
 * 2.4 ms where all through the caches takes 4.0.
 *
 * Zen 4 has an eight-way first cache whose sets rows of whole pages share, so what is asked for goes into the second one: 16384 x 1024 takes 0.7 of the time of the buffer and 0.6 by
 * two threads (0.87 to 0.92 of a copy), 4104 x 4000 a half.  Pairs of lines are enough there: three and four are 1.05 to 1.1 times as fast by one thread and 0.75 to 1 by two.
 *
 * What else is read as the result lies, far rows too, comes one line of each that way, which takes two and a half times as long as in whole rows, and functions
 * wait for each other in a square's rows: both go through a buffer. */
#include "turned.h"
#include "../opt/opt.h"
#include <string.h>

enum { LINE = 64, MOST_COLUMNS = 512, BETWEEN = 32, ASKED_ROWS = 4, PACED = 16 };

int64_t tsr_turned_run(const tsr_turned *x)
{
	const tsr_target *t = x->e->target;
	bool registers = t->vector_bytes == LINE && !x->beside && !x->functions;
	for (uint32_t i = 0; i < x->n; i++)
		registers &= x->lanes * (unsigned)tsr_prec_bytes(x->load[i]->prec) == LINE && x->load[i]->prec != TSR_PREC_BOOL;
	return (x->around || x->between) && registers ? (int64_t)t->store_run * x->lanes : 0;
}

/* One square's columns at a time and some lines of a row asked for one after the other: where requests are lost only if a square has so many loads that they are worth pacing. */
bool tsr_turned_paced(const tsr_turned *x) { return x->n == 1 && (x->lanes == PACED || !x->e->target->loses_requests); }

static bool far(const tsr_turned *x) { return tsr_target_far(x->e->target, tsr_buffer_bytes(x->e->loops->buffers.at[x->load[0]->load.buffer])); }

int64_t tsr_turned_run_columns(const tsr_turned *x) { return tsr_turned_paced(x) || x->lanes > BETWEEN ? x->lanes : BETWEEN; }

/* What is asked for while a block is turned: lines of the next one, from `row` and `column` of it on. */
typedef struct asking { LLVMValueRef across, along, width, row, column; } asking;

static LLVMValueRef now(tsr_emit *e, LLVMValueRef variable) { return LLVMBuildLoad2(e->builder, e->i64, variable, ""); }

/* One of the lines that a square asks for, of each array. */
static void ask(const tsr_turned *x, const asking *a, unsigned k)
{
	tsr_emit *e = x->e;
	unsigned lines = x->lanes / ASKED_ROWS, line = tsr_turned_paced(x) ? k % lines : k / ASKED_ROWS;
	LLVMValueRef column = tsr_turned_plus(e, now(e, a->column), line * x->lanes), row = tsr_turned_plus(e, now(e, a->row), tsr_turned_paced(x) ? k / lines : k % ASKED_ROWS);
	e->syms[x->across->loop.sym] = LLVMBuildNSWAdd(e->builder, a->across, column, "");
	e->syms[x->along->loop.sym] = LLVMBuildNSWAdd(e->builder, a->along, row, "");
	for (uint32_t i = 0; i < x->n; i++)
		tsr_emit_fetch(e, x->load[i], e->target->lines_ahead ? TSR_FETCH_NEAR : TSR_FETCH_FAR);
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

/* Lines between squares: how many lanes behind a square's first one row k's first line begins, the numbers of a line's lanes among those of two squares, and of each
 * square of a block the last one's registers.  The columns of a square are as many as a line has lanes, so that all squares of these columns have the same. */
typedef struct seam { LLVMValueRef behind, numbers, kept; unsigned lanes; } seam;

static LLVMValueRef of_row(tsr_emit *e, LLVMTypeRef type, LLVMValueRef table, LLVMValueRef row) { return LLVMBuildGEP2(e->builder, type, table, &row, 1, ""); }

static LLVMTypeRef register_type(tsr_emit *e, unsigned lanes) { return LLVMVectorType(LLVMIntTypeInContext(e->context, LINE / lanes * 8), lanes); }

static seam seam_of(const tsr_turned *x, LLVMValueRef across, LLVMValueRef along)
{
	tsr_emit *e = x->e;
	LLVMTypeRef whole = register_type(e, x->lanes), number = LLVMGetElementType(whole);
	seam s = {.lanes = x->lanes, .behind = tsr_emit_alloca(e, LLVMArrayType2(e->i64, x->lanes), "behind"), .numbers = tsr_emit_alloca(e, LLVMArrayType2(whole, x->lanes), "numbers"),
		.kept = tsr_emit_alloca(e, LLVMArrayType2(whole, MOST_COLUMNS / 2), "kept")};
	LLVMSetAlignment(s.numbers, LINE);
	LLVMSetAlignment(s.kept, LINE);
	LLVMValueRef lane[TSR_MOST_LANES];
	for (unsigned i = 0; i < x->lanes; i++)
		lane[i] = LLVMConstInt(number, i, false);
	for (unsigned k = 0; k < x->lanes; k++) {
		e->syms[x->across->loop.sym] = tsr_turned_plus(e, across, k), e->syms[x->along->loop.sym] = along;
		tsr_prec p = e->loops->buffers.at[x->leaf->store.buffer]->prec;
		LLVMValueRef behind = tsr_emit_to_line(e, p, tsr_emit_address(e, x->leaf->store.buffer, x->leaf->store.index)), row = tsr_emit_i64(e, k);
		LLVMBuildStore(e->builder, behind, of_row(e, e->i64, s.behind, row));
		LLVMValueRef numbers = LLVMBuildAdd(e->builder, LLVMConstVector(lane, x->lanes), tsr_emit_splat(e, LLVMBuildTrunc(e->builder, behind, number, ""), whole), "");
		LLVMBuildStore(e->builder, numbers, of_row(e, whole, s.numbers, row));
	}
	return s;
}

/* Where row k of the square that begins so many columns behind the block's first one is kept. */
static LLVMValueRef kept(tsr_emit *e, const seam *s, LLVMValueRef column, unsigned k)
{
	return of_row(e, register_type(e, s->lanes), s->kept, tsr_turned_plus(e, column, k));
}

static void keep(tsr_emit *e, const seam *s, LLVMValueRef column, unsigned k, LLVMValueRef value)
{
	LLVMBuildStore(e->builder, LLVMBuildBitCast(e->builder, value, register_type(e, s->lanes), ""), kept(e, s, column, k));
}

/* The lanes of a line from what is kept and what comes behind it, which is kept then. */
static LLVMValueRef joined(tsr_emit *e, const seam *s, LLVMValueRef column, unsigned k, LLVMValueRef value)
{
	const char *name = s->lanes == PACED ? "llvm.x86.avx512.vpermi2var.d.512" : "llvm.x86.avx512.vpermi2var.q.512";
	LLVMTypeRef whole = register_type(e, s->lanes);
	LLVMValueRef of[3] = {LLVMBuildLoad2(e->builder, whole, kept(e, s, column, k), ""), LLVMBuildLoad2(e->builder, whole, of_row(e, whole, s->numbers, tsr_emit_i64(e, k)), ""),
		LLVMBuildBitCast(e->builder, value, whole, "")};
	keep(e, s, column, k, value);
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, LLVMLookupIntrinsicID(name, strlen(name)), NULL, 0);
	return LLVMBuildBitCast(e->builder, LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(f), f, of, 3, ""), LLVMTypeOf(value), "");
}

/* A square, so many columns behind the block's first one. */
static void square(const tsr_turned *x, LLVMValueRef across, LLVMValueRef along, const asking *a, const seam *s, LLVMValueRef column)
{
	tsr_emit *e = x->e;
	LLVMValueRef value[TSR_MOST_TURNED][TSR_MOST_LANES];
	tsr_square q = {.across = across, .along = along, .waits = e->target->loses_requests && tsr_turned_paced(x) && far(x)};
	tsr_wide w = {.loop = x->along, .lanes = x->lanes, .around = x->leaf};
	tsr_turned_load(x, &q, value);
	for (unsigned k = 0; k < x->lanes; k++) {
		if (s) {
			value[0][k] = joined(e, s, column, k, value[0][k]);
			q.along = LLVMBuildNSWAdd(e->builder, tsr_turned_plus(e, along, -(int64_t)x->lanes), now(e, of_row(e, e->i64, s->behind, tsr_emit_i64(e, k))), "");
		}
		tsr_turned_row(x, &q, k, value, &w);
		if (tsr_turned_paced(x))
			LLVMBuildFence(e->builder, LLVMAtomicOrderingSequentiallyConsistent, true, "");
		ask(x, a, k);
	}
	advance(x, a);
}

static void block(const tsr_turned *x, LLVMValueRef across, LLVMValueRef end, LLVMValueRef along, const asking *a, const seam *s)
{
	tsr_emit *e = x->e;
	LLVMValueRef lanes = tsr_emit_i64(e, x->lanes), some = tsr_emit_i64(e, tsr_turned_run_columns(x));
	LLVMBuildStore(e->builder, tsr_emit_i64(e, 0), a->row);
	LLVMBuildStore(e->builder, tsr_emit_i64(e, 0), a->column);
	tsr_emit_loop columns = tsr_emit_loop_begin(e, across, end, some, TSR_FOR_SERIAL);
	tsr_emit_loop rows = tsr_emit_loop_begin(e, along, tsr_turned_plus(e, along, tsr_turned_run(x)), lanes, TSR_FOR_SERIAL);
	tsr_emit_loop c = tsr_emit_loop_begin(e, columns.index, LLVMBuildNSWAdd(e->builder, columns.index, some, ""), lanes, TSR_FOR_SERIAL);
	square(x, c.index, rows.index, a, s, LLVMBuildNSWSub(e->builder, c.index, across, ""));
	tsr_emit_loop_end(e, &c);
	tsr_emit_loop_end(e, &rows);
	tsr_emit_loop_end(e, &columns);
}

/* The first squares of a block's columns are kept without being written. */
static void begin_seam(const tsr_turned *x, LLVMValueRef across, LLVMValueRef end, LLVMValueRef along, const seam *s)
{
	tsr_emit *e = x->e;
	LLVMValueRef value[TSR_MOST_TURNED][TSR_MOST_LANES];
	tsr_emit_loop c = tsr_emit_loop_begin(e, across, end, tsr_emit_i64(e, x->lanes), TSR_FOR_SERIAL);
	tsr_turned_load(x, &(tsr_square){.across = c.index, .along = along}, value);
	for (unsigned k = 0; k < x->lanes; k++)
		keep(e, s, LLVMBuildNSWSub(e->builder, c.index, across, ""), k, value[0][k]);
	tsr_emit_loop_end(e, &c);
}

/* As tsr_turned_runs, but down some columns from end to end before the next ones come, so that few squares are kept. */
static void runs_between(const tsr_turned *x, LLVMValueRef across, LLVMValueRef end, LLVMValueRef along, LLVMValueRef until, asking *a)
{
	tsr_emit *e = x->e;
	LLVMValueRef rows = tsr_emit_i64(e, tsr_turned_run(x)), most = tsr_emit_i64(e, MOST_COLUMNS / 2), first = tsr_turned_plus(e, along, x->lanes);
	end = LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, along, until, ""), end, across, "");
	seam s = seam_of(x, across, along);
	tsr_emit_loop c = tsr_emit_loop_begin(e, across, end, most, TSR_FOR_SERIAL);
	LLVMValueRef c_end = tsr_turned_less(e, LLVMBuildNSWAdd(e->builder, c.index, most, ""), end);
	begin_seam(x, c.index, c_end, along, &s);
	tsr_emit_loop r = tsr_emit_loop_begin(e, first, tsr_turned_plus(e, until, x->lanes), rows, TSR_FOR_SERIAL);
	LLVMValueRef next = LLVMBuildNSWAdd(e->builder, r.index, rows, ""), last = LLVMBuildICmp(e->builder, LLVMIntSGE, next, tsr_turned_plus(e, until, x->lanes), "");
	a->across = LLVMBuildSelect(e->builder, LLVMBuildAnd(e->builder, last, LLVMBuildICmp(e->builder, LLVMIntSLT, c_end, end, ""), ""), c_end, c.index, "");
	a->along = LLVMBuildSelect(e->builder, last, first, next, "");
	a->width = LLVMBuildNSWSub(e->builder, c_end, c.index, "");
	block(x, c.index, c_end, r.index, a, &s);
	tsr_emit_loop_end(e, &r);
	tsr_emit_loop_end(e, &c);
}

void tsr_turned_runs(const tsr_turned *x, LLVMValueRef across, LLVMValueRef end, LLVMValueRef along, LLVMValueRef until)
{
	tsr_emit *e = x->e;
	LLVMValueRef rows = tsr_emit_i64(e, tsr_turned_run(x)), most = tsr_emit_i64(e, tsr_turned_paced(x) ? MOST_COLUMNS / 2 : MOST_COLUMNS);
	asking a = {.row = tsr_emit_alloca(e, e->i64, "row"), .column = tsr_emit_alloca(e, e->i64, "column")};
	if (x->between) {
		runs_between(x, across, end, along, until, &a);
		return;
	}
	tsr_emit_loop r = tsr_emit_loop_begin(e, along, until, rows, TSR_FOR_SERIAL);
	tsr_emit_loop c = tsr_emit_loop_begin(e, across, end, most, TSR_FOR_SERIAL);
	LLVMValueRef c_end = tsr_turned_less(e, LLVMBuildNSWAdd(e->builder, c.index, most, ""), end);
	LLVMValueRef last = LLVMBuildICmp(e->builder, LLVMIntEQ, c_end, end, ""), next = LLVMBuildNSWAdd(e->builder, r.index, rows, "");
	LLVMValueRef none = LLVMBuildICmp(e->builder, LLVMIntSGE, next, until, "");
	a.across = LLVMBuildSelect(e->builder, last, across, c_end, "");
	a.along = LLVMBuildSelect(e->builder, LLVMBuildAnd(e->builder, last, LLVMBuildNot(e->builder, none, ""), ""), next, r.index, "");
	a.width = LLVMBuildNSWSub(e->builder, c_end, c.index, "");
	block(x, c.index, c_end, r.index, &a, NULL);
	tsr_emit_loop_end(e, &c);
	tsr_emit_loop_end(e, &r);
}
