/* Configuration values: constructors, equality, and how they are shown in messages. */
#include "eval.h"
#include "../base/text.h"
#include <string.h>

tsr_value tsr_value_int(int64_t i) { return (tsr_value){.kind = TSR_VALUE_INT, .integer = i}; }
tsr_value tsr_value_float(double x) { return (tsr_value){.kind = TSR_VALUE_FLOAT, .real = x}; }
tsr_value tsr_value_bool(bool b) { return (tsr_value){.kind = TSR_VALUE_BOOL, .integer = b}; }
tsr_value tsr_value_none(void) { return (tsr_value){.kind = TSR_VALUE_OPTION}; }

tsr_value tsr_value_string(const char *text)
{
	return (tsr_value){.kind = TSR_VALUE_STRING, .string = {text, NULL}};
}

tsr_value tsr_value_list(uint32_t n, tsr_value *items)
{
	return (tsr_value){.kind = TSR_VALUE_LIST, .items = {n, items}};
}

tsr_value tsr_value_some(tsr_arena *a, tsr_value x)
{
	tsr_value *item = TSR_NEW(a, tsr_value);
	*item = x;
	return (tsr_value){.kind = TSR_VALUE_OPTION, .items = {1, item}};
}

tsr_value tsr_value_tensor(uint32_t id)
{
	return (tsr_value){.kind = TSR_VALUE_TENSOR, .tensor = {id, 0, TSR_NO_SLOT}};
}

const char *tsr_value_kind_name(tsr_value v)
{
	switch (v.kind) {
	case TSR_VALUE_POISON: return "a value with a mistake in it";
	case TSR_VALUE_UNIT: return "()";
	case TSR_VALUE_INT: return "an int";
	case TSR_VALUE_FLOAT: return "a float";
	case TSR_VALUE_BOOL: return "a bool";
	case TSR_VALUE_STRING: return "a string";
	case TSR_VALUE_LIST: return "a list";
	case TSR_VALUE_TUPLE: return "a tuple";
	case TSR_VALUE_OPTION: return "an option";
	case TSR_VALUE_FUNCTION: return "a function";
	case TSR_VALUE_TENSOR: return v.tensor.part ? "a gradient" : "a tensor";
	case TSR_VALUE_CODE: return "code";
	case TSR_VALUE_NUMBER: return "a number known only when the program runs";
	case TSR_VALUE_LABEL: return "a label of a spec";
	case TSR_VALUE_ARGUMENT: return "an argument of the program";
	case TSR_VALUE_UNKNOWN: return "a value that is not known here";
	}
	return "?";
}

static void show_items(tsr_text *t, tsr_value v, const char *separator);

static void show(tsr_text *t, tsr_value v)
{
	switch (v.kind) {
	case TSR_VALUE_INT: tsr_text_addf(t, "%lld", (long long)v.integer); return;
	case TSR_VALUE_FLOAT: tsr_text_float(t, v.real); return;
	case TSR_VALUE_BOOL: tsr_text_add(t, v.integer ? "true" : "false"); return;
	case TSR_VALUE_UNIT: tsr_text_add(t, "()"); return;
	case TSR_VALUE_STRING: tsr_text_addf(t, "\"%s\"", v.string.text); return;
	case TSR_VALUE_LIST:
		tsr_text_char(t, '[');
		show_items(t, v, "; ");
		tsr_text_char(t, ']');
		return;
	case TSR_VALUE_TUPLE:
		tsr_text_char(t, '(');
		show_items(t, v, ", ");
		tsr_text_char(t, ')');
		return;
	case TSR_VALUE_OPTION:
		tsr_text_add(t, v.items.n ? "Some " : "None");
		show_items(t, v, "");
		return;
	case TSR_VALUE_FUNCTION:
		tsr_text_addf(t, "<fun %s>", v.function->name ? v.function->name : "");
		return;
	case TSR_VALUE_UNKNOWN: tsr_text_add(t, v.unknown->text); return;
	case TSR_VALUE_POISON: case TSR_VALUE_TENSOR: case TSR_VALUE_CODE: case TSR_VALUE_NUMBER: case TSR_VALUE_LABEL:
	case TSR_VALUE_ARGUMENT:
		tsr_text_addf(t, "<%s>", tsr_value_kind_name(v));
		return;
	}
}

enum { MOST_ITEMS = 20, MOST_TEXT = 4000 };

static void show_items(tsr_text *t, tsr_value v, const char *separator)
{
	for (uint32_t i = 0; i < v.items.n; i++) {
		if (i)
			tsr_text_add(t, separator);
		if (i == MOST_ITEMS || t->n > MOST_TEXT) {
			tsr_text_add(t, "...");
			return;
		}
		show(t, v.items.at[i]);
	}
}

const char *tsr_value_str(tsr_arena *a, tsr_value v)
{
	tsr_text t;
	tsr_text_init(&t, a);
	show(&t, v);
	return tsr_strdup(a, tsr_text_str(&t));
}

bool tsr_value_equal(tsr_value a, tsr_value b, uint64_t *left)
{
	if (*left == 0)
		return false;
	--*left;
	if (tsr_value_is_number(a) && tsr_value_is_number(b))
		return a.kind == TSR_VALUE_INT && b.kind == TSR_VALUE_INT ? a.integer == b.integer
		                                                          : tsr_value_number(a) == tsr_value_number(b);
	if (a.kind != b.kind)
		return false;
	switch (a.kind) {
	case TSR_VALUE_UNIT: return true;
	case TSR_VALUE_BOOL: return a.integer == b.integer;
	case TSR_VALUE_STRING: return strcmp(a.string.text, b.string.text) == 0;
	case TSR_VALUE_LIST: case TSR_VALUE_TUPLE: case TSR_VALUE_OPTION:
		if (a.items.n != b.items.n)
			return false;
		for (uint32_t i = 0; i < a.items.n; i++)
			if (!tsr_value_equal(a.items.at[i], b.items.at[i], left))
				return false;
		return true;
	case TSR_VALUE_INT: case TSR_VALUE_FLOAT: case TSR_VALUE_POISON: case TSR_VALUE_FUNCTION: case TSR_VALUE_TENSOR:
	case TSR_VALUE_CODE: case TSR_VALUE_NUMBER: case TSR_VALUE_LABEL: case TSR_VALUE_ARGUMENT: case TSR_VALUE_UNKNOWN:
		return false;
	}
	return false;
}
