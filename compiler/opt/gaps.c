/* What a product leaves out between its rows is cleared by its tiles.
 *
 * The gradient of what a window of one place slides over in steps is 0 between the places that it reaches: one kernel clears all of X, and a product then
 * stores to every s-th place of some axes.  Cleared for itself X passes through the caches twice, and multiply-adds wait for memory that is idle while they run.
 *
 *     kernel { X = 0 }  ..  kernel { X[.., s*i, .., n] = sum }   becomes   kernel { X = 0;  X[.., s*i, .., n] = sum }
 *
 * where nothing touches X in between, and the contraction is told of its gaps: the places that belong to each row of it, so many elements behind the row's
 * own.  The engine clears these beside each tile (engine/gaps.c), and whoever emits the kernel leaves the first nest out.  Each thread so clears beside
 * what it computes.
 *
 * C's last axis is all of N, each other one is walked by one loop of M or of the batch whose places lie evenly from its begin to its end, and all sizes
 * are known.  Only where a target tells how many stores may wait: all of a tile's come at once.  Runs last: every other pass finds one nest in a kernel
 * that clears. */
#include "schedule.h"

enum { MOST_GAPS = 15 };

/* The product's only statement, where its C has gaps that tiles can clear; else NULL. */
static tsr_contraction *product_of(const tsr_stmt *kernel)
{
	const tsr_stmt *s = kernel->kind == TSR_STMT_KERNEL && kernel->kernel.body.n == 1 ? kernel->kernel.body.at[0] : NULL;
	tsr_contraction *c = s && s->kind == TSR_STMT_FOR ? s->loop.contraction : NULL;
	const tsr_schedule *how = c ? &c->schedule : NULL;
	bool direct = how && how->mr && !how->turn && !how->join && !how->knit && !how->aside;
	return direct && c->clear && c->acc == TSR_ACC_ADD && !c->tail && !c->gaps ? c : NULL;
}

/* Steps of the only loop along the axis, a positive number that divides its places evenly; 0: none. */
static int64_t steps_of(const tsr_contraction *c, const tsr_lin *x, tsr_size size, bool columns)
{
	if (!tsr_size_is_const(size) || x->offset || x->base.k || x->base.nterms)
		return 0;
	if (!x->n)
		return size.k == 1 && !columns;
	for (uint32_t i = 0; i < c->nloops; i++) {
		const tsr_contract_loop *l = &c->loops[i];
		if (x->n != 1 || x->terms[0].kind != TSR_LSYM_LOOP || x->terms[0].id != l->sym || !tsr_size_is_const(l->extent))
			continue;
		bool whole = x->terms[0].coef > 0 && x->terms[0].coef * l->extent.k == size.k;
		return whole && columns == (l->cls == TSR_CLASS_N) && l->cls != TSR_CLASS_K ? x->terms[0].coef : 0;
	}
	return 0;
}

/* The gaps behind each row, or NULL. */
static tsr_gaps *gaps_of(tsr_pass *p, const tsr_contraction *c)
{
	const tsr_buffer *b = p->l->buffers.at[c->c];
	tsr_gaps *gaps = TSR_NEW(p->arena, tsr_gaps);
	int64_t at[MOST_GAPS + 1] = { 0 }, n = 1, stride = 1;
	uint32_t last = tsr_buffer_last(b);
	if (!b->rank || b->prec != c->prec || steps_of(c, &c->c_index[last], b->dims[last], true) != 1)
		return NULL;
	for (uint32_t axis = last; axis-- > 0;) {
		int64_t steps = steps_of(c, &c->c_index[axis], b->dims[axis], false);
		stride *= b->dims[axis + 1].k;
		if (steps < 1 || steps > MOST_GAPS || steps * n > MOST_GAPS + 1)
			return NULL;
		for (int64_t i = n; i < steps * n; i++)
			at[i] = at[i % n] + i / n * stride;
		n *= steps;
	}
	gaps->n = (uint32_t)n - 1;
	gaps->at = TSR_NEW_N(p->arena, int64_t, (size_t)n);
	for (int64_t i = 1; i < n; i++)
		gaps->at[i - 1] = at[i];
	return n > 1 ? gaps : NULL;
}

/* Nobody touches X afterwards, and it is large (of 6 MB and more 1.01 to 1.05 times as fast, of 3 MB and less the same). */
static bool around(const tsr_pass *p, const tsr_body_uses *uses, uint32_t at, tsr_buffer_id x)
{
	bool later = false;
	for (uint32_t i = at + 1; i < uses->body->n; i++) {
		tsr_use use = tsr_uses_of(&uses->at[i], x);
		later |= use.loads || tsr_use_writes(use);
	}
	return !later && tsr_buffer_bytes(p->l->buffers.at[x]) >= 2 * p->target->l3;
}

static void close_gaps(tsr_pass *p, const tsr_loop_unit *u, const tsr_body_uses *uses, uint32_t at, bool *gone)
{
	tsr_stmt *kernel = uses->body->at[at];
	tsr_contraction *c = product_of(kernel);
	tsr_gaps *gaps = c ? gaps_of(p, c) : NULL;
	int64_t clearing = gaps ? tsr_clearing_before(p->l, uses, at, c->c, 0) : -1;
	if (clearing < 0 || gone[clearing])
		return;
	gaps->around = around(p, uses, at, c->c);
	c->gaps = gaps;
	tsr_stmts both = { 0 };
	tsr_push(p->arena, &both, uses->body->at[clearing]->kernel.body.at[0]);
	tsr_push(p->arena, &both, kernel->kernel.body.at[0]);
	kernel->kernel.body = both;
	gone[clearing] = true;
	p->changes++;
	tsr_pass_note(p, "%s: %s clears what lies between its rows%s", u->name, kernel->kernel.name, gaps->around ? ", around the caches" : "");
}

void tsr_pass_gaps(tsr_pass *p)
{
	if (!p->target->stores_wait)
		return;
	tsr_arena *scratch = tsr_arena_new();
	for (uint32_t i = 0; i < p->l->units.n; i++) {
		tsr_loop_unit *u = p->l->units.at[i];
		tsr_body_uses uses;
		tsr_body_uses_make(&uses, scratch, &u->body);
		bool *gone = TSR_NEW_N(scratch, bool, u->body.n + 1);
		tsr_stmts left = { 0 };
		for (uint32_t at = 0; at < u->body.n; at++)
			close_gaps(p, u, &uses, at, gone);
		for (uint32_t at = 0; at < u->body.n; at++)
			if (!gone[at])
				tsr_push(p->arena, &left, u->body.at[at]);
		u->body = left;
	}
	tsr_arena_free(scratch);
}
