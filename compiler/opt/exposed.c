/* What a unit reads before it has stored it in the same run, element by element as far as indices say: such buffers keep their contents
 * from one run to the next.
 *
 * A store is followed by the loops around it. When code inside some of them runs, the store has reached, on each axis, the elements at
 * these loops' part of its index plus all that its other loops add; a read is safe where it stays among those on every
 * axis.  Parts stored one behind the other, as a concatenation does, come together once their kernel is done, and what is below the last of them may be read before.
 *
 * A running sum stores the position behind the one that it reads, in a loop that goes in order and has all other positions within: at its iteration s all is
 * stored below s and where the parts before have ended. */
#include "pass.h"

typedef struct written {
	struct written *next;
	uint32_t depth;
	tsr_stmt *path[TSR_MOST_LOOPS];
	const tsr_lin *index;        /* NULL: all of it */
	const tsr_stmt *running;     /* and inside this loop, on `axis`, all positions below its own and `below` */
	uint32_t axis;
	int64_t below;
} written;

/* Positions below `done` are stored, with all positions of the other axes; those below `settled` by loops that have ended. */
typedef struct parts { uint32_t axis; tsr_size done, settled; bool used; } parts;

typedef struct scan {
	const tsr_loops *l;
	tsr_arena *a;
	tsr_nest path;               /* the loops around */
	uint32_t unsure;             /* inside so many conditions or loops that may not run */
	const tsr_stmt *sole;        /* the only one of these, if that is a loop */
	written **stored;            /* per buffer, in this unit */
	parts *parts;
	TSR_VEC(tsr_buffer_id) parted;   /* whose parts the kernel has stored */
	bool *exposed;
} scan;

/* ---- stretches ------------------------------------------------------------------------------------------------------------ */

static const tsr_stmt *loop_of(const tsr_nest *path, const tsr_lin_term *t)
{
	return t->kind == TSR_LSYM_LOOP ? tsr_nest_loop(path, t->id) : NULL;
}

/* It stands for one of the first n loops. */
static bool among(const tsr_nest *path, uint32_t n, const tsr_lin_term *t)
{
	for (uint32_t i = 0; i < n; i++)
		if (t->kind == TSR_LSYM_LOOP && path->loop[i]->loop.sym == t->id)
			return true;
	return false;
}

/* How many elements in a row the loops of an index reach, but for those among the first `still` of the path; 0: not a row. */
static int64_t stretch(const tsr_nest *path, uint32_t still, const tsr_lin *x)
{
	int64_t n = 1;
	uint32_t left = 0;
	for (uint32_t i = 0; i < x->n; i++)
		left += !among(path, still, &x->terms[i]);
	for (bool found = true; left && found;) {
		found = false;
		for (uint32_t i = 0; i < x->n && !found; i++) {
			const tsr_stmt *loop = loop_of(path, &x->terms[i]);
			if (!loop || among(path, still, &x->terms[i]) || x->terms[i].coef != n || !tsr_size_is_const(loop->loop.extent))
				continue;
			n *= loop->loop.extent.k;
			found = loop->loop.extent.k > 1;
			left--;
		}
	}
	return left ? 0 : n;
}

/* The index of a store reaches all of its axis, while the first `still` loops of the path stand still. */
static bool whole(const tsr_nest *path, uint32_t still, const tsr_lin *x, tsr_size dim)
{
	if (x->offset || x->base.k || x->base.nterms)
		return false;
	const tsr_stmt *loop = tsr_nest_bare(path, x);
	if (loop && tsr_extent_equal(loop->loop.extent, dim))
		return !among(path, still, &x->terms[0]);
	return tsr_size_is_const(dim) && stretch(path, still, x) == dim.k;
}

/* ---- reads ---------------------------------------------------------------------------------------------------------------------- */

/* Places that the loop stands for: from, and to before which. False where they are not known. */
static bool range_of(const tsr_nest *path, tsr_lin x, int64_t *from, int64_t *to)
{
	*from = *to = x.offset + x.base.k;
	for (uint32_t i = 0; i < x.n; i++) {
		const tsr_stmt *loop = loop_of(path, &x.terms[i]);
		if (x.terms[i].coef == 0)
			continue;
		if (!loop || !tsr_size_is_const(loop->loop.extent))
			return false;
		int64_t most = x.terms[i].coef * (loop->loop.extent.k - 1);
		*(most < 0 ? from : to) += most;
	}
	++*to;
	return x.base.nterms == 0;
}

/* Read where iterations before have stored. */
static bool runs_behind(const scan *s, const written *w, const tsr_lin *index)
{
	int64_t from, to;
	return range_of(&s->path, tsr_lin_add_sym(s->a, *index, -1, TSR_LSYM_LOOP, w->running->loop.sym), &from, &to) && to <= w->below;
}

static bool reaches(const scan *s, const written *w, const tsr_buffer *b, const tsr_lin *index)
{
	tsr_nest path = { .n = w->depth };
	uint32_t still = 0;
	for (uint32_t i = 0; i < w->depth; i++)
		path.loop[i] = w->path[i];
	while (still < w->depth && still < s->path.n && w->path[still] == s->path.loop[still])
		still++;
	if (w->running) {            /* what the loops within it store of a position is done when the next one comes */
		uint32_t at = 0;
		while (at < still && path.loop[at] != w->running)
			at++;
		if (at == still)
			return false;
		still = at + 1;
	}
	for (uint32_t axis = 0; w->index && axis < b->rank; axis++) {
		const tsr_lin *x = &w->index[axis];
		int64_t from, to;
		if (w->running && axis == w->axis) {
			if (!runs_behind(s, w, &index[axis]))
				return false;
			continue;
		}
		if (whole(&path, still, x, b->dims[axis]))
			continue;
		/* where the read stands, seen from where the loops that stand still have put the store */
		tsr_lin rest = tsr_lin_add_size(s->a, index[axis], -1, x->base);
		rest.offset -= x->offset;
		for (uint32_t i = 0; i < x->n; i++)
			if (among(&path, still, &x->terms[i]))
				rest = tsr_lin_add_sym(s->a, rest, -x->terms[i].coef, x->terms[i].kind, x->terms[i].id);
		if (!range_of(&s->path, rest, &from, &to) || from < 0 || to > stretch(&path, still, x))
			return false;
	}
	return true;
}

/* Among the parts that are settled. */
static bool settled(const scan *s, const parts *p, const tsr_lin *index)
{
	int64_t from, to;
	return p->used && tsr_size_is_const(p->settled) && range_of(&s->path, index[p->axis], &from, &to) && to <= p->settled.k;
}

static void reads(scan *s, tsr_buffer_id id, const tsr_lin *index)
{
	const written *w = s->stored[id];
	while (w && !reaches(s, w, s->l->buffers.at[id], index))
		w = w->next;
	s->exposed[id] |= !w && !settled(s, &s->parts[id], index);
}

static tsr_expr *reads_expr(void *user, tsr_expr *e)
{
	if (e->kind == TSR_EXPR_LOAD)
		reads(user, e->load.buffer, e->load.index);
	return e;
}

/* ---- stores --------------------------------------------------------------------------------------------------------------------- */

static void stored(scan *s, tsr_buffer_id id, const tsr_lin *index)
{
	written *w = TSR_NEW(s->a, written);
	w->next = s->stored[id];
	w->index = index;
	w->depth = index ? s->path.n : 0;
	for (uint32_t i = 0; i < w->depth; i++)
		w->path[i] = s->path.loop[i];
	s->stored[id] = w;
}

static bool before(tsr_size x, tsr_size y) { return tsr_size_is_const(x) && tsr_size_is_const(y) && x.k < y.k; }

/* A store of all positions on every axis but one, and there of a stretch that begins where the last one ended, or before: of as many
 * positions as its loop has iterations, so that this one may have none. */
static void stores_part(scan *s, const tsr_buffer *b, const tsr_lin *index)
{
	uint32_t axis = b->rank;
	for (uint32_t i = 0; i < b->rank; i++) {
		if (whole(&s->path, 0, &index[i], b->dims[i]))
			continue;
		if (axis < b->rank)
			return;
		axis = i;
	}
	if (axis == b->rank)
		return;
	tsr_lin shifted = index[axis];
	shifted.offset = 0;
	shifted.base = tsr_size_const(0);
	const tsr_stmt *loop = tsr_nest_bare(&s->path, &shifted);
	if (s->unsure && loop != s->sole)
		return;
	tsr_size long_as = loop ? loop->loop.extent : tsr_size_const(stretch(&s->path, 0, &shifted));
	tsr_size from = tsr_size_add(s->a, index[axis].base, tsr_size_const(index[axis].offset)), to = tsr_size_add(s->a, from, long_as);
	parts *p = &s->parts[b->id];
	if (!p->used)
		*p = (parts){ axis, tsr_size_const(0), tsr_size_const(0), true };
	if (p->axis == axis && (tsr_extent_equal(from, p->done) || (before(from, p->done) && before(p->done, to))))
		p->done = to;
	tsr_push(s->a, &s->parted, b->id);
}

/* Each loop of the index walks one axis. */
static bool axes_apart(const tsr_buffer *b, const tsr_lin *index)
{
	for (uint32_t i = 0; i < b->rank; i++)
		for (uint32_t t = 0; t < index[i].n; t++)
			for (uint32_t j = 0; j < i; j++)
				if (tsr_lin_mentions(&index[j], index[i].terms[t].id))
					return false;
	return true;
}

static void stores(scan *s, const tsr_stmt *t)
{
	const tsr_buffer *b = s->l->buffers.at[t->store.buffer];
	bool all = true, rows = true;
	if ((s->unsure && !s->sole) || b->rank > TSR_MOST_LOOPS || !axes_apart(b, t->store.index))
		return;
	for (uint32_t axis = 0; axis < b->rank; axis++) {
		bool here = whole(&s->path, 0, &t->store.index[axis], b->dims[axis]);
		all &= here;
		rows &= here || stretch(&s->path, 0, &t->store.index[axis]);
	}
	if (rows && !s->unsure)
		stored(s, b->id, t->store.index);
	if (!all)
		stores_part(s, b, t->store.index);
}

/* A loop that may run no times stores nothing.  One over an axis runs. */
static bool may_be_empty(const scan *s, const tsr_stmt *t)
{
	if (t->kind != TSR_STMT_FOR || (tsr_size_is_const(t->loop.extent) && t->loop.extent.k > 0))
		return false;
	for (uint32_t i = 0; i < s->l->buffers.n && !tsr_size_is_const(t->loop.extent); i++)
		for (uint32_t k = 0; k < s->l->buffers.at[i]->rank; k++)
			if (tsr_extent_equal(s->l->buffers.at[i]->dims[k], t->loop.extent))
				return false;
	return true;
}

/* What the loop has stored below each of its positions: of every statement within that stores at a position of its own, behind the parts that are settled. */
static void runs(scan *s, const tsr_stmt *loop, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *t = body->at[i];
		if (t->kind == TSR_STMT_FOR && s->path.n < TSR_MOST_LOOPS && !may_be_empty(s, t)) {
			s->path.loop[s->path.n++] = t;
			runs(s, loop, &t->loop.body);
			s->path.n--;
		}
		if (t->kind != TSR_STMT_STORE || !s->parts[t->store.buffer].used)
			continue;
		const tsr_buffer *b = s->l->buffers.at[t->store.buffer];
		const parts *p = &s->parts[b->id];
		tsr_lin here = t->store.index[p->axis];
		bool all = tsr_size_is_const(p->settled) && here.base.nterms == 0 && here.offset + here.base.k == p->settled.k && axes_apart(b, t->store.index);
		here.offset = 0, here.base = tsr_size_const(0);
		all &= tsr_lin_bare(&here, loop->loop.sym);
		for (uint32_t axis = 0; axis < b->rank; axis++)
			all &= axis == p->axis || whole(&s->path, 0, &t->store.index[axis], b->dims[axis]);
		if (!all)
			continue;
		stored(s, b->id, t->store.index);
		s->stored[b->id]->running = loop;
		s->stored[b->id]->axis = p->axis;
		s->stored[b->id]->below = p->settled.k;
	}
}

/* ---- the walk ------------------------------------------------------------------------------------------------------------------- */

static void scan_stmts(scan *s, tsr_stmts *body);

/* What may not be stored, or where that is not looked at. */
static void doubtful(scan *s, tsr_stmts *body)
{
	const tsr_stmt *outer = s->sole;
	s->sole = NULL;
	s->unsure++;
	scan_stmts(s, body);
	s->unsure--;
	s->sole = outer;
}

static void scan_for(scan *s, tsr_stmt *t)
{
	if (s->path.n == TSR_MOST_LOOPS) {
		doubtful(s, &t->loop.body);
		return;
	}
	s->path.loop[s->path.n++] = t;
	if ((!s->unsure || s->sole == t) && t->loop.how == TSR_FOR_SERIAL)
		runs(s, t, &t->loop.body);
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
		doubtful(s, &t->cond.body);
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
		stored(s, t->random.buffer, NULL);
		return;
	case TSR_STMT_CHECK: case TSR_STMT_KINDS:
		return;
	}
}

static void scan_stmts(scan *s, tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		bool unsure = may_be_empty(s, body->at[i]);
		const tsr_stmt *outer = s->sole;
		if (unsure)
			s->sole = s->unsure++ ? NULL : body->at[i];
		scan_stmt(s, body->at[i]);
		s->unsure -= unsure;
		s->sole = outer;
		if (s->path.n || s->unsure)
			continue;
		/* outside all loops: parts are settled, and those that have come together are a whole */
		bool kernel = body->at[i]->kind == TSR_STMT_KERNEL;
		for (uint32_t k = 0; k < s->parted.n; k++) {
			tsr_buffer_id b = s->parted.at[k];
			parts *p = &s->parts[b];
			p->settled = p->done;
			if (kernel && p->used && tsr_extent_equal(p->done, s->l->buffers.at[b]->dims[p->axis])) {
				stored(s, b, NULL);
				p->used = false;
			}
		}
		if (kernel)
			s->parted.n = 0;
	}
}

bool *tsr_exposed_of(const tsr_loops *l, tsr_arena *a)
{
	scan s = { .l = l, .a = a, .exposed = TSR_NEW_N(a, bool, l->buffers.n + 1) };
	for (uint32_t u = 0; u < l->units.n; u++) {
		s.stored = TSR_NEW_N(a, written *, l->buffers.n + 1);
		s.parts = TSR_NEW_N(a, parts, l->buffers.n + 1);
		s.parted.n = 0;
		scan_stmts(&s, &l->units.at[u]->body);
	}
	for (uint32_t b = 0; b < l->buffers.n; b++)
		s.exposed[b] &= !l->buffers.at[b]->scratch;
	return s.exposed;
}
