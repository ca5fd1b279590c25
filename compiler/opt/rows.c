/* Row temporaries: a value that lives only inside one iteration of a joined nest needs no more room than that iteration.
 *
 * In a kernel that is one nest around several statements, where X is touched by no other kernel of the unit and every index of X
 * on some axis is the bare loop i around them all: the index becomes 0, so that the row is used again and again and stays in the nearest
 * cache.  X must be a value or gradient that the program level does not see and that no unit reads before storing it: what stands before a read
 * in the same iteration of the loops that both share has stored the element then (exposed.c).  Only where loops remain inside, since a single
 * element would tie the iterations together and cost their vectors.
 *
 * Makes the loop serial: its iterations share the row, unless threads.c gives each thread a row of its own.  Requires fuse. */
#include "pass.h"

typedef struct rows { tsr_pass *p; tsr_arena *scratch; const bool *exposed; } rows;

static bool has_loop(const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++)
		if (body->at[i]->kind == TSR_STMT_FOR)
			return true;
	return false;
}

/* ---- shrinking ------------------------------------------------------------------------------------------------------------- */

typedef struct shrink { rows *r; const tsr_nest *nest; tsr_buffer_id x; uint64_t axes; bool change; } shrink;

/* Keeps in `axes` those on which this index is a bare loop of the nest; or, on change, sets them to 0. */
static void index_seen(shrink *s, tsr_lin *index)
{
	uint32_t rank = s->r->p->l->buffers.at[s->x]->rank;
	for (uint32_t a = 0; a < rank; a++) {
		if (!(s->axes >> a & 1))
			continue;
		if (s->change)
			index[a] = tsr_lin_const(0);
		else if (tsr_nest_bare(s->nest, &index[a]) == NULL)
			s->axes &= ~(UINT64_C(1) << a);
	}
}

static tsr_expr *expr_seen(void *user, tsr_expr *e)
{
	shrink *s = user;
	if (e->kind == TSR_EXPR_LOAD && e->load.buffer == s->x)
		index_seen(s, e->load.index);
	return e;
}

static void stores_seen(shrink *s, tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *t = body->at[i];
		if (t->kind == TSR_STMT_FOR)
			stores_seen(s, &t->loop.body);
		else if (t->kind == TSR_STMT_IF)
			stores_seen(s, &t->cond.body);
		else if ((t->kind == TSR_STMT_STORE || t->kind == TSR_STMT_UPDATE) && t->store.buffer == s->x) {
			uint32_t rank = s->r->p->l->buffers.at[s->x]->rank;
			tsr_lin *own = TSR_NEW_N(s->r->p->arena, tsr_lin, rank + 1);
			for (uint32_t a = 0; a < rank; a++)
				own[a] = t->store.index[a];
			t->store.index = own;
			index_seen(s, own);
		}
	}
}

/* Every access names, on an axis that shrinks, the loop that the first store names there. */
typedef struct sameness { shrink *s; const tsr_stmt *first; bool same; } sameness;

static tsr_expr *expr_same(void *user, tsr_expr *e)
{
	sameness *m = user;
	if (e->kind == TSR_EXPR_LOAD && e->load.buffer == m->s->x)
		for (uint32_t a = 0; a < m->s->r->p->l->buffers.at[m->s->x]->rank; a++)
			if (m->s->axes >> a & 1)
				m->same &= tsr_lin_equal(e->load.index[a], m->first->store.index[a]);
	return e;
}

static void stores_same(sameness *m, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *t = body->at[i];
		if (t->kind == TSR_STMT_FOR)
			stores_same(m, &t->loop.body);
		else if (t->kind == TSR_STMT_IF)
			stores_same(m, &t->cond.body);
		else if ((t->kind == TSR_STMT_STORE || t->kind == TSR_STMT_UPDATE) && t->store.buffer == m->s->x)
			for (uint32_t a = 0; a < m->s->r->p->l->buffers.at[m->s->x]->rank; a++)
				if (m->s->axes >> a & 1)
					m->same &= tsr_lin_equal(t->store.index[a], m->first->store.index[a]);
	}
}

static bool same_loops(shrink *s, tsr_stmt *kernel, const tsr_stmt *first)
{
	sameness m = { s, first, true };
	tsr_stmt_rewrite(kernel, expr_same, &m);
	stores_same(&m, &kernel->kernel.body);
	return m.same;
}

static const tsr_stmt *first_store(const tsr_stmts *body, tsr_buffer_id x)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *t = body->at[i], *found = NULL;
		if (t->kind == TSR_STMT_FOR)
			found = first_store(&t->loop.body, x);
		else if (t->kind == TSR_STMT_STORE && t->store.buffer == x)
			found = t;
		if (found)
			return found;
	}
	return NULL;
}

static void shrink_in(rows *r, tsr_name unit, tsr_stmt *kernel, const tsr_nest *nest, tsr_buffer_id x)
{
	const tsr_buffer *b = r->p->l->buffers.at[x];
	if (b->rank < 2 || b->rank > 63)
		return;
	shrink s = { r, nest, x, (UINT64_C(1) << b->rank) - 1, false };
	tsr_stmt_rewrite(kernel, expr_seen, &s);
	stores_seen(&s, &kernel->kernel.body);
	bool row = false;
	for (uint32_t a = 0; a < b->rank; a++)
		row |= !(s.axes >> a & 1) && !(tsr_size_is_const(b->dims[a]) && b->dims[a].k == 1);
	const tsr_stmt *first = first_store(&kernel->kernel.body, x);
	if (!s.axes || !row || !first || !same_loops(&s, kernel, first))
		return;
	s.change = true;
	tsr_stmt_rewrite(kernel, expr_seen, &s);
	stores_seen(&s, &kernel->kernel.body);
	for (uint32_t i = 0; i < nest->n; i++)
		nest->loop[i]->loop.how = TSR_FOR_SERIAL;
	r->p->l->buffers.at[x]->row = true;
	r->p->changes++;
	tsr_pass_note(r->p, "%s: %s is kept as one row inside %s", unit, b->name, kernel->kernel.name);
}

static void unit_rows(rows *r, tsr_loop_unit *u)
{
	tsr_body_uses uses;
	tsr_body_uses_make(&uses, r->scratch, &u->body);
	uint32_t *kernels = TSR_NEW_N(r->scratch, uint32_t, r->p->l->buffers.n + 1);
	for (uint32_t i = 0; i < u->body.n; i++)
		for (uint32_t j = 0; j < uses.at[i].v.n; j++)
			kernels[uses.at[i].v.at[j].buffer]++;
	for (uint32_t i = 0; i < u->body.n; i++) {
		tsr_stmt *k = u->body.at[i];
		if (k->kind != TSR_STMT_KERNEL)
			continue;
		tsr_nest nest = tsr_nest_of(&k->kernel.body);
		if (nest.n == 0 || nest.body->n < 2 || !has_loop(nest.body))
			continue;
		for (uint32_t j = 0; j < uses.at[i].v.n; j++) {
			tsr_buffer_id x = uses.at[i].v.at[j].buffer;
			if (kernels[x] == 1 && tsr_use_writes(uses.at[i].v.at[j]) && !r->exposed[x] && !tsr_buffer_kept(r->p->l->buffers.at[x]))
				shrink_in(r, u->name, k, &nest, x);
		}
	}
}

tsr_size tsr_row_apart(tsr_prec prec, tsr_size row)
{
	enum { MEETING = 1024, LINE = 64 };
	int64_t bytes = tsr_prec_bytes(prec);
	return row.k > 0 && row.k * bytes % MEETING == 0 ? tsr_size_const(row.k + LINE / bytes) : row;
}

void tsr_pass_rows(tsr_pass *p)
{
	rows r = { p, tsr_arena_new(), NULL };
	r.exposed = tsr_exposed_of(p->l, r.scratch);
	for (uint32_t u = 0; u < p->l->units.n; u++)
		unit_rows(&r, p->l->units.at[u]);
	tsr_arena_free(r.scratch);
}
