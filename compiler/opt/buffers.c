/* Where buffers lie.  One arena holds, one after the other, all those whose contents matter only while a unit runs.
 *
 * A buffer goes into the arena when it is a value, a gradient or a temporary that the program level does not see,
 * and no unit reads an element of it before storing that element in the same run.  It is alive in a unit from the first
 * top-level statement that touches it to the last.  Two that are alive together never overlap: this holds within one
 * statement too, since a kernel is told that its buffers do not alias.  Nothing lives from one unit to the next, so units lay
 * their buffers over each other.  Each is placed at the lowest offset where it is free: the largest first, or those that live longest, or are most
 * bytes for a long time, whichever comes nearest to what is alive at once; where none comes near, what lay highest is placed first, again and again.
 *
 * Where a size is known only at run time, so is the layout: buffers that are never alive together share a slot, and the program lays
 * the slots one after the other when it knows how large each has to be.  No axis is empty when a program runs (files without
 * elements and sizes below 1 are refused, and what is left of an axis is tested), so a loop over one stores something.
 *
 * With --sanitize there is no arena: the runtime keeps buffers apart, so that leaving one is seen.
 *
 * A buffer that nothing touches gets no memory.  What an exported function returns, and nobody else sees, is computed where the
 * caller wants it.  Parameters, state, files, literals and what the program level sees keep memory of
 * their own.
 *
 * A result never takes the place of an operand that dies in the same kernel: both would be parameters, and the promise would be
 * broken. Where that is possible the two have become one buffer before (inplace.c). */
#include "pass.h"
#include "../../runtime/tsr_abi.h"
#include <stdlib.h>

enum { ALIGN = 64, TRIES = 24, NEAR = 256 };

int64_t tsr_buffer_bytes(const tsr_buffer *b)
{
	int64_t n = tsr_prec_bytes(b->prec);
	for (uint32_t i = 0; i < b->rank; i++) {
		if (!tsr_size_is_const(b->dims[i]))
			return -1;
		n *= b->dims[i].k;
	}
	return n;
}

int64_t tsr_size_guess(tsr_size x)
{
	int64_t n = x.k;
	for (uint32_t i = 0; i < x.nterms; i++)
		n += x.terms[i].coef * TSR_GUESSED;
	return n > 1 ? n : 1;
}

int64_t tsr_buffer_guess(const tsr_buffer *b)
{
	int64_t n = tsr_prec_bytes(b->prec);
	for (uint32_t i = 0; i < b->rank; i++)
		n *= tsr_size_guess(b->dims[i]);
	return n;
}

int64_t tsr_stride_guess(const tsr_buffer *b, const tsr_lin *index, uint32_t loop)
{
	int64_t total = 0, step = 1;
	for (uint32_t axis = b->rank; axis-- > 0;) {
		int64_t each;
		if (__builtin_mul_overflow(tsr_lin_coef(&index[axis], loop), step, &each) || __builtin_add_overflow(total, each, &total)
			|| __builtin_mul_overflow(step, tsr_size_guess(b->dims[axis]), &step))
			return INT64_MAX;
	}
	return total;
}

static int64_t room(const tsr_buffer *b)
{
	int64_t n = tsr_buffer_bytes(b);
	return (n + ALIGN - 1) / ALIGN * ALIGN + tsr_gap(n);
}

tsr_lives *tsr_lives_of(const tsr_loops *l, tsr_arena *a)
{
	tsr_lives *lives = TSR_NEW_N(a, tsr_lives, l->buffers.n + 1);
	for (uint32_t u = 0; u < l->units.n; u++)
		for (uint32_t i = 0; i < l->units.at[u]->body.n; i++) {
			tsr_uses uses = { 0 };
			tsr_stmt_uses(a, l->units.at[u]->body.at[i], &uses);
			for (uint32_t j = 0; j < uses.v.n; j++) {
				tsr_lives *x = &lives[uses.v.at[j].buffer];
				if (x->v.n && x->v.at[x->v.n - 1].unit == u)
					x->v.at[x->v.n - 1].last = i;
				else
					tsr_push(a, &x->v, ((tsr_life){ u, i, i }));
			}
		}
	return lives;
}

/* ---- placing ------------------------------------------------------------------------------------------------------------- */

static bool together(const tsr_lives *x, const tsr_lives *y)
{
	for (uint32_t i = 0; i < x->v.n; i++)
		for (uint32_t j = 0; j < y->v.n; j++)
			if (x->v.at[i].unit == y->v.at[j].unit && x->v.at[i].first <= y->v.at[j].last && y->v.at[j].first <= x->v.at[i].last)
				return true;
	return false;
}

typedef enum { BY_ROOM, BY_ROOM_AND_TIME, BY_TIME, BY_BEGINNING, BY_END, ORDERS } order;
typedef struct ranked { tsr_buffer *b; double worth; } ranked;

static double worth(const tsr_buffer *b, const tsr_lives *lives, order by)
{
	double time = 0;
	for (uint32_t i = 0; i < lives->v.n; i++)
		time += lives->v.at[i].last - lives->v.at[i].first + 1;
	const tsr_life *life = &lives->v.at[lives->v.n - 1];
	switch (by) {
	case BY_ROOM: return (double)room(b);
	case BY_ROOM_AND_TIME: return (double)room(b) * time;
	case BY_BEGINNING: return -(double)life->first;
	case BY_END: return life->last;
	case BY_TIME: case ORDERS: break;
	}
	return time;
}

/* Of the same worth in the order of the program, so that the result is the same everywhere. */
static int by_worth(const void *x, const void *y)
{
	const ranked *a = x, *b = y;
	return a->worth > b->worth ? -1 : a->worth < b->worth ? 1 : a->b->id < b->b->id ? -1 : a->b->id > b->b->id;
}

static void sort_buffers(const tsr_lives *lives, order by, uint32_t n, tsr_buffer **x, ranked *scratch)
{
	for (uint32_t i = 0; i < n; i++)
		scratch[i] = (ranked){ x[i], worth(x[i], &lives[x[i]->id], by) };
	if (n)
		qsort(scratch, n, sizeof *scratch, by_worth);
	for (uint32_t i = 0; i < n; i++)
		x[i] = scratch[i].b;
}

/* The most room that is taken at once: no layout needs less. */
static int64_t taken_at_once(const tsr_loops *l, const tsr_lives *lives, uint32_t n, tsr_buffer **x, tsr_arena *a)
{
	int64_t most = 0;
	for (uint32_t u = 0; u < l->units.n; u++) {
		int64_t *change = TSR_NEW_N(a, int64_t, l->units.at[u]->body.n + 2), now = 0;
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < lives[x[i]->id].v.n; k++) {
				const tsr_life *life = &lives[x[i]->id].v.at[k];
				if (life->unit != u)
					continue;
				change[life->first] += room(x[i]);
				change[life->last + 1] -= room(x[i]);
			}
		for (uint32_t i = 0; i < l->units.at[u]->body.n; i++) {
			now += change[i];
			most = now > most ? now : most;
		}
	}
	return most;
}

/* `placed` is sorted by offset. */
static void place(const tsr_lives *lives, uint32_t n, tsr_buffer **placed, tsr_buffer *b)
{
	int64_t at = 0;
	uint32_t slot = n;
	for (uint32_t i = 0; i < n && placed[i]->offset < at + room(b); i++)
		if (placed[i]->offset + room(placed[i]) > at && together(&lives[b->id], &lives[placed[i]->id]))
			at = placed[i]->offset + room(placed[i]);
	b->offset = at;
	b->home = TSR_HOME_ARENA;
	for (; slot > 0 && placed[slot - 1]->offset > at; slot--)
		placed[slot] = placed[slot - 1];
	placed[slot] = b;
}

/* ---- slots ---------------------------------------------------------------------------------------------------------------- */

/* How large a buffer is when every size is what many are: larger ones are placed first. */
static double guess(const tsr_buffer *b)
{
	enum { USUAL = 256 };
	double n = (double)tsr_prec_bytes(b->prec);
	for (uint32_t i = 0; i < b->rank; i++) {
		double size = (double)b->dims[i].k;
		for (uint32_t k = 0; k < b->dims[i].nterms; k++)
			size += USUAL * (double)b->dims[i].terms[k].coef;
		n *= size < 1 ? 1 : size;
	}
	return n;
}

static void sort_by_guess(uint32_t n, tsr_buffer **x)
{
	for (uint32_t i = 1; i < n; i++) {
		tsr_buffer *b = x[i];
		uint32_t j = i;
		for (; j > 0 && guess(x[j - 1]) < guess(b); j--)
			x[j] = x[j - 1];
		x[j] = b;
	}
}

/* The slot whose first buffer is nearest in size; slots are filled from the largest buffer down, so none grows but by a wrong guess. */
static void place_in_slot(tsr_loops *l, const tsr_lives *lives, uint32_t n, tsr_buffer **placed, tsr_buffer *b, tsr_arena *a)
{
	bool *taken = TSR_NEW_N(a, bool, l->nslots + 1);
	for (uint32_t i = 0; i < n; i++)
		if (together(&lives[b->id], &lives[placed[i]->id]))
			taken[placed[i]->offset] = true;
	b->home = TSR_HOME_SLOT;
	for (uint32_t slot = l->nslots; slot-- > 0;)
		if (!taken[slot]) {
			b->offset = slot;
			return;
		}
	b->offset = l->nslots++;
}

/* ---- the pass --------------------------------------------------------------------------------------------------------------- */

/* In this order; the bytes that it takes, and in *top the place of one that reaches up to there. */
static int64_t lay(const tsr_lives *lives, uint32_t n, tsr_buffer **x, tsr_buffer **placed, uint32_t *top)
{
	int64_t bytes = 0;
	for (uint32_t i = 0; i < n; i++) {
		place(lives, i, placed, x[i]);
		if (x[i]->offset + room(x[i]) > bytes) {
			bytes = x[i]->offset + room(x[i]);
			*top = i;
		}
	}
	return bytes;
}

/* Tries each order, and then again and again the last one with what came to lie highest put first, unless the best is next to the least. */
static void arena(tsr_pass *p, const tsr_lives *lives, uint32_t n, tsr_buffer **chosen, tsr_arena *scratch)
{
	tsr_loops *l = p->l;
	tsr_buffer **placed = TSR_NEW_N(scratch, tsr_buffer *, n + 1);
	ranked *ranks = TSR_NEW_N(scratch, ranked, n + 1);
	int64_t best = INT64_MAX, least = taken_at_once(l, lives, n, chosen, scratch);
	int64_t *offset = TSR_NEW_N(scratch, int64_t, l->buffers.n + 1);
	uint32_t top = 0;
	for (int by = 0; by < ORDERS + TRIES && best > least + (by < ORDERS ? 0 : least / NEAR); by++) {
		if (by < ORDERS) {
			sort_buffers(lives, (order)by, n, chosen, ranks);
		} else {
			tsr_buffer *highest = chosen[top];
			for (uint32_t i = top; i > 0; i--)
				chosen[i] = chosen[i - 1];
			chosen[0] = highest;
		}
		int64_t bytes = lay(lives, n, chosen, placed, &top);
		for (uint32_t i = 0; i < n && bytes < best; i++)
			offset[chosen[i]->id] = chosen[i]->offset;
		best = bytes < best ? bytes : best;
	}
	for (uint32_t i = 0; i < n; i++)
		chosen[i]->offset = offset[chosen[i]->id];
	l->arena_bytes = n ? best : 0;
	p->changes += n;
}

void tsr_pass_buffers(tsr_pass *p)
{
	tsr_arena *scratch = tsr_arena_new();
	tsr_loops *l = p->l;
	bool *exposed = tsr_exposed_of(l, scratch);
	tsr_lives *lives = tsr_lives_of(l, scratch);
	tsr_buffer **known = TSR_NEW_N(scratch, tsr_buffer *, l->buffers.n + 1), **later = TSR_NEW_N(scratch, tsr_buffer *, l->buffers.n + 1);
	uint32_t nknown = 0, nlater = 0;
	for (uint32_t i = 0; i < l->buffers.n; i++) {
		tsr_buffer *b = l->buffers.at[i];
		if (b->home == TSR_HOME_THREAD)
			continue;
		bool callers = b->returned && lives[i].v.n == 1 && lives[i].v.at[0].unit == b->returned - 1 && !exposed[i];
		if (callers) {
			b->home = TSR_HOME_CALLER;
			continue;
		}
		b->home = !tsr_buffer_kept(b) && lives[i].v.n == 0 ? TSR_HOME_NONE : TSR_HOME_OWN;
		if (b->home != TSR_HOME_OWN || tsr_buffer_kept(b) || exposed[i] || p->options->sanitize)
			continue;
		if (tsr_buffer_bytes(b) > 0)
			known[nknown++] = b;
		else if (tsr_buffer_bytes(b) < 0)
			later[nlater++] = b;
	}
	arena(p, lives, nknown, known, scratch);
	sort_by_guess(nlater, later);
	l->nslots = 0;
	for (uint32_t i = 0; i < nlater; i++) {
		place_in_slot(l, lives, i, later, later[i], scratch);
		p->changes++;
	}
	tsr_arena_free(scratch);
}
