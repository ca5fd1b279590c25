/* Less memory for more work, where --memory-limit asks for it: a value that lies unused over the fullest moment is given up, and computed
 * again before it is next read.
 *
 * The fullest statement of a unit is where most bytes of the arena are alive.  A candidate X is alive there without being touched; one
 * kernel alone stores it; what that kernel reads for it, or has stored beside it, is unchanged until X is next read, and is there at that
 * time or cheaper to keep than X.  The kernel runs no contraction in tiles: elementwise work and reductions of rows.  Only the part of it that X hangs on is repeated; where that part
 * sums, it is the whole kernel, since a sum that stands alone may be ordered otherwise by LLVM.  So results keep their bits.  Among
 * the candidates the one with most bytes for an operation is taken, and all is looked at anew, until the layout of opt/buffers.c fits.
 * Each step leaves less alive at that statement and nowhere as much as was alive there, so it ends.
 *
 * Runs after the passes that form kernels and divide them among threads: what is computed again is divided as it was.  The limit is on all that is laid out
 * when compiling: the arena and the buffers with memory of their own. */
#include "pass.h"

typedef struct touch { uint32_t at; bool writes; } touch;
typedef struct touches { TSR_VEC(touch) v; } touches;

/* X of `unit` was computed again by the statement, into `fresh`. */
typedef struct again { uint32_t unit; tsr_buffer_id x, fresh; const tsr_stmt *stmt; } again;

typedef struct remat {
	tsr_pass *p;
	tsr_loops *l;
	tsr_arena *a;                /* of one step */
	const bool *exposed;
	TSR_VEC(again) done;
	uint32_t unit;
	tsr_stmts *body;
	touches *of;                 /* per buffer, in this unit */
	int64_t *alive;              /* per statement: bytes of the arena */
} remat;

/* The part of a kernel that a buffer hangs on. */
typedef struct part {
	const tsr_stmt *kernel;
	uint32_t at;                 /* where it is to be computed again */
	bool *buffers, *locals;      /* needed: stored in it */
	bool *written;               /* by the whole kernel */
	bool *read;                  /* by the part */
	bool *there;                 /* also written by the kernel, but as it then was it is still there */
	bool drops, sums, changed, engine;
} part;

typedef struct candidate { tsr_buffer_id x; uint32_t from, at; part part; int64_t bytes, operations; } candidate;

static int64_t bytes_of(const remat *r, tsr_buffer_id b) { return tsr_buffer_bytes(r->l->buffers.at[b]); }

static bool of_thread(const remat *r, tsr_buffer_id b) { return r->l->buffers.at[b]->home == TSR_HOME_THREAD; }

/* It lies in the arena. */
static bool shares(const remat *r, tsr_buffer_id b)
{
	const tsr_buffer *x = r->l->buffers.at[b];
	return !tsr_buffer_kept(x) && !x->returned && !r->exposed[b] && tsr_buffer_bytes(x) > 0 && !of_thread(r, b);
}

static void look(remat *r, uint32_t unit)
{
	r->unit = unit;
	r->body = &r->l->units.at[unit]->body;
	r->of = TSR_NEW_N(r->a, touches, r->l->buffers.n + 1);
	r->alive = TSR_NEW_N(r->a, int64_t, r->body->n + 1);
	for (uint32_t i = 0; i < r->body->n; i++) {
		tsr_uses uses = { 0 };
		tsr_stmt_uses(r->a, r->body->at[i], &uses);
		for (uint32_t j = 0; j < uses.v.n; j++)
			tsr_push(r->a, &r->of[uses.v.at[j].buffer].v, ((touch){ i, tsr_use_writes(uses.v.at[j]) }));
	}
	for (uint32_t b = 0; b < r->l->buffers.n; b++)
		for (uint32_t i = r->of[b].v.n ? r->of[b].v.at[0].at : 1; shares(r, b) && r->of[b].v.n && i <= r->of[b].v.at[r->of[b].v.n - 1].at; i++)
			r->alive[i] += bytes_of(r, b);
}

static uint32_t last_touch(const remat *r, tsr_buffer_id b) { return r->of[b].v.at[r->of[b].v.n - 1].at; }

/* The version of b that the statements before `at` have made last. */
static tsr_buffer_id version(const remat *r, tsr_buffer_id b, uint32_t at)
{
	for (uint32_t i = r->done.n; i-- > 0;)
		for (uint32_t j = 0; r->done.at[i].unit == r->unit && r->done.at[i].x == b && j < at; j++)
			if (r->body->at[j] == r->done.at[i].stmt)
				return r->done.at[i].fresh;
	return b;
}

/* ---- what a buffer hangs on -------------------------------------------------------------------------------------------------- */

static void need(bool *flag, part *q)
{
	q->changed |= !*flag;
	*flag = true;
}

static tsr_expr *needs_expr(void *user, tsr_expr *e)
{
	part *q = user;
	if (e->kind == TSR_EXPR_LOCAL)
		need(&q->locals[e->local], q);
	if (e->kind != TSR_EXPR_LOAD)
		return e;
	q->read[e->load.buffer] = true;
	if (q->written[e->load.buffer] && !q->there[e->load.buffer])
		need(&q->buffers[e->load.buffer], q);
	return e;
}

static bool stays(const part *q, const tsr_stmt *s);

static bool any_stays(const part *q, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++)
		if (stays(q, body->at[i]))
			return true;
	return false;
}

static bool stays(const part *q, const tsr_stmt *s)
{
	switch (s->kind) {
	case TSR_STMT_FOR: return any_stays(q, &s->loop.body);
	case TSR_STMT_IF: return any_stays(q, &s->cond.body);
	case TSR_STMT_STORE: case TSR_STMT_UPDATE: return q->buffers[s->store.buffer];
	case TSR_STMT_LET: case TSR_STMT_SET: return q->locals[s->let.local];
	case TSR_STMT_LETSYM: case TSR_STMT_CHECK: case TSR_STMT_RANDOM: case TSR_STMT_KERNEL: case TSR_STMT_KINDS: break;
	}
	return true;
}

static void needs(part *q, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		bool here = stays(q, s);
		q->drops |= !here;
		if (s->kind == TSR_STMT_FOR) {
			q->sums |= here && s->loop.how == TSR_FOR_REDUCE;
			q->engine |= s->loop.contraction && s->loop.contraction->schedule.mr;
			needs(q, &s->loop.body);
		} else if (s->kind == TSR_STMT_IF) {
			needs(q, &s->cond.body);
		} else if (here && (s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE)) {
			tsr_expr_rewrite(s->store.value, needs_expr, q);
		} else if (here && (s->kind == TSR_STMT_LET || s->kind == TSR_STMT_SET || s->kind == TSR_STMT_LETSYM)) {
			tsr_stmt_rewrite(s, needs_expr, q);
		} else if (s->kind == TSR_STMT_RANDOM || s->kind == TSR_STMT_CHECK || s->kind == TSR_STMT_KERNEL) {
			q->engine = true;
		}
	}
}

/* Stores into b in these statements, each run `times` times; -1 where that is not known. */
static int64_t stores_into(const tsr_stmts *body, tsr_buffer_id b, int64_t times)
{
	int64_t n = 0;
	for (uint32_t i = 0; i < body->n && n >= 0; i++) {
		const tsr_stmt *s = body->at[i];
		int64_t inside = 0;
		if (s->kind == TSR_STMT_FOR)
			inside = stores_into(&s->loop.body, b, tsr_size_is_const(s->loop.extent) ? times * s->loop.extent.k : -1);
		else if (s->kind == TSR_STMT_IF)
			inside = stores_into(&s->cond.body, b, -1);
		else if ((s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE) && s->store.buffer == b)
			inside = s->kind == TSR_STMT_STORE ? times : -1;
		n = inside < 0 || (inside && n) ? -1 : n + inside;
	}
	return n;
}

/* What the kernel reads of b while it runs is what b holds at `at`: each element is stored once, b is not written again, and lives. */
static bool is_there(const remat *r, const part *q, tsr_buffer_id b)
{
	const tsr_buffer *x = r->l->buffers.at[b];
	tsr_buffer_id y = version(r, b, q->at);
	for (uint32_t i = 0; i < r->of[b].v.n; i++)
		if (r->of[b].v.at[i].writes && r->body->at[r->of[b].v.at[i].at] != q->kernel)
			return false;
	return !x->row && !of_thread(r, b) && !r->exposed[b] && stores_into(&q->kernel->kernel.body, b, 1) * tsr_prec_bytes(x->prec) == bytes_of(r, b)
		&& (!shares(r, y) || last_touch(r, y) >= q->at);
}

/* False where the kernel must not run again for it. */
static bool part_of(remat *r, const tsr_stmt *kernel, tsr_buffer_id x, uint32_t at, part *q)
{
	tsr_uses uses = { 0 };
	uint32_t n = r->l->buffers.n;
	if (kernel->kind != TSR_STMT_KERNEL)
		return false;
	*q = (part){ .kernel = kernel, .at = at, .there = TSR_NEW_N(r->a, bool, n + 1), .buffers = TSR_NEW_N(r->a, bool, n + 1), .written = TSR_NEW_N(r->a, bool, n + 1), .read = TSR_NEW_N(r->a, bool, n + 1),
		.locals = TSR_NEW_N(r->a, bool, r->l->units.at[r->unit]->nlocals + 1) };
	tsr_stmt_uses(r->a, kernel, &uses);
	for (uint32_t i = 0; i < uses.v.n; i++)
		q->written[uses.v.at[i].buffer] = tsr_use_writes(uses.v.at[i]);
	for (uint32_t b = 0; b < n; b++)
		q->there[b] = b != x && q->written[b] && is_there(r, q, b);
	q->buffers[x] = true;
	do {
		q->changed = q->drops = false;
		needs(q, &kernel->kernel.body);
	} while (q->changed);
	for (uint32_t b = 0; b < n; b++)                 /* what it makes for itself must be made by it alone */
		for (uint32_t i = 0; q->buffers[b] && i < r->of[b].v.n; i++)
			q->engine |= (!shares(r, b) && !of_thread(r, b)) || (r->of[b].v.at[i].writes && r->body->at[r->of[b].v.at[i].at] != kernel);
	return !q->engine && !(q->sums && q->drops);
}

static int64_t part_operations(const part *q, const tsr_stmts *body)
{
	int64_t n = 0;
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		tsr_stmts one = { &body->at[i], 1, 1 };
		bool known = true;
		if (!stays(q, s))
			continue;
		if (s->kind == TSR_STMT_FOR)
			n += part_operations(q, &s->loop.body) * (s->loop.extent.nterms ? 1 : s->loop.extent.k);
		else if (s->kind == TSR_STMT_IF)
			n += part_operations(q, &s->cond.body);
		else
			n += 1 + tsr_stmts_operations(&one, &known);
	}
	return n;
}

/* ---- candidates ------------------------------------------------------------------------------------------------------------------ */

static bool changed_between(const remat *r, tsr_buffer_id b, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < r->of[b].v.n; i++)
		if (r->of[b].v.at[i].writes && r->of[b].v.at[i].at > from && r->of[b].v.at[i].at < to)
			return true;
	return false;
}

/* Once c is done nowhere is as much alive as at `full` now: not where inputs live longer, and not at the new kernel. */
static bool lowers(const remat *r, const candidate *c, uint32_t full)
{
	int64_t *more = TSR_NEW_N(r->a, int64_t, r->body->n + 1), here = 0;
	for (uint32_t b = 0; b < r->l->buffers.n; b++) {
		bool across = shares(r, b) && r->of[b].v.n && r->of[b].v.at[0].at < c->at && last_touch(r, b) >= c->at;
		if ((c->part.buffers[b] && !of_thread(r, b)) || (across && b != c->x))
			here += bytes_of(r, b);
		if (!c->part.read[b] || c->part.buffers[b])
			continue;
		tsr_buffer_id y = version(r, b, c->at);
		if (y == b && changed_between(r, b, r->of[c->x].v.at[0].at, c->at))
			return false;
		if (!shares(r, y) || last_touch(r, y) >= c->at)
			continue;
		here += bytes_of(r, y);
		for (uint32_t i = last_touch(r, y) + 1; i < c->at; i++)
			more[i] += bytes_of(r, y);
	}
	for (uint32_t i = c->from + 1; i < c->at; i++)
		more[i] -= c->bytes;
	for (uint32_t i = 0; i < r->body->n; i++)
		if (more[i] > 0 && r->alive[i] + more[i] >= r->alive[full])
			return false;
	return here < r->alive[full] && more[full] < 0;
}

/* X around `full`: where it is touched before, and after. */
static bool candidate_of(remat *r, tsr_buffer_id x, uint32_t full, candidate *c)
{
	const touches *t = &r->of[x];
	uint32_t i = 0;
	if (!shares(r, x) || t->v.n < 2 || !t->v.at[0].writes)
		return false;
	for (uint32_t k = 0; k < r->done.n; k++)
		if (r->done.at[k].fresh == x)
			return false;
	for (uint32_t k = 1; k < t->v.n; k++)
		if (t->v.at[k].writes)
			return false;
	while (i + 1 < t->v.n && t->v.at[i + 1].at < full)
		i++;
	if (i + 1 == t->v.n || t->v.at[i].at >= full || t->v.at[i + 1].at <= full)
		return false;
	*c = (candidate){ .x = x, .from = t->v.at[i].at, .at = t->v.at[i + 1].at, .bytes = bytes_of(r, x) };
	if (!part_of(r, r->body->at[t->v.at[0].at], x, c->at, &c->part) || !lowers(r, c, full))
		return false;
	c->operations = 1 + part_operations(&c->part, &c->part.kernel->kernel.body);
	return true;
}

/* ---- doing it ---------------------------------------------------------------------------------------------------------------------- */

static tsr_buffer_id fresh_buffer(remat *r, tsr_buffer_id of)
{
	tsr_buffer *b = TSR_NEW(r->p->arena, tsr_buffer);
	*b = *r->l->buffers.at[of];
	b->id = r->l->buffers.n;
	b->kind = TSR_BUFFER_TEMP;
	b->tensor = TSR_NONE;
	b->name = tsr_intern(r->l->tc->names, tsr_format(r->p->arena, "%s.again%u", r->l->buffers.at[of]->name, b->id));
	tsr_push(r->p->arena, &r->l->buffers, b);
	return b->id;
}

static tsr_stmt *copy_of(remat *r, const part *q, const tsr_stmt *s);

static tsr_stmts copies(remat *r, const part *q, const tsr_stmts *body)
{
	tsr_stmts out = { 0 };
	for (uint32_t i = 0; i < body->n; i++)
		if (stays(q, body->at[i]))
			tsr_push(r->p->arena, &out, copy_of(r, q, body->at[i]));
	return out;
}

static tsr_expr *expr_copy(remat *r, const tsr_expr *e) { return tsr_expr_place(r->p->arena, r->l, e, 0, NULL, NULL); }

/* Indices are shared: nothing changes them in place. */
static tsr_stmt *copy_of(remat *r, const part *q, const tsr_stmt *s)
{
	tsr_stmt *out = TSR_NEW(r->p->arena, tsr_stmt);
	*out = *s;
	if (s->kind == TSR_STMT_KERNEL) {
		out->kernel.body = copies(r, q, &s->kernel.body);
	} else if (s->kind == TSR_STMT_FOR) {
		out->loop.body = copies(r, q, &s->loop.body);
		out->loop.contraction = NULL;        /* left to plain loops: what is in tiles is not repeated */
	} else if (s->kind == TSR_STMT_IF) {
		out->cond.body = copies(r, q, &s->cond.body);
	} else if (s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE) {
		out->store.value = expr_copy(r, s->store.value);
	} else if (s->kind == TSR_STMT_LET || s->kind == TSR_STMT_SET) {
		out->let.value = expr_copy(r, s->let.value);
	} else if (s->kind == TSR_STMT_LETSYM) {
		out->letsym.value = expr_copy(r, s->letsym.value);
	}
	return out;
}

static const char *name_of(const tsr_stmt *s) { return s->kind == TSR_STMT_KERNEL && s->kernel.name ? s->kernel.name : "a check"; }

static void compute_again(remat *r, const candidate *c)
{
	uint32_t before = r->l->buffers.n;
	tsr_buffer_id *inside = TSR_NEW_N(r->a, tsr_buffer_id, before + 1), *later = TSR_NEW_N(r->a, tsr_buffer_id, before + 1);
	for (uint32_t b = 0; b < before; b++) {
		later[b] = b;
		inside[b] = c->part.buffers[b] ? fresh_buffer(r, b) : c->part.read[b] ? version(r, b, c->at) : b;
	}
	later[c->x] = inside[c->x];
	tsr_stmt *again_stmt = copy_of(r, &c->part, c->part.kernel);
	again_stmt->kernel.name = tsr_intern(r->l->tc->names, tsr_format(r->p->arena, "%s.again%u", name_of(c->part.kernel), inside[c->x]));
	tsr_stmt_rename(r->p, again_stmt, inside);
	for (uint32_t i = c->at; i < r->body->n; i++)
		tsr_stmt_rename(r->p, r->body->at[i], later);
	tsr_pass_note(r->p, "%s: %s is computed again before %s, for %lld bytes and %lld operations", r->l->units.at[r->unit]->name,
		r->l->buffers.at[c->x]->name, name_of(r->body->at[c->at]), (long long)c->bytes, (long long)c->operations);
	tsr_push(r->p->arena, r->body, again_stmt);
	for (uint32_t i = r->body->n - 1; i > c->at; i--)
		r->body->at[i] = r->body->at[i - 1];
	r->body->at[c->at] = again_stmt;
	tsr_push(r->p->arena, &r->done, ((again){ r->unit, c->x, inside[c->x], again_stmt }));
	r->l->recomputed_bytes += c->bytes;
	r->p->changes++;
}

/* ---- the pass -------------------------------------------------------------------------------------------------------------------------- */

/* Of the layout as it would be now. */
static int64_t memory_needed(remat *r)
{
	uint32_t changes = r->p->changes;
	int64_t bytes = 0;
	tsr_pass_buffers(r->p);
	r->p->changes = changes;
	for (uint32_t i = 0; i < r->l->buffers.n; i++)
		if (r->l->buffers.at[i]->home == TSR_HOME_OWN && bytes_of(r, i) > 0)
			bytes += bytes_of(r, i);
	return bytes + r->l->arena_bytes;
}

/* The unit and statement where most is alive. */
static uint32_t fullest(remat *r, uint32_t *unit)
{
	int64_t most = -1;
	uint32_t at = 0;
	for (uint32_t u = 0; u < r->l->units.n; u++) {
		look(r, u);
		for (uint32_t i = 0; i < r->body->n; i++)
			if (r->alive[i] > most) {
				most = r->alive[i];
				*unit = u;
				at = i;
			}
	}
	if (most >= 0)
		look(r, *unit);
	return at;
}

static bool step(remat *r, uint32_t full)
{
	candidate best = { 0 }, c;
	for (uint32_t x = 0; x < r->l->buffers.n; x++)
		if (candidate_of(r, x, full, &c)
			&& (!best.bytes || (double)c.bytes * (double)best.operations > (double)best.bytes * (double)c.operations))
			best = c;
	if (best.bytes)
		compute_again(r, &best);
	return best.bytes > 0;
}

static void cannot(remat *r, int64_t limit, int64_t least, int64_t lasting, uint32_t full)
{
	tsr_diag *g = tsr_report(r->l->tc, TSR_E_MEMORY, TSR_NOWHERE, "%lld bytes of memory are not enough: at least %lld are needed", (long long)limit,
		(long long)least);
	if (r->body && r->body->n)
		tsr_hint(r->l->tc, g, "most is alive in %s of %s: %lld bytes, besides %lld for parameters and all that lasts; --dump=memory without the limit "
			"lists what", name_of(r->body->at[full]), r->l->units.at[r->unit]->name, (long long)r->alive[full],
			(long long)lasting);
}

void tsr_pass_remat(tsr_pass *p)
{
	int64_t limit = p->options->memory_limit, needed, least = INT64_MAX;
	remat r = { .p = p, .l = p->l };
	while (limit > 0) {
		r.a = tsr_arena_new();
		r.exposed = tsr_exposed_of(p->l, r.a);
		needed = memory_needed(&r);
		least = needed < least ? needed : least;     /* less may be alive, and lie less well */
		uint32_t unit = 0, full = needed > limit ? fullest(&r, &unit) : 0;
		bool better = needed > limit && r.body && r.body->n && step(&r, full);
		if (needed > limit && !better)
			cannot(&r, limit, least, needed - p->l->arena_bytes, full);
		tsr_arena_free(r.a);
		if (!better)
			break;
	}
}
