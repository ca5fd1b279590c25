/* Inside config/: the evaluator's state, and functions as they are kept. */
#ifndef TSR_CONFIG_EVAL_H
#define TSR_CONFIG_EVAL_H
#include "config.h"
#include "unknown.h"

/* An application that is being evaluated. */
typedef struct tsr_active {
	struct tsr_active *up;
	tsr_name name;               /* NULL for a nameless function */
	tsr_span site;
	const tsr_ast *body;
	tsr_name path, base;         /* path inside; path of the first application of a recursion */
	uint32_t turn;               /* 0, then 1, 2 ... in a recursion under one binding */
} tsr_active;

struct tsr_eval {
	tsr_compiler *tc;
	tsr_arena *arena;
	const tsr_hooks *hooks;
	void *elab;
	const tsr_env *root;
	tsr_name path;
	tsr_active *active;
	uint32_t depth;
	uint64_t steps;
	char *stack;                 /* where the outermost evaluation stood */
	bool exhausted;              /* depth or steps: reported, everything is poison until the outermost evaluation ends */
	struct tsr_guess *guess;     /* while a function is elaborated that nobody has called, or NULL */
	tsr_level level;             /* of the application that is being made, for builtins */
	const tsr_env *env;
};

typedef enum { TSR_FUNCTION_CLOSURE, TSR_FUNCTION_BUILTIN, TSR_FUNCTION_VARIADIC } tsr_function_kind;

typedef struct tsr_given { bool given; bool whole; tsr_value value; tsr_span span; } tsr_given;   /* whole: ?x:e, an option as it is */

struct tsr_function {
	tsr_function_kind kind;
	tsr_name name;
	uint32_t nparams;
	const tsr_param *params;
	tsr_given *given;            /* per parameter */
	tsr_level level;             /* CLOSURE */
	const tsr_ast *body;
	const tsr_env *env;
	bool definition;             /* made by a let with parameters */
	tsr_instance *instance;      /* made when the () parameter was given */
	tsr_builtin_fn fn;           /* BUILTIN, VARIADIC */
	bool unknown;                /* fn takes unknown values itself */
	void *data;
};

struct tsr_env {
	const tsr_env *up;
	enum { TSR_ENV_NAME, TSR_ENV_FRAME, TSR_ENV_TABLE } kind;
	uint32_t run;                /* NAME: it and so many names directly below it, less one */
	const tsr_map *index;        /* or NULL; name -> binding, of the names down to `past` */
	const tsr_env *past;
	union {
		struct { tsr_name name; tsr_value value; } bind;
		tsr_frame *frame;
		const tsr_map *table;
	};
};

/* Steps are what bounds time and memory, so whatever grows with its data takes as many: n of them are taken here. False when
 * there are no more; that is reported, once. */
bool tsr_eval_steps(tsr_eval *ev, uint64_t n, tsr_span at);
static inline uint64_t tsr_steps_of_items(uint64_t n) { return n / 8; }
static inline uint64_t tsr_steps_of_bytes(uint64_t n) { return n / 128; }

static inline tsr_name tsr_eval_name(tsr_eval *ev, const char *s) { return tsr_intern(ev->tc->names, s); }
/* A closure; `self` is the name that its own body knows it by (let rec), or NULL. */
tsr_value tsr_function_new(tsr_eval *ev, const tsr_env *env, tsr_level level, uint32_t n, const tsr_param *params,
                           const tsr_ast *body, tsr_name self);
/* The path "base.last". */
tsr_name tsr_path_join(tsr_eval *ev, tsr_name base, const char *last);
void tsr_eval_bind_library(tsr_eval *ev);
/* reduce_spec.c */
tsr_value tsr_builtin_reduce_spec(const tsr_call *call);
#endif
