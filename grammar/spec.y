/* The grammar of specs: operands separated by `;`, then `=>` and the result; or, in an annotation, one slot.  Each action
 * is one call of compiler/syntax/spec.c.  Commas, and what an axis may be, are checked there: their messages can say more. */
%name tsr_spec_automaton
%token_prefix SPEC_
%token_type {tsr_spec_token}
%extra_context {tsr_spec_parser *p}
%stack_size 64

%include {
#include "syntax/spec_build.h"
#include "spec.h"
#define YYNOERRORRECOVERY 1
}

%syntax_error { tsr_spec_unexpected(p, yymajor, &TOKEN); }
%stack_overflow { tsr_spec_overflow(p); }

%start_symbol start
start ::= OPERATION slots GIVES(G) slot(S).             { tsr_spec_result(p, &G, S); }
start ::= ANNOTATION slot(S).                           { tsr_spec_result(p, NULL, S); }

slots ::= slot(S).                                      { tsr_spec_operand(p, S); }
slots ::= slots SEMI slot(S).                           { tsr_spec_operand(p, S); }

%type slot {tsr_spec_slot *}
%type row {tsr_spec_rowing *}
slot(A) ::= row(O).                                     { A = tsr_spec_slot_of(p, NULL, NULL, O); }
slot(A) ::= row(I) ARROW row(O).                        { A = tsr_spec_slot_of(p, NULL, I, O); }
slot(A) ::= row(B) BAR row(O).                          { A = tsr_spec_slot_of(p, B, NULL, O); }
slot(A) ::= row(B) BAR row(I) ARROW row(O).             { A = tsr_spec_slot_of(p, B, I, O); }

row(A) ::= .                                            { A = tsr_spec_row_new(p); }
row(A) ::= row(R) COMMA(T).                             { A = tsr_spec_row_comma(p, R, &T); }
row(A) ::= row(R) DOTS(T).                              { A = tsr_spec_row_var(p, R, &T); }
row(A) ::= row(R) ROW(T).                               { A = tsr_spec_row_var(p, R, &T); }
row(A) ::= row(R) axis(X).                              { A = tsr_spec_row_axis(p, R, &X); }

%type axis {tsr_axis}
axis(A) ::= WILD(T).                                    { A = tsr_spec_wild(p, &T); }
axis(A) ::= SYMBOL(T).                                  { A = tsr_spec_symbol(p, &T); }
axis(A) ::= LPAREN(T) INT(N) COLON NAME(B) RPAREN(U).   { A = tsr_spec_based(p, &T, &N, &B, &U); }
axis(A) ::= LPAREN(T) NAME(N) COLON NAME(B) RPAREN(U).  { A = tsr_spec_based(p, &T, &N, &B, &U); }
axis(A) ::= LPAREN(T) SYMBOL(N) COLON NAME(B) RPAREN(U). { A = tsr_spec_based(p, &T, &N, &B, &U); }
axis(A) ::= sum(S).                                     { A = tsr_spec_sum_axis(p, S); }
axis(A) ::= concat(C).                                  { A = tsr_spec_concat_axis(p, NULL, C); }
axis(A) ::= NAME(N) COLON concat(C).                    { A = tsr_spec_concat_axis(p, &N, C); }

%type sum {tsr_spec_sum *}
sum(A) ::= product(P).                                  { A = tsr_spec_sum_add(p, NULL, NULL, &P); }
sum(A) ::= sum(S) PLUS(O) product(P).                   { A = tsr_spec_sum_add(p, S, &O, &P); }
sum(A) ::= sum(S) VALID(O) product(P).                  { A = tsr_spec_sum_add(p, S, &O, &P); }
sum(A) ::= sum(S) SAME(O) product(P).                   { A = tsr_spec_sum_add(p, S, &O, &P); }

%type product {tsr_spec_product}
product(A) ::= factor(F).                               { A = (tsr_spec_product){F, F, false}; }
product(A) ::= factor(C) TIMES factor(F).               { A = (tsr_spec_product){C, F, true}; }

factor(A) ::= NAME(T).                                  { A = T; }
factor(A) ::= INT(T).                                   { A = T; }
factor(A) ::= RUNTIME(T).                               { A = T; }
factor(A) ::= VALUE(T).                                 { A = T; }

%type concat {tsr_spec_components *}
concat(A) ::= component(L) CONCAT component(R).         { A = tsr_spec_component(p, tsr_spec_component(p, NULL, &L), &R); }
concat(A) ::= concat(L) CONCAT component(R).            { A = tsr_spec_component(p, L, &R); }
%type joint {tsr_spec_components *}
axis(A) ::= LPAREN(T) joint(C) RPAREN(U).               { A = tsr_spec_joint_axis(p, &T, C, &U); }
joint(A) ::= member(R).                                 { A = tsr_spec_component(p, NULL, &R); }
joint(A) ::= joint(L) COMMA member(R).                  { A = tsr_spec_component(p, L, &R); }
joint(A) ::= joint(L) member(R).                        { A = tsr_spec_member(p, L, &R); }
member(A) ::= NAME(T).                                  { A = T; }
member(A) ::= ROW(T).                                   { A = T; }
component(A) ::= NAME(T).                               { A = T; }
component(A) ::= INT(T).                                { A = T; }

%code {
void *tsr_spec_automaton_new(tsr_arena *a, tsr_spec_parser *p)
{
	yyParser *y = TSR_NEW(a, yyParser);
	tsr_spec_automatonInit(y, p);
	return y;
}
}
