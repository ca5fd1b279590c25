/* Expressions of the program level: typing and lowering in one walk.  An expression that needs statements of its own
 * (a block, an `if` whose branches do something) adds them to the current list first. */
#include "lower.h"
#include <string.h>

static tsr_hexpr *unit(tsr_hlower *l, tsr_span span) { return tsr_hexpr_new(l, TSR_H_INT, TSR_HOST_UNIT, span); }

static tsr_hexpr *named(tsr_hlower *l, tsr_ast *e)
{
	if (!e->name.qualifier) {
		for (tsr_hscope *s = l->scope; s; s = s->up) {
			if (s->name != e->name.name)
				continue;
			if (s->ref) {
				tsr_diag *d = tsr_report(l->tc, TSR_E_PROGRAM_TYPE, e->span, "`%s` is a reference; its value is `!%s`", s->name, s->name);
				tsr_hint(l->tc, d, "write !%s to read it, %s := .. to change it", s->name, s->name);
				return NULL;
			}
			return tsr_hexpr_var(l, s->var, e->span);
		}
	}
	tsr_ref r = tsr_host_resolve(l, e);
	if (r.kind == TSR_REF_CONST)
		return r.constant;
	if (r.kind == TSR_REF_TENSOR) {
		tsr_diag *d = tsr_report(l->tc, TSR_E_PROGRAM_TYPE, e->span, "`%s` is a tensor, and a number is needed", e->name.name);
		tsr_hint(l->tc, d, "read one element: %s.(0)", e->name.name);
	} else if (r.kind != TSR_REF_POISON) {
		tsr_report(l->tc, TSR_E_PROGRAM_TYPE, e->span, "`%s` is %s, and a value of the program level is needed", e->name.name,
			   r.kind == TSR_REF_CODE ? "a piece of code" : r.kind == TSR_REF_NUMBER ? "a runtime number, given by `run`" : r.what);
	}
	return NULL;
}

static tsr_hexpr *deref(tsr_hlower *l, tsr_ast *e)
{
	tsr_ast *v = e->unary.e;
	if (v->kind == TSR_AST_NAME && !v->name.qualifier)
		for (tsr_hscope *s = l->scope; s; s = s->up)
			if (s->name == v->name.name && s->ref)
				return tsr_hexpr_var(l, s->var, e->span);
	tsr_report(l->tc, TSR_E_PROGRAM_TYPE, v->span, "`!` reads a reference, and this is none");
	return NULL;
}

typedef struct binop { const char *text; tsr_host_op op; enum { ARITH, FLOATS, COMPARE, LOGIC, TEXT } family; } binop;
static const binop binops[] = {
	{"+", TSR_HOP_ADD, ARITH}, {"-", TSR_HOP_SUB, ARITH}, {"*", TSR_HOP_MUL, ARITH}, {"/", TSR_HOP_IDIV, ARITH},
	{"%", TSR_HOP_MOD, ARITH}, {"+.", TSR_HOP_ADD, FLOATS}, {"-.", TSR_HOP_SUB, FLOATS}, {"*.", TSR_HOP_MUL, ARITH},
	{"/.", TSR_HOP_DIV, FLOATS}, {"**", TSR_HOP_POW, FLOATS}, {"**.", TSR_HOP_POW, FLOATS},
	{"<", TSR_HOP_LT, COMPARE}, {"<=", TSR_HOP_LE, COMPARE}, {">", TSR_HOP_GT, COMPARE}, {">=", TSR_HOP_GE, COMPARE},
	{"=", TSR_HOP_EQ, COMPARE}, {"<>", TSR_HOP_NE, COMPARE}, {"&&", TSR_HOP_AND, LOGIC}, {"||", TSR_HOP_OR, LOGIC},
	{"^", TSR_HOP_CONCAT, TEXT},
};

/* && and ||: when the right side needs statements, they run only where it is evaluated. */
static tsr_hexpr *logic(tsr_hlower *l, tsr_ast *e, tsr_host_op op)
{
	tsr_hexpr *a = tsr_hexpr_as(l, tsr_host_expr(l, e->binary.left), TSR_HOST_BOOL, "the left side");
	tsr_hstmts *outer = l->out, inner = {0};
	l->out = &inner;
	tsr_hexpr *b = tsr_hexpr_as(l, tsr_host_expr(l, e->binary.right), TSR_HOST_BOOL, "the right side");
	if (!a || !b) {
		l->out = outer;
		return NULL;
	}
	if (inner.n == 0) {
		l->out = outer;
		return tsr_hexpr_binary(l, op, TSR_HOST_BOOL, a, b, e->span);
	}
	tsr_var_id var = tsr_host_var(l, TSR_HOST_BOOL);
	tsr_hstmt *last = tsr_hstmt_add(l, TSR_H_SET, e->span);
	last->set.var = var;
	last->set.value = b;
	l->out = outer;
	tsr_hstmt *first = tsr_hstmt_add(l, TSR_H_SET, e->span);
	first->set.var = var;
	first->set.value = a;
	tsr_hstmt *s = tsr_hstmt_add(l, TSR_H_IF, e->span);
	tsr_hexpr *value = tsr_hexpr_var(l, var, e->span);
	s->iff.cond = op == TSR_HOP_AND ? value : tsr_hexpr_binary(l, TSR_HOP_NOT, TSR_HOST_BOOL, value, NULL, e->span);
	s->iff.then = TSR_NEW(l->arena, tsr_hstmt);
	s->iff.then->kind = TSR_H_SEQ;
	s->iff.then->seq = inner;
	return value;
}

static tsr_hexpr *text_compare(tsr_hlower *l, tsr_host_op op, tsr_hexpr *a, tsr_hexpr *b, tsr_span span)
{
	tsr_hexpr *args[] = {a, b};
	return tsr_hexpr_binary(l, op, TSR_HOST_BOOL, tsr_hexpr_call(l, TSR_HFUN_COMPARE, 2, args, span), tsr_hexpr_int(l, 0, span), span);
}

static tsr_hexpr *apply_binop(tsr_hlower *l, const binop *o, tsr_hexpr *a, tsr_hexpr *b, tsr_ast *e)
{
	if (o->family == TEXT) {
		a = tsr_hexpr_as(l, a, TSR_HOST_STRING, "the left side");
		b = tsr_hexpr_as(l, b, TSR_HOST_STRING, "the right side");
		tsr_hexpr *args[] = {a, b};
		return a && b ? tsr_hexpr_call(l, TSR_HFUN_CONCAT, 2, args, e->span) : NULL;
	}
	if (o->family == COMPARE && a->type == TSR_HOST_STRING && b->type == TSR_HOST_STRING)
		return text_compare(l, o->op, a, b, e->span);
	if (o->family == COMPARE && a->type == TSR_HOST_BOOL && b->type == TSR_HOST_BOOL && (o->op == TSR_HOP_EQ || o->op == TSR_HOP_NE))
		return tsr_hexpr_binary(l, o->op, TSR_HOST_BOOL, a, b, e->span);
	tsr_host_type type = o->family == FLOATS || a->type == TSR_HOST_FLOAT || b->type == TSR_HOST_FLOAT ? TSR_HOST_FLOAT : TSR_HOST_INT;
	a = tsr_hexpr_as(l, a, type, "the left side");
	b = tsr_hexpr_as(l, b, type, "the right side");
	if (!a || !b)
		return NULL;
	tsr_host_op op = o->op == TSR_HOP_IDIV && type == TSR_HOST_FLOAT ? TSR_HOP_DIV : o->op;
	return tsr_hexpr_binary(l, op, o->family == COMPARE ? TSR_HOST_BOOL : type, a, b, e->span);
}

static tsr_hexpr *binary(tsr_hlower *l, tsr_ast *e)
{
	const binop *o = NULL;
	for (size_t i = 0; i < sizeof binops / sizeof *binops && !o; i++)
		if (!strcmp(binops[i].text, e->binary.op))
			o = &binops[i];
	if (!o) {
		tsr_diag *d = tsr_report(l->tc, TSR_E_PROGRAM_TYPE, e->at, "`%s` works on tensors, not at the program level", e->binary.op);
		tsr_hint(l->tc, d, "name the tensor with let%%op and read its elements here");
		return NULL;
	}
	if (o->family == LOGIC)
		return logic(l, e, o->op);
	tsr_hexpr *a = tsr_host_expr(l, e->binary.left), *b = tsr_host_expr(l, e->binary.right);
	return a && b ? apply_binop(l, o, a, b, e) : NULL;
}

static tsr_hexpr *unary(tsr_hlower *l, tsr_ast *e)
{
	if (!strcmp(e->unary.op, "!"))
		return deref(l, e);
	bool negation = !strcmp(e->unary.op, "-");
	tsr_hexpr *a = tsr_host_expr(l, e->unary.e);
	if (!negation)
		a = tsr_hexpr_as(l, a, TSR_HOST_BOOL, "the operand of `not`");
	else if (a && a->type != TSR_HOST_INT)
		a = tsr_hexpr_as(l, a, TSR_HOST_FLOAT, "the operand of `-`");
	return a ? tsr_hexpr_binary(l, negation ? TSR_HOP_NEG : TSR_HOP_NOT, a->type, a, NULL, e->span) : NULL;
}

/* One branch of an `if` or a `match` as a list of statements that ends in a value. */
static tsr_hexpr *branch(tsr_hlower *l, tsr_ast *e, tsr_hstmts *list)
{
	tsr_hstmts *outer = l->out;
	l->out = list;
	tsr_hexpr *v = tsr_host_expr(l, e);
	l->out = outer;
	return v;
}

static tsr_hstmt *ending(tsr_hlower *l, tsr_hstmts *list, tsr_var_id var, tsr_hexpr *value)
{
	if (value->type != TSR_HOST_UNIT) {
		tsr_hstmts *outer = l->out;
		l->out = list;
		tsr_hstmt *s = tsr_hstmt_add(l, TSR_H_SET, value->span);
		s->set.var = var;
		s->set.value = value;
		l->out = outer;
	}
	tsr_hstmt *block = TSR_NEW(l->arena, tsr_hstmt);
	block->kind = TSR_H_SEQ;
	block->seq = *list;
	return block;
}

static tsr_hexpr *conditional(tsr_hlower *l, tsr_ast *e)
{
	tsr_hexpr *cond = tsr_hexpr_as(l, tsr_host_expr(l, e->iff.cond), TSR_HOST_BOOL, "the condition");
	tsr_hstmts yes = {0}, no = {0};
	tsr_hexpr *a = branch(l, e->iff.then, &yes);
	tsr_hexpr *b = e->iff.other ? branch(l, e->iff.other, &no) : unit(l, e->span);
	if (!cond || !a || !b)
		return NULL;
	if (a->type != b->type) {
		if (a->type == TSR_HOST_FLOAT)
			b = tsr_hexpr_as(l, b, TSR_HOST_FLOAT, e->iff.other ? "the `else` branch" : "a missing `else` branch");
		else
			a = tsr_hexpr_as(l, a, b->type, "the `then` branch");
		if (!a || !b)
			return NULL;
	}
	if (yes.n == 0 && no.n == 0 && a->type != TSR_HOST_UNIT) {
		tsr_hexpr *c = tsr_hexpr_new(l, TSR_H_COND, a->type, e->span);
		c->cond.cond = cond;
		c->cond.then = a;
		c->cond.other = b;
		return c;
	}
	tsr_var_id var = a->type == TSR_HOST_UNIT ? 0 : tsr_host_var(l, a->type);
	tsr_hstmt *s = tsr_hstmt_add(l, TSR_H_IF, e->span);
	s->iff.cond = cond;
	s->iff.then = ending(l, &yes, var, a);
	s->iff.other = e->iff.other ? ending(l, &no, var, b) : NULL;
	return a->type == TSR_HOST_UNIT ? unit(l, e->span) : tsr_hexpr_var(l, var, e->span);
}

static tsr_hexpr *apply(tsr_hlower *l, tsr_ast *e)
{
	bool known;
	tsr_hexpr *r = tsr_host_call(l, e, &known);
	if (known)
		return r;
	tsr_ref ref = tsr_host_resolve(l, e);
	if (ref.kind == TSR_REF_CONST)
		return ref.constant;
	if (ref.kind != TSR_REF_POISON)
		tsr_report(l->tc, TSR_E_PROGRAM_TYPE, e->span, "this application gives %s, and a value of the program level is needed",
			   ref.kind == TSR_REF_TENSOR ? "a tensor" : ref.kind == TSR_REF_CODE ? "code" : ref.what ? ref.what : "something else");
	return NULL;
}

static tsr_hexpr *constant(tsr_hlower *l, tsr_ast *e)
{
	tsr_hexpr *c;
	switch ((int)e->kind) {
	case TSR_AST_FLOAT:
		c = tsr_hexpr_new(l, TSR_H_FLOAT, TSR_HOST_FLOAT, e->span);
		c->real = e->real;
		return c;
	case TSR_AST_BOOL:
		c = tsr_hexpr_new(l, TSR_H_BOOL, TSR_HOST_BOOL, e->span);
		c->integer = e->integer;
		return c;
	default:
		return tsr_hexpr_int(l, e->integer, e->span);
	}
}

static tsr_hexpr *expr(tsr_hlower *l, tsr_ast *e)
{
	switch (e->kind) {
	case TSR_AST_INT: case TSR_AST_FLOAT: case TSR_AST_BOOL: return constant(l, e);
	case TSR_AST_STRING: return tsr_host_interpolate(l, e);
	case TSR_AST_NAME: return named(l, e);
	case TSR_AST_UNARY: return unary(l, e);
	case TSR_AST_BINARY: return binary(l, e);
	case TSR_AST_INDEX: return tsr_host_element(l, e);
	case TSR_AST_IF: return conditional(l, e);
	case TSR_AST_APPLY: return apply(l, e);
	case TSR_AST_POISON: return NULL;
	case TSR_AST_SEQ: case TSR_AST_LET: case TSR_AST_FOR: case TSR_AST_WHILE: case TSR_AST_STORE: case TSR_AST_SETREF:
	case TSR_AST_UNIT:
		return tsr_host_block_value(l, e);
	case TSR_AST_FIELD: {
		tsr_ref r = tsr_host_resolve(l, e);
		if (r.kind == TSR_REF_CONST)
			return r.constant;
		if (r.kind != TSR_REF_POISON) {
			tsr_diag *d = tsr_report(l->tc, TSR_E_PROGRAM_TYPE, e->span, "a number is needed here, and this is %s",
						 r.kind == TSR_REF_CODE ? "a piece of code" : "a tensor");
			tsr_hint(l->tc, d, r.kind == TSR_REF_CODE ? "run it: run x.forward" : "read one element: x.grad.(0)");
		}
		return NULL;
	}
	case TSR_AST_TUPLE: case TSR_AST_LIST: case TSR_AST_ARRAY: case TSR_AST_TAGGED: case TSR_AST_SPECOP: case TSR_AST_FUN:
	case TSR_AST_MATCH: case TSR_AST_DECL: case TSR_AST_ASSIGN: case TSR_AST_COMMENT: case TSR_AST_OPEN: case TSR_AST_EXPORT:
	case TSR_AST_KINDS: {
		tsr_diag *d = tsr_report(l->tc, TSR_E_PROGRAM_FORM, e->span, "this has no meaning at the program level");
		tsr_hint(l->tc, d, "define it above let%%main, with let, let%%op or let%%cd");
		return NULL;
	}
	}
	return NULL;
}

tsr_hexpr *tsr_host_expr(tsr_hlower *l, tsr_ast *e)
{
	if (l->depth > 500) {
		tsr_report(l->tc, TSR_E_PROGRAM_FORM, e->span, "the expression is nested too deeply");
		return NULL;
	}
	l->depth++;
	tsr_hexpr *r = expr(l, e);
	l->depth--;
	return r;
}
