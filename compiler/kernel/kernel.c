/* Units and kernels as functions.
 *
 * A unit is  void NAME(ctx, buffers, symbols, numbers)  over the program's tables: it evaluates checks, draws random words
 * and calls its kernels.  A kernel is a function whose arguments are all that it touches:
 *     void UNIT.KERNEL(ctx, buffer ..., symbol ..., number ...)
 * buffers as noalias pointers, so that LLVM knows what the loop IR promises: buffers never alias.  Kernels stay functions
 * of their own (noinline), since inlining would lose that; KERNEL statements that compute the same share one (key.c). */
#include "nests.h"
#include "../opt/opt.h"
#include "../base/plant.h"
#include "key.h"
#include "team.h"
#include <string.h>

#define UNIT_PREFIX "unit."           /* of the functions of a program's units */

/* What a statement list touches. */
typedef struct uses { bool *read, *written, *symbols, *numbers; } uses;

static void use_size(uses *u, tsr_size s)
{
	for (uint32_t i = 0; i < s.nterms; i++)
		u->symbols[s.terms[i].symbol] = true;
}

static void use_lin(uses *u, const tsr_lin *x)
{
	use_size(u, x->base);
	for (uint32_t i = 0; i < x->n; i++)
		if (x->terms[i].kind == TSR_LSYM_NUMBER)
			u->numbers[x->terms[i].id] = true;
}

static void use_ranges(uses *u, uint32_t n, const tsr_range *r)
{
	for (uint32_t i = 0; i < n; i++) {
		use_lin(u, &r[i].index);
		use_size(u, r[i].size);
	}
}

static void use_bytes(uses *u, const tsr_large *x)
{
	for (uint32_t i = 0; i < x->parts.n; i++)
		for (uint32_t k = 0; k < x->parts.at[i].n; k++)
			use_size(u, x->parts.at[i].extents[k]);
}

static void use_element(tsr_emit *e, uses *u, bool *how, tsr_buffer_id id, const tsr_lin *index)
{
	const tsr_buffer *b = e->loops->buffers.at[id];
	how[id] = true;
	for (uint32_t i = 0; i < b->rank; i++) {
		use_lin(u, &index[i]);
		use_size(u, b->dims[i]);
	}
}

static void use_expr(tsr_emit *e, uses *u, const tsr_expr *x)
{
	switch (x->kind) {
	case TSR_EXPR_CONST: case TSR_EXPR_LOCAL:
		return;
	case TSR_EXPR_LOAD:
		use_element(e, u, u->read, x->load.buffer, x->load.index);
		return;
	case TSR_EXPR_INDEX:
		use_lin(u, &x->index);
		return;
	case TSR_EXPR_SIZE:
		use_size(u, x->size);
		return;
	case TSR_EXPR_NUMBER:
		u->numbers[x->number] = true;
		return;
	case TSR_EXPR_OP:
		for (uint32_t i = 0; i < tsr_op_get(x->op.op)->arity; i++)
			use_expr(e, u, x->op.args[i]);
		return;
	case TSR_EXPR_CONVERT:
		use_expr(e, u, x->converted);
		return;
	case TSR_EXPR_LOOKUP:
		use_expr(e, u, x->lookup.at);
		use_expr(e, u, x->lookup.value);
		return;
	case TSR_EXPR_SELECT:
		use_ranges(u, x->select.n, x->select.ranges);
		use_expr(e, u, x->select.inside);
		use_expr(e, u, x->select.outside);
		return;
	case TSR_EXPR_KINDS:
		break;
	}
	tsr_bug("an expression of no kind");
}

static void use_stmts(tsr_emit *e, uses *u, const tsr_stmts *body);

static void use_stmt(tsr_emit *e, uses *u, const tsr_stmt *s)
{
	switch (s->kind) {
	case TSR_STMT_FOR:
		use_size(u, s->loop.extent);
		if (s->loop.from)
			use_lin(u, s->loop.from);
		if (s->loop.until)
			use_lin(u, s->loop.until);
		use_stmts(e, u, &s->loop.body);
		return;
	case TSR_STMT_UPDATE:
		u->read[s->store.buffer] = true;
		use_element(e, u, u->written, s->store.buffer, s->store.index);
		use_expr(e, u, s->store.value);
		return;
	case TSR_STMT_STORE:
		use_element(e, u, u->written, s->store.buffer, s->store.index);
		use_expr(e, u, s->store.value);
		return;
	case TSR_STMT_LET: case TSR_STMT_SET:
		use_expr(e, u, s->let.value);
		return;
	case TSR_STMT_LETSYM:
		use_expr(e, u, s->letsym.value);
		return;
	case TSR_STMT_IF:
		use_ranges(u, s->cond.n, s->cond.ranges);
		use_stmts(e, u, &s->cond.body);
		return;
	case TSR_STMT_RANDOM:
		u->written[s->random.buffer] = true;
		for (uint32_t i = 0; i < e->loops->buffers.at[s->random.buffer]->rank; i++)
			use_size(u, e->loops->buffers.at[s->random.buffer]->dims[i]);
		return;
	case TSR_STMT_CHECK:
		use_ranges(u, 1, &s->check.range);
		return;
	case TSR_STMT_KERNEL:
		for (uint32_t i = 0; i < s->kernel.large.n; i++)
			use_bytes(u, &s->kernel.large.at[i]);
		use_stmts(e, u, &s->kernel.body);
		return;
	case TSR_STMT_KINDS:
		break;
	}
	tsr_bug("a statement of no kind");
}

static void use_stmts(tsr_emit *e, uses *u, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++)
		use_stmt(e, u, body->at[i]);
}

static uses uses_of(tsr_emit *e, tsr_arena *a, const tsr_stmts *body)
{
	uint32_t nb = e->loops->buffers.n + 1, ns = e->loops->symbols.n + 1, nn = e->loops->numbers.n + 1;
	uses u = {TSR_NEW_N(a, bool, nb), TSR_NEW_N(a, bool, nb), TSR_NEW_N(a, bool, ns), TSR_NEW_N(a, bool, nn)};
	use_stmts(e, &u, body);
	return u;
}

/* ---- functions ---------------------------------------------------------------------------------------------------------- */

/* Bytes of a buffer of constant size, or 0. */
static uint64_t constant_bytes(const tsr_buffer *b)
{
	uint64_t n = tsr_prec_bytes(b->prec);
	for (uint32_t i = 0; i < b->rank; i++) {
		if (!tsr_size_is_const(b->dims[i]) || b->dims[i].k < 0)
			return 0;
		n *= (uint64_t)b->dims[i].k;
	}
	return n;
}

static void buffer_attributes(tsr_emit *e, LLVMValueRef f, unsigned at, const tsr_kernel_buffer *k)
{
	const tsr_buffer *b = e->loops->buffers.at[k->id];
	uint64_t bytes = k->row ? (uint64_t)(k->row * tsr_prec_bytes(b->prec)) : constant_bytes(b);
	LLVMAddAttributeAtIndex(f, at, tsr_emit_attribute(e, "noalias", 0));
	LLVMAddAttributeAtIndex(f, at, tsr_emit_attribute(e, "nonnull", 0));
	LLVMAddAttributeAtIndex(f, at, tsr_emit_attribute(e, "noundef", 0));
	LLVMAddAttributeAtIndex(f, at, tsr_emit_attribute(e, "align", tsr_emit_foreign(b) ? tsr_prec_bytes(b->prec) : 64));
	if (bytes)
		LLVMAddAttributeAtIndex(f, at, tsr_emit_attribute(e, "dereferenceable", bytes));
	if (!k->written)
		LLVMAddAttributeAtIndex(f, at, tsr_emit_attribute(e, "readonly", 0));
}

/* The parts of tsr_emit that belong to one function. */
typedef struct frame {
	LLVMValueRef function, ctx, buffer_table, symbol_table, number_table, *buffers, *symbols, *numbers;
	LLVMBasicBlockRef entry, block;
	LLVMMetadataRef scope;
	LLVMValueRef *locals;
	tsr_seat *team;
	const tsr_stmts *body;
} frame;

static frame save_frame(tsr_emit *e)
{
	return (frame){e->function, e->ctx, e->buffer_table, e->symbol_table, e->number_table, e->buffers, e->symbols, e->numbers,
		e->entry, LLVMGetInsertBlock(e->builder), e->scope, e->locals, e->team, e->body};
}

static void restore_frame(tsr_emit *e, const frame *f)
{
	e->function = f->function, e->ctx = f->ctx, e->buffer_table = f->buffer_table, e->symbol_table = f->symbol_table;
	e->number_table = f->number_table, e->buffers = f->buffers, e->symbols = f->symbols, e->numbers = f->numbers;
	e->entry = f->entry, e->scope = f->scope, e->locals = f->locals, e->team = f->team, e->body = f->body;
	LLVMPositionBuilderAtEnd(e->builder, f->block);
}

/* A kernel's parameters in order, each with the value that the unit passes. */
static tsr_arguments kernel_arguments(tsr_emit *e, const tsr_kernel_key *k)
{
	tsr_arena *a = e->tc->arena;
	uint32_t most = k->buffers.n + k->symbols.n + k->numbers.n + 5;
	tsr_arguments x = {0, TSR_NEW_N(a, LLVMTypeRef, most), TSR_NEW_N(a, LLVMValueRef, most), TSR_NEW_N(a, int64_t, most), TSR_NEW_N(a, const tsr_buffer *, most)};
	x.types[x.n] = e->ptr;
	x.values[x.n++] = e->ctx;
	for (uint32_t i = 0; i < k->buffers.n; i++) {
		const tsr_buffer *b = e->loops->buffers.at[k->buffers.at[i].id];
		bool own = b->home == TSR_HOME_THREAD;
		x.later[x.n] = tsr_emit_row_later(b) ? b : NULL;
		x.own[x.n] = own ? b->offset + (TSR_PLANTED(24) ? tsr_prec_bytes(b->prec) : 0) : 0;
		x.types[x.n] = e->ptr;
		x.values[x.n++] = own ? NULL : !k->buffers.at[i].row || !k->buffers.at[i].place ? e->buffers[b->id] : tsr_emit_offset(e, b->prec, e->buffers[b->id], tsr_emit_i64(e, k->buffers.at[i].row * k->buffers.at[i].place));
	}
	for (uint32_t i = 0; i < k->symbols.n; i++) {
		x.types[x.n] = e->i64;
		x.values[x.n++] = e->symbols[k->symbols.at[i]];
	}
	for (uint32_t i = 0; i < k->numbers.n; i++) {
		x.types[x.n] = e->i64;
		x.values[x.n++] = e->numbers[k->numbers.at[i]];
	}
	return x;
}

static void bind_team(tsr_emit *e, LLVMValueRef f, unsigned n)
{
	LLVMValueRef *seat[4] = {&e->team->thread, &e->team->threads, &e->team->shared, &e->team->own};
	static const char *const names[4] = {"thread", "threads", "shared", "own"};
	for (unsigned i = 0; i < 4; i++) {
		*seat[i] = LLVMGetParam(f, n + i);
		LLVMSetValueName2(*seat[i], names[i], strlen(names[i]));
	}
	for (unsigned i = 2; i < 4; i++)
		LLVMAddAttributeAtIndex(f, n + i + 1, tsr_emit_attribute(e, "align", 64));
}

static void bind_parameters(tsr_emit *e, tsr_arena *a, const tsr_kernel_key *k, LLVMValueRef f)
{
	unsigned n = 0;
	if (e->team)
		bind_team(e, f, LLVMCountParams(f) - 4);
	e->ctx = LLVMGetParam(f, n++);
	e->buffer_table = e->symbol_table = e->number_table = NULL;
	e->buffers = TSR_NEW_N(a, LLVMValueRef, e->loops->buffers.n + 1);
	e->symbols = TSR_NEW_N(a, LLVMValueRef, e->loops->symbols.n + 1);
	e->numbers = TSR_NEW_N(a, LLVMValueRef, e->loops->numbers.n + 1);
	for (uint32_t i = 0; i < k->buffers.n; i++) {
		const tsr_buffer *b = e->loops->buffers.at[k->buffers.at[i].id];
		if (b->home == TSR_HOME_THREAD && !tsr_emit_row_later(b))
			tsr_emit_redzone(e, e->team->own, b->offset, tsr_buffer_bytes(b), TSR_REDZONE - tsr_buffer_bytes(b) % 64);
		e->buffers[b->id] = LLVMGetParam(f, n++);
		LLVMSetValueName2(e->buffers[b->id], b->name, strlen(b->name));
		buffer_attributes(e, f, n, &k->buffers.at[i]);       /* attribute index 1 is parameter 0 */
		if (k->buffers.at[i].row && k->buffers.at[i].place) { /* statements say which place this kernel is at; another call's is as far from its buffer, or not in one */
			LLVMValueRef back = tsr_emit_i64(e, -k->buffers.at[i].row * k->buffers.at[i].place);
			e->buffers[b->id] = LLVMBuildGEP2(e->builder, tsr_emit_memory_type(e, b->prec), e->buffers[b->id], &back, 1, "");
		}
	}
	for (uint32_t i = 0; i < k->symbols.n; i++)
		e->symbols[k->symbols.at[i]] = LLVMGetParam(f, n++);
	for (uint32_t i = 0; i < k->numbers.n; i++)
		e->numbers[k->numbers.at[i]] = LLVMGetParam(f, n++);
	for (uint32_t i = 0; e->sanitize && i < k->buffers.n; i++) {
		const tsr_buffer *b = e->loops->buffers.at[k->buffers.at[i].id];
		LLVMValueRef bytes = tsr_emit_row_later(b) ? tsr_emit_row_bytes(e, b) : NULL;
		if (bytes)
			tsr_emit_redzone_later(e, e->buffers[b->id], bytes, LLVMBuildNSWSub(e->builder, tsr_emit_row_distance(e, b), bytes, ""));
	}
}

/* How much is large: less where a team has one member. */
static LLVMValueRef least_of(tsr_emit *e, const tsr_large *l)
{
	LLVMValueRef least = tsr_emit_i64(e, l->least), alone = tsr_emit_i64(e, l->alone);
	if (l->alone == l->least || !e->team)
		return alone;
	return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntEQ, e->team->threads, tsr_emit_i64(e, 1), ""), alone, least, "");
}

/* All that the kernel calls large is. */
static LLVMValueRef is_large(tsr_emit *e, const tsr_stmt *kernel)
{
	LLVMValueRef all = NULL;
	for (uint32_t i = 0; i < kernel->kernel.large.n; i++) {
		const tsr_large *l = &kernel->kernel.large.at[i];
		LLVMValueRef sum = tsr_emit_i64(e, 0);
		for (uint32_t k = 0; k < l->parts.n; k++) {
			LLVMValueRef bytes = tsr_emit_i64(e, l->parts.at[k].each);
			for (uint32_t x = 0; x < l->parts.at[k].n; x++)
				bytes = LLVMBuildMul(e->builder, bytes, tsr_emit_size(e, l->parts.at[k].extents[x]), "");
			sum = LLVMBuildAdd(e->builder, sum, bytes, "");
		}
		LLVMValueRef enough = LLVMBuildICmp(e->builder, LLVMIntSGE, sum, least_of(e, l), "");
		all = all ? LLVMBuildAnd(e->builder, all, enough, "") : enough;
	}
	return all;
}

static void kernel_body(tsr_emit *e, const tsr_stmts *body)
{
	if (e->team)
		tsr_team_stmts(e, body);
	else
		tsr_emit_stmts(e, body);
	tsr_emit_stream_end(e, body);
}

static LLVMValueRef kernel_function(tsr_emit *e, const tsr_stmt *s, const tsr_kernel_key *k, LLVMTypeRef type, tsr_seat *team)
{
	tsr_arena *a = e->tc->arena;
	const char *name = tsr_format(a, "%s.%s", LLVMGetValueName(e->function), s->kernel.name ? s->kernel.name : "kernel");
	LLVMValueRef f = LLVMAddFunction(e->module, name, type);
	LLVMSetLinkage(f, LLVMInternalLinkage);
	LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, tsr_emit_attribute(e, "noinline", 0));
	frame outer = save_frame(e);
	e->team = team;
	e->body = &s->kernel.body;
	tsr_emit_function_begin(e, f, s->span);
	bind_parameters(e, a, k, f);
	e->locals = TSR_NEW_N(a, LLVMValueRef, e->nlocals + 1);
	LLVMValueRef large = is_large(e, s);
	e->asks = large;
	if (large) {
		tsr_emit_fork fork = tsr_emit_fork_begin(e, large, "large");
		kernel_body(e, &s->kernel.body);
		tsr_emit_fork_other(e, &fork);
		e->near = true;
		kernel_body(e, &s->kernel.body);
		e->near = e->asks = false;
		tsr_emit_fork_end(e, &fork);
	} else
		kernel_body(e, &s->kernel.body);
	LLVMBuildRetVoid(e->builder);
	restore_frame(e, &outer);
	return f;
}

/* The kernel's function for one thread, or for a team, with the function that a team's threads begin with. */
static tsr_team_kernel *kernel_code(tsr_emit *e, const tsr_stmt *s, const tsr_kernel_key *k, const tsr_arguments *x)
{
	tsr_team_kernel *code = TSR_NEW(e->tc->arena, tsr_team_kernel);
	const tsr_team *team = s->kernel.team;
	tsr_seat seat = {.unit = TSR_BY_BOTH, .row_bytes = team ? (uint64_t)team->row_bytes : 0};
	tsr_seat_needs(&seat, 0, seat.row_bytes);
	seat.copies = TSR_NEW_N(e->tc->arena, uint32_t, (team ? team->nlater : 0) + 1);
	for (uint32_t i = 0; team && i < team->nlater; i++)
		seat.copies[i] = 1;
	LLVMTypeRef of_team[4] = {e->i64, e->i64, e->ptr, e->ptr};
	memcpy(x->types + x->n, of_team, sizeof of_team);
	code->function = kernel_function(e, s, k, LLVMFunctionType(e->none, x->types, x->n + (team ? 4 : 0), false), team ? &seat : NULL);
	if (team)
		code->entry = tsr_team_entry(e, code->function, x);
	memcpy(code->room, seat.room, sizeof seat.room);
	code->queues = seat.queues, code->copies = seat.copies;
	return code;
}

static void profile_end(tsr_emit *e, const tsr_stmt *s)
{
	const char *unit = LLVMGetValueName(e->function) + (e->host ? strlen(UNIT_PREFIX) : 0);
	const char *name = tsr_format(e->tc->arena, "%s: %s", unit, s->kernel.name ? s->kernel.name : "kernel");
	LLVMValueRef args[2] = {e->ctx, tsr_emit_own_text(e, name)};
	tsr_emit_call(e, "tsr_profile_end", e->none, 2, args);
}

/* With line tables each kernel stays a function of its own, since its lines are its own. */
void tsr_emit_kernel_call(tsr_emit *e, const tsr_stmt *s)
{
	tsr_kernel_key *k = tsr_kernel_key_of(e, s);
	tsr_arguments x = kernel_arguments(e, k);
	bool shared = k->text && !e->debug;
	tsr_map_entry *known = shared ? tsr_map_find(&e->kernels, tsr_key(k->text)) : NULL;
	tsr_team_kernel *code = known ? known->value.p : kernel_code(e, s, k, &x);
	if (shared)
		tsr_map_put(&e->kernels, tsr_key(k->text))->value.p = code;
	tsr_emit_position_of(e, s->span);
	if (e->options->profile)
		tsr_emit_call(e, "tsr_profile_begin", e->none, 1, &e->ctx);
	if (s->kernel.team)
		tsr_team_call(e, s->kernel.team, code, &x);
	else
		LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(code->function), code->function, x.values, x.n, "");
	if (e->options->profile)
		profile_end(e, s);
}

/* ---- units ---------------------------------------------------------------------------------------------------------------- */

static LLVMValueRef table_entry(tsr_emit *e, LLVMTypeRef type, LLVMValueRef table, uint32_t i)
{
	LLVMValueRef at = tsr_emit_i64(e, i);
	return LLVMBuildLoad2(e->builder, type, LLVMBuildInBoundsGEP2(e->builder, type, table, &at, 1, ""), "");
}

/* Loads from the tables what `u` says is used; the rest stays NULL. */
static void load_tables(tsr_emit *e, tsr_arena *a, const uses *u)
{
	e->buffers = TSR_NEW_N(a, LLVMValueRef, e->loops->buffers.n + 1);
	e->symbols = TSR_NEW_N(a, LLVMValueRef, e->loops->symbols.n + 1);
	e->numbers = TSR_NEW_N(a, LLVMValueRef, e->loops->numbers.n + 1);
	LLVMValueRef arena = NULL;
	for (uint32_t i = 0; i < e->loops->buffers.n; i++) {
		const tsr_buffer *b = e->loops->buffers.at[i];
		bool shares = b->home == TSR_HOME_ARENA && e->host;          /* without a host the caller gives every buffer */
		if ((!u->read[i] && !u->written[i]) || b->home == TSR_HOME_THREAD)
			continue;
		if (shares && !arena)
			arena = table_entry(e, e->ptr, e->buffer_table, e->loops->buffers.n);
		e->buffers[i] = shares ? tsr_emit_offset(e, TSR_PREC_U8, arena, tsr_emit_i64(e, b->offset))
			: table_entry(e, e->ptr, e->buffer_table, i);
	}
	for (uint32_t i = 0; i < e->loops->symbols.n; i++)
		if (u->symbols[i])
			e->symbols[i] = table_entry(e, e->i64, e->symbol_table, i);
	for (uint32_t i = 0; i < e->loops->numbers.n; i++)
		if (u->numbers[i])
			e->numbers[i] = table_entry(e, e->i64, e->number_table, i);
}

static void emit_unit(tsr_emit *e, uint32_t unit)
{
	const tsr_loop_unit *u = e->loops->units.at[unit];
	tsr_arena *a = e->tc->arena;
	LLVMTypeRef types[4] = {e->ptr, e->ptr, e->ptr, e->ptr};
	const char *name = e->host ? tsr_format(a, UNIT_PREFIX "%s", u->name) : u->name;
	LLVMValueRef f = LLVMAddFunction(e->module, name, LLVMFunctionType(e->none, types, 4, false));
	uses used = uses_of(e, a, &u->body);
	if (e->host)
		LLVMSetLinkage(f, LLVMInternalLinkage);
	e->unit_functions[unit] = f;
	e->syms = TSR_NEW_N(a, LLVMValueRef, u->nsyms + 1);
	e->nlocals = u->nlocals, e->nsyms = u->nsyms;
	e->locals = TSR_NEW_N(a, LLVMValueRef, u->nlocals + 1);
	e->local_precs = TSR_NEW_N(a, tsr_prec, u->nlocals + 1);
	tsr_emit_function_begin(e, f, TSR_NOWHERE);
	e->ctx = LLVMGetParam(f, 0), e->buffer_table = LLVMGetParam(f, 1);
	e->symbol_table = LLVMGetParam(f, 2), e->number_table = LLVMGetParam(f, 3);
	load_tables(e, a, &used);
	tsr_emit_stmts(e, &u->body);
	LLVMBuildRetVoid(e->builder);
}

void tsr_emit_units(tsr_emit *e)
{
	e->unit_functions = TSR_NEW_N(e->tc->arena, LLVMValueRef, e->loops->units.n + 1);
	tsr_map_init(&e->kernels, e->tc->arena);
	tsr_map_init(&e->tails, e->tc->arena);
	for (uint32_t i = 0; i < e->loops->units.n; i++)
		emit_unit(e, i);
}
