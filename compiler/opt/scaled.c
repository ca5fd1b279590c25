/* What scales a factor of a sum, and is the same along all of it, scales the sum instead:
 *
 *     X(s, t) = E(s, t) / Z(s);   C(s, e) = sum over t of X(s, t) * V(t, e)
 *     C(s, e) = sum over t of E(s, t) * V(t, e);   C(s, e) = C(s, e) / Z(s)
 *
 * where X is read there alone and has more elements than C: what normalises the weights of attention is applied to its results.  A
 * product with Z likewise.  The producer vanishes, so that the sum reads what is stored already.
 *
 * The sum rounds what is larger by one factor; the bounds of its error do not change.  Requires virtual: E is a plain load by then.
 *
 * Likewise, and to the last bit, since rounding keeps an order, for what is positive and scales all that a maximum or minimum is taken of:
 *
 *     M(s) = max over t of S(s, t) * 0.125        M(s) = (max over t of S(s, t)) * 0.125 */
#include "pass.h"
#include <math.h>

typedef struct scaled {
	tsr_pass *p;
	tsr_arena *scratch;
	tsr_loop_unit *unit;
	tsr_body_uses uses;
	const uint32_t *reads;       /* per buffer: kernels of all units that read it */
	/* X = e op z, with the loop of each axis of X */
	const tsr_buffer *x;
	const tsr_stmt *store;
	const tsr_expr *e, *z;
	uint32_t syms[TSR_MOST_LOOPS];
	/* C = sum of X * ... */
	tsr_nest outer, inner;
	tsr_stmt *let, *set, *out;
} scaled;

/* ---- the two kernels ----------------------------------------------------------------------------------------------------- */

static bool find_producer(scaled *s, const tsr_stmt *kernel)
{
	tsr_nest nest;
	tsr_stmt *owner[TSR_MOST_LOOPS], *store = tsr_nest_single(kernel, &nest);
	if (!store || store->kind != TSR_STMT_STORE || store->store.value->kind != TSR_EXPR_OP)
		return false;
	const tsr_expr *v = store->store.value;
	s->x = s->p->l->buffers.at[store->store.buffer];
	s->store = store;
	if ((v->op.op != TSR_OP_DIV && v->op.op != TSR_OP_MUL) || !tsr_prec_is_float(v->prec) || tsr_buffer_kept(s->x) || s->reads[s->x->id] != 1
		|| s->x->rank >= TSR_MOST_LOOPS || tsr_expr_reads(v, s->x->id) || !tsr_nest_covers(s->p->l, &nest, store, owner))
		return false;
	uint32_t owned = 0;
	for (uint32_t i = 0; i < s->x->rank; i++) {
		s->syms[i] = owner[i] ? owner[i]->loop.sym : UINT32_MAX;
		owned += owner[i] != NULL;
	}
	s->e = v->op.args[0], s->z = v->op.args[1];
	if (v->op.op == TSR_OP_MUL && s->e->kind != TSR_EXPR_LOAD)
		s->e = v->op.args[1], s->z = v->op.args[0];
	return owned == nest.n && s->e->kind == TSR_EXPR_LOAD && s->e->prec == v->prec && s->z->prec == v->prec;
}

/* let $s = 0, loops, store C = $s */
static bool find_sum(scaled *s, const tsr_stmt *kernel)
{
	if (kernel->kind != TSR_STMT_KERNEL)
		return false;
	s->outer = tsr_nest_of((tsr_stmts *)&kernel->kernel.body);
	const tsr_stmts *body = s->outer.body;
	if (body->n != 3 || body->at[1]->kind != TSR_STMT_FOR)
		return false;
	tsr_stmts one = { &body->at[1], 1, 1 };
	s->inner = tsr_nest_of(&one);
	s->let = body->at[0], s->out = body->at[2], s->set = s->inner.body->n == 1 ? s->inner.body->at[0] : NULL;
	if (s->let->kind != TSR_STMT_LET || s->out->kind != TSR_STMT_STORE || !s->set || s->set->kind != TSR_STMT_SET
		|| s->set->let.local != s->let->let.local || !tsr_expr_is_local(s->out->store.value, s->let->let.local)
		|| !tsr_expr_is_neutral(s->let->let.value, TSR_ACC_ADD) || !tsr_nest_covers(s->p->l, &s->outer, s->out, NULL))
		return false;
	const tsr_expr *sum = s->set->let.value;
	return sum->kind == TSR_EXPR_OP && sum->op.op == TSR_OP_ADD && tsr_expr_is_local(sum->op.args[0], s->let->let.local)
		&& sum->prec == s->z->prec && s->p->l->buffers.at[s->out->store.buffer]->prec == sum->prec;
}

/* The factor that loads X, of the sum's product of two. */
static tsr_expr **factor_of(const scaled *s)
{
	tsr_expr *product = s->set->let.value->op.args[1];
	if (product->kind != TSR_EXPR_OP || product->op.op != TSR_OP_MUL)
		return NULL;
	for (int i = 0; i < 2; i++) {
		const tsr_expr *x = product->op.args[i];
		if (x->kind == TSR_EXPR_LOAD && x->load.buffer == s->x->id && !tsr_expr_reads(product->op.args[1 - i], s->x->id))
			return &product->op.args[i];
	}
	return NULL;
}

/* ---- whether and how ------------------------------------------------------------------------------------------------------ */

/* Where the run alone knows, as many: either is quick for few. */
static double guess(tsr_size x)
{
	enum { MANY = 4096 };
	return (double)(tsr_size_is_const(x) ? x.k : MANY);
}

static double iterations(const tsr_nest *n)
{
	double product = 1;
	for (uint32_t i = 0; i < n->n; i++)
		product *= guess(n->loop[i]->loop.extent);
	return product;
}

static double elements(const tsr_buffer *b)
{
	double product = 1;
	for (uint32_t i = 0; i < b->rank; i++)
		product *= guess(b->dims[i]);
	return product;
}

/* What `value` reads is not written from statement `from` to `to`. */
static bool undisturbed(const scaled *s, const tsr_expr *value, uint32_t from, uint32_t to)
{
	tsr_uses loads = { 0 };
	tsr_expr_uses(s->scratch, value, &loads);
	for (uint32_t i = 0; i < loads.v.n; i++)
		for (uint32_t at = from; at <= to; at++)
			if (tsr_use_writes(tsr_uses_of(&s->uses.at[at], loads.v.at[i].buffer)))
				return false;
	return true;
}

static bool worthwhile(const scaled *s, const tsr_expr *z)
{
	for (uint32_t i = 0; i < s->inner.n; i++)
		if (tsr_expr_mentions(s->p->l, z, s->inner.loop[i]->loop.sym))
			return false;
	return elements(s->x) > iterations(&s->outer);
}

/* for the sum's outer loops { C = C op z } */
static tsr_stmt *scaling(scaled *s, const tsr_stmt *kernel, tsr_expr *z)
{
	tsr_arena *a = s->p->arena;
	tsr_stmt *set = tsr_stmt_new(a, TSR_STMT_STORE, s->store->span), *whole = tsr_stmt_new(a, TSR_STMT_KERNEL, s->store->span);
	const tsr_buffer *c = s->p->l->buffers.at[s->out->store.buffer];
	tsr_stmts copy = { 0 }, one = { &set, 1, 1 };
	set->store.buffer = c->id;
	set->store.index = s->out->store.index;
	set->store.value = tsr_expr_op(a, s->store->store.value->op.op, z->prec, tsr_expr_load(a, c, s->out->store.index), z, NULL);
	for (uint32_t i = s->outer.n; i-- > 0;) {
		tsr_stmt *loop = tsr_stmt_new(a, TSR_STMT_FOR, s->outer.loop[i]->span);
		loop->loop = s->outer.loop[i]->loop;
		loop->loop.body = (tsr_stmts){ 0 };
		tsr_push(a, &loop->loop.body, one.at[0]);
		set = loop;
	}
	tsr_placing fresh = { .p = s->p, .unit = s->unit };
	tsr_stmts_place(&fresh, &one, &copy);
	whole->kernel.name = kernel->kernel.name;
	tsr_push(a, &whole->kernel.body, copy.at[0]);
	return whole;
}

static void insert(scaled *s, uint32_t at, tsr_stmt *kernel)
{
	tsr_stmts *body = &s->unit->body;
	tsr_push(s->p->arena, body, kernel);
	for (uint32_t i = body->n - 1; i > at; i--)
		body->at[i] = body->at[i - 1];
	body->at[at] = kernel;
}

/* ---- maxima ----------------------------------------------------------------------------------------------------------------- */

/* let $m = .., loops { set $m = max($m, x op c) }, store $m, c being positive: gives x op c. */
static const tsr_expr *scaled_order(const tsr_stmts *body, tsr_stmt **set)
{
	if (body->n != 3 || body->at[0]->kind != TSR_STMT_LET || body->at[1]->kind != TSR_STMT_FOR || body->at[2]->kind != TSR_STMT_STORE)
		return NULL;
	tsr_stmts one = { &body->at[1], 1, 1 };
	tsr_nest inner = tsr_nest_of(&one);
	tsr_local_id id = body->at[0]->let.local;
	*set = inner.body->n == 1 ? inner.body->at[0] : NULL;
	if (!*set || (*set)->kind != TSR_STMT_SET || (*set)->let.local != id || !tsr_expr_is_local(body->at[2]->store.value, id))
		return NULL;
	const tsr_expr *v = (*set)->let.value;
	if (v->kind != TSR_EXPR_OP || (v->op.op != TSR_OP_MAX && v->op.op != TSR_OP_MIN) || !tsr_expr_is_local(v->op.args[0], id)
		|| !tsr_expr_is_neutral(body->at[0]->let.value, v->op.op == TSR_OP_MAX ? TSR_ACC_MAX : TSR_ACC_MIN))
		return NULL;
	const tsr_expr *x = v->op.args[1];
	bool scales = x->kind == TSR_EXPR_OP && (x->op.op == TSR_OP_MUL || x->op.op == TSR_OP_DIV) && x->op.args[1]->kind == TSR_EXPR_CONST;
	return scales && (x->prec == TSR_PREC_F32 || x->prec == TSR_PREC_F64) && x->prec == v->prec && x->op.operand_prec == x->prec && x->op.args[0]->prec == x->prec
		&& x->op.args[1]->value.d > 0 && isfinite(x->op.args[1]->value.d) ? x : NULL;
}

static void try_maximum(scaled *s, tsr_stmt *kernel)
{
	if (kernel->kind != TSR_STMT_KERNEL)
		return;
	tsr_arena *a = s->p->arena;
	tsr_nest nest = tsr_nest_of(&kernel->kernel.body);
	tsr_stmt *set;
	const tsr_expr *x = scaled_order(nest.body, &set), *v = x ? set->let.value : NULL;
	if (!x)
		return;
	tsr_stmt *store = nest.body->at[2];
	set->let.value = tsr_expr_op(a, v->op.op, v->prec, v->op.args[0], x->op.args[0], NULL);
	store->store.value = tsr_expr_op(a, x->op.op, x->prec, store->store.value, x->op.args[1], NULL);
	tsr_pass_note(s->p, "%s: what scales %s scales its results", s->unit->name, s->p->l->buffers.at[store->store.buffer]->name);
	s->p->changes++;
}

/* ---- sums ----------------------------------------------------------------------------------------------------------------------- */

static bool try_kernel(scaled *s, uint32_t at)
{
	tsr_stmts *body = &s->unit->body;
	if (!find_producer(s, body->at[at]))
		return false;
	uint32_t reader = at + 1;
	while (reader < body->n && !tsr_uses_of(&s->uses.at[reader], s->x->id).loads && !tsr_use_writes(tsr_uses_of(&s->uses.at[reader], s->x->id)))
		reader++;
	if (reader == body->n || !find_sum(s, body->at[reader]))
		return false;
	tsr_expr **x = factor_of(s);
	if (!x || !undisturbed(s, s->store->store.value, at + 1, reader))
		return false;
	tsr_expr *z = tsr_expr_place(s->p->arena, s->p->l, s->z, s->x->rank, s->syms, (*x)->load.index);
	if (!worthwhile(s, z))
		return false;
	*x = tsr_expr_place(s->p->arena, s->p->l, s->e, s->x->rank, s->syms, (*x)->load.index);
	tsr_pass_note(s->p, "%s: %s scales the sum %s", s->unit->name, s->x->name, s->p->l->buffers.at[s->out->store.buffer]->name);
	insert(s, reader + 1, scaling(s, body->at[reader], z));
	tsr_stmts_remove(body, at);
	tsr_body_uses_make(&s->uses, s->scratch, body);
	s->p->changes++;
	return true;
}

void tsr_pass_scaled(tsr_pass *p)
{
	scaled s = { .p = p, .scratch = tsr_arena_new() };
	uint32_t *reads = TSR_NEW_N(s.scratch, uint32_t, p->l->buffers.n + 1);
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		tsr_body_uses_make(&s.uses, s.scratch, &p->l->units.at[u]->body);
		for (uint32_t i = 0; i < p->l->units.at[u]->body.n; i++)
			for (uint32_t j = 0; j < s.uses.at[i].v.n; j++)
				reads[s.uses.at[i].v.at[j].buffer] += s.uses.at[i].v.at[j].loads;
	}
	s.reads = reads;
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		s.unit = p->l->units.at[u];
		tsr_body_uses_make(&s.uses, s.scratch, &s.unit->body);
		for (uint32_t at = 0; at < s.unit->body.n;)
			at += !try_kernel(&s, at);
		for (uint32_t at = 0; at < s.unit->body.n; at++)
			try_maximum(&s, s.unit->body.at[at]);
	}
	tsr_arena_free(s.scratch);
}
