/* Panels of pairs of a B that lies in memory in bf16, side by side along N or along K: from there at once, where matrix.c lines up any operand first.
 *
 * Whole squares of vectors are loaded as they are; what lies behind the last column or depth is masked off, and 0. */
#include "private.h"

enum { PAIRS = 16, BESIDE = 4 };     /* of a vector; pairs of rows that are read side by side along N, in as many of which a processor looks ahead */

tsr_narrow_b tsr_narrow_b_of(tsr_engine *g)
{
	const tsr_walks *n = &g->walks[TSR_CLASS_N], *along = &g->walks[TSR_CLASS_K];
	const tsr_expr *b = g->c->b_value;
	if (b->kind != TSR_EXPR_LOAD || n->nloops != 1 || along->nloops != 1)
		return (tsr_narrow_b){ 0 };
	int64_t by_n = tsr_kit_known(tsr_engine_stride(g, b->load.buffer, b->load.index, n->loop[0].sym));
	int64_t by_k = tsr_kit_known(tsr_engine_stride(g, b->load.buffer, b->load.index, along->loop[0].sym));
	tsr_narrow_b x = { .turned = by_n != 1, .row = by_n != 1 ? by_n : by_k };
	if ((by_n != 1 && by_k != 1) || x.row < 1)
		return (tsr_narrow_b){ 0 };
	g->e->syms[n->loop[0].sym] = g->e->syms[along->loop[0].sym] = tsr_kit_int(&g->k, 0);
	x.base = tsr_emit_address(g->e, b->load.buffer, b->load.index);
	return x;
}

/* `from`: the first column and depth; `to`: the panels; `depth`, `columns` of the block, `whole`: those of whole panels. */
typedef struct direct {
	tsr_kit half, pair;
	uint32_t width;
	int64_t row;
	LLVMValueRef from, to, each, depth, pairs, columns, whole;
} direct;

/* So many numbers of bf16 of row `row` of B, from `at` on, of which it has `limit`; `rows`: and of those so many. */
static LLVMValueRef load(direct *x, LLVMTypeRef type, LLVMValueRef row, LLVMValueRef rows, LLVMValueRef at, LLVMValueRef limit, bool inside)
{
	tsr_kit *k = &x->half;
	LLVMValueRef place = tsr_kit_at(k, x->from, tsr_kit_add(k, tsr_kit_mul(k, row, tsr_kit_int(k, x->row)), at));
	if (inside)
		return tsr_kit_load(k, type, place, NULL);
	tsr_kit narrow = *k;
	narrow.lanes = LLVMGetVectorSize(type);
	LLVMValueRef left = LLVMBuildNSWSub(k->b, limit, at, ""), there = LLVMBuildICmp(k->b, LLVMIntSLT, row, rows, "");
	return tsr_kit_load(k, type, place, tsr_kit_mask(&narrow, LLVMBuildSelect(k->b, there, left, tsr_kit_int(k, 0), ""), 0));
}

/* The line that is read next but one in this column: a processor that looks ahead along a row begins anew with each one, and rows of a block are short. */
static void fetch_below(direct *x, LLVMValueRef row, LLVMValueRef at)
{
	tsr_kit *k = &x->half;
	LLVMValueRef below = tsr_kit_add(k, tsr_kit_mul(k, tsr_kit_add(k, row, tsr_kit_int(k, 4 * BESIDE)), tsr_kit_int(k, x->row)), at);
	tsr_kit_fetch(k, LLVMBuildGEP2(k->b, k->elem, x->from, &below, 1, ""), false);
}

/* A panel's part of some rows, two of which are pairs. */
static void zip(direct *x, LLVMValueRef d, LLVMValueRef c, bool inside)
{
	tsr_kit *k = &x->half, *pair = &x->pair;
	LLVMTypeRef type = LLVMVectorType(k->elem, PAIRS);
	LLVMValueRef to = tsr_kit_at(pair, x->to, tsr_kit_add(k, tsr_kit_mul(k, c, x->each), tsr_kit_mul(k, d, tsr_kit_int(k, x->width)))), pick[2 * PAIRS];
	for (uint32_t i = 0; i < 2 * PAIRS; i++)
		pick[i] = LLVMConstInt(k->i32, i / 2 + i % 2 * PAIRS, false);
	for (uint32_t i = 0; i < BESIDE; i++)
		for (uint32_t at = 0; at < x->width; at += PAIRS) {
			LLVMValueRef two[2], column = tsr_kit_add(k, c, tsr_kit_int(k, at));
			for (uint32_t odd = 0; odd < 2; odd++) {
				LLVMValueRef row = tsr_kit_add(k, tsr_kit_mul(k, d, tsr_kit_int(k, 2)), tsr_kit_int(k, 2 * i + odd));
				two[odd] = load(x, type, row, x->depth, column, x->columns, inside);
				if (inside && at * 2 % TSR_LINE == 0)
					fetch_below(x, row, column);
			}
			LLVMValueRef both = LLVMBuildShuffleVector(k->b, two[0], two[1], LLVMConstVector(pick, 2 * PAIRS), "");
			tsr_kit_store(k, both, tsr_kit_at(pair, to, tsr_kit_int(k, i * x->width + at)), NULL);
		}
}

static void by_columns(direct *x)
{
	tsr_kit *k = &x->half;
	LLVMValueRef zero = tsr_kit_int(k, 0), width = tsr_kit_int(k, x->width);
	tsr_count d = tsr_count_begin(k, zero, x->pairs, tsr_kit_int(k, BESIDE));
	LLVMValueRef behind = tsr_kit_mul(k, tsr_kit_add(k, d.i, tsr_kit_int(k, BESIDE)), tsr_kit_int(k, 2));
	LLVMValueRef inside = LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntSLE, behind, x->depth, ""), x->whole, zero, "");
	tsr_count c = tsr_count_begin(k, zero, inside, width);
	zip(x, d.i, c.i, true);
	tsr_count_end(k, &c);
	c = tsr_count_begin(k, inside, x->columns, width);
	zip(x, d.i, c.i, false);
	tsr_count_end(k, &c);
	tsr_count_end(k, &d);
}

/* A square of as many columns, each a row of B, as pairs of depths, turned into its place. */
static void square(direct *x, LLVMValueRef c, uint32_t at, LLVMValueRef d, bool inside)
{
	tsr_kit *k = &x->half, *pair = &x->pair;
	LLVMValueRef v[PAIRS], first = tsr_kit_mul(k, d, tsr_kit_int(k, 2));
	for (uint32_t r = 0; r < PAIRS; r++)
		v[r] = LLVMBuildBitCast(k->b, load(x, k->vec, tsr_kit_add(k, c, tsr_kit_int(k, at + r)), x->columns, first, x->depth, inside), pair->vec, "");
	tsr_weave(pair, v, PAIRS);
	LLVMValueRef to = tsr_kit_at(pair, x->to, tsr_kit_add(k, tsr_kit_mul(k, c, x->each), tsr_kit_mul(k, d, tsr_kit_int(k, x->width))));
	for (uint32_t r = 0; r < PAIRS; r++)
		tsr_kit_store(pair, v[r], tsr_kit_at(pair, to, tsr_kit_int(k, r * x->width + at)), NULL);
}

static void by_rows(direct *x)
{
	tsr_kit *k = &x->half;
	LLVMValueRef zero = tsr_kit_int(k, 0), some = tsr_kit_int(k, PAIRS), whole = LLVMBuildUDiv(k->b, x->depth, tsr_kit_int(k, 2 * PAIRS), "");
	tsr_count c = tsr_count_begin(k, zero, x->columns, tsr_kit_int(k, x->width));
	LLVMValueRef all = LLVMBuildICmp(k->b, LLVMIntSLT, c.i, x->whole, "");
	LLVMValueRef inside = LLVMBuildSelect(k->b, all, tsr_kit_mul(k, whole, some), zero, "");
	for (uint32_t at = 0; at < x->width; at += PAIRS) {
		tsr_count d = tsr_count_begin(k, zero, inside, some);
		square(x, c.i, at, d.i, true);
		tsr_count_end(k, &d);
		d = tsr_count_begin(k, inside, x->pairs, some);
		square(x, c.i, at, d.i, false);
		tsr_count_end(k, &d);
	}
	tsr_count_end(k, &c);
}

void tsr_pack_narrow_b(tsr_engine *g, const tsr_pack *p, const tsr_narrow_b *b, LLVMValueRef each)
{
	tsr_kit *k = &g->k;
	direct x = { tsr_kit_of(k, TSR_PREC_BF16, LLVMInt16TypeInContext(k->context), 2), tsr_kit_of(k, TSR_PREC_I32, k->i32, 4), .width = p->width, .row = b->row, .to = p->to,
		.each = each, .depth = p->depth, .pairs = tsr_matrix_each(k, TSR_SIDE_B, p->depth), .columns = p->across_count };
	LLVMValueRef width = tsr_kit_int(k, p->width), row = tsr_kit_int(k, b->row), down = b->turned ? p->across_first : p->along_first, beside = b->turned ? p->along_first : p->across_first;
	x.whole = tsr_kit_mul(k, LLVMBuildUDiv(k->b, p->across_count, width, ""), width);
	x.from = tsr_kit_at(&x.half, b->base, tsr_kit_add(k, tsr_kit_mul(k, down, row), beside));
	(b->turned ? by_rows : by_columns)(&x);
}
