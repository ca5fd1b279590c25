/* Transpositions of more axes than two: loops around the two that turned.c takes are made one with these where all that is touched allows it (opt/joined.c),
 *
 *     for a { for c { for b { Y[c, a, b] = X[a, b, c] } } }       for c { for ab { Y[c, 0, ab] = X[0, ab, c] } }
 *
 * so that squares, runs of lines and blocks are those of two axes (64 x 32 x 1024 so: 230 us; squares of 32 rows at a time 880).  Where the loop that threads divide is gone,
 * they divide the outermost one that is left. */
#include "turned.h"
#include "../opt/opt.h"

enum { MOST_LOOPS = 16 };

/* The parallel loops that begin with this one, each alone in the one around it; 0: others are among them. */
static uint32_t collect(const tsr_stmt *s, tsr_stmt **loop)
{
	uint32_t n = 0;
	for (;; s = s->loop.body.at[0]) {
		if (n == MOST_LOOPS || s->loop.how != TSR_FOR_PARALLEL || s->loop.contraction || s->loop.turns || s->loop.ahead || s->loop.overlap || s->loop.body.n != 1)
			return 0;
		loop[n++] = (tsr_stmt *)s;
		if (s->loop.body.at[0]->kind != TSR_STMT_FOR)
			return n;
	}
}

const tsr_stmt *tsr_emit_turned_joined(tsr_emit *e, const tsr_stmt *s)
{
	tsr_stmt *loop[MOST_LOOPS], *out = NULL;
	bool with[MOST_LOOPS] = {false}, split = false, joined = false;
	uint32_t n = collect(s, loop);
	if (n < 3 || !tsr_turned_recognise(&(tsr_turned){.e = e}, loop[n - 2]))
		return NULL;
	int64_t count[2];
	with[n - 1] = with[n - 2] = true;
	for (uint32_t i = 0; i < 2; i++)
		count[i] = tsr_loops_joined(e->loops, n, loop, loop[n - 1]->loop.body.at[0], n - 1 - i, with);
	for (uint32_t i = 0; i + 2 < n; i++) {
		joined |= with[i];
		split |= with[i] && loop[i]->loop.split;
	}
	if (!joined || !count[0] || !count[1])
		return NULL;
	tsr_stmts body = loop[n - 1]->loop.body;
	for (uint32_t i = n; i-- > 0;) {
		if (i + 2 < n && with[i]) {
			e->syms[loop[i]->loop.sym] = tsr_emit_i64(e, 0);
			continue;
		}
		out = TSR_NEW(e->loops->tc->arena, tsr_stmt);
		*out = *loop[i];
		out->loop.extent = i + 2 < n ? out->loop.extent : tsr_size_const(count[n - 1 - i]);
		out->loop.body = body;
		body = (tsr_stmts){0};
		tsr_push(e->loops->tc->arena, &body, out);
	}
	out->loop.split |= split;
	return out;
}
