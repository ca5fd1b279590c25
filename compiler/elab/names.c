/* Names that nothing binds, wherever they are written: a function that is never applied is never evaluated, and its mistakes
 * would stay unseen.  What a declaration or a capture names counts as bound in the whole item, and inside code the slots
 * and primitives of definitions do; so what is reported here is unknown whatever happens. */
#include "state.h"
#include <string.h>

typedef struct scope {
	tsr_elab *el;
	const tsr_env *env;
	bool code;                   /* inside fun%cd or let%cd */
} scope;

static void walk(scope *s, const tsr_ast *e);

static const tsr_env *bind(const scope *s, const tsr_env *env, tsr_name name)
{
	return tsr_env_bind(s->el->arena, env, name, TSR_UNIT);
}

static const tsr_env *bind_pattern(const scope *s, const tsr_env *env, const tsr_pat *p)
{
	if (!p)
		return env;
	if (p->kind == TSR_PAT_NAME)
		env = bind(s, env, p->name);
	for (uint32_t i = 0; i < p->items.n; i++)
		env = bind_pattern(s, env, p->items.at[i]);
	return env;
}

static bool is_slot(tsr_name name)
{
	static const char *const words[] = {"lhs", "rhs", "v", "t", "g"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i]);
		if (strncmp(name, words[i], n) == 0 && strspn(name + n, "0123456789") == strlen(name + n))
			return true;
	}
	return false;
}

static bool is_primitive(tsr_name name)
{
	tsr_op op;
	return tsr_op_find(name, 1, &op) || tsr_op_find(name, 2, &op) || tsr_op_find(name, 3, &op);
}

static void check_name(const scope *s, tsr_name qualifier, tsr_name name, tsr_span span)
{
	if (!qualifier && s->code && (is_slot(name) || is_primitive(name)))
		return;
	tsr_resolve(s->el->ev, s->env, qualifier, name, span);
}

/* A function: defaults see the parameters before them. */
static void function(scope *s, tsr_level level, uint32_t n, const tsr_param *params, const tsr_ast *body, tsr_name self)
{
	scope inner = *s;
	inner.code |= level == TSR_LEVEL_CD;
	if (self)
		inner.env = bind(&inner, inner.env, self);
	for (uint32_t i = 0; i < n; i++) {
		if (params[i].deflt)
			walk(&inner, params[i].deflt);
		inner.env = params[i].pat ? bind_pattern(&inner, inner.env, params[i].pat) : bind(&inner, inner.env, params[i].label);
	}
	walk(&inner, body);
}

static void let(scope *s, const tsr_ast *e)
{
	tsr_name self = e->let.rec && e->let.pat->kind == TSR_PAT_NAME ? e->let.pat->name : NULL;
	function(s, e->let.level, e->let.params.n, e->let.params.at, e->let.value, self);
	if (!e->let.body)
		return;
	scope inner = *s;
	inner.env = bind_pattern(&inner, inner.env, e->let.pat);
	walk(&inner, e->let.body);
}

static void match(scope *s, const tsr_ast *e)
{
	walk(s, e->match.subject);
	for (uint32_t i = 0; i < e->match.cases.n; i++) {
		scope inner = *s;
		inner.env = bind_pattern(&inner, inner.env, e->match.cases.at[i].pat);
		if (e->match.cases.at[i].guard)
			walk(&inner, e->match.cases.at[i].guard);
		walk(&inner, e->match.cases.at[i].body);
	}
}

static void loop(scope *s, const tsr_ast *e)
{
	const tsr_ast *before[] = {e->loop.from, e->loop.to, e->loop.list};
	for (int i = 0; i < 3; i++)
		if (before[i])
			walk(s, before[i]);
	scope inner = *s;
	inner.env = bind_pattern(&inner, inner.env, e->loop.pat);
	walk(&inner, e->loop.body);
}

static void walk_child(void *ctx, tsr_ast **at)
{
	if (*at)
		walk(ctx, *at);
}

static void walk(scope *s, const tsr_ast *e)
{
	switch ((int)e->kind) {
	case TSR_AST_NAME: check_name(s, e->name.qualifier, e->name.name, e->span); return;
	case TSR_AST_LET: let(s, e); return;
	case TSR_AST_FUN: function(s, e->fun.level, e->fun.params.n, e->fun.params.at, e->fun.body, NULL); return;
	case TSR_AST_MATCH: match(s, e); return;
	case TSR_AST_FOR: loop(s, e); return;
	case TSR_AST_INDEX: walk(s, e->index.e); return;         /* names of regions */
	case TSR_AST_APPLY:
		for (uint32_t i = 0; i < e->apply.args.n; i++)
			if (!e->apply.args.at[i].value)
				check_name(s, NULL, e->apply.args.at[i].label, e->apply.args.at[i].span);
		break;
	default: break;
	}
	tsr_ast_children((tsr_ast *)e, walk_child, s);
}

/* Declarations and captures of the whole item. */
static void collect(void *ctx, tsr_ast **at)
{
	scope *s = ctx;
	tsr_ast *e = *at;
	if (!e)
		return;
	const tsr_ast *captures = e->kind == TSR_AST_BINARY ? e->binary.trail.captures
		: e->kind == TSR_AST_SPECOP ? e->specop.trail.captures : NULL;
	for (uint32_t i = 0; captures && i < captures->items.n; i++)
		if (captures->items.at[i]->kind == TSR_AST_NAME)
			s->env = bind(s, s->env, captures->items.at[i]->name.name);
	if (e->kind == TSR_AST_DECL)
		s->env = bind(s, s->env, e->decl.name);
	tsr_ast_children(e, collect, ctx);
}

void tsr_elab_check_names(tsr_elab *el, const tsr_env *env, const tsr_ast *item)
{
	scope s = {el, env, item->let.level == TSR_LEVEL_CD};
	tsr_ast *e = (tsr_ast *)item;
	collect(&s, &e);
	walk(&s, item);
}
