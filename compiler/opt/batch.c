/* Positions of a batch that lie side by side within each row of A and of C, as groups of channels do.
 *
 * One position after the other would walk through all rows' memory as often as there are positions, and take a line of it, or less, from each stretch of a page: rows apart
 * by powers of two share few sets of the caches, and each line comes from the last one again.  So all positions compute as many rows as a third of the second cache holds
 * of both, and then the next ones (168 rows of 128 channels; 112 and 256 1 to 5 % slower). */
#include "schedule.h"

enum { LEAST_ROWS = 48, LEAST_PARTS = 4 };            /* each position's B is packed again for so many; fewer parts come from the caches anyway */

static const tsr_contract_loop *last_of(const tsr_walks *x) { return x->nloops ? &x->loop[x->nloops - 1] : NULL; }

/* Elements from one row to the next, where all positions of the batch along its last loop lie within a row; else 0. */
static int64_t row_of(const tsr_buffer *b, const tsr_lin *index, const tsr_contract_loop *batch, const tsr_contract_loop *row)
{
	int64_t position, each;
	bool known = tsr_index_stride(b, index, batch->sym, &position) && tsr_index_stride(b, index, row->sym, &each) && tsr_size_is_const(batch->extent);
	return known && position > 0 && position * batch->extent.k <= each ? each : 0;
}

int64_t tsr_batch_rows(const tsr_loops *l, const tsr_contraction *c, const tsr_problem *p, const tsr_contract_view *v, const tsr_schedule *s)
{
	const tsr_contract_loop *batch = last_of(&v->cls[TSR_CLASS_BATCH]), *row = last_of(&v->cls[TSR_CLASS_M]);
	const tsr_expr *a = tsr_contract_guarded(c->a_value);
	bool one_block = p->m > 0 && p->n > 0 && p->k > 0 && p->n <= s->nc && p->k <= s->kc;
	if (!one_block || s->early || s->turn || s->join || s->cols || s->aside || s->dots || !batch || !row || !a)
		return 0;
	int64_t in_a = row_of(l->buffers.at[a->load.buffer], a->load.index, batch, row), in_c = row_of(l->buffers.at[c->c], c->c_index, batch, row);
	if (!in_a || !in_c)
		return 0;
	int64_t most = p->t->l2 / 3 / ((in_a + in_c) * p->bytes);
	return most >= LEAST_ROWS && p->m >= LEAST_PARTS * most ? tsr_block_of(p->m, most, s->mr) : 0;
}
