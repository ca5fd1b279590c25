/* The contraction engine against the reference interpreter: random classes, permutations, strides and sizes around tile
 * edges, at every vector width that this machine runs.  All floats are small multiples of a power of two, so sums are
 * exact in any order and results must be equal; whole numbers wrap. */
#include "../../compiler/llvm/emit.h"
#include "../../compiler/opt/opt.h"
#include "../../compiler/base/text.h"
#include "../../runtime/tsr_abi.h"
#include "check.h"
#include <dlfcn.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdlib.h>
#include <unistd.h>

enum { CLASSES = 4, CASES = 180, COLUMNS = 16, NARROW = 40, DOTS = 24, ALL = CASES + COLUMNS + NARROW + DOTS, MOST_TERMS = 12, EACH = 8 };         /* buffers of a case: c, a, b, numbers that a and b look up, i and j, and of its tail r, s, y */

static uint64_t state;
static uint32_t draw(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

/* ---- random programs ------------------------------------------------------------------------------------------------ */

typedef struct axis_text { char index[64], size[32]; int64_t extent; } axis_text;

/* The operand is looked up along an axis: by numbers, of which some are none of its places, that depend on this loop and perhaps on another one,
 * which the operand may have for itself, too. */
static const char *looked_up(tsr_arena *a, tsr_text *numbers, const char *name, const char *prec, const char *use, int x, int other, const int *extent)
{
	const char *none = *prec == 'f' ? tsr_format(a, "0.0:%s", prec) : *prec == 'b' ? "false" : tsr_format(a, "0:%s", prec);
	const char *at = other < 0 ? tsr_format(a, "%%%s[l%d]", name, x) : tsr_format(a, "%%%s[l%d, l%d]", name, other, x);
	if (other < 0)
		tsr_text_addf(numbers, "buffer %%%s : i32[%d] param\n", name, extent[x]);
	else
		tsr_text_addf(numbers, "buffer %%%s : i32[%d, %d] param\n", name, extent[other], extent[x]);
	return tsr_format(a, "lookup(%s.%d = %s; select(%s.%d in 0..%d; %s; %s))", *name == 'i' ? "t" : "u", MOST_TERMS + (*name == 'j'),
		draw(2) ? at : tsr_format(a, "convert.i64(%s)", at), *name == 'i' ? "t" : "u", MOST_TERMS + (*name == 'j'), extent[x] + 3, use, none);
}

/* An operand over these loops: axes mostly shuffled, some strided, some joined as i + 3 k, some as i + k - 1 under a guard, as padding
 * makes them (`guards` NULL: neither). */
static bool in_order;            /* axes are not shuffled */
static int operand(tsr_text *decl, tsr_text *use, tsr_text *guards, const char *name, const char *prec, const char *kind, int n,
					const int *loops, const int *extent, const bool *runtime)
{
	bool plain = !guards;
	int looked = -1;             /* the loop whose axis is looked up */
	int order[MOST_TERMS];
	for (int i = 0; i < n; i++)
		order[i] = loops[i];
	bool orderly = draw(3) == 0 || in_order;     /* what is summed lies innermost */
	for (int i = n - 1; i > 0 && !orderly; i--) {
		int j = (int)draw((uint32_t)i + 1), t = order[i];
		order[i] = order[j];
		order[j] = t;
	}
	tsr_text_addf(decl, "buffer %%%s : %s[", name, prec);
	tsr_text_addf(use, "%%%s[", name);
	for (int i = 0; i < n; i++) {
		const char *comma = i ? ", " : "";
		int x = order[i], way = plain || runtime[x] ? 0 : (int)draw(10);
		if (way == 1) {
			tsr_text_addf(use, "%s2*l%d + 1", comma, x);
			tsr_text_addf(decl, "%s%d", comma, 2 * extent[x] + 1);
		} else if (way == 2 && i + 1 < n && !runtime[order[i + 1]]) {
			tsr_text_addf(use, "%sl%d + 3*l%d", comma, x, order[i + 1]);
			tsr_text_addf(decl, "%s%d", comma, extent[x] + 3 * extent[order[i + 1]]);
			i++;
		} else if (way == 3 && i + 1 < n && !runtime[order[i + 1]]) {
			tsr_text_addf(guards, "%sl%d + l%d - 1 in 0..%d", *tsr_text_str(guards) ? ", " : "", x, order[i + 1], extent[x]);
			tsr_text_addf(use, "%sl%d + l%d - 1", comma, x, order[i + 1]);
			tsr_text_addf(decl, "%s%d", comma, extent[x]);
			i++;
		} else if (way >= 4 && way < 7 && looked < 0) {
			looked = x;
			tsr_text_addf(use, "%s%s.%d", comma, *name == 'a' ? "t" : "u", MOST_TERMS + (*name == 'b'));
			tsr_text_addf(decl, "%s%d", comma, extent[x] + 3);
		} else {
			tsr_text_addf(use, "%sl%d", comma, x);
			if (runtime[x])
				tsr_text_addf(decl, "%s?n", comma);
			else
				tsr_text_addf(decl, "%s%d", comma, extent[x]);
		}
	}
	tsr_text_addf(decl, "] %s\n", kind);
	tsr_text_addf(use, "]");
	return looked;
}

/* One that may be looked up, which always declares the numbers. */
static void factor(tsr_arena *a, tsr_text *decl, tsr_text *use, tsr_text *guards, const char *name, const char *prec, int n, const int *loops,
				   const int *extent, const bool *runtime)
{
	int looked = operand(decl, use, guards, name, prec, atoi(name + 1) % 2 ? "input" : "param", n, loops, extent, runtime), other = n ? loops[draw((uint32_t)n)] : -1;
	const char *numbers = tsr_format(a, "%c%s", *name == 'a' ? 'i' : 'j', name + 1);
	if (looked < 0) {
		tsr_text_addf(decl, "buffer %%%s : i32[1] param\n", numbers);
		return;
	}
	if (other == looked || runtime[other] || draw(2))
		other = -1;
	const char *text = looked_up(a, decl, numbers, prec, tsr_format(a, "%s", tsr_text_str(use)), looked, other, extent);
	tsr_text_init(use, a);
	tsr_text_addf(use, "%s", text);
}

/* Likewise of whole numbers and of bools. */
static const char *dressed_whole(tsr_arena *a, const char *text, const char *prec, int loop)
{
	if (!strcmp(prec, "bool"))
		return draw(4) ? text : tsr_format(a, "not.bool(%s)", text);
	switch (draw(8)) {
	case 0: return tsr_format(a, "max.%s(%s, 1:%s)", prec, text, prec);
	case 1: return tsr_format(a, "mul.%s(%s, 65537:%s)", prec, text, prec);
	case 2: return tsr_format(a, "convert.%s(convert.i16(%s))", prec, text);
	case 3: return loop < 0 ? text : tsr_format(a, "add.%s(%s, index.%s(l%d))", prec, text, prec, loop);
	default: return text;
	}
}

/* The operand as it stands in the product: mostly itself, else an expression that packing has to evaluate. */
static const char *dressed(tsr_arena *a, tsr_text *x, const char *prec, int loop)
{
	const char *text = tsr_text_str(x);
	if (*prec != 'f')
		return dressed_whole(a, text, prec, loop);
	switch (draw(8)) {
	case 0: return tsr_format(a, "max.%s(%s, 0.0:%s)", prec, text, prec);
	case 1: return tsr_format(a, "mul.%s(%s, 0.5:%s)", prec, text, prec);
	case 2: return tsr_format(a, "where.%s(lt.%s(%s, 0.25:%s), %s, 1.0:%s)", prec, prec, text, prec, text, prec);
	case 3: return tsr_format(a, "convert.%s(convert.i32(%s))", prec, text);
	case 4: return loop < 0 ? text : tsr_format(a, "add.%s(%s, index.%s(l%d))", prec, text, prec, loop);
	default: return text;
	}
}

/* What collects, what it combines, and what stands for nothing: mostly sums of products. */
typedef struct semiring { const char *update, *collect, *combine, *neutral; } semiring;

static const semiring *draw_semiring(bool guarded, const char *prec)
{
	static const semiring bools[] = { { "||=", "or", "and", "false" }, { "&&=", "and", "or", "true" } };
	static const semiring whole[] = {
		{ "+=", "add", "mul", "0" }, { "@^=", "max", "min", "-inf" }, { "@-=", "min", "max", "inf" }, { "@^=", "max", "mul", "-inf" },
	};
	if (*prec == 'b')
		return &bools[draw(2)];
	if (*prec != 'f')
		return &whole[guarded || draw(3) ? 0 : draw(4)];
	static const semiring all[] = {
		{ "+=", "add", "mul", "0.0" }, { "@^=", "max", "add", "-inf" }, { "@-=", "min", "add", "inf" },
		{ "@^=", "max", "mul", "-inf" }, { "@-=", "min", "max", "inf" }, { "@^=", "max", "min", "-inf" },
	};
	return draw(3) ? &all[0] : &all[draw(guarded ? 3 : 6)];
}

/* What stands for nothing, as a number of this precision. */
static const char *nothing(tsr_arena *a, const semiring *r, const char *prec)
{
	if (*prec == 'b')
		return r->neutral;
	bool whole = *prec != 'f', large = !strcmp(r->neutral, "inf"), small = !strcmp(r->neutral, "-inf");
	if (!whole || (!large && !small))
		return tsr_format(a, "%s:%s", r->neutral, prec);
	if (*prec == 'u')
		return large ? "4294967295:u32" : "0:u32";
	return !strcmp(prec, "i32") ? (large ? "2147483647:i32" : "-2147483648:i32")
								: (large ? "9223372036854775807:i64" : "-9223372036854775808:i64");
}

/* Of the second result, by the case's number. */
static const char *const narrow[] = { "f32", "f16", "bf16", "f16" };

/* What the tail reads and writes: r mostly lies like c, s has some of its loops. */
static void tail_operands(tsr_arena *a, tsr_text *decl, tsr_text *use, const char *c, const char *c_dims, int id, const char *prec, int nc,
						  const int *in_c, const int *extent, const bool *runtime)
{
	int some[MOST_TERMS], n = 0;
	for (int i = 0; i < nc; i++)
		if (draw(2))
			some[n++] = in_c[i];
	if (draw(3)) {
		tsr_text_addf(&use[0], "%%r%d%s", id, strchr(c, '['));
		tsr_text_addf(decl, "buffer %%r%d : %s%s param\n", id, prec, c_dims);
	} else
		operand(decl, &use[0], NULL, tsr_format(a, "r%d", id), prec, "param", nc, in_c, extent, runtime);
	operand(decl, &use[1], NULL, tsr_format(a, "s%d", id), prec, "param", n, some, extent, runtime);
	tsr_text_addf(&use[2], "%%y%d%s", id, strchr(c, '['));
	tsr_text_addf(decl, "buffer %%y%d : %s%s value\n", id, narrow[id % 4], c_dims);
}

/* One of what a sum may become: of bools, of whole numbers, of floats. */
static const char *becomes(tsr_arena *a, const char *r, const char *s, const char *prec)
{
	uint32_t ways = *prec == 'b' ? 2 : *prec != 'f' ? 3 : 5;
	if (*prec == 'b')
		return draw(ways) ? tsr_format(a, "or.bool($0, %s)", s) : tsr_format(a, "and.bool(or.bool($0, %s), %s)", s, r);
	switch (draw(ways)) {
	case 0: return tsr_format(a, "add.%s($0, %s)", prec, s);
	case 1: return tsr_format(a, "max.%s(add.%s(add.%s($0, %s), %s), %s)", prec, prec, prec, s, r, s);
	case 2: return tsr_format(a, "where.%s(gt.%s(%s, %s), $0, %s)", prec, prec, s, r, s);
	case 3: return tsr_format(a, "sub.%s(mul.%s(%s, 0.5:%s), convert.%s(convert.i32(max.%s($0, %s))))", prec, prec, r, prec, prec, prec, s);
	default: return tsr_format(a, "mul.%s($0, 2.0:%s)", prec, prec);
	}
}

/* The stores behind a sum: mostly itself. */
static void add_stores(tsr_arena *a, tsr_text *units, const char *c, const tsr_text *use, const char *prec, bool tails, int id)
{
	const char *r = use[0].at, *s = use[1].at, *y = use[2].at, *value = tails && draw(4) ? becomes(a, r, s, prec) : "$0";
	const char *up = *prec == 'b' ? "or" : "max", *down = *prec == 'b' ? "and" : "min";
	for (uint32_t longer = tails ? draw(3) * draw(8) : 0; longer > 0; longer--)
		value = tsr_format(a, "%s.%s(%s.%s(%s, %s), %s)", up, prec, down, prec, value, draw(2) ? r : s, s);
	bool both = tails && draw(3) == 0, named = tails && draw(3) == 0;
	if (named)
		tsr_text_addf(units, "let $1 : %s = %s\n", prec, value);
	tsr_text_addf(units, "store %s = %s\n", c, named ? "$1" : value);
	const char *second = tsr_format(a, "%s.%s(%s, %s)", up, prec, named && draw(2) ? "$1" : "$0", draw(2) ? r : s);
	if (*prec != 'b' && draw(2))     /* an update: of what is there already */
		second = tsr_format(a, "add.%s(convert.%s(%s), %s)", prec, prec, y, second);
	if (both)
		tsr_text_addf(units, "store %s = convert.%s(%s)\n", y, narrow[id % 4], second);
}

static void make_case(tsr_arena *a, tsr_text *decl, tsr_text *units, int id, int symbol_value)
{
	static const int sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 15, 16, 17, 24, 31, 32, 33, 47, 48, 49, 63, 64, 65, 100, 130 };
	static const int more[] = { 1, 2, 3, 4, 5, 8, 12, 16, 20, 24, 72, 128 };
	static const int wide[] = { 16, 20, 24, 32 }, fewer[CLASSES] = { 1, 5, 0, 24 };
	bool lines = draw(4) == 0;       /* rows of C are whole lines, which can go around the caches */
	bool few = draw(6) == 0;         /* few rows of sums, which are turned where B's columns lie otherwise than C's */
	bool rows = !few && draw(6) == 0;        /* rows of C fill lines only together */
	int extent[MOST_TERMS], in_c[MOST_TERMS], in_a[MOST_TERMS], in_b[MOST_TERMS], nc = 0, na = 0, nb = 0, n = 0;
	bool runtime[MOST_TERMS];
	int64_t work = 1, most = 1;      /* `most`: with the largest run-time size */
	char loops[MOST_TERMS][16];
	for (int cls = 0; cls < CLASSES; cls++) {
		int count = rows ? (int[]){ 0, 2, 2, 1 }[cls] : few ? (int[]){ (int)draw(4) / 3, 1, 2, 1 }[cls] : cls == 0 ? (int)draw(4) / 2 : 1 + (int)draw(8) / 5 + (int)(draw(12) == 0) - (int)(draw(12) == 0);
		for (int i = 0; i < count; i++, n++) {
			extent[n] = lines ? 16 * (1 + (int)draw(4)) : id >= CASES ? sizes[7 + draw(11)] : sizes[draw(sizeof sizes / sizeof *sizes)];
			if (cls == 0)
				extent[n] = 1 + (int)draw(4);
			else if (i > 0)      /* stretches of all lengths, and long ones, which are parted */
				extent[n] = lines ? 16 : more[draw(sizeof more / sizeof *more)];
			if (few)
				extent[n] = cls == 2 ? wide[draw(lines ? 1 : 4)] : fewer[cls] - (int)draw(3) * (cls > 0);
			if (rows)
				extent[n] = cls == 1 ? (i ? 8 : 3) : cls == 2 ? (i ? 20 + 4 * (int)draw(2) : 16) : 2 + (int)draw(14);
			runtime[n] = symbol_value && !few && !rows && cls > 0 && draw(3) == 0 && most * 97 < 1000000;
			if (runtime[n])
				extent[n] = symbol_value;
			while (work * extent[n] > 150000 && !runtime[n] && extent[n] > 1)
				extent[n] = (extent[n] + 1) / 2;
			work *= extent[n];
			most *= runtime[n] ? 97 : extent[n];
			snprintf(loops[n], sizeof loops[n], "l%d", n);
			if (cls != 3)
				in_c[nc++] = n;
			if (cls != 2)
				in_a[na++] = n;
			if (cls != 1)
				in_b[nb++] = n;
		}
	}
	static const char *const precs[] = { "f32", "f32", "f32", "f32", "f32", "f32", "f64", "f64", "i32", "u32", "i64", "bool" };
	const char *prec = id < CASES ? precs[draw(sizeof precs / sizeof *precs)] : "f32";
	tsr_text c, x, y;
	tsr_text_init(&c, a), tsr_text_init(&x, a), tsr_text_init(&y, a);
	tsr_text guards;
	tsr_text_init(&guards, a);
	size_t before = decl->n;
	if (rows)
		in_c[1] = 2, in_c[2] = 1;        /* rows, columns, rows, columns */
	in_order = rows;
	operand(decl, &c, NULL, tsr_format(a, "c%d", id), prec, id / 4 % 2 ? "value" : "state", nc, in_c, extent, runtime);
	in_order = false;
	const char *dims = tsr_format(a, "%s", strchr(tsr_text_str(decl) + before, '['));
	dims = tsr_format(a, "%.*s", (int)strcspn(dims, "]") + 1, dims);
	factor(a, decl, &x, &guards, tsr_format(a, "a%d", id), prec, na, in_a, extent, runtime);
	factor(a, decl, &y, few ? NULL : &guards, tsr_format(a, "b%d", id), prec, nb, in_b, extent, runtime);
	tsr_text use[3];
	for (int i = 0; i < 3; i++)
		tsr_text_init(&use[i], a);
	tail_operands(a, decl, use, tsr_text_str(&c), dims, id, prec, nc, in_c, extent, runtime);
	for (int i = 0; i < 3; i++)
		tsr_text_str(&use[i]);
	int form = few || rows ? 4 : (int)draw(4);
	const semiring *r = draw_semiring(id >= CASES || *tsr_text_str(&guards), prec);
	tsr_text_addf(units, "unit u%d { kernel k {\n", id);
	for (int i = 0; i < n; i++) {
		bool summed = true;
		for (int j = 0; j < nc; j++)
			summed &= in_c[j] != i;
		if (form == 0 || !summed)
			tsr_text_addf(units, "for %s in 0..%s %s {\n", loops[i], runtime[i] ? "?n" : tsr_format(a, "%d", extent[i]), summed ? "reduce" : "parallel");
		if (form != 0 && i + 1 == nc)
			tsr_text_addf(units, "let $0 : %s = %s\n", prec, form == 3 ? tsr_text_str(&c) : nothing(a, r, prec));
	}
	/* K's loops come last in the numbering, so the local form opens them after the let */
	const char *xs = dressed(a, &x, prec, na ? in_a[0] : -1), *ys = few ? tsr_text_str(&y) : dressed(a, &y, prec, -1), *cs = tsr_text_str(&c);
	if (id >= CASES) {               /* matrix registers multiply them */
		xs = tsr_format(a, "convert.f32(convert.bf16(%s))", xs);
		ys = tsr_format(a, "convert.f32(convert.bf16(%s))", ys);
	}
	bool guard = *tsr_text_str(&guards);
	const char *open = guard ? tsr_format(a, "if %s {\n", tsr_text_str(&guards)) : "", *close = guard ? "}\n" : "";
	if (form == 0) {
		tsr_text_addf(units, "%supdate %s %s %s.%s(%s, %s)\n%s", open, cs, *r->update == '+' && !draw(3) ? "-=" : r->update, r->combine, prec, xs, ys, close);
		for (int i = 0; i < n; i++)
			tsr_text_addf(units, "}");
	} else {
		if (nc == 0)
			tsr_text_addf(units, "let $0 : %s = %s\n", prec, nothing(a, r, prec));
		for (int i = nc; i < n; i++)
			tsr_text_addf(units, "for %s in 0..%s reduce {\n", loops[i], runtime[i] ? "?n" : tsr_format(a, "%d", extent[i]));
		tsr_text_addf(units, "%sset $0 = %s.%s($0, %s.%s(%s, %s))\n%s", open, r->collect, prec, r->combine, prec, xs, ys, close);
		for (int i = nc; i < n; i++)
			tsr_text_addf(units, "}");
		if (form == 1)
			tsr_text_addf(units, "update %s %s $0\n", cs, r->update);
		else
			add_stores(a, units, cs, use, prec, form == 2, id);
		for (int i = 0; i < nc; i++)
			tsr_text_addf(units, "}");
	}
	tsr_text_addf(units, "} }\n");
}

#include "contract_windows.h"
#include "contract_columns.h"
#include "contract_dots.h"

/* ---- compiling ------------------------------------------------------------------------------------------------------ */

typedef struct level { tsr_target target; const char *cpu, *feature; } level;

static void attribute(tsr_emit *e, const char *name, const char *value)
{
	LLVMAddAttributeAtIndex(e->function, LLVMAttributeFunctionIndex,
		LLVMCreateStringAttribute(e->context, name, (unsigned)strlen(name), value, (unsigned)strlen(value)));
}

/* void uN(void **buffers, i64 n) for each unit; units whose contraction keeps plain loops stay empty. */
static void emit_unit(tsr_emit *e, const tsr_loops *l, uint32_t u, const char *cpu, bool *made)
{
	LLVMTypeRef params[2] = { e->ptr, e->i64 };
	e->function = LLVMAddFunction(e->module, l->units.at[u]->name, LLVMFunctionType(e->none, params, 2, false));
	attribute(e, "target-cpu", cpu);
	attribute(e, "prefer-vector-width", "512");
	attribute(e, "min-legal-vector-width", "512");
	LLVMPositionBuilderAtEnd(e->builder, LLVMAppendBasicBlockInContext(e->context, e->function, "entry"));
	LLVMValueRef n = LLVMGetParam(e->function, 1);
	e->symbols = &n;
	for (uint32_t i = 0; i < l->buffers.n; i++) {
		LLVMValueRef at = LLVMConstInt(e->i64, i, false);
		if (i / EACH == u)
			e->buffers[l->buffers.at[i]->id] = LLVMBuildLoad2(e->builder, e->ptr,
				LLVMBuildInBoundsGEP2(e->builder, e->ptr, LLVMGetParam(e->function, 0), &at, 1, ""), "");
	}
	*made = tsr_emit_contraction(e, l->units.at[u]->body.at[0]->kernel.body.at[0]);
	LLVMBuildRetVoid(e->builder);
}

/* Results go around the caches wherever each element is stored once; the pass that decides wants them large. */
static void written_once(tsr_stmt *loop)
{
	const tsr_contraction *k = loop->loop.contraction;
	loop->loop.stream = k && tsr_contract_one_block(k);
}

/* Tiles of rows that the model would not choose: panels of every width are turned in their own way. */
static void other_height(tsr_contraction *c, const tsr_target *t, uint32_t u)
{
	tsr_schedule *s = &c->schedule;
	if (!s->mr || !s->pack_a || s->rows || s->turn || s->join || s->knit)
		return;
	uint32_t vecs = s->nr * (uint32_t)tsr_prec_bytes(c->prec) / t->vector_bytes, most = (t->vector_registers - 1 - vecs) / vecs;
	s->mr = 1 + u % (most > 24 ? 24 : most);
	s->mc = (s->mc + s->mr - 1) / s->mr * s->mr;
}

/* Tiles column by column where the model, of products as small as these, has them row by row. */
static void other_order(tsr_schedule *s, uint32_t u)
{
	s->panels |= s->mr && s->pack_b && !s->pack_a && u % 4 == 1;
}

/* What the code asks the runtime. */
static void answer(tsr_emit *e)
{
	LLVMValueRef asked = LLVMGetNamedFunction(e->module, "tsr_matrix_unit");
	if (!asked)
		return;
	LLVMPositionBuilderAtEnd(e->builder, LLVMAppendBasicBlockInContext(e->context, asked, "entry"));
	LLVMBuildRet(e->builder, LLVMConstInt(e->i32, (unsigned)tsr_matrix_unit(), false));
}

static void *compile(tsr_loops *l, const level *v, bool *made)
{
	tsr_opt_options options = { .level = 2, .fuse = true, .passes = "classify,schedule,passing" };
	CHECK(tsr_opt_run(l, &v->target, &options));
	for (uint32_t u = 0; u < l->units.n; u++) {
		written_once(l->units.at[u]->body.at[0]->kernel.body.at[0]);
		if (l->units.at[u]->body.at[0]->kernel.body.at[0]->loop.contraction)
			other_order(&l->units.at[u]->body.at[0]->kernel.body.at[0]->loop.contraction->schedule, u);
		if (u % 4 == 0 && l->units.at[u]->body.at[0]->kernel.body.at[0]->loop.contraction)
			other_height(l->units.at[u]->body.at[0]->kernel.body.at[0]->loop.contraction, &v->target, u / 4);
	}
	tsr_emit e = { .tc = l->tc, .loops = l, .target = &v->target, .context = LLVMContextCreate() };
	e.module = LLVMModuleCreateWithNameInContext("contract", e.context);
	e.builder = LLVMCreateBuilderInContext(e.context);
	e.none = LLVMVoidTypeInContext(e.context);
	e.ptr = LLVMPointerTypeInContext(e.context, 0);
	e.i1 = LLVMInt1TypeInContext(e.context);
	e.i8 = LLVMInt8TypeInContext(e.context);
	e.i16 = LLVMInt16TypeInContext(e.context);
	e.i32 = LLVMInt32TypeInContext(e.context);
	e.i64 = LLVMInt64TypeInContext(e.context);
	e.f32 = LLVMFloatTypeInContext(e.context);
	e.f64 = LLVMDoubleTypeInContext(e.context);
	e.syms = TSR_NEW_N(l->tc->arena, LLVMValueRef, 2 * MOST_TERMS);      /* loops, and what is looked up */
	tsr_map_init(&e.tails, l->tc->arena);
	e.buffers = TSR_NEW_N(l->tc->arena, LLVMValueRef, l->buffers.n);
	char *triple = LLVMGetDefaultTargetTriple(), *error = NULL;
	LLVMTargetRef t;
	LLVMGetTargetFromTriple(triple, &t, &error);
	LLVMTargetMachineRef machine = LLVMCreateTargetMachine(t, triple, v->cpu, "", LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
	LLVMSetTarget(e.module, triple);
	LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
	LLVMSetModuleDataLayout(e.module, layout);
	for (uint32_t u = 0; u < l->units.n; u++)
		emit_unit(&e, l, u, v->cpu, &made[u]);
	answer(&e);
	bool broken = LLVMVerifyModule(e.module, LLVMPrintMessageAction, &error);
	CHECK(!broken);
	LLVMDisposeMessage(error);
	char object[] = "/tmp/contract-XXXXXX", *command;
	int fd = mkstemp(object);
	void *handle = NULL;
	if (CHECK(!broken && !LLVMTargetMachineEmitToFile(machine, e.module, object, LLVMObjectFile, &error))) {
		command = tsr_format(l->tc->arena, "cc -shared -o %s.so %s", object, object);
		CHECK(system(command) == 0);
		handle = dlopen(tsr_format(l->tc->arena, "%s.so", object), RTLD_NOW);
		unlink(tsr_format(l->tc->arena, "%s.so", object));
	}
	close(fd);
	unlink(object);
	LLVMDisposeBuilder(e.builder);
	LLVMDisposeModule(e.module);
	LLVMDisposeTargetData(layout);
	LLVMDisposeTargetMachine(machine);
	LLVMDisposeMessage(triple);
	LLVMContextDispose(e.context);
	return handle;
}

/* ---- running ---------------------------------------------------------------------------------------------------------- */

/* Where inputs begin: as a caller's allocator leaves them, so many bytes behind a line. */
static size_t behind(const tsr_buffer *b) { return b->kind == TSR_BUFFER_INPUT ? 16 : 0; }

static size_t fill(const tsr_buffer *b, int64_t n, void **out)
{
	int64_t count = 1;
	for (uint32_t i = 0; i < b->rank; i++)
		count *= tsr_size_eval(b->dims[i], &n);
	size_t bytes = (size_t)count * tsr_prec_bytes(b->prec);
	*out = (char *)aligned_alloc(64, (bytes / 64 + 2) * 64) + behind(b);
	for (int64_t i = 0; i < count; i++) {
		int whole = (int)draw(17) - 8;
		double x = whole / 8.;
		if (*b->name == 'i' || *b->name == 'j')
			((int32_t *)*out)[i] = (int)draw(draw(2) ? 8 : 140) - 2;
		else if (b->prec == TSR_PREC_BOOL)
			((uint8_t *)*out)[i] = whole > 0;
		else if (b->prec == TSR_PREC_I64)
			((int64_t *)*out)[i] = (int64_t)whole * 1000000007;
		else if (!tsr_prec_is_float(b->prec))
			((int32_t *)*out)[i] = whole * 100003;
		else if (b->prec == TSR_PREC_F64)
			((double *)*out)[i] = x;
		else if (b->prec != TSR_PREC_F32)
			((uint16_t *)*out)[i] = 0;       /* the second result */
		else
			((float *)*out)[i] = (float)x;
	}
	return bytes;
}

/* Number by number: of a maximum of zeros it does not matter which. */
static bool equal(const tsr_buffer *b, const void *x, const void *y, size_t bytes)
{
	if (!tsr_prec_is_float(b->prec))
		return memcmp(x, y, bytes) == 0;
	for (size_t i = 0; tsr_prec_bytes(b->prec) == 2 && i < bytes / 2; i++) {
		uint16_t p = ((const uint16_t *)x)[i], q = ((const uint16_t *)y)[i];
		if (p != q && ((p | q) & 0x7fff))
			return false;
	}
	for (size_t i = 0; tsr_prec_bytes(b->prec) > 2 && i < bytes / tsr_prec_bytes(b->prec); i++)
		if (b->prec == TSR_PREC_F64 ? ((const double *)x)[i] != ((const double *)y)[i] : ((const float *)x)[i] != ((const float *)y)[i])
			return false;
	return true;
}

/* c and y are written, and compared. */
static bool same(const tsr_loops *l, uint32_t u, void *handle, int64_t n)
{
	static const uint32_t written[2] = { 0, EACH - 1 };
	void **memory = calloc(l->buffers.n, sizeof *memory), *got[2], *want[2];
	size_t bytes[2];
	for (uint32_t i = 0; i < EACH; i++) {
		size_t size = fill(l->buffers.at[EACH * u + i], n, &memory[EACH * u + i]);
		bytes[i == EACH - 1] = i == 0 || i == EACH - 1 ? size : bytes[0];
	}
	for (int w = 0; w < 2; w++) {
		void **at = &memory[EACH * u + written[w]];
		want[w] = *at;
		got[w] = aligned_alloc(64, (bytes[w] / 64 + 1) * 64);
		memcpy(got[w], want[w], bytes[w]);
		*at = got[w];
	}
	union { void *p; void (*call)(void **, int64_t); } f = { dlsym(handle, l->units.at[u]->name) };
	f.call(memory, n);
	for (int w = 0; w < 2; w++)
		memory[EACH * u + written[w]] = want[w];
	tsr_machine m = { .buffers = memory, .symbols = &n };
	bool ok = tsr_loops_run(l, u, &m);
	for (int w = 0; w < 2; w++) {
		ok = ok && equal(l->buffers.at[EACH * u + written[w]], got[w], want[w], bytes[w]);
		free(got[w]);
	}
	for (uint32_t i = 0; i < EACH; i++)
		free((char *)memory[EACH * u + i] - behind(l->buffers.at[EACH * u + i]));
	free(memory);
	return ok;
}

static bool runs_here(const char *feature)
{
	char *features = LLVMGetHostCPUFeatures();
	bool yes = strstr(features, feature) != NULL;
	LLVMDisposeMessage(features);
	return yes;
}

int main(void)
{
	static const level levels[] = {
		{ { .name = "amx", .triple_arch = "x86_64", .vector_bytes = 64, .vector_registers = 32, .fma = true, .slow_division = true,
			.tile_m = 6, .tile_n = 4, .l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 10, .matrix = 16 }, "sapphirerapids", "+amx-bf16" },
		{ { .name = "avx512", .triple_arch = "x86_64", .vector_bytes = 64, .vector_registers = 32, .fma = true, .slow_division = true,
			.tile_m = 6, .tile_n = 4, .l1 = 48 << 10, .l2 = 1 << 20, .l3 = 32 << 10 }, "skylake-avx512", "+avx512vl" },
		{ { .name = "avx2", .triple_arch = "x86_64", .vector_bytes = 32, .vector_registers = 16, .fma = true, .loses_nan = true,
			.tile_m = 6, .tile_n = 2, .l1 = 32 << 10, .l2 = 256 << 10, .l3 = 32 << 10, .ways = 8 }, "haswell", "+avx2" },
		{ { .name = "avx2", .triple_arch = "x86_64", .vector_bytes = 32, .vector_registers = 16, .fma = true, .loses_nan = true,
			.tile_m = 6, .tile_n = 2, .l1 = 2 << 10, .l2 = 8 << 10, .l3 = 32 << 10, .streams = 8, .ways = 8 }, "haswell", "+avx2" },      /* which looks ahead by itself */
		{ { .name = "sse", .triple_arch = "x86_64", .vector_bytes = 16, .vector_registers = 16, .fma = false, .loses_nan = true,
			.tile_m = 6, .tile_n = 2, .l1 = 2 << 10, .l2 = 8 << 10, .l3 = 32 << 10 }, "x86-64-v2", "+sse4.2" },
	};
	LLVMInitializeX86TargetInfo(), LLVMInitializeX86Target(), LLVMInitializeX86TargetMC(), LLVMInitializeX86AsmPrinter();
	tsr_compiler *tc = tsr_compiler_new();
	tsr_text decl, units;
	tsr_text_init(&decl, tc->arena), tsr_text_init(&units, tc->arena);
	state = 11;
	tsr_text_addf(&decl, "symbol ?n\n");
	for (int i = 0; i < CASES; i++)
		if (i % 3 == 1 && i % 2)
			window_case(tc->arena, &decl, &units, i);
		else
			make_case(tc->arena, &decl, &units, i, i % 3 ? 0 : 29);
	for (int i = CASES; i < CASES + COLUMNS; i++)
		columns_case(tc->arena, &decl, &units, i);
	for (int i = CASES + COLUMNS; i < CASES + COLUMNS + NARROW; i++)
		make_case(tc->arena, &decl, &units, i, i % 3 ? 0 : 29);
	for (int i = ALL - DOTS; i < ALL; i++)
		dots_case(tc->arena, &decl, &units, i);
	tsr_text_add(&decl, tsr_text_str(&units));
	const char *text = tsr_text_str(&decl);
	tsr_loops *l = tsr_loops_read(tc, tsr_source_add(tc, "random.loop", text, strlen(text)));
	tsr_diags_render(tc, stdout, false);
	bool made[ALL];
	for (size_t v = 0; l && v < sizeof levels / sizeof *levels; v++) {
		if (!runs_here(levels[v].feature))
			continue;
		void *handle = compile(l, &levels[v], made);
		int count = 0, whole = 0, in_place = 0, joined = 0, tails = 0, turned = 0, rows = 0, knit = 0, as_it_lies = 0, copied = 0, looked = 0, pointed = 0, passing = 0, apart = 0, streams = 0, aside = 0, matrix = 0, dots = 0, panels = 0;
		for (uint32_t u = 0; handle && u < l->units.n; u++) {
			const tsr_contraction *c = l->units.at[u]->body.at[0]->kernel.body.at[0]->loop.contraction;
			count += made[u];
			whole += made[u] && !tsr_prec_is_float(l->buffers.at[EACH * u]->prec);
			in_place += made[u] && c->schedule.rows;
			joined += made[u] && (c->run.n > 1 || c->across.n > 1);
			tails += made[u] && c->tail;
			passing += made[u] && c->tail && c->tail->passing;
			apart += u >= CASES && u < CASES + COLUMNS && made[u] && c->loops[0].cls == TSR_CLASS_BATCH;
			streams += u >= CASES && u < CASES + COLUMNS && u % 2 && made[u] && c->schedule.pack_a && !c->schedule.pack_b;
			aside += made[u] && c->schedule.aside;
			dots += made[u] && c->schedule.dots;
			panels += made[u] && c->schedule.panels && !c->schedule.rows && !c->schedule.turn && !c->schedule.cols;
			tsr_contraction as;
			matrix += made[u] && tsr_contract_matrix(l, c, &levels[v].target, &as);
			copied += made[u] && c->schedule.dense;
			turned += made[u] && c->schedule.turn;
			as_it_lies += made[u] && c->schedule.turn && !c->schedule.pack_b;
			rows += made[u] && c->schedule.join;
			knit += made[u] && c->schedule.knit;
			bool a = made[u] && c->a_value->kind == TSR_EXPR_LOOKUP, b = made[u] && c->b_value->kind == TSR_EXPR_LOOKUP;
			looked += a + b;
			pointed += (a && c->schedule.rows) + (b && c->schedule.cols);
			/* the run-time size is 29 in every third case */
			if (made[u] && !CHECK(same(l, u, handle, 29) && (u % 3 || (same(l, u, handle, 1) && same(l, u, handle, 0) && same(l, u, handle, 97))))) {
				printf("%s:\n", levels[v].target.name);
				tsr_loops_print_unit(l, u, stdout);
			}
		}
		CHECK(count > CASES / 2);
		CHECK(whole > CASES / 10);
		CHECK(in_place > CASES / 30);
		CHECK(joined > CASES / 30);
		CHECK(tails > CASES / 20 && passing > CASES / 60);
		CHECK(turned > as_it_lies && rows > 0 && copied > 0);
		CHECK(as_it_lies > 0 || levels[v].target.vector_bytes < 32);
		CHECK(knit > 0 || levels[v].target.vector_bytes < 32);       /* 20 and 24 columns are no tile of four short vectors */
		CHECK(looked > CASES / 6);
		CHECK(pointed > CASES / 30);
		CHECK(apart > COLUMNS / 8 && dots > DOTS / 4);
		CHECK((aside > 0 && (streams > COLUMNS / 8 || levels[v].target.streams)) || levels[v].target.l2 > 8 << 10);
		CHECK(panels > 0);
		CHECK(!levels[v].target.matrix || matrix > NARROW / 8);
		printf("%s: %d of %d, matrix registers %d, in place %d, tails %d, turned %d (B in place %d), rows joined %d, knit %d, copied %d, looked up %d, of these in place %d, sums that pass by %d, parted columns %d, streams %d, sums aside %d, dot products %d, panels that pass %d\n", levels[v].target.name, count, ALL, matrix,
			in_place, tails, turned, as_it_lies, rows, knit, copied, looked, pointed, passing, apart, streams, aside, dots, panels);
		if (handle)
			dlclose(handle);
	}
	CHECK(l != NULL);
	tsr_compiler_free(tc);
	return check_end("contract");
}
