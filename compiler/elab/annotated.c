/* An annotation is held against what would be inferred without it.  It gives an operand whose shape is open its axes, as any use does;
 * a result it may not stretch: each of the result's axes must be an axis of an operand, and a size above 1 that of one.  So
 * what the constraints alone would permit, a broadcast to the annotated shape, is refused after closing. */
#include "state.h"

/* The rows that row `kind` of a result lies below; their number, 0 where it equals something. */
static uint32_t above(const tsr_graph *g, const tsr_record *r, tsr_kind kind, const tsr_solved_row **out)
{
	const tsr_solved *x[3];
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->rule.noperands && i < 3; i++)
		x[i] = &tsr_tensor_get(g, r->slots[i + 1])->solved;
	switch (r->rule.logic) {
	case TSR_LOGIC_POINTWISE:
		for (uint32_t i = 0; i < r->rule.noperands; i++)
			out[n++] = &tsr_tensor_get(g, r->slots[i + 1])->solved.row[kind];
		break;
	case TSR_LOGIC_COMPOSE: case TSR_LOGIC_COMPOSE_ACC:
		if (kind != TSR_INPUT)
			out[n++] = &x[0]->row[kind];
		if (kind != TSR_OUTPUT)
			out[n++] = &x[1]->row[kind];
		if (r->rule.logic == TSR_LOGIC_COMPOSE_ACC)
			out[n++] = &x[2]->row[kind];
		break;
	case TSR_LOGIC_TRANSPOSE:
		out[n++] = &x[0]->row[kind == TSR_BATCH ? TSR_BATCH : kind == TSR_INPUT ? TSR_OUTPUT : TSR_INPUT];
		break;
	case TSR_LOGIC_SPEC: case TSR_LOGIC_GATHER: case TSR_LOGIC_GATHER_ONE:
		break;
	}
	return n;
}

/* The axis of an operand's row that lies over axis i of a result of n; NULL where rank growth puts one there. */
static const tsr_solved_axis *over(const tsr_solved_row *op, uint32_t n, uint32_t i)
{
	uint32_t grown = n - op->n;
	if (i < op->marker)
		return &op->axes[i];
	return i < op->marker + grown ? NULL : &op->axes[i - grown];
}

static void refuse(tsr_graph *g, const tsr_annotation *a, tsr_kind kind, uint32_t axis, bool there)
{
	static const char *const kinds[] = {[TSR_BATCH] = "batch", [TSR_INPUT] = "input", [TSR_OUTPUT] = "output"};
	tsr_tensor *t = tsr_tensor_get(g, a->tensor);
	tsr_diag *d = tsr_report(g->tc, TSR_E_STRETCHED, a->span, there ? "the annotation stretches %s axis %u: no operand has its size"
		: "the annotation adds %s axis %u: no operand has it", kinds[kind], axis + 1);
	tsr_hint(g->tc, d, "an annotation says what a result is; `+ fill 0.` makes it larger, as large as its use asks");
	t->poison = true;
}

static void check_row(tsr_graph *g, const tsr_annotation *a, const tsr_record *r, tsr_kind kind)
{
	const tsr_solved_row *res = &tsr_tensor_get(g, a->tensor)->solved.row[kind];
	const tsr_solved_row **ops = TSR_NEW_N(g->tc->arena, const tsr_solved_row *, r->rule.noperands + 3);
	uint32_t n = above(g, r, kind, ops);
	for (uint32_t i = 0; n && i < res->n; i++) {
		bool there = false, sized = tsr_size_is_const(res->axes[i].size) && res->axes[i].size.k == 1;
		for (uint32_t k = 0; k < n; k++) {
			const tsr_solved_axis *axis = ops[k]->n <= res->n ? over(ops[k], res->n, i) : NULL;
			there |= axis != NULL;
			sized |= axis && !axis->unit;
		}
		if (!there || !sized) {
			refuse(g, a, kind, i, there);
			return;
		}
	}
}

void tsr_elab_check_annotations(tsr_graph *g)
{
	for (uint32_t i = 0; i < g->elab->annotations.n; i++) {
		const tsr_annotation *a = &g->elab->annotations.at[i];
		const tsr_tensor *t = tsr_tensor_get(g, a->tensor);
		if (t->kind != TSR_TENSOR_OP || t->op.record == TSR_NONE || t->poison)
			continue;
		const tsr_record *r = g->records.at[t->op.record];
		bool known = true;
		for (uint32_t k = 1; k <= r->rule.noperands; k++)
			known &= !tsr_tensor_get(g, r->slots[k])->poison;
		for (uint32_t kind = 0; kind < TSR_KINDS && known && !t->poison; kind++)
			check_row(g, a, r, (tsr_kind)kind);
	}
}
