/* Recognises contractions:  C[c] acc= combine(A[a], B[b])  over a perfect nest, and sorts its loops.
 *
 * Two forms are seen, both with any loops around the innermost statements and any affine indices:
 *     for .. { let $s = 0  for .. reduce { set $s = $s + a * b }  store C = $s }       (or update C += $s, or let $s = C)
 *     for .. { update C += a * b }
 * and the same with a maximum or a minimum in place of the sum, over sums, products or the like in place of the product, or with
 * "or" and "and" of bools.  In the first, what is stored may be an expression of $s, and there may be several stores, and values that have
 * names before them (the contraction's tail).
 * A loop goes to the class of the operands that mention it: all three, batch; C and A, M; C and B, N; A or B only, K.
 * Without K it is no contraction.  A and B are named so that the loop which walks C with stride one is in N.  A guard around the
 * innermost statement or the product, as padding makes, turns into an operand that is zero outside (of a maximum of sums, minus
 * infinity).  An operand may be looked up, a LOOKUP.  Whatever else stands in the nest (indices read from data by statements, order that matters) leaves it as it is.
 *
 * Requires nothing; adds a note to the outermost FOR and changes no statement. */
#include "pass.h"
#include <string.h>

enum { MOST_LOOPS = 32 };

typedef struct nest {
	const tsr_loops *l;
	uint32_t n;
	tsr_contract_loop loops[MOST_LOOPS];
	const tsr_expr *product;
	const tsr_stmt *guard;       /* an IF around the innermost statement, or NULL */
	bool finite[2];              /* of A and B: see tsr_contraction */
	tsr_buffer_id c;
	tsr_lin *c_index;
	tsr_acc acc;
	bool clear;
	tsr_tail *tail;
} nest;

/* Descends through FORs that hold nothing but the next; NULL when a loop's order matters. */
static const tsr_stmts *descend(nest *n, const tsr_stmts *body)
{
	while (body->n == 1 && body->at[0]->kind == TSR_STMT_FOR) {
		const tsr_stmt *s = body->at[0];
		if (s->loop.how == TSR_FOR_SERIAL || n->n == MOST_LOOPS)
			return NULL;
		n->loops[n->n++] = (tsr_contract_loop){ s->loop.sym, s->loop.extent, TSR_CLASS_K, s->loop.from, s->loop.until };
		body = &s->loop.body;
	}
	return body;
}

/* The innermost statement, out of the guard that it may stand in. */
static const tsr_stmts *guarded(nest *n, const tsr_stmts *body)
{
	if (body->n != 1 || body->at[0]->kind != TSR_STMT_IF)
		return body;
	n->guard = body->at[0];
	return &n->guard->cond.body;
}

/* The accumulators that the engine has, by their operation. */
static bool collects(tsr_op op, tsr_acc *acc)
{
	static const tsr_acc all[] = { TSR_ACC_ADD, TSR_ACC_MAX, TSR_ACC_MIN, TSR_ACC_OR, TSR_ACC_AND };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (op == tsr_acc_get(all[i])->op) {
			*acc = all[i];
			return true;
		}
	return false;
}

/* And what they combine: products are added, more is compared; the order of the operands is free. */
static bool combines(tsr_acc acc, tsr_op op)
{
	if (acc != TSR_ACC_MAX && acc != TSR_ACC_MIN)
		return op == (acc == TSR_ACC_SUB ? TSR_OP_MUL : tsr_acc_get(acc)->over);
	return op == TSR_OP_ADD || op == TSR_OP_MUL || op == TSR_OP_MAX || op == TSR_OP_MIN;
}

static bool lin_has_data(const tsr_lin *x)
{
	for (uint32_t t = 0; t < x->n; t++)
		if (x->terms[t].kind == TSR_LSYM_DATA)
			return true;
	return false;
}

/* Packing can evaluate it: of elements of other buffers than C at affine places or, `looked` up, at those that data name, numbers, and
 * operations. */
static bool packable(const tsr_loops *l, const tsr_expr *e, tsr_buffer_id c, bool looked)
{
	tsr_expr *part[TSR_MOST_PARTS];
	for (uint32_t i = 0, n = tsr_expr_parts(e, part); i < n; i++)
		if (!packable(l, part[i], c, looked || (e->kind == TSR_EXPR_LOOKUP && part[i] == e->lookup.value)))
			return false;
	switch (e->kind) {
	case TSR_EXPR_LOAD:
		for (uint32_t i = 0; i < l->buffers.at[e->load.buffer]->rank; i++)
			if (!looked && lin_has_data(&e->load.index[i]))
				return false;
		return e->load.buffer != c;
	case TSR_EXPR_INDEX: return looked || !lin_has_data(&e->index);
	case TSR_EXPR_SELECT:
		for (uint32_t i = 0; i < e->select.n; i++)
			if (!looked && lin_has_data(&e->select.ranges[i].index))
				return false;
		return true;
	case TSR_EXPR_OP: case TSR_EXPR_CONVERT: case TSR_EXPR_LOOKUP: case TSR_EXPR_CONST: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: return true;
	case TSR_EXPR_LOCAL: case TSR_EXPR_KINDS: break;
	}
	return false;
}

static bool has_loop(const nest *n, const tsr_lin_term *t)
{
	bool found = false;
	for (uint32_t i = 0; i < n->n; i++)
		found |= t->kind == TSR_LSYM_LOOP && t->id == n->loops[i].sym;
	return found;
}

/* Every loop of the nest so far walks an axis by itself, step by step; where it begins there, as a strip's rows do, loops around the nest may say. */
static bool stores_once(const nest *n, const tsr_stmt *s)
{
	uint32_t walked = 0;
	for (uint32_t axis = 0; axis < n->l->buffers.at[s->store.buffer]->rank; axis++) {
		const tsr_lin *x = &s->store.index[axis];
		uint32_t here = 0;
		for (uint32_t t = 0; t < x->n; t++) {
			bool mine = has_loop(n, &x->terms[t]);
			if (mine ? x->terms[t].coef != 1 : x->terms[t].kind != TSR_LSYM_LOOP)
				return false;
			here += mine;
		}
		if (here > 1 || x->base.k || x->base.nterms)
			return false;
		walked += here;
	}
	return walked == n->n;
}

static bool names(const tsr_tail *t, tsr_local_id local)
{
	bool known = local == t->sum;
	for (uint32_t i = 0; i < t->lets.n; i++)
		known |= t->lets.at[i]->let.local == local;
	return known;
}

/* Of the sum, of values that have names, of numbers and of elements at affine places: those that the tail stores from the store `from` on only at
 * the place where it does, and none that it stores before, or where sums wait. */
static bool follows(const nest *n, const tsr_expr *e, uint32_t from)
{
	const tsr_stmts *stores = &n->tail->stores;
	switch (e->kind) {
	case TSR_EXPR_LOCAL: return names(n->tail, e->local);
	case TSR_EXPR_OP:
		for (uint32_t i = 0; i < tsr_op_get(e->op.op)->arity; i++)
			if (!follows(n, e->op.args[i], from))
				return false;
		return true;
	case TSR_EXPR_CONVERT: return follows(n, e->converted, from);
	case TSR_EXPR_CONST: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: return true;
	case TSR_EXPR_LOAD:
		for (uint32_t i = 0; i < stores->n; i++)
			if (e->load.buffer == stores->at[i]->store.buffer && (i == 0 || i < from || !tsr_expr_is_element(n->l, e, stores->at[i])))
				return false;
		return packable(n->l, e, TSR_NONE, false);
	case TSR_EXPR_INDEX: case TSR_EXPR_LOOKUP: case TSR_EXPR_SELECT: case TSR_EXPR_KINDS: break;
	}
	return false;
}

tsr_tail *tsr_tail_of(tsr_arena *a, const tsr_stmts *body)
{
	tsr_tail *t = TSR_NEW(a, tsr_tail);
	t->sum = body->at[0]->let.local;
	uint32_t i = 2;
	while (i < body->n && body->at[i]->kind == TSR_STMT_LET)
		tsr_push(a, &t->lets, body->at[i++]);
	while (i < body->n)
		tsr_push(a, &t->stores, body->at[i++]);
	return t;
}

/* let, reduce loops, values, several stores, or one of what the sum becomes: sets the tail. */
static bool tail_form(tsr_arena *a, nest *n, const tsr_stmts *body)
{
	const tsr_stmt *let = body->at[0];
	n->tail = tsr_tail_of(a, body);
	const tsr_stmts *stores = &n->tail->stores;
	for (uint32_t i = 0; i < stores->n; i++) {
		const tsr_stmt *s = stores->at[i];
		if (s->kind != TSR_STMT_STORE || !stores_once(n, s))
			return false;
		for (uint32_t k = 0; k < i; k++)
			if (stores->at[k]->store.buffer == s->store.buffer)
				return false;
	}
	for (uint32_t i = 0; i < n->tail->lets.n; i++)
		if (!follows(n, n->tail->lets.at[i]->let.value, 0))
			return false;
	for (uint32_t i = 0; i < stores->n; i++)
		if (!follows(n, stores->at[i]->store.value, i))
			return false;
	return stores->n && n->tail->lets.n <= TSR_MOST_LETS && n->l->buffers.at[stores->at[0]->store.buffer]->prec == let->let.prec;
}

/* let, reduce loops, stores */
static bool local_form(tsr_arena *a, nest *n, const tsr_stmts *body)
{
	const tsr_stmt *let = body->at[0], *loop = body->at[1], *out = body->at[2];
	if (let->kind != TSR_STMT_LET || loop->kind != TSR_STMT_FOR)
		return false;
	bool plain = body->n == 3 && (out->kind == TSR_STMT_STORE || out->kind == TSR_STMT_UPDATE) && tsr_expr_is_local(out->store.value, let->let.local);
	if (!plain && !tail_form(a, n, body))
		return false;
	out = plain ? out : n->tail->stores.at[0];
	const tsr_expr *start = let->let.value;
	bool from_element = out->kind == TSR_STMT_STORE && tsr_expr_is_element(n->l, start, out);
	tsr_stmts one = { (tsr_stmt **)&body->at[1], 1, 1 };
	const tsr_stmts *inner = descend(n, &one);
	inner = inner ? guarded(n, inner) : NULL;
	if (!inner || inner->n != 1 || inner->at[0]->kind != TSR_STMT_SET || inner->at[0]->let.local != let->let.local)
		return false;
	const tsr_expr *sum = inner->at[0]->let.value;
	if (sum->kind != TSR_EXPR_OP || !collects(sum->op.op, &n->acc))
		return false;
	bool from_neutral = tsr_expr_is_neutral(start, n->acc);
	if (!from_neutral && !from_element)
		return false;
	int mine = tsr_expr_is_local(sum->op.args[0], let->let.local) ? 0 : 1;
	if (!tsr_expr_is_local(sum->op.args[mine], let->let.local))
		return false;
	n->product = sum->op.args[1 - mine];
	n->clear = out->kind == TSR_STMT_STORE && from_neutral;
	if (n->tail && !n->clear)
		return false;
	n->c = out->store.buffer;
	n->c_index = out->store.index;
	if (out->kind == TSR_STMT_STORE || out->store.acc == n->acc)
		return true;
	bool subtracts = n->acc == TSR_ACC_ADD && out->store.acc == TSR_ACC_SUB;
	n->acc = out->store.acc;
	return subtracts;
}

static bool update_form(nest *n, const tsr_stmts *body)
{
	body = guarded(n, body);
	const tsr_stmt *s = body->n == 1 ? body->at[0] : NULL;
	if (!s || s->kind != TSR_STMT_UPDATE || (s->store.acc != TSR_ACC_SUB && !collects(tsr_acc_get(s->store.acc)->op, &n->acc)))
		return false;
	n->product = s->store.value;
	n->acc = s->store.acc;
	n->c = s->store.buffer;
	n->c_index = s->store.index;
	return true;
}

static bool mentions(const tsr_buffer *b, const tsr_lin *index, uint32_t sym)
{
	for (uint32_t i = 0; i < b->rank; i++)
		if (tsr_lin_mentions(&index[i], sym))
			return true;
	return false;
}

static void sort_loops(const tsr_loops *l, tsr_contraction *k)
{
	for (uint32_t i = 0; i < k->nloops; i++) {
		uint32_t sym = k->loops[i].sym;
		bool c = mentions(l->buffers.at[k->c], k->c_index, sym);
		bool a = tsr_expr_mentions(l, k->a_value, sym), b = tsr_expr_mentions(l, k->b_value, sym);
		k->loops[i].cls = !c ? TSR_CLASS_K : a == b ? TSR_CLASS_BATCH : a ? TSR_CLASS_M : TSR_CLASS_N;
	}
}

/* The operand mentions every loop of the contraction that the index mentions. */
static bool within(const tsr_loops *l, const nest *n, const tsr_lin *index, const tsr_expr *operand)
{
	for (uint32_t i = 0; i < n->n; i++)
		if (tsr_lin_mentions(index, n->loops[i].sym) && !tsr_expr_mentions(l, operand, n->loops[i].sym))
			return false;
	return true;
}

static bool chosen_by(const tsr_loops *l, const tsr_expr *at, const tsr_lin *index)
{
	bool any = false;
	for (uint32_t t = 0; t < index->n; t++)
		any |= index->terms[t].kind == TSR_LSYM_LOOP && tsr_expr_mentions(l, at, index->terms[t].id);
	return any;
}

/* Guards stand within lookups of places that they do not choose: so the place is known before they are asked (engine/rows.c). */
static tsr_expr *lookup_first(tsr_pass *p, tsr_expr *e)
{
	tsr_expr *in = e->kind == TSR_EXPR_SELECT ? e->select.inside : NULL;
	if (!in || in->kind != TSR_EXPR_LOOKUP || e->select.outside->kind != TSR_EXPR_CONST)
		return e;
	for (uint32_t i = 0; i < e->select.n; i++)
		if (chosen_by(p->l, in->lookup.at, &e->select.ranges[i].index))
			return e;
	tsr_expr *select = TSR_NEW(p->arena, tsr_expr), *lookup = TSR_NEW(p->arena, tsr_expr);
	*select = *e, *lookup = *in;
	select->select.inside = in->lookup.value;
	lookup->lookup.value = lookup_first(p, select);
	return lookup;
}

static tsr_expr *neutral_outside(tsr_pass *p, tsr_acc acc, tsr_expr *e, tsr_range range)
{
	tsr_expr *x = TSR_NEW(p->arena, tsr_expr), *zero = tsr_expr_const(p->arena, tsr_acc_neutral(acc, e->prec));
	x->kind = TSR_EXPR_SELECT;
	x->prec = e->prec;
	x->select.n = 1;
	x->select.ranges = TSR_NEW(p->arena, tsr_range);
	*x->select.ranges = range;
	x->select.inside = e;
	x->select.outside = zero;
	return lookup_first(p, x);
}

/* Outside a guard's range operands are neutral (0; of a maximum minus infinity) that mention all of the range's loops.  Each of them:
 * the guard may be what keeps its loads within their buffers.  An operand that is not neutral there must be finite for what is
 * combined to be neutral. */
static bool guard_operands(tsr_pass *p, nest *n, uint32_t nranges, const tsr_range *ranges, tsr_expr **a, tsr_expr **b)
{
	for (uint32_t i = 0; i < nranges; i++) {
		tsr_range r = ranges[i];
		if (lin_has_data(&r.index))
			return false;
		bool in_a = within(p->l, n, &r.index, *a), in_b = within(p->l, n, &r.index, *b);
		if (!in_a && !in_b)
			return false;
		n->finite[0] |= !in_a;
		n->finite[1] |= !in_b;
		if (in_a)
			*a = neutral_outside(p, n->acc, *a, r);
		if (in_b)
			*b = neutral_outside(p, n->acc, *b, r);
	}
	return true;
}

static void exchange(const tsr_loops *l, tsr_contraction *k)
{
	tsr_buffer_id buffer = k->a;
	tsr_lin *index = k->a_index;
	tsr_expr *value = k->a_value;
	bool finite = k->a_finite;
	k->a = k->b, k->a_index = k->b_index, k->a_value = k->b_value, k->a_finite = k->b_finite;
	k->b = buffer, k->b_index = index, k->b_value = value, k->b_finite = finite;
	sort_loops(l, k);
}

/* Stride one in C belongs to N; where C has it in neither, B should have it along N. */
static void choose_sides(const tsr_loops *l, tsr_contraction *k)
{
	tsr_contract_view v;
	tsr_contract_view_make(l, k, &v);
	const tsr_walks *m = &v.cls[TSR_CLASS_M], *n = &v.cls[TSR_CLASS_N];
	bool m_unit = tsr_walks_along(m, TSR_SIDE_C), n_unit = tsr_walks_along(n, TSR_SIDE_C);
	bool none = n->n == 0 && m->n > 0;
	if (!n_unit && (m_unit || none))
		exchange(l, k);
}

/* There is a sum.  An operand that has to be evaluated is so once per element of it: loops that only the other operand and C mention
 * must use it again, a few times at least where tiles do not read it under its guards as it lies, and each summed loop must be in both, or the plain nest does as well. */
static bool worth_packing(const tsr_loops *l, const tsr_contraction *k, const tsr_target *t)
{
	enum { LEAST_USES = 4 };
	bool plain = (tsr_contract_plain(l, k, TSR_SIDE_A) && tsr_contract_plain(l, k, TSR_SIDE_B)) || tsr_pairs_as_they_lie(l, k, t), sums = false;
	int64_t count[TSR_CLASSES] = { 1, 1, 1, 1 };
	for (uint32_t i = 0; i < k->nloops; i++) {
		const tsr_contract_loop *loop = &k->loops[i];
		bool k_loop = loop->cls == TSR_CLASS_K;
		sums |= k_loop;
		if (k_loop && !plain && !(tsr_expr_mentions(l, k->a_value, loop->sym) && tsr_expr_mentions(l, k->b_value, loop->sym)))
			return false;
		count[loop->cls] *= tsr_size_is_const(loop->extent) ? loop->extent.k : LEAST_USES;
	}
	int64_t a_uses = count[TSR_CLASS_N], b_uses = count[TSR_CLASS_M];
	return sums && (plain || ((a_uses >= LEAST_USES || (a_uses > 1 && tsr_contract_run(l, k).n)) && (b_uses >= LEAST_USES || (b_uses > 1 && tsr_contract_across(l, k).n))));
}

static void operand(tsr_expr *e, tsr_buffer_id *buffer, tsr_lin **index, tsr_expr **value)
{
	*value = e;
	*buffer = e->kind == TSR_EXPR_LOAD ? e->load.buffer : TSR_NONE;
	*index = e->kind == TSR_EXPR_LOAD ? e->load.index : NULL;
}

/* A guarded product. */
static bool neutral_elsewhere(tsr_acc acc, const tsr_expr *e)
{
	return e->kind == TSR_EXPR_SELECT && tsr_expr_is_neutral(e->select.outside, acc);
}

/* What tiles hold; sums of narrower numbers are those of wider ones (opt/widen.c). */
static bool elements(tsr_prec p)
{
	return p == TSR_PREC_F32 || p == TSR_PREC_F64 || p == TSR_PREC_I32 || p == TSR_PREC_U32 || p == TSR_PREC_I64 || p == TSR_PREC_BOOL;
}

/* The loop only ever takes A's reads to lower places. */
static bool walks_down(const tsr_expr *load, uint32_t rank, uint32_t sym)
{
	bool down = false;
	for (uint32_t axis = 0; axis < rank; axis++)
		for (uint32_t t = 0; t < load->load.index[axis].n; t++) {
			const tsr_lin_term *term = &load->load.index[axis].terms[t];
			if (term->kind != TSR_LSYM_LOOP || term->id != sym || term->coef == 0)
				continue;
			if (term->coef > 0)
				return false;
			down = true;
		}
	return down;
}

/* Places of a window that the nest sums from the last in memory to the first, as the gradient of a window's input does, are summed from the first on. */
static void go_upwards(tsr_pass *p, tsr_contraction *k)
{
	enum { MOST_PLACES = 16 };
	for (uint32_t i = 0; i < k->nloops; i++) {
		const tsr_expr *load = tsr_contract_guarded(k->a_value);
		const tsr_contract_loop *loop = &k->loops[i];
		if (!load || loop->cls != TSR_CLASS_K || !tsr_size_is_const(loop->extent) || loop->extent.k > MOST_PLACES
			|| !walks_down(load, p->l->buffers.at[load->load.buffer]->rank, loop->sym))
			continue;
		tsr_lin to = tsr_lin_add_sym(p->arena, tsr_lin_const(loop->extent.k - 1), -1, TSR_LSYM_LOOP, loop->sym);
		operand(tsr_expr_place(p->arena, p->l, k->a_value, 1, &loop->sym, &to), &k->a, &k->a_index, &k->a_value);
		operand(tsr_expr_place(p->arena, p->l, k->b_value, 1, &loop->sym, &to), &k->b, &k->b_index, &k->b_value);
	}
}

static tsr_contraction *recognise(tsr_pass *p, const tsr_stmt *s)
{
	nest n = { .l = p->l };
	tsr_stmts one = { (tsr_stmt **)&s, 1, 1 };
	const tsr_stmts *body = descend(&n, &one);
	if (!body || !(body->n >= 3 ? local_form(p->arena, &n, body) : body->n == 1 && update_form(&n, body)))
		return NULL;
	const tsr_expr *e = n.product, *within = neutral_elsewhere(n.acc, n.product) ? n.product : NULL;
	if (within)
		e = within->select.inside;
	tsr_prec prec = p->l->buffers.at[n.c]->prec;
	if (!elements(prec) || e->kind != TSR_EXPR_OP || !combines(n.acc, e->op.op) || e->prec != prec)
		return NULL;
	if ((n.guard || within) && (e->op.op != tsr_acc_get(n.acc)->over || (tsr_prec_is_int(prec) && e->op.op == TSR_OP_ADD)))
		return NULL;             /* the least whole number and another one are not the least: they wrap */
	tsr_expr *a = lookup_first(p, tsr_expr_convert(p->arena, e->op.args[0], prec)), *b = lookup_first(p, tsr_expr_convert(p->arena, e->op.args[1], prec));
	for (uint32_t i = 0; i < (n.tail ? n.tail->stores.n : 1); i++) {
		tsr_buffer_id target = n.tail ? n.tail->stores.at[i]->store.buffer : n.c;
		if (!packable(p->l, a, target, false) || !packable(p->l, b, target, false))
			return NULL;
	}
	if ((n.guard && !guard_operands(p, &n, n.guard->cond.n, n.guard->cond.ranges, &a, &b))
		|| (within && !guard_operands(p, &n, within->select.n, within->select.ranges, &a, &b)))
		return NULL;
	for (uint32_t i = 0; i < p->l->buffers.at[n.c]->rank; i++)
		if (lin_has_data(&n.c_index[i]))
			return NULL;
	tsr_contraction *k = TSR_NEW(p->arena, tsr_contraction);
	k->nloops = n.n;
	k->loops = TSR_NEW_N(p->arena, tsr_contract_loop, n.n + 1);
	memcpy(k->loops, n.loops, n.n * sizeof *n.loops);
	k->c = n.c, k->c_index = n.c_index;
	operand(a, &k->a, &k->a_index, &k->a_value);
	operand(b, &k->b, &k->b_index, &k->b_value);
	k->a_finite = n.finite[0] && tsr_prec_is_float(prec), k->b_finite = n.finite[1] && tsr_prec_is_float(prec);
	k->prec = prec;
	k->acc = n.acc;
	k->combine = e->op.op;
	k->clear = n.clear;
	k->tail = n.tail;
	sort_loops(p->l, k);
	choose_sides(p->l, k);
	if (!worth_packing(p->l, k, p->target))
		return NULL;
	if (p->target->upwards)
		go_upwards(p, k);
	return k;
}

const tsr_contraction *tsr_contract_seen(tsr_pass *p, const tsr_stmt *nest) { return recognise(p, nest); }

const tsr_contraction *tsr_contract_of(tsr_pass *p, const tsr_stmt *nest)
{
	tsr_contraction *k = recognise(p, nest);
	return k && tsr_contract_schedule(p->l, k, p->target) ? k : NULL;
}

bool tsr_contract_leaves(tsr_pass *p, const tsr_stmt *nest)
{
	const tsr_contraction *k = recognise(p, nest);
	return !k || tsr_contract_stays(p, k, nest, true);
}

bool tsr_contract_takes(tsr_pass *p, const tsr_stmt *nest) { return tsr_contract_of(p, nest) != NULL; }

void tsr_contractions_find(tsr_pass *p, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_KERNEL)
			tsr_contractions_find(p, &s->kernel.body);
		else if (s->kind == TSR_STMT_IF)
			tsr_contractions_find(p, &s->cond.body);
		else if (s->kind == TSR_STMT_FOR) {
			tsr_contraction *k = recognise(p, s);
			if (k && tsr_contract_stays(p, k, s, false))
				continue;
			if (k) {
				s->loop.contraction = k;
				p->changes++;
			} else
				tsr_contractions_find(p, &s->loop.body);
		}
	}
}

void tsr_pass_classify(tsr_pass *p)
{
	for (uint32_t i = 0; i < p->l->units.n; i++)
		tsr_contractions_find(p, &p->l->units.at[i]->body);
}
