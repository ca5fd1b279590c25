/* The emitters of the program level: the start-up function, its tables, its statements. */
#ifndef TSR_LLVM_HOST_H
#define TSR_LLVM_HOST_H
#include "../kernel/kernel.h"

/* data.c */
LLVMValueRef tsr_emit_integers(tsr_emit *e, uint32_t n, const int64_t *values);      /* a constant array, or null for none */
LLVMValueRef tsr_emit_string(tsr_emit *e, const char *bytes, size_t size);           /* a constant tsr_str */
LLVMValueRef tsr_emit_program_table(tsr_emit *e);
uint32_t tsr_emit_slots_row(const tsr_emit *e, tsr_owner owner);                     /* the table's row of its slots' memory */
int64_t tsr_emit_constant_bytes(const tsr_buffer *b);                                /* -1: a run-time size is in it */

/* memory.c */
LLVMValueRef tsr_emit_dims(tsr_emit *e, const tsr_buffer *b);                        /* address of its sizes */
LLVMValueRef tsr_emit_bytes(tsr_emit *e, const tsr_buffer *b);
/* Memory for every buffer whose size this owner gives. */
void tsr_emit_memory(tsr_emit *e, tsr_owner owner);

/* start.c */
void tsr_emit_run(tsr_emit *e, tsr_code_id code);
/* The context's tables, once a function; all run-time sizes as they stand there. */
void tsr_emit_tables(tsr_emit *e);
void tsr_emit_load_symbols(tsr_emit *e);
/* Sizes that follow from those of this owner; without a table they are values of this function alone. */
void tsr_emit_derive(tsr_emit *e, tsr_owner owner);
void tsr_emit_check_sizes(tsr_emit *e, tsr_owner owner);
/* All that comes before let%main, or before the first call: files, sizes, memory, parameters. */
void tsr_emit_opening(tsr_emit *e);

/* host.c */
void tsr_emit_host(tsr_emit *e, const tsr_hstmt *body);                              /* of let%main or an exported function */

/* host_strings.c: whether the strings that one iteration of this loop body makes can be forgotten at its end. */
bool tsr_emit_strings_die(const tsr_host *h, const tsr_hstmt *body);

/* The program level as a whole: the table, start-up and let%main; what C calls (export.c); which of several processors (choose.c). */
void tsr_emit_program(tsr_emit *e);
void tsr_emit_exports(tsr_emit *e);
void tsr_emit_choices(tsr_emit *e);
#endif
