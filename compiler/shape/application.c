/* Applications are solved by themselves: what waits outside for a row that one of them binds hears of it when the application is complete.
 *
 * Note [Applications]
 * Over rows the order in which constraints are visited may decide where axes come to stand: a result that grows by the leading axes of one
 * operand and then has no need to grow by the trailing ones of another. If such results outside of an application were visited while its body
 * is solved, what the application is would depend on who else has seen its arguments. So they are held: the body is solved with the rows
 * of its arguments as they stood when it began, and with all that it makes of them itself; then the constraints outside that wait for one of
 * those rows are visited, in the order in which they were emitted. Of an application within another one, the outer one's constraints
 * are outside, too, and are visited when the inner one is complete; what is outside of both is held on.
 *
 * An instance of a scheme (instance.c) knows nothing of what is outside, and binds the rows of its arguments in another order than the body
 * does: neither makes a difference, and that is what an instance rests on.
 *
 * Constraints over dimensions are not held, since their order decides nothing. */
#include "store.h"
#include <stdlib.h>

static bool is_outside(const tsr_store *s, uint32_t id) { return s->entered.n && id < s->entered.at[s->entered.n - 1]; }

bool tsr_holds(const tsr_store *s, const tsr_cstr *c) { return is_outside(s, c->id) && tsr_cstr_waits_on_rows(c); }

void tsr_store_enter(tsr_store *s) { tsr_push(s->arena, &s->entered, s->cstrs.n); }

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

void tsr_store_leave(tsr_store *s)
{
	uint32_t n = 0;
	s->entered.n--;
	if (s->held.n)
		qsort(s->held.at, s->held.n, sizeof *s->held.at, by_id);
	while (n < s->held.n && is_outside(s, s->held.at[n]))
		n++;
	for (uint32_t i = n; i < s->held.n; i++)
		tsr_push(s->arena, &s->queue, s->held.at[i]);
	s->held.n = n;
	tsr_solve(s);
}
