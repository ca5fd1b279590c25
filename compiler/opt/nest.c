/* Nests and uses: how passes look at loops. */
#include "pass.h"

tsr_nest tsr_nest_of(tsr_stmts *body)
{
	tsr_nest n = { .body = body };
	while (n.body->n == 1 && n.body->at[0]->kind == TSR_STMT_FOR && n.n < TSR_MOST_LOOPS) {
		n.loop[n.n++] = n.body->at[0];
		n.body = &n.body->at[0]->loop.body;
	}
	return n;
}

tsr_stmt *tsr_kernel_like(tsr_pass *p, const tsr_stmt *kernel, const char *what)
{
	tsr_stmt *k = tsr_stmt_new(p->arena, TSR_STMT_KERNEL, kernel->span);
	k->kernel.name = what ? tsr_intern(p->l->tc->names, tsr_format(p->arena, "%s.%s", kernel->kernel.name, what)) : kernel->kernel.name;
	return k;
}

tsr_stmt *tsr_nest_single(const tsr_stmt *kernel, tsr_nest *out)
{
	if (kernel->kind != TSR_STMT_KERNEL)
		return NULL;
	*out = tsr_nest_of((tsr_stmts *)&kernel->kernel.body);
	return out->body->n == 1 ? out->body->at[0] : NULL;
}

tsr_stmt *tsr_nest_loop(const tsr_nest *n, uint32_t sym)
{
	for (uint32_t i = 0; i < n->n; i++)
		if (n->loop[i]->loop.sym == sym)
			return n->loop[i];
	return NULL;
}

const tsr_stmt *tsr_stmt_loop(const tsr_stmt *s, uint32_t sym)
{
	const tsr_stmts *body = tsr_stmt_inside(s);
	if (s->kind == TSR_STMT_FOR && s->loop.sym == sym)
		return s;
	for (uint32_t i = 0; body && i < body->n; i++) {
		const tsr_stmt *found = tsr_stmt_loop(body->at[i], sym);
		if (found)
			return found;
	}
	return NULL;
}

tsr_stmt *tsr_nest_bare(const tsr_nest *n, const tsr_lin *index)
{
	if (index->offset || index->base.k || index->base.nterms || index->n != 1 || index->terms[0].coef != 1
		|| index->terms[0].kind != TSR_LSYM_LOOP)
		return NULL;
	return tsr_nest_loop(n, index->terms[0].id);
}

bool tsr_nest_covers(const tsr_loops *l, const tsr_nest *n, const tsr_stmt *store, tsr_stmt **owner)
{
	const tsr_buffer *b = l->buffers.at[store->store.buffer];
	tsr_stmt *mine[TSR_MOST_LOOPS];
	if (b->rank > TSR_MOST_LOOPS)
		return false;
	for (uint32_t axis = 0; axis < b->rank; axis++) {
		const tsr_lin *x = &store->store.index[axis];
		mine[axis] = tsr_nest_bare(n, x);
		if (!mine[axis] && (x->n || x->offset || x->base.k || x->base.nterms || !tsr_size_is_const(b->dims[axis]) || b->dims[axis].k != 1))
			return false;
		if (mine[axis] && !tsr_extent_equal(mine[axis]->loop.extent, b->dims[axis]))
			return false;
		for (uint32_t other = 0; mine[axis] && other < axis; other++)
			if (mine[other] == mine[axis])
				return false;
		if (owner)
			owner[axis] = mine[axis];
	}
	return true;
}

/* ---- uses ----------------------------------------------------------------------------------------------------------- */

static tsr_use *entry(tsr_arena *a, tsr_uses *out, tsr_buffer_id b)
{
	for (uint32_t i = 0; i < out->v.n; i++)
		if (out->v.at[i].buffer == b)
			return &out->v.at[i];
	tsr_use fresh = { .buffer = b };
	tsr_push(a, &out->v, fresh);
	return &out->v.at[out->v.n - 1];
}

void tsr_expr_uses(tsr_arena *a, const tsr_expr *e, tsr_uses *out)
{
	tsr_expr *part[TSR_MOST_PARTS];
	if (e->kind == TSR_EXPR_LOAD)
		entry(a, out, e->load.buffer)->loads++;
	for (uint32_t i = 0, n = tsr_expr_parts(e, part); i < n; i++)
		tsr_expr_uses(a, part[i], out);
}

void tsr_stmt_uses(tsr_arena *a, const tsr_stmt *s, tsr_uses *out)
{
	const tsr_stmts *body = NULL;
	switch (s->kind) {
	case TSR_STMT_FOR: body = &s->loop.body; break;
	case TSR_STMT_IF: body = &s->cond.body; break;
	case TSR_STMT_KERNEL: body = &s->kernel.body; break;
	case TSR_STMT_STORE: case TSR_STMT_UPDATE:
		tsr_expr_uses(a, s->store.value, out);
		if (s->kind == TSR_STMT_STORE)
			entry(a, out, s->store.buffer)->stores++;
		else
			entry(a, out, s->store.buffer)->updates++;
		break;
	case TSR_STMT_LET: case TSR_STMT_SET: tsr_expr_uses(a, s->let.value, out); break;
	case TSR_STMT_LETSYM: tsr_expr_uses(a, s->letsym.value, out); break;
	case TSR_STMT_RANDOM: entry(a, out, s->random.buffer)->stores++; break;
	case TSR_STMT_CHECK: case TSR_STMT_KINDS: break;
	}
	for (uint32_t i = 0; body && i < body->n; i++)
		tsr_stmt_uses(a, body->at[i], out);
}

tsr_use tsr_uses_of(const tsr_uses *u, tsr_buffer_id b)
{
	for (uint32_t i = 0; i < u->v.n; i++)
		if (u->v.at[i].buffer == b)
			return u->v.at[i];
	return (tsr_use){ .buffer = b };
}

void tsr_body_uses_make(tsr_body_uses *u, tsr_arena *a, tsr_stmts *body)
{
	*u = (tsr_body_uses){ a, body, TSR_NEW_N(a, tsr_uses, body->n + 1) };
	for (uint32_t i = 0; i < body->n; i++)
		tsr_stmt_uses(a, body->at[i], &u->at[i]);
}

void tsr_body_uses_ends(const tsr_body_uses *u, uint32_t *first, uint32_t *last)
{
	for (uint32_t i = u->body->n; i-- > 0;)
		for (uint32_t j = 0; j < u->at[i].v.n; j++)
			first[u->at[i].v.at[j].buffer] = i;
	for (uint32_t i = 0; i < u->body->n; i++)
		for (uint32_t j = 0; j < u->at[i].v.n; j++)
			last[u->at[i].v.at[j].buffer] = i;
}

void tsr_body_uses_renew(tsr_body_uses *u, uint32_t at)
{
	u->at[at].v.n = 0;
	tsr_stmt_uses(u->a, u->body->at[at], &u->at[at]);
}

void tsr_body_remove(tsr_body_uses *u, uint32_t at)
{
	for (uint32_t i = at + 1; i < u->body->n; i++)
		u->at[i - 1] = u->at[i];
	u->at[u->body->n - 1] = (tsr_uses){ 0 };
	tsr_stmts_remove(u->body, at);
}

int64_t tsr_clearing_before(const tsr_loops *l, const tsr_body_uses *u, uint32_t at, tsr_buffer_id x, double neutral)
{
	for (uint32_t i = at; i-- > 0;) {
		tsr_use use = tsr_uses_of(&u->at[i], x);
		if (!use.loads && !tsr_use_writes(use))
			continue;
		tsr_nest n;
		const tsr_stmt *s = tsr_nest_single(u->body->at[i], &n);
		bool clears = s && s->kind == TSR_STMT_STORE && s->store.buffer == x && s->store.value->kind == TSR_EXPR_CONST
			&& (tsr_prec_is_float(s->store.value->prec) ? s->store.value->value.d : (double)s->store.value->value.i) == neutral
			&& tsr_nest_covers(l, &n, s, NULL);
		return clears ? (int64_t)i : -1;
	}
	return -1;
}

bool tsr_uses_meet(const tsr_uses *x, const tsr_uses *y)
{
	for (uint32_t i = 0; i < x->v.n; i++) {
		tsr_use a = x->v.at[i], b = tsr_uses_of(y, a.buffer);
		if ((b.loads || tsr_use_writes(b)) && (tsr_use_writes(a) || tsr_use_writes(b)))
			return true;
	}
	return false;
}

bool tsr_expr_reads(const tsr_expr *e, tsr_buffer_id b)
{
	tsr_expr *part[TSR_MOST_PARTS];
	bool found = e->kind == TSR_EXPR_LOAD && e->load.buffer == b;
	for (uint32_t i = 0, n = tsr_expr_parts(e, part); i < n && !found; i++)
		found = tsr_expr_reads(part[i], b);
	return found;
}

bool tsr_expr_reads_local(const tsr_expr *e, tsr_local_id id)
{
	tsr_expr *part[TSR_MOST_PARTS];
	bool found = e->kind == TSR_EXPR_LOCAL && e->local == id;
	for (uint32_t i = 0, n = tsr_expr_parts(e, part); i < n && !found; i++)
		found = tsr_expr_reads_local(part[i], id);
	return found;
}

bool tsr_expr_has_locals(const tsr_expr *e)
{
	tsr_expr *part[TSR_MOST_PARTS];
	bool found = e->kind == TSR_EXPR_LOCAL;
	for (uint32_t i = 0, n = tsr_expr_parts(e, part); i < n && !found; i++)
		found = tsr_expr_has_locals(part[i]);
	return found;
}

uint32_t tsr_expr_size(const tsr_expr *e)
{
	tsr_expr *part[TSR_MOST_PARTS];
	uint32_t size = 1;
	for (uint32_t i = 0, n = tsr_expr_parts(e, part); i < n; i++)
		size += tsr_expr_size(part[i]);
	return size;
}

/* ---- rewriting --------------------------------------------------------------------------------------------------------- */

tsr_expr *tsr_expr_rewrite(tsr_expr *e, tsr_rewrite f, void *user)
{
	switch (e->kind) {
	case TSR_EXPR_OP:
		for (uint32_t i = 0; i < tsr_op_get(e->op.op)->arity; i++)
			e->op.args[i] = tsr_expr_rewrite(e->op.args[i], f, user);
		break;
	case TSR_EXPR_CONVERT:
		e->converted = tsr_expr_rewrite(e->converted, f, user);
		break;
	case TSR_EXPR_LOOKUP:
		e->lookup.at = tsr_expr_rewrite(e->lookup.at, f, user);
		e->lookup.value = tsr_expr_rewrite(e->lookup.value, f, user);
		break;
	case TSR_EXPR_SELECT:
		e->select.inside = tsr_expr_rewrite(e->select.inside, f, user);
		e->select.outside = tsr_expr_rewrite(e->select.outside, f, user);
		break;
	case TSR_EXPR_LOAD: case TSR_EXPR_CONST: case TSR_EXPR_LOCAL: case TSR_EXPR_INDEX: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER:
	case TSR_EXPR_KINDS:
		break;
	}
	return f(user, e);
}

void tsr_stmt_rewrite(tsr_stmt *s, tsr_rewrite f, void *user)
{
	tsr_stmts *body = NULL;
	switch (s->kind) {
	case TSR_STMT_FOR: body = &s->loop.body; break;
	case TSR_STMT_IF: body = &s->cond.body; break;
	case TSR_STMT_KERNEL: body = &s->kernel.body; break;
	case TSR_STMT_STORE: case TSR_STMT_UPDATE: s->store.value = tsr_expr_rewrite(s->store.value, f, user); break;
	case TSR_STMT_LET: case TSR_STMT_SET: s->let.value = tsr_expr_rewrite(s->let.value, f, user); break;
	case TSR_STMT_LETSYM: s->letsym.value = tsr_expr_rewrite(s->letsym.value, f, user); break;
	case TSR_STMT_RANDOM: case TSR_STMT_CHECK: case TSR_STMT_KINDS: break;
	}
	for (uint32_t i = 0; body && i < body->n; i++)
		tsr_stmt_rewrite(body->at[i], f, user);
}

void tsr_stmts_remove(tsr_stmts *body, uint32_t at)
{
	for (uint32_t i = at + 1; i < body->n; i++)
		body->at[i - 1] = body->at[i];
	body->n--;
}

bool tsr_expr_mentions(const tsr_loops *l, const tsr_expr *e, uint32_t sym)
{
	tsr_expr *part[TSR_MOST_PARTS];
	bool found = e->kind == TSR_EXPR_LOCAL || (e->kind == TSR_EXPR_INDEX && tsr_lin_mentions(&e->index, sym));
	for (uint32_t i = 0; e->kind == TSR_EXPR_LOAD && i < l->buffers.at[e->load.buffer]->rank; i++)
		found |= tsr_lin_mentions(&e->load.index[i], sym);
	for (uint32_t i = 0; e->kind == TSR_EXPR_SELECT && i < e->select.n; i++)
		found |= tsr_lin_mentions(&e->select.ranges[i].index, sym);
	for (uint32_t i = 0, n = tsr_expr_parts(e, part); i < n && !found; i++)
		found = tsr_expr_mentions(l, part[i], sym);
	return found;
}

tsr_buffer *tsr_pass_buffer(tsr_pass *p, const tsr_buffer *from, const char *what, tsr_prec prec, uint32_t rank)
{
	tsr_buffer *b = TSR_NEW(p->arena, tsr_buffer);
	*b = (tsr_buffer){ .id = p->l->buffers.n, .kind = TSR_BUFFER_TEMP, .prec = prec, .rank = rank, .tensor = TSR_NONE };
	b->name = tsr_intern(p->l->tc->names, tsr_format(p->arena, "%s.%s%u", from->name, what, b->id));
	b->dims = TSR_NEW_N(p->arena, tsr_size, rank + 1);
	tsr_push(p->arena, &p->l->buffers, b);
	return b;
}

tsr_stmts *tsr_loops_into(tsr_pass *p, tsr_stmts *into, uint32_t n, tsr_stmt *const *like, tsr_for_kind how)
{
	for (uint32_t i = 0; i < n; i++) {
		tsr_stmt *s = tsr_stmt_new(p->arena, TSR_STMT_FOR, like[i]->span);
		s->loop.sym = like[i]->loop.sym;
		s->loop.name = like[i]->loop.name;
		s->loop.extent = like[i]->loop.extent;
		s->loop.how = how;
		tsr_push(p->arena, into, s);
		into = &s->loop.body;
	}
	return into;
}

void tsr_loop_exchange(tsr_stmt *x, tsr_stmt *y)
{
	tsr_stmts outer = x->loop.body, inner = y->loop.body;
	tsr_stmt kept = *x;
	*x = *y, *y = kept;
	x->loop.body = outer, y->loop.body = inner;
}

void tsr_nest_move(const tsr_nest *n, uint32_t sym, uint32_t place)
{
	for (uint32_t i = 0; i < place; i++)
		if (n->loop[i]->loop.sym == sym)
			tsr_loop_exchange(n->loop[i], n->loop[i + 1]);
}

tsr_stmt *tsr_loop_around(tsr_pass *p, tsr_stmt *body, const tsr_stmt *like, tsr_size extent, uint32_t sym)
{
	tsr_stmt *s = tsr_stmt_new(p->arena, TSR_STMT_FOR, like->span);
	s->loop.sym = sym;
	s->loop.name = like->loop.name;
	s->loop.extent = extent;
	s->loop.how = TSR_FOR_PARALLEL;
	tsr_push(p->arena, &s->loop.body, body);
	return s;
}
