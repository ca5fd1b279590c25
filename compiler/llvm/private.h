/* What the public functions of this room share; the emitters see only emit.h. */
#ifndef TSR_LLVM_PRIVATE_H
#define TSR_LLVM_PRIVATE_H
#include "llvm.h"
#include "../kernel/kernel.h"

typedef struct tsr_parts tsr_parts;          /* parts.c */

struct tsr_llvm {
	tsr_llvm_options options;
	tsr_emit emit;
	const tsr_target *target;
	LLVMTargetMachineRef machine;
	char *triple;                /* LLVM's */
	const char *cpu;
	tsr_parts *parts;            /* after tsr_llvm_parts */
};

/* object.c: the machine of the options; false when there is none (reported). */
bool tsr_llvm_find_machine(tsr_llvm *l);
LLVMCodeGenOptLevel tsr_llvm_codegen_level(int level);
LLVMMemoryBufferRef tsr_llvm_code(LLVMModuleRef m, LLVMTargetMachineRef machine, LLVMCodeGenFileType type);
/* The code as a file, and nothing of it in memory any more. */
bool tsr_llvm_save(tsr_llvm *l, LLVMMemoryBufferRef code, const char *path);
/* emit.c: an error of LLVM's is ours. */
void tsr_llvm_diagnosed(LLVMDiagnosticInfoRef info, void *unused);
/* optimise.c: the passes of a level, or NULL; of `tiles`, whose vectors are written out. */
const char *tsr_llvm_pipeline(int level, bool tiles);
/* A kernel or a tile: a function that stays one. */
bool tsr_llvm_is_apart(LLVMValueRef f);
bool tsr_llvm_is_tile(LLVMValueRef f);
void tsr_llvm_passes(LLVMModuleRef m, LLVMTargetMachineRef machine, const char *passes);
/* halves.c: behind the passes. */
void tsr_llvm_widen_halves(const tsr_llvm *l, LLVMModuleRef m);
#endif
