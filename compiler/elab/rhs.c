/* Right-hand sides: expressions of primitives over slots and numbers.  Constants are folded; an integer that was written
 * without a point has no precision yet and takes that of its neighbours. */
#include "state.h"
#include <stdlib.h>
#include <string.h>

tsr_rhs *tsr_rhs_const(tsr_elab *el, tsr_value v, tsr_span span)
{
	tsr_rhs *r = TSR_NEW(el->arena, tsr_rhs);
	r->kind = TSR_RHS_CONST;
	r->span = span;
	r->value = tsr_value_scalar(v);
	r->prec = v.kind == TSR_VALUE_FLOAT ? TSR_PREC_F32 : v.kind == TSR_VALUE_BOOL ? TSR_PREC_BOOL : TSR_PREC_NONE;
	return r;
}

tsr_rhs *tsr_rhs_operand(tsr_elab *el, tsr_operand o)
{
	tsr_rhs *r = TSR_NEW(el->arena, tsr_rhs);
	r->kind = TSR_RHS_OPERAND;
	r->span = o.span;
	r->operand = o;
	return r;
}

/* All arguments constant: the constant. Integers stay integers where the primitive keeps them. */
static bool fold(tsr_elab *el, tsr_op op, uint32_t n, tsr_rhs **args, tsr_span span, tsr_rhs **out)
{
	tsr_scalar x[3];
	tsr_prec precs[3] = { TSR_PREC_NONE };
	bool integers = true;
	for (uint32_t i = 0; i < n; i++) {
		if (args[i]->kind != TSR_RHS_CONST)
			return false;
		precs[i] = args[i]->prec == TSR_PREC_NONE ? TSR_PREC_I64 : args[i]->prec == TSR_PREC_BOOL ? TSR_PREC_BOOL : TSR_PREC_F64;
		integers &= precs[i] != TSR_PREC_F64;
	}
	tsr_prec p = integers ? tsr_op_operand_prec(op, precs) : TSR_PREC_F64;
	p = tsr_prec_is_float(p) ? TSR_PREC_F64 : p;
	for (uint32_t i = 0; i < n; i++)
		x[i] = tsr_number_in(op == TSR_OP_WHERE && i == 0 ? TSR_PREC_BOOL : p, args[i]->value);
	if ((op == TSR_OP_IDIV || op == TSR_OP_MOD) && tsr_number_double(args[1]->value) == 0)
		return false;
	tsr_scalar y = tsr_op_apply(op, p, x);
	tsr_rhs *r = TSR_NEW(el->arena, tsr_rhs);
	r->kind = TSR_RHS_CONST;
	r->span = span;
	r->value = tsr_prec_is_float(y.prec) ? tsr_number_real(y.d) : tsr_number_whole(y.i);
	r->prec = tsr_prec_is_float(y.prec) ? TSR_PREC_F32 : y.prec == TSR_PREC_BOOL ? TSR_PREC_BOOL : TSR_PREC_NONE;
	*out = r;
	return true;
}

tsr_rhs *tsr_rhs_op(tsr_elab *el, tsr_op op, uint32_t n, tsr_rhs **args, tsr_span span)
{
	tsr_rhs *r;
	for (uint32_t i = 0; i < n; i++)
		if (!args[i])
			return NULL;
	if (fold(el, op, n, args, span, &r))
		return r;
	r = TSR_NEW(el->arena, tsr_rhs);
	r->kind = TSR_RHS_OP;
	r->span = span;
	r->op.op = op;
	for (uint32_t i = 0; i < n; i++)
		r->op.args[i] = args[i];
	return r;
}

static bool find_infix(tsr_name text, tsr_op *op)
{
	if (strcmp(text, "*.") == 0 || strcmp(text, "/.") == 0 || strcmp(text, "**.") == 0)
		text = text[1] == '*' ? "**" : text[0] == '*' ? "*" : "/";
	return tsr_op_find(text, 2, op);
}

/* An application of a primitive: its operation and argument syntax. */
bool tsr_rhs_primitive(const tsr_ast *e, tsr_op *op, uint32_t *n, const tsr_ast **args)
{
	if (e->kind == TSR_AST_BINARY) {
		args[0] = e->binary.left;
		args[1] = e->binary.right;
		*n = 2;
		return !e->binary.trail.spec && !e->binary.trail.captures && find_infix(e->binary.op, op);
	}
	if (e->kind == TSR_AST_UNARY) {
		args[0] = e->unary.e;
		*n = 1;
		return tsr_op_find(strcmp(e->unary.op, "-") == 0 ? "neg" : e->unary.op, 1, op);
	}
	if (e->kind != TSR_AST_APPLY || e->apply.fn->kind != TSR_AST_NAME || e->apply.fn->name.qualifier || e->apply.args.n > 3)
		return false;
	*n = e->apply.args.n;
	for (uint32_t i = 0; i < *n; i++) {
		if (e->apply.args.at[i].kind != TSR_ARG_PLAIN)
			return false;
		args[i] = e->apply.args.at[i].value;
	}
	return tsr_op_find(e->apply.fn->name.name, *n, op);
}

/* The slot that the word of `n` letters names: lhs, rhs (the first operand), rhs1, rhs2 .., all. */
static bool slot_word(const char *word, size_t n, int *slot)
{
	if (n == 3 && strncmp(word, "lhs", 3) == 0)
		*slot = 0;
	else if (n == 3 && strncmp(word, "all", 3) == 0)
		*slot = TSR_SLOT_ALL;
	else if (n == 3 && strncmp(word, "rhs", 3) == 0)
		*slot = 1;
	else if ((n == 4 || n == 5) && strncmp(word, "rhs", 3) == 0 && word[3] >= '1' && word[3] <= '9' && (n == 4 || (word[4] >= '0' && word[4] <= '9')))
		*slot = atoi(word + 3);
	else
		return false;
	return true;
}

bool tsr_slot_of_name(tsr_name name, int *slot)
{
	const char *first = strchr(name, '_'), *last = strrchr(name, '_');
	if (!first || !last[1] || first == name)
		return last && last[1] && slot_word(last + 1, strlen(last + 1), slot);
	return slot_word(last + 1, strlen(last + 1), slot) || slot_word(name, (size_t)(first - name), slot);
}

/* The value that stands at e, or that is a member of the list there. */
static tsr_rhs *member(tsr_elab *el, const tsr_ast *e, tsr_value v)
{
	int slot;
	switch (v.kind) {
	case TSR_VALUE_POISON: return NULL;
	case TSR_VALUE_INT: case TSR_VALUE_FLOAT: case TSR_VALUE_BOOL: return tsr_rhs_const(el, v, e->span);
	case TSR_VALUE_UNKNOWN: return tsr_rhs_const(el, tsr_value_int(1), e->span);      /* of a definition that will not be computed */
	case TSR_VALUE_NUMBER: case TSR_VALUE_LABEL:
		return tsr_elab_operand(el, v, e->span, &v)
			? tsr_rhs_operand(el, (tsr_operand){v.tensor.id, TSR_PART_VALUE, TSR_SLOT_SCALAR, e->span}) : NULL;
	case TSR_VALUE_TENSOR:
		slot = v.tensor.slot;
		if (v.tensor.id == TSR_NONE) {
			tsr_eval_report(el->ev, TSR_E_NO_GRADIENT, e->span, "this operand has no gradient to read");
			return NULL;
		}
		if (slot == TSR_NO_SLOT && !(e->kind == TSR_AST_NAME && tsr_slot_of_name(e->name.name, &slot)
			&& slot <= (int)el->slots->noperands)) {
			tsr_diag *d = tsr_eval_report(el->ev, TSR_E_SLOT, e->span, "nothing says how this tensor's axes meet those of the operation");
			tsr_hint(el->tc, d, "pass it as an operand, or give its name the slot: x_rhs1 is indexed like the first operand");
			return NULL;
		}
		return tsr_rhs_operand(el, (tsr_operand){v.tensor.id, (tsr_part)v.tensor.part, slot, e->span});
	case TSR_VALUE_UNIT: case TSR_VALUE_STRING: case TSR_VALUE_LIST: case TSR_VALUE_TUPLE: case TSR_VALUE_OPTION:
	case TSR_VALUE_FUNCTION: case TSR_VALUE_CODE: case TSR_VALUE_ARGUMENT: break;
	}
	tsr_eval_type_error(el->ev, e->span, "an operand", v);
	return NULL;
}

static tsr_rhs *leaf(tsr_elab *el, const tsr_env *env, const tsr_ast *e)
{
	return member(el, e, tsr_evaluate(el->ev, TSR_LEVEL_CONFIG, env, e));
}

/* `mul vs`: a primitive of two applied to a list combines its members, from the left.  false: e is nothing of the kind. */
static bool combined(tsr_elab *el, const tsr_env *env, const tsr_ast *e, tsr_rhs **out)
{
	tsr_op op;
	if (e->kind != TSR_AST_APPLY || e->apply.fn->kind != TSR_AST_NAME || e->apply.fn->name.qualifier || e->apply.args.n != 1
	    || e->apply.args.at[0].kind != TSR_ARG_PLAIN || !tsr_op_find(e->apply.fn->name.name, 2, &op))
		return false;
	const tsr_ast *members = e->apply.args.at[0].value;
	tsr_value v = tsr_evaluate(el->ev, TSR_LEVEL_CONFIG, env, members);
	*out = NULL;
	if (v.kind != TSR_VALUE_LIST) {
		tsr_eval_type_error(el->ev, members->span, "a list of operands", v);
		return true;
	}
	if (v.items.n == 0) {
		tsr_eval_report(el->ev, TSR_E_TYPE, members->span, "the list of operands is empty");
		return true;
	}
	*out = member(el, members, v.items.at[0]);
	for (uint32_t i = 1; *out && i < v.items.n; i++)
		*out = tsr_rhs_op(el, op, 2, (tsr_rhs *[]){*out, member(el, members, v.items.at[i])}, e->span);
	return true;
}

tsr_rhs *tsr_rhs_slots(tsr_elab *el, const tsr_env *env, const tsr_ast *e)
{
	tsr_op op;
	uint32_t n;
	const tsr_ast *at[3];
	tsr_rhs *args[3], *all;
	if (combined(el, env, e, &all))
		return all;
	if (!tsr_rhs_primitive(e, &op, &n, at))
		return leaf(el, env, e);
	for (uint32_t i = 0; i < n; i++)
		args[i] = tsr_rhs_slots(el, env, at[i]);
	return tsr_rhs_op(el, op, n, args, e->span);
}
