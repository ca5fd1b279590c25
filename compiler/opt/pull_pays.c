/* Whether scattered products are gathered (pull.c): the engine takes the nest, or its results fill vectors. */
#include "pull.h"

typedef tsr_scatter scatter;
typedef tsr_pull_plan plan;

/* What the expression reads along the loop lies at most so many elements apart. */
static bool reads_near(const tsr_loops *l, const tsr_expr *e, uint32_t sym)
{
	tsr_expr *part[TSR_MOST_PARTS];
	int64_t step;
	bool near = e->kind != TSR_EXPR_LOOKUP && e->kind != TSR_EXPR_SELECT
		&& (e->kind != TSR_EXPR_LOAD || (tsr_index_stride(l->buffers.at[e->load.buffer], e->load.index, sym, &step) && step >= 0 && step <= TSR_MOST_STRIDE));
	for (uint32_t i = 0, n = tsr_expr_parts(e, part); i < n && near; i++)
		near = reads_near(l, part[i], sym);
	return near;
}

static const tsr_expr *summed(const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_SET)
			return s->let.value;
		const tsr_expr *inner = s->kind == TSR_STMT_FOR ? summed(&s->loop.body) : s->kind == TSR_STMT_IF ? summed(&s->cond.body) : NULL;
		if (inner)
			return inner;
	}
	return NULL;
}

/* The loop goes along an axis that is pulled. */
static bool pulled(const plan *plans, const tsr_buffer *x, const tsr_stmt *out, const tsr_stmt *loop)
{
	bool found = false;
	for (uint32_t axis = 0; axis < x->rank; axis++)
		found |= plans[axis].pivot != TSR_NONE && tsr_lin_mentions(&out->store.index[axis], loop->loop.sym);
	return found;
}

/* The results that lie side by side, or are those of one residue, are one loop's, along which operands lie so, too: some places of an image, those and its few channels
 * together (kernel/flat_window.c), or those of each of two or three channels (kernel/outer_rows.c). */
static bool in_vectors(const scatter *s, const plan *plans, const tsr_stmt *kernel)
{
	enum { LEAST = 8, LEAST_PLACES = 4, FEW_CHANNELS = 3 };
	tsr_nest nest = tsr_nest_of((tsr_stmts *)&kernel->kernel.body);
	const tsr_expr *value = summed(nest.body);
	const tsr_stmt *loop = nest.n ? nest.loop[nest.n - 1] : NULL;
	const tsr_stmt *out = nest.body->at[nest.body->n - 1];
	if (!value || !loop || !tsr_lin_mentions(&out->store.index[tsr_buffer_last(s->x)], loop->loop.sym) || !reads_near(s->p->l, value, loop->loop.sym))
		return false;
	if (!tsr_size_is_const(loop->loop.extent) || loop->loop.extent.k >= (pulled(plans, s->x, out, loop) ? LEAST_PLACES : LEAST))
		return true;
	const tsr_stmt *around = nest.n > 1 ? nest.loop[nest.n - 2] : NULL;
	uint32_t outer = around ? around->loop.sym : 0, inner = loop->loop.sym;
	int64_t near, far, each = loop->loop.extent.k, places = !around || !tsr_size_is_const(around->loop.extent) ? TSR_PULL_RUN_TIME : around->loop.extent.k;
	if (around && each <= FEW_CHANNELS && places >= LEAST && pulled(plans, s->x, out, around) && reads_near(s->p->l, value, outer))
		return true;
	return around && places * each >= LEAST && tsr_index_stride(s->x, out->store.index, inner, &near) && tsr_index_stride(s->x, out->store.index, outer, &far) && far == near * each
		&& tsr_expr_follows(s->p->l, value, outer, inner, loop->loop.extent);
}

bool tsr_pull_pays(const scatter *s, const plan *plans)
{
	int64_t residue[TSR_MOST_LOOPS];
	for (uint32_t at = 0; at < TSR_PULL_NESTS && tsr_pull_residues(s, plans, at, residue); at++) {
		tsr_stmt *k = tsr_pull_gather(s, plans, residue, false), *nest = k ? k->kernel.body.at[0] : NULL;
		tsr_groups groups;
		if (nest && nest->kind == TSR_STMT_FOR && (tsr_contract_takes(s->p, nest) || tsr_groups_within(s->p->l, s->p->target, nest, true, &groups) || in_vectors(s, plans, k)))
			return true;
	}
	return false;
}
