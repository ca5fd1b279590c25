/* Functions of what a row sums up are computed behind all rows, lane by lane, where the row itself would compute them one number at a time:
 *
 *     for n { let $s = 0  for d reduce { set $s = $s + .. }  store S[n] = $s  store X[n] = f(S[n], y[n]) }
 *
 * becomes
 *
 *     for n { let $s = 0  for d reduce { set $s = $s + .. }  store S[n] = $s }
 *     for n { store X[n] = f(S[n], y[n]) }
 *
 * Each row has elements of its own in all that is stored, X's lie along the innermost loop of rows, and what is left reads of the row only what that has stored.  A number by itself takes a logistic function 10 ns, in
 * vectors less than one; S is written and read once more.  Where walks need the function's result nothing is left for later. */
#include "pass.h"

enum { FEW = 64 };       /* rows that are not worth a kernel of their own */

typedef struct behind { const tsr_loops *l; tsr_nest rows; uint32_t first; bool local, other; } behind;

static const tsr_stmt *at(const behind *x, uint32_t i) { return x->rows.body->at[i]; }

/* Locals, and elements that the row stores anywhere else. */
static tsr_expr *look_at(void *user, tsr_expr *e)
{
	behind *x = user;
	x->local |= e->kind == TSR_EXPR_LOCAL;
	for (uint32_t i = 0; e->kind == TSR_EXPR_LOAD && i < x->rows.body->n; i++)
		for (uint32_t axis = 0; at(x, i)->kind == TSR_STMT_STORE && at(x, i)->store.buffer == e->load.buffer && axis < x->l->buffers.at[e->load.buffer]->rank; axis++)
			x->other |= !tsr_lin_equal(at(x, i)->store.index[axis], e->load.index[axis]);
	return e;
}

/* Walks, then stores, of which the first that computes a function begins what is left. */
static bool divide(behind *x)
{
	uint32_t walks = 0;
	for (uint32_t i = 0; i < x->rows.body->n; i++) {
		if (at(x, i)->kind == TSR_STMT_FOR)
			walks = i + 1, x->first = 0;
		else if (at(x, i)->kind == TSR_STMT_STORE)
			x->first = !x->first && walks && tsr_stmt_has_functions(x->rows.body->at[i]) ? i : x->first;
		else if (at(x, i)->kind != TSR_STMT_LET)
			return false;
	}
	return x->first > walks;
}

/* Every loop is of rows, enough of them. */
static bool many(const behind *x)
{
	int64_t n = 1;
	for (uint32_t i = 0; i < x->rows.n; i++) {
		const tsr_stmt *s = x->rows.loop[i];
		if (s->loop.how != TSR_FOR_PARALLEL || s->loop.until || s->loop.from)
			return false;
		n *= tsr_size_is_const(s->loop.extent) ? s->loop.extent.k : FEW;
	}
	return n >= FEW;
}

static bool look(const tsr_loops *l, const tsr_stmt *kernel, behind *x)
{
	if (kernel->kind != TSR_STMT_KERNEL)
		return false;
	*x = (behind){ .l = l, .rows = tsr_nest_of((tsr_stmts *)&kernel->kernel.body) };
	if (!x->rows.n || !divide(x) || !many(x))
		return false;
	for (uint32_t i = 0; i < x->rows.body->n; i++) {
		if (at(x, i)->kind != TSR_STMT_STORE) {
			if (i > x->first)
				return false;
			continue;
		}
		const tsr_buffer *b = l->buffers.at[at(x, i)->store.buffer];
		if (!tsr_nest_covers(l, &x->rows, at(x, i), NULL) || (i >= x->first && (!b->rank || tsr_nest_bare(&x->rows, &at(x, i)->store.index[b->rank - 1]) != x->rows.loop[x->rows.n - 1])))
			return false;
		if (i >= x->first)
			tsr_stmt_rewrite(x->rows.body->at[i], look_at, x);
	}
	return !x->local && !x->other;
}

static void build(tsr_pass *p, tsr_stmt *kernel, const behind *x, tsr_stmts *out)
{
	tsr_stmt *after = tsr_kernel_like(p, kernel, "behind");
	tsr_stmts *left = tsr_loops_into(p, &after->kernel.body, x->rows.n, x->rows.loop, TSR_FOR_PARALLEL);
	for (uint32_t i = x->first; i < x->rows.body->n; i++)
		tsr_push(p->arena, left, x->rows.body->at[i]);
	x->rows.body->n = x->first;
	tsr_push(p->arena, out, kernel);
	tsr_push(p->arena, out, after);
	tsr_pass_note(p, "functions of what %s sums up are computed behind it", kernel->kernel.name);
	p->changes++;
}

void tsr_pass_behind(tsr_pass *p)
{
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		tsr_stmts out = { 0 }, *body = &p->l->units.at[u]->body;
		for (uint32_t i = 0; i < body->n; i++) {
			behind x;
			if (look(p->l, body->at[i], &x))
				build(p, body->at[i], &x, &out);
			else
				tsr_push(p->arena, &out, body->at[i]);
		}
		*body = out;
	}
}
