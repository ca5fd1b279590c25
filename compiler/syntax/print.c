/* --dump=ast: the tree as s-expressions, one item after another.  A node is (name parts..); what fits a line stands on
 * one line.  A dump shows everything but places, so two programs with one dump mean the same. */
#include "ast.h"
#include "../base/text.h"
#include <string.h>

typedef struct sx sx;
struct sx { const char *atom; TSR_VEC(sx *) kids; size_t width; };

typedef struct printer { tsr_arena *arena; tsr_compiler *tc; FILE *out; } printer;

enum { LINE = 110 };

static sx *atom(printer *pr, const char *text)
{
	sx *s = TSR_NEW(pr->arena, sx);
	s->atom = text;
	s->width = strlen(text);
	return s;
}

static sx *list(printer *pr, const char *head)
{
	sx *s = TSR_NEW(pr->arena, sx);
	s->width = 1;
	if (head) {
		sx *h = atom(pr, head);
		tsr_push(pr->arena, &s->kids, h);
		s->width += h->width + 1;
	}
	return s;
}

static void add(printer *pr, sx *to, sx *kid)
{
	tsr_push(pr->arena, &to->kids, kid);
	to->width += kid->width + 1;
}

static void layout(printer *pr, const sx *s, size_t indent)
{
	if (s->atom) {
		fputs(s->atom, pr->out);
		return;
	}
	bool flat = indent + s->width <= LINE, atoms = true;     /* a broken node keeps its leading atoms on the first line */
	fputc('(', pr->out);
	for (uint32_t i = 0; i < s->kids.n; i++) {
		atoms &= s->kids.at[i]->atom != NULL;
		bool same_line = flat || i == 0 || atoms;
		if (i && same_line)
			fputc(' ', pr->out);
		else if (i)
			fprintf(pr->out, "\n%*s", (int)indent + 2, "");
		layout(pr, s->kids.at[i], indent + 2);
	}
	fputc(')', pr->out);
}

static const char *quoted(printer *pr, const char *s, size_t n)
{
	tsr_text t;
	tsr_text_init(&t, pr->arena);
	tsr_text_char(&t, '"');
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c == '"' || c == '\\')
			tsr_text_addf(&t, "\\%c", c);
		else if (c == '\n')
			tsr_text_add(&t, "\\n");
		else if (c < 32 || c == 127)
			tsr_text_addf(&t, "\\x%02x", c);
		else
			tsr_text_char(&t, (char)c);
	}
	tsr_text_char(&t, '"');
	return tsr_text_str(&t);
}

static sx *node(printer *pr, const tsr_ast *e);

static sx *nodes(printer *pr, const char *head, const tsr_asts *items)
{
	sx *s = list(pr, head);
	for (uint32_t i = 0; i < items->n; i++)
		add(pr, s, node(pr, items->at[i]));
	return s;
}

static sx *pattern(printer *pr, const tsr_pat *p)
{
	const char *head = NULL;
	switch (p->kind) {
	case TSR_PAT_ANY: return atom(pr, "_");
	case TSR_PAT_NAME: return atom(pr, p->name);
	case TSR_PAT_UNIT: return atom(pr, "()");
	case TSR_PAT_INT: return atom(pr, tsr_format(pr->arena, "%lld", (long long)p->value));
	case TSR_PAT_BOOL: return atom(pr, p->value ? "true" : "false");
	case TSR_PAT_STRING: return atom(pr, quoted(pr, p->text, strlen(p->text)));
	case TSR_PAT_NONE: return atom(pr, "None");
	case TSR_PAT_TUPLE: head = "tuple"; break;
	case TSR_PAT_LIST: head = "list"; break;
	case TSR_PAT_CONS: head = "::"; break;
	case TSR_PAT_SOME: head = "Some"; break;
	case TSR_PAT_OR: head = "|"; break;
	}
	sx *s = list(pr, head);
	for (uint32_t i = 0; i < p->items.n; i++)
		add(pr, s, pattern(pr, p->items.at[i]));
	return s;
}

static sx *param(printer *pr, const tsr_param *p)
{
	sx *pat = pattern(pr, p->pat);
	bool punned = p->label && p->pat->kind == TSR_PAT_NAME && p->pat->name == p->label;
	const char *mark = p->kind == TSR_ARG_LABEL ? "~" : "?";
	sx *head = p->kind == TSR_ARG_PLAIN ? pat : atom(pr, tsr_format(pr->arena, "%s%s", mark, p->label));
	if (!p->deflt && !p->annotation && !p->prec && (p->kind == TSR_ARG_PLAIN || punned))
		return head;
	sx *s = list(pr, NULL);
	add(pr, s, head);
	if (p->kind != TSR_ARG_PLAIN && !punned)
		add(pr, s, pat);
	if (p->deflt) {
		add(pr, s, atom(pr, "="));
		add(pr, s, node(pr, p->deflt));
	}
	if (p->annotation)
		add(pr, s, atom(pr, quoted(pr, p->annotation, strlen(p->annotation))));
	if (p->prec)
		add(pr, s, atom(pr, tsr_format(pr->arena, ":%s", p->prec)));
	return s;
}

static sx *params(printer *pr, const tsr_param *at, uint32_t n)
{
	sx *s = list(pr, NULL);
	for (uint32_t i = 0; i < n; i++)
		add(pr, s, param(pr, &at[i]));
	return s;
}

static void trail(printer *pr, sx *s, const tsr_trail *t)
{
	if (t->spec)
		add(pr, s, atom(pr, tsr_format(pr->arena, "spec:%s", quoted(pr, t->spec, strlen(t->spec)))));
	if (t->captures)
		add(pr, s, nodes(pr, "captures", &t->captures->items));
	if (t->logic)
		add(pr, s, atom(pr, tsr_format(pr->arena, "logic:%s", quoted(pr, t->logic, strlen(t->logic)))));
}

static sx *apply(printer *pr, const tsr_ast *e)
{
	sx *s = list(pr, "apply");
	add(pr, s, node(pr, e->apply.fn));
	for (uint32_t i = 0; i < e->apply.args.n; i++) {
		const tsr_arg *a = &e->apply.args.at[i];
		sx *value = node(pr, a->value);
		if (a->kind != TSR_ARG_PLAIN) {
			sx *labelled = list(pr, tsr_format(pr->arena, "%s%s", a->kind == TSR_ARG_LABEL ? "~" : "?", a->label));
			add(pr, labelled, value);
			value = labelled;
		}
		add(pr, s, value);
	}
	return s;
}

static const char *level_name(tsr_level level)
{
	switch (level) {
	case TSR_LEVEL_CONFIG: return "";
	case TSR_LEVEL_OP: return "%op";
	case TSR_LEVEL_CD: return "%cd";
	case TSR_LEVEL_MAIN: return "%main";
	}
	return "";
}

static sx *let(printer *pr, const tsr_ast *e)
{
	sx *s = list(pr, tsr_format(pr->arena, "let%s%s", level_name(e->let.level), e->let.rec ? " rec" : ""));
	add(pr, s, pattern(pr, e->let.pat));
	if (e->let.params.n)
		add(pr, s, params(pr, e->let.params.at, e->let.params.n));
	add(pr, s, node(pr, e->let.value));
	if (e->let.body)
		add(pr, s, node(pr, e->let.body));
	return s;
}

static sx *match(printer *pr, const tsr_ast *e)
{
	sx *s = list(pr, "match");
	add(pr, s, node(pr, e->match.subject));
	for (uint32_t i = 0; i < e->match.cases.n; i++) {
		const tsr_case *c = &e->match.cases.at[i];
		sx *one = list(pr, "case");
		add(pr, one, pattern(pr, c->pat));
		if (c->guard) {
			sx *when = list(pr, "when");
			add(pr, when, node(pr, c->guard));
			add(pr, one, when);
		}
		add(pr, one, node(pr, c->body));
		add(pr, s, one);
	}
	return s;
}

static sx *decl(printer *pr, const tsr_ast *e)
{
	static const char *const kinds[TSR_KINDS] = {[TSR_BATCH] = "b", [TSR_INPUT] = "i", [TSR_OUTPUT] = "o"};
	sx *s = list(pr, "decl");
	add(pr, s, atom(pr, e->decl.name));
	if (e->decl.init) {
		sx *init = list(pr, "=");
		add(pr, init, node(pr, e->decl.init));
		add(pr, s, init);
	}
	if (e->decl.prec)
		add(pr, s, atom(pr, tsr_format(pr->arena, ":%s", e->decl.prec)));
	for (int k = 0; k < TSR_KINDS; k++)
		if (e->decl.axes[k])
			add(pr, s, nodes(pr, kinds[k], &e->decl.axes[k]->items));
	return s;
}

static sx *loop(printer *pr, const tsr_ast *e)
{
	sx *s = list(pr, "for");
	add(pr, s, pattern(pr, e->loop.pat));
	if (e->loop.list) {
		add(pr, s, atom(pr, "in"));
		add(pr, s, node(pr, e->loop.list));
	} else {
		add(pr, s, node(pr, e->loop.from));
		add(pr, s, atom(pr, e->loop.down ? "downto" : "to"));
		add(pr, s, node(pr, e->loop.to));
	}
	add(pr, s, node(pr, e->loop.body));
	return s;
}

/* (head a b ..), of the parts that are there. */
static sx *form(printer *pr, const char *head, const tsr_ast *a, const tsr_ast *b, const tsr_ast *c)
{
	sx *s = list(pr, head);
	if (a)
		add(pr, s, node(pr, a));
	if (b)
		add(pr, s, node(pr, b));
	if (c)
		add(pr, s, node(pr, c));
	return s;
}

static const char *float_text(printer *pr, double x)
{
	tsr_text t;
	tsr_text_init(&t, pr->arena);
	tsr_text_float(&t, x);
	return tsr_text_str(&t);
}

static sx *node(printer *pr, const tsr_ast *e)
{
	sx *s;
	switch (e->kind) {
	case TSR_AST_UNIT: return atom(pr, "()");
	case TSR_AST_INT: return atom(pr, tsr_format(pr->arena, "%lld", (long long)e->integer));
	case TSR_AST_FLOAT: return atom(pr, float_text(pr, e->real));
	case TSR_AST_BOOL: return atom(pr, e->integer ? "true" : "false");
	case TSR_AST_STRING: return atom(pr, quoted(pr, e->string.text, e->string.size));
	case TSR_AST_NAME:
		return atom(pr, e->name.qualifier ? tsr_format(pr->arena, "%s.%s", e->name.qualifier, e->name.name) : e->name.name);
	case TSR_AST_TUPLE: return nodes(pr, "tuple", &e->items);
	case TSR_AST_LIST: return nodes(pr, "list", &e->items);
	case TSR_AST_ARRAY: return nodes(pr, "array", &e->items);
	case TSR_AST_SEQ: return nodes(pr, "seq", &e->items);
	case TSR_AST_TAGGED:
		s = form(pr, "tagged", e->tagged.e, NULL, NULL);
		add(pr, s, atom(pr, e->tagged.tag ? e->tagged.tag : quoted(pr, e->tagged.annotation, strlen(e->tagged.annotation))));
		return s;
	case TSR_AST_APPLY: return apply(pr, e);
	case TSR_AST_BINARY:
		s = form(pr, e->binary.op, e->binary.left, e->binary.right, NULL);
		trail(pr, s, &e->binary.trail);
		return s;
	case TSR_AST_UNARY: return form(pr, tsr_format(pr->arena, "unary %s", e->unary.op), e->unary.e, NULL, NULL);
	case TSR_AST_SPECOP:
		s = form(pr, tsr_format(pr->arena, "specop %s", e->specop.op), e->specop.e, NULL, NULL);
		trail(pr, s, &e->specop.trail);
		return s;
	case TSR_AST_FUN:
		s = list(pr, tsr_format(pr->arena, "fun%s", level_name(e->fun.level)));
		add(pr, s, params(pr, e->fun.params.at, e->fun.params.n));
		add(pr, s, node(pr, e->fun.body));
		return s;
	case TSR_AST_LET: return let(pr, e);
	case TSR_AST_IF: return form(pr, "if", e->iff.cond, e->iff.then, e->iff.other);
	case TSR_AST_MATCH: return match(pr, e);
	case TSR_AST_DECL: return decl(pr, e);
	case TSR_AST_FIELD:
		s = form(pr, "field", e->field.e, NULL, NULL);
		add(pr, s, atom(pr, e->field.field));
		return s;
	case TSR_AST_INDEX:
		s = form(pr, "index", e->index.e, NULL, NULL);
		for (uint32_t i = 0; i < e->index.indices.n; i++)
			add(pr, s, node(pr, e->index.indices.at[i]));
		return s;
	case TSR_AST_ASSIGN:
		s = form(pr, tsr_format(pr->arena, "assign =%s%s", e->assign.colon ? ":" : "", e->assign.accum), e->assign.target,
		         e->assign.value, NULL);
		trail(pr, s, &e->assign.trail);
		return s;
	case TSR_AST_STORE: return form(pr, "store", e->store.target, e->store.value, NULL);
	case TSR_AST_SETREF: return form(pr, "setref", e->setref.target, e->setref.value, NULL);
	case TSR_AST_FOR: return loop(pr, e);
	case TSR_AST_WHILE: return form(pr, "while", e->whil.cond, e->whil.body, NULL);
	case TSR_AST_COMMENT:
		s = nodes(pr, "comment", &e->comment.text);
		add(pr, s, node(pr, e->comment.code));
		return s;
	case TSR_AST_OPEN: return atom(pr, tsr_format(pr->arena, "(open %s)", e->open.module));
	case TSR_AST_EXPORT:
		s = list(pr, "export");
		add(pr, s, atom(pr, e->export.name));
		add(pr, s, params(pr, e->export.params.at, e->export.params.n));
		add(pr, s, node(pr, e->export.body));
		return s;
	case TSR_AST_POISON: return atom(pr, "poison");
	case TSR_AST_KINDS: break;
	}
	tsr_bug("a node of kind %d cannot be printed", (int)e->kind);
}

void tsr_ast_print(tsr_compiler *tc, const tsr_module_ast *m, FILE *out)
{
	printer pr = {tsr_arena_new(), tc, out};
	for (uint32_t i = 0; i < m->items.n; i++) {
		layout(&pr, node(&pr, m->items.at[i]), 0);
		fputc('\n', out);
	}
	tsr_arena_free(pr.arena);
}
