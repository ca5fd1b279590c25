/* Sums that wait for each other: where N follows B's order and C lies side by side along another of its loops, tiles store into a block of
 * their own, whose rows are
 *
 *     rows of M x { columns that are turned together: a part of the loop along which C lies side by side x N's last loop }
 *
 * and when all that is summed has been added there, squares of the two loops are turned in registers (contract_turn.c), so that B is read as it lies
 * and C is written by lines. */
#include "contract_engine.h"

enum { PAGE = 4096 };

/* A line more than the columns, so that rows stay at lines, and do not fall into the same few of a cache. */
int64_t tsr_engine_waiting_row(const tsr_engine *g)
{
	int64_t line = TSR_LINE / g->k.elem_bytes, row = (g->s->turn + line - 1) / line * line + line;
	return row * g->k.elem_bytes % PAGE < TSR_LINE ? row + line : row;
}

LLVMValueRef tsr_engine_waiting(tsr_engine *g, const tsr_block *bl, LLVMValueRef m, LLVMValueRef n)
{
	tsr_kit *k = &g->k;
	LLVMValueRef row = tsr_kit_mul(k, m, tsr_kit_int(k, tsr_engine_waiting_row(g)));
	return tsr_kit_at(k, g->waiting, tsr_kit_add(k, row, LLVMBuildNSWSub(k->b, n, bl->turned, "")));
}

/* The squares' rows are whole lines, wherever they begin, if C does at one. */
static bool by_lines(const tsr_engine *g)
{
	int64_t line = TSR_LINE / g->k.elem_bytes;
	const tsr_group *n = &g->cls[TSR_CLASS_N];
	for (int cls = TSR_CLASS_M; cls <= TSR_CLASS_N; cls++)
		for (uint32_t i = 0; i < g->cls[cls].n; i++)
			if (tsr_kit_known(g->cls[cls].at[i].stride[TSR_SIDE_C]) % line && !(cls == TSR_CLASS_N && i + 2 == n->n))
				return false;
	return g->stream && tsr_kit_known(n->at[n->n - 2].extent) % line == 0;
}

/* All squares of these columns in one row. */
static void turn_row(tsr_engine *g, LLVMValueRef from, LLVMValueRef to, bool around)
{
	tsr_kit *k = &g->k;
	const tsr_group *n = &g->cls[TSR_CLASS_N];
	const tsr_span_axis *part = &n->at[n->n - 2], *last = &n->at[n->n - 1];
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), lanes = tsr_kit_int(k, k->lanes), table = tsr_kit_table(k, k->lanes);
	LLVMValueRef step = last->stride[TSR_SIDE_C], turn = tsr_turn_function(k, around);
	tsr_count p = tsr_count_begin(k, zero, part->extent, lanes);
	LLVMValueRef width = tsr_kit_min(k, lanes, LLVMBuildNSWSub(k->b, part->extent, p.i, ""));
	tsr_count l = tsr_count_begin(k, zero, lanes, one);
	LLVMValueRef row = tsr_kit_add(k, p.i, tsr_kit_min(k, l.i, LLVMBuildNSWSub(k->b, width, one, "")));
	LLVMBuildStore(k->b, tsr_kit_at(k, from, tsr_kit_mul(k, row, last->extent)), LLVMBuildInBoundsGEP2(k->b, k->ptr, table, &l.i, 1, ""));
	tsr_count_end(k, &l);
	tsr_count q = tsr_count_begin(k, zero, last->extent, lanes);
	LLVMValueRef arg[TSR_TURN_PARAMS] = { table, tsr_kit_at(k, to, tsr_kit_add(k, p.i, tsr_kit_mul(k, q.i, step))), q.i, step, width,
										  tsr_kit_min(k, lanes, LLVMBuildNSWSub(k->b, last->extent, q.i, "")) };
	LLVMBuildCall2(k->b, LLVMGlobalGetValueType(turn), turn, arg, TSR_TURN_PARAMS, "");
	tsr_count_end(k, &q);
	tsr_count_end(k, &p);
}

static void turn_rows(tsr_engine *g, const tsr_block *bl, bool around)
{
	tsr_kit *k = &g->k;
	LLVMValueRef columns = tsr_group_offset(k, &g->cls[TSR_CLASS_N], TSR_SIDE_C, bl->turned);
	tsr_count m = tsr_count_begin(k, tsr_kit_int(k, 0), g->cls[TSR_CLASS_M].count, tsr_kit_int(k, 1));
	LLVMValueRef to = tsr_kit_at(k, g->base[TSR_SIDE_C], tsr_kit_add(k, columns, tsr_group_offset(k, &g->cls[TSR_CLASS_M], TSR_SIDE_C, m.i)));
	turn_row(g, tsr_engine_waiting(g, bl, m.i, bl->turned), to, around);
	tsr_count_end(k, &m);
}

void tsr_engine_turn(tsr_engine *g, const tsr_block *bl)
{
	tsr_kit *k = &g->k;
	if (!by_lines(g)) {
		turn_rows(g, bl, false);
		return;
	}
	LLVMValueRef line = LLVMBuildAnd(k->b, LLVMBuildPtrToInt(k->b, g->base[TSR_SIDE_C], k->i64, ""), tsr_kit_int(k, TSR_LINE - 1), "");
	LLVMValueRef aligned = LLVMBuildICmp(k->b, LLVMIntEQ, line, tsr_kit_int(k, 0), "");
	tsr_guard around = tsr_guard_begin(k, aligned);
	turn_rows(g, bl, true);
	tsr_guard_end(k, around);
	tsr_guard within = tsr_guard_begin(k, LLVMBuildNot(k->b, aligned, ""));
	turn_rows(g, bl, false);
	tsr_guard_end(k, within);
}
