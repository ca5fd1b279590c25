/* Loops whose exponentials are computed in two halves, the first one for the vectors that come next: else all operations of one wait for each other, and
 * the processor, which looks ahead so many operations, has too few that wait for nothing (software pipelining).
 *
 *     half = first half of x[from]
 *     for j { next = first half of x[the next j, or this one where it is the last];  .. second half of `half` ..;  half = next }
 *
 * They are those beside a constant in a sum, as of the logistic function, and those of values less the greatest of them (opt/falling.c), for which one comparison
 * finds those that vanish.  Of rows whose walks go together nobody looks for these, nor for NaN among what the greatest is taken of, until the row's end: where
 * one was met the walks are computed again, for the row alone and with care (`hope`).  In the second cache of a Zen 3 a cross entropy is 1.09 times as fast
 * by the halves and again 1.09 by the hope, silu 1.07 by the halves.  A target that hopes and has no halves (`hopes`: Zen 4) computes them at once (cross entropy 1.11),
 * two registers of AVX-512 in turn (overlap.c), and a sum that stores none takes in their last product (`tsr_emit_adds_exp`). */
#include "nests.h"
#include "../opt/opt.h"
#include <stddef.h>

static bool in_f32(const tsr_expr *x, tsr_op op)
{
	return x->kind == TSR_EXPR_OP && x->op.op == op && x->op.operand_prec == TSR_PREC_F32 && x->prec == TSR_PREC_F32 && x->op.args[0]->prec == TSR_PREC_F32;
}

/* The first exponential in x that is of falling values, or, where `beside` is given, part of a sum with a constant. */
static const tsr_expr *exp_in(const tsr_emit *e, const tsr_expr *x, tsr_falling *f, bool *beside)
{
	tsr_expr *part[TSR_MOST_PARTS];
	if (in_f32(x, TSR_OP_EXP) && tsr_expr_falls(e->loops, e->body, x->op.args[0], f))
		return x;
	for (uint32_t i = 0, n = tsr_expr_parts(x, part); i < n; i++) {
		bool here = beside && x->kind == TSR_EXPR_OP && x->op.op == TSR_OP_ADD && tsr_emit_exp_beside_in(x, i) && in_f32(part[i], TSR_OP_EXP);
		const tsr_expr *found = here ? part[i] : exp_in(e, part[i], f, beside);
		if (here)
			*beside = true;
		if (found)
			return found;
	}
	return NULL;
}

/* x, in statement `at` of an iteration, is of what others before it store, or of locals that the iteration sets. */
static bool waits(const tsr_stmts *body, uint32_t at, const tsr_expr *x)
{
	tsr_expr *part[TSR_MOST_PARTS];
	bool found = false;
	for (uint32_t i = 0; i < body->n && !found; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE)
			found = i < at && x->kind == TSR_EXPR_LOAD && x->load.buffer == s->store.buffer;
		else
			found = x->kind == TSR_EXPR_LOCAL && x->local == s->let.local;
	}
	for (uint32_t i = 0, n = tsr_expr_parts(x, part); i < n && !found; i++)
		found = waits(body, at, part[i]);
	return found;
}

static const tsr_expr *exp_of(const tsr_emit *e, const tsr_stmt *loop, tsr_falling *f, bool *beside)
{
	const tsr_stmts *body = &loop->loop.body;
	for (uint32_t i = 0; e->body && tsr_emit_hopes(e) && i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		bool store = s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE;
		const tsr_expr *found = store || s->kind == TSR_STMT_LET || s->kind == TSR_STMT_SET ? exp_in(e, store ? s->store.value : s->let.value, f, beside) : NULL;
		if (found)
			return waits(body, i, found->op.args[0]) ? NULL : found;
	}
	return NULL;
}

static tsr_emit_half first_half(tsr_emit *e, const tsr_rotated *r, LLVMValueRef index)
{
	e->syms[r->wide->loop->loop.sym] = index;
	e->wide = r->wide;
	tsr_emit_half half = tsr_emit_exp_start(e, tsr_emit_expr(e, r->exp->op.args[0]), r->beside);
	e->wide = NULL;
	return half;
}

static void keep(tsr_emit *e, const tsr_rotated *r, const tsr_emit_half *half)
{
	LLVMBuildStore(e->builder, half->sum, r->sum);
	LLVMBuildStore(e->builder, half->rest, r->rest);
}

void tsr_rotated_begin(tsr_emit *e, tsr_rotated *r, const tsr_wide *w, LLVMValueRef from, LLVMValueRef to)
{
	tsr_falling f;
	tsr_size size = w->loop->loop.extent;
	*r = (tsr_rotated){.wide = w, .hope = e->hope && e->hope->less == w->loop ? e->hope : NULL, .at_once = !tsr_emit_has_halves(e)};
	int64_t least = tsr_size_is_const(size) ? size.k : r->hope ? TSR_LEAST_OVERLAP : 0;      /* of rows that go together there are so many elements */
	bool some = least >= w->lanes && !tsr_emit_surely_none(from, to);
	r->exp = some && (r->hope || !r->at_once) ? exp_of(e, w->loop, &f, &r->beside) : NULL;
	if (!r->exp)
		return;
	if (r->hope && !r->hope->worst) {          /* the last vectors of a row may be a loop of their own */
		r->hope->worst = tsr_emit_alloca(e, LLVMVectorType(e->i32, e->target->vector_bytes / 4), "worst");
		LLVMBuildStore(e->builder, LLVMConstNull(LLVMGetAllocatedType(r->hope->worst)), r->hope->worst);
	}
	if (r->at_once)
		return;
	r->last = LLVMBuildNSWSub(e->builder, to, tsr_emit_i64(e, w->lanes), "");
	from = LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLE, from, r->last, ""), from, tsr_emit_i64(e, 0), "");      /* the loop may be of no vectors */
	tsr_emit_half half = first_half(e, r, from);
	r->sum = tsr_emit_alloca(e, LLVMTypeOf(half.sum), "sum");
	r->rest = tsr_emit_alloca(e, LLVMTypeOf(half.rest), "rest");
	keep(e, r, &half);
}

/* The exponential among the statements of an iteration, and others that are known. */
typedef struct second { tsr_emit_leaves leaves; tsr_emit_again again; tsr_emit *e; const tsr_emit_leaves *others; const tsr_rotated *r; } second;

static LLVMValueRef argument(const tsr_emit_again *again)
{
	const second *s = (const second *)(const void *)((const char *)again - offsetof(second, again));
	return tsr_emit_expr(s->e, s->r->exp->op.args[0]);
}

static LLVMValueRef hoped(const second *s, const tsr_emit_half *half, const tsr_expr *acc)
{
	LLVMBuilderRef b = s->e->builder;
	LLVMValueRef at = s->r->hope->worst, worst = LLVMBuildLoad2(b, LLVMGetAllocatedType(at), at, "");
	LLVMValueRef value = half ? tsr_emit_exp_hoped(s->e, half, &worst) : tsr_emit_exp_hoped_at_once(s->e, argument(&s->again), acc ? tsr_emit_expr(s->e, acc) : NULL, &worst);
	LLVMBuildStore(b, worst, at);
	return value;
}

static LLVMValueRef second_half(const tsr_emit_leaves *leaves, const tsr_expr *x)
{
	const second *s = (const second *)leaves;
	LLVMBuilderRef b = s->e->builder;
	if (s->r->at_once && tsr_emit_adds_exp(s->e, x) == s->r->exp)
		return hoped(s, NULL, x->op.args[0]);
	if (x != s->r->exp)
		return s->others ? s->others->of(s->others, x) : NULL;
	if (s->r->at_once)
		return hoped(s, NULL, NULL);
	tsr_emit_half half = {LLVMBuildLoad2(b, LLVMGetAllocatedType(s->r->sum), s->r->sum, ""), LLVMBuildLoad2(b, LLVMGetAllocatedType(s->r->rest), s->r->rest, "")};
	if (s->r->beside)
		return tsr_emit_exp_beside_rest(s->e, &half);
	return s->r->hope ? hoped(s, &half, NULL) : tsr_emit_exp_rest(s->e, &half, &s->again);
}

void tsr_rotated_body(tsr_emit *e, const tsr_rotated *r, LLVMValueRef index)
{
	LLVMBuilderRef b = e->builder;
	tsr_emit_half half = {0};
	if (!r->at_once) {
		LLVMValueRef next = LLVMBuildNSWAdd(b, index, tsr_emit_i64(e, r->wide->lanes), "");
		half = first_half(e, r, LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSLT, index, r->last, ""), next, index, ""));
	}
	second s = {{second_half}, {argument}, e, e->leaves, r};
	e->syms[r->wide->loop->loop.sym] = index;
	e->wide = r->wide;
	e->leaves = &s.leaves;
	tsr_emit_stmts(e, &r->wide->loop->loop.body);
	e->leaves = s.others;
	e->wide = NULL;
	if (!r->at_once)
		keep(e, r, &half);
}

/* ---- hope ------------------------------------------------------------------------------------------------------------------ */

bool tsr_hope_in(const tsr_emit *e, const tsr_stmt *rows, const tsr_stmt *walk, tsr_hope *out)
{
	tsr_falling f;
	const tsr_stmts *body = &rows->loop.body;
	bool first = false;
	if (!exp_of(e, walk, &f, NULL) || !f.lasts || (tsr_size_is_const(walk->loop.extent) ? walk->loop.extent.k : TSR_LEAST_OVERLAP) < e->overlap)
		return false;
	for (uint32_t i = 0; i < body->n; i++) {
		first |= body->at[i] == f.greatest;
		if (body->at[i] == walk) {
			*out = (tsr_hope){.greatest = f.greatest, .less = walk};
			return first && tsr_stmts_repeat(body, i + 1);
		}
	}
	return false;
}
