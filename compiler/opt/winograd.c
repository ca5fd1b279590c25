/* Windows of three by three places that move by one, by tiles of two by two: sixteen products where there are thirty-six (S. Winograd, Arithmetic Complexity of Computations, 1980; A. Lavin and
 * S. Gray, Fast Algorithms for Convolutional Neural Networks, 2016).  Along one axis, with d the image, g the window and y the result,
 *
 *     y0 = d0 g0 + d1 g1 + d2 g2         m0 = (d0 - d2) g0                      m2 = (d2 - d1) (g0 - g1 + g2) / 2         y0 = m0 + m1 + m2
 *     y1 = d1 g0 + d2 g1 + d3 g2         m1 = (d1 + d2) (g0 + g1 + g2) / 2      m3 = (d3 - d1) g2                         y1 = m1 - m2 + m3
 *
 * and along both the same of each other's results; by tiles of four by four 36 products where there are 144, and windows of five by five by tiles of two 36
 * where there are 100 (winograd_transform.c); a window along one axis alone has these products without those of the other.  Of what is summed beside the window, as channels, the sums may be
 * taken before those of y, so that
 *
 *     for b, h, w, f { let $s = 0  for i, j, c reduce { if h + i - 1 in .., w + j - 1 in .. { set $s = $s + x[b, h + i - 1, w + j - 1, c] * k[i, j, c, f] } }  store C = .. $s .. }
 *
 * becomes four steps, of which the third is a batch of plain products, one for each two points p:
 *
 *     K.filter    for c, f: G[p, c, f] of k[0..3, 0..3, c, f]
 *     K.image     for b, t, u, c: D[b, t, p, u, c] of x[b, 2t - 1 .., 2u - 1 .., c], four by four of them
 *     K.planes    for p, b, t, u, f { let $s = 0  for c reduce { set $s = $s + D * G }  store M[b, t, p, u, f] = $s }
 *     K           for b, t, u, f: C[b, 2t .., 2u .., f], two by two of them with what follows the sum, of M
 *
 * each a kernel, or most of them one that goes through all of its steps block by block (winograd_cut.c).  The gradient of the image is such a sum, too.  Where the window is what is made and the tiles
 * are summed over, as in the gradient of weights, the same points serve.
 *
 * The result is not what another order of the sums gives: a value's error follows all of its tile's, an infinity or a NaN reaches all results of a tile.  So the pass does nothing unless --winograd asks
 * for it.  docs/accuracy.md has the bound.  Requires reduce and tail. */
#include "winograd.h"

enum { LEAST_TILE = 2, FEWEST_TAPS = 3, MOST_TAPS = 5 };

const tsr_stmt *tsr_wino_loop(const tsr_winograd *w, uint32_t sym)
{
	const tsr_stmt *made = tsr_nest_loop(&w->made, sym);
	return made ? made : tsr_nest_loop(&w->summed, sym);
}

int tsr_wino_window(const tsr_winograd *w, uint32_t sym)
{
	for (int i = 0; i < TSR_WINO_AXES; i++)
		if (w->window[i].tiled && (w->window[i].whole->loop.sym == sym || w->window[i].tiled->loop.sym == sym))
			return i;
	return -1;
}

static bool stores(const tsr_stmt *s) { return s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE; }

/* let $s = 0;  for ..;  then what follows the sum, and stores it. */
static bool is_sum(tsr_winograd *w)
{
	if (w->kernel->kind != TSR_STMT_KERNEL || w->kernel->kernel.body.n != 1)
		return false;
	w->made = tsr_nest_of(&w->kernel->kernel.body);
	const tsr_stmts *b = w->made.body;
	if (!w->made.n || b->n < 3 || b->at[0]->kind != TSR_STMT_LET || b->at[1]->kind != TSR_STMT_FOR || !tsr_prec_is_float(b->at[0]->let.prec)
		|| !tsr_expr_is_neutral(b->at[0]->let.value, TSR_ACC_ADD))
		return false;
	w->summed = tsr_nest_of(&(tsr_stmts){ &b->at[1], 1, 1 });
	for (uint32_t i = 2; i < b->n; i++)
		if (b->at[i]->kind != TSR_STMT_LET && !stores(b->at[i]))
			return false;
	for (uint32_t i = 0; i < w->made.n + w->summed.n; i++) {
		const tsr_stmt *s = i < w->made.n ? w->made.loop[i] : w->summed.loop[i - w->made.n];
		if (s->loop.how == TSR_FOR_SERIAL)
			return false;
	}
	return true;
}

/* set $s = $s + x * y, of two elements of its precision, within guards or none: those are left in `guard`. */
static bool is_product(tsr_winograd *w, const tsr_stmt **guard)
{
	const tsr_stmts *b = w->summed.body;
	*guard = b->n == 1 && b->at[0]->kind == TSR_STMT_IF ? b->at[0] : NULL;
	b = *guard ? &(*guard)->cond.body : b;
	const tsr_stmt *let = w->made.body->at[0], *set = b->n == 1 && b->at[0]->kind == TSR_STMT_SET && b->at[0]->let.local == let->let.local ? b->at[0] : NULL;
	const tsr_expr *sum = set && set->let.value->kind == TSR_EXPR_OP && set->let.value->op.op == TSR_OP_ADD ? set->let.value : NULL;
	const tsr_expr *product = sum && tsr_expr_is_local(sum->op.args[0], let->let.local) && sum->op.args[1]->kind == TSR_EXPR_OP ? sum->op.args[1] : NULL;
	if (!product || product->op.op != TSR_OP_MUL || product->op.args[0]->kind != TSR_EXPR_LOAD || product->op.args[1]->kind != TSR_EXPR_LOAD
		|| product->op.args[0]->prec != let->let.prec || product->op.args[1]->prec != let->let.prec)
		return false;
	w->image = product->op.args[0];
	w->filter = product->op.args[1];
	return true;
}

/* An index of the image that is 1 times a loop and 1 or -1 times another, one of them of results and of as many places as a window has, the other one summed, or the other way round. */
static bool is_window(const tsr_winograd *w, uint32_t axis, tsr_wino_axis *out)
{
	const tsr_lin *x = &w->image->load.index[axis];
	if (x->n != 2 || x->base.nterms)
		return false;
	for (int turn = 0; turn < 2; turn++) {
		const tsr_lin_term *whole = &x->terms[turn], *tiled = &x->terms[!turn];
		const tsr_stmt *k = whole->kind == TSR_LSYM_LOOP ? tsr_wino_loop(w, whole->id) : NULL, *t = tiled->kind == TSR_LSYM_LOOP ? tsr_wino_loop(w, tiled->id) : NULL;
		bool summed = t && tsr_nest_loop(&w->summed, tiled->id) != NULL;
		if (!k || !t || !tsr_size_is_const(k->loop.extent) || !tsr_size_is_const(t->loop.extent) || k->loop.extent.k != w->taps || t->loop.extent.k < LEAST_TILE || tiled->coef != 1 || (whole->coef != 1 && whole->coef != -1)
			|| summed == (tsr_nest_loop(&w->summed, whole->id) != NULL) || (t->loop.extent.k == w->taps && summed && whole->coef > 0))
			continue;
		bool back = whole->coef < 0;
		*out = (tsr_wino_axis){ k, t, axis, back, x->offset + x->base.k - (back ? w->taps - 1 : 0), 0 };
		return true;
	}
	return false;
}

/* The image has two windows of one kind, or one, and loops of its own beside them; its last axis is none. */
static bool has_windows(tsr_winograd *w)
{
	const tsr_buffer *b = w->p->l->buffers.at[w->image->load.buffer];
	int n = 0;
	for (uint32_t axis = 0; axis < b->rank; axis++) {
		const tsr_lin *x = &w->image->load.index[axis];
		bool bare = x->n == 1 && tsr_lin_bare(x, x->terms[0].id) && x->terms[0].kind == TSR_LSYM_LOOP, only = x->n == 0 && !x->base.nterms;
		if (bare || only)
			continue;
		if (n == TSR_WINO_AXES || !tsr_size_is_const(b->dims[axis]) || !is_window(w, axis, &w->window[n]))
			return false;
		n++;
	}
	if (n == 1) {
		w->window[1] = w->window[0];
		w->window[0] = (tsr_wino_axis){ 0 };
	}
	if (n == 0 || b->rank > TSR_WINO_RANK || w->window[1].axis == b->rank - 1 || w->image->load.index[b->rank - 1].n != 1)
		return false;
	w->over = tsr_nest_loop(&w->summed, w->window[1].tiled->loop.sym) != NULL;
	return n == 1 || w->over == (tsr_nest_loop(&w->summed, w->window[0].tiled->loop.sym) != NULL);
}

/* The other operand has a bare loop, or one place, on each axis, and a loop on its last one; those of both windows that are summed are among them, the others not. */
static bool filters(const tsr_winograd *w)
{
	const tsr_buffer *b = w->p->l->buffers.at[w->filter->load.buffer];
	uint32_t found = 0;
	for (uint32_t axis = 0; axis < b->rank; axis++) {
		const tsr_lin *x = &w->filter->load.index[axis];
		const tsr_stmt *s = x->n == 1 && x->terms[0].kind == TSR_LSYM_LOOP && tsr_lin_bare(x, x->terms[0].id) ? tsr_wino_loop(w, x->terms[0].id) : NULL;
		int window = s ? tsr_wino_window(w, s->loop.sym) : -1;
		if ((!s && (x->n || x->base.nterms)) || (window >= 0 && !tsr_nest_loop(&w->summed, s->loop.sym)) || (!s && axis == b->rank - 1))
			return false;
		found |= window >= 0 ? 1u << window : 0;
	}
	return b->rank <= TSR_WINO_RANK && found == (tsr_wino_flat(w) ? 2 : 3);
}

/* All sizes are known but for how many images there are, which the first loop of the results, or of what is summed, goes over. */
static bool sizes_known(const tsr_winograd *w)
{
	for (uint32_t i = 0; i < w->made.n + w->summed.n; i++) {
		const tsr_stmt *s = i < w->made.n ? w->made.loop[i] : w->summed.loop[i - w->made.n];
		bool images = i == (w->over ? w->made.n : 0) && tsr_expr_mentions(w->p->l, w->image, s->loop.sym);
		if (!tsr_size_is_const(s->loop.extent) && !images)
			return false;
	}
	return true;
}

/* What the guards leave out is what lies outside of the image, where it is 0 for the tiles. */
static bool guards_image(const tsr_winograd *w, const tsr_stmt *guard)
{
	for (uint32_t i = 0; guard && i < guard->cond.n; i++) {
		const tsr_range *r = &guard->cond.ranges[i];
		bool found = false;
		for (int k = 0; k < TSR_WINO_AXES; k++)
			found |= w->window[k].tiled && tsr_lin_equal(r->index, w->image->load.index[w->window[k].axis]) && tsr_extent_equal(r->size, w->p->l->buffers.at[w->image->load.buffer]->dims[w->window[k].axis]);
		if (!found)
			return false;
	}
	return true;
}

/* Nothing that is stored is read by the sums; results lie along their last loop. */
static bool stores_apart(const tsr_winograd *w)
{
	const tsr_stmts *b = w->made.body;
	for (uint32_t i = 2; i < b->n; i++) {
		const tsr_stmt *s = b->at[i];
		if (!stores(s))
			continue;
		const tsr_buffer *c = w->p->l->buffers.at[s->store.buffer];
		if (c->id == w->image->load.buffer || c->id == w->filter->load.buffer || c->rank == 0)
			return false;
		if (!tsr_lin_bare(&s->store.index[tsr_buffer_last(c)], w->made.loop[w->made.n - 1]->loop.sym) || tsr_wino_window(w, w->made.loop[w->made.n - 1]->loop.sym) >= 0)
			return false;
	}
	return w->made.n < TSR_WINO_RANK && stores(b->at[b->n - 1]);
}

static bool recognise(tsr_winograd *w)
{
	const tsr_stmt *guard;
	if (!is_sum(w) || !is_product(w, &guard))
		return false;
	bool found = false;
	for (w->taps = FEWEST_TAPS; !found && w->taps <= MOST_TAPS; w->taps += found ? 0 : 2)
		for (int turn = 0; turn < 2 && !found; turn++) {
			const tsr_expr *image = turn ? w->filter : w->image;
			w->filter = turn ? w->image : w->filter, w->image = image;
			found = has_windows(w);
		}
	return found && sizes_known(w) && filters(w) && guards_image(w, guard) && stores_apart(w) && tsr_wino_choose(w);
}

bool tsr_winograd_takes(tsr_pass *p, tsr_loop_unit *unit, tsr_stmt *kernel)
{
	tsr_winograd w = { .p = p, .unit = unit, .kernel = kernel };
	return p->options->tile && recognise(&w);
}

/* What the kernel stored all of, it still does, tile by tile. */
static void keep_stored(const tsr_winograd *w, const bool *exposed)
{
	const tsr_stmts *b = w->made.body;
	for (uint32_t i = 2; i < b->n; i++)
		if (stores(b->at[i]) && !exposed[b->at[i]->store.buffer])
			w->p->l->buffers.at[b->at[i]->store.buffer]->scratch = true;
}

void tsr_pass_winograd(tsr_pass *p)
{
	if (!p->options->tile)
		return;
	tsr_arena *scratch = tsr_arena_new();
	const bool *exposed = tsr_exposed_of(p->l, scratch);
	for (uint32_t i = 0; i < p->l->units.n; i++) {
		tsr_loop_unit *u = p->l->units.at[i];
		tsr_stmts out = { 0 };
		for (uint32_t k = 0; k < u->body.n; k++) {
			tsr_winograd w = { .p = p, .unit = u, .kernel = u->body.at[k] };
			if (recognise(&w)) {
				keep_stored(&w, exposed);
				tsr_wino_build(&w, &out);
			} else
				tsr_push(p->arena, &out, w.kernel);
		}
		u->body = out;
	}
	tsr_arena_free(scratch);
}
