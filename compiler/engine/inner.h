/* What the loops of both kinds of register tiles are made of: those whose rows are one stride apart (tile.c), and those whose rows lie in
 * stretches (stretch.c). */
#ifndef TSR_ENGINE_INNER_H
#define TSR_ENGINE_INNER_H
#include "kit.h"

/* b_shift: where b is a table; of B `lines` lines a row are asked for, b_ahead further; far: `each` lines a step, see tsr_tile.ahead, or `soon` a round, see there;
 * end: what the loop asks for line by line, or NULL; a_step, below: where it asks for rows of A, see tsr_tile.asks; near_rows: how far apart its rows are where it
 * asks for what follows in them, or 0; walked, later, kept, padded: see tsr_tile; beyond: see tsr_rows_tile. */
typedef struct tsr_inner {
	tsr_kit *k;
	uint32_t rows, vecs;
	LLVMValueRef a_row, a_k, b_k, *mask, b_shift;
	uint32_t lines;
	bool near;
	LLVMValueRef b_ahead;
	const tsr_far *far;
	uint32_t each, soon;
	const tsr_tile_end *end;
	LLVMValueRef a_step;
	int64_t near_rows;
	bool walked;
	uint32_t later;
	uint32_t below;
	const struct tsr_copying *copying;
	bool kept;
	bool padded;
	int64_t beyond, each_row;
} tsr_inner;

/* early.c: rows of panels for the next block, as a tile copies them, `beside` rows of B in turn: where it is, `to` and how many are `left` of those (`each`) change from row to row;
 * from the last row of one panel to the first of the panel beside it, and from the last panel to the rows below. */
typedef struct tsr_copying { LLVMValueRef each, across_from, across_to, down_from, down_to, soon; int64_t row; uint32_t vecs, beside; bool crowded; } tsr_copying;
tsr_copying tsr_copying_of(tsr_kit *k, const tsr_tile *t, LLVMValueRef f);
void tsr_copy_row(tsr_kit *k, const tsr_copying *c, LLVMValueRef *from, LLVMValueRef *to, LLVMValueRef *left);

/* The stride, or parameter `param` of f where it is not known. */
LLVMValueRef tsr_inner_stride(tsr_kit *k, tsr_stride s, LLVMValueRef f, unsigned param);
/* What lies further on in this row of B. */
void tsr_inner_lines(const tsr_inner *in, LLVMValueRef b);
/* One step of K: acc[row][vec] += row[row][at] * b[vec]. */
void tsr_inner_step(const tsr_inner *in, const LLVMValueRef *row, LLVMValueRef at, LLVMValueRef b, LLVMValueRef *acc);
/* dots.c: fills the function of such a tile. */
void tsr_dots_body(tsr_kit *k, const void *tile, LLVMValueRef f);
/* `seen` becomes 1 where a sum is a NaN. */
void tsr_inner_watch(const tsr_inner *in, LLVMValueRef seen, const LLVMValueRef *acc);

/* A loop over i = 0, step, .. below `limit` that carries the accumulators and what else stands behind them. */
typedef struct tsr_carried { LLVMBasicBlockRef before, body, after; LLVMValueRef i, limit, phi[512], first[512]; uint32_t n; } tsr_carried;
void tsr_carried_begin(tsr_kit *k, tsr_carried *c, uint32_t n, LLVMValueRef limit, LLVMValueRef *acc);
void tsr_carried_end(tsr_kit *k, tsr_carried *c, int64_t step, LLVMValueRef *acc);

/* Parts of the names by which tiles of one kind are one function; a tail adds its parameters, too. */
void tsr_name_stride(char *out, size_t size, const char *what, tsr_stride s);
void tsr_name_lines(char *out, size_t size, uint32_t lines);
void tsr_name_cut(char *out, size_t size, uint32_t cut, bool padded);
void tsr_name_tail(tsr_kit *k, const tsr_tail_plan *tail, char *name, size_t size, LLVMTypeRef *params);
#endif
