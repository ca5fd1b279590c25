/* Comparisons of f16 numbers, which are f32 while they are computed with: LLVM finds that what was widened can be compared as it was, and where a processor has no
 * such instruction takes the vector apart, number by number (relu of f16 took 16 times as long).  They are widened again behind its passes, which changes no result. */
#include "private.h"

static bool is_half(LLVMTypeRef t)
{
	return LLVMGetTypeKind(LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : t) == LLVMHalfTypeKind;
}

static LLVMValueRef widened(LLVMBuilderRef b, LLVMValueRef x)
{
	LLVMTypeRef t = LLVMTypeOf(x), f32 = LLVMFloatTypeInContext(LLVMGetTypeContext(t));
	return LLVMBuildFPExt(b, x, LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMVectorType(f32, LLVMGetVectorSize(t)) : f32, "");
}

static void widen(LLVMBuilderRef b, LLVMValueRef compare)
{
	LLVMPositionBuilderBefore(b, compare);
	LLVMValueRef x = widened(b, LLVMGetOperand(compare, 0)), y = widened(b, LLVMGetOperand(compare, 1));
	LLVMReplaceAllUsesWith(compare, LLVMBuildFCmp(b, LLVMGetFCmpPredicate(compare), x, y, ""));
	LLVMInstructionEraseFromParent(compare);
}

void tsr_llvm_widen_halves(const tsr_llvm *l, LLVMModuleRef m)
{
	if (!l->target->parts_halves)
		return;
	LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
	for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
		for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
			for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i; i = next) {
				next = LLVMGetNextInstruction(i);
				if (LLVMGetInstructionOpcode(i) == LLVMFCmp && is_half(LLVMTypeOf(LLVMGetOperand(i, 0))))
					widen(b, i);
			}
	LLVMDisposeBuilder(b);
}
