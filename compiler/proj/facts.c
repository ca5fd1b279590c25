/* What is read off index maps: reductions, whether points share a cell, whether every cell is reached.  The answers err on
 * the safe side: "no" where a run-time size leaves it open. */
#include "space.h"

typedef struct term { uint64_t coef; uint32_t loop; tsr_size extent; } term;

bool tsr_size_exceeds(tsr_arena *a, tsr_size x, tsr_size y, int64_t n)
{
	tsr_size d = tsr_size_add(a, x, tsr_size_scale(a, y, -1));
	return tsr_size_is_const(d) && d.k >= n;
}

tsr_interval tsr_index_interval(tsr_arena *a, const tsr_piece *p, const tsr_index *x)
{
	tsr_size start = x->base;
	start.k += x->offset;
	tsr_interval r = {start, start};
	for (uint32_t i = 0; i < x->n; i++) {
		if (x->terms[i].sym.kind != TSR_SYM_LOOP)
			continue;
		tsr_size last = p->loops[x->terms[i].sym.id].extent;
		last.k--;
		tsr_size *end = x->terms[i].coef < 0 ? &r.low : &r.high;
		*end = tsr_size_add(a, *end, tsr_size_scale(a, last, x->terms[i].coef));
	}
	return r;
}

static uint64_t all_loops(const tsr_piece *p)
{
	return p->nloops == 64 ? UINT64_MAX : (UINT64_C(1) << p->nloops) - 1;
}

uint64_t tsr_map_omitted(const tsr_piece *p, const tsr_map_axes *m)
{
	uint64_t all = all_loops(p);
	for (uint32_t i = 0; i < m->n; i++)
		for (uint32_t j = 0; j < m->axes[i].n; j++)
			if (m->axes[i].terms[j].sym.kind == TSR_SYM_LOOP && m->axes[i].terms[j].coef)
				all &= ~(UINT64_C(1) << m->axes[i].terms[j].sym.id);
	return all;
}

/* The loop terms of an index except those in `without`, by growing coefficient. At most 64. */
static uint32_t sorted_terms(const tsr_piece *p, const tsr_index *x, uint64_t without, term *out)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < x->n; i++) {
		const tsr_index_term *t = &x->terms[i];
		if (t->sym.kind != TSR_SYM_LOOP || (without >> t->sym.id & 1))
			continue;
		term one = {t->coef < 0 ? -(uint64_t)t->coef : (uint64_t)t->coef, t->sym.id, p->loops[t->sym.id].extent};
		uint32_t at = n++;
		for (; at > 0 && out[at - 1].coef > one.coef; at--)
			out[at] = out[at - 1];
		out[at] = one;
	}
	return n;
}

/* Mixed radix: each coefficient exceeds what the smaller ones reach together, so the index determines its loops. */
static bool determines(const term *terms, uint32_t n)
{
	uint64_t reach = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (terms[i].coef <= reach)
			return false;
		if (i + 1 < n && !tsr_size_is_const(terms[i].extent))
			return false;
		reach += terms[i].coef * (uint64_t)(terms[i].extent.k > 0 ? terms[i].extent.k - 1 : 0);
	}
	return true;
}

uint64_t tsr_map_determined(const tsr_piece *p, const tsr_map_axes *m, uint64_t fixed)
{
	uint64_t known = fixed & all_loops(p);
	for (uint32_t i = 0; i < p->nloops; i++)
		if (tsr_size_is_const(p->loops[i].extent) && p->loops[i].extent.k <= 1)
			known |= UINT64_C(1) << i;
	for (uint64_t before = ~known; before != known;) {
		before = known;
		for (uint32_t i = 0; i < m->n; i++) {
			term terms[64];
			uint32_t n = sorted_terms(p, &m->axes[i], known, terms);
			if (!determines(terms, n))
				continue;
			for (uint32_t j = 0; j < n; j++)
				known |= UINT64_C(1) << terms[j].loop;
		}
	}
	return known;
}

bool tsr_map_injective(const tsr_piece *p, const tsr_map_axes *m)
{
	return tsr_map_determined(p, m, 0) == all_loops(p);
}

bool tsr_map_injective_within(const tsr_piece *p, const tsr_map_axes *m, uint64_t fixed)
{
	return tsr_map_determined(p, m, fixed) == all_loops(p);
}

/* ---- surjectivity -------------------------------------------------------------------------------------------------- */

/* Every value between the interval's ends is taken. */
static bool dense(const tsr_piece *p, const tsr_index *x)
{
	term terms[64];
	uint32_t n = sorted_terms(p, x, 0, terms);
	uint64_t reach = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (terms[i].coef > reach + 1)
			return false;
		if (i + 1 < n && !tsr_size_is_const(terms[i].extent))
			return false;
		reach += terms[i].coef * (uint64_t)(terms[i].extent.k > 0 ? terms[i].extent.k - 1 : 0);
	}
	for (uint32_t i = 0; i < x->n; i++)
		if (x->terms[i].sym.kind == TSR_SYM_NUMBER)
			return false;
	return true;
}

/* The map's image is the product of its axes' intervals: no loop on two axes, each axis dense. */
static bool is_box(const tsr_piece *p, const tsr_map_axes *m)
{
	uint64_t seen = 0;
	for (uint32_t i = 0; i < m->n; i++) {
		if (!dense(p, &m->axes[i]))
			return false;
		for (uint32_t j = 0; j < m->axes[i].n; j++) {
			const tsr_index_term *t = &m->axes[i].terms[j];
			if (t->sym.kind != TSR_SYM_LOOP || t->coef == 0)
				continue;
			if (seen >> t->sym.id & 1)
				return false;
			seen |= UINT64_C(1) << t->sym.id;
		}
	}
	return true;
}

static bool axis_covered(tsr_arena *a, const tsr_piece *p, const tsr_index *x, tsr_size size)
{
	tsr_interval r = tsr_index_interval(a, p, x);
	return tsr_size_exceeds(a, tsr_size_const(0), r.low, 0) && tsr_size_exceeds(a, r.high, size, -1);
}

bool tsr_pieces_disjoint(const tsr_proj *proj, uint32_t i, uint32_t j, uint32_t slot)
{
	tsr_arena *a = tsr_arena_new();
	const tsr_piece *p = &proj->pieces[i], *q = &proj->pieces[j];
	bool apart = false;
	for (uint32_t k = 0; k < p->maps[slot].n && !apart; k++) {
		const tsr_index *x = &p->maps[slot].axes[k], *y = &q->maps[slot].axes[k];
		tsr_interval r = tsr_index_interval(a, p, x), s = tsr_index_interval(a, q, y);
		apart = !x->checked && !y->checked && (tsr_size_exceeds(a, r.low, s.high, 1) || tsr_size_exceeds(a, s.low, r.high, 1));
	}
	tsr_arena_free(a);
	return apart;
}

/* Disjoint boxes, alike on all axes but one, whose lengths on that axis add up to its size. */
bool tsr_pieces_surjective(const tsr_graph *g, const tsr_proj *proj, uint32_t slot, const bool *active)
{
	tsr_arena *a = tsr_arena_new();
	const tsr_solved *shape = &tsr_tensor_get(g, g->records.at[proj->record]->slots[slot])->solved;
	uint32_t open = UINT32_MAX;              /* the axis that no piece covers alone */
	tsr_size total = tsr_size_const(0), wanted = tsr_size_const(0);
	bool all = true, any = false;
	for (uint32_t i = 0; i < proj->npieces && all; i++) {
		const tsr_piece *p = &proj->pieces[i];
		if (!p->live[slot] || (active && !active[i]))
			continue;
		any = true;
		all = is_box(p, &p->maps[slot]);
		uint32_t axis = 0, partial = 0;
		for (uint32_t k = 0; k < TSR_KINDS; k++) {
			const tsr_solved_row *row = &shape->row[tsr_memory_order[k]];
			for (uint32_t j = 0; j < row->n; j++, axis++) {
				if (axis_covered(a, p, &p->maps[slot].axes[axis], row->axes[j].size))
					continue;
				tsr_interval r = tsr_index_interval(a, p, &p->maps[slot].axes[axis]);
				all &= (open == UINT32_MAX || open == axis) && !p->maps[slot].axes[axis].guarded;
				open = axis;
				wanted = row->axes[j].size;
				total = tsr_size_add(a, total, tsr_size_add(a, r.high, tsr_size_scale(a, r.low, -1)));
				total.k++;
				partial++;
			}
		}
		all &= partial <= 1;
		for (uint32_t j = 0; j < i && all && partial; j++)
			if (proj->pieces[j].live[slot] && (!active || active[j]))
				all = tsr_pieces_disjoint(proj, i, j, slot);
	}
	if (open != UINT32_MAX)
		all = all && tsr_size_equal(total, wanted);
	tsr_arena_free(a);
	return all && any;
}

bool tsr_proj_surjective(const tsr_graph *g, const tsr_proj *p, uint32_t slot)
{
	return tsr_pieces_surjective(g, p, slot, NULL);
}
