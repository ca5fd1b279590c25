/* Strips: neighbouring kernels of which one reads what another has just computed run together on a few rows at a time, so that what
 * passes between them stays in a cache and has no memory of its own beyond one strip.  Attention is the case that matters:
 *
 *     scores[s, h, t] = sum over d                      for h { for strips of s {
 *     weights = softmax of them over t                      scores[16, 1, t] ..  weights[16, 1, t] ..
 *     y[s, h, e] = sum over t                                 y[of the strip, h, e] .. } }
 *
 * The first kernel is a contraction that stores all of X; the last one touches X or what became of it.  Axes of X are followed through
 * the kernels: an index that is a bare loop on an axis names that loop, and the loops name the axes of what is stored with them.
 *   - an axis whose loop is an outer one in every kernel becomes a loop around all of them (h)
 *   - one more of this kind is cut into strips (s), and some contractions may sum over it instead: their result is cleared before the
 *     strips, and each strip adds its part
 * No two iterations of these loops meet: what one kernel of the group writes and another touches has, on some axis, the same loop
 * in all of them.  What only the group touches keeps the rows of one strip.
 *
 * It pays where the bytes that no longer travel cost more time than operands that each strip reads again, and packs where they cannot be
 * turned once before all strips (strip_turn.c).  Sums over
 * what is cut into strips are taken strip by strip; everything else keeps its bits.  Where the run alone knows how many rows there are, or positions of a softmax by blocks, strips and blocks are those of many, and
 * what remains of them is a size that follows (tsr_loops_quotient).  Requires rows. */
#include "schedule.h"
#include "strip.h"

enum { LEAST_ROWS = 16, MOST_ROWS = 128, LEAST_SHARED = 6 };

static bool one_nest(const tsr_stmt *kernel)
{
	return kernel->kind == TSR_STMT_KERNEL && kernel->kernel.body.n == 1 && kernel->kernel.body.at[0]->kind == TSR_STMT_FOR;
}

static bool add_member(tsr_strip *g, tsr_stmt *kernel)
{
	if (g->n == TSR_STRIP_MEMBERS || !one_nest(kernel))
		return false;
	tsr_strip_member *m = &g->member[g->n];
	*m = (tsr_strip_member){ .kernel = kernel, .x = { .a = g->a } };
	m->nest = tsr_nest_of(&kernel->kernel.body);
	m->contraction = m->nest.loop[0]->loop.contraction;
	tsr_stmt_accesses(kernel->kernel.body.at[0], &m->x);
	if (m->x.unknown || m->x.data)
		return false;
	g->n++;
	return true;
}

tsr_stmt *tsr_strip_outer(const tsr_strip *g, const tsr_strip_member *m, uint32_t tag)
{
	tsr_stmt *found = NULL;
	for (uint32_t i = 0; i < m->nest.n; i++)
		if (tsr_strip_loop_tag(g, m->nest.loop[i]->loop.sym) == tag) {
			if (found || m->nest.loop[i]->loop.how == TSR_FOR_REDUCE)
				return NULL;
			found = m->nest.loop[i];
		}
	return found;
}

/* The only loop over which the contraction sums with this tag, or NULL; a tail wants the whole sum. */
static const tsr_contract_loop *summed_loop(const tsr_strip *g, const tsr_strip_member *m, uint32_t tag)
{
	const tsr_contract_loop *found = NULL;
	for (uint32_t i = 0; m->contraction && !m->contraction->tail && i < m->contraction->nloops; i++)
		if (tsr_strip_loop_tag(g, m->contraction->loops[i].sym) == tag) {
			if (found || m->contraction->loops[i].cls != TSR_CLASS_K)
				return NULL;
			found = &m->contraction->loops[i];
		}
	return found;
}

/* ---- which loops are shared ------------------------------------------------------------------------------------------------ */

typedef struct touching { uint32_t members, first, last; } touching;

static touching who_touches(const tsr_strip *g, tsr_buffer_id b)
{
	touching t = { 0 };
	for (uint32_t m = 0; m < g->n; m++) {
		bool any = false;
		for (uint32_t i = 0; i < g->member[m].x.v.n; i++)
			any |= g->member[m].x.v.at[i].buffer == b;
		t.first = any && !t.members ? m : t.first;
		t.last = any ? m : t.last;
		t.members += any;
	}
	return t;
}

/* The loop of the kernel with this tag: the outer one, or the one that its contraction sums over. */
static uint32_t loop_of(const tsr_strip *g, const tsr_strip_member *m, uint32_t tag)
{
	const tsr_stmt *outer = tsr_strip_outer(g, m, tag);
	const tsr_contract_loop *summed = outer ? NULL : summed_loop(g, m, tag);
	return outer ? outer->loop.sym : summed ? summed->sym : TSR_NONE;
}

/* All accesses of the group name, on one axis of the buffer, the tag's loop of their kernel. */
static bool aligned(const tsr_strip *g, tsr_buffer_id b, uint32_t tag)
{
	for (uint32_t axis = 0; axis < g->p->l->buffers.at[b]->rank; axis++) {
		bool all = tsr_strip_axis_tag(g, b, axis) == tag;
		for (uint32_t m = 0; all && m < g->n; m++) {
			uint32_t loop = loop_of(g, &g->member[m], tag);
			for (uint32_t i = 0; all && i < g->member[m].x.v.n; i++)
				all = g->member[m].x.v.at[i].buffer != b
					|| (loop != TSR_NONE && tsr_strip_bare(&g->member[m].x.v.at[i].index[axis]) == loop);
		}
		if (all)
			return true;
	}
	return false;
}

/* Iterations of the tag's loops do not meet; `sums`: contractions may sum over it, into what no other kernel touches. */
static bool shareable(const tsr_strip *g, uint32_t tag, bool sums)
{
	for (uint32_t m = 0; m < g->n; m++) {
		const tsr_strip_member *k = &g->member[m];
		bool outer = tsr_strip_outer(g, k, tag) != NULL, summed = !outer && sums && m > 0 && summed_loop(g, k, tag);
		if (!outer && !(summed && who_touches(g, k->contraction->c).members == 1))
			return false;
		for (uint32_t i = 0; outer && i < k->x.v.n; i++)
			if (k->x.v.at[i].write && !aligned(g, k->x.v.at[i].buffer, tag)
				&& !(g->p->l->buffers.at[k->x.v.at[i].buffer]->row && who_touches(g, k->x.v.at[i].buffer).members == 1))
				return false;
	}
	return true;
}

/* Of the axis along which the first product's result lies side by side. */
static uint32_t last_tag(const tsr_strip *g)
{
	tsr_buffer_id c = g->member[0].contraction->c;
	return tsr_strip_axis_tag(g, c, tsr_buffer_last(g->p->l->buffers.at[c]));
}

/* The tag's loop, along which the first product's result does not lie side by side, is that along which a later one as large does: iterations would store to the same lines, each an element (order.c). */
static bool torn(const tsr_strip *g, uint32_t tag)
{
	const tsr_loops *l = g->p->l;
	tsr_buffer_id c = g->member[0].contraction->c;
	for (uint32_t m = 1; m < g->n && last_tag(g) != tag; m++) {
		const tsr_stmt *loop = tsr_strip_outer(g, &g->member[m], tag);
		for (uint32_t i = 0; loop && i < g->member[m].x.v.n; i++) {
			const tsr_access *x = &g->member[m].x.v.at[i];
			int64_t step;
			if (x->write && tsr_index_stride(l->buffers.at[x->buffer], x->index, loop->loop.sym, &step) && step == 1 && tsr_strip_bytes(g, x->buffer) >= tsr_strip_bytes(g, c))
				return true;
		}
	}
	return false;
}

static bool choose_loops(tsr_strip *g)
{
	const tsr_contraction *first = g->member[0].contraction;
	g->shared = 0, g->cut = 0;
	for (uint32_t tag = 1; tag <= g->p->l->buffers.at[first->c]->rank && tag < 64; tag++) {
		const tsr_stmt *loop = tsr_strip_outer(g, &g->member[0], tag);
		tsr_loop_class cls = TSR_CLASS_K;
		for (uint32_t i = 0; loop && i < first->nloops; i++)
			if (first->loops[i].sym == loop->loop.sym)
				cls = first->loops[i].cls;
		bool product = cls == TSR_CLASS_M || cls == TSR_CLASS_N;
		if (product && !g->cut && tsr_strip_guess(loop->loop.extent) >= LEAST_ROWS && shareable(g, tag, true))
			g->cut = tag, g->size = loop->loop.extent, g->extent = tsr_strip_guess(g->size);
		else if ((product || cls == TSR_CLASS_BATCH) && shareable(g, tag, false) && !torn(g, tag))
			g->shared |= UINT64_C(1) << tag;
	}
	bool columns = last_tag(g) < 64 && g->shared >> last_tag(g) & 1;         /* an iteration would have one */
	return g->cut && !columns;
}

/* Loops of which only the run knows the extents are shared, cut, or go by blocks. */
static bool known_inside(const tsr_strip *g, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		uint32_t tag = s->kind == TSR_STMT_FOR ? tsr_strip_loop_tag(g, s->loop.sym) : 0;
		bool known = s->kind != TSR_STMT_FOR || tsr_size_is_const(s->loop.extent) || (tag && (tag == g->cut || tag == g->online.walk || (tag < 64 && g->shared >> tag & 1)));
		if (!known || (s->kind == TSR_STMT_FOR && !known_inside(g, &s->loop.body)) || (s->kind == TSR_STMT_IF && !known_inside(g, &s->cond.body)))
			return false;
	}
	return true;
}

static bool known_loops(tsr_strip *g)
{
	bool known = true;
	for (uint32_t m = 0; m < g->n && known; m++)
		known = known_inside(g, &g->member[m].kernel->kernel.body);
	g->later = !tsr_size_is_const(g->size) || (g->online.walk && !tsr_size_is_const(g->online.positions));
	return known && (!g->later || g->online.walk);
}

/* ---- what only the group touches ---------------------------------------------------------------------------------------------- */

/* The first statement that touches b, in the order in which they run; the loops around it in `path`. */
static const tsr_stmt *first_touch(tsr_arena *a, const tsr_stmts *body, tsr_buffer_id b, tsr_nest *path)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		tsr_uses uses = { 0 };
		tsr_stmt_uses(a, s, &uses);
		tsr_use use = tsr_uses_of(&uses, b);
		if (!use.loads && !tsr_use_writes(use))
			continue;
		if (s->kind != TSR_STMT_FOR || path->n == TSR_MOST_LOOPS)
			return s;
		path->loop[path->n++] = s;
		return first_touch(a, &s->loop.body, b, path);
	}
	return NULL;
}

/* Touched by the group alone, which stores all of it before it reads any. */
static bool private(const tsr_strip *g, const tsr_body_uses *uses, const uint32_t *kernels, tsr_buffer_id b)
{
	uint32_t inside = 0;
	for (uint32_t m = 0; m < g->n; m++) {
		tsr_use use = tsr_uses_of(&uses->at[g->from + m], b);
		inside += use.loads || tsr_use_writes(use);
	}
	if (tsr_buffer_kept(g->p->l->buffers.at[b]) || kernels[b] != inside)
		return false;
	for (uint32_t m = 0; m < g->n; m++) {
		tsr_nest path = { 0 };
		const tsr_stmt *s = first_touch(g->a, &g->member[m].kernel->kernel.body, b, &path);
		if (s)
			return s->kind == TSR_STMT_STORE && !tsr_expr_reads(s->store.value, b) && tsr_nest_covers(g->p->l, &path, s, NULL);
	}
	return false;
}

/* Sorts what the group writes strip by strip, and finds the last kernel that gains: it touches some of that. */
static void find_private(tsr_strip *g, const tsr_body_uses *uses, const uint32_t *kernels)
{
	g->kept.n = g->passed.n = 0;
	g->last = 0;
	for (uint32_t m = 0; m < g->n; m++)
		for (uint32_t i = 0; i < g->member[m].x.v.n; i++) {
			const tsr_access *x = &g->member[m].x.v.at[i];
			if (tsr_ids_have(&g->kept, x->buffer) || tsr_ids_have(&g->passed, x->buffer))
				g->last = m;
			else if (x->write && !g->p->l->buffers.at[x->buffer]->row && aligned(g, x->buffer, g->cut))
				tsr_push(g->a, private(g, uses, kernels, x->buffer) ? &g->kept : &g->passed, x->buffer);
		}
}

/* ---- whether it pays ------------------------------------------------------------------------------------------------------------ */

/* About as many rows, of which the strips take the same number, where that can be; else the remainder needs code of its own. */
static int64_t even_rows(int64_t extent, int64_t rows)
{
	if (rows >= extent)
		return extent;
	for (int64_t r = rows + rows / 8; r >= rows / 2; r--)
		if (extent % r == 0)
			return r;
	int64_t strips = (extent + rows - 1) / rows;
	return (extent + strips - 1) / strips;
}

/* The loop over strips can be divided among threads: nothing is summed over it, it is the only statement, and there are several. */
static bool strips_apart(const tsr_strip *g)
{
	for (uint32_t m = 0; m < g->n; m++)
		if (!tsr_strip_outer(g, &g->member[m], g->cut))
			return false;
	return g->rows < g->extent && g->extent % g->rows == 0 && tsr_size_is_const(g->size);
}

/* What a strip may take of the second cache.  Where panels of turned operands pass by (strip_turn.c), a half of it is theirs, unless strips are of few rows then, which read all panels more
 * often (12 heads of 1024 positions by 64 rows rather than 128 1.01 to 1.02 times as fast, forward; of 512 1.02, with gradients; by 32 rows 0.98 to 1.0). */
static double near_bytes(const tsr_strip *g)
{
	enum { FEW = 64 };
	const tsr_target *t = g->p->target;
	return g->rows > FEW && t->streams && tsr_near_panels(t) ? (double)t->l2 / 2 : (double)t->l2;
}

/* Where a mask hides positions strips are of few rows (strip_mask.c), of many twice as many: 12 heads of 4096 by 16, 32, 64 rows 276, 276, 298 ms, with gradients 667, 659, 655. */
static int64_t masked_rows(int64_t extent)
{
	enum { MANY = 1024 };
	return even_rows(extent, extent > MANY ? 2 * LEAST_ROWS : LEAST_ROWS);
}

/* Nanoseconds that a byte of it takes on a way out or back without strips, by what of the caches holds all that is touched from the kernel that writes it to the last one that reads it: small results,
 * as of a recurrent network's steps, stay near, however many there are (an LSTM's training step took 1.06 to 1.1 times as long in strips, each of which packed the weights). */
static double way(const tsr_strip *g, tsr_buffer_id b)
{
	touching t = who_touches(g, b);
	tsr_ids seen = { 0 };
	int64_t bytes = 0;
	for (uint32_t m = t.first; m <= t.last; m++)
		for (uint32_t i = 0; i < g->member[m].x.v.n; i++) {
			tsr_buffer_id other = g->member[m].x.v.at[i].buffer;
			if (tsr_ids_have(&seen, other))
				continue;
			tsr_push(g->a, &seen, other);
			bytes += tsr_strip_bytes(g, other);
		}
	return bytes <= g->p->target->l2 ? 0 : bytes <= g->p->target->l3 ? TSR_STRIP_THIRD_BYTE : TSR_STRIP_BYTE;
}

/* Bytes of a row of what is kept, of the widest. */
static int64_t widest_row(const tsr_strip *g)
{
	int64_t widest = 0;
	for (uint32_t i = 0; i < g->kept.n; i++) {
		int64_t bytes = tsr_strip_bytes(g, g->kept.at[i]) / tsr_strip_iterations(g, true);
		widest = bytes > widest ? bytes : widest;
	}
	return g->online.block ? widest / g->online.extent * g->online.block : widest;
}

bool tsr_strip_thirds(const tsr_strip *g, const tsr_strip_member *m, int64_t rows)
{
	tsr_contraction cut, as;
	if (!m->contraction || !m->contraction->schedule.mr || !g->p->target->matrix)
		return false;
	cut = *m->contraction;
	cut.loops = TSR_NEW_N(g->p->arena, tsr_contract_loop, cut.nloops);
	for (uint32_t i = 0; i < cut.nloops; i++) {
		cut.loops[i] = m->contraction->loops[i];
		uint32_t tag = tsr_strip_loop_tag(g, cut.loops[i].sym);
		if (tag == g->cut)
			cut.loops[i].extent = tsr_size_const(rows);
		else if (g->online.block && tag == g->online.walk)
			cut.loops[i].extent = tsr_size_const(g->online.block);
	}
	return tsr_contract_matrix(g->p->l, &cut, g->p->target, &as) && as.schedule.thirds;
}

/* What a strip of g->rows keeps and passes on, each row so many bytes. */
static double strip_bytes(const tsr_strip *g, double row)
{
	const tsr_online *o = &g->online;
	return (row - (o->block ? (double)(o->each * (o->extent - o->block)) : 0)) * (double)g->rows;
}

/* Matrix registers take numbers apart anew for each strip: the more rows it has, the less often (12 heads of 512 to 4096 by 128, 256, 512 rows: 1.12, 1.22, 1.23 times as fast as by vectors), and blocks
 * of longer rows are the shorter for it, so that both products are in thirds (12 heads of 2048 and 4096 by 256 rows in blocks of 512 1.2 times as fast as by 128 in blocks of 1024). */
static void more_rows(tsr_strip *g, double row)
{
	enum { ROWS = 256 };
	int64_t few = g->rows, many = even_rows(g->extent, ROWS), block = g->online.block;
	if (few == 0 || few >= many || g->mask)
		return;
	g->rows = many, g->online.block = block ? tsr_online_block(g, many) : 0;
	bool all = strip_bytes(g, row) <= 1.125 * (double)g->p->target->l2;
	for (uint32_t m = 0; m < g->n && all; m++)
		all = !g->member[m].contraction || !g->member[m].contraction->schedule.mr || tsr_strip_thirds(g, &g->member[m], many);
	if (!all)
		g->rows = few, g->online.block = block;
}

/* What strips of g->rows save of the way that `travels`, where each row has so many bytes of what is kept and passed on; by blocks of g->online.block positions, or by whole rows (0). */
static double saved(const tsr_strip *g, double row, double travels)
{
	double strip = strip_bytes(g, row);
	double third = TSR_STRIP_THIRD_BYTE / TSR_STRIP_BYTE / (g->online.walk ? 2 : 1), left = strip <= 1.125 * near_bytes(g) ? 0 : third;      /* rows, and numbers of rows; a softmax's of 1 MB are as fast as of 128 KB */
	bool smaller = tsr_strip_iterations(g, false) * (int64_t)tsr_strip_count(g) > 1;      /* what passes at once is less than all */
	bool fits = strip <= 4 * (double)g->p->target->l3 && (g->p->options->threads == TSR_THREADS_NONE || widest_row(g) * g->rows <= TSR_MOST_OWN_BYTES);
	return smaller && fits ? (1 - left) * travels - tsr_strip_cost(g) + tsr_strip_hidden(g) : 0;
}

/* Strips of few whole rows, of which a mask hides more, are better while these stay near: 12 heads of 4096, forward, 89 ms (by blocks 99), 6 of 8192 and 16384 209 and 814 (214 and 845); with gradients, whose products
 * blocks compute twice, 6 of 8192 497 (665), but of 16384, whose whole rows are too far away, 8134 (2738). */
static bool hides_much(const tsr_strip *g)
{
	return masked_rows(g->extent) * g->online.extent * g->online.each > (g->online.twice ? 2 : 4) * g->p->target->l2;
}

/* Chooses rows of a strip, and whether they go by blocks: a row that goes once always does where it has blocks. */
static double best_rows(tsr_strip *g, int64_t bytes, double row, double travels)
{
	int64_t best = 0, block = 0;
	double most = 0;
	for (int64_t rows = g->later && g->online.hides ? MOST_ROWS / 2 : MOST_ROWS; rows >= LEAST_ROWS && bytes > g->p->target->l2; rows /= 2) {
		g->rows = even_rows(g->extent, rows);
		bool divisible = g->p->options->threads == TSR_THREADS_NONE || tsr_strip_iterations(g, false) >= LEAST_SHARED || strips_apart(g);
		int64_t blocks = divisible && (!g->online.hides || g->later || hides_much(g)) ? tsr_online_block(g, g->rows) : 0;
		for (int way = g->later || (blocks && (g->online.hides || !g->online.twice)); way <= (blocks > 0) && divisible; way++) {
			g->online.block = way ? blocks : 0;
			double here = saved(g, row, travels);
			if (here > most)
				most = here, best = g->rows, block = g->online.block;
		}
	}
	g->rows = best, g->online.block = block;
	return most;
}

/* Nanoseconds that the group saves; 0 where it may not run so. Chooses the rows of a strip. What is kept to it is not written, which
 * would fetch it first, and not read back; what it passes on need not be read back. */
static double gain(tsr_strip *g)
{
	int64_t bytes = 0, passed = 0;
	double travels = 0;
	for (uint32_t i = 0; i < g->kept.n; i++) {
		int64_t size = tsr_strip_bytes(g, g->kept.at[i]);
		bytes += size, travels += 3 * (double)size * way(g, g->kept.at[i]);
	}
	for (uint32_t i = 0; i < g->passed.n; i++) {
		int64_t size = who_touches(g, g->passed.at[i]).members > 1 ? tsr_strip_bytes(g, g->passed.at[i]) : 0;
		passed += size, travels += size ? (double)size * way(g, g->passed.at[i]) : 0;
	}
	double row = (double)(bytes + passed) / (double)tsr_strip_iterations(g, true), most = best_rows(g, bytes, row, travels);
	more_rows(g, row);
	if (g->mask && !g->online.block && g->rows > masked_rows(g->extent))
		g->rows = masked_rows(g->extent);
	return most;
}

/* ---- groups ---------------------------------------------------------------------------------------------------------------------- */

static bool begins(const tsr_loops *l, const tsr_stmt *kernel)
{
	if (!one_nest(kernel))
		return false;
	const tsr_contraction *k = kernel->kernel.body.at[0]->loop.contraction;
	return k && k->schedule.mr && k->clear && !tsr_buffer_kept(l->buffers.at[k->c]);
}

/* Makes the first n kernels the group; what they save, 0 where they cannot run in strips or the last one has nothing of it.  Kernels behind them
 * name nothing: where two gradients meet, as those of queries and values do in their common source, rows of one would be rows of the other. */
static double take(tsr_strip *g, uint32_t n, const tsr_body_uses *uses, const uint32_t *kernels)
{
	g->n = n;
	tsr_strip_name_members(g);
	if (!choose_loops(g))
		return 0;
	find_private(g, uses, kernels);
	tsr_strip_mask(g);
	tsr_strip_online(g);
	if (!known_loops(g))
		return 0;
	return g->kept.n && g->last == n - 1 ? gain(g) : 0;
}

/* Bytes of all that the first n kernels write: what they keep is not more. */
static int64_t written_bytes(const tsr_strip *g, uint32_t n)
{
	tsr_ids seen = { 0 };
	int64_t bytes = 0;
	for (uint32_t m = 0; m < n; m++)
		for (uint32_t i = 0; i < g->member[m].x.v.n; i++) {
			const tsr_access *x = &g->member[m].x.v.at[i];
			if (!x->write || tsr_ids_have(&seen, x->buffer))
				continue;
			tsr_push(g->a, &seen, x->buffer);
			bytes += tsr_strip_bytes(g, x->buffer);
		}
	return bytes;
}

/* The group from `from` on that saves most. */
static bool find_group(tsr_strip *g, const tsr_body_uses *uses, const uint32_t *kernels)
{
	const tsr_stmts *body = uses->body;
	while (g->from + g->n < body->n && add_member(g, body->at[g->from + g->n]))
		;
	uint32_t best = 0;
	double most = 0;
	for (uint32_t n = g->n; n > 1 && written_bytes(g, n) > g->p->target->l2; n--) {
		double here = take(g, n, uses, kernels);
		if (here > most)
			most = here, best = n;
	}
	g->saves = best ? take(g, best, uses, kernels) : 0;
	return g->saves > 0;
}

/* A group that begins within this one saves more, since nothing but what a mask hides a part of is in it. */
static bool better_later(const tsr_strip *g, const tsr_body_uses *uses, const uint32_t *kernels)
{
	for (uint32_t k = 1; k < g->n && !g->mask; k++) {
		tsr_strip later = { .p = g->p, .a = g->a, .unit = g->unit, .from = g->from + k, .only = g->only };
		if (begins(g->p->l, uses->body->at[later.from]) && find_group(&later, uses, kernels) && later.mask && later.saves > g->saves)
			return true;
	}
	return false;
}

static unsigned shared_loops(const tsr_strip *g) { return (unsigned)__builtin_popcountll(g->shared); }

/* The group of the product at g->from, or behind kernels that have to do with neither it nor its readers, where it shares more loops there. */
static bool choose_group(tsr_strip *g, tsr_body_uses *uses, const uint32_t *kernels)
{
	tsr_strip behind = *g;
	bool found = find_group(g, uses, kernels);
	uint32_t moved = tsr_strip_move(uses, behind.from), place = behind.from;
	behind.from += moved;
	if (moved && find_group(&behind, uses, kernels) && (!found || shared_loops(&behind) > shared_loops(g))) {
		*g = behind;
		return true;
	}
	if (moved)
		tsr_strip_move_back(uses, place, moved);
	return found && !better_later(g, uses, kernels);
}

void tsr_pass_strip(tsr_pass *p)
{
	tsr_arena *scratch = tsr_arena_new();
	uint32_t *kernels = TSR_NEW_N(scratch, uint32_t, p->l->buffers.n + 1);
	tsr_body_uses *uses = TSR_NEW_N(scratch, tsr_body_uses, p->l->units.n + 1);
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		tsr_body_uses_make(&uses[u], scratch, &p->l->units.at[u]->body);
		for (uint32_t i = 0; i < p->l->units.at[u]->body.n; i++)
			for (uint32_t j = 0; j < uses[u].at[i].v.n; j++)
				kernels[uses[u].at[i].v.at[j].buffer]++;
	}
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		tsr_loop_unit *unit = p->l->units.at[u];
		for (uint32_t i = 0; i < unit->body.n; i++) {
			tsr_strip g = { .p = p, .a = scratch, .unit = unit, .from = i };
			if (!begins(p->l, unit->body.at[i]) || !choose_group(&g, &uses[u], kernels))
				continue;
			tsr_strip_build(&g);
			i = g.from;
			for (uint32_t m = 1; m < g.n; m++)
				tsr_body_remove(&uses[u], i + 1);
			tsr_body_uses_renew(&uses[u], i);
			p->changes++;
		}
	}
	tsr_arena_free(scratch);
}
