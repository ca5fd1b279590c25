/* A result takes the place of an operand that dies with it: the same elements, one after the other.
 *
 *     for i { Y(i) = f(X(i), ...) }   and X is read no more           for i { X(i) = f(X(i), ...) }
 *
 * Of a kernel that is the first to touch Y and the last to touch X, both of the same extents and precision: the loops around them are
 * followed inwards as long as one statement holds both.  Then either X is done with in an iteration before Y is stored,
 * or it is one store, which reads X where it stores Y.  Iterations do not meet: each loop is, bare, the same axis's index of all
 * accesses to X and Y inside it.
 *
 * So less memory is alive, less travels, and what a strip keeps is smaller.  X and Y become one buffer for all passes, since a kernel
 * is told that its buffers do not alias.  Twice: before strips are formed only a contraction's result is given up, or what has taken its
 * place; of the rest it is not yet known where it will lie.  In the end any value is, which remat.c then takes for one that is not computed
 * again.  Requires rows, which shrinks what lives in one kernel. */
#include "pass.h"

typedef struct reuse {
	tsr_pass *p;
	tsr_arena *scratch;
	tsr_loop_unit *unit;
	tsr_body_uses uses;
	const bool *exposed;
	uint32_t *units;             /* per buffer: how many units touch it */
	uint32_t *first, *last;      /* of this one, the first and last statement that does */
	tsr_buffer_id x, y, *to;
	bool any;                    /* X may be any value, not a product only */
} reuse;

static bool touches(const reuse *r, const tsr_stmt *s, tsr_buffer_id b)
{
	tsr_uses uses = { 0 };
	tsr_stmt_uses(r->scratch, s, &uses);
	tsr_use use = tsr_uses_of(&uses, b);
	return use.loads || tsr_use_writes(use);
}

/* All accesses to X and Y inside the loop have it, bare, on one axis. */
static bool apart(const reuse *r, const tsr_stmt *loop)
{
	tsr_accesses in = { .a = r->scratch };
	tsr_stmt_accesses(loop, &in);
	if (in.unknown || in.data)
		return false;
	for (uint32_t axis = 0; axis < r->p->l->buffers.at[r->x]->rank; axis++) {
		bool all = true;
		for (uint32_t i = 0; all && i < in.v.n; i++)
			all = (in.v.at[i].buffer != r->x && in.v.at[i].buffer != r->y) || tsr_lin_bare(&in.v.at[i].index[axis], loop->loop.sym);
		if (all)
			return true;
	}
	return false;
}

/* The store into Y reads X nowhere else than there. */
static bool in_place(const reuse *r, const tsr_stmt *s)
{
	tsr_accesses in = { .a = r->scratch };
	if (s->kind != TSR_STMT_STORE || s->store.buffer != r->y)
		return false;
	tsr_stmt_accesses(s, &in);
	for (uint32_t i = 0; i < in.v.n; i++)
		for (uint32_t axis = 0; in.v.at[i].buffer == r->x && axis < r->p->l->buffers.at[r->x]->rank; axis++)
			if (!tsr_lin_equal(in.v.at[i].index[axis], s->store.index[axis]))
				return false;
	return true;
}

/* What stands before it each thread does for itself, when others may have stored parts already (kernel/turns.c). */
static bool taken_in_turns(const tsr_stmt *s) { return s->kind == TSR_STMT_FOR && s->loop.turns == TSR_TURNS_TAKEN; }

/* Nothing that these statements read of X is stored into Y before, at any iteration. */
static bool may(const reuse *r, const tsr_stmts *body)
{
	uint32_t last = 0, first = body->n;
	for (uint32_t i = 0; i < body->n; i++) {
		if (touches(r, body->at[i], r->x))
			last = i;
		if (first == body->n && touches(r, body->at[i], r->y))
			first = i;
	}
	if (last != first)
		return last < first && !taken_in_turns(body->at[first]);
	const tsr_stmt *s = body->at[first];
	if (s->kind != TSR_STMT_FOR)
		return in_place(r, s);
	bool engine = s->loop.contraction && s->loop.contraction->schedule.mr;
	return !engine && apart(r, s) && may(r, &s->loop.body);
}

/* ---- which --------------------------------------------------------------------------------------------------------------- */

/* Its contents matter in this unit alone, between its first and its last statement. */
static bool passing(const reuse *r, tsr_buffer_id b)
{
	const tsr_buffer *x = r->p->l->buffers.at[b];
	return !tsr_buffer_kept(x) && !x->returned && !x->row && x->home != TSR_HOME_THREAD && !r->exposed[b] && r->units[b] == 1 && x->rank > 0;
}

static bool same_form(const tsr_buffer *x, const tsr_buffer *y)
{
	bool same = x->prec == y->prec && x->rank == y->rank;
	for (uint32_t i = 0; same && i < x->rank; i++)
		same = tsr_extent_equal(x->dims[i], y->dims[i]);
	return same;
}

/* The engine computes it. */
static bool product(const reuse *r, uint32_t at)
{
	const tsr_stmt *k = r->unit->body.at[at];
	const tsr_stmt *loop = k->kind == TSR_STMT_KERNEL && k->kernel.body.n == 1 ? k->kernel.body.at[0] : NULL;
	return loop && loop->kind == TSR_STMT_FOR && loop->loop.contraction && loop->loop.contraction->schedule.mr;
}

static bool found(reuse *r, uint32_t at)
{
	const tsr_uses *u = &r->uses.at[at];
	const tsr_stmt *kernel = r->unit->body.at[at];
	tsr_stmts one = { kernel->kind == TSR_STMT_KERNEL ? kernel->kernel.body.at : NULL, 1, 1 };
	if (!one.at || kernel->kernel.body.n != 1 || one.at[0]->kind != TSR_STMT_FOR)
		return false;
	for (uint32_t i = 0; i < u->v.n; i++)
		for (uint32_t j = 0; j < u->v.n; j++) {
			r->x = u->v.at[i].buffer, r->y = u->v.at[j].buffer;
			if (r->x != r->y && r->last[r->x] == at && r->first[r->x] < at && (r->any || product(r, r->first[r->x])) && r->first[r->y] == at
				&& passing(r, r->x) && passing(r, r->y)
				&& same_form(r->p->l->buffers.at[r->x], r->p->l->buffers.at[r->y]) && may(r, &one))
				return true;
		}
	return false;
}

/* ---- doing it ----------------------------------------------------------------------------------------------------------- */

static void take_place(reuse *r, uint32_t at)
{
	for (uint32_t b = 0; b < r->p->l->buffers.n; b++)
		r->to[b] = b == r->y ? r->x : b;
	for (uint32_t i = at; i <= r->last[r->y]; i++) {
		tsr_use use = tsr_uses_of(&r->uses.at[i], r->y);
		if (!use.loads && !tsr_use_writes(use))
			continue;
		tsr_stmt_rename(r->p, r->unit->body.at[i], r->to);
		tsr_body_uses_renew(&r->uses, i);
	}
	r->last[r->x] = r->last[r->y];
	tsr_pass_note(r->p, "%s: %s takes the place of %s", r->unit->name, r->p->l->buffers.at[r->y]->name, r->p->l->buffers.at[r->x]->name);
	r->p->changes++;
}

static void everywhere(tsr_pass *p, bool any)
{
	reuse r = { .p = p, .any = any, .scratch = tsr_arena_new() };
	uint32_t n = p->l->buffers.n + 1;
	tsr_body_uses *uses = TSR_NEW_N(r.scratch, tsr_body_uses, p->l->units.n + 1);
	r.units = TSR_NEW_N(r.scratch, uint32_t, n), r.first = TSR_NEW_N(r.scratch, uint32_t, n), r.last = TSR_NEW_N(r.scratch, uint32_t, n);
	r.to = TSR_NEW_N(r.scratch, tsr_buffer_id, n);
	r.exposed = tsr_exposed_of(p->l, r.scratch);
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		bool *seen = TSR_NEW_N(r.scratch, bool, n);
		tsr_body_uses_make(&uses[u], r.scratch, &p->l->units.at[u]->body);
		for (uint32_t i = 0; i < p->l->units.at[u]->body.n; i++)
			for (uint32_t j = 0; j < uses[u].at[i].v.n; j++) {
				tsr_buffer_id b = uses[u].at[i].v.at[j].buffer;
				r.units[b] += !seen[b];
				seen[b] = true;
			}
	}
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		r.unit = p->l->units.at[u];
		r.uses = uses[u];
		tsr_body_uses_ends(&r.uses, r.first, r.last);
		for (uint32_t at = 0; at < r.unit->body.n; at++)
			while (found(&r, at))
				take_place(&r, at);
	}
	tsr_arena_free(r.scratch);
}

void tsr_pass_reuse(tsr_pass *p) { everywhere(p, false); }
void tsr_pass_inplace(tsr_pass *p) { everywhere(p, true); }
