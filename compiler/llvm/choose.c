/* A program compiled for several processors: what is called from outside has a body in each module, NAME.CPU, and in the first one a
 * function of its own name, which goes on to the last of them that the machine runs. */
#include "private.h"
#include "host.h"
#include <string.h>

static const char *name_for(tsr_emit *e, const char *name, uint32_t which)
{
	return tsr_format(e->tc->arena, "%s.%s", name, e->options->cpus[which]);
}

static void go_on(tsr_emit *e, LLVMValueRef from, LLVMValueRef to)
{
	unsigned n = LLVMCountParams(from);
	LLVMValueRef *args = TSR_NEW_N(e->tc->arena, LLVMValueRef, n + 1);
	LLVMTypeRef type = LLVMGlobalGetValueType(from);
	LLVMGetParams(from, args);
	LLVMValueRef call = LLVMBuildCall2(e->builder, type, to, args, n, "");
	LLVMSetTailCallKind(call, LLVMTailCallKindMustTail);
	if (LLVMGetReturnType(type) == e->none)
		LLVMBuildRetVoid(e->builder);
	else
		LLVMBuildRet(e->builder, call);
}

static void choose(tsr_emit *e, const char *name, LLVMValueRef first)
{
	const tsr_llvm_options *o = e->options;
	LLVMTypeRef type = LLVMGlobalGetValueType(first);
	LLVMValueRef f = LLVMAddFunction(e->module, name, type);
	tsr_emit_function_begin(e, f, TSR_NOWHERE);
	LLVMValueRef level = tsr_emit_call(e, "tsr_cpu_level", e->i32, 0, NULL);
	for (uint32_t i = o->ncpus - 1; i; i--) {
		LLVMValueRef enough = LLVMConstInt(e->i32, (unsigned)tsr_target_level(o->cpus[i]), false);
		LLVMBasicBlockRef yes = tsr_emit_block(e, o->cpus[i]), no = tsr_emit_block(e, "less");
		LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntSGE, level, enough, ""), yes, no);
		LLVMPositionBuilderAtEnd(e->builder, yes);
		go_on(e, f, LLVMAddFunction(e->module, name_for(e, name, i), type));
		LLVMPositionBuilderAtEnd(e->builder, no);
	}
	go_on(e, f, first);
}

void tsr_emit_choices(tsr_emit *e)
{
	TSR_VEC(LLVMValueRef) shown = {0};
	for (LLVMValueRef f = LLVMGetFirstFunction(e->module); f; f = LLVMGetNextFunction(f))
		if (!LLVMIsDeclaration(f) && LLVMGetLinkage(f) == LLVMExternalLinkage && !tsr_llvm_is_apart(f))
			tsr_push(e->tc->arena, &shown, f);
	for (uint32_t i = 0; i < shown.n; i++) {
		size_t n;
		const char *name = tsr_strdup(e->tc->arena, LLVMGetValueName2(shown.at[i], &n)), *own = name_for(e, name, e->options->which);
		LLVMSetValueName2(shown.at[i], own, strlen(own));
		if (!e->options->which)
			choose(e, name, shown.at[i]);
	}
}
