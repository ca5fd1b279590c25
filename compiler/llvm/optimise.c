/* LLVM's passes.  Loops arrive in the form that the passes want, with explicit vectors where the schedule chose them, so a
 * short list does what default<O2> does for them, in a fraction of its time. */
#include "private.h"
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>

/* Scalars out of memory and redundancy away; nothing about loops. */
#define CLEAN "sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>"
#define LOOPS "loop-simplify,lcssa,loop-mssa(licm<allowspeculation>),loop(indvars)"

static const char *pipeline(int level)
{
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

void tsr_llvm_optimise(tsr_llvm *l)
{
	const char *passes = pipeline(l->options.level);
	if (l->options.sanitize)                 /* last: what is left of the accesses is checked */
		passes = tsr_format(l->emit.tc->arena, "%s%sasan", passes ? passes : "", passes ? "," : "");
	if (!passes)
		return;
	LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
	LLVMPassBuilderOptionsSetLoopVectorization(o, true);
	LLVMPassBuilderOptionsSetLoopUnrolling(o, true);
	LLVMPassBuilderOptionsSetLoopInterleaving(o, true);
	LLVMErrorRef failed = LLVMRunPasses(l->emit.module, passes, l->machine, o);
	if (failed)
		tsr_bug("LLVM's passes: %s", LLVMGetErrorMessage(failed));
	LLVMDisposePassBuilderOptions(o);
}
