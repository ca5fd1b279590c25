/* One assignment over one piece of its space, as a kernel:
 *
 *     for each loop that the target's index mentions, in its memory order
 *       [if the target's own guards hold]
 *         let $0 = neutral, or the element as it is
 *         for each other loop: [if the operands' guards hold] set $0 = $0 acc value
 *         store target = $0
 *
 * Without other loops the local goes away: one STORE, or an UPDATE.  Sums are taken in the accumulation precision; `=-` and
 * `=/` collect a sum or a product and subtract or divide once.  Written loops are parallel where points of different
 * iterations never share a cell. */
#include "lower.h"
#include <stdlib.h>

typedef struct target {
	tsr_buffer *buffer;
	tsr_lin *index;
	TSR_VEC(tsr_range) guards;
	uint64_t written, omitted;           /* loops that the index mentions, and the others */
	uint64_t parallel;
	uint32_t order[64], nwritten, nloops;        /* written loops first */
} target;

static void append(target *t, uint32_t loop)
{
	for (uint32_t i = 0; i < t->nloops; i++)
		if (t->order[i] == loop)
			return;
	t->order[t->nloops++] = loop;
}

/* Written loops as the target's axes mention them, the coarsest term of an axis first; then the rest as in the piece. */
static void order_loops(const tsr_nest *n, target *t)
{
	const tsr_operand *o = &n->a->target;
	for (uint32_t i = 0; o->slot >= 0 && i < n->p->maps[o->slot].n; i++) {
		const tsr_index *x = &n->p->maps[o->slot].axes[i];
		for (uint64_t done = 0;;) {
			const tsr_index_term *best = NULL;
			for (uint32_t j = 0; j < x->n; j++)
				if (x->terms[j].sym.kind == TSR_SYM_LOOP && !(done >> x->terms[j].sym.id & 1)
					&& (!best || llabs(x->terms[j].coef) > llabs(best->coef)))
					best = &x->terms[j];
			if (!best)
				break;
			done |= UINT64_C(1) << best->sym.id;
			append(t, best->sym.id);
		}
	}
	for (uint32_t i = 0; i < n->p->nloops; i++)
		if (t->written >> i & 1)
			append(t, i);
	t->nwritten = t->nloops;
	for (uint32_t i = 0; i < n->p->nloops; i++)
		append(t, i);
}

/* The expression reads the buffer at another place than the target's own. */
static bool reads_elsewhere(const tsr_expr *e, const target *t)
{
	switch (e->kind) {
	case TSR_EXPR_LOAD:
		return e->load.buffer == t->buffer->id && !tsr_index_equal(t->buffer, e->load.index, t->index);
	case TSR_EXPR_OP:
		for (uint32_t i = 0; i < tsr_op_get(e->op.op)->arity; i++)
			if (reads_elsewhere(e->op.args[i], t))
				return true;
		return false;
	case TSR_EXPR_CONVERT:
		return reads_elsewhere(e->converted, t);
	case TSR_EXPR_LOOKUP:
		return reads_elsewhere(e->lookup.at, t) || reads_elsewhere(e->lookup.value, t);
	case TSR_EXPR_SELECT:
		return reads_elsewhere(e->select.inside, t) || reads_elsewhere(e->select.outside, t);
	case TSR_EXPR_CONST: case TSR_EXPR_LOCAL: case TSR_EXPR_INDEX: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: case TSR_EXPR_KINDS:
		return false;
	}
	return false;
}

static void find_target(tsr_nest *n, target *t)
{
	const tsr_operand *o = &n->a->target;
	t->buffer = tsr_lower_buffer(n->w, o, n->p);
	t->index = tsr_lower_access(n, o, t->buffer);
	for (uint32_t i = 0; i < n->guards.n; i++)
		tsr_push(n->w->arena, &t->guards, n->guards.at[i]);
	n->guards.n = 0;
	uint64_t all = n->p->nloops == 64 ? UINT64_MAX : (UINT64_C(1) << n->p->nloops) - 1;
	t->written = tsr_operand_loops(n->p, o);
	t->omitted = all & ~t->written;
	t->parallel = o->slot >= 0 ? tsr_map_determined(n->p, &n->p->maps[o->slot], t->omitted) : all;
	order_loops(n, t);
}

/* ---- building ------------------------------------------------------------------------------------------------------ */

static tsr_stmts one(tsr_nest *n, tsr_stmt *s)
{
	tsr_stmts b = {0};
	tsr_push(n->w->arena, &b, s);
	return b;
}

static tsr_stmts guarded(tsr_nest *n, uint32_t nguards, tsr_range *guards, tsr_stmts body)
{
	if (nguards == 0)
		return body;
	tsr_stmt *s = tsr_stmt_new(n->w->arena, TSR_STMT_IF, n->a->span);
	s->cond.n = nguards;
	s->cond.ranges = TSR_NEW_N(n->w->arena, tsr_range, nguards);
	for (uint32_t i = 0; i < nguards; i++)
		s->cond.ranges[i] = guards[i];
	s->cond.body = body;
	return one(n, s);
}

static tsr_name loop_name(const tsr_nest *n, uint32_t loop)
{
	static const char *const letters[] = {"i", "j", "k", "l", "m", "n", "p", "q"};
	tsr_name label = n->p->loops[loop].label;
	return label ? label : letters[loop % 8];
}

static tsr_stmts looped(tsr_nest *n, uint32_t loop, tsr_for_kind how, tsr_stmts body)
{
	tsr_stmt *s = tsr_stmt_new(n->w->arena, TSR_STMT_FOR, n->a->span);
	s->loop.sym = n->first_sym + loop;
	s->loop.name = loop_name(n, loop);
	s->loop.extent = n->p->loops[loop].extent;
	s->loop.how = how;
	s->loop.body = body;
	return one(n, s);
}

static tsr_stmt *store(tsr_nest *n, const target *t, tsr_expr *value)
{
	tsr_stmt *s = tsr_stmt_new(n->w->arena, TSR_STMT_STORE, n->a->span);
	s->store.buffer = t->buffer->id;
	s->store.index = t->index;
	s->store.value = tsr_lower_convert(n->w->arena, value, t->buffer->prec);
	return s;
}

static tsr_stmt *assign_local(tsr_nest *n, tsr_stmt_kind kind, tsr_local_id local, tsr_expr *value)
{
	tsr_stmt *s = tsr_stmt_new(n->w->arena, kind, n->a->span);
	s->let.local = local;
	s->let.prec = value->prec;
	s->let.value = value;
	return s;
}

static tsr_expr *load(tsr_nest *n, const target *t, tsr_prec p)
{
	tsr_lower_reads(n->w, t->buffer);
	return tsr_lower_convert(n->w->arena, tsr_expr_load(n->w->arena, t->buffer, t->index), p);
}

/* ---- accumulation -------------------------------------------------------------------------------------------------- */

/* The precision in which a target of precision p is combined. */
static tsr_prec combine_prec(tsr_acc acc, tsr_prec p)
{
	tsr_prec wide[3] = {tsr_prec_accumulator(p), tsr_prec_accumulator(p), TSR_PREC_NONE};
	return tsr_op_operand_prec(tsr_acc_get(acc)->op, wide);
}

/* neutral acc x */
static tsr_expr *from_neutral(tsr_nest *n, tsr_acc acc, tsr_prec p, tsr_expr *x)
{
	tsr_arena *a = n->w->arena;
	switch (acc) {
	case TSR_ACC_SUB:
		return tsr_expr_op(a, TSR_OP_NEG, p, x, NULL, NULL);
	case TSR_ACC_DIV:
		return tsr_expr_op(a, TSR_OP_RECIP, p, x, NULL, NULL);
	case TSR_ACC_POW:
		return tsr_expr_op(a, TSR_OP_POW, p, tsr_expr_const(a, tsr_scalar_of(p, 1)), x, NULL);
	case TSR_ACC_SET: case TSR_ACC_ADD: case TSR_ACC_MUL: case TSR_ACC_MAX: case TSR_ACC_MIN: case TSR_ACC_AND: case TSR_ACC_OR:
		return x;
	case TSR_ACCS:
		break;
	}
	tsr_bug("accumulator %d", (int)acc);
}

static tsr_expr *combine(tsr_nest *n, tsr_acc acc, tsr_prec p, tsr_expr *x, tsr_expr *y)
{
	return tsr_expr_op(n->w->arena, tsr_acc_get(acc)->op, p, x, y, NULL);
}

static tsr_expr *neutral(tsr_nest *n, tsr_acc acc, tsr_prec p)
{
	return tsr_expr_const(n->w->arena, tsr_acc_neutral(acc, p));
}

/* No loop is left to reduce over: a store of the value, or an update of the element. */
static tsr_stmts combine_once(tsr_nest *n, const target *t, tsr_start start)
{
	tsr_acc acc = n->a->acc;
	tsr_prec p = combine_prec(acc, t->buffer->prec);
	tsr_expr *x = tsr_lower_combined(n, n->a->rhs, p);
	if (start == TSR_FROM_NEUTRAL) {
		tsr_expr *value = tsr_lower_convert(n->w->arena, from_neutral(n, acc, p, x), t->buffer->prec);
		if (n->guards.n) {
			tsr_expr *s = TSR_NEW(n->w->arena, tsr_expr);
			s->kind = TSR_EXPR_SELECT;
			s->prec = value->prec;
			s->select.n = n->guards.n;
			s->select.ranges = n->guards.at;
			s->select.inside = value;
			s->select.outside = neutral(n, acc, value->prec);
			value = s;
		}
		return one(n, store(n, t, value));
	}
	tsr_stmt *s;
	if (p == t->buffer->prec) {
		tsr_lower_reads(n->w, t->buffer);
		s = tsr_stmt_new(n->w->arena, TSR_STMT_UPDATE, n->a->span);
		s->store.buffer = t->buffer->id;
		s->store.index = t->index;
		s->store.acc = acc;
		s->store.value = x;
	} else {
		s = store(n, t, combine(n, acc, p, load(n, t, p), x));
	}
	return guarded(n, n->guards.n, n->guards.at, one(n, s));
}

/* Loops to reduce over: a local collects. */
static tsr_stmts combine_many(tsr_nest *n, const target *t, tsr_start start)
{
	tsr_acc acc = n->a->acc, collect = acc == TSR_ACC_SUB ? TSR_ACC_ADD : acc == TSR_ACC_DIV ? TSR_ACC_MUL : acc;
	tsr_prec p = combine_prec(acc, t->buffer->prec);
	tsr_local_id local = n->w->unit->nlocals++;
	bool from_element = collect == acc && start == TSR_FROM_ELEMENT;
	tsr_expr *value = tsr_lower_combined(n, n->a->rhs, p), *sum = tsr_expr_local(n->w->arena, local, p);
	tsr_stmts inner = one(n, assign_local(n, TSR_STMT_SET, local, combine(n, collect, p, sum, value)));
	inner = guarded(n, n->guards.n, n->guards.at, inner);
	for (uint32_t i = t->nloops; i-- > t->nwritten;)
		inner = looped(n, t->order[i], acc == TSR_ACC_POW ? TSR_FOR_SERIAL : TSR_FOR_REDUCE, inner);
	tsr_stmts body = one(n, assign_local(n, TSR_STMT_LET, local, from_element ? load(n, t, p) : neutral(n, collect, p)));
	for (uint32_t i = 0; i < inner.n; i++)
		tsr_push(n->w->arena, &body, inner.at[i]);
	tsr_expr *result = sum;
	if (collect != acc)
		result = start == TSR_FROM_NEUTRAL ? from_neutral(n, acc, p, sum) : combine(n, acc, p, load(n, t, p), sum);
	tsr_stmt *s = store(n, t, result);
	tsr_push(n->w->arena, &body, s);
	return body;
}

static tsr_stmts overwrite(tsr_nest *n, target *t)
{
	tsr_expr *value = tsr_lower_value(n, n->a->rhs, t->buffer->prec);
	t->nloops = t->nwritten;             /* the value is the same along the others */
	return guarded(n, n->guards.n, n->guards.at, one(n, store(n, t, value)));
}

/* The value stored or combined last in a body made above decides whether iterations can see each other. */
static bool body_reads_elsewhere(const tsr_stmts *b, const target *t)
{
	for (uint32_t i = 0; i < b->n; i++) {
		const tsr_stmt *s = b->at[i];
		if (s->kind == TSR_STMT_FOR && body_reads_elsewhere(&s->loop.body, t))
			return true;
		if (s->kind == TSR_STMT_IF && body_reads_elsewhere(&s->cond.body, t))
			return true;
		if ((s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE) && reads_elsewhere(s->store.value, t))
			return true;
		if ((s->kind == TSR_STMT_LET || s->kind == TSR_STMT_SET) && reads_elsewhere(s->let.value, t))
			return true;
	}
	return false;
}

void tsr_lower_piece(tsr_lowering *w, const tsr_assign *a, const tsr_piece *p, tsr_start start)
{
	tsr_nest n = {.w = w, .a = a, .p = p, .first_sym = w->unit->nsyms};
	target t = {0};
	w->unit->nsyms += p->nloops;
	find_target(&n, &t);
	tsr_stmts body;
	if (a->acc != TSR_ACC_SET)
		tsr_lower_guards(&n, t.guards.n, t.guards.at);
	if (a->acc == TSR_ACC_SET)
		body = overwrite(&n, &t);
	else if (t.nwritten == t.nloops)
		body = combine_once(&n, &t, start);
	else
		body = combine_many(&n, &t, start);
	if (body_reads_elsewhere(&body, &t))
		t.parallel = 0;
	body = guarded(&n, t.guards.n, t.guards.at, body);
	for (uint32_t i = t.nwritten; i-- > 0;)
		body = looped(&n, t.order[i], t.parallel >> t.order[i] & 1 ? TSR_FOR_PARALLEL : TSR_FOR_SERIAL, body);
	tsr_stmt *kernel = tsr_stmt_new(w->arena, TSR_STMT_KERNEL, a->span);
	kernel->kernel.name = t.buffer->name;
	kernel->kernel.body = body;
	tsr_push(w->arena, &w->unit->body, kernel);
}
