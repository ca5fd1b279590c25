/* Inside host/: the state of lowering let%main. */
#ifndef TSR_HOST_LOWER_H
#define TSR_HOST_LOWER_H
#include "host.h"

/* A name of the program level: a variable, innermost scope first. */
typedef struct tsr_hscope { struct tsr_hscope *up; tsr_name name; tsr_var_id var; bool ref; } tsr_hscope;

typedef struct tsr_hlower {
	tsr_graph *g;
	tsr_compiler *tc;
	tsr_arena *arena;
	tsr_host *host;
	const struct tsr_env *env;   /* the modules' names, behind every local one */
	uint32_t ntensors;           /* of the closed graph: the program level makes none */
	tsr_hscope *scope;
	tsr_hstmts *out;             /* statements of the block that is being lowered; expressions may add to it first */
	uint32_t depth;
} tsr_hlower;

/* What a name of the modules means here. */
typedef enum { TSR_REF_CONST, TSR_REF_TENSOR, TSR_REF_CODE, TSR_REF_NUMBER, TSR_REF_OTHER, TSR_REF_POISON } tsr_ref_kind;
typedef struct tsr_ref {
	tsr_ref_kind kind;
	tsr_hexpr *constant;
	tsr_tensor_id tensor; tsr_part part;
	tsr_codetree *code; tsr_name code_name;
	tsr_number_id number;
	const char *what;            /* OTHER: "a function", for messages */
} tsr_ref;
/* names.c: evaluates an expression of module names (a name, a field, an application) at the configuration level. */
tsr_ref tsr_host_resolve(tsr_hlower *l, tsr_ast *e);

/* build.c: constructors */
tsr_hexpr *tsr_hexpr_new(tsr_hlower *l, tsr_hexpr_kind kind, tsr_host_type type, tsr_span span);
tsr_hexpr *tsr_hexpr_int(tsr_hlower *l, int64_t v, tsr_span span);
tsr_hexpr *tsr_hexpr_string(tsr_hlower *l, const char *text, size_t size, tsr_span span);
tsr_hexpr *tsr_hexpr_var(tsr_hlower *l, tsr_var_id var, tsr_span span);
tsr_hexpr *tsr_hexpr_binary(tsr_hlower *l, tsr_host_op op, tsr_host_type type, tsr_hexpr *a, tsr_hexpr *b, tsr_span span);
tsr_hexpr *tsr_hexpr_call(tsr_hlower *l, tsr_hfun f, uint32_t n, tsr_hexpr **args, tsr_span span);
tsr_hstmt *tsr_hstmt_add(tsr_hlower *l, tsr_hstmt_kind kind, tsr_span span);
tsr_var_id tsr_host_var(tsr_hlower *l, tsr_host_type type);
/* `e` as `type`: int to float is free, anything else that differs is reported (`role`: "the condition"); NULL then. */
tsr_hexpr *tsr_hexpr_as(tsr_hlower *l, tsr_hexpr *e, tsr_host_type type, const char *role);

/* expr.c: NULL after an error (reported); an expression of type unit has been added as statements already. */
tsr_hexpr *tsr_host_expr(tsr_hlower *l, tsr_ast *e);
/* lower.c: a form that does something (let, a sequence, a loop, a store): its statements, then its value. */
tsr_hexpr *tsr_host_block_value(tsr_hlower *l, tsr_ast *e);
/* format.c: a string literal with its interpolations; `print` writes each part as it comes. */
tsr_hexpr *tsr_host_interpolate(tsr_hlower *l, tsr_ast *string);
void tsr_host_print_string(tsr_hlower *l, tsr_ast *string);
/* Prints one value as "{e}" would show it. */
void tsr_host_print_shown(tsr_hlower *l, tsr_ast *e);
/* lower.c: `e` for its effect; a block in a list of its own. */
void tsr_host_effect(tsr_hlower *l, tsr_ast *e);
tsr_hstmt *tsr_host_block(tsr_hlower *l, tsr_ast *e);
/* call.c: application of a function of the program level, or NULL with *known = false when `e` is none. */
tsr_hexpr *tsr_host_call(tsr_hlower *l, tsr_ast *e, bool *known);
void tsr_host_run(tsr_hlower *l, tsr_ast *e);
void tsr_host_print_value(tsr_hlower *l, tsr_ast *e);
/* export.c: the exported functions; what a program among them does is lowered with `l`. */
void tsr_host_exports(tsr_hlower *l);
/* element.c */
tsr_hexpr *tsr_host_element(tsr_hlower *l, tsr_ast *e);
#endif
