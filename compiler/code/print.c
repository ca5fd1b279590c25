/* --dump=code: each unit's steps in order.
 *
 *     unit step
 *       random net.w.bits
 *       y.1 =:+ mul(x{1}, net.w{2})             {n}: the slot whose map indexes it; {all}, {0} for the whole space and a scalar
 *       net.w.grad =:+ mul(y.1.grad{0}, x{1})
 */
#include "code.h"
#include "../base/text.h"

static void operand(tsr_text *t, const tsr_graph *g, const tsr_operand *o)
{
	tsr_text_addf(t, "%s%s", tsr_tensor_get(g, o->tensor)->name, o->part == TSR_PART_GRAD ? ".grad" : "");
	if (o->slot == TSR_SLOT_ALL)
		tsr_text_add(t, "{all}");
	else if (o->slot == TSR_SLOT_SCALAR)
		tsr_text_add(t, "{scalar}");
	else
		tsr_text_addf(t, "{%d}", o->slot);
}

static void rhs(tsr_text *t, const tsr_graph *g, const tsr_rhs *r)
{
	switch (r->kind) {
	case TSR_RHS_OPERAND:
		operand(t, g, &r->operand);
		return;
	case TSR_RHS_CONST:
		if (tsr_prec_is_float(r->prec))
			tsr_text_float(t, tsr_number_double(r->value));
		else
			tsr_text_addf(t, "%lld", (long long)tsr_number_in(TSR_PREC_I64, r->value).i);
		return;
	case TSR_RHS_OP:
		tsr_text_addf(t, "%s(", tsr_op_get(r->op.op)->name);
		for (uint32_t i = 0; i < tsr_op_get(r->op.op)->arity; i++) {
			tsr_text_add(t, i ? ", " : "");
			rhs(t, g, r->op.args[i]);
		}
		tsr_text_char(t, ')');
		return;
	case TSR_RHS_CONVERT:
		tsr_text_addf(t, "%s(", tsr_prec_name(r->prec));
		rhs(t, g, r->converted);
		tsr_text_char(t, ')');
		return;
	}
}

static void step(tsr_text *t, const tsr_graph *g, const tsr_step *s)
{
	switch (s->kind) {
	case TSR_STEP_ASSIGN: {
		const tsr_assign *a = &s->assign.a;
		tsr_text_add(t, "  ");
		operand(t, g, &a->target);
		tsr_text_addf(t, " =%s%s ", a->clear && a->acc != TSR_ACC_SET ? ":" : "", tsr_acc_get(a->acc)->text);
		rhs(t, g, a->rhs);
		tsr_text_char(t, '\n');
		return;
	}
	case TSR_STEP_RANDOM:
		tsr_text_addf(t, "  random %s\n", tsr_tensor_get(g, s->random)->name);
		return;
	case TSR_STEP_COMMENT:
		tsr_text_addf(t, "  -- %s\n", s->comment);
		return;
	}
}

void tsr_code_print(const tsr_code *c, FILE *out)
{
	tsr_arena *a = tsr_arena_new();
	tsr_text t;
	tsr_text_init(&t, a);
	for (uint32_t i = 0; i < c->units.n; i++) {
		tsr_text_addf(&t, "unit %s\n", c->units.at[i]->name);
		for (uint32_t j = 0; j < c->units.at[i]->steps.n; j++)
			step(&t, c->graph, &c->units.at[i]->steps.at[j]);
	}
	fputs(tsr_text_str(&t), out);
	tsr_arena_free(a);
}
