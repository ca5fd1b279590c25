/* Rows that are walked several times: the walks of several rows go together, each at another stage of its row.
 *
 *     for i split { A(i); B(i); C(i) }     is computed as     A(0); A(1) B(0); A(2) B(1) C(0); A(3) B(2) C(1); ..; C(n - 1)
 *
 * where A, B and C are walks, innermost loops, each with the plain statements behind it.  So memory has something to do all the time, instead
 * of in one walk of three, and what a walk waits for at its end, where lanes become one number, is waited for once a row.
 *
 * Iterations of parallel loops never meet, those of loops that threads divide only in rows that each thread has for itself; the emitter
 * (kernel/overlap.c) has as many of these rows as are under way.  A loop of the same form that is neither is marked too and goes row by row,
 * so that sums are taken in the same order in both.  One of the walks reduces and is not the last, all have one extent, a symbol that data gives is
 * used before the next walk, and the rows under way fit the second cache, from where the walks of later stages read them while the first one
 * waits for memory: where only the run knows their extent, up to so many iterations. Rows of strips are near already and have to fit the first one. Some processors walk cheap rows faster one by one (`faster_alone`).
 * Runs last, like stream, and changes no statement. */
#include "pass.h"

enum { LINE = 64, NUMBER = 4, LARGE = 4, MOST_WALKS = 4, MOST_STATEMENTS = 32 };

typedef struct overlap { tsr_pass *p; tsr_arena *scratch; const tsr_stmt *kernel; } overlap;

static bool plain(const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_IF ? !plain(&s->cond.body)
			: s->kind != TSR_STMT_STORE && s->kind != TSR_STMT_UPDATE && s->kind != TSR_STMT_LET && s->kind != TSR_STMT_SET && s->kind != TSR_STMT_LETSYM)
			return false;
	}
	return true;
}

/* One, where only the run knows how many: what is counted is of one iteration then. */
static int64_t iterations(const tsr_stmt *walk) { return tsr_size_is_const(walk->loop.extent) ? walk->loop.extent.k : 1; }

/* Bytes of a row of each array that is walked. */
static int64_t row_bytes(const overlap *m, const tsr_stmt *row)
{
	bool *seen = TSR_NEW_N(m->scratch, bool, m->p->l->buffers.n + 1);
	int64_t bytes = 0;
	for (uint32_t i = 0; i < row->loop.body.n; i++) {
		const tsr_stmt *walk = row->loop.body.at[i];
		tsr_accesses x = { .a = m->scratch };
		if (walk->kind == TSR_STMT_FOR)
			tsr_stmt_accesses(walk, &x);
		for (uint32_t k = 0; k < x.v.n; k++) {
			const tsr_buffer *b = m->p->l->buffers.at[x.v.at[k].buffer];
			if (b->rank && !seen[b->id] && tsr_lin_mentions(&x.v.at[k].index[tsr_buffer_last(b)], walk->loop.sym)) {
				seen[b->id] = true;
				bytes += iterations(walk) * tsr_prec_bytes(b->prec);
			}
		}
	}
	return bytes;
}

/* Several threads leave in the caches what one writes around them (stream.c). */
static bool several_leave(const overlap *m)
{
	bool any = false;
	for (uint32_t i = 0; i < m->kernel->kernel.large.n; i++)
		any |= m->kernel->kernel.large.at[i].alone < m->kernel->kernel.large.at[i].least;
	return any;
}

/* Bytes of all rows under way: of each array from the first walk that touches it to the last, and what is asked for ahead of one that no cache holds.
 * What goes around the caches, whoever computes it, is in none. */
static int64_t bytes_under_way(const overlap *m, const tsr_stmt *row)
{
	const tsr_target *t = m->p->target;
	uint32_t *first = TSR_NEW_N(m->scratch, uint32_t, m->p->l->buffers.n + 1), walks = 0;
	int64_t bytes = 0;
	for (uint32_t i = 0; i < row->loop.body.n; i++) {
		const tsr_stmt *walk = row->loop.body.at[i];
		tsr_accesses x = { .a = m->scratch };
		if (walk->kind != TSR_STMT_FOR)
			continue;
		walks++;
		tsr_stmt_accesses(walk, &x);
		for (uint32_t k = 0; k < x.v.n; k++) {
			const tsr_buffer *b = m->p->l->buffers.at[x.v.at[k].buffer];
			int64_t each = iterations(walk) * tsr_prec_bytes(b->prec);
			if (!b->rank || !tsr_lin_mentions(&x.v.at[k].index[tsr_buffer_last(b)], walk->loop.sym) || (x.v.at[k].write && walk->loop.stream && !several_leave(m)))
				continue;
			bytes += first[b->id] ? (walks - first[b->id]) * each : each + (tsr_buffer_bytes(b) >= LARGE * t->l3 ? t->lines_ahead * LINE : 0);
			first[b->id] = walks;
		}
	}
	return bytes;
}

/* A result of the row is as large as several shares of the last cache, and its rows are whole lines. */
static bool far(const overlap *m, const tsr_stmt *walk)
{
	for (uint32_t i = 0; i < walk->loop.body.n; i++) {
		const tsr_stmt *s = walk->loop.body.at[i];
		const tsr_buffer *b = s->kind == TSR_STMT_STORE ? m->p->l->buffers.at[s->store.buffer] : NULL;
		if (b && tsr_buffer_bytes(b) >= LARGE * m->p->target->l3 && iterations(walk) * tsr_prec_bytes(b->prec) % LINE == 0)
			return true;
	}
	return false;
}

static bool has_functions(const tsr_stmt *row)
{
	bool any = false;
	for (uint32_t i = 0; i < row->loop.body.n; i++)
		any |= row->loop.body.at[i]->kind == TSR_STMT_FOR && tsr_stmt_has_functions(row->loop.body.at[i]);
	return any;
}

/* Walks that compute no elementary function are faster row by row if the first cache does not hold all that is under way and either results stay in the caches, too (Zen 4, up to 12 MB:
 * rows of 8 KB 1.1 to 1.45 times as fast, of 12 and 16 KB 1.1 to 1.5, of 32 KB 1.0 to 1.3; of 4 and 6 KB, where a half of that cache holds them, from 8 MB on 1.1 to 1.2), or lines are asked for so far ahead that memory works through a row's end; or then if most
 * loads cross the ends of lines beside stores around the caches (three walks of 16M numbers in rows of 1,000 to 16,384: 1.3 to 1.7 times as fast).  Not where registers are few: a row by itself takes
 * its sums in another order there, and whether it is faster depends on threads, of which bits may not. */
static bool faster_alone(const overlap *m, const tsr_stmt *row, bool known, int64_t *most)
{
	const tsr_target *t = m->p->target;
	if (tsr_target_few_registers(t))
		return false;
	bool functions = has_functions(row), torn = false, leaves = false, distant = false;
	for (uint32_t i = 0; i < row->loop.body.n; i++) {
		tsr_stmt *walk = row->loop.body.at[i];
		if (walk->kind != TSR_STMT_FOR)
			continue;
		torn |= t->torn_loads && walk->loop.stream && known && iterations(walk) * NUMBER % LINE;
		leaves |= tsr_walk_leaves_row(m->p->l, row, walk) || (walk->loop.stream && several_leave(m));
		distant |= far(m, walk);
	}
	int64_t room = leaves && distant && !t->lines_ahead ? t->l1 / 2 : t->l1;
	int64_t under_way = !functions && (t->lines_ahead || leaves) ? bytes_under_way(m, row) : 0;
	if (!known && under_way && room / under_way < *most)
		*most = room / under_way;
	return !functions && ((known && under_way >= room) || (t->lines_ahead && torn));
}

typedef struct naming { uint32_t sym; bool found; } naming;

static void in_lin(naming *n, const tsr_lin *x)
{
	for (uint32_t t = 0; t < x->n; t++)
		n->found |= x->terms[t].kind == TSR_LSYM_DATA && x->terms[t].id == n->sym;
}

static void in_ranges(naming *n, uint32_t count, const tsr_range *ranges)
{
	for (uint32_t i = 0; i < count; i++)
		in_lin(n, &ranges[i].index);
}

static tsr_expr *in_expr(void *user, tsr_expr *e)
{
	if (e->kind == TSR_EXPR_INDEX)
		in_lin(user, &e->index);
	else if (e->kind == TSR_EXPR_SELECT)
		in_ranges(user, e->select.n, e->select.ranges);
	return e;
}

static void in_conditions(naming *n, const tsr_stmt *s)
{
	const tsr_stmts *body = tsr_stmt_inside(s);
	if (s->kind == TSR_STMT_IF)
		in_ranges(n, s->cond.n, s->cond.ranges);
	for (uint32_t i = 0; body && i < body->n; i++)
		in_conditions(n, body->at[i]);
}

bool tsr_stmt_names(const tsr_loops *l, tsr_arena *scratch, tsr_stmt *s, uint32_t sym)
{
	tsr_accesses x = { .a = scratch };
	naming n = { sym, false };
	tsr_stmt_accesses(s, &x);
	tsr_stmt_rewrite(s, in_expr, &n);
	in_conditions(&n, s);
	for (uint32_t i = 0; i < x.v.n; i++)
		for (uint32_t axis = 0; axis < l->buffers.at[x.v.at[i].buffer]->rank; axis++)
			in_lin(&n, &x.v.at[i].index[axis]);
	return n.found;
}

/* None of them is named by a later walk or what follows it. */
static bool symbols_stay(const overlap *m, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		bool later = false;
		for (uint32_t k = i + 1; body->at[i]->kind == TSR_STMT_LETSYM && k < body->n; k++) {
			later |= body->at[k]->kind == TSR_STMT_FOR;
			if (later && tsr_stmt_names(m->p->l, m->scratch, body->at[k], body->at[i]->letsym.sym))
				return false;
		}
	}
	return true;
}

/* What an elementary function waits for is longer than a short row, from a vector on; else there are fewer instructions in what is left behind the vectors of a row by itself, unless that is much. */
static bool too_short(const overlap *m, const tsr_stmt *row, int64_t n)
{
	enum { LEAST = 8, LONG = 64, REST = 16 };
	int64_t vector = m->p->target->vector_bytes / NUMBER;
	if (has_functions(row))
		return n < (vector < LEAST ? LEAST : vector);
	return n < LONG && !(n >= TSR_LEAST_OVERLAP && n % REST >= REST / 2);
}

/* Up to so many iterations of its walks; 0: never. */
static int64_t overlaps(const overlap *m, const tsr_stmt *row, int64_t room)
{
	const tsr_stmts *body = &row->loop.body;
	const tsr_stmt *first = NULL;
	uint32_t walks = 0;
	bool waits = false, reduced = false;
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		tsr_stmts one = { (tsr_stmt **)&body->at[i], 1, 1 };
		if (s->kind != TSR_STMT_FOR) {
			if (!plain(&one))
				return 0;
			continue;
		}
		first = first ? first : s;
		if (s->loop.contraction || s->loop.split || !tsr_extent_equal(s->loop.extent, first->loop.extent) || !plain(&s->loop.body))
			return 0;
		waits |= reduced;
		reduced |= s->loop.how == TSR_FOR_REDUCE;
		walks++;
	}
	bool known = first && tsr_size_is_const(first->loop.extent);
	if (!waits || walks > MOST_WALKS || body->n > MOST_STATEMENTS || (known && too_short(m, row, first->loop.extent.k)) || !symbols_stay(m, body))
		return 0;
	int64_t bytes = 2 * row_bytes(m, row), most = known ? INT64_MAX : room / (bytes > 0 ? bytes : 1);
	return (!known || bytes <= room) && !faster_alone(m, row, known, &most) && most >= TSR_LEAST_OVERLAP ? most : 0;
}

/* Loops over rows, also within serial loops, as strips have them (strip.c); `room`: bytes for the rows under way. */
static void visit(const overlap *m, const char *unit, const char *kernel, const tsr_stmts *body, int64_t room)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_IF)
			visit(m, unit, kernel, &s->cond.body, room);
		if (s->kind != TSR_STMT_FOR || s->loop.contraction || s->loop.how == TSR_FOR_REDUCE)
			continue;
		s->loop.overlap = overlaps(m, s, room);
		if (s->loop.overlap) {
			m->p->changes++;
			tsr_pass_note(m->p, "%s: walks of several rows go together in %s", unit, kernel);
		} else if (s->loop.how == TSR_FOR_SERIAL || s->loop.how == TSR_FOR_PARALLEL)
			visit(m, unit, kernel, &s->loop.body, s->loop.how == TSR_FOR_SERIAL ? m->p->target->l1 : room);
	}
}

void tsr_pass_overlap(tsr_pass *p)
{
	overlap m = { p, tsr_arena_new(), NULL };
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		const tsr_stmts *body = &p->l->units.at[u]->body;
		for (uint32_t i = 0; i < body->n; i++)
			if ((m.kernel = body->at[i])->kind == TSR_STMT_KERNEL)
				visit(&m, p->l->units.at[u]->name, body->at[i]->kernel.name, &body->at[i]->kernel.body, p->target->l2);
	}
	tsr_arena_free(m.scratch);
}
