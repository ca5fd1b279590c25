/* Other buffers in the place of those that a statement names. */
#include "pass.h"

typedef struct naming { const tsr_buffer_id *to; tsr_loops *l; tsr_arena *a; } naming;

static tsr_expr *renamed_expr(void *user, tsr_expr *e)
{
	const naming *n = user;
	if (e->kind == TSR_EXPR_LOAD)
		e->load.buffer = n->to[e->load.buffer];
	return e;
}

static void rename_contraction(tsr_contraction *k, naming *n)
{
	tsr_buffer_id *all[3] = { &k->c, &k->a, &k->b };
	for (int i = 0; i < 3; i++)
		if (*all[i] != TSR_NONE)
			*all[i] = n->to[*all[i]];
	/* the operands are expressions of their own, or nodes of the nest, which have their new names already */
	tsr_expr **values[2] = { &k->a_value, &k->b_value };
	for (int i = 0; i < 2; i++)
		*values[i] = tsr_expr_rewrite(tsr_expr_place(n->a, n->l, *values[i], 0, NULL, NULL), renamed_expr, n);
}

/* Contractions first: their operands may be nodes of the nest. */
static void rename_in(tsr_stmt *s, naming *n)
{
	tsr_stmts *body = s->kind == TSR_STMT_KERNEL ? &s->kernel.body : s->kind == TSR_STMT_FOR ? &s->loop.body : s->kind == TSR_STMT_IF ? &s->cond.body : NULL;
	if (s->kind == TSR_STMT_FOR && s->loop.contraction)
		rename_contraction(s->loop.contraction, n);
	for (uint32_t i = 0; body && i < body->n; i++)
		rename_in(body->at[i], n);
	if (s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE)
		s->store.buffer = n->to[s->store.buffer];
	if (s->kind == TSR_STMT_RANDOM)
		s->random.buffer = n->to[s->random.buffer];
	if (!body)
		tsr_stmt_rewrite(s, renamed_expr, n);
}

void tsr_stmt_rename(tsr_pass *p, tsr_stmt *s, const tsr_buffer_id *to)
{
	rename_in(s, &(naming){ to, p->l, p->arena });
}
