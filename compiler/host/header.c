/* The C header that `tsrc -c` writes: for each exported function its declaration, and above it what the caller must know: shapes,
 * memory, the sizes that it takes, how it can fail. */
#include "host.h"
#include <string.h>

static const char *c_type(tsr_prec p)
{
	switch (p) {
	case TSR_PREC_BOOL: return "bool";
	case TSR_PREC_U8: case TSR_PREC_F8: return "uint8_t";
	case TSR_PREC_I8: return "int8_t";
	case TSR_PREC_I16: return "int16_t";
	case TSR_PREC_I32: return "int32_t";
	case TSR_PREC_U32: return "uint32_t";
	case TSR_PREC_I64: return "int64_t";
	case TSR_PREC_F16: case TSR_PREC_BF16: return "uint16_t";
	case TSR_PREC_F32: return "float";
	case TSR_PREC_F64: return "double";
	case TSR_PREC_NONE: case TSR_PRECS: break;
	}
	tsr_bug("a precision that C does not have");
}

/* A size as a C expression would say it: "2*n + 1"; "n / 2" for what a stride leaves. */
static void size(const tsr_host *h, const tsr_host_export *x, tsr_size s, FILE *out)
{
	bool first = true;
	for (uint32_t i = 0; i < s.nterms; i++) {
		const tsr_symbol *y = tsr_store_symbol_get(h->graph->store, s.terms[i].symbol);
		int64_t c = s.terms[i].coef, many = c < 0 ? -c : c;
		fputs(first ? c < 0 ? "-" : "" : c < 0 ? " - " : " + ", out);
		if (many != 1)
			fprintf(out, "%lld*", (long long)many);
		first = false;
		if (y->derived) {
			bool alone = y->dividend.nterms == 1 && y->dividend.k == 0 && y->dividend.terms[0].coef == 1;
			fputs(alone ? "" : "(", out);
			size(h, x, y->dividend, out);
			fprintf(out, "%s/%lld", alone ? "" : ")", (long long)y->divisor);
			continue;
		}
		const char *name = y->name;
		for (uint32_t k = 0; k < x->args.n; k++)
			if (x->args.at[k].kind == TSR_C_SIZE && x->args.at[k].of == s.terms[i].symbol)
				name = x->args.at[k].name;
		fputs(name, out);
	}
	if (first)
		fprintf(out, "%lld", (long long)s.k);
	else if (s.k)
		fprintf(out, s.k < 0 ? " - %lld" : " + %lld", (long long)(s.k < 0 ? -s.k : s.k));
}

static uint32_t rank(const tsr_tensor *t)
{
	return t->solved.row[TSR_BATCH].n + t->solved.row[TSR_OUTPUT].n + t->solved.row[TSR_INPUT].n;
}

/* "n x 64", in memory order. */
static void dims(const tsr_host *h, const tsr_host_export *x, const tsr_tensor *t, FILE *out)
{
	static const tsr_kind order[] = {TSR_BATCH, TSR_OUTPUT, TSR_INPUT};
	const char *before = "";
	for (int k = 0; k < TSR_KINDS; k++)
		for (uint32_t i = 0; i < t->solved.row[order[k]].n; i++) {
			fputs(before, out);
			size(h, x, t->solved.row[order[k]].axes[i].size, out);
			before = " x ";
		}
	if (!*before)
		fputs("one element", out);
}

static void format_note(tsr_prec p, FILE *out)
{
	if (p == TSR_PREC_F16 || p == TSR_PREC_BF16 || p == TSR_PREC_F8)
		fprintf(out, ", the bits of %s numbers", tsr_prec_name(p));
}

static tsr_prec prec_of(const tsr_host *h, const tsr_c_arg *a)
{
	const tsr_tensor *t = tsr_tensor_get(h->graph, a->of);
	return a->part == TSR_PART_VALUE ? t->prec : t->prec == TSR_PREC_F64 ? TSR_PREC_F64 : TSR_PREC_F32;
}

static void describe(const tsr_host *h, const tsr_host_export *x, const tsr_c_arg *a, FILE *out)
{
	const tsr_tensor *t = tsr_tensor_get(h->graph, a->of);
	switch (a->kind) {
	case TSR_C_SIZE:
		return;
	case TSR_C_NUMBER:
		fprintf(out, " *   %-10s a number\n", a->name);
		return;
	case TSR_C_INPUT: case TSR_C_RESULT:
		fprintf(out, " *   %-10s ", a->name);
		dims(h, x, t, out);
		format_note(prec_of(h, a), out);
		fprintf(out, a->kind == TSR_C_RESULT ? "; the function fills it, unless it is NULL\n" : "\n");
		return;
	}
}

/* Text of the program may hold what would end the comment. */
static const char *in_comment(const tsr_host *h, const char *text)
{
	char *s = tsr_strdup(h->graph->tc->arena, text);
	for (char *c = s; *c; c++)
		if (c[0] == '*' && c[1] == '/')
			c[1] = '|';
	return s;
}

static void conditions(const tsr_host *h, const tsr_host_export *x, FILE *out)
{
	tsr_host_condition *all;
	uint32_t n = tsr_host_conditions(h->graph, (tsr_owner)(x - h->exports.at), &all);
	if (n)
		fprintf(out, " * It takes only sizes for which\n");
	for (uint32_t i = 0; i < n; i++) {
		fprintf(out, " *   %s", all[i].fact);
		if (all[i].span.file) {
			tsr_position p = tsr_position_of(h->graph->tc, all[i].span);
			fprintf(out, ", because of %s (%s:%u:%u)", in_comment(h, all[i].who), p.path, p.line, p.column);
		}
		fputc('\n', out);
	}
}

/* "?n | 64 f32": an axis of one position is 1 to C, whether it claims that or not; a scalar is its precision. */
static const char *spec_text(const tsr_host *h, const tsr_c_arg *a)
{
	const tsr_tensor *t = tsr_tensor_get(h->graph, a->of);
	char *s = tsr_strdup(h->graph->tc->arena, tsr_solved_str(h->graph->store, &t->solved)), *to = s;
	for (const char *from = s; *from; from++)
		if (*from != '*' || to == s || to[-1] != '1' || (from[1] && !strchr(" ,", from[1])))
			*to++ = *from;
	*to = 0;
	return tsr_format(h->graph->tc->arena, "%s%s%s", rank(t) ? s : "", rank(t) ? " " : "", tsr_prec_name(prec_of(h, a)));
}

static const char *one_line(const tsr_host *h, const tsr_host_export *x)
{
	tsr_text t;
	const char *before = "";
	tsr_text_init(&t, h->graph->tc->arena);
	for (uint32_t i = 0; i < x->args.n; i++) {
		const tsr_c_arg *a = &x->args.at[i];
		if (a->kind == TSR_C_INPUT)
			tsr_text_addf(&t, " (%s : %s)", a->name, spec_text(h, a));
		else if (a->kind == TSR_C_NUMBER)
			tsr_text_addf(&t, " (%s : %s)", a->name, h->graph->numbers.at[a->of]->integer ? "i64" : "f64");
	}
	for (uint32_t i = 0; i < x->args.n; i++)
		if (x->args.at[i].kind == TSR_C_RESULT) {
			tsr_text_addf(&t, "%s%s", *before ? before : " = ", spec_text(h, &x->args.at[i]));
			before = ", ";
		}
	return tsr_text_str(&t);
}

static void parameters(const tsr_host *h, const tsr_host_export *x, FILE *out)
{
	for (uint32_t i = 0; i < x->args.n; i++) {
		const tsr_c_arg *a = &x->args.at[i];
		fputs(", ", out);
		switch (a->kind) {
		case TSR_C_SIZE: fprintf(out, "int64_t %s", a->name); break;
		case TSR_C_NUMBER: fprintf(out, "%s %s", h->graph->numbers.at[a->of]->integer ? "int64_t" : "double", a->name); break;
		case TSR_C_INPUT: fprintf(out, "const %s *%s", c_type(prec_of(h, a)), a->name); break;
		case TSR_C_RESULT: fprintf(out, "%s *%s", c_type(prec_of(h, a)), a->name); break;
		}
	}
}

/* What malloc needs to know before a call. */
static void size_function(const tsr_host *h, const tsr_host_export *x, const tsr_c_arg *a, const char *name, bool shape, FILE *out)
{
	const char *before = "";
	uint32_t n = rank(tsr_tensor_get(h->graph, a->of));
	fprintf(out, "int64_t %s(", name);
	if (tsr_host_size_of_file(h, x, a)) {
		fputs("tsr_context *ctx", out);
		before = ", ";
	}
	for (uint32_t i = 0; i < x->args.n; i++)
		if (x->args.at[i].kind == TSR_C_SIZE) {
			fprintf(out, "%sint64_t %s", before, x->args.at[i].name);
			before = ", ";
		}
	if (shape)
		fprintf(out, "%sint64_t shape[%u]", before, n ? n : 1);
	fputs(!shape && !*before ? "void);\n" : ");\n", out);
}

static void size_functions(const tsr_host *h, const tsr_host_export *x, const tsr_c_arg *a, const char *prefix, FILE *out)
{
	const char *stem = tsr_format(h->graph->tc->arena, "%s_%s", prefix, tsr_host_size_name(h, x, a));
	size_function(h, x, a, tsr_format(h->graph->tc->arena, "%s_elements", stem), false, out);
	size_function(h, x, a, tsr_format(h->graph->tc->arena, "%s_shape", stem), true, out);
}

static void declaration(const tsr_host *h, const tsr_host_export *x, const char *prefix, FILE *out)
{
	fprintf(out, "\n/* %s%s\n", x->name, one_line(h, x));
	for (uint32_t i = 0; i < x->args.n; i++)
		describe(h, x, &x->args.at[i], out);
	conditions(h, x, out);
	fprintf(out, " */\nint %s_%s(tsr_context *ctx", prefix, x->name);
	parameters(h, x, out);
	fprintf(out, ");\n");
	for (uint32_t i = 0; i < x->args.n; i++)
		if (x->args.at[i].kind == TSR_C_RESULT)
			size_functions(h, x, &x->args.at[i], prefix, out);
}

static const char about[] =
	"/* How to use it: open a context, call the functions with it, tsr_close it.\n"
	" *   - Every function that returns an int returns a tsr_status: TSR_OK (0), or what failed, and tsr_last_error(ctx) says why.\n"
	" *     A failed call leaves the context usable.  Nothing here ends the process.\n"
	" *   - An array is contiguous, its last axis varies fastest; shapes below are in that order.  Inputs are only read, during\n"
	" *     the call; results are written at its end, so one may be the memory of an input.  No pointer is kept.\n"
	" *   - A size is at least 1.  NAME_elements tells how many elements a result has, NAME_shape also writes its sizes unless\n"
	" *     `shape` is NULL; both are -1 for sizes that the function does not take.\n"
	" *   - Contexts share nothing: each may be used by a thread of its own. */\n";

void tsr_host_header(const tsr_host *h, const tsr_header_text *what, FILE *out)
{
	bool exports = h && h->exports.n;
	fprintf(out, "/* %s, compiled by tsrc %s for %s. */\n", in_comment(h, what->input), TSR_VERSION, what->made_for);
	if (exports)
		fprintf(out, "#ifndef TSR_GENERATED_%s_H\n#define TSR_GENERATED_%s_H\n#include <stdbool.h>\n#include <stdint.h>\n#include \"tsr.h\"\n\n%s",
			what->prefix, what->prefix, about);
	fprintf(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
	if (what->entry)
		fprintf(out, "/* Runs the program with its arguments; its exit status. */\nint %s_main(int argc, char **argv);\n", what->prefix);
	if (exports)
		fprintf(out, "\n/* Gives a new context: reads the data files, initialises the parameters.  `config` may be NULL (see tsr.h).  After a failure\n"
			" * *ctx is for tsr_last_error and tsr_close only; it is NULL when there was no memory for it. */\n"
			"int %s_open(tsr_context **ctx, const tsr_config *config);\n", what->prefix);
	for (uint32_t i = 0; exports && i < h->exports.n; i++)
		declaration(h, &h->exports.at[i], what->prefix, out);
	fprintf(out, "%s#ifdef __cplusplus\n}\n#endif\n%s", exports ? "\n" : "", exports ? "#endif\n" : "");
}
