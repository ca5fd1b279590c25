/* Contractions that stay nests, since these have lanes of their own that are full where tiles would be mostly empty: groups, and sums for each place of a window. */
#include "pass.h"

/* Its innermost parallel loops fill registers better by themselves: those over a batch of groups and few results of each, or over rows and columns of small matrices; or few results of few numbers each. */
static bool of_groups(const tsr_pass *p, const tsr_contraction *k, const tsr_stmt *s, bool turning)
{
	enum { MOST = 4, FEW = 4 };
	tsr_groups g;
	bool batch = false;
	for (uint32_t i = 0; i < k->nloops; i++)
		batch |= k->loops[i].cls == TSR_CLASS_BATCH;
	return tsr_groups_within(p->l, p->target, s, turning, &g) && (tsr_contract_class(k, g.group->loop.sym) == TSR_CLASS_BATCH || (g.results <= FEW && tsr_contract_count(k, TSR_CLASS_K) <= FEW)
		|| (batch && g.count * 4 <= MOST * (int64_t)p->target->vector_bytes));
}

/* Sums for each place of a window that are added up in one walk (window_sums.c): a batch of few by few channels, or of rows that fill registers and so few channels that packing
 * what windows read of them costs more than the products; or so few results for each place of an image, or so few that share what windows
 * read, that tiles would be mostly empty. */
static bool of_windows(const tsr_pass *p, const tsr_contraction *k, const tsr_stmt *s)
{
	enum { MOST = 16, MOST_FEW = 8, FEW_CHANNELS = 3, FEW_RESULTS = 3 };         /* where registers are few, or windows lie along what is summed */
	tsr_window_sums w;
	if (!tsr_window_sums_of(p->l, p->target, s, &w))
		return false;
	if (!w.image)
		return tsr_contract_count(k, TSR_CLASS_N) <= FEW_RESULTS;
	if (!w.along && tsr_contract_count(k, TSR_CLASS_M) <= FEW_RESULTS)
		return true;
	int64_t most = w.along || tsr_target_few_registers(p->target) ? MOST_FEW : MOST;
	bool few = tsr_contract_count(k, TSR_CLASS_BATCH) > 1;
	for (uint32_t i = 0; i < k->nloops; i++)
		few &= k->loops[i].cls == TSR_CLASS_K || k->loops[i].cls == TSR_CLASS_BATCH || k->loops[i].extent.k <= most;
	return few || (w.along && w.lane->loop.extent.k * 4 % p->target->vector_bytes == 0 && tsr_window_sums_channels(&w) <= FEW_CHANNELS);
}

static bool lies_along(const tsr_pass *p, const tsr_expr *v, uint32_t sym)
{
	int64_t stride;
	return v->kind == TSR_EXPR_LOAD && tsr_index_stride(p->l->buffers.at[v->load.buffer], v->load.index, sym, &stride) && stride == 1;
}

/* Matrices that lie side by side, element by element (kernel/lane_tiles.c): as products of their own each would be turned, and its result scattered. */
bool tsr_contract_of_lanes(const tsr_pass *p, const tsr_contraction *k)
{
	int64_t stride, lanes = p->target->vector_bytes / 4;
	bool side_by_side = false;
	for (uint32_t i = 0; i < k->nloops && !side_by_side; i++)
		side_by_side = k->loops[i].cls == TSR_CLASS_BATCH && tsr_size_is_const(k->loops[i].extent) && k->loops[i].extent.k >= lanes && tsr_index_stride(p->l->buffers.at[k->c], k->c_index, k->loops[i].sym, &stride)
			&& stride == 1 && lies_along(p, k->a_value, k->loops[i].sym) && lies_along(p, k->b_value, k->loops[i].sym);
	return side_by_side && tsr_prec_bytes(k->prec) == 4 && tsr_contract_count(k, TSR_CLASS_M) > 1 && tsr_contract_count(k, TSR_CLASS_N) > 1;
}

bool tsr_contract_stays(const tsr_pass *p, const tsr_contraction *k, const tsr_stmt *nest, bool turning)
{
	return of_groups(p, k, nest, turning) || of_windows(p, k, nest) || tsr_contract_of_lanes(p, k);
}
