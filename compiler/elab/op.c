/* Operations on tensors.  unop, binop and ternop (nop n for n operands, nops for any number) make a function out of a forward
 * and a gradient definition; applying it makes a tensor, the record of its rule, the constraints, and the assignments of both
 * definitions.
 *
 * An operation applied to numbers alone gives a number: its forward definition is computed on them.  A number among
 * tensors is lifted to a tensor of one claim-free axis; in the assignments it stays a constant. */
#include "state.h"
#include <math.h>
#include <string.h>

/* ---- lifting --------------------------------------------------------------------------------------------------------- */

static tsr_shape scalar_shape(tsr_elab *el)
{
	tsr_dim unit = tsr_dim_unit();
	tsr_shape s;
	s.row[TSR_BATCH] = tsr_elab_row_empty(el);
	s.row[TSR_INPUT] = tsr_elab_row_empty(el);
	s.row[TSR_OUTPUT] = tsr_row_closed(el->g->store, 1, &unit);
	return s;
}

static tsr_tensor_id lift_number(tsr_elab *el, tsr_value v, tsr_span span)
{
	tsr_tensor *t = tsr_tensor_new(el, TSR_TENSOR_FILL, span);
	t->shape = scalar_shape(el);
	t->number_alone = true;
	t->fill.value = tsr_value_scalar(v);
	t->fill.integer = v.kind == TSR_VALUE_INT;
	if (v.kind == TSR_VALUE_BOOL) {
		t->prec = TSR_PREC_BOOL;
		t->prec_fixed = true;
	}
	return t->id;
}

tsr_tensor_id tsr_number_tensor(tsr_elab *el, tsr_number_id n, tsr_span span)
{
	tsr_map_entry *e = tsr_map_put(&el->number_tensors, n);
	if (!e->value.i) {
		tsr_tensor *t = tsr_tensor_new(el, TSR_TENSOR_NUMBER, span);
		t->shape = scalar_shape(el);
		t->number_alone = true;
		t->number.number = n;
		tsr_tensor_set_name(el, t, el->g->numbers.at[n]->name);
		e->value.i = t->id + 1;
	}
	return (tsr_tensor_id)(e->value.i - 1);
}

static tsr_tensor_id lift_label(tsr_elab *el, tsr_capture *c, tsr_span span)
{
	if (c->store != el->g->store)                  /* of the program, met aside */
		return tsr_aside_anything(el, span).tensor.id;
	if (c->size == TSR_NONE) {
		tsr_tensor *t = tsr_tensor_new(el, TSR_TENSOR_SIZE, span);
		t->shape = scalar_shape(el);
		t->number_alone = true;
		t->size.label = c->label;
		tsr_tensor_set_name(el, t, tsr_elab_name(el, tsr_format(el->arena, "dim.%s", c->name)));
		c->size = t->id;
	}
	return c->size;
}

bool tsr_elab_operand(tsr_elab *el, tsr_value v, tsr_span span, tsr_value *out)
{
	switch (v.kind) {
	case TSR_VALUE_TENSOR: *out = v; return true;
	case TSR_VALUE_INT: case TSR_VALUE_FLOAT: case TSR_VALUE_BOOL: *out = tsr_value_tensor(lift_number(el, v, span)); return true;
	case TSR_VALUE_NUMBER: *out = tsr_value_tensor(tsr_number_tensor(el, v.number, span)); return true;
	case TSR_VALUE_LABEL: *out = tsr_value_tensor(lift_label(el, v.label, span)); return true;
	case TSR_VALUE_UNKNOWN: *out = tsr_aside_operand(el, v.unknown, span); return true;
	case TSR_VALUE_LIST:
		if (tsr_literal_of_list(el, v, span, out))
			return true;
		if (el->aside) {                       /* of numbers that are not known */
			*out = tsr_aside_anything(el, span);
			return true;
		}
		break;
	case TSR_VALUE_POISON: case TSR_VALUE_UNIT: case TSR_VALUE_STRING: case TSR_VALUE_TUPLE: case TSR_VALUE_OPTION:
	case TSR_VALUE_FUNCTION: case TSR_VALUE_CODE: case TSR_VALUE_ARGUMENT: break;
	}
	tsr_eval_type_error(el->ev, span, "a tensor or a number", v);
	return false;
}

/* ---- on numbers alone ------------------------------------------------------------------------------------------------- */

static bool is_plain(tsr_value v)
{
	return v.kind == TSR_VALUE_INT || v.kind == TSR_VALUE_FLOAT || v.kind == TSR_VALUE_BOOL;
}

/* The forward definition computed on numbers; false where it is more than one assignment of a constant. */
static bool on_numbers(tsr_elab *el, const tsr_operation *op, const tsr_value *operands, tsr_value *out)
{
	tsr_rhs *r = tsr_define_alone(el, op, operands);
	if (!r || r->kind != TSR_RHS_CONST)
		return false;
	if (r->prec == TSR_PREC_BOOL)
		*out = tsr_value_bool(r->value.i != 0);
	else if (r->value.prec == TSR_PREC_I64)
		*out = tsr_value_int(r->value.i);
	else
		*out = tsr_value_float(r->value.d);
	return true;
}

/* ---- application --------------------------------------------------------------------------------------------------------- */

/* What an error in a shape says of the applications around it. */
const tsr_within *tsr_elab_within(tsr_elab *el)
{
	enum { MOST = 6 };
	tsr_name names[MOST];
	tsr_span sites[MOST];
	uint32_t n = tsr_eval_active(el->ev, MOST, names, sites);
	tsr_within *at = n ? TSR_NEW_N(el->arena, tsr_within, n) : NULL;
	for (uint32_t i = 0; i < n; i++)
		at[i] = (tsr_within){names[i], sites[i], i + 1 < n ? &at[i + 1] : NULL};
	return at;
}

/* From the first operand to the last, or to the spec behind it. */
static tsr_span whole_of(const tsr_call *c, tsr_span spec)
{
	tsr_span whole = c->site;
	for (uint32_t i = 2; i < c->n; i++)
		if (c->spans[i].file == whole.file)
			whole = tsr_span_join(whole, c->spans[i]);
	if (spec.file && spec.file == whole.file && spec.start >= whole.start)
		whole.end = spec.end + 1 > whole.end ? spec.end + 1 : whole.end;         /* the closing quote */
	return whole;
}

static tsr_why why_of(tsr_elab *el, const tsr_call *c, const tsr_value *spec, uint32_t n, const tsr_value *operands)
{
	tsr_why w = {.span = c->site, .other = TSR_NOWHERE, .within = tsr_elab_within(el)};
	const char *name = c->name ? c->name : "the operation";
	if (spec && spec->kind == TSR_VALUE_STRING) {
		w.what = tsr_format(el->arena, "`%s \"%s\"`", name, spec->string.text);
		if (spec->string.origin)
			w.other = spec->string.origin->span;
	} else {
		w.what = tsr_format(el->arena, "`%s`", name);
	}
	w.whole = whole_of(c, w.other);
	for (uint32_t i = 0; i < n && i < 3; i++)
		w.operands[i] = operands[i].kind == TSR_VALUE_TENSOR ? tsr_elab_tensor(el, operands[i].tensor.id)->name : NULL;
	return w;
}

static bool differentiable(tsr_elab *el, uint32_t n, const tsr_value *operands)
{
	for (uint32_t i = 0; i < n; i++)
		if (operands[i].kind == TSR_VALUE_TENSOR && operands[i].tensor.part == TSR_PART_VALUE
		    && tsr_elab_tensor(el, operands[i].tensor.id)->differentiable)
			return !el->frozen;
	return false;
}

static bool is_open(tsr_elab *el, const tsr_value *spec)
{
	return spec && spec->kind == TSR_VALUE_UNKNOWN && (tsr_unknown_configure(el->ev, spec->unknown), true);
}

/* A lookup by one number: of the configuration, of the run, or the size of a label. */
static bool one_place(tsr_elab *el, tsr_record *r, const tsr_value *given)
{
	if (r->rule.logic != TSR_LOGIC_GATHER)
		return true;
	const tsr_value *v = &given[1];
	if (v->kind == TSR_VALUE_INT && v->integer < 0) {
		tsr_report(el->tc, TSR_E_POSITION, r->site, "position %lld lies outside every axis", (long long)v->integer);
		return false;
	}
	if (is_plain(*v) || v->kind == TSR_VALUE_NUMBER || v->kind == TSR_VALUE_LABEL)
		r->rule.logic = TSR_LOGIC_GATHER_ONE;
	r->rule.least = v->kind == TSR_VALUE_INT ? v->integer + 1 : 0;
	return true;
}

static tsr_value make(tsr_elab *el, const tsr_call *c, const tsr_operation *op, const tsr_value *spec, const tsr_value *logic,
                      const tsr_value *given)
{
	uint32_t n = op->arity;
	tsr_value *lifted = TSR_NEW_N(el->arena, tsr_value, n), *operands = TSR_NEW_N(el->arena, tsr_value, n);
	for (uint32_t i = 0; i < n; i++) {
		if (!tsr_elab_operand(el, given[i], c->spans[2 + i], &lifted[i]))
			return TSR_POISON;
		operands[i] = is_plain(given[i]) ? given[i] : lifted[i];
		if (tsr_elab_tensor(el, lifted[i].tensor.id)->poison)
			return TSR_POISON;
	}
	tsr_record *r = tsr_record_new(el, c->site, n);
	r->open = is_open(el, spec) || is_open(el, logic);
	if (!r->open && !tsr_template_logic(el, r, spec, logic, c->site))
		return TSR_POISON;
	tsr_tensor *t = tsr_tensor_new(el, TSR_TENSOR_OP, c->site);
	tsr_elab_fresh(el, t);
	t->op.record = r->id;
	t->op.op = c->name ? c->name : "operation";
	t->op.apart = op->apart;
	t->differentiable = op->grad && differentiable(el, n, lifted);
	r->slots[0] = t->id;
	for (uint32_t i = 0; i < n; i++)
		r->slots[1 + i] = lifted[i].tensor.id;
	r->rule.why = why_of(el, c, r->rule.logic == TSR_LOGIC_SPEC ? spec ? spec : logic : NULL, n, operands);
	if (!one_place(el, r, given))
		return TSR_POISON;
	if (r->open) {
		tsr_store_leaf(el->g->store, &t->shape, TSR_LEAF_PLAIN, NULL, c->site);
		tsr_unknown_pass(el->ev, c->site, "this operation, whose spec is not known");
	}
	if (!r->open)
		tsr_elab_emit(el, r);
	tsr_slots s = {r->id, t->id, tsr_frame_new(el->arena, NULL, false), NULL, n, operands};
	t->poison = !tsr_define(el, c->data, t, &s, c->site);
	return t->poison ? TSR_POISON : tsr_value_tensor(t->id);
}

/* The same where a number is not known: it has no more than its text. */
static tsr_value number_alone(tsr_elab *el, tsr_name name, uint32_t n, const tsr_value *given)
{
	tsr_text t;
	uint64_t from = 0;
	tsr_text_init(&t, el->arena);
	tsr_text_addf(&t, "(%s", name ? name : "operation");
	for (uint32_t i = 0; i < n; i++) {
		tsr_text_addf(&t, " %s", tsr_value_str(el->arena, given[i]));
		from |= given[i].kind == TSR_VALUE_UNKNOWN ? given[i].unknown->from : 0;
	}
	return tsr_unknown_value(el->ev, TSR_UNKNOWN_CONFIG, from, "%s)", tsr_text_str(&t));
}

static tsr_value apply_operation(const tsr_call *c)
{
	tsr_elab *el = tsr_elab_of(c->ev);
	tsr_operation *op = TSR_NEW(el->arena, tsr_operation);
	*op = *(const tsr_operation *)c->data;
	if (op->arity == 0)
		op->arity = c->n - 2;
	const tsr_value *spec = c->args[0] ? c->args[0] : op->spec, *logic = c->args[1] ? c->args[1] : op->logic;
	tsr_value *given = TSR_NEW_N(el->arena, tsr_value, op->arity), out;
	bool plain = true, numbers = el->aside && op->arity;
	for (uint32_t i = 0; i < op->arity; i++) {
		given[i] = *c->args[2 + i];
		if (tsr_value_is_poison(given[i]))
			return TSR_POISON;
		plain &= is_plain(given[i]);
		numbers &= is_plain(given[i]) || (given[i].kind == TSR_VALUE_UNKNOWN && given[i].unknown->kind == TSR_UNKNOWN_CONFIG);
	}
	if (el->slots) {
		tsr_eval_report(el->ev, TSR_E_ASSIGN, c->site, "the definition of an operation calls primitives only");
		return TSR_POISON;
	}
	if (plain && !spec && !logic && on_numbers(el, op, given, &out))
		return out;
	if (numbers && !spec && !logic)
		return number_alone(el, c->name, op->arity, given);
	return make(el, c, op, spec, logic, given);
}

/* ---- making operations ------------------------------------------------------------------------------------------------------ */

static const tsr_value *kept(tsr_elab *el, const tsr_value *v)
{
	if (!v || (v->kind == TSR_VALUE_OPTION && v->items.n == 0))
		return NULL;
	tsr_value *k = TSR_NEW(el->arena, tsr_value);
	*k = v->kind == TSR_VALUE_OPTION ? v->items.at[0] : *v;
	return k;
}

static tsr_value operation(const tsr_call *c, uint32_t arity)
{
	tsr_elab *el = tsr_elab_of(c->ev);
	tsr_operation *op = TSR_NEW(el->arena, tsr_operation);
	op->arity = arity;
	op->spec = kept(el, c->args[0]);
	op->logic = kept(el, c->args[1]);
	op->forward = *c->args[2];
	op->grad = kept(el, c->args[3]);
	const tsr_value *apart = kept(el, c->args[4]);
	op->apart = apart && apart->kind == TSR_VALUE_BOOL && apart->integer;
	return tsr_function_operation(el->ev, NULL, apply_operation, arity, op);
}

static tsr_value nop(const tsr_call *c)
{
	tsr_value n = *c->args[5];
	if (n.kind == TSR_VALUE_INT && n.integer >= 1 && n.integer <= 64)
		return operation(c, (uint32_t)n.integer);
	return tsr_eval_type_error(c->ev, c->spans[5], "the number of operands", n);
}

static tsr_value nops(const tsr_call *c) { return operation(c, 0); }
static tsr_value unop(const tsr_call *c) { return operation(c, 1); }
static tsr_value binop(const tsr_call *c) { return operation(c, 2); }
static tsr_value ternop(const tsr_call *c) { return operation(c, 3); }

/* by_operands [f2; f3]: the first member that takes as many operands as there are. */
static tsr_value choose_operation(const tsr_call *c)
{
	tsr_elab *el = tsr_elab_of(c->ev);
	const tsr_overload *o = c->data;
	uint32_t n = c->n - 2;
	for (uint32_t i = 0; i < o->list.items.n; i++) {
		const tsr_operation *op = tsr_function_data(o->list.items.at[i], apply_operation);
		if (!op || (op->arity && op->arity != n))
			continue;
		tsr_call call = *c;
		call.data = (void *)op;
		return apply_operation(&call);
	}
	tsr_eval_report(el->ev, TSR_E_ARGUMENTS, c->site, "`%s` does not take %u operand%s", c->name ? c->name : "the operation", n,
	                n == 1 ? "" : "s");
	return TSR_POISON;
}

static tsr_value by_operands(const tsr_call *c)
{
	tsr_elab *el = tsr_elab_of(c->ev);
	if (c->args[0]->kind != TSR_VALUE_LIST)
		return tsr_eval_type_error(el->ev, c->spans[0], "a list of operations", *c->args[0]);
	for (uint32_t i = 0; i < c->args[0]->items.n; i++)
		if (!tsr_function_data(c->args[0]->items.at[i], apply_operation))
			return tsr_eval_type_error(el->ev, c->spans[0], "operations made by unop, binop or ternop", c->args[0]->items.at[i]);
	tsr_overload *o = TSR_NEW(el->arena, tsr_overload);
	o->list = *c->args[0];
	return tsr_function_operation(el->ev, NULL, choose_operation, 0, o);
}

/* ---- captures ------------------------------------------------------------------------------------------------------------------ */

void tsr_elab_capture(tsr_eval *ev, const tsr_env *env, tsr_value result, const tsr_ast *captures)
{
	tsr_elab *el = tsr_elab_of(ev);
	tsr_frame *frame = tsr_env_nearest_frame(env);
	if (!frame) {
		tsr_eval_report(ev, TSR_E_LEVEL, captures->span, "captured labels belong to a definition: `let%%op`");
		return;
	}
	tsr_tensor *t = result.kind == TSR_VALUE_TENSOR ? tsr_elab_tensor(el, result.tensor.id) : NULL;
	bool has_rule = t && t->kind == TSR_TENSOR_OP && t->op.record != TSR_NONE;
	bool open = has_rule && el->g->records.at[t->op.record]->open;
	for (uint32_t i = 0; i < captures->items.n; i++) {
		const tsr_ast *a = captures->items.at[i];
		if (a->kind != TSR_AST_NAME)
			continue;
		const tsr_label *l = has_rule ? tsr_rule_label(&el->g->records.at[t->op.record]->rule, a->name.name) : NULL;
		tsr_value v = TSR_POISON;
		if (l) {
			tsr_capture *c = TSR_NEW(el->arena, tsr_capture);
			*c = (tsr_capture){l, el->g->store, a->name.name, a->span, TSR_NONE};
			v = (tsr_value){.kind = TSR_VALUE_LABEL, .label = c};
		} else if (open || result.kind == TSR_VALUE_UNKNOWN) {
			v = tsr_unknown_value(ev, TSR_UNKNOWN_CONFIG, 0, "%s", a->name.name);
		} else if (!tsr_value_is_poison(result)) {
			tsr_eval_report(ev, TSR_E_UNKNOWN_NAME, a->span, "the spec has no label `%s`", a->name.name);
		}
		tsr_elab_put(el, frame, a->name.name, v);
	}
}

const tsr_builtin tsr_op_builtins[] = {
	{"unop", "?spec ?logic ~forward ?grad ?apart", unop},
	{"binop", "?spec ?logic ~forward ?grad ?apart", binop},
	{"ternop", "?spec ?logic ~forward ?grad ?apart", ternop},
	{"nop", "?spec ?logic ~forward ?grad ?apart n", nop},
	{"nops", "?spec ?logic ~forward ?grad ?apart", nops},
	{"by_operands", "operations", by_operands},
};
const uint32_t tsr_op_nbuiltins = sizeof tsr_op_builtins / sizeof *tsr_op_builtins;
