/* Where buffers lie.  One arena holds, one after the other, all those whose contents matter only while a unit runs.
 *
 * A buffer goes into the arena when it is a value, a gradient or a temporary that the program level does not see,
 * and no unit reads an element of it before storing that element in the same run.  It is alive in a unit from the first
 * top-level statement that touches it to the last.  Two that are alive together never overlap: this holds within one
 * statement too, since a kernel is told that its buffers do not alias.  Nothing lives from one unit to the next, so units lay
 * their buffers over each other.  The largest is placed first, each at the lowest offset where it is free.
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
 * A result never takes the place of an operand that dies in the same kernel: both would be parameters,
 * and the promise would be broken. */
#include "pass.h"

enum { ALIGN = 64, SHIFTED = 1 << 12, SHIFT = 3 * ALIGN };

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

/* Room in the arena.  From a page on it is a little more than needed: arrays that stand whole pages apart would meet in the same sets
 * of the cache. */
static int64_t room(const tsr_buffer *b)
{
	int64_t n = (tsr_buffer_bytes(b) + ALIGN - 1) / ALIGN * ALIGN;
	return n >= SHIFTED ? n + SHIFT : n;
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

/* ---- what a unit reads before storing it -------------------------------------------------------------------------------- */

/* A store that reaches every element: when code inside the loops `path` runs, it has stored all elements whose index on each axis
 * owned by one of these loops is the loop's. */
typedef struct whole {
	struct whole *next;
	uint32_t depth, rank;
	tsr_stmt *path[TSR_MOST_LOOPS], **owner;
} whole;

/* Parts stored one behind the other along an axis, as a concatenation does: positions below `done` are stored. */
typedef struct parts { uint32_t axis; tsr_size done; bool used; } parts;

typedef struct scan {
	const tsr_loops *l;
	tsr_arena *a;
	tsr_nest path;               /* the loops around */
	uint32_t unsure;             /* inside so many conditions or loops that may not run */
	whole **stored;              /* per buffer, in this unit */
	parts *parts;
	bool *exposed;
} scan;

static bool same_size(tsr_size x, tsr_size y) { return tsr_lin_equal((tsr_lin){ 0, x, 0, NULL }, (tsr_lin){ 0, y, 0, NULL }); }

/* The store has reached what is read here at `index`. */
static bool reaches(const scan *s, const whole *w, const tsr_lin *index)
{
	for (uint32_t i = 0; i < w->depth && i < s->path.n && w->path[i] == s->path.loop[i]; i++)
		for (uint32_t axis = 0; axis < w->rank; axis++)
			if (w->owner[axis] == w->path[i] && !tsr_lin_bare(&index[axis], w->path[i]->loop.sym))
				return false;
	return true;
}

static void reads(scan *s, tsr_buffer_id id, const tsr_lin *index)
{
	const whole *w = s->stored[id];
	while (w && !reaches(s, w, index))
		w = w->next;
	s->exposed[id] |= !w;
}

static tsr_expr *reads_expr(void *user, tsr_expr *e)
{
	if (e->kind == TSR_EXPR_LOAD)
		reads(user, e->load.buffer, e->load.index);
	return e;
}

static void stored_whole(scan *s, tsr_buffer_id id, const tsr_nest *path, tsr_stmt **owner)
{
	whole *w = TSR_NEW(s->a, whole);
	w->next = s->stored[id];
	w->rank = s->l->buffers.at[id]->rank;
	w->owner = owner;
	w->depth = path ? path->n : 0;
	for (uint32_t i = 0; i < w->depth; i++)
		w->path[i] = path->loop[i];
	s->stored[id] = w;
}

static bool before(tsr_size x, tsr_size y) { return tsr_size_is_const(x) && tsr_size_is_const(y) && x.k < y.k; }

/* A store of all positions on every axis but one, and there of a stretch that begins where the last one ended, or before. */
static void stores_part(scan *s, const tsr_stmt *t)
{
	const tsr_buffer *b = s->l->buffers.at[t->store.buffer];
	tsr_lin *whole_index = TSR_NEW_N(s->a, tsr_lin, b->rank + 1);
	uint32_t axis = 0, shifted = 0;
	for (uint32_t i = 0; i < b->rank; i++) {
		const tsr_lin *x = &t->store.index[i];
		const tsr_stmt *loop = NULL;
		bool one = tsr_size_is_const(b->dims[i]) && b->dims[i].k == 1;
		whole_index[i] = *x;
		whole_index[i].offset = 0;
		whole_index[i].base = tsr_size_const(0);
		loop = tsr_nest_bare(&s->path, &whole_index[i]);
		if (one && !x->n && !x->base.nterms && !x->base.k)
			continue;
		if (loop && !x->offset && !x->base.nterms && !x->base.k && same_size(loop->loop.extent, b->dims[i]))
			continue;
		shifted++;
		axis = i;
		if (!loop && x->n)
			return;
	}
	if (shifted != 1)
		return;
	/* the other axes name different loops, none of them this one's */
	for (uint32_t i = 0; i < b->rank; i++)
		for (uint32_t j = 0; j < i; j++)
			if (whole_index[i].n && whole_index[j].n && whole_index[i].terms[0].id == whole_index[j].terms[0].id)
				return;
	parts *p = &s->parts[b->id];
	const tsr_stmt *loop = tsr_nest_bare(&s->path, &whole_index[axis]);
	tsr_size from = tsr_size_add(s->a, t->store.index[axis].base, tsr_size_const(t->store.index[axis].offset));
	tsr_size to = tsr_size_add(s->a, from, loop ? loop->loop.extent : tsr_size_const(1));
	if (!p->used)
		*p = (parts){ axis, tsr_size_const(0), true };
	if (p->axis == axis && (same_size(from, p->done) || (before(from, p->done) && before(p->done, to))))
		p->done = to;
}

static void stores(scan *s, const tsr_stmt *t)
{
	tsr_stmt **owner = TSR_NEW_N(s->a, tsr_stmt *, s->l->buffers.at[t->store.buffer]->rank + 1);
	if (s->unsure)
		return;
	if (tsr_nest_covers(s->l, &s->path, t, owner))
		stored_whole(s, t->store.buffer, &s->path, owner);
	else
		stores_part(s, t);
}

static void scan_stmts(scan *s, tsr_stmts *body);

static void scan_for(scan *s, tsr_stmt *t)
{
	if (s->path.n == TSR_MOST_LOOPS) {
		s->unsure++;
		scan_stmts(s, &t->loop.body);
		s->unsure--;
		return;
	}
	s->path.loop[s->path.n++] = t;
	scan_stmts(s, &t->loop.body);
	s->path.n--;
}

static void scan_stmt(scan *s, tsr_stmt *t)
{
	switch (t->kind) {
	case TSR_STMT_FOR:
		scan_for(s, t);
		return;
	case TSR_STMT_IF:
		s->unsure++;
		scan_stmts(s, &t->cond.body);
		s->unsure--;
		return;
	case TSR_STMT_KERNEL:
		scan_stmts(s, &t->kernel.body);
		return;
	case TSR_STMT_STORE: case TSR_STMT_UPDATE:
		tsr_expr_rewrite(t->store.value, reads_expr, s);
		if (t->kind == TSR_STMT_UPDATE)
			reads(s, t->store.buffer, t->store.index);
		else
			stores(s, t);
		return;
	case TSR_STMT_LET: case TSR_STMT_SET: case TSR_STMT_LETSYM:
		tsr_stmt_rewrite(t, reads_expr, s);
		return;
	case TSR_STMT_RANDOM:
		stored_whole(s, t->random.buffer, NULL, NULL);
		return;
	case TSR_STMT_CHECK: case TSR_STMT_KINDS:
		return;
	}
}

/* A loop that may run no times stores nothing.  One over an axis runs. */
static bool may_be_empty(const scan *s, const tsr_stmt *t)
{
	if (t->kind != TSR_STMT_FOR || (tsr_size_is_const(t->loop.extent) && t->loop.extent.k > 0))
		return false;
	for (uint32_t i = 0; i < s->l->buffers.n && !tsr_size_is_const(t->loop.extent); i++)
		for (uint32_t k = 0; k < s->l->buffers.at[i]->rank; k++)
			if (same_size(s->l->buffers.at[i]->dims[k], t->loop.extent))
				return false;
	return true;
}

static void scan_stmts(scan *s, tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		bool unsure = may_be_empty(s, body->at[i]);
		s->unsure += unsure;
		scan_stmt(s, body->at[i]);
		s->unsure -= unsure;
		if (s->path.n || s->unsure)
			continue;
		/* outside all loops: parts that have come together are a whole */
		for (uint32_t b = 0; body->at[i]->kind == TSR_STMT_KERNEL && b < s->l->buffers.n; b++) {
			const tsr_buffer *x = s->l->buffers.at[b];
			if (s->parts[b].used && same_size(s->parts[b].done, x->dims[s->parts[b].axis])) {
				stored_whole(s, b, NULL, NULL);
				s->parts[b].used = false;
			}
		}
	}
}

static bool *exposed_of(const tsr_loops *l, tsr_arena *a)
{
	scan s = { .l = l, .a = a, .exposed = TSR_NEW_N(a, bool, l->buffers.n + 1) };
	for (uint32_t u = 0; u < l->units.n; u++) {
		s.stored = TSR_NEW_N(a, whole *, l->buffers.n + 1);
		s.parts = TSR_NEW_N(a, parts, l->buffers.n + 1);
		scan_stmts(&s, &l->units.at[u]->body);
	}
	return s.exposed;
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

/* Larger ones first; then in the order of the program, so that the result is the same everywhere. */
static void sort_by_room(uint32_t n, tsr_buffer **x)
{
	for (uint32_t step = n / 2; step > 0; step /= 2)
		for (uint32_t i = step; i < n; i++) {
			tsr_buffer *b = x[i];
			uint32_t j = i;
			for (; j >= step && (room(x[j - step]) < room(b) || (room(x[j - step]) == room(b) && x[j - step]->id > b->id)); j -= step)
				x[j] = x[j - step];
			x[j] = b;
		}
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

static void arena(tsr_pass *p, const tsr_lives *lives, uint32_t n, tsr_buffer **chosen, tsr_arena *scratch)
{
	tsr_loops *l = p->l;
	tsr_buffer **placed = TSR_NEW_N(scratch, tsr_buffer *, n + 1);
	sort_by_room(n, chosen);
	l->arena_bytes = 0;
	for (uint32_t i = 0; i < n; i++) {
		place(lives, i, placed, chosen[i]);
		if (chosen[i]->offset + room(chosen[i]) > l->arena_bytes)
			l->arena_bytes = chosen[i]->offset + room(chosen[i]);
		p->changes++;
	}
}

void tsr_pass_buffers(tsr_pass *p)
{
	tsr_arena *scratch = tsr_arena_new();
	tsr_loops *l = p->l;
	bool *exposed = exposed_of(l, scratch);
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
