/* Operands that each strip would pack anew are turned once, before the strips, into a buffer that tiles read in place:
 *
 *     for strips of s { scores(s, t) = sum over d of q(s, d) * k(t, d) }
 *     for d, t { turned(d, t) = k(t, d) }   for strips of s { scores(s, t) = sum over d of q(s, d) * turned(d, t) }
 *
 * where the operand is an element of what the group does not write, at one loop of N and one of K, and else at shared loops alone.
 * Where the strip's rows of A stay in the second cache while panels of B pass, it is turned into panels of a tile's width: rows of all its columns lie
 * pages apart, and tiles would have to ask for each line (attention of 1024 to 4096 positions 1.015 times as fast by AVX2, 1.01 to 1.03 on a Xeon, with gradients 1.03 to 1.06 there; what a mask hides
 * is in whole panels, of which its few rows have few, so that there only where panels are near; nor on processors that read several rows in turn, where it has not been timed).  One that lies along N already is copied as such
 * panels there (AVX2, 256 to 2048 positions 1.02 to 1.03 times as fast as with panels that each strip packs):
 *
 *     for strips of s { y(s, e) = sum over t of weights(s, t) * v(t, e) }
 *     for t, p, e' { panels(p, t, e') = v(t, 16 p + e') }   for strips of s { for p { y(s, 16 p + e') = sum over t of weights(s, t) * panels(p, t, e') } }
 *
 * What is combined, and in which order, stays but for where blocks of K end. */
#include "schedule.h"
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

/* It reads the buffer at one place. */
static bool reads_once(const tsr_strip_member *m, tsr_buffer_id b)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < m->x.v.n; i++)
		n += m->x.v.at[i].buffer == b;
	return n == 1;
}

/* Columns of a panel; 0: no panels.  What follows sums element by element wants them of one block. */
static int64_t panel_of(const tsr_strip *g, const tsr_strip_member *m, int64_t width, int64_t depth)
{
	enum { ONE_BLOCK = 256 };
	const tsr_target *t = g->p->target;
	const tsr_contraction *k = m->contraction;
	int64_t bytes = tsr_prec_bytes(k->prec), panel = (int64_t)t->tile_n * t->vector_bytes / bytes;
	int64_t passes = g->online.block && tsr_online_sums(g, m) ? g->online.block : depth;
	bool near = (t->streams ? tsr_near_panels(t) : !g->mask && !tsr_target_few_registers(t)) && g->rows * passes * bytes <= t->l2;
	return near && (!k->tail || (depth <= ONE_BLOCK && reads_once(m, k->b))) && !k->watched && width % panel == 0 && width >= 2 * panel ? panel : 0;
}

/* It lies along K, and is more than copied. */
static bool turns(const tsr_strip *g, const tsr_turned *t) { return t->k == g->p->l->buffers.at[t->from]->rank - 1; }

bool tsr_strip_turns(const tsr_strip *g, const tsr_strip_member *m, tsr_turned *out)
{
	const tsr_contraction *k = m->contraction;
	if (!k || !k->schedule.mr || !k->schedule.pack_b || k->a == k->b || !tsr_contract_plain(g->p->l, k, TSR_SIDE_B) || written(g, k->b) || tsr_strip_thirds(g, m, g->rows))
		return false;
	const tsr_contract_loop *n = only_loop(k, TSR_CLASS_N), *depth = only_loop(k, TSR_CLASS_K);
	const tsr_buffer *b = g->p->l->buffers.at[k->b];
	*out = (tsr_turned){ .from = k->b, .n = UINT32_MAX, .k = UINT32_MAX };
	if (n)
		out->loop = n->sym;
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
	if (out->n == UINT32_MAX || out->k == UINT32_MAX || tsr_strip_loop_tag(g, n->sym) == g->cut || tsr_strip_loop_tag(g, depth->sym) == g->cut)
		return false;
	out->width = n->extent, out->depth = depth->extent;
	if (!tsr_size_is_const(n->extent) || !tsr_size_is_const(depth->extent))
		return false;
	out->panel = panel_of(g, m, out->width.k, out->depth.k);
	return turns(g, out) || (out->panel && out->n == b->rank - 1);
}

/* Rows that stand whole lines apart, but not whole pages; nor quarters of them where panels of B are near, which would share few sets of the first cache and be copied by each
 * strip again. */
static tsr_size row_of(const tsr_target *t, int64_t width, int64_t bytes)
{
	int64_t line = LINE / bytes, row = (width + line - 1) / line * line, meeting = t->streams && tsr_near_panels(t) ? PAGE / 4 : PAGE;
	return tsr_size_const(row * bytes % meeting < LINE ? row + line : row);
}

static tsr_lin loop_index(tsr_pass *p, uint32_t sym) { return tsr_lin_add_sym(p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, sym); }

/* Several groups may turn the same operand. */
tsr_name tsr_strip_name(tsr_pass *p, const char *form, const tsr_buffer *from)
{
	tsr_name name = tsr_intern(p->l->tc->names, tsr_format(p->arena, form, from->name));
	for (uint32_t i = 0; i < p->l->buffers.n; i++)
		if (p->l->buffers.at[i]->name == name)
			return tsr_intern(p->l->tc->names, tsr_format(p->arena, "%s%u", name, p->l->buffers.n));
	return name;
}

static tsr_buffer *turned_buffer(const tsr_strip *g, const tsr_buffer *from, const tsr_turned *t)
{
	tsr_pass *p = g->p;
	tsr_buffer *b = TSR_NEW(p->arena, tsr_buffer);
	*b = (tsr_buffer){ .id = p->l->buffers.n, .name = tsr_strip_name(p, turns(g, t) ? "%s.turned" : "%s.panels", from),
		.kind = TSR_BUFFER_TEMP, .prec = from->prec, .rank = t->panel ? 3 : 2, .tensor = TSR_NONE, .row = true };
	b->dims = TSR_NEW_N(p->arena, tsr_size, b->rank);
	if (t->panel)
		b->dims[0] = tsr_size_const(t->width.k / t->panel), b->dims[1] = t->depth, b->dims[2] = tsr_size_const(t->panel);
	else
		b->dims[0] = t->depth, b->dims[1] = row_of(p->target, t->width.k, tsr_prec_bytes(b->prec));
	tsr_push(p->arena, &p->l->buffers, b);
	return b;
}

void tsr_strip_turn(tsr_strip *g, tsr_turned *t, tsr_lin *index, const tsr_stmt *like, tsr_stmts *out)
{
	tsr_pass *p = g->p;
	const tsr_buffer *from = p->l->buffers.at[t->from];
	tsr_buffer *b = turned_buffer(g, from, t);
	t->buffer = b;
	uint32_t depth = g->unit->nsyms++, width = g->unit->nsyms++, panel = t->panel ? g->unit->nsyms++ : TSR_NONE;
	tsr_stmt *store = tsr_stmt_new(p->arena, TSR_STMT_STORE, like->span), *nest;
	store->store.buffer = b->id;
	store->store.index = TSR_NEW_N(p->arena, tsr_lin, b->rank);
	store->store.index[t->panel != 0] = index[t->k] = loop_index(p, depth);
	store->store.index[b->rank - 1] = index[t->n] = loop_index(p, width);
	if (t->panel) {
		store->store.index[0] = loop_index(p, panel);
		index[t->n] = tsr_lin_add_sym(p->arena, index[t->n], t->panel, TSR_LSYM_LOOP, panel);
	}
	store->store.value = tsr_expr_load(p->arena, from, index);
	nest = tsr_loop_around(p, store, like, t->panel ? b->dims[2] : t->width, width);
	nest = t->panel ? tsr_loop_around(p, nest, like, b->dims[0], panel) : nest;
	tsr_push(p->arena, out, tsr_loop_around(p, nest, like, t->depth, depth));
	const char *what = !turns(g, t) ? "%s: panels of %s are copied before the strips" : t->panel ? "%s: %s is turned before the strips, into panels"
		: "%s: %s is turned before the strips";
	tsr_pass_note(p, what, g->unit->name, from->name);
}

void tsr_strip_part(tsr_strip *g, tsr_turned *t, tsr_lin first, int64_t block, tsr_placing *at)
{
	if (!t->panel)
		return;
	tsr_size each = tsr_size_const(t->panel);
	t->part = g->unit->nsyms++;
	t->parts = (block ? block : t->width.k) / t->panel;
	t->first = first;
	tsr_place_loop(at, t->loop, tsr_lin_add_sym(g->p->arena, first, t->panel, TSR_LSYM_LOOP, t->part), &each);
}

/* The number of the panel: of a block's first position, which begins one, and its own among the block's. */
static tsr_lin panel_number(const tsr_turned *t)
{
	tsr_lin out = loop_index(t->pass, t->part);
	out.offset = t->first.offset / t->panel;
	for (uint32_t i = 0; i < t->first.n; i++)
		out = tsr_lin_add_sym(t->pass->arena, out, t->first.terms[i].coef / t->panel, t->first.terms[i].kind, t->first.terms[i].id);
	return out;
}

static tsr_expr *load_turned(void *user, tsr_expr *e)
{
	const tsr_turned *t = user;
	if (e->kind != TSR_EXPR_LOAD || e->load.buffer != t->from)
		return e;
	tsr_lin *old = e->load.index, *index = e->load.index = TSR_NEW_N(t->pass->arena, tsr_lin, t->buffer->rank);
	e->load.buffer = t->buffer->id;
	index[t->panel != 0] = old[t->k];
	index[t->buffer->rank - 1] = t->panel ? tsr_lin_add(t->pass->arena, tsr_lin_add_sym(t->pass->arena, old[t->n], -t->panel, TSR_LSYM_LOOP, t->part), -1, t->first) : old[t->n];
	if (t->panel)
		index[0] = panel_number(t);
	return e;
}

void tsr_strip_read_turned(tsr_strip *g, tsr_turned *t, tsr_stmts *copy)
{
	t->pass = g->p;
	for (uint32_t i = 0; i < copy->n; i++) {
		tsr_stmt_rewrite(copy->at[i], load_turned, t);
		if (t->panel)
			copy->at[i] = tsr_loop_around(g->p, copy->at[i], copy->at[i], tsr_size_const(t->parts), t->part);
	}
}
