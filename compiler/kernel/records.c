/* Parallel loops whose iterations each compute with few numbers that lie side by side, as points, small matrices or the cells of a lattice do (opt/points.c writes their small loops out):
 *
 *     for i parallel { let a = x[i, 0] * x[i, 3];  ...  store y[i, 0] = a;  store y[i, 1] = b }
 *
 * Lanes are iterations.  What a register's worth of them reads of such a record is loaded in whole registers and taken apart into one register for each number (emit/records.c), and what they
 * store is put together likewise, after all of it is computed.
 *
 * Numbers that all iterations read are in registers before the loop, as many as these hold beside what is computed.
 *
 * All is computed in the order in which it is written, in lanes as where one iteration is left over. */
#include "nests.h"

enum { MOST_RECORDS = 24, MOST_STATEMENTS = 4096, MOST_FIXED = 16 };

typedef struct record {
	tsr_buffer_id buffer;
	const tsr_lin *index;        /* of some number in it */
	unsigned n;
	uint64_t touched;            /* numbers */
	LLVMValueRef value[TSR_MOST_RECORD];
	bool known;                  /* they are in `value` */
} record;

typedef struct fixed { const tsr_expr *load; LLVMValueRef value; } fixed;

typedef struct records {
	tsr_emit_leaves leaves;
	const tsr_emit_leaves *others;
	tsr_emit *e;
	const tsr_stmt *loop;
	uint32_t nread, nwritten, nlocals, nstored;
	record read[MOST_RECORDS], written[MOST_RECORDS];
	tsr_buffer_id stored[MOST_RECORDS];
	uint32_t nfixed;
	fixed fixed[MOST_FIXED];
	bool doubles;
	bool pays;                   /* there is what no other emitter has lanes for */
	LLVMValueRef left;           /* elements of the loop from here on, of some lanes; NULL: all lanes are */
} records;

/* ---- which loops ---------------------------------------------------------------------------------------------------------- */

/* The axis along which lanes go one by one, and which number of what is behind it the element is: known, so that all of the record is memory of the buffer.  false: it is not so. */
static bool number_of(const records *r, const tsr_buffer *b, const tsr_lin *index, uint32_t *lanes, unsigned *number)
{
	int64_t at = 0;
	uint32_t axis = 0;
	while (axis < b->rank && !tsr_lin_mentions(&index[axis], r->loop->loop.sym))
		axis++;
	if (axis == b->rank || tsr_lin_coef(&index[axis], r->loop->loop.sym) != 1)
		return false;
	*lanes = axis;
	for (axis++; axis < b->rank; axis++) {
		if (index[axis].n || !tsr_size_is_const(index[axis].base) || !tsr_size_is_const(b->dims[axis]))
			return false;
		at = at * b->dims[axis].k + index[axis].offset + index[axis].base.k;
	}
	*number = (unsigned)at;
	return at >= 0;
}

/* The record of which the element is a number, in the list or a new one of it; NULL: there is none. */
static record *record_of(const records *r, uint32_t *n, record *list, tsr_buffer_id buffer, const tsr_lin *index, unsigned *number)
{
	const tsr_buffer *b = r->e->loops->buffers.at[buffer];
	int64_t step = tsr_emit_step(r->e, r->loop, buffer, index);
	uint32_t axis;
	if (step < 2 || step > TSR_MOST_RECORD || !number_of(r, b, index, &axis, number) || *number >= step)
		return NULL;
	for (uint32_t i = 0; i < *n; i++) {
		bool same = list[i].buffer == buffer && list[i].n == step;
		for (uint32_t k = 0; k <= axis && same; k++)
			same = tsr_lin_equal(list[i].index[k], index[k]);
		if (same)
			return &list[i];
	}
	if (*n == MOST_RECORDS)
		return NULL;
	record *fresh = &list[(*n)++];
	fresh->buffer = buffer, fresh->index = index, fresh->n = (unsigned)step, fresh->touched = 0, fresh->known = false;
	return fresh;
}

static bool has_lanes(records *r, tsr_prec p)
{
	r->doubles |= p == TSR_PREC_F64;
	return p != TSR_PREC_I64;
}

static fixed *fixed_of(records *r, const tsr_expr *x)
{
	const tsr_buffer *b = r->e->loops->buffers.at[x->load.buffer];
	for (uint32_t i = 0; i < r->nfixed; i++) {
		const tsr_expr *load = r->fixed[i].load;
		if (load->load.buffer == b->id && load->prec == x->prec && tsr_index_equal(b, load->load.index, x->load.index))
			return &r->fixed[i];
	}
	return NULL;
}

static bool is_stored(const records *r, tsr_buffer_id buffer)
{
	for (uint32_t i = 0; i < r->nstored; i++)
		if (r->stored[i] == buffer)
			return true;
	return false;
}

static bool plain_load(records *r, const tsr_expr *x)
{
	tsr_buffer_id buffer = x->load.buffer;
	const tsr_lin *index = x->load.index;
	int64_t step = tsr_emit_step(r->e, r->loop, buffer, index);
	unsigned number;
	if (is_stored(r, buffer) || !has_lanes(r, r->e->loops->buffers.at[buffer]->prec))
		return false;
	if (step == 0 && r->nfixed < r->e->target->vector_registers / 2 && r->nfixed < MOST_FIXED && !fixed_of(r, x))
		r->fixed[r->nfixed++] = (fixed){x, NULL};
	if (step == 0 || step == 1)
		return true;
	record *at = record_of(r, &r->nread, r->read, buffer, index, &number);
	if (!at)
		return false;
	at->touched |= UINT64_C(1) << number;
	return true;
}

static bool plain_expr(records *r, const tsr_expr *x)
{
	if (!has_lanes(r, x->prec))
		return false;
	switch (x->kind) {
	case TSR_EXPR_CONST: case TSR_EXPR_INDEX: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: case TSR_EXPR_LOCAL:
		return true;
	case TSR_EXPR_LOAD:
		return plain_load(r, x);
	case TSR_EXPR_OP:
		for (uint32_t i = 0; i < tsr_op_get(x->op.op)->arity; i++)
			if (!plain_expr(r, x->op.args[i]))
				return false;
		return has_lanes(r, x->op.operand_prec) && tsr_emit_in_lanes(r->e, x);
	case TSR_EXPR_CONVERT:
		return plain_expr(r, x->converted);
	case TSR_EXPR_LOOKUP: case TSR_EXPR_SELECT: case TSR_EXPR_KINDS:
		break;
	}
	return false;
}

static bool gives(const tsr_stmts *body, uint32_t before, tsr_local_id id)
{
	for (uint32_t i = 0; i < before; i++)
		if (body->at[i]->kind == TSR_STMT_LET && body->at[i]->let.local == id)
			return true;
	return false;
}

static bool plain_store(records *r, const tsr_stmt *s)
{
	unsigned number;
	int64_t step = tsr_emit_step(r->e, r->loop, s->store.buffer, s->store.index);
	if (!plain_expr(r, s->store.value) || !has_lanes(r, r->e->loops->buffers.at[s->store.buffer]->prec) || r->nstored == MOST_RECORDS)
		return false;
	if (!r->nstored || r->stored[r->nstored - 1] != s->store.buffer)
		r->stored[r->nstored++] = s->store.buffer;
	if (step == 1)
		return true;
	record *at = record_of(r, &r->nwritten, r->written, s->store.buffer, s->store.index, &number);
	if (at)
		at->touched |= UINT64_C(1) << number;
	return at;
}

static bool plain_stmt(records *r, uint32_t i)
{
	const tsr_stmt *s = r->loop->loop.body.at[i];
	switch (s->kind) {
	case TSR_STMT_LET:
		return has_lanes(r, s->let.prec) && plain_expr(r, s->let.value);
	case TSR_STMT_SET:
		return gives(&r->loop->loop.body, i, s->let.local) && plain_expr(r, s->let.value);
	case TSR_STMT_STORE:
		return plain_store(r, s);
	case TSR_STMT_UPDATE: case TSR_STMT_FOR: case TSR_STMT_IF: case TSR_STMT_LETSYM: case TSR_STMT_RANDOM: case TSR_STMT_CHECK: case TSR_STMT_KERNEL: case TSR_STMT_KINDS:
		break;
	}
	return false;
}

/* All of what is stored side by side is, and enough of what is read. */
static bool worthwhile(const records *r)
{
	bool pays = r->nwritten;
	for (uint32_t i = 0; i < r->nwritten; i++)
		if (__builtin_popcountll(r->written[i].touched) != (int)r->written[i].n)
			return false;
	for (uint32_t i = 0; i < r->nread; i++) {
		bool far = r->read[i].n > TSR_MOST_STRIDE;
		if (far && __builtin_popcountll(r->read[i].touched) * 4 < (int)r->read[i].n)
			return false;
		pays |= far;
	}
	return pays;
}

static unsigned lanes_of(const records *r) { return r->e->target->vector_bytes / (r->doubles ? 8 : 4); }

static bool taken(records *r)
{
	const tsr_emit *e = r->e;
	const tsr_stmt *s = r->loop;
	if (e->target->vector_bytes < 16 || !e->options->level || e->wide || s->loop.how != TSR_FOR_PARALLEL || s->loop.contraction || s->loop.body.n > MOST_STATEMENTS)
		return false;
	for (uint32_t i = 0; i < s->loop.body.n; i++)
		if (!plain_stmt(r, i))
			return false;
	return worthwhile(r) && (!tsr_size_is_const(s->loop.extent) || s->loop.extent.k >= lanes_of(r));
}

/* ---- the loop ------------------------------------------------------------------------------------------------------------- */

/* Elements of the register that begins so many elements behind the lanes' first one, `n` of each lane: which of its lanes are theirs. */
static LLVMValueRef mask_of(const records *r, unsigned n, unsigned behind)
{
	tsr_emit *e = r->e;
	LLVMValueRef at[64];
	for (unsigned i = 0; i < e->wide->lanes; i++)
		at[i] = LLVMConstInt(e->i32, behind + i, false);
	LLVMValueRef element = LLVMConstVector(at, e->wide->lanes), end = LLVMBuildNSWMul(e->builder, LLVMBuildTrunc(e->builder, r->left, e->i32, ""), LLVMConstInt(e->i32, n, false), "");
	return LLVMBuildICmp(e->builder, LLVMIntULT, element, tsr_emit_splat(e, end, LLVMTypeOf(element)), "");
}

static LLVMValueRef some_behind(tsr_emit *e, tsr_prec p, LLVMValueRef address, int64_t elements) { return tsr_emit_offset(e, p, address, tsr_emit_i64(e, elements)); }

static LLVMValueRef load_at(const records *r, tsr_prec p, LLVMValueRef address, unsigned n, unsigned behind)
{
	tsr_emit *e = r->e;
	address = some_behind(e, p, address, behind);
	return r->left ? tsr_emit_load_masked(e, p, address, mask_of(r, n, behind)) : tsr_emit_load_lanes(e, p, address, e->wide->lanes);
}

static void store_at(const records *r, tsr_prec p, LLVMValueRef value, LLVMValueRef address, unsigned n, unsigned behind)
{
	tsr_emit *e = r->e;
	address = some_behind(e, p, address, behind);
	if (r->left)
		tsr_emit_store_masked(e, p, value, address, mask_of(r, n, behind));
	else
		tsr_emit_store_lanes(e, p, value, address);
}

/* Where the first lane's record begins. */
static LLVMValueRef begin_of(const records *r, const record *x)
{
	const tsr_buffer *b = r->e->loops->buffers.at[x->buffer];
	uint32_t axis;
	unsigned number = 0;
	number_of(r, b, x->index, &axis, &number);
	return some_behind(r->e, b->prec, tsr_emit_address(r->e, x->buffer, x->index), -(int64_t)number);
}

static LLVMValueRef leaf(const tsr_emit_leaves *leaves, const tsr_expr *x)
{
	records *r = (records *)leaves;
	tsr_emit *e = r->e;
	int64_t step = x->kind == TSR_EXPR_LOAD ? tsr_emit_step(e, r->loop, x->load.buffer, x->load.index) : 0;
	const fixed *same = x->kind == TSR_EXPR_LOAD && !step ? fixed_of(r, x) : NULL;
	if (same && same->value)
		return same->value;
	if (step < 1)
		return r->others ? r->others->of(r->others, x) : NULL;
	tsr_prec p = e->loops->buffers.at[x->load.buffer]->prec;
	if (step == 1)
		return tsr_emit_convert(e, load_at(r, p, tsr_emit_address(e, x->load.buffer, x->load.index), 1, 0), p, x->prec);
	unsigned number = 0;
	record *at = record_of(r, &r->nread, r->read, x->load.buffer, x->load.index, &number);
	if (!at->known) {
		LLVMValueRef begin = begin_of(r, at);
		for (unsigned k = 0; k < at->n; k++)
			at->value[k] = load_at(r, p, begin, at->n, k * e->wide->lanes);
		tsr_emit_records_apart(e, e->wide->lanes, at->n, at->value);
		at->known = true;
	}
	return tsr_emit_convert(e, at->value[number], p, x->prec);
}

static void store(records *r, const tsr_stmt *s)
{
	tsr_emit *e = r->e;
	tsr_prec p = e->loops->buffers.at[s->store.buffer]->prec;
	LLVMValueRef value = tsr_emit_convert(e, tsr_emit_expr(e, s->store.value), s->store.value->prec, p);
	if (LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMVectorTypeKind)
		value = tsr_emit_splat(e, value, LLVMVectorType(LLVMTypeOf(value), e->wide->lanes));
	if (tsr_emit_step(e, r->loop, s->store.buffer, s->store.index) == 1) {
		store_at(r, p, value, tsr_emit_address(e, s->store.buffer, s->store.index), 1, 0);
		return;
	}
	unsigned number = 0;
	record_of(r, &r->nwritten, r->written, s->store.buffer, s->store.index, &number)->value[number] = value;
}

static void emit_body(records *r)
{
	tsr_emit *e = r->e;
	const tsr_stmts *body = &r->loop->loop.body;
	for (uint32_t i = 0; i < r->nread; i++)
		r->read[i].known = false;
	r->others = e->leaves;
	e->leaves = &r->leaves;
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmts one = {&body->at[i], 1, 1};
		if (body->at[i]->kind == TSR_STMT_STORE)
			store(r, body->at[i]);
		else
			tsr_emit_stmts(e, &one);
	}
	e->leaves = r->others;
	for (uint32_t i = 0; i < r->nwritten; i++) {
		record *x = &r->written[i];
		LLVMValueRef begin = begin_of(r, x);
		tsr_emit_records_together(e, e->wide->lanes, x->n, x->value);
		for (unsigned k = 0; k < x->n; k++)
			store_at(r, e->loops->buffers.at[x->buffer]->prec, x->value[k], begin, x->n, k * e->wide->lanes);
	}
}

static void emit_lanes(records *r, unsigned lanes, LLVMValueRef from, LLVMValueRef to, bool masked)
{
	tsr_emit *e = r->e;
	tsr_wide w = {.loop = r->loop, .lanes = lanes, .holds = true};
	if (tsr_emit_surely_none(from, to))
		return;
	for (uint32_t i = 0; i < r->nfixed && lanes > 1; i++) {
		LLVMValueRef value = is_stored(r, r->fixed[i].load->load.buffer) ? NULL : tsr_emit_expr(e, r->fixed[i].load);
		r->fixed[i].value = value ? tsr_emit_splat(e, value, LLVMVectorType(LLVMTypeOf(value), lanes)) : NULL;
	}
	tsr_emit_loop loop = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, lanes), TSR_FOR_SERIAL);
	loop.few = lanes == 1 || masked;
	e->syms[r->loop->loop.sym] = loop.index;
	e->wide = &w;
	r->left = masked ? LLVMBuildNSWSub(e->builder, to, loop.index, "") : NULL;
	if (lanes > 1)
		emit_body(r);
	else
		tsr_emit_stmts(e, &r->loop->loop.body);
	e->wide = NULL;
	tsr_emit_loop_end(e, &loop);
}

bool tsr_emit_records(tsr_emit *e, const tsr_stmt *s, LLVMValueRef from, LLVMValueRef to)
{
	records r = {.leaves = {leaf}, .e = e, .loop = s};
	if (!taken(&r))
		return false;
	unsigned lanes = lanes_of(&r);
	LLVMValueRef outside = e->syms[s->loop.sym], count = LLVMBuildNSWSub(e->builder, to, from, "");
	LLVMValueRef whole = LLVMBuildNSWSub(e->builder, to, LLVMBuildSRem(e->builder, count, tsr_emit_i64(e, lanes), ""), "");
	bool written = e->written, reorder = e->reorder, masks = tsr_emit_has_masks(e);
	e->written = e->reorder = true;
	emit_lanes(&r, lanes, from, whole, false);
	emit_lanes(&r, masks ? lanes : 1, whole, to, masks);
	e->written = written, e->reorder = reorder;
	e->syms[s->loop.sym] = outside;
	return true;
}
