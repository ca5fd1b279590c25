/* The program level as an IR: let%main lowered to typed statements over scalars, strings, tensor elements and runs of
 * code, ready to be emitted (llvm/host.c) or interpreted (host/interp.c). */
#ifndef TSR_HOST_HOST_H
#define TSR_HOST_HOST_H
#include "../elab/elab.h"
#include "../loop/loop.h"

typedef enum { TSR_HOST_UNIT, TSR_HOST_BOOL, TSR_HOST_INT, TSR_HOST_FLOAT, TSR_HOST_STRING } tsr_host_type;
typedef uint32_t tsr_var_id;

/* The functions that H_CALL calls. */
typedef enum {
#define TSR_HFUN(name, text, symbol, result, params, passing) TSR_HFUN_##name,
#include "host.def"
	TSR_HFUNS
} tsr_hfun;
typedef struct tsr_hfun_info { const char *name, *symbol, *result, *params, *passing; } tsr_hfun_info;
const tsr_hfun_info *tsr_hfun_get(tsr_hfun f);
tsr_host_type tsr_host_type_of_letter(char c);
const char *tsr_host_type_name(tsr_host_type t);
typedef enum {
	TSR_H_INT, TSR_H_FLOAT, TSR_H_BOOL, TSR_H_STRING,    /* constants */
	TSR_H_VAR,                                           /* a variable (let or ref) */
	TSR_H_UNARY, TSR_H_BINARY,                           /* arithmetic, comparison, && || (short-circuit) on equal types */
	TSR_H_TO_FLOAT, TSR_H_TO_INT,
	TSR_H_ELEMENT,                                       /* t.(i, j), t.grad.(i): bounds checked */
	TSR_H_SIZE,                                          /* a run-time size */
	TSR_H_NUMBER,                                        /* a runtime number as it stands: an argument of an exported function */
	TSR_H_CALL,                                          /* runtime function of host.def: arguments, draws, time, string building */
	TSR_H_COND                                           /* if as an expression */
} tsr_hexpr_kind;

typedef enum {
	TSR_H_SET, TSR_H_IF, TSR_H_WHILE, TSR_H_FOR, TSR_H_RUN, TSR_H_STORE, TSR_H_DO, TSR_H_PRINT_TENSOR, TSR_H_SEQ
} tsr_hstmt_kind;

typedef struct tsr_hexpr tsr_hexpr;
typedef struct tsr_hstmt tsr_hstmt;
typedef TSR_VEC(tsr_hexpr *) tsr_hexprs;
typedef TSR_VEC(tsr_hstmt *) tsr_hstmts;

typedef enum {
	TSR_HOP_NEG, TSR_HOP_NOT, TSR_HOP_ADD, TSR_HOP_SUB, TSR_HOP_MUL, TSR_HOP_DIV, TSR_HOP_IDIV, TSR_HOP_MOD, TSR_HOP_POW,
	TSR_HOP_LT, TSR_HOP_LE, TSR_HOP_GT, TSR_HOP_GE, TSR_HOP_EQ, TSR_HOP_NE, TSR_HOP_AND, TSR_HOP_OR, TSR_HOP_CONCAT
} tsr_host_op;

const char *tsr_host_op_text(tsr_host_op op);

struct tsr_hexpr {
	tsr_hexpr_kind kind;
	tsr_host_type type;
	tsr_span span;
	union {
		int64_t integer; double real; struct { const char *text; size_t size; } string;
		tsr_var_id var;
		struct { tsr_host_op op; tsr_hexpr *a, *b; } op;
		tsr_hexpr *converted;
		struct { tsr_tensor_id tensor; tsr_part part; tsr_hexprs indices; } element;   /* indices in memory order; one index on a one-element tensor */
		tsr_size size;
		tsr_number_id number;
		struct { tsr_hfun function; tsr_hexprs args; } call;
		struct { tsr_hexpr *cond, *then, *other; } cond;
	};
};

struct tsr_hstmt {
	tsr_hstmt_kind kind;
	tsr_span span;
	union {
		struct { tsr_var_id var; tsr_hexpr *value; } set;
		struct { tsr_hexpr *cond; tsr_hstmt *then, *other; } iff;
		struct { tsr_hexpr *cond; tsr_hstmt *body; } whil;
		struct { tsr_var_id var; tsr_hexpr *from, *to; bool down; tsr_hstmt *body; } loop;
		struct { tsr_code_id code; TSR_VEC(tsr_number_id) numbers; tsr_hexprs values; } run;
		struct { tsr_hexpr *target; tsr_hexpr *value; } store;                         /* target is an ELEMENT */
		tsr_hexpr *expr;                                                               /* DO: for its effect */
		struct { tsr_tensor_id tensor; tsr_part part; tsr_name name; } print;          /* PRINT_TENSOR; values are up to date */
		tsr_hstmts seq;
	};
};

/* An exported function as C sees it: after the context come the sizes ?n, the arguments as they are written, and memory for
 * the results. */
typedef enum { TSR_C_SIZE, TSR_C_INPUT, TSR_C_NUMBER, TSR_C_RESULT } tsr_c_kind;
typedef struct tsr_c_arg {
	tsr_c_kind kind;
	const char *name;            /* no word of C, and unlike the others */
	uint32_t of;                 /* SIZE: the symbol; NUMBER: the runtime number; INPUT, RESULT: the tensor */
	tsr_part part;               /* RESULT */
} tsr_c_arg;

typedef struct tsr_host_export {
	const tsr_export *x;
	tsr_hstmt *body;             /* where it is a program, else NULL */
	const char *name;            /* as a C name, without the program's in front */
	TSR_VEC(tsr_c_arg) args;
} tsr_host_export;

typedef struct tsr_host {
	tsr_graph *graph;
	tsr_hstmt *body;             /* of let%main; NULL when there is none */
	TSR_VEC(tsr_host_export) exports;    /* in the order of the graph's */
	TSR_VEC(tsr_host_type) vars;
	bool *observed;              /* at 2 * tensor + part: read, written or printed here */
	uint32_t *results;           /* likewise: how many results of exported functions it is */
	uint32_t *returned;          /* likewise: 1 + the unit that computes it, where only one function's caller sees it; else 0 */
} tsr_host;

/* Types and lowers let%main of a closed graph (element types need precisions); reports what is wrong (E06xx).  Adds
 * codedefs to the graph (print t runs t.forward first), so it comes before tsr_code_build. NULL after an error. */
tsr_host *tsr_host_lower(tsr_graph *g);
/* Reports numbers that the code reads and no `run` gives (E0607). */
void tsr_host_numbers(const tsr_host *h, const tsr_code *code);
/* ---- sizes that are known only when the program runs ---- */

/* Who gives a size: the program when it starts (its files), or a call of the exported function of that number. */
typedef uint32_t tsr_owner;
#define TSR_OWNER_PROGRAM TSR_NONE
#define TSR_OWNER_MANY    (TSR_NONE - 1)     /* calls of different functions: nobody */
tsr_owner tsr_host_owner(const tsr_graph *g, tsr_size s);
tsr_owner tsr_host_owner_of(const tsr_graph *g, uint32_t n, const tsr_size *sizes);

/* What has to hold before anything is computed: left = right, or left >= right.  `text` is the message where it does not:
 * each TSR_MESSAGE_NUMBER in it is one of `values`, each TSR_MESSAGE_PLURAL an s unless that number was 1 (see
 * tsr_check_sizes). `fact` says what holds without values: "?n = ?m", "?n is a multiple of 2". */
typedef struct tsr_host_condition {
	tsr_span span;
	tsr_owner owner;
	tsr_size left, right;
	bool at_least;
	const char *text, *fact, *who;           /* who needs it: "`x + y`" */
	uint32_t nvalues;
	const tsr_size *values;
} tsr_host_condition;
/* Those of one owner, in the order in which inference found them. */
uint32_t tsr_host_conditions(const tsr_graph *g, tsr_owner owner, tsr_host_condition **out);
/* That the symbol, which a file gives, is what inference solved it to. */
tsr_host_condition tsr_host_solved_condition(const tsr_graph *g, uint32_t symbol);
/* Axis i of a buffer as the runtime's table of buffers has it: the number; -1 - s for the symbol s; 0 for an expression. Of a file
 * it is the symbol that the program wrote, so that the file's header gives it, also where inference solved it. */
int64_t tsr_host_table_dim(const tsr_graph *g, const tsr_buffer *b, uint32_t i);
/* The symbol was solved to an expression of others, and a file gives it all the same: it must be what was inferred, which
 * tsr_host_solved_condition says. */
bool tsr_host_checked_symbol(const tsr_graph *g, const tsr_loops *l, uint32_t symbol);
/* Reports what gets its size from a call and is needed where there is none (E0615), and which sizes an exported function takes
 * (W0901). `code` may be NULL after an error. */
void tsr_host_call_sizes(const tsr_host *h, const tsr_code *code);
/* Fills `returned`; results are observed from here on. `code` is NULL after an error. */
void tsr_host_returns(tsr_host *h, const tsr_code *code);
/* The size of the result, or whether it has one, depends on sizes that files give: only an open context knows it. */
bool tsr_host_size_of_file(const tsr_host *h, const tsr_host_export *x, const tsr_c_arg *result);
/* What stands before _elements and _shape in the names of the functions that say it. */
const char *tsr_host_size_name(const tsr_host *h, const tsr_host_export *x, const tsr_c_arg *result);
/* The C header of an object: `prefix` begins every name; `entry`: there is a PREFIX_main. */
typedef struct tsr_header_text { const char *input, *prefix, *made_for; bool entry; } tsr_header_text;
void tsr_host_header(const tsr_host *h, const tsr_header_text *what, FILE *out);
void tsr_host_print(const tsr_host *h, FILE *out);           /* --dump=host */
void tsr_host_check(const tsr_host *h);

/* Runs the program by interpreting host and loop IR in this process, printing through the runtime; the exit status.  Where there
 * are `calls` of exported functions, "f x.npy 0.5", it is these that run and not let%main.  `bounds`: in place of a tensor's
 * elements it prints by how much two ways of computing them may differ. */
typedef struct tsr_host_start { uint64_t seed; bool bounds; int argc; char **argv; uint32_t ncalls; const char *const *calls; } tsr_host_start;
int tsr_host_interpret(const tsr_host *h, const tsr_loops *l, const tsr_host_start *how);
#endif
