/* Constructors of the program-level IR, and the one implicit conversion: an int where a float is needed. */
#include "lower.h"

tsr_hexpr *tsr_hexpr_new(tsr_hlower *l, tsr_hexpr_kind kind, tsr_host_type type, tsr_span span)
{
	tsr_hexpr *e = TSR_NEW(l->arena, tsr_hexpr);
	e->kind = kind;
	e->type = type;
	e->span = span;
	return e;
}

tsr_hexpr *tsr_hexpr_int(tsr_hlower *l, int64_t v, tsr_span span)
{
	tsr_hexpr *e = tsr_hexpr_new(l, TSR_H_INT, TSR_HOST_INT, span);
	e->integer = v;
	return e;
}

tsr_hexpr *tsr_hexpr_string(tsr_hlower *l, const char *text, size_t size, tsr_span span)
{
	tsr_hexpr *e = tsr_hexpr_new(l, TSR_H_STRING, TSR_HOST_STRING, span);
	e->string.text = text;
	e->string.size = size;
	return e;
}

tsr_hexpr *tsr_hexpr_var(tsr_hlower *l, tsr_var_id var, tsr_span span)
{
	tsr_hexpr *e = tsr_hexpr_new(l, TSR_H_VAR, l->host->vars.at[var], span);
	e->var = var;
	return e;
}

tsr_hexpr *tsr_hexpr_binary(tsr_hlower *l, tsr_host_op op, tsr_host_type type, tsr_hexpr *a, tsr_hexpr *b, tsr_span span)
{
	tsr_hexpr *e = tsr_hexpr_new(l, b ? TSR_H_BINARY : TSR_H_UNARY, type, span);
	e->op.op = op;
	e->op.a = a;
	e->op.b = b;
	return e;
}

tsr_hexpr *tsr_hexpr_call(tsr_hlower *l, tsr_hfun f, uint32_t n, tsr_hexpr **args, tsr_span span)
{
	tsr_hexpr *e = tsr_hexpr_new(l, TSR_H_CALL, tsr_host_type_of_letter(tsr_hfun_get(f)->result[0]), span);
	e->call.function = f;
	for (uint32_t i = 0; i < n; i++)
		tsr_push(l->arena, &e->call.args, args[i]);
	return e;
}

tsr_hstmt *tsr_hstmt_add(tsr_hlower *l, tsr_hstmt_kind kind, tsr_span span)
{
	tsr_hstmt *s = TSR_NEW(l->arena, tsr_hstmt);
	s->kind = kind;
	s->span = span;
	tsr_push(l->arena, l->out, s);
	return s;
}

tsr_var_id tsr_host_var(tsr_hlower *l, tsr_host_type type)
{
	tsr_push(l->arena, &l->host->vars, type);
	return l->host->vars.n - 1;
}

tsr_hexpr *tsr_hexpr_as(tsr_hlower *l, tsr_hexpr *e, tsr_host_type type, const char *role)
{
	if (!e || e->type == type)
		return e;
	if (e->type == TSR_HOST_INT && type == TSR_HOST_FLOAT) {
		if (e->kind == TSR_H_INT) {
			tsr_hexpr *f = tsr_hexpr_new(l, TSR_H_FLOAT, TSR_HOST_FLOAT, e->span);
			f->real = (double)e->integer;
			return f;
		}
		tsr_hexpr *f = tsr_hexpr_new(l, TSR_H_TO_FLOAT, TSR_HOST_FLOAT, e->span);
		f->converted = e;
		return f;
	}
	tsr_report(l->tc, TSR_E_PROGRAM_TYPE, e->span, "%s is %s here, and %s is needed", role, tsr_host_type_name(e->type),
		   tsr_host_type_name(type));
	return NULL;
}
