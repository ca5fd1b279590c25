/* Axes that everything walks together become one, and so do their loops: where each access of each buffer steps along its last two axes by a loop around a loop, and these
 * loops say nothing else,
 *
 *     for j in 0..73 { for k in 0..20 { .. x[i, j, k] .. m[0, j, k] .. } }        for k in 0..1460 { .. x[i, 0, k] .. m[0, 0, k] .. }
 *
 * So rows fill vectors where an axis alone would not: softmax over the first of 18 x 19905 x 11 numbers, sums over images of 7 x 7 or 14 x 14, products of matrices for each place of a
 * spectrum.  A buffer keeps its rank, with one place on the axis that is gone; the program level goes on to see its shape.
 *
 * Only where the inner axis is short, leaves a part of a vector, or is one of an image's: long rows of matrices are as fast by themselves, and their loops are what threads share.
 *
 * This is decided for all of the program: a pair of loops that some access, guard or value knows apart takes all buffers with it that are walked by it, and these all pairs that
 * walk them. */
#include "pass.h"
#include "../base/forest.h"

enum { SHORT = 64, LANES = 16, LONG = 1024 };

/* An access of the buffer by the pair whose inner loop this is, in a unit. */
typedef struct edge { tsr_buffer_id buffer; uint32_t unit, inner; } edge;
/* A loop of a unit: what stands directly around it and alone in it, wherever it does; `broken`: it is not one with the loop around. */
typedef struct place { bool seen, broken; uint32_t outer, inner; tsr_size extent; } place;

typedef struct collapse {
	tsr_pass *p;
	tsr_arena *a;
	uint32_t unit;
	place **units;               /* per unit and symbol */
	bool *stays;                 /* per buffer: its last two axes */
	TSR_VEC(edge) edges;
} collapse;

static place *at(collapse *c, uint32_t sym) { return &c->units[c->unit][sym]; }

/* ---- pairs of loops ---------------------------------------------------------------------------------------------------------- */

static void part(collapse *c, uint32_t inner)
{
	if (inner != TSR_NONE)
		at(c, inner)->broken = true;
}

/* The loop is spoken of by itself. */
static void apart(collapse *c, uint32_t sym)
{
	part(c, sym);
	part(c, at(c, sym)->inner);
}

static void apart_in(collapse *c, const tsr_lin *x)
{
	for (uint32_t t = 0; t < x->n; t++)
		if (x->terms[t].kind == TSR_LSYM_LOOP)
			apart(c, x->terms[t].id);
}

/* As many as both; of two that the run knows there is no size for that. */
static bool has_product(tsr_size x, tsr_size y) { return tsr_size_is_const(x) || tsr_size_is_const(y); }
static tsr_size product(tsr_arena *a, tsr_size x, tsr_size y) { return tsr_size_is_const(x) ? tsr_size_scale(a, y, x.k) : tsr_size_scale(a, x, y.k); }

static bool whole(const tsr_stmt *s)
{
	return (s->loop.how == TSR_FOR_PARALLEL || s->loop.how == TSR_FOR_REDUCE) && (!tsr_size_is_const(s->loop.extent) || s->loop.extent.k > 0) && !s->loop.from && !s->loop.until;
}

static const tsr_stmt *pair_of(const tsr_stmt *s)
{
	const tsr_stmt *in = s->loop.body.n == 1 && s->loop.body.at[0]->kind == TSR_STMT_FOR ? s->loop.body.at[0] : NULL;
	return in && whole(s) && whole(in) && s->loop.how == in->loop.how && has_product(s->loop.extent, in->loop.extent) ? in : NULL;
}

/* Where loops of one symbol stand in different ways, it is neither one with what is around it nor with what is within. */
static void loops_of(collapse *c, const tsr_stmts *body, const tsr_stmt *parent)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR) {
			const tsr_stmt *in = pair_of(s);
			place *known = at(c, s->loop.sym), now = { .seen = true, .outer = parent && pair_of(parent) == s ? parent->loop.sym : TSR_NONE, .inner = in ? in->loop.sym : TSR_NONE,
				.extent = s->loop.extent, .broken = known->broken };
			if (known->seen && (known->outer != now.outer || known->inner != now.inner || !tsr_extent_equal(known->extent, now.extent))) {
				apart(c, s->loop.sym);
				part(c, now.inner);
			} else
				*known = now;
			loops_of(c, &s->loop.body, s);
		} else if (s->kind == TSR_STMT_IF || s->kind == TSR_STMT_KERNEL)
			loops_of(c, s->kind == TSR_STMT_IF ? &s->cond.body : &s->kernel.body, NULL);
	}
}

/* ---- accesses ------------------------------------------------------------------------------------------------------------------ */

/* The last two axes of more than one place, and how many there are in all; 0: there are none, or the run knows both. */
static uint32_t axes_of(const tsr_buffer *b, uint32_t *outer, uint32_t *inner)
{
	uint32_t n = 0, axis[2];
	for (uint32_t i = b->rank; i-- > 0;) {
		if (tsr_size_is_const(b->dims[i]) && b->dims[i].k < 1 && n < 2)
			return 0;
		if (tsr_size_is_const(b->dims[i]) && b->dims[i].k <= 1)
			continue;
		if (n < 2)
			axis[n] = i;
		n++;
	}
	if (n < 2 || b->kind == TSR_BUFFER_FILE || !has_product(b->dims[axis[0]], b->dims[axis[1]]))
		return 0;
	*inner = axis[0], *outer = axis[1];
	return n;
}

/* The inner axis is short, leaves a part of a vector, or is an image's; or nobody knows. */
static bool gains(const tsr_buffer *b)
{
	uint32_t outer, inner, n = axes_of(b, &outer, &inner);
	return n > 2 || (n && !tsr_size_is_const(b->dims[inner])) || (n && (b->dims[inner].k < SHORT || (b->dims[inner].k < LONG && b->dims[inner].k % LANES)));
}

static uint32_t bare_loop(const tsr_lin *x)
{
	return x->n == 1 && x->terms[0].kind == TSR_LSYM_LOOP && tsr_lin_bare(x, x->terms[0].id) ? x->terms[0].id : TSR_NONE;
}

static void access_of(collapse *c, tsr_buffer_id id, const tsr_lin *index)
{
	const tsr_buffer *b = c->p->l->buffers.at[id];
	uint32_t d, e, outer = TSR_NONE, inner = TSR_NONE;
	if (axes_of(b, &d, &e))
		outer = bare_loop(&index[d]), inner = bare_loop(&index[e]);
	bool pair = inner != TSR_NONE && outer != TSR_NONE && at(c, inner)->outer == outer && at(c, outer)->inner == inner && tsr_extent_equal(at(c, inner)->extent, b->dims[e])
		&& tsr_extent_equal(at(c, outer)->extent, b->dims[d]);
	for (uint32_t axis = 0; axis < b->rank; axis++)
		if (!pair || (axis != d && axis != e))
			apart_in(c, &index[axis]);
	if (!pair) {
		c->stays[id] = true;
		return;
	}
	part(c, outer);                          /* as the inner one of another pair */
	part(c, at(c, inner)->inner);
	tsr_push(c->a, &c->edges, ((edge){ id, c->unit, inner }));
}

static void values_of(collapse *c, const tsr_expr *x)
{
	tsr_expr *parts[TSR_MOST_PARTS];
	for (uint32_t i = tsr_expr_parts(x, parts); i-- > 0;)
		values_of(c, parts[i]);
	if (x->kind == TSR_EXPR_LOAD)
		access_of(c, x->load.buffer, x->load.index);
	else if (x->kind == TSR_EXPR_INDEX)
		apart_in(c, &x->index);
	for (uint32_t i = 0; x->kind == TSR_EXPR_SELECT && i < x->select.n; i++)
		apart_in(c, &x->select.ranges[i].index);
}

static void accesses_of(collapse *c, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		switch (s->kind) {
		case TSR_STMT_STORE: case TSR_STMT_UPDATE:
			access_of(c, s->store.buffer, s->store.index);
			values_of(c, s->store.value);
			break;
		case TSR_STMT_LET: case TSR_STMT_SET: values_of(c, s->let.value); break;
		case TSR_STMT_LETSYM: values_of(c, s->letsym.value); break;
		case TSR_STMT_CHECK: apart_in(c, &s->check.range.index); break;
		case TSR_STMT_KERNEL: accesses_of(c, &s->kernel.body); break;
		case TSR_STMT_IF:
			for (uint32_t r = 0; r < s->cond.n; r++)
				apart_in(c, &s->cond.ranges[r].index);
			accesses_of(c, &s->cond.body);
			break;
		case TSR_STMT_FOR:
			if (s->loop.from)
				apart_in(c, s->loop.from);
			if (s->loop.until)
				apart_in(c, s->loop.until);
			accesses_of(c, &s->loop.body);
			break;
		case TSR_STMT_RANDOM: case TSR_STMT_KINDS: break;
		}
	}
}

/* ---- which remain, and what becomes of them ------------------------------------------------------------------------------------ */

/* Buffers and pairs that have to do with each other are one, or stay, together: one where none of them is known apart, and one gains. */
static void decide(collapse *c)
{
	uint32_t nbuffers = c->p->l->buffers.n, n = nbuffers, *base = TSR_NEW_N(c->a, uint32_t, c->p->l->units.n + 1);
	for (uint32_t u = 0; u < c->p->l->units.n; u++)
		base[u] = n, n += c->p->l->units.at[u]->nsyms;
	tsr_forest *f = tsr_forest_new(c->a);
	bool *stays = TSR_NEW_N(c->a, bool, n + 1), *gain = TSR_NEW_N(c->a, bool, n + 1);
	for (uint32_t i = 0; i < n; i++)
		tsr_forest_add(f);
	for (uint32_t i = 0; i < c->edges.n; i++)
		tsr_forest_union(f, base[c->edges.at[i].unit] + c->edges.at[i].inner, c->edges.at[i].buffer, 0);
	for (uint32_t i = 0; i < nbuffers; i++) {
		bool met = f->nodes.at[tsr_forest_find(f, i)].size > 1;
		stays[tsr_forest_find(f, i)] |= c->stays[i];
		gain[tsr_forest_find(f, i)] |= met && gains(c->p->l->buffers.at[i]);
	}
	for (uint32_t u = 0; u < c->p->l->units.n; u++)
		for (uint32_t i = 0; i < c->p->l->units.at[u]->nsyms; i++)
			stays[tsr_forest_find(f, base[u] + i)] |= c->units[u][i].broken;
	for (uint32_t i = 0; i < nbuffers; i++)
		c->stays[i] = stays[tsr_forest_find(f, i)] || !gain[tsr_forest_find(f, i)];
	for (uint32_t u = 0; u < c->p->l->units.n; u++)
		for (uint32_t i = 0; i < c->p->l->units.at[u]->nsyms; i++)
			c->units[u][i].broken = stays[tsr_forest_find(f, base[u] + i)] || !gain[tsr_forest_find(f, base[u] + i)];
}

static tsr_lin *one_axis(collapse *c, tsr_buffer_id id, tsr_lin *index)
{
	const tsr_buffer *b = c->p->l->buffers.at[id];
	tsr_lin *to = TSR_NEW_N(c->p->arena, tsr_lin, b->rank + 1);
	uint32_t d = 0, e = 0;
	if (c->stays[id] || !axes_of(b, &d, &e))
		return index;
	for (uint32_t i = 0; i < b->rank; i++)
		to[i] = i == d ? tsr_lin_const(0) : index[i];
	return to;
}

static tsr_expr *load_anew(void *user, tsr_expr *x)
{
	if (x->kind == TSR_EXPR_LOAD)
		x->load.index = one_axis(user, x->load.buffer, x->load.index);
	return x;
}

static void rewrite(collapse *c, tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i], *in = s->kind == TSR_STMT_FOR ? (tsr_stmt *)pair_of(s) : NULL;
		if (in && !at(c, in->loop.sym)->broken) {
			in->loop.extent = product(c->p->arena, s->loop.extent, in->loop.extent);
			s = body->at[i] = in;
			c->p->changes++;
		}
		if (s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE)
			s->store.index = one_axis(c, s->store.buffer, s->store.index);
		else if (s->kind == TSR_STMT_FOR || s->kind == TSR_STMT_IF || s->kind == TSR_STMT_KERNEL)
			rewrite(c, s->kind == TSR_STMT_FOR ? &s->loop.body : s->kind == TSR_STMT_IF ? &s->cond.body : &s->kernel.body);
	}
}

static void reshape(collapse *c, tsr_buffer *b)
{
	uint32_t d = 0, e = 0;
	tsr_size *dims = TSR_NEW_N(c->p->arena, tsr_size, b->rank + 1);
	if (c->stays[b->id] || !axes_of(b, &d, &e))
		return;
	for (uint32_t i = 0; i < b->rank; i++)
		dims[i] = i == d ? tsr_size_const(1) : i == e ? product(c->p->arena, b->dims[d], b->dims[e]) : b->dims[i];
	b->shape = b->shape ? b->shape : b->dims;
	b->dims = dims;
}

static void look(collapse *c, const tsr_loop_unit *u)
{
	c->units[c->unit] = TSR_NEW_N(c->a, place, u->nsyms + 1);
	for (uint32_t i = 0; i < u->nsyms; i++)
		*at(c, i) = (place){ .outer = TSR_NONE, .inner = TSR_NONE };
	loops_of(c, &u->body, NULL);
	accesses_of(c, &u->body);
}

/* One pair of axes of each buffer; false: nothing became one. */
static bool step(tsr_pass *p)
{
	tsr_loops *l = p->l;
	tsr_arena *a = tsr_arena_new();
	collapse c = { .p = p, .a = a, .units = TSR_NEW_N(a, place *, l->units.n + 1), .stays = TSR_NEW_N(a, bool, l->buffers.n + 1) };
	uint32_t before = p->changes;
	for (c.unit = 0; c.unit < l->units.n; c.unit++)
		look(&c, l->units.at[c.unit]);
	decide(&c);
	for (c.unit = 0; c.unit < l->units.n; c.unit++) {
		tsr_stmts *body = &l->units.at[c.unit]->body;
		for (uint32_t i = 0; i < body->n; i++)
			tsr_stmt_rewrite(body->at[i], load_anew, &c);
		rewrite(&c, body);
	}
	for (uint32_t i = 0; i < l->buffers.n; i++)
		reshape(&c, l->buffers.at[i]);
	tsr_arena_free(a);
	return p->changes > before;
}

void tsr_pass_collapse(tsr_pass *p)
{
	while (step(p))
		;
}
