/* The rank graph: an edge p --k--> q says rank p >= rank q + k. Its edges are the waiting row constraints themselves,
 * read through the bindings made so far, so it persists without a second book-keeping and edges may have either sign.
 *
 * Only the growth of templates makes new row variables, so divergence means variables of ever greater depth. The check for
 * a positive cycle runs when a depth of 8, 16, 32, ... is reached: it costs nothing where ranks are ordinary, and a
 * cycle is found at the latest there. */
#include "store.h"
#include "../base/map.h"

typedef struct search {
	tsr_store *s;
	tsr_map index;               /* root -> index + 1 */
	TSR_VEC(uint32_t) nodes;
	TSR_VEC(int64_t) rank;       /* longest path from the start */
	tsr_ids steps;               /* edges on that path */
	tsr_ids queue;
} search;

/* True when the path got longer than the number of variables: then it runs through a positive cycle. */
static bool relax(search *g, uint32_t p, uint32_t q, int64_t k)
{
	tsr_map_entry *e = tsr_map_put(&g->index, q);
	int64_t rank = g->rank.at[p] + k;
	if (!e->value.i) {
		tsr_push(g->s->arena, &g->nodes, q);
		tsr_push(g->s->arena, &g->rank, rank);
		tsr_push(g->s->arena, &g->steps, 0);
		e->value.i = g->nodes.n;
	} else if (rank <= g->rank.at[e->value.i - 1]) {
		return false;
	}
	uint32_t at = (uint32_t)e->value.i - 1;
	g->rank.at[at] = rank;
	g->steps.at[at] = g->steps.at[p] + 1;
	tsr_push(g->s->arena, &g->queue, at);
	return g->steps.at[at] > g->nodes.n;
}

static bool relax_all(search *g, uint32_t p)
{
	tsr_store *s = g->s;
	uint32_t root = g->nodes.at[p];
	TSR_EACH(s, i, &s->rows.at[root].watchers) {
		const tsr_cstr *c = tsr_cell_cstr(s, i);
		if (c->done || (c->kind != TSR_C_ROW_BELOW && c->kind != TSR_C_ROW_EQUAL))
			continue;
		bool poison = false, equal = c->kind == TSR_C_ROW_EQUAL;
		tsr_row a = tsr_row_find(s, equal ? c->row.rest[0] : c->row.a, &poison);
		tsr_row b = tsr_row_find(s, equal ? c->row.rest[1] : c->row.b, &poison);
		if (poison || !tsr_row_open(a) || !tsr_row_open(b))
			continue;
		int64_t k = (int64_t)tsr_row_flanks(b) - tsr_row_flanks(a);
		if (a.var == root && relax(g, p, b.var, k))
			return true;
		if (equal && b.var == root && relax(g, p, a.var, -k))
			return true;
	}
	return false;
}

bool tsr_rank_diverges(tsr_store *s, uint32_t row_var)
{
	search g = {.s = s};
	tsr_map_init(&g.index, s->arena);
	tsr_push(s->arena, &g.nodes, row_var);
	tsr_push(s->arena, &g.rank, 0);
	tsr_push(s->arena, &g.steps, 0);
	tsr_push(s->arena, &g.queue, 0);
	tsr_map_put(&g.index, row_var)->value.i = 1;
	for (uint32_t i = 0; i < g.queue.n; i++)
		if (relax_all(&g, g.queue.at[i]))
			return true;
	return false;
}
