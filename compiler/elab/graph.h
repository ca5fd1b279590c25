/* The tensor graph: what elaboration makes of a program.  Tensors, the rule and the assignments behind each, parameters,
 * pieces of code that the program level runs, runtime numbers.  Shapes are constraint terms until tsr_graph_close. */
#ifndef TSR_ELAB_GRAPH_H
#define TSR_ELAB_GRAPH_H
#include "../ops/ops.h"
#include "../shape/shape.h"

typedef uint32_t tsr_tensor_id;
typedef uint32_t tsr_record_id;
typedef uint32_t tsr_code_id;
typedef uint32_t tsr_number_id;
#define TSR_NONE UINT32_MAX

/* ---- tensors ------------------------------------------------------------------------------------------------------ */

typedef enum {
	TSR_TENSOR_OP,          /* result of an operation: forward and backward assignments */
	TSR_TENSOR_PARAM,       /* { w } of let%op: initialised once, before main */
	TSR_TENSOR_STATE,       /* { m } of let%cd: zero at the start, kept between runs */
	TSR_TENSOR_LITERAL,     /* constant data, exact shape */
	TSR_TENSOR_FILL,        /* one number at every position; a lifted number (shape of one claim-free axis) or `fill 1.` (open) */
	TSR_TENSOR_POSITIONS,   /* value = row-major offset of the position in the tensor (i32, i64 where asked) */
	TSR_TENSOR_RANDOM,      /* u32 random words, keyed by the tensor's full name and the seed */
	TSR_TENSOR_FILE,        /* data of a file, read when the executable starts */
	TSR_TENSOR_NUMBER,      /* a runtime number of the program level, as a scalar */
	TSR_TENSOR_SIZE,        /* an inferred size (dim h), as a scalar */
	TSR_TENSOR_INPUT        /* argument of an exported function */
} tsr_tensor_kind;

typedef struct tsr_data_file {
	tsr_name path;               /* as written; NULL when it is a program argument */
	int64_t argument;            /* position of the program argument, counted from 1, or 0 */
	const char *deflt;           /* path used when the argument is missing, or NULL */
	tsr_name key;                /* of an npz, or NULL */
	const char *format;          /* "npy" "npz" "csv" "text" "safetensors" */
	bool embed;                  /* data stored in the object */
	tsr_prec prec;
	uint32_t rank;               /* axes of the file in file order; dims[i] symbolic where the program wrote ?n */
	tsr_size *dims;
} tsr_data_file;

typedef struct tsr_tensor {
	tsr_tensor_id id;
	tsr_name name;               /* full binding path, unique: "net.hidden.w"; generated ones are "y.1" */
	tsr_span span;
	tsr_tensor_kind kind;
	tsr_prec prec;               /* of the value, after prec inference; a gradient has its value's precision, at least f32 */
	bool prec_fixed;             /* the user wrote it */
	tsr_shape shape;
	tsr_solved solved;           /* after tsr_graph_close */
	bool poison;                 /* an error touched it: nothing downstream reports it again */
	bool number_alone;           /* a number where it is used: its shape is written */
	bool differentiable;         /* has a gradient */
	bool shown;                  /* a parameter, or bound at the top level of the program: `tsrc check` prints its shape */
	union {
		struct {             /* OP */
			tsr_record_id record;
			struct tsr_assigns *forward, *backward;
			const char *op;      /* name of the operation for messages and dumps */
			bool apart;          /* no two operands may be read at one point */
		} op;
		struct { tsr_tensor_id init; } param;                        /* TSR_NONE: none needed (data given) */
		struct { tsr_numbers data; uint64_t count; bool integer; } literal;    /* in memory order; converted to prec when emitted */
		struct { tsr_scalar value; bool integer; } fill;             /* integer: written without a point */
		struct { tsr_name key; } random;                             /* name that keys the stream */
		tsr_data_file *file;
		struct { tsr_number_id number; } number;
		struct { const tsr_label *label; } size;
		struct { tsr_name name; } input;                             /* of the argument */
	};
} tsr_tensor;

/* What a tensor has at most: more elements than any machine has memory for, more axes than anybody names. */
#define TSR_MOST_ELEMENTS ((int64_t)1 << 44)
#define TSR_MOST_AXES 32

/* ---- records: one rule and the tensors in its slots ------------------------------------------------------------------
 * Every assignment reads its index maps from a record: an operation's own, or (for an assignment written outside an
 * operation) one of its own making.  Slot 0 is the left-hand side, 1.. the operands. */
typedef struct tsr_record {
	tsr_record_id id;
	tsr_rule rule;
	tsr_tensor_id *slots;        /* rule.noperands + 1 */
	uint32_t nnumbers;           /* runtime terms of the spec: name in the spec -> runtime number */
	struct { tsr_name name; tsr_number_id number; } *numbers;
	tsr_span span;
	bool open;                   /* the spec is not known: only in functions that nobody has called */
	tsr_span site;               /* the place in the program itself that led here, for what is found out when it runs */
} tsr_record;

/* ---- assignments --------------------------------------------------------------------------------------------------- */

typedef enum { TSR_PART_VALUE, TSR_PART_GRAD } tsr_part;
/* An intermediate { name_all } (an OP tensor without a record) is indexed by the whole iteration space of the record whose
 * code assigns it, one axis per loop: its shape in the graph is empty, its extents are those of the record's loops. */
#define TSR_SLOT_ALL    (-1)
#define TSR_SLOT_SCALAR (-2)     /* position 0 of a one-element tensor */

typedef struct tsr_operand { tsr_tensor_id tensor; tsr_part part; int slot; tsr_span span; } tsr_operand;

typedef enum { TSR_RHS_OPERAND, TSR_RHS_CONST, TSR_RHS_OP, TSR_RHS_CONVERT } tsr_rhs_kind;
typedef struct tsr_rhs tsr_rhs;
struct tsr_rhs {
	tsr_rhs_kind kind;
	tsr_span span;
	tsr_prec prec;               /* of the result; CONST: F32 unless an integer literal met integers */
	union {
		tsr_operand operand;
		tsr_scalar value;        /* CONST: a number before it has a precision */
		struct { tsr_op op; tsr_rhs *args[3]; tsr_prec operand_prec; } op;
		tsr_rhs *converted;
	};
};

/* target accum= rhs, over the iteration space of the record; `clear` is the ':' (neutral first). */
typedef struct tsr_assign {
	tsr_span span;
	tsr_operand target;
	tsr_acc acc;
	bool clear;
	tsr_rhs *rhs;
	tsr_record_id record;
} tsr_assign;

typedef struct tsr_assigns { TSR_VEC(tsr_assign) v; } tsr_assigns;

/* ---- code: what `run` runs ------------------------------------------------------------------------------------------ */

typedef enum {
	TSR_CODE_SEQ, TSR_CODE_ASSIGN,
	TSR_CODE_FORWARD,            /* values of a tensor, from its leaves */
	TSR_CODE_BACKPROP,           /* gradients of everything below a tensor, from the tensor's own gradient */
	TSR_CODE_ZERO_GRADS,         /* of everything below a tensor */
	TSR_CODE_FETCH,              /* random words of a RANDOM tensor are drawn */
	TSR_CODE_COMMENT             /* names the generated code of its body */
} tsr_code_kind;
typedef struct tsr_codetree tsr_codetree;
struct tsr_codetree {
	tsr_code_kind kind;
	tsr_span span;
	uint64_t steps;              /* as many as it holds, each time it stands somewhere: trees are shared */
	union {
		TSR_VEC(tsr_codetree *) seq;
		tsr_assign assign;
		tsr_tensor_id tensor;
		struct { const char *text; tsr_codetree *body; } comment;
	};
};

/* A piece of code with a name; `numbers` are the runtime numbers it reads. */
typedef struct tsr_codedef { tsr_code_id id; tsr_name name; tsr_span span; tsr_codetree *tree; } tsr_codedef;

typedef struct tsr_number { tsr_number_id id; tsr_name name; tsr_span span; bool integer; } tsr_number;

/* ---- exported functions: what C calls --------------------------------------------------------------------------------- */

/* An argument is a tensor, or a number that C passes by value; the other id is TSR_NONE. */
typedef struct tsr_export_arg { tsr_name name; tsr_span span; tsr_tensor_id tensor; tsr_number_id number; } tsr_export_arg;
typedef struct tsr_export_result { tsr_name name; tsr_tensor_id tensor; tsr_part part; } tsr_export_result;     /* name: NULL where it has none */

typedef struct tsr_export {
	tsr_name name;
	tsr_span span, at;                   /* all of it; its name */
	TSR_VEC(tsr_export_arg) args;
	TSR_VEC(uint32_t) symbols;           /* the ?n of the signature, each once, in the order of the text */
	TSR_VEC(tsr_export_result) results;  /* what C gets; empty for code and programs */
	tsr_code_id code;                    /* what a call runs; TSR_NONE where the body is a program */
	struct tsr_main *program;            /* its body and environment; NULL elsewhere */
	tsr_tensor_id from, to;              /* the tensors that the signature and the body made: from .. to - 1 */
} tsr_export;

/* ---- the graph ------------------------------------------------------------------------------------------------------ */

typedef struct tsr_graph {
	tsr_compiler *tc;
	tsr_store *store;
	TSR_VEC(tsr_tensor *) tensors;       /* in creation order: operands come before results */
	TSR_VEC(tsr_record *) records;
	TSR_VEC(tsr_codedef *) codes;
	TSR_VEC(tsr_number *) numbers;
	TSR_VEC(tsr_tensor_id) params;       /* in creation order; initialised in this order before main */
	bool settled;                        /* the precisions of all that is there */
	tsr_code_id init;                    /* code that initialises parameters */
	struct tsr_main *main;               /* let%main, for host/; NULL when the program has none */
	TSR_VEC(tsr_export *) exports;
	uint32_t file;                       /* the program's own source: where places are shown */
	TSR_VEC(tsr_tensor_id) shown;        /* named by a top-level let%op or let, and parameters: in source order, for `tsrc check` */
	struct tsr_elab *elab;               /* elab/'s own state */
} tsr_graph;

static inline tsr_tensor *tsr_tensor_get(const tsr_graph *g, tsr_tensor_id id) { return g->tensors.at[id]; }

/* Shapes and precisions of the finished graph; reports what fails. Poisoned tensors keep `poison`. */
bool tsr_graph_close(tsr_graph *g);
void tsr_graph_print(const tsr_graph *g, FILE *out);         /* --dump=graph */
void tsr_graph_check(const tsr_graph *g);
/* `tsrc check`: name : shape in spec notation, for every named tensor in source order; then the exported functions. */
void tsr_graph_print_shapes(const tsr_graph *g, FILE *out);
/* `tsrc check`: the functions of the program and how their shapes hang together; with `notes`, what was passed over. */
void tsr_graph_print_schemes(tsr_graph *g, FILE *out, FILE *notes);
#endif
