/* The configuration level: what runs while compiling.  Values, names, evaluation, application.
 *
 * One evaluator walks the syntax of all levels; the level says what a literal is and what an operator means.  Whatever
 * touches tensors or code is not decided here: an operator on a tensor is an ordinary name that is looked up and applied,
 * and literals, declarations and assignments are handed to the hooks that elab/ installs.  So this room knows no graph:
 * tensors, runtime numbers and labels are ids and pointers that only elab/ reads.
 *
 * Mistakes are reported where they are found and the value is poison; whoever meets poison reports nothing and gives
 * poison. */
#ifndef TSR_CONFIG_CONFIG_H
#define TSR_CONFIG_CONFIG_H
#include "../base/map.h"
#include "../ops/ops.h"
#include "../syntax/ast.h"

typedef struct tsr_eval tsr_eval;            /* the evaluator: one per elaboration */
typedef struct tsr_env tsr_env;              /* names in scope; immutable, grows by tsr_env_bind */
typedef struct tsr_function tsr_function;    /* closure, builtin, or a partial application of one */

/* ---- values ----------------------------------------------------------------------------------------------------- */

typedef enum {
	TSR_VALUE_POISON,
	TSR_VALUE_UNIT, TSR_VALUE_INT, TSR_VALUE_FLOAT, TSR_VALUE_BOOL, TSR_VALUE_STRING,
	TSR_VALUE_LIST, TSR_VALUE_TUPLE,
	TSR_VALUE_OPTION,        /* None: no items, Some x: one */
	TSR_VALUE_FUNCTION,
	TSR_VALUE_TENSOR,        /* t, or with part = TSR_PART_GRAD its gradient: t.grad */
	TSR_VALUE_CODE,          /* what `run` runs; a unit is code that does nothing */
	TSR_VALUE_NUMBER,        /* a runtime number: index "i", number "x" */
	TSR_VALUE_LABEL,         /* a captured label: [h] */
	TSR_VALUE_ARGUMENT,      /* a string given when the program starts: argument 1 */
	TSR_VALUE_UNKNOWN        /* what an argument would give, in a function that nobody has called: unknown.h */
} tsr_value_kind;

/* Where a string literal stands and what it sees: specs are parsed late, but their names mean what they mean there. */
typedef struct tsr_origin { tsr_span span; const tsr_env *env; } tsr_origin;

#define TSR_NO_SLOT INT32_MIN

typedef struct tsr_value tsr_value;
struct tsr_value {
	tsr_value_kind kind;
	union {
		int64_t integer;                                             /* INT, BOOL */
		double real;
		struct { const char *text; const tsr_origin *origin; } string;   /* origin NULL: computed */
		struct { uint32_t n; tsr_value *at; } items;                 /* LIST, TUPLE, OPTION */
		tsr_function *function;
		/* id and part are elab's tsr_tensor_id and tsr_part; slot is TSR_NO_SLOT except for the slots of a forward or
		 * gradient definition. */
		struct { uint32_t id; uint8_t part; int32_t slot; } tensor;
		struct tsr_codetree *code;
		uint32_t number;                                             /* tsr_number_id */
		struct tsr_capture *label;                                   /* elab/ */
		struct { int64_t position; const char *deflt; } argument;    /* position from 1; deflt NULL: none */
		struct tsr_unknown *unknown;
	};
};

typedef TSR_VEC(tsr_value) tsr_values;

#define TSR_POISON ((tsr_value){.kind = TSR_VALUE_POISON})
#define TSR_UNIT   ((tsr_value){.kind = TSR_VALUE_UNIT})
tsr_value tsr_value_int(int64_t i);
tsr_value tsr_value_float(double x);
tsr_value tsr_value_bool(bool b);
tsr_value tsr_value_string(const char *text);
tsr_value tsr_value_list(uint32_t n, tsr_value *items);
tsr_value tsr_value_some(tsr_arena *a, tsr_value x);
tsr_value tsr_value_none(void);
tsr_value tsr_value_tensor(uint32_t id);

static inline bool tsr_value_is_poison(tsr_value v) { return v.kind == TSR_VALUE_POISON; }
static inline bool tsr_value_is_number(tsr_value v) { return v.kind == TSR_VALUE_INT || v.kind == TSR_VALUE_FLOAT; }
/* As it was written; a bool is 0 or 1. */
static inline tsr_scalar tsr_value_scalar(tsr_value v) { return v.kind == TSR_VALUE_FLOAT ? tsr_number_real(v.real) : tsr_number_whole(v.integer); }
static inline double tsr_value_number(tsr_value v) { return v.kind == TSR_VALUE_INT ? (double)v.integer : v.real; }
/* "an int", "a tensor": for messages. */
const char *tsr_value_kind_name(tsr_value v);
/* As it would be written: [1; 2]; functions and tensors as <fun f>, <tensor>. */
const char *tsr_value_str(tsr_arena *a, tsr_value v);
/* Structural; false for values that cannot be compared (functions, tensors). Each part that is looked at takes one of *left;
 * when none is left (the parts of a value may be shared, and so be many) the answer means nothing. */
bool tsr_value_equal(tsr_value a, tsr_value b, uint64_t *left);

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* A frame belongs to a definition or to one application of it: captured labels and declared tensors get their names
 * here, behind the lexical names inside it and before those around it. */
typedef struct tsr_frame {
	tsr_map names;                   /* name -> tsr_value * */
	struct tsr_instance *instance;   /* whose declarations these are, NULL: of an operation's slots; the frame of an application shares it */
	bool application;
} tsr_frame;

/* A definition's `()` application, a top-level definition, or one application of a code function: where declarations
 * are made, once.  While it is open each evaluation of a declaration makes a new tensor; later applications of what it gave
 * find the same ones again, the k-th evaluation in a round the k-th tensor. */
typedef struct tsr_instance {
	tsr_name path;                   /* "net.hidden" */
	tsr_map made;                    /* declaration (tsr_ast *) -> elab's record of what it made */
	bool open;
	uint32_t round;
	tsr_span again;                  /* the `()` that made it, or what it is inside of, in a later application of the function around it */
} tsr_instance;

tsr_env *tsr_env_bind(tsr_arena *a, const tsr_env *up, tsr_name name, tsr_value value);
tsr_env *tsr_env_frame(tsr_arena *a, const tsr_env *up, tsr_frame *frame);
/* All names of a table (name -> tsr_value *): an opened module. */
tsr_env *tsr_env_table(tsr_arena *a, const tsr_env *up, const tsr_map *table);
bool tsr_env_lookup(const tsr_env *env, tsr_name name, tsr_value *out);
/* The innermost frame, or NULL outside definitions. */
tsr_frame *tsr_env_nearest_frame(const tsr_env *env);
tsr_frame *tsr_frame_new(tsr_arena *a, tsr_instance *instance, bool application);
tsr_instance *tsr_instance_new(tsr_eval *ev, tsr_name path);
/* How many there are. */
void tsr_frame_put(tsr_arena *a, tsr_frame *f, tsr_name name, tsr_value v);
/* The name in scope that is spelt most like `name`, or NULL. */
tsr_name tsr_env_nearest(const tsr_env *env, tsr_name name);

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

/* The value of `e`; at the op level numbers stay numbers until an operation on tensors receives them. */
tsr_value tsr_evaluate(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e);
/* The value that a `let` binds (the pattern is not matched); e is a LET. */
tsr_value tsr_evaluate_let(tsr_eval *ev, tsr_level around, const tsr_env *env, const tsr_ast *e);
/* A name, possibly qualified; unknown ones are reported with the nearest name as a hint. */
tsr_value tsr_resolve(tsr_eval *ev, const tsr_env *env, tsr_name qualifier, tsr_name name, tsr_span span);

/* An actual argument. */
typedef struct tsr_actual { tsr_arg_kind kind; tsr_name label; tsr_value value; tsr_span span, label_span; } tsr_actual;
/* f applied: what is missing gives a partial application, what is left over is applied to the result. */
tsr_value tsr_apply(tsr_eval *ev, tsr_value f, uint32_t nargs, const tsr_actual *args, tsr_span site);
/* f applied to plain arguments. */
tsr_value tsr_apply_values(tsr_eval *ev, tsr_value f, uint32_t n, const tsr_value *args, tsr_span site);

/* Binds the names of `pat` to the parts of `v`; NULL when it does not match (nothing is reported). */
const tsr_env *tsr_match(tsr_eval *ev, const tsr_env *env, const tsr_pat *pat, tsr_value v);

/* Configuration arithmetic on numbers, bools, strings and lists: false when an operand is something else or the operator
 * has no such meaning (nothing reported); reports division by zero and the like. */
bool tsr_config_binary(tsr_eval *ev, tsr_name op, tsr_value a, tsr_value b, tsr_span at, tsr_value *out);

/* A bound is reached: "`what`; it stood here", once, and all that is evaluated from here on is poison. */
void tsr_eval_exhaust(tsr_eval *ev, tsr_span at, const char *what);
/* A report with the applications that led here as notes. */
/* The applications that are being evaluated, innermost first; those of nameless functions are left out. Returns their number. */
uint32_t tsr_eval_active(const tsr_eval *ev, uint32_t most, tsr_name *names, tsr_span *sites);
tsr_diag *tsr_eval_report(tsr_eval *ev, tsr_diag_code code, tsr_span span, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* "expected a list, this is an int": reports unless v is poison; always gives poison. */
tsr_value tsr_eval_type_error(tsr_eval *ev, tsr_span span, const char *wanted, tsr_value v);

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* A builtin's arguments, in the order of its parameters; an optional one that is not given is NULL. */
typedef struct tsr_call {
	tsr_eval *ev;
	tsr_level level;                 /* of the place of application */
	const tsr_env *env;              /* there */
	tsr_span site;
	tsr_name name;                   /* of the builtin, for messages */
	uint32_t n;
	const tsr_value *const *args;
	const tsr_span *spans;
	void *data;
} tsr_call;
typedef tsr_value (*tsr_builtin_fn)(const tsr_call *call);

/* A row of a table of builtins.  params: "x ?spec ~forward ()": plain, optional, labelled, unit; after a `!` the builtin takes
 * unknown values itself (unknown.h), and what the others give for them is unknown. */
typedef struct tsr_builtin { const char *name, *params; tsr_builtin_fn fn; } tsr_builtin;
tsr_value tsr_function_builtin(tsr_eval *ev, const tsr_builtin *b, void *data);
/* An operation: applied to as many plain arguments as one application has left, with ~spec and ~logic where given
 * (args[0], args[1], then the operands). */
tsr_value tsr_function_operation(tsr_eval *ev, tsr_name name, tsr_builtin_fn fn, uint32_t arity, void *data);
/* The data of an operation made with `fn`, or NULL. */
void *tsr_function_data(tsr_value f, tsr_builtin_fn fn);
/* "a function that still takes ~lr": for messages. */
const char *tsr_function_describe(tsr_arena *a, tsr_value f);
/* A function with no name of its own gets the name of the let that binds it. */
void tsr_function_name(tsr_value f, tsr_name name);
/* The body and environment of a closure, for forward and gradient definitions; false for anything else. */
bool tsr_function_closure(tsr_value f, const tsr_ast **body, const tsr_env **env, tsr_level *level);

/* ---- the evaluator ------------------------------------------------------------------------------------------------ */

/* What elab/ decides. Each gets the evaluator, the level and the environment of the place. */
typedef struct tsr_hooks {
	/* LIST, TUPLE or ARRAY at the op level, or a TAGGED one; may give a configuration list when its leaves are no tensors. */
	tsr_value (*literal)(tsr_eval *ev, const tsr_env *env, const tsr_ast *e);
	tsr_value (*declare)(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e);
	tsr_value (*assign)(tsr_eval *ev, const tsr_env *env, const tsr_ast *e);
	tsr_value (*sequence)(tsr_eval *ev, uint32_t n, const tsr_value *codes, tsr_span span);
	tsr_value (*comment)(tsr_eval *ev, const tsr_env *env, const tsr_ast *e);
	tsr_value (*field)(tsr_eval *ev, tsr_value v, tsr_name field, tsr_span span);
	/* v.(row = top, left) outside the program level; e is the INDEX. */
	tsr_value (*region)(tsr_eval *ev, tsr_value v, const tsr_ast *e);
	/* After an operator with a spec: its captures get names in the frame of the place. */
	void (*capture)(tsr_eval *ev, const tsr_env *env, tsr_value result, const tsr_ast *captures);
	/* After a let: what was made since the mark takes the path as its name. */
	uint32_t (*mark)(tsr_eval *ev);
	void (*named)(tsr_eval *ev, tsr_name path, tsr_value v, uint32_t since);
	/* Around the body of every function that is applied. */
	void (*enter)(tsr_eval *ev, const tsr_ast *body);
	void (*leave)(tsr_eval *ev, tsr_value result);
	/* The unknown values that tensor v was computed from are demanded as configuration (unknown.h); true when there are any. */
	bool (*suspect)(tsr_eval *ev, tsr_value v);
	/* A module's table of names, for Nn.layer_norm; NULL when there is none (reported). */
	const tsr_map *(*module)(tsr_eval *ev, tsr_name qualifier, tsr_span span);
} tsr_hooks;

tsr_eval *tsr_eval_new(tsr_compiler *tc, const tsr_hooks *hooks, void *elab);
void *tsr_eval_elab(tsr_eval *ev);
tsr_compiler *tsr_eval_compiler(tsr_eval *ev);
/* The root environment: library functions on numbers, lists, options; add elab's own by tsr_builtin_bind. */
const tsr_env *tsr_eval_root(tsr_eval *ev);
void tsr_eval_add_builtins(tsr_eval *ev, uint32_t n, const tsr_builtin *table);
/* Path of let-bindings that are being evaluated ("net.hidden"), NULL at the outermost level. */
tsr_name tsr_eval_path(tsr_eval *ev);
tsr_name tsr_eval_push_path(tsr_eval *ev, tsr_name last);    /* gives the old path, for tsr_eval_set_path */
void tsr_eval_set_path(tsr_eval *ev, tsr_name path);
/* The innermost place in `file` among `site` and the applications that are under way; `site` where there is none. */
tsr_span tsr_eval_site_in(const tsr_eval *ev, uint32_t file, tsr_span site);
#endif
