/* Rows that opt/overlap.c marks: in iteration t each walk works on another row, the first one on row t, the next on row t - 1, and so on,
 * all in one loop of vectors; what stands behind a walk follows for its row.
 *
 *     for t in from .. to + walks - 1 {
 *       if all rows are there       { walk 0 of row t, walk 1 of row t - 1, ..;  what follows them }
 *       else for each walk k        { if row t - k is there { walk k of that row;  what follows it } }
 *     }
 *
 * A walk sums in the same order in both, and where one thread computes row by row, so that what a row gives does not depend on threads.
 *
 * What no walk waits for (opt/late.c) is left until so many rows have come: their locals are kept, and it is computed for all of them.
 *
 * What changes from row to row has a view for each walk: the row's symbol; locals, which move on to the next walk's view at the end of an
 * iteration; and the thread's own rows, of which there are as many as are under way.  Iterations of a parallel loop share none of these. */
#include "nests.h"
#include "../opt/opt.h"
#include "../../runtime/tsr_abi.h"
#include <limits.h>

enum { LINE = 64, MOST_LETS = 32 };

typedef struct rows {
	tsr_emit *e;
	const tsr_stmt *loop;
	uint32_t n, walk[TSR_MOST_WALKS];       /* walks, and where in the body they stand */
	tsr_emit_view view[TSR_MOST_WALKS];
	unsigned lanes;                         /* of all walks: the fewest that one asks for */
	uint32_t nlets;
	tsr_local_id lets[MOST_LETS];
	LLVMValueRef from, to, *buffers;        /* as they are outside all views */
	tsr_late late;
	tsr_hope hope;
	uint32_t hoped;                         /* the walk of exponentials that are computed in hope, or n */
	LLVMValueRef again;                     /* the row from which on one hopes: i64, where there is such a walk */
	tsr_seam seam[TSR_MOST_WALKS];          /* of walks whose rows go around the caches */
	LLVMValueRef *kept;                     /* of each local that late statements read, for as many rows as the target says (`late_rows`) */
} rows;

static const tsr_stmt *walk_of(const rows *r, uint32_t k) { return r->loop->loop.body.at[r->walk[k]]; }

/* ---- what is there ------------------------------------------------------------------------------------------------------- */

static bool walks_of(rows *r)
{
	const tsr_stmts *body = &r->loop->loop.body;
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_LET) {
			if (r->nlets == MOST_LETS)
				return false;
			r->lets[r->nlets++] = s->let.local;
		}
		if (s->kind != TSR_STMT_FOR)
			continue;
		unsigned lanes = tsr_emit_wide_lanes(r->e, s);
		if (r->n == TSR_MOST_WALKS || !lanes)
			return false;
		r->lanes = lanes < r->lanes ? lanes : r->lanes;
		r->walk[r->n++] = i;
	}
	return r->n > 1;
}

static bool touches(const tsr_stmt *s, tsr_buffer_id b)
{
	const tsr_stmts *body = NULL;
	switch (s->kind) {
	case TSR_STMT_STORE: case TSR_STMT_UPDATE: return s->store.buffer == b || tsr_expr_reads(s->store.value, b);
	case TSR_STMT_LET: case TSR_STMT_SET: return tsr_expr_reads(s->let.value, b);
	case TSR_STMT_LETSYM: return tsr_expr_reads(s->letsym.value, b);
	case TSR_STMT_FOR: body = &s->loop.body; break;
	case TSR_STMT_IF: body = &s->cond.body; break;
	case TSR_STMT_RANDOM: case TSR_STMT_CHECK: case TSR_STMT_KERNEL: case TSR_STMT_KINDS: break;
	}
	for (uint32_t i = 0; body && i < body->n; i++)
		if (touches(body->at[i], b))
			return true;
	return false;
}

/* How many rows of a buffer are under way: from the first walk that touches it, or what follows that, to the last; a power of two. */
static uint32_t rows_under_way(const rows *r, tsr_buffer_id b)
{
	uint32_t first = r->n, last = 0, k = 0, n = 1;
	for (uint32_t i = 0; i < r->loop->loop.body.n; i++) {
		while (k + 1 < r->n && i >= r->walk[k + 1])
			k++;
		if (touches(r->loop->loop.body.at[i], b)) {
			first = first < k ? first : k;
			last = k;
		}
	}
	while (first < r->n && n < last - first + 1)
		n *= 2;
	return n;
}

/* ---- views ------------------------------------------------------------------------------------------------------------------ */

static void make_view(rows *r, tsr_emit_view *v)
{
	tsr_emit *e = r->e;
	*v = (tsr_emit_view){tsr_emit_names_copy(e, e->syms, e->nsyms), tsr_emit_names_copy(e, e->locals, e->nlocals), tsr_emit_names_copy(e, e->buffers, e->loops->buffers.n)};
	for (uint32_t i = 0; i < r->nlets; i++)
		v->locals[r->lets[i]] = tsr_emit_alloca(e, tsr_emit_register_type(e, e->local_precs[r->lets[i]]), "local");
}

/* Precisions of the row's own locals, which are asked for here before their LETs are emitted. */
static void note_locals(const rows *r)
{
	for (uint32_t i = 0; i < r->loop->loop.body.n; i++) {
		const tsr_stmt *s = r->loop->loop.body.at[i];
		if (s->kind == TSR_STMT_LET)
			r->e->local_precs[s->let.local] = s->let.prec;
	}
}

/* Iterations meet in rows that a thread has for itself. */
static bool shares_rows(const rows *r) { return r->loop->loop.how != TSR_FOR_PARALLEL; }

static bool touched_elsewhere(const tsr_stmts *body, const tsr_stmt *than, tsr_buffer_id b)
{
	bool found = false;
	for (uint32_t i = 0; i < body->n && !found; i++) {
		const tsr_stmt *s = body->at[i];
		const tsr_stmts *in = tsr_stmt_inside(s);
		found = s != than && (in ? touched_elsewhere(in, than, b) : touches(s, b));
	}
	return found;
}

/* There may be several of these: they are in a thread's own memory, and nothing else reads the last ones, as the other statements of a strip do.  Walks that leave out what a mask hides (opt/masked.c) are short, and as long as their row says. */
static bool rows_are_own(const rows *r)
{
	if (!r->e->team || !r->e->body)
		return false;
	for (uint32_t k = 0; k < r->n; k++)
		if (walk_of(r, k)->loop.from || walk_of(r, k)->loop.until)
			return false;
	for (uint32_t b = 0; b < r->e->loops->buffers.n; b++) {
		const tsr_buffer *x = r->e->loops->buffers.at[b];
		if (r->e->buffers[b] && x->row && (x->home != TSR_HOME_THREAD || (touches(r->loop, b) && touched_elsewhere(r->e->body, r->loop, b))))
			return false;
	}
	return true;
}

/* From one of so many rows of a thread to the next, at least a red zone apart.  Walks read one row while another is stored: a core that compares the lower bits of addresses
 * first takes what lies whole pages and a few lines behind for what was just stored (softmax of rows of 4 KB, 64 bytes more than a page apart: twice as long on Zen 4, if the pages' physical
 * addresses were alike, too: one context in ten). */
static int64_t row_distance(int64_t bytes, uint32_t n)
{
	int64_t each = (bytes + LINE - 1) / LINE * LINE + TSR_REDZONE;
	for (uint32_t k = 1; k < n; k++)
		if (k * each % TSR_PAGE < TSR_APART || k * each % TSR_PAGE > TSR_PAGE - TSR_APART) {
			each += LINE;
			k = 0;
		}
	return each;
}

/* The thread's own rows lie behind those that the kernel knows of. */
static void place_rows(const rows *r, LLVMValueRef t)
{
	tsr_emit *e = r->e;
	int64_t at = (int64_t)e->team->row_bytes;
	for (uint32_t b = 0; b < e->loops->buffers.n; b++) {
		const tsr_buffer *x = e->loops->buffers.at[b];
		uint32_t n = r->view[0].buffers[b] && x->home == TSR_HOME_THREAD ? rows_under_way(r, b) : 1;
		if (n == 1)
			continue;
		bool later = tsr_emit_row_later(x);
		int64_t each = later ? 0 : row_distance(tsr_buffer_bytes(x), n);
		LLVMValueRef distance = later ? tsr_emit_row_distance(e, x) : tsr_emit_i64(e, each);
		LLVMValueRef base = later ? r->buffers[b] : tsr_emit_offset(e, TSR_PREC_U8, e->team->own, tsr_emit_i64(e, at));
		for (uint32_t k = 0; k < r->n; k++) {
			LLVMValueRef row = LLVMBuildAnd(e->builder, LLVMBuildSub(e->builder, t, tsr_emit_i64(e, k), ""), tsr_emit_i64(e, n - 1), "");
			r->view[k].buffers[b] = tsr_emit_offset(e, TSR_PREC_U8, base, LLVMBuildMul(e->builder, row, distance, ""));
		}
		at += n * each;
		if (later && n > e->team->copies[x->offset])
			e->team->copies[x->offset] = n;
	}
	tsr_seat_needs(e->team, 0, (uint64_t)at);
}

static void guard_later(tsr_emit *e, const tsr_buffer *b, uint32_t n)
{
	for (uint32_t i = 0; e->sanitize && i < n; i++) {
		LLVMValueRef bytes = tsr_emit_row_bytes(e, b), each = tsr_emit_row_distance(e, b), at = LLVMBuildMul(e->builder, each, tsr_emit_i64(e, i), "");
		tsr_emit_redzone_later(e, tsr_emit_offset(e, TSR_PREC_U8, e->buffers[b->id], at), bytes, LLVMBuildNSWSub(e->builder, each, bytes, ""));
	}
}

static void guard_rows(const rows *r)
{
	int64_t at = (int64_t)r->e->team->row_bytes;
	for (uint32_t b = 0; b < r->e->loops->buffers.n; b++) {
		const tsr_buffer *x = r->e->loops->buffers.at[b];
		uint32_t n = r->e->buffers[b] && x->home == TSR_HOME_THREAD ? rows_under_way(r, b) : 1;
		if (n > 1 && tsr_emit_row_later(x)) {
			guard_later(r->e, x, n);
			continue;
		}
		int64_t bytes = tsr_buffer_bytes(x), each = row_distance(bytes, n);
		for (uint32_t i = 0; n > 1 && i < n; i++, at += each)
			tsr_emit_redzone(r->e, r->e->team->own, at, bytes, each - bytes);
	}
}

/* ---- iterations ------------------------------------------------------------------------------------------------------------- */

static void statements(const rows *r, uint32_t from, uint32_t to)
{
	tsr_stmts some = {0};
	for (uint32_t i = from; i < to; i++)
		if (!r->late.of[i])
			tsr_push(r->e->tc->arena, &some, r->loop->loop.body.at[i]);
	tsr_emit_stmts(r->e, &some);
}

static uint32_t end_of(const rows *r, uint32_t k) { return k + 1 < r->n ? r->walk[k + 1] : r->loop->loop.body.n; }

/* Once more from the row's begin to the end of the exponentials; and some rows are computed with care then, since masked ones come together. */
static void unless_fulfilled(const rows *r, const tsr_hope *hope)
{
	enum { WITH_CARE = 64 };
	tsr_emit *e = r->e;
	LLVMValueRef worst = LLVMBuildLoad2(e->builder, LLVMGetAllocatedType(hope->worst), hope->worst, "");
	tsr_emit_fork f = tsr_emit_fork_usual(e, LLVMBuildNot(e->builder, tsr_emit_exp_failed(e, worst), ""), "fulfilled");
	tsr_emit_fork_other(e, &f);
	statements(r, 0, r->walk[r->hoped] + 1);
	LLVMBuildStore(e->builder, LLVMBuildNSWAdd(e->builder, e->syms[r->loop->loop.sym], tsr_emit_i64(e, WITH_CARE), ""), r->again);
	tsr_emit_fork_end(e, &f);
}

static void together(const rows *r, bool in_hope)
{
	tsr_emit_walk walks[TSR_MOST_WALKS];
	tsr_emit_enter(r->e, &r->view[0]);
	statements(r, 0, r->walk[0]);
	for (uint32_t k = 0; k < r->n; k++)
		walks[k] = (tsr_emit_walk){walk_of(r, k), r->view[k]};
	tsr_hope hope = r->hope;
	r->e->hope = in_hope ? &hope : NULL;
	tsr_emit_wide_walks(r->e, r->n, walks);
	r->e->hope = NULL;
	for (uint32_t k = r->n; k-- > 0;) {
		tsr_emit_enter(r->e, &r->view[k]);
		if (in_hope && k == r->hoped)
			unless_fulfilled(r, &hope);
		statements(r, r->walk[k] + 1, end_of(r, k));
	}
}

static void in_hope_or_with_care(const rows *r, LLVMValueRef t)
{
	tsr_emit *e = r->e;
	if (r->hoped == r->n) {
		together(r, false);
		return;
	}
	LLVMValueRef again = LLVMBuildLoad2(e->builder, e->i64, r->again, "");
	tsr_emit_fork f = tsr_emit_fork_usual(e, LLVMBuildICmp(e->builder, LLVMIntSGE, t, again, ""), "hope");
	together(r, true);
	tsr_emit_fork_other(e, &f);
	together(r, false);
	tsr_emit_fork_end(e, &f);
}

static LLVMValueRef is_there(const rows *r, LLVMValueRef row)
{
	LLVMBuilderRef b = r->e->builder;
	return LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntSGE, row, r->from, ""), LLVMBuildICmp(b, LLVMIntSLT, row, r->to, ""), "");
}

static void each_for_itself(const rows *r)
{
	for (uint32_t k = r->n; k-- > 0;) {
		tsr_emit_enter(r->e, &r->view[k]);
		LLVMBasicBlockRef there = tsr_emit_block(r->e, "there"), after = tsr_emit_block(r->e, "after");
		LLVMBuildCondBr(r->e->builder, is_there(r, r->e->syms[r->loop->loop.sym]), there, after);
		LLVMPositionBuilderAtEnd(r->e->builder, there);
		statements(r, k ? r->walk[k] : 0, end_of(r, k));
		LLVMBuildBr(r->e->builder, after);
		LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(r->e->builder));
		LLVMPositionBuilderAtEnd(r->e->builder, after);
	}
}

/* ---- what is late ------------------------------------------------------------------------------------------------------------ */

static void make_late(rows *r)
{
	tsr_emit *e = r->e;
	if (e->target->late_rows)
		r->late = tsr_late_of(e->loops, e->tc->arena, r->loop);
	else
		r->late = (tsr_late){.of = TSR_NEW_N(e->tc->arena, bool, r->loop->loop.body.n + 1)};
	r->kept = TSR_NEW_N(e->tc->arena, LLVMValueRef, r->late.nread + 1);
	for (uint32_t i = 0; i < r->late.nread; i++)
		r->kept[i] = tsr_emit_alloca(e, LLVMArrayType2(tsr_emit_register_type(e, e->local_precs[r->late.read[i]]), e->target->late_rows), "kept");
}

/* Local i of what late statements read, to where it is kept for a row or back. */
static void move_kept(const rows *r, uint32_t i, LLVMValueRef row, bool back)
{
	tsr_emit *e = r->e;
	LLVMTypeRef type = tsr_emit_register_type(e, e->local_precs[r->late.read[i]]);
	LLVMValueRef kept = LLVMBuildGEP2(e->builder, type, r->kept[i], &row, 1, ""), local = r->view[r->n - 1].locals[r->late.read[i]];
	LLVMBuildStore(e->builder, LLVMBuildLoad2(e->builder, type, back ? kept : local, ""), back ? local : kept);
}

/* The rows up to this one, the last of a number of them or of all, so many behind the first of them. */
static void catch_up(const rows *r, LLVMValueRef row, LLVMValueRef behind)
{
	tsr_emit *e = r->e;
	tsr_emit_loop each = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), LLVMBuildNSWAdd(e->builder, behind, tsr_emit_i64(e, 1), ""), tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
	for (uint32_t i = 0; i < r->late.nread; i++)
		move_kept(r, i, each.index, true);
	e->syms[r->loop->loop.sym] = LLVMBuildNSWAdd(e->builder, LLVMBuildNSWSub(e->builder, row, behind, ""), each.index, "");
	tsr_stmts some = {0};
	for (uint32_t i = 0; i < r->loop->loop.body.n; i++)
		if (r->late.of[i])
			tsr_push(e->tc->arena, &some, r->loop->loop.body.at[i]);
	tsr_emit_stmts(e, &some);
	tsr_emit_loop_end(e, &each);
	e->syms[r->loop->loop.sym] = row;
}

/* Behind the last walk of a row. */
static void leave_late(const rows *r)
{
	tsr_emit *e = r->e;
	if (!r->late.n)
		return;
	tsr_emit_enter(e, &r->view[r->n - 1]);
	LLVMBasicBlockRef there = tsr_emit_block(e, "there"), due = tsr_emit_block(e, "due"), after = tsr_emit_block(e, "after");
	LLVMValueRef row = e->syms[r->loop->loop.sym], one = tsr_emit_i64(e, 1);
	LLVMBuildCondBr(e->builder, is_there(r, row), there, after);
	LLVMPositionBuilderAtEnd(e->builder, there);
	LLVMValueRef behind = LLVMBuildAnd(e->builder, LLVMBuildNSWSub(e->builder, row, r->from, ""), tsr_emit_i64(e, (int64_t)e->target->late_rows - 1), "");
	for (uint32_t i = 0; i < r->late.nread; i++)
		move_kept(r, i, behind, false);
	LLVMValueRef full = LLVMBuildICmp(e->builder, LLVMIntEQ, behind, tsr_emit_i64(e, (int64_t)e->target->late_rows - 1), "");
	LLVMValueRef last = LLVMBuildICmp(e->builder, LLVMIntEQ, LLVMBuildNSWAdd(e->builder, row, one, ""), r->to, "");
	LLVMBuildCondBr(e->builder, LLVMBuildOr(e->builder, full, last, ""), due, after);
	LLVMPositionBuilderAtEnd(e->builder, due);
	catch_up(r, row, behind);
	LLVMBuildBr(e->builder, after);
	LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(e->builder));
	LLVMPositionBuilderAtEnd(e->builder, after);
}

/* ---- all rows ---------------------------------------------------------------------------------------------------------------- */

static LLVMValueRef all_there(const rows *r, LLVMValueRef t)
{
	LLVMBuilderRef b = r->e->builder;
	LLVMValueRef last = LLVMBuildSub(b, t, tsr_emit_i64(r->e, r->n - 1), "");
	return LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntSGE, last, r->from, ""), LLVMBuildICmp(b, LLVMIntSLT, t, r->to, ""), "");
}

static void iteration(const rows *r, LLVMValueRef t)
{
	tsr_emit *e = r->e;
	LLVMBasicBlockRef all = tsr_emit_block(e, "together"), some = tsr_emit_block(e, "some"), after = tsr_emit_block(e, "next");
	for (uint32_t k = 0; k < r->n; k++)
		r->view[k].syms[r->loop->loop.sym] = LLVMBuildSub(e->builder, t, tsr_emit_i64(e, k), "");
	if (shares_rows(r))
		place_rows(r, t);
	LLVMBuildCondBr(e->builder, all_there(r, t), all, some);
	LLVMPositionBuilderAtEnd(e->builder, all);
	in_hope_or_with_care(r, t);
	LLVMBuildBr(e->builder, after);
	LLVMMoveBasicBlockAfter(some, LLVMGetInsertBlock(e->builder));
	LLVMPositionBuilderAtEnd(e->builder, some);
	each_for_itself(r);
	LLVMBuildBr(e->builder, after);
	LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(e->builder));
	LLVMPositionBuilderAtEnd(e->builder, after);
	leave_late(r);
	for (uint32_t k = r->n; k-- > 1;)
		for (uint32_t i = 0; i < r->nlets; i++) {
			LLVMValueRef from = r->view[k - 1].locals[r->lets[i]];
			LLVMBuildStore(e->builder, LLVMBuildLoad2(e->builder, LLVMGetAllocatedType(from), from, ""), r->view[k].locals[r->lets[i]]);
		}
}

static void row_by_row(const rows *r)
{
	tsr_emit *e = r->e;
	LLVMValueRef outer = e->syms[r->loop->loop.sym];
	tsr_emit_loop loop = tsr_emit_loop_begin(e, r->from, r->to, tsr_emit_i64(e, 1), r->loop->loop.how);
	e->syms[r->loop->loop.sym] = loop.index;
	tsr_emit_stmts(e, &r->loop->loop.body);
	e->syms[r->loop->loop.sym] = outer;
	tsr_emit_loop_end(e, &loop);
}

/* Where rows may begin within lines. */
static void make_seams(rows *r)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < r->n; k++)
		n += tsr_seam_make(r->e, &r->seam[n], r->loop, walk_of(r, k), r->from, r->to);
	r->e->seams = r->seam, r->e->nseams = n;
}

static void several(rows *r, bool torn)
{
	tsr_emit *e = r->e;
	tsr_emit_view outer = tsr_emit_view_now(e);
	r->buffers = outer.buffers;
	for (uint32_t k = 0; k < r->n; k++)
		make_view(r, &r->view[k]);
	make_late(r);
	for (r->hoped = 0; r->hoped < r->n && !tsr_hope_in(e, r->loop, walk_of(r, r->hoped), &r->hope);)
		r->hoped++;
	if (r->hoped < r->n) {
		r->again = tsr_emit_alloca(e, e->i64, "again");
		LLVMBuildStore(e->builder, r->from, r->again);
	}
	if (torn)
		make_seams(r);
	if (shares_rows(r))
		guard_rows(r);
	LLVMValueRef end = LLVMBuildNSWAdd(e->builder, r->to, tsr_emit_i64(e, r->n - 1), "");
	end = LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, r->from, r->to, ""), end, r->from, "");
	tsr_emit_loop loop = tsr_emit_loop_begin(e, r->from, end, tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
	iteration(r, loop.index);
	tsr_emit_loop_end(e, &loop);
	e->nseams = 0;
	tsr_emit_enter(e, &outer);
}

/* Once for results that begin with a line, and once for others: what ends and begins rows there costs the loops of short rows registers (5 % of a layer norm of 1024). */
static void torn_or_whole(rows *r)
{
	tsr_emit *e = r->e;
	LLVMValueRef torn = NULL;
	for (uint32_t k = 0; k < r->n; k++) {
		LLVMValueRef x = tsr_seam_torn(e, r->loop, walk_of(r, k));
		torn = x && torn ? LLVMBuildOr(e->builder, torn, x, "") : x ? x : torn;
	}
	if (!torn || LLVMIsConstant(torn)) {
		several(r, torn != NULL);
		return;
	}
	rows whole = *r;
	tsr_emit_fork f = tsr_emit_fork_begin(e, torn, "torn");
	several(r, true);
	tsr_emit_fork_other(e, &f);
	several(&whole, false);
	tsr_emit_fork_end(e, &f);
}

/* Where only the run knows how long rows are, it says whether they go together. */
static void if_short(rows *r)
{
	tsr_emit *e = r->e;
	LLVMValueRef n = tsr_emit_size(e, walk_of(r, 0)->loop.extent);
	LLVMValueRef some = LLVMBuildICmp(e->builder, LLVMIntSGE, n, tsr_emit_i64(e, TSR_LEAST_OVERLAP), ""), few = LLVMBuildICmp(e->builder, LLVMIntSLE, n, tsr_emit_i64(e, r->loop->loop.overlap), "");
	rows each = *r;
	tsr_emit_fork f = tsr_emit_fork_begin(e, LLVMBuildAnd(e->builder, some, few, ""), "short");
	torn_or_whole(r);
	tsr_emit_fork_other(e, &f);
	row_by_row(&each);
	tsr_emit_fork_end(e, &f);
}

/* Where one operation says of two registers whether a power in them is out of bounds, two. */
static unsigned lanes_in_hope(const rows *r)
{
	tsr_hope hope;
	bool hopes = tsr_emit_asks_two(r->e) && r->lanes == r->e->target->vector_bytes / 4;
	r->e->overlap = (tsr_size_is_const(walk_of(r, 0)->loop.extent) ? 4 : 2) * r->lanes;              /* rows have so many elements */
	for (uint32_t k = 0; hopes && k < r->n; k++)
		if (tsr_hope_in(r->e, r->loop, walk_of(r, k), &hope))
			return 2 * r->lanes;
	return r->lanes;
}

bool tsr_emit_overlap(tsr_emit *e, const tsr_stmt *s, LLVMValueRef from, LLVMValueRef to)
{
	rows r = {.e = e, .loop = s, .lanes = UINT_MAX, .from = from, .to = to};
	bool reorder = e->reorder;
	note_locals(&r);
	e->overlap = 1;
	e->reorder = false;
	bool takes = walks_of(&r);
	e->overlap = r.lanes = takes ? lanes_in_hope(&r) : r.lanes;
	bool several_rows = takes && (!shares_rows(&r) || rows_are_own(&r));
	if (several_rows && s->loop.overlap < INT64_MAX)
		if_short(&r);
	else if (several_rows)
		torn_or_whole(&r);
	else if (takes)
		row_by_row(&r);
	e->reorder = reorder;
	e->overlap = 0;
	return takes;
}
