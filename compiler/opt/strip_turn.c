/* Operands that each strip would pack anew are turned once, before the strips, into a buffer that tiles read in place:
 *
 *     for strips of s { scores(s, t) = sum over d of q(s, d) * k(t, d) }
 *     for d, t { turned(d, t) = k(t, d) }   for strips of s { scores(s, t) = sum over d of q(s, d) * turned(d, t) }
 *
 * where the operand is an element of what the group does not write, at one loop of N and one of K, and else at shared loops alone.
 * What is combined, and in which order, stays. */
#include "strip.h"
#include "../base/text.h"

enum { LINE = 64, PAGE = 1 << 12 };

static bool written(const tsr_strip *g, tsr_buffer_id b)
{
	for (uint32_t m = 0; m < g->n; m++)
		for (uint32_t i = 0; i < g->member[m].x.v.n; i++)
			if (g->member[m].x.v.at[i].buffer == b && g->member[m].x.v.at[i].write)
				return true;
	return false;
}

/* The only loop of the class, or NULL. */
static const tsr_contract_loop *only_loop(const tsr_contraction *k, tsr_loop_class cls)
{
	const tsr_contract_loop *found = NULL;
	for (uint32_t i = 0; i < k->nloops; i++)
		if (k->loops[i].cls == cls) {
			if (found)
				return NULL;
			found = &k->loops[i];
		}
	return found;
}

bool tsr_strip_turns(const tsr_strip *g, const tsr_strip_member *m, tsr_turned *out)
{
	const tsr_contraction *k = m->contraction;
	if (!k || !k->schedule.mr || !k->schedule.pack_b || k->a == k->b || !tsr_contract_plain(g->p->l, k, TSR_SIDE_B) || written(g, k->b))
		return false;
	const tsr_contract_loop *n = only_loop(k, TSR_CLASS_N), *depth = only_loop(k, TSR_CLASS_K);
	const tsr_buffer *b = g->p->l->buffers.at[k->b];
	*out = (tsr_turned){ .from = k->b, .n = UINT32_MAX, .k = UINT32_MAX };
	for (uint32_t axis = 0; n && depth && axis < b->rank; axis++) {
		const tsr_lin *x = &k->b_index[axis];
		if (tsr_lin_bare(x, n->sym))
			out->n = axis;
		else if (tsr_lin_bare(x, depth->sym))
			out->k = axis;
		for (uint32_t t = 0; axis != out->n && axis != out->k && t < x->n; t++) {
			uint32_t tag = x->terms[t].kind == TSR_LSYM_LOOP ? tsr_strip_loop_tag(g, x->terms[t].id) : 0;
			if (!tag || !(g->shared >> tag & 1))
				return false;
		}
	}
	if (out->n == UINT32_MAX || out->k != b->rank - 1 || tsr_strip_loop_tag(g, n->sym) == g->cut || tsr_strip_loop_tag(g, depth->sym) == g->cut)
		return false;
	out->width = n->extent, out->depth = depth->extent;
	return true;
}

/* Rows that stand whole lines apart, but not whole pages. */
static tsr_size row_of(int64_t width, int64_t bytes)
{
	int64_t line = LINE / bytes, row = (width + line - 1) / line * line;
	return tsr_size_const(row * bytes % PAGE < LINE ? row + line : row);
}

static tsr_stmt *loop_around(tsr_pass *p, tsr_stmt *body, const tsr_stmt *like, tsr_size extent, uint32_t sym)
{
	tsr_stmt *s = tsr_stmt_new(p->arena, TSR_STMT_FOR, like->span);
	s->loop.sym = sym;
	s->loop.name = like->loop.name;
	s->loop.extent = extent;
	s->loop.how = TSR_FOR_PARALLEL;
	tsr_push(p->arena, &s->loop.body, body);
	return s;
}

void tsr_strip_turn(tsr_strip *g, tsr_turned *t, tsr_lin *index, const tsr_stmt *like, tsr_stmts *out)
{
	tsr_pass *p = g->p;
	const tsr_buffer *from = p->l->buffers.at[t->from];
	tsr_buffer *b = TSR_NEW(p->arena, tsr_buffer);
	*b = (tsr_buffer){ .id = p->l->buffers.n, .name = tsr_intern(p->l->tc->names, tsr_format(p->arena, "%s.turned", from->name)),
		.kind = TSR_BUFFER_TEMP, .prec = from->prec, .rank = 2, .tensor = TSR_NONE, .row = true };
	b->dims = TSR_NEW_N(p->arena, tsr_size, 2);
	b->dims[0] = t->depth, b->dims[1] = row_of(t->width.k, tsr_prec_bytes(b->prec));
	tsr_push(p->arena, &p->l->buffers, b);
	t->buffer = b;
	uint32_t depth = g->unit->nsyms++, width = g->unit->nsyms++;
	tsr_stmt *store = tsr_stmt_new(p->arena, TSR_STMT_STORE, like->span);
	store->store.buffer = b->id;
	store->store.index = TSR_NEW_N(p->arena, tsr_lin, 2);
	store->store.index[0] = tsr_lin_add_sym(p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, depth);
	store->store.index[1] = tsr_lin_add_sym(p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, width);
	index[t->k] = tsr_lin_add_sym(p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, depth);
	index[t->n] = tsr_lin_add_sym(p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, width);
	store->store.value = tsr_expr_load(p->arena, from, index);
	tsr_stmt *nest = loop_around(p, loop_around(p, store, like, t->width, width), like, t->depth, depth);
	tsr_push(p->arena, out, nest);
	tsr_pass_note(p, "%s: %s is turned before the strips", g->unit->name, from->name);
}

static tsr_expr *load_turned(void *user, tsr_expr *e)
{
	const tsr_turned *t = user;
	if (e->kind != TSR_EXPR_LOAD || e->load.buffer != t->from)
		return e;
	tsr_lin *old = e->load.index;
	e->load.buffer = t->buffer->id;
	e->load.index = TSR_NEW_N(t->arena, tsr_lin, 2);
	e->load.index[0] = old[t->k], e->load.index[1] = old[t->n];
	return e;
}

void tsr_strip_read_turned(tsr_strip *g, tsr_turned *t, tsr_stmt *s)
{
	t->arena = g->p->arena;
	tsr_stmt_rewrite(s, load_turned, t);
}
