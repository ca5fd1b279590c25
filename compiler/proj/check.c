/* What holds of index maps: every live slot has an index per axis, loops and numbers exist, and every index stays inside
 * its axis at every point of the space, by interval arithmetic, unless it is guarded or checked when the code runs. */
#include "space.h"

static void check_index(tsr_arena *a, const tsr_graph *g, const tsr_proj *proj, const tsr_piece *p, const tsr_index *x, tsr_size size)
{
	bool numbers = false;
	for (uint32_t i = 0; i < x->n; i++) {
		bool loop = x->terms[i].sym.kind == TSR_SYM_LOOP;
		uint32_t limit = loop ? p->nloops : g->numbers.n;
		numbers |= !loop;
		if (x->terms[i].sym.id >= limit)
			tsr_bug("record %u: symbol %u of %u", proj->record, x->terms[i].sym.id, limit);
		if (x->terms[i].coef == 0)
			tsr_bug("record %u: a term of coefficient 0", proj->record);
	}
	if (numbers != x->checked)
		tsr_bug("record %u: an index is checked exactly when it mentions a runtime number", proj->record);
	if (x->guarded || x->checked)
		return;
	tsr_interval r = tsr_index_interval(a, p, x);
	for (uint32_t i = 0; i < p->nloops; i++)
		if (tsr_size_is_const(p->loops[i].extent) && p->loops[i].extent.k <= 0)
			return;
	tsr_size room = tsr_size_add(a, size, tsr_size_scale(a, r.high, -1));
	if ((tsr_size_is_const(r.low) && r.low.k < 0) || (tsr_size_is_const(room) && room.k < 1))
		tsr_bug("record %u (%s): an index of %lld to %lld on an axis of %lld", proj->record,
			tsr_tensor_get(g, g->records.at[proj->record]->slots[0])->name, (long long)r.low.k, (long long)r.high.k, (long long)size.k);
}

static void check_slot(tsr_arena *a, const tsr_graph *g, const tsr_proj *proj, const tsr_piece *p, uint32_t slot)
{
	const tsr_solved *shape = &tsr_tensor_get(g, g->records.at[proj->record]->slots[slot])->solved;
	uint32_t axis = 0;
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		const tsr_solved_row *row = &shape->row[tsr_memory_order[k]];
		for (uint32_t j = 0; j < row->n; j++, axis++)
			if (axis < p->maps[slot].n)
				check_index(a, g, proj, p, &p->maps[slot].axes[axis], row->axes[j].size);
	}
	if (axis != p->maps[slot].n)
		tsr_bug("record %u: %u indices for a tensor of rank %u", proj->record, p->maps[slot].n, axis);
}

void tsr_proj_check(const tsr_graph *g, const tsr_proj *proj)
{
	tsr_arena *a = tsr_arena_new();
	for (uint32_t i = 0; i < proj->npieces; i++)
		for (uint32_t s = 0; s <= g->records.at[proj->record]->rule.noperands; s++)
			if (proj->pieces[i].live[s])
				check_slot(a, g, proj, &proj->pieces[i], s);
	tsr_arena_free(a);
}
