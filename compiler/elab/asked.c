/* What elaboration asks of the store: fresh shapes, leaves, rules, equalities and facts about labels.  From the first application on it is
 * written down, and emitted when the program is complete, or when a definition that is checked mentions something of which it must be known:
 * by then it is known all that the applications ask for, and so which of them are like one another (share.c).  Nothing is lost by waiting:
 * evaluation looks at no shapes, the order stays, and labels are there by name. */
#include "share.h"
#include <string.h>

static bool writes(const tsr_elab *el)
{
	const tsr_share *s = el->share;
	return s && (s->around.n || s->emitted < s->asked.n);
}

/* The tensor whose shape it has, known or not. */
static tsr_tensor_id original(const tsr_elab *el, tsr_tensor_id id)
{
	tsr_map_entry *e = tsr_map_find(&el->share->alias_of, id);
	return e ? (tsr_tensor_id)e->value.i : id;
}

static tsr_asked *write(tsr_elab *el, tsr_asked e)
{
	tsr_share *s = el->share;
	tsr_push(el->arena, &s->asked, e);
	return &s->asked.at[s->asked.n - 1];
}

/* ---- applications --------------------------------------------------------------------------------------------------------------- */

void tsr_share_enter(tsr_eval *ev, const tsr_ast *body)
{
	tsr_elab *el = tsr_elab_of(ev);
	tsr_share *s = el->share;
	if (!s) {
		tsr_store_enter(el->g->store);
		return;
	}
	const tsr_within *within = tsr_elab_within(el);
	tsr_application *t = TSR_NEW(el->arena, tsr_application);
	*t = (tsr_application){.all = tsr_share_body(el, body), .asked = &s->asked, .first = s->asked.n,
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
			tsr_push(el->arena, &t->results, original(el, v->tensor.id));
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
	if (!s) {
		tsr_store_leave(el->g->store);
		return;
	}
	tsr_application *t = s->around.at[--s->around.n];
	t->last = s->asked.n;
	t->last_tensor = el->g->tensors.n;
	t->hidden = tensors_in(el, &result, t);
}

/* Sizes of the run belong to the place that asks for them. */
void tsr_share_spoil(tsr_elab *el)
{
	tsr_share *s = el->share;
	for (uint32_t i = 0; s && i < s->around.n; i++)
		s->around.at[i]->spoiled = true;
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
	               .within = within, .written = t->shape};
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		e.stated[k] = t->shape.row[k].var != TSR_ROW_PENDING;
	e.shape = e.written;
	write(el, e);
}

void tsr_elab_alias(tsr_elab *el, tsr_tensor *t, const tsr_tensor *of)
{
	t->shape = of->shape;
	if (writes(el))
		tsr_map_put(&el->share->alias_of, t->id)->value.i = original(el, of->id);
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
		tensors[i] = original(el, r->slots[1 + i]);
	if (rule->logic == TSR_LOGIC_SPEC)
		name_labels(el, rule);
	write(el, (tsr_asked){.kind = TSR_ASKED_RULE, .tensor = original(el, r->slots[0]), .n = rule->noperands, .tensors = tensors, .rule = rule});
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
	tsr_tensor_id *right = TSR_NEW(el->arena, tsr_tensor_id);
	tsr_why *kept = TSR_NEW(el->arena, tsr_why);
	*right = b.tensor == TSR_NONE ? b.tensor : original(el, b.tensor);
	*kept = why;
	write(el, (tsr_asked){.kind = TSR_ASKED_EQUAL, .tensor = original(el, a), .n = 1, .written = b.shape, .tensors = right, .why = kept});
}

/* A size that is set is `size`, where that is left open, or the number. */
static void emit_fact(tsr_store *s, tsr_share_fact fact, const tsr_label *a, const tsr_label *b, int64_t number, tsr_dim size, tsr_why why)
{
	switch (fact) {
	case TSR_SHARE_SET:
		if (size.kind == TSR_DIM_VAR)
			tsr_emit_equal_labels(s, a, &(tsr_label){.dim = size}, why);
		else
			tsr_emit_set_label(s, a, tsr_size_const(number), why);
		return;
	case TSR_SHARE_SAME: tsr_emit_equal_labels(s, a, b, why); return;
	case TSR_SHARE_SCALE:
		tsr_emit_dim_equal(s, a->dim, tsr_dim_affine(s, (tsr_affine){.stride = number, .dilation = 1, .over = b->dim}), why);
		return;
	}
}

void tsr_elab_relate(tsr_elab *el, tsr_share_fact fact, const tsr_label *a, const tsr_label *b, int64_t number, tsr_why why)
{
	if (!writes(el)) {
		emit_fact(el->g->store, fact, a, b, number, tsr_dim_unit(), why);
		return;
	}
	tsr_why *kept = TSR_NEW(el->arena, tsr_why);
	*kept = why;
	write(el, (tsr_asked){.kind = TSR_ASKED_LABEL, .fact = fact, .at_a = a, .at_b = b, .number = number, .tensor = TSR_NONE, .why = kept,
	                      .size = tsr_dim_atom(number, NULL)});
}

tsr_label tsr_label_now(const tsr_elab *el, const tsr_label *l)
{
	const tsr_inside *inside = el->share->inside;
	tsr_map_entry *e = inside ? tsr_map_find(&inside->labels, tsr_key(l)) : NULL;
	return e ? *(tsr_label *)e->value.p : *l;
}

tsr_shape tsr_label_shape(tsr_elab *el, const tsr_label *l)
{
	tsr_label now = tsr_label_now(el, l);
	tsr_shape shape;
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		shape.row[k] = tsr_row_closed(el->g->store, 0, NULL);
	shape.row[TSR_OUTPUT] = now.is_row ? now.row : tsr_row_closed(el->g->store, 1, &now.dim);
	return shape;
}

/* ---- emitted later ---------------------------------------------------------------------------------------------------------------- */

/* An annotation. Its unknown axes are its own, and a scheme has its own for them. */
static tsr_shape annotation(tsr_elab *el, tsr_shape shape)
{
	tsr_share *s = el->share;
	for (uint32_t k = 0; k < TSR_KINDS && s->inside; k++) {
		tsr_row r = tsr_row_closed(el->g->store, shape.row[k].ntrail, shape.row[k].trail);
		for (uint32_t i = 0; i < r.ntrail; i++) {
			tsr_map_entry *e = r.trail[i].kind == TSR_DIM_VAR ? tsr_map_put(&s->inside->axes, r.trail[i].var) : NULL;
			if (e && !e->value.i)
				e->value.i = 1 + (int64_t)tsr_dim_fresh(el->g->store, NULL, TSR_NOWHERE).var;
			r.trail[i].from = 0;
			if (e)
				r.trail[i].var = (uint32_t)(e->value.i - 1);
		}
		shape.row[k] = r;
	}
	return shape;
}

void tsr_asked_shapes(tsr_elab *el, tsr_asked *e)
{
	tsr_shape *shapes = TSR_NEW_N(el->arena, tsr_shape, e->n + 1);
	for (uint32_t i = 0; i < e->n; i++)
		shapes[i] = e->tensors[i] == TSR_NONE ? annotation(el, e->written) : tsr_tensor_get(el->g, e->tensors[i])->shape;
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
		for (uint32_t k = 0; k < TSR_KINDS; k++)
			if (e->stated[k])
				t->shape.row[k] = e->shape.row[k];
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
		e->a = tsr_label_now(el, e->at_a);
		if (e->at_b)
			e->b = tsr_label_now(el, e->at_b);
		emit_fact(s, e->fact, &e->a, &e->b, e->number, e->size, *e->why);
		return;
	}
}
