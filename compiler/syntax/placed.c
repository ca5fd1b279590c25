/* What the grammar cannot say about where things stand, item by item:
 *   - an assignment is a step of code: it stands in %cd (or an export), and nowhere where a value is needed;
 *   - `+* +++ @^+` have a spec, and one that ended under another operator gets its parentheses shown;
 *   - let%main stands at the top level;
 *   - no tree is deeper than DEPTH, so that later stages may recurse. */
#include "build.h"
#include <string.h>

enum { DEPTH = 1000 };

typedef struct walk {
	tsr_compiler *tc;
	bool code;                   /* assignments are steps here: %cd, or the body of an export */
	bool step;                   /* the node stands as a step, not as a value */
	bool top;
	int depth;
	const tsr_ast *parent;
	bool too_deep;
} walk;

static void visit(walk *w, tsr_ast **at);

static const char *source_text(tsr_compiler *tc, uint32_t file, uint32_t start, uint32_t end)
{
	const tsr_source *s = tsr_source_get(tc, file);
	if (!s || end > s->size || start > end || end - start > 60 || memchr(s->text + start, '\n', end - start))
		return NULL;
	return tsr_strndup(tc->arena, s->text + start, end - start);
}

/* ---- specs that ended elsewhere */

/* The string among an application's arguments that looks like a spec, or NULL. */
static const tsr_ast *spec_argument(const tsr_ast *e)
{
	if (e->kind != TSR_AST_APPLY || tsr_b_wrapped(e))
		return NULL;
	for (uint32_t i = e->apply.args.n; i-- > 0;) {
		const tsr_arg *a = &e->apply.args.at[i];
		if (a->kind == TSR_ARG_PLAIN && a->value->kind == TSR_AST_STRING && strstr(a->value->string.text, "=>"))
			return a->value;
	}
	return NULL;
}

/* Where the spec of `op`, which has none, may have gone: under an operator that binds tighter (to the right of it or to
 * the left), or to the operator that the parent is.  Gives the line with its parentheses, or NULL. */
static const char *with_parentheses(tsr_compiler *tc, const tsr_ast *op, const tsr_ast *parent)
{
	const tsr_ast *left = op->binary.left, *right = op->binary.right, *e, *spec;
	uint32_t file = op->span.file;
	const char *l = source_text(tc, file, left->span.start, left->span.end), *r, *s;
	if (!l)
		return NULL;
	const tsr_ast *tail = parent && parent->kind == TSR_AST_BINARY && parent->binary.left == op ? parent->binary.right : right;
	for (e = tail; e->kind == TSR_AST_BINARY && !tsr_b_wrapped(e); e = e->binary.right)
		;
	if ((spec = spec_argument(e)) != NULL) {
		r = source_text(tc, file, right->span.start, spec->span.start);
		s = source_text(tc, file, spec->span.start, e->span.end);
		if (r && s) {
			size_t n = strlen(r);
			while (n && r[n - 1] == ' ')
				n--;
			return tsr_format(tc->arena, "%s %s (%.*s) %s", l, op->binary.op, (int)n, r, s);
		}
	}
	for (e = right; e->kind == TSR_AST_BINARY && !tsr_b_wrapped(e); e = e->binary.left)
		;
	if (e != right && spec_argument(e)) {
		r = source_text(tc, file, left->span.start, e->span.end);
		s = source_text(tc, file, e->span.end, right->span.end);
		if (r && s)
			return tsr_format(tc->arena, "(%s)%s", r, s);
	}
	return NULL;
}

static void missing_spec(walk *w, const tsr_ast *e)
{
	tsr_diag *d = tsr_report(w->tc, TSR_E_MISSING_SPEC, e->at, "`%s` has no spec", e->binary.op);
	const char *line = with_parentheses(w->tc, e, w->parent);
	if (line)
		tsr_hint(w->tc, d, "the spec went to another operator; with parentheses: %s", line);
	else
		tsr_hint(w->tc, d, "a %s b \"spec\"; with a computed spec: ( %s ) a b ~spec:s", e->binary.op, e->binary.op);
}

/* ---- assignments */

/* A misplaced assignment becomes POISON, which elaboration passes over. */
static void assignment(walk *w, tsr_ast *e)
{
	const char *op = tsr_format(w->tc->arena, "=%s%s", e->assign.colon ? ":" : "", e->assign.accum);
	tsr_diag *d = NULL;
	if (!w->code)
		d = tsr_report(w->tc, TSR_E_ASSIGN_PLACE, e->at, "`%s` is an assignment, and assignments stand in `%%cd` code only", op);
	else if (!w->step)
		d = tsr_report(w->tc, TSR_E_ASSIGN_PLACE, e->at, "`%s` is an assignment, and a value is needed here", op);
	if (d && !strcmp(op, "=-"))
		tsr_hint(w->tc, d, "to compare with a negative number put a space: `= -`");
	if (d) {
		e->kind = TSR_AST_POISON;
		return;
	}
	switch (e->assign.target->kind) {
	case TSR_AST_NAME: case TSR_AST_FIELD: case TSR_AST_DECL: case TSR_AST_POISON: case TSR_AST_INDEX:
		return;
	case TSR_AST_UNIT: case TSR_AST_INT: case TSR_AST_FLOAT: case TSR_AST_BOOL: case TSR_AST_STRING: case TSR_AST_TUPLE:
	case TSR_AST_LIST: case TSR_AST_ARRAY: case TSR_AST_TAGGED: case TSR_AST_APPLY: case TSR_AST_BINARY: case TSR_AST_UNARY:
	case TSR_AST_SPECOP: case TSR_AST_FUN: case TSR_AST_LET: case TSR_AST_IF: case TSR_AST_MATCH: case TSR_AST_SEQ:
	case TSR_AST_ASSIGN: case TSR_AST_STORE: case TSR_AST_SETREF: case TSR_AST_FOR: case TSR_AST_WHILE: case TSR_AST_COMMENT:
	case TSR_AST_OPEN: case TSR_AST_EXPORT: case TSR_AST_KINDS:
		break;
	}
	d = tsr_report(w->tc, TSR_E_ASSIGN_PLACE, e->assign.target->span, "this cannot be assigned to");
	tsr_hint(w->tc, d, "a target is a tensor's name, its `.grad`, or a declaration `{ name }`");
}

/* ---- depth */

static bool deeper_than(const tsr_pat *p, int limit)
{
	if (limit == 0)
		return true;
	for (uint32_t i = 0; i < p->items.n; i++)
		if (deeper_than(p->items.at[i], limit - 1))
			return true;
	return false;
}

static void too_deep(walk *w, tsr_span span)
{
	if (!w->too_deep)
		tsr_report(w->tc, TSR_E_TOO_DEEP, span, "this is nested more than %d deep", DEPTH);
	w->too_deep = true;
}

static void pattern(walk *w, tsr_pat *p)
{
	if (!deeper_than(p, DEPTH))
		return;
	too_deep(w, p->span);
	p->kind = TSR_PAT_ANY;
	p->items.n = 0;
}

/* ---- the walk */

static void child(walk *w, const tsr_ast *parent, tsr_ast **e, bool step, tsr_level level)
{
	if (!*e)
		return;
	walk inner = *w;
	inner.parent = parent;
	inner.step = step;
	inner.top = false;
	if (level != TSR_LEVEL_CONFIG)       /* a plain let or fun inside keeps the level around it */
		inner.code = level == TSR_LEVEL_CD;
	visit(&inner, e);
	w->too_deep |= inner.too_deep;
}

static void visit_value(void *ctx, tsr_ast **e)
{
	walk *w = ctx;
	child(w, w->parent, e, false, TSR_LEVEL_CONFIG);
}

static void params(walk *w, const tsr_ast *e, tsr_param *at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		pattern(w, at[i].pat);
		child(w, e, &at[i].deflt, false, TSR_LEVEL_CONFIG);
	}
}

/* The bodies that stand as steps where the node does; every other child is a value. */
static void visit_children(walk *w, tsr_ast *e)
{
	tsr_level same = TSR_LEVEL_CONFIG;
	bool step = w->step;
	switch (e->kind) {
	case TSR_AST_LET:
		pattern(w, e->let.pat);
		params(w, e, e->let.params.at, e->let.params.n);
		child(w, e, &e->let.value, true, e->let.level);
		child(w, e, &e->let.body, step, same);
		return;
	case TSR_AST_FUN:
		params(w, e, e->fun.params.at, e->fun.params.n);
		child(w, e, &e->fun.body, true, e->fun.level);
		return;
	case TSR_AST_EXPORT:
		params(w, e, e->export.params.at, e->export.params.n);
		child(w, e, &e->export.body, true, TSR_LEVEL_CD);
		return;
	case TSR_AST_SEQ:
		for (uint32_t i = 0; i < e->items.n; i++)
			child(w, e, &e->items.at[i], step, same);
		return;
	case TSR_AST_IF:
		child(w, e, &e->iff.cond, false, same);
		child(w, e, &e->iff.then, step, same);
		child(w, e, &e->iff.other, step, same);
		return;
	case TSR_AST_MATCH:
		child(w, e, &e->match.subject, false, same);
		for (uint32_t i = 0; i < e->match.cases.n; i++) {
			pattern(w, e->match.cases.at[i].pat);
			child(w, e, &e->match.cases.at[i].guard, false, same);
			child(w, e, &e->match.cases.at[i].body, step, same);
		}
		return;
	case TSR_AST_FOR:
		pattern(w, e->loop.pat);
		child(w, e, &e->loop.from, false, same);
		child(w, e, &e->loop.to, false, same);
		child(w, e, &e->loop.list, false, same);
		child(w, e, &e->loop.body, true, same);
		return;
	case TSR_AST_WHILE:
		child(w, e, &e->whil.cond, false, same);
		child(w, e, &e->whil.body, true, same);
		return;
	case TSR_AST_COMMENT:
		for (uint32_t i = 0; i < e->comment.text.n; i++)
			child(w, e, &e->comment.text.at[i], false, same);
		child(w, e, &e->comment.code, step, same);
		return;
	case TSR_AST_UNIT: case TSR_AST_INT: case TSR_AST_FLOAT: case TSR_AST_BOOL: case TSR_AST_STRING: case TSR_AST_NAME:
	case TSR_AST_TUPLE: case TSR_AST_LIST: case TSR_AST_ARRAY: case TSR_AST_TAGGED: case TSR_AST_APPLY: case TSR_AST_BINARY:
	case TSR_AST_UNARY: case TSR_AST_SPECOP: case TSR_AST_DECL: case TSR_AST_FIELD: case TSR_AST_INDEX: case TSR_AST_ASSIGN:
	case TSR_AST_STORE: case TSR_AST_SETREF: case TSR_AST_OPEN: case TSR_AST_POISON: case TSR_AST_KINDS:
		break;
	}
	walk values = *w;
	values.parent = e;
	tsr_ast_children(e, visit_value, &values);
	w->too_deep |= values.too_deep;
}

static void visit(walk *w, tsr_ast **at)
{
	tsr_ast *e = *at;
	if (++w->depth > DEPTH) {
		too_deep(w, e->span);
		*at = TSR_NEW(w->tc->arena, tsr_ast);
		(*at)->kind = TSR_AST_POISON;
		(*at)->span = (*at)->at = e->span;
		return;
	}
	if (e->kind == TSR_AST_ASSIGN)
		assignment(w, e);
	if (e->kind == TSR_AST_BINARY && tsr_op_takes(e->binary.op) == TSR_TAKES_SPEC_BINARY && !e->binary.trail.spec)
		missing_spec(w, e);
	if (e->kind == TSR_AST_LET && e->let.level == TSR_LEVEL_MAIN && !w->top)
		tsr_report(w->tc, TSR_E_SYNTAX, e->span, "let%%main stands at the top level only");
	visit_children(w, e);
}

tsr_ast *tsr_placed(tsr_compiler *tc, tsr_ast *item)
{
	walk w = {.tc = tc, .step = true, .top = true};
	visit(&w, &item);
	return item;
}
