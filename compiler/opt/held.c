/* What one iteration alone stores and reads is a local:
 *
 *     for j { store R[0, j] = x;  update R[0, j] += y;  store G[i, j] = R[0, j] }
 *     for j { let $a = x;  let $b = $a + y;  store G[i, j] = $b }
 *
 *     for i { store S[i] = x;  for j { store G[i, j] = H[i, j] * S[i] } }
 *     for i { let $a = x;  for j { store G[i, j] = H[i, j] * $a } }
 *
 * where R and S are of f32, nothing else touches them, all in the loop touch the same element, the first stores it, and loops inside
 * only read it.  Such bodies come of joining loops and walks; a row that is stored only for the next statement costs as much as a result,
 * and one number of each row is worse than it looks: its lines come from memory, where there are many rows, and all stores behind it wait
 * for them in order.  A cross entropy with its gradient, which had six such arrays, lost a fifth of its time to them.
 *
 * Loops around that were serial for such a row, and whose iterations share nothing else, are parallel from then on.
 *
 * Changes no number.  The buffers keep their room, which is in no one's way. */
#include "pass.h"

enum { MOST_BODY = 64 };

typedef struct held {
	tsr_pass *p;
	tsr_loop_unit *unit;
	const uint32_t *touches;     /* per buffer: accesses in all units; MANY where they are not known */
	tsr_buffer_id row;
	tsr_local_id local;          /* what the row's element is by now */
} held;
enum { MANY = UINT32_MAX / 2 };

static void count(tsr_arena *scratch, const tsr_stmts *body, uint32_t *touches)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_accesses x = { .a = scratch };
		tsr_uses uses = { 0 };
		if (body->at[i]->kind == TSR_STMT_KERNEL) {
			count(scratch, &body->at[i]->kernel.body, touches);
			continue;
		}
		tsr_stmt_accesses(body->at[i], &x);
		for (uint32_t k = 0; k < x.v.n; k++)
			touches[x.v.at[k].buffer]++;
		if (x.unknown)
			tsr_stmt_uses(scratch, body->at[i], &uses);
		for (uint32_t k = 0; k < uses.v.n; k++)
			touches[uses.v.at[k].buffer] = MANY;
	}
}

/* All accesses of the buffer are the loop's, and of one element. */
static bool one_element(const held *h, const tsr_accesses *x, const tsr_buffer *b)
{
	const tsr_lin *index = NULL;
	uint32_t here = 0;
	for (uint32_t i = 0; i < x->v.n; i++) {
		if (x->v.at[i].buffer != b->id)
			continue;
		index = index ? index : x->v.at[i].index;
		for (uint32_t axis = 0; axis < b->rank; axis++)
			if (!tsr_lin_equal(index[axis], x->v.at[i].index[axis]))
				return false;
		here++;
	}
	return here == h->touches[b->id];
}

static tsr_expr *load(void *user, tsr_expr *e)
{
	const held *h = user;
	return e->kind == TSR_EXPR_LOAD && e->load.buffer == h->row ? tsr_expr_convert(h->p->arena, tsr_expr_local(h->p->arena, h->local, TSR_PREC_F32), e->prec) : e;
}

/* The statement's value with the local in place of the element, and the element a new local. */
static void hold(held *h, tsr_stmt *s)
{
	tsr_arena *a = h->p->arena;
	tsr_stmt_rewrite(s, load, h);
	if ((s->kind != TSR_STMT_STORE && s->kind != TSR_STMT_UPDATE) || s->store.buffer != h->row)
		return;
	tsr_expr *x = tsr_expr_convert(a, s->store.value, TSR_PREC_F32);
	if (s->kind == TSR_STMT_UPDATE)
		x = tsr_expr_op(a, tsr_acc_get(s->store.acc)->op, TSR_PREC_F32, tsr_expr_local(a, h->local, TSR_PREC_F32), x, NULL);
	h->local = h->unit->nlocals++;
	s->kind = TSR_STMT_LET;
	s->let.local = h->local, s->let.prec = TSR_PREC_F32, s->let.value = x;
}

static bool divided(const tsr_stmt *s)
{
	const tsr_stmts *body = tsr_stmt_inside(s);
	bool found = s->kind == TSR_STMT_FOR && (s->loop.split || s->loop.contraction);
	for (uint32_t i = 0; body && i < body->n; i++)
		found |= divided(body->at[i]);
	return found;
}

/* Nothing inside the statement writes the buffer, and all that reads it there knows the locals of the loop around. */
static bool only_reads(tsr_arena *scratch, const tsr_stmt *s, tsr_buffer_id b)
{
	tsr_accesses x = { .a = scratch };
	bool touches = false, writes = false;
	tsr_stmt_accesses(s, &x);
	for (uint32_t i = 0; i < x.v.n; i++) {
		touches |= x.v.at[i].buffer == b;
		writes |= x.v.at[i].buffer == b && x.v.at[i].write;
	}
	return !touches || (!writes && !divided(s));
}

/* The store `i` of the body is the first that touches what it stores, and what follows is as above. */
static bool holds(const held *h, tsr_arena *scratch, const tsr_stmts *body, uint32_t i)
{
	const tsr_stmt *s = body->at[i];
	const tsr_buffer *b = h->p->l->buffers.at[s->store.buffer];
	tsr_accesses x = { .a = scratch };
	if (tsr_buffer_kept(b) || b->asked || b->prec != TSR_PREC_F32 || tsr_expr_reads(s->store.value, b->id))
		return false;
	for (uint32_t k = 0; k < body->n; k++) {
		const tsr_stmt *o = body->at[k];
		tsr_stmt_accesses(o, &x);
		for (uint32_t n = 0; k < i && n < x.v.n; n++)
			if (x.v.at[n].buffer == b->id)
				return false;
		if ((o->kind == TSR_STMT_FOR || o->kind == TSR_STMT_IF) && !only_reads(scratch, o, b->id))
			return false;
	}
	return !x.unknown && one_element(h, &x, b);
}

static void look_at(held *h, tsr_arena *scratch, tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n && body->n > 1 && body->n <= MOST_BODY; i++) {
		if (body->at[i]->kind != TSR_STMT_STORE || !holds(h, scratch, body, i))
			continue;
		h->row = body->at[i]->store.buffer;
		for (uint32_t k = i; k < body->n; k++)
			hold(h, body->at[k]);
		h->p->changes++;
		tsr_pass_note(h->p, "%s: %s is held in registers", h->unit->name, h->p->l->buffers.at[h->row]->name);
	}
}

/* ---- loops around ---------------------------------------------------------------------------------------------------------- */

static bool gives(const tsr_stmts *body, tsr_local_id id)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if ((s->kind == TSR_STMT_LET && s->let.local == id) || (s->kind == TSR_STMT_FOR && gives(&s->loop.body, id)) || (s->kind == TSR_STMT_IF && gives(&s->cond.body, id)))
			return true;
	}
	return false;
}

/* All locals that are set in the body are given there, so that none goes from one iteration of `all` to the next. */
static bool own_locals(const tsr_stmts *all, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if ((s->kind == TSR_STMT_SET && !gives(all, s->let.local)) || (s->kind == TSR_STMT_FOR && !own_locals(all, &s->loop.body)) || (s->kind == TSR_STMT_IF && !own_locals(all, &s->cond.body)))
			return false;
	}
	return true;
}

/* Joined loops were serial for the row that they shared; those whose iterations share nothing now are parallel again. */
static void apart(const held *h, tsr_arena *scratch, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind != TSR_STMT_FOR || s->loop.contraction)
			continue;
		tsr_accesses x = { .a = scratch };
		tsr_stmt_accesses(s, &x);
		if (s->loop.how == TSR_FOR_SERIAL && own_locals(&s->loop.body, &s->loop.body) && tsr_accesses_independent(h->p->l, &x, s->loop.sym, &x, s->loop.sym))
			s->loop.how = TSR_FOR_PARALLEL;
		apart(h, scratch, &s->loop.body);
	}
}

static void visit(held *h, tsr_arena *scratch, tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_KERNEL) {
			uint32_t before = h->p->changes;
			visit(h, scratch, &s->kernel.body);
			if (h->p->changes > before)
				apart(h, scratch, &s->kernel.body);
		} else if (s->kind == TSR_STMT_IF)
			visit(h, scratch, &s->cond.body);
		else if (s->kind == TSR_STMT_FOR && !s->loop.contraction) {
			look_at(h, scratch, &s->loop.body);
			visit(h, scratch, &s->loop.body);
		}
	}
}

void tsr_pass_held(tsr_pass *p)
{
	tsr_arena *scratch = tsr_arena_new();
	uint32_t *touches = TSR_NEW_N(scratch, uint32_t, p->l->buffers.n + 1);
	for (uint32_t u = 0; u < p->l->units.n; u++)
		count(scratch, &p->l->units.at[u]->body, touches);
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		held h = { .p = p, .unit = p->l->units.at[u], .touches = touches };
		visit(&h, scratch, &p->l->units.at[u]->body);
	}
	tsr_arena_free(scratch);
}
