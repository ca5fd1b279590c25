/* Which loops are divided among threads.
 *
 * A kernel of nests is divided where each nest has a loop whose iterations never meet: every buffer that the nest writes has
 * an axis on which all accesses say the same index, of this loop's symbol and no other, or holds a row (rows.c) that each
 * thread can have for itself.  A contraction is divided by positions of its batch, its rows or its columns, whose elements of C differ.
 * So each element is computed by one thread, by the same operations in the same order as by one thread alone: the result has
 * the same bits at any number of threads.  Sums are never divided; totals.c has taken large ones in parts before.
 *
 * Of the loops that can be divided it is the outermost with many iterations, else the one with the most, but rather one around the innermost than that.  Nests of a
 * kernel that write one buffer are divided along one axis where they can be.  Each thread gets a share of it, or, where an
 * iteration is much work, takes the next one when it is ready, since threads are never equally fast (kernel/turns.c).  How many threads the work
 * is worth is decided where its amount is known: here, or when the program runs.  Requires schedule; rows and narrow come before,
 * since they say what a row is and how long. */
#include "schedule.h"
#include "apart.h"
#include "../../runtime/tsr_abi.h"

enum { MANY = 32, SOME = 8, LONG = 256, ROW = 1024, ALIGN = 64, OWN_COLUMNS = 1024 };       /* row: an innermost loop of as many is divided like any other; long: what data give the place of
                                                                                          * is divided where each part fills several vectors */
#define TWO_THREADS 50e3            /* nanoseconds below which a second thread is not worth its start */
#define ARITHMETIC 12                /* so much sooner a second thread is worth its start where nothing waits for memory: a region takes 0.6 to 1.2 us (60 cubed 1.4 to 1.6 times as fast, 56 cubed 1.3) */
#define ARITHMETIC_APART 6           /* and where cores may share no cache */
#define EACH_NODE 0.1                /* of an expression, vectors and cached operands assumed */
#define EACH_CALL 0.5                /* of a division, a root, an elementary function */
#define GIGAHERTZ 3.0


/* ---- work ------------------------------------------------------------------------------------------------------------------ */

double tsr_expr_time(const tsr_expr *e)
{
	double t = EACH_NODE;
	switch (e->kind) {
	case TSR_EXPR_OP:
		t = tsr_op_get(e->op.op)->result == TSR_RESULT_FLOAT ? EACH_CALL : EACH_NODE;
		for (uint32_t i = 0; i < tsr_op_get(e->op.op)->arity; i++)
			t += tsr_expr_time(e->op.args[i]);
		return t;
	case TSR_EXPR_CONVERT: return t + tsr_expr_time(e->converted);
	case TSR_EXPR_LOOKUP: return t + tsr_expr_time(e->lookup.at) + tsr_expr_time(e->lookup.value);
	case TSR_EXPR_SELECT: return t + tsr_expr_time(e->select.inside) + tsr_expr_time(e->select.outside);
	case TSR_EXPR_CONST: return 0;
	case TSR_EXPR_LOAD: case TSR_EXPR_LOCAL: case TSR_EXPR_INDEX: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: case TSR_EXPR_KINDS: break;
	}
	return t;
}

typedef struct nesting { uint32_t n; tsr_size extents[TSR_MOST_LOOPS]; } nesting;

static void add_work(const tsr_divide *d, tsr_team *team, double each, const nesting *around)
{
	tsr_work w = { each, 0, TSR_NEW_N(d->p->arena, tsr_size, around->n + 1) };
	for (uint32_t i = 0; i < around->n; i++) {
		if (tsr_size_is_const(around->extents[i]))
			w.each *= (double)around->extents[i].k;
		else
			w.extents[w.n++] = around->extents[i];
	}
	tsr_push(d->p->arena, &team->work, w);
}

static void measure(const tsr_divide *d, tsr_team *team, const tsr_stmts *body, nesting *around);

/* Other kernels touch what it reads or makes: half of that is in the cache of another core. */
static bool among_others(const tsr_divide *d, const tsr_contraction *k)
{
	return (k->a != TSR_NONE && d->touched[k->a] > 1) || (k->b != TSR_NONE && d->touched[k->b] > 1) || d->touched[k->c] > 1;
}

static void measure_for(const tsr_divide *d, tsr_team *team, const tsr_stmt *s, nesting *around)
{
	const tsr_contraction *k = s->loop.contraction;
	uint32_t before = around->n;
	if (k && k->schedule.mr && before + k->nloops <= TSR_MOST_LOOPS) {
		const tsr_target *t = d->p->target;
		double lanes = (double)t->vector_bytes / tsr_prec_bytes(k->prec), rate = (t->half_units && !among_others(d, k) ? 1 : 2) * lanes * GIGAHERTZ;
		for (uint32_t i = 0; i < k->nloops; i++)
			around->extents[around->n++] = k->loops[i].extent;
		add_work(d, team, (t->apart ? ARITHMETIC_APART : ARITHMETIC) / rate, around);
	} else if (before < TSR_MOST_LOOPS) {
		around->extents[around->n++] = s->loop.extent;
		measure(d, team, &s->loop.body, around);
	}
	around->n = before;
}

static void measure(const tsr_divide *d, tsr_team *team, const tsr_stmts *body, nesting *around)
{
	double here = 0;
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		switch (s->kind) {
		case TSR_STMT_FOR: measure_for(d, team, s, around); break;
		case TSR_STMT_IF: measure(d, team, &s->cond.body, around); break;
		case TSR_STMT_STORE: case TSR_STMT_UPDATE: here += EACH_NODE + tsr_expr_time(s->store.value); break;
		case TSR_STMT_LET: case TSR_STMT_SET: here += tsr_expr_time(s->let.value); break;
		case TSR_STMT_LETSYM: here += tsr_expr_time(s->letsym.value); break;
		case TSR_STMT_RANDOM: case TSR_STMT_CHECK: case TSR_STMT_KERNEL: case TSR_STMT_KINDS: break;
		}
	}
	if (here > 0)
		add_work(d, team, here, around);
}

/* Nothing that is known now speaks against a second thread. */
static bool worthwhile(const tsr_team *team)
{
	double sum = 0;
	for (uint32_t i = 0; i < team->work.n; i++) {
		if (team->work.at[i].n)
			return true;
		sum += team->work.at[i].each;
	}
	return sum >= TWO_THREADS;
}

bool tsr_worth_two_threads(tsr_pass *p, const tsr_stmts *body)
{
	tsr_divide d = { p, NULL, NULL };
	tsr_team team = { 0 };
	nesting around = { 0 };
	measure(&d, &team, body, &around);
	return worthwhile(&team);
}

/* ---- loops whose iterations never meet ------------------------------------------------------------------------------------------ */

static int64_t iterations(tsr_size extent) { return tsr_size_is_const(extent) ? extent.k : MANY; }

/* How much longer the threads' largest share takes than an even one, of so many parts. */
static double uneven(int64_t parts)
{
	double worse = 0;
	for (int64_t threads = 2; threads <= 4; threads++)
		worse += (double)((parts + threads - 1) / threads * threads) / (double)parts / 3;
	return worse;
}

/* Rows that go in order, each written by this iteration and by the next one: where two threads' columns meet in a line they wait for each other at each row (running maxima of 500 and of 1000
 * columns took 1.8 and 1.3 times as long by two threads as by one, of 2000 as long, of 4096 0.43). */
static bool meet_often(const tsr_nest *nest, const tsr_stmt *s)
{
	const tsr_stmts *body = nest->body;
	bool ordered = false, again = false;
	for (uint32_t i = 0; i + 1 < nest->n; i++)
		ordered |= nest->loop[i]->loop.how == TSR_FOR_SERIAL;
	for (uint32_t i = 1; i < body->n; i++)
		again |= body->at[i]->kind == TSR_STMT_STORE && body->at[i - 1]->kind == TSR_STMT_STORE && body->at[i]->store.buffer == body->at[i - 1]->store.buffer;
	return ordered && again && nest->loop[nest->n - 1] == s && tsr_size_is_const(s->loop.extent) && s->loop.extent.k < 2 * ROW;
}

/* The loop of the nest to be divided, or NULL.  Rather than the innermost one, whose lines and vectors threads would part (5 x 5 over 64 channels of 28 x 28 took 0.95 of one
 * thread's time by two), one around it with some iterations.  Those from `plain` on lie behind data. */
static tsr_stmt *loop_to_split(const tsr_divide *d, const tsr_nest *nest, uint32_t plain, const tsr_accesses *x)
{
	tsr_stmt *best = NULL;
	for (uint32_t i = 0; i < nest->n; i++) {
		tsr_stmt *s = nest->loop[i];
		if (i > 0 && s->loop.contraction && s->loop.contraction->schedule.mr)
			break;                   /* from here on the engine runs it */
		if (iterations(s->loop.extent) < (i >= plain ? LONG : 2) || s->loop.how == TSR_FOR_REDUCE || !tsr_iterations_apart(d, nest->loop[0], x, s->loop.sym))
			continue;
		bool last = i > 0 && i + 1 == nest->n;
		if (meet_often(nest, s))
			return best;
		if (last && best && iterations(best->loop.extent) >= SOME && iterations(s->loop.extent) < ROW)
			return best;
		if (iterations(s->loop.extent) >= MANY || (iterations(s->loop.extent) >= MANY / 2 && uneven(iterations(s->loop.extent)) < 1.06))
			return s;
		if (!best || iterations(s->loop.extent) > iterations(best->loop.extent))
			best = s;
	}
	return best;
}

/* The loops of a nest, and those behind data that say where its results go, as words say it of the rows of a table's gradient: each thread
 * looks all of that up, and adds to columns of its own. */
static tsr_nest loops_of(tsr_stmts *one)
{
	tsr_nest n = tsr_nest_of(one);
	if (n.body->n != 2 || n.body->at[0]->kind != TSR_STMT_LETSYM)
		return n;
	tsr_stmt *next = n.body->at[1];
	tsr_stmts only = { &next, 1, 1 };
	tsr_nest behind = tsr_nest_of(next->kind == TSR_STMT_IF ? &next->cond.body : &only);
	for (uint32_t i = 0; i < behind.n && n.n < TSR_MOST_LOOPS; i++)
		n.loop[n.n++] = behind.loop[i];
	return n;
}

/* ---- contractions ------------------------------------------------------------------------------------------------------------------ */

/* Positions of the class differ in elements of C: each axis of C that one of its loops walks is walked by no other loop. */
static bool class_apart(const tsr_divide *d, const tsr_contraction *k, tsr_loop_class cls)
{
	for (uint32_t i = 0; i < k->nloops; i++) {
		bool alone = k->loops[i].cls != cls;
		for (uint32_t axis = 0; !alone && axis < d->p->l->buffers.at[k->c]->rank; axis++) {
			const tsr_lin *x = &k->c_index[axis];
			alone = x->n == 1 && x->terms[0].coef && x->terms[0].kind == TSR_LSYM_LOOP && x->terms[0].id == k->loops[i].sym;
		}
		if (!alone)
			return false;
	}
	return true;
}

/* Nothing is packed, and there are enough rows for threads to have as many: then each has its own rows of A and of C, and passes by all of B (2 to 10 %
 * sooner than by columns). */
static bool by_rows(const tsr_schedule *s, const int64_t *parts)
{
	bool in_place = !s->pack_a && !s->pack_b && !s->cols && !s->must_b && !s->turn && !s->join;
	return in_place && parts[TSR_CLASS_M] >= MANY / 2 && uneven(parts[TSR_CLASS_M]) < 1.07;
}

/* Of few rows the columns are divided rather, where that is more even, or as even and B is the larger operand, of which each thread then
 * reads its own part. */
static bool by_columns(const tsr_contract_view *v, const int64_t *parts)
{
	enum { FEW = 2 * MANY };
	int64_t m = parts[TSR_CLASS_M], n = parts[TSR_CLASS_N];
	if (n < 2 || m >= FEW)
		return false;
	double rows = m ? uneven(m) : 10, columns = uneven(n);
	bool larger_b = tsr_walks_count(&v->cls[TSR_CLASS_N]) > tsr_walks_count(&v->cls[TSR_CLASS_M]);
	return columns < rows - 0.05 || (larger_b && columns < rows + 0.05);
}

/* Where panels are near, B is one block, which each thread can pack for itself.  (Of several blocks a thread that helps would have to pack again: 1 % of the GPT's step.) */
static bool near_b(const tsr_target *t, const tsr_contraction *k, const tsr_contract_view *v)
{
	const tsr_schedule *s = &k->schedule;
	int64_t columns = tsr_walks_count(&v->cls[TSR_CLASS_N]), depth = tsr_walks_count(&v->cls[TSR_CLASS_K]);
	bool one = s->pack_b && !s->must_b && columns > 0 && columns <= s->nc && depth > 0 && depth <= s->kc;
	return one && tsr_near_panels(t) && columns * depth * (int64_t)tsr_prec_bytes(k->prec) <= t->l2 / 2;
}

/* Many rows by such a B: then a thread has its own rows of A, of C and of what a tail reads (2 to 15 % sooner than rows and columns, each of whose threads
 * reads all of A). */
static bool by_own_rows(const tsr_schedule *s, int64_t rows)
{
	enum { MANY_ROWS = 512 };
	return s->split == TSR_CLASS_M && !s->pack_a && rows >= MANY_ROWS;
}

/* Where A is read in place threads may stand in rows and columns: then B's blocks are each thread's own, since those of the other would come
 * from that core's cache and both would wait for each other.  Without packing only so many stand side by side as get the same columns, and only
 * where B is the larger operand: each reads all of the other one.  (Of squares, K outermost in both,
 * rows alone are 2 to 8 % sooner.)  Where both are packed by choice, panels of B being near, few stand side by side (3 to 6 % sooner than by rows,
 * two threads; where rows of A crowd the caches in place 3 to 20). */
static void choose_grid(const tsr_target *t, tsr_schedule *s, const int64_t *parts, int64_t rows, int64_t columns, bool near)
{
	enum { ENOUGH = 512 };               /* columns of each, for which it packs all of A */
	int64_t tiles = parts[TSR_CLASS_N], most = 1;
	bool both = s->pack_a && s->pack_b && (!s->must_a || s->crowded) && tsr_near_panels(t);
	s->grid = 0;
	if (s->split == TSR_CLASS_BATCH || s->early || by_rows(s, parts) || (near && by_own_rows(s, rows)) || (s->pack_a && !both) || (s->rows && s->pack_b) || s->cols || s->must_b || s->turn || s->join
		|| parts[TSR_CLASS_M] < MANY / 2 || tiles < (s->pack_b ? MANY / 4 : 2))
		return;
	if (both)
		for (most = 2; most * 2 * ENOUGH <= columns;)
			most *= 2;
	else if (s->pack_b)
		while (most * 8 <= tiles)
			most *= 2;
	else if (columns > rows && columns % s->nr == 0)
		most = tiles & -tiles;
	if (most == 1)
		return;
	s->split = TSR_CLASS_N;
	s->grid = most;
}

/* Where the next block of B is packed meanwhile each thread packs its own columns, but all of them where rows are divided more evenly. */
static bool by_early_columns(const tsr_schedule *s, const int64_t *parts)
{
	int64_t m = parts[TSR_CLASS_M], n = parts[TSR_CLASS_N];
	return s->early && n > 1 && !(n < MANY / 2 && m > 1 && uneven(m) < uneven(n) - 0.05);
}

/* A lies across K, as in gradients of weights, and B is packed: C is added to by each of several blocks of K. */
static bool adds_across(const tsr_contract_view *v, const tsr_schedule *s)
{
	const tsr_walks *k = &v->cls[TSR_CLASS_K];
	bool across = k->n && k->at[k->n - 1].known && k->at[k->n - 1].stride[TSR_SIDE_A] != 1;
	return across && s->pack_b && !s->rows && !s->cols && !s->early && !s->turn && !s->join;
}

/* What another core has packed, or has added to before, may come from a cache far away (2 to 25 % of weights' gradients; where cores share a cache -5 to 8): so each thread
 * keeps the same rows of C, and packs all of B; or the same columns, where A is packed, too, and is the smaller copy.  A B that is larger than A, and comes from afar itself, is
 * not packed twice (2 to 3 %). */
static void keep_apart(const tsr_target *t, const tsr_contraction *k, const tsr_contract_view *v, tsr_schedule *s, const int64_t *parts)
{
	enum { BLOCKS = 5 };         /* of columns: for each of more A would be packed again (9 % of 8064 x 8064 over 7056) */
	int64_t m = parts[TSR_CLASS_M], n = parts[TSR_CLASS_N], rows = tsr_walks_count(&v->cls[TSR_CLASS_M]), columns = tsr_walks_count(&v->cls[TSR_CLASS_N]);
	int64_t depth = tsr_walks_count(&v->cls[TSR_CLASS_K]), row = (depth < s->kc ? depth : s->kc) * (int64_t)tsr_prec_bytes(k->prec), most = t->l2 / 2 / row, blocks = most ? (columns + most - 1) / most : 1;
	bool larger = columns >= rows, far = columns * tsr_walks_count(&v->cls[TSR_CLASS_K]) * (int64_t)tsr_prec_bytes(k->prec) > 2 * t->l2;
	if (s->split == TSR_CLASS_BATCH || m < MANY / 2 || !adds_across(v, s) || (larger && far && !s->pack_a) || blocks > BLOCKS)
		return;
	s->split = s->pack_a && larger && n >= 2 && uneven(n) < uneven(m) + 0.05 ? TSR_CLASS_N : TSR_CLASS_M;
	if (most < s->nc)            /* each has its own */
		s->nc = tsr_round_up((columns + blocks - 1) / blocks, s->nr);
	s->grid = 0;
	s->alone = true;
}

/* Few tiles side by side, of which threads would have uneven shares: these end at any vector (2 to 4 % of what has 11 tiles, by two threads). */
static bool by_vectors(const tsr_divide *d, const tsr_contraction *k, int64_t tiles, int64_t columns)
{
	const tsr_schedule *s = &k->schedule;
	int64_t lanes = d->p->target->vector_bytes / tsr_prec_bytes(k->prec);
	bool plain = !s->grid && !s->early && !s->cols && !s->must_b && !s->turn && !s->join && !s->knit;
	return plain && s->nr > lanes && columns > 0 && columns % lanes == 0 && uneven(tiles) > 1.05;
}

/* Threads take blocks of rows when they are ready, where there are enough of them.  Not where nothing is packed: these are small, and each block of rows
 * has B pass by once more (3 % of 300 x 400 x 200). */
static bool in_turns(const tsr_schedule *s, const int64_t *parts)
{
	bool by_blocks = s->split == TSR_CLASS_M || (s->split == TSR_CLASS_N && s->grid), waits = s->turn || s->join || s->aside || s->early;
	return by_blocks && (s->pack_a || s->pack_b || s->rows) && parts[TSR_CLASS_M] >= MANY / 2 && !waits && !s->cols;
}

/* All rows by blocks of B that are packed early: a thread knows the next one that it has while it computes one.  Not where cores may share no cache: C would come from another one for
 * each block of K. */
static bool early_in_turns(const tsr_target *t, const tsr_schedule *s, int64_t rows) { return s->early && s->split == TSR_CLASS_N && rows <= s->mc && !t->apart; }

static bool split_contraction(const tsr_divide *d, tsr_contraction *k)
{
	tsr_contract_view v;
	tsr_contract_view_make(d->p->l, k, &v);
	tsr_schedule *s = &k->schedule;
	int64_t parts[TSR_CLASSES] = { 0 };
	for (int cls = 0; cls <= TSR_CLASS_N; cls++) {
		int64_t count = tsr_walks_count(&v.cls[cls]), unit = cls == TSR_CLASS_M ? tsr_schedule_rows(s) : 1;
		if (cls == TSR_CLASS_N)
			unit = s->dense ? s->nc : s->cols ? k->across.length : tsr_schedule_columns(s);
		if (class_apart(d, k, (tsr_loop_class)cls) && !(cls == TSR_CLASS_M && s->turn))
			parts[cls] = count < 0 ? MANY : (count + unit - 1) / unit;
	}
	/* of the batch one loop is divided */
	const tsr_walks *batch = &v.cls[TSR_CLASS_BATCH];
	if (parts[TSR_CLASS_BATCH])
		parts[TSR_CLASS_BATCH] = batch->n ? iterations(batch->at[tsr_walks_longest(batch)].extent) : 1;
	s->few = parts[TSR_CLASS_N] > 1 ? TSR_CLASS_N : parts[TSR_CLASS_BATCH] > 1 ? TSR_CLASS_BATCH : TSR_CLASS_M;
	s->split = TSR_CLASS_M;
	/* rows would wait for each other in each position of the batch */
	if (parts[TSR_CLASS_BATCH] >= MANY / 8 && uneven(parts[TSR_CLASS_BATCH]) < 1.2)
		s->split = TSR_CLASS_BATCH;
	else if (by_early_columns(s, parts) || (!s->early && !by_rows(s, parts) && by_columns(&v, parts)))
		s->split = TSR_CLASS_N;
	choose_grid(d->p->target, s, parts, tsr_walks_count(&v.cls[TSR_CLASS_M]), tsr_walks_count(&v.cls[TSR_CLASS_N]), near_b(d->p->target, k, &v));
	if (d->p->target->apart)
		keep_apart(d->p->target, k, &v, s, parts);
	if (parts[s->split] < 2 && parts[TSR_CLASS_BATCH] > 1)
		s->split = TSR_CLASS_BATCH;
	if (s->split == TSR_CLASS_N && s->nc > OWN_COLUMNS && s->pack_b && !s->turn && !s->named)      /* by each thread for itself */
		s->nc = tsr_block_of(-1, OWN_COLUMNS, tsr_schedule_columns(s));
	s->by_vectors = s->split == TSR_CLASS_N && by_vectors(d, k, parts[TSR_CLASS_N], tsr_walks_count(&v.cls[TSR_CLASS_N]));
	if (s->split == TSR_CLASS_BATCH && parts[TSR_CLASS_BATCH] < MANY && parts[TSR_CLASS_M] > 1 && !s->join)      /* rows, too, where threads are more */
		s->grid = 1;
	s->dynamic = (in_turns(s, parts) && !s->alone) || early_in_turns(d->p->target, s, tsr_walks_count(&v.cls[TSR_CLASS_M]));
	/* where cores may share no cache what a thread wrote in one run, or adds to in the next block of K, is its own again (3 to 13 %; where they share one -1 to 3) */
	s->own_rows = s->dynamic && s->split == TSR_CLASS_M && (d->p->target->apart || near_b(d->p->target, k, &v));
	return parts[s->split] > 1;
}

/* ---- kernels -------------------------------------------------------------------------------------------------------------------------- */

/* At least as many iterations as the loop that would be divided has. */
static tsr_taken_loops worth_turns(tsr_taken_loops c, tsr_size divided)
{
	double all = 1;
	for (uint32_t i = 0; i < c.n; i++)
		all *= (double)iterations(c.loop[i]->loop.extent);
	return all >= (double)iterations(divided) ? c : (tsr_taken_loops){ 0 };
}

static bool split_nest(const tsr_divide *d, tsr_stmts *one, tsr_stmt **split, tsr_taken_loops *turns)
{
	tsr_stmt *s = one->at[0];
	if (s->kind != TSR_STMT_FOR)
		return false;
	*split = s;
	if (s->loop.contraction && s->loop.contraction->schedule.mr)
		return split_contraction(d, s->loop.contraction);
	tsr_accesses x = { .a = d->scratch };
	tsr_nest nest = loops_of(one);
	tsr_stmt_accesses(s, &x);
	*split = x.unknown ? NULL : loop_to_split(d, &nest, tsr_nest_of(one).n, &x);
	if (*split)
		*turns = worth_turns(tsr_loops_taken(d, s, &x), (*split)->loop.extent);
	return *split != NULL;
}

/* A place where the statement writes the buffer at this loop alone along an axis: which one; or -1. */
static int64_t axis_written(const tsr_divide *d, const tsr_accesses *x, tsr_buffer_id b, uint32_t sym)
{
	for (uint32_t i = 0; i < x->v.n; i++)
		for (uint32_t axis = 0; x->v.at[i].write && x->v.at[i].buffer == b && axis < d->p->l->buffers.at[b]->rank; axis++)
			if (tsr_lin_bare(&x->v.at[i].index[axis], sym))
				return axis;
	return -1;
}

/* The loop of a nest along this axis of what it writes, if it can be divided as well. */
static tsr_stmt *loop_along(const tsr_divide *d, const tsr_nest *nest, const tsr_accesses *x, tsr_buffer_id b, int64_t axis)
{
	for (uint32_t i = 0; i < nest->n; i++) {
		tsr_stmt *s = nest->loop[i];
		if (iterations(s->loop.extent) >= MANY && s->loop.how != TSR_FOR_REDUCE && axis_written(d, x, b, s->loop.sym) == axis
			&& tsr_iterations_apart(d, nest->loop[0], x, s->loop.sym))
			return s;
	}
	return NULL;
}

/* Nests that write one buffer are divided along one axis of it where they can be: what a thread cleared is what it adds to, and does not come from another one's
 * cache (sums by class of 4096 rows took 5 times as long by two threads as by one, whose cores shared none). */
static void agree(const tsr_divide *d, tsr_stmts *body, tsr_stmt **split, const tsr_taken_loops *turns)
{
	for (uint32_t i = 0; i < body->n; i++)
		for (uint32_t k = 0; k < body->n; k++) {
			bool engine = (split[i]->loop.contraction && split[i]->loop.contraction->schedule.mr) || (split[k]->loop.contraction && split[k]->loop.contraction->schedule.mr);
			if (i == k || turns[i].n || turns[k].n || engine)
				continue;
			tsr_accesses x = { .a = d->scratch }, y = { .a = d->scratch };
			tsr_stmts one = { &body->at[i], 1, 1 };
			tsr_nest nest = loops_of(&one);
			tsr_stmt_accesses(body->at[i], &x);
			tsr_stmt_accesses(body->at[k], &y);
			for (uint32_t w = 0; w < y.v.n; w++) {
				int64_t axis = y.v.at[w].write ? axis_written(d, &y, y.v.at[w].buffer, split[k]->loop.sym) : -1;
				int64_t now = axis < 0 ? -1 : axis_written(d, &x, y.v.at[w].buffer, split[i]->loop.sym);
				tsr_stmt *other = now < 0 || now == axis ? NULL : loop_along(d, &nest, &x, y.v.at[w].buffer, axis);
				if (other) {
					split[i] = other;
					break;
				}
			}
		}
}

/* Of a thread's row, and of what keeps it from the next one: walks store one while they read another (see tsr_gap in runtime/tsr_abi.h). */
static int64_t room_of_row(const tsr_divide *d, const tsr_buffer *b)
{
	enum { SHORT = 1024 };
	int64_t bytes = tsr_buffer_bytes(b);
	return (bytes + ALIGN - 1) / ALIGN * ALIGN + (bytes >= SHORT ? TSR_APART : d->p->options->sanitize ? TSR_REDZONE : 0);
}

static void give_rows(const tsr_divide *d, const tsr_stmt *kernel, tsr_team *team)
{
	tsr_uses uses = { 0 };
	tsr_stmt_uses(d->scratch, kernel, &uses);
	for (uint32_t i = 0; i < uses.v.n; i++) {
		tsr_buffer *b = d->p->l->buffers.at[uses.v.at[i].buffer];
		if (!tsr_private_row(d, b->id))
			continue;
		bool known = tsr_buffer_bytes(b) > 0;
		b->home = TSR_HOME_THREAD;
		b->offset = known ? team->row_bytes : team->nlater++;
		team->row_bytes += known ? room_of_row(d, b) : 0;
	}
}

static void take_turns(const tsr_divide *d, const char *unit, const tsr_stmt *kernel, const tsr_taken_loops *turns)
{
	for (uint32_t i = 0; i < turns->n; i++)
		turns->loop[i]->loop.turns = i + 1 < turns->n ? TSR_TURNS_WALKED : TSR_TURNS_TAKEN;
	tsr_pass_note(d->p, "%s: %s is taken in turns by threads, by %s%s%s", unit, kernel->kernel.name, turns->loop[0]->loop.name, turns->n > 1 ? " to " : "",
		turns->n > 1 ? turns->loop[turns->n - 1]->loop.name : "");
}

static void take_share(const tsr_divide *d, const char *unit, const tsr_stmt *kernel, tsr_stmt *s)
{
	static const char *const classes[] = { "its batch", "its rows", "its columns", "its rows and columns" };
	tsr_contraction *k = s->loop.contraction && s->loop.contraction->schedule.mr ? s->loop.contraction : NULL;
	s->loop.split = true;
	if (k)
		tsr_schedule_small(d->p->l, d->p->target, k);
	tsr_pass_note(d->p, "%s: %s is divided among threads by %s", unit, kernel->kernel.name,
		k ? classes[k->schedule.grid && k->schedule.split == TSR_CLASS_N ? 3 : k->schedule.split] : s->loop.name);
}

/* A sum that the run takes in parts, each of which a thread can have (totals.c). */
static bool in_parts(const tsr_stmts *body) { return body->n == 3 && body->at[1]->kind == TSR_STMT_FOR && body->at[1]->loop.parts; }

static void split_kernel(const tsr_divide *d, const char *unit, tsr_stmt *kernel)
{
	tsr_stmts *body = &kernel->kernel.body;
	tsr_team *team = TSR_NEW(d->p->arena, tsr_team);
	tsr_stmt **split = TSR_NEW_N(d->scratch, tsr_stmt *, body->n + 1);
	tsr_taken_loops *turns = TSR_NEW_N(d->scratch, tsr_taken_loops, body->n + 1);
	nesting around = { 0 };
	bool parts = in_parts(body);
	for (uint32_t i = 0; !parts && i < body->n; i++) {
		tsr_stmts one = { &body->at[i], 1, 1 };
		if (!split_nest(d, &one, &split[i], &turns[i]))
			return;
	}
	if (!parts)
		agree(d, body, split, turns);
	measure(d, team, body, &around);
	if (d->p->options->threads == TSR_THREADS_ALL)
		tsr_push(d->p->arena, &team->work, ((tsr_work){ 1e18, 0, NULL }));
	if (body->n == 0 || !worthwhile(team))
		return;
	for (uint32_t i = 0; !parts && i < body->n; i++) {
		if (turns[i].n)
			take_turns(d, unit, kernel, &turns[i]);
		else
			take_share(d, unit, kernel, split[i]);
	}
	if (parts)
		tsr_pass_note(d->p, "%s: %s is divided among threads by its parts", unit, kernel->kernel.name);
	give_rows(d, kernel, team);
	kernel->kernel.team = team;
	d->p->changes++;
}

static void count_touches(const tsr_divide *d, tsr_stmt *s)
{
	tsr_stmts one = { &s, 1, 1 };
	const tsr_stmts *each = s->kind == TSR_STMT_KERNEL ? &s->kernel.body : &one;
	for (uint32_t i = 0; i < each->n; i++) {
		tsr_uses uses = { 0 };
		tsr_stmt_uses(d->scratch, each->at[i], &uses);
		for (uint32_t j = 0; j < uses.v.n; j++)
			d->touched[uses.v.at[j].buffer]++;
	}
}

void tsr_pass_threads(tsr_pass *p)
{
	tsr_divide d = { p, tsr_arena_new(), NULL };
	d.touched = TSR_NEW_N(d.scratch, uint32_t, p->l->buffers.n + 1);
	for (uint32_t u = 0; u < p->l->units.n; u++)
		for (uint32_t i = 0; i < p->l->units.at[u]->body.n; i++)
			count_touches(&d, p->l->units.at[u]->body.at[i]);
	for (uint32_t u = 0; u < p->l->units.n; u++)
		for (uint32_t i = 0; i < p->l->units.at[u]->body.n; i++)
			if (p->l->units.at[u]->body.at[i]->kind == TSR_STMT_KERNEL)
				split_kernel(&d, p->l->units.at[u]->name, p->l->units.at[u]->body.at[i]);
	tsr_arena_free(d.scratch);
}
