/* The functions of host.def, called from the interpreter. */
#include "interp.h"

tsr_hcell tsr_interp_call(tsr_interp *in, tsr_hfun f, const tsr_hcell *a, const char *where)
{
	tsr_ctx *c = in->ctx;
	tsr_hcell r = {0};
	switch (f) {
	case TSR_HFUN_UNIFORM: r.f = tsr_draw_uniform(c); break;
	case TSR_HFUN_NORMAL: r.f = tsr_draw_normal(c); break;
	case TSR_HFUN_DRAW: r.i = tsr_draw_int(c, where, a[0].i); break;
	case TSR_HFUN_TIME: r.f = tsr_time(c); break;
	case TSR_HFUN_ARG: r.s = tsr_arg_str(c, where, a[0].i, a[1].s); break;
	case TSR_HFUN_ARG_COUNT: r.i = tsr_arg_count(c); break;
	case TSR_HFUN_SQRT: r.f = sqrt(a[0].f); break;
	case TSR_HFUN_EXP: r.f = exp(a[0].f); break;
	case TSR_HFUN_LOG: r.f = log(a[0].f); break;
	case TSR_HFUN_SIN: r.f = sin(a[0].f); break;
	case TSR_HFUN_COS: r.f = cos(a[0].f); break;
	case TSR_HFUN_TAN: r.f = tan(a[0].f); break;
	case TSR_HFUN_TANH: r.f = tanh(a[0].f); break;
	case TSR_HFUN_ATAN2: r.f = atan2(a[0].f, a[1].f); break;
	case TSR_HFUN_POW: r.f = pow(a[0].f, a[1].f); break;
	case TSR_HFUN_FLOOR: r.f = floor(a[0].f); break;
	case TSR_HFUN_CEIL: r.f = ceil(a[0].f); break;
	case TSR_HFUN_FABS: r.f = fabs(a[0].f); break;
	case TSR_HFUN_CHAR: r.s = tsr_str_of_byte(c, where, a[0].i); break;
	case TSR_HFUN_LENGTH: r.i = tsr_str_length(a[0].s); break;
	case TSR_HFUN_BYTE: r.i = tsr_str_byte(c, where, a[0].s, a[1].i); break;
	case TSR_HFUN_SUB: r.s = tsr_str_sub(c, where, a[0].s, a[1].i, a[2].i); break;
	case TSR_HFUN_FIND: r.i = tsr_str_find(a[0].s, a[1].s, a[2].i); break;
	case TSR_HFUN_INT_OF: r.i = tsr_str_to_i64(c, where, a[0].s); break;
	case TSR_HFUN_FLOAT_OF: r.f = tsr_str_to_f64(c, where, a[0].s); break;
	case TSR_HFUN_PROGRESS: tsr_progress(c, a[0].s->bytes, a[1].i, a[2].i); break;
	case TSR_HFUN_CONCAT: r.s = tsr_str_concat(c, a[0].s, a[1].s); break;
	case TSR_HFUN_OF_INT: r.s = tsr_str_of_i64(c, a[0].i, a[1].i, (int32_t)a[2].i); break;
	case TSR_HFUN_OF_FLOAT: r.s = tsr_str_of_f64(c, a[0].f, a[1].i, a[2].i, (int32_t)a[3].i); break;
	case TSR_HFUN_OF_F32: r.s = tsr_str_of_f32(c, a[0].f, a[1].i, a[2].i, (int32_t)a[3].i); break;
	case TSR_HFUN_PAD: r.s = tsr_str_pad(c, a[0].s, a[1].i); break;
	case TSR_HFUN_COMPARE: r.i = tsr_str_compare(a[0].s, a[1].s); break;
	case TSR_HFUN_PRINT: tsr_print_string(c, a[0].s, a[1].i); break;
	case TSR_HFUN_PRINT_INT: tsr_print_i64(c, a[0].i, a[1].i, (int32_t)a[2].i); break;
	case TSR_HFUN_PRINT_FLOAT: tsr_print_f64(c, a[0].f, a[1].i, a[2].i, (int32_t)a[3].i); break;
	case TSR_HFUN_PRINT_F32: tsr_print_f32(c, a[0].f, a[1].i, a[2].i, (int32_t)a[3].i); break;
	case TSR_HFUN_PRINT_BOOL: tsr_print_bool(c, (int32_t)a[0].i); break;
	case TSR_HFUNS: break;
	}
	return r;
}
