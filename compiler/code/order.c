/* Zeroing a gradient and then accumulating into it touches its memory three times; `=:+` touches it once.  So where a
 * gradient is set to zero and the next assignment that mentions it accumulates a sum into it, that assignment takes the
 * clearing over, and the zeroing goes.  Clearing is the neutral element of the whole target, so nothing else is asked of
 * the maps: what the accumulating assignment does not reach, lowering fills. */
#include "build.h"

static bool is_zeroing(const tsr_graph *g, const tsr_step *s)
{
	if (s->kind != TSR_STEP_ASSIGN || s->assign.a.acc != TSR_ACC_SET || s->assign.a.target.part != TSR_PART_GRAD)
		return false;
	const tsr_assign *a = &s->assign.a;
	return a->rhs->kind == TSR_RHS_CONST && a->rhs->value == 0 && a->target.slot >= 0 && s->assign.proj->npieces == 1
		&& tsr_proj_surjective(g, s->assign.proj, (uint32_t)a->target.slot);
}

typedef struct mention { tsr_tensor_id tensor; bool found; } mention;

static void look(void *user, const tsr_operand *o)
{
	mention *m = user;
	m->found |= o->tensor == m->tensor && o->part == TSR_PART_GRAD;
}

static bool reads_grad(const tsr_assign *a, tsr_tensor_id t)
{
	mention m = {t, false};
	tsr_rhs_operands(a->rhs, look, &m);
	return m.found;
}

/* Takes over the clearing, if the first step after `at` that mentions the gradient allows it. */
static bool fold(tsr_builder *b, uint32_t at, tsr_tensor_id t)
{
	for (uint32_t i = at + 1; i < b->unit->steps.n; i++) {
		tsr_step *s = &b->unit->steps.at[i];
		if (s->kind != TSR_STEP_ASSIGN)
			continue;
		tsr_assign *a = &s->assign.a;
		if (reads_grad(a, t))
			return false;
		if (a->target.tensor != t || a->target.part != TSR_PART_GRAD)
			continue;
		if (a->acc == TSR_ACC_ADD || a->acc == TSR_ACC_SUB)
			return a->clear = true;
		return a->acc == TSR_ACC_SET && a->target.slot >= 0
			&& tsr_pieces_surjective(b->g, s->assign.proj, (uint32_t)a->target.slot, tsr_assign_active(b->arena, a, s->assign.proj));
	}
	return false;
}

void tsr_code_fold_zeros(tsr_builder *b)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < b->unit->steps.n; i++) {
		const tsr_step *s = &b->unit->steps.at[i];
		if (is_zeroing(b->g, s) && fold(b, i, s->assign.a.target.tensor))
			continue;
		b->unit->steps.at[kept++] = b->unit->steps.at[i];
	}
	b->unit->steps.n = kept;
}
