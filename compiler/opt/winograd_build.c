/* The kernels that winograd.c makes of one. */
#include "winograd_build.h"
#include "../base/text.h"

/* ---- the products ------------------------------------------------------------------------------------------------------------- */

/* The loops of before within a block; what they hold goes into the innermost one. */
static tsr_stmts *loops_of(const tsr_winograd *w, const tsr_nest *nest, tsr_for_kind how, tsr_wino_loops *s, tsr_stmts *out)
{
	for (uint32_t i = 0; i < nest->n; i++) {
		if (tsr_wino_is_place(w, nest->loop[i]) || tsr_wino_is_outer(w, nest->loop[i]))
			continue;
		tsr_stmt *f = tsr_wino_enter(w, s, nest->loop[i], 0, tsr_wino_within(w, nest->loop[i]), how);
		tsr_push(w->p->arena, out, f);
		out = &f->loop.body;
	}
	return out;
}

/* Around the loops that make the results. */
static tsr_stmts *loop_over_planes(const tsr_winograd *w, tsr_wino_loops *s, tsr_stmts *out)
{
	tsr_stmt *f = tsr_wino_loop_like(w, w->window[1].tiled, tsr_size_const(tsr_wino_planes(w)), TSR_FOR_PARALLEL);
	f->loop.name = tsr_intern(w->p->l->tc->names, "plane");
	s->plane = tsr_wino_symbol(w, f->loop.sym);
	tsr_push(w->p->arena, out, f);
	return loops_of(w, &w->made, TSR_FOR_PARALLEL, s, &f->loop.body);
}

/* What is summed over blocks. */
static void clear(const tsr_winograd *w, const tsr_wino_set *to, tsr_wino_loops s, tsr_stmts *out)
{
	tsr_stmts *body = loop_over_planes(w, &s, out);
	tsr_push(w->p->arena, body, tsr_wino_store(w, to, &s, tsr_wino_zero(w)));
}

static void product(const tsr_winograd *w, const tsr_wino_set *image, const tsr_wino_set *filter, const tsr_wino_set *to, tsr_wino_loops s, tsr_stmts *out)
{
	tsr_arena *a = w->p->arena;
	const tsr_stmt *first = w->made.body->at[0];
	tsr_stmts *body = loop_over_planes(w, &s, out);
	tsr_prec prec = first->let.prec;
	tsr_stmt *sum = tsr_stmt_new(a, TSR_STMT_LET, first->span), *set = tsr_stmt_new(a, TSR_STMT_SET, first->span);
	sum->let.local = set->let.local = w->unit->nlocals++;
	sum->let.prec = set->let.prec = prec;
	sum->let.value = tsr_wino_zero(w);
	tsr_push(a, body, sum);
	tsr_stmts *inner = loops_of(w, &w->summed, TSR_FOR_REDUCE, &s, body);
	tsr_expr *x = tsr_expr_load(a, image->buffer, tsr_wino_index(w, image, &s)), *y = tsr_expr_load(a, filter->buffer, tsr_wino_index(w, filter, &s));
	set->let.value = tsr_expr_op(a, TSR_OP_ADD, prec, tsr_expr_local(a, sum->let.local, prec), tsr_expr_op(a, TSR_OP_MUL, prec, x, y, NULL), NULL);
	tsr_push(a, inner, set);
	tsr_stmt *store = tsr_wino_store(w, to, &s, tsr_expr_local(a, sum->let.local, prec));
	if (tsr_wino_sums_blocks(w)) {
		store->kind = TSR_STMT_UPDATE;
		store->store.acc = TSR_ACC_ADD;
	}
	tsr_push(a, body, store);
}

/* ---- all of it ---------------------------------------------------------------------------------------------------------------------- */

/* A kernel of its own. */
static tsr_stmts *kernel_of(const tsr_winograd *w, const char *what, tsr_stmts *out)
{
	tsr_stmt *k = tsr_stmt_new(w->p->arena, TSR_STMT_KERNEL, w->kernel->span);
	k->kernel.name = what ? tsr_intern(w->p->l->tc->names, tsr_format(w->p->arena, "%s.%s", w->kernel->kernel.name, what)) : w->kernel->kernel.name;
	tsr_push(w->p->arena, out, k);
	return &k->kernel.body;
}

/* The loops around blocks, all of which share memory; of a sum over them the first one in parts, each of which begins with `to`. */
static tsr_stmts *blocks(const tsr_winograd *w, const tsr_wino_set *to, tsr_wino_loops *s, tsr_stmts *out)
{
	tsr_arena *a = w->p->arena;
	const tsr_nest *nest = tsr_wino_sums_blocks(w) ? &w->summed : &w->made;
	if (w->parts > 1) {
		tsr_stmt *f = tsr_wino_loop_like(w, w->outer ? nest->loop[0] : w->cut, tsr_size_const(w->parts), TSR_FOR_SERIAL);
		f->loop.name = tsr_intern(w->p->l->tc->names, "part");
		s->part = tsr_wino_symbol(w, f->loop.sym);
		tsr_push(a, out, f);
		out = &f->loop.body;
	}
	if (tsr_wino_sums_blocks(w))
		clear(w, to, *s, out);
	for (uint32_t i = 0; i <= w->outer; i++) {
		const tsr_stmt *loop = i < w->outer ? nest->loop[i] : w->cut;
		int window = tsr_wino_window(w, loop->loop.sym);
		tsr_size each = i < w->outer ? loop->loop.extent : tsr_size_const((window < 0 ? loop->loop.extent.k : w->window[window].tiles) / w->rows);
		bool parted = !i && w->parts > 1;
		if (parted)
			each = tsr_size_const(each.k / w->parts);
		tsr_stmt *f = tsr_wino_loop_like(w, loop, each, TSR_FOR_SERIAL);
		tsr_lin here = tsr_wino_symbol(w, f->loop.sym);
		if (parted)
			here = tsr_lin_add(a, here, each.k, s->part);
		s->of[s->n].loop = loop;
		s->of[s->n].at = s->of[s->n].kept = here;
		s->n++;
		if (i == w->outer)
			s->block = tsr_lin_add(a, tsr_lin_const(0), w->rows, here);
		tsr_push(a, out, f);
		out = &f->loop.body;
	}
	return out;
}

/* Of the four steps those that share a block make one kernel: the image's but where blocks are of columns, the other operand's there and where blocks are summed, and the results' where they are not. */
void tsr_wino_build(tsr_winograd *w, tsr_stmts *out)
{
	bool cut = w->cut != NULL, image_in = cut && !w->columns, filter_in = cut && (w->columns || w->over), results_in = cut && !tsr_wino_sums_blocks(w);
	tsr_wino_set of_image = tsr_wino_planes_of_load(w, "image", w->image, image_in), of_filter = tsr_wino_planes_of_load(w, "filter", w->filter, filter_in), of_results = tsr_wino_planes_of_results(w, results_in);
	tsr_wino_loops none = { 0 }, within = { 0 };
	if (!filter_in)
		tsr_wino_filter(w, &of_filter, none, kernel_of(w, "filter", out));
	if (!image_in)
		tsr_wino_image(w, &of_image, none, kernel_of(w, "image", out));
	tsr_stmts *body = kernel_of(w, results_in ? NULL : "planes", out);
	if (cut)
		body = blocks(w, &of_results, &within, body);
	if (filter_in)
		tsr_wino_filter(w, &of_filter, within, body);
	if (image_in)
		tsr_wino_image(w, &of_image, within, body);
	product(w, &of_image, &of_filter, &of_results, within, body);
	tsr_wino_result(w, &of_results, results_in ? within : none, results_in ? body : kernel_of(w, NULL, out));
	w->p->changes++;
	int products = w->taps * w->tile;
	tsr_pass_note(w->p, "%s: %s takes %d products for %d, by tiles of %d%s", w->unit->name, w->kernel->kernel.name, tsr_wino_planes(w), tsr_wino_flat(w) ? products : products * products, w->tile,
		tsr_wino_flat(w) ? "" : w->tile == 2 ? " x 2" : " x 4");
	if (cut)
		tsr_pass_note(w->p, "%s: %s is made in blocks of %lld of %s", w->unit->name, w->kernel->kernel.name, (long long)w->rows, w->cut->loop.name);
}
