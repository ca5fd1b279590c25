/* Products of a batch whose results lie along it are computed matrix by matrix, and turned:
 *
 *     for c, b, a { let $s = 0  for d reduce { set $s = $s + X[a, b, d] * Y[a, d, c] }  store Z[c, b, a] = f($s) }        a: of the batch
 *
 * becomes
 *
 *     for a, b, c { let $s = 0  for d reduce { .. }  store T[a, b, c] = $s }
 *     for c, b, a { store Z[c, b, a] = f(T[a, b, c]) }
 *
 * A tile of one matrix would store each of its sums to a line of its own, which the next matrix stores to again; T it stores by whole lines, and a square that is turned in registers
 * (turn.c, kernel/turned.c) fills every line of Z that it meets.  So it is where a few rows lie within the batch, too few to fill a register, and others around it; or columns.
 *
 * So is the product of a matrix by a vector whose result has the matrix' axes in another order: lanes are along what the matrix has side by side.  And operands are turned before where
 * it pays (order_operands.c), those of sums of products of numbers at the same places, too.
 *
 * T's axes are those of the batch as Z has them, then rows and columns; last is what an operand has side by side, as it has it, so that tiles read that where it lies.
 *
 * After `tail`, which has made one kernel of the product and what follows it; products that have lanes along the batch (stays.c) keep them. */
#include "order.h"
#include "../base/text.h"

typedef struct order {
	tsr_pass *p;
	tsr_loop_unit *unit;
	tsr_stmt *kernel, *store;
	tsr_nest nest;
	const tsr_contraction *k;
	const tsr_buffer *c;
	tsr_stmt *owner[TSR_MOST_LOOPS];     /* of each of Z's axes; NULL: of one place */
	bool stays;                  /* a nest */
	bool matrices, vectors;      /* it is one of these; else of a matrix by a vector */
	uint32_t n, axis[TSR_MOST_LOOPS];    /* T's axes: Z's axis number axis[i] */
} order;

static tsr_loop_class class_of(const order *o, uint32_t axis) { return tsr_contract_class(o->k, o->owner[axis]->loop.sym); }

/* From one step of the axis to the next in the operand; INT64_MAX: that is no element. */
static int64_t step_in(const order *o, const tsr_expr *operand, uint32_t axis)
{
	const tsr_expr *load = tsr_contract_guarded(operand);
	return load ? tsr_stride_guess(o->p->l->buffers.at[load->load.buffer], load->load.index, o->owner[axis]->loop.sym) : INT64_MAX;
}

static int64_t lanes_of(const order *o) { return o->p->target->vector_bytes / tsr_prec_bytes(o->c->prec); }

/* The last axis is the batch's, or behind one lie so few rows, and other rows before it, or columns, that they leave more than half of a register unfilled. */
static bool lies_along_batch(const order *o)
{
	int64_t lanes = lanes_of(o), run = 1;
	tsr_loop_class behind = TSR_CLASS_BATCH;
	for (uint32_t axis = o->c->rank; axis-- > 0 && 2 * run < lanes;) {
		if (!o->owner[axis])
			continue;
		tsr_loop_class cls = class_of(o, axis);
		if (cls == TSR_CLASS_BATCH)
			return behind == TSR_CLASS_BATCH || run < tsr_contract_count(o->k, behind);
		if (behind != TSR_CLASS_BATCH && cls != behind)
			return false;
		behind = cls, run *= tsr_size_guess(o->owner[axis]->loop.extent);
	}
	return false;
}

/* let $s = 0;  for ..;  store Z = f($s), or Z acc= $s; each of the nest's loops walks an axis of Z */
static bool is_product(order *o)
{
	const tsr_stmts *b = o->nest.body;
	if (!o->nest.n || b->n != 3 || b->at[0]->kind != TSR_STMT_LET || b->at[1]->kind != TSR_STMT_FOR || (b->at[2]->kind != TSR_STMT_STORE && b->at[2]->kind != TSR_STMT_UPDATE))
		return false;
	o->store = b->at[2];
	o->c = o->p->l->buffers.at[o->store->store.buffer];
	if (o->c->rank > TSR_MOST_LOOPS || !tsr_nest_covers(o->p->l, &o->nest, o->store, o->owner) || tsr_expr_reads(b->at[0]->let.value, o->c->id))
		return false;
	uint32_t owned = 0;
	for (uint32_t axis = 0; axis < o->c->rank; axis++)
		owned += o->owner[axis] != NULL;
	for (uint32_t i = 0; i < o->nest.n; i++)
		if (o->nest.loop[i]->loop.how != TSR_FOR_PARALLEL)
			return false;
	return owned == o->nest.n;
}

/* The operand lies along the axis, or nearly, and fills registers there. */
static bool fills(const order *o, const tsr_expr *operand, uint32_t axis)
{
	int64_t step = o->owner[axis] ? step_in(o, operand, axis) : 0;
	return o->owner[axis] && tsr_size_guess(o->owner[axis]->loop.extent) >= lanes_of(o) && step > 0 && step <= TSR_MOST_STRIDE;
}

/* One operand does so where Z does, or both of them along the same axis. */
static bool lanes_along_batch(const order *o)
{
	uint32_t last = tsr_buffer_last(o->c);
	bool found = fills(o, o->k->a_value, last) || fills(o, o->k->b_value, last);
	for (uint32_t axis = 0; axis < o->c->rank && !found; axis++)
		found = fills(o, o->k->a_value, axis) && fills(o, o->k->b_value, axis);
	return found;
}

/* Some axis of the class lies side by side in the operand. */
static bool has_unit(const order *o, tsr_loop_class cls, const tsr_expr *operand)
{
	bool found = false;
	for (uint32_t axis = 0; axis < o->c->rank; axis++)
		found |= o->owner[axis] && class_of(o, axis) == cls && step_in(o, operand, axis) == 1;
	return found;
}

/* Where results lie along the batch: tiles of one matrix store by lines, or read so, where lanes along the batch would not; these are better where they do, and matrices are small, the larger the
 * shorter sums are. */
static bool better_apart(const order *o)
{
	enum { SHORT = 8, LARGE = 8 };
	bool along = lanes_along_batch(o);
	int64_t registers = tsr_contract_count(o->k, TSR_CLASS_M) * tsr_contract_count(o->k, TSR_CLASS_N) / (lanes_of(o) * lanes_of(o));
	return !along || registers >= (tsr_contract_count(o->k, TSR_CLASS_K) < SHORT ? LARGE : 1) || has_unit(o, TSR_CLASS_M, o->k->a_value) || has_unit(o, TSR_CLASS_N, o->k->b_value);
}

/* So many places of Z lie one behind the other in the matrix, and evenly in the vector, or at one place; 1: none.  `inner`: Z's last ones, in Z's order. */
static int64_t run_of(const order *o, const tsr_expr *matrix, const tsr_expr *vector, bool inner)
{
	int64_t run = 1, each = 0;
	for (uint32_t axis = o->c->rank; axis-- > 0;) {
		if (!o->owner[axis] || tsr_extent_equal(o->owner[axis]->loop.extent, tsr_size_const(1)))
			continue;
		int64_t far = step_in(o, vector, axis);
		if (step_in(o, matrix, axis) == run && (run == 1 ? !o->vectors || far == 1 : far == each * run)) {
			each = run == 1 ? far : each;
			run *= tsr_size_guess(o->owner[axis]->loop.extent);
			axis = inner ? axis : o->c->rank;        /* the next one may be any */
		} else if (inner)
			break;
	}
	return run;
}

/* Of a matrix by a vector: the matrix has all of Z's axes, and several places of them side by side, where Z does not have enough of these so, nor do both operands nearly lie along its last axis.
 * Of sums of products of numbers at the same places both have them so. */
static bool lies_across(const order *o)
{
	enum { SEVERAL = 4 };
	bool rows = tsr_contract_count(o->k, TSR_CLASS_M) > 1;
	const tsr_expr *matrix = rows ? o->k->a_value : o->k->b_value, *vector = rows ? o->k->b_value : o->k->a_value;
	uint32_t last = tsr_buffer_last(o->c);
	int64_t run = run_of(o, matrix, vector, false), both = run_of(o, matrix, vector, true);
	return run >= SEVERAL && run >= 2 * both && both < lanes_of(o) && !(fills(o, vector, last) && fills(o, matrix, last));
}

static bool recognise(order *o)
{
	enum { LEAST = 4096 };       /* multiply-adds: fewer take no longer than what is gained */
	if (o->kernel->kind != TSR_STMT_KERNEL || o->kernel->kernel.body.n != 1)
		return false;
	o->nest = tsr_nest_of(&o->kernel->kernel.body);
	if (!is_product(o) || !(o->k = tsr_contract_seen(o->p, o->nest.loop[0])) || o->k->prec != o->c->prec)
		return false;
	if ((o->stays = tsr_contract_stays(o->p, o->k, o->nest.loop[0], true)))
		return false;
	int64_t m = tsr_contract_count(o->k, TSR_CLASS_M), n = tsr_contract_count(o->k, TSR_CLASS_N);
	o->matrices = m > 1 && n > 1;
	o->vectors = m == 1 && n == 1;
	return (double)m * (double)n * (double)tsr_contract_count(o->k, TSR_CLASS_BATCH) >= (double)LEAST / (double)tsr_contract_count(o->k, TSR_CLASS_K);
}

/* ---- T --------------------------------------------------------------------------------------------------------------------- */

/* The axes of these classes, as bits, as the operand has them, or (NULL) as they are.  True: the last one lies side by side there. */
static bool append(order *o, unsigned classes, const tsr_expr *operand)
{
	uint32_t first = o->n;
	for (uint32_t axis = 0; axis < o->c->rank; axis++) {
		if (!o->owner[axis] || !(classes >> class_of(o, axis) & 1))
			continue;
		uint32_t at = o->n++;
		for (; operand && at > first && step_in(o, operand, o->axis[at - 1]) < step_in(o, operand, axis); at--)
			o->axis[at] = o->axis[at - 1];
		o->axis[at] = axis;
	}
	return operand && step_in(o, operand, o->axis[o->n - 1]) == 1;
}

static int64_t guessed(const order *o, tsr_loop_class cls)
{
	int64_t n = 1;
	for (uint32_t axis = 0; axis < o->c->rank; axis++)
		n *= o->owner[axis] && class_of(o, axis) == cls ? tsr_size_guess(o->owner[axis]->loop.extent) : 1;
	return n;
}

/* Last are rows or columns that an operand has side by side; of both, or of neither, those that are more.  Of a matrix by a vector all is as the matrix has it. */
static void choose_order(order *o)
{
	enum { BATCH = 1 << TSR_CLASS_BATCH, ROWS = 1 << TSR_CLASS_M, COLUMNS = 1 << TSR_CLASS_N };
	const tsr_expr *a = o->k->a_value, *b = o->k->b_value;
	int64_t many = guessed(o, TSR_CLASS_M), wide = guessed(o, TSR_CLASS_N);
	if (many == 1 || wide == 1) {
		append(o, BATCH | ROWS | COLUMNS, many > 1 ? a : b);
		return;
	}
	append(o, BATCH, NULL);
	uint32_t behind = o->n;
	bool rows = append(o, ROWS, a);
	o->n = behind;
	bool columns = append(o, COLUMNS, b), last = rows != columns ? columns : wide >= many;
	o->n = behind;
	append(o, last ? ROWS : COLUMNS, last ? a : b);
	append(o, last ? COLUMNS : ROWS, last ? b : a);
}

static tsr_buffer *buffer_of(const order *o)
{
	tsr_buffer *t = tsr_pass_buffer(o->p, o->c, "sums", o->c->prec, o->n);
	for (uint32_t i = 0; i < o->n; i++)
		t->dims[i] = o->owner[o->axis[i]]->loop.extent;
	return t;
}

/* By the loops with these symbols, one for each of Z's axes. */
static tsr_lin *index_of(const order *o, const uint32_t *syms)
{
	tsr_lin *out = TSR_NEW_N(o->p->arena, tsr_lin, o->n);
	for (uint32_t i = 0; i < o->n; i++)
		out[i] = tsr_lin_add_sym(o->p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, syms[o->axis[i]]);
	return out;
}

/* ---- both kernels ------------------------------------------------------------------------------------------------------------- */

typedef struct sum { tsr_local_id local; tsr_expr *load; } sum;

static tsr_expr *loaded(void *user, tsr_expr *e)
{
	const sum *s = user;
	return tsr_expr_is_local(e, s->local) ? s->load : e;
}

/* Z of what T holds. */
static tsr_stmt *turned(const order *o, const tsr_buffer *t)
{
	tsr_arena *a = o->p->arena;
	uint32_t old[TSR_MOST_LOOPS], syms[TSR_MOST_LOOPS], n = 0;
	tsr_lin to[TSR_MOST_LOOPS];
	tsr_stmt *out = tsr_stmt_new(a, o->store->kind, o->store->span), *kernel = tsr_stmt_new(a, TSR_STMT_KERNEL, o->kernel->span);
	out->store.buffer = o->c->id, out->store.acc = o->store->store.acc;
	out->store.index = TSR_NEW_N(a, tsr_lin, o->c->rank + 1);
	for (uint32_t axis = 0; axis < o->c->rank; axis++) {
		out->store.index[axis] = tsr_lin_const(0);
		if (!o->owner[axis])
			continue;
		syms[axis] = o->unit->nsyms++;
		out->store.index[axis] = to[n] = tsr_lin_add_sym(a, tsr_lin_const(0), 1, TSR_LSYM_LOOP, syms[axis]);
		old[n++] = o->owner[axis]->loop.sym;
	}
	sum s = { o->nest.body->at[0]->let.local, tsr_expr_load(a, t, index_of(o, syms)) };
	out->store.value = tsr_expr_rewrite(tsr_expr_place(a, o->p->l, o->store->store.value, n, old, to), loaded, &s);
	for (uint32_t axis = o->c->rank; axis-- > 0;)
		if (o->owner[axis])
			out = tsr_loop_around(o->p, out, o->owner[axis], o->owner[axis]->loop.extent, syms[axis]);
	kernel->kernel.name = o->kernel->kernel.name;
	tsr_push(a, &kernel->kernel.body, out);
	return kernel;
}

/* The product's nest stores to T instead, and its loops are those of T's axes. */
static void store_sums(order *o, const tsr_buffer *t)
{
	uint32_t syms[TSR_MOST_LOOPS];
	tsr_stmt loop[TSR_MOST_LOOPS];
	for (uint32_t axis = 0; axis < o->c->rank; axis++)
		syms[axis] = o->owner[axis] ? o->owner[axis]->loop.sym : 0;
	for (uint32_t i = 0; i < o->n; i++)
		loop[i] = *o->owner[o->axis[i]];
	o->store->kind = TSR_STMT_STORE;
	o->store->store.buffer = t->id;
	o->store->store.index = index_of(o, syms);
	o->store->store.value = tsr_expr_local(o->p->arena, o->nest.body->at[0]->let.local, t->prec);
	for (uint32_t i = 0; i < o->n; i++)
		o->nest.loop[i]->loop.sym = loop[i].loop.sym, o->nest.loop[i]->loop.name = loop[i].loop.name, o->nest.loop[i]->loop.extent = loop[i].loop.extent;
	o->kernel->kernel.name = tsr_intern(o->p->l->tc->names, tsr_format(o->p->arena, "%s.sums", o->kernel->kernel.name));
}

static void turn(order *o, tsr_stmts *out)
{
	choose_order(o);
	tsr_pass_note(o->p, "%s: %s is computed matrix by matrix, and turned", o->unit->name, o->kernel->kernel.name);
	const tsr_buffer *t = buffer_of(o);
	tsr_stmt *kernel = turned(o, t);
	store_sums(o, t);
	tsr_push(o->p->arena, out, o->kernel);
	tsr_push(o->p->arena, out, kernel);
	o->p->changes++;
}

/* ---- lanes that are matrices ------------------------------------------------------------------------------------------------------- */

/* The nest's longest loop of the class; NULL: none. */
static const tsr_stmt *longest(const order *o, tsr_loop_class cls)
{
	const tsr_stmt *found = NULL;
	for (uint32_t i = 0; i < o->nest.n; i++) {
		const tsr_stmt *loop = o->nest.loop[i];
		if (tsr_contract_class(o->k, loop->loop.sym) == cls && tsr_size_is_const(loop->loop.extent) && (!found || loop->loop.extent.k > found->loop.extent.k))
			found = loop;
	}
	return found;
}

/* The inner loops around these become the longest ones over rows and over columns, of which a tile is (kernel/lane_tiles.c). */
static void arrange(order *o)
{
	const tsr_stmt *rows = longest(o, TSR_CLASS_M), *columns = longest(o, TSR_CLASS_N);
	if (o->nest.n < 4 || !rows || !columns || !tsr_contract_of_lanes(o->p, o->k))
		return;
	uint32_t of_rows = rows->loop.sym, of_columns = columns->loop.sym, inner = o->nest.n - 2, one = o->nest.loop[inner - 1]->loop.sym, other = o->nest.loop[inner]->loop.sym;
	if ((one == of_rows && other == of_columns) || (one == of_columns && other == of_rows))
		return;
	tsr_nest_move(&o->nest, of_rows, inner);
	tsr_nest_move(&o->nest, of_columns, inner);
	o->p->changes++;
}

/* What becomes of the kernel, into `out`. */
static void put(order *o, tsr_stmts *out)
{
	bool product = recognise(o), along = product && o->matrices && lies_along_batch(o);
	bool turns = along && better_apart(o);
	bool large = product && along == turns && tsr_contract_count(o->k, TSR_CLASS_M) * tsr_contract_count(o->k, TSR_CLASS_N) >= lanes_of(o) * lanes_of(o);
	if (o->stays)
		arrange(o);
	if (product && (large || !o->matrices))
		tsr_order_operands(o->p, o->unit, o->kernel, o->k, o->matrices, out);
	if (product)
		o->k = tsr_contract_seen(o->p, o->nest.loop[0]);         /* whose operands may have been turned */
	if (turns || (product && o->k && !o->matrices && lies_across(o)))
		turn(o, out);
	else
		tsr_push(o->p->arena, out, o->kernel);
}

void tsr_pass_order(tsr_pass *p)
{
	for (uint32_t i = 0; i < p->l->units.n; i++) {
		tsr_loop_unit *u = p->l->units.at[i];
		tsr_stmts out = { 0 };
		for (uint32_t k = 0; k < u->body.n; k++) {
			order o = { .p = p, .unit = u, .kernel = u->body.at[k] };
			put(&o, &out);
		}
		u->body = out;
	}
}
