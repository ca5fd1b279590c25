/* How indices move along a loop. */
#include "loop.h"

int64_t tsr_lin_coef(const tsr_lin *x, uint32_t loop)
{
	for (uint32_t t = 0; t < x->n; t++)
		if (x->terms[t].kind == TSR_LSYM_LOOP && x->terms[t].id == loop)
			return x->terms[t].coef;
	return 0;
}

bool tsr_lin_mentions(const tsr_lin *x, uint32_t loop) { return tsr_lin_coef(x, loop) != 0; }

bool tsr_lin_bare(const tsr_lin *x, uint32_t loop)
{
	return !x->offset && !x->base.k && !x->base.nterms && x->n == 1 && tsr_lin_coef(x, loop) == 1;
}

bool tsr_index_stride(const tsr_buffer *b, const tsr_lin *index, uint32_t loop, int64_t *out)
{
	int64_t total = 0, step = 1;
	bool known = true;
	for (uint32_t axis = b->rank; axis-- > 0;) {
		int64_t each = tsr_lin_coef(&index[axis], loop);
		if (each && (!known || __builtin_mul_overflow(each, step, &each) || __builtin_add_overflow(total, each, &total)))
			return false;
		known = known && tsr_size_is_const(b->dims[axis]) && !__builtin_mul_overflow(step, b->dims[axis].k, &step);
	}
	*out = total;
	return true;
}

uint32_t tsr_expr_unit_loads(const tsr_loops *l, const tsr_expr *x, uint32_t loop, uint32_t other)
{
	tsr_expr *part[TSR_MOST_PARTS];
	uint32_t n = 0;
	for (uint32_t i = 0, parts = tsr_expr_parts(x, part); i < parts; i++)
		n += tsr_expr_unit_loads(l, part[i], loop, other);
	if (x->kind != TSR_EXPR_LOAD)
		return n;
	const tsr_buffer *b = l->buffers.at[x->load.buffer];
	bool both = other == TSR_NONE;
	for (uint32_t axis = 0; axis < b->rank; axis++) {
		both |= tsr_lin_mentions(&x->load.index[axis], other);
		int64_t step = tsr_lin_coef(&x->load.index[axis], loop);
		if (step && (step != 1 || axis < tsr_buffer_last(b)))
			return 0;
		n |= step != 0;
	}
	return both ? n : 0;
}

bool tsr_expr_lies_along(const tsr_loops *l, const tsr_expr *e, uint32_t x, uint32_t y)
{
	uint32_t along = tsr_expr_unit_loads(l, e, x, y), across = tsr_expr_unit_loads(l, e, y, x);
	return along != across ? along > across : tsr_expr_unit_loads(l, e, x, TSR_NONE) > tsr_expr_unit_loads(l, e, y, TSR_NONE);
}

bool tsr_index_in_row(const tsr_buffer *b, const tsr_lin *index, int64_t row, uint32_t x, uint32_t y, tsr_lin_term *by, int64_t *offset)
{
	const tsr_lin *last = &index[tsr_buffer_last(b)];
	tsr_size all = b->dims[tsr_buffer_last(b)];
	*by = (tsr_lin_term){0, TSR_LSYM_LOOP, 0}, *offset = last->offset + last->base.k;
	if (!tsr_size_is_const(last->base) || !tsr_size_is_const(all) || row <= 0 || all.k % row)
		return false;
	for (uint32_t i = 0; i < last->n; i++) {
		const tsr_lin_term *t = &last->terms[i];
		bool chooses = t->kind == TSR_LSYM_LOOP && (t->id == x || t->id == y);
		if (chooses ? all.k == row || t->coef % row : by->coef || t->kind != TSR_LSYM_LOOP)
			return false;
		if (!chooses)
			*by = *t;
	}
	return true;
}
