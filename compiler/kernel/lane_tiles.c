/* Products of many matrices that lie side by side, element by element, as those for each place of a spectrum do:
 *
 *     for m parallel { for n parallel { for l parallel { let s = 0; for k reduce { set s = s + x[m, k, l] y[k, n, l] }; store z[m, n, l] = s } } }
 *
 * Lanes are matrices, so that nothing is turned or packed, and a tile of rows and columns has its sums in registers: of 4 x 4 each element that is loaded goes into four of
 * them.  All of a register's matrices are done before the next ones begin, columns tile by tile for as many rows as the second cache holds.  Each sum is added in
 * the order that is written, in lanes as in what is left of them. */
#include "team.h"
#include "../opt/opt.h"

enum { TILE = 4, FEW = 2, MOST_LOCALS = 8, AXES = 2 };     /* of rows and columns; of rows where registers are few */

typedef struct lane_tiles {
	tsr_emit *e;
	const tsr_stmt *axis[AXES], *lane;       /* rows around columns around matrices */
	bool alone[AXES];                        /* there is a load that follows this axis and not the other one */
	uint32_t nlocals;
	tsr_local_id local[MOST_LOCALS];
	int64_t depth;                           /* of all that is summed */
	uint32_t tile[AXES];
	LLVMValueRef from[AXES], to[AXES];
	LLVMValueRef at[AXES];                   /* of the tile that is emitted now: its first place, and how many */
	uint32_t n[AXES];
	LLVMValueRef lanes_at;
	tsr_emit_view view[TILE * TILE];
} lane_tiles;

/* ---- which nests ---------------------------------------------------------------------------------------------------------- */

static void note_loads(lane_tiles *x, const tsr_expr *v)
{
	tsr_expr *part[TSR_MOST_PARTS];
	bool by[AXES] = { false, false };
	for (uint32_t i = tsr_expr_parts(v, part); i-- > 0;)
		note_loads(x, part[i]);
	for (uint32_t d = 0; v->kind == TSR_EXPR_LOAD && d < x->e->loops->buffers.at[v->load.buffer]->rank; d++)
		for (uint32_t i = 0; i < AXES; i++)
			by[i] |= tsr_lin_mentions(&v->load.index[d], x->axis[i]->loop.sym);
	for (uint32_t i = 0; i < AXES; i++)
		x->alone[i] |= by[i] && !by[1 - i];
}

/* Sums without guards, and stores that may be done side by side. */
static bool plain(lane_tiles *x, const tsr_stmts *body, bool summed)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_LET && x->nlocals < MOST_LOCALS)
			x->local[x->nlocals++] = s->let.local;
		else if (s->kind == TSR_STMT_SET && summed)
			note_loads(x, s->let.value);
		else if (s->kind == TSR_STMT_FOR && s->loop.how == TSR_FOR_REDUCE && tsr_size_is_const(s->loop.extent) && s->loop.extent.k > 0 && !s->loop.from) {
			x->depth *= s->loop.extent.k;
			if (!plain(x, &s->loop.body, true))
				return false;
		} else if (s->kind != TSR_STMT_STORE || summed)
			return false;
	}
	return true;
}

static const tsr_stmt *only_loop(const tsr_emit *e, const tsr_stmt *s)
{
	const tsr_stmt *in = s->loop.body.n == 1 ? s->loop.body.at[0] : NULL;
	return in && in->kind == TSR_STMT_FOR && in->loop.how == TSR_FOR_PARALLEL && tsr_size_is_const(in->loop.extent) && in->loop.extent.k > 0 && !in->loop.contraction
		&& !in->loop.from && !tsr_emit_streams(e, in) ? in : NULL;
}

static bool understand(lane_tiles *x, const tsr_stmt *s)
{
	const tsr_stmt *columns = s->loop.how == TSR_FOR_PARALLEL && !s->loop.contraction && !s->loop.from && !tsr_emit_streams(x->e, s) && tsr_size_is_const(s->loop.extent) ? only_loop(x->e, s) : NULL;
	x->axis[0] = s, x->axis[1] = columns, x->lane = columns ? only_loop(x->e, columns) : NULL, x->depth = 1;
	return x->lane && !x->e->wide && plain(x, &x->lane->loop.body, false) && x->alone[0] && x->alone[1] && tsr_emit_may_repeat(&x->lane->loop.body)
		&& tsr_emit_outer_pays(x->e, x->lane, x->e->target->vector_bytes / 4, NULL);
}

/* ---- emission -------------------------------------------------------------------------------------------------------------- */

static void side_by_side(lane_tiles *x, const tsr_stmts *body)
{
	tsr_emit *e = x->e;
	uint32_t all = x->n[0] * x->n[1];
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR) {
			tsr_emit_loop k = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), tsr_emit_size(e, s->loop.extent), tsr_emit_i64(e, 1), s->loop.how);
			for (uint32_t v = 0; v < all; v++)
				x->view[v].syms[s->loop.sym] = k.index;
			side_by_side(x, &s->loop.body);
			tsr_emit_loop_end(e, &k);
			continue;
		}
		tsr_emit_view outside = tsr_emit_view_now(e);
		for (uint32_t v = 0; v < all; v++) {
			tsr_emit_enter(e, &x->view[v]);
			tsr_emit_stmts(e, &(tsr_stmts){(tsr_stmt **)&body->at[i], 1, 1});
		}
		tsr_emit_enter(e, &outside);
	}
}

static void tile(lane_tiles *x)
{
	tsr_emit *e = x->e;
	for (uint32_t v = 0; v < x->n[0] * x->n[1]; v++) {
		uint32_t place[AXES] = { v / x->n[1], v % x->n[1] };
		x->view[v] = tsr_emit_view_copy(e);
		for (uint32_t i = 0; i < x->nlocals; i++)
			x->view[v].locals[x->local[i]] = NULL;
		for (uint32_t i = 0; i < AXES; i++)
			x->view[v].syms[x->axis[i]->loop.sym] = LLVMBuildNSWAdd(e->builder, x->at[i], tsr_emit_i64(e, place[i]), "");
		x->view[v].syms[x->lane->loop.sym] = x->lanes_at;
	}
	e->places = true;
	side_by_side(x, &x->lane->loop.body);
	e->places = false;
}

static LLVMValueRef down(tsr_emit *e, LLVMValueRef from, LLVMValueRef to, int64_t step)
{
	LLVMValueRef count = LLVMBuildNSWSub(e->builder, to, from, "");
	return LLVMBuildNSWSub(e->builder, to, LLVMBuildSRem(e->builder, count, tsr_emit_i64(e, step), ""), "");
}

typedef void tile_body(lane_tiles *x);

static void in_steps(lane_tiles *x, uint32_t axis, LLVMValueRef from, LLVMValueRef to, uint32_t n, tile_body *body)
{
	tsr_emit *e = x->e;
	if (tsr_emit_surely_none(from, to))
		return;
	tsr_emit_loop loop = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, n), TSR_FOR_SERIAL);
	x->at[axis] = loop.index, x->n[axis] = n;
	body(x);
	tsr_emit_loop_end(e, &loop);
}

/* Tiles along an axis, and what is left: together where it is known how many these are, or one by one. */
static void along(lane_tiles *x, uint32_t axis, LLVMValueRef from, LLVMValueRef to, tile_body *body)
{
	LLVMValueRef end = down(x->e, from, to, x->tile[axis]), left = LLVMBuildNSWSub(x->e->builder, to, end, "");
	bool known = LLVMIsConstant(left);
	in_steps(x, axis, from, end, x->tile[axis], body);
	in_steps(x, axis, end, to, known && LLVMConstIntGetSExtValue(left) > 0 ? (uint32_t)LLVMConstIntGetSExtValue(left) : 1, body);
}

static void column_of_tiles(lane_tiles *x) { along(x, 0, x->from[0], x->to[0], tile); }

/* Rows of which the second cache keeps what belongs to these lanes. */
static int64_t rows_kept(const lane_tiles *x)
{
	int64_t n = x->e->target->l2 / 2 / (x->depth * x->e->target->vector_bytes);
	return n < 2 * TILE ? 2 * TILE : n / TILE * TILE;
}

static void all_rows(lane_tiles *x)
{
	tsr_emit *e = x->e;
	int64_t kept = rows_kept(x);
	if (kept >= x->axis[0]->loop.extent.k) {
		along(x, 1, x->from[1], x->to[1], column_of_tiles);
		return;
	}
	LLVMValueRef from = x->from[0], to = x->to[0];
	tsr_emit_loop block = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, kept), TSR_FOR_SERIAL);
	LLVMValueRef end = LLVMBuildNSWAdd(e->builder, block.index, tsr_emit_i64(e, kept), "");
	x->from[0] = block.index;
	x->to[0] = LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, end, to, ""), end, to, "");
	along(x, 1, x->from[1], x->to[1], column_of_tiles);
	x->from[0] = from, x->to[0] = to;
	tsr_emit_loop_end(e, &block);
}

/* Matrices from .. to; `some`: fewer than fill a register. */
static void matrices(lane_tiles *x, LLVMValueRef from, LLVMValueRef to, bool some)
{
	tsr_emit *e = x->e;
	bool masked = some && tsr_emit_has_masks(e);
	unsigned lanes = some && !masked ? 1 : e->target->vector_bytes / 4;
	tsr_wide w = {.loop = x->lane, .lanes = lanes, .holds = true};
	if (tsr_emit_surely_none(from, to))
		return;
	tsr_emit_loop l = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, lanes), TSR_FOR_SERIAL);
	w.mask = masked ? tsr_emit_lanes_left(e, l.index, to, lanes) : NULL;
	x->lanes_at = l.index;
	e->wide = &w;
	all_rows(x);
	e->wide = NULL;
	tsr_emit_loop_end(e, &l);
}

static void share_of(tsr_emit *e, const tsr_stmt *loop, LLVMValueRef *from, LLVMValueRef *to)
{
	LLVMValueRef all = tsr_emit_size(e, loop->loop.extent);
	bool divided = loop->loop.split && e->team;
	*from = divided ? tsr_team_bound(e, all, false) : tsr_emit_i64(e, 0);
	*to = divided ? tsr_team_bound(e, all, true) : all;
}

bool tsr_emit_lane_tiles(tsr_emit *e, const tsr_stmt *s, LLVMValueRef from, LLVMValueRef to)
{
	lane_tiles x = {.e = e};
	if (!understand(&x, s))
		return false;
	bool written = e->written, reorder = e->reorder;
	LLVMValueRef first, all;
	e->written = true, e->reorder = false;
	x.tile[0] = tsr_target_few_registers(e->target) ? FEW : TILE, x.tile[1] = TILE;
	x.from[0] = from, x.to[0] = to;
	share_of(e, x.axis[1], &x.from[1], &x.to[1]);
	share_of(e, x.lane, &first, &all);
	LLVMValueRef whole = down(e, first, all, e->target->vector_bytes / 4);
	matrices(&x, first, whole, false);
	matrices(&x, whole, all, true);
	e->written = written, e->reorder = reorder;
	return true;
}
