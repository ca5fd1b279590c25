/* Loops that opt/stream marks: a piece of the row is computed into memory of its own, which stays in the nearest cache and lets the
 * loop keep its vectors, and is then written in whole lines by stores that go around the caches.  The ends of a piece that are
 * no whole line are written like anything else.
 *
 * Such stores are not ordered with later ones: a kernel that has them ends with a fence, so that whoever is told of the result,
 * in whatever way, finds it. */
#include "nests.h"
#include <string.h>

enum { LINE = 64, PIECE = 2048 };

const tsr_stmt *tsr_emit_around_of(const tsr_stmt *loop)
{
	uint32_t i = loop->loop.body.n - 1;
	while (loop->loop.body.at[i]->kind != TSR_STMT_STORE)
		i--;
	return loop->loop.body.at[i];
}

static LLVMValueRef smaller(tsr_emit *e, LLVMValueRef x, LLVMValueRef y)
{
	return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, x, y, ""), x, y, "");
}

/* Elements from .. to of the piece, where there are any, as memory is copied. */
static void copy_plainly(tsr_emit *e, tsr_prec p, LLVMValueRef target, LLVMValueRef piece, LLVMValueRef from, LLVMValueRef to)
{
	LLVMBasicBlockRef some = tsr_emit_block(e, "part"), after = tsr_emit_block(e, "whole");
	LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, from, to, ""), some, after);
	LLVMPositionBuilderAtEnd(e->builder, some);
	LLVMValueRef bytes = LLVMBuildNSWMul(e->builder, LLVMBuildNSWSub(e->builder, to, from, ""), tsr_emit_i64(e, tsr_prec_bytes(p)), "");
	LLVMBuildMemCpy(e->builder, tsr_emit_offset(e, p, target, from), tsr_prec_bytes(p), tsr_emit_offset(e, p, piece, from), tsr_prec_bytes(p), bytes);
	LLVMBuildBr(e->builder, after);
	LLVMMoveBasicBlockAfter(after, some);
	LLVMPositionBuilderAtEnd(e->builder, after);
}

LLVMValueRef tsr_emit_to_line(tsr_emit *e, tsr_prec p, LLVMValueRef address)
{
	LLVMValueRef at = LLVMBuildPtrToInt(e->builder, address, e->i64, "");
	LLVMValueRef off = LLVMBuildAnd(e->builder, LLVMBuildNeg(e->builder, at, ""), tsr_emit_i64(e, LINE - 1), "");
	return LLVMBuildUDiv(e->builder, off, tsr_emit_i64(e, tsr_prec_bytes(p)), "");
}

void tsr_emit_around(tsr_emit *e, LLVMValueRef store)
{
	LLVMMetadataRef one = LLVMValueAsMetadata(LLVMConstInt(e->i32, 1, false));
	LLVMSetMetadata(store, LLVMGetMDKindIDInContext(e->context, "nontemporal", 11), LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, &one, 1)));
}

static void write_piece(tsr_emit *e, tsr_prec p, LLVMValueRef target, LLVMValueRef piece, LLVMValueRef count)
{
	int64_t bytes = tsr_prec_bytes(p), lanes = LINE / bytes;
	LLVMTypeRef vector = LLVMVectorType(tsr_emit_memory_type(e, p), (unsigned)lanes);
	LLVMValueRef width = tsr_emit_i64(e, lanes), head = smaller(e, tsr_emit_to_line(e, p, target), count);
	LLVMValueRef lines = LLVMBuildUDiv(e->builder, LLVMBuildNSWSub(e->builder, count, head, ""), width, "");
	LLVMValueRef end = LLVMBuildNSWAdd(e->builder, head, LLVMBuildNSWMul(e->builder, lines, width, ""), "");
	copy_plainly(e, p, target, piece, tsr_emit_i64(e, 0), head);
	tsr_emit_loop loop = tsr_emit_loop_begin(e, head, end, width, TSR_FOR_SERIAL);
	LLVMValueRef line = LLVMBuildLoad2(e->builder, vector, tsr_emit_offset(e, p, piece, loop.index), "");
	LLVMSetAlignment(line, (unsigned)bytes);
	LLVMValueRef store = LLVMBuildStore(e->builder, line, tsr_emit_offset(e, p, target, loop.index));
	LLVMSetAlignment(store, LINE);
	tsr_emit_around(e, store);
	tsr_emit_loop_end(e, &loop);
	copy_plainly(e, p, target, piece, end, count);
}

/* Beyond the end of the array nothing comes, and nothing happens. */
static void fetch_at(tsr_emit *e, tsr_buffer_id b, LLVMValueRef at, tsr_fetch to)
{
	LLVMValueRef args[4] = {LLVMBuildGEP2(e->builder, tsr_emit_memory_type(e, e->loops->buffers.at[b]->prec), e->buffers[b], &at, 1, ""),
		LLVMConstInt(e->i32, 0, false), LLVMConstInt(e->i32, to, false), LLVMConstInt(e->i32, 1, false)};
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, LLVMLookupIntrinsicID("llvm.prefetch", 13), &e->ptr, 1);
	LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(f), f, args, 4, "");
}

void tsr_emit_fetch(tsr_emit *e, const tsr_expr *load, tsr_fetch to)
{
	fetch_at(e, load->load.buffer, tsr_emit_position(e, load->load.buffer, load->load.index), to);
}

/* The line of what is stored, if an element before is in it. */
static void fetch_shared(tsr_emit *e, const tsr_stmt *store)
{
	tsr_buffer_id b = store->store.buffer;
	LLVMValueRef off = tsr_emit_to_line(e, e->loops->buffers.at[b]->prec, tsr_emit_address(e, b, store->store.index));
	LLVMBasicBlockRef within = tsr_emit_block(e, "within"), after = tsr_emit_block(e, "after");
	LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntNE, off, tsr_emit_i64(e, 0), ""), within, after);
	LLVMPositionBuilderAtEnd(e->builder, within);
	fetch_at(e, b, tsr_emit_position(e, b, store->store.index), TSR_FETCH_NEAR);
	LLVMBuildBr(e->builder, after);
	LLVMMoveBasicBlockAfter(after, within);
	LLVMPositionBuilderAtEnd(e->builder, after);
}

LLVMValueRef tsr_emit_first_line(tsr_emit *e, const tsr_stmt *s, const tsr_stmt *store, LLVMValueRef from, LLVMValueRef to)
{
	e->syms[s->loop.sym] = from;
	LLVMValueRef address = tsr_emit_address(e, store->store.buffer, store->store.index);
	LLVMValueRef start = LLVMBuildNSWAdd(e->builder, from, tsr_emit_to_line(e, e->loops->buffers.at[store->store.buffer]->prec, address), "");
	return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, start, to, ""), start, to, "");
}

bool tsr_emit_begins_on_lines(const tsr_emit *e, const tsr_stmt *store)
{
	const tsr_buffer *b = e->loops->buffers.at[store->store.buffer];
	uint32_t last = tsr_buffer_last(b);
	tsr_size row = b->dims[last];
	bool lines = !tsr_emit_foreign(b) && tsr_size_is_const(row) && row.k * tsr_prec_bytes(b->prec) % LINE == 0;
	for (uint32_t t = 0; t < store->store.index[last].n && lines; t++)         /* or a block of a row */
		lines = store->store.index[last].terms[t].coef == 1 || store->store.index[last].terms[t].coef * (int64_t)tsr_prec_bytes(b->prec) % LINE == 0;
	return lines;
}

void tsr_emit_fetch_last_line(tsr_emit *e, const tsr_stmt *s, const tsr_stmt *store, LLVMValueRef to)
{
	if (tsr_emit_begins_on_lines(e, store))
		return;
	e->syms[s->loop.sym] = to;
	fetch_shared(e, store);
}

/* Asks for the lines of `count` elements from here on. */
static void fetch(tsr_emit *e, const tsr_expr *load, LLVMValueRef count)
{
	tsr_prec p = e->loops->buffers.at[load->load.buffer]->prec;
	LLVMValueRef first = tsr_emit_position(e, load->load.buffer, load->load.index);
	tsr_emit_loop loop = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), count, tsr_emit_i64(e, LINE / tsr_prec_bytes(p)), TSR_FOR_SERIAL);
	fetch_at(e, load->load.buffer, LLVMBuildAdd(e->builder, first, loop.index, ""), TSR_FETCH_NEAR);
	tsr_emit_loop_end(e, &loop);
}

void tsr_emit_stream(tsr_emit *e, const tsr_stmt *s, LLVMValueRef from, LLVMValueRef to)
{
	const tsr_stmt *store = tsr_emit_around_of(s);
	tsr_prec p = e->loops->buffers.at[store->store.buffer]->prec;
	int64_t most = PIECE / tsr_prec_bytes(p);
	LLVMValueRef piece = tsr_emit_alloca(e, LLVMArrayType2(tsr_emit_memory_type(e, p), (uint64_t)most), "piece"), outer = e->syms[s->loop.sym];
	LLVMSetAlignment(piece, LINE);
	tsr_emit_loop pieces = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, most), TSR_FOR_SERIAL);
	bool whole = LLVMIsAConstantInt(from) && LLVMIsAConstantInt(to)
		&& (LLVMConstIntGetSExtValue(to) - LLVMConstIntGetSExtValue(from)) % most == 0;
	LLVMValueRef count = tsr_emit_i64(e, most);
	if (!whole)
		count = smaller(e, LLVMBuildNSWSub(e->builder, to, pieces.index, ""), count);
	if (tsr_emit_ahead(e, s)) {
		e->syms[s->loop.sym] = pieces.index;
		fetch(e, s->loop.ahead, count);
	}
	tsr_emit_loop inner = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), count, tsr_emit_i64(e, 1), s->loop.how);
	tsr_stream here = {store, tsr_emit_offset(e, p, piece, inner.index), 0, NULL};
	e->syms[s->loop.sym] = LLVMBuildNSWAdd(e->builder, pieces.index, inner.index, "");
	e->stream = &here;
	tsr_emit_stmts(e, &s->loop.body);
	e->stream = NULL;
	tsr_emit_loop_end(e, &inner);
	e->syms[s->loop.sym] = pieces.index;
	write_piece(e, p, tsr_emit_address(e, store->store.buffer, store->store.index), piece, count);
	e->syms[s->loop.sym] = outer;
	tsr_emit_loop_end(e, &pieces);
}

static bool streams(const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		const tsr_contraction *k = s->kind == TSR_STMT_FOR ? s->loop.contraction : NULL;
		if (k && k->gaps && k->gaps->around)
			return true;
		if ((s->kind == TSR_STMT_FOR && (s->loop.stream || streams(&s->loop.body))) || (s->kind == TSR_STMT_IF && streams(&s->cond.body)))
			return true;
	}
	return false;
}

static void order(tsr_emit *e, const char *name)
{
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, LLVMLookupIntrinsicID(name, strlen(name)), NULL, 0);
	LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(f), f, NULL, 0, "");
}

void tsr_emit_wait(tsr_emit *e) { order(e, "llvm.x86.sse2.lfence"); }

void tsr_emit_stream_end(tsr_emit *e, const tsr_stmts *kernel)
{
	if (e->near || !streams(kernel))
		return;
	if (!strcmp(e->target->triple_arch, "x86_64"))
		order(e, "llvm.x86.sse.sfence");
	else
		LLVMBuildFence(e->builder, LLVMAtomicOrderingRelease, false, "");
}
