/* The program level interpreted in this process, over the loop interpreter and the runtime: the oracle of the run tests.
 * start.c sets the program up (files, sizes, buffers); this file walks the statements. */
#include "interp.h"
#include <string.h>

typedef struct value { int64_t i; double f; const tsr_str *s; } value;

static value eval(tsr_interp *in, const tsr_hexpr *e);

/* Rounded towards minus infinity; the remainder has the divisor's sign. */
static int64_t floored(bool remainder, int64_t a, int64_t b)
{
	if (b == -1)
		return remainder ? 0 : (int64_t)-(uint64_t)a;
	int64_t rest = a % b;
	bool below = rest != 0 && (rest < 0) != (b < 0);
	return remainder ? (below ? rest + b : rest) : a / b - below;
}

static value arithmetic_int(tsr_interp *in, const tsr_hexpr *e, int64_t a, int64_t b)
{
	value v = {0};
	switch (e->op.op) {
	case TSR_HOP_NEG: v.i = (int64_t)-(uint64_t)a; break;
	case TSR_HOP_NOT: v.i = !a; break;
	case TSR_HOP_ADD: v.i = (int64_t)((uint64_t)a + (uint64_t)b); break;
	case TSR_HOP_SUB: v.i = (int64_t)((uint64_t)a - (uint64_t)b); break;
	case TSR_HOP_MUL: v.i = (int64_t)((uint64_t)a * (uint64_t)b); break;
	case TSR_HOP_DIV: case TSR_HOP_IDIV: case TSR_HOP_MOD:
		if (b == 0)
			tsr_fail(in->ctx, tsr_interp_place(in, e->span), "division by zero");
		v.i = floored(e->op.op == TSR_HOP_MOD, a, b);
		break;
	case TSR_HOP_POW: case TSR_HOP_CONCAT: tsr_bug("%s on ints at the program level", tsr_host_op_text(e->op.op));
	case TSR_HOP_LT: v.i = a < b; break;
	case TSR_HOP_LE: v.i = a <= b; break;
	case TSR_HOP_GT: v.i = a > b; break;
	case TSR_HOP_GE: v.i = a >= b; break;
	case TSR_HOP_EQ: v.i = a == b; break;
	case TSR_HOP_NE: v.i = a != b; break;
	case TSR_HOP_AND: v.i = a && b; break;
	case TSR_HOP_OR: v.i = a || b; break;
	}
	return v;
}

static value arithmetic_float(const tsr_hexpr *e, double a, double b)
{
	value v = {0};
	switch (e->op.op) {
	case TSR_HOP_NEG: v.f = -a; break;
	case TSR_HOP_ADD: v.f = a + b; break;
	case TSR_HOP_SUB: v.f = a - b; break;
	case TSR_HOP_MUL: v.f = a * b; break;
	case TSR_HOP_DIV: v.f = a / b; break;
	case TSR_HOP_MOD:
		v.f = fmod(a, b);
		v.f += v.f != 0 && (v.f < 0) != (b < 0) ? b : 0;
		break;
	case TSR_HOP_POW: v.f = pow(a, b); break;
	case TSR_HOP_LT: v.i = a < b; break;
	case TSR_HOP_LE: v.i = a <= b; break;
	case TSR_HOP_GT: v.i = a > b; break;
	case TSR_HOP_GE: v.i = a >= b; break;
	case TSR_HOP_EQ: v.i = a == b; break;
	case TSR_HOP_NE: v.i = a != b; break;
	case TSR_HOP_NOT: case TSR_HOP_IDIV: case TSR_HOP_AND: case TSR_HOP_OR: case TSR_HOP_CONCAT:
		tsr_bug("%s on floats at the program level", tsr_host_op_text(e->op.op));
	}
	return v;
}

static value binary(tsr_interp *in, const tsr_hexpr *e)
{
	value a = eval(in, e->op.a);
	if (e->op.op == TSR_HOP_AND && !a.i)
		return a;
	if (e->op.op == TSR_HOP_OR && a.i)
		return a;
	value b = e->op.b ? eval(in, e->op.b) : (value){0};
	return e->op.a->type == TSR_HOST_FLOAT ? arithmetic_float(e, a.f, b.f) : arithmetic_int(in, e, a.i, b.i);
}

/* The address of an element as (buffer, offset), bounds checked. */
static tsr_buffer_id element(tsr_interp *in, const tsr_hexpr *e, int64_t *offset)
{
	tsr_buffer_id id = tsr_loops_buffer(in->loops, e->element.tensor, e->element.part);
	if (id == TSR_NONE)
		tsr_bug("an observed tensor has no buffer: %s", tsr_tensor_get(in->host->graph, e->element.tensor)->name);
	const tsr_buffer *b = in->loops->buffers.at[id];
	int64_t at = 0;
	bool flat = e->element.indices.n != b->rank;
	for (uint32_t i = 0; i < e->element.indices.n; i++) {
		int64_t x = eval(in, e->element.indices.at[i]).i, limit = flat ? 1 : tsr_size_eval(tsr_buffer_shape(b)[i], tsr_syms(in->ctx));
		if (x < 0 || x >= limit)
			tsr_fail_index(in->ctx, tsr_interp_place(in, e->span), b->name, x, limit);
		at = at * limit + x;
	}
	*offset = at;
	return id;
}

static value load(tsr_interp *in, const tsr_hexpr *e)
{
	int64_t at;
	tsr_buffer_id id = element(in, e, &at);
	const void *data = tsr_buffers(in->ctx)[id];
	tsr_prec prec = in->loops->buffers.at[id]->prec;
	if (e->type == TSR_HOST_FLOAT)
		return (value){.f = tsr_element_f64(data, (int32_t)prec, at)};
	return (value){.i = tsr_element_i64(data, (int32_t)prec, at)};
}

static value eval(tsr_interp *in, const tsr_hexpr *e)
{
	value v = {0};
	switch (e->kind) {
	case TSR_H_INT: case TSR_H_BOOL: v.i = e->integer; return v;
	case TSR_H_FLOAT: v.f = e->real; return v;
	case TSR_H_STRING:
		v.s = e->string.text ? tsr_str_new(in->ctx, e->string.text, (int64_t)e->string.size) : NULL;
		return v;
	case TSR_H_VAR: {
		const tsr_hcell *c = &in->vars[e->var];
		return (value){c->i, c->f, c->s};
	}
	case TSR_H_UNARY: case TSR_H_BINARY: return binary(in, e);
	case TSR_H_TO_FLOAT: v.f = (double)eval(in, e->converted).i; return v;
	case TSR_H_TO_INT: {
		double d = eval(in, e->converted).f;
		v.i = d != d ? 0 : d >= 0x1p63 ? INT64_MAX : d < -0x1p63 ? INT64_MIN : (int64_t)d;
		return v;
	}
	case TSR_H_ELEMENT: return load(in, e);
	case TSR_H_SIZE: v.i = tsr_size_eval(e->size, tsr_syms(in->ctx)); return v;
	case TSR_H_NUMBER:
		v.i = tsr_nums(in->ctx)[e->number];
		memcpy(&v.f, &v.i, sizeof v.f);
		return v;
	case TSR_H_CALL: {
		tsr_hcell args[4] = {0}, r;
		for (uint32_t i = 0; i < e->call.args.n; i++) {
			value a = eval(in, e->call.args.at[i]);
			args[i] = (tsr_hcell){a.i, a.f, a.s};
		}
		r = tsr_interp_call(in, e->call.function, args, tsr_interp_place(in, e->span));
		return (value){r.i, r.f, r.s};
	}
	case TSR_H_COND: return eval(in, eval(in, e->cond.cond).i ? e->cond.then : e->cond.other);
	}
	return v;
}

static void set(tsr_interp *in, tsr_var_id var, value v) { in->vars[var] = (tsr_hcell){v.i, v.f, v.s}; }

static void counted(tsr_interp *in, const tsr_hstmt *s)
{
	int64_t from = eval(in, s->loop.from).i, to = eval(in, s->loop.to).i;
	for (int64_t i = from; s->loop.down ? i >= to : i <= to; i += s->loop.down ? -1 : 1) {
		in->vars[s->loop.var] = (tsr_hcell){.i = i};
		tsr_interp_statement(in, s->loop.body);
		if (i == to)
			break;
	}
}

static void run(tsr_interp *in, const tsr_hstmt *s)
{
	for (uint32_t i = 0; i < s->run.numbers.n; i++) {
		value v = eval(in, s->run.values.at[i]);
		if (s->run.values.at[i]->type == TSR_HOST_FLOAT)
			memcpy(&v.i, &v.f, sizeof v.i);
		tsr_nums(in->ctx)[s->run.numbers.at[i]] = v.i;
	}
	tsr_interp_unit(in, s->run.code);
}

static void store(tsr_interp *in, const tsr_hstmt *s)
{
	int64_t at;
	tsr_buffer_id id = element(in, s->store.target, &at);
	value v = eval(in, s->store.value);
	void *data = tsr_buffers(in->ctx)[id];
	int32_t prec = (int32_t)in->loops->buffers.at[id]->prec;
	if (s->store.value->type == TSR_HOST_FLOAT)
		tsr_element_set_f64(data, prec, at, v.f);
	else
		tsr_element_set_i64(data, prec, at, v.i);
	if (in->spreads)
		in->spreads[id][at] = (tsr_spread){0};
}

void tsr_interp_statement(tsr_interp *in, const tsr_hstmt *s)
{
	switch (s->kind) {
	case TSR_H_SET: set(in, s->set.var, eval(in, s->set.value)); break;
	case TSR_H_IF:
		if (eval(in, s->iff.cond).i)
			tsr_interp_statement(in, s->iff.then);
		else if (s->iff.other)
			tsr_interp_statement(in, s->iff.other);
		break;
	case TSR_H_WHILE:
		while (eval(in, s->whil.cond).i)
			tsr_interp_statement(in, s->whil.body);
		break;
	case TSR_H_FOR: counted(in, s); break;
	case TSR_H_RUN: run(in, s); break;
	case TSR_H_STORE: store(in, s); break;
	case TSR_H_DO: eval(in, s->expr); break;
	case TSR_H_PRINT_TENSOR: tsr_interp_print(in, s->print.tensor, s->print.part, s->print.name); break;
	case TSR_H_SEQ:
		for (uint32_t i = 0; i < s->seq.n; i++)
			tsr_interp_statement(in, s->seq.at[i]);
		break;
	}
}

int tsr_host_interpret(const tsr_host *h, const tsr_loops *l, const tsr_host_start *how)
{
	tsr_interp in = {.host = h, .loops = l, .arena = h->graph->tc->arena, .seed = how->seed};
	in.vars = TSR_NEW_N(in.arena, tsr_hcell, h->vars.n + 1);
	if (how->bounds)
		in.spreads = TSR_NEW_N(in.arena, tsr_spread *, l->buffers.n + 1);
	tsr_interp_start(&in, how->argc, how->argv);
	tsr_interp_unit(&in, h->graph->init);
	for (uint32_t i = 0; i < how->ncalls; i++)
		tsr_interp_export(&in, how->calls[i]);
	if (h->body && !how->ncalls)
		tsr_interp_statement(&in, h->body);
	return tsr_finish(in.ctx);
}
