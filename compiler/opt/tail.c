/* What follows a contraction element by element is applied to its sums before they are stored:
 *
 *     for m, n { let $s = 0  for k reduce { .. }  store C[m, n] = $s }            .. store Y[m, n] = max($s + b[n] + r[m, n], 0)
 *     for i, j { store Y[i, j] = max(C[i, j] + b[j] + r[i, j], 0) }
 *
 * The second kernel is one nest around one store, whose loops are those of C's axes, one each.  Its store becomes the last statement of the
 * first nest, the contraction's tail, which the engine applies to the tile in its registers.  It must be all that touches C, which is
 * stored no more.  Kernels are put into the same contraction one after the other: a bias, then what it becomes.  Where C is read elsewhere,
 * too, the kernel stays: what it stores can be computed again (remat), what a contraction does cannot.
 *
 * The kernel that both become takes the place of the second, unless a statement between writes what the first reads, or what the first reads would
 * be alive for longer than it has to; then that of the first, unless one writes what the second reads.  Requires virtual, which has made
 * one kernel of the elementwise ones. */
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
typedef struct head { tsr_nest nest; tsr_local_id sum; tsr_prec prec; } head;
/* What would follow, and which loop of the head each of its loops is. */
typedef struct next { tsr_nest nest; tsr_stmt *store; uint32_t syms[TSR_MOST_LOOPS]; tsr_lin to[TSR_MOST_LOOPS]; } next;

static bool is_head(const tails *t, const tsr_stmt *kernel, head *h)
{
	if (kernel->kind != TSR_STMT_KERNEL)
		return false;
	h->nest = tsr_nest_of((tsr_stmts *)&kernel->kernel.body);
	const tsr_stmts *b = h->nest.body;
	if (h->nest.n == 0 || b->n < 3 || b->at[0]->kind != TSR_STMT_LET || b->at[2]->kind != TSR_STMT_STORE)
		return false;
	h->sum = b->at[0]->let.local;
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
	for (uint32_t i = 2; i < h->nest.body->n; i++)
		if (h->nest.body->at[i]->store.buffer == load->load.buffer)
			return h->nest.body->at[i];
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

/* Only what a tile can compute; loads of what the head stores name the loops. */
static bool understood(const tails *t, const head *h, next *x, const tsr_expr *e)
{
	switch (e->kind) {
	case TSR_EXPR_LOAD:
		if (e->load.buffer == x->store->store.buffer)
			return false;
		return !store_of(h, e) || name_loops(t, h, x, e);
	case TSR_EXPR_OP:
		for (uint32_t i = 0; i < tsr_op_get(e->op.op)->arity; i++)
			if (!understood(t, h, x, e->op.args[i]))
				return false;
		return true;
	case TSR_EXPR_CONVERT: return understood(t, h, x, e->converted);
	case TSR_EXPR_CONST: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: return true;
	case TSR_EXPR_LOCAL: case TSR_EXPR_INDEX: case TSR_EXPR_LOOKUP: case TSR_EXPR_SELECT: case TSR_EXPR_KINDS: break;
	}
	return false;
}

static bool is_next(const tails *t, const head *h, const tsr_stmt *kernel, next *x)
{
	x->store = tsr_nest_single(kernel, &x->nest);
	if (!x->store || x->store->kind != TSR_STMT_STORE || x->nest.n != h->nest.n || !tsr_nest_covers(t->p->l, &x->nest, x->store, NULL)
		|| h->nest.body->n - 2 >= MOST_STORES)
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

typedef struct substitution { const tails *t; const head *h; } substitution;

static tsr_expr *substitute(void *user, tsr_expr *e)
{
	const substitution *s = user;
	const tsr_stmt *store = e->kind == TSR_EXPR_LOAD ? store_of(s->h, e) : NULL;
	if (!store)
		return e;
	tsr_expr *value = tsr_expr_place(s->t->p->arena, s->t->p->l, store->store.value, 0, NULL, NULL);
	return tsr_expr_convert(s->t->p->arena, value, s->t->p->l->buffers.at[e->load.buffer]->prec);
}

static tsr_stmt *placed(const tails *t, const head *h, const next *x)
{
	tsr_arena *a = t->p->arena;
	tsr_stmt *s = tsr_stmt_new(a, TSR_STMT_STORE, x->store->span);
	uint32_t rank = t->p->l->buffers.at[x->store->store.buffer]->rank;
	s->store = x->store->store;
	s->store.index = TSR_NEW_N(a, tsr_lin, rank + 1);
	for (uint32_t i = 0; i < rank; i++)
		s->store.index[i] = tsr_lin_place(a, &x->store->store.index[i], x->nest.n, x->syms, x->to);
	tsr_expr *value = tsr_expr_place(a, t->p->l, x->store->store.value, x->nest.n, x->syms, x->to);
	s->store.value = tsr_expr_rewrite(value, substitute, &(substitution){ t, h });
	return s;
}

/* Only the two kernels touch it, and nobody outside looks. */
static bool needless(const tails *t, uint32_t first, uint32_t second, tsr_buffer_id b)
{
	tsr_use x = tsr_uses_of(&t->uses.at[first], b), y = tsr_uses_of(&t->uses.at[second], b);
	uint32_t both = (x.loads || tsr_use_writes(x)) + (y.loads || tsr_use_writes(y));
	return t->touched[b] == both && !tsr_buffer_kept(t->p->l->buffers.at[b]);
}

/* What mentions the loop along which the sums lie side by side does so along it, too: a tile has no columns of other rows. */
static bool lies_along(const tails *t, uint32_t sym, tsr_buffer_id b, const tsr_lin *index)
{
	uint32_t rank = t->p->l->buffers.at[b]->rank;
	for (uint32_t axis = 0; axis + 1 < rank; axis++)
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
	const tsr_stmt *c = h->nest.body->at[2];
	uint32_t rank = t->p->l->buffers.at[c->store.buffer]->rank;
	const tsr_stmt *loop = rank ? tsr_nest_bare(&h->nest, &c->store.index[rank - 1]) : NULL;
	return !loop || (lies_along(t, loop->loop.sym, store->store.buffer, store->store.index) && all_lie_along(t, loop->loop.sym, store->store.value));
}

/* The head's statements with the next store, one in the sum's precision first; false where the engine would not take them: then nothing has
 * changed. */
static bool extend(const tails *t, head *h, uint32_t first, uint32_t second, tsr_stmt *store)
{
	tsr_stmts before = *h->nest.body, all = { 0 };
	tsr_push(t->p->arena, &all, before.at[0]);
	tsr_push(t->p->arena, &all, before.at[1]);
	for (uint32_t i = 2; i < before.n; i++)
		if (!needless(t, first, second, before.at[i]->store.buffer))
			tsr_push(t->p->arena, &all, before.at[i]);
	if (all.n > 2)
		return false;            /* it would not be computed again from the sums that stay */
	tsr_push(t->p->arena, &all, store);
	uint32_t home = 2;
	while (home < all.n && t->p->l->buffers.at[all.at[home]->store.buffer]->prec != h->prec)
		home++;
	if (home == all.n)
		tsr_push(t->p->arena, &all, before.at[2]);       /* a narrow result: sums wait where they did */
	if (tsr_expr_size(store->store.value) > MOST_NODES || !fits_tiles(t, h, store))
		return false;
	tsr_stmt *s = all.at[home];
	all.at[home] = all.at[2];
	all.at[2] = s;
	*h->nest.body = all;
	if (tsr_contract_takes(t->p, h->nest.loop[0]))
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

/* Nothing touches what the statement reads, and what does not last, any more from `to` on: as large as what it stores, or larger. */
static bool lengthens(const tails *t, uint32_t at, uint32_t to, tsr_buffer_id stored)
{
	int64_t least = tsr_buffer_bytes(t->p->l->buffers.at[stored]);
	bool longer = false;
	for (uint32_t i = 0; i < t->uses.at[at].v.n; i++) {
		tsr_buffer_id b = t->uses.at[at].v.at[i].buffer;
		bool touched = b == stored || tsr_buffer_kept(t->p->l->buffers.at[b]) || tsr_buffer_bytes(t->p->l->buffers.at[b]) < least;
		for (uint32_t k = to; !touched && k < t->uses.body->n; k++) {
			tsr_use use = tsr_uses_of(&t->uses.at[k], b);
			touched = use.loads || tsr_use_writes(use);
		}
		longer |= !touched;
	}
	return longer;
}

/* The next statement that reads what the head stores. */
static uint32_t reader(const tails *t, const head *h, uint32_t at)
{
	for (uint32_t i = at + 1; i < t->uses.body->n; i++)
		for (uint32_t k = 2; k < h->nest.body->n; k++)
			if (tsr_uses_of(&t->uses.at[i], h->nest.body->at[k]->store.buffer).loads)
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
	tsr_use target = tsr_uses_of(&t->uses.at[at], x.store->store.buffer);
	bool down = passes(t, at, at + 1, second) && (second == at + 1 || !lengthens(t, at, second, h.nest.body->at[2]->store.buffer));
	if (target.loads || tsr_use_writes(target) || (!down && !passes(t, second, at + 1, second)))
		return false;
	if (!extend(t, &h, at, second, placed(t, &h, &x)))
		return false;
	tsr_pass_note(t->p, "%s: %s is applied to the tiles of %s", t->unit->name, t->uses.body->at[second]->kernel.name,
		t->uses.body->at[at]->kernel.name);
	count(t, at, false);
	count(t, second, false);
	tsr_body_remove(&t->uses, second);
	if (down) {
		move(t, at, second - 1);
		at = second - 1;
	}
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
