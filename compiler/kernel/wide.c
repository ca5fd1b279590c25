/* Innermost loops in vectors that are written out: `lanes` iterations side by side, then what is left of them one by one.
 *
 * LLVM vectorises loops too, and most are left to it.  Written out are those in which it cannot do what pays: stores that go around the
 * caches between the computing, so that memory works meanwhile; fetching what is read soon; elementary functions, for which
 * processors have vector instructions that no scalar code names (math_kit.c); elements a few apart, which LLVM gathers one by one; and sums of f16, of which it takes four at a time.
 *
 * What a loop must be: parallel, or a reduction into locals that nothing else in it reads; statements that load, store and compute;
 * elements side by side along the loop, every second to fourth one that is read, or the same for all of it.  Iterations of such loops are independent, so that doing the
 * statements one after the other for all lanes changes nothing but the order of sums, which a reduction leaves open. */
#include "wide_sums.h"
#include "../opt/opt.h"

enum { LINE = 64, SHORT = 16 };

/* Several registers, whose operations alternate: those of one are a chain, and would fill what the processor looks ahead.  Of f64 a register has half as many. */
static unsigned lanes_of(const tsr_emit *e, bool doubles)
{
	return e->target->vector_bytes / (doubles ? 8 : 4) * (e->target->vector_registers / 8);
}

/* ---- which loops --------------------------------------------------------------------------------------------------------- */

typedef struct shape {
	tsr_emit *e;
	const tsr_stmt *loop;
	bool functions, doubles, chains;        /* elementary functions; anything in f64; erf */
	bool sines;                             /* or cosines: of two registers at once some wait on the stack */
	bool powers;                            /* of f64 */
	uint32_t weight;                        /* of the functions, a hyperbolic tangent counting twice */
	bool logarithm;                         /* of f64, and no other function: the constants of two registers stay in others, those of four are read again each time */
	bool modulo;                            /* of floats, somewhere in the loop */
	bool f16, bf16, ordered;                /* such are read, which LLVM widens a few at a time; a maximum or minimum is taken */
	bool strides, strided;                  /* what is read may lie a few elements apart; and does */
	uint32_t sums, nlarge;
	const tsr_expr *large[TSR_MOST_LARGE];      /* loads side by side from arrays that no cache holds, one of each array */
} shape;

static int along(const shape *s, tsr_buffer_id buffer, const tsr_lin *index)
{
	return s->e->loops->buffers.at[buffer]->prec == TSR_PREC_I64 ? -1 : tsr_emit_along(s->e, s->loop, buffer, index);
}

bool tsr_emit_large(const tsr_emit *e, tsr_buffer_id b)
{
	enum { LARGE = 4 };      /* times the last cache's share */
	int64_t bytes = tsr_buffer_bytes(e->loops->buffers.at[b]);
	return bytes < 0 ? e->asks : bytes >= LARGE * e->target->l3;
}

static void note_large(shape *s, const tsr_expr *load)
{
	for (uint32_t i = 0; i < s->nlarge; i++)
		if (s->large[i]->load.buffer == load->load.buffer)
			return;
	if (s->nlarge < TSR_MOST_LARGE && tsr_emit_large(s->e, load->load.buffer))
		s->large[s->nlarge++] = load;
}

bool tsr_emit_in_lanes(const tsr_emit *e, const tsr_expr *x)
{
	switch ((int)x->op.op) {
	case TSR_OP_POW:
		return x->op.operand_prec == TSR_PREC_F64;
	case TSR_OP_MOD:
		return tsr_emit_has_mod(e) && tsr_prec_is_float(x->op.operand_prec);
	case TSR_OP_IDIV:
		return false;
	default:
		return true;
	}
}

static bool plain_op(shape *s, const tsr_expr *x)
{
	tsr_prec p = x->op.operand_prec;
	switch ((int)x->op.op) {
	case TSR_OP_EXP: case TSR_OP_EXP2: case TSR_OP_LOG: case TSR_OP_LOG2: case TSR_OP_TANH: case TSR_OP_ERF: case TSR_OP_SIN: case TSR_OP_COS: case TSR_OP_POW:
		s->weight += x->op.op == TSR_OP_TANH ? 2 : 1;
		s->logarithm = s->weight == 1 && x->op.op == TSR_OP_LOG && p == TSR_PREC_F64;
		s->functions = true;
		s->chains |= x->op.op == TSR_OP_ERF;
		s->sines |= x->op.op == TSR_OP_SIN || x->op.op == TSR_OP_COS;
		s->powers |= x->op.op == TSR_OP_POW && p == TSR_PREC_F64;
		break;
	case TSR_OP_MOD:
		s->functions |= tsr_prec_is_float(p);
		break;
	case TSR_OP_DIV:
		s->functions |= p != TSR_PREC_F64 && s->e->target->fma && tsr_emit_fixed(s->e, s->loop, x->op.args[1]);
		break;
	default:
		break;
	}
	s->doubles |= p == TSR_PREC_F64;
	return p != TSR_PREC_I64 && tsr_emit_in_lanes(s->e, x);
}

static bool plain_expr(shape *s, const tsr_expr *x)
{
	if (x->prec == TSR_PREC_I64)
		return false;
	s->doubles |= x->prec == TSR_PREC_F64;
	switch (x->kind) {
	case TSR_EXPR_CONST: case TSR_EXPR_INDEX: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: case TSR_EXPR_LOCAL:
		return true;
	case TSR_EXPR_LOAD:
		s->f16 |= s->e->loops->buffers.at[x->load.buffer]->prec == TSR_PREC_F16;
		s->bf16 |= s->e->loops->buffers.at[x->load.buffer]->prec == TSR_PREC_BF16;
		if (along(s, x->load.buffer, x->load.index) == 1)
			note_large(s, x);
		if (s->strides && tsr_emit_strided(s->e, s->loop, x->load.buffer, x->load.index))
			return s->strided = true;
		return along(s, x->load.buffer, x->load.index) >= 0;
	case TSR_EXPR_OP:
		for (uint32_t i = 0; i < tsr_op_get(x->op.op)->arity; i++)
			if (!plain_expr(s, x->op.args[i]))
				return false;
		return plain_op(s, x);
	case TSR_EXPR_CONVERT:
		return plain_expr(s, x->converted);
	case TSR_EXPR_LOOKUP: case TSR_EXPR_SELECT: case TSR_EXPR_KINDS:
		break;
	}
	return false;
}

/* `set $a = $a + ..`, which no other statement of the loop mentions. */
static bool plain_sum(shape *s, const tsr_stmt *set)
{
	const tsr_stmts *body = &s->loop->loop.body;
	if (s->loop->loop.how != TSR_FOR_REDUCE || tsr_wide_sum_of(set) == TSR_ACC_SET || s->sums == TSR_MOST_WIDE_SUMS
		|| s->e->local_precs[set->let.local] != set->let.value->prec || tsr_expr_reads_local(set->let.value->op.args[1], set->let.local))
		return false;
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *o = body->at[i];
		bool let = o->kind == TSR_STMT_LET || o->kind == TSR_STMT_SET;
		if (o != set && ((let && o->let.local == set->let.local) || tsr_expr_reads_local(let ? o->let.value : o->store.value, set->let.local)))
			return false;
	}
	s->ordered |= tsr_wide_sum_of(set) == TSR_ACC_MAX || tsr_wide_sum_of(set) == TSR_ACC_MIN;
	s->sums++;
	return true;
}

static bool plain_stmt(shape *s, const tsr_stmt *x)
{
	switch (x->kind) {
	case TSR_STMT_STORE: case TSR_STMT_UPDATE:
		return along(s, x->store.buffer, x->store.index) == 1 && plain_expr(s, x->store.value);
	case TSR_STMT_LET:
		return x->let.prec != TSR_PREC_I64 && plain_expr(s, x->let.value);
	case TSR_STMT_SET:
		return plain_expr(s, x->let.value);
	case TSR_STMT_FOR: case TSR_STMT_LETSYM: case TSR_STMT_IF: case TSR_STMT_RANDOM: case TSR_STMT_CHECK: case TSR_STMT_KERNEL:
	case TSR_STMT_KINDS:
		break;
	}
	return false;
}

bool tsr_emit_side_by_side(tsr_emit *e, const tsr_stmt *loop, const tsr_stmt *store)
{
	shape s = {.e = e, .loop = loop};
	return plain_stmt(&s, store);
}

bool tsr_emit_plain_sums(tsr_emit *e, const tsr_stmt *loop)
{
	shape s = {.e = e, .loop = loop};
	for (uint32_t i = 0; i < loop->loop.body.n; i++) {
		const tsr_stmt *o = loop->loop.body.at[i];
		if ((o->kind != TSR_STMT_LET && o->kind != TSR_STMT_SET) || !plain_stmt(&s, o) || (o->kind == TSR_STMT_SET && !plain_sum(&s, o)))
			return false;
	}
	return s.sums > 0;
}

static bool is_modulo(const tsr_expr *x) { return x->op.op == TSR_OP_MOD && tsr_prec_is_float(x->op.operand_prec); }

static bool has(const tsr_expr *x, bool (*wanted)(const tsr_expr *))
{
	tsr_expr *part[TSR_MOST_PARTS];
	bool found = x->kind == TSR_EXPR_OP && wanted(x);
	for (uint32_t i = 0, n = tsr_expr_parts(x, part); i < n && !found; i++)
		found = has(part[i], wanted);
	return found;
}

/* Iterations of a loop of known length. */
static int64_t least_of(const shape *s)
{
	switch (s->e->target->masks) {
	case TSR_MASKS_ALL: return s->modulo ? 2 : SHORT;
	case TSR_MASKS_LOADS: return s->e->target->vector_bytes / 8;
	case TSR_MASKS_NONE: break;
	}
	return lanes_of(s->e, true);
}

static bool pays(shape *s)
{
	const tsr_stmt *loop = s->loop;
	const tsr_stmts *body = &loop->loop.body;
	for (uint32_t i = 0; i < body->n; i++) {
		bool store = body->at[i]->kind == TSR_STMT_STORE;
		s->modulo |= store && has(body->at[i]->store.value, is_modulo);
	}
	if (s->e->target->vector_bytes < 16 || !s->e->options->level || (loop->loop.how != TSR_FOR_PARALLEL && loop->loop.how != TSR_FOR_REDUCE)
		|| (tsr_size_is_const(loop->loop.extent) && loop->loop.extent.k < least_of(s)))
		return false;
	for (uint32_t i = 0; i < body->n; i++)
		if (!plain_stmt(s, body->at[i]))
			return false;
	for (uint32_t i = 0; i < body->n; i++)
		if (body->at[i]->kind == TSR_STMT_SET && !plain_sum(s, body->at[i]))
			return false;
	if (s->e->target->masks == TSR_MASKS_NONE && tsr_size_is_const(loop->loop.extent) && loop->loop.extent.k < lanes_of(s->e, s->doubles))
		return false;
	bool halves = s->sums && (s->f16 || (s->bf16 && s->ordered));
	return s->functions || (!s->doubles && (tsr_emit_streams(s->e, loop) || loop->loop.ahead || s->e->overlap || s->strided || halves));
}

/* ---- emission ------------------------------------------------------------------------------------------------------------ */

void tsr_emit_wide_store(tsr_emit *e, const tsr_stmt *store, tsr_prec p, LLVMValueRef value, LLVMValueRef address)
{
	LLVMTypeRef type = LLVMTypeOf(value);
	if (LLVMGetTypeKind(type) != LLVMVectorTypeKind && e->wide->lanes > 1)
		value = tsr_emit_splat(e, value, LLVMVectorType(type, e->wide->lanes));
	if (e->wide->lanes > 1 && !e->wide->each && tsr_emit_strided(e, e->wide->loop, store->store.buffer, store->store.index)) {
		tsr_emit_wide_store_strided(e, p, value, address, (unsigned)tsr_emit_step(e, e->wide->loop, store->store.buffer, store->store.index));
		return;
	}
	if (e->wide->mask) {
		tsr_emit_store_masked(e, p, value, address, e->wide->mask);
		return;
	}
	LLVMValueRef s = tsr_emit_store_lanes(e, p, value, address);
	if (store != e->wide->around)
		return;
	unsigned bytes = e->wide->lanes * (unsigned)tsr_prec_bytes(p);
	LLVMSetAlignment(s, bytes < LINE ? bytes : LINE);
	tsr_emit_around(e, s);
}

/* Lanes for the iterations that are left from here on. */
LLVMValueRef tsr_emit_lanes_left(tsr_emit *e, LLVMValueRef index, LLVMValueRef to, unsigned lanes)
{
	LLVMValueRef lane[64];
	for (unsigned i = 0; i < lanes; i++)
		lane[i] = LLVMConstInt(e->i32, i, false);
	LLVMValueRef lane_of = LLVMConstVector(lane, lanes), left = LLVMBuildTrunc(e->builder, LLVMBuildNSWSub(e->builder, to, index, ""), e->i32, "");
	return LLVMBuildICmp(e->builder, LLVMIntULT, lane_of, tsr_emit_splat(e, left, LLVMTypeOf(lane_of)), "");
}

/* One loop of those that go together; most go alone.  One that goes around the caches, where its lines begin elsewhere than its row, is `past` the others,
 * up to the iteration `last`. */
typedef struct part {
	shape shape;
	tsr_wide wide;
	tsr_emit_view view;
	tsr_wide_sum sums[TSR_MOST_WIDE_SUMS];
	uint32_t nsums;
	LLVMValueRef past, last;
	tsr_rotated rotated;
} part;

static void fetch_soon(tsr_emit *e, uint32_t n, const part *parts, LLVMValueRef index)
{
	tsr_fetched walks[TSR_MOST_WALKS];
	for (uint32_t i = 0; i < n; i++)
		walks[i] = (tsr_fetched){parts[i].shape.loop, parts[i].wide.lanes, parts[i].shape.nlarge, parts[i].shape.large, parts[i].view};
	tsr_fetch_walks(e, n, walks, index);
}

static void begin_sums(tsr_emit *e, part *p, unsigned lanes, bool masked)
{
	tsr_emit_enter(e, &p->view);
	p->wide.lanes = lanes;
	p->nsums = tsr_wide_sums(e, &p->shape.loop->loop.body, p->sums);
	p->wide.nordered = 0;
	for (uint32_t k = 0; k < p->nsums; k++) {
		tsr_wide_sum_begin(e, &p->sums[k], lanes);
		if (!masked)
			tsr_wide_order_begin(e, &p->wide, &p->sums[k], e->hope && e->hope->greatest == p->shape.loop);
	}
}

static void emit_body(tsr_emit *e, part *p, LLVMValueRef index)
{
	if (p->rotated.exp) {
		tsr_rotated_body(e, &p->rotated, index);
		return;
	}
	e->syms[p->shape.loop->loop.sym] = index;
	e->wide = &p->wide;
	if (p->nsums || p->wide.mask)
		tsr_emit_stmts(e, &p->shape.loop->loop.body);
	else
		tsr_emit_places(e, p->shape.loop, p->wide.lanes);
	e->wide = NULL;
}

static void emit_body_past(tsr_emit *e, part *p, LLVMValueRef index)
{
	LLVMBasicBlockRef more = tsr_emit_block(e, "past"), after = tsr_emit_block(e, "after");
	LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLE, index, p->last, ""), more, after);
	LLVMPositionBuilderAtEnd(e->builder, more);
	emit_body(e, p, LLVMBuildNSWAdd(e->builder, index, p->past, ""));
	LLVMBuildBr(e->builder, after);
	LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(e->builder));
	LLVMPositionBuilderAtEnd(e->builder, after);
}

/* Sums are taken in the order that is written here, which LLVM would otherwise change from place to place. */
static void emit_lanes(tsr_emit *e, uint32_t n, part *parts, unsigned lanes, LLVMValueRef from, LLVMValueRef to, bool masked)
{
	e->written = true;
	for (uint32_t i = 0; i < n; i++)
		begin_sums(e, &parts[i], lanes, masked);
	for (uint32_t i = 0; i < n; i++) {
		tsr_emit_enter(e, &parts[i].view);
		parts[i].rotated = (tsr_rotated){0};
		if (!masked)
			tsr_rotated_begin(e, &parts[i].rotated, &parts[i].wide, from, to);
	}
	bool once = masked && !tsr_emit_has_masks(e);        /* less than a register, whose mask has to be known */
	tsr_emit_loop loop = once ? (tsr_emit_loop){.index = from} : tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, lanes), TSR_FOR_SERIAL);
	loop.few = masked || e->overlap;
	if (!once)
		fetch_soon(e, n, parts, loop.index);
	for (uint32_t i = 0; i < n; i++) {
		part *p = &parts[i];
		bool reorder = e->reorder;
		tsr_emit_enter(e, &p->view);
		e->reorder |= p->shape.loop->loop.how == TSR_FOR_REDUCE;
		p->wide.mask = masked ? tsr_emit_lanes_left(e, loop.index, to, lanes) : NULL;
		(p->past ? emit_body_past : emit_body)(e, p, loop.index);
		e->reorder = reorder;
	}
	if (!once)
		tsr_emit_loop_end(e, &loop);
	for (uint32_t i = 0; i < n; i++) {
		bool reorder = e->reorder;
		tsr_emit_enter(e, &parts[i].view);
		e->reorder |= parts[i].shape.loop->loop.how == TSR_FOR_REDUCE;
		for (uint32_t k = 0; k < parts[i].nsums; k++)
			tsr_wide_sum_end(e, &parts[i].wide, &parts[i].sums[k], lanes);
		e->reorder = reorder;
	}
	e->written = false;
}

bool tsr_emit_surely_none(LLVMValueRef from, LLVMValueRef to)
{
	return LLVMIsAConstantInt(from) && LLVMIsAConstantInt(to) && LLVMConstIntGetSExtValue(from) >= LLVMConstIntGetSExtValue(to);
}

static void emit_few(tsr_emit *e, const tsr_stmt *s, LLVMValueRef from, LLVMValueRef to)
{
	tsr_emit_loop loop = tsr_emit_loop_begin(e, from, to, tsr_emit_i64(e, 1), TSR_FOR_SERIAL);
	loop.few = true;
	e->syms[s->loop.sym] = loop.index;
	e->wide = &(tsr_wide){.loop = s, .lanes = 1};
	e->written = true;
	tsr_emit_stmts(e, &s->loop.body);
	e->written = false;
	e->wide = NULL;
	tsr_emit_loop_end(e, &loop);
}

/* Less than all registers: one at a time, the last one in part where the processor has masks for it, of loads such as are known, and otherwise one by one. */
static void emit_rest(tsr_emit *e, const part *p, LLVMValueRef from, LLVMValueRef to)
{
	const tsr_stmt *s = p->shape.loop;
	part rest = {.shape = p->shape, .wide = {.loop = s}, .view = p->view};
	unsigned lanes = e->target->vector_bytes / 4;
	if (tsr_emit_surely_none(from, to))
		return;
	if (tsr_emit_has_masks(e)) {
		emit_lanes(e, 1, &rest, lanes, from, to, true);
		return;
	}
	LLVMValueRef count = LLVMBuildNSWSub(e->builder, to, from, "");
	LLVMValueRef whole = LLVMBuildNSWSub(e->builder, to, LLVMBuildSRem(e->builder, count, tsr_emit_i64(e, lanes), ""), "");
	if (!tsr_emit_surely_none(from, whole))
		emit_lanes(e, 1, &rest, lanes, from, whole, false);
	if (tsr_emit_surely_none(whole, to))
		return;
	if (e->target->masks == TSR_MASKS_LOADS && LLVMIsAConstantInt(whole) && LLVMIsAConstantInt(to))
		emit_lanes(e, 1, &rest, lanes, whole, to, true);
	else
		emit_few(e, s, whole, to);
}

/* ---- how many at once ---------------------------------------------------------------------------------------------------- */

/* Twice as many where the chains of two registers are so long that they fill what the processor looks ahead, as erf's, and registers are short. */
static unsigned most_lanes(const shape *s)
{
	return lanes_of(s->e, s->doubles) * (s->chains && !s->doubles && tsr_emit_has_beside(s->e) && tsr_target_few_registers(s->e->target) ? 2 : 1);
}

/* For longer than memory takes. */
static bool computes_long(const shape *s) { return s->powers || s->weight >= (s->doubles ? 2 : 3); }

/* A line at a time where results go around the caches, or where rows walked together are read from arrays that no cache holds: computed four at a
 * time they leave and come in bursts, between which memory waits for the arithmetic (from memory a softmax is 1.3 times as fast so, silu 1.08; a cross
 * entropy, which only reads, 1.2 times as with two); two lines where a target says so (gelu 1.1), but not of several arrays at once (y + gelu of 16M from memory, one thread, 0.9),
 * nor of what fills two registers with one (f64: exponentials and logarithms 0.86 to 0.92) or needs them all for one (sines 0.89).  Powers and several functions of f64, and more of
 * f32, do not wait for memory: one line at a time made them 0.81.  A logarithm of f64 is computed two registers at a time wherever there are many: 1.06 to 1.17. */
static unsigned lanes_beside(const shape *s, bool slow, bool several)
{
	const tsr_target *t = s->e->target;
	unsigned most = most_lanes(s), line = LINE / 4 * (most / lanes_of(s->e, s->doubles)) * (t->lines_at_once && !several && !s->doubles && !s->sines ? t->lines_at_once : 1);
	bool few = slow ? !computes_long(s) : s->logarithm && !tsr_target_few_registers(t);
	return few && line < most ? line : most;
}

static part part_of(tsr_emit *e, const tsr_stmt *s)
{
	return (part){.shape = {.e = e, .loop = s, .strides = true}, .wide = {.loop = s, .around = tsr_emit_streams(e, s) ? tsr_emit_around_of(s) : NULL}, .view = tsr_emit_view_now(e)};
}

/* Walks of rows that go together, each with numbers of its own, have too many for the registers with more at once: softmax of rows of 96 took 1.7 times as long, of 1024 1.07. */
unsigned tsr_emit_wide_lanes(tsr_emit *e, const tsr_stmt *s)
{
	part p = part_of(e, s);
	return pays(&p.shape) ? lanes_beside(&p.shape, true, false) : 0;
}

static LLVMValueRef whole_of(tsr_emit *e, LLVMValueRef from, LLVMValueRef to, unsigned lanes)
{
	LLVMValueRef count = LLVMBuildNSWSub(e->builder, to, from, "");
	return LLVMBuildNSWSub(e->builder, to, LLVMBuildSRem(e->builder, count, tsr_emit_i64(e, lanes), ""), "");
}

/* What of a row lies before its first whole line, and from there on the loop for all. */
static LLVMValueRef begin_around(tsr_emit *e, part *p, LLVMValueRef from, LLVMValueRef to)
{
	const tsr_seam *seam = tsr_seam_of(e, p->shape.loop);
	LLVMValueRef start = tsr_emit_first_line(e, p->shape.loop, p->wide.around, from, to);
	if (!seam) {
		tsr_emit_fetch_last_line(e, p->shape.loop, p->wide.around, to);
		emit_rest(e, p, from, start);
		return start;
	}
	tsr_stream here;
	tsr_seam_end end = tsr_seam_head(e, seam, from, start, &here);
	e->stream = &here;
	emit_rest(e, p, from, start);
	e->stream = NULL;
	tsr_seam_head_end(e, seam, &end);
	return start;
}

static void end_around(tsr_emit *e, const part *p, LLVMValueRef from, LLVMValueRef to)
{
	const tsr_seam *seam = p->wide.around ? tsr_seam_of(e, p->shape.loop) : NULL;
	if (!seam) {
		emit_rest(e, p, from, to);
		return;
	}
	tsr_stream here;
	tsr_seam_end end = tsr_seam_tail(seam, from, to, &here);
	e->stream = &here;
	emit_rest(e, p, from, to);
	e->stream = NULL;
	tsr_seam_tail_end(e, seam, &end);
}

void tsr_emit_wide_walks(tsr_emit *e, uint32_t n, const tsr_emit_walk *walks)
{
	part parts[TSR_MOST_WALKS];
	LLVMValueRef from = tsr_emit_first(e, walks[0].loop), to = tsr_emit_end(e, walks[0].loop);
	unsigned lanes = e->overlap;
	LLVMValueRef whole = whole_of(e, from, to, lanes);
	for (uint32_t i = 0; i < n; i++) {
		part *p = &parts[i];
		tsr_emit_enter(e, &walks[i].view);
		*p = part_of(e, walks[i].loop);
		if (!pays(&p->shape))
			tsr_bug("a walk that vectors take is taken no more");
		if (p->wide.around && !tsr_emit_begins_on_lines(e, p->wide.around)) {
			p->past = begin_around(e, p, from, to);
			p->last = LLVMBuildNSWSub(e->builder, LLVMBuildNSWSub(e->builder, to, p->past, ""), tsr_emit_i64(e, lanes), "");
		}
	}
	if (!tsr_emit_surely_none(from, whole))
		emit_lanes(e, n, parts, lanes, from, whole, false);
	for (uint32_t i = 0; i < n; i++) {
		tsr_emit_enter(e, &walks[i].view);
		end_around(e, &parts[i], parts[i].past ? whole_of(e, parts[i].past, to, lanes) : whole, to);
	}
}

bool tsr_emit_wide(tsr_emit *e, const tsr_stmt *s, LLVMValueRef from, LLVMValueRef to)
{
	part p = part_of(e, s);
	if (!pays(&p.shape))
		return false;
	unsigned lanes = e->overlap ? e->overlap : lanes_beside(&p.shape, p.wide.around, p.shape.nlarge > 1);
	LLVMValueRef outer = e->syms[s->loop.sym];
	bool reorder = e->reorder;
	e->reorder = s->loop.how == TSR_FOR_REDUCE || reorder;
	LLVMValueRef start = p.wide.around ? begin_around(e, &p, from, to) : from, whole = whole_of(e, start, to, lanes);
	if (!tsr_emit_surely_none(start, whole))
		emit_lanes(e, 1, &p, lanes, start, whole, false);
	end_around(e, &p, whole, to);
	e->syms[s->loop.sym] = outer;
	e->reorder = reorder;
	return true;
}
