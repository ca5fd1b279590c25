/* The children of a node, in the order in which they were written: the one place that knows them all, for walks that
 * treat most kinds alike. */
#include "ast.h"

typedef struct walk { tsr_ast_visit *visit; void *ctx; } walk;

static void one(const walk *w, tsr_ast **child)
{
	if (*child)
		w->visit(w->ctx, child);
}

static void all(const walk *w, tsr_asts *items)
{
	for (uint32_t i = 0; i < items->n; i++)
		one(w, &items->at[i]);
}

static void param_defaults(const walk *w, tsr_param *params, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		one(w, &params[i].deflt);
}

void tsr_ast_children(tsr_ast *e, tsr_ast_visit *visit, void *ctx)
{
	walk w = {visit, ctx};
	switch (e->kind) {
	case TSR_AST_UNIT: case TSR_AST_INT: case TSR_AST_FLOAT: case TSR_AST_BOOL: case TSR_AST_STRING: case TSR_AST_NAME:
	case TSR_AST_OPEN: case TSR_AST_POISON: case TSR_AST_KINDS:
		return;
	case TSR_AST_TUPLE: case TSR_AST_LIST: case TSR_AST_ARRAY: case TSR_AST_SEQ:
		all(&w, &e->items);
		return;
	case TSR_AST_TAGGED:
		one(&w, &e->tagged.e);
		return;
	case TSR_AST_APPLY:
		one(&w, &e->apply.fn);
		for (uint32_t i = 0; i < e->apply.args.n; i++)
			one(&w, &e->apply.args.at[i].value);
		return;
	case TSR_AST_BINARY:
		one(&w, &e->binary.left);
		one(&w, &e->binary.right);
		return;
	case TSR_AST_UNARY:
		one(&w, &e->unary.e);
		return;
	case TSR_AST_SPECOP:
		one(&w, &e->specop.e);
		return;
	case TSR_AST_FUN:
		param_defaults(&w, e->fun.params.at, e->fun.params.n);
		one(&w, &e->fun.body);
		return;
	case TSR_AST_LET:
		param_defaults(&w, e->let.params.at, e->let.params.n);
		one(&w, &e->let.value);
		one(&w, &e->let.body);
		return;
	case TSR_AST_IF:
		one(&w, &e->iff.cond);
		one(&w, &e->iff.then);
		one(&w, &e->iff.other);
		return;
	case TSR_AST_MATCH:
		one(&w, &e->match.subject);
		for (uint32_t i = 0; i < e->match.cases.n; i++) {
			one(&w, &e->match.cases.at[i].guard);
			one(&w, &e->match.cases.at[i].body);
		}
		return;
	case TSR_AST_DECL:
		one(&w, &e->decl.init);
		for (int k = 0; k < TSR_KINDS; k++)
			one(&w, &e->decl.axes[k]);
		return;
	case TSR_AST_FIELD:
		one(&w, &e->field.e);
		return;
	case TSR_AST_INDEX:
		one(&w, &e->index.e);
		all(&w, &e->index.indices);
		return;
	case TSR_AST_ASSIGN:
		one(&w, &e->assign.target);
		one(&w, &e->assign.value);
		return;
	case TSR_AST_STORE:
		one(&w, &e->store.target);
		one(&w, &e->store.value);
		return;
	case TSR_AST_SETREF:
		one(&w, &e->setref.target);
		one(&w, &e->setref.value);
		return;
	case TSR_AST_FOR:
		one(&w, &e->loop.from);
		one(&w, &e->loop.to);
		one(&w, &e->loop.list);
		one(&w, &e->loop.body);
		return;
	case TSR_AST_WHILE:
		one(&w, &e->whil.cond);
		one(&w, &e->whil.body);
		return;
	case TSR_AST_COMMENT:
		all(&w, &e->comment.text);
		one(&w, &e->comment.code);
		return;
	case TSR_AST_EXPORT:
		param_defaults(&w, e->export.params.at, e->export.params.n);
		one(&w, &e->export.body);
		return;
	}
}
