/* String literals of the program level: "epoch {epoch:2}  loss {!total / 30.:.4}".
 *
 * {e} is a value as text, {e:format} says how; the format is what follows the last ':' outside brackets and strings;
 * {{ and }} are braces.  A format is [-][+][0][width][.precision][f|e|g|x]. */
#include "lower.h"
#include "../base/text.h"
#include "../../runtime/tsr_abi.h"
#include <ctype.h>
#include <string.h>

typedef struct piece {
	const char *text; size_t size;          /* literal text, when `e` is NULL */
	tsr_ast *e;
	int64_t width, precision, style;
	tsr_span span;
} piece;
typedef TSR_VEC(piece) pieces;

/* The end of the expression that starts at `i`: the offset of the closing brace; *colon is the last ':' outside brackets. */
static size_t scan(const char *s, size_t n, size_t i, size_t *colon)
{
	int depth = 0;
	bool quoted = false;
	*colon = SIZE_MAX;
	for (; i < n; i++) {
		if (quoted) {
			quoted = s[i] != '"';
			continue;
		}
		if (s[i] == '"')
			quoted = true;
		else if (strchr("([{", s[i]))
			depth++;
		else if (s[i] == '}' && depth == 0)
			return i;
		else if (strchr(")]}", s[i]))
			depth--;
		else if (s[i] == ':' && depth == 0 && s[i + 1] != '=' && s[i + 1] != ':')
			*colon = i;
	}
	return SIZE_MAX;
}

static bool parse_format(const char *f, size_t n, piece *p)
{
	size_t i = 0;
	bool left = false, digits = false;
	for (; i < n && strchr("-+0", f[i]); i++) {
		left |= f[i] == '-';
		p->style |= f[i] == '+' ? TSR_STYLE_SIGN : f[i] == '0' ? TSR_STYLE_ZEROS : 0;
	}
	for (; i < n && isdigit((unsigned char)f[i]) && p->width < 10000; i++)
		p->width = p->width * 10 + (f[i] - '0');
	if (i < n && f[i] == '.') {
		p->precision = 0;
		for (i++; i < n && isdigit((unsigned char)f[i]) && p->precision < 1000; i++, digits = true)
			p->precision = p->precision * 10 + (f[i] - '0');
		if (!digits)
			return false;
		p->style |= i < n && strchr("feg", f[i]) ? 0 : TSR_STYLE_FIXED;
	}
	if (i < n && strchr("fegx", f[i]))
		p->style |= f[i++];
	if (left)
		p->width = -p->width;
	return i == n;
}

static bool split(tsr_hlower *l, tsr_ast *string, pieces *out)
{
	const char *s = string->string.text;
	size_t n = string->string.size, i = 0;
	tsr_text run;
	tsr_text_init(&run, l->arena);
	while (i <= n) {
		if (i == n || (s[i] == '{' && s[i + 1] != '{')) {
			if (run.n) {
				const char *text = tsr_strndup(l->arena, tsr_text_str(&run), run.n);
				tsr_push(l->arena, out, ((piece){.text = text, .size = run.n, .span = string->span}));
				run.n = 0;
			}
			if (i == n)
				break;
			size_t colon, end = scan(s, n, i + 1, &colon);
			if (end == SIZE_MAX) {
				tsr_diag *d = tsr_report(l->tc, TSR_E_INTERPOLATION, string->span, "`{` in this string is not closed");
				tsr_hint(l->tc, d, "write {{ for a brace");
				return false;
			}
			size_t stop = colon == SIZE_MAX ? end : colon;
			/* Escapes before the brace make the place approximate; the string's own span stays the frame. */
			tsr_span span = {string->span.file, string->span.start + 1 + (uint32_t)i + 1, string->span.start + 1 + (uint32_t)stop};
			piece p = {.precision = -1, .span = span};
			p.e = tsr_parse_expr(l->tc, s + i + 1, stop - i - 1, span);
			if (colon != SIZE_MAX && !parse_format(s + colon + 1, end - colon - 1, &p)) {
				tsr_diag *d = tsr_report(l->tc, TSR_E_INTERPOLATION, string->span, "`%.*s` is not a format", (int)(end - colon - 1), s + colon + 1);
				tsr_hint(l->tc, d, "a format is [-][+][0][width][.digits][f|e|g|x], as in {x:8.3}");
				return false;
			}
			tsr_push(l->arena, out, p);
			i = end + 1;
		} else {
			i += (s[i] == '{' || s[i] == '}') && s[i + 1] == s[i];
			tsr_text_char(&run, s[i++]);
		}
	}
	return true;
}

static bool is_f32_element(const tsr_hlower *l, const tsr_hexpr *e)
{
	return e->kind == TSR_H_ELEMENT && e->type == TSR_HOST_FLOAT && tsr_tensor_get(l->g, e->element.tensor)->prec != TSR_PREC_F64;
}

/* A value as a string, or printed: the same rows of host.def in two columns. */
static tsr_hexpr *shown(tsr_hlower *l, const piece *p, tsr_hexpr *e, bool print)
{
	tsr_hexpr *width = tsr_hexpr_int(l, p->width, p->span), *precision = tsr_hexpr_int(l, p->precision, p->span),
		  *style = tsr_hexpr_int(l, p->style, p->span);
	tsr_hfun f;
	switch (e->type) {
	case TSR_HOST_INT: {
		tsr_hexpr *args[] = {e, width, style};
		return tsr_hexpr_call(l, print ? TSR_HFUN_PRINT_INT : TSR_HFUN_OF_INT, 3, args, p->span);
	}
	case TSR_HOST_FLOAT: {
		bool narrow = is_f32_element(l, e);
		f = print ? (narrow ? TSR_HFUN_PRINT_F32 : TSR_HFUN_PRINT_FLOAT) : (narrow ? TSR_HFUN_OF_F32 : TSR_HFUN_OF_FLOAT);
		tsr_hexpr *args[] = {e, width, precision, style};
		return tsr_hexpr_call(l, f, 4, args, p->span);
	}
	case TSR_HOST_BOOL: {
		tsr_hexpr *c = tsr_hexpr_new(l, TSR_H_COND, TSR_HOST_STRING, p->span);
		c->cond.cond = e;
		c->cond.then = tsr_hexpr_string(l, "true", 4, p->span);
		c->cond.other = tsr_hexpr_string(l, "false", 5, p->span);
		return shown(l, p, c, print);
	}
	case TSR_HOST_STRING: {
		tsr_hexpr *args[] = {e, width};
		return tsr_hexpr_call(l, print ? TSR_HFUN_PRINT : TSR_HFUN_PAD, 2, args, p->span);
	}
	case TSR_HOST_UNIT:
		break;
	}
	tsr_report(l->tc, TSR_E_INTERPOLATION, p->span, "there is no value to show here");
	return NULL;
}

static tsr_hexpr *piece_value(tsr_hlower *l, const piece *p)
{
	return p->e ? tsr_host_expr(l, p->e) : tsr_hexpr_string(l, p->text, p->size, p->span);
}

tsr_hexpr *tsr_host_interpolate(tsr_hlower *l, tsr_ast *string)
{
	pieces v = {0};
	if (!split(l, string, &v))
		return NULL;
	tsr_hexpr *all = NULL;
	for (uint32_t i = 0; i < v.n; i++) {
		tsr_hexpr *e = piece_value(l, &v.at[i]);
		if (e && v.at[i].e)
			e = shown(l, &v.at[i], e, false);
		if (!e)
			return NULL;
		tsr_hexpr *args[] = {all, e};
		all = all ? tsr_hexpr_call(l, TSR_HFUN_CONCAT, 2, args, string->span) : e;
	}
	return all ? all : tsr_hexpr_string(l, "", 0, string->span);
}

void tsr_host_print_string(tsr_hlower *l, tsr_ast *string)
{
	pieces v = {0};
	if (!split(l, string, &v))
		return;
	for (uint32_t i = 0; i < v.n; i++) {
		tsr_hexpr *e = piece_value(l, &v.at[i]);
		if (e && (e = shown(l, &v.at[i], e, true)))
			tsr_hstmt_add(l, TSR_H_DO, string->span)->expr = e;
	}
}

void tsr_host_print_shown(tsr_hlower *l, tsr_ast *e)
{
	piece p = {.e = e, .precision = -1, .span = e->span};
	tsr_hexpr *v = tsr_host_expr(l, e);
	if (v && (v = shown(l, &p, v, true)))
		tsr_hstmt_add(l, TSR_H_DO, e->span)->expr = v;
}
