/* Functions, blocks and loops.  A loop is tested at the bottom, the form that LLVM's passes want, and guarded at the top only where it may run zero times. */
#include "emit.h"
#include <string.h>

/* ---- functions ---------------------------------------------------------------------------------------------------------- */

LLVMAttributeRef tsr_emit_attribute(tsr_emit *e, const char *name, uint64_t value)
{
	return LLVMCreateEnumAttribute(e->context, LLVMGetEnumAttributeKindForName(name, strlen(name)), value);
}

void tsr_emit_function_attributes(tsr_emit *e, LLVMValueRef f)
{
	char width[16];
	snprintf(width, sizeof width, "%u", 8 * e->target->vector_bytes);
	LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, tsr_emit_attribute(e, "nounwind", 0));
	if (e->sanitize)
		LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, tsr_emit_attribute(e, "sanitize_address", 0));
	LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, LLVMCreateStringAttribute(e->context, "prefer-vector-width", 19, width,
		(unsigned)strlen(width)));
	/* Vectors that wait on the stack would begin anywhere in a line otherwise, and in one process of twelve, by where its stack happens to lie, across two pages: a sine took 8 times as long. */
	LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, LLVMCreateStringAttribute(e->context, "stackrealign", 12, "", 0));
}

void tsr_emit_function_begin(tsr_emit *e, LLVMValueRef f, tsr_span span)
{
	e->function = f;
	e->entry = LLVMAppendBasicBlockInContext(e->context, f, "entry");
	LLVMPositionBuilderAtEnd(e->builder, e->entry);
	tsr_emit_function_attributes(e, f);
	tsr_emit_debug_function(e, f, span);
}

/* ---- blocks and loops --------------------------------------------------------------------------------------------------- */

void tsr_emit_seldom(tsr_emit *e, LLVMValueRef usual, LLVMBasicBlockRef often, LLVMBasicBlockRef seldom)
{
	LLVMValueRef weights[3] = {LLVMMDStringInContext(e->context, "branch_weights", 14), LLVMConstInt(e->i32, 1000, false), LLVMConstInt(e->i32, 1, false)};
	LLVMValueRef branch = LLVMBuildCondBr(e->builder, usual, often, seldom);
	LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->context, "prof", 4), LLVMMDNodeInContext(e->context, weights, 3));
}

LLVMBasicBlockRef tsr_emit_block(tsr_emit *e, const char *name)
{
	return LLVMAppendBasicBlockInContext(e->context, e->function, name);
}

static tsr_emit_fork fork_begin(tsr_emit *e, LLVMValueRef condition, const char *name, bool usual)
{
	LLVMBasicBlockRef yes = tsr_emit_block(e, name);
	tsr_emit_fork f = {tsr_emit_block(e, "otherwise"), tsr_emit_block(e, "either")};
	if (usual)
		tsr_emit_seldom(e, condition, yes, f.other);
	else
		LLVMBuildCondBr(e->builder, condition, yes, f.other);
	LLVMPositionBuilderAtEnd(e->builder, yes);
	return f;
}

tsr_emit_fork tsr_emit_fork_begin(tsr_emit *e, LLVMValueRef condition, const char *name) { return fork_begin(e, condition, name, false); }
tsr_emit_fork tsr_emit_fork_usual(tsr_emit *e, LLVMValueRef condition, const char *name) { return fork_begin(e, condition, name, true); }

static void go_on(tsr_emit *e, LLVMBasicBlockRef from, LLVMBasicBlockRef at)
{
	LLVMBuildBr(e->builder, from);
	LLVMMoveBasicBlockAfter(at, LLVMGetInsertBlock(e->builder));
	LLVMPositionBuilderAtEnd(e->builder, at);
}

void tsr_emit_fork_other(tsr_emit *e, const tsr_emit_fork *f) { go_on(e, f->after, f->other); }

void tsr_emit_fork_end(tsr_emit *e, const tsr_emit_fork *f) { go_on(e, f->after, f->after); }

static LLVMMetadataRef text_node(tsr_emit *e, const char *text, LLVMValueRef value)
{
	LLVMMetadataRef parts[2] = {LLVMMDStringInContext2(e->context, text, strlen(text))};
	if (value)
		parts[1] = LLVMValueAsMetadata(value);
	return LLVMMDNodeInContext2(e->context, parts, value ? 2 : 1);
}

/* A loop's identity is a node that names itself first. */
static void annotate(tsr_emit *e, LLVMValueRef branch, tsr_for_kind how, bool few)
{
	LLVMMetadataRef self = LLVMTemporaryMDNode(e->context, NULL, 0), parts[5] = {self};
	unsigned n = 1;
	parts[n++] = text_node(e, "llvm.loop.mustprogress", NULL);
	if (how == TSR_FOR_VECTOR || few)
		parts[n++] = text_node(e, "llvm.loop.vectorize.enable", LLVMConstInt(e->i1, !few, false));
	if (few)
		parts[n++] = text_node(e, "llvm.loop.unroll.disable", NULL);
	LLVMMetadataRef node = LLVMMDNodeInContext2(e->context, parts, n);
	LLVMMetadataReplaceAllUsesWith(self, node);
	LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->context, "llvm.loop", 9), LLVMMetadataAsValue(e->context, node));
}

static bool surely_less(LLVMValueRef a, LLVMValueRef b)
{
	return LLVMIsAConstantInt(a) && LLVMIsAConstantInt(b) && LLVMConstIntGetSExtValue(a) < LLVMConstIntGetSExtValue(b);
}

tsr_emit_loop tsr_emit_loop_begin(tsr_emit *e, LLVMValueRef from, LLVMValueRef to, LLVMValueRef step, tsr_for_kind how)
{
	tsr_emit_loop loop = {.end = to, .step = step, .body = tsr_emit_block(e, "loop"), .after = tsr_emit_block(e, "done"), .how = how};
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
	if (surely_less(from, to))
		LLVMBuildBr(e->builder, loop.body);
	else
		LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, from, to, ""), loop.body, loop.after);
	LLVMPositionBuilderAtEnd(e->builder, loop.body);
	loop.index = LLVMBuildPhi(e->builder, e->i64, "i");
	LLVMAddIncoming(loop.index, &from, &before, 1);
	return loop;
}

void tsr_emit_loop_end(tsr_emit *e, tsr_emit_loop *loop)
{
	LLVMValueRef next = LLVMBuildNSWAdd(e->builder, loop->index, loop->step, "");
	LLVMSetNUW(next, true);
	LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntSLT, next, loop->end, "");
	LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
	annotate(e, LLVMBuildCondBr(e->builder, more, loop->body, loop->after), loop->how, loop->few);
	LLVMAddIncoming(loop->index, &next, &latch, 1);
	LLVMMoveBasicBlockAfter(loop->after, latch);
	LLVMPositionBuilderAtEnd(e->builder, loop->after);
}
