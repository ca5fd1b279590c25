/* What elaboration asks of the store: fresh shapes, leaves, rules, equalities and facts about labels.  Outside of applications each is
 * emitted at once. In an application it is written down, and emitted when the outermost one is complete: by then it is known all that an
 * application asks for, and so which earlier one it is like (share.c).  Nothing is lost by waiting: evaluation looks at no shapes, the order
 * stays, and labels are there by name. */
#include "share.h"
#include <string.h>

static bool writes(const tsr_elab *el) { return el->share && el->share->around.n; }

static tsr_asked *write(tsr_elab *el, tsr_asked e)
{
	tsr_share *s = el->share;
	e.mint = s->minting;
	tsr_push(el->arena, &s->asked, e);
	return &s->asked.at[s->asked.n - 1];
}

/* ---- applications --------------------------------------------------------------------------------------------------------------- */

void tsr_share_enter(tsr_eval *ev, const tsr_ast *body)
{
	tsr_elab *el = tsr_elab_of(ev);
	tsr_share *s = el->share;
	if (!s)
		return;
	const tsr_within *within = tsr_elab_within(el);
	tsr_application *t = TSR_NEW(el->arena, tsr_application);
	*t = (tsr_application){.all = tsr_share_body(el, body), .instances = tsr_eval_instances(ev), .asked = &s->asked, .first = s->asked.n,
	                       .first_tensor = el->g->tensors.n};
	t->why = (tsr_why){.span = within ? within->site : body->span, .other = TSR_NOWHERE, .within = within, .what = "the arguments"};
	tsr_push(el->arena, &s->around, t);
	tsr_push(el->arena, &s->written, t);
}

/* The tensors in a value; false where it may lead to more. */
static bool tensors_in(tsr_elab *el, const tsr_value *v, tsr_application *t)
{
	switch (v->kind) {
	case TSR_VALUE_TENSOR:
		if (v->tensor.id != TSR_NONE)
			tsr_push(el->arena, &t->results, v->tensor.id);
		return true;
	case TSR_VALUE_TUPLE: case TSR_VALUE_LIST: case TSR_VALUE_OPTION:
		for (uint32_t i = 0; i < v->items.n; i++)
			if (!tensors_in(el, &v->items.at[i], t))
				return false;
		return true;
	case TSR_VALUE_UNIT: case TSR_VALUE_INT: case TSR_VALUE_FLOAT: case TSR_VALUE_BOOL: case TSR_VALUE_NUMBER: return true;
	case TSR_VALUE_POISON: case TSR_VALUE_LABEL: case TSR_VALUE_STRING: case TSR_VALUE_FUNCTION: case TSR_VALUE_CODE: case TSR_VALUE_UNKNOWN:
	case TSR_VALUE_ARGUMENT: return false;
	}
	return false;
}

void tsr_share_leave(tsr_eval *ev, tsr_value result)
{
	tsr_elab *el = tsr_elab_of(ev);
	tsr_share *s = el->share;
	if (!s)
		return;
	tsr_application *t = s->around.at[--s->around.n];
	t->last = s->asked.n;
	t->last_tensor = el->g->tensors.n;
	t->hidden = tensors_in(el, &result, t);
	if (!s->around.n)
		tsr_share_solve(el);
}

/* Sizes of the run belong to the place that asks for them. */
void tsr_share_spoil(tsr_elab *el)
{
	tsr_share *s = el->share;
	for (uint32_t i = 0; s && i < s->around.n; i++)
		s->around.at[i]->spoiled = true;
}

/* ---- parameters ----------------------------------------------------------------------------------------------------------------- */

uint32_t tsr_share_mint(tsr_elab *el, const tsr_instance *instance)
{
	tsr_share *s = el->share;
	uint32_t around = s ? s->minting : 0;
	if (s)
		tsr_push(el->arena, &s->mints, ((tsr_mint){instance, TSR_NONE}));
	if (s && !around)
		s->minting = s->mints.n;
	return around;
}

void tsr_share_minted(tsr_elab *el, uint32_t around, tsr_tensor_id id)
{
	tsr_share *s = el->share;
	if (!s)
		return;
	s->minting = around;
	uint32_t i = s->mints.n;
	while (s->mints.at[i - 1].tensor != TSR_NONE)
		i--;
	s->mints.at[i - 1].tensor = id;
}

const tsr_mint *tsr_mint_lasting(const tsr_elab *el, const tsr_application *t, const tsr_asked *e)
{
	const tsr_mint *m = e->mint ? &el->share->mints.at[e->mint - 1] : NULL;
	return m && m->instance->number <= t->instances ? m : NULL;
}

/* ---- what is asked for ------------------------------------------------------------------------------------------------------------ */

void tsr_elab_fresh(tsr_elab *el, tsr_tensor *t)
{
	if (!writes(el)) {
		t->shape = tsr_shape_fresh(el->g->store);
		return;
	}
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		t->shape.row[k] = (tsr_row){.var = TSR_ROW_PENDING};
	write(el, (tsr_asked){.kind = TSR_ASKED_FRESH, .tensor = t->id});
}

static void emit_leaf(tsr_elab *el, tsr_tensor *t, const char *called, const tsr_within *within)
{
	tsr_store_leaf(el->g->store, &t->shape, t->kind == TSR_TENSOR_PARAM ? TSR_LEAF_PARAM : TSR_LEAF_PLAIN, t->name, t->span);
	tsr_store_leaf_called(el->g->store, called, within);
}

void tsr_elab_leaf(tsr_elab *el, tsr_tensor *t, const char *called)
{
	const tsr_within *within = tsr_elab_within(el);
	if (!writes(el)) {
		emit_leaf(el, t, called, within);
		return;
	}
	tsr_asked e = {.kind = TSR_ASKED_LEAF, .tensor = t->id, .leaf = t->id, .param = t->kind == TSR_TENSOR_PARAM, .called = called,
	               .within = within, .shape = t->shape};
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		e.stated[k] = t->shape.row[k].var != TSR_ROW_PENDING;
	write(el, e);
}

void tsr_elab_alias(tsr_elab *el, tsr_tensor *t, const tsr_tensor *of)
{
	t->shape = of->shape;
	if (writes(el))
		tsr_push(el->arena, &el->share->aliases, ((tsr_alias){t->id, of->id}));
}

/* ---- rules ---- */

static void name_label(tsr_elab *el, tsr_rule *rule, tsr_name name, bool is_row, uint32_t *most)
{
	for (uint32_t i = 0; i < rule->nlabels; i++)
		if (rule->labels[i].name == name && rule->labels[i].is_row == is_row)
			return;
	if (!name)
		return;
	if (rule->nlabels == *most) {
		tsr_label *more = TSR_NEW_N(el->arena, tsr_label, *most = 2 * *most + 4);
		if (rule->nlabels)
			memcpy(more, rule->labels, rule->nlabels * sizeof *more);
		rule->labels = more;
	}
	rule->labels[rule->nlabels++] = (tsr_label){.name = name, .is_row = is_row};
}

/* The labels of the spec by name, what they stand for to be filled in; they stay where they are. */
static void name_labels(tsr_elab *el, tsr_rule *rule)
{
	const tsr_spec *spec = rule->spec;
	uint32_t most = 0;
	rule->nlabels = 0;
	for (uint32_t i = 0; i <= spec->noperands; i++)
		for (uint32_t k = 0; k < TSR_KINDS; k++) {
			const tsr_spec_row *r = &(i < spec->noperands ? &spec->operands[i] : &spec->result)->row[k];
			for (uint32_t j = 0; j < r->nlead + r->ntrail; j++) {
				const tsr_axis *a = j < r->nlead ? &r->lead[j] : &r->trail[j - r->nlead];
				bool parts = a->kind == TSR_AXIS_CONCAT || a->kind == TSR_AXIS_JOINT;
				if (a->kind == TSR_AXIS_LABEL || a->kind == TSR_AXIS_SYMBOL)
					name_label(el, rule, a->label, false, &most);
				if (a->kind == TSR_AXIS_AFFINE) {
					name_label(el, rule, a->affine.over.label, false, &most);
					name_label(el, rule, a->affine.kernel.label, false, &most);
				}
				for (uint32_t p = 0; parts && p < a->concat.n; p++)
					name_label(el, rule, a->concat.at[p].label, a->kind == TSR_AXIS_JOINT && a->concat.at[p].row, &most);
			}
			name_label(el, rule, r->var, true, &most);
		}
	for (uint32_t i = 0; i < rule->nlabels; i++)
		tsr_map_put(&el->share->label_at, tsr_key(&rule->labels[i]))->value.i = el->share->asked.n;
}

void tsr_labels_take(tsr_rule *rule, uint32_t n, const tsr_label *from)
{
	for (uint32_t i = 0; i < rule->nlabels; i++) {
		uint32_t j = 0;
		while (j < n && (from[j].name != rule->labels[i].name || from[j].is_row != rule->labels[i].is_row))
			j++;
		if (j == n)
			tsr_bug("label %s of a spec is none of its rule", rule->labels[i].name);
		rule->labels[i] = from[j];
	}
}

static tsr_shape *shapes_of_slots(tsr_elab *el, const tsr_record *r)
{
	tsr_shape *shapes = TSR_NEW_N(el->arena, tsr_shape, r->rule.noperands + 1);
	for (uint32_t i = 0; i < r->rule.noperands; i++)
		shapes[i] = tsr_elab_tensor(el, r->slots[1 + i])->shape;
	return shapes;
}

void tsr_elab_emit(tsr_elab *el, tsr_record *r)
{
	tsr_rule *rule = &r->rule;
	if (!writes(el)) {
		tsr_emit_rule(el->g->store, rule, &tsr_elab_tensor(el, r->slots[0])->shape, shapes_of_slots(el, r));
		return;
	}
	tsr_tensor_id *tensors = TSR_NEW_N(el->arena, tsr_tensor_id, rule->noperands + 1);
	for (uint32_t i = 0; i < rule->noperands; i++)
		tensors[i] = r->slots[1 + i];
	if (rule->logic == TSR_LOGIC_SPEC)
		name_labels(el, rule);
	write(el, (tsr_asked){.kind = TSR_ASKED_RULE, .tensor = r->slots[0], .n = rule->noperands, .tensors = tensors, .rule = rule});
}

static void emit_rule(tsr_elab *el, tsr_asked *e)
{
	tsr_label *named = e->rule->labels;
	uint32_t n = e->rule->nlabels;
	tsr_emit_rule(el->g->store, e->rule, &e->shape, e->shapes);
	if (e->rule->logic != TSR_LOGIC_SPEC)
		return;
	const tsr_label *made = e->rule->labels;
	uint32_t nmade = e->rule->nlabels;
	e->rule->labels = named;
	e->rule->nlabels = n;
	tsr_labels_take(e->rule, nmade, made);
}

/* ---- equalities, facts ---- */

void tsr_elab_equal(tsr_elab *el, tsr_tensor_id a, tsr_shape_of b, tsr_why why)
{
	if (!writes(el)) {
		for (int k = 0; k < TSR_KINDS; k++)
			tsr_emit_row_equal(el->g->store, tsr_elab_tensor(el, a)->shape.row[k], b.shape.row[k], why);
		return;
	}
	tsr_shape_of *right = TSR_NEW(el->arena, tsr_shape_of);
	tsr_why *kept = TSR_NEW(el->arena, tsr_why);
	*right = b;
	*kept = why;
	write(el, (tsr_asked){.kind = TSR_ASKED_EQUAL, .tensor = a, .n = 1, .shapes = &right->shape, .tensors = &right->tensor, .why = kept});
}

static void emit_fact(tsr_store *s, tsr_share_fact fact, const tsr_label *a, const tsr_label *b, int64_t number, tsr_why why)
{
	switch (fact) {
	case TSR_SHARE_SET: tsr_emit_set_label(s, a, tsr_size_const(number), why); return;
	case TSR_SHARE_SAME: tsr_emit_equal_labels(s, a, b, why); return;
	case TSR_SHARE_SCALE:
		tsr_emit_dim_equal(s, a->dim, tsr_dim_affine(s, (tsr_affine){.stride = number, .dilation = 1, .over = b->dim}), why);
		return;
	}
}

void tsr_elab_relate(tsr_elab *el, tsr_share_fact fact, const tsr_label *a, const tsr_label *b, int64_t number, tsr_why why)
{
	if (!writes(el)) {
		emit_fact(el->g->store, fact, a, b, number, why);
		return;
	}
	tsr_why *kept = TSR_NEW(el->arena, tsr_why);
	*kept = why;
	write(el, (tsr_asked){.kind = TSR_ASKED_LABEL, .fact = fact, .at_a = a, .at_b = b, .number = number, .tensor = TSR_NONE, .why = kept});
}

/* ---- emitted later ---------------------------------------------------------------------------------------------------------------- */

void tsr_asked_shapes(tsr_elab *el, tsr_asked *e)
{
	tsr_shape *shapes = TSR_NEW_N(el->arena, tsr_shape, e->n + 1);
	for (uint32_t i = 0; i < e->n; i++)
		shapes[i] = e->tensors[i] == TSR_NONE ? e->shapes[i] : tsr_tensor_get(el->g, e->tensors[i])->shape;
	e->shape = tsr_tensor_get(el->g, e->tensor)->shape;
	e->shapes = shapes;
}

void tsr_asked_emit(tsr_elab *el, tsr_asked *e)
{
	tsr_store *s = el->g->store;
	tsr_tensor *t = e->tensor == TSR_NONE ? NULL : tsr_tensor_get(el->g, e->tensor);
	e->from = tsr_store_emission(s);
	switch (e->kind) {
	case TSR_ASKED_FRESH:
		e->shape = tsr_shape_fresh(s);
		for (uint32_t k = 0; k < TSR_KINDS; k++)
			if (t->shape.row[k].var == TSR_ROW_PENDING)
				t->shape.row[k] = e->shape.row[k];
		return;
	case TSR_ASKED_LEAF:
		emit_leaf(el, t, e->called, e->within);
		e->shape = t->shape;
		return;
	case TSR_ASKED_RULE:
		tsr_asked_shapes(el, e);
		emit_rule(el, e);
		return;
	case TSR_ASKED_EQUAL:
		tsr_asked_shapes(el, e);
		for (int k = 0; k < TSR_KINDS; k++)
			tsr_emit_row_equal(s, e->shape.row[k], e->shapes[0].row[k], *e->why);
		return;
	case TSR_ASKED_LABEL:
		e->a = *e->at_a;
		if (e->at_b)
			e->b = *e->at_b;
		emit_fact(s, e->fact, e->at_a, e->at_b, e->number, *e->why);
		return;
	}
}
