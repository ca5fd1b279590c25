/* Reductions in the form that suits them.
 *
 * First every nest becomes a kernel of its own.  Then an update nest `X[i] acc= v(i, r)` over bare indices is rebuilt, together with
 * a covering `X[i] = neutral` before it when nothing touches X in between:
 *     no r          store X = v                                   (or update, without the clearing store)
 *     local form    for i { let $s = neutral  for r { $s = $s acc v }  store X = $s }
 *     columns form  store X = neutral; for r { for i { update X acc= v } }
 * Columns are for sums that walk memory with stride one along i and not along r: each step is then a vector of them.  A few summands,
 * and those of a window, keep the local form: vectors of sums stay in registers meanwhile (kernel/outer.c).  So do products of two loads, from
 * which classify.c takes over.
 *
 * Changes the order of summation, never the set of summands. */
#include "pieces.h"

typedef struct reduction {
	tsr_nest nest;               /* the loops around the statement that writes */
	tsr_stmt *target;            /* STORE or UPDATE: buffer and index */
	tsr_acc acc;
	tsr_expr *value;
	uint32_t npar, nred;
	tsr_stmt *par[TSR_MOST_LOOPS], *red[TSR_MOST_LOOPS];
	bool clear;
} reduction;

/* ---- splitting -------------------------------------------------------------------------------------------------------- */

static bool separable(const tsr_stmt *kernel)
{
	for (uint32_t i = 0; i < kernel->kernel.body.n; i++) {
		tsr_stmt_kind kind = kernel->kernel.body.at[i]->kind;
		if (kind != TSR_STMT_FOR && kind != TSR_STMT_STORE && kind != TSR_STMT_UPDATE && kind != TSR_STMT_IF)
			return false;
	}
	return kernel->kernel.body.n > 1;
}

static tsr_stmt *kernel_around(tsr_pass *p, const tsr_stmt *like, tsr_stmt *s)
{
	tsr_stmt *k = tsr_stmt_new(p->arena, TSR_STMT_KERNEL, like->span);
	k->kernel.name = like->kernel.name;
	tsr_push(p->arena, &k->kernel.body, s);
	return k;
}

static void split(tsr_pass *p, tsr_stmts *body)
{
	tsr_stmts out = { 0 };
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind != TSR_STMT_KERNEL || !separable(s)) {
			tsr_push(p->arena, &out, s);
			continue;
		}
		for (uint32_t j = 0; j < s->kernel.body.n; j++)
			tsr_push(p->arena, &out, kernel_around(p, s, s->kernel.body.at[j]));
	}
	*body = out;
}

/* ---- recognising ------------------------------------------------------------------------------------------------------- */

/* Whole numbers have the least or the greatest of their kind where floats have an infinity. */
static bool is_neutral(const tsr_expr *e, tsr_acc acc)
{
	tsr_scalar neutral = tsr_acc_neutral(acc, e->prec);
	return e->kind == TSR_EXPR_CONST && (tsr_prec_is_float(e->prec) ? e->value.d == neutral.d : e->value.i == neutral.i);
}

static bool is_op(const tsr_expr *e, tsr_op op) { return e->kind == TSR_EXPR_OP && e->op.op == op; }

tsr_acc tsr_collecting(const tsr_stmt *set, tsr_local_id local, tsr_expr **value)
{
	if (set->kind != TSR_STMT_SET || set->let.local != local || set->let.value->kind != TSR_EXPR_OP || !tsr_expr_is_local(set->let.value->op.args[0], local))
		return TSR_ACCS;
	*value = set->let.value->op.args[1];
	for (int acc = TSR_ACC_ADD; acc < TSR_ACCS; acc++)
		if (tsr_acc_get((tsr_acc)acc)->op == set->let.value->op.op && tsr_acc_any_order((tsr_acc)acc))
			return (tsr_acc)acc;
	return TSR_ACCS;
}

/* let $s = start; for .. { set $s = $s acc v }; store X = $s, - $s or X - $s */
static bool local_form(const tsr_loops *l, reduction *r)
{
	const tsr_stmts *body = r->nest.body;
	tsr_stmt *let = body->at[0], *out = body->at[2];
	if (let->kind != TSR_STMT_LET || body->at[1]->kind != TSR_STMT_FOR || (out->kind != TSR_STMT_STORE && out->kind != TSR_STMT_UPDATE))
		return false;
	tsr_stmts loops = { &body->at[1], 1, 1 };
	tsr_nest inner = tsr_nest_of(&loops);
	tsr_local_id s = let->let.local;
	r->target = out;
	r->acc = inner.body->n == 1 ? tsr_collecting(inner.body->at[0], s, &r->value) : TSR_ACCS;
	if (r->acc == TSR_ACCS)
		return false;
	bool from_neutral = is_neutral(let->let.value, r->acc);
	tsr_expr *v = out->store.value;
	r->clear = from_neutral && out->kind == TSR_STMT_STORE;
	if (out->kind == TSR_STMT_UPDATE) {
		bool same = out->store.acc == r->acc || (out->store.acc == TSR_ACC_SUB && r->acc == TSR_ACC_ADD);
		r->acc = out->store.acc;
		if (!from_neutral || !same || !tsr_expr_is_local(v, s))
			return false;
	} else if (from_neutral && r->acc == TSR_ACC_ADD && is_op(v, TSR_OP_NEG) && tsr_expr_is_local(v->op.args[0], s)) {
		r->acc = TSR_ACC_SUB;
	} else if (from_neutral && r->acc == TSR_ACC_ADD && is_op(v, TSR_OP_SUB) && tsr_expr_is_element(l, v->op.args[0], out) && tsr_expr_is_local(v->op.args[1], s)) {
		r->acc = TSR_ACC_SUB;
		r->clear = false;
	} else if (!tsr_expr_is_local(v, s) || (!from_neutral && !tsr_expr_is_element(l, let->let.value, out))) {
		return false;
	}
	for (uint32_t i = 0; i < inner.n; i++)
		r->red[r->nred++] = inner.loop[i];
	return true;
}

static bool any_serial(const reduction *r)
{
	for (uint32_t i = 0; i < r->npar + r->nred; i++)
		if ((i < r->npar ? r->par[i] : r->red[i - r->npar])->loop.how == TSR_FOR_SERIAL)
			return true;
	return false;
}

static bool reduction_of(const tsr_loops *l, const tsr_stmt *kernel, reduction *r)
{
	tsr_stmt *owner[TSR_MOST_LOOPS];
	if (kernel->kind != TSR_STMT_KERNEL)
		return false;
	*r = (reduction){ .nest = tsr_nest_of((tsr_stmts *)&kernel->kernel.body) };
	bool local = r->nest.body->n == 3 && local_form(l, r);
	if (!local) {
		tsr_stmt *s = r->nest.body->n == 1 ? r->nest.body->at[0] : NULL;
		if (!s || s->kind != TSR_STMT_UPDATE || !tsr_acc_any_order(s->store.acc))
			return false;
		r->target = s;
		r->acc = s->store.acc;
		r->value = s->store.value;
	}
	if (tsr_expr_reads(r->value, r->target->store.buffer) || !tsr_nest_covers(l, &r->nest, r->target, owner))
		return false;
	for (uint32_t axis = 0; axis < l->buffers.at[r->target->store.buffer]->rank; axis++)
		if (owner[axis])
			r->par[r->npar++] = owner[axis];
	for (uint32_t i = 0; i < r->nest.n; i++) {
		bool par = false;
		for (uint32_t j = 0; j < r->npar; j++)
			par |= r->par[j] == r->nest.loop[i];
		if (!par && local)
			return false;
		if (!par)
			r->red[r->nred++] = r->nest.loop[i];
	}
	return !any_serial(r);
}

/* ---- choosing ------------------------------------------------------------------------------------------------------------ */

/* One that tiles compute: each factor has a loop to itself, or at least one of them has. */
static bool is_product(const tsr_loops *l, const reduction *r)
{
	const tsr_expr *e = r->value;
	if (e->kind != TSR_EXPR_OP || e->op.op != TSR_OP_MUL || e->op.args[0]->kind != TSR_EXPR_LOAD || e->op.args[1]->kind != TSR_EXPR_LOAD)
		return false;
	for (uint32_t i = 0; i < r->npar; i++)
		if (!tsr_expr_mentions(l, e->op.args[0], r->par[i]->loop.sym) || !tsr_expr_mentions(l, e->op.args[1], r->par[i]->loop.sym))
			return true;
	return false;
}

/* What is summed moves along what results move along, too, as a window does: neighbours read the same elements. */
static bool is_window(const tsr_loops *l, const reduction *r, const tsr_expr *x)
{
	tsr_expr *part[TSR_MOST_PARTS];
	bool any = false;
	for (uint32_t axis = 0; x->kind == TSR_EXPR_LOAD && axis < l->buffers.at[x->load.buffer]->rank; axis++) {
		bool par = false, red = false;
		for (uint32_t i = 0; i < r->npar; i++)
			par |= tsr_lin_mentions(&x->load.index[axis], r->par[i]->loop.sym);
		for (uint32_t i = 0; i < r->nred; i++)
			red |= tsr_lin_mentions(&x->load.index[axis], r->red[i]->loop.sym);
		any |= par && red;
	}
	for (uint32_t i = tsr_expr_parts(x, part); i-- > 0 && !any;)
		any = is_window(l, r, part[i]);
	return any;
}

static bool wants_columns(const tsr_loops *l, const reduction *r)
{
	enum { FEW = 16 };
	int64_t summands = 1;
	for (uint32_t i = 0; i < r->nred; i++)
		summands *= tsr_size_is_const(r->red[i]->loop.extent) ? r->red[i]->loop.extent.k : FEW + 1;
	if (!r->npar || is_product(l, r) || summands <= FEW || is_window(l, r, r->value))
		return false;
	const tsr_stmt *last = r->par[r->npar - 1];
	if (!tsr_expr_unit_loads(l, r->value, last->loop.sym, TSR_NONE) || (tsr_size_is_const(last->loop.extent) && last->loop.extent.k < 4))
		return false;
	for (uint32_t i = 0; i < r->nred; i++)
		if (tsr_expr_unit_loads(l, r->value, r->red[i]->loop.sym, TSR_NONE))
			return false;
	return true;
}

/* The reduced loop with most loads of stride one goes innermost. */
static void order_reduced(const tsr_loops *l, reduction *r)
{
	for (uint32_t i = 0; i + 1 < r->nred; i++) {
		tsr_stmt *x = r->red[i], *last = r->red[r->nred - 1];
		if (tsr_expr_unit_loads(l, r->value, x->loop.sym, TSR_NONE) > tsr_expr_unit_loads(l, r->value, last->loop.sym, TSR_NONE)) {
			r->red[i] = last;
			r->red[r->nred - 1] = x;
		}
	}
}

/* ---- building -------------------------------------------------------------------------------------------------------------- */

static void put_under(tsr_pass *p, tsr_stmts *into, uint32_t n, tsr_stmt *const *loops, tsr_for_kind how, tsr_stmt *what)
{
	into = tsr_loops_into(p, into, n, loops, how);
	tsr_push(p->arena, into, what);
}

static tsr_stmt *write_like(tsr_pass *p, const tsr_stmt *like, tsr_stmt_kind kind, tsr_acc acc, tsr_expr *value)
{
	tsr_stmt *s = tsr_stmt_new(p->arena, kind, like->span);
	s->store = like->store;
	s->store.value = value;
	s->store.acc = acc;
	return s;
}

static tsr_expr *neutral(tsr_pass *p, tsr_acc acc, tsr_prec prec)
{
	return tsr_expr_const(p->arena, tsr_acc_neutral(acc, prec));
}

static void build_local(tsr_pass *p, tsr_loop_unit *u, const reduction *r, tsr_stmts *out)
{
	tsr_stmt *w = r->target;
	tsr_prec prec = p->l->buffers.at[w->store.buffer]->prec;
	/* what is subtracted from a kept value is summed first */
	tsr_acc inner = r->acc == TSR_ACC_SUB && !r->clear ? TSR_ACC_ADD : r->acc;
	tsr_stmts *body = tsr_loops_into(p, out, r->npar, r->par, TSR_FOR_PARALLEL);
	tsr_stmt *let = tsr_stmt_new(p->arena, TSR_STMT_LET, w->span), *set = tsr_stmt_new(p->arena, TSR_STMT_SET, w->span);
	let->let.local = set->let.local = u->nlocals++;
	let->let.prec = set->let.prec = prec;
	let->let.value = neutral(p, inner, prec);
	set->let.value = tsr_expr_op(p->arena, tsr_acc_get(inner)->op, prec, tsr_expr_local(p->arena, let->let.local, prec), r->value, NULL);
	tsr_push(p->arena, body, let);
	put_under(p, body, r->nred, r->red, TSR_FOR_REDUCE, set);
	tsr_push(p->arena, body, write_like(p, w, r->clear ? TSR_STMT_STORE : TSR_STMT_UPDATE, r->acc, tsr_expr_local(p->arena, let->let.local, prec)));
}

static void build_columns(tsr_pass *p, const reduction *r, tsr_stmts *out)
{
	tsr_stmt *w = r->target;
	if (r->clear) {
		tsr_expr *zero = neutral(p, r->acc, p->l->buffers.at[w->store.buffer]->prec);
		put_under(p, out, r->npar, r->par, TSR_FOR_PARALLEL, write_like(p, w, TSR_STMT_STORE, r->acc, zero));
	}
	tsr_stmts *body = tsr_loops_into(p, out, r->nred, r->red, TSR_FOR_REDUCE);
	put_under(p, body, r->npar, r->par, TSR_FOR_PARALLEL, write_like(p, w, TSR_STMT_UPDATE, r->acc, r->value));
}

static void build_pointwise(tsr_pass *p, const reduction *r, tsr_stmts *out)
{
	tsr_stmt *w = r->target;
	tsr_prec prec = p->l->buffers.at[w->store.buffer]->prec;
	tsr_expr *v = r->value;
	if (r->clear && r->acc == TSR_ACC_SUB)
		v = tsr_expr_op(p->arena, TSR_OP_NEG, prec, v, NULL, NULL);
	put_under(p, out, r->npar, r->par, TSR_FOR_PARALLEL, write_like(p, w, r->clear ? TSR_STMT_STORE : TSR_STMT_UPDATE, r->acc, v));
}

static void rebuild(tsr_pass *p, tsr_loop_unit *u, tsr_stmts *body, uint32_t at, reduction *r)
{
	tsr_stmts out = { 0 };
	order_reduced(p->l, r);
	if (!r->nred)
		build_pointwise(p, r, &out);
	else if (wants_columns(p->l, r))
		build_columns(p, r, &out);
	else
		build_local(p, u, r, &out);
	tsr_stmt *k = tsr_stmt_new(p->arena, TSR_STMT_KERNEL, body->at[at]->span);
	k->kernel.name = body->at[at]->kernel.name;
	k->kernel.body = out;
	body->at[at] = k;
	p->changes++;
}

void tsr_pass_reduce(tsr_pass *p)
{
	tsr_arena *scratch = tsr_arena_new();
	for (uint32_t i = 0; i < p->l->units.n; i++) {
		tsr_loop_unit *u = p->l->units.at[i];
		split(p, &u->body);
		tsr_body_uses uses;
		tsr_body_uses_make(&uses, scratch, &u->body);
		for (uint32_t at = 0; at < u->body.n; at++) {
			reduction r;
			if (!reduction_of(p->l, u->body.at[at], &r)) {
				at -= tsr_store_pieces(p, &uses, at);
				continue;
			}
			int64_t before = r.clear ? -1
				: tsr_clearing_before(p->l, &uses, at, r.target->store.buffer, tsr_acc_get(r.acc)->neutral);
			r.clear |= before >= 0;
			if (!r.clear && !r.nred)
				continue;
			rebuild(p, u, &u->body, at, &r);
			tsr_body_uses_renew(&uses, at);
			if (before >= 0) {
				tsr_body_remove(&uses, (uint32_t)before);
				at--;
			}
		}
	}
	tsr_arena_free(scratch);
}
