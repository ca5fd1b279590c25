/* Sums of columns, which the loop IR walks row by row,
 *
 *     for r reduce { for i parallel { update X[i] acc= v(r, i) } }
 *
 * with some columns at a time in registers: all rows for these, then all rows for the next.  Otherwise each row would load and store every
 * sum, and wait for the row before to have stored it; where a thread has few columns that is most of the time.  Each sum adds in the same
 * order.  Columns of which a register holds several rows are for short_rows.c.
 *
 * Where all registers hold only two lines of a row, and rows have many, a few rows at a time go through all columns instead: rows are then read from
 * end to end, and a sum is loaded and stored once for these rows (2048 x 1024 on a processor with 16 registers of 32 bytes: 0.4 of the time).  Of so many columns that rows are
 * far from each other they go so through a stretch of columns, whose sums the first cache holds, and then through the next.
 *
 * Where all columns fill a register or two, a sum would wait for itself row after row: rows are dealt out to several chains then, which are joined behind
 * the last.  How many follows from all columns, not from a thread's, so that every column is summed in the same order by any number of threads.
 *
 * Where columns are two loops, and the inner one fills no vectors, as channels of groups do, they are taken as one: lanes are columns of several groups (emit/grouped.c).
 *
 * The loops over rows stand around those over columns; what is updated is nowhere read, and lies along the innermost loop, as in wide.c. */
#include "column_nest.h"
#include "../opt/opt.h"

enum { LINE = 64, MOST_SUMS = 4, MOST_COLUMNS = 1024, MOST_VECTORS = 4, MANY_VECTORS = 2, ROWS = 4, FAR_ROWS = 8, STRETCH = 4096, MANY_LINES = 8, CHAINS = 4, MASKED = 4, LONG_ROWS = 1024 };      /* many vectors: for more than one sum; masked: columns at least; long: bytes of groups' rows */

typedef struct columns {
	tsr_emit *e;
	tsr_column_nest nest;
	bool far;                    /* so many columns that rows are far from each other */
	uint32_t chains;
	LLVMValueRef sum[CHAINS][MOST_SUMS];
} columns;

static const tsr_stmt *innermost(const columns *c) { return tsr_innermost_columns(&c->nest); }

/* Enough columns for a register, or some lanes of one where the others are masked, and known how many. */
static bool enough_columns(columns *c)
{
	int64_t n = 1;
	for (uint32_t i = c->nest.rows; i < c->nest.n; i++) {
		tsr_size x = c->nest.loop[i]->loop.extent;
		if (!tsr_size_is_const(x) || x.k <= 0)
			return false;
		n *= x.k;
	}
	c->far = n > MOST_COLUMNS;
	return (!c->far || c->nest.n == c->nest.rows + 1) && innermost(c)->loop.extent.k >= (tsr_emit_has_masks(c->e) ? MASKED : c->e->target->vector_bytes / 4);
}

/* An update of 32 bits, which a register holds as memory does. */
static bool plain(const columns *c, const tsr_stmt *s)
{
	return s->kind == TSR_STMT_UPDATE && tsr_prec_bytes(c->e->loops->buffers.at[s->store.buffer]->prec) == 4 && tsr_column_nest_sums(c->e, &c->nest, s);
}

/* Of each sum: all sums of a row together are as many as one processor needs so that none waits for the one before. */
static uint32_t chains_of(const columns *c)
{
	int64_t lanes = c->e->target->vector_bytes / 4, columns = c->nest.joined ? c->nest.joined : innermost(c)->loop.extent.k, vectors = (columns + lanes - 1) / lanes * c->nest.body->n;
	tsr_size rows = c->nest.loop[c->nest.rows - 1]->loop.extent;
	return vectors > CHAINS / 2 || !tsr_size_is_const(rows) || rows.k < CHAINS ? 1 : (uint32_t)(CHAINS / vectors);
}

/* Columns of both innermost loops fill vectors, each of whole groups. */
static void join(columns *c)
{
	const tsr_stmt *group = c->nest.loop[c->nest.n - 2], *along = innermost(c);
	if (c->nest.n < c->nest.rows + 2 || c->far || along->loop.split)
		return;
	for (uint32_t i = 0; i < c->nest.body->n; i++)
		if (!tsr_emit_stores_groups(c->e, group, along, c->nest.body->at[i]))
			return;
	c->nest.joined = tsr_emit_group_columns(c->e, group, along);
}

/* So many columns, one lane each. */
static tsr_wide wide_of(const columns *c, unsigned lanes)
{
	tsr_wide w = {.loop = innermost(c), .lanes = lanes};
	if (c->nest.joined)
		w.each = (unsigned)innermost(c)->loop.extent.k, w.group = c->nest.loop[c->nest.n - 2]->loop.sym;
	return w;
}

static bool understand(columns *c, const tsr_stmt *loop)
{
	if (loop->loop.how != TSR_FOR_REDUCE || c->e->wide || !c->e->options->level || c->e->target->vector_bytes < 16 || !tsr_column_nest_of(&c->nest, loop) || !enough_columns(c)
		|| !c->nest.body->n || c->nest.body->n > MOST_SUMS)
		return false;
	for (uint32_t i = 0; i < c->nest.body->n; i++)
		if (c->nest.body->at[i]->kind != TSR_STMT_UPDATE)
			return false;
	for (uint32_t i = 0; i < c->nest.body->n; i++)
		if (!plain(c, c->nest.body->at[i]))
			return false;
	join(c);
	c->chains = chains_of(c);
	return true;
}

/* ---- emission ---------------------------------------------------------------------------------------------------------------- */

static LLVMValueRef part_of(const columns *c, uint32_t chain, uint32_t i)
{
	return LLVMBuildLoad2(c->e->builder, LLVMGetAllocatedType(c->sum[chain][i]), c->sum[chain][i], "");
}

/* All chains of a sum; those but the first hold what was subtracted from nothing where it is differences. */
static LLVMValueRef joined(const columns *c, uint32_t i)
{
	const tsr_stmt *s = c->nest.body->at[i];
	tsr_acc acc = s->store.acc == TSR_ACC_SUB ? TSR_ACC_ADD : s->store.acc;
	LLVMValueRef x[CHAINS];
	for (uint32_t k = 0; k < c->chains; k++)
		x[k] = part_of(c, k, i);
	for (uint32_t n = c->chains / 2; n; n /= 2)
		for (uint32_t k = 0; k < n; k++)
			x[k] = tsr_emit_acc(c->e, acc, c->e->loops->buffers.at[s->store.buffer]->prec, x[k], x[k + n]);
	return x[0];
}

static void move_sums(columns *c, bool in)
{
	tsr_emit *e = c->e;
	for (uint32_t i = 0; i < c->nest.body->n; i++) {
		const tsr_stmt *s = c->nest.body->at[i];
		tsr_prec p = e->loops->buffers.at[s->store.buffer]->prec;
		LLVMValueRef address = tsr_emit_address(e, s->store.buffer, s->store.index);
		if (in) {
			LLVMValueRef x = tsr_emit_wide_load(e, p, address);
			for (uint32_t k = 0; k < c->chains; k++, x = tsr_emit_splat(e, tsr_emit_constant(e, tsr_acc_neutral(s->store.acc, p)), LLVMTypeOf(x))) {
				c->sum[k][i] = tsr_emit_alloca(e, LLVMTypeOf(x), "column");
				LLVMBuildStore(e->builder, x, c->sum[k][i]);
			}
		} else
			tsr_emit_wide_store(e, s, p, joined(c, i), address);
	}
}

static void row(columns *c, uint32_t chain)
{
	tsr_emit *e = c->e;
	for (uint32_t i = 0; i < c->nest.body->n; i++) {
		const tsr_stmt *s = c->nest.body->at[i];
		tsr_prec p = e->loops->buffers.at[s->store.buffer]->prec;
		LLVMValueRef value = tsr_emit_convert(e, tsr_emit_expr(e, s->store.value), s->store.value->prec, p);
		LLVMValueRef x[2] = {part_of(c, chain, i), value};
		tsr_emit_alike(e, 2, x);
		LLVMBuildStore(e->builder, tsr_emit_acc(e, s->store.acc, p, x[0], x[1]), c->sum[chain][i]);
	}
}

static LLVMValueRef whole(tsr_emit *e, LLVMValueRef from, LLVMValueRef to, unsigned lanes)
{
	LLVMValueRef count = LLVMBuildNSWSub(e->builder, to, from, "");
	return LLVMBuildNSWSub(e->builder, to, LLVMBuildSRem(e->builder, count, tsr_emit_i64(e, lanes), ""), "");
}

/* Rows from .. to of the innermost loop over them, as many at a time as chains. */
static void rows_by_chains(columns *c, LLVMValueRef from, LLVMValueRef to, uint32_t chains)
{
	tsr_emit *e = c->e;
	uint32_t sym = c->nest.loop[c->nest.rows - 1]->loop.sym;
	if (tsr_emit_surely_none(from, to))
		return;
	tsr_emit_loop loop = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, chains), TSR_FOR_SERIAL);
	for (uint32_t k = 0; k < chains; k++) {
		e->syms[sym] = k ? LLVMBuildNSWAdd(e->builder, loop.index, tsr_emit_i64(e, k), "") : loop.index;
		row(c, k);
	}
	tsr_emit_loop_end(e, &loop);
}

static void all_rows(columns *c)
{
	tsr_emit *e = c->e;
	tsr_emit_loop loop[TSR_COLUMN_LOOPS];
	uint32_t last = c->nest.rows - 1;
	move_sums(c, true);
	for (uint32_t i = 0; i < last; i++) {
		loop[i] = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), tsr_emit_size(e, c->nest.loop[i]->loop.extent), tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
		e->syms[c->nest.loop[i]->loop.sym] = loop[i].index;
	}
	LLVMValueRef end = tsr_emit_size(e, c->nest.loop[last]->loop.extent), most = c->chains > 1 ? whole(e, tsr_emit_i64(e, 0), end, c->chains) : end;
	rows_by_chains(c, tsr_emit_i64(e, 0), most, c->chains);
	rows_by_chains(c, most, end, 1);
	for (uint32_t i = last; i-- > 0;)
		tsr_emit_loop_end(e, &loop[i]);
	move_sums(c, false);
}

/* The innermost loop's columns from .. to, `lanes` at a time. */
static void blocks(columns *c, LLVMValueRef from, LLVMValueRef to, unsigned lanes, bool masked)
{
	tsr_emit *e = c->e;
	const tsr_stmt *s = innermost(c);
	tsr_wide w = wide_of(c, lanes);
	if (tsr_emit_surely_none(from, to))
		return;
	tsr_emit_loop loop = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, lanes), TSR_FOR_SERIAL);
	loop.few = true;
	e->syms[s->loop.sym] = loop.index;
	w.mask = masked ? tsr_emit_lanes_left(e, loop.index, to, lanes) : NULL;
	e->wide = &w;
	all_rows(c);
	e->wide = NULL;
	tsr_emit_loop_end(e, &loop);
}

/* ---- a few rows at a time ------------------------------------------------------------------------------------------------- */

static bool rows_at_a_time(const columns *c)
{
	if (c->nest.joined)          /* else each row would give a small part of it at a time */
		return c->nest.joined * 4 >= LONG_ROWS;
	return c->far || (c->e->target->vector_bytes * MOST_VECTORS < 4 * LINE && innermost(c)->loop.extent.k * 4 >= MANY_LINES * LINE);
}

/* Columns from .. to, `lanes` at a time, of n rows from the one at `first` on. */
static void columns_of_rows(columns *c, LLVMValueRef first, unsigned n, LLVMValueRef from, LLVMValueRef to, unsigned lanes)
{
	tsr_emit *e = c->e;
	const tsr_stmt *s = innermost(c);
	tsr_wide w = wide_of(c, lanes);
	if (tsr_emit_surely_none(from, to))
		return;
	tsr_emit_loop loop = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, lanes), TSR_FOR_SERIAL);
	loop.few = true;
	e->syms[s->loop.sym] = loop.index;
	e->wide = &w;
	move_sums(c, true);
	for (unsigned k = 0; k < n; k++) {
		e->syms[c->nest.loop[c->nest.rows - 1]->loop.sym] = LLVMBuildNSWAdd(e->builder, first, tsr_emit_i64(e, k), "");
		row(c, 0);
	}
	move_sums(c, false);
	e->wide = NULL;
	tsr_emit_loop_end(e, &loop);
}

static void some_rows(columns *c, LLVMValueRef row_from, LLVMValueRef row_to, unsigned n, LLVMValueRef from, LLVMValueRef to)
{
	tsr_emit *e = c->e;
	unsigned lane = e->target->vector_bytes / 4, lanes = c->nest.body->n > 1 ? lane : 2 * lane;
	LLVMValueRef most = whole(e, from, to, lanes), more = whole(e, most, to, lane);
	if (tsr_emit_surely_none(row_from, row_to))
		return;
	tsr_emit_loop loop = tsr_emit_loop_begin(e, row_from, row_to, tsr_emit_i64(e, n), TSR_FOR_SERIAL);
	columns_of_rows(c, loop.index, n, from, most, lanes);
	columns_of_rows(c, loop.index, n, most, more, lane);
	if (!c->nest.joined)
		columns_of_rows(c, loop.index, n, more, to, 1);
	tsr_emit_loop_end(e, &loop);
}

static void rows_then_columns(columns *c, LLVMValueRef from, LLVMValueRef to)
{
	tsr_emit *e = c->e;
	tsr_emit_loop loop[TSR_COLUMN_LOOPS];
	uint32_t last = c->nest.rows - 1;
	for (uint32_t i = 0; i < last; i++) {
		loop[i] = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), tsr_emit_size(e, c->nest.loop[i]->loop.extent), tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
		e->syms[c->nest.loop[i]->loop.sym] = loop[i].index;
	}
	unsigned rows = c->far ? FAR_ROWS : ROWS, few = c->far ? 2 : 1;
	LLVMValueRef zero = tsr_emit_i64(e, 0), end = tsr_emit_size(e, c->nest.loop[last]->loop.extent), all = whole(e, zero, end, rows), most = few > 1 ? whole(e, all, end, few) : all;
	some_rows(c, zero, all, rows, from, to);
	some_rows(c, all, most, few, from, to);
	some_rows(c, most, end, 1, from, to);
	for (uint32_t i = last; i-- > 0;)
		tsr_emit_loop_end(e, &loop[i]);
}

/* ---- columns from a line on ----------------------------------------------------------------------------------------------- */

/* What is read along the columns and comes from a caller, whose rows all begin as far from a line; or NULL. */
static const tsr_expr *apart(const columns *c, tsr_expr *x)
{
	tsr_emit *e = c->e;
	if (x->kind == TSR_EXPR_LOAD) {
		const tsr_buffer *b = e->loops->buffers.at[x->load.buffer];
		return tsr_buffer_last(b) && tsr_emit_foreign(b) && tsr_size_is_const(b->dims[tsr_buffer_last(b)]) && b->dims[tsr_buffer_last(b)].k * tsr_prec_bytes(b->prec) % LINE == 0
			&& tsr_emit_along(e, innermost(c), x->load.buffer, x->load.index) == 1 ? x : NULL;
	}
	tsr_expr *part[TSR_MOST_PARTS];
	const tsr_expr *found = NULL;
	for (uint32_t i = 0, n = tsr_expr_parts(x, part); i < n && !found; i++)
		found = apart(c, part[i]);
	return found;
}

/* Where a line of what is read begins, if that costs no more than a mask: each row's part would be read across one line more, and each of its
 * vectors out of two (sums over 2048 rows of 1024 that begin 16 bytes behind a line took 1.8 times as long). */
static LLVMValueRef first_line(columns *c, LLVMValueRef from, LLVMValueRef to)
{
	tsr_emit *e = c->e;
	const tsr_expr *x = tsr_emit_has_masks(e) ? apart(c, c->nest.body->at[0]->store.value) : NULL;
	if (!x)
		return from;
	for (uint32_t i = 0; i < c->nest.rows; i++)
		e->syms[c->nest.loop[i]->loop.sym] = tsr_emit_i64(e, 0);
	e->syms[innermost(c)->loop.sym] = from;
	LLVMValueRef address = tsr_emit_address(e, x->load.buffer, x->load.index);
	LLVMValueRef line = LLVMBuildNSWAdd(e->builder, from, tsr_emit_to_line(e, e->loops->buffers.at[x->load.buffer]->prec, address), "");
	return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, line, to, ""), line, to, "");
}

static LLVMValueRef choose(tsr_emit *e, LLVMValueRef when, LLVMValueRef x, LLVMValueRef y) { return LLVMBuildSelect(e->builder, when, x, y, ""); }

/* All registers at a time; what is left in part where the processor has masks, in one walk over the rows where it can load so, else by one register and then
 * one by one. */
static void column_blocks(columns *c, LLVMValueRef from, LLVMValueRef to)
{
	tsr_emit *e = c->e;
	unsigned lane = e->target->vector_bytes / 4, lanes = lane * (c->nest.body->n > 1 ? MANY_VECTORS : MOST_VECTORS);
	if (c->nest.joined) {        /* whole vectors */
		LLVMValueRef most = whole(e, from, to, lanes);
		blocks(c, from, most, lanes, false);
		blocks(c, most, to, lane, false);
		return;
	}
	LLVMValueRef line = first_line(c, from, to);
	if (line != from)
		blocks(c, from, line, lane, true);
	from = line;
	LLVMValueRef most = whole(e, from, to, lanes);
	blocks(c, from, most, lanes, false);
	if (tsr_emit_has_masks(e)) {
		blocks(c, most, to, lanes, true);
		return;
	}
	if (e->target->masks == TSR_MASKS_LOADS) {         /* stores come once for all rows */
		for (unsigned some = lanes; some >= lane; some /= 2) {       /* the least that has all that are left */
			LLVMValueRef rest = LLVMBuildNSWSub(e->builder, to, most, "");
			LLVMValueRef here = some == lane ? to : choose(e, LLVMBuildICmp(e->builder, LLVMIntSGT, rest, tsr_emit_i64(e, some / 2), ""), to, most);
			blocks(c, most, here, some, true);
			most = here;
		}
		return;
	}
	LLVMValueRef more = whole(e, most, to, lane);
	blocks(c, most, more, lane, false);
	blocks(c, more, to, 1, false);
}

static void some_columns(void *user, LLVMValueRef from, LLVMValueRef to)
{
	columns *c = user;
	if (!c->far) {
		(rows_at_a_time(c) ? rows_then_columns : column_blocks)(c, from, to);
		return;
	}
	tsr_emit_loop loop = tsr_emit_loop_begin(c->e, from, to, tsr_emit_i64(c->e, STRETCH), TSR_FOR_SERIAL);
	LLVMValueRef end = LLVMBuildNSWAdd(c->e->builder, loop.index, loop.step, "");
	rows_then_columns(c, loop.index, choose(c->e, LLVMBuildICmp(c->e->builder, LLVMIntSLT, end, to, ""), end, to));
	tsr_emit_loop_end(c->e, &loop);
}

bool tsr_emit_columns(tsr_emit *e, const tsr_stmt *loop)
{
	columns c = {.e = e};
	if (!understand(&c, loop))
		return false;
	tsr_column_nest_walk(e, &c.nest, some_columns, &c);
	return true;
}
