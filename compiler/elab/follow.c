/* What an application asks of the store, written down and followed.  Elaboration asks for fresh shapes, leaves, rules, equalities and
 * facts about labels here; it is emitted, and written down for all applications that are open. While an earlier application, or a
 * scheme, is followed, each of these is compared with what was asked for there, and what came of it then is the answer; what does
 * not compare breaks off all sharing.
 *
 *   the same     (copy NULL): the answer is the very same shape.
 *   a copy       of a region: the answer is what that shape is in the copy; constraints get the reasons of this application.
 *   an instance  of a scheme, whose arguments have been given (share.c), and in which sizes that the configuration states are given
 *                when they are met. Its tensors are compared by what they are, not by their shapes. */
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
	bool numbers = strpbrk(a->text, "*+") != NULL;       /* coefficients, offsets */
	if (el->share->level < TSR_SHARE_SIZES || !numbers)
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
	if (s->instance)
		return tsr_copy_shape(s->made, shape);
	return s->copy ? tsr_region_shape(el->g->store, s->following->region, s->copy, shape) : *shape;
}

static tsr_label label_here(tsr_elab *el, const tsr_label *l)
{
	tsr_share *s = el->share;
	if (s->instance)
		return tsr_copy_label(s->made, *l);
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
	if (s)
		e.mint = s->minting;
	if (s && !s->broken && s->open.n)
		tsr_push(el->arena, &s->asked, e);
}

/* What was followed is asked for by the applications around it. A copy's constraints get their own reason. */
static void followed(tsr_elab *el, const tsr_asked *e, tsr_asked as, const tsr_why *why)
{
	tsr_share *s = el->share;
	const tsr_application *t = s->following;
	uint32_t end = e->to ? e->to : s->cursor < t->last ? t->asked->at[s->cursor].from : s->copy ? tsr_region_ends(t->region) : 0;
	as.kind = e->kind;
	as.from = e->from;
	as.to = e->to;
	if (s->instance)
		as.from = tsr_copy_why(el->g->store, s->made, e->from, e->to, why);
	else if (s->copy)
		as.from = tsr_region_why(el->g->store, t->region, s->copy, e->from, end, why);
	if ((s->instance || s->copy) && e->to)
		as.to = as.from + e->to - e->from;
	write(el, as);
}

/* The tensor that was asked for last is this. */
static void note_mine(tsr_elab *el, tsr_tensor_id id)
{
	tsr_share *s = el->share;
	uint32_t at = s->cursor - 1 - s->following->first;
	while (s->instance && s->mine.n <= at)
		tsr_push(el->arena, &s->mine, TSR_NONE);
	if (s->instance)
		s->mine.at[at] = id;
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
		tsr_shape shape = el->share->fresh = here(el, &e->shape);
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
	tsr_asked mine = {.shape = s->instance ? t->shape : shape, .tensor = t->id, .leaf = s->copy || s->instance ? t->id : e->leaf};
	if (!s->copy && !s->instance)
		tsr_map_put(&s->canonical, t->id)->value.i = e->leaf;
	t->shape = shape;
	memcpy(mine.stated, e->stated, sizeof mine.stated);
	note_mine(el, t->id);
	followed(el, e, mine, NULL);
	return true;
}

void tsr_share_leaf_made(tsr_elab *el, const tsr_tensor *t, uint32_t from)
{
	tsr_asked mine = {.kind = TSR_ASKED_LEAF, .shape = t->shape, .tensor = t->id, .leaf = t->id, .from = from};
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		mine.stated[k] = t->shape.row[k].var == TSR_NO_ROW;
	write(el, mine);
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

/* As it was answered, to the pointer. */
static bool is_fresh(const tsr_share *s, const tsr_shape *shape)
{
	bool same = true;
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		const tsr_row *a = &s->fresh.row[k], *b = &shape->row[k];
		same &= a->nlead == b->nlead && a->ntrail == b->ntrail && a->var == b->var && a->lead == b->lead && a->trail == b->trail;
	}
	return same;
}

/* Slot i of the operation is what the scheme has there. */
static bool is_mine(tsr_elab *el, const tsr_asked *e, uint32_t i, tsr_tensor_id id, const tsr_shape *shape)
{
	const tsr_share *s = el->share;
	uint32_t who = e->who[i];
	if (who == TSR_WHO_SHAPE && !i && is_fresh(s, shape))
		return true;
	if (who == TSR_WHO_SHAPE) {
		tsr_shape x = here(el, i ? &e->shapes[i - 1] : &e->shape);
		return tsr_shapes_one(el, shape, &x);
	}
	return id == (who & TSR_WHO_ARGUMENT ? s->given[who & ~TSR_WHO_ARGUMENT] : who < s->mine.n ? s->mine.at[who] : TSR_NONE);
}

/* What it was given is not what the scheme stands on: that is written down. */
static bool follow_scheme(tsr_elab *el, const tsr_asked *e, tsr_record *r, const tsr_shape *result, const tsr_shape *operands, tsr_asked *as)
{
	bool same = is_mine(el, e, 0, r->slots[0], result);
	for (uint32_t i = 0; same && i < e->n; i++)
		same = is_mine(el, e, 1 + i, r->slots[1 + i], &operands[i]);
	if (same && e->who[0] == TSR_WHO_SHAPE)
		note_mine(el, r->slots[0]);
	*as = rule_asked(el, r, result, operands);
	return same;
}

static bool follow_application(tsr_elab *el, const tsr_asked *e, tsr_record *r, const tsr_shape *result, const tsr_shape *operands, tsr_asked *as)
{
	tsr_shape x = here(el, &e->shape), *ops = TSR_NEW_N(el->arena, tsr_shape, e->n + 1);
	bool same = tsr_shapes_one(el, result, &x);
	for (uint32_t i = 0; same && i < e->n; i++) {
		ops[i] = here(el, &e->shapes[i]);
		same = tsr_shapes_one(el, &operands[i], &ops[i]);
	}
	*as = rule_asked(el, r, &x, ops);
	return same;
}

static bool follow_rule(tsr_elab *el, tsr_record *r, const tsr_shape *result, const tsr_shape *operands)
{
	const tsr_asked *e = next_asked(el, TSR_ASKED_RULE);
	tsr_asked as;
	if (!e || !expect(el, rules_one(el, e->rule, &r->rule)))
		return false;
	if (!expect(el, (el->share->instance ? follow_scheme : follow_application)(el, e, r, result, operands, &as)))
		return false;
	r->rule.why.noperands = r->rule.noperands;
	r->rule.nlabels = e->rule->nlabels;
	r->rule.labels = labels_here(el, e->rule);
	as.rule = &r->rule;
	followed(el, e, as, &r->rule.why);
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

/* Of two annotations of one text: the sizes in them, too. */
static bool same_sizes(const tsr_shape *a, const tsr_shape *b)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		const tsr_row *x = &a->row[k], *y = &b->row[k];
		if (x->nlead != y->nlead || x->ntrail != y->ntrail)
			return false;
		for (uint32_t i = 0; i < x->nlead + x->ntrail; i++) {
			tsr_dim d = i < x->nlead ? x->lead[i] : x->trail[i - x->nlead], e = i < x->nlead ? y->lead[i] : y->trail[i - x->nlead];
			if (d.kind == TSR_DIM_ATOM && (e.kind != TSR_DIM_ATOM || !tsr_size_equal(d.atom.size, e.atom.size) || d.atom.basis != e.atom.basis))
				return false;
		}
	}
	return true;
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
		bool written = b->tensor == TSR_NONE;                /* an annotation: its unknown axes are made each time */
		if (expect(el, tsr_shapes_one(el, &a->shape, &x) && (written ? same_sizes(&b->shape, &e->shapes[0]) : tsr_shapes_one(el, &b->shape, &y)))) {
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
	tsr_asked mine = {.kind = TSR_ASKED_LABEL, .fact = fact, .a = *a, .b = b ? *b : none, .at_a = a, .at_b = b, .number = number, .tensor = TSR_NONE,
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
