/* Section 3: from an operation to its constraints, one function per line of the table; and the plain constraints.
 *
 * Each emitted atom that does not yet know its place is stamped with the constraint that states it, so that an
 * explanation can point at the literal, the file or the declaration that a size came from. */
#include "store.h"

/* ---- plain constraints ------------------------------------------------------------------------------------------- */

static tsr_dim stated(tsr_store *s, tsr_dim d, const tsr_cstr *c)
{
	d = tsr_store_term(s, d, c, c->why);
	if (d.from == 0 && d.kind != TSR_DIM_VAR)
		d.from = c->id + 1;
	return d;
}

static tsr_row stated_row(tsr_store *s, tsr_row r, const tsr_cstr *c)
{
	r = tsr_row_copy(s, r);
	for (uint32_t i = 0; i < r.nlead; i++)
		r.lead[i] = stated(s, r.lead[i], c);
	for (uint32_t i = 0; i < r.ntrail; i++)
		r.trail[i] = stated(s, r.trail[i], c);
	return r;
}

static tsr_cstr *emit(tsr_store *s, tsr_cstr_kind kind, const tsr_why *why)
{
	tsr_cstr *c = tsr_cstr_new(s, kind, NULL, why);
	tsr_push(s->arena, &s->emitted, c->id);
	return c;
}

static void emit_dims(tsr_store *s, tsr_cstr_kind kind, tsr_dim a, tsr_dim b, const tsr_why *why)
{
	tsr_cstr *c = emit(s, kind, why);
	c->dim.a = stated(s, a, c);
	c->dim.b = stated(s, b, c);
	tsr_solve(s);
}

void tsr_emit_dim_equal(tsr_store *s, tsr_dim a, tsr_dim b, tsr_why why)
{
	emit_dims(s, TSR_C_DIM_EQUAL, a, b, &why);
}

/* An inequality that is written with an affine or concatenated term is an equality, unless the concatenation is the
 * operand and may vanish to one component: then the variable that stands for it decides (solve_dim.c). */
void tsr_emit_dim_below(tsr_store *s, tsr_dim result, tsr_dim operand, tsr_why why)
{
	bool equal = result.kind == TSR_DIM_AFFINE || operand.kind == TSR_DIM_AFFINE;
	if (result.kind == TSR_DIM_CONCAT)
		for (uint32_t i = 0; i < result.concat.n; i++)
			equal |= result.concat.at[i].kind != TSR_DIM_ATOM;
	emit_dims(s, equal ? TSR_C_DIM_EQUAL : TSR_C_DIM_BELOW, result, operand, &why);
}

static void emit_rows(tsr_store *s, tsr_cstr_kind kind, tsr_row a, tsr_row b, const tsr_why *why)
{
	tsr_cstr *c = emit(s, kind, why);
	a = stated_row(s, a, c);
	tsr_cstr_rows(s, c, a, stated_row(s, b, c));
}

void tsr_emit_row_equal(tsr_store *s, tsr_row a, tsr_row b, tsr_why why)
{
	emit_rows(s, TSR_C_ROW_EQUAL, a, b, &why);
	tsr_solve(s);
}

void tsr_emit_row_below(tsr_store *s, tsr_row result, tsr_row operand, tsr_why why)
{
	emit_rows(s, TSR_C_ROW_BELOW, result, operand, &why);
	tsr_solve(s);
}

void tsr_emit_at_least(tsr_store *s, tsr_dim d, int64_t n, tsr_why why)
{
	tsr_cstr *c = emit(s, TSR_C_AT_LEAST, &why);
	c->at_least.d = stated(s, d, c);
	c->at_least.n = n;
	tsr_solve(s);
}

static tsr_cstr *emit_total(tsr_store *s, uint32_t n, const tsr_row *rows, const tsr_why *why)
{
	tsr_cstr *c = emit(s, TSR_C_TOTAL, why);
	c->total.n = n;
	c->total.rows = TSR_NEW_N(s->arena, tsr_row, n + 1);
	for (uint32_t i = 0; i < n; i++)
		c->total.rows[i] = stated_row(s, rows[i], c);
	return c;
}

void tsr_emit_total(tsr_store *s, uint32_t n, const tsr_row *rows, tsr_size size, tsr_why why)
{
	emit_total(s, n, rows, &why)->total.size = size;
	tsr_solve(s);
}

void tsr_emit_total_of(tsr_store *s, uint32_t n, const tsr_row *rows, int64_t coef, tsr_dim d, tsr_why why)
{
	tsr_cstr *c = emit_total(s, n, rows, &why);
	c->total.has_dim = true;
	c->total.coef = coef;
	c->total.d = stated(s, d, c);
	tsr_solve(s);
}

tsr_dim tsr_dim_affine(tsr_store *s, tsr_affine term)
{
	tsr_affine *t = TSR_NEW(s->arena, tsr_affine);
	*t = term;
	return (tsr_dim){.kind = TSR_DIM_AFFINE, .affine = t};
}

tsr_dim tsr_dim_concat(tsr_store *s, uint32_t n, const tsr_dim *at)
{
	tsr_dim *copy = TSR_NEW_N(s->arena, tsr_dim, n + 1);
	for (uint32_t i = 0; i < n; i++)
		copy[i] = at[i];
	return (tsr_dim){.kind = TSR_DIM_CONCAT, .concat = {n, copy}};
}

void tsr_dim_discardable(tsr_store *s, tsr_dim component)
{
	if (tsr_dim_is_var(component))
		s->dims.at[component.var].discardable = true;        /* as it was emitted, for trials */
	component = tsr_dim_find(s, component);
	if (tsr_dim_is_var(component))
		s->dims.at[component.var].discardable = true;
}

/* ---- the table: pointwise, compose, transpose --------------------------------------------------------------------- */

static void below(tsr_store *s, const tsr_rule *rule, const tsr_shape *res, tsr_kind kr, const tsr_shape *op, tsr_kind ko, int operand)
{
	s->operand = operand;
	s->kind_a = kr;
	s->kind_b = ko;
	emit_rows(s, TSR_C_ROW_BELOW, res->row[kr], op->row[ko], &rule->why);
	s->operand = -1;
	s->kind_a = s->kind_b = TSR_KINDS;
}

static void rule_pointwise(tsr_store *s, const tsr_rule *rule, const tsr_shape *c, const tsr_shape *x, int operand)
{
	below(s, rule, c, TSR_BATCH, x, TSR_BATCH, operand);
	below(s, rule, c, TSR_INPUT, x, TSR_INPUT, operand);
	below(s, rule, c, TSR_OUTPUT, x, TSR_OUTPUT, operand);
}

/* A row that takes part in a composition or a spec is not "used only pointwise" (closing, step 3). */
static void mark_in_spec(tsr_store *s, tsr_row r)
{
	bool poison = false;
	if (tsr_row_open(r))
		s->rows.at[r.var].in_spec = true;                    /* as it was emitted, for trials */
	r = tsr_row_find(s, r, &poison);
	if (tsr_row_open(r))
		s->rows.at[r.var].in_spec = true;
}

static void rule_compose(tsr_store *s, const tsr_rule *rule, const tsr_shape *c, const tsr_shape *ab)
{
	const tsr_shape *a = &ab[0], *b = &ab[1];
	mark_in_spec(s, a->row[TSR_INPUT]);
	mark_in_spec(s, b->row[TSR_OUTPUT]);
	below(s, rule, a, TSR_INPUT, b, TSR_OUTPUT, 1);
	below(s, rule, c, TSR_BATCH, a, TSR_BATCH, 0);
	below(s, rule, c, TSR_BATCH, b, TSR_BATCH, 1);
	below(s, rule, c, TSR_INPUT, b, TSR_INPUT, 1);
	below(s, rule, c, TSR_OUTPUT, a, TSR_OUTPUT, 0);
}

static void rule_transpose(tsr_store *s, const tsr_rule *rule, const tsr_shape *c, const tsr_shape *a)
{
	below(s, rule, c, TSR_BATCH, a, TSR_BATCH, 0);
	below(s, rule, c, TSR_INPUT, a, TSR_OUTPUT, 0);
	below(s, rule, c, TSR_OUTPUT, a, TSR_INPUT, 0);
}

/* ---- the table: lookups --------------------------------------------------------------------------------------------- */

static void join(tsr_store *s, const tsr_rule *rule, tsr_kind kind, tsr_row whole, tsr_row front, tsr_row back)
{
	s->kind_a = s->kind_b = kind;
	tsr_cstr *c = emit(s, TSR_C_JOIN, &rule->why);
	c->join.whole = stated_row(s, whole, c);
	c->join.front = stated_row(s, front, c);
	c->join.back = stated_row(s, back, c);
	s->kind_a = s->kind_b = TSR_KINDS;
}

/* The result has the axes of the positions b in place of the axis of a that is looked up, kind by kind; c has that axis alone.
 * A position that is a number has no axes, though as a tensor it would be one claim-free axis. */
static void rule_gather(tsr_store *s, const tsr_rule *rule, const tsr_shape *result, const tsr_shape *abc)
{
	const tsr_shape *a = &abc[0], *b = &abc[1], *c = &abc[2];
	tsr_dim axis = tsr_dim_fresh(s, NULL, rule->why.span);
	tsr_row rest_batch = tsr_row_fresh(s), rest_input = tsr_row_fresh(s), none = tsr_row_empty();
	bool one = rule->logic == TSR_LOGIC_GATHER_ONE;
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		mark_in_spec(s, a->row[k]);
		mark_in_spec(s, b->row[k]);
		s->operand = 2;
		s->kind_a = s->kind_b = (tsr_kind)k;
		emit_rows(s, TSR_C_ROW_EQUAL, k == TSR_OUTPUT ? tsr_row_closed(s, 1, &axis) : tsr_row_empty(), c->row[k], &rule->why);
	}
	s->operand = 0;
	s->kind_a = s->kind_b = TSR_KINDS;
	tsr_cstr *lookup = emit(s, TSR_C_LOOKUP, &rule->why);
	lookup->lookup.batch = stated_row(s, a->row[TSR_BATCH], lookup);
	lookup->lookup.input = stated_row(s, a->row[TSR_INPUT], lookup);
	lookup->lookup.rest_batch = rest_batch;
	lookup->lookup.rest_input = rest_input;
	lookup->lookup.d = axis;
	s->operand = -1;
	if (rule->least)
		tsr_emit_at_least(s, axis, rule->least, rule->why);
	join(s, rule, TSR_BATCH, result->row[TSR_BATCH], one ? none : b->row[TSR_BATCH], rest_batch);
	join(s, rule, TSR_INPUT, result->row[TSR_INPUT], one ? none : b->row[TSR_INPUT], rest_input);
	join(s, rule, TSR_OUTPUT, result->row[TSR_OUTPUT], one ? none : b->row[TSR_OUTPUT], a->row[TSR_OUTPUT]);
}

/* ---- the table: specs -------------------------------------------------------------------------------------------- */

typedef struct template {
	tsr_store *s;
	tsr_rule *rule;
	const tsr_spec_slot *others;     /* the slots on the other side of `=>` */
	bool operand;                    /* the slot is an operand's */
	uint32_t nothers;
	TSR_VEC(tsr_label) labels;
} template;

static tsr_dim label_dim(template *t, tsr_name name, tsr_span span)
{
	for (uint32_t i = 0; i < t->labels.n; i++)
		if (t->labels.at[i].name == name && !t->labels.at[i].is_row)
			return t->labels.at[i].dim;
	tsr_label l = {.name = name, .dim = tsr_dim_fresh(t->s, name, span), .row = {.var = TSR_NO_ROW}};
	tsr_push(t->s->arena, &t->labels, l);
	return l.dim;
}

static tsr_row label_row(template *t, tsr_name name)
{
	for (uint32_t i = 0; i < t->labels.n; i++)
		if (t->labels.at[i].name == name && t->labels.at[i].is_row)
			return t->labels.at[i].row;
	tsr_label l = {.name = name, .is_row = true, .row = tsr_row_fresh(t->s)};
	t->s->rows.at[l.row.var].label = name;
	tsr_push(t->s->arena, &t->labels, l);
	return l.row;
}

static bool names_component(const tsr_axis *concat, uint32_t except, tsr_name label)
{
	for (uint32_t i = 0; i < concat->concat.n; i++)
		if (i != except && label && concat->concat.at[i].label == label)
			return true;
	return false;
}

/* All of the axis's components are among the concatenation's components other than `except`. */
static bool axis_covered(const tsr_axis *axis, const tsr_axis *concat, uint32_t except)
{
	if (axis->kind == TSR_AXIS_LABEL)
		return names_component(concat, except, axis->label);
	if (axis->kind != TSR_AXIS_CONCAT)
		return false;
	for (uint32_t i = 0; i < axis->concat.n; i++)
		if (!names_component(concat, except, axis->concat.at[i].label))
			return false;
	return true;
}

static bool slot_covers(const tsr_spec_slot *slot, const tsr_axis *concat, uint32_t except)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		const tsr_spec_row *r = &slot->row[k];
		for (uint32_t i = 0; i < r->nlead; i++)
			if (axis_covered(&r->lead[i], concat, except))
				return true;
		for (uint32_t i = 0; i < r->ntrail; i++)
			if (axis_covered(&r->trail[i], concat, except))
				return true;
	}
	return false;
}

static bool axis_needs(const tsr_axis *axis, tsr_name label)
{
	switch (axis->kind) {
	case TSR_AXIS_LABEL: case TSR_AXIS_SYMBOL: return axis->label == label;
	case TSR_AXIS_AFFINE: return axis->affine.over.label == label || axis->affine.kernel.label == label;
	case TSR_AXIS_JOINT:
		for (uint32_t i = 0; i < axis->concat.n; i++)
			if (!axis->concat.at[i].row && axis->concat.at[i].label == label)
				return true;
		return false;
	case TSR_AXIS_WILD: case TSR_AXIS_FIXED: case TSR_AXIS_CONCAT: return false;
	}
	return false;
}

/* The label is also an axis of its own, or of a window: then it has a size. */
static bool slot_needs(const tsr_spec_slot *slot, tsr_name label)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		const tsr_spec_row *r = &slot->row[k];
		for (uint32_t i = 0; i < r->nlead + r->ntrail; i++)
			if (axis_needs(i < r->nlead ? &r->lead[i] : &r->trail[i - r->nlead], label))
				return true;
	}
	return false;
}

/* A component may vanish when, for every shape on the other side, some axis is covered by its siblings. */
static bool discardable(const template *t, const tsr_axis *concat, uint32_t component)
{
	const tsr_spec *spec = t->rule->spec;
	for (uint32_t i = 0; i <= spec->noperands; i++)
		if (slot_needs(i < spec->noperands ? &spec->operands[i] : &spec->result, concat->concat.at[component].label))
			return false;
	for (uint32_t i = 0; i < t->nothers; i++)
		if (!slot_covers(&t->others[i], concat, component))
			return false;
	return true;
}

static tsr_dim concat_axis(template *t, const tsr_axis *axis)
{
	tsr_dim *at = TSR_NEW_N(t->s->arena, tsr_dim, axis->concat.n + 1);
	for (uint32_t i = 0; i < axis->concat.n; i++) {
		const tsr_component *c = &axis->concat.at[i];
		at[i] = c->label ? label_dim(t, c->label, c->span) : tsr_dim_atom(c->size, NULL);
		if (c->label && discardable(t, axis, i))
			tsr_dim_discardable(t->s, at[i]);
	}
	return (tsr_dim){.kind = TSR_DIM_CONCAT, .concat = {axis->concat.n, at}};
}

static tsr_dim affine_axis(template *t, const tsr_axis *axis)
{
	tsr_affine *a = TSR_NEW(t->s->arena, tsr_affine);
	a->stride = axis->affine.over.coef;
	a->dilation = axis->affine.kernel.coef;
	a->offset = axis->affine.offset;
	a->pad = axis->affine.pad;
	a->runtime = axis->affine.runtime.label || !axis->affine.over.label;
	a->has_kernel = axis->affine.kernel.label != NULL;
	a->stride_name = axis->affine.over.coef_name;
	a->dilation_name = axis->affine.kernel.coef_name;
	a->offset_name = axis->affine.offset_name;
	a->runtime_name = axis->affine.runtime.label;
	a->times = axis->affine.runtime.coef;
	a->times_name = axis->affine.runtime.coef_name;
	a->open = a->stride_name || a->dilation_name || a->offset_name;
	if (axis->affine.over.label) {
		a->over = label_dim(t, axis->affine.over.label, axis->affine.over.span);
	} else {                                      /* offset and runtime number only: one position */
		a->stride = 1;
		a->over = tsr_dim_unit();
	}
	if (a->has_kernel)
		a->kernel = label_dim(t, axis->affine.kernel.label, axis->affine.kernel.span);
	return (tsr_dim){.kind = TSR_DIM_AFFINE, .affine = a};
}

/* The kind of row that the part is elsewhere. */
static tsr_kind kind_of_part(const template *t, const tsr_component *part)
{
	const tsr_spec *spec = t->rule->spec;
	for (uint32_t k = 0; k < TSR_KINDS && part->row; k++) {
		bool found = spec->result.row[k].var == part->label;
		for (uint32_t i = 0; i < spec->noperands; i++)
			found |= spec->operands[i].row[k].var == part->label;
		if (found)
			return (tsr_kind)k;
	}
	return TSR_BATCH;
}

/* The parts of an axis that the operation takes apart are decided by their use, as a leaf's axes are. */
static void by_use(tsr_store *s, const tsr_row *part)
{
	if (tsr_row_open(*part))
		s->rows.at[part->var].by_use = s->rows.at[part->var].in_leaf = true;
	for (uint32_t i = 0; i < tsr_row_flanks(*part); i++)
		s->dims.at[tsr_row_axis(*part, i).var].by_use = s->dims.at[tsr_row_axis(*part, i).var].in_leaf = true;
}

/* Axes as one: as many elements as they have together.  A total over unknown rows becomes one axis of the last: the output. */
static tsr_dim joint_axis(template *t, const tsr_axis *axis)
{
	static const tsr_kind order[TSR_KINDS] = {TSR_INPUT, TSR_BATCH, TSR_OUTPUT};
	uint32_t n = axis->concat.n, at = 0;
	tsr_row *rows = TSR_NEW_N(t->s->arena, tsr_row, n + 1);
	tsr_dim d = tsr_dim_fresh(t->s, NULL, axis->span);
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		for (uint32_t i = 0; i < n; i++) {
			const tsr_component *c = &axis->concat.at[i];
			if (kind_of_part(t, c) != order[k])
				continue;
			tsr_dim one = c->row ? tsr_dim_unit() : label_dim(t, c->label, c->span);
			rows[at] = c->row ? label_row(t, c->label) : tsr_row_closed(t->s, 1, &one);
			if (t->operand)
				by_use(t->s, &rows[at]);
			at++;
		}
	tsr_why why = t->rule->why;
	why.other = axis->span;
	tsr_emit_total_of(t->s, n, rows, 1, d, why);
	return d;
}

static tsr_dim axis_dim(template *t, const tsr_axis *axis)
{
	tsr_dim d = tsr_dim_unit();
	switch (axis->kind) {
	case TSR_AXIS_LABEL: case TSR_AXIS_SYMBOL: return label_dim(t, axis->label, axis->span);
	case TSR_AXIS_WILD: return tsr_dim_fresh(t->s, NULL, axis->span);
	case TSR_AXIS_FIXED:
		d = tsr_dim_fresh(t->s, NULL, axis->span);
		t->rule->why.other = axis->span;
		tsr_emit_at_least(t->s, d, axis->size + 1, t->rule->why);
		return d;
	case TSR_AXIS_AFFINE: d = affine_axis(t, axis); break;
	case TSR_AXIS_CONCAT: d = concat_axis(t, axis); break;
	case TSR_AXIS_JOINT: return joint_axis(t, axis);
	}
	tsr_why why = t->rule->why;
	why.other = axis->span;
	tsr_cstr *c = emit(t->s, TSR_C_DIM_EQUAL, &why);      /* a place for the term's condition to belong to */
	c->dim.a = tsr_dim_fresh(t->s, NULL, axis->span);
	c->dim.b = stated(t->s, d, c);
	return c->dim.a;
}

static tsr_dim *joined_axes(tsr_store *s, const tsr_row *r)
{
	tsr_dim *out = TSR_NEW_N(s->arena, tsr_dim, tsr_row_flanks(*r) + 1);
	for (uint32_t i = 0; i < tsr_row_flanks(*r); i++)
		out[i] = tsr_row_axis(*r, i);
	return out;
}

static tsr_row row_template(template *t, const tsr_spec_row *r)
{
	tsr_row out = {.nlead = r->nlead, .ntrail = r->ntrail, .var = TSR_NO_ROW};
	out.lead = TSR_NEW_N(t->s->arena, tsr_dim, r->nlead + 1);
	out.trail = TSR_NEW_N(t->s->arena, tsr_dim, r->ntrail + 1);
	for (uint32_t i = 0; i < r->nlead; i++)
		out.lead[i] = axis_dim(t, &r->lead[i]);
	for (uint32_t i = 0; i < r->ntrail; i++)
		out.trail[i] = axis_dim(t, &r->trail[i]);
	if (!r->var)                                  /* written without an ellipsis: an empty leading flank */
		return (tsr_row){.ntrail = tsr_row_flanks(out), .trail = joined_axes(t->s, &out), .var = TSR_NO_ROW};
	out.var = label_row(t, r->var).var;
	return out;
}

/* The rows of a slot equal the rows of its tensor; a kind left out is the closed empty row. */
static void slot_rows(template *t, const tsr_spec_slot *slot, const tsr_shape *shape, int operand)
{
	tsr_store *s = t->s;
	t->rule->why.other = slot->span;
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		tsr_row r = row_template(t, &slot->row[k]);
		mark_in_spec(s, shape->row[k]);
		mark_in_spec(s, r);
		s->operand = operand;
		s->kind_a = s->kind_b = (tsr_kind)k;
		t->rule->why.other = slot->span;
		emit_rows(s, TSR_C_ROW_EQUAL, r, shape->row[k], &t->rule->why);
		s->operand = -1;
		s->kind_a = s->kind_b = TSR_KINDS;
	}
}

static void rule_spec(tsr_store *s, tsr_rule *rule, const tsr_shape *result, const tsr_shape *operands)
{
	const tsr_spec *spec = rule->spec;
	template t = {.s = s, .rule = rule, .others = &spec->result, .nothers = 1, .operand = true};
	tsr_span other = rule->why.other;
	for (uint32_t i = 0; i < spec->noperands && i < rule->noperands; i++)
		slot_rows(&t, &spec->operands[i], &operands[i], (int)i);
	t.operand = false;
	t.others = spec->operands;
	t.nothers = spec->noperands;
	slot_rows(&t, &spec->result, result, -1);
	rule->why.other = other;
	rule->nlabels = t.labels.n;
	rule->labels = t.labels.at;
}

void tsr_emit_rule(tsr_store *s, tsr_rule *rule, const tsr_shape *result, const tsr_shape *operands)
{
	rule->why.noperands = rule->noperands;
	switch (rule->logic) {
	case TSR_LOGIC_POINTWISE:
		for (uint32_t i = 0; i < rule->noperands; i++)
			rule_pointwise(s, rule, result, &operands[i], (int)i);
		break;
	case TSR_LOGIC_COMPOSE:
		rule_compose(s, rule, result, operands);
		break;
	case TSR_LOGIC_COMPOSE_ACC:
		rule_compose(s, rule, result, operands);
		rule_pointwise(s, rule, result, &operands[2], 2);
		break;
	case TSR_LOGIC_TRANSPOSE:
		rule_transpose(s, rule, result, operands);
		break;
	case TSR_LOGIC_GATHER: case TSR_LOGIC_GATHER_ONE:
		rule_gather(s, rule, result, operands);
		break;
	case TSR_LOGIC_SPEC:
		rule_spec(s, rule, result, operands);
		break;
	}
	tsr_solve(s);
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

const tsr_label *tsr_rule_label(const tsr_rule *rule, tsr_name name)
{
	for (uint32_t i = 0; i < rule->nlabels; i++)
		if (rule->labels[i].name == name)
			return &rule->labels[i];
	return NULL;
}

void tsr_emit_set_label(tsr_store *s, const tsr_label *l, tsr_size n, tsr_why why)
{
	if (l->is_row)
		tsr_emit_total(s, 1, &l->row, n, why);
	else
		tsr_emit_dim_equal(s, l->dim, (tsr_dim){.kind = TSR_DIM_ATOM, .atom = {n, NULL}}, why);
}

void tsr_emit_equal_labels(tsr_store *s, const tsr_label *a, const tsr_label *b, tsr_why why)
{
	if (a->is_row && b->is_row)
		tsr_emit_row_equal(s, a->row, b->row, why);
	else if (a->is_row)
		tsr_emit_total_of(s, 1, &a->row, 1, b->dim, why);
	else if (b->is_row)
		tsr_emit_total_of(s, 1, &b->row, 1, a->dim, why);
	else
		tsr_emit_dim_equal(s, a->dim, b->dim, why);
}
