/* The grammar of the language.  Every action is one constructor call (compiler/syntax/build.h); what the calls refuse
 * beyond the grammar is in compiler/syntax/build*.c and placed.c.
 *
 * Operators of one precedence are one token.  The declarations below run from the loosest to the tightest, as in OCaml;
 * BELOW_* and PREFIX are not tokens but precedences of rules.
 *
 * Top-level items need no terminator: a value is complete at the `let` or `open` that cannot continue it, and a local
 * `let` is told from a top-level one by its position alone, since no expression stands at the top level. */
%name tsr_tessera
%token_prefix TK_
%token_type {tsr_token}
%extra_context {tsr_parser *p}
%stack_size 6000

%include {
#undef NDEBUG                /* the names of tokens are wanted */
#include "syntax/build.h"
#include "tessera.h"
#define YYNOERRORRECOVERY 1
}

%nonassoc BELOW_SEMI.
%nonassoc SEMI.
%nonassoc LET.
%nonassoc BELOW_BAR.
%nonassoc THEN.
%nonassoc ELSE.
%right ASSIGN STORE SETREF.
%left BAR.
%nonassoc BELOW_COMMA.
%left COMMA.
%right OR.
%right AND.
%left COMPARE EQUAL.
%right JOIN.
%right CONS.
%left PLUS MINUS.
%left TIMES.
%right POWER.
%nonassoc PREFIX.
%nonassoc DOT.
%nonassoc BANG EMBED.

/* In no rule: text of other languages, which deserves a hint. */
%token ALIEN.
/* In no rule either: text that the scanner has reported already; it breaks its item in silence. */
%token BROKEN.

%start_symbol start
start ::= items.
start ::= JUST_EXPRESSION seq(E).                                 { tsr_b_expression(p, E); }

/* ---- top level */

items ::= .
items ::= items SEMISEMI.
items ::= items LET(T) rec(R) lhs(L) EQUAL seq_items(E).          { tsr_b_item(p, tsr_b_let(p, &T, R, L, tsr_b_seq(p, E), NULL)); }
items ::= items LET_EXPORT(T) NAME(N) params(P) EQUAL seq_items(E). { tsr_b_item(p, tsr_b_export(p, &T, &N, P, tsr_b_seq(p, E))); }
items ::= items OPEN(T) MODULE(N).                                { tsr_b_item(p, tsr_b_open(p, &T, &N)); }

/* ---- definitions */

%type rec {bool}
rec(A) ::= .                                                      { A = false; }
rec(A) ::= REC.                                                   { A = true; }

%type lhs {tsr_lhs *}
lhs(A) ::= pat(P).                                                { A = tsr_b_lhs(p, P, NULL); }
lhs(A) ::= spat(P) params(L).                                     { A = tsr_b_lhs(p, P, L); }

%type params {tsr_params *}
params(A) ::= param(B).                                           { A = tsr_b_params(p, NULL, &B); }
params(A) ::= params(L) param(B).                                 { A = tsr_b_params(p, L, &B); }

%type param {tsr_param}
param(A) ::= spat(P).                                             { A = tsr_b_param_plain(p, P); }
param(A) ::= LPAREN(T) pat(P) COLON annotation(N) RPAREN(U).      { A = tsr_b_param_typed(p, &T, P, &N, &U); }
param(A) ::= LABEL(T).                                            { A = tsr_b_param_named(p, &T, NULL, NULL); }
param(A) ::= LABEL_COLON(T) spat(P).                              { A = tsr_b_param_named(p, &T, P, NULL); }
param(A) ::= OPTION(T).                                           { A = tsr_b_param_named(p, &T, NULL, NULL); }
param(A) ::= OPTION_COLON(T) spat(P).                             { A = tsr_b_param_named(p, &T, P, NULL); }
param(A) ::= OPTION_COLON(T) LPAREN NAME(N) EQUAL seq(E) RPAREN.  { A = tsr_b_param_named(p, &T, tsr_b_pat_name(p, &N), E); }
param(A) ::= QUESTION(T) LPAREN NAME(N) EQUAL seq(E) RPAREN(U).   { A = tsr_b_param_option(p, &T, &N, E, &U); }
param(A) ::= TILDE(T) LPAREN NAME(N) COLON annotation(B) RPAREN(U). { A = tsr_b_param_label(p, &T, &N, &B, &U); }

%type annotation {tsr_param}
annotation(A) ::= STRING(S).                                      { A = tsr_b_annotation(p, &S, NULL); }
annotation(A) ::= STRING(S) NAME(N).                              { A = tsr_b_annotation(p, &S, &N); }
annotation(A) ::= NAME(N).                                        { A = tsr_b_annotation(p, NULL, &N); }

/* ---- patterns */

%type pat {tsr_pat *}
%type spat {tsr_pat *}
%type pat_tuple {tsr_pat *}
%type pat_items {tsr_pat *}
pat(A) ::= spat(P).                                               { A = P; }
pat(A) ::= pat_tuple(P). [BELOW_COMMA]                            { A = P; }
pat(A) ::= pat(L) CONS(O) pat(R).                                 { A = tsr_b_pat_two(p, TSR_PAT_CONS, L, &O, R); }
pat(A) ::= pat(L) BAR(O) pat(R).                                  { A = tsr_b_pat_two(p, TSR_PAT_OR, L, &O, R); }
pat(A) ::= SOME(T) spat(P).                                       { A = tsr_b_pat_some(p, &T, P); }
pat_tuple(A) ::= pat(L) COMMA pat(R).                             { A = tsr_b_pat_add(p, tsr_b_pat_add(p, tsr_b_pat(p, TSR_PAT_TUPLE, L->span), L), R); }
pat_tuple(A) ::= pat_tuple(L) COMMA pat(R).                       { A = tsr_b_pat_add(p, L, R); }
spat(A) ::= UNDERSCORE(T).                                        { A = tsr_b_pat(p, TSR_PAT_ANY, T.span); }
spat(A) ::= NAME(T).                                              { A = tsr_b_pat_name(p, &T); }
spat(A) ::= INT(T).                                               { A = tsr_b_pat_int(p, NULL, &T); }
spat(A) ::= MINUS(M) INT(T).                                      { A = tsr_b_pat_int(p, &M, &T); }
spat(A) ::= BOOL(T).                                              { A = tsr_b_pat_bool(p, &T); }
spat(A) ::= STRING(T).                                            { A = tsr_b_pat_string(p, &T); }
spat(A) ::= NONE(T).                                              { A = tsr_b_pat(p, TSR_PAT_NONE, T.span); }
spat(A) ::= LPAREN(T) RPAREN(U).                                  { A = tsr_b_pat(p, TSR_PAT_UNIT, tsr_span_join(T.span, U.span)); }
spat(A) ::= LPAREN pat(P) RPAREN.                                 { A = P; }
spat(A) ::= LPAREN operator(O) RPAREN.                            { A = tsr_b_pat_name(p, &O); }
spat(A) ::= LBRACKET(T) RBRACKET(U).                              { A = tsr_b_pat(p, TSR_PAT_LIST, tsr_span_join(T.span, U.span)); }
spat(A) ::= LBRACKET(T) pat_items(P) RBRACKET(U).                 { A = tsr_b_pat_close(p, &T, P, &U); }
spat(A) ::= LBRACKET(T) pat_items(P) SEMI RBRACKET(U).            { A = tsr_b_pat_close(p, &T, P, &U); }
pat_items(A) ::= pat(P).                                          { A = tsr_b_pat_add(p, tsr_b_pat(p, TSR_PAT_LIST, P->span), P); }
pat_items(A) ::= pat_items(L) SEMI pat(P).                        { A = tsr_b_pat_add(p, L, P); }

operator(A) ::= PLUS(T).                                          { A = T; }
operator(A) ::= MINUS(T).                                         { A = T; }
operator(A) ::= TIMES(T).                                         { A = T; }
operator(A) ::= POWER(T).                                         { A = T; }
operator(A) ::= JOIN(T).                                          { A = T; }
operator(A) ::= COMPARE(T).                                       { A = T; }
operator(A) ::= EQUAL(T).                                         { A = T; }
operator(A) ::= AND(T).                                           { A = T; }
operator(A) ::= OR(T).                                            { A = T; }
operator(A) ::= BANG(T).                                          { A = T; }
operator(A) ::= NEGATE(T).                                        { A = T; }
operator(A) ::= CONS(T).                                          { A = T; }

/* ---- sequences */

%type seq {tsr_ast *}
%type seq_items {tsr_ast *}
seq(A) ::= seq_items(E). [BELOW_SEMI]                             { A = tsr_b_seq(p, E); }
seq(A) ::= seq_items(E) SEMI. [BELOW_SEMI]                        { A = tsr_b_seq(p, E); }
seq_items(A) ::= expr(E). [BELOW_SEMI]                            { A = tsr_b_list(p, TSR_AST_SEQ, NULL, E); }
seq_items(A) ::= seq_items(L) SEMI expr(E).                       { A = tsr_b_list(p, TSR_AST_SEQ, L, E); }

/* ---- expressions */

%type expr {tsr_ast *}
expr(A) ::= simple(E).                                            { A = E; }
expr(A) ::= simple(F) args(L).                                    { A = tsr_b_apply(p, F, L); }
expr(A) ::= tuple(E). [BELOW_COMMA]                               { A = E; }
expr(A) ::= LET(T) rec(R) lhs(L) EQUAL seq(E) IN seq(B). [LET]    { A = tsr_b_let(p, &T, R, L, E, B); }
expr(A) ::= FUN(T) params(P) ARROW seq(B). [LET]                  { A = tsr_b_fun(p, &T, P, B); }
expr(A) ::= FUNCTION(T) cases(C). [BELOW_BAR]                     { A = tsr_b_function(p, &T, C); }
expr(A) ::= FUNCTION(T) BAR cases(C). [BELOW_BAR]                 { A = tsr_b_function(p, &T, C); }
expr(A) ::= MATCH(T) seq(E) WITH cases(C). [BELOW_BAR]            { A = tsr_b_match(p, &T, E, C); }
expr(A) ::= MATCH(T) seq(E) WITH BAR cases(C). [BELOW_BAR]        { A = tsr_b_match(p, &T, E, C); }
expr(A) ::= IF(T) seq(C) THEN expr(E). [THEN]                     { A = tsr_b_if(p, &T, C, E, NULL); }
expr(A) ::= IF(T) seq(C) THEN expr(E) ELSE expr(F). [ELSE]        { A = tsr_b_if(p, &T, C, E, F); }
expr(A) ::= FOR(T) pat(N) EQUAL seq(E) TO(D) seq(F) DO seq(B) DONE(U). { A = tsr_b_for(p, &T, N, E, &D, F, B, &U); }
expr(A) ::= FOR(T) pat(N) IN seq(E) DO seq(B) DONE(U).            { A = tsr_b_for(p, &T, N, NULL, NULL, E, B, &U); }
expr(A) ::= WHILE(T) seq(C) DO seq(B) DONE(U).                    { A = tsr_b_while(p, &T, C, B, &U); }
expr(A) ::= expr(L) ASSIGN(O) expr(R).                            { A = tsr_b_assign(p, L, &O, R); }
expr(A) ::= expr(L) STORE(O) expr(R).                             { A = tsr_b_store(p, L, &O, R); }
expr(A) ::= expr(L) SETREF(O) expr(R).                            { A = tsr_b_setref(p, L, &O, R); }
expr(A) ::= expr(L) OR(O) expr(R).                                { A = tsr_b_binary(p, L, &O, R); }
expr(A) ::= expr(L) AND(O) expr(R).                               { A = tsr_b_binary(p, L, &O, R); }
expr(A) ::= expr(L) COMPARE(O) expr(R).                           { A = tsr_b_binary(p, L, &O, R); }
expr(A) ::= expr(L) EQUAL(O) expr(R).                             { A = tsr_b_binary(p, L, &O, R); }
expr(A) ::= expr(L) JOIN(O) expr(R).                              { A = tsr_b_binary(p, L, &O, R); }
expr(A) ::= expr(L) CONS(O) expr(R).                              { A = tsr_b_binary(p, L, &O, R); }
expr(A) ::= expr(L) PLUS(O) expr(R).                              { A = tsr_b_binary(p, L, &O, R); }
expr(A) ::= expr(L) MINUS(O) expr(R).                             { A = tsr_b_binary(p, L, &O, R); }
expr(A) ::= expr(L) TIMES(O) expr(R).                             { A = tsr_b_binary(p, L, &O, R); }
expr(A) ::= expr(L) POWER(O) expr(R).                             { A = tsr_b_binary(p, L, &O, R); }
expr(A) ::= MINUS(O) expr(E). [PREFIX]                            { A = tsr_b_unary(p, &O, E); }
expr(A) ::= NEGATE(O) expr(E). [PREFIX]                           { A = tsr_b_unary(p, &O, E); }

%type tuple {tsr_ast *}
tuple(A) ::= expr(L) COMMA expr(R).                               { A = tsr_b_list(p, TSR_AST_TUPLE, tsr_b_list(p, TSR_AST_TUPLE, NULL, L), R); }
tuple(A) ::= tuple(L) COMMA expr(R).                              { A = tsr_b_list(p, TSR_AST_TUPLE, L, R); }

%type cases {tsr_cases *}
%type case {tsr_case}
cases(A) ::= case(C).                                             { A = tsr_b_cases(p, NULL, &C); }
cases(A) ::= cases(L) BAR case(C).                                { A = tsr_b_cases(p, L, &C); }
case(A) ::= pat(P) ARROW seq(B).                                  { A = (tsr_case){P, NULL, B}; }
case(A) ::= pat(P) WHEN seq(G) ARROW seq(B).                      { A = (tsr_case){P, G, B}; }

/* ---- application */

%type args {tsr_args *}
%type arg {tsr_arg}
args(A) ::= arg(B).                                               { A = tsr_b_args(p, NULL, &B); }
args(A) ::= args(L) arg(B).                                       { A = tsr_b_args(p, L, &B); }
arg(A) ::= simple(E).                                             { A = tsr_b_arg(p, NULL, E); }
arg(A) ::= LABEL(T).                                              { A = tsr_b_arg(p, &T, NULL); }
arg(A) ::= LABEL_COLON(T) simple(E).                              { A = tsr_b_arg(p, &T, E); }
arg(A) ::= LABEL_COLON(T) MINUS(M) number(E).                     { A = tsr_b_arg(p, &T, tsr_b_unary(p, &M, E)); }
arg(A) ::= OPTION(T).                                             { A = tsr_b_arg(p, &T, NULL); }
arg(A) ::= OPTION_COLON(T) simple(E).                             { A = tsr_b_arg(p, &T, E); }

%type number {tsr_ast *}
number(A) ::= INT(T).                                             { A = tsr_b_int(p, &T); }
number(A) ::= FLOAT(T).                                           { A = tsr_b_float(p, &T); }

%type simple {tsr_ast *}
simple(A) ::= number(E).                                          { A = E; }
simple(A) ::= BOOL(T).                                            { A = tsr_b_bool(p, &T); }
simple(A) ::= STRING(T).                                          { A = tsr_b_string(p, &T); }
simple(A) ::= NAME(T).                                            { A = tsr_b_name(p, NULL, &T); }
simple(A) ::= SOME(T).                                            { A = tsr_b_name(p, NULL, &T); }
simple(A) ::= NONE(T).                                            { A = tsr_b_name(p, NULL, &T); }
simple(A) ::= MODULE(Q) DOT NAME(T).                              { A = tsr_b_name(p, &Q, &T); }
simple(A) ::= LPAREN(T) operator(O) RPAREN(U).                    { A = tsr_b_close(p, &T, tsr_b_name(p, NULL, &O), &U); }
simple(A) ::= LPAREN(T) RPAREN(U).                                { A = tsr_b_unit(p, &T, &U); }
simple(A) ::= LPAREN(T) seq(E) RPAREN(U).                         { A = tsr_b_close(p, &T, E, &U); }
simple(A) ::= LPAREN(T) expr(E) COMMA RPAREN(U).                  { A = tsr_b_close(p, &T, tsr_b_list(p, TSR_AST_TUPLE, NULL, E), &U); }
simple(A) ::= LPAREN(T) tuple(E) COMMA RPAREN(U).                 { A = tsr_b_close(p, &T, E, &U); }
simple(A) ::= LPAREN(T) seq(E) COLON NAME(N) RPAREN(U).           { A = tsr_b_close(p, &T, tsr_b_tagged(p, E, &N), &U); }
simple(A) ::= LPAREN(T) seq(E) COLON STRING(N) RPAREN(U).         { A = tsr_b_close(p, &T, tsr_b_tagged(p, E, &N), &U); }
simple(A) ::= BEGIN(T) seq(E) END(U).                             { A = tsr_b_close(p, &T, E, &U); }
simple(A) ::= BEGIN(T) END(U).                                    { A = tsr_b_unit(p, &T, &U); }
simple(A) ::= LBRACKET(T) RBRACKET(U).                            { A = tsr_b_items(p, TSR_AST_LIST, &T, NULL, &U); }
simple(A) ::= LBRACKET(T) seq_items(E) RBRACKET(U).                     { A = tsr_b_items(p, TSR_AST_LIST, &T, E, &U); }
simple(A) ::= LBRACKET(T) seq_items(E) SEMI RBRACKET(U).                     { A = tsr_b_items(p, TSR_AST_LIST, &T, E, &U); }
simple(A) ::= LARRAY(T) RARRAY(U).                                { A = tsr_b_items(p, TSR_AST_ARRAY, &T, NULL, &U); }
simple(A) ::= LARRAY(T) seq_items(E) RARRAY(U).                         { A = tsr_b_items(p, TSR_AST_ARRAY, &T, E, &U); }
simple(A) ::= LARRAY(T) seq_items(E) SEMI RARRAY(U).                         { A = tsr_b_items(p, TSR_AST_ARRAY, &T, E, &U); }
simple(A) ::= LBRACE(T) decl(D) RBRACE(U).                        { A = tsr_b_close(p, &T, D, &U); }
simple(A) ::= LBRACE(T) decl(D) SEMI RBRACE(U).                   { A = tsr_b_close(p, &T, D, &U); }
simple(A) ::= simple(E) DOT NAME(N).                              { A = tsr_b_field(p, E, &N); }
simple(A) ::= simple(E) DOT LPAREN seq(I) RPAREN(U).              { A = tsr_b_index(p, E, I, &U); }
simple(A) ::= BANG(T) simple(E).                                  { A = tsr_b_unary(p, &T, E); }
simple(A) ::= EMBED simple(E).                                    { A = E; }
simple(A) ::= NOTE(T) LPAREN seq(E) RPAREN(U).                    { A = tsr_b_note(p, &T, E, &U); }

%type decl {tsr_ast *}
decl(A) ::= NAME(N).                                              { A = tsr_b_decl(p, &N, NULL, NULL); }
decl(A) ::= NAME(N) EQUAL expr(E).                                { A = tsr_b_decl(p, &N, E, NULL); }
decl(A) ::= NAME(N) COLON NAME(P).                                { A = tsr_b_decl(p, &N, NULL, &P); }
decl(A) ::= NAME(N) EQUAL expr(E) COLON NAME(P).                  { A = tsr_b_decl(p, &N, E, &P); }
decl(A) ::= NAME(N) COLON NAME(P) EQUAL expr(E).                  { A = tsr_b_decl(p, &N, E, &P); }
decl(A) ::= decl(D) SEMI NAME(N) EQUAL expr(E).                   { A = tsr_b_decl_axes(p, D, &N, E); }

%code {
/* The depth of the stack under `code` once it is shifted, or -1 when it cannot stand here.  Runs the automaton on a
 * copy of the states; `scratch` holds 6000 of them. */
int tsr_tessera_accepts(const void *parser, int code, unsigned short *scratch)
{
	const yyParser *y = parser;
	int top = (int)(y->yytos - y->yystack);
	/* Entries below `low` still stand as they are in the parser; those from `low` on are in scratch. */
	int low = top + 1;
#define STATE(i) ((i) < low ? y->yystack[i].stateno : scratch[i])
	YYACTIONTYPE act = y->yytos->stateno;
	for (;;) {
		act = yy_find_shift_action((YYCODETYPE)code, act);
		if (act >= YY_MIN_REDUCE) {
			unsigned rule = act - YY_MIN_REDUCE;
			top += yyRuleInfoNRhs[rule];
			if (top < low)
				low = top + 1;
			act = yy_find_reduce_action((YYACTIONTYPE)STATE(top), yyRuleInfoLhs[rule]);
			top++;
			scratch[top] = act;
		} else if (act <= YY_MAX_SHIFTREDUCE || act == YY_ACCEPT_ACTION) {
			return top;
		} else {
			return -1;
		}
	}
#undef STATE
}

const char *tsr_token_kind(int code)
{
	bool real = code >= 0 && code < YYNTOKEN && code != TK_JUST_EXPRESSION && code != TK_PREFIX &&
	            code != TK_BELOW_SEMI && code != TK_BELOW_BAR && code != TK_BELOW_COMMA;
	return !real ? NULL : code ? yyTokenName[code] : "END";
}

void *tsr_tessera_new(tsr_arena *a, tsr_parser *p)
{
	yyParser *y = TSR_NEW(a, yyParser);
	tsr_tesseraInit(y, p);
	return y;
}

void tsr_tessera_reset(void *parser, tsr_parser *p)
{
	tsr_tesseraInit(parser, p);
}

int tsr_tessera_room(const void *parser)
{
	const yyParser *y = parser;
	return (int)(y->yystackEnd - y->yytos);
}
}
