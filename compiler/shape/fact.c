/* Facts in words.  A chain is a set of facts (chain.c); here they are put in an order that reads from the mistake back to the
 * source, and each is worded: what a leaf states ("the literal `a` has output axes [2, 3]"), and what an operation says of
 * one axis ("`exp`: the last output axis of `b` and of the result are one, 3").  Facts of one place make one note. */
#include "store.h"
#include <string.h>

static const char *const kind_names[] = {"batch", "input", "output", ""};

static bool dims_of(const tsr_cstr *c) { return c->kind == TSR_C_DIM_EQUAL || c->kind == TSR_C_DIM_BELOW; }

static tsr_name label_of(tsr_store *s, const tsr_cstr *c)
{
	for (uint32_t i = 0; i < 2 && dims_of(c); i++) {
		const tsr_dim *side = i == 0 ? &c->dim.a : &c->dim.b;
		if (side->kind == TSR_DIM_VAR && s->dims.at[side->var].label)
			return s->dims.at[side->var].label;
	}
	return NULL;
}

/* "output axis 2": the position alone. */
static const char *position(tsr_store *s, const tsr_cstr *c, tsr_kind kind)
{
	if (kind == TSR_KINDS)
		return "one axis";
	if (c->axis != TSR_NO_ID)
		return tsr_format(s->arena, "%s axis %u", kind_names[kind], c->axis + 1);
	if (c->back == 1)
		return tsr_format(s->arena, "the last %s axis", kind_names[kind]);
	if (c->back != TSR_NO_ID)
		return tsr_format(s->arena, "%s axis %u from the end", kind_names[kind], c->back);
	return tsr_format(s->arena, "%s %s axis", kind == TSR_BATCH ? "a" : "an", kind_names[kind]);
}

const char *tsr_axis_words(tsr_store *s, const tsr_cstr *c)
{
	tsr_name label = label_of(s, c);
	return label ? tsr_format(s->arena, "axis `%s`", label) : position(s, c, c->kind_b);
}

const char *tsr_operand_words(tsr_store *s, const tsr_cstr *c)
{
	if (c->operand < 0)
		return c->why->result ? tsr_format(s->arena, "`%s`", c->why->result) : "the result";
	if (c->operand < 3 && c->why->operands[c->operand])
		return tsr_format(s->arena, "`%s`", c->why->operands[c->operand]);
	if (c->why->noperands == 1)
		return "the operand";
	if (c->why->noperands == 2)
		return c->operand ? "the right operand" : "the left operand";
	return tsr_format(s->arena, "operand %d", c->operand + 1);
}

/* ---- one fact ---------------------------------------------------------------------------------------------------- */

static const char *size_clause(tsr_store *s, tsr_dim value)
{
	bool known = value.kind == TSR_DIM_ATOM || value.kind == TSR_DIM_UNIT;
	return known ? tsr_format(s->arena, ", %s", tsr_dim_str(s, value)) : "";
}

/* A row that a leaf states. */
static void source_words(tsr_store *s, const tsr_cstr *c, tsr_text *t)
{
	const tsr_leaf *l = &s->leaves.at[c->source.leaf];
	bool poison = false;
	tsr_row r = tsr_row_find(s, l->shape.row[c->kind_b], &poison);
	const char *name = c->why->result ? tsr_format(s->arena, "`%s`", c->why->result) : "", *kind = kind_names[c->kind_b];
	tsr_text_addf(t, "%s%s%s ", c->why->what ? c->why->what : *name ? "" : "this", c->why->what && *name ? " " : "", name);
	uint32_t n = tsr_row_flanks(r);
	if (tsr_row_open(l->shape.row[c->kind_b]) && !tsr_row_flanks(l->shape.row[c->kind_b]))
		tsr_text_addf(t, "is declared without %s axes", kind);
	else if (n == 0)
		tsr_text_addf(t, "has no %s axes", kind);
	else if (n == 1)
		tsr_text_addf(t, "has one %s axis, %s", kind, tsr_dim_str(s, tsr_row_axis(r, 0)));
	else
		tsr_text_addf(t, "has the %s axes %s", kind, tsr_row_str(s, r));
}

const char *tsr_spec_text(tsr_store *s, tsr_span span)
{
	if (!span.file || span.end <= span.start)
		return "";
	const tsr_source *src = tsr_source_get(s->tc, span.file);
	return span.end <= src->size ? tsr_strndup(s->arena, src->text + span.start, span.end - span.start) : "";
}

/* What a constraint on dimensions says that was emitted as such: by set_dim, set_equal, or an axis of a spec. */
static void dim_words(tsr_store *s, const tsr_cstr *c, tsr_text *t)
{
	tsr_name a = c->dim.a.kind == TSR_DIM_VAR ? s->dims.at[c->dim.a.var].label : NULL;
	tsr_name b = c->dim.b.kind == TSR_DIM_VAR ? s->dims.at[c->dim.b.var].label : NULL;
	const tsr_cstr *term = c->id + 1 < s->cstrs.n ? s->cstrs.at[c->id + 1] : NULL;
	if (term && term->parent == c->id && (term->kind == TSR_C_AFFINE || term->kind == TSR_C_CONCAT))
		tsr_text_addf(t, "an axis is `%s`", tsr_spec_text(s, c->why->other));
	else if (a && b)
		tsr_text_addf(t, "axis `%s` is as long as axis `%s`", a, b);
	else if (a || b)
		tsr_text_addf(t, "axis `%s` is %s", a ? a : b, tsr_dim_str(s, a ? c->dim.b : c->dim.a));
	else
		tsr_text_addf(t, "%s is %s", tsr_dim_str(s, c->dim.a), tsr_dim_str(s, c->dim.b));
}

/* The row of this kind in the text of a slot, `batch | input -> output`. */
static const char *slot_words(tsr_store *s, tsr_span slot, tsr_kind kind)
{
	const char *text = tsr_spec_text(s, slot), *bar = strchr(text, '|'), *arrow = strstr(text, "->");
	const char *input = bar ? bar + 1 : text, *output = arrow ? arrow + 2 : input, *end = text + strlen(text);
	const char *from = kind == TSR_BATCH ? text : kind == TSR_INPUT ? input : output;
	const char *to = kind == TSR_BATCH ? bar ? bar : text : kind == TSR_INPUT ? arrow ? arrow : input : end;
	while (from < to && *from == ' ')
		from++;
	while (from < to && to[-1] == ' ')
		to--;
	return from < to ? tsr_format(s->arena, "`%.*s` in the spec", (int)(to - from), from) : "empty in the spec";
}

/* What an operation says of the rows of an operand, where no single axis is meant. */
static void row_words(tsr_store *s, const tsr_cstr *c, tsr_text *t)
{
	if (c->kind_b == TSR_KINDS)
		tsr_text_add(t, c->kind == TSR_C_ROW_EQUAL ? "two rows of axes are one" : "the axes agree");
	else if (c->kind == TSR_C_ROW_EQUAL && c->kind_a == c->kind_b && c->why->other.file)
		tsr_text_addf(t, "the %s axes of %s are %s", kind_names[c->kind_b], tsr_operand_words(s, c), slot_words(s, c->why->other, c->kind_b));
	else if (c->kind == TSR_C_ROW_BELOW && c->kind_a == TSR_INPUT && c->kind_b == TSR_OUTPUT && c->operand == 1)
		tsr_text_addf(t, "the input axes of %s meet the output axes of %s",
			c->why->operands[0] ? tsr_format(s->arena, "`%s`", c->why->operands[0]) : "the left operand", tsr_operand_words(s, c));
	else if (c->kind_a != c->kind_b)
		tsr_text_addf(t, "the %s axes of the result are the %s axes of %s", kind_names[c->kind_a], kind_names[c->kind_b],
			tsr_operand_words(s, c));
	else
		tsr_text_addf(t, "the %s axes of the result are those of %s", kind_names[c->kind_b], tsr_operand_words(s, c));
}

/* What the operation `root` says of the axis of c, which was derived from it. */
static void axis_of_operation(tsr_store *s, const tsr_cstr *root, const tsr_cstr *c, tsr_dim value, tsr_text *t)
{
	tsr_name label = label_of(s, c);
	const char *size = size_clause(s, value);
	if (root->kind == TSR_C_ROW_EQUAL && label)
		tsr_text_addf(t, "axis `%s` is %s of %s%s", label, position(s, c, c->kind_b), tsr_operand_words(s, c), size);
	else if (root->kind == TSR_C_ROW_EQUAL)
		tsr_text_addf(t, "%s of %s is the spec's%s", position(s, c, c->kind_b), tsr_operand_words(s, c), size);
	else if (c->kind_a == TSR_INPUT && c->kind_b == TSR_OUTPUT && c->operand == 1)
		tsr_text_addf(t, "%s of %s meets %s of %s%s", position(s, c, c->kind_a),
			root->why->operands[0] ? tsr_format(s->arena, "`%s`", root->why->operands[0]) : "the left operand",
			position(s, c, c->kind_b), tsr_operand_words(s, c), size);
	else if (c->kind_a != c->kind_b)
		tsr_text_addf(t, "%s of the result is %s of %s%s", position(s, c, c->kind_a), position(s, c, c->kind_b),
			tsr_operand_words(s, c), size);
	else
		tsr_text_addf(t, "%s of the result is that of %s%s", position(s, c, c->kind_b), tsr_operand_words(s, c), size);
}

static void fact_words(tsr_store *s, const tsr_cstr *root, const tsr_cstr *c, tsr_dim value, tsr_text *t)
{
	switch (root->kind) {
	case TSR_C_SOURCE: source_words(s, root, t); return;
	case TSR_C_DIM_EQUAL: case TSR_C_DIM_BELOW: dim_words(s, root, t); return;
	case TSR_C_ROW_EQUAL: case TSR_C_ROW_BELOW:
		if (dims_of(c) && root->kind_b != TSR_KINDS)
			axis_of_operation(s, root, c, value, t);
		else
			row_words(s, root, t);
		return;
	case TSR_C_AT_LEAST: tsr_text_addf(t, "position %lld must be there", (long long)root->at_least.n - 1); return;
	case TSR_C_TOTAL:
		if (root->total.has_dim && root->total.coef == 1)
			tsr_text_add(t, "the axes have together as many elements as the joint axis");
		else if (root->total.has_dim)
			tsr_text_addf(t, "the axes have %lld times as many elements as the other side", (long long)root->total.coef);
		else
			tsr_text_addf(t, "the axes have %s elements in all",
				tsr_dim_str(s, (tsr_dim){.kind = TSR_DIM_ATOM, .atom = {root->total.size, NULL}}));
		return;
	case TSR_C_LOOKUP: tsr_text_add(t, "the leftmost batch axis of what is looked up, else its only input axis, is looked up"); return;
	case TSR_C_JOIN:
		tsr_text_addf(t, "the %s axes of the result are those of the positions, then those of what is looked up", kind_names[root->kind_a]);
		return;
	case TSR_C_AFFINE: case TSR_C_CONCAT: return;
	}
}

/* ---- the order --------------------------------------------------------------------------------------------------- */

void tsr_telling_init(tsr_telling *t, tsr_store *s, uint32_t n, const uint32_t *facts)
{
	*t = (tsr_telling){.s = s};
	tsr_map_init(&t->facts, s->arena);
	tsr_map_init(&t->dims, s->arena);
	for (uint32_t i = 0; i < n; i++)
		tsr_map_put(&t->facts, facts[i])->value.i = 1;
}

static bool same_operation(const tsr_cstr *a, const tsr_cstr *b)
{
	return tsr_span_same(a->why->span, b->why->span) && (a->why->what == b->why->what || (a->why->what && b->why->what && !strcmp(a->why->what, b->why->what)));
}

void tsr_tell_not(tsr_telling *t, const tsr_cstr *c)
{
	for (uint32_t i = 0; i < t->facts.n; i++)
		if (same_operation(t->s->cstrs.at[t->facts.entries[i].key], c))
			t->facts.entries[i].value.i = 2;
}

void tsr_tell_cstr(tsr_telling *t, const tsr_cstr *c, tsr_dim value)
{
	tsr_store *s = t->s;
	const tsr_cstr *root = tsr_cstr_root(s, c);
	tsr_map_entry *e = tsr_map_find(&t->facts, root->id);
	if (!e || e->value.i != 1)
		return;
	e->value.i = 2;
	struct tsr_told *at = NULL;
	bool source = root->kind == TSR_C_SOURCE;
	for (uint32_t i = 0; i < t->told.n && !at; i++)
		if (tsr_span_same(t->told.at[i].span, root->why->span) && t->told.at[i].what == (source ? NULL : root->why->what))
			at = &t->told.at[i];
	if (!at) {
		tsr_push(s->arena, &t->told, ((struct tsr_told){root->why->span, source ? NULL : root->why->what, {0}}));
		at = &t->told.at[t->told.n - 1];
		tsr_text_init(&at->text, s->arena);
		if (at->what)
			tsr_text_addf(&at->text, "%s: ", at->what);
	} else {
		tsr_text_add(&at->text, source ? ", " : "; ");
	}
	fact_words(s, root, c, value, &at->text);
}

static void tell_stamp(tsr_telling *t, tsr_dim value)
{
	const tsr_cstr *c = value.from ? t->s->cstrs.at[value.from - 1] : NULL;
	if (!c)
		return;
	tsr_tell_cstr(t, c, value);
	if (c->kind == TSR_C_AFFINE) {                       /* a derived size: by the way of its parts */
		tsr_tell_dim(t, c->affine.d);
		tsr_tell_dim(t, c->affine.term->over);
		if (c->affine.term->has_kernel)
			tsr_tell_dim(t, c->affine.term->kernel);
	} else if (c->kind == TSR_C_CONCAT) {
		tsr_tell_dim(t, c->concat.d);
		for (uint32_t i = 0; i < c->concat.n; i++)
			tsr_tell_dim(t, c->concat.at[i]);
	}
}

static void tell_reason(tsr_telling *t, uint32_t id, tsr_dim value)
{
	const tsr_cstr *c = t->s->cstrs.at[id];
	tsr_tell_cstr(t, c, value);
	if (!dims_of(c))
		return;
	tsr_tell_dim(t, c->dim.a);
	tsr_tell_dim(t, c->dim.b);
}

/* Each variable once: first what joined it to the others of its class, then what bound the class. */
void tsr_tell_dim(tsr_telling *t, tsr_dim d)
{
	tsr_store *s = t->s;
	if (d.kind != TSR_DIM_VAR) {
		tell_stamp(t, d);
		return;
	}
	tsr_map_entry *e = tsr_map_put(&t->dims, d.var);
	if (e->value.i)
		return;
	e->value.i = 1;
	uint32_t root = tsr_forest_find(s->dim_forest, d.var), *path;
	tsr_dim_var v = s->dims.at[root];
	uint32_t n = tsr_forest_explain(s->dim_forest, d.var, root, s->arena, &path);
	for (uint32_t i = 0; i < n; i++)
		tell_reason(t, path[i], v.value);
	if (v.cause != TSR_NO_ID)
		tell_reason(t, v.cause, v.value);
	if (v.bound)
		tell_stamp(t, v.value);
}

void tsr_tell_rest(tsr_telling *t)
{
	for (uint32_t i = 0; i < t->facts.n; i++)
		if (t->facts.entries[i].value.i == 1)
			tsr_tell_cstr(t, t->s->cstrs.at[t->facts.entries[i].key], tsr_dim_poison());
}

void tsr_chain_words(tsr_store *s, const tsr_chain *chain, tsr_notes *out)
{
	tsr_telling t;
	tsr_telling_init(&t, s, chain->nfacts, chain->facts);
	tsr_tell_dim(&t, chain->start);
	tsr_tell_rest(&t);
	for (uint32_t i = 0; i < t.told.n; i++)
		tsr_push(s->arena, out, ((tsr_note){t.told.at[i].span, tsr_text_str(&t.told.at[i].text)}));
}
