/* A loop of which one iteration counts becomes that iteration.
 *
 *   looked up   for k { $s += where(a == k, v(k), 0) }           let #p = a; if p in 0..n { $s += v(p) }
 *               for k { X[k] += where(a == k, v(k), 0) }         let #p = a; if p in 0..n { X[p] += v(p) }
 *   added up    for k { $s = 0; for r { $s += where(a(r) == k, v, 0) }; store X[k] = $s }
 *                                                                store X = 0; for r { let #p = a(r); if p in 0..n { X[p] += v } }
 *
 * a is an integer that does not depend on k; outside 0..n nothing is added.  The same summands in the same order, so the same
 * bits: adding nothing changes no sum but the sign of a zero.
 *
 * A one-hot, where(a == k, 1, 0), may also be a factor of the summand (`virtual` puts it there): v * where(a == k, 1, 0) is
 * where(a == k, v, 0).  That a position which does not count adds 0 holds for finite values; an infinity or NaN at such a
 * position would make the plain sum NaN, and the lookup leaves it out. */
#include "pass.h"

typedef struct match { tsr_expr *index, *value; } match;         /* a and v */

static bool is_zero(const tsr_expr *e)
{
	return e->kind == TSR_EXPR_CONST && (tsr_prec_is_float(e->prec) ? e->value.d == 0 : e->value.i == 0);
}

static bool is_one(const tsr_expr *e)
{
	return e->kind == TSR_EXPR_CONST && (tsr_prec_is_float(e->prec) ? e->value.d == 1 : tsr_prec_is_int(e->prec) && e->value.i == 1);
}

/* Does the expression mention the loop, or any local? */
static bool depends(const tsr_loops *l, const tsr_expr *e, uint32_t sym)
{
	switch (e->kind) {
	case TSR_EXPR_LOAD:
		for (uint32_t i = 0; i < l->buffers.at[e->load.buffer]->rank; i++)
			if (tsr_lin_mentions(&e->load.index[i], sym))
				return true;
		return false;
	case TSR_EXPR_OP:
		for (uint32_t i = 0; i < tsr_op_get(e->op.op)->arity; i++)
			if (depends(l, e->op.args[i], sym))
				return true;
		return false;
	case TSR_EXPR_CONVERT:
		return depends(l, e->converted, sym);
	case TSR_EXPR_SELECT: case TSR_EXPR_LOOKUP:
		return true;
	case TSR_EXPR_INDEX:
		return tsr_lin_mentions(&e->index, sym);
	case TSR_EXPR_LOCAL:
		return true;
	case TSR_EXPR_CONST: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: case TSR_EXPR_KINDS:
		return false;
	}
	return true;
}

/* a == k with an integer a that is free of k: a, else NULL */
static tsr_expr *named_position(const tsr_loops *l, const tsr_expr *c, uint32_t sym)
{
	if (c->kind != TSR_EXPR_OP || c->op.op != TSR_OP_EQ || !tsr_prec_is_int(c->op.operand_prec))
		return NULL;
	for (uint32_t k = 0; k < 2; k++) {
		tsr_expr *a = c->op.args[k];
		const tsr_expr *position = c->op.args[1 - k];
		if (position->kind == TSR_EXPR_INDEX && tsr_lin_bare(&position->index, sym) && tsr_prec_is_int(a->prec) && !depends(l, a, sym))
			return a;
	}
	return NULL;
}

/* where(a == k, v, 0), or a product, a negative or a conversion of it: a, and the whole where a == k */
static bool one_position(tsr_pass *p, tsr_expr *e, uint32_t sym, match *out)
{
	if (e->kind == TSR_EXPR_CONVERT) {
		tsr_expr *a = named_position(p->l, e->converted, sym);
		if (a) {
			*out = (match){a, tsr_expr_const(p->arena, tsr_scalar_of(e->prec, 1))};
			return true;
		}
		if (!one_position(p, e->converted, sym, out))
			return false;
		out->value = tsr_expr_convert(p->arena, out->value, e->prec);
		return true;
	}
	if (e->kind != TSR_EXPR_OP)
		return false;
	if (e->op.op == TSR_OP_WHERE && is_zero(e->op.args[2])) {
		out->index = named_position(p->l, e->op.args[0], sym);
		out->value = e->op.args[1];
		return out->index != NULL;
	}
	if (e->op.op == TSR_OP_NEG && one_position(p, e->op.args[0], sym, out)) {
		out->value = tsr_expr_op(p->arena, TSR_OP_NEG, e->prec, out->value, NULL, NULL);
		return true;
	}
	for (uint32_t i = 0; e->op.op == TSR_OP_MUL && i < 2; i++) {
		if (!one_position(p, e->op.args[i], sym, out))
			continue;
		tsr_expr *x = i ? e->op.args[0] : out->value, *y = i ? out->value : e->op.args[1];
		out->value = is_one(out->value) ? e->op.args[1 - i] : tsr_expr_op(p->arena, TSR_OP_MUL, e->op.operand_prec, x, y, NULL);
		return true;
	}
	return false;
}

/* ---- one-hots, for `virtual` ------------------------------------------------------------------------------------------ */

bool tsr_gather_one_hot(const tsr_loops *l, const tsr_expr *e, uint32_t sym)
{
	if (e->kind == TSR_EXPR_CONVERT)
		return named_position(l, e->converted, sym) || tsr_gather_one_hot(l, e->converted, sym);
	return e->kind == TSR_EXPR_OP && e->op.op == TSR_OP_WHERE && is_zero(e->op.args[2]) && e->op.args[1]->kind == TSR_EXPR_CONST
		&& named_position(l, e->op.args[0], sym);
}

bool tsr_gather_factor(const tsr_loops *l, const tsr_expr *v, tsr_buffer_id x, uint32_t axis)
{
	uint32_t rank = l->buffers.at[x]->rank;
	switch (v->kind) {
	case TSR_EXPR_LOAD: {
		const tsr_lin *at = v->load.index;
		if (v->load.buffer != x || at[axis].n != 1 || !tsr_lin_bare(&at[axis], at[axis].terms[0].id))
			return false;
		for (uint32_t i = 0; i < rank; i++)
			if (i != axis && tsr_lin_mentions(&at[i], at[axis].terms[0].id))
				return false;
		return true;
	}
	case TSR_EXPR_OP:
		if (v->op.op == TSR_OP_NEG)
			return tsr_gather_factor(l, v->op.args[0], x, axis);
		return v->op.op == TSR_OP_MUL && tsr_expr_reads(v->op.args[0], x) != tsr_expr_reads(v->op.args[1], x)
			&& tsr_gather_factor(l, v->op.args[tsr_expr_reads(v->op.args[1], x)], x, axis);
	case TSR_EXPR_CONVERT:
		return tsr_gather_factor(l, v->converted, x, axis);
	case TSR_EXPR_SELECT: case TSR_EXPR_LOOKUP: case TSR_EXPR_CONST: case TSR_EXPR_LOCAL: case TSR_EXPR_INDEX: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER:
	case TSR_EXPR_KINDS: break;
	}
	return false;
}

/* The summand of `$s = $s + e`, or of `X += e`. */
static tsr_expr *summand(const tsr_stmt *s)
{
	if (s->kind == TSR_STMT_UPDATE && s->store.acc == TSR_ACC_ADD)
		return s->store.value;
	if (s->kind != TSR_STMT_SET || s->let.value->kind != TSR_EXPR_OP || s->let.value->op.op != TSR_OP_ADD)
		return NULL;
	const tsr_expr *sum = s->let.value;
	return sum->op.args[0]->kind == TSR_EXPR_LOCAL && sum->op.args[0]->local == s->let.local ? sum->op.args[1] : NULL;
}

/* let #p = a; if p in 0..n { inner } */
static void guard(tsr_pass *p, tsr_stmts *out, uint32_t sym, tsr_expr *a, tsr_size n, tsr_stmt *inner)
{
	tsr_stmt *read = tsr_stmt_new(p->arena, TSR_STMT_LETSYM, inner->span), *cond = tsr_stmt_new(p->arena, TSR_STMT_IF, inner->span);
	read->letsym.sym = sym;
	read->letsym.value = a;
	cond->cond.n = 1;
	cond->cond.ranges = TSR_NEW(p->arena, tsr_range);
	cond->cond.ranges[0] = (tsr_range){tsr_lin_add_sym(p->arena, tsr_lin_const(0), 1, TSR_LSYM_DATA, sym), n};
	tsr_push(p->arena, &cond->cond.body, inner);
	tsr_push(p->arena, out, read);
	tsr_push(p->arena, out, cond);
}

/* ---- looked up ------------------------------------------------------------------------------------------------------- */

static bool look_up(tsr_pass *p, tsr_loop_unit *u, tsr_stmts *body)
{
	tsr_nest nest = tsr_nest_of(body);
	tsr_expr *e = nest.n && nest.body->n == 1 ? summand(nest.body->at[0]) : NULL;
	for (uint32_t i = 0; e && i < nest.n; i++) {
		tsr_stmt *loop = nest.loop[i], *set = nest.body->at[0];
		match m;
		if (!one_position(p, e, loop->loop.sym, &m) || (set->kind == TSR_STMT_UPDATE && tsr_expr_reads(e, set->store.buffer)))
			continue;
		uint32_t sym = u->nsyms++;
		tsr_lin to = tsr_lin_add_sym(p->arena, tsr_lin_const(0), 1, TSR_LSYM_DATA, sym);
		tsr_expr *value = tsr_expr_place(p->arena, p->l, m.value, 1, &loop->loop.sym, &to);
		if (set->kind == TSR_STMT_SET) {
			set->let.value = tsr_expr_op(p->arena, TSR_OP_ADD, set->let.prec, set->let.value->op.args[0], value, NULL);
		} else {
			const tsr_expr *at = tsr_expr_place(p->arena, p->l,
				tsr_expr_load(p->arena, p->l->buffers.at[set->store.buffer], set->store.index), 1, &loop->loop.sym, &to);
			set->store.index = at->load.index;
			set->store.value = value;
			for (uint32_t j = 0; j < nest.n; j++)
				if (nest.loop[j]->loop.how == TSR_FOR_REDUCE)
					nest.loop[j]->loop.how = TSR_FOR_SERIAL;
		}
		tsr_stmts inner = {0};
		guard(p, &inner, sym, m.index, loop->loop.extent, set);
		*nest.body = inner;
		tsr_stmts *holder = i ? &nest.loop[i - 1]->loop.body : body;
		*holder = loop->loop.body;
		return true;
	}
	return false;
}

static void look_up_all(tsr_pass *p, tsr_loop_unit *u, tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_IF)
			look_up_all(p, u, &s->cond.body);
		if (s->kind != TSR_STMT_FOR)
			continue;
		tsr_stmts alone = {0};
		tsr_push(p->arena, &alone, s);
		if (!look_up(p, u, &alone)) {
			look_up_all(p, u, &s->loop.body);
			continue;
		}
		p->changes++;
		tsr_stmts out = {0};
		for (uint32_t j = 0; j < body->n; j++) {
			if (j != i)
				tsr_push(p->arena, &out, body->at[j]);
			for (uint32_t k = 0; j == i && k < alone.n; k++)
				tsr_push(p->arena, &out, alone.at[k]);
		}
		*body = out;
	}
}

/* What is cleared and then looked up once per element is that element, or 0:
 *     X = 0;  for .. { let #p = a; if p in 0..n { X += v(p) } }          for .. { $s = 0; let #p = a; if p in 0..n { $s += v(p) }; store X = $s } */
static bool cleared_first(tsr_pass *p, tsr_loop_unit *u, tsr_stmts *body)
{
	if (body->n != 2)
		return false;
	tsr_stmts first = { &body->at[0], 1, 1 }, second = { &body->at[1], 1, 1 };
	tsr_nest clear = tsr_nest_of(&first), nest = tsr_nest_of(&second);
	const tsr_stmt *zero = clear.body->n == 1 ? clear.body->at[0] : NULL, *cond = nest.body->n == 2 ? nest.body->at[1] : NULL;
	if (!zero || zero->kind != TSR_STMT_STORE || !is_zero(zero->store.value) || !tsr_nest_covers(p->l, &clear, zero, NULL)
		|| !cond || nest.body->at[0]->kind != TSR_STMT_LETSYM || cond->kind != TSR_STMT_IF || cond->cond.body.n != 1)
		return false;
	tsr_stmt *update = cond->cond.body.at[0], *owner[TSR_MOST_LOOPS];
	if (update->kind != TSR_STMT_UPDATE || update->store.acc != TSR_ACC_ADD || update->store.buffer != zero->store.buffer
		|| !tsr_nest_covers(p->l, &nest, update, owner) || tsr_expr_reads(nest.body->at[0]->letsym.value, zero->store.buffer))
		return false;
	uint32_t owned = 0;
	for (uint32_t i = 0; i < p->l->buffers.at[zero->store.buffer]->rank; i++)
		owned += owner[i] != NULL;
	if (owned != nest.n)
		return false;
	tsr_stmt *let = tsr_stmt_new(p->arena, TSR_STMT_LET, update->span), *store = tsr_stmt_new(p->arena, TSR_STMT_STORE, update->span);
	let->let.local = u->nlocals++;
	let->let.prec = p->l->buffers.at[zero->store.buffer]->prec;
	let->let.value = zero->store.value;
	store->store = update->store;
	tsr_stmt *set = tsr_stmt_new(p->arena, TSR_STMT_SET, update->span);
	set->let.local = let->let.local;
	set->let.prec = let->let.prec;
	set->let.value = tsr_expr_op(p->arena, TSR_OP_ADD, let->let.prec, tsr_expr_local(p->arena, let->let.local, let->let.prec), update->store.value, NULL);
	cond->cond.body.at[0] = set;
	store->store.value = tsr_expr_local(p->arena, let->let.local, let->let.prec);
	tsr_stmts all = { 0 };
	tsr_push(p->arena, &all, let);
	tsr_push(p->arena, &all, nest.body->at[0]);
	tsr_push(p->arena, &all, nest.body->at[1]);
	tsr_push(p->arena, &all, store);
	*nest.body = all;
	tsr_stmts_remove(body, 0);
	return true;
}

/* ---- added up -------------------------------------------------------------------------------------------------------- */

typedef struct scatter { tsr_nest outer, inner; tsr_stmt *let, *set, *store; tsr_expr *e; } scatter;

static bool is_scatter(const tsr_loops *l, tsr_stmt *kernel, scatter *x)
{
	x->outer = tsr_nest_of(&kernel->kernel.body);
	if (x->outer.body->n != 3)
		return false;
	x->let = x->outer.body->at[0];
	x->store = x->outer.body->at[2];
	tsr_stmts *middle = TSR_NEW(l->tc->arena, tsr_stmts);
	tsr_push(l->tc->arena, middle, x->outer.body->at[1]);
	x->inner = tsr_nest_of(middle);
	if (x->let->kind != TSR_STMT_LET || x->store->kind != TSR_STMT_STORE || !x->inner.n || x->inner.body->n != 1)
		return false;
	const tsr_buffer *b = l->buffers.at[x->store->store.buffer];
	x->set = x->inner.body->at[0];
	x->e = summand(x->set);
	const tsr_expr *stored = x->store->store.value;
	if (!x->e || x->set->kind != TSR_STMT_SET || x->set->let.local != x->let->let.local || stored->kind != TSR_EXPR_LOCAL || stored->local != x->let->let.local
		|| b->prec != x->let->let.prec || !tsr_nest_covers(l, &x->outer, x->store, NULL))
		return false;
	const tsr_expr *start = x->let->let.value;
	if (start->kind == TSR_EXPR_LOAD && start->load.buffer == b->id) {
		for (uint32_t i = 0; i < b->rank; i++)
			if (!tsr_lin_equal(start->load.index[i], x->store->store.index[i]))
				return false;
		return true;
	}
	return is_zero(start);
}

static tsr_stmt *loop_like(tsr_pass *p, const tsr_stmt *like, tsr_for_kind how, tsr_stmts body, uint32_t sym)
{
	tsr_stmt *f = tsr_stmt_new(p->arena, TSR_STMT_FOR, like->span);
	f->loop = like->loop;
	f->loop.how = how;
	f->loop.sym = sym;
	f->loop.body = body;
	return f;
}

/* Clears the whole buffer, with loops of its own. */
static tsr_stmt *cleared(tsr_pass *p, tsr_loop_unit *u, const scatter *x)
{
	tsr_stmt *store = tsr_stmt_new(p->arena, TSR_STMT_STORE, x->store->span);
	uint32_t rank = p->l->buffers.at[x->store->store.buffer]->rank, first = u->nsyms, syms[TSR_MOST_LOOPS];
	store->store = x->store->store;
	store->store.value = x->let->let.value;
	store->store.index = TSR_NEW_N(p->arena, tsr_lin, rank + 1);
	for (uint32_t i = 0; i < x->outer.n; i++)
		syms[i] = u->nsyms++;
	for (uint32_t i = 0; i < rank; i++)
		for (uint32_t j = 0; j < x->outer.n; j++)
			if (tsr_lin_bare(&x->store->store.index[i], x->outer.loop[j]->loop.sym))
				store->store.index[i] = tsr_lin_add_sym(p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, first + j);
	tsr_stmt *s = store;
	for (uint32_t i = x->outer.n; i-- > 0;) {
		tsr_stmts body = {0};
		tsr_push(p->arena, &body, s);
		s = loop_like(p, x->outer.loop[i], TSR_FOR_PARALLEL, body, syms[i]);
	}
	return s;
}

static bool add_up(tsr_pass *p, tsr_loop_unit *u, tsr_stmt *kernel)
{
	scatter x;
	match m;
	uint32_t k = 0;
	if (!is_scatter(p->l, kernel, &x))
		return false;
	while (k < x.outer.n && !one_position(p, x.e, x.outer.loop[k]->loop.sym, &m))
		k++;
	if (k == x.outer.n || tsr_expr_reads(x.e, x.store->store.buffer))
		return false;
	const tsr_stmt *axis = x.outer.loop[k];
	const tsr_buffer *b = p->l->buffers.at[x.store->store.buffer];
	uint32_t sym = u->nsyms++;
	tsr_lin to = tsr_lin_add_sym(p->arena, tsr_lin_const(0), 1, TSR_LSYM_DATA, sym);
	tsr_stmt *update = tsr_stmt_new(p->arena, TSR_STMT_UPDATE, x.store->span);
	update->store.buffer = b->id;
	update->store.acc = TSR_ACC_ADD;
	update->store.index = TSR_NEW_N(p->arena, tsr_lin, b->rank + 1);
	for (uint32_t i = 0; i < b->rank; i++)
		update->store.index[i] = tsr_lin_bare(&x.store->store.index[i], axis->loop.sym) ? to : x.store->store.index[i];
	update->store.value = tsr_expr_place(p->arena, p->l, m.value, 1, &axis->loop.sym, &to);
	bool clear = is_zero(x.let->let.value);
	tsr_stmt *zero = clear ? cleared(p, u, &x) : NULL;
	bool early = true;                   /* a depends on no written loop: it is read once for all of them */
	for (uint32_t i = 0; i < x.outer.n; i++)
		early &= i == k || !depends(p->l, m.index, x.outer.loop[i]->loop.sym);
	tsr_stmts body = {0};
	tsr_stmt *inner = update;
	if (!early) {
		guard(p, &body, sym, m.index, axis->loop.extent, update);
	} else {
		for (uint32_t i = x.outer.n; i-- > 0;) {
			tsr_stmts in = {0};
			tsr_push(p->arena, &in, inner);
			if (i != k)
				inner = loop_like(p, x.outer.loop[i], TSR_FOR_SERIAL, in, x.outer.loop[i]->loop.sym);
		}
		guard(p, &body, sym, m.index, axis->loop.extent, inner);
	}
	for (uint32_t i = !early ? x.outer.n : 0; i-- > 0;) {
		if (i == k)
			continue;
		tsr_stmt *f = loop_like(p, x.outer.loop[i], TSR_FOR_SERIAL, body, x.outer.loop[i]->loop.sym);
		body = (tsr_stmts){0};
		tsr_push(p->arena, &body, f);
	}
	for (uint32_t i = x.inner.n; i-- > 0;) {
		tsr_stmt *f = loop_like(p, x.inner.loop[i], TSR_FOR_SERIAL, body, x.inner.loop[i]->loop.sym);
		body = (tsr_stmts){0};
		tsr_push(p->arena, &body, f);
	}
	tsr_stmts out = {0};
	if (zero)
		tsr_push(p->arena, &out, zero);
	for (uint32_t i = 0; i < body.n; i++)
		tsr_push(p->arena, &out, body.at[i]);
	kernel->kernel.body = out;
	return true;
}

void tsr_pass_gather(tsr_pass *p)
{
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		tsr_loop_unit *unit = p->l->units.at[u];
		for (uint32_t i = 0; i < unit->body.n; i++) {
			tsr_stmt *s = unit->body.at[i];
			if (s->kind != TSR_STMT_KERNEL)
				continue;
			uint32_t before = p->changes;
			p->changes += add_up(p, unit, s);
			look_up_all(p, unit, &s->kernel.body);             /* a product of two one-hots has one position on both axes */
			p->changes += cleared_first(p, unit, &s->kernel.body);
			if (p->changes > before)
				tsr_pass_note(p, "kernel %s: the loop over a looked-up axis is one position of it", s->kernel.name);
		}
	}
}
