/* Packing what is padded, as images under a window are: elements of memory inside some ranges, a constant outside.
 *
 * Where in a vector memory ends is told by a mask.  Finding masks takes much longer than loading by them, and those of a panel are the same at all positions of
 * the loops of the sum that no range mentions, the channels: they are found once for each place of the window, whose channels follow. */
#include "kit.h"

enum { MOST_VECTORS = 4, MOST_PLACES = 512, TOGETHER = 4 };      /* of a panel; of a window; channels whose pieces are loaded once */
enum { MOST_WORDS = 1 << 13 };                                   /* of a table of masks */

const tsr_expr *tsr_padded_within(const tsr_expr *x)
{
	while (x->kind == TSR_EXPR_SELECT)
		x = x->select.inside;
	return x;
}

/* So many elements apart along the loop, an operand's elements as they lie; 0: more than a few, or none. */
static uint32_t apart_of(const tsr_computed *v, const tsr_expr *x, uint32_t sym)
{
	if (x->kind != TSR_EXPR_LOAD || x->prec != v->prec)
		return 0;
	const tsr_buffer *b = v->e->loops->buffers.at[x->load.buffer];
	int64_t apart = b->rank && b->prec == v->prec ? tsr_lin_coef(&x->load.index[tsr_buffer_last(b)], sym) : 0;
	for (uint32_t i = 0; i < tsr_buffer_last(b); i++)
		apart = tsr_lin_mentions(&x->load.index[i], sym) ? 0 : apart;
	return apart > 0 && apart <= TSR_MOST_STRIDE ? (uint32_t)apart : 0;
}

/* SELECTs in whose ranges the loop's coefficient is 0 or that of what lies in memory, with one constant outside of all: whole vectors, whose masks are what lies inside. */
uint32_t tsr_padded(const tsr_kit *k, const tsr_computed *v, const tsr_walks *inner)
{
	const tsr_expr *x = v->value;
	if (x->kind != TSR_EXPR_SELECT || !inner->nloops || k->target->masks == TSR_MASKS_NONE || k->elem_bytes < (k->target->pairs ? 2 : 4))
		return 0;
	uint32_t sym = inner->loop[inner->nloops - 1].sym, apart = apart_of(v, tsr_padded_within(x), sym);
	const tsr_expr *outside = x->select.outside;
	bool plain = outside->kind == TSR_EXPR_CONST && (apart <= 1 || k->elem_bytes >= 4);
	for (; x->kind == TSR_EXPR_SELECT; x = x->select.inside) {
		const tsr_expr *o = x->select.outside;
		plain &= x->prec == v->prec && o->kind == TSR_EXPR_CONST && o->prec == outside->prec && o->value.i == outside->value.i;
		for (uint32_t i = 0; i < x->select.n; i++) {
			int64_t c = tsr_lin_coef(&x->select.ranges[i].index, sym);
			plain &= c == 0 || c == apart;
		}
	}
	return plain ? apart : 0;
}

LLVMValueRef tsr_padded_outside(tsr_kit *k, const tsr_computed *v)
{
	const tsr_expr *outside = v->value->select.outside;
	return tsr_kit_splat(k, tsr_emit_to_memory(v->e, v->prec, tsr_emit_convert(v->e, tsr_emit_expr(v->e, outside), outside->prec, v->prec)));
}

/* The first position that is not below so many elements. */
static LLVMValueRef positions(tsr_kit *k, LLVMValueRef elements, uint32_t apart)
{
	return apart == 1 ? elements : LLVMBuildSDiv(k->b, tsr_kit_add(k, elements, tsr_kit_int(k, (int64_t)apart - 1)), tsr_kit_int(k, apart), "");
}

void tsr_padded_inside(tsr_kit *k, tsr_emit *e, const tsr_expr *x, uint32_t sym, uint32_t apart, LLVMValueRef *begin, LLVMValueRef *end)
{
	LLVMValueRef zero = tsr_kit_int(k, 0);
	for (; x->kind == TSR_EXPR_SELECT; x = x->select.inside)
		for (uint32_t i = 0; i < x->select.n; i++) {
			const tsr_range *r = &x->select.ranges[i];
			LLVMValueRef at = tsr_emit_lin(e, &r->index), size = tsr_emit_size(e, r->size), below = LLVMBuildNSWSub(k->b, zero, at, "");
			if (tsr_lin_mentions(&r->index, sym)) {
				LLVMValueRef first = positions(k, below, apart);
				*begin = LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntSGT, first, *begin, ""), first, *begin, "");
				*end = tsr_kit_min(k, *end, positions(k, tsr_kit_add(k, size, below), apart));
			} else
				*end = LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntULT, at, size, ""), *end, zero, "");
		}
}

/* ---- panels ---------------------------------------------------------------------------------------------------------------------- */

/* A vector of positions in one of the stretches of the last loop into which it falls: where its first lane would be, and which elements of each part (apart.c) are inside. */
typedef struct piece { LLVMValueRef from, mask[TSR_MOST_STRIDE]; } piece;
typedef struct panel {
	tsr_kit *k;
	const tsr_pack *p;
	const tsr_computed *v;
	LLVMValueRef to, first, valid, outside;
	uint32_t vecs, stretches, apart;
	piece at[MOST_VECTORS][TSR_MOST_STRETCHES];
} panel;

/* Of each place its pieces, vector by vector. */
typedef struct tables { LLVMValueRef from, mask; } tables;

static bool mentioned(const tsr_expr *x, uint32_t sym)
{
	for (; x->kind == TSR_EXPR_SELECT; x = x->select.inside)
		for (uint32_t i = 0; i < x->select.n; i++)
			if (tsr_lin_mentions(&x->select.ranges[i].index, sym))
				return true;
	return false;
}

/* The positions of a vector from the flat one `from` on, of which `left` exist; K's loops are set. */
static void find(panel *n, LLVMValueRef from, LLVMValueRef left, piece *at)
{
	tsr_kit *k = n->k;
	tsr_emit *e = n->v->e;
	const tsr_walks *across = n->v->across;
	const tsr_expr *x = n->v->value, *in = tsr_padded_within(x);
	uint32_t sym = across->loop[across->nloops - 1].sym;
	LLVMValueRef run = tsr_emit_size(e, across->loop[across->nloops - 1].extent), outer = LLVMBuildUDiv(k->b, from, run, "");
	LLVMValueRef place = LLVMBuildNSWSub(k->b, from, LLVMBuildNSWMul(k->b, outer, run, ""), ""), begin = tsr_kit_int(k, 0);
	for (uint32_t s = 0; s < n->stretches; s++) {
		LLVMValueRef past = LLVMBuildNSWSub(k->b, run, place, ""), end = tsr_kit_min(k, past, left), lower = begin, upper = end;
		tsr_walks_decode(k, e, across, 1, s ? tsr_kit_add(k, outer, tsr_kit_int(k, s)) : outer);
		e->syms[sym] = place;
		tsr_padded_inside(k, e, x, sym, n->apart, &lower, &upper);
		LLVMValueRef some = LLVMBuildICmp(k->b, LLVMIntSLT, lower, upper, "");
		e->syms[sym] = tsr_kit_add(k, place, lower);        /* an address that is one, if anything is loaded */
		LLVMValueRef base = e->buffers[in->load.buffer], back = LLVMBuildNeg(k->b, tsr_kit_mul(k, lower, tsr_kit_int(k, n->apart)), "");
		LLVMValueRef there = LLVMBuildGEP2(k->b, k->elem, tsr_emit_address(e, in->load.buffer, in->load.index), &back, 1, "");
		at[s].from = LLVMBuildSelect(k->b, some, there, base, "");
		for (uint32_t i = 0; i < n->apart; i++)
			at[s].mask[i] = tsr_apart_mask(k, n->apart, i, lower, upper);
		place = LLVMBuildNSWSub(k->b, place, run, "");
		begin = end;
	}
}

/* From one position of a loop to the next in memory. */
static LLVMValueRef step_of(const panel *n, uint32_t sym)
{
	tsr_kit *k = n->k;
	tsr_emit *e = n->v->e;
	const tsr_expr *in = tsr_padded_within(n->v->value);
	const tsr_buffer *b = e->loops->buffers.at[in->load.buffer];
	LLVMValueRef total = tsr_kit_int(k, 0), each = tsr_kit_int(k, 1);
	for (uint32_t axis = b->rank; axis-- > 0;) {
		total = tsr_kit_add(k, total, tsr_kit_mul(k, each, tsr_kit_int(k, tsr_lin_coef(&in->load.index[axis], sym))));
		each = tsr_kit_mul(k, each, tsr_emit_size(e, b->dims[axis]));
	}
	return total;
}

/* The end of a stretch falls between the lanes of some vector. */
static LLVMValueRef crossing(const panel *n, LLVMValueRef run)
{
	tsr_kit *k = n->k;
	LLVMValueRef any = LLVMConstInt(k->i1, 0, false);
	for (uint32_t v = 0; v < n->vecs; v++) {
		LLVMValueRef at = LLVMBuildURem(k->b, tsr_kit_add(k, n->first, tsr_kit_int(k, v * k->lanes)), run, "");
		any = LLVMBuildOr(k->b, any, LLVMBuildICmp(k->b, LLVMIntSGT, tsr_kit_add(k, at, tsr_kit_int(k, k->lanes)), run, ""), "");
	}
	return any;
}

/* The pieces under depth d. */
static void sources(panel *n, LLVMValueRef d)
{
	tsr_kit *k = n->k;
	tsr_walks_decode(k, n->v->e, n->v->along, 0, tsr_kit_add(k, n->p->along_first, d));
	for (uint32_t v = 0; v < n->vecs; v++) {
		LLVMValueRef lane = tsr_kit_int(k, v * k->lanes), left = v ? LLVMBuildNSWSub(k->b, n->valid, lane, "") : n->valid;
		find(n, tsr_kit_add(k, n->first, lane), left, n->at[v]);
	}
}

/* Vector v, `on` elements from where its pieces begin. */
static LLVMValueRef loaded(const panel *n, uint32_t v, LLVMValueRef on)
{
	tsr_kit *k = n->k;
	LLVMValueRef part[TSR_MOST_STRIDE];
	for (uint32_t i = 0; i < n->apart; i++) {
		LLVMValueRef further = tsr_kit_add(k, on, tsr_kit_int(k, tsr_apart_at(k, n->apart, i)));
		part[i] = n->outside;
		for (uint32_t s = 0; s < n->stretches; s++) {
			const piece *at = &n->at[v][s];
			LLVMValueRef args[4] = { LLVMBuildGEP2(k->b, k->elem, at->from, &further, 1, ""), LLVMConstInt(k->i32, k->elem_bytes, false), at->mask[i], part[i] };
			part[i] = tsr_kit_intrinsic(k, "llvm.masked.load", (LLVMTypeRef[]){ k->vec, k->ptr }, 2, args, 4);
		}
	}
	return tsr_apart_lanes(k, n->apart, part);
}

/* Depth d, `on` elements from where the pieces begin. */
static void copy(const panel *n, LLVMValueRef d, LLVMValueRef on)
{
	tsr_kit *k = n->k;
	LLVMValueRef place = tsr_kit_mul(k, d, tsr_kit_int(k, n->p->width));
	for (uint32_t v = 0; v < n->vecs; v++) {
		LLVMValueRef all = loaded(n, v, on), to = tsr_kit_at(k, n->to, tsr_kit_add(k, place, tsr_kit_int(k, v * k->lanes)));
		uint32_t lanes = n->p->width - v * k->lanes;
		if (lanes < k->lanes)            /* the next depth may be there already */
			tsr_kit_store_some(k, all, to, 0, lanes);
		else
			tsr_kit_store(k, all, to, NULL);
	}
}

/* Words of 64 bits that a mask takes in memory: a bit for each lane where registers of masks hold such, else all of a lane. */
static uint32_t mask_words(const tsr_kit *k) { return k->target->masks == TSR_MASKS_ALL ? 1 : k->target->vector_bytes / 8; }

static void keep_mask(tsr_kit *k, LLVMValueRef mask, LLVMValueRef to)
{
	bool bits = mask_words(k) == 1;
	LLVMTypeRef ints = LLVMVectorType(LLVMIntTypeInContext(k->context, 8 * k->elem_bytes), k->lanes), word = LLVMIntTypeInContext(k->context, k->lanes);
	LLVMSetAlignment(LLVMBuildStore(k->b, bits ? LLVMBuildBitCast(k->b, mask, word, "") : LLVMBuildSExt(k->b, mask, ints, ""), to), 8);
}

static LLVMValueRef kept_mask(tsr_kit *k, LLVMValueRef from)
{
	bool bits = mask_words(k) == 1;
	LLVMTypeRef ints = LLVMVectorType(LLVMIntTypeInContext(k->context, 8 * k->elem_bytes), k->lanes), word = LLVMIntTypeInContext(k->context, k->lanes);
	LLVMValueRef kept = LLVMBuildLoad2(k->b, bits ? word : ints, from, "");
	LLVMSetAlignment(kept, 8);
	return bits ? LLVMBuildBitCast(k->b, kept, LLVMVectorType(k->i1, k->lanes), "") : LLVMBuildICmp(k->b, LLVMIntSLT, kept, LLVMConstNull(ints), "");
}

/* The pieces of place `i` of the window, in tables between one position of the channels and the next. */
static void pieces(panel *n, const tables *t, LLVMValueRef i, bool keep)
{
	tsr_kit *k = n->k;
	LLVMValueRef all = tsr_kit_mul(k, i, tsr_kit_int(k, n->vecs * n->stretches));
	for (uint32_t v = 0; v < n->vecs; v++)
		for (uint32_t s = 0; s < n->stretches; s++) {
			LLVMValueRef at = tsr_kit_add(k, all, tsr_kit_int(k, v * n->stretches + s)), lane = tsr_kit_mul(k, at, tsr_kit_int(k, (int64_t)mask_words(k) * n->apart));
			LLVMValueRef from = LLVMBuildInBoundsGEP2(k->b, k->i64, t->from, &at, 1, "");
			piece *x = &n->at[v][s];
			for (uint32_t i = 0; i < n->apart; i++) {
				LLVMValueRef word = tsr_kit_add(k, lane, tsr_kit_int(k, (int64_t)mask_words(k) * i)), mask = LLVMBuildInBoundsGEP2(k->b, k->i64, t->mask, &word, 1, "");
				if (keep)
					keep_mask(k, x->mask[i], mask);
				else
					x->mask[i] = kept_mask(k, mask);
			}
			if (keep)
				LLVMBuildStore(k->b, x->from, from);
			else
				x->from = LLVMBuildLoad2(k->b, k->ptr, from, "");
		}
}

/* Channels lie too far apart for a processor to look ahead, and there are too many of them: of each the last line that the next panel has of it is asked for,
 * as the window's last place reads it first (of 64 channels of 28 x 28, waits for these lines were half of packing's time). */
static void fetch_next(const panel *n, const tables *t, LLVMValueRef places, LLVMValueRef on)
{
	tsr_kit *k = n->k;
	LLVMValueRef place = LLVMBuildNSWSub(k->b, places, tsr_kit_int(k, 1), ""), at = tsr_kit_mul(k, place, tsr_kit_int(k, n->vecs * n->stretches));
	LLVMValueRef from = LLVMBuildLoad2(k->b, k->ptr, LLVMBuildInBoundsGEP2(k->b, k->i64, t->from, &at, 1, ""), "");
	LLVMValueRef ahead = tsr_kit_add(k, on, tsr_kit_int(k, (2 * (int64_t)n->p->width - 1) * n->apart));
	tsr_kit_fetch(k, LLVMBuildGEP2(k->b, k->elem, from, &ahead, 1, ""), false);
}

/* Whole channels, some at a time, where a block begins with one: a place's pieces, which are as many loads as what they are for, are loaded once for these.  Where the others begin. */
static LLVMValueRef some_channels(panel *n, LLVMValueRef places, const tables *t, LLVMValueRef begin, LLVMValueRef step)
{
	tsr_kit *k = n->k;
	LLVMValueRef zero = tsr_kit_int(k, 0), each = tsr_kit_mul(k, places, tsr_kit_int(k, TOGETHER));
	LLVMValueRef most = LLVMBuildNSWSub(k->b, n->p->depth, LLVMBuildURem(k->b, n->p->depth, each, ""), "");
	most = LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntEQ, begin, zero, ""), most, zero, "");
	tsr_count c = tsr_count_begin(k, zero, most, each);
	LLVMValueRef on = tsr_kit_mul(k, LLVMBuildUDiv(k->b, c.i, places, ""), step);
	tsr_count d = tsr_count_begin(k, zero, places, tsr_kit_int(k, 1));
	pieces(n, t, d.i, false);
	for (uint32_t u = 0; u < TOGETHER; u++) {
		LLVMValueRef place = tsr_kit_add(k, tsr_kit_add(k, c.i, d.i), tsr_kit_mul(k, places, tsr_kit_int(k, u)));
		copy(n, place, tsr_kit_add(k, on, tsr_kit_mul(k, step, tsr_kit_int(k, u))));
	}
	tsr_count_end(k, &d);
	for (uint32_t u = 0; u < TOGETHER; u++)
		fetch_next(n, t, places, tsr_kit_add(k, on, tsr_kit_mul(k, step, tsr_kit_int(k, u))));
	tsr_count_end(k, &c);
	return most;
}

/* The first loop of the sum is mentioned by no range: the pieces of each place that the others have are found once, and what memory has of one position of
 * that loop is read at once. */
static void by_channels(panel *n, LLVMValueRef places, const tables *t)
{
	tsr_kit *k = n->k;
	const tsr_contract_loop *channel = &n->v->along->loop[0];
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), begin = LLVMBuildURem(k->b, n->p->along_first, places, ""), step = step_of(n, channel->sym);
	tsr_count i = tsr_count_begin(k, zero, tsr_kit_min(k, places, n->p->depth), one);
	sources(n, i.i);
	LLVMValueRef place = tsr_kit_add(k, begin, i.i), wrapped = LLVMBuildICmp(k->b, LLVMIntSGE, place, places, "");
	place = LLVMBuildSelect(k->b, wrapped, LLVMBuildNSWSub(k->b, place, places, ""), place, "");
	LLVMValueRef back = LLVMBuildNeg(k->b, LLVMBuildSelect(k->b, wrapped, step, zero, ""), "");
	for (uint32_t v = 0; v < n->vecs; v++)       /* of a place before the block's first one, as if it were there */
		for (uint32_t s = 0; s < n->stretches; s++)
			n->at[v][s].from = LLVMBuildGEP2(k->b, k->elem, n->at[v][s].from, &back, 1, "");
	pieces(n, t, place, true);
	tsr_count_end(k, &i);
	/* masks that are vectors are many loads, and leave no registers (0.99 to 1.01) */
	LLVMValueRef end = tsr_kit_add(k, begin, n->p->depth), most = k->target->masks == TSR_MASKS_ALL ? some_channels(n, places, t, begin, step) : zero;
	tsr_count c = tsr_count_begin(k, most, end, places);
	LLVMValueRef first = LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntEQ, c.i, zero, ""), begin, zero, "");
	LLVMValueRef on = tsr_kit_mul(k, LLVMBuildUDiv(k->b, c.i, places, ""), step), last = tsr_kit_min(k, places, LLVMBuildNSWSub(k->b, end, c.i, ""));
	tsr_count d = tsr_count_begin(k, first, last, one);
	pieces(n, t, d.i, false);
	copy(n, LLVMBuildNSWSub(k->b, tsr_kit_add(k, c.i, d.i), begin, ""), on);
	tsr_count_end(k, &d);
	fetch_next(n, t, last, on);
	tsr_count_end(k, &c);
}

/* Depth by depth; where the last loop of the sum is mentioned by no range, its positions have the same pieces. */
static void by_depths(panel *n)
{
	tsr_kit *k = n->k;
	const tsr_contract_loop *last = &n->v->along->loop[n->v->along->nloops - 1];
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), step = zero;
	tsr_count d = tsr_count_begin(k, zero, n->p->depth, one);
	if (!mentioned(n->v->value, last->sym)) {
		LLVMValueRef run = tsr_emit_size(n->v->e, last->extent);
		LLVMValueRef past = LLVMBuildNSWSub(k->b, run, LLVMBuildURem(k->b, tsr_kit_add(k, n->p->along_first, d.i), run, ""), "");
		d.step = tsr_kit_min(k, past, LLVMBuildNSWSub(k->b, n->p->depth, d.i, ""));
		step = step_of(n, last->sym);
	}
	sources(n, d.i);
	tsr_count c = tsr_count_begin(k, zero, d.step, one);
	copy(n, tsr_kit_add(k, d.i, c.i), tsr_kit_mul(k, c.i, step));
	tsr_count_end(k, &c);
	tsr_count_end(k, &d);
}

/* So many places of the loops behind the first one, which no range mentions; 0: more than tables hold, or others. */
static int64_t places_of(const tsr_computed *v)
{
	const tsr_walks *along = v->along;
	int64_t places = 1;
	for (uint32_t i = 1; i < along->nloops && places > 0; i++)
		places *= tsr_size_is_const(along->loop[i].extent) ? along->loop[i].extent.k : 0;
	return along->nloops > 1 && places <= MOST_PLACES && !mentioned(v->value, along->loop[0].sym) ? places : 0;
}

bool tsr_pack_padded(tsr_kit *k, const tsr_pack *p, const tsr_computed *v, LLVMValueRef *only)
{
	const tsr_walks *across = v->across;
	uint32_t apart = v->along->nloops ? tsr_padded(k, v, across) : 0;
	if (!apart)
		return false;
	tsr_size run = across->loop[across->nloops - 1].extent;
	uint32_t vecs = (p->width + k->lanes - 1) / k->lanes;
	bool known = tsr_size_is_const(run);
	uint32_t most = across->nloops == 1 ? 1 : !known ? 2 : run.k > 0 ? tsr_stretches(k->lanes, run.k, p->width % k->lanes == 0) : 0;
	if (vecs > MOST_VECTORS || !most || most > TSR_MOST_STRETCHES)
		return false;
	LLVMValueRef length = tsr_emit_size(v->e, run);
	*only = most > 1 && !known ? LLVMBuildICmp(k->b, LLVMIntSGE, length, tsr_kit_int(k, k->lanes), "") : NULL;
	tsr_guard wide = { NULL };
	if (*only)                   /* a vector is in two stretches at most */
		wide = tsr_guard_begin(k, *only);
	int64_t places = places_of(v), words = places * vecs * most * apart * mask_words(k);
	places = words > MOST_WORDS ? 0 : places;
	tables t = { NULL, NULL };
	if (places)
		t = (tables){ tsr_kit_table(k, (uint32_t)places * vecs * most), tsr_kit_table(k, (uint32_t)words) };
	LLVMValueRef width = tsr_kit_int(k, p->width), outside = tsr_padded_outside(k, v);
	tsr_count c = tsr_count_begin(k, tsr_kit_int(k, 0), p->across_count, width);
	panel n = { .k = k, .p = p, .v = v, .to = tsr_kit_at(k, p->to, tsr_kit_mul(k, c.i, p->depth)), .first = tsr_kit_add(k, p->across_first, c.i),
				.valid = tsr_kit_min(k, width, LLVMBuildSub(k->b, p->across_count, c.i, "")), .outside = outside, .vecs = vecs, .apart = apart };
	LLVMValueRef torn = most > 1 ? crossing(&n, length) : LLVMConstInt(k->i1, 0, false);
	for (n.stretches = 1; n.stretches <= most; n.stretches += most > 1 ? most - 1 : 1) {
		tsr_guard g = tsr_guard_begin(k, n.stretches > 1 ? torn : LLVMBuildNot(k->b, torn, ""));
		if (places)
			by_channels(&n, tsr_kit_int(k, places), &t);
		else
			by_depths(&n);
		tsr_guard_end(k, g);
	}
	tsr_count_end(k, &c);
	if (*only)
		tsr_guard_end(k, wide);
	return true;
}
