/* Contraction order by cost; path.h says what is decided.
 *
 *   exact    the best tree of every subset of the factors from the best trees of its two halves, outer products included; a factor
 *            also with its own loops summed first
 *   greedy   the pair whose product takes least room compared with its parts, again and again, for several ways to compare;
 *            then every neighbourhood of the tree is ordered exactly until none gains
 *   in order where rounding is to stay: the first factors, then the next, each with its own loops summed first
 *   flatten  a step that repeats no arithmetic in the step that uses it, or whose result is too large, becomes part of that step */
#include "path.h"
#include "../base/vec.h"
#include <math.h>
#include <string.h>

enum { NOTHING = UINT32_MAX, NEIGHBOURS = 8, ROUNDS = 4 };

typedef struct node {
	uint64_t over, loops;        /* what it runs over, what its result has */
	uint32_t n, part[2];         /* 0: a factor; 1: a factor with its own loops summed */
	uint32_t work;               /* of a factor */
	double cost, room;           /* of the whole tree */
} node;

typedef struct planner {
	tsr_arena *a;
	const tsr_path_problem *q;
	double room;
	TSR_VEC(node) nodes;
} planner;

static double points(const tsr_path_problem *q, uint64_t loops)
{
	double n = 1;
	for (; loops; loops &= loops - 1)
		n *= q->extents[__builtin_ctzll(loops)];
	return n;
}

double tsr_path_direct(const tsr_path_problem *q)
{
	uint64_t over = q->kept;
	double each = q->nfactors - 1;
	for (uint32_t i = 0; i < q->nfactors; i++) {
		over |= q->factors[i].loops;
		each += q->factors[i].work;
	}
	return points(q, over) * (each + (over != q->kept));
}

static uint32_t keep(planner *p, node m)
{
	tsr_push(p->a, &p->nodes, m);
	return p->nodes.n - 1;
}

/* x, or x times y, with the loops summed that are not needed. */
static node joined(const planner *p, const node *x, const node *y, uint64_t need)
{
	node m = {.over = x->loops | (y ? y->loops : 0), .n = y ? 2 : 1};
	m.loops = m.over & need;
	double each = (m.n - 1.) + (m.over != m.loops) + x->work + (y ? y->work : 0);
	m.cost = x->cost + (y ? y->cost : 0) + points(p->q, m.over) * each;
	m.room = x->room + (y ? y->room : 0) + points(p->q, m.loops);
	return m;
}

static bool better(const node *x, const node *y)
{
	return x->cost < y->cost || (x->cost == y->cost && x->room < y->room);
}

/* ---- exact ------------------------------------------------------------------------------------------------------------ */

/* The best tree of a subset; of a single part, the part and (second) its own loops summed. */
typedef struct entry { node best[2]; uint32_t n, half, form[2]; } entry;

typedef struct table { uint32_t n; const uint32_t *ids; uint64_t need; entry *at; } table;

static uint64_t needed(const planner *p, const table *t, uint32_t set)
{
	uint64_t need = t->need;
	for (uint32_t i = 0; i < t->n; i++)
		if (!(set >> i & 1))
			need |= p->nodes.at[t->ids[i]].loops;
	return need;
}

static void single(const planner *p, table *t, uint32_t i)
{
	entry *e = &t->at[1u << i];
	const node *x = &p->nodes.at[t->ids[i]];
	e->best[e->n++] = *x;
	node summed = joined(p, x, NULL, needed(p, t, 1u << i));
	if (x->n == 0 && summed.loops != x->loops)
		e->best[e->n++] = summed;
}

static void halve(const planner *p, table *t, uint32_t set, bool last)
{
	entry *e = &t->at[set];
	uint64_t need = needed(p, t, set);
	uint32_t lowest = set & -set;
	for (uint32_t half = (set - 1) & set; half; half = (half - 1) & set) {
		const entry *x = &t->at[half], *y = &t->at[set ^ half];
		for (uint32_t form = 0; half & lowest && form < x->n * y->n; form++) {
			node m = joined(p, &x->best[form % x->n], &y->best[form / x->n], need);
			if ((!last && points(p->q, m.loops) > p->room) || (e->n && !better(&m, &e->best[0])))
				continue;
			*e = (entry){{m}, 1, half, {form % x->n, form / x->n}};
		}
	}
}

static uint32_t build(planner *p, const table *t, uint32_t set, uint32_t form)
{
	const entry *e = &t->at[set];
	node m = e->best[form];
	if (!(set & (set - 1))) {
		uint32_t id = t->ids[__builtin_ctz(set)];
		if (form == 0)
			return id;
		m.part[0] = id;
		return keep(p, m);
	}
	m.part[0] = build(p, t, e->half, e->form[0]);
	m.part[1] = build(p, t, set ^ e->half, e->form[1]);
	return keep(p, m);
}

/* The best tree over these nodes, or NOTHING where each has an intermediate that is too large. */
static uint32_t exact(planner *p, uint32_t n, const uint32_t *ids, uint64_t need)
{
	table t = {n, ids, need, TSR_NEW_N(p->a, entry, 1u << n)};
	uint32_t all = (1u << n) - 1;
	for (uint32_t set = 1; set <= all; set++) {
		if (set & (set - 1))
			halve(p, &t, set, set == all);
		else
			single(p, &t, (uint32_t)__builtin_ctz(set));
	}
	return t.at[all].n ? build(p, &t, all, n == 1 ? t.at[all].n - 1 : 0) : NOTHING;
}

/* ---- in order ------------------------------------------------------------------------------------------------------- */

/* A factor, with its own loops summed where that pays. */
static uint32_t leaf(planner *p, uint32_t id, uint64_t need)
{
	node m = joined(p, &p->nodes.at[id], NULL, need);
	m.part[0] = id;
	return m.loops == m.over ? id : keep(p, m);
}

static uint64_t factors_after(const tsr_path_problem *q, uint32_t i)
{
	uint64_t loops = 0;
	while (++i < q->nfactors)
		loops |= q->factors[i].loops;
	return loops;
}

/* The first factors, then the next, each combined as in the product as it was written. */
static uint32_t in_order(planner *p)
{
	const tsr_path_problem *q = p->q;
	uint32_t done = leaf(p, 0, q->kept | factors_after(q, 0));
	for (uint32_t i = 1; i < q->nfactors; i++) {
		uint64_t need = q->kept | factors_after(q, i);
		uint32_t next = leaf(p, i, need | p->nodes.at[done].loops);
		node m = joined(p, &p->nodes.at[done], &p->nodes.at[next], need);
		m.part[0] = done;
		m.part[1] = next;
		done = keep(p, m);
	}
	return done;
}

/* ---- greedy ------------------------------------------------------------------------------------------------------------- */

typedef enum { BY_ROOM, BY_COST, BY_GROWTH, STYLES } style;

static double rated(const planner *p, style s, const node *x, const node *y, const node *m)
{
	double after = points(p->q, m->loops), before = points(p->q, x->loops) + points(p->q, y->loops);
	switch (s) {
	case BY_ROOM: return after - before;
	case BY_COST: return m->cost - x->cost - y->cost;
	case BY_GROWTH: return after / before;
	case STYLES: break;
	}
	return 0;
}

/* Loops that something besides live[i] and live[j] needs. */
static uint64_t needed_beside(const planner *p, uint32_t n, const uint32_t *live, uint32_t i, uint32_t j, uint64_t need)
{
	for (uint32_t k = 0; k < n; k++)
		if (k != i && k != j)
			need |= p->nodes.at[live[k]].loops;
	return need;
}

static uint32_t greedy(planner *p, uint64_t need, style s)
{
	uint32_t live[TSR_MOST_FACTORS], n = p->q->nfactors;
	for (uint32_t i = 0; i < n; i++)
		live[i] = i;
	for (uint32_t i = 0; i < n; i++) {
		node m = joined(p, &p->nodes.at[i], NULL, needed_beside(p, n, live, i, i, need));
		m.part[0] = i;
		if (m.loops != m.over)
			live[i] = keep(p, m);
	}
	while (n > 1) {
		node best = {0};
		uint32_t at[2] = {0, 1};
		double rate = INFINITY;
		bool shares = false;         /* outer products come last */
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t j = i + 1; j < n; j++) {
				const node *x = &p->nodes.at[live[i]], *y = &p->nodes.at[live[j]];
				bool share = (x->loops & y->loops) != 0;
				if (shares && !share)
					continue;
				node m = joined(p, x, y, needed_beside(p, n, live, i, j, need));
				double r = rated(p, s, x, y, &m);
				if (best.n && (share == shares) && !(r < rate || (r == rate && better(&m, &best))))
					continue;
				best = m;
				rate = r;
				shares = share;
				at[0] = i;
				at[1] = j;
			}
		best.part[0] = live[at[0]];
		best.part[1] = live[at[1]];
		live[at[0]] = keep(p, best);
		live[at[1]] = live[--n];
	}
	return live[0];
}

/* ---- improving a tree ----------------------------------------------------------------------------------------------------- */

static double own_cost(const planner *p, uint32_t id)
{
	const node *m = &p->nodes.at[id];
	double c = m->cost;
	for (uint32_t i = 0; i < m->n; i++)
		c -= p->nodes.at[m->part[i]].cost;
	return c;
}

/* The nodes below `id` that are left when the dearest is opened until there are many enough. */
static uint32_t neighbourhood(const planner *p, uint32_t id, uint32_t *ids)
{
	uint32_t n = p->nodes.at[id].n;
	memcpy(ids, p->nodes.at[id].part, n * sizeof *ids);
	while (n < NEIGHBOURS) {
		uint32_t dearest = NOTHING;
		for (uint32_t i = 0; i < n; i++)
			if (p->nodes.at[ids[i]].n && (dearest == NOTHING || own_cost(p, ids[i]) > own_cost(p, ids[dearest])))
				dearest = i;
		if (dearest == NOTHING)
			break;
		const node *m = &p->nodes.at[ids[dearest]];
		ids[dearest] = m->part[0];
		if (m->n == 2)
			ids[n++] = m->part[1];
	}
	return n;
}

/* A tree as good or better in place of `id`, whose result has the same loops. */
static uint32_t improved(planner *p, uint32_t id)
{
	node m = p->nodes.at[id];
	uint32_t ids[NEIGHBOURS + 1];
	if (m.n == 0)
		return id;
	uint32_t n = neighbourhood(p, id, ids), other = n > 2 ? exact(p, n, ids, m.loops) : NOTHING;
	if (other != NOTHING && better(&p->nodes.at[other], &m))
		id = other;
	m = p->nodes.at[id];
	uint64_t loops = m.loops;
	for (uint32_t i = 0; i < m.n; i++)
		m.part[i] = improved(p, m.part[i]);
	const node *y = m.n == 2 ? &p->nodes.at[m.part[1]] : NULL;
	node again = joined(p, &p->nodes.at[m.part[0]], y, loops);
	if (m.n == 0 || !better(&again, &p->nodes.at[id]))
		return id;
	memcpy(again.part, m.part, sizeof again.part);
	return keep(p, again);
}

static uint32_t best_greedy(planner *p, uint64_t need)
{
	uint32_t best = NOTHING;
	for (style s = 0; s < STYLES; s++) {
		uint32_t id = greedy(p, need, s);
		for (uint32_t round = 0; round < ROUNDS; round++) {
			uint32_t next = improved(p, id);
			if (next == id)
				break;
			id = next;
		}
		if (best == NOTHING || better(&p->nodes.at[id], &p->nodes.at[best]))
			best = id;
	}
	return best;
}

/* ---- steps ---------------------------------------------------------------------------------------------------------------- */

typedef struct writer { planner *p; tsr_path *out; TSR_VEC(tsr_path_step) steps; } writer;

/* A node as it is written: with its own parts and those of what was put into it. */
typedef struct draft { uint64_t over, keeps; uint32_t n, parts[2 * TSR_MOST_FACTORS]; double each; } draft;

static void finish(writer *w, draft *d)
{
	tsr_path_step s = {d->over, d->keeps, d->n, TSR_NEW_N(w->p->a, uint32_t, d->n + 1), 0};
	memcpy(s.parts, d->parts, d->n * sizeof *s.parts);
	s.operations = points(w->p->q, s.over) * (d->each + (d->n - 1) + (s.over != s.keeps));
	w->out->operations += s.operations;
	tsr_push(w->p->a, &w->steps, s);
}

static draft drafted(writer *w, uint32_t id, uint64_t extra)
{
	const node m = w->p->nodes.at[id];
	draft d = {.over = m.over | extra, .keeps = m.loops | extra};
	draft *below = TSR_NEW_N(w->p->a, draft, 2);
	for (uint32_t i = 0; i < m.n; i++) {
		const node *part = &w->p->nodes.at[m.part[i]];
		if (part->n)
			below[i] = drafted(w, m.part[i], 0);
		if (part->n && points(w->p->q, part->loops) > w->p->room)
			d.over |= below[i].over;
	}
	for (uint32_t i = 0; i < m.n; i++) {
		const node *part = &w->p->nodes.at[m.part[i]];
		bool repeats = below[i].over != d.over || below[i].over != below[i].keeps;
		if (!part->n) {
			d.parts[d.n++] = m.part[i];
			d.each += part->work;
		} else if (repeats && points(w->p->q, part->loops) <= w->p->room) {
			finish(w, &below[i]);
			d.parts[d.n++] = w->p->q->nfactors + w->steps.n - 1;
		} else {
			memcpy(d.parts + d.n, below[i].parts, below[i].n * sizeof *d.parts);
			d.n += below[i].n;
			d.each += below[i].each;
		}
	}
	return d;
}

static void write_steps(planner *p, tsr_path *out, uint32_t id, uint64_t extra)
{
	writer w = {.p = p, .out = out};
	draft d = drafted(&w, id, extra);
	finish(&w, &d);
	out->nsteps = w.steps.n;
	out->steps = w.steps.at;
}

static tsr_path *one_step(tsr_arena *a, const tsr_path_problem *q, uint64_t all)
{
	tsr_path *out = TSR_NEW(a, tsr_path);
	uint32_t *parts = TSR_NEW_N(a, uint32_t, q->nfactors + 1);
	for (uint32_t i = 0; i < q->nfactors; i++)
		parts[i] = i;
	out->nsteps = 1;
	out->operations = tsr_path_direct(q);
	out->steps = TSR_NEW(a, tsr_path_step);
	*out->steps = (tsr_path_step){all | q->kept, q->kept, q->nfactors, parts, out->operations};
	return out;
}

tsr_path *tsr_path_plan(tsr_arena *a, const tsr_path_problem *q)
{
	planner p = {.a = a, .q = q, .room = q->room};
	uint32_t ids[TSR_MOST_FACTORS], root = NOTHING;
	uint64_t all = 0;
	for (uint32_t i = 0; i < q->nfactors; i++) {
		all |= q->factors[i].loops;
		ids[i] = keep(&p, (node){.over = q->factors[i].loops, .loops = q->factors[i].loops, .work = q->factors[i].work});
	}
	uint64_t extra = q->kept & ~all;
	tsr_path *out = TSR_NEW(a, tsr_path), *direct = one_step(a, q, all);
	if (q->nfactors == 1 && !(all & ~q->kept))
		return direct;
	if (q->in_order) {
		root = in_order(&p);
	} else if (q->nfactors > TSR_EXACT_FACTORS) {
		root = best_greedy(&p, q->kept);
	} else {
		root = exact(&p, q->nfactors, ids, q->kept);
		if (root == NOTHING) {               /* what is too large is flattened below */
			p.room = INFINITY;
			root = exact(&p, q->nfactors, ids, q->kept);
			p.room = q->room;
		}
	}
	/* Along loops that only the target has, a sum is computed once and repeated. */
	node m = p.nodes.at[root];
	if (extra && m.n && m.over != m.loops && points(q, m.loops) <= p.room) {
		node copy = joined(&p, &m, NULL, m.loops);
		copy.part[0] = root;
		root = keep(&p, copy);
	}
	write_steps(&p, out, root, extra);
	return out->operations < direct->operations ? out : direct;
}
