/* What only goes into memory that lasts goes there as soon as it is known:
 *
 *     G = ..  (w.grad)   ..the rest of the backward pass..   w -= 0.1 G          G = ..   w -= 0.1 G   ..the rest..
 *
 * A kernel all of whose results are kept (parameters, state, what the program level sees) is moved up behind the last statement
 * that has to come before it: one that writes what it touches, or reads what it writes, as the products that still need the old weights do.  So the
 * gradients of weights are alive one at a time, and are read while the cache still has them.  Such kernels keep their order where they come behind
 * one statement; all others keep theirs.  Nothing passes a check: where one fails, nothing behind it has been done.
 *
 * What makes something that does not last stays: it would be alive for longer.  After strip: a kernel in between would end a strip. */
#include "pass.h"

typedef struct soon {
	tsr_pass *p;
	tsr_arena *a;
	tsr_body_uses uses;
	uint32_t *wrote, *touched;   /* per buffer: 1 + the place of the last statement that does, so far */
	uint32_t check;              /* likewise, of the last one that nothing passes */
} soon;

/* All that it makes lasts. */
static bool ends_here(const soon *s, uint32_t at)
{
	const tsr_uses *u = &s->uses.at[at];
	const tsr_stmt *k = s->uses.body->at[at];
	if (k->kind != TSR_STMT_KERNEL || tsr_stmts_check(&k->kernel.body))
		return false;
	for (uint32_t i = 0; i < u->v.n; i++)
		if (tsr_use_writes(u->v.at[i]) && !tsr_buffer_kept(s->p->l->buffers.at[u->v.at[i].buffer]))
			return false;
	return true;
}

/* 1 + the place of the statement that it has to come behind. */
static uint32_t earliest(const soon *s, uint32_t at)
{
	uint32_t place = s->check;
	for (uint32_t i = 0; i < s->uses.at[at].v.n; i++) {
		tsr_use use = s->uses.at[at].v.at[i];
		uint32_t before = tsr_use_writes(use) ? s->touched[use.buffer] : s->wrote[use.buffer];
		place = before > place ? before : place;
	}
	return place;
}

static void note_place(soon *s, uint32_t at, uint32_t place)
{
	for (uint32_t i = 0; i < s->uses.at[at].v.n; i++) {
		tsr_use use = s->uses.at[at].v.at[i];
		s->touched[use.buffer] = place > s->touched[use.buffer] ? place : s->touched[use.buffer];
		if (tsr_use_writes(use))
			s->wrote[use.buffer] = place > s->wrote[use.buffer] ? place : s->wrote[use.buffer];
	}
	const tsr_stmt *k = s->uses.body->at[at];
	if (k->kind != TSR_STMT_KERNEL || tsr_stmts_check(&k->kernel.body))
		s->check = place;
}

/* Statements in the order of their places, those of one place as they were. */
static void arrange(soon *s, const uint32_t *place)
{
	uint32_t n = s->uses.body->n, *count = TSR_NEW_N(s->a, uint32_t, n + 2);
	tsr_stmt **sorted = TSR_NEW_N(s->a, tsr_stmt *, n + 1);
	for (uint32_t at = 0; at < n; at++)
		count[place[at] + 1]++;
	for (uint32_t i = 0; i < n + 1; i++)
		count[i + 1] += count[i];
	for (uint32_t at = 0; at < n; at++)
		sorted[count[place[at]]++] = s->uses.body->at[at];
	for (uint32_t at = 0; at < n; at++)
		s->uses.body->at[at] = sorted[at];
}

void tsr_pass_soon(tsr_pass *p)
{
	soon s = { .p = p, .a = tsr_arena_new() };
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		tsr_loop_unit *unit = p->l->units.at[u];
		uint32_t *place = TSR_NEW_N(s.a, uint32_t, unit->body.n + 1);
		tsr_body_uses_make(&s.uses, s.a, &unit->body);
		s.wrote = TSR_NEW_N(s.a, uint32_t, p->l->buffers.n + 1), s.touched = TSR_NEW_N(s.a, uint32_t, p->l->buffers.n + 1);
		s.check = 0;
		for (uint32_t at = 0; at < unit->body.n; at++) {
			uint32_t before = ends_here(&s, at) ? earliest(&s, at) : at + 1;
			place[at] = before < 1 ? 0 : before - 1;
			note_place(&s, at, place[at] + 1);
			if (place[at] + 1 < at) {
				tsr_pass_note(p, "%s: %s comes as soon as it can, behind %s", unit->name, unit->body.at[at]->kernel.name,
					unit->body.at[place[at]]->kind == TSR_STMT_KERNEL ? unit->body.at[place[at]]->kernel.name : "a check");
				p->changes++;
			}
		}
		arrange(&s, place);
	}
	tsr_arena_free(s.a);
}
