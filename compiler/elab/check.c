/* What holds of every graph after elaboration: ids are in range, operands come before results, an assignment's slots are
 * its record's, names are unique. */
#include "state.h"

static void check_operand(const tsr_graph *g, const tsr_record *r, const tsr_operand *o)
{
	if (o->tensor >= g->tensors.n)
		tsr_bug("an operand names tensor %u of %u", o->tensor, g->tensors.n);
	if (o->slot < TSR_SLOT_SCALAR || o->slot > (int)r->rule.noperands)
		tsr_bug("slot %d of a record with %u operands", o->slot, r->rule.noperands);
	if (o->part == TSR_PART_GRAD && !tsr_tensor_get(g, o->tensor)->differentiable)
		tsr_bug("the gradient of %s, which has none", tsr_tensor_get(g, o->tensor)->name);
}

static void check_rhs(const tsr_graph *g, const tsr_record *r, const tsr_rhs *rhs)
{
	switch (rhs->kind) {
	case TSR_RHS_OPERAND: check_operand(g, r, &rhs->operand); return;
	case TSR_RHS_CONST: return;
	case TSR_RHS_CONVERT: check_rhs(g, r, rhs->converted); return;
	case TSR_RHS_OP:
		for (uint32_t i = 0; i < tsr_op_get(rhs->op.op)->arity; i++)
			check_rhs(g, r, rhs->op.args[i]);
		return;
	}
}

static void check_assign(void *data, tsr_assign *a)
{
	const tsr_graph *g = data;
	if (a->record >= g->records.n)
		tsr_bug("an assignment names record %u of %u", a->record, g->records.n);
	const tsr_record *r = g->records.at[a->record];
	check_operand(g, r, &a->target);
	check_rhs(g, r, a->rhs);
	if (a->clear && a->acc == TSR_ACC_SET)
		tsr_bug("an overwriting assignment that clears");
}

void tsr_graph_check(const tsr_graph *g)
{
	tsr_map names;
	tsr_map_init(&names, g->tc->arena);
	for (uint32_t i = 0; i < g->tensors.n; i++) {
		const tsr_tensor *t = g->tensors.at[i];
		if (t->id != i)
			tsr_bug("tensor %u calls itself %u", i, t->id);
		if (!t->name)
			tsr_bug("tensor %u has no name", i);
		if (tsr_map_find(&names, tsr_key(t->name)))
			tsr_bug("two tensors are called %s", t->name);
		tsr_map_put(&names, tsr_key(t->name));
		if (t->kind == TSR_TENSOR_OP && t->op.record != TSR_NONE) {
			const tsr_record *r = g->records.at[t->op.record];
			for (uint32_t k = 0; k < r->rule.noperands; k++)
				if (r->slots[1 + k] >= i)
					tsr_bug("%s is made before its operand %u", t->name, k + 1);
		}
	}
	tsr_graph_each_assign((tsr_graph *)g, check_assign, (void *)g);
}
