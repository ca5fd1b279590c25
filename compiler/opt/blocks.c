/* Columns in blocks: what walks the same columns several times, as a softmax over the first axis of a matrix or over the channels of an image does, does so for some columns at a time, which the
 * second cache keeps meanwhile:
 *
 *     for w { m[w] = -inf }  for c reduce { for w { m[w] max= x[c, w] } }          for block {
 *     for c { for w { e[c, w] = exp(x[c, w] - m[w]) } }                                m[of 512 columns] = ..  e[.., 512] = ..  s[512] = ..
 *     for w { s[w] = 0 }  for c reduce { for w { s[w] += e[c, w] } }                   for c { for w in 0..512 { y[c, 512 block + w] = e[c, w] / s[w] } }
 *     for c { for w { y[c, w] = e[c, w] / s[w] } }                                 }
 *
 * These are neighbouring kernels, or all statements of a loop that they share.  Every element that they write belongs to one column, which is the last axis of what they write and of what they read
 * of columns, so that no two columns meet, and each one's statements keep their order.  What nobody else touches and each run stores first has the room of one block.
 *
 * Only where what passes between them is more than the second cache holds, and blocks of some lines divide the columns.  Requires rows. */
#include "pass.h"

enum { LEAST = 128, MOST = 1024, LINE_ELEMENTS = 16, MOST_KERNELS = 16, MOST_BUFFERS = 32 };

typedef struct blocks {
	tsr_pass *p;
	tsr_arena *scratch;
	tsr_loop_unit *unit;
	const bool *exposed;
	const uint32_t *kernels;     /* per buffer: how many touch it */
	int64_t columns;             /* 0: none seen so far */
	uint32_t at, n;              /* kernels of the unit */
	tsr_nest around;             /* the loops that the statements of one kernel share; none: all of several kernels goes together */
	TSR_VEC(uint32_t) syms;      /* of loops over columns */
	struct { tsr_buffer_id id; bool written; uint32_t statements, last; double bytes; } buffer[MOST_BUFFERS];        /* bytes: of an iteration of the shared loops */
	uint32_t nbuffers, statement;
	int64_t block;
	tsr_lin first;               /* of a block's columns */
} blocks;

/* ---- which statements -------------------------------------------------------------------------------------------------------- */

static bool is_column_loop(const blocks *b, const tsr_stmt *s)
{
	return s->loop.how == TSR_FOR_PARALLEL && tsr_size_is_const(s->loop.extent) && s->loop.extent.k >= 2 * LEAST && (!b->columns || s->loop.extent.k == b->columns) && !s->loop.from && !s->loop.until;
}

/* By column: the last axis goes by the loop alone, and no other one by it; or, of what is only read, none does. */
static bool by_column(const blocks *b, tsr_buffer_id id, const tsr_lin *index, uint32_t column, bool *mentions)
{
	const tsr_buffer *x = b->p->l->buffers.at[id];
	uint32_t last = tsr_buffer_last(x);
	*mentions = false;
	for (uint32_t axis = 0; axis < x->rank; axis++) {
		bool here = tsr_lin_mentions(&index[axis], column);
		if (here && (axis != last || !tsr_lin_bare(&index[axis], column) || !tsr_size_is_const(x->dims[axis]) || x->dims[axis].k != b->columns))
			return false;
		*mentions |= here;
	}
	return true;
}

/* What an iteration of the shared loops may touch of it. */
static double bytes_of(const blocks *b, tsr_buffer_id id, const tsr_lin *index)
{
	const tsr_buffer *x = b->p->l->buffers.at[id];
	double bytes = (double)tsr_buffer_bytes(x);
	for (uint32_t i = 0; i < b->around.n; i++)
		for (uint32_t axis = 0; axis < x->rank; axis++)
			if (tsr_lin_bare(&index[axis], b->around.loop[i]->loop.sym) && tsr_size_is_const(x->dims[axis]))
				bytes /= (double)x->dims[axis].k;
	return bytes;
}

static bool note(blocks *b, tsr_buffer_id id, const tsr_lin *index, bool written)
{
	uint32_t i = 0;
	while (i < b->nbuffers && b->buffer[i].id != id)
		i++;
	if (i == MOST_BUFFERS)
		return false;
	if (i == b->nbuffers) {
		b->nbuffers++;
		b->buffer[i].id = id, b->buffer[i].written = false, b->buffer[i].statements = 0, b->buffer[i].last = TSR_NONE, b->buffer[i].bytes = 0;
	}
	double bytes = bytes_of(b, id, index);
	b->buffer[i].bytes = bytes > b->buffer[i].bytes ? bytes : b->buffer[i].bytes;
	b->buffer[i].written |= written;
	b->buffer[i].statements += b->buffer[i].last != b->statement;
	b->buffer[i].last = b->statement;
	return true;
}

static bool value(blocks *b, const tsr_expr *x, uint32_t column)
{
	tsr_expr *part[TSR_MOST_PARTS];
	bool mentions;
	if (x->kind == TSR_EXPR_LOOKUP || x->kind == TSR_EXPR_SELECT || x->kind == TSR_EXPR_INDEX)
		return false;
	if (x->kind == TSR_EXPR_LOAD && (!by_column(b, x->load.buffer, x->load.index, column, &mentions) || (mentions && !note(b, x->load.buffer, x->load.index, false))))
		return false;
	for (uint32_t i = tsr_expr_parts(x, part); i-- > 0;)
		if (!value(b, part[i], column))
			return false;
	return true;
}

/* The loop whose step is a step along the last axis of something that is stored in it. */
static bool stores_along(const blocks *b, const tsr_stmts *body, uint32_t sym)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR ? stores_along(b, &s->loop.body, sym)
			: (s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE) && tsr_lin_bare(&s->store.index[tsr_buffer_last(b->p->l->buffers.at[s->store.buffer])], sym))
			return true;
	}
	return false;
}

/* `column`: the loop over columns around the statements, or TSR_NONE. */
static bool walked(blocks *b, const tsr_stmts *body, uint32_t column)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		bool fine = false, mentions;
		switch (s->kind) {
		case TSR_STMT_FOR: {
			bool here = column == TSR_NONE && is_column_loop(b, s) && stores_along(b, &s->loop.body, s->loop.sym);
			if (here) {
				b->columns = s->loop.extent.k;
				tsr_push(b->scratch, &b->syms, s->loop.sym);
			}
			fine = tsr_size_is_const(s->loop.extent) && !s->loop.contraction && !s->loop.from && !s->loop.until && walked(b, &s->loop.body, here ? s->loop.sym : column);
			break;
		}
		case TSR_STMT_STORE: case TSR_STMT_UPDATE:
			fine = column != TSR_NONE && by_column(b, s->store.buffer, s->store.index, column, &mentions) && mentions && note(b, s->store.buffer, s->store.index, true) && value(b, s->store.value, column);
			break;
		case TSR_STMT_LET: case TSR_STMT_SET: fine = column != TSR_NONE && value(b, s->let.value, column); break;
		case TSR_STMT_IF: case TSR_STMT_LETSYM: case TSR_STMT_RANDOM: case TSR_STMT_CHECK: case TSR_STMT_KERNEL: case TSR_STMT_KINDS: break;
		}
		if (!fine)
			return false;
	}
	return true;
}

/* What is written is read by column everywhere: a load that does not mention the column would meet others' elements. */
static bool reads_all(blocks *b, const tsr_stmts *body);
static bool reads_whole(blocks *b, const tsr_expr *x)
{
	tsr_expr *part[TSR_MOST_PARTS];
	bool any = false;
	for (uint32_t i = 0; x->kind == TSR_EXPR_LOAD && i < b->nbuffers; i++) {
		if (b->buffer[i].id != x->load.buffer || !b->buffer[i].written)
			continue;
		bool by = false;
		for (uint32_t k = 0; k < b->syms.n && !by; k++)
			by = tsr_lin_bare(&x->load.index[tsr_buffer_last(b->p->l->buffers.at[x->load.buffer])], b->syms.at[k]);
		any |= !by;
	}
	for (uint32_t i = tsr_expr_parts(x, part); i-- > 0;)
		any |= reads_whole(b, part[i]);
	return any;
}

static bool reads_all(blocks *b, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR ? reads_all(b, &s->loop.body) : reads_whole(b, s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE ? s->store.value : s->let.value))
			return true;
	}
	return false;
}

/* More statements; false: one of them is none of this kind. */
static bool goes_on(blocks *b, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++, b->statement++)
		if (!walked(b, &(tsr_stmts){ &body->at[i], 1, 1 }, TSR_NONE))
			return false;
	return b->columns > 0 && !reads_all(b, body);
}

static bool understand(blocks *b, const tsr_stmts *body)
{
	b->columns = 0, b->syms.n = 0, b->nbuffers = 0, b->statement = 0;
	return goes_on(b, body);
}

/* ---- whether it pays, and in which blocks ---------------------------------------------------------------------------------------- */

/* Bytes of a column that several statements touch. */
static double again(const blocks *b)
{
	double bytes = 0;
	for (uint32_t i = 0; i < b->nbuffers; i++)
		if (b->buffer[i].statements > 1)
			bytes += b->buffer[i].bytes / (double)b->columns;
	return bytes;
}

/* The largest block that half of the second cache holds, of whole lines where that can be; 0: none divides the columns. */
static int64_t block_of(const blocks *b)
{
	double each = again(b), most = (double)b->p->target->l2 / 2 / each;
	int64_t best = 0;
	if (each * (double)b->columns <= (double)b->p->target->l2)
		return 0;
	for (int64_t n = LEAST; n <= MOST && (double)n <= most && n < b->columns; n++)
		if (b->columns % n == 0 && (n % LINE_ELEMENTS == 0 || !best || best % LINE_ELEMENTS))
			best = n;
	return best;
}

/* ---- the new loop ---------------------------------------------------------------------------------------------------------------- */

/* Touched by these kernels alone, and stored by each run before it is read; within loops that are shared only what lives in one iteration (rows.c), since blocks of the next one share the room. */
static bool private(const blocks *b, uint32_t i)
{
	const tsr_buffer *x = b->p->l->buffers.at[b->buffer[i].id];
	uint32_t inside = 0;
	for (uint32_t k = 0; k < b->n; k++) {
		tsr_uses uses = { 0 };
		tsr_stmt_uses(b->scratch, b->unit->body.at[b->at + k], &uses);
		tsr_use use = tsr_uses_of(&uses, x->id);
		inside += use.loads || tsr_use_writes(use);
	}
	return b->buffer[i].written && (x->row || !b->around.n) && !tsr_buffer_kept(x) && !b->exposed[x->id] && b->kernels[x->id] == inside;
}

static bool is_private(const blocks *b, tsr_buffer_id id)
{
	for (uint32_t i = 0; i < b->nbuffers; i++)
		if (b->buffer[i].id == id)
			return private(b, i);
	return false;
}

/* Its columns are counted from the first of the block. */
static void within(const blocks *b, tsr_buffer_id id, tsr_lin *index)
{
	uint32_t last = tsr_buffer_last(b->p->l->buffers.at[id]);
	if (is_private(b, id))
		index[last] = tsr_lin_add(b->p->arena, index[last], -1, b->first);
}

static tsr_expr *load_within(void *user, tsr_expr *x)
{
	if (x->kind == TSR_EXPR_LOAD)
		within(user, x->load.buffer, x->load.index);
	return x;
}

static void stores_within(const blocks *b, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR)
			stores_within(b, &s->loop.body);
		else if (s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE)
			within(b, s->store.buffer, s->store.index);
	}
}

static void shrink(const blocks *b, tsr_buffer *x)
{
	tsr_size *dims = TSR_NEW_N(b->p->arena, tsr_size, x->rank + 1);
	uint32_t last = tsr_buffer_last(x);
	int64_t before = tsr_buffer_bytes(x);
	for (uint32_t axis = 0; axis < x->rank; axis++)
		dims[axis] = axis == last ? tsr_row_apart(x->prec, tsr_size_const(b->block)) : x->dims[axis];
	x->dims = dims;
	x->row = true;
	b->p->l->separate_bytes += before - tsr_buffer_bytes(x);
}

static tsr_stmt *column_loop(const tsr_stmts *body, uint32_t sym)
{
	tsr_stmt *found = NULL;
	for (uint32_t i = 0; i < body->n && !found; i++)
		if (body->at[i]->kind == TSR_STMT_FOR)
			found = body->at[i]->loop.sym == sym ? body->at[i] : column_loop(&body->at[i]->loop.body, sym);
	return found;
}

/* `body` becomes one loop over blocks. */
static void build(blocks *b, tsr_stmts *body, tsr_name where)
{
	tsr_pass *p = b->p;
	const tsr_stmt *like = column_loop(body, b->syms.at[0]);
	tsr_stmt *loop = tsr_stmt_new(p->arena, TSR_STMT_FOR, like->span);
	tsr_size extent = tsr_size_const(b->block);
	tsr_placing place = { .p = p, .unit = b->unit };
	bool own[MOST_BUFFERS];
	loop->loop.sym = b->unit->nsyms++, loop->loop.name = like->loop.name, loop->loop.extent = tsr_size_const(b->columns / b->block), loop->loop.how = TSR_FOR_SERIAL;        /* they share a block's room */
	b->first = tsr_lin_add_sym(p->arena, tsr_lin_const(0), b->block, TSR_LSYM_LOOP, loop->loop.sym);
	for (uint32_t i = 0; i < b->syms.n; i++)
		tsr_place_loop(&place, b->syms.at[i], b->first, &extent);
	tsr_stmts_place(&place, body, &loop->loop.body);
	for (uint32_t i = 0; i < loop->loop.body.n; i++)
		tsr_stmt_rewrite(loop->loop.body.at[i], load_within, b);
	stores_within(b, &loop->loop.body);
	for (uint32_t i = 0; i < b->nbuffers; i++)
		own[i] = private(b, i);
	for (uint32_t i = 0; i < b->nbuffers; i++)
		if (own[i])
			shrink(b, p->l->buffers.at[b->buffer[i].id]);
	*body = (tsr_stmts){ 0 };
	tsr_push(p->arena, body, loop);
	p->changes++;
	tsr_pass_note(p, "%s: %s goes %lld columns at a time", b->unit->name, where, (long long)b->block);
}

/* ---- the pass ------------------------------------------------------------------------------------------------------------------- */

/* The loops that a kernel's statements share; none: it is one nest around one statement. */
static tsr_nest shared(tsr_stmt *kernel)
{
	tsr_nest n = tsr_nest_of(&kernel->kernel.body);
	bool some = n.n && n.body->n > 1 && n.body->at[n.body->n - 1]->kind == TSR_STMT_FOR;
	for (uint32_t i = 0; i < n.n; i++)
		some &= !n.loop[i]->loop.contraction && n.loop[i]->loop.how != TSR_FOR_REDUCE;
	return some ? n : (tsr_nest){ 0 };
}

/* As many kernels from this one on as walk the same columns of something that some of them write. */
static bool gather(blocks *b, tsr_stmts *all)
{
	b->columns = 0, b->syms.n = 0, b->nbuffers = 0, b->statement = 0;
	for (b->n = 0; b->n < MOST_KERNELS && b->at + b->n < b->unit->body.n; b->n++) {
		const tsr_stmt *kernel = b->unit->body.at[b->at + b->n];
		if (kernel->kind != TSR_STMT_KERNEL || !goes_on(b, &kernel->kernel.body))
			break;
		for (uint32_t i = 0; i < kernel->kernel.body.n; i++)
			tsr_push(b->scratch, all, kernel->kernel.body.at[i]);
	}
	return b->n > 1 && understand(b, all);
}

static void visit(blocks *b)
{
	tsr_stmt *kernel = b->unit->body.at[b->at];
	tsr_stmts all = { 0 };
	if (kernel->kind != TSR_STMT_KERNEL)
		return;
	b->n = 1, b->around = shared(kernel);
	if (b->around.n && understand(b, b->around.body) && (b->block = block_of(b))) {
		build(b, b->around.body, kernel->kernel.name);
		return;
	}
	b->around.n = 0;
	if (!gather(b, &all))
		return;
	if (!(b->block = block_of(b))) {         /* nor would some of them pay */
		b->at += b->n - 1;
		return;
	}
	build(b, &all, kernel->kernel.name);
	kernel->kernel.body = all;
	tsr_stmts left = { 0 };
	for (uint32_t i = 0; i < b->unit->body.n; i++)
		if (i <= b->at || i >= b->at + b->n)
			tsr_push(b->p->arena, &left, b->unit->body.at[i]);
	b->unit->body = left;
}

void tsr_pass_blocks(tsr_pass *p)
{
	tsr_arena *scratch = tsr_arena_new();
	uint32_t *kernels = TSR_NEW_N(scratch, uint32_t, p->l->buffers.n + 1);
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		tsr_body_uses uses;
		tsr_body_uses_make(&uses, scratch, &p->l->units.at[u]->body);
		for (uint32_t i = 0; i < p->l->units.at[u]->body.n; i++)
			for (uint32_t k = 0; k < uses.at[i].v.n; k++)
				kernels[uses.at[i].v.at[k].buffer]++;
	}
	blocks b = { .p = p, .scratch = scratch, .exposed = tsr_exposed_of(p->l, scratch), .kernels = kernels };
	for (uint32_t u = 0; u < p->l->units.n; u++) {
		b.unit = p->l->units.at[u];
		for (b.at = 0; b.at < b.unit->body.n; b.at++)
			visit(&b);
	}
	tsr_arena_free(scratch);
}
