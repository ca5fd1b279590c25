/* What the grammar's actions call: one constructor per production.  Private to syntax/.
 *
 * Spans: a node's span covers what was written, parentheses included; so a node that was parenthesised begins before
 * its first part, and tsr_b_wrapped() can tell `a +* (f "x")` from `a +* f "x"`. */
#ifndef TSR_SYNTAX_BUILD_H
#define TSR_SYNTAX_BUILD_H
#include "lex.h"

typedef TSR_VEC(tsr_param) tsr_params;
typedef TSR_VEC(tsr_arg) tsr_args;
typedef TSR_VEC(tsr_case) tsr_cases;
typedef struct tsr_lhs { tsr_pat *pat; tsr_params *params; } tsr_lhs;

typedef struct tsr_parser {
	tsr_compiler *tc;
	tsr_module_ast *module;
	tsr_ast *expression;         /* the result of JUST_EXPRESSION */
} tsr_parser;

/* items */
void tsr_b_expression(tsr_parser *p, tsr_ast *e);
void tsr_b_item(tsr_parser *p, tsr_ast *item);
tsr_ast *tsr_b_let(tsr_parser *p, const tsr_token *let, bool rec, tsr_lhs *lhs, tsr_ast *value, tsr_ast *body);
tsr_ast *tsr_b_export(tsr_parser *p, const tsr_token *let, const tsr_token *name, tsr_params *params, tsr_ast *body);
tsr_ast *tsr_b_open(tsr_parser *p, const tsr_token *open, const tsr_token *name);
tsr_lhs *tsr_b_lhs(tsr_parser *p, tsr_pat *pat, tsr_params *params);

/* parameters */
tsr_params *tsr_b_params(tsr_parser *p, tsr_params *list, const tsr_param *one);
tsr_param tsr_b_param_plain(tsr_parser *p, tsr_pat *pat);
tsr_param tsr_b_param_typed(tsr_parser *p, const tsr_token *open, tsr_pat *pat, const tsr_param *ann, const tsr_token *close);
tsr_param tsr_b_param_named(tsr_parser *p, const tsr_token *label, tsr_pat *pat, tsr_ast *deflt);
tsr_param tsr_b_param_option(tsr_parser *p, const tsr_token *open, const tsr_token *name, tsr_ast *deflt, const tsr_token *close);
tsr_param tsr_b_param_label(tsr_parser *p, const tsr_token *open, const tsr_token *name, const tsr_param *ann, const tsr_token *close);
tsr_param tsr_b_annotation(tsr_parser *p, const tsr_token *text, const tsr_token *prec);

/* patterns */
tsr_pat *tsr_b_pat(tsr_parser *p, tsr_pat_kind kind, tsr_span span);
tsr_pat *tsr_b_pat_add(tsr_parser *p, tsr_pat *list, tsr_pat *item);
tsr_pat *tsr_b_pat_close(tsr_parser *p, const tsr_token *open, tsr_pat *list, const tsr_token *close);
tsr_pat *tsr_b_pat_two(tsr_parser *p, tsr_pat_kind kind, tsr_pat *left, const tsr_token *op, tsr_pat *right);
tsr_pat *tsr_b_pat_some(tsr_parser *p, const tsr_token *some, tsr_pat *item);
tsr_pat *tsr_b_pat_name(tsr_parser *p, const tsr_token *name);
tsr_pat *tsr_b_pat_int(tsr_parser *p, const tsr_token *minus, const tsr_token *digits);
tsr_pat *tsr_b_pat_bool(tsr_parser *p, const tsr_token *t);
tsr_pat *tsr_b_pat_string(tsr_parser *p, const tsr_token *t);

/* leaves */
tsr_ast *tsr_b_int(tsr_parser *p, const tsr_token *t);
tsr_ast *tsr_b_float(tsr_parser *p, const tsr_token *t);
tsr_ast *tsr_b_bool(tsr_parser *p, const tsr_token *t);
tsr_ast *tsr_b_string(tsr_parser *p, const tsr_token *t);
tsr_ast *tsr_b_name(tsr_parser *p, const tsr_token *qualifier, const tsr_token *name);
tsr_ast *tsr_b_unit(tsr_parser *p, const tsr_token *open, const tsr_token *close);

/* sequences, tuples, literals */
tsr_ast *tsr_b_list(tsr_parser *p, tsr_ast_kind kind, tsr_ast *list, tsr_ast *item);    /* list NULL: a new one */
tsr_ast *tsr_b_seq(tsr_parser *p, tsr_ast *list);                                       /* one item is itself */
tsr_ast *tsr_b_items(tsr_parser *p, tsr_ast_kind kind, const tsr_token *open, tsr_ast *list, const tsr_token *close);
tsr_ast *tsr_b_close(tsr_parser *p, const tsr_token *open, tsr_ast *e, const tsr_token *close);
tsr_ast *tsr_b_tagged(tsr_parser *p, tsr_ast *e, const tsr_token *tag);
tsr_ast *tsr_b_decl(tsr_parser *p, const tsr_token *name, tsr_ast *init, const tsr_token *prec);
tsr_ast *tsr_b_decl_axes(tsr_parser *p, tsr_ast *decl, const tsr_token *kind, tsr_ast *axes);
tsr_ast *tsr_b_note(tsr_parser *p, const tsr_token *open, tsr_ast *body, const tsr_token *close);

/* functions and control */
tsr_ast *tsr_b_fun(tsr_parser *p, const tsr_token *fun, tsr_params *params, tsr_ast *body);
tsr_ast *tsr_b_function(tsr_parser *p, const tsr_token *t, tsr_cases *cases);
tsr_ast *tsr_b_match(tsr_parser *p, const tsr_token *t, tsr_ast *subject, tsr_cases *cases);
tsr_cases *tsr_b_cases(tsr_parser *p, tsr_cases *list, const tsr_case *one);
tsr_ast *tsr_b_if(tsr_parser *p, const tsr_token *t, tsr_ast *cond, tsr_ast *then, tsr_ast *other);
/* for pat = from to|downto last; or, with `from` and `dir` NULL, for pat in last. */
tsr_ast *tsr_b_for(tsr_parser *p, const tsr_token *t, tsr_pat *pat, tsr_ast *from, const tsr_token *dir, tsr_ast *last,
                   tsr_ast *body, const tsr_token *done);
tsr_ast *tsr_b_while(tsr_parser *p, const tsr_token *t, tsr_ast *cond, tsr_ast *body, const tsr_token *done);

/* application and operators */
tsr_args *tsr_b_args(tsr_parser *p, tsr_args *list, const tsr_arg *one);
tsr_arg tsr_b_arg(tsr_parser *p, const tsr_token *label, tsr_ast *value);
tsr_ast *tsr_b_apply(tsr_parser *p, tsr_ast *fn, tsr_args *args);
tsr_ast *tsr_b_field(tsr_parser *p, tsr_ast *e, const tsr_token *name);
tsr_ast *tsr_b_index(tsr_parser *p, tsr_ast *e, tsr_ast *indices, const tsr_token *close);
tsr_ast *tsr_b_unary(tsr_parser *p, const tsr_token *op, tsr_ast *e);
tsr_ast *tsr_b_binary(tsr_parser *p, tsr_ast *left, const tsr_token *op, tsr_ast *right);
tsr_ast *tsr_b_assign(tsr_parser *p, tsr_ast *target, const tsr_token *op, tsr_ast *value);
tsr_ast *tsr_b_store(tsr_parser *p, tsr_ast *target, const tsr_token *op, tsr_ast *value);
tsr_ast *tsr_b_setref(tsr_parser *p, tsr_ast *target, const tsr_token *op, tsr_ast *value);

/* shared by the constructors */
tsr_ast *tsr_b_node(tsr_parser *p, tsr_ast_kind kind, tsr_span span, tsr_span at);
tsr_name tsr_b_token_name(tsr_parser *p, const tsr_token *t);
/* Whether the node stands in parentheses (or begin .. end) of its own. */
bool tsr_b_wrapped(const tsr_ast *e);
/* What the operator `op` takes besides its operands. */
typedef enum { TSR_TAKES_NOTHING, TSR_TAKES_SPEC_UNARY, TSR_TAKES_SPEC_BINARY } tsr_takes;
tsr_takes tsr_op_takes(tsr_name op);

/* The parser's automaton: defined at the end of grammar/tessera.y. */
void *tsr_tessera_new(tsr_arena *a, tsr_parser *p);
void tsr_tessera_reset(void *parser, tsr_parser *p);
void tsr_tessera(void *parser, int code, tsr_token token);
int tsr_tessera_accepts(const void *parser, int code, unsigned short *scratch);
int tsr_tessera_room(const void *parser);

/* expected.c: the words of a syntax error. `tokens.at[i]` cannot stand where it does. */
typedef struct tsr_opener { int code; uint32_t token; } tsr_opener;      /* what waits for its closing word */
typedef TSR_VEC(tsr_opener) tsr_openers;
void tsr_syntax_error(tsr_compiler *tc, const tsr_tokens *tokens, uint32_t i, const bool *expected, const tsr_openers *open);

/* An expression that begins at the beginning of a line and would continue the definition before it. */
void tsr_line_error(tsr_compiler *tc, const tsr_token *t);

/* placed.c: what the grammar cannot say about an item's tree (assignments where a value is needed, operators without
 * their spec, depth).  Returns the item, or what replaces it. */
tsr_ast *tsr_placed(tsr_compiler *tc, tsr_ast *item);
#endif
