/* Transpositions: of a nest that stores elements side by side along one loop, and loads them side by side along another, these two loops
 * become the innermost ones, so that the emitter can turn squares of both in registers (kernel/turned.c) and every line of memory that it
 * meets is used whole.  Whatever order the other loops had, they keep.
 *
 * The nest is one chain of parallel loops around one store or update, whose iterations any order may take.  Before threads, which
 * divide the outermost loop that has many iterations, and after what joins nests by their outer loops. */
#include "pass.h"

/* The loop by which alone the last axis goes, one element a step, and no other axis; or NULL. */
static tsr_stmt *side_by_side(const tsr_pass *p, const tsr_nest *n, tsr_buffer_id buffer, const tsr_lin *index)
{
	const tsr_buffer *b = p->l->buffers.at[buffer];
	uint32_t last = tsr_buffer_last(b);
	for (uint32_t t = 0; b->rank && t < index[last].n; t++) {
		const tsr_lin_term *term = &index[last].terms[t];
		tsr_stmt *loop = term->kind == TSR_LSYM_LOOP && term->coef == 1 ? tsr_nest_loop(n, term->id) : NULL;
		bool elsewhere = !loop;
		for (uint32_t axis = 0; loop && axis < last; axis++)
			elsewhere |= tsr_lin_mentions(&index[axis], term->id);
		if (!elsewhere)
			return loop;
	}
	return NULL;
}

typedef struct turn { const tsr_pass *p; const tsr_nest *n; const tsr_stmt *along; tsr_stmt *across; int64_t loads; } turn;

/* Of what lies along other loops than the result does, the loop of the most loads. */
static tsr_expr *look(void *user, tsr_expr *e)
{
	turn *t = user;
	if (e->kind != TSR_EXPR_LOAD)
		return e;
	tsr_stmt *loop = side_by_side(t->p, t->n, e->load.buffer, e->load.index);
	bool turned = false;
	for (uint32_t axis = 0; loop && loop != t->along && axis < tsr_buffer_last(t->p->l->buffers.at[e->load.buffer]); axis++)
		turned |= tsr_lin_mentions(&e->load.index[axis], t->along->loop.sym);
	if (turned && (!t->across || t->across == loop)) {
		t->across = loop;
		t->loads++;
	}
	return e;
}

/* Loops that are one with it count, too. */
static bool enough(const tsr_pass *p, const tsr_nest *n, const tsr_stmt *leaf, const tsr_stmt *loop)
{
	bool with[TSR_MOST_LOOPS] = { false };
	uint32_t at = 0;
	while (n->loop[at] != loop)
		at++;
	return !tsr_size_is_const(loop->loop.extent) || tsr_loops_joined(p->l, n->n, n->loop, leaf, at, with) >= p->target->vector_bytes / 8;
}

static void visit(tsr_pass *p, tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_KERNEL)
			visit(p, &s->kernel.body);
		if (s->kind != TSR_STMT_FOR || s->loop.contraction)
			continue;
		tsr_nest n = tsr_nest_of(&(tsr_stmts){ &body->at[i], 1, 1 });
		tsr_stmt *leaf = n.body->n == 1 ? n.body->at[0] : NULL;
		bool parallel = leaf && (leaf->kind == TSR_STMT_STORE || leaf->kind == TSR_STMT_UPDATE);
		for (uint32_t k = 0; k < n.n; k++)
			parallel &= n.loop[k]->loop.how == TSR_FOR_PARALLEL && !n.loop[k]->loop.contraction;
		if (!parallel) {
			visit(p, &s->loop.body);
			continue;
		}
		turn t = { .p = p, .n = &n, .along = side_by_side(p, &n, leaf->store.buffer, leaf->store.index) };
		if (t.along)
			tsr_expr_rewrite(leaf->store.value, look, &t);
		if (!t.across || !enough(p, &n, leaf, t.along) || !enough(p, &n, leaf, t.across))
			continue;
		uint32_t along = t.along->loop.sym, across = t.across->loop.sym;
		bool there = n.loop[n.n - 1]->loop.sym == along && n.loop[n.n - 2]->loop.sym == across;
		tsr_nest_move(&n, across, n.n - 1);
		tsr_nest_move(&n, along, n.n - 1);
		p->changes += !there;
		tsr_pass_note(p, "%s is turned in squares", p->l->buffers.at[leaf->store.buffer]->name);
	}
}

void tsr_pass_turn(tsr_pass *p)
{
	for (uint32_t u = 0; u < p->l->units.n; u++)
		visit(p, &p->l->units.at[u]->body);
}
