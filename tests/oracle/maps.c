/* Index maps: what an assignment does, point by point, by definition and by the derived maps.
 *
 *   unique    the points of the derived pieces are those of the definition, each as often: so no loop too many or too few,
 *             and what the maps are does not depend on how they were found
 *   bounds    no index leaves its axis without a guard
 *   coupled   where the result says which component is meant, one cell has one set of live slots
 *   claims    a map that is said to be injective, surjective or disjoint from another is so */
#include "maps.h"
#include <stdlib.h>
#include <string.h>

void points_add(points *out, const point *x)
{
	out->too_many |= out->n == MAPS_POINTS;
	if (!out->too_many)
		out->at[out->n++] = *x;
}

void words_add(char *out, size_t size, const char *text) { strncat(out, text, size - strlen(out) - 1); }

static int by_bytes(const void *a, const void *b) { return memcmp(a, b, sizeof(point)); }

static void disagree(tally *t, const maps_question *q, const char *what)
{
	static const char *const names[] = {"pointwise", "compose", "compose and accumulate", "transpose", "spec"};
	t->failed++;
	if (t->shown-- <= 0)
		return;
	printf("disagreement: %s\n    %s %s\n", what, names[q->logic], q->spec);
	for (int i = 0; i < q->nslots; i++)
		printf("      %s %d: %s\n", i ? "operand" : "result", i, q->shape[i]);
	for (int i = 0; i < MAPS_LABELS && q->logic == BY_SPEC; i++)
		printf("      %c = %d\n", 'a' + i, q->label_size[i]);
}

static bool same_cell(const point *a, const point *b) { return !memcmp(a->at[0], b->at[0], sizeof a->at[0]); }

/* Cells of the result, one by one: what is claimed of its map. */
static const char *wrong_claim(const maps_answer *x, long cells)
{
	for (int i = 0; i < x->npoints; i++)
		for (int j = 0; j < i && x->points[i].at[0][0] != DEAD; j++) {
			int a = x->piece[i], b = x->piece[j];
			if (!same_cell(&x->points[i], &x->points[j]))
				continue;
			if (a == b ? x->injective[a] : x->disjoint[a > b ? a : b][a > b ? b : a])
				return a == b ? "a map that is said to be injective is not" : "pieces that are said to be disjoint are not";
		}
	return x->surjective && cells <= MAPS_CELLS && x->reached < cells ? "a map that is said to be surjective is not" : NULL;
}

static bool same_live(const point *a, const point *b, int nslots)
{
	for (int i = 0; i < nslots; i++)
		if ((a->at[i][0] == DEAD) != (b->at[i][0] == DEAD))
			return false;
	return true;
}

static long cells_of(const char *shape)
{
	long n = 1;
	for (const char *s = shape; *s; s++)
		if (*s >= '0' && *s <= '9')
			n *= strtol(s, (char **)&s, 10), s--;
	return n;
}

static void judge_maps(const maps_question *q, points *want, maps_answer *got, bool tells, tally *t)
{
	t->sets++;
	t->runs++;
	if (got->refused || got->outside) {
		disagree(t, q, got->outside ? "an index leaves its axis" : "maps are refused");
		return;
	}
	t->closed++;
	if (tells)
		for (int i = 0; i < got->npoints; i++)
			for (int j = 0; j < i; j++)
				if (got->points[i].at[0][0] != DEAD && same_cell(&got->points[i], &got->points[j]) && !same_live(&got->points[i], &got->points[j], q->nslots)) {
					disagree(t, q, "coupled components overlap");
					return;
				}
	const char *claim = wrong_claim(got, cells_of(q->shape[0]));
	if (claim) {
		disagree(t, q, claim);
		return;
	}
	qsort(want->at, (size_t)want->n, sizeof *want->at, by_bytes);
	qsort(got->points, (size_t)got->npoints, sizeof *got->points, by_bytes);
	if (want->n != got->npoints || memcmp(want->at, got->points, (size_t)want->n * sizeof *want->at))
		disagree(t, q, "the points of the maps are not those of the definition");
}

void maps_sampled(const plan *plan, tally *out)
{
	static point wanted[MAPS_POINTS], found[MAPS_POINTS];
	static int16_t piece[MAPS_POINTS];
	static maps_answer got;                          /* large, and filled anew each time */
	for (unsigned long i = 0; i < plan->maps; i++) {
		uint64_t seed = seed_of(plan, i);
		if (!in_share(plan, i))
			continue;
		maps_question q;
		points want = {.at = wanted};
		got.points = found;
		got.piece = piece;
		bool tells = false;
		if (pick(&seed, 3))
			tells = maps_spec(&seed, &q, &want);
		else
			maps_plain(&seed, &q, &want);
		if (want.too_many || want.n > 400)
			continue;
		maps_run(&q, &got);
		judge_maps(&q, &want, &got, tells, out);
	}
}
