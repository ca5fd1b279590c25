/* shape/: the step budget (E0411).  No program is known that meets the real one; with a small one the error comes, names its
 * operation, and has a chain of which no fact can be left out. */
#include "../../compiler/shape/store.h"
#include "check.h"

/* n relus in a row over a literal of two axes, solved with `budget` visits. */
static tsr_store *chain_of_relus(tsr_compiler *tc, uint32_t n, uint64_t budget)
{
	static const char text[] = "let%op y = relu (relu (relu x))";
	uint32_t file = tsr_source_add(tc, "t.tsr", text, strlen(text));
	tsr_store *s = tsr_store_new(tc);
	s->steps_base = budget;
	s->steps_each = 0;
	tsr_dim axes[2] = {tsr_dim_atom(3, NULL), tsr_dim_atom(4, NULL)};
	tsr_shape x;
	for (int k = 0; k < TSR_KINDS; k++)
		x.row[k] = tsr_row_closed(s, k == TSR_OUTPUT ? 2 : 0, axes);
	tsr_store_leaf(s, &x, TSR_LEAF_PLAIN, tsr_intern(tc->names, "x"), (tsr_span){file, 29, 30});
	for (uint32_t i = 0; i < n; i++) {
		tsr_shape y = tsr_shape_fresh(s);
		tsr_rule rule = {.logic = TSR_LOGIC_POINTWISE, .noperands = 1, .why = {.span = {file, 11 + i % 3, 15 + i % 3}, .what = "`relu`"}};
		tsr_emit_rule(s, &rule, &y, &x);
		x = y;
	}
	tsr_store_close(s);
	return s;
}

int main(void)
{
	tsr_compiler *tc = tsr_compiler_new();
	chain_of_relus(tc, 20, 20000);
	CHECK_INT(tc->nerrors, 0);
	tsr_store *s = chain_of_relus(tc, 20, 50);
	CHECK_INT(tc->nerrors, 1);
	const tsr_diag *d = tc->diags.at[0];
	CHECK_INT(d->code, TSR_E_SHAPE_BUDGET);
	CHECK(d->span.file != 0 && strstr(d->text, "`relu`"));
	CHECK(d->notes.n > 0);
	CHECK_INT(tsr_store_nchains(s), 1);
	const tsr_chain *chain = tsr_store_chain(s, 0);
	CHECK(chain->irredundant && chain->nfacts > 2);
	CHECK(tsr_chain_holds(s, chain, chain->nfacts));
	for (uint32_t f = 0; f < chain->nfacts; f++)
		CHECK(!tsr_chain_holds(s, chain, f));
	tsr_compiler_free(tc);
	return check_end("shape_budget");
}
