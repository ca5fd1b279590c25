/* Rows turned in registers: those of a panel become its depths.
 *
 * A round that interleaves the halves of 2^g rows rotates the bits of where an element is, its row's above its depth's, by one; after g rounds the
 * elements lie depth by depth, with 2^g rows in each.  A panel of fewer rows than a register has lanes would store each depth for itself; where it
 * is one depth behind the other and any lanes of two registers take one instruction, groups of its rows are woven and then put together lane by lane into whole
 * vectors: 18 shuffles and 6 stores for 6 rows of 16, where a square of 16 has 64 and 16. */
#include "kit.h"

enum { MOST_LANES = 64, WIDE = 64, PAIR = 8 };

/* ---- registers of two halves ----------------------------------------------------------------------------------------------- */

/* Rows are woven in pairs of elements within the halves, pairs are put beside each other, and then halves. */
static bool has_halves(const tsr_kit *k, uint32_t rows)
{
	bool pairs = k->elem_bytes == PAIR || (2 * k->elem_bytes == PAIR && rows % 2 == 0);
	return k->target->halves && pairs && k->lanes * k->elem_bytes == k->target->vector_bytes;      /* half of such a register has none */
}

/* Lanes of both registers: `unit` at a time, of each half the one at `at` of x, then the one at `then` of y. */
static LLVMValueRef in_halves(tsr_kit *k, LLVMValueRef x, uint32_t at, LLVMValueRef y, uint32_t then, uint32_t unit)
{
	uint32_t w = k->lanes, each = w / 2;
	LLVMValueRef lane[MOST_LANES];
	for (uint32_t i = 0; i < w; i++) {
		uint32_t half = i / each, in = i % each, second = in >= unit;
		lane[i] = LLVMConstInt(k->i32, (second ? w + then : at) + half * each + in % unit, false);
	}
	return LLVMBuildShuffleVector(k->b, x, y, LLVMConstVector(lane, w), "");
}

/* r0 s0 r1 s1 of each half, or r2 s2 r3 s3. */
static LLVMValueRef pairs_of(tsr_kit *k, LLVMValueRef r, LLVMValueRef s, bool high)
{
	uint32_t w = k->lanes, each = w / 2;
	LLVMValueRef lane[MOST_LANES];
	for (uint32_t i = 0; i < w; i++)
		lane[i] = LLVMConstInt(k->i32, (i % 2) * w + i / each * each + i % each / 2 + (high ? each / 2 : 0), false);
	return LLVMBuildShuffleVector(k->b, r, s, LLVMConstVector(lane, w), "");
}

/* One half of x, then one of y. */
static LLVMValueRef of_halves(tsr_kit *k, LLVMValueRef x, bool x_high, LLVMValueRef y, bool y_high)
{
	uint32_t w = k->lanes, each = w / 2;
	LLVMValueRef lane[MOST_LANES];
	for (uint32_t i = 0; i < w; i++)
		lane[i] = LLVMConstInt(k->i32, i < each ? i + (x_high ? each : 0) : w + i - each + (y_high ? each : 0), false);
	return LLVMBuildShuffleVector(k->b, x, y, LLVMConstVector(lane, w), "");
}

static void weave_halves(tsr_kit *k, LLVMValueRef *v, uint32_t rows)
{
	LLVMValueRef pair[MOST_LANES], half[MOST_LANES];
	uint32_t each = k->elem_bytes == PAIR ? rows : rows / 2, unit = PAIR / k->elem_bytes;      /* pairs of a depth */
	for (uint32_t p = 0; p < rows; p++)          /* two depths' pairs are in the first `each` registers, the next two's in the others */
		pair[p] = k->elem_bytes == PAIR ? v[p] : pairs_of(k, v[p % each * 2], v[p % each * 2 + 1], p >= each);
	for (uint32_t q = 0; q < rows; q++) {
		uint32_t a = 2 * q, b = a + 1;
		half[q] = in_halves(k, pair[a / each / 2 * each + a % each], a / each % 2 * unit, pair[b / each / 2 * each + b % each], b / each % 2 * unit, unit);
	}
	for (uint32_t j = 0; j < rows; j++)
		v[j] = of_halves(k, half[2 * j % rows], 2 * j >= rows, half[(2 * j + 1) % rows], 2 * j + 1 >= rows);
}

/* ---- any registers ------------------------------------------------------------------------------------------------------------ */

void tsr_weave(tsr_kit *k, LLVMValueRef *v, uint32_t rows)
{
	uint32_t w = k->lanes;
	if (has_halves(k, rows)) {
		weave_halves(k, v, rows);
		return;
	}
	LLVMValueRef lo[MOST_LANES], hi[MOST_LANES], next[MOST_LANES];
	for (uint32_t i = 0; i < w; i++) {
		lo[i] = LLVMConstInt(k->i32, i / 2 + (i % 2) * w, false);
		hi[i] = LLVMConstInt(k->i32, w / 2 + i / 2 + (i % 2) * w, false);
	}
	LLVMValueRef low = LLVMConstVector(lo, w), high = LLVMConstVector(hi, w);
	for (uint32_t round = 1; round < rows; round *= 2) {
		for (uint32_t i = 0; i < rows / 2; i++) {
			next[2 * i] = LLVMBuildShuffleVector(k->b, v[i], v[i + rows / 2], low, "");
			next[2 * i + 1] = LLVMBuildShuffleVector(k->b, v[i], v[i + rows / 2], high, "");
		}
		for (uint32_t i = 0; i < rows; i++)
			v[i] = next[i];
	}
}

/* Of groups of `group` rows, each woven, the vector that has an element of the panel, and its lane there. */
typedef struct place { uint32_t vector, lane; } place;

static place place_of(uint32_t rows, uint32_t group, uint32_t lanes, uint32_t element)
{
	uint32_t depth = element / rows, row = element % rows, at = depth * group + row % group;
	return (place){ row / group * group + at / lanes, at % lanes };
}

/* How many vectors the elements of the panel's vector j come from; `source`: which. */
static uint32_t sources(uint32_t rows, uint32_t group, uint32_t lanes, uint32_t j, uint32_t *source)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < lanes; i++) {
		uint32_t vector = place_of(rows, group, lanes, j * lanes + i).vector, s = 0;
		while (s < n && source[s] != vector)
			s++;
		source[s] = vector;
		n += s == n;
	}
	return n;
}

static uint32_t largest_power(uint32_t rows) { return rows & -rows; }

static uint32_t power_above(uint32_t rows)
{
	uint32_t n = 1;
	while (n < rows)
		n *= 2;
	return n;
}

static uint32_t rounds_of(uint32_t rows) { return rows < 2 ? 0 : 1 + rounds_of(rows / 2); }

/* Fewer instructions than a power of rows with a store for each depth. */
static bool joins(const tsr_kit *k, uint32_t rows)
{
	uint32_t group = largest_power(rows), above = power_above(rows), joined = rows * rounds_of(group) + rows, source[MOST_LANES];
	if (has_halves(k, rows))
		return true;
	for (uint32_t j = 0; j < rows; j++)
		joined += sources(rows, group, k->lanes, j, source) - 1;
	return k->lanes * k->elem_bytes == WIDE && joined < above * rounds_of(above) + k->lanes;
}

/* The panel's vector j: what each source has of it is put beside what those before it have. */
static LLVMValueRef put_together(tsr_kit *k, const LLVMValueRef *v, uint32_t rows, uint32_t group, uint32_t j)
{
	uint32_t source[MOST_LANES], n = sources(rows, group, k->lanes, j, source);
	LLVMValueRef all = NULL, lane[MOST_LANES];
	bool have[MOST_LANES] = { false };
	for (uint32_t s = 0; s < n; s++) {
		for (uint32_t i = 0; i < k->lanes; i++) {
			place at = place_of(rows, group, k->lanes, j * k->lanes + i);
			lane[i] = have[i] ? LLVMConstInt(k->i32, i, false) : LLVMGetPoison(k->i32);
			if (at.vector == source[s]) {
				lane[i] = LLVMConstInt(k->i32, (all ? k->lanes : 0) + at.lane, false);
				have[i] = true;
			}
		}
		LLVMValueRef first = all ? all : v[source[s]], second = all ? v[source[s]] : LLVMGetPoison(k->vec);
		all = LLVMBuildShuffleVector(k->b, first, second, LLVMConstVector(lane, k->lanes), "");
	}
	return all;
}

typedef struct strip { uint32_t width, usual; bool joined; } strip;       /* usual: depths that mostly come at once */

static void store_joined(tsr_kit *k, LLVMValueRef f, LLVMValueRef *v, uint32_t rows, uint32_t usual, LLVMValueRef count)
{
	uint32_t group = has_halves(k, rows) ? rows : largest_power(rows);
	for (uint32_t s = 0; s < rows; s += group)
		tsr_weave(k, v + s, group);
	bool some = count || rows * usual % k->lanes;
	LLVMValueRef left = some ? tsr_kit_mul(k, count ? count : tsr_kit_int(k, usual), tsr_kit_int(k, rows)) : NULL;
	for (uint32_t j = 0; j < rows && (count || j * k->lanes < rows * usual); j++)
		tsr_kit_store(k, has_halves(k, rows) ? v[j] : put_together(k, v, rows, group, j), tsr_kit_at(k, LLVMGetParam(f, TSR_STRIP_TO), tsr_kit_int(k, j * k->lanes)),
					  left ? tsr_kit_mask(k, left, j * k->lanes) : NULL);
}

/* Each depth by itself, several of which lie in a vector. */
static void store_depths(tsr_kit *k, LLVMValueRef f, LLVMValueRef *v, uint32_t rows, uint32_t usual, LLVMValueRef count)
{
	uint32_t above = power_above(rows);
	for (uint32_t r = rows; r < above; r++)
		v[r] = LLVMGetPoison(k->vec);
	tsr_weave(k, v, above);
	for (uint32_t d = 0; d < (count ? k->lanes : usual); d++) {
		uint32_t lane = d * above % k->lanes;
		tsr_guard in;
		if (count)
			in = tsr_guard_begin(k, LLVMBuildICmp(k->b, LLVMIntSLT, tsr_kit_int(k, d), count, ""));
		LLVMValueRef at = LLVMBuildNSWSub(k->b, tsr_kit_mul(k, LLVMGetParam(f, TSR_STRIP_STEP), tsr_kit_int(k, d)), tsr_kit_int(k, lane), "");
		LLVMValueRef to = LLVMBuildGEP2(k->b, k->elem, LLVMGetParam(f, TSR_STRIP_TO), &at, 1, "");
		if (rows < k->lanes)
			tsr_kit_store_some(k, v[d * above / k->lanes], to, lane, rows);
		else
			tsr_kit_store(k, v[d * above / k->lanes], to, NULL);
		if (count)
			tsr_guard_end(k, in);
	}
}

/* `count` NULL: as many depths as usual. */
static void turn_strip(tsr_kit *k, const strip *s, LLVMValueRef f, LLVMValueRef count)
{
	LLVMValueRef v[MOST_LANES], table = LLVMGetParam(f, TSR_STRIP_ROWS), mask = NULL;
	if (count || s->usual < k->lanes)
		mask = tsr_kit_mask(k, count ? count : tsr_kit_int(k, s->usual), 0);
	for (uint32_t r = 0; r < s->width; r++) {
		LLVMValueRef at = tsr_kit_int(k, r), row = LLVMBuildLoad2(k->b, k->ptr, LLVMBuildInBoundsGEP2(k->b, k->ptr, table, &at, 1, ""), "");
		v[r] = tsr_kit_load(k, k->vec, tsr_kit_at(k, row, LLVMGetParam(f, TSR_STRIP_FROM)), mask);
	}
	bool joined = s->joined && !(count && has_halves(k, s->width));     /* few depths of many would be stored under masks */
	(joined ? store_joined : store_depths)(k, f, v, s->width, s->usual, count);
	LLVMBuildRetVoid(k->b);
}

static void strip_body(tsr_kit *k, const void *user, LLVMValueRef f)
{
	const strip *s = user;
	LLVMValueRef count = LLVMGetParam(f, TSR_STRIP_COUNT);
	LLVMBasicBlockRef full = LLVMAppendBasicBlockInContext(k->context, f, "full"), part = LLVMAppendBasicBlockInContext(k->context, f, "part");
	LLVMBuildCondBr(k->b, LLVMBuildICmp(k->b, LLVMIntEQ, count, tsr_kit_int(k, s->usual), ""), full, part);
	LLVMPositionBuilderAtEnd(k->b, full);
	turn_strip(k, s, f, NULL);
	LLVMPositionBuilderAtEnd(k->b, part);
	turn_strip(k, s, f, count);
}

LLVMValueRef tsr_strip_function(tsr_kit *k, uint32_t width, uint32_t usual, bool adjacent)
{
	strip s = { width, usual, adjacent && joins(k, width) };
	char name[60];
	int n = snprintf(name, sizeof name, TSR_TILE_PREFIX "strip.%s.%u.%u%s", tsr_prec_name(k->prec), k->lanes, width, s.joined ? "j" : "");
	if (usual < k->lanes)
		snprintf(name + n, sizeof name - (size_t)n, ".%u", usual);
	LLVMTypeRef params[TSR_STRIP_PARAMS] = { k->ptr, k->ptr, k->i64, k->i64, k->i64 };
	return tsr_kit_named(k, name, params, TSR_STRIP_PARAMS, 2, strip_body, &s);
}
