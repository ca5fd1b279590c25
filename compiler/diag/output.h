/* Files that the compiler makes, whole or not at all. */
#ifndef TSR_DIAG_OUTPUT_H
#define TSR_DIAG_OUTPUT_H
#include "diag.h"

/* What is to become a file, collected in memory: print `to` it. */
typedef struct tsr_output { FILE *to; char *bytes; size_t size; } tsr_output;
void tsr_output_open(tsr_output *o);
/* The file at `path` is what was printed, or what it was before; false: it could not be written (reported). */
bool tsr_output_close(tsr_compiler *tc, tsr_output *o, const char *path);
/* The same of bytes that lie in memory already. */
bool tsr_output_write(tsr_compiler *tc, const char *path, const void *bytes, size_t size);
/* Standard output, at the end of a command. */
bool tsr_output_flush(tsr_compiler *tc);
#endif
