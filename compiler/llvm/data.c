/* The constants of a program: literals, and the table from which the runtime allocates buffers. */
#include "host.h"
#include "../../runtime/tsr_abi.h"
#include <string.h>

LLVMValueRef tsr_emit_integers(tsr_emit *e, uint32_t n, const int64_t *values)
{
	LLVMValueRef *all = TSR_NEW_N(e->tc->arena, LLVMValueRef, n + 1);
	if (n == 0)
		return LLVMConstNull(e->ptr);
	for (uint32_t i = 0; i < n; i++)
		all[i] = tsr_emit_i64(e, values[i]);
	return tsr_emit_global(e, LLVMConstArray2(e->i64, all, n), "", 8);
}

LLVMValueRef tsr_emit_string(tsr_emit *e, const char *bytes, size_t size)
{
	LLVMValueRef parts[2] = {tsr_emit_i64(e, (int64_t)size), LLVMConstStringInContext2(e->context, bytes, size, false)};
	return tsr_emit_global(e, LLVMConstStructInContext(e->context, parts, 2, false), "", 8);
}

/* The elements of a literal in memory form: readable in a dump where they are few, bytes where they are many. */
static LLVMValueRef literal(tsr_emit *e, const tsr_buffer *b)
{
	enum { FEW = 64 };
	LLVMTypeRef type = tsr_emit_memory_type(e, b->prec);
	bool narrow = tsr_prec_is_float(b->prec) && LLVMGetTypeKind(type) == LLVMIntegerTypeKind;
	if (b->count > FEW || narrow) {
		size_t size = b->count * tsr_prec_bytes(b->prec);
		const char *bytes = tsr_loops_literal(e->tc->arena, b);
		return tsr_emit_global(e, LLVMConstStringInContext2(e->context, bytes, size, true), b->name, 64);
	}
	LLVMValueRef all[FEW];
	for (uint64_t i = 0; i < b->count; i++) {
		tsr_scalar x = tsr_number_in(b->prec, tsr_numbers_get(b->data, i));
		all[i] = tsr_prec_is_float(b->prec) ? LLVMConstReal(type, x.d) : LLVMConstInt(type, (uint64_t)x.i, true);
	}
	return tsr_emit_global(e, LLVMConstArray2(type, all, b->count), b->name, 64);
}

int64_t tsr_emit_constant_bytes(const tsr_buffer *b)
{
	int64_t bytes = tsr_prec_bytes(b->prec);
	for (uint32_t i = 0; i < b->rank; i++) {
		if (!tsr_size_is_const(b->dims[i]))
			return -1;
		bytes *= b->dims[i].k;
	}
	return bytes;
}

/* Literals are the executable's own read-only data, unless the program may write them, or a sanitizer is to watch over their ends. */
static int role(const tsr_emit *e, const tsr_buffer *b)
{
	if (b->kind == TSR_BUFFER_PARAM)
		return TSR_ROLE_PARAM;
	if (b->kind == TSR_BUFFER_FILE)
		return TSR_ROLE_DATA;
	return b->kind == TSR_BUFFER_LITERAL && !b->observed && !e->sanitize ? TSR_ROLE_CONST : TSR_ROLE_TENSOR;
}

static LLVMValueRef buffer_row(tsr_emit *e, const tsr_buffer *b)
{
	int64_t *dims = TSR_NEW_N(e->tc->arena, int64_t, b->rank + 1);
	for (uint32_t i = 0; i < b->rank; i++)
		dims[i] = tsr_host_table_dim(e->host->graph, b, i);
	bool ours = b->home == TSR_HOME_OWN && b->kind != TSR_BUFFER_INPUT;
	int64_t bytes = ours ? tsr_emit_constant_bytes(b) : -1;          /* -1: the runtime allocates nothing */
	bool filled = b->kind == TSR_BUFFER_LITERAL && b->data.at;
	LLVMValueRef row[7] = {tsr_emit_text(e, b->name), tsr_emit_integers(e, b->rank, dims),
		filled ? literal(e, b) : LLVMConstNull(e->ptr), tsr_emit_i64(e, bytes), tsr_emit_i64(e, b->rank),
		LLVMConstInt(e->i32, b->prec, false), LLVMConstInt(e->i32, (unsigned)role(e, b), false)};
	return LLVMConstStructInContext(e->context, row, 7, false);
}

/* Behind the buffers: the memory that the buffers at home in the arena share. */
static LLVMValueRef arena_row(tsr_emit *e)
{
	int64_t bytes = e->loops->arena_bytes;
	LLVMValueRef row[7] = {tsr_emit_text(e, "arena"), tsr_emit_integers(e, 1, &bytes), LLVMConstNull(e->ptr), tsr_emit_i64(e, bytes),
		tsr_emit_i64(e, 1), LLVMConstInt(e->i32, TSR_PREC_U8, false), LLVMConstInt(e->i32, TSR_ROLE_TENSOR, false)};
	return LLVMConstStructInContext(e->context, row, 7, false);
}

/* Behind it, where there are slots: memory for those of the program, and for those of calls; its size is known later. */
static LLVMValueRef slots_row(tsr_emit *e, const char *name)
{
	LLVMValueRef row[7] = {tsr_emit_text(e, name), LLVMConstNull(e->ptr), LLVMConstNull(e->ptr), tsr_emit_i64(e, -1), tsr_emit_i64(e, 0),
		LLVMConstInt(e->i32, TSR_PREC_U8, false), LLVMConstInt(e->i32, TSR_ROLE_TENSOR, false)};
	return LLVMConstStructInContext(e->context, row, 7, false);
}

uint32_t tsr_emit_slots_row(const tsr_emit *e, tsr_owner owner)
{
	return e->loops->buffers.n + (e->loops->arena_bytes > 0) + (owner != TSR_OWNER_PROGRAM);
}

static LLVMValueRef symbol_names(tsr_emit *e)
{
	uint32_t n = e->loops->symbols.n;
	LLVMValueRef *names = TSR_NEW_N(e->tc->arena, LLVMValueRef, n + 1);
	for (uint32_t i = 0; i < n; i++)
		names[i] = tsr_emit_text(e, e->loops->symbols.at[i] ? e->loops->symbols.at[i] : "n");
	return n ? tsr_emit_global(e, LLVMConstArray2(e->ptr, names, n), "", 8) : LLVMConstNull(e->ptr);
}

LLVMValueRef tsr_emit_program_table(tsr_emit *e)
{
	LLVMValueRef known = LLVMGetNamedGlobal(e->module, "program");
	if (known)
		return known;
	uint32_t n = e->loops->buffers.n, nrows = n;
	LLVMValueRef *rows = TSR_NEW_N(e->tc->arena, LLVMValueRef, n + 3);
	for (uint32_t i = 0; i < n; i++)
		rows[i] = buffer_row(e, e->loops->buffers.at[i]);
	if (e->loops->arena_bytes > 0)
		rows[nrows++] = arena_row(e);
	if (e->loops->nslots) {
		rows[nrows++] = slots_row(e, "slots");
		rows[nrows++] = slots_row(e, "slots of a call");
	}
	LLVMValueRef buffers = n ? tsr_emit_global(e, LLVMConstArray2(LLVMTypeOf(rows[0]), rows, nrows), "", 8) : LLVMConstNull(e->ptr);
	/* behind the program's numbers: how many random words each buffer has drawn */
	LLVMValueRef table[8] = {tsr_emit_text(e, e->options->program), LLVMConstNull(e->ptr), tsr_emit_i64(e, (int64_t)e->options->seed),
		tsr_emit_i64(e, nrows), tsr_emit_i64(e, e->loops->symbols.n), tsr_emit_i64(e, (int64_t)e->loops->numbers.n + n), buffers,
		symbol_names(e)};
	return tsr_emit_global(e, LLVMConstStructInContext(e->context, table, 8, false), "program", 8);
}
