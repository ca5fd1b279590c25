/* Sums over the same rows, column by column, are taken in one walk: the gradients of a normalisation's scale, offset, mean and variance
 * read the same tensors, each of which then comes from memory once.
 *
 *     X = 0; for r { for i { update X[i] acc= v } }          X = 0; Y = 0
 *     Y = 0; for r { for i { update Y[i] acc= w } }          for r { for i { update X[i] acc= v; update Y[i] acc= w } }
 *
 * The second kernel may stand a little further on, where nothing between touches what it writes or writes what it reads.  Each sum adds in the
 * order in which it did.
 *
 * Of columns in several axes those that lie outside of the rows in memory come first: what is summed over a middle axis is read from end to end,
 *
 *     X = 0; for r { for a { for i { update X[a, i] += v[a, r, i] } } }        for a { X[a] = 0; for r { for i { update X[a, i] += v[a, r, i] } } }
 *
 * and is one iteration of the loop over a, which other kernels have, too.
 *
 * Requires reduce; classify comes after it. */
#include "pass.h"

enum { REACH = 8, MOST_SUMS = 8, ENOUGH = 8, COLUMNS = 16, MASKED = 4 };      /* outer loops of fewer iterations could not be divided evenly; fewer columns would fill no vector, or with masks not much of one.  Of sizes that only the run knows there are enough. */

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

/* ---- what lies outside of the rows ------------------------------------------------------------------------------------------- */

/* The first axis of the element on which the loop goes along, or the rank. */
static uint32_t axis_of(const tsr_buffer *b, const tsr_lin *index, uint32_t sym)
{
	uint32_t axis = 0;
	while (axis < b->rank && !tsr_lin_mentions(&index[axis], sym))
		axis++;
	return axis;
}

/* In every element that the expression reads along the loop it stands outside of the rows; *some: there is one. */
static bool lies_outside(const tsr_loops *l, const tsr_nest *n, tsr_expr *e, uint32_t sym, bool *some)
{
	if (e->kind == TSR_EXPR_LOAD) {
		const tsr_buffer *b = l->buffers.at[e->load.buffer];
		uint32_t axis = axis_of(b, e->load.index, sym);
		for (uint32_t i = 0; i < n->n && axis < b->rank; i++) {
			uint32_t row = n->loop[i]->loop.how == TSR_FOR_REDUCE ? axis_of(b, e->load.index, n->loop[i]->loop.sym) : b->rank;
			if (row <= axis)
				return false;
			*some |= row < b->rank;
		}
		return true;
	}
	tsr_expr *part[TSR_MOST_PARTS];
	for (uint32_t i = 0, count = tsr_expr_parts(e, part); i < count; i++)
		if (!lies_outside(l, n, part[i], sym, some))
			return false;
	return e->kind != TSR_EXPR_LOOKUP;
}

/* The loops of a clearing nest begin with those over the same axes of what is cleared. */
static bool clears_along(const tsr_loops *l, const tsr_nest *n, uint32_t rows, uint32_t outer, const tsr_stmts *clearing)
{
	tsr_nest clear = tsr_nest_of(&(tsr_stmts){ clearing->at, 1, 1 });
	const tsr_stmt *store = clear.body->at[0];
	for (uint32_t k = 0; k < n->body->n; k++) {
		const tsr_stmt *s = n->body->at[k];
		for (uint32_t i = 0; s->store.buffer == store->store.buffer && i < outer; i++) {
			uint32_t axis = 0, rank = l->buffers.at[s->store.buffer]->rank;
			while (i < clear.n && axis < rank && !tsr_lin_bare(&store->store.index[axis], clear.loop[i]->loop.sym))
				axis++;
			if (i >= clear.n || axis == rank || !tsr_lin_bare(&s->store.index[axis], n->loop[rows + i]->loop.sym))
				return false;
		}
		if (s->store.buffer == store->store.buffer)
			return true;
	}
	return false;
}

/* How many loops over columns can come first. */
static uint32_t outer_loops(const tsr_pass *p, const tsr_stmts *body, const tsr_nest *n, uint32_t rows)
{
	const tsr_stmt *last = n->loop[n->n - 1];
	const tsr_loops *l = p->l;
	uint32_t outer = 0;
	int64_t count = 1, least = p->target->masks == TSR_MASKS_ALL ? MASKED : COLUMNS;
	if (!tsr_size_is_const(last->loop.extent) || last->loop.extent.k < least || body->n != n->body->n + 1)
		return 0;
	for (; rows + outer + 1 < n->n; outer++) {
		const tsr_stmt *loop = n->loop[rows + outer];
		bool outside = true, some = false;
		for (uint32_t i = 0; i < n->body->n && outside; i++)
			outside = lies_outside(l, n, n->body->at[i]->store.value, loop->loop.sym, &some);
		for (uint32_t i = 0; i + 1 < body->n && outside; i++)
			outside = clears_along(l, n, rows, outer + 1, &(tsr_stmts){ &body->at[i], 1, 1 });
		if (!outside || !some)
			break;
		count *= tsr_size_is_const(loop->loop.extent) ? loop->loop.extent.k : ENOUGH;
	}
	return count >= ENOUGH ? outer : 0;
}

static void outward(tsr_pass *p, tsr_loop_unit *u, tsr_stmt *kernel)
{
	tsr_stmts *body = &kernel->kernel.body, inner = { 0 };
	tsr_nest n;
	uint32_t rows = 0;
	if (kernel->kind != TSR_STMT_KERNEL || !tsr_nest_columns(p->l, body, &n))
		return;
	while (n.loop[rows]->loop.how == TSR_FOR_REDUCE)
		rows++;
	uint32_t outer = outer_loops(p, body, &n, rows);
	if (!outer)
		return;
	for (uint32_t i = 0; i + 1 < body->n; i++) {
		tsr_stmts one = { &body->at[i], 1, 1 };
		tsr_nest clear = tsr_nest_of(&one);
		tsr_placing x = { .p = p, .unit = u };
		for (uint32_t k = 0; k < outer; k++)
			tsr_place_loop(&x, clear.loop[k]->loop.sym, tsr_lin_add_sym(p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, n.loop[rows + k]->loop.sym), NULL);
		tsr_stmts_place(&x, &one, &inner);
	}
	n.loop[rows - 1]->loop.body = (tsr_stmts){ 0 };
	tsr_push(p->arena, &n.loop[rows - 1]->loop.body, n.loop[rows + outer]);
	tsr_push(p->arena, &inner, n.loop[0]);
	for (uint32_t k = outer; k-- > 0;) {
		n.loop[rows + k]->loop.body = inner;
		inner = (tsr_stmts){ 0 };
		tsr_push(p->arena, &inner, n.loop[rows + k]);
	}
	*body = inner;
	p->changes++;
	tsr_pass_note(p, "%s is summed for one %s at a time", kernel->kernel.name, n.loop[rows + outer - 1]->loop.name);
}

/* ---- the pass ------------------------------------------------------------------------------------------------------------------- */

static bool reaches(const tsr_body_uses *uses, uint32_t at, uint32_t from)
{
	for (uint32_t i = at; i < from; i++)
		if (uses->body->at[i]->kind != TSR_STMT_KERNEL || tsr_uses_meet(&uses->at[i], &uses->at[from]))
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
		for (uint32_t at = 0; at < body->n; at++)
			outward(p, p->l->units.at[u], body->at[at]);
	}
	tsr_arena_free(scratch);
}
