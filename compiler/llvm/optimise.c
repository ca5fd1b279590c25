/* LLVM's passes.  Loops arrive in the form that the passes want, with explicit vectors where the schedule chose them, so a
 * short list does what default<O2> does for them, in a fraction of its time. */
#include "private.h"
#include "../engine/engine.h"
#include <llvm-c/Error.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

/* Scalars out of memory and redundancy away; nothing about loops. */
#define CLEAN "sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>"
#define LOOPS "loop-simplify,lcssa,loop-mssa(loop-rotate,licm<allowspeculation>),loop(indvars)"

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

bool tsr_llvm_is_apart(LLVMValueRef f)
{
	unsigned kind = LLVMGetEnumAttributeKindForName("noinline", strlen("noinline"));
	return !LLVMIsDeclaration(f) && LLVMGetLinkage(f) == LLVMInternalLinkage && LLVMGetEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex, kind);
}

bool tsr_llvm_is_tile(LLVMValueRef f)
{
	return tsr_llvm_is_apart(f) && !strncmp(LLVMGetValueName(f), TSR_TILE_PREFIX, strlen(TSR_TILE_PREFIX));
}

/* Leaves bodies only to the tiles, or only to everything else; the others are declarations. */
static void keep(LLVMModuleRef m, LLVMTargetMachineRef machine, bool tiles)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
		bool tile = tsr_llvm_is_tile(f);
		if (tile)
			LLVMSetLinkage(f, tiles ? LLVMExternalLinkage : LLVMAvailableExternallyLinkage);
		else if (tiles && !LLVMIsDeclaration(f) && LLVMGetLinkage(f) != LLVMInternalLinkage)
			LLVMSetLinkage(f, LLVMAvailableExternallyLinkage);
	}
	for (LLVMValueRef x = LLVMGetFirstGlobal(m); tiles && x; x = LLVMGetNextGlobal(x))
		if (!LLVMIsDeclaration(x) && LLVMGetLinkage(x) == LLVMExternalLinkage)
			LLVMSetLinkage(x, LLVMAvailableExternallyLinkage);
	tsr_llvm_passes(m, machine, "elim-avail-extern,globaldce");
}

/* Tiles take their own list of passes in a module of their own, and come back: passes over loops would take what is in registers apart. */
static void optimise_tiles(tsr_llvm *l)
{
	LLVMModuleRef all = l->emit.module, tiles = LLVMCloneModule(all);
	keep(all, l->machine, false);
	keep(tiles, l->machine, true);
	tsr_llvm_passes(all, l->machine, tsr_llvm_pipeline(l->options.level, false));
	tsr_llvm_passes(tiles, l->machine, tsr_llvm_pipeline(l->options.level, true));
	if (LLVMLinkModules2(all, tiles))
		tsr_bug("LLVM does not join the modules that it has parted");
	for (LLVMValueRef f = LLVMGetFirstFunction(all); f; f = LLVMGetNextFunction(f))
		if (!strncmp(LLVMGetValueName(f), TSR_TILE_PREFIX, strlen(TSR_TILE_PREFIX)))
			LLVMSetLinkage(f, LLVMInternalLinkage);
}

static bool has_tiles(LLVMModuleRef m)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
		if (tsr_llvm_is_tile(f))
			return true;
	return false;
}

void tsr_llvm_optimise(tsr_llvm *l)
{
	const char *passes = tsr_llvm_pipeline(l->options.level, false);
	if (passes && has_tiles(l->emit.module))
		optimise_tiles(l);
	else if (passes)
		tsr_llvm_passes(l->emit.module, l->machine, passes);
	tsr_llvm_widen_halves(l, l->emit.module);
	if (l->options.sanitize)                 /* last: what is left of the accesses is checked */
		tsr_llvm_passes(l->emit.module, l->machine, "asan");
}
