/* Kernels that threads compute together: see team.c. */
#ifndef TSR_KERNEL_TEAM_H
#define TSR_KERNEL_TEAM_H
#include "nests.h"

/* A kernel's function as the runtime calls it, and the memory that it needs, by each unit; and its queues. */
typedef struct tsr_team_kernel { LLVMValueRef function, entry; tsr_room room[TSR_UNITS]; uint32_t queues, *copies; } tsr_team_kernel;

/* What a kernel takes, with room for the thread's four: types, and values, which are NULL where the thread has `own` bytes into its
 * memory a buffer for itself; `later`, the buffer, where only the run knows how large that is: these lie behind all else, where they begin is told. */
typedef struct tsr_arguments { unsigned n; LLVMTypeRef *types; LLVMValueRef *values; int64_t *own; const tsr_buffer **later; } tsr_arguments;

/* Statements, each complete before the next begins. */
void tsr_team_stmts(tsr_emit *e, const tsr_stmts *body);
/* The function that takes the arguments from a record; `kernel` takes them and the thread's four. */
LLVMValueRef tsr_team_entry(tsr_emit *e, LLVMValueRef kernel, const tsr_arguments *x);
void tsr_team_call(tsr_emit *e, const tsr_team *team, const tsr_team_kernel *k, const tsr_arguments *x);
#endif
