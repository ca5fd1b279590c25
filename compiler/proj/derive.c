/* Reads a record's rule again, for this record alone: which axes of its slots are one axis (section 5 of the inference
 * paper, first stratum).  Shapes are closed here, so every row variable's length is known and matching is direct.
 *
 * Equality makes two axes one class.  An inequality whose operand axis is the claim-free unit pins the operand to 0 and
 * leaves the other alone; any other inequality makes one class.  Rows of an inequality align by the operand's marker. */
#include "space.h"
#include "../base/map.h"

typedef struct label_row { uint32_t n, *nodes; } label_row;

typedef struct deriver {
	tsr_space *s;
	uint32_t **rows;                 /* [slot * TSR_KINDS + kind] -> nodes of the row */
	tsr_map labels, row_vars;
	TSR_VEC(struct later { tsr_derived *to; const tsr_axis *axis; }) joints;         /* whose rows may be matched later */
} deriver;

static uint32_t node_new(tsr_space *s)
{
	uint32_t node = tsr_forest_add(s->forest);
	tsr_push(s->arena, &s->nodes, ((tsr_node){0}));
	return node;
}

static const tsr_solved_row *row_of(const deriver *d, uint32_t slot, tsr_kind kind)
{
	return &tsr_tensor_get(d->s->g, d->s->record->slots[slot])->solved.row[kind];
}

static uint32_t *nodes_of(const deriver *d, uint32_t slot, tsr_kind kind)
{
	return d->rows[slot * TSR_KINDS + kind];
}

static void make_slot(deriver *d, uint32_t slot)
{
	tsr_space *s = d->s;
	tsr_slot_axes *axes = &s->slots[slot];
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		axes->n += row_of(d, slot, (tsr_kind)k)->n;
	axes->nodes = TSR_NEW_N(s->arena, uint32_t, axes->n + 1);
	axes->sizes = TSR_NEW_N(s->arena, tsr_size, axes->n + 1);
	uint32_t at = 0;
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		tsr_kind kind = tsr_memory_order[k];
		const tsr_solved_row *row = row_of(d, slot, kind);
		d->rows[slot * TSR_KINDS + kind] = axes->nodes + at;
		for (uint32_t i = 0; i < row->n; i++, at++) {
			uint32_t node = node_new(s);
			s->nodes.at[node].sized = true;
			s->nodes.at[node].size = row->axes[i].size;
			axes->nodes[at] = node;
			axes->sizes[at] = row->axes[i].size;
		}
	}
}

/* Sizes that differ can only be a run-time size and what the program checks it against: the number is kept. */
static void unite(tsr_space *s, uint32_t a, uint32_t b)
{
	tsr_node x = *tsr_space_class(s, a), y = *tsr_space_class(s, b);
	if (!tsr_forest_union(s->forest, a, b, 0))
		return;
	if (x.sized && y.sized && tsr_size_is_const(x.size) && tsr_size_is_const(y.size) && x.size.k != y.size.k)
		tsr_bug("axes of %lld and %lld are one axis", (long long)x.size.k, (long long)y.size.k);
	if (x.pinned && y.pinned && x.pin != y.pin)
		tsr_bug("an axis pinned to %lld and %lld", (long long)x.pin, (long long)y.pin);
	if (y.sized && (!x.sized || tsr_size_is_const(y.size))) {
		x.sized = true;
		x.size = y.size;
	}
	if (y.pinned) {
		x.pinned = true;
		x.pin = y.pin;
	}
	x.label = x.label ? x.label : y.label;
	x.derived = x.derived ? x.derived : y.derived;
	*tsr_space_class(s, a) = x;
}

static void pin(tsr_space *s, uint32_t node, int64_t position)
{
	tsr_node *c = tsr_space_class(s, node);
	if (c->pinned && c->pin != position)
		tsr_bug("an axis pinned to %lld and %lld", (long long)c->pin, (long long)position);
	c->pinned = true;
	c->pin = position;
}

/* result row <= operand row */
static void row_below(deriver *d, uint32_t result, tsr_kind result_kind, uint32_t operand, tsr_kind operand_kind)
{
	const tsr_solved_row *res = row_of(d, result, result_kind), *op = row_of(d, operand, operand_kind);
	uint32_t *res_nodes = nodes_of(d, result, result_kind), *op_nodes = nodes_of(d, operand, operand_kind);
	if (op->n > res->n)
		tsr_bug("an operand of rank %u above a result of rank %u", op->n, res->n);
	for (uint32_t i = 0; i < op->n; i++) {
		if (op->axes[i].unit)
			pin(d->s, op_nodes[i], 0);
		else
			unite(d->s, res_nodes[i < op->marker && !TSR_PLANTED(14) ? i : i + res->n - op->n], op_nodes[i]);   /* rank grows at the front */
	}
}

static void pointwise(deriver *d, uint32_t operand)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		row_below(d, 0, (tsr_kind)k, operand, (tsr_kind)k);
}

static void compose(deriver *d)
{
	row_below(d, 1, TSR_INPUT, 2, TSR_OUTPUT);
	row_below(d, 0, TSR_BATCH, 1, TSR_BATCH);
	row_below(d, 0, TSR_BATCH, 2, TSR_BATCH);
	row_below(d, 0, TSR_INPUT, 2, TSR_INPUT);
	row_below(d, 0, TSR_OUTPUT, 1, TSR_OUTPUT);
}

/* The leftmost batch axis of slot 1, else its only input axis, is the axis of slot 3; the result has the axes of slot 2, then
 * those of slot 1 that are left, kind by kind. */
static void gather(deriver *d)
{
	tsr_kind along = row_of(d, 1, TSR_BATCH)->n ? TSR_BATCH : TSR_INPUT;
	bool one = d->s->record->rule.logic == TSR_LOGIC_GATHER_ONE;
	unite(d->s, nodes_of(d, 3, TSR_OUTPUT)[0], nodes_of(d, 1, along)[0]);
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		uint32_t *res = nodes_of(d, 0, (tsr_kind)k), *ids = nodes_of(d, 2, (tsr_kind)k), *table = nodes_of(d, 1, (tsr_kind)k);
		uint32_t n = one ? 0 : row_of(d, 2, (tsr_kind)k)->n, skip = k == along;
		if (row_of(d, 0, (tsr_kind)k)->n + skip != n + row_of(d, 1, (tsr_kind)k)->n)
			tsr_bug("a lookup whose result has %u axes of a kind", row_of(d, 0, (tsr_kind)k)->n);
		for (uint32_t i = 0; i < row_of(d, 0, (tsr_kind)k)->n; i++)
			unite(d->s, res[i], i < n ? ids[i] : table[i - n + skip]);
	}
}

/* ---- specs --------------------------------------------------------------------------------------------------------- */

/* A label that stands on no plain axis takes its size from inference; unite() overrides nothing, as sizes agree. */
static uint32_t label_node(deriver *d, tsr_name label)
{
	tsr_map_entry *e = tsr_map_find(&d->labels, tsr_key(label));
	if (e)
		return (uint32_t)e->value.i;
	tsr_space *s = d->s;
	uint32_t node = node_new(s);
	tsr_map_put(&d->labels, tsr_key(label))->value.i = node;
	s->nodes.at[node].label = label;
	const tsr_rule *rule = &s->record->rule;
	for (uint32_t i = 0; i < rule->nlabels; i++) {
		const tsr_label *l = &rule->labels[i];
		tsr_solved_axis axis;
		if (l->is_row || l->name != label)
			continue;
		if (l->dim.kind == TSR_DIM_ATOM)
			axis.size = l->dim.atom.size;
		else if (!s->g->store || !tsr_store_dim(s->g->store, l->dim, &axis))
			continue;
		s->nodes.at[node].sized = true;
		s->nodes.at[node].size = axis.size;
	}
	return node;
}

static tsr_number_id number_named(const tsr_space *s, tsr_name name)
{
	for (uint32_t i = 0; i < s->record->nnumbers; i++)
		if (s->record->numbers[i].name == name)
			return s->record->numbers[i].number;
	tsr_bug("a spec mentions the runtime number %s, which its record lacks", name);
}

static const tsr_derived *affine(deriver *d, const tsr_axis *axis)
{
	tsr_derived *x = TSR_NEW(d->s->arena, tsr_derived);
	x->kind = TSR_DERIVED_AFFINE;
	x->span = axis->span;
	x->affine.stride = axis->affine.over.coef;
	x->affine.dilation = axis->affine.kernel.coef;
	x->affine.offset = axis->affine.offset;
	x->affine.pad = axis->affine.pad;
	x->affine.over = axis->affine.over.label ? label_node(d, axis->affine.over.label) : TSR_NO_NODE;
	x->affine.kernel = axis->affine.kernel.label ? label_node(d, axis->affine.kernel.label) : TSR_NO_NODE;
	x->affine.number = TSR_NONE;
	if (axis->affine.runtime.label) {
		x->affine.number = number_named(d->s, axis->affine.runtime.label);
		x->affine.number_coef = axis->affine.runtime.coef;
	}
	return x;
}

static const tsr_derived *concat(deriver *d, const tsr_axis *axis)
{
	tsr_derived *x = TSR_NEW(d->s->arena, tsr_derived);
	x->kind = TSR_DERIVED_CONCAT;
	x->span = axis->span;
	x->concat.n = axis->concat.n;
	x->concat.at = TSR_NEW_N(d->s->arena, uint32_t, axis->concat.n + 1);
	for (uint32_t i = 0; i < axis->concat.n; i++) {
		const tsr_component *c = &axis->concat.at[i];
		if (c->label) {
			x->concat.at[i] = label_node(d, c->label);
			continue;
		}
		uint32_t node = x->concat.at[i] = node_new(d->s);
		d->s->nodes.at[node].sized = true;
		d->s->nodes.at[node].size = tsr_size_const(c->size);
	}
	return x;
}

static const tsr_derived *joint(deriver *d, const tsr_axis *axis)
{
	tsr_derived *x = TSR_NEW(d->s->arena, tsr_derived);
	x->kind = TSR_DERIVED_JOINT;
	x->span = axis->span;
	tsr_push(d->s->arena, &d->joints, ((struct later){x, axis}));
	return x;
}

static void match_axis(deriver *d, const tsr_axis *axis, uint32_t node)
{
	const tsr_derived *derived = NULL;
	switch (axis->kind) {
	case TSR_AXIS_LABEL: case TSR_AXIS_SYMBOL:
		unite(d->s, label_node(d, axis->label), node);
		return;
	case TSR_AXIS_WILD:
		return;
	case TSR_AXIS_FIXED:
		pin(d->s, node, axis->size);
		return;
	case TSR_AXIS_AFFINE:
		derived = affine(d, axis);
		break;
	case TSR_AXIS_CONCAT:
		derived = concat(d, axis);
		break;
	case TSR_AXIS_JOINT:
		derived = joint(d, axis);
		break;
	}
	tsr_space_class(d->s, node)->derived = derived;
}

/* The axes that a row variable stands for: the first row that mentions it makes them, later ones unite with them. */
static void match_row_var(deriver *d, tsr_name var, uint32_t n, const uint32_t *nodes)
{
	tsr_map_entry *e = tsr_map_find(&d->row_vars, tsr_key(var));
	if (!e) {
		label_row *row = TSR_NEW(d->s->arena, label_row);
		row->n = n;
		row->nodes = TSR_NEW_N(d->s->arena, uint32_t, n + 1);
		for (uint32_t i = 0; i < n; i++)
			row->nodes[i] = nodes[i];
		tsr_map_put(&d->row_vars, tsr_key(var))->value.p = row;
		return;
	}
	const label_row *row = e->value.p;
	if (row->n != n)
		tsr_bug("the row variable %s stands for %u and for %u axes", var, row->n, n);
	for (uint32_t i = 0; i < n; i++)
		unite(d->s, row->nodes[i], nodes[i]);
}

static void match_row(deriver *d, const tsr_spec_row *template, uint32_t slot, tsr_kind kind)
{
	uint32_t n = row_of(d, slot, kind)->n, fixed = template->nlead + template->ntrail;
	const uint32_t *nodes = nodes_of(d, slot, kind);
	if (n < fixed || (n > fixed && !template->var))
		tsr_bug("a row of %u axes does not fit its spec \"%s\"", n, d->s->record->rule.spec->text);
	for (uint32_t i = 0; i < template->nlead; i++)
		match_axis(d, &template->lead[i], nodes[i]);
	if (template->var)
		match_row_var(d, template->var, n - fixed, nodes + template->nlead);
	for (uint32_t i = 0; i < template->ntrail; i++)
		match_axis(d, &template->trail[i], nodes[n - template->ntrail + i]);
}

/* The nodes of a joint axis's parts, when every row has been matched. */
static void join_parts(deriver *d, tsr_derived *x, const tsr_axis *axis)
{
	TSR_VEC(uint32_t) parts = {0};
	for (uint32_t i = 0; i < axis->concat.n; i++) {
		const tsr_component *c = &axis->concat.at[i];
		tsr_map_entry *row = c->row ? tsr_map_find(&d->row_vars, tsr_key(c->label)) : NULL;
		if (c->row && !row)
			tsr_bug("the row `%s` of a joint axis stands nowhere", c->label);
		const label_row *r = row ? row->value.p : NULL;
		if (!r)
			tsr_push(d->s->arena, &parts, label_node(d, c->label));
		for (uint32_t j = 0; r && j < r->n; j++)
			tsr_push(d->s->arena, &parts, r->nodes[j]);
	}
	x->concat.n = parts.n;
	x->concat.at = parts.at;
}

static void match_spec(deriver *d, const tsr_spec *spec)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		match_row(d, &spec->result.row[k], 0, (tsr_kind)k);
	for (uint32_t i = 0; i < spec->noperands; i++)
		for (uint32_t k = 0; k < TSR_KINDS; k++)
			match_row(d, &spec->operands[i].row[k], i + 1, (tsr_kind)k);
	for (uint32_t i = 0; i < d->joints.n; i++)
		join_parts(d, d->joints.at[i].to, d->joints.at[i].axis);
}

tsr_space *tsr_space_derive(tsr_graph *g, const tsr_record *record)
{
	const tsr_rule *rule = &record->rule;
	tsr_arena *a = g->tc->arena;
	tsr_space *s = TSR_NEW(a, tsr_space);
	*s = (tsr_space){.g = g, .record = record, .arena = a, .forest = tsr_forest_new(a), .nslots = rule->noperands + 1};
	s->slots = TSR_NEW_N(a, tsr_slot_axes, s->nslots);
	deriver d = {.s = s, .rows = TSR_NEW_N(a, uint32_t *, s->nslots * TSR_KINDS)};
	tsr_map_init(&d.labels, a);
	tsr_map_init(&d.row_vars, a);
	for (uint32_t i = 0; i < s->nslots; i++) {
		if (tsr_tensor_get(g, record->slots[i])->poison)
			return NULL;
		make_slot(&d, i);
	}
	switch (rule->logic) {
	case TSR_LOGIC_POINTWISE:
		for (uint32_t i = 1; i < s->nslots; i++)
			pointwise(&d, i);
		break;
	case TSR_LOGIC_COMPOSE: case TSR_LOGIC_COMPOSE_ACC:
		compose(&d);
		if (rule->logic == TSR_LOGIC_COMPOSE_ACC)
			pointwise(&d, 3);
		break;
	case TSR_LOGIC_TRANSPOSE:
		row_below(&d, 0, TSR_BATCH, 1, TSR_BATCH);
		row_below(&d, 0, TSR_INPUT, 1, TSR_OUTPUT);
		row_below(&d, 0, TSR_OUTPUT, 1, TSR_INPUT);
		break;
	case TSR_LOGIC_GATHER: case TSR_LOGIC_GATHER_ONE:
		gather(&d);
		break;
	case TSR_LOGIC_SPEC:
		match_spec(&d, rule->spec);
		break;
	}
	return s;
}
