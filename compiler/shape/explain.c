/* The only file of this room that words errors.  A fault is a constraint and the facts that do not fit; the headline stands
 * at the operation that emitted the constraint and names the axis, the operands and the sizes. The notes are the chain of
 * facts behind it (chain.c), in the words of fact.c, less those that the headline itself says. */
#include "store.h"
#include <string.h>

static const char *const kind_names[] = {"batch", "input", "output", ""};

/* " of `x`": the tensor on the operand's side of c. */
static const char *of_operand(tsr_store *s, const tsr_cstr *c)
{
	return c->kind_b == TSR_KINDS ? "" : tsr_format(s->arena, " of %s", tsr_operand_words(s, c));
}

static const char *what_of(const tsr_cstr *c) { return c->why->what ? c->why->what : ""; }
static const char *colon(const tsr_cstr *c) { return c->why->what ? ": " : ""; }

/* ---- the story: a headline, and the chain behind it ------------------------------------------------------------- */

/* What failed, and its chain. In a trial nothing is reported: it is only noted that something failed. */
typedef struct story {
	tsr_store *s;
	const tsr_cstr *c;
	tsr_chain chain;
	tsr_telling telling;
} story;

static story found(tsr_store *s, tsr_diag_code code, const tsr_cstr *c)
{
	story t = {.s = s, .c = c};
	s->nerrors++;
	if (!s->trial) {
		bool placed = tsr_cstr_root(s, c)->why->span.file;     /* who gives no places asks for no chain */
		t.chain = placed ? tsr_chain_of(s, c, code) : (tsr_chain){.code = code};
		tsr_telling_init(&t.telling, s, t.chain.nfacts, t.chain.facts);
		tsr_push(s->arena, &s->chains, t.chain);
	} else if (!s->trial->failed) {
		s->trial->failed = true;
		s->trial->code = code;
		s->exhausted = true;
	}
	return t;
}

/* Chains of more notes than this are shown from both ends. */
#define MOST_NOTES 12

static void tell(story *t, tsr_diag *d)
{
	tsr_tell_rest(&t->telling);
	uint32_t n = t->telling.told.n;
	for (uint32_t i = 0; i < n; i++) {
		if (n > MOST_NOTES && i == MOST_NOTES / 2) {
			i = n - MOST_NOTES / 2;
			tsr_note_at(t->s->tc, d, TSR_NOWHERE, "%u more steps like these", n - MOST_NOTES);
		}
		tsr_note_at(t->s->tc, d, t->telling.told.at[i].span, "%s", tsr_text_str(&t->telling.told.at[i].text));
	}
}

/* Where the program itself led to a place in the library: the innermost application that it wrote. NULL for a place of its own. */
static const tsr_within *written(tsr_store *s, tsr_span span, const tsr_within *w)
{
	if (!tsr_source_in_library(s->tc, span.file))
		return NULL;
	while (w && tsr_source_in_library(s->tc, w->site.file))
		w = w->up;
	return w;
}

/* The headline, at a place in the program, and the applications around it. */
static tsr_diag *headline(tsr_store *s, tsr_diag_code code, const tsr_why *why, const char *text)
{
	const tsr_within *from = written(s, why->span, why->within);
	tsr_diag *d = from ? tsr_report(s->tc, code, from->site, "in `%s`: %s", from->name, text) : tsr_report(s->tc, code, why->span, "%s", text);
	if (from)
		tsr_note_at(s->tc, d, why->span, "the place in the library");
	for (const tsr_within *w = why->within; w; w = w->up)
		if (w != from)
			tsr_note_at(s->tc, d, w->site, "in `%s`, applied here", w->name);
	return d;
}

/* The diagnostic; NULL in a trial. The sides are told first, in the order given. */
static tsr_diag *report(story *t, const char *text, uint32_t n, const tsr_dim *sides)
{
	tsr_store *s = t->s;
	if (s->trial)
		return NULL;
	const tsr_cstr *root = tsr_cstr_root(s, t->c);
	tsr_diag *d = headline(s, t->chain.code, root->why, tsr_format(s->arena, "%s%s%s", what_of(root), colon(root), text));
	for (uint32_t i = 0; i < n; i++)
		tsr_tell_dim(&t->telling, sides[i]);
	tell(t, d);
	return d;
}

static bool dims_of(const tsr_cstr *c) { return c->kind == TSR_C_DIM_EQUAL || c->kind == TSR_C_DIM_BELOW; }

/* ---- two sizes on one axis ----------------------------------------------------------------------------------------- */

/* The fact of the chain by which the same operation says where the other size comes from; NULL where several do. */
static const tsr_cstr *other_fact(const story *t, const tsr_cstr *root, bool *none)
{
	const tsr_cstr *other = NULL;
	*none = true;
	for (uint32_t i = 0; i < t->chain.nfacts; i++) {
		const tsr_cstr *f = t->s->cstrs.at[t->chain.facts[i]];
		if (f == root || f->kind != root->kind || !tsr_span_same(f->why->span, root->why->span) || f->kind_a == TSR_KINDS)
			continue;
		other = *none ? f : NULL;
		*none = false;
	}
	return other;
}

/* "axis `j` is 3 in `a` and 2 in `b`": both operands where the operation has both sizes from its own. */
static const char *both_sides(story *t, const tsr_cstr *c, const char *x, const char *y)
{
	tsr_store *s = t->s;
	const tsr_cstr *root = tsr_cstr_root(s, c);
	if (s->trial || !dims_of(c) || (root->kind != TSR_C_ROW_EQUAL && root->kind != TSR_C_ROW_BELOW) || root->kind_b == TSR_KINDS)
		return NULL;
	const char *at = tsr_axis_words(s, c), *of = tsr_operand_words(s, c);
	if (c->kind_a == TSR_INPUT && c->kind_b == TSR_OUTPUT && c->operand == 1) {
		const tsr_cstr left = {.kind = c->kind, .kind_b = TSR_INPUT, .axis = c->axis, .back = c->back, .why = c->why, .dim = c->dim};
		tsr_tell_not(&t->telling, root);
		return tsr_format(s->arena, "%s of %s is %s, and meets %s of %s, which is %s", tsr_axis_words(s, &left), tsr_operand_words(s, &left), x,
			at, of, y);
	}
	bool none;
	const tsr_cstr *other = other_fact(t, root, &none);
	if (other && other->operand != c->operand) {
		tsr_tell_not(&t->telling, root);
		return tsr_format(s->arena, "%s is %s in %s and %s in %s", at, x, tsr_operand_words(s, other), y, of);
	}
	if (none && root->why->result && !strncmp(what_of(root), "the assignment", 14) && strcmp(tsr_operand_words(s, c), "the result")) {
		tsr_tell_not(&t->telling, root);
		return tsr_format(s->arena, "%s is %s in `%s`, the target, and %s in %s", at, x, root->why->result, y, of);
	}
	if (none && root->kind == TSR_C_ROW_EQUAL) {
		tsr_tell_not(&t->telling, root);
		return tsr_format(s->arena, "%s is %s and %s in %s", at, x, y, of);
	}
	return NULL;
}

static bool written_one(tsr_dim d) { return d.kind == TSR_DIM_ATOM && tsr_size_is_const(d.atom.size) && d.atom.size.k == 1; }

static const char *with_basis(tsr_store *s, tsr_dim d)
{
	return d.kind == TSR_DIM_ATOM && !d.atom.basis ? tsr_format(s->arena, "default:%s", tsr_dim_str(s, d)) : tsr_dim_str(s, d);
}

void tsr_fault_meet(tsr_store *s, tsr_cstr *c, tsr_dim a, tsr_dim b, tsr_meet how)
{
	static const tsr_diag_code codes[] = {TSR_E_SIZE_CLASH, TSR_E_SIZE_CLASH, TSR_E_BASIS_CLASH, TSR_E_CLAIM_FREE};
	story t = found(s, codes[how], c);
	const char *at = tsr_axis_words(s, c), *of = of_operand(s, c), *text = NULL;
	switch (how) {
	case TSR_MEET_OK: return;
	case TSR_MEET_SIZE:
		text = both_sides(&t, c, tsr_dim_str(s, a), tsr_dim_str(s, b));
		if (!text)
			text = tsr_format(s->arena, "the sizes %s and %s meet on %s%s", tsr_dim_str(s, a), tsr_dim_str(s, b), at, of);
		break;
	case TSR_MEET_BASIS:
		text = both_sides(&t, c, with_basis(s, a), with_basis(s, b));
		text = text ? tsr_format(s->arena, "the bases differ: %s", text)
			: tsr_format(s->arena, "the bases of %s and %s differ, on %s%s", with_basis(s, a), with_basis(s, b), at, of);
		break;
	case TSR_MEET_UNIT:
		text = tsr_format(s->arena, "the size %s is required on %s%s, and meets an axis of size 1 that claims nothing",
			tsr_dim_str(s, a.kind == TSR_DIM_UNIT ? b : a), at, of);
		break;
	}
	tsr_dim raw[4] = {dims_of(c) ? c->dim.a : a, a, dims_of(c) ? c->dim.b : b, b};
	tsr_diag *d = report(&t, text, 4, raw);
	if (!d)
		return;
	if (how == TSR_MEET_SIZE && (written_one(a) || written_one(b)))
		tsr_hint(s->tc, d, "a written size 1 does not stretch; `(1 : bcast_if_1)` does");
	if (how == TSR_MEET_UNIT && tsr_cstr_root(s, c)->kind == TSR_C_ROW_EQUAL)
		tsr_hint(s->tc, d, "a spec does not broadcast: leave the axis out of it, or give it its size");
}

static const char *axes(tsr_store *s, uint32_t n) { return tsr_format(s->arena, "%u %s", n, n == 1 ? "axis" : "axes"); }

/* A row for a headline: what is not known of it is `...`. */
static const char *row_words(tsr_store *s, tsr_row r)
{
	const char *text = tsr_row_str(s, r), *from, *to;
	if (!tsr_row_open(r) || !(from = strstr(text, "..r")) || !(to = strstr(from + 3, "..")))
		return text;
	return tsr_format(s->arena, "%.*s...%s", (int)(from - text), text, to + 2);
}

void tsr_fault_rank(tsr_store *s, tsr_cstr *c, tsr_row a, tsr_row b)
{
	story t = found(s, TSR_E_RANK_CLASH, c);
	const char *text, *of = of_operand(s, c);
	uint32_t na = tsr_row_flanks(a), nb = tsr_row_flanks(b);
	const char *kind = c->kind_b != TSR_KINDS ? tsr_format(s->arena, "%s ", kind_names[c->kind_b]) : "";
	if (c->kind == TSR_C_ROW_BELOW)
		text = tsr_format(s->arena, "too many axes in an operand: the %srow%s, %s, has %s; there is room for %u, %s", kind, of,
			row_words(s, b), axes(s, nb), na, row_words(s, a));
	else
		text = tsr_format(s->arena, "mismatching number of axes: the %srow%s is %s, where %s is required", kind, of,
			row_words(s, b), row_words(s, a));
	if (!s->trial && c->kind_b != TSR_KINDS)
		tsr_tell_not(&t.telling, tsr_cstr_root(s, c));
	tsr_diag *d = report(&t, text, 0, NULL);
	if (!d)
		return;
	if (c->kind == TSR_C_ROW_BELOW && !strcmp(what_of(c), "`*`") && c->kind_a == TSR_INPUT && na == 0 && !tsr_row_open(a))
		tsr_hint(s->tc, d, "the left operand has no input axes: a matrix stands on the left, `matrix * vector`; `*.` is pointwise");
	else if (c->kind == TSR_C_ROW_BELOW && !strcmp(what_of(c), "`*`"))
		tsr_hint(s->tc, d, "`*` composes (the input axes of the left operand meet the output axes of the right one); `*.` is pointwise");
	else if (c->kind == TSR_C_ROW_EQUAL && tsr_row_open(b) + tsr_row_open(a) == 0 && na < nb && c->kind_b == TSR_BATCH)
		tsr_hint(s->tc, d, "a kind that a slot leaves out is empty; write `... |` for any batch axes");
}

void tsr_fault_infinite(tsr_store *s, tsr_cstr *c)
{
	story t = found(s, TSR_E_INFINITE_RANK, c);
	bool poison = false;
	tsr_row a = tsr_row_find(s, c->row.a, &poison), b = tsr_row_find(s, c->row.b, &poison);
	uint32_t na = tsr_row_flanks(a), nb = tsr_row_flanks(b), by = na > nb ? na - nb : nb - na;
	report(&t, by > 0 && a.var == b.var ? tsr_format(s->arena, "a row of axes would have to be longer than itself by %s", axes(s, by))
		: "a row of axes would have to be longer than itself", 0, NULL);
}

void tsr_fault_long(tsr_store *s, const tsr_cstr *c, uint32_t n)
{
	story t = found(s, TSR_E_TOO_LARGE, c);
	report(&t, tsr_format(s->arena, "a row of %u axes: no tensor has that many", n), 0, NULL);
}

static const char *number(tsr_store *s, tsr_dim d)
{
	return d.kind == TSR_DIM_VAR ? (s->dims.at[d.var].label ? s->dims.at[d.var].label : "?") : tsr_dim_str(s, d);
}

static bool is_number(tsr_dim d) { return d.kind == TSR_DIM_ATOM && tsr_size_is_const(d.atom.size); }

static bool window_too_long(const tsr_affine *a, tsr_dim d, tsr_dim over, tsr_dim kernel)
{
	return tsr_dim_is_var(over) && a->offset == 0 && is_number(d) && is_number(kernel)
		&& (kernel.atom.size.k - 1) * a->dilation + 1 > d.atom.size.k;
}

/* The arithmetic of an affine axis, as it would have to hold. */
void tsr_fault_affine(tsr_store *s, tsr_cstr *c, tsr_dim d, tsr_dim over, tsr_dim kernel)
{
	story st = found(s, TSR_E_CONV_TILING, c);
	const tsr_affine *a = c->affine.term;
	tsr_text t;
	tsr_text_init(&t, s->arena);
	if (a->runtime)
		tsr_text_addf(&t, "the axis of size %s is too short: with stride %lld and %s positions it must cover more", number(s, d),
			(long long)a->stride, number(s, over));
	else if (a->has_kernel && a->pad != TSR_PAD_SAME && window_too_long(a, d, over, kernel))
		tsr_text_addf(&t, "a window of %s positions%s is longer than its axis, %s", number(s, kernel),
			a->dilation > 1 ? tsr_format(s->arena, ", %lld apart,", (long long)a->dilation) : "", number(s, d));
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
	tsr_dim raw[] = {c->affine.d, d, a->over, over, a->has_kernel ? a->kernel : kernel, kernel};
	tsr_diag *diag = report(&st, tsr_text_str(&t), 6, raw);
	if (diag && a->has_kernel && a->pad != TSR_PAD_SAME && !a->runtime)
		tsr_hint(s->tc, diag, "`=+` in place of `<+` pads the axis: input = stride*output, whatever the window");
}

/* The derived size that c defines: as the spec writes it, else as it was solved. */
static const char *derived_words(tsr_store *s, const tsr_cstr *c)
{
	const char *written = tsr_spec_text(s, tsr_cstr_root(s, c)->why->other);
	return tsr_format(s->arena, "`%s`", *written ? written : tsr_dim_str(s, c->kind == TSR_C_AFFINE
		? (tsr_dim){.kind = TSR_DIM_AFFINE, .affine = c->affine.term}
		: (tsr_dim){.kind = TSR_DIM_CONCAT, .concat = {c->concat.n, c->concat.at}}));
}

void tsr_fault_unit_term(tsr_store *s, tsr_cstr *c)
{
	story t = found(s, TSR_E_CLAIM_FREE, c);
	const char *text = tsr_format(s->arena, "an axis of size 1 that claims nothing stands where a size is required, %s", derived_words(s, c));
	report(&t, text, 1, c->kind == TSR_C_AFFINE ? &c->affine.d : &c->concat.d);
}

/* "2 * 3 = 6": the axes that are known. */
static const char *multiplication(tsr_store *s, const tsr_cstr *c, tsr_size product)
{
	tsr_text t;
	tsr_text_init(&t, s->arena);
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->total.n; i++) {
		bool poison = false;
		tsr_row r = tsr_row_find(s, c->total.rows[i], &poison);
		for (uint32_t j = 0; j < tsr_row_flanks(r); j++) {
			tsr_size size;
			if (tsr_dim_size(s, tsr_dim_find(s, tsr_row_axis(r, j)), &size))
				tsr_text_addf(&t, "%s%s", n++ ? " * " : "", tsr_size_str(s, size));
		}
	}
	return n > 1 ? tsr_format(s->arena, "%s = %s", tsr_text_str(&t), tsr_size_str(s, product)) : tsr_size_str(s, product);
}

void tsr_fault_total(tsr_store *s, tsr_cstr *c, tsr_size have, tsr_size want)
{
	story t = found(s, TSR_E_TOTAL, c);
	report(&t, tsr_format(s->arena, "the number of elements does not fit: the known axes make %s, the total is %s",
		multiplication(s, c, have), tsr_size_str(s, want)), 0, NULL);
}

void tsr_fault_product(tsr_store *s, tsr_cstr *c)
{
	story t = found(s, TSR_E_TOTAL, c);
	report(&t, "the number of elements is a product of sizes that are known only when the program runs", 0, NULL);
}

/* The label of a component that closing has made one position. */
static tsr_name unsized_component(tsr_store *s, const tsr_cstr *c)
{
	for (uint32_t i = 0; i < c->concat.n; i++) {
		tsr_dim written = c->concat.at[i];
		if (written.kind == TSR_DIM_VAR && tsr_dim_find(s, written).kind == TSR_DIM_UNIT)
			return s->dims.at[written.var].label;
	}
	return NULL;
}

void tsr_fault_concat(tsr_store *s, tsr_cstr *c, tsr_size have, tsr_size want)
{
	story t = found(s, TSR_E_CONCAT, c);
	const char *axis = derived_words(s, c), *whole = tsr_size_str(s, want), *known = tsr_size_str(s, have);
	bool open = false;
	for (uint32_t i = 0; i < c->concat.n; i++)
		open |= tsr_dim_is_var(tsr_dim_find(s, c->concat.at[i]));
	const char *text = open ? tsr_format(s->arena, "%s has %s positions, and the components that are known have %s: that leaves none for the rest",
			axis, whole, known)
		: tsr_format(s->arena, "%s has %s positions, and its components have %s", axis, whole, known);
	tsr_dim *sides = TSR_NEW_N(s->arena, tsr_dim, c->concat.n + 1);
	memcpy(sides, c->concat.at, c->concat.n * sizeof *sides);
	sides[c->concat.n] = c->concat.d;
	tsr_diag *d = report(&t, text, c->concat.n + 1, sides);
	const char *unsized = unsized_component(s, c);
	if (d && !open && unsized)
		tsr_hint(s->tc, d, "nothing gives the size of `%s`: `set_dim %s` does", unsized, unsized);
}

void tsr_fault_at_least(tsr_store *s, tsr_cstr *c, tsr_size have)
{
	story t = found(s, TSR_E_POSITION, c);
	report(&t, tsr_format(s->arena, "position %lld lies outside an axis of size %s", (long long)c->at_least.n - 1, tsr_size_str(s, have)),
		1, &c->at_least.d);
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
	if (s->trial) {
		s->trial->hidden = true;
		s->trial->hidden_at = l ? l->span : TSR_NOWHERE;
		return;
	}
	story t = {.s = s, .chain = tsr_chain_of_hidden(s, leaf, var)};
	tsr_push(s->arena, &s->chains, t.chain);
	tsr_telling_init(&t.telling, s, t.chain.nfacts, t.chain.facts);
	for (uint32_t k = 0; l && k < TSR_KINDS; k++)         /* the parameter itself is the headline's */
		tsr_tell_not(&t.telling, s->cstrs.at[l->source + k]);
	tsr_why why = {.span = TSR_NOWHERE};
	if (l)
		why = (tsr_why){.span = l->span, .within = written(s, l->span, s->cstrs.at[l->source]->why->within)};
	tsr_diag *d = headline(s, TSR_E_HIDDEN_DIM, &why,
		tsr_format(s->arena, "you forgot to specify the hidden dimension%s%s: nothing %s", where, name, place));
	tell(&t, d);
	if (label)
		tsr_hint(s->tc, d, "`set_dim %s` gives the size of a captured label", label);
	else
		tsr_hint(s->tc, d, kind == TSR_INPUT ? "`i = [..]` in the declaration gives the input axes"
			: "`o = [..]` in the declaration gives the output axes");
}

/* "?n", or "?n, which is 2 here," where other conditions say so. */
static const char *side_words(tsr_store *s, tsr_size written, tsr_size value)
{
	const char *text = tsr_size_str(s, written);
	return tsr_size_equal(written, value) ? text : tsr_format(s->arena, "%s, which is %s here,", text, tsr_size_str(s, value));
}

void tsr_fault_condition(tsr_store *s, const tsr_condition *c, tsr_size left, tsr_size right)
{
	bool equal = c->kind == TSR_CONDITION_EQUAL;
	tsr_diag_code code = equal ? TSR_E_SIZE_CLASH : TSR_E_POSITION;
	s->nerrors++;
	if (s->trial) {
		s->trial->code = s->trial->failed ? s->trial->code : code;
		s->trial->failed = true;
		return;
	}
	story t = {.s = s, .chain = tsr_chain_of_place(s, c->why.span, code)};
	tsr_telling_init(&t.telling, s, t.chain.nfacts, t.chain.facts);
	tsr_push(s->arena, &s->chains, t.chain);
	const char *what = c->why.what ? tsr_format(s->arena, "%s: ", c->why.what) : "";
	const char *a = side_words(s, c->left, left), *b = side_words(s, c->right, right);
	const char *text = equal ? tsr_format(s->arena, "the sizes %s and %s meet on one axis", a, b)
		: tsr_format(s->arena, "an axis of size %s is too short: %s positions are needed", a, b);
	tell(&t, headline(s, code, &c->why, tsr_format(s->arena, "%s%s", what, text)));
}

void tsr_fault_budget(tsr_store *s, tsr_cstr *c)
{
	story t = found(s, TSR_E_SHAPE_BUDGET, c);
	report(&t, "shape inference did not come to an end within its step budget", 0, NULL);
}
