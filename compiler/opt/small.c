/* Small contractions that threads divide: what they keep beside their operands lies on each thread's stack.
 *
 * Rows that are read where they lie need a table of pointers, and those that padding cuts a copy each.  For a block as large as the caches would like
 * that is several times what a small image has; so its blocks are made as small as a thread's stack should be asked for, unless a file of schedules
 * names them.  Panels of a small B lie there as they are. */
#include "schedule.h"

enum { MOST_BYTES = 1 << 17, POINTER = 8, ROOM = TSR_SMALL_BYTES - (1 << 10) };      /* of the operands; but for what is rounded up */
enum { LEAST_BLOCKS = 4, LEAST_DEPTHS = 32 };        /* tiles of rows, depths: what each block repeats is not felt */

static int64_t bytes_of(const tsr_loops *l, const tsr_expr *operand)
{
	const tsr_expr *x = tsr_contract_guarded(operand);
	int64_t bytes = x && x->kind == TSR_EXPR_LOAD ? tsr_buffer_bytes(l->buffers.at[x->load.buffer]) : -1;
	return bytes < 0 ? MOST_BYTES : bytes;
}

static int64_t up_to(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

/* Of one row of a block of A, or one depth of a block of B: pointers to its stretches, and copies of all of them. */
static int64_t row_bytes(const tsr_target *t, const tsr_stretch *x, int64_t block, int64_t each)
{
	int64_t stretches = x->length < block ? block / x->length : 1;
	return stretches * (POINTER + (x->n > 1 ? up_to(x->length * each, t->vector_bytes) : 0));
}

static int64_t last_extent(const tsr_walks *k) { return k->nloops && tsr_size_is_const(k->loop[k->nloops - 1].extent) ? k->loop[k->nloops - 1].extent.k : 1; }

void tsr_schedule_small(const tsr_loops *l, const tsr_target *t, tsr_contraction *c)
{
	tsr_schedule *s = &c->schedule;
	tsr_contract_view v;
	tsr_contract_view_make(l, c, &v);
	int64_t each = tsr_prec_bytes(c->prec), n = tsr_walks_count(&v.cls[TSR_CLASS_N]), k = tsr_walks_count(&v.cls[TSR_CLASS_K]);
	if ((s->rows && s->cols) || s->pack_a || s->dense || s->turn || s->join || s->aside || n < 0 || k < 0
		|| bytes_of(l, c->a_value) + bytes_of(l, c->b_value) > MOST_BYTES)
		return;
	int64_t fixed = s->pack_b ? up_to(s->nc < n ? s->nc : n, s->nr) * (s->kc < k ? s->kc : k) * each : 0;
	if (!s->rows && !s->cols) {
		if (!fixed || fixed > ROOM)
			return;
	} else if (s->rows) {
		int64_t row = row_bytes(t, &c->run, s->kc, each) + POINTER * (s->kc / c->run.length + 4) / s->mr, most = (ROOM - fixed) / row / s->mr * s->mr;
		if (most < LEAST_BLOCKS * s->mr)
			return;
		s->mc = most < s->mc && !s->named ? most : s->mc;
	} else {
		int64_t unit = last_extent(&v.cls[TSR_CLASS_K]), most = ROOM / row_bytes(t, &c->across, s->nc, each);
		most = most > unit ? most / unit * unit : most;
		if (s->kc > most && (s->kc >= k || most < LEAST_DEPTHS))         /* a sum of one block may have what follows it in its tiles */
			return;
		s->kc = most < s->kc && !s->named ? most : s->kc;
	}
	s->small = true;
}
