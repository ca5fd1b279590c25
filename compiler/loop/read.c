/* Reads the textual loop IR (print.c describes it), for running single passes from text.  The first mistake is reported with
 * its place and ends the reading.  Every statement's span is its own line of the text. */
#include "loop.h"
#include "words.h"
#include "../base/map.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef enum {
	TOKEN_END, TOKEN_NAME, TOKEN_BUFFER, TOKEN_LOCAL, TOKEN_NUMBER_NAME, TOKEN_SYMBOL_NAME, TOKEN_INT, TOKEN_FLOAT, TOKEN_STRING,
	TOKEN_PUNCT
} token_kind;

typedef struct token {
	token_kind kind;
	uint32_t start, end;
	tsr_name text;               /* names (without sigil), strings, punctuation */
	double d;
	int64_t i;
} token;

typedef struct reader {
	tsr_compiler *tc;
	tsr_arena *arena;
	uint32_t file;
	const char *text;
	uint32_t at;
	token now;
	bool failed;
	tsr_loops *l;
	tsr_map buffers, numbers, symbols;               /* by name */
	tsr_map syms;                                    /* of the unit: by printed name */
	TSR_VEC(tsr_prec) locals;                        /* of the unit */
	uint32_t fresh;                                  /* bare names are numbered from here */
} reader;

static void fail(reader *r, const char *expected)
{
	if (r->failed)
		return;
	r->failed = true;
	tsr_span span = {r->file, r->now.start, r->now.end};
	tsr_report(r->tc, TSR_E_LOOP_TEXT, span, "%s is expected here", expected);
}

/* ---- tokens -------------------------------------------------------------------------------------------------------- */

static bool name_char(const char *s)
{
	return isalnum((unsigned char)*s) || *s == '_' || *s == '\'' || (*s == '.' && (isalnum((unsigned char)s[1]) || s[1] == '_'));
}

static uint32_t plain_name(reader *r, uint32_t at)
{
	while (name_char(r->text + at))
		at++;
	return at;
}

/* The contents of the string that begins at `at`; *end is past its closing quote. */
static tsr_name string_at(reader *r, uint32_t at, uint32_t *end)
{
	char *s = tsr_alloc(r->arena, strlen(r->text + at) + 1);
	size_t n = 0;
	for (at++; r->text[at] && r->text[at] != '"'; at++) {
		char c = r->text[at];
		if (c == '\\' && r->text[at + 1])
			c = r->text[++at] == 'n' ? '\n' : r->text[at];
		s[n++] = c;
	}
	if (!r->text[at])
		fail(r, "a closing \"");
	*end = r->text[at] ? at + 1 : at;
	return tsr_intern_n(r->tc->names, s, n);
}

static void number_token(reader *r)
{
	const char *s = r->text + r->at;
	size_t digits = strspn(s, "0123456789"), n = digits;
	if (s[n] == '.' && s[n + 1] != '.')
		n += 1 + strspn(s + n + 1, "0123456789");
	if ((s[n] == 'e' || s[n] == 'E') && (isdigit((unsigned char)s[n + 1]) || ((s[n + 1] == '-' || s[n + 1] == '+') && isdigit((unsigned char)s[n + 2]))))
		n += 2 + strspn(s + n + 2, "0123456789");
	r->now.kind = n == digits ? TOKEN_INT : TOKEN_FLOAT;
	r->now.d = strtod(s, NULL);
	r->now.i = (int64_t)strtoull(s, NULL, 10);
	r->at += (uint32_t)n;
}

static token_kind sigil_kind(char c)
{
	return c == '%' ? TOKEN_BUFFER : c == '@' ? TOKEN_NUMBER_NAME : c == '?' ? TOKEN_SYMBOL_NAME : TOKEN_NAME;
}

static void next(reader *r)
{
	while (isspace((unsigned char)r->text[r->at]) || r->text[r->at] == '#')
		r->at += r->text[r->at] == '#' ? (uint32_t)strcspn(r->text + r->at, "\n") : 1;
	const char *s = r->text + r->at;
	r->now = (token){.start = r->at};
	bool sigil = sigil_kind(*s) != TOKEN_NAME && (isalpha((unsigned char)s[1]) || s[1] == '_' || s[1] == '"');
	if (!*s) {
		r->now.kind = TOKEN_END;
	} else if (sigil || isalpha((unsigned char)*s) || *s == '_') {
		uint32_t start = r->at + (sigil ? 1 : 0), end;
		r->now.kind = sigil_kind(*s);
		if (r->text[start] == '"')
			r->now.text = string_at(r, start, &end);
		else
			r->now.text = tsr_intern_n(r->tc->names, r->text + start, (end = plain_name(r, start)) - start);
		r->at = end;
	} else if (*s == '"') {
		r->now.kind = TOKEN_STRING;
		r->now.text = string_at(r, r->at, &r->at);
	} else if (isdigit((unsigned char)*s)) {
		number_token(r);
	} else if (*s == '$' && isdigit((unsigned char)s[1])) {
		r->now.kind = TOKEN_LOCAL;
		r->at++;
		number_token(r);
		r->now.kind = TOKEN_LOCAL;
	} else {
		size_t n = s[0] == '.' && s[1] == '.' ? 2 : 1;
		r->now.kind = TOKEN_PUNCT;
		r->now.text = tsr_intern_n(r->tc->names, s, n);
		r->at += (uint32_t)n;
	}
	r->now.end = r->at;
}

static bool is(reader *r, token_kind kind, const char *text)
{
	return !r->failed && r->now.kind == kind && !strcmp(r->now.text, text);
}

static bool accept_punct(reader *r, const char *text)
{
	bool yes = is(r, TOKEN_PUNCT, text);
	if (yes)
		next(r);
	return yes;
}

static bool accept_word(reader *r, const char *text)
{
	bool yes = is(r, TOKEN_NAME, text);
	if (yes)
		next(r);
	return yes;
}

static void expect(reader *r, const char *text)
{
	if (!accept_punct(r, text))
		fail(r, tsr_format(r->arena, "'%s'", text));
}

static tsr_name expect_name(reader *r, token_kind kind, const char *what)
{
	tsr_name text = r->now.text;
	if (r->failed || r->now.kind != kind) {
		fail(r, what);
		return "";
	}
	next(r);
	return text;
}

/* The word's position in a list that ends with NULL, or -1. */
static int position(const char *const *words, const char *word)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], word))
			return i;
	return -1;
}

/* ---- sizes, indices, ranges ---------------------------------------------------------------------------------------- */

static uint32_t known(reader *r, const tsr_map *m, token_kind kind, const char *what)
{
	token t = r->now;
	tsr_name n = expect_name(r, kind, what);
	const tsr_map_entry *e = r->failed ? NULL : tsr_map_find(m, tsr_key(n));
	if (e)
		return (uint32_t)e->value.i;
	r->now = t;
	fail(r, tsr_format(r->arena, "%s that is declared", what));
	return 0;
}

/* A sum of integers and of symbols, each with an optional coefficient. */
static tsr_lin read_lin(reader *r)
{
	tsr_lin x = tsr_lin_const(0);
	for (bool first = true; !r->failed; first = false) {
		int64_t coef = 1;
		if (accept_punct(r, "-"))
			coef = -1;
		else if (!first && !accept_punct(r, "+"))
			break;
		if (r->now.kind == TOKEN_INT) {
			coef = (int64_t)((uint64_t)coef * (uint64_t)r->now.i);
			next(r);
			if (!accept_punct(r, "*")) {
				x.offset += coef;
				continue;
			}
		}
		if (r->now.kind == TOKEN_NUMBER_NAME) {
			x = tsr_lin_add_sym(r->arena, x, coef, TSR_LSYM_NUMBER, known(r, &r->numbers, TOKEN_NUMBER_NAME, "a runtime number"));
		} else if (r->now.kind == TOKEN_SYMBOL_NAME) {
			tsr_size_term t = {1, known(r, &r->symbols, TOKEN_SYMBOL_NAME, "a run-time size")};
			x = tsr_lin_add_size(r->arena, x, coef, (tsr_size){0, 1, &t});
		} else {
			uint64_t sym = known(r, &r->syms, TOKEN_NAME, "a loop, or a sum of symbols and integers");
			x = tsr_lin_add_sym(r->arena, x, coef, sym & 1 ? TSR_LSYM_DATA : TSR_LSYM_LOOP, (uint32_t)(sym >> 1));
		}
	}
	return x;
}

static tsr_size read_size(reader *r)
{
	tsr_lin x = read_lin(r);
	if (x.n)
		fail(r, "a size without loops or runtime numbers");
	x.base.k = x.offset;
	return x.base;
}

static void read_in_zero_to(reader *r)
{
	if (!accept_word(r, "in"))
		fail(r, "'in'");
	if (r->now.kind != TOKEN_INT || r->now.i != 0)
		fail(r, "'0'");
	next(r);
	expect(r, "..");
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
	} while (accept_punct(r, ","));
	*out = v.at;
	return v.n;
}

/* Declares a loop's or letsym's symbol: NAME.ID, or a bare name, which gets the next number. */
static uint32_t declare_sym(reader *r, bool data, tsr_name *label)
{
	tsr_name full = expect_name(r, TOKEN_NAME, "a symbol");
	if (r->failed)
		return 0;
	const char *dot = strrchr(full, '.');
	uint32_t id = r->fresh;
	*label = full;
	if (dot && isdigit((unsigned char)dot[1])) {
		id = (uint32_t)strtoul(dot + 1, NULL, 10);
		*label = tsr_intern_n(r->tc->names, full, (size_t)(dot - full));
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
	uint32_t id = known(r, &r->buffers, TOKEN_BUFFER, "a buffer");
	expect(r, "[");
	if (r->failed)
		return NULL;
	const tsr_buffer *b = r->l->buffers.at[id];
	*index = TSR_NEW_N(r->arena, tsr_lin, b->rank + 1);
	for (uint32_t i = 0; i < b->rank && !r->failed; i++) {
		if (i)
			expect(r, ",");
		(*index)[i] = read_lin(r);
	}
	expect(r, "]");
	return b;
}

/* "add.f32" -> "add" and f32. */
static tsr_name split_prec(reader *r, tsr_name word, tsr_prec *p)
{
	const char *dot = strrchr(word, '.');
	if (!dot || !tsr_prec_find(dot + 1, p)) {
		fail(r, "an expression");
		return "";
	}
	return tsr_intern_n(r->tc->names, word, (size_t)(dot - word));
}

static tsr_scalar read_scalar(reader *r, tsr_prec of_float, tsr_prec of_int)
{
	tsr_scalar x = {.prec = TSR_PREC_BOOL};
	if (is(r, TOKEN_NAME, "true") || is(r, TOKEN_NAME, "false")) {
		x.i = is(r, TOKEN_NAME, "true");
		next(r);
		return x;
	}
	bool negative = accept_punct(r, "-");
	bool special = is(r, TOKEN_NAME, "inf") || is(r, TOKEN_NAME, "nan");
	double d = special ? (is(r, TOKEN_NAME, "inf") ? INFINITY : NAN) : r->now.d;
	int64_t i = r->now.i;
	tsr_prec p = r->now.kind == TOKEN_INT ? of_int : of_float;
	if (!special && r->now.kind != TOKEN_INT && r->now.kind != TOKEN_FLOAT)
		fail(r, "a number");
	next(r);
	if (accept_punct(r, ":"))
		if (!tsr_prec_find(expect_name(r, TOKEN_NAME, "a precision"), &p))
			fail(r, "a precision");
	if (tsr_prec_is_float(p))
		return tsr_scalar_of(p, negative ? -d : d);
	tsr_scalar wide = {.prec = TSR_PREC_I64, .i = negative ? -i : i};
	return tsr_scalar_convert(wide, p);
}

static tsr_expr *read_op(reader *r, tsr_name word, tsr_prec p)
{
	tsr_expr *args[3] = {NULL};
	uint32_t n = 0;
	do
		args[n++] = read_expr(r);
	while (n < 3 && accept_punct(r, ","));
	tsr_op op;
	if (!tsr_op_find(word, n, &op) || strcmp(tsr_op_get(op)->name, word)) {
		fail(r, tsr_format(r->arena, "a primitive of %u operands before the parenthesis ('%s' is none)", n, word));
		return NULL;
	}
	return tsr_expr_op(r->arena, op, p, args[0], args[1], args[2]);
}

static tsr_expr *read_select(reader *r)
{
	tsr_expr *e = TSR_NEW(r->arena, tsr_expr);
	e->kind = TSR_EXPR_SELECT;
	expect(r, "(");
	e->select.n = read_ranges(r, &e->select.ranges);
	expect(r, ";");
	e->select.inside = read_expr(r);
	expect(r, ";");
	e->select.outside = read_expr(r);
	expect(r, ")");
	e->prec = e->select.inside ? e->select.inside->prec : TSR_PREC_NONE;
	return e;
}

static tsr_expr *read_call(reader *r)
{
	tsr_prec p = TSR_PREC_NONE;
	tsr_name word = split_prec(r, expect_name(r, TOKEN_NAME, "an expression"), &p);
	expect(r, "(");
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
		e->number = known(r, &r->numbers, TOKEN_NUMBER_NAME, "a runtime number");
	} else if (!strcmp(word, "convert")) {
		e->kind = TSR_EXPR_CONVERT;
		e->converted = read_expr(r);
	} else {
		e = read_op(r, word, p);
	}
	expect(r, ")");
	return e;
}

static tsr_expr *read_expr(reader *r)
{
	if (r->failed)
		return NULL;
	if (r->now.kind == TOKEN_BUFFER) {
		tsr_lin *index;
		const tsr_buffer *b = read_element(r, &index);
		return b ? tsr_expr_load(r->arena, b, index) : NULL;
	}
	if (r->now.kind == TOKEN_LOCAL) {
		uint32_t id = (uint32_t)r->now.i;
		if (id >= r->locals.n || r->locals.at[id] == TSR_PREC_NONE) {
			fail(r, "a local that is declared");
			return NULL;
		}
		next(r);
		return tsr_expr_local(r->arena, id, r->locals.at[id]);
	}
	if (accept_word(r, "select"))
		return read_select(r);
	bool constant = r->now.kind != TOKEN_NAME;
	static const char *const constants[] = {"true", "false", "inf", "nan", NULL};
	if (constant || position(constants, r->now.text) >= 0)
		return tsr_expr_const(r->arena, read_scalar(r, TSR_PREC_F32, TSR_PREC_I32));
	return read_call(r);
}

/* ---- statements ---------------------------------------------------------------------------------------------------- */

static tsr_stmt *read_stmt(reader *r);

static tsr_stmts read_body(reader *r)
{
	tsr_stmts body = {0};
	expect(r, "{");
	while (!r->failed && !accept_punct(r, "}")) {
		tsr_stmt *s = read_stmt(r);
		tsr_push(r->arena, &body, s);
	}
	return body;
}

static void read_for(reader *r, tsr_stmt *s)
{
	s->loop.sym = declare_sym(r, false, &s->loop.name);
	read_in_zero_to(r);
	s->loop.extent = read_size(r);
	int how = r->now.kind == TOKEN_NAME ? position(tsr_loop_for_words, r->now.text) : -1;
	if (how >= 0)
		next(r);
	s->loop.how = how < 0 ? TSR_FOR_SERIAL : (tsr_for_kind)how;
	s->loop.body = read_body(r);
}

/* The accumulator's characters up to the '=' follow the closing bracket directly. */
static void read_store(reader *r, tsr_stmt *s)
{
	const tsr_buffer *b = read_element(r, &s->store.index);
	s->store.buffer = b ? b->id : 0;
	char acc[4] = "";
	for (size_t n = 0; n < sizeof acc - 1 && !r->failed && r->now.kind == TOKEN_PUNCT && strchr("+-*/@^&|:", *r->now.text); n++) {
		acc[n] = *r->now.text;
		next(r);
	}
	if (s->kind == TSR_STMT_UPDATE && !tsr_acc_find(acc, &s->store.acc))
		fail(r, "an accumulator");
	expect(r, "=");
	s->store.value = read_expr(r);
}

static void read_let(reader *r, tsr_stmt *s)
{
	s->let.local = (uint32_t)r->now.i;
	if (r->now.kind != TOKEN_LOCAL)
		fail(r, "a local");
	next(r);
	if (s->kind == TSR_STMT_LET) {
		expect(r, ":");
		if (!tsr_prec_find(expect_name(r, TOKEN_NAME, "a precision"), &s->let.prec))
			fail(r, "a precision");
	}
	expect(r, "=");
	s->let.value = read_expr(r);
	if (r->failed)
		return;
	while (r->locals.n <= s->let.local)
		tsr_push(r->arena, &r->locals, TSR_PREC_NONE);
	if (s->kind == TSR_STMT_LET)
		r->locals.at[s->let.local] = s->let.prec;
	s->let.prec = r->locals.at[s->let.local];
}

static void read_random(reader *r, tsr_stmt *s)
{
	s->random.buffer = known(r, &r->buffers, TOKEN_BUFFER, "a buffer");
	s->random.key = expect_name(r, TOKEN_STRING, "the name of a stream");
	s->random.per_run = accept_word(r, "per_run");
	if (!s->random.per_run && !accept_word(r, "once"))
		fail(r, "'once' or 'per_run'");
}

static tsr_stmt *read_stmt(reader *r)
{
	static const char *const words[] = {
#define TSR_STMT(kind, text, doc) text,
#include "loop.def"
		NULL
	};
	int kind = r->now.kind == TOKEN_NAME ? position(words, r->now.text) : -1;
	tsr_stmt *s = tsr_stmt_new(r->arena, kind < 0 ? TSR_STMT_KINDS : (tsr_stmt_kind)kind, (tsr_span){r->file, r->now.start, r->now.end});
	if (kind >= 0)
		next(r);
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
		expect(r, "=");
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
		s->check.what = expect_name(r, TOKEN_STRING, "what is checked, in quotes");
		return s;
	case TSR_STMT_KERNEL:
		s->kernel.name = expect_name(r, r->now.kind == TOKEN_STRING ? TOKEN_STRING : TOKEN_NAME, "a name");
		s->kernel.body = read_body(r);
		return s;
	case TSR_STMT_KINDS:
		break;
	}
	fail(r, "a statement");
	return s;
}

/* ---- declarations -------------------------------------------------------------------------------------------------- */

static void read_literal(reader *r, tsr_buffer *b)
{
	TSR_VEC(double) v = {0};
	expect(r, "{");
	while (!r->failed && !accept_punct(r, "}")) {
		if (v.n)
			expect(r, ",");
		tsr_scalar x = tsr_scalar_convert(read_scalar(r, b->prec, b->prec), TSR_PREC_F64);
		tsr_push(r->arena, &v, x.d);
	}
	b->data = v.at;
	b->count = v.n;
}

static void read_buffer(reader *r)
{
	tsr_buffer *b = TSR_NEW(r->arena, tsr_buffer);
	b->id = r->l->buffers.n;
	b->tensor = TSR_NONE;
	b->name = expect_name(r, TOKEN_BUFFER, "a buffer");
	expect(r, ":");
	if (!tsr_prec_find(expect_name(r, TOKEN_NAME, "a precision"), &b->prec))
		fail(r, "a precision");
	expect(r, "[");
	TSR_VEC(tsr_size) dims = {0};
	while (!r->failed && !accept_punct(r, "]")) {
		if (dims.n)
			expect(r, ",");
		tsr_size s = read_size(r);
		tsr_push(r->arena, &dims, s);
	}
	b->rank = dims.n;
	b->dims = dims.at;
	int kind = position(tsr_loop_buffer_words, expect_name(r, TOKEN_NAME, "a kind of buffer"));
	if (kind < 0)
		fail(r, "a kind of buffer");
	b->kind = (tsr_buffer_kind)(kind < 0 ? 0 : kind);
	b->observed = accept_word(r, "observed");
	if (accept_punct(r, "="))
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
	u->name = expect_name(r, r->now.kind == TOKEN_STRING ? TOKEN_STRING : TOKEN_NAME, "a name");
	u->body = read_body(r);
	u->nsyms = r->fresh;
	u->nlocals = r->locals.n;
	tsr_push(r->arena, &r->l->units, u);
}

tsr_loops *tsr_loops_read(tsr_compiler *tc, uint32_t file)
{
	reader r = {.tc = tc, .arena = tc->arena, .file = file, .text = tsr_source_get(tc, file)->text};
	r.l = TSR_NEW(tc->arena, tsr_loops);
	r.l->tc = tc;
	tsr_map_init(&r.buffers, tc->arena);
	tsr_map_init(&r.numbers, tc->arena);
	tsr_map_init(&r.symbols, tc->arena);
	tsr_map_init(&r.syms, tc->arena);
	next(&r);
	while (!r.failed && r.now.kind != TOKEN_END) {
		if (accept_word(&r, "symbol")) {
			tsr_name n = expect_name(&r, TOKEN_SYMBOL_NAME, "?name");
			tsr_map_put(&r.symbols, tsr_key(n))->value.i = r.l->symbols.n;
			tsr_push(tc->arena, &r.l->symbols, n);
		} else if (accept_word(&r, "number")) {
			tsr_name n = expect_name(&r, TOKEN_NUMBER_NAME, "@name");
			tsr_map_put(&r.numbers, tsr_key(n))->value.i = r.l->numbers.n;
			tsr_push(tc->arena, &r.l->numbers, n);
		} else if (accept_word(&r, "buffer")) {
			read_buffer(&r);
		} else if (accept_word(&r, "unit")) {
			read_unit(&r);
		} else {
			fail(&r, "'symbol', 'number', 'buffer' or 'unit'");
		}
	}
	return r.failed ? NULL : r.l;
}
