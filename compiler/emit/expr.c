/* Sizes, indices and expressions.  Indices are i64 throughout; that they stay in range is known, so their arithmetic
 * carries nsw, and addresses are inbounds. */
#include "emit.h"
#include "../opt/opt.h"
#include <math.h>
#include "../base/plant.h"

static LLVMValueRef add(tsr_emit *e, LLVMValueRef sum, LLVMValueRef x)
{
	return sum ? LLVMBuildNSWAdd(e->builder, sum, x, "") : x;
}

static LLVMValueRef scaled(tsr_emit *e, LLVMValueRef x, int64_t coef)
{
	return coef == 1 ? x : LLVMBuildNSWMul(e->builder, x, tsr_emit_i64(e, coef), "");
}

/* sum + k, where sum may be NULL */
static LLVMValueRef with_constant(tsr_emit *e, LLVMValueRef sum, int64_t k)
{
	if (!sum)
		return tsr_emit_i64(e, k);
	return k ? LLVMBuildNSWAdd(e->builder, sum, tsr_emit_i64(e, k), "") : sum;
}

static LLVMValueRef symbol(tsr_emit *e, uint32_t id)
{
	if (!e->symbols[id])
		tsr_bug("the kernel does not know the size %s", e->loops->symbols.at[id]);
	return e->symbols[id];
}

static LLVMValueRef size_terms(tsr_emit *e, tsr_size s)
{
	LLVMValueRef sum = NULL;
	for (uint32_t i = 0; i < s.nterms; i++)
		sum = add(e, sum, scaled(e, symbol(e, s.terms[i].symbol), s.terms[i].coef));
	return sum;
}

LLVMValueRef tsr_emit_size(tsr_emit *e, tsr_size s)
{
	return with_constant(e, size_terms(e, s), s.k);
}

/* The value without what is added to it and known, which goes to *known, so often; NULL: nothing is left. */
static LLVMValueRef without_known(LLVMValueRef v, int64_t coef, int64_t *known)
{
	bool sum = LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == LLVMAdd && LLVMIsAConstantInt(LLVMGetOperand(v, 1));
	LLVMValueRef k = LLVMIsAConstantInt(v) ? v : sum ? LLVMGetOperand(v, 1) : NULL;
	*known += k ? coef * LLVMConstIntGetSExtValue(k) : 0;
	return sum ? LLVMGetOperand(v, 0) : k ? NULL : v;
}

/* The index; or, where `known` is given, what is not known of it, NULL if nothing is left, and the rest is added there. */
static LLVMValueRef index_of(tsr_emit *e, const tsr_lin *x, int64_t *known)
{
	LLVMValueRef sum = size_terms(e, x->base);
	for (uint32_t i = 0; i < x->n; i++) {
		const tsr_lin_term *t = &x->terms[i];
		LLVMValueRef v = t->kind == TSR_LSYM_NUMBER ? e->numbers[t->id] : e->syms[t->id];
		if (!v)
			tsr_bug("an index mentions symbol %u outside its loop", t->id);
		v = known ? without_known(v, t->coef, known) : v;
		if (v && t->coef)
			sum = add(e, sum, scaled(e, v, t->coef));
	}
	if (!known)
		return with_constant(e, sum, x->offset + x->base.k);
	*known += x->offset + x->base.k;
	return sum;
}

LLVMValueRef tsr_emit_lin(tsr_emit *e, const tsr_lin *x) { return index_of(e, x, NULL); }

LLVMValueRef tsr_emit_first(tsr_emit *e, const tsr_stmt *loop)
{
	LLVMValueRef zero = LLVMConstInt(e->i64, 0, false), from = loop->loop.from ? tsr_emit_lin(e, loop->loop.from) : zero;
	return from == zero ? zero : LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSGT, from, zero, ""), from, zero, "");
}

LLVMValueRef tsr_emit_end(tsr_emit *e, const tsr_stmt *loop)
{
	LLVMValueRef all = tsr_emit_size(e, loop->loop.extent), until = loop->loop.until ? tsr_emit_lin(e, loop->loop.until) : all;
	return until == all ? all : LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, until, all, ""), until, all, "");
}

/* Row-major by Horner's rule over constant strides where the trailing dims are constant, so that each index costs one
 * multiplication; LLVM strength-reduces the rest.  `known`: as index_of has it, as far as it is known how much that is. */
static LLVMValueRef position(tsr_emit *e, const tsr_buffer *b, const tsr_lin *index, int64_t *known)
{
	LLVMValueRef sum = NULL;
	for (uint32_t i = 0; i < b->rank; i++) {
		tsr_size d = b->dims[i];
		if (known && !tsr_size_is_const(d) && *known) {
			sum = sum ? with_constant(e, sum, *known) : tsr_emit_i64(e, *known);
			*known = 0;
		}
		if (sum)
			sum = tsr_size_is_const(d) ? scaled(e, sum, d.k) : LLVMBuildNSWMul(e->builder, sum, tsr_emit_size(e, d), "");
		if (known)
			*known *= d.k;
		LLVMValueRef at = index_of(e, &index[i], known);
		sum = at ? add(e, sum, at) : sum;
	}
	return sum;
}

LLVMValueRef tsr_emit_position(tsr_emit *e, tsr_buffer_id buffer, const tsr_lin *index)
{
	LLVMValueRef sum = position(e, e->loops->buffers.at[buffer], index, NULL);
	sum = TSR_PLANTED(21) ? with_constant(e, sum, 1) : sum;                     /* one further */
	return sum ? sum : tsr_emit_i64(e, 0);
}

LLVMValueRef tsr_emit_chosen(tsr_emit *e, LLVMIntPredicate is, LLVMValueRef x, LLVMValueRef y)
{
	return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, is, x, y, ""), x, y, "");
}

LLVMValueRef tsr_emit_offset(tsr_emit *e, tsr_prec p, LLVMValueRef base, LLVMValueRef elements)
{
	return LLVMBuildInBoundsGEP2(e->builder, tsr_emit_memory_type(e, p), base, &elements, 1, "");
}

/* What is known of a position is added last: of places that lie a known way apart all else is the same.  What is added before may point anywhere. */
static LLVMValueRef known_last(tsr_emit *e, const tsr_buffer *b, const tsr_lin *index)
{
	LLVMTypeRef type = tsr_emit_memory_type(e, b->prec);
	int64_t known = 0;
	LLVMValueRef rest = position(e, b, index, &known), last = tsr_emit_i64(e, known), at = e->buffers[b->id];
	return LLVMBuildGEP2(e->builder, type, rest ? LLVMBuildGEP2(e->builder, type, at, &rest, 1, "") : at, &last, 1, "");
}

LLVMValueRef tsr_emit_address(tsr_emit *e, tsr_buffer_id buffer, const tsr_lin *index)
{
	if (!e->buffers[buffer])
		tsr_bug("the kernel does not know the buffer %s", e->loops->buffers.at[buffer]->name);
	if (e->places && e->loops->buffers.at[buffer]->rank)
		return known_last(e, e->loops->buffers.at[buffer], index);
	return tsr_emit_offset(e, e->loops->buffers.at[buffer]->prec, e->buffers[buffer], tsr_emit_position(e, buffer, index));
}

LLVMValueRef tsr_emit_in_ranges(tsr_emit *e, uint32_t n, const tsr_range *ranges)
{
	LLVMValueRef all = NULL;
	for (uint32_t i = 0; i < n; i++) {
		/* unsigned: a negative index is a huge one */
		LLVMValueRef in = LLVMBuildICmp(e->builder, LLVMIntULT, tsr_emit_lin(e, &ranges[i].index), tsr_emit_size(e, ranges[i].size), "");
		all = all ? LLVMBuildAnd(e->builder, all, in, "") : in;
	}
	return all ? all : LLVMConstInt(e->i1, 1, false);
}

static LLVMValueRef emit_select(tsr_emit *e, const tsr_expr *x)
{
	LLVMBasicBlockRef inside = tsr_emit_block(e, "inside"), outside = tsr_emit_block(e, "outside"), join = tsr_emit_block(e, "join");
	LLVMBuildCondBr(e->builder, tsr_emit_in_ranges(e, x->select.n, x->select.ranges), inside, outside);
	LLVMPositionBuilderAtEnd(e->builder, inside);
	LLVMValueRef values[2];
	values[0] = tsr_emit_convert(e, tsr_emit_expr(e, x->select.inside), x->select.inside->prec, x->prec);
	inside = LLVMGetInsertBlock(e->builder);
	LLVMBuildBr(e->builder, join);
	LLVMPositionBuilderAtEnd(e->builder, outside);
	values[1] = tsr_emit_convert(e, tsr_emit_expr(e, x->select.outside), x->select.outside->prec, x->prec);
	outside = LLVMGetInsertBlock(e->builder);
	LLVMBuildBr(e->builder, join);
	LLVMPositionBuilderAtEnd(e->builder, join);
	LLVMValueRef phi = LLVMBuildPhi(e->builder, LLVMTypeOf(values[0]), "");
	LLVMBasicBlockRef from[2] = {inside, outside};
	LLVMAddIncoming(phi, values, from, 2);
	return phi;
}

/* ---- lanes ---------------------------------------------------------------------------------------------------------------- */

void tsr_emit_alike(tsr_emit *e, unsigned n, LLVMValueRef *values)
{
	LLVMValueRef like = NULL;
	for (unsigned i = 0; i < n; i++)
		if (LLVMGetTypeKind(LLVMTypeOf(values[i])) == LLVMVectorTypeKind)
			like = values[i];
	for (unsigned i = 0; like && i < n; i++)
		if (LLVMGetTypeKind(LLVMTypeOf(values[i])) != LLVMVectorTypeKind)
			values[i] = tsr_emit_splat(e, values[i], tsr_emit_type_like(LLVMTypeOf(values[i]), like));
}

/* What an index grows by from one lane to the next. */
static int64_t lane_step(const tsr_emit *e, const tsr_lin *x)
{
	return e->wide ? tsr_lin_coef(x, e->wide->loop->loop.sym) : 0;
}

static LLVMValueRef emit_index(tsr_emit *e, const tsr_expr *x)
{
	LLVMValueRef first = tsr_emit_convert(e, tsr_emit_lin(e, &x->index), TSR_PREC_I64, x->prec);
	int64_t step = lane_step(e, &x->index);
	if (!step || e->wide->lanes == 1)
		return first;
	LLVMValueRef lane[64];
	for (unsigned i = 0; i < e->wide->lanes; i++)
		lane[i] = LLVMConstInt(LLVMTypeOf(first), (uint64_t)(step * i), true);
	LLVMValueRef steps = LLVMConstVector(lane, e->wide->lanes);
	return LLVMBuildAdd(e->builder, tsr_emit_splat(e, first, LLVMTypeOf(steps)), steps, "");
}

/* An array has one element at least. */
LLVMValueRef tsr_emit_within(tsr_emit *e, const tsr_buffer *b, LLVMValueRef address, int64_t element)
{
	if (!e->wide || !e->wide->some)
		return address;
	return LLVMBuildSelect(e->builder, e->wide->some, address, tsr_emit_offset(e, b->prec, e->buffers[b->id], tsr_emit_i64(e, element)), "");
}

static LLVMValueRef emit_load(tsr_emit *e, const tsr_expr *x)
{
	const tsr_buffer *b = e->loops->buffers.at[x->load.buffer];
	LLVMValueRef grouped = e->wide && e->wide->each ? tsr_emit_grouped_load(e, x) : NULL;
	if (grouped)
		return tsr_emit_convert(e, grouped, b->prec, x->prec);
	int64_t step = e->wide ? tsr_emit_step(e, e->wide->loop, x->load.buffer, x->load.index) : 0;
	bool side_by_side = step != 0;
	LLVMValueRef address = tsr_emit_address(e, x->load.buffer, x->load.index);
	if (step > 1 && e->wide->lanes > 1)
		return tsr_emit_convert(e, tsr_emit_wide_load_strided(e, b->prec, address, (unsigned)step), b->prec, x->prec);
	return tsr_emit_convert(e, side_by_side ? tsr_emit_wide_load(e, b->prec, address) : tsr_emit_load(e, b->prec, tsr_emit_within(e, b, address, 0)), b->prec, x->prec);
}

/* x is `op` in f32. */
static bool in_f32(const tsr_expr *x, tsr_op op) { return x->kind == TSR_EXPR_OP && x->op.op == op && x->op.operand_prec == TSR_PREC_F32 && x->prec == TSR_PREC_F32; }

/* A constant, 0 for anything else. */
static double constant(const tsr_expr *x) { return x->kind == TSR_EXPR_CONST ? tsr_scalar_convert(x->value, TSR_PREC_F32).d : 0; }

/* An exponential that a constant is added to, as in 1 / (1 + exp -x). */
bool tsr_emit_exp_beside_in(const tsr_expr *sum, uint32_t at)
{
	return in_f32(sum, TSR_OP_ADD) && in_f32(sum->op.args[at], TSR_OP_EXP) && fabs(constant(sum->op.args[1 - at])) >= 0x1p-60;
}

const tsr_expr *tsr_emit_adds_exp(const tsr_emit *e, const tsr_expr *x)
{
	tsr_falling f;
	if (!e->wide || e->wide->lanes % (e->target->vector_bytes / 4) || !tsr_emit_has_sums(e) || !in_f32(x, TSR_OP_ADD) || x->op.args[0]->kind != TSR_EXPR_LOCAL || !in_f32(x->op.args[1], TSR_OP_EXP))
		return NULL;
	return e->body && tsr_expr_falls(e->loops, e->body, x->op.args[1]->op.args[0], &f) ? x->op.args[1] : NULL;
}

static LLVMValueRef emit_exp_added(tsr_emit *e, const tsr_expr *x, const tsr_expr *exp)
{
	LLVMValueRef args[2] = {tsr_emit_expr(e, exp->op.args[0]), tsr_emit_expr(e, x->op.args[0])};
	tsr_emit_alike(e, 2, args);
	return tsr_emit_exp_added(e, args[0], args[1]);
}

static bool is_erf_or_tanh(const tsr_expr *x) { return in_f32(x, TSR_OP_ERF) || in_f32(x, TSR_OP_TANH); }

/* A product with a constant, which is given in *factor: the other factor; anything else is that once. */
static const tsr_expr *without_factor(const tsr_expr *x, double *factor)
{
	*factor = 1;
	for (uint32_t k = 0; k < 2 && in_f32(x, TSR_OP_MUL); k++)
		if (constant(x->op.args[k]) != 0) {
			*factor = constant(x->op.args[k]);
			return x->op.args[1 - k];
		}
	return x;
}

/* The erf or tanh that a constant is added to, as in 0.5 + 0.5 erf x; NULL: there is none. */
static const tsr_expr *beside(const tsr_expr *x, tsr_emit_sum *sum)
{
	for (uint32_t at = 0; at < 2 && in_f32(x, TSR_OP_ADD); at++) {
		const tsr_expr *term = without_factor(x->op.args[at], &sum->factor);
		sum->constant = constant(x->op.args[1 - at]);
		if (is_erf_or_tanh(term) && fabs(sum->factor) <= fabs(sum->constant)) {
			sum->op = term->op.op;
			return term;
		}
	}
	return NULL;
}

static LLVMValueRef emit_argument(tsr_emit *e, const tsr_expr *x, uint32_t at)
{
	const tsr_expr *a = x->op.args[at];
	if (tsr_emit_exp_beside_in(x, at) && !(e->leaves && e->leaves->of(e->leaves, a)))
		return tsr_emit_exp_beside(e, tsr_emit_convert(e, tsr_emit_expr(e, a->op.args[0]), a->op.args[0]->prec, TSR_PREC_F32));
	return tsr_emit_convert(e, tsr_emit_expr(e, a), a->prec, x->op.op == TSR_OP_WHERE && at == 0 ? TSR_PREC_BOOL : x->op.operand_prec);
}

static LLVMValueRef emit_plainly(tsr_emit *e, const tsr_expr *x)
{
	LLVMValueRef args[3];
	tsr_prec p = x->op.operand_prec;
	for (uint32_t i = 0; i < tsr_op_get(x->op.op)->arity; i++)
		args[i] = emit_argument(e, x, i);
	bool one_divisor = x->op.op == TSR_OP_DIV && e->wide && e->target->fma && e->target->slow_division && LLVMTypeOf(args[1]) == e->f32 && tsr_emit_fixed(e, e->wide->loop, x->op.args[1]);
	if (!one_divisor)
		tsr_emit_alike(e, tsr_op_get(x->op.op)->arity, args);
	LLVMValueRef result = one_divisor ? tsr_emit_round_to(e, p, tsr_emit_quotient(e, args[0], args[1])) : tsr_emit_op(e, x->op.op, p, args);
	tsr_result_rule rule = tsr_op_get(x->op.op)->result;
	bool truth = rule == TSR_RESULT_BOOL || rule == TSR_RESULT_LOGIC;
	return tsr_emit_convert(e, result, truth ? TSR_PREC_BOOL : p, x->prec);
}

/* One leaf whose value is known, and those that were before. */
typedef struct known { tsr_emit_leaves leaves; const tsr_emit_leaves *others; const tsr_expr *leaf; LLVMValueRef value; } known;

static LLVMValueRef other_leaf(const tsr_emit_leaves *others, const tsr_expr *x) { return others ? others->of(others, x) : NULL; }

static LLVMValueRef known_leaf(const tsr_emit_leaves *leaves, const tsr_expr *x)
{
	const known *k = (const known *)leaves;
	return x == k->leaf ? k->value : other_leaf(k->others, x);
}

static LLVMValueRef emit_with(tsr_emit *e, const tsr_expr *x, const tsr_expr *leaf, LLVMValueRef value)
{
	known k = {{known_leaf}, e->leaves, leaf, value};
	e->leaves = &k.leaves;
	LLVMValueRef all = emit_plainly(e, x);
	e->leaves = k.others;
	return all;
}

/* A constant factor of the argument is taken into the sum, where f32 holds its powers. */
static LLVMValueRef emit_sum(tsr_emit *e, const tsr_expr *x, const tsr_expr *term, tsr_emit_sum *sum)
{
	const tsr_expr *whole = term->op.args[0], *argument = other_leaf(e->leaves, whole) ? whole : without_factor(whole, &sum->scale);
	if (argument == whole || argument->prec != TSR_PREC_F32 || fabs(sum->scale) < 0x1p-20 || fabs(sum->scale) > 0x1p20)
		argument = whole, sum->scale = 1;
	LLVMValueRef of = tsr_emit_convert(e, tsr_emit_expr(e, argument), argument->prec, TSR_PREC_F32);
	if (tsr_emit_sums_at_once(e, sum, of))
		return tsr_emit_sum_at_once(e, sum, of);
	return argument == whole ? emit_with(e, x, term, tsr_emit_math(e, sum->op, &of)) : emit_with(e, x, argument, of);
}

static LLVMValueRef emit_apply(tsr_emit *e, const tsr_expr *x)
{
	tsr_emit_sum sum;
	const tsr_expr *term = beside(x, &sum), *exp = tsr_emit_adds_exp(e, x);
	if (exp && !other_leaf(e->leaves, exp))
		return emit_exp_added(e, x, exp);
	if (!term || other_leaf(e->leaves, term))
		return emit_plainly(e, x);
	if (tsr_emit_has_beside(e))
		return emit_with(e, x, term, tsr_emit_beside(e, term->op.op, emit_argument(e, term, 0)));
	return tsr_emit_has_sums(e) ? emit_sum(e, x, term, &sum) : emit_plainly(e, x);
}

/* A float among the runtime numbers travels as its bits. */
static LLVMValueRef emit_number(tsr_emit *e, const tsr_expr *x)
{
	const tsr_graph *g = e->loops->graph;
	LLVMValueRef v = e->numbers[x->number];
	if (!g || g->numbers.at[x->number]->integer)
		return tsr_emit_convert(e, v, TSR_PREC_I64, x->prec);
	return tsr_emit_convert(e, LLVMBuildBitCast(e->builder, v, e->f64, ""), TSR_PREC_F64, x->prec);
}

static LLVMValueRef emit_lookup(tsr_emit *e, const tsr_expr *x)
{
	LLVMValueRef *sym = &e->syms[x->lookup.sym], before = *sym;
	*sym = tsr_emit_convert(e, tsr_emit_expr(e, x->lookup.at), x->lookup.at->prec, TSR_PREC_I64);
	LLVMValueRef value = tsr_emit_expr(e, x->lookup.value);
	*sym = before;
	return value;
}

LLVMValueRef tsr_emit_expr(tsr_emit *e, const tsr_expr *x)
{
	LLVMValueRef leaf = e->leaves ? e->leaves->of(e->leaves, x) : NULL;
	if (leaf)
		return leaf;
	switch (x->kind) {
	case TSR_EXPR_CONST:
		return tsr_emit_constant(e, tsr_scalar_convert(x->value, x->prec));
	case TSR_EXPR_LOAD:
		return emit_load(e, x);
	case TSR_EXPR_LOCAL: {
		tsr_prec p = e->local_precs[x->local];
		if (!e->locals[x->local])
			tsr_bug("local %u is read before its LET", x->local);
		LLVMValueRef v = LLVMBuildLoad2(e->builder, LLVMGetAllocatedType(e->locals[x->local]), e->locals[x->local], "");
		return tsr_emit_convert(e, v, p, x->prec);
	}
	case TSR_EXPR_INDEX:
		return emit_index(e, x);
	case TSR_EXPR_SIZE:
		return tsr_emit_convert(e, tsr_emit_size(e, x->size), TSR_PREC_I64, x->prec);
	case TSR_EXPR_NUMBER:
		return emit_number(e, x);
	case TSR_EXPR_OP:
		return emit_apply(e, x);
	case TSR_EXPR_CONVERT:
		return tsr_emit_convert(e, tsr_emit_expr(e, x->converted), x->converted->prec, x->prec);
	case TSR_EXPR_LOOKUP:
		return emit_lookup(e, x);
	case TSR_EXPR_SELECT:
		return emit_select(e, x);
	case TSR_EXPR_KINDS:
		break;
	}
	tsr_bug("an expression of no kind");
}
