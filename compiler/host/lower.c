/* let%main to the program-level IR: statements, blocks and scopes.  Expressions are in expr.c, application of the program
 * level's own functions in call.c, names of the modules in names.c. */
#include "lower.h"
#include <string.h>

static tsr_hexpr *unit(tsr_hlower *l, tsr_span span) { return tsr_hexpr_new(l, TSR_H_INT, TSR_HOST_UNIT, span); }

static void assign(tsr_hlower *l, tsr_var_id var, tsr_hexpr *value)
{
	tsr_hstmt *s = tsr_hstmt_add(l, TSR_H_SET, value->span);
	s->set.var = var;
	s->set.value = value;
}

/* let x = e in body; `ref e` makes x a reference. */
static tsr_hexpr *let(tsr_hlower *l, tsr_ast *e)
{
	if (e->let.params.n || e->let.level != TSR_LEVEL_CONFIG || (e->let.pat->kind != TSR_PAT_NAME && e->let.pat->kind != TSR_PAT_ANY && e->let.pat->kind != TSR_PAT_UNIT)) {
		tsr_diag *d = tsr_report(l->tc, TSR_E_PROGRAM_FORM, e->let.pat->span, "only numbers, bools, strings and references are bound inside let%%main");
		tsr_hint(l->tc, d, "move functions and tensors above let%%main");
		return NULL;
	}
	tsr_ast *v = e->let.value;
	bool ref = v->kind == TSR_AST_APPLY && v->apply.fn->kind == TSR_AST_NAME && !strcmp(v->apply.fn->name.name, "ref") && v->apply.args.n == 1;
	tsr_hexpr *value = tsr_host_expr(l, ref ? v->apply.args.at[0].value : v);
	tsr_hscope scope = {l->scope, e->let.pat->kind == TSR_PAT_NAME ? e->let.pat->name : NULL, 0, ref};
	if (value && value->type != TSR_HOST_UNIT) {
		scope.var = tsr_host_var(l, value->type);
		assign(l, scope.var, value);
	} else if (!value) {
		scope.var = tsr_host_var(l, TSR_HOST_INT);      /* poison: the name exists, its uses are reported by type only */
	}
	l->scope = &scope;
	tsr_hexpr *r = e->let.body ? tsr_host_expr(l, e->let.body) : unit(l, e->span);
	l->scope = scope.up;
	return r;
}

static void for_loop(tsr_hlower *l, tsr_ast *e)
{
	if (e->loop.list) {
		tsr_report(l->tc, TSR_E_PROGRAM_FORM, e->span, "a loop over a list runs while compiling; at the program level a loop counts: for i = a to b do .. done");
		return;
	}
	tsr_hexpr *from = tsr_hexpr_as(l, tsr_host_expr(l, e->loop.from), TSR_HOST_INT, "the first value of the loop");
	tsr_hexpr *to = tsr_hexpr_as(l, tsr_host_expr(l, e->loop.to), TSR_HOST_INT, "the last value of the loop");
	tsr_hscope scope = {l->scope, e->loop.pat->kind == TSR_PAT_NAME ? e->loop.pat->name : NULL, tsr_host_var(l, TSR_HOST_INT), false};
	tsr_hstmt *s = from && to ? tsr_hstmt_add(l, TSR_H_FOR, e->span) : TSR_NEW(l->arena, tsr_hstmt);
	s->loop.var = scope.var;
	s->loop.from = from;
	s->loop.to = to;
	s->loop.down = e->loop.down;
	l->scope = &scope;
	s->loop.body = tsr_host_block(l, e->loop.body);
	l->scope = scope.up;
}

/* A condition that needs statements is computed before the loop and again at the end of each round. */
static void while_loop(tsr_hlower *l, tsr_ast *e)
{
	tsr_hstmts *outer = l->out, before = {0};
	l->out = &before;
	tsr_hexpr *cond = tsr_hexpr_as(l, tsr_host_expr(l, e->whil.cond), TSR_HOST_BOOL, "the condition");
	l->out = outer;
	tsr_hstmt *body = tsr_host_block(l, e->whil.body);
	if (!cond)
		return;
	if (before.n) {
		tsr_var_id var = tsr_host_var(l, TSR_HOST_BOOL);
		for (uint32_t i = 0; i < before.n; i++) {
			tsr_push(l->arena, l->out, before.at[i]);
			tsr_push(l->arena, &body->seq, before.at[i]);
		}
		assign(l, var, cond);
		l->out = &body->seq;
		assign(l, var, cond);
		l->out = outer;
		cond = tsr_hexpr_var(l, var, e->span);
	}
	tsr_hstmt *s = tsr_hstmt_add(l, TSR_H_WHILE, e->span);
	s->whil.cond = cond;
	s->whil.body = body;
}

static void set_ref(tsr_hlower *l, tsr_ast *e)
{
	tsr_ast *t = e->setref.target;
	tsr_hexpr *value = tsr_host_expr(l, e->setref.value);
	if (t->kind == TSR_AST_NAME)
		for (tsr_hscope *s = l->scope; s; s = s->up)
			if (s->name == t->name.name && s->ref) {
				value = tsr_hexpr_as(l, value, l->host->vars.at[s->var], "the new value of the reference");
				if (value)
					assign(l, s->var, value);
				return;
			}
	tsr_report(l->tc, TSR_E_PROGRAM_TYPE, t->span, "`:=` changes a reference, and this is none");
}

static void store(tsr_hlower *l, tsr_ast *e)
{
	tsr_hexpr *target = tsr_host_element(l, e->store.target), *value = tsr_host_expr(l, e->store.value);
	if (!target || !value)
		return;
	const tsr_tensor *t = tsr_tensor_get(l->g, target->element.tensor);
	if (t->kind == TSR_TENSOR_INPUT) {
		tsr_report(l->tc, TSR_E_PROGRAM_TYPE, e->store.target->span, "`%s` is the caller's; its elements cannot be changed", t->input.name);
		return;
	}
	if (t->kind == TSR_TENSOR_LITERAL || t->kind == TSR_TENSOR_FILL || t->kind == TSR_TENSOR_POSITIONS || t->kind == TSR_TENSOR_NUMBER || t->kind == TSR_TENSOR_SIZE) {
		tsr_report(l->tc, TSR_E_PROGRAM_TYPE, e->store.target->span, "`%s` is a constant; its elements cannot be changed", t->name);
		return;
	}
	value = tsr_hexpr_as(l, value, target->type, "the new element");
	if (!value)
		return;
	tsr_hstmt *s = tsr_hstmt_add(l, TSR_H_STORE, e->span);
	s->store.target = target;
	s->store.value = value;
}

tsr_hexpr *tsr_host_block_value(tsr_hlower *l, tsr_ast *e)
{
	switch ((int)e->kind) {
	case TSR_AST_LET: return let(l, e);
	case TSR_AST_FOR: for_loop(l, e); break;
	case TSR_AST_WHILE: while_loop(l, e); break;
	case TSR_AST_STORE: store(l, e); break;
	case TSR_AST_SETREF: set_ref(l, e); break;
	case TSR_AST_SEQ:
		for (uint32_t i = 0; i + 1 < e->items.n; i++)
			tsr_host_effect(l, e->items.at[i]);
		return e->items.n ? tsr_host_expr(l, e->items.at[e->items.n - 1]) : unit(l, e->span);
	default: break;
	}
	return unit(l, e->span);
}

void tsr_host_effect(tsr_hlower *l, tsr_ast *e)
{
	tsr_hexpr *v = tsr_host_expr(l, e);
	if (v && v->type != TSR_HOST_UNIT) {
		tsr_diag *d = tsr_report(l->tc, TSR_E_PROGRAM_TYPE, e->span, "%s is computed here and not used", tsr_host_type_name(v->type));
		tsr_hint(l->tc, d, "let _ = .. in says that this is meant");
	}
}

tsr_hstmt *tsr_host_block(tsr_hlower *l, tsr_ast *e)
{
	tsr_hstmt *block = TSR_NEW(l->arena, tsr_hstmt);
	block->kind = TSR_H_SEQ;
	block->span = e->span;
	tsr_hstmts *outer = l->out;
	l->out = &block->seq;
	tsr_host_effect(l, e);
	l->out = outer;
	return block;
}

tsr_host *tsr_host_lower(tsr_graph *g)
{
	tsr_arena *a = g->tc->arena;
	tsr_host *h = TSR_NEW(a, tsr_host);
	h->graph = g;
	h->observed = TSR_NEW_N(a, bool, 2 * g->tensors.n + 1);
	h->results = TSR_NEW_N(a, uint32_t, 2 * g->tensors.n + 1);
	h->returned = TSR_NEW_N(a, uint32_t, 2 * g->tensors.n + 1);
	uint32_t errors = g->tc->nerrors;
	tsr_hlower l = {.g = g, .tc = g->tc, .arena = a, .host = h, .ntensors = g->tensors.n};
	if (g->main) {
		l.env = g->main->env;
		h->body = tsr_host_block(&l, g->main->body);
	}
	tsr_host_exports(&l);
	return g->tc->nerrors == errors ? h : NULL;
}
