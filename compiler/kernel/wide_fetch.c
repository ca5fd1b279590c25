/* Of loops in vectors (wide.c): what they read from memory soon is asked for while they compute. */
#include "nests.h"

enum { LINE = 64, LINES_NEAR = 16 };

void tsr_emit_fetch_lines(tsr_emit *e, const tsr_wide *w, const tsr_expr *load, LLVMValueRef index, int64_t lines, tsr_fetch to)
{
	const tsr_buffer *b = e->loops->buffers.at[load->load.buffer];
	int64_t line = LINE / tsr_prec_bytes(b->prec);
	if (e->near && tsr_buffer_bytes(b) < 0)
		return;
	for (int64_t i = 0; i < w->lanes; i += line) {
		e->syms[w->loop->loop.sym] = LLVMBuildAdd(e->builder, index, tsr_emit_i64(e, i + lines * line), "");
		tsr_emit_fetch(e, load, to);
	}
}

/* How far ahead the lines of `arrays` are asked for, where that is done once: half of the first cache at most is lines that are not read yet. */
static int64_t lines_ahead(const tsr_emit *e, uint32_t arrays)
{
	int64_t room = e->target->l1 / 2 / LINE / (arrays ? arrays : 1);
	return room < e->target->lines_ahead ? room : e->target->lines_ahead;
}

/* What is asked into the first cache holds one of its few places until it comes, which stores around the caches need, too: from memory that takes
 * too long.  Far ahead is as far as one needs to look while another page begins; half as far where several arrays are read at once. */
void tsr_emit_fetch_soon(tsr_emit *e, const tsr_wide *w, uint32_t n, const tsr_expr *const *loads, LLVMValueRef index)
{
	enum { LINES_ALONE = 64, LINES_EACH = 32 };
	for (uint32_t i = 0; i < n && !e->target->follows; i++) {
		if (e->target->lines_ahead) {
			tsr_emit_fetch_lines(e, w, loads[i], index, lines_ahead(e, n), TSR_FETCH_NEAR);
			continue;
		}
		tsr_emit_fetch_lines(e, w, loads[i], index, n > 1 ? LINES_EACH : LINES_ALONE, TSR_FETCH_FAR);
		tsr_emit_fetch_lines(e, w, loads[i], index, LINES_NEAR, TSR_FETCH_NEAR);
	}
}

/* A later row's elements lie right behind those of the rows before. */
static bool rows_follow(const tsr_emit *e, const tsr_expr *ahead)
{
	const tsr_buffer *b = e->loops->buffers.at[ahead->load.buffer];
	uint32_t axis = tsr_buffer_last(b);
	while (axis && !ahead->load.index[axis - 1].n && tsr_size_is_const(b->dims[axis - 1]) && b->dims[axis - 1].k == 1)
		axis--;
	return axis && ahead->load.index[axis - 1].n;
}

/* The loop that says what is read in a later row, if that begins so soon that it is as far ahead as lines are asked for.  Of loops that go together all rows are
 * read at one pace, so that those that follow each other are one. */
static const tsr_fetched *ahead_in_rows(const tsr_emit *e, uint32_t n, const tsr_fetched *parts)
{
	for (uint32_t i = 0; i < n; i++) {
		const tsr_expr *ahead = tsr_emit_ahead(e, parts[i].loop);
		const tsr_buffer *b = ahead ? e->loops->buffers.at[ahead->load.buffer] : NULL;
		if (b && b->dims[tsr_buffer_last(b)].k * tsr_prec_bytes(b->prec) <= e->target->lines_ahead * LINE && (n == 1 || !rows_follow(e, ahead)))
			return &parts[i];
	}
	return NULL;
}

static void fetch_of(tsr_emit *e, const tsr_stmt *loop, unsigned lanes, const tsr_expr *load, LLVMValueRef index, int64_t lines)
{
	LLVMValueRef outer = e->syms[loop->loop.sym];
	tsr_emit_fetch_lines(e, &(tsr_wide){.loop = loop, .lanes = lanes}, load, index, lines, TSR_FETCH_NEAR);
	e->syms[loop->loop.sym] = outer;
}

static bool fetched(const tsr_expr *ahead, uint32_t n, const tsr_fetched *parts, tsr_buffer_id b)
{
	bool before = ahead && ahead->load.buffer == b;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < parts[i].nlarge; k++)
			before |= parts[i].large[k]->load.buffer == b;
	return before;
}

/* The first cache does not hold what so many loops that go together have under way of rows of this length, beside the lines that are asked for. */
static bool crowded(const tsr_emit *e, uint32_t n, const tsr_stmt *loop)
{
	enum { NUMBER = 4 };
	tsr_size size = loop->loop.extent;
	return n > 1 && tsr_size_is_const(size) && size.k * NUMBER * (n + 1) + e->target->lines_ahead * LINE > e->target->l1;
}

/* Each array once, where the first loop reads it: the others find it in the caches. */
static void fetch_once(tsr_emit *e, uint32_t n, const tsr_fetched *parts, LLVMValueRef index)
{
	const tsr_fetched *rows = ahead_in_rows(e, n, parts);
	const tsr_expr *ahead = rows ? tsr_emit_ahead(e, rows->loop) : NULL;
	uint32_t arrays = ahead != NULL;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < parts[i].nlarge; k++)
			arrays += !fetched(ahead, i, parts, parts[i].large[k]->load.buffer);
	int64_t lines = lines_ahead(e, arrays) / (crowded(e, n, parts[0].loop) ? 2 : 1);
	tsr_emit_enter(e, &parts[0].view);
	if (ahead)
		fetch_of(e, rows->loop, parts[0].lanes, ahead, index, 0);
	for (uint32_t i = 0; i < n; i++) {
		tsr_emit_enter(e, &parts[i].view);
		for (uint32_t k = 0; k < parts[i].nlarge; k++)
			if (!fetched(ahead, i, parts, parts[i].large[k]->load.buffer))
				fetch_of(e, parts[i].loop, parts[0].lanes, parts[i].large[k], index, lines);
	}
}

/* What the loop reads from memory soon; where one of several says what is read in the next row, that, and for the first one what it reads of
 * its own row. */
void tsr_fetch_walks(tsr_emit *e, uint32_t n, const tsr_fetched *parts, LLVMValueRef index)
{
	const tsr_fetched *p = &parts[0];
	tsr_wide own = {.loop = p->loop, .lanes = p->lanes};
	if (e->target->lines_ahead) {
		fetch_once(e, n, parts, index);
		return;
	}
	tsr_emit_enter(e, &p->view);
	for (uint32_t i = 0; i < n; i++)
		if (tsr_emit_ahead(e, parts[i].loop)) {
			LLVMValueRef outer = e->syms[parts[i].loop->loop.sym];
			tsr_wide w = {.loop = parts[i].loop, .lanes = p->lanes};
			tsr_emit_fetch_lines(e, &w, w.loop->loop.ahead, index, 0, n > 1 ? TSR_FETCH_FAR : TSR_FETCH_NEAR);
			e->syms[w.loop->loop.sym] = outer;
			for (uint32_t k = 0; n > 1 && !e->target->follows && k < p->nlarge; k++)
				tsr_emit_fetch_lines(e, &own, p->large[k], index, LINES_NEAR, TSR_FETCH_NEAR);
			return;
		}
	tsr_emit_fetch_soon(e, &own, p->nlarge, p->large, index);
}
