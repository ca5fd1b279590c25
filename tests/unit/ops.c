/* ops/: the tables, promotion, conversions, and what primitives give at the edges. */
#include "../../compiler/ops/ops.h"
#include "check.h"

#define P(name) TSR_PREC_##name

static void test_tables(void)
{
	tsr_op op;
	tsr_acc acc;
	tsr_prec p;
	CHECK(tsr_op_find("**", 2, &op) && op == TSR_OP_POW);
	CHECK(tsr_op_find("pow", 2, &op) && op == TSR_OP_POW);
	CHECK(!tsr_op_find("pow", 1, &op) && !tsr_op_find("", 1, &op) && !tsr_op_find("po", 2, &op));
	CHECK(tsr_op_find("where", 3, &op) && op == TSR_OP_WHERE);
	CHECK(tsr_acc_find("@^", &acc) && acc == TSR_ACC_MAX && tsr_acc_get(acc)->op == TSR_OP_MAX);
	CHECK(tsr_acc_find(":", &acc) && acc == TSR_ACC_SET);
	CHECK(tsr_prec_find("bf16", &p) && p == P(BF16) && tsr_prec_bytes(p) == 2 && tsr_prec_is_float(p));
	CHECK(!tsr_prec_find("none", &p));
	CHECK(tsr_prec_is_int(P(U8)) && !tsr_prec_is_int(P(BOOL)) && !tsr_prec_is_float(P(I64)));
	for (int i = 0; i < TSR_OPS; i++)
		CHECK(tsr_op_find(tsr_op_get((tsr_op)i)->name, tsr_op_get((tsr_op)i)->arity, &op) && op == (tsr_op)i);
}

static void test_promotion(void)
{
	static const struct { tsr_prec a, b, want; } cases[] = {
		{P(U8), P(U8), P(U8)}, {P(U8), P(I8), P(I16)}, {P(U8), P(I16), P(I16)}, {P(I32), P(U32), P(I64)}, {P(I8), P(U32), P(I64)},
		{P(U8), P(U32), P(U32)}, {P(BOOL), P(U8), P(U8)}, {P(BOOL), P(F32), P(F32)}, {P(I64), P(F16), P(F16)}, {P(F16), P(BF16), P(F32)},
		{P(F8), P(F16), P(F16)}, {P(F32), P(F64), P(F64)}, {P(NONE), P(I8), P(I8)},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		CHECK(tsr_prec_promote(cases[i].a, cases[i].b) == cases[i].want);
		CHECK(tsr_prec_promote(cases[i].b, cases[i].a) == cases[i].want);
	}
	static const struct { tsr_op op; tsr_prec args[3], operand, result; } ops[] = {
		{TSR_OP_ADD, {P(U8), P(U8)}, P(I32), P(I32)}, {TSR_OP_MUL, {P(BOOL), P(F32)}, P(F32), P(F32)}, {TSR_OP_DIV, {P(I32), P(I32)}, P(F32), P(F32)},
		{TSR_OP_EXP, {P(F16)}, P(F32), P(F32)}, {TSR_OP_EXP, {P(F64)}, P(F64), P(F64)}, {TSR_OP_MAX, {P(U8), P(U8)}, P(U8), P(U8)},
		{TSR_OP_LT, {P(U8), P(F32)}, P(F32), P(BOOL)}, {TSR_OP_AND, {P(BOOL), P(BOOL)}, P(BOOL), P(BOOL)},
		{TSR_OP_WHERE, {P(BOOL), P(U8), P(I16)}, P(I16), P(I16)}, {TSR_OP_ADD, {P(F8), P(F8)}, P(F32), P(F32)},
		{TSR_OP_NEG, {P(U32)}, P(U32), P(U32)},
	};
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		CHECK(tsr_op_operand_prec(ops[i].op, ops[i].args) == ops[i].operand);
		CHECK(tsr_op_result_prec(ops[i].op, ops[i].args) == ops[i].result);
	}
	CHECK(tsr_prec_accumulator(P(BF16)) == P(F32) && tsr_prec_accumulator(P(U8)) == P(I32) && tsr_prec_accumulator(P(F64)) == P(F64));
}

static void test_conversions(void)
{
	CHECK_INT(tsr_scalar_of(P(U8), 300).i, 255);
	CHECK_INT(tsr_scalar_of(P(I8), -300).i, -128);
	CHECK_INT(tsr_scalar_of(P(I32), -2.9).i, -2);
	CHECK_INT(tsr_scalar_of(P(I64), 1e30).i, INT64_MAX);
	CHECK_INT(tsr_scalar_of(P(U32), NAN).i, 0);
	CHECK_INT(tsr_scalar_of(P(U32), 4294967295.).i, 4294967295);
	CHECK_INT(tsr_scalar_of(P(I32), -INFINITY).i, INT32_MIN);
	CHECK_INT(tsr_scalar_convert((tsr_scalar){.prec = P(I32), .i = 300}, P(U8)).i, 44);
	CHECK_INT(tsr_scalar_convert((tsr_scalar){.prec = P(I32), .i = -1}, P(U32)).i, 4294967295);
	CHECK_INT(tsr_scalar_of(P(BOOL), 0.5).i, 1);
	const int64_t odd = ((int64_t)1 << 53) + 1;
	CHECK_INT(tsr_number_in(P(I64), tsr_number_whole(odd)).i, odd);
	CHECK_INT(tsr_number_in(P(I64), tsr_number_whole(INT64_MIN)).i, INT64_MIN);
	CHECK_INT(tsr_number_in(P(U8), tsr_number_whole(300)).i, 255);
	CHECK_INT(tsr_number_in(P(U32), tsr_number_whole(-1)).i, 0);
	CHECK_INT(tsr_number_in(P(I8), tsr_number_whole(odd)).i, 127);
	CHECK_INT(tsr_number_in(P(BOOL), tsr_number_whole(INT64_MIN)).i, 1);
	CHECK(tsr_number_in(P(F32), tsr_number_whole(((int64_t)1 << 54) + ((int64_t)1 << 30) + 1)).d == 0x1p54 + 0x1p31);
	CHECK(tsr_number_in(P(F64), tsr_number_whole(odd)).d == 0x1p53 && tsr_number_in(P(I16), tsr_number_real(-2.9)).i == -2);
	const tsr_cell cells[] = {{.i = odd}, {.i = -odd}};
	CHECK_INT(tsr_numbers_get((tsr_numbers){true, cells}, 1).i, -odd);
	CHECK(tsr_scalar_convert((tsr_scalar){.prec = P(I64), .i = 16777217}, P(F32)).d == 16777216);
	CHECK(tsr_scalar_of(P(F32), 0.1).d == (double)0.1f);
	CHECK(tsr_scalar_of(P(F16), 65519).d == 65504 && isinf(tsr_scalar_of(P(F16), 65520).d));
	CHECK(tsr_scalar_of(P(F16), 2049).d == 2048 && tsr_scalar_of(P(F16), 2051).d == 2052);
	CHECK(tsr_scalar_of(P(F16), 0x1p-25).d == 0 && tsr_scalar_of(P(F16), 0x1.8p-25).d == 0x1p-24);
	CHECK(tsr_scalar_of(P(BF16), 257).d == 256 && tsr_scalar_of(P(BF16), 259).d == 260);
	CHECK(isnan(tsr_scalar_of(P(BF16), NAN).d) && tsr_scalar_of(P(F8), 1.1).d == 1);
	bool alike = true;
	for (int i = 0; i < 20000; i++) {
		double x = ldexp((i * 7919 % 20011) - 10005, i % 40 - 28);
		alike &= tsr_scalar_of(P(F16), x).d == (double)(_Float16)x;
	}
	CHECK(alike);
}

static tsr_scalar apply(tsr_op op, tsr_prec p, double x, double y)
{
	tsr_scalar args[3] = {tsr_scalar_of(p, x), tsr_scalar_of(p, y), tsr_scalar_of(p, 0)};
	return tsr_op_apply(op, p, args);
}

static void test_primitives(void)
{
	CHECK_INT(apply(TSR_OP_IDIV, P(I32), -7, 2).i, -4);
	CHECK_INT(apply(TSR_OP_MOD, P(I32), -7, 2).i, 1);
	CHECK_INT(apply(TSR_OP_MOD, P(I32), 7, -2).i, -1);
	CHECK_INT(apply(TSR_OP_IDIV, P(I32), 7, 0).i, 0);
	CHECK_INT(apply(TSR_OP_MOD, P(I32), 7, 0).i, 7);
	CHECK_INT(apply(TSR_OP_IDIV, P(I32), INT32_MIN, -1).i, INT32_MIN);
	CHECK_INT(apply(TSR_OP_ADD, P(I32), INT32_MAX, 1).i, INT32_MIN);
	CHECK_INT(apply(TSR_OP_SUB, P(U32), 0, 1).i, 4294967295);
	CHECK_INT(apply(TSR_OP_NEG, P(U32), 1, 0).i, 4294967295);
	CHECK(apply(TSR_OP_MOD, P(F32), -7, 2).d == 1 && apply(TSR_OP_MOD, P(F32), 7, -2).d == -1);
	CHECK(apply(TSR_OP_IDIV, P(F32), -7, 2).d == -4);
	CHECK(isnan(apply(TSR_OP_MAX, P(F32), NAN, 1).d) && isnan(apply(TSR_OP_MAX, P(F32), 1, NAN).d));
	CHECK(isnan(apply(TSR_OP_MIN, P(F64), NAN, 1).d) && apply(TSR_OP_MIN, P(F64), 2, 1).d == 1);
	CHECK(apply(TSR_OP_ROUND, P(F32), 2.5, 0).d == 2 && apply(TSR_OP_ROUND, P(F32), 3.5, 0).d == 4);
	CHECK(apply(TSR_OP_ADD, P(F32), 16777216, 1).d == 16777216 && apply(TSR_OP_ADD, P(F64), 16777216, 1).d == 16777217);
	CHECK(apply(TSR_OP_LT, P(U8), 1, 2).i == 1 && apply(TSR_OP_EQ, P(F32), NAN, NAN).i == 0 && apply(TSR_OP_NE, P(F32), NAN, NAN).i == 1);
	tsr_scalar choose[3] = {{.prec = P(BOOL), .i = 0}, tsr_scalar_of(P(F32), 1), tsr_scalar_of(P(F32), 2)};
	CHECK(tsr_op_apply(TSR_OP_WHERE, P(F32), choose).d == 2);
	tsr_scalar fused[3] = {tsr_scalar_of(P(F32), 0x1.000002p0), tsr_scalar_of(P(F32), 0x1.000002p0), tsr_scalar_of(P(F32), -1)};
	CHECK(tsr_op_apply(TSR_OP_FMA, P(F32), fused).d == (double)fmaf(0x1.000002p0f, 0x1.000002p0f, -1));
	CHECK(apply(TSR_OP_SQRT, P(F32), 2, 0).d == (double)sqrtf(2));
}

int main(void)
{
	test_tables();
	test_promotion();
	test_conversions();
	test_primitives();
	return check_end("ops");
}
