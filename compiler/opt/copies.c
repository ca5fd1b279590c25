/* A value and what a kernel copies it into, whole, are one buffer where both are the same for as long as the value is read.
 *
 *     for i { X(i) = f(i)  X(i) += g(i)  Y(i) = X(i) }   ..X is read..   for i { Y(i) += h(i) }
 *     for i { Y(i) = f(i)  Y(i) += g(i) }                ..Y is read..   for i { Y(i) += h(i) }
 *
 * So gradients are copied: a sum's is that of its operand, too, to which the operand's other readers then add theirs.  A batch
 * normalisation stores one array less, and a transformer carries one gradient through all blocks where each had two.
 *
 * X is a temporary that behind the kernel is only read: by kernels, none of which writes Y or comes behind one that does.  From
 * the first statement that touches X to the kernel's end nothing but the copy touches Y; and all that Y was is gone, since each
 * of the copy's loops is, bare, the index of an axis.  When the kernel ends both are the same: what it stores into X comes
 * before the copy, at the same iteration of the loops that both share, each of which is the index of the same axis.  Where Y
 * lasts no check stands there: when it fails, Y would have changed already.
 *
 * All other statements stay what they are, and results keep their bits.  Requires fuse: a kernel that adds to Y joins the one
 * that copies where it can, and both are needed then; it could not pass those that read X once these read Y. */
#include "pass.h"

typedef struct copies {
	tsr_pass *p;
	tsr_arena *scratch;
	tsr_loop_unit *unit;
	tsr_body_uses uses;
	const bool *exposed;
	uint32_t *first, *last;      /* per buffer: the first and last statement that touches it */
	tsr_nest path;               /* the loops around what is looked at */
	const tsr_stmt *copy;
	tsr_stmt *owner[TSR_MOST_LOOPS];     /* per axis, which of the loops walks it */
	tsr_buffer_id x, y, *to;
} copies;

static bool touched(tsr_use u) { return u.loads || tsr_use_writes(u); }

/* ---- the kernel ---------------------------------------------------------------------------------------------------------- */

/* Each element of Y becomes that of X, once. */
static bool is_copy(copies *c, const tsr_stmt *s)
{
	const tsr_expr *e = s->kind == TSR_STMT_STORE ? s->store.value : NULL;
	if (!e || e->kind != TSR_EXPR_LOAD)
		return false;
	const tsr_buffer *x = c->p->l->buffers.at[e->load.buffer], *y = c->p->l->buffers.at[s->store.buffer];
	uint32_t owned = 0;
	if (x == y || x->prec != y->prec || x->rank != y->rank || !tsr_nest_covers(c->p->l, &c->path, s, c->owner))
		return false;
	for (uint32_t i = 0; i < y->rank; i++) {
		if (!tsr_extent_equal(x->dims[i], y->dims[i]) || !tsr_lin_equal(e->load.index[i], s->store.index[i]))
			return false;
		owned += c->owner[i] != NULL;
	}
	c->copy = s, c->x = x->id, c->y = y->id;
	return owned == c->path.n;
}

static bool writes_x(const copies *c, const tsr_stmt *s)
{
	tsr_uses uses = { 0 };
	tsr_stmt_uses(c->scratch, s, &uses);
	return tsr_use_writes(tsr_uses_of(&uses, c->x));
}

/* All that the loop stores into X it stores where it is on its own axis. */
static bool apart(const copies *c, const tsr_stmt *loop)
{
	tsr_accesses in = { .a = c->scratch };
	uint32_t axis = 0;
	tsr_stmt_accesses(loop, &in);
	while (c->owner[axis] != loop)
		axis++;
	for (uint32_t i = 0; i < in.v.n; i++)
		if (in.v.at[i].buffer == c->x && in.v.at[i].write && !tsr_lin_bare(&in.v.at[i].index[axis], loop->loop.sym))
			return false;
	return !in.unknown;
}

/* No element of X is stored once it has been copied. */
static bool settled(const copies *c, const tsr_stmts *body)
{
	for (uint32_t depth = 0; depth <= c->path.n; depth++) {
		const tsr_stmt *own = depth < c->path.n ? c->path.loop[depth] : c->copy;
		uint32_t at = 0;
		while (body->at[at] != own)
			at++;
		while (++at < body->n)
			if (writes_x(c, body->at[at]))
				return false;
		if (own == c->copy)
			return true;
		if (!apart(c, own))
			return false;
		body = &own->loop.body;
	}
	return false;
}

/* ---- the unit ------------------------------------------------------------------------------------------------------------ */

static bool plain(const tsr_buffer *b) { return !b->row && !b->scratch && !b->asked && b->home != TSR_HOME_THREAD; }

/* Its contents matter in one run of a unit alone, between the first and the last statement that touches it there. */
static bool passing(const copies *c, tsr_buffer_id b)
{
	const tsr_buffer *x = c->p->l->buffers.at[b];
	return plain(x) && !tsr_buffer_kept(x) && !x->returned && !c->exposed[b];
}

static bool may_stop(const tsr_stmt *s) { return s->kind != TSR_STMT_KERNEL || tsr_stmts_check(&s->kernel.body); }

/* Nobody needs what Y was before the kernel at `at` ends, nor afterwards that X is another one. */
static bool same_while_read(const copies *c, uint32_t at)
{
	bool lasts = tsr_buffer_kept(c->p->l->buffers.at[c->y]);
	for (uint32_t i = c->first[c->x]; i <= c->last[c->x]; i++) {
		const tsr_stmt *s = c->unit->body.at[i];
		tsr_use x = tsr_uses_of(&c->uses.at[i], c->x), y = tsr_uses_of(&c->uses.at[i], c->y);
		bool fine = i < at ? !touched(y) : i == at ? y.stores == 1 && !y.loads && !y.updates : !tsr_use_writes(x) && !tsr_use_writes(y);
		if (!fine || (touched(x) && s->kind != TSR_STMT_KERNEL) || (lasts && i <= at && may_stop(s)))
			return false;
	}
	return true;
}

static bool found_in(copies *c, uint32_t at, tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (is_copy(c, s) && passing(c, c->x) && plain(c->p->l->buffers.at[c->y]) && c->last[c->x] > at && same_while_read(c, at)
			&& settled(c, &c->unit->body.at[at]->kernel.body))
			return true;
		if (s->kind != TSR_STMT_FOR || s->loop.contraction || s->loop.from || s->loop.until || c->path.n == TSR_MOST_LOOPS)
			continue;
		c->path.loop[c->path.n++] = s;
		if (found_in(c, at, &s->loop.body))
			return true;
		c->path.n--;
	}
	return false;
}

/* ---- doing it ------------------------------------------------------------------------------------------------------------ */

/* The copy goes, and loops that held nothing else. */
static void take_out(tsr_stmts *body, const tsr_stmt *copy)
{
	for (uint32_t i = body->n; i-- > 0;) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR)
			take_out(&s->loop.body, copy);
		if (s == copy || (s->kind == TSR_STMT_FOR && s->loop.body.n == 0))
			tsr_stmts_remove(body, i);
	}
}

static void become_one(copies *c, uint32_t at)
{
	tsr_stmts *kernel = &c->unit->body.at[at]->kernel.body;
	for (uint32_t b = 0; b < c->p->l->buffers.n; b++)
		c->to[b] = b == c->x ? c->y : b;
	take_out(kernel, c->copy);
	for (uint32_t i = c->first[c->x]; i <= c->last[c->x]; i++) {
		if (!touched(tsr_uses_of(&c->uses.at[i], c->x)))
			continue;
		tsr_stmt_rename(c->p, c->unit->body.at[i], c->to);
		tsr_body_uses_renew(&c->uses, i);
	}
	if (kernel->n == 0)
		tsr_body_remove(&c->uses, at);
	tsr_body_uses_ends(&c->uses, c->first, c->last);
	tsr_pass_note(c->p, "%s: %s and its copy %s are one", c->unit->name, c->p->l->buffers.at[c->x]->name, c->p->l->buffers.at[c->y]->name);
	c->p->changes++;
}

void tsr_pass_copies(tsr_pass *p)
{
	copies c = { .p = p, .scratch = tsr_arena_new() };
	uint32_t n = p->l->buffers.n + 1;
	c.first = TSR_NEW_N(c.scratch, uint32_t, n), c.last = TSR_NEW_N(c.scratch, uint32_t, n), c.to = TSR_NEW_N(c.scratch, tsr_buffer_id, n);
	c.exposed = tsr_exposed_of(p->l, c.scratch);
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		c.unit = p->l->units.at[u];
		tsr_body_uses_make(&c.uses, c.scratch, &c.unit->body);
		tsr_body_uses_ends(&c.uses, c.first, c.last);
		for (uint32_t at = 0; at < c.unit->body.n;) {
			const tsr_stmt *k = c.unit->body.at[at];
			c.path.n = 0;
			if (k->kind == TSR_STMT_KERNEL && found_in(&c, at, (tsr_stmts *)&k->kernel.body))
				become_one(&c, at);
			else
				at++;
		}
	}
	tsr_arena_free(c.scratch);
}
