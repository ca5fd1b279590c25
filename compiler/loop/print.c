/* The loop IR as text, which read.c reads back exactly: printing what was read gives the same bytes.
 *
 *     symbol ?n                                        run-time sizes, in order
 *     symbol ?m = ?n - 1 / 4                           what follows from earlier ones: here (?n - 1) / 4; or % 4, what is left then
 *     number @i                                        runtime numbers, in order
 *     buffer %x : f32[50, ?n - 1] value observed       kinds: param state value grad literal file input temp
 *     buffer %c : i32[3] literal = {1, 2, 3}
 *     unit step {
 *       check @i in 0..30 "minibatch index"
 *       random %r "net.w" once                         or `per_run`: each run draws the next stretch of the stream
 *       kernel y.1 {
 *         for a.0 in 0..50 parallel {                  serial (may be left out), parallel, vector, reduce
 *           let $0 : f32 = 0.
 *           for k.1 in 0..64 reduce {                  or 0..64 from a.0 until a.0 + 2: none before, none after
 *             set $0 = add.f32($0, mul.f32(%x[a.0, k.1], %w[k.1]))
 *           }
 *           store %y[a.0] = $0
 *           update %z[2*a.0 + @i - 1] += $0            any accumulator before the =, as in assignment code
 *         }
 *         letsym t.2 = %ids[0]
 *         if 2*a.0 - 1 in 0..28, t.2 in 0..?n { ... }
 *       }
 *     }
 *
 * A symbol of a loop or of letsym is NAME.ID with its number in the unit; read.c also takes a bare name and numbers it
 * itself.  Names with other characters than letters, digits, _ . ' stand in double quotes after their sigil.
 * Expressions: 1.5 is f32, 7 is i32, true and false are bool, and 1.5:f64, 7:u8 say another precision; %x[..] loads; $0 is a
 * local; index.i32(2*a.0 + 1), size.i32(?n - 1), number.i32(@i); add.f32(x, y) applies a primitive to operands of that
 * precision; convert.f32(x); select(a.0 - 1 in 0..9; inside; outside).  # begins a comment.  Contraction notes are printed
 * as comments: they are found again by classifying. */
#include "loop.h"
#include "words.h"
#include "../base/text.h"
#include <ctype.h>
#include <string.h>

static const char *const stmt_words[] = {
#define TSR_STMT(kind, text, doc) text,
#include "loop.def"
};

static const char *const expr_words[] = {
#define TSR_EXPR(kind, text, doc) text,
#include "loop.def"
};

const char *const tsr_loop_buffer_words[] = {"param", "state", "value", "grad", "literal", "file", "input", "temp", NULL};
const char *const tsr_loop_for_words[] = {"serial", "parallel", "vector", "reduce", NULL};

typedef struct printer {
	const tsr_loops *l;
	tsr_text t;
	int depth;
	tsr_name *syms;              /* names of the unit's symbols */
} printer;

static void line(printer *p)
{
	tsr_text_char(&p->t, '\n');
	for (int i = 0; i < p->depth; i++)
		tsr_text_add(&p->t, "  ");
}

static void quoted(printer *p, const char *s)
{
	tsr_text_char(&p->t, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			tsr_text_char(&p->t, '\\');
		if (*s == '\n')
			tsr_text_add(&p->t, "\\n");
		else
			tsr_text_char(&p->t, *s);
	}
	tsr_text_char(&p->t, '"');
}

/* A plain name begins with a letter and has no ".." and no dot at its end, which would run into a range. */
static bool plain(const char *s)
{
	if (!isalpha((unsigned char)*s) && *s != '_')
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '_' && *s != '\'' && !(*s == '.' && s[1] && s[1] != '.'))
			return false;
	return true;
}

static void name(printer *p, const char *s)
{
	if (s && plain(s))
		tsr_text_add(&p->t, s);
	else
		quoted(p, s ? s : "");
}

static void symbol(printer *p, uint32_t id)
{
	tsr_name n = p->syms[id];
	tsr_text_addf(&p->t, "%s.%u", n && plain(n) ? n : "l", id);
}

static const char *entry(tsr_name const *at, uint32_t n, uint32_t i)
{
	if (i >= n)
		tsr_bug("symbol %u of %u", i, n);
	return at[i] ? at[i] : "";
}

/* One term of a sum: its sign as an operator, or, for the first, as a prefix. */
static void coefficient(printer *p, int64_t coef, bool first)
{
	uint64_t magnitude = coef < 0 ? -(uint64_t)coef : (uint64_t)coef;
	if (first)
		tsr_text_add(&p->t, coef < 0 ? "-" : "");
	else
		tsr_text_add(&p->t, coef < 0 ? " - " : " + ");
	if (magnitude != 1)
		tsr_text_addf(&p->t, "%llu*", (unsigned long long)magnitude);
}

static void constant_term(printer *p, int64_t k, bool first)
{
	uint64_t magnitude = k < 0 ? -(uint64_t)k : (uint64_t)k;
	if (k == 0 && !first)
		return;
	if (first)
		tsr_text_add(&p->t, k < 0 ? "-" : "");
	else
		tsr_text_add(&p->t, k < 0 ? " - " : " + ");
	tsr_text_addf(&p->t, "%llu", (unsigned long long)magnitude);
}

static bool size_terms(printer *p, tsr_size s, bool first)
{
	for (uint32_t i = 0; i < s.nterms; i++, first = false) {
		coefficient(p, s.terms[i].coef, first);
		tsr_text_char(&p->t, '?');
		name(p, entry(p->l->symbols.at, p->l->symbols.n, s.terms[i].symbol));
	}
	return first;
}

static void size(printer *p, tsr_size s)
{
	constant_term(p, s.k, size_terms(p, s, true));
}

static void lin(printer *p, tsr_lin x)
{
	bool first = true;
	for (uint32_t i = 0; i < x.n; i++, first = false) {
		coefficient(p, x.terms[i].coef, first);
		if (x.terms[i].kind == TSR_LSYM_NUMBER) {
			tsr_text_char(&p->t, '@');
			name(p, entry(p->l->numbers.at, p->l->numbers.n, x.terms[i].id));
		} else {
			symbol(p, x.terms[i].id);
		}
	}
	first = size_terms(p, x.base, first);
	constant_term(p, x.offset + x.base.k, first);
}

static void ranges(printer *p, uint32_t n, const tsr_range *at)
{
	for (uint32_t i = 0; i < n; i++) {
		tsr_text_add(&p->t, i ? ", " : "");
		lin(p, at[i].index);
		tsr_text_add(&p->t, " in 0..");
		size(p, at[i].size);
	}
}

static const tsr_buffer *buffer_of(printer *p, tsr_buffer_id id)
{
	if (id >= p->l->buffers.n)
		tsr_bug("buffer %u of %u", id, p->l->buffers.n);
	return p->l->buffers.at[id];
}

static void element(printer *p, tsr_buffer_id id, const tsr_lin *index)
{
	const tsr_buffer *b = buffer_of(p, id);
	tsr_text_char(&p->t, '%');
	name(p, b->name);
	tsr_text_char(&p->t, '[');
	for (uint32_t i = 0; i < b->rank; i++) {
		tsr_text_add(&p->t, i ? ", " : "");
		lin(p, index[i]);
	}
	tsr_text_char(&p->t, ']');
}

static void scalar(printer *p, tsr_scalar x, tsr_prec unmarked_float, tsr_prec unmarked_int)
{
	if (x.prec == TSR_PREC_BOOL)
		tsr_text_add(&p->t, x.i ? "true" : "false");
	else if (tsr_prec_is_float(x.prec))
		tsr_text_float(&p->t, x.d);
	else
		tsr_text_addf(&p->t, "%lld", (long long)x.i);
	if (x.prec != TSR_PREC_BOOL && x.prec != unmarked_float && x.prec != unmarked_int)
		tsr_text_addf(&p->t, ":%s", tsr_prec_name(x.prec));
}

static void expr(printer *p, const tsr_expr *e);

static void op(printer *p, const tsr_expr *e)
{
	const tsr_op_info *o = tsr_op_get(e->op.op);
	tsr_text_addf(&p->t, "%s.%s(", o->name, tsr_prec_name(e->op.operand_prec));
	for (uint32_t i = 0; i < o->arity; i++) {
		tsr_text_add(&p->t, i ? ", " : "");
		expr(p, e->op.args[i]);
	}
	tsr_text_char(&p->t, ')');
}

static void expr(printer *p, const tsr_expr *e)
{
	tsr_text *t = &p->t;
	switch (e->kind) {
	case TSR_EXPR_CONST:
		scalar(p, e->value, TSR_PREC_F32, TSR_PREC_I32);
		return;
	case TSR_EXPR_LOAD:
		element(p, e->load.buffer, e->load.index);
		return;
	case TSR_EXPR_LOCAL:
		tsr_text_addf(t, "$%u", e->local);
		return;
	case TSR_EXPR_OP:
		op(p, e);
		return;
	case TSR_EXPR_LOOKUP:
		tsr_text_addf(t, "%s(", expr_words[e->kind]);
		p->syms[e->lookup.sym] = "t";
		symbol(p, e->lookup.sym);
		tsr_text_add(t, " = ");
		expr(p, e->lookup.at);
		tsr_text_add(t, "; ");
		expr(p, e->lookup.value);
		tsr_text_char(t, ')');
		return;
	case TSR_EXPR_SELECT:
		tsr_text_addf(t, "%s(", expr_words[e->kind]);
		ranges(p, e->select.n, e->select.ranges);
		tsr_text_add(t, "; ");
		expr(p, e->select.inside);
		tsr_text_add(t, "; ");
		expr(p, e->select.outside);
		tsr_text_char(t, ')');
		return;
	case TSR_EXPR_INDEX: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER: case TSR_EXPR_CONVERT:
		break;
	case TSR_EXPR_KINDS:
		tsr_bug("an expression without a kind");
	}
	tsr_text_addf(t, "%s.%s(", expr_words[e->kind], tsr_prec_name(e->prec));
	if (e->kind == TSR_EXPR_INDEX) {
		lin(p, e->index);
	} else if (e->kind == TSR_EXPR_SIZE) {
		size(p, e->size);
	} else if (e->kind == TSR_EXPR_NUMBER) {
		tsr_text_char(t, '@');
		name(p, entry(p->l->numbers.at, p->l->numbers.n, e->number));
	} else {
		expr(p, e->converted);
	}
	tsr_text_char(t, ')');
}

/* ---- statements ---------------------------------------------------------------------------------------------------- */

static void stmt(printer *p, const tsr_stmt *s);

static void body(printer *p, const tsr_stmts *b)
{
	tsr_text_add(&p->t, " {");
	p->depth++;
	for (uint32_t i = 0; i < b->n; i++)
		stmt(p, b->at[i]);
	p->depth--;
	line(p);
	tsr_text_char(&p->t, '}');
}

static void contraction(printer *p, const tsr_contraction *c, bool split)
{
	static const char *const classes[] = {"batch", "M", "N", "K"};
	tsr_text_add(&p->t, "# contraction");
	for (uint32_t i = 0; i < c->nloops; i++) {
		tsr_text_addf(&p->t, "%s %s:", i ? "," : "", classes[c->loops[i].cls]);
		symbol(p, c->loops[i].sym);
	}
	const tsr_schedule *s = &c->schedule;
	if (s->mr)
		tsr_text_addf(&p->t, "; tile %ux%u, block %lld %lld %lld%s%s%s", s->mr, s->nr, (long long)s->mc, (long long)s->nc,
			(long long)s->kc, s->step ? ", rows of a one step apart" : s->rows ? ", rows of a" : s->pack_a ? ", pack a" : "", s->cols ? ", rows of b" : s->early ? ", pack b early" : s->pack_b ? ", pack b" : "", s->aside ? ", sums aside" : s->dots ? ", dots" : "");
	if (split)
		tsr_text_addf(&p->t, ", split %s%s%s", classes[s->split], s->grid ? " and M" : s->by_vectors ? " by vectors" : "", s->own_rows ? ", its own rows first" : s->dynamic ? ", in turns" : s->alone ? ", alone" : "");
	if (c->watched)
		tsr_text_addf(&p->t, ", witness $%u", c->witness);
	if (c->gaps)
		tsr_text_addf(&p->t, ", clears %u between rows%s", c->gaps->n, c->gaps->around ? " around" : "");
	line(p);
}

static void loop(printer *p, const tsr_stmt *s)
{
	p->syms[s->loop.sym] = s->loop.name;
	if (s->loop.contraction) {
		for (uint32_t i = 0; i < s->loop.contraction->nloops; i++)
			if (!p->syms[s->loop.contraction->loops[i].sym])
				p->syms[s->loop.contraction->loops[i].sym] = "l";
		contraction(p, s->loop.contraction, s->loop.split);
	}
	static const char *const turns[] = {"", " walked", " taken"};
	tsr_text_add(&p->t, "for ");
	symbol(p, s->loop.sym);
	tsr_text_add(&p->t, " in 0..");
	size(p, s->loop.extent);
	if (s->loop.from) {
		tsr_text_add(&p->t, " from ");
		lin(p, *s->loop.from);
	}
	if (s->loop.until) {
		tsr_text_add(&p->t, " until ");
		lin(p, *s->loop.until);
	}
	tsr_text_addf(&p->t, " %s%s%s%s%s", tsr_loop_for_words[s->loop.how], s->loop.split ? " split" : "", turns[s->loop.turns], s->loop.stream ? " stream" : "",
		s->loop.overlap ? " overlap" : "");
	if (s->loop.overlap && s->loop.overlap < INT64_MAX)
		tsr_text_addf(&p->t, " %lld", (long long)s->loop.overlap);
	if (s->loop.parts)
		tsr_text_addf(&p->t, " parts %u by %u", s->loop.parts, s->loop.part_sym);
	if (s->loop.ahead) {
		tsr_text_add(&p->t, " ahead ");
		expr(p, s->loop.ahead);
	}
	body(p, &s->loop.body);
}

/* large 8388608 of 4096(?n) + 64, 20971520 alone 12582912 of 16777216, .. */
static void large(printer *p, const tsr_stmt *kernel)
{
	for (uint32_t i = 0; i < kernel->kernel.large.n; i++) {
		const tsr_large *x = &kernel->kernel.large.at[i];
		tsr_text_addf(&p->t, "%s%lld", i ? ", " : " large ", (long long)x->least);
		if (x->alone < x->least)
			tsr_text_addf(&p->t, " alone %lld", (long long)x->alone);
		tsr_text_add(&p->t, " of ");
		for (uint32_t k = 0; k < x->parts.n; k++) {
			tsr_text_addf(&p->t, "%s%lld", k ? " + " : "", (long long)x->parts.at[k].each);
			for (uint32_t d = 0; d < x->parts.at[k].n; d++) {
				tsr_text_char(&p->t, '(');
				size(p, x->parts.at[k].extents[d]);
				tsr_text_char(&p->t, ')');
			}
		}
	}
}

static void stmt(printer *p, const tsr_stmt *s)
{
	tsr_text *t = &p->t;
	line(p);
	if (s->kind == TSR_STMT_FOR) {
		loop(p, s);
		return;
	}
	tsr_text_addf(t, "%s ", stmt_words[s->kind]);
	switch (s->kind) {
	case TSR_STMT_STORE: case TSR_STMT_UPDATE:
		element(p, s->store.buffer, s->store.index);
		tsr_text_addf(t, " %s= ", s->kind == TSR_STMT_STORE ? "" : tsr_acc_get(s->store.acc)->text);
		expr(p, s->store.value);
		return;
	case TSR_STMT_LET: case TSR_STMT_SET:
		tsr_text_addf(t, "$%u", s->let.local);
		if (s->kind == TSR_STMT_LET)
			tsr_text_addf(t, " : %s", tsr_prec_name(s->let.prec));
		tsr_text_add(t, " = ");
		expr(p, s->let.value);
		return;
	case TSR_STMT_LETSYM:
		p->syms[s->letsym.sym] = "t";
		symbol(p, s->letsym.sym);
		tsr_text_add(t, " = ");
		expr(p, s->letsym.value);
		return;
	case TSR_STMT_IF:
		ranges(p, s->cond.n, s->cond.ranges);
		body(p, &s->cond.body);
		return;
	case TSR_STMT_RANDOM:
		tsr_text_char(t, '%');
		name(p, buffer_of(p, s->random.buffer)->name);
		tsr_text_char(t, ' ');
		quoted(p, s->random.key);
		tsr_text_add(t, s->random.per_run ? " per_run" : " once");
		return;
	case TSR_STMT_CHECK:
		ranges(p, 1, &s->check.range);
		tsr_text_char(t, ' ');
		quoted(p, s->check.what);
		return;
	case TSR_STMT_KERNEL:
		name(p, s->kernel.name);
		large(p, s);
		body(p, &s->kernel.body);
		return;
	case TSR_STMT_FOR: case TSR_STMT_KINDS:
		break;
	}
	tsr_bug("a statement without a kind");
}

static void literal(printer *p, const tsr_buffer *b)
{
	tsr_text_add(&p->t, " = {");
	for (uint64_t i = 0; i < b->count; i++) {
		tsr_text_add(&p->t, i ? ", " : "");
		scalar(p, tsr_number_in(b->prec, tsr_numbers_get(b->data, i)), b->prec, b->prec);
	}
	tsr_text_char(&p->t, '}');
}

static void buffer(printer *p, const tsr_buffer *b)
{
	tsr_text_add(&p->t, "buffer %");
	name(p, b->name);
	tsr_text_addf(&p->t, " : %s[", tsr_prec_name(b->prec));
	for (uint32_t i = 0; i < b->rank; i++) {
		tsr_text_add(&p->t, i ? ", " : "");
		size(p, b->dims[i]);
	}
	tsr_text_addf(&p->t, "] %s%s", tsr_loop_buffer_words[b->kind], b->observed ? " observed" : "");
	if (b->data.at)
		literal(p, b);
	tsr_text_char(&p->t, '\n');
}

static void unit(printer *p, tsr_arena *a, const tsr_loop_unit *u)
{
	p->syms = TSR_NEW_N(a, tsr_name, u->nsyms + 1);
	tsr_text_add(&p->t, "unit ");
	name(p, u->name);
	body(p, &u->body);
	tsr_text_char(&p->t, '\n');
}

/* What the symbol follows from, if it does. */
static void quotient(printer *p, uint32_t symbol)
{
	for (uint32_t i = 0; i < p->l->quotients.n; i++) {
		const tsr_quotient *q = &p->l->quotients.at[i];
		if (q->symbol != symbol)
			continue;
		tsr_text_add(&p->t, " = ");
		size(p, q->of);
		tsr_text_addf(&p->t, q->rest ? " %% %lld" : " / %lld", (long long)q->by);
	}
}

static void with_printer(const tsr_loops *l, FILE *out, uint32_t first, uint32_t end, bool head)
{
	tsr_arena *a = tsr_arena_new();
	printer p = {.l = l};
	tsr_text_init(&p.t, a);
	for (uint32_t i = 0; head && i < l->symbols.n; i++) {
		tsr_text_add(&p.t, "symbol ?");
		name(&p, l->symbols.at[i]);
		quotient(&p, i);
		tsr_text_char(&p.t, '\n');
	}
	for (uint32_t i = 0; head && i < l->numbers.n; i++) {
		tsr_text_add(&p.t, "number @");
		name(&p, l->numbers.at[i]);
		tsr_text_char(&p.t, '\n');
	}
	for (uint32_t i = 0; head && i < l->buffers.n; i++)
		buffer(&p, l->buffers.at[i]);
	for (uint32_t i = first; i < end; i++)
		unit(&p, a, l->units.at[i]);
	fputs(tsr_text_str(&p.t), out);
	tsr_arena_free(a);
}

void tsr_loops_print(const tsr_loops *l, FILE *out)
{
	with_printer(l, out, 0, l->units.n, true);
}

void tsr_loops_print_unit(const tsr_loops *l, uint32_t u, FILE *out)
{
	with_printer(l, out, u, u + 1, false);
}
