/* Windows over images of a few channels, where a loop over places and the one over channels within it are one (opt/joined.c):
 *
 *     for w in 0..1920 { for c in 0..3 { let s = 0; for k { if w + k - 2 in 0..1920 { set s = s + x[.., w + k - 2, c] g[k] } }; store y[.., w, c] = s } }
 *
 * is emitted as
 *
 *     for f in 0..5760 { let s = 0; for k { if f + 3 k - 6 in 0..5760 { .. } }; .. }
 *
 * with w at 0 and f in the place of c, so that lanes are channels of many places.  A guard of the place is one of the element: 3 (w + ..) + c is in 0..3 n where w + .. is in 0..n.
 * The other loops around stay (a blur of 1920 x 1080 x 3 2.6 times as fast). */
#include "nests.h"
#include "../opt/opt.h"

enum { MOST_CHANNELS = 64, MOST_SUMMED = 8 };

/* `window`: something that is read lies where a loop that sums and one of the others say together.  Other sums, as of columns, are taken in orders of their own. */
typedef struct joined { const tsr_emit *e; const tsr_stmt *outer, *inner; uint32_t nsummed, summed[MOST_SUMMED]; bool window; } joined;

static bool sums_over(const joined *j, const tsr_lin_term *t)
{
	for (uint32_t i = 0; i < j->nsummed; i++)
		if (t->kind == TSR_LSYM_LOOP && j->summed[i] == t->id)
			return true;
	return false;
}

static void find_window(joined *j, tsr_expr *v)
{
	tsr_expr *part[TSR_MOST_PARTS];
	for (uint32_t i = tsr_expr_parts(v, part); i-- > 0;)
		find_window(j, part[i]);
	for (uint32_t axis = 0; v->kind == TSR_EXPR_LOAD && axis < j->e->loops->buffers.at[v->load.buffer]->rank; axis++) {
		uint32_t summed = 0, others = 0;
		for (uint32_t t = 0; t < v->load.index[axis].n; t++)
			*(sums_over(j, &v->load.index[axis].terms[t]) ? &summed : &others) += 1;
		j->window |= summed && others;
	}
}

static bool guard_fits(const joined *j, const tsr_range *r)
{
	int64_t coef = tsr_lin_coef(&r->index, j->outer->loop.sym);
	return !tsr_lin_mentions(&r->index, j->inner->loop.sym) && (!coef || coef == 1);
}

static bool fits(joined *j, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_IF) {
			for (uint32_t r = 0; r < s->cond.n; r++)
				if (!guard_fits(j, &s->cond.ranges[r]))
					return false;
			if (!fits(j, &s->cond.body))
				return false;
		} else if (s->kind == TSR_STMT_FOR) {
			if (j->nsummed == MOST_SUMMED || s->loop.how != TSR_FOR_REDUCE || s->loop.split || s->loop.contraction || s->loop.turns || s->loop.from || s->loop.until)
				return false;
			j->summed[j->nsummed++] = s->loop.sym;
			if (!fits(j, &s->loop.body))
				return false;
		} else if (!tsr_stmt_follows(j->e->loops, s, j->outer->loop.sym, j->inner->loop.sym, j->inner->loop.extent))
			return false;
		else if (s->kind == TSR_STMT_LET || s->kind == TSR_STMT_SET)
			find_window(j, s->let.value);
	}
	return true;
}

static bool plain(const tsr_stmt *s)
{
	return s->kind == TSR_STMT_FOR && s->loop.how == TSR_FOR_PARALLEL && tsr_size_guess(s->loop.extent) > 1 && !s->loop.contraction && !s->loop.turns
		&& !s->loop.overlap && !s->loop.from && !s->loop.until && !s->loop.ahead;
}

/* ---- what the two become -------------------------------------------------------------------------------------------------------- */

static tsr_stmt *copied(const joined *j, const tsr_stmt *s)
{
	tsr_stmt *out = TSR_NEW(j->e->loops->tc->arena, tsr_stmt);
	*out = *s;
	return out;
}

static tsr_range of_elements(const joined *j, const tsr_range *r)
{
	tsr_arena *a = j->e->loops->tc->arena;
	int64_t n = j->inner->loop.extent.k;
	if (!tsr_lin_mentions(&r->index, j->outer->loop.sym))
		return *r;
	tsr_lin index = tsr_lin_add(a, tsr_lin_const(0), n, r->index);
	index = tsr_lin_add_sym(a, tsr_lin_add_sym(a, index, -n, TSR_LSYM_LOOP, j->outer->loop.sym), 1, TSR_LSYM_LOOP, j->inner->loop.sym);
	return (tsr_range){index, tsr_size_scale(a, r->size, n)};
}

static tsr_stmts with_guards(const joined *j, const tsr_stmts *body)
{
	tsr_arena *a = j->e->loops->tc->arena;
	tsr_stmts out = {0};
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = copied(j, body->at[i]);
		if (s->kind == TSR_STMT_FOR)
			s->loop.body = with_guards(j, &s->loop.body);
		if (s->kind == TSR_STMT_IF) {
			s->cond.ranges = TSR_NEW_N(a, tsr_range, s->cond.n + 1);
			for (uint32_t r = 0; r < s->cond.n; r++)
				s->cond.ranges[r] = of_elements(j, &body->at[i]->cond.ranges[r]);
			s->cond.body = with_guards(j, &s->cond.body);
		}
		tsr_push(a, &out, s);
	}
	return out;
}

/* The loops from s on, the innermost two of which are one. */
static tsr_stmt *around(const joined *j, const tsr_stmt *s)
{
	tsr_stmt *out = copied(j, s == j->outer ? j->inner : s);
	if (s == j->outer) {
		out->loop.extent = tsr_size_scale(j->e->loops->tc->arena, j->outer->loop.extent, j->inner->loop.extent.k);
		out->loop.split = j->outer->loop.split || j->inner->loop.split;         /* what is computed how must not hang on that: bits would */
		out->loop.body = with_guards(j, &j->inner->loop.body);
		return out;
	}
	out->loop.body = (tsr_stmts){0};
	tsr_push(j->e->loops->tc->arena, &out->loop.body, around(j, s->loop.body.at[0]));
	return out;
}

const tsr_stmt *tsr_emit_flat_window(tsr_emit *e, const tsr_stmt *nest)
{
	int64_t lanes = e->target->vector_bytes / 4;
	joined j = {.e = e, .inner = nest};
	if (lanes < 2 || e->wide)
		return NULL;
	while (j.inner->loop.body.n == 1 && j.inner->loop.body.at[0]->kind == TSR_STMT_FOR && j.inner->loop.body.at[0]->loop.how == TSR_FOR_PARALLEL)
		j.outer = j.inner, j.inner = j.inner->loop.body.at[0];
	if (!j.outer || !plain(j.outer) || !plain(j.inner) || j.outer->loop.stream || !tsr_size_is_const(j.inner->loop.extent) || j.inner->loop.extent.k >= MOST_CHANNELS || j.inner->loop.extent.k % lanes == 0
		|| tsr_size_guess(j.outer->loop.extent) * j.inner->loop.extent.k < lanes || !fits(&j, &j.inner->loop.body) || !j.window)
		return NULL;
	e->syms[j.outer->loop.sym] = tsr_emit_i64(e, 0);
	return around(&j, nest);
}
