/* What inference left to be tested when the sizes are known: that two sizes are equal, or one at least another.  Compiled
 * and interpreted programs test the same list, right after their files were read. */
#include "host.h"
#include "../base/text.h"

/* The place in the program itself: the innermost application there, or the operation. */
static tsr_span place(const tsr_graph *g, const tsr_why *why)
{
	const tsr_within *w = why->within;
	if (!g->main || why->span.file == g->main->span.file)
		return why->span;
	while (w && w->site.file != g->main->span.file)
		w = w->up;
	return w ? w->site : why->span;
}

uint32_t tsr_host_conditions(const tsr_graph *g, tsr_host_condition **out)
{
	uint32_t n = tsr_store_nconditions(g->store), used = 0;
	*out = TSR_NEW_N(g->tc->arena, tsr_host_condition, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		const tsr_condition *c = tsr_store_condition(g->store, i);
		tsr_host_condition *to = &(*out)[used];
		*to = (tsr_host_condition){.left = tsr_store_size(g->store, c->left), .right = tsr_store_size(g->store, c->right),
			.at_least = c->kind == TSR_CONDITION_AT_LEAST};
		if (tsr_size_is_const(to->left) && tsr_size_is_const(to->right))
			continue;
		to->span = place(g, &c->why);
		to->what = tsr_format(g->tc->arena, "%s%sthe size %s", c->why.what ? c->why.what : "", c->why.what ? ": " : "",
			tsr_size_str(g->store, to->left));
		used++;
	}
	return used;
}
