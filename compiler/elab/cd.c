/* Assignment code.  With slots in scope (the definition of an operation) both sides are slots and the record is the
 * operation's; without, the assignment makes a record of its own: the outermost primitive of the right-hand side is
 * pointwise or follows ~logic, and what stands deeper is a tensor expression without gradient, computed just before. */
#include "state.h"
#include <string.h>

/* ---- the target ---------------------------------------------------------------------------------------------------------- */

static const char *why_not(tsr_tensor_kind kind)
{
	switch (kind) {
	case TSR_TENSOR_OP: case TSR_TENSOR_PARAM: case TSR_TENSOR_STATE: return NULL;
	case TSR_TENSOR_LITERAL: return "a literal";
	case TSR_TENSOR_FILL: return "a number";
	case TSR_TENSOR_POSITIONS: return "positions ()";
	case TSR_TENSOR_RANDOM: return "a draw of random words";
	case TSR_TENSOR_FILE: return "the data of a file";
	case TSR_TENSOR_NUMBER: return "a number of the program";
	case TSR_TENSOR_SIZE: return "a size";
	case TSR_TENSOR_INPUT: return "an argument";
	}
	return NULL;
}

static bool target(tsr_elab *el, const tsr_env *env, const tsr_ast *e, tsr_operand *out)
{
	tsr_value v = tsr_evaluate(el->ev, TSR_LEVEL_CD, env, e);
	if (v.kind == TSR_VALUE_UNKNOWN)
		v = tsr_aside_operand(el, v.unknown, e->span);
	if (v.kind != TSR_VALUE_TENSOR) {
		tsr_eval_type_error(el->ev, e->span, "a tensor to assign to", v);
		return false;
	}
	*out = (tsr_operand){v.tensor.id, (tsr_part)v.tensor.part, v.tensor.slot, e->span};
	if (v.tensor.id == TSR_NONE || out->part == TSR_PART_GRAD)
		return true;
	const char *what = why_not(tsr_elab_tensor(el, v.tensor.id)->kind);
	if (what)
		tsr_eval_report(el->ev, TSR_E_ASSIGN, e->span, "%s cannot be assigned to", what);
	return !what;
}

static tsr_value assignment(tsr_elab *el, const tsr_ast *e, tsr_operand to, tsr_rhs *rhs, tsr_record_id record)
{
	tsr_acc acc;
	if (!tsr_acc_find(e->assign.accum, &acc)) {
		tsr_eval_report(el->ev, TSR_E_ASSIGN, e->at, "there is no accumulator `=%s`", e->assign.accum);
		return TSR_POISON;
	}
	tsr_codetree *c = tsr_codetree_new(el, TSR_CODE_ASSIGN, e->span);
	c->assign = (tsr_assign){e->span, to, acc, e->assign.colon && acc != TSR_ACC_SET, rhs, record};
	return tsr_code_value(c);
}

/* ---- with slots ------------------------------------------------------------------------------------------------------------ */

static tsr_value assign_slot(tsr_elab *el, const tsr_env *env, const tsr_ast *e)
{
	tsr_operand to;
	if (e->assign.trail.spec || e->assign.trail.logic) {
		tsr_eval_report(el->ev, TSR_E_LOGIC, e->span, "in the definition of an operation the slots say how axes meet: there is no ~logic");
		return TSR_POISON;
	}
	if (!target(el, env, e->assign.target, &to))
		return TSR_POISON;
	if (to.tensor == TSR_NONE)
		return TSR_UNIT;                       /* the gradient of an operand that has none */
	if (to.slot == TSR_NO_SLOT && !(e->assign.target->kind == TSR_AST_NAME && tsr_slot_of_name(e->assign.target->name.name, &to.slot)
		&& to.slot <= (int)el->slots->noperands)) {
		tsr_eval_report(el->ev, TSR_E_SLOT, e->assign.target->span, "the target is no slot of the operation");
		return TSR_POISON;
	}
	tsr_rhs *rhs = tsr_rhs_slots(el, env, e->assign.value);
	return rhs ? assignment(el, e, to, rhs, el->slots->record) : TSR_POISON;
}

/* ---- without: a record of its own ------------------------------------------------------------------------------------------- */

typedef struct side {            /* of an assignment that stands alone */
	tsr_op op;
	uint32_t n;                  /* arguments of op */
	const tsr_ast *at[3];
	tsr_value values[3];
} side;

static const char *text_of(tsr_elab *el, tsr_span s)
{
	const tsr_source *src = s.file ? tsr_source_get(el->tc, s.file) : NULL;
	return src && s.end <= src->size && s.end > s.start ? tsr_strndup(el->arena, src->text + s.start, s.end - s.start) : "..";
}

static bool ambiguous(tsr_elab *el, const tsr_ast *e, const side *r)
{
	const tsr_ast *v = e->assign.value;
	if (v->kind != TSR_AST_BINARY || strcmp(v->binary.op, "*") != 0 || e->assign.trail.logic || e->assign.trail.spec
	    || v->binary.trail.logic || v->binary.trail.spec)
		return false;
	if (r->values[0].kind != TSR_VALUE_TENSOR && r->values[1].kind != TSR_VALUE_TENSOR)
		return false;
	tsr_diag *d = tsr_eval_report(el->ev, TSR_E_LOGIC, v->at, "`*` alone does not say whether it multiplies elements or composes");
	const char *line = text_of(el, e->span);
	tsr_hint(el->tc, d, "element by element: `%s ~logic:\".\"`; matrix product: `%s ~logic:\"@\"`", line, line);
	return true;
}

static bool primitive_side(tsr_elab *el, const tsr_env *env, const tsr_ast *e, side *r)
{
	bool primitive = tsr_rhs_primitive(e, &r->op, &r->n, r->at);
	/* `*.` and `/.` are operators of tensor expressions, and a primitive's name applied to numbers is a number */
	if (e->kind == TSR_AST_BINARY && e->binary.op[strlen(e->binary.op) - 1] == '.')
		primitive = false;
	if (!primitive) {
		r->op = TSR_OP_ID;
		r->n = 1;
		r->at[0] = e;
	}
	bool good = true;
	for (uint32_t i = 0; i < r->n; i++) {
		r->values[i] = tsr_evaluate(el->ev, TSR_LEVEL_CD, env, r->at[i]);
		good &= !tsr_value_is_poison(r->values[i]);
	}
	return good;
}

static bool is_number(tsr_value v)
{
	return v.kind == TSR_VALUE_INT || v.kind == TSR_VALUE_FLOAT || v.kind == TSR_VALUE_BOOL;
}

static void add_forward(tsr_elab *el, tsr_codetree *seq, tsr_value v, tsr_span span)
{
	const tsr_tensor *t = tsr_elab_tensor(el, v.tensor.id);
	if (v.tensor.part != TSR_PART_VALUE || t->kind != TSR_TENSOR_OP || t->op.record == TSR_NONE)
		return;
	tsr_codetree *f = tsr_codetree_new(el, TSR_CODE_FORWARD, span);
	f->tensor = t->id;
	tsr_push(el->arena, &seq->seq, f);
}

static tsr_rhs *build_side(tsr_elab *el, side *r, tsr_record *record, tsr_codetree *seq, tsr_span span)
{
	tsr_rhs *args[3];
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->n; i++) {
		tsr_value v = r->values[i];
		if (is_number(v)) {
			args[i] = tsr_rhs_const(el, v, r->at[i]->span);
			continue;
		}
		if (!tsr_elab_operand(el, v, r->at[i]->span, &v))
			return NULL;
		const tsr_tensor *t = tsr_elab_tensor(el, v.tensor.id);
		if (t->poison)
			return NULL;
		tsr_operand o = {v.tensor.id, (tsr_part)v.tensor.part, (int)n + 1, r->at[i]->span};
		args[i] = tsr_rhs_operand(el, o);
		record->slots[1 + n] = t->id;
		record->rule.why.operands[n] = t->name;
		n++;
		add_forward(el, seq, v, r->at[i]->span);
	}
	record->rule.noperands = n;
	return r->op == TSR_OP_ID ? args[0] : tsr_rhs_op(el, r->op, r->n, args, span);
}

static bool record_logic(tsr_elab *el, const tsr_env *env, const tsr_ast *e, bool primitive, tsr_record *record)
{
	const tsr_trail *t = &e->assign.trail;
	const tsr_ast *v = e->assign.value;
	if (!t->logic && !t->spec && v->kind == TSR_AST_BINARY && primitive)
		t = &v->binary.trail;
	const char *text = t->spec ? t->spec : t->logic;
	if (!text)
		return tsr_template_logic(el, record, NULL, NULL, e->span);
	tsr_origin *o = TSR_NEW(el->arena, tsr_origin);
	*o = (tsr_origin){t->spec ? t->spec_span : t->logic_span, env};
	tsr_value logic = tsr_value_string(text);
	logic.string.origin = o;
	return tsr_template_logic(el, record, NULL, &logic, e->span);
}

static tsr_value assign_alone(tsr_elab *el, const tsr_env *env, const tsr_ast *e)
{
	tsr_operand to;
	side r;
	if (!target(el, env, e->assign.target, &to))
		return TSR_POISON;
	el->frozen++;
	bool good = primitive_side(el, env, e->assign.value, &r);
	el->frozen--;
	if (!good || ambiguous(el, e, &r))
		return TSR_POISON;
	tsr_tensor *t = tsr_elab_tensor(el, to.tensor);
	tsr_record *record = tsr_record_new(el, e->span, 3);
	tsr_codetree *seq = tsr_codetree_new(el, TSR_CODE_SEQ, e->span);
	record->rule.why = (tsr_why){.span = e->at.file ? e->at : e->span, .result = t->name,
	                             .what = tsr_format(el->arena, "the assignment `=%s%s`", e->assign.colon && e->assign.accum[0] != ':' ? ":" : "",
	                                                e->assign.accum)};
	record->slots[0] = to.tensor;
	tsr_rhs *rhs = build_side(el, &r, record, seq, e->assign.value->span);
	if (!rhs || !record_logic(el, env, e, r.op != TSR_OP_ID, record) || t->poison)
		return TSR_POISON;
	tsr_elab_emit(el, record);
	to.slot = 0;
	tsr_value code = assignment(el, e, to, rhs, record->id);
	if (code.kind != TSR_VALUE_CODE || !seq->seq.n)
		return code;
	tsr_push(el->arena, &seq->seq, code.code);
	return tsr_code_value(seq);
}

tsr_value tsr_cd_assign(tsr_eval *ev, const tsr_env *env, const tsr_ast *e)
{
	tsr_elab *el = tsr_elab_of(ev);
	return el->slots ? assign_slot(el, env, e) : assign_alone(el, env, e);
}

/* ---- code as a value ------------------------------------------------------------------------------------------------------------ */

tsr_value tsr_cd_sequence(tsr_eval *ev, uint32_t n, const tsr_value *codes, tsr_span span)
{
	tsr_elab *el = tsr_elab_of(ev);
	tsr_codetree *seq = tsr_codetree_new(el, TSR_CODE_SEQ, span);
	bool poison = false;
	enum { MOST_STEPS = 300000 };
	for (uint32_t i = 0; i < n; i++) {
		poison |= tsr_value_is_poison(codes[i]);
		if (codes[i].kind == TSR_VALUE_FUNCTION) {
			tsr_eval_type_error(ev, span, "code", codes[i]);
			poison = true;
		}
		if (codes[i].kind == TSR_VALUE_CODE) {
			tsr_push(el->arena, &seq->seq, codes[i].code);
			seq->steps += codes[i].code->steps;
		}
	}
	if (seq->steps > MOST_STEPS) {
		tsr_eval_exhaust(ev, span, tsr_format(el->arena, "the code has more than %d steps", MOST_STEPS));
		return TSR_POISON;
	}
	if (poison)
		return TSR_POISON;
	if (!seq->seq.n)
		return n ? codes[n - 1] : TSR_UNIT;
	return tsr_code_value(seq);
}

tsr_value tsr_cd_comment(tsr_eval *ev, const tsr_env *env, const tsr_ast *e)
{
	tsr_elab *el = tsr_elab_of(ev);
	tsr_text text;
	tsr_text_init(&text, el->arena);
	for (uint32_t i = 0; i < e->comment.text.n; i++) {
		const tsr_ast *part = e->comment.text.at[i];
		tsr_value v = tsr_evaluate(ev, TSR_LEVEL_CONFIG, env, part);
		if (tsr_value_is_poison(v))
			return v;
		if (i)
			tsr_text_char(&text, ' ');
		if (v.kind == TSR_VALUE_TENSOR && tsr_elab_tensor(el, v.tensor.id)->name)
			tsr_text_add(&text, tsr_elab_tensor(el, v.tensor.id)->name);
		else
			tsr_text_add(&text, v.kind == TSR_VALUE_STRING ? v.string.text : tsr_value_str(el->arena, v));
	}
	tsr_value body = tsr_evaluate(ev, TSR_LEVEL_CD, env, e->comment.code);
	if (body.kind != TSR_VALUE_CODE)
		return body.kind == TSR_VALUE_UNIT ? body : tsr_eval_type_error(ev, e->comment.code->span, "code", body);
	tsr_codetree *c = tsr_codetree_new(el, TSR_CODE_COMMENT, e->span);
	c->comment.text = tsr_strdup(el->arena, tsr_text_str(&text));
	c->comment.body = body.code;
	c->steps = body.code->steps;
	return tsr_code_value(c);
}

static tsr_value gradient_of(tsr_elab *el, tsr_value v, tsr_span span)
{
	const tsr_tensor *t = tsr_elab_tensor(el, v.tensor.id);
	if (v.tensor.part == TSR_PART_VALUE && t->differentiable) {
		v.tensor.part = TSR_PART_GRAD;
		return v;
	}
	tsr_diag *d = tsr_eval_report(el->ev, TSR_E_NO_GRADIENT, span, "`%s` has no gradient", t->name ? t->name : text_of(el, span));
	tsr_hint(el->tc, d, t->kind == TSR_TENSOR_OP ? "no operation between a parameter and it is differentiable, or there is no parameter below it"
	                                             : "parameters, `{ w }` in let%%op, have one");
	return TSR_POISON;
}

tsr_value tsr_cd_field(tsr_eval *ev, tsr_value v, tsr_name field, tsr_span span)
{
	tsr_elab *el = tsr_elab_of(ev);
	static const struct { const char *name; tsr_code_kind kind; bool grad; } codes[] = {
		{"forward", TSR_CODE_FORWARD, false}, {"backprop", TSR_CODE_BACKPROP, true}, {"zero_grads", TSR_CODE_ZERO_GRADS, true},
	};
	if (v.kind == TSR_VALUE_UNKNOWN)
		v = tsr_aside_operand(el, v.unknown, span);
	if (v.kind != TSR_VALUE_TENSOR)
		return tsr_eval_type_error(ev, span, "a tensor before `.`", v);
	if (strcmp(field, "grad") == 0)
		return gradient_of(el, v, span);
	if (strcmp(field, "value") == 0) {
		v.tensor.part = TSR_PART_VALUE;
		return v;
	}
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (strcmp(field, codes[i].name) == 0) {
			if (codes[i].grad && gradient_of(el, v, span).kind == TSR_VALUE_POISON)
				return TSR_POISON;
			tsr_codetree *c = tsr_codetree_new(el, codes[i].kind, span);
			c->tensor = v.tensor.id;
			return tsr_code_value(c);
		}
	return tsr_elab_region(ev, v, field, span);
}
