/* Matrix registers (AMX): products of bf16 whose sums are f32.
 *
 * A register holds 16 rows of a vector, and one instruction adds to 16 x 16 sums the products of 16 rows of A, 32 depths of each, and of 16 columns of
 * B, whose depths lie in pairs: row p of B's register has depths 2p and 2p + 1 of each column.  A tile is two registers of A by two of B, its
 * sums are four.  Behind the last depth panels are 0:
 *
 *     A: each row by itself, [row][pair of depths], an odd number of lines from one to the next, so that they do not share a set of the first cache
 *     B: panels of 32 columns, [panel][pair of depths][column]
 *
 * Tiles of vectors that multiply pairs have the same panels, but B's are as wide as they are, and every block's rows and panels as far apart as the deepest one's.
 *
 * Operands are evaluated in bf16, whichever of positions and depths runs faster in memory, into rows that are then put in pairs, turned or both.
 * Sums leave the registers through memory, and go to C as those of vector tiles do, so that every form of C and every tail is the same.
 *
 * The instruction takes denormals for 0 and makes none; `spread.c` allows for that.  A system lets a process use these registers on demand
 * (tsr_matrix_unit), so that vector tiles are there as well; each thread sets their shape before its first tile. */
#include "private.h"
#include <string.h>

enum { ROWS = 16, PAIRS = 16, SOME_PAIRS = 8, TILE = 2 * ROWS, REGISTERS = 8, PALETTE = 1, SETTING = 64, COLUMN_BYTES_AT = 16, ROWS_AT = 48 };

/* ---- setting ------------------------------------------------------------------------------------------------------------ */

void tsr_matrix_begin(tsr_kit *k)
{
	static const char name[] = "tsr.matrix";
	LLVMValueRef setting = LLVMGetNamedGlobal(k->module, name);
	if (!setting) {
		char bytes[SETTING] = { PALETTE };
		for (int i = 0; i < REGISTERS; i++)
			bytes[COLUMN_BYTES_AT + 2 * i] = 4 * PAIRS, bytes[ROWS_AT + i] = ROWS;
		LLVMValueRef value = LLVMConstStringInContext(k->context, bytes, SETTING, true);
		setting = LLVMAddGlobal(k->module, LLVMTypeOf(value), name);
		LLVMSetInitializer(setting, value);
		LLVMSetGlobalConstant(setting, true);
		LLVMSetLinkage(setting, LLVMInternalLinkage);
		LLVMSetAlignment(setting, SETTING);
	}
	tsr_kit_intrinsic(k, "llvm.x86.ldtilecfg", NULL, 0, &setting, 1);
}

void tsr_matrix_end(tsr_kit *k) { tsr_kit_intrinsic(k, "llvm.x86.tilerelease", NULL, 0, NULL, 0); }

/* ---- panels ------------------------------------------------------------------------------------------------------------- */

LLVMValueRef tsr_matrix_steps(tsr_kit *k, LLVMValueRef depth)
{
	return LLVMBuildUDiv(k->b, tsr_kit_add(k, depth, tsr_kit_int(k, 2 * PAIRS - 1)), tsr_kit_int(k, 2 * PAIRS), "");
}

LLVMValueRef tsr_matrix_each(tsr_kit *k, tsr_side side, LLVMValueRef depth)
{
	LLVMValueRef pairs = tsr_kit_mul(k, tsr_matrix_steps(k, depth), tsr_kit_int(k, PAIRS));
	return side == TSR_SIDE_A ? LLVMBuildOr(k->b, pairs, tsr_kit_int(k, PAIRS), "") : pairs;
}

/* What packing one side knows: kits of numbers and of their pairs, the operand, its walks, elements of a panel for each position. */
typedef struct packing {
	tsr_kit half, pair;
	const tsr_pack *p;
	tsr_computed v;
	LLVMValueRef each, pairs, lines;     /* `pairs`: of depths that are packed, in whole registers */
	bool watched;                        /* what lies behind the last position is multiplied and looked at, and has to be a number */
} packing;

/* Row `row` of the lines, `width` elements each, which becomes `count` positions of the inner walk from `first` on, the outer one standing at `at`;
 * 0 where that is not below `limit`. */
static void line(packing *x, const tsr_walks *outer, const tsr_walks *inner, LLVMValueRef at, LLVMValueRef limit, LLVMValueRef first, LLVMValueRef count,
				 LLVMValueRef to, LLVMValueRef width)
{
	tsr_kit *k = &x->half;
	LLVMBasicBlockRef some = LLVMAppendBasicBlockInContext(k->context, k->fn, "line"), none = LLVMAppendBasicBlockInContext(k->context, k->fn, "zero");
	LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(k->context, k->fn, "lined");
	LLVMBuildCondBr(k->b, LLVMBuildICmp(k->b, LLVMIntSLT, at, limit, ""), some, none);
	LLVMPositionBuilderAtEnd(k->b, some);
	bool across = outer == x->v.across;
	tsr_walks_decode(k, x->v.e, outer, 0, tsr_kit_add(k, across ? x->p->across_first : x->p->along_first, at));
	tsr_computed_stretch(k, &x->v, inner, first, count, to);
	LLVMBuildBr(k->b, after);
	LLVMPositionBuilderAtEnd(k->b, none);
	tsr_count z = tsr_count_begin(k, tsr_kit_int(k, 0), width, tsr_kit_int(k, k->lanes));
	tsr_kit_store(k, LLVMConstNull(k->vec), tsr_kit_at(k, to, z.i), NULL);
	tsr_count_end(k, &z);
	LLVMBuildBr(k->b, after);
	LLVMPositionBuilderAtEnd(k->b, after);
}

/* Squares of pairs: registers v[row] hold pairs of depths, one position each; afterwards positions. */
static void turn(packing *x, LLVMValueRef *v) { tsr_weave(&x->pair, v, ROWS); }

/* Depths that lie side by side: each position a line, of which the last vector is 0 behind them. */
static void depths(packing *x, LLVMValueRef position, LLVMValueRef limit, LLVMValueRef to)
{
	tsr_kit *k = &x->half;
	LLVMValueRef width = tsr_kit_mul(k, x->pairs, tsr_kit_int(k, 2)), last = LLVMBuildNSWSub(k->b, width, tsr_kit_int(k, k->lanes), "");
	tsr_kit_store(k, LLVMConstNull(k->vec), tsr_kit_at(k, to, tsr_kit_max(k, last, tsr_kit_int(k, 0))), NULL);      /* of no depths, too, a line has room for a vector */
	line(x, x->v.across, x->v.along, position, limit, x->p->along_first, x->p->depth, to, width);
}

static void a_by_rows(packing *x)
{
	tsr_kit *k = &x->half;
	tsr_count i = tsr_count_begin(k, tsr_kit_int(k, 0), x->p->across_count, tsr_kit_int(k, 1));
	depths(x, i.i, x->p->across_count, tsr_kit_at(&x->pair, x->p->to, tsr_kit_mul(k, i.i, x->each)));
	tsr_count_end(k, &i);
}

static void b_by_rows(packing *x)
{
	tsr_kit *k = &x->pair;
	LLVMValueRef zero = tsr_kit_int(k, 0), tile = tsr_kit_int(k, x->p->width), lanes = tsr_kit_int(k, PAIRS), v[ROWS];
	LLVMValueRef gap = tsr_matrix_each(k, TSR_SIDE_A, x->p->depth);      /* as far apart as rows of A, for the same reason */
	tsr_count c = tsr_count_begin(k, zero, x->p->across_count, tile);
	tsr_count i = tsr_count_begin(k, zero, tile, tsr_kit_int(k, 1));
	depths(x, tsr_kit_add(k, c.i, i.i), x->p->across_count, tsr_kit_at(k, x->lines, tsr_kit_mul(k, i.i, gap)));
	tsr_count_end(k, &i);
	tsr_count d = tsr_count_begin(k, zero, x->pairs, lanes);
	tsr_count h = tsr_count_begin(k, zero, tile, lanes);
	for (uint32_t r = 0; r < ROWS; r++) {
		LLVMValueRef row = tsr_kit_mul(k, tsr_kit_add(k, h.i, tsr_kit_int(k, r)), gap);
		v[r] = tsr_kit_load(k, k->vec, tsr_kit_at(k, x->lines, tsr_kit_add(k, row, d.i)), NULL);
	}
	turn(x, v);
	LLVMValueRef to = tsr_kit_at(k, x->p->to, tsr_kit_add(k, tsr_kit_mul(k, c.i, x->each), tsr_kit_add(k, tsr_kit_mul(k, d.i, tile), h.i)));
	for (uint32_t r = 0; r < PAIRS; r++)
		tsr_kit_store(k, v[r], tsr_kit_at(k, to, tsr_kit_int(k, r * x->p->width)), NULL);
	tsr_count_end(k, &h);
	tsr_count_end(k, &d);
	tsr_count_end(k, &c);
}

/* `count` lines of depths from `from` on, of all positions. */
static void positions(packing *x, LLVMValueRef from, uint32_t count, LLVMValueRef width)
{
	tsr_kit *k = &x->half;
	tsr_count d = tsr_count_begin(k, tsr_kit_int(k, 0), tsr_kit_int(k, count), tsr_kit_int(k, 1));
	for (uint32_t back = k->lanes; x->watched && back < x->p->width + k->lanes; back += k->lanes) {
		LLVMValueRef end = LLVMBuildNSWSub(k->b, tsr_kit_mul(k, tsr_kit_add(k, d.i, tsr_kit_int(k, 1)), width), tsr_kit_int(k, back), "");
		tsr_kit_store(k, LLVMConstNull(k->vec), tsr_kit_at(k, x->lines, end), NULL);
	}
	line(x, x->v.along, x->v.across, tsr_kit_add(k, from, d.i), x->p->depth, x->p->across_first, x->p->across_count,
		tsr_kit_at(k, x->lines, tsr_kit_mul(k, d.i, width)), width);
	tsr_count_end(k, &d);
}

/* A vector of pairs of two lines' elements, those from `first` on. */
static LLVMValueRef paired(packing *x, LLVMValueRef even, LLVMValueRef odd, uint32_t first)
{
	LLVMValueRef pick[2 * PAIRS];
	uint32_t lanes = LLVMGetVectorSize(LLVMTypeOf(even));
	for (uint32_t i = 0; i < 2 * PAIRS; i++)
		pick[i] = LLVMConstInt(x->half.i32, first + i / 2 + (i % 2 ? lanes : 0), false);
	return LLVMBuildBitCast(x->half.b, LLVMBuildShuffleVector(x->half.b, even, odd, LLVMConstVector(pick, 2 * PAIRS), ""), x->pair.vec, "");
}

/* All positions, in whole panels; and the elements of a line of them, in whole vectors. */
static LLVMValueRef whole_panels(packing *x)
{
	tsr_kit *k = &x->half;
	uint32_t unit = x->p->side == TSR_SIDE_A ? TILE : x->p->width;
	LLVMValueRef tile = tsr_kit_int(k, unit), up = tsr_kit_add(k, x->p->across_count, tsr_kit_int(k, unit - 1));
	return tsr_kit_mul(k, LLVMBuildUDiv(k->b, up, tile, ""), tile);
}

static LLVMValueRef width_of(packing *x, LLVMValueRef panels)
{
	tsr_kit *k = &x->half;
	bool whole = x->p->side == TSR_SIDE_A || x->p->width % k->lanes == 0;
	return whole ? panels : LLVMBuildAnd(k->b, tsr_kit_add(k, panels, tsr_kit_int(k, k->lanes - 1)), tsr_kit_int(k, -(int64_t)k->lanes), "");
}

/* Two lines, from one column on, as a row of pairs of a panel. */
static void pair_lines(packing *x, LLVMValueRef even, LLVMValueRef odd, LLVMValueRef to)
{
	tsr_kit *k = &x->half, *pair = &x->pair;
	for (uint32_t at = 0; at < x->p->width; at += k->lanes) {
		bool whole = x->p->width - at >= k->lanes;
		LLVMTypeRef type = whole ? k->vec : LLVMVectorType(k->elem, PAIRS);
		LLVMValueRef here = tsr_kit_int(k, at), x0 = tsr_kit_load(k, type, tsr_kit_at(k, even, here), NULL), x1 = tsr_kit_load(k, type, tsr_kit_at(k, odd, here), NULL);
		for (uint32_t half = 0; half < (whole ? 2 : 1) * PAIRS; half += PAIRS)
			tsr_kit_store(pair, paired(x, x0, x1, half), tsr_kit_at(pair, to, tsr_kit_int(k, at + half)), NULL);
	}
}

/* Some pairs of depths at a time: one of each of many panels would be as many lines of the same set of the first cache. */
static void b_by_columns(packing *x)
{
	tsr_kit *k = &x->half, *pair = &x->pair;
	LLVMValueRef zero = tsr_kit_int(k, 0), tile = tsr_kit_int(k, x->p->width), panels = whole_panels(x), width = width_of(x, panels);
	tsr_count d = tsr_count_begin(k, zero, x->pairs, tsr_kit_int(k, SOME_PAIRS));
	positions(x, tsr_kit_mul(k, d.i, tsr_kit_int(k, 2)), 2 * SOME_PAIRS, width);
	tsr_count c = tsr_count_begin(k, zero, panels, tile);
	LLVMValueRef to = tsr_kit_at(pair, x->p->to, tsr_kit_add(k, tsr_kit_mul(k, c.i, x->each), tsr_kit_mul(k, d.i, tile)));
	for (uint32_t i = 0; i < SOME_PAIRS; i++) {
		LLVMValueRef even = tsr_kit_at(k, x->lines, tsr_kit_add(k, c.i, tsr_kit_mul(k, width, tsr_kit_int(k, 2 * i))));
		pair_lines(x, even, tsr_kit_at(k, even, width), tsr_kit_at(pair, to, tsr_kit_int(k, i * x->p->width)));
	}
	tsr_count_end(k, &c);
	tsr_count_end(k, &d);
}

static void a_by_columns(packing *x)
{
	tsr_kit *k = &x->half, *pair = &x->pair;
	LLVMValueRef zero = tsr_kit_int(k, 0), rows = tsr_kit_int(k, ROWS), width = whole_panels(x), v[PAIRS];
	LLVMTypeRef part = LLVMVectorType(k->elem, ROWS);
	tsr_count d = tsr_count_begin(k, zero, x->pairs, tsr_kit_int(k, PAIRS));
	positions(x, tsr_kit_mul(k, d.i, tsr_kit_int(k, 2)), 2 * PAIRS, width);
	tsr_count c = tsr_count_begin(k, zero, width, rows);
	LLVMValueRef from = tsr_kit_at(k, x->lines, c.i);
	for (uint32_t r = 0; r < PAIRS; r++) {
		LLVMValueRef even = tsr_kit_at(k, from, tsr_kit_mul(k, width, tsr_kit_int(k, 2 * r))), odd = tsr_kit_at(k, even, width);
		v[r] = paired(x, tsr_kit_load(k, part, even, NULL), tsr_kit_load(k, part, odd, NULL), 0);
	}
	turn(x, v);
	for (uint32_t r = 0; r < ROWS; r++) {
		LLVMValueRef row = tsr_kit_mul(k, tsr_kit_add(k, c.i, tsr_kit_int(k, r)), x->each);
		tsr_kit_store(pair, v[r], tsr_kit_at(pair, x->p->to, tsr_kit_add(k, row, d.i)), NULL);
	}
	tsr_count_end(k, &c);
	tsr_count_end(k, &d);
}

static bool by_rows(const tsr_engine *g, tsr_side side)
{
	bool a = side == TSR_SIDE_A;
	return tsr_computed_by_rows(g->e->loops, a ? g->c->a_value : g->c->b_value, &g->walks[a ? TSR_CLASS_M : TSR_CLASS_N], &g->walks[TSR_CLASS_K]);
}

int64_t tsr_matrix_rows(int64_t rows) { return (rows + TILE - 1) / TILE * TILE; }

int64_t tsr_matrix_narrow_bytes(tsr_engine *g, int64_t rows, int64_t cols, int64_t depth)
{
	if (g->s->thirds)
		return tsr_thirds_line_bytes();
	int64_t a = !g->s->pack_a || by_rows(g, TSR_SIDE_A) ? 0 : rows * 2 * PAIRS, b = by_rows(g, TSR_SIDE_B) ? g->s->nr * depth * 2 : (cols + TILE - 1) / TILE * TILE * 2 * SOME_PAIRS;
	return (a > b ? a : b) * 2;
}

void tsr_matrix_pack(tsr_engine *g, const tsr_pack *p, LLVMValueRef each)
{
	bool a = p->side == TSR_SIDE_A;
	if (g->s->thirds) {
		tsr_thirds_pack(g, p, each);
		return;
	}
	tsr_narrow_b b = a ? (tsr_narrow_b){ 0 } : tsr_narrow_b_of(g);
	if (b.base) {
		tsr_pack_narrow_b(g, p, &b, each);
		return;
	}
	packing x = { tsr_kit_of(&g->k, TSR_PREC_BF16, LLVMInt16TypeInContext(g->k.context), 2), tsr_kit_of(&g->k, TSR_PREC_I32, g->k.i32, 4), p,
		{ g->e, a ? g->c->a_value : g->c->b_value, TSR_PREC_BF16, &g->walks[a ? TSR_CLASS_M : TSR_CLASS_N], &g->walks[TSR_CLASS_K], NULL }, each, tsr_matrix_each(&g->k, TSR_SIDE_B, p->depth), g->narrow, g->seen != NULL };
	if (by_rows(g, p->side))
		(a ? a_by_rows : b_by_rows)(&x);
	else
		(a ? a_by_columns : b_by_columns)(&x);
}

/* ---- products ----------------------------------------------------------------------------------------------------------- */

/* Its second registers of A and of B; of numbers in bf16, or of thirds. */
typedef struct product { bool tall, wide, thirds; tsr_thirds_form form; } product;
enum { STEPS = 8, STEPS_OF_THIRDS = 64 };     /* of 32 depths: so many of a panel of B stay in the first cache while rows of A go by; thirds come from the second one in time */

static LLVMValueRef number(tsr_kit *k, uint32_t r) { return LLVMConstInt(LLVMInt8TypeInContext(k->context), r, false); }

static LLVMValueRef further(tsr_kit *k, LLVMValueRef p, LLVMValueRef bytes)
{
	return LLVMBuildGEP2(k->b, LLVMInt8TypeInContext(k->context), p, &bytes, 1, "");
}

void tsr_matrix_load(tsr_kit *k, uint32_t r, LLVMValueRef from, LLVMValueRef row)
{
	tsr_kit_intrinsic(k, "llvm.x86.tileloadd64", NULL, 0, (LLVMValueRef[]){ number(k, r), from, row }, 3);
}

void tsr_matrix_multiply(tsr_kit *k, uint32_t i, uint32_t j)
{
	tsr_kit_intrinsic(k, "llvm.x86.tdpbf16ps", NULL, 0, (LLVMValueRef[]){ number(k, 2 * i + j), number(k, TSR_MATRIX_A + i), number(k, TSR_MATRIX_B + j) }, 3);
}

/* Elements from one step to the next. */
static int64_t a_step(bool thirds) { return thirds ? tsr_thirds_step() : PAIRS; }
static int64_t b_step(bool thirds) { return thirds ? tsr_thirds_step() : PAIRS * TILE; }

typedef enum moved { CLEARED, LOADED, STORED } moved;

/* The registers of sums, in rows of a tile. */
static void sums(tsr_kit *k, const product *p, LLVMValueRef at, moved how)
{
	LLVMValueRef line = tsr_kit_int(k, TILE * 4);
	for (uint32_t i = 0; i < (p->tall ? 2 : 1); i++)
		for (uint32_t j = 0; j < (p->wide ? 2 : 1); j++) {
			LLVMValueRef to = further(k, at, tsr_kit_int(k, (int64_t)i * ROWS * TILE * 4 + j * 4 * ROWS));
			if (how == CLEARED)
				tsr_kit_intrinsic(k, "llvm.x86.tilezero", NULL, 0, (LLVMValueRef[]){ number(k, 2 * i + j) }, 1);
			else if (how == LOADED)
				tsr_matrix_load(k, 2 * i + j, to, line);
			else
				tsr_kit_intrinsic(k, "llvm.x86.tilestored64", NULL, 0, (LLVMValueRef[]){ number(k, 2 * i + j), to, line }, 3);
		}
}

/* One step. */
static void multiply(tsr_kit *k, const product *p, LLVMValueRef f, LLVMValueRef step)
{
	uint32_t rows = p->tall ? 2 : 1, cols = p->wide ? 2 : 1;
	LLVMValueRef row = LLVMGetParam(f, TSR_MATRIX_ROW), b = further(k, LLVMGetParam(f, TSR_MATRIX_OF_B), tsr_kit_mul(k, step, tsr_kit_int(k, 4 * b_step(p->thirds))));
	if (p->thirds) {
		tsr_thirds_rows a = tsr_thirds_rows_at(k, f, step, &p->form);
		tsr_thirds_multiply(k, &p->form, &a, b, rows, cols);
		return;
	}
	LLVMValueRef a = further(k, LLVMGetParam(f, TSR_MATRIX_OF_A), tsr_kit_mul(k, step, tsr_kit_int(k, 4 * a_step(false))));
	for (uint32_t i = 0; i < rows; i++)
		tsr_matrix_load(k, TSR_MATRIX_A + i, i ? further(k, a, tsr_kit_mul(k, row, tsr_kit_int(k, ROWS))) : a, row);
	for (uint32_t j = 0; j < cols; j++)
		tsr_matrix_load(k, TSR_MATRIX_B + j, further(k, b, tsr_kit_int(k, j * 4 * ROWS)), tsr_kit_int(k, TILE * 4));
	for (uint32_t i = 0; i < rows; i++)
		for (uint32_t j = 0; j < cols; j++)
			tsr_matrix_multiply(k, i, j);
}

/* Where no instruction of vectors adds for some 2000 cycles, as while matrix registers multiply 128 times, a processor lays those units to sleep, and the sums' way to memory waits 900 cycles for them:
 * one sum that nobody needs in each step keeps them awake (tiles by themselves, of 256 depths and more, 1.1 to 1.25 times as fast). */
static void stay_awake(tsr_kit *k, LLVMValueRef step)
{
	static const char rounding[] = "round.tonearest", exceptions[] = "fpexcept.strict";      /* which nobody may leave out */
	LLVMTypeRef number = LLVMFloatTypeInContext(k->context);
	LLVMMetadataRef how[2] = { LLVMMDStringInContext2(k->context, rounding, sizeof rounding - 1), LLVMMDStringInContext2(k->context, exceptions, sizeof exceptions - 1) };
	LLVMValueRef x = LLVMBuildSIToFP(k->b, step, number, "");
	tsr_kit_intrinsic(k, "llvm.experimental.constrained.fadd", &number, 1, (LLVMValueRef[]){ x, x, LLVMMetadataAsValue(k->context, how[0]), LLVMMetadataAsValue(k->context, how[1]) }, 4);
}

static void product_body(tsr_kit *k, const void *which, LLVMValueRef f)
{
	const product *p = which;
	LLVMValueRef add = LLVMGetParam(f, TSR_MATRIX_ADD), at = LLVMGetParam(f, TSR_MATRIX_SUMS);
	tsr_guard before = tsr_guard_begin(k, add);
	sums(k, p, at, LOADED);
	tsr_guard_end(k, before);
	tsr_guard first = tsr_guard_begin(k, LLVMBuildNot(k->b, add, ""));
	sums(k, p, at, CLEARED);
	tsr_guard_end(k, first);
	tsr_count d = tsr_count_begin(k, tsr_kit_int(k, 0), LLVMGetParam(f, TSR_MATRIX_STEPS), tsr_kit_int(k, 1));
	multiply(k, p, f, d.i);
	stay_awake(k, d.i);
	tsr_count_end(k, &d);
	sums(k, p, at, STORED);
	LLVMBuildRetVoid(k->b);
}

/* Of so many steps from one of them on; `add`: to what the sums are. */
typedef struct steps { LLVMValueRef first, count, add; } steps;

static void product_types(tsr_kit *k, LLVMTypeRef *out)
{
	LLVMTypeRef params[TSR_MATRIX_PLANE_PARAMS] = { k->ptr, k->ptr, k->ptr, k->i64, k->i64, k->i1, k->ptr, k->ptr, k->i64, k->i64 };
	memcpy(out, params, sizeof params);
}

static uint32_t params_of(const product *p) { return p->form.planes ? TSR_MATRIX_PLANE_PARAMS : TSR_MATRIX_PARAMS; }

/* The function of such a product; `odd`: by vectors, of what is no thirds of its own. */
static LLVMValueRef product_of(tsr_kit *k, const product *p, bool odd)
{
	char name[80], kind[32] = "matrix";
	LLVMTypeRef params[TSR_MATRIX_PLANE_PARAMS];
	if (p->thirds)
		snprintf(kind, sizeof kind, "thirds%s.%u.%u", p->form.runs ? ".runs" : p->form.planes ? ".planes" : "", p->form.a, p->form.b);
	product_types(k, params);
	if (odd)
		snprintf(name, sizeof name, TSR_TILE_PREFIX "%s.odd", kind);
	else
		snprintf(name, sizeof name, TSR_TILE_PREFIX "%s.%ux%u", kind, p->tall ? TILE : ROWS, p->wide ? TILE : ROWS);
	return tsr_kit_named(k, name, params, params_of(p), TSR_MATRIX_ROW, odd ? tsr_thirds_odd_body : product_body, odd ? (const void *)&p->form : p);
}

static void call(tsr_kit *k, const product *p, LLVMValueRef f, LLVMValueRef *arg)
{
	LLVMTypeRef params[TSR_MATRIX_PLANE_PARAMS];
	product_types(k, params);
	LLVMBuildCall2(k->b, LLVMFunctionType(LLVMVoidTypeInContext(k->context), params, params_of(p), false), f, arg, params_of(p), "");
}

static void call_product(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef b, LLVMValueRef to, product p, steps d)
{
	tsr_kit *k = &g->k;
	p.thirds = g->s->thirds, p.form = tsr_thirds_form_of(g);
	LLVMValueRef a = tsr_kit_at(k, bl->a, tsr_kit_mul(k, ir, bl->a_each)), f = product_of(k, &p, false);
	LLVMValueRef arg[TSR_MATRIX_PARAMS] = { tsr_kit_at(k, a, tsr_kit_mul(k, d.first, tsr_kit_int(k, a_step(p.thirds)))), tsr_kit_at(k, b, tsr_kit_mul(k, d.first, tsr_kit_int(k, b_step(p.thirds)))), to,
		tsr_kit_mul(k, bl->a_each, tsr_kit_int(k, 4)), d.count, d.add };
	if (p.thirds) {
		LLVMValueRef odd = LLVMBuildOr(k->b, tsr_thirds_panel_odd(k, a, bl->a_each), tsr_thirds_panel_odd(k, b, bl->b_each), "");
		f = LLVMBuildSelect(k->b, odd, product_of(k, &p, true), f, "");
	}
	call(k, &p, f, arg);
}

void tsr_matrix_of_planes(tsr_engine *g, bool tall, bool wide, bool odd, LLVMValueRef *arg)
{
	product p = { tall, wide, true, tsr_thirds_form_of(g) };
	call(&g->k, &p, product_of(&g->k, &p, odd), arg);
}

static int64_t at_once(const tsr_engine *g) { return g->s->thirds ? STEPS_OF_THIRDS : STEPS; }

bool tsr_matrix_deep(const tsr_engine *g)
{
	int64_t depth = tsr_kit_known(g->cls[TSR_CLASS_K].count), most = depth >= 0 && depth < g->s->kc ? depth : g->s->kc;
	return g->s->planes || most > 2 * PAIRS * at_once(g);
}

LLVMValueRef tsr_matrix_sums(tsr_engine *g, const tsr_block *bl, LLVMValueRef ir, LLVMValueRef b, uint32_t rows, uint32_t vecs)
{
	tsr_kit *k = &g->k;
	if (tsr_matrix_deep(g))
		return tsr_kit_at(k, g->sums, tsr_kit_mul(k, ir, tsr_kit_int(k, TILE)));
	steps all = { tsr_kit_int(k, 0), tsr_matrix_steps(k, bl->depth), LLVMConstInt(k->i1, 0, false) };
	call_product(g, bl, ir, b, g->sums, (product){ .tall = rows > ROWS, .wide = vecs > 1 }, all);
	return g->sums;
}

void tsr_matrix_column(tsr_engine *g, const tsr_block *bl, LLVMValueRef b, uint32_t vecs)
{
	tsr_kit *k = &g->k;
	LLVMValueRef zero = tsr_kit_int(k, 0), tile = tsr_kit_int(k, TILE), few = tsr_kit_int(k, at_once(g)), all = tsr_matrix_steps(k, bl->depth);
	LLVMValueRef full = LLVMBuildMul(k->b, LLVMBuildUDiv(k->b, bl->rows, tile, ""), tile, "");
	int64_t total = tsr_kit_known(g->cls[TSR_CLASS_M].count);
	if (!tsr_matrix_deep(g))
		return;
	if (g->s->planes) {
		tsr_planes_column(g, bl, b, vecs);
		return;
	}
	tsr_count d = tsr_count_begin(k, zero, tsr_kit_some(k, all), few);         /* a sum over nothing is 0 */
	steps some = { d.i, tsr_kit_min(k, few, LLVMBuildNSWSub(k->b, all, d.i, "")), LLVMBuildICmp(k->b, LLVMIntSGT, d.i, zero, "") };
	tsr_count i = tsr_count_begin(k, zero, full, tile);
	call_product(g, bl, i.i, b, tsr_kit_at(k, g->sums, tsr_kit_mul(k, i.i, tile)), (product){ .tall = true, .wide = vecs > 1 }, some);
	tsr_count_end(k, &i);
	if (total < 0 || total % TILE) {
		tsr_guard rest = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSLT, full, bl->rows, ""));
		call_product(g, bl, full, b, tsr_kit_at(k, g->sums, tsr_kit_mul(k, full, tile)), (product){ .tall = total < 0 || total % TILE > ROWS, .wide = vecs > 1 }, some);
		tsr_guard_end(k, rest);
	}
	tsr_count_end(k, &d);
}
