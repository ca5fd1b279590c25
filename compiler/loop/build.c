/* Building indices, expressions and statements of the loop IR.  Indices are kept in one normal form: the constant part in
 * `offset`, no term of coefficient 0, no symbol twice; so equal indices built here compare equal. */
#include "loop.h"
#include "../base/text.h"

static tsr_lin copy_with_room(tsr_arena *a, tsr_lin x, uint32_t more)
{
	tsr_lin_term *terms = TSR_NEW_N(a, tsr_lin_term, x.n + more);
	for (uint32_t i = 0; i < x.n; i++)
		terms[i] = x.terms[i];
	x.terms = terms;
	return x;
}

tsr_lin tsr_lin_add_sym(tsr_arena *a, tsr_lin x, int64_t coef, tsr_lsym_kind kind, uint32_t id)
{
	x = copy_with_room(a, x, 1);
	for (uint32_t i = 0; i < x.n; i++) {
		if (x.terms[i].kind != kind || x.terms[i].id != id)
			continue;
		x.terms[i].coef += coef;
		if (x.terms[i].coef == 0) {
			for (uint32_t j = i + 1; j < x.n; j++)
				x.terms[j - 1] = x.terms[j];
			x.n--;
		}
		return x;
	}
	if (coef)
		x.terms[x.n++] = (tsr_lin_term){coef, kind, id};
	return x;
}

static tsr_size size_add_term(tsr_arena *a, tsr_size s, int64_t coef, uint32_t symbol)
{
	tsr_size_term *terms = TSR_NEW_N(a, tsr_size_term, s.nterms + 1);
	uint32_t n = 0;
	bool met = false;
	for (uint32_t i = 0; i < s.nterms; i++) {
		tsr_size_term t = s.terms[i];
		if (t.symbol == symbol) {
			met = true;
			t.coef += coef;
		}
		if (t.coef)
			terms[n++] = t;
	}
	if (!met && coef)
		terms[n++] = (tsr_size_term){coef, symbol};
	return (tsr_size){s.k, n, terms};
}

tsr_lin tsr_lin_add_size(tsr_arena *a, tsr_lin x, int64_t coef, tsr_size s)
{
	x.offset += coef * s.k + x.base.k;
	x.base.k = 0;
	for (uint32_t i = 0; i < s.nterms; i++)
		x.base = size_add_term(a, x.base, coef * s.terms[i].coef, s.terms[i].symbol);
	return x;
}

tsr_size tsr_loops_quotient(tsr_loops *l, tsr_size of, int64_t by, bool rest)
{
	tsr_arena *a = l->tc->arena;
	uint32_t i = 0;
	if (tsr_size_is_const(of))
		return tsr_size_const(rest ? of.k % by : of.k / by);
	while (i < l->quotients.n && (l->quotients.at[i].by != by || l->quotients.at[i].rest != rest || !tsr_extent_equal(l->quotients.at[i].of, of)))
		i++;
	if (i == l->quotients.n) {
		tsr_quotient q = { l->symbols.n, of, by, rest };
		tsr_push(a, &l->quotients, q);
		tsr_push(a, &l->symbols, tsr_intern(l->tc->names, tsr_format(a, rest ? "rest%u" : "quotient%u", q.symbol)));
	}
	return tsr_lin_add_size(a, tsr_lin_const(0), 1, (tsr_size){ 0, 1, &(tsr_size_term){ 1, l->quotients.at[i].symbol } }).base;
}

tsr_lin tsr_lin_add(tsr_arena *a, tsr_lin x, int64_t coef, tsr_lin y)
{
	x = tsr_lin_add_size(a, x, coef, y.base);
	x.offset += coef * y.offset;
	for (uint32_t i = 0; i < y.n; i++)
		x = tsr_lin_add_sym(a, x, coef * y.terms[i].coef, y.terms[i].kind, y.terms[i].id);
	return x;
}

bool tsr_lin_equal(tsr_lin x, tsr_lin y)
{
	if (x.offset + x.base.k != y.offset + y.base.k || x.n != y.n || x.base.nterms != y.base.nterms)
		return false;
	uint32_t found = 0;
	for (uint32_t i = 0; i < x.n; i++)
		for (uint32_t j = 0; j < y.n; j++)
			found += x.terms[i].coef == y.terms[j].coef && x.terms[i].kind == y.terms[j].kind && x.terms[i].id == y.terms[j].id;
	for (uint32_t i = 0; i < x.base.nterms; i++)
		for (uint32_t j = 0; j < y.base.nterms; j++)
			found += x.base.terms[i].coef == y.base.terms[j].coef && x.base.terms[i].symbol == y.base.terms[j].symbol;
	return found == x.n + x.base.nterms;
}

bool tsr_index_equal(const tsr_buffer *b, const tsr_lin *x, const tsr_lin *y)
{
	uint32_t axis = 0;
	while (axis < b->rank && tsr_lin_equal(x[axis], y[axis]))
		axis++;
	return axis == b->rank;
}

bool tsr_extent_equal(tsr_size x, tsr_size y) { return tsr_lin_equal((tsr_lin){ 0, x, 0, NULL }, (tsr_lin){ 0, y, 0, NULL }); }

static tsr_expr *expr_new(tsr_arena *a, tsr_expr_kind kind, tsr_prec prec)
{
	tsr_expr *e = TSR_NEW(a, tsr_expr);
	e->kind = kind;
	e->prec = prec;
	return e;
}

tsr_expr *tsr_expr_const(tsr_arena *a, tsr_scalar value)
{
	tsr_expr *e = expr_new(a, TSR_EXPR_CONST, value.prec);
	e->value = value;
	return e;
}

tsr_expr *tsr_expr_load(tsr_arena *a, const tsr_buffer *b, tsr_lin *index)
{
	tsr_expr *e = expr_new(a, TSR_EXPR_LOAD, b->prec);
	e->load.buffer = b->id;
	e->load.index = index;
	return e;
}

tsr_expr *tsr_expr_local(tsr_arena *a, tsr_local_id local, tsr_prec prec)
{
	tsr_expr *e = expr_new(a, TSR_EXPR_LOCAL, prec);
	e->local = local;
	return e;
}

tsr_expr *tsr_expr_op(tsr_arena *a, tsr_op op, tsr_prec operand_prec, tsr_expr *x, tsr_expr *y, tsr_expr *z)
{
	tsr_result_rule rule = tsr_op_get(op)->result;
	bool truth = rule == TSR_RESULT_BOOL || rule == TSR_RESULT_LOGIC;
	tsr_expr *e = expr_new(a, TSR_EXPR_OP, truth ? TSR_PREC_BOOL : operand_prec);
	e->op.op = op;
	e->op.operand_prec = operand_prec;
	e->op.args[0] = x;
	e->op.args[1] = y;
	e->op.args[2] = z;
	return e;
}

tsr_expr *tsr_expr_convert(tsr_arena *a, tsr_expr *x, tsr_prec to)
{
	if (x->prec == to)
		return x;
	tsr_expr *e = expr_new(a, TSR_EXPR_CONVERT, to);
	e->converted = x;
	return e;
}

tsr_stmt *tsr_stmt_new(tsr_arena *a, tsr_stmt_kind kind, tsr_span span)
{
	tsr_stmt *s = TSR_NEW(a, tsr_stmt);
	s->kind = kind;
	s->span = span;
	return s;
}

uint32_t tsr_expr_parts(const tsr_expr *e, tsr_expr *parts[TSR_MOST_PARTS])
{
	switch (e->kind) {
	case TSR_EXPR_OP:
		for (uint32_t i = 0; i < tsr_op_get(e->op.op)->arity; i++)
			parts[i] = e->op.args[i];
		return tsr_op_get(e->op.op)->arity;
	case TSR_EXPR_CONVERT: parts[0] = e->converted; return 1;
	case TSR_EXPR_LOOKUP: parts[0] = e->lookup.at, parts[1] = e->lookup.value; return 2;
	case TSR_EXPR_SELECT: parts[0] = e->select.inside, parts[1] = e->select.outside; return 2;
	case TSR_EXPR_CONST: case TSR_EXPR_LOAD: case TSR_EXPR_LOCAL: case TSR_EXPR_INDEX: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER:
	case TSR_EXPR_KINDS: break;
	}
	return 0;
}
