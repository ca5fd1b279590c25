/* What a well-formed loop program is; run after lowering and after every pass.
 *
 *   buffers   distinct names; LITERAL ones hold as many numbers as elements; sizes mention known symbols
 *   units     KERNEL, CHECK and RANDOM at the top, KERNEL nowhere else
 *   sizes     what follows from others is divided by a number above 0, and stands behind those
 *   symbols   used inside the FOR or after the LETSYM that binds them, numbered below nsyms, never bound twice at once
 *   locals    LET before use and in scope, numbered below nlocals, one precision
 *   values    precisions agree: operands with their primitive, stores with their buffer, both arms of a select
 *   FOR       blocks of a scheduled contraction hold something
 *   UPDATE    its accumulator works in the buffer's own precision (narrow ones convert around a STORE) */
#include "loop.h"
#include "../base/map.h"

typedef struct checker {
	const tsr_loops *l;
	const tsr_loop_unit *u;
	const char *after;
	tsr_arena *arena;
	char *syms;                  /* per symbol: what it is bound as, here */
	tsr_prec *locals;            /* per local: its precision where it is in scope */
} checker;

enum { UNBOUND, BOUND_LOOP, BOUND_DATA };

#define INSIST(c, holds, ...) ((holds) ? (void)0 : ill_formed((c), tsr_format((c)->arena, __VA_ARGS__)))

static _Noreturn void ill_formed(const checker *c, const char *what)
{
	tsr_bug("after pass %s: %s%s%s", c->after, c->u ? c->u->name : "", c->u ? ": " : "", what);
}

static void size(const checker *c, tsr_size s)
{
	for (uint32_t i = 0; i < s.nterms; i++)
		INSIST(c, s.terms[i].symbol < c->l->symbols.n, "size mentions symbol %u of %u", s.terms[i].symbol, c->l->symbols.n);
}

static void quotients(const checker *c)
{
	for (uint32_t i = 0; i < c->l->quotients.n; i++) {
		const tsr_quotient *q = &c->l->quotients.at[i];
		size(c, q->of);
		INSIST(c, q->symbol < c->l->symbols.n && q->by > 0, "symbol %u of %u is divided by %lld", q->symbol, c->l->symbols.n, (long long)q->by);
		for (uint32_t t = 0; t < q->of.nterms; t++)
			for (uint32_t later = i; later < c->l->quotients.n; later++)
				INSIST(c, q->of.terms[t].symbol != c->l->quotients.at[later].symbol, "symbol %u follows from %u, which comes behind it", q->symbol, q->of.terms[t].symbol);
	}
}

static void lin(const checker *c, tsr_lin x)
{
	size(c, x.base);
	for (uint32_t i = 0; i < x.n; i++) {
		uint32_t id = x.terms[i].id;
		switch (x.terms[i].kind) {
		case TSR_LSYM_LOOP:
			INSIST(c, id < c->u->nsyms && c->syms[id] == BOUND_LOOP, "index mentions the loop %u outside it", id);
			break;
		case TSR_LSYM_DATA:
			INSIST(c, id < c->u->nsyms && c->syms[id] == BOUND_DATA, "index mentions the symbol %u before its letsym", id);
			break;
		case TSR_LSYM_NUMBER:
			INSIST(c, id < c->l->numbers.n, "index mentions runtime number %u of %u", id, c->l->numbers.n);
			break;
		}
	}
}

static void ranges(const checker *c, uint32_t n, const tsr_range *at)
{
	for (uint32_t i = 0; i < n; i++) {
		lin(c, at[i].index);
		size(c, at[i].size);
	}
}

static const tsr_buffer *element(const checker *c, tsr_buffer_id id, const tsr_lin *index)
{
	INSIST(c, id < c->l->buffers.n, "buffer %u of %u", id, c->l->buffers.n);
	const tsr_buffer *b = c->l->buffers.at[id];
	for (uint32_t i = 0; i < b->rank; i++)
		lin(c, index[i]);
	return b;
}

static void bind(const checker *c, uint32_t sym, char as)
{
	INSIST(c, sym < c->u->nsyms, "symbol %u of %u", sym, c->u->nsyms);
	INSIST(c, c->syms[sym] == UNBOUND, "symbol %u is bound twice", sym);
	c->syms[sym] = as;
}

static void expr(const checker *c, const tsr_expr *e);

static void op(const checker *c, const tsr_expr *e)
{
	const tsr_op_info *o = tsr_op_get(e->op.op);
	tsr_prec precs[3] = {TSR_PREC_NONE, TSR_PREC_NONE, TSR_PREC_NONE};
	for (uint32_t i = 0; i < o->arity; i++) {
		INSIST(c, e->op.args[i], "%s lacks operand %u", o->name, i);
		expr(c, e->op.args[i]);
		precs[i] = e->op.args[i]->prec;
		tsr_prec want = e->op.op == TSR_OP_WHERE && i == 0 ? TSR_PREC_BOOL : e->op.operand_prec;
		INSIST(c, precs[i] == want, "operand %u of %s is %s, not %s", i, o->name, tsr_prec_name(precs[i]), tsr_prec_name(want));
	}
	tsr_prec operand = tsr_op_operand_prec(e->op.op, precs), result = tsr_op_result_prec(e->op.op, precs);
	INSIST(c, operand == e->op.operand_prec, "%s works on %s, not on %s", o->name, tsr_prec_name(operand),
		tsr_prec_name(e->op.operand_prec));
	INSIST(c, result == e->prec, "%s gives %s, not %s", o->name, tsr_prec_name(result), tsr_prec_name(e->prec));
}

static void expr(const checker *c, const tsr_expr *e)
{
	switch (e->kind) {
	case TSR_EXPR_CONST:
		INSIST(c, e->value.prec == e->prec, "a constant of two precisions");
		break;
	case TSR_EXPR_LOAD:
		INSIST(c, element(c, e->load.buffer, e->load.index)->prec == e->prec, "load of another precision than its buffer's");
		break;
	case TSR_EXPR_LOCAL:
		INSIST(c, e->local < c->u->nlocals && c->locals[e->local] == e->prec, "local $%u is out of scope or of another precision", e->local);
		break;
	case TSR_EXPR_INDEX:
		lin(c, e->index);
		break;
	case TSR_EXPR_SIZE:
		size(c, e->size);
		break;
	case TSR_EXPR_NUMBER:
		INSIST(c, e->number < c->l->numbers.n, "runtime number %u of %u", e->number, c->l->numbers.n);
		break;
	case TSR_EXPR_OP:
		op(c, e);
		break;
	case TSR_EXPR_CONVERT:
		expr(c, e->converted);
		break;
	case TSR_EXPR_LOOKUP:
		expr(c, e->lookup.at);
		INSIST(c, tsr_prec_is_int(e->lookup.at->prec), "lookup of a place that is no integer");
		bind(c, e->lookup.sym, BOUND_DATA);
		expr(c, e->lookup.value);
		c->syms[e->lookup.sym] = UNBOUND;
		INSIST(c, e->prec == e->lookup.value->prec, "a lookup of another precision than its value");
		break;
	case TSR_EXPR_SELECT:
		ranges(c, e->select.n, e->select.ranges);
		expr(c, e->select.inside);
		expr(c, e->select.outside);
		INSIST(c, e->prec == e->select.inside->prec && e->prec == e->select.outside->prec, "the arms of a select differ in precision");
		break;
	case TSR_EXPR_KINDS:
		ill_formed(c, "an expression without a kind");
	}
	INSIST(c, e->prec > TSR_PREC_NONE && e->prec < TSR_PRECS, "an expression without precision");
}

/* ---- statements ---------------------------------------------------------------------------------------------------- */

static void stmt(checker *c, const tsr_stmt *s);

/* What is bound inside a body ends with it. */
static void body(checker *c, const tsr_stmts *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		stmt(c, b->at[i]);
	for (uint32_t i = 0; i < b->n; i++) {
		if (b->at[i]->kind == TSR_STMT_LETSYM)
			c->syms[b->at[i]->letsym.sym] = UNBOUND;
		if (b->at[i]->kind == TSR_STMT_LET)
			c->locals[b->at[i]->let.local] = TSR_PREC_NONE;
	}
}

static void store(const checker *c, const tsr_stmt *s)
{
	const tsr_buffer *b = element(c, s->store.buffer, s->store.index);
	expr(c, s->store.value);
	INSIST(c, s->store.value->prec == b->prec, "%s is stored in %%%s of %s", tsr_prec_name(s->store.value->prec), b->name,
		tsr_prec_name(b->prec));
	INSIST(c, !b->data.at, "the literal %%%s is written", b->name);
	if (s->kind == TSR_STMT_STORE)
		return;
	INSIST(c, s->store.acc != TSR_ACC_SET && s->store.acc < TSR_ACCS, "an update without an accumulator");
	tsr_prec precs[3] = {b->prec, b->prec, TSR_PREC_NONE};
	tsr_op op = tsr_acc_get(s->store.acc)->op;
	INSIST(c, tsr_op_operand_prec(op, precs) == b->prec && tsr_op_result_prec(op, precs) == b->prec,
		"%s cannot be updated with %s in its own precision", b->name, tsr_op_get(op)->name);
}

static void let(checker *c, const tsr_stmt *s)
{
	expr(c, s->let.value);
	INSIST(c, s->let.local < c->u->nlocals, "local $%u of %u", s->let.local, c->u->nlocals);
	INSIST(c, s->let.value->prec == s->let.prec, "local $%u is %s, its value %s", s->let.local, tsr_prec_name(s->let.prec),
		tsr_prec_name(s->let.value->prec));
	if (s->kind == TSR_STMT_LET) {
		INSIST(c, c->locals[s->let.local] == TSR_PREC_NONE, "local $%u is declared twice", s->let.local);
		c->locals[s->let.local] = s->let.prec;
	} else {
		INSIST(c, c->locals[s->let.local] == s->let.prec, "local $%u is set out of scope", s->let.local);
	}
}

static void stmt(checker *c, const tsr_stmt *s)
{
	switch (s->kind) {
	case TSR_STMT_FOR:
		size(c, s->loop.extent);
		if (s->loop.from)
			lin(c, *s->loop.from);
		if (s->loop.until)
			lin(c, *s->loop.until);
		if (s->loop.contraction && s->loop.contraction->schedule.mr)
			INSIST(c, s->loop.contraction->schedule.mc > 0 && s->loop.contraction->schedule.nc > 0 && s->loop.contraction->schedule.kc > 0, "blocks of nothing, which would never end");
		INSIST(c, !s->loop.parts || s->loop.part_sym + 1 < c->u->nsyms, "symbols %u and the next of %u", s->loop.part_sym, c->u->nsyms);
		bind(c, s->loop.sym, BOUND_LOOP);
		body(c, &s->loop.body);
		c->syms[s->loop.sym] = UNBOUND;
		return;
	case TSR_STMT_STORE: case TSR_STMT_UPDATE:
		store(c, s);
		return;
	case TSR_STMT_LET: case TSR_STMT_SET:
		let(c, s);
		return;
	case TSR_STMT_LETSYM:
		expr(c, s->letsym.value);
		INSIST(c, tsr_prec_is_int(s->letsym.value->prec), "letsym of a value that is no integer");
		bind(c, s->letsym.sym, BOUND_DATA);
		return;
	case TSR_STMT_IF:
		ranges(c, s->cond.n, s->cond.ranges);
		body(c, &s->cond.body);
		return;
	case TSR_STMT_RANDOM:
		INSIST(c, s->random.buffer < c->l->buffers.n, "buffer %u of %u", s->random.buffer, c->l->buffers.n);
		INSIST(c, c->l->buffers.at[s->random.buffer]->prec == TSR_PREC_U32, "random words go into u32 only");
		INSIST(c, s->random.key, "random words without a stream");
		return;
	case TSR_STMT_CHECK:
		ranges(c, 1, &s->check.range);
		return;
	case TSR_STMT_KERNEL:
		ill_formed(c, "a kernel inside a kernel");
	case TSR_STMT_KINDS:
		break;
	}
	ill_formed(c, "a statement without a kind");
}

static void top(checker *c, const tsr_stmt *s)
{
	switch (s->kind) {
	case TSR_STMT_KERNEL:
		INSIST(c, s->kernel.name && s->kernel.name[0], "a kernel without a name");
		for (uint32_t i = 0; i < s->kernel.large.n; i++)
			for (uint32_t k = 0; k < s->kernel.large.at[i].parts.n; k++)
				for (uint32_t d = 0; d < s->kernel.large.at[i].parts.at[k].n; d++)
					size(c, s->kernel.large.at[i].parts.at[k].extents[d]);
		body(c, &s->kernel.body);
		return;
	case TSR_STMT_CHECK: case TSR_STMT_RANDOM:
		stmt(c, s);
		return;
	case TSR_STMT_FOR: case TSR_STMT_STORE: case TSR_STMT_UPDATE: case TSR_STMT_LET: case TSR_STMT_SET: case TSR_STMT_LETSYM:
	case TSR_STMT_IF: case TSR_STMT_KINDS:
		break;
	}
	ill_formed(c, "something else than a kernel, a check or random words at the top of a unit");
}

static void buffers(checker *c)
{
	tsr_map names;
	tsr_map_init(&names, c->arena);
	for (uint32_t i = 0; i < c->l->buffers.n; i++) {
		const tsr_buffer *b = c->l->buffers.at[i];
		uint64_t count = 1;
		bool known = true;
		INSIST(c, b->id == i, "buffer %u says it is %u", i, b->id);
		INSIST(c, b->name && !tsr_map_find(&names, tsr_key(b->name)), "two buffers named %s", b->name);
		tsr_map_put(&names, tsr_key(b->name))->value.i = 1;
		INSIST(c, b->prec > TSR_PREC_NONE && b->prec < TSR_PRECS, "buffer %s has no precision", b->name);
		for (uint32_t d = 0; d < b->rank; d++) {
			size(c, b->dims[d]);
			known = known && tsr_size_is_const(b->dims[d]);
			count *= (uint64_t)b->dims[d].k;
		}
		INSIST(c, (b->kind == TSR_BUFFER_LITERAL) == (b->data.at != NULL || (b->kind == TSR_BUFFER_LITERAL && b->count == 0)),
			"%s: data belongs to literals", b->name);
		INSIST(c, !b->data.at || (known && count == b->count), "literal %s holds %llu numbers for %llu elements", b->name,
			(unsigned long long)b->count, (unsigned long long)count);
	}
}

void tsr_loops_check(const tsr_loops *l, const char *after)
{
	checker c = {.l = l, .after = after, .arena = tsr_arena_new()};
	quotients(&c);
	buffers(&c);
	for (uint32_t i = 0; i < l->units.n; i++) {
		c.u = l->units.at[i];
		c.syms = TSR_NEW_N(c.arena, char, c.u->nsyms + 1);
		c.locals = TSR_NEW_N(c.arena, tsr_prec, c.u->nlocals + 1);
		for (uint32_t j = 0; j < c.u->body.n; j++)
			top(&c, c.u->body.at[j]);
	}
	tsr_arena_free(c.arena);
}
