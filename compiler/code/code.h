/* Assignment code: the graph's code trees flattened into units, straight lists of assignments with their index maps,
 * forward and backward expanded, each operation's forward once per unit.  No operation names survive this room: from
 * here on there are index maps, sizes and primitives. */
#ifndef TSR_CODE_CODE_H
#define TSR_CODE_CODE_H
#include "../proj/proj.h"

typedef enum { TSR_STEP_ASSIGN, TSR_STEP_RANDOM, TSR_STEP_COMMENT } tsr_step_kind;

typedef struct tsr_step {
	tsr_step_kind kind;
	tsr_span span;
	union {
		struct { tsr_assign a; const tsr_proj *proj; } assign;
		tsr_tensor_id random;
		const char *comment;
	};
} tsr_step;

typedef struct tsr_unit {
	tsr_code_id code;
	tsr_name name;
	TSR_VEC(tsr_step) steps;
} tsr_unit;

typedef struct tsr_code {
	tsr_graph *graph;
	TSR_VEC(tsr_unit *) units;   /* one per tsr_codedef, same index */
} tsr_code;

/* Calls visit for each operand that a right-hand side reads, from left to right. */
void tsr_rhs_operands(const tsr_rhs *rhs, void (*visit)(void *user, const tsr_operand *o), void *user);
/* The loops of a piece, as bits, that the operand's index mentions; all of them for TSR_SLOT_ALL, none for TSR_SLOT_SCALAR. */
uint64_t tsr_operand_loops(const tsr_piece *p, const tsr_operand *o);
/* The same for everything that the right-hand side reads. */
uint64_t tsr_rhs_loops(const tsr_piece *p, const tsr_rhs *rhs);
/* The pieces of an assignment's maps in which its target and everything that it reads is live: it does nothing in the
 * others.  npieces of them. */
bool *tsr_assign_active(tsr_arena *a, const tsr_assign *assign, const tsr_proj *p);

/* Flattens every code of a closed graph and derives each record's maps once. NULL when an error was reported. */
tsr_code *tsr_code_build(tsr_graph *g);
void tsr_code_print(const tsr_code *c, FILE *out);           /* --dump=code */
void tsr_code_check(const tsr_code *c);
#endif
