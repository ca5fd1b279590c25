/* --dump=graph, and the shapes of `tsrc check`. */
#include "state.h"
#include <string.h>

static const char *kind_name(tsr_tensor_kind k)
{
	switch (k) {
	case TSR_TENSOR_OP: return "op";
	case TSR_TENSOR_PARAM: return "param";
	case TSR_TENSOR_STATE: return "state";
	case TSR_TENSOR_LITERAL: return "literal";
	case TSR_TENSOR_FILL: return "fill";
	case TSR_TENSOR_POSITIONS: return "positions";
	case TSR_TENSOR_RANDOM: return "random";
	case TSR_TENSOR_FILE: return "file";
	case TSR_TENSOR_NUMBER: return "number";
	case TSR_TENSOR_SIZE: return "size";
	case TSR_TENSOR_INPUT: return "input";
	}
	return "?";
}

static void print_operand(const tsr_graph *g, const tsr_operand *o, FILE *out)
{
	fprintf(out, "%s%s", tsr_tensor_get(g, o->tensor)->name, o->part == TSR_PART_GRAD ? ".grad" : "");
	if (o->slot == TSR_SLOT_ALL)
		fputs("[all]", out);
	else if (o->slot == TSR_SLOT_SCALAR)
		fputs("[0]", out);
	else
		fprintf(out, "[%d]", o->slot);
}

static void print_rhs(const tsr_graph *g, const tsr_rhs *r, FILE *out)
{
	switch (r->kind) {
	case TSR_RHS_OPERAND: print_operand(g, &r->operand, out); return;
	case TSR_RHS_CONST: fputs(tsr_number_str(g->tc->arena, r->value, 9), out); return;
	case TSR_RHS_CONVERT:
		fprintf(out, "%s(", tsr_prec_name(r->prec));
		print_rhs(g, r->converted, out);
		fputc(')', out);
		return;
	case TSR_RHS_OP:
		fprintf(out, "%s(", tsr_op_get(r->op.op)->name);
		for (uint32_t i = 0; i < tsr_op_get(r->op.op)->arity; i++) {
			fputs(i ? ", " : "", out);
			print_rhs(g, r->op.args[i], out);
		}
		fputc(')', out);
		return;
	}
}

static void print_assign(const tsr_graph *g, const tsr_assign *a, FILE *out)
{
	print_operand(g, &a->target, out);
	fprintf(out, " =%s%s ", a->clear ? ":" : "", tsr_acc_get(a->acc)->text);
	print_rhs(g, a->rhs, out);
	fprintf(out, "   #%u\n", a->record);
}

static void print_assigns(const tsr_graph *g, const char *what, const tsr_assigns *v, FILE *out)
{
	for (uint32_t i = 0; v && i < v->v.n; i++) {
		fprintf(out, "    %s ", what);
		print_assign(g, &v->v.at[i], out);
	}
}

static void print_record(const tsr_graph *g, const tsr_record *r, FILE *out)
{
	static const char *const logic[] = {"pointwise", "compose", "compose and accumulate", "transposition", "", "lookup", "lookup of one"};
	fprintf(out, "#%u %s", r->id, logic[r->rule.logic]);
	if (r->rule.logic == TSR_LOGIC_SPEC)
		fprintf(out, "\"%s\"", tsr_spec_str(g->tc->arena, r->rule.spec));
	fprintf(out, ": %s <-", tsr_tensor_get(g, r->slots[0])->name);
	for (uint32_t i = 0; i < r->rule.noperands; i++)
		fprintf(out, " %s", tsr_tensor_get(g, r->slots[1 + i])->name);
	for (uint32_t i = 0; i < r->nnumbers; i++)
		fprintf(out, "  @%s = %s", r->numbers[i].name, g->numbers.at[r->numbers[i].number]->name);
	fputc('\n', out);
}

static void print_tensor(const tsr_graph *g, const tsr_tensor *t, FILE *out)
{
	/* what is still open is a matter of --dump=shape: its variables have numbers that mean nothing here */
	const char *shape = tsr_shape_str(g->store, &t->shape);
	bool closed = !strstr(shape, "..") && !strchr(shape, '\'');
	fprintf(out, "%s%s%s  %s%s%s%s", t->name, closed ? " : " : "", closed ? shape : "", kind_name(t->kind), t->prec ? " " : "",
	        t->prec ? tsr_prec_name(t->prec) : "", t->differentiable ? " grad" : "");
	if (t->kind == TSR_TENSOR_FILL)
		fprintf(out, " %s", tsr_number_str(g->tc->arena, t->fill.value, 9));
	if (t->kind == TSR_TENSOR_OP)
		fprintf(out, " `%s`", t->op.op);
	if (t->kind == TSR_TENSOR_OP && t->op.record != TSR_NONE)
		fprintf(out, " #%u", t->op.record);
	if (t->kind == TSR_TENSOR_RANDOM)
		fprintf(out, " key %s", t->random.key);
	if (t->kind == TSR_TENSOR_PARAM && t->param.init != TSR_NONE)
		fprintf(out, " init %s", tsr_tensor_get(g, t->param.init)->name);
	fputs(t->poison ? " poison\n" : "\n", out);
	if (t->kind == TSR_TENSOR_OP) {
		print_assigns(g, "forward", t->op.forward, out);
		print_assigns(g, "backward", t->op.backward, out);
	}
}

static void print_code(const tsr_graph *g, const tsr_codetree *c, int indent, FILE *out)
{
	static const char *const plain[] = {"", "", "forward", "backprop", "zero_grads", "fetch", ""};
	switch (c->kind) {
	case TSR_CODE_SEQ:
		for (uint32_t i = 0; i < c->seq.n; i++)
			print_code(g, c->seq.at[i], indent, out);
		return;
	case TSR_CODE_ASSIGN:
		fprintf(out, "%*s", indent, "");
		print_assign(g, &c->assign, out);
		return;
	case TSR_CODE_FORWARD: case TSR_CODE_BACKPROP: case TSR_CODE_ZERO_GRADS: case TSR_CODE_FETCH:
		fprintf(out, "%*s%s.%s\n", indent, "", tsr_tensor_get(g, c->tensor)->name, plain[c->kind]);
		return;
	case TSR_CODE_COMMENT:
		fprintf(out, "%*s# %s\n", indent, "", c->comment.text);
		print_code(g, c->comment.body, indent + 2, out);
		return;
	}
}

void tsr_graph_print(const tsr_graph *g, FILE *out)
{
	for (uint32_t i = 0; i < g->tensors.n; i++)
		print_tensor(g, g->tensors.at[i], out);
	for (uint32_t i = 0; i < g->records.n; i++)
		print_record(g, g->records.at[i], out);
	for (uint32_t i = 0; i < g->codes.n; i++) {
		fprintf(out, "code %s:\n", g->codes.at[i]->name);
		print_code(g, g->codes.at[i]->tree, 2, out);
	}
}

static void print_typed(const tsr_graph *g, tsr_tensor_id id, tsr_part part, FILE *out)
{
	const tsr_tensor *t = tsr_tensor_get(g, id);
	const char *shape = tsr_solved_str(g->store, &t->solved);
	tsr_prec prec = part == TSR_PART_GRAD ? tsr_tensor_grad_prec(t) : t->prec;
	fprintf(out, "%s%s%s", strcmp(shape, "()") ? shape : "", strcmp(shape, "()") ? " " : "", tsr_prec_name(prec));
}

static void print_export(const tsr_graph *g, const tsr_export *x, FILE *out)
{
	fprintf(out, "export %s", x->name);
	for (uint32_t i = 0; i < x->args.n; i++) {
		const tsr_export_arg *a = &x->args.at[i];
		fprintf(out, " (%s : ", a->name);
		if (a->tensor == TSR_NONE)
			fputs(g->numbers.at[a->number]->integer ? "i64" : "f64", out);
		else
			print_typed(g, a->tensor, TSR_PART_VALUE, out);
		fputc(')', out);
	}
	for (uint32_t i = 0; i < x->results.n; i++) {
		fputs(i ? ", " : " = ", out);
		print_typed(g, x->results.at[i].tensor, x->results.at[i].part, out);
	}
	fputc('\n', out);
}

void tsr_graph_print_shapes(const tsr_graph *g, FILE *out)
{
	for (uint32_t i = 0; i < g->shown.n; i++) {
		const tsr_tensor *t = tsr_tensor_get(g, g->shown.at[i]);
		if (!t->poison)
			fprintf(out, "%s : %s\n", t->name, tsr_solved_str(g->store, &t->solved));
	}
	for (uint32_t i = 0; i < g->exports.n; i++)
		print_export(g, g->exports.at[i], out);
}
