/* Flattens code trees into units.  A forward is every operation below its tensor, operands before results, each once per
 * unit; a tensor that a unit uses without computing it keeps the value of an earlier run. */
#include "build.h"
#include <string.h>

/* ---- what an assignment reads -------------------------------------------------------------------------------------- */

void tsr_rhs_operands(const tsr_rhs *rhs, void (*visit)(void *user, const tsr_operand *o), void *user)
{
	switch (rhs->kind) {
	case TSR_RHS_OPERAND:
		visit(user, &rhs->operand);
		return;
	case TSR_RHS_CONST:
		return;
	case TSR_RHS_OP:
		for (uint32_t i = 0; i < tsr_op_get(rhs->op.op)->arity; i++)
			tsr_rhs_operands(rhs->op.args[i], visit, user);
		return;
	case TSR_RHS_CONVERT:
		tsr_rhs_operands(rhs->converted, visit, user);
		return;
	}
}

uint64_t tsr_operand_loops(const tsr_piece *p, const tsr_operand *o)
{
	uint64_t all = p->nloops == 64 ? UINT64_MAX : (UINT64_C(1) << p->nloops) - 1;
	if (o->slot == TSR_SLOT_ALL)
		return all;
	return o->slot == TSR_SLOT_SCALAR ? 0 : all & ~tsr_map_omitted(p, &p->maps[o->slot]);
}

typedef struct loops_of { const tsr_piece *p; uint64_t loops; } loops_of;

static void add_loops(void *user, const tsr_operand *o)
{
	loops_of *l = user;
	l->loops |= tsr_operand_loops(l->p, o);
}

uint64_t tsr_rhs_loops(const tsr_piece *p, const tsr_rhs *rhs)
{
	loops_of l = {p, 0};
	tsr_rhs_operands(rhs, add_loops, &l);
	return l.loops;
}

typedef struct liveness { const tsr_piece *p; bool live; } liveness;

static void add_liveness(void *user, const tsr_operand *o)
{
	liveness *l = user;
	l->live &= o->slot < 0 || l->p->live[o->slot];
}

bool *tsr_assign_active(tsr_arena *a, const tsr_assign *assign, const tsr_proj *p)
{
	bool *active = TSR_NEW_N(a, bool, p->npieces + 1);
	for (uint32_t i = 0; i < p->npieces; i++) {
		liveness l = {&p->pieces[i], true};
		add_liveness(&l, &assign->target);
		tsr_rhs_operands(assign->rhs, add_liveness, &l);
		active[i] = l.live;
	}
	return active;
}

/* ---- forward ------------------------------------------------------------------------------------------------------- */

typedef struct walk { tsr_builder *b; bool *below; TSR_VEC(tsr_tensor_id) pending; } walk;

static void walk_to(walk *w, tsr_tensor_id t)
{
	if (t == TSR_NONE || w->below[t])
		return;
	w->below[t] = true;
	tsr_push(w->b->arena, &w->pending, t);
}

static void walk_operand(void *user, const tsr_operand *o)
{
	if (o->part == TSR_PART_VALUE)
		walk_to(user, o->tensor);
}

bool *tsr_code_below(tsr_builder *b, tsr_tensor_id root)
{
	walk w = {.b = b, .below = TSR_NEW_N(b->arena, bool, b->g->tensors.n + 1)};
	walk_to(&w, root);
	while (w.pending.n) {
		const tsr_tensor *t = tsr_tensor_get(b->g, w.pending.at[--w.pending.n]);
		if (t->kind != TSR_TENSOR_OP)
			continue;
		if (t->op.record != TSR_NONE) {
			const tsr_record *r = b->g->records.at[t->op.record];
			for (uint32_t i = 1; i <= r->rule.noperands; i++)
				walk_to(&w, r->slots[i]);
		}
		for (uint32_t i = 0; t->op.forward && i < t->op.forward->v.n; i++)
			tsr_rhs_operands(t->op.forward->v.at[i].rhs, walk_operand, &w);
	}
	return w.below;
}

const tsr_proj *tsr_code_maps(tsr_builder *b, tsr_record_id record)
{
	if (record >= b->nprojs) {
		uint32_t n = b->g->records.n + b->g->records.n / 2 + 8;
		b->projs = tsr_realloc(b->arena, b->projs, sizeof *b->projs * b->nprojs, sizeof *b->projs * n);
		b->derived = tsr_realloc(b->arena, b->derived, sizeof *b->derived * b->nprojs, sizeof *b->derived * n);
		b->nprojs = n;
	}
	if (!b->derived[record]) {
		b->derived[record] = true;
		b->projs[record] = tsr_proj_derive(b->g, record);
		if (b->projs[record])
			tsr_proj_check(b->g, b->projs[record]);
	}
	return b->projs[record];
}

void tsr_code_add(tsr_builder *b, const tsr_assign *a)
{
	const tsr_proj *p = tsr_code_maps(b, a->record);
	if (!p || !tsr_code_rules(b, a, p)) {
		b->failed = true;
		return;
	}
	if (a->target.part == TSR_PART_GRAD)
		b->known_zero[a->target.tensor] = false;
	tsr_step step = {.kind = TSR_STEP_ASSIGN, .span = a->span};
	step.assign.a = *a;
	step.assign.proj = p;
	tsr_push(b->arena, &b->unit->steps, step);
}

static void forward_one(tsr_builder *b, const tsr_tensor *t)
{
	if (b->forward_done[t->id])
		return;
	b->forward_done[t->id] = true;
	if (t->poison) {
		b->failed = true;
	} else if (t->kind == TSR_TENSOR_RANDOM) {
		tsr_step step = {.kind = TSR_STEP_RANDOM, .span = t->span, .random = t->id};
		tsr_push(b->arena, &b->unit->steps, step);
	} else if (t->kind == TSR_TENSOR_OP && t->op.forward) {
		tsr_code_overlaps(b, t);
		for (uint32_t i = 0; i < t->op.forward->v.n; i++)
			tsr_code_add(b, &t->op.forward->v.at[i]);
	}
}

static void forward(tsr_builder *b, tsr_tensor_id root)
{
	const bool *below = tsr_code_below(b, root);
	for (uint32_t i = 0; i < b->g->tensors.n; i++)
		if (below[i])
			forward_one(b, b->g->tensors.at[i]);
}

/* ---- trees --------------------------------------------------------------------------------------------------------- */

static void flatten(tsr_builder *b, const tsr_codetree *t)
{
	switch (t->kind) {
	case TSR_CODE_SEQ:
		for (uint32_t i = 0; i < t->seq.n; i++)
			flatten(b, t->seq.at[i]);
		return;
	case TSR_CODE_ASSIGN:
		tsr_code_add(b, &t->assign);
		return;
	case TSR_CODE_FORWARD:
		forward(b, t->tensor);
		return;
	case TSR_CODE_BACKPROP:
		tsr_code_backprop(b, t->tensor);
		return;
	case TSR_CODE_ZERO_GRADS:
		tsr_code_zero_grads(b, t->tensor);
		return;
	case TSR_CODE_FETCH:
		forward_one(b, tsr_tensor_get(b->g, t->tensor));
		return;
	case TSR_CODE_COMMENT: {
		tsr_step step = {.kind = TSR_STEP_COMMENT, .span = t->span, .comment = t->comment.text};
		tsr_push(b->arena, &b->unit->steps, step);
		flatten(b, t->comment.body);
		return;
	}
	}
}

tsr_code *tsr_code_build(tsr_graph *g)
{
	tsr_arena *a = g->tc->arena;
	uint32_t n = g->tensors.n;
	tsr_builder b = {.g = g, .arena = a};
	b.forward_done = TSR_NEW_N(a, bool, n + 1);
	b.known_zero = TSR_NEW_N(a, bool, n + 1);
	b.needs_grad = TSR_NEW_N(a, char, n + 1);
	b.own_record = TSR_NEW_N(a, tsr_record_id, n + 1);
	for (uint32_t i = 0; i < n; i++)
		b.own_record[i] = TSR_NONE;
	tsr_code *code = TSR_NEW(a, tsr_code);
	code->graph = g;
	for (uint32_t i = 0; i < g->codes.n; i++) {
		b.unit = TSR_NEW(a, tsr_unit);
		b.unit->code = i;
		b.unit->name = g->codes.at[i]->name;
		memset(b.forward_done, 0, n);
		memset(b.known_zero, 0, n);
		flatten(&b, g->codes.at[i]->tree);
		tsr_code_fold_zeros(&b);
		tsr_push(a, &code->units, b.unit);
	}
	return b.failed ? NULL : code;
}
