/* Inside elab/: the state of one elaboration, and what its files ask of each other. */
#ifndef TSR_ELAB_STATE_H
#define TSR_ELAB_STATE_H
#include "elab.h"
#include "../base/text.h"
#include "../config/unknown.h"

/* An operation made by unop, binop or ternop. */
typedef struct tsr_definition tsr_definition;
typedef struct tsr_operation {
	uint32_t arity;
	const tsr_value *spec, *logic;   /* NULL where not given */
	tsr_value forward;
	const tsr_value *grad;           /* NULL: the result has no gradient */
	bool apart;                      /* a spec in which two operands meet is a mistake */
	TSR_VEC(tsr_definition *) kept;  /* what its definitions have given (definition.c) */
} tsr_operation;

typedef struct tsr_slot_names { tsr_name value, tensor, side, gradient; } tsr_slot_names;
/* Of the result, of operand 1, 2 ..; copies of a state share it, whichever of them adds to it. */
typedef struct tsr_slot_list { TSR_VEC(tsr_slot_names) v; } tsr_slot_list;

/* Operations among which the number of operands chooses. */
typedef struct tsr_overload { tsr_value list; } tsr_overload;

/* A captured label. */
typedef struct tsr_capture { const tsr_label *label; const tsr_store *store; tsr_name name; tsr_span span; tsr_tensor_id size; } tsr_capture;

/* The operation whose forward or gradient definition is being read: its slots are in scope. */
typedef struct tsr_slots {
	tsr_record_id record;
	tsr_tensor_id result;
	tsr_frame *frame;                /* intermediates by name */
	const tsr_env *env;              /* slots by name */
	uint32_t noperands;
	const tsr_value *operands;       /* as they were given: a number stays a number */
} tsr_slots;

/* What one declaration made in one instance. */
typedef struct tsr_minted { TSR_VEC(tsr_tensor_id) made; uint32_t next, round; } tsr_minted;

/* A top-level definition of a function, as `tsrc check` prints it. */
typedef struct tsr_defined { const tsr_ast *item; const tsr_env *env; tsr_name name; bool config; } tsr_defined;

/* Code that a top-level let%cd names. */
typedef struct tsr_named_code { tsr_name name; tsr_span span; tsr_codetree *tree; } tsr_named_code;

/* A `let` at the top level of the program itself, as taint.c sees it. */
typedef struct tsr_item {
	const tsr_ast *ast;
	tsr_tensor_id first;             /* the first tensor that it made, if it made any */
	uint32_t errors;
	TSR_VEC(uint32_t) mentions;      /* items */
	bool mistaken, tainted;
} tsr_item;

/* (e : "shape"), to be held against what is inferred */
typedef struct tsr_annotation { tsr_tensor_id tensor; tsr_span span; } tsr_annotation;

struct tsr_elab {
	tsr_compiler *tc;
	tsr_arena *arena;
	tsr_graph *g;
	tsr_eval *ev;
	struct tsr_modules *program;
	tsr_map *exports;                /* by module index: name -> tsr_value * */
	TSR_VEC(tsr_named_code) codes;
	TSR_VEC(tsr_item) items;
	tsr_map used;                    /* name -> tensor + 1: tensor names */
	tsr_map turns;                   /* name -> last number behind it */
	TSR_VEC(tsr_name) owners;        /* per tensor: the path that was being evaluated when it was made */
	tsr_map numbers;                 /* name -> number + 1 */
	tsr_map number_tensors;          /* number -> tensor + 1 */
	tsr_map code_ids, forward_ids;   /* tree -> code + 1; tensor -> code + 1 */
	TSR_VEC(tsr_codetree *) inits;
	tsr_slot_list *slot_names;       /* NULL until one is asked for */
	uint32_t frozen;                 /* > 0: results get no gradient */
	tsr_name random_key;             /* full name of the parameter that is being initialised, or NULL */
	uint32_t random_turn;
	tsr_slots *slots;
	struct tsr_share *share;         /* or NULL: every application is solved by itself */
	tsr_export *exported;            /* the exported function that is being read, or NULL */
	TSR_VEC(tsr_defined) functions;  /* of the main module */
	TSR_VEC(tsr_annotation) annotations;
	struct tsr_aside *aside;         /* while a function is elaborated that nobody has called, or NULL */
};
typedef struct tsr_elab tsr_elab;

static inline tsr_elab *tsr_elab_of(tsr_eval *ev) { return tsr_eval_elab(ev); }
static inline tsr_name tsr_elab_name(tsr_elab *el, const char *s) { return tsr_intern(el->tc->names, s); }

/* scheme.c */
/* A tensor by its id; while a function is looked at aside, tensors of the program are met as copies. */
tsr_tensor *tsr_aside_tensor(tsr_elab *el, tsr_tensor_id id);
static inline tsr_tensor *tsr_elab_tensor(tsr_elab *el, tsr_tensor_id id)
{
	return el->aside ? tsr_aside_tensor(el, id) : tsr_tensor_get(el->g, id);
}
/* A name in a frame of a definition; put back when it is put aside. */
void tsr_elab_put(tsr_elab *el, tsr_frame *frame, tsr_name name, tsr_value v);
/* What the declarations of an instance have made; aside, a copy of it that nobody else sees. */
tsr_map *tsr_aside_made(tsr_elab *el, tsr_instance *instance);
/* An unknown value as a tensor; a tensor of which nothing is known; an unknown number as a size. */
tsr_value tsr_aside_operand(tsr_elab *el, struct tsr_unknown *u, tsr_span span);
tsr_value tsr_aside_anything(tsr_elab *el, tsr_span span);
tsr_size tsr_aside_size(tsr_elab *el, const struct tsr_unknown *u, tsr_span span);
bool tsr_aside_suspect(tsr_eval *ev, tsr_value v);
/* Elaborates the function that `item` defines with arguments that are not known; true when that shows a mistake (reported). */
bool tsr_scheme_check(tsr_elab *el, const tsr_env *env, const tsr_ast *item, tsr_value f);

/* graph.c */
tsr_tensor *tsr_tensor_new(tsr_elab *el, tsr_tensor_kind kind, tsr_span span);
/* To be called when a leaf has its shape. */
void tsr_tensor_leaf(tsr_elab *el, tsr_tensor *t);
/* Among those whose shapes `tsrc check` prints. */
void tsr_tensor_show(tsr_elab *el, tsr_tensor *t);
tsr_record *tsr_record_new(tsr_elab *el, tsr_span span, uint32_t noperands);
/* Gives a name that no other tensor has: `name`, or it with a number behind. */
void tsr_tensor_set_name(tsr_elab *el, tsr_tensor *t, tsr_name name);
void tsr_tensor_drop_name(tsr_elab *el, tsr_tensor *t);
bool tsr_elab_name_taken(const tsr_elab *el, tsr_name name, tsr_tensor_id *by);
tsr_codetree *tsr_codetree_new(tsr_elab *el, tsr_code_kind kind, tsr_span span);
tsr_value tsr_code_value(tsr_codetree *c);
void tsr_elab_finish_names(tsr_elab *el);
tsr_row tsr_elab_row_empty(tsr_elab *el);

/* op.c */
extern const tsr_builtin tsr_op_builtins[];
extern const uint32_t tsr_op_nbuiltins;
/* A value as a tensor operand: numbers, runtime numbers, labels and lists of numbers are lifted; false after a report. */
const tsr_within *tsr_elab_within(tsr_elab *el);
bool tsr_elab_operand(tsr_elab *el, tsr_value v, tsr_span span, tsr_value *out);
void tsr_elab_capture(tsr_eval *ev, const tsr_env *env, tsr_value result, const tsr_ast *captures);

/* definition.c: fills t->op.forward and backward; false after a report.  The forward definition as one constant, where it is; or NULL. */
bool tsr_define(tsr_elab *el, tsr_operation *op, tsr_tensor *t, tsr_slots *s, tsr_span site);
tsr_rhs *tsr_define_alone(tsr_elab *el, const tsr_operation *op, const tsr_value *operands);

/* template.c: fills rule->logic and spec, and the record's runtime numbers, from `spec` or `logic` (NULL where not given). */
bool tsr_template_logic(tsr_elab *el, tsr_record *r, const tsr_value *spec, const tsr_value *logic, tsr_span at);
/* A spec string with its names replaced by their numbers. */
tsr_spec *tsr_template_spec(tsr_elab *el, tsr_record *r, tsr_value text, tsr_span at);
/* "b | i -> o" of an annotation as a shape of fresh axes, sizes and symbols; axes come back in memory order. */
typedef struct tsr_annotated { tsr_shape shape; uint32_t rank; const tsr_axis **axes; uint32_t *symbols; } tsr_annotated;
/* What a ?n stands for: a size that a file gives; one that a call of an exported function gives; whatever it meets, where
 * inside such a function it is the signature's. */
typedef enum { TSR_SYMBOLS_FILE, TSR_SYMBOLS_SIGNATURE, TSR_SYMBOLS_MET } tsr_symbols;
bool tsr_template_annotation(tsr_elab *el, tsr_value text, tsr_span at, tsr_symbols symbols, tsr_annotated *out);

/* cd.c, rhs.c */
tsr_value tsr_cd_assign(tsr_eval *ev, const tsr_env *env, const tsr_ast *e);
tsr_value tsr_cd_sequence(tsr_eval *ev, uint32_t n, const tsr_value *codes, tsr_span span);
tsr_value tsr_cd_comment(tsr_eval *ev, const tsr_env *env, const tsr_ast *e);
tsr_value tsr_cd_field(tsr_eval *ev, tsr_value v, tsr_name field, tsr_span span);
/* Right-hand side over slots; NULL after a report. */
tsr_rhs *tsr_rhs_slots(tsr_elab *el, const tsr_env *env, const tsr_ast *e);
tsr_rhs *tsr_rhs_const(tsr_elab *el, tsr_value number, tsr_span span);
tsr_rhs *tsr_rhs_operand(tsr_elab *el, tsr_operand o);
tsr_rhs *tsr_rhs_op(tsr_elab *el, tsr_op op, uint32_t n, tsr_rhs **args, tsr_span span);
bool tsr_rhs_primitive(const tsr_ast *e, tsr_op *op, uint32_t *n, const tsr_ast **args);
/* The slot that a name's prefix or suffix names: x_lhs, rhs1_x, x_all. */
bool tsr_slot_of_name(tsr_name name, int *slot);

/* asked.c: what elaboration asks of the store. Each of these emits; or, from the first application on, writes it down until tsr_share_solve.
 * Evaluation never looks at what is known of shapes. */
typedef struct tsr_share tsr_share;
tsr_share *tsr_share_new(tsr_elab *el, tsr_share_level level);
void tsr_share_enter(tsr_eval *ev, const tsr_ast *body);
void tsr_share_leave(tsr_eval *ev, tsr_value result);
/* All that was written down is solved; `complete`: nothing comes after it. tsr_share_waits: not yet, and the tensor's shape with it. */
void tsr_share_solve(tsr_elab *el, bool complete);
bool tsr_share_waits(const tsr_elab *el, const tsr_tensor *t);
/* The tensor gets a shape of which nothing is known. */
void tsr_elab_fresh(tsr_elab *el, tsr_tensor *t);
/* It is a leaf of the shape that it has; `called` in explanations, or NULL. */
void tsr_elab_leaf(tsr_elab *el, tsr_tensor *t, const char *called);
/* It has the shape that the other one has. */
void tsr_elab_alias(tsr_elab *el, tsr_tensor *t, const tsr_tensor *of);
/* The constraints of r->rule. */
void tsr_elab_emit(tsr_elab *el, tsr_record *r);
/* A shape, and the tensor that has it, TSR_NONE where none does. */
typedef struct tsr_shape_of { tsr_shape shape; tsr_tensor_id tensor; } tsr_shape_of;
void tsr_elab_equal(tsr_elab *el, tsr_tensor_id a, tsr_shape_of b, tsr_why why);
/* a = number; a = b; a = number * b. */
typedef enum { TSR_SHARE_SET, TSR_SHARE_SAME, TSR_SHARE_SCALE } tsr_share_fact;
void tsr_elab_relate(tsr_elab *el, tsr_share_fact fact, const tsr_label *a, const tsr_label *b, int64_t number, tsr_why why);
/* Something is made that no other application may have. */
void tsr_share_spoil(tsr_elab *el);

/* param.c */
tsr_value tsr_elab_declare(tsr_eval *ev, tsr_level level, const tsr_env *env, const tsr_ast *e);
/* o = [..]: a LIST of sizes, some with a basis. */
bool tsr_elab_axes(tsr_elab *el, const tsr_env *env, const tsr_ast *list, tsr_row *out);
tsr_dim tsr_elab_axis(tsr_elab *el, int64_t n, tsr_name basis);

/* named.c: parts of concatenated axes.  t.name, where `name` is no field; t.(name, axis = name). */
tsr_value tsr_elab_region(tsr_eval *ev, tsr_value v, tsr_name name, tsr_span span);
tsr_value tsr_elab_regions(tsr_eval *ev, tsr_value v, const tsr_ast *e);

/* literal.c */
tsr_value tsr_elab_literal(tsr_eval *ev, const tsr_env *env, const tsr_ast *e);
bool tsr_literal_of_list(tsr_elab *el, tsr_value list, tsr_span span, tsr_value *out);

/* terminal.c, file.c */
extern const tsr_builtin tsr_terminal_builtins[];
extern const uint32_t tsr_terminal_nbuiltins;
extern const tsr_builtin tsr_file_builtins[];
extern const uint32_t tsr_file_nbuiltins;
tsr_tensor_id tsr_number_tensor(tsr_elab *el, tsr_number_id n, tsr_span span);

/* terminal.c: the runtime number of this name; false when there is one of the other type (reported). */
bool tsr_number_named(tsr_elab *el, tsr_name name, bool integer, tsr_span span, tsr_value *out);

/* export.c: let%export of the program's own file. */
void tsr_elab_export(tsr_elab *el, const tsr_env *env, const tsr_ast *item);
/* `at` stands in the text of the exported function that is being read. */
bool tsr_export_around(const tsr_elab *el, tsr_span at);
/* The size ?n of its signature; in the signature itself a new one. TSR_NONE when it has none (reported). */
uint32_t tsr_export_symbol(tsr_elab *el, const tsr_axis *axis, tsr_symbols symbols);
/* elab.c: what was made since the mark takes the name, as after a let. */
void tsr_elab_named(tsr_eval *ev, tsr_name path, tsr_value v, uint32_t since);

/* names.c: reports every name of a top-level let that nothing binds. */
void tsr_elab_check_names(tsr_elab *el, const tsr_env *env, const tsr_ast *item);

/* taint.c: before a graph with mistakes is closed. False when nothing can be said of any of its shapes. */
bool tsr_elab_taint(tsr_graph *g);

/* prec.c */
void tsr_prec_infer(tsr_graph *g);
void tsr_prec_settle_code(tsr_graph *g, tsr_codetree *code);      /* of code that the graph gets afterwards */
/* extent.c: reports, and poisons, a closed tensor that no memory holds. */
void tsr_elab_check_extent(tsr_graph *g, tsr_tensor *t);
/* annotated.c: reports, and poisons, a closed result that its annotation stretches. */
void tsr_elab_check_annotations(tsr_graph *g);
/* advice.c: of a closed graph without mistakes. */
void tsr_elab_advise(tsr_graph *g);
tsr_prec tsr_tensor_grad_prec(const tsr_tensor *t);

/* Calls `visit` for every assignment of the graph: of operations, of code, of parameters' initialisation. */
typedef void (*tsr_assign_visit)(void *data, tsr_assign *a);
void tsr_graph_each_assign(tsr_graph *g, tsr_assign_visit visit, void *data);
void tsr_code_each_assign(tsr_codetree *c, tsr_assign_visit visit, void *data);
#endif
