/* A contraction as strides: what the schedule decides from and what the emitter walks.
 *
 * An operand's linear indices, one per buffer axis, collapse to one stride per loop.  Within a class the order of loops is
 * free, so they are sorted by their stride in the operand that matters most for it, widest first, and neighbours become one
 * axis where the outer stride is the inner extent times the inner stride in every operand that mentions the class. */
#include "pass.h"
#include <stdlib.h>
#include <string.h>

bool tsr_contract_plain(const tsr_loops *l, const tsr_contraction *k, tsr_side side)
{
	const tsr_expr *v = side == TSR_SIDE_A ? k->a_value : k->b_value;
	bool pairs = k->schedule.pairs && !(side == TSR_SIDE_A ? k->schedule.pack_a : k->schedule.pack_b);
	return side == TSR_SIDE_C || (v->kind == TSR_EXPR_LOAD && l->buffers.at[v->load.buffer]->prec == (pairs ? TSR_PREC_BF16 : k->prec));
}

const tsr_expr *tsr_contract_guarded(const tsr_expr *e)
{
	while (e->kind == TSR_EXPR_LOOKUP)
		e = e->lookup.value;
	while (e->kind == TSR_EXPR_SELECT && e->select.outside->kind == TSR_EXPR_CONST && e->select.outside->value.d == 0)
		e = e->select.inside;
	return e->kind == TSR_EXPR_LOAD ? e : NULL;
}

/* The places that are looked up first. */
static bool lookups_mention(const tsr_loops *l, const tsr_expr *e, uint32_t sym)
{
	bool any = false;
	for (; e->kind == TSR_EXPR_LOOKUP; e = e->lookup.value)
		any |= tsr_expr_mentions(l, e->lookup.at, sym);
	return any;
}

static bool guards_mention(const tsr_expr *e, uint32_t sym)
{
	while (e->kind == TSR_EXPR_LOOKUP)
		e = e->lookup.value;
	for (; e->kind == TSR_EXPR_SELECT; e = e->select.inside)
		for (uint32_t i = 0; i < e->select.n; i++)
			if (tsr_lin_mentions(&e->select.ranges[i].index, sym))
				return true;
	return false;
}

/* The last index steps along this loop, no other mentions it, and no guard. */
static bool last_alone(const tsr_loops *l, const tsr_expr *x, const tsr_expr *operand, uint32_t sym)
{
	uint32_t rank = l->buffers.at[x->load.buffer]->rank;
	bool alone = rank && tsr_lin_coef(&x->load.index[rank - 1], sym) == 1;
	for (uint32_t axis = 0; axis + 1 < rank; axis++)
		alone &= !tsr_lin_mentions(&x->load.index[axis], sym);
	return alone && !guards_mention(operand, sym) && !lookups_mention(l, operand, sym);
}

/* A short stretch becomes longer by the loops of its class whose steps are its length, window by channel; rows that a guard cuts are few. */
static void join_loops(const tsr_loops *l, const tsr_contraction *k, const tsr_expr *operand, tsr_loop_class cls, tsr_stretch *s)
{
	enum { SHORT = 16 };
	const tsr_expr *x = tsr_contract_guarded(operand);
	for (uint32_t i = 0; s->length < SHORT && s->n < TSR_MOST_JOINED && i < k->nloops;) {
		const tsr_contract_loop *loop = &k->loops[i++];
		int64_t step;
		if (loop->cls != cls || !tsr_size_is_const(loop->extent) || loop->extent.k < 2 || s->length * loop->extent.k > TSR_MOST_GUARDED
			|| !tsr_index_stride(l->buffers.at[x->load.buffer], x->load.index, loop->sym, &step) || step != s->length || lookups_mention(l, operand, loop->sym))
			continue;
		memmove(&s->loop[1], &s->loop[0], s->n++ * sizeof *s->loop);
		s->loop[0] = loop->sym;
		s->length *= loop->extent.k;
		i = 0;                       /* what did not follow before may now */
	}
}

/* Loops of the class along which the operand lies side by side, at least so many elements. */
static tsr_stretch side_by_side(const tsr_loops *l, const tsr_contraction *k, const tsr_expr *operand, tsr_loop_class cls, int64_t shortest)
{
	const tsr_expr *x = tsr_contract_guarded(operand);
	if (!x || l->buffers.at[x->load.buffer]->prec != (k->schedule.pairs ? TSR_PREC_BF16 : k->prec) || k->combine != TSR_OP_MUL
		|| (k->acc != TSR_ACC_ADD && k->acc != TSR_ACC_SUB))
		return (tsr_stretch){ 0 };
	for (uint32_t i = 0; i < k->nloops; i++) {
		const tsr_contract_loop *loop = &k->loops[i];
		if (loop->cls != cls || !tsr_size_is_const(loop->extent) || loop->extent.k < 2 || !last_alone(l, x, operand, loop->sym))
			continue;
		tsr_stretch s = { 1, { loop->sym }, loop->extent.k };
		join_loops(l, k, operand, cls, &s);
		if (s.length >= shortest)
			return s;
	}
	return (tsr_stretch){ 0 };
}

/* No two loops meet in one of its axes. */
static bool no_windows(const tsr_loops *l, const tsr_expr *load)
{
	for (uint32_t axis = 0; axis < l->buffers.at[load->load.buffer]->rank; axis++)
		if (load->load.index[axis].n > 1)
			return false;
	return true;
}

/* The operand has neither padding nor windows.  Packed once it is no larger than it is. */
static bool once(const tsr_loops *l, const tsr_contraction *k, tsr_side side)
{
	return tsr_contract_plain(l, k, side) && no_windows(l, side == TSR_SIDE_A ? k->a_value : k->b_value);
}

/* C lies side by side along the stretch, too. */
static bool in_c(const tsr_loops *l, const tsr_contraction *k, const tsr_stretch *s)
{
	const tsr_buffer *c = l->buffers.at[k->c];
	int64_t length = 1, step;
	for (uint32_t i = s->n; i-- > 0;) {
		if (!tsr_index_stride(c, k->c_index, s->loop[i], &step) || step != length)
			return false;
		for (uint32_t j = 0; j < k->nloops; j++)
			length *= k->loops[j].sym == s->loop[i] ? k->loops[j].extent.k : 1;
	}
	return c->rank && tsr_lin_bare(&k->c_index[tsr_buffer_last(c)], s->loop[s->n - 1]);
}

/* Where all that is summed is one loop, rows cost tiles no more than panels would. */
tsr_stretch tsr_contract_run(const tsr_loops *l, const tsr_contraction *k)
{
	enum { SHORTEST = 3 };
	uint32_t summed = 0;
	for (uint32_t i = 0; i < k->nloops; i++)
		summed += k->loops[i].cls == TSR_CLASS_K;
	if (summed > 1 && once(l, k, TSR_SIDE_A))
		return (tsr_stretch){ 0 };
	return side_by_side(l, k, k->a_value, TSR_CLASS_K, SHORTEST);
}

tsr_stretch tsr_contract_across(const tsr_loops *l, const tsr_contraction *k)
{
	enum { SHORTEST = 8, FEW_ROWS = 16 };
	int64_t rows = 1;
	for (uint32_t i = 0; i < k->nloops; i++)
		if (k->loops[i].cls == TSR_CLASS_M)
			rows *= tsr_size_is_const(k->loops[i].extent) ? k->loops[i].extent.k : FEW_ROWS;
	/* rows that are looked up lie far apart: each tile would find as many pages as it has depths */
	bool apart = k->b_value->kind == TSR_EXPR_LOOKUP && tsr_contract_guarded(k->b_value) && no_windows(l, tsr_contract_guarded(k->b_value));
	if (rows >= FEW_ROWS && (apart || once(l, k, TSR_SIDE_B)))
		return (tsr_stretch){ 0 };
	tsr_stretch across = side_by_side(l, k, k->b_value, TSR_CLASS_N, SHORTEST);
	return across.n && in_c(l, k, &across) ? across : (tsr_stretch){ 0 };
}

bool tsr_walks_along(const tsr_walks *x, tsr_side side)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (x->at[i].known && x->at[i].stride[side] == 1)
			return true;
	return false;
}

enum { LINE = 64, PAGE = 4096 };

/* No two neighbours along any of these loops lie in one page of this side. */
static bool far_apart(const tsr_loops *l, const tsr_contraction *k, const tsr_walks *x, tsr_side side)
{
	int64_t bytes = tsr_prec_bytes(l->buffers.at[k->c]->prec);
	for (uint32_t i = 0; i < x->n; i++)
		if (!x->at[i].known || llabs(x->at[i].stride[side]) * bytes < PAGE)
			return false;
	return true;
}

/* A loop along which both operands lie side by side. */
static bool same_unit(const tsr_walks *x)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (x->at[i].known && x->at[i].stride[TSR_SIDE_A] == 1 && x->at[i].stride[TSR_SIDE_B] == 1)
			return true;
	return false;
}

/* Which operand's order of memory a class follows.  What is summed: A's where A lies side by side along a loop of it, whose
 * narrow panels then come out in whole vectors, and B does not along the same; else B's.  Rows: A's where A is read
 * from more places than C is written to, as far as they are known, and where each row is a page of its own in C whatever the order, or, in thirds, where C's columns
 * lie side by side; all else C's. */
static tsr_side leading_side(const tsr_loops *l, const tsr_contraction *k, const tsr_walks *x, tsr_loop_class cls, const bool *plain)
{
	if (cls == TSR_CLASS_K)
		return plain[TSR_SIDE_B] && (!plain[TSR_SIDE_A] || !tsr_walks_along(x, TSR_SIDE_A) || same_unit(x)) ? TSR_SIDE_B : TSR_SIDE_A;
	int64_t depth = 1, columns = 1;
	for (uint32_t i = 0; i < k->nloops; i++) {
		int64_t n = tsr_size_is_const(k->loops[i].extent) ? k->loops[i].extent.k : 1;
		depth *= k->loops[i].cls == TSR_CLASS_K ? n : 1;
		columns *= k->loops[i].cls == TSR_CLASS_N ? n : 1;
	}
	if (cls != TSR_CLASS_M || !plain[TSR_SIDE_A])
		return TSR_SIDE_C;
	if (k->schedule.thirds && !tsr_walks_along(x, TSR_SIDE_C))
		return TSR_SIDE_A;
	return (tsr_walks_along(x, TSR_SIDE_A) && depth * 4 >= columns) || far_apart(l, k, x, TSR_SIDE_C) ? TSR_SIDE_A : TSR_SIDE_C;
}

static bool fusable(const tsr_walk *outer, const tsr_walk *inner)
{
	if (!outer->known || !inner->known || !tsr_size_is_const(inner->extent))
		return false;
	for (int side = 0; side < TSR_SIDES; side++)
		if (outer->stride[side] != inner->stride[side] * inner->extent.k)
			return false;
	return true;
}

static void sort_axes(tsr_walks *x, tsr_side side)
{
	for (uint32_t i = 1; i < x->n; i++)
		for (uint32_t j = i; j > 0; j--) {
			tsr_walk *p = &x->at[j - 1], *q = &x->at[j];
			if (p->known && q->known && llabs(p->stride[side]) >= llabs(q->stride[side]))
				break;
			if (!p->known)
				break;
			tsr_walk t = *p;
			*p = *q;
			*q = t;
		}
}

/* The stretches along which rows are read in place run fastest. */
static void run_last(tsr_walks *x, const tsr_stretch *run)
{
	for (uint32_t j = 0; j < run->n; j++)
		for (uint32_t i = 0; i + 1 < x->n; i++)
			if (x->at[i].sym == run->loop[j]) {
				tsr_walk t = x->at[i];
				x->at[i] = x->at[i + 1];
				x->at[i + 1] = t;
			}
}

static void fuse_axes(tsr_arena *a, tsr_walks *x)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < x->n; i++) {
		if (n && fusable(&x->at[n - 1], &x->at[i])) {
			tsr_walk *outer = &x->at[n - 1];
			tsr_size extent = tsr_size_scale(a, outer->extent, x->at[i].extent.k);
			uint32_t sym = outer->sym;
			*outer = x->at[i];
			outer->sym = sym;
			outer->extent = extent;
		} else
			x->at[n++] = x->at[i];
	}
	x->n = n;
}

/* Of what both operands' lines lie along, in one block: of columns, in thirds those of one panel; of depths, so many that as many of the other loop, and more, are in it, too. */
enum { LONGEST = 64, LONGEST_IN_THIRDS = 32, LONGEST_DEPTHS = 24 };

/* A divisor of an extent, at most `longest`, that is worth a turned block, in whole vectors as far as can be; the extent itself where there is none. */
static int64_t chunk_of(int64_t extent, int64_t longest)
{
	enum { LEAST = 12, LANES = 16 };
	int64_t best = extent;
	double most = 0;
	for (int64_t c = longest; c >= LEAST; c--) {
		double full = (double)c / (double)((c + LANES - 1) / LANES * LANES);
		if (extent % c == 0 && full > most) {
			most = full;
			best = c;
		}
	}
	return extent > longest ? best : extent;
}

static uint32_t unit_of(const tsr_walks *x, tsr_side side)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (x->at[i].known && x->at[i].stride[side] == 1)
			return i;
	return TSR_NONE;
}

/* Of the last axis a part stays last, the one at u comes before it, and before that the rest of the last one. */
static void part_last(tsr_walks *x, uint32_t u, int64_t longest)
{
	tsr_walk unit = x->at[u], part = x->at[x->n - 1], rest = part;
	int64_t chunk = chunk_of(part.extent.k, longest);
	part.extent = tsr_size_const(chunk);
	rest.extent = tsr_size_const(rest.extent.k / chunk);
	for (int side = 0; side < TSR_SIDES; side++)
		rest.stride[side] *= chunk;
	for (uint32_t i = u; i + 2 < x->n; i++)
		x->at[i] = x->at[i + 1];
	x->n -= 2;
	if (rest.extent.k > 1)
		x->at[x->n++] = rest;
	x->at[x->n++] = unit;
	x->at[x->n++] = part;
}

/* The class follows `lead`; `other` lies side by side along another axis than the last.  A stretch of both should fit a block, so that packing
 * finds whole cache lines of each.  What counts positions by loops has no part in such a class. */
static void interleave(tsr_walks *x, tsr_side lead, tsr_side other, int64_t longest)
{
	uint32_t u = tsr_walks_known(x) ? unit_of(x, other) : TSR_NONE;
	if (u != TSR_NONE && u + 1 < x->n && x->at[x->n - 1].stride[lead] == 1)
		part_last(x, u, longest);
}

/* How many elements lie side by side along the loops of a class. */
static int64_t side_by_side_along(const tsr_walks *x, tsr_side side)
{
	int64_t run = 1;
	for (uint32_t i = 0; i < x->n;) {
		bool follows = x->at[i].known && tsr_size_is_const(x->at[i].extent) && x->at[i].extent.k > 1 && x->at[i].stride[side] == run;
		run *= follows ? x->at[i].extent.k : 1;
		i = follows ? 0 : i + 1;         /* what did not follow before may now */
	}
	return run;
}

/* The axis of what is summed with which a stretch of this operand's rows or columns goes on that is shorter than a line, or none. */
static uint32_t goes_on(const tsr_walks *x, const tsr_walks *positions, tsr_side side, int64_t line)
{
	int64_t run = side_by_side_along(positions, side);
	for (uint32_t i = 0; run > 1 && run < line && i < x->n; i++)
		if (x->at[i].stride[side] == run)
			return i;
	return TSR_NONE;
}

/* No two columns but those side by side lie in one page of B, whatever the order of what is summed. */
static bool columns_apart(const tsr_walks *columns, int64_t page)
{
	for (uint32_t i = 0; i < columns->n; i++)
		if (!columns->at[i].known || (columns->at[i].stride[TSR_SIDE_B] != 1 && columns->at[i].stride[TSR_SIDE_B] < page))
			return false;
	return true;
}

/* What is summed follows B.  The axis with which short stretches of A's rows go on comes last, or each line would be read for some of its depths and come again for
 * the others (1 to 2 %).  Not where B's columns are such stretches; B must lose nothing by it: whole lines along another axis still fit a block, or each of its
 * rows is from many pages (else it would be read in another order than it lies in, 1 to 2 % slower). */
static void go_on(tsr_walks *x, const tsr_walks *rows, const tsr_walks *columns, int64_t bytes)
{
	int64_t line = LINE / bytes;
	uint32_t w = tsr_walks_known(x) ? goes_on(x, rows, TSR_SIDE_A, line) : TSR_NONE, along = unit_of(x, TSR_SIDE_B);
	if (w == TSR_NONE || w + 1 == x->n || goes_on(x, columns, TSR_SIDE_B, line) != TSR_NONE)
		return;
	if (along != TSR_NONE ? x->at[along].extent.k < line : !columns_apart(columns, PAGE / bytes))
		return;
	tsr_walk next = x->at[w];
	for (uint32_t i = w; i + 1 < x->n; i++)
		x->at[i] = x->at[i + 1];
	x->at[x->n - 1] = next;
	if (along != TSR_NONE)
		part_last(x, unit_of(x, TSR_SIDE_B), LONGEST_DEPTHS);
}

/* The part of the axis at `at` that positions count next, before what comes last; the rest of it stays where it is, if there is any. */
static tsr_walk take_part(tsr_walks *x, uint32_t at, int64_t chunk)
{
	tsr_walk part = x->at[at], *rest = &x->at[at];
	part.extent = tsr_size_const(chunk);
	rest->extent = tsr_size_const(rest->extent.k / chunk);
	for (int side = 0; side < TSR_SIDES; side++)
		rest->stride[side] *= chunk;
	if (rest->extent.k > 1)
		return part;
	x->n--;
	for (uint32_t i = at; i < x->n; i++)
		x->at[i] = x->at[i + 1];
	return part;
}

/* What one step of all that is summed skips in B is more than a page: of B nothing but columns is read in one piece. */
static bool steps_far(const tsr_contraction *k, const tsr_buffer *b)
{
	int64_t least = INT64_MAX, stride;
	for (uint32_t i = 0; i < k->nloops; i++)
		if (k->loops[i].cls == TSR_CLASS_K && tsr_index_stride(b, k->b_index, k->loops[i].sym, &stride) && stride < least)
			least = stride;
	return least > PAGE / tsr_prec_bytes(k->prec);
}

/* The class follows B, and C lies side by side along w, another axis than the last: of w a part comes before the last, so that squares of
 * the two can be turned into lines of C.  Where the last axis is short, so does a part of the one that lies around it in B, between the two.
 * `cut`: so does only a part of the last axis where all of it would be more than so many columns.  `far`: long pieces of B are worth more than
 * long ones of C (4 to 10 %; where the next depth follows in B 6 % less). */
static void part_for_turning(tsr_walks *x, int64_t columns, bool cut, bool far)
{
	enum { LANES = 16, LONG = 400, SIDE_BY_SIDE = 3 };          /* vectors of one row that go to C together */
	uint32_t w = unit_of(x, TSR_SIDE_C);
	tsr_walk inner = x->at[--x->n], around = { .extent = tsr_size_const(1) };
	int64_t width = x->at[w].extent.k % LANES ? chunk_of(x->at[w].extent.k, LONGEST) : (SIDE_BY_SIDE - far) * LANES;
	while (width > LANES && x->at[w].extent.k % LANES == 0 && (x->at[w].extent.k % width || width * inner.extent.k > columns))
		width -= LANES;
	int64_t most = (columns / width < LONG ? columns / width : LONG) / inner.extent.k;
	if (x->n - 1 != w && x->at[x->n - 1].stride[TSR_SIDE_B] == inner.stride[TSR_SIDE_B] * inner.extent.k) {
		while (most > 1 && x->at[x->n - 1].extent.k % most)
			most--;
		if (most > 1)
			around = take_part(x, x->n - 1, most);
	}
	tsr_walk part = take_part(x, w, width);
	int64_t piece = inner.extent.k;
	while (cut && piece > LANES && (inner.extent.k % piece || piece % LANES || width * piece > columns))
		piece--;
	if (inner.extent.k % piece == 0) {
		x->at[x->n++] = inner;
		inner = take_part(x, x->n - 1, piece);
	}
	x->at[x->n++] = part;
	if (around.extent.k > 1)
		x->at[x->n++] = around;
	x->at[x->n++] = inner;
}

bool tsr_contract_turns(const tsr_loops *l, const tsr_contraction *k)
{
	tsr_contract_view v;
	const tsr_walks *n = &v.cls[TSR_CLASS_N];
	bool before = false;
	if (!k->clear || k->tail || k->run.n || k->across.n || !tsr_contract_plain(l, k, TSR_SIDE_B))
		return false;
	tsr_contraction plain = *k;
	plain.turned = 0;
	tsr_contract_view_make(l, &plain, &v);
	uint32_t w = unit_of(n, TSR_SIDE_C);
	for (uint32_t i = 0; w != TSR_NONE && i < n->n; i++) {
		const tsr_walk *x = &n->at[i];
		if (!x->known || !tsr_size_is_const(x->extent) || x->stride[TSR_SIDE_B] <= 0 || x->stride[TSR_SIDE_C] <= 0)
			return false;
		before |= x->stride[TSR_SIDE_B] < n->at[w].stride[TSR_SIDE_B];
	}
	return before;
}

void tsr_contract_view_make(const tsr_loops *l, const tsr_contraction *k, tsr_contract_view *out)
{
	tsr_arena *arena = l->tc->arena;
	const tsr_buffer_id id[TSR_SIDES] = { k->c, k->a, k->b };
	const tsr_buffer *buffers[TSR_SIDES];
	const tsr_lin *index[TSR_SIDES] = { k->c_index, k->a_index, k->b_index };
	bool plain[TSR_SIDES];
	for (int side = 0; side < TSR_SIDES; side++) {
		plain[side] = tsr_contract_plain(l, k, (tsr_side)side) && (side != TSR_SIDE_A || k->run.n == 0)
			&& (side != TSR_SIDE_B || k->across.n == 0);
		buffers[side] = plain[side] ? l->buffers.at[id[side]] : NULL;
	}
	for (int cls = 0; cls < TSR_CLASSES; cls++) {
		tsr_walks *x = &out->cls[cls];
		x->n = 0;
		x->at = TSR_NEW_N(arena, tsr_walk, k->nloops + 4);     /* three may be parted */
		for (uint32_t i = 0; i < k->nloops; i++) {
			const tsr_contract_loop *loop = &k->loops[i];
			if ((int)loop->cls != cls || (tsr_size_is_const(loop->extent) && loop->extent.k == 1))
				continue;
			tsr_walk *axis = &x->at[x->n++];
			*axis = (tsr_walk){ .sym = loop->sym, .extent = loop->extent, .known = true };
			for (int side = 0; side < TSR_SIDES; side++)
				axis->known &= !plain[side] || tsr_index_stride(buffers[side], index[side], loop->sym, &axis->stride[side]);
		}
		bool turned = cls == TSR_CLASS_N && k->turned;
		tsr_side lead = turned ? TSR_SIDE_B : leading_side(l, k, x, (tsr_loop_class)cls, plain);
		sort_axes(x, lead);
		run_last(x, cls == TSR_CLASS_N ? &k->across : &k->run);
		x->nloops = x->n;
		x->loop = TSR_NEW_N(arena, tsr_contract_loop, x->n + 1);
		for (uint32_t i = 0; i < x->n; i++)
			x->loop[i] = (tsr_contract_loop){ .sym = x->at[i].sym, .extent = x->at[i].extent, .cls = (tsr_loop_class)cls };
		if (cls != TSR_CLASS_BATCH || (plain[TSR_SIDE_A] && plain[TSR_SIDE_B] && !k->tail))     /* expressions want the loops themselves */
			fuse_axes(l->tc->arena, x);
		if (turned)
			part_for_turning(x, k->turned, k->cut, steps_far(k, buffers[TSR_SIDE_B]));
		else if (cls == TSR_CLASS_N && plain[TSR_SIDE_B])
			interleave(x, TSR_SIDE_C, TSR_SIDE_B, k->schedule.thirds ? LONGEST_IN_THIRDS : LONGEST);
		if (cls == TSR_CLASS_K && plain[TSR_SIDE_A] && plain[TSR_SIDE_B])
			interleave(x, lead, lead == TSR_SIDE_A ? TSR_SIDE_B : TSR_SIDE_A, LONGEST_DEPTHS);
		if (cls == TSR_CLASS_K && plain[TSR_SIDE_A] && plain[TSR_SIDE_B] && lead == TSR_SIDE_B)
			go_on(x, &out->cls[TSR_CLASS_M], &out->cls[TSR_CLASS_N], tsr_prec_bytes(k->prec));
	}
}

bool tsr_walks_known(const tsr_walks *x)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (!x->at[i].known || !tsr_size_is_const(x->at[i].extent))
			return false;
	return true;
}

bool tsr_walks_unit(const tsr_walks *x, tsr_side side)
{
	return x->n == 0 || (x->n == 1 && x->at[0].known && x->at[0].stride[side] == 1);
}

int64_t tsr_walks_count(const tsr_walks *x)
{
	int64_t n = 1;
	for (uint32_t i = 0; i < x->n; i++) {
		if (!tsr_size_is_const(x->at[i].extent))
			return -1;
		n *= x->at[i].extent.k;
	}
	return n;
}

uint32_t tsr_walks_longest(const tsr_walks *x)
{
	uint32_t best = 0;
	for (uint32_t i = 1; i < x->n; i++) {
		const tsr_size *a = &x->at[i].extent, *b = &x->at[best].extent;
		if (tsr_size_is_const(*b) && (!tsr_size_is_const(*a) || a->k > b->k))
			best = i;
	}
	return best;
}

bool tsr_contract_one_block(const tsr_contraction *k)
{
	int64_t depth = 1;
	for (uint32_t i = 0; i < k->nloops; i++)
		if (k->loops[i].cls == TSR_CLASS_K)
			depth *= tsr_size_is_const(k->loops[i].extent) ? k->loops[i].extent.k : INT32_MAX;
	return k->clear && k->schedule.mr && depth <= k->schedule.kc;
}

/* ---- loops by their classes ------------------------------------------------------------------------------------------------- */

tsr_loop_class tsr_contract_class(const tsr_contraction *k, uint32_t sym)
{
	for (uint32_t i = 0; i < k->nloops; i++)
		if (k->loops[i].sym == sym)
			return k->loops[i].cls;
	return TSR_CLASSES;
}

int64_t tsr_contract_count(const tsr_contraction *k, tsr_loop_class cls)
{
	int64_t n = 1;
	for (uint32_t i = 0; i < k->nloops; i++)
		if (k->loops[i].cls == cls)
			n = tsr_size_is_const(k->loops[i].extent) && n < INT32_MAX ? n * k->loops[i].extent.k : INT32_MAX;
	return n;
}
