/* A row that several innermost loops walk, one after the other, is walked by fewer: what one stores is still in a register when the next
 * wants it, and what both read is read once.
 *
 * Two such loops of one statement list, of equal extent and parallel or reductions, become one where iteration i of the second meets
 * only what iteration i of the first left, and nothing in between touches what the first does in a way that forbids it to move down.
 * So the sum of exponentials joins the loop that computes them, but neither joins the loop for their maximum; and what follows a window's sum element by element joins that.
 *
 * Late, since passes before know rows by loops of one statement.  The joined loop is a reduction if one of them is; one whose result may
 * go around the caches (stream.c) joins no reduction, nor does one that sums a window for each iteration: those iterations are lanes. */
#include "pass.h"

enum { MOST_BODY = 8, LARGE = 4 };

typedef struct walks { tsr_pass *p; tsr_arena *scratch; tsr_loop_unit *unit; } walks;

/* What loops store much, or sum for each iteration. */
typedef struct has { bool large, window; } has;

/* Statements that only sum, as a window's are. */
static bool sums(const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		bool inside = (s->kind == TSR_STMT_FOR && !s->loop.contraction && s->loop.how == TSR_FOR_REDUCE && tsr_size_is_const(s->loop.extent) && sums(&s->loop.body))
			|| (s->kind == TSR_STMT_IF && sums(&s->cond.body));
		if (!inside && s->kind != TSR_STMT_LET && s->kind != TSR_STMT_SET)
			return false;
	}
	return true;
}

/* A loop of plain statements, and of windows that sum for each iteration, whose iterations are lanes where the loop is parallel alone. */
static bool walk(const walks *w, const tsr_stmt *s, has *of)
{
	if (s->kind != TSR_STMT_FOR || s->loop.contraction || s->loop.split || (s->loop.how != TSR_FOR_PARALLEL && s->loop.how != TSR_FOR_REDUCE))
		return false;
	for (uint32_t i = 0; i < s->loop.body.n; i++) {
		const tsr_stmt *x = s->loop.body.at[i];
		if (x->kind == TSR_STMT_STORE || x->kind == TSR_STMT_UPDATE)
			of->large |= tsr_buffer_bytes(w->p->l->buffers.at[x->store.buffer]) >= LARGE * w->p->target->l3;
		else if (!sums(&(tsr_stmts){ &s->loop.body.at[i], 1, 1 }))
			return false;
		of->window |= x->kind == TSR_STMT_FOR;
	}
	return true;
}

/* ---- locals ---------------------------------------------------------------------------------------------------------------- */

/* The statement reads or sets the local; one of the kinds that are not looked into may. */
static bool knows_local(const tsr_stmt *s, tsr_local_id id)
{
	const tsr_stmts *body = NULL;
	switch (s->kind) {
	case TSR_STMT_STORE: case TSR_STMT_UPDATE: return tsr_expr_reads_local(s->store.value, id);
	case TSR_STMT_LET: case TSR_STMT_SET: return s->let.local == id || tsr_expr_reads_local(s->let.value, id);
	case TSR_STMT_LETSYM: return tsr_expr_reads_local(s->letsym.value, id);
	case TSR_STMT_FOR: body = &s->loop.body; break;
	case TSR_STMT_IF: body = &s->cond.body; break;
	case TSR_STMT_RANDOM: case TSR_STMT_CHECK: case TSR_STMT_KERNEL: case TSR_STMT_KINDS: return true;
	}
	for (uint32_t i = 0; i < body->n; i++)
		if (knows_local(body->at[i], id))
			return true;
	return false;
}

/* One gives a local a value that the other reads or sets. */
static bool share_local(const tsr_stmt *x, const tsr_stmt *y)
{
	if (x->kind == TSR_STMT_LET || x->kind == TSR_STMT_SET)
		return knows_local(y, x->let.local);
	const tsr_stmts *body = tsr_stmt_inside(x);
	for (uint32_t i = 0; body && i < body->n; i++)
		if (share_local(body->at[i], y))
			return true;
	return false;
}

/* ---- order ----------------------------------------------------------------------------------------------------------------- */

/* The loop may run after the statement instead of before it. */
static bool passes_over(const walks *w, const tsr_stmt *loop, const tsr_stmt *s)
{
	tsr_accesses x = { .a = w->scratch }, y = { .a = w->scratch };
	tsr_stmt_accesses(loop, &x);
	tsr_stmt_accesses(s, &y);
	if (x.unknown || y.unknown || y.engine || share_local(loop, s) || share_local(s, loop))
		return false;
	for (uint32_t i = 0; i < x.v.n; i++)
		for (uint32_t k = 0; k < y.v.n; k++)
			if (x.v.at[i].buffer == y.v.at[k].buffer && (x.v.at[i].write || y.v.at[k].write))
				return false;
	return true;
}

/* One stores, or reads, what the other reads: there is something to be had. */
static bool meet(const tsr_accesses *x, const tsr_accesses *y)
{
	for (uint32_t i = 0; i < x->v.n; i++)
		for (uint32_t k = 0; k < y->v.n; k++)
			if (x->v.at[i].buffer == y->v.at[k].buffer && !y->v.at[k].write)
				return true;
	return false;
}

static bool joinable(const walks *w, const tsr_stmt *x, const tsr_stmt *y)
{
	has of = { 0 };
	if (!walk(w, x, &of) || !walk(w, y, &of) || x->loop.body.n + y->loop.body.n > MOST_BODY
		|| ((of.large || of.window) && x->loop.how != y->loop.how)
		|| !tsr_extent_equal(x->loop.extent, y->loop.extent) || share_local(x, y) || share_local(y, x))
		return false;
	tsr_accesses ax = { .a = w->scratch }, ay = { .a = w->scratch };
	tsr_stmt_accesses(x, &ax);
	tsr_stmt_accesses(y, &ay);
	return meet(&ax, &ay) && tsr_accesses_independent(w->p->l, &ax, x->loop.sym, &ay, y->loop.sym);
}

/* ---- joining --------------------------------------------------------------------------------------------------------------- */

static void join(const walks *w, tsr_stmts *body, uint32_t first, uint32_t second)
{
	tsr_stmt *x = body->at[first], *y = body->at[second];
	tsr_placing placing = { .p = w->p, .unit = w->unit };
	tsr_place_loop(&placing, y->loop.sym, tsr_lin_add_sym(w->p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, x->loop.sym), NULL);
	tsr_stmts_place(&placing, &y->loop.body, &x->loop.body);
	if (y->loop.how == TSR_FOR_REDUCE)
		x->loop.how = TSR_FOR_REDUCE;
	body->at[second] = x;
	tsr_stmts_remove(body, first);
	w->p->changes++;
}

/* The loop at `at` moves down to the next that it can join. */
static bool join_one(const walks *w, tsr_stmts *body, uint32_t at)
{
	if (!walk(w, body->at[at], &(has){ 0 }))
		return false;
	for (uint32_t k = at + 1; k < body->n; k++) {
		if (joinable(w, body->at[at], body->at[k])) {
			join(w, body, at, k);
			return true;
		}
		if (!passes_over(w, body->at[at], body->at[k]))
			return false;
	}
	return false;
}

static void in_body(const walks *w, tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n;)
		if (!join_one(w, body, i)) {
			tsr_stmts *inside = tsr_stmt_inside(body->at[i]);
			if (inside && (body->at[i]->kind == TSR_STMT_IF || !body->at[i]->loop.contraction))
				in_body(w, inside);
			i++;
		}
}

void tsr_pass_walks(tsr_pass *p)
{
	walks w = { p, tsr_arena_new(), NULL };
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		w.unit = p->l->units.at[u];
		for (uint32_t i = 0; i < w.unit->body.n; i++) {
			tsr_stmt *k = w.unit->body.at[i];
			uint32_t before = p->changes;
			for (uint32_t b = 0; k->kind == TSR_STMT_KERNEL && b < k->kernel.body.n; b++)
				if (k->kernel.body.at[b]->kind == TSR_STMT_FOR && !k->kernel.body.at[b]->loop.contraction)
					in_body(&w, &k->kernel.body.at[b]->loop.body);
			if (p->changes > before)
				tsr_pass_note(p, "%s: %u loops in %s run along with others", w.unit->name, p->changes - before, k->kernel.name);
		}
	}
	tsr_arena_free(w.scratch);
}
