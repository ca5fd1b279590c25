/* Sizes of planes (planes.c), as values: constants where they are known while compiling, else what the run makes of an image's height and width.
 *
 * A block has as many rows of the product as planes of some bytes are read for, which a core's second cache has beside B's panels.  Where the run says how wide images are, room is for planes of any width up to one at
 * which a line's are TSR_PLANES_ROOM; of wider ones the product is by vectors (tsr_planes_fit). */
#include "private.h"

enum { LANES = 16, THIRDS = 3, LINE = TSR_LINE / 4 };

static int64_t room_for(const tsr_schedule *s, LLVMValueRef count)
{
	int64_t m = tsr_kit_known(count), rows = m >= 0 && m < s->mc ? m : s->mc;
	return (rows + s->mr - 1) / s->mr * s->mr;
}

int64_t tsr_planes_room(const tsr_engine *g) { return room_for(g->s, g->cls[TSR_CLASS_M].count); }

/* Rows of a block's planes, and as many behind them as the line of a last tile's last place reads; of which those that may be odd. */
static int64_t lines_of(const tsr_planes *p, int64_t room) { return tsr_planes_rows(p, room) + 2 * p->h.step + p->after; }
static int64_t flags_of(const tsr_planes *p, int64_t lines) { return (lines + p->h.span + LINE - 1) / LINE * LINE; }

static int64_t third_of(const tsr_planes *p, int64_t room)
{
	return !p->runs ? LANES * 4 : p->tall > 1 ? p->pitch : (lines_of(p, room) * p->pitch + p->behind + TSR_LINE - 1) / TSR_LINE * TSR_LINE;
}

int64_t tsr_planes_third(const tsr_engine *g) { return third_of(&g->planes, tsr_planes_room(g)); }

int64_t tsr_planes_bytes(const tsr_engine *g)
{
	const tsr_planes *p = &g->planes;
	int64_t room = tsr_planes_room(g), lines = lines_of(p, room);
	int64_t bytes = p->later ? TSR_PLANES_ROOM : (LINE + 2 * flags_of(p, lines)) * 4 + (p->runs && p->tall == 1 ? THIRDS * third_of(p, room) : lines * p->row + p->behind);
	return (bytes + 255) / 128 * 128;
}

/* ---- what the run says --------------------------------------------------------------------------------------------------- */

static LLVMValueRef per(tsr_kit *k, LLVMValueRef x, LLVMValueRef n) { return LLVMBuildUDiv(k->b, x, n, ""); }
static LLVMValueRef less(tsr_kit *k, LLVMValueRef x, LLVMValueRef y) { return LLVMBuildNSWSub(k->b, x, y, ""); }
static LLVMValueRef up_to(tsr_kit *k, LLVMValueRef x, int64_t unit) { return LLVMBuildAnd(k->b, tsr_kit_add(k, x, tsr_kit_int(k, unit - 1)), tsr_kit_int(k, -unit), ""); }

/* What all results along an axis read. */
static LLVMValueRef reach(tsr_kit *k, const tsr_plane_axis *a, LLVMValueRef count)
{
	return tsr_kit_add(k, tsr_kit_mul(k, less(k, count, tsr_kit_int(k, 1)), tsr_kit_int(k, a->step)), tsr_kit_int(k, a->span));
}

static LLVMValueRef inside_of(tsr_kit *k, tsr_emit *e, const tsr_planes *p, LLVMValueRef pixels)
{
	LLVMValueRef until = tsr_kit_min(k, tsr_emit_size(e, p->w.extent), tsr_kit_add(k, pixels, tsr_kit_int(k, p->w.least)));
	return less(k, until, tsr_kit_int(k, p->w.least > 0 ? p->w.least : 0));
}

/* As `count_places` in opt/planes.c. */
static LLVMValueRef places_of(tsr_kit *k, const tsr_planes *p, const tsr_plane_sizes *x)
{
	LLVMValueRef step = tsr_kit_int(k, p->w.step), pitch = tsr_kit_mul(k, x->pixels, tsr_kit_int(k, p->h.step)), through = per(k, pitch, step), alone = up_to(k, x->columns, LANES);
	LLVMValueRef whole = LLVMBuildICmp(k->b, LLVMIntEQ, tsr_kit_mul(k, through, step), pitch, "");
	LLVMValueRef so = LLVMBuildAnd(k->b, LLVMBuildICmp(k->b, LLVMIntSGE, through, x->columns, ""), LLVMBuildICmp(k->b, LLVMIntSLT, through, alone, ""), "");
	return LLVMBuildSelect(k->b, LLVMBuildAnd(k->b, whole, so, ""), through, alone, "");
}

/* As many rows of the product as planes of so many bytes are read for, a line at least if the schedule has room for one; all of them in equal blocks. */
static LLVMValueRef block_of(tsr_kit *k, const tsr_planes *p, const tsr_plane_sizes *x, const tsr_schedule *s, LLVMValueRef count)
{
	LLVMValueRef one = tsr_kit_int(k, 1), rows = less(k, per(k, tsr_kit_int(k, TSR_PLANES_BYTES), x->row), tsr_kit_int(k, 2 * p->h.span));
	LLVMValueRef lines = tsr_kit_max(k, per(k, tsr_kit_mul(k, tsr_kit_max(k, rows, one), x->lines), x->high), one);
	LLVMValueRef most = tsr_kit_min(k, tsr_kit_mul(k, lines, x->columns), tsr_kit_int(k, s->mc)), parts = per(k, tsr_kit_add(k, count, less(k, most, one)), most);
	LLVMValueRef each = per(k, tsr_kit_add(k, count, less(k, tsr_kit_some(k, parts), one)), tsr_kit_some(k, parts));
	return tsr_kit_min(k, up_to(k, tsr_kit_some(k, each), s->mr), tsr_kit_int(k, s->mc));
}

/* As tsr_planes_rows, of a block, and those behind them. */
static LLVMValueRef lines_read(tsr_kit *k, const tsr_planes *p, const tsr_plane_sizes *x)
{
	LLVMValueRef two = tsr_kit_int(k, 2), lines = tsr_kit_add(k, per(k, less(k, tsr_kit_add(k, x->block, x->columns), two), x->columns), tsr_kit_int(k, 1));
	LLVMValueRef ends = per(k, less(k, tsr_kit_add(k, lines, x->lines), two), x->lines), more = tsr_kit_int(k, p->h.span > p->h.step ? p->h.span - p->h.step : 0);
	return tsr_kit_add(k, tsr_kit_add(k, reach(k, &p->h, lines), tsr_kit_mul(k, ends, more)), tsr_kit_int(k, 2 * p->h.step));
}

static LLVMValueRef behind_of(tsr_kit *k, const tsr_planes *p, const tsr_plane_sizes *x)
{
	LLVMValueRef pixels = tsr_kit_add(k, tsr_kit_mul(k, x->pixels, tsr_kit_int(k, p->h.step)), tsr_kit_int(k, LANES * p->w.step));
	return tsr_kit_mul(k, pixels, tsr_kit_int(k, 2 * p->place));
}

tsr_plane_sizes tsr_plane_sizes_of(tsr_kit *k, tsr_emit *e, const tsr_planes *p, const tsr_schedule *s, LLVMValueRef count)
{
	tsr_plane_sizes x = { .lines = tsr_kit_int(k, p->h.results), .columns = tsr_kit_int(k, p->w.results), .extent = tsr_kit_int(k, p->h.size), .high = tsr_kit_int(k, p->high), .pixels = tsr_kit_int(k, p->pixels),
		.inside = tsr_kit_int(k, p->inside), .row = tsr_kit_int(k, p->row), .places = tsr_kit_int(k, p->places), .block = tsr_kit_int(k, s->mc), .all = tsr_kit_int(k, lines_of(p, room_for(s, count))) };
	x.flags = tsr_kit_int(k, flags_of(p, lines_of(p, room_for(s, count))));
	if (!p->later)
		return x;
	x.lines = tsr_kit_some(k, tsr_emit_size(e, p->h.count)), x.columns = tsr_kit_some(k, tsr_emit_size(e, p->w.count)), x.extent = tsr_emit_size(e, p->h.extent);
	x.high = reach(k, &p->h, x.lines), x.pixels = reach(k, &p->w, x.columns), x.inside = inside_of(k, e, p, x.pixels);
	x.row = tsr_kit_mul(k, x.pixels, tsr_kit_int(k, p->place)), x.places = places_of(k, p, &x);
	x.block = block_of(k, p, &x, s, count), x.all = lines_read(k, p, &x), x.flags = up_to(k, tsr_kit_add(k, x.all, tsr_kit_int(k, p->h.span)), LINE);
	return x;
}

LLVMValueRef tsr_planes_fit(tsr_kit *k, const tsr_planes *p, const tsr_plane_sizes *x)
{
	LLVMValueRef flags = tsr_kit_mul(k, tsr_kit_add(k, tsr_kit_mul(k, x->flags, tsr_kit_int(k, 2)), tsr_kit_int(k, LINE)), tsr_kit_int(k, 4)), bytes = tsr_kit_add(k, tsr_kit_add(k, tsr_kit_mul(k, x->all, x->row), behind_of(k, p, x)), flags);
	LLVMValueRef some = LLVMBuildICmp(k->b, LLVMIntSGT, x->inside, tsr_kit_int(k, 0), "");
	return LLVMBuildAnd(k->b, some, LLVMBuildICmp(k->b, LLVMIntSLE, bytes, tsr_kit_int(k, TSR_PLANES_ROOM), ""), "");
}
