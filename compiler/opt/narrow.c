/* Axes of which one position is used: an axis on which every access of a buffer says 0 is cut to that position (rows.c leaves such
 * axes).  Only extents change, no index.  What is seen outside the units keeps its shape. */
#include "pass.h"

typedef struct narrow { tsr_loops *l; uint64_t *zero; bool *touched; } narrow;

static void seen(narrow *n, tsr_buffer_id id, const tsr_lin *index)
{
	n->touched[id] = true;
	for (uint32_t i = 0; i < n->l->buffers.at[id]->rank && i < 64; i++)
		if (index[i].n || index[i].offset || index[i].base.k || index[i].base.nterms)
			n->zero[id] &= ~(UINT64_C(1) << i);
}

static tsr_expr *seen_expr(void *user, tsr_expr *e)
{
	if (e->kind == TSR_EXPR_LOAD)
		seen(user, e->load.buffer, e->load.index);
	return e;
}

static void seen_stmts(narrow *n, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE)
			seen(n, s->store.buffer, s->store.index);
		else if (s->kind == TSR_STMT_RANDOM)
			n->zero[s->random.buffer] = 0;
		else if (s->kind == TSR_STMT_FOR)
			seen_stmts(n, &s->loop.body);
		else if (s->kind == TSR_STMT_IF)
			seen_stmts(n, &s->cond.body);
		else if (s->kind == TSR_STMT_KERNEL)
			seen_stmts(n, &s->kernel.body);
	}
}

void tsr_pass_narrow(tsr_pass *p)
{
	tsr_arena *a = tsr_arena_new();
	narrow n = { p->l, TSR_NEW_N(a, uint64_t, p->l->buffers.n + 1), TSR_NEW_N(a, bool, p->l->buffers.n + 1) };
	for (uint32_t i = 0; i < p->l->buffers.n; i++)
		if (tsr_buffer_bytes(p->l->buffers.at[i]) > 0)
			p->l->separate_bytes += tsr_buffer_bytes(p->l->buffers.at[i]);
	for (uint32_t i = 0; i < p->l->buffers.n; i++)
		n.zero[i] = tsr_buffer_kept(p->l->buffers.at[i]) ? 0 : UINT64_MAX;
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		tsr_stmts *body = &p->l->units.at[u]->body;
		seen_stmts(&n, body);
		for (uint32_t i = 0; i < body->n; i++)
			tsr_stmt_rewrite(body->at[i], seen_expr, &n);
	}
	for (uint32_t i = 0; i < p->l->buffers.n; i++) {
		tsr_buffer *b = p->l->buffers.at[i];
		tsr_size *dims = TSR_NEW_N(p->arena, tsr_size, b->rank + 1);
		for (uint32_t d = 0; d < b->rank; d++) {
			bool cut = d < 64 && n.touched[i] && (n.zero[i] >> d & 1) && !(tsr_size_is_const(b->dims[d]) && b->dims[d].k <= 1);
			dims[d] = cut ? tsr_size_const(1) : b->dims[d];
			p->changes += cut;
		}
		b->dims = dims;
	}
	tsr_arena_free(a);
}
