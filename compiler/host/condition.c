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

static bool lone_symbol(tsr_size s) { return s.nterms == 1 && s.k == 0 && s.terms[0].coef == 1; }

/* A symbol that a file's header can give: no quotient. */
static bool lone_given(const tsr_graph *g, tsr_size s)
{
	return lone_symbol(s) && !tsr_store_symbol_get(g->store, s.terms[0].symbol)->derived;
}

int64_t tsr_host_table_dim(const tsr_graph *g, const tsr_buffer *b, uint32_t i)
{
	tsr_size s = b->dims[i];
	if (!tsr_size_is_const(s) && !lone_given(g, s) && b->kind == TSR_BUFFER_FILE) {
		const tsr_data_file *f = tsr_tensor_get(g, b->tensor)->file;
		s = i < f->rank ? f->dims[i] : s;
	}
	if (tsr_size_is_const(s))
		return s.k;
	return lone_symbol(s) ? -1 - (int64_t)s.terms[0].symbol : 0;
}

bool tsr_host_checked_symbol(const tsr_graph *g, const tsr_loops *l, uint32_t symbol)
{
	const tsr_symbol *y = tsr_store_symbol_get(g->store, symbol);
	if (!y->solved || y->derived || tsr_size_is_const(y->value) || lone_given(g, y->value))
		return false;
	for (uint32_t i = 0; i < l->buffers.n; i++)
		for (uint32_t k = 0; l->buffers.at[i]->kind == TSR_BUFFER_FILE && k < l->buffers.at[i]->rank; k++)
			if (tsr_host_table_dim(g, l->buffers.at[i], k) == -1 - (int64_t)symbol)
				return true;
	return false;
}
