/* Units of assignments to units of kernels: which buffers there are, what is cleared beforehand, what is checked when the
 * code runs.
 *
 *   `=:acc`, maps direct and surjective     each cell is stored once; nothing is set before
 *            maps direct only               the target is filled with the neutral element, then each cell is stored once
 *            cells shared between points    filled, then combined in place
 *   `=acc`                                  combined in place
 *   `=:`                                    stored
 *
 * direct: no cell is written at two points of the written loops, in one piece or in several. */
#include "lower.h"

tsr_prec tsr_grad_prec(tsr_prec value)
{
	return tsr_prec_is_float(value) && value >= TSR_PREC_F32 ? value : TSR_PREC_F32;
}

/* ---- buffers ------------------------------------------------------------------------------------------------------- */

static tsr_buffer_kind buffer_kind(const tsr_tensor *t, tsr_part part)
{
	if (part == TSR_PART_GRAD)
		return TSR_BUFFER_GRAD;
	switch (t->kind) {
	case TSR_TENSOR_PARAM: return TSR_BUFFER_PARAM;
	case TSR_TENSOR_STATE: return TSR_BUFFER_STATE;
	case TSR_TENSOR_FILE:  return TSR_BUFFER_FILE;
	case TSR_TENSOR_INPUT: return TSR_BUFFER_INPUT;
	case TSR_TENSOR_LITERAL: case TSR_TENSOR_FILL: case TSR_TENSOR_POSITIONS: case TSR_TENSOR_SIZE: return TSR_BUFFER_LITERAL;
	case TSR_TENSOR_OP: case TSR_TENSOR_RANDOM: case TSR_TENSOR_NUMBER: return TSR_BUFFER_VALUE;
	}
	tsr_bug("%s: unknown kind of tensor", t->name);
}

static void tensor_dims(tsr_lowering *w, const tsr_tensor *t, tsr_buffer *b)
{
	static const tsr_kind order[TSR_KINDS] = {TSR_BATCH, TSR_OUTPUT, TSR_INPUT};
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		b->rank += t->solved.row[order[k]].n;
	b->dims = TSR_NEW_N(w->arena, tsr_size, b->rank + 1);
	uint32_t at = 0;
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		for (uint32_t i = 0; i < t->solved.row[order[k]].n; i++)
			b->dims[at++] = t->solved.row[order[k]].axes[i].size;
}

/* Constant data of tensors that are computed in place elsewhere, for those that the program level looks at. */
static tsr_numbers constant_data(tsr_lowering *w, const tsr_tensor *t, tsr_buffer *b)
{
	if (t->kind == TSR_TENSOR_LITERAL) {
		b->count = t->literal.count;
		return t->literal.data;
	}
	b->count = 1;
	for (uint32_t i = 0; i < b->rank; i++) {
		if (!tsr_size_is_const(b->dims[i]))
			tsr_bug("%s: a constant tensor of run-time size is looked at", b->name);
		b->count *= (uint64_t)b->dims[i].k;
	}
	tsr_size size = tsr_size_const(0);
	if (t->kind == TSR_TENSOR_SIZE && (!tsr_store_label(w->g->store, t->size.label, &size) || !tsr_size_is_const(size)))
		tsr_bug("%s: a run-time size is looked at", b->name);
	tsr_cell *data = TSR_NEW_N(w->arena, tsr_cell, b->count + 1);
	bool real = t->kind == TSR_TENSOR_FILL && t->fill.value.prec == TSR_PREC_F64;
	for (uint64_t i = 0; i < b->count; i++) {
		if (real)
			data[i].d = t->fill.value.d;
		else
			data[i].i = t->kind == TSR_TENSOR_FILL ? t->fill.value.i : t->kind == TSR_TENSOR_SIZE ? size.k : (int64_t)i;
	}
	return (tsr_numbers){!real, data};
}

tsr_buffer *tsr_lower_buffer(tsr_lowering *w, const tsr_operand *o, const tsr_piece *piece)
{
	tsr_map *map = o->part == TSR_PART_GRAD ? &w->grads : &w->values;
	tsr_map_entry *e = tsr_map_find(map, o->tensor);
	if (e)
		return e->value.p;
	const tsr_tensor *t = tsr_tensor_get(w->g, o->tensor);
	tsr_buffer *b = TSR_NEW(w->arena, tsr_buffer);
	b->id = w->l->buffers.n;
	b->kind = buffer_kind(t, o->part);
	b->tensor = t->id;
	b->name = t->name;
	b->prec = t->prec;
	if (o->part == TSR_PART_GRAD) {
		b->name = tsr_intern(w->g->tc->names, tsr_format(w->arena, "%s.grad", t->name));
		b->prec = tsr_grad_prec(t->prec);
	}
	if (o->slot == TSR_SLOT_ALL) {
		b->rank = piece->nloops;
		b->dims = TSR_NEW_N(w->arena, tsr_size, b->rank + 1);
		for (uint32_t i = 0; i < b->rank; i++)
			b->dims[i] = piece->loops[i].extent;
	} else {
		tensor_dims(w, t, b);
	}
	if (b->kind == TSR_BUFFER_LITERAL)
		b->data = constant_data(w, t, b);
	b->observed = (w->observed && w->observed[2 * t->id + o->part]) || b->kind == TSR_BUFFER_PARAM
		|| b->kind == TSR_BUFFER_FILE || b->kind == TSR_BUFFER_INPUT;
	b->returned = w->returned && (b->kind == TSR_BUFFER_VALUE || b->kind == TSR_BUFFER_GRAD) ? w->returned[2 * t->id + o->part] : 0;
	tsr_map_put(map, t->id)->value.p = b;
	tsr_push(w->arena, &w->l->buffers, b);
	tsr_push(w->arena, &w->written, false);
	return b;
}

void tsr_lower_reads(tsr_lowering *w, tsr_buffer *b)
{
	if (!w->written.at[b->id] && b->kind != TSR_BUFFER_LITERAL)
		b->observed = true;
}

tsr_buffer_id tsr_loops_buffer(const tsr_loops *l, tsr_tensor_id tensor, tsr_part part)
{
	for (uint32_t i = 0; i < l->buffers.n; i++)
		if (l->buffers.at[i]->tensor == tensor && (l->buffers.at[i]->kind == TSR_BUFFER_GRAD) == (part == TSR_PART_GRAD))
			return i;
	return TSR_NONE;
}

/* Buffers that exist whatever the code mentions: data and parameters, and what the program level looks at. */
static void make_lasting_buffers(tsr_lowering *w)
{
	for (uint32_t i = 0; i < w->g->tensors.n; i++) {
		const tsr_tensor *t = w->g->tensors.at[i];
		bool lasting = t->kind == TSR_TENSOR_PARAM || t->kind == TSR_TENSOR_STATE || t->kind == TSR_TENSOR_FILE || t->kind == TSR_TENSOR_INPUT;
		tsr_operand o = {t->id, TSR_PART_VALUE, 0, t->span};
		for (o.part = TSR_PART_VALUE; o.part <= TSR_PART_GRAD; o.part++)
			if (!t->poison && ((lasting && o.part == TSR_PART_VALUE) || (w->observed && w->observed[2 * i + o.part])))
				tsr_lower_buffer(w, &o, NULL);
	}
}

/* ---- run-time checks ----------------------------------------------------------------------------------------------- */

/* For c*n + k in [0, size) with 0 <= k < c: n itself in [0, ceil((size - k) / c)), which a reader understands. */
static tsr_range readable(tsr_lowering *w, tsr_range r)
{
	if (r.index.n != 1 || r.index.base.nterms || !tsr_size_is_const(r.size))
		return r;
	int64_t c = r.index.terms[0].coef, k = r.index.offset + r.index.base.k;
	if (c <= 0 || k < 0 || k >= c)
		return r;
	int64_t room = r.size.k - k;
	tsr_lin n = tsr_lin_add_sym(w->arena, tsr_lin_const(0), 1, r.index.terms[0].kind, r.index.terms[0].id);
	return (tsr_range){n, tsr_size_const(room > 0 ? (room + c - 1) / c : 0)};
}

static void add_check(tsr_lowering *w, tsr_range r, const char *what, tsr_span span)
{
	for (uint32_t i = 0; i < w->unit->body.n; i++) {
		const tsr_stmt *s = w->unit->body.at[i];
		if (s->kind == TSR_STMT_CHECK && tsr_lin_equal(s->check.range.index, r.index) && tsr_size_equal(s->check.range.size, r.size))
			return;
	}
	tsr_stmt *s = tsr_stmt_new(w->arena, TSR_STMT_CHECK, span);
	s->check.range = r;
	s->check.what = what;
	tsr_push(w->arena, &w->unit->body, s);
}

typedef struct checks { tsr_lowering *w; const tsr_assign *a; const tsr_piece *p; } checks;

/* Every position that an index with a runtime number can take lies in its axis: its least one is checked against the axis
 * less what the loops add to it. */
static void check_operand(void *user, const tsr_operand *o)
{
	const checks *c = user;
	tsr_lowering *w = c->w;
	if (o->slot < 0)
		return;
	tsr_buffer shape = {0};
	const tsr_tensor *t = tsr_tensor_get(w->g, o->tensor);
	tensor_dims(w, t, &shape);
	const tsr_map_axes *m = &c->p->maps[o->slot];
	for (uint32_t i = 0; i < m->n; i++) {
		const tsr_index *x = &m->axes[i];
		if (!x->checked || x->guarded)
			continue;
		tsr_interval r = tsr_index_interval(w->arena, c->p, x);
		tsr_lin low = tsr_lin_add_size(w->arena, tsr_lin_const(0), 1, r.low);
		const char *name = NULL;
		for (uint32_t j = 0; j < x->n; j++)
			if (x->terms[j].sym.kind == TSR_SYM_NUMBER) {
				low = tsr_lin_add_sym(w->arena, low, x->terms[j].coef, TSR_LSYM_NUMBER, x->terms[j].sym.id);
				name = w->g->numbers.at[x->terms[j].sym.id]->name;
			}
		tsr_size spread = tsr_size_add(w->arena, r.high, tsr_size_scale(w->arena, r.low, -1));
		tsr_range range = {low, tsr_size_add(w->arena, shape.dims[i], tsr_size_scale(w->arena, spread, -1))};
		add_check(w, readable(w, range), tsr_format(w->arena, "`%s` along `%s`", t->name, name ? name : ""),
			w->g->records.at[c->a->record]->site);
	}
}

static const tsr_rhs *unconverted(const tsr_rhs *r)
{
	while (r->kind == TSR_RHS_CONVERT)
		r = r->converted;
	return r;
}

/* `at index positions`: one kernel looks at every index before any is used. */
static void check_positions(tsr_lowering *w, const tsr_assign *a, const tsr_piece *p, const tsr_rhs *at)
{
	const tsr_rhs *index = unconverted(at->op.args[0]), *positions = unconverted(at->op.args[1]);
	uint64_t over = positions->kind == TSR_RHS_OPERAND ? tsr_operand_loops(p, &positions->operand) : 0, loops = tsr_rhs_loops(p, index);
	uint32_t position = 0;
	while (position < p->nloops && over != UINT64_C(1) << position)
		position++;
	if ((over && position == p->nloops) || loops & over)
		return;
	/* the numbers by name; those that are computed in place, by the result */
	const tsr_tensor *t = tsr_tensor_get(w->g, index->kind == TSR_RHS_OPERAND ? index->operand.tensor : a->target.tensor);
	tsr_nest n = {.w = w, .a = a, .p = p, .first_sym = w->unit->nsyms};
	uint32_t sym = n.first_sym + p->nloops;
	w->unit->nsyms = sym + 1;
	tsr_stmt *kernel = tsr_stmt_new(w->arena, TSR_STMT_KERNEL, a->span), *read = tsr_stmt_new(w->arena, TSR_STMT_LETSYM, index->span);
	kernel->kernel.name = tsr_intern(w->g->tc->names, "check");
	read->letsym.sym = sym;
	read->letsym.value = tsr_lower_value(&n, index, TSR_PREC_I64);
	tsr_stmt *check = tsr_stmt_new(w->arena, TSR_STMT_CHECK, w->g->records.at[a->record]->site);
	check->check.range = (tsr_range){tsr_lin_add_sym(w->arena, tsr_lin_const(0), 1, TSR_LSYM_DATA, sym),
	                                   over ? p->loops[position].extent : tsr_size_const(1)};       /* an axis of size one has no loop */
	check->check.what = tsr_format(w->arena, "the axis that `%s` looks up", t->name);
	tsr_stmts body = {0};
	tsr_push(w->arena, &body, read);
	tsr_push(w->arena, &body, check);
	for (uint32_t i = p->nloops; i-- > 0;) {
		if (!(loops >> i & 1))
			continue;
		tsr_stmt *f = tsr_stmt_new(w->arena, TSR_STMT_FOR, a->span);
		f->loop.sym = n.first_sym + i;
		f->loop.name = "i";
		f->loop.extent = p->loops[i].extent;
		f->loop.how = TSR_FOR_SERIAL;
		f->loop.body = body;
		body = (tsr_stmts){0};
		tsr_push(w->arena, &body, f);
	}
	kernel->kernel.body = body;
	tsr_push(w->arena, &w->unit->body, kernel);
}

static void find_positions(tsr_lowering *w, const tsr_assign *a, const tsr_piece *p, const tsr_rhs *r)
{
	if (r->kind == TSR_RHS_CONVERT)
		find_positions(w, a, p, r->converted);
	if (r->kind != TSR_RHS_OP)
		return;
	if (r->op.op == TSR_OP_AT)
		check_positions(w, a, p, r);
	for (uint32_t i = 0; i < tsr_op_get(r->op.op)->arity; i++)
		find_positions(w, a, p, r->op.args[i]);
}

/* ---- assignments --------------------------------------------------------------------------------------------------- */

static void fill(tsr_lowering *w, const tsr_assign *a)
{
	tsr_buffer *b = tsr_lower_buffer(w, &a->target, NULL);
	tsr_lin *index = TSR_NEW_N(w->arena, tsr_lin, b->rank + 1);
	tsr_stmt *s = tsr_stmt_new(w->arena, TSR_STMT_STORE, a->span);
	for (uint32_t i = 0; i < b->rank; i++)
		index[i] = tsr_lin_add_sym(w->arena, tsr_lin_const(0), 1, TSR_LSYM_LOOP, w->unit->nsyms + i);
	s->store.buffer = b->id;
	s->store.index = index;
	s->store.value = tsr_expr_const(w->arena, tsr_acc_neutral(a->acc, b->prec));
	for (uint32_t i = b->rank; i-- > 0;) {
		tsr_stmt *f = tsr_stmt_new(w->arena, TSR_STMT_FOR, a->span);
		f->loop.sym = w->unit->nsyms + i;
		f->loop.name = "i";
		f->loop.extent = b->dims[i];
		f->loop.how = TSR_FOR_PARALLEL;
		tsr_push(w->arena, &f->loop.body, s);
		s = f;
	}
	w->unit->nsyms += b->rank;
	tsr_stmt *kernel = tsr_stmt_new(w->arena, TSR_STMT_KERNEL, a->span);
	kernel->kernel.name = tsr_intern(w->g->tc->names, tsr_format(w->arena, "%s.clear", b->name));
	tsr_push(w->arena, &kernel->kernel.body, s);
	tsr_push(w->arena, &w->unit->body, kernel);
}

/* No cell is written twice, reductions aside. */
static bool is_direct(const tsr_assign *a, const tsr_proj *p, const bool *active)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < p->npieces; i++) {
		if (!active[i])
			continue;
		if (a->target.slot < 0) {
			if (n++)
				return false;
			continue;
		}
		const tsr_map_axes *m = &p->pieces[i].maps[a->target.slot];
		if (!tsr_map_injective_within(&p->pieces[i], m, tsr_map_omitted(&p->pieces[i], m)))
			return false;
		for (uint32_t j = 0; j < i; j++)
			if (active[j] && !tsr_pieces_disjoint(p, i, j, (uint32_t)a->target.slot))
				return false;
	}
	return true;
}

static void lower_assign(tsr_lowering *w, const tsr_assign *a, const tsr_proj *p)
{
	const bool *active = tsr_assign_active(w->arena, a, p);
	bool direct = is_direct(a, p, active);
	bool surjective = a->target.slot < 0 || tsr_pieces_surjective(w->g, p, (uint32_t)a->target.slot, active);
	bool accumulates = a->acc != TSR_ACC_SET;
	tsr_start start = direct && a->clear ? TSR_FROM_NEUTRAL : TSR_FROM_ELEMENT;
	tsr_buffer *b = NULL;
	for (uint32_t i = 0; i < p->npieces; i++) {
		if (!active[i])
			continue;
		checks c = {w, a, &p->pieces[i]};
		check_operand(&c, &a->target);
		tsr_rhs_operands(a->rhs, check_operand, &c);
		find_positions(w, a, &p->pieces[i], a->rhs);
		b = tsr_lower_buffer(w, &a->target, &p->pieces[i]);
	}
	if (accumulates && a->clear && !(direct && surjective)) {
		fill(w, a);
		w->written.at[tsr_lower_buffer(w, &a->target, NULL)->id] = true;
	}
	for (uint32_t i = 0; i < p->npieces; i++)
		if (active[i])
			tsr_lower_piece(w, a, &p->pieces[i], start);
	if (b && surjective)
		w->written.at[b->id] = true;
	else if (b && !accumulates)
		b->observed = true;                  /* the rest of it keeps earlier values */
}

static void lower_random(tsr_lowering *w, const tsr_tensor *t, bool per_run)
{
	tsr_operand o = {t->id, TSR_PART_VALUE, 0, t->span};
	tsr_stmt *s = tsr_stmt_new(w->arena, TSR_STMT_RANDOM, t->span);
	tsr_buffer *b = tsr_lower_buffer(w, &o, NULL);
	s->random.buffer = b->id;
	s->random.key = t->random.key;
	s->random.per_run = per_run;
	w->written.at[b->id] = true;
	tsr_push(w->arena, &w->unit->body, s);
}

static void lower_unit(tsr_lowering *w, const tsr_unit *u)
{
	w->unit = TSR_NEW(w->arena, tsr_loop_unit);
	w->unit->name = u->name;
	for (uint32_t i = 0; i < w->written.n; i++)
		w->written.at[i] = false;
	for (uint32_t i = 0; i < u->steps.n; i++) {
		const tsr_step *s = &u->steps.at[i];
		switch (s->kind) {
		case TSR_STEP_ASSIGN:
			lower_assign(w, &s->assign.a, s->assign.proj);
			break;
		case TSR_STEP_RANDOM:
			lower_random(w, tsr_tensor_get(w->g, s->random), u->code != w->g->init);
			break;
		case TSR_STEP_COMMENT:
			break;
		}
	}
	tsr_push(w->arena, &w->l->units, w->unit);
}

/* Each behind those that it is made of. */
static void lower_quotients(tsr_lowering *w)
{
	const tsr_store *s = w->g->store;
	uint32_t n = s ? tsr_store_nsymbols(s) : 0, before = UINT32_MAX;
	bool *waits = TSR_NEW_N(w->arena, bool, n + 1);
	for (uint32_t i = 0; i < n; i++)
		waits[i] = tsr_store_symbol_get(s, i)->derived && !tsr_store_symbol_get(s, i)->solved;
	while (before != w->l->quotients.n) {
		before = w->l->quotients.n;
		for (uint32_t i = 0; i < n; i++) {
			const tsr_symbol *y = tsr_store_symbol_get(s, i);
			bool ready = waits[i];
			for (uint32_t t = 0; ready && t < y->dividend.nterms; t++)
				ready = !waits[y->dividend.terms[t].symbol];
			if (!ready)
				continue;
			tsr_push(w->arena, &w->l->quotients, ((tsr_quotient){ i, y->dividend, y->divisor, false }));
			waits[i] = false;
		}
	}
}

tsr_loops *tsr_loops_lower(const tsr_code *code, const bool *observed, const uint32_t *returned)
{
	tsr_graph *g = code->graph;
	tsr_lowering w = {.code = code, .g = g, .arena = g->tc->arena, .observed = observed, .returned = returned};
	w.l = TSR_NEW(w.arena, tsr_loops);
	w.l->tc = g->tc;
	w.l->graph = g;
	tsr_map_init(&w.values, w.arena);
	tsr_map_init(&w.grads, w.arena);
	for (uint32_t i = 0; i < g->numbers.n; i++)
		tsr_push(w.arena, &w.l->numbers, g->numbers.at[i]->name);
	for (uint32_t i = 0; g->store && i < tsr_store_nsymbols(g->store); i++)
		tsr_push(w.arena, &w.l->symbols, tsr_store_symbol_get(g->store, i)->name);
	lower_quotients(&w);
	make_lasting_buffers(&w);
	for (uint32_t i = 0; i < code->units.n; i++)
		lower_unit(&w, code->units.at[i]);
	return w.l;
}
