/* What has to run again for a value, and what that takes.
 *
 * Only the part of a kernel that the value hangs on is repeated, so that elementwise kernels that were joined come apart again.  Where that part
 * sums, it is the whole kernel, since a sum that stands alone may be ordered otherwise by LLVM; so results keep their bits.  A contraction runs again
 * as it is, in its tiles. */
#include "remat.h"

/* Nanoseconds: of a node of an expression in vectors, of a byte that is fetched or stored by one of two threads.  As measured, expressions take half
 * of what their operations do one by one, since memory is waited for meanwhile, and products a quarter more than the processor's peak allows. */
#define EACH_NODE 0.03
#define EACH_BYTE 0.06
#define EXPRESSIONS 0.5
#define PRODUCTS 1.25
#define GIGAHERTZ 2.8
enum { UNKNOWN = 1000 };             /* iterations of a loop that only the run knows */

/* ---- what a buffer hangs on -------------------------------------------------------------------------------------------------- */

static void need(bool *flag, tsr_repeat *q)
{
	q->changed |= !*flag;
	*flag = true;
}

static tsr_expr *needs_expr(void *user, tsr_expr *e)
{
	tsr_repeat *q = user;
	if (e->kind == TSR_EXPR_LOCAL && q->r->local[e->local] != q->r->locals) {
		q->r->local[e->local] = q->r->locals;
		q->changed = true;
	}
	if (e->kind != TSR_EXPR_LOAD)
		return e;
	uint32_t i = q->r->slot[e->load.buffer] - 1;
	q->read[i] = true;
	if (tsr_use_writes(q->uses->v.at[i]) && !q->there[i])
		need(&q->needed[i], q);
	return e;
}

static bool any_stays(const tsr_repeat *q, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++)
		if (tsr_remat_stays(q, body->at[i]))
			return true;
	return false;
}

bool tsr_remat_stays(const tsr_repeat *q, const tsr_stmt *s)
{
	switch (s->kind) {
	case TSR_STMT_FOR: return any_stays(q, &s->loop.body);
	case TSR_STMT_IF: return any_stays(q, &s->cond.body);
	case TSR_STMT_STORE: case TSR_STMT_UPDATE: return q->needed[q->r->slot[s->store.buffer] - 1];
	case TSR_STMT_LET: case TSR_STMT_SET: return q->r->local[s->let.local] == q->r->locals;
	case TSR_STMT_LETSYM: case TSR_STMT_CHECK: case TSR_STMT_RANDOM: case TSR_STMT_KERNEL: case TSR_STMT_KINDS: break;
	}
	return true;
}

static void needs(tsr_repeat *q, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		bool here = tsr_remat_stays(q, s);
		q->drops |= !here;
		if (s->kind == TSR_STMT_FOR) {
			q->sums |= here && (s->loop.how == TSR_FOR_REDUCE || s->loop.contraction);
			needs(q, &s->loop.body);
		} else if (s->kind == TSR_STMT_IF) {
			needs(q, &s->cond.body);
		} else if (here && (s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE)) {
			tsr_expr_rewrite(s->store.value, needs_expr, q);
		} else if (here && (s->kind == TSR_STMT_LET || s->kind == TSR_STMT_SET || s->kind == TSR_STMT_LETSYM)) {
			tsr_stmt_rewrite(s, needs_expr, q);
		} else if (s->kind == TSR_STMT_RANDOM || s->kind == TSR_STMT_CHECK || s->kind == TSR_STMT_KERNEL) {
			q->refused = true;
		}
	}
}

/* Stores into b in these statements, each run `times` times; -1 where that is not known. */
static int64_t stores_into(const tsr_stmts *body, tsr_buffer_id b, int64_t times)
{
	int64_t n = 0;
	for (uint32_t i = 0; i < body->n && n >= 0; i++) {
		const tsr_stmt *s = body->at[i];
		int64_t inside = 0;
		if (s->kind == TSR_STMT_FOR)
			inside = stores_into(&s->loop.body, b, tsr_size_is_const(s->loop.extent) ? times * s->loop.extent.k : -1);
		else if (s->kind == TSR_STMT_IF)
			inside = stores_into(&s->cond.body, b, -1);
		else if ((s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE) && s->store.buffer == b)
			inside = s->kind == TSR_STMT_STORE ? times : -1;
		n = inside < 0 || (inside && n) ? -1 : n + inside;
	}
	return n;
}

/* By another statement than the one at `from`, before `at`. */
static bool written_elsewhere(const tsr_remat *r, tsr_buffer_id b, uint32_t from, uint32_t at)
{
	for (uint32_t i = 0; i < r->of[b].v.n && r->of[b].v.at[i].at < at; i++)
		if (r->of[b].v.at[i].writes && r->of[b].v.at[i].at != from)
			return true;
	return false;
}

/* What the kernel reads of b while it runs is what b holds at `at`: each element is stored once, b is not written again
 * before, and lives. */
static bool is_there(const tsr_remat *r, const tsr_stmt *kernel, uint32_t from, tsr_buffer_id b, uint32_t at)
{
	const tsr_buffer *x = r->l->buffers.at[b];
	tsr_buffer_id y = tsr_remat_version(r, b, at);
	return !written_elsewhere(r, b, from, at) && !(y != b && written_elsewhere(r, y, tsr_remat_first(r, y), at)) && !x->row && !tsr_remat_of_thread(r, b) && !r->exposed[b]
		&& stores_into(&kernel->kernel.body, b, 1) * tsr_prec_bytes(x->prec) == tsr_remat_bytes(r, b)
		&& (!tsr_remat_shares(r, y) || tsr_remat_last(r, y) >= at);
}

/* What the part makes for itself must be made by it alone. */
static bool makes_alone(const tsr_repeat *q, uint32_t from, tsr_buffer_id x)
{
	for (uint32_t i = 0; i < q->uses->v.n; i++) {
		tsr_buffer_id b = q->uses->v.at[i].buffer;
		bool lasts = !tsr_remat_shares(q->r, b) && !tsr_remat_of_thread(q->r, b);
		if (q->needed[i] && b != x && (lasts || written_elsewhere(q->r, b, from, from)))
			return false;
	}
	return true;
}

bool tsr_remat_part(tsr_remat *r, uint32_t from, tsr_buffer_id x, uint32_t at, tsr_repeat *q)
{
	const tsr_stmt *kernel = r->uses->body->at[from];
	const tsr_uses *uses = &r->uses->at[from];
	if (kernel->kind != TSR_STMT_KERNEL)
		return false;
	*q = (tsr_repeat){ .r = r, .kernel = kernel, .uses = uses, .needed = TSR_NEW_N(r->step, bool, 3 * uses->v.n + 1) };
	q->read = q->needed + uses->v.n;
	q->there = q->read + uses->v.n;
	r->locals++;
	for (uint32_t i = 0; i < uses->v.n; i++) {
		tsr_buffer_id b = uses->v.at[i].buffer;
		r->slot[b] = i + 1;
		q->needed[i] = b == x;
		q->there[i] = b != x && tsr_use_writes(uses->v.at[i]) && is_there(r, kernel, from, b, at);
	}
	do {
		q->changed = q->drops = false;
		needs(q, &kernel->kernel.body);
	} while (q->changed);
	return !q->refused && !(q->sums && q->drops) && makes_alone(q, from, x);
}

/* ---- how long it takes --------------------------------------------------------------------------------------------------------- */

static double iterations(tsr_size extent) { return extent.nterms ? UNKNOWN : (double)extent.k; }

/* In tiles. */
static double contraction_time(const tsr_remat *r, const tsr_contraction *k)
{
	double lanes = (double)r->p->target->vector_bytes / tsr_prec_bytes(k->prec), t = PRODUCTS / (2 * lanes * GIGAHERTZ);
	for (uint32_t i = 0; i < k->nloops; i++)
		t *= iterations(k->loops[i].extent);
	return t;
}

/* Of what is in the part; NULL: of all. */
static double time_of(const tsr_remat *r, const tsr_repeat *q, const tsr_stmts *body)
{
	double t = 0;
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if (q && !tsr_remat_stays(q, s))
			continue;
		switch (s->kind) {
		case TSR_STMT_FOR:
			t += s->loop.contraction && s->loop.contraction->schedule.mr ? contraction_time(r, s->loop.contraction)
				: iterations(s->loop.extent) * time_of(r, q, &s->loop.body);
			break;
		case TSR_STMT_IF: t += time_of(r, q, &s->cond.body); break;
		case TSR_STMT_STORE: case TSR_STMT_UPDATE: t += EXPRESSIONS * (EACH_NODE + tsr_expr_time(s->store.value)); break;
		case TSR_STMT_LET: case TSR_STMT_SET: t += EXPRESSIONS * tsr_expr_time(s->let.value); break;
		case TSR_STMT_LETSYM: t += EXPRESSIONS * tsr_expr_time(s->letsym.value); break;
		case TSR_STMT_RANDOM: case TSR_STMT_CHECK: case TSR_STMT_KERNEL: case TSR_STMT_KINDS: break;
		}
	}
	return t;
}

/* How often a statement of these runs, at most. */
static double runs_of(const tsr_repeat *q, const tsr_stmts *body)
{
	double most = 0;
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		double here = q && !tsr_remat_stays(q, s) ? 0 : s->kind == TSR_STMT_FOR ? iterations(s->loop.extent) * runs_of(q, &s->loop.body)
			: s->kind == TSR_STMT_IF ? runs_of(q, &s->cond.body) : 1;
		most = here > most ? here : most;
	}
	return most;
}

/* Of a buffer, of which no more is touched than one element by each run. */
static double bytes_time(const tsr_remat *r, tsr_buffer_id b, double runs)
{
	double bytes = (double)tsr_remat_bytes(r, b), touched = runs * tsr_prec_bytes(r->l->buffers.at[b]->prec);
	return bytes > 0 && !tsr_remat_of_thread(r, b) ? EACH_BYTE * (bytes < touched ? bytes : touched) : 0;
}

double tsr_remat_part_time(const tsr_repeat *q)
{
	double t = time_of(q->r, q, &q->kernel->kernel.body), runs = runs_of(q, &q->kernel->kernel.body);
	for (uint32_t i = 0; i < q->uses->v.n; i++)
		if (q->needed[i] || q->read[i])
			t += bytes_time(q->r, q->uses->v.at[i].buffer, runs);
	return t;
}

double tsr_remat_time(const tsr_remat *r, const tsr_stmt *s, const tsr_uses *uses)
{
	bool kernel = s->kind == TSR_STMT_KERNEL;
	double t = kernel ? time_of(r, NULL, &s->kernel.body) : 0, runs = kernel ? runs_of(NULL, &s->kernel.body) : (double)INT64_MAX;
	for (uint32_t i = 0; i < uses->v.n; i++)
		t += bytes_time(r, uses->v.at[i].buffer, runs);
	return t;
}
