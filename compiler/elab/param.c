/* Declarations.  { w } in a tensor expression is a parameter, made once per instance and initialised before main; { m } in
 * code is state, zero at the start; { x_rhs1 } in the definition of an operation is an intermediate in that slot. */
#include "state.h"
#include <string.h>

/* ---- axes ------------------------------------------------------------------------------------------------------------------ */

tsr_dim tsr_elab_axis(tsr_elab *el, int64_t n, tsr_name basis)
{
	if (basis && strcmp(basis, "bcast_if_1") == 0 && n == 1)
		return tsr_dim_unit();
	if (basis && strcmp(basis, "default") == 0)
		basis = NULL;
	(void)el;
	return tsr_dim_atom(n, basis);
}

static bool unknown_size(tsr_value list)
{
	for (uint32_t i = 0; i < list.items.n; i++)
		if (list.items.at[i].kind == TSR_VALUE_UNKNOWN)
			return true;
	return false;
}

bool tsr_elab_axes(tsr_elab *el, const tsr_env *env, const tsr_ast *list, tsr_row *out)
{
	bool single = list->kind != TSR_AST_LIST;
	uint32_t n = single ? 1 : list->items.n;
	tsr_dim *dims = TSR_NEW_N(el->arena, tsr_dim, n + 1);
	bool good = true;
	for (uint32_t i = 0; i < n; i++) {
		const tsr_ast *e = single ? list : list->items.at[i];
		tsr_name basis = NULL;
		dims[i] = tsr_dim_unit();
		if (e->kind == TSR_AST_TAGGED) {
			basis = e->tagged.tag ? e->tagged.tag : tsr_elab_name(el, e->tagged.annotation);
			e = e->tagged.e;
		}
		tsr_value v = tsr_evaluate(el->ev, TSR_LEVEL_CONFIG, env, e);
		if (v.kind == TSR_VALUE_UNKNOWN) {
			if (!tsr_unknown_configure(el->ev, v.unknown))
				return false;
			dims[i] = (tsr_dim){.kind = TSR_DIM_ATOM, .atom = {tsr_aside_size(el, v.unknown, e->span), basis}};
			if (!single)
				continue;
			*out = tsr_row_fresh(el->g->store);        /* a size or a list of sizes */
			return true;
		}
		if (single && v.kind == TSR_VALUE_LIST && unknown_size(v)) {
			*out = tsr_row_fresh(el->g->store);
			return true;
		}
		if (single && v.kind == TSR_VALUE_LIST) {
			dims = TSR_NEW_N(el->arena, tsr_dim, v.items.n + 1);
			n = v.items.n;
			for (uint32_t k = 0; k < n; k++) {
				good &= v.items.at[k].kind == TSR_VALUE_INT && v.items.at[k].integer > 0;
				dims[k] = tsr_dim_atom(good ? v.items.at[k].integer : 1, NULL);
			}
			if (!good)
				tsr_eval_type_error(el->ev, e->span, "a list of sizes", v);
			break;
		}
		if (v.kind != TSR_VALUE_INT || v.integer < 1) {
			if (v.kind == TSR_VALUE_INT)
				tsr_eval_report(el->ev, TSR_E_ARGUMENTS, e->span, "an axis has at least one position, not %lld", (long long)v.integer);
			else
				tsr_eval_type_error(el->ev, e->span, "the size of an axis", v);
			good = false;
			continue;
		}
		dims[i] = tsr_elab_axis(el, v.integer, basis);
	}
	*out = tsr_row_closed(el->g->store, n, dims);
	return good;
}

static bool declared_shape(tsr_elab *el, const tsr_env *env, const tsr_ast *e, tsr_tensor *t)
{
	bool good = true;
	tsr_elab_fresh(el, t);
	if (t->kind == TSR_TENSOR_PARAM)
		t->shape.row[TSR_BATCH] = tsr_elab_row_empty(el);
	for (int k = 0; k < TSR_KINDS; k++)
		if (e->decl.axes[k])
			good &= tsr_elab_axes(el, env, e->decl.axes[k], &t->shape.row[k]);
	return good;
}

static bool declared_prec(tsr_elab *el, const tsr_ast *e, tsr_tensor *t)
{
	if (!e->decl.prec)
		return true;
	if (tsr_prec_find(e->decl.prec, &t->prec)) {
		t->prec_fixed = true;
		return true;
	}
	tsr_diag *d = tsr_eval_report(el->ev, TSR_E_TYPE, e->span, "there is no precision `%s`", e->decl.prec);
	tsr_hint(el->tc, d, "the precisions are bool u8 i8 i16 i32 u32 i64 f8 f16 bf16 f32 f64");
	return false;
}

/* ---- names --------------------------------------------------------------------------------------------------------------------- */

static tsr_name last_part(tsr_name path)
{
	const char *dot = strrchr(path, '.');
	return dot ? dot + 1 : path;
}

static tsr_name full_name(tsr_elab *el, const tsr_instance *inst, tsr_name name, uint32_t turn)
{
	const char *s = name;
	if (inst->path && !(inst->open && strcmp(last_part(inst->path), name) == 0))
		s = tsr_format(el->arena, "%s.%s", inst->path, name);
	else if (inst->path)
		s = inst->path;
	if (turn)
		s = tsr_format(el->arena, "%s.%u", s, turn);
	return tsr_elab_name(el, s);
}

static void claim_name(tsr_elab *el, tsr_tensor *t, tsr_name name, tsr_span span)
{
	tsr_tensor_id other;
	if (t->kind == TSR_TENSOR_PARAM && tsr_elab_name_taken(el, name, &other)
	    && tsr_elab_tensor(el, other)->kind == TSR_TENSOR_PARAM) {
		tsr_diag *d = tsr_eval_report(el->ev, TSR_E_NAME_CLASH, span, "there is a parameter `%s` already", name);
		tsr_note_at(el->tc, d, tsr_elab_tensor(el, other)->span, "the first one");
		tsr_hint(el->tc, d, "bind each layer to a name of its own with `let`, or keep them in a list");
	}
	tsr_tensor_set_name(el, t, name);
}

/* ---- initialisation ---------------------------------------------------------------------------------------------------------------- */

static void init_code(tsr_elab *el, tsr_tensor *t, tsr_rhs *rhs, tsr_tensor_id from, tsr_span span)
{
	tsr_record *r = tsr_record_new(el, span, from == TSR_NONE ? 0 : 1);
	r->rule.logic = TSR_LOGIC_POINTWISE;
	r->rule.why = (tsr_why){.span = span, .what = "the initial value", .result = t->name};
	r->slots[0] = t->id;
	if (from != TSR_NONE) {
		tsr_codetree *f = tsr_codetree_new(el, TSR_CODE_FORWARD, span);
		const tsr_tensor *init = tsr_elab_tensor(el, from);
		r->slots[1] = from;
		f->tensor = from;
		if (init->kind != TSR_TENSOR_LITERAL)
			tsr_push(el->arena, &el->inits, f);
		tsr_elab_equal(el, t->id, (tsr_shape_of){init->shape, from}, r->rule.why);
	}
	tsr_elab_emit(el, r);
	tsr_codetree *c = tsr_codetree_new(el, TSR_CODE_ASSIGN, span);
	c->assign = (tsr_assign){span, {t->id, TSR_PART_VALUE, 0, span}, TSR_ACC_SET, false, rhs, r->id};
	tsr_push(el->arena, &el->inits, c);
}

static tsr_value initial_value(tsr_elab *el, const tsr_env *env, const tsr_ast *e)
{
	if (e->decl.init)
		return tsr_evaluate(el->ev, TSR_LEVEL_OP, env, e->decl.init);
	tsr_value f = tsr_resolve(el->ev, env, NULL, tsr_elab_name(el, "default_init"), e->span);
	tsr_value unit = TSR_UNIT;
	return tsr_apply_values(el->ev, f, 1, &unit, e->span);
}

static bool initialise(tsr_elab *el, const tsr_env *env, const tsr_ast *e, tsr_tensor *t)
{
	tsr_name key = el->random_key;
	uint32_t turn = el->random_turn;
	el->random_key = t->name;
	el->random_turn = 0;
	el->frozen++;
	tsr_value v = initial_value(el, env, e);
	el->frozen--;
	el->random_key = key;
	el->random_turn = turn;
	tsr_span span = e->decl.init ? e->decl.init->span : e->span;
	t->param.init = TSR_NONE;
	if (tsr_value_is_poison(v))
		return false;
	if (tsr_value_is_number(v)) {
		init_code(el, t, tsr_rhs_const(el, v, span), TSR_NONE, span);
		return true;
	}
	if (!tsr_elab_operand(el, v, span, &v))
		return false;
	t->param.init = v.tensor.id;
	init_code(el, t, tsr_rhs_operand(el, (tsr_operand){v.tensor.id, (tsr_part)v.tensor.part, 1, span}), v.tensor.id, span);
	return true;
}

/* ---- declarations -------------------------------------------------------------------------------------------------------------------- */

static tsr_tensor *mint(tsr_elab *el, bool param, const tsr_env *env, const tsr_ast *e, const tsr_instance *inst, uint32_t turn)
{
	tsr_tensor *t = tsr_tensor_new(el, param ? TSR_TENSOR_PARAM : TSR_TENSOR_STATE, e->span);
	claim_name(el, t, full_name(el, inst, e->decl.name, turn), e->span);
	t->differentiable = param;
	bool good = declared_shape(el, env, e, t);
	good &= declared_prec(el, e, t);
	tsr_tensor_leaf(el, t);
	if (!param && e->decl.init) {
		tsr_eval_report(el->ev, TSR_E_ASSIGN, e->decl.init->span, "state begins at zero; only a parameter has an initial value");
		good = false;
	}
	if (param && !(el->aside && !e->decl.init))        /* a random start says nothing of the shape */
		good &= initialise(el, env, e, t);
	if (param)
		tsr_push(el->arena, &el->g->params, t->id);
	if (param && good)
		tsr_tensor_show(el, t);
	t->poison = !good;
	return t;
}

static tsr_value declare_slot(tsr_elab *el, const tsr_ast *e)
{
	int slot;
	tsr_slots *s = el->slots;
	tsr_map_entry *known = tsr_map_find(&s->frame->names, tsr_key(e->decl.name));
	if (known)
		return *(tsr_value *)known->value.p;
	if (!tsr_slot_of_name(e->decl.name, &slot)) {
		tsr_diag *d = tsr_eval_report(el->ev, TSR_E_SLOT, e->span, "the name of an intermediate says its slot");
		tsr_hint(el->tc, d, "for example { %s_rhs1 }, { %s_lhs } or { %s_all }", e->decl.name, e->decl.name, e->decl.name);
		tsr_frame_put(el->arena, s->frame, e->decl.name, TSR_POISON);
		return TSR_POISON;
	}
	if (slot > (int)s->noperands) {
		tsr_eval_report(el->ev, TSR_E_SLOT, e->span, "`%s` is indexed like operand %d, and the operation has %u", e->decl.name, slot,
		                s->noperands);
		tsr_frame_put(el->arena, s->frame, e->decl.name, TSR_POISON);
		return TSR_POISON;
	}
	tsr_tensor *t = tsr_tensor_new(el, TSR_TENSOR_OP, e->span);
	t->op.record = TSR_NONE;
	t->op.op = "intermediate";
	if (slot == TSR_SLOT_ALL) {
		for (int k = 0; k < TSR_KINDS; k++)
			t->shape.row[k] = tsr_elab_row_empty(el);
	} else {
		tsr_elab_alias(el, t, tsr_elab_tensor(el, el->g->records.at[s->record]->slots[slot]));
	}
	tsr_value v = tsr_value_tensor(t->id);
	v.tensor.slot = slot;
	tsr_frame_put(el->arena, s->frame, e->decl.name, v);
	return v;
}

static void made_again(tsr_elab *el, tsr_span site, const tsr_ast *e)
{
	tsr_diag *d = tsr_report(el->tc, TSR_W_MADE_AGAIN, site,
		"this makes parameters, `%s` and what else there is, at each application of the function around it", e->decl.name);
	if (!d->hint)
		tsr_hint(el->tc, d, "to make them once, give the `()` before `fun x ->`: `let layer = .. () in`");
}

tsr_value tsr_elab_declare(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e)
{
	tsr_elab *el = tsr_elab_of(ev);
	if (el->slots)
		return declare_slot(el, e);
	tsr_frame *frame = tsr_env_nearest_frame(env);
	if (!frame || !frame->instance) {
		tsr_eval_report(ev, TSR_E_LEVEL, e->span, "a declaration `{ %s }` belongs to a definition: `let%%op` or `let%%cd`", e->decl.name);
		return TSR_POISON;
	}
	tsr_instance *inst = frame->instance;
	tsr_map_entry *entry = tsr_map_put(el->aside ? tsr_aside_made(el, inst) : &inst->made, tsr_key(e));
	if (!entry->value.p)
		entry->value.p = TSR_NEW(el->arena, tsr_minted);
	tsr_minted *m = entry->value.p;
	if (inst->open)
		m->next = m->made.n;
	else if (m->round != inst->round)
		m->next = 0;
	m->round = inst->round;
	if (m->next == m->made.n) {
		tsr_tensor *t = mint(el, level == TSR_LEVEL_OP, env, e, inst, m->made.n);
		tsr_push(el->arena, &m->made, t->id);
		if (level == TSR_LEVEL_OP && inst->again.file)
			made_again(el, inst->again, e);
	}
	tsr_tensor_id id = m->made.at[m->next++];
	tsr_value v = tsr_elab_tensor(el, id)->poison ? TSR_POISON : tsr_value_tensor(id);
	tsr_elab_put(el, frame, e->decl.name, v);
	return v;
}
