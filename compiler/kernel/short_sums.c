/* Sums over several loops whose rows are short and do not follow each other (those that do are one sum: flat.c), as the channels of a group are, or what is cut out of rows:
 *
 *     for h reduce { for w reduce { for c in 0..8 reduce { set $0 = $0 + X[h, w, g, c] } } }
 *
 * Lanes are iterations of the innermost loop, and of those that follow it, and stay sums over all others: what makes one number of them, some thirty cycles, is done once, and
 * not behind each row (8 groups of 8 channels of 56 x 56: seven times as fast).  A row that fills few registers is dealt out to several chains, so that no sum waits for itself.
 *
 * The order of each sum follows from the loops alone.  What is left of a row is read by a mask, or, where a target has none, rows fill their lanes. */
#include "wide_sums.h"
#include "../opt/opt.h"

enum { MOST_LOOPS = 8, REGISTERS = 4, CHAINS = 4, LONG = 2048 };

typedef struct short_sums {
	tsr_emit *e;
	uint32_t n;                            /* loops around the row, the innermost last */
	const tsr_stmt *loop[MOST_LOOPS];
	tsr_stmt row;                          /* the innermost, with iterations for all that follow it */
	unsigned lanes;
	uint32_t chains, nsums;
	tsr_wide wide[CHAINS];
	tsr_wide_sum sum[CHAINS][TSR_MOST_WIDE_SUMS];
	LLVMValueRef part[CHAINS][TSR_MOST_WIDE_SUMS];
} short_sums;

/* Loops each alone in the one around it; the row has a known extent. */
static bool collect(short_sums *x, const tsr_stmt *s)
{
	for (;; s = s->loop.body.at[0]) {
		bool known = tsr_size_is_const(s->loop.extent), last = s->loop.body.n != 1 || s->loop.body.at[0]->kind != TSR_STMT_FOR;
		if (s->loop.how != TSR_FOR_REDUCE || s->loop.contraction || s->loop.split || s->loop.ahead || s->loop.overlap || (known ? s->loop.extent.k < 1 : last)
			|| x->n == MOST_LOOPS)
			return false;
		x->loop[x->n++] = s;
		if (last)
			return x->n > 1;
	}
}

/* All that is summed in the innermost loop lies so that `outer` is one with it. */
static bool follows(const short_sums *x, const tsr_stmt *outer)
{
	if (!tsr_size_is_const(outer->loop.extent))
		return false;
	for (uint32_t i = 0; i < x->row.loop.body.n; i++)
		if (!tsr_stmt_follows(x->e->loops, x->row.loop.body.at[i], outer->loop.sym, x->row.loop.sym, x->row.loop.extent))
			return false;
	return true;
}

/* Some registers of f32, fewer where rows are shorter; 0 where rows fill less than half of one, or parts of one without masks.  (Windows of 2 x 2 by lanes of 2 took 6 times as long.) */
static unsigned lanes_of(const tsr_target *t, int64_t length)
{
	unsigned one = t->vector_bytes / 4, lanes = 2;
	if (t->masks == TSR_MASKS_NONE) {
		for (lanes = REGISTERS * one; lanes > one && length % lanes; lanes /= 2) { }
		return one && length % lanes == 0 ? lanes : 0;
	}
	while (lanes < REGISTERS * one && lanes < length)
		lanes *= 2;
	return t->masks == TSR_MASKS_ALL || lanes >= one ? lanes : 0;
}

static bool understand(short_sums *x, const tsr_stmt *s)
{
	tsr_emit *e = x->e;
	if (e->wide || !e->options->level || s->loop.how != TSR_FOR_REDUCE || !collect(x, s) || !tsr_emit_plain_sums(e, x->loop[x->n - 1]))
		return false;
	x->row = *x->loop[--x->n];
	for (; x->n && follows(x, x->loop[x->n - 1]); x->n--)
		if (__builtin_mul_overflow(x->row.loop.extent.k, x->loop[x->n - 1]->loop.extent.k, &x->row.loop.extent.k))
			return false;
	int64_t length = x->row.loop.extent.k;
	if (!x->n || length < 2 || length >= LONG || !(x->lanes = lanes_of(e->target, length)))
		return false;
	x->nsums = tsr_wide_sums(e, &x->row.loop.body, x->sum[0]);
	int64_t registers = (x->lanes * 4 + e->target->vector_bytes - 1) / e->target->vector_bytes * x->nsums;
	tsr_size last = x->loop[x->n - 1]->loop.extent;
	for (x->chains = CHAINS; x->chains > 1 && (x->chains * registers > CHAINS || (tsr_size_is_const(last) && x->chains > last.k));)
		x->chains /= 2;
	return true;
}

static void begin(short_sums *x)
{
	tsr_emit *e = x->e;
	for (uint32_t k = 0; k < x->chains; k++) {
		tsr_wide_sums(e, &x->row.loop.body, x->sum[k]);
		x->wide[k] = (tsr_wide){.loop = &x->row, .lanes = x->lanes};
		for (uint32_t i = 0; i < x->nsums; i++) {
			tsr_wide_sum *s = &x->sum[k][i];
			tsr_wide_sum_begin(e, s, x->lanes);
			if (x->row.loop.extent.k % x->lanes == 0)
				tsr_wide_order_begin(e, &x->wide[k], s, false);
			x->part[k][i] = e->locals[s->id];
			e->locals[s->id] = s->outside;
		}
	}
}

static void end(short_sums *x)
{
	for (uint32_t k = 0; k < x->chains; k++)
		for (uint32_t i = 0; i < x->nsums; i++) {
			tsr_wide_sum *s = &x->sum[k][i];
			x->e->locals[s->id] = x->part[k][i];
			tsr_wide_sum_end(x->e, &x->wide[k], s, x->lanes);
		}
}

/* The iterations of the row from `at` on, as many as there are lanes or, by a mask, as are left. */
static void some(short_sums *x, uint32_t chain, LLVMValueRef at, bool masked)
{
	tsr_emit *e = x->e;
	tsr_wide *w = &x->wide[chain];
	e->syms[x->row.loop.sym] = at;
	w->mask = masked ? tsr_emit_lanes_left(e, at, tsr_emit_i64(e, x->row.loop.extent.k), x->lanes) : NULL;
	e->wide = w;
	tsr_emit_stmts(e, &x->row.loop.body);
	e->wide = NULL;
}

static void row(short_sums *x, uint32_t chain)
{
	tsr_emit *e = x->e;
	int64_t lanes = x->lanes, whole = x->row.loop.extent.k / lanes * lanes;
	for (uint32_t i = 0; i < x->nsums; i++)
		e->locals[x->sum[chain][i].id] = x->part[chain][i];
	if (whole == lanes)
		some(x, chain, tsr_emit_i64(e, 0), false);
	else if (whole) {
		tsr_emit_loop l = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), tsr_emit_i64(e, whole), tsr_emit_i64(e, lanes), TSR_FOR_SERIAL);
		some(x, chain, l.index, false);
		tsr_emit_loop_end(e, &l);
	}
	if (whole < x->row.loop.extent.k)
		some(x, chain, tsr_emit_i64(e, whole), true);
	for (uint32_t i = 0; i < x->nsums; i++)
		e->locals[x->sum[chain][i].id] = x->sum[chain][i].outside;
}

/* Rows from .. to of the innermost loop around them, as many at a time as chains. */
static void rows(short_sums *x, LLVMValueRef from, LLVMValueRef to, uint32_t chains)
{
	tsr_emit *e = x->e;
	if (tsr_emit_surely_none(from, to))
		return;
	tsr_emit_loop l = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, chains), TSR_FOR_SERIAL);
	for (uint32_t k = 0; k < chains; k++) {
		e->syms[x->loop[x->n - 1]->loop.sym] = LLVMBuildNSWAdd(e->builder, l.index, tsr_emit_i64(e, k), "");
		row(x, k);
	}
	tsr_emit_loop_end(e, &l);
}

bool tsr_emit_short_sums(tsr_emit *e, const tsr_stmt *loop)
{
	short_sums x = {.e = e};
	if (!understand(&x, loop))
		return false;
	bool reorder = e->reorder, written = e->written;
	tsr_emit_loop around[MOST_LOOPS];
	uint32_t last = x.n - 1;
	e->reorder = e->written = true;
	begin(&x);
	for (const tsr_stmt *s = x.loop[last]->loop.body.at[0]; s->loop.body.at[0]->kind == TSR_STMT_FOR; s = s->loop.body.at[0])
		e->syms[s->loop.sym] = tsr_emit_i64(e, 0);
	for (uint32_t i = 0; i < last; i++) {
		around[i] = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), tsr_emit_size(e, x.loop[i]->loop.extent), tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
		e->syms[x.loop[i]->loop.sym] = around[i].index;
	}
	LLVMValueRef count = tsr_emit_size(e, x.loop[last]->loop.extent), rest = LLVMBuildSRem(e->builder, count, tsr_emit_i64(e, x.chains), "");
	LLVMValueRef whole = LLVMBuildNSWSub(e->builder, count, rest, "");
	rows(&x, tsr_emit_i64(e, 0), whole, x.chains);
	rows(&x, whole, count, 1);
	for (uint32_t i = last; i-- > 0;)
		tsr_emit_loop_end(e, &around[i]);
	end(&x);
	e->reorder = reorder, e->written = written;
	return true;
}
