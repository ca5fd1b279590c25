/* What follows a contraction element by element is applied to its sums before they are stored:
 *
 *     for m, n { let $s = 0  for k reduce { .. }  store C[m, n] = $s }            .. store Y[m, n] = max($s + b[n] + r[m, n], 0)
 *     for i, j { store Y[i, j] = max(C[i, j] + b[j] + r[i, j], 0) }
 *
 * The second kernel is one nest around one store or update, whose loops are those of C's axes, one each.  It becomes the last store of the
 * first nest, the contraction's tail, which the engine applies to the tile in its registers.  It must be all that touches C, which is
 * stored no more.  Kernels are put into the same contraction one after the other: a bias, then what it becomes.  Where C is read elsewhere,
 * too, the kernel stays: what it stores can be computed again (remat), what a contraction does cannot; but where all that is stored lasts, as
 * an optimiser's state and the parameters do, several stores may follow, and what one of them reads of another has a name:
 *
 *     for i, j { let $s = 0  for k reduce { .. }  let $v = 0.9 V[i, j] + $s  store V[i, j] = $v  store W[i, j] = W[i, j] - 0.1 $v }
 *
 * What is read where it is stored joins sums of one block only, which pass by then (passing.c): where sums wait, the tile would come to both at
 * once, late, and nothing is saved.
 *
 * The kernel that both become takes the place of the second, unless a statement between writes what the first reads, or what the first reads would
 * be alive for longer than it has to; then the first place that the second may have.  Requires virtual, which has made one kernel of the
 * elementwise ones. */
#include "pass.h"

enum { MOST_STORES = 3, MOST_NODES = 64 };

typedef struct tails {
	tsr_pass *p;
	tsr_arena *a;
	tsr_loop_unit *unit;
	tsr_body_uses uses;
	uint32_t *touched;           /* per buffer: by how many statements of the program */
} tails;

/* The contraction's nest: its outer loops, and the stores behind the sum. */
typedef struct head { tsr_nest nest; tsr_tail *tail; tsr_prec prec; } head;
/* What would follow, and which loop of the head each of its loops is. */
typedef struct next { tsr_nest nest; tsr_stmt *store; uint32_t syms[TSR_MOST_LOOPS]; tsr_lin to[TSR_MOST_LOOPS]; } next;

static bool is_head(const tails *t, const tsr_stmt *kernel, head *h)
{
	if (kernel->kind != TSR_STMT_KERNEL)
		return false;
	h->nest = tsr_nest_of((tsr_stmts *)&kernel->kernel.body);
	const tsr_stmts *b = h->nest.body;
	if (h->nest.n == 0 || b->n < 3 || b->at[0]->kind != TSR_STMT_LET || b->at[b->n - 1]->kind != TSR_STMT_STORE)
		return false;
	h->tail = tsr_tail_of(t->a, b);
	h->prec = b->at[0]->let.prec;
	return tsr_contract_takes(t->p, h->nest.loop[0]);
}

static bool is_zero(const tsr_lin *x) { return !x->n && !x->offset && !x->base.k && !x->base.nterms; }

static bool same_extent(const tsr_stmt *x, const tsr_stmt *y)
{
	return tsr_extent_equal(x->loop.extent, y->loop.extent);
}

/* The store of the head that the expression loads, or NULL. */
static const tsr_stmt *store_of(const head *h, const tsr_expr *load)
{
	for (uint32_t i = 0; i < h->tail->stores.n; i++)
		if (h->tail->stores.at[i]->store.buffer == load->load.buffer)
			return h->tail->stores.at[i];
	return NULL;
}

/* Names the loops by this load of what the head stores; false where they are others already, or no bare loops. */
static bool name_loops(const tails *t, const head *h, next *x, const tsr_expr *load)
{
	const tsr_stmt *s = store_of(h, load);
	for (uint32_t axis = 0; axis < t->p->l->buffers.at[load->load.buffer]->rank; axis++) {
		tsr_stmt *mine = tsr_nest_bare(&x->nest, &load->load.index[axis]), *its = tsr_nest_bare(&h->nest, &s->store.index[axis]);
		if (!mine && !its && is_zero(&load->load.index[axis]) && is_zero(&s->store.index[axis]))
			continue;
		if (!mine || !its || !same_extent(mine, its))
			return false;
		for (uint32_t i = 0; i < x->nest.n; i++) {
			if (x->nest.loop[i] != mine)
				continue;
			if (x->to[i].n && !tsr_lin_bare(&x->to[i], its->loop.sym))
				return false;
			x->to[i] = tsr_lin_add_sym(t->p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, its->loop.sym);
		}
	}
	return true;
}

/* Vectors of it have a way for what is usual and another for the rest, and ask which (emit/math.c): tiles have no branches and would compute both, or call the C library. */
static bool branches(const tsr_expr *e)
{
	switch ((int)e->op.op) {
	case TSR_OP_SIN: case TSR_OP_COS: return true;
	case TSR_OP_MOD: return tsr_prec_is_float(e->op.operand_prec);
	case TSR_OP_POW: return e->op.operand_prec == TSR_PREC_F64;
	default: return false;
	}
}

/* Only what a tile can compute; loads of what the head stores name the loops. */
static bool understood(const tails *t, const head *h, next *x, const tsr_expr *e)
{
	switch (e->kind) {
	case TSR_EXPR_LOAD:
		if (e->load.buffer == x->store->store.buffer)
			return tsr_expr_is_element(t->p->l, e, x->store);
		return !store_of(h, e) || name_loops(t, h, x, e);
	case TSR_EXPR_OP:
		for (uint32_t i = 0; i < tsr_op_get(e->op.op)->arity; i++)
			if (!understood(t, h, x, e->op.args[i]))
				return false;
		return !branches(e);
	case TSR_EXPR_CONVERT: return understood(t, h, x, e->converted);
	case TSR_EXPR_CONST: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: return true;
	case TSR_EXPR_LOCAL: case TSR_EXPR_INDEX: case TSR_EXPR_LOOKUP: case TSR_EXPR_SELECT: case TSR_EXPR_KINDS: break;
	}
	return false;
}

static bool is_next(const tails *t, const head *h, const tsr_stmt *kernel, next *x)
{
	x->store = tsr_nest_single(kernel, &x->nest);
	if (!x->store || (x->store->kind != TSR_STMT_STORE && x->store->kind != TSR_STMT_UPDATE) || x->nest.n != h->nest.n
		|| !tsr_nest_covers(t->p->l, &x->nest, x->store, NULL) || h->tail->stores.n >= MOST_STORES)
		return false;
	for (uint32_t i = 0; i < x->nest.n; i++) {
		x->syms[i] = x->nest.loop[i]->loop.sym;
		x->to[i] = tsr_lin_const(0);
	}
	if (!understood(t, h, x, x->store->store.value))
		return false;
	for (uint32_t i = 0; i < x->nest.n; i++)
		for (uint32_t k = 0; k <= i; k++)
			if (x->to[i].n == 0 || (k < i && tsr_lin_equal(x->to[i], x->to[k])))
				return false;
	return true;
}

/* ---- putting it there ------------------------------------------------------------------------------------------------------ */

/* `lets`, `stores`: the head's, with names for the values that the next store reads and that are stored all the same. */
typedef struct substitution { const tails *t; const head *h; uint32_t first, second; tsr_stmts lets, stores; } substitution;

/* Only the two kernels touch it, and nobody outside looks. */
static bool needless(const tails *t, uint32_t first, uint32_t second, tsr_buffer_id b)
{
	tsr_use x = tsr_uses_of(&t->uses.at[first], b), y = tsr_uses_of(&t->uses.at[second], b);
	uint32_t both = (x.loads || tsr_use_writes(x)) + (y.loads || tsr_use_writes(y));
	return t->touched[b] == both && !tsr_buffer_kept(t->p->l->buffers.at[b]);
}

static tsr_stmt *store_like(tsr_arena *a, const tsr_stmt *s, tsr_expr *value)
{
	tsr_stmt *out = tsr_stmt_new(a, TSR_STMT_STORE, s->span);
	out->store = s->store;
	out->store.value = value;
	return out;
}

/* What the head's store number i stores, as a value that has a name. */
static tsr_expr *named(substitution *s, uint32_t i)
{
	tsr_arena *a = s->t->p->arena;
	const tsr_stmt *store = s->stores.at[i];
	tsr_prec prec = s->t->p->l->buffers.at[store->store.buffer]->prec;
	tsr_expr *value = tsr_expr_convert(a, store->store.value, prec);
	if (value->kind == TSR_EXPR_LOCAL)
		return value;
	tsr_stmt *let = tsr_stmt_new(a, TSR_STMT_LET, store->span);
	let->let.local = s->t->unit->nlocals++;
	let->let.prec = prec;
	let->let.value = value;
	tsr_push(a, &s->lets, let);
	s->stores.at[i] = store_like(a, store, tsr_expr_local(a, let->let.local, prec));
	return s->stores.at[i]->store.value;
}

static tsr_expr *substitute(void *user, tsr_expr *e)
{
	substitution *s = user;
	tsr_arena *a = s->t->p->arena;
	for (uint32_t i = 0; e->kind == TSR_EXPR_LOAD && i < s->stores.n; i++) {
		const tsr_stmt *store = s->stores.at[i];
		if (store->store.buffer != e->load.buffer)
			continue;
		if (!needless(s->t, s->first, s->second, store->store.buffer))
			return tsr_expr_place(a, s->t->p->l, named(s, i), 0, NULL, NULL);
		return tsr_expr_convert(a, tsr_expr_place(a, s->t->p->l, store->store.value, 0, NULL, NULL), s->t->p->l->buffers.at[e->load.buffer]->prec);
	}
	return e;
}

/* The next store at the head's loops; of an update what it makes of the element. */
static tsr_stmt *placed(substitution *s, const next *x)
{
	tsr_arena *a = s->t->p->arena;
	const tsr_loops *l = s->t->p->l;
	const tsr_buffer *b = l->buffers.at[x->store->store.buffer];
	tsr_expr *value = tsr_expr_place(a, l, x->store->store.value, x->nest.n, x->syms, x->to);
	tsr_stmt *out = store_like(a, x->store, tsr_expr_rewrite(value, substitute, s));
	out->store.acc = TSR_ACC_SET;
	out->store.index = TSR_NEW_N(a, tsr_lin, b->rank + 1);
	for (uint32_t i = 0; i < b->rank; i++)
		out->store.index[i] = tsr_lin_place(a, &x->store->store.index[i], x->nest.n, x->syms, x->to);
	if (x->store->kind == TSR_STMT_UPDATE)
		out->store.value = tsr_expr_op(a, tsr_acc_get(x->store->store.acc)->op, b->prec, tsr_expr_load(a, b, out->store.index),
			tsr_expr_convert(a, out->store.value, b->prec), NULL);
	return out;
}

/* What mentions the loop along which the sums lie side by side does so along it, too: a tile has no columns of other rows. */
static bool lies_along(const tails *t, uint32_t sym, tsr_buffer_id b, const tsr_lin *index)
{
	for (uint32_t axis = 0; axis < tsr_buffer_last(t->p->l->buffers.at[b]); axis++)
		if (tsr_lin_mentions(&index[axis], sym))
			return false;
	return true;
}

static bool all_lie_along(const tails *t, uint32_t sym, const tsr_expr *e)
{
	for (uint32_t i = 0; e->kind == TSR_EXPR_OP && i < tsr_op_get(e->op.op)->arity; i++)
		if (!all_lie_along(t, sym, e->op.args[i]))
			return false;
	return e->kind == TSR_EXPR_CONVERT ? all_lie_along(t, sym, e->converted) : e->kind != TSR_EXPR_LOAD || lies_along(t, sym, e->load.buffer, e->load.index);
}

static bool fits_tiles(const tails *t, const head *h, const tsr_stmt *store)
{
	const tsr_stmt *c = h->tail->stores.at[0];
	const tsr_buffer *b = t->p->l->buffers.at[c->store.buffer];
	const tsr_stmt *loop = b->rank ? tsr_nest_bare(&h->nest, &c->store.index[tsr_buffer_last(b)]) : NULL;
	return !loop || (lies_along(t, loop->loop.sym, store->store.buffer, store->store.index) && all_lie_along(t, loop->loop.sym, store->store.value));
}

static bool read_by(const tsr_stmts *values, tsr_buffer_id b)
{
	for (uint32_t i = 0; i < values->n; i++)
		if (tsr_expr_reads(values->at[i]->kind == TSR_STMT_LET ? values->at[i]->let.value : values->at[i]->store.value, b))
			return true;
	return false;
}

/* Parts of a sum may wait where it is stored. */
static bool is_home(const tails *t, const head *h, const substitution *s, tsr_buffer_id b)
{
	return t->p->l->buffers.at[b]->prec == h->prec && !read_by(&s->lets, b) && !read_by(&s->stores, b);
}

/* The head's statements with the next store, one where sums can wait first; false where the engine would not take them: then nothing has
 * changed. */
static bool extend(const tails *t, head *h, uint32_t first, uint32_t second, const next *x)
{
	tsr_arena *a = t->p->arena;
	substitution s = { t, h, first, second, { 0 }, { 0 } };
	for (uint32_t i = 0; i < h->tail->lets.n; i++)
		tsr_push(a, &s.lets, h->tail->lets.at[i]);
	for (uint32_t i = 0; i < h->tail->stores.n; i++)
		tsr_push(a, &s.stores, h->tail->stores.at[i]);
	tsr_stmt *store = placed(&s, x);
	bool lasts = tsr_buffer_kept(t->p->l->buffers.at[store->store.buffer]);
	uint32_t n = 0;
	for (uint32_t i = 0; i < s.stores.n; i++) {
		if (needless(t, first, second, s.stores.at[i]->store.buffer))
			continue;
		if (!lasts || !tsr_buffer_kept(t->p->l->buffers.at[s.stores.at[i]->store.buffer]))
			return false;        /* it would not be computed again from the sums that stay */
		s.stores.at[n++] = s.stores.at[i];
	}
	s.stores.n = n;
	tsr_push(a, &s.stores, store);
	if (tsr_expr_size(store->store.value) > MOST_NODES || !fits_tiles(t, h, store))
		return false;
	uint32_t home = 0;
	while (home < s.stores.n && !is_home(t, h, &s, s.stores.at[home]->store.buffer))
		home++;
	if (home == s.stores.n)      /* a narrow result, or one of what it was: sums wait where they did */
		tsr_push(a, &s.stores, h->tail->stores.at[0]);
	tsr_stmts before = *h->nest.body, all = { 0 };
	tsr_push(a, &all, before.at[0]);
	tsr_push(a, &all, before.at[1]);
	for (uint32_t i = 0; i < s.lets.n; i++)
		tsr_push(a, &all, s.lets.at[i]);
	tsr_push(a, &all, s.stores.at[home]);
	for (uint32_t i = 0; i < s.stores.n; i++)
		if (i != home)
			tsr_push(a, &all, s.stores.at[i]);
	*h->nest.body = all;
	const tsr_contraction *k = tsr_contract_of(t->p, h->nest.loop[0]);
	if (k && (!tsr_store_renews(store) || (tsr_contract_one_block(k) && !k->schedule.turn && !k->schedule.join)))
		return true;
	*h->nest.body = before;
	return false;
}

/* ---- which kernels ---------------------------------------------------------------------------------------------------------- */

/* The statement `moved` may change places with those between: neither writes what the other touches. */
static bool passes(const tails *t, uint32_t moved, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		if (t->uses.body->at[i]->kind != TSR_STMT_KERNEL)
			return false;
		for (uint32_t k = 0; k < t->uses.at[moved].v.n; k++) {
			tsr_use one = t->uses.at[moved].v.at[k], other = tsr_uses_of(&t->uses.at[i], one.buffer);
			if ((other.loads || tsr_use_writes(other)) && (tsr_use_writes(one) || tsr_use_writes(other)))
				return false;
		}
	}
	return true;
}

static bool touched_from(const tails *t, uint32_t from, tsr_buffer_id b)
{
	bool touched = false;
	for (uint32_t k = from; !touched && k < t->uses.body->n; k++) {
		tsr_use use = tsr_uses_of(&t->uses.at[k], b);
		touched = use.loads || tsr_use_writes(use);
	}
	return touched;
}

/* Nothing touches what the statement reads, and what does not last, any more from `to` on: as large as what it stores, or larger. */
static bool lengthens(const tails *t, uint32_t at, uint32_t to, tsr_buffer_id stored)
{
	int64_t least = tsr_buffer_guess(t->p->l->buffers.at[stored]);
	bool longer = false;
	for (uint32_t i = 0; i < t->uses.at[at].v.n; i++) {
		tsr_buffer_id b = t->uses.at[at].v.at[i].buffer;
		longer |= b != stored && !tsr_buffer_kept(t->p->l->buffers.at[b]) && tsr_buffer_guess(t->p->l->buffers.at[b]) >= least && !touched_from(t, to, b);
	}
	return longer;
}

/* What the statement reads, which nothing touches any more from the one before `to` on, next to which it would be alive in its new place: no more than what is
 * not stored any more. */
static bool no_heavier(const tails *t, uint32_t at, uint32_t to, tsr_buffer_id stored)
{
	int64_t more = 0;
	for (uint32_t i = 0; i < t->uses.at[at].v.n; i++) {
		tsr_buffer_id b = t->uses.at[at].v.at[i].buffer;
		more += b == stored || tsr_buffer_kept(t->p->l->buffers.at[b]) || touched_from(t, to - 1, b) ? 0 : tsr_buffer_guess(t->p->l->buffers.at[b]);
	}
	return more <= tsr_buffer_guess(t->p->l->buffers.at[stored]);
}

/* Before which statement both kernels can be one; 0: there is none. */
static uint32_t meet(const tails *t, uint32_t at, uint32_t second, tsr_buffer_id stored)
{
	uint32_t to = second;
	if (passes(t, at, at + 1, to) && (to == at + 1 || !lengthens(t, at, to, stored)))
		return to;
	while (to > at + 1 && passes(t, second, to - 1, to))
		to--;
	return to == at + 1 || (to < second && passes(t, at, at + 1, to) && no_heavier(t, at, to, stored)) ? to : 0;
}

/* The next statement that reads what the head stores. */
static uint32_t reader(const tails *t, const head *h, uint32_t at)
{
	for (uint32_t i = at + 1; i < t->uses.body->n; i++)
		for (uint32_t k = 0; k < h->tail->stores.n; k++)
			if (tsr_uses_of(&t->uses.at[i], h->tail->stores.at[k]->store.buffer).loads)
				return i;
	return 0;
}

static void move(tails *t, uint32_t from, uint32_t to)
{
	tsr_stmt *s = t->uses.body->at[from];
	tsr_uses x = t->uses.at[from];
	for (uint32_t i = from; i < to; i++) {
		t->uses.body->at[i] = t->uses.body->at[i + 1];
		t->uses.at[i] = t->uses.at[i + 1];
	}
	t->uses.body->at[to] = s;
	t->uses.at[to] = x;
}

static void count(tails *t, uint32_t at, bool more)
{
	for (uint32_t i = 0; i < t->uses.at[at].v.n; i++)
		t->touched[t->uses.at[at].v.at[i].buffer] += more ? 1 : UINT32_MAX;
}

/* Gives the contraction at `at` one more of the kernels behind it; it may move behind others then. */
static bool take_next(tails *t, uint32_t at)
{
	head h;
	next x;
	uint32_t second = is_head(t, t->uses.body->at[at], &h) ? reader(t, &h, at) : 0;
	if (!second || !is_next(t, &h, t->uses.body->at[second], &x))
		return false;
	uint32_t to = meet(t, at, second, h.tail->stores.at[0]->store.buffer);
	if (!to || tsr_use_writes(tsr_uses_of(&t->uses.at[at], x.store->store.buffer)) || !extend(t, &h, at, second, &x))
		return false;
	tsr_pass_note(t->p, "%s: %s is applied to the tiles of %s", t->unit->name, t->uses.body->at[second]->kernel.name,
		t->uses.body->at[at]->kernel.name);
	count(t, at, false);
	count(t, second, false);
	tsr_body_remove(&t->uses, second);
	move(t, at, to - 1);
	at = to - 1;
	tsr_body_uses_renew(&t->uses, at);
	count(t, at, true);
	t->p->changes++;
	return true;
}

void tsr_pass_tail(tsr_pass *p)
{
	tails t = { .p = p, .a = tsr_arena_new() };
	t.touched = TSR_NEW_N(t.a, uint32_t, p->l->buffers.n + 1);
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		tsr_body_uses_make(&t.uses, t.a, &p->l->units.at[u]->body);
		for (uint32_t i = 0; i < t.uses.body->n; i++)
			count(&t, i, true);
	}
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		t.unit = p->l->units.at[u];
		tsr_body_uses_make(&t.uses, t.a, &t.unit->body);
		for (uint32_t at = 0; at < t.uses.body->n;)
			at += !take_next(&t, at);
	}
	tsr_arena_free(t.a);
}
