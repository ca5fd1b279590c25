/* The forward and gradient definitions of operations: a definition is evaluated with the slots of one application in scope, and gives
 * assignments.  It sees nothing else of the application, so applications whose slots look alike get copies of the same assignments. */
#include "state.h"
#include <string.h>

/* ---- slots ---------------------------------------------------------------------------------------------------------------- */

static tsr_value slot_value(tsr_tensor_id id, tsr_part part, int slot)
{
	return (tsr_value){.kind = TSR_VALUE_TENSOR, .tensor = {id, (uint8_t)part, slot}};
}

/* v t lhs g for the result, v1 t1 rhs1 g1 ... for the operands. */
static tsr_slot_names slot_names(tsr_elab *el, uint32_t k)
{
	if (!el->slot_names)
		el->slot_names = TSR_NEW(el->arena, tsr_slot_list);
	while (el->slot_names->v.n <= k) {
		uint32_t i = el->slot_names->v.n;
		const char *number = i ? tsr_format(el->arena, "%u", i) : "";
		tsr_slot_names names;
		tsr_name *at[] = {&names.value, &names.tensor, &names.side, &names.gradient};
		const char *stems[] = {"v", "t", i ? "rhs" : "lhs", "g"};
		for (uint32_t n = 0; n < 4; n++)
			*at[n] = tsr_elab_name(el, tsr_format(el->arena, "%s%s", stems[n], number));
		tsr_push(el->arena, &el->slot_names->v, names);
	}
	return el->slot_names->v.at[k];
}

static bool has_gradient(tsr_elab *el, tsr_value v)
{
	return v.kind == TSR_VALUE_TENSOR && v.tensor.id != TSR_NONE && v.tensor.part == TSR_PART_VALUE && tsr_elab_tensor(el, v.tensor.id)->differentiable;
}

/* The names of the slots, and the lists vs and gs of all of them; the gradient of what has none is tensor TSR_NONE. */
static const tsr_env *slot_env(tsr_elab *el, const tsr_env *env, tsr_slots *s)
{
	tsr_value *values = TSR_NEW_N(el->arena, tsr_value, s->noperands + 1), *gradients = TSR_NEW_N(el->arena, tsr_value, s->noperands + 1);
	env = tsr_env_frame(el->arena, env, s->frame);
	for (uint32_t k = 0; k <= s->noperands; k++) {
		tsr_slot_names names = slot_names(el, k);
		tsr_value v = k ? s->operands[k - 1] : slot_value(s->result, TSR_PART_VALUE, 0);
		tsr_value g = slot_value(has_gradient(el, v) ? v.tensor.id : TSR_NONE, TSR_PART_GRAD, (int)k);
		if (v.kind == TSR_VALUE_TENSOR)
			v.tensor.slot = (int)k;
		env = tsr_env_bind(el->arena, env, names.value, v);
		env = tsr_env_bind(el->arena, env, names.tensor, v);
		env = tsr_env_bind(el->arena, env, names.side, v);
		env = tsr_env_bind(el->arena, env, names.gradient, g);
		if (k) {
			values[k - 1] = v;
			gradients[k - 1] = g;
		}
	}
	env = tsr_env_bind(el->arena, env, tsr_elab_name(el, "vs"), tsr_value_list(s->noperands, values));
	return tsr_env_bind(el->arena, env, tsr_elab_name(el, "gs"), tsr_value_list(s->noperands, gradients));
}

/* ---- evaluated ---------------------------------------------------------------------------------------------------------------- */

static bool flatten(tsr_elab *el, const tsr_codetree *c, tsr_assigns *out)
{
	switch (c->kind) {
	case TSR_CODE_SEQ:
		for (uint32_t i = 0; i < c->seq.n; i++)
			if (!flatten(el, c->seq.at[i], out))
				return false;
		return true;
	case TSR_CODE_ASSIGN: tsr_push(el->arena, &out->v, c->assign); return true;
	case TSR_CODE_COMMENT: return flatten(el, c->comment.body, out);
	case TSR_CODE_FORWARD: case TSR_CODE_BACKPROP: case TSR_CODE_ZERO_GRADS: case TSR_CODE_FETCH: break;
	}
	tsr_eval_report(el->ev, TSR_E_ASSIGN, c->span, "the definition of an operation holds assignments only");
	return false;
}

/* NULL after a report. */
static tsr_assigns *evaluated(tsr_elab *el, tsr_value definition, tsr_slots *s, tsr_span site)
{
	const tsr_ast *body;
	const tsr_env *env;
	tsr_level level;
	if (!tsr_function_closure(definition, &body, &env, &level) || level != TSR_LEVEL_CD) {
		tsr_eval_type_error(el->ev, site, "assignments, `fun%cd t t1 -> ..`", definition);
		return NULL;
	}
	tsr_slots *around = el->slots;
	el->slots = s;
	tsr_value v = tsr_evaluate(el->ev, TSR_LEVEL_CD, slot_env(el, env, s), body);
	el->slots = around;
	tsr_assigns *out = TSR_NEW(el->arena, tsr_assigns);
	if (v.kind == TSR_VALUE_UNIT)
		return out;
	if (v.kind != TSR_VALUE_CODE) {
		tsr_eval_type_error(el->ev, body->span, "assignments", v);
		return NULL;
	}
	return flatten(el, v.code, out) ? out : NULL;
}

tsr_rhs *tsr_define_alone(tsr_elab *el, const tsr_operation *op, const tsr_value *operands)
{
	const tsr_ast *body;
	const tsr_env *env;
	tsr_level level;
	if (!tsr_function_closure(op->forward, &body, &env, &level) || body->kind != TSR_AST_ASSIGN)
		return NULL;
	tsr_slots s = {TSR_NONE, TSR_NONE, tsr_frame_new(el->arena, NULL, false), NULL, op->arity, operands};
	tsr_slots *around = el->slots;
	el->slots = &s;
	tsr_rhs *r = tsr_rhs_slots(el, slot_env(el, env, &s), body->assign.value);
	el->slots = around;
	return r;
}

/* ---- copied -------------------------------------------------------------------------------------------------------------------- */

/* What the definitions gave for slots of one look. */
struct tsr_definition {
	uint32_t noperands;
	tsr_value *operands;             /* numbers as they are */
	bool *gradients;                 /* which slots have one */
	tsr_assigns *forward, *backward;
};

static bool is_tensor(tsr_value v) { return v.kind == TSR_VALUE_TENSOR; }

static bool same_number(tsr_value a, tsr_value b)
{
	return a.kind == b.kind && (a.kind == TSR_VALUE_FLOAT ? memcmp(&a.real, &b.real, sizeof a.real) == 0 : a.integer == b.integer);
}

static bool looks_alike(tsr_elab *el, const tsr_definition *d, const tsr_slots *s)
{
	if (d->noperands != s->noperands || d->gradients[0] != tsr_elab_tensor(el, s->result)->differentiable)
		return false;
	for (uint32_t i = 0; i < s->noperands; i++) {
		tsr_value a = d->operands[i], b = s->operands[i];
		if (is_tensor(a) != is_tensor(b) || (is_tensor(b) ? d->gradients[1 + i] != has_gradient(el, b) : !same_number(a, b)))
			return false;
	}
	return true;
}

static tsr_tensor_id tensor_in(const tsr_slots *s, int slot)
{
	if (slot < 0 || slot > (int)s->noperands)
		return TSR_NONE;
	return slot ? is_tensor(s->operands[slot - 1]) ? s->operands[slot - 1].tensor.id : TSR_NONE : s->result;
}

/* Assignments of other slots as those of `s`; `good` is lost where they mention what is in no slot. */
typedef struct copying { tsr_elab *el; const tsr_slots *from, *to; bool good; } copying;

static tsr_operand copied_operand(copying *c, tsr_operand o)
{
	c->good &= !c->from || (tensor_in(c->from, o.slot) == o.tensor && o.tensor != TSR_NONE);
	o.tensor = tensor_in(c->to, o.slot);
	return o;
}

static tsr_rhs *copied_rhs(copying *c, const tsr_rhs *of)
{
	tsr_rhs *r = TSR_NEW(c->el->arena, tsr_rhs);
	*r = *of;
	switch (r->kind) {
	case TSR_RHS_OPERAND: r->operand = copied_operand(c, r->operand); break;
	case TSR_RHS_CONST: break;
	case TSR_RHS_CONVERT: c->good = false; break;
	case TSR_RHS_OP:
		for (uint32_t i = 0; i < 3; i++)
			r->op.args[i] = of->op.args[i] ? copied_rhs(c, of->op.args[i]) : NULL;
		break;
	}
	return r;
}

static tsr_assigns *copied(copying *c, const tsr_assigns *of)
{
	tsr_assigns *out = of ? TSR_NEW(c->el->arena, tsr_assigns) : NULL;
	for (uint32_t i = 0; of && i < of->v.n; i++) {
		tsr_assign a = of->v.at[i];
		c->good &= !c->from || a.record == c->from->record;
		a.record = c->to->record;
		a.target = copied_operand(c, a.target);
		a.rhs = copied_rhs(c, a.rhs);
		tsr_push(c->el->arena, &out->v, a);
	}
	return out;
}

/* A definition that names around it may change is evaluated each time: those of a frame come and go. */
static bool is_fixed(const tsr_value *definition)
{
	const tsr_ast *body;
	const tsr_env *env;
	tsr_level level;
	return !definition || (tsr_function_closure(*definition, &body, &env, &level) && !tsr_env_nearest_frame(env));
}

static bool can_be_kept(const tsr_operation *op, const tsr_slots *s)
{
	bool good = is_fixed(&op->forward) && is_fixed(op->grad);
	for (uint32_t i = 0; i < s->noperands; i++)
		good &= !is_tensor(s->operands[i]) || s->operands[i].tensor.part == TSR_PART_VALUE;
	return good;
}

static void keep(tsr_elab *el, tsr_operation *op, const tsr_tensor *t, const tsr_slots *s)
{
	enum { MOST_KEPT = 8 };
	copying c = {el, s, s, true};
	tsr_definition *d = TSR_NEW(el->arena, tsr_definition);
	*d = (tsr_definition){.noperands = s->noperands, .operands = TSR_NEW_N(el->arena, tsr_value, s->noperands + 1),
	                      .gradients = TSR_NEW_N(el->arena, bool, s->noperands + 1)};
	d->gradients[0] = t->differentiable;
	for (uint32_t i = 0; i < s->noperands; i++) {
		d->operands[i] = s->operands[i];
		d->gradients[1 + i] = has_gradient(el, s->operands[i]);
	}
	d->forward = copied(&c, t->op.forward);
	d->backward = copied(&c, t->op.backward);
	if (c.good && op->kept.n < MOST_KEPT)
		tsr_push(el->arena, &op->kept, d);
}

bool tsr_define(tsr_elab *el, tsr_operation *op, tsr_tensor *t, tsr_slots *s, tsr_span site)
{
	bool fixed = can_be_kept(op, s);
	for (uint32_t i = 0; fixed && i < op->kept.n; i++)
		if (looks_alike(el, op->kept.at[i], s)) {
			copying c = {el, NULL, s, true};
			t->op.forward = copied(&c, op->kept.at[i]->forward);
			t->op.backward = copied(&c, op->kept.at[i]->backward);
			return true;
		}
	uint32_t tensors = el->g->tensors.n, said = el->tc->diags.n;
	t->op.forward = evaluated(el, op->forward, s, site);
	if (t->op.forward && t->differentiable)
		t->op.backward = evaluated(el, *op->grad, s, site);
	if (!t->op.forward || (t->differentiable && !t->op.backward))
		return false;
	if (fixed && tensors == el->g->tensors.n && said == el->tc->diags.n)
		keep(el, op, t, s);
	return true;
}
