/* Loops over few results of each of many groups, which fill registers together:
 *
 *     for g in 0..32 parallel { for f in 0..4 parallel { let s = 0; for .. reduce { set s = s + x[.., g, c] k[.., g, c, f] }; store y[.., g, f] = s } }
 *
 * Lane i is result i % 4 of group i / 4.  What is read along both as a single loop would read it is so; of the rest, x is the same for all results of a group, and k a stretch of so many
 * elements for each of them.  As products of their own they would fill a quarter of each register, which is what a contraction makes of them.
 *
 * So are the outer products of few by few numbers, as of a small matrix: both factors are such, one of them the same stretch for all rows.
 *
 * Where all results together fill half of a register, lanes are those of a half.
 *
 * The pass copies what many iterations of the loops around read, as k, to where it lies along both loops, for each iteration of those within:
 *
 *     for i, c, g, f: turned[i, c, 4 g + f] = k[g, f, c, i]
 *
 * and takes a window's places within the numbers of a row: what is spread of a row is the same for a place of the window and its neighbour's next one (3 x 3 in groups of 8 1.25 times as fast).
 *
 * Requires the form that `reduce` gives sums, whose loops are independent. */
#include "pass.h"

enum { BYTES = 4, MOST_INNER = 8, MOST_TURNED = 4, MANY = 16, LEAST_BYTES = 32 };

typedef struct kinds {
	const tsr_loops *l;
	const tsr_stmt *group, *each;
	int64_t lanes;               /* of a register, or of the half that all results fill */
	bool sums, apart;            /* there is a loop within, and something that one loop would read in another way */
	bool many;                   /* iterations around, so that what they all read may be turned: these loads */
	uint32_t ninner, nturned;
	const tsr_stmt *inner[MOST_INNER];
	tsr_expr *turned[MOST_TURNED];
} kinds;

static bool mentions(const kinds *k, const tsr_lin *x)
{
	return tsr_lin_mentions(x, k->group->loop.sym) || tsr_lin_mentions(x, k->each->loop.sym);
}

static const tsr_stmt *loop_of(const kinds *k, const tsr_lin_term *t)
{
	const tsr_stmt *found = t->kind != TSR_LSYM_LOOP ? NULL : t->id == k->group->loop.sym ? k->group : t->id == k->each->loop.sym ? k->each : NULL;
	for (uint32_t i = 0; i < k->ninner && t->kind == TSR_LSYM_LOOP && !found; i++)
		found = k->inner[i]->loop.sym == t->id ? k->inner[i] : NULL;
	return found;
}

/* Elements of all results' rows lie behind each other, and which of a row's is read says a number or a loop within that is written out. */
static bool in_rows(const kinds *k, const tsr_buffer *b, const tsr_lin *index, int64_t far)
{
	tsr_lin_term by;
	int64_t offset;
	if (far > k->lanes || !tsr_index_in_row(b, index, far, k->group->loop.sym, k->each->loop.sym, &by, &offset))
		return false;
	const tsr_stmt *loop = by.coef ? loop_of(k, &by) : NULL;
	if (by.coef && !(loop && loop->loop.how == TSR_FOR_REDUCE && loop->loop.extent.k <= TSR_MOST_WRITTEN))
		return false;
	int64_t last = offset + (loop ? by.coef * (loop->loop.extent.k - 1) : 0);
	return offset >= 0 && offset < far && last >= 0 && last < far;
}

/* It is the same in all iterations of the loops around, and may be read whatever guards say. */
static bool turns(kinds *k, tsr_expr *x)
{
	const tsr_buffer *b = k->l->buffers.at[x->load.buffer];
	for (uint32_t axis = 0; axis < b->rank; axis++) {
		const tsr_lin *at = &x->load.index[axis];
		int64_t least = at->offset, most = at->offset;
		if (!tsr_size_is_const(at->base) || !tsr_size_is_const(b->dims[axis]))
			return false;
		for (uint32_t t = 0; t < at->n; t++) {
			const tsr_stmt *loop = loop_of(k, &at->terms[t]);
			if (!loop)
				return false;
			*(at->terms[t].coef < 0 ? &least : &most) += at->terms[t].coef * (loop->loop.extent.k - 1);
		}
		if (least + at->base.k < 0 || most + at->base.k >= b->dims[axis].k)
			return false;
	}
	if (!k->many || k->nturned == MOST_TURNED)
		return false;
	k->turned[k->nturned++] = x;
	return true;
}

static bool load_fits(kinds *k, tsr_expr *x)
{
	const tsr_buffer *b = k->l->buffers.at[x->load.buffer];
	int64_t near, far, n = k->each->loop.extent.k;
	if (tsr_prec_bytes(b->prec) != BYTES || !b->rank || !tsr_index_stride(b, x->load.index, k->each->loop.sym, &near)
		|| !tsr_index_stride(b, x->load.index, k->group->loop.sym, &far))
		return false;
	if (far == near * n && near >= 0 && near <= 1)
		return true;
	if (turns(k, x)) {
		k->apart = true;
		return true;
	}
	if (far == near * n)
		return near > 0 && (near <= TSR_MOST_STRIDE || in_rows(k, b, x->load.index, near));
	k->apart = true;
	return near == 1 || (near == 0 && (far == 1 || in_rows(k, b, x->load.index, far))) || (far == 0 && in_rows(k, b, x->load.index, near));
}

static bool value_fits(kinds *k, tsr_expr *x)
{
	tsr_expr *part[TSR_MOST_PARTS];
	if (x->kind == TSR_EXPR_INDEX && mentions(k, &x->index))
		return false;
	if (x->kind == TSR_EXPR_LOOKUP || x->kind == TSR_EXPR_SELECT || x->kind == TSR_EXPR_KINDS || (x->kind == TSR_EXPR_LOAD && !load_fits(k, x)))
		return false;
	for (uint32_t i = 0, n = tsr_expr_parts(x, part); i < n; i++)
		if (!value_fits(k, part[i]))
			return false;
	return true;
}

static bool fits(kinds *k, const tsr_stmts *body)
{
	bool all = true;
	for (uint32_t i = 0; i < body->n && all; i++) {
		const tsr_stmt *s = body->at[i];
		int64_t near, far;
		switch (s->kind) {
		case TSR_STMT_LET: case TSR_STMT_SET:
			all = value_fits(k, s->let.value);
			break;
		case TSR_STMT_STORE: case TSR_STMT_UPDATE:
			all = tsr_prec_bytes(k->l->buffers.at[s->store.buffer]->prec) == BYTES && tsr_index_stride(k->l->buffers.at[s->store.buffer], s->store.index, k->each->loop.sym, &near) && near == 1
				&& tsr_index_stride(k->l->buffers.at[s->store.buffer], s->store.index, k->group->loop.sym, &far) && far == k->each->loop.extent.k && value_fits(k, s->store.value);
			break;
		case TSR_STMT_FOR:
			k->sums = true;
			all = s->loop.how == TSR_FOR_REDUCE && !s->loop.split && !s->loop.contraction && k->ninner < MOST_INNER && tsr_size_is_const(s->loop.extent);
			if (all)
				k->inner[k->ninner++] = s;
			all = all && fits(k, &s->loop.body);
			break;
		case TSR_STMT_IF:
			for (uint32_t r = 0; r < s->cond.n; r++)
				all &= !mentions(k, &s->cond.ranges[r].index);
			all = all && fits(k, &s->cond.body);
			break;
		case TSR_STMT_LETSYM: case TSR_STMT_RANDOM: case TSR_STMT_CHECK: case TSR_STMT_KERNEL: case TSR_STMT_KINDS:
			all = false;
		}
	}
	return all;
}

static bool plain(const tsr_stmt *s)
{
	return s->kind == TSR_STMT_FOR && s->loop.how == TSR_FOR_PARALLEL && !s->loop.stream && !s->loop.overlap && tsr_size_is_const(s->loop.extent) && s->loop.extent.k > 1;
}

/* What k says of `many` is asked for; the rest is found. */
static bool understand(kinds *k, const tsr_target *t, const tsr_stmt *s)
{
	const tsr_stmt *each = s->kind == TSR_STMT_FOR && s->loop.body.n == 1 ? s->loop.body.at[0] : NULL;
	if (t->vector_bytes < LEAST_BYTES || !each || !plain(s) || !plain(each) || each->loop.split)
		return false;
	int64_t n = each->loop.extent.k, count;
	k->group = s, k->each = each, k->lanes = t->vector_bytes / BYTES;
	if ((n & (n - 1)) || __builtin_mul_overflow(n, s->loop.extent.k, &count))
		return false;
	k->lanes = 2 * count == k->lanes ? count : k->lanes;
	return n < k->lanes && count % k->lanes == 0 && fits(k, &each->loop.body) && k->sums && k->apart;
}

static tsr_groups groups_of(const kinds *k)
{
	int64_t n = k->each->loop.extent.k;
	return (tsr_groups){k->group, k->each, n, n * k->group->loop.extent.k, k->lanes};
}

bool tsr_groups_of(const tsr_loops *l, const tsr_target *t, const tsr_stmt *s, tsr_groups *out)
{
	kinds k = {.l = l};
	if (!understand(&k, t, s))
		return false;
	*out = groups_of(&k);
	return true;
}

/* Of a nest of loops that hold nothing but the next. */
static bool within(kinds *k, const tsr_loops *l, const tsr_target *t, const tsr_stmt *nest, bool turning)
{
	int64_t around = 1;
	for (const tsr_stmt *s = nest; s->kind == TSR_STMT_FOR && s->loop.body.n == 1; s = s->loop.body.at[0]) {
		*k = (kinds){.l = l, .many = turning && around >= MANY};
		if (understand(k, t, s))
			return true;
		if (!tsr_size_is_const(s->loop.extent) || __builtin_mul_overflow(around, s->loop.extent.k, &around))
			around = MANY;
	}
	return false;
}

bool tsr_groups_within(const tsr_loops *l, const tsr_target *t, const tsr_stmt *nest, bool turning, tsr_groups *out)
{
	kinds k;
	if (!within(&k, l, t, nest, turning))
		return false;
	*out = groups_of(&k);
	return true;
}

/* ---- turning --------------------------------------------------------------------------------------------------------------- */

static bool mentioned(const tsr_loops *l, const tsr_expr *load, const tsr_stmt *loop)
{
	bool found = false;
	for (uint32_t axis = 0; axis < l->buffers.at[load->load.buffer]->rank; axis++)
		found |= tsr_lin_mentions(&load->load.index[axis], loop->loop.sym);
	return found;
}

/* Which of the loops within the load mentions; how many. */
static uint32_t axes_of(const kinds *k, const tsr_expr *load, const tsr_stmt **axis)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < k->ninner; i++)
		if (mentioned(k->l, load, k->inner[i]))
			axis[n++] = k->inner[i];
	return n;
}

static tsr_buffer *turned_buffer(tsr_pass *p, const tsr_buffer *from, uint32_t n, const tsr_stmt *const *axis, int64_t count)
{
	tsr_buffer *b = tsr_pass_buffer(p, from, "turned", from->prec, n + 1);
	for (uint32_t i = 0; i < n; i++)
		b->dims[i] = axis[i]->loop.extent;
	b->dims[n] = tsr_size_const(count);
	return b;
}

/* The place in the turned buffer by the loops with these symbols, of groups and of results the last two. */
static tsr_lin *place(tsr_pass *p, uint32_t n, const uint32_t *syms, int64_t results)
{
	tsr_lin *index = TSR_NEW_N(p->arena, tsr_lin, n + 1);
	for (uint32_t i = 0; i < n; i++)
		index[i] = tsr_lin_add_sym(p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, syms[i]);
	index[n] = tsr_lin_add_sym(p->arena, tsr_lin_add_sym(p->arena, tsr_lin_const(0), results, TSR_LSYM_LOOP, syms[n]), 1, TSR_LSYM_LOOP, syms[n + 1]);
	return index;
}

static tsr_stmt *turn(tsr_pass *p, tsr_loop_unit *u, const kinds *k, tsr_expr *load, tsr_span span)
{
	const tsr_stmt *axis[MOST_INNER + 2];
	const tsr_buffer *from = p->l->buffers.at[load->load.buffer];
	uint32_t n = axes_of(k, load, axis), old[MOST_INNER + 2], syms[MOST_INNER + 2];
	tsr_lin to[MOST_INNER + 2];
	axis[n] = k->group, axis[n + 1] = k->each;
	for (uint32_t i = 0; i < n + 2; i++) {
		old[i] = axis[i]->loop.sym, syms[i] = u->nsyms++;
		to[i] = tsr_lin_add_sym(p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, syms[i]);
	}
	tsr_buffer *b = turned_buffer(p, from, n, axis, groups_of(k).count);
	tsr_stmt *s = tsr_stmt_new(p->arena, TSR_STMT_STORE, span), *kernel = tsr_stmt_new(p->arena, TSR_STMT_KERNEL, span);
	s->store.buffer = b->id;
	s->store.index = place(p, n, syms, k->each->loop.extent.k);
	s->store.value = tsr_expr_place(p->arena, p->l, tsr_expr_load(p->arena, from, load->load.index), n + 2, old, to);
	for (uint32_t i = n + 2; i-- > 0;)
		s = tsr_loop_around(p, s, axis[i], axis[i]->loop.extent, syms[i]);
	kernel->kernel.name = b->name;
	tsr_push(p->arena, &kernel->kernel.body, s);
	load->load.buffer = b->id;
	load->load.index = place(p, n, old, k->each->loop.extent.k);
	tsr_pass_note(p, "%s: %s is turned for lanes that are results of several groups", u->name, from->name);
	p->changes++;
	return kernel;
}

/* The two loops around the sum's statement alone, the inner one over the numbers of rows that the outer one and the loop around the groups choose together. */
static bool slides(const kinds *k, const tsr_stmt *row, const tsr_stmt *outer, const tsr_stmt *inner, const tsr_expr *x)
{
	tsr_expr *part[TSR_MOST_PARTS];
	bool found = false, both = false;
	for (uint32_t i = 0, n = tsr_expr_parts(x, part); i < n && !found; i++)
		found = slides(k, row, outer, inner, part[i]);
	if (found || x->kind != TSR_EXPR_LOAD)
		return found;
	const tsr_buffer *b = k->l->buffers.at[x->load.buffer];
	for (uint32_t axis = 0; axis < b->rank; axis++)
		both |= tsr_lin_mentions(&x->load.index[axis], row->loop.sym) && tsr_lin_mentions(&x->load.index[axis], outer->loop.sym);
	return both && b->rank && tsr_lin_mentions(&x->load.index[tsr_buffer_last(b)], inner->loop.sym);
}

static tsr_stmt *only_loop(const tsr_stmts *body)
{
	tsr_stmt *found = NULL;
	for (uint32_t i = 0; i < body->n; i++)
		if (body->at[i]->kind == TSR_STMT_FOR) {
			if (found)
				return NULL;
			found = body->at[i];
		}
	return found;
}

static void take_places_within(tsr_pass *p, const kinds *k, const tsr_stmt *nest)
{
	const tsr_stmt *row = NULL;
	for (const tsr_stmt *s = nest; s != k->group; s = s->loop.body.at[0])
		row = s;
	tsr_stmt *outer = only_loop(&k->each->loop.body), *inner = NULL;
	for (; outer && outer->loop.body.n == 1 && (inner = only_loop(&outer->loop.body)) && only_loop(&inner->loop.body); outer = inner)
		;
	if (!row || !outer || !inner || inner->loop.body.n != 1)
		return;
	const tsr_stmt *sum = inner->loop.body.at[0];
	if (sum->kind == TSR_STMT_IF && sum->cond.body.n == 1)
		sum = sum->cond.body.at[0];
	if (sum->kind == TSR_STMT_SET && inner->loop.extent.k <= TSR_MOST_WRITTEN && outer->loop.extent.k <= TSR_MOST_WRITTEN && inner->loop.extent.k * outer->loop.extent.k <= TSR_MOST_POSITIONS
		&& slides(k, row, outer, inner, sum->let.value)) {
		tsr_loop_exchange(outer, inner);
		p->changes++;
	}
}

/* What would be turned is not written meanwhile, and the nest stays one. */
static bool wants(tsr_pass *p, const tsr_stmt *nest, const kinds *k)
{
	if (!k->nturned)
		return false;
	tsr_uses uses = {0};
	tsr_stmt_uses(p->arena, nest, &uses);
	for (uint32_t i = 0; i < k->nturned; i++)
		if (tsr_use_writes(tsr_uses_of(&uses, k->turned[i]->load.buffer)))
			return false;
	return true;
}

void tsr_pass_groups(tsr_pass *p)
{
	for (uint32_t i = 0; i < p->l->units.n; i++) {
		tsr_loop_unit *u = p->l->units.at[i];
		tsr_stmts out = {0};
		for (uint32_t at = 0; at < u->body.n; at++) {
			tsr_stmt *kernel = u->body.at[at], *nest = kernel->kind == TSR_STMT_KERNEL && kernel->kernel.body.n == 1 ? kernel->kernel.body.at[0] : NULL;
			kinds k;
			bool stays = nest && nest->kind == TSR_STMT_FOR && within(&k, p->l, p->target, nest, true) && tsr_contract_leaves(p, nest);
			for (uint32_t t = 0, n = stays && wants(p, nest, &k) ? k.nturned : 0; t < n; t++)
				tsr_push(p->arena, &out, turn(p, u, &k, k.turned[t], kernel->span));
			if (stays)
				take_places_within(p, &k, nest);
			tsr_push(p->arena, &out, kernel);
		}
		u->body = out;
	}
}
