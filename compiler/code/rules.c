/* What an assignment may not ask of its maps; each is a mistake in the program.
 *
 *   =:  on a map that is not injective gives one position several values: E0502, unless the right-hand side is the same
 *       along the loops that the target omits
 *   several assignments of one operation that fill parts of a concatenation may not fill the same part: E0503
 *   a tensor over the whole iteration space needs a space of one part: E0504 */
#include "build.h"

static const char *loop_label(const tsr_piece *p, uint64_t loops)
{
	for (uint32_t i = 0; i < p->nloops; i++)
		if ((loops >> i & 1) && p->loops[i].label)
			return p->loops[i].label;
	return NULL;
}

static void report_several(tsr_builder *b, const tsr_assign *a, const tsr_piece *p, uint64_t along)
{
	const char *label = loop_label(p, along), *name = tsr_tensor_get(b->g, a->target.tensor)->name;
	tsr_diag *d = tsr_report(b->g->tc, TSR_E_NOT_INJECTIVE, a->span, "each position of `%s` would receive several values%s%s%s", name,
		label ? ", one for each position along `" : "", label ? label : "", label ? "`" : "");
	tsr_hint(b->g->tc, d, "say how they are combined: `=:+` adds them, `=:@^` takes the greatest");
}

static bool set_rule(tsr_builder *b, const tsr_assign *a, const tsr_proj *p)
{
	const bool *active = tsr_assign_active(b->arena, a, p);
	for (uint32_t i = 0; i < p->npieces; i++) {
		const tsr_piece *piece = &p->pieces[i];
		if (!active[i] || a->target.slot == TSR_SLOT_ALL)
			continue;
		uint64_t omitted = ~tsr_operand_loops(piece, &a->target), read = tsr_rhs_loops(piece, a->rhs);
		for (uint32_t l = 0; l < piece->nloops; l++)
			if (tsr_size_is_const(piece->loops[l].extent) && piece->loops[l].extent.k <= 1)
				read &= ~(UINT64_C(1) << l);
		bool several = (omitted & read) != 0;
		if (!several && a->target.slot >= 0)
			several = !tsr_map_injective_within(piece, &piece->maps[a->target.slot], omitted);
		for (uint32_t j = 0; j < i && !several && a->target.slot >= 0; j++)
			several = active[j] && !tsr_pieces_disjoint(p, i, j, (uint32_t)a->target.slot);
		if (several) {
			report_several(b, a, piece, omitted & read);
			return false;
		}
	}
	return true;
}

typedef struct slots_used { bool all; } slots_used;

static void look_for_all(void *user, const tsr_operand *o)
{
	((slots_used *)user)->all |= o->slot == TSR_SLOT_ALL;
}

static double space_elements(const tsr_piece *p)
{
	double n = 1;
	for (uint32_t i = 0; i < p->nloops; i++)
		n *= tsr_size_is_const(p->loops[i].extent) ? (double)p->loops[i].extent.k : 1;
	return n;
}

bool tsr_code_rules(tsr_builder *b, const tsr_assign *a, const tsr_proj *p)
{
	slots_used used = {a->target.slot == TSR_SLOT_ALL};
	tsr_rhs_operands(a->rhs, look_for_all, &used);
	if (used.all && p->npieces != 1) {
		tsr_diag *d = tsr_report(b->g->tc, TSR_E_SPACE_SLOT, a->span,
			"a name in `_all` stands for a tensor over all loops of the operation, and a concatenation divides them into parts");
		tsr_hint(b->g->tc, d, "a name in `_lhs` is indexed like the result, one in `_rhs1` like the first operand");
		return false;
	}
	if (used.all && space_elements(&p->pieces[0]) > (double)TSR_MOST_ELEMENTS) {
		tsr_report(b->g->tc, TSR_E_TOO_LARGE, a->span, "a tensor over the whole iteration space would have more elements than any memory holds");
		return false;
	}
	return a->acc != TSR_ACC_SET || set_rule(b, a, p);
}

/* The result has a concatenated axis, which may have come down to one component. */
static bool concatenates(const tsr_rule *r)
{
	if (r->logic != TSR_LOGIC_SPEC)
		return false;
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		const tsr_spec_row *row = &r->spec->result.row[k];
		for (uint32_t i = 0; i < row->nlead; i++)
			if (row->lead[i].kind == TSR_AXIS_CONCAT)
				return true;
		for (uint32_t i = 0; i < row->ntrail; i++)
			if (row->trail[i].kind == TSR_AXIS_CONCAT)
				return true;
	}
	return false;
}

static void report_overlap(tsr_builder *b, const tsr_tensor *t)
{
	const tsr_record *r = b->g->records.at[t->op.record];
	b->failed = true;
	if (concatenates(&r->rule)) {
		tsr_report(b->g->tc, TSR_E_CONCAT_OVERLAP, r->span, "two operands fill the same part of the concatenation of `%s`", t->name);
		return;
	}
	tsr_diag *d = tsr_report(b->g->tc, TSR_E_CONCAT_OVERLAP, r->span, "two operands fill the same places of `%s`", t->name);
	tsr_hint(b->g->tc, d, "`a^b` in the result puts one beside the other; `+++` adds them");
}

void tsr_code_overlaps(tsr_builder *b, const tsr_tensor *t)
{
	const tsr_assigns *assigns = t->op.forward;
	if (assigns->v.n < 2)
		return;
	const tsr_assign *first = &assigns->v.at[0];
	const tsr_proj *p = tsr_code_maps(b, first->record);
	if (!p || (p->npieces < 2 && !t->op.apart && !concatenates(&b->g->records.at[first->record]->rule)))
		return;
	for (uint32_t i = 0; i < assigns->v.n; i++) {
		const tsr_assign *x = &assigns->v.at[i];
		const bool *here = tsr_assign_active(b->arena, x, p);
		for (uint32_t j = 0; j < i; j++) {
			const tsr_assign *y = &assigns->v.at[j];
			if (x->record != first->record || y->record != first->record || x->target.slot != y->target.slot || x->target.slot < 0
				|| x->target.part != y->target.part || x->rhs->kind == TSR_RHS_CONST || y->rhs->kind == TSR_RHS_CONST)
				continue;
			const bool *there = tsr_assign_active(b->arena, y, p);
			for (uint32_t k = 0; k < p->npieces; k++) {
				if (!here[k] || !there[k])
					continue;
				report_overlap(b, t);
				return;
			}
		}
	}
}
