/* What a kernel is apart from which buffers it works on: two kernels of one key are one function, called with other
 * arguments.  Blocks of a network that are made by one function, and their gradients, share nearly all of their code.
 *
 * The key is text: the statements with every buffer, run-time size, runtime number, loop symbol and local replaced by its
 * number in order of appearance, and each buffer described (precision, extents, alignment) where it first appears.  The order
 * of appearance is also the order of the function's parameters.
 *
 * Of a buffer of which a kernel touches one place of the first axis alone, as a step of a recurrent network does, the function is given that place: steps share their code. */
#include "nests.h"
#include "key.h"

enum { LINE = 64 };

typedef struct writer {
	tsr_emit *e;
	tsr_kernel_key *key;
	tsr_text t;
	tsr_map buffers, symbols, numbers, loops, locals;
	tsr_map places;              /* of the first axis: 1 + the only one, or SEVERAL */
} writer;

/* ---- places ---------------------------------------------------------------------------------------------------------------- */

enum { SEVERAL = -1 };

static void note_place(writer *w, tsr_buffer_id id, const tsr_lin *index)
{
	const tsr_buffer *b = w->e->loops->buffers.at[id];
	tsr_map_entry *entry = tsr_map_put(&w->places, id);
	int64_t here = b->rank && !index[0].n && tsr_size_is_const(index[0].base) && index[0].offset + index[0].base.k >= 0 ? 1 + index[0].offset + index[0].base.k : SEVERAL;
	entry->value.i = !entry->value.i || entry->value.i == here ? here : SEVERAL;
}

static void note_places(writer *w, tsr_expr *x)
{
	tsr_expr *part[TSR_MOST_PARTS];
	if (x->kind == TSR_EXPR_LOAD)
		note_place(w, x->load.buffer, x->load.index);
	for (uint32_t i = 0, n = tsr_expr_parts(x, part); i < n; i++)
		note_places(w, part[i]);
}

static void note_places_in(writer *w, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		switch (s->kind) {
		case TSR_STMT_FOR:
			if (s->loop.ahead)
				note_places(w, s->loop.ahead);
			note_places_in(w, &s->loop.body);
			break;
		case TSR_STMT_IF: note_places_in(w, &s->cond.body); break;
		case TSR_STMT_STORE: case TSR_STMT_UPDATE:
			note_place(w, s->store.buffer, s->store.index);
			note_places(w, s->store.value);
			break;
		case TSR_STMT_LET: case TSR_STMT_SET: note_places(w, s->let.value); break;
		case TSR_STMT_LETSYM: note_places(w, s->letsym.value); break;
		case TSR_STMT_CHECK: case TSR_STMT_RANDOM: case TSR_STMT_KERNEL: case TSR_STMT_KINDS: break;
		}
	}
}

/* Elements of a place of the first axis, which lines of memory divide as they divide the buffer; 0: they do not, or more than one is touched. */
static int64_t row_of(writer *w, tsr_buffer_id id, int64_t *place)
{
	const tsr_buffer *b = w->e->loops->buffers.at[id];
	const tsr_map_entry *entry = tsr_map_find(&w->places, id);
	int64_t row = 1;
	if (!entry || entry->value.i <= 0 || b->home == TSR_HOME_THREAD)
		return 0;
	for (uint32_t axis = 1; axis < b->rank; axis++)
		if (!tsr_size_is_const(b->dims[axis]) || __builtin_mul_overflow(row, b->dims[axis].k, &row))
			return 0;
	*place = entry->value.i - 1;
	return row % (LINE / tsr_prec_bytes(b->prec)) ? 0 : row;
}

/* ---- text ------------------------------------------------------------------------------------------------------------------ */

/* The number of `id` in the order of appearance; true when it is new. */
static bool seen_first(tsr_map *m, uint32_t id, uint32_t *number)
{
	uint32_t n = m->n;
	tsr_map_entry *entry = tsr_map_put(m, id);
	if (m->n > n)
		entry->value.i = n;
	*number = (uint32_t)entry->value.i;
	return m->n > n;
}

static void size(writer *w, tsr_size s)
{
	tsr_text_addf(&w->t, "%lld", (long long)s.k);
	for (uint32_t i = 0; i < s.nterms; i++) {
		uint32_t n;
		if (seen_first(&w->symbols, s.terms[i].symbol, &n))
			tsr_push(w->e->tc->arena, &w->key->symbols, s.terms[i].symbol);
		tsr_text_addf(&w->t, "+%lld?%u", (long long)s.terms[i].coef, n);
	}
}

static void lin(writer *w, const tsr_lin *x)
{
	tsr_text_addf(&w->t, "%lld+", (long long)x->offset);
	size(w, x->base);
	for (uint32_t i = 0; i < x->n; i++) {
		uint32_t n;
		bool number = x->terms[i].kind == TSR_LSYM_NUMBER;
		if (seen_first(number ? &w->numbers : &w->loops, x->terms[i].id, &n) && number)
			tsr_push(w->e->tc->arena, &w->key->numbers, x->terms[i].id);
		tsr_text_addf(&w->t, "+%lld%c%u", (long long)x->terms[i].coef, number ? '@' : 's', n);
	}
	tsr_text_char(&w->t, ',');
}

static void ranges(writer *w, uint32_t n, const tsr_range *r)
{
	for (uint32_t i = 0; i < n; i++) {
		lin(w, &r[i].index);
		size(w, r[i].size);
		tsr_text_char(&w->t, ';');
	}
}

static void buffer(writer *w, tsr_buffer_id id, bool written)
{
	const tsr_buffer *b = w->e->loops->buffers.at[id];
	uint32_t n;
	if (seen_first(&w->buffers, id, &n)) {
		tsr_kernel_buffer fresh = {.id = id};
		fresh.row = row_of(w, id, &fresh.place);
		tsr_push(w->e->tc->arena, &w->key->buffers, fresh);
		tsr_text_addf(&w->t, "{%d %d%s", (int)b->prec, tsr_emit_foreign(b), fresh.row ? " one" : "");
		if (b->home == TSR_HOME_THREAD)
			tsr_text_addf(&w->t, tsr_emit_row_later(b) ? " own ?%lld" : " own %lld", (long long)b->offset);
		for (uint32_t i = 0; i < b->rank; i++) {
			tsr_text_char(&w->t, ' ');
			size(w, b->dims[i]);
		}
		tsr_text_char(&w->t, '}');
	}
	w->key->buffers.at[n].written |= written;
	tsr_text_addf(&w->t, "%%%u", n);
}

static void element(writer *w, tsr_buffer_id id, const tsr_lin *index, bool written)
{
	buffer(w, id, written);
	tsr_text_char(&w->t, '[');
	int64_t place;
	for (uint32_t i = row_of(w, id, &place) ? 1 : 0; i < w->e->loops->buffers.at[id]->rank; i++)
		lin(w, &index[i]);
	tsr_text_char(&w->t, ']');
}

static void local(writer *w, tsr_local_id id)
{
	uint32_t n;
	seen_first(&w->locals, id, &n);
	tsr_text_addf(&w->t, "$%u", n);
}

static void expr(writer *w, const tsr_expr *x)
{
	uint32_t n;
	tsr_text_addf(&w->t, "(%d.%d ", (int)x->kind, (int)x->prec);
	switch (x->kind) {
	case TSR_EXPR_CONST:
		/* The bits: -0. is not 0., and a NaN is itself. */
		tsr_text_addf(&w->t, "%d:%llx", (int)x->value.prec, (unsigned long long)x->value.i);
		break;
	case TSR_EXPR_LOAD: element(w, x->load.buffer, x->load.index, false); break;
	case TSR_EXPR_LOCAL: local(w, x->local); break;
	case TSR_EXPR_INDEX: lin(w, &x->index); break;
	case TSR_EXPR_SIZE: size(w, x->size); break;
	case TSR_EXPR_NUMBER:
		if (seen_first(&w->numbers, x->number, &n))
			tsr_push(w->e->tc->arena, &w->key->numbers, x->number);
		tsr_text_addf(&w->t, "@%u:%d", n, (int)x->prec);
		break;
	case TSR_EXPR_OP:
		tsr_text_addf(&w->t, "%d.%d", (int)x->op.op, (int)x->op.operand_prec);
		for (uint32_t i = 0; i < tsr_op_get(x->op.op)->arity; i++)
			expr(w, x->op.args[i]);
		break;
	case TSR_EXPR_CONVERT: expr(w, x->converted); break;
	case TSR_EXPR_LOOKUP:
		seen_first(&w->loops, x->lookup.sym, &n);
		tsr_text_addf(&w->t, "s%u", n);
		expr(w, x->lookup.at);
		expr(w, x->lookup.value);
		break;
	case TSR_EXPR_SELECT:
		ranges(w, x->select.n, x->select.ranges);
		expr(w, x->select.inside);
		expr(w, x->select.outside);
		break;
	case TSR_EXPR_KINDS: break;
	}
	tsr_text_char(&w->t, ')');
}

static void stmts(writer *w, const tsr_stmts *body);

static void stmt(writer *w, const tsr_stmt *s)
{
	uint32_t n;
	tsr_text_addf(&w->t, "\n%d ", (int)s->kind);
	switch (s->kind) {
	case TSR_STMT_FOR:
		seen_first(&w->loops, s->loop.sym, &n);
		tsr_text_addf(&w->t, "s%u %d%c%c%c%lld,%u", n, (int)s->loop.how, s->loop.contraction ? 'c' : ' ', s->loop.split ? '/' : ' ', s->loop.stream ? '>' : ' ',
			(long long)s->loop.overlap, s->loop.parts);
		if (s->loop.contraction) {
			const tsr_schedule *c = &s->loop.contraction->schedule;
			const tsr_tail *tail = s->loop.contraction->tail;
			tsr_text_addf(&w->t, "%u,%u,%lld,%lld,%lld,%d%d%d%d%d%d", c->mr, c->nr, (long long)c->mc, (long long)c->nc, (long long)c->kc, c->pack_a, c->pack_b, c->dots, c->small, tail && tail->passing, s->loop.contraction->watched);
			if (s->loop.contraction->watched)
				local(w, s->loop.contraction->witness);
		}
		size(w, s->loop.extent);
		tsr_text_addf(&w->t, "%s%s", s->loop.from ? "f" : "", s->loop.until ? "u" : "");
		if (s->loop.from)
			lin(w, s->loop.from);
		if (s->loop.until)
			lin(w, s->loop.until);
		if (s->loop.ahead)
			expr(w, s->loop.ahead);
		stmts(w, &s->loop.body);
		break;
	case TSR_STMT_STORE: case TSR_STMT_UPDATE:
		tsr_text_addf(&w->t, "%d", (int)s->store.acc);
		element(w, s->store.buffer, s->store.index, true);
		expr(w, s->store.value);
		break;
	case TSR_STMT_LET: case TSR_STMT_SET:
		tsr_text_addf(&w->t, "%d", (int)s->let.prec);
		local(w, s->let.local);
		expr(w, s->let.value);
		break;
	case TSR_STMT_LETSYM:
		seen_first(&w->loops, s->letsym.sym, &n);
		tsr_text_addf(&w->t, "s%u", n);
		expr(w, s->letsym.value);
		break;
	case TSR_STMT_IF:
		ranges(w, s->cond.n, s->cond.ranges);
		stmts(w, &s->cond.body);
		break;
	case TSR_STMT_CHECK:
		ranges(w, 1, &s->check.range);
		w->key->single = true;       /* it names a place */
		break;
	case TSR_STMT_RANDOM: case TSR_STMT_KERNEL: case TSR_STMT_KINDS:
		w->key->text = NULL;         /* these name a place or a stream: never shared */
		w->key->single = true;
		break;
	}
}

static void stmts(writer *w, const tsr_stmts *body)
{
	tsr_text_char(&w->t, '{');
	for (uint32_t i = 0; i < body->n; i++)
		stmt(w, body->at[i]);
	tsr_text_char(&w->t, '}');
}

static void large(writer *w, const tsr_large *x)
{
	for (uint32_t i = 0; i < x->parts.n; i++) {
		tsr_text_addf(&w->t, "+%lld", (long long)x->parts.at[i].each);
		for (uint32_t k = 0; k < x->parts.at[i].n; k++) {
			tsr_text_char(&w->t, '*');
			size(w, x->parts.at[i].extents[k]);
		}
	}
	tsr_text_addf(&w->t, ">=%lld/%lld ", (long long)x->least, (long long)x->alone);
}

tsr_kernel_key *tsr_kernel_key_of(tsr_emit *e, const tsr_stmt *kernel)
{
	tsr_arena *a = e->tc->arena;
	writer w = {.e = e, .key = TSR_NEW(a, tsr_kernel_key)};
	tsr_text_init(&w.t, a);
	tsr_map *maps[] = {&w.buffers, &w.symbols, &w.numbers, &w.loops, &w.locals, &w.places};
	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		tsr_map_init(maps[i], a);
	note_places_in(&w, &kernel->kernel.body);
	if (kernel->kernel.team)
		tsr_text_add(&w.t, "team ");
	for (uint32_t i = 0; i < kernel->kernel.large.n; i++)
		large(&w, &kernel->kernel.large.at[i]);
	stmts(&w, &kernel->kernel.body);
	if (!w.key->single)
		w.key->text = tsr_intern(e->tc->names, tsr_text_str(&w.t));
	return w.key;
}
