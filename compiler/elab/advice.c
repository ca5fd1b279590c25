/* After closing: what is possible and most likely not meant.
 *
 * - A component of a concatenated axis that its spec names nowhere else, and that came down to nothing because nothing gives it a
 *   size: `a; b => a^b^c`.
 * - Positions that are not whole numbers, in a lookup: an error, whether or not any code looks up. */
#include "state.h"
#include <math.h>

/* ---- components ---------------------------------------------------------------------------------------------------- */

static uint32_t mentions_in_axis(const tsr_axis *x, tsr_name label)
{
	uint32_t n = 0;
	switch (x->kind) {
	case TSR_AXIS_LABEL: return x->label == label;
	case TSR_AXIS_AFFINE: return (x->affine.over.label == label) + (x->affine.kernel.label == label);
	case TSR_AXIS_CONCAT: case TSR_AXIS_JOINT:
		for (uint32_t i = 0; i < x->concat.n; i++)
			n += x->concat.at[i].label == label;
		return n;
	case TSR_AXIS_WILD: case TSR_AXIS_FIXED: case TSR_AXIS_SYMBOL: return 0;
	}
	return n;
}

typedef void axis_visit(void *data, const tsr_axis *x);

static void each_axis_of(const tsr_spec_slot *slot, axis_visit *visit, void *data)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		for (uint32_t i = 0; i < slot->row[k].nlead + slot->row[k].ntrail; i++)
			visit(data, i < slot->row[k].nlead ? &slot->row[k].lead[i] : &slot->row[k].trail[i - slot->row[k].nlead]);
}

static void each_axis(const tsr_spec *spec, axis_visit *visit, void *data)
{
	for (uint32_t i = 0; i < spec->noperands; i++)
		each_axis_of(&spec->operands[i], visit, data);
	each_axis_of(&spec->result, visit, data);
}

typedef struct count { tsr_name label; uint32_t n; } count;
static void add_mentions(void *data, const tsr_axis *x) { ((count *)data)->n += mentions_in_axis(x, ((count *)data)->label); }

typedef struct look { tsr_graph *g; const tsr_record *r; } look;

static void look_at_components(void *data, const tsr_axis *x)
{
	const look *l = data;
	for (uint32_t i = 0; x->kind == TSR_AXIS_CONCAT && i < x->concat.n; i++) {
		count c = {x->concat.at[i].label, 0};
		const tsr_label *label = c.label ? tsr_rule_label(&l->r->rule, c.label) : NULL;
		tsr_solved_axis axis;
		if (!label || !tsr_store_dim(l->g->store, label->dim, &axis) || !tsr_size_is_const(axis.size) || axis.size.k != 0)
			continue;
		each_axis(l->r->rule.spec, add_mentions, &c);
		if (c.n > 1)
			continue;
		tsr_diag *d = tsr_report(l->g->tc, TSR_W_DISCARDED, x->concat.at[i].span, "the component `%s` has no positions: nothing else in this spec names it", c.label);
		tsr_hint(l->g->tc, d, "leave it out; or give it a size, with `set_dim %s` or as a number, `3^a`", c.label);
	}
}

static void check_components(tsr_graph *g)
{
	for (uint32_t i = 0; i < g->records.n; i++) {
		look l = {g, g->records.at[i]};
		if (l.r->rule.logic == TSR_LOGIC_SPEC && l.r->rule.nlabels && !tsr_source_in_library(g->tc, l.r->span.file))
			each_axis(l.r->rule.spec, look_at_components, &l);
	}
}

/* ---- positions ------------------------------------------------------------------------------------------------------ */

typedef struct positions { tsr_graph *g; const tsr_assign *a; } positions;

static void check_rhs(const positions *p, const tsr_rhs *r)
{
	if (r->kind == TSR_RHS_CONVERT)
		check_rhs(p, r->converted);
	if (r->kind != TSR_RHS_OP)
		return;
	for (uint32_t i = 0; i < tsr_op_get(r->op.op)->arity; i++)
		check_rhs(p, r->op.args[i]);
	const tsr_rhs *index = r->op.args[0];
	while (index->kind == TSR_RHS_CONVERT)
		index = index->converted;
	if (r->op.op != TSR_OP_AT)
		return;
	tsr_span site = p->g->records.at[p->a->record]->site;
	if (index->kind == TSR_RHS_CONST && index->value.prec == TSR_PREC_F64 && index->value.d != floor(index->value.d))
		tsr_report(p->g->tc, TSR_E_ARGUMENTS, site, "positions are whole numbers; %g is none", index->value.d);
	else if (index->kind != TSR_RHS_CONST && tsr_prec_is_float(index->prec))
		tsr_report(p->g->tc, TSR_E_ARGUMENTS, site, "positions are whole numbers; %s %s",
		           index->kind == TSR_RHS_OPERAND ? tsr_format(p->g->tc->arena, "`%s` holds", tsr_tensor_get(p->g, index->operand.tensor)->name)
		                                          : "these are", tsr_prec_name(index->prec));
}

static void check_positions(void *data, tsr_assign *a)
{
	positions p = {data, a};
	check_rhs(&p, a->rhs);
}

void tsr_elab_advise(tsr_graph *g)
{
	check_components(g);
	tsr_graph_each_assign(g, check_positions, g);
}
