/* Joins neighbouring kernels that walk the same outer loops, so that what one stores the next still finds in the cache.
 *
 * Two nests A and B, one after the other, become one around the bodies of both when their outermost loops are parallel and of
 * equal extent, and when iteration i of B meets only what iteration i of A left: each buffer that one of them writes and the
 * other touches has an axis on which every access of both is that loop's bare symbol.  The same is then tried with the next loops
 * inwards.  Not joined: contractions (the engine runs them), sums for all places of a window, and a body without loops with one that has short loops, which
 * would lose its vectors; nor places of windows with what does more with each of them than one thing for each element.
 *
 * A kernel further on that touches the same memory becomes the neighbour where nothing forbids it: of the kernels between, those
 * that it needs go before the pair, the others after it. */
#include "pass.h"
#include <stdlib.h>
#include <string.h>

enum { SHORT_ROW = 32, MOST_BODY = 24, REACH = 8, SMALL = 256 };

/* ---- joining --------------------------------------------------------------------------------------------------------------- */

static tsr_lin rename_lin(tsr_arena *a, const tsr_lin *x, uint32_t from, uint32_t to)
{
	tsr_lin out = *x;
	out.terms = TSR_NEW_N(a, tsr_lin_term, x->n + 1);
	for (uint32_t i = 0; i < x->n; i++) {
		out.terms[i] = x->terms[i];
		if (out.terms[i].kind == TSR_LSYM_LOOP && out.terms[i].id == from)
			out.terms[i].id = to;
	}
	return out;
}

/* The loop `from` is the loop `to` from here on. */
static void rename_loop(tsr_pass *p, tsr_stmt *s, uint32_t from, uint32_t to)
{
	tsr_lin bare_to = tsr_lin_add_sym(p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, to);
	tsr_stmts *body = NULL;
	switch (s->kind) {
	case TSR_STMT_FOR: body = &s->loop.body; break;
	case TSR_STMT_IF: {
		tsr_range *ranges = TSR_NEW_N(p->arena, tsr_range, s->cond.n + 1);
		for (uint32_t i = 0; i < s->cond.n; i++)
			ranges[i] = (tsr_range){ rename_lin(p->arena, &s->cond.ranges[i].index, from, to), s->cond.ranges[i].size };
		s->cond.ranges = ranges;
		body = &s->cond.body;
		break;
	}
	case TSR_STMT_STORE: case TSR_STMT_UPDATE: {
		uint32_t rank = p->l->buffers.at[s->store.buffer]->rank;
		tsr_lin *index = TSR_NEW_N(p->arena, tsr_lin, rank + 1);
		for (uint32_t i = 0; i < rank; i++)
			index[i] = rename_lin(p->arena, &s->store.index[i], from, to);
		s->store.index = index;
		s->store.value = tsr_expr_place(p->arena, p->l, s->store.value, 1, &from, &bare_to);
		break;
	}
	case TSR_STMT_LET: case TSR_STMT_SET: s->let.value = tsr_expr_place(p->arena, p->l, s->let.value, 1, &from, &bare_to); break;
	case TSR_STMT_LETSYM: s->letsym.value = tsr_expr_place(p->arena, p->l, s->letsym.value, 1, &from, &bare_to); break;
	case TSR_STMT_RANDOM: case TSR_STMT_CHECK: case TSR_STMT_KERNEL: case TSR_STMT_KINDS: break;
	}
	for (uint32_t i = 0; body && i < body->n; i++)
		rename_loop(p, body->at[i], from, to);
}

static bool binds(const tsr_stmts *body, uint32_t sym)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR && (s->loop.sym == sym || binds(&s->loop.body, sym)))
			return true;
		if (s->kind == TSR_STMT_IF && binds(&s->cond.body, sym))
			return true;
	}
	return false;
}

typedef struct local_names { tsr_local_id from, to; } local_names;

static tsr_expr *rename_local(void *user, tsr_expr *e)
{
	const local_names *n = user;
	if (e->kind == TSR_EXPR_LOCAL && e->local == n->from)
		e->local = n->to;
	return e;
}

static void rename_local_in(tsr_stmts *body, local_names *n)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if ((s->kind == TSR_STMT_LET || s->kind == TSR_STMT_SET) && s->let.local == n->from)
			s->let.local = n->to;
		if (s->kind == TSR_STMT_FOR)
			rename_local_in(&s->loop.body, n);
		else if (s->kind == TSR_STMT_IF)
			rename_local_in(&s->cond.body, n);
		else
			tsr_stmt_rewrite(s, rename_local, n);
	}
}

/* Locals of a body get names that nothing else in the unit has. */
static void fresh_locals(tsr_loop_unit *u, tsr_stmts *body, tsr_stmts *whole)
{
	uint32_t before = u->nlocals;
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_LET && s->let.local < before) {
			local_names n = { s->let.local, u->nlocals++ };
			rename_local_in(whole, &n);
		}
		if (s->kind == TSR_STMT_FOR)
			fresh_locals(u, &s->loop.body, whole);
		else if (s->kind == TSR_STMT_IF)
			fresh_locals(u, &s->cond.body, whole);
	}
}

static bool has_loop(const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++)
		if (body->at[i]->kind == TSR_STMT_FOR || (body->at[i]->kind == TSR_STMT_IF && has_loop(&body->at[i]->cond.body)))
			return true;
	return false;
}

/* Loops within are sums, or there are none. */
static bool only_sums(const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++)
		if (body->at[i]->kind == TSR_STMT_FOR && body->at[i]->loop.how != TSR_FOR_REDUCE)
			return false;
	return true;
}

static bool has_short_loop(const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++)
		if (body->at[i]->kind == TSR_STMT_FOR && tsr_size_is_const(body->at[i]->loop.extent) && body->at[i]->loop.extent.k < SHORT_ROW)
			return true;
	return false;
}

static bool same_extent(const tsr_stmt *x, const tsr_stmt *y)
{
	return tsr_extent_equal(x->loop.extent, y->loop.extent);
}

static bool worthwhile(const tsr_stmts *x, const tsr_stmts *y)
{
	bool xl = has_loop(x), yl = has_loop(y);
	if (x->n + y->n > MOST_BODY)
		return false;
	return xl == yl || !(xl ? has_short_loop(x) : has_short_loop(y));
}

typedef struct joining { tsr_pass *p; tsr_arena *scratch; tsr_loop_unit *unit; } joining;

/* How elements lie that a loop and those within it walk, of arrays that the first cache does not hold: side by side along one of these, as rows; or side by side along the loop itself and rows
 * apart along these, as columns. */
typedef struct lying { bool rows, columns; } lying;

static lying lying_of(const joining *j, const tsr_stmt *loop, const tsr_accesses *x)
{
	lying out = { 0 };
	for (uint32_t i = 0; i < x->v.n; i++) {
		const tsr_buffer *b = j->p->l->buffers.at[x->v.at[i].buffer];
		uint32_t last = tsr_buffer_last(b);
		bool outer = b->rank && tsr_lin_mentions(&x->v.at[i].index[last], loop->loop.sym), apart = false, beside = false;
		int64_t bytes = tsr_buffer_bytes(b);
		if (bytes >= 0 && bytes <= j->p->target->l1)
			continue;
		for (uint32_t axis = 0; axis < b->rank; axis++)
			for (uint32_t t = 0; t < x->v.at[i].index[axis].n; t++) {
				const tsr_lin_term *term = &x->v.at[i].index[axis].terms[t];
				bool within = term->kind == TSR_LSYM_LOOP && term->id != loop->loop.sym && tsr_stmt_loop(loop, term->id);
				*(axis == last ? &beside : &apart) |= within;
			}
		out.rows |= beside;
		out.columns |= outer && apart && !beside;
	}
	return out;
}

/* Columns are walked several at a time (kernel/columns.c), and what is turned by squares (turn.c), which nothing else in the loop leaves so. */
static bool lie_alike(lying x, lying y)
{
	return x.columns || y.columns ? x.columns && y.columns && !x.rows && !y.rows : true;
}

/* Places of a row, each with a loop of lanes that sum over windows of which neighbours read the same. */
static bool places(const joining *j, const tsr_stmt *row)
{
	const tsr_stmt *lanes = row->loop.body.n == 1 ? row->loop.body.at[0] : NULL;
	tsr_accesses a = { .a = j->scratch };
	if (!lanes || lanes->kind != TSR_STMT_FOR || lanes->loop.how != TSR_FOR_PARALLEL || !has_loop(&lanes->loop.body) || !only_sums(&lanes->loop.body))
		return false;
	tsr_stmt_accesses(lanes, &a);
	for (uint32_t i = 0; i < a.v.n; i++)
		for (uint32_t axis = 0; axis < j->p->l->buffers.at[a.v.at[i].buffer]->rank; axis++) {
			const tsr_lin *index = &a.v.at[i].index[axis];
			int64_t step = tsr_lin_coef(index, row->loop.sym);
			for (uint32_t t = 0; step && t < index->n; t++) {
				const tsr_stmt *within = index->terms[t].kind == TSR_LSYM_LOOP && index->terms[t].id != lanes->loop.sym ? tsr_stmt_loop(lanes, index->terms[t].id) : NULL;
				if (within && (!tsr_size_is_const(within->loop.extent) || llabs(index->terms[t].coef) * within->loop.extent.k > llabs(step)))
					return true;
			}
		}
	return false;
}

/* Such places are computed several at a time (kernel/outer_rows.c, plane.c), and still are with what is done with each element (walks.c), but not with what else each place does. */
static bool keeps_places(const joining *j, const tsr_stmt *x, const tsr_stmt *y)
{
	const tsr_stmt *lanes = y->loop.body.n == 1 && y->loop.body.at[0]->kind == TSR_STMT_FOR ? y->loop.body.at[0] : NULL;
	return !places(j, x) || (lanes && lanes->loop.how == TSR_FOR_PARALLEL && !has_loop(&lanes->loop.body) && same_extent(lanes, x->loop.body.at[0]));
}

/* A number that is looked up is named once in a body. */
static bool same_lookup(const tsr_stmts *x, const tsr_stmts *y)
{
	for (uint32_t i = 0; i < x->n; i++)
		for (uint32_t k = 0; k < y->n; k++)
			if (x->at[i]->kind == TSR_STMT_LETSYM && y->at[k]->kind == TSR_STMT_LETSYM && x->at[i]->letsym.sym == y->at[k]->letsym.sym)
				return true;
	return false;
}

static bool try_join(const joining *j, tsr_stmts *body, uint32_t at)
{
	tsr_pass *p = j->p;
	tsr_stmt *x = body->at[at], *y = body->at[at + 1];
	if (x->kind != TSR_STMT_FOR || y->kind != TSR_STMT_FOR || x->loop.how == TSR_FOR_SERIAL || x->loop.how == TSR_FOR_REDUCE
		|| x->loop.how != y->loop.how || binds(&y->loop.body, x->loop.sym) || !same_extent(x, y) || !worthwhile(&x->loop.body, &y->loop.body)
		|| same_lookup(&x->loop.body, &y->loop.body) || !keeps_places(j, x, y))
		return false;
	tsr_accesses ax = { .a = j->scratch }, ay = { .a = j->scratch };
	tsr_stmt_accesses(x, &ax);
	tsr_stmt_accesses(y, &ay);
	if (!lie_alike(lying_of(j, x, &ax), lying_of(j, y, &ay)) || !tsr_accesses_independent(p->l, &ax, x->loop.sym, &ay, y->loop.sym))
		return false;
	fresh_locals(j->unit, &y->loop.body, &y->loop.body);
	for (uint32_t i = 0; i < y->loop.body.n; i++) {
		rename_loop(p, y->loop.body.at[i], y->loop.sym, x->loop.sym);
		tsr_push(p->arena, &x->loop.body, y->loop.body.at[i]);
	}
	x->loop.contraction = NULL;
	tsr_stmts_remove(body, at + 1);
	for (uint32_t i = 0; i + 1 < x->loop.body.n;)
		if (!try_join(j, &x->loop.body, i))
			i++;
	return true;
}

/* Sums for all places of a window are added up in one walk (window_sums.c), which a loop around them that others share would take apart. */
static bool one_walk(const joining *j, const tsr_stmt *kernel)
{
	tsr_window_sums w;
	return tsr_window_sums_of(j->p->l, j->p->target, kernel->kernel.body.at[0], &w) && w.image;
}

/* Two kernels of one nest each; of the second nothing is left. */
static bool try_kernels(const joining *j, const tsr_stmt *x, const tsr_stmt *y)
{
	if (x->kind != TSR_STMT_KERNEL || y->kind != TSR_STMT_KERNEL || x->kernel.body.n != 1 || y->kernel.body.n != 1 || one_walk(j, x) || one_walk(j, y))
		return false;
	tsr_stmts both = { 0 };
	tsr_push(j->scratch, &both, x->kernel.body.at[0]);
	tsr_push(j->scratch, &both, y->kernel.body.at[0]);
	return try_join(j, &both, 0);
}

/* ---- which kernels -------------------------------------------------------------------------------------------------------- */

/* They stay in this order: one writes what the other touches, or is no kernel. */
static bool ordered(const tsr_body_uses *u, uint32_t x, uint32_t y)
{
	if (u->body->at[x]->kind != TSR_STMT_KERNEL || u->body->at[y]->kind != TSR_STMT_KERNEL)
		return true;
	for (uint32_t i = 0; i < u->at[x].v.n; i++) {
		tsr_use one = u->at[x].v.at[i], other = tsr_uses_of(&u->at[y], one.buffer);
		if ((other.loads || tsr_use_writes(other)) && (tsr_use_writes(one) || tsr_use_writes(other)))
			return true;
	}
	return false;
}

/* Both touch memory that is worth finding in the cache. */
static bool share(const joining *j, const tsr_body_uses *u, uint32_t x, uint32_t y)
{
	for (uint32_t i = 0; i < u->at[x].v.n; i++) {
		tsr_use other = tsr_uses_of(&u->at[y], u->at[x].v.at[i].buffer);
		int64_t bytes = tsr_buffer_bytes(j->p->l->buffers.at[other.buffer]);
		if ((other.loads || tsr_use_writes(other)) && (bytes < 0 || bytes >= SMALL))
			return true;
	}
	return false;
}

/* All that it makes lasts: it will come as soon as it can (soon.c), which is later for two that have nothing in common. */
static bool lasts(const joining *j, const tsr_uses *u)
{
	for (uint32_t i = 0; i < u->v.n; i++)
		if (tsr_use_writes(u->v.at[i]) && !tsr_buffer_kept(j->p->l->buffers.at[u->v.at[i].buffer]))
			return false;
	return true;
}

/* Which kernels between the two the second needs; false: one of these needs the first. */
static bool needed(const tsr_body_uses *u, uint32_t first, uint32_t second, bool *before)
{
	for (uint32_t i = second; i-- > first + 1;) {
		before[i] = ordered(u, i, second);
		for (uint32_t k = i + 1; k < second; k++)
			before[i] |= before[k] && ordered(u, i, k);
		if (before[i] && ordered(u, first, i))
			return false;
	}
	return true;
}

/* The statements first .. second in the order: those needed, the first, the others; where the first is then. */
static uint32_t arrange(const joining *j, tsr_body_uses *u, uint32_t first, uint32_t second, const bool *before)
{
	tsr_stmt **s = TSR_NEW_N(j->scratch, tsr_stmt *, second + 1);
	tsr_uses *x = TSR_NEW_N(j->scratch, tsr_uses, second + 1);
	uint32_t to = first, place = first;
	for (uint32_t i = first; i < second; i++) {
		s[i] = u->body->at[i];
		x[i] = u->at[i];
	}
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = first + 1; i < second; i++)
			if (before[i] == (round == 0)) {
				u->body->at[to] = s[i];
				u->at[to++] = x[i];
			}
		if (round == 0) {
			place = to;
			u->body->at[to] = s[first];
			u->at[to++] = x[first];
		}
	}
	return place;
}

/* Joins the kernel at `at` with the nearest that it can be joined with; where it is then, or -1. */
static int64_t join_one(const joining *j, tsr_body_uses *u, uint32_t at)
{
	tsr_stmt *x = u->body->at[at];
	bool *before = TSR_NEW_N(j->scratch, bool, u->body->n + 1);
	for (uint32_t second = at + 1; second < u->body->n && second <= at + REACH && x->kind == TSR_STMT_KERNEL; second++) {
		tsr_stmt *y = u->body->at[second];
		bool neighbour = second == at + 1 && !(lasts(j, &u->at[at]) && lasts(j, &u->at[second]));
		if (!neighbour && (!share(j, u, at, second) || !needed(u, at, second, before)))
			continue;
		if (!try_kernels(j, x, y))
			continue;
		tsr_pass_note(j->p, "%s: %s joins %s", j->unit->name, y->kernel.name, x->kernel.name);
		tsr_body_remove(u, second);
		uint32_t place = arrange(j, u, at, second, before);
		tsr_body_uses_renew(u, place);
		j->p->changes++;
		return place;
	}
	return -1;
}

void tsr_pass_fuse(tsr_pass *p)
{
	joining j = { p, tsr_arena_new(), NULL };
	for (uint32_t unit = 0; unit < p->l->units.n; unit++) {
		j.unit = p->l->units.at[unit];
		tsr_body_uses u;
		tsr_body_uses_make(&u, j.scratch, &j.unit->body);
		for (uint32_t at = 0; at + 1 < j.unit->body.n;) {
			int64_t place = join_one(&j, &u, at);
			at = place < 0 ? at + 1 : (uint32_t)place;
		}
	}
	tsr_arena_free(j.scratch);
}
