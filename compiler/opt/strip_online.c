/* A softmax in a strip whose rows are long goes by blocks of their positions, with a running maximum (the online softmax of Milakov and Gimelshein, 2018; what attention makes of it is
 * Dao et al., FlashAttention, 2022): so a strip holds some rows of one block, however long the rows are.
 *
 *     for strips {                                            for strips { top[s] = least;  total[s] = 0;  y[s, e] = 0
 *       scores[s, t] = sum over d                               for blocks of t {
 *       for s { m = max over t of scores                          scores[s, t] = sum over d, of the block
 *         top[s] = scaled(m)                                      for s { m = max over the block
 *         weights[s, t] = exp(scores .. - top[s])                   factor[s] = exp(top[s] - max(scaled(m), top[s]));  top[s] = max(scaled(m), top[s])
 *         total[s] = sum over t of weights }                        weights[s, t] = exp(scores .. - top[s]);  total[s] = total[s] factor[s] + sum over the block }
 *       y[s, e] = sum over t of weights * v                       y[s, e] *= factor[s];  y[s, e] += sum over the block } .. }
 *       .. }
 *
 * Sums are linear in the weights, so that what earlier blocks have added is scaled where the maximum rises.  `scaled` is monotone: a multiple, a quotient, a difference.  The running maximum begins at the
 * least finite number rather than at -inf, of which no difference may be taken: a block of nothing but -inf has weights of 0 then.  A whole row of them has a total of 0, as no other row has, whose
 * numbers are made -inf and NaN in the end, as they are where nothing goes by blocks.
 *
 * Where the row goes on with weights / total, as gradients do, there are two sweeps over the blocks.  The first one takes the sums, those of products with the weights, too, divided by the total at its end;
 * the second one computes scores and exponentials again, and everything else with them:
 *
 *     for s { ..; weights[s, t] = e[t] / total[s];  dot[s] = sum over t of weights * x[s, t];  y[s, t] = weights * (x[s, t] - dot[s]) }      z[s, e] = sum over t of y * v
 *     for blocks of t { scores, x;  top, total;  dot[s] = dot[s] factor[s] + sum over the block of e * x }      dot[s] /= total[s]
 *     for blocks of t { scores, x;  e;  weights;  y;  z[s, e] += sum over the block } */
#include "strip.h"

/* ---- whether it may ------------------------------------------------------------------------------------------------------- */

/* Statements of the softmax's row: what each is, in this order; others follow where there are two sweeps. */
enum { LEAST_OF_MAX, WALK_MAX, WALK_WEIGHTS = TSR_ONLINE_WEIGHTS, ZERO_OF_TOTAL, WALK_TOTAL };

/* Its axis of this tag; its rank where there is none. */
static uint32_t axis_of(const tsr_strip *g, tsr_buffer_id b, uint32_t tag)
{
	uint32_t axis = 0, rank = g->p->l->buffers.at[b]->rank;
	while (axis < rank && tsr_strip_axis_tag(g, b, axis) != tag)
		axis++;
	return axis;
}

static bool bare(const tsr_strip *g, const tsr_access *x, uint32_t axis, uint32_t tag)
{
	return axis < g->p->l->buffers.at[x->buffer]->rank && x->index[axis].n == 1 && tsr_lin_bare(&x->index[axis], x->index[axis].terms[0].id)
		&& tsr_strip_loop_tag(g, x->index[axis].terms[0].id) == tag;
}

static bool walks(const tsr_strip *g, const tsr_stmt *s, tsr_for_kind how)
{
	return s->kind == TSR_STMT_FOR && s->loop.how == how && s->loop.body.n == 1 && tsr_strip_loop_tag(g, s->loop.sym) == g->online.walk;
}

static bool is_op(const tsr_expr *e, tsr_op op) { return e->kind == TSR_EXPR_OP && e->op.op == op; }
static bool positive(const tsr_expr *e) { return e->kind == TSR_EXPR_CONST && tsr_prec_is_float(e->prec) && e->value.d > 0; }

/* It does not fall where the local rises. */
static bool monotone(const tsr_expr *e, tsr_local_id m)
{
	if (tsr_expr_is_local(e, m))
		return true;
	const tsr_expr *x = e->kind == TSR_EXPR_OP ? e->op.args[0] : NULL, *y = x ? e->op.args[1] : NULL;
	return (is_op(e, TSR_OP_MUL) && ((monotone(x, m) && positive(y)) || (positive(x) && monotone(y, m)))) || (is_op(e, TSR_OP_DIV) && monotone(x, m) && positive(y))
		|| ((is_op(e, TSR_OP_ADD) || is_op(e, TSR_OP_SUB)) && monotone(x, m) && y->kind == TSR_EXPR_CONST);
}

/* The walk is local = op(local, x), which began so. */
static const tsr_expr *gathered(const tsr_stmt *let, const tsr_stmt *walk, tsr_op op, tsr_acc acc)
{
	const tsr_stmt *set = walk->loop.body.at[0];
	if (let->kind != TSR_STMT_LET || !tsr_expr_is_neutral(let->let.value, acc) || set->kind != TSR_STMT_SET || set->let.local != let->let.local || !is_op(set->let.value, op)
		|| !tsr_expr_is_local(set->let.value->op.args[0], let->let.local) || tsr_expr_reads_local(set->let.value->op.args[1], let->let.local))
		return NULL;
	return set->let.value->op.args[1];
}

/* exp(x - top), where x knows neither top nor what the row has gathered. */
static bool exponential(const tsr_strip *g, const tsr_stmt *walk, const tsr_stmt *top, tsr_local_id m)
{
	const tsr_stmt *store = walk->loop.body.at[0];
	if (store->kind != TSR_STMT_STORE || !is_op(store->store.value, TSR_OP_EXP) || !is_op(store->store.value->op.args[0], TSR_OP_SUB))
		return false;
	const tsr_expr *x = store->store.value->op.args[0]->op.args[0], *y = store->store.value->op.args[0]->op.args[1];
	return tsr_expr_is_element(g->p->l, y, top) && !tsr_expr_reads(x, top->store.buffer) && !tsr_expr_reads_local(x, m);
}

/* The total of the weights, which nothing else is added to. */
static bool is_total(const tsr_strip *g, tsr_stmt **s, tsr_buffer_id weights)
{
	const tsr_expr *x = walks(g, s[WALK_TOTAL], TSR_FOR_REDUCE) ? gathered(s[ZERO_OF_TOTAL], s[WALK_TOTAL], TSR_OP_ADD, TSR_ACC_ADD) : NULL;
	return x && x->kind == TSR_EXPR_LOAD && x->load.buffer == weights && s[TSR_ONLINE_TOTAL]->kind == TSR_STMT_STORE
		&& tsr_expr_is_local(s[TSR_ONLINE_TOTAL]->store.value, s[ZERO_OF_TOTAL]->let.local);
}

/* weights / total. */
static bool is_quotient(const tsr_strip *g, const tsr_stmt *walk, tsr_buffer_id weights, const tsr_stmt *total)
{
	const tsr_expr *v = walks(g, walk, TSR_FOR_PARALLEL) && walk->loop.body.at[0]->kind == TSR_STMT_STORE ? walk->loop.body.at[0]->store.value : NULL;
	return v && is_op(v, TSR_OP_DIV) && v->op.args[0]->kind == TSR_EXPR_LOAD && v->op.args[0]->load.buffer == weights && tsr_expr_is_element(g->p->l, v->op.args[1], total);
}

/* What a statement of the row stores. */
static tsr_buffer_id stored(const tsr_stmt *s)
{
	const tsr_stmt *x = s->kind == TSR_STMT_FOR ? s->loop.body.at[0] : s;
	return x->kind == TSR_STMT_STORE ? x->store.buffer : TSR_NONE;
}

/* A product with b as one factor, and nothing else of what the row stores: the first sweep has it. */
static bool multiple(const tsr_stmts *row, const tsr_expr *e, tsr_buffer_id b)
{
	if (e->kind == TSR_EXPR_LOAD && e->load.buffer == b)
		return true;
	if (is_op(e, TSR_OP_MUL) && tsr_expr_reads(e->op.args[1], b))
		return multiple(row, e->op.args[1], b) && !tsr_expr_reads(e->op.args[0], b);
	return (is_op(e, TSR_OP_MUL) || is_op(e, TSR_OP_DIV)) && multiple(row, e->op.args[0], b) && !tsr_expr_reads(e->op.args[1], b);
}

static bool alone(const tsr_stmts *row, const tsr_expr *e, tsr_buffer_id b, uint32_t until)
{
	for (uint32_t i = 0; i < until; i++)
		if (stored(row->at[i]) != TSR_NONE && stored(row->at[i]) != b && tsr_expr_reads(e, stored(row->at[i])))
			return false;
	return true;
}

/* A store of what the row's numbers say, behind all that they are made of: no local, and nothing that has positions. */
static bool concludes(const tsr_strip *g, const tsr_stmt *s)
{
	tsr_uses uses = { 0 };
	if (s->kind != TSR_STMT_STORE || tsr_expr_has_locals(s->store.value))
		return false;
	tsr_expr_uses(g->a, s->store.value, &uses);
	for (uint32_t i = 0; i < uses.v.n; i++)
		if (axis_of(g, uses.v.at[i].buffer, g->online.walk) < g->p->l->buffers.at[uses.v.at[i].buffer]->rank)
			return false;
	return true;
}

/* A sum over the row of products with the quotients b, stored as it is: three statements. */
static bool sums_quotients(const tsr_strip *g, const tsr_stmts *row, uint32_t i, tsr_buffer_id b)
{
	tsr_stmt **s = row->at;
	const tsr_expr *x = i + 2 < row->n && walks(g, s[i + 1], TSR_FOR_REDUCE) ? gathered(s[i], s[i + 1], TSR_OP_ADD, TSR_ACC_ADD) : NULL;
	return x && multiple(row, x, b) && alone(row, x, b, i) && s[i + 2]->kind == TSR_STMT_STORE && tsr_expr_is_local(s[i + 2]->store.value, s[i]->let.local)
		&& g->p->l->buffers.at[stored(s[i + 2])]->prec == g->p->l->buffers.at[stored(s[TSR_ONLINE_TOP])]->prec;
}

/* What follows the total: quotients by it, sums of products with them, and walks of positions; and numbers that all that says. */
static bool goes_on(tsr_strip *g, const tsr_stmts *row)
{
	tsr_stmt **s = row->at;
	uint32_t i = TSR_ONLINE_QUOTIENT;
	tsr_buffer_id b = TSR_NONE;
	g->online.twice = i < row->n && is_quotient(g, s[i], stored(s[WALK_WEIGHTS]), s[TSR_ONLINE_TOTAL]);
	if (g->online.twice)
		b = stored(s[i++]);
	for (; i < row->n; i++) {
		if (g->online.twice && sums_quotients(g, row, i, b))
			i += 2;
		else if (!concludes(g, s[i]) && !(g->online.twice && walks(g, s[i], TSR_FOR_PARALLEL) && stored(s[i]) != TSR_NONE))
			return false;
	}
	return true;
}

/* The member is the softmax, row by row. */
static bool is_softmax(tsr_strip *g, const tsr_strip_member *m)
{
	const tsr_stmts *row = tsr_strip_innermost(&m->kernel->kernel.body);
	tsr_stmt **s = row->at;
	if (m->contraction || row->n <= TSR_ONLINE_TOTAL || !walks(g, s[WALK_MAX], TSR_FOR_REDUCE) || !walks(g, s[WALK_WEIGHTS], TSR_FOR_PARALLEL)
		|| s[TSR_ONLINE_TOP]->kind != TSR_STMT_STORE)
		return false;
	for (uint32_t i = 0; i < m->nest.n; i++)
		if (m->nest.loop[i]->loop.how == TSR_FOR_REDUCE || tsr_strip_loop_tag(g, m->nest.loop[i]->loop.sym) == g->online.walk)
			return false;
	if (!gathered(s[LEAST_OF_MAX], s[WALK_MAX], TSR_OP_MAX, TSR_ACC_MAX) || !monotone(s[TSR_ONLINE_TOP]->store.value, s[LEAST_OF_MAX]->let.local)
		|| !exponential(g, s[WALK_WEIGHTS], s[TSR_ONLINE_TOP], s[LEAST_OF_MAX]->let.local))
		return false;
	g->online.top = stored(s[TSR_ONLINE_TOP]), g->online.weights = stored(s[WALK_WEIGHTS]), g->online.total = stored(s[TSR_ONLINE_TOTAL]);
	return is_total(g, s, g->online.weights) && goes_on(g, row);
}

static bool has_walk(const tsr_strip *g, const tsr_stmts *body)
{
	bool found = false;
	for (uint32_t i = 0; i < body->n && !found; i++)
		found = body->at[i]->kind == TSR_STMT_FOR && (tsr_strip_loop_tag(g, body->at[i]->loop.sym) == g->online.walk || has_walk(g, &body->at[i]->loop.body));
	return found;
}

static bool touches(const tsr_strip_member *m, tsr_buffer_id b)
{
	bool found = false;
	for (uint32_t i = 0; i < m->x.v.n && !found; i++)
		found = m->x.v.at[i].buffer == b;
	return found;
}

/* The member touches what the softmax's row says in numbers, which change from block to block. */
static bool touches_numbers(const tsr_strip *g, const tsr_strip_member *m)
{
	const tsr_accesses *x = &g->member[g->online.rows].x;
	bool found = false;
	for (uint32_t i = 0; i < x->v.n && !found; i++)
		found = x->v.at[i].write && axis_of(g, x->v.at[i].buffer, g->online.walk) == g->p->l->buffers.at[x->v.at[i].buffer]->rank && touches(m, x->v.at[i].buffer);
	return found;
}

/* What the member computes for a position hangs on no other one, and is kept for the strip. */
static bool each_alone(const tsr_strip *g, const tsr_strip_member *m)
{
	const tsr_stmt *loop = NULL;
	for (uint32_t i = 0; i < m->nest.n; i++)
		if (tsr_strip_loop_tag(g, m->nest.loop[i]->loop.sym) == g->online.walk)
			loop = loop ? NULL : m->nest.loop[i];
	if (!loop || loop->loop.how == TSR_FOR_REDUCE)
		return false;
	for (uint32_t i = 0; i < m->x.v.n; i++)
		if (m->x.v.at[i].write && axis_of(g, m->x.v.at[i].buffer, g->online.walk) == g->p->l->buffers.at[m->x.v.at[i].buffer]->rank)
			return false;
	return true;
}

/* It sums over the positions, alone. */
bool tsr_online_sums(const tsr_strip *g, const tsr_strip_member *m)
{
	const tsr_contraction *k = m->contraction;
	bool found = false;
	for (uint32_t i = 0; k && i < k->nloops; i++)
		found |= k->loops[i].cls == TSR_CLASS_K && tsr_strip_loop_tag(g, k->loops[i].sym) == g->online.walk;
	return found;
}

/* Nothing else in the blocks touches what the product makes, and it does so at this axis by a bare loop. */
static bool makes_alone(const tsr_strip *g, const tsr_strip_member *m, uint32_t tag)
{
	tsr_buffer_id c = m->contraction->c;
	uint32_t axis = axis_of(g, c, tag);
	for (uint32_t i = 0; i < m->x.v.n; i++)
		if (m->x.v.at[i].buffer == c && !bare(g, &m->x.v.at[i], axis, tag))
			return false;
	for (uint32_t i = 0; i < g->online.last; i++)
		if (&g->member[i] != m && touches(&g->member[i], c))
			return false;
	return axis < g->p->l->buffers.at[c]->rank;
}

/* A product summed over positions, block by block, of the weights as they are where these change from block to block; in the precision of the total. */
static bool sums_blocks(const tsr_strip *g, const tsr_strip_member *m)
{
	const tsr_contraction *k = m->contraction;
	const tsr_online *o = &g->online;
	uint32_t reads = 0;
	for (uint32_t i = 0; i < k->nloops; i++)
		if (k->loops[i].cls != TSR_CLASS_K && tsr_strip_loop_tag(g, k->loops[i].sym) == o->walk)
			return false;
	if (k->tail || !k->clear || g->p->l->buffers.at[k->c]->prec != g->p->l->buffers.at[o->top]->prec || !makes_alone(g, m, g->cut))
		return false;
	for (uint32_t i = 0; i < m->x.v.n; i++)
		reads += m->x.v.at[i].buffer == o->weights;
	return o->twice || (k->acc == TSR_ACC_ADD && k->combine == TSR_OP_MUL && (k->a == o->weights) != (k->b == o->weights) && reads == 1 && !touches_numbers(g, m));
}

/* A member behind the softmax. */
static bool follows(const tsr_strip *g, const tsr_strip_member *m)
{
	if (!m->contraction || !m->contraction->schedule.mr)
		return false;
	if (tsr_online_sums(g, m))
		return sums_blocks(g, m);
	for (uint32_t i = 0; i < m->nest.n; i++)
		if (tsr_strip_loop_tag(g, m->nest.loop[i]->loop.sym) == g->online.walk && m->nest.loop[i]->loop.how == TSR_FOR_REDUCE)
			return false;
	return g->online.twice && makes_alone(g, m, g->online.walk);
}

static bool writes(const tsr_strip_member *m, tsr_buffer_id b)
{
	bool found = false;
	for (uint32_t i = 0; i < m->x.v.n && !found; i++)
		found = m->x.v.at[i].write && m->x.v.at[i].buffer == b;
	return found;
}

/* What the softmax and the members before it write with an axis of positions is kept to the strip, or the row's own, and touched at bare loops of positions alone, by members that go by blocks. */
static bool positions_kept(tsr_strip *g)
{
	tsr_online *o = &g->online;
	o->each = 0;
	for (uint32_t b = 0; b < g->p->l->buffers.n; b++) {
		bool any = false;
		for (uint32_t m = 0; m <= o->rows; m++)
			any |= writes(&g->member[m], b);
		uint32_t axis = any ? axis_of(g, b, o->walk) : 0;
		const tsr_buffer *x = g->p->l->buffers.at[b];
		if (!any || axis == x->rank)
			continue;
		if (!x->row && !tsr_ids_have(&g->kept, b))
			return false;
		for (uint32_t m = 0; m < g->n; m++)
			for (uint32_t i = 0; i < g->member[m].x.v.n; i++)
				if (g->member[m].x.v.at[i].buffer == b && (m >= o->last || (x->row && m != o->rows) || !bare(g, &g->member[m].x.v.at[i], axis, o->walk)))
					return false;
		o->each += x->row ? 0 : tsr_prec_bytes(x->prec);
	}
	return o->each > 0;
}

/* Of a row's numbers: each is stored at the row. */
static bool at_rows(const tsr_strip *g, const tsr_stmts *row)
{
	for (uint32_t i = 0; i < row->n; i++) {
		const tsr_stmt *s = row->at[i];
		const tsr_access x = { s->kind == TSR_STMT_STORE ? s->store.buffer : TSR_NONE, s->kind == TSR_STMT_STORE ? s->store.index : NULL, true };
		if (x.index && (g->p->l->buffers.at[x.buffer]->row || !bare(g, &x, axis_of(g, x.buffer, g->cut), g->cut)))
			return false;
	}
	return true;
}

/* By positions with this tag. */
static bool may(tsr_strip *g, uint32_t tag)
{
	tsr_online *o = &g->online;
	*o = (tsr_online){ .walk = tag };
	while (o->last < g->n && has_walk(g, &g->member[o->last].kernel->kernel.body))
		o->last++;
	while (o->rows < o->last && !is_softmax(g, &g->member[o->rows]))
		o->rows++;
	if (!o->rows || o->rows + 1 >= o->last)
		return false;
	const tsr_buffer *top = g->p->l->buffers.at[o->top];
	if ((top->prec != TSR_PREC_F32 && top->prec != TSR_PREC_F64) || g->p->l->buffers.at[o->weights]->prec != top->prec || g->p->l->buffers.at[o->total]->prec != top->prec)
		return false;
	for (uint32_t m = 0; m < o->last; m++)
		if (m != o->rows && (m < o->rows ? !each_alone(g, &g->member[m]) || touches_numbers(g, &g->member[m]) : !follows(g, &g->member[m])))
			return false;
	for (uint32_t m = o->last; m < g->n; m++)
		if (has_walk(g, &g->member[m].kernel->kernel.body))
			return false;
	return at_rows(g, tsr_strip_innermost(&g->member[o->rows].kernel->kernel.body)) && positions_kept(g);
}

void tsr_strip_online(tsr_strip *g)
{
	const tsr_strip_member *first = &g->member[0];
	for (uint32_t i = 0; i < first->contraction->nloops; i++) {
		uint32_t tag = tsr_strip_loop_tag(g, first->contraction->loops[i].sym);
		if (tag && tag != g->cut && !(g->shared >> tag & 1) && may(g, tag)) {
			g->online.positions = first->contraction->loops[i].extent, g->online.extent = tsr_strip_guess(g->online.positions);
			g->online.hides = tsr_strip_hides(g);
			if (!g->online.hides && !tsr_size_is_const(g->online.positions))         /* rows cannot be whole, so that it hides nothing */
				g->mask = NULL;
			if (!g->mask || g->online.hides)
				return;
		}
	}
	g->online = (tsr_online){ 0 };
}

/* ---- what it takes --------------------------------------------------------------------------------------------------------- */

/* Where a mask hides blocks, few positions of the last ones that are computed are hidden, too, and all blocks are alike: 0 where the positions cannot be so divided.  Where the run alone knows how many there are, which
 * whole rows are not made for, they are small, and strips have half of the rows (best_rows in strip.c): 256, 512, 1000 and 2048 positions by 64 rows in blocks of 128 1.21, 1.13, 1.11 and 1.03 times as fast as by 128 in blocks
 * of 256, by AVX2 1.29, 1.15, 1.09 and 1.03; in blocks of 64 once more 1.13, 1.07 to 1.3, 1.03 and 0.98 to 1.04, 128 positions 1.2. */
static int64_t hiding_block(const tsr_online *o)
{
	enum { LEAST = 128, MOST = 256, STEP = 16, LATER = 64 };
	if (!tsr_size_is_const(o->positions))
		return LATER;
	int64_t block = MOST;
	while (block >= LEAST && o->extent % block)
		block -= STEP;
	return block >= LEAST && block < o->extent ? block : 0;
}

/* A block and its rows take half of the second cache, and the blocks are as good as equal: whole register tiles. */
int64_t tsr_online_block(const tsr_strip *g, int64_t rows)
{
	const tsr_online *o = &g->online;
	const tsr_target *t = g->p->target;
	if (!o->walk || o->hides)
		return o->walk ? hiding_block(o) : 0;
	int64_t tile = (int64_t)t->tile_n * t->vector_bytes / tsr_prec_bytes(g->p->l->buffers.at[o->top]->prec), most = t->l2 / 2 / (rows * o->each);
	int64_t blocks = most < tile ? o->extent / tile : (o->extent + most - 1) / most, block = blocks > 1 ? ((o->extent + blocks - 1) / blocks + tile - 1) / tile * tile : 0;
	return block < o->extent ? block : 0;
}

bool tsr_online_first(const tsr_stmts *row, uint32_t i)
{
	if (i <= TSR_ONLINE_TOTAL)
		return true;
	return row->at[i]->kind == TSR_STMT_FOR ? row->at[i]->loop.how == TSR_FOR_REDUCE : row->at[i]->kind != TSR_STMT_STORE || tsr_online_gathers(row, i);
}

/* Behind the walk that gathers it. */
bool tsr_online_gathers(const tsr_stmts *row, uint32_t i)
{
	return row->at[i]->kind == TSR_STMT_STORE && (i == TSR_ONLINE_TOP || (i >= TSR_ONLINE_TOTAL && row->at[i]->store.value->kind == TSR_EXPR_LOCAL));
}

bool tsr_online_wanted(const tsr_strip *g, uint32_t m)
{
	const tsr_stmts *row = tsr_strip_innermost(&g->member[g->online.rows].kernel->kernel.body);
	bool wanted = false;
	for (uint32_t i = 0; i < g->member[m].x.v.n && !wanted; i++) {
		tsr_buffer_id b = g->member[m].x.v.at[i].buffer;
		if (!g->member[m].x.v.at[i].write)
			continue;
		for (uint32_t n = m + 1; n < g->online.rows; n++)
			wanted |= touches(&g->member[n], b) && tsr_online_wanted(g, n);
		for (uint32_t n = 0; n < row->n && !wanted; n++) {
			tsr_uses uses = { 0 };
			if (tsr_online_first(row, n))
				tsr_stmt_uses(g->a, row->at[n], &uses);
			wanted = tsr_uses_of(&uses, b).loads > 0;
		}
	}
	return wanted;
}
