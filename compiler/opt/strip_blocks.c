/* Makes the blocks of a softmax in a strip (strip_online.c). */
#include "strip.h"
#include "masked.h"

static tsr_expr *copy_of(const tsr_strip_place *x, const tsr_expr *e) { return tsr_expr_place(x->g->p->arena, x->g->p->l, e, 0, NULL, NULL); }
static tsr_expr *two(const tsr_strip_place *x, tsr_op op, tsr_expr *a, tsr_expr *b) { return tsr_expr_op(x->g->p->arena, op, b->prec, a, b, NULL); }

/* The element that is stored. */
static tsr_expr *element(const tsr_strip_place *x, const tsr_stmt *store)
{
	return copy_of(x, tsr_expr_load(x->g->p->arena, x->g->p->l->buffers.at[store->store.buffer], store->store.index));
}

/* Factors of the strip's rows: here a store of the one whose row's element is stored. */
static tsr_stmt *of_factor(const tsr_strip_place *x, const tsr_stmt *store)
{
	const tsr_strip *g = x->g;
	uint32_t axis = 0;
	while (tsr_strip_axis_tag(g, store->store.buffer, axis) != g->cut)
		axis++;
	tsr_stmt *s = tsr_stmt_new(g->p->arena, TSR_STMT_STORE, store->span);
	s->store.buffer = x->factor;
	s->store.index = TSR_NEW_N(g->p->arena, tsr_lin, 1);
	s->store.index[0] = tsr_ids_have(&g->kept, store->store.buffer) ? store->store.index[axis] : tsr_strip_row(x, store->store.index[axis]);
	return s;
}

static tsr_expr *factor_of(const tsr_strip_place *x, const tsr_stmt *store) { return element(x, of_factor(x, store)); }

/* A buffer of a number for each of a strip's rows. */
static tsr_buffer_id numbers(const tsr_strip_place *x, const char *form)
{
	tsr_pass *p = x->g->p;
	const tsr_buffer *top = p->l->buffers.at[x->g->online.top];
	tsr_buffer *b = TSR_NEW(p->arena, tsr_buffer);
	*b = (tsr_buffer){ .id = p->l->buffers.n, .name = tsr_strip_name(p, form, top), .kind = TSR_BUFFER_TEMP, .prec = top->prec, .rank = 1, .tensor = TSR_NONE, .row = true };
	b->dims = TSR_NEW_N(p->arena, tsr_size, 1);
	b->dims[0] = tsr_size_const(x->g->rows);
	tsr_push(p->arena, &p->l->buffers, b);
	return b->id;
}

static tsr_expr *least(const tsr_strip_place *x, tsr_prec prec)
{
	tsr_scalar v = { .prec = prec, .d = prec == TSR_PREC_F32 ? -(double)__FLT_MAX__ : -__DBL_MAX__ };
	return tsr_expr_const(x->g->p->arena, v);
}

static tsr_expr *zero(const tsr_strip_place *x, tsr_prec prec) { return tsr_expr_const(x->g->p->arena, tsr_acc_neutral(TSR_ACC_ADD, prec)); }

/* ---- rows of the softmax: each of these makes of a copy, which knows one block, what stands there ---------------------------------- */

/* Before the first block: the row's numbers. */
static void begin_rows(const tsr_strip_place *x, tsr_stmts *row)
{
	tsr_stmts out = { 0 };
	for (uint32_t i = 0; i < row->n; i++) {
		tsr_stmt *s = row->at[i];
		if (!tsr_online_gathers(row, i))
			continue;
		s->store.value = i == TSR_ONLINE_TOP ? least(x, s->store.value->prec) : zero(x, s->store.value->prec);
		tsr_push(x->g->p->arena, &out, s);
	}
	*row = out;
}

typedef struct weighing { const tsr_strip_place *x; tsr_buffer_id quotient; const tsr_stmt *walk; uint32_t sym; } weighing;

/* The weight in the place of its quotient by the total. */
static tsr_expr *weight(void *user, tsr_expr *e)
{
	const weighing *w = user;
	if (e->kind != TSR_EXPR_LOAD || e->load.buffer != w->quotient)
		return e;
	tsr_arena *a = w->x->g->p->arena;
	tsr_lin to = tsr_lin_add_sym(a, tsr_lin_const(0), 1, TSR_LSYM_LOOP, w->sym);
	return tsr_expr_place(a, w->x->g->p->l, w->walk->loop.body.at[0]->store.value->op.args[0], 1, &w->walk->loop.sym, &to);
}

/* Of a block, in the first of two sweeps or the only one: what earlier blocks have added is scaled to the new maximum. */
static void go_on(const tsr_strip_place *x, tsr_stmts *row)
{
	tsr_arena *a = x->g->p->arena;
	tsr_stmts out = { 0 };
	for (uint32_t i = 0; i < row->n; i++) {
		tsr_stmt *s = row->at[i];
		if (!tsr_online_first(row, i))
			continue;
		if (i == TSR_ONLINE_TOP) {
			tsr_stmt *factor = of_factor(x, s);
			factor->store.value = tsr_expr_op(a, TSR_OP_EXP, s->store.value->prec, two(x, TSR_OP_SUB, element(x, s), two(x, TSR_OP_MAX, copy_of(x, s->store.value), element(x, s))), NULL, NULL);
			tsr_push(a, &out, factor);
			s->store.value = two(x, TSR_OP_MAX, s->store.value, element(x, s));
		} else if (s->kind == TSR_STMT_STORE)
			s->store.value = two(x, TSR_OP_ADD, two(x, TSR_OP_MUL, element(x, s), factor_of(x, s)), s->store.value);
		else if (s->kind == TSR_STMT_FOR && i > TSR_ONLINE_QUOTIENT) {
			const tsr_stmt *walk = row->at[TSR_ONLINE_QUOTIENT];
			weighing w = { x, walk->loop.body.at[0]->store.buffer, walk, s->loop.sym };
			tsr_stmt_rewrite(s, weight, &w);
		}
		tsr_push(a, &out, s);
	}
	*row = out;
}

/* After the first sweep: the numbers of a row of nothing but -inf, which has no total, are what they would be; sums of products become those with the quotients, where there are two; and what
 * the row's numbers say. */
static void end_rows(const tsr_strip_place *x, tsr_stmts *row)
{
	tsr_arena *a = x->g->p->arena;
	tsr_stmts out = { 0 };
	tsr_stmt *top = row->at[TSR_ONLINE_TOP], *total = row->at[TSR_ONLINE_TOTAL], *factor = of_factor(x, total);
	tsr_prec prec = top->store.value->prec;
	top->store.value = tsr_expr_op(a, TSR_OP_WHERE, prec, two(x, TSR_OP_EQ, element(x, total), zero(x, prec)), tsr_expr_const(a, tsr_acc_neutral(TSR_ACC_MAX, prec)), element(x, top));
	factor->store.value = two(x, TSR_OP_DIV, element(x, total), element(x, total));
	total->store.value = two(x, TSR_OP_MUL, element(x, total), factor_of(x, total));
	tsr_push(a, &out, top);
	tsr_push(a, &out, factor);
	tsr_push(a, &out, total);
	for (uint32_t i = TSR_ONLINE_QUOTIENT; i < row->n; i++) {
		tsr_stmt *s = row->at[i];
		if (s->kind != TSR_STMT_STORE)
			continue;
		if (tsr_online_gathers(row, i))
			s->store.value = two(x, TSR_OP_DIV, element(x, s), element(x, total));
		tsr_push(a, &out, s);
	}
	*row = out;
}

/* After the first sweep: the weight that hidden positions have beside those seen. */
static void ask_rows(const tsr_strip_place *x, tsr_stmts *row)
{
	const tsr_online *o = &x->g->online;
	const tsr_stmt *top = row->at[TSR_ONLINE_TOP];
	tsr_stmt *s = of_factor(x, top);
	tsr_scalar outside = { .prec = top->store.value->prec, .d = o->outside };
	s->store.buffer = x->shown;
	s->store.value = tsr_expr_op(x->g->p->arena, TSR_OP_EXP, outside.prec, two(x, TSR_OP_SUB, tsr_expr_const(x->g->p->arena, outside), element(x, top)), NULL, NULL);
	if (o->twice)
		s->store.value = two(x, TSR_OP_DIV, s->store.value, element(x, row->at[TSR_ONLINE_TOTAL]));
	row->at[0] = s;
	row->n = 1;
}

/* Of a block, in the second sweep, which knows the row's numbers. */
static void with_numbers(const tsr_strip_place *x, tsr_stmts *row)
{
	tsr_stmts out = { 0 };
	for (uint32_t i = 0; i < row->n; i++)
		if (i == TSR_ONLINE_WEIGHTS || (!tsr_online_first(row, i) && row->at[i]->kind == TSR_STMT_FOR))
			tsr_push(x->g->p->arena, &out, row->at[i]);
	*row = out;
}

/* ---- products ------------------------------------------------------------------------------------------------------------- */

/* Sums over positions, before what another block adds. */
static void scale_sums(const tsr_strip_place *x, tsr_stmts *copy)
{
	tsr_stmt *store = tsr_strip_result(copy);
	store->store.value = two(x, TSR_OP_MUL, element(x, store), factor_of(x, store));
}

/* ---- blocks ---------------------------------------------------------------------------------------------------------------- */

/* Before blocks, in the only sweep or the first or second one, and behind the only or first one: where a mask hides blocks a question first. */
typedef enum { BEGIN, ONLY, FIRST, SECOND, ASK, END, BETWEEN } sweep;

static void append(const tsr_strip_place *x, const tsr_stmts *copy, tsr_stmts *out)
{
	for (uint32_t i = 0; i < copy->n; i++)
		tsr_push(x->g->p->arena, out, copy->at[i]);
}

static void rows_of(const tsr_strip_place *x, sweep at, tsr_size rows, tsr_stmts *out)
{
	tsr_stmts copy = { 0 };
	tsr_strip_member_copy(x, &x->g->member[x->g->online.rows], rows, &copy);
	tsr_stmts *row = tsr_strip_innermost(&copy);
	(at == BEGIN ? begin_rows : at == ASK ? ask_rows : at >= END ? end_rows : at == SECOND ? with_numbers : go_on)(x, row);
	if (row->n)
		append(x, &copy, out);
}

static void product(const tsr_strip_place *x, const tsr_strip_member *m, sweep at, tsr_size rows, tsr_stmts *out)
{
	tsr_stmts copy = { 0 };
	if (at != SECOND && tsr_online_sums(x->g, m)) {
		tsr_strip_member_copy(x, m, rows, &copy);
		if (at == BEGIN)
			tsr_strip_cleared(x, m, &copy);
		else
			scale_sums(x, &copy);
		append(x, &copy, out);
	}
	if (at == ONLY || at == SECOND)
		tsr_strip_member_copy(x, m, rows, out);
}

/* What a sweep does with a block; before the first one, and between two sweeps. */
static void members(const tsr_strip_place *x, sweep at, tsr_size rows, tsr_stmts *out)
{
	const tsr_online *o = &x->g->online;
	for (uint32_t m = 0; m < o->rows && at != BEGIN && at < ASK; m++)
		if (at != FIRST || tsr_online_wanted(x->g, m))
			tsr_strip_member_copy(x, &x->g->member[m], rows, out);
	rows_of(x, at, rows, out);
	for (uint32_t m = o->rows + 1; m < o->last && at != FIRST && at != ASK && at != BETWEEN; m++)
		product(x, &x->g->member[m], at, rows, out);
}

static const tsr_stmt *walk_of(const tsr_strip *g)
{
	const tsr_nest *nest = &g->member[0].nest;
	uint32_t i = 0;
	while (tsr_strip_loop_tag(g, nest->loop[i]->loop.sym) != g->online.walk)
		i++;
	return nest->loop[i];
}

static void blocks(tsr_strip_place *x, sweep at, tsr_size rows, tsr_stmts *out)
{
	tsr_strip *g = x->g;
	tsr_pass *p = g->p;
	const tsr_online *o = &g->online;
	tsr_size n = tsr_loops_quotient(p->l, o->positions, o->block, false);
	bool one = tsr_size_is_const(n) && n.k == 1;
	tsr_stmt *loop = tsr_stmt_new(p->arena, TSR_STMT_FOR, walk_of(g)->span);
	loop->loop.sym = g->unit->nsyms++;
	loop->loop.name = walk_of(g)->loop.name;
	loop->loop.extent = n;
	loop->loop.how = TSR_FOR_SERIAL;
	x->block = tsr_size_const(o->block), x->block_first = tsr_lin_add_sym(p->arena, tsr_lin_const(0), o->block, TSR_LSYM_LOOP, loop->loop.sym);
	if (o->hides && !x->rest) {
		tsr_hidden *h = TSR_NEW(p->arena, tsr_hidden);
		*h = (tsr_hidden){ g->mask->step * g->rows, g->mask->first + g->mask->step * (g->rows - 1), o->block, x->shown, at == SECOND };
		loop->loop.hidden = h;
	}
	if (one)
		x->block_first = tsr_lin_const(0);
	members(x, at, rows, one ? out : &loop->loop.body);
	if (!one)
		tsr_push(p->arena, out, loop);
	x->block = tsr_loops_quotient(p->l, o->positions, o->block, true), x->block_first = tsr_lin_add_size(p->arena, tsr_lin_const(0), o->block, n);
	if (!tsr_size_is_const(x->block) || x->block.k)
		members(x, at, rows, tsr_size_is_const(x->block) ? out : tsr_strip_where(x, tsr_size_const(1), x->block, tsr_size_const(o->block), out));
	x->block = tsr_size_const(o->block), x->block_first = tsr_lin_const(0);
}

void tsr_online_build(tsr_strip_place *x, tsr_size rows, tsr_stmts *out)
{
	tsr_strip *g = x->g;
	const tsr_online *o = &g->online;
	if (!x->rest) {
		x->factor = numbers(x, "%s.factor");
		if (o->hides) {
			x->shown = numbers(x, "%s.hidden");
			g->p->l->buffers.at[x->shown]->asked = true;
		}
		tsr_pass_note(g->p, "%s: rows of %s go by blocks of %lld of %s%s", g->unit->name, g->p->l->buffers.at[o->weights]->name, (long long)o->block, walk_of(g)->loop.name,
			o->twice ? ", twice" : "");
	}
	x->by_block = true, x->block = tsr_size_const(o->block), x->block_first = tsr_lin_const(0);
	members(x, BEGIN, rows, out);
	blocks(x, o->twice ? FIRST : ONLY, rows, out);
	if (o->hides && !x->rest)
		members(x, ASK, rows, out);
	members(x, o->twice ? BETWEEN : END, rows, out);
	if (o->twice)
		blocks(x, SECOND, rows, out);
	x->by_block = false;
}
