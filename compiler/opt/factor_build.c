/* The kernels of a sum that is split: an intermediate for each step but the last, then the statement that wrote before, over what is
 * left.  Intermediates are laid out for the contraction engine: axes of both operands first, then those of the one, of the other. */
#include "factor.h"
#include "../base/text.h"

/* Results of steps: their buffers, and the loop of each axis; in `loop` those are followed by the loops that the step sums over.
 * before: an earlier step has computed it. */
typedef struct result { const tsr_buffer *buffer; bool before; uint32_t naxes, nloops, loop[TSR_MOST_SUM_LOOPS]; } result;

typedef struct builder {
	tsr_sum *s;
	const tsr_path *path;
	const double *extents;
	result *results;
	tsr_arena *scratch;
	tsr_stmts *out;
} builder;

static void note_axis(uint32_t *n, uint32_t *axis, uint64_t allowed, uint32_t loop)
{
	bool known = !(allowed >> loop & 1);
	for (uint32_t i = 0; i < *n; i++)
		known |= axis[i] == loop;
	if (!known)
		axis[(*n)++] = loop;
}

/* The loops of a part in the order in which its memory is walked, as far as `allowed` has them. */
static void walk_axes(builder *b, const tsr_expr *e, uint64_t allowed, uint32_t *n, uint32_t *axis)
{
	tsr_sum *s = b->s;
	if (e->kind == TSR_EXPR_CONVERT)
		walk_axes(b, e->converted, allowed, n, axis);
	if (e->kind == TSR_EXPR_SELECT)
		walk_axes(b, e->select.inside, allowed, n, axis);
	for (uint32_t i = 0; e->kind == TSR_EXPR_OP && i < tsr_op_get(e->op.op)->arity; i++)
		walk_axes(b, e->op.args[i], allowed, n, axis);
	for (uint32_t i = 0; e->kind == TSR_EXPR_LOAD && i < s->p->l->buffers.at[e->load.buffer]->rank; i++)
		for (uint32_t j = 0; j < s->nloops; j++)
			if (tsr_sum_lin_loops(s, &e->load.index[i]) >> j & 1)
				note_axis(n, axis, allowed, j);
}

static uint64_t part_loops(const builder *b, uint32_t part)
{
	uint32_t n = b->s->nfactors;
	return part < n ? b->s->facts[part].loops : b->path->steps[part - n].keeps;
}

static void part_axes(builder *b, uint32_t part, uint64_t allowed, uint32_t *n, uint32_t *axis)
{
	if (part < b->s->nfactors) {
		walk_axes(b, b->s->factor[part], allowed, n, axis);
		return;
	}
	const result *x = &b->results[part - b->s->nfactors];
	for (uint32_t j = 0; j < x->naxes; j++)
		note_axis(n, axis, allowed, x->loop[j]);
}

/* Axes of a step's result: of a contraction those of several parts first, then those of the first part alone, of the second, and
 * so on; without a sum, and where no tile would use anything twice, since one part has all loops, as in the part that has most.  Then the summed loops.  None of it depends on the order of the loops that the
 * kernel had, so that steps of two kernels that do the same look the same. */
static void order_loops(builder *b, const tsr_path_step *step, result *r)
{
	uint64_t once = 0, twice = 0;
	uint32_t widest = 0;
	for (uint32_t i = 0; i < step->nparts; i++) {
		uint64_t loops = part_loops(b, step->parts[i]);
		if (__builtin_popcountll(loops) > __builtin_popcountll(part_loops(b, step->parts[widest])))
			widest = i;
		twice |= once & loops;
		once |= loops;
	}
	if (step->over == step->keeps || !(step->over & ~part_loops(b, step->parts[widest])))
		part_axes(b, step->parts[widest], step->keeps, &r->nloops, r->loop);
	uint64_t allowed[] = {step->keeps & twice, step->keeps, step->over};
	for (uint32_t turn = 0; turn < 3; turn++) {
		for (uint32_t i = 0; i < step->nparts; i++)
			part_axes(b, step->parts[i], allowed[turn], &r->nloops, r->loop);
		for (uint32_t j = 0; turn && j < b->s->nloops; j++)          /* what only positions mention */
			note_axis(&r->nloops, r->loop, allowed[turn], j);
		r->naxes = turn < 2 ? r->nloops : r->naxes;
	}
}

/* The product, and neutral outside the guards whose loops the step all has: so each step is whose points a guard tells apart, and a
 * factor that is not finite outside takes no part in any. */
static tsr_expr *guarded(builder *b, const tsr_path_step *step, tsr_expr *product)
{
	tsr_sum *s = b->s;
	tsr_range *ranges = TSR_NEW_N(s->p->arena, tsr_range, (s->guard ? s->guard->cond.n : 0) + 1);
	uint32_t n = 0;
	for (uint32_t g = 0; s->guard && g < s->guard->cond.n; g++)
		if (!(tsr_sum_lin_loops(s, &s->guard->cond.ranges[g].index) & ~step->over))
			ranges[n++] = s->guard->cond.ranges[g];
	if (!n)
		return product;
	tsr_expr *x = TSR_NEW(s->p->arena, tsr_expr);
	x->kind = TSR_EXPR_SELECT;
	x->prec = product->prec;
	x->select.n = n;
	x->select.ranges = ranges;
	x->select.inside = product;
	x->select.outside = tsr_expr_const(s->p->arena, tsr_acc_neutral(s->acc, x->prec));
	return x;
}

/* The product of the parts; loop i is the symbol syms[i]. */
static tsr_expr *product_of(builder *b, const tsr_path_step *step, const uint32_t *syms)
{
	tsr_sum *s = b->s;
	tsr_arena *a = s->p->arena;
	uint32_t from[TSR_MOST_SUM_LOOPS];
	tsr_lin to[TSR_MOST_SUM_LOOPS];
	tsr_expr *e = NULL;
	for (uint32_t i = 0; i < s->nloops; i++) {
		from[i] = s->loop[i]->loop.sym;
		to[i] = tsr_lin_add_sym(a, tsr_lin_const(0), 1, TSR_LSYM_LOOP, syms[i]);
	}
	for (uint32_t i = 0; i < step->nparts; i++) {
		uint32_t part = step->parts[i];
		tsr_expr *x = part < s->nfactors ? s->factor[part] : NULL;
		if (!x) {
			const result *r = &b->results[part - s->nfactors];
			tsr_lin *index = TSR_NEW_N(a, tsr_lin, r->naxes + 1);
			for (uint32_t j = 0; j < r->naxes; j++)
				index[j] = tsr_lin_add_sym(a, tsr_lin_const(0), 1, TSR_LSYM_LOOP, from[r->loop[j]]);
			x = tsr_expr_load(a, r->buffer, index);
		}
		e = e ? tsr_expr_op(a, s->over, s->product->prec, e, x, NULL) : x;
	}
	return tsr_expr_place(a, s->p->l, guarded(b, step, e), s->nloops, from, to);
}

static tsr_buffer *new_buffer(builder *b, const result *r)
{
	tsr_sum *s = b->s;
	tsr_loops *l = s->p->l;
	const char *of = l->buffers.at[s->out->store.buffer]->name;
	tsr_name name = NULL;
	for (uint32_t k = 1, taken = 1; taken; k++) {
		name = tsr_intern(l->tc->names, tsr_format(s->p->arena, "%s.sum%u", of, k));
		taken = 0;
		for (uint32_t i = 0; i < l->buffers.n; i++)
			taken |= l->buffers.at[i]->name == name;
	}
	tsr_buffer *x = TSR_NEW(s->p->arena, tsr_buffer);
	*x = (tsr_buffer){.id = l->buffers.n, .name = name, .kind = TSR_BUFFER_TEMP, .prec = s->product->prec, .rank = r->naxes, .tensor = TSR_NONE};
	x->dims = TSR_NEW_N(s->p->arena, tsr_size, r->naxes + 1);
	for (uint32_t i = 0; i < r->naxes; i++)
		x->dims[i] = s->loop[r->loop[i]]->loop.extent;
	tsr_push(s->p->arena, &l->buffers, x);
	return x;
}

static tsr_stmt *loop_around(builder *b, uint32_t loop, uint32_t sym, tsr_for_kind how, tsr_stmts body)
{
	tsr_stmt *f = tsr_stmt_new(b->s->p->arena, TSR_STMT_FOR, b->s->loop[loop]->span);
	f->loop = b->s->loop[loop]->loop;
	f->loop.sym = sym;
	f->loop.how = how;
	f->loop.body = body;
	return f;
}

static tsr_stmts alone(builder *b, tsr_stmt *s)
{
	tsr_stmts out = {0};
	tsr_push(b->s->p->arena, &out, s);
	return out;
}

/* The statements that collect `product` over the loops order[from .. n - 1] in a local and store or update with it. */
static tsr_stmts collected(builder *b, tsr_op op, tsr_stmt *let, tsr_stmt *out, uint32_t from, uint32_t n, const uint32_t *order, const uint32_t *syms,
                           tsr_expr *product)
{
	tsr_arena *a = b->s->p->arena;
	tsr_local_id local = let->let.local;
	tsr_stmt *set = tsr_stmt_new(a, TSR_STMT_SET, out->span);
	set->let.local = local;
	set->let.prec = let->let.prec;
	set->let.value = tsr_expr_op(a, op, let->let.prec, tsr_expr_local(a, local, let->let.prec), product, NULL);
	for (uint32_t i = n; i-- > from;)
		set = loop_around(b, order[i], syms[order[i]], TSR_FOR_REDUCE, alone(b, set));
	tsr_stmts body = alone(b, let);
	tsr_push(a, &body, set);
	tsr_push(a, &body, out);
	return body;
}

/* ---- sharing ------------------------------------------------------------------------------------------------------------- */

static bool same_index(const tsr_lin *x, const tsr_lin *y, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!tsr_lin_equal(x[i], y[i]))
			return false;
	return true;
}

static bool same_value(const tsr_loops *l, const tsr_expr *x, const tsr_expr *y)
{
	if (x->kind != y->kind || x->prec != y->prec)
		return false;
	switch (x->kind) {
	case TSR_EXPR_CONST:
		return tsr_prec_is_float(x->prec) ? x->value.d == y->value.d : x->value.i == y->value.i;
	case TSR_EXPR_LOAD:
		return x->load.buffer == y->load.buffer && same_index(x->load.index, y->load.index, l->buffers.at[x->load.buffer]->rank);
	case TSR_EXPR_INDEX: return tsr_lin_equal(x->index, y->index);
	case TSR_EXPR_SIZE: return tsr_size_equal(x->size, y->size);
	case TSR_EXPR_NUMBER: return x->number == y->number;
	case TSR_EXPR_CONVERT: return same_value(l, x->converted, y->converted);
	case TSR_EXPR_OP:
		for (uint32_t i = 0; x->op.op == y->op.op && i < tsr_op_get(x->op.op)->arity; i++)
			if (!same_value(l, x->op.args[i], y->op.args[i]))
				return false;
		return x->op.op == y->op.op && x->op.operand_prec == y->op.operand_prec;
	case TSR_EXPR_SELECT:
		for (uint32_t i = 0; x->select.n == y->select.n && i < x->select.n; i++)
			if (!tsr_lin_equal(x->select.ranges[i].index, y->select.ranges[i].index)
			    || !tsr_size_equal(x->select.ranges[i].size, y->select.ranges[i].size))
				return false;
		return x->select.n == y->select.n && same_value(l, x->select.inside, y->select.inside)
			&& same_value(l, x->select.outside, y->select.outside);
	case TSR_EXPR_LOCAL: case TSR_EXPR_LOOKUP: case TSR_EXPR_KINDS: break;
	}
	return false;
}

/* A kernel as build_step makes it, taken apart. */
typedef struct made { tsr_nest outer, inner; const tsr_stmt *store; const tsr_expr *start, *value; } made;

static bool take_apart(const tsr_stmt *kernel, made *m)
{
	m->outer = tsr_nest_of((tsr_stmts *)&kernel->kernel.body);
	m->inner = (tsr_nest){0};
	m->start = NULL;
	const tsr_stmts *body = m->outer.body;
	if (body->n == 1 && body->at[0]->kind == TSR_STMT_STORE) {
		m->store = body->at[0];
		m->value = m->store->store.value;
		return true;
	}
	if (body->n != 3 || body->at[0]->kind != TSR_STMT_LET || body->at[2]->kind != TSR_STMT_STORE)
		return false;
	tsr_stmts inner = {&body->at[1], 1, 1};
	m->inner = tsr_nest_of(&inner);
	m->start = body->at[0]->let.value;
	m->value = m->inner.body->n == 1 && m->inner.body->at[0]->kind == TSR_STMT_SET ? m->inner.body->at[0]->let.value : NULL;
	m->store = body->at[2];
	if (!m->value || m->value->kind != TSR_EXPR_OP || m->store->store.value->kind != TSR_EXPR_LOCAL)
		return false;
	return true;
}

/* Both kernels compute the same elements at the same places. */
static bool same_kernel(builder *b, const made *x, const made *y)
{
	const tsr_loops *l = b->s->p->l;
	uint32_t n = 0, from[2 * TSR_MOST_SUM_LOOPS];
	tsr_lin to[2 * TSR_MOST_SUM_LOOPS];
	if (x->outer.n != y->outer.n || x->inner.n != y->inner.n || !x->start != !y->start)
		return false;
	for (uint32_t i = 0; i < x->outer.n + x->inner.n; i++) {
		const tsr_stmt *f = i < x->outer.n ? x->outer.loop[i] : x->inner.loop[i - x->outer.n];
		const tsr_stmt *g = i < x->outer.n ? y->outer.loop[i] : y->inner.loop[i - x->outer.n];
		if (!tsr_size_equal(f->loop.extent, g->loop.extent))
			return false;
		from[n] = g->loop.sym;
		to[n++] = tsr_lin_add_sym(b->scratch, tsr_lin_const(0), 1, TSR_LSYM_LOOP, f->loop.sym);
	}
	const tsr_expr *v = x->start ? x->value->op.args[1] : x->value, *w = y->start ? y->value->op.args[1] : y->value;
	if (x->start && (x->value->op.op != y->value->op.op || !same_value(l, x->start, y->start)))
		return false;
	w = tsr_expr_place(b->scratch, l, w, n, from, to);
	const tsr_buffer *bx = l->buffers.at[x->store->store.buffer], *by = l->buffers.at[y->store->store.buffer];
	const tsr_expr *place = tsr_expr_place(b->scratch, l, tsr_expr_load(b->scratch, by, y->store->store.index), n, from, to);
	return bx->prec == by->prec && bx->rank == by->rank && same_index(x->store->store.index, place->load.index, bx->rank)
		&& same_value(l, v, w);
}

/* The result of an earlier step that is what `kernel` computes, where nothing that it read has been written since. */
static const tsr_buffer *computed_before(builder *b, const tsr_stmt *kernel)
{
	made mine, other;
	tsr_uses reads = {0}, uses;
	if (!take_apart(kernel, &mine))
		return NULL;
	tsr_stmt_uses(b->scratch, kernel, &reads);
	for (uint32_t i = b->out->n; i-- > 0;) {
		const tsr_stmt *s = b->out->at[i];
		if (s->kind == TSR_STMT_KERNEL && take_apart(s, &other)) {
			const tsr_buffer *x = b->s->p->l->buffers.at[other.store->store.buffer];
			if (x->kind == TSR_BUFFER_TEMP && x->name == s->kernel.name && same_kernel(b, &mine, &other))
				return x;
		}
		uses = (tsr_uses){0};
		tsr_stmt_uses(b->scratch, s, &uses);
		for (uint32_t j = 0; j < reads.v.n; j++)
			if (reads.v.at[j].loads && tsr_use_writes(tsr_uses_of(&uses, reads.v.at[j].buffer)))
				return NULL;
	}
	return NULL;
}

/* ---- steps --------------------------------------------------------------------------------------------------------------- */

/* An intermediate: a kernel before the one that is split, unless one before has computed it. */
static void build_step(builder *b, uint32_t at)
{
	tsr_sum *s = b->s;
	tsr_arena *a = s->p->arena;
	const tsr_path_step *step = &b->path->steps[at];
	result *r = &b->results[at];
	uint32_t syms[TSR_MOST_SUM_LOOPS];
	order_loops(b, step, r);
	r->buffer = new_buffer(b, r);
	for (uint32_t i = 0; i < s->nloops; i++)
		syms[i] = step->over >> i & 1 ? s->unit->nsyms++ : 0;
	tsr_stmt *store = tsr_stmt_new(a, TSR_STMT_STORE, s->out->span);
	store->store.buffer = r->buffer->id;
	store->store.index = TSR_NEW_N(a, tsr_lin, r->naxes + 1);
	for (uint32_t i = 0; i < r->naxes; i++)
		store->store.index[i] = tsr_lin_add_sym(a, tsr_lin_const(0), 1, TSR_LSYM_LOOP, syms[r->loop[i]]);
	store->store.value = product_of(b, step, syms);
	tsr_stmts body = alone(b, store);
	if (step->over != step->keeps) {
		tsr_stmt *let = tsr_stmt_new(a, TSR_STMT_LET, s->out->span);
		let->let.local = s->unit->nlocals++;
		let->let.prec = r->buffer->prec;
		let->let.value = tsr_expr_const(a, tsr_acc_neutral(s->acc, let->let.prec));
		tsr_expr *product = store->store.value;
		store->store.value = tsr_expr_local(a, let->let.local, let->let.prec);
		body = collected(b, tsr_acc_get(s->acc)->op, let, store, r->naxes, r->nloops, r->loop, syms, product);
	}
	for (uint32_t i = r->naxes; i-- > 0;)
		body = alone(b, loop_around(b, r->loop[i], syms[r->loop[i]], TSR_FOR_PARALLEL, body));
	tsr_stmt *k = tsr_stmt_new(a, TSR_STMT_KERNEL, s->kernel->span);
	k->kernel.name = r->buffer->name;
	k->kernel.body = body;
	const tsr_buffer *before = computed_before(b, k);
	if (before) {
		s->p->l->buffers.n--;
		r->buffer = before;
		r->before = true;
	} else {
		tsr_push(a, b->out, k);
	}
}

typedef struct replacement { builder *b; tsr_local_id local; tsr_expr *by; } replacement;

static tsr_expr *replace_local(void *user, tsr_expr *e)
{
	replacement *r = user;
	return e->kind == TSR_EXPR_LOCAL && e->local == r->local ? tsr_expr_place(r->b->s->p->arena, r->b->s->p->l, r->by, 0, NULL, NULL) : e;
}

/* The kernel that writes the target, with the loops that are left. */
static void build_target(builder *b)
{
	tsr_sum *s = b->s;
	tsr_arena *a = s->p->arena;
	const tsr_path_step *step = &b->path->steps[b->path->nsteps - 1];
	uint32_t syms[TSR_MOST_SUM_LOOPS];
	for (uint32_t i = 0; i < s->nloops; i++)
		syms[i] = s->loop[i]->loop.sym;
	tsr_expr *product = product_of(b, step, syms);
	tsr_op last = s->minus ? TSR_OP_SUB : tsr_acc_get(s->acc)->op;
	uint64_t summed = step->over & ~step->keeps, around = s->let ? step->keeps : step->over;
	uint32_t nsummed = 0, order[TSR_MOST_SUM_LOOPS];
	for (uint32_t i = 0; i < s->nloops; i++)
		if (summed >> i & 1)
			order[nsummed++] = i;
	tsr_stmts body = alone(b, s->out);
	if (s->let && summed) {
		body = collected(b, last, s->let, s->out, 0, nsummed, order, syms, product);
	} else if (s->let) {
		if (s->minus || !tsr_expr_is_neutral(s->let->let.value, s->acc))
			product = tsr_expr_op(a, last, product->prec, s->let->let.value, product, NULL);
		replacement r = {b, s->let->let.local, product};
		s->out->store.value = tsr_expr_rewrite(s->out->store.value, replace_local, &r);
	} else {
		s->out->store.value = product;
	}
	for (uint32_t i = s->nloops; i-- > 0;)
		if (around >> i & 1)
			body = alone(b, loop_around(b, i, syms[i], s->loop[i]->loop.how, body));
	s->kernel->kernel.body = body;
	tsr_push(a, b->out, s->kernel);
}

/* ---- describing ------------------------------------------------------------------------------------------------------- */

static void describe_loops(builder *b, tsr_text *t, const tsr_path_step *step, const result *r)
{
	uint32_t order[TSR_MOST_SUM_LOOPS];
	for (uint32_t i = 0; i < b->s->nloops; i++)          /* of the target as in its kernel */
		order[i] = i;
	const uint32_t *loop = r->buffer ? r->loop : order;
	uint32_t n = r->buffer ? r->nloops : b->s->nloops;
	for (int summed = 0; summed < 2; summed++) {
		uint64_t which = summed ? step->over & ~step->keeps : step->keeps;
		tsr_text_add(t, !summed ? " for" : which ? " over" : "");
		for (uint32_t i = 0; i < n; i++)
			if (which >> loop[i] & 1)
				tsr_text_addf(t, " %s", b->s->loop[loop[i]]->loop.name);
	}
}

/* A line for the whole, and one for each step: its result, its parts, what it sums over, its operations. */
static void describe(builder *b)
{
	tsr_sum *s = b->s;
	tsr_loops *l = s->p->l;
	tsr_name target = l->buffers.at[s->out->store.buffer]->name;
	tsr_path_problem q = {s->nfactors, s->facts, b->extents, s->kept, false, 0};
	tsr_pass_note(s->p, "%s: %u factors in %u steps, %.0f operations instead of %.0f", target, s->nfactors, b->path->nsteps,
		b->path->operations, tsr_path_direct(&q));
	for (uint32_t i = 0; i < b->path->nsteps; i++) {
		const tsr_path_step *step = &b->path->steps[i];
		tsr_text t;
		tsr_text_init(&t, s->p->arena);
		tsr_text_addf(&t, "  %s:", b->results[i].buffer ? b->results[i].buffer->name : target);
		for (uint32_t j = 0; j < step->nparts; j++) {
			uint32_t part = step->parts[j];
			const tsr_expr *e = part < s->nfactors ? s->factor[part] : NULL;
			while (e && e->kind == TSR_EXPR_CONVERT)
				e = e->converted;
			const char *name = !e ? b->results[part - s->nfactors].buffer->name : e->kind == TSR_EXPR_LOAD ? l->buffers.at[e->load.buffer]->name
				: "(..)";
			tsr_text_addf(&t, j ? " %s %s" : "%s %s", j ? tsr_op_get(s->over)->infix : "", name);
		}
		describe_loops(b, &t, step, &b->results[i]);
		if (b->results[i].before)
			tsr_pass_note(s->p, "%s, computed before", tsr_text_str(&t));
		else
			tsr_pass_note(s->p, "%s, %.0f operations", tsr_text_str(&t), step->operations);
	}
}

void tsr_sum_build(tsr_sum *s, const tsr_path *path, const double *extents, tsr_arena *scratch, tsr_stmts *out)
{
	builder b = {.s = s, .path = path, .extents = extents, .scratch = scratch, .out = out};
	b.results = TSR_NEW_N(scratch, result, path->nsteps);
	for (uint32_t i = 0; i + 1 < path->nsteps; i++)
		build_step(&b, i);
	build_target(&b);
	describe(&b);
}
