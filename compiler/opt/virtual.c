/* Virtual tensors: a value that one kernel computes point by point is put into the expressions that read it, and is never stored.
 *
 * A producer is a kernel that holds one nest around one `store X = e` covering X with bare indices.  It may vanish when all
 * of X is stored anew later in the unit, or when X is a value or gradient that the program level does not see and that no unit
 * reads before storing all of it (contents persist between units); and when every kernel that reads X in between may take
 * the expression:
 *   - what e loads is not written between the producer and that kernel, nor by it, except the very element that it stores
 *   - inside a reduction, or with more iterations than X has elements, only a plain load or a number is put in its place, so that no
 *     arithmetic is repeated and products of loads stay products of loads; and in a reduction what little follows from positions alone,
 *     as a mask does, of which `running` then makes a sum up to each position; but a sum along rows of products element by element, which no tile would gain by, takes
 *     what one more reads at most (more often computed again it would keep longer what it is made of), as does, of what is cheap, a matrix by a vector, of which no
 *     element is used twice; and any other product what becomes of a large matrix of fewer bytes, as of weights of 8 or 16 bits, which its packing computes, unless windows would pack elements
 *     many times: both of what the unit is given, since what it computes is better converted, and changed, where that is done
 *   - a one-hot is put into a sum of products of it, from which `gather` then takes it
 *   - elsewhere an expression that several kernels read is small and free of elementary functions
 * Where e is a plain load or a number, readers that can take it do so even when the store has to stay. */
#include "pass.h"

enum { MOST_NODES = 48, SHARED_NODES = 8, NARROW_NODES = 12, FEW_READERS = 2, LARGE = 1 << 22 };     /* bytes */

typedef TSR_VEC(uint32_t) positions;

typedef struct unit_walk {
	tsr_pass *p;
	tsr_arena *scratch;
	tsr_stmts *body;
	tsr_body_uses uses;
	positions *touching;         /* per buffer: the statements that touch it, or did, ascending */
	bool *gone;                  /* per statement: it vanished; they leave the body at the end, so that positions stay */
	tsr_name unit;
	bool *exposed;               /* per buffer: some unit reads it before it has stored all of it */
	bool *written;               /* per buffer: a statement before this one writes it */
} unit_walk;

typedef struct producer {
	tsr_nest nest;
	tsr_stmt *store;
	uint32_t *syms;              /* loop of each axis */
	tsr_expr *value;
	tsr_buffer_id x;
	uint32_t rank;
	uint32_t hot;                /* the axis along which the value is a one-hot, or TSR_NONE */
	tsr_uses loads;              /* what the value reads */
	bool given;                  /* which the unit has not written before: arguments, parameters */
	bool narrow;                 /* what any product may take: see above */
} producer;

/* A load or a number, a conversion of one included when `converted`. */
static bool is_plain(const tsr_expr *e, bool converted)
{
	switch (e->kind) {
	case TSR_EXPR_LOAD: case TSR_EXPR_CONST: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: case TSR_EXPR_INDEX: return true;
	case TSR_EXPR_CONVERT: return converted && is_plain(e->converted, true);
	case TSR_EXPR_OP: case TSR_EXPR_LOCAL: case TSR_EXPR_LOOKUP: case TSR_EXPR_SELECT: case TSR_EXPR_KINDS: break;
	}
	return false;
}

static bool is_costly_op(tsr_op op)
{
	switch ((int)op) {
	case TSR_OP_EXP: case TSR_OP_LOG: case TSR_OP_EXP2: case TSR_OP_LOG2: case TSR_OP_SIN: case TSR_OP_COS: case TSR_OP_TANH: case TSR_OP_ERF:
	case TSR_OP_POW: case TSR_OP_SQRT: case TSR_OP_RSQRT: case TSR_OP_DIV: case TSR_OP_RECIP: case TSR_OP_IDIV: case TSR_OP_MOD:
		return true;
	default:
		return false;
	}
}

static bool is_costly(const tsr_expr *e)
{
	tsr_expr *part[TSR_MOST_PARTS];
	bool found = e->kind == TSR_EXPR_OP && is_costly_op(e->op.op);
	for (uint32_t i = 0, n = tsr_expr_parts(e, part); i < n && !found; i++)
		found = is_costly(part[i]);
	return found;
}

/* ---- exposure --------------------------------------------------------------------------------------------------------- */

/* The buffer that this nest stores all of without looking at it, or NULL. */
static const tsr_stmt *whole_store(const tsr_loops *l, tsr_stmt **top)
{
	tsr_stmts one = { top, 1, 1 };
	tsr_nest nest = tsr_nest_of(&one);
	const tsr_stmt *s = nest.body->n ? nest.body->at[nest.body->n - 1] : NULL;
	return s && s->kind == TSR_STMT_STORE && tsr_nest_covers(l, &nest, s, NULL) ? s : NULL;
}

static void expose(unit_walk *w, tsr_stmts *body)
{
	bool *whole = TSR_NEW_N(w->scratch, bool, w->p->l->buffers.n + 1);
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *k = body->at[i];
		if (k->kind == TSR_STMT_RANDOM)
			whole[k->random.buffer] = true;
		tsr_stmts *parts = k->kind == TSR_STMT_KERNEL ? &k->kernel.body : NULL;
		for (uint32_t j = 0; parts && j < parts->n; j++) {
			tsr_uses uses = { 0 };
			tsr_stmt_uses(w->scratch, parts->at[j], &uses);
			for (uint32_t u = 0; u < uses.v.n; u++)
				w->exposed[uses.v.at[u].buffer] |= (uses.v.at[u].loads || uses.v.at[u].updates) && !whole[uses.v.at[u].buffer];
			const tsr_stmt *s = whole_store(w->p->l, &parts->at[j]);
			if (s)
				whole[s->store.buffer] = true;
		}
	}
}

/* ---- producers ---------------------------------------------------------------------------------------------------------- */

/* What it reads that hangs on all of the value's loops, which is something (`some`), has fewer bytes than the value. */
static bool reads_narrow(const unit_walk *w, const producer *pr, const tsr_expr *e, bool *some)
{
	tsr_expr *part[TSR_MOST_PARTS];
	bool all = true;
	switch (e->kind) {
	case TSR_EXPR_LOAD:
		for (uint32_t i = 0; i < pr->nest.n; i++)
			all &= tsr_expr_mentions(w->p->l, e, pr->nest.loop[i]->loop.sym);
		*some |= all;
		return !all || tsr_prec_bytes(e->prec) < tsr_prec_bytes(pr->value->prec);
	case TSR_EXPR_CONST: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: return true;
	case TSR_EXPR_OP: case TSR_EXPR_CONVERT:
		for (uint32_t i = 0, n = tsr_expr_parts(e, part); i < n && all; i++)
			all = reads_narrow(w, pr, part[i], some);
		return all;
	case TSR_EXPR_INDEX: case TSR_EXPR_LOCAL: case TSR_EXPR_LOOKUP: case TSR_EXPR_SELECT: case TSR_EXPR_KINDS: break;
	}
	return false;
}

/* A large buffer of what elements of fewer bytes become, as weights that are scaled, or a conversion of such as are multiplied in pairs (pairs.c). */
static bool is_narrow(const unit_walk *w, const producer *pr)
{
	const tsr_buffer *b = w->p->l->buffers.at[pr->x];
	int64_t bytes = tsr_prec_bytes(b->prec);
	bool some = false;
	for (uint32_t i = 0; i < b->rank; i++)
		bytes *= tsr_size_is_const(b->dims[i]) ? b->dims[i].k : 0;
	if (pr->value->kind == TSR_EXPR_CONVERT && pr->value->converted->kind == TSR_EXPR_LOAD && pr->value->converted->prec == TSR_PREC_BF16)
		return true;
	return bytes >= LARGE && tsr_expr_size(pr->value) <= NARROW_NODES && !is_costly(pr->value) && reads_narrow(w, pr, pr->value, &some) && some;
}

static bool producer_of(unit_walk *w, const tsr_stmt *kernel, producer *pr)
{
	tsr_stmt *s = tsr_nest_single(kernel, &pr->nest), *owner[TSR_MOST_LOOPS];
	if (!s || s->kind != TSR_STMT_STORE || tsr_expr_has_locals(s->store.value) || tsr_expr_reads(s->store.value, s->store.buffer)
		|| !tsr_nest_covers(w->p->l, &pr->nest, s, owner))
		return false;
	const tsr_buffer *b = w->p->l->buffers.at[s->store.buffer];
	uint32_t owned = 0;
	pr->store = s;
	pr->value = s->store.value;
	pr->x = b->id;
	pr->rank = b->rank;
	pr->hot = TSR_NONE;
	pr->syms = TSR_NEW_N(w->scratch, uint32_t, b->rank + 1);
	for (uint32_t i = 0; i < b->rank; i++) {
		pr->syms[i] = owner[i] ? owner[i]->loop.sym : UINT32_MAX;
		owned += owner[i] != NULL;
		if (owner[i] && tsr_gather_one_hot(w->p->l, pr->value, pr->syms[i]))
			pr->hot = i;
	}
	pr->loads = (tsr_uses){ 0 };
	tsr_expr_uses(w->scratch, pr->value, &pr->loads);
	pr->given = true;
	for (uint32_t i = 0; i < pr->loads.v.n; i++)
		pr->given &= !w->written[pr->loads.v.at[i].buffer];
	pr->narrow = is_narrow(w, pr);
	return owned == pr->nest.n;
}

/* ---- readers ------------------------------------------------------------------------------------------------------------- */

/* What a reader may be given: nothing, only plain loads and numbers, what few read, or anything. */
typedef enum { TAKES_NOTHING, TAKES_LOADS, TAKES_NARROW, TAKES_ONE_HOT, TAKES_PLAIN, TAKES_POSITIONS, TAKES_FEW, TAKES_ALL } taking;

static bool is_reduction(const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR && (s->loop.how == TSR_FOR_REDUCE || is_reduction(&s->loop.body)))
			return true;
		if (s->kind == TSR_STMT_IF && is_reduction(&s->cond.body))
			return true;
	}
	return false;
}

static bool under_product(const tsr_expr *e, tsr_buffer_id x)
{
	if (e->kind != TSR_EXPR_OP || e->op.op != TSR_OP_MUL)
		return false;
	return tsr_expr_reads(e, x);
}

/* All that is read hangs on all loops, so that tiles would use nothing again. */
static bool element_by_element(unit_walk *w, const tsr_expr *e, const tsr_nest *made, const tsr_nest *summed)
{
	tsr_expr *part[TSR_MOST_PARTS];
	bool all = true;
	for (uint32_t i = 0; e->kind == TSR_EXPR_LOAD && i < made->n + summed->n; i++)
		all &= tsr_expr_mentions(w->p->l, e, (i < made->n ? made->loop[i] : summed->loop[i - made->n])->loop.sym);
	for (uint32_t i = 0, n = tsr_expr_parts(e, part); i < n && all; i++)
		all = element_by_element(w, part[i], made, summed);
	return all;
}

/* So many of the loops say where X is read, each on an axis of its own; -1 where they say it otherwise, as windows do. */
static int loops_of(unit_walk *w, const tsr_expr *e, tsr_buffer_id x, const tsr_nest *made, const tsr_nest *summed)
{
	const tsr_buffer *b = w->p->l->buffers.at[x];
	tsr_expr *part[TSR_MOST_PARTS];
	int found = 0;
	for (uint32_t i = 0, n = tsr_expr_parts(e, part); i < n && found >= 0; i++) {
		int here = loops_of(w, part[i], x, made, summed);
		found = here < 0 || here > found ? here : found;
	}
	if (e->kind != TSR_EXPR_LOAD || e->load.buffer != x || b->rank > TSR_MOST_LOOPS)
		return found;
	const tsr_stmt *mine[TSR_MOST_LOOPS];
	for (uint32_t axis = 0; axis < b->rank; axis++) {
		const tsr_lin *index = &e->load.index[axis];
		const tsr_stmt *loop = tsr_nest_bare(made, index);
		loop = loop ? loop : tsr_nest_bare(summed, index);
		for (int i = 0; i < found; i++)
			if (mine[i] == loop)
				return -1;
		if (loop)
			mine[found++] = loop;
		else if (index->n)
			return -1;
	}
	return found;
}

/* Whether every load of buffer `b` in `e` is at exactly this index; also false for a guarded read, and for what is too deep. */
static bool reads_only_at(const tsr_expr *e, const tsr_buffer *b, const tsr_lin *index)
{
	const tsr_expr *stack[64];
	uint32_t depth = 0;
	stack[depth++] = e;
	while (depth) {
		e = stack[--depth];
		tsr_expr *part[TSR_MOST_PARTS];
		if (e->kind == TSR_EXPR_SELECT || e->kind == TSR_EXPR_LOOKUP || depth > 56)
			return false;
		for (uint32_t i = 0, n = tsr_expr_parts(e, part); i < n; i++)
			stack[depth++] = part[i];
		if (e->kind == TSR_EXPR_LOAD && e->load.buffer == b->id && !tsr_index_equal(b, e->load.index, index))
			return false;
	}
	return true;
}

/* Every load of the kernel's own target in `pr` has the index that the kernel stores at. */
static bool same_element(unit_walk *w, const producer *pr, const tsr_stmt *kernel)
{
	tsr_nest n;
	const tsr_stmt *s = tsr_nest_single(kernel, &n);
	tsr_stmt *owner[TSR_MOST_LOOPS];
	if (!s || (s->kind != TSR_STMT_STORE && s->kind != TSR_STMT_UPDATE) || !tsr_nest_covers(w->p->l, &n, s, owner) || is_reduction(&kernel->kernel.body))
		return false;
	const tsr_buffer *b = w->p->l->buffers.at[s->store.buffer];
	uint32_t owned = 0;
	for (uint32_t i = 0; i < b->rank; i++)
		owned += owner[i] != NULL;
	if (n.n != owned || pr->rank != b->rank)
		return false;
	/* X is read at the stored index, and e reads the target at X's own index */
	return reads_only_at(pr->value, b, pr->store->store.index) &&
	       reads_only_at(s->store.value, w->p->l->buffers.at[pr->x], s->store.index);
}

/* A statement with these uses writes something that the value reads. */
static bool disturbs(const producer *pr, const tsr_uses *uses)
{
	for (uint32_t i = 0; i < pr->loads.v.n; i++)
		if (tsr_use_writes(tsr_uses_of(uses, pr->loads.v.at[i].buffer)))
			return true;
	return false;
}

static taking reader_takes(unit_walk *w, const producer *pr, const tsr_stmt *s, const tsr_uses *uses)
{
	if (s->kind != TSR_STMT_KERNEL)
		return TAKES_NOTHING;
	if (disturbs(pr, uses) && !same_element(w, pr, s))
		return TAKES_NOTHING;
	tsr_nest n = tsr_nest_of((tsr_stmts *)&s->kernel.body);
	bool columns = tsr_nest_columns(w->p->l, &s->kernel.body, &n), reduces = !columns && is_reduction(&s->kernel.body);
	uint32_t loops = n.n;
	tsr_nest sums = { 0 };
	if (reduces && n.body->n == 3) {
		sums = tsr_nest_of(&(tsr_stmts){ &n.body->at[1], 1, 1 });
		loops += sums.n;
	}
	if (reduces) {
		/* products of loads belong to the contraction engine */
		const tsr_stmts *body = n.body;
		while (body->n == 3 && body->at[1]->kind == TSR_STMT_FOR) {
			tsr_stmts inner = { (tsr_stmt **)&body->at[1], 1, 1 };
			body = tsr_nest_of(&inner).body;
		}
		const tsr_stmt *last = body->n == 1 ? body->at[0] : NULL;
		const tsr_expr *v = !last ? NULL : last->kind == TSR_STMT_SET || last->kind == TSR_STMT_LET ? last->let.value
			: last->kind == TSR_STMT_UPDATE || last->kind == TSR_STMT_STORE ? last->store.value : NULL;
		if (v && last->kind == TSR_STMT_SET && v->kind == TSR_EXPR_OP && v->op.args[1])
			v = v->op.args[0]->kind == TSR_EXPR_LOCAL ? v->op.args[1] : v->op.args[0];
		if (v && pr->hot != TSR_NONE && tsr_gather_factor(w->p->l, v, pr->x, pr->hot))
			return TAKES_ONE_HOT;
		if (!v)
			return TAKES_LOADS;
		if (under_product(v, pr->x)) {
			int mine = pr->given ? loops_of(w, v, pr->x, &n, &sums) : -1;
			bool once = (mine == (int)(n.n + sums.n) && !is_costly(pr->value)) || (loops <= pr->nest.n && element_by_element(w, v, &n, &sums));
			return once ? TAKES_FEW : mine >= 0 ? TAKES_NARROW : TAKES_LOADS;
		}
	}
	return loops <= pr->nest.n ? TAKES_ALL : reduces || columns ? TAKES_POSITIONS : TAKES_PLAIN;
}

static bool fits(const producer *pr, taking t, uint32_t readers)
{
	switch (t) {
	case TAKES_NOTHING: return false;
	case TAKES_LOADS: return pr->value->kind == TSR_EXPR_LOAD;
	case TAKES_NARROW: return pr->value->kind == TSR_EXPR_LOAD || pr->narrow;
	case TAKES_ONE_HOT: return true;
	case TAKES_PLAIN: return is_plain(pr->value, true);
	case TAKES_POSITIONS: return is_plain(pr->value, true) || (!pr->loads.v.n && tsr_expr_size(pr->value) <= SHARED_NODES && !is_costly(pr->value));
	case TAKES_FEW:
		if (!is_plain(pr->value, false) && readers > FEW_READERS)
			return false;
		break;
	case TAKES_ALL: break;
	}
	uint32_t size = tsr_expr_size(pr->value);
	return size <= (readers > 1 ? SHARED_NODES : MOST_NODES) && !(readers > 1 && is_costly(pr->value));
}

typedef struct substitution { unit_walk *w; const producer *pr; uint32_t count; } substitution;

static tsr_expr *substitute(void *user, tsr_expr *e)
{
	substitution *s = user;
	if (e->kind != TSR_EXPR_LOAD || e->load.buffer != s->pr->x)
		return e;
	s->count++;
	return tsr_expr_place(s->w->p->arena, s->w->p->l, s->pr->value, s->pr->rank, s->pr->syms, e->load.index);
}

/* Stores all of X anew, without a look at what it held. */
static bool overwrites(unit_walk *w, uint32_t at, tsr_buffer_id x)
{
	tsr_nest n;
	if (!tsr_uses_of(&w->uses.at[at], x).stores)
		return false;
	const tsr_stmt *s = tsr_nest_single(w->body->at[at], &n);
	return s && s->kind == TSR_STMT_STORE && s->store.buffer == x && !tsr_expr_reads(s->store.value, x) && tsr_nest_covers(w->p->l, &n, s, NULL);
}

/* Where the statements behind `at` begin. */
static uint32_t behind(const positions *p, uint32_t at)
{
	uint32_t low = 0, high = p->n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (p->at[middle] <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void note_uses(unit_walk *w, uint32_t at)
{
	for (uint32_t i = 0; i < w->uses.at[at].v.n; i++) {
		positions *p = &w->touching[w->uses.at[at].v.at[i].buffer];
		uint32_t place = behind(p, at);
		if (place > 0 && p->at[place - 1] == at)
			continue;
		tsr_push(w->scratch, p, at);
		for (uint32_t j = p->n - 1; j > place; j--)
			p->at[j] = p->at[j - 1];
		p->at[place] = at;
	}
}

/* The first statement behind `at` that writes what the value reads; `end` where none before that does. */
static uint32_t first_disturbing(unit_walk *w, uint32_t at, const producer *pr, uint32_t end)
{
	for (uint32_t i = 0; i < pr->loads.v.n; i++) {
		tsr_buffer_id b = pr->loads.v.at[i].buffer;
		const positions *p = &w->touching[b];
		for (uint32_t k = behind(p, at); k < p->n && p->at[k] < end; k++)
			if (tsr_use_writes(tsr_uses_of(&w->uses.at[p->at[k]], b)))
				end = p->at[k];
	}
	return end;
}

typedef struct readers { uint32_t *takes, n; bool all, replaced; } readers;

/* Who reads this value of X, up to where X is stored anew. */
static readers find_readers(unit_walk *w, uint32_t at, const producer *pr)
{
	readers r = { NULL, 0, true, false };
	positions takes = { 0 };
	const positions *p = &w->touching[pr->x];
	uint32_t count = 0, first = behind(p, at), last = first;
	for (; last < p->n && !r.replaced; last++) {
		r.replaced = overwrites(w, p->at[last], pr->x);
		count += r.replaced ? 0 : tsr_uses_of(&w->uses.at[p->at[last]], pr->x).loads;
	}
	last -= r.replaced;
	uint32_t disturbed = first_disturbing(w, at, pr, w->body->n);
	bool broken = false;
	for (uint32_t i = first; i < last; i++) {
		uint32_t j = p->at[i];
		tsr_use use = tsr_uses_of(&w->uses.at[j], pr->x);
		broken |= tsr_use_writes(use) || disturbed < j;
		r.all &= !use.updates;
		if (!use.loads)
			continue;
		if (!broken && fits(pr, reader_takes(w, pr, w->body->at[j], &w->uses.at[j]), count))
			tsr_push(w->scratch, &takes, j);
		else
			r.all = false;
	}
	r.takes = takes.at;
	r.n = takes.n;
	return r;
}

/* Tries one producer; true when its kernel can go. */
static bool try_producer(unit_walk *w, uint32_t at, const producer *pr)
{
	readers r = find_readers(w, at, pr);
	bool vanishes = r.all && (r.replaced || (!w->exposed[pr->x] && !tsr_buffer_kept(w->p->l->buffers.at[pr->x])));
	if (!vanishes && !is_plain(pr->value, false) && pr->hot == TSR_NONE)
		return false;
	substitution s = { w, pr, 0 };
	for (uint32_t i = 0; i < r.n; i++) {
		tsr_stmt_rewrite(w->body->at[r.takes[i]], substitute, &s);
		tsr_body_uses_renew(&w->uses, r.takes[i]);
		note_uses(w, r.takes[i]);
	}
	w->p->changes += s.count + vanishes;
	if (s.count || vanishes)
		tsr_pass_note(w->p, "%s: %s %s into %u place%s", w->unit, w->p->l->buffers.at[pr->x]->name,
			vanishes ? "is virtual: put" : "is also computed where it is read: put", s.count, s.count == 1 ? "" : "s");
	return vanishes;
}

/* All of another buffer, element by element: two names of one value. */
static bool is_copy(const unit_walk *w, const producer *pr)
{
	const tsr_expr *e = pr->value;
	if (e->kind != TSR_EXPR_LOAD || w->p->l->buffers.at[e->load.buffer]->rank != pr->rank)
		return false;
	for (uint32_t i = 0; i < pr->rank; i++)
		if (!tsr_lin_equal(e->load.index[i], pr->store->store.index[i])
			|| !tsr_extent_equal(w->p->l->buffers.at[e->load.buffer]->dims[i], w->p->l->buffers.at[pr->x]->dims[i]))
			return false;
	return true;
}

static bool walk_unit(unit_walk *w, tsr_loop_unit *unit, bool copies)
{
	uint32_t changes = w->p->changes;
	w->body = &unit->body;
	w->unit = unit->name;
	tsr_body_uses_make(&w->uses, w->scratch, w->body);
	w->touching = TSR_NEW_N(w->scratch, positions, w->p->l->buffers.n + 1);
	w->gone = TSR_NEW_N(w->scratch, bool, w->body->n + 1);
	w->written = TSR_NEW_N(w->scratch, bool, w->p->l->buffers.n + 1);
	for (uint32_t at = 0; at < w->body->n; at++)
		note_uses(w, at);
	for (uint32_t at = 0; at < w->body->n; at++) {
		producer pr;
		w->gone[at] = producer_of(w, w->body->at[at], &pr) && (!copies || is_copy(w, &pr)) && try_producer(w, at, &pr);
		if (w->gone[at])
			w->uses.at[at].v.n = 0;
		for (uint32_t i = 0; i < w->uses.at[at].v.n; i++)
			w->written[w->uses.at[at].v.at[i].buffer] |= tsr_use_writes(w->uses.at[at].v.at[i]);
	}
	uint32_t kept = 0;
	for (uint32_t at = 0; at < w->body->n; at++)
		if (!w->gone[at])
			w->body->at[kept++] = w->body->at[at];
	w->body->n = kept;
	return w->p->changes != changes;
}

/* Copies first: where one reader wants a copy in memory, as a product does, what it is a copy of stays there, and the other readers need not
 * compute it on their own, which would keep alive what it is made of.  Where something was put, folding may leave less than stood there, and a
 * division by a number is then none: once more. */
void tsr_pass_virtual(tsr_pass *p)
{
	unit_walk w = { .p = p, .scratch = tsr_arena_new() };
	w.exposed = TSR_NEW_N(w.scratch, bool, p->l->buffers.n + 1);
	for (uint32_t i = 0; i < p->l->units.n; i++)
		expose(&w, &p->l->units.at[i]->body);
	bool *again = TSR_NEW_N(w.scratch, bool, p->l->units.n + 1);
	for (uint32_t i = 0; i < p->l->units.n; i++) {
		again[i] = walk_unit(&w, p->l->units.at[i], true);
		again[i] |= walk_unit(&w, p->l->units.at[i], false);
	}
	tsr_pass_simplify(p);
	for (uint32_t i = 0; i < p->l->units.n; i++)
		if (again[i])
			walk_unit(&w, p->l->units.at[i], false);
	tsr_arena_free(w.scratch);
	tsr_pass_simplify(p);
}
