/* Loops within others, where all that they touch lies side by side across both, as images of a few channels do:
 *
 *     for j in 0..8 { for k in 0..8 { for c in 0..6 { Y[i, j, k, c] = f(X[i, j, k, c]) } } }        for c in 0..384 { .. }
 *
 * They are emitted as the innermost one, made longer, while the others stand at 0: an element's place is a sum over the loops, and a step of
 * an outer one is as far as all steps of the inner one.  So vectors are full.
 *
 * So are rows, short or not, that go around the caches: each would begin and end within a line where the result begins within one, as an array of
 * malloc's does, and what is written of a line goes through the caches (2048 rows of 1024 that begin 16 bytes behind a line: exp took 1.1 times as
 * long, sin 1.17), and so are rows that fill no lines.  Threads then divide elements, where they divided rows.
 *
 * Loops around sums are one likewise, whose lanes are along them (outer.c).  Sums over several loops are one sum, unless rows are so long that what is done at each row's end, where lanes become one number, costs nothing: those of
 * 56 x 56 with AVX-512 took 4 to 5.6 times as long row by row, of 7 x 7 seven times, of 224 x 224 2.2 times; 1024 in a row 1.05. */
#include "nests.h"
#include "../opt/opt.h"

enum { MOST_LOOPS = 8, LINE = 64, SHORT = 64, SHORT_SUM = 2048 };

typedef struct flat {
	const tsr_emit *e;
	int64_t count;                         /* iterations of those of known extents */
	uint32_t n;
	const tsr_stmt *loop[MOST_LOOPS];      /* the innermost last */
} flat;

bool tsr_emit_flat_value(const tsr_emit *e, uint32_t n, const tsr_stmt *const *loops, const tsr_expr *x)
{
	for (uint32_t i = 0; i + 1 < n; i++)
		if (!tsr_expr_follows(e->loops, x, loops[i]->loop.sym, loops[i + 1]->loop.sym, loops[i + 1]->loop.extent))
			return false;
	return true;
}

static bool flat_body(const flat *f, const tsr_stmts *body, bool summed)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR) {
			if (s->loop.how != TSR_FOR_REDUCE || s->loop.from || s->loop.until || s->loop.contraction || f->loop[0]->loop.how != TSR_FOR_PARALLEL || !flat_body(f, &s->loop.body, true))
				return false;
			continue;
		}
		if (s->kind == TSR_STMT_SET && !summed)
			return false;
		for (uint32_t k = 0; k + 1 < f->n; k++)
			if (!tsr_stmt_follows(f->e->loops, s, f->loop[k]->loop.sym, f->loop[k + 1]->loop.sym, f->loop[k + 1]->loop.extent))
				return false;
	}
	return true;
}

/* Parallel ones, or sums. */
static bool kind_of(const tsr_stmt *loop)
{
	return loop->loop.how == TSR_FOR_PARALLEL || loop->loop.how == TSR_FOR_REDUCE;
}

/* Loops of one kind, each alone in the one around it. */
static bool collect(flat *f, const tsr_stmt *loop)
{
	for (const tsr_stmt *s = loop; s; s = s->loop.body.n == 1 && s->loop.body.at[0]->kind == TSR_STMT_FOR ? s->loop.body.at[0] : NULL) {
		if (f->n == MOST_LOOPS || s->loop.how != loop->loop.how || !kind_of(s) || (s->loop.split && f->n) || s->loop.ahead || s->loop.overlap || s->loop.contraction)
			return false;
		if (tsr_size_is_const(s->loop.extent) && (s->loop.extent.k <= 0 || __builtin_mul_overflow(f->count, s->loop.extent.k, &f->count)))
			return false;
		f->loop[f->n++] = s;
	}
	return f->n > 1;
}

/* Iterations of them all.  Where the run knows several of their extents that is no size of the program's, and stands for the time being where a symbol behind the last one would. */
static tsr_size together(const flat *f, tsr_emit *e)
{
	const tsr_stmt *unknown = NULL;
	LLVMValueRef all = NULL;
	for (uint32_t i = 0; i < f->n; i++) {
		if (tsr_size_is_const(f->loop[i]->loop.extent))
			continue;
		all = unknown ? LLVMBuildNSWMul(e->builder, all ? all : tsr_emit_size(e, unknown->loop.extent), tsr_emit_size(e, f->loop[i]->loop.extent), "") : NULL;
		unknown = f->loop[i];
	}
	if (!all)
		return unknown ? tsr_size_scale(e->loops->tc->arena, unknown->loop.extent, f->count) : tsr_size_const(f->count);
	tsr_size_term *term = TSR_NEW(e->loops->tc->arena, tsr_size_term);
	*term = (tsr_size_term){f->count, e->loops->symbols.n};
	e->symbols[e->loops->symbols.n] = all;
	return (tsr_size){0, 1, term};
}

/* Rows of what is stored fill no lines, or nobody knows: each would end with a part of a vector, and the next one begin within a line (x + y of 1000 x 1001 took 1.15 times as long). */
static bool uneven(const flat *f)
{
	const tsr_stmt *last = f->loop[f->n - 1], *s = last->loop.body.n == 1 ? last->loop.body.at[0] : NULL;
	return last->loop.how == TSR_FOR_PARALLEL && s && s->kind == TSR_STMT_STORE
		&& (!tsr_size_is_const(last->loop.extent) || last->loop.extent.k * (int64_t)tsr_prec_bytes(f->e->loops->buffers.at[s->store.buffer]->prec) % LINE);
}

/* Short ones that one thread walks, or those that go around the caches. */
static bool pays(const flat *f)
{
	const tsr_stmt *last = f->loop[f->n - 1];
	int64_t most = last->loop.how == TSR_FOR_REDUCE ? SHORT_SUM : SHORT;
	return tsr_emit_streams(f->e, last) || uneven(f) || (tsr_size_guess(last->loop.extent) < most && !f->loop[0]->loop.split);
}

const tsr_stmt *tsr_emit_flat(tsr_emit *e, const tsr_stmt *loop)
{
	flat f = { .e = e, .count = 1 };
	if (!collect(&f, loop) || !pays(&f) || !flat_body(&f, &f.loop[f.n - 1]->loop.body, loop->loop.how == TSR_FOR_REDUCE))
		return NULL;
	for (uint32_t i = 0; i + 1 < f.n; i++)
		e->syms[f.loop[i]->loop.sym] = tsr_emit_i64(e, 0);
	tsr_stmt *out = TSR_NEW(e->loops->tc->arena, tsr_stmt);
	*out = *f.loop[f.n - 1];
	out->loop.split = loop->loop.split;
	out->loop.extent = together(&f, e);
	return out;
}
