/* The start-up function: context, data files (whose headers give the sizes known only at run time), the sizes derived from
 * those, the buffers whose extent depends on them, parameters; then let%main. */
#include "../emit/emit.h"
#include "host.h"
#include <string.h>

static LLVMValueRef at(tsr_emit *e, LLVMTypeRef type, LLVMValueRef table, uint32_t i)
{
	LLVMValueRef index = tsr_emit_i64(e, i);
	return LLVMBuildInBoundsGEP2(e->builder, type, table, &index, 1, "");
}

void tsr_emit_load_symbols(tsr_emit *e)
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

/* The message's values are computed whether it is needed or not: they are a few sums. */
static void check(tsr_emit *e, const tsr_host_condition *c, LLVMValueRef left, LLVMValueRef right)
{
	LLVMValueRef values = tsr_emit_alloca(e, LLVMArrayType2(e->i64, c->nvalues), "values");
	for (uint32_t i = 0; i < c->nvalues; i++)
		LLVMBuildStore(e->builder, tsr_emit_size(e, c->values[i]), at(e, e->i64, values, i));
	LLVMValueRef holds = LLVMBuildICmp(e->builder, c->at_least ? LLVMIntSGE : LLVMIntEQ, left, right, "");
	LLVMValueRef args[6] = {e->ctx, tsr_emit_where(e, c->span), tsr_emit_text(e, c->text), LLVMBuildZExt(e->builder, holds, e->i32, ""),
		tsr_emit_i64(e, c->nvalues), values};
	tsr_emit_call(e, "tsr_check_sizes", e->none, 6, args);
}

static void set_symbol(tsr_emit *e, uint32_t symbol, LLVMValueRef value)
{
	if (e->symbol_table)
		LLVMBuildStore(e->builder, value, at(e, e->i64, e->symbol_table, symbol));
	e->symbols[symbol] = value;
}

void tsr_emit_derive(tsr_emit *e, tsr_owner owner)
{
	const tsr_graph *g = e->host->graph;
	for (uint32_t i = 0; i < e->loops->quotients.n; i++) {
		const tsr_quotient *q = &e->loops->quotients.at[i];
		if (tsr_host_owner(g, q->of) == owner)
			set_symbol(e, q->symbol, (q->rest ? LLVMBuildSRem : LLVMBuildSDiv)(e->builder, tsr_emit_size(e, q->of), tsr_emit_i64(e, q->by), ""));
	}
	for (uint32_t i = 0; g->store && i < tsr_store_nsymbols(g->store); i++) {
		const tsr_symbol *y = tsr_store_symbol_get(g->store, i);
		if (!y->solved || tsr_host_owner(g, y->value) != owner)
			continue;
		LLVMValueRef value = tsr_emit_size(e, y->value);
		if (e->symbol_table && tsr_host_checked_symbol(g, e->loops, i)) {
			tsr_host_condition c = tsr_host_solved_condition(g, i);
			check(e, &c, e->symbols[i], value);
		}
		set_symbol(e, i, value);
	}
}

void tsr_emit_check_sizes(tsr_emit *e, tsr_owner owner)
{
	tsr_host_condition *all;
	uint32_t n = tsr_host_conditions(e->host->graph, owner, &all);
	for (uint32_t i = 0; i < n; i++)
		check(e, &all[i], tsr_emit_size(e, all[i].left), tsr_emit_size(e, all[i].right));
}

void tsr_emit_run(tsr_emit *e, tsr_code_id code)
{
	LLVMValueRef f = e->unit_functions[code], args[4] = {e->ctx, e->buffer_table, e->symbol_table, e->number_table};
	LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(f), f, args, 4, "");
}

void tsr_emit_tables(tsr_emit *e)
{
	e->buffer_table = tsr_emit_call(e, "tsr_buffers", e->ptr, 1, &e->ctx);
	e->symbol_table = tsr_emit_call(e, "tsr_syms", e->ptr, 1, &e->ctx);
	e->number_table = tsr_emit_call(e, "tsr_nums", e->ptr, 1, &e->ctx);
	e->symbols = TSR_NEW_N(e->tc->arena, LLVMValueRef, e->loops->symbols.n + 1);
}

void tsr_emit_opening(tsr_emit *e)
{
	tsr_emit_tables(e);
	for (uint32_t i = 0; i < e->loops->buffers.n; i++)
		if (e->loops->buffers.at[i]->kind == TSR_BUFFER_FILE)
			load_file(e, i);
	tsr_emit_load_symbols(e);
	tsr_emit_derive(e, TSR_OWNER_PROGRAM);
	tsr_emit_check_sizes(e, TSR_OWNER_PROGRAM);
	tsr_emit_memory(e, TSR_OWNER_PROGRAM);
	if (e->host->graph->init != TSR_NONE)
		tsr_emit_run(e, e->host->graph->init);
}

void tsr_emit_program(tsr_emit *e)
{
	LLVMTypeRef types[2] = {e->i32, e->ptr};
	LLVMValueRef f = LLVMAddFunction(e->module, e->options->entry, LLVMFunctionType(e->i32, types, 2, false));
	tsr_emit_function_begin(e, f, e->host->graph->main ? e->host->graph->main->span : TSR_NOWHERE);
	LLVMValueRef args[3] = {LLVMGetParam(f, 0), LLVMGetParam(f, 1), tsr_emit_program_table(e)};
	e->ctx = tsr_emit_call(e, "tsr_start", e->ptr, 3, args);
	tsr_emit_opening(e);
	if (e->host->body)
		tsr_emit_host(e, e->host->body);
	LLVMBuildRet(e->builder, tsr_emit_call(e, "tsr_finish", e->i32, 1, &e->ctx));
}
