/* Zeroing a gradient and then accumulating into it touches its memory three times; `=:+` touches it once.  So where a
 * gradient is set to zero and the next assignment that mentions it accumulates a sum into it, that assignment takes the
 * clearing over, and the zeroing goes.  Clearing is the neutral element of the whole target, so nothing else is asked of
 * the maps: what the accumulating assignment does not reach, lowering fills. */
#include "build.h"
#include "../base/map.h"

static bool is_zeroing(const tsr_graph *g, const tsr_step *s)
{
	if (s->kind != TSR_STEP_ASSIGN || s->assign.a.acc != TSR_ACC_SET || s->assign.a.target.part != TSR_PART_GRAD)
		return false;
	const tsr_assign *a = &s->assign.a;
	return a->rhs->kind == TSR_RHS_CONST && tsr_number_double(a->rhs->value) == 0 && a->target.slot >= 0 && s->assign.proj->npieces == 1
		&& tsr_proj_surjective(g, s->assign.proj, (uint32_t)a->target.slot);
}

/* Takes the clearing over, if the first step that mentions the gradient afterwards allows it. */
static bool fold(tsr_builder *b, tsr_step *s, tsr_tensor_id t, bool reads)
{
	tsr_assign *a = &s->assign.a;
	if (reads || a->target.tensor != t || a->target.part != TSR_PART_GRAD)
		return false;
	if (a->acc == TSR_ACC_ADD || a->acc == TSR_ACC_SUB)
		return a->clear = true;
	return a->acc == TSR_ACC_SET && a->target.slot >= 0
		&& tsr_pieces_surjective(b->g, s->assign.proj, (uint32_t)a->target.slot, tsr_assign_active(b->arena, a, s->assign.proj));
}

/* The first step from here on that mentions a gradient: 2 * step + 1 where it reads it, 2 * step where it only assigns it. */
typedef struct mentions { tsr_map first; uint32_t step; } mentions;

static void reads(void *user, const tsr_operand *o)
{
	mentions *m = user;
	if (o->part == TSR_PART_GRAD)
		tsr_map_put(&m->first, o->tensor)->value.i = 2 * (int64_t)m->step + 1;
}

/* From the last step to the first, so that what comes afterwards is known. */
void tsr_code_fold_zeros(tsr_builder *b)
{
	mentions m;
	uint32_t n = b->unit->steps.n, kept = n;
	tsr_step *at = b->unit->steps.at;
	tsr_map_init(&m.first, b->arena);
	for (uint32_t i = n; i-- > 0;) {
		const tsr_assign *a = &at[i].assign.a;
		tsr_map_entry *e = at[i].kind == TSR_STEP_ASSIGN ? tsr_map_find(&m.first, a->target.tensor) : NULL;
		if (e && is_zeroing(b->g, &at[i]) && fold(b, &at[e->value.i / 2], a->target.tensor, e->value.i % 2))
			continue;
		at[--kept] = at[i];
		if (at[kept].kind != TSR_STEP_ASSIGN)
			continue;
		m.step = kept;
		if (a->target.part == TSR_PART_GRAD)
			tsr_map_put(&m.first, at[kept].assign.a.target.tensor)->value.i = 2 * (int64_t)kept;
		tsr_rhs_operands(at[kept].assign.a.rhs, reads, &m);
	}
	for (uint32_t i = kept; i < n; i++)
		at[i - kept] = at[i];
	b->unit->steps.n = n - kept;
}
