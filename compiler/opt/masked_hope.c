/* Values that must turn out to be zero at hidden positions (masked.c): whether that can be asked, in one place for all rows of a strip, before anything but the strips' own buffers is written. */
#include "masked.h"

/* x is the sum of what lies in the buffer: a local, or where that was put behind its loop. */
static bool sums_up(const tsr_loops *l, const tsr_stmts *body, const tsr_expr *x, tsr_buffer_id b)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		const tsr_stmts *in = tsr_stmt_inside(s);
		bool put = x->kind == TSR_EXPR_LOAD ? s->kind == TSR_STMT_STORE && tsr_expr_is_element(l, x, s) : s->kind == TSR_STMT_LET && tsr_expr_is_local(x, s->let.local);
		const tsr_expr *from = put ? x->kind == TSR_EXPR_LOAD ? s->store.value : s->let.value : NULL;
		if (from && from->kind == TSR_EXPR_LOCAL && sums_up(l, body, from, b))
			return true;
		for (uint32_t k = 0; in && k < in->n; k++) {
			const tsr_expr *v = in->at[k]->kind == TSR_STMT_SET && tsr_expr_is_local(x, in->at[k]->let.local) ? in->at[k]->let.value : NULL;
			if (v && v->kind == TSR_EXPR_OP && v->op.op == TSR_OP_ADD && v->op.args[1]->kind == TSR_EXPR_LOAD && v->op.args[1]->load.buffer == b)
				return true;
		}
	}
	return false;
}

/* What holds, for all rows of the strip, quotients of what lies in b by its sum. */
static tsr_buffer_id quotient(const tsr_masked *m, const tsr_stmts *body, tsr_buffer_id b)
{
	tsr_buffer_id found = TSR_NONE;
	for (uint32_t i = 0; i < body->n && found == TSR_NONE; i++) {
		const tsr_stmts *in = tsr_stmt_inside(body->at[i]);
		found = in ? quotient(m, in, b) : TSR_NONE;
		for (uint32_t k = 0; in && k < in->n; k++) {
			const tsr_stmt *s = in->at[k];
			const tsr_expr *v = s->kind == TSR_STMT_STORE ? s->store.value : NULL;
			if (v && v->kind == TSR_EXPR_OP && v->op.op == TSR_OP_DIV && v->op.args[0]->kind == TSR_EXPR_LOAD && v->op.args[0]->load.buffer == b
				&& sums_up(m->p->l, body, v->op.args[1], b))
				found = s->store.buffer;
		}
	}
	return found;
}

/* The last statement of the strips that stores to the buffer. */
static uint32_t last_store(const tsr_masked *m, tsr_buffer_id b)
{
	uint32_t last = 0;
	for (uint32_t i = 0; i < m->strips->loop.body.n; i++) {
		tsr_uses u = { 0 };
		tsr_stmt_uses(m->a, m->strips->loop.body.at[i], &u);
		if (tsr_use_writes(tsr_uses_of(&u, b)))
			last = i;
	}
	return last;
}

/* Each hope is of what the buffer holds last, for each row; or its quotients are such. */
static bool can_be_asked(tsr_masked *m)
{
	for (uint32_t i = 0; i < m->hopes.n; i++) {
		tsr_masked_hope *h = &m->hopes.at[i];
		const tsr_masked_buffer *b = &m->buffers[h->b];
		if (b->rows == TSR_NONE || h->version != b->version) {
			h->b = quotient(m, &m->strips->loop.body, h->b);
			b = h->b == TSR_NONE ? NULL : &m->buffers[h->b];
			if (!b || !b->own || b->axis == TSR_NONE || b->rows == TSR_NONE || b->now.cls != TSR_MASKED_ALIKE)
				return false;
		}
		uint32_t last = last_store(m, h->b);
		m->checked = last > m->checked ? last : m->checked;
	}
	return true;
}

/* What comes before the question can be done again: it stores only what the strips have for themselves. */
static bool repeatable(const tsr_masked *m)
{
	for (uint32_t i = 0; i <= m->checked; i++) {
		tsr_uses u = { 0 };
		tsr_stmt_uses(m->a, m->strips->loop.body.at[i], &u);
		for (uint32_t k = 0; k < u.v.n; k++)
			if (u.v.at[k].updates || (u.v.at[k].stores && !m->buffers[u.v.at[k].buffer].own))
				return false;
	}
	return true;
}

bool tsr_masked_hopes(tsr_masked *m) { return can_be_asked(m) && (!m->hopes.n || repeatable(m)); }
