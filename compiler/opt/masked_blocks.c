/* Strips whose rows go by blocks (strip_online.c), of which a mask hides the last ones from all rows: these are left out.
 *
 *     let $large = false;  for each operand of all strips { set $large = $large or it is not moderate }
 *     for strips s {
 *       let $own = $large;  for each operand's rows of the strip { set $own = .. }
 *       letsym #end = the number of blocks up to position step * s + first
 *       what comes before the blocks
 *       for blocks until #end { .. }
 *       shown[i] = the weight of what stands for hidden positions, beside what the blocks have shown
 *       for rows i { set $own = $own or shown[i] <> 0 }
 *       letsym #again = $own
 *       if #again is 1 { all that, with all blocks }
 *       what is between the sweeps
 *       for blocks until #end + all * #again { .. }
 *     }
 *
 * Where the weight of a hidden position is 0 for all rows, as it is unless scores are far below the number that stands for them, their maximum is that of the positions seen, and all that is summed over hidden ones is a
 * sum of zeros, if what these are multiplied with is finite: a NaN or a number above 2^51 in an operand, and nothing is left out. */
#include "masked.h"

enum { MOST_TERMS = 1 << 20 };       /* of a sum */
#define ENDLESS (INT64_C(1) << 40)   /* more than positions */

static bool from_strips(const tsr_masked *m, tsr_buffer_id b)
{
	tsr_uses u = { 0 };
	tsr_stmt_uses(m->a, m->strips, &u);
	return tsr_use_writes(tsr_uses_of(&u, b));
}

static bool look_at_operands(tsr_masked *m, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_IF)
			return false;
		if (s->kind != TSR_STMT_FOR)
			continue;
		const tsr_contraction *k = s->loop.contraction;
		uint32_t depth = m->around.n;
		if (k && k->schedule.mr) {
			const tsr_expr *side[2] = { k->a_value, k->b_value };
			for (const tsr_stmt *in = s; in;) {
				tsr_push(m->a, &m->around, in);
				const tsr_stmt *next = NULL;
				for (uint32_t j = 0; j < in->loop.body.n; j++)
					next = in->loop.body.at[j]->kind == TSR_STMT_FOR ? in->loop.body.at[j] : next;
				in = next;
			}
			for (int j = 0; j < 2; j++)
				if (side[j]->kind != TSR_EXPR_LOAD || (!from_strips(m, side[j]->load.buffer) && !tsr_masked_look_at(m, side[j])))
					return false;
		} else {
			tsr_push(m->a, &m->around, s);
			if (!look_at_operands(m, &s->loop.body))
				return false;
		}
		m->around.n = depth;
	}
	return true;
}

/* Loops over constants' stores: they can be done again. */
static bool begins(const tsr_stmts *body, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR ? s->loop.contraction || !begins(&s->loop.body, s->loop.body.n) : s->kind != TSR_STMT_STORE || s->store.value->kind != TSR_EXPR_CONST)
			return false;
	}
	return true;
}

static bool stores_shown(const tsr_masked *m, const tsr_stmt *s, tsr_buffer_id shown)
{
	tsr_uses u = { 0 };
	tsr_stmt_uses(m->a, s, &u);
	return tsr_uses_of(&u, shown).stores > 0;
}

static tsr_expr *whole(const tsr_masking *x, int64_t n)
{
	tsr_scalar v = { .prec = TSR_PREC_I32, .i = n };
	return tsr_expr_const(x->a, v);
}

/* The number of blocks with positions that some row of the strip sees. */
static uint32_t seen(const tsr_masking *x, const tsr_hidden *h, tsr_size blocks, tsr_stmts *out)
{
	tsr_expr *at = TSR_NEW(x->a, tsr_expr);
	*at = (tsr_expr){ .kind = TSR_EXPR_INDEX, .prec = TSR_PREC_I32, .index = tsr_lin_add_sym(x->a, tsr_lin_const(h->first + h->block - 1), h->step, TSR_LSYM_LOOP, x->m->strips->loop.sym) };
	tsr_stmt *s = tsr_stmt_new(x->a, TSR_STMT_LETSYM, x->m->strips->span);
	s->letsym.sym = x->m->unit->nsyms++;
	s->letsym.value = tsr_expr_op(x->a, TSR_OP_IDIV, TSR_PREC_I32, at, whole(x, h->block), NULL);
	if (tsr_size_is_const(blocks))
		s->letsym.value = tsr_expr_op(x->a, TSR_OP_MIN, TSR_PREC_I32, whole(x, blocks.k), s->letsym.value, NULL);
	tsr_push(x->a, out, s);
	return s->letsym.sym;
}

/* More strips or blocks than moderate numbers may be summed over. */
static tsr_expr *many(const tsr_masking *x, tsr_size n)
{
	tsr_expr *size = TSR_NEW(x->a, tsr_expr);
	*size = (tsr_expr){ .kind = TSR_EXPR_SIZE, .prec = TSR_PREC_I32, .size = n };
	return tsr_expr_op(x->a, TSR_OP_GT, TSR_PREC_I32, size, whole(x, MOST_TERMS / 256), NULL);
}

static tsr_stmt *question(const tsr_masking *x, tsr_buffer_id shown, tsr_local_id flag)
{
	const tsr_buffer *b = x->p->l->buffers.at[shown];
	uint32_t row = x->m->unit->nsyms++;
	tsr_lin *index = TSR_NEW(x->a, tsr_lin);
	*index = tsr_lin_add_sym(x->a, tsr_lin_const(0), 1, TSR_LSYM_LOOP, row);
	tsr_expr *bad = tsr_expr_op(x->a, TSR_OP_NE, b->prec, tsr_expr_load(x->a, b, index), tsr_expr_const(x->a, tsr_scalar_of(b->prec, 0)), NULL);
	tsr_stmt *loop = tsr_loop_around(x->p, tsr_masking_set(x, flag, bad), x->m->strips, b->dims[0], row);
	loop->loop.how = TSR_FOR_REDUCE;
	return loop;
}

/* What is done with the positions behind the last whole block, where there are some. */
static tsr_stmt *rest_of(const tsr_stmts *strip, uint32_t blocks)
{
	return blocks + 1 < strip->n && strip->at[blocks + 1]->kind == TSR_STMT_IF ? strip->at[blocks + 1] : NULL;
}

/* Only where some row of the strip sees the first of them, or what is hidden counts. */
static void sees_rest(const tsr_masking *x, const tsr_stmt *blocks, tsr_stmt *rest, bool again)
{
	const tsr_hidden *h = blocks->loop.hidden;
	tsr_lin seen = tsr_lin_add_sym(x->a, tsr_lin_const(h->first - 1), h->step, TSR_LSYM_LOOP, x->m->strips->loop.sym);
	seen = tsr_lin_add_size(x->a, seen, -h->block, blocks->loop.extent);
	if (again)
		seen = tsr_lin_add_sym(x->a, seen, ENDLESS, TSR_LSYM_DATA, x->again);
	tsr_range *ranges = TSR_NEW_N(x->a, tsr_range, 2);
	ranges[0] = rest->cond.ranges[0];
	ranges[1] = (tsr_range){ seen, tsr_size_const(2 * ENDLESS) };
	rest->cond.ranges = ranges;
	rest->cond.n = 2;
}

static void until(const tsr_masking *x, tsr_stmt *loop, uint32_t end, bool again)
{
	tsr_lin *to = TSR_NEW(x->a, tsr_lin);
	*to = tsr_lin_add_sym(x->a, tsr_lin_const(0), 1, TSR_LSYM_DATA, end);
	if (again)
		*to = tsr_lin_add_sym(x->a, *to, tsr_size_is_const(loop->loop.extent) ? loop->loop.extent.k : ENDLESS, TSR_LSYM_DATA, x->again);
	loop->loop.until = to;
	loop->loop.hidden = NULL;
}

/* Of a strip the loop over blocks of the first sweep, and the statement that says what hidden positions weigh. */
typedef struct sweeps { const tsr_hidden *h; uint32_t first, shown; } sweeps;

static bool find_sweeps(tsr_masked *m, const tsr_stmts *strip, sweeps *out)
{
	uint32_t loops = 0;
	*out = (sweeps){ NULL, strip->n, strip->n };
	m->later = true;
	for (uint32_t i = 0; i < strip->n; i++)
		if (strip->at[i]->kind == TSR_STMT_FOR && strip->at[i]->loop.hidden) {
			out->first = out->first < i ? out->first : i;
			out->h = strip->at[i]->loop.hidden;
			loops++;
		}
	if (!out->h || strip->at[out->first]->loop.hidden->second || (loops == 2) != out->h->second || loops > 2 || !begins(strip, out->first) || out->h->first <= 0)
		return false;
	for (uint32_t i = out->first + 1; i < strip->n && out->shown == strip->n; i++)
		out->shown = stores_shown(m, strip->at[i], out->h->shown) ? i : out->shown;
	for (uint32_t i = out->first; i < strip->n; i++)
		if (strip->at[i]->kind == TSR_STMT_FOR && strip->at[i]->loop.hidden) {
			tsr_push(m->a, &m->around, strip->at[i]);
			if ((i > out->first && i < out->shown) || !look_at_operands(m, &strip->at[i]->loop.body))
				return false;
			m->around.n--;
			if (rest_of(strip, i) && !look_at_operands(m, &rest_of(strip, i)->cond.body))
				return false;
		}
	return out->shown < strip->n;
}

bool tsr_masked_blocks(tsr_masked *m, tsr_stmts *body, uint32_t at)
{
	tsr_stmts *strip = &m->strips->loop.body, out = { 0 }, inside = { 0 };
	sweeps found;
	if (!(m->later = find_sweeps(m, strip, &found)))
		return false;
	const tsr_hidden *h = found.h;
	uint32_t first = found.first, shown = found.shown;
	tsr_masking x = { m, m->p, m->p->arena, 0, 0 };
	tsr_size counts[] = { m->strips->loop.extent, strip->at[first]->loop.extent };
	for (uint32_t i = 0; i < at; i++)
		tsr_push(x.a, &out, body->at[i]);
	tsr_local_id large = tsr_masking_flag(&x, TSR_NONE, &out), own;
	tsr_masking_look(&x, false, large, &out);
	for (int i = 0; i < 2; i++)
		if (!tsr_size_is_const(counts[i]))
			tsr_push(x.a, &out, tsr_masking_set(&x, large, many(&x, counts[i])));
	own = tsr_masking_flag(&x, large, &inside);
	tsr_masking_look(&x, true, own, &inside);
	uint32_t end = seen(&x, h, strip->at[first]->loop.extent, &inside);
	for (uint32_t i = 0; i < strip->n; i++) {
		tsr_push(x.a, &inside, strip->at[i]);
		if (i != shown)
			continue;
		tsr_push(x.a, &inside, question(&x, h->shown, own));
		x.again = tsr_masking_number(&x, own, &inside);
		tsr_stmt *again = tsr_stmt_when(x.p, x.again, 1, tsr_masking_all(&x, strip->at[0]));
		for (uint32_t k = 1; k <= shown; k++)
			tsr_push(x.a, &again->cond.body, tsr_masking_all(&x, strip->at[k]));
		tsr_push(x.a, &inside, again);
	}
	for (uint32_t i = first; i < strip->n; i++)
		if (strip->at[i]->kind == TSR_STMT_FOR && strip->at[i]->loop.hidden) {
			if (rest_of(strip, i))
				sees_rest(&x, strip->at[i], rest_of(strip, i), i > first);
			until(&x, strip->at[i], end, i > first);
		}
	m->strips->loop.body = inside;
	for (uint32_t i = at; i < body->n; i++)
		tsr_push(x.a, &out, body->at[i]);
	*body = out;
	const char *name = m->strips->loop.name;
	tsr_pass_note(m->p, "%s: strip %s of %s leaves out blocks from position %lld %s + %lld on, which a mask hides", m->unit->name, name, m->kernel, (long long)h->step, name, (long long)h->first);
	return true;
}
