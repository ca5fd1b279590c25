/* Applications that the program level itself knows: run, print, the functions of host.def, and conversions. */
#include "lower.h"
#include <string.h>

static tsr_hexpr *unit(tsr_hlower *l, tsr_span span) { return tsr_hexpr_new(l, TSR_H_INT, TSR_HOST_UNIT, span); }

static tsr_number_id number_named(const tsr_graph *g, tsr_name name)
{
	for (uint32_t i = 0; i < g->numbers.n; i++)
		if (g->numbers.at[i]->name == name)
			return i;
	return TSR_NONE;
}

static void run_number(tsr_hlower *l, tsr_hstmt *s, const tsr_arg *a)
{
	tsr_number_id id = number_named(l->g, a->label);
	if (id == TSR_NONE) {
		tsr_diag *d = tsr_report(l->tc, TSR_E_RUN_NUMBER, a->span, "no runtime number is called `%s`", a->label);
		tsr_hint(l->tc, d, "declare it above: let %s = index \"%s\"", a->label, a->label);
		return;
	}
	tsr_host_type type = l->g->numbers.at[id]->integer ? TSR_HOST_INT : TSR_HOST_FLOAT;
	tsr_hexpr *v = tsr_hexpr_as(l, tsr_host_expr(l, a->value), type, "the runtime number");
	if (v) {
		tsr_push(l->arena, &s->run.numbers, id);
		tsr_push(l->arena, &s->run.values, v);
	}
}

/* run code ~i ~t:e */
void tsr_host_run(tsr_hlower *l, tsr_ast *e)
{
	tsr_hstmt *s = TSR_NEW(l->arena, tsr_hstmt);
	s->kind = TSR_H_RUN;
	s->span = e->span;
	tsr_ref r = {.kind = TSR_REF_POISON};
	uint32_t codes = 0;
	for (uint32_t i = 0; i < e->apply.args.n; i++) {
		const tsr_arg *a = &e->apply.args.at[i];
		if (a->kind != TSR_ARG_PLAIN)
			run_number(l, s, a);
		else if (codes++ == 0)
			r = tsr_host_resolve(l, a->value);
	}
	if (codes != 1) {
		tsr_report(l->tc, TSR_E_PROGRAM_FORM, e->span, "`run` takes one piece of code, and runtime numbers by name: run step ~i");
	} else if (r.kind == TSR_REF_CODE) {
		s->run.code = tsr_elab_code(l->g, r.code, r.code_name, e->span);
		tsr_push(l->arena, l->out, s);
	} else if (r.kind != TSR_REF_POISON) {
		tsr_diag *d = tsr_report(l->tc, TSR_E_PROGRAM_TYPE, e->span, "`run` takes a piece of code, and this is %s",
					 r.kind == TSR_REF_TENSOR ? "a tensor" : "a value");
		if (r.kind == TSR_REF_TENSOR)
			tsr_hint(l->tc, d, "run t.forward computes the tensor t");
	}
}

static void print_tensor(tsr_hlower *l, const tsr_ref *r, tsr_span span)
{
	const tsr_tensor *t = tsr_tensor_get(l->g, r->tensor);
	if (t->poison)
		return;
	if (r->part == TSR_PART_VALUE && t->kind == TSR_TENSOR_OP) {
		tsr_hstmt *run = tsr_hstmt_add(l, TSR_H_RUN, span);
		run->run.code = tsr_elab_forward_code(l->g, r->tensor);
	}
	l->host->observed[2 * r->tensor + r->part] = true;
	tsr_hstmt *s = tsr_hstmt_add(l, TSR_H_PRINT_TENSOR, span);
	s->print.tensor = r->tensor;
	s->print.part = r->part;
	s->print.name = r->part == TSR_PART_GRAD ? tsr_intern(l->tc->names, tsr_format(l->arena, "%s.grad", t->name)) : t->name;
}

static void newline(tsr_hlower *l, tsr_span span)
{
	tsr_hexpr *args[] = {tsr_hexpr_string(l, "\n", 1, span), tsr_hexpr_int(l, 0, span)};
	tsr_hstmt_add(l, TSR_H_DO, span)->expr = tsr_hexpr_call(l, TSR_HFUN_PRINT, 2, args, span);
}

static bool names_tensor(tsr_hlower *l, tsr_ast *e, tsr_ref *r)
{
	if (e->kind != TSR_AST_NAME && e->kind != TSR_AST_FIELD)
		return false;
	if (e->kind == TSR_AST_NAME && !e->name.qualifier)
		for (tsr_hscope *s = l->scope; s; s = s->up)
			if (s->name == e->name.name)
				return false;
	*r = tsr_host_resolve(l, e);
	return r->kind == TSR_REF_TENSOR;
}

void tsr_host_print_value(tsr_hlower *l, tsr_ast *e)
{
	tsr_ref r = {.kind = TSR_REF_OTHER};
	if (e->kind == TSR_AST_STRING) {
		tsr_host_print_string(l, e);
	} else if (names_tensor(l, e, &r)) {
		print_tensor(l, &r, e->span);
		return;
	} else if (r.kind != TSR_REF_POISON) {
		/* Any other value is shown as "{e}" would show it. */
		tsr_host_print_shown(l, e);
	}
	newline(l, e->span);
}

static tsr_hexpr *conversion(tsr_hlower *l, tsr_ast *e, bool to_int)
{
	tsr_hexpr *v = tsr_hexpr_as(l, tsr_host_expr(l, e->apply.args.at[0].value), TSR_HOST_FLOAT, "the argument");
	if (!v || !to_int)
		return v;
	tsr_hexpr *c = tsr_hexpr_new(l, TSR_H_TO_INT, TSR_HOST_INT, e->span);
	c->converted = v;
	return c;
}

/* A function of host.def: arguments by position; `arg n ~default:s` is the one with a label. */
static tsr_hexpr *library(tsr_hlower *l, tsr_ast *e, tsr_hfun f)
{
	const tsr_hfun_info *info = tsr_hfun_get(f);
	tsr_hexpr *args[4] = {0};
	uint32_t n = 0, wanted = (uint32_t)strlen(info->params);
	bool ok = true;
	for (uint32_t i = 0; i < e->apply.args.n; i++) {
		const tsr_arg *a = &e->apply.args.at[i];
		if (a->kind == TSR_ARG_PLAIN && a->value->kind == TSR_AST_UNIT)
			continue;
		if (n < wanted)
			args[n] = tsr_hexpr_as(l, tsr_host_expr(l, a->value), tsr_host_type_of_letter(info->params[n]), "the argument"), ok = ok && args[n];
		n++;
	}
	if (f == TSR_HFUN_ARG && n == 1) {
		args[1] = tsr_hexpr_string(l, NULL, 0, e->span);
		n = 2;
	}
	if (n != wanted) {
		tsr_report(l->tc, TSR_E_PROGRAM_ARGS, e->span, "`%s` takes %u argument%s, and %u %s given", info->name, wanted,
			   wanted == 1 ? "" : "s", n, n == 1 ? "is" : "are");
		return NULL;
	}
	if (!ok)
		return NULL;
	if (f == TSR_HFUN_ARG)
		args[0] = tsr_hexpr_binary(l, TSR_HOP_SUB, TSR_HOST_INT, args[0], tsr_hexpr_int(l, 1, e->span), e->span);
	tsr_hexpr *call = tsr_hexpr_call(l, f, n, args, e->span);
	if (call->type != TSR_HOST_UNIT)
		return call;
	tsr_hstmt_add(l, TSR_H_DO, e->span)->expr = call;
	return unit(l, e->span);
}

tsr_hexpr *tsr_host_call(tsr_hlower *l, tsr_ast *e, bool *known)
{
	*known = true;
	tsr_ast *fn = e->apply.fn;
	const char *name = fn->kind == TSR_AST_NAME && !fn->name.qualifier ? fn->name.name : "";
	if (!strcmp(name, "run")) {
		tsr_host_run(l, e);
		return unit(l, e->span);
	}
	if (!strcmp(name, "print") && e->apply.args.n == 1) {
		tsr_host_print_value(l, e->apply.args.at[0].value);
		return unit(l, e->span);
	}
	if (e->apply.args.n == 1 && (!strcmp(name, "float") || !strcmp(name, "float_of_int")))
		return conversion(l, e, false);
	if (e->apply.args.n == 1 && (!strcmp(name, "int") || !strcmp(name, "int_of_float") || !strcmp(name, "truncate")))
		return conversion(l, e, true);
	if (e->apply.args.n == 1 && !strcmp(name, "not")) {
		tsr_hexpr *a = tsr_hexpr_as(l, tsr_host_expr(l, e->apply.args.at[0].value), TSR_HOST_BOOL, "the operand of `not`");
		return a ? tsr_hexpr_binary(l, TSR_HOP_NOT, TSR_HOST_BOOL, a, NULL, e->span) : NULL;
	}
	if (*name)
		for (int f = 0; f < TSR_HFUNS; f++)
			if (!strcmp(name, tsr_hfun_get((tsr_hfun)f)->name))
				return library(l, e, (tsr_hfun)f);
	*known = false;
	return NULL;
}
