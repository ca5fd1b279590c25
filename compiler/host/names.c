/* Names of the modules as the program level sees them: constants, tensors and gradients, pieces of code, runtime numbers.
 * They are what the configuration evaluator says they are. */
#include "lower.h"

static tsr_hexpr *constant(tsr_hlower *l, tsr_value v, tsr_span span)
{
	tsr_hexpr *e;
	switch (v.kind) {
	case TSR_VALUE_INT:
		return tsr_hexpr_int(l, v.integer, span);
	case TSR_VALUE_BOOL:
		e = tsr_hexpr_new(l, TSR_H_BOOL, TSR_HOST_BOOL, span);
		e->integer = v.integer;
		return e;
	case TSR_VALUE_FLOAT:
		e = tsr_hexpr_new(l, TSR_H_FLOAT, TSR_HOST_FLOAT, span);
		e->real = v.real;
		return e;
	case TSR_VALUE_STRING: {
		size_t n = 0;
		while (v.string.text[n])
			n++;
		return tsr_hexpr_string(l, v.string.text, n, span);
	}
	case TSR_VALUE_POISON: case TSR_VALUE_UNIT: case TSR_VALUE_LIST: case TSR_VALUE_TUPLE: case TSR_VALUE_OPTION:
	case TSR_VALUE_FUNCTION: case TSR_VALUE_TENSOR: case TSR_VALUE_CODE: case TSR_VALUE_NUMBER: case TSR_VALUE_LABEL:
	case TSR_VALUE_ARGUMENT: case TSR_VALUE_UNKNOWN:
		break;
	}
	return NULL;
}

static tsr_name name_of(tsr_hlower *l, const tsr_ast *e)
{
	if (e->kind == TSR_AST_NAME)
		return e->name.name;
	if (e->kind == TSR_AST_FIELD)
		return tsr_intern(l->tc->names, tsr_format(l->arena, "%s.%s", name_of(l, e->field.e), e->field.field));
	return tsr_intern(l->tc->names, "code");
}

/* A string argument of the program is `arg n` at this level. */
static tsr_hexpr *argument(tsr_hlower *l, tsr_value v, tsr_span span)
{
	size_t n = 0;
	while (v.argument.deflt && v.argument.deflt[n])
		n++;
	tsr_hexpr *args[] = {tsr_hexpr_int(l, v.argument.position - 1, span), tsr_hexpr_string(l, v.argument.deflt, n, span)};
	return tsr_hexpr_call(l, TSR_HFUN_ARG, 2, args, span);
}

tsr_ref tsr_host_resolve(tsr_hlower *l, tsr_ast *e)
{
	tsr_value v = tsr_evaluate(tsr_elab_evaluator(l->g), TSR_LEVEL_CONFIG, l->env, e);
	tsr_ref r = {.kind = TSR_REF_OTHER, .what = tsr_value_kind_name(v)};
	switch (v.kind) {
	case TSR_VALUE_POISON:
		r.kind = TSR_REF_POISON;
		break;
	case TSR_VALUE_INT: case TSR_VALUE_FLOAT: case TSR_VALUE_BOOL: case TSR_VALUE_STRING:
		r.kind = TSR_REF_CONST;
		r.constant = constant(l, v, e->span);
		break;
	case TSR_VALUE_ARGUMENT:
		r.kind = TSR_REF_CONST;
		r.constant = argument(l, v, e->span);
		break;
	case TSR_VALUE_TENSOR:
		r.kind = TSR_REF_TENSOR;
		r.tensor = v.tensor.id;
		r.part = (tsr_part)v.tensor.part;
		if (v.tensor.id >= l->ntensors) {
			tsr_diag *d = tsr_report(l->tc, TSR_E_PROGRAM_FORM, e->span, "a tensor cannot be made at the program level");
			tsr_hint(l->tc, d, "name it above let%%main: let%%op t = ..");
			r.kind = TSR_REF_POISON;
		}
		break;
	case TSR_VALUE_CODE:
		r.kind = TSR_REF_CODE;
		r.code = v.code;
		r.code_name = name_of(l, e);
		if (l->g->tensors.n > l->ntensors) {
			tsr_diag *d = tsr_report(l->tc, TSR_E_PROGRAM_FORM, e->span, "code that makes tensors cannot be made at the program level");
			tsr_hint(l->tc, d, "name it above let%%main: let%%cd step = ..");
			r.kind = TSR_REF_POISON;
		}
		break;
	case TSR_VALUE_NUMBER:
		r.kind = TSR_REF_NUMBER;
		r.number = v.number;
		break;
	case TSR_VALUE_UNIT: case TSR_VALUE_LIST: case TSR_VALUE_TUPLE: case TSR_VALUE_OPTION: case TSR_VALUE_FUNCTION:
	case TSR_VALUE_LABEL: case TSR_VALUE_UNKNOWN:
		break;
	}
	return r;
}
