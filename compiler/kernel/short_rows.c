/* Sums of few columns, whose rows lie one after the other and fill no whole registers (see columns.c for the nest):
 *
 *     for r reduce { for c in 0..12 parallel { update X[c] acc= v(r, c) } }
 *
 * All rows are one row of r * 12 elements, which registers take as they come: the least number of them that hold whole rows, three here for four rows, are sums
 * whose lanes always stand for the same columns, and several such groups in turn keep sums from waiting for themselves.  Behind the last row groups are joined,
 * then the rows that a group holds.  (65536 x 8: 186 us row by row, 16 so; the second and third cache give no more.)
 *
 * The order follows from the number of columns and the target alone.  Where threads would divide the columns, the first of them has them all: each would read every
 * line for its part. */
#include "column_nest.h"
#include "../opt/opt.h"

enum { MOST_SUMS = 4, MOST_VECTORS = 8, VECTORS = 8, LEAST_GROUPS = 4 };

typedef struct short_rows {
	tsr_emit *e;
	tsr_column_nest nest;
	uint32_t n_flat;                       /* the innermost loops over rows that are one row */
	unsigned lanes;
	uint32_t vectors, groups;              /* a group's registers, which hold whole rows, and how many groups there are */
	LLVMValueRef sum[MOST_SUMS][VECTORS + MOST_VECTORS], rest[MOST_SUMS], rows[MOST_SUMS];
} short_rows;

static const tsr_stmt *columns_of(const short_rows *x) { return tsr_innermost_columns(&x->nest); }
static int64_t count_of(const short_rows *x) { return columns_of(x)->loop.extent.k; }
static tsr_prec prec_of(const short_rows *x, const tsr_stmt *s) { return x->e->loops->buffers.at[s->store.buffer]->prec; }

/* ---- which nests ---------------------------------------------------------------------------------------------------------- */

static bool plain(const short_rows *x, const tsr_stmt *s)
{
	const tsr_buffer *b = s->kind == TSR_STMT_UPDATE ? x->e->loops->buffers.at[s->store.buffer] : NULL;
	return b && b->prec != TSR_PREC_BOOL && (unsigned)tsr_prec_bytes(b->prec) * x->lanes == x->e->target->vector_bytes && tsr_acc_any_order(s->store.acc)
		&& tsr_column_nest_sums(x->e, &x->nest, s);
}

/* The innermost loops over rows, as many as possible, that are one with the columns. */
static bool one_row(short_rows *x)
{
	const tsr_stmt *part[TSR_COLUMN_LOOPS];
	for (x->n_flat = x->nest.rows; x->n_flat; x->n_flat--) {
		bool all = true;
		for (uint32_t i = 0; i < x->n_flat; i++) {
			part[i] = x->nest.loop[x->nest.rows - x->n_flat + i];
			all &= !i || tsr_size_is_const(part[i]->loop.extent);
		}
		part[x->n_flat] = columns_of(x);
		for (uint32_t i = 0; i < x->nest.body->n; i++)
			all &= tsr_emit_flat_value(x->e, x->n_flat + 1, part, x->nest.body->at[i]->store.value);
		if (all)
			return true;
	}
	return false;
}

static int64_t common(int64_t x, int64_t y) { return y ? common(y, x % y) : x; }

/* Rows that a group holds, and enough of them to be worth it, where that is known.  Columns that fill several registers are divided by
 * threads, those of 32 bits by columns.c, others without vectors being held: two such registers take a quarter of the time here, four three quarters. */
static bool worth(short_rows *x)
{
	tsr_size n = columns_of(x)->loop.extent;
	bool whole = tsr_size_is_const(n) && n.k % x->lanes == 0 && n.k > x->lanes * (x->lanes * 4 == x->e->target->vector_bytes ? 1 : 2);
	if (!tsr_size_is_const(n) || n.k < 2 || whole || n.k > MOST_VECTORS * x->lanes)
		return false;
	x->vectors = (uint32_t)(n.k / common(n.k, x->lanes));
	if (x->vectors > MOST_VECTORS)
		return false;
	for (x->groups = 1; x->groups * 2 * x->vectors * x->nest.body->n <= VECTORS;)
		x->groups *= 2;
	int64_t rows = 1, of_group = x->vectors * x->lanes / n.k;
	for (uint32_t i = x->nest.rows - x->n_flat; i < x->nest.rows; i++) {
		if (!tsr_size_is_const(x->nest.loop[i]->loop.extent))
			return true;
		rows *= x->nest.loop[i]->loop.extent.k;
	}
	return rows >= LEAST_GROUPS * x->groups * of_group;
}

static bool understand(short_rows *x, const tsr_stmt *loop)
{
	tsr_emit *e = x->e;
	if (loop->loop.how != TSR_FOR_REDUCE || e->wide || !e->options->level || e->target->vector_bytes < 16 || !tsr_column_nest_of(&x->nest, loop) || !x->nest.body->n || x->nest.body->n > MOST_SUMS)
		return false;
	for (uint32_t i = 0; i < x->nest.body->n; i++)
		if (x->nest.body->at[i]->kind != TSR_STMT_UPDATE)
			return false;
	x->lanes = e->target->vector_bytes / (unsigned)tsr_prec_bytes(prec_of(x, x->nest.body->at[0]));
	for (uint32_t i = 0; i < x->nest.body->n; i++)
		if (!plain(x, x->nest.body->at[i]))
			return false;
	return one_row(x) && worth(x);
}

/* ---- emission -------------------------------------------------------------------------------------------------------------- */

static tsr_acc joining(const tsr_stmt *s) { return s->store.acc == TSR_ACC_SUB ? TSR_ACC_ADD : s->store.acc; }
static LLVMTypeRef vector_of(const short_rows *x, tsr_prec p) { return LLVMVectorType(tsr_emit_register_type(x->e, p), x->lanes); }
static LLVMValueRef load(tsr_emit *e, LLVMValueRef at) { return LLVMBuildLoad2(e->builder, LLVMGetAllocatedType(at), at, ""); }

/* Memory for so many elements, all neutral. */
static LLVMValueRef neutral(short_rows *x, const tsr_stmt *s, int64_t n)
{
	tsr_emit *e = x->e;
	tsr_prec p = prec_of(x, s);
	LLVMTypeRef type = tsr_emit_register_type(e, p);
	LLVMValueRef array = tsr_emit_alloca(e, LLVMArrayType2(type, (uint64_t)n), "columns"), none = tsr_emit_constant(e, tsr_acc_neutral(s->store.acc, p));
	for (int64_t i = 0; i < n; i++)
		LLVMBuildStore(e->builder, none, tsr_emit_offset(e, p, array, tsr_emit_i64(e, i)));
	return array;
}

static void begin(short_rows *x)
{
	tsr_emit *e = x->e;
	for (uint32_t i = 0; i < x->nest.body->n; i++) {
		const tsr_stmt *s = x->nest.body->at[i];
		tsr_prec p = prec_of(x, s);
		LLVMTypeRef type = vector_of(x, p);
		for (uint32_t k = 0; k < x->groups * x->vectors; k++) {
			x->sum[i][k] = tsr_emit_alloca(e, type, "sum");
			LLVMBuildStore(e->builder, tsr_emit_splat(e, tsr_emit_constant(e, tsr_acc_neutral(s->store.acc, p)), type), x->sum[i][k]);
		}
		x->rest[i] = neutral(x, s, count_of(x));
	}
}

static LLVMValueRef value_of(short_rows *x, const tsr_stmt *s)
{
	return tsr_emit_convert(x->e, tsr_emit_expr(x->e, s->store.value), s->store.value->prec, prec_of(x, s));
}

/* Elements from .. to, all groups at a time. */
static void whole_groups(short_rows *x, LLVMValueRef from, LLVMValueRef to)
{
	tsr_emit *e = x->e;
	uint32_t all = x->groups * x->vectors, column = columns_of(x)->loop.sym;
	tsr_wide w = {.loop = columns_of(x), .lanes = x->lanes};
	tsr_emit_loop f = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, all * x->lanes), TSR_FOR_SERIAL);
	e->wide = &w;
	for (uint32_t k = 0; k < all; k++) {
		e->syms[column] = LLVMBuildNSWAdd(e->builder, f.index, tsr_emit_i64(e, k * x->lanes), "");
		for (uint32_t i = 0; i < x->nest.body->n; i++) {
			const tsr_stmt *s = x->nest.body->at[i];
			LLVMValueRef of[2] = {load(e, x->sum[i][k]), value_of(x, s)};
			tsr_emit_alike(e, 2, of);
			LLVMBuildStore(e->builder, tsr_emit_acc(e, s->store.acc, prec_of(x, s), of[0], of[1]), x->sum[i][k]);
		}
	}
	e->wide = NULL;
	tsr_emit_loop_end(e, &f);
}

/* Rows behind the last whole group, one by one. */
static void rows_left(short_rows *x, LLVMValueRef from, LLVMValueRef to)
{
	tsr_emit *e = x->e;
	uint32_t column = columns_of(x)->loop.sym;
	tsr_emit_loop r = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, count_of(x)), TSR_FOR_SERIAL);
	tsr_emit_loop c = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), tsr_emit_i64(e, count_of(x)), tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
	e->syms[column] = LLVMBuildNSWAdd(e->builder, r.index, c.index, "");
	for (uint32_t i = 0; i < x->nest.body->n; i++) {
		const tsr_stmt *s = x->nest.body->at[i];
		tsr_prec p = prec_of(x, s);
		LLVMValueRef at = tsr_emit_offset(e, p, x->rest[i], c.index), value = value_of(x, s);
		LLVMValueRef old = LLVMBuildLoad2(e->builder, tsr_emit_register_type(e, p), at, "");
		LLVMBuildStore(e->builder, tsr_emit_acc(e, s->store.acc, p, old, value), at);
	}
	tsr_emit_loop_end(e, &c);
	tsr_emit_loop_end(e, &r);
}

static void all_rows(short_rows *x)
{
	tsr_emit *e = x->e;
	uint32_t apart = x->nest.rows - x->n_flat;
	tsr_emit_loop loop[TSR_COLUMN_LOOPS];
	LLVMValueRef zero = tsr_emit_i64(e, 0), total = tsr_emit_i64(e, count_of(x));
	for (uint32_t i = 0; i < apart; i++) {
		loop[i] = tsr_emit_loop_begin(e, zero, tsr_emit_size(e, x->nest.loop[i]->loop.extent), tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
		e->syms[x->nest.loop[i]->loop.sym] = loop[i].index;
	}
	for (uint32_t i = apart; i < x->nest.rows; i++) {
		e->syms[x->nest.loop[i]->loop.sym] = zero;
		total = LLVMBuildNSWMul(e->builder, total, tsr_emit_size(e, x->nest.loop[i]->loop.extent), "");
	}
	LLVMValueRef over = LLVMBuildSRem(e->builder, total, tsr_emit_i64(e, x->groups * x->vectors * x->lanes), "");
	LLVMValueRef most = LLVMBuildNSWSub(e->builder, total, over, "");
	whole_groups(x, zero, most);
	rows_left(x, most, total);
	for (uint32_t i = apart; i-- > 0;)
		tsr_emit_loop_end(e, &loop[i]);
}

/* All groups of a sum, in memory as rows. */
static LLVMValueRef joined(short_rows *x, uint32_t i)
{
	tsr_emit *e = x->e;
	const tsr_stmt *s = x->nest.body->at[i];
	tsr_prec p = prec_of(x, s);
	LLVMValueRef rows = tsr_emit_alloca(e, LLVMArrayType2(tsr_emit_register_type(e, p), x->vectors * x->lanes), "rows");
	for (uint32_t v = 0; v < x->vectors; v++) {
		LLVMValueRef of[VECTORS];
		for (uint32_t k = 0; k < x->groups; k++)
			of[k] = load(e, x->sum[i][k * x->vectors + v]);
		for (uint32_t n = x->groups / 2; n; n /= 2)
			for (uint32_t k = 0; k < n; k++)
				of[k] = tsr_emit_acc(e, joining(s), p, of[k], of[k + n]);
		LLVMSetAlignment(LLVMBuildStore(e->builder, of[0], tsr_emit_offset(e, p, rows, tsr_emit_i64(e, v * x->lanes))), (unsigned)tsr_prec_bytes(p));
	}
	return rows;
}

static void end(short_rows *x)
{
	tsr_emit *e = x->e;
	int64_t n = count_of(x), rows = x->vectors * x->lanes / n;
	for (uint32_t i = 0; i < x->nest.body->n; i++)
		x->rows[i] = joined(x, i);
	tsr_emit_loop c = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), tsr_emit_i64(e, n), tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
	e->syms[columns_of(x)->loop.sym] = c.index;
	for (uint32_t i = 0; i < x->nest.body->n; i++) {
		const tsr_stmt *s = x->nest.body->at[i];
		tsr_prec p = prec_of(x, s);
		LLVMTypeRef type = tsr_emit_register_type(e, p);
		LLVMValueRef sum = LLVMBuildLoad2(e->builder, type, tsr_emit_offset(e, p, x->rest[i], c.index), ""), to = tsr_emit_address(e, s->store.buffer, s->store.index);
		for (int64_t r = 0; r < rows; r++) {
			LLVMValueRef at = tsr_emit_offset(e, p, x->rows[i], LLVMBuildNSWAdd(e->builder, c.index, tsr_emit_i64(e, r * n), ""));
			sum = tsr_emit_acc(e, joining(s), p, sum, LLVMBuildLoad2(e->builder, type, at, ""));
		}
		tsr_emit_store(e, p, tsr_emit_acc(e, joining(s), p, tsr_emit_load(e, p, to), sum), to);
	}
	tsr_emit_loop_end(e, &c);
}

/* The innermost loop's columns, where this thread's begin with the first. */
static void columns(void *user, LLVMValueRef from, LLVMValueRef to)
{
	short_rows *x = user;
	tsr_emit *e = x->e;
	LLVMBasicBlockRef first = tsr_emit_block(e, "first"), after = tsr_emit_block(e, "after");
	LLVMValueRef mine = LLVMBuildICmp(e->builder, LLVMIntEQ, from, tsr_emit_i64(e, 0), "");
	LLVMBuildCondBr(e->builder, LLVMBuildAnd(e->builder, mine, LLVMBuildICmp(e->builder, LLVMIntSLT, from, to, ""), ""), first, after);
	LLVMPositionBuilderAtEnd(e->builder, first);
	begin(x);
	all_rows(x);
	end(x);
	LLVMBuildBr(e->builder, after);
	LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(e->builder));
	LLVMPositionBuilderAtEnd(e->builder, after);
}

bool tsr_emit_short_rows(tsr_emit *e, const tsr_stmt *loop)
{
	short_rows x = {.e = e};
	if (!understand(&x, loop))
		return false;
	tsr_column_nest_walk(e, &x.nest, columns, &x);
	return true;
}
