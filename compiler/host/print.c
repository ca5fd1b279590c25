/* --dump=host: the program level as it was lowered, one statement a line. */
#include "host.h"

static void indent(FILE *out, int depth) { fprintf(out, "%*s", depth * 2, ""); }

static void expr(const tsr_host *h, const tsr_hexpr *e, FILE *out);

static void args(const tsr_host *h, const tsr_hexprs *v, FILE *out)
{
	fputc('(', out);
	for (uint32_t i = 0; i < v->n; i++) {
		if (i)
			fputs(", ", out);
		expr(h, v->at[i], out);
	}
	fputc(')', out);
}

static void quoted(const char *s, size_t n, FILE *out)
{
	fputc('"', out);
	for (size_t i = 0; i < n; i++)
		if (s[i] == '\n')
			fputs("\\n", out);
		else if (s[i] == '"' || s[i] == '\\')
			fprintf(out, "\\%c", s[i]);
		else
			fputc(s[i], out);
	fputc('"', out);
}

static void size(const tsr_host *h, tsr_size s, FILE *out)
{
	fprintf(out, "%lld", (long long)s.k);
	for (uint32_t i = 0; i < s.nterms; i++)
		fprintf(out, " + %lld*?%s", (long long)s.terms[i].coef, tsr_store_symbol_get(h->graph->store, s.terms[i].symbol)->name);
}

static void expr(const tsr_host *h, const tsr_hexpr *e, FILE *out)
{
	switch (e->kind) {
	case TSR_H_INT: fprintf(out, "%lld", (long long)e->integer); break;
	case TSR_H_FLOAT: fprintf(out, "%.17gf", e->real); break;
	case TSR_H_BOOL: fputs(e->integer ? "true" : "false", out); break;
	case TSR_H_STRING:
		if (e->string.text)
			quoted(e->string.text, e->string.size, out);
		else
			fputs("none", out);
		break;
	case TSR_H_VAR: fprintf(out, "%%%u", e->var); break;
	case TSR_H_UNARY:
		fprintf(out, "(%s ", tsr_host_op_text(e->op.op));
		expr(h, e->op.a, out);
		fputc(')', out);
		break;
	case TSR_H_BINARY:
		fputc('(', out);
		expr(h, e->op.a, out);
		fprintf(out, " %s%s ", tsr_host_op_text(e->op.op), e->type == TSR_HOST_FLOAT ? "." : "");
		expr(h, e->op.b, out);
		fputc(')', out);
		break;
	case TSR_H_TO_FLOAT: case TSR_H_TO_INT:
		fputs(e->kind == TSR_H_TO_INT ? "int(" : "float(", out);
		expr(h, e->converted, out);
		fputc(')', out);
		break;
	case TSR_H_ELEMENT:
		fprintf(out, "%s%s.", tsr_tensor_get(h->graph, e->element.tensor)->name, e->element.part == TSR_PART_GRAD ? ".grad" : "");
		args(h, &e->element.indices, out);
		break;
	case TSR_H_SIZE: size(h, e->size, out); break;
	case TSR_H_NUMBER: fprintf(out, "@%s", h->graph->numbers.at[e->number]->name); break;
	case TSR_H_CALL:
		fputs(tsr_hfun_get(e->call.function)->symbol, out);
		args(h, &e->call.args, out);
		break;
	case TSR_H_COND:
		fputs("(if ", out);
		expr(h, e->cond.cond, out);
		fputs(" then ", out);
		expr(h, e->cond.then, out);
		fputs(" else ", out);
		expr(h, e->cond.other, out);
		fputc(')', out);
		break;
	}
}

static void run(const tsr_host *h, const tsr_hstmt *s, FILE *out)
{
	fprintf(out, "run %s", h->graph->codes.at[s->run.code]->name);
	for (uint32_t i = 0; i < s->run.numbers.n; i++) {
		fprintf(out, " ~%s:", h->graph->numbers.at[s->run.numbers.at[i]]->name);
		expr(h, s->run.values.at[i], out);
	}
	fputc('\n', out);
}

static void stmt(const tsr_host *h, const tsr_hstmt *s, int depth, FILE *out)
{
	if (s->kind != TSR_H_SEQ)
		indent(out, depth);
	switch (s->kind) {
	case TSR_H_SET:
		fprintf(out, "%%%u = ", s->set.var);
		expr(h, s->set.value, out);
		fputc('\n', out);
		break;
	case TSR_H_IF:
		fputs("if ", out);
		expr(h, s->iff.cond, out);
		fputc('\n', out);
		stmt(h, s->iff.then, depth + 1, out);
		if (s->iff.other) {
			indent(out, depth);
			fputs("else\n", out);
			stmt(h, s->iff.other, depth + 1, out);
		}
		break;
	case TSR_H_WHILE:
		fputs("while ", out);
		expr(h, s->whil.cond, out);
		fputc('\n', out);
		stmt(h, s->whil.body, depth + 1, out);
		break;
	case TSR_H_FOR:
		fprintf(out, "for %%%u = ", s->loop.var);
		expr(h, s->loop.from, out);
		fputs(s->loop.down ? " downto " : " to ", out);
		expr(h, s->loop.to, out);
		fputc('\n', out);
		stmt(h, s->loop.body, depth + 1, out);
		break;
	case TSR_H_RUN: run(h, s, out); break;
	case TSR_H_STORE:
		expr(h, s->store.target, out);
		fputs(" <- ", out);
		expr(h, s->store.value, out);
		fputc('\n', out);
		break;
	case TSR_H_DO:
		expr(h, s->expr, out);
		fputc('\n', out);
		break;
	case TSR_H_PRINT_TENSOR:
		fprintf(out, "print %s\n", s->print.name);
		break;
	case TSR_H_SEQ:
		for (uint32_t i = 0; i < s->seq.n; i++)
			stmt(h, s->seq.at[i], depth, out);
		break;
	}
}

void tsr_host_print(const tsr_host *h, FILE *out)
{
	static const char *const type[] = {"unit", "bool", "int", "float", "string"};
	for (uint32_t i = 0; i < h->vars.n; i++)
		fprintf(out, "%%%u : %s\n", i, type[h->vars.at[i]]);
	if (h->body)
		stmt(h, h->body, 0, out);
	for (uint32_t i = 0; i < h->exports.n; i++) {
		const tsr_host_export *x = &h->exports.at[i];
		static const char *const kinds[] = {"size", "input", "number", "result"};
		fprintf(out, "export %s(", x->name);
		for (uint32_t k = 0; k < x->args.n; k++)
			fprintf(out, "%s%s %s", k ? ", " : "", kinds[x->args.at[k].kind], x->args.at[k].name);
		fputs("):\n", out);
		if (x->body)
			stmt(h, x->body, 1, out);
		else if (x->x->code != TSR_NONE)
			fprintf(out, "  run %s\n", h->graph->codes.at[x->x->code]->name);
	}
}
