/* Chains of facts are irredundant: for every shape error of the programs in tests/explain/ and tests/error/, the facts
 * alone give the error, and without any one of them it is gone; for every size of the examples, the same of the size. */
#include "../../compiler/elab/elab.h"
#include "check.h"
#include <glob.h>

static unsigned cases;

static tsr_graph *graph_of(tsr_compiler *tc, const char *path)
{
	tc->stdlib_dir = "stdlib";
	tsr_graph *g = tsr_elaborate(tc, path, TSR_SHARE_NONE);
	tsr_graph_close(g);
	return g;
}

static void expect(int holds, const char *path, const char *what, uint32_t fact)
{
	if (holds)
		check_passed++;
	else if (++check_failed)
		printf("%s: %s (fact %u)\n", path, what, fact);
}

static void errors_of(const char *path)
{
	tsr_compiler *tc = tsr_compiler_new();
	tsr_store *s = graph_of(tc, path)->store;
	uint32_t n = tsr_store_nchains(s);
	for (uint32_t i = 0; i < n; i++) {
		tsr_chain chain = *tsr_store_chain(s, i);
		expect(chain.irredundant && chain.nfacts > 0, path, "no chain was found", i);
		expect(tsr_chain_holds(s, &chain, chain.nfacts), path, "the facts alone give no error", i);
		for (uint32_t f = 0; f < chain.nfacts; f++)
			expect(!tsr_chain_holds(s, &chain, f), path, "the error stands without a fact", chain.facts[f]);
		tsr_notes words = {0};
		tsr_chain_words(s, &chain, &words);
		expect(words.n > 0, path, "the chain has no words", i);
	}
	cases += n > 0;
	tsr_compiler_free(tc);
}

static void sizes_of(const char *path)
{
	tsr_compiler *tc = tsr_compiler_new();
	tsr_graph *g = graph_of(tc, path);
	for (uint32_t i = 0; i < g->shown.n && i < 12 && !tc->nerrors; i++) {
		const tsr_tensor *t = tsr_tensor_get(g, g->shown.at[i]);
		for (uint32_t k = 0; k < TSR_KINDS; k++)
			for (uint32_t a = 0; a < t->solved.row[k].n; a++) {
				tsr_chain chain = tsr_store_why(g->store, &t->shape, (tsr_kind)k, a);
				expect(chain.irredundant, path, t->name, a);
				expect(tsr_why_holds(g->store, &chain, chain.nfacts, &t->shape, (tsr_kind)k, a), path, "the facts give another size", a);
				for (uint32_t f = 0; f < chain.nfacts; f++)
					expect(!tsr_why_holds(g->store, &chain, f, &t->shape, (tsr_kind)k, a), path, "the size stands without a fact",
						chain.facts[f]);
			}
	}
	tsr_compiler_free(tc);
}

static void each(const char *pattern, void (*test)(const char *path))
{
	glob_t found;
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			test(found.gl_pathv[i]);
	globfree(&found);
}

int main(void)
{
	each("tests/explain/*.tsr", errors_of);
	each("tests/error/*.tsr", errors_of);
	if (cases < 20)
		printf("%u programs with shape errors\n", cases);
	CHECK(cases >= 20);
	each("examples/*.tsr", sizes_of);
	each("tests/explain/*.tsr", sizes_of);
	return check_end("explain_chains");
}
