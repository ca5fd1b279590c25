/* Sums over axes on both sides of one that is kept, as over an image's places and the channels of each group, are taken in two steps, those outside first:
 *
 *     for g { let $s = 0  for h, w, c .. reduce { set $s = $s + x[h, w, g, c] }  store X[g] = $s }
 *
 * becomes
 *
 *     store T = 0  for h, w .. reduce { for g, c { update T[g, c] += x[h, w, g, c] } }
 *     for g { let $s = 0  for c .. reduce { set $s = $s + T[g, c] }  store X[g] = $s }
 *
 * where what lies side by side of a group is a part of a vector, and groups fill vectors (kernel/columns.c): each group would read a part of every line.  Changes the order of summation. */
#include "pass.h"

enum { ENOUGH = 16, LEAST = 4, MOST = 4096 };       /* summands of the first step; a group's numbers side by side (two: 0.6 to 1.0 of the speed); of T's last two axes in the first cache */

typedef struct sides {
	tsr_nest kept, summed;
	const tsr_stmt *let, *store;
	tsr_acc acc;
	tsr_expr *value;
	tsr_prec prec;
} sides;

/* An element of which each group has some numbers side by side, groups side by side, and places outside of them. */
static bool in_groups(const tsr_loops *l, const sides *x, int64_t lanes, const tsr_expr *e)
{
	const tsr_stmt *last = x->summed.loop[x->summed.n - 1];
	tsr_expr *part[TSR_MOST_PARTS];
	bool some = false;
	if (e->kind == TSR_EXPR_LOAD) {
		const tsr_buffer *b = l->buffers.at[e->load.buffer];
		const tsr_stmt *group = b->rank > 1 ? tsr_nest_bare(&x->kept, &e->load.index[b->rank - 2]) : NULL;
		int64_t all = group && tsr_size_is_const(group->loop.extent) ? group->loop.extent.k * last->loop.extent.k : 0;
		some = all > 0 && all % lanes == 0 && all <= MOST
			&& tsr_lin_bare(&e->load.index[b->rank - 1], last->loop.sym) && tsr_size_is_const(b->dims[b->rank - 1]) && b->dims[b->rank - 1].k == last->loop.extent.k;
	}
	for (uint32_t i = tsr_expr_parts(e, part); i-- > 0 && !some;)
		some = in_groups(l, x, lanes, part[i]);
	return some;
}

/* A product of which one factor has no loop of its own for some results is a contraction's. */
static bool is_product(const tsr_loops *l, const sides *x)
{
	const tsr_expr *e = x->value;
	if (e->kind != TSR_EXPR_OP || e->op.op != TSR_OP_MUL)
		return false;
	for (uint32_t i = 0; i < x->kept.n; i++)
		if (!tsr_expr_mentions(l, e->op.args[0], x->kept.loop[i]->loop.sym) || !tsr_expr_mentions(l, e->op.args[1], x->kept.loop[i]->loop.sym))
			return true;
	return false;
}

static bool look(const tsr_loops *l, int64_t lanes, const tsr_stmt *kernel, sides *x)
{
	if (kernel->kind != TSR_STMT_KERNEL)
		return false;
	*x = (sides){ .kept = tsr_nest_of((tsr_stmts *)&kernel->kernel.body) };
	const tsr_stmts *body = x->kept.body;
	if (!x->kept.n || body->n != 3 || body->at[0]->kind != TSR_STMT_LET || body->at[1]->kind != TSR_STMT_FOR || body->at[2]->kind != TSR_STMT_STORE)
		return false;
	tsr_stmts loops = { &body->at[1], 1, 1 };
	x->let = body->at[0], x->store = body->at[2], x->summed = tsr_nest_of(&loops);
	x->acc = x->summed.body->n == 1 ? tsr_collecting(x->summed.body->at[0], x->let->let.local, &x->value) : TSR_ACCS;
	if (x->acc == TSR_ACCS || x->summed.n < 2 || !tsr_expr_is_local(x->store->store.value, x->let->let.local) || x->let->let.value->kind != TSR_EXPR_CONST)
		return false;
	x->prec = x->let->let.prec;
	if (tsr_prec_bytes(x->prec) != 4)
		return false;
	int64_t outside = 1;
	for (uint32_t i = 0; i < x->kept.n; i++)
		if (x->kept.loop[i]->loop.how != TSR_FOR_PARALLEL)
			return false;
	for (uint32_t i = 0; i + 1 < x->summed.n; i++)
		outside *= tsr_size_is_const(x->summed.loop[i]->loop.extent) ? x->summed.loop[i]->loop.extent.k : ENOUGH + 1;
	tsr_size last = x->summed.loop[x->summed.n - 1]->loop.extent;
	return outside > ENOUGH && tsr_size_is_const(last) && last.k >= LEAST && last.k < lanes && lanes % last.k == 0 && !is_product(l, x) && in_groups(l, x, lanes, x->value);
}

/* ---- building ------------------------------------------------------------------------------------------------------------ */

/* What the first step makes: all loops that are kept, and the last one that is summed, are axes. */
typedef struct first { const tsr_buffer *b; tsr_lin *index; uint32_t n; tsr_stmt *loop[TSR_MOST_LOOPS]; } first;

static first first_of(tsr_pass *p, const sides *x)
{
	first f = { .n = x->kept.n + 1 };
	tsr_buffer *b = tsr_pass_buffer(p, p->l->buffers.at[x->store->store.buffer], "sides", x->prec, f.n);
	f.index = TSR_NEW_N(p->arena, tsr_lin, f.n);
	for (uint32_t i = 0; i < f.n; i++) {
		f.loop[i] = i < x->kept.n ? x->kept.loop[i] : x->summed.loop[x->summed.n - 1];
		b->dims[i] = f.loop[i]->loop.extent;
		f.index[i] = tsr_lin_add_sym(p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, f.loop[i]->loop.sym);
	}
	f.b = b;
	return f;
}

static tsr_stmt *write_first(tsr_pass *p, const sides *x, const first *f, tsr_stmt_kind kind, tsr_expr *value)
{
	tsr_stmt *s = tsr_stmt_new(p->arena, kind, x->store->span);
	s->store.buffer = f->b->id, s->store.index = f->index, s->store.value = value, s->store.acc = x->acc;
	return s;
}

static void build(tsr_pass *p, tsr_loop_unit *u, const tsr_stmt *kernel, const sides *x, tsr_stmts *out)
{
	first f = first_of(p, x);
	tsr_stmt *outside = tsr_kernel_like(p, kernel, "sides"), *inside = tsr_kernel_like(p, kernel, NULL), *let = tsr_stmt_new(p->arena, TSR_STMT_LET, x->let->span), *set = tsr_stmt_new(p->arena, TSR_STMT_SET, x->let->span);
	tsr_stmts *body = tsr_loops_into(p, &outside->kernel.body, f.n, f.loop, TSR_FOR_PARALLEL);
	tsr_push(p->arena, body, write_first(p, x, &f, TSR_STMT_STORE, tsr_expr_const(p->arena, tsr_acc_neutral(x->acc, x->prec))));
	body = tsr_loops_into(p, &outside->kernel.body, x->summed.n - 1, x->summed.loop, TSR_FOR_REDUCE);
	body = tsr_loops_into(p, body, f.n, f.loop, TSR_FOR_PARALLEL);
	tsr_push(p->arena, body, write_first(p, x, &f, TSR_STMT_UPDATE, x->value));

	body = tsr_loops_into(p, &inside->kernel.body, x->kept.n, x->kept.loop, TSR_FOR_PARALLEL);
	let->let = x->let->let;
	let->let.local = set->let.local = u->nlocals++, set->let.prec = x->prec;
	tsr_expr *s = tsr_expr_local(p->arena, let->let.local, x->prec);
	set->let.value = tsr_expr_op(p->arena, tsr_acc_get(x->acc)->op, x->prec, s, tsr_expr_load(p->arena, f.b, f.index), NULL);
	tsr_push(p->arena, body, let);
	tsr_stmts *within = tsr_loops_into(p, body, 1, &f.loop[f.n - 1], TSR_FOR_REDUCE);
	tsr_push(p->arena, within, set);
	tsr_stmt *store = tsr_stmt_new(p->arena, TSR_STMT_STORE, x->store->span);
	store->store = x->store->store, store->store.value = s;
	tsr_push(p->arena, body, store);
	tsr_push(p->arena, out, outside);
	tsr_push(p->arena, out, inside);
	p->changes++;
}

void tsr_pass_sides(tsr_pass *p)
{
	for (uint32_t i = 0; i < p->l->units.n; i++) {
		tsr_loop_unit *u = p->l->units.at[i];
		tsr_stmts out = { 0 };
		int64_t lanes = p->target->vector_bytes / 4;
		for (uint32_t at = 0; at < u->body.n; at++) {
			sides x;
			if (look(p->l, lanes, u->body.at[at], &x))
				build(p, u, u->body.at[at], &x, &out);
			else
				tsr_push(p->arena, &out, u->body.at[at]);
		}
		u->body = out;
	}
}
