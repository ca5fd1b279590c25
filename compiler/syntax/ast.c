/* The constructors of the syntax tree that the grammar's actions call: items, parameters, patterns, leaves, literals
 * and control.  Application and operators, which look at what trails them, are in operate.c.
 *
 * Each constructor computes the node's span and keeps what was written; the few that refuse something say so and give
 * POISON, or the nearest thing that lets the rest of the item be read. */
#include "build.h"
#include "tessera.h"
#include <string.h>

tsr_ast *tsr_b_node(tsr_parser *p, tsr_ast_kind kind, tsr_span span, tsr_span at)
{
	tsr_ast *e = TSR_NEW(p->tc->arena, tsr_ast);
	e->kind = kind;
	e->span = span;
	e->at = at;
	return e;
}

tsr_name tsr_b_token_name(tsr_parser *p, const tsr_token *t)
{
	const char *s = t->text;
	size_t n = tsr_token_size(t);
	while (n && (*s == '~' || *s == '?') && n > 1 && s[1] != '-')     /* the marks of labels */
		s++, n--;
	if (t->code == TK_LABEL_COLON || t->code == TK_OPTION_COLON)
		n--;
	return tsr_intern_n(p->tc->names, s, n);
}

static tsr_level level_of(const tsr_token *t)
{
	const char *mark = memchr(t->text, '%', tsr_token_size(t));
	if (!mark)
		return TSR_LEVEL_CONFIG;
	return mark[1] == 'o' ? TSR_LEVEL_OP : mark[1] == 'c' ? TSR_LEVEL_CD : TSR_LEVEL_MAIN;
}

/* ---- items */

void tsr_b_expression(tsr_parser *p, tsr_ast *e)
{
	p->expression = e;
}

void tsr_b_item(tsr_parser *p, tsr_ast *item)
{
	item = tsr_placed(p->tc, item);
	tsr_push(p->tc->arena, &p->module->items, item);
}

tsr_ast *tsr_b_let(tsr_parser *p, const tsr_token *let, bool rec, tsr_lhs *lhs, tsr_ast *value, tsr_ast *body)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_LET, tsr_span_join(let->span, body ? body->span : value->span), lhs->pat->span);
	e->let.level = level_of(let);
	e->let.rec = rec;
	e->let.pat = lhs->pat;
	if (lhs->params)
		memcpy(&e->let.params, lhs->params, sizeof e->let.params);
	e->let.value = value;
	e->let.body = body;
	return e;
}

tsr_ast *tsr_b_export(tsr_parser *p, const tsr_token *let, const tsr_token *name, tsr_params *params, tsr_ast *body)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_EXPORT, tsr_span_join(let->span, body->span), name->span);
	e->export.name = tsr_b_token_name(p, name);
	memcpy(&e->export.params, params, sizeof e->export.params);
	e->export.body = body;
	return e;
}

tsr_ast *tsr_b_open(tsr_parser *p, const tsr_token *open, const tsr_token *name)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_OPEN, tsr_span_join(open->span, name->span), name->span);
	e->open.module = tsr_b_token_name(p, name);
	return e;
}

tsr_lhs *tsr_b_lhs(tsr_parser *p, tsr_pat *pat, tsr_params *params)
{
	tsr_lhs *l = TSR_NEW(p->tc->arena, tsr_lhs);
	if (params && pat->kind != TSR_PAT_NAME) {
		tsr_diag *d = tsr_report(p->tc, TSR_E_SYNTAX, pat->span, "only a name can be followed by parameters");
		if (pat->kind == TSR_PAT_SOME || pat->kind == TSR_PAT_NONE)
			tsr_hint(p->tc, d, "put the pattern in parentheses");
		params = NULL;
	}
	l->pat = pat;
	l->params = params;
	return l;
}

/* ---- parameters */

tsr_params *tsr_b_params(tsr_parser *p, tsr_params *list, const tsr_param *one)
{
	if (!list)
		list = TSR_NEW(p->tc->arena, tsr_params);
	tsr_push(p->tc->arena, list, *one);
	return list;
}

tsr_param tsr_b_param_plain(tsr_parser *p, tsr_pat *pat)
{
	(void)p;
	return (tsr_param){.kind = TSR_ARG_PLAIN, .pat = pat, .span = pat->span};
}

tsr_param tsr_b_param_typed(tsr_parser *p, const tsr_token *open, tsr_pat *pat, const tsr_param *ann, const tsr_token *close)
{
	(void)p;
	tsr_param q = *ann;
	q.kind = TSR_ARG_PLAIN;
	q.pat = pat;
	q.span = tsr_span_join(open->span, close->span);
	return q;
}

tsr_param tsr_b_param_named(tsr_parser *p, const tsr_token *label, tsr_pat *pat, tsr_ast *deflt)
{
	bool option = label->code == TK_OPTION || label->code == TK_OPTION_COLON;
	tsr_param q = {.kind = option ? TSR_ARG_OPTION : TSR_ARG_LABEL, .label = tsr_b_token_name(p, label)};
	if (!pat) {
		pat = tsr_b_pat(p, TSR_PAT_NAME, label->span);
		pat->name = q.label;
	}
	q.pat = pat;
	q.deflt = deflt;
	q.span = tsr_span_join(label->span, deflt ? deflt->span : pat->span);
	return q;
}

tsr_param tsr_b_param_option(tsr_parser *p, const tsr_token *open, const tsr_token *name, tsr_ast *deflt, const tsr_token *close)
{
	return (tsr_param){.kind = TSR_ARG_OPTION, .label = tsr_b_token_name(p, name), .pat = tsr_b_pat_name(p, name),
	                   .deflt = deflt, .span = tsr_span_join(open->span, close->span)};
}

tsr_param tsr_b_param_label(tsr_parser *p, const tsr_token *open, const tsr_token *name, const tsr_param *ann, const tsr_token *close)
{
	tsr_param q = *ann;
	q.kind = TSR_ARG_LABEL;
	q.label = tsr_b_token_name(p, name);
	q.pat = tsr_b_pat_name(p, name);
	q.span = tsr_span_join(open->span, close->span);
	return q;
}

tsr_param tsr_b_annotation(tsr_parser *p, const tsr_token *text, const tsr_token *prec)
{
	tsr_param q = {.kind = TSR_ARG_PLAIN};
	if (text)
		q.annotation = tsr_token_string(p->tc, text, NULL, &q.annotation_span);
	if (prec)
		q.prec = tsr_b_token_name(p, prec);
	return q;
}

/* ---- patterns */

tsr_pat *tsr_b_pat(tsr_parser *p, tsr_pat_kind kind, tsr_span span)
{
	tsr_pat *q = TSR_NEW(p->tc->arena, tsr_pat);
	q->kind = kind;
	q->span = span;
	return q;
}

tsr_pat *tsr_b_pat_add(tsr_parser *p, tsr_pat *list, tsr_pat *item)
{
	tsr_push(p->tc->arena, &list->items, item);
	list->span = tsr_span_join(list->span, item->span);
	return list;
}

tsr_pat *tsr_b_pat_close(tsr_parser *p, const tsr_token *open, tsr_pat *list, const tsr_token *close)
{
	(void)p;
	list->span = tsr_span_join(open->span, close->span);
	return list;
}

tsr_pat *tsr_b_pat_two(tsr_parser *p, tsr_pat_kind kind, tsr_pat *left, const tsr_token *op, tsr_pat *right)
{
	(void)op;
	tsr_pat *q = tsr_b_pat(p, kind, tsr_span_join(left->span, right->span));
	tsr_push(p->tc->arena, &q->items, left);
	tsr_push(p->tc->arena, &q->items, right);
	return q;
}

tsr_pat *tsr_b_pat_some(tsr_parser *p, const tsr_token *some, tsr_pat *item)
{
	tsr_pat *q = tsr_b_pat(p, TSR_PAT_SOME, tsr_span_join(some->span, item->span));
	tsr_push(p->tc->arena, &q->items, item);
	return q;
}

tsr_pat *tsr_b_pat_name(tsr_parser *p, const tsr_token *name)
{
	tsr_pat *q = tsr_b_pat(p, TSR_PAT_NAME, name->span);
	q->name = tsr_b_token_name(p, name);
	return q;
}

tsr_pat *tsr_b_pat_int(tsr_parser *p, const tsr_token *minus, const tsr_token *t)
{
	tsr_pat *q = tsr_b_pat(p, TSR_PAT_INT, minus ? tsr_span_join(minus->span, t->span) : t->span);
	q->value = tsr_token_int(p->tc, t);
	if (minus)
		q->value = -q->value;
	return q;
}

tsr_pat *tsr_b_pat_bool(tsr_parser *p, const tsr_token *t)
{
	tsr_pat *q = tsr_b_pat(p, TSR_PAT_BOOL, t->span);
	q->value = tsr_token_is(t, "true");
	return q;
}

tsr_pat *tsr_b_pat_string(tsr_parser *p, const tsr_token *t)
{
	tsr_pat *q = tsr_b_pat(p, TSR_PAT_STRING, t->span);
	q->text = tsr_token_string(p->tc, t, NULL, NULL);
	return q;
}

/* ---- leaves */

tsr_ast *tsr_b_int(tsr_parser *p, const tsr_token *t)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_INT, t->span, t->span);
	e->integer = tsr_token_int(p->tc, t);
	return e;
}

tsr_ast *tsr_b_float(tsr_parser *p, const tsr_token *t)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_FLOAT, t->span, t->span);
	e->real = tsr_token_float(p->tc, t);
	return e;
}

tsr_ast *tsr_b_bool(tsr_parser *p, const tsr_token *t)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_BOOL, t->span, t->span);
	e->integer = tsr_token_is(t, "true");
	return e;
}

tsr_ast *tsr_b_string(tsr_parser *p, const tsr_token *t)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_STRING, t->span, t->span);
	e->string.text = tsr_token_string(p->tc, t, &e->string.size, &e->at);
	return e;
}

tsr_ast *tsr_b_name(tsr_parser *p, const tsr_token *qualifier, const tsr_token *name)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_NAME, qualifier ? tsr_span_join(qualifier->span, name->span) : name->span, name->span);
	e->name.qualifier = qualifier ? tsr_b_token_name(p, qualifier) : NULL;
	e->name.name = tsr_b_token_name(p, name);
	return e;
}

tsr_ast *tsr_b_unit(tsr_parser *p, const tsr_token *open, const tsr_token *close)
{
	tsr_span span = tsr_span_join(open->span, close->span);
	return tsr_b_node(p, TSR_AST_UNIT, span, span);
}

/* ---- sequences, tuples, literals */

tsr_ast *tsr_b_list(tsr_parser *p, tsr_ast_kind kind, tsr_ast *list, tsr_ast *item)
{
	if (!list)
		list = tsr_b_node(p, kind, item->span, item->span);
	list->span = tsr_span_join(list->span, item->span);
	tsr_push(p->tc->arena, &list->items, item);
	return list;
}

tsr_ast *tsr_b_seq(tsr_parser *p, tsr_ast *list)
{
	(void)p;
	return list->items.n == 1 ? list->items.at[0] : list;
}

tsr_ast *tsr_b_items(tsr_parser *p, tsr_ast_kind kind, const tsr_token *open, tsr_ast *list, const tsr_token *close)
{
	if (!list)
		list = tsr_b_node(p, kind, open->span, open->span);
	list->kind = kind;
	list->span = list->at = tsr_span_join(open->span, close->span);
	return list;
}

tsr_ast *tsr_b_close(tsr_parser *p, const tsr_token *open, tsr_ast *e, const tsr_token *close)
{
	(void)p;
	e->span = tsr_span_join(open->span, close->span);
	return e;
}

tsr_ast *tsr_b_tagged(tsr_parser *p, tsr_ast *e, const tsr_token *tag)
{
	tsr_ast *t = tsr_b_node(p, TSR_AST_TAGGED, tsr_span_join(e->span, tag->span), tag->span);
	t->tagged.e = e;
	if (tag->code == TK_STRING)
		t->tagged.annotation = tsr_token_string(p->tc, tag, NULL, &t->at);
	else
		t->tagged.tag = tsr_b_token_name(p, tag);
	return t;
}

tsr_ast *tsr_b_decl(tsr_parser *p, const tsr_token *name, tsr_ast *init, const tsr_token *prec)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_DECL, name->span, name->span);
	e->decl.name = tsr_b_token_name(p, name);
	e->decl.init = init;
	e->decl.prec = prec ? tsr_b_token_name(p, prec) : NULL;
	return e;
}

tsr_ast *tsr_b_decl_axes(tsr_parser *p, tsr_ast *decl, const tsr_token *kind, tsr_ast *axes)
{
	static const char letters[TSR_KINDS] = {[TSR_BATCH] = 'b', [TSR_INPUT] = 'i', [TSR_OUTPUT] = 'o'};
	for (int k = 0; k < TSR_KINDS; k++) {
		if (tsr_token_size(kind) != 1 || kind->text[0] != letters[k])
			continue;
		if (decl->decl.axes[k]) {
			tsr_diag *d = tsr_report(p->tc, TSR_E_SYNTAX, kind->span, "the axes `%c` of `%s` are given twice", letters[k], decl->decl.name);
			tsr_note_at(p->tc, d, decl->decl.axes[k]->span, "here for the first time");
		} else if (axes->kind != TSR_AST_LIST) {
			tsr_diag *d = tsr_report(p->tc, TSR_E_SYNTAX, axes->span, "the axes of a declaration are a list");
			tsr_hint(p->tc, d, "one axis of size 64 is written `%c = [64]`", letters[k]);
		} else {
			decl->decl.axes[k] = axes;
		}
		return decl;
	}
	tsr_diag *d = tsr_report(p->tc, TSR_E_SYNTAX, kind->span, "a declaration has no field `%.*s`", (int)tsr_token_size(kind), kind->text);
	tsr_hint(p->tc, d, "after the name come `o = [..]` (output axes), `i = [..]` (input axes) and `b = [..]` (batch axes)");
	return decl;
}

/* ~~("text" tensor "text"; code): the texts are written like an application. */
tsr_ast *tsr_b_note(tsr_parser *p, const tsr_token *open, tsr_ast *body, const tsr_token *close)
{
	tsr_span span = tsr_span_join(open->span, close->span);
	tsr_ast *first = body->kind == TSR_AST_SEQ ? body->items.at[0] : body;
	tsr_ast *head = first->kind == TSR_AST_APPLY ? first->apply.fn : first;
	if (body->kind != TSR_AST_SEQ || head->kind != TSR_AST_STRING) {
		tsr_diag *d = tsr_report(p->tc, TSR_E_SYNTAX, body->span, "a block comment is a text and then code");
		tsr_hint(p->tc, d, "~~(\"what it does\"; code)");
		return tsr_b_node(p, TSR_AST_POISON, span, span);
	}
	tsr_ast *e = tsr_b_node(p, TSR_AST_COMMENT, span, open->span);
	tsr_push(p->tc->arena, &e->comment.text, head);
	if (first->kind == TSR_AST_APPLY)
		for (uint32_t i = 0; i < first->apply.args.n; i++)
			tsr_push(p->tc->arena, &e->comment.text, first->apply.args.at[i].value);
	tsr_ast *code = tsr_b_list(p, TSR_AST_SEQ, NULL, body->items.at[1]);
	for (uint32_t i = 2; i < body->items.n; i++)
		tsr_b_list(p, TSR_AST_SEQ, code, body->items.at[i]);
	e->comment.code = tsr_b_seq(p, code);
	return e;
}

/* ---- functions and control */

tsr_ast *tsr_b_fun(tsr_parser *p, const tsr_token *fun, tsr_params *params, tsr_ast *body)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_FUN, tsr_span_join(fun->span, body->span), fun->span);
	e->fun.level = level_of(fun);
	memcpy(&e->fun.params, params, sizeof e->fun.params);
	e->fun.body = body;
	return e;
}

/* `function cases` is a function of one parameter, which no program can name, that matches it. */
tsr_ast *tsr_b_function(tsr_parser *p, const tsr_token *t, tsr_cases *cases)
{
	tsr_name name = tsr_intern(p->tc->names, "(argument)");
	tsr_pat *pat = tsr_b_pat(p, TSR_PAT_NAME, t->span);
	pat->name = name;
	tsr_param param = tsr_b_param_plain(p, pat);
	tsr_ast *subject = tsr_b_node(p, TSR_AST_NAME, t->span, t->span);
	subject->name.name = name;
	tsr_ast *e = tsr_b_fun(p, t, tsr_b_params(p, NULL, &param), tsr_b_match(p, t, subject, cases));
	e->fun.level = TSR_LEVEL_CONFIG;
	return e;
}

tsr_ast *tsr_b_match(tsr_parser *p, const tsr_token *t, tsr_ast *subject, tsr_cases *cases)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_MATCH, tsr_span_join(t->span, cases->at[cases->n - 1].body->span), t->span);
	e->match.subject = subject;
	memcpy(&e->match.cases, cases, sizeof e->match.cases);
	return e;
}

tsr_cases *tsr_b_cases(tsr_parser *p, tsr_cases *list, const tsr_case *one)
{
	if (!list)
		list = TSR_NEW(p->tc->arena, tsr_cases);
	tsr_push(p->tc->arena, list, *one);
	return list;
}

tsr_ast *tsr_b_if(tsr_parser *p, const tsr_token *t, tsr_ast *cond, tsr_ast *then, tsr_ast *other)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_IF, tsr_span_join(t->span, other ? other->span : then->span), t->span);
	e->iff.cond = cond;
	e->iff.then = then;
	e->iff.other = other;
	return e;
}

tsr_ast *tsr_b_for(tsr_parser *p, const tsr_token *t, tsr_pat *pat, tsr_ast *from, const tsr_token *dir, tsr_ast *last,
                   tsr_ast *body, const tsr_token *done)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_FOR, tsr_span_join(t->span, done->span), pat->span);
	e->loop.pat = pat;
	e->loop.body = body;
	if (!dir) {
		e->loop.list = last;
		return e;
	}
	if (pat->kind != TSR_PAT_NAME && pat->kind != TSR_PAT_ANY) {
		tsr_report(p->tc, TSR_E_SYNTAX, pat->span, "a loop over numbers counts with a name");
		pat->kind = TSR_PAT_ANY;
	}
	e->loop.from = from;
	e->loop.to = last;
	e->loop.down = tsr_token_is(dir, "downto");
	return e;
}

tsr_ast *tsr_b_while(tsr_parser *p, const tsr_token *t, tsr_ast *cond, tsr_ast *body, const tsr_token *done)
{
	tsr_ast *e = tsr_b_node(p, TSR_AST_WHILE, tsr_span_join(t->span, done->span), t->span);
	e->whil.cond = cond;
	e->whil.body = body;
	return e;
}
