/* The start-up function: context, data files (whose headers give the sizes known only at run time), the sizes derived from
 * those, the buffers whose extent depends on them, parameters; then let%main. */
#include "emit.h"
#include "host.h"
#include <string.h>

static LLVMValueRef at(tsr_emit *e, LLVMTypeRef type, LLVMValueRef table, uint32_t i)
{
	LLVMValueRef index = tsr_emit_i64(e, i);
	return LLVMBuildInBoundsGEP2(e->builder, type, table, &index, 1, "");
}

static void load_symbols(tsr_emit *e)
{
	for (uint32_t i = 0; i < e->loops->symbols.n; i++)
		e->symbols[i] = LLVMBuildLoad2(e->builder, e->i64, at(e, e->i64, e->symbol_table, i), "");
}

static LLVMValueRef file_path(tsr_emit *e, const tsr_data_file *f, LLVMValueRef where)
{
	if (!f->argument)
		return tsr_emit_text(e, f->path);
	LLVMValueRef fallback = f->deflt ? tsr_emit_string(e, f->deflt, strlen(f->deflt)) : LLVMConstNull(e->ptr);
	LLVMValueRef args[4] = {e->ctx, where, tsr_emit_i64(e, f->argument - 1), fallback}, bytes = tsr_emit_i64(e, 8);
	LLVMValueRef s = tsr_emit_call(e, "tsr_arg_str", e->ptr, 4, args);
	return LLVMBuildInBoundsGEP2(e->builder, e->i8, s, &bytes, 1, "");
}

/* Naming a format's object links it. */
static LLVMValueRef format(tsr_emit *e, const char *name)
{
	const char *symbol = tsr_format(e->tc->arena, "tsr_format_%s", name);
	LLVMValueRef g = LLVMGetNamedGlobal(e->module, symbol);
	if (!g) {
		g = LLVMAddGlobal(e->module, e->i8, symbol);
		LLVMSetGlobalConstant(g, true);
	}
	e->needs_formats |= !strcmp(name, "npz") || !strcmp(name, "any");
	return g;
}

static void load_file(tsr_emit *e, uint32_t id)
{
	const tsr_tensor *t = tsr_tensor_get(e->host->graph, e->loops->buffers.at[id]->tensor);
	const tsr_data_file *f = t->file;
	LLVMValueRef where = tsr_emit_where(e, t->span);
	LLVMValueRef key = f->key ? tsr_emit_text(e, f->key) : LLVMConstNull(e->ptr);
	LLVMValueRef args[6] = {e->ctx, where, file_path(e, f, where), key, format(e, f->format), tsr_emit_i64(e, id)};
	tsr_emit_call(e, "tsr_file_load", e->none, 6, args);
}

static void derive_symbols(tsr_emit *e)
{
	tsr_store *s = e->host->graph->store;
	for (uint32_t i = 0; i < e->loops->symbols.n; i++) {
		const tsr_symbol *y = tsr_store_symbol_get(s, i);
		if (!y->derived || y->solved)
			continue;
		load_symbols(e);
		LLVMValueRef value = LLVMBuildSDiv(e->builder, tsr_emit_size(e, y->dividend), tsr_emit_i64(e, y->divisor), "");
		LLVMBuildStore(e->builder, value, at(e, e->i64, e->symbol_table, i));
	}
	load_symbols(e);
	for (uint32_t i = 0; i < e->loops->symbols.n; i++) {
		const tsr_symbol *y = tsr_store_symbol_get(s, i);
		if (!y->solved)
			continue;
		LLVMValueRef value = tsr_emit_size(e, y->value);
		if (tsr_host_checked_symbol(e->host->graph, e->loops, i)) {
			LLVMValueRef args[6] = {e->ctx, tsr_emit_where(e, y->span), tsr_emit_text(e, tsr_format(e->tc->arena, "the size ?%s", y->name)),
				e->symbols[i], value, LLVMConstInt(e->i32, 0, false)};
			tsr_emit_call(e, "tsr_check_size", e->none, 6, args);
		}
		LLVMBuildStore(e->builder, value, at(e, e->i64, e->symbol_table, i));
	}
	load_symbols(e);
}

static void check_sizes(tsr_emit *e)
{
	tsr_host_condition *all;
	uint32_t n = tsr_host_conditions(e->host->graph, &all);
	for (uint32_t i = 0; i < n; i++) {
		LLVMValueRef args[6] = {e->ctx, tsr_emit_where(e, all[i].span), tsr_emit_text(e, all[i].what), tsr_emit_size(e, all[i].left),
			tsr_emit_size(e, all[i].right), LLVMConstInt(e->i32, all[i].at_least, false)};
		tsr_emit_call(e, "tsr_check_size", e->none, 6, args);
	}
}

LLVMValueRef tsr_emit_dims(tsr_emit *e, const tsr_buffer *b)
{
	if (tsr_emit_constant_bytes(b) >= 0) {
		int64_t *dims = TSR_NEW_N(e->tc->arena, int64_t, b->rank + 1);
		for (uint32_t i = 0; i < b->rank; i++)
			dims[i] = b->dims[i].k;
		return tsr_emit_integers(e, b->rank, dims);
	}
	LLVMValueRef dims = tsr_emit_alloca(e, LLVMArrayType2(e->i64, b->rank), "dims");
	for (uint32_t i = 0; i < b->rank; i++)
		LLVMBuildStore(e->builder, tsr_emit_size(e, b->dims[i]), at(e, e->i64, dims, i));
	return dims;
}

static void allocate(tsr_emit *e, uint32_t id)
{
	const tsr_buffer *b = e->loops->buffers.at[id];
	tsr_span span = b->tensor == TSR_NONE ? TSR_NOWHERE : tsr_tensor_get(e->host->graph, b->tensor)->span;
	LLVMValueRef size[5] = {e->ctx, tsr_emit_where(e, span), LLVMConstInt(e->i32, b->prec, false), tsr_emit_i64(e, b->rank),
		tsr_emit_dims(e, b)};
	LLVMValueRef args[3] = {e->ctx, tsr_emit_i64(e, id), tsr_emit_call(e, "tsr_array_bytes", e->i64, 5, size)};
	tsr_emit_call(e, "tsr_alloc_buffer", e->ptr, 3, args);
}

void tsr_emit_run(tsr_emit *e, tsr_code_id code)
{
	LLVMValueRef f = e->unit_functions[code], args[4] = {e->ctx, e->buffer_table, e->symbol_table, e->number_table};
	LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(f), f, args, 4, "");
}

static void begin(tsr_emit *e)
{
	LLVMTypeRef types[2] = {e->i32, e->ptr};
	LLVMValueRef f = LLVMAddFunction(e->module, e->options->entry, LLVMFunctionType(e->i32, types, 2, false));
	tsr_emit_function_begin(e, f, e->host->graph->main ? e->host->graph->main->span : TSR_NOWHERE);
	LLVMValueRef args[3] = {LLVMGetParam(f, 0), LLVMGetParam(f, 1), tsr_emit_program_table(e)};
	e->ctx = tsr_emit_call(e, "tsr_start", e->ptr, 3, args);
	e->buffer_table = tsr_emit_call(e, "tsr_buffers", e->ptr, 1, &e->ctx);
	e->symbol_table = tsr_emit_call(e, "tsr_syms", e->ptr, 1, &e->ctx);
	e->number_table = tsr_emit_call(e, "tsr_nums", e->ptr, 1, &e->ctx);
	e->symbols = TSR_NEW_N(e->tc->arena, LLVMValueRef, e->loops->symbols.n + 1);
}

void tsr_emit_program(tsr_emit *e)
{
	begin(e);
	for (uint32_t i = 0; i < e->loops->buffers.n; i++)
		if (e->loops->buffers.at[i]->kind == TSR_BUFFER_FILE)
			load_file(e, i);
	derive_symbols(e);
	check_sizes(e);
	for (uint32_t i = 0; i < e->loops->buffers.n; i++) {
		const tsr_buffer *b = e->loops->buffers.at[i];
		if (tsr_emit_constant_bytes(b) < 0 && b->kind != TSR_BUFFER_FILE && b->home == TSR_HOME_OWN)
			allocate(e, i);
	}
	if (e->host->graph->init != TSR_NONE)
		tsr_emit_run(e, e->host->graph->init);
	if (e->host->body)
		tsr_emit_host(e);
	LLVMBuildRet(e->builder, tsr_emit_call(e, "tsr_finish", e->i32, 1, &e->ctx));
}
