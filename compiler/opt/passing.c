/* Sums that pass by: where one block of K takes the whole sum of a contraction, nothing waits in C for more, and a C that only its tail reads is
 * not stored:
 *
 *     let $s = 0  for k reduce { .. }  store C[i, j] = $s  store W[i, j] = W[i, j] - 0.1 $s       .. and C is read nowhere
 *     let $s = 0  for k reduce { .. }  store W[i, j] = W[i, j] - 0.1 $s
 *
 * Another store of the tail that lies as C did says where the sums belong.  Requires schedule, which chooses the blocks; behind strip, which
 * recognises anew what it cuts, and would not know the shorter nest. */
#include "pass.h"

typedef struct passing { tsr_pass *p; const tsr_loop_unit *unit; const bool *read; } passing;

static bool lies_like(const tsr_loops *l, const tsr_stmt *x, const tsr_stmt *y)
{
	const tsr_buffer *b = l->buffers.at[x->store.buffer], *c = l->buffers.at[y->store.buffer];
	bool same = b->rank == c->rank;
	for (uint32_t i = 0; same && i < b->rank; i++)
		same = tsr_extent_equal(b->dims[i], c->dims[i]) && tsr_lin_equal(x->store.index[i], y->store.index[i]);
	return same;
}

static void pass_by(const passing *x, tsr_stmt *nest)
{
	tsr_contraction *k = nest->loop.contraction;
	tsr_tail *t = k->tail;
	if (!t || t->stores.n < 2 || x->read[k->c] || tsr_buffer_kept(x->p->l->buffers.at[k->c]) || !tsr_contract_one_block(k))
		return;
	uint32_t like = 1;
	while (like < t->stores.n && !lies_like(x->p->l, t->stores.at[like], t->stores.at[0]))
		like++;
	if (like == t->stores.n)
		return;
	tsr_pass_note(x->p, "%s: the sums of %s pass by", x->unit->name, x->p->l->buffers.at[k->c]->name);
	tsr_stmts one = { &nest, 1, 1 };
	tsr_stmts_remove(tsr_nest_of(&one).body, 2 + t->lets.n);
	k->c = t->stores.at[like]->store.buffer;
	k->c_index = t->stores.at[like]->store.index;
	t->passing = true;
	tsr_stmts_remove(&t->stores, 0);
	x->p->changes++;
}

static void visit(const passing *x, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR && s->loop.contraction)
			pass_by(x, s);
		else if (s->kind == TSR_STMT_FOR || s->kind == TSR_STMT_KERNEL || s->kind == TSR_STMT_IF)
			visit(x, s->kind == TSR_STMT_FOR ? &s->loop.body : s->kind == TSR_STMT_KERNEL ? &s->kernel.body : &s->cond.body);
	}
}

static const bool *read_anywhere(const tsr_loops *l, tsr_arena *a)
{
	bool *read = TSR_NEW_N(a, bool, l->buffers.n + 1);
	for (uint32_t u = 0; u < l->units.n; u++)
		for (uint32_t i = 0; i < l->units.at[u]->body.n; i++) {
			tsr_uses uses = { 0 };
			tsr_stmt_uses(a, l->units.at[u]->body.at[i], &uses);
			for (uint32_t k = 0; k < uses.v.n; k++)
				read[uses.v.at[k].buffer] |= uses.v.at[k].loads || uses.v.at[k].updates;
		}
	return read;
}

void tsr_pass_passing(tsr_pass *p)
{
	tsr_arena *scratch = tsr_arena_new();
	passing x = { .p = p, .read = read_anywhere(p->l, scratch) };
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		x.unit = p->l->units.at[u];
		visit(&x, &x.unit->body);
	}
	tsr_arena_free(scratch);
}
