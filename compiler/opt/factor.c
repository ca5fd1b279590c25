/* Sums of products of many factors become trees of smaller sums, by the distributive law:
 *
 *     for i, l { $s += a(i, j) * b(j, k) * c(k, l)  over j, k }      T(i, k) = sum over j of a * b;  sum over k of T * c
 *
 * wherever that takes fewer operations; path.c chooses the tree.  The law is a column of op.def: products under sums, sums
 * under the maximum of floats, "and" under "or".  A factor is any expression of elements at affine places; its loops are those that it
 * mentions.  The statement that writes stays, with what is left of its loops; each intermediate gets a buffer and a kernel before
 * it.  Guards around the product become guards of the factors that have all of their loops.
 *
 * Seen are the forms that lowering makes:
 *     for .. { let $s = start  for .. { [if guards] set $s = $s acc product }  store X = f($s) }
 *     for .. { update X acc= product }            for .. { store X = product }
 *
 * Sums of products are rounded as another order of summation would.  A maximum of sums keeps its bits: rounding is monotone, and sums are
 * taken in the order in which they were written; that order alone is split, so that what is compared with the maximum still finds it. */
#include "pass.h"
#include "path.h"
#include "../base/text.h"

enum { NOMINAL = 1000, LEAST_ROOM = 1 << 26, MOST_LOOPS = 64 };       /* extent of a run-time size; elements */

typedef struct sum {
	tsr_pass *p;
	tsr_loop_unit *unit;
	tsr_stmt *kernel;
	tsr_stmt *let, *out;         /* let: of the local form, or NULL */
	tsr_stmt *guard;
	tsr_expr *product;
	tsr_acc acc;                 /* SUB adds */
	tsr_op over;
	uint32_t nloops;
	tsr_stmt *loop[MOST_LOOPS];
	uint32_t nfactors;
	tsr_expr *factor[TSR_MOST_FACTORS];
	tsr_path_factor facts[TSR_MOST_FACTORS];
	uint64_t kept;
	bool good;
} sum;

/* ---- recognising ---------------------------------------------------------------------------------------------------- */

static uint64_t lin_loops(sum *s, const tsr_lin *x)
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

static uint64_t index_loops(sum *s, tsr_buffer_id b, const tsr_lin *index)
{
	uint64_t loops = 0;
	for (uint32_t i = 0; i < s->p->l->buffers.at[b]->rank; i++)
		loops |= lin_loops(s, &index[i]);
	return loops;
}

/* The loops of an expression; its operations are added up. */
static uint64_t expr_loops(sum *s, const tsr_expr *e, uint32_t *work)
{
	uint64_t loops = 0;
	switch (e->kind) {
	case TSR_EXPR_LOAD:
		s->good &= e->load.buffer != s->out->store.buffer;
		return index_loops(s, e->load.buffer, e->load.index);
	case TSR_EXPR_INDEX:
		return lin_loops(s, &e->index);
	case TSR_EXPR_OP:
		++*work;
		for (uint32_t i = 0; i < tsr_op_get(e->op.op)->arity; i++)
			loops |= expr_loops(s, e->op.args[i], work);
		return loops;
	case TSR_EXPR_CONVERT:
		return expr_loops(s, e->converted, work);
	case TSR_EXPR_SELECT:
		for (uint32_t i = 0; i < e->select.n; i++)
			loops |= lin_loops(s, &e->select.ranges[i].index);
		return loops | expr_loops(s, e->select.inside, work) | expr_loops(s, e->select.outside, work);
	case TSR_EXPR_LOCAL:
		s->good = false;
		return 0;
	case TSR_EXPR_CONST: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: case TSR_EXPR_KINDS:
		break;
	}
	return 0;
}

static bool add_loops(sum *s, const tsr_nest *n)
{
	for (uint32_t i = 0; i < n->n; i++) {
		if (s->nloops == MOST_LOOPS || n->loop[i]->loop.how == TSR_FOR_SERIAL)
			return false;
		s->loop[s->nloops++] = n->loop[i];
	}
	return true;
}

static bool set_accumulator(sum *s, tsr_op op, tsr_prec prec)
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
static bool local_form(sum *s, const tsr_stmts *body)
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
	return s->product && x->kind == TSR_EXPR_LOCAL && x->local == set->let.local && set_accumulator(s, e->op.op, e->prec);
}

/* A store of a product is a sum of one, and any product would do: only the usual one is looked for. */
static bool single_form(sum *s, tsr_stmt *out)
{
	s->out = out;
	s->product = out->store.value;
	return (out->kind == TSR_STMT_STORE && set_accumulator(s, TSR_OP_ADD, s->product->prec))
		|| (out->kind == TSR_STMT_UPDATE && set_accumulator(s, tsr_acc_get(out->store.acc)->op, s->product->prec));
}

static void add_factors(sum *s, tsr_expr *e)
{
	if (e->kind == TSR_EXPR_OP && e->op.op == s->over && e->prec == s->product->prec && e->op.operand_prec == e->prec) {
		add_factors(s, e->op.args[0]);
		add_factors(s, e->op.args[1]);
	} else if (s->nfactors < TSR_MOST_FACTORS) {
		tsr_path_factor f = {0};
		f.loops = expr_loops(s, e, &f.work);
		s->factor[s->nfactors] = e;
		s->facts[s->nfactors++] = f;
	} else {
		s->good = false;
	}
}

/* Every guard belongs to a factor at least, which the product then is neutral with. */
static bool guards_fit(sum *s)
{
	if (s->guard && s->over != TSR_OP_MUL)
		return false;
	for (uint32_t g = 0; s->guard && g < s->guard->cond.n; g++) {
		uint64_t loops = lin_loops(s, &s->guard->cond.ranges[g].index);
		bool any = false;
		for (uint32_t i = 0; i < s->nfactors; i++)
			any |= !(loops & ~s->facts[i].loops);
		if (!any || !loops)
			return false;
	}
	return true;
}

static bool sum_of(sum *s)
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

/* ---- building --------------------------------------------------------------------------------------------------------- */

/* Results of steps: their buffers, and the loop of each axis. */
typedef struct result { const tsr_buffer *buffer; uint32_t naxes, axis[MOST_LOOPS]; } result;

typedef struct builder {
	sum *s;
	const tsr_path *path;
	const double *extents;
	result *results;
	tsr_stmts kernels;
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
	sum *s = b->s;
	if (e->kind == TSR_EXPR_CONVERT)
		walk_axes(b, e->converted, allowed, n, axis);
	if (e->kind == TSR_EXPR_SELECT)
		walk_axes(b, e->select.inside, allowed, n, axis);
	for (uint32_t i = 0; e->kind == TSR_EXPR_OP && i < tsr_op_get(e->op.op)->arity; i++)
		walk_axes(b, e->op.args[i], allowed, n, axis);
	for (uint32_t i = 0; e->kind == TSR_EXPR_LOAD && i < s->p->l->buffers.at[e->load.buffer]->rank; i++)
		for (uint32_t j = 0; j < s->nloops; j++)
			if (lin_loops(s, &e->load.index[i]) >> j & 1)
				note_axis(n, axis, allowed, j);
}

static uint64_t part_loops(const builder *b, uint32_t part)
{
	uint32_t n = b->s->nfactors;
	return part < n ? b->s->facts[part].loops : b->path->steps[part - n].keeps;
}

static void part_axes(builder *b, uint32_t part, uint64_t allowed, result *r)
{
	if (part < b->s->nfactors) {
		walk_axes(b, b->s->factor[part], allowed, &r->naxes, r->axis);
		return;
	}
	const result *x = &b->results[part - b->s->nfactors];
	for (uint32_t j = 0; j < x->naxes; j++)
		note_axis(&r->naxes, r->axis, allowed, x->axis[j]);
}

/* Axes of a step's result: of a contraction those of several parts first, then those of the first part alone, of the second, and
 * so on; without a sum as in the part that has most. */
static void order_axes(builder *b, const tsr_path_step *step, result *r)
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
	if (step->over == step->keeps)
		part_axes(b, step->parts[widest], step->keeps, r);
	for (uint32_t i = 0; i < step->nparts; i++)
		part_axes(b, step->parts[i], step->keeps & twice, r);
	for (uint32_t i = 0; i < step->nparts; i++)
		part_axes(b, step->parts[i], step->keeps, r);
	for (uint32_t j = 0; j < b->s->nloops; j++)          /* what only positions mention */
		note_axis(&r->naxes, r->axis, step->keeps, j);
}

/* The product of the parts; loop i is the symbol syms[i]. */
static tsr_expr *product_of(builder *b, const tsr_path_step *step, const uint32_t *syms)
{
	sum *s = b->s;
	tsr_arena *a = s->p->arena;
	uint32_t from[MOST_LOOPS];
	tsr_lin to[MOST_LOOPS];
	tsr_expr *e = NULL;
	for (uint32_t i = 0; i < s->nloops; i++) {
		from[i] = s->loop[i]->loop.sym;
		to[i] = tsr_lin_add_sym(a, tsr_lin_const(0), 1, TSR_LSYM_LOOP, syms[i]);
	}
	for (uint32_t i = 0; i < step->nparts; i++) {
		uint32_t part = step->parts[i];
		tsr_expr *x;
		if (part < s->nfactors) {
			x = tsr_expr_place(a, s->p->l, s->factor[part], s->nloops, from, to);
		} else {
			const result *r = &b->results[part - s->nfactors];
			tsr_lin *index = TSR_NEW_N(a, tsr_lin, r->naxes + 1);
			for (uint32_t j = 0; j < r->naxes; j++)
				index[j] = to[r->axis[j]];
			x = tsr_expr_load(a, r->buffer, index);
		}
		e = e ? tsr_expr_op(a, s->over, s->product->prec, e, x, NULL) : x;
	}
	return e;
}

static tsr_buffer *new_buffer(builder *b, const result *r)
{
	sum *s = b->s;
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
		x->dims[i] = s->loop[r->axis[i]]->loop.extent;
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

/* The statements that collect `product` over the loops of `summed` in a local and store or update with it. */
static tsr_stmts collected(builder *b, tsr_stmt *let, tsr_stmt *out, uint64_t summed, const uint32_t *syms, tsr_expr *product)
{
	tsr_arena *a = b->s->p->arena;
	tsr_local_id local = let->let.local;
	tsr_stmt *set = tsr_stmt_new(a, TSR_STMT_SET, out->span);
	set->let.local = local;
	set->let.prec = let->let.prec;
	set->let.value = tsr_expr_op(a, tsr_acc_get(b->s->acc)->op, let->let.prec, tsr_expr_local(a, local, let->let.prec), product, NULL);
	for (uint32_t i = b->s->nloops; i-- > 0;)
		if (summed >> i & 1)
			set = loop_around(b, i, syms[i], TSR_FOR_REDUCE, alone(b, set));
	tsr_stmts body = alone(b, let);
	tsr_push(a, &body, set);
	tsr_push(a, &body, out);
	return body;
}

/* An intermediate: a kernel before the one that is split. */
static void build_step(builder *b, uint32_t at)
{
	sum *s = b->s;
	tsr_arena *a = s->p->arena;
	const tsr_path_step *step = &b->path->steps[at];
	result *r = &b->results[at];
	uint32_t syms[MOST_LOOPS];
	order_axes(b, step, r);
	r->buffer = new_buffer(b, r);
	for (uint32_t i = 0; i < s->nloops; i++)
		syms[i] = step->over >> i & 1 ? s->unit->nsyms++ : 0;
	tsr_stmt *store = tsr_stmt_new(a, TSR_STMT_STORE, s->out->span);
	store->store.buffer = r->buffer->id;
	store->store.index = TSR_NEW_N(a, tsr_lin, r->naxes + 1);
	for (uint32_t i = 0; i < r->naxes; i++)
		store->store.index[i] = tsr_lin_add_sym(a, tsr_lin_const(0), 1, TSR_LSYM_LOOP, syms[r->axis[i]]);
	store->store.value = product_of(b, step, syms);
	tsr_stmts body = alone(b, store);
	if (step->over != step->keeps) {
		tsr_stmt *let = tsr_stmt_new(a, TSR_STMT_LET, s->out->span);
		let->let.local = s->unit->nlocals++;
		let->let.prec = r->buffer->prec;
		let->let.value = tsr_expr_const(a, tsr_scalar_of(let->let.prec, tsr_acc_get(s->acc)->neutral));
		tsr_expr *product = store->store.value;
		store->store.value = tsr_expr_local(a, let->let.local, let->let.prec);
		body = collected(b, let, store, step->over & ~step->keeps, syms, product);
	}
	for (uint32_t i = r->naxes; i-- > 0;)
		body = alone(b, loop_around(b, r->axis[i], syms[r->axis[i]], TSR_FOR_PARALLEL, body));
	tsr_stmt *k = tsr_stmt_new(a, TSR_STMT_KERNEL, s->kernel->span);
	k->kernel.name = r->buffer->name;
	k->kernel.body = body;
	tsr_push(a, &b->kernels, k);
}

typedef struct replacement { builder *b; tsr_local_id local; tsr_expr *by; } replacement;

static tsr_expr *replace_local(void *user, tsr_expr *e)
{
	replacement *r = user;
	return e->kind == TSR_EXPR_LOCAL && e->local == r->local ? tsr_expr_place(r->b->s->p->arena, r->b->s->p->l, r->by, 0, NULL, NULL) : e;
}

static bool is_neutral(const tsr_expr *e, tsr_acc acc)
{
	return e->kind == TSR_EXPR_CONST && (tsr_prec_is_float(e->prec) ? e->value.d : (double)e->value.i) == tsr_acc_get(acc)->neutral;
}

/* The kernel that writes the target, with the loops that are left. */
static void build_target(builder *b)
{
	sum *s = b->s;
	tsr_arena *a = s->p->arena;
	const tsr_path_step *step = &b->path->steps[b->path->nsteps - 1];
	uint32_t syms[MOST_LOOPS];
	for (uint32_t i = 0; i < s->nloops; i++)
		syms[i] = s->loop[i]->loop.sym;
	tsr_expr *product = product_of(b, step, syms);
	uint64_t summed = step->over & ~step->keeps, around = s->let ? step->keeps : step->over;
	tsr_stmts body = alone(b, s->out);
	if (s->let && summed) {
		body = collected(b, s->let, s->out, summed, syms, product);
	} else if (s->let) {
		if (!is_neutral(s->let->let.value, s->acc))
			product = tsr_expr_op(a, tsr_acc_get(s->acc)->op, product->prec, s->let->let.value, product, NULL);
		replacement r = {b, s->let->let.local, product};
		s->out->store.value = tsr_expr_rewrite(s->out->store.value, replace_local, &r);
	} else {
		s->out->store.value = product;
	}
	for (uint32_t i = s->nloops; i-- > 0;)
		if (around >> i & 1)
			body = alone(b, loop_around(b, i, syms[i], s->loop[i]->loop.how, body));
	s->kernel->kernel.body = body;
	tsr_push(a, &b->kernels, s->kernel);
}

/* What was guarded together is guarded factor by factor. */
static void spread_guards(sum *s)
{
	tsr_arena *a = s->p->arena;
	for (uint32_t g = 0; s->guard && g < s->guard->cond.n; g++) {
		tsr_range range = s->guard->cond.ranges[g];
		uint64_t loops = lin_loops(s, &range.index);
		for (uint32_t i = 0; i < s->nfactors; i++) {
			if (loops & ~s->facts[i].loops)
				continue;
			tsr_expr *x = TSR_NEW(a, tsr_expr);
			x->kind = TSR_EXPR_SELECT;
			x->prec = s->factor[i]->prec;
			x->select.n = 1;
			x->select.ranges = TSR_NEW(a, tsr_range);
			*x->select.ranges = range;
			x->select.inside = s->factor[i];
			x->select.outside = tsr_expr_const(a, tsr_scalar_of(x->prec, tsr_acc_get(s->acc)->neutral));
			s->factor[i] = x;
		}
	}
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

/* An intermediate may be as large as what is there already, or a quarter of a gigabyte of f32. */
static double room_for(sum *s)
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

static void describe_loops(builder *b, tsr_text *t, uint64_t loops)
{
	for (uint32_t i = 0; i < b->s->nloops; i++)
		if (loops >> i & 1)
			tsr_text_addf(t, " %s", b->s->loop[i]->loop.name);
}

/* A line for the whole, and one for each step: its result, its parts, what it sums over, its operations. */
static void describe(builder *b)
{
	sum *s = b->s;
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
			const char *name = !e ? b->results[part - s->nfactors].buffer->name : e->kind == TSR_EXPR_LOAD ? l->buffers.at[e->load.buffer]->name
				: "(..)";
			tsr_text_addf(&t, j ? " %s %s" : "%s %s", j ? tsr_op_get(s->over)->infix : "", name);
		}
		tsr_text_add(&t, " for");
		describe_loops(b, &t, step->keeps);
		tsr_text_add(&t, step->over == step->keeps ? "" : " over");
		describe_loops(b, &t, step->over & ~step->keeps);
		tsr_pass_note(s->p, "%s, %.0f operations", tsr_text_str(&t), step->operations);
	}
}

/* Splits the kernel; the kernels that take its place are pushed to `out`. */
static bool split(tsr_pass *p, tsr_loop_unit *unit, tsr_stmt *kernel, tsr_arena *scratch, tsr_stmts *out)
{
	sum s = {.p = p, .unit = unit, .kernel = kernel};
	double extents[MOST_LOOPS];
	if (kernel->kind != TSR_STMT_KERNEL || !sum_of(&s))
		return false;
	for (uint32_t i = 0; i < s.nloops; i++)
		extents[i] = extent(s.loop[i]->loop.extent);
	tsr_path_problem q = {s.nfactors, s.facts, extents, s.kept, s.over == TSR_OP_ADD, room_for(&s)};
	const tsr_path *path = tsr_path_plan(scratch, &q);
	if (path->nsteps == 1)
		return false;
	builder b = {.s = &s, .path = path, .extents = extents, .results = TSR_NEW_N(scratch, result, path->nsteps)};
	spread_guards(&s);
	for (uint32_t i = 0; i + 1 < path->nsteps; i++)
		build_step(&b, i);
	build_target(&b);
	describe(&b);
	for (uint32_t i = 0; i < b.kernels.n; i++)
		tsr_push(p->arena, out, b.kernels.at[i]);
	p->changes++;
	return true;
}

void tsr_pass_factor(tsr_pass *p)
{
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		tsr_loop_unit *unit = p->l->units.at[u];
		tsr_stmts out = {0};
		for (uint32_t i = 0; i < unit->body.n; i++) {
			tsr_arena *scratch = tsr_arena_new();
			if (!split(p, unit, unit->body.at[i], scratch, &out))
				tsr_push(p->arena, &out, unit->body.at[i]);
			tsr_arena_free(scratch);
		}
		unit->body = out;
	}
}
