/* The reference interpreter: the meaning of the loop IR, executed as it is written.  Every access is checked against its
 * buffer, every value carries its precision, every accumulation happens in the written order.  It is the oracle of the
 * tests: it shares no code with the passes and emitters that it judges, and it does not try to be fast.
 *
 * Where the machine asks for it, each value has beside it how far other orders of computing may be from it (spread.c): a function that
 * gives a value fills in `s`, unless it is NULL. */
#include "loop.h"
#include "memory.h"
#include <string.h>

typedef struct interp {
	const tsr_loops *l;
	const tsr_loop_unit *u;
	tsr_machine *m;
	int64_t *syms;
	tsr_scalar *locals;
	tsr_spread *local_spreads;   /* NULL: none are asked for */
	bool lost;                   /* an index hung on something undecided */
	tsr_stmts before;            /* what threads do before their first part of the loop that is taken in turns next */
	int64_t **dims;              /* per buffer, evaluated */
} interp;

int64_t tsr_size_eval(tsr_size s, const int64_t *symbols)
{
	int64_t n = s.k;
	for (uint32_t i = 0; i < s.nterms; i++)
		n += s.terms[i].coef * symbols[s.terms[i].symbol];
	return n;
}

int64_t tsr_quotient_eval(const tsr_quotient *q, const int64_t *symbols)
{
	int64_t n = tsr_size_eval(q->of, symbols);
	return q->rest ? n % q->by : n / q->by;
}

void tsr_loops_divide(const tsr_loops *l, int64_t *symbols)
{
	for (uint32_t i = 0; i < l->quotients.n; i++)
		symbols[l->quotients.at[i].symbol] = tsr_quotient_eval(&l->quotients.at[i], symbols);
}

static int64_t index_of(const interp *in, const tsr_lin *x)
{
	int64_t n = x->offset + (x->base.nterms ? tsr_size_eval(x->base, in->m->symbols) : x->base.k);
	for (uint32_t i = 0; i < x->n; i++)
		n += x->terms[i].coef * (x->terms[i].kind == TSR_LSYM_NUMBER ? in->m->numbers : in->syms)[x->terms[i].id];
	return n;
}

static bool inside(const interp *in, uint32_t n, const tsr_range *at)
{
	for (uint32_t i = 0; i < n; i++) {
		int64_t k = index_of(in, &at[i].index);
		if (k < 0 || k >= tsr_size_eval(at[i].size, in->m->symbols))
			return false;
	}
	return true;
}

/* The element's place in the buffer, row-major. */
static int64_t place(const interp *in, tsr_buffer_id id, const tsr_lin *index)
{
	const tsr_buffer *b = in->l->buffers.at[id];
	int64_t at = 0;
	for (uint32_t i = 0; i < b->rank; i++) {
		int64_t k = index_of(in, &index[i]), size = in->dims[id][i];
		if (k < 0 || k >= size)
			tsr_bug("%s: index %lld of axis %u of %s, which has %lld", in->u->name, (long long)k, i, b->name, (long long)size);
		at = at * size + k;
	}
	return at;
}

static tsr_scalar eval(const interp *in, const tsr_expr *e, tsr_spread *s);

static tsr_scalar eval_op(const interp *in, const tsr_expr *e, tsr_spread *s)
{
	tsr_scalar args[3];
	tsr_spread spreads[3];
	uint32_t arity = tsr_op_get(e->op.op)->arity;
	for (uint32_t i = 0; i < arity; i++)
		args[i] = eval(in, e->op.args[i], s ? &spreads[i] : NULL);
	tsr_scalar value = tsr_op_apply(e->op.op, e->op.operand_prec, args);
	if (s)
		*s = tsr_spread_op(e->op.op, args, spreads, value);
	return value;
}

static tsr_scalar of_integer(tsr_prec p, int64_t i)
{
	return tsr_scalar_convert((tsr_scalar){.prec = TSR_PREC_I64, .i = i}, p);
}

/* A float among the runtime numbers travels as its bits. */
static tsr_scalar number(const interp *in, const tsr_expr *e)
{
	const tsr_graph *g = in->l->graph;
	if (!g || g->numbers.at[e->number]->integer)
		return of_integer(e->prec, in->m->numbers[e->number]);
	tsr_scalar x = {.prec = TSR_PREC_F64};
	memcpy(&x.d, &in->m->numbers[e->number], sizeof x.d);
	return tsr_scalar_convert(x, e->prec);
}

static tsr_scalar given(tsr_scalar value, tsr_spread *s)
{
	if (s)
		*s = tsr_spread_given(value);
	return value;
}

/* An element that no code has stored is given. */
static tsr_scalar element(const interp *in, tsr_buffer_id id, int64_t at, tsr_spread *s)
{
	tsr_scalar value = tsr_loop_element(in->m->buffers[id], in->l->buffers.at[id]->prec, at);
	if (s)
		*s = in->m->spreads[id][at];
	return s && (s->size > 0 || s->carried > 0) ? value : given(value, s);
}

static tsr_scalar eval_convert(const interp *in, const tsr_expr *e, tsr_spread *s)
{
	tsr_scalar x = eval(in, e->converted, s), value = tsr_scalar_convert(x, e->prec);
	if (s)
		*s = tsr_spread_convert(x, *s, value);
	return value;
}

/* Which element it is must not depend on the order of computing, or nothing is known of it. */
static tsr_scalar eval_lookup(const interp *in, const tsr_expr *e, tsr_spread *s)
{
	tsr_spread place = {0};
	in->syms[e->lookup.sym] = eval(in, e->lookup.at, s ? &place : NULL).i;
	tsr_scalar value = eval(in, e->lookup.value, s);
	if (place.carried > 0)
		*s = tsr_spread_lost();
	return value;
}

static tsr_scalar eval(const interp *in, const tsr_expr *e, tsr_spread *s)
{
	switch (e->kind) {
	case TSR_EXPR_CONST:
		return given(e->value, s);
	case TSR_EXPR_LOAD:
		return element(in, e->load.buffer, place(in, e->load.buffer, e->load.index), s);
	case TSR_EXPR_LOCAL:
		if (s)
			*s = in->local_spreads[e->local];
		return in->locals[e->local];
	case TSR_EXPR_INDEX:
		return given(of_integer(e->prec, index_of(in, &e->index)), s);
	case TSR_EXPR_SIZE:
		return given(of_integer(e->prec, tsr_size_eval(e->size, in->m->symbols)), s);
	case TSR_EXPR_NUMBER:
		return given(number(in, e), s);
	case TSR_EXPR_OP:
		return eval_op(in, e, s);
	case TSR_EXPR_CONVERT:
		return eval_convert(in, e, s);
	case TSR_EXPR_LOOKUP:
		return eval_lookup(in, e, s);
	case TSR_EXPR_SELECT:
		return eval(in, inside(in, e->select.n, e->select.ranges) ? e->select.inside : e->select.outside, s);
	case TSR_EXPR_KINDS:
		break;
	}
	tsr_bug("an expression without a kind");
}

/* ---- statements ---------------------------------------------------------------------------------------------------- */

static bool run(interp *in, const tsr_stmts *body);

static void store(const interp *in, const tsr_stmt *s)
{
	const tsr_buffer *b = in->l->buffers.at[s->store.buffer];
	void *data = in->m->buffers[s->store.buffer];
	int64_t at = place(in, s->store.buffer, s->store.index);
	tsr_spread spreads[2] = {{0}}, *old = in->m->spreads ? &spreads[0] : NULL, *new = old ? &spreads[1] : NULL;
	tsr_scalar value = eval(in, s->store.value, new);
	if (s->kind == TSR_STMT_UPDATE) {
		tsr_op op = tsr_acc_get(s->store.acc)->op;
		tsr_scalar args[2] = {element(in, s->store.buffer, at, old), value};
		value = tsr_op_apply(op, b->prec, args);
		if (new)
			*new = tsr_spread_op(op, args, spreads, value);
	}
	tsr_loop_element_set(data, at, value);
	if (new)
		in->m->spreads[s->store.buffer][at] = in->lost ? tsr_spread_lost() : *new;
}

/* What stands before a loop that is taken in turns each thread does for itself, when it comes to the first part that it takes, others' parts being done by then. */
static tsr_stmts before_turns(const tsr_stmt *walked)
{
	const tsr_stmts *body = &walked->loop.body;
	const tsr_stmt *last = body->n ? body->at[body->n - 1] : NULL;
	bool taken = walked->loop.turns == TSR_TURNS_WALKED && last && last->kind == TSR_STMT_FOR && last->loop.turns == TSR_TURNS_TAKEN;
	return taken ? (tsr_stmts){ .at = body->at, .n = body->n - 1 } : (tsr_stmts){ 0 };
}

/* A loop that is divided among threads, by shares or in turns, runs backwards: iterations that meet give other results then.  So it does once more what each thread does before its first part. */
static bool run_for(interp *in, const tsr_stmt *s)
{
	tsr_stmts again = s->loop.turns == TSR_TURNS_TAKEN ? in->before : (tsr_stmts){ 0 }, outer = in->before;
	in->before = before_turns(s);
	int64_t extent = tsr_size_eval(s->loop.extent, in->m->symbols), until = s->loop.until ? index_of(in, s->loop.until) : extent;
	int64_t from = s->loop.from ? index_of(in, s->loop.from) : 0;
	extent = until < extent ? until : extent;
	from = from > 0 ? from : 0;
	bool backwards = (s->loop.split && !s->loop.contraction) || s->loop.turns;
	for (int64_t i = from; i < extent; i++) {
		in->syms[s->loop.sym] = backwards ? extent - 1 - (i - from) : i;
		if (!run(in, &again) || !run(in, &s->loop.body))
			return false;
	}
	in->before = outer;
	return true;
}

static void draw(interp *in, const tsr_stmt *s)
{
	tsr_buffer_id id = s->random.buffer;
	int64_t n = 1;
	for (uint32_t i = 0; i < in->l->buffers.at[id]->rank; i++)
		n *= in->dims[id][i];
	uint64_t first = s->random.per_run ? in->m->random_counters[id] : 0;
	if (in->m->spreads)
		memset(in->m->spreads[id], 0, (size_t)n * sizeof(tsr_spread));
	tsr_loop_random(s->random.key, in->m->seed, first, n, in->m->buffers[id]);
	if (s->random.per_run)
		in->m->random_counters[id] += (uint64_t)n;
}

static bool check(const interp *in, const tsr_stmt *s)
{
	if (inside(in, 1, &s->check.range))
		return true;
	if (in->m->fail)
		in->m->fail(in->m->user, s->span, s->check.what, index_of(in, &s->check.range.index),
			tsr_size_eval(s->check.range.size, in->m->symbols));
	return false;
}

static void let_symbol(interp *in, const tsr_stmt *s)
{
	tsr_spread spread = {0};
	in->syms[s->letsym.sym] = eval(in, s->letsym.value, in->local_spreads ? &spread : NULL).i;
	in->lost |= spread.carried > 0;
}

static bool step(interp *in, const tsr_stmt *s)
{
	switch (s->kind) {
	case TSR_STMT_FOR:
		return run_for(in, s);
	case TSR_STMT_STORE: case TSR_STMT_UPDATE:
		store(in, s);
		return true;
	case TSR_STMT_LET: case TSR_STMT_SET:
		in->locals[s->let.local] = eval(in, s->let.value, in->local_spreads ? &in->local_spreads[s->let.local] : NULL);
		return true;
	case TSR_STMT_LETSYM:
		let_symbol(in, s);
		return true;
	case TSR_STMT_IF:
		return !inside(in, s->cond.n, s->cond.ranges) || run(in, &s->cond.body);
	case TSR_STMT_RANDOM:
		draw(in, s);
		return true;
	case TSR_STMT_CHECK:
		return check(in, s);
	case TSR_STMT_KERNEL:
		return run(in, &s->kernel.body);
	case TSR_STMT_KINDS:
		break;
	}
	tsr_bug("a statement without a kind");
}

static bool run(interp *in, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++)
		if (!step(in, body->at[i]))
			return false;
	return true;
}

bool tsr_loops_run(const tsr_loops *l, uint32_t unit, tsr_machine *m)
{
	tsr_arena *a = tsr_arena_new();
	interp in = {.l = l, .u = l->units.at[unit], .m = m};
	in.syms = TSR_NEW_N(a, int64_t, in.u->nsyms + 1);
	in.locals = TSR_NEW_N(a, tsr_scalar, in.u->nlocals + 1);
	if (m->spreads)
		in.local_spreads = TSR_NEW_N(a, tsr_spread, in.u->nlocals + 1);
	in.dims = TSR_NEW_N(a, int64_t *, l->buffers.n + 1);
	for (uint32_t i = 0; i < l->buffers.n; i++) {
		const tsr_buffer *b = l->buffers.at[i];
		in.dims[i] = TSR_NEW_N(a, int64_t, b->rank + 1);
		for (uint32_t d = 0; d < b->rank; d++)
			in.dims[i][d] = tsr_size_eval(b->dims[d], m->symbols);
	}
	bool finished = run(&in, &in.u->body);
	tsr_arena_free(a);
	return finished;
}
