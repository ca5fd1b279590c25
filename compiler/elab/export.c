/* let%export f (x : "?n | 64") (ids : "?n, ?len |" i32) (rate : f32) = body: a function that C calls.
 *
 * The signature gives every tensor all its axes.  A ?n is one size however often it is written, rigid in the solver: where the
 * body makes it equal to something else, that is tested on entry.  A parameter with a precision alone is a number, passed by
 * value, and the runtime number of that name inside.
 *
 * The body is a program where it does what only a program can (a loop that runs, print, run, elements); it is kept for host/.
 * Otherwise it is a tensor, or a tuple of tensors, that C gets; or code that a call runs; or code and after it a tensor.
 * Within one call each tensor is computed once, so `grad_update loss; sgd loss; loss` gives the loss before the step. */
#include "state.h"
#include "../../runtime/tsr_abi.h"
#include <string.h>

bool tsr_export_around(const tsr_elab *el, tsr_span at)
{
	const tsr_export *x = el->exported;
	return x && at.file == x->span.file && at.start >= x->span.start && at.end <= x->span.end;
}

uint32_t tsr_export_symbol(tsr_elab *el, const tsr_axis *axis, tsr_symbols symbols)
{
	tsr_export *x = el->exported;
	for (uint32_t i = 0; i < x->symbols.n; i++)
		if (tsr_store_symbol_get(el->g->store, x->symbols.at[i])->name == axis->label)
			return x->symbols.at[i];
	if (symbols != TSR_SYMBOLS_SIGNATURE) {
		tsr_diag *d = tsr_eval_report(el->ev, TSR_E_UNKNOWN_NAME, axis->span, "no argument of `%s` has a size ?%s", x->name, axis->label);
		tsr_hint(el->tc, d, "a name without `?` is a size that inference finds");
		return TSR_NONE;
	}
	uint32_t symbol = tsr_store_symbol(el->g->store, axis->label, axis->span, true);
	tsr_push(el->arena, &x->symbols, symbol);
	return symbol;
}

/* ---- the signature ------------------------------------------------------------------------------------------------------- */

static bool refuse(tsr_elab *el, const tsr_param *p, const char *what, const char *hint)
{
	tsr_diag *d = tsr_report(el->tc, TSR_E_EXPORT, p->span, "%s", what);
	tsr_hint(el->tc, d, "%s", hint);
	return false;
}

static bool named_once(tsr_elab *el, const tsr_param *p)
{
	const tsr_export *x = el->exported;
	for (uint32_t i = 0; i < x->args.n; i++)
		if (x->args.at[i].name == p->pat->name) {
			tsr_diag *d = tsr_report(el->tc, TSR_E_EXPORT, p->span, "two arguments are called `%s`", p->pat->name);
			tsr_note_at(el->tc, d, x->args.at[i].span, "the first one");
			return false;
		}
	return true;
}

/* What C can pass: a name, and a shape or a precision. */
static bool well_formed(tsr_elab *el, const tsr_param *p, tsr_prec *prec)
{
	if (p->kind == TSR_ARG_OPTION || p->deflt)
		return refuse(el, p, "C passes every argument; one of an exported function cannot be optional", "write (x : \"?n | 64\")");
	if (!p->annotation && !p->prec) {
		const char *name = p->pat && p->pat->kind == TSR_PAT_NAME ? p->pat->name : p->label ? p->label : "x";
		return refuse(el, p, tsr_format(el->arena, "nothing says what C passes for `%s`", name),
			tsr_format(el->arena, "write its shape, (%s : \"?n | 64\"), or for a number its precision, (%s : i64)", name, name));
	}
	if (!p->pat || p->pat->kind != TSR_PAT_NAME)
		return refuse(el, p, "an argument of an exported function has a name", "write (x : \"?n | 64\")");
	*prec = TSR_PREC_F32;
	if (p->prec && !tsr_prec_find(p->prec, prec)) {
		tsr_diag *d = tsr_report(el->tc, TSR_E_TYPE, p->span, "there is no precision `%s`", p->prec);
		tsr_hint(el->tc, d, "the precisions are bool u8 i8 i16 i32 u32 i64 f8 f16 bf16 f32 f64");
		return false;
	}
	if (!p->annotation && (*prec == TSR_PREC_BOOL || *prec == TSR_PREC_F8))
		return refuse(el, p, tsr_format(el->arena, "a number that C passes is whole or a float, not %s", tsr_prec_name(*prec)),
			"i64 and f64 are the numbers; a tensor also has a shape: (x : \"?n\" bool)");
	return named_once(el, p);
}

/* In a signature nothing is left to inference: C must know how much memory there is. */
static bool all_sizes(tsr_elab *el, const tsr_annotated *a)
{
	for (uint32_t i = 0; i < a->rank; i++)
		if (a->axes[i]->kind != TSR_AXIS_FIXED && a->axes[i]->kind != TSR_AXIS_SYMBOL) {
			const char *name = a->axes[i]->label ? a->axes[i]->label : "n";
			tsr_diag *d = tsr_report(el->tc, TSR_E_EXPORT, a->axes[i]->span, "the caller must know the size of this axis");
			tsr_hint(el->tc, d, "write a number, or ?%s for a size that each call gives", name);
			return false;
		}
	return true;
}

static tsr_value tensor_argument(tsr_elab *el, const tsr_param *p, tsr_prec prec, tsr_export_arg *arg)
{
	tsr_annotated a;
	tsr_value text = tsr_value_string(p->annotation);
	if (!tsr_template_annotation(el, text, p->annotation_span, TSR_SYMBOLS_SIGNATURE, &a) || !all_sizes(el, &a))
		return TSR_POISON;
	tsr_tensor *t = tsr_tensor_new(el, TSR_TENSOR_INPUT, p->span);
	t->shape = a.shape;
	t->prec = prec;
	t->prec_fixed = true;
	t->input.name = p->pat->name;
	tsr_tensor_set_name(el, t, tsr_elab_name(el, tsr_format(el->arena, "%s.%s", el->exported->name, p->pat->name)));
	tsr_tensor_leaf(el, t);
	arg->tensor = t->id;
	return tsr_value_tensor(t->id);
}

static tsr_value argument(tsr_elab *el, const tsr_param *p)
{
	tsr_prec prec;
	tsr_value v = TSR_POISON;
	if (!well_formed(el, p, &prec))
		return TSR_POISON;
	tsr_export_arg arg = {p->pat->name, p->span, TSR_NONE, TSR_NONE};
	if (p->annotation)
		v = tensor_argument(el, p, prec, &arg);
	else if (tsr_number_named(el, p->pat->name, tsr_prec_is_int(prec), p->span, &v))
		arg.number = v.number;
	if (!tsr_value_is_poison(v))
		tsr_push(el->arena, &el->exported->args, arg);
	return v;
}

/* NULL after a report. */
static const tsr_env *signature(tsr_elab *el, const tsr_env *env, const tsr_ast *item)
{
	bool good = true;
	for (uint32_t i = 0; i < item->export.params.n; i++) {
		const tsr_param *p = &item->export.params.at[i];
		if (p->pat && p->pat->kind == TSR_PAT_UNIT)
			continue;
		tsr_value v = argument(el, p);
		good &= !tsr_value_is_poison(v);
		if (p->pat && p->pat->kind == TSR_PAT_NAME)
			env = tsr_env_bind(el->arena, env, p->pat->name, v);
	}
	return good ? env : NULL;
}

/* ---- the body ------------------------------------------------------------------------------------------------------------- */

static bool applies(const tsr_ast *e, const char *name)
{
	return e->kind == TSR_AST_APPLY && e->apply.fn->kind == TSR_AST_NAME && !e->apply.fn->name.qualifier && !strcmp(e->apply.fn->name.name, name);
}

/* Does something that only a program does. */
static bool is_program(const tsr_ast *e)
{
	static const char *const effects[] = {"run", "print", "progress"};
	bool found = false;
	switch ((int)e->kind) {
	case TSR_AST_UNIT: case TSR_AST_WHILE: case TSR_AST_STORE: case TSR_AST_SETREF: return true;
	case TSR_AST_LET: return applies(e->let.value, "ref") || (e->let.body && is_program(e->let.body));
	case TSR_AST_FOR: return is_program(e->loop.body);
	case TSR_AST_IF: return is_program(e->iff.then) || (e->iff.other && is_program(e->iff.other));
	case TSR_AST_SEQ:
		for (uint32_t i = 0; i < e->items.n; i++)
			found |= is_program(e->items.at[i]);
		return found;
	default: break;
	}
	for (size_t i = 0; i < sizeof effects / sizeof *effects; i++)
		found |= applies(e, effects[i]);
	return found;
}

static bool is_code(const tsr_ast *e)
{
	switch ((int)e->kind) {
	case TSR_AST_ASSIGN: case TSR_AST_COMMENT: case TSR_AST_FOR: case TSR_AST_SEQ: return true;
	case TSR_AST_LET: return e->let.body && is_code(e->let.body);
	case TSR_AST_IF: return is_code(e->iff.then) || (e->iff.other && is_code(e->iff.other));
	default: return false;
	}
}

/* What `let .. in` at the beginning binds; in a program that is let%op and let%cd only.  NULL after a report; `*e` is the rest. */
static const tsr_env *definitions(tsr_elab *el, const tsr_env *env, const tsr_ast **e, bool of_program)
{
	while (env && (*e)->kind == TSR_AST_LET && (*e)->let.body && !(of_program && (*e)->let.level == TSR_LEVEL_CONFIG)) {
		tsr_value v = tsr_evaluate_let(el->ev, TSR_LEVEL_OP, env, *e);
		env = tsr_match(el->ev, env, (*e)->let.pat, v);
		if (!env)
			tsr_eval_report(el->ev, TSR_E_NO_CASE, (*e)->let.pat->span, "the value does not have this form: it is %s",
			                tsr_function_describe(el->arena, v));
		*e = (*e)->let.body;
	}
	return env;
}

/* The values of the steps; the last is what the body gives, and `last` its text. */
static bool steps_of(tsr_elab *el, const tsr_env *env, const tsr_ast *e, tsr_values *steps, const tsr_ast **last)
{
	env = definitions(el, env, &e, false);
	if (!env)
		return false;
	bool sequence = e->kind == TSR_AST_SEQ && e->items.n;
	for (uint32_t i = 0; sequence && i + 1 < e->items.n; i++) {
		tsr_value v = tsr_evaluate(el->ev, TSR_LEVEL_CD, env, e->items.at[i]);
		if (v.kind != TSR_VALUE_CODE && v.kind != TSR_VALUE_UNIT)
			v = tsr_eval_type_error(el->ev, e->items.at[i]->span, "code, before what the function gives", v);
		tsr_push(el->arena, steps, v);
	}
	if (sequence)
		return steps_of(el, env, e->items.at[e->items.n - 1], steps, last);
	*last = e;
	tsr_push(el->arena, steps, tsr_evaluate(el->ev, is_code(e) ? TSR_LEVEL_CD : TSR_LEVEL_OP, env, e));
	return true;
}

/* Tensors that exist only inside expressions: a copy is something that C can get. */
static bool has_no_memory(const tsr_tensor *t)
{
	return t->kind == TSR_TENSOR_FILL || t->kind == TSR_TENSOR_POSITIONS || t->kind == TSR_TENSOR_NUMBER || t->kind == TSR_TENSOR_SIZE;
}

static tsr_tensor_id copy_of(tsr_elab *el, tsr_tensor_id from, tsr_span span)
{
	tsr_record *r = tsr_record_new(el, span, 1);
	tsr_tensor *t = tsr_tensor_new(el, TSR_TENSOR_OP, span);
	tsr_elab_fresh(el, t);
	t->op.record = r->id;
	t->op.op = "the result";
	r->rule.logic = TSR_LOGIC_POINTWISE;
	r->rule.why = (tsr_why){.span = span, .what = "the result"};
	r->slots[0] = t->id;
	r->slots[1] = from;
	tsr_elab_emit(el, r);
	t->op.forward = TSR_NEW(el->arena, tsr_assigns);
	tsr_rhs *rhs = tsr_rhs_operand(el, (tsr_operand){from, TSR_PART_VALUE, 1, span});
	tsr_assign a = {span, {t->id, TSR_PART_VALUE, 0, span}, TSR_ACC_SET, false, rhs, r->id};
	tsr_push(el->arena, &t->op.forward->v, a);
	return t->id;
}

static bool result(tsr_elab *el, tsr_value v, const tsr_ast *e, tsr_codetree *code)
{
	if (!tsr_elab_operand(el, v, e->span, &v))
		return false;
	tsr_export_result r = {e->kind == TSR_AST_NAME ? e->name.name : NULL, v.tensor.id, (tsr_part)v.tensor.part};
	if (r.part == TSR_PART_VALUE && has_no_memory(tsr_tensor_get(el->g, r.tensor)))
		r.tensor = copy_of(el, r.tensor, e->span);
	tsr_push(el->arena, &el->exported->results, r);
	if (r.part == TSR_PART_VALUE) {
		tsr_codetree *f = tsr_codetree_new(el, TSR_CODE_FORWARD, e->span);
		f->tensor = r.tensor;
		tsr_push(el->arena, &code->seq, f);
	}
	return true;
}

/* The last value: what C gets, or nothing. */
static void give(tsr_elab *el, tsr_value v, const tsr_ast *e, tsr_codetree *code)
{
	tsr_export *x = el->exported;
	bool tuple = v.kind == TSR_VALUE_TUPLE;
	const tsr_ast *parts = tuple && e->kind == TSR_AST_TUPLE && e->items.n == v.items.n ? e : NULL;
	if (tuple && v.items.n > TSR_MAX_RESULTS) {
		tsr_report(el->tc, TSR_E_EXPORT, e->span, "an exported function gives at most %d tensors, and these are %u", TSR_MAX_RESULTS, v.items.n);
		return;
	}
	for (uint32_t i = 0; tuple && i < v.items.n; i++)
		if (!result(el, v.items.at[i], parts ? parts->items.at[i] : e, code))
			return;
	for (uint32_t i = 0; tuple && !parts && i < x->results.n; i++)
		x->results.at[i].name = NULL;
	if (!tuple && v.kind != TSR_VALUE_CODE && v.kind != TSR_VALUE_UNIT && !result(el, v, e, code))
		return;
	x->code = tsr_elab_code(el->g, code, x->name, x->span);
}

static void body(tsr_elab *el, const tsr_env *env, const tsr_ast *item)
{
	tsr_export *x = el->exported;
	tsr_values steps = {0};
	const tsr_ast *last = NULL;
	uint32_t since = el->g->tensors.n;
	tsr_name old = tsr_eval_push_path(el->ev, x->name);
	bool good = steps_of(el, env, item->export.body, &steps, &last);
	if (good)
		tsr_elab_named(el->ev, tsr_eval_path(el->ev), steps.at[steps.n - 1], since);
	tsr_codetree *code = tsr_codetree_new(el, TSR_CODE_SEQ, item->span);
	for (uint32_t i = 0; i < steps.n; i++) {
		good &= !tsr_value_is_poison(steps.at[i]);
		if (steps.at[i].kind == TSR_VALUE_CODE)
			tsr_push(el->arena, &code->seq, steps.at[i].code);
	}
	if (good)
		give(el, steps.at[steps.n - 1], last, code);
	tsr_eval_set_path(el->ev, old);
}

static void program(tsr_elab *el, const tsr_env *env, const tsr_ast *item)
{
	const tsr_ast *e = item->export.body;
	tsr_name old = tsr_eval_push_path(el->ev, el->exported->name);
	env = definitions(el, env, &e, true);
	tsr_eval_set_path(el->ev, old);
	if (!env)
		return;
	el->exported->program = TSR_NEW(el->arena, struct tsr_main);
	*el->exported->program = (struct tsr_main){(tsr_ast *)e, (tsr_env *)env, item->span};
}

void tsr_elab_export(tsr_elab *el, const tsr_env *env, const tsr_ast *item)
{
	tsr_export *x = TSR_NEW(el->arena, tsr_export);
	x->name = item->export.name;
	x->span = item->span;
	x->at = item->at;
	x->code = TSR_NONE;
	x->from = el->g->tensors.n;
	for (uint32_t i = 0; i < el->g->exports.n; i++)
		if (el->g->exports.at[i]->name == x->name) {
			tsr_diag *d = tsr_report(el->tc, TSR_E_EXPORT, item->at, "there is an exported function `%s` already", x->name);
			tsr_note_at(el->tc, d, el->g->exports.at[i]->at, "the first one");
			return;
		}
	tsr_instance *instance = tsr_instance_new(el->ev, x->name);
	instance->open = true;
	el->exported = x;
	env = signature(el, tsr_env_frame(el->arena, env, tsr_frame_new(el->arena, instance, false)), item);
	if (env && is_program(item->export.body))
		program(el, env, item);
	else if (env)
		body(el, env, item);
	el->exported = NULL;
	instance->open = false;
	x->to = el->g->tensors.n;
	tsr_push(el->arena, &el->g->exports, x);
}
