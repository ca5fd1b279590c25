/* Sums for each place of a window, over all of an image, as the gradients of the weights of a convolution of each channel, or of small groups of channels, are:
 *
 *     for i, j parallel { for c parallel { let s = 0; for b, h, w reduce { if h + i - 1 in 0..56, w + j - 1 in 0..56 { set s = s + x[b, h + i - 1, w + j - 1, c] y[b, h, w, c] } }; store k[i, j, c] = s } }
 *
 * One place after the other reads both images as often as there are places.  kernel/window_sums.c adds up the sums of all places, or of as many as registers hold, in one walk, so that y is
 * loaded once for all of them, and of x each line once (depthwise 3x3 2.5 times as fast where channels come last, 8 where they come first, groups of two by two 100).
 *
 * Lanes are
 *   - iterations of a loop over results along which all that is read lies side by side, as channels that come last;
 *   - results of several groups (emit/grouped.c): of two by two channels, x is spread over those of its group;
 *   - steps of the innermost summed loop, where channels come first: an image's rows of a third of a register and more.
 *
 * Requires the form that `reduce` gives sums. */
#include "pass.h"

enum { MOST_SUMS_FEW = 12, MOST_PLACES = 1 << 20, LEAST_PLACES = 3, TIMES = 4, LEAST_BYTES = 32, SHORT = 3, MOST_RANGES = 4 };

typedef tsr_window_sums sums;

static int64_t extent(const tsr_stmt *loop) { return loop->loop.extent.k; }

static bool usual(const tsr_stmt *s, tsr_for_kind how)
{
	return s->kind == TSR_STMT_FOR && s->loop.how == how && tsr_size_is_const(s->loop.extent) && s->loop.extent.k > 0 && !s->loop.contraction && !s->loop.turns && !s->loop.overlap && !s->loop.stream
		&& s->loop.body.n;
}

/* set $s = $s + .. */
static bool adds(const tsr_stmt *s)
{
	const tsr_expr *v = s->let.value;
	return v->kind == TSR_EXPR_OP && v->op.op == TSR_OP_ADD && v->prec == TSR_PREC_F32 && v->op.operand_prec == TSR_PREC_F32 && tsr_expr_is_local(v->op.args[0], s->let.local);
}

static bool chain(sums *x, const tsr_stmt *s)
{
	while (usual(s, TSR_FOR_PARALLEL) && x->nresults < TSR_MOST_WINDOW_LOOPS) {
		x->results[x->nresults++] = s;
		if (s->loop.body.n > 1)
			break;
		s = s->loop.body.at[0];
	}
	const tsr_stmts *b = x->nresults ? &x->results[x->nresults - 1]->loop.body : NULL;
	if (!b || b->n != 3 || b->at[0]->kind != TSR_STMT_LET || b->at[2]->kind != TSR_STMT_STORE)
		return false;
	x->let = b->at[0], x->store = b->at[2];
	for (s = b->at[1]; usual(s, TSR_FOR_REDUCE) && x->nsummed < TSR_MOST_WINDOW_LOOPS; s = s->loop.body.at[0]) {
		x->summed[x->nsummed++] = s;
		if (s->loop.body.n > 1)
			return false;
	}
	x->guard = s->kind == TSR_STMT_IF ? s : NULL;
	x->set = !x->guard ? s : s->cond.body.n == 1 ? s->cond.body.at[0] : NULL;
	const tsr_expr *end = x->store->store.value;
	return x->nsummed && x->set && x->set->kind == TSR_STMT_SET && x->set->let.local == x->let->let.local && x->let->let.prec == TSR_PREC_F32 && x->let->let.value->kind == TSR_EXPR_CONST
		&& adds(x->set) && end->kind == TSR_EXPR_LOCAL && end->local == x->let->let.local && (!x->guard || x->guard->cond.n <= MOST_RANGES);
}

/* Elements of 32 bits, and what is computed of them. */
static bool reads(sums *x, const tsr_expr *v)
{
	switch (v->kind) {
	case TSR_EXPR_CONST: case TSR_EXPR_NUMBER:
		return v->prec == TSR_PREC_F32;
	case TSR_EXPR_LOAD:
		if (x->nloads == TSR_MOST_WINDOW_LOADS || x->l->buffers.at[v->load.buffer]->prec != TSR_PREC_F32)
			return false;
		x->load[x->nloads++] = v;
		return true;
	case TSR_EXPR_OP:
		for (uint32_t i = 0; i < tsr_op_get(v->op.op)->arity; i++)
			if (!reads(x, v->op.args[i]))
				return false;
		return v->op.operand_prec == TSR_PREC_F32 && v->prec == TSR_PREC_F32 && (v->op.op == TSR_OP_MUL || v->op.op == TSR_OP_ADD || v->op.op == TSR_OP_SUB);
	case TSR_EXPR_CONVERT: case TSR_EXPR_LOOKUP: case TSR_EXPR_SELECT: case TSR_EXPR_INDEX: case TSR_EXPR_SIZE: case TSR_EXPR_LOCAL: case TSR_EXPR_KINDS:
		break;
	}
	return false;
}

static bool load_mentions(const sums *x, const tsr_expr *load, const tsr_stmt *loop)
{
	bool any = false;
	for (uint32_t axis = 0; axis < x->l->buffers.at[load->load.buffer]->rank; axis++)
		any |= tsr_lin_mentions(&load->load.index[axis], loop->loop.sym);
	return any;
}

static bool guards_mention(const sums *x, const tsr_stmt *loop)
{
	bool any = false;
	for (uint32_t i = 0; x->guard && i < x->guard->cond.n; i++)
		any |= tsr_lin_mentions(&x->guard->cond.ranges[i].index, loop->loop.sym);
	return any;
}

/* So many elements lie between what is loaded in an iteration and in the next; -1: only the run knows. */
static int64_t step_of(const sums *x, const tsr_expr *load, const tsr_stmt *loop)
{
	int64_t step;
	return tsr_index_stride(x->l->buffers.at[load->load.buffer], load->load.index, loop->loop.sym, &step) ? step : -1;
}

/* All that is read lies side by side along the loop, or a few elements apart, or is the same for all of it. */
static bool side_by_side(const sums *x, const tsr_stmt *loop)
{
	bool beside = false;
	for (uint32_t i = 0; i < x->nloads; i++) {
		int64_t step = step_of(x, x->load[i], loop);
		if (step < 0 || step > (x->t->masks == TSR_MASKS_NONE ? 1 : TSR_MOST_STRIDE))
			return false;
		beside |= step == 1;
	}
	return beside;
}

/* A loop over places and nothing else says which element of a group's row it is: that is known then. */
static bool in_row(const sums *x, const tsr_expr *load, int64_t row)
{
	tsr_lin_term by;
	int64_t offset;
	if (!tsr_index_in_row(x->l->buffers.at[load->load.buffer], load->load.index, row, x->group->loop.sym, x->lane->loop.sym, &by, &offset) || by.coef != 1 || offset)
		return false;
	for (uint32_t i = 0; i < x->nresults; i++)
		if (x->results[i]->loop.sym == by.id)
			return x->results[i] != x->lane && x->results[i] != x->group && extent(x->results[i]) <= row;
	return false;
}

/* Results of `each` beside each other, of all groups. */
static bool in_groups(sums *x, const tsr_stmt *group, const tsr_stmt *each)
{
	int64_t n = extent(each), lanes = x->t->vector_bytes / 4, near, far;
	bool spread = false;
	if (n < 2 || n > lanes / 2 || (n & (n - 1)) || n * extent(group) % lanes || guards_mention(x, group) || guards_mention(x, each))
		return false;
	x->lane = each, x->group = group;
	for (uint32_t i = 0; i < x->nloads; i++) {
		const tsr_expr *load = x->load[i];
		near = step_of(x, load, each), far = step_of(x, load, group);
		bool beside = near == 1 && far == n, same = near == 0 && far > 1 && far <= lanes && in_row(x, load, far);
		if (!beside && !same)
			return x->lane = x->group = NULL, false;
		spread |= same;
	}
	return spread ? true : (x->lane = x->group = NULL, false);
}

/* Where lanes are steps of the innermost summed loop: guards that mention it hang on it and on places alone, so that masks are known. */
static bool masks_known(const sums *x)
{
	const tsr_stmt *along = x->summed[x->nsummed - 1];
	for (uint32_t i = 0; x->guard && i < x->guard->cond.n; i++) {
		const tsr_range *r = &x->guard->cond.ranges[i];
		if (!tsr_lin_mentions(&r->index, along->loop.sym))
			continue;
		if (!tsr_size_is_const(r->size) || !tsr_size_is_const(r->index.base))
			return false;
		for (uint32_t t = 0; t < r->index.n; t++) {
			bool mine = r->index.terms[t].kind == TSR_LSYM_LOOP && r->index.terms[t].id == along->loop.sym;
			for (uint32_t k = 0; k < x->nresults; k++)
				mine |= r->index.terms[t].kind == TSR_LSYM_LOOP && r->index.terms[t].id == x->results[k]->loop.sym && x->held[k];
			if (!mine)
				return false;
		}
	}
	return true;
}

/* A window: the image's axis is walked by a loop that is summed and one over results.  Where each of these is shorter, they are places, and all of an image is summed; else windows whose
 * innermost loop is written out are computed for several places of a row at once (kernel/outer_rows.c), and others here. */
static bool has_window(sums *x)
{
	bool any = false, written = false;
	x->image = true;
	for (uint32_t i = 0; i < x->nloads; i++)
		for (uint32_t axis = 0; axis < x->l->buffers.at[x->load[i]->load.buffer]->rank; axis++) {
			int64_t result = 0, summed = 0;
			for (uint32_t k = 0; k < x->nresults; k++)
				if (tsr_lin_mentions(&x->load[i]->load.index[axis], x->results[k]->loop.sym))
					result = extent(x->results[k]);
			for (uint32_t k = 0; k < x->nsummed; k++)
				if (tsr_lin_mentions(&x->load[i]->load.index[axis], x->summed[k]->loop.sym))
					summed = extent(x->summed[k]);
			any |= result && summed;
			written |= result && summed && tsr_lin_mentions(&x->load[i]->load.index[axis], x->summed[x->nsummed - 1]->loop.sym);
			x->image &= !result || !summed || summed > result;
		}
	return any && (x->image || !written || extent(x->summed[x->nsummed - 1]) > TSR_MOST_WRITTEN);
}

/* The loop says which element of a group's row is read, all of which one load has. */
static bool within_row(const sums *x, const tsr_expr *load, const tsr_stmt *loop)
{
	return x->group && step_of(x, load, x->lane) == 0 && step_of(x, load, loop) == 1;
}

/* Masks along a row, and which element of a group's row is read, are known where these loops' places are. */
static bool must_hold(const sums *x, const tsr_stmt *loop)
{
	bool any = false;
	for (uint32_t k = 0; k < x->nloads; k++)
		any |= within_row(x, x->load[k], loop);
	for (uint32_t i = 0; x->along && x->guard && i < x->guard->cond.n; i++)
		any |= tsr_lin_mentions(&x->guard->cond.ranges[i].index, x->lane->loop.sym) && tsr_lin_mentions(&x->guard->cond.ranges[i].index, loop->loop.sym);
	return any;
}

/* Loads of a step for the places that are held; of a loop that is parted so many together count. */
static int64_t loads_of(const sums *x, uint32_t held, uint32_t parted, int64_t together)
{
	int64_t all = 0;
	for (uint32_t k = 0; k < x->nloads; k++) {
		int64_t n = 1;
		for (uint32_t i = 0; i < x->nresults; i++)
			n *= !load_mentions(x, x->load[k], x->results[i]) || within_row(x, x->load[k], x->results[i]) ? 1 : held >> i & 1 ? extent(x->results[i]) : i == parted ? together : 1;
		all += n;
	}
	return all;
}

/* Cycles of a step with so many sums: one for each of them or, where that is more, for each load, one in four of which lies across two lines; few sums wait for themselves. */
static double cycles(const sums *x, uint32_t held, uint32_t parted, int64_t places, int64_t together)
{
	enum { LATENCY = 8 };
	double loads = 1.25 * (double)loads_of(x, held, parted, together), all = (double)(places * together);
	all = all > LATENCY ? all : LATENCY;
	return (all > loads ? all : loads) + 1;
}

/* Cycles of a sum's step, where the places of `held` are all in registers and of the parted loop so many together; the last part has what is left. */
static double cycles_each(const sums *x, uint32_t held, uint32_t parted, int64_t places, int64_t together)
{
	if (parted == TSR_NONE)
		return cycles(x, held, parted, places, 1) / (double)places;
	int64_t all = extent(x->results[parted]), left = all % together;
	double time = (double)(all / together) * cycles(x, held, parted, places, together) + (left ? cycles(x, held, parted, places, left) : 0);
	return time / (double)(places * all);
}

/* Registers for sums and what they read at a time: the parted places come one after the other, and what is read for these alone waits for the next held place. */
static int64_t registers(const sums *x, uint32_t held, uint32_t parted, int64_t places, int64_t together)
{
	int64_t n = places * together;
	for (uint32_t k = 0; k < x->nloads; k++) {
		bool alone = parted != TSR_NONE && load_mentions(x, x->load[k], x->results[parted]);
		for (uint32_t i = 0; i < x->nresults; i++)
			alone &= !(held >> i & 1) || !load_mentions(x, x->load[k], x->results[i]);
		n += alone ? together : 1;
	}
	return n;
}

/* Which loops' places are held so that a step takes least for each sum; none where what must be known would not be.  What threads share is not held, but may be parted. */
static void choose_held(sums *x, int64_t most)
{
	double best = 0;
	for (uint32_t set = 1u << x->nresults; set-- > 0;) {         /* inner loops first, where it makes no difference */
		int64_t n = 1;
		bool fits = true;
		for (uint32_t i = 0; i < x->nresults && fits; i++)
			if (set >> i & 1)
				fits = x->place[i] && !x->results[i]->loop.split && (n *= extent(x->results[i])) <= most;
			else
				fits = !x->place[i] || x->results[i]->loop.split || !must_hold(x, x->results[i]);
		for (uint32_t i = 0; fits && i <= x->nresults; i++) {
			bool none = i == x->nresults;
			if (!none && (!x->place[i] || set >> i & 1))
				continue;
			int64_t least = none ? 1 : 2, last = none ? 1 : extent(x->results[i]) - 1;
			for (int64_t together = last * n < most ? last : most / n; together >= least; together--) {
				double each = cycles_each(x, set, none ? TSR_NONE : i, n, together);
				if ((best && each >= best) || (!none && registers(x, set, i, n, together) > x->t->vector_registers))
					continue;
				best = each;
				for (uint32_t k = 0; k < x->nresults; k++)
					x->held[k] = set >> k & 1;
				x->parted = none ? TSR_NONE : i, x->together = together;
			}
		}
	}
}

/* What is loaded once for all that is summed is a number, and nothing that places would share. */
static bool walked(const sums *x, const tsr_expr *load)
{
	bool any = false;
	for (uint32_t i = 0; i < x->nsummed; i++)
		any |= load_mentions(x, load, x->summed[i]);
	return any;
}

/* Loops that some load is the same for are places. */
static bool choose_places(sums *x)
{
	int64_t all = 1, steps = 1, held = 1;
	for (uint32_t i = 0; i < x->nresults; i++) {
		bool same = false;
		for (uint32_t k = 0; k < x->nloads; k++)
			same |= walked(x, x->load[k]) && !load_mentions(x, x->load[k], x->results[i]);
		x->place[i] = same && x->results[i] != x->lane && x->results[i] != x->group;
		if (x->place[i] && __builtin_mul_overflow(all, extent(x->results[i]), &all))
			return false;
	}
	for (uint32_t i = 0; i < x->nsummed; i++)
		if (__builtin_mul_overflow(steps, extent(x->summed[i]), &steps))
			return false;
	if (all < LEAST_PLACES || all > MOST_PLACES)
		return false;
	x->parted = TSR_NONE, x->together = 1;
	choose_held(x, tsr_window_sums_most(x->t));
	for (uint32_t i = 0; i < x->nresults; i++)
		held *= x->held[i] ? extent(x->results[i]) : i == x->parted ? x->together : 1;
	return steps >= TIMES * held;
}

/* Bytes that are read in one iteration of the first `around` summed loops; -1: only the run knows. */
static int64_t bytes_within(const sums *x, uint32_t around)
{
	int64_t all = 0;
	for (uint32_t k = 0; k < x->nloads; k++) {
		int64_t bytes = tsr_buffer_bytes(x->l->buffers.at[x->load[k]->load.buffer]);
		if (bytes < 0)
			return -1;
		for (uint32_t i = 0; i < around; i++)
			bytes /= load_mentions(x, x->load[k], x->summed[i]) ? extent(x->summed[i]) : 1;
		all += bytes;
	}
	return all;
}

/* Several walks read more than the second cache holds: each stays within what it does, an image or some rows of one. */
static uint32_t choose_around(const sums *x)
{
	enum { LEAST_WALKS = 4, LEAST_STEPS = 24 };
	int64_t walks = 1, steps = 1, step;
	for (uint32_t i = 0; i < x->nresults; i++)
		if (!x->held[i] && x->results[i] != x->lane)
			walks *= i == x->parted ? (extent(x->results[i]) + x->together - 1) / x->together : extent(x->results[i]);
	if (x->along || x->group || walks < LEAST_WALKS || !tsr_index_stride(x->l->buffers.at[x->store->store.buffer], x->store->store.index, x->lane->loop.sym, &step) || step != 1)
		return 0;
	uint32_t n = 0;
	while (n < x->nsummed && bytes_within(x, n) > x->t->l2)
		n++;
	for (uint32_t i = n; i < x->nsummed; i++)
		steps *= extent(x->summed[i]);
	return steps >= LEAST_STEPS ? n : 0;
}

bool tsr_window_sums_of(const tsr_loops *l, const tsr_target *t, const tsr_stmt *s, tsr_window_sums *x)
{
	*x = (tsr_window_sums){ .l = l, .t = t };
	if (t->vector_bytes < LEAST_BYTES || !chain(x, s) || !reads(x, x->set->let.value->op.args[1]) || x->nloads < 2 || !has_window(x))
		return false;
	for (uint32_t i = x->nresults; i-- > 0 && !x->lane;)
		if (extent(x->results[i]) * 4 >= t->vector_bytes && !guards_mention(x, x->results[i]) && side_by_side(x, x->results[i]))
			x->lane = x->results[i];
	for (uint32_t i = x->nresults; i-- > 0 && !x->lane;)
		for (uint32_t k = x->nresults; k-- > 0 && !x->lane;)
			if (i != k)
				in_groups(x, x->results[k], x->results[i]);
	if (!x->lane && t->masks != TSR_MASKS_NONE && extent(x->summed[x->nsummed - 1]) * 4 * (x->image ? SHORT : 1) >= t->vector_bytes && side_by_side(x, x->summed[x->nsummed - 1]))
		x->lane = x->summed[x->nsummed - 1], x->along = true;
	if (!x->lane || !choose_places(x))
		return false;
	x->around = choose_around(x);
	return !x->along || masks_known(x);
}

int64_t tsr_window_sums_channels(const tsr_window_sums *x)
{
	int64_t n = 1;
	for (uint32_t i = 0; i < x->nresults; i++) {
		bool bare = false, window = false;
		for (uint32_t k = 0; k < x->nloads; k++) {
			uint32_t rank = x->l->buffers.at[x->load[k]->load.buffer]->rank;
			bool slides = false;
			for (uint32_t axis = 0; axis < rank; axis++)
				slides |= x->load[k]->load.index[axis].n > 1;
			for (uint32_t axis = 0; slides && axis < rank; axis++)
				if (tsr_lin_mentions(&x->load[k]->load.index[axis], x->results[i]->loop.sym))
					*(x->load[k]->load.index[axis].n > 1 ? &window : &bare) = true;
		}
		n *= x->place[i] && bare && !window ? extent(x->results[i]) : 1;
	}
	return n;
}

int64_t tsr_window_sums_most(const tsr_target *t) { return tsr_target_few_registers(t) ? MOST_SUMS_FEW : TSR_MOST_WINDOW_SUMS; }
