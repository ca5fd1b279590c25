/* reduce_spec "... | t -> ..." = "... | t -> ... => ... | 0 -> ...": the spec that reduces the axes which a slot names and
 * keeps a claim-free axis in their place, so that the result broadcasts back over what was reduced. */
#include "eval.h"
#include "../base/text.h"
#include <ctype.h>
#include <string.h>

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '\''; }

/* The slot with every label as position 0; row variables stay. Identifier mode is told by what stands between names. */
static void zeroed(tsr_text *out, const char *s)
{
	bool words = strpbrk(s, ",*+^&<") != NULL;
	while (*s) {
		if (s[0] == '.' && s[1] == '.') {
			const char *end = strstr(s + 2, "..");
			size_t n = s[2] == '.' || !end ? 3 : (size_t)(end - s) + 2;
			n = n > strlen(s) ? strlen(s) : n;
			tsr_text_add_n(out, s, n);
			s += n;
		} else if (in_name(*s)) {
			size_t n = 1;
			while (words && in_name(s[n]))
				n++;
			tsr_text_add(out, words ? "0" : "0 ");
			s += n;
		} else {
			tsr_text_char(out, *s++);
		}
	}
}

tsr_value tsr_builtin_reduce_spec(const tsr_call *c)
{
	if (c->args[0]->kind != TSR_VALUE_STRING)
		return tsr_eval_type_error(c->ev, c->spans[0], "a slot of a spec, such as \"... | c\"", *c->args[0]);
	const char *slot = c->args[0]->string.text;
	tsr_text out;
	tsr_text_init(&out, c->ev->arena);
	tsr_text_addf(&out, "%s => ", slot);
	zeroed(&out, slot);
	tsr_value v = *c->args[0];
	v.string.text = tsr_text_str(&out);
	return v;
}
