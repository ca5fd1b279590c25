/* LLVM's passes.  Loops arrive in the form that the passes want, with explicit vectors where the schedule chose them, so a
 * short list does what default<O2> does for them, in a fraction of its time. */
#include "private.h"
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>

/* Scalars out of memory and redundancy away; nothing about loops. */
#define CLEAN "sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>"
#define LOOPS "loop-simplify,lcssa,loop-mssa(licm<allowspeculation>),loop(indvars)"

/* Of `tiles` nothing is left to do about loops: vectors and unrolling are written out. */
const char *tsr_llvm_pipeline(int level, bool tiles)
{
	if (tiles && level > 0)
		return "function(early-cse,instcombine<no-verify-fixpoint>,loop-simplify,lcssa,loop-mssa(licm),simplifycfg)";
	switch (level) {
	case 0:
		return NULL;
	case 1:
		return "function(" CLEAN "," LOOPS ",simplifycfg,early-cse)";
	case 2:
		return "function(" CLEAN "," LOOPS ",loop-mssa(simple-loop-unswitch),loop-idiom-vectorize,"
			"loop-vectorize,loop-load-elim,instcombine<no-verify-fixpoint>,simplifycfg,early-cse,loop-unroll<O2>,"
			"sroa,instcombine<no-verify-fixpoint>,loop-simplify,lcssa,loop-mssa(licm),simplifycfg),globaldce";
	default:
		return "default<O3>";
	}
}

void tsr_llvm_passes(LLVMModuleRef m, LLVMTargetMachineRef machine, const char *passes)
{
	LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
	LLVMPassBuilderOptionsSetLoopVectorization(o, true);
	LLVMPassBuilderOptionsSetLoopUnrolling(o, true);
	LLVMPassBuilderOptionsSetLoopInterleaving(o, true);
	LLVMErrorRef failed = LLVMRunPasses(m, passes, machine, o);
	if (failed)
		tsr_bug("LLVM's passes: %s", LLVMGetErrorMessage(failed));
	LLVMDisposePassBuilderOptions(o);
}

void tsr_llvm_optimise(tsr_llvm *l)
{
	const char *passes = tsr_llvm_pipeline(l->options.level, false);
	if (l->options.sanitize)                 /* last: what is left of the accesses is checked */
		passes = tsr_format(l->emit.tc->arena, "%s%sasan", passes ? passes : "", passes ? "," : "");
	if (passes)
		tsr_llvm_passes(l->emit.module, l->machine, passes);
}
