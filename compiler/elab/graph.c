/* The graph's tables: tensors, records, code; names; and closing, which takes the solved shapes from the store. */
#include "state.h"
#include "../module/module.h"
#include <string.h>

/* More than any program that is written needs; a recursion that doubles itself reaches it before the memory ends. */
enum { MOST_TENSORS = 100000, MOST_RECORDS = 100000 };

tsr_tensor *tsr_tensor_new(tsr_elab *el, tsr_tensor_kind kind, tsr_span span)
{
	if (el->g->tensors.n == MOST_TENSORS)
		tsr_eval_exhaust(el->ev, span, tsr_format(el->arena, "the program makes more than %d tensors", MOST_TENSORS));
	tsr_tensor *t = TSR_NEW(el->arena, tsr_tensor);
	t->id = el->g->tensors.n;
	t->kind = kind;
	t->span = span;
	tsr_push(el->arena, &el->g->tensors, t);
	tsr_push(el->arena, &el->owners, tsr_eval_path(el->ev));
	return t;
}

void tsr_tensor_show(tsr_elab *el, tsr_tensor *t)
{
	if (!t->shown)
		tsr_push(el->arena, &el->g->shown, t->id);
	t->shown = true;
}

static const char *called(tsr_elab *el, const tsr_tensor *t)
{
	switch (t->kind) {
	case TSR_TENSOR_PARAM: return "the parameter";
	case TSR_TENSOR_STATE: return "the state";
	case TSR_TENSOR_LITERAL: return "the literal";
	case TSR_TENSOR_FILE:
		return t->file->path ? tsr_format(el->arena, "the file \"%s\"", t->file->path)
			: tsr_format(el->arena, "the file of argument %lld", (long long)t->file->argument);
	case TSR_TENSOR_RANDOM: return "the random words";
	case TSR_TENSOR_INPUT: return "the argument";
	case TSR_TENSOR_OP: case TSR_TENSOR_FILL: case TSR_TENSOR_POSITIONS: case TSR_TENSOR_NUMBER: case TSR_TENSOR_SIZE: break;
	}
	return NULL;
}

void tsr_tensor_leaf(tsr_elab *el, tsr_tensor *t)
{
	tsr_elab_leaf(el, t, called(el, t));
}

tsr_record *tsr_record_new(tsr_elab *el, tsr_span span, uint32_t noperands)
{
	if (el->g->records.n == MOST_RECORDS)
		tsr_eval_exhaust(el->ev, span, tsr_format(el->arena, "the program makes more than %d operations", MOST_RECORDS));
	tsr_record *r = TSR_NEW(el->arena, tsr_record);
	r->id = el->g->records.n;
	r->span = span;
	r->site = tsr_eval_site_in(el->ev, el->program->main->ast->file, span);
	r->rule.noperands = noperands;
	r->slots = TSR_NEW_N(el->arena, tsr_tensor_id, noperands + 1);
	tsr_push(el->arena, &el->g->records, r);
	return r;
}

bool tsr_elab_name_taken(const tsr_elab *el, tsr_name name, tsr_tensor_id *by)
{
	tsr_map_entry *e = tsr_map_find(&el->used, tsr_key(name));
	if (!e || !e->value.i)
		return false;
	*by = (tsr_tensor_id)(e->value.i - 1);
	return true;
}

void tsr_tensor_drop_name(tsr_elab *el, tsr_tensor *t)
{
	tsr_map_put(&el->used, tsr_key(t->name))->value.i = 0;
	t->name = NULL;
}

void tsr_tensor_set_name(tsr_elab *el, tsr_tensor *t, tsr_name name)
{
	tsr_tensor_id other;
	tsr_name free_name = name;
	if (tsr_elab_name_taken(el, free_name, &other)) {
		tsr_map_entry *turn = tsr_map_put(&el->turns, tsr_key(name));
		do
			free_name = tsr_elab_name(el, tsr_format(el->arena, "%s.%lld", name, (long long)++turn->value.i));
		while (tsr_elab_name_taken(el, free_name, &other));
	}
	t->name = free_name;
	tsr_store_leaf_named(el->g->store, &t->shape, free_name);
	tsr_map_put(&el->used, tsr_key(free_name))->value.i = t->id + 1;
}

/* Tensors without a name of their own are called after what was being defined. */
void tsr_elab_finish_names(tsr_elab *el)
{
	for (uint32_t i = 0; i < el->g->tensors.n; i++) {
		tsr_tensor *t = el->g->tensors.at[i];
		if (t->name)
			continue;
		tsr_name owner = el->owners.at[i];
		tsr_name base = owner ? owner : tsr_elab_name(el, "t");
		tsr_tensor_id other;
		tsr_tensor_set_name(el, t, tsr_elab_name_taken(el, base, &other) ? base : tsr_elab_name(el, tsr_format(el->arena, "%s.1", base)));
	}
}

tsr_codetree *tsr_codetree_new(tsr_elab *el, tsr_code_kind kind, tsr_span span)
{
	tsr_codetree *c = TSR_NEW(el->arena, tsr_codetree);
	c->kind = kind;
	c->span = span;
	c->steps = 1;
	return c;
}

tsr_value tsr_code_value(tsr_codetree *c)
{
	return (tsr_value){.kind = TSR_VALUE_CODE, .code = c};
}

tsr_row tsr_elab_row_empty(tsr_elab *el)
{
	return tsr_row_closed(el->g->store, 0, NULL);
}

/* ---- code by name ------------------------------------------------------------------------------------------------- */

static tsr_code_id code_new(tsr_graph *g, tsr_name name, tsr_span span, tsr_codetree *tree)
{
	tsr_codedef *d = TSR_NEW(g->tc->arena, tsr_codedef);
	*d = (tsr_codedef){g->codes.n, name, span, tree};
	tsr_push(g->tc->arena, &g->codes, d);
	return d->id;
}

tsr_code_id tsr_elab_code(tsr_graph *g, tsr_codetree *tree, tsr_name name, tsr_span span)
{
	tsr_map_entry *e = tsr_map_put(&g->elab->code_ids, tsr_key(tree));
	if (!e->value.i) {
		e->value.i = code_new(g, name, span, tree) + 1;
		if (g->settled)
			tsr_prec_settle_code(g, tree);
	}
	return (tsr_code_id)(e->value.i - 1);
}

tsr_code_id tsr_elab_forward_code(tsr_graph *g, tsr_tensor_id id)
{
	tsr_map_entry *e = tsr_map_put(&g->elab->forward_ids, id);
	if (!e->value.i) {
		tsr_tensor *t = tsr_tensor_get(g, id);
		tsr_codetree *c = tsr_codetree_new(g->elab, TSR_CODE_FORWARD, t->span);
		c->tensor = id;
		tsr_name name = tsr_intern(g->tc->names, tsr_format(g->tc->arena, "%s.forward", t->name ? t->name : "t"));
		e->value.i = code_new(g, name, t->span, c) + 1;
	}
	return (tsr_code_id)(e->value.i - 1);
}

tsr_eval *tsr_elab_evaluator(tsr_graph *g) { return g->elab->ev; }

/* ---- every assignment ------------------------------------------------------------------------------------------------ */

void tsr_code_each_assign(tsr_codetree *c, tsr_assign_visit visit, void *data)
{
	switch (c->kind) {
	case TSR_CODE_SEQ:
		for (uint32_t i = 0; i < c->seq.n; i++)
			tsr_code_each_assign(c->seq.at[i], visit, data);
		return;
	case TSR_CODE_ASSIGN: visit(data, &c->assign); return;
	case TSR_CODE_COMMENT: tsr_code_each_assign(c->comment.body, visit, data); return;
	case TSR_CODE_FORWARD: case TSR_CODE_BACKPROP: case TSR_CODE_ZERO_GRADS: case TSR_CODE_FETCH: return;
	}
}

void tsr_graph_each_assign(tsr_graph *g, tsr_assign_visit visit, void *data)
{
	for (uint32_t i = 0; i < g->tensors.n; i++) {
		tsr_tensor *t = g->tensors.at[i];
		if (t->kind != TSR_TENSOR_OP)
			continue;
		for (uint32_t k = 0; t->op.forward && k < t->op.forward->v.n; k++)
			visit(data, &t->op.forward->v.at[k]);
		for (uint32_t k = 0; t->op.backward && k < t->op.backward->v.n; k++)
			visit(data, &t->op.backward->v.at[k]);
	}
	for (uint32_t i = 0; i < g->codes.n; i++)
		tsr_code_each_assign(g->codes.at[i]->tree, visit, data);
}

/* ---- closing ----------------------------------------------------------------------------------------------------------- */

bool tsr_graph_close(tsr_graph *g)
{
	bool mistaken = g->tc->nerrors > 0;
	if (mistaken && !tsr_elab_taint(g))
		return false;
	tsr_elab_finish_names(g->elab);
	for (uint32_t i = 0; i < g->tensors.n; i++)
		if (g->tensors.at[i]->kind == TSR_TENSOR_OP)
			tsr_store_interior(g->store, &g->tensors.at[i]->shape, g->tensors.at[i]->name, g->tensors.at[i]->span);
	bool good = tsr_store_close(g->store);
	for (uint32_t i = 0; i < g->tensors.n; i++) {
		tsr_tensor *t = g->tensors.at[i];
		if (!tsr_store_solved(g->store, &t->shape, &t->solved))
			t->poison = true;
		else
			tsr_elab_check_extent(g, t);
		if (!t->poison && t->kind != TSR_TENSOR_INPUT && t->kind != TSR_TENSOR_FILE)
			tsr_solved_given(g->store, &t->solved);
	}
	tsr_elab_check_annotations(g);
	if (mistaken)
		return false;
	tsr_prec_infer(g);
	if (!g->tc->nerrors)
		tsr_elab_advise(g);
	return good && !g->tc->nerrors;
}
