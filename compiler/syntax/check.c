/* The schema of the tree: what ast.def promises of each kind holds.  A failure is a fault of the parser. */
#include "ast.h"
#include "build.h"

static void need(const tsr_ast *e, bool holds, const char *what)
{
	static const char *const names[] = {
#define TSR_AST(kind, name, doc) name,
#include "ast.def"
#undef TSR_AST
	};
	if (!holds)
		tsr_bug("the syntax tree at byte %u: %s: %s", e->span.start, e->kind < TSR_AST_KINDS ? names[e->kind] : "?", what);
}

static void check_trail(const tsr_ast *e, const tsr_trail *t)
{
	if (!t->captures)
		return;
	need(e, t->captures->kind == TSR_AST_LIST && t->captures->items.n > 0, "captures are a list");
	for (uint32_t i = 0; i < t->captures->items.n; i++)
		need(e, t->captures->items.at[i]->kind == TSR_AST_NAME, "captures are names");
}

static void check_params(const tsr_ast *e, const tsr_param *at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		need(e, at[i].pat != NULL, "a parameter has a pattern");
		need(e, (at[i].kind == TSR_ARG_PLAIN) == (at[i].label == NULL), "labelled parameters have labels");
	}
}

static void check(void *ctx, tsr_ast **at)
{
	(void)ctx;
	tsr_ast *e = *at;
	need(e, e->span.start <= e->span.end, "the span is in order");
	switch (e->kind) {
	case TSR_AST_UNIT: case TSR_AST_INT: case TSR_AST_FLOAT: case TSR_AST_BOOL: case TSR_AST_STRING: case TSR_AST_POISON:
	case TSR_AST_LIST: case TSR_AST_ARRAY:
		break;
	case TSR_AST_NAME: need(e, e->name.name != NULL, "has a name"); break;
	case TSR_AST_TUPLE: need(e, e->items.n >= 1, "has an item"); break;
	case TSR_AST_SEQ: need(e, e->items.n >= 2, "has two items"); break;
	case TSR_AST_TAGGED:
		need(e, e->tagged.e && !e->tagged.tag != !e->tagged.annotation, "has a tag or an annotation");
		break;
	case TSR_AST_APPLY:
		need(e, e->apply.fn && e->apply.args.n > 0, "has arguments");
		for (uint32_t i = 0; i < e->apply.args.n; i++)
			need(e, e->apply.args.at[i].value && (e->apply.args.at[i].kind == TSR_ARG_PLAIN) == !e->apply.args.at[i].label,
			     "arguments have values, and labels where they say so");
		break;
	case TSR_AST_BINARY:
		need(e, e->binary.op && e->binary.left && e->binary.right, "has two operands");
		check_trail(e, &e->binary.trail);
		break;
	case TSR_AST_UNARY: need(e, e->unary.op && e->unary.e, "has an operand"); break;
	case TSR_AST_SPECOP:
		need(e, e->specop.op && e->specop.e && e->specop.trail.spec, "has an operand and a spec");
		check_trail(e, &e->specop.trail);
		break;
	case TSR_AST_FUN:
		need(e, e->fun.body && e->fun.params.n > 0, "has parameters and a body");
		check_params(e, e->fun.params.at, e->fun.params.n);
		break;
	case TSR_AST_LET:
		need(e, e->let.pat && e->let.value, "has a pattern and a value");
		need(e, !e->let.params.n || e->let.pat->kind == TSR_PAT_NAME, "only a name has parameters");
		check_params(e, e->let.params.at, e->let.params.n);
		break;
	case TSR_AST_IF: need(e, e->iff.cond && e->iff.then, "has a condition and a branch"); break;
	case TSR_AST_MATCH:
		need(e, e->match.subject && e->match.cases.n > 0, "has cases");
		for (uint32_t i = 0; i < e->match.cases.n; i++)
			need(e, e->match.cases.at[i].pat && e->match.cases.at[i].body, "cases have patterns and bodies");
		break;
	case TSR_AST_DECL:
		need(e, e->decl.name != NULL, "has a name");
		for (int k = 0; k < TSR_KINDS; k++)
			need(e, !e->decl.axes[k] || e->decl.axes[k]->kind == TSR_AST_LIST, "axes are lists");
		break;
	case TSR_AST_FIELD: need(e, e->field.e && e->field.field, "has an operand and a field"); break;
	case TSR_AST_INDEX: need(e, e->index.e && e->index.indices.n > 0, "has indices"); break;
	case TSR_AST_ASSIGN:
		need(e, e->assign.accum && e->assign.target && e->assign.value, "has a target and a value");
		need(e, !e->assign.trail.spec && !e->assign.trail.captures, "takes nothing but logic");
		break;
	case TSR_AST_STORE:
		need(e, e->store.target && e->store.value && e->store.target->kind == TSR_AST_INDEX, "stores an element");
		break;
	case TSR_AST_SETREF: need(e, e->setref.target && e->setref.value, "has a target and a value"); break;
	case TSR_AST_FOR:
		need(e, e->loop.pat && e->loop.body && !e->loop.from == !e->loop.to && !e->loop.from != !e->loop.list,
		     "runs over numbers or over a list");
		break;
	case TSR_AST_WHILE: need(e, e->whil.cond && e->whil.body, "has a condition and a body"); break;
	case TSR_AST_COMMENT: need(e, e->comment.text.n > 0 && e->comment.code, "has a text and code"); break;
	case TSR_AST_OPEN: need(e, e->open.module != NULL, "has a name"); break;
	case TSR_AST_EXPORT:
		need(e, e->export.name && e->export.params.n > 0 && e->export.body, "has parameters and a body");
		check_params(e, e->export.params.at, e->export.params.n);
		break;
	case TSR_AST_KINDS: need(e, false, "has a kind"); break;
	}
	tsr_ast_children(e, check, ctx);
}

void tsr_ast_check(tsr_compiler *tc, const tsr_module_ast *m)
{
	for (uint32_t i = 0; i < m->items.n; i++) {
		tsr_ast *item = m->items.at[i];
		need(item, item->kind == TSR_AST_LET || item->kind == TSR_AST_OPEN || item->kind == TSR_AST_EXPORT || item->kind == TSR_AST_POISON,
		     "is an item of a module");
		check(tc, &item);
	}
}
