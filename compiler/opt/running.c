/* A sum over the positions up to each one becomes a running sum.
 *
 *     for s { let $a = x;  for t { set $a = $a acc where(t <= s, v(t), N) };  store Y = e($a) }
 *                              let $r = N;  for s in order { set $r = $r acc v(s);  store Y = e(x acc $r) }
 *
 * N is the accumulator's neutral element, both loops have one extent, v does not mention s.  `<` stores before it sets; `>=` and
 * `>` go from the last position to the first.  The loop over s moves inside the other written loops, and is serial.
 *
 * Sums of columns, as reduce.c leaves them, go from one row of Y to the next:
 *
 *     Y = N;  for t reduce { for s { for i { update Y[s, i] acc= where(t <= s, v(t, i), N) } } }
 *                              for i { store Y[0, i] = N acc v(0, i) };  for s in order { for i { store Y[s + 1, i] = Y[s, i] acc v(s + 1, i) } }
 *
 * Of a maximum or a minimum N may be any number F: it takes part in all positions but the last, and it makes no difference how often.
 *
 * Going forward from a neutral x, the elements are combined in the same order as before, so the bits are the same; going
 * backward, or from another x, the order changes as in any reduction. */
#include "pass.h"
#include <math.h>

typedef struct running {
	tsr_nest nest;               /* the written loops */
	tsr_stmt *along;             /* the loop over s */
	tsr_stmt *let, *set, *store;
	tsr_op op;
	tsr_expr *value;             /* v(t) */
	tsr_expr *fill;              /* F; NULL where it is neutral */
	uint32_t t;
	bool inclusive, backward;
} running;

static bool bare_loop(const tsr_expr *e, uint32_t *sym)
{
	const tsr_lin *x = &e->index;
	if (e->kind != TSR_EXPR_INDEX || x->offset || x->base.k || x->base.nterms || x->n != 1 || x->terms[0].coef != 1
		|| x->terms[0].kind != TSR_LSYM_LOOP)
		return false;
	*sym = x->terms[0].id;
	return true;
}

/* The accumulator of the operation, or SET. */
static tsr_acc accumulates(tsr_op op)
{
	static const tsr_acc all[] = { TSR_ACC_ADD, TSR_ACC_MUL, TSR_ACC_MAX, TSR_ACC_MIN };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (tsr_acc_get(all[i])->op == op)
			return all[i];
	return TSR_ACC_SET;
}

static bool is_neutral(const tsr_expr *e, tsr_op op) { return accumulates(op) != TSR_ACC_SET && tsr_expr_is_neutral(e, accumulates(op)); }

/* where(t <= s, v, N), or the same compared the other way round: which loop is s, and how it goes. */
static bool prefix(running *r, const tsr_expr *e)
{
	if (e->kind != TSR_EXPR_OP || e->op.op != TSR_OP_WHERE || e->op.args[2]->kind != TSR_EXPR_CONST)
		return false;
	r->fill = is_neutral(e->op.args[2], r->op) ? NULL : e->op.args[2];
	if (r->fill && r->op != TSR_OP_MAX && r->op != TSR_OP_MIN)
		return false;
	const tsr_expr *c = e->op.args[0];
	uint32_t x, y;
	if (c->kind != TSR_EXPR_OP || tsr_op_get(c->op.op)->arity != 2 || !bare_loop(c->op.args[0], &x) || !bare_loop(c->op.args[1], &y) || x == y
		|| (x != r->t && y != r->t))
		return false;
	r->along = tsr_nest_loop(&r->nest, x == r->t ? y : x);
	switch ((int)c->op.op) {
	case TSR_OP_LE: case TSR_OP_GE: r->inclusive = true; break;
	case TSR_OP_LT: case TSR_OP_GT: r->inclusive = false; break;
	default: return false;
	}
	r->backward = (c->op.op == TSR_OP_LE || c->op.op == TSR_OP_LT) != (x == r->t);
	r->value = e->op.args[1];
	return r->along != NULL;
}

static bool find(tsr_pass *p, tsr_stmts *body, running *r)
{
	*r = (running){.nest = tsr_nest_of(body)};
	if (!r->nest.n || r->nest.body->n != 3)
		return false;
	r->let = r->nest.body->at[0];
	r->store = r->nest.body->at[2];
	tsr_stmt *loop = r->nest.body->at[1];
	if (r->let->kind != TSR_STMT_LET || loop->kind != TSR_STMT_FOR || loop->loop.body.n != 1
		|| (r->store->kind != TSR_STMT_STORE && r->store->kind != TSR_STMT_UPDATE))
		return false;
	r->set = loop->loop.body.at[0];
	r->t = loop->loop.sym;
	tsr_expr *sum = r->set->kind == TSR_STMT_SET && r->set->let.local == r->let->let.local ? r->set->let.value : NULL;
	if (!sum || sum->kind != TSR_EXPR_OP || tsr_op_get(sum->op.op)->arity != 2 || sum->op.args[0]->kind != TSR_EXPR_LOCAL
		|| sum->op.args[0]->local != r->let->let.local)
		return false;
	r->op = sum->op.op;
	tsr_expr *e = sum->op.args[1];
	bool converted = e->kind == TSR_EXPR_CONVERT;
	if (!prefix(r, converted ? e->converted : e) || !tsr_extent_equal(r->along->loop.extent, loop->loop.extent)
		|| tsr_expr_mentions(p->l, r->value, r->along->loop.sym) || tsr_expr_reads(r->value, r->store->store.buffer))
		return false;
	if (converted)
		r->value = tsr_expr_convert(p->arena, r->value, e->prec);
	if (converted && r->fill)
		r->fill = tsr_expr_convert(p->arena, r->fill, e->prec);
	for (uint32_t i = 0; i < r->nest.n; i++)
		if (r->nest.loop[i]->loop.how != TSR_FOR_PARALLEL)
			return false;
	return true;
}

static tsr_expr *number(tsr_arena *a, tsr_lin at)
{
	tsr_expr *e = TSR_NEW(a, tsr_expr);
	*e = (tsr_expr){ .kind = TSR_EXPR_INDEX, .prec = TSR_PREC_I32, .index = at };
	return e;
}

typedef struct renamed { tsr_local_id from; tsr_expr *to; } renamed;

static tsr_expr *rename_local(void *user, tsr_expr *e)
{
	const renamed *r = user;
	return e->kind == TSR_EXPR_LOCAL && e->local == r->from ? r->to : e;
}

/* What F makes of the total: nothing where the walk has come to its last position, if that takes part itself. */
static tsr_expr *filled(tsr_pass *p, const running *r, tsr_prec prec, tsr_expr *total)
{
	tsr_arena *a = p->arena;
	tsr_expr *fill = tsr_expr_place(a, p->l, r->fill, 0, NULL, NULL);
	if (r->inclusive) {
		tsr_expr *step = number(a, tsr_lin_add_sym(a, tsr_lin_const(0), 1, TSR_LSYM_LOOP, r->along->loop.sym));
		tsr_expr *last = number(a, tsr_lin_add_size(a, tsr_lin_const(-1), 1, r->along->loop.extent));
		tsr_expr *nothing = tsr_expr_const(a, tsr_acc_neutral(accumulates(r->op), prec));
		fill = tsr_expr_op(a, TSR_OP_WHERE, prec, tsr_expr_op(a, TSR_OP_LT, TSR_PREC_I32, step, last, NULL), fill, nothing);
	}
	return tsr_expr_op(a, r->op, prec, total, fill, NULL);
}

static void rewrite(tsr_pass *p, tsr_loop_unit *u, tsr_stmts *body, running *r)
{
	tsr_arena *a = p->arena;
	uint32_t s = r->along->loop.sym;
	tsr_local_id local = u->nlocals++;
	tsr_prec prec = r->let->let.prec;
	/* the position that s stands for */
	tsr_lin at = tsr_lin_add_sym(a, tsr_lin_const(0), r->backward ? -1 : 1, TSR_LSYM_LOOP, s);
	if (r->backward)
		at = tsr_lin_add_size(a, tsr_lin_add(a, at, 1, tsr_lin_const(-1)), 1, r->along->loop.extent);
	tsr_expr *total = tsr_expr_local(a, local, prec);
	if (r->fill)
		total = filled(p, r, prec, total);
	if (!is_neutral(r->let->let.value, r->op))
		total = tsr_expr_op(a, r->op, prec, tsr_expr_place(a, p->l, r->let->let.value, 1, &s, &at), total, NULL);
	tsr_expr *stored = tsr_expr_place(a, p->l, r->store->store.value, 1, &s, &at);
	const tsr_expr *place = tsr_expr_place(a, p->l, tsr_expr_load(a, p->l->buffers.at[r->store->store.buffer], r->store->store.index), 1, &s, &at);
	r->store->store.index = place->load.index;
	r->store->store.value = tsr_expr_rewrite(stored, rename_local, &(renamed){r->let->let.local, total});
	tsr_stmt *start = tsr_stmt_new(a, TSR_STMT_LET, r->let->span), *more = r->set;
	start->let.local = more->let.local = local;
	start->let.prec = more->let.prec = prec;
	start->let.value = tsr_expr_const(a, tsr_acc_neutral(accumulates(r->op), prec));
	more->let.value = tsr_expr_op(a, r->op, prec, tsr_expr_local(a, local, prec), tsr_expr_place(a, p->l, r->value, 1, &r->t, &at), NULL);
	tsr_stmt *loop = tsr_stmt_new(a, TSR_STMT_FOR, r->along->span);
	loop->loop = r->along->loop;
	loop->loop.how = TSR_FOR_SERIAL;
	loop->loop.body = (tsr_stmts){0};
	tsr_push(a, &loop->loop.body, r->inclusive ? more : r->store);
	tsr_push(a, &loop->loop.body, r->inclusive ? r->store : more);
	tsr_stmts out = {0};
	tsr_push(a, &out, start);
	tsr_push(a, &out, loop);
	for (uint32_t i = r->nest.n; i-- > 0;) {
		if (r->nest.loop[i] == r->along)
			continue;
		r->nest.loop[i]->loop.body = out;
		out = (tsr_stmts){0};
		tsr_push(a, &out, r->nest.loop[i]);
	}
	*body = out;
}

/* ---- columns ------------------------------------------------------------------------------------------------------------ */

/* Both nests of a kernel: one that clears, and one that updates, whose loops but the one over t are in r->nest. */
static bool find_columns(tsr_pass *p, tsr_stmts *body, running *r)
{
	*r = (running){0};
	if (body->n != 2)
		return false;
	tsr_stmts first = { &body->at[0], 1, 1 }, second = { &body->at[1], 1, 1 };
	tsr_nest clear = tsr_nest_of(&first), all = tsr_nest_of(&second);
	tsr_stmt *cleared = clear.body->n == 1 ? clear.body->at[0] : NULL, *owner[TSR_MOST_LOOPS];
	r->store = all.body->n == 1 ? all.body->at[0] : NULL;
	if (!cleared || !r->store || all.n < 2 || all.loop[0]->loop.how != TSR_FOR_REDUCE || cleared->kind != TSR_STMT_STORE || r->store->kind != TSR_STMT_UPDATE
		|| cleared->store.buffer != r->store->store.buffer || !tsr_nest_covers(p->l, &clear, cleared, NULL))
		return false;
	r->t = all.loop[0]->loop.sym;
	r->op = tsr_acc_get(r->store->store.acc)->op;
	r->nest = (tsr_nest){ .n = all.n - 1, .body = all.body };
	for (uint32_t i = 0; i < r->nest.n; i++) {
		r->nest.loop[i] = all.loop[i + 1];
		if (r->nest.loop[i]->loop.how != TSR_FOR_PARALLEL)
			return false;
	}
	uint32_t owned = 0;
	if (!is_neutral(cleared->store.value, r->op) || !tsr_nest_covers(p->l, &r->nest, r->store, owner))
		return false;
	for (uint32_t axis = 0; axis < p->l->buffers.at[r->store->store.buffer]->rank; axis++)
		owned += owner[axis] != NULL;
	return owned == r->nest.n && prefix(r, r->store->store.value) && tsr_extent_equal(r->along->loop.extent, all.loop[0]->loop.extent)
		&& !tsr_size_equal(r->along->loop.extent, tsr_size_const(1)) && !tsr_expr_mentions(p->l, r->value, r->along->loop.sym)
		&& !tsr_expr_reads(r->value, r->store->store.buffer) && r->value->prec == p->l->buffers.at[r->store->store.buffer]->prec && tsr_prec_bytes(r->value->prec) >= 4;
}

/* The row that the loop over s, or what stands in its place, takes `later` rows after the one that it stands for; without a loop, that many after the first. */
static tsr_lin row(tsr_pass *p, const running *r, int64_t later, bool loop)
{
	int64_t sign = r->backward ? -1 : 1;
	tsr_lin at = tsr_lin_const(sign * later);
	if (r->backward)
		at = tsr_lin_add_size(p->arena, tsr_lin_add(p->arena, at, 1, tsr_lin_const(-1)), 1, r->along->loop.extent);
	return loop ? tsr_lin_add_sym(p->arena, at, sign, TSR_LSYM_LOOP, r->along->loop.sym) : at;
}

static const tsr_lin *element(tsr_pass *p, const running *r, const tsr_lin *at)
{
	const tsr_expr *e = tsr_expr_load(p->arena, p->l->buffers.at[r->store->store.buffer], r->store->store.index);
	return tsr_expr_place(p->arena, p->l, e, 1, &r->along->loop.sym, at)->load.index;
}

/* The written loops around a store into the row `to` of what `before` makes of v in the row `of`; without the loop over s, or with it, one iteration shorter. */
static tsr_stmt *step(tsr_pass *p, const running *r, tsr_lin to, tsr_lin of, bool loop, tsr_expr *before, bool takes)
{
	tsr_arena *a = p->arena;
	tsr_prec prec = r->value->prec;
	tsr_stmt *out = tsr_stmt_new(a, TSR_STMT_STORE, r->store->span);
	out->store.buffer = r->store->store.buffer;
	out->store.index = (tsr_lin *)element(p, r, &to);
	out->store.value = takes ? tsr_expr_op(a, r->op, prec, before, tsr_expr_place(a, p->l, r->value, 1, &r->t, &of), NULL) : before;
	for (uint32_t i = r->nest.n; i-- > 0;) {
		tsr_stmt *around = tsr_stmt_new(a, TSR_STMT_FOR, r->nest.loop[i]->span);
		bool along = r->nest.loop[i] == r->along;
		if (along && !loop)
			continue;
		around->loop = r->nest.loop[i]->loop;
		around->loop.body = (tsr_stmts){0};
		if (along) {
			around->loop.how = TSR_FOR_SERIAL;
			around->loop.extent = tsr_size_add(a, r->along->loop.extent, tsr_size_const(-1));
		}
		tsr_push(a, &around->loop.body, out);
		out = around;
	}
	return out;
}

static tsr_stmts *innermost(tsr_stmt *s)
{
	while (s->loop.body.at[0]->kind == TSR_STMT_FOR)
		s = s->loop.body.at[0];
	return &s->loop.body;
}

/* F in the rows that have to do with it, when the next one has read them: they go from row to row without it, since it is not in the last one. */
static void fill_rows(tsr_pass *p, tsr_stmts *body, const running *r)
{
	tsr_lin here = row(p, r, 0, true);
	tsr_expr *before = tsr_expr_load(p->arena, p->l->buffers.at[r->store->store.buffer], (tsr_lin *)element(p, r, &here));
	tsr_expr *both = tsr_expr_op(p->arena, r->op, r->value->prec, before, tsr_expr_place(p->arena, p->l, r->fill, 0, NULL, NULL), NULL);
	tsr_stmt *out = step(p, r, here, here, true, both, false);
	if (r->inclusive) {
		tsr_push(p->arena, innermost(body->at[1]), innermost(out)->at[0]);
		return;
	}
	for (tsr_stmt *s = out; s->kind == TSR_STMT_FOR; s = s->loop.body.at[0])
		if (s->loop.sym == r->along->loop.sym)
			s->loop.extent = r->along->loop.extent;
	tsr_push(p->arena, body, out);
}

static void rewrite_columns(tsr_pass *p, tsr_stmts *body, const running *r)
{
	tsr_arena *a = p->arena;
	tsr_lin here = row(p, r, 0, true), next = row(p, r, 1, true), first = row(p, r, 0, false);
	tsr_expr *neutral = tsr_expr_const(a, tsr_acc_neutral(accumulates(r->op), r->value->prec));
	tsr_expr *before = tsr_expr_load(a, p->l->buffers.at[r->store->store.buffer], (tsr_lin *)element(p, r, &here));
	body->at[0] = step(p, r, first, first, false, neutral, r->inclusive);
	body->at[1] = step(p, r, next, r->inclusive ? next : here, true, before, true);
	if (r->fill)
		fill_rows(p, body, r);
}

void tsr_pass_running(tsr_pass *p)
{
	for (uint32_t u = 0; u < p->l->units.n; u++)
		for (uint32_t i = 0; i < p->l->units.at[u]->body.n; i++) {
			tsr_stmt *s = p->l->units.at[u]->body.at[i];
			running r;
			if (s->kind != TSR_STMT_KERNEL)
				continue;
			if (find(p, &s->kernel.body, &r))
				rewrite(p, p->l->units.at[u], &s->kernel.body, &r);
			else if (find_columns(p, &s->kernel.body, &r))
				rewrite_columns(p, &s->kernel.body, &r);
			else
				continue;
			p->changes++;
			tsr_pass_note(p, "kernel %s: what is taken together up to each position runs along", s->kernel.name);
		}
}
