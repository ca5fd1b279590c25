/* What becomes of a contraction's sums before they are stored (tsr_contraction.tail).
 *
 * Where tiles store into C themselves and every operand of the tail lies like C, its rows one stride apart and its columns side by
 * side or the same, the tile applies the tail to its registers: each operand is two more parameters, where the tile's first element
 * lies and how far it is to the next row.  Short tails are written out for every vector, long ones are a loop over the tile's rows.
 * Otherwise the sums are stored first (in C, or where the tile is put together when they only pass by), and the tail is applied to them tile by
 * tile, while they are near, by the emitter of expressions. */
#include "private.h"
#include "../base/text.h"
#include <stdio.h>
#include <string.h>

enum { WRITTEN_OUT = 400, MOST_OPERANDS = 64, MOST_VALUES = TSR_MOST_LETS + 8, AT_ONCE = 12 };         /* nodes that a tile may hold; its vectors */

/* ---- operands --------------------------------------------------------------------------------------------------------- */

static bool same_place(const tsr_loops *l, const tsr_expr *x, const tsr_expr *y)
{
	if (x->kind != y->kind || x->prec != y->prec)
		return false;
	if (x->kind == TSR_EXPR_NUMBER)
		return x->number == y->number;
	if (x->kind == TSR_EXPR_SIZE)
		return tsr_extent_equal(x->size, y->size);
	return x->load.buffer == y->load.buffer && tsr_index_equal(l->buffers.at[x->load.buffer], x->load.index, y->load.index);
}

static uint32_t operand_of(const tsr_tail_plan *t, const tsr_expr *x)
{
	uint32_t i = 0;
	while (i < t->n && !(t->at[i].value && same_place(t->e->loops, t->at[i].value, x)))
		i++;
	return i;
}

/* Which of the tail's values this is; their number: the sum. */
static uint32_t let_of(const tsr_tail *t, const tsr_expr *local)
{
	uint32_t i = 0;
	while (i < t->lets.n && t->lets.at[i]->let.local != local->local)
		i++;
	return i;
}

static void find_operands(tsr_tail_plan *t, const tsr_expr *x)
{
	switch (x->kind) {
	case TSR_EXPR_LOAD: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER:
		if (operand_of(t, x) < t->n)
			return;
		t->at[t->n++] = (tsr_tail_operand){ .value = x, .prec = x->kind == TSR_EXPR_LOAD ? t->e->loops->buffers.at[x->load.buffer]->prec : x->prec,
											.buffer = x->kind == TSR_EXPR_LOAD ? x->load.buffer : TSR_NONE, .index = x->kind == TSR_EXPR_LOAD ? x->load.index : NULL };
		return;
	case TSR_EXPR_OP:
		for (uint32_t i = 0; i < tsr_op_get(x->op.op)->arity; i++)
			find_operands(t, x->op.args[i]);
		return;
	case TSR_EXPR_CONVERT: find_operands(t, x->converted); return;
	case TSR_EXPR_CONST: case TSR_EXPR_LOCAL: case TSR_EXPR_INDEX: case TSR_EXPR_LOOKUP: case TSR_EXPR_SELECT: case TSR_EXPR_KINDS: return;
	}
}

/* What is computed, in this order: values that have names, and what is stored. */
static uint32_t values(const tsr_tail *t) { return t->lets.n + t->stores.n; }
static const tsr_expr *value_of(const tsr_tail *t, uint32_t i) { return i < t->lets.n ? t->lets.at[i]->let.value : t->stores.at[i - t->lets.n]->store.value; }

/* The first store is C's, but where sums pass by; so many are not. */
static uint32_t in_c(const tsr_tail *t) { return !t->passing; }
static uint32_t stores(const tsr_tail *t) { return t->stores.n - in_c(t); }

static tsr_prec prec_of(const tsr_emit *e, const tsr_tail *t, uint32_t i)
{
	return i < t->lets.n ? t->lets.at[i]->let.prec : e->loops->buffers.at[t->stores.at[i - t->lets.n]->store.buffer]->prec;
}

static uint32_t nodes(const tsr_expr *x)
{
	uint32_t n = 1;
	for (uint32_t i = 0; x->kind == TSR_EXPR_OP && i < tsr_op_get(x->op.op)->arity; i++)
		n += nodes(x->op.args[i]);
	if (x->kind == TSR_EXPR_OP && tsr_op_get(x->op.op)->result == TSR_RESULT_FLOAT)
		n += 20;                     /* mostly an elementary function */
	return x->kind == TSR_EXPR_CONVERT ? n + nodes(x->converted) : n;
}

/* Elements from one position of a class to the next, which its loops agree on; NULL: they do not. */
static LLVMValueRef stride_in(tsr_engine *g, const tsr_tail_operand *o, tsr_loop_class cls)
{
	tsr_kit *k = &g->k;
	const tsr_walks *x = &g->walks[cls];
	LLVMValueRef inner = tsr_kit_int(k, 0);
	int64_t expected = 0;
	for (uint32_t i = x->nloops; i-- > 0;) {
		LLVMValueRef here = tsr_engine_stride(g, o->buffer, o->index, x->loop[i].sym);
		if (i + 1 == x->nloops)
			inner = here;
		else if (!LLVMIsAConstantInt(here) || LLVMConstIntGetSExtValue(here) != expected)
			return NULL;
		if (i > 0 && (!LLVMIsAConstantInt(here) || !tsr_size_is_const(x->loop[i].extent)))
			return NULL;
		expected = i > 0 ? LLVMConstIntGetSExtValue(here) * x->loop[i].extent.k : 0;
	}
	return inner;
}

/* The operand lies like the tile. */
static bool lies_like_c(tsr_engine *g, tsr_tail_operand *o)
{
	o->row = tsr_kit_int(&g->k, 0);
	if (o->buffer == TSR_NONE)
		return true;
	LLVMValueRef row = stride_in(g, o, TSR_CLASS_M), column = stride_in(g, o, TSR_CLASS_N);
	if (!row || !column || !LLVMIsAConstantInt(column))
		return false;
	int64_t step = LLVMConstIntGetSExtValue(column);
	o->row = row;
	o->along = step == 1;
	return step == 1 || (step == 0 && o->value);
}

/* ---- the plan -------------------------------------------------------------------------------------------------------------- */

static void describe(const tsr_tail_plan *t, tsr_text *out, const tsr_expr *x)
{
	tsr_text_addf(out, "(%d.%d ", (int)x->kind, (int)x->prec);
	if (x->kind == TSR_EXPR_OP) {
		tsr_text_addf(out, "%d.%d", (int)x->op.op, (int)x->op.operand_prec);
		for (uint32_t i = 0; i < tsr_op_get(x->op.op)->arity; i++)
			describe(t, out, x->op.args[i]);
	} else if (x->kind == TSR_EXPR_CONVERT)
		describe(t, out, x->converted);
	else if (x->kind == TSR_EXPR_CONST)
		tsr_text_addf(out, "%d:%llx", (int)x->value.prec, (unsigned long long)x->value.i);
	else
		tsr_text_addf(out, "#%u", x->kind == TSR_EXPR_LOCAL ? let_of(t->tail, x) : operand_of(t, x));
	tsr_text_char(out, ')');
}

/* One number for all tails that are the same code. */
static uint32_t number_of(tsr_tail_plan *t)
{
	tsr_text key;
	tsr_text_init(&key, t->e->tc->arena);
	for (uint32_t i = 0; i < t->n; i++)
		tsr_text_addf(&key, "%d%c%c", (int)t->at[i].prec, t->at[i].along ? '-' : '.', t->at[i].value ? 'r' : 'w');
	for (uint32_t i = 0; i < stores(t->tail); i++)
		tsr_text_addf(&key, ">%u", t->to[i]);
	for (uint32_t i = 0; i < values(t->tail); i++)
		describe(t, &key, value_of(t->tail, i));
	uint32_t before = t->e->tails.n;
	tsr_map_entry *entry = tsr_map_put(&t->e->tails, tsr_key(tsr_intern(t->e->tc->names, tsr_text_str(&key))));
	if (t->e->tails.n > before)
		entry->value.i = before;
	return (uint32_t)entry->value.i;
}

/* What is read where it is stored is one operand: each is a place that a loop must know to ask for its lines. */
static uint32_t stored_operand(tsr_tail_plan *t, const tsr_stmt *s)
{
	const tsr_buffer *b = t->e->loops->buffers.at[s->store.buffer];
	uint32_t i = 0;
	while (i < t->n && !(t->at[i].buffer == b->id && tsr_index_equal(b, t->at[i].index, s->store.index)))
		i++;
	if (i == t->n)
		t->at[t->n++] = (tsr_tail_operand){ .prec = b->prec, .buffer = b->id, .index = s->store.index };
	t->at[i].stored = true;
	return i;
}

void tsr_tail_plan_make(tsr_engine *g)
{
	const tsr_tail *tail = g->c->tail;
	if (!tail)
		return;
	tsr_tail_plan *t = TSR_NEW(g->e->tc->arena, tsr_tail_plan);
	*t = (tsr_tail_plan){ .e = g->e, .tail = tail };
	for (uint32_t i = 0; i < values(tail); i++)
		t->nodes += nodes(value_of(tail, i));
	t->at = TSR_NEW_N(g->e->tc->arena, tsr_tail_operand, t->nodes + tail->stores.n + 1);
	t->to = TSR_NEW_N(g->e->tc->arena, uint32_t, tail->stores.n + 1);
	for (uint32_t i = 0; i < values(tail); i++)
		find_operands(t, value_of(tail, i));
	for (uint32_t i = 0; i < stores(tail); i++)
		t->to[i] = stored_operand(t, tail->stores.at[in_c(tail) + i]);
	t->like_c = true;
	for (uint32_t i = 0; i < t->n; i++)
		t->like_c &= lies_like_c(g, &t->at[i]);
	int64_t depth = tsr_kit_known(g->cls[TSR_CLASS_K].count);
	t->whole = depth >= 0 && depth <= g->s->kc;
	t->like_c &= t->n <= MOST_OPERANDS && values(tail) <= MOST_VALUES;
	t->number = number_of(t);
	g->tail = t;
}

void tsr_tail_begin(tsr_engine *g)
{
	tsr_tail_plan *t = g->tail;
	for (uint32_t i = 0; t && t->in_tiles && i < t->n; i++) {
		tsr_tail_operand *o = &t->at[i];
		if (o->buffer != TSR_NONE) {
			o->base = tsr_emit_address(g->e, o->buffer, o->index);
			continue;
		}
		o->base = tsr_kit_table(&g->k, 1);
		tsr_emit_store(g->e, o->prec, tsr_emit_expr(g->e, o->value), o->base);
	}
}

/* ---- in a tile ----------------------------------------------------------------------------------------------------------------- */

uint32_t tsr_tail_params(const tsr_tail_plan *t) { return t ? 1 + 2 * t->n : 0; }

void tsr_tail_types(tsr_kit *k, const tsr_tail_plan *t, LLVMTypeRef *type)
{
	for (uint32_t i = 0; i < tsr_tail_params(t); i++)
		type[i] = i == 0 ? k->i1 : i % 2 ? k->ptr : k->i64;
}

void tsr_tail_args(tsr_engine *g, const tsr_tail_plan *t, LLVMValueRef m, LLVMValueRef n, LLVMValueRef last, LLVMValueRef *arg)
{
	tsr_kit *k = &g->k;
	if (!t)
		return;
	*arg++ = last;
	for (uint32_t i = 0; i < t->n; i++) {
		const tsr_tail_operand *o = &t->at[i];
		LLVMValueRef at = tsr_kit_mul(k, m, o->row);
		*arg++ = tsr_emit_offset(g->e, o->prec, o->base, o->along ? tsr_kit_add(k, at, n) : at);
		*arg++ = o->row;
	}
}

void tsr_tail_name(const tsr_tail_plan *t, char *out, size_t size)
{
	size_t n = strlen(out);
	n += (size_t)snprintf(out + n, size - n, ".t%u%s", t->number, t->whole ? "" : "p");
	for (uint32_t i = 0; i < t->n && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, LLVMIsAConstantInt(t->at[i].row) ? ".%lld" : ".r", (long long)tsr_kit_known(t->at[i].row));
	if (n >= size)
		tsr_bug("a name of a tile with more than %zu characters", size);
}

/* Where a vector of the tile is: its sum, the values so far, and where each operand has its elements. */
typedef struct place { tsr_emit_leaves leaves; tsr_kit *k; const tsr_tail_plan *t; LLVMValueRef sum, mask, *at, *value; } place;

static LLVMValueRef load(const place *x, uint32_t i)
{
	tsr_kit *k = x->k;
	tsr_emit *e = x->t->e;
	const tsr_tail_operand *o = &x->t->at[i];
	if (!o->along) {
		LLVMValueRef one = tsr_emit_load(e, o->prec, x->at[i]);
		return tsr_emit_splat(e, one, tsr_emit_lanes(LLVMTypeOf(one), k->lanes));
	}
	return x->mask ? tsr_emit_load_masked(e, o->prec, x->at[i], x->mask) : tsr_emit_load_lanes(e, o->prec, x->at[i], k->lanes);
}

static LLVMValueRef leaf(const tsr_emit_leaves *leaves, const tsr_expr *x)
{
	const place *p = (const place *)leaves;
	tsr_emit *e = p->t->e;
	switch (x->kind) {
	case TSR_EXPR_LOCAL: {
		uint32_t i = let_of(p->t->tail, x);
		return i < p->t->tail->lets.n ? p->value[i] : tsr_emit_from_memory(e, p->k->prec, p->sum);
	}
	case TSR_EXPR_CONST: {
		LLVMValueRef one = tsr_emit_constant(e, tsr_scalar_convert(x->value, x->prec));
		return tsr_emit_splat(e, one, tsr_emit_lanes(LLVMTypeOf(one), p->k->lanes));
	}
	case TSR_EXPR_LOAD: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: {
		uint32_t i = operand_of(p->t, x);
		return tsr_emit_convert(e, load(p, i), p->t->at[i].prec, x->prec);
	}
	case TSR_EXPR_INDEX: case TSR_EXPR_OP: case TSR_EXPR_CONVERT: case TSR_EXPR_LOOKUP: case TSR_EXPR_SELECT: case TSR_EXPR_KINDS: break;
	}
	return NULL;
}

static void store(const place *x, tsr_prec p, LLVMValueRef value, LLVMValueRef at)
{
	if (x->mask)
		tsr_emit_store_masked(x->t->e, p, value, at, x->mask);
	else
		tsr_emit_store_lanes(x->t->e, p, value, at);
}

/* Where each operand's elements for this vector of the tile are. */
static void places(const tsr_tile_end *z, LLVMValueRef row, uint32_t v, LLVMValueRef *at)
{
	tsr_kit *k = z->k;
	const tsr_tail_plan *t = z->tail;
	for (uint32_t i = 0; i < t->n; i++) {
		const tsr_tail_operand *o = &t->at[i];
		LLVMValueRef known = LLVMIsAConstantInt(o->row) ? tsr_kit_int(k, LLVMConstIntGetSExtValue(o->row)) : LLVMGetParam(k->fn, z->param + 2 + 2 * i);
		at[i] = tsr_emit_offset(t->e, o->prec, LLVMGetParam(k->fn, z->param + 1 + 2 * i), tsr_kit_mul(k, row, known));
		at[i] = o->along ? tsr_emit_offset(t->e, o->prec, at[i], tsr_kit_int(k, v * k->lanes)) : at[i];
	}
}

/* What differs from row to row is far apart. */
static bool is_far(const tsr_tail_operand *o)
{
	return o->along && !(LLVMIsAConstantInt(o->row) && LLVMConstIntGetSExtValue(o->row) == 0);
}

/* Of a large tile all its lines at once take every one that a core can wait for, and B has to wait behind them. */
void tsr_tail_fetch(const tsr_tile_end *z)
{
	tsr_kit *k = z->k;
	LLVMValueRef at[MOST_OPERANDS];
	for (uint32_t r = 0; z->tail && z->rows * z->vecs <= AT_ONCE && r < z->rows; r++)
		for (uint32_t v = 0; v < z->vecs; v++) {
			places(z, tsr_kit_int(k, r), v, at);
			for (uint32_t i = 0; i < z->tail->n; i++)
				if (is_far(&z->tail->at[i]))
					tsr_kit_fetch(k, at[i], z->tail->at[i].stored);
		}
}

/* Where the tail is not applied it is C's line that is asked for. */
void tsr_tail_ahead(const tsr_tile_end *z, LLVMValueRef row, LLVMValueRef column)
{
	tsr_kit *k = z->k;
	LLVMValueRef at[MOST_OPERANDS];
	if (!z->tail)
		return;
	places(z, row, 0, at);
	for (uint32_t i = 0; i < z->tail->n; i++) {
		if (!is_far(&z->tail->at[i]))
			continue;
		LLVMValueRef there = tsr_emit_offset(z->tail->e, z->tail->at[i].prec, at[i], column);
		if (!z->tail->whole)
			there = LLVMBuildSelect(k->b, LLVMGetParam(k->fn, z->param), there, z->c, "");
		tsr_kit_fetch(k, there, false);
	}
}

/* One vector of the tile: every store of the tail. */
static void vector(const tsr_tile_end *z, LLVMValueRef row, uint32_t v, LLVMValueRef sum, bool around)
{
	tsr_kit *k = z->k;
	const tsr_tail_plan *t = z->tail;
	tsr_emit *e = t->e;
	LLVMValueRef at[MOST_OPERANDS], value[MOST_VALUES];
	places(z, row, v, at);
	place x = { { leaf }, k, t, sum, z->mask[v], at, value };
	const tsr_emit_leaves *outer = e->leaves;
	e->leaves = &x.leaves;
	for (uint32_t i = 0; i < values(t->tail); i++)
		value[i] = tsr_emit_convert(e, tsr_emit_expr(e, value_of(t->tail, i)), value_of(t->tail, i)->prec, prec_of(e, t->tail, i));
	e->leaves = outer;
	const LLVMValueRef *from = value + t->tail->lets.n;
	uint32_t first = t->tail->lets.n, c_first = in_c(t->tail);
	if (c_first) {
		LLVMValueRef c = tsr_kit_at(k, tsr_kit_at(k, z->c, tsr_kit_mul(k, row, z->row)), tsr_kit_int(k, v * k->lanes));
		if (around)
			tsr_kit_store_around(k, tsr_emit_to_memory(e, prec_of(e, t->tail, first), from[0]), c);
		else
			store(&x, prec_of(e, t->tail, first), from[0], c);
	}
	for (uint32_t i = c_first; i < t->tail->stores.n; i++)
		store(&x, prec_of(e, t->tail, first + i), from[i], at[t->to[i - c_first]]);
}

void tsr_tail_store(const tsr_tile_end *z, LLVMValueRef *sum, bool around)
{
	tsr_kit *k = z->k;
	uint32_t n = z->rows * z->vecs;
	if (z->tail->nodes * n <= WRITTEN_OUT) {
		for (uint32_t j = 0; j < n; j++)
			vector(z, tsr_kit_int(k, j / z->vecs), j % z->vecs, sum[j], around);
		return;
	}
	LLVMValueRef waiting = tsr_kit_table(k, n * k->lanes * k->elem_bytes / 8);
	LLVMSetAlignment(waiting, 64);
	for (uint32_t j = 0; j < n; j++)
		tsr_kit_store(k, sum[j], tsr_kit_at(k, waiting, tsr_kit_int(k, j * k->lanes)), NULL);
	tsr_count row = tsr_count_begin(k, tsr_kit_int(k, 0), tsr_kit_int(k, z->rows), tsr_kit_int(k, 1));
	LLVMValueRef from = tsr_kit_at(k, waiting, tsr_kit_mul(k, row.i, tsr_kit_int(k, z->vecs * k->lanes)));
	for (uint32_t v = 0; v < z->vecs; v++)
		vector(z, row.i, v, tsr_kit_load(k, k->vec, tsr_kit_at(k, from, tsr_kit_int(k, v * k->lanes)), NULL), around);
	tsr_count_end(k, &row);
}

/* ---- behind a tile that has stored its sums ---------------------------------------------------------------------------------------- */

typedef struct stored { tsr_emit_leaves leaves; const tsr_tail *tail; LLVMValueRef sum, value[TSR_MOST_LETS]; } stored;

static LLVMValueRef stored_sum(const tsr_emit_leaves *leaves, const tsr_expr *x)
{
	const stored *s = (const stored *)leaves;
	if (x->kind != TSR_EXPR_LOCAL)
		return NULL;
	uint32_t i = let_of(s->tail, x);
	return i < s->tail->lets.n ? s->value[i] : s->sum;
}

void tsr_tail_apply(tsr_engine *g, LLVMValueRef m, LLVMValueRef n, LLVMValueRef rows, LLVMValueRef cols)
{
	tsr_kit *k = &g->k;
	tsr_emit *e = g->e;
	const tsr_tail *tail = g->c->tail;
	tsr_count i = tsr_count_begin(k, tsr_kit_int(k, 0), rows, tsr_kit_int(k, 1));
	tsr_walks_decode(k, e, &g->walks[TSR_CLASS_M], 0, tsr_kit_add(k, m, i.i));
	tsr_walk_run run = tsr_walk_run_begin(k, e, &g->walks[TSR_CLASS_N], n, cols, 1);
	LLVMValueRef sum = tail->passing ? tsr_kit_at(k, g->buffer, tsr_kit_add(k, run.place, tsr_kit_mul(k, i.i, tsr_kit_int(k, g->s->nr))))
		: tsr_emit_address(e, g->c->c, g->c->c_index);
	stored x = { .leaves = { stored_sum }, .tail = tail, .sum = tsr_emit_load(e, g->c->prec, sum) };
	const tsr_emit_leaves *outer = e->leaves;
	e->leaves = &x.leaves;
	for (uint32_t j = 0; j < values(tail); j++) {
		LLVMValueRef value = tsr_emit_convert(e, tsr_emit_expr(e, value_of(tail, j)), value_of(tail, j)->prec, prec_of(e, tail, j));
		const tsr_stmt *s = j < tail->lets.n ? NULL : tail->stores.at[j - tail->lets.n];
		if (s)
			tsr_emit_store(e, prec_of(e, tail, j), value, tsr_emit_address(e, s->store.buffer, s->store.index));
		else
			x.value[j] = value;
	}
	e->leaves = outer;
	tsr_walk_run_end(k, e, &run);
	tsr_count_end(k, &i);
}
