/* Of rows whose walks go together (overlap.c): the plain statements that no walk waits for, as a loss's logarithm is behind a sum's exponentials.  The
 * emitter computes them for several rows, one after the other (kernel/overlap.c): a function's steps wait for each other, and at the end of each row
 * the next walks' instructions would queue behind them.
 *
 * What such a statement sets, names or writes, no other reads or names; nothing that it reads from memory is written by others, and no local that it reads
 * is set by others behind it.  Among themselves they keep their order.  One of them at least computes an elementary function. */
#include "pass.h"

enum { MOST_LOCALS = 64 };

typedef struct locals { uint32_t n; tsr_local_id at[MOST_LOCALS]; bool all; } locals;

typedef struct finding { const tsr_loops *l; tsr_arena *scratch; const tsr_stmts *body; bool *late; } finding;

static bool has(const locals *x, tsr_local_id id)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (x->at[i] == id)
			return true;
	return x->all;
}

static void put(locals *x, tsr_local_id id)
{
	if (has(x, id))
		return;
	if (x->n < MOST_LOCALS)
		x->at[x->n++] = id;
	else
		x->all = true;
}

static tsr_expr *note_read(void *user, tsr_expr *e)
{
	if (e->kind == TSR_EXPR_LOCAL)
		put(user, e->local);
	return e;
}

/* Those that a statement sets, and those within it. */
static void sets(const tsr_stmt *s, locals *out)
{
	const tsr_stmts *body = tsr_stmt_inside(s);
	if (s->kind == TSR_STMT_LET || s->kind == TSR_STMT_SET)
		put(out, s->let.local);
	for (uint32_t i = 0; body && i < body->n; i++)
		sets(body->at[i], out);
}

static bool any_shared(const locals *x, const locals *y)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (has(y, x->at[i]))
			return true;
	return x->all && (y->n || y->all);
}

/* What one writes and the other touches. */
static bool meet(const finding *f, const tsr_stmt *a, const tsr_stmt *b)
{
	tsr_uses of_a = {0}, of_b = {0};
	tsr_stmt_uses(f->scratch, a, &of_a);
	tsr_stmt_uses(f->scratch, b, &of_b);
	return tsr_uses_meet(&of_a, &of_b);
}

/* Statement `at` cannot be left for later beside `other`, which is not. */
static bool bound(const finding *f, uint32_t at, uint32_t other)
{
	tsr_stmt *mine = f->body->at[at], *its = f->body->at[other];
	locals read = {0}, set = {0}, its_read = {0}, its_set = {0};
	tsr_stmt_rewrite(mine, note_read, &read);
	tsr_stmt_rewrite(its, note_read, &its_read);
	sets(mine, &set);
	sets(its, &its_set);
	if (any_shared(&set, &its_read) || any_shared(&set, &its_set) || (other > at && any_shared(&read, &its_set)) || meet(f, mine, its))
		return true;
	return (mine->kind == TSR_STMT_LETSYM && tsr_stmt_names(f->l, f->scratch, its, mine->letsym.sym))
		|| (its->kind == TSR_STMT_LETSYM && tsr_stmt_names(f->l, f->scratch, mine, its->letsym.sym));
}

static bool settle(const finding *f)
{
	bool changed = false;
	for (uint32_t i = 0; i < f->body->n; i++)
		for (uint32_t k = 0; f->late[i] && k < f->body->n; k++)
			if (!f->late[k] && bound(f, i, k)) {
				f->late[i] = false;
				changed = true;
			}
	return changed;
}

tsr_late tsr_late_of(const tsr_loops *l, tsr_arena *a, const tsr_stmt *row)
{
	const tsr_stmts *body = &row->loop.body;
	tsr_late out = { .of = TSR_NEW_N(a, bool, body->n + 1), .read = TSR_NEW_N(a, tsr_local_id, MOST_LOCALS) };
	finding f = { l, tsr_arena_new(), body, out.of };
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt_kind k = body->at[i]->kind;
		out.of[i] = k == TSR_STMT_LET || k == TSR_STMT_SET || k == TSR_STMT_LETSYM || k == TSR_STMT_IF || k == TSR_STMT_STORE;
	}
	while (settle(&f))
		;
	locals read = {0}, others = {0};
	for (uint32_t i = 0; i < body->n; i++) {
		if (!out.of[i]) {
			sets(body->at[i], &others);
			continue;
		}
		out.n++;
		tsr_stmt_rewrite(body->at[i], note_read, &read);
		out.functions |= tsr_stmt_has_functions(body->at[i]);
	}
	for (uint32_t i = 0; i < read.n; i++)
		if (has(&others, read.at[i]))
			out.read[out.nread++] = read.at[i];
	if (read.all || others.all || !out.functions)
		out = (tsr_late){ .of = TSR_NEW_N(a, bool, body->n + 1) };
	tsr_arena_free(f.scratch);
	return out;
}
