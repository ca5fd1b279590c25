/* Products that are scattered are gathered instead.
 *
 * A gradient of a convolution with respect to what its windows slide over, and a convolution that writes its windows, add each product
 * to a place that several loops name together:
 *
 *     for o, for k:  X[s*o + d*k + c] acc= v(o, k)          a place is reached from several o: order matters
 *
 * Such an axis gets a loop h of its own, and the pivot o follows from it, o = (h - c - d*k) / s.  Where s is 1 that is an index like any
 * other, guarded by 0 <= o < its extent.  Else h = s*q + r, for each residue r a nest of its own: r fixes k modulo s/gcd(s, d),
 *
 *     for r in 0..s:  for q, for k':  k = k0(r) + s/gcd(s, d) * k',  o = q + (r - c - d*k0) / s - d/gcd(s, d) * k'
 *
 * so that no product is looked at in vain.  Then each element is one sum, the loops that name places are independent, and a clearing
 * of X before is taken into the nests.  Which loop is the pivot: the one with which fewest points are walked, rather
 * one along which operands are read, and not a window's places where products are summed.
 *
 * It is done where the engine takes the largest of the nests, or where its innermost loop finds all that it reads side by side, or a few elements apart, and so
 * has vectors of sums (kernel/outer.c); else the scatter stays, and --dump=schedule says why.  Changes the order of summation, never the set of summands. */
#include "pull.h"

enum { MOST_GROWTH = 4, MOST_FROM_ONES = 8 };        /* of points, where they were walked in vectors, or one by one */
#define FOR_ONE 1.5                 /* all places along the axis read the same */
#define OF_WINDOW 2.                /* few places, as a window's: what it is multiplied with would slide over its weights */

typedef tsr_scatter scatter;
typedef tsr_pull_plan plan;

static uint32_t loop_of(const scatter *s, const tsr_lin_term *t)
{
	for (uint32_t i = 0; t->kind == TSR_LSYM_LOOP && i < s->n; i++)
		if (s->loop[i]->loop.sym == t->id)
			return i;
	return TSR_NONE;
}

static double count(tsr_size x) { return tsr_size_is_const(x) ? (double)x.k : TSR_PULL_RUN_TIME; }

/* ---- recognising ------------------------------------------------------------------------------------------------------ */

/* Loops and guards, each holding nothing but the next. */
static bool take_chain(scatter *s, tsr_stmts **body)
{
	tsr_nest nest = tsr_nest_of(*body);
	for (uint32_t i = 0; i < nest.n; i++) {
		if (s->n == TSR_MOST_LOOPS)
			return false;
		s->loop[s->n++] = nest.loop[i];
		s->serial |= nest.loop[i]->loop.how == TSR_FOR_SERIAL;
	}
	*body = nest.body;
	if ((*body)->n != 1 || (*body)->at[0]->kind != TSR_STMT_IF)
		return true;
	const tsr_stmt *guard = (*body)->at[0];
	for (uint32_t i = 0; i < guard->cond.n; i++) {
		if (s->nranges == TSR_PULL_RANGES)
			return false;
		s->ranges[s->nranges++] = guard->cond.ranges[i];
	}
	*body = (tsr_stmts *)&guard->cond.body;
	return take_chain(s, body);
}

/* The accumulators whose order is free. */
static bool free_order(tsr_acc acc)
{
	return acc == TSR_ACC_ADD || acc == TSR_ACC_SUB || acc == TSR_ACC_MAX || acc == TSR_ACC_MIN;
}

/* let $s = X, or neutral;  for .. { set $s = $s acc v };  store X = $s, or X acc= $s */
static bool local_form(scatter *s, const tsr_stmts *body)
{
	const tsr_stmt *let = body->at[0], *out = body->at[2];
	if (let->kind != TSR_STMT_LET || body->at[1]->kind != TSR_STMT_FOR || (out->kind != TSR_STMT_STORE && out->kind != TSR_STMT_UPDATE))
		return false;
	tsr_stmts one = { (tsr_stmt **)&body->at[1], 1, 1 }, *inner = &one;
	if (!take_chain(s, &inner) || inner->n != 1 || inner->at[0]->kind != TSR_STMT_SET)
		return false;
	const tsr_expr *sum = inner->at[0]->let.value, *start = let->let.value, *end = out->store.value;
	tsr_local_id local = let->let.local;
	if (inner->at[0]->let.local != local || sum->kind != TSR_EXPR_OP || !tsr_expr_is_local(sum->op.args[0], local))
		return false;
	s->target = (tsr_stmt *)out;
	s->value = sum->op.args[1];
	s->collect = sum->op.op == TSR_OP_MAX ? TSR_ACC_MAX : sum->op.op == TSR_OP_MIN ? TSR_ACC_MIN : TSR_ACC_ADD;
	s->acc = s->collect;
	if (tsr_acc_get(s->collect)->op != sum->op.op)
		return false;
	bool from_neutral = start->kind == TSR_EXPR_CONST && start->value.d == tsr_acc_get(s->collect)->neutral && tsr_prec_is_float(start->prec);
	if (out->kind == TSR_STMT_STORE && tsr_expr_is_element(s->p->l, start, out))
		return tsr_expr_is_local(end, local);
	if (out->kind == TSR_STMT_UPDATE && from_neutral && tsr_expr_is_local(end, local)) {
		s->acc = out->store.acc;
		return s->acc == s->collect || (s->acc == TSR_ACC_SUB && s->collect == TSR_ACC_ADD);
	}
	s->acc = TSR_ACC_SUB;
	return from_neutral && s->collect == TSR_ACC_ADD && end->kind == TSR_EXPR_OP && end->op.op == TSR_OP_SUB
		&& tsr_expr_is_element(s->p->l, end->op.args[0], out) && tsr_expr_is_local(end->op.args[1], local);
}

static bool recognise(scatter *s)
{
	tsr_stmts *body = (tsr_stmts *)&s->kernel->kernel.body;
	if (!take_chain(s, &body))
		return false;
	if (body->n == 1 && body->at[0]->kind == TSR_STMT_UPDATE && free_order(body->at[0]->store.acc)) {
		s->target = body->at[0];
		s->acc = s->target->store.acc;
		s->collect = s->acc == TSR_ACC_SUB ? TSR_ACC_ADD : s->acc;
		s->value = s->target->store.value;
	} else if (body->n != 3 || !local_form(s, body)) {
		return false;
	}
	s->x = s->p->l->buffers.at[s->target->store.buffer];
	if (s->value->prec != s->x->prec || !tsr_prec_is_float(s->x->prec) || tsr_expr_reads(s->value, s->x->id))
		return false;
	for (uint32_t axis = 0; axis < s->x->rank; axis++) {
		const tsr_lin *x = &s->target->store.index[axis];
		for (uint32_t t = 0; t < x->n; t++) {
			uint32_t i = loop_of(s, &x->terms[t]);
			if (x->terms[t].kind == TSR_LSYM_DATA || (i != TSR_NONE && s->names[i]++))
				return false;
		}
		for (uint32_t i = 0; i < s->nranges; i++)
			s->serial |= x->n > 1 && tsr_lin_equal(s->ranges[i].index, *x);
	}
	return s->serial;
}

/* ---- choosing ------------------------------------------------------------------------------------------------------------ */

static int64_t gcd_of(int64_t x, int64_t y)
{
	while (y) {
		int64_t r = x % y;
		x = y, y = r;
	}
	return x < 0 ? -x : x;
}

static int64_t floor_mod(int64_t x, int64_t m) { return (x % m + m) % m; }
static int64_t ceil_div(int64_t x, int64_t d) { return x >= 0 ? (x + d - 1) / d : -(-x / d); }

/* ceil((size - less) / d), where every symbol's coefficient is a multiple of d. */
static bool parts(tsr_arena *a, tsr_size size, int64_t less, int64_t d, tsr_size *out)
{
	tsr_size_term *terms = TSR_NEW_N(a, tsr_size_term, size.nterms + 1);
	*out = (tsr_size){ ceil_div(size.k - less, d), size.nterms, terms };
	for (uint32_t i = 0; i < size.nterms; i++) {
		terms[i] = (tsr_size_term){ size.terms[i].coef / d, size.terms[i].symbol };
		if (size.terms[i].coef % d)
			return false;
	}
	return true;
}

/* The axis with this term as the pivot; false when it cannot be. */
static bool pivot_at(const scatter *s, uint32_t axis, uint32_t term, plan *out)
{
	const tsr_lin *x = &s->target->store.index[axis];
	tsr_size size = s->x->dims[axis], unused;
	int64_t stride = x->terms[term].coef;
	*out = (plan){ loop_of(s, &x->terms[term]), TSR_NONE, stride, 0, 1, count(size) };
	if (out->pivot == TSR_NONE)
		return false;
	if (stride == 1 || stride == -1) {
		for (uint32_t t = 0; t < x->n; t++)
			if (t != term && loop_of(s, &x->terms[t]) != TSR_NONE)
				out->points *= count(s->loop[loop_of(s, &x->terms[t])]->loop.extent);
		return true;
	}
	uint32_t other = term == 0;
	out->window = x->n == 2 ? loop_of(s, &x->terms[other]) : TSR_NONE;
	if (stride < 0 || out->window == TSR_NONE || x->base.k || x->base.nterms)
		return false;
	out->step = x->terms[other].coef;
	out->gcd = gcd_of(out->step, stride);
	tsr_size window = s->loop[out->window]->loop.extent;
	out->points *= count(window) * (double)out->gcd / (double)stride;
	return parts(s->p->arena, size, 0, stride, &unused) && parts(s->p->arena, window, 0, stride / out->gcd, &unused);
}

/* An axis that stands for several, as one for (group, channel) does: each of its places has one iteration of each of its loops. */
static bool joint(const scatter *s, uint32_t axis)
{
	const tsr_lin *x = &s->target->store.index[axis];
	int64_t next = 1;
	uint32_t placed = 0;
	for (bool more = !x->offset && !x->base.k && !x->base.nterms; more;) {
		more = false;
		for (uint32_t t = 0; t < x->n && !more; t++) {
			uint32_t i = loop_of(s, &x->terms[t]);
			if (i == TSR_NONE || x->terms[t].coef != next || !tsr_size_is_const(s->loop[i]->loop.extent) || s->loop[i]->loop.extent.k < 2)
				continue;
			more = !__builtin_mul_overflow(next, s->loop[i]->loop.extent.k, &next);
			placed++;
		}
	}
	return placed == x->n && placed > 1 && tsr_size_is_const(s->x->dims[axis]) && s->x->dims[axis].k == next;
}

/* Some loop that names no place is summed over. */
static bool sums(const scatter *s)
{
	bool any = false;
	for (uint32_t i = 0; i < s->n; i++)
		any |= !s->names[i] && tsr_expr_mentions(s->p->l, s->value, s->loop[i]->loop.sym);
	return any;
}

/* As if so many times more points were walked with this pivot. */
static double dearer(const scatter *s, uint32_t axis, const plan *p)
{
	const tsr_lin *x = &s->target->store.index[axis];
	double most = 0, mine = count(s->loop[p->pivot]->loop.extent);
	for (uint32_t t = 0; t < x->n; t++) {
		uint32_t i = loop_of(s, &x->terms[t]);
		most = i != TSR_NONE && count(s->loop[i]->loop.extent) > most ? count(s->loop[i]->loop.extent) : most;
	}
	return (tsr_expr_mentions(s->p->l, s->value, s->loop[p->pivot]->loop.sym) ? 1 : FOR_ONE) * (2 * mine <= most && sums(s) ? OF_WINDOW : 1);
}

/* The innermost loop goes by vectors as it is. */
static bool scatters_vectors(const scatter *s)
{
	enum { LEAST = 4 };
	const tsr_stmt *last = s->loop[s->n - 1];
	return last->loop.how == TSR_FOR_PARALLEL && count(last->loop.extent) >= LEAST;
}

/* Plans every axis that several loops name; the number of nests, 0 when an axis cannot be pulled or that would not pay. */
static uint32_t choose(const scatter *s, plan *plans, const char **why)
{
	int64_t nests = 1;
	double before = 1, after = 1;
	for (uint32_t axis = 0; axis < s->x->rank; axis++) {
		const tsr_lin *x = &s->target->store.index[axis];
		uint32_t loops = 0;
		for (uint32_t t = 0; t < x->n; t++)
			loops += loop_of(s, &x->terms[t]) != TSR_NONE;
		plans[axis] = (plan){ .pivot = TSR_NONE };
		if (loops < 2 || joint(s, axis))
			continue;
		double least = 0;
		for (uint32_t t = 0; t < x->n; t++) {
			plan p;
			double here = pivot_at(s, axis, t, &p) ? p.points * dearer(s, axis, &p) : 0;
			if (here > 0 && (plans[axis].pivot == TSR_NONE || here < least))
				plans[axis] = p, least = here;
			if (loop_of(s, &x->terms[t]) != TSR_NONE)
				before *= count(s->loop[loop_of(s, &x->terms[t])]->loop.extent);
		}
		*why = "its strides are not divided by sizes known at run time";
		if (plans[axis].pivot == TSR_NONE)
			return 0;
		after *= plans[axis].points;
		nests *= plans[axis].stride > 1 ? plans[axis].stride : 1;
		*why = "it would take too many nests";
		if (nests > TSR_PULL_NESTS)
			return 0;
	}
	*why = "gathered, it would walk more points";
	return after <= (scatters_vectors(s) ? MOST_GROWTH : MOST_FROM_ONES) * before ? (uint32_t)nests : 0;
}

/* ---- building --------------------------------------------------------------------------------------------------------------- */

/* One nest being built: what each old loop becomes. */
typedef struct gathering {
	const scatter *s;
	const plan *plans;
	const int64_t *residue;      /* per axis */
	uint32_t syms[TSR_MOST_LOOPS];
	tsr_lin to[TSR_MOST_LOOPS];
	tsr_stmt *loop[TSR_MOST_LOOPS];      /* the new loop, or NULL */
	tsr_stmt *own[TSR_MOST_LOOPS];       /* per axis: the new loop of a pulled axis */
	tsr_lin *index;
	bool empty;                  /* nothing reaches these places */
} gathering;

static tsr_stmt *new_loop(const scatter *s, tsr_name name, tsr_size extent, tsr_for_kind how)
{
	tsr_stmt *f = tsr_stmt_new(s->p->arena, TSR_STMT_FOR, s->target->span);
	f->loop.sym = s->unit->nsyms++;
	f->loop.name = name;
	f->loop.extent = extent;
	f->loop.how = how;
	return f;
}

static tsr_lin at_loop(const scatter *s, const tsr_stmt *loop)
{
	return tsr_lin_add_sym(s->p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, loop->loop.sym);
}

/* Every loop but the pivots: itself, under a new symbol; a loop of one iteration goes. */
static void keep_loops(gathering *g)
{
	const scatter *s = g->s;
	for (uint32_t i = 0; i < s->n; i++) {
		const tsr_stmt *old = s->loop[i];
		tsr_size extent = old->loop.extent;
		g->syms[i] = old->loop.sym;
		g->to[i] = tsr_lin_const(0);
		if (tsr_size_is_const(extent) && extent.k == 1)
			continue;
		g->loop[i] = new_loop(s, old->loop.name, extent, s->names[i] ? TSR_FOR_PARALLEL : TSR_FOR_REDUCE);
		g->to[i] = at_loop(s, g->loop[i]);
	}
}

/* k = k0 + s/gcd * k': the first place of the window that reaches this residue; none: the nest is empty. */
static void thin_window(gathering *g, uint32_t axis, int64_t offset, int64_t *first)
{
	const scatter *s = g->s;
	const plan *p = &g->plans[axis];
	int64_t every = p->stride / p->gcd, r = g->residue[axis], k = 0;
	while (k < every && floor_mod(p->step * k + offset - r, p->stride))
		k++;
	tsr_size extent = s->loop[p->window]->loop.extent, left;
	parts(s->p->arena, extent, k, every, &left);
	*first = k;
	g->empty |= k == every || (tsr_size_is_const(left) && left.k <= 0);
	g->to[p->window] = tsr_lin_const(k);
	g->loop[p->window] = NULL;
	if (tsr_size_is_const(left) && left.k == 1)
		return;
	g->loop[p->window] = new_loop(s, s->loop[p->window]->loop.name, left, TSR_FOR_REDUCE);
	g->to[p->window] = tsr_lin_add(s->p->arena, g->to[p->window], every, at_loop(s, g->loop[p->window]));
}

static void pull_axis(gathering *g, uint32_t axis)
{
	const scatter *s = g->s;
	tsr_arena *a = s->p->arena;
	const plan *p = &g->plans[axis];
	const tsr_lin *x = &s->target->store.index[axis];
	int64_t stride = p->stride > 1 ? p->stride : 1;
	tsr_size extent;
	parts(a, s->x->dims[axis], g->residue[axis], stride, &extent);
	tsr_stmt *h = g->own[axis] = new_loop(s, s->loop[p->pivot]->loop.name, extent, TSR_FOR_PARALLEL);
	g->empty |= tsr_size_is_const(extent) && extent.k <= 0;
	g->index[axis] = tsr_lin_add(a, tsr_lin_const(g->residue[axis]), stride, at_loop(s, h));
	g->loop[p->pivot] = NULL;
	if (p->stride > 1) {
		int64_t first = 0, offset = x->offset;
		thin_window(g, axis, offset, &first);
		tsr_lin o = tsr_lin_const((g->residue[axis] - offset - p->step * first) / p->stride);
		o = tsr_lin_add(a, o, 1, at_loop(s, h));
		if (g->loop[p->window])
			o = tsr_lin_add(a, o, -p->step / p->gcd, at_loop(s, g->loop[p->window]));
		g->to[p->pivot] = o;
		return;
	}
	tsr_lin rest = tsr_lin_const(-x->offset);
	rest = tsr_lin_add_size(a, rest, -1, x->base);
	for (uint32_t t = 0; t < x->n; t++) {
		uint32_t i = loop_of(s, &x->terms[t]);
		if (i == p->pivot)
			continue;
		rest = i == TSR_NONE ? tsr_lin_add_sym(a, rest, -x->terms[t].coef, x->terms[t].kind, x->terms[t].id)
			: tsr_lin_add(a, rest, -x->terms[t].coef, g->to[i]);
		if (i != TSR_NONE && g->loop[i])
			g->loop[i]->loop.how = TSR_FOR_REDUCE;
	}
	rest = tsr_lin_add(a, rest, 1, at_loop(s, h));
	g->to[p->pivot] = tsr_lin_add(a, tsr_lin_const(0), p->stride, rest);
}

static bool full_loop(const tsr_lin *x, const tsr_stmt *loop, tsr_size size)
{
	return tsr_lin_bare(x, loop->loop.sym) && tsr_extent_equal(loop->loop.extent, size);
}

/* The guards of the new nest: the old ones, but what a pulled axis ensures; and each pivot within its loop. */
static tsr_stmt *guard_of(const gathering *g)
{
	const scatter *s = g->s;
	tsr_stmt *guard = tsr_stmt_new(s->p->arena, TSR_STMT_IF, s->target->span);
	guard->cond.ranges = TSR_NEW_N(s->p->arena, tsr_range, s->nranges + s->x->rank + 1);
	for (uint32_t i = 0; i < s->nranges; i++) {
		bool ensured = false;
		for (uint32_t axis = 0; axis < s->x->rank; axis++)
			ensured |= g->own[axis] && tsr_lin_equal(s->ranges[i].index, s->target->store.index[axis])
				&& tsr_extent_equal(s->ranges[i].size, s->x->dims[axis]);
		if (!ensured)
			guard->cond.ranges[guard->cond.n++] = (tsr_range){ tsr_lin_place(s->p->arena, &s->ranges[i].index, s->n, g->syms, g->to),
															   s->ranges[i].size };
	}
	for (uint32_t axis = 0; axis < s->x->rank; axis++) {
		if (!g->own[axis])
			continue;
		uint32_t pivot = g->plans[axis].pivot;
		tsr_size extent = s->loop[pivot]->loop.extent;
		if (!full_loop(&g->to[pivot], g->own[axis], extent))
			guard->cond.ranges[guard->cond.n++] = (tsr_range){ g->to[pivot], extent };
	}
	return guard;
}

static tsr_stmts *under(const scatter *s, tsr_stmts *into, tsr_stmt *loop)
{
	tsr_push(s->p->arena, into, loop);
	return &loop->loop.body;
}

/* let $s = neutral;  for .. { [guard] set $s = $s acc v };  X = $s, or X acc= $s */
static void fill_sum(const gathering *g, bool clear, tsr_stmts *body)
{
	const scatter *s = g->s;
	tsr_arena *a = s->p->arena;
	tsr_prec prec = s->x->prec;
	tsr_stmt *let = tsr_stmt_new(a, TSR_STMT_LET, s->target->span), *set = tsr_stmt_new(a, TSR_STMT_SET, s->target->span);
	tsr_stmt *out = tsr_stmt_new(a, clear ? TSR_STMT_STORE : TSR_STMT_UPDATE, s->target->span);
	tsr_expr *nothing = tsr_expr_const(a, tsr_acc_neutral(s->collect, prec));
	out->store = s->target->store;
	out->store.index = g->index;
	out->store.acc = s->acc;
	out->store.value = nothing;
	if (!g->empty) {
		let->let.local = set->let.local = s->unit->nlocals++;
		let->let.prec = set->let.prec = prec;
		let->let.value = nothing;
		tsr_expr *v = tsr_expr_place(a, s->p->l, s->value, s->n, g->syms, g->to);
		set->let.value = tsr_expr_op(a, tsr_acc_get(s->collect)->op, prec, tsr_expr_local(a, let->let.local, prec), v, NULL);
		out->store.value = tsr_expr_local(a, let->let.local, prec);
		tsr_push(a, body, let);
		tsr_stmts *inner = body;
		for (uint32_t i = 0; i < s->n; i++)
			if (g->loop[i] && g->loop[i]->loop.how == TSR_FOR_REDUCE)
				inner = under(s, inner, g->loop[i]);
		tsr_stmt *guard = guard_of(g);
		if (guard->cond.n) {
			tsr_push(a, inner, guard);
			inner = &guard->cond.body;
		}
		tsr_push(a, inner, set);
	}
	tsr_push(a, body, out);
}

bool tsr_pull_residues(const scatter *s, const plan *plans, uint32_t at, int64_t *residue)
{
	for (uint32_t axis = 0; axis < s->x->rank; axis++) {
		bool several = plans[axis].pivot != TSR_NONE && plans[axis].stride > 1;
		residue[axis] = several ? at % (uint32_t)plans[axis].stride : 0;
		at /= several ? (uint32_t)plans[axis].stride : 1;
	}
	return !at;
}

tsr_stmt *tsr_pull_gather(const scatter *s, const plan *plans, const int64_t *residue, bool clear)
{
	gathering g = { .s = s, .plans = plans, .residue = residue, .index = TSR_NEW_N(s->p->arena, tsr_lin, s->x->rank + 1) };
	keep_loops(&g);
	for (uint32_t axis = 0; axis < s->x->rank; axis++)
		if (plans[axis].pivot != TSR_NONE)
			pull_axis(&g, axis);
		else
			g.index[axis] = tsr_lin_place(s->p->arena, &s->target->store.index[axis], s->n, g.syms, g.to);
	if (g.empty && !clear)
		return NULL;
	tsr_stmt *k = tsr_stmt_new(s->p->arena, TSR_STMT_KERNEL, s->kernel->span);
	k->kernel.name = s->kernel->kernel.name;
	tsr_stmts *body = &k->kernel.body;
	for (uint32_t axis = 0; axis < s->x->rank; axis++) {
		const tsr_lin *x = &s->target->store.index[axis];
		if (g.own[axis])
			body = under(s, body, g.own[axis]);
		for (uint32_t t = 0; !g.own[axis] && t < x->n; t++) {
			uint32_t i = loop_of(s, &x->terms[t]);
			if (i != TSR_NONE && g.loop[i])
				body = under(s, body, g.loop[i]);
		}
	}
	fill_sum(&g, clear, body);
	return k;
}

/* ---- replacing ----------------------------------------------------------------------------------------------------------------- */

/* Every element of X is one that the nests write: each axis is pulled, or walked from end to end, by one loop or by several. */
static bool covers(const scatter *s, const plan *plans)
{
	for (uint32_t axis = 0; axis < s->x->rank; axis++) {
		const tsr_lin *x = &s->target->store.index[axis];
		uint32_t i = x->n == 1 ? loop_of(s, &x->terms[0]) : TSR_NONE;
		bool one = !x->n && !x->offset && !x->base.k && !x->base.nterms && tsr_size_is_const(s->x->dims[axis]) && s->x->dims[axis].k == 1;
		if (plans[axis].pivot == TSR_NONE && !one && !joint(s, axis) && (i == TSR_NONE || !full_loop(x, s->loop[i], s->x->dims[axis])))
			return false;
	}
	return true;
}

static void gather_all(const scatter *s, const plan *plans, uint32_t nests, bool clear, tsr_stmts *out)
{
	for (uint32_t at = 0; at < nests; at++) {
		int64_t residue[TSR_MOST_LOOPS];
		tsr_pull_residues(s, plans, at, residue);
		tsr_stmt *k = tsr_pull_gather(s, plans, residue, clear);
		if (k)
			tsr_push(s->p->arena, out, k);
	}
}

static bool is_product(const tsr_expr *e) { return e->kind == TSR_EXPR_OP && e->op.op == TSR_OP_MUL; }

/* What takes the place of the kernel, into `out`; false: it stays. */
static bool pull(tsr_pass *p, tsr_loop_unit *u, const tsr_body_uses *uses, uint32_t at, int64_t *clearing, tsr_stmts *out)
{
	scatter s = { .p = p, .unit = u, .kernel = u->body.at[at] };
	plan plans[TSR_MOST_LOOPS];
	const char *why = NULL;
	*clearing = -1;
	if (s.kernel->kind != TSR_STMT_KERNEL || !recognise(&s) || s.x->rank > TSR_MOST_LOOPS)
		return false;
	uint32_t nests = choose(&s, plans, &why), syms = u->nsyms, locals = u->nlocals;
	if (!nests || !tsr_pull_pays(&s, plans)) {
		u->nsyms = syms, u->nlocals = locals;
		if (is_product(s.value))
			tsr_pass_note(p, "%s: %s stays a scatter: %s", u->name, s.kernel->kernel.name, nests ? "neither the engine takes it nor vectors of sums" : why);
		return false;
	}
	u->nsyms = syms, u->nlocals = locals;
	if (s.acc != TSR_ACC_SUB && covers(&s, plans))
		*clearing = tsr_clearing_before(p->l, uses, at, s.x->id, tsr_acc_get(s.acc)->neutral);
	gather_all(&s, plans, nests, *clearing >= 0, out);
	tsr_pass_note(p, nests > 1 ? "%s: %s is gathered, in %u nests" : "%s: %s is gathered", u->name, s.kernel->kernel.name, nests);
	return true;
}

void tsr_pass_pull(tsr_pass *p)
{
	tsr_arena *scratch = tsr_arena_new();
	for (uint32_t i = 0; i < p->l->units.n; i++) {
		tsr_loop_unit *u = p->l->units.at[i];
		tsr_body_uses uses;
		tsr_body_uses_make(&uses, scratch, &u->body);
		tsr_stmts out = { 0 };
		uint32_t n = u->body.n;
		tsr_stmts *nests = TSR_NEW_N(scratch, tsr_stmts, n + 1);
		bool *gone = TSR_NEW_N(scratch, bool, n + 1);
		for (uint32_t at = 0; at < n; at++) {
			int64_t clearing;
			gone[at] = pull(p, u, &uses, at, &clearing, &nests[at]);
			if (clearing >= 0)
				gone[clearing] = true;
			p->changes += gone[at];
		}
		for (uint32_t at = 0; at < n; at++) {
			for (uint32_t j = 0; j < nests[at].n; j++)
				tsr_push(p->arena, &out, nests[at].at[j]);
			if (!gone[at])
				tsr_push(p->arena, &out, u->body.at[at]);
		}
		u->body = out;
	}
	tsr_arena_free(scratch);
}
