/* f32 by matrix registers, which multiply bf16: a number is the sum of three of them, its thirds,
 *
 *     a = a1 + a2 + a3,      a1 = bf16(a), a2 = bf16(a - a1), a3 = a - a1 - a2,
 *
 * exactly, since each takes 8 of its 24 digits; and of the nine products of thirds the six largest are summed up in f32.  Rounded to nearest, |a2| is at most 2^-8 |a| and |a3| 2^-17 |a|, so
 * that those left out are a unit of roundoff of |a b| all together: a sum of this kind is nearer to the sum of its terms than the worst order of adding them, from 32 on
 * (docs/contractions.md).  An instruction adds 32 depths, even and odd ones apart, to 16 x 16 sums: in all some 2.2 times as many products a second as multiply-adds of f32 make.
 *
 * Panels, of both operands, have 32 positions, of steps of 32 depths each; behind the last depth they are 0:
 *
 *     [panel][step][third][half of the positions][16 rows][16 pairs or columns], and a line that says whether the panel is odd
 *
 * A's rows are positions, B's are pairs of depths, of which the second one is 16 depths further: so two vectors along the depths (or two of the positions, at depths 16 apart) are paired
 * lane by lane.  Operands that lie the other way are turned square by square.  Beside planes of few channels (planes.c) the second one is the next depth, and steps behind each run are filled up with zeros.
 *
 * A panel with infinities, NaNs, or numbers that bf16 rounds to infinity is odd: it is packed once more, cut rather than rounded, so that the sum of the thirds is the number (and what has no digits
 * is its first third alone); and tiles that meet it multiply those sums by vectors.  Sources: the splitting is Dekker's (1971); Henry, Tang and Heinecke, "Leveraging the bfloat16
 * artificial intelligence datatype for higher-precision computations" (2019), have the products. */
#include "inner.h"
#include "private.h"

enum { LANES = 16, SQUARE = LANES * LANES, THIRDS = 3, TILE = 2 * LANES, DEPTHS = 2 * LANES, STEP = THIRDS * 2 * SQUARE, LINES = 4096, UNROLLED = 4 };
enum { AHEAD_DEPTHS = LINES / LANES, AHEAD_POSITIONS = LINES / DEPTHS };      /* that are evaluated at once */
enum { STAGED = 512 };           /* numbers of a line that are copied at once, in panels as wide as a step is deep */

static LLVMValueRef further(tsr_kit *k, LLVMValueRef p, int64_t n) { return tsr_kit_at(k, p, tsr_kit_int(k, n)); }

/* One element for each position more than thirds take makes the panel's line. */
LLVMValueRef tsr_thirds_each(tsr_kit *k, LLVMValueRef depth)
{
	return tsr_kit_add(k, tsr_kit_mul(k, tsr_matrix_steps(k, depth), tsr_kit_int(k, STEP / TILE)), tsr_kit_int(k, 1));
}

int64_t tsr_thirds_each_known(int64_t depth) { return (depth + DEPTHS - 1) / DEPTHS * (STEP / TILE) + 1; }
int64_t tsr_thirds_line_bytes(void) { return (2 * SQUARE + DEPTHS * STAGED + LANES) * 4; }

static LLVMValueRef line_of(tsr_kit *k, LLVMValueRef panel, LLVMValueRef each)
{
	return tsr_kit_at(k, panel, LLVMBuildNSWSub(k->b, tsr_kit_mul(k, each, tsr_kit_int(k, TILE)), tsr_kit_int(k, TILE), ""));
}

/* Whether the line, which says so, is an odd panel's. */
static LLVMValueRef says_odd(tsr_kit *k, LLVMValueRef line) { return LLVMBuildICmp(k->b, LLVMIntNE, LLVMBuildLoad2(k->b, k->i32, line, ""), LLVMConstInt(k->i32, 0, false), ""); }

/* ---- panels ------------------------------------------------------------------------------------------------------------- */

/* `rows`: depths lie side by side; `turned`: squares are; the operand is in memory, side by side along `inner` in pieces of `piece`, `outer` being
 * the other class (`direct`), or along another axis of it (`staged`). */
typedef struct packing {
	tsr_kit full, pair;
	tsr_engine *g;
	const tsr_pack *p;
	tsr_computed v;
	tsr_group outer, inner;
	LLVMValueRef to, each, lines, square, positions, depth;
	uint32_t piece;
	uint32_t thirds;             /* of each number */
	LLVMValueRef runs;           /* where the other operand is windows' runs, each depth of these, as tsr_planes_depth_at says; or NULL */
	bool rows, turned, direct, staged;
} packing;

/* Where lines are that were evaluated or copied, which of them is the first, and where in it they begin; and from one to the next. */
typedef struct lines { LLVMValueRef from, first, at, row; } lines;

static LLVMValueRef bits(const tsr_kit *pair, LLVMValueRef v) { return LLVMBuildBitCast(pair->b, v, pair->vec, ""); }
static LLVMValueRef value(const tsr_kit *full, LLVMValueRef v) { return LLVMBuildBitCast(full->b, v, full->vec, ""); }
static LLVMValueRef all(tsr_kit *pair, uint32_t n) { return tsr_kit_splat(pair, LLVMConstInt(pair->i32, n, false)); }

/* What bf16 has of it, as f32. */
static LLVMValueRef short_of(tsr_kit *pair, LLVMValueRef v, bool odd)
{
	LLVMValueRef i = bits(pair, v);
	return LLVMBuildAnd(pair->b, odd ? i : LLVMBuildAdd(pair->b, i, all(pair, 0x8000), ""), all(pair, 0xffff0000u), "");
}

void tsr_thirds_of(tsr_kit *full, tsr_kit *pair, LLVMValueRef v, bool odd, LLVMValueRef *third, LLVMValueRef *seen)
{
	LLVMBuilderRef b = full->b;
	LLVMValueRef zero = LLVMConstNull(full->vec), rest;
	if (odd) {                   /* a NaN whose digits are all in what is cut would be infinite */
		LLVMValueRef nan = LLVMBuildFCmp(b, LLVMRealUNO, v, v, "");
		v = LLVMBuildSelect(b, nan, value(full, all(pair, 0x7fc00000)), v, "");
	}
	third[0] = short_of(pair, v, odd);
	rest = LLVMBuildFSub(b, v, value(full, third[0]), "");
	if (odd)
		rest = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, rest, rest, ""), zero, rest, "");
	else
		*seen = tsr_kit_intrinsic(full, "llvm.fma", &full->vec, 1, (LLVMValueRef[]){ rest, zero, *seen }, 3);
	third[1] = short_of(pair, rest, odd);
	/* what is denormal may have more digits, which would be another number's */
	third[2] = LLVMBuildAnd(b, bits(pair, LLVMBuildFSub(b, rest, value(full, third[1]), "")), all(pair, 0xffff0000u), "");
}

void tsr_thirds_pair(tsr_kit *full, tsr_kit *pair, const LLVMValueRef two[2], bool odd, LLVMValueRef *out, LLVMValueRef *seen)
{
	LLVMValueRef third[2][THIRDS];
	for (uint32_t i = 0; i < 2; i++)
		tsr_thirds_of(full, pair, two[i], odd, third[i], seen);
	/* two shifts, the second one of both: by words it would be a permutation of three times as many steps, which LLVM makes of a shift and an or */
	for (uint32_t t = 0; t < THIRDS; t++)
		out[t] = tsr_kit_intrinsic(pair, "llvm.fshr", &pair->vec, 1, (LLVMValueRef[]){ LLVMBuildLShr(pair->b, third[1][t], all(pair, 16), ""), third[0][t], all(pair, 16) }, 3);
}

LLVMValueRef tsr_thirds_some_odd(tsr_kit *k, LLVMValueRef seen)
{
	LLVMTypeRef lanes = LLVMIntTypeInContext(k->context, LANES);
	LLVMValueRef nan = LLVMBuildFCmp(k->b, LLVMRealUNO, seen, seen, "");
	return LLVMBuildICmp(k->b, LLVMIntNE, LLVMBuildBitCast(k->b, nan, lanes, ""), LLVMConstInt(lanes, 0, false), "");
}

static LLVMValueRef joined(tsr_kit *k, LLVMValueRef v, LLVMValueRef w, uint32_t lanes)
{
	LLVMValueRef all[LANES];
	for (uint32_t i = 0; i < 2 * lanes; i++)
		all[i] = LLVMConstInt(k->i32, i, false);
	return LLVMBuildShuffleVector(k->b, v, w, LLVMConstVector(all, 2 * lanes), "");
}

/* Sixteen numbers in pieces that begin at `offset` each; where less than that is `left`, these. */
static LLVMValueRef pieces(packing *x, LLVMValueRef row, const LLVMValueRef *offset, LLVMValueRef left)
{
	tsr_kit k = x->full;
	LLVMValueRef v[LANES];
	k.lanes = x->piece;
	k.vec = LLVMVectorType(k.elem, k.lanes), k.lanes_i1 = LLVMVectorType(k.i1, k.lanes);
	uint32_t n = LANES / x->piece;
	for (uint32_t i = 0; i < n; i++) {
		LLVMValueRef here = left && i ? LLVMBuildNSWSub(k.b, left, tsr_kit_int(&k, i * x->piece), "") : left;
		v[i] = tsr_kit_load(&k, k.vec, tsr_kit_at(&k, row, offset[i]), left ? tsr_kit_mask(&k, here, 0) : NULL);
	}
	for (; n > 1; n /= 2)
		for (uint32_t i = 0; i < n; i += 2)
			v[i / 2] = joined(&k, v[i], v[i + 1], LANES / n);
	return v[0];
}

/* Which depth this one is of those that there are; and whether it is one. */
static LLVMValueRef of_run(packing *x, LLVMValueRef depth, LLVMValueRef *there)
{
	tsr_kit *k = &x->full;
	LLVMValueRef zero = tsr_kit_int(k, 0), at = LLVMBuildSelect(k->b, *there, depth, zero, "");
	LLVMValueRef here = LLVMBuildLoad2(k->b, k->i64, LLVMBuildInBoundsGEP2(k->b, k->i64, x->runs, &at, 1, ""), "");
	*there = LLVMBuildAnd(k->b, *there, LLVMBuildICmp(k->b, LLVMIntSGE, here, zero, ""), "");
	return tsr_kit_max(k, here, zero);
}

/* Sixteen numbers of line `line` from `at` on, of the class's lines and their length those that there are; in memory they begin at `offset` of each line, piece by piece. */
static LLVMValueRef take(packing *x, const lines *from, LLVMValueRef line, LLVMValueRef at, const LLVMValueRef *offset, bool inside)
{
	tsr_kit *k = &x->full;
	LLVMValueRef of = x->rows ? x->positions : x->depth, length = x->rows ? x->depth : x->positions, left = NULL;
	if (!inside) {
		LLVMValueRef there = LLVMBuildICmp(k->b, LLVMIntSLT, line, of, "");
		if (x->runs)
			line = of_run(x, line, &there);
		left = LLVMBuildSelect(k->b, there, LLVMBuildNSWSub(k->b, length, at, ""), tsr_kit_int(k, 0), "");
	}
	LLVMValueRef there = inside ? line : tsr_kit_min(k, line, LLVMBuildNSWSub(k->b, of, tsr_kit_int(k, 1), ""));
	if (x->direct) {
		LLVMValueRef first = x->rows ? x->p->across_first : x->p->along_first;
		return pieces(x, tsr_kit_at(k, x->p->from, tsr_group_offset(k, &x->outer, x->p->side, tsr_kit_add(k, first, there))), offset, left);
	}
	LLVMValueRef row = tsr_kit_mul(k, LLVMBuildNSWSub(k->b, there, from->first, ""), from->row);
	LLVMValueRef p = tsr_kit_at(k, from->from, tsr_kit_add(k, row, LLVMBuildNSWSub(k->b, at, from->at, "")));
	return tsr_kit_load(k, k->vec, p, left ? tsr_kit_mask(k, left, 0) : NULL);
}

/* Where the pieces of sixteen numbers from `at` on begin in each line. */
static void find(packing *x, LLVMValueRef at, LLVMValueRef *offset)
{
	tsr_kit *k = &x->full;
	if (!x->direct)
		return;
	LLVMValueRef first = tsr_kit_add(k, x->rows ? x->p->along_first : x->p->across_first, at);
	for (uint32_t i = 0; i < LANES / x->piece; i++)
		offset[i] = tsr_group_offset(k, &x->inner, x->p->side, tsr_kit_add(k, first, tsr_kit_int(k, i * x->piece)));
}

/* Both squares, where they are: a function of its own, since each contraction has several places that do so. */
static void turn_body(tsr_kit *k, const void *which, LLVMValueRef f)
{
	(void)which;
	for (uint32_t i = 0; i < 2; i++) {
		LLVMValueRef v[LANES], at = further(k, LLVMGetParam(f, 0), i * SQUARE);
		for (uint32_t r = 0; r < LANES; r++)
			v[r] = tsr_kit_load(k, k->vec, further(k, at, r * LANES), NULL);
		tsr_weave(k, v, LANES);
		for (uint32_t r = 0; r < LANES; r++)
			tsr_kit_store(k, v[r], further(k, at, r * LANES), NULL);
	}
	LLVMBuildRetVoid(k->b);
}

static void turn(packing *x)
{
	tsr_kit *k = &x->pair;
	LLVMValueRef f = tsr_kit_named(k, TSR_TILE_PREFIX "thirds.turn", &k->ptr, 1, 1, turn_body, NULL);
	LLVMBuildCall2(k->b, LLVMGlobalGetValueType(f), f, &x->square, 1, "");
}

static LLVMValueRef panel_of(packing *x, LLVMValueRef position)
{
	tsr_kit *k = &x->pair;
	LLVMValueRef whole = LLVMBuildAnd(k->b, position, tsr_kit_int(k, -TILE), "");
	return tsr_kit_at(k, x->to, tsr_kit_mul(k, whole, x->each));
}

/* Says of the position's panel that it is odd, where a lane of `seen` is a NaN. */
static void tell(packing *x, LLVMValueRef position, LLVMValueRef seen)
{
	tsr_kit *k = &x->pair;
	tsr_guard g = tsr_guard_begin(k, tsr_thirds_some_odd(k, seen));
	tsr_kit_store(k, LLVMConstInt(k->i32, 1, false), line_of(k, panel_of(x, position), x->each), NULL);
	tsr_guard_end(k, g);
}

/* Sixteen positions of a step: two squares, whose lines are positions or depths. */
typedef struct place { const lines *from; LLVMValueRef position, depth; LLVMValueRef offset[2][LANES]; bool inside; } place;

/* Line r of square i. */
static LLVMValueRef vector_of(packing *x, const place *at, LLVMValueRef r, uint32_t i)
{
	tsr_kit *k = &x->pair;
	LLVMValueRef second = tsr_kit_int(k, i * LANES);
	if (x->runs)                  /* pairs are neighbours */
		r = tsr_kit_mul(k, r, tsr_kit_int(k, 2)), second = tsr_kit_int(k, i);
	return x->rows ? take(x, at->from, tsr_kit_add(k, at->position, r), tsr_kit_add(k, at->depth, second), at->offset[i], at->inside)
		: take(x, at->from, tsr_kit_add(k, tsr_kit_add(k, at->depth, r), second), at->position, at->offset[i], at->inside);
}

/* Line after line, as they are. */
static void copied(packing *x, const place *at, uint32_t i, LLVMValueRef to)
{
	tsr_kit *k = &x->full;
	tsr_count c = tsr_count_begin(k, tsr_kit_int(k, 0), tsr_kit_int(k, LANES), tsr_kit_int(k, 1));
	tsr_kit_store(k, vector_of(x, at, c.i, i), tsr_kit_at(k, to, tsr_kit_mul(k, c.i, tsr_kit_int(k, LANES))), NULL);
	tsr_count_end(k, &c);
}

/* Both squares of a place, turned: in registers, or where there are edges in memory. */
static void turned(packing *x, const place *at, bool edges)
{
	tsr_kit *k = &x->full;
	for (uint32_t i = 0; i < 2; i++) {
		LLVMValueRef v[LANES], to = further(k, x->square, i * SQUARE);
		if (edges) {
			copied(x, at, i, to);
			continue;
		}
		for (uint32_t r = 0; r < LANES; r++)
			v[r] = vector_of(x, at, tsr_kit_int(k, r), i);
		tsr_weave(k, v, LANES);
		for (uint32_t r = 0; r < LANES; r++)
			tsr_kit_store(k, v[r], further(k, to, r * LANES), NULL);
	}
	if (edges)
		turn(x);
}

/* The thirds of a place, in their panel. */
static void square(packing *x, const lines *from, LLVMValueRef position, LLVMValueRef step, bool inside, bool odd)
{
	tsr_kit *k = &x->pair;
	LLVMValueRef half = tsr_kit_int(k, LANES), seen = LLVMConstNull(x->full.vec), second = LLVMBuildAnd(k->b, position, half, "");
	LLVMValueRef within = tsr_kit_add(k, tsr_kit_mul(k, step, tsr_kit_int(k, STEP)), tsr_kit_mul(k, second, half)), to = tsr_kit_at(k, panel_of(x, position), within);
	place at = { from, position, tsr_kit_mul(k, step, tsr_kit_int(k, DEPTHS)), .inside = inside };
	uint32_t unrolled = inside && !odd ? UNROLLED : 1;
	for (uint32_t i = 0; i < 2; i++)
		find(x, !x->rows ? position : i ? tsr_kit_add(k, at.depth, half) : at.depth, at.offset[i]);
	if (x->turned)
		turned(x, &at, !inside || odd);
	tsr_carried c;
	tsr_carried_begin(k, &c, 1, tsr_kit_int(k, LANES), &seen);
	for (uint32_t u = 0; u < unrolled; u++) {
		LLVMValueRef r = tsr_kit_add(k, c.i, tsr_kit_int(k, u)), row = tsr_kit_mul(k, r, half), two[2], third[THIRDS];
		for (uint32_t i = 0; i < 2; i++)
			two[i] = x->turned ? tsr_kit_load(k, x->full.vec, tsr_kit_at(k, further(k, x->square, i * SQUARE), row), NULL) : vector_of(x, &at, r, i);
		tsr_thirds_pair(&x->full, k, two, odd, third, &seen);
		for (uint32_t t = 0; t < x->thirds; t++)
			tsr_kit_store(k, third[t], tsr_kit_at(k, further(k, to, t * 2 * SQUARE), row), NULL);
	}
	tsr_carried_end(k, &c, unrolled, &seen);
	if (!odd)
		tell(x, position, seen);
}

/* Evaluates what some squares read. */
static void evaluate(packing *x, lines *from, LLVMValueRef first, uint32_t count, LLVMValueRef at, uint32_t length)
{
	tsr_kit *k = &x->full;
	*from = (lines){ x->lines, first, at, tsr_kit_int(k, length) };
	LLVMValueRef of = x->rows ? x->positions : x->depth, all = x->rows ? x->depth : x->positions;
	LLVMValueRef some = tsr_kit_min(k, tsr_kit_int(k, length), LLVMBuildNSWSub(k->b, all, at, "")), until = tsr_kit_min(k, of, tsr_kit_add(k, first, tsr_kit_int(k, count)));
	const tsr_walks *outer = x->rows ? x->v.across : x->v.along, *inner = x->rows ? x->v.along : x->v.across;
	tsr_count i = tsr_count_begin(k, first, until, tsr_kit_int(k, 1));
	tsr_walks_decode(k, x->v.e, outer, 0, tsr_kit_add(k, x->rows ? x->p->across_first : x->p->along_first, i.i));
	LLVMValueRef to = tsr_kit_at(k, x->lines, tsr_kit_mul(k, LLVMBuildNSWSub(k->b, i.i, first, ""), from->row));
	tsr_computed_stretch(k, &x->v, inner, tsr_kit_add(k, x->rows ? x->p->along_first : x->p->across_first, at), some, to);
	tsr_count_end(k, &i);
}

/* All squares of these positions and steps. */
static void squares_here(packing *x, const lines *from, tsr_share positions, tsr_share steps, bool odd)
{
	tsr_kit *k = &x->full;
	LLVMValueRef lanes = tsr_kit_int(k, LANES), one = tsr_kit_int(k, 1);
	LLVMValueRef whole_steps = tsr_kit_min(k, steps.to, LLVMBuildUDiv(k->b, x->depth, tsr_kit_int(k, DEPTHS), ""));
	LLVMValueRef whole = tsr_kit_min(k, positions.to, LLVMBuildAnd(k->b, x->positions, tsr_kit_int(k, -LANES), ""));
	LLVMValueRef first = x->rows ? positions.from : steps.from, last = x->rows ? positions.to : steps.to;
	tsr_count outer = tsr_count_begin(k, first, last, x->rows ? lanes : one);
	LLVMValueRef middle = x->rows ? LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntSLT, outer.i, whole, ""), whole_steps, steps.from, "")
		: LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntSLT, outer.i, whole_steps, ""), whole, positions.from, "");
	LLVMValueRef begin = x->rows ? steps.from : positions.from;
	middle = odd || x->runs ? begin : tsr_kit_max(k, middle, begin);
	tsr_count in;
	if (!odd && !x->runs) {       /* odd panels are seldom, and need no code for what has no edges */
		in = tsr_count_begin(k, begin, middle, x->rows ? one : lanes);
		square(x, from, x->rows ? outer.i : in.i, x->rows ? in.i : outer.i, true, odd);
		tsr_count_end(k, &in);
	}
	in = tsr_count_begin(k, middle, x->rows ? steps.to : positions.to, x->rows ? one : lanes);
	square(x, from, x->rows ? outer.i : in.i, x->rows ? in.i : outer.i, false, odd);
	tsr_count_end(k, &in);
	tsr_count_end(k, &outer);
}

/* void squares(from, to, square, runs, first, at, row, each, positions, depth, positions from .. to, steps from .. to): the same, of lines that are equally far apart, by a function that all contractions share whose
 * squares are of the same form: written out in each, they would be most of what LLVM has to compile. */
enum { OF_FROM, OF_TO, OF_SQUARE, OF_RUNS, OF_POINTERS, OF_FIRST = OF_POINTERS, OF_AT, OF_ROW, OF_EACH, OF_POSITIONS, OF_DEPTH, OF_FROM_POSITION, OF_TO_POSITION, OF_FROM_STEP, OF_TO_STEP, OF_PARAMS };
typedef struct form { bool rows, turned, runs, odd; uint32_t thirds; } form;

static void squares_body(tsr_kit *given, const void *which, LLVMValueRef f)
{
	const form *of = which;
	LLVMValueRef arg[OF_PARAMS];
	LLVMGetParams(f, arg);
	packing x = { tsr_kit_of(given, TSR_PREC_F32, LLVMFloatTypeInContext(given->context), 4), tsr_kit_of(given, TSR_PREC_I32, given->i32, 4), .to = arg[OF_TO], .each = arg[OF_EACH], .square = arg[OF_SQUARE],
		.positions = arg[OF_POSITIONS], .depth = arg[OF_DEPTH], .thirds = of->thirds, .runs = of->runs ? arg[OF_RUNS] : NULL, .rows = of->rows, .turned = of->turned };
	lines from = { arg[OF_FROM], arg[OF_FIRST], arg[OF_AT], arg[OF_ROW] };
	squares_here(&x, &from, (tsr_share){ arg[OF_FROM_POSITION], arg[OF_TO_POSITION] }, (tsr_share){ arg[OF_FROM_STEP], arg[OF_TO_STEP] }, of->odd);
	LLVMBuildRetVoid(given->b);
}

/* Lines in memory as those of a copy, where they are equally far apart and each lies side by side. */
static bool equally_apart(packing *x, lines *from)
{
	tsr_kit *k = &x->full;
	const tsr_pack *p = x->p;
	if (!x->direct)
		return true;
	if (x->piece != LANES || x->inner.n > 1 || x->outer.n > 1)
		return false;
	LLVMValueRef row = x->outer.n ? x->outer.at[0].stride[p->side] : tsr_kit_int(k, 0), zero = tsr_kit_int(k, 0);
	LLVMValueRef first = tsr_kit_add(k, tsr_kit_mul(k, x->rows ? p->across_first : p->along_first, row), x->rows ? p->along_first : p->across_first);
	*from = (lines){ tsr_kit_at(k, p->from, first), zero, zero, row };
	return true;
}

static void squares(packing *x, const lines *given, tsr_share positions, tsr_share steps, bool odd)
{
	tsr_kit *k = &x->full;
	lines from = *given;
	if (!equally_apart(x, &from)) {
		squares_here(x, given, positions, steps, odd);
		return;
	}
	form of = { x->rows, x->turned, x->runs != NULL, odd, x->thirds };
	char name[96];
	snprintf(name, sizeof name, TSR_TILE_PREFIX "thirds.squares.%u%s%s%s%s", of.thirds, of.rows ? ".rows" : "", of.turned ? ".turned" : "", of.runs ? ".runs" : "", odd ? ".odd" : "");
	LLVMTypeRef params[OF_PARAMS];
	for (uint32_t i = 0; i < OF_PARAMS; i++)
		params[i] = i < OF_POINTERS ? k->ptr : k->i64;
	LLVMValueRef f = tsr_kit_named(k, name, params, OF_PARAMS, OF_RUNS, squares_body, &of);
	LLVMValueRef arg[OF_PARAMS] = { from.from, x->to, x->square, x->runs ? x->runs : LLVMConstNull(k->ptr), from.first, from.at, from.row, x->each, x->positions, x->depth, positions.from, positions.to, steps.from, steps.to };
	LLVMBuildCall2(k->b, LLVMGlobalGetValueType(f), f, arg, OF_PARAMS, "");
}

/* Some lines of an operand that is side by side along an axis which is not the last one, copied by squares (turn.c): panels, in which they are rows. */
static void stage(packing *x, LLVMValueRef line, LLVMValueRef count, LLVMValueRef at, LLVMValueRef length)
{
	tsr_kit *k = &x->full;
	const tsr_pack *p = x->p;
	tsr_pack_emit(k, &(tsr_pack){ p->side, &x->inner, &x->outer, p->from, x->lines, tsr_kit_add(k, x->rows ? p->along_first : p->across_first, at), length,
		tsr_kit_add(k, x->rows ? p->across_first : p->along_first, line), count, DEPTHS });
}

/* Squares of lines that are copied, a part of some at a time. */
static void staged(packing *x, tsr_share positions, tsr_share steps, bool odd)
{
	tsr_kit *k = &x->full;
	LLVMValueRef zero = tsr_kit_int(k, 0), one = tsr_kit_int(k, 1), width = tsr_kit_int(k, DEPTHS), some = tsr_kit_int(k, STAGED), lanes = tsr_kit_int(k, LANES);
	tsr_count outer = tsr_count_begin(k, x->rows ? positions.from : steps.from, x->rows ? positions.to : steps.to, x->rows ? lanes : one);
	LLVMValueRef first = x->rows ? outer.i : tsr_kit_mul(k, outer.i, width), all = x->rows ? x->positions : x->depth;
	LLVMValueRef count = tsr_kit_max(k, zero, tsr_kit_min(k, x->rows ? lanes : width, LLVMBuildNSWSub(k->b, all, first, "")));
	LLVMValueRef begin = x->rows ? zero : positions.from, end = x->rows ? x->depth : tsr_kit_min(k, positions.to, x->positions);
	tsr_count inner = tsr_count_begin(k, begin, end, some);
	LLVMValueRef length = tsr_kit_min(k, some, LLVMBuildNSWSub(k->b, end, inner.i, ""));
	tsr_guard there = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSGT, count, zero, ""));
	stage(x, first, count, inner.i, length);
	tsr_guard_end(k, there);
	tsr_count c = tsr_count_begin(k, zero, length, width);
	LLVMValueRef at = tsr_kit_add(k, inner.i, c.i);
	lines from = { tsr_kit_at(k, x->lines, tsr_kit_mul(k, c.i, count)), first, at, width };
	if (x->rows) {
		LLVMValueRef step = LLVMBuildUDiv(k->b, at, width, "");
		squares(x, &from, (tsr_share){ outer.i, tsr_kit_add(k, outer.i, one) }, (tsr_share){ step, tsr_kit_add(k, step, one) }, odd);
	} else
		squares(x, &from, (tsr_share){ at, tsr_kit_min(k, positions.to, tsr_kit_add(k, at, width)) }, (tsr_share){ outer.i, tsr_kit_add(k, outer.i, one) }, odd);
	tsr_count_end(k, &c);
	tsr_count_end(k, &inner);
	tsr_count_end(k, &outer);
}

static void pack(packing *x, tsr_share positions, bool odd)
{
	tsr_kit *k = &x->full;
	tsr_share steps = { tsr_kit_int(k, 0), tsr_matrix_steps(k, x->depth) };
	lines from = { 0 };
	if (x->direct) {
		squares(x, &from, positions, steps, odd);
		return;
	}
	if (x->staged) {
		staged(x, positions, steps, odd);
		return;
	}
	LLVMValueRef one = tsr_kit_int(k, 1), lanes = tsr_kit_int(k, LANES), some = tsr_kit_int(k, x->rows ? AHEAD_DEPTHS / DEPTHS : AHEAD_POSITIONS);
	tsr_count outer = tsr_count_begin(k, x->rows ? positions.from : steps.from, x->rows ? positions.to : steps.to, x->rows ? lanes : one);
	tsr_count inner = tsr_count_begin(k, x->rows ? steps.from : positions.from, x->rows ? steps.to : positions.to, some);
	LLVMValueRef until = tsr_kit_min(k, tsr_kit_add(k, inner.i, some), x->rows ? steps.to : positions.to);
	if (x->rows) {
		evaluate(x, &from, outer.i, LANES, tsr_kit_mul(k, inner.i, tsr_kit_int(k, DEPTHS)), AHEAD_DEPTHS);
		squares(x, &from, (tsr_share){ outer.i, tsr_kit_min(k, positions.to, tsr_kit_add(k, outer.i, lanes)) }, (tsr_share){ inner.i, until }, odd);
	} else {
		evaluate(x, &from, tsr_kit_mul(k, outer.i, tsr_kit_int(k, DEPTHS)), DEPTHS, inner.i, AHEAD_POSITIONS);
		squares(x, &from, (tsr_share){ inner.i, until }, (tsr_share){ outer.i, tsr_kit_add(k, outer.i, one) }, odd);
	}
	tsr_count_end(k, &inner);
	tsr_count_end(k, &outer);
}

static bool beside(const tsr_group *g, tsr_side side)
{
	bool some = g->n == 0;
	for (uint32_t i = 0; i < g->n; i++)
		some |= tsr_kit_known(g->at[i].stride[side]) == 1;
	return some;
}

/* Of how many numbers all pieces are that lie side by side along the last axis, as long as they are a vector or some to a vector; or 0. */
static uint32_t piece_of(const tsr_group *g)
{
	enum { LEAST = 4 };
	int64_t run = g->n > 1 ? tsr_kit_known(g->at[g->n - 1].extent) : LANES;
	return run >= LANES && run % LANES == 0 ? LANES : run >= LEAST && LANES % run == 0 ? (uint32_t)run : 0;
}

/* How the operand is read. */
static void look(packing *x, const tsr_pack *p)
{
	x->rows = tsr_computed_by_rows(x->g->e->loops, x->v.value, x->v.across, x->v.along);
	if (!tsr_contract_plain(x->g->e->loops, x->g->c, p->side))
		return;
	tsr_group across = tsr_group_in_memory(x->g, p->across, p->side), along = tsr_group_in_memory(x->g, p->along, p->side);
	x->rows = beside(&along, p->side) || (x->rows && !beside(&across, p->side));
	x->outer = x->rows ? across : along;
	x->inner = x->rows ? along : across;
	x->piece = x->inner.unit[p->side] ? piece_of(&x->inner) : 0;
	x->direct = x->piece > 0;
	x->staged = !x->direct && beside(&x->inner, p->side);
}

void tsr_thirds_pack(tsr_engine *g, const tsr_pack *p, LLVMValueRef each)
{
	tsr_kit *k = &g->k;
	bool a = p->side == TSR_SIDE_A;
	const tsr_walks *across = &g->walks[a ? TSR_CLASS_M : TSR_CLASS_N], *along = &g->walks[TSR_CLASS_K];
	packing x = { *k, tsr_kit_of(k, TSR_PREC_I32, k->i32, 4), g, p, { g->e, a ? g->c->a_value : g->c->b_value, TSR_PREC_F32, across, along, NULL },
		.to = p->to, .each = each, .thirds = tsr_thirds_count(a ? g->c->a_value : g->c->b_value), .positions = p->across_count, .depth = tsr_planes_depth(g, p->depth), .runs = g->s->planes && g->planes.runs ? tsr_planes_depths(g) : NULL };
	x.square = g->narrow;
	x.lines = tsr_kit_at(k, g->narrow, tsr_kit_int(k, 2 * SQUARE));
	look(&x, p);
	x.turned = a != x.rows;
	LLVMValueRef zero = tsr_kit_int(k, 0), tile = tsr_kit_int(k, TILE);
	tsr_count c = tsr_count_begin(k, zero, x.positions, tile);
	tsr_kit_store(k, LLVMConstInt(k->i32, 0, false), line_of(k, panel_of(&x, c.i), each), NULL);
	tsr_count_end(k, &c);
	/* columns behind the last one are 0, since a product may be looked through for NaNs */
	LLVMValueRef unit = tsr_kit_int(k, a ? LANES : TILE), packed = tsr_kit_mul(k, LLVMBuildUDiv(k->b, tsr_kit_add(k, x.positions, tsr_kit_int(k, (a ? LANES : TILE) - 1)), unit, ""), unit);
	pack(&x, (tsr_share){ zero, packed }, false);
	c = tsr_count_begin(k, zero, x.positions, tile);
	tsr_guard again = tsr_guard_begin(k, says_odd(k, line_of(k, panel_of(&x, c.i), each)));
	pack(&x, (tsr_share){ c.i, tsr_kit_min(k, packed, tsr_kit_add(k, c.i, tile)) }, true);
	tsr_guard_end(k, again);
	tsr_count_end(k, &c);
}

int64_t tsr_thirds_step(void) { return STEP; }

tsr_thirds_form tsr_thirds_form_of(const tsr_engine *g) { return (tsr_thirds_form){ (uint8_t)tsr_thirds_count(g->c->a_value), (uint8_t)tsr_thirds_count(g->c->b_value), g->s->planes, g->s->planes && g->planes.runs }; }

LLVMValueRef tsr_thirds_panel_odd(tsr_kit *k, LLVMValueRef panel, LLVMValueRef each) { return says_odd(k, line_of(k, panel, each)); }
