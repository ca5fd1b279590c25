/* From spec strings to rules: logic strings, named coefficients and offsets replaced by their numbers, runtime terms
 * tied to runtime numbers; annotations as shapes. */
#include "state.h"
#include <string.h>

static tsr_span text_span(tsr_value text, tsr_span at)
{
	return text.string.origin ? text.string.origin->span : at;
}

/* The value of a name that stands in a spec; UNIT after a report. */
static tsr_value name_in_spec(tsr_elab *el, tsr_value text, tsr_name name, tsr_span span)
{
	const tsr_env *env = text.string.origin ? text.string.origin->env : tsr_eval_root(el->ev);
	tsr_value v = tsr_resolve(el->ev, env, NULL, name, span);
	if (v.kind == TSR_VALUE_UNKNOWN)
		return tsr_unknown_configure(el->ev, v.unknown) ? v : TSR_UNIT;
	if (v.kind == TSR_VALUE_INT || v.kind == TSR_VALUE_NUMBER)
		return v;
	tsr_eval_type_error(el->ev, span, "an int", v);
	return TSR_UNIT;
}

static bool constant(tsr_elab *el, tsr_value text, tsr_name *name, int64_t *value, bool add, tsr_span span)
{
	if (!*name)
		return true;
	tsr_value v = name_in_spec(el, text, *name, span);
	if (v.kind == TSR_VALUE_NUMBER)
		tsr_eval_report(el->ev, TSR_E_RUN_TIME, span, "`%s` is known only when the program runs; write `@%s` to add it to a position",
		                *name, *name);
	if (v.kind == TSR_VALUE_UNKNOWN) {             /* the name stays: the term is open */
		tsr_unknown_pass(el->ev, span, tsr_format(el->arena, "what `%s` makes of the sizes on this axis", v.unknown->text));
		*name = v.unknown->text;
		return true;
	}
	if (v.kind != TSR_VALUE_INT)
		return false;
	if (v.integer > INT32_MAX || v.integer < -INT32_MAX) {         /* as a number that is written, tsr_spec_int */
		tsr_eval_report(el->ev, TSR_E_BAD_SPEC, span, "`%s` is %lld, which is larger than any axis", *name, (long long)v.integer);
		return false;
	}
	*value = add ? *value + v.integer : *value * v.integer;
	*name = NULL;
	return true;
}

static bool resolve_runtime(tsr_elab *el, tsr_record *r, tsr_value text, tsr_axis *axis)
{
	tsr_term *t = &axis->affine.runtime;
	tsr_value v = name_in_spec(el, text, t->label, t->span);
	if (v.kind == TSR_VALUE_INT && v.integer >= -INT32_MAX && v.integer <= INT32_MAX) {
		axis->affine.offset += t->coef * v.integer;
		*t = (tsr_term){.coef = 1};
		return true;
	}
	if (v.kind == TSR_VALUE_INT)
		tsr_eval_report(el->ev, TSR_E_BAD_SPEC, t->span, "`%s` is %lld, which is larger than any axis", t->label, (long long)v.integer);
	if (v.kind == TSR_VALUE_UNKNOWN)
		return true;
	if (v.kind != TSR_VALUE_NUMBER)
		return false;
	if (!el->g->numbers.at[v.number]->integer) {
		tsr_eval_report(el->ev, TSR_E_TYPE, t->span, "a position is an int; `%s` is a float", t->label);
		return false;
	}
	for (uint32_t i = 0; i < r->nnumbers; i++)
		if (r->numbers[i].name == t->label)
			return true;
	r->numbers = tsr_realloc(el->arena, r->numbers, r->nnumbers * sizeof *r->numbers, (r->nnumbers + 1) * sizeof *r->numbers);
	r->numbers[r->nnumbers].name = t->label;
	r->numbers[r->nnumbers++].number = v.number;
	return true;
}

static bool resolve_axis(tsr_elab *el, tsr_record *r, tsr_value text, tsr_axis *axis)
{
	if (axis->kind != TSR_AXIS_AFFINE)
		return true;
	tsr_term *over = &axis->affine.over, *kernel = &axis->affine.kernel, *run = &axis->affine.runtime;
	bool good = constant(el, text, &over->coef_name, &over->coef, false, over->span);
	good &= constant(el, text, &kernel->coef_name, &kernel->coef, false, kernel->span);
	good &= constant(el, text, &run->coef_name, &run->coef, false, run->span);
	good &= constant(el, text, &axis->affine.offset_name, &axis->affine.offset, true, axis->span);
	if (good && run->label)
		good = resolve_runtime(el, r, text, axis);
	if (good && ((over->label && over->coef < 1) || (kernel->label && kernel->coef < 1))) {
		tsr_eval_report(el->ev, TSR_E_BAD_SPEC, axis->span, "a coefficient is at least 1");
		good = false;
	}
	if (good && axis->affine.offset < 0) {
		tsr_eval_report(el->ev, TSR_E_BAD_SPEC, axis->span, "the offset %lld is negative", (long long)axis->affine.offset);
		good = false;
	}
	return good;
}

static bool resolve_slot(tsr_elab *el, tsr_record *r, tsr_value text, tsr_spec_slot *slot)
{
	bool good = true;
	for (int k = 0; k < TSR_KINDS; k++) {
		for (uint32_t i = 0; i < slot->row[k].nlead; i++)
			good &= resolve_axis(el, r, text, &slot->row[k].lead[i]);
		for (uint32_t i = 0; i < slot->row[k].ntrail; i++)
			good &= resolve_axis(el, r, text, &slot->row[k].trail[i]);
	}
	return good;
}

tsr_spec *tsr_template_spec(tsr_elab *el, tsr_record *r, tsr_value text, tsr_span at)
{
	tsr_spec *s = tsr_spec_parse(el->tc, text.string.text, text_span(text, at));
	if (!s)
		return NULL;
	bool good = true;
	for (uint32_t i = 0; i < s->noperands; i++)
		good &= resolve_slot(el, r, text, &s->operands[i]);
	good &= resolve_slot(el, r, text, &s->result);
	return good ? s : NULL;
}

bool tsr_template_logic(tsr_elab *el, tsr_record *r, const tsr_value *spec, const tsr_value *logic, tsr_span at)
{
	const tsr_value *text = spec ? spec : logic;
	uint32_t n = r->rule.noperands;
	r->rule.logic = TSR_LOGIC_POINTWISE;
	if (!text)
		return true;
	if (text->kind != TSR_VALUE_STRING) {
		tsr_eval_type_error(el->ev, at, "a spec", *text);
		return false;
	}
	const char *s = text->string.text;
	if (strcmp(s, ".") == 0)
		return true;
	bool compose = strcmp(s, "@") == 0, transpose = strcmp(s, "T") == 0, gather = strcmp(s, "@>") == 0;
	if ((compose && (n < 2 || n > 3)) || (transpose && n != 1) || (gather && n != 3)) {
		tsr_eval_report(el->ev, TSR_E_LOGIC, text_span(*text, at), "the logic \"%s\" takes %s, there %s %u here", s,
		                compose ? "two or three operands" : gather ? "three operands" : "one operand", n == 1 ? "is" : "are", n);
		return false;
	}
	if (gather) {
		r->rule.logic = TSR_LOGIC_GATHER;
		return true;
	}
	if (compose || transpose) {
		r->rule.logic = transpose ? TSR_LOGIC_TRANSPOSE : n == 2 ? TSR_LOGIC_COMPOSE : TSR_LOGIC_COMPOSE_ACC;
		return true;
	}
	tsr_spec *parsed = tsr_template_spec(el, r, *text, at);
	if (!parsed)
		return false;
	if (parsed->noperands != n) {
		tsr_diag *d = tsr_eval_report(el->ev, TSR_E_BAD_SPEC, text_span(*text, at), "the spec has %u operand%s, but there %s %u here",
		                              parsed->noperands, parsed->noperands == 1 ? "" : "s", n == 1 ? "is" : "are", n);
		tsr_hint(el->tc, d, "operands are separated by `;`");
		return false;
	}
	r->rule.logic = TSR_LOGIC_SPEC;
	r->rule.spec = parsed;
	return true;
}

/* ---- annotations -------------------------------------------------------------------------------------------------------- */

static uint32_t annotation_symbol(tsr_elab *el, const tsr_axis *a, tsr_symbols symbols)
{
	if (symbols == TSR_SYMBOLS_SIGNATURE || (symbols == TSR_SYMBOLS_MET && tsr_export_around(el, a->span)))
		return tsr_export_symbol(el, a, symbols);
	uint32_t symbol = tsr_store_symbol(el->g->store, a->label, a->span, false);
	if (symbols == TSR_SYMBOLS_FILE)
		tsr_store_symbol_given(el->g->store, symbol);
	return symbol;
}

static bool annotation_row(tsr_elab *el, const tsr_spec_row *row, tsr_symbols symbols, tsr_row *out, tsr_annotated *all)
{
	uint32_t n = row->nlead + row->ntrail;
	tsr_dim *dims = TSR_NEW_N(el->arena, tsr_dim, n + 1);
	if (row->var) {
		tsr_eval_report(el->ev, TSR_E_BAD_SPEC, row->var_span, "an annotation names every axis; `...` has no place in it");
		return false;
	}
	for (uint32_t i = 0; i < n; i++) {
		const tsr_axis *a = i < row->nlead ? &row->lead[i] : &row->trail[i - row->nlead];
		uint32_t symbol = TSR_NONE;
		if (a->kind == TSR_AXIS_SYMBOL || (a->kind != TSR_AXIS_FIXED && symbols != TSR_SYMBOLS_MET))
			tsr_share_spoil(el);             /* a size of the run belongs to this place; a leaf has axes of its own */
		switch (a->kind) {
		case TSR_AXIS_LABEL: case TSR_AXIS_WILD:
			dims[i] = tsr_dim_fresh(el->g->store, a->label, a->span);
			break;
		case TSR_AXIS_FIXED:
			dims[i] = tsr_elab_axis(el, a->size, a->basis);
			break;
		case TSR_AXIS_SYMBOL:
			symbol = annotation_symbol(el, a, symbols);
			if (symbol == TSR_NONE)
				return false;
			dims[i] = tsr_dim_symbol(el->g->store, symbol, a->basis);
			break;
		case TSR_AXIS_AFFINE: case TSR_AXIS_CONCAT: case TSR_AXIS_JOINT:
			tsr_eval_report(el->ev, TSR_E_BAD_SPEC, a->span, "an annotation holds names, sizes and ?symbols only");
			return false;
		}
		all->axes = tsr_realloc(el->arena, all->axes, all->rank * sizeof *all->axes, (all->rank + 1) * sizeof *all->axes);
		all->symbols = tsr_realloc(el->arena, all->symbols, all->rank * sizeof *all->symbols, (all->rank + 1) * sizeof *all->symbols);
		all->axes[all->rank] = a;
		all->symbols[all->rank++] = symbol;
	}
	*out = tsr_row_closed(el->g->store, n, dims);
	return true;
}

bool tsr_template_annotation(tsr_elab *el, tsr_value text, tsr_span at, tsr_symbols symbols, tsr_annotated *out)
{
	static const tsr_kind memory_order[] = {TSR_BATCH, TSR_OUTPUT, TSR_INPUT};
	*out = (tsr_annotated){0};
	if (text.kind != TSR_VALUE_STRING) {
		tsr_eval_type_error(el->ev, at, "a shape such as \"?n | 64\"", text);
		return false;
	}
	tsr_spec *s = tsr_annotation_parse(el->tc, text.string.text, text_span(text, at));
	if (!s)
		return false;
	for (int k = 0; k < TSR_KINDS; k++)
		if (!annotation_row(el, &s->result.row[memory_order[k]], symbols, &out->shape.row[memory_order[k]], out))
			return false;
	return true;
}
