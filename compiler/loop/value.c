/* Right-hand sides as expressions.  A number, an inferred size, a runtime number and the positions of a tensor are computed
 * where they are used; every conversion is explicit.  Constants are rounded once, to the precision that they meet. */
#include "lower.h"

tsr_lin tsr_lower_index(const tsr_nest *n, const tsr_index *x)
{
	tsr_arena *a = n->w->arena;
	tsr_lin out = tsr_lin_add_size(a, tsr_lin_const(x->offset), 1, x->base);
	for (uint32_t i = 0; i < x->n; i++) {
		const tsr_index_term *t = &x->terms[i];
		bool loop = t->sym.kind == TSR_SYM_LOOP;
		out = tsr_lin_add_sym(a, out, t->coef, loop ? TSR_LSYM_LOOP : TSR_LSYM_NUMBER, loop ? n->first_sym + t->sym.id : t->sym.id);
	}
	return out;
}

static bool same_size(tsr_arena *a, tsr_size x, tsr_size y)
{
	return tsr_lin_equal(tsr_lin_add_size(a, tsr_lin_const(0), 1, x), tsr_lin_add_size(a, tsr_lin_const(0), 1, y));
}

static void add_guard(tsr_nest *n, tsr_lin index, tsr_size size)
{
	for (uint32_t i = 0; i < n->guards.n; i++)
		if (tsr_lin_equal(n->guards.at[i].index, index) && same_size(n->w->arena, n->guards.at[i].size, size))
			return;
	tsr_push(n->w->arena, &n->guards, ((tsr_range){index, size}));
}

/* Sizes of a tensor's axes in memory order. */
static tsr_size axis_size(const tsr_tensor *t, uint32_t axis)
{
	static const tsr_kind order[TSR_KINDS] = {TSR_BATCH, TSR_OUTPUT, TSR_INPUT};
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		const tsr_solved_row *r = &t->solved.row[order[k]];
		if (axis < r->n)
			return r->axes[axis].size;
		axis -= r->n;
	}
	tsr_bug("%s has no axis %u more", t->name, axis);
}

static uint32_t rank_of(const tsr_tensor *t)
{
	return t->solved.row[TSR_BATCH].n + t->solved.row[TSR_OUTPUT].n + t->solved.row[TSR_INPUT].n;
}

static tsr_lin *indices(tsr_nest *n, const tsr_operand *o, uint32_t rank)
{
	tsr_lin *index = TSR_NEW_N(n->w->arena, tsr_lin, rank + 1);
	const tsr_tensor *t = tsr_tensor_get(n->w->g, o->tensor);
	if (o->slot == TSR_SLOT_SCALAR) {
		for (uint32_t i = 0; i < rank; i++)
			index[i] = tsr_lin_const(0);
		return index;
	}
	for (uint32_t i = 0; i < rank; i++) {
		if (o->slot == TSR_SLOT_ALL) {
			index[i] = tsr_lin_add_sym(n->w->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, n->first_sym + i);
			continue;
		}
		const tsr_index *x = &n->p->maps[o->slot].axes[i];
		index[i] = tsr_lower_index(n, x);
		if (x->guarded)
			add_guard(n, index[i], axis_size(t, i));
	}
	return index;
}

tsr_lin *tsr_lower_access(tsr_nest *n, const tsr_operand *o, tsr_buffer *b)
{
	uint32_t mapped = o->slot == TSR_SLOT_ALL ? n->p->nloops : o->slot >= 0 ? n->p->maps[o->slot].n : b->rank;
	if (mapped != b->rank)
		tsr_bug("%u indices for %s of rank %u", mapped, b->name, b->rank);
	return indices(n, o, b->rank);
}

/* A point at which any operand of the record lies outside contributes nothing, also to an assignment that does not read that
 * operand: the gradient of a padded sum. */
void tsr_lower_guards(tsr_nest *n, uint32_t nheld, const tsr_range *held)
{
	const tsr_record *r = n->w->g->records.at[n->a->record];
	for (uint32_t slot = 0; slot <= r->rule.noperands; slot++) {
		const tsr_map_axes *m = &n->p->maps[slot];
		for (uint32_t i = 0; n->p->live[slot] && i < m->n; i++) {
			if (!m->axes[i].guarded)
				continue;
			tsr_lin index = tsr_lower_index(n, &m->axes[i]);
			bool done = false;
			for (uint32_t j = 0; j < nheld; j++)
				done |= tsr_lin_equal(held[j].index, index);
			if (!done)
				add_guard(n, index, axis_size(tsr_tensor_get(n->w->g, r->slots[slot]), i));
		}
	}
}

/* ---- values without a buffer --------------------------------------------------------------------------------------- */

static tsr_expr *constant(tsr_arena *a, tsr_prec p, tsr_scalar value)
{
	return tsr_expr_const(a, tsr_number_in(p, value));
}

static tsr_expr *leaf(tsr_arena *a, tsr_expr_kind kind, tsr_prec p)
{
	tsr_expr *e = TSR_NEW(a, tsr_expr);
	e->kind = kind;
	e->prec = p;
	return e;
}

static tsr_expr *size_value(tsr_arena *a, tsr_size s, tsr_prec p)
{
	if (tsr_size_is_const(s))
		return constant(a, p, tsr_number_whole(s.k));
	tsr_expr *e = leaf(a, TSR_EXPR_SIZE, p);
	e->size = s;
	return e;
}

/* Row-major offset of the position: linear where the inner sizes are known, else by Horner's rule in i64. */
static tsr_expr *position_value(tsr_nest *n, const tsr_operand *o, tsr_prec p)
{
	tsr_arena *a = n->w->arena;
	const tsr_tensor *t = tsr_tensor_get(n->w->g, o->tensor);
	uint32_t rank = rank_of(t);
	tsr_lin *index = indices(n, o, rank);
	tsr_expr *high = NULL;               /* of the axes before the last one of run-time size */
	tsr_lin low = tsr_lin_const(0);
	for (uint32_t i = 0; i < rank; i++) {
		tsr_size size = axis_size(t, i);
		if (tsr_size_is_const(size)) {
			low = tsr_lin_add(a, tsr_lin_const(0), size.k, low);
			if (high)
				high = tsr_expr_op(a, TSR_OP_MUL, TSR_PREC_I64, high, constant(a, TSR_PREC_I64, tsr_number_whole(size.k)), NULL);
		} else if (i > 0) {
			tsr_expr *e = leaf(a, TSR_EXPR_INDEX, TSR_PREC_I64);
			e->index = low;
			high = high ? tsr_expr_op(a, TSR_OP_ADD, TSR_PREC_I64, high, e, NULL) : e;
			high = tsr_expr_op(a, TSR_OP_MUL, TSR_PREC_I64, high, size_value(a, size, TSR_PREC_I64), NULL);
			low = tsr_lin_const(0);
		}
		low = tsr_lin_add(a, low, 1, index[i]);
	}
	tsr_expr *e = leaf(a, TSR_EXPR_INDEX, high ? TSR_PREC_I64 : p);
	e->index = low;
	return high ? tsr_expr_convert(a, tsr_expr_op(a, TSR_OP_ADD, TSR_PREC_I64, high, e, NULL), p) : e;
}

/* NULL when the operand lives in a buffer. */
static tsr_expr *virtual_value(tsr_nest *n, const tsr_operand *o, tsr_prec want)
{
	tsr_arena *a = n->w->arena;
	const tsr_tensor *t = tsr_tensor_get(n->w->g, o->tensor);
	tsr_expr *e;
	tsr_size size;
	if (o->part == TSR_PART_GRAD)
		return NULL;
	if (o->slot >= 0)
		indices(n, o, rank_of(t));           /* a padded axis guards also what needs no index */
	switch (t->kind) {
	case TSR_TENSOR_FILL:
		return constant(a, want ? want : t->prec, t->fill.value);
	case TSR_TENSOR_LITERAL:
		return t->literal.count == 1 && rank_of(t) == 0 ? constant(a, want ? want : t->prec, tsr_numbers_get(t->literal.data, 0)) : NULL;
	case TSR_TENSOR_POSITIONS:
		return position_value(n, o, t->prec);
	case TSR_TENSOR_NUMBER:
		e = leaf(a, TSR_EXPR_NUMBER, t->prec);
		e->number = t->number.number;
		return e;
	case TSR_TENSOR_SIZE:
		if (!tsr_store_label(n->w->g->store, t->size.label, &size))
			tsr_bug("%s: the size has no value", t->name);
		return size_value(a, size, t->prec);
	case TSR_TENSOR_OP: case TSR_TENSOR_PARAM: case TSR_TENSOR_STATE: case TSR_TENSOR_RANDOM: case TSR_TENSOR_FILE: case TSR_TENSOR_INPUT:
		return NULL;
	}
	tsr_bug("%s: unknown kind of tensor", t->name);
}

/* ---- expressions --------------------------------------------------------------------------------------------------- */

tsr_expr *tsr_lower_convert(tsr_arena *a, tsr_expr *e, tsr_prec to)
{
	if (to == TSR_PREC_NONE || e->prec == to)
		return e;
	if (e->kind == TSR_EXPR_CONST)
		return tsr_expr_const(a, tsr_scalar_convert(e->value, to));
	return tsr_expr_convert(a, e, to);
}

/* The precision of a right-hand side by itself, where its node does not say. */
static tsr_prec rhs_prec(const tsr_nest *n, const tsr_rhs *r)
{
	tsr_prec p;
	switch (r->kind) {
	case TSR_RHS_OPERAND:
		p = tsr_tensor_get(n->w->g, r->operand.tensor)->prec;
		return r->operand.part == TSR_PART_GRAD ? tsr_grad_prec(p) : p;
	case TSR_RHS_CONST: case TSR_RHS_CONVERT:
		return r->prec ? r->prec : TSR_PREC_F32;
	case TSR_RHS_OP:
		break;
	}
	if (r->op.operand_prec) {
		tsr_prec same[3] = {r->op.operand_prec, r->op.operand_prec, r->op.operand_prec};
		return tsr_op_result_prec(r->op.op, same);
	}
	tsr_prec args[3] = {TSR_PREC_NONE, TSR_PREC_NONE, TSR_PREC_NONE};
	for (uint32_t i = 0; i < tsr_op_get(r->op.op)->arity; i++)
		args[i] = rhs_prec(n, r->op.args[i]);
	return tsr_op_result_prec(r->op.op, args);
}

/* What the operands are converted to: what elaboration said, else what they promote to; then widened as the primitive asks. */
static tsr_prec operand_prec(const tsr_nest *n, const tsr_rhs *r)
{
	tsr_prec args[3] = {r->op.operand_prec, r->op.operand_prec, r->op.operand_prec};
	for (uint32_t i = 0; i < tsr_op_get(r->op.op)->arity && !r->op.operand_prec; i++)
		args[i] = rhs_prec(n, r->op.args[i]);
	return tsr_op_operand_prec(r->op.op, args);
}

static tsr_expr *op_value(tsr_nest *n, const tsr_rhs *r, tsr_prec p)
{
	tsr_expr *args[3] = {NULL};
	for (uint32_t i = 0; i < tsr_op_get(r->op.op)->arity; i++)
		args[i] = tsr_lower_value(n, r->op.args[i], r->op.op == TSR_OP_WHERE && i == 0 ? TSR_PREC_BOOL : p);
	if (r->op.op == TSR_OP_ID)
		return args[0];
	return tsr_expr_op(n->w->arena, r->op.op == TSR_OP_AT ? TSR_OP_EQ : r->op.op, p, args[0], args[1], args[2]);
}

tsr_expr *tsr_lower_value(tsr_nest *n, const tsr_rhs *rhs, tsr_prec want)
{
	tsr_arena *a = n->w->arena;
	tsr_expr *e = NULL;
	tsr_buffer *b;
	switch (rhs->kind) {
	case TSR_RHS_CONST:
		return constant(a, want ? want : rhs_prec(n, rhs), rhs->value);
	case TSR_RHS_OPERAND:
		e = virtual_value(n, &rhs->operand, want);
		if (e)
			break;
		b = tsr_lower_buffer(n->w, &rhs->operand, n->p);
		tsr_lower_reads(n->w, b);
		e = tsr_expr_load(a, b, tsr_lower_access(n, &rhs->operand, b));
		break;
	case TSR_RHS_OP:
		e = op_value(n, rhs, operand_prec(n, rhs));
		break;
	case TSR_RHS_CONVERT:
		e = tsr_lower_value(n, rhs->converted, rhs->prec);
		break;
	}
	return tsr_lower_convert(a, e, want);
}

tsr_expr *tsr_lower_combined(tsr_nest *n, const tsr_rhs *rhs, tsr_prec p)
{
	const tsr_rhs *r = rhs->kind == TSR_RHS_CONVERT && rhs->prec == p ? rhs->converted : rhs;
	bool same = r->kind == TSR_RHS_OP && tsr_op_get(r->op.op)->result == TSR_RESULT_SAME;
	tsr_prec narrow = same ? operand_prec(n, r) : TSR_PREC_NONE;
	if (same && tsr_prec_is_float(narrow) && tsr_prec_accumulator(narrow) == p)
		return op_value(n, r, p);
	return tsr_lower_value(n, rhs, p);
}
