/* Elements of tensors: t.(i, j), t.grad.(0).  Indices are in memory order (batch, output, input); t.(0) reads any tensor of
 * one element, whatever its rank. */
#include "lower.h"

/* Axes of a solved shape in memory order; returns their number, and whether the tensor has one element. */
static uint32_t axes_of(const tsr_tensor *t, bool *single)
{
	static const tsr_kind order[] = {TSR_BATCH, TSR_OUTPUT, TSR_INPUT};
	uint32_t n = 0;
	*single = true;
	for (int k = 0; k < 3; k++) {
		const tsr_solved_row *r = &t->solved.row[order[k]];
		for (uint32_t i = 0; i < r->n; i++, n++)
			*single = *single && tsr_size_is_const(r->axes[i].size) && r->axes[i].size.k == 1;
	}
	return n;
}

static tsr_host_type element_type(tsr_prec p)
{
	return p == TSR_PREC_BOOL ? TSR_HOST_BOOL : tsr_prec_is_int(p) ? TSR_HOST_INT : TSR_HOST_FLOAT;
}

tsr_hexpr *tsr_host_element(tsr_hlower *l, tsr_ast *e)
{
	if (e->kind != TSR_AST_INDEX) {
		tsr_report(l->tc, TSR_E_PROGRAM_TYPE, e->span, "an element of a tensor is needed here: t.(i)");
		return NULL;
	}
	tsr_ref r = tsr_host_resolve(l, e->index.e);
	tsr_hexpr *out = tsr_hexpr_new(l, TSR_H_ELEMENT, TSR_HOST_FLOAT, e->span);
	bool ok = true;
	for (uint32_t i = 0; i < e->index.indices.n; i++) {
		tsr_hexpr *x = tsr_hexpr_as(l, tsr_host_expr(l, e->index.indices.at[i]), TSR_HOST_INT, "an index");
		ok = ok && x;
		tsr_push(l->arena, &out->element.indices, x);
	}
	if (r.kind == TSR_REF_POISON || !ok)
		return NULL;
	if (r.kind != TSR_REF_TENSOR) {
		tsr_report(l->tc, TSR_E_PROGRAM_TYPE, e->index.e->span, "only tensors have elements");
		return NULL;
	}
	const tsr_tensor *t = tsr_tensor_get(l->g, r.tensor);
	if (t->poison)
		return NULL;
	bool single;
	uint32_t rank = axes_of(t, &single), given = out->element.indices.n;
	if (given != rank && !(single && given == 1)) {
		tsr_diag *d = tsr_report(l->tc, TSR_E_PROGRAM_INDEX, e->span, "`%s` has %u ax%s, and %u ind%s given", t->name, rank,
					 rank == 1 ? "is" : "es", given, given == 1 ? "ex is" : "ices are");
		tsr_note_at(l->tc, d, t->span, "its shape is %s", tsr_solved_str(l->g->store, &t->solved));
		return NULL;
	}
	out->element.tensor = r.tensor;
	out->element.part = r.part;
	out->type = r.part == TSR_PART_GRAD ? TSR_HOST_FLOAT : element_type(t->prec);
	l->host->observed[2 * r.tensor + r.part] = true;
	return out;
}
