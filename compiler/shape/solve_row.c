/* Section 4, rows.  Row equality is flat; row inequality aligns the operand's flanks with the outer axes of the result.
 * Rows only grow at their markers, so an aligned pair of axes stays aligned: ROW_BELOW counts the flank axes of the
 * operand that it has handed on, and each pair is emitted once however often the constraint is visited. */
#include "store.h"

static tsr_place front(uint32_t axis) { return (tsr_place){axis, TSR_NO_ID}; }

/* ---- equality ---------------------------------------------------------------------------------------------------- */

static void fail_rank(tsr_store *s, tsr_cstr *c, tsr_row a, tsr_row b)
{
	c->done = true;
	tsr_fault_rank(s, c, a, b);
	tsr_poison_row(s, c->row.a);
	if (c->kind == TSR_C_ROW_EQUAL || !tsr_row_open(c->row.a))
		tsr_poison_row(s, c->row.b);
}

static void fail_infinite(tsr_store *s, tsr_cstr *c)
{
	c->done = true;
	tsr_fault_infinite(s, c);
	tsr_poison_row(s, c->row.a);
	tsr_poison_row(s, c->row.b);
}

static bool spread_poison(tsr_store *s, tsr_cstr *c, tsr_row a, tsr_row b, bool poison)
{
	if (!poison)
		return false;
	c->done = true;
	tsr_poison_row(s, a);
	tsr_poison_row(s, b);
	return true;
}

/* Closed against closed: flat contents. */
static void equal_flat(tsr_store *s, tsr_cstr *c, tsr_row a, tsr_row b)
{
	uint32_t n = tsr_row_flanks(a);
	if (n != tsr_row_flanks(b)) {
		fail_rank(s, c, a, b);
		return;
	}
	c->done = true;
	for (uint32_t i = 0; i < n; i++)
		tsr_derive_dim(s, c, TSR_C_DIM_EQUAL, tsr_row_axis(a, i), tsr_row_axis(b, i), front(i));
}

/* The middle of a closed row that an open one leaves over.
 * POLICY: it inherits the closed side's marker where that falls inside the remainder, else the nearer edge. */
static tsr_row middle(tsr_store *s, tsr_row closed, uint32_t nlead, uint32_t ntrail)
{
	return tsr_row_slice(s, closed, nlead, tsr_row_flanks(closed) - ntrail);
}

/* Open against closed binds the middle. */
static void equal_middle(tsr_store *s, tsr_cstr *c, tsr_row a, tsr_row b)
{
	bool a_open = tsr_row_open(a);
	tsr_row open = a_open ? a : b, closed = a_open ? b : a;
	uint32_t n = tsr_row_flanks(closed);
	if (n < tsr_row_flanks(open)) {
		fail_rank(s, c, tsr_row_find(s, c->row.rest[0], &(bool){0}), tsr_row_find(s, c->row.rest[1], &(bool){0}));
		return;
	}
	c->done = true;
	for (uint32_t i = 0; i < tsr_row_flanks(open); i++) {
		bool leading = i < open.nlead || TSR_PLANTED(5);                         /* counted from the front */
		uint32_t at = leading ? i : n - tsr_row_flanks(open) + i;
		tsr_dim x = tsr_row_axis(open, i), y = tsr_row_axis(closed, at);
		tsr_derive_dim(s, c, TSR_C_DIM_EQUAL, a_open ? x : y, a_open ? y : x, front(at));
	}
	tsr_bind_row(s, open.var, middle(s, closed, open.nlead, open.ntrail), c);
}

/* Equates the flank axes that both sides have, and takes them off. */
static void peel(tsr_store *s, tsr_cstr *c, tsr_row *a, tsr_row *b)
{
	uint32_t nl = a->nlead < b->nlead ? a->nlead : b->nlead;
	uint32_t nt = a->ntrail < b->ntrail ? a->ntrail : b->ntrail;
	for (uint32_t i = 0; i < nl; i++)
		tsr_derive_dim(s, c, TSR_C_DIM_EQUAL, a->lead[i], b->lead[i], front(i));
	for (uint32_t i = 1; i <= nt; i++)
		tsr_derive_dim(s, c, TSR_C_DIM_EQUAL, a->trail[a->ntrail - i], b->trail[b->ntrail - i], (tsr_place){TSR_NO_ID, i});
	a->lead += nl;
	a->nlead -= nl;
	b->lead += nl;
	b->nlead -= nl;
	a->ntrail -= nt;
	b->ntrail -= nt;
}

/* A variable against itself, with equal totals: a rotation is deferred. */
static void equal_rotation(tsr_store *s, tsr_cstr *c, tsr_row a)
{
	if (tsr_row_flanks(a) == 0)
		c->done = true;
	else
		tsr_watch_row(s, c, a.var, TSR_SIDE_NONE);
}

void tsr_visit_row_equal(tsr_store *s, tsr_cstr *c)
{
	bool poison = false;
	tsr_row a = tsr_row_find(s, c->row.rest[0], &poison), b = tsr_row_find(s, c->row.rest[1], &poison);
	if (spread_poison(s, c, a, b, poison))
		return;
	if (!tsr_row_open(a) && !tsr_row_open(b)) {
		equal_flat(s, c, a, b);
	} else if (!tsr_row_open(b) || !tsr_row_open(a)) {
		equal_middle(s, c, a, b);
	} else if (a.var == b.var && tsr_row_flanks(a) != tsr_row_flanks(b)) {
		fail_infinite(s, c);
	} else {
		peel(s, c, &a, &b);
		c->row.rest[0] = a;
		c->row.rest[1] = b;
		if (a.var == b.var) {
			equal_rotation(s, c, a);
		} else if (tsr_row_flanks(a) == 0 && tsr_row_flanks(b) == 0) {
			c->done = true;
			tsr_join_rows(s, a.var, b.var, c);
		} else if (tsr_row_flanks(a) == 0) {
			c->done = true;
			tsr_bind_row(s, a.var, b, c);
		} else if (tsr_row_flanks(b) == 0) {
			c->done = true;
			tsr_bind_row(s, b.var, a, c);
		} else {                                  /* surpluses on both sides: a word equation, deferred */
			tsr_watch_row(s, c, a.var, TSR_SIDE_NONE);
			tsr_watch_row(s, c, b.var, TSR_SIDE_NONE);
		}
	}
}

/* ---- inequality -------------------------------------------------------------------------------------------------- */

/* Result open and too short in total by k: its variable becomes k fresh axes around a fresh variable. A variable grows
 * once (it is bound then), so the binding is the memo of the template. The axes go where the operand's flanks want them. */
static bool grow(tsr_store *s, tsr_cstr *c, tsr_row res, tsr_row op)
{
	uint32_t k = tsr_row_flanks(op) - tsr_row_flanks(res);
	uint32_t want = op.nlead > res.nlead ? op.nlead - res.nlead : 0;
	tsr_row t = {.nlead = TSR_PLANTED(7) ? 0 : want < k ? want : k};          /* grown on the wrong side */
	t.ntrail = k - t.nlead;
	t.lead = t.nlead ? TSR_NEW_N(s->arena, tsr_dim, t.nlead) : NULL;
	t.trail = t.ntrail ? TSR_NEW_N(s->arena, tsr_dim, t.ntrail) : NULL;
	for (uint32_t i = 0; i < t.nlead; i++)
		t.lead[i] = tsr_dim_fresh(s, NULL, c->why->span);
	for (uint32_t i = 0; i < t.ntrail; i++)
		t.trail[i] = tsr_dim_fresh(s, NULL, c->why->span);
	t.var = tsr_row_var_new(s);
	uint32_t depth = s->rows.at[res.var].depth + 1;
	if (res.var == op.var || (depth >= 8 && (depth & (depth - 1)) == 0 && tsr_rank_diverges(s, res.var))) {
		fail_infinite(s, c);
		return false;
	}
	s->rows.at[t.var].depth = depth;
	s->rows.at[t.var].from_template = true;
	tsr_bind_row(s, res.var, t, c);
	return true;
}

/* Hands on the pairs of axes whose alignment is known: of the leading flanks, of the trailing ones. */
static void align(tsr_store *s, tsr_cstr *c, tsr_outline res_line, tsr_outline op_line)
{
	bool closed = res_line.var == TSR_NO_ROW, poison = false;
	uint32_t nl = (closed && !TSR_PLANTED(6)) || op_line.nlead < res_line.nlead ?       /* the result's marker plays a part */ op_line.nlead : res_line.nlead;
	uint32_t nt = closed || op_line.ntrail < res_line.ntrail ? op_line.ntrail : res_line.ntrail;
	if (c->row.nlead >= nl && c->row.ntrail >= nt)
		return;
	tsr_row res = tsr_row_find(s, c->row.a, &poison), op = tsr_row_find(s, c->row.b, &poison);
	uint32_t n = tsr_row_flanks(res);
	for (; c->row.nlead < nl; c->row.nlead++)
		tsr_derive_dim(s, c, TSR_C_DIM_BELOW, tsr_row_axis(res, c->row.nlead), op.lead[c->row.nlead], front(c->row.nlead));
	for (; c->row.ntrail < nt; c->row.ntrail++) {
		uint32_t back = c->row.ntrail + 1;
		tsr_derive_dim(s, c, TSR_C_DIM_BELOW, tsr_row_axis(res, n - back), op.trail[op.ntrail - back],
			closed ? front(n - back) : (tsr_place){TSR_NO_ID, back});
	}
}

/* The result has fewer axes than the operand: it grows where it can. */
static bool lengthen(tsr_store *s, tsr_cstr *c)
{
	bool poison = false;
	tsr_row res = tsr_row_find(s, c->row.a, &poison), op = tsr_row_find(s, c->row.b, &poison);
	if (tsr_row_open(res))
		return grow(s, c, res, op);
	fail_rank(s, c, res, op);
	return false;
}

void tsr_visit_row_below(tsr_store *s, tsr_cstr *c)
{
	bool poison = false;
	tsr_outline res = tsr_row_outline(s, &c->row.a, &poison), op = tsr_row_outline(s, &c->row.b, &poison);
	if (poison) {
		spread_poison(s, c, tsr_row_find(s, c->row.a, &poison), tsr_row_find(s, c->row.b, &poison), true);
		return;
	}
	if (res.nlead + res.ntrail < op.nlead + op.ntrail) {
		if (!lengthen(s, c))
			return;
		res = tsr_row_outline(s, &c->row.a, &poison);
		op = tsr_row_outline(s, &c->row.b, &poison);
	}
	align(s, c, res, op);
	if (op.var == TSR_NO_ROW && c->row.nlead == op.nlead && c->row.ntrail == op.ntrail) {
		c->done = true;
		return;
	}
	if (res.var != TSR_NO_ROW)
		tsr_watch_row(s, c, res.var, TSR_SIDE_RESULT);
	if (op.var != TSR_NO_ROW) {
		tsr_watch_row(s, c, op.var, TSR_SIDE_OPERAND);
		if (s->closing)
			tsr_push(s->arena, &s->dirty_rows, op.var);
	}
}
