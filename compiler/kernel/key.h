/* Kernels by what they compute: see key.c. */
#ifndef TSR_KERNEL_KEY_H
#define TSR_KERNEL_KEY_H
#include "../emit/emit.h"
#include "../base/map.h"
#include "../base/text.h"

/* `row`: elements of one place of its first axis, and `place` the only one of which the kernel touches something, where the pointer that it is given stands; row 0: it is given the buffer. */
typedef struct tsr_kernel_buffer { tsr_buffer_id id; bool written; int64_t row, place; } tsr_kernel_buffer;

typedef struct tsr_kernel_key {
	tsr_name text;                           /* interned; NULL where `single` */
	bool single;                             /* not to be shared */
	TSR_VEC(tsr_kernel_buffer) buffers;      /* in order of appearance: the order of the parameters */
	TSR_VEC(uint32_t) symbols, numbers;
} tsr_kernel_key;

tsr_kernel_key *tsr_kernel_key_of(tsr_emit *e, const tsr_stmt *kernel);
#endif
