/* What the evaluator does with unknown values, private to config/. */
#ifndef TSR_CONFIG_GUESS_H
#define TSR_CONFIG_GUESS_H
#include "eval.h"

/* One of n ways, the one numbered `first` first; the same for all questions of the same text. */
uint32_t tsr_guess_choose(tsr_eval *ev, tsr_choice_kind kind, const char *what, uint64_t from, uint32_t n, uint32_t first);
/* 1, 0, or -1 where this attempt is void. */
int tsr_guess_condition(tsr_eval *ev, tsr_value v);
/* The case of a `match` on what is not known, and what its pattern binds; NULL where *v is a list from here on, or poison. */
const tsr_case *tsr_guess_case(tsr_eval *ev, const tsr_ast *match, tsr_value *v, const tsr_env **env);
/* The turns of a loop to where is not known: one. */
bool tsr_guess_range(tsr_eval *ev, tsr_span span, tsr_value over, tsr_value *out);
/* Nothing more is evaluated in this attempt: it is void, or went too far. */
bool tsr_guess_over(tsr_eval *ev, bool deep, tsr_span span);
/* An operator of the configuration level, one of whose operands is unknown; false where the operator is one on tensors. */
bool tsr_unknown_binary(tsr_eval *ev, tsr_level level, tsr_name op, tsr_value a, tsr_value b, tsr_value *out);
bool tsr_unknown_unary(tsr_eval *ev, tsr_level level, tsr_name op, tsr_value a, tsr_value *out);
/* A spec that is not known: x ++ spec. */
bool tsr_unknown_spec(tsr_eval *ev, tsr_name op, tsr_value a, tsr_value b);
tsr_value tsr_unknown_part(tsr_eval *ev, const tsr_unknown *u, tsr_unknown_kind kind, const char *part);
/* Lists that are wanted where unknown values stand; then whether an argument is still unknown. */
bool tsr_unknown_among(const tsr_call *c, const tsr_value **args, const tsr_param *params);
tsr_value tsr_unknown_builtin(const tsr_call *c);
tsr_value tsr_unknown_applied(tsr_eval *ev, tsr_value f, uint32_t n, const tsr_actual *args);
#endif
