/* From loops and the program level to machine code, through LLVM's C API.
 *
 *     tsr_llvm *l = tsr_llvm_open(tc, &options);           the machine; NULL when it is unknown (reported)
 *     tsr_llvm_emit(l, loops, host);                       one module, verified
 *     tsr_llvm_optimise(l);                                LLVM's passes for the level
 *     tsr_llvm_write(l, TSR_CODE_OBJECT, path);            the file; false when it cannot be written (reported)
 *     tsr_llvm_close(l); */
#ifndef TSR_LLVM_LLVM_H
#define TSR_LLVM_LLVM_H
#include "../emit/options.h"
#include "../host/host.h"
#include "../loop/loop.h"
#include "../target/target.h"

typedef struct tsr_llvm tsr_llvm;

typedef enum { TSR_CODE_OBJECT, TSR_CODE_ASSEMBLY, TSR_CODE_LLVM } tsr_code_form;

tsr_llvm *tsr_llvm_open(tsr_compiler *tc, const tsr_llvm_options *options);
/* The table that passes and schedules use for this machine. */
const tsr_target *tsr_llvm_target(const tsr_llvm *l);
/* LLVM's name of the processor that is compiled for. */
const char *tsr_llvm_cpu(const tsr_llvm *l);
/* Kernels, one function per unit, data, the program level and the start-up function. `host` may be NULL: the units are then
 * visible from outside as `void NAME(tsr_ctx *, void **buffers, const int64_t *symbols, int64_t *numbers)`. */
void tsr_llvm_emit(tsr_llvm *l, const tsr_loops *loops, const tsr_host *host);
void tsr_llvm_print(tsr_llvm *l, FILE *out);                 /* --dump=ll */
void tsr_llvm_print_assembly(tsr_llvm *l, FILE *out);        /* --dump=asm, after tsr_llvm_optimise */
void tsr_llvm_optimise(tsr_llvm *l);
bool tsr_llvm_write(tsr_llvm *l, tsr_code_form form, const char *path);
/* Optimising and writing several objects, to be linked together, by as many threads as there are processors. How many depends on the
 * module alone; one where it is to stay `whole`. */
uint32_t tsr_llvm_parts(tsr_llvm *l, bool whole);
bool tsr_llvm_write_parts(tsr_llvm *l, const char *const *paths);
/* Symbols of data formats and other optional parts of the runtime that the emitted code names: decides what is linked. */
bool tsr_llvm_needs_formats(const tsr_llvm *l);
void tsr_llvm_close(tsr_llvm *l);
#endif
