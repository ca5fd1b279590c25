/* Application and operators.
 *
 * A string, a list of captures and ~logic:"..." that trail the right operand of an operator belong to the operator:
 *     a +* b "spec" [h]      a +* "spec" b      x ++ "spec" [c]      (a, b, c) +* "spec"      t =+ a * b ~logic:"@"
 * The grammar reads them as arguments of the right operand; here they are peeled off again, unless that operand is in
 * parentheses.  Which operators take a spec is told by tsr_op_takes(); every operator and assignment takes ~logic. */
#include "build.h"
#include "tessera.h"
#include <string.h>

tsr_takes tsr_op_takes(tsr_name op)
{
	static const char *const unary[] = {"++", "@^^", "@--", "++^"};
	static const char *const binary[] = {"+*", "+++", "@^+"};
	for (size_t i = 0; i < sizeof unary / sizeof *unary; i++)
		if (!strcmp(op, unary[i]))
			return TSR_TAKES_SPEC_UNARY;
	for (size_t i = 0; i < sizeof binary / sizeof *binary; i++)
		if (!strcmp(op, binary[i]))
			return TSR_TAKES_SPEC_BINARY;
	return TSR_TAKES_NOTHING;
}

/* The first part of a node that is made of parts, or NULL. */
static const tsr_ast *first_part(const tsr_ast *e)
{
	switch (e->kind) {
	case TSR_AST_APPLY: return e->apply.fn;
	case TSR_AST_BINARY: return e->binary.left;
	case TSR_AST_SPECOP: return e->specop.e;
	case TSR_AST_ASSIGN: return e->assign.target;
	case TSR_AST_STORE: return e->store.target;
	case TSR_AST_SETREF: return e->setref.target;
	case TSR_AST_FIELD: return e->field.e;
	case TSR_AST_INDEX: return e->index.e;
	case TSR_AST_TUPLE: case TSR_AST_SEQ: return e->items.at[0];
	case TSR_AST_UNIT: case TSR_AST_INT: case TSR_AST_FLOAT: case TSR_AST_BOOL: case TSR_AST_STRING: case TSR_AST_NAME:
	case TSR_AST_LIST: case TSR_AST_ARRAY: case TSR_AST_TAGGED: case TSR_AST_UNARY: case TSR_AST_FUN: case TSR_AST_LET:
	case TSR_AST_IF: case TSR_AST_MATCH: case TSR_AST_DECL: case TSR_AST_FOR:
	case TSR_AST_WHILE: case TSR_AST_COMMENT: case TSR_AST_OPEN: case TSR_AST_EXPORT: case TSR_AST_POISON: case TSR_AST_KINDS:
		break;
	}
	return NULL;
}

bool tsr_b_wrapped(const tsr_ast *e)
{
	const tsr_ast *first = first_part(e);
	return e->span.start < (first ? first->span.start : e->at.start);
}

/* ---- application */

tsr_args *tsr_b_args(tsr_parser *p, tsr_args *list, const tsr_arg *one)
{
	if (!list)
		list = TSR_NEW(p->tc->arena, tsr_args);
	tsr_push(p->tc->arena, list, *one);
	return list;
}

tsr_arg tsr_b_arg(tsr_parser *p, const tsr_token *label, tsr_ast *value)
{
	if (!label)
		return (tsr_arg){TSR_ARG_PLAIN, NULL, value, value->span};
	bool option = label->code == TK_OPTION || label->code == TK_OPTION_COLON;
	tsr_arg a = {option ? TSR_ARG_OPTION : TSR_ARG_LABEL, tsr_b_token_name(p, label), value, label->span};
	if (value) {
		a.span = tsr_span_join(label->span, value->span);
	} else {
		a.value = tsr_b_node(p, TSR_AST_NAME, label->span, label->span);
		a.value->name.name = a.label;
	}
	return a;
}

tsr_ast *tsr_b_apply(tsr_parser *p, tsr_ast *fn, tsr_args *args)
{
	if (fn->kind == TSR_AST_NAME && !fn->name.qualifier && !tsr_b_wrapped(fn) && !strcmp(fn->name.name, "not") &&
	    args->n == 1 && args->at[0].kind == TSR_ARG_PLAIN) {
		tsr_ast *u = tsr_b_node(p, TSR_AST_UNARY, tsr_span_join(fn->span, args->at[0].span), fn->span);
		u->unary.op = fn->name.name;
		u->unary.e = args->at[0].value;
		return u;
	}
	tsr_ast *e = tsr_b_node(p, TSR_AST_APPLY, tsr_span_join(fn->span, args->at[args->n - 1].span), fn->at);
	e->apply.fn = fn;
	memcpy(&e->apply.args, args, sizeof e->apply.args);
	return e;
}

tsr_ast *tsr_b_field(tsr_parser *p, tsr_ast *of, const tsr_token *name)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_FIELD, tsr_span_join(of->span, name->span), name->span);
	e->field.e = of;
	e->field.field = tsr_b_token_name(p, name);
	return e;
}

tsr_ast *tsr_b_index(tsr_parser *p, tsr_ast *of, tsr_ast *indices, const tsr_token *close)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_INDEX, tsr_span_join(of->span, close->span), indices->span);
	e->index.e = of;
	if (indices->kind == TSR_AST_TUPLE && !tsr_b_wrapped(indices))
		e->index.indices = indices->items;
	else
		tsr_push(p->tc->arena, &e->index.indices, indices);
	return e;
}

/* ---- what trails an operator */

/* A list of names, or of strings as the source documents write captures; the strings become names. */
static bool take_captures(tsr_parser *p, tsr_arg *a, tsr_trail *trail)
{
	if (a->kind != TSR_ARG_PLAIN || a->value->kind != TSR_AST_LIST || !a->value->items.n)
		return false;
	tsr_asts *items = &a->value->items;
	for (uint32_t i = 0; i < items->n; i++)
		if (items->at[i]->kind != TSR_AST_STRING && (items->at[i]->kind != TSR_AST_NAME || items->at[i]->name.qualifier))
			return false;
	for (uint32_t i = 0; i < items->n; i++) {
		if (items->at[i]->kind == TSR_AST_STRING) {
			tsr_ast *name = tsr_b_node(p, TSR_AST_NAME, items->at[i]->span, items->at[i]->span);
			name->name.name = tsr_intern_n(p->tc->names, items->at[i]->string.text, items->at[i]->string.size);
			items->at[i] = name;
		}
	}
	trail->captures = a->value;
	return true;
}

static void take_spec(tsr_ast *string, tsr_trail *trail)
{
	trail->spec = string->string.text;
	trail->spec_span = string->at;
}

static bool is_string(const tsr_arg *a)
{
	return a->kind == TSR_ARG_PLAIN && a->value->kind == TSR_AST_STRING;
}

static void peel_logic(tsr_ast *call, tsr_trail *trail)
{
	while (call->apply.args.n) {
		tsr_arg *a = &call->apply.args.at[call->apply.args.n - 1];
		if (a->kind != TSR_ARG_LABEL || strcmp(a->label, "logic") || a->value->kind != TSR_AST_STRING)
			return;
		trail->logic = a->value->string.text;
		trail->logic_span = a->value->at;
		call->apply.args.n--;
	}
}

/* "spec" [captures] operand args.. */
static void peel_front(tsr_parser *p, tsr_ast *call, bool one_operand, tsr_trail *trail)
{
	take_spec(call->apply.fn, trail);
	tsr_arg *at = call->apply.args.at;
	uint32_t n = call->apply.args.n;
	call->apply.fn = NULL;
	if (n && (n > 1 || one_operand) && take_captures(p, &at[0], trail))
		at++, n--;
	if (n > 1 && !trail->captures && take_captures(p, &at[n - 1], trail))
		n--;
	if (n && at[0].kind == TSR_ARG_PLAIN) {
		call->apply.fn = at[0].value;
		call->at = at[0].value->at;
		call->span.start = at[0].span.start;
		at++, n--;
	}
	call->apply.args.at = at;
	call->apply.args.n = call->apply.args.cap = n;
}

/* operand args.. "spec" [captures] */
static void peel_back(tsr_parser *p, tsr_ast *call, tsr_trail *trail)
{
	tsr_arg *at = call->apply.args.at;
	uint32_t n = call->apply.args.n;
	if (n > 1 && is_string(&at[n - 2]) && take_captures(p, &at[n - 1], trail))
		n--;
	if (n && is_string(&at[n - 1]))
		take_spec(at[--n].value, trail);
	call->apply.args.n = n;
}

/* Takes what belongs to the operator off its right operand; NULL when nothing of the operand is left. */
static tsr_ast *peel(tsr_parser *p, tsr_ast *right, tsr_takes takes, bool one_operand, tsr_trail *trail)
{
	if (right->kind == TSR_AST_STRING && takes != TSR_TAKES_NOTHING) {
		take_spec(right, trail);
		return NULL;
	}
	if (right->kind != TSR_AST_APPLY || tsr_b_wrapped(right))
		return right;
	peel_logic(right, trail);
	if (takes != TSR_TAKES_NOTHING) {
		if (right->apply.fn->kind == TSR_AST_STRING)
			peel_front(p, right, one_operand, trail);
		else
			peel_back(p, right, trail);
	}
	if (right->apply.args.n) {
		if (!right->apply.fn)        /* only labelled arguments are left */
			return right->apply.args.at[0].value;
		right->span.end = right->apply.args.at[right->apply.args.n - 1].span.end;
		return right;
	}
	return right->apply.fn;
}

/* ---- operators */

/* The names of OCaml's float operators are accepted. */
static tsr_name op_name(tsr_parser *p, const tsr_token *op)
{
	if (tsr_token_is(op, "+.") || tsr_token_is(op, "-.") || tsr_token_is(op, "~-") || tsr_token_is(op, "~-."))
		return tsr_intern(p->tc->names, tsr_token_is(op, "+.") ? "+" : "-");
	return tsr_b_token_name(p, op);
}

tsr_ast *tsr_b_unary(tsr_parser *p, const tsr_token *op, tsr_ast *of)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_UNARY, tsr_span_join(op->span, of->span), op->span);
	e->unary.op = op_name(p, op);
	e->unary.e = of;
	return e;
}

/* `x ++ spec` with a spec that the configuration computes is `( ++ ) x ~spec`. */
static tsr_ast *computed_spec(tsr_parser *p, tsr_ast *left, const tsr_token *op, tsr_ast *right, tsr_span span)
{
	if (right->kind != TSR_AST_NAME && !tsr_b_wrapped(right)) {
		tsr_diag *d = tsr_report(p->tc, TSR_E_MISSING_SPEC, op->span, "`%.*s` takes one operand, on its left, and a spec",
		                         (int)tsr_token_size(op), op->text);
		tsr_hint(p->tc, d, "x %.*s \"i => \"; a spec that is computed stands in parentheses", (int)tsr_token_size(op), op->text);
		return tsr_b_node(p, TSR_AST_POISON, span, op->span);
	}
	tsr_args *args = TSR_NEW(p->tc->arena, tsr_args);
	tsr_push(p->tc->arena, args, ((tsr_arg){TSR_ARG_PLAIN, NULL, left, left->span}));
	tsr_push(p->tc->arena, args, ((tsr_arg){TSR_ARG_LABEL, tsr_intern(p->tc->names, "spec"), right, right->span}));
	tsr_ast *e = tsr_b_node(p, TSR_AST_APPLY, span, op->span);
	e->apply.fn = tsr_b_name(p, NULL, op);
	memcpy(&e->apply.args, args, sizeof e->apply.args);
	return e;
}

static tsr_ast *one_operand(tsr_parser *p, tsr_ast *e, const tsr_token *op, const tsr_trail *trail, tsr_span span)
{
	tsr_ast *s = tsr_b_node(p, TSR_AST_SPECOP, span, op->span);
	s->specop.op = op_name(p, op);
	s->specop.e = e;
	s->specop.trail = *trail;
	return s;
}

tsr_ast *tsr_b_binary(tsr_parser *p, tsr_ast *left, const tsr_token *op, tsr_ast *right)
{
	tsr_span span = tsr_span_join(left->span, right->span);
	tsr_takes takes = tsr_op_takes(op_name(p, op));
	bool several = left->kind == TSR_AST_TUPLE;
	tsr_trail trail = {0};
	right = peel(p, right, takes, takes == TSR_TAKES_SPEC_UNARY || several, &trail);
	if (takes == TSR_TAKES_SPEC_UNARY) {
		if (!trail.spec)
			return computed_spec(p, left, op, right, span);
		if (right) {
			tsr_diag *d = tsr_report(p->tc, TSR_E_SYNTAX, right->span, "`%.*s` takes one operand, on its left, and a spec",
			                         (int)tsr_token_size(op), op->text);
			tsr_hint(p->tc, d, "two operands are combined by `+*`, `+++` or `@^+`");
		}
		return one_operand(p, left, op, &trail, span);
	}
	if (!right) {
		if (several)
			return one_operand(p, left, op, &trail, span);
		tsr_diag *d = tsr_report(p->tc, TSR_E_SYNTAX, op->span, "`%.*s` has no right operand", (int)tsr_token_size(op), op->text);
		tsr_hint(p->tc, d, "write `a %.*s b \"spec\"`; a sum of one operand is `a ++ \"spec\"`; more operands are a tuple",
		         (int)tsr_token_size(op), op->text);
		return tsr_b_node(p, TSR_AST_POISON, span, op->span);
	}
	tsr_ast *e = tsr_b_node(p, TSR_AST_BINARY, span, op->span);
	e->binary.op = op_name(p, op);
	e->binary.left = left;
	e->binary.right = right;
	e->binary.trail = trail;
	return e;
}

tsr_ast *tsr_b_assign(tsr_parser *p, tsr_ast *target, const tsr_token *op, tsr_ast *value)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_ASSIGN, tsr_span_join(target->span, value->span), op->span);
	size_t n = tsr_token_size(op);
	bool colon = op->text[1] == ':';
	e->assign.accum = n == 2 ? tsr_intern_n(p->tc->names, op->text + 1, 1)
	                         : tsr_intern_n(p->tc->names, op->text + 1 + colon, n - 1 - colon);
	e->assign.colon = colon && n > 2;
	e->assign.target = target;
	e->assign.value = peel(p, value, TSR_TAKES_NOTHING, false, &e->assign.trail);
	return e;
}

tsr_ast *tsr_b_store(tsr_parser *p, tsr_ast *target, const tsr_token *op, tsr_ast *value)
{
	tsr_span span = tsr_span_join(target->span, value->span);
	if (target->kind != TSR_AST_INDEX && target->kind != TSR_AST_POISON) {
		tsr_diag *d = tsr_report(p->tc, TSR_E_SYNTAX, op->span, "`<-` writes an element, and there is none on its left");
		if (op->span.end == value->span.start)
			tsr_hint(p->tc, d, "an element is written `t.(i) <- e`; to compare with a negative number put a space: `< -`");
		else
			tsr_hint(p->tc, d, "an element is written `t.(i) <- e`; a variable `x := e`");
		return tsr_b_node(p, TSR_AST_POISON, span, op->span);
	}
	tsr_ast *e = tsr_b_node(p, TSR_AST_STORE, span, op->span);
	e->store.target = target;
	e->store.value = value;
	return e;
}

tsr_ast *tsr_b_setref(tsr_parser *p, tsr_ast *target, const tsr_token *op, tsr_ast *value)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_SETREF, tsr_span_join(target->span, value->span), op->span);
	e->setref.target = target;
	e->setref.value = value;
	return e;
}
