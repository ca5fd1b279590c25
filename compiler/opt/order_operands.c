/* Operands of a product whose matrices lie one within the other, number by number, are turned first, so that they lie one behind the other:
 *
 *     for a, b, c { let $s = 0  for d reduce { set $s = $s + X[b, d, a] * Y[a, d, c] }  store Z[a, b, c] = $s }          a: of the batch
 *
 * reads, for each matrix of X, a line of memory for each of its numbers; turned, T[a, b, d] = X[b, d, a], in squares (turn.c), it is read by lines.  T has the axes of the batch as the
 * result has them, and then those of its matrices as the operand has them.
 *
 * What the first cache holds is read so where it lies, and of fewer matrices than fill a register what is twice as large as the second.
 *
 * So is the vector by which a matrix is multiplied, where its axes, of a batch or of the sum, are in another order: lanes are along what the matrix has side by side, and of a vector that lies across
 * it each would be loaded by itself.  It has the matrix' order then (76 random ones 4.0 times as fast in the mean, 0.8 to 15). */
#include "order.h"

typedef struct matrices {
	tsr_pass *p;
	tsr_loop_unit *unit;
	tsr_stmt *kernel;
	tsr_nest nest, summed;
	const tsr_contraction *k;
} matrices;

static tsr_stmt *loop_of(const matrices *m, const tsr_lin *index)
{
	tsr_stmt *found = tsr_nest_bare(&m->nest, index);
	return found ? found : tsr_nest_bare(&m->summed, index);
}

/* let $s = 0;  for .. { set $s = $s + X * Y };  store Z: the product; or NULL. */
static tsr_expr *product_of(matrices *m)
{
	m->nest = tsr_nest_of(&m->kernel->kernel.body);
	const tsr_stmts *b = m->nest.body;
	m->summed = tsr_nest_of(&(tsr_stmts){ &b->at[1], 1, 1 });
	const tsr_stmts *in = m->summed.body;
	const tsr_expr *sum = in->n == 1 && in->at[0]->kind == TSR_STMT_SET ? in->at[0]->let.value : NULL;
	tsr_expr *product = sum && sum->kind == TSR_EXPR_OP && tsr_expr_is_local(sum->op.args[0], b->at[0]->let.local) ? sum->op.args[1] : NULL;
	return product && product->kind == TSR_EXPR_OP && tsr_op_get(product->op.op)->arity == 2 ? product : NULL;
}

/* Each of its axes is a loop of its own, all of it. */
static bool is_whole(const matrices *m, const tsr_expr *load)
{
	if (load->kind != TSR_EXPR_LOAD)
		return false;
	const tsr_buffer *b = m->p->l->buffers.at[load->load.buffer];
	for (uint32_t axis = 0; axis < b->rank; axis++) {
		const tsr_stmt *loop = loop_of(m, &load->load.index[axis]);
		if (!loop || !tsr_extent_equal(loop->loop.extent, b->dims[axis]))
			return false;
		for (uint32_t other = 0; other < axis; other++)
			if (loop_of(m, &load->load.index[other]) == loop)
				return false;
	}
	return b->rank && b->rank <= TSR_MOST_LOOPS;
}

enum { SEVERAL = 4, LEAST_BYTES = 32 };

/* The last axis is the batch's, and a line has numbers of several matrices that go before it is read again. */
static bool lies_within(const matrices *m, const tsr_expr *load)
{
	const tsr_buffer *b = m->p->l->buffers.at[load->load.buffer];
	const tsr_target *t = m->p->target;
	uint32_t last = tsr_buffer_last(b);
	const tsr_stmt *loop = loop_of(m, &load->load.index[last]);
	if (tsr_contract_class(m->k, loop->loop.sym) != TSR_CLASS_BATCH || tsr_size_guess(loop->loop.extent) < SEVERAL)
		return false;
	return tsr_buffer_guess(b) > (tsr_size_guess(b->dims[last]) * tsr_prec_bytes(b->prec) >= t->vector_bytes ? t->l1 / 2 : 2 * t->l2);
}

/* From one step of the loop that walks this axis of the vector to the next in the matrix. */
static int64_t step_in(const matrices *m, const tsr_expr *matrix, const tsr_expr *vector, uint32_t axis)
{
	const tsr_stmt *loop = loop_of(m, &vector->load.index[axis]);
	return tsr_stride_guess(m->p->l->buffers.at[matrix->load.buffer], matrix->load.index, loop->loop.sym);
}

/* Axes of the vector as the matrix has them; false: so they are. */
static bool as_matrix(const matrices *m, const tsr_expr *matrix, const tsr_expr *vector, uint32_t *order)
{
	bool moved = false;
	for (uint32_t axis = 0; axis < m->p->l->buffers.at[vector->load.buffer]->rank; axis++) {
		uint32_t at = axis;
		for (; at > 0 && step_in(m, matrix, vector, order[at - 1]) < step_in(m, matrix, vector, axis); at--)
			order[at] = order[at - 1];
		order[at] = axis;
		moved |= at != axis;
	}
	return moved;
}

static tsr_loop_class class_of(const matrices *m, const tsr_expr *vector, uint32_t axis) { return tsr_contract_class(m->k, loop_of(m, &vector->load.index[axis])->loop.sym); }

/* In this order (NULL: its own) the vector's axes of the sum are one stretch, as the matrix goes through them. */
static bool sums_in_order(const matrices *m, const tsr_expr *matrix, const tsr_expr *vector, const uint32_t *order)
{
	uint32_t before = TSR_NONE;
	bool all = true;
	for (uint32_t i = 0; i < m->p->l->buffers.at[vector->load.buffer]->rank; i++) {
		if (class_of(m, vector, order ? order[i] : i) != TSR_CLASS_K)
			continue;
		all &= before == TSR_NONE || (before + 1 == i && (order || step_in(m, matrix, vector, before) >= step_in(m, matrix, vector, i)));
		before = i;
	}
	return all;
}

/* So many numbers of the vector, in this order, are of the last one's class, and lie one behind the other in the matrix. */
static int64_t run_in(const matrices *m, const tsr_expr *matrix, const tsr_expr *vector, const uint32_t *order)
{
	const tsr_buffer *b = m->p->l->buffers.at[vector->load.buffer];
	int64_t run = 1;
	for (uint32_t i = b->rank; i-- > 0 && step_in(m, matrix, vector, order[i]) == run && class_of(m, vector, order[i]) == class_of(m, vector, order[b->rank - 1]);)
		run *= tsr_size_guess(b->dims[order[i]]);
	return run;
}

/* Of two vectors the copy, which takes as long as the sums, is made piece by piece beside them if its first axis is the sums', too, and no side of its squares (fuse.c); where no near cache
 * holds it that counts most. */
static bool goes_beside(const matrices *m, const tsr_expr *vector, const uint32_t *order)
{
	const tsr_buffer *b = m->p->l->buffers.at[vector->load.buffer];
	return class_of(m, vector, order[0]) != TSR_CLASS_K && order[0] != tsr_buffer_last(b) && tsr_buffer_guess(b) > m->p->target->l2;
}

/* By how many numbers side by side, if more than 0, a copy in `order` pays: it is another than the vector has, and lanes are along an axis that is not the vector's last, and
 * of the batch several (together with others, if it is read often: squares are not turned along a short axis); or the sum's axes become a stretch in the matrix' order; or what the matrix alone has,
 * and lies along, fills less than half of a register.  Of two vectors one is turned: rather so that the copy goes beside the sums, then so that some registers of a sum lie side by side. */
static int64_t gains_by_order(const matrices *m, const tsr_expr *matrix, const tsr_expr *vector, uint32_t *order)
{
	enum { OFTEN = 8, LONG = 4, SUM = 1 << 24, BESIDE = 1 << 25 };
	const tsr_buffer *b = m->p->l->buffers.at[vector->load.buffer];
	if (!as_matrix(m, matrix, vector, order))
		return 0;
	uint32_t last = order[b->rank - 1];
	bool along = step_in(m, matrix, vector, last) == 1;
	int64_t own = tsr_contract_count(m->k, TSR_CLASS_M) * tsr_contract_count(m->k, TSR_CLASS_N);
	int64_t bytes = tsr_prec_bytes(b->prec), run = run_in(m, matrix, vector, order);
	bool summed = class_of(m, vector, last) == TSR_CLASS_K;
	if (along && last != tsr_buffer_last(b)) {
		if ((own >= OFTEN ? run : tsr_size_guess(b->dims[last])) < (summed ? SEVERAL : LEAST_BYTES / bytes))
			return 0;
		return (run < SUM ? run : SUM - 1) + (summed && run * bytes >= LONG * m->p->target->vector_bytes && tsr_size_guess(b->dims[last]) * bytes >= LEAST_BYTES ? SUM : 0) + (goes_beside(m, vector, order) ? BESIDE : 0);
	}
	return (!sums_in_order(m, matrix, vector, NULL) && sums_in_order(m, matrix, vector, order)) || (!along && 2 * own * bytes < m->p->target->vector_bytes);
}

/* Axes of the operand in T's order. */
static void choose_order(const matrices *m, const tsr_expr *load, uint32_t *order)
{
	uint32_t rank = m->p->l->buffers.at[load->load.buffer]->rank, n = 0;
	for (uint32_t i = 0; i < m->nest.n; i++)
		for (uint32_t axis = 0; axis < rank; axis++)
			if (loop_of(m, &load->load.index[axis]) == m->nest.loop[i] && tsr_contract_class(m->k, m->nest.loop[i]->loop.sym) == TSR_CLASS_BATCH)
				order[n++] = axis;
	for (uint32_t axis = 0; axis < rank; axis++)
		if (tsr_contract_class(m->k, loop_of(m, &load->load.index[axis])->loop.sym) != TSR_CLASS_BATCH)
			order[n++] = axis;
}

/* The kernel that makes T, of axes in this order, which the product reads then. */
static tsr_stmt *turn(matrices *m, tsr_expr *load, const uint32_t *order, const char *how)
{
	tsr_arena *a = m->p->arena;
	const tsr_buffer *from = m->p->l->buffers.at[load->load.buffer];
	uint32_t first = m->unit->nsyms;
	m->unit->nsyms += from->rank;
	tsr_buffer *t = tsr_pass_buffer(m->p, from, "turned", from->prec, from->rank);
	tsr_stmt *s = tsr_stmt_new(a, TSR_STMT_STORE, m->kernel->span), *kernel = tsr_stmt_new(a, TSR_STMT_KERNEL, m->kernel->span);
	tsr_lin *by = TSR_NEW_N(a, tsr_lin, from->rank), *own = TSR_NEW_N(a, tsr_lin, from->rank), *read = TSR_NEW_N(a, tsr_lin, from->rank);
	for (uint32_t i = 0; i < from->rank; i++) {
		t->dims[i] = from->dims[order[i]];
		by[order[i]] = own[i] = tsr_lin_add_sym(a, tsr_lin_const(0), 1, TSR_LSYM_LOOP, first + i);
		read[i] = load->load.index[order[i]];
	}
	s->store.buffer = t->id, s->store.index = own;
	s->store.value = tsr_expr_load(a, from, by);
	for (uint32_t i = from->rank; i-- > 0;)
		s = tsr_loop_around(m->p, s, loop_of(m, &load->load.index[order[i]]), t->dims[i], first + i);
	kernel->kernel.name = t->name;
	tsr_push(a, &kernel->kernel.body, s);
	load->load.buffer = t->id, load->load.index = read;
	tsr_pass_note(m->p, "%s: %s is turned for %s, %s", m->unit->name, from->name, m->kernel->kernel.name, how);
	m->p->changes++;
	return kernel;
}

/* The sum walks the matrix as it lies, too. */
static void sum_as_matrix(matrices *m, const tsr_expr *matrix)
{
	const tsr_buffer *b = m->p->l->buffers.at[matrix->load.buffer];
	for (uint32_t i = 1; i < m->summed.n; i++)
		for (uint32_t at = i; at > 0; at--) {
			tsr_stmt *outer = m->summed.loop[at - 1], *inner = m->summed.loop[at];
			if (tsr_stride_guess(b, matrix->load.index, outer->loop.sym) >= tsr_stride_guess(b, matrix->load.index, inner->loop.sym))
				break;
			tsr_loop_exchange(outer, inner);
		}
}

/* What a copy of operand number i, with its axes in this order, gains: more than 0. */
static int64_t gains_by_copy(const matrices *m, const tsr_expr *product, int i, bool of_matrices, uint32_t *order)
{
	const tsr_expr *x = product->op.args[i], *other = tsr_contract_guarded(product->op.args[1 - i]);
	if (!is_whole(m, x) || x->load.buffer == m->nest.body->at[2]->store.buffer)
		return 0;
	if (!of_matrices)
		return other && tsr_buffer_guess(m->p->l->buffers.at[x->load.buffer]) <= tsr_buffer_guess(m->p->l->buffers.at[other->load.buffer]) ? gains_by_order(m, other, x, order) : 0;
	choose_order(m, x, order);
	return lies_within(m, x);
}

void tsr_order_operands(tsr_pass *p, tsr_loop_unit *u, tsr_stmt *kernel, const tsr_contraction *k, bool of_matrices, tsr_stmts *out)
{
	matrices m = { .p = p, .unit = u, .kernel = kernel, .k = k };
	tsr_expr *product = product_of(&m);
	uint32_t order[2][TSR_MOST_LOOPS];
	int64_t gain[2] = { 0, 0 };
	for (int i = 0; product && i < 2; i++)
		gain[i] = gains_by_copy(&m, product, i, of_matrices, order[i]);
	for (int i = 0; i < 2; i++)
		if (gain[i] && (of_matrices || gain[i] > gain[1 - i] || (gain[i] == gain[1 - i] && i == 0)))
			tsr_push(p->arena, out, turn(&m, product->op.args[i], order[i], of_matrices ? "matrix behind matrix" : "as the matrix has it"));
	if (!of_matrices && (gain[0] || gain[1]))
		sum_as_matrix(&m, tsr_contract_guarded(product->op.args[gain[0] >= gain[1]]));
}
