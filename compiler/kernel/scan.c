/* Sums, products, maxima and minima up to each position of a row (pass `running`), and what is stored of them:
 *
 *     for s in order { set $r = $r + v(s);  store Y[s] = e($r) }
 *
 * One after the other each element waits for the one before, 3 cycles for a sum and up to 13 for a maximum that keeps NaN.  Lanes are positions here: of pairs, fours, eights and so on the
 * second half is combined with the last of the first half (Sklansky, Conditional-Sum Addition Logic, 1960), which registers do beside each other and mostly within their
 * quarters, and only what all lanes come to waits for the register before.  On Zen 3 sums of rows take a third of the time.
 *
 * The order of each sum follows from the loop alone. */
#include "wide_sums.h"
#include "../opt/opt.h"

enum { MOST_LANES = 64 };

typedef struct scan {
	tsr_emit *e;
	const tsr_stmt *loop, *set;
	uint32_t at;                           /* of `set` in the body */
	tsr_acc acc;
	tsr_prec prec;
	unsigned lanes;
	tsr_wide wide;
	LLVMTypeRef type;
	LLVMValueRef outside, carry, here;     /* the local; what the lanes before come to, in each lane; and what stands for the local in lanes */
} scan;

/* ---- which loops --------------------------------------------------------------------------------------------------------- */

/* The value reads an element of what is stored that this iteration does not store. */
static bool meets(const scan *x, const tsr_expr *v, const tsr_stmt *store)
{
	if (v->kind == TSR_EXPR_LOAD && v->load.buffer == store->store.buffer && !tsr_index_equal(x->e->loops->buffers.at[v->load.buffer], v->load.index, store->store.index))
		return true;
	tsr_expr *part[TSR_MOST_PARTS];
	for (uint32_t i = 0, n = tsr_expr_parts(v, part); i < n; i++)
		if (meets(x, part[i], store))
			return true;
	return false;
}

/* Of one iteration's stores no other reads; what comes before the sum, which lanes compute first, none of its elements. */
static bool apart(const scan *x)
{
	const tsr_stmts *body = &x->loop->loop.body;
	for (uint32_t i = 0; i < body->n; i++)
		for (uint32_t k = 0; body->at[i]->kind == TSR_STMT_STORE && k < body->n; k++) {
			const tsr_stmt *o = body->at[k];
			if (meets(x, o == x->set ? o->let.value : o->store.value, body->at[i]) || (o == x->set && i < k && tsr_expr_reads(o->let.value, body->at[i]->store.buffer))
				|| (o != x->set && i != k && o->store.buffer == body->at[i]->store.buffer))
				return false;
		}
	return true;
}

static bool understand(scan *x)
{
	tsr_emit *e = x->e;
	const tsr_stmt *s = x->loop;
	if (e->wide || !e->options->level || e->target->vector_bytes < 16 || s->loop.how != TSR_FOR_SERIAL || s->loop.contraction || s->loop.split || tsr_emit_streams(e, s) || s->loop.overlap)
		return false;
	for (uint32_t i = 0; i < s->loop.body.n; i++) {
		const tsr_stmt *o = s->loop.body.at[i];
		if ((o->kind != TSR_STMT_STORE && (o->kind != TSR_STMT_SET || x->set)) || !tsr_emit_side_by_side(e, s, o))
			return false;
		if (o->kind == TSR_STMT_SET)
			x->set = o, x->at = i;
	}
	if (!x->set || (x->acc = tsr_wide_sum_of(x->set)) == TSR_ACC_SET || tsr_expr_reads_local(x->set->let.value->op.args[1], x->set->let.local) || !apart(x))
		return false;
	x->prec = e->local_precs[x->set->let.local];
	x->lanes = e->target->vector_bytes / (unsigned)tsr_prec_bytes(x->prec);
	return x->prec == x->set->let.value->prec && (!tsr_size_is_const(s->loop.extent) || s->loop.extent.k >= 2 * x->lanes);
}

/* ---- emission ------------------------------------------------------------------------------------------------------------ */

/* Lanes from[i], or, where that is none of them, what changes nothing. */
static LLVMValueRef lanes_from(scan *x, LLVMValueRef v, const unsigned *from)
{
	LLVMValueRef at[MOST_LANES];
	for (unsigned i = 0; i < x->lanes; i++)
		at[i] = LLVMConstInt(x->e->i32, from[i] < x->lanes ? from[i] : x->lanes, false);
	return LLVMBuildShuffleVector(x->e->builder, v, tsr_emit_neutral(x->e, x->acc, x->prec, v), LLVMConstVector(at, x->lanes), "");
}

/* In the second half of each group of twice so many lanes the last one of the first half. */
static LLVMValueRef last_before(scan *x, LLVMValueRef v, unsigned half)
{
	unsigned from[MOST_LANES];
	for (unsigned i = 0; i < x->lanes; i++)
		from[i] = i / half % 2 ? i / half * half - 1 : x->lanes;
	return lanes_from(x, v, from);
}

static LLVMValueRef one_before(scan *x, LLVMValueRef v)
{
	unsigned from[MOST_LANES];
	for (unsigned i = 0; i < x->lanes; i++)
		from[i] = i ? i - 1 : x->lanes;
	return lanes_from(x, v, from);
}

static LLVMValueRef last_lane(scan *x, LLVMValueRef v)
{
	unsigned from[MOST_LANES];
	for (unsigned i = 0; i < x->lanes; i++)
		from[i] = x->lanes - 1;
	return lanes_from(x, v, from);
}

static LLVMValueRef joined(scan *x, LLVMValueRef before, LLVMValueRef v) { return tsr_emit_acc(x->e, x->acc, x->prec, before, v); }

/* The stores from .. to of the body, where the local stands for `value`. */
static void stores(scan *x, uint32_t from, uint32_t to, LLVMValueRef value)
{
	LLVMBuildStore(x->e->builder, value, x->here);
	for (uint32_t i = from; i < to; i++)
		tsr_emit_stmts(x->e, &(tsr_stmts){&x->loop->loop.body.at[i], 1, 1});
}

static void body(scan *x)
{
	tsr_emit *e = x->e;
	const tsr_expr *v = x->set->let.value->op.args[1];
	LLVMValueRef own = tsr_emit_convert(e, tsr_emit_expr(e, v), v->prec, x->prec), before = LLVMBuildLoad2(e->builder, x->type, x->carry, "");
	if (LLVMTypeOf(own) != x->type)
		own = tsr_emit_splat(e, own, x->type);
	for (unsigned half = 1; half < x->lanes; half *= 2)
		own = joined(x, last_before(x, own, half), own);
	if (x->at)
		stores(x, 0, x->at, joined(x, before, one_before(x, own)));
	stores(x, x->at + 1, x->loop->loop.body.n, joined(x, before, own));
	LLVMBuildStore(e->builder, joined(x, before, last_lane(x, own)), x->carry);
}

static void in_lanes(scan *x, LLVMValueRef to)
{
	tsr_emit *e = x->e;
	tsr_local_id id = x->set->let.local;
	x->wide = (tsr_wide){.loop = x->loop, .lanes = x->lanes};
	x->outside = e->locals[id];
	LLVMValueRef begin = LLVMBuildLoad2(e->builder, LLVMGetAllocatedType(x->outside), x->outside, "");
	x->type = LLVMVectorType(LLVMTypeOf(begin), x->lanes);
	x->carry = tsr_emit_alloca(e, x->type, "carry"), x->here = tsr_emit_alloca(e, x->type, "running");
	LLVMBuildStore(e->builder, tsr_emit_splat(e, begin, x->type), x->carry);
	tsr_emit_loop loop = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), to, tsr_emit_i64(e, x->lanes), TSR_FOR_SERIAL);
	e->syms[x->loop->loop.sym] = loop.index;
	e->locals[id] = x->here;
	e->wide = &x->wide;
	body(x);
	e->wide = NULL;
	e->locals[id] = x->outside;
	tsr_emit_loop_end(e, &loop);
	LLVMValueRef all = LLVMBuildLoad2(e->builder, x->type, x->carry, "");
	LLVMBuildStore(e->builder, LLVMBuildExtractElement(e->builder, all, LLVMConstInt(e->i32, 0, false), ""), x->outside);
}

static void one_by_one(scan *x, LLVMValueRef from, LLVMValueRef to)
{
	tsr_emit *e = x->e;
	if (tsr_emit_surely_none(from, to))
		return;
	tsr_emit_loop loop = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
	loop.few = true;
	e->syms[x->loop->loop.sym] = loop.index;
	tsr_emit_stmts(e, &x->loop->loop.body);
	tsr_emit_loop_end(e, &loop);
}

bool tsr_emit_scan(tsr_emit *e, const tsr_stmt *loop)
{
	scan x = {.e = e, .loop = loop};
	if (!understand(&x))
		return false;
	LLVMValueRef outer = e->syms[loop->loop.sym], to = tsr_emit_size(e, loop->loop.extent);
	LLVMValueRef whole = LLVMBuildNSWSub(e->builder, to, LLVMBuildSRem(e->builder, to, tsr_emit_i64(e, x.lanes), ""), "");
	in_lanes(&x, whole);
	one_by_one(&x, whole, to);
	e->syms[loop->loop.sym] = outer;
	return true;
}
