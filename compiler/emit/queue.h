/* Parts of a kernel's work that threads take in turns: see queue.c. */
#ifndef TSR_EMIT_QUEUE_H
#define TSR_EMIT_QUEUE_H
#include "emit.h"

/* A queue of numbered parts.  `lane`: this thread takes from, of as many as there are threads; `mine`, `first`: variables, the part that the thread has taken
 * and the number of the first one of those that the code is at. */
typedef struct tsr_queue { LLVMValueRef number, lane, mine, first; } tsr_queue;
/* A new queue; and the first part of this lane of it. */
void tsr_queue_open(tsr_emit *e, tsr_queue *q);
void tsr_queue_enter(tsr_emit *e, tsr_queue *q, LLVMValueRef lane);
/* The number behind the next `count` parts; whether one of those before it is this thread's; and on behind them. */
LLVMValueRef tsr_queue_limit(tsr_emit *e, const tsr_queue *q, LLVMValueRef count);
LLVMValueRef tsr_queue_any(tsr_emit *e, const tsr_queue *q, LLVMValueRef limit);
void tsr_queue_pass(tsr_emit *e, const tsr_queue *q, LLVMValueRef limit);
/* Around what this thread does with each of its parts before the limit; `part` counts from the first one. */
typedef struct tsr_taking { LLVMValueRef mine, part, next; LLVMBasicBlockRef head, exit; } tsr_taking;
tsr_taking tsr_taking_begin(tsr_emit *e, const tsr_queue *q, LLVMValueRef limit);
void tsr_taking_end(tsr_emit *e, const tsr_queue *q, const tsr_taking *t);
/* The same of a queue with no other parts, where the thread knows its `next` part before it does this one. */
tsr_taking tsr_taking_ahead_begin(tsr_emit *e, const tsr_queue *q, LLVMValueRef limit);
void tsr_taking_ahead_end(tsr_emit *e, const tsr_taking *t);
#endif
