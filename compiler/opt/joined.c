/* Loops that are one: all that is touched lies so that a step of the outer one is as far in memory as all steps of the inner one, or is the same for both.  What is
 * an element's place is a sum over the loops then, and the inner one, made longer, stands for both while the outer one stands at 0. */
#include "opt.h"

/* The only axis that the loop walks; the rank: none; NONE: several. */
static uint32_t axis_of(const tsr_buffer *b, const tsr_lin *index, uint32_t loop)
{
	uint32_t found = b->rank;
	for (uint32_t axis = 0; axis < b->rank; axis++)
		if (tsr_lin_mentions(&index[axis], loop))
			found = found == b->rank ? axis : TSR_NONE;
	return found;
}

/* Where only the run knows steps: between the two axes are as many places as the inner one has iterations, or its part of them. */
static bool axes_follow(tsr_arena *a, const tsr_buffer *b, const tsr_lin *index, uint32_t outer, uint32_t inner, tsr_size extent)
{
	uint32_t from = axis_of(b, index, outer), to = axis_of(b, index, inner);
	if (from >= b->rank || to >= b->rank || from > to)
		return from == b->rank && to == b->rank;
	int64_t known = tsr_lin_coef(&index[from], outer);
	tsr_size between = tsr_size_const(1);
	for (uint32_t axis = from + 1; axis <= to; axis++) {
		bool fixed = tsr_size_is_const(b->dims[axis]);
		if (fixed ? __builtin_mul_overflow(known, b->dims[axis].k, &known) : !tsr_size_is_const(between))
			return false;
		between = fixed ? between : b->dims[axis];
	}
	return tsr_extent_equal(tsr_size_scale(a, between, known), tsr_size_scale(a, extent, tsr_lin_coef(&index[to], inner)));
}

static bool element_follows(const tsr_loops *l, tsr_buffer_id buffer, const tsr_lin *index, uint32_t outer, uint32_t inner, tsr_size extent)
{
	int64_t far, near;
	const tsr_buffer *b = l->buffers.at[buffer];
	if (tsr_size_is_const(extent) && tsr_index_stride(b, index, inner, &near) && tsr_index_stride(b, index, outer, &far))
		return far == near * extent.k;
	return axes_follow(l->tc->arena, b, index, outer, inner, extent);
}

bool tsr_expr_follows(const tsr_loops *l, const tsr_expr *x, uint32_t outer, uint32_t inner, tsr_size extent)
{
	switch (x->kind) {
	case TSR_EXPR_CONST: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: case TSR_EXPR_LOCAL:
		return true;
	case TSR_EXPR_INDEX:
		return !tsr_lin_mentions(&x->index, outer) && !tsr_lin_mentions(&x->index, inner);
	case TSR_EXPR_LOAD:
		return element_follows(l, x->load.buffer, x->load.index, outer, inner, extent);
	case TSR_EXPR_OP:
		for (uint32_t i = 0; i < tsr_op_get(x->op.op)->arity; i++)
			if (!tsr_expr_follows(l, x->op.args[i], outer, inner, extent))
				return false;
		return true;
	case TSR_EXPR_CONVERT:
		return tsr_expr_follows(l, x->converted, outer, inner, extent);
	case TSR_EXPR_SELECT: case TSR_EXPR_LOOKUP: case TSR_EXPR_KINDS:
		break;
	}
	return false;
}

bool tsr_stmt_follows(const tsr_loops *l, const tsr_stmt *s, uint32_t outer, uint32_t inner, tsr_size extent)
{
	if (s->kind == TSR_STMT_LET || s->kind == TSR_STMT_SET)
		return tsr_expr_follows(l, s->let.value, outer, inner, extent);
	return (s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE) && element_follows(l, s->store.buffer, s->store.index, outer, inner, extent)
		&& tsr_expr_follows(l, s->store.value, outer, inner, extent);
}

int64_t tsr_loops_joined(const tsr_loops *l, uint32_t n, tsr_stmt *const *loop, const tsr_stmt *leaf, uint32_t inner, bool *with)
{
	if (!tsr_size_is_const(loop[inner]->loop.extent))
		return 0;
	int64_t count = loop[inner]->loop.extent.k;
	for (uint32_t i = n; i-- > 0;) {
		const tsr_stmt *s = loop[i];
		if (i == inner || with[i] || !tsr_size_is_const(s->loop.extent) || s->loop.extent.k < 2 || s->loop.how != loop[inner]->loop.how
			|| !tsr_stmt_follows(l, leaf, s->loop.sym, loop[inner]->loop.sym, tsr_size_const(count)) || __builtin_mul_overflow(count, s->loop.extent.k, &count))
			continue;
		with[i] = true;
		i = n;
	}
	return count;
}
