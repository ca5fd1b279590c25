/* Exported functions: the C entry points of an object.
 *
 *     i32 NAME_open(ptr *ctx, ptr config)                        tsr_open with what comes before any call
 *     i32 NAME_f(ptr ctx, i64 sizes.., arguments.., results..)   packs its arguments for tsr_invoke
 *     i64 NAME_f_elements(i64 sizes..)                           of each result (NAME_f_RESULT_elements where there are several)
 *     i64 NAME_f_shape(i64 sizes.., ptr shape)                   the same, and writes the sizes
 *     call.f(ptr ctx, ptr bytes)                                 what tsr_invoke runs: sizes, memory, code
 *
 * The size functions have no context, so that memory can be had before one is open; but where the sizes of a file have a part
 * in it (tsr_host_size_of_file), the context comes first. */
#include "host.h"
#include "../../runtime/tsr_abi.h"
#include <string.h>

static LLVMValueRef slot(tsr_emit *e, LLVMTypeRef type, LLVMValueRef table, uint32_t i)
{
	LLVMValueRef index = tsr_emit_i64(e, i);
	return LLVMBuildInBoundsGEP2(e->builder, type, table, &index, 1, "");
}

static LLVMValueRef function(tsr_emit *e, const char *name, LLVMTypeRef result, unsigned n, LLVMTypeRef *types, tsr_span span)
{
	LLVMValueRef f = LLVMAddFunction(e->module, name, LLVMFunctionType(result, types, n, false));
	tsr_emit_function_begin(e, f, span);
	e->ctx = e->buffer_table = e->symbol_table = e->number_table = NULL;
	return f;
}

static const tsr_buffer *buffer_of(tsr_emit *e, const tsr_c_arg *a)
{
	tsr_buffer_id id = tsr_loops_buffer(e->loops, a->of, a->part);
	if (id == TSR_NONE)
		tsr_bug("an argument or a result has no buffer: %s", a->name);
	return e->loops->buffers.at[id];
}

/* ---- what a call runs ------------------------------------------------------------------------------------------------------ */

/* How long every result is; and where, which the runtime decides when it knows how long the inputs are. */
static void place_results(tsr_emit *e, const tsr_host_export *x, LLVMValueRef result_bytes)
{
	LLVMValueRef input_bytes = tsr_emit_alloca(e, LLVMArrayType2(e->i64, x->args.n + 1), "bytes of inputs");
	uint32_t results = 0, inputs = 0;
	bool callers = false;
	for (uint32_t i = 0; i < x->args.n; i++) {
		const tsr_c_arg *a = &x->args.at[i];
		if (a->kind == TSR_C_RESULT) {
			const tsr_buffer *b = buffer_of(e, a);
			callers |= b->home == TSR_HOME_CALLER;
			LLVMBuildStore(e->builder, tsr_emit_bytes(e, b), slot(e, e->i64, result_bytes, results++));
		} else if (a->kind == TSR_C_INPUT) {
			LLVMBuildStore(e->builder, tsr_emit_bytes(e, buffer_of(e, a)), slot(e, e->i64, input_bytes, inputs++));
		}
	}
	LLVMValueRef args[3] = {e->ctx, result_bytes, input_bytes};
	if (callers)
		tsr_emit_call(e, "tsr_place_results", e->none, 3, args);
}

static LLVMValueRef call_function(tsr_emit *e, tsr_owner owner)
{
	const tsr_host_export *x = &e->host->exports.at[owner];
	LLVMTypeRef types[2] = {e->ptr, e->ptr};
	LLVMValueRef f = function(e, tsr_format(e->tc->arena, "call.%s", x->name), e->none, 2, types, x->x->span);
	LLVMSetLinkage(f, LLVMInternalLinkage);
	e->ctx = LLVMGetParam(f, 0);
	tsr_emit_tables(e);
	tsr_emit_load_symbols(e);
	tsr_emit_derive(e, owner);
	tsr_emit_check_sizes(e, owner);
	tsr_emit_memory(e, owner);
	place_results(e, x, LLVMGetParam(f, 1));
	if (x->body)
		tsr_emit_host(e, x->body);
	else if (x->x->code != TSR_NONE)
		tsr_emit_run(e, x->x->code);
	LLVMBuildRetVoid(e->builder);
	return f;
}

/* ---- the table of a function ------------------------------------------------------------------------------------------------- */

typedef struct kinds { uint32_t n[4]; int64_t *ids[4]; LLVMValueRef *input_names; } kinds;

static kinds sort_arguments(tsr_emit *e, const tsr_host_export *x)
{
	kinds k = {{0}, {0}, TSR_NEW_N(e->tc->arena, LLVMValueRef, x->args.n + 1)};
	for (int i = 0; i < 4; i++)
		k.ids[i] = TSR_NEW_N(e->tc->arena, int64_t, x->args.n + 1);
	for (uint32_t i = 0; i < x->args.n; i++) {
		const tsr_c_arg *a = &x->args.at[i];
		bool buffer = a->kind == TSR_C_INPUT || a->kind == TSR_C_RESULT;
		if (a->kind == TSR_C_INPUT)
			k.input_names[k.n[TSR_C_INPUT]] = tsr_emit_text(e, a->name);
		k.ids[a->kind][k.n[a->kind]++] = buffer ? buffer_of(e, a)->id : a->of;
	}
	return k;
}

/* Which results are computed where the caller wants them. */
static int64_t placed(tsr_emit *e, const tsr_host_export *x)
{
	int64_t bits = 0;
	uint32_t results = 0;
	for (uint32_t i = 0; i < x->args.n; i++)
		if (x->args.at[i].kind == TSR_C_RESULT)
			bits |= (int64_t)(buffer_of(e, &x->args.at[i])->home == TSR_HOME_CALLER) << results++;
	return bits;
}

static LLVMValueRef function_table(tsr_emit *e, tsr_owner owner, const kinds *k)
{
	const tsr_host_export *x = &e->host->exports.at[owner];
	uint32_t n = k->n[TSR_C_INPUT];
	LLVMValueRef names = n ? tsr_emit_global(e, LLVMConstArray2(e->ptr, k->input_names, n), "", 8) : LLVMConstNull(e->ptr);
	LLVMValueRef parts[14] = {tsr_emit_text(e, x->name), tsr_emit_where(e, x->x->at), tsr_emit_program_table(e)};
	for (int i = 0; i < 4; i++) {
		parts[3 + i] = tsr_emit_i64(e, k->n[i]);
		parts[7 + i] = tsr_emit_integers(e, k->n[i], k->ids[i]);
	}
	parts[11] = names;
	parts[12] = call_function(e, owner);
	parts[13] = tsr_emit_i64(e, placed(e, x));
	return tsr_emit_global(e, LLVMConstStructInContext(e->context, parts, 14, false), tsr_format(e->tc->arena, "function.%s", x->name), 8);
}

/* ---- what C calls ---------------------------------------------------------------------------------------------------------------- */

static LLVMTypeRef number_type(tsr_emit *e, const tsr_c_arg *a)
{
	return e->host->graph->numbers.at[a->of]->integer ? e->i64 : e->f64;
}

static void entry(tsr_emit *e, tsr_owner owner)
{
	const tsr_host_export *x = &e->host->exports.at[owner];
	kinds k = sort_arguments(e, x);
	LLVMValueRef table = function_table(e, owner, &k);
	LLVMTypeRef *types = TSR_NEW_N(e->tc->arena, LLVMTypeRef, x->args.n + 1);
	types[0] = e->ptr;
	for (uint32_t i = 0; i < x->args.n; i++) {
		const tsr_c_arg *a = &x->args.at[i];
		types[1 + i] = a->kind == TSR_C_SIZE ? e->i64 : a->kind == TSR_C_NUMBER ? number_type(e, a) : e->ptr;
	}
	LLVMValueRef f = function(e, tsr_format(e->tc->arena, "%s_%s", e->options->exports, x->name), e->i32, x->args.n + 1, types, x->x->span);
	LLVMValueRef arrays[4];
	uint32_t used[4] = {0};
	for (int i = 0; i < 4; i++)
		arrays[i] = tsr_emit_alloca(e, LLVMArrayType2(e->i64, k.n[i] ? k.n[i] : 1), "");
	for (uint32_t i = 0; i < x->args.n; i++) {
		tsr_c_kind kind = x->args.at[i].kind;
		LLVMBuildStore(e->builder, LLVMGetParam(f, 1 + i), slot(e, e->i64, arrays[kind], used[kind]++));
	}
	LLVMValueRef args[6] = {LLVMGetParam(f, 0), table, arrays[TSR_C_SIZE], arrays[TSR_C_INPUT], arrays[TSR_C_NUMBER], arrays[TSR_C_RESULT]};
	LLVMBuildRet(e->builder, tsr_emit_call(e, "tsr_invoke", e->i32, 6, args));
}

static void opening(tsr_emit *e)
{
	tsr_span span = e->host->exports.at[0].x->span;
	LLVMTypeRef types[2] = {e->ptr, e->ptr};
	LLVMValueRef start = function(e, "opening", e->none, 1, types, span);
	LLVMSetLinkage(start, LLVMInternalLinkage);
	e->ctx = LLVMGetParam(start, 0);
	tsr_emit_opening(e);
	LLVMBuildRetVoid(e->builder);
	LLVMValueRef f = function(e, tsr_format(e->tc->arena, "%s_open", e->options->exports), e->i32, 2, types, span);
	LLVMValueRef args[4] = {LLVMGetParam(f, 0), tsr_emit_program_table(e), LLVMGetParam(f, 1), start};
	LLVMBuildRet(e->builder, tsr_emit_call(e, "tsr_open", e->i32, 4, args));
}

/* ---- sizes of results -------------------------------------------------------------------------------------------------------------- */

/* Whether a call takes these sizes: each at least 1, and every condition holds. */
static LLVMValueRef accepted(tsr_emit *e, tsr_owner owner)
{
	const tsr_export *x = e->host->exports.at[owner].x;
	tsr_host_condition *all;
	uint32_t n = tsr_host_conditions(e->host->graph, owner, &all);
	LLVMValueRef good = LLVMConstInt(e->i1, 1, false);
	for (uint32_t i = 0; i < x->symbols.n; i++) {
		LLVMValueRef v = LLVMBuildSub(e->builder, e->symbols[x->symbols.at[i]], tsr_emit_i64(e, 1), "");
		good = LLVMBuildAnd(e->builder, good, LLVMBuildICmp(e->builder, LLVMIntULT, v, tsr_emit_i64(e, TSR_MAX_SIZE), ""), "");
	}
	for (uint32_t i = 0; i < n; i++)
		good = LLVMBuildAnd(e->builder, good, LLVMBuildICmp(e->builder, all[i].at_least ? LLVMIntSGE : LLVMIntEQ,
			tsr_emit_size(e, all[i].left), tsr_emit_size(e, all[i].right), ""), "");
	return good;
}

/* The sizes of the signature are the function's own arguments; those that files gave stand in the context, if there are any. */
static void known_symbols(tsr_emit *e, const tsr_export *x, LLVMValueRef f, bool context)
{
	e->symbols = TSR_NEW_N(e->tc->arena, LLVMValueRef, e->loops->symbols.n + 1);
	for (uint32_t i = 0; i < e->loops->symbols.n; i++)
		e->symbols[i] = tsr_emit_i64(e, 1);
	if (context) {
		e->ctx = LLVMGetParam(f, 0);
		e->symbol_table = tsr_emit_call(e, "tsr_syms", e->ptr, 1, &e->ctx);
		tsr_emit_load_symbols(e);
		e->symbol_table = NULL;      /* what follows is computed here and stored nowhere */
	}
	for (uint32_t i = 0; i < x->symbols.n; i++)
		e->symbols[x->symbols.at[i]] = LLVMGetParam(f, i + context);
}

/* i64 NAME((ctx,) sizes.., shape): the number of elements, -1 where the sizes are refused; the sizes go to `shape` unless it is
 * NULL or absent. */
static void size_function(tsr_emit *e, tsr_owner owner, const tsr_c_arg *result, const char *name, bool with_shape)
{
	const tsr_host_export *to = &e->host->exports.at[owner];
	const tsr_export *x = to->x;
	const tsr_buffer *b = buffer_of(e, result);
	LLVMTypeRef *types = TSR_NEW_N(e->tc->arena, LLVMTypeRef, x->symbols.n + 2);
	bool context = tsr_host_size_of_file(e->host, to, result);
	unsigned n = 0;
	if (context)
		types[n++] = e->ptr;
	for (uint32_t i = 0; i < x->symbols.n; i++)
		types[n++] = e->i64;
	types[n] = e->ptr;
	LLVMValueRef f = function(e, name, e->i64, n + with_shape, types, x->span);
	known_symbols(e, x, f, context);
	tsr_emit_derive(e, owner);
	LLVMBasicBlockRef known = tsr_emit_block(e, "accepted"), refused = tsr_emit_block(e, "refused");
	LLVMBuildCondBr(e->builder, accepted(e, owner), known, refused);
	LLVMPositionBuilderAtEnd(e->builder, refused);
	LLVMBuildRet(e->builder, tsr_emit_i64(e, -1));
	LLVMPositionBuilderAtEnd(e->builder, known);
	LLVMValueRef args[2] = {tsr_emit_i64(e, b->rank), tsr_emit_dims(e, b)};
	if (with_shape) {
		LLVMBasicBlockRef write = tsr_emit_block(e, "write"), done = tsr_emit_block(e, "done");
		LLVMValueRef to_shape = LLVMGetParam(f, n);
		LLVMBuildCondBr(e->builder, LLVMBuildIsNull(e->builder, to_shape, ""), done, write);
		LLVMPositionBuilderAtEnd(e->builder, write);
		for (uint32_t i = 0; i < b->rank; i++)
			LLVMBuildStore(e->builder, tsr_emit_size(e, tsr_buffer_shape(b)[i]), slot(e, e->i64, to_shape, i));
		LLVMBuildBr(e->builder, done);
		LLVMPositionBuilderAtEnd(e->builder, done);
	}
	LLVMBuildRet(e->builder, tsr_emit_call(e, "tsr_elements", e->i64, 2, args));
}

static void size_functions(tsr_emit *e, tsr_owner owner)
{
	const tsr_host_export *x = &e->host->exports.at[owner];
	for (uint32_t i = 0; i < x->args.n; i++) {
		if (x->args.at[i].kind != TSR_C_RESULT)
			continue;
		const char *stem = tsr_host_size_name(e->host, x, &x->args.at[i]);
		size_function(e, owner, &x->args.at[i], tsr_format(e->tc->arena, "%s_%s_elements", e->options->exports, stem), false);
		size_function(e, owner, &x->args.at[i], tsr_format(e->tc->arena, "%s_%s_shape", e->options->exports, stem), true);
	}
}

void tsr_emit_exports(tsr_emit *e)
{
	opening(e);
	for (tsr_owner i = 0; i < e->host->exports.n; i++) {
		entry(e, i);
		size_functions(e, i);
	}
}
