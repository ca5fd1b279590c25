/* Private to code/: a code under construction. */
#ifndef TSR_CODE_BUILD_H
#define TSR_CODE_BUILD_H
#include "code.h"

typedef struct tsr_builder {
	tsr_graph *g;
	tsr_arena *arena;
	tsr_unit *unit;
	tsr_proj **projs;            /* per record; records are added while building (see zero records) */
	bool *derived;               /* per record: projs[i] is what it is, NULL after an error */
	uint32_t nprojs;
	bool *forward_done;          /* per tensor, in the current unit */
	bool *known_zero;            /* per tensor: the current unit has set its gradient to zero and nothing since */
	char *needs_grad;            /* per tensor: 0 not known yet, 1 no, 2 yes */
	tsr_record_id *own_record;   /* per tensor: the record of its axes alone, or TSR_NONE */
	bool failed;
} tsr_builder;

/* Bit per tensor: t and everything that its value is computed from; parameters, states and data end the walk. */
bool *tsr_code_below(tsr_builder *b, tsr_tensor_id t);
/* The maps of a record, derived once; NULL when they conflict. */
const tsr_proj *tsr_code_maps(tsr_builder *b, tsr_record_id record);
void tsr_code_add(tsr_builder *b, const tsr_assign *a);

/* grad.c */
bool tsr_needs_grad(tsr_builder *b, tsr_tensor_id t);
void tsr_code_backprop(tsr_builder *b, tsr_tensor_id root);
void tsr_code_zero_grads(tsr_builder *b, tsr_tensor_id root);

/* order.c: a zeroed gradient that is first accumulated into is cleared by that assignment instead. */
void tsr_code_fold_zeros(tsr_builder *b);

/* rules.c: reports assignments whose maps give one position several values. */
bool tsr_code_rules(tsr_builder *b, const tsr_assign *a, const tsr_proj *p);
/* The same of the statements of an operation, where its result is concatenated or the operation says that its operands lie apart. */
void tsr_code_overlaps(tsr_builder *b, const tsr_tensor *t);
#endif
