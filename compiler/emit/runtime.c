/* References to the runtime and to constant texts.  Signatures follow from the arguments, as tsr_abi.h uses only i32, i64,
 * double and pointers. */
#include "emit.h"
#include <string.h>

static void set_attribute(tsr_emit *e, LLVMValueRef f, const char *name)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
	LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(e->context, kind, 0));
}

LLVMValueRef tsr_emit_call(tsr_emit *e, const char *name, LLVMTypeRef result, unsigned n, LLVMValueRef *args)
{
	LLVMTypeRef types[16];
	TSR_ASSERT(n <= 16);
	for (unsigned i = 0; i < n; i++)
		types[i] = LLVMTypeOf(args[i]);
	bool fails = !strncmp(name, "tsr_fail", 8);
	LLVMTypeRef type = LLVMFunctionType(result, types, n, !strcmp(name, "tsr_fail"));
	LLVMValueRef f = LLVMGetNamedFunction(e->module, name);
	if (!f) {
		f = LLVMAddFunction(e->module, name, type);
		set_attribute(e, f, "nounwind");
		if (fails) {
			set_attribute(e, f, "noreturn");
			set_attribute(e, f, "cold");
		}
	}
	return LLVMBuildCall2(e->builder, type, f, args, n, "");
}

LLVMValueRef tsr_emit_global(tsr_emit *e, LLVMValueRef value, const char *name, unsigned align)
{
	LLVMValueRef g = LLVMAddGlobal(e->module, LLVMTypeOf(value), name);
	LLVMSetInitializer(g, value);
	LLVMSetLinkage(g, LLVMPrivateLinkage);
	LLVMSetGlobalConstant(g, true);
	LLVMSetUnnamedAddress(g, LLVMGlobalUnnamedAddr);
	LLVMSetAlignment(g, align);
	return g;
}

LLVMValueRef tsr_emit_own_text(tsr_emit *e, const char *text)
{
	LLVMValueRef g = tsr_emit_global(e, LLVMConstStringInContext2(e->context, text, strlen(text), false), "", 1);
	LLVMSetUnnamedAddress(g, LLVMNoUnnamedAddr);
	return g;
}

LLVMValueRef tsr_emit_text(tsr_emit *e, const char *text)
{
	tsr_map_entry *known = tsr_map_put(&e->strings, tsr_key(tsr_intern(e->tc->names, text)));
	if (!known->value.p)
		known->value.p = tsr_emit_global(e, LLVMConstStringInContext2(e->context, text, strlen(text), false), "", 1);
	return known->value.p;
}

void tsr_emit_redzone(tsr_emit *e, LLVMValueRef memory, int64_t from, int64_t used, int64_t gap)
{
	if (!e->sanitize)
		return;
	tsr_emit_redzone_later(e, tsr_emit_offset(e, TSR_PREC_U8, memory, tsr_emit_i64(e, from)), tsr_emit_i64(e, used), tsr_emit_i64(e, gap));
}

void tsr_emit_redzone_later(tsr_emit *e, LLVMValueRef memory, LLVMValueRef used, LLVMValueRef gap)
{
	if (!e->sanitize)
		return;
	LLVMValueRef open[2] = {memory, used}, shut[2] = {tsr_emit_offset(e, TSR_PREC_U8, memory, used), gap};
	tsr_emit_call(e, "__asan_unpoison_memory_region", e->none, 2, open);
	tsr_emit_call(e, "__asan_poison_memory_region", e->none, 2, shut);
}

LLVMValueRef tsr_emit_where(tsr_emit *e, tsr_span span)
{
	if (!span.file)
		return LLVMConstNull(e->ptr);
	tsr_position p = tsr_position_of(e->tc, span);
	return tsr_emit_text(e, tsr_format(e->tc->arena, "%s:%u:%u", p.path, p.line, p.column));
}
