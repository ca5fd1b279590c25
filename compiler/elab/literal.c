/* Tensor literals: [ ] output axes, ( ) input axes, [| |] batch axes, nested outer to inner; (e : tag) gives the axis of a
 * container its basis, or a tensor its precision. */
#include "state.h"
#include <string.h>

enum { MAX_DEPTH = 16 };

typedef struct reader {
	tsr_elab *el;
	const tsr_env *env;
	uint32_t depth;                          /* number of axes */
	struct { tsr_kind kind; uint32_t n; tsr_name basis; tsr_span span; } axis[MAX_DEPTH];
	bool measured;                           /* the first leaf was reached: depth is known */
	tsr_prec prec;
	TSR_VEC(tsr_scalar) data;                /* in nesting order */
	bool integer, boolean;
	bool tensors, others;                    /* leaves that are no numbers */
	tsr_values leaves;
	bool bad;
} reader;

static bool container(const tsr_ast *e)
{
	return e->kind == TSR_AST_LIST || e->kind == TSR_AST_TUPLE || e->kind == TSR_AST_ARRAY;
}

static tsr_kind kind_of(const tsr_ast *e)
{
	return e->kind == TSR_AST_LIST ? TSR_OUTPUT : e->kind == TSR_AST_TUPLE ? TSR_INPUT : TSR_BATCH;
}

static const char *axis_word(tsr_kind k)
{
	return k == TSR_OUTPUT ? "list" : k == TSR_INPUT ? "tuple" : "array";
}

static void malformed(reader *r, tsr_span span, uint32_t depth, const char *found)
{
	if (!r->bad) {
		tsr_diag *d = tsr_eval_report(r->el->ev, TSR_E_LITERAL, span, "ragged literal: %s", found);
		if (depth < r->depth)
			tsr_note_at(r->el->tc, d, r->axis[depth].span, "the first one at this depth is a %s of %u", axis_word(r->axis[depth].kind),
			            r->axis[depth].n);
	}
	r->bad = true;
}

static void add_leaf(reader *r, const tsr_ast *e, uint32_t depth)
{
	tsr_value v = tsr_evaluate(r->el->ev, TSR_LEVEL_OP, r->env, e);
	tsr_push(r->el->arena, &r->leaves, v);
	r->measured = true;
	if (tsr_value_is_poison(v)) {
		r->bad = true;
		return;
	}
	bool number = tsr_value_is_number(v) || v.kind == TSR_VALUE_BOOL;
	if (depth < r->depth)
		malformed(r, e->span, depth, "an element stands where the others have a container");
	if (v.kind == TSR_VALUE_UNKNOWN && v.unknown->kind != TSR_UNKNOWN_CONFIG)
		v = tsr_aside_operand(r->el, v.unknown, e->span);
	r->leaves.at[r->leaves.n - 1] = v;
	r->tensors |= v.kind == TSR_VALUE_TENSOR || v.kind == TSR_VALUE_NUMBER || v.kind == TSR_VALUE_LABEL;
	r->others |= !number && v.kind != TSR_VALUE_TENSOR && v.kind != TSR_VALUE_NUMBER && v.kind != TSR_VALUE_LABEL;
	r->integer &= v.kind == TSR_VALUE_INT;
	r->boolean &= v.kind == TSR_VALUE_BOOL;
	tsr_push(r->el->arena, &r->data, number ? tsr_value_scalar(v) : tsr_number_whole(0));
}

static void read_into(reader *r, const tsr_ast *e, uint32_t depth)
{
	tsr_name basis = NULL;
	if (e->kind == TSR_AST_TAGGED && (container(e->tagged.e) || e->tagged.e->kind == TSR_AST_TAGGED) && e->tagged.tag) {
		tsr_prec p;
		if (tsr_prec_find(e->tagged.tag, &p))
			r->prec = p;
		else
			basis = e->tagged.tag;
		e = e->tagged.e;
	}
	if (!container(e)) {
		add_leaf(r, e, depth);
		return;
	}
	if (depth == MAX_DEPTH) {
		malformed(r, e->span, depth, "more than 16 axes");
		return;
	}
	if (!r->measured && depth == r->depth) {
		r->axis[depth].kind = kind_of(e);
		r->axis[depth].n = e->items.n;
		r->axis[depth].span = e->span;
		r->depth++;
	}
	if (depth >= r->depth)
		malformed(r, e->span, depth, "a container stands where the others have a number");
	else if (r->axis[depth].kind != kind_of(e) || r->axis[depth].n != e->items.n)
		malformed(r, e->span, depth, tsr_format(r->el->arena, "a %s of %u", axis_word(kind_of(e)), e->items.n));
	else if (basis && r->axis[depth].basis && r->axis[depth].basis != basis)
		malformed(r, e->span, depth, tsr_format(r->el->arena, "the basis `%s` meets `%s` on one axis", basis, r->axis[depth].basis));
	if (r->bad)
		return;
	if (basis)
		r->axis[depth].basis = basis;
	for (uint32_t i = 0; i < e->items.n && !r->bad; i++)
		read_into(r, e->items.at[i], depth + 1);
}

/* Data in nesting order to memory order: batch, output, input. */
static tsr_numbers in_memory_order(reader *r)
{
	static const tsr_kind order[] = {TSR_BATCH, TSR_OUTPUT, TSR_INPUT};
	uint64_t stride[MAX_DEPTH], at = 1;
	for (int k = TSR_KINDS; k-- > 0;)
		for (uint32_t i = r->depth; i-- > 0;)
			if (r->axis[i].kind == order[k]) {
				stride[i] = at;
				at *= r->axis[i].n;
			}
	tsr_cell *out = TSR_NEW_N(r->el->arena, tsr_cell, r->data.n + 1);
	bool whole = true;
	for (uint32_t j = 0; j < r->data.n; j++)
		whole &= r->data.at[j].prec == TSR_PREC_I64;
	uint32_t index[MAX_DEPTH] = {0};
	for (uint32_t j = 0; j < r->data.n; j++) {
		uint64_t to = 0;
		for (uint32_t i = 0; i < r->depth; i++)
			to += index[i] * stride[i];
		tsr_scalar x = r->data.at[j];
		out[to] = whole ? (tsr_cell){.i = x.i} : (tsr_cell){.d = tsr_number_double(x)};
		for (uint32_t i = r->depth; i-- > 0;) {
			if (++index[i] < r->axis[i].n)
				break;
			index[i] = 0;
		}
	}
	return (tsr_numbers){whole, out};
}

static tsr_value literal_tensor(reader *r, tsr_span span)
{
	tsr_elab *el = r->el;
	tsr_tensor *t = tsr_tensor_new(el, TSR_TENSOR_LITERAL, span);
	tsr_dim dims[TSR_KINDS][MAX_DEPTH];
	uint32_t n[TSR_KINDS] = {0};
	for (uint32_t i = 0; i < r->depth; i++) {
		tsr_kind k = r->axis[i].kind;
		dims[k][n[k]++] = tsr_elab_axis(el, r->axis[i].n, r->axis[i].basis);
	}
	for (int k = 0; k < TSR_KINDS; k++)
		t->shape.row[k] = tsr_row_closed(el->g->store, n[k], dims[k]);
	t->literal.count = r->data.n;
	t->literal.data = in_memory_order(r);
	t->literal.integer = r->integer;
	if (r->boolean || r->prec) {
		t->prec = r->prec ? r->prec : TSR_PREC_BOOL;
		t->prec_fixed = true;
	}
	tsr_tensor_leaf(el, t);
	return tsr_value_tensor(t->id);
}

/* Tensors as elements: the library stacks them along a new axis of the container's kind, from the inside outwards. */
static tsr_value stacked(reader *r, tsr_span span)
{
	static const char *const stack[TSR_KINDS] = {"stack_batch", "stack_input", "stack_output"};
	tsr_values level = r->leaves;
	for (uint32_t i = r->depth; i-- > 0;) {
		tsr_value f = tsr_resolve(r->el->ev, r->env, NULL, tsr_elab_name(r->el, stack[r->axis[i].kind]), span);
		tsr_values outer = {0};
		for (uint32_t k = 0; k + r->axis[i].n <= level.n; k += r->axis[i].n) {
			tsr_value list = tsr_value_list(r->axis[i].n, level.at + k);
			tsr_push(r->el->arena, &outer, tsr_apply_values(r->el->ev, f, 1, &list, span));
		}
		level = outer;
	}
	return level.n == 1 ? level.at[0] : TSR_POISON;
}

static tsr_value plain_items(tsr_eval *ev, const tsr_env *env, const tsr_ast *e)
{
	tsr_value *at = TSR_NEW_N(tsr_elab_of(ev)->arena, tsr_value, e->items.n + 1);
	for (uint32_t i = 0; i < e->items.n; i++)
		at[i] = tsr_evaluate(ev, TSR_LEVEL_OP, env, e->items.at[i]);
	return (tsr_value){.kind = TSR_VALUE_TUPLE, .items = {e->items.n, at}};
}

/* Numbers only, as far as the syntax tells: then a bare tuple is an input axis. */
static bool all_numbers(const tsr_ast *e)
{
	switch ((int)e->kind) {
	case TSR_AST_INT: case TSR_AST_FLOAT: return true;
	case TSR_AST_UNARY: return all_numbers(e->unary.e);
	case TSR_AST_BINARY: return !e->binary.trail.spec && all_numbers(e->binary.left) && all_numbers(e->binary.right);
	case TSR_AST_TAGGED: return all_numbers(e->tagged.e);
	case TSR_AST_LIST: case TSR_AST_TUPLE: case TSR_AST_ARRAY:
		for (uint32_t i = 0; i < e->items.n; i++)
			if (!all_numbers(e->items.at[i]))
				return false;
		return e->items.n > 0;
	default: return false;
	}
}

/* (e : tag) around what is no container: a size-one axis of that basis for a number, a precision for a tensor. */
static tsr_value tagged(tsr_eval *ev, const tsr_env *env, const tsr_ast *e)
{
	tsr_elab *el = tsr_elab_of(ev);
	tsr_value v = tsr_evaluate(ev, TSR_LEVEL_OP, env, e->tagged.e);
	if (tsr_value_is_poison(v))
		return v;
	tsr_prec p;
	if (!e->tagged.tag) {
		tsr_annotated a;
		if (!tsr_elab_operand(el, v, e->span, &v) || !tsr_template_annotation(el, tsr_value_string(e->tagged.annotation), e->at, TSR_SYMBOLS_MET, &a))
			return TSR_POISON;
		tsr_elab_equal(el, v.tensor.id, (tsr_shape_of){a.shape, TSR_NONE}, (tsr_why){.span = e->span, .what = "the annotation"});
		if (!el->aside)
			tsr_push(el->arena, &el->annotations, ((tsr_annotation){v.tensor.id, e->span}));
		return v;
	}
	bool precision = tsr_prec_find(e->tagged.tag, &p);
	if (!precision && tsr_value_is_number(v)) {
		reader r = {.el = el, .integer = v.kind == TSR_VALUE_INT, .depth = 1};
		r.axis[0].kind = TSR_OUTPUT;
		r.axis[0].n = 1;
		r.axis[0].basis = e->tagged.tag;
		tsr_push(el->arena, &r.data, tsr_value_scalar(v));
		return literal_tensor(&r, e->span);
	}
	if (!precision) {
		tsr_diag *d = tsr_eval_report(ev, TSR_E_TYPE, e->span, "`%s` is no precision, and this is no literal that could have a basis", e->tagged.tag);
		tsr_hint(el->tc, d, "the precisions are bool u8 i8 i16 i32 u32 i64 f8 f16 bf16 f32 f64");
		return TSR_POISON;
	}
	if (!tsr_elab_operand(el, v, e->span, &v))
		return TSR_POISON;
	tsr_tensor *t = tsr_elab_tensor(el, v.tensor.id);
	if (t->prec_fixed && t->prec != p) {
		tsr_eval_report(ev, TSR_E_TYPE, e->span, "the precision of this tensor is %s already", tsr_prec_name(t->prec));
		return TSR_POISON;
	}
	t->prec = p;
	t->prec_fixed = true;
	return v;
}

tsr_value tsr_elab_literal(tsr_eval *ev, const tsr_env *env, const tsr_ast *e)
{
	tsr_elab *el = tsr_elab_of(ev);
	const tsr_ast *inside = e;
	while (inside->kind == TSR_AST_TAGGED)
		inside = inside->tagged.e;
	if (!container(inside) || (e->kind == TSR_AST_TAGGED && !e->tagged.tag))
		return tagged(ev, env, e);
	if (inside->kind == TSR_AST_TUPLE && !all_numbers(inside) && e == inside)
		return plain_items(ev, env, e);
	if (inside->items.n == 0)
		return tsr_value_list(0, NULL);
	reader r = {.el = el, .env = env, .integer = true, .boolean = true};
	read_into(&r, e, 0);
	if (r.bad)
		return TSR_POISON;
	if (r.others && r.depth == 1 && inside->kind == TSR_AST_LIST)
		return tsr_value_list(r.leaves.n, r.leaves.at);          /* functions, strings: a configuration list */
	if (r.others) {
		tsr_eval_report(ev, TSR_E_LITERAL, e->span, "the elements of a literal are numbers or tensors");
		return TSR_POISON;
	}
	return r.tensors ? stacked(&r, e->span) : literal_tensor(&r, e->span);
}

/* ---- configuration lists as tensors -------------------------------------------------------------------------------------------------- */

static bool read_list(reader *r, tsr_value v, uint32_t depth, tsr_span span)
{
	if (v.kind != TSR_VALUE_LIST) {
		if (!tsr_value_is_number(v) || depth != r->depth)
			return false;
		r->integer &= v.kind == TSR_VALUE_INT;
		tsr_push(r->el->arena, &r->data, tsr_value_scalar(v));
		return true;
	}
	if (depth == MAX_DEPTH || v.items.n == 0)
		return false;
	if (!r->data.n && depth == r->depth) {
		r->axis[depth].kind = TSR_OUTPUT;
		r->axis[depth].n = v.items.n;
		r->axis[r->depth++].span = span;
	}
	if (depth >= r->depth || r->axis[depth].n != v.items.n)
		return false;
	for (uint32_t i = 0; i < v.items.n; i++)
		if (!read_list(r, v.items.at[i], depth + 1, span))
			return false;
	return true;
}

/* A list of numbers that the configuration computed, where a tensor is wanted: output axes. */
bool tsr_literal_of_list(tsr_elab *el, tsr_value list, tsr_span span, tsr_value *out)
{
	reader r = {.el = el, .integer = true};
	if (!read_list(&r, list, 0, span))
		return false;
	*out = literal_tensor(&r, span);
	return true;
}
