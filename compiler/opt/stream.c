/* Loops whose results go around the caches: a store that fills what is larger than the caches, and which nobody reads soon, would
 * otherwise first read what it overwrites, and drive out what is still needed.
 *
 * A parallel innermost loop along the last axis of X streams its last store, into X, when X has LARGE times the last cache's share
 * or more and the kernel touches a good part of what all of that cache has, when nothing else in the kernel and no later statement of
 * the unit touches X, and when every loop around has a part in the index, so that each element is stored once.  The emitter then
 * collects a piece of the row near by and writes it in whole lines.  Where sizes are known when the program runs, the kernel asks then (`large`).
 *
 * Where rows of such an array are walked several times and no result of theirs stays in the caches, the walk that computes most has the next row fetched meanwhile (`ahead`).
 * Runs last: a pass after it would have to keep the store the only access. */
#include "pass.h"
#include <string.h>

enum { LINE = 64, LARGE = 4, SHORT = 512, WINDOW = 8, FUNCTION = 15, PARTS_LEFT = 3 };

typedef struct streams { tsr_pass *p; tsr_stmt *kernel; tsr_accesses all; const tsr_body_uses *uses; uint32_t at; } streams;
/* What the run is asked for, where sizes are known then. */
typedef struct asked { TSR_VEC(tsr_large) v; } asked;

/* Of a buffer whose size the run knows. */
static tsr_bytes bytes_of(const streams *m, const tsr_buffer *b)
{
	tsr_bytes x = { tsr_prec_bytes(b->prec), 0, TSR_NEW_N(m->p->arena, tsr_size, b->rank + 1) };
	for (uint32_t axis = 0; axis < b->rank; axis++) {
		if (tsr_size_is_const(b->dims[axis]))
			x.each *= b->dims[axis].k;
		else
			x.extents[x.n++] = b->dims[axis];
	}
	return x;
}

/* So much is so many bytes together, or where one thread computes the kernel so many: the compiler knows, or the run will be asked; not for a kernel that the engine computes, which would be
 * compiled twice. */
static bool enough(const streams *m, uint32_t n, const tsr_buffer *const *buffers, int64_t least, int64_t alone, asked *run)
{
	tsr_large x = { .least = m->kernel->kernel.team ? least : alone, .alone = alone };
	tsr_bytes known = { 0 };
	for (uint32_t i = 0; i < n; i++) {
		int64_t bytes = tsr_buffer_bytes(buffers[i]);
		if (bytes < 0)
			tsr_push(m->p->arena, &x.parts, bytes_of(m, buffers[i]));
		else
			known.each += bytes;
	}
	if (known.each >= x.least || m->all.engine || (!x.parts.n && known.each < alone))
		return known.each >= x.least;
	if (known.each)
		tsr_push(m->p->arena, &x.parts, known);
	tsr_push(m->p->arena, &run->v, x);
	return true;
}

/* A loop that only sums, as a window of a few positions does. */
static bool window(const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		bool inside = (s->kind == TSR_STMT_FOR && !s->loop.contraction && tsr_size_is_const(s->loop.extent) && s->loop.extent.k <= WINDOW && window(&s->loop.body))
			|| (s->kind == TSR_STMT_IF && window(&s->cond.body));
		if (!inside && s->kind != TSR_STMT_LET && s->kind != TSR_STMT_SET)
			return false;
	}
	return true;
}

/* The loop and the one around it are those of squares that are turned: something is read side by side along that one. */
static bool turns(const streams *m, const tsr_nest *around, const tsr_stmt *leaf)
{
	tsr_accesses all = { .a = m->all.a };
	bool any = false;
	for (uint32_t i = 0; i < around->n; i++)
		if (around->loop[i]->loop.body.n != 1 || around->loop[i]->loop.how != TSR_FOR_PARALLEL)
			return false;
	tsr_stmt_accesses(leaf, &all);
	for (uint32_t k = 0; k < all.v.n && around->n; k++) {
		const tsr_buffer *b = m->p->l->buffers.at[all.v.at[k].buffer];
		any |= b->rank && tsr_lin_mentions(&all.v.at[k].index[tsr_buffer_last(b)], around->loop[around->n - 1]->loop.sym);
	}
	return any;
}

/* Iterations of the loop and of those around it that the emitter makes one with it, where its last statement is its only one: all next ones (kernel/flat.c), and of
 * squares that are turned any (kernel/turned_joined.c). */
static int64_t in_a_row(const streams *m, const tsr_nest *around, tsr_stmt *loop, bool turned)
{
	tsr_nest n = *around;
	const tsr_stmt *leaf = loop->loop.body.at[loop->loop.body.n - 1];
	bool with[TSR_MOST_LOOPS] = { false };
	n.loop[n.n++] = loop;
	for (uint32_t i = 0; i < n.n; i++)
		if (n.loop[i]->loop.body.n != 1 || n.loop[i]->loop.how != TSR_FOR_PARALLEL)
			return loop->loop.extent.k;
	if (turned)
		return tsr_loops_joined(m->p->l, n.n, n.loop, leaf, n.n - 1, with);
	int64_t count = loop->loop.extent.k;
	for (uint32_t i = n.n - 1; i-- > 0;) {
		bool next = tsr_size_is_const(n.loop[i]->loop.extent)
			&& tsr_stmt_follows(m->p->l, leaf, n.loop[i]->loop.sym, n.loop[i + 1]->loop.sym, n.loop[i + 1]->loop.extent);
		if (!next || __builtin_mul_overflow(count, n.loop[i]->loop.extent.k, &count))
			break;
	}
	return count;
}

/* Pieces of the store's row are worth the detour.  One whose length the run knows is all that is stored: others might begin anywhere in a line (squares that are turned took
 * 1.07 times as long). */
static bool long_rows(const streams *m, const tsr_nest *around, tsr_stmt *loop, const tsr_buffer *b)
{
	if (!tsr_size_is_const(loop->loop.extent))
		return !around->n;
	bool turned = turns(m, around, loop->loop.body.at[loop->loop.body.n - 1]);
	int64_t least = turned && m->p->target->store_run ? m->p->target->store_run * LINE : SHORT;
	return in_a_row(m, around, loop, turned) * (int64_t)tsr_prec_bytes(b->prec) >= least;
}

/* Its own axis goes by the loop: all of it, or a block of whole lines for each iteration of one around (blocks.c). */
static bool goes_along(const tsr_buffer *b, const tsr_lin *x, const tsr_stmt *loop)
{
	bool block = x->n == 2 && !x->offset && !x->base.k && !x->base.nterms && tsr_lin_coef(x, loop->loop.sym) == 1 && tsr_size_is_const(loop->loop.extent);
	for (uint32_t t = 0; t < x->n && block; t++)
		block = x->terms[t].kind == TSR_LSYM_LOOP && (x->terms[t].id == loop->loop.sym || (x->terms[t].coef == loop->loop.extent.k && x->terms[t].coef * (int64_t)tsr_prec_bytes(b->prec) % LINE == 0));
	return block || tsr_lin_bare(x, loop->loop.sym);
}

/* What the loop stores last, along its own axis, in pieces worth the detour; or NULL. */
static const tsr_stmt *along(const streams *m, const tsr_nest *around, tsr_stmt *loop)
{
	const tsr_stmt *last = NULL;
	for (uint32_t i = 0; i < loop->loop.body.n; i++) {
		const tsr_stmt *s = loop->loop.body.at[i];
		if (s->kind == TSR_STMT_LETSYM || ((s->kind == TSR_STMT_FOR || s->kind == TSR_STMT_IF) && !window(&(tsr_stmts){ &loop->loop.body.at[i], 1, 1 })))
			return NULL;
		if (s->kind == TSR_STMT_STORE)
			last = s;
	}
	const tsr_buffer *b = last ? m->p->l->buffers.at[last->store.buffer] : NULL;
	return b && b->rank && goes_along(b, &last->store.index[tsr_buffer_last(b)], loop) && long_rows(m, around, loop, b) ? last : NULL;
}

static bool mentioned(const tsr_stmt *store, uint32_t sym, uint32_t axes)
{
	for (uint32_t axis = 0; axis < axes; axis++)
		if (tsr_lin_mentions(&store->store.index[axis], sym))
			return true;
	return false;
}

static bool alone(const streams *m, tsr_buffer_id x)
{
	uint32_t touched = 0;
	for (uint32_t i = 0; i < m->all.v.n; i++)
		touched += m->all.v.at[i].buffer == x;
	for (uint32_t i = m->at + 1; i < m->uses->body->n; i++) {
		tsr_use later = tsr_uses_of(&m->uses->at[i], x);
		touched += later.loads || tsr_use_writes(later);
	}
	return touched == 1;
}

/* What the kernel touches, each buffer once, and how many of these it writes. */
typedef struct touched { uint32_t n, written; const tsr_buffer **each; } touched;

static touched touched_by(const streams *m)
{
	touched x = { .each = TSR_NEW_N(m->all.a, const tsr_buffer *, m->all.v.n + 1) };
	for (uint32_t i = 0; i < m->all.v.n; i++) {
		bool before = false, writes = false;
		for (uint32_t k = 0; k < m->all.v.n; k++) {
			bool same = m->all.v.at[k].buffer == m->all.v.at[i].buffer;
			before |= same && k < i;
			writes |= same && m->all.v.at[k].write;
		}
		if (before)
			continue;
		x.each[x.n++] = m->p->l->buffers.at[m->all.v.at[i].buffer];
		x.written += writes;
	}
	return x;
}

/* What the kernel touches is more than the last cache keeps for certain; else results stay there for whoever reads them, and nothing has to come from memory
 * before it is overwritten (of 32 MB: 8 MB that are only written take 0.53 of the time; 8 MB made of 8 others 0.4 to 0.8 of it by two threads and 0.7 to 1 by one where
 * the cache is nobody else's, 1.1 to 1.5 beside neighbours who fill it; 24 MB in all 1.4 to 1.6).  What lies along rows may fill more of it where a target says so: squares that are
 * turned lie pages apart (4.3 times as long).  Cores that share a cache also share its way to memory, and two threads store no more around the caches than one (Zen 5, 8 MB made of 8
 * others: functions, norms and softmax 1.6 to 2.5 times as fast as around them; where each core has a cache of its own 0.9 to 1.3, one thread 0.94 to 1.34; Zen 3 by two threads 1.2 to 2.5,
 * by one, beside neighbours, 0.65 to 1; Zen 4 by two threads from 24 to 32 MB 1.1 to 2.1, half of it written to 36 MB 1.1 to 1.8, by one 0.65 to 1: there the run asks how many compute it). */
static bool fills_last(const streams *m, bool rows, asked *run)
{
	const tsr_target *t = m->p->target;
	touched x = touched_by(m);
	uint32_t several = !rows || !t->kept_by_several ? PARTS_LEFT : t->kept_half_written && 2 * x.written >= x.n ? t->kept_half_written : t->kept_by_several, one = rows && t->last_kept ? t->last_kept : PARTS_LEFT;
	return enough(m, x.n, x.each, t->last / 8 * several, t->last / 8 * one, run);
}

/* What the kernel's loops say of large results and operands holds where all of this does. */
static void ask(const streams *m, const asked *run)
{
	for (uint32_t i = 0; i < run->v.n; i++)
		tsr_push(m->p->arena, &m->kernel->kernel.large, run->v.at[i]);
}

/* ---- rows ---------------------------------------------------------------------------------------------------------------- */

/* What the next iteration of the row's loop reads first, where this one walks its rows more than once: while it does, nothing is
 * fetched, and where rows are pages the processor fetches none by itself.  Of short rows that of a later iteration, where lines are asked for far ahead. */
static tsr_expr *next_row(const streams *m, const tsr_stmt *row, const tsr_stmt *loop, asked *run)
{
	for (uint32_t i = 0; i < m->all.v.n; i++) {
		const tsr_access *x = &m->all.v.at[i];
		const tsr_buffer *b = m->p->l->buffers.at[x->buffer];
		uint32_t last = tsr_buffer_last(b);
		if (x->write || !last || x->index[last].n != 1 || !tsr_lin_bare(&x->index[last], x->index[last].terms[0].id) || b->dims[last].k != loop->loop.extent.k
			|| b->dims[last].k * tsr_prec_bytes(b->prec) > m->p->target->l2 / 4)
			continue;
		tsr_lin *index = TSR_NEW_N(m->p->arena, tsr_lin, b->rank + 1);
		memcpy(index, x->index, sizeof *index * b->rank);
		int64_t bytes = b->dims[last].k * tsr_prec_bytes(b->prec), far = m->p->target->lines_ahead * LINE;
		uint32_t rows = 0, others = 0;
		for (uint32_t axis = 0; axis < last; axis++) {
			bool mine = tsr_lin_bare(&x->index[axis], row->loop.sym);
			rows += mine;
			others += !mine && x->index[axis].n;
			index[axis].offset += mine * (far > bytes ? (far + bytes - 1) / bytes : 1);
		}
		index[last] = tsr_lin_add_sym(m->p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, loop->loop.sym);
		if (rows == 1 && !others && enough(m, 1, &b, LARGE * m->p->target->l3, LARGE * m->p->target->l3, run))
			return tsr_expr_load(m->p->arena, b, index);
	}
	return NULL;
}

/* Instructions for one element, roughly. */
static uint32_t work_of(const tsr_expr *x)
{
	uint32_t work = 0;
	if (x->kind == TSR_EXPR_CONVERT)
		return 1 + work_of(x->converted);
	for (uint32_t i = 0; x->kind == TSR_EXPR_OP && i < tsr_op_get(x->op.op)->arity; i++)
		work += work_of(x->op.args[i]);
	return work + (x->kind != TSR_EXPR_OP ? 0 : tsr_op_get(x->op.op)->result == TSR_RESULT_FLOAT ? FUNCTION : 1);
}

/* Of one element of an innermost loop; 0 for others. */
static uint32_t work_in(const tsr_stmt *loop)
{
	uint32_t work = 0;
	for (uint32_t i = 0; i < loop->loop.body.n; i++) {
		const tsr_stmt *s = loop->loop.body.at[i];
		if (s->kind == TSR_STMT_LET || s->kind == TSR_STMT_SET)
			work += 1 + work_of(s->let.value);
		else if (s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE)
			work += 1 + work_of(s->store.value);
		else
			return 0;
	}
	return work;
}

/* All that the kernel reads lies along the loop, or is the same for all of it. */
static bool along_rows(const streams *m, tsr_stmt *loop)
{
	for (uint32_t i = 0; i < m->all.v.n; i++) {
		const tsr_access *x = &m->all.v.at[i];
		for (uint32_t axis = 0; axis < tsr_buffer_last(m->p->l->buffers.at[x->buffer]); axis++)
			if (tsr_lin_mentions(&x->index[axis], loop->loop.sym))
				return false;
	}
	return work_in(loop);
}

bool tsr_walk_leaves_row(const tsr_loops *l, const tsr_stmt *row, const tsr_stmt *walk)
{
	const tsr_stmts *body = &walk->loop.body;
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		bool around = walk->loop.stream && i + 1 == body->n;
		if (s->kind == TSR_STMT_STORE && !around && mentioned(s, row->loop.sym, l->buffers.at[s->store.buffer]->rank))
			return true;
	}
	return false;
}

/* Not where a walk leaves a row in the caches: its stores wait for lines one after the other, and the next row's take their places (f64 softmax of 8 MB 1.3 times as long with both, on Zen 4).  Where lines are
 * asked for far ahead those of later rows are the same stream. */
static void fetch_rows(const streams *m, tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *row = body->at[i], *most = NULL;
		uint32_t walks = 0;
		bool leaves = false;
		if (row->kind != TSR_STMT_FOR || row->loop.contraction)
			continue;
		for (uint32_t k = 0; k < row->loop.body.n; k++) {
			tsr_stmt *walk = row->loop.body.at[k];
			if (walk->kind != TSR_STMT_FOR || walk->loop.contraction || !tsr_size_is_const(walk->loop.extent))
				continue;
			walks++;
			leaves |= tsr_walk_leaves_row(m->p->l, row, walk);
			if (!most || work_in(walk) > work_in(most))
				most = walk;
		}
		asked run = { 0 };
		if (walks > 1 && (!leaves || m->p->target->lines_ahead))
			most->loop.ahead = next_row(m, row, most, &run);
		ask(m, &run);
		fetch_rows(m, &row->loop.body);
	}
}

/* ---- results ------------------------------------------------------------------------------------------------------------- */

/* The least C that goes around the caches.  Its lines are asked for while tiles multiply: deep sums hide what reading them costs from a last cache that holds all of C (of 8
 * to 16 MB 1.03 to 1.15 times as fast so, of 25 MB no faster; of 64 depths and fewer 0.65 to 1.1), unless operands of several times as much go by (14 MB beside 226: 0.86). */
static int64_t least_around(const streams *m, const tsr_contraction *k)
{
	enum { DEEP = 128, GOES_BY = 4 };
	const tsr_target *t = m->p->target;
	tsr_contract_view v;
	tsr_contract_view_make(m->p->l, k, &v);
	touched x = touched_by(m);
	int64_t bytes = 0;
	for (uint32_t i = 0; i < x.n; i++)
		bytes += tsr_buffer_bytes(x.each[i]);
	return t->last && bytes <= GOES_BY * t->last && tsr_walks_count(&v.cls[TSR_CLASS_K]) >= DEEP ? t->last / 4 * 3 : LARGE * t->l3;
}

/* The engine writes C once: all that is summed in one block. */
static bool product(const streams *m, const tsr_contraction *k)
{
	const tsr_buffer *b = m->p->l->buffers.at[k->c];
	if ((k->tail && k->tail->passing) || !tsr_contract_one_block(k) || tsr_buffer_bytes(b) < least_around(m, k) || !alone(m, b->id))
		return false;
	m->p->changes++;
	tsr_pass_note(m->p, "%s is written around the caches", b->name);
	return true;
}

static void visit(const streams *m, tsr_stmts *body, tsr_nest *around)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR && s->loop.contraction)
			s->loop.stream = product(m, s->loop.contraction);
		if (s->kind != TSR_STMT_FOR || s->loop.contraction || around->n == TSR_MOST_LOOPS)
			continue;
		asked run = { 0 };
		const tsr_stmt *store = s->loop.how == TSR_FOR_PARALLEL ? along(m, around, s) : NULL;
		if (!store) {
			around->loop[around->n++] = s;
			visit(m, &s->loop.body, around);
			around->n--;
			continue;
		}
		const tsr_buffer *b = m->p->l->buffers.at[store->store.buffer];
		bool once = !mentioned(store, s->loop.sym, tsr_buffer_last(b));
		for (uint32_t k = 0; k < around->n; k++)
			once &= mentioned(store, around->loop[k]->loop.sym, tsr_buffer_last(b) + 1);
		s->loop.stream = once && enough(m, 1, &b, LARGE * m->p->target->l3, LARGE * m->p->target->l3, &run) && fills_last(m, along_rows(m, s), &run) && alone(m, b->id);
		if (s->loop.stream) {
			ask(m, &run);
			m->p->changes++;
			tsr_pass_note(m->p, "%s is written around the caches%s", b->name, run.v.n ? " where the run finds it large" : "");
		}
	}
}

void tsr_pass_stream(tsr_pass *p)
{
	tsr_arena *scratch = tsr_arena_new();
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		tsr_stmts *body = &p->l->units.at[u]->body;
		tsr_body_uses uses;
		tsr_body_uses_make(&uses, scratch, body);
		for (uint32_t i = 0; i < body->n; i++) {
			if (body->at[i]->kind != TSR_STMT_KERNEL)
				continue;
			streams m = { .p = p, .kernel = body->at[i], .all = { .a = scratch }, .uses = &uses, .at = i };
			tsr_nest around = { 0 };
			for (uint32_t k = 0; k < body->at[i]->kernel.body.n; k++)
				tsr_stmt_accesses(body->at[i]->kernel.body.at[k], &m.all);
			if (m.all.unknown)
				continue;
			visit(&m, &body->at[i]->kernel.body, &around);
			fetch_rows(&m, &body->at[i]->kernel.body);
		}
	}
	tsr_arena_free(scratch);
}
