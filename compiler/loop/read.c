/* Reads the textual loop IR (print.c describes it), for running single passes from text.  The first mistake is reported with
 * its place and ends the reading.  Every statement's span is its own line of the text. */
#include "scan.h"
#include "words.h"
#include "../base/map.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
	tsr_loop_scanner scan;
	tsr_arena *arena;
	tsr_loops *l;
	tsr_map buffers, numbers, symbols;               /* by name */
	tsr_map syms;                                    /* of the unit: by printed name */
	TSR_VEC(tsr_prec) locals;                        /* of the unit */
	uint32_t fresh;                                  /* bare names are numbered from here */
} reader;

/* The word's position in a list that ends with NULL, or -1. */
static int position(const char *const *words, const char *word)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], word))
			return i;
	return -1;
}

/* ---- sizes, indices, ranges ---------------------------------------------------------------------------------------- */

static uint32_t known(reader *r, const tsr_map *m, tsr_loop_token_kind kind, const char *what)
{
	tsr_loop_token t = r->scan.now;
	tsr_name n = tsr_loop_expect_name(&r->scan, kind, what);
	const tsr_map_entry *e = r->scan.failed ? NULL : tsr_map_find(m, tsr_key(n));
	if (e)
		return (uint32_t)e->value.i;
	r->scan.now = t;
	tsr_loop_expected(&r->scan, tsr_format(r->arena, "%s that is declared", what));
	return 0;
}

/* A sum of integers and of symbols, each with an optional coefficient. */
static tsr_lin read_lin(reader *r)
{
	tsr_lin x = tsr_lin_const(0);
	for (bool first = true; !r->scan.failed; first = false) {
		int64_t coef = 1;
		if (tsr_loop_accept(&r->scan, TSR_TOKEN_PUNCT, "-"))
			coef = -1;
		else if (!first && !tsr_loop_accept(&r->scan, TSR_TOKEN_PUNCT, "+"))
			break;
		if (r->scan.now.kind == TSR_TOKEN_INT) {
			coef = (int64_t)((uint64_t)coef * (uint64_t)r->scan.now.i);
			tsr_loop_next(&r->scan);
			if (!tsr_loop_accept(&r->scan, TSR_TOKEN_PUNCT, "*")) {
				x.offset += coef;
				continue;
			}
		}
		if (r->scan.now.kind == TSR_TOKEN_NUMBER) {
			x = tsr_lin_add_sym(r->arena, x, coef, TSR_LSYM_NUMBER, known(r, &r->numbers, TSR_TOKEN_NUMBER, "a runtime number"));
		} else if (r->scan.now.kind == TSR_TOKEN_SYMBOL) {
			tsr_size_term t = {1, known(r, &r->symbols, TSR_TOKEN_SYMBOL, "a run-time size")};
			x = tsr_lin_add_size(r->arena, x, coef, (tsr_size){0, 1, &t});
		} else {
			uint64_t sym = known(r, &r->syms, TSR_TOKEN_NAME, "a loop, or a sum of symbols and integers");
			x = tsr_lin_add_sym(r->arena, x, coef, sym & 1 ? TSR_LSYM_DATA : TSR_LSYM_LOOP, (uint32_t)(sym >> 1));
		}
	}
	return x;
}

static tsr_size read_size(reader *r)
{
	tsr_lin x = read_lin(r);
	if (x.n)
		tsr_loop_expected(&r->scan, "a size without loops or runtime numbers");
	x.base.k = x.offset;
	return x.base;
}

static void read_in_zero_to(reader *r)
{
	if (!tsr_loop_accept(&r->scan, TSR_TOKEN_NAME, "in"))
		tsr_loop_expected(&r->scan, "'in'");
	if (r->scan.now.kind != TSR_TOKEN_INT || r->scan.now.i != 0)
		tsr_loop_expected(&r->scan, "'0'");
	tsr_loop_next(&r->scan);
	tsr_loop_expect(&r->scan, "..");
}

static tsr_range read_range(reader *r)
{
	tsr_range range;
	range.index = read_lin(r);
	read_in_zero_to(r);
	range.size = read_size(r);
	return range;
}

static uint32_t read_ranges(reader *r, tsr_range **out)
{
	TSR_VEC(tsr_range) v = {0};
	do {
		tsr_range range = read_range(r);
		tsr_push(r->arena, &v, range);
	} while (tsr_loop_accept(&r->scan, TSR_TOKEN_PUNCT, ","));
	*out = v.at;
	return v.n;
}

/* Declares a loop's or letsym's symbol: NAME.ID, or a bare name, which gets the next number. */
static uint32_t declare_sym(reader *r, bool data, tsr_name *label)
{
	tsr_name full = tsr_loop_expect_name(&r->scan, TSR_TOKEN_NAME, "a symbol");
	if (r->scan.failed)
		return 0;
	const char *dot = strrchr(full, '.');
	uint32_t id = r->fresh;
	*label = full;
	if (dot && isdigit((unsigned char)dot[1])) {
		id = (uint32_t)strtoul(dot + 1, NULL, 10);
		*label = tsr_intern_n(r->scan.tc->names, full, (size_t)(dot - full));
	}
	if (id >= r->fresh)
		r->fresh = id + 1;
	tsr_map_put(&r->syms, tsr_key(full))->value.i = (int64_t)id * 2 + data;
	return id;
}

/* ---- expressions --------------------------------------------------------------------------------------------------- */

static tsr_expr *read_expr(reader *r);

static const tsr_buffer *read_element(reader *r, tsr_lin **index)
{
	uint32_t id = known(r, &r->buffers, TSR_TOKEN_BUFFER, "a buffer");
	tsr_loop_expect(&r->scan, "[");
	if (r->scan.failed)
		return NULL;
	const tsr_buffer *b = r->l->buffers.at[id];
	*index = TSR_NEW_N(r->arena, tsr_lin, b->rank + 1);
	for (uint32_t i = 0; i < b->rank && !r->scan.failed; i++) {
		if (i)
			tsr_loop_expect(&r->scan, ",");
		(*index)[i] = read_lin(r);
	}
	tsr_loop_expect(&r->scan, "]");
	return b;
}

/* "add.f32" -> "add" and f32. */
static tsr_name split_prec(reader *r, tsr_name word, tsr_prec *p)
{
	const char *dot = strrchr(word, '.');
	if (!dot || !tsr_prec_find(dot + 1, p)) {
		tsr_loop_expected(&r->scan, "an expression");
		return "";
	}
	return tsr_intern_n(r->scan.tc->names, word, (size_t)(dot - word));
}

static tsr_scalar read_scalar(reader *r, tsr_prec of_float, tsr_prec of_int)
{
	tsr_scalar x = {.prec = TSR_PREC_BOOL};
	if (tsr_loop_is(&r->scan, TSR_TOKEN_NAME, "true") || tsr_loop_is(&r->scan, TSR_TOKEN_NAME, "false")) {
		x.i = tsr_loop_is(&r->scan, TSR_TOKEN_NAME, "true");
		tsr_loop_next(&r->scan);
		return x;
	}
	bool negative = tsr_loop_accept(&r->scan, TSR_TOKEN_PUNCT, "-");
	bool special = tsr_loop_is(&r->scan, TSR_TOKEN_NAME, "inf") || tsr_loop_is(&r->scan, TSR_TOKEN_NAME, "nan");
	double d = special ? (tsr_loop_is(&r->scan, TSR_TOKEN_NAME, "inf") ? INFINITY : NAN) : r->scan.now.d;
	int64_t i = r->scan.now.i;
	tsr_prec p = r->scan.now.kind == TSR_TOKEN_INT ? of_int : of_float;
	if (!special && r->scan.now.kind != TSR_TOKEN_INT && r->scan.now.kind != TSR_TOKEN_FLOAT)
		tsr_loop_expected(&r->scan, "a number");
	tsr_loop_next(&r->scan);
	if (tsr_loop_accept(&r->scan, TSR_TOKEN_PUNCT, ":"))
		if (!tsr_prec_find(tsr_loop_expect_name(&r->scan, TSR_TOKEN_NAME, "a precision"), &p))
			tsr_loop_expected(&r->scan, "a precision");
	if (tsr_prec_is_float(p))
		return tsr_scalar_of(p, negative ? -d : d);
	tsr_scalar wide = {.prec = TSR_PREC_I64, .i = negative ? (int64_t)-(uint64_t)i : i};
	return tsr_scalar_convert(wide, p);
}

static tsr_expr *read_op(reader *r, tsr_name word, tsr_prec p)
{
	tsr_expr *args[3] = {NULL};
	uint32_t n = 0;
	do
		args[n++] = read_expr(r);
	while (n < 3 && tsr_loop_accept(&r->scan, TSR_TOKEN_PUNCT, ","));
	tsr_op op;
	if (!tsr_op_find(word, n, &op) || strcmp(tsr_op_get(op)->name, word)) {
		tsr_loop_expected(&r->scan, tsr_format(r->arena, "a primitive of %u operands before the parenthesis ('%s' is none)", n, word));
		return NULL;
	}
	return tsr_expr_op(r->arena, op, p, args[0], args[1], args[2]);
}

static tsr_expr *read_select(reader *r)
{
	tsr_expr *e = TSR_NEW(r->arena, tsr_expr);
	e->kind = TSR_EXPR_SELECT;
	tsr_loop_expect(&r->scan, "(");
	e->select.n = read_ranges(r, &e->select.ranges);
	tsr_loop_expect(&r->scan, ";");
	e->select.inside = read_expr(r);
	tsr_loop_expect(&r->scan, ";");
	e->select.outside = read_expr(r);
	tsr_loop_expect(&r->scan, ")");
	e->prec = e->select.inside ? e->select.inside->prec : TSR_PREC_NONE;
	return e;
}

static tsr_expr *read_lookup(reader *r)
{
	tsr_expr *e = TSR_NEW(r->arena, tsr_expr);
	tsr_name label;
	e->kind = TSR_EXPR_LOOKUP;
	tsr_loop_expect(&r->scan, "(");
	e->lookup.sym = declare_sym(r, true, &label);
	tsr_loop_expect(&r->scan, "=");
	e->lookup.at = read_expr(r);
	tsr_loop_expect(&r->scan, ";");
	e->lookup.value = read_expr(r);
	tsr_loop_expect(&r->scan, ")");
	e->prec = e->lookup.value ? e->lookup.value->prec : TSR_PREC_NONE;
	return e;
}

static tsr_expr *read_call(reader *r)
{
	tsr_prec p = TSR_PREC_NONE;
	tsr_name word = split_prec(r, tsr_loop_expect_name(&r->scan, TSR_TOKEN_NAME, "an expression"), &p);
	tsr_loop_expect(&r->scan, "(");
	tsr_expr *e = TSR_NEW(r->arena, tsr_expr);
	e->prec = p;
	if (!strcmp(word, "index")) {
		e->kind = TSR_EXPR_INDEX;
		e->index = read_lin(r);
	} else if (!strcmp(word, "size")) {
		e->kind = TSR_EXPR_SIZE;
		e->size = read_size(r);
	} else if (!strcmp(word, "number")) {
		e->kind = TSR_EXPR_NUMBER;
		e->number = known(r, &r->numbers, TSR_TOKEN_NUMBER, "a runtime number");
	} else if (!strcmp(word, "convert")) {
		e->kind = TSR_EXPR_CONVERT;
		e->converted = read_expr(r);
	} else {
		e = read_op(r, word, p);
	}
	tsr_loop_expect(&r->scan, ")");
	return e;
}

static tsr_expr *read_expr(reader *r)
{
	if (r->scan.failed)
		return NULL;
	if (r->scan.now.kind == TSR_TOKEN_BUFFER) {
		tsr_lin *index;
		const tsr_buffer *b = read_element(r, &index);
		return b ? tsr_expr_load(r->arena, b, index) : NULL;
	}
	if (r->scan.now.kind == TSR_TOKEN_LOCAL) {
		uint32_t id = (uint32_t)r->scan.now.i;
		if (id >= r->locals.n || r->locals.at[id] == TSR_PREC_NONE) {
			tsr_loop_expected(&r->scan, "a local that is declared");
			return NULL;
		}
		tsr_loop_next(&r->scan);
		return tsr_expr_local(r->arena, id, r->locals.at[id]);
	}
	if (tsr_loop_accept(&r->scan, TSR_TOKEN_NAME, "select"))
		return read_select(r);
	if (tsr_loop_accept(&r->scan, TSR_TOKEN_NAME, "lookup"))
		return read_lookup(r);
	bool constant = r->scan.now.kind != TSR_TOKEN_NAME;
	static const char *const constants[] = {"true", "false", "inf", "nan", NULL};
	if (constant || position(constants, r->scan.now.text) >= 0)
		return tsr_expr_const(r->arena, read_scalar(r, TSR_PREC_F32, TSR_PREC_I32));
	return read_call(r);
}

/* ---- statements ---------------------------------------------------------------------------------------------------- */

static tsr_stmt *read_stmt(reader *r);

static tsr_stmts read_body(reader *r)
{
	tsr_stmts body = {0};
	tsr_loop_expect(&r->scan, "{");
	while (!r->scan.failed && !tsr_loop_accept(&r->scan, TSR_TOKEN_PUNCT, "}")) {
		tsr_stmt *s = read_stmt(r);
		tsr_push(r->arena, &body, s);
	}
	return body;
}

static bool accept_word(reader *r, const char *word)
{
	bool there = r->scan.now.kind == TSR_TOKEN_NAME && !strcmp(r->scan.now.text, word);
	if (there)
		tsr_loop_next(&r->scan);
	return there;
}

static const tsr_lin *read_bound(reader *r)
{
	tsr_lin *x = TSR_NEW(r->arena, tsr_lin);
	*x = read_lin(r);
	return x;
}

static int64_t read_most(reader *r)
{
	int64_t most = r->scan.now.i;
	if (r->scan.now.kind != TSR_TOKEN_INT)
		return INT64_MAX;
	tsr_loop_next(&r->scan);
	return most;
}

/* How many, and the first of two symbols. */
static void read_parts(reader *r, tsr_stmt *s)
{
	if (r->scan.now.kind != TSR_TOKEN_INT)
		tsr_loop_expected(&r->scan, "a number of parts");
	s->loop.parts = (uint32_t)read_most(r);
	if (!accept_word(r, "by") || r->scan.now.kind != TSR_TOKEN_INT)
		tsr_loop_expected(&r->scan, "'by' and the first of two symbols");
	s->loop.part_sym = (uint32_t)read_most(r);
	if (s->loop.part_sym + 2 > r->fresh)
		r->fresh = s->loop.part_sym + 2;
}

static void read_for(reader *r, tsr_stmt *s)
{
	s->loop.sym = declare_sym(r, false, &s->loop.name);
	read_in_zero_to(r);
	s->loop.extent = read_size(r);
	s->loop.from = accept_word(r, "from") ? read_bound(r) : NULL;
	s->loop.until = accept_word(r, "until") ? read_bound(r) : NULL;
	int how = r->scan.now.kind == TSR_TOKEN_NAME ? position(tsr_loop_for_words, r->scan.now.text) : -1;
	if (how >= 0)
		tsr_loop_next(&r->scan);
	s->loop.how = how < 0 ? TSR_FOR_SERIAL : (tsr_for_kind)how;
	s->loop.split = accept_word(r, "split");
	s->loop.turns = accept_word(r, "walked") ? TSR_TURNS_WALKED : accept_word(r, "taken") ? TSR_TURNS_TAKEN : TSR_TURNS_NONE;
	s->loop.stream = accept_word(r, "stream");
	s->loop.overlap = accept_word(r, "overlap") ? read_most(r) : 0;
	if (accept_word(r, "parts"))
		read_parts(r, s);
	s->loop.ahead = accept_word(r, "ahead") ? read_expr(r) : NULL;
	s->loop.body = read_body(r);
}

/* The accumulator's characters up to the '=' follow the closing bracket directly. */
static void read_store(reader *r, tsr_stmt *s)
{
	const tsr_buffer *b = read_element(r, &s->store.index);
	s->store.buffer = b ? b->id : 0;
	char acc[4] = "";
	for (size_t n = 0; n < sizeof acc - 1 && !r->scan.failed && r->scan.now.kind == TSR_TOKEN_PUNCT && strchr("+-*/@^&|:", *r->scan.now.text); n++) {
		acc[n] = *r->scan.now.text;
		tsr_loop_next(&r->scan);
	}
	if (s->kind == TSR_STMT_UPDATE && !tsr_acc_find(acc, &s->store.acc))
		tsr_loop_expected(&r->scan, "an accumulator");
	tsr_loop_expect(&r->scan, "=");
	s->store.value = read_expr(r);
}

static void read_let(reader *r, tsr_stmt *s)
{
	s->let.local = (uint32_t)r->scan.now.i;
	if (r->scan.now.kind != TSR_TOKEN_LOCAL)
		tsr_loop_expected(&r->scan, "a local");
	tsr_loop_next(&r->scan);
	if (s->kind == TSR_STMT_LET) {
		tsr_loop_expect(&r->scan, ":");
		if (!tsr_prec_find(tsr_loop_expect_name(&r->scan, TSR_TOKEN_NAME, "a precision"), &s->let.prec))
			tsr_loop_expected(&r->scan, "a precision");
	}
	tsr_loop_expect(&r->scan, "=");
	s->let.value = read_expr(r);
	if (r->scan.failed)
		return;
	while (r->locals.n <= s->let.local)
		tsr_push(r->arena, &r->locals, TSR_PREC_NONE);
	if (s->kind == TSR_STMT_LET)
		r->locals.at[s->let.local] = s->let.prec;
	s->let.prec = r->locals.at[s->let.local];
}

static void read_random(reader *r, tsr_stmt *s)
{
	s->random.buffer = known(r, &r->buffers, TSR_TOKEN_BUFFER, "a buffer");
	s->random.key = tsr_loop_expect_name(&r->scan, TSR_TOKEN_STRING, "the name of a stream");
	s->random.per_run = tsr_loop_accept(&r->scan, TSR_TOKEN_NAME, "per_run");
	if (!s->random.per_run && !tsr_loop_accept(&r->scan, TSR_TOKEN_NAME, "once"))
		tsr_loop_expected(&r->scan, "'once' or 'per_run'");
}

static int64_t read_bytes(reader *r)
{
	int64_t bytes = r->scan.now.i;
	if (r->scan.now.kind != TSR_TOKEN_INT)
		tsr_loop_expected(&r->scan, "a number of bytes");
	tsr_loop_next(&r->scan);
	return bytes;
}

static tsr_large read_large(reader *r)
{
	tsr_large x = {.least = read_bytes(r)};
	x.alone = accept_word(r, "alone") ? read_bytes(r) : x.least;
	if (!accept_word(r, "of"))
		tsr_loop_expected(&r->scan, "'of'");
	do {
		tsr_bytes part = {.each = read_bytes(r)};
		TSR_VEC(tsr_size) extents = {0};
		while (tsr_loop_accept(&r->scan, TSR_TOKEN_PUNCT, "(")) {
			tsr_size extent = read_size(r);
			tsr_push(r->arena, &extents, extent);
			tsr_loop_expect(&r->scan, ")");
		}
		part.n = extents.n, part.extents = extents.at;
		tsr_push(r->arena, &x.parts, part);
	} while (tsr_loop_accept(&r->scan, TSR_TOKEN_PUNCT, "+"));
	return x;
}

static void read_kernel(reader *r, tsr_stmt *s)
{
	s->kernel.name = tsr_loop_expect_name(&r->scan, r->scan.now.kind == TSR_TOKEN_STRING ? TSR_TOKEN_STRING : TSR_TOKEN_NAME, "a name");
	bool more = accept_word(r, "large");
	while (more) {
		tsr_large x = read_large(r);
		tsr_push(r->arena, &s->kernel.large, x);
		more = tsr_loop_accept(&r->scan, TSR_TOKEN_PUNCT, ",");
	}
	s->kernel.body = read_body(r);
}

static tsr_stmt *read_stmt(reader *r)
{
	static const char *const words[] = {
#define TSR_STMT(kind, text, doc) text,
#include "loop.def"
		NULL
	};
	int kind = r->scan.now.kind == TSR_TOKEN_NAME ? position(words, r->scan.now.text) : -1;
	tsr_stmt *s = tsr_stmt_new(r->arena, kind < 0 ? TSR_STMT_KINDS : (tsr_stmt_kind)kind, (tsr_span){r->scan.file, r->scan.now.start, r->scan.now.end});
	if (kind >= 0)
		tsr_loop_next(&r->scan);
	tsr_name label;
	switch (s->kind) {
	case TSR_STMT_FOR:
		read_for(r, s);
		return s;
	case TSR_STMT_STORE: case TSR_STMT_UPDATE:
		read_store(r, s);
		return s;
	case TSR_STMT_LET: case TSR_STMT_SET:
		read_let(r, s);
		return s;
	case TSR_STMT_LETSYM:
		s->letsym.sym = declare_sym(r, true, &label);
		tsr_loop_expect(&r->scan, "=");
		s->letsym.value = read_expr(r);
		return s;
	case TSR_STMT_IF:
		s->cond.n = read_ranges(r, &s->cond.ranges);
		s->cond.body = read_body(r);
		return s;
	case TSR_STMT_RANDOM:
		read_random(r, s);
		return s;
	case TSR_STMT_CHECK:
		s->check.range = read_range(r);
		s->check.what = tsr_loop_expect_name(&r->scan, TSR_TOKEN_STRING, "what is checked, in quotes");
		return s;
	case TSR_STMT_KERNEL:
		read_kernel(r, s);
		return s;
	case TSR_STMT_KINDS:
		break;
	}
	tsr_loop_expected(&r->scan, "a statement");
	return s;
}

/* ---- declarations -------------------------------------------------------------------------------------------------- */

static void read_literal(reader *r, tsr_buffer *b)
{
	TSR_VEC(tsr_cell) v = {0};
	bool whole = !tsr_prec_is_float(b->prec);
	tsr_loop_expect(&r->scan, "{");
	while (!r->scan.failed && !tsr_loop_accept(&r->scan, TSR_TOKEN_PUNCT, "}")) {
		if (v.n)
			tsr_loop_expect(&r->scan, ",");
		tsr_scalar x = tsr_scalar_convert(read_scalar(r, b->prec, b->prec), whole ? TSR_PREC_I64 : TSR_PREC_F64);
		tsr_push(r->arena, &v, (whole ? (tsr_cell){.i = x.i} : (tsr_cell){.d = x.d}));
	}
	b->data = (tsr_numbers){whole, v.at};
	b->count = v.n;
}

static void read_buffer(reader *r)
{
	tsr_buffer *b = TSR_NEW(r->arena, tsr_buffer);
	b->id = r->l->buffers.n;
	b->tensor = TSR_NONE;
	b->name = tsr_loop_expect_name(&r->scan, TSR_TOKEN_BUFFER, "a buffer");
	tsr_loop_expect(&r->scan, ":");
	if (!tsr_prec_find(tsr_loop_expect_name(&r->scan, TSR_TOKEN_NAME, "a precision"), &b->prec))
		tsr_loop_expected(&r->scan, "a precision");
	tsr_loop_expect(&r->scan, "[");
	TSR_VEC(tsr_size) dims = {0};
	while (!r->scan.failed && !tsr_loop_accept(&r->scan, TSR_TOKEN_PUNCT, "]")) {
		if (dims.n)
			tsr_loop_expect(&r->scan, ",");
		tsr_size s = read_size(r);
		tsr_push(r->arena, &dims, s);
	}
	b->rank = dims.n;
	b->dims = dims.at;
	int kind = position(tsr_loop_buffer_words, tsr_loop_expect_name(&r->scan, TSR_TOKEN_NAME, "a kind of buffer"));
	if (kind < 0)
		tsr_loop_expected(&r->scan, "a kind of buffer");
	b->kind = (tsr_buffer_kind)(kind < 0 ? 0 : kind);
	b->observed = tsr_loop_accept(&r->scan, TSR_TOKEN_NAME, "observed");
	if (tsr_loop_accept(&r->scan, TSR_TOKEN_PUNCT, "="))
		read_literal(r, b);
	tsr_map_put(&r->buffers, tsr_key(b->name))->value.i = b->id;
	tsr_push(r->arena, &r->l->buffers, b);
}

static void read_unit(reader *r)
{
	tsr_loop_unit *u = TSR_NEW(r->arena, tsr_loop_unit);
	tsr_map_init(&r->syms, r->arena);
	r->locals.n = 0;
	r->fresh = 0;
	u->name = tsr_loop_expect_name(&r->scan, r->scan.now.kind == TSR_TOKEN_STRING ? TSR_TOKEN_STRING : TSR_TOKEN_NAME, "a name");
	u->body = read_body(r);
	u->nsyms = r->fresh;
	u->nlocals = r->locals.n;
	tsr_push(r->arena, &r->l->units, u);
}

static void read_symbol(reader *r)
{
	tsr_name n = tsr_loop_expect_name(&r->scan, TSR_TOKEN_SYMBOL, "?name");
	if (tsr_loop_accept(&r->scan, TSR_TOKEN_PUNCT, "=")) {
		tsr_quotient q = { r->l->symbols.n, read_size(r), 0, false };
		if (!(q.rest = tsr_loop_accept(&r->scan, TSR_TOKEN_PUNCT, "%")))
			tsr_loop_expect(&r->scan, "/");
		if (r->scan.now.kind != TSR_TOKEN_INT || (q.by = r->scan.now.i) < 1)
			tsr_loop_expected(&r->scan, "a number above 0");
		tsr_loop_next(&r->scan);
		tsr_push(r->arena, &r->l->quotients, q);
	}
	tsr_map_put(&r->symbols, tsr_key(n))->value.i = r->l->symbols.n;
	tsr_push(r->arena, &r->l->symbols, n);
}

tsr_loops *tsr_loops_read(tsr_compiler *tc, uint32_t file)
{
	reader r = {.scan = {.tc = tc, .file = file, .text = tsr_source_get(tc, file)->text}, .arena = tc->arena};
	r.l = TSR_NEW(tc->arena, tsr_loops);
	r.l->tc = tc;
	tsr_map_init(&r.buffers, tc->arena);
	tsr_map_init(&r.numbers, tc->arena);
	tsr_map_init(&r.symbols, tc->arena);
	tsr_map_init(&r.syms, tc->arena);
	tsr_loop_next(&r.scan);
	while (!r.scan.failed && r.scan.now.kind != TSR_TOKEN_END) {
		if (tsr_loop_accept(&r.scan, TSR_TOKEN_NAME, "symbol"))
			read_symbol(&r);
		else if (tsr_loop_accept(&r.scan, TSR_TOKEN_NAME, "number")) {
			tsr_name n = tsr_loop_expect_name(&r.scan, TSR_TOKEN_NUMBER, "@name");
			tsr_map_put(&r.numbers, tsr_key(n))->value.i = r.l->numbers.n;
			tsr_push(tc->arena, &r.l->numbers, n);
		} else if (tsr_loop_accept(&r.scan, TSR_TOKEN_NAME, "buffer"))
			read_buffer(&r);
		else if (tsr_loop_accept(&r.scan, TSR_TOKEN_NAME, "unit"))
			read_unit(&r);
		else
			tsr_loop_expected(&r.scan, "'symbol', 'number', 'buffer' or 'unit'");
	}
	return r.scan.failed ? NULL : r.l;
}
