/* Sums of products of many factors become trees of smaller sums, by the distributive law:
 *
 *     for i, l { $s += a(i, j) * b(j, k) * c(k, l)  over j, k }      T(i, k) = sum over j of a * b;  sum over k of T * c
 *
 * wherever that takes fewer operations; path.c chooses the tree.  The law is a column of op.def: products under sums, sums
 * under the maximum of floats, "and" under "or".  A factor is any expression of elements at affine places; its loops are those that it
 * mentions.  The statement that writes stays, with what is left of its loops; each intermediate gets a buffer and a kernel before
 * it.  Guards around the product become guards of every step that has all of their loops.
 *
 * Seen are the forms that lowering makes:
 *     for .. { let $s = start  for .. { [if guards] set $s = $s acc product }  store X = f($s) }
 *     for .. { update X acc= product }            for .. { store X = product }
 *
 * A sum that does not depend on some loops of the target is taken once for all of them.
 *
 * Products of narrow floats that are widened to be summed are taken of the widened factors.
 *
 * Sums of products are rounded as another order of summation would.  A maximum of sums keeps its bits: rounding is monotone, and sums are
 * taken in the order in which they were written; that order alone is split, so that what is compared with the maximum still finds it. */
#include "factor.h"
#include <string.h>

enum { NOMINAL = 1000, LEAST_ROOM = 1 << 28, MOST_POINTS = 1 << 20 };       /* extent of a run-time size; elements; of a guard */

/* ---- recognising ---------------------------------------------------------------------------------------------------- */

uint64_t tsr_sum_lin_loops(tsr_sum *s, const tsr_lin *x)
{
	uint64_t loops = 0;
	for (uint32_t t = 0; t < x->n; t++) {
		s->good &= x->terms[t].kind != TSR_LSYM_DATA;
		for (uint32_t i = 0; i < s->nloops && x->terms[t].kind == TSR_LSYM_LOOP; i++)
			if (s->loop[i]->loop.sym == x->terms[t].id)
				loops |= UINT64_C(1) << i;
	}
	return loops;
}

static uint64_t index_loops(tsr_sum *s, tsr_buffer_id b, const tsr_lin *index)
{
	uint64_t loops = 0;
	for (uint32_t i = 0; i < s->p->l->buffers.at[b]->rank; i++)
		loops |= tsr_sum_lin_loops(s, &index[i]);
	return loops;
}

/* The loops of an expression; its operations are added up. */
static uint64_t expr_loops(tsr_sum *s, const tsr_expr *e, uint32_t *work)
{
	uint64_t loops = 0;
	switch (e->kind) {
	case TSR_EXPR_LOAD:
		s->good &= e->load.buffer != s->out->store.buffer;
		return index_loops(s, e->load.buffer, e->load.index);
	case TSR_EXPR_INDEX:
		return tsr_sum_lin_loops(s, &e->index);
	case TSR_EXPR_OP:
		++*work;
		for (uint32_t i = 0; i < tsr_op_get(e->op.op)->arity; i++)
			loops |= expr_loops(s, e->op.args[i], work);
		return loops;
	case TSR_EXPR_CONVERT:
		return expr_loops(s, e->converted, work);
	case TSR_EXPR_SELECT:
		for (uint32_t i = 0; i < e->select.n; i++)
			loops |= tsr_sum_lin_loops(s, &e->select.ranges[i].index);
		return loops | expr_loops(s, e->select.inside, work) | expr_loops(s, e->select.outside, work);
	case TSR_EXPR_LOCAL: case TSR_EXPR_LOOKUP:
		s->good = false;
		return 0;
	case TSR_EXPR_CONST: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: case TSR_EXPR_KINDS:
		break;
	}
	return 0;
}

static bool add_loops(tsr_sum *s, const tsr_nest *n)
{
	for (uint32_t i = 0; i < n->n; i++) {
		if (s->nloops == TSR_MOST_SUM_LOOPS || n->loop[i]->loop.how == TSR_FOR_SERIAL)
			return false;
		s->loop[s->nloops++] = n->loop[i];
	}
	return true;
}

static bool set_accumulator(tsr_sum *s, tsr_op op, tsr_prec prec)
{
	for (tsr_acc acc = TSR_ACC_ADD; acc < TSR_ACCS; acc++) {
		const tsr_acc_info *info = tsr_acc_get(acc);
		if (info->op != op || info->over == TSR_OP_ID)
			continue;
		s->acc = acc == TSR_ACC_SUB ? TSR_ACC_ADD : acc;
		s->over = info->over;
		return info->over == TSR_OP_MUL || info->over != TSR_OP_ADD || tsr_prec_is_float(prec);
	}
	return false;
}

/* let $s, loops, store or update of something made of $s */
static bool local_form(tsr_sum *s, const tsr_stmts *body)
{
	tsr_stmts inner = {&body->at[1], 1, 1};
	tsr_nest nest = tsr_nest_of(&inner);
	tsr_stmt *set = nest.body->n == 1 ? nest.body->at[0] : NULL;
	s->let = body->at[0];
	s->out = body->at[2];
	if (set && set->kind == TSR_STMT_IF && set->cond.body.n == 1) {
		s->guard = set;
		set = set->cond.body.at[0];
	}
	if (s->let->kind != TSR_STMT_LET || (s->out->kind != TSR_STMT_STORE && s->out->kind != TSR_STMT_UPDATE) || !set
		|| set->kind != TSR_STMT_SET || set->let.local != s->let->let.local || set->let.value->kind != TSR_EXPR_OP || !add_loops(s, &nest))
		return false;
	const tsr_expr *e = set->let.value, *x = e->op.args[0];
	s->product = e->op.args[1];
	s->minus = e->op.op == TSR_OP_SUB;
	return s->product && x->kind == TSR_EXPR_LOCAL && x->local == set->let.local && set_accumulator(s, e->op.op, e->prec);
}

/* A store of a product is a sum of one, and any product would do: only the usual one is looked for. */
static bool single_form(tsr_sum *s, tsr_stmt *out)
{
	s->out = out;
	s->product = out->store.value;
	return (out->kind == TSR_STMT_STORE && set_accumulator(s, TSR_OP_ADD, s->product->prec))
		|| (out->kind == TSR_STMT_UPDATE && set_accumulator(s, tsr_acc_get(out->store.acc)->op, s->product->prec));
}

static bool is_product(const tsr_sum *s, const tsr_expr *e)
{
	return e->kind == TSR_EXPR_OP && e->op.op == s->over && e->op.operand_prec == e->prec;
}

/* A product of narrow numbers that is widened to be summed: its factors are widened instead. */
static bool is_widened(const tsr_sum *s, const tsr_expr *e)
{
	return e->kind == TSR_EXPR_CONVERT && s->over == TSR_OP_MUL && is_product(s, e->converted) && tsr_prec_is_float(e->converted->prec)
		&& tsr_prec_is_float(e->prec) && tsr_prec_bytes(e->prec) > tsr_prec_bytes(e->converted->prec);
}

static void add_factors(tsr_sum *s, tsr_expr *e)
{
	bool widened = is_widened(s, e);
	const tsr_expr *product = widened ? e->converted : e;
	if (widened || (is_product(s, e) && e->prec == s->product->prec)) {
		for (uint32_t i = 0; i < 2; i++)
			add_factors(s, tsr_expr_convert(s->p->arena, product->op.args[i], e->prec));
	} else if (s->nfactors < TSR_MOST_FACTORS) {
		tsr_path_factor f = {0};
		f.loops = expr_loops(s, e, &f.work);
		s->factor[s->nfactors] = e;
		s->facts[s->nfactors++] = f;
	} else {
		s->good = false;
	}
}

static const tsr_stmt *loop_of(const tsr_sum *s, uint32_t sym)
{
	for (uint32_t i = 0; i < s->nloops; i++)
		if (s->loop[i]->loop.sym == sym)
			return s->loop[i];
	return NULL;
}

/* Some value of the one loop is inside, whatever that of the other, where there is another. */
static bool always_inside(const tsr_range *r, const tsr_stmt *one, int64_t a, const tsr_stmt *other, int64_t b)
{
	int64_t n = other ? other->loop.extent.k : 1;
	for (int64_t y = 0; y < n; y++) {
		bool found = false;
		for (int64_t x = 0; x < one->loop.extent.k && !found; x++) {
			int64_t at = a * x + b * y + r->index.offset;
			found = at >= 0 && at < r->size.k;
		}
		if (!found)
			return false;
	}
	return true;
}

/* No sum over one loop of a guard is empty: an empty one is 0, and contributes to the next step where the sum of all contributes nothing
 * (0 times infinity).  Such a window, and one of which that is not known, is left alone. */
static bool reaches(const tsr_sum *s, const tsr_range *r)
{
	const tsr_stmt *loop[2] = {NULL, NULL};
	int64_t points = 1;
	bool known = tsr_size_is_const(r->size) && !r->index.base.k && !r->index.base.nterms && r->index.n >= 1 && r->index.n <= 2;
	for (uint32_t t = 0; known && t < r->index.n; t++) {
		loop[t] = r->index.terms[t].kind == TSR_LSYM_LOOP ? loop_of(s, r->index.terms[t].id) : NULL;
		known = loop[t] && tsr_size_is_const(loop[t]->loop.extent);
		points *= known ? loop[t]->loop.extent.k : 1;
	}
	if (!known || points > MOST_POINTS)
		return false;
	int64_t a = r->index.terms[0].coef, b = loop[1] ? r->index.terms[1].coef : 0;
	return always_inside(r, loop[0], a, loop[1], b) && (!loop[1] || always_inside(r, loop[1], b, loop[0], a));
}

/* Every guard belongs to a factor at least: so there is a step that has its loops. */
static bool guards_fit(tsr_sum *s)
{
	if (s->guard && s->over != TSR_OP_MUL)
		return false;
	for (uint32_t g = 0; s->guard && g < s->guard->cond.n; g++) {
		uint64_t loops = tsr_sum_lin_loops(s, &s->guard->cond.ranges[g].index);
		bool any = false;
		for (uint32_t i = 0; i < s->nfactors; i++)
			any |= !(loops & ~s->facts[i].loops);
		if (!any || !loops || !reaches(s, &s->guard->cond.ranges[g]))
			return false;
	}
	return true;
}

static bool sum_of(tsr_sum *s)
{
	tsr_nest nest = tsr_nest_of(&s->kernel->kernel.body);
	s->good = true;
	if (!add_loops(s, &nest) || !(nest.body->n == 3 ? local_form(s, nest.body) : nest.body->n == 1 && single_form(s, nest.body->at[0])))
		return false;
	s->kept = index_loops(s, s->out->store.buffer, s->out->store.index);
	for (uint32_t i = 0; s->let && i < nest.n; i++)
		s->good &= s->kept >> i & 1;
	add_factors(s, s->product);
	uint64_t all = s->kept;
	for (uint32_t i = 0; i < s->nfactors; i++)
		all |= s->facts[i].loops;
	bool counted = s->nloops == 64 ? all == UINT64_MAX : all == (UINT64_C(1) << s->nloops) - 1;      /* no loop only repeats */
	return s->good && counted && guards_fit(s);
}

/* ---- choosing ------------------------------------------------------------------------------------------------------------ */

static double extent(tsr_size size)
{
	double n = (double)size.k;
	for (uint32_t i = 0; i < size.nterms; i++)
		n += (double)size.terms[i].coef * NOMINAL;
	return n > 1 ? n : 1;
}

static double elements(const tsr_buffer *b)
{
	double n = 1;
	for (uint32_t i = 0; i < b->rank; i++)
		n *= extent(b->dims[i]);
	return n;
}

/* An intermediate may be as large as what is there already, or a gigabyte of f32. */
static double room_for(tsr_sum *s)
{
	tsr_arena *a = tsr_arena_new();
	tsr_uses uses = {0};
	double room = LEAST_ROOM;
	tsr_stmt_uses(a, s->kernel, &uses);
	for (uint32_t i = 0; i < uses.v.n; i++) {
		double n = elements(s->p->l->buffers.at[uses.v.at[i].buffer]);
		room = n > room ? n : room;
	}
	tsr_arena_free(a);
	return room;
}

static double points(const double *extents, uint64_t loops)
{
	double n = 1;
	for (uint32_t i = 0; loops >> i && i < TSR_MOST_SUM_LOOPS; i++)
		n *= loops >> i & 1 ? extents[i] : 1;
	return n;
}

/* A last step whose sum does not depend on some loops of the target is taken once, and spread over them by one more step. */
static const tsr_path *spread(tsr_arena *a, const tsr_sum *s, const tsr_path *path, const double *extents)
{
	const tsr_path_step *last = &path->steps[path->nsteps - 1];
	uint64_t parts = 0;
	for (uint32_t i = 0; i < last->nparts; i++)
		parts |= last->parts[i] < s->nfactors ? s->facts[last->parts[i]].loops : path->steps[last->parts[i] - s->nfactors].keeps;
	if (!(last->over & ~last->keeps) || points(extents, last->keeps & ~parts) < 2)
		return path;
	tsr_path *out = TSR_NEW(a, tsr_path);
	*out = (tsr_path){path->nsteps + 1, TSR_NEW_N(a, tsr_path_step, path->nsteps + 1), path->operations - last->operations};
	memcpy(out->steps, path->steps, path->nsteps * sizeof *path->steps);
	tsr_path_step *sum = &out->steps[path->nsteps - 1], *all = &out->steps[path->nsteps];
	sum->over = last->over & parts;
	sum->keeps = last->keeps & parts;
	sum->operations = last->operations * points(extents, sum->over) / points(extents, last->over);
	*all = (tsr_path_step){.over = last->keeps, .keeps = last->keeps, .nparts = 1, .parts = TSR_NEW(a, uint32_t)};
	*all->parts = s->nfactors + path->nsteps - 1;
	out->operations += sum->operations;
	return out;
}

typedef const tsr_path *(*tsr_plan)(tsr_arena *a, tsr_sum *s, const double *extents);

static const tsr_path *tree(tsr_arena *a, tsr_sum *s, const double *extents)
{
	tsr_path_problem q = {s->nfactors, s->facts, extents, s->kept, s->over == TSR_OP_ADD, room_for(s)};
	return spread(a, s, tsr_path_plan(a, &q), extents);
}

/* All factors in one step, but for the loops that repeat it. */
static const tsr_path *once(tsr_arena *a, tsr_sum *s, const double *extents)
{
	tsr_path_problem q = {s->nfactors, s->facts, extents, s->kept, false, 0};
	tsr_path *direct = TSR_NEW(a, tsr_path);
	*direct = (tsr_path){1, TSR_NEW(a, tsr_path_step), tsr_path_direct(&q)};
	*direct->steps = (tsr_path_step){.over = s->kept, .keeps = s->kept, .nparts = s->nfactors, .parts = TSR_NEW_N(a, uint32_t, s->nfactors + 1),
		.operations = direct->operations};
	for (uint32_t i = 0; i < s->nfactors; i++) {
		direct->steps->over |= s->facts[i].loops;
		direct->steps->parts[i] = i;
	}
	return spread(a, s, direct, extents);
}

/* Splits the kernel; the kernels that take its place are pushed to `out`. */
static bool split(tsr_pass *p, tsr_loop_unit *unit, tsr_stmt *kernel, tsr_plan plan, tsr_arena *scratch, tsr_stmts *out)
{
	tsr_sum s = {.p = p, .unit = unit, .kernel = kernel};
	double extents[TSR_MOST_SUM_LOOPS];
	if (kernel->kind != TSR_STMT_KERNEL || !sum_of(&s))
		return false;
	for (uint32_t i = 0; i < s.nloops; i++)
		extents[i] = extent(s.loop[i]->loop.extent);
	const tsr_path *path = plan(scratch, &s, extents);
	if (path->nsteps == 1)
		return false;
	tsr_sum_build(&s, path, extents, scratch, out);
	p->changes++;
	return true;
}

static void split_all(tsr_pass *p, tsr_plan plan)
{
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		tsr_loop_unit *unit = p->l->units.at[u];
		tsr_stmts out = {0};
		for (uint32_t i = 0; i < unit->body.n; i++) {
			tsr_arena *scratch = tsr_arena_new();
			if (!split(p, unit, unit->body.at[i], plan, scratch, &out))
				tsr_push(p->arena, &out, unit->body.at[i]);
			tsr_arena_free(scratch);
		}
		unit->body = out;
	}
}

void tsr_pass_factor(tsr_pass *p) { split_all(p, tree); }

void tsr_pass_spread(tsr_pass *p)
{
	split_all(p, once);
	if (!p->changes)
		return;
	tsr_pass_reduce(p);              /* the sums are new */
	tsr_pass_virtual(p);             /* what is spread over the target need not be stored */
}
