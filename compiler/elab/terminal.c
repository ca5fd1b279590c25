/* Builtins that make tensors out of nothing, and those that look at labels and at the graph. */
#include "state.h"
#include <string.h>

static tsr_elab *el_of(const tsr_call *c) { return tsr_elab_of(c->ev); }

/* fill x: the number at every position of whatever shape the context gives. */
static tsr_value fill(const tsr_call *c)
{
	tsr_elab *el = el_of(c);
	tsr_value v = *c->args[0];
	if (v.kind == TSR_VALUE_UNKNOWN)
		v = tsr_unknown_configure(c->ev, v.unknown) ? tsr_value_int(0) : TSR_POISON;
	if (!tsr_value_is_number(v) && v.kind != TSR_VALUE_BOOL)
		return tsr_eval_type_error(c->ev, c->spans[0], "a number", v);
	tsr_tensor *t = tsr_tensor_new(el, TSR_TENSOR_FILL, c->site);
	tsr_elab_fresh(el, t);
	t->fill.value = tsr_value_scalar(v);
	t->fill.integer = v.kind == TSR_VALUE_INT;
	if (v.kind == TSR_VALUE_BOOL) {
		t->prec = TSR_PREC_BOOL;
		t->prec_fixed = true;
	}
	tsr_tensor_leaf(el, t);
	return tsr_value_tensor(t->id);
}

static tsr_value positions(const tsr_call *c)
{
	tsr_elab *el = el_of(c);
	tsr_tensor *t = tsr_tensor_new(el, TSR_TENSOR_POSITIONS, c->site);
	tsr_elab_fresh(el, t);
	t->prec = TSR_PREC_I32;
	t->prec_fixed = true;
	tsr_tensor_leaf(el, t);
	return tsr_value_tensor(t->id);
}

/* The words of one stream per tensor: keyed by the parameter that is being initialised, else by the tensor's own name. */
static tsr_value random_bits(const tsr_call *c)
{
	tsr_elab *el = el_of(c);
	tsr_tensor *t = tsr_tensor_new(el, TSR_TENSOR_RANDOM, c->site);
	tsr_elab_fresh(el, t);
	t->prec = TSR_PREC_U32;
	t->prec_fixed = true;
	tsr_name path = el->random_key ? el->random_key : tsr_eval_path(c->ev) ? tsr_eval_path(c->ev) : tsr_elab_name(el, "random");
	tsr_tensor_set_name(el, t, tsr_elab_name(el, tsr_format(el->arena, "%s.bits", path)));
	t->random.key = t->name;
	if (el->random_key)
		t->random.key = !el->random_turn ? path : tsr_elab_name(el, tsr_format(el->arena, "%s#%u", path, el->random_turn));
	el->random_turn++;
	tsr_tensor_leaf(el, t);
	return tsr_value_tensor(t->id);
}

bool tsr_number_named(tsr_elab *el, tsr_name name, bool integer, tsr_span span, tsr_value *out)
{
	tsr_map_entry *e = tsr_map_put(&el->numbers, tsr_key(name));
	if (e->value.i && el->g->numbers.at[e->value.i - 1]->integer != integer) {
		tsr_diag *d = tsr_eval_report(el->ev, TSR_E_NAME_CLASH, span, "`%s` is %s and a float", name, "an int");
		tsr_note_at(el->tc, d, el->g->numbers.at[e->value.i - 1]->span, "the other one");
		return false;
	}
	if (!e->value.i) {
		tsr_number *n = TSR_NEW(el->arena, tsr_number);
		*n = (tsr_number){el->g->numbers.n, name, span, integer};
		tsr_push(el->arena, &el->g->numbers, n);
		e->value.i = n->id + 1;
	}
	*out = (tsr_value){.kind = TSR_VALUE_NUMBER, .number = (uint32_t)(e->value.i - 1)};
	return true;
}

static tsr_value runtime_number(const tsr_call *c, bool integer)
{
	tsr_elab *el = el_of(c);
	tsr_value v = *c->args[0], number;
	if (v.kind != TSR_VALUE_STRING)
		return tsr_eval_type_error(c->ev, c->spans[0], "the name of the number, a string", v);
	return tsr_number_named(el, tsr_elab_name(el, v.string.text), integer, c->site, &number) ? number : TSR_POISON;
}

static tsr_value index_number(const tsr_call *c) { return runtime_number(c, true); }
static tsr_value float_number(const tsr_call *c) { return runtime_number(c, false); }

/* ---- labels ---------------------------------------------------------------------------------------------------------------------- */

static tsr_value dim(const tsr_call *c)
{
	tsr_value v = *c->args[0];
	return v.kind == TSR_VALUE_LABEL || tsr_value_is_poison(v) ? v : tsr_eval_type_error(c->ev, c->spans[0], "a captured label", v);
}

static tsr_why why_set(tsr_elab *el, const tsr_call *c, const char *what, const tsr_capture *l)
{
	return (tsr_why){.span = c->site, .other = l->span, .what = tsr_format(el->arena, "`%s %s`", what, l->name),
	                 .within = tsr_elab_within(el)};
}

/* A label that is not known, or one of the program in a function that is looked at aside: nothing is said of it. */
static bool elsewhere(const tsr_call *c, uint32_t i)
{
	tsr_value v = *c->args[i];
	return v.kind == TSR_VALUE_UNKNOWN || (v.kind == TSR_VALUE_LABEL && v.label->store != el_of(c)->g->store);
}

static tsr_value set_equal(const tsr_call *c)
{
	tsr_elab *el = el_of(c);
	if (elsewhere(c, 0) || elsewhere(c, 1))
		return TSR_UNIT;
	for (int i = 0; i < 2; i++)
		if (c->args[i]->kind != TSR_VALUE_LABEL)
			return tsr_eval_type_error(c->ev, c->spans[i], "a captured label", *c->args[i]);
	const tsr_label *a = c->args[0]->label->label, *b = c->args[1]->label->label;
	tsr_why why = why_set(el, c, "set_equal", c->args[0]->label);
	tsr_elab_relate(el, TSR_SHARE_SAME, a, b, 0, why);
	return TSR_UNIT;
}

static tsr_value set_dim(const tsr_call *c)
{
	tsr_elab *el = el_of(c);
	tsr_value l = *c->args[0], n = *c->args[1];
	if (elsewhere(c, 0))
		return TSR_UNIT;
	if (l.kind != TSR_VALUE_LABEL)
		return tsr_eval_type_error(c->ev, c->spans[0], "a captured label", l);
	if (n.kind == TSR_VALUE_LABEL)
		return set_equal(c);
	if (n.kind == TSR_VALUE_UNKNOWN && !tsr_unknown_configure(c->ev, n.unknown))
		return TSR_POISON;
	if (n.kind == TSR_VALUE_UNKNOWN) {
		tsr_emit_set_label(el->g->store, l.label->label, tsr_aside_size(el, n.unknown, c->site), why_set(el, c, "set_dim", l.label));
		return TSR_UNIT;
	}
	if (n.kind != TSR_VALUE_INT)
		return tsr_eval_type_error(c->ev, c->spans[1], "a size", n);
	if (n.integer < 1) {
		tsr_eval_report(c->ev, TSR_E_ARGUMENTS, c->spans[1], "an axis has at least one position, not %lld", (long long)n.integer);
		return TSR_POISON;
	}
	tsr_elab_relate(el, TSR_SHARE_SET, l.label->label, NULL, n.integer, why_set(el, c, "set_dim", l.label));
	return TSR_UNIT;
}

/* set_scale k large small: large = k * small. */
static tsr_value set_scale(const tsr_call *c)
{
	tsr_elab *el = el_of(c);
	tsr_value k = *c->args[0];
	if (elsewhere(c, 1) || elsewhere(c, 2) || (k.kind == TSR_VALUE_UNKNOWN && !tsr_unknown_configure(c->ev, k.unknown)))
		return TSR_UNIT;
	for (int i = 1; i < 3; i++)
		if (c->args[i]->kind != TSR_VALUE_LABEL)
			return tsr_eval_type_error(c->ev, c->spans[i], "a captured label", *c->args[i]);
	const tsr_capture *large = c->args[1]->label, *small = c->args[2]->label;
	tsr_name name = k.kind == TSR_VALUE_UNKNOWN ? k.unknown->text : NULL;
	if (name)
		k = tsr_value_int(1);
	if (k.kind != TSR_VALUE_INT || k.integer < 1) {
		tsr_eval_report(c->ev, TSR_E_ARGUMENTS, c->spans[0], "a factor is a whole number from 1");
		return TSR_POISON;
	}
	if (large->label->is_row || small->label->is_row) {
		tsr_eval_report(c->ev, TSR_E_ARGUMENTS, c->site, "set_scale relates single axes, not rows");
		return TSR_POISON;
	}
	tsr_why why = why_set(el, c, "set_scale", large);
	if (!name) {
		tsr_elab_relate(el, TSR_SHARE_SCALE, large->label, small->label, k.integer, why);
		return TSR_UNIT;
	}
	tsr_dim scaled = tsr_dim_affine(el->g->store, (tsr_affine){.stride = 1, .dilation = 1, .over = small->label->dim, .stride_name = name,
	                                                             .open = true});
	tsr_emit_dim_equal(el->g->store, large->label->dim, scaled, why);
	return TSR_UNIT;
}

/* ---- the graph --------------------------------------------------------------------------------------------------------------------- */

/* The backward code of an operation adds to the gradient of the tensor. */
static bool passes_gradient(const tsr_tensor *t, tsr_tensor_id operand)
{
	for (uint32_t i = 0; t->differentiable && t->op.backward && i < t->op.backward->v.n; i++) {
		const tsr_operand *target = &t->op.backward->v.at[i].target;
		if (target->tensor == operand && target->part == TSR_PART_GRAD)
			return true;
	}
	return false;
}

/* Marks what a gradient of a tensor reaches: operands come before results. */
static void below(tsr_elab *el, tsr_tensor_id id, bool *seen)
{
	seen[id] = true;
	for (tsr_tensor_id i = id + 1; i-- > 0;) {
		const tsr_tensor *t = tsr_elab_tensor(el, i);
		if (!seen[i] || t->kind != TSR_TENSOR_OP || t->op.record == TSR_NONE)
			continue;
		const tsr_record *r = el->g->records.at[t->op.record];
		for (uint32_t k = 0; k < r->rule.noperands; k++)
			if (passes_gradient(t, r->slots[1 + k]))
				seen[r->slots[1 + k]] = true;
	}
}

/* params t: the parameters that a gradient of a tensor reaches, in the order in which they were made. Others below it, such
 * as running statistics, are no business of an optimiser. */
static tsr_value params(const tsr_call *c)
{
	tsr_elab *el = el_of(c);
	tsr_value v = *c->args[0];
	if (v.kind == TSR_VALUE_UNKNOWN) {
		tsr_aside_operand(el, v.unknown, c->site);
		return tsr_unknown_value(c->ev, TSR_UNKNOWN_OPEN, v.unknown->from, "params %s", v.unknown->text);
	}
	if (v.kind != TSR_VALUE_TENSOR)
		return tsr_eval_type_error(c->ev, c->spans[0], "a tensor", v);
	bool *seen = TSR_NEW_N(el->arena, bool, el->g->tensors.n);
	below(el, v.tensor.id, seen);
	tsr_values out = {0};
	for (uint32_t i = 0; i < el->g->params.n; i++)
		if (seen[el->g->params.at[i]])
			tsr_push(el->arena, &out, tsr_value_tensor(el->g->params.at[i]));
	return tsr_value_list(out.n, out.at);
}

static tsr_value argument(const tsr_call *c)
{
	tsr_value n = *c->args[0], v = {.kind = TSR_VALUE_ARGUMENT};
	if (n.kind != TSR_VALUE_INT)
		return tsr_eval_type_error(c->ev, c->spans[0], "the position of an argument, counted from 1", n);
	if (n.integer < 1) {
		tsr_eval_report(c->ev, TSR_E_ARGUMENTS, c->spans[0], "arguments are counted from 1");
		return TSR_POISON;
	}
	if (c->args[1] && c->args[1]->kind != TSR_VALUE_STRING)
		return tsr_eval_type_error(c->ev, c->spans[1], "a string", *c->args[1]);
	v.argument.position = n.integer;
	v.argument.deflt = c->args[1] ? c->args[1]->string.text : NULL;
	return v;
}

const tsr_builtin tsr_terminal_builtins[] = {
	{"fill", "!x", fill}, {"positions", "unit", positions}, {"random_bits", "unit", random_bits},
	{"index", "name", index_number}, {"number", "name", float_number},
	{"dim", "label", dim}, {"set_dim", "!label n", set_dim}, {"set_equal", "!a b", set_equal},
	{"set_scale", "!factor large small", set_scale},
	{"params", "!t", params}, {"argument", "n ?default", argument},
};
const uint32_t tsr_terminal_nbuiltins = sizeof tsr_terminal_builtins / sizeof *tsr_terminal_builtins;
