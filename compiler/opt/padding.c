/* What is padding for whole tiles, and for the first and the last row of tiles: known from the guards alone, before a tile is chosen.
 *
 * Of windows over an image the taps at its sides reach all columns but the first, or the last.  Where a tile's rows are columns of one row of
 * the image, so that they stand one stride apart in it, the tile leaves out just that row. */
#include "schedule.h"

#define LEAST 0.01                   /* of the work, where all is padding */

/* The guards' loops, all of M or of K's stretches, and where they stand. */
typedef struct standing { const tsr_walks *m, *k; uint32_t taps; int64_t at[2 * TSR_MOST_LOOPS]; } standing;

/* Of so many of the class's loops, at this position. */
static void stand(const tsr_walks *x, uint32_t loops, int64_t position, int64_t *at)
{
	for (uint32_t i = loops; i-- > 0;) {
		at[i] = position % x->loop[i].extent.k;
		position /= x->loop[i].extent.k;
	}
}

static const int64_t *place_of(const standing *s, uint32_t sym)
{
	for (uint32_t i = 0; i < s->m->nloops; i++)
		if (s->m->loop[i].sym == sym)
			return &s->at[i];
	for (uint32_t i = 0; i < s->taps; i++)
		if (s->k->loop[i].sym == sym)
			return &s->at[s->m->nloops + i];
	return NULL;
}

static bool known(const standing *s, const tsr_range *r)
{
	if (!tsr_size_is_const(r->size) || !tsr_size_is_const(r->index.base))
		return false;
	for (uint32_t t = 0; t < r->index.n; t++)
		if (r->index.terms[t].kind != TSR_LSYM_LOOP || !place_of(s, r->index.terms[t].id))
			return false;
	return true;
}

static bool inside(const standing *s, const tsr_range *r)
{
	int64_t index = r->index.offset + r->index.base.k;
	for (uint32_t t = 0; t < r->index.n; t++)
		index += r->index.terms[t].coef * *place_of(s, r->index.terms[t].id);
	return index >= 0 && index < r->size.k;
}

static bool all_known(const standing *s, const tsr_expr *e)
{
	for (; e->kind == TSR_EXPR_SELECT; e = e->select.inside)
		for (uint32_t i = 0; i < e->select.n; i++)
			if (!known(s, &e->select.ranges[i]))
				return false;
	return e->kind == TSR_EXPR_LOAD;
}

static bool all_inside(const standing *s, const tsr_expr *e)
{
	for (; e->kind == TSR_EXPR_SELECT; e = e->select.inside)
		for (uint32_t i = 0; i < e->select.n; i++)
			if (!inside(s, &e->select.ranges[i]))
				return false;
	return true;
}

/* The loops' extents, of the first so many, multiplied; 0: not all are known. */
static int64_t count(const tsr_walks *x, uint32_t loops)
{
	int64_t n = 1;
	for (uint32_t i = 0; i < loops; i++)
		n *= tsr_size_is_const(x->loop[i].extent) && n <= TSR_MOST_PADDED ? x->loop[i].extent.k : 0;
	return n;
}

/* The loops of M but for outer ones of which only the run knows how often they go round, as over images: guards that mention these are not known. */
static tsr_walks repeated(const tsr_walks *m)
{
	tsr_walks inner = *m;
	for (; inner.nloops > 1 && !tsr_size_is_const(inner.loop[0].extent); inner.nloops--)
		inner.loop++;
	return inner;
}

bool tsr_padding_of(const tsr_loops *l, const tsr_contraction *c, const tsr_contract_view *v, tsr_padding *out)
{
	tsr_walks inner = repeated(&v->cls[TSR_CLASS_M]);
	standing s = { .m = &inner, .k = &v->cls[TSR_CLASS_K] };
	const tsr_expr *load = tsr_contract_guarded(c->a_value);
	if (c->a_value->kind != TSR_EXPR_SELECT || c->run.n != 1 || !load || s.m->nloops == 0 || s.m->nloops + s.k->nloops > 2 * TSR_MOST_LOOPS)
		return false;
	s.taps = s.k->nloops - 1;        /* the stretch's own loop is the last */
	int64_t positions = count(s.m, s.m->nloops), taps = count(s.k, s.taps);
	if (positions == 0 || taps == 0 || positions > TSR_MOST_PADDED || taps > TSR_MOST_TAPS || !all_known(&s, c->a_value))
		return false;
	for (uint32_t axis = inner.nloops < v->cls[TSR_CLASS_M].nloops; axis < l->buffers.at[load->load.buffer]->rank; axis++)
		if (!tsr_size_is_const(l->buffers.at[load->load.buffer]->dims[axis]))
			return false;
	uint64_t *bits = TSR_NEW_N(l->tc->arena, uint64_t, (size_t)positions);
	for (int64_t p = 0; p < positions; p++) {
		stand(s.m, s.m->nloops, p, s.at);
		for (int64_t t = 0; t < taps; t++) {
			stand(s.k, s.taps, t, s.at + s.m->nloops);
			bits[p] |= (uint64_t)all_inside(&s, c->a_value) << t;
		}
	}
	const tsr_contract_loop *last = &s.m->loop[s.m->nloops - 1];
	int64_t step = 0;
	tsr_index_stride(l->buffers.at[load->load.buffer], load->load.index, last->sym, &step);
	*out = (tsr_padding){ positions, taps, last->extent.k, step * tsr_prec_bytes(l->buffers.at[load->load.buffer]->prec), bits };
	return true;
}

static int64_t ones(uint64_t x)
{
	int64_t n = 0;
	for (; x; x &= x - 1)
		n++;
	return n;
}

double tsr_padding_left(const tsr_padding *p, int64_t rows, bool step)
{
	int64_t left = 0;
	if (step && (rows < 3 || p->width % rows))
		return 0;
	for (int64_t from = 0; from < p->positions; from += rows) {
		int64_t to = from + rows < p->positions ? from + rows : p->positions;
		uint64_t any = 0, between = UINT64_MAX;
		for (int64_t i = from; i < to; i++) {
			any |= p->inside[i];
			between &= i == from || i + 1 == to ? UINT64_MAX : p->inside[i];
		}
		uint64_t first = any & ~p->inside[from], last = any & ~p->inside[to - 1];
		if (step && ((any & ~between) || (first & last)))
			return 0;
		left += (to - from) * ones(any) - (step ? ones(first) + ones(last) : 0);
	}
	return left ? (double)left / (double)(p->positions * p->stretches) : LEAST;
}
