/* Windows over channels of an image that comes from memory (outer_rows.c): those places that lie below the ones that are computed have rows of the image that no window above has.  A core
 * does not look ahead along so many short stretches by itself, so these are asked for (16 images of 112 x 112 x 64 by 3 x 3 for each channel 1.25 times as fast, by 5 x 5 1.35 to 1.5; of
 * four places together, not eight, 1.5 and 1.7).  To ask for the result's lines as well is no faster. */
#include "nests.h"

enum { LINE = 64 };

/* Of an axis along which windows go down: a loop of the window stands in it, and one that is around all places. */
static const tsr_stmt *down_of(const tsr_lin *at, const tsr_stmt *const *inner, uint32_t n, tsr_below *out)
{
	const tsr_stmt *window = NULL;
	const tsr_lin_term *down = NULL;
	for (uint32_t i = 0; i < at->n; i++) {
		const tsr_stmt *loop = tsr_loop_among(inner, n, &at->terms[i]);
		if (loop)
			window = loop;
		else if (at->terms[i].kind == TSR_LSYM_LOOP && !down)
			down = &at->terms[i];
	}
	if (!window || !down)
		return NULL;
	out->down = down->id, out->rows = down->coef;
	return window;
}

void tsr_below_note(tsr_emit *e, tsr_below *b, const tsr_stmt *row, const tsr_stmt *channel, const tsr_stmt *const *inner, uint32_t n, const tsr_expr *load)
{
	if (!e->target->rows_ahead || b->image || !tsr_emit_large(e, load->load.buffer) || tsr_emit_along(e, channel, load->load.buffer, load->load.index) != 1)
		return;
	tsr_below found = {.image = load, .row = row, .channel = channel};
	for (uint32_t axis = 0; axis < e->loops->buffers.at[load->load.buffer]->rank; axis++) {
		const tsr_lin *at = &load->load.index[axis];
		bool along = tsr_lin_mentions(at, row->loop.sym) || tsr_lin_mentions(at, channel->loop.sym);
		const tsr_stmt *window = along ? NULL : down_of(at, inner, n, &found);
		found.columns = tsr_lin_mentions(at, row->loop.sym) ? tsr_lin_coef(at, row->loop.sym) : found.columns;
		found.window = window ? window : found.window;
	}
	if (found.window && found.rows > 0 && found.rows <= TSR_MOST_STRIDE && found.columns > 0 && found.columns <= TSR_MOST_STRIDE)
		*b = found;
}

void tsr_below_ask(tsr_emit *e, const tsr_below *b, const tsr_stmt *const *inner, uint32_t n, LLVMValueRef at, uint32_t places, LLVMValueRef channel)
{
	LLVMValueRef here = b->image ? e->syms[b->down] : NULL;
	if (!here)
		return;
	e->syms[b->down] = LLVMBuildNSWAdd(e->builder, here, tsr_emit_i64(e, 1), "");
	e->syms[b->row->loop.sym] = at;
	int64_t lines = places * b->columns;
	LLVMValueRef first = LLVMBuildNSWMul(e->builder, channel, tsr_emit_i64(e, lines), "");
	for (int64_t r = 0; r < b->rows; r++)
		for (int64_t k = 0; k < lines; k++) {
			for (uint32_t i = 0; i < n; i++)
				e->syms[inner[i]->loop.sym] = tsr_emit_i64(e, inner[i] == b->window ? b->window->loop.extent.k - 1 - r : 0);
			e->syms[b->channel->loop.sym] = LLVMBuildNSWAdd(e->builder, first, tsr_emit_i64(e, k * (LINE / tsr_prec_bytes(b->image->prec))), "");
			tsr_emit_fetch(e, b->image, TSR_FETCH_FAR);
		}
	e->syms[b->down] = here;
}
