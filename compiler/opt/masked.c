/* Of strips (strip.c) whose values a mask hides from some position on, as causal attention's, or before one, too, as a sliding window's, what is hidden is left out:
 *
 *     for strips s {                                                  for strips s {
 *       scores(i, t) = sum over d ..              t in 0..T             scores ..                        t until 128 s + 144
 *       m = max of where(128 s + i >= t, scores(i, t), c)               m = ..                           t until 128 s + 144
 *       e(i, t) = exp(where(.., scores, c) - m)            becomes      e(i, t) = ..                     t until 128 s + 144
 *       y(i, d) = sum over t of e(i, t) * v(t, d) }                     if any e(i, 128 s + 128) is not 0: once more, all of it
 *                                                                       y(i, d) = ..                     t until 128 s + 128 }
 *
 * No result changes but for the sign of a zero, and the order of a row's sums where its lanes begin elsewhere.  At hidden positions a choice is c, so that what follows is the same for all of a row's (ALIKE): the maximum of a row knows c from
 * some positions beyond the limit that are computed all the same, and one of them says what e is at all.  A sum may leave out zeros; so it may where that e is 0, which is
 * asked when the strip's rows are there, before anything sums them up, and where the other factor is finite, which is asked of operands before the strips: a NaN or a number above
 * 2^51 there, and nothing is left out.
 *
 * The rows' own sum may add up what is only divided by it then: a quotient that is 0 was nothing beside it.
 *
 * Requires strip and classify; the last pass, because both forms share statements. */
#include "masked.h"

enum { WORTH = 9 };              /* tenths of all positions, beyond which it does not pay */

/* ---- which loops, and which buffers --------------------------------------------------------------------------------------- */

/* Accesses of the strips' own buffers name axes by loops, and loops by axes. */
typedef struct naming { tsr_masked *m; bool news; } naming;

static void name(naming *n, tsr_buffer_id id, const tsr_lin *index)
{
	tsr_masked_buffer *b = &n->m->buffers[id];
	for (uint32_t axis = 0; b->own && axis < n->m->p->l->buffers.at[id]->rank; axis++) {
		uint32_t sym = index[axis].n == 1 && tsr_lin_bare(&index[axis], index[axis].terms[0].id) ? index[axis].terms[0].id : TSR_NONE;
		if (b->axis == TSR_NONE && n->m->panels && tsr_lin_mentions(&index[axis], n->m->panel) && tsr_lin_mentions(&index[axis], n->m->within))
			b->axis = axis, n->news = true;
		if (sym == TSR_NONE)
			continue;
		if (b->axis == TSR_NONE && tsr_masked_along(n->m, sym))
			b->axis = axis, n->news = true;
		else if (b->axis == axis && !tsr_masked_along(n->m, sym)) {
			tsr_push(n->m->a, &n->m->along, sym);
			n->news = true;
		}
	}
}

static tsr_expr *name_load(void *user, tsr_expr *e)
{
	if (e->kind == TSR_EXPR_LOAD)
		name(user, e->load.buffer, e->load.index);
	return e;
}

static void name_stmts(naming *n, tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR) {
			name_stmts(n, &s->loop.body);
			continue;
		}
		tsr_stmt_rewrite(s, name_load, n);
		if (s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE)
			name(n, s->store.buffer, s->store.index);
	}
}

/* Of the statements those that touch b begin with one that stores to it and reads nothing of it. */
static int stores_first(tsr_arena *a, const tsr_stmts *body, tsr_buffer_id b)
{
	enum { UNTOUCHED = -1 };
	int found = UNTOUCHED;
	for (uint32_t i = 0; i < body->n && found == UNTOUCHED; i++) {
		const tsr_stmts *in = tsr_stmt_inside(body->at[i]);
		tsr_uses uses = { 0 };
		tsr_stmt_uses(a, body->at[i], &uses);
		tsr_use of = tsr_uses_of(&uses, b);
		if (of.loads || tsr_use_writes(of))
			found = in ? stores_first(a, in, b) : of.stores && !of.loads;
	}
	return found;
}

/* Rows of a thread that are the strips' own: besides them only what is done with the rows that remain, behind them, touches these, and begins anew. */
static void find_own(tsr_masked *m, const tsr_stmts *kernel, const tsr_stmts *body, uint32_t at)
{
	tsr_uses all = { 0 }, here = { 0 }, rest = { 0 };
	tsr_stmts behind = { .n = body->n - at - 1, .at = body->at + at + 1 };
	for (uint32_t i = 0; i < kernel->n; i++)
		tsr_stmt_uses(m->a, kernel->at[i], &all);
	for (uint32_t i = 0; i < behind.n; i++)
		tsr_stmt_uses(m->a, behind.at[i], &rest);
	tsr_stmt_uses(m->a, m->strips, &here);
	for (uint32_t b = 0; b < m->p->l->buffers.n; b++) {
		tsr_use of = tsr_uses_of(&here, b), in = tsr_uses_of(&all, b), after = tsr_uses_of(&rest, b);
		bool same = of.loads + after.loads == in.loads && of.stores + after.stores == in.stores && of.updates + after.updates == in.updates;
		bool own = m->p->l->buffers.at[b]->row && of.stores && same && (!(after.loads || tsr_use_writes(after)) || stores_first(m->a, &behind, b) == 1);
		m->buffers[b] = (tsr_masked_buffer){ .own = own, .axis = TSR_NONE, .rows = TSR_NONE, .now = { TSR_MASKED_ANY, TSR_NONE } };
	}
}

/* ---- what may be left out ---------------------------------------------------------------------------------------------------- */

/* Where an iteration is: at the position that a loop says (TSR_NONE: at none), or, in panels of `each`, two loops. */
typedef struct place { uint32_t sym, inner; int64_t each; } place;

static place at_loop(uint32_t sym) { return (place){ sym, TSR_NONE, 1 }; }

static bool stands_at(const tsr_lin *x, const place *p)
{
	if (p->sym == TSR_NONE || p->inner == TSR_NONE)
		return p->sym != TSR_NONE && tsr_lin_bare(x, p->sym);
	return !x->offset && !x->base.k && !x->base.nterms && x->n == 2 && tsr_lin_coef(x, p->sym) == p->each && tsr_lin_coef(x, p->inner) == 1;
}

/* What strips have for themselves is read or written at another position. */
typedef struct reading { const tsr_masked *m; const place *here; bool bad; } reading;

static bool elsewhere(const tsr_masked *m, tsr_buffer_id id, const tsr_lin *index, const place *here)
{
	const tsr_masked_buffer *b = &m->buffers[id];
	return b->own && b->axis != TSR_NONE && !stands_at(&index[b->axis], here);
}

static tsr_expr *look_at_reading(void *user, tsr_expr *e)
{
	reading *r = user;
	r->bad |= e->kind == TSR_EXPR_LOAD && elsewhere(r->m, e->load.buffer, e->load.index, r->here);
	return e;
}

static bool reads_elsewhere(const tsr_masked *m, tsr_stmt *s, place here)
{
	reading r = { m, &here, false };
	tsr_stmt_rewrite(s, look_at_reading, &r);
	return r.bad || ((s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE) && elsewhere(m, s->store.buffer, s->store.index, &here));
}

static void cut(tsr_masked *m, tsr_stmt *loop, tsr_contraction *k, int64_t each, bool sums)
{
	tsr_masked_cut c = { loop, k, m->at, each, sums };
	tsr_push(m->a, &m->cuts, c);
}

/* The loop around whose bare symbol the store has on another axis than positions. */
static uint32_t rows_axis(const tsr_masked *m, const tsr_stmt *store, uint32_t axis)
{
	uint32_t found = TSR_NONE;
	for (uint32_t i = 0; i < m->p->l->buffers.at[store->store.buffer]->rank; i++) {
		const tsr_lin *x = &store->store.index[i];
		if (i == axis || (!x->n && !x->offset && !x->base.k && !x->base.nterms))
			continue;
		if (found != TSR_NONE || x->n != 1 || !tsr_lin_bare(x, x->terms[0].id))
			return TSR_NONE;
		found = i;
	}
	return found;
}

static void stored(tsr_masked *m, const tsr_stmt *s, tsr_masked_value v)
{
	tsr_masked_buffer *b = &m->buffers[s->store.buffer];
	b->now = v;
	b->version++;
	b->rows = rows_axis(m, s, b->axis);
}

/* A statement of a loop over positions. */
static bool position_stmt(tsr_masked *m, tsr_stmt *s, uint32_t sym)
{
	if (reads_elsewhere(m, s, at_loop(sym)))
		return false;
	if (s->kind == TSR_STMT_STORE) {
		const tsr_masked_buffer *b = &m->buffers[s->store.buffer];
		if (!b->own || b->axis == TSR_NONE)
			return false;
		stored(m, s, tsr_masked_value_of(m, s->store.value, sym));
		return true;
	}
	if (s->kind == TSR_STMT_LET) {
		tsr_masked_local l = { s->let.local, tsr_masked_value_of(m, s->let.value, sym) };
		tsr_push(m->a, &m->locals, l);
		return true;
	}
	const tsr_expr *v = s->kind == TSR_STMT_SET ? s->let.value : NULL;
	if (!v || v->kind != TSR_EXPR_OP || !tsr_expr_is_local(v->op.args[0], s->let.local))
		return false;
	if (v->op.op == TSR_OP_MAX || v->op.op == TSR_OP_MIN) {
		tsr_masked_class c = tsr_masked_value_of(m, v->op.args[1], sym).cls;
		return c == TSR_MASKED_ALIKE || c == TSR_MASKED_ZERO;
	}
	return v->op.op == TSR_OP_ADD && tsr_masked_vanishes(m, tsr_masked_value_of(m, v->op.args[1], sym));
}

/* A nest that is no contraction. */
static bool plain_nest(tsr_masked *m, tsr_stmt *s)
{
	if (s->kind != TSR_STMT_FOR)
		return (s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_LET || s->kind == TSR_STMT_SET) && !reads_elsewhere(m, s, at_loop(TSR_NONE));
	if (s->loop.contraction && s->loop.contraction->schedule.mr)
		return false;
	bool along = tsr_masked_along(m, s->loop.sym), ok = true;
	if (along && (!tsr_size_is_const(s->loop.extent) || s->loop.extent.k != m->mask.extent))
		return false;
	tsr_push(m->a, &m->around, s);
	for (uint32_t i = 0; ok && i < s->loop.body.n; i++)
		ok = along ? position_stmt(m, s->loop.body.at[i], s->loop.sym) : plain_nest(m, s->loop.body.at[i]);
	m->around.n--;
	if (along)
		cut(m, s, NULL, 1, false);
	return ok;
}

/* Tiles that read and write where operands lie, in order. */
static bool plain_tiles(const tsr_schedule *s)
{
	return !s->rows && !s->cols && !s->turn && !s->join && !s->together && !s->aside && !s->knit && !s->pairs && !s->dots;
}

/* Of the operands, both of them elements, one is zero at hidden positions, and the other one is asked to be finite. */
static bool products_vanish(tsr_masked *m, const tsr_contraction *k, uint32_t sym)
{
	const tsr_expr *side[2] = { k->a_value, k->b_value };
	for (int i = 0; i < 2 && k->combine == TSR_OP_MUL && k->acc == TSR_ACC_ADD; i++) {
		const tsr_expr *x = side[i], *other = side[!i];
		if (x->kind != TSR_EXPR_LOAD || other->kind != TSR_EXPR_LOAD || !tsr_expr_mentions(m->p->l, x, sym))
			continue;
		tsr_masked_value v = tsr_masked_value_of(m, x, sym);
		if ((v.cls == TSR_MASKED_ZERO || v.cls == TSR_MASKED_ALIKE) && tsr_masked_look_at(m, other))
			return tsr_masked_vanishes(m, v);
	}
	return false;
}

static bool contraction_stmts(tsr_masked *m, const tsr_stmts *body, place here)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmts *in = tsr_stmt_inside(body->at[i]);
		if (in ? !contraction_stmts(m, in, here) : reads_elsewhere(m, body->at[i], here))
			return false;
	}
	return true;
}

/* The loop of the nest with this symbol; all loops of the nest are `around` then, from which the caller takes them again. */
static tsr_stmt *enter(tsr_masked *m, tsr_stmt *s, uint32_t sym)
{
	tsr_stmt *found = NULL;
	while (s) {
		tsr_push(m->a, &m->around, s);
		found = s->loop.sym == sym ? s : found;
		tsr_stmt *next = NULL;
		for (uint32_t i = 0; i < s->loop.body.n; i++)
			next = s->loop.body.at[i]->kind == TSR_STMT_FOR ? s->loop.body.at[i] : next;
		s = next;
	}
	return found;
}

static const tsr_contract_loop *loop_named(const tsr_contraction *k, uint32_t sym)
{
	for (uint32_t i = 0; i < k->nloops; i++)
		if (k->loops[i].sym == sym)
			return &k->loops[i];
	return NULL;
}

static tsr_stmt *loop_around(const tsr_masked *m, uint32_t sym)
{
	for (uint32_t i = 0; i < m->around.n; i++)
		if (m->around.at[i]->loop.sym == sym)
			return (tsr_stmt *)m->around.at[i];
	return NULL;
}

/* Its result's positions in panels (strip_turn.c), over which a loop of its batch goes, or one around it. */
static place panels_of(const tsr_masked *m, const tsr_contraction *k)
{
	const tsr_masked_buffer *c = &m->buffers[k->c];
	for (uint32_t t = 0; c->own && c->axis != TSR_NONE && k->c_index[c->axis].n == 2 && t < 2; t++) {
		const tsr_lin_term *term = k->c_index[c->axis].terms;
		const tsr_contract_loop *panel = loop_named(k, term[t].id), *within = loop_named(k, term[!t].id);
		const tsr_stmt *around = panel ? NULL : loop_around(m, term[t].id);
		if ((around || (panel && panel->cls == TSR_CLASS_BATCH)) && within && term[!t].coef == 1 && within->extent.k == term[t].coef && m->mask.step % term[t].coef == 0)
			return (place){ term[t].id, within->sym, term[t].coef };
	}
	return at_loop(TSR_NONE);
}

/* Where the contraction's iterations are; false: at several positions, or at more than the loop has. */
static bool place_of(const tsr_masked *m, const tsr_contraction *k, place *out)
{
	*out = at_loop(TSR_NONE);
	for (uint32_t i = 0; i < k->nloops; i++)
		if (tsr_masked_along(m, k->loops[i].sym)) {
			if (out->sym != TSR_NONE)
				return false;
			out->sym = k->loops[i].sym;
		}
	if (out->sym == TSR_NONE)
		*out = panels_of(m, k);
	const tsr_contract_loop *loop = out->sym == TSR_NONE ? NULL : loop_named(k, out->sym);
	const tsr_stmt *around = out->sym == TSR_NONE || loop ? NULL : loop_around(m, out->sym);
	tsr_size extent = loop ? loop->extent : around ? around->loop.extent : tsr_size_const(m->mask.extent);
	return tsr_size_is_const(extent) && extent.k * out->each == m->mask.extent && (!loop || loop->cls != TSR_CLASS_BATCH || out->each > 1);
}

/* What a product's tail stores at positions: strips have it for themselves. */
static bool tail(tsr_masked *m, const tsr_tail *t, const place *here)
{
	tsr_masked_local sum = { t->sum, { TSR_MASKED_ANY, TSR_NONE } };
	bool ok = true;
	uint32_t depth = m->around.n, last = here->inner == TSR_NONE ? here->sym : here->inner;
	while (m->around.at[m->around.n - 1]->loop.sym != last)
		m->around.n--;               /* it stands behind the sum's loops */
	tsr_push(m->a, &m->locals, sum);
	for (uint32_t i = 0; i < t->lets.n; i++) {
		tsr_masked_local l = { t->lets.at[i]->let.local, tsr_masked_value_of(m, t->lets.at[i]->let.value, here->sym) };
		tsr_push(m->a, &m->locals, l);
	}
	for (uint32_t i = 0; ok && i < t->stores.n; i++) {
		const tsr_masked_buffer *b = &m->buffers[t->stores.at[i]->store.buffer];
		ok = b->own && b->axis != TSR_NONE;
		if (ok)
			stored(m, t->stores.at[i], tsr_masked_value_of(m, t->stores.at[i]->store.value, here->sym));
	}
	m->around.n = depth;
	return ok;
}

static bool contraction(tsr_masked *m, tsr_stmt *s)
{
	tsr_contraction *k = s->loop.contraction;
	place here;
	uint32_t same = 0, depth = m->around.n;
	if (!place_of(m, k, &here) || !contraction_stmts(m, &s->loop.body, here))
		return false;
	if (here.sym == TSR_NONE)
		return true;
	const tsr_contract_loop *loop = loop_named(k, here.sym);
	tsr_loop_class cls = loop ? loop->cls : TSR_CLASS_BATCH;
	for (uint32_t i = 0; i < k->nloops; i++)
		same += loop && k->loops[i].cls == cls;
	if (same > 1 || s->loop.split || !plain_tiles(&k->schedule))
		return false;
	tsr_stmt *outer = loop ? NULL : loop_around(m, here.sym), *inner = enter(m, s, here.sym), *cut_loop = outer ? outer : inner;
	tsr_masked_buffer *c = &m->buffers[k->c];
	bool own = c->own && c->axis != TSR_NONE, ok = cut_loop;
	if (ok && cls != TSR_CLASS_K && own) {
		ok = k->clear && (!k->tail || tail(m, k->tail, &here));
		if (!k->tail) {
			c->now = (tsr_masked_value){ tsr_masked_finite(m, k, c->product) ? TSR_MASKED_FINITE : TSR_MASKED_ANY, TSR_NONE };
			c->version++;
		}
		cut(m, cut_loop, loop ? k : NULL, here.each, false);
	} else if (ok) {
		int64_t tile = cls == TSR_CLASS_M ? k->schedule.mr : cls == TSR_CLASS_N ? k->schedule.nr : 0;
		bool early = cls == TSR_CLASS_K && m->mask.lower && k->schedule.early;      /* it counts blocks of K from the first on */
		ok = loop && !early && (cls == TSR_CLASS_K || (!k->clear && !k->tail)) && !own && products_vanish(m, k, here.sym);
		m->beyond = tile > m->beyond ? tile : m->beyond;
		cut(m, cut_loop, k, 1, true);
	}
	m->around.n = depth;
	return ok;
}

/* A statement of the strips. */
static bool strip_stmt(tsr_masked *m, tsr_stmt *s)
{
	if (s->kind == TSR_STMT_FOR && s->loop.contraction && s->loop.contraction->schedule.mr)
		return contraction(m, s);
	const tsr_stmts *body = tsr_stmt_inside(s);
	bool one = s->kind == TSR_STMT_FOR && body->n == 1 && body->at[0]->kind == TSR_STMT_FOR;
	if (!one || tsr_masked_along(m, s->loop.sym))
		return plain_nest(m, s);
	tsr_push(m->a, &m->around, s);
	bool ok = strip_stmt(m, body->at[0]);
	m->around.n--;
	return ok;
}

/* ---- the pass -------------------------------------------------------------------------------------------------------------------- */

static bool worth_it(const tsr_masked *m) { return tsr_masked_share(&m->mask, m->strips->loop.extent.k, m->beyond) * 10 <= WORTH; }

/* Something is left of every strip. */
static bool some_left(const tsr_masked *m)
{
	const tsr_mask *x = &m->mask;
	int64_t last = x->step * (m->strips->loop.extent.k - 1);
	return (!x->upper || x->first > 0) && (!x->lower || last + x->low < x->extent) && (!x->upper || !x->lower || x->low < x->first);
}

static bool left_out(tsr_masked *m, const tsr_stmts *kernel, const tsr_stmts *outer, uint32_t at)
{
	tsr_stmts *body = &m->strips->loop.body;
	tsr_masks_find(m, body);
	if (!m->any || !some_left(m))
		return false;
	find_own(m, kernel, outer, at);
	for (naming n = { m, true }; n.news;) {
		n.news = false;
		name_stmts(&n, body);
	}
	for (m->at = 0; m->at < body->n; m->at++)
		if (!strip_stmt(m, body->at[m->at]))
			return false;
	return m->cuts.n && tsr_masked_hopes(m) && worth_it(m);
}

static void visit(tsr_masked *m, tsr_name name, const tsr_stmts *kernel, tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_IF)
			visit(m, name, kernel, &s->cond.body);
		if (s->kind != TSR_STMT_FOR || s->loop.contraction)
			continue;
		tsr_masked here = { .p = m->p, .a = m->a, .only = m->only, .unit = m->unit, .kernel = name, .strips = s, .beyond = TSR_MASKED_BEYOND };
		here.buffers = TSR_NEW_N(m->a, tsr_masked_buffer, m->p->l->buffers.n + 1);
		bool known = tsr_size_is_const(s->loop.extent), strips = s->loop.how == TSR_FOR_SERIAL && s->loop.body.n > 1 && !(known && s->loop.extent.k < 2);
		uint32_t held = body->n;
		if (strips && tsr_masked_blocks(&here, body, i)) {
			i += body->n - held;
			m->p->changes++;
			continue;
		}
		if (!strips || !known || !left_out(&here, kernel, body, i)) {
			visit(m, name, kernel, &s->loop.body);
			continue;
		}
		uint32_t before = body->n;
		tsr_masked_build(&here, body, i);
		i += body->n - before;
		m->p->changes++;
	}
}

void tsr_pass_masked(tsr_pass *p)
{
	tsr_arena *a = tsr_arena_new();
	tsr_masked m = { .p = p, .a = a, .only = tsr_only_stores(p->l, a) };
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		m.unit = p->l->units.at[u];
		for (uint32_t i = 0; i < m.unit->body.n; i++) {
			tsr_stmt *s = m.unit->body.at[i];
			if (s->kind == TSR_STMT_KERNEL)
				visit(&m, s->kernel.name, &s->kernel.body, &s->kernel.body);
		}
	}
	tsr_arena_free(a);
}
