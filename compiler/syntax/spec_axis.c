/* Axes of specs: labels, positions, sums and concatenations.
 *
 * A sum is sorted by what its parts are, whatever their order: labels with their coefficients (the first is the strided
 * term, the second the kernel), a number of the run, constants, a configuration value.  Between two labels there must be
 * a mark, `<+` or `=+`, anywhere after the first; a plain `+` between two labels is refused, for it does not say what
 * happens at the edges. */
#include "spec_build.h"
#include <spec.h>              /* the token codes, in build/gen */

tsr_axis tsr_spec_wild(tsr_spec_parser *p, const tsr_spec_token *t)
{
	(void)p;
	return (tsr_axis){.kind = TSR_AXIS_WILD, .span = t->span};
}

tsr_axis tsr_spec_symbol(tsr_spec_parser *p, const tsr_spec_token *t)
{
	if (!p->annotation) {
		tsr_diag *d = tsr_spec_error(p, t->span, "a size of the run is written in the shape of a parameter or a file, not in an operation");
		if (d)
			tsr_hint(p->tc, d, "here the axis has a plain name");
	}
	return (tsr_axis){.kind = TSR_AXIS_SYMBOL, .span = t->span, .label = tsr_spec_name(p, t)};
}

tsr_axis tsr_spec_based(tsr_spec_parser *p, const tsr_spec_token *open, const tsr_spec_token *size, const tsr_spec_token *basis,
                        const tsr_spec_token *close)
{
	tsr_axis x = {.span = tsr_span_join(open->span, close->span), .basis = tsr_spec_name(p, basis)};
	if (!p->annotation)
		tsr_spec_error(p, x.span, "a basis belongs to the shape of a tensor, not to an operation");
	if (size->code == SPEC_INT) {
		x.kind = TSR_AXIS_FIXED;
		x.size = tsr_spec_int(p, size);
	} else {
		x.kind = size->code == SPEC_SYMBOL ? TSR_AXIS_SYMBOL : TSR_AXIS_LABEL;
		x.label = tsr_spec_name(p, size);
	}
	return x;
}

/* ---- sums */

tsr_spec_sum *tsr_spec_sum_add(tsr_spec_parser *p, tsr_spec_sum *s, const tsr_spec_token *mark, const tsr_spec_product *part)
{
	tsr_spec_token none = {0};
	if (!s)
		s = TSR_NEW(p->tc->arena, tsr_spec_sum);
	tsr_push(p->tc->arena, &s->parts, *part);
	tsr_push(p->tc->arena, &s->marks, mark ? *mark : none);
	return s;
}

static tsr_span product_span(const tsr_spec_product *x)
{
	return tsr_span_join(x->coef.span, x->factor.span);
}

/* coefficient * (label or number of the run); a coefficient may stand on either side when it is a number. */
static tsr_term term(tsr_spec_parser *p, const tsr_spec_product *x)
{
	const tsr_spec_token *of = &x->factor, *coef = &x->coef;
	tsr_term t = {.coef = 1, .span = product_span(x)};
	if (x->times && of->code == SPEC_INT) {
		of = &x->coef;
		coef = &x->factor;
	}
	if (of->code != SPEC_NAME && of->code != SPEC_RUNTIME)
		tsr_spec_error(p, of->span, "a coefficient multiplies the name of an axis, or a number of the run (`@i`)");
	t.label = tsr_spec_name(p, of);
	t.runtime = of->code == SPEC_RUNTIME;
	if (!x->times)
		return t;
	if (coef->code == SPEC_INT) {
		t.coef = tsr_spec_int(p, coef);
		if (t.coef == 0)
			tsr_spec_error(p, coef->span, "a coefficient of 0 leaves nothing of the axis");
	} else if (coef->code == SPEC_RUNTIME) {
		tsr_spec_error(p, coef->span, "a coefficient is known while compiling: a number or a configuration value");
	} else {
		t.coef_name = tsr_spec_name(p, coef);
	}
	return t;
}

static const char *text_of(tsr_spec_parser *p, const tsr_spec_product *x)
{
	const char *from = x->coef.text, *to = x->factor.text + x->factor.size;
	return tsr_strndup(p->tc->arena, from, (size_t)(to - from));
}

static void plain_plus(tsr_spec_parser *p, const tsr_spec_sum *s, uint32_t over, uint32_t kernel)
{
	const char *a = text_of(p, &s->parts.at[over]), *b = text_of(p, &s->parts.at[kernel]);
	tsr_diag *d = tsr_spec_error(p, s->marks.at[kernel].span, "`+` between two axes does not say what happens at the edges");
	if (d)
		tsr_hint(p->tc, d, "`%s<+%s` stays inside, `%s=+%s` pads with zeros; if one of them is a configuration value that is added, write it `!name`", a, b, a, b);
}

static void add_part(tsr_spec_parser *p, tsr_axis *x, const tsr_spec_sum *s, uint32_t i, uint32_t *over)
{
	const tsr_spec_product *part = &s->parts.at[i];
	int code = part->factor.code;
	if (!part->times && code == SPEC_INT) {
		x->affine.offset += tsr_spec_int(p, &part->factor);
	} else if (!part->times && code == SPEC_VALUE) {
		if (x->affine.offset_name)
			tsr_spec_error(p, part->factor.span, "one configuration value is added at most; give the sum a name");
		x->affine.offset_name = tsr_spec_name(p, &part->factor);
	} else {
		tsr_term t = term(p, part);
		tsr_term *to = t.runtime ? &x->affine.runtime : !x->affine.over.label ? &x->affine.over : &x->affine.kernel;
		if (to->label)
			tsr_spec_error(p, t.span, t.runtime ? "one number of the run is added at most" : "two axes are added at most");
		if (to == &x->affine.over)
			*over = i;
		*to = t;
		if (to == &x->affine.kernel && x->affine.pad == TSR_PAD_NONE) {
			/* the mark may come later only if no plain + joins the two */
			int mark = s->marks.at[i].code;
			if (mark == SPEC_PLUS)
				plain_plus(p, s, *over, i);
		}
	}
}

tsr_axis tsr_spec_sum_axis(tsr_spec_parser *p, tsr_spec_sum *s)
{
	tsr_span last = product_span(&s->parts.at[s->parts.n - 1]);
	tsr_axis x = {.kind = TSR_AXIS_AFFINE, .span = tsr_span_join(product_span(&s->parts.at[0]), last)};
	const tsr_spec_product *only = &s->parts.at[0];
	if (s->parts.n == 1 && !only->times && only->factor.code == SPEC_NAME)
		return (tsr_axis){.kind = TSR_AXIS_LABEL, .span = x.span, .label = tsr_spec_name(p, &only->factor)};
	if (s->parts.n == 1 && !only->times && only->factor.code == SPEC_INT)
		return (tsr_axis){.kind = TSR_AXIS_FIXED, .span = x.span, .size = tsr_spec_int(p, &only->factor)};
	const tsr_spec_token *mark = NULL;
	uint32_t over = 0;
	for (uint32_t i = 0; i < s->parts.n; i++) {
		const tsr_spec_token *m = &s->marks.at[i];
		if (m->code == SPEC_VALID || m->code == SPEC_SAME) {
			if (mark)
				tsr_spec_error(p, m->span, "one `<+` or `=+` is enough");
			mark = m;
			x.affine.pad = m->code == SPEC_VALID ? TSR_PAD_VALID : TSR_PAD_SAME;
		}
		add_part(p, &x, s, i, &over);
	}
	if (mark && !x.affine.kernel.label) {
		tsr_diag *d = tsr_spec_error(p, mark->span, "`%.*s` joins the axes of a window, and there is one axis only", (int)mark->size, mark->text);
		if (d)
			tsr_hint(p->tc, d, "an offset is added with a plain `+`");
	}
	if (!x.affine.over.label && !x.affine.runtime.label && !x.affine.offset_name) {
		x.kind = TSR_AXIS_FIXED;
		x.size = x.affine.offset;
	}
	bool alone = !x.affine.kernel.label && !x.affine.runtime.label && !x.affine.offset && !x.affine.offset_name;
	if (x.affine.over.label && alone && x.affine.over.coef == 1 && !x.affine.over.coef_name)      /* 1*i, i + 0 */
		return (tsr_axis){.kind = TSR_AXIS_LABEL, .span = x.span, .label = x.affine.over.label};
	if (p->annotation && x.kind == TSR_AXIS_AFFINE && (x.affine.over.label || x.affine.runtime.label))
		tsr_spec_error(p, x.span, "the shape of a tensor has sizes and names; an index that is computed belongs to an operation");
	return x;
}

/* ---- concatenations */

tsr_spec_components *tsr_spec_component(tsr_spec_parser *p, tsr_spec_components *list, const tsr_spec_token *t)
{
	if (!list)
		list = TSR_NEW(p->tc->arena, tsr_spec_components);
	tsr_component c = {.span = t->span};
	if (t->code == SPEC_INT)
		c.size = tsr_spec_int(p, t);
	else
		c.label = tsr_spec_name(p, t);
	c.row = t->code == SPEC_ROW;
	tsr_push(p->tc->arena, list, c);
	return list;
}

tsr_spec_components *tsr_spec_member(tsr_spec_parser *p, tsr_spec_components *list, const tsr_spec_token *t)
{
	if (p->long_names && t->code != SPEC_ROW && !list->at[list->n - 1].row)
		tsr_spec_comma(p, t->span);
	return tsr_spec_component(p, list, t);
}

tsr_axis tsr_spec_joint_axis(tsr_spec_parser *p, const tsr_spec_token *open, tsr_spec_components *list, const tsr_spec_token *close)
{
	tsr_axis x = {.kind = TSR_AXIS_JOINT, .span = tsr_span_join(open->span, close->span)};
	if (p->annotation)
		tsr_spec_error(p, x.span, "the shape of a tensor has sizes and names; several axes as one belong to an operation");
	x.concat.n = list->n;
	x.concat.at = list->at;
	return x;
}

tsr_axis tsr_spec_concat_axis(tsr_spec_parser *p, const tsr_spec_token *name, tsr_spec_components *list)
{
	tsr_axis x = {.kind = TSR_AXIS_CONCAT, .span = tsr_span_join(list->at[0].span, list->at[list->n - 1].span)};
	if (p->annotation)
		tsr_spec_error(p, x.span, "the shape of a tensor has sizes and names; `^` belongs to an operation");
	x.concat.n = list->n;
	x.concat.at = list->at;
	if (name) {
		x.concat.name = tsr_spec_name(p, name);
		x.span = tsr_span_join(name->span, x.span);
	}
	return x;
}
