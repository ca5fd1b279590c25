/* Loads of lanes that are results of several groups (opt/groups.c): lane i is result i % each of group i / each, and the first lane is a group's first result.
 *
 * Elements that lie side by side for the results of a group are loaded so, group by group.  Of elements that are the same for them, a group's row is read with those of the groups behind it,
 * where one number says which element of a row it is: others that the same rows hold need no further load then. */
#include "emit.h"

enum { MOST = 64 };

/* Elements from group to group, and from result to result of a group; results of a group, and lanes of a register or, of a single group, its results. */
typedef struct lanes { tsr_emit *e; tsr_prec prec; LLVMValueRef address; int64_t far, near; unsigned each, n; } lanes;

static LLVMValueRef elements(const lanes *x, int64_t from, unsigned n)
{
	LLVMValueRef at = tsr_emit_i64(x->e, from);
	return tsr_emit_load_lanes(x->e, x->prec, LLVMBuildInBoundsGEP2(x->e->builder, tsr_emit_memory_type(x->e, x->prec), x->address, &at, 1, ""), n);
}

/* A stretch of each group's own, or one for all. */
static LLVMValueRef stretches(const lanes *x, unsigned group)
{
	LLVMValueRef part[MOST];
	unsigned n = x->n / x->each;
	for (unsigned i = 0; i < n; i++)
		part[i] = i && !x->far ? part[0] : elements(x, (int64_t)(group + i) * x->far, x->each);
	return tsr_emit_concat(x->e, part, n);
}

/* Lanes of one register of AVX-512, by one instruction whose indices LLVM does not see: it would take each lane's quarter first and then spread these. */
static LLVMValueRef permuted(const lanes *x, LLVMValueRef v, const unsigned *place)
{
	static const char name[] = "llvm.x86.avx512.permvar.sf.512", fence[] = "llvm.arithmetic.fence";
	tsr_emit *e = x->e;
	LLVMValueRef at[MOST], args[2] = {v};
	for (unsigned i = 0; i < x->n; i++)
		at[i] = LLVMConstInt(e->i32, place[i], false);
	LLVMTypeRef floats = LLVMVectorType(e->f32, x->n), numbers = LLVMVectorType(e->i32, x->n);
	unsigned kept = LLVMLookupIntrinsicID(fence, sizeof fence - 1);
	LLVMValueRef index = LLVMConstBitCast(LLVMConstVector(at, x->n), floats), f = LLVMGetIntrinsicDeclaration(e->module, kept, &floats, 1);
	index = LLVMBuildCall2(e->builder, LLVMIntrinsicGetType(e->context, kept, &floats, 1), f, &index, 1, "");
	args[1] = LLVMBuildBitCast(e->builder, index, numbers, "");
	f = LLVMGetIntrinsicDeclaration(e->module, LLVMLookupIntrinsicID(name, sizeof name - 1), NULL, 0);
	return LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(f), f, args, 2, "");
}

/* Element `at` of rows, one for each group or for each result. */
static LLVMValueRef repeated(const lanes *x, unsigned group, unsigned at)
{
	LLVMValueRef part[MOST];
	unsigned of[MOST], place[MOST], groups = x->n / x->each, far = (unsigned)x->far, near = (unsigned)x->near;
	unsigned all = near ? x->each * near : groups * far, n = (all + x->n - 1) / x->n, per = all < x->n ? all : x->n;
	for (unsigned k = 0; k < n; k++)             /* the last one ends with the last row */
		part[k] = elements(x, (int64_t)group * x->far + (k + 1 < n ? k * per : all - per) - (int64_t)at, per);
	if (all == 1)
		return tsr_emit_splat(x->e, part[0], LLVMVectorType(LLVMTypeOf(part[0]), x->n));
	for (unsigned i = 0; i < x->n; i++) {
		unsigned element = i / x->each * far + i % x->each * near + at;
		of[i] = element / per, place[i] = of[i] + 1 < n ? element % per : element - (all - per);
	}
	enum { QUARTER = 4 };
	bool across = n == 1 && per == x->n && x->each > QUARTER && x->e->target->lookup == x->n && x->prec == TSR_PREC_F32;
	return across ? permuted(x, part[0], place) : tsr_emit_of_parts(x->e, x->n, n, part, of, place);
}

/* One by one. */
static LLVMValueRef scattered(const lanes *x, unsigned group)
{
	LLVMValueRef some = NULL;
	unsigned first = group * x->each;
	for (unsigned i = first; i < first + x->n; i++) {
		LLVMValueRef at = tsr_emit_i64(x->e, i / x->each * x->far + i % x->each * x->near);
		LLVMValueRef one = tsr_emit_load(x->e, x->prec, LLVMBuildInBoundsGEP2(x->e->builder, tsr_emit_memory_type(x->e, x->prec), x->address, &at, 1, ""));
		some = some ? some : LLVMGetPoison(LLVMVectorType(LLVMTypeOf(one), x->n));
		some = LLVMBuildInsertElement(x->e->builder, some, one, LLVMConstInt(x->e->i32, i - first, false), "");
	}
	return some;
}

/* Which element of its row of so many is read, where that is known; -1. */
static int64_t place_in_row(const tsr_emit *e, const tsr_buffer *b, const tsr_lin *index, int64_t row)
{
	tsr_lin_term by;
	int64_t offset;
	if (!tsr_index_in_row(b, index, row, e->wide->group, e->wide->loop->loop.sym, &by, &offset) || (by.coef && !LLVMIsAConstantInt(e->syms[by.id])))
		return -1;
	return offset + (by.coef ? by.coef * LLVMConstIntGetSExtValue(e->syms[by.id]) : 0);
}

LLVMValueRef tsr_emit_grouped_load(tsr_emit *e, const tsr_expr *load)
{
	const tsr_wide *w = e->wide;
	const tsr_buffer *b = e->loops->buffers.at[load->load.buffer];
	uint32_t along = w->loop->loop.sym;
	unsigned whole = e->target->vector_bytes / 4;
	int64_t near = -1, far = -1;
	bool known = tsr_index_stride(b, load->load.index, along, &near) && tsr_index_stride(b, load->load.index, w->group, &far);
	bool one = known && far == near * w->each; /* a loop for both, of which each iteration may have its own row */
	if (one && near <= TSR_MOST_STRIDE)
		return NULL;
	LLVMValueRef at = e->syms[along], zero = e->syms[w->group], part[MOST];
	e->syms[along] = zero;
	e->syms[w->group] = LLVMBuildUDiv(e->builder, at, tsr_emit_i64(e, w->each), "");
	lanes x = {e, b->prec, tsr_emit_address(e, b->id, load->load.index), one ? near : far, one ? 0 : near, one ? 1 : w->each, w->lanes < whole ? w->lanes : whole};
	e->syms[along] = at, e->syms[w->group] = zero;
	int64_t place = x.far == 1 ? 0 : place_in_row(e, b, load->load.index, x.far + x.near);
	bool by_rows = x.near != 1 && place >= 0 && place < x.far + x.near;
	x.address = tsr_emit_within(e, b, x.address, by_rows ? place : 0);
	unsigned registers = w->lanes / x.n;
	for (unsigned r = 0; r < registers; r++) {
		unsigned group = r * x.n / x.each;
		part[r] = x.near == 1 ? stretches(&x, group) : by_rows ? repeated(&x, group, (unsigned)place) : scattered(&x, group);
	}
	return tsr_emit_concat(e, part, registers);
}
