/* What a row holds of one iteration alone is a local:
 *
 *     for j { store R[0, j] = x;  update R[0, j] += y;  store G[i, j] = R[0, j] }
 *     for j { let $a = x;  let $b = $a + y;  store G[i, j] = $b }
 *
 * where R is a row (rows.c) of f32 that nothing else touches, all in the loop touch the same element of it, and the first stores it.  Such
 * bodies come of `walks`, which joins loops; a row that is stored only for the next statement costs as much as a result.
 *
 * Changes no number.  R keeps its room, which is in no one's way. */
#include "pass.h"

enum { MOST_BODY = 16 };

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

/* The statement's value with the local in place of the row, and its element a new local. */
static void hold(held *h, tsr_stmt *s)
{
	tsr_arena *a = h->p->arena;
	bool store = s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE;
	tsr_expr **value = store ? &s->store.value : &s->let.value;
	*value = tsr_expr_rewrite(*value, load, h);
	if (!store || s->store.buffer != h->row)
		return;
	tsr_expr *x = tsr_expr_convert(a, s->store.value, TSR_PREC_F32);
	if (s->kind == TSR_STMT_UPDATE)
		x = tsr_expr_op(a, tsr_acc_get(s->store.acc)->op, TSR_PREC_F32, tsr_expr_local(a, h->local, TSR_PREC_F32), x, NULL);
	h->local = h->unit->nlocals++;
	s->kind = TSR_STMT_LET;
	s->let.local = h->local, s->let.prec = TSR_PREC_F32, s->let.value = x;
}

static bool plain(const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt_kind kind = body->at[i]->kind;
		if (kind != TSR_STMT_STORE && kind != TSR_STMT_UPDATE && kind != TSR_STMT_LET && kind != TSR_STMT_SET)
			return false;
	}
	return body->n > 1 && body->n <= MOST_BODY;
}

static void look_at(held *h, tsr_arena *scratch, tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		const tsr_buffer *b = s->kind == TSR_STMT_STORE ? h->p->l->buffers.at[s->store.buffer] : NULL;
		if (!b || !b->row || tsr_buffer_kept(b) || b->prec != TSR_PREC_F32 || tsr_expr_reads(s->store.value, b->id))
			continue;
		tsr_accesses x = { .a = scratch };
		bool before = false;
		for (uint32_t k = 0; k < body->n; k++) {
			tsr_stmt_accesses(body->at[k], &x);
			for (uint32_t n = 0; k < i && n < x.v.n; n++)
				before |= x.v.at[n].buffer == b->id;
		}
		if (before || x.unknown || !one_element(h, &x, b))
			continue;
		h->row = b->id;
		for (uint32_t k = i; k < body->n; k++)
			hold(h, body->at[k]);
		h->p->changes++;
		tsr_pass_note(h->p, "%s: %s is held in registers", h->unit->name, b->name);
	}
}

static void visit(held *h, tsr_arena *scratch, tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_KERNEL)
			visit(h, scratch, &s->kernel.body);
		else if (s->kind == TSR_STMT_IF)
			visit(h, scratch, &s->cond.body);
		else if (s->kind == TSR_STMT_FOR && !s->loop.contraction && plain(&s->loop.body))
			look_at(h, scratch, &s->loop.body);
		else if (s->kind == TSR_STMT_FOR && !s->loop.contraction)
			visit(h, scratch, &s->loop.body);
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
