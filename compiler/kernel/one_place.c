/* A comparison of a place with a number that the loop does not change, as of a class with a row's label: it holds in one iteration at most, so that
 * most vectors have it in no lane.  Those are computed without it. */
#include "nests.h"

typedef struct place { const tsr_expr *equal, *index, *number; } place;

static bool find(tsr_emit *e, const tsr_stmt *loop, const tsr_expr *x, place *out)
{
	tsr_expr *part[TSR_MOST_PARTS];
	bool equal = x->kind == TSR_EXPR_OP && x->op.op == TSR_OP_EQ && x->op.operand_prec == TSR_PREC_I32;
	for (uint32_t i = 0; equal && i < 2; i++) {
		const tsr_expr *index = x->op.args[i], *number = x->op.args[1 - i];
		if (index->kind == TSR_EXPR_INDEX && index->prec == TSR_PREC_I32 && number->prec == TSR_PREC_I32
			&& tsr_lin_coef(&index->index, loop->loop.sym) == 1 && tsr_emit_fixed(e, loop, number)) {
			*out = (place){x, index, number};
			return true;
		}
	}
	for (uint32_t i = 0, n = tsr_expr_parts(x, part); i < n; i++)
		if (find(e, loop, part[i], out))
			return true;
	return false;
}

/* The first in a loop of so many vectors that one more branch in one of them does not matter. */
static bool place_in(tsr_emit *e, const tsr_stmt *loop, unsigned lanes, place *out)
{
	enum { VECTORS = 8 };
	const tsr_stmts *body = &loop->loop.body;
	if (lanes < 2 || (tsr_size_is_const(loop->loop.extent) && loop->loop.extent.k < VECTORS * lanes))
		return false;
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		const tsr_expr *value = s->kind == TSR_STMT_LET ? s->let.value : s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE ? s->store.value : NULL;
		if (value && find(e, loop, value, out))
			return true;
	}
	return false;
}

typedef struct absent { tsr_emit_leaves leaves; const tsr_emit_leaves *others; const tsr_expr *equal; LLVMValueRef no; } absent;

static LLVMValueRef absent_leaf(const tsr_emit_leaves *leaves, const tsr_expr *x)
{
	const absent *a = (const absent *)leaves;
	return x == a->equal ? a->no : a->others ? a->others->of(a->others, x) : NULL;
}

void tsr_emit_places(tsr_emit *e, const tsr_stmt *loop, unsigned lanes)
{
	place p;
	if (!place_in(e, loop, lanes, &p)) {
		tsr_emit_stmts(e, &loop->loop.body);
		return;
	}
	LLVMValueRef number = tsr_emit_expr(e, p.number), first = tsr_emit_convert(e, tsr_emit_lin(e, &p.index->index), TSR_PREC_I64, TSR_PREC_I32);
	LLVMValueRef lane = LLVMBuildSub(e->builder, number, first, "");            /* a number before the first is a huge one */
	absent a = {{absent_leaf}, e->leaves, p.equal, LLVMConstNull(tsr_emit_register_type(e, TSR_PREC_BOOL))};
	tsr_emit_fork f = tsr_emit_fork_usual(e, LLVMBuildICmp(e->builder, LLVMIntUGE, lane, LLVMConstInt(LLVMTypeOf(lane), lanes, false), ""), "absent");
	e->leaves = &a.leaves;
	tsr_emit_stmts(e, &loop->loop.body);
	e->leaves = a.others;
	tsr_emit_fork_other(e, &f);
	tsr_emit_stmts(e, &loop->loop.body);
	tsr_emit_fork_end(e, &f);
}
