/* What an application asks of the store, written down and followed.  Elaboration asks for fresh shapes, leaves, rules, equalities and
 * facts about labels here; it is emitted, and written down for all applications that are open. While an earlier application, or a
 * scheme, is followed, each of these is compared with what was asked for there, and what came of it then is the answer; what does
 * not compare breaks off all sharing.
 *
 *   the same     (copy NULL): the answer is the very same shape.
 *   a copy       of a region: the answer is what that shape is in the copy; constraints get the reasons of this application.
 *   an instance  of a scheme: a copy whose arguments have been given (share.c), and in which sizes that the configuration states
 *                are given when they are met. */
#include "share.h"
#include <string.h>

/* ---- comparisons ------------------------------------------------------------------------------------------------------------- */

bool tsr_shapes_one(tsr_elab *el, const tsr_shape *a, const tsr_shape *b)
{
	for (int k = 0; k < TSR_KINDS; k++)
		if (!tsr_rows_one(el->g->store, a->row[k], b->row[k]))
			return false;
	return true;
}

bool tsr_labels_one(tsr_elab *el, const tsr_label *a, const tsr_label *b)
{
	if (a->is_row != b->is_row || a->name != b->name)
		return false;
	return a->is_row ? tsr_rows_one(el->g->store, a->row, b->row) : tsr_dims_one(el->g->store, a->dim, b->dim);
}

/* Equal environments give equal specs, but for one that the making of an argument decided: a region's. Where numbers may differ, the
 * same text may stand for another form. */
bool tsr_specs_one(tsr_elab *el, const tsr_spec *a, const tsr_spec *b)
{
	if (!a || !b || a == b)
		return a == b;
	if (el->share->level < TSR_SHARE_SIZES)
		return strcmp(a->text, b->text) == 0;
	return strcmp(tsr_spec_str(el->arena, a), tsr_spec_str(el->arena, b)) == 0;
}

static bool rules_one(tsr_elab *el, const tsr_rule *a, const tsr_rule *b)
{
	return a->logic == b->logic && a->noperands == b->noperands && a->least == b->least && tsr_specs_one(el, a->spec, b->spec);
}

/* ---- following ------------------------------------------------------------------------------------------------------------------ */

static bool follows(const tsr_elab *el) { return el->share && !el->share->broken && el->share->following; }

static tsr_shape here(tsr_elab *el, const tsr_shape *shape)
{
	tsr_share *s = el->share;
	return s->copy ? tsr_region_shape(el->g->store, s->following->region, s->copy, shape) : *shape;
}

static tsr_label label_here(tsr_elab *el, const tsr_label *l)
{
	tsr_share *s = el->share;
	return s->copy ? tsr_region_label(el->g->store, s->following->region, s->copy, l) : *l;
}

static bool expect(tsr_elab *el, bool same)
{
	tsr_share *s = el->share;
	s->broken |= !same;
	s->misled |= !same && s->instance && s->instance->numbers.n;
	return same;
}

/* What was asked for next, if it is of this kind; what follows is not the same otherwise. */
static const tsr_asked *next_asked(tsr_elab *el, tsr_asked_kind kind)
{
	tsr_share *s = el->share;
	const tsr_asked *e = s->cursor < s->following->last ? &s->following->asked->at[s->cursor] : NULL;
	if (!expect(el, e && e->kind == kind))
		return NULL;
	s->cursor++;
	return e;
}

static void write(tsr_elab *el, tsr_asked e)
{
	tsr_share *s = el->share;
	if (s && !s->broken && s->open.n)
		tsr_push(el->arena, &s->asked, e);
}

/* What was followed is asked for by the applications around it. A copy's constraints get their own reason. */
static void followed(tsr_elab *el, const tsr_asked *e, tsr_asked as, const tsr_why *why)
{
	tsr_share *s = el->share;
	const tsr_application *t = s->following;
	as.kind = e->kind;
	as.from = e->from;
	if (s->copy) {
		uint32_t end = s->cursor < t->last ? t->asked->at[s->cursor].from : tsr_region_ends(t->region);
		as.from = tsr_region_why(el->g->store, t->region, s->copy, e->from, end, why);
	}
	write(el, as);
}

/* A size of this instance. It is what the scheme says of it, or nothing is shared: errors and conditions are those of the operations. */
static void give_rows(tsr_elab *el, const tsr_shape *mine, const tsr_shape *scheme, tsr_span span)
{
	tsr_store *st = el->g->store;
	uint32_t conditions = tsr_store_nconditions(st);
	tsr_why why = {.span = span, .other = TSR_NOWHERE, .what = "the sizes of the declaration", .within = tsr_elab_within(el)};
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		if (!tsr_rows_one(st, mine->row[k], scheme->row[k]))
			tsr_emit_row_equal(st, scheme->row[k], mine->row[k], why);
	expect(el, conditions == tsr_store_nconditions(st));
}

static bool ranks_one(const tsr_shape *a, const tsr_shape *b)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		if (a->row[k].nlead != b->row[k].nlead || a->row[k].ntrail != b->row[k].ntrail
		    || (a->row[k].var == TSR_NO_ROW) != (b->row[k].var == TSR_NO_ROW))
			return false;
	return true;
}

/* ---- what elaboration asks for ---------------------------------------------------------------------------------------------------- */

tsr_shape tsr_elab_fresh(tsr_elab *el)
{
	const tsr_asked *e = follows(el) ? next_asked(el, TSR_ASKED_FRESH) : NULL;
	if (e) {
		tsr_shape shape = here(el, &e->shape);
		followed(el, e, (tsr_asked){.shape = shape, .tensor = TSR_NONE}, NULL);
		return shape;
	}
	tsr_asked mine = {.kind = TSR_ASKED_FRESH, .tensor = TSR_NONE, .from = tsr_store_emission(el->g->store),
	                  .shape = tsr_shape_fresh(el->g->store)};
	write(el, mine);
	return mine.shape;
}

bool tsr_share_leaf(tsr_elab *el, tsr_tensor *t)
{
	const tsr_asked *e = follows(el) ? next_asked(el, TSR_ASKED_LEAF) : NULL;
	if (!e)
		return false;
	tsr_share *s = el->share;
	tsr_shape shape = here(el, &e->shape);
	if (e->sized && expect(el, ranks_one(&t->shape, &shape)))
		give_rows(el, &t->shape, &shape, t->span);
	else if (!expect(el, tsr_shapes_one(el, &t->shape, &shape)))
		return false;
	tsr_asked mine = {.shape = s->instance ? t->shape : shape, .tensor = t->id, .leaf = s->copy ? t->id : e->leaf};
	if (!s->copy)
		tsr_map_put(&s->canonical, t->id)->value.i = e->leaf;
	t->shape = shape;
	followed(el, e, mine, NULL);
	return true;
}

void tsr_share_leaf_made(tsr_elab *el, const tsr_tensor *t, uint32_t from)
{
	write(el, (tsr_asked){.kind = TSR_ASKED_LEAF, .shape = t->shape, .tensor = t->id, .leaf = t->id, .from = from});
}

static tsr_label *labels_here(tsr_elab *el, const tsr_rule *rule)
{
	tsr_label *out = TSR_NEW_N(el->arena, tsr_label, rule->nlabels + 1);
	for (uint32_t i = 0; i < rule->nlabels; i++)
		out[i] = label_here(el, &rule->labels[i]);
	return out;
}

static tsr_asked rule_asked(tsr_elab *el, const tsr_record *r, const tsr_shape *result, const tsr_shape *operands)
{
	uint32_t n = r->rule.noperands;
	tsr_shape *shapes = TSR_NEW_N(el->arena, tsr_shape, n + 1);
	tsr_tensor_id *tensors = TSR_NEW_N(el->arena, tsr_tensor_id, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		shapes[i] = operands[i];
		tensors[i] = r->slots[1 + i];
	}
	return (tsr_asked){.kind = TSR_ASKED_RULE, .shape = *result, .tensor = r->slots[0], .n = n, .shapes = shapes, .tensors = tensors, .rule = &r->rule};
}

static bool follow_rule(tsr_elab *el, tsr_record *r, const tsr_shape *result, const tsr_shape *operands)
{
	const tsr_asked *e = next_asked(el, TSR_ASKED_RULE);
	if (!e || !expect(el, rules_one(el, e->rule, &r->rule)))
		return false;
	tsr_shape x = here(el, &e->shape), *ops = TSR_NEW_N(el->arena, tsr_shape, e->n + 1);
	bool same = tsr_shapes_one(el, result, &x);
	for (uint32_t i = 0; same && i < e->n; i++) {
		ops[i] = here(el, &e->shapes[i]);
		same = tsr_shapes_one(el, &operands[i], &ops[i]);
	}
	if (!expect(el, same))
		return false;
	r->rule.why.noperands = r->rule.noperands;
	r->rule.nlabels = e->rule->nlabels;
	r->rule.labels = labels_here(el, e->rule);
	bool mine = el->share->instance;                 /* what it was given is not what the scheme stands on */
	followed(el, e, rule_asked(el, r, mine ? result : &x, mine ? operands : ops), &r->rule.why);
	return true;
}

void tsr_elab_emit(tsr_elab *el, tsr_record *r, const tsr_shape *result, const tsr_shape *operands)
{
	if (follows(el) && follow_rule(el, r, result, operands))
		return;
	uint32_t from = tsr_store_emission(el->g->store);
	tsr_emit_rule(el->g->store, &r->rule, result, operands);
	if (!el->share)
		return;
	tsr_asked mine = rule_asked(el, r, result, operands);
	mine.from = from;
	write(el, mine);
}

bool tsr_share_equal(tsr_elab *el, const tsr_shape_of *a, const tsr_shape_of *b, const tsr_why *why)
{
	const tsr_asked *e = follows(el) ? next_asked(el, TSR_ASKED_EQUAL) : NULL;
	if (!el->share)
		return false;
	tsr_shape *shape = TSR_NEW(el->arena, tsr_shape);
	tsr_tensor_id *tensor = TSR_NEW(el->arena, tsr_tensor_id);
	*shape = b->shape;
	*tensor = b->tensor;
	tsr_asked mine = {.kind = TSR_ASKED_EQUAL, .shape = a->shape, .tensor = a->tensor, .n = 1, .shapes = shape, .tensors = tensor};
	if (e) {
		tsr_shape x = here(el, &e->shape), y = here(el, &e->shapes[0]);
		if (expect(el, tsr_shapes_one(el, &a->shape, &x) && tsr_shapes_one(el, &b->shape, &y))) {
			if (!el->share->instance) {
				mine.shape = x;
				*shape = y;
			}
			followed(el, e, mine, why);
			return true;
		}
	}
	mine.from = tsr_store_emission(el->g->store);
	write(el, mine);
	return false;
}

/* The number is the scheme's, or that of this application. */
static bool number_one(tsr_elab *el, const tsr_asked *e, int64_t number, const tsr_why *why)
{
	if (!e->sized)
		return e->number == number;
	tsr_store *st = el->g->store;
	uint32_t conditions = tsr_store_nconditions(st);
	tsr_label size = label_here(el, &(tsr_label){.dim = e->size});
	tsr_emit_dim_equal(st, size.dim, tsr_dim_atom(number, NULL), *why);
	return conditions == tsr_store_nconditions(st);
}

bool tsr_share_label(tsr_elab *el, tsr_share_fact fact, const tsr_label *a, const tsr_label *b, int64_t number, const tsr_why *why)
{
	static const tsr_label none = {.is_row = false};
	tsr_asked mine = {.kind = TSR_ASKED_LABEL, .fact = fact, .a = *a, .b = b ? *b : none, .number = number, .tensor = TSR_NONE,
	                  .from = tsr_store_emission(el->g->store)};
	const tsr_asked *e = follows(el) ? next_asked(el, TSR_ASKED_LABEL) : NULL;
	if (e) {
		tsr_label x = label_here(el, &e->a), y = b ? label_here(el, &e->b) : none;
		bool same = e->fact == fact && tsr_labels_one(el, a, &x) && (!b || tsr_labels_one(el, b, &y));
		if (expect(el, same && number_one(el, e, number, why))) {
			followed(el, e, mine, why);
			return true;
		}
	}
	write(el, mine);
	return false;
}

/* Sizes of the run belong to the place that asks for them. */
void tsr_share_spoil(tsr_elab *el)
{
	tsr_share *s = el->share;
	if (!s)
		return;
	expect(el, !s->following);
	for (uint32_t i = 0; i < s->open.n; i++)
		s->open.at[i]->body = NULL;
}
