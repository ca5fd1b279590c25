/* Sums, maxima and the like of much that make few elements, as a loss or the mean of each channel are, are taken in parts:
 *
 *     let $s = 0  for k .. reduce { set $s = $s + v }  store C = $s            for k .. reduce { for c { update C[c] += v } }
 *
 * becomes, with k = part * each + k',
 *
 *     for part { let $s = 0  for k' .. reduce { set $s = $s + v }  store T[part] = $s }
 *     let $s = 0  for part reduce { set $s = $s + T[part] }  for rest .. reduce { set $s = $s + v }  store C = $s
 *
 * and likewise by columns.  Nothing else of such a kernel could be divided among threads, or only columns of which each thread would read a part of each line
 * or two.  How many parts there are follows from the sizes, so the bits are the same for any number of threads; one thread loses nothing.
 *
 * Where only the run knows how much there is, and it is one element, the loop is marked: the emitter takes it in parts (kernel/sum_parts.c), which are in no buffer.
 *
 * Behind the passes that join kernels, which would join a part with what others do for an image of a batch: ResNet-18 took 4 MB more so. */
#include "schedule.h"
#include "parts.h"

enum { FEWEST = 8, MOST = 32, REST = 8, STRETCH = 256, FEW_ROWS = 8, COLUMN_BYTES = 512, MOST_SUMS = 8, LINE = 16 };      /* rest: what is left over is at most one in so many; a line's elements of 32 bits */

typedef struct totals {
	tsr_pass *p;
	tsr_loop_unit *unit;
	tsr_stmt *kernel;
	tsr_stmt *along;             /* the loop that is parted; NULL: the run parts `later` */
	tsr_stmt *later;
	int64_t parts, each, rest;
	uint32_t n;                  /* sums, and the parts of each */
	tsr_buffer_id of[MOST_SUMS], to[MOST_SUMS];
	tsr_acc acc[MOST_SUMS];
	uint32_t part;               /* the new loop's symbol where a copy is changed */
} totals;

/* Parts that are even in number and leave the least; long ones of elements side by side, of whole lines: else vectors lie across two (1000 x 1000 numbers in the second caches of two cores: twice as long). */
static bool choose_parts(totals *t, tsr_stmt *loop, bool elements)
{
	if (loop->loop.how != TSR_FOR_REDUCE || !tsr_size_is_const(loop->loop.extent) || loop->loop.extent.k < FEWEST)
		return false;
	int64_t extent = loop->loop.extent.k, most = extent < MOST ? extent : MOST, least = most / 2 < FEWEST ? FEWEST : most / 2;
	t->parts = 0;
	for (int64_t parts = most & ~(int64_t)1; parts >= least; parts -= 2)
		if (!t->parts || extent % parts < extent % t->parts)
			t->parts = parts;
	if (!t->parts || extent % t->parts * REST > extent)
		return false;
	t->along = loop;
	t->each = extent / t->parts;
	if (elements && t->each >= STRETCH)
		t->each -= t->each % LINE;
	t->rest = extent - t->parts * t->each;
	return true;
}

/* The outermost of the summed loops that has enough iterations, so that a part is a stretch of memory or several; within loops of sizes that only the run knows, not too short ones. */
static bool choose_loop(totals *t, const tsr_nest *sums)
{
	bool unknown = false;             /* around the loop */
	for (uint32_t i = 0; i < sums->n; i++) {
		if (choose_parts(t, sums->loop[i], i + 1 == sums->n))
			return !unknown || t->each >= STRETCH;
		unknown |= !tsr_size_is_const(sums->loop[i]->loop.extent);
	}
	return false;
}

static bool add_sum(totals *t, tsr_buffer_id of, tsr_acc acc)
{
	if (t->n == MOST_SUMS)
		return false;
	t->of[t->n] = of;
	t->acc[t->n++] = acc;
	return true;
}

static bool associative(tsr_acc acc) { return acc != TSR_ACC_SET && acc != TSR_ACC_POW && acc != TSR_ACC_DIV; }

/* ---- sums in a local ---------------------------------------------------------------------------------------------------------- */

/* Of a store of the local or of its conversion. */
static const tsr_expr *stored_local(const tsr_stmt *store)
{
	const tsr_expr *v = store->store.value;
	return v->kind == TSR_EXPR_CONVERT ? v->converted : v;
}

/* set $s = $s acc v, where it begins with what changes nothing. */
static bool sums_into(const tsr_stmts *body, const tsr_stmt *let, tsr_acc *acc)
{
	if (body->n != 1 || body->at[0]->kind != TSR_STMT_SET || body->at[0]->let.local != let->let.local)
		return false;
	const tsr_expr *v = body->at[0]->let.value;
	if (v->kind != TSR_EXPR_OP || !tsr_expr_is_local(v->op.args[0], let->let.local))
		return false;
	static const tsr_acc accs[] = { TSR_ACC_ADD, TSR_ACC_MUL, TSR_ACC_MAX, TSR_ACC_MIN, TSR_ACC_AND, TSR_ACC_OR };
	for (uint32_t i = 0; i < sizeof accs / sizeof *accs; i++)
		if (tsr_acc_get(accs[i])->op == v->op.op && tsr_expr_is_neutral(let->let.value, accs[i])) {
			*acc = accs[i];
			return true;
		}
	return false;
}

/* let $s = neutral;  for ..;  store C = $s, in few rows. */
static bool in_local(totals *t)
{
	tsr_nest rows = tsr_nest_of(&t->kernel->kernel.body);
	const tsr_stmts *b = rows.body;
	int64_t count = 1;
	if (b->n != 3 || b->at[0]->kind != TSR_STMT_LET || b->at[1]->kind != TSR_STMT_FOR || b->at[2]->kind != TSR_STMT_STORE)
		return false;
	for (uint32_t i = 0; i < rows.n; i++) {
		if (rows.loop[i]->loop.how != TSR_FOR_PARALLEL || !tsr_size_is_const(rows.loop[i]->loop.extent))
			return false;
		count *= rows.loop[i]->loop.extent.k;
	}
	tsr_nest sums = tsr_nest_of(&(tsr_stmts){ &b->at[1], 1, 1 });
	tsr_acc acc;
	for (uint32_t i = 0; i < sums.n; i++)
		if (sums.loop[i]->loop.how != TSR_FOR_REDUCE)
			return false;
	if (count >= FEW_ROWS || !sums_into(sums.body, b->at[0], &acc)
		|| (rows.n && (!tsr_nest_covers(t->p->l, &rows, b->at[2], NULL) || tsr_contract_of(t->p, rows.loop[0]))))
		return false;
	if (!add_sum(t, b->at[2]->store.buffer, acc))
		return false;
	t->later = !rows.n && !tsr_size_is_const(sums.loop[0]->loop.extent) && !sums.loop[0]->loop.parts && acc != TSR_ACC_AND && acc != TSR_ACC_OR ? sums.loop[0] : NULL;
	if (tsr_expr_is_local(stored_local(b->at[2]), b->at[0]->let.local) && choose_loop(t, &sums))
		return true;
	t->along = NULL;
	return t->later;
}

/* ---- sums by columns ------------------------------------------------------------------------------------------------------------ */

/* Of a size that only the run knows there are thought to be many: parts of those would be as many times as large. */
static bool few_bytes(const tsr_buffer *b)
{
	int64_t bytes = tsr_buffer_bytes(b);
	return bytes >= 0 && bytes <= COLUMN_BYTES;
}

static bool by_columns(totals *t)
{
	tsr_nest nest;
	if (!tsr_nest_columns(t->p->l, &t->kernel->kernel.body, &nest))
		return false;
	for (uint32_t i = 0; i < nest.body->n; i++) {
		const tsr_stmt *s = nest.body->at[i];
		const tsr_buffer *b = t->p->l->buffers.at[s->store.buffer];
		if (!associative(s->store.acc) || !few_bytes(b) || s->store.value->prec != b->prec || !add_sum(t, b->id, s->store.acc))
			return false;
		for (uint32_t axis = 0; axis < b->rank; axis++)
			for (uint32_t k = 0; k < nest.n; k++)
				if (nest.loop[k]->loop.how == TSR_FOR_REDUCE && tsr_lin_mentions(&s->store.index[axis], nest.loop[k]->loop.sym))
					return false;
	}
	for (uint32_t i = 0; i < t->n; i++)              /* each is one sum's, and cleared here */
		for (uint32_t k = 0; k < i; k++)
			if (t->of[i] == t->of[k])
				return false;
	return t->kernel->kernel.body.n == t->n + 1 && choose_loop(t, &nest);
}

/* ---- in parts --------------------------------------------------------------------------------------------------------------------- */

static tsr_lin sym(const totals *t, uint32_t s) { return tsr_lin_add_sym(t->p->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, s); }

static uint32_t sum_of(const totals *t, tsr_buffer_id of)
{
	uint32_t i = 0;
	while (i < t->n && t->of[i] != of)
		i++;
	return i;
}

static tsr_lin *behind(const totals *t, tsr_buffer_id of, const tsr_lin *index)
{
	return tsr_parts_index(t->p, t->p->l->buffers.at[of], sym(t, t->part), index);
}

/* What the statements store goes to one of the parts, which begins with nothing. */
static void redirect(const totals *t, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR)
			redirect(t, &s->loop.body);
		if (s->kind != TSR_STMT_STORE && s->kind != TSR_STMT_UPDATE)
			continue;
		uint32_t k = sum_of(t, s->store.buffer);
		const tsr_buffer *to = t->p->l->buffers.at[t->to[k]];
		s->store.index = behind(t, s->store.buffer, s->store.index);
		s->store.buffer = to->id;
		if (s->kind == TSR_STMT_STORE)
			s->store.value = s->store.value->kind == TSR_EXPR_CONST ? tsr_expr_const(t->p->arena, tsr_acc_neutral(t->acc[k], to->prec)) : (tsr_expr *)stored_local(s);
	}
}

static tsr_stmt *loop_over_parts(totals *t, tsr_for_kind how)
{
	tsr_stmt *f = tsr_stmt_new(t->p->arena, TSR_STMT_FOR, t->kernel->span);
	f->loop.sym = t->part = t->unit->nsyms++;
	f->loop.name = tsr_intern(t->p->l->tc->names, "part");
	f->loop.extent = tsr_size_const(t->parts);
	f->loop.how = how;
	return f;
}

static tsr_stmt *by_parts(totals *t)
{
	tsr_stmt *f = loop_over_parts(t, TSR_FOR_PARALLEL);
	tsr_size each = tsr_size_const(t->each);
	tsr_placing x = { .p = t->p, .unit = t->unit };
	tsr_place_loop(&x, t->along->loop.sym, tsr_lin_add_sym(t->p->arena, tsr_lin_const(0), t->each, TSR_LSYM_LOOP, t->part), t->each > 1 ? &each : NULL);
	tsr_stmts_place(&x, &t->kernel->kernel.body, &f->loop.body);
	redirect(t, &f->loop.body);
	return f;
}

/* ---- together --------------------------------------------------------------------------------------------------------------------- */

static tsr_expr *load_part(const totals *t, uint32_t k, const tsr_lin *index)
{
	return tsr_expr_load(t->p->arena, t->p->l->buffers.at[t->to[k]], behind(t, t->of[k], index));
}

/* set $s = $s + T[part], where the statements are those around the sum. */
static void join_local(totals *t, const tsr_stmts *around, tsr_stmt *over)
{
	tsr_arena *a = t->p->arena;
	const tsr_stmt *let = around->at[0], *store = around->at[around->n - 1];
	tsr_stmt *set = tsr_stmt_new(a, TSR_STMT_SET, t->kernel->span);
	set->let.local = let->let.local;
	set->let.prec = let->let.prec;
	set->let.value = tsr_expr_op(a, tsr_acc_get(t->acc[0])->op, let->let.prec, tsr_expr_local(a, let->let.local, let->let.prec), load_part(t, 0, store->store.index), NULL);
	tsr_push(a, &over->loop.body, set);
}

/* The columns' loops around updates by what each part has summed. */
static void join_columns(totals *t, tsr_stmt *over)
{
	tsr_nest nest;
	tsr_nest_columns(t->p->l, &t->kernel->kernel.body, &nest);
	uint32_t first = 0;
	while (nest.loop[first]->loop.how == TSR_FOR_REDUCE)
		first++;
	tsr_placing x = { .p = t->p, .unit = t->unit };
	tsr_stmts_place(&x, &(tsr_stmts){ &nest.loop[first], 1, 1 }, &over->loop.body);
	tsr_nest columns = tsr_nest_of(&over->loop.body);
	for (uint32_t i = 0; i < columns.body->n; i++) {
		tsr_stmt *s = columns.body->at[i];
		uint32_t k = sum_of(t, s->store.buffer);
		s->store.acc = s->store.acc == TSR_ACC_SUB ? TSR_ACC_ADD : s->store.acc;     /* a part has subtracted from nothing */
		s->store.value = load_part(t, k, s->store.index);
	}
}

/* The kernel of before, of which only what the parts leave over is summed again. */
static void together(totals *t, bool local, tsr_stmts *out)
{
	tsr_size rest = tsr_size_const(t->rest);
	tsr_placing x = { .p = t->p, .unit = t->unit };
	tsr_place_loop(&x, t->along->loop.sym, tsr_lin_const(t->parts * t->each), t->rest > 1 ? &rest : NULL);
	tsr_stmts_place(&x, &t->kernel->kernel.body, out);
	tsr_stmt *over = loop_over_parts(t, TSR_FOR_REDUCE);
	tsr_stmts *body = local ? tsr_nest_of(out).body : out;
	uint32_t at = local ? 1 : body->n - 1;
	if (local)
		join_local(t, body, over);
	else
		join_columns(t, over);
	tsr_stmt *left = body->at[at];
	body->at[at] = over;
	if (t->rest) {
		tsr_stmt *last = body->at[body->n - 1];
		tsr_push(t->p->arena, body, last);
		for (uint32_t i = body->n - 1; i > at + 1; i--)
			body->at[i] = body->at[i - 1];
		body->at[at + 1] = left;
	}
}

static bool recognise(totals *t, bool *local)
{
	if (t->kernel->kind != TSR_STMT_KERNEL)
		return false;
	*local = in_local(t);
	if (!*local) {
		t->n = 0;
		if (!by_columns(t))
			return false;
	}
	return tsr_worth_two_threads(t->p, &t->kernel->kernel.body);
}

static void part(totals *t, bool local, tsr_stmts *out)
{
	for (uint32_t i = 0; i < t->n; i++) {
		const tsr_buffer *c = t->p->l->buffers.at[t->of[i]];
		tsr_prec prec = local ? tsr_nest_of(&t->kernel->kernel.body).body->at[0]->let.prec : c->prec;
		t->to[i] = tsr_parts_buffer(t->p, c, t->parts, prec)->id;
	}
	tsr_stmt *parts = by_parts(t);
	tsr_stmts all = { 0 };
	together(t, local, &all);
	tsr_parts_kernels(t->p, t->kernel, parts, all, out);
	tsr_pass_note(t->p, "%s: %s is taken in %lld parts", t->unit->name, t->kernel->kernel.name, (long long)t->parts);
}

static void mark(totals *t)
{
	t->later->loop.parts = MOST;
	t->later->loop.part_sym = t->unit->nsyms;
	t->unit->nsyms += 2;
	t->p->changes++;
	tsr_pass_note(t->p, "%s: %s is taken in %d parts where it is long", t->unit->name, t->kernel->kernel.name, MOST);
}

void tsr_pass_totals(tsr_pass *p)
{
	for (uint32_t i = 0; i < p->l->units.n; i++) {
		tsr_loop_unit *u = p->l->units.at[i];
		tsr_stmts out = { 0 };
		for (uint32_t k = 0; k < u->body.n; k++) {
			totals t = { .p = p, .unit = u, .kernel = u->body.at[k] };
			bool local;
			bool parted = recognise(&t, &local);
			if (parted && t.along)
				part(&t, local, &out);
			else
				tsr_push(p->arena, &out, t.kernel);
			if (parted && !t.along)
				mark(&t);
		}
		u->body = out;
	}
}
