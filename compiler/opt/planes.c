/* Windows over images that matrix registers read where they lie, from planes: the image's rows under some rows of a product, with what is padding, each number in its thirds once, rather than a
 * copy for each tap.
 *
 *     sum of A[.., sh oh + dh kh + .., sw ow + dw kw + .., c] B[..]      over kh, kw, c
 *
 * The rows of the product are images, oh and ow, in this order, and channels are last in what is summed.  Where these are not as many as steps are deep, or some times as many, what a window reads of a row is
 * a run, if it lies side by side, and zeros of B fill up its last step; some rows are put together, pixel by pixel, where their windows fill steps better (three rows of 7 x 3 numbers 63 of 64).  Places of a plane's row are
 * counted so that sixteen in turn lie one stride apart: through what is padding between two rows, where the row below follows, else each row by itself; those that are no results are computed and left out.
 * Indices are looked at, no names: gradients of images are such windows, too.  How many images there are only the run may know, and, where channels are whole steps, how high and wide they are: engine/plane_sizes.c. */
#include "schedule.h"

enum { DEPTHS = 32, ROWS = 16, LINE = 64, LATER = 28 };

static const tsr_contract_loop *loop_in(const tsr_walks *x, uint32_t sym)
{
	for (uint32_t i = 0; i < x->nloops; i++)
		if (x->loop[i].sym == sym)
			return &x->loop[i];
	return NULL;
}

/* All loops of the class are of known length. */
static bool known(const tsr_walks *x)
{
	for (uint32_t i = 0; i < x->nloops; i++)
		if (!tsr_size_is_const(x->loop[i].extent) || x->loop[i].extent.k < 1)
			return false;
	return x->nloops > 0;
}

/* The axis whose index has the loop, if it is one and the only one; else TSR_NONE. */
static uint32_t axis_of(const tsr_buffer *b, const tsr_lin *index, uint32_t sym)
{
	uint32_t found = TSR_NONE;
	for (uint32_t axis = 0; axis < b->rank; axis++)
		if (tsr_lin_mentions(&index[axis], sym)) {
			if (found != TSR_NONE)
				return TSR_NONE;
			found = axis;
		}
	return found;
}

/* Along an axis: the loop of the product's rows, and some of depths. */
static bool along(const tsr_buffer *b, const tsr_lin *index, const tsr_contract_view *v, const tsr_contract_loop *rows, tsr_plane_axis *out)
{
	const tsr_lin *at = &index[out->axis];
	if (!tsr_size_is_const(at->base))
		return false;
	out->extent = b->dims[out->axis];
	out->count = rows->extent;
	out->least = at->offset + at->base.k;
	out->span = 1;
	for (uint32_t t = 0; t < at->n; t++) {
		const tsr_lin_term *term = &at->terms[t];
		if (term->kind != TSR_LSYM_LOOP)
			return false;
		const tsr_contract_loop *k = loop_in(&v->cls[TSR_CLASS_K], term->id);
		if (term->id == rows->sym)
			out->step = term->coef;
		else if (!k)
			return false;
		else {
			out->least += term->coef < 0 ? term->coef * (k->extent.k - 1) : 0;
			out->span += (term->coef < 0 ? -term->coef : term->coef) * (k->extent.k - 1);
		}
	}
	out->results = tsr_size_is_const(out->count) ? out->count.k : LATER;
	out->size = tsr_size_is_const(out->extent) ? out->extent.k : out->step * out->results;
	return out->step > 0;
}

/* Each guard is that an axis' own index lies inside it. */
static bool guarded(const tsr_expr *value, const tsr_buffer *b, const tsr_lin *index, const tsr_planes *p)
{
	if (value->kind == TSR_EXPR_LOOKUP)
		return false;
	for (const tsr_expr *x = value; x->kind == TSR_EXPR_SELECT; x = x->select.inside)
		for (uint32_t i = 0; i < x->select.n; i++) {
			const tsr_range *r = &x->select.ranges[i];
			bool own = false;
			for (int a = 0; a < 2; a++) {
				const tsr_plane_axis *axis = a ? &p->w : &p->h;
				own |= axis->axis != TSR_NONE && tsr_lin_equal(r->index, index[axis->axis]) && tsr_extent_equal(r->size, b->dims[axis->axis]);
			}
			if (!own)
				return false;
		}
	return true;
}

/* No loop is anywhere but where it belongs: those of images on axes of their own, those of depths where rows or columns are. */
static bool apart(const tsr_planes *p, const tsr_buffer *b, const tsr_lin *index, const tsr_contract_view *v)
{
	const tsr_walks *m = &v->cls[TSR_CLASS_M], *k = &v->cls[TSR_CLASS_K];
	for (uint32_t i = 0; i < m->nloops; i++) {
		uint32_t axis = axis_of(b, index, m->loop[i].sym), inner = m->nloops - 1 - i;
		bool image = inner > (p->h.axis == TSR_NONE ? 0 : 1);
		if (axis == TSR_NONE || (image && (axis == p->w.axis || axis == p->h.axis || axis == tsr_buffer_last(b))))
			return false;
	}
	for (uint32_t i = 0; i + 1 < k->nloops; i++) {
		uint32_t axis = axis_of(b, index, k->loop[i].sym);
		if (axis == TSR_NONE || (axis != p->w.axis && axis != p->h.axis))
			return false;
	}
	return v->cls[TSR_CLASS_N].nloops > 0 && !v->cls[TSR_CLASS_BATCH].nloops;
}

/* How places of a row are counted, whichever computes fewer that are no results. */
static bool count_places(tsr_planes *p)
{
	int64_t pitch = p->h.step * p->pixels, alone = tsr_round_up(p->w.results, ROWS);
	bool through = p->tall == 1 && pitch % p->w.step == 0 && pitch / p->w.step >= p->w.results && pitch / p->w.step < alone;
	p->places = through ? pitch / p->w.step : alone;
	return through;
}

/* Bytes of planes.  A tile of 32 may begin at the last place, and in rows of runs read a step behind it.  Where places are counted through, what it reads behind a row is the next one's. */
static void lay_out(tsr_planes *p, bool through)
{
	enum { THIRDS = 3, HALF = 2, AFTER = 3 * DEPTHS };   /* what is cleared behind a row's last number: whoever reads 32 there may begin 64 further */
	int64_t numbers = p->pixels * p->channels, together = p->tall > 1 ? (DEPTHS + 1) * p->channels : 0;      /* which go by in up to as many pixels at once */
	if (!p->runs) {
		p->place = p->channels * THIRDS * HALF;
		p->row = p->bytes = p->pixels * p->place;
		p->behind = 2 * (p->h.step * p->pixels + ROWS * p->w.step) * p->place;
		return;
	}
	p->pitch = through ? numbers * HALF : tsr_round_up((numbers + together + AFTER) * HALF, LINE);
	p->joined = p->tall > 1 ? tsr_round_up(((numbers + together) * p->tall + AFTER) * HALF, LINE) : 0;
	p->bytes = THIRDS * (p->pitch + p->joined);
	p->row = p->tall > 1 ? p->bytes : p->pitch;
	p->behind = 2 * ROWS * p->w.step * p->tall * p->channels * HALF + AFTER * HALF;
	p->after = through ? (DEPTHS - 2 + numbers) / numbers : 0;
}

/* B's columns lie side by side, the depths of each row by row. */
static bool columns_lie(const tsr_loops *l, const tsr_contraction *c, const tsr_contract_view *v)
{
	const tsr_walks *n = &v->cls[TSR_CLASS_N];
	return tsr_contract_plain(l, c, TSR_SIDE_B) && n->n == 1 && tsr_walks_unit(n, TSR_SIDE_B);
}

static int64_t steps_of(int64_t numbers) { return (numbers + DEPTHS - 1) / DEPTHS; }

/* How many rows of a window of so many are multiplied together: what steps that saves over what putting rows together costs, in cycles of a place; a product adds 16 columns, and each row of some pixels is permuted
 * once for each third. */
static void set_tall(tsr_planes *p, int64_t rows, int64_t columns)
{
	enum { COLUMNS = 16 };
	const double product = 6, permuted = 6;
	double most = 0;
	for (int64_t tall = 2; tall <= rows && tall * p->channels <= DEPTHS; tall++) {
		int64_t saved = rows * steps_of(p->run) - rows / tall * steps_of(tall * p->run) - rows % tall * steps_of(p->run), at_once = DEPTHS / (tall * p->channels);
		double gain = product * (double)(saved * ((columns + COLUMNS - 1) / COLUMNS)) - permuted * (double)(tall * p->w.step * p->h.step) / (double)at_once;
		if (gain > most)
			most = gain, p->tall = tall;
	}
}

/* Channels that are whole steps are a place's; of others a place has the row of a window, if that lies side by side and in the order of what is summed, or some rows together. */
static void set_run(const tsr_contract_view *v, const tsr_buffer *b, const tsr_lin *index, tsr_planes *p)
{
	const tsr_walks *k = &v->cls[TSR_CLASS_K];
	const tsr_contract_loop *across = &k->loop[k->nloops - 2], *down = k->nloops == 3 ? &k->loop[0] : NULL;
	p->runs = p->channels % DEPTHS;
	p->tall = 1;
	p->run = p->channels;
	if (p->runs && tsr_lin_coef(&index[p->w.axis], across->sym) == 1) {
		p->run *= across->extent.k;
		p->apart = down && p->h.axis != TSR_NONE && axis_of(b, index, down->sym) == p->h.axis ? tsr_lin_coef(&index[p->h.axis], down->sym) : 0;
		if (p->apart > 0)
			set_tall(p, down->extent.k, tsr_walks_count(&v->cls[TSR_CLASS_N]));
	}
	int64_t runs = p->taps * p->channels / p->run;
	p->depth = DEPTHS * (runs / p->tall * steps_of(p->tall * p->run) + runs % p->tall * steps_of(p->run));
}

int64_t tsr_planes_depth_at(const tsr_planes *p, int64_t at)
{
	int64_t runs = p->taps * p->channels / p->run, whole = runs / p->tall, padded = DEPTHS * steps_of(p->tall * p->run), single = DEPTHS * steps_of(p->run), behind = at - whole * padded;
	int64_t rows = behind < 0 ? p->tall : 1, before = behind < 0 ? at / padded * p->tall : whole * p->tall + behind / single, within = behind < 0 ? at % padded : behind % single;
	int64_t pixel = rows * p->channels, row = before + within % pixel / p->channels;
	return within < rows * p->run ? row * p->run + within / pixel * p->channels + within % p->channels : -1;
}

bool tsr_planes_of(const tsr_loops *l, const tsr_contraction *c, const tsr_contract_view *v, tsr_planes *p)
{
	const tsr_walks *m = &v->cls[TSR_CLASS_M], *k = &v->cls[TSR_CLASS_K];
	const tsr_expr *x = tsr_contract_guarded(c->a_value);
	if (!x || x->prec != TSR_PREC_F32 || !m->nloops || !known(k) || k->nloops < 2)
		return false;
	const tsr_buffer *b = l->buffers.at[x->load.buffer];
	const tsr_lin *index = x->load.index;
	const tsr_contract_loop *channels = &k->loop[k->nloops - 1], *columns = &m->loop[m->nloops - 1], *rows = m->nloops > 1 ? columns - 1 : NULL;
	uint32_t last = tsr_buffer_last(b);
	*p = (tsr_planes){ .value = x, .channels = channels->extent.k, .w.axis = axis_of(b, index, columns->sym), .h.axis = TSR_NONE };
	if (b->rank < 2 || b->prec != TSR_PREC_F32 || !tsr_lin_bare(&index[last], channels->sym) || !tsr_size_is_const(b->dims[last]) || b->dims[last].k != p->channels || p->w.axis != last - 1
		|| axis_of(b, index, channels->sym) != last)
		return false;
	for (uint32_t i = 0; i + 1 < k->nloops && rows; i++) {
		uint32_t axis = axis_of(b, index, k->loop[i].sym);
		p->h.axis = axis != TSR_NONE && axis == axis_of(b, index, rows->sym) ? axis : p->h.axis;
	}
	p->h.extent = p->h.count = tsr_size_const(1);
	p->h.size = p->h.results = p->h.step = p->h.span = 1;
	if (!along(b, index, v, columns, &p->w) || (p->h.axis != TSR_NONE && !along(b, index, v, rows, &p->h)) || !guarded(c->a_value, b, index, p) || !apart(p, b, index, v))
		return false;
	p->later = !tsr_size_is_const(p->w.count) || !tsr_size_is_const(p->w.extent) || !tsr_size_is_const(p->h.count) || !tsr_size_is_const(p->h.extent);
	p->taps = tsr_walks_count(k) / p->channels;
	p->pixels = p->w.step * (p->w.results - 1) + p->w.span;
	p->high = p->h.step * (p->h.results - 1) + p->h.span;
	int64_t from = p->w.least < 0 ? 0 : p->w.least, until = p->w.least + p->pixels < p->w.size ? p->w.least + p->pixels : p->w.size;
	p->inside = until - from;
	set_run(v, b, index, p);
	lay_out(p, count_places(p));
	return p->inside > 0 && p->taps > 1 && (!p->runs || (!p->later && columns_lie(l, c, v)));
}

int64_t tsr_planes_rows(const tsr_planes *p, int64_t rows)
{
	int64_t lines = (rows + p->w.results - 2) / p->w.results + 1, ends = (lines + p->h.results - 2) / p->h.results, more = p->h.span > p->h.step ? p->h.span - p->h.step : 0;
	return p->h.step * (lines - 1) + p->h.span + ends * more;
}
