/* Regions: the components of a concatenated axis, selected by name.
 *
 *     let%op padded = x ++^ "h => top^h^bottom"       padded.top   padded.h
 *     let%op blocks = .. "=> row: a^b, col: c^d"      blocks.(a, col = c)
 *
 * The names are those of the spec that made the tensor; pointwise operations hand on what their operands have.  A region is a
 * slice, made by the library's `++^` with a spec that is written here: the operand's slot is the result's slot of the operation
 * that gave the names, in which every axis without a selected component is one plain axis.  The sizes are those of the
 * operation's labels, so they need not be known yet. */
#include "state.h"
#include <string.h>

/* One name that is asked for. */
typedef struct region { tsr_name axis, component; tsr_span span; } region;

/* An operation whose result has named regions, and whether pointwise operations lie between it and the tensor. */
typedef struct source { const tsr_record *record; bool carried; } source;
typedef struct sources { TSR_VEC(source) v; tsr_map seen; } sources;

static uint32_t axes_of(const tsr_spec_row *r) { return r->nlead + r->ntrail; }
static const tsr_axis *axis_at(const tsr_spec_row *r, uint32_t i) { return i < r->nlead ? &r->lead[i] : &r->trail[i - r->nlead]; }

/* Which component of the axis is asked for, or TSR_NONE. */
static uint32_t component_of(const tsr_axis *x, const region *want)
{
	if (x->kind != TSR_AXIS_CONCAT || (want->axis && x->concat.name != want->axis))
		return TSR_NONE;
	for (uint32_t i = 0; i < x->concat.n; i++)
		if (x->concat.at[i].label == want->component)
			return i;
	return TSR_NONE;
}

static uint32_t count(const tsr_spec_slot *slot, const region *want)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		for (uint32_t i = 0; i < axes_of(&slot->row[k]); i++) {
			const tsr_axis *x = axis_at(&slot->row[k], i);
			for (uint32_t j = component_of(x, want); j != TSR_NONE && j < x->concat.n; j++)
				n += x->concat.at[j].label == want->component;
		}
	return n;
}

static bool has_regions(const tsr_spec_slot *slot)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		for (uint32_t i = 0; i < axes_of(&slot->row[k]); i++)
			if (axis_at(&slot->row[k], i)->kind == TSR_AXIS_CONCAT)
				return true;
	return false;
}

static void find_sources(tsr_elab *el, tsr_tensor_id id, bool carried, sources *out)
{
	const tsr_tensor *t = tsr_tensor_get(el->g, id);
	tsr_map_entry *seen = tsr_map_put(&out->seen, id);
	if (seen->value.i++ || t->kind != TSR_TENSOR_OP || t->op.record == TSR_NONE)
		return;
	const tsr_record *r = el->g->records.at[t->op.record];
	if (r->rule.logic == TSR_LOGIC_SPEC && has_regions(&r->rule.spec->result))
		tsr_push(el->arena, &out->v, ((source){r, carried}));
	for (uint32_t i = 1; r->rule.logic == TSR_LOGIC_POINTWISE && i <= r->rule.noperands; i++)
		find_sources(el, r->slots[i], true, out);
}

static const char *slot_text(tsr_elab *el, const tsr_spec_slot *slot)
{
	return tsr_spec_str(el->arena, &(tsr_spec){.result = *slot});
}

/* ---- mistakes --------------------------------------------------------------------------------------------------------- */

static tsr_value unknown(tsr_elab *el, const sources *s, tsr_value v, const region *want)
{
	tsr_text list;
	tsr_text_init(&list, el->arena);
	const tsr_env *names = NULL;
	for (uint32_t n = 0; n < s->v.n; n++)
		for (uint32_t k = 0; k < TSR_KINDS; k++) {
			const tsr_spec_row *row = &s->v.at[n].record->rule.spec->result.row[k];
			for (uint32_t i = 0; i < axes_of(row); i++) {
				const tsr_axis *x = axis_at(row, i);
				for (uint32_t j = 0; x->kind == TSR_AXIS_CONCAT && j < x->concat.n; j++) {
					if (!x->concat.at[j].label || (want->axis && x->concat.name && x->concat.name != want->axis))
						continue;
					tsr_text_addf(&list, "%s`%s`", list.n ? ", " : "", x->concat.at[j].label);
					names = tsr_env_bind(el->arena, names, x->concat.at[j].label, TSR_UNIT);
				}
			}
		}
	const char *name = tsr_tensor_get(el->g, v.tensor.id)->name;
	if (!list.n && !want->axis) {
		tsr_diag *d = tsr_eval_report(el->ev, TSR_E_UNKNOWN_NAME, want->span, "a tensor has no part `%s`", want->component);
		tsr_hint(el->tc, d, "its parts are .value .grad .forward .backprop .zero_grads, and the components of an axis that `^` made of several");
		return TSR_POISON;
	}
	tsr_diag *d = tsr_eval_report(el->ev, TSR_E_REGION, want->span, "%s%s%s has no region `%s`%s%s%s", name ? "`" : "this tensor",
	                              name ? name : "", name ? "`" : "", want->component, want->axis ? " along an axis `" : "",
	                              want->axis ? want->axis : "", want->axis ? "`" : "");
	tsr_name near = names ? tsr_env_nearest(names, want->component) : NULL;
	if (near && near != want->component)
		tsr_hint(el->tc, d, "did you mean `%s`?", near);
	else if (list.n)
		tsr_hint(el->tc, d, "its regions are %s", tsr_text_str(&list));
	return TSR_POISON;
}

static tsr_value clash(tsr_elab *el, const region *want, const tsr_record *a, const tsr_record *b)
{
	tsr_diag *d = tsr_eval_report(el->ev, TSR_E_REGION_CLASH, want->span, "`%s` names several regions", want->component);
	if (b) {
		tsr_note_at(el->tc, d, a->span, "one comes from here");
		tsr_note_at(el->tc, d, b->span, "another from here, where the axes are not the same");
	}
	tsr_hint(el->tc, d, "give the axis a name, `row: a^b` in the spec, and write t.(row = a)");
	return TSR_POISON;
}

/* ---- the slice -------------------------------------------------------------------------------------------------------- */

/* A component's label in the slice: axes that share one in the source, whose diagonal was filled, are two axes here. */
static tsr_name label_in_slice(tsr_elab *el, const tsr_spec_slot *slot, const tsr_axis *x, uint32_t component)
{
	region want = {NULL, x->concat.at[component].label, x->span};
	if (!want.component || count(slot, &want) == 1)
		return want.component;
	return tsr_elab_name(el, tsr_format(el->arena, "%s_%u_%u", want.component, x->span.start, component));
}

/* The spec of a slice while it is made. */
typedef struct slicing {
	tsr_elab *el;
	const source *from;
	uint32_t n;
	const region *want;
	uint32_t made;               /* names of axes and rows */
} slicing;

static tsr_name made_name(slicing *s, const char *stem)
{
	return tsr_elab_name(s->el, tsr_format(s->el->arena, "%s%u_", stem, s->made++));
}

/* An axis that stays whole, or, with a selected component, as operand the concatenation and as result the component. */
static void slice_axis(slicing *s, const tsr_axis *x, tsr_axis *in, tsr_axis *out)
{
	const tsr_spec_slot *slot = &s->from->record->rule.spec->result;
	*in = *out = (tsr_axis){.kind = TSR_AXIS_LABEL, .span = x->span, .label = made_name(s, "axis")};
	for (uint32_t j = 0; j < s->n; j++) {
		uint32_t c = component_of(x, &s->want[j]);
		if (c == TSR_NONE)
			continue;
		*in = *x;
		in->concat.name = NULL;
		in->concat.at = TSR_NEW_N(s->el->arena, tsr_component, x->concat.n);
		for (uint32_t m = 0; m < x->concat.n; m++) {
			in->concat.at[m] = x->concat.at[m];
			in->concat.at[m].label = label_in_slice(s->el, slot, x, m);
		}
		out->label = in->concat.at[c].label;
	}
}

/* The row of the source, as operand and as result. A row that was carried has grown where its source's marker is. */
static void slice_row(slicing *s, const tsr_spec_row *from, tsr_spec_row *in, tsr_spec_row *out)
{
	*in = *out = *from;
	in->lead = TSR_NEW_N(s->el->arena, tsr_axis, axes_of(from) + 1);
	out->lead = TSR_NEW_N(s->el->arena, tsr_axis, axes_of(from) + 1);
	in->trail = in->lead + from->nlead;
	out->trail = out->lead + from->nlead;
	for (uint32_t i = 0; i < axes_of(from); i++)
		slice_axis(s, axis_at(from, i), &in->lead[i], &out->lead[i]);
	if (s->from->carried && !from->var)
		in->var = out->var = made_name(s, "grown");
}

static const char *slice_spec(tsr_elab *el, const source *from, uint32_t n, const region *want)
{
	slicing s = {el, from, n, want, 0};
	tsr_spec_slot in = {0};
	tsr_spec spec = {.noperands = 1, .operands = &in};
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		slice_row(&s, &from->record->rule.spec->result.row[k], &in.row[k], &spec.result.row[k]);
	return tsr_spec_str(el->arena, &spec);
}

/* The components of the selected axes are as long as those of the operation that named them. */
static void same_sizes(tsr_elab *el, const tsr_record *slice, const tsr_record *from, uint32_t n, const region *want, tsr_span span)
{
	const tsr_spec_slot *slot = &from->rule.spec->result;
	tsr_why why = {.span = span, .other = TSR_NOWHERE, .what = tsr_format(el->arena, "the region `%s`", want[0].component), .within = tsr_elab_within(el)};
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		for (uint32_t i = 0; i < axes_of(&slot->row[k]); i++) {
			const tsr_axis *x = axis_at(&slot->row[k], i);
			bool selected = false;
			for (uint32_t j = 0; j < n; j++)
				selected |= component_of(x, &want[j]) != TSR_NONE;
			for (uint32_t j = 0; selected && j < x->concat.n; j++) {
				if (!x->concat.at[j].label)
					continue;
				const tsr_label *a = tsr_rule_label(&slice->rule, label_in_slice(el, slot, x, j));
				const tsr_label *b = tsr_rule_label(&from->rule, x->concat.at[j].label);
				if (a && b)
					tsr_elab_relate(el, TSR_SHARE_SAME, a, b, 0, why);
			}
		}
}

static tsr_value select_regions(tsr_elab *el, tsr_value v, uint32_t n, const region *want, tsr_span span)
{
	sources s = {0};
	tsr_map_init(&s.seen, el->arena);
	find_sources(el, v.tensor.id, false, &s);
	const source *from = NULL;
	for (uint32_t j = 0; j < n; j++) {
		const source *found = NULL;
		for (uint32_t i = 0; i < s.v.n; i++) {
			const tsr_spec_slot *slot = &s.v.at[i].record->rule.spec->result;
			uint32_t times = count(slot, &want[j]);
			if (times > 1)
				return clash(el, &want[j], s.v.at[i].record, NULL);
			if (times && found && strcmp(slot_text(el, slot), slot_text(el, &found->record->rule.spec->result)) != 0)
				return clash(el, &want[j], found->record, s.v.at[i].record);
			if (times && !found)
				found = &s.v.at[i];
		}
		if (!found || (from && found != from))
			return unknown(el, &s, v, &want[j]);
		from = found;
	}
	tsr_value slice = tsr_resolve(el->ev, NULL, tsr_elab_name(el, "Ops"), tsr_elab_name(el, "++^"), span);
	tsr_actual args[] = {
		{.kind = TSR_ARG_LABEL, .label = tsr_elab_name(el, "spec"), .value = tsr_value_string(slice_spec(el, from, n, want)), .span = span, .label_span = span},
		{.kind = TSR_ARG_PLAIN, .value = v, .span = span},
	};
	tsr_value out = tsr_apply(el->ev, slice, 2, args, span);
	if (out.kind == TSR_VALUE_TENSOR)
		for (uint32_t i = 0; i < s.v.n; i++)
			if (count(&s.v.at[i].record->rule.spec->result, &want[0]))
				same_sizes(el, el->g->records.at[tsr_tensor_get(el->g, out.tensor.id)->op.record], s.v.at[i].record, n, want, span);
	return out;
}

tsr_value tsr_elab_region(tsr_eval *ev, tsr_value v, tsr_name name, tsr_span span)
{
	region want = {NULL, name, span};
	return select_regions(tsr_elab_of(ev), v, 1, &want, span);
}

tsr_value tsr_elab_regions(tsr_eval *ev, tsr_value v, const tsr_ast *e)
{
	tsr_elab *el = tsr_elab_of(ev);
	uint32_t n = e->index.indices.n;
	region *want = TSR_NEW_N(el->arena, region, n + 1);
	bool names = v.kind == TSR_VALUE_TENSOR && n;
	for (uint32_t i = 0; i < n && names; i++) {
		const tsr_ast *x = e->index.indices.at[i], *axis = NULL;
		if (x->kind == TSR_AST_BINARY && strcmp(x->binary.op, "=") == 0) {
			axis = x->binary.left;
			x = x->binary.right;
		}
		names = x->kind == TSR_AST_NAME && !x->name.qualifier && (!axis || (axis->kind == TSR_AST_NAME && !axis->name.qualifier));
		if (names)
			want[i] = (region){axis ? axis->name.name : NULL, x->name.name, e->index.indices.at[i]->span};
	}
	if (names)
		return select_regions(el, v, n, want, e->span);
	tsr_eval_report(ev, TSR_E_LEVEL, e->span, "reading an element belongs in `let%%main`");
	return TSR_POISON;
}
