/* The emitters' common state and their entry points.  One tsr_emit serves one module; the part "of the function being
 * emitted" is valid between the start of a kernel (or unit, or the program level) and its end.
 *
 * Values: a scalar of precision P is held as P's register type: bool as i1, integers as iN, f32/f64 as float/double, f16,
 * bf16 and f8 as float (rounded to their format when stored or converted).  Every tsr_emit_op, _convert and _acc works on
 * vectors of such values too: the number of lanes is read off the operands.
 * Memory: bool is a byte 0 or 1; every access states its element's size as alignment.
 *
 * Every control-flow helper leaves the builder at the end of a block without a terminator. */
#ifndef TSR_EMIT_EMIT_H
#define TSR_EMIT_EMIT_H
#include "options.h"
#include "../base/map.h"
#include "../host/host.h"
#include "../loop/loop.h"
#include "../target/target.h"
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/TargetMachine.h>

/* Memory that a kernel needs: of the team, and of each thread. */
typedef struct tsr_room { uint64_t shared, own; } tsr_room;
/* What products are computed by: a run takes one or the other, and what is emitted is for that one, or for both. */
typedef enum tsr_multiplier { TSR_BY_VECTORS, TSR_BY_MATRIX, TSR_UNITS, TSR_BY_BOTH = TSR_UNITS } tsr_multiplier;

/* Inside a kernel that threads compute together: this thread's number of how many, memory that all share, and its own; and
 * how much of both is needed, so far, by each unit, of which `unit` is emitted now; how often the threads have agreed, and how many queues they take from. */
typedef struct tsr_seat { LLVMValueRef thread, threads, shared, own; tsr_room room[TSR_UNITS]; tsr_multiplier unit; uint64_t row_bytes; uint32_t agreed, queues, *copies; } tsr_seat;     /* copies: of each row whose size the run knows */

/* Inside a loop that streams: the store whose results are collected, and where this one goes; or, where `first` is given, that of the loop's iteration `first`, and others
 * beside it. */
typedef struct tsr_stream { const tsr_stmt *store; LLVMValueRef address; uint32_t sym; LLVMValueRef first; } tsr_stream;

/* Inside a loop whose iterations are computed side by side: the loop, which stands at the first of `lanes` (1 at its ends); the lanes that
 * are iterations, NULL for all of them; and the store, if any, that goes around the caches. */
typedef struct tsr_wide {
	const tsr_stmt *loop;
	unsigned lanes;
	LLVMValueRef mask;
	LLVMValueRef some;               /* whether any are; NULL: surely.  Else what all lanes share may lie outside of its array */
	const tsr_stmt *around;
	bool holds;                      /* locals are lanes, whatever they are set to */
	bool zeros;                      /* lanes outside of the mask are 0, and so is what is added for them */
	unsigned each;                   /* lanes are so many results of each of several groups (grouped.c), whose loop `group` stands at 0; 0: of one loop */
	uint32_t group;
	uint32_t nordered;               /* locals that take a maximum or minimum, and the lanes in which no NaN was met so far, for two registers each, unless it never matters */
	struct { tsr_local_id id; bool never; LLVMValueRef lanes[2]; } ordered[4];
} tsr_wide;

/* What stands for leaves of expressions while it is set: a value in register form of the leaf's precision, or NULL for the leaf itself. */
typedef struct tsr_emit_leaves { LLVMValueRef (*of)(const struct tsr_emit_leaves *x, const tsr_expr *leaf); } tsr_emit_leaves;

typedef struct tsr_emit {
	tsr_compiler *tc;
	const tsr_loops *loops;
	const tsr_host *host;            /* NULL in tests: units alone */
	const tsr_target *target;
	const tsr_llvm_options *options;
	bool sanitize;                   /* as the options say */
	LLVMContextRef context;
	LLVMModuleRef module;
	LLVMBuilderRef builder;
	LLVMTypeRef i1, i8, i16, i32, i64, f32, f64, ptr, none;

	/* the module */
	LLVMValueRef *unit_functions;    /* per unit */
	tsr_map kernels;                 /* key text -> tsr_team_kernel */
	tsr_map tails;                   /* text of a contraction's tail -> its number */
	bool needs_formats;
	tsr_map strings;                 /* interned constants: "where" texts and names */
	LLVMDIBuilderRef debug;          /* NULL without -g */
	tsr_map debug_files;
	LLVMMetadataRef debug_unit;

	/* the function being emitted */
	LLVMValueRef function;
	const tsr_stmts *body;           /* of the kernel that it is; NULL for any other function */
	LLVMMetadataRef scope;           /* its debug scope */
	LLVMBasicBlockRef entry;         /* allocas go to its start: tsr_emit_alloca */
	LLVMValueRef ctx;                /* tsr_ctx * */
	LLVMValueRef buffer_table, symbol_table, number_table;       /* unit level: ptr; NULL inside kernels */
	LLVMValueRef *buffers;           /* by buffer id: address of element 0; NULL where the kernel does not touch it */
	LLVMValueRef *symbols, *numbers; /* run-time sizes and runtime numbers as i64, by id; NULL where not needed */
	LLVMValueRef *syms;              /* FOR's and LETSYM's symbols: i64, by sym id, NULL outside their scope */
	LLVMValueRef *locals;            /* allocas, by local id */
	uint32_t nlocals, nsyms;
	tsr_prec *local_precs;
	tsr_seat *team;                  /* NULL where one thread computes */
	bool asks;                       /* how much the kernel touches is asked when it runs, */
	bool near;                       /* and what the kernel touches has turned out small: none of its loops streams, nor looks ahead */
	const tsr_stream *stream;        /* NULL outside loops that stream */
	const struct tsr_seam *seams;    /* of rows that go together, for nseams walks (kernel/seam.c) */
	uint32_t nseams;
	struct tsr_hope *hope;           /* of rows that go together, or NULL (kernel/rotated.c) */
	const tsr_wide *wide;            /* NULL where one iteration is computed at a time */
	const tsr_emit_leaves *leaves;   /* or NULL */
	bool written;                    /* but the order that is written out is the one that is meant */
	unsigned overlap;                /* inside rows that overlap: lanes of all walks, which are written out, with the same sums wherever they are */
	bool seldom;                     /* what is emitted seldom runs */
	bool places;                     /* several places are emitted side by side, which lie a known way apart */
	bool reorder;                    /* inside a REDUCE loop: accumulation may be reordered */
} tsr_emit;

/* ---- type.c: types, constants, conversions, memory ------------------------------------------------------------------ */
LLVMTypeRef tsr_emit_register_type(tsr_emit *e, tsr_prec p);
LLVMTypeRef tsr_emit_memory_type(tsr_emit *e, tsr_prec p);
LLVMTypeRef tsr_emit_lanes(LLVMTypeRef scalar, unsigned lanes);                      /* <lanes x scalar>, scalar for 1 */
LLVMTypeRef tsr_emit_type_like(LLVMTypeRef scalar, LLVMValueRef like);               /* with as many lanes as `like` */
LLVMValueRef tsr_emit_i64(tsr_emit *e, int64_t x);
LLVMValueRef tsr_emit_splat(tsr_emit *e, LLVMValueRef scalar, LLVMTypeRef type);     /* constants and values; type may be scalar */
LLVMValueRef tsr_emit_number(tsr_emit *e, LLVMTypeRef type, double x);               /* x in a float or integer type, all lanes */
LLVMValueRef tsr_emit_constant(tsr_emit *e, tsr_scalar x);
LLVMValueRef tsr_emit_convert(tsr_emit *e, LLVMValueRef x, tsr_prec from, tsr_prec to);
/* x, computed in the register form of p, as a value of p: f16, bf16 and f8 are rounded, others are as they are. */
LLVMValueRef tsr_emit_round_to(tsr_emit *e, tsr_prec p, LLVMValueRef x);
/* Register form to memory form and back. */
LLVMValueRef tsr_emit_to_memory(tsr_emit *e, tsr_prec p, LLVMValueRef x);
LLVMValueRef tsr_emit_from_memory(tsr_emit *e, tsr_prec p, LLVMValueRef x);
/* One element at a pointer in memory form, from and to register form. */
LLVMValueRef tsr_emit_load(tsr_emit *e, tsr_prec p, LLVMValueRef address);
void tsr_emit_store(tsr_emit *e, tsr_prec p, LLVMValueRef value, LLVMValueRef address);
/* `lanes` contiguous elements, unaligned beyond the element. */
LLVMValueRef tsr_emit_load_lanes(tsr_emit *e, tsr_prec p, LLVMValueRef address, unsigned lanes);
LLVMValueRef tsr_emit_store_lanes(tsr_emit *e, tsr_prec p, LLVMValueRef value, LLVMValueRef address);
/* Those of the mask; the others are 0 and not touched. */
LLVMValueRef tsr_emit_load_masked(tsr_emit *e, tsr_prec p, LLVMValueRef address, LLVMValueRef mask);
void tsr_emit_store_masked(tsr_emit *e, tsr_prec p, LLVMValueRef value, LLVMValueRef address, LLVMValueRef mask);
LLVMValueRef tsr_emit_alloca(tsr_emit *e, LLVMTypeRef type, const char *name);       /* in the entry block */

/* ---- flow.c: functions, blocks and loops ---------------------------------------------------------------------------------- */
LLVMAttributeRef tsr_emit_attribute(tsr_emit *e, const char *name, uint64_t value);
/* The builder in a new entry block of `f`, with attributes and a debug scope. */
void tsr_emit_function_begin(tsr_emit *e, LLVMValueRef f, tsr_span span);
void tsr_emit_function_attributes(tsr_emit *e, LLVMValueRef f);

/* `few`: an end of a loop whose most part is vectors already. */
typedef struct tsr_emit_loop { LLVMValueRef index, end, step; LLVMBasicBlockRef body, after; tsr_for_kind how; bool few; } tsr_emit_loop;
/* for (index = from; index < to; index += step) ... : the builder stands in the body, then behind the loop.  A loop that
 * may run zero times is guarded.  All i64. */
tsr_emit_loop tsr_emit_loop_begin(tsr_emit *e, LLVMValueRef from, LLVMValueRef to, LLVMValueRef step, tsr_for_kind how);
void tsr_emit_loop_end(tsr_emit *e, tsr_emit_loop *loop);
LLVMBasicBlockRef tsr_emit_block(tsr_emit *e, const char *name);                     /* appended to the function */
/* Two ways in two branches, the first where the condition holds: emitted between begin and other, and other and end. */
typedef struct tsr_emit_fork { LLVMBasicBlockRef other, after; } tsr_emit_fork;
tsr_emit_fork tsr_emit_fork_begin(tsr_emit *e, LLVMValueRef condition, const char *name);
tsr_emit_fork tsr_emit_fork_usual(tsr_emit *e, LLVMValueRef condition, const char *name);      /* the first is taken far more often */
void tsr_emit_fork_other(tsr_emit *e, const tsr_emit_fork *f);
void tsr_emit_fork_end(tsr_emit *e, const tsr_emit_fork *f);
/* Branches, to `often` far more often than to `seldom`: LLVM keeps in registers what the usual way needs. */
void tsr_emit_seldom(tsr_emit *e, LLVMValueRef usual, LLVMBasicBlockRef often, LLVMBasicBlockRef seldom);

/* ---- expr.c: indices and expressions --------------------------------------------------------------------------------- */
LLVMValueRef tsr_emit_size(tsr_emit *e, tsr_size s);                                 /* i64 */
LLVMValueRef tsr_emit_lin(tsr_emit *e, const tsr_lin *index);                        /* i64 */
LLVMValueRef tsr_emit_first(tsr_emit *e, const tsr_stmt *loop);                      /* of its iterations, i64; and behind the last one */
LLVMValueRef tsr_emit_end(tsr_emit *e, const tsr_stmt *loop);
/* Position in elements of one index tuple, row-major over the buffer's dims; and its address. */
LLVMValueRef tsr_emit_position(tsr_emit *e, tsr_buffer_id buffer, const tsr_lin *index);
LLVMValueRef tsr_emit_address(tsr_emit *e, tsr_buffer_id buffer, const tsr_lin *index);
/* An element's address, or where no lane is an iteration (tsr_wide.some) that of the array's element number `element`. */
LLVMValueRef tsr_emit_within(tsr_emit *e, const tsr_buffer *b, LLVMValueRef address, int64_t element);
/* x where it is so to y, else y: the smaller one, or the larger. */
LLVMValueRef tsr_emit_chosen(tsr_emit *e, LLVMIntPredicate is, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef tsr_emit_offset(tsr_emit *e, tsr_prec p, LLVMValueRef base, LLVMValueRef elements);     /* base + elements, inbounds */
LLVMValueRef tsr_emit_expr(tsr_emit *e, const tsr_expr *x);                          /* register form of x->prec; lanes where they differ */
/* The scalar ones among `n` values in as many lanes as the others have. */
void tsr_emit_alike(tsr_emit *e, unsigned n, LLVMValueRef *values);
LLVMValueRef tsr_emit_in_ranges(tsr_emit *e, uint32_t n, const tsr_range *ranges);   /* i1 */

/* ---- op.c, math.c: primitives, on scalars and vectors ------------------------------------------------------------------ */
/* args in register form of `operand_prec` (where: the first is bool); the result in that of the operation's result. */
LLVMValueRef tsr_emit_op(tsr_emit *e, tsr_op op, tsr_prec operand_prec, LLVMValueRef *args);
/* x / y in f32, where many x meet one y, a scalar: nearly always correctly rounded, as docs/accuracy.md says. */
LLVMValueRef tsr_emit_quotient(tsr_emit *e, LLVMValueRef x, LLVMValueRef y);
/* x in f32 where it is a number, y where it is NaN. */
LLVMValueRef tsr_emit_unless_nan(tsr_emit *e, LLVMValueRef x, LLVMValueRef y);
/* element acc value; both of precision `p` (the accumulator's). */
LLVMValueRef tsr_emit_acc(tsr_emit *e, tsr_acc acc, tsr_prec p, LLVMValueRef element, LLVMValueRef value);
/* What leaves an element as it is, in as many lanes. */
LLVMValueRef tsr_emit_neutral(tsr_emit *e, tsr_acc acc, tsr_prec p, LLVMValueRef like);
/* The elementary functions; NULL when `op` is none. */
LLVMValueRef tsr_emit_math(tsr_emit *e, tsr_op op, LLVMValueRef *args);
/* e^x in f32, to be added to a constant of at least 2^-60, beside which the least results are nothing. */
LLVMValueRef tsr_emit_exp_beside(tsr_emit *e, LLVMValueRef x);
/* e^x of vectors of f32, x being at most 80 or NaN, in two halves where the target has a way that is two: the first is the sum in whose low bits 2's power
 * stands, and what of x is left; the second takes x `again` where it vanishes in some lane. */
typedef struct tsr_emit_half { LLVMValueRef sum, rest; } tsr_emit_half;
typedef struct tsr_emit_again { LLVMValueRef (*of)(const struct tsr_emit_again *a); } tsr_emit_again;
bool tsr_emit_has_halves(const tsr_emit *e);
tsr_emit_half tsr_emit_exp_start(tsr_emit *e, LLVMValueRef x, bool beside);         /* any x, beside a constant in a sum, or such a one */
LLVMValueRef tsr_emit_exp_beside_rest(tsr_emit *e, const tsr_emit_half *half);
/* Whether argument `at` of x is an exponential of f32 that a constant is added to, of at least 2^-60. */
bool tsr_emit_exp_beside_in(const tsr_expr *x, uint32_t at);
LLVMValueRef tsr_emit_exp_rest(tsr_emit *e, const tsr_emit_half *half, const tsr_emit_again *again);
/* The second half for what is hoped neither to vanish nor to be NaN; *worst, a register of i32 that is 0 before the first of many, says at their end whether that failed. */
LLVMValueRef tsr_emit_exp_hoped(tsr_emit *e, const tsr_emit_half *half, LLVMValueRef *worst);
/* The target hopes so; an operation asks two registers at once; and both halves at once, where it has none. */
bool tsr_emit_hopes(const tsr_emit *e);
bool tsr_emit_asks_two(const tsr_emit *e);
LLVMValueRef tsr_emit_exp_hoped_at_once(tsr_emit *e, LLVMValueRef x, LLVMValueRef acc, LLVMValueRef *worst);
/* The exponential that x adds to a local, in registers of AVX-512 and of values less the greatest of them, so that one of the terms is 1; NULL for anything else.  Such a sum takes in
 * the exponential's last product unrounded, in hope and with care, that the bits be the same; and acc + e^x so, with care. */
const tsr_expr *tsr_emit_adds_exp(const tsr_emit *e, const tsr_expr *x);
LLVMValueRef tsr_emit_exp_added(tsr_emit *e, LLVMValueRef x, LLVMValueRef acc);
LLVMValueRef tsr_emit_exp_failed(tsr_emit *e, LLVMValueRef worst);
/* x modulo y in vectors, with what the library makes of large quotients; where products are fused. */
typedef LLVMValueRef (*tsr_emit_remainder)(tsr_emit *e, LLVMValueRef x, LLVMValueRef y);
bool tsr_emit_has_mod(const tsr_emit *e);
LLVMValueRef tsr_emit_mod(tsr_emit *e, LLVMValueRef x, LLVMValueRef y, tsr_emit_remainder by_library);
/* erf x or tanh x in f32, to be added, times a constant, to one that is not less: within 2^-23, where that takes fewer instructions. */
bool tsr_emit_has_beside(const tsr_emit *e);
LLVMValueRef tsr_emit_beside(tsr_emit *e, tsr_op op, LLVMValueRef x);
/* All of constant + factor * op (scale x) in f32, op being erf or tanh, |factor| <= |constant|, where that is one table in registers or one quotient: the
 * processor has such registers, and x fills some. */
typedef struct tsr_emit_sum { tsr_op op; double constant, factor, scale; } tsr_emit_sum;
bool tsr_emit_has_sums(const tsr_emit *e);
bool tsr_emit_sums_at_once(const tsr_emit *e, const tsr_emit_sum *sum, LLVMValueRef x);
LLVMValueRef tsr_emit_sum_at_once(tsr_emit *e, const tsr_emit_sum *sum, LLVMValueRef x);
/* Lets LLVM order and combine a floating-point operation: `reassoc` and `contract`. */
void tsr_emit_allow_reorder(LLVMValueRef instruction);

/* ---- lane.c: what lies along a loop --------------------------------------------------------------------------------------- */
/* Loads and stores of some lanes cost as much as those of all. */
bool tsr_emit_has_masks(const tsr_emit *e);
/* Of the loop that is being emitted: elements side by side. */
LLVMValueRef tsr_emit_wide_load(tsr_emit *e, tsr_prec p, LLVMValueRef address);
/* Of elements `step` apart, as tsr_emit_strided takes. */
LLVMValueRef tsr_emit_wide_load_strided(tsr_emit *e, tsr_prec p, LLVMValueRef address, unsigned step);
void tsr_emit_wide_store_strided(tsr_emit *e, tsr_prec p, LLVMValueRef value, LLVMValueRef address, unsigned step);
/* Lanes of which number i is element at[i] of part number of[i], all of which are as long; n parts of as many elements as there are lanes, or one of less. */
LLVMValueRef tsr_emit_of_parts(tsr_emit *e, unsigned lanes, unsigned n, LLVMValueRef *part, const unsigned *of, const unsigned *at);
/* n vectors of as many lanes, a power of two, as one of at most 64; `part` is used up. */
LLVMValueRef tsr_emit_concat(tsr_emit *e, LLVMValueRef *part, unsigned n);
/* records.c: n registers of as many records of n numbers as there are lanes, a power of two, taken apart into one register for each number, and put together again. */
void tsr_emit_records_apart(tsr_emit *e, unsigned lanes, unsigned n, LLVMValueRef *value);
void tsr_emit_records_together(tsr_emit *e, unsigned lanes, unsigned n, LLVMValueRef *value);
/* grouped.c: where lanes are of groups, what is not read along both loops as along one; NULL: it is. */
LLVMValueRef tsr_emit_grouped_load(tsr_emit *e, const tsr_expr *load);
/* x has one value for all of the loop. */
bool tsr_emit_fixed(const tsr_emit *e, const tsr_stmt *loop, const tsr_expr *x);
/* The buffer's elements along the loop: 1 side by side, 0 the same for all, -1 anything else. */
int tsr_emit_along(const tsr_emit *e, const tsr_stmt *loop, tsr_buffer_id buffer, const tsr_lin *index);
/* Elements from one iteration of the loop to the next; -1 where that is not known. */
int64_t tsr_emit_step(const tsr_emit *e, const tsr_stmt *loop, tsr_buffer_id buffer, const tsr_lin *index);
/* It goes by every second, third or fourth element, and lanes can load such: those of 32 bits where loads can be masked, narrower ones, whose pairs LLVM takes apart as fast, by three
 * and four where stores can be, too. */
bool tsr_emit_strided(const tsr_emit *e, const tsr_stmt *loop, tsr_buffer_id buffer, const tsr_lin *index);

/* ---- team.c: threads that compute a kernel together ----------------------------------------------------------------------- */
/* Where this thread's stretch of 0 .. count begins, or ends. */
LLVMValueRef tsr_team_bound(tsr_emit *e, LLVMValueRef count, bool end);
/* Until all threads are here. */
void tsr_team_wait(tsr_emit *e);
/* Whether one of the threads says other than 0, when all are here. */
LLVMValueRef tsr_team_agree(tsr_emit *e, LLVMValueRef says);

/* ---- area.c: work areas ---------------------------------------------------------------------------------------------------- */
/* So many bytes, aligned to a line: this thread's own memory in a team, behind its rows; else one area for all of the module, as large as the largest that
 * is wanted, for each thread. */
LLVMValueRef tsr_emit_work_area(tsr_emit *e, uint64_t bytes);
/* Memory that the unit needs which is emitted now. */
void tsr_seat_needs(tsr_seat *team, uint64_t shared, uint64_t own);
/* Whether this run computes products by matrix registers, where there is code for both. */
LLVMValueRef tsr_emit_by_matrix(tsr_emit *e);
/* The module's global of that name, of zeros and as large as the largest that is wanted; `own`: each thread has one. */
LLVMValueRef tsr_emit_zeros(LLVMModuleRef module, const char *name, uint64_t bytes, unsigned aligned, bool own);
/* What parts.c knows this area by. */
#define TSR_PANELS "tsr.panels"

/* ---- debug.c, runtime.c --------------------------------------------------------------------------------------------------- */
void tsr_emit_debug_begin(tsr_emit *e);
void tsr_emit_debug_end(tsr_emit *e);
void tsr_emit_debug_function(tsr_emit *e, LLVMValueRef f, tsr_span span);
void tsr_emit_position_of(tsr_emit *e, tsr_span span);                               /* the builder's debug location */
/* Its memory is a caller's, who aligns it as C does: to its elements. */
static inline bool tsr_emit_foreign(const tsr_buffer *b) { return b->kind == TSR_BUFFER_INPUT || b->home == TSR_HOME_CALLER; }
/* Calls the runtime's `name`, declared on first use from the types of its arguments. */
LLVMValueRef tsr_emit_call(tsr_emit *e, const char *name, LLVMTypeRef result, unsigned n, LLVMValueRef *args);
/* In a build with --sanitize: of shared memory the `used` bytes from `from` on may be touched now, and the `gap` behind them not. */
void tsr_emit_redzone(tsr_emit *e, LLVMValueRef memory, int64_t from, int64_t used, int64_t gap);
void tsr_emit_redzone_later(tsr_emit *e, LLVMValueRef memory, LLVMValueRef used, LLVMValueRef gap);
/* Rows of a thread's own whose size only the run knows, behind all else that it has: bytes of one, and from one of its copies to the next. */
bool tsr_emit_row_later(const tsr_buffer *b);
LLVMValueRef tsr_emit_row_bytes(tsr_emit *e, const tsr_buffer *b);
LLVMValueRef tsr_emit_row_distance(tsr_emit *e, const tsr_buffer *b);
LLVMValueRef tsr_emit_global(tsr_emit *e, LLVMValueRef value, const char *name, unsigned align);    /* a private constant */
/* A NUL-terminated constant; the same one for the same text. */
LLVMValueRef tsr_emit_text(tsr_emit *e, const char *text);
/* The same as a constant of its own, which no other text shares: its address says which place is meant. */
LLVMValueRef tsr_emit_own_text(tsr_emit *e, const char *text);
LLVMValueRef tsr_emit_where(tsr_emit *e, tsr_span span);                             /* "file:line:column" */
#endif
