/* Makes one kernel of a group that runs in strips:
 *
 *     for the shared loops {
 *       clear what is summed over strips; turn what each would pack (strip_turn.c)
 *       for strips { each kernel, without the shared loops, its cut loop over the rows of a strip }
 *       the same for the rows that remain
 *     }
 *
 * What the group keeps to itself loses the shared axes and has the rows of one strip.  The contractions inside are recognised and
 * scheduled anew. */
#include "strip.h"

/* ---- what is kept ---------------------------------------------------------------------------------------------------- */

tsr_lin tsr_strip_row(const tsr_strip_place *x, tsr_lin row)
{
	if (!x->rest)
		return tsr_lin_add_sym(x->g->p->arena, row, -x->g->rows, TSR_LSYM_LOOP, x->syms[x->g->cut]);
	return tsr_lin_add(x->g->p->arena, row, -1, x->first);
}

/* The same element, counted from the first of its strip, and of its block. */
static void within_strip(const tsr_strip_place *x, tsr_buffer_id b, tsr_lin *index)
{
	const tsr_strip *g = x->g;
	if (!tsr_ids_have(&g->kept, b))
		return;
	for (uint32_t axis = 0; axis < g->p->l->buffers.at[b]->rank; axis++) {
		uint32_t tag = tsr_strip_axis_tag(g, b, axis);
		if (tag && g->shared >> tag & 1)
			index[axis] = tsr_lin_add_sym(g->p->arena, index[axis], -1, TSR_LSYM_LOOP, x->syms[tag]);
		else if (tag == g->cut)
			index[axis] = tsr_strip_row(x, index[axis]);
		else if (tag && tag == g->online.walk && x->by_block)
			index[axis] = tsr_lin_add(g->p->arena, index[axis], -1, x->block_first);
	}
}

static tsr_expr *load_within(void *user, tsr_expr *e)
{
	const tsr_strip_place *x = user;
	if (e->kind == TSR_EXPR_LOAD)
		within_strip(x, e->load.buffer, e->load.index);
	return e;
}

static void stores_within(const tsr_strip_place *x, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR)
			stores_within(x, &s->loop.body);
		else if (s->kind == TSR_STMT_IF)
			stores_within(x, &s->cond.body);
		else if (s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE)
			within_strip(x, s->store.buffer, s->store.index);
	}
}

static void shrink(tsr_strip *g, tsr_buffer *b)
{
	tsr_size *dims = TSR_NEW_N(g->p->arena, tsr_size, b->rank + 1);
	int64_t before = tsr_buffer_bytes(b);
	for (uint32_t axis = 0; axis < b->rank; axis++) {
		uint32_t tag = tsr_strip_axis_tag(g, b->id, axis);
		dims[axis] = tag == g->cut ? tsr_size_const(g->rows) : tag && g->shared >> tag & 1 ? tsr_size_const(1)
			: tag && tag == g->online.walk && g->online.block ? tsr_size_const(g->online.block) : b->dims[axis];
	}
	if (tsr_strip_axis_tag(g, b->id, b->rank - 1) != g->cut)
		dims[b->rank - 1] = tsr_row_apart(b->prec, dims[b->rank - 1]);
	b->dims = dims;
	b->row = true;
	g->p->l->separate_bytes += before < 0 ? 0 : before - tsr_buffer_bytes(b);
}

/* ---- members ------------------------------------------------------------------------------------------------------------- */

static const tsr_stmt *tagged_loop(const tsr_strip *g, const tsr_stmts *body, uint32_t tag)
{
	for (uint32_t i = 0; i < body->n; i++)
		if (body->at[i]->kind == TSR_STMT_FOR) {
			const tsr_stmt *s = body->at[i];
			s = tsr_strip_loop_tag(g, s->loop.sym) == tag ? s : tagged_loop(g, &s->loop.body, tag);
			if (s)
				return s;
		}
	return NULL;
}

static tsr_placing placing(const tsr_strip_place *x, const tsr_strip_member *m)
{
	const tsr_strip *g = x->g;
	tsr_placing out = { .p = g->p, .unit = g->unit };
	for (uint32_t i = 0; i < m->nest.n; i++) {
		uint32_t tag = tsr_strip_loop_tag(g, m->nest.loop[i]->loop.sym);
		if (tag && g->shared >> tag & 1)
			tsr_place_loop(&out, m->nest.loop[i]->loop.sym, tsr_lin_add_sym(g->p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, x->syms[tag]), NULL);
	}
	return out;
}

/* A strip that is all of the axis has the whole sum. */
static bool sums_over_strips(const tsr_strip *g, const tsr_strip_member *m)
{
	if (tsr_size_is_const(g->size) && g->rows == g->extent)
		return false;
	for (uint32_t i = 0; i < m->nest.n; i++)
		if (tsr_strip_loop_tag(g, m->nest.loop[i]->loop.sym) == g->cut && m->nest.loop[i]->loop.how != TSR_FOR_REDUCE)
			return false;
	return true;
}

tsr_stmts *tsr_strip_innermost(tsr_stmts *body)
{
	while (body->n == 1 && body->at[0]->kind == TSR_STMT_FOR)
		body = &body->at[0]->loop.body;
	return body;
}

tsr_stmt *tsr_strip_result(tsr_stmts *copy)
{
	tsr_stmts *inner = tsr_strip_innermost(copy);
	tsr_stmt *store = inner->at[inner->n - 1];
	store->kind = TSR_STMT_STORE;
	inner->at[0] = store;
	inner->n = 1;
	return store;
}

void tsr_strip_cleared(const tsr_strip_place *x, const tsr_strip_member *m, tsr_stmts *copy)
{
	tsr_stmt *store = tsr_strip_result(copy);
	store->store.value = tsr_expr_const(x->g->p->arena, tsr_acc_neutral(m->contraction->acc, x->g->p->l->buffers.at[store->store.buffer]->prec));
}

/* The sum's clearing, with the loops of its result alone. */
static void clear(const tsr_strip_place *x, const tsr_strip_member *m, tsr_stmts *out)
{
	tsr_arena *a = x->g->p->arena;
	tsr_stmts copy = { 0 };
	tsr_placing at = placing(x, m);
	tsr_stmts_place(&at, &m->kernel->kernel.body, &copy);
	tsr_strip_cleared(x, m, &copy);
	for (uint32_t i = 0; i < copy.n; i++)
		tsr_push(a, out, copy.at[i]);
}

/* Its positions are those of the block. */
static void place_block(const tsr_strip_place *x, const tsr_stmts *body, tsr_placing *at)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR && tsr_strip_loop_tag(x->g, s->loop.sym) == x->g->online.walk)
			tsr_place_loop(at, s->loop.sym, x->block_first, &x->block);
		if (s->kind == TSR_STMT_FOR)
			place_block(x, &s->loop.body, at);
	}
}

void tsr_strip_member_copy(const tsr_strip_place *x, const tsr_strip_member *m, tsr_size rows, tsr_stmts *out)
{
	tsr_strip *g = x->g;
	tsr_stmts copy = { 0 };
	tsr_placing at = placing(x, m);
	tsr_lin first = x->rest ? x->first : tsr_lin_add_sym(g->p->arena, tsr_lin_const(0), g->rows, TSR_LSYM_LOOP, x->syms[g->cut]);
	tsr_place_loop(&at, tagged_loop(g, &m->kernel->kernel.body, g->cut)->loop.sym, first, &rows);
	tsr_turned turned = x->turned[m - g->member];
	bool by_block = x->by_block && turned.buffer && tsr_strip_loop_tag(g, turned.loop) == g->online.walk;
	if (turned.buffer)
		tsr_strip_part(g, &turned, by_block ? x->block_first : tsr_lin_const(0), by_block ? x->block.k : 0, &at);
	if (x->by_block)
		place_block(x, &m->kernel->kernel.body, &at);
	tsr_stmts_place(&at, &m->kernel->kernel.body, &copy);
	if ((sums_over_strips(g, m) || (x->by_block && tsr_online_sums(g, m))) && m->contraction->clear) {
		tsr_stmts *inner = tsr_strip_innermost(&copy);
		tsr_stmt *store = inner->at[inner->n - 1];
		store->kind = TSR_STMT_UPDATE;
		store->store.acc = m->contraction->acc;
	}
	stores_within(x, &copy);
	if (turned.buffer)
		tsr_strip_read_turned(g, &turned, &copy);
	for (uint32_t i = 0; i < copy.n; i++) {
		tsr_stmt_rewrite(copy.at[i], load_within, (void *)x);
		tsr_push(g->p->arena, out, copy.at[i]);
	}
}

/* The operands that are turned before the strips. */
static void turn(tsr_strip_place *x)
{
	tsr_strip *g = x->g;
	for (uint32_t m = 0; m < g->n; m++) {
		const tsr_strip_member *k = &g->member[m];
		tsr_turned t;
		if (!tsr_strip_turns(g, k, &t))
			continue;
		tsr_placing at = placing(x, k);
		uint32_t rank = g->p->l->buffers.at[t.from]->rank;
		tsr_lin *index = TSR_NEW_N(g->p->arena, tsr_lin, rank + 1);
		for (uint32_t axis = 0; axis < rank; axis++)
			index[axis] = tsr_lin_place(g->p->arena, &k->contraction->b_index[axis], at.syms.n, at.syms.at, at.to.at);
		tsr_strip_turn(g, &t, index, k->nest.loop[0], x->inner);
		x->turned[m] = t;
	}
}

/* ---- the kernel ------------------------------------------------------------------------------------------------------------ */

static tsr_stmts *loop_in(const tsr_strip_place *x, const tsr_stmt *like, tsr_size extent, uint32_t sym, tsr_stmts *out)
{
	tsr_stmt *s = tsr_stmt_new(x->g->p->arena, TSR_STMT_FOR, like->span);
	s->loop.sym = sym;
	s->loop.name = like->loop.name;
	s->loop.extent = extent;
	s->loop.how = TSR_FOR_SERIAL;            /* they share the rows of a strip */
	tsr_push(x->g->p->arena, out, s);
	return &s->loop.body;
}

tsr_stmts *tsr_strip_where(const tsr_strip_place *x, tsr_size least, tsr_size most, tsr_size size, tsr_stmts *out)
{
	tsr_arena *a = x->g->p->arena;
	tsr_stmt *s = tsr_stmt_new(a, TSR_STMT_IF, x->g->member[0].nest.loop[0]->span);
	s->cond.n = 1;
	s->cond.ranges = TSR_NEW(a, tsr_range);
	s->cond.ranges[0] = (tsr_range){ tsr_lin_add_size(a, tsr_lin_add_size(a, tsr_lin_const(0), 1, most), -1, least), size };
	tsr_push(a, out, s);
	return &s->cond.body;
}

static void members(tsr_strip_place *x, tsr_size rows, tsr_stmts *out)
{
	const tsr_strip *g = x->g;
	if (x->online)
		tsr_online_build(x, rows, out);
	for (uint32_t m = x->online ? g->online.last : 0; m < g->n; m++)
		tsr_strip_member_copy(x, &g->member[m], rows, out);
}

static void strips(tsr_strip_place *x, const tsr_stmt *cut, bool online, tsr_stmts *out)
{
	const tsr_strip *g = x->g;
	tsr_size whole = tsr_loops_quotient(g->p->l, g->size, g->rows, false), rest = tsr_loops_quotient(g->p->l, g->size, g->rows, true);
	x->syms[g->cut] = g->unit->nsyms++;
	x->online = online, x->rest = false;
	members(x, tsr_size_const(g->rows), loop_in(x, cut, whole, x->syms[g->cut], out));
	x->first = tsr_lin_add_size(g->p->arena, tsr_lin_const(0), g->rows, whole);
	x->rest = true;
	if (!tsr_size_is_const(rest) || rest.k)
		members(x, rest, out);
}

void tsr_strip_build(tsr_strip *g)
{
	tsr_pass *p = g->p;
	tsr_strip_place x = { .g = g };
	tsr_stmts whole = { 0 };
	const tsr_strip_member *first = &g->member[0];
	x.inner = &whole;
	const tsr_stmt *cut = NULL;
	for (uint32_t i = 0; i < first->nest.n; i++) {
		const tsr_stmt *s = first->nest.loop[i];
		uint32_t tag = tsr_strip_loop_tag(g, s->loop.sym);
		if (tag == g->cut)
			cut = s;
		if (!tag || !(g->shared >> tag & 1))
			continue;
		x.syms[tag] = g->unit->nsyms++;
		x.inner = loop_in(&x, s, s->loop.extent, x.syms[tag], x.inner);
	}
	for (uint32_t m = 0; m < g->n; m++)
		if (sums_over_strips(g, &g->member[m]) && g->member[m].contraction->clear)
			clear(&x, &g->member[m], x.inner);
	for (uint32_t m = 0; m < g->n; m++)
		if (sums_over_strips(g, &g->member[m]))
			tsr_pass_note(p, "%s: %s is summed over the strips", g->unit->name, p->l->buffers.at[g->member[m].contraction->c]->name);
	turn(&x);
	const tsr_online *o = &g->online;
	bool later = o->block && !tsr_size_is_const(o->positions);
	if (later)               /* no more positions than a block has go at once */
		strips(&x, cut, false, tsr_strip_where(&x, o->positions, tsr_size_const(o->block), tsr_size_const(o->block), x.inner));
	strips(&x, cut, o->block > 0, later ? tsr_strip_where(&x, tsr_size_const(o->block + 1), o->positions, o->positions, x.inner) : x.inner);
	for (uint32_t i = 0; i < g->kept.n; i++)
		shrink(g, p->l->buffers.at[g->kept.at[i]]);
	first->kernel->kernel.body = whole;
	tsr_contractions_find(p, &whole);
	tsr_contractions_schedule(p, &whole);
	for (uint32_t i = 0; i < g->kept.n; i++)
		tsr_pass_note(p, "%s: %s is kept as %lld rows of %s, in strips of %u kernels from %s on", g->unit->name,
			p->l->buffers.at[g->kept.at[i]]->name, (long long)g->rows, cut->loop.name, g->n, first->kernel->kernel.name);
}
