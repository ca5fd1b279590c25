/* Sums, and what else takes its elements in any order, of as many iterations as the run says (opt/totals.c): in parts, of which each thread takes some.
 *
 *     for k in 0..?n reduce parts 32 { set $s = $s + v(k) }
 *
 *     for p in 0..32, among threads { $t = 0;  for k in p ?n / 32 .. (p + 1) ?n / 32 { $t = $t + v(k) };  T[p] = $t }
 *     all wait;  for p in 0..32 { $s = $s + T[p] }
 *
 * How many parts there are follows from how many iterations alone: so do the bits.  Few iterations are one part.  T is the team's, or the function's where there is none. */
#include "team.h"
#include "wide_sums.h"

enum { LEAST = 1 << 13, LINE = 64 };

typedef struct total {
	tsr_emit *e;
	const tsr_stmt *loop;
	tsr_local_id id;
	tsr_prec prec;
	tsr_acc acc;
	LLVMValueRef count, parts, results;          /* iterations, parts, and where their results lie, a line each */
} total;

static const tsr_stmt *innermost(const tsr_stmt *s)
{
	while (s->kind == TSR_STMT_FOR)
		s = s->loop.body.at[0];
	return s;
}

static LLVMValueRef result_of(const total *t, LLVMValueRef part)
{
	return tsr_emit_offset(t->e, TSR_PREC_U8, t->results, LLVMBuildNSWMul(t->e->builder, part, tsr_emit_i64(t->e, LINE), ""));
}

/* Where the part begins. */
static LLVMValueRef begin_of(const total *t, LLVMValueRef part)
{
	return LLVMBuildUDiv(t->e->builder, LLVMBuildNSWMul(t->e->builder, t->count, part, ""), t->parts, "");
}

static void each_part(const total *t, uint32_t sym)
{
	tsr_emit *e = t->e;
	LLVMValueRef from = tsr_emit_i64(e, 0), to = t->parts, local = e->locals[t->id];
	tsr_lin begin = tsr_lin_add_sym(e->loops->tc->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, sym), end = tsr_lin_add_sym(e->loops->tc->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, sym + 1);
	tsr_stmt some = *t->loop, *one = &some;
	some.loop.parts = 0, some.loop.split = false;
	some.loop.from = &begin, some.loop.until = &end;
	if (e->team) {
		from = tsr_team_bound(e, t->parts, false);
		to = tsr_team_bound(e, t->parts, true);
	}
	tsr_emit_loop p = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
	LLVMBuildStore(e->builder, tsr_emit_constant(e, tsr_acc_neutral(t->acc, t->prec)), local);
	e->syms[sym] = begin_of(t, p.index);
	e->syms[sym + 1] = begin_of(t, LLVMBuildNSWAdd(e->builder, p.index, tsr_emit_i64(e, 1), ""));
	tsr_emit_stmts(e, &(tsr_stmts){&one, 1, 1});
	LLVMBuildStore(e->builder, LLVMBuildLoad2(e->builder, LLVMGetAllocatedType(local), local, ""), result_of(t, p.index));
	tsr_emit_loop_end(e, &p);
}

static void all_parts(const total *t)
{
	tsr_emit *e = t->e;
	LLVMValueRef local = e->locals[t->id];
	LLVMTypeRef type = LLVMGetAllocatedType(local);
	tsr_emit_loop p = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), t->parts, tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
	LLVMValueRef part = LLVMBuildLoad2(e->builder, type, result_of(t, p.index), "");
	LLVMBuildStore(e->builder, tsr_emit_acc(e, t->acc, t->prec, LLVMBuildLoad2(e->builder, type, local, ""), part), local);
	tsr_emit_loop_end(e, &p);
}

bool tsr_emit_sum_parts(tsr_emit *e, const tsr_stmt *s)
{
	if (!s->loop.parts || e->wide)
		return false;
	total t = {.e = e, .id = innermost(s)->let.local, .acc = tsr_wide_sum_of(innermost(s))};
	if (t.acc == TSR_ACC_SET)
		return false;
	LLVMValueRef together = e->symbols[e->loops->symbols.n], local = e->locals[t.id];
	uint64_t bytes = (uint64_t)s->loop.parts * LINE;
	const tsr_stmt *flat = tsr_emit_flat(e, s);
	t.loop = flat ? flat : s;
	t.prec = e->local_precs[t.id];
	t.count = tsr_emit_size(e, t.loop->loop.extent);
	t.parts = LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSGE, t.count, tsr_emit_i64(e, LEAST), ""), tsr_emit_i64(e, s->loop.parts), tsr_emit_i64(e, 1), "");
	t.results = e->team ? e->team->shared : tsr_emit_alloca(e, LLVMArrayType2(LLVMInt8TypeInContext(e->context), bytes), "parts");
	if (e->team)
		tsr_seat_needs(e->team, bytes, 0);
	LLVMValueRef before = LLVMBuildLoad2(e->builder, LLVMGetAllocatedType(local), local, "");
	each_part(&t, s->loop.part_sym);
	if (e->team)
		tsr_team_wait(e);
	LLVMBuildStore(e->builder, before, local);
	all_parts(&t);
	e->symbols[e->loops->symbols.n] = together;
	return true;
}
