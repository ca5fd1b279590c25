/* Rows that follow each other in memory, go around the caches, and begin anywhere in a line: the line in which one row ends and the next one begins.
 *
 * To store parts of it would fetch it first, and while a core waits for that no later store leaves, those around the caches among them: 250 ns a row on Zen 5 (a
 * layer norm of rows of 1024 took 2.6 times as long behind 16 bytes as at a line).  So what of a row lies behind its last whole line waits near by until the next row's
 * first elements fill its line, which then goes as all others do.  Only the first and the last line of all rows of a thread are written in part. */
#include "nests.h"
#include "../opt/opt.h"

enum { LINE = 64, LINES = 4 };       /* what is less than the lanes of a walk waits, which are two lines at most, and less than one is added */

/* The walk of all elements of a row, behind whose last one the next row begins. */
static bool follow(const tsr_emit *e, const tsr_stmt *walk, const tsr_stmt *store, uint32_t row)
{
	const tsr_buffer *b = e->loops->buffers.at[store->store.buffer];
	uint32_t last = tsr_buffer_last(b), axis = last;
	const tsr_lin *x = store->store.index;
	int64_t least = LINES * LINE / (int64_t)tsr_prec_bytes(b->prec);
	if (!last || !tsr_size_is_const(b->dims[last]) || !tsr_size_is_const(walk->loop.extent) || b->dims[last].k != walk->loop.extent.k || walk->loop.extent.k < least
		|| x[last].n != 1 || x[last].offset || x[last].base.k || tsr_lin_coef(&x[last], walk->loop.sym) != 1)
		return false;
	while (--axis && tsr_size_is_const(b->dims[axis]) && b->dims[axis].k == 1)
		;
	return x[axis].n == 1 && tsr_lin_coef(&x[axis], row) == 1 && e->overlap * (int64_t)tsr_prec_bytes(b->prec) <= (LINES - 2) * LINE;
}

/* The store of a walk whose rows meet; or NULL. */
static const tsr_stmt *store_of(const tsr_emit *e, const tsr_stmt *rows, const tsr_stmt *walk)
{
	const tsr_stmt *store = tsr_emit_streams(e, walk) ? tsr_emit_around_of(walk) : NULL;
	return store && !tsr_emit_begins_on_lines(e, store) && follow(e, walk, store, rows->loop.sym) ? store : NULL;
}

LLVMValueRef tsr_seam_torn(tsr_emit *e, const tsr_stmt *rows, const tsr_stmt *walk)
{
	const tsr_stmt *store = store_of(e, rows, walk);
	if (!store)
		return NULL;
	if (walk->loop.extent.k * (int64_t)tsr_prec_bytes(e->loops->buffers.at[store->store.buffer]->prec) % LINE)
		return LLVMConstInt(e->i1, 1, false);
	LLVMValueRef begin = LLVMBuildAnd(e->builder, LLVMBuildPtrToInt(e->builder, e->buffers[store->store.buffer], e->i64, ""), tsr_emit_i64(e, LINE - 1), "");
	return LLVMBuildICmp(e->builder, LLVMIntNE, begin, tsr_emit_i64(e, 0), "");
}

bool tsr_seam_make(tsr_emit *e, tsr_seam *s, const tsr_stmt *rows, const tsr_stmt *walk, LLVMValueRef from, LLVMValueRef to)
{
	const tsr_stmt *store = store_of(e, rows, walk);
	if (!store)
		return false;
	*s = (tsr_seam){walk, store, rows->loop.sym, from, LLVMBuildNSWSub(e->builder, to, tsr_emit_i64(e, 1), ""), NULL, NULL, NULL};
	s->buffer = tsr_emit_alloca(e, LLVMArrayType2(LLVMInt8TypeInContext(e->context), LINES * LINE), "seam");
	LLVMSetAlignment(s->buffer, LINE);
	s->count = tsr_emit_alloca(e, e->i64, "waiting");
	s->place = tsr_emit_alloca(e, e->ptr, "place");
	LLVMBuildStore(e->builder, tsr_emit_i64(e, 0), s->count);
	LLVMBuildStore(e->builder, LLVMConstNull(e->ptr), s->place);
	return true;
}

const tsr_seam *tsr_seam_of(const tsr_emit *e, const tsr_stmt *walk)
{
	for (uint32_t i = 0; i < e->nseams; i++)
		if (e->seams[i].walk == walk)
			return &e->seams[i];
	return NULL;
}

static tsr_prec prec_of(const tsr_emit *e, const tsr_seam *s) { return e->loops->buffers.at[s->store->store.buffer]->prec; }

static LLVMValueRef address_at(tsr_emit *e, const tsr_seam *s, LLVMValueRef index)
{
	e->syms[s->walk->loop.sym] = index;
	return tsr_emit_address(e, s->store->store.buffer, s->store->store.index);
}

static void copy(tsr_emit *e, tsr_prec p, LLVMValueRef to, LLVMValueRef from, LLVMValueRef count)
{
	unsigned bytes = (unsigned)tsr_prec_bytes(p);
	LLVMBuildMemCpy(e->builder, to, bytes, from, bytes, LLVMBuildNSWMul(e->builder, count, tsr_emit_i64(e, bytes), ""));
}

static tsr_emit_fork if_row(tsr_emit *e, const tsr_seam *s, LLVMValueRef row)
{
	return tsr_emit_fork_begin(e, LLVMBuildICmp(e->builder, LLVMIntEQ, e->syms[s->row], row, ""), "end");
}

/* Whole lines from the buffer to where they belong. */
static void write_lines(tsr_emit *e, const tsr_seam *s, LLVMValueRef count)
{
	tsr_prec p = prec_of(e, s);
	LLVMValueRef lanes = tsr_emit_i64(e, LINE / tsr_prec_bytes(p)), place = LLVMBuildLoad2(e->builder, e->ptr, s->place, "");
	LLVMTypeRef line = LLVMVectorType(tsr_emit_memory_type(e, p), LINE / (unsigned)tsr_prec_bytes(p));
	tsr_emit_loop loop = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), count, lanes, TSR_FOR_SERIAL);
	loop.few = true;
	LLVMValueRef x = LLVMBuildLoad2(e->builder, line, tsr_emit_offset(e, p, s->buffer, loop.index), ""), store = LLVMBuildStore(e->builder, x, tsr_emit_offset(e, p, place, loop.index));
	LLVMSetAlignment(x, LINE);
	LLVMSetAlignment(store, LINE);
	tsr_emit_around(e, store);
	tsr_emit_loop_end(e, &loop);
}

tsr_seam_end tsr_seam_head(tsr_emit *e, const tsr_seam *s, LLVMValueRef from, LLVMValueRef start, tsr_stream *to)
{
	tsr_seam_end end = {LLVMBuildLoad2(e->builder, e->i64, s->count, ""), from, start};
	*to = (tsr_stream){s->store, tsr_emit_offset(e, prec_of(e, s), s->buffer, end.waiting), s->walk->loop.sym, from};
	return end;
}

void tsr_seam_head_end(tsr_emit *e, const tsr_seam *s, const tsr_seam_end *end)
{
	LLVMValueRef count = LLVMBuildNSWSub(e->builder, end->to, end->from, "");
	tsr_emit_fork f = if_row(e, s, s->first);
	copy(e, prec_of(e, s), address_at(e, s, end->from), s->buffer, count);
	tsr_emit_fork_other(e, &f);
	write_lines(e, s, LLVMBuildNSWAdd(e->builder, end->waiting, count, ""));
	tsr_emit_fork_end(e, &f);
}

tsr_seam_end tsr_seam_tail(const tsr_seam *s, LLVMValueRef from, LLVMValueRef to, tsr_stream *at)
{
	*at = (tsr_stream){s->store, s->buffer, s->walk->loop.sym, from};
	return (tsr_seam_end){NULL, from, to};
}

void tsr_seam_tail_end(tsr_emit *e, const tsr_seam *s, const tsr_seam_end *end)
{
	LLVMValueRef count = LLVMBuildNSWSub(e->builder, end->to, end->from, ""), place = address_at(e, s, end->from);
	tsr_emit_fork f = if_row(e, s, s->last);
	copy(e, prec_of(e, s), place, s->buffer, count);
	tsr_emit_fork_other(e, &f);
	LLVMBuildStore(e->builder, count, s->count);
	LLVMBuildStore(e->builder, place, s->place);
	tsr_emit_fork_end(e, &f);
}
