/* Products look up what they read of a looked-up value, which is then never stored:
 *
 *     for i, l { let $s = 0  letsym t = ids[i]  if t in 0..n { set $s = $s + T[t, l] }  store X[i, l] = $s }
 *     for i, k { .. for l { .. W[k, l] * X[i, l] .. } }
 *  ->
 *     for i, k { .. for l { .. W[k, l] * lookup(t = ids[i]; select(t in 0..n; T[t, l]; 0)) .. } }
 *
 * Tiles read the table's rows where they lie, through pointers, or packing goes through the lookup (classify.c, engine/rows.c).  All
 * that touches X in its unit must be this kernel and products that the engine computes, before anything writes what the lookup reads.  Where X lies along
 * the table's rows as the table does, any number of products take it; a table that is read across its rows is read so only once, for
 * one of them, since X has them side by side for the others.
 *
 * Requires gather. */
#include "pass.h"

enum { MOST_LOADS = 16 };

typedef struct lookups {
	tsr_pass *p;
	tsr_arena *a;
	tsr_loop_unit *unit;
	tsr_body_uses uses;
	uint32_t *touched;           /* per buffer: by how many statements of the unit */
	bool *exposed;               /* per buffer: some unit reads what an earlier run left */
} lookups;

/* What X is, by the loops of its kernel, which walk its axes. */
typedef struct looked {
	tsr_buffer_id x;
	uint32_t rank, syms[TSR_MOST_LOOPS];
	tsr_expr *value;
	bool side_by_side;           /* along the last axis, as X does */
	tsr_uses reads;
} looked;

static const tsr_expr *unconverted(const tsr_expr *e)
{
	while (e->kind == TSR_EXPR_CONVERT)
		e = e->converted;
	return e;
}

/* The statements in the nest, as gather.c leaves them: the element that is looked up, or NULL. */
static tsr_expr *element_of(const tsr_stmts *b)
{
	if (b->n != 4 || b->at[0]->kind != TSR_STMT_LET || b->at[1]->kind != TSR_STMT_LETSYM || b->at[2]->kind != TSR_STMT_IF
		|| b->at[3]->kind != TSR_STMT_STORE || !tsr_expr_is_neutral(b->at[0]->let.value, TSR_ACC_ADD))
		return NULL;
	tsr_local_id sum = b->at[0]->let.local;
	const tsr_stmt *set = b->at[2]->cond.body.n == 1 ? b->at[2]->cond.body.at[0] : NULL;
	if (!set || set->kind != TSR_STMT_SET || set->let.local != sum || set->let.value->kind != TSR_EXPR_OP || set->let.value->op.op != TSR_OP_ADD
		|| !tsr_expr_is_local(set->let.value->op.args[0], sum) || !tsr_expr_is_local(unconverted(b->at[3]->store.value), sum))
		return NULL;
	tsr_expr *element = set->let.value->op.args[1];
	return unconverted(element)->kind == TSR_EXPR_LOAD ? element : NULL;
}

static tsr_expr *with_value(void *user, tsr_expr *e) { return e->kind == TSR_EXPR_LOCAL ? user : e; }

/* lookup(t = a; select(the guard; element; 0)), converted as what is stored is. */
static tsr_expr *value_of(tsr_pass *p, const tsr_stmts *b, tsr_expr *element)
{
	tsr_expr *select = TSR_NEW(p->arena, tsr_expr), *lookup = TSR_NEW(p->arena, tsr_expr);
	*select = (tsr_expr){ .kind = TSR_EXPR_SELECT, .prec = element->prec };
	select->select.n = b->at[2]->cond.n;
	select->select.ranges = b->at[2]->cond.ranges;
	select->select.inside = element;
	select->select.outside = tsr_expr_const(p->arena, tsr_acc_neutral(TSR_ACC_ADD, element->prec));
	*lookup = (tsr_expr){ .kind = TSR_EXPR_LOOKUP, .prec = element->prec };
	lookup->lookup.sym = b->at[1]->letsym.sym;
	lookup->lookup.at = b->at[1]->letsym.value;
	lookup->lookup.value = select;
	return tsr_expr_rewrite(tsr_expr_place(p->arena, p->l, b->at[3]->store.value, 0, NULL, NULL), with_value, lookup);
}

static bool is_looked(const lookups *w, const tsr_stmt *kernel, looked *x)
{
	const tsr_loops *l = w->p->l;
	tsr_stmt *owner[TSR_MOST_LOOPS];
	if (kernel->kind != TSR_STMT_KERNEL)
		return false;
	tsr_nest nest = tsr_nest_of((tsr_stmts *)&kernel->kernel.body);
	tsr_expr *element = element_of(nest.body);
	const tsr_stmt *store = element ? nest.body->at[3] : NULL;
	const tsr_buffer *b = store ? l->buffers.at[store->store.buffer] : NULL;
	if (!b || tsr_buffer_kept(b) || w->exposed[b->id] || !b->rank || tsr_expr_reads(element, b->id) || tsr_expr_reads(nest.body->at[1]->letsym.value, b->id)
		|| !tsr_nest_covers(l, &nest, store, owner))
		return false;
	x->x = b->id;
	x->rank = b->rank;
	for (uint32_t i = 0; i < b->rank; i++)
		x->syms[i] = owner[i] ? owner[i]->loop.sym : TSR_NONE;
	x->value = value_of(w->p, nest.body, element);
	const tsr_expr *load = unconverted(element);
	const tsr_buffer *from = l->buffers.at[load->load.buffer];
	x->side_by_side = from->rank && tsr_lin_bare(&load->load.index[tsr_buffer_last(from)], x->syms[tsr_buffer_last(b)]);
	x->reads = (tsr_uses){ 0 };
	tsr_expr_uses(w->a, x->value, &x->reads);
	return true;
}

static bool disturbs(const looked *x, const tsr_uses *uses)
{
	bool any = false;
	for (uint32_t i = 0; i < x->reads.v.n; i++)
		any |= tsr_use_writes(tsr_uses_of(uses, x->reads.v.at[i].buffer));
	return any;
}

/* ---- readers ---------------------------------------------------------------------------------------------------------------- */

/* Loads that lookups have taken the place of, to put them back. */
typedef struct exchange { const lookups *w; const looked *x; bool back; uint32_t n; tsr_expr *load[MOST_LOADS], *lookup[MOST_LOADS]; } exchange;

static tsr_expr *exchanged(void *user, tsr_expr *e)
{
	exchange *s = user;
	for (uint32_t i = 0; s->back && i < s->n; i++)
		if (s->lookup[i] == e)
			return s->load[i];
	if (s->back || e->kind != TSR_EXPR_LOAD || e->load.buffer != s->x->x || s->n == MOST_LOADS)
		return e;
	s->load[s->n] = e;
	s->lookup[s->n] = tsr_expr_place(s->w->p->arena, s->w->p->l, s->x->value, s->x->rank, s->x->syms, e->load.index);
	return s->lookup[s->n++];
}

/* A product, before and after: then it has looked up all that it reads of X. */
static bool takes(const lookups *w, const looked *x, tsr_stmt *kernel, exchange *s)
{
	*s = (exchange){ .w = w, .x = x };
	if (kernel->kind != TSR_STMT_KERNEL || kernel->kernel.body.n != 1 || kernel->kernel.body.at[0]->kind != TSR_STMT_FOR)
		return false;
	tsr_stmt *nest = kernel->kernel.body.at[0];
	if (!tsr_contract_takes(w->p, nest))
		return false;
	tsr_stmt_rewrite(nest, exchanged, s);
	tsr_uses uses = { 0 };
	tsr_stmt_uses(w->a, nest, &uses);
	return !tsr_uses_of(&uses, x->x).loads && tsr_contract_takes(w->p, nest);
}

/* Every statement that reads X becomes one that looks up, or none does. */
static bool put(lookups *w, const looked *x, uint32_t at)
{
	uint32_t most = w->touched[x->x], n = 0;
	exchange *done = TSR_NEW_N(w->a, exchange, most + 1);
	uint32_t *reader = TSR_NEW_N(w->a, uint32_t, most + 1);
	bool all = true, disturbed = false;
	for (uint32_t i = at + 1; all && n + 1 < most && i < w->uses.body->n; i++) {
		disturbed |= disturbs(x, &w->uses.at[i]);
		tsr_use use = tsr_uses_of(&w->uses.at[i], x->x);
		if (!use.loads && !tsr_use_writes(use))
			continue;
		all = !disturbed && !tsr_use_writes(use) && takes(w, x, w->uses.body->at[i], &done[n]);
		reader[n++] = i;
	}
	all &= n + 1 == most && n > 0 && (n == 1 || x->side_by_side);
	for (uint32_t i = 0; i < n; i++) {
		done[i].back = true;
		if (all)
			tsr_body_uses_renew(&w->uses, reader[i]);
		else
			tsr_stmt_rewrite(w->uses.body->at[reader[i]], exchanged, &done[i]);
	}
	return all;
}

static void walk_unit(lookups *w, tsr_loop_unit *unit)
{
	w->unit = unit;
	w->touched = TSR_NEW_N(w->a, uint32_t, w->p->l->buffers.n + 1);
	tsr_body_uses_make(&w->uses, w->a, &unit->body);
	for (uint32_t i = 0; i < w->uses.body->n; i++)
		for (uint32_t k = 0; k < w->uses.at[i].v.n; k++)
			w->touched[w->uses.at[i].v.at[k].buffer]++;
	for (uint32_t at = 0; at < w->uses.body->n;) {
		looked x;
		if (!is_looked(w, w->uses.body->at[at], &x) || !put(w, &x, at)) {
			at++;
			continue;
		}
		tsr_pass_note(w->p, "%s: %s is looked up where products read it", unit->name, w->p->l->buffers.at[x.x]->name);
		tsr_body_remove(&w->uses, at);
		w->p->changes++;
	}
}

void tsr_pass_lookup(tsr_pass *p)
{
	lookups w = { .p = p, .a = tsr_arena_new() };
	w.exposed = tsr_exposed_of(p->l, w.a);
	for (uint32_t u = 0; u < p->l->units.n; u++)
		walk_unit(&w, p->l->units.at[u]);
	tsr_arena_free(w.a);
}
