/* Problems as data, and how they are printed when the solver and the enumeration disagree: in the notation of the solver's
 * table tests, so that a problem can be copied into them. */
#include "oracle.h"

term term_code(int code) { return (term){.kind = T_CONST, .nparts = 1, .part = {{.code = (int16_t)code}}}; }
term term_var(int v) { return (term){.kind = T_VAR, .nparts = 1, .part = {{.is_var = true, .at = (int8_t)v}}}; }

static void print_simple(simple x, FILE *out)
{
	static const char *const names[] = {"", "rgb:", "xyz:"};
	if (x.is_var)
		fprintf(out, "%c", 'a' + x.at);
	else if (x.code == UNIT)
		fputs("1*", out);
	else if (is_symbol(x.code))
		fprintf(out, "%s?%c", names[x.code & 3], "nm"[symbol_of(x.code)]);
	else
		fprintf(out, "%s%d", names[basis_of(x.code)], size_of(x.code));
}

static void print_term(const term *t, FILE *out)
{
	switch (t->kind) {
	case T_CONST: case T_VAR:
		print_simple(t->part[0], out);
		return;
	case T_AFFINE:
		fprintf(out, "{%d*", t->stride);
		print_simple(t->part[0], out);
		if (t->nparts > 1) {
			fprintf(out, t->padded ? "=+%d*" : "<+%d*", t->dilation);
			print_simple(t->part[1], out);
		}
		if (t->offset)
			fprintf(out, "+%d", t->offset);
		fputs("}", out);
		return;
	case T_CONCAT:
		for (int i = 0; i < t->nparts; i++) {
			fputs(i ? "^" : "", out);
			print_simple(t->part[i], out);
		}
		return;
	}
}

static void print_row(const flat_row *r, FILE *out)
{
	const char *sep = "";
	fputs("[", out);
	for (int i = 0; i < r->nlead; i++, sep = ", ") {
		fputs(sep, out);
		print_term(&r->lead[i], out);
	}
	if (r->var >= 0)
		fprintf(out, "%s..%c..", sep, 'p' + r->var);
	else
		fprintf(out, "%s.", sep);
	sep = ", ";
	for (int i = 0; i < r->ntrail; i++) {
		fputs(sep, out);
		print_term(&r->trail[i], out);
	}
	fputs("]", out);
}

static void print_cons(const cons *c, FILE *out)
{
	switch (c->kind) {
	case DIM_EQ: case DIM_LE:
		print_term(&c->a, out);
		fputs(c->kind == DIM_EQ ? " = " : " <= ", out);
		print_term(&c->b, out);
		break;
	case ROW_EQ: case ROW_LE:
		print_row(&c->ra, out);
		fputs(c->kind == ROW_EQ ? " = " : " <= ", out);
		print_row(&c->rb, out);
		break;
	case JOIN:
		print_row(&c->ra, out);
		fputs(" = ", out);
		print_row(&c->rb, out);
		fputs(" then ", out);
		print_row(&c->rc, out);
		break;
	case LOOKUP:
		fputs("lookup ", out);
		print_term(&c->a, out);
		fputs(" in ", out);
		print_row(&c->ra, out);
		fputs(" | ", out);
		print_row(&c->rb, out);
		fputs(" leaves ", out);
		print_row(&c->rc, out);
		fputs(" | ", out);
		print_row(&c->rd, out);
		break;
	case AT_LEAST:
		print_term(&c->a, out);
		fprintf(out, " >= %d", c->n);
		break;
	case TOTAL:
		fputs("total ", out);
		print_row(&c->ra, out);
		if (c->nrows > 1)
			print_row(&c->rb, out);
		fprintf(out, " = %d", c->n);
		if (c->a.nparts) {
			fputs(" * ", out);
			print_term(&c->a, out);
		}
		break;
	}
}

void problem_print(const problem *p, FILE *out)
{
	static const char *const roles[] = {"", "leaf", "param"};
	for (int i = 0; i < p->ndims; i++) {
		if (p->dim_role[i] != INTERIOR)
			fprintf(out, "    %s [%c]\n", roles[p->dim_role[i]], 'a' + i);
		if (p->discardable[i])
			fprintf(out, "    zero %c\n", 'a' + i);
	}
	for (int i = 0; i < p->nsymbols; i++)
		if (p->exported[i])
			fprintf(out, "    ?%c is exported\n", "nm"[i]);
	for (int i = 0; i < p->nrows; i++)
		if (p->row_role[i] != INTERIOR)
			fprintf(out, "    %s [..%c..]\n", roles[p->row_role[i]], 'p' + i);
	for (int i = 0; i < p->ncons; i++) {
		fputs("    ", out);
		print_cons(&p->at[i], out);
		fputs("\n", out);
	}
}

static void put_values(term *t, const int *values)
{
	for (int i = 0; i < t->nparts; i++)
		if (!t->part[i].is_var && is_symbol(t->part[i].code))
			t->part[i].code = (int16_t)ATOM(values[symbol_of(t->part[i].code)], t->part[i].code & 3);
}

static void put_row_values(flat_row *r, const int *values)
{
	for (int i = 0; i < r->nlead; i++)
		put_values(&r->lead[i], values);
	for (int i = 0; i < r->ntrail; i++)
		put_values(&r->trail[i], values);
}

problem problem_at(const problem *p, const int *values)
{
	problem out = *p;
	out.nsymbols = 0;
	for (int i = 0; i < out.ncons; i++) {
		put_values(&out.at[i].a, values);
		put_values(&out.at[i].b, values);
		put_row_values(&out.at[i].ra, values);
		put_row_values(&out.at[i].rb, values);
	}
	return out;
}
