/* Spec strings to tsr_spec: the mode, the pump into grammar/spec.y, rows and slots, and the words of syntax errors.
 * Axes that are sums or concatenations are in spec_axis.c, the way back to text in spec_text.c.
 *
 * One report per spec: what follows a mistake in so short a text is noise. */
#include "spec_build.h"
#include <spec.h>              /* the token codes, in build/gen */
#include "../base/map.h"
#include "../base/text.h"
#include <stdarg.h>
#include <string.h>

tsr_diag *tsr_spec_error(tsr_spec_parser *p, tsr_span span, const char *fmt, ...)
{
	if (p->failed)
		return NULL;
	p->failed = true;
	tsr_text t;
	tsr_text_init(&t, p->tc->arena);
	char small[512];
	va_list args;
	va_start(args, fmt);
	vsnprintf(small, sizeof small, fmt, args);
	va_end(args);
	tsr_text_add(&t, small);
	return tsr_report(p->tc, TSR_E_BAD_SPEC, span, "%s", tsr_text_str(&t));
}

tsr_name tsr_spec_name(tsr_spec_parser *p, const tsr_spec_token *t)
{
	const char *s = t->text;
	size_t n = t->size;
	while (n && strchr(".?@! \t\r\n", *s))
		s++, n--;
	while (n && strchr(". \t\r\n", s[n - 1]))
		n--;
	return tsr_intern_n(p->tc->names, s, n);
}

int64_t tsr_spec_int(tsr_spec_parser *p, const tsr_spec_token *t)
{
	int64_t v = 0;
	for (uint32_t i = 0; i < t->size; i++) {
		v = v * 10 + (t->text[i] - '0');
		if (v > INT32_MAX) {
			tsr_spec_error(p, t->span, "this number is larger than any axis");
			return 1;
		}
	}
	return v;
}

/* ---- rows */

tsr_spec_rowing *tsr_spec_row_new(tsr_spec_parser *p)
{
	tsr_spec_rowing *r = TSR_NEW(p->tc->arena, tsr_spec_rowing);
	r->empty = true;
	return r;
}

tsr_spec_rowing *tsr_spec_row_comma(tsr_spec_parser *p, tsr_spec_rowing *r, const tsr_spec_token *t)
{
	if (r->empty || r->after_comma)
		tsr_spec_error(p, t->span, "no axis stands before this comma");
	r->empty = r->after_axis = false;
	r->after_comma = true;
	r->last = t->span;
	return r;
}

tsr_spec_rowing *tsr_spec_row_var(tsr_spec_parser *p, tsr_spec_rowing *r, const tsr_spec_token *t)
{
	if (r->has_var) {
		tsr_diag *d = tsr_spec_error(p, t->span, "a row has one row variable at most");
		if (d)
			tsr_note_at(p->tc, d, r->var.span, "the first one");
	}
	r->has_var = true;
	r->var = *t;
	r->empty = r->after_axis = r->after_comma = false;
	r->last = t->span;
	return r;
}

tsr_diag *tsr_spec_comma(tsr_spec_parser *p, tsr_span span)
{
	tsr_diag *d = tsr_spec_error(p, span, "a comma is missing between two axes");
	if (d)
		tsr_hint(p->tc, d, "a spec with one of `, * + ^ < =+` has long names, separated by commas; without them each letter is an axis");
	return d;
}

tsr_spec_rowing *tsr_spec_row_axis(tsr_spec_parser *p, tsr_spec_rowing *r, const tsr_axis *x)
{
	if (r->after_axis && p->long_names)
		tsr_spec_comma(p, x->span);
	if (r->has_var)
		tsr_push(p->tc->arena, &r->trail, *x);
	else
		tsr_push(p->tc->arena, &r->lead, *x);
	r->empty = r->after_comma = false;
	r->after_axis = true;
	r->last = x->span;
	return r;
}

/* ---- slots */

const char *tsr_spec_dots_name(tsr_kind kind)
{
	static const char *const names[TSR_KINDS] = {[TSR_BATCH] = "batch", [TSR_INPUT] = "input", [TSR_OUTPUT] = "output"};
	return names[kind];
}

static void finish_row(tsr_spec_parser *p, tsr_spec_row *out, const tsr_spec_rowing *r, tsr_kind kind, tsr_span *span)
{
	if (!r)
		return;
	/* A row without a variable has an empty leading flank: rank grows on its left. */
	out->lead = r->has_var ? r->lead.at : NULL;
	out->nlead = r->has_var ? r->lead.n : 0;
	out->trail = r->has_var ? r->trail.at : r->lead.at;
	out->ntrail = r->has_var ? r->trail.n : r->lead.n;
	if (r->has_var) {
		out->var = r->var.code == SPEC_DOTS ? tsr_intern(p->tc->names, tsr_spec_dots_name(kind)) : tsr_spec_name(p, &r->var);
		out->var_span = r->var.span;
	}
	tsr_span first = r->lead.n ? r->lead.at[0].span : r->has_var ? out->var_span : r->last;
	if (!r->empty)
		*span = span->end ? tsr_span_join(*span, tsr_span_join(first, r->last)) : tsr_span_join(first, r->last);
}

tsr_spec_slot *tsr_spec_slot_of(tsr_spec_parser *p, tsr_spec_rowing *batch, tsr_spec_rowing *input, tsr_spec_rowing *output)
{
	tsr_spec_slot *s = TSR_NEW(p->tc->arena, tsr_spec_slot);
	finish_row(p, &s->row[TSR_BATCH], batch, TSR_BATCH, &s->span);
	finish_row(p, &s->row[TSR_INPUT], input, TSR_INPUT, &s->span);
	finish_row(p, &s->row[TSR_OUTPUT], output, TSR_OUTPUT, &s->span);
	if (!s->span.end)
		s->span = p->spec->span;
	return s;
}

void tsr_spec_operand(tsr_spec_parser *p, tsr_spec_slot *slot)
{
	tsr_push(p->tc->arena, &p->operands, *slot);
}

void tsr_spec_result(tsr_spec_parser *p, const tsr_spec_token *gives, tsr_spec_slot *slot)
{
	(void)gives;
	p->spec->result = *slot;
	p->spec->operands = p->operands.at;
	p->spec->noperands = p->operands.n;
}

/* ---- names that mean two things */

typedef struct names { tsr_map labels, rows, joined; } names;        /* joined: rows that are parts of an axis */

static void note(tsr_map *m, tsr_name name, const tsr_span *span)
{
	tsr_map_entry *e = tsr_map_put(m, tsr_key(name));
	if (!e->value.p)
		e->value.p = (void *)span;
}

static void note_axis(names *n, const tsr_axis *x)
{
	if (x->kind == TSR_AXIS_LABEL)
		note(&n->labels, x->label, &x->span);
	if (x->kind == TSR_AXIS_AFFINE && x->affine.over.label)
		note(&n->labels, x->affine.over.label, &x->affine.over.span);
	if (x->kind == TSR_AXIS_AFFINE && x->affine.kernel.label)
		note(&n->labels, x->affine.kernel.label, &x->affine.kernel.span);
	for (uint32_t i = 0; (x->kind == TSR_AXIS_CONCAT || x->kind == TSR_AXIS_JOINT) && i < x->concat.n; i++)
		if (x->concat.at[i].label)
			note(x->concat.at[i].row ? &n->joined : &n->labels, x->concat.at[i].label, &x->concat.at[i].span);
}

static void note_slot(names *n, const tsr_spec_slot *s)
{
	for (int k = 0; k < TSR_KINDS; k++) {
		const tsr_spec_row *r = &s->row[k];
		for (uint32_t i = 0; i < r->nlead; i++)
			note_axis(n, &r->lead[i]);
		for (uint32_t i = 0; i < r->ntrail; i++)
			note_axis(n, &r->trail[i]);
		/* "..." has a name of its own making, which takes none away from the labels */
		if (r->var && strcmp(r->var, tsr_spec_dots_name((tsr_kind)k)))
			note(&n->rows, r->var, &r->var_span);
	}
}

static void check_names(tsr_spec_parser *p)
{
	names n;
	tsr_map_init(&n.labels, p->tc->arena);
	tsr_map_init(&n.rows, p->tc->arena);
	tsr_map_init(&n.joined, p->tc->arena);
	for (uint32_t i = 0; i < p->spec->noperands; i++)
		note_slot(&n, &p->spec->operands[i]);
	note_slot(&n, &p->spec->result);
	for (uint32_t i = 0; i < n.rows.n; i++) {
		const tsr_map_entry *label = tsr_map_find(&n.labels, n.rows.entries[i].key);
		if (!label)
			continue;
		const tsr_span *row = n.rows.entries[i].value.p, *axis = label->value.p;
		tsr_diag *d = tsr_spec_error(p, *axis, "`%s` is the name of an axis here and of a row elsewhere", (tsr_name)(uintptr_t)label->key);
		if (d)
			tsr_note_at(p->tc, d, *row, "the row");
		return;
	}
	for (uint32_t i = 0; i < n.joined.n; i++)
		if (!tsr_map_find(&n.rows, n.joined.entries[i].key))
			tsr_spec_error(p, *(const tsr_span *)n.joined.entries[i].value.p,
			               "nothing says which axes `..%s..` has: it stands in no slot as a row", (tsr_name)(uintptr_t)n.joined.entries[i].key);
}

/* ---- syntax errors */

/* What the pump has seen of the slot and of the spec, for the words of an error. */
static bool seen(const tsr_spec_parser *p, const char *what, uint32_t until, bool in_slot)
{
	const char *from = p->spec->text, *to = from + until;
	for (const char *c = from; in_slot && c < to; c++)
		if (*c == ';' || (*c == '=' && c[1] == '>'))
			from = c + 1 + (*c == '=');
	const char *hit = from < to ? strstr(from, what) : NULL;
	return hit && hit < to;
}

void tsr_spec_unexpected(tsr_spec_parser *p, int code, const tsr_spec_token *t)
{
	uint32_t at = (uint32_t)(t->text - p->spec->text);
	tsr_diag *d = NULL;
	if (code == 0 && !p->annotation && !seen(p, "=>", at, false)) {
		d = tsr_spec_error(p, t->span, "the spec ends without `=>`, which stands before the axes of the result");
	} else if (code == 0) {
		d = tsr_spec_error(p, t->span, "the spec ends in the middle of an axis");
	} else if (code == SPEC_BAR && seen(p, "->", at, true)) {
		d = tsr_spec_error(p, t->span, "the batch axes come first: batch | input -> output");
	} else if (code == SPEC_BAR || code == SPEC_ARROW) {
		d = tsr_spec_error(p, t->span, "a second `%.*s` in one operand", (int)t->size, t->text);
	} else if (p->annotation && (code == SPEC_SEMI || code == SPEC_GIVES)) {
		d = tsr_spec_error(p, t->span, "the shape of one tensor is wanted here: batch | input -> output");
	} else if (code == SPEC_SEMI || code == SPEC_GIVES) {
		d = tsr_spec_error(p, t->span, "an operation has one result, so nothing can follow it");
	} else if (code == SPEC_LPAREN || code == SPEC_RPAREN || code == SPEC_COLON) {
		d = tsr_spec_error(p, t->span, "`%.*s` does not fit here", (int)t->size, t->text);
		if (d)
			tsr_hint(p->tc, d, p->annotation ? "parentheses give an axis of a shape its basis: `(3 : rgb)`"
				: "parentheses make several axes one: `(h, w)`");
	} else {
		d = tsr_spec_error(p, t->span, "`%.*s` does not fit here", (int)t->size, t->text);
		if (d && (code == SPEC_TIMES || code == SPEC_PLUS || code == SPEC_VALID || code == SPEC_SAME))
			tsr_hint(p->tc, d, "an axis that is computed looks like `2*o<+3*k + 1`");
	}
}

void tsr_spec_overflow(tsr_spec_parser *p)
{
	tsr_spec_error(p, p->spec->span, "this spec is nested too deeply");
}

static void bad_character(tsr_spec_parser *p, const tsr_spec_token *t)
{
	tsr_diag *d = tsr_spec_error(p, t->span, "`%.*s` has no meaning in a spec", (int)t->size, t->text);
	if (!d)
		return;
	if (*t->text == '-')
		tsr_hint(p->tc, d, "an offset is added: `2*i + 1`; the arrow between input and output axes is `->`");
	else if (*t->text == '.')
		tsr_hint(p->tc, d, "a row variable is `...` or `..name..`");
	else if (*t->text == '<' || *t->text == '=')
		tsr_hint(p->tc, d, "an axis that a window slides over is `2*o<+k` (inside only) or `2*o=+k` (padded)");
	else if (*t->text == '@' || *t->text == '?' || *t->text == '!')
		tsr_hint(p->tc, d, "a name follows it: `@i` a number of the run, `!n` a configuration value, `?n` a size of the run");
}

/* ---- entry */

/* Identifier mode: one of , * + ^ & < or an = that is not part of => */
static bool has_long_names(const char *text)
{
	for (const char *c = text; *c; c++)
		if (strchr(",*+^&<", *c) || (*c == '=' && c[1] != '>'))
			return true;
	return false;
}

static tsr_spec_token token_at(const tsr_spec_parser *p, int code, const char *from, const char *to)
{
	tsr_span all = p->spec->span;
	uint32_t start = all.start + (uint32_t)(from - p->spec->text), end = all.start + (uint32_t)(to - p->spec->text);
	return (tsr_spec_token){code, from, (uint32_t)(to - from), {all.file, start < all.end ? start : all.end, end < all.end ? end : all.end}};
}

static void pump(tsr_spec_parser *p)
{
	void *automaton = tsr_spec_automaton_new(p->tc->arena, p);
	const char *text = p->spec->text;
	tsr_scanner s = {text, text, text + strlen(text)};
	int code = p->annotation ? SPEC_ANNOTATION : SPEC_OPERATION;
	tsr_spec_automaton(automaton, code, token_at(p, code, text, text));
	do {
		code = tsr_spec_scan(&s, p->long_names || code == SPEC_COLON);
		tsr_spec_token t = token_at(p, code, s.start, s.cursor);
		if (code < 0) {
			bad_character(p, &t);
			return;
		}
		tsr_spec_automaton(automaton, code, t);
	} while (code && !p->failed);
}

static tsr_spec *parse(tsr_compiler *tc, const char *text, tsr_span span, bool annotation)
{
	tsr_spec_parser p = {.tc = tc, .annotation = annotation, .long_names = has_long_names(text)};
	p.spec = TSR_NEW(tc->arena, tsr_spec);
	p.spec->text = tsr_strdup(tc->arena, text);
	p.spec->span = span;
	pump(&p);
	if (!p.failed)
		check_names(&p);
	return p.failed ? NULL : p.spec;
}

tsr_spec *tsr_spec_parse(tsr_compiler *tc, const char *text, tsr_span span)
{
	return parse(tc, text, span, false);
}

tsr_spec *tsr_annotation_parse(tsr_compiler *tc, const char *text, tsr_span span)
{
	return parse(tc, text, span, true);
}
