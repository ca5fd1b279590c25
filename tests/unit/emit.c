/* emit/: every primitive in every precision, compiled without and with LLVM's passes, against ops/, element by element. */
#include "check.h"
#include "emit_kit.h"
#include "../../compiler/base/text.h"
#include <math.h>

enum { N = 997 };

static const tsr_prec precs[] = {TSR_PREC_BOOL, TSR_PREC_U8, TSR_PREC_I8, TSR_PREC_I16, TSR_PREC_I32, TSR_PREC_U32, TSR_PREC_I64,
	TSR_PREC_F8, TSR_PREC_F16, TSR_PREC_BF16, TSR_PREC_F32, TSR_PREC_F64};
enum { NPRECS = sizeof precs / sizeof *precs };

static uint64_t state = 88172645463325252u;

static uint64_t draw(void)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return state;
}

static double special(void)
{
	static const double s[] = {0, -0.0, 1, -1, 2, -2, 3, 0.5, -0.5, INFINITY, -INFINITY, NAN, 1e-40, 1e30, -1e30, 255, 256, -129,
		127.5, 2147483648.0, -2147483649.0, 1e20, 0.9275, 0.625, 1.5, 2.5, 88.8, -103.9, 65504, 61440};
	return s[draw() % (sizeof s / sizeof *s)];
}

static tsr_scalar element(tsr_prec p)
{
	uint64_t kind = draw() % 4, bits = draw();
	if (p == TSR_PREC_BF16 && kind == 0)                        /* processors flush its subnormals */
		return tsr_scalar_of(p, special() + 1);
	if (tsr_prec_is_float(p))
		return tsr_scalar_of(p, kind == 0 ? special() : kind == 1 ? (double)(int64_t)bits * 0x1p-63 : (double)(int64_t)bits * 0x1p-58);
	tsr_scalar x = {.prec = TSR_PREC_I64, .i = kind < 2 ? (int64_t)(bits % 11) - 5 : (int64_t)bits};
	return tsr_scalar_convert(x, p);
}

static void put(void *data, uint32_t at, tsr_scalar x)
{
	switch (x.prec) {
	case TSR_PREC_BOOL: case TSR_PREC_U8: case TSR_PREC_I8: ((uint8_t *)data)[at] = (uint8_t)x.i; return;
	case TSR_PREC_I16: ((int16_t *)data)[at] = (int16_t)x.i; return;
	case TSR_PREC_I32: case TSR_PREC_U32: ((uint32_t *)data)[at] = (uint32_t)x.i; return;
	case TSR_PREC_I64: ((int64_t *)data)[at] = x.i; return;
	case TSR_PREC_F32: ((float *)data)[at] = (float)x.d; return;
	case TSR_PREC_F64: ((double *)data)[at] = x.d; return;
	case TSR_PREC_F16: ((_Float16 *)data)[at] = (_Float16)x.d; return;
	case TSR_PREC_F8: {
		_Float16 h = (_Float16)x.d;
		memcpy((uint8_t *)data + at, (uint8_t *)&h + 1, 1);
		return;
	}
	case TSR_PREC_BF16: {
		float f = (float)x.d;
		memcpy((uint16_t *)data + at, (uint8_t *)&f + 2, 2);
		return;
	}
	case TSR_PREC_NONE: case TSR_PRECS: break;
	}
	abort();
}

static tsr_scalar get(const void *data, tsr_prec p, uint32_t at)
{
	tsr_scalar x = {.prec = p};
	switch (p) {
	case TSR_PREC_BOOL: case TSR_PREC_U8: x.i = ((const uint8_t *)data)[at]; return x;
	case TSR_PREC_I8: x.i = ((const int8_t *)data)[at]; return x;
	case TSR_PREC_I16: x.i = ((const int16_t *)data)[at]; return x;
	case TSR_PREC_I32: x.i = ((const int32_t *)data)[at]; return x;
	case TSR_PREC_U32: x.i = ((const uint32_t *)data)[at]; return x;
	case TSR_PREC_I64: x.i = ((const int64_t *)data)[at]; return x;
	case TSR_PREC_F32: x.d = ((const float *)data)[at]; return x;
	case TSR_PREC_F64: x.d = ((const double *)data)[at]; return x;
	case TSR_PREC_F16: x.d = (double)((const _Float16 *)data)[at]; return x;
	case TSR_PREC_F8: {
		uint16_t bits = (uint16_t)(((const uint8_t *)data)[at] << 8);
		_Float16 h;
		memcpy(&h, &bits, 2);
		x.d = (double)h;
		return x;
	}
	case TSR_PREC_BF16: {
		uint32_t bits = (uint32_t)((const uint16_t *)data)[at] << 16;
		float f;
		memcpy(&f, &bits, 4);
		x.d = f;
		return x;
	}
	case TSR_PREC_NONE: case TSR_PRECS: break;
	}
	abort();
}

/* Distance in units of the last place of `want`; 0 for equal values and for two NaNs. */
static double ulps(tsr_prec p, double got, double want)
{
	if (got == want || (isnan(got) && isnan(want)) || (p == TSR_PREC_BF16 && fabs(want) < 0x1p-126 && got == 0))
		return 0;
	if (isnan(got) || isnan(want) || isinf(got) || isinf(want))
		return INFINITY;
	int bits = p == TSR_PREC_F64 ? 53 : p == TSR_PREC_F32 ? 24 : p == TSR_PREC_F16 ? 11 : p == TSR_PREC_BF16 ? 8 : 3;
	int least = p == TSR_PREC_F64 ? -1022 : p == TSR_PREC_F32 || p == TSR_PREC_BF16 ? -126 : -14, e;
	frexp(want, &e);
	return fabs(got - want) / ldexp(1, (e - 1 < least ? least : e - 1) - bits + 1);
}

/* Operations whose form in f32 and f64 is this project's own polynomial: within 2 places of the C library's, which in f64 is up to 2 from the exact result
 * (tanh); tests/unit/math.c and math_f64.c have the bounds from that. */
static double allowed(tsr_op op, tsr_prec p)
{
	static const tsr_op inexact[] = {TSR_OP_EXP, TSR_OP_LOG, TSR_OP_EXP2, TSR_OP_LOG2, TSR_OP_SIN, TSR_OP_COS, TSR_OP_TANH, TSR_OP_ERF,
		TSR_OP_POW, TSR_OP_RSQRT};
	for (size_t i = 0; i < sizeof inexact / sizeof *inexact; i++)
		if (inexact[i] == op)
			return p == TSR_PREC_F32 || p == TSR_PREC_F64 ? 2 : 1;
	return 0;
}

/* Whether the primitive is defined on operands of the precision: what tsr_op_operand_prec leaves as it is. */
static bool applies(tsr_op op, tsr_prec p)
{
	tsr_prec args[3] = {op == TSR_OP_WHERE ? TSR_PREC_BOOL : p, p, p};
	return tsr_op_operand_prec(op, args) == p;
}

static void add_buffer(tsr_text *t, const char *name, tsr_prec p)
{
	tsr_text_addf(t, "buffer %%%s : %s[%d] value observed\n", name, tsr_prec_name(p), N);
}

/* Buffers: b (bool), x, y, z, then one result per operation. */
static const char *program(tsr_arena *a, tsr_prec p, tsr_op *ops, int *nops)
{
	tsr_text t, u;
	tsr_text_init(&t, a);
	tsr_text_init(&u, a);
	add_buffer(&t, "b", TSR_PREC_BOOL);
	add_buffer(&t, "x", p);
	add_buffer(&t, "y", p);
	add_buffer(&t, "z", p);
	tsr_text_add(&u, "unit all {\n");
	for (int op = 0; op < TSR_OPS; op++) {
		if (!applies((tsr_op)op, p))
			continue;
		const tsr_op_info *o = tsr_op_get((tsr_op)op);
		tsr_prec args[3] = {op == TSR_OP_WHERE ? TSR_PREC_BOOL : p, p, p};
		add_buffer(&t, tsr_format(a, "r_%s", o->name), tsr_op_result_prec((tsr_op)op, args));
		tsr_text_addf(&u, "  kernel %s { for i in 0..%d parallel { store %%r_%s[i] = %s.%s(", o->name, N, o->name, o->name, tsr_prec_name(p));
		const char *operands = op == TSR_OP_WHERE ? "%b[i], %x[i], %y[i]" : o->arity == 3 ? "%x[i], %y[i], %z[i]" : o->arity == 2 ? "%x[i], %y[i]" : "%x[i]";
		tsr_text_addf(&u, "%s) } }\n", operands);
		ops[(*nops)++] = (tsr_op)op;
	}
	tsr_text_add(&u, "}\n");
	tsr_text_add(&t, tsr_text_str(&u));
	return tsr_text_str(&t);
}

static void compare(tsr_op op, tsr_prec p, int level, void **data, const void *result)
{
	double worst = 0;
	int bad = -1;
	tsr_prec r = TSR_PREC_NONE;
	tsr_scalar args[3], want = {0}, got = {0};
	for (uint32_t i = 0; i < N; i++) {
		args[0] = op == TSR_OP_WHERE ? get(data[0], TSR_PREC_BOOL, i) : get(data[1], p, i);
		args[1] = op == TSR_OP_WHERE ? get(data[1], p, i) : get(data[2], p, i);
		args[2] = op == TSR_OP_WHERE ? get(data[2], p, i) : get(data[3], p, i);
		want = tsr_op_apply(op, p, args);
		r = want.prec;
		got = get(result, r, i);
		double d = tsr_prec_is_float(r) ? ulps(r, got.d, want.d) : got.i == want.i ? 0 : INFINITY;
		if (d > worst)
			worst = d, bad = (int)i;
	}
	if (!CHECK(worst <= allowed(op, p)))
		printf("  %s.%s at -O%d: off by %g at element %d: x %g y %g z %g\n", tsr_op_get(op)->name, tsr_prec_name(p), level, worst, bad,
			tsr_prec_is_float(p) ? get(data[1], p, (uint32_t)bad).d : (double)get(data[1], p, (uint32_t)bad).i,
			tsr_prec_is_float(p) ? get(data[2], p, (uint32_t)bad).d : (double)get(data[2], p, (uint32_t)bad).i,
			tsr_prec_is_float(p) ? get(data[3], p, (uint32_t)bad).d : (double)get(data[3], p, (uint32_t)bad).i);
}

static void test_primitives(tsr_prec p, int level, const char *cpu)
{
	tsr_arena *a = tsr_arena_new();
	tsr_op ops[TSR_OPS];
	int nops = 0;
	kit k = kit_compile(program(a, p, ops, &nops), level, cpu);
	void *data[4 + TSR_OPS];
	for (int i = 0; i < 4 + nops; i++)
		data[i] = aligned_alloc(64, 8192);
	for (uint32_t i = 0; i < N; i++) {
		put(data[0], i, element(TSR_PREC_BOOL));
		for (int j = 1; j < 4; j++)
			put(data[j], i, element(p));
	}
	kit_find(&k, "all")(NULL, data, NULL, NULL);
	for (int i = 0; i < nops; i++)
		compare(ops[i], p, level, data, data[4 + i]);
	for (int i = 0; i < 4 + nops; i++)
		free(data[i]);
	kit_free(&k);
	tsr_arena_free(a);
}

/* From every precision to every other. */
static void test_conversions(int level)
{
	tsr_arena *a = tsr_arena_new();
	tsr_text t;
	tsr_text_init(&t, a);
	for (int i = 0; i < NPRECS; i++)
		add_buffer(&t, tsr_format(a, "x%d", i), precs[i]);
	for (int i = 0; i < NPRECS * NPRECS; i++)
		add_buffer(&t, tsr_format(a, "r%d", i), precs[i % NPRECS]);
	tsr_text_add(&t, "unit all {\n");
	for (int i = 0; i < NPRECS * NPRECS; i++)
		if (i / NPRECS != i % NPRECS)
			tsr_text_addf(&t, "  kernel k%d { for i in 0..%d parallel { store %%r%d[i] = convert.%s(%%x%d[i]) } }\n", i, N, i,
				tsr_prec_name(precs[i % NPRECS]), i / NPRECS);
	tsr_text_add(&t, "}\n");
	kit k = kit_compile(tsr_text_str(&t), level, NULL);
	void *data[NPRECS + NPRECS * NPRECS];
	for (int i = 0; i < NPRECS + NPRECS * NPRECS; i++)
		data[i] = aligned_alloc(64, 8192);
	for (int i = 0; i < NPRECS; i++)
		for (uint32_t j = 0; j < N; j++)
			put(data[i], j, element(precs[i]));
	kit_find(&k, "all")(NULL, data, NULL, NULL);
	for (int i = 0; i < NPRECS * NPRECS; i++) {
		tsr_prec from = precs[i / NPRECS], to = precs[i % NPRECS];
		double worst = 0, at = 0;
		for (uint32_t j = 0; j < N && from != to; j++) {
			tsr_scalar x = get(data[i / NPRECS], from, j), want = tsr_scalar_convert(x, to), got = get(data[NPRECS + i], to, j);
			double d = tsr_prec_is_float(to) ? ulps(to, got.d, want.d) : got.i == want.i ? 0 : INFINITY;
			if (d > worst)
				worst = d, at = tsr_prec_is_float(from) ? x.d : (double)x.i;
		}
		/* narrow floats are reached through f32, which may round twice */
		bool twice = to == TSR_PREC_F8 || to == TSR_PREC_F16 || to == TSR_PREC_BF16;
		if (!CHECK(worst <= (twice && from != TSR_PREC_F32 ? 1 : 0)))
			printf("  %s to %s at -O%d: off by %g at %.17g\n", tsr_prec_name(from), tsr_prec_name(to), level, worst, at);
	}
	for (int i = 0; i < NPRECS + NPRECS * NPRECS; i++)
		free(data[i]);
	kit_free(&k);
	tsr_arena_free(a);
}

/* Every statement and expression kind, with run-time sizes and numbers: compiled and interpreted memory are equal. */
static const char everything[] =
	"symbol ?n\n"
	"symbol ?m\n"
	"number @i\n"
	"buffer %x : f32[6, ?n] value observed\n"
	"buffer %w : f32[?n, 3] param\n"
	"buffer %k : i32[3] literal = {1, -2, 3}\n"
	"buffer %ids : u8[6] value observed\n"
	"buffer %y : f32[6, 3] value observed\n"
	"buffer %z : f32[6] value observed\n"
	"buffer %b : bool[6] value observed\n"
	"buffer %s : i64[2*?n - 1, ?m] value observed\n"
	"unit step {\n"
	"  check 2*@i - 1 in 0..6 \"minibatch\"\n"
	"  kernel y {\n"
	"    for a in 0..6 parallel { for b in 0..3 vector {\n"
	"      let $0 : f32 = 0.\n"
	"      for k in 0..?n reduce { set $0 = add.f32($0, mul.f32(%x[a, k], %w[k, b])) }\n"
	"      store %y[a, b] = $0\n"
	"    } }\n"
	"  }\n"
	"  kernel z {\n"
	"    for a in 0..6 serial {\n"
	"      letsym t = convert.i32(%ids[a])\n"
	"      store %z[a] = where.f32(lt.f32(%y[a, 0], 1.5), select(a - 2 in 0..3, 2*a + @i + 1 in 0..?n; %y[a - 2, 1]; -inf), convert.f32(7:u8))\n"
	"      check t in 0..6 \"ids\"\n"
	"      update %z[a] += convert.f32(add.i32(%k[0], index.i32(3*a - 2)))\n"
	"      update %z[a] @^= size.f32(?n + 2)\n"
	"      if t in 0..5, @i - 1 in 0..?n { update %z[t] *= 2. }\n"
	"      store %b[a] = and.bool(ge.f32(%z[a], 4.), not.bool(eq.f32(%y[a, 1], 0.)))\n"
	"      update %b[t] ||= false\n"
	"    }\n"
	"    for c in 0..2*?n - 1 { for d in 0..?m { store %s[c, d] = add.i64(index.i64(3*c - d + @i), number.i64(@i)) } }\n"
	"  }\n"
	"}\n";

static void test_everything(int level)
{
	enum { BUFFERS = 8, BYTES = 4096 };
	kit k = kit_compile(everything, level, NULL);
	int64_t symbols[2] = {5, 4}, numbers[1] = {2};
	void *compiled[BUFFERS], *interpreted[BUFFERS];
	for (int i = 0; i < BUFFERS; i++) {
		compiled[i] = aligned_alloc(64, BYTES), interpreted[i] = aligned_alloc(64, BYTES);
		memset(compiled[i], 0, BYTES);
	}
	for (uint32_t i = 0; i < 30; i++)                           /* quarters: sums are exact in any order */
		((float *)compiled[0])[i] = (float)(int)(draw() % 9) / 4 - 1;
	for (uint32_t i = 0; i < 15; i++)
		((float *)compiled[1])[i] = (float)(int)(draw() % 9) / 4 - 1;
	memcpy(compiled[2], (int32_t[]){1, -2, 3}, 12);
	for (uint32_t i = 0; i < 6; i++)
		((uint8_t *)compiled[3])[i] = (uint8_t)(draw() % 6);
	for (int i = 0; i < BUFFERS; i++)
		memcpy(interpreted[i], compiled[i], BYTES);
	tsr_machine m = {.buffers = interpreted, .numbers = numbers, .symbols = symbols};
	CHECK(tsr_loops_run(k.loops, 0, &m));
	kit_find(&k, "step")(NULL, compiled, symbols, numbers);
	for (int i = 0; i < BUFFERS; i++)
		if (!CHECK(!memcmp(compiled[i], interpreted[i], BYTES)))
			printf("  buffer %s at -O%d\n", k.loops->buffers.at[i]->name, level);
	for (int i = 0; i < BUFFERS; i++)
		free(compiled[i]), free(interpreted[i]);
	kit_free(&k);
}

int main(void)
{
	for (int i = 0; i < NPRECS; i++) {
		test_primitives(precs[i], 0, NULL);
		test_primitives(precs[i], 2, NULL);
	}
	test_primitives(TSR_PREC_F32, 2, "x86-64-v2");
	test_conversions(0);
	test_conversions(2);
	test_everything(0);
	test_everything(2);
	return check_end("emit");
}
