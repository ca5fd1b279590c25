/* A spec back to text, in identifier mode: what tsr_spec_parse() reads back as the same spec. */
#include "spec_build.h"
#include "../base/text.h"
#include <string.h>

static void add_term(tsr_text *t, const tsr_term *x)
{
	if (x->coef_name)
		tsr_text_addf(t, "%s*", x->coef_name);
	else if (x->coef != 1)
		tsr_text_addf(t, "%lld*", (long long)x->coef);
	tsr_text_addf(t, "%s%s", x->runtime ? "@" : "", x->label);
}

static void add_affine(tsr_text *t, const tsr_axis *x)
{
	const char *plus = "";
	if (x->affine.over.label) {
		add_term(t, &x->affine.over);
		plus = " + ";
	}
	if (x->affine.kernel.label) {
		tsr_text_add(t, x->affine.pad == TSR_PAD_SAME ? "=+" : x->affine.pad == TSR_PAD_VALID ? "<+" : "+");
		add_term(t, &x->affine.kernel);
	}
	if (x->affine.runtime.label) {
		tsr_text_add(t, plus);
		add_term(t, &x->affine.runtime);
		plus = " + ";
	}
	if (x->affine.offset) {
		tsr_text_addf(t, "%s%lld", plus, (long long)x->affine.offset);
		plus = " + ";
	}
	if (x->affine.offset_name)
		tsr_text_addf(t, "%s!%s", plus, x->affine.offset_name);
}

static void add_axis(tsr_text *t, const tsr_axis *x)
{
	if (x->basis)
		tsr_text_char(t, '(');
	switch (x->kind) {
	case TSR_AXIS_LABEL: tsr_text_add(t, x->label); break;
	case TSR_AXIS_WILD: tsr_text_char(t, '_'); break;
	case TSR_AXIS_FIXED: tsr_text_addf(t, "%lld", (long long)x->size); break;
	case TSR_AXIS_SYMBOL: tsr_text_addf(t, "?%s", x->label); break;
	case TSR_AXIS_AFFINE: add_affine(t, x); break;
	case TSR_AXIS_JOINT:
		for (uint32_t i = 0; i < x->concat.n; i++)
			tsr_text_addf(t, x->concat.at[i].row ? "%s..%s.." : "%s%s", i ? ", " : "(", x->concat.at[i].label);
		tsr_text_char(t, ')');
		break;
	case TSR_AXIS_CONCAT:
		if (x->concat.name)
			tsr_text_addf(t, "%s: ", x->concat.name);
		for (uint32_t i = 0; i < x->concat.n; i++) {
			if (x->concat.at[i].label)
				tsr_text_addf(t, "%s%s", i ? "^" : "", x->concat.at[i].label);
			else
				tsr_text_addf(t, "%s%lld", i ? "^" : "", (long long)x->concat.at[i].size);
		}
		break;
	}
	if (x->basis)
		tsr_text_addf(t, " : %s)", x->basis);
}

/* Text, and whether a comma is owed: a long name in a spec without commas would be read letter by letter. */
typedef struct writer { tsr_text text; bool owes_comma; } writer;

static bool is_empty(const tsr_spec_row *r)
{
	return !r->nlead && !r->ntrail && !r->var;
}

static void add_row(writer *w, const tsr_spec_slot *s, tsr_kind kind)
{
	const tsr_spec_row *r = &s->row[kind];
	tsr_text *t = &w->text;
	const char *sep = "";
	for (uint32_t i = 0; i < r->nlead; i++, sep = ", ") {
		tsr_text_add(t, sep);
		add_axis(t, &r->lead[i]);
	}
	if (r->var) {
		tsr_text_add(t, sep);
		if (!strcmp(r->var, tsr_spec_dots_name(kind)))
			tsr_text_add(t, "...");
		else
			tsr_text_addf(t, "..%s..", r->var);
		sep = ", ";
	}
	for (uint32_t i = 0; i < r->ntrail; i++, sep = ", ") {
		tsr_text_add(t, sep);
		add_axis(t, &r->trail[i]);
	}
	if (w->owes_comma && r->nlead + r->ntrail) {
		tsr_text_char(t, ',');
		w->owes_comma = false;
	}
}

static void add_slot(writer *w, const tsr_spec_slot *s)
{
	if (!is_empty(&s->row[TSR_BATCH])) {
		add_row(w, s, TSR_BATCH);
		tsr_text_add(&w->text, " | ");
	}
	if (!is_empty(&s->row[TSR_INPUT])) {
		add_row(w, s, TSR_INPUT);
		tsr_text_add(&w->text, " -> ");
	}
	add_row(w, s, TSR_OUTPUT);
	while (w->text.n && w->text.at[w->text.n - 1] == ' ')
		w->text.n--;
}

static const char *write_spec(tsr_arena *a, const tsr_spec *s, bool owes_comma)
{
	writer w = {.owes_comma = owes_comma};
	tsr_text_init(&w.text, a);
	for (uint32_t i = 0; i < s->noperands; i++) {
		tsr_text_add(&w.text, i ? "; " : "");
		add_slot(&w, &s->operands[i]);
	}
	if (s->noperands)
		tsr_text_add(&w.text, w.text.n ? " => " : "=> ");
	add_slot(&w, &s->result);
	return tsr_strdup(a, tsr_text_str(&w.text));
}

static bool has_long_label(const tsr_spec_slot *s)
{
	for (int k = 0; k < TSR_KINDS; k++) {
		const tsr_spec_row *r = &s->row[k];
		for (uint32_t i = 0; i < r->nlead + r->ntrail; i++) {
			const tsr_axis *x = i < r->nlead ? &r->lead[i] : &r->trail[i - r->nlead];
			if (x->kind == TSR_AXIS_LABEL && strlen(x->label) > 1)
				return true;
			for (uint32_t j = 0; x->kind == TSR_AXIS_JOINT && j < x->concat.n; j++)
				if (!x->concat.at[j].row && strlen(x->concat.at[j].label) > 1)
					return true;
		}
	}
	return false;
}

const char *tsr_spec_str(tsr_arena *a, const tsr_spec *s)
{
	bool long_label = has_long_label(&s->result);
	for (uint32_t i = 0; i < s->noperands; i++)
		long_label |= has_long_label(&s->operands[i]);
	const char *text = write_spec(a, s, false);
	return long_label && !strpbrk(text, ",*+^") ? write_spec(a, s, true) : text;
}
