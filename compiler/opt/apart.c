/* Loops whose iterations never meet, and those of them whose iterations threads take in turns: see threads.c. */
#include "apart.h"

/* The index is the loop's symbol, scaled, and what other loops of the statement add to it, which is less than one step of it. */
static bool own_stretch(const tsr_stmt *s, const tsr_lin *x, uint32_t sym, int64_t *step)
{
	int64_t coef = 0, most = x->offset;
	for (uint32_t t = 0; t < x->n; t++) {
		const tsr_stmt *loop = x->terms[t].kind == TSR_LSYM_LOOP ? tsr_stmt_loop(s, x->terms[t].id) : NULL;
		if (!loop || x->terms[t].coef < 0 || !(x->terms[t].id == sym || tsr_size_is_const(loop->loop.extent)))
			return false;
		if (x->terms[t].id == sym)
			coef = x->terms[t].coef;
		else
			most += x->terms[t].coef * (loop->loop.extent.k - 1);
	}
	if (coef == 0 || x->offset < 0 || most >= coef || x->base.k || x->base.nterms || (*step && *step != coef))
		return false;
	*step = coef;
	return true;
}

/* All accesses of a buffer say the same index on some axis, of the loop's symbol and no other; or all stay in a stretch of the axis
 * that belongs to one iteration. */
static bool own_axis(const tsr_loops *l, const tsr_stmt *s, const tsr_accesses *x, tsr_buffer_id b, uint32_t sym)
{
	for (uint32_t axis = 0; axis < l->buffers.at[b]->rank; axis++) {
		const tsr_lin *first = NULL;
		bool same = true, apart = true;
		int64_t step = 0;
		for (uint32_t i = 0; (same || apart) && i < x->v.n; i++) {
			const tsr_lin *index = &x->v.at[i].index[axis];
			if (x->v.at[i].buffer != b)
				continue;
			first = first ? first : index;
			same = same && (index == first || tsr_lin_equal(*index, *first));
			apart = apart && own_stretch(s, index, sym, &step);
		}
		uint32_t own = 0, others = 0;
		for (uint32_t t = 0; first && t < first->n; t++) {
			bool mine = first->terms[t].kind == TSR_LSYM_LOOP && first->terms[t].id == sym;
			own += mine && first->terms[t].coef;
			others += !mine && first->terms[t].kind != TSR_LSYM_NUMBER;
		}
		if (first && ((same && own == 1 && others == 0) || apart))
			return true;
	}
	return false;
}

bool tsr_private_row(const tsr_divide *d, tsr_buffer_id b)
{
	const tsr_buffer *x = d->p->l->buffers.at[b];
	int64_t bytes = tsr_buffer_bytes(x);
	return x->row && d->touched[b] == 1 && !tsr_buffer_kept(x) && bytes != 0 && bytes <= TSR_MOST_OWN_BYTES;
}

bool tsr_iterations_apart(const tsr_divide *d, const tsr_stmt *s, const tsr_accesses *x, uint32_t sym)
{
	for (uint32_t i = 0; i < x->v.n; i++) {
		tsr_buffer_id b = x->v.at[i].buffer;
		if (x->v.at[i].write && !own_axis(d->p->l, s, x, b, sym) && !tsr_private_row(d, b))
			return false;
	}
	return true;
}

/* ---- in turns ---------------------------------------------------------------------------------------------------------------------- */

static bool multiplies(const tsr_stmts *body)
{
	bool any = false;
	for (uint32_t i = 0; !any && i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		any = (s->kind == TSR_STMT_FOR && s->loop.contraction && s->loop.contraction->schedule.mr) || (tsr_stmt_inside(s) && multiplies(tsr_stmt_inside(s)));
	}
	return any;
}

static bool goes_on(const tsr_divide *d, const tsr_stmt *root, const tsr_accesses *x, const tsr_stmt *s)
{
	return s->kind == TSR_STMT_FOR && s->loop.how != TSR_FOR_REDUCE && !(s->loop.contraction && s->loop.contraction->schedule.mr)
		&& tsr_iterations_apart(d, root, x, s->loop.sym) && multiplies(&s->loop.body);
}

tsr_taken_loops tsr_loops_taken(const tsr_divide *d, tsr_stmt *root, const tsr_accesses *x)
{
	tsr_taken_loops c = { 0 };
	for (tsr_stmt *s = goes_on(d, root, x, root) ? root : NULL; s && c.n < TSR_MOST_LOOPS;) {
		const tsr_stmts *body = &s->loop.body;
		tsr_stmt *next = goes_on(d, root, x, body->at[body->n - 1]) ? body->at[body->n - 1] : NULL;
		c.loop[c.n++] = s;
		/* what comes before the next loop is skipped by who takes none of its iterations, which the loop around it knows */
		if (next && body->n > 1 && c.n < TSR_MOST_LOOPS)
			c.loop[c.n++] = next;
		s = body->n > 1 ? NULL : next;
	}
	return c;
}
