/* What the actions of grammar/spec.y call.  Private to syntax/. */
#ifndef TSR_SYNTAX_SPEC_BUILD_H
#define TSR_SYNTAX_SPEC_BUILD_H
#include "lex.h"

typedef struct tsr_spec_token { int code; const char *text; uint32_t size; tsr_span span; } tsr_spec_token;

typedef struct tsr_spec_parser {
	tsr_compiler *tc;
	tsr_spec *spec;
	TSR_VEC(tsr_spec_slot) operands;
	bool annotation, long_names;
	bool failed;                 /* something was reported: the result is NULL */
} tsr_spec_parser;

/* A row while it is read. */
typedef struct tsr_spec_rowing {
	TSR_VEC(tsr_axis) lead, trail;
	bool has_var;
	tsr_spec_token var;
	bool after_axis, after_comma, empty;     /* what stands before the next part */
	tsr_span last;
} tsr_spec_rowing;

typedef struct tsr_spec_product { tsr_spec_token coef, factor; bool times; } tsr_spec_product;
/* Products and the mark before each: 0 for the first, then PLUS, VALID, SAME. */
typedef struct tsr_spec_sum { TSR_VEC(tsr_spec_product) parts; TSR_VEC(tsr_spec_token) marks; } tsr_spec_sum;
typedef TSR_VEC(tsr_component) tsr_spec_components;

int tsr_spec_scan(tsr_scanner *s, bool long_names);

void tsr_spec_result(tsr_spec_parser *p, const tsr_spec_token *gives, tsr_spec_slot *slot);
void tsr_spec_operand(tsr_spec_parser *p, tsr_spec_slot *slot);
tsr_spec_slot *tsr_spec_slot_of(tsr_spec_parser *p, tsr_spec_rowing *batch, tsr_spec_rowing *input, tsr_spec_rowing *output);
tsr_spec_rowing *tsr_spec_row_new(tsr_spec_parser *p);
tsr_spec_rowing *tsr_spec_row_comma(tsr_spec_parser *p, tsr_spec_rowing *r, const tsr_spec_token *t);
tsr_spec_rowing *tsr_spec_row_var(tsr_spec_parser *p, tsr_spec_rowing *r, const tsr_spec_token *t);
tsr_spec_rowing *tsr_spec_row_axis(tsr_spec_parser *p, tsr_spec_rowing *r, const tsr_axis *x);
tsr_axis tsr_spec_wild(tsr_spec_parser *p, const tsr_spec_token *t);
tsr_axis tsr_spec_symbol(tsr_spec_parser *p, const tsr_spec_token *t);
tsr_axis tsr_spec_based(tsr_spec_parser *p, const tsr_spec_token *open, const tsr_spec_token *size, const tsr_spec_token *basis,
                        const tsr_spec_token *close);
tsr_spec_sum *tsr_spec_sum_add(tsr_spec_parser *p, tsr_spec_sum *s, const tsr_spec_token *mark, const tsr_spec_product *part);
tsr_axis tsr_spec_sum_axis(tsr_spec_parser *p, tsr_spec_sum *s);
tsr_spec_components *tsr_spec_component(tsr_spec_parser *p, tsr_spec_components *list, const tsr_spec_token *t);
tsr_axis tsr_spec_concat_axis(tsr_spec_parser *p, const tsr_spec_token *name, tsr_spec_components *list);
/* A part of a joint axis that no comma separates from the one before it. */
tsr_spec_components *tsr_spec_member(tsr_spec_parser *p, tsr_spec_components *list, const tsr_spec_token *t);
tsr_axis tsr_spec_joint_axis(tsr_spec_parser *p, const tsr_spec_token *open, tsr_spec_components *list, const tsr_spec_token *close);
tsr_diag *tsr_spec_comma(tsr_spec_parser *p, tsr_span span);
void tsr_spec_unexpected(tsr_spec_parser *p, int code, const tsr_spec_token *t);
void tsr_spec_overflow(tsr_spec_parser *p);

/* A malformed spec: reports once per spec. Returns NULL when something was reported before. */
tsr_diag *tsr_spec_error(tsr_spec_parser *p, tsr_span span, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The name of the row variable that "..." is in a row of this kind. */
const char *tsr_spec_dots_name(tsr_kind kind);
tsr_name tsr_spec_name(tsr_spec_parser *p, const tsr_spec_token *t);
/* The number of an INT token, within what a size can be. */
int64_t tsr_spec_int(tsr_spec_parser *p, const tsr_spec_token *t);

/* The automaton, defined in grammar/spec.y. */
void *tsr_spec_automaton_new(tsr_arena *a, tsr_spec_parser *p);
void tsr_spec_automaton(void *automaton, int code, tsr_spec_token token);
#endif
