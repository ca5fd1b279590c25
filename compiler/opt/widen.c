/* Products that are summed in a wider precision than their target has, as those of f16 and bf16 are in f32, of i8 in i32:
 *
 *     for .. { let $s = 0  for .. reduce { set $s = $s + a * b }  store C = narrow($s) }
 *
 * collect into a buffer of the wider precision, and a second kernel narrows it.  So the sum is a contraction like any other, whose
 * partial sums keep their precision between blocks of K.  `let $s = wide(C)` adds what C held in the second kernel.
 *
 * Requires nothing; classify comes after it. */
#include "pass.h"

enum { SHORT_SUM = 8 };              /* shorter ones are not worth a buffer */

typedef struct sum { const tsr_nest *outer; tsr_stmt *let, *loop, *out; tsr_local_id local; tsr_prec prec; bool adds; } sum;

/* The innermost statement adds a product to the local. */
static bool sums_products(const tsr_stmt *loop, tsr_local_id local)
{
	int64_t terms = 1;
	const tsr_stmt *s = loop;
	for (; s->kind == TSR_STMT_FOR || s->kind == TSR_STMT_IF; s = s->kind == TSR_STMT_FOR ? s->loop.body.at[0] : s->cond.body.at[0]) {
		const tsr_stmts *body = s->kind == TSR_STMT_FOR ? &s->loop.body : &s->cond.body;
		if (body->n != 1)
			return false;
		if (s->kind == TSR_STMT_FOR)
			terms *= tsr_size_is_const(s->loop.extent) ? s->loop.extent.k : SHORT_SUM;
	}
	const tsr_expr *e = s->kind == TSR_STMT_SET && s->let.local == local ? s->let.value : NULL;
	if (!e || e->kind != TSR_EXPR_OP || e->op.op != TSR_OP_ADD || !tsr_expr_is_local(e->op.args[0], local))
		return false;
	return e->op.args[1]->kind == TSR_EXPR_OP && e->op.args[1]->op.op == TSR_OP_MUL && terms >= SHORT_SUM;
}

static bool is_zero(const tsr_expr *e) { return e->kind == TSR_EXPR_CONST && (tsr_prec_is_float(e->prec) ? e->value.d == 0 : e->value.i == 0); }

static bool is_wide_sum(const tsr_loops *l, const tsr_nest *nest, sum *out)
{
	const tsr_stmts *b = nest->body;
	if (b->n != 3 || b->at[0]->kind != TSR_STMT_LET || b->at[1]->kind != TSR_STMT_FOR || b->at[2]->kind != TSR_STMT_STORE)
		return false;
	*out = (sum){nest, b->at[0], b->at[1], b->at[2], b->at[0]->let.local, b->at[0]->let.prec, false};
	const tsr_expr *stored = out->out->store.value, *start = out->let->let.value;
	if (stored->kind != TSR_EXPR_CONVERT || !tsr_expr_is_local(stored->converted, out->local) || tsr_prec_is_float(stored->prec) != tsr_prec_is_float(out->prec))
		return false;
	out->adds = start->kind == TSR_EXPR_CONVERT && tsr_expr_is_element(l, start->converted, out->out);
	if (!out->adds && !is_zero(start))
		return false;
	for (uint32_t i = 0; i < nest->n; i++)
		if (nest->loop[i]->loop.how == TSR_FOR_SERIAL)
			return false;
	return sums_products(out->loop, out->local);
}

static tsr_buffer *wide_buffer(tsr_pass *p, const sum *s)
{
	tsr_buffer *b = TSR_NEW(p->arena, tsr_buffer);
	const char *of = p->l->buffers.at[s->out->store.buffer]->name;
	*b = (tsr_buffer){.id = p->l->buffers.n, .kind = TSR_BUFFER_TEMP, .prec = s->prec, .rank = s->outer->n, .tensor = TSR_NONE};
	b->name = tsr_intern(p->l->tc->names, tsr_format(p->arena, "%s.wide%u", of, b->id));
	b->dims = TSR_NEW_N(p->arena, tsr_size, b->rank + 1);
	for (uint32_t i = 0; i < b->rank; i++)
		b->dims[i] = s->outer->loop[i]->loop.extent;
	tsr_push(p->arena, &p->l->buffers, b);
	return b;
}

static tsr_lin *bare_loops(tsr_pass *p, uint32_t n, const uint32_t *syms)
{
	tsr_lin *index = TSR_NEW_N(p->arena, tsr_lin, n + 1);
	for (uint32_t i = 0; i < n; i++)
		index[i] = tsr_lin_add_sym(p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, syms[i]);
	return index;
}

/* for .. { store C = narrow(T), or narrow(wide(C) + T) } */
static tsr_stmt *narrowing(tsr_pass *p, tsr_loop_unit *u, const sum *s, const tsr_buffer *wide, const uint32_t *old)
{
	tsr_arena *a = p->arena;
	const tsr_buffer *c = p->l->buffers.at[s->out->store.buffer];
	uint32_t *syms = TSR_NEW_N(a, uint32_t, wide->rank + 1);
	for (uint32_t i = 0; i < wide->rank; i++)
		syms[i] = u->nsyms++;
	tsr_lin *to = bare_loops(p, wide->rank, syms);
	tsr_expr *element = tsr_expr_place(a, p->l, tsr_expr_load(a, c, s->out->store.index), wide->rank, old, to);
	tsr_expr *value = tsr_expr_load(a, wide, to);
	tsr_stmt *store = tsr_stmt_new(a, TSR_STMT_STORE, s->out->span);
	if (s->adds)
		value = tsr_expr_op(a, TSR_OP_ADD, s->prec, tsr_expr_convert(a, element, s->prec), value, NULL);
	store->store.buffer = c->id;
	store->store.index = tsr_expr_place(a, p->l, element, 0, NULL, NULL)->load.index;
	store->store.value = tsr_expr_convert(a, value, c->prec);
	for (uint32_t i = wide->rank; i-- > 0;) {
		tsr_stmt *f = tsr_stmt_new(a, TSR_STMT_FOR, s->out->span);
		f->loop = s->outer->loop[i]->loop;
		f->loop.sym = syms[i];
		f->loop.body = (tsr_stmts){0};
		tsr_push(a, &f->loop.body, store);
		store = f;
	}
	return store;
}

static tsr_stmt *widen(tsr_pass *p, tsr_loop_unit *u, tsr_stmt *kernel, const sum *s)
{
	tsr_arena *a = p->arena;
	tsr_buffer *wide = wide_buffer(p, s);
	uint32_t *old = TSR_NEW_N(a, uint32_t, wide->rank + 1);
	for (uint32_t i = 0; i < wide->rank; i++)
		old[i] = s->outer->loop[i]->loop.sym;
	tsr_stmt *second = tsr_stmt_new(a, TSR_STMT_KERNEL, kernel->span);
	second->kernel.name = tsr_intern(p->l->tc->names, tsr_format(a, "%s.narrow", kernel->kernel.name));
	tsr_push(a, &second->kernel.body, narrowing(p, u, s, wide, old));
	s->let->let.value = tsr_expr_const(a, tsr_scalar_of(s->prec, 0));
	s->out->store.buffer = wide->id;
	s->out->store.index = bare_loops(p, wide->rank, old);
	s->out->store.value = tsr_expr_local(a, s->local, s->prec);
	p->changes++;
	return second;
}

void tsr_pass_widen(tsr_pass *p)
{
	for (uint32_t i = 0; i < p->l->units.n; i++) {
		tsr_loop_unit *u = p->l->units.at[i];
		tsr_stmts out = {0};
		for (uint32_t k = 0; k < u->body.n; k++) {
			tsr_stmt *kernel = u->body.at[k];
			tsr_nest nest = kernel->kind == TSR_STMT_KERNEL ? tsr_nest_of(&kernel->kernel.body) : (tsr_nest){0};
			sum s;
			tsr_push(p->arena, &out, kernel);
			if (nest.n && is_wide_sum(p->l, &nest, &s))
				tsr_push(p->arena, &out, widen(p, u, kernel, &s));
		}
		u->body = out;
	}
}
