/* What strips cost: operands that each of them reads again, and packs where they cannot be turned once before all. */
#include "schedule.h"
#include "strip.h"

#define EACH_NEAR_BYTE 0.02          /* nanoseconds, in the second cache */
#define EACH_PACKED 0.3              /* of an element */

/* Of a loop, or an axis, with this tag. */
static int64_t guess(const tsr_strip *g, uint32_t tag, tsr_size extent) { return tag && tag < 64 && g->shared >> tag & 1 ? tsr_size_guess(extent) : tsr_strip_guess(extent); }

int64_t tsr_strip_loop_guess(const tsr_strip *g, const tsr_contract_loop *loop) { return guess(g, tsr_strip_loop_tag(g, loop->sym), loop->extent); }

int64_t tsr_strip_bytes(const tsr_strip *g, tsr_buffer_id id)
{
	const tsr_buffer *b = g->p->l->buffers.at[id];
	int64_t n = tsr_prec_bytes(b->prec);
	for (uint32_t axis = 0; axis < b->rank; axis++)
		n *= guess(g, tsr_strip_axis_tag(g, id, axis), b->dims[axis]);
	return n;
}

int64_t tsr_strip_iterations(const tsr_strip *g, bool all)
{
	int64_t n = 1;
	for (uint32_t i = 0; i < g->member[0].nest.n; i++) {
		const tsr_stmt *s = g->member[0].nest.loop[i];
		if (g->shared >> tsr_strip_loop_tag(g, s->loop.sym) & 1)
			n *= tsr_size_guess(s->loop.extent);
		else if (all && tsr_strip_loop_tag(g, s->loop.sym) == g->cut)
			n *= g->extent;
	}
	return n;
}

double tsr_strip_count(const tsr_strip *g) { return (double)((g->extent + g->rows - 1) / g->rows); }

/* Time that a pass over so many bytes takes, in so many iterations of the shared loops that each take a part of them. */
static double travel(const tsr_strip *g, double bytes, double parts)
{
	double each = bytes / parts;
	return bytes * (each <= (double)g->p->target->l2 / 2 ? EACH_NEAR_BYTE : each <= (double)g->p->target->l3 ? TSR_STRIP_THIRD_BYTE : TSR_STRIP_BYTE);
}

typedef enum { IN_PLACE, TURNED, COPIED, PACKED } reads;

/* An operand is read, and packed, once for each strip and shared iteration that it does not mention; alone, its kernel does so once.  What is turned
 * before the strips is packed so for each such iteration: weights, which mention none, for every position of a batch.  Where the tiles of a strip copy what was
 * turned, too, it is packed once more than by strips alone (of 256 to 1024 rows by 784-512-512-10, strips took 1.13 to 1.15 times as long).  What is read where it lies beside a softmax is asked for
 * while the rows of a strip are multiplied with what came before it (6 heads of 8192, forward and backward, by 64 rows: 0.89 s, where products alone take 0.78). */
static double reading(const tsr_strip *g, const tsr_strip_member *m, const tsr_expr *operand, reads how)
{
	const tsr_contraction *k = m->contraction;
	double elements = 1, parts = 1, strips = tsr_strip_count(g);
	for (uint32_t i = 0; i < k->nloops; i++) {
		uint32_t tag = tsr_strip_loop_tag(g, k->loops[i].sym);
		if (!tsr_expr_mentions(g->p->l, operand, k->loops[i].sym))
			continue;
		elements *= (double)tsr_strip_loop_guess(g, &k->loops[i]);
		if (tag && g->shared >> tag & 1)
			parts *= (double)tsr_size_guess(k->loops[i].extent);
		else if (tag && tag == g->cut)
			strips = 1;
	}
	double bytes = elements * tsr_prec_bytes(k->prec), apart = (double)tsr_strip_iterations(g, false) / parts, times = strips * apart;
	double packed = how == COPIED ? times : how == PACKED ? times - 1 : how == TURNED ? apart - 1 : 0;
	double hidden = m < &g->member[g->online.last] ? (double)g->rows / (g->p->target->vector_bytes * (g->p->target->half_units ? 1 : 2) * TSR_STRIP_GIGAHERTZ) * bytes : 0, passing = travel(g, bytes, parts) - hidden;
	return (passing > 0 ? (times - 1) * passing : 0) + packed * elements * EACH_PACKED;
}

static reads second_operand(const tsr_strip *g, const tsr_strip_member *m)
{
	tsr_turned turned;
	if (!m->contraction->schedule.pack_b)
		return IN_PLACE;
	if (!tsr_strip_turns(g, m, &turned))
		return PACKED;
	int64_t each = tsr_prec_bytes(m->contraction->prec);
	return tsr_early_sizes(g->p->target, g->rows, turned.width.k, turned.depth.k, each, turned.width.k * each) ? COPIED : TURNED;
}

double tsr_strip_cost(const tsr_strip *g)
{
	double sum = 0;
	for (uint32_t m = 0; m < g->n; m++) {
		const tsr_contraction *k = g->member[m].contraction;
		if (!k || !k->schedule.mr)
			continue;
		double once = reading(g, &g->member[m], k->a_value, k->schedule.pack_a ? PACKED : IN_PLACE) + reading(g, &g->member[m], k->b_value, second_operand(g, &g->member[m]));
		bool twice = g->online.block && g->online.twice && m < g->online.rows && tsr_online_wanted(g, m);
		sum += twice ? 2 * once + tsr_strip_product(g, k) : once;
		if (!tsr_strip_outer(g, &g->member[m], g->cut))
			sum += 2 * (tsr_strip_count(g) - 1) * travel(g, (double)tsr_strip_bytes(g, k->c), (double)tsr_strip_iterations(g, false));
	}
	return sum;
}
