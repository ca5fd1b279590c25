/* Register tiles: rows x vecs vectors of C stay in registers while the loop over K runs.
 *
 * Each variant (size, masks, which strides are constants) is one internal function, shared by all contractions of the module,
 * so that a product costs a few calls of code and not a copy of the kernel per edge.  The loop over K takes four steps at once
 * with all accumulators as phis, first some rounds that ask for the tile's lines of C, then the others; nothing is left to an optimiser beyond addressing. */
#include "inner.h"
#include <string.h>

/* One step of K of rows that are one stride apart. */
static void tile_step(const tsr_inner *in, LLVMValueRef a, LLVMValueRef b, LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	LLVMValueRef row[64];
	if (in->kept) {
		LLVMValueRef one = tsr_kit_int(k, 1);
		a = tsr_kit_at(k, a, LLVMBuildLoad2(k->b, k->i64, LLVMBuildInBoundsGEP2(k->b, k->i64, b, &one, 1, ""), ""));
	}
	for (uint32_t r = 0; r < in->rows; r++)
		row[r] = tsr_kit_at(k, a, tsr_kit_mul(k, in->a_row, tsr_kit_int(k, r)));
	if (in->b_shift)
		b = tsr_kit_at(k, LLVMBuildLoad2(k->b, k->ptr, b, ""), in->b_shift);
	tsr_inner_lines(in, b);
	tsr_inner_step(in, row, tsr_kit_int(k, 0), b, acc);
}

static LLVMValueRef b_after(const tsr_inner *in, LLVMValueRef b, unsigned steps)
{
	tsr_kit *k = in->k;
	LLVMValueRef n = tsr_kit_int(k, in->kept ? 2 * steps : steps);
	return in->b_shift ? LLVMBuildInBoundsGEP2(k->b, k->ptr, b, &n, 1, "") : tsr_kit_at(k, b, tsr_kit_mul(k, in->b_k, n));
}

/* Behind the accumulators: where A and B are; the next rows of A; what later blocks read, and what is left of its row. */
enum { AT_A, AT_B, AT_NEXT, AT_FAR, AT_LEFT, PLACES };
/* What a round asks for of the tile's end: so many lines, of the part with its number, or counted row by row where tables say where they are; or it copies
 * a row of a panel of the next block. */
typedef enum asked { NOTHING, A_PART, SOME_LINES, COPIES } asked;
enum { LINES = 2 };

static void ask(const tsr_inner *in, asked what, LLVMValueRef round, uint32_t i)
{
	tsr_kit *k = in->k;
	if (what == A_PART)
		tsr_part_ahead(in->end, round, LINES, i);
	else if (what == SOME_LINES)
		tsr_tile_ahead(in->end, tsr_kit_add(k, tsr_kit_mul(k, round, tsr_kit_int(k, LINES)), tsr_kit_int(k, i)));
}

/* `count` times `unroll` steps from the state in `acc`, which is moved past them. */
static void tile_loop(const tsr_inner *in, LLVMValueRef count, unsigned unroll, LLVMValueRef *acc, asked what)
{
	tsr_kit *k = in->k;
	LLVMValueRef *at = acc + (size_t)in->rows * in->vecs;
	tsr_carried c;
	tsr_carried_begin(k, &c, in->rows * in->vecs + PLACES, count, acc);
	if (in->a_step && unroll > 1)
		at[AT_NEXT] = tsr_rows_ahead(k, in->rows, in->a_row, c.i, at[AT_NEXT], in->a_step);
	LLVMValueRef a = at[AT_A], b = at[AT_B];
	for (uint32_t i = 0; i < LINES; i++)       /* no load may pass what asks: between the steps it would hold all that come before it in registers */
		ask(in, what, c.i, i);
	for (uint32_t i = 0; i < in->soon && what != NOTHING && what != COPIES; i++)
		tsr_far_step(k, in->far, &at[AT_FAR], &at[AT_LEFT]);
	for (uint32_t i = 0; i < in->later && unroll > 1; i++)
		tsr_far_step(k, in->far, &at[AT_FAR], &at[AT_LEFT]);
	if (what == COPIES || (in->copying && in->copying->crowded && what != NOTHING))
		tsr_copy_row(k, in->copying, &at[AT_FAR], &at[AT_NEXT], &at[AT_LEFT]);
	if (in->below && what != NOTHING)
		at[AT_NEXT] = tsr_row_ahead(k, in->below, in->a_row, at[AT_NEXT]);
	for (unsigned u = 0; u < unroll; u++) {
		for (uint32_t s = 0; unroll > 1 && s < in->each; s++)
			tsr_far_step(k, in->far, &at[AT_FAR], &at[AT_LEFT]);
		tile_step(in, at[AT_A], at[AT_B], acc);
		at[AT_A] = in->kept ? a : tsr_kit_at(k, a, tsr_kit_mul(k, in->a_k, tsr_kit_int(k, u + 1)));
		at[AT_B] = b_after(in, b, u + 1);
	}
	tsr_carried_end(k, &c, 1, acc);
}

/* Where there are too few rounds for so many lines, they come all at once. */
static void fetch_where_few(tsr_kit *k, const tsr_tile_end *end, LLVMValueRef rounds, int64_t lines)
{
	tsr_guard few = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSLT, rounds, tsr_kit_int(k, lines), ""));
	tsr_tile_fetch(end);
	tsr_guard_end(k, few);
}

/* How the loop asks for C's lines; `rounds` of it have all of them.  Those that are put together of several rows, or that threads write around the
 * caches, do not come so, and a large tile's tail then comes alone; nor do those beside the lines that the tile before has just written, as few rows of B leave them. */
static asked come_slowly(const tsr_tile *t, const tsr_tile_end *end, int64_t *rounds)
{
	bool told = t->c.stretches && !t->c.stream && !t->c.knit;
	*rounds = told ? (tsr_tile_lines(end) + LINES - 1) / LINES : t->rows * tsr_tile_parts(end, LINES);
	if (t->b_walked || t->c.knit || (t->c.stretches && !told) || (t->c.stream && !t->tail))
		return NOTHING;
	return told ? SOME_LINES : A_PART;
}

/* The sums as they are given. */
static void read_sums(const tsr_inner *in, LLVMValueRef from, LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	for (uint32_t r = 0; r < in->rows; r++)
		for (uint32_t v = 0; v < in->vecs; v++) {
			LLVMValueRef at = tsr_kit_add(k, tsr_kit_mul(k, in->a_row, tsr_kit_int(k, r)), tsr_kit_int(k, v * k->lanes));
			acc[r * in->vecs + v] = tsr_kit_load(k, k->vec, tsr_kit_at(k, from, at), NULL);
		}
}

/* Stores wait for sums in few places, and when these are taken nothing begins behind them: of more than the target's `stores`, which all wait for the last
 * round, the multiply-adds stand still for some 20 cycles (sums over 64: 5 %).  So in that round some rows take their four steps, and are stored, while
 * others take theirs. */
static bool ends_in_groups(const tsr_tile *t, const tsr_kit *k)
{
	bool plain = !t->tail && !t->c.stretches && !t->c.knit && !t->c.stream && !t->masked && !t->watched && !t->given && !t->b_table && !t->b_walked && !t->shallow;
	return plain && k->target->stores && t->rows * t->vecs > k->target->stores;
}

static void last_round(const tsr_inner *in, const tsr_tile_end *end, bool add, const LLVMValueRef *sums)
{
	enum { VECTORS = 4 };
	tsr_kit *k = in->k;
	const LLVMValueRef *at = sums + (size_t)in->rows * in->vecs;
	uint32_t each = (VECTORS + in->vecs - 1) / in->vecs;
	for (uint32_t r = 0; r < in->rows; r += each) {
		tsr_inner some = *in;
		tsr_tile_end part = *end;
		LLVMValueRef acc[512], first = tsr_kit_int(k, r), a = tsr_kit_at(k, at[AT_A], tsr_kit_mul(k, in->a_row, first));
		some.rows = part.rows = in->rows - r < each ? in->rows - r : each;
		some.lines = 0;
		part.c = tsr_kit_at(k, end->c, tsr_kit_mul(k, end->row, first));
		memcpy(acc, sums + (size_t)r * in->vecs, sizeof *acc * some.rows * in->vecs);
		for (unsigned u = 0; u < TSR_ROUND; u++)
			tile_step(&some, tsr_kit_at(k, a, tsr_kit_mul(k, in->a_k, tsr_kit_int(k, u))), b_after(in, at[AT_B], u), acc);
		tsr_part_store(&part, add, acc);
	}
	LLVMBuildRetVoid(k->b);
}

/* The last of `rounds`, where there is one. */
static void end_in_groups(const tsr_inner *in, const tsr_tile_end *end, LLVMValueRef rounds, LLVMValueRef add, const LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	tsr_guard one = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSGT, rounds, tsr_kit_int(k, 0), ""));
	LLVMBasicBlockRef more = LLVMAppendBasicBlockInContext(k->context, k->fn, "round.add"), set = LLVMAppendBasicBlockInContext(k->context, k->fn, "round.set");
	LLVMBuildCondBr(k->b, add, more, set);
	LLVMPositionBuilderAtEnd(k->b, more);
	last_round(in, end, true, acc);
	LLVMPositionBuilderAtEnd(k->b, set);
	last_round(in, end, false, acc);
	LLVMPositionBuilderAtEnd(k->b, one.after);
}

/* So many rows of panels are copied, one a round; what there are no rounds for, after them.  What is left of the rounds. */
static LLVMValueRef copy_meanwhile(const tsr_inner *in, LLVMValueRef rounds, LLVMValueRef count, LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	LLVMValueRef zero = tsr_kit_int(k, 0), there = LLVMBuildICmp(k->b, LLVMIntSGT, rounds, zero, "");
	LLVMValueRef some = tsr_kit_min(k, LLVMBuildSelect(k->b, there, rounds, zero, ""), count), *at = acc + (size_t)in->rows * in->vecs;
	tile_loop(in, some, TSR_ROUND, acc, COPIES);
	tsr_carried c;
	tsr_carried_begin(k, &c, in->rows * in->vecs + PLACES, LLVMBuildNSWSub(k->b, count, some, ""), acc);
	tsr_copy_row(k, in->copying, &at[AT_FAR], &at[AT_NEXT], &at[AT_LEFT]);
	tsr_carried_end(k, &c, 1, acc);
	return LLVMBuildNSWSub(k->b, rounds, some, "");
}

/* The gaps beside the lines that so many rounds have not asked for. */
static void clear_rest(const tsr_inner *in, asked what, LLVMValueRef done, int64_t enough)
{
	tsr_kit *k = in->k;
	bool none = what == NOTHING;
	tsr_count i = tsr_count_begin(k, none ? tsr_kit_int(k, 0) : done, tsr_kit_int(k, none ? tsr_tile_lines(in->end) : enough), tsr_kit_int(k, 1));
	if (none)
		tsr_tile_ahead(in->end, i.i);
	for (uint32_t line = 0; line < LINES; line++)
		ask(in, what, i.i, line);
	tsr_count_end(k, &i);
}

/* Sums over K, but for a last round that is stored meanwhile. */
static void collect(const tsr_tile *t, const tsr_tile_end *end, const tsr_inner *in, LLVMValueRef f, LLVMValueRef *acc)
{
	tsr_kit *k = in->k;
	for (uint32_t j = 0; j < t->rows * t->vecs; j++)
		acc[j] = tsr_kit_neutral(k, k->vec);
	LLVMValueRef *at = acc + (size_t)t->rows * t->vecs, depth = LLVMGetParam(f, TSR_TILE_DEPTH);
	static const unsigned from[PLACES] = { TSR_TILE_A, TSR_TILE_B, TSR_TILE_A_AHEAD, TSR_TILE_NEXT, TSR_TILE_NEXT_LEFT };
	for (int i = 0; i < PLACES; i++)
		at[i] = LLVMGetParam(f, from[i]);
	LLVMValueRef rounds = LLVMBuildUDiv(k->b, depth, tsr_kit_int(k, TSR_ROUND), ""), all = rounds;
	bool groups = ends_in_groups(t, k);
	if (groups)
		rounds = LLVMBuildNSWSub(k->b, tsr_kit_some(k, rounds), tsr_kit_int(k, 1), "");
	int64_t enough;
	asked slowly = come_slowly(t, end, &enough);
	bool crowded = in->copying && in->copying->crowded;
	LLVMValueRef copies = in->copying ? LLVMGetParam(f, TSR_TILE_A_STEP) : NULL, both = crowded ? tsr_kit_min(k, rounds, copies) : rounds, done = NULL;
	if ((slowly == NOTHING && !t->b_walked) || t->c.stream)
		tsr_tile_fetch(end);
	else if (slowly != NOTHING)
		fetch_where_few(k, end, both, enough);
	if (slowly != NOTHING) {
		LLVMValueRef first = tsr_kit_min(k, both, tsr_kit_int(k, enough));
		tile_loop(in, first, TSR_ROUND, acc, slowly);
		rounds = LLVMBuildNSWSub(k->b, rounds, first, "");
		copies = crowded ? LLVMBuildNSWSub(k->b, copies, first, "") : copies;
		done = first;
	}
	if (t->gaps)
		clear_rest(in, slowly, done, enough);
	if (copies)
		rounds = copy_meanwhile(in, rounds, copies, acc);
	tile_loop(in, rounds, TSR_ROUND, acc, NOTHING);
	tile_loop(in, LLVMBuildAnd(k->b, depth, tsr_kit_int(k, TSR_ROUND - 1), ""), 1, acc, NOTHING);
	if (groups)
		end_in_groups(in, end, all, LLVMGetParam(f, TSR_TILE_ADD), acc);
}

static void tile_body(tsr_kit *k, const void *tile, LLVMValueRef f)
{
	const tsr_tile *t = tile;
	LLVMValueRef mask[16] = { 0 }, acc[512];
	tsr_far far = { t->ahead_row, t->ahead_width };
	tsr_inner in = { k, t->rows, t->vecs, tsr_inner_stride(k, t->a_row, f, TSR_TILE_A_ROW), tsr_inner_stride(k, t->a_k, f, TSR_TILE_A_K),
				  tsr_inner_stride(k, t->b_k, f, TSR_TILE_B_K), mask, t->b_table ? LLVMGetParam(f, TSR_TILE_B_SHIFT) : NULL,
				  t->b_lines, t->b_near, LLVMGetParam(f, TSR_TILE_B_AHEAD), &far, t->ahead, t->soon, NULL, t->asks ? LLVMGetParam(f, TSR_TILE_A_STEP) : NULL, 0, t->b_walked, t->later, t->below, NULL, t->b_kept, t->padded, 0, 0 };
	tsr_copying copying = t->copied ? tsr_copying_of(k, t, f) : (tsr_copying){ 0 };
	in.copying = t->copied ? &copying : NULL;
	for (uint32_t v = 0; t->masked && v < t->vecs; v++)
		mask[v] = tsr_kit_mask(k, t->cut ? tsr_kit_int(k, t->cut) : LLVMGetParam(f, TSR_TILE_COLS), v * k->lanes);
	tsr_tile_end end = { k, t->rows, t->vecs, t->c, LLVMGetParam(f, TSR_TILE_C), tsr_inner_stride(k, t->c.row, f, TSR_TILE_C_ROW),
						 LLVMGetParam(f, TSR_TILE_C_ROWS), LLVMGetParam(f, TSR_TILE_C_COLUMNS), mask, LLVMGetParam(f, TSR_TILE_AROUND), t->tail, TSR_TILE_PARAMS, t->gaps };
	in.end = &end;
	if (t->given)
		read_sums(&in, LLVMGetParam(f, TSR_TILE_A), acc);
	else
		collect(t, &end, &in, f, acc);
	if (t->watched)
		tsr_inner_watch(&in, LLVMGetParam(f, TSR_TILE_SEEN), acc);
	tsr_tile_store(&end, LLVMGetParam(f, TSR_TILE_ADD), acc);
}

LLVMValueRef tsr_tile_function(tsr_kit *k, const tsr_tile *t)
{
	char name[400];
	snprintf(name, sizeof name, TSR_TILE_PREFIX "%sx%u.%ux%u%s%s%s%s%s%.*s.%s%s", tsr_prec_name(k->prec), k->lanes, t->rows, t->vecs,
			 t->masked ? "m" : "", t->b_kept ? "k" : t->b_table ? "t" : "", t->b_near ? "b" : "", t->watched ? "w" : "", t->given ? "g" : "", t->asks, "a", tsr_acc_get(k->acc)->text, k->pairs ? "pairs" : tsr_op_get(k->combine)->name);
	tsr_name_lines(name, sizeof name, t->b_lines);
	if (t->ahead)
		snprintf(name + strlen(name), sizeof name - strlen(name), ".n%u.%lld.%lld", t->ahead, (long long)t->ahead_row, (long long)t->ahead_width);
	if (t->b_column)
		snprintf(name + strlen(name), sizeof name - strlen(name), ".d%lld", (long long)t->b_column);
	if (t->columns)
		snprintf(name + strlen(name), sizeof name - strlen(name), ".c%u", t->columns);
	tsr_name_cut(name, sizeof name, t->cut, t->padded);
	if (t->b_walked)
		snprintf(name + strlen(name), sizeof name - strlen(name), ".f");
	if (t->next_rows)
		strncat(name, ".r", sizeof name - strlen(name) - 1);
	if (t->later)
		snprintf(name + strlen(name), sizeof name - strlen(name), ".w%u.%lld.%lld", t->later, (long long)t->ahead_row, (long long)t->ahead_width);
	if (t->soon)
		snprintf(name + strlen(name), sizeof name - strlen(name), ".s%u", t->soon);
	if (t->shallow && k->target->stores)
		strncat(name, ".h", sizeof name - strlen(name) - 1);
	if (t->copied)
		snprintf(name + strlen(name), sizeof name - strlen(name), ".e%lld.%u%s", (long long)t->copied, t->beside, t->crowded ? "c" : "");
	if (t->below)
		snprintf(name + strlen(name), sizeof name - strlen(name), ".a%u", t->below);
	tsr_name_stride(name, sizeof name, "ar", t->a_row);
	tsr_name_stride(name, sizeof name, "ak", t->a_k);
	tsr_name_stride(name, sizeof name, "bk", t->b_k);
	tsr_form_name(&t->c, name + strlen(name), sizeof name - strlen(name));
	tsr_gaps_name(t->gaps, name, sizeof name);
	LLVMTypeRef params[TSR_MOST_PARAMS] = { k->ptr, k->ptr, k->ptr, k->i64, k->i64, k->i1, k->i64, k->i64, k->i64, k->i64, k->i64,
												k->ptr, k->ptr, k->i1, k->i64, k->ptr, k->i64, k->ptr, k->i64, k->ptr };
	tsr_name_tail(k, t->tail, name, sizeof name, params + TSR_TILE_PARAMS);
	return tsr_kit_named(k, name, params, TSR_TILE_PARAMS + tsr_tail_params(t->tail), 3, t->b_column ? tsr_dots_body : tile_body, t);
}
