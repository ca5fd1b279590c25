/* What holds of flattened code: one unit per code of the graph; every assignment has maps, slots of its own record, and
 * precisions; primitives have their operands. */
#include "build.h"

typedef struct checker { const tsr_code *c; const tsr_unit *u; const tsr_record *record; } checker;

static void check_operand(void *user, const tsr_operand *o)
{
	const checker *k = user;
	const tsr_graph *g = k->c->graph;
	if (o->tensor >= g->tensors.n)
		tsr_bug("%s: tensor %u of %u", k->u->name, o->tensor, g->tensors.n);
	if (o->slot >= 0 && (uint32_t)o->slot > k->record->rule.noperands)
		tsr_bug("%s: slot %d of record %u", k->u->name, o->slot, k->record->id);
	if (o->slot < TSR_SLOT_SCALAR)
		tsr_bug("%s: slot %d", k->u->name, o->slot);
	if (tsr_tensor_get(g, o->tensor)->prec == TSR_PREC_NONE)
		tsr_bug("%s: %s has no precision", k->u->name, tsr_tensor_get(g, o->tensor)->name);
}

static void check_rhs(const checker *k, const tsr_rhs *r)
{
	if (r->kind == TSR_RHS_CONVERT) {
		check_rhs(k, r->converted);
	} else if (r->kind == TSR_RHS_OP) {
		for (uint32_t i = 0; i < tsr_op_get(r->op.op)->arity; i++) {
			if (!r->op.args[i])
				tsr_bug("%s: %s lacks operand %u", k->u->name, tsr_op_get(r->op.op)->name, i);
			check_rhs(k, r->op.args[i]);
		}
	}
}

void tsr_code_check(const tsr_code *c)
{
	if (c->units.n != c->graph->codes.n)
		tsr_bug("%u units for %u codes", c->units.n, c->graph->codes.n);
	for (uint32_t i = 0; i < c->units.n; i++)
		for (uint32_t j = 0; j < c->units.at[i]->steps.n; j++) {
			const tsr_step *s = &c->units.at[i]->steps.at[j];
			if (s->kind != TSR_STEP_ASSIGN)
				continue;
			checker k = {c, c->units.at[i], c->graph->records.at[s->assign.a.record]};
			if (!s->assign.proj || s->assign.proj->record != s->assign.a.record)
				tsr_bug("%s: an assignment with the maps of another record", k.u->name);
			check_operand(&k, &s->assign.a.target);
			tsr_rhs_operands(s->assign.a.rhs, check_operand, &k);
			check_rhs(&k, s->assign.a.rhs);
		}
}
