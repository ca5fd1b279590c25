/* Columns of B for dot products (dots.c), where they lie across or are computed: each is copied side by side along K, a block of K at a time.
 *
 * Tiles of few columns leave most of a vector's lanes idle, and lanes that are steps of K none; the copy is small, and all rows of A use it.  Of what is computed a block of columns is. */
#include "private.h"

bool tsr_copies_columns(const tsr_engine *g) { return g->s->dots && g->s->pack_b; }

/* From one column to the next: whole vectors, and no whole pages, which would fall into the same lines of the first cache. */
int64_t tsr_columns_each(const tsr_engine *g)
{
	enum { PAGE = 4096 };
	int64_t depth = tsr_kit_known(g->cls[TSR_CLASS_K].count), kc = g->s->kc, lanes = g->k.lanes;
	int64_t each = ((depth >= 0 && depth < kc ? depth : kc) + lanes - 1) / lanes * lanes;
	return each * g->k.elem_bytes % PAGE ? each : each + lanes;
}

int64_t tsr_columns_bytes(const tsr_engine *g)
{
	int64_t all = tsr_kit_known(g->cls[TSR_CLASS_N].count), columns = all >= 0 && all < g->s->nc ? all : g->s->nc;
	return (columns * tsr_columns_each(g) * g->k.elem_bytes + TSR_LINE - 1) / TSR_LINE * TSR_LINE;
}

static void compute(tsr_engine *g, const tsr_block *bl)
{
	tsr_kit *k = &g->k;
	tsr_computed v = { g->e, g->c->b_value, g->c->prec, &g->walks[TSR_CLASS_N], &g->walks[TSR_CLASS_K], NULL };
	tsr_count j = tsr_count_begin(k, tsr_kit_int(k, 0), bl->cols, tsr_kit_int(k, 1));
	tsr_walks_decode(k, g->e, v.across, 0, tsr_kit_add(k, bl->n, j.i));
	tsr_computed_stretch(k, &v, v.along, bl->kfirst, bl->depth, tsr_kit_at(k, bl->b, tsr_kit_mul(k, j.i, bl->b_each)));
	tsr_count_end(k, &j);
}

/* Rows of B are turned in registers, a vector of depths at a time; rows past the last one repeat it. */
void tsr_columns_copy(tsr_engine *g, const tsr_block *bl)
{
	if (!tsr_contract_plain(g->e->loops, g->c, TSR_SIDE_B)) {
		compute(g, bl);
		return;
	}
	enum { MOST = 64 };
	tsr_kit *k = &g->k;
	const tsr_span_axis *n = &g->cls[TSR_CLASS_N].at[0], *along = &g->cls[TSR_CLASS_K].at[0];
	LLVMValueRef one = tsr_kit_int(k, 1), last = LLVMBuildNSWSub(k->b, bl->depth, one, ""), mask = tsr_kit_mask(k, bl->cols, 0), v[MOST];
	LLVMValueRef first = tsr_kit_add(k, tsr_kit_mul(k, bl->kfirst, along->stride[TSR_SIDE_B]), tsr_kit_mul(k, bl->n, n->stride[TSR_SIDE_B]));
	LLVMValueRef from = tsr_kit_at(k, g->base[TSR_SIDE_B], first);
	uint32_t columns = (uint32_t)tsr_kit_known(g->cls[TSR_CLASS_N].count);
	tsr_count d = tsr_count_begin(k, tsr_kit_int(k, 0), bl->depth, tsr_kit_int(k, k->lanes));
	for (uint32_t i = 0; i < k->lanes; i++) {
		LLVMValueRef row = tsr_kit_min(k, tsr_kit_add(k, d.i, tsr_kit_int(k, i)), last);
		v[i] = tsr_kit_load(k, k->vec, tsr_kit_at(k, from, tsr_kit_mul(k, row, along->stride[TSR_SIDE_B])), mask);
	}
	tsr_weave(k, v, k->lanes);
	for (uint32_t j = 0; j < columns; j++)
		tsr_kit_store(k, v[j], tsr_kit_at(k, bl->b, tsr_kit_add(k, d.i, tsr_kit_mul(k, tsr_kit_int(k, j), bl->b_each))), NULL);
	tsr_count_end(k, &d);
}
