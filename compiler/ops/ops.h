/* Primitives, accumulators and precisions: enums, tables, promotion, and the scalar meaning of each primitive, which the
 * reference interpreter uses and the emitters must agree with. */
#ifndef TSR_OPS_OPS_H
#define TSR_OPS_OPS_H
#include "../base/names.h"
#include <math.h>

typedef enum {
#define TSR_OP(name, text, infix, arity, result) TSR_OP_##name,
#include "op.def"
	TSR_OPS
} tsr_op;

typedef enum {
#define TSR_ACC(name, text, op, neutral, over) TSR_ACC_##name,
#include "op.def"
	TSR_ACCS
} tsr_acc;

/* Precisions, in promotion order within each family; the list is shared with the runtime. */
typedef enum {
	TSR_PREC_NONE,           /* not inferred yet */
#define TSR_PREC(name, text, bytes, family) TSR_PREC_##name,
#include "../../runtime/prec.def"
#undef TSR_PREC
	TSR_PRECS
} tsr_prec;

typedef enum { TSR_RESULT_SAME, TSR_RESULT_KEEP, TSR_RESULT_FLOAT, TSR_RESULT_BOOL, TSR_RESULT_LOGIC } tsr_result_rule;

typedef struct tsr_op_info { const char *name, *infix; uint32_t arity; tsr_result_rule result; } tsr_op_info;
typedef struct tsr_acc_info { const char *text; tsr_op op; double neutral; tsr_op over; } tsr_acc_info;

const tsr_op_info *tsr_op_get(tsr_op op);
const tsr_acc_info *tsr_acc_get(tsr_acc acc);
/* What is accumulated may come in any order, but for rounding. */
bool tsr_acc_any_order(tsr_acc acc);
/* By name ("exp") or infix spelling ("**"); false when there is none of that arity. */
bool tsr_op_find(const char *text, uint32_t arity, tsr_op *out);
bool tsr_acc_find(const char *text, tsr_acc *out);

const char *tsr_prec_name(tsr_prec p);
bool tsr_prec_find(const char *text, tsr_prec *out);
uint32_t tsr_prec_bytes(tsr_prec p);
static inline bool tsr_prec_is_float(tsr_prec p) { return p >= TSR_PREC_F8 && p < TSR_PRECS; }     /* they stand last in prec.def */
bool tsr_prec_is_int(tsr_prec p);            /* u8 .. i64, not bool */
tsr_prec tsr_prec_promote(tsr_prec a, tsr_prec b);
/* The precision in which `op` computes its operands and gives its result, from the operands' own. */
tsr_prec tsr_op_operand_prec(tsr_op op, const tsr_prec *args);
tsr_prec tsr_op_result_prec(tsr_op op, const tsr_prec *args);
/* The precision in which a target of precision p accumulates (f16, bf16, f8 -> f32; u8, i8, i16 -> i32). */
tsr_prec tsr_prec_accumulator(tsr_prec p);

/* One scalar; integers and bools travel in `i`, floats in `d` (rounded to f32 after every step where P is f32). */
typedef struct tsr_scalar { tsr_prec prec; union { int64_t i; double d; }; } tsr_scalar;
tsr_scalar tsr_scalar_of(tsr_prec p, double x);
/* What a freshly cleared target holds: of a maximum the least number of the precision, which of bools is false. */
tsr_scalar tsr_acc_neutral(tsr_acc acc, tsr_prec p);
tsr_scalar tsr_scalar_convert(tsr_scalar x, tsr_prec to);       /* float to int truncates and saturates, NaN gives 0 */

/* A number before it has a precision, as it was written: an I64, exactly, or an F64. */
tsr_scalar tsr_number_whole(int64_t x);
tsr_scalar tsr_number_real(double x);
double tsr_number_double(tsr_scalar x);
/* It in precision p: a whole number beyond an integer's range saturates, as floats do. */
tsr_scalar tsr_number_in(tsr_prec p, tsr_scalar x);
/* Many of them: all are whole or all are floats.  `at` NULL: there are none. */
typedef union tsr_cell { int64_t i; double d; } tsr_cell;
typedef struct tsr_numbers { bool whole; const tsr_cell *at; } tsr_numbers;
tsr_scalar tsr_numbers_get(tsr_numbers n, uint64_t i);
/* The text of a whole number, or of a float with `digits` of them. */
const char *tsr_number_str(tsr_arena *a, tsr_scalar x, int digits);

tsr_scalar tsr_op_apply(tsr_op op, tsr_prec operand_prec, const tsr_scalar *args);
#endif
