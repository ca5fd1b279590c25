/* The only file of this room that words errors.  A fault is a constraint and the facts that do not fit; the message stands
 * at the operation that emitted the constraint, and the notes lead from both facts to the places in the source that
 * gave them: along the causes of the bindings, to the literal, file or declaration that the size is stamped with. */
#include "store.h"
#include <string.h>

#define MOST_STEPS 6

static const char *const kind_names[] = {"batch", "input", "output", ""};

static bool same_span(tsr_span a, tsr_span b) { return a.file == b.file && a.start == b.start && a.end == b.end; }

/* ", in `x`" and the like: the tensor on the operand's side of c, or nothing. */
static const char *operand_name(tsr_store *s, const tsr_cstr *c)
{
	tsr_name name = c->operand >= 0 && c->operand < 3 ? c->why.operands[c->operand] : c->operand < 0 ? c->why.result : NULL;
	return name ? tsr_format(s->arena, " of `%s`", name) : "";
}

/* "axis `h`", "output axis 2", "one axis". */
static const char *axis_name(tsr_store *s, const tsr_cstr *c)
{
	tsr_dim sides[2] = {c->dim.a, c->dim.b};
	bool dims = c->kind == TSR_C_DIM_EQUAL || c->kind == TSR_C_DIM_BELOW;
	for (uint32_t i = 0; i < 2 && dims; i++)
		if (sides[i].kind == TSR_DIM_VAR && s->dims.at[sides[i].var].label)
			return tsr_format(s->arena, "axis `%s`", s->dims.at[sides[i].var].label);
	if (c->axis != TSR_NO_ID && c->kind_b != TSR_KINDS)
		return tsr_format(s->arena, "%s axis %u", kind_names[c->kind_b], c->axis + 1);
	if (c->back != TSR_NO_ID && c->kind_b != TSR_KINDS)
		return c->back == 1 ? tsr_format(s->arena, "the last %s axis", kind_names[c->kind_b])
			: tsr_format(s->arena, "%s axis %u from the end", kind_names[c->kind_b], c->back);
	return c->kind_b != TSR_KINDS ? tsr_format(s->arena, "an %s axis", kind_names[c->kind_b]) : "one axis";
}

static const char *what_of(const tsr_cstr *c) { return c->why.what ? c->why.what : ""; }
static const char *colon(const tsr_cstr *c) { return c->why.what ? ": " : ""; }

typedef struct story {
	tsr_store *s;
	tsr_diag *d;
	tsr_span said[8 + 2 * MOST_STEPS];
	uint32_t n;
} story;

static bool news(story *t, tsr_span span)
{
	if (!span.file)
		return false;
	for (uint32_t i = 0; i < t->n; i++)
		if (same_span(t->said[i], span))
			return false;
	if (t->n == sizeof t->said / sizeof *t->said)
		return false;
	t->said[t->n++] = span;
	return true;
}

/* The place that a solved dimension is stamped with. */
static void tell_source(story *t, tsr_dim d)
{
	if (d.from == 0)
		return;
	const tsr_cstr *c = tsr_cstr_root(t->s, t->s->cstrs.at[d.from - 1]);
	tsr_span at = c->why.other.file && !c->why.span.file ? c->why.other : c->why.span;
	if (!news(t, at))
		return;
	const char *name = c->why.result ? tsr_format(t->s->arena, " `%s`", c->why.result) : "";
	tsr_note_at(t->s->tc, t->d, at, "%s is given by %s%s", tsr_dim_str(t->s, d),
		c->why.what ? c->why.what : c->why.result ? "the definition of" : "this", name);
}

/* The variable of constraint c that is (not) in the class of `var`; TSR_NO_ID where there is none. */
static uint32_t variable_of(tsr_store *s, const tsr_cstr *c, uint32_t var, bool same_class)
{
	if (c->kind != TSR_C_DIM_EQUAL && c->kind != TSR_C_DIM_BELOW)
		return TSR_NO_ID;
	tsr_dim sides[2] = {c->dim.a, c->dim.b};
	for (uint32_t i = 0; i < 2; i++)
		if (sides[i].kind == TSR_DIM_VAR
			&& (tsr_forest_find(s->dim_forest, sides[i].var) == tsr_forest_find(s->dim_forest, var)) == same_class)
			return sides[i].var;
	return TSR_NO_ID;
}

static void tell_step(story *t, uint32_t cstr, tsr_dim value)
{
	tsr_store *s = t->s;
	const tsr_cstr *c = s->cstrs.at[cstr], *root = tsr_cstr_root(s, c);
	bool is_source = value.from && tsr_cstr_root(s, s->cstrs.at[value.from - 1]) == root;
	if (!is_source && news(t, root->why.span))
		tsr_note_at(s->tc, t->d, root->why.span, "%s%s%s%s has the size %s because of this", what_of(root), colon(root),
			axis_name(s, c), operand_name(s, c), tsr_dim_str(s, value));
}

/* Where the size of `d` was carried from, a few steps back: through the equalities of its class to the variable that was
 * bound, then through the constraint that bound it. */
static void tell_steps(story *t, tsr_dim d, tsr_dim value)
{
	tsr_store *s = t->s;
	uint32_t var = d.kind == TSR_DIM_VAR ? d.var : TSR_NO_ID;
	for (uint32_t step = 0; var != TSR_NO_ID && step < MOST_STEPS; step++) {
		uint32_t cause = s->dims.at[tsr_forest_find(s->dim_forest, var)].cause, *path;
		if (cause == TSR_NO_ID)
			return;
		uint32_t carrier = variable_of(s, s->cstrs.at[cause], var, true);
		uint32_t n = carrier == TSR_NO_ID ? 0 : tsr_forest_explain(s->dim_forest, var, carrier, s->arena, &path);
		for (uint32_t i = 0; i < n && i < MOST_STEPS; i++)
			tell_step(t, path[i], value);
		tell_step(t, cause, value);
		var = variable_of(s, s->cstrs.at[cause], var, false);
	}
}

static story report(tsr_store *s, tsr_diag_code code, const tsr_cstr *c, const char *text)
{
	const tsr_cstr *root = tsr_cstr_root(s, c);
	s->nerrors++;
	story t = {.s = s};
	t.d = tsr_report(s->tc, code, root->why.span, "%s", text);
	news(&t, root->why.span);
	for (const tsr_within *w = root->why.within; w; w = w->up)
		if (news(&t, w->site))
			tsr_note_at(s->tc, t.d, w->site, "in `%s`, applied here", w->name);
	return t;
}

static bool dims_of(const tsr_cstr *c) { return c->kind == TSR_C_DIM_EQUAL || c->kind == TSR_C_DIM_BELOW; }

void tsr_fault_meet(tsr_store *s, tsr_cstr *c, tsr_dim a, tsr_dim b, tsr_meet how)
{
	const char *at = axis_name(s, c), *of = operand_name(s, c), *x = tsr_dim_str(s, a), *y = tsr_dim_str(s, b);
	const char *text = "";
	tsr_diag_code code = TSR_E_SIZE_CLASH;
	switch (how) {
	case TSR_MEET_OK: return;
	case TSR_MEET_SIZE:
		text = tsr_format(s->arena, "%s%sthe sizes %s and %s meet on %s%s", what_of(c), colon(c), x, y, at, of);
		break;
	case TSR_MEET_BASIS:
		code = TSR_E_BASIS_CLASH;
		text = tsr_format(s->arena, "%s%sthe bases of %s and %s differ, on %s%s", what_of(c), colon(c),
			a.atom.basis ? x : tsr_format(s->arena, "default:%s", x), b.atom.basis ? y : tsr_format(s->arena, "default:%s", y), at, of);
		break;
	case TSR_MEET_UNIT:
		code = TSR_E_CLAIM_FREE;
		text = tsr_format(s->arena, "%s%sthe size %s is required on %s%s, where the other side has an axis of size 1 that"
			" claims nothing", what_of(c), colon(c), a.kind == TSR_DIM_UNIT ? y : x, at, of);
		break;
	}
	story t = report(s, code, c, text);
	if (dims_of(c)) {
		tell_steps(&t, c->dim.a, a);
		tell_source(&t, a);
		tell_steps(&t, c->dim.b, b);
	} else {
		tell_source(&t, a);
	}
	tell_source(&t, b);
	if (how == TSR_MEET_SIZE && a.kind == TSR_DIM_ATOM && b.kind == TSR_DIM_ATOM && ((tsr_size_is_const(a.atom.size) && a.atom.size.k == 1)
		|| (tsr_size_is_const(b.atom.size) && b.atom.size.k == 1)))
		tsr_hint(s->tc, t.d, "a written size 1 does not stretch; `(1 : bcast_if_1)` does");
	if (how == TSR_MEET_UNIT && tsr_cstr_root(s, c)->kind == TSR_C_ROW_EQUAL)
		tsr_hint(s->tc, t.d, "a spec does not broadcast: leave the axis out of it, or give it its size");
}

static const char *axes(tsr_store *s, uint32_t n) { return tsr_format(s->arena, "%u %s", n, n == 1 ? "axis" : "axes"); }

/* The places of the axes of a row that know theirs. */
static void tell_row(story *t, tsr_row r)
{
	for (uint32_t i = 0; i < tsr_row_flanks(r); i++)
		tell_source(t, tsr_dim_find(t->s, tsr_row_axis(r, i)));
}

void tsr_fault_rank(tsr_store *s, tsr_cstr *c, tsr_row a, tsr_row b)
{
	const char *text, *of = operand_name(s, c);
	uint32_t na = tsr_row_flanks(a), nb = tsr_row_flanks(b);
	const char *kind = c->kind_b != TSR_KINDS ? tsr_format(s->arena, "%s ", kind_names[c->kind_b]) : "";
	if (c->kind == TSR_C_ROW_BELOW)
		text = tsr_format(s->arena, "%s%stoo many axes in an operand: the %srow%s, %s, has %s; there is room for %u, %s", what_of(c),
			colon(c), kind, of, tsr_row_str(s, b), axes(s, nb), na, tsr_row_str(s, a));
	else
		text = tsr_format(s->arena, "%s%smismatching number of axes: the %srow%s is %s, where %s is required", what_of(c), colon(c),
			kind, of, tsr_row_str(s, b), tsr_row_str(s, a));
	story t = report(s, TSR_E_RANK_CLASH, c, text);
	tell_row(&t, b);
	tell_row(&t, a);
	if (c->kind == TSR_C_ROW_BELOW && !strcmp(what_of(c), "`*`"))
		tsr_hint(s->tc, t.d, "`*` composes (the input axes of the left operand meet the output axes of the right one); `*.` is pointwise");
	else if (c->kind == TSR_C_ROW_EQUAL && tsr_row_open(b) + tsr_row_open(a) == 0 && na < nb && c->kind_b == TSR_BATCH)
		tsr_hint(s->tc, t.d, "a kind that a slot leaves out is empty; write `... |` for any batch axes");
}

void tsr_fault_infinite(tsr_store *s, tsr_cstr *c)
{
	const char *text = tsr_format(s->arena, "%s%sa row would need more axes than itself: %s against %s", what_of(c), colon(c),
		tsr_row_str(s, c->row.a), tsr_row_str(s, c->row.b));
	report(s, TSR_E_INFINITE_RANK, c, text);
}

static const char *number(tsr_store *s, tsr_dim d)
{
	return d.kind == TSR_DIM_VAR ? (s->dims.at[d.var].label ? s->dims.at[d.var].label : "?") : tsr_dim_str(s, d);
}

/* The arithmetic of an affine axis, as it would have to hold. */
void tsr_fault_affine(tsr_store *s, tsr_cstr *c, tsr_dim d, tsr_dim over, tsr_dim kernel)
{
	const tsr_affine *a = c->affine.term;
	tsr_text t;
	tsr_text_init(&t, s->arena);
	tsr_text_addf(&t, "%s%s", what_of(c), colon(c));
	if (a->runtime)
		tsr_text_addf(&t, "the axis of size %s is too short: with stride %lld and %s positions it must cover more", number(s, d),
			(long long)a->stride, number(s, over));
	else if (a->has_kernel && a->pad != TSR_PAD_SAME)
		tsr_text_addf(&t, "the windows do not tile the axis: input %s is not %lld*(%s-1) + 1 + (%s-1)*%lld%s for any whole number",
			number(s, d), (long long)a->stride, tsr_dim_is_var(over) ? "output" : number(s, over),
			tsr_dim_is_var(kernel) ? "kernel" : number(s, kernel), (long long)a->dilation,
			a->offset ? tsr_format(s->arena, " + %lld", (long long)a->offset) : "");
	else if (a->offset && !a->has_kernel)
		tsr_text_addf(&t, "the sizes do not fit: input %s is not %lld*(%s + floor(%lld/%lld))", number(s, d), (long long)a->stride,
			tsr_dim_is_var(over) ? "output" : number(s, over), (long long)a->offset, (long long)a->stride);
	else
		tsr_text_addf(&t, "the sizes do not fit: input %s is not %lld*%s", number(s, d), (long long)a->stride,
			tsr_dim_is_var(over) ? "output" : number(s, over));
	story st = report(s, TSR_E_CONV_TILING, c, tsr_text_str(&t));
	tell_source(&st, d);
	tell_source(&st, over);
	tell_source(&st, kernel);
}

void tsr_fault_unit_term(tsr_store *s, tsr_cstr *c)
{
	const char *text = tsr_format(s->arena, "%s%san axis of size 1 that claims nothing stands where the size must be %s", what_of(c), colon(c),
		tsr_dim_str(s, c->kind == TSR_C_AFFINE ? (tsr_dim){.kind = TSR_DIM_AFFINE, .affine = c->affine.term}
			: (tsr_dim){.kind = TSR_DIM_CONCAT, .concat = {c->concat.n, c->concat.at}}));
	story t = report(s, TSR_E_CLAIM_FREE, c, text);
	tell_source(&t, tsr_dim_find(s, c->kind == TSR_C_AFFINE ? c->affine.d : c->concat.d));
}

static const char *size_str(tsr_store *s, tsr_size x)
{
	return tsr_dim_str(s, (tsr_dim){.kind = TSR_DIM_ATOM, .atom = {x, NULL}});
}

void tsr_fault_total(tsr_store *s, tsr_cstr *c, tsr_size have, tsr_size want)
{
	bool poison = false;
	const char *text = tsr_format(s->arena, "%s%sthe number of elements does not fit: the known axes make %s, the total is %s",
		what_of(c), colon(c), size_str(s, have), size_str(s, want));
	story t = report(s, TSR_E_TOTAL, c, text);
	for (uint32_t i = 0; i < c->total.n; i++)
		tell_row(&t, tsr_row_find(s, c->total.rows[i], &poison));
}

void tsr_fault_concat(tsr_store *s, tsr_cstr *c, tsr_size have, tsr_size want)
{
	const char *text = tsr_format(s->arena, "%s%sthe components do not fill the concatenated axis: %s of size %s, of which %s is known",
		what_of(c), colon(c), tsr_dim_str(s, (tsr_dim){.kind = TSR_DIM_CONCAT, .concat = {c->concat.n, c->concat.at}}),
		size_str(s, want), size_str(s, have));
	story t = report(s, TSR_E_CONCAT, c, text);
	tell_source(&t, tsr_dim_find(s, c->concat.d));
	for (uint32_t i = 0; i < c->concat.n; i++)
		tell_source(&t, tsr_dim_find(s, c->concat.at[i]));
}

void tsr_fault_at_least(tsr_store *s, tsr_cstr *c, tsr_size have)
{
	const char *text = tsr_format(s->arena, "%s%sposition %lld lies outside an axis of size %s", what_of(c), colon(c),
		(long long)c->at_least.n - 1, size_str(s, have));
	story t = report(s, TSR_E_POSITION, c, text);
	tell_source(&t, tsr_dim_find(s, c->at_least.d));
}

/* "output axis 2" of the leaf, where the variable stands; *kind becomes its row. */
static const char *place_in_leaf(tsr_store *s, const tsr_leaf *l, uint32_t var, tsr_kind *kind)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		bool poison = false;
		tsr_row r = tsr_row_find(s, l->shape.row[k], &poison);
		for (uint32_t i = 0; i < tsr_row_flanks(r); i++) {
			tsr_dim d = tsr_dim_find(s, tsr_row_axis(r, i));
			if (!tsr_dim_is_var(d) || d.var != var)
				continue;
			*kind = (tsr_kind)k;
			return tsr_row_flanks(r) == 1 ? tsr_format(s->arena, "%s axis", kind_names[k])
				: tsr_format(s->arena, "%s axis %u", kind_names[k], i + 1);
		}
	}
	return "axis";
}

void tsr_fault_hidden(tsr_store *s, uint32_t leaf, uint32_t var, tsr_kind kind)
{
	const tsr_leaf *l = leaf != TSR_NO_ID ? &s->leaves.at[leaf] : NULL;
	tsr_name label = var != TSR_NO_ID ? s->dims.at[var].label : NULL;
	const char *name = l && l->name ? tsr_format(s->arena, " of `%s`", l->name) : "";
	const char *where = label ? tsr_format(s->arena, " `%s`", label) : "";
	const char *place = var == TSR_NO_ID ? tsr_format(s->arena, "gives its %s axes", kind_names[kind])
		: tsr_format(s->arena, "gives the size of its %s", l ? place_in_leaf(s, l, var, &kind) : "axis");
	s->nerrors++;
	tsr_diag *d = tsr_report(s->tc, TSR_E_HIDDEN_DIM, l ? l->span : TSR_NOWHERE,
		"you forgot to specify the hidden dimension%s%s: nothing %s", where, name, place);
	if (label)
		tsr_hint(s->tc, d, "`set_dim %s` gives the size of a captured label", label);
	else
		tsr_hint(s->tc, d, kind == TSR_INPUT ? "`i = [..]` in the declaration gives the input axes"
			: "`o = [..]` in the declaration gives the output axes");
}

void tsr_fault_condition(tsr_store *s, const tsr_condition *c)
{
	s->nerrors++;
	const char *what = c->why.what ? tsr_format(s->arena, "%s: ", c->why.what) : "";
	if (c->kind == TSR_CONDITION_EQUAL)
		tsr_report(s->tc, TSR_E_SIZE_CLASH, c->why.span, "%sthe sizes %s and %s meet on one axis", what, size_str(s, c->left),
			size_str(s, c->right));
	else
		tsr_report(s->tc, TSR_E_POSITION, c->why.span, "%san axis of size %s is too short: %s positions are needed", what,
			size_str(s, c->left), size_str(s, c->right));
}

void tsr_fault_budget(tsr_store *s, tsr_cstr *c)
{
	report(s, TSR_E_SHAPE_BUDGET, c, tsr_format(s->arena,
		"%s%sshape inference did not come to an end within its step budget", what_of(c), colon(c)));
}
