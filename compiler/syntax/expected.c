/* The words of a syntax error: what was found, what could stand there in a user's words, and a hint for the slips that
 * are made often (a forgotten `in` or `done`, brackets that do not match, habits from other languages).
 *
 * The set of tokens that could stand at the place comes from the automaton; a group of tokens that begins one thing is
 * named as that thing. */
#include "build.h"
#include "tessera.h"
#include "../base/text.h"
#include <string.h>

typedef struct slip {
	tsr_compiler *tc;
	const tsr_token *found, *before;     /* `before` is NULL at the first token */
	const bool *expected;
	const tsr_tokens *tokens;
	const tsr_opener *open;              /* the innermost, or NULL */
} slip;

static const char *found_text(tsr_compiler *tc, const tsr_token *t)
{
	if (!t->code)
		return "the end of the file";
	int n = (int)tsr_token_size(t);
	return n > 30 ? tsr_format(tc->arena, "`%.27s...`", t->text) : tsr_format(tc->arena, "`%.*s`", n, t->text);
}

/* What could stand there: at most four things, the most telling first. */
static const char *expected_text(tsr_compiler *tc, const bool *e)
{
	static const struct { int code; const char *text; } words[] = {
		{TK_IN, "`in`"}, {TK_THEN, "`then`"}, {TK_DO, "`do`"}, {TK_DONE, "`done`"}, {TK_WITH, "`with`"}, {TK_END, "`end`"},
		{TK_RPAREN, "`)`"}, {TK_RBRACKET, "`]`"}, {TK_RARRAY, "`|]`"}, {TK_RBRACE, "`}`"}, {TK_ARROW, "`->`"},
		{TK_TO, "`to`"}, {TK_DOT, "`.`"}, {TK_MODULE, "a module's name"}, {TK_COLON, "`:`"}, {TK_LPAREN, "`(`"}
	};
	const char *things[4];
	int n = 0;
	if (e[TK_INT] && e[TK_FLOAT] && e[TK_IF])
		things[n++] = "an expression";
	else if (e[TK_INT] && e[TK_UNDERSCORE])
		things[n++] = e[TK_LABEL] ? "a parameter" : "a pattern";
	else if (e[TK_NAME] && !e[TK_INT])
		things[n++] = "a name";
	if (e[TK_EQUAL] && !e[TK_COMPARE])
		things[n++] = "`=`";
	for (size_t i = 0; i < sizeof words / sizeof *words && n < 4; i++) {
		bool part = (words[i].code == TK_LPAREN || words[i].code == TK_MODULE) && e[TK_INT];     /* of an expression or a pattern */
		if (e[words[i].code] && !part && !(words[i].code == TK_DOT && e[TK_PLUS]))
			things[n++] = words[i].text;
	}
	if (n < 4 && e[TK_SEMISEMI] && !e[TK_PLUS])
		things[n++] = "a definition (`let`, `open`)";
	else if (n == 0 && e[TK_PLUS])
		things[n++] = "an operator";
	tsr_text t;
	tsr_text_init(&t, tc->arena);
	for (int i = 0; i < n; i++)
		tsr_text_addf(&t, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", things[i]);
	return n ? tsr_text_str(&t) : NULL;
}

static const tsr_token *opener(const slip *s)
{
	return &s->tokens->at[s->open->token];
}

static bool is_bracket(int code)
{
	return code == TK_LPAREN || code == TK_LBRACKET || code == TK_LARRAY || code == TK_LBRACE || code == TK_BEGIN;
}

static bool is_closer(int code)
{
	return code == TK_RPAREN || code == TK_RBRACKET || code == TK_RARRAY || code == TK_RBRACE || code == TK_END || code == TK_DONE;
}

/* Words after which what is open cannot be closed any more. */
static bool leaves_scope(const tsr_token *t)
{
	return !t->code || t->bol || is_closer(t->code) || t->code == TK_IN || t->code == TK_THEN || t->code == TK_ELSE ||
	       t->code == TK_DO || t->code == TK_LET_EXPORT || t->code == TK_OPEN || t->code == TK_WITH;
}

static bool wants_operand(int code)
{
	return code == TK_EQUAL || code == TK_PLUS || code == TK_MINUS || code == TK_TIMES || code == TK_POWER || code == TK_JOIN ||
	       code == TK_CONS || code == TK_COMPARE || code == TK_AND || code == TK_OR || code == TK_COMMA || code == TK_ASSIGN ||
	       code == TK_SETREF || code == TK_STORE || code == TK_ELSE || code == TK_ARROW;
}

/* Something that was opened and is not closed: the caret points at the opener. */
static bool unclosed(const slip *s)
{
	if (!s->open || !leaves_scope(s->found))
		return false;
	const tsr_token *o = opener(s);
	int code = s->open->code;
	const char *found = found_text(s->tc, s->found);
	tsr_diag *d;
	if (is_bracket(code) && (s->expected[TK_RPAREN] || s->expected[TK_RBRACKET] || s->expected[TK_RARRAY] ||
	                         s->expected[TK_RBRACE] || s->expected[TK_END])) {
		d = tsr_report(s->tc, TSR_E_UNCLOSED, o->span, "this `%.*s` is not closed", (int)tsr_token_size(o), o->text);
		tsr_note_at(s->tc, d, s->found->span, "%s comes before it is", found);
		return true;
	}
	if (code == TK_DO && s->expected[TK_DONE]) {
		d = tsr_report(s->tc, TSR_E_UNCLOSED, o->span, "this loop has no `done`");
		tsr_note_at(s->tc, d, s->found->span, "%s comes before it", found);
		return true;
	}
	if (code == TK_LET && s->expected[TK_IN]) {
		const tsr_token *last = s->open->token ? o - 1 : o;      /* what stands before the `let` */
		if (o->bol && last->code == TK_SEMI) {
			d = tsr_report(s->tc, TSR_E_SYNTAX, last->span, "the `;` here makes the `let` after it a local one, and that has no `in`");
			tsr_note_at(s->tc, d, o->span, "the `let`");
			tsr_hint(s->tc, d, "definitions at the top level are not separated by `;`");
			return true;
		}
		if (o->bol && wants_operand(last->code)) {
			d = tsr_report(s->tc, TSR_E_SYNTAX, last->span, "nothing follows this `%.*s`", (int)tsr_token_size(last), last->text);
			tsr_note_at(s->tc, d, o->span, "a definition begins here");
			return true;
		}
		d = tsr_report(s->tc, TSR_E_UNCLOSED, o->span, "this local `let` has no `in`");
		tsr_note_at(s->tc, d, s->found->span, "%s comes before it", found);
		tsr_hint(s->tc, d, "let x = value in body");
		return true;
	}
	return false;
}

/* Habits that have a name. True when a report was made. */
static bool habit(const slip *s)
{
	static const struct { const char *text, *hint; } alien[] = {
		{"==", "two values are compared with `=`"}, {"!=", "unequal is written `<>`"},
		{"=>", "a case and a function are written with `->`; `=>` stands in specs"},
		{"&", "both is written `&&`"}, {"@^", "the larger of two values is `max a b`"}, {"@-", "the smaller of two values is `min a b`"},
		{"and", "definitions are written one after another, each with its own `let`"}
	};
	const tsr_token *t = s->found;
	for (size_t i = 0; i < sizeof alien / sizeof *alien; i++) {
		if (t->code == TK_ALIEN && tsr_token_is(t, alien[i].text)) {
			tsr_hint(s->tc, tsr_report(s->tc, TSR_E_SYNTAX, t->span, "there is no %s", found_text(s->tc, t)), "%s", alien[i].hint);
			return true;
		}
	}
	if (t->code == TK_ASSIGN && s->expected[TK_EQUAL]) {
		tsr_diag *d = tsr_report(s->tc, TSR_E_SYNTAX, t->span, "%s is one operator, an assignment, and `=` is expected here", found_text(s->tc, t));
		tsr_hint(s->tc, d, "put a space after the `=`: `= %.*s`", (int)tsr_token_size(t) - 1, t->text + 1);
		return true;
	}
	if (t->code == TK_ELSE && s->before && s->before->code == TK_SEMI) {
		tsr_diag *d = tsr_report(s->tc, TSR_E_SYNTAX, s->before->span, "the `;` ends the `if`, so that its `else` stands alone");
		tsr_note_at(s->tc, d, t->span, "the `else`");
		tsr_hint(s->tc, d, "leave the `;` out, or put the steps between `begin` and `end`");
		return true;
	}
	if (s->before && s->before->code == TK_MODULE && s->expected[TK_DOT] && !s->expected[TK_PLUS]) {
		tsr_diag *d = tsr_report(s->tc, TSR_E_SYNTAX, s->before->span, "%s is a module, and a value is needed here", found_text(s->tc, s->before));
		tsr_hint(s->tc, d, "a module's values are written `Nn.layer_norm`; other names begin with a small letter");
		return true;
	}
	if (is_closer(t->code) && !s->open) {
		tsr_report(s->tc, TSR_E_SYNTAX, t->span, "nothing opens what this %s closes", found_text(s->tc, t));
		return true;
	}
	return false;
}

static void add_hint(const slip *s, tsr_diag *d)
{
	const tsr_token *t = s->found;
	bool keyword = t->code && tsr_token_size(t) > 1 && t->text[0] >= 'a' && t->text[0] <= 'z' && t->code != TK_NAME;
	if (keyword && s->expected[TK_NAME] && (s->expected[TK_UNDERSCORE] || !s->expected[TK_INT]))
		tsr_hint(s->tc, d, "`%.*s` is a word of the language; choose another name", (int)tsr_token_size(t), t->text);
	else if (t->code == TK_MODULE && s->expected[TK_NAME])
		tsr_hint(s->tc, d, "names of values begin with a small letter");
	else if (t->code == TK_LET && s->before && s->before->code == TK_EQUAL && t->bol)
		tsr_hint(s->tc, d, "the definition before this one has no value");
	else if (t->code == TK_SEMI && s->before && s->before->code == TK_SEMI)
		tsr_hint(s->tc, d, "one `;` stands between two steps");
	else if (s->expected[TK_SEMISEMI] && t->code && !s->expected[TK_PLUS])
		tsr_hint(s->tc, d, "what is done when the program runs stands in `let%%main () = ...`");
}

void tsr_line_error(tsr_compiler *tc, const tsr_token *t)
{
	tsr_diag *d = tsr_report(tc, TSR_E_SYNTAX, t->span, "%s begins a line, where a definition is expected", found_text(tc, t));
	tsr_hint(tc, d, "what is done when the program runs stands in `let%%main () = ...`; a line that continues a definition is indented");
}

void tsr_syntax_error(tsr_compiler *tc, const tsr_tokens *tokens, uint32_t i, const bool *expected, const tsr_openers *open)
{
	slip s = {tc, &tokens->at[i], i ? &tokens->at[i - 1] : NULL, expected, tokens, open->n ? &open->at[open->n - 1] : NULL};
	if (habit(&s) || unclosed(&s))
		return;
	const char *found = found_text(tc, s.found), *wanted = expected_text(tc, expected);
	tsr_diag *d = wanted ? tsr_report(tc, TSR_E_SYNTAX, s.found->span, "%s stands where %s is expected", found, wanted)
	                     : tsr_report(tc, TSR_E_SYNTAX, s.found->span, "%s cannot stand here", found);
	if (s.open && is_closer(s.found->code)) {
		const tsr_token *o = opener(&s);
		tsr_note_at(tc, d, o->span, "`%.*s` is open", (int)tsr_token_size(o), o->text);
	}
	add_hint(&s, d);
}
