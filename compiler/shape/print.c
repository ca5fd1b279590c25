/* Shapes, rows and constraints as text: spec notation for what is solved, labels or 'a for what is not. */
#include "store.h"
#include <string.h>

static const char *const kind_names[] = {"batch", "input", "output"};

void tsr_size_text(tsr_store *s, tsr_text *t, tsr_size x)
{
	x = tsr_size_normal(s, x);
	bool first = true;
	for (uint32_t i = 0; i < x.nterms; i++) {
		const tsr_symbol *sym = &s->symbols.at[x.terms[i].symbol];
		int64_t c = x.terms[i].coef;
		tsr_text_add(t, c < 0 ? "-" : first ? "" : "+");
		if (c != 1 && c != -1)
			tsr_text_addf(t, "%lld*", (long long)(c < 0 ? -c : c));
		first = false;
		if (!sym->derived) {
			tsr_text_addf(t, "%s%s", sym->config ? "" : "?", sym->name ? sym->name : "");
			continue;
		}
		tsr_text_add(t, sym->dividend.nterms + (sym->dividend.k != 0) > 1 ? "((" : "(");
		tsr_size_text(s, t, sym->dividend);
		tsr_text_addf(t, "%s/%lld)", sym->dividend.nterms + (sym->dividend.k != 0) > 1 ? ")" : "", (long long)sym->divisor);
	}
	if (first)
		tsr_text_addf(t, "%lld", (long long)x.k);
	else if (x.k)
		tsr_text_addf(t, "%+lld", (long long)x.k);
}

static void var_text(tsr_text *t, tsr_name label, uint32_t var)
{
	if (label)
		tsr_text_add(t, label);
	else if (var < 26)
		tsr_text_addf(t, "'%c", 'a' + (char)var);
	else
		tsr_text_addf(t, "'%c%u", 'a' + (char)(var % 26), var / 26);
}

static void coefficient(tsr_text *t, int64_t coef, tsr_name name)
{
	bool compound = name && strpbrk(name, "+- ");
	if (coef != 1)
		tsr_text_addf(t, "%lld*", (long long)coef);
	if (name)
		tsr_text_addf(t, compound ? "(%s)*" : "%s*", name);
}

void tsr_affine_text(tsr_text *t, const tsr_affine *a, tsr_dim_writer *write, void *ctx)
{
	bool position = a->over.kind == TSR_DIM_UNIT;          /* one, and no axis that is gone along */
	if (a->runtime_name) {
		coefficient(t, a->times, a->times_name);
		tsr_text_addf(t, "@%s%s", a->runtime_name, position ? "" : "+");
	}
	if (!position) {
		coefficient(t, a->stride, a->stride_name);
		write(ctx, t, a->over);
	}
	if (a->has_kernel) {
		tsr_text_add(t, a->pad == TSR_PAD_SAME ? "=+" : "<+");
		coefficient(t, a->dilation, a->dilation_name);
		write(ctx, t, a->kernel);
	}
	if (a->offset)
		tsr_text_addf(t, "%+lld", (long long)a->offset);
	if (a->offset_name)
		tsr_text_addf(t, "+%s", a->offset_name);
	if (a->runtime && !a->runtime_name)
		tsr_text_add(t, "+@");
}

static void write_dim(void *ctx, tsr_text *t, tsr_dim d) { tsr_dim_text(ctx, t, d); }

void tsr_dim_text(tsr_store *s, tsr_text *t, tsr_dim d)
{
	d = tsr_dim_find(s, d);
	switch (d.kind) {
	case TSR_DIM_VAR: var_text(t, s->dims.at[d.var].label, d.var); return;
	case TSR_DIM_ATOM:
		if (d.atom.basis)
			tsr_text_addf(t, "%s:", d.atom.basis);
		tsr_size_text(s, t, d.atom.size);
		return;
	case TSR_DIM_UNIT: tsr_text_add(t, "1*"); return;
	case TSR_DIM_ZERO: tsr_text_add(t, "0"); return;
	case TSR_DIM_POISON: tsr_text_add(t, "!"); return;
	case TSR_DIM_AFFINE: tsr_affine_text(t, d.affine, write_dim, s); return;
	case TSR_DIM_CONCAT:
		for (uint32_t i = 0; i < d.concat.n; i++) {
			if (i)
				tsr_text_char(t, '^');
			tsr_dim_text(s, t, d.concat.at[i]);
		}
		return;
	}
}

/* Axes separated by commas, `..r3..` for a row variable, `!` for what an error touched; markers do not show. */
void tsr_row_text(tsr_store *s, tsr_text *t, tsr_row r)
{
	bool poison = false;
	const char *comma = "";
	r = tsr_row_find(s, r, &poison);
	for (uint32_t i = 0; i < r.nlead; i++, comma = ", ") {
		tsr_text_add(t, comma);
		tsr_dim_text(s, t, r.lead[i]);
	}
	if (tsr_row_open(r)) {
		tsr_text_addf(t, "%s..r%u..", comma, r.var);
		comma = ", ";
	}
	for (uint32_t i = 0; i < r.ntrail; i++, comma = ", ") {
		tsr_text_add(t, comma);
		tsr_dim_text(s, t, r.trail[i]);
	}
	if (poison)
		tsr_text_add(t, "!");
}

const char *tsr_dim_str(tsr_store *s, tsr_dim d)
{
	tsr_text t;
	tsr_text_init(&t, s->arena);
	tsr_dim_text(s, &t, d);
	return tsr_text_str(&t);
}

const char *tsr_row_str(tsr_store *s, tsr_row r)
{
	tsr_text t;
	tsr_text_init(&t, s->arena);
	tsr_text_char(&t, '[');
	tsr_row_text(s, &t, r);
	tsr_text_char(&t, ']');
	return tsr_text_str(&t);
}

/* batch | input -> output; a kind without axes is left out, with its mark where nothing follows that needs it. */
const char *tsr_shape_parts_str(tsr_store *s, const char *const *parts)
{
	const char *batch = parts[TSR_BATCH], *input = parts[TSR_INPUT], *output = parts[TSR_OUTPUT];
	tsr_text t;
	tsr_text_init(&t, s->arena);
	if (*batch)
		tsr_text_addf(&t, "%s |%s", batch, *input || *output ? " " : "");
	if (*input)
		tsr_text_addf(&t, "%s ->%s", input, *output ? " " : "");
	tsr_text_add(&t, *batch || *input || *output ? output : "()");
	return tsr_text_str(&t);
}

const char *tsr_size_str(tsr_store *s, tsr_size x)
{
	return tsr_dim_str(s, (tsr_dim){.kind = TSR_DIM_ATOM, .atom = {x, NULL}});
}

/* `place` is the axis' own in memory order. */
static void solved_axis(tsr_store *s, tsr_text *t, const tsr_solved_axis *a, char mark, uint32_t place)
{
	if (mark && !a->unit && !tsr_size_is_const(a->size))
		tsr_text_addf(t, "%s%s%c%c", a->basis ? a->basis : "", a->basis ? ":" : "", mark, (char)('A' + place));
	else
		tsr_dim_text(s, t, a->unit ? tsr_dim_unit() : (tsr_dim){.kind = TSR_DIM_ATOM, .atom = {a->size, a->basis}});
}

const char *tsr_solved_marked_str(tsr_store *s, const tsr_solved *shape, char mark)
{
	const uint32_t batch = shape->row[TSR_BATCH].n, first[TSR_KINDS] = {[TSR_OUTPUT] = batch, [TSR_INPUT] = batch + shape->row[TSR_OUTPUT].n};
	const char *parts[TSR_KINDS];
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		tsr_text t;
		tsr_text_init(&t, s->arena);
		for (uint32_t i = 0; i < shape->row[k].n; i++) {
			tsr_text_add(&t, i ? ", " : "");
			solved_axis(s, &t, &shape->row[k].axes[i], mark, first[k] + i);
		}
		parts[k] = tsr_text_str(&t);
	}
	return tsr_shape_parts_str(s, parts);
}

const char *tsr_solved_str(tsr_store *s, const tsr_solved *shape)
{
	return tsr_solved_marked_str(s, shape, 0);
}

const char *tsr_shape_str(tsr_store *s, const tsr_shape *shape)
{
	const char *parts[TSR_KINDS];
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		tsr_text t;
		tsr_text_init(&t, s->arena);
		tsr_row_text(s, &t, shape->row[k]);
		parts[k] = tsr_text_str(&t);
	}
	return tsr_shape_parts_str(s, parts);
}

static void print_cstr(tsr_store *s, const tsr_cstr *c, FILE *out)
{
	switch (c->kind) {
	case TSR_C_DIM_EQUAL: fprintf(out, "%s = %s", tsr_dim_str(s, c->dim.a), tsr_dim_str(s, c->dim.b)); break;
	case TSR_C_DIM_BELOW: fprintf(out, "%s <= %s", tsr_dim_str(s, c->dim.a), tsr_dim_str(s, c->dim.b)); break;
	case TSR_C_ROW_EQUAL: fprintf(out, "%s = %s", tsr_row_str(s, c->row.a), tsr_row_str(s, c->row.b)); break;
	case TSR_C_ROW_BELOW: fprintf(out, "%s <= %s", tsr_row_str(s, c->row.a), tsr_row_str(s, c->row.b)); break;
	case TSR_C_AT_LEAST: fprintf(out, "%s at least %lld", tsr_dim_str(s, c->at_least.d), (long long)c->at_least.n); break;
	case TSR_C_TOTAL:
		fprintf(out, "total of");
		for (uint32_t i = 0; i < c->total.n; i++)
			fprintf(out, " %s", tsr_row_str(s, c->total.rows[i]));
		if (c->total.has_dim)
			fprintf(out, " = %lld * %s", (long long)c->total.coef, tsr_dim_str(s, c->total.d));
		else
			fprintf(out, " = %s", tsr_dim_str(s, (tsr_dim){.kind = TSR_DIM_ATOM, .atom = {c->total.size, NULL}}));
		break;
	case TSR_C_AFFINE:
		fprintf(out, "%s = %s", tsr_dim_str(s, c->affine.d),
			tsr_dim_str(s, (tsr_dim){.kind = TSR_DIM_AFFINE, .affine = c->affine.term}));
		break;
	case TSR_C_CONCAT:
		fprintf(out, "%s = %s", tsr_dim_str(s, c->concat.d),
			tsr_dim_str(s, (tsr_dim){.kind = TSR_DIM_CONCAT, .concat = {c->concat.n, c->concat.at}}));
		break;
	case TSR_C_LOOKUP:
		fprintf(out, "lookup %s in %s | %s", tsr_dim_str(s, c->lookup.d), tsr_row_str(s, c->lookup.batch), tsr_row_str(s, c->lookup.input));
		fprintf(out, " leaves %s | %s", tsr_row_str(s, c->lookup.rest_batch), tsr_row_str(s, c->lookup.rest_input));
		break;
	case TSR_C_JOIN:
		fprintf(out, "%s = %s then %s", tsr_row_str(s, c->join.whole), tsr_row_str(s, c->join.front), tsr_row_str(s, c->join.back));
		break;
	case TSR_C_SOURCE: break;
	}
}

/* The file name is left out and the columns are kept, so that a dump depends on the program alone. */
static void print_why(tsr_store *s, const tsr_cstr *c, FILE *out)
{
	if (c->why->what)
		fprintf(out, "   %s", c->why->what);
	if (c->kind_a != TSR_KINDS)
		fprintf(out, " %s", kind_names[c->kind_a]);
	if (c->operand >= 0)
		fprintf(out, " operand %d", c->operand + 1);
	if (c->why->span.file) {
		tsr_position p = tsr_position_of(s->tc, c->why->span);
		fprintf(out, "   line %u:%u", p.line, p.column);
	}
	fputc('\n', out);
}

void tsr_store_print(tsr_store *s, FILE *out)
{
	for (uint32_t i = 0; i < s->emitted.n; i++) {
		const tsr_cstr *c = s->cstrs.at[s->emitted.at[i]];
		fprintf(out, "%s ", c->done ? " " : "?");
		print_cstr(s, c, out);
		print_why(s, c, out);
	}
	for (uint32_t i = 0; i < s->leaves.n; i++)
		fprintf(out, "%s : %s\n", s->leaves.at[i].name ? s->leaves.at[i].name : "_", tsr_shape_str(s, &s->leaves.at[i].shape));
	for (uint32_t i = 0; i < s->conditions.n; i++) {
		const tsr_condition *c = &s->conditions.at[i];
		fprintf(out, "at run time %s %s %s\n", tsr_dim_str(s, (tsr_dim){.kind = TSR_DIM_ATOM, .atom = {c->left, NULL}}),
			c->kind == TSR_CONDITION_EQUAL ? "=" : ">=",
			tsr_dim_str(s, (tsr_dim){.kind = TSR_DIM_ATOM, .atom = {c->right, NULL}}));
	}
}
