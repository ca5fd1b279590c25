/* Names of the program level's functions, types and operators. */
#include "host.h"

static const tsr_hfun_info functions[] = {
#define TSR_HFUN(name, text, symbol, result, params, passing) {text, symbol, result, params, passing},
#include "host.def"
};

const tsr_hfun_info *tsr_hfun_get(tsr_hfun f) { return &functions[f]; }

tsr_host_type tsr_host_type_of_letter(char c)
{
	switch (c) {
	case 'b': return TSR_HOST_BOOL;
	case 'i': case 'k': return TSR_HOST_INT;
	case 'f': return TSR_HOST_FLOAT;
	case 's': case 'z': return TSR_HOST_STRING;
	default: return TSR_HOST_UNIT;
	}
}

const char *tsr_host_type_name(tsr_host_type t)
{
	switch (t) {
	case TSR_HOST_UNIT: return "()";
	case TSR_HOST_BOOL: return "a bool";
	case TSR_HOST_INT: return "an int";
	case TSR_HOST_FLOAT: return "a float";
	case TSR_HOST_STRING: return "a string";
	}
	return "?";
}

const char *tsr_host_op_text(tsr_host_op op)
{
	static const char *const text[] = {"-", "not", "+", "-", "*", "/", "/", "%", "**", "<", "<=", ">", ">=", "=", "<>", "&&", "||", "^"};
	return text[op];
}
