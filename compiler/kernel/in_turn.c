/* A few results of each iteration that is a lane (outer.c), as the coordinates of points that a small matrix turns:
 *
 *     for i parallel { for d in 0..3 parallel { let s = 0; for k reduce { set s = s + r[d, k] x[i, k] }; store y[i, d] = s } }
 *
 * Those of a lane lie side by side, and those of the next lane behind them.  So they are all computed, put in turn, and stored in whole registers, where each d alone would be stored in every
 * third place by masks. */
#include "nests.h"

enum { MOST = TSR_MOST_STRIDE };

struct tsr_in_turn { unsigned n; LLVMValueRef value[MOST], address; };

static const tsr_stmt *last_of(const tsr_stmt *s) { return s->loop.body.at[s->loop.body.n - 1]; }

bool tsr_emit_lies_in_turn(const tsr_emit *e, const tsr_stmt *lanes, const tsr_stmt *s)
{
	if (s->loop.how != TSR_FOR_PARALLEL || !tsr_size_is_const(s->loop.extent) || s->loop.extent.k < 2 || s->loop.extent.k > MOST || !s->loop.body.n || last_of(s)->kind != TSR_STMT_STORE)
		return false;
	const tsr_stmt *store = last_of(s);
	for (uint32_t i = 0; i + 1 < s->loop.body.n; i++)
		if (s->loop.body.at[i]->kind == TSR_STMT_STORE || s->loop.body.at[i]->kind == TSR_STMT_UPDATE || s->loop.body.at[i]->kind == TSR_STMT_IF)
			return false;
	return tsr_prec_bytes(e->loops->buffers.at[store->store.buffer]->prec) == 4 && tsr_emit_step(e, s, store->store.buffer, store->store.index) == 1
		&& tsr_emit_step(e, lanes, store->store.buffer, store->store.index) == s->loop.extent.k;
}

bool tsr_emit_take_in_turn(tsr_emit *e, LLVMValueRef value, LLVMValueRef address)
{
	struct tsr_in_turn *b = e->wide->in_turn;
	if (!b)
		return false;
	if (!b->n)
		b->address = address;
	b->value[b->n++] = value;
	return true;
}

/* The lanes of a register from that one on. */
static LLVMValueRef some(tsr_emit *e, LLVMValueRef value, unsigned from, unsigned n)
{
	LLVMValueRef at[64];
	for (unsigned i = 0; i < n; i++)
		at[i] = LLVMConstInt(e->i32, from + i, false);
	return n == e->wide->lanes ? value : LLVMBuildShuffleVector(e->builder, value, LLVMGetPoison(LLVMTypeOf(value)), LLVMConstVector(at, n), "");
}

static void store_in_turn(tsr_emit *e, tsr_prec p, const struct tsr_in_turn *b)
{
	unsigned lanes = e->target->vector_bytes / 4 < e->wide->lanes ? e->target->vector_bytes / 4 : e->wide->lanes, of[64], at[64];
	LLVMValueRef part[MOST];
	for (unsigned first = 0; first < e->wide->lanes; first += lanes) {
		for (unsigned d = 0; d < b->n; d++)
			part[d] = some(e, b->value[d], first, lanes);
		for (unsigned r = 0; r < b->n; r++) {
			for (unsigned i = 0; i < lanes; i++)
				of[i] = (r * lanes + i) % b->n, at[i] = (r * lanes + i) / b->n;
			LLVMValueRef place = tsr_emit_i64(e, first * b->n + r * lanes);
			tsr_emit_store_lanes(e, p, tsr_emit_of_parts(e, lanes, b->n, part, of, at), LLVMBuildInBoundsGEP2(e->builder, tsr_emit_memory_type(e, p), b->address, &place, 1, ""));
		}
	}
}

bool tsr_emit_in_turn(tsr_emit *e, const tsr_stmt *s)
{
	if (!e->wide || e->wide->lanes < 2 || e->wide->mask || e->wide->each || e->wide->in_turn || !tsr_emit_lies_in_turn(e, e->wide->loop, s))
		return false;
	struct tsr_in_turn b = {0};
	const tsr_wide *outside = e->wide;
	tsr_wide w = *outside;
	LLVMValueRef before = e->syms[s->loop.sym];
	w.in_turn = &b;
	e->wide = &w;
	for (int64_t d = 0; d < s->loop.extent.k; d++) {
		e->syms[s->loop.sym] = tsr_emit_i64(e, d);
		tsr_emit_stmts(e, &s->loop.body);
	}
	e->syms[s->loop.sym] = before;
	e->wide = outside;
	store_in_turn(e, e->loops->buffers.at[last_of(s)->store.buffer]->prec, &b);
	return true;
}
