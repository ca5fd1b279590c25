/* What the public functions of this room share; the emitters see only emit.h. */
#ifndef TSR_LLVM_PRIVATE_H
#define TSR_LLVM_PRIVATE_H
#include "emit.h"

struct tsr_llvm {
	tsr_llvm_options options;
	tsr_emit emit;
	const tsr_target *target;
	LLVMTargetMachineRef machine;
	char *triple;                /* LLVM's */
	const char *cpu;
};

/* object.c: the machine of the options; false when there is none (reported). */
bool tsr_llvm_find_machine(tsr_llvm *l);
#endif
