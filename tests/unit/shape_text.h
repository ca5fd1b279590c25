/* Shape problems as text, for the table tests of shape/: no front end takes part.
 *
 * Dimensions: 3, rgb:3, 1* (claim-free), ?n (local symbol), !n (exported symbol), 0, a (a variable), a^2^b, and
 * {2*o<+3*k} {2*o=+k} {2*o+1} {4*@+o}. Rows: [3, ..r.., a]; `.` marks the marker of a closed row, which is at its left
 * edge otherwise. Shapes: three rows, b[..] i[..] o[..], each kind left out is empty, `?` after a kind leaves it open.
 *
 * Statements, separated by newlines:
 *     d = d   d <= d   d >= 3   R = R   R <= R   total R R = d   total R = 4 * d
 *     leaf R   param R   inparam R                    rows of leaves
 *     zero a                                          a discardable component
 *     tensor x SHAPE   leaf: x SHAPE   param: x SHAPE
 *     c = x . y ...  (pointwise)    c = x * y    c = x * y + z    c = transpose x    c = gather x . ids . places    c = x ; y "spec"
 *     in order                                        at the beginning: the order of the lines is part of the case
 *     set a 3   set ..r.. 12   equal a ..r..          labels of the spec before */
#ifndef TSR_TESTS_SHAPE_TEXT_H
#define TSR_TESTS_SHAPE_TEXT_H
#include "../../compiler/shape/shape.h"
#include "check.h"
#include <ctype.h>
#include <stdlib.h>

typedef struct named { char name[24]; enum { IS_DIM, IS_ROW, IS_SHAPE, IS_SYMBOL } kind; tsr_dim dim; tsr_row row; tsr_shape shape; uint32_t symbol; } named;

typedef struct problem {
	tsr_compiler *tc;
	tsr_store *s;
	named names[256];
	uint32_t n, file, line_start;
	const char *text;                /* the whole text, for spans */
	const char *at;
	tsr_rule rule;                   /* the last spec */
} problem;

static void skip(problem *p) { while (*p->at == ' ' || *p->at == '\t') p->at++; }
static bool eat(problem *p, const char *word)
{
	skip(p);
	if (strncmp(p->at, word, strlen(word)) || (isalpha((unsigned char)*word) && isalnum((unsigned char)p->at[strlen(word)])))
		return false;
	p->at += strlen(word);
	return true;
}

static tsr_name word(problem *p)
{
	skip(p);
	const char *b = p->at;
	while (isalnum((unsigned char)*p->at) || *p->at == '_')
		p->at++;
	return tsr_intern_n(p->tc->names, b, (size_t)(p->at - b));
}

static named *name_of(problem *p, tsr_name name, int kind, bool *fresh)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (!strcmp(p->names[i].name, name) && (int)p->names[i].kind == kind)
			return *fresh = false, &p->names[i];
	named *it = &p->names[p->n++];
	memset(it, 0, sizeof *it);
	snprintf(it->name, sizeof it->name, "%s", name);
	it->kind = (unsigned)kind;
	*fresh = true;
	return it;
}

static tsr_dim dim_named(problem *p, tsr_name name)
{
	bool fresh;
	named *it = name_of(p, name, IS_DIM, &fresh);
	if (fresh)
		it->dim = tsr_dim_fresh(p->s, name, TSR_NOWHERE);
	return it->dim;
}

static int64_t number(problem *p) { return strtoll(p->at, (char **)&p->at, 10); }
static tsr_dim parse_dim(problem *p);

/* {2*o<+3*k}, {2*o=+k}, {2*o+1}, {4*@+o} */
static tsr_dim parse_affine(problem *p)
{
	tsr_affine a = {.stride = 1, .dilation = 1};
	skip(p);
	if (isdigit((unsigned char)*p->at)) {
		a.stride = number(p);
		eat(p, "*");
	}
	if (eat(p, "@+")) {
		a.runtime = true;
		a.stride = 1;
	}
	a.over = parse_dim(p);
	if (eat(p, "<+") || eat(p, "=+")) {
		a.pad = p->at[-2] == '<' ? TSR_PAD_VALID : TSR_PAD_SAME;
		a.has_kernel = true;
		skip(p);
		if (isdigit((unsigned char)*p->at) && strchr(p->at, '*') && strchr(p->at, '*') < strchr(p->at, '}')) {
			a.dilation = number(p);
			eat(p, "*");
		}
		a.kernel = parse_dim(p);
	}
	if (eat(p, "+"))
		a.offset = number(p);
	eat(p, "}");
	return tsr_dim_affine(p->s, a);
}

/* ?n, !n */
static tsr_dim symbol(problem *p, tsr_name basis)
{
	bool fresh, exported = *p->at++ == '!';
	named *it = name_of(p, word(p), IS_SYMBOL, &fresh);
	if (fresh)
		it->symbol = tsr_store_symbol(p->s, tsr_intern(p->tc->names, it->name), TSR_NOWHERE, exported);
	return tsr_dim_symbol(p->s, it->symbol, basis);
}

static tsr_dim parse_one(problem *p)
{
	skip(p);
	if (eat(p, "{"))
		return parse_affine(p);
	if (eat(p, "1*"))
		return tsr_dim_unit();
	if (*p->at == '?' || *p->at == '!')
		return symbol(p, NULL);
	if (isdigit((unsigned char)*p->at))
		return tsr_dim_atom(number(p), NULL);
	tsr_name name = word(p);
	if (*p->at == ':' && isdigit((unsigned char)p->at[1])) {
		p->at++;
		return tsr_dim_atom(number(p), name);
	}
	if (*p->at == ':') {
		p->at++;
		return symbol(p, name);
	}
	return dim_named(p, name);
}

static tsr_dim parse_dim(problem *p)
{
	tsr_dim parts[8];
	uint32_t n = 0;
	do
		parts[n++] = parse_one(p);
	while (n < 8 && eat(p, "^"));
	return n == 1 ? parts[0] : tsr_dim_concat(p->s, n, parts);
}

static tsr_row row_named(problem *p, tsr_name name)
{
	bool fresh;
	named *it = name_of(p, name, IS_ROW, &fresh);
	if (fresh)
		it->row = tsr_row_fresh(p->s);
	return it->row;
}

/* After the `[`. */
static tsr_row parse_row(problem *p)
{
	tsr_dim axes[16];
	uint32_t n = 0, marker = 0, var = TSR_NO_ROW;
	while (!eat(p, "]")) {
		eat(p, ",");
		if (eat(p, "..")) {
			var = row_named(p, word(p)).var;
			eat(p, "..");
			marker = n;
		} else if (eat(p, ".")) {
			marker = n;
		} else if (*p->at != ']') {
			axes[n++] = parse_dim(p);
		}
	}
	tsr_row lead = tsr_row_closed(p->s, marker, axes), trail = tsr_row_closed(p->s, n - marker, axes + marker);
	return (tsr_row){.nlead = marker, .ntrail = n - marker, .lead = lead.trail, .trail = trail.trail, .var = var};
}

static tsr_shape parse_shape(problem *p)
{
	static const char *const kinds[] = {"b", "i", "o"};
	tsr_shape shape;
	for (int k = 0; k < TSR_KINDS; k++) {
		shape.row[k] = tsr_row_closed(p->s, 0, NULL);
		skip(p);
		if (*p->at == *kinds[k] && p->at[1] == '[') {
			p->at += 2;
			shape.row[k] = parse_row(p);
		} else if (*p->at == *kinds[k] && p->at[1] == '?') {
			p->at += 2;
			shape.row[k] = tsr_row_fresh(p->s);
		}
	}
	return shape;
}

/* ---- specs, in identifier mode ----------------------------------------------------------------------------------- */

static tsr_axis parse_axis(problem *p)
{
	tsr_axis a = {.kind = TSR_AXIS_LABEL};
	skip(p);
	int64_t coef = isdigit((unsigned char)*p->at) ? number(p) : 0;
	if (coef && !eat(p, "*") && *p->at != '^')
		return a.kind = TSR_AXIS_FIXED, a.size = coef, a;
	if (p->at[-1] == '0' && !coef)
		return a.kind = TSR_AXIS_FIXED, a;
	if (eat(p, "_"))
		return a.kind = TSR_AXIS_WILD, a;
	bool counted = coef && *p->at == '^', runtime = !counted && eat(p, "@");
	tsr_name first = counted ? NULL : word(p);
	skip(p);
	if (*p->at == '^') {
		a.kind = TSR_AXIS_CONCAT;
		a.concat.at = TSR_NEW_N(p->tc->arena, tsr_component, 8);
		a.concat.at[a.concat.n++] = (tsr_component){.label = first, .size = coef};
		while (eat(p, "^")) {
			skip(p);
			tsr_component c = {0};
			if (isdigit((unsigned char)*p->at))
				c.size = number(p);
			else
				c.label = word(p);
			a.concat.at[a.concat.n++] = c;
		}
		return a;
	}
	bool kernel = !strncmp(p->at, "<+", 2) || !strncmp(p->at, "=+", 2), plus = *p->at == '+';
	if (!coef && !kernel && !plus && !runtime)
		return a.label = first, a;
	a.kind = TSR_AXIS_AFFINE;
	a.affine.over = (tsr_term){.coef = coef ? coef : 1, .label = first};
	a.affine.kernel.coef = 1;
	if (runtime) {
		a.affine.runtime = (tsr_term){.coef = coef ? coef : 1, .label = first, .runtime = true};
		a.affine.over = (tsr_term){.coef = 1};
		if (eat(p, "+"))
			a.affine.over.label = word(p);
		return a;
	}
	if (kernel) {
		a.affine.pad = *p->at == '<' ? TSR_PAD_VALID : TSR_PAD_SAME;
		p->at += 2;
		skip(p);
		if (isdigit((unsigned char)*p->at)) {
			a.affine.kernel.coef = number(p);
			eat(p, "*");
		}
		a.affine.kernel.label = word(p);
	}
	if (eat(p, "+"))
		a.affine.offset = number(p);
	return a;
}

/* A row up to `|`, `->`, `;`, `=>` or the closing quote; `kind` names what `...` means. */
static tsr_spec_row parse_spec_row(problem *p)
{
	tsr_spec_row r = {0};
	tsr_axis *axes = TSR_NEW_N(p->tc->arena, tsr_axis, 16);
	uint32_t n = 0;
	for (;;) {
		skip(p);
		if (strchr("|;\"", *p->at) || !strncmp(p->at, "->", 2) || !strncmp(p->at, "=>", 2))
			break;
		if (eat(p, ","))
			continue;
		if (eat(p, "...")) {
			r.var = "";
			r.nlead = n;
		} else if (eat(p, "..")) {
			r.var = word(p);
			eat(p, "..");
			r.nlead = n;
		} else {
			axes[n++] = parse_axis(p);
		}
	}
	if (!r.var)
		r.nlead = n;             /* as the parser of specs leaves a closed row */
	r.lead = axes;
	r.ntrail = n - r.nlead;
	r.trail = axes + r.nlead;
	return r;
}

static tsr_spec_slot parse_slot(problem *p)
{
	tsr_spec_slot slot = {0};
	tsr_spec_row r = parse_spec_row(p);
	if (eat(p, "|")) {
		slot.row[TSR_BATCH] = r;
		r = parse_spec_row(p);
	}
	if (eat(p, "->")) {
		slot.row[TSR_INPUT] = r;
		r = parse_spec_row(p);
	}
	slot.row[TSR_OUTPUT] = r;
	static const char *const kinds[] = {"batch", "input", "output"};
	for (int k = 0; k < TSR_KINDS; k++)
		if (slot.row[k].var && !*slot.row[k].var)
			slot.row[k].var = tsr_intern(p->tc->names, kinds[k]);
	return slot;
}

/* After the opening quote. */
static tsr_spec *parse_spec(problem *p)
{
	tsr_spec *spec = TSR_NEW(p->tc->arena, tsr_spec);
	spec->operands = TSR_NEW_N(p->tc->arena, tsr_spec_slot, 8);
	do
		spec->operands[spec->noperands++] = parse_slot(p);
	while (eat(p, ";"));
	eat(p, "=>");
	spec->result = parse_slot(p);
	eat(p, "\"");
	return spec;
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static tsr_why why_here(problem *p, const char *what)
{
	const char *end = strchr(p->text + p->line_start, '\n');
	uint32_t to = end ? (uint32_t)(end - p->text) : (uint32_t)strlen(p->text);
	return (tsr_why){.span = {p->file, p->line_start, to}, .what = what};
}

static tsr_shape *shape_named(problem *p, tsr_name name)
{
	bool fresh;
	named *it = name_of(p, name, IS_SHAPE, &fresh);
	if (fresh)
		it->shape = tsr_shape_fresh(p->s);
	return &it->shape;
}

static void do_operation(problem *p, tsr_name result)
{
	tsr_rule rule = {.why = why_here(p, "`op`")};
	rule.why.result = result;
	tsr_shape xs[4];
	bool transpose = eat(p, "transpose"), gather = eat(p, "gather"), spec = false;
	do {
		tsr_name x = word(p);
		if (rule.noperands < 3)
			rule.why.operands[rule.noperands] = x;
		xs[rule.noperands++] = *shape_named(p, x);
		if (eat(p, "* ")) {
			rule.logic = TSR_LOGIC_COMPOSE;
			p->at -= 1;
			continue;
		}
		if (eat(p, "+ ")) {
			rule.logic = TSR_LOGIC_COMPOSE_ACC;
			continue;
		}
		spec |= eat(p, ";");
		skip(p);
		if (*p->at == '"') {
			p->at++;
			rule.logic = TSR_LOGIC_SPEC;
			rule.spec = parse_spec(p);
			break;
		}
		eat(p, ".");
		skip(p);
	} while (*p->at && *p->at != '\n');
	if (transpose)
		rule.logic = TSR_LOGIC_TRANSPOSE;
	if (gather)
		rule.logic = TSR_LOGIC_GATHER;
	tsr_emit_rule(p->s, &rule, shape_named(p, result), xs);
	p->rule = rule;
	(void)spec;
}

static const tsr_label *label_here(problem *p)
{
	bool row = eat(p, "..");
	tsr_name name = word(p);
	if (row)
		eat(p, "..");
	const tsr_label *l = tsr_rule_label(&p->rule, name);
	if (!l)
		printf("no label %s\n", name);
	return l;
}

static void do_tensor(problem *p, int leaf)
{
	tsr_name name = word(p);
	tsr_shape shape = parse_shape(p), *to = shape_named(p, name);
	*to = shape;
	if (leaf)
		tsr_store_leaf(p->s, to, leaf == 2 ? TSR_LEAF_PARAM : TSR_LEAF_PLAIN, name, why_here(p, NULL).span);
	else
		tsr_store_interior(p->s, to, name, why_here(p, NULL).span);
}

static void do_leaf_row(problem *p, tsr_leaf_kind kind, tsr_kind where)
{
	skip(p);
	if (*p->at == '[') {
		p->at++;
		tsr_shape shape;
		for (int k = 0; k < TSR_KINDS; k++)
			shape.row[k] = tsr_row_closed(p->s, 0, NULL);
		shape.row[where] = parse_row(p);
		tsr_store_leaf(p->s, &shape, kind, NULL, why_here(p, NULL).span);
	}
}

static void do_total(problem *p)
{
	tsr_row rows[3];
	uint32_t n = 0;
	while (eat(p, "["))
		rows[n++] = parse_row(p);
	eat(p, "=");
	tsr_dim d = parse_dim(p);
	if (eat(p, "*"))
		tsr_emit_total_of(p->s, n, rows, d.atom.size.k, parse_dim(p), why_here(p, "`total`"));
	else
		tsr_emit_total(p->s, n, rows, d.atom.size, why_here(p, "`total`"));
}

static void do_relation(problem *p)
{
	skip(p);
	if (*p->at == '[') {
		p->at++;
		tsr_row a = parse_row(p);
		bool below = eat(p, "<=");
		if (!below)
			eat(p, "=");
		eat(p, "[");
		tsr_row b = parse_row(p);
		if (below)
			tsr_emit_row_below(p->s, a, b, why_here(p, "`row`"));
		else
			tsr_emit_row_equal(p->s, a, b, why_here(p, "`row`"));
		return;
	}
	tsr_dim a = parse_dim(p);
	if (eat(p, ">=")) {
		skip(p);
		tsr_emit_at_least(p->s, a, number(p), why_here(p, "`at least`"));
	} else if (eat(p, "<=")) {
		tsr_emit_dim_below(p->s, a, parse_dim(p), why_here(p, "`dim`"));
	} else if (eat(p, "=")) {
		tsr_emit_dim_equal(p->s, a, parse_dim(p), why_here(p, "`dim`"));
	}
}

/* One line; a capital letter or a known tensor on the left makes it an operation. */
static void do_line(problem *p)
{
	if (eat(p, "in order")) {
		return;
	} else if (eat(p, "leaf:")) {
		do_tensor(p, 1);
	} else if (eat(p, "param:")) {
		do_tensor(p, 2);
	} else if (eat(p, "tensor")) {
		do_tensor(p, 0);
	} else if (eat(p, "leaf")) {
		do_leaf_row(p, TSR_LEAF_PLAIN, TSR_OUTPUT);
	} else if (eat(p, "param")) {
		do_leaf_row(p, TSR_LEAF_PARAM, TSR_OUTPUT);
	} else if (eat(p, "inparam")) {
		do_leaf_row(p, TSR_LEAF_PARAM, TSR_INPUT);
	} else if (eat(p, "total")) {
		do_total(p);
	} else if (eat(p, "zero")) {
		tsr_dim_discardable(p->s, dim_named(p, word(p)));
	} else if (eat(p, "set")) {
		const tsr_label *l = label_here(p);
		skip(p);
		tsr_emit_set_label(p->s, l, tsr_size_const(number(p)), why_here(p, "`set_dim`"));
	} else if (eat(p, "equal")) {
		const tsr_label *a = label_here(p), *b = label_here(p);
		tsr_emit_equal_labels(p->s, a, b, why_here(p, "`set_equal`"));
	} else {
		const char *start = p->at;
		skip(p);
		if (isupper((unsigned char)*p->at)) {
			tsr_name result = word(p);
			if (eat(p, "=")) {
				do_operation(p, result);
				return;
			}
		}
		p->at = start;
		do_relation(p);
	}
}

/* ---- running and judging ----------------------------------------------------------------------------------------- */

#define MOST_LINES 32

static uint32_t split(const char *text, uint32_t starts[MOST_LINES])
{
	uint32_t n = 0, at = 0;
	while (text[at]) {
		starts[n++] = at;
		at += (uint32_t)strcspn(text + at, "\n");
		at += text[at] == '\n';
	}
	return n;
}

/* Runs the lines in the given order and closes. */
static void run_lines(problem *p, const char *text, uint32_t n, const uint32_t *starts, const uint32_t *order)
{
	memset(p, 0, sizeof *p);
	p->tc = tsr_compiler_new();
	p->file = tsr_source_add(p->tc, "t.tsr", text, strlen(text));
	p->text = text;
	p->s = tsr_store_new(p->tc);
	for (uint32_t i = 0; i < n; i++) {
		p->line_start = starts[order[i]];
		p->at = text + p->line_start;
		do_line(p);
	}
	tsr_store_close(p->s);
	tsr_store_check(p->s);
}

static const char *row_result(problem *p, tsr_row r)
{
	tsr_shape shape;
	tsr_solved out;
	for (int k = 0; k < TSR_KINDS; k++)
		shape.row[k] = tsr_row_closed(p->s, 0, NULL);
	shape.row[TSR_OUTPUT] = r;
	if (!tsr_store_solved(p->s, &shape, &out))
		return "!";
	const char *text = tsr_solved_str(p->s, &out);
	return tsr_format(p->tc->arena, "[%s]", out.row[TSR_OUTPUT].n ? text : "");
}

static const char *conditions(problem *p)
{
	tsr_text t;
	tsr_text_init(&t, p->tc->arena);
	for (uint32_t i = 0; i < tsr_store_nconditions(p->s); i++) {
		const tsr_condition *c = tsr_store_condition(p->s, i);
		tsr_text_addf(&t, "%s%s%s%s", i ? " " : "", tsr_size_str(p->s, c->left), c->kind == TSR_CONDITION_EQUAL ? "==" : ">=",
			tsr_size_str(p->s, c->right));
	}
	return t.n ? t.at : "";
}

/* The value of a name of the problem: a variable, a row `..r..`, a tensor (capital), a marker `@Xo`; `?`: the conditions
 * for the run. */
static const char *result_of(problem *p, const char *name)
{
	bool fresh;
	tsr_solved out;
	tsr_solved_axis axis;
	uint32_t before = p->n;
	if (!strcmp(name, "?"))
		return conditions(p);
	if (!strncmp(name, "..", 2)) {
		char inner[24];
		snprintf(inner, sizeof inner, "%.*s", (int)strcspn(name + 2, "."), name + 2);
		return row_result(p, row_named(p, tsr_intern(p->tc->names, inner)));
	}
	if (*name == '@') {
		char inner[24];
		snprintf(inner, sizeof inner, "%.*s", (int)strlen(name) - 2, name + 1);
		char k = name[strlen(name) - 1];
		if (!tsr_store_solved(p->s, shape_named(p, tsr_intern(p->tc->names, inner)), &out))
			return "!";
		return tsr_format(p->tc->arena, "%u", out.row[k == 'b' ? TSR_BATCH : k == 'i' ? TSR_INPUT : TSR_OUTPUT].marker);
	}
	if (isupper((unsigned char)*name))
		return tsr_store_solved(p->s, shape_named(p, tsr_intern(p->tc->names, name)), &out) ? tsr_solved_str(p->s, &out) : "!";
	named *it = name_of(p, name, IS_DIM, &fresh);
	if (fresh) {
		p->n = before;
		const tsr_label *l = p->rule.nlabels ? tsr_rule_label(&p->rule, tsr_intern(p->tc->names, name)) : NULL;
		tsr_size size;
		return l && tsr_store_label(p->s, l, &size) ? tsr_format(p->tc->arena, "%lld", (long long)size.k) : "?";
	}
	if (!tsr_store_dim(p->s, it->dim, &axis))
		return "!";
	if (axis.unit)
		return "1*";
	tsr_shape shape;
	for (int k = 0; k < TSR_KINDS; k++)
		shape.row[k] = tsr_row_closed(p->s, 0, NULL);
	shape.row[TSR_OUTPUT] = tsr_row_closed(p->s, 1, &it->dim);
	return tsr_store_solved(p->s, &shape, &out) ? tsr_solved_str(p->s, &out) : "!";
}

/* Compares with `want`: "a=3; ..r..=[3, 4]; X=2 | 3 -> 4", or "E0401 words": a code, or the
 * beginning of one where the order of arrival decides which of two facts is found wrong, and words of the message. */
static bool judged(problem *p, const char *want, char *why, size_t size)
{
	static const char *const codes[] = {
#define TSR_DIAG(name, code, severity, headline) code,
#include "../../compiler/diag/diag.def"
#undef TSR_DIAG
	};
	if (*want == 'E' && isdigit((unsigned char)want[1])) {
		if (p->tc->diags.n != 1) {
			snprintf(why, size, "%u errors", p->tc->diags.n);
			return false;
		}
		const tsr_diag *d = p->tc->diags.at[0];
		snprintf(why, size, "%s %s", codes[d->code], d->text);
		size_t code = strcspn(want, " ");
		return !strncmp(why, want, code) && (!want[code] || strstr(d->text, want + code + 1));
	}
	if (p->tc->diags.n) {
		snprintf(why, size, "%s %s", codes[p->tc->diags.at[0]->code], p->tc->diags.at[0]->text);
		return false;
	}
	char item[128];
	while (*want) {
		want += strspn(want, "; ");
		size_t n = strcspn(want, ";");
		snprintf(item, sizeof item, "%.*s", (int)n, want);
		want += n;
		char *eq = strchr(item, '=');
		if (!eq)
			continue;
		*eq = 0;
		const char *got = result_of(p, item);
		if (strcmp(got, eq + 1)) {
			snprintf(why, size, "%s is %s, not %s", item, got, eq + 1);
			return false;
		}
	}
	return true;
}

typedef struct shape_case { const char *name, *text, *want; } shape_case;

/* Lines that make tensors come first; relations and operations may come in any order. */
static bool first(const char *line)
{
	static const char *const fixed[] = {"leaf:", "param:", "tensor", "zero"};
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		if (!strncmp(line, fixed[i], strlen(fixed[i])))
			return true;
	return false;
}

static void check_case(const shape_case *c)
{
	uint32_t starts[MOST_LINES], order[MOST_LINES], m = 0, seed = 12345;
	uint32_t n = split(c->text, starts);
	for (uint32_t i = 0; i < n; i++)
		if (first(c->text + starts[i]))
			order[m++] = i;
	for (uint32_t i = 0, at = m; i < n; i++)
		if (!first(c->text + starts[i]))
			order[at++] = i;
	for (uint32_t round = 0; round < 8; round++) {
		problem p;
		char why[512] = "";
		run_lines(&p, c->text, n, starts, order);
		bool ok = judged(&p, c->want, why, sizeof why);
		if (!check_that(ok, __FILE__, __LINE__, c->name))
			printf("  %s (order %u)\n", why, round);
		tsr_compiler_free(p.tc);
		if (!ok || !strncmp(c->text, "in order", 8) || strstr(c->text, "\nset ") || strstr(c->text, "\nequal "))
			return;
		for (uint32_t i = n - 1; i > m; i--) {
			seed = seed * 1664525 + 1013904223;
			uint32_t j = m + (seed >> 8) % (i - m + 1), swap = order[i];
			order[i] = order[j];
			order[j] = swap;
		}
	}
}

static inline void check_cases(const shape_case *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_case(&at[i]);
}
#endif
