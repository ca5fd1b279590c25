/* What expressions are at positions that a mask leaves out (masked.c): where(i >= t, x, c) is c from t = i + 1 on. */
#include "masked.h"
#include <math.h>

/* ---- the mask ------------------------------------------------------------------------------------------------------------- */

typedef struct stores { const tsr_loops *l; tsr_arena *a; const tsr_stmt **only; uint32_t *n; tsr_nest path; } stores;

static void find_stores(stores *x, const tsr_stmts *body, bool always)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		switch (s->kind) {
		case TSR_STMT_KERNEL: find_stores(x, &s->kernel.body, always); break;
		case TSR_STMT_IF: find_stores(x, &s->cond.body, false); break;
		case TSR_STMT_FOR:
			if (x->path.n == TSR_MOST_LOOPS)
				return;
			x->path.loop[x->path.n++] = s;
			find_stores(x, &s->loop.body, always);
			x->path.n--;
			break;
		case TSR_STMT_STORE: case TSR_STMT_UPDATE:
			x->n[s->store.buffer]++;
			x->only[s->store.buffer] = s->kind == TSR_STMT_STORE && always && tsr_nest_covers(x->l, &x->path, s, NULL) ? s : NULL;
			break;
		case TSR_STMT_RANDOM: x->n[s->random.buffer]++; break;
		case TSR_STMT_LET: case TSR_STMT_SET: case TSR_STMT_LETSYM: case TSR_STMT_CHECK: case TSR_STMT_KINDS: break;
		}
	}
}

const tsr_stmt **tsr_only_stores(const tsr_loops *l, tsr_arena *a)
{
	stores x = { l, a, TSR_NEW_N(a, const tsr_stmt *, l->buffers.n + 1), TSR_NEW_N(a, uint32_t, l->buffers.n + 1), { 0 } };
	for (uint32_t u = 0; u < l->units.n; u++)
		find_stores(&x, &l->units.at[u]->body, true);
	for (uint32_t b = 0; b < l->buffers.n; b++)
		if (x.n[b] != 1 || tsr_buffer_kept(l->buffers.at[b]))
			x.only[b] = NULL;
	return x.only;
}

/* What lies at the element that is loaded, where that is known. */
static const tsr_expr *element(const tsr_masked *m, const tsr_expr *load)
{
	const tsr_stmt *store = m->only[load->load.buffer];
	uint32_t rank = m->p->l->buffers.at[load->load.buffer]->rank, n = 0, *syms = TSR_NEW_N(m->a, uint32_t, rank + 1);
	tsr_lin *to = TSR_NEW_N(m->a, tsr_lin, rank + 1);
	for (uint32_t axis = 0; store && axis < rank; axis++)
		if (store->store.index[axis].n)
			syms[n] = store->store.index[axis].terms[0].id, to[n++] = load->load.index[axis];
	return store ? tsr_expr_place(m->a, m->p->l, store->store.value, n, syms, to) : NULL;
}

/* x, a whole number of indices and numbers, as one index. */
static bool index_of(const tsr_masked *m, const tsr_expr *x, tsr_lin *out)
{
	tsr_lin y;
	if (!tsr_prec_is_int(x->prec))
		return false;
	if (x->kind == TSR_EXPR_INDEX) {
		*out = x->index;
		return true;
	}
	if (x->kind == TSR_EXPR_CONST) {
		*out = tsr_lin_const(x->value.i);
		return true;
	}
	if (x->kind == TSR_EXPR_LOAD) {
		const tsr_expr *e = element(m, x);
		return e && e->kind != TSR_EXPR_LOAD && index_of(m, e, out);
	}
	if (x->kind == TSR_EXPR_CONVERT)
		return index_of(m, x->converted, out);
	if (x->kind != TSR_EXPR_OP || (x->op.op != TSR_OP_ADD && x->op.op != TSR_OP_SUB) || !index_of(m, x->op.args[0], out) || !index_of(m, x->op.args[1], &y))
		return false;
	*out = tsr_lin_add(m->a, *out, x->op.op == TSR_OP_ADD ? 1 : -1, y);
	return true;
}

/* The condition is that this index is not negative. */
static bool comparison(const tsr_masked *m, const tsr_expr *x, tsr_lin *out)
{
	if (x->kind != TSR_EXPR_OP || tsr_op_get(x->op.op)->arity != 2)
		return false;
	tsr_op op = x->op.op;
	bool less = op == TSR_OP_LT || op == TSR_OP_LE, strict = op == TSR_OP_LT || op == TSR_OP_GT;
	tsr_lin left, right;
	if ((!less && op != TSR_OP_GT && op != TSR_OP_GE) || !index_of(m, x->op.args[less], &left) || !index_of(m, x->op.args[!less], &right))
		return false;
	*out = tsr_lin_add(m->a, left, -1, right);
	out->offset -= strict;
	return !out->base.k && !out->base.nterms;
}

bool tsr_masked_along(const tsr_masked *m, uint32_t sym)
{
	for (uint32_t i = 0; i < m->along.n; i++)
		if (m->along.at[i] == sym)
			return true;
	return false;
}

/* The loop of this symbol between the strips and here. */
static const tsr_stmt *around(const tsr_masked *m, uint32_t sym)
{
	for (uint32_t i = 0; i < m->around.n; i++)
		if (m->around.at[i]->loop.sym == sym)
			return m->around.at[i];
	return NULL;
}

/* From this index on, or before it, positions are hidden: for all rows of a strip, which begins with position step * s. */
static bool bound(const tsr_masked *m, const tsr_lin *d, int64_t way, bool upper, tsr_mask *out)
{
	const tsr_stmt *innermost = m->around.at[m->around.n - 1];
	tsr_mask here = { .along = innermost->loop.sym, .extent = tsr_size_is_const(innermost->loop.extent) ? innermost->loop.extent.k : 0 };
	int64_t at = way * d->offset + (way > 0);
	for (uint32_t i = 0; i < d->n; i++) {
		const tsr_lin_term *t = &d->terms[i];
		const tsr_stmt *loop = t->kind == TSR_LSYM_LOOP ? around(m, t->id) : NULL;
		if (t->kind == TSR_LSYM_LOOP && t->id == m->strips->loop.sym)
			here.step = way * t->coef;
		else if (loop && loop == innermost)
			continue;
		else if (!loop || !tsr_size_is_const(loop->loop.extent))
			return false;
		else if (way * t->coef > 0)
			at += upper ? way * t->coef * (loop->loop.extent.k - 1) : 0;
		else if (t->coef == -way * innermost->loop.extent.k && !here.panels)
			here.panels = true, here.along = t->id, here.extent *= loop->loop.extent.k;
		else
			return false;
	}
	bool other = upper ? out->lower : out->upper;
	if (here.step <= 0 || (other && (here.step != out->step || here.along != out->along)))
		return false;
	out->along = here.along, out->extent = here.extent, out->panels = here.panels, out->step = here.step;
	if (upper)
		out->upper = true, out->first = at;
	else
		out->lower = true, out->low = at;
	return true;
}

/* What of the condition hides positions, being true or false there whatever else it says. */
static void find_bounds(const tsr_masked *m, const tsr_expr *x, bool hides, tsr_mask *out)
{
	uint32_t along = m->around.at[m->around.n - 1]->loop.sym;
	tsr_lin d;
	if (x->kind == TSR_EXPR_LOAD) {
		const tsr_expr *e = element(m, x);
		if (e && e->kind == TSR_EXPR_OP)
			find_bounds(m, e, hides, out);
		return;
	}
	if (x->kind == TSR_EXPR_OP && x->op.op == (hides ? TSR_OP_OR : TSR_OP_AND)) {
		find_bounds(m, x->op.args[0], hides, out);
		find_bounds(m, x->op.args[1], hides, out);
		return;
	}
	if (!comparison(m, x, &d))
		return;
	int64_t each = tsr_lin_coef(&d, along);
	bool upper = (each > 0) == hides;
	if ((each == 1 || each == -1) && !(upper ? out->upper : out->lower))
		bound(m, &d, -each, upper, out);
}

bool tsr_mask_of(const tsr_masked *m, const tsr_expr *x, tsr_mask *out)
{
	if (x->kind != TSR_EXPR_OP || x->op.op != TSR_OP_WHERE || !m->around.n || !(m->later || tsr_size_is_const(m->around.at[m->around.n - 1]->loop.extent)))
		return false;
	bool when = x->op.args[2]->kind != TSR_EXPR_CONST;
	*out = (tsr_mask){ .outside = x->op.args[when ? 1 : 2] };
	if (out->outside->kind != TSR_EXPR_CONST)
		return false;
	find_bounds(m, x->op.args[0], when, out);
	return out->upper || out->lower;
}

bool tsr_mask_same(const tsr_mask *x, const tsr_mask *y)
{
	return x->step == y->step && x->extent == y->extent && x->upper == y->upper && x->lower == y->lower && x->first == y->first && x->low == y->low;
}

static bool is_the_mask(const tsr_masked *m, const tsr_mask *x) { return tsr_mask_same(x, &m->mask); }

/* The first mask in it sets the limit. */
static tsr_expr *find_mask(void *user, tsr_expr *e)
{
	tsr_masked *m = user;
	tsr_mask mask;
	if (!tsr_mask_of(m, e, &mask))
		return e;
	if (!m->any)
		m->any = true, m->mask = mask;
	m->below |= is_the_mask(m, &mask) && mask.outside->value.d != 0;
	if (is_the_mask(m, &mask) && mask.panels)
		m->panels = true, m->panel = mask.along, m->within = m->around.at[m->around.n - 1]->loop.sym;
	if (is_the_mask(m, &mask) && !mask.panels && !tsr_masked_along(m, mask.along))
		tsr_push(m->a, &m->along, mask.along);
	return e;
}

void tsr_masks_find(tsr_masked *m, tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR) {
			tsr_push(m->a, &m->around, s);
			tsr_masks_find(m, &s->loop.body);
			m->around.n--;
		} else
			tsr_stmt_rewrite(s, find_mask, m);
	}
}

double tsr_masked_share(const tsr_mask *x, int64_t strips, int64_t beyond)
{
	int64_t some = 0;
	for (int64_t s = 0; s < strips; s++) {
		int64_t to = x->upper ? x->step * s + x->first + beyond : x->extent, from = x->lower ? x->step * s + x->low - beyond : 0;
		some += (to < x->extent ? to : x->extent) - (from > 0 ? from : 0);
	}
	return (double)some / (double)(strips * x->extent);
}

/* ---- values ---------------------------------------------------------------------------------------------------------------- */

static const tsr_masked_value ANY = { TSR_MASKED_ANY, TSR_NONE }, ALIKE = { TSR_MASKED_ALIKE, TSR_NONE }, ZERO = { TSR_MASKED_ZERO, TSR_NONE };

static bool can_look_at(tsr_masked *m, const tsr_expr *x, tsr_masked_operand *out)
{
	enum { MOST = 1 << 20 };         /* terms of a sum */
	tsr_uses u = { 0 };
	tsr_stmt_uses(m->a, m->strips, &u);
	if (x->kind != TSR_EXPR_LOAD || (x->prec != TSR_PREC_F32 && x->prec != TSR_PREC_F64) || tsr_use_writes(tsr_uses_of(&u, x->load.buffer)))
		return false;
	tsr_contract_loop *loops = TSR_NEW_N(m->a, tsr_contract_loop, m->around.n + 2);
	*out = (tsr_masked_operand){ x, 0, loops };
	for (uint32_t i = 0; i <= m->around.n; i++) {
		const tsr_stmt *s = i ? m->around.at[i - 1] : m->strips;
		bool known = tsr_size_is_const(s->loop.extent);
		if (known ? s->loop.extent.k > MOST : !m->later)
			return false;
		loops[out->n++] = (tsr_contract_loop){ .sym = s->loop.sym, .extent = s->loop.extent };
	}
	return true;
}

static const tsr_contract_loop *loop_in(const tsr_masked_operand *o, const tsr_lin_term *t)
{
	for (uint32_t i = 0; t->kind == TSR_LSYM_LOOP && i < o->n; i++)
		if (o->loops[i].sym == t->id)
			return &o->loops[i];
	return NULL;
}

/* The same elements, walked by loops of the same extents, whatever their names. */
static bool same_elements(const tsr_masked *m, const tsr_masked_operand *x, const tsr_masked_operand *y)
{
	bool same = x->x->load.buffer == y->x->load.buffer;
	for (uint32_t axis = 0; same && axis < m->p->l->buffers.at[x->x->load.buffer]->rank; axis++) {
		const tsr_lin *a = &x->x->load.index[axis], *b = &y->x->load.index[axis];
		same = a->offset == b->offset && a->n == b->n && tsr_extent_equal(a->base, b->base);
		for (uint32_t t = 0; same && t < a->n; t++) {
			const tsr_contract_loop *p = loop_in(x, &a->terms[t]), *q = loop_in(y, &b->terms[t]);
			same = a->terms[t].coef == b->terms[t].coef && (p && q ? tsr_extent_equal(p->extent, q->extent) : !p && !q && a->terms[t].kind == b->terms[t].kind && a->terms[t].id == b->terms[t].id);
		}
	}
	return same;
}

/* It is asked of each element once. */
static void look_at(tsr_masked *m, tsr_masked_operand o)
{
	for (uint32_t i = 0; i < m->operands.n; i++)
		if (same_elements(m, &m->operands.at[i], &o))
			return;
	tsr_push(m->a, &m->operands, o);
}

bool tsr_masked_look_at(tsr_masked *m, const tsr_expr *operand)
{
	tsr_masked_operand o;
	if (!can_look_at(m, operand, &o))
		return false;
	look_at(m, o);
	return true;
}

bool tsr_masked_finite(tsr_masked *m, const tsr_contraction *k, tsr_masked_operand operands[2])
{
	return can_look_at(m, k->a_value, &operands[0]) && can_look_at(m, k->b_value, &operands[1]) && k->combine == TSR_OP_MUL && k->acc == TSR_ACC_ADD && !k->tail;
}

bool tsr_masked_vanishes(tsr_masked *m, tsr_masked_value v)
{
	if (v.cls == TSR_MASKED_ZERO)
		return true;
	if (v.cls != TSR_MASKED_ALIKE || v.of == TSR_NONE)
		return false;
	tsr_masked_hope hope = { v.of, m->buffers[v.of].version };
	for (uint32_t i = 0; i < m->hopes.n; i++)
		if (m->hopes.at[i].b == hope.b && m->hopes.at[i].version == hope.version)
			return true;
	tsr_push(m->a, &m->hopes, hope);
	return true;
}

static bool alike(tsr_masked_value v) { return v.cls == TSR_MASKED_ALIKE || v.cls == TSR_MASKED_ZERO; }

static tsr_masked_value load(tsr_masked *m, const tsr_expr *x, uint32_t sym)
{
	const tsr_masked_buffer *b = &m->buffers[x->load.buffer];
	bool mentions = false;
	for (uint32_t axis = 0; axis < m->p->l->buffers.at[x->load.buffer]->rank; axis++)
		mentions |= tsr_lin_mentions(&x->load.index[axis], sym);
	if (!b->own || b->axis == TSR_NONE)
		return mentions ? ANY : ALIKE;
	if (!tsr_lin_bare(&x->load.index[b->axis], sym))
		return ANY;
	return b->now.cls == TSR_MASKED_ALIKE ? (tsr_masked_value){ TSR_MASKED_ALIKE, x->load.buffer } : b->now;
}

static tsr_masked_value product(tsr_masked *m, tsr_masked_value x, tsr_masked_value y, const tsr_expr *of_y)
{
	if (y.cls == TSR_MASKED_FINITE && of_y->kind == TSR_EXPR_LOAD && tsr_masked_vanishes(m, x)) {
		for (int i = 0; i < 2; i++)
			look_at(m, m->buffers[of_y->load.buffer].product[i]);
		return ZERO;
	}
	return x.cls == TSR_MASKED_ZERO && y.cls == TSR_MASKED_ZERO ? ZERO : ANY;
}

tsr_masked_value tsr_masked_value_of(tsr_masked *m, const tsr_expr *x, uint32_t sym)
{
	tsr_mask mask;
	switch (x->kind) {
	case TSR_EXPR_CONST: return tsr_prec_is_float(x->prec) && x->value.d == 0 ? ZERO : ALIKE;
	case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: return ALIKE;
	case TSR_EXPR_INDEX: return tsr_lin_mentions(&x->index, sym) ? ANY : ALIKE;
	case TSR_EXPR_LOCAL:
		for (uint32_t i = m->locals.n; i-- > 0;)
			if (m->locals.at[i].id == x->local)
				return m->locals.at[i].is;
		return ALIKE;
	case TSR_EXPR_LOAD: return load(m, x, sym);
	case TSR_EXPR_CONVERT: {
		tsr_masked_value v = tsr_masked_value_of(m, x->converted, sym);
		return v.cls == TSR_MASKED_ZERO && tsr_prec_is_float(x->prec) ? ZERO : alike(v) ? ALIKE : ANY;
	}
	case TSR_EXPR_OP: {
		if (tsr_mask_of(m, x, &mask) && mask.along == sym && is_the_mask(m, &mask))
			return tsr_masked_value_of(m, mask.outside, sym);
		uint32_t n = tsr_op_get(x->op.op)->arity;
		tsr_masked_value v[3] = { ALIKE, ALIKE, ALIKE };
		bool all = true;
		for (uint32_t i = 0; i < n; i++) {
			v[i] = tsr_masked_value_of(m, x->op.args[i], sym);
			all &= alike(v[i]);
		}
		if (x->op.op == TSR_OP_MUL && !all) {
			tsr_masked_value p = product(m, v[0], v[1], x->op.args[1]);
			return p.cls == TSR_MASKED_ZERO ? p : product(m, v[1], v[0], x->op.args[0]);
		}
		if (x->op.op == TSR_OP_MUL || x->op.op == TSR_OP_DIV)
			for (int i = 0; i < (x->op.op == TSR_OP_MUL ? 2 : 1); i++)
				if (v[i].cls == TSR_MASKED_ZERO && x->op.args[!i]->kind == TSR_EXPR_CONST && v[!i].cls != TSR_MASKED_ZERO && isfinite(x->op.args[!i]->value.d))
					return ZERO;
		return all ? ALIKE : ANY;
	}
	case TSR_EXPR_LOOKUP: case TSR_EXPR_SELECT: case TSR_EXPR_KINDS: break;
	}
	return ANY;
}
