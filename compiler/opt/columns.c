/* Sums over the same rows, column by column, are taken in one walk: the gradients of a normalisation's scale, offset, mean and variance
 * read the same tensors, each of which then comes from memory once.
 *
 *     X = 0; for r { for i { update X[i] acc= v } }          X = 0; Y = 0
 *     Y = 0; for r { for i { update Y[i] acc= w } }          for r { for i { update X[i] acc= v; update Y[i] acc= w } }
 *
 * The second kernel may stand a little further on, where nothing between touches what it writes or writes what it reads.  Each sum adds in the
 * order in which it did.
 *
 * Requires reduce; classify comes after it. */
#include "pass.h"

enum { REACH = 8, MOST_SUMS = 8 };

bool tsr_nest_columns(const tsr_loops *l, const tsr_stmts *body, tsr_nest *out)
{
	if (!body->n || body->at[body->n - 1]->kind != TSR_STMT_FOR)
		return false;
	tsr_stmts last = { &body->at[body->n - 1], 1, 1 };
	tsr_nest n = tsr_nest_of(&last);
	if (n.n < 2 || n.loop[0]->loop.how != TSR_FOR_REDUCE || n.loop[n.n - 1]->loop.how != TSR_FOR_PARALLEL || !n.body->n)
		return false;
	for (uint32_t i = 0; i + 1 < n.n; i++)
		if (n.loop[i]->loop.how == TSR_FOR_SERIAL || (n.loop[i]->loop.how == TSR_FOR_PARALLEL && n.loop[i + 1]->loop.how != TSR_FOR_PARALLEL))
			return false;
	for (uint32_t i = 0; i < n.body->n; i++) {
		const tsr_stmt *s = n.body->at[i];
		if (s->kind != TSR_STMT_UPDATE)
			return false;
		const tsr_expr *v = s->store.value;
		for (uint32_t k = 0; k < n.n && v->kind == TSR_EXPR_OP && v->op.op == TSR_OP_MUL; k++)     /* a product for tiles */
			if (n.loop[k]->loop.how == TSR_FOR_PARALLEL && (!tsr_expr_mentions(l, v->op.args[0], n.loop[k]->loop.sym)
				|| !tsr_expr_mentions(l, v->op.args[1], n.loop[k]->loop.sym)))
				return false;
	}
	for (uint32_t i = 0; i + 1 < body->n; i++) {
		tsr_stmts one = { &body->at[i], 1, 1 };
		tsr_nest clear = tsr_nest_of(&one);
		if (clear.body->n != 1 || clear.body->at[0]->kind != TSR_STMT_STORE || clear.body->at[0]->store.value->kind != TSR_EXPR_CONST)
			return false;
	}
	*out = n;
	return true;
}

static bool same_walk(const tsr_nest *x, const tsr_nest *y)
{
	if (x->n != y->n)
		return false;
	for (uint32_t i = 0; i < x->n; i++)
		if (x->loop[i]->loop.how != y->loop[i]->loop.how
			|| !tsr_extent_equal(x->loop[i]->loop.extent, y->loop[i]->loop.extent))
			return false;
	return true;
}

/* One of the two writes what the other touches. */
static bool meet(const tsr_uses *x, const tsr_uses *y)
{
	for (uint32_t i = 0; i < x->v.n; i++) {
		tsr_use a = x->v.at[i], b = tsr_uses_of(y, a.buffer);
		if ((b.loads || tsr_use_writes(b)) && (tsr_use_writes(a) || tsr_use_writes(b)))
			return true;
	}
	return false;
}

/* The updates of `from`, in the loops of `to`. */
static void move_updates(tsr_pass *p, const tsr_nest *from, const tsr_nest *to)
{
	uint32_t old[TSR_MOST_LOOPS];
	tsr_lin *fresh = TSR_NEW_N(p->arena, tsr_lin, to->n + 1);
	for (uint32_t i = 0; i < to->n; i++) {
		old[i] = from->loop[i]->loop.sym;
		fresh[i] = tsr_lin_add_sym(p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, to->loop[i]->loop.sym);
	}
	for (uint32_t i = 0; i < from->body->n; i++) {
		tsr_stmt *s = from->body->at[i];
		const tsr_expr *target = tsr_expr_load(p->arena, p->l->buffers.at[s->store.buffer], s->store.index);
		s->store.index = tsr_expr_place(p->arena, p->l, target, to->n, old, fresh)->load.index;
		s->store.value = tsr_expr_place(p->arena, p->l, s->store.value, to->n, old, fresh);
		tsr_push(p->arena, to->body, s);
	}
}

static void join(tsr_pass *p, tsr_stmt *x, const tsr_nest *xn, tsr_stmt *y, const tsr_nest *yn)
{
	tsr_stmts body = { 0 };
	for (uint32_t i = 0; i + 1 < x->kernel.body.n; i++)
		tsr_push(p->arena, &body, x->kernel.body.at[i]);
	for (uint32_t i = 0; i + 1 < y->kernel.body.n; i++)
		tsr_push(p->arena, &body, y->kernel.body.at[i]);
	tsr_push(p->arena, &body, x->kernel.body.at[x->kernel.body.n - 1]);
	move_updates(p, yn, xn);
	x->kernel.body = body;
	tsr_pass_note(p, "%s is summed along with %s", y->kernel.name, x->kernel.name);
	p->changes++;
}

static bool reaches(const tsr_body_uses *uses, uint32_t at, uint32_t from)
{
	for (uint32_t i = at; i < from; i++)
		if (uses->body->at[i]->kind != TSR_STMT_KERNEL || meet(&uses->at[i], &uses->at[from]))
			return false;
	return true;
}

void tsr_pass_columns(tsr_pass *p)
{
	tsr_arena *scratch = tsr_arena_new();
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		tsr_body_uses uses;
		tsr_stmts *body = &p->l->units.at[u]->body;
		tsr_body_uses_make(&uses, scratch, body);
		for (uint32_t at = 0; at < body->n; at++) {
			tsr_nest x, y;
			if (body->at[at]->kind != TSR_STMT_KERNEL || !tsr_nest_columns(p->l, &body->at[at]->kernel.body, &x))
				continue;
			for (uint32_t i = at + 1; i < body->n && i <= at + REACH && x.body->n < MOST_SUMS;) {
				tsr_stmt *next = body->at[i];
				bool can = next->kind == TSR_STMT_KERNEL && tsr_nest_columns(p->l, &next->kernel.body, &y) && same_walk(&x, &y)
					&& x.body->n + y.body->n <= MOST_SUMS && reaches(&uses, at, i);
				if (!can) {
					i++;
					continue;
				}
				join(p, body->at[at], &x, next, &y);
				tsr_body_remove(&uses, i);
				tsr_body_uses_renew(&uses, at);
			}
		}
	}
	tsr_arena_free(scratch);
}
