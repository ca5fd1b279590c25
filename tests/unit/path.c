/* Contraction order against a search through all orders: random products of up to five factors; longer ones against what must hold
 * of any tree. */
#include "../../compiler/opt/path.h"
#include "check.h"
#include "draw.h"
#include <math.h>

enum { LOOPS = 8 };

static double extents[LOOPS];

static double points(uint64_t loops)
{
	double n = 1;
	for (int i = 0; i < LOOPS; i++)
		n *= loops >> i & 1 ? extents[i] : 1;
	return n;
}

/* The least cost of making one of these parts, by trying every first step: two parts joined, or a part's own loops summed. */
static double search(uint32_t n, const tsr_path_factor *parts, uint64_t kept)
{
	double best = INFINITY;
	if (n == 1)
		return points(parts[0].loops) * (((parts[0].loops & ~kept) != 0) + parts[0].work);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i; j < n; j++) {
			tsr_path_factor rest[8];
			uint64_t need = kept;
			uint32_t m = 0;
			for (uint32_t k = 0; k < n; k++)
				if (k != i && k != j) {
					rest[m++] = parts[k];
					need |= parts[k].loops;
				}
			uint64_t over = parts[i].loops | parts[j].loops;
			if (i == j && !(over & ~need))
				continue;
			double each = (i != j) + ((over & ~need) != 0) + parts[i].work + (i != j ? parts[j].work : 0);
			rest[m++] = (tsr_path_factor){over & need, 0};
			double cost = points(over) * each + (m == 1 ? 0 : search(m, rest, kept));
			best = cost < best ? cost : best;
		}
	return best;
}

/* Every factor is used once, every step once, and no loop is summed that something else still needs. */
static bool sound(const tsr_path *p, const tsr_path_problem *q)
{
	uint32_t used[2 * TSR_MOST_FACTORS] = {0};
	double operations = 0;
	for (uint32_t s = 0; s < p->nsteps; s++) {
		const tsr_path_step *step = &p->steps[s];
		uint64_t over = s + 1 == p->nsteps ? q->kept : 0, outside = q->kept;
		for (uint32_t i = 0; i < step->nparts; i++) {
			uint32_t part = step->parts[i];
			if (part >= q->nfactors + s || used[part]++)
				return false;
			over |= part < q->nfactors ? q->factors[part].loops : p->steps[part - q->nfactors].keeps;
		}
		for (uint32_t i = 0; i < q->nfactors; i++)
			outside |= used[i] ? 0 : q->factors[i].loops;
		for (uint32_t i = 0; i < s; i++)
			outside |= used[q->nfactors + i] ? 0 : p->steps[i].keeps;
		if (over != step->over || (over & outside & ~step->keeps) || (step->keeps & ~over))
			return false;
		operations += step->operations;
	}
	for (uint32_t i = 0; i < q->nfactors + p->nsteps - 1; i++)
		if (!used[i])
			return false;
	return operations == p->operations && p->steps[p->nsteps - 1].keeps == q->kept;
}

static void random_problem(tsr_path_problem *q, tsr_path_factor *factors, uint32_t n)
{
	uint64_t all = 0;
	for (int i = 0; i < LOOPS; i++)
		extents[i] = 1 + draw(6);
	for (uint32_t i = 0; i < n; i++) {
		factors[i] = (tsr_path_factor){0, draw(6) ? 0 : draw(3)};
		for (uint32_t k = draw(4); k > 0; k--)
			factors[i].loops |= UINT64_C(1) << draw(LOOPS);
		all |= factors[i].loops;
	}
	*q = (tsr_path_problem){n, factors, extents, all & (draw(256) & draw(256)), false, INFINITY};
}

/* a[i, j] b[j, k] c[k, l] at sizes where both orders cost 144: the intermediate of 9 elements, not that of 12. */
static void equal_costs(tsr_arena *a)
{
	static const double sizes[] = {2, 3, 6, 3};
	tsr_path_factor factors[] = {{3, 0}, {6, 0}, {12, 0}};
	tsr_path_problem q = {3, factors, sizes, 9, false, INFINITY};
	tsr_path *p = tsr_path_plan(a, &q);
	CHECK(p->nsteps == 2 && p->operations == 144 && p->steps[0].keeps == 10);
	for (uint32_t i = 0; i < 3; i++)             /* and the other way round */
		factors[i].loops = (uint64_t[]){12, 6, 3}[i];
	p = tsr_path_plan(a, &q);
	CHECK(p->nsteps == 2 && p->operations == 144 && p->steps[0].keeps == 10);
}

int main(void)
{
	state = 7;
	tsr_path_factor factors[TSR_MOST_FACTORS];
	tsr_path_problem q;
	tsr_arena *once = tsr_arena_new();
	equal_costs(once);
	tsr_arena_free(once);
	for (int round = 0; round < 3000; round++) {
		tsr_arena *a = tsr_arena_new();
		uint32_t n = round < 2000 ? 1 + draw(5) : 6 + draw(25);
		random_problem(&q, factors, n);
		double direct = tsr_path_direct(&q);
		tsr_path *p = tsr_path_plan(a, &q);
		CHECK(sound(p, &q));
		CHECK(p->operations <= direct);
		if (n <= 5) {
			double least = search(n, factors, q.kept);
			CHECK(p->operations == (least < direct ? least : direct));
		}
		q.in_order = true;
		tsr_path *ordered = tsr_path_plan(a, &q);
		CHECK(sound(ordered, &q) && (n > TSR_EXACT_FACTORS || ordered->operations >= p->operations));
		q.in_order = false;
		q.room = 20;                         /* nothing larger is left between the steps */
		p = tsr_path_plan(a, &q);
		CHECK(sound(p, &q));
		for (uint32_t s = 0; s + 1 < p->nsteps; s++)
			CHECK(points(p->steps[s].keeps) <= q.room);
		tsr_arena_free(a);
	}
	return check_end("path");
}
