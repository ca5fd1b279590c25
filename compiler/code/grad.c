/* Backward code.  An operation's own record with its slots permuted is all that a gradient needs, so backprop only selects:
 * the backward assignments of the operations below a tensor, results before operands, without those that lead to no
 * gradient that somebody needs, and without those of a result whose own gradient is still zero (behind stop_gradient). */
#include "build.h"

/* A tensor needs its gradient when it has one and a differentiable leaf is below it. */
bool tsr_needs_grad(tsr_builder *b, tsr_tensor_id id)
{
	const tsr_tensor *t = tsr_tensor_get(b->g, id);
	if (b->needs_grad[id])
		return b->needs_grad[id] == 2;
	bool needs = t->differentiable && t->kind != TSR_TENSOR_OP;
	if (t->differentiable && t->kind == TSR_TENSOR_OP && t->op.record != TSR_NONE) {
		const tsr_record *r = b->g->records.at[t->op.record];
		for (uint32_t i = 1; i <= r->rule.noperands && !needs; i++)
			needs = r->slots[i] < id && tsr_needs_grad(b, r->slots[i]);
	}
	b->needs_grad[id] = needs ? 2 : 1;
	return needs;
}

/* Operands are created before results, so the recursion above would be as deep as the graph; filling in creation order
 * keeps it flat. */
static void settle_needs(tsr_builder *b)
{
	for (uint32_t i = 0; i < b->g->tensors.n; i++)
		tsr_needs_grad(b, i);
}

typedef struct wanted { tsr_arena *arena; TSR_VEC(tsr_tensor_id) values; } wanted;

static void want(void *user, const tsr_operand *o)
{
	wanted *w = user;
	if (o->part == TSR_PART_VALUE)
		tsr_push(w->arena, &w->values, o->tensor);
}

static bool is_wanted(const wanted *w, tsr_tensor_id t)
{
	for (uint32_t i = 0; i < w->values.n; i++)
		if (w->values.at[i] == t)
			return true;
	return false;
}

/* The backward assignments of one operation that reach a needed gradient, with the private tensors that these read. */
static void backward(tsr_builder *b, const tsr_tensor *t)
{
	const tsr_assigns *all = t->op.backward;
	bool *keep = TSR_NEW_N(b->arena, bool, all->v.n + 1);
	wanted w = {.arena = b->arena};
	for (uint32_t i = all->v.n; i-- > 0;) {
		const tsr_assign *a = &all->v.at[i];
		bool grad = a->target.part == TSR_PART_GRAD;
		keep[i] = grad ? tsr_needs_grad(b, a->target.tensor) : is_wanted(&w, a->target.tensor);
		if (keep[i])
			tsr_rhs_operands(a->rhs, want, &w);
	}
	for (uint32_t i = 0; i < all->v.n; i++)
		if (keep[i])
			tsr_code_add(b, &all->v.at[i]);
}

void tsr_code_backprop(tsr_builder *b, tsr_tensor_id root)
{
	const bool *below = tsr_code_below(b, root);
	settle_needs(b);
	for (uint32_t i = b->g->tensors.n; i-- > 0;) {
		const tsr_tensor *t = b->g->tensors.at[i];
		if (below[i] && !t->poison && t->kind == TSR_TENSOR_OP && t->op.backward && !b->known_zero[i] && tsr_needs_grad(b, i))
			backward(b, t);
	}
}

/* A record of the tensor's axes alone: the maps of an assignment that treats each element by itself. */
static tsr_record_id own_record(tsr_builder *b, const tsr_tensor *t)
{
	if (b->own_record[t->id] == TSR_NONE) {
		tsr_record *r = TSR_NEW(b->arena, tsr_record);
		r->id = b->own_record[t->id] = b->g->records.n;
		r->rule.logic = TSR_LOGIC_POINTWISE;
		r->slots = TSR_NEW_N(b->arena, tsr_tensor_id, 1);
		r->slots[0] = t->id;
		r->span = t->span;
		tsr_push(b->arena, &b->g->records, r);
	}
	return b->own_record[t->id];
}

void tsr_code_zero_grads(tsr_builder *b, tsr_tensor_id root)
{
	const bool *below = tsr_code_below(b, root);
	settle_needs(b);
	for (uint32_t i = 0; i < b->g->tensors.n; i++) {
		const tsr_tensor *t = b->g->tensors.at[i];
		if (!below[i] || t->poison || !tsr_needs_grad(b, i))
			continue;
		tsr_rhs *zero = TSR_NEW(b->arena, tsr_rhs);
		zero->kind = TSR_RHS_CONST;
		zero->span = t->span;
		zero->prec = TSR_PREC_F32;
		zero->value = tsr_number_real(0);
		tsr_assign a = {.span = t->span, .target = {t->id, TSR_PART_GRAD, 0, t->span}, .acc = TSR_ACC_SET, .clear = true, .rhs = zero,
			.record = own_record(b, t)};
		tsr_code_add(b, &a);
		b->known_zero[i] = true;
	}
}
