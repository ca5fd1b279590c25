/* Points: kernels of which each iteration computes with few numbers that lie side by side, as small matrices, filters' states, colours or the cells of a lattice do, become one loop over all of
 * these iterations whose small loops are written out:
 *
 *     for n parallel { for i in 0..2 parallel { let s = 0; for k in 0..2 reduce { set s = s + f[i, k] * x[n, k] }; store y[n, i] = s } }
 *     for n parallel { for i in 0..2 parallel { store z[n, i] = max(y[n, i], 0) } }
 *
 *     for n parallel { let a = 0; set a = a + f[0, 0] * x[n, 0]; set a = a + f[0, 1] * x[n, 1];  let b = ..;  store z[n, 0] = max(a, 0);  store z[n, 1] = max(b, 0) }
 *
 * What they store is a local for those behind, and what only they touch is nothing else.  The kernel's lanes are points (kernel/records.c); apart from each other such kernels have short loops that fill no
 * registers, and store and load a few numbers at a time.
 *
 * Joined are neighbours that walk the same points, of which some number depends on another one of its point; one alone stays what it is, for which there are other ways.  Runs before anything is recognised as a contraction,
 * and changes no order of a sum. */
#include "pass.h"

enum { MOST_SMALL = 16, LEAST_FULL = 8, MOST_SUMMED = 64, LEAST_POINTS = 256, LEAST_LANES = 32, MOST_POINT_LOOPS = 4, MOST_KERNEL = 2048, MOST_ALL = 6144, MOST_JOINED = 32 };

/* One kernel: the loops over points, outermost first; nodes of expressions that it has when its small loops are written out. */
typedef struct pointwise { const tsr_stmt *kernel, *point[MOST_POINT_LOOPS]; uint32_t npoints; int64_t nodes, summed; bool full, mixes, records; tsr_accesses x; } pointwise;

typedef struct points { tsr_pass *p; tsr_arena *scratch; tsr_loop_unit *unit; const bool *exposed; uint32_t *kernels; tsr_body_uses uses; } points;

/* ---- which kernels ---------------------------------------------------------------------------------------------------------- */

static bool fills_registers(const points *x, int64_t n) { return n * 4 % x->p->target->vector_bytes == 0; }

/* A loop that is written out: of few iterations, which leave much of a register empty. */
static bool small(const points *x, const tsr_stmt *loop)
{
	int64_t n = tsr_size_is_const(loop->loop.extent) ? loop->loop.extent.k : INT64_MAX;
	return n <= MOST_SMALL && (n < LEAST_FULL || !fills_registers(x, n));
}

static bool over_points(const pointwise *w, const tsr_lin *index, bool *bare)
{
	bool mentions = false;
	for (uint32_t i = 0; i < w->npoints; i++)
		if (tsr_lin_mentions(index, w->point[i]->loop.sym))
			mentions = true, *bare &= tsr_lin_bare(index, w->point[i]->loop.sym);
	return mentions;
}

static bool plain_value(const tsr_expr *e)
{
	tsr_expr *part[TSR_MOST_PARTS];
	bool fine = e->kind != TSR_EXPR_LOOKUP && e->kind != TSR_EXPR_SELECT && e->prec != TSR_PREC_I64;
	for (uint32_t i = 0, n = tsr_expr_parts(e, part); i < n && fine; i++)
		fine = plain_value(part[i]);
	return fine;
}

/* The statements inside the loops over points: small loops around plain statements. */
static bool plain_body(const points *x, pointwise *w, const tsr_stmts *body, int64_t times)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		switch (s->kind) {
		case TSR_STMT_FOR:
			w->mixes |= s->loop.how == TSR_FOR_REDUCE;
			if (!small(x, s) || s->loop.from || s->loop.until || !plain_body(x, w, &s->loop.body, times * s->loop.extent.k))
				return false;
			break;
		case TSR_STMT_STORE: case TSR_STMT_UPDATE:
			w->nodes += times * (1 + tsr_expr_size(s->store.value));
			if (!plain_value(s->store.value))
				return false;
			break;
		case TSR_STMT_LET: case TSR_STMT_SET:
			w->nodes += times * (1 + tsr_expr_size(s->let.value));
			w->summed += s->kind == TSR_STMT_SET ? times : 0;
			if (!plain_value(s->let.value))
				return false;
			break;
		case TSR_STMT_IF: case TSR_STMT_LETSYM: case TSR_STMT_RANDOM: case TSR_STMT_CHECK: case TSR_STMT_KERNEL: case TSR_STMT_KINDS:
			return false;
		}
		if (w->nodes > MOST_KERNEL || w->summed > MOST_SUMMED)
			return false;
	}
	return true;
}

/* Points are walked one by one, and numbers of a record that is in memory lie within it. */
static bool walks_points(const points *x, pointwise *w)
{
	const tsr_stmt *lanes = w->point[w->npoints - 1];
	tsr_stmt_accesses(w->kernel->kernel.body.at[0], &w->x);
	for (uint32_t i = 0; i < w->x.v.n; i++) {
		const tsr_buffer *b = x->p->l->buffers.at[w->x.v.at[i].buffer];
		const tsr_lin *index = w->x.v.at[i].index;
		bool bare = true, any = false, inside = false;
		int64_t step;
		for (uint32_t axis = 0; axis < b->rank; axis++) {
			any |= over_points(w, &index[axis], &bare);
			w->mixes |= inside && index[axis].offset && !w->x.v.at[i].write;
			inside |= tsr_lin_mentions(&index[axis], lanes->loop.sym);
		}
		if (!bare || (w->x.v.at[i].write && !any) || b->prec == TSR_PREC_I64)
			return false;
		if (!tsr_index_stride(b, index, lanes->loop.sym, &step) || step < 0)
			return false;
		w->records |= step > 1;
	}
	return !w->x.unknown && !w->x.data;
}

static bool pointwise_of(const points *x, const tsr_stmt *kernel, pointwise *w)
{
	*w = (pointwise){ .kernel = kernel, .x = { .a = x->scratch } };
	if (kernel->kind != TSR_STMT_KERNEL || kernel->kernel.body.n != 1)
		return false;
	const tsr_stmts *body = &kernel->kernel.body;
	int64_t times = 1;
	for (; body->n == 1 && body->at[0]->kind == TSR_STMT_FOR && body->at[0]->loop.how == TSR_FOR_PARALLEL; body = &body->at[0]->loop.body) {
		const tsr_stmt *s = body->at[0];
		if (s->loop.contraction || s->loop.from || s->loop.until)
			return false;
		if (small(x, s)) {
			times *= s->loop.extent.k;
			w->full |= fills_registers(x, s->loop.extent.k);
		} else if (w->npoints == MOST_POINT_LOOPS)
			return false;
		else
			w->point[w->npoints++] = s;
	}
	const tsr_stmt *lanes = w->npoints ? w->point[w->npoints - 1] : NULL;
	int64_t all = 1;
	for (uint32_t i = 0; i < w->npoints; i++)
		all *= tsr_size_is_const(w->point[i]->loop.extent) && all < LEAST_POINTS ? w->point[i]->loop.extent.k : LEAST_POINTS;
	return lanes && all >= LEAST_POINTS && (!tsr_size_is_const(lanes->loop.extent) || lanes->loop.extent.k >= LEAST_LANES) && plain_body(x, w, body, times) && walks_points(x, w);
}

/* Both touch some array point by point. */
static bool share(const points *x, const pointwise *a, const pointwise *b)
{
	for (uint32_t i = 0; i < a->x.v.n; i++)
		for (uint32_t j = 0; j < b->x.v.n; j++) {
			int64_t step;
			if (a->x.v.at[i].buffer == b->x.v.at[j].buffer
				&& tsr_index_stride(x->p->l->buffers.at[a->x.v.at[i].buffer], a->x.v.at[i].index, a->point[a->npoints - 1]->loop.sym, &step) && step)
				return true;
		}
	return false;
}

/* From each to each other there is a way by what two of them share. */
static bool connected(const points *x, const pointwise *k, uint32_t n)
{
	bool reached[MOST_JOINED] = { true };
	uint32_t count = 1;
	for (bool more = true; more;) {
		more = false;
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t j = 0; j < n && !reached[i]; j++)
				if (reached[j] && share(x, &k[i], &k[j]))
					reached[i] = more = true, count++;
	}
	return count == n;
}

/* Their iterations are the same points, which meet in nothing that is written; also of one kernel and itself. */
static bool same_points(const points *x, const pointwise *a, const pointwise *b)
{
	if (a->npoints != b->npoints)
		return false;
	for (uint32_t i = 0; i < a->npoints; i++)
		if (!tsr_extent_equal(a->point[i]->loop.extent, b->point[i]->loop.extent) || !tsr_accesses_independent(x->p->l, &a->x, a->point[i]->loop.sym, &b->x, b->point[i]->loop.sym))
			return false;
	return true;
}

/* ---- writing out ------------------------------------------------------------------------------------------------------------ */

/* Elements of one point that are locals by now: all of what is its own, and what else was stored before. */
typedef struct element { tsr_buffer_id buffer; int64_t at; tsr_local_id local; } element;

typedef struct writing { points *x; tsr_placing placing; tsr_stmts out; const bool *own; TSR_VEC(element) elements; bool failed; } writing;

/* The element of a point's own array, whose other indices are numbers by now; -1: they are not. */
static int64_t element_of(const writing *w, tsr_buffer_id buffer, const tsr_lin *index)
{
	const tsr_buffer *b = w->x->p->l->buffers.at[buffer];
	int64_t at = 0;
	for (uint32_t axis = 0; axis < b->rank; axis++) {
		if (index[axis].n)
			continue;
		if (index[axis].base.k || index[axis].base.nterms || !tsr_size_is_const(b->dims[axis]))
			return -1;
		at = at * b->dims[axis].k + index[axis].offset;
	}
	return at;
}

static element *element_at(writing *w, tsr_buffer_id buffer, const tsr_lin *index)
{
	int64_t at = element_of(w, buffer, index);
	for (uint32_t i = 0; at >= 0 && i < w->elements.n; i++)
		if (w->elements.at[i].buffer == buffer && w->elements.at[i].at == at)
			return &w->elements.at[i];
	return NULL;
}

static tsr_expr *stored_load(void *user, tsr_expr *e)
{
	writing *w = user;
	const element *x = e->kind == TSR_EXPR_LOAD ? element_at(w, e->load.buffer, e->load.index) : NULL;
	if (!x) {
		w->failed |= e->kind == TSR_EXPR_LOAD && w->own[e->load.buffer];
		return e;
	}
	tsr_arena *a = w->x->p->arena;
	return tsr_expr_convert(a, tsr_expr_local(a, x->local, w->x->p->l->buffers.at[e->load.buffer]->prec), e->prec);
}

/* The element is a new local from here on; its number. */
static tsr_local_id renew(writing *w, tsr_buffer_id buffer, const tsr_lin *index)
{
	element *x = element_at(w, buffer, index);
	if (!x) {
		element fresh = { buffer, element_of(w, buffer, index), 0 };
		tsr_push(w->x->scratch, &w->elements, fresh);
		x = &w->elements.at[w->elements.n - 1];
	}
	return x->local = w->x->unit->nlocals++;
}

/* The last statement written, whose loads are locals where they can be, stores or updates: what it stores is a local; of an own array that is all. */
static void hold(writing *w)
{
	tsr_arena *a = w->x->p->arena;
	tsr_stmt *s = w->out.at[w->out.n - 1];
	tsr_buffer_id buffer = s->store.buffer;
	tsr_prec prec = w->x->p->l->buffers.at[buffer]->prec;
	const element *before = element_at(w, buffer, s->store.index);
	tsr_expr *value = tsr_expr_convert(a, s->store.value, prec);
	if (element_of(w, buffer, s->store.index) < 0 || (s->kind == TSR_STMT_UPDATE && !before)) {
		w->failed = true;
		return;
	}
	if (s->kind == TSR_STMT_UPDATE)
		value = tsr_expr_op(a, tsr_acc_get(s->store.acc)->op, prec, tsr_expr_local(a, before->local, prec), value, NULL);
	tsr_stmt *let = tsr_stmt_new(a, TSR_STMT_LET, s->span);
	let->let.local = renew(w, buffer, s->store.index), let->let.prec = prec, let->let.value = value;
	w->out.at[w->out.n - 1] = let;
	if (w->own[buffer])
		return;
	s->kind = TSR_STMT_STORE;
	s->store.value = tsr_expr_local(a, let->let.local, prec);
	tsr_push(a, &w->out, s);
}

static uint32_t place_of(writing *w, uint32_t sym)
{
	for (uint32_t i = 0; i < w->placing.syms.n; i++)
		if (w->placing.syms.at[i] == sym)
			return i;
	tsr_place_loop(&w->placing, sym, tsr_lin_const(0), NULL);
	return w->placing.syms.n - 1;
}

static void write_out(writing *w, const pointwise *k, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		bool point = false;
		for (uint32_t n = 0; n < k->npoints; n++)
			point |= k->point[n] == s;
		if (point) {
			write_out(w, k, &s->loop.body);
		} else if (s->kind == TSR_STMT_FOR) {
			uint32_t place = place_of(w, s->loop.sym);
			for (int64_t v = 0; v < s->loop.extent.k; v++) {
				w->placing.to.at[place] = tsr_lin_const(v);
				write_out(w, k, &s->loop.body);
			}
		} else {
			tsr_stmts one = { &s, 1, 1 };
			tsr_stmts_place(&w->placing, &one, &w->out);
			tsr_stmt *copy = w->out.at[w->out.n - 1];
			tsr_stmt_rewrite(copy, stored_load, w);
			if (copy->kind == TSR_STMT_STORE || copy->kind == TSR_STMT_UPDATE)
				hold(w);
		}
	}
}

/* ---- groups ----------------------------------------------------------------------------------------------------------------- */

/* Buffers that nothing else touches, and of which each point stores what it reads. */
static bool *own_of(const points *x, uint32_t first, uint32_t n)
{
	const tsr_loops *l = x->p->l;
	bool *own = TSR_NEW_N(x->scratch, bool, l->buffers.n + 1);
	uint32_t *here = TSR_NEW_N(x->scratch, uint32_t, l->buffers.n + 1);
	for (uint32_t i = first; i < first + n; i++)
		for (uint32_t j = 0; j < x->uses.at[i].v.n; j++)
			here[x->uses.at[i].v.at[j].buffer]++;
	for (uint32_t b = 0; b < l->buffers.n; b++)
		own[b] = here[b] && here[b] == x->kernels[b] && !x->exposed[b] && !tsr_buffer_kept(l->buffers.at[b]);
	return own;
}

static bool touches(const pointwise *k, tsr_buffer_id b)
{
	for (uint32_t i = 0; i < k->x.v.n; i++)
		if (k->x.v.at[i].buffer == b)
			return true;
	return false;
}

/* Products of a point's numbers with each other whose results fill registers, or any that do so together with those of other points (groups.c). */
static bool fills(const points *x, const pointwise *k)
{
	enum { FEW = 3 };
	tsr_groups g;
	uint32_t loads = 0;
	for (uint32_t i = 0; i < k->x.v.n; i++) {
		bool bare = true, any = false;
		for (uint32_t axis = 0; axis < x->p->l->buffers.at[k->x.v.at[i].buffer]->rank; axis++)
			any |= over_points(k, &k->x.v.at[i].index[axis], &bare);
		loads += any && !k->x.v.at[i].write;
	}
	return (loads > 1 && k->full) || (tsr_groups_within(x->p->l, x->p->target, k->kernel->kernel.body.at[0], true, &g) && g.results > FEW);
}

/* Each computes for itself, and each fills registers as it is. */
static bool all_fill_apart(const points *x, const pointwise *k, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j < i; j++)
			for (uint32_t at = 0; at < k[j].x.v.n; at++)
				if (k[j].x.v.at[at].write && touches(&k[i], k[j].x.v.at[at].buffer))
					return false;
		if (!fills(x, &k[i]))
			return false;
	}
	return true;
}

/* Iterations of a loop around the lanes read the same numbers, so that each would take their records apart again: a product of all points by all others, for tiles. */
static bool again(const points *x, const pointwise *k, const tsr_access *a)
{
	bool same = false;
	for (uint32_t i = 0; i + 1 < k->npoints; i++) {
		bool by = false;
		for (uint32_t axis = 0; axis < x->p->l->buffers.at[a->buffer]->rank; axis++)
			by |= tsr_lin_mentions(&a->index[axis], k->point[i]->loop.sym);
		same |= !by;
	}
	return same;
}

/* Records in memory are no wider than lanes of them can be taken apart, and something is gained. */
static bool worthwhile(const points *x, const pointwise *k, uint32_t n, const bool *own)
{
	enum { WIDEST_ALONE = 16, PAIR = 2 };
	bool mixes = false, records = false;
	for (uint32_t i = 0; i < n; i++) {
		mixes |= k[i].mixes, records |= k[i].records;
		for (uint32_t j = 0; j < k[i].x.v.n; j++) {
			const tsr_access *a = &k[i].x.v.at[j];
			int64_t step = 0;
			tsr_index_stride(x->p->l->buffers.at[a->buffer], a->index, k[i].point[k[i].npoints - 1]->loop.sym, &step);
			if (n == 1 && step > PAIR && !a->write && again(x, &k[i], a))
				return false;
			if (!own[a->buffer] && (step > (n > 1 ? TSR_MOST_RECORD : WIDEST_ALONE) || (a->write && !step)))
				return false;
		}
	}
	return mixes && records && !all_fill_apart(x, k, n);
}

/* The kernels from number `at` on that walk the same points. */
static uint32_t gather(const points *x, uint32_t at, pointwise *k)
{
	uint32_t n = 0;
	int64_t nodes = 0;
	for (; n < MOST_JOINED && at + n < x->unit->body.n && pointwise_of(x, x->unit->body.at[at + n], &k[n]); n++) {
		bool same = true;
		for (uint32_t i = 0; i <= n && same; i++)
			same = same_points(x, &k[i], &k[n]);
		if (!same || (nodes += k[n].nodes) > MOST_ALL)
			break;
	}
	return n;
}

/* Their statements, in loops over points of their own; NULL: something reads of a point what it has not stored. */
static tsr_stmt *written_out(points *x, const pointwise *k, uint32_t n, const bool *own)
{
	tsr_arena *a = x->p->arena;
	writing w = { .x = x, .placing = { .p = x->p, .unit = x->unit }, .own = own };
	tsr_stmt *outermost = NULL, *inner = NULL;
	for (uint32_t j = 0; j < k[0].npoints; j++) {
		const tsr_stmt *like = k[0].point[j];
		tsr_stmt *loop = tsr_stmt_new(a, TSR_STMT_FOR, like->span);
		loop->loop.sym = x->unit->nsyms++, loop->loop.name = like->loop.name, loop->loop.extent = like->loop.extent, loop->loop.how = TSR_FOR_PARALLEL;
		if (inner)
			tsr_push(a, &inner->loop.body, loop);
		outermost = outermost ? outermost : loop;
		inner = loop;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t place = place_of(&w, k[i].point[j]->loop.sym);
			w.placing.to.at[place] = tsr_lin_add_sym(a, tsr_lin_const(0), 1, TSR_LSYM_LOOP, loop->loop.sym);
		}
	}
	for (uint32_t i = 0; i < n; i++)
		write_out(&w, &k[i], &k[i].kernel->kernel.body);
	inner->loop.body = w.out;
	return w.failed ? NULL : outermost;
}

/* As many of the kernels from number `at` on as can be become one. */
static void join_at(points *x, uint32_t at)
{
	pointwise k[MOST_JOINED];
	for (uint32_t n = gather(x, at, k); n > 0; n--) {
		const bool *own = own_of(x, at, n);
		tsr_stmt *kernel = x->unit->body.at[at], *nest = connected(x, k, n) && worthwhile(x, k, n, own) ? written_out(x, k, n, own) : NULL;
		if (!nest)
			continue;
		kernel->kernel.body = (tsr_stmts){ 0 };
		tsr_push(x->p->arena, &kernel->kernel.body, nest);
		for (uint32_t i = 1; i < n; i++) {
			tsr_pass_note(x->p, "%s: %s joins %s, point by point", x->unit->name, k[i].kernel->kernel.name, kernel->kernel.name);
			tsr_body_remove(&x->uses, at + 1);
		}
		x->p->changes++;
		return;
	}
}

void tsr_pass_points(tsr_pass *p)
{
	points x = { .p = p, .scratch = tsr_arena_new() };
	x.exposed = tsr_exposed_of(p->l, x.scratch);
	tsr_body_uses *uses = TSR_NEW_N(x.scratch, tsr_body_uses, p->l->units.n + 1);
	x.kernels = TSR_NEW_N(x.scratch, uint32_t, p->l->buffers.n + 1);
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		tsr_body_uses_make(&uses[u], x.scratch, &p->l->units.at[u]->body);
		for (uint32_t i = 0; i < p->l->units.at[u]->body.n; i++)
			for (uint32_t j = 0; j < uses[u].at[i].v.n; j++)
				x.kernels[uses[u].at[i].v.at[j].buffer]++;
	}
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		x.unit = p->l->units.at[u];
		x.uses = uses[u];
		for (uint32_t at = 0; at < x.unit->body.n; at++)
			join_at(&x, at);
	}
	tsr_arena_free(x.scratch);
}
