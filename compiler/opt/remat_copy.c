/* Kernels that run again: copies of the part that is needed, into buffers of their own, put before the statement that reads it next. */
#include "remat.h"

static tsr_stmt *copy_of(const tsr_repeat *q, const tsr_stmt *s);

static tsr_stmts copies(const tsr_repeat *q, const tsr_stmts *body)
{
	tsr_stmts out = { 0 };
	for (uint32_t i = 0; i < body->n; i++)
		if (tsr_remat_stays(q, body->at[i]))
			tsr_push(q->r->p->arena, &out, copy_of(q, body->at[i]));
	return out;
}

static tsr_expr *expr_copy(const tsr_repeat *q, const tsr_expr *e) { return tsr_expr_place(q->r->p->arena, q->r->l, e, 0, NULL, NULL); }

static tsr_contraction *contraction_copy(const tsr_repeat *q, const tsr_contraction *k, const tsr_stmt *nest)
{
	tsr_contraction *out = TSR_NEW(q->r->p->arena, tsr_contraction);
	*out = *k;
	out->a_value = expr_copy(q, k->a_value);
	out->b_value = expr_copy(q, k->b_value);
	if (!k->tail)
		return out;
	tsr_stmts one = { (tsr_stmt *[]){ (tsr_stmt *)nest }, 1, 1 };
	out->tail = tsr_tail_of(q->r->p->arena, tsr_nest_of(&one).body);
	out->tail->passing = k->tail->passing;
	return out;
}

/* Indices are shared: nothing changes them in place. */
static tsr_stmt *copy_of(const tsr_repeat *q, const tsr_stmt *s)
{
	tsr_stmt *out = TSR_NEW(q->r->p->arena, tsr_stmt);
	*out = *s;
	if (s->kind == TSR_STMT_KERNEL) {
		out->kernel.body = copies(q, &s->kernel.body);
	} else if (s->kind == TSR_STMT_FOR) {
		out->loop.body = copies(q, &s->loop.body);
		out->loop.contraction = s->loop.contraction ? contraction_copy(q, s->loop.contraction, out) : NULL;
	} else if (s->kind == TSR_STMT_IF) {
		out->cond.body = copies(q, &s->cond.body);
	} else if (s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE) {
		out->store.value = expr_copy(q, s->store.value);
	} else if (s->kind == TSR_STMT_LET || s->kind == TSR_STMT_SET) {
		out->let.value = expr_copy(q, s->let.value);
	} else if (s->kind == TSR_STMT_LETSYM) {
		out->letsym.value = expr_copy(q, s->letsym.value);
	}
	return out;
}

/* ---- buffers of their own ------------------------------------------------------------------------------------------------------ */

static void make_room(tsr_remat *r, uint32_t n)
{
	if (n < r->room)
		return;
	uint32_t room = 2 * n + 1;
	tsr_touches *of = TSR_NEW_N(r->step, tsr_touches, room);
	tsr_buffer_id *fresh = TSR_NEW_N(r->a, tsr_buffer_id, room), *origin = TSR_NEW_N(r->a, tsr_buffer_id, room);
	bool *is_fresh = TSR_NEW_N(r->a, bool, room), *exposed = TSR_NEW_N(r->a, bool, room);
	uint32_t *makers = TSR_NEW_N(r->a, uint32_t, room);
	for (uint32_t i = 0; i < room; i++) {
		fresh[i] = i < r->room ? r->fresh[i] : TSR_NONE;
		origin[i] = i < r->room ? r->origin[i] : TSR_NONE;
		is_fresh[i] = i < r->room && r->is_fresh[i];
		makers[i] = i < r->room ? r->makers[i] : 0;
		exposed[i] = i < r->room && r->exposed[i];
		if (i < r->room)
			of[i] = r->of[i];
	}
	r->of = of, r->fresh = fresh, r->origin = origin, r->is_fresh = is_fresh, r->makers = makers, r->exposed = exposed;
	r->slot = TSR_NEW_N(r->a, uint32_t, room);
	r->room = room;
}

static tsr_buffer_id fresh_buffer(tsr_remat *r, tsr_buffer_id of)
{
	tsr_buffer *b = TSR_NEW(r->p->arena, tsr_buffer);
	*b = *r->l->buffers.at[of];
	b->id = r->l->buffers.n;
	b->kind = TSR_BUFFER_TEMP;
	b->tensor = TSR_NONE;
	b->name = tsr_intern(r->l->tc->names, tsr_format(r->p->arena, "%s.again%u", r->l->buffers.at[of]->name, b->id));
	tsr_push(r->p->arena, &r->l->buffers, b);
	make_room(r, r->l->buffers.n);
	r->is_fresh[b->id] = true;
	return b->id;
}

/* ---- doing it ------------------------------------------------------------------------------------------------------------------- */

static void insert(tsr_remat *r, tsr_stmt *s, uint32_t at)
{
	tsr_stmts *body = r->uses->body;
	uint32_t n = body->n;
	tsr_uses *uses = TSR_NEW_N(r->a, tsr_uses, n + 2);
	tsr_push(r->p->arena, body, s);
	for (uint32_t i = 0; i < n; i++)
		uses[i + (i >= at)] = r->uses->at[i];
	for (uint32_t i = n; i > at; i--)
		body->at[i] = body->at[i - 1];
	body->at[at] = s;
	r->uses->at = uses;
	tsr_body_uses_renew(r->uses, at);
}

static void again_one(tsr_remat *r, tsr_buffer_id x, uint32_t from, uint32_t at, uint32_t place)
{
	tsr_repeat q;
	if (!tsr_remat_part(r, from, x, at, &q))
		tsr_bug("%s cannot be computed again", r->l->buffers.at[x]->name);
	uint32_t before = r->l->buffers.n;
	tsr_buffer_id *inside = TSR_NEW_N(r->step, tsr_buffer_id, before + 1);
	tsr_stmt *s = copy_of(&q, q.kernel);
	for (uint32_t i = 0; i < q.uses->v.n; i++) {
		tsr_buffer_id b = q.uses->v.at[i].buffer;
		inside[b] = b == x ? r->fresh[x] : q.needed[i] ? fresh_buffer(r, b) : tsr_remat_version(r, b, at);
	}
	s->kernel.name = tsr_intern(r->l->tc->names, tsr_format(r->p->arena, "%s.again%u", q.kernel->kernel.name, r->fresh[x]));
	tsr_stmt_rename(r->p, s, inside);
	insert(r, s, place);
}

void tsr_remat_again(tsr_remat *r, tsr_buffer_id x, uint32_t n, const uint32_t *from, uint32_t at, uint32_t place)
{
	tsr_buffer_id *later = TSR_NEW_N(r->step, tsr_buffer_id, r->l->buffers.n + 1);
	for (uint32_t b = 0; b < r->l->buffers.n; b++)
		later[b] = b;
	later[x] = fresh_buffer(r, x);
	r->fresh[x] = later[x];
	r->origin[later[x]] = x;
	r->makers[later[x]] = n;
	for (uint32_t i = place; i < r->uses->body->n; i++) {
		tsr_use use = tsr_uses_of(&r->uses->at[i], x);
		if (!use.loads && !tsr_use_writes(use))
			continue;
		tsr_stmt_rename(r->p, r->uses->body->at[i], later);
		tsr_body_uses_renew(r->uses, i);
	}
	for (uint32_t i = 0; i < n; i++)
		again_one(r, x, from[i], at, place + i);
	r->l->recomputed_bytes += tsr_remat_bytes(r, x);
	r->p->changes++;
}

/* The statement at `from` comes to stand at `place`. */
static void move_up(tsr_remat *r, uint32_t from, uint32_t place)
{
	tsr_stmt *s = r->uses->body->at[from];
	tsr_uses uses = r->uses->at[from];
	for (uint32_t i = from; i > place; i--) {
		r->uses->body->at[i] = r->uses->body->at[i - 1];
		r->uses->at[i] = r->uses->at[i - 1];
	}
	r->uses->body->at[place] = s;
	r->uses->at[place] = uses;
}

uint32_t tsr_remat_sooner(tsr_remat *r, tsr_buffer_id b, uint32_t at, uint32_t place)
{
	tsr_buffer_id f = r->fresh[b];
	uint32_t from = place;
	for (uint32_t i = 0; i < r->makers[f]; i++) {
		while (!tsr_use_writes(tsr_uses_of(&r->uses->at[from], f)))
			from++;
		move_up(r, from++, place + i);
		r->of[f].v.at[i].at = at - 1;        /* before the statement at `at`, as all that asks for its place wants to know */
	}
	return r->makers[f];
}
