/* Whether a closed shape can be: at most TSR_MOST_AXES axes and TSR_MOST_ELEMENTS elements.  So a number of elements, and of bytes,
 * fits 64 bits wherever it is computed after this. A size that is known when the program runs counts as 1 here; what it comes to
 * is allocated, or refused, by the runtime. */
#include "state.h"

static double elements(const tsr_solved *shape, uint32_t *axes)
{
	double n = 1;
	*axes = 0;
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		for (uint32_t i = 0; i < shape->row[k].n; i++, ++*axes)
			n *= tsr_size_is_const(shape->row[k].axes[i].size) ? (double)shape->row[k].axes[i].size.k : 1;
	return n;
}

/* An operand is too large already: its operation is not told of. */
static bool follows(const tsr_graph *g, const tsr_tensor *t)
{
	if (t->kind != TSR_TENSOR_OP || t->op.record == TSR_NONE)
		return false;
	const tsr_record *r = g->records.at[t->op.record];
	for (uint32_t i = 1; i <= r->rule.noperands; i++)
		if (tsr_tensor_get(g, r->slots[i])->poison)
			return true;
	return false;
}

void tsr_elab_check_extent(tsr_graph *g, tsr_tensor *t)
{
	uint32_t axes;
	double n = elements(&t->solved, &axes);
	if (n <= (double)TSR_MOST_ELEMENTS && axes <= TSR_MOST_AXES)
		return;
	t->poison = true;
	if (follows(g, t))
		return;
	const tsr_record *r = t->kind == TSR_TENSOR_OP && t->op.record != TSR_NONE ? g->records.at[t->op.record] : NULL;
	tsr_span site = r && r->site.file ? r->site : t->span;
	const char *name = t->name ? tsr_format(g->tc->arena, "`%s`", t->name) : "this tensor";
	tsr_diag *d;
	if (axes > TSR_MOST_AXES)
		d = tsr_report(g->tc, TSR_E_TOO_LARGE, site, "%s would have %u axes; %d is the most", name, axes, TSR_MOST_AXES);
	else
		d = tsr_report(g->tc, TSR_E_TOO_LARGE, site, "%s would have the shape %s: no memory holds that many elements", name,
			tsr_solved_str(g->store, &t->solved));
	if (site.file != t->span.file)
		tsr_note_at(g->tc, d, t->span, "made here");
}
