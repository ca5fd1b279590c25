/* Register tiles whose lanes are steps of K: dot products.
 *
 * Where both operands lie side by side along K, and few rows or columns would use a turned copy of B, rows of both are multiplied vector by
 * vector, and each sum's lanes are added up at the end.  A tile has one vector of columns, of which as many at once as can be added up
 * together: GROUP of them, whose sums come out side by side.  Behind that, a tile is like any other: the same place in C, tail and threads. */
#include "inner.h"
#include <string.h>

enum { GROUP = TSR_DOTS_GROUP, MOST_GROUPS = 2, MOST_COLUMNS = GROUP * MOST_GROUPS };

typedef struct dots {
	tsr_kit *k;
	uint32_t rows, columns;
	LLVMValueRef row[TSR_DOTS_ROWS], column[MOST_COLUMNS];   /* where they begin */
	LLVMValueRef next;           /* what later tiles read is asked for from here on, of `asked` columns that lie `apart`; or NULL */
	uint32_t asked;
	int64_t apart;
	LLVMValueRef below;          /* rows are asked for so many elements further; or NULL */
	uint32_t again;              /* from this row on the columns are read once more; 0: they are not */
} dots;

/* The row from which on columns are read once more.  With half of the loads a core runs so far ahead that what it waits for seems to take the places of the lines that are asked for (2 to 5 and 7 to 10
 * rows by columns from memory 1.1 to 1.5 times as fast, others level; of pairs, which are fewer multiply-adds, one tile alone; rows from memory by 4 columns 1.05 to 1.1). */
static uint32_t reads_again(const tsr_kit *k, const tsr_tile *t)
{
	return t->next_rows || t->ahead > (k->pairs ? GROUP - 1 : 1) ? (t->rows + 1) / 2 : 0;
}

static void read_columns(const dots *d, LLVMValueRef at, LLVMValueRef mask, bool again, LLVMValueRef *b)
{
	tsr_kit *k = d->k;
	for (uint32_t j = 0; j < d->columns; j++) {
		b[j] = tsr_kit_load(k, k->vec, tsr_kit_at(k, d->column[j], at), mask);
		if (again)
			LLVMSetVolatile(b[j], true);         /* or it would be the same load */
	}
}

/* One step of so many lanes, from `at` on: acc[row][column] += row * column. */
static void step(const dots *d, LLVMValueRef at, LLVMValueRef mask, LLVMValueRef *acc)
{
	tsr_kit *k = d->k;
	LLVMValueRef b[MOST_COLUMNS];
	for (uint32_t i = 0; d->next && !mask && i < d->asked; i++) {
		LLVMValueRef there = tsr_kit_add(k, at, tsr_kit_int(k, i * d->apart));
		tsr_kit_fetch_far(k, LLVMBuildGEP2(k->b, k->elem, d->next, &there, 1, ""));
	}
	for (uint32_t r = 0; d->below && !mask && r < d->rows; r++) {
		LLVMValueRef there = tsr_kit_add(k, at, d->below);
		tsr_kit_fetch_far(k, LLVMBuildGEP2(k->b, k->elem, d->row[r], &there, 1, ""));
	}
	read_columns(d, at, mask, false, b);
	for (uint32_t r = 0; r < d->rows; r++) {
		if (r && r == d->again && !mask)
			read_columns(d, at, mask, true, b);
		LLVMValueRef a = tsr_kit_load(k, k->vec, tsr_kit_at(k, d->row[r], at), mask);
		for (uint32_t j = 0; j < d->columns; j++)
			acc[r * d->columns + j] = tsr_kit_step(k, acc[r * d->columns + j], a, b[j]);
	}
}

/* All whole vectors of K, then what is left of it: a loop of one round or none, whose lanes past the end are 0. */
static void sum_up(const dots *d, LLVMValueRef depth, LLVMValueRef *acc)
{
	tsr_kit *k = d->k;
	tsr_carried c;
	LLVMValueRef lanes = tsr_kit_int(k, k->lanes), vectors = LLVMBuildUDiv(k->b, depth, lanes, ""), whole = tsr_kit_mul(k, vectors, lanes);
	tsr_carried_begin(k, &c, d->rows * d->columns, vectors, acc);
	step(d, tsr_kit_mul(k, c.i, lanes), NULL, acc);
	tsr_carried_end(k, &c, 1, acc);
	LLVMValueRef left = LLVMBuildNSWSub(k->b, depth, whole, "");
	tsr_carried_begin(k, &c, d->rows * d->columns, left, acc);
	step(d, tsr_kit_add(k, whole, c.i), tsr_kit_mask(k, left, 0), acc);       /* loads that were the same in each round would all come before it */
	tsr_carried_end(k, &c, k->lanes, acc);
}

/* Lane i of the result is lane from[i] of x and y, one behind the other. */
static LLVMValueRef shuffled(tsr_kit *k, LLVMValueRef x, LLVMValueRef y, const uint32_t *from, uint32_t n)
{
	LLVMValueRef at[64];
	for (uint32_t i = 0; i < n; i++)
		at[i] = LLVMConstInt(k->i32, from[i], false);
	return LLVMBuildShuffleVector(k->b, x, y, LLVMConstVector(at, n), "");
}

/* The sums of neighbouring lanes of x and y, in turns of `each`: of GROUP lanes the first halves, and the second ones, side by side, added. */
static LLVMValueRef folded(tsr_kit *k, LLVMValueRef x, LLVMValueRef y, uint32_t each)
{
	uint32_t low[64] = { 0 }, high[64] = { 0 };
	for (uint32_t i = 0; i < k->lanes; i++) {
		uint32_t lane = i % GROUP, base = i - lane, of = lane / each % 2, at = base + lane / (2 * each) * each + lane % each;
		low[i] = of * k->lanes + at;
		high[i] = of * k->lanes + at + GROUP / 2;
	}
	return tsr_kit_plus(k, shuffled(k, x, y, low, k->lanes), shuffled(k, x, y, high, k->lanes));
}

/* The sums of GROUP vectors' lanes, side by side. */
static LLVMValueRef added_up(tsr_kit *k, const LLVMValueRef *v)
{
	LLVMValueRef all = folded(k, folded(k, v[0], v[1], 1), folded(k, v[2], v[3], 1), 2);
	for (uint32_t n = k->lanes; n > GROUP; n /= 2) {
		uint32_t low[64], high[64];
		for (uint32_t i = 0; i < n / 2; i++)
			low[i] = i, high[i] = i + n / 2;
		all = tsr_kit_plus(k, shuffled(k, all, all, low, n / 2), shuffled(k, all, all, high, n / 2));
	}
	return all;
}

/* The sums of the columns of group `number`, and what comes with it, of all rows; no column behind `last` is read. */
typedef struct group { const tsr_tile *tile; LLVMValueRef f, number, last, sums; uint32_t columns; } group;

static void sum_group(dots *d, const group *x)
{
	tsr_kit *k = d->k;
	const tsr_tile *t = x->tile;
	LLVMValueRef acc[TSR_DOTS_ROWS * MOST_COLUMNS], four[GROUP], first = tsr_kit_mul(k, x->number, tsr_kit_int(k, GROUP));
	d->columns = x->columns;
	if (t->ahead) {
		/* a tile that asks for all of the next group, which may be two */
		uint32_t more = t->ahead == GROUP && x->columns > GROUP ? x->columns - GROUP : 0;
		LLVMValueRef further = tsr_kit_mul(k, tsr_kit_add(k, t->ahead > 1 ? first : x->number, tsr_kit_int(k, more)), tsr_kit_int(k, t->b_column));
		d->next = LLVMBuildGEP2(k->b, k->elem, LLVMGetParam(x->f, TSR_TILE_NEXT), &further, 1, "");
		d->asked = t->ahead + more, d->apart = t->b_column;
	}
	for (uint32_t j = 0; j < d->columns; j++) {
		LLVMValueRef n = tsr_kit_add(k, first, tsr_kit_int(k, j));
		n = x->last ? tsr_kit_min(k, n, x->last) : n;
		d->column[j] = tsr_kit_at(k, LLVMGetParam(x->f, TSR_TILE_B), tsr_kit_mul(k, n, tsr_kit_int(k, t->b_column)));
	}
	for (uint32_t i = 0; i < t->rows * d->columns; i++)
		acc[i] = tsr_kit_neutral(k, k->vec);
	sum_up(d, LLVMGetParam(x->f, TSR_TILE_DEPTH), acc);
	for (uint32_t r = 0; r < t->rows; r++)
		for (uint32_t g = 0; g < d->columns; g += GROUP) {
			for (uint32_t j = 0; j < GROUP; j++)
				four[j] = acc[r * d->columns + (g + j < d->columns ? g + j : d->columns - 1)];
			tsr_kit_store(k, added_up(k, four), tsr_kit_at(k, x->sums, tsr_kit_add(k, first, tsr_kit_int(k, r * k->lanes + g))), NULL);
		}
}

void tsr_dots_body(tsr_kit *k, const void *tile, LLVMValueRef f)
{
	const tsr_tile *t = tile;
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), acc[TSR_DOTS_ROWS], mask = NULL;
	LLVMValueRef cols = LLVMGetParam(f, TSR_TILE_COLS), a_row = tsr_inner_stride(k, t->a_row, f, TSR_TILE_A_ROW);
	LLVMValueRef sums = LLVMBuildAlloca(k->b, LLVMArrayType2(k->vec, t->rows), "sums"), groups = tsr_kit_int(k, k->lanes / GROUP);
	/* along a row alone a processor that looks ahead by itself does so in all of the tile's columns at once */
	uint32_t wide = t->rows == 1 && (k->target->streams || k->target->panels_ahead) && k->lanes >= MOST_COLUMNS ? MOST_GROUPS : 1, few = wide == 1 ? t->columns : 0;
	if (t->masked) {
		mask = tsr_kit_mask(k, cols, 0);
		groups = few ? tsr_kit_int(k, few / GROUP) : LLVMBuildUDiv(k->b, tsr_kit_add(k, cols, tsr_kit_int(k, GROUP - 1)), tsr_kit_int(k, GROUP), "");
		LLVMBuildStore(k->b, LLVMConstNull(LLVMArrayType2(k->vec, t->rows)), sums);
	}
	tsr_tile_end end = { k, t->rows, t->vecs, t->c, LLVMGetParam(f, TSR_TILE_C), tsr_inner_stride(k, t->c.row, f, TSR_TILE_C_ROW),
						 LLVMGetParam(f, TSR_TILE_C_ROWS), LLVMGetParam(f, TSR_TILE_C_COLUMNS), &mask, LLVMGetParam(f, TSR_TILE_AROUND), t->tail, TSR_TILE_PARAMS, NULL };
	tsr_tile_fetch(&end);
	dots d = { k, t->rows, 0, { 0 }, { 0 }, NULL, 0, 0, t->next_rows ? tsr_kit_mul(k, a_row, tsr_kit_int(k, t->rows)) : NULL, reads_again(k, t) };
	for (uint32_t r = 0; r < t->rows; r++)
		d.row[r] = tsr_kit_at(k, LLVMGetParam(f, TSR_TILE_A), tsr_kit_mul(k, a_row, tsr_kit_int(k, r)));
	group x = { t, f, zero, t->masked && !few ? LLVMBuildNSWSub(k->b, cols, one, "") : NULL, sums, wide * GROUP };
	if (!few || few >= GROUP) {
		tsr_count q = tsr_count_begin(k, zero, groups, tsr_kit_int(k, wide));
		x.number = q.i;
		sum_group(&d, &x);
		tsr_count_end(k, &q);
	}
	if (few % GROUP) {           /* no column that is not there is summed */
		x.number = tsr_kit_int(k, few / GROUP), x.columns = few % GROUP;
		sum_group(&d, &x);
	}
	for (uint32_t r = 0; r < t->rows; r++)
		acc[r] = tsr_kit_load(k, k->vec, tsr_kit_at(k, sums, tsr_kit_int(k, r * k->lanes)), NULL);
	tsr_tile_store(&end, LLVMGetParam(f, TSR_TILE_ADD), acc);
}
