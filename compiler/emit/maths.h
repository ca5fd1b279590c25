/* Inside the elementary functions (math.c, math_*.c): one function's types, and what it is written with. */
#ifndef TSR_EMIT_MATHS_H
#define TSR_EMIT_MATHS_H
#include "emit.h"

/* f and i have as many lanes as the argument, and so have d, of f64, and l, of i64. */
typedef struct tsr_maths { tsr_emit *e; LLVMBuilderRef b; LLVMTypeRef f, i, d, l; } tsr_maths;

#define N(x)      tsr_emit_number(m->e, m->f, (x))
#define I(x)      tsr_emit_number(m->e, m->i, (x))
#define D(x)      tsr_emit_number(m->e, m->d, (x))
#define ADD(x, y) LLVMBuildFAdd(m->b, (x), (y), "")
#define SUB(x, y) LLVMBuildFSub(m->b, (x), (y), "")
#define MUL(x, y) LLVMBuildFMul(m->b, (x), (y), "")
#define DIV(x, y) LLVMBuildFDiv(m->b, (x), (y), "")
#define IF(c, x, y) LLVMBuildSelect(m->b, (c), (x), (y), "")
#define LESS(x, y)  LLVMBuildFCmp(m->b, LLVMRealOLT, (x), (y), "")
#define SAME(x, y)  LLVMBuildFCmp(m->b, LLVMRealOEQ, (x), (y), "")
#define BITS(x)   LLVMBuildBitCast(m->b, (x), m->i, "")
#define FLOAT(x)  LLVMBuildBitCast(m->b, (x), m->f, "")

/* ---- math_kit.c -------------------------------------------------------------------------------------------------------- */

LLVMValueRef tsr_math_intrinsic(const tsr_maths *m, const char *name, LLVMTypeRef type, unsigned n, LLVMValueRef *args);
/* The bits of x as f32. */
uint32_t tsr_math_bits_of(double x);
/* x * y + z, fused where the machine can. */
LLVMValueRef tsr_math_mad(const tsr_maths *m, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z);
LLVMValueRef tsr_math_magnitude(const tsr_maths *m, LLVMValueRef x);
LLVMValueRef tsr_math_with_sign_of(const tsr_maths *m, LLVMValueRef x, LLVMValueRef sign);
/* c[0] + c[1] x + ... + c[n-1] x^(n-1) by Horner's rule. */
LLVMValueRef tsr_math_poly(const tsr_maths *m, LLVMValueRef x, unsigned n, const double *c);
#define POLY(x, ...) tsr_math_poly(m, (x), sizeof((const double[]){__VA_ARGS__}) / sizeof(double), (const double[]){__VA_ARGS__})
/* x limited to [low, high]; NaN stays. */
LLVMValueRef tsr_math_clamp(const tsr_maths *m, LLVMValueRef x, double low, double high);
/* The nearest whole number to x, ties to even, for |x| < 2^22, from x + 1.5 * 2^23, which leaves no bits for a fraction.  The sum's
 * low bits are the number as an integer, given in *bits. */
LLVMValueRef tsr_math_nearest(const tsr_maths *m, LLVMValueRef big, LLVMValueRef *bits);

/* Registers of AVX-512, by lanes of f32. */
enum { TSR_MATH_REGISTER = 16 };
/* The processor has no registers of AVX-512: functions are written in few instructions that all have. */
bool tsr_math_short(const tsr_emit *e);
/* A tile's function, which emits a tail, has no branches within. */
bool tsr_math_may_branch(const tsr_maths *m);
/* The lanes, where they are whole registers of AVX-512, or 0. */
unsigned tsr_math_in_registers(const tsr_emit *e, LLVMTypeRef type);
/* An instruction of AVX-512 on each register of x and y, which are whole registers; `third` is its third operand, NULL for 0.  `how` is
 * an immediate, or -1 for none.  Lanes outside of `some`, which is NULL for all, are those of the operand that the instruction merges. */
LLVMValueRef tsr_math_by_machine(tsr_emit *e, const char *name, LLVMValueRef x, LLVMValueRef y, LLVMValueRef third, int how, LLVMValueRef some);
/* One of a single operand. */
LLVMValueRef tsr_math_by_machine_alone(const tsr_maths *m, const char *name, LLVMValueRef x, int how);
/* An instruction of AVX-512 on each register of n arguments, at most three, rounded towards minus infinity or infinity. */
LLVMValueRef tsr_math_downwards(const tsr_maths *m, const char *name, unsigned n, const LLVMValueRef *args);
LLVMValueRef tsr_math_upwards(const tsr_maths *m, const char *name, unsigned n, const LLVMValueRef *args);
/* In each lane the entry of a table that the low bits of `at` name: one instruction for a register. */
LLVMValueRef tsr_math_looked_up(const tsr_maths *m, const double *table, LLVMValueRef at);
LLVMValueRef tsr_math_word_looked_up(const tsr_maths *m, const uint32_t *table, LLVMValueRef at);

/* ---- math_eighths.c ---------------------------------------------------------------------------------------------------- */

/* The processor looks up eight entries by one instruction: exponentials are of fewer multiply-adds. */
bool tsr_math_by_eighths(const tsr_emit *e);
/* e^x, or e^-x where x is `less`, for |x| < 87: two halves, of which the second waits for the first. */
tsr_emit_half tsr_math_exp_start(const tsr_maths *m, LLVMValueRef x, bool less);
LLVMValueRef tsr_math_exp_finish(const tsr_maths *m, const tsr_emit_half *x);
/* Whether e^x is below the normal numbers in some lane, x being at most 80 or NaN in all. */
LLVMValueRef tsr_math_any_vanishes(const tsr_maths *m, const tsr_emit_half *x);
/* Of many such x, of which `sum` is the first half, the greatest of what each gives, whole numbers without sign: whether one of them is below the normal numbers, or NaN. */
LLVMValueRef tsr_math_exp_worst(const tsr_maths *m, LLVMValueRef sum);
LLVMValueRef tsr_math_exp_failed(const tsr_maths *m, LLVMValueRef worst);
/* The same numbers but for 2's whole power: 2^twos times what is between 1 and 2, about, and n + `above` in the place of an exponent. */
LLVMValueRef tsr_math_exp_apart(const tsr_maths *m, LLVMValueRef x, bool less, int above, int twos, LLVMValueRef *whole);

/* ---- math_exp.c, math_log.c, math_erf.c, math_sine.c --------------------------------------------------------------------------- */

LLVMValueRef tsr_math_exp(const tsr_maths *m, LLVMValueRef x);
/* For registers of AVX-512, x being at most 80 and no result below the normal numbers; *sum, of 1.5 * 2^19, whose last bit is 1/16, says whether that holds.
 * Where `acc` is not NULL it is added, and the exponential's last rounding left out. */
#define TSR_MATH_OF_SIXTEENTHS 786434.0
LLVMValueRef tsr_math_exp_at_once(const tsr_maths *m, LLVMValueRef x, LLVMValueRef acc, LLVMValueRef *sum);
/* acc + e^x, the same number, for any x of at most 80, or NaN; what is below e^-87 is as little as that. */
LLVMValueRef tsr_math_exp_added(const tsr_maths *m, LLVMValueRef x, LLVMValueRef acc);
/* For x of at most 80, or NaN, of which the first half is done; `again` gives x once more, where that is wanted. */
LLVMValueRef tsr_math_exp_rest(const tsr_maths *m, const tsr_emit_half *half, const tsr_emit_again *again);
/* An operation of two, as a maximum, on all registers of integers; NULL: their bits together. */
LLVMValueRef tsr_math_over_registers(const tsr_maths *m, const char *name, LLVMValueRef x);
/* To be added to a constant of at least 2^-60: 0 where it is less than 2^-125. */
LLVMValueRef tsr_math_exp_beside(const tsr_maths *m, LLVMValueRef x);
/* The same in two halves, where multiply-adds fuse and there is no AVX-512. */
tsr_emit_half tsr_math_exp_beside_start(const tsr_maths *m, LLVMValueRef x);
LLVMValueRef tsr_math_exp_beside_finish(const tsr_maths *m, const tsr_emit_half *x);
/* For |x| < 87. */
LLVMValueRef tsr_math_exp_near(const tsr_maths *m, LLVMValueRef x);
LLVMValueRef tsr_math_exp2(const tsr_maths *m, LLVMValueRef x);
LLVMValueRef tsr_math_log(const tsr_maths *m, LLVMValueRef x);
LLVMValueRef tsr_math_log2(const tsr_maths *m, LLVMValueRef x);
LLVMValueRef tsr_math_tanh(const tsr_maths *m, LLVMValueRef x);
/* As tsr_math_erf_beside. */
LLVMValueRef tsr_math_tanh_beside(const tsr_maths *m, LLVMValueRef x);
LLVMValueRef tsr_math_erf(const tsr_maths *m, LLVMValueRef x);
/* To be added, times k, to a constant of at least |k|: nearer than 2^-23 to erf, exact at 0 and where it is 1. */
LLVMValueRef tsr_math_erf_beside(const tsr_maths *m, LLVMValueRef x);
/* sin for shift 0, cos for shift 1. */
LLVMValueRef tsr_math_sine(const tsr_maths *m, LLVMValueRef x, int shift);

/* ---- math_sums.c --------------------------------------------------------------------------------------------------- */

/* constant + factor * erf (scale x), or tanh, at once, |factor| <= |constant|: nearer than 2^-23 |constant|, exact at 0 and where erf or tanh is 1. */
LLVMValueRef tsr_math_erf_sum(const tsr_maths *m, const tsr_emit_sum *sum, LLVMValueRef x);
LLVMValueRef tsr_math_tanh_sum(const tsr_maths *m, const tsr_emit_sum *sum, LLVMValueRef x);

/* ---- f64: math_f64.c, math_f64_exp.c, math_f64_log.c, math_f64_pow.c, math_f64_sine.c, math_f64_erf.c; there `f` is of f64 and `i` of i64 ------------- */

/* A whole number of 64 bits, or the bits of an f64. */
#define W(x)      tsr_emit_splat(m->e, LLVMConstInt(m->e->i64, (x), false), m->i)
#define SHL(x, n)  LLVMBuildShl(m->b, (x), W(n), "")
#define LSHR(x, n) LLVMBuildLShr(m->b, (x), W(n), "")
#define AND(x, y)  LLVMBuildAnd(m->b, (x), (y), "")
#define NEG(x)     LLVMBuildFNeg(m->b, (x), "")

/* The nearest whole number to x + `above`, |x| < 2^50, stands in the low bits of x + this + `above`. */
#define TSR_MATH_WHOLE 6755399441055744.0

/* Even and odd powers apart, which wait for each other half as long; z is x^2. */
LLVMValueRef tsr_math_poly_apart(const tsr_maths *m, LLVMValueRef x, LLVMValueRef z, unsigned n, const double *c);
#define POLY_APART(x, z, ...) tsr_math_poly_apart(m, (x), (z), sizeof((const double[]){__VA_ARGS__}) / sizeof(double), (const double[]){__VA_ARGS__})
/* x * y - high, exactly, where `high` is x * y rounded: one instruction where the machine fuses, and otherwise Dekker's (1971), for |x|, |y| < 2^990. */
LLVMValueRef tsr_math_lost(const tsr_maths *m, LLVMValueRef x, LLVMValueRef y, LLVMValueRef high);
/* z - x * y, which is small beside z. */
LLVMValueRef tsr_math_rest(const tsr_maths *m, LLVMValueRef z, LLVMValueRef x, LLVMValueRef y);

/* What a lane gives is its argument's affair alone.  Where all n numbers are within their bounds, `few` is computed, which branches may lead to; otherwise
 * `all`, whose lanes that are within the bounds must be the same numbers. */
typedef struct tsr_math_bounds { LLVMValueRef x; double low, high; } tsr_math_bounds;
typedef LLVMValueRef (*tsr_math_way)(const tsr_maths *m, const LLVMValueRef *args);
LLVMValueRef tsr_math_either_way(const tsr_maths *m, unsigned n, const tsr_math_bounds *bounds, const LLVMValueRef *args, tsr_math_way few, tsr_math_way all);
/* `fast` in lanes whose numbers are within the bounds, and in all others what `other` makes of what is given, or the C library's function. */
typedef LLVMValueRef (*tsr_math_else)(const tsr_maths *m, const void *given);
LLVMValueRef tsr_math_or_else(const tsr_maths *m, unsigned n, const tsr_math_bounds *bounds, LLVMValueRef fast, tsr_math_else other, const void *given);
LLVMValueRef tsr_math_or_library(const tsr_maths *m, unsigned n, const tsr_math_bounds *bounds, LLVMValueRef fast, tsr_op op, LLVMValueRef *args);

LLVMValueRef tsr_math_f64(const tsr_maths *m, tsr_op op, LLVMValueRef *args);
LLVMValueRef tsr_math_exp_f64(const tsr_maths *m, LLVMValueRef x);
LLVMValueRef tsr_math_exp2_f64(const tsr_maths *m, LLVMValueRef x);
LLVMValueRef tsr_math_tanh_f64(const tsr_maths *m, LLVMValueRef x);
LLVMValueRef tsr_math_log_f64(const tsr_maths *m, LLVMValueRef x);
LLVMValueRef tsr_math_log2_f64(const tsr_maths *m, LLVMValueRef x);
LLVMValueRef tsr_math_erf_f64(const tsr_maths *m, LLVMValueRef x);
LLVMValueRef tsr_math_sine_f64(const tsr_maths *m, LLVMValueRef x, int shift);
LLVMValueRef tsr_math_pow_f64(const tsr_maths *m, LLVMValueRef x, LLVMValueRef y);
/* (e^x - 1 - x) / x^2 for |x| < 0.3467; z is x^2. */
LLVMValueRef tsr_math_exp_rest_f64(const tsr_maths *m, LLVMValueRef x, LLVMValueRef z);
/* (2^x - 1 - x ln 2) / x^2 for |x| <= 1/2. */
LLVMValueRef tsr_math_exp2_rest_f64(const tsr_maths *m, LLVMValueRef x, LLVMValueRef z);
/* x = 2^k (1 + f), x positive and normal, 1 + f in [sqrt 1/2, sqrt 2); k as a number. */
LLVMValueRef tsr_math_parts_f64(const tsr_maths *m, LLVMValueRef x, LLVMValueRef *k);
/* 2 artanh s = 2 s + s z p(z), z = s^2: gives z p(z). */
LLVMValueRef tsr_math_artanh_rest_f64(const tsr_maths *m, LLVMValueRef z);
/* The number that all lanes of a constant are. */
bool tsr_math_constant(LLVMValueRef y, double *out);
#endif
