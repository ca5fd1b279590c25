/* The pump: tokens of a source into the automaton of grammar/tessera.y, and what happens at a mistake.
 *
 * Before a token is pushed the automaton is asked whether it can stand there.  If not, the error is reported from the
 * state that the token meets (expected.c words it), the item is given up, and reading resumes at the next `let` or
 * `open` that stands at the beginning of a line and is not a local definition.  The names that a broken item would have
 * defined are defined as POISON, so that their uses are not reported as well.
 *
 * Depth is limited twice: the automaton's stack here, the tree's depth in placed.c; so no later stage runs out of stack. */
#include "build.h"
#include "tessera.h"
#include <string.h>

typedef struct pump {
	tsr_parser p;
	tsr_tokens tokens;
	void *automaton;
	unsigned short *scratch;
	tsr_openers open;
	uint32_t item;               /* the token that begins the current item */
	bool whole_file;
} pump;

enum { STATES = 6000, BRACKETS = 1000, CODES = 256 };

static int accepts(const pump *m, int code)
{
	return tsr_tessera_accepts(m->automaton, code, m->scratch);
}

static void expected_set(const pump *m, bool *expected)
{
	for (int code = 0; code < CODES; code++)
		expected[code] = tsr_token_kind(code) && accepts(m, code) >= 0;
}

/* ---- what waits for a closing word */

static void opens(pump *m, int code, uint32_t i)
{
	tsr_opener o = {code, i};
	tsr_push(m->p.tc->arena, &m->open, o);
}

static int innermost(const pump *m)
{
	return m->open.n ? m->open.at[m->open.n - 1].code : 0;
}

/* Pops down to the opener that this word closes. */
static void closes(pump *m, int code)
{
	while (m->open.n && m->open.at[m->open.n - 1].code != code)
		m->open.n--;
	if (m->open.n)
		m->open.n--;
}

/* Follows the accepted token `i`; `below` is what tsr_tessera_accepts() said of it. */
static void follow(pump *m, uint32_t i, int below)
{
	static const struct { int close, open; } pairs[] = {
		{TK_RPAREN, TK_LPAREN}, {TK_RBRACKET, TK_LBRACKET}, {TK_RARRAY, TK_LARRAY}, {TK_RBRACE, TK_LBRACE},
		{TK_END, TK_BEGIN}, {TK_DONE, TK_DO}, {TK_THEN, TK_IF}, {TK_WITH, TK_MATCH}
	};
	int code = m->tokens.at[i].code;
	for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
		if (code == pairs[k].close)
			closes(m, pairs[k].open);
		if (code == pairs[k].open && code != TK_DO)
			opens(m, code, i);
	}
	if (code == TK_FOR || code == TK_WHILE) {
		opens(m, code, i);
	} else if (code == TK_DO && m->open.n) {
		while (m->open.n > 1 && innermost(m) != TK_FOR && innermost(m) != TK_WHILE)
			m->open.n--;
		m->open.at[m->open.n - 1].code = TK_DO;
	} else if (code == TK_LET || code == TK_LET_EXPORT || code == TK_OPEN) {
		if (below <= 1 && m->whole_file) {
			m->item = i;
			m->open.n = 0;
		} else {
			opens(m, TK_LET, i);
		}
	} else if (code == TK_IN && innermost(m) != TK_FOR) {
		closes(m, TK_LET);
	}
}

/* Whether the token would be taken as one more argument of a definition that ended on the line before: nobody writes an
 * argument at the beginning of a line, and everybody forgets once that the top level has definitions only. */
static bool runs_on(const pump *m, uint32_t i)
{
	static const char ends[] = {TK_NAME, TK_INT, TK_FLOAT, TK_STRING, TK_BOOL, TK_RPAREN, TK_RBRACKET, TK_RARRAY, TK_RBRACE, TK_END, TK_DONE};
	static const char begins[] = {TK_NAME, TK_MODULE, TK_INT, TK_FLOAT, TK_STRING, TK_LPAREN, TK_LBRACKET, TK_LBRACE, TK_BEGIN,
	                              TK_FOR, TK_WHILE, TK_IF, TK_MATCH};
	const tsr_token *t = &m->tokens.at[i];
	if (!m->whole_file || !t->bol || !i || (m->open.n && innermost(m) != TK_LET))
		return false;
	return memchr(begins, t->code, sizeof begins) && memchr(ends, t[-1].code, sizeof ends);
}

/* ---- recovery */

static bool begins_item(const tsr_token *t)
{
	return t->bol && (t->code == TK_LET || t->code == TK_LET_EXPORT || t->code == TK_OPEN);
}

/* Whether the `let` at i is local: its `in` comes before the next item. */
static bool is_local(const tsr_tokens *tokens, uint32_t i)
{
	int depth = 1, loops = 0;
	bool bound = false;
	if (tokens->at[i].code != TK_LET)
		return false;
	for (i++; tokens->at[i].code; i++) {
		const tsr_token *t = &tokens->at[i];
		if (begins_item(t))
			return false;
		if (t->code == TK_EQUAL)
			bound = true;
		else if (t->code == TK_LET)
			depth++;
		else if (t->code == TK_FOR)
			loops++;
		else if (t->code == TK_DO && loops)
			loops--;
		else if (t->code == TK_IN && loops)
			loops--;
		else if (t->code == TK_IN && --depth == 0)
			return bound;
	}
	return false;
}

/* The names of a broken item stand for POISON: its name, or all names of its pattern. */
static void define_poison(pump *m, uint32_t until)
{
	uint32_t i = m->item;
	const tsr_token *t = m->tokens.at;
	if (i >= until || (t[i].code != TK_LET && t[i].code != TK_LET_EXPORT))
		return;
	const tsr_token *let = &t[i++];
	if (i < until && t[i].code == TK_REC)
		i++;
	bool in_pattern = false;
	for (; i < until && t[i].code != TK_EQUAL && t[i].code != TK_ASSIGN; i++) {
		if (t[i].code == TK_LPAREN || t[i].code == TK_COMMA)
			in_pattern = true;
		if (t[i].code != TK_NAME)
			continue;
		tsr_ast *poison = tsr_b_node(&m->p, TSR_AST_POISON, t[i].span, t[i].span);
		tsr_lhs *lhs = tsr_b_lhs(&m->p, tsr_b_pat_name(&m->p, &t[i]), NULL);
		tsr_ast *item = tsr_b_let(&m->p, let, false, lhs, poison, NULL);
		item->let.level = TSR_LEVEL_CONFIG;
		tsr_push(m->p.tc->arena, &m->p.module->items, item);
		if (!in_pattern && (i + 1 >= until || t[i + 1].code != TK_COMMA))
			return;
	}
}

static uint32_t recover(pump *m, uint32_t i)
{
	define_poison(m, i);
	while (m->tokens.at[i].code && (i <= m->item || !begins_item(&m->tokens.at[i]) || is_local(&m->tokens, i)))
		i++;
	tsr_tessera_reset(m->automaton, &m->p);
	m->open.n = 0;
	m->item = i;
	return i;
}

static void too_deep(pump *m, uint32_t i)
{
	tsr_report(m->p.tc, TSR_E_TOO_DEEP, m->tokens.at[i].span, "this is nested too deeply");
}

/* ---- the loop */

static void line_error(pump *m, uint32_t i)
{
	tsr_token end = {TK_SEMISEMI, false, "", m->tokens.at[i].span};
	tsr_line_error(m->p.tc, &m->tokens.at[i]);
	if (accepts(m, end.code) < 0)
		return;
	tsr_tessera(m->automaton, end.code, end);        /* the definition before is whole */
	m->item = i;
}

static void run(pump *m)
{
	for (uint32_t i = 0;;) {
		tsr_token t = m->tokens.at[i];
		if (tsr_tessera_room(m->automaton) < 16 || m->open.n > BRACKETS) {
			too_deep(m, i);
			if (!m->whole_file)
				return;
			i = recover(m, i);
			continue;
		}
		int below = accepts(m, t.code);
		bool late = runs_on(m, i);
		if (below < 0 || late) {
			bool expected[CODES];
			expected_set(m, expected);
			if (late)
				line_error(m, i);
			else if (t.code != TK_BROKEN)
				tsr_syntax_error(m->p.tc, &m->tokens, i, expected, &m->open);
			if (!m->whole_file)
				return;
			i = recover(m, i);
			continue;
		}
		follow(m, i, below);
		tsr_tessera(m->automaton, t.code, t);
		if (!t.code)
			return;
		i++;
	}
}

/* The automaton's stack lies in `scratch`: it is large, and a string may hold thousands of expressions. */
static void start(pump *m, tsr_compiler *tc, tsr_arena *scratch)
{
	m->p.tc = tc;
	m->automaton = tsr_tessera_new(scratch, &m->p);
	m->scratch = TSR_NEW_N(scratch, unsigned short, STATES + 16);
}

tsr_module_ast *tsr_parse(tsr_compiler *tc, uint32_t file)
{
	const tsr_source *source = tsr_source_get(tc, file);
	pump m = {.whole_file = true};
	tsr_arena *scratch = tsr_arena_new();
	start(&m, tc, scratch);
	m.p.module = TSR_NEW(tc->arena, tsr_module_ast);
	m.p.module->file = file;
	m.tokens = tsr_lex(tc, source->text, source->size, (tsr_span){file, 0, 0});
	run(&m);
	tsr_arena_free(scratch);
	return m.p.module;
}

tsr_ast *tsr_parse_expr(tsr_compiler *tc, const char *text, size_t size, tsr_span span)
{
	pump m = {.whole_file = false};
	tsr_arena *scratch = tsr_arena_new();
	start(&m, tc, scratch);
	/* The scanner wants its text terminated. */
	m.tokens = tsr_lex(tc, tsr_strndup(tc->arena, text, size), size, span);
	tsr_token begin = {TK_JUST_EXPRESSION, false, "", span};
	tsr_tessera(m.automaton, begin.code, begin);
	run(&m);
	tsr_arena_free(scratch);
	tsr_ast *e = m.p.expression;
	return e ? tsr_placed(tc, e) : tsr_b_node(&m.p, TSR_AST_POISON, span, span);
}

void tsr_tokens_print(tsr_compiler *tc, uint32_t file, FILE *out)
{
	const tsr_source *source = tsr_source_get(tc, file);
	tsr_tokens tokens = tsr_lex(tc, source->text, source->size, (tsr_span){file, 0, 0});
	for (uint32_t i = 0; i < tokens.n && tokens.at[i].code; i++) {
		const tsr_token *t = &tokens.at[i];
		tsr_position at = tsr_position_of(tc, t->span);
		fprintf(out, "%u:%u %s %.*s\n", at.line, at.column, tsr_token_kind(t->code), (int)tsr_token_size(t), t->text);
	}
}
