/* let%main: scalars as i1, i64 and double in stack slots, strings as pointers to tsr_str, everything else by the runtime. */
#include "host.h"
#include "../../runtime/tsr_abi.h"
#include <string.h>

typedef struct emit_host { tsr_emit *e; LLVMBuilderRef b; LLVMValueRef *vars; } emit_host;

static LLVMTypeRef type_of(tsr_emit *e, tsr_host_type t)
{
	switch (t) {
	case TSR_HOST_UNIT:
		return e->none;
	case TSR_HOST_BOOL:
		return e->i1;
	case TSR_HOST_INT:
		return e->i64;
	case TSR_HOST_FLOAT:
		return e->f64;
	case TSR_HOST_STRING:
		return e->ptr;
	}
	tsr_bug("a value of no type");
}

static LLVMValueRef expr(emit_host *h, const tsr_hexpr *x);

/* ---- arithmetic --------------------------------------------------------------------------------------------------------- */

/* Rounds towards minus infinity, as at every level of the language (the remainder has the divisor's sign); by zero the
 * program fails, and the one overflow wraps. */
static LLVMValueRef divide(emit_host *h, const tsr_hexpr *x, LLVMValueRef a, LLVMValueRef c)
{
	tsr_emit *e = h->e;
	LLVMBasicBlockRef fail = tsr_emit_block(e, "fail"), pass = tsr_emit_block(e, "pass");
	LLVMBuildCondBr(h->b, LLVMBuildICmp(h->b, LLVMIntEQ, c, tsr_emit_i64(e, 0), ""), fail, pass);
	LLVMPositionBuilderAtEnd(h->b, fail);
	LLVMValueRef args[3] = {e->ctx, tsr_emit_where(e, x->span), tsr_emit_text(e, "division by zero")};
	tsr_emit_call(e, "tsr_fail", e->none, 3, args);
	LLVMBuildUnreachable(h->b);
	LLVMPositionBuilderAtEnd(h->b, pass);
	LLVMValueRef minus = LLVMBuildICmp(h->b, LLVMIntEQ, c, tsr_emit_i64(e, -1), "");
	LLVMValueRef by = LLVMBuildSelect(h->b, minus, tsr_emit_i64(e, 1), c, "");
	LLVMValueRef zero = tsr_emit_i64(e, 0), rest = LLVMBuildSRem(h->b, a, by, "");
	LLVMValueRef opposed = LLVMBuildICmp(h->b, LLVMIntSLT, LLVMBuildXor(h->b, rest, by, ""), zero, "");
	LLVMValueRef inexact = LLVMBuildICmp(h->b, LLVMIntNE, rest, zero, "");
	LLVMValueRef below = LLVMBuildAnd(h->b, opposed, inexact, "");
	if (x->op.op == TSR_HOP_MOD) {
		LLVMValueRef floored = LLVMBuildSelect(h->b, below, LLVMBuildAdd(h->b, rest, by, ""), rest, "");
		return LLVMBuildSelect(h->b, minus, zero, floored, "");
	}
	LLVMValueRef quotient = LLVMBuildSDiv(h->b, a, by, "");
	LLVMValueRef floored = LLVMBuildSub(h->b, quotient, LLVMBuildZExt(h->b, below, e->i64, ""), "");
	return LLVMBuildSelect(h->b, minus, LLVMBuildNeg(h->b, a, ""), floored, "");
}

/* The remainder with the divisor's sign. */
static LLVMValueRef float_rest(emit_host *h, LLVMValueRef a, LLVMValueRef c)
{
	LLVMValueRef zero = LLVMConstReal(h->e->f64, 0), rest = LLVMBuildFRem(h->b, a, c, "");
	LLVMValueRef opposed = LLVMBuildXor(h->b, LLVMBuildFCmp(h->b, LLVMRealOLT, rest, zero, ""),
		LLVMBuildFCmp(h->b, LLVMRealOLT, c, zero, ""), "");
	LLVMValueRef below = LLVMBuildAnd(h->b, opposed, LLVMBuildFCmp(h->b, LLVMRealONE, rest, zero, ""), "");
	return LLVMBuildSelect(h->b, below, LLVMBuildFAdd(h->b, rest, c, ""), rest, "");
}

static LLVMValueRef on_ints(emit_host *h, const tsr_hexpr *x, LLVMValueRef a, LLVMValueRef c)
{
	bool is_bool = LLVMTypeOf(a) == h->e->i1;              /* false < true */
	switch (x->op.op) {
	case TSR_HOP_NEG: return LLVMBuildNeg(h->b, a, "");
	case TSR_HOP_NOT: return LLVMBuildNot(h->b, a, "");
	case TSR_HOP_ADD: return LLVMBuildAdd(h->b, a, c, "");
	case TSR_HOP_SUB: return LLVMBuildSub(h->b, a, c, "");
	case TSR_HOP_MUL: return LLVMBuildMul(h->b, a, c, "");
	case TSR_HOP_DIV: case TSR_HOP_IDIV: case TSR_HOP_MOD: return divide(h, x, a, c);
	case TSR_HOP_LT: return LLVMBuildICmp(h->b, is_bool ? LLVMIntULT : LLVMIntSLT, a, c, "");
	case TSR_HOP_LE: return LLVMBuildICmp(h->b, is_bool ? LLVMIntULE : LLVMIntSLE, a, c, "");
	case TSR_HOP_GT: return LLVMBuildICmp(h->b, is_bool ? LLVMIntUGT : LLVMIntSGT, a, c, "");
	case TSR_HOP_GE: return LLVMBuildICmp(h->b, is_bool ? LLVMIntUGE : LLVMIntSGE, a, c, "");
	case TSR_HOP_EQ: return LLVMBuildICmp(h->b, LLVMIntEQ, a, c, "");
	case TSR_HOP_NE: return LLVMBuildICmp(h->b, LLVMIntNE, a, c, "");
	case TSR_HOP_AND: case TSR_HOP_OR: case TSR_HOP_POW: case TSR_HOP_CONCAT: break;
	}
	tsr_bug("%s on ints at the program level", tsr_host_op_text(x->op.op));
}

static LLVMValueRef on_floats(emit_host *h, const tsr_hexpr *x, LLVMValueRef a, LLVMValueRef c)
{
	LLVMValueRef args[2] = {a, c};
	switch (x->op.op) {
	case TSR_HOP_NEG: return LLVMBuildFNeg(h->b, a, "");
	case TSR_HOP_ADD: return LLVMBuildFAdd(h->b, a, c, "");
	case TSR_HOP_SUB: return LLVMBuildFSub(h->b, a, c, "");
	case TSR_HOP_MUL: return LLVMBuildFMul(h->b, a, c, "");
	case TSR_HOP_DIV: return LLVMBuildFDiv(h->b, a, c, "");
	case TSR_HOP_MOD: return float_rest(h, a, c);
	case TSR_HOP_POW: return tsr_emit_call(h->e, "pow", h->e->f64, 2, args);
	case TSR_HOP_LT: return LLVMBuildFCmp(h->b, LLVMRealOLT, a, c, "");
	case TSR_HOP_LE: return LLVMBuildFCmp(h->b, LLVMRealOLE, a, c, "");
	case TSR_HOP_GT: return LLVMBuildFCmp(h->b, LLVMRealOGT, a, c, "");
	case TSR_HOP_GE: return LLVMBuildFCmp(h->b, LLVMRealOGE, a, c, "");
	case TSR_HOP_EQ: return LLVMBuildFCmp(h->b, LLVMRealOEQ, a, c, "");
	case TSR_HOP_NE: return LLVMBuildFCmp(h->b, LLVMRealUNE, a, c, "");
	case TSR_HOP_NOT: case TSR_HOP_IDIV: case TSR_HOP_AND: case TSR_HOP_OR: case TSR_HOP_CONCAT: break;
	}
	tsr_bug("%s on floats at the program level", tsr_host_op_text(x->op.op));
}

/* if c then (yes, emitted by its expression) else no; either may be a value at hand instead of an expression. */
static LLVMValueRef choose(emit_host *h, LLVMValueRef c, const tsr_hexpr *yes, LLVMValueRef yes_value, const tsr_hexpr *no,
	LLVMValueRef no_value)
{
	LLVMBasicBlockRef then = tsr_emit_block(h->e, "then"), other = tsr_emit_block(h->e, "else"), join = tsr_emit_block(h->e, "join");
	LLVMBasicBlockRef from[2];
	LLVMValueRef values[2];
	LLVMBuildCondBr(h->b, c, then, other);
	LLVMPositionBuilderAtEnd(h->b, then);
	values[0] = yes ? expr(h, yes) : yes_value;
	from[0] = LLVMGetInsertBlock(h->b);
	LLVMBuildBr(h->b, join);
	LLVMPositionBuilderAtEnd(h->b, other);
	values[1] = no ? expr(h, no) : no_value;
	from[1] = LLVMGetInsertBlock(h->b);
	LLVMBuildBr(h->b, join);
	LLVMPositionBuilderAtEnd(h->b, join);
	if (!values[0] || LLVMTypeOf(values[0]) == h->e->none)
		return NULL;
	LLVMValueRef phi = LLVMBuildPhi(h->b, LLVMTypeOf(values[0]), "");
	LLVMAddIncoming(phi, values, from, 2);
	return phi;
}

static LLVMValueRef operation(emit_host *h, const tsr_hexpr *x)
{
	LLVMValueRef a = expr(h, x->op.a);
	if (x->op.op == TSR_HOP_AND)
		return choose(h, a, x->op.b, NULL, NULL, LLVMConstInt(h->e->i1, 0, false));
	if (x->op.op == TSR_HOP_OR)
		return choose(h, a, NULL, LLVMConstInt(h->e->i1, 1, false), x->op.b, NULL);
	LLVMValueRef c = x->op.b ? expr(h, x->op.b) : NULL;
	return x->op.a->type == TSR_HOST_FLOAT ? on_floats(h, x, a, c) : on_ints(h, x, a, c);
}

/* ---- elements and calls --------------------------------------------------------------------------------------------------- */

static LLVMValueRef element(emit_host *h, const tsr_hexpr *x, tsr_prec *prec)
{
	tsr_emit *e = h->e;
	tsr_buffer_id id = tsr_loops_buffer(e->loops, x->element.tensor, x->element.part);
	if (id == TSR_NONE)
		tsr_bug("an observed tensor has no buffer: %s", tsr_tensor_get(e->host->graph, x->element.tensor)->name);
	const tsr_buffer *b = e->loops->buffers.at[id];
	bool flat = x->element.indices.n != b->rank;           /* one index on a tensor of one element */
	LLVMValueRef at = tsr_emit_i64(e, 0), slot = tsr_emit_i64(e, id);
	for (uint32_t i = 0; i < x->element.indices.n; i++) {
		LLVMValueRef index = expr(h, x->element.indices.at[i]), limit = flat ? tsr_emit_i64(e, 1) : tsr_emit_size(e, tsr_buffer_shape(b)[i]);
		LLVMBasicBlockRef fail = tsr_emit_block(e, "fail"), pass = tsr_emit_block(e, "pass");
		LLVMBuildCondBr(h->b, LLVMBuildICmp(h->b, LLVMIntULT, index, limit, ""), pass, fail);
		LLVMPositionBuilderAtEnd(h->b, fail);
		LLVMValueRef args[5] = {e->ctx, tsr_emit_where(e, x->span), tsr_emit_text(e, b->name), index, limit};
		tsr_emit_call(e, "tsr_fail_index", e->none, 5, args);
		LLVMBuildUnreachable(h->b);
		LLVMPositionBuilderAtEnd(h->b, pass);
		at = LLVMBuildAdd(h->b, LLVMBuildMul(h->b, at, limit, ""), index, "");
	}
	LLVMValueRef base = LLVMBuildLoad2(h->b, e->ptr, LLVMBuildInBoundsGEP2(h->b, e->ptr, e->buffer_table, &slot, 1, ""), "");
	*prec = b->prec;
	return tsr_emit_offset(e, b->prec, base, at);
}

static tsr_prec as_element(tsr_host_type t)
{
	return t == TSR_HOST_FLOAT ? TSR_PREC_F64 : t == TSR_HOST_BOOL ? TSR_PREC_BOOL : TSR_PREC_I64;
}

/* An argument as C takes it: 'k' an int32_t, 'z' the bytes of a string. */
static LLVMValueRef passed(emit_host *h, LLVMValueRef v, char letter)
{
	LLVMValueRef bytes = tsr_emit_i64(h->e, 8);
	if (letter == 'k')
		return LLVMTypeOf(v) == h->e->i1 ? LLVMBuildZExt(h->b, v, h->e->i32, "") : LLVMBuildTrunc(h->b, v, h->e->i32, "");
	if (letter == 'i' && LLVMTypeOf(v) == h->e->i1)
		return LLVMBuildZExt(h->b, v, h->e->i64, "");
	return letter == 'z' ? LLVMBuildInBoundsGEP2(h->b, h->e->i8, v, &bytes, 1, "") : v;
}

static LLVMValueRef call(emit_host *h, const tsr_hexpr *x)
{
	tsr_emit *e = h->e;
	const tsr_hfun_info *f = tsr_hfun_get(x->call.function);
	LLVMValueRef args[8];
	unsigned n = 0;
	if (strchr(f->passing, 'c'))
		args[n++] = e->ctx;
	if (strchr(f->passing, 'w'))
		args[n++] = tsr_emit_where(e, x->span);
	for (uint32_t i = 0; i < x->call.args.n; i++) {
		LLVMValueRef v = expr(h, x->call.args.at[i]);
		args[n++] = passed(h, v, f->params[i]);
	}
	char r = f->result[0];
	LLVMValueRef v = tsr_emit_call(e, f->symbol, r == 'k' ? e->i32 : type_of(e, tsr_host_type_of_letter(r)), n, args);
	return r == 'k' ? LLVMBuildSExt(h->b, v, e->i64, "") : v;
}

static LLVMValueRef to_int(emit_host *h, LLVMValueRef v)
{
	return tsr_emit_convert(h->e, v, TSR_PREC_F64, TSR_PREC_I64);
}

static LLVMValueRef expr(emit_host *h, const tsr_hexpr *x)
{
	tsr_emit *e = h->e;
	tsr_prec p;
	tsr_emit_position_of(e, x->span);
	switch (x->kind) {
	case TSR_H_INT: return tsr_emit_i64(e, x->integer);
	case TSR_H_BOOL: return LLVMConstInt(e->i1, x->integer != 0, false);
	case TSR_H_FLOAT: return LLVMConstReal(e->f64, x->real);
	case TSR_H_STRING: return x->string.text ? tsr_emit_string(e, x->string.text, x->string.size) : LLVMConstNull(e->ptr);
	case TSR_H_VAR: return LLVMBuildLoad2(h->b, type_of(e, e->host->vars.at[x->var]), h->vars[x->var], "");
	case TSR_H_UNARY: case TSR_H_BINARY: return operation(h, x);
	case TSR_H_TO_FLOAT: return LLVMBuildSIToFP(h->b, expr(h, x->converted), e->f64, "");
	case TSR_H_TO_INT: return to_int(h, expr(h, x->converted));
	case TSR_H_ELEMENT: {
		LLVMValueRef address = element(h, x, &p);
		return tsr_emit_convert(e, tsr_emit_load(e, p, address), p, as_element(x->type));
	}
	case TSR_H_SIZE: return tsr_emit_size(e, x->size);
	case TSR_H_NUMBER: {
		LLVMValueRef slot = tsr_emit_i64(e, x->number);
		return LLVMBuildLoad2(h->b, type_of(e, x->type), LLVMBuildInBoundsGEP2(h->b, e->i64, e->number_table, &slot, 1, ""), "");
	}
	case TSR_H_CALL: return call(h, x);
	case TSR_H_COND: return choose(h, expr(h, x->cond.cond), x->cond.then, NULL, x->cond.other, NULL);
	}
	tsr_bug("an expression of the program level of no kind");
}

/* ---- statements ------------------------------------------------------------------------------------------------------------- */

static void stmt(emit_host *h, const tsr_hstmt *s);

static void emit_if(emit_host *h, const tsr_hstmt *s)
{
	LLVMBasicBlockRef then = tsr_emit_block(h->e, "then"), other = tsr_emit_block(h->e, "else"), after = tsr_emit_block(h->e, "after");
	LLVMBuildCondBr(h->b, expr(h, s->iff.cond), then, other);
	LLVMPositionBuilderAtEnd(h->b, then);
	stmt(h, s->iff.then);
	LLVMBuildBr(h->b, after);
	LLVMPositionBuilderAtEnd(h->b, other);
	if (s->iff.other)
		stmt(h, s->iff.other);
	LLVMBuildBr(h->b, after);
	LLVMPositionBuilderAtEnd(h->b, after);
}

/* One iteration of a loop, with its strings forgotten where they die. */
static void iteration(emit_host *h, const tsr_hstmt *body)
{
	tsr_emit *e = h->e;
	bool forget = tsr_emit_strings_die(e->host, body);
	LLVMValueRef args[2] = {e->ctx, forget ? tsr_emit_call(e, "tsr_str_mark", e->i64, 1, &e->ctx) : NULL};
	stmt(h, body);
	if (forget)
		tsr_emit_call(e, "tsr_str_release", e->none, 2, args);
}

static void emit_while(emit_host *h, const tsr_hstmt *s)
{
	LLVMBasicBlockRef head = tsr_emit_block(h->e, "while"), body = tsr_emit_block(h->e, "do"), after = tsr_emit_block(h->e, "done");
	LLVMBuildBr(h->b, head);
	LLVMPositionBuilderAtEnd(h->b, head);
	LLVMBuildCondBr(h->b, expr(h, s->whil.cond), body, after);
	LLVMPositionBuilderAtEnd(h->b, body);
	iteration(h, s->whil.body);
	LLVMBuildBr(h->b, head);
	LLVMPositionBuilderAtEnd(h->b, after);
}

/* The bounds are read once; the last iteration is found by equality, so that the counter never passes the end. */
static void emit_for(emit_host *h, const tsr_hstmt *s)
{
	tsr_emit *e = h->e;
	LLVMValueRef from = expr(h, s->loop.from), to = expr(h, s->loop.to), slot = h->vars[s->loop.var];
	LLVMBasicBlockRef before = LLVMGetInsertBlock(h->b), body = tsr_emit_block(e, "for"), after = tsr_emit_block(e, "done");
	LLVMBuildCondBr(h->b, LLVMBuildICmp(h->b, s->loop.down ? LLVMIntSGE : LLVMIntSLE, from, to, ""), body, after);
	LLVMPositionBuilderAtEnd(h->b, body);
	LLVMValueRef i = LLVMBuildPhi(h->b, e->i64, "i");
	LLVMBuildStore(h->b, i, slot);
	iteration(h, s->loop.body);
	LLVMValueRef next = LLVMBuildAdd(h->b, i, tsr_emit_i64(e, s->loop.down ? -1 : 1), "");
	LLVMBasicBlockRef latch = LLVMGetInsertBlock(h->b), edges[2] = {before, latch};
	LLVMBuildCondBr(h->b, LLVMBuildICmp(h->b, LLVMIntEQ, i, to, ""), after, body);
	LLVMValueRef incoming[2] = {from, next};
	LLVMAddIncoming(i, incoming, edges, 2);
	LLVMPositionBuilderAtEnd(h->b, after);
}

static void emit_run(emit_host *h, const tsr_hstmt *s)
{
	tsr_emit *e = h->e;
	for (uint32_t i = 0; i < s->run.numbers.n; i++) {
		LLVMValueRef v = expr(h, s->run.values.at[i]), slot = tsr_emit_i64(e, s->run.numbers.at[i]);
		if (LLVMTypeOf(v) == e->i1)
			v = LLVMBuildZExt(h->b, v, e->i64, "");
		LLVMBuildStore(h->b, v, LLVMBuildInBoundsGEP2(h->b, e->i64, e->number_table, &slot, 1, ""));
	}
	tsr_emit_run(e, s->run.code);
}

static void emit_store(emit_host *h, const tsr_hstmt *s)
{
	tsr_prec p;
	LLVMValueRef address = element(h, s->store.target, &p), value = expr(h, s->store.value);
	tsr_emit_store(h->e, p, tsr_emit_convert(h->e, value, as_element(s->store.value->type), p), address);
}

static void print_tensor(emit_host *h, const tsr_hstmt *s)
{
	tsr_emit *e = h->e;
	tsr_graph *g = e->host->graph;
	const tsr_tensor *t = tsr_tensor_get(g, s->print.tensor);
	tsr_buffer_id id = tsr_loops_buffer(e->loops, s->print.tensor, s->print.part);
	if (id == TSR_NONE)
		tsr_bug("an observed tensor has no buffer: %s", s->print.name);
	const tsr_buffer *b = e->loops->buffers.at[id];
	LLVMValueRef slot = tsr_emit_i64(e, id);
	LLVMValueRef data = LLVMBuildLoad2(h->b, e->ptr, LLVMBuildInBoundsGEP2(h->b, e->ptr, e->buffer_table, &slot, 1, ""), "");
	const char *shape = tsr_solved_marked_str(g->store, &t->solved, TSR_SHAPE_SIZE);
	LLVMValueRef args[9] = {e->ctx, tsr_emit_text(e, s->print.name), LLVMConstInt(e->i32, b->prec, false),
		tsr_emit_i64(e, t->solved.row[TSR_BATCH].n), tsr_emit_i64(e, t->solved.row[TSR_OUTPUT].n),
		tsr_emit_i64(e, t->solved.row[TSR_INPUT].n), tsr_emit_dims(e, b), tsr_emit_text(e, shape), data};
	tsr_emit_call(e, "tsr_print_tensor", e->none, 9, args);
}

static void set(emit_host *h, tsr_var_id var, LLVMValueRef value)
{
	if (h->vars[var])                                      /* one of type unit has no slot */
		LLVMBuildStore(h->b, value, h->vars[var]);
}

static void stmt(emit_host *h, const tsr_hstmt *s)
{
	tsr_emit_position_of(h->e, s->span);
	switch (s->kind) {
	case TSR_H_SET:
		set(h, s->set.var, expr(h, s->set.value));
		return;
	case TSR_H_IF:
		emit_if(h, s);
		return;
	case TSR_H_WHILE:
		emit_while(h, s);
		return;
	case TSR_H_FOR:
		emit_for(h, s);
		return;
	case TSR_H_RUN:
		emit_run(h, s);
		return;
	case TSR_H_STORE:
		emit_store(h, s);
		return;
	case TSR_H_DO:
		expr(h, s->expr);
		return;
	case TSR_H_PRINT_TENSOR:
		print_tensor(h, s);
		return;
	case TSR_H_SEQ:
		for (uint32_t i = 0; i < s->seq.n; i++)
			stmt(h, s->seq.at[i]);
		return;
	}
	tsr_bug("a statement of the program level of no kind");
}

void tsr_emit_host(tsr_emit *e, const tsr_hstmt *body)
{
	emit_host h = {e, e->builder, TSR_NEW_N(e->tc->arena, LLVMValueRef, e->host->vars.n + 1)};
	for (uint32_t i = 0; i < e->host->vars.n; i++)
		if (e->host->vars.at[i] != TSR_HOST_UNIT)
			h.vars[i] = tsr_emit_alloca(e, type_of(e, e->host->vars.at[i]), "var");
	stmt(&h, body);
}
