/* Sums of products that are far deeper than what they make is large, as the gradients of weights over images are, are taken in parts:
 *
 *     for m, n { let $s = 0  for k .. reduce { set $s = $s + a * b }  store C = $s }
 *
 * becomes, with k = each * p + k', a batch of contractions and one sum of a few elements for each of C's,
 *
 *     for p { for m, n { let $s = 0  for k' .. reduce { set $s = $s + a * b }  store T[p, m, n] = $s } }
 *     for m, n { store C = (T[0] + T[1]) + (T[2] + T[3]) + .. }
 *
 * Threads divide the parts.  Of a C that is a few tiles, divided by rows or columns, shares are uneven and each thread packs, copies or reads
 * all of one operand; of a part each has its own of both.  How many parts there are follows from the sizes, so the bits are the same for any
 * number of threads.  One thread loses nothing: blocks of K add to C as often as parts are stored.
 *
 * What is packed of windows is so place by place, the channels of each beside each other.  Where C has them the other way round, as the weights of images whose channels
 * come first do, T's axes are in the order of packing (3x3 of 28x28x64 2 times as fast), and the sum of the parts turns them.
 *
 * A vector by a large B is taken in parts, too: each is rows of B from end to end, which come sooner from memory than parts of all rows.
 *
 * After the passes that look at sums as such, before `tail`, which would take what follows element by element into the nest. */
#include "schedule.h"
#include "parts.h"

enum { FEW = 4, MANY = 8, DEPTH = TSR_DEEP / FEW, TIMES = 5, TURNED = 2, WORTH = 1 << 23 };

typedef struct deep {
	tsr_pass *p;
	tsr_loop_unit *unit;
	tsr_stmt *kernel;
	tsr_nest nest;
	tsr_stmt *store, *along;     /* of the sum; the loop that is parted */
	int64_t parts;
	const tsr_buffer *c;
	uint32_t *order;             /* T's axes behind that of the parts: C's axis number order[i] */
	bool turned;                 /* which is another order */
} deep;

/* The outermost of the summed loops, so that a part is a stretch of memory. */
static bool choose_loop(deep *d, int64_t parts)
{
	tsr_nest sums = tsr_nest_of(&(tsr_stmts){ &d->nest.body->at[1], 1, 1 });
	uint32_t i = 0;
	while (i + 1 < sums.n && tsr_size_is_const(sums.loop[i]->loop.extent) && sums.loop[i]->loop.extent.k == 1)
		i++;
	d->along = sums.loop[i];
	d->parts = parts;
	return d->along->loop.how == TSR_FOR_REDUCE && tsr_size_is_const(d->along->loop.extent) && d->along->loop.extent.k % parts == 0;
}

/* let $s = 0;  for ..;  store C = $s */
static bool is_sum(const deep *d)
{
	const tsr_stmts *b = d->nest.body;
	if (!d->nest.n || b->n != 3 || b->at[0]->kind != TSR_STMT_LET || b->at[1]->kind != TSR_STMT_FOR || b->at[2]->kind != TSR_STMT_STORE)
		return false;
	for (uint32_t i = 0; i < d->nest.n; i++)
		if (d->nest.loop[i]->loop.how == TSR_FOR_SERIAL)
			return false;
	return tsr_expr_is_local(b->at[2]->store.value, b->at[0]->let.local) && tsr_expr_is_neutral(b->at[0]->let.value, TSR_ACC_ADD);
}

/* The loop is a place of a window that the element is read by. */
static bool in_window(const deep *d, const tsr_expr *load, const tsr_stmt *loop)
{
	tsr_nest sums = tsr_nest_of(&(tsr_stmts){ &d->nest.body->at[1], 1, 1 });
	bool any = false;
	for (uint32_t axis = 0; axis < d->p->l->buffers.at[load->load.buffer]->rank; axis++)
		any |= tsr_window_place(&d->nest, &sums, &load->load.index[axis]) == loop;
	return any;
}

/* C's axes as they are; or, where its last one is a window's, those of the same operand that no window moves along behind all others. */
static void choose_order(deep *d, const tsr_contraction *k)
{
	tsr_stmt *owner[TSR_MOST_LOOPS];
	uint32_t n = 0, last = tsr_buffer_last(d->c);
	d->order = TSR_NEW_N(d->p->arena, uint32_t, d->c->rank + 1);
	tsr_nest_covers(d->p->l, &d->nest, d->store, owner);
	for (int turn = 0; turn < 2; turn++)
		for (uint32_t axis = 0; axis < d->c->rank; axis++) {
			bool behind = false;
			for (int side = 0; side < 2 && owner[axis]; side++) {
				const tsr_expr *load = tsr_contract_guarded(side ? k->b_value : k->a_value);
				behind |= load && owner[last] && in_window(d, load, owner[last]) && tsr_expr_mentions(d->p->l, load, owner[axis]->loop.sym) && !in_window(d, load, owner[axis]);
			}
			if (behind == turn) {
				d->turned |= axis != n;
				d->order[n++] = axis;
			}
		}
}

/* A vector by a B from memory, of which each thread had better read rows from end to end than a part of all of them: two threads 1.1 to 1.5 times as fast.  Sixteen
 * parts are as fast as eight, and more threads can have one each.  What they make stays in the second cache: more would be summed a strip of columns at a time. */
static bool choose_vector(deep *d, const tsr_contraction *k, const tsr_contract_view *v, int64_t bytes)
{
	const tsr_walks *n = &v->cls[TSR_CLASS_N], *depth = &v->cls[TSR_CLASS_K];
	bool in_place = tsr_contract_plain(d->p->l, k, TSR_SIDE_B) && n->n == 1 && depth->n == 1 && tsr_walks_unit(n, TSR_SIDE_B) && tsr_walks_known(depth);
	if (!d->p->target->spread || !in_place || !tsr_target_far(d->p->target, bytes))
		return false;
	int64_t each = tsr_walks_count(n) * tsr_prec_bytes(k->prec), parts = 2 * MANY;
	while (parts >= FEW && (parts * each > d->p->target->l2 || !choose_loop(d, parts)))
		parts /= 2;
	return parts >= FEW;
}

/* How many parts there are: all together stay in the second cache, and each is deep enough for what it stores. */
static bool choose(deep *d)
{
	const tsr_contraction *k = tsr_contract_of(d->p, d->nest.loop[0]);
	tsr_contract_view v;
	if (!k || k->acc != TSR_ACC_ADD || k->combine != TSR_OP_MUL || k->prec != d->c->prec || !tsr_prec_is_float(k->prec))
		return false;
	choose_order(d, k);
	tsr_contract_view_make(d->p->l, k, &v);
	int64_t count[TSR_CLASSES];
	for (int cls = 0; cls < TSR_CLASSES; cls++)
		count[cls] = tsr_walks_count(&v.cls[cls]);
	int64_t m = count[TSR_CLASS_M], n = count[TSR_CLASS_N], depth = count[TSR_CLASS_K], bytes = tsr_prec_bytes(k->prec);
	if (depth < 1 || n < 2 || count[TSR_CLASS_BATCH] < 1)
		return false;
	if (m == 1)
		return count[TSR_CLASS_BATCH] == 1 && choose_vector(d, k, &v, n * depth * bytes);
	if (m < 2 || m * n < WORTH / depth)
		return false;
	bool deep = count[TSR_CLASS_BATCH] == 1 && depth >= TSR_DEEP && depth >= TIMES * (m > n ? m : n);
	/* what is stored, and summed again, counts less the deeper parts are */
	if (deep && ((depth >= 2 * MANY * DEPTH && choose_loop(d, MANY)) || choose_loop(d, FEW)) && d->parts * m * n * bytes <= 2 * d->p->target->l2)
		return true;
	/* what is turned is as large as C, what is packed as the other operand's rows are deep */
	return d->turned && depth * TURNED >= m && !tsr_contract_leaves(d->p, d->nest.loop[0]) && choose_loop(d, 1);
}

static bool recognise(deep *d)
{
	if (d->kernel->kind != TSR_STMT_KERNEL || d->kernel->kernel.body.n != 1)
		return false;
	d->nest = tsr_nest_of(&d->kernel->kernel.body);
	if (!is_sum(d))
		return false;
	d->store = d->nest.body->at[2];
	d->c = d->p->l->buffers.at[d->store->store.buffer];
	return tsr_nest_covers(d->p->l, &d->nest, d->store, NULL) && !tsr_winograd_takes(d->p, d->unit, d->kernel) && choose(d);
}

/* Of C's axes, in T's order. */
static tsr_lin *in_order(const deep *d, const tsr_lin *index)
{
	tsr_lin *out = TSR_NEW_N(d->p->arena, tsr_lin, d->c->rank + 1);
	for (uint32_t i = 0; i < d->c->rank; i++)
		out[i] = index[d->order[i]];
	return out;
}

/* The nest of before, a part at a time, into `t`. */
static tsr_stmt *by_parts(const deep *d, const tsr_buffer *t)
{
	tsr_arena *a = d->p->arena;
	tsr_stmt *f = NULL;
	tsr_stmts body = { 0 };
	tsr_placing x = { .p = d->p, .unit = d->unit };
	tsr_lin part = tsr_lin_const(0);
	if (d->parts > 1) {
		f = tsr_stmt_new(a, TSR_STMT_FOR, d->kernel->span);
		f->loop.sym = d->unit->nsyms++;
		f->loop.name = tsr_intern(d->p->l->tc->names, "part");
		f->loop.extent = tsr_size_const(d->parts);
		f->loop.how = TSR_FOR_PARALLEL;
		part = tsr_lin_add_sym(a, part, 1, TSR_LSYM_LOOP, f->loop.sym);
		tsr_size each = tsr_size_const(d->along->loop.extent.k / d->parts);
		tsr_place_loop(&x, d->along->loop.sym, tsr_lin_add(a, tsr_lin_const(0), each.k, part), each.k > 1 ? &each : NULL);
	}
	tsr_stmts_place(&x, &d->kernel->kernel.body, f ? &f->loop.body : &body);
	tsr_stmt *store = tsr_nest_of(f ? &f->loop.body : &body).body->at[2];
	store->store.buffer = t->id;
	store->store.index = tsr_parts_index(d->p, d->c, part, in_order(d, store->store.index));
	return f ? f : body.at[0];
}

/* The sum of the parts from `first` on, in pairs. */
static tsr_expr *sum_of(const deep *d, const tsr_buffer *t, const tsr_lin *index, int64_t first, int64_t parts)
{
	if (parts == 1)
		return tsr_expr_load(d->p->arena, t, tsr_parts_index(d->p, d->c, tsr_lin_const(first), in_order(d, index)));
	int64_t half = parts / 2;
	tsr_expr *low = sum_of(d, t, index, first, half), *high = sum_of(d, t, index, first + half, parts - half);
	return tsr_expr_op(d->p->arena, TSR_OP_ADD, t->prec, low, high, NULL);
}

/* Every element of C, along its axes. */
static tsr_stmt *together(const deep *d, const tsr_buffer *t)
{
	tsr_arena *a = d->p->arena;
	tsr_stmt *owner[TSR_MOST_LOOPS], *out = tsr_stmt_new(a, TSR_STMT_STORE, d->store->span);
	tsr_nest_covers(d->p->l, &d->nest, d->store, owner);
	out->store.buffer = d->c->id;
	out->store.index = TSR_NEW_N(a, tsr_lin, d->c->rank + 1);
	uint32_t first = d->unit->nsyms;
	d->unit->nsyms += d->c->rank;
	for (uint32_t i = 0; i < d->c->rank; i++)
		out->store.index[i] = owner[i] ? tsr_lin_add_sym(a, tsr_lin_const(0), 1, TSR_LSYM_LOOP, first + i) : tsr_lin_const(0);
	out->store.value = sum_of(d, t, out->store.index, 0, d->parts);
	for (uint32_t i = d->c->rank; i-- > 0;) {
		if (!owner[i])
			continue;
		tsr_stmt *f = tsr_stmt_new(a, TSR_STMT_FOR, owner[i]->span);
		f->loop.sym = first + i;
		f->loop.name = owner[i]->loop.name;
		f->loop.extent = owner[i]->loop.extent;
		f->loop.how = TSR_FOR_PARALLEL;
		tsr_push(a, &f->loop.body, out);
		out = f;
	}
	return out;
}

static void part(deep *d, tsr_stmts *out)
{
	tsr_buffer *t = tsr_parts_buffer(d->p, d->c, d->parts, d->c->prec);
	for (uint32_t i = 0; i < d->c->rank; i++)
		t->dims[i + 1] = d->c->dims[d->order[i]];
	tsr_stmt *parts = by_parts(d, t);
	tsr_stmts all = { 0 };
	tsr_push(d->p->arena, &all, together(d, t));
	tsr_parts_kernels(d->p, d->kernel, parts, all, out);
	if (d->parts > 1)
		tsr_pass_note(d->p, "%s: the sum of %s is taken in %lld parts", d->unit->name, d->kernel->kernel.name, (long long)d->parts);
	if (d->turned)
		tsr_pass_note(d->p, "%s: %s is turned when it is summed", d->unit->name, d->kernel->kernel.name);
}

void tsr_pass_deep(tsr_pass *p)
{
	for (uint32_t i = 0; i < p->l->units.n; i++) {
		tsr_loop_unit *u = p->l->units.at[i];
		tsr_stmts out = { 0 };
		for (uint32_t k = 0; k < u->body.n; k++) {
			deep d = { .p = p, .unit = u, .kernel = u->body.at[k] };
			if (recognise(&d))
				part(&d, &out);
			else
				tsr_push(p->arena, &out, d.kernel);
		}
		u->body = out;
	}
}
