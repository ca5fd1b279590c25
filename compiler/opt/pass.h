/* Private to opt/: what a pass gets, and the tools that passes share. */
#ifndef TSR_OPT_PASS_H
#define TSR_OPT_PASS_H
#include "opt.h"

typedef struct tsr_pass {
	tsr_loops *l;
	const tsr_target *target;
	const tsr_opt_options *options;
	tsr_arena *arena;            /* of the results */
	uint32_t changes;            /* counted by the pass */
} tsr_pass;

#define TSR_PASS(name, function, level, help, requires, breaks) void function(tsr_pass *p);
#include "passes.def"

/* ---- nests ----------------------------------------------------------------------------------------------------------- */

enum { TSR_MOST_LOOPS = 64 };
/* A chain of FORs, each holding nothing but the next, and what the innermost holds. */
typedef struct tsr_nest { uint32_t n; tsr_stmt *loop[TSR_MOST_LOOPS]; tsr_stmts *body; } tsr_nest;
tsr_nest tsr_nest_of(tsr_stmts *body);
/* A parallel loop around a statement, with the name and place in the source of `like`. */
tsr_stmt *tsr_loop_around(tsr_pass *p, tsr_stmt *body, const tsr_stmt *like, tsr_size extent, uint32_t sym);
/* Loops like these, one in the other, behind what stands there; the result is where the innermost one's body goes. */
tsr_stmts *tsr_loops_into(tsr_pass *p, tsr_stmts *into, uint32_t n, tsr_stmt *const *like, tsr_for_kind how);
/* A kernel in the same place of the source, and of that name, or of one that says what it is besides; nothing is in it yet. */
tsr_stmt *tsr_kernel_like(tsr_pass *p, const tsr_stmt *kernel, const char *what);
/* Loops exchange what they are, not where they stand. */
void tsr_loop_exchange(tsr_stmt *x, tsr_stmt *y);
/* The loop with this symbol moves inwards to this place of the nest; those that it passes, which are independent of it, move outwards. */
void tsr_nest_move(const tsr_nest *n, uint32_t sym, uint32_t place);
/* A new temporary, whose name is that of `from` and what it is for; the caller sets the lengths of its axes. */
/* The accumulator of `$s = $s op v`, in any order; TSR_ACCS when there is none. */
tsr_acc tsr_collecting(const tsr_stmt *set, tsr_local_id local, tsr_expr **value);
tsr_buffer *tsr_pass_buffer(tsr_pass *p, const tsr_buffer *from, const char *what, tsr_prec prec, uint32_t rank);
/* The only statement of a kernel that holds one nest around one statement, else NULL. */
tsr_stmt *tsr_nest_single(const tsr_stmt *kernel, tsr_nest *out);
/* The loop of the nest with this symbol, or NULL. */
tsr_stmt *tsr_nest_loop(const tsr_nest *n, uint32_t sym);
/* The loop with this symbol, wherever in the statement, or NULL. */
const tsr_stmt *tsr_stmt_loop(const tsr_stmt *s, uint32_t sym);
/* The loop whose bare symbol an index is, or NULL. */
tsr_stmt *tsr_nest_bare(const tsr_nest *n, const tsr_lin *index);
/* The store reaches each element of its buffer exactly once per value of the other loops: every index is a bare loop over the
 * whole axis, each a different one, or 0 on an axis of size 1. `owner[axis]` (may be NULL) receives the loops. */
bool tsr_nest_covers(const tsr_loops *l, const tsr_nest *n, const tsr_stmt *store, tsr_stmt **owner);

/* Of the index of what a sum reads, with the loops of its results and of what is summed: the results' loop that is the place within a window; or NULL (channels.c). */
const tsr_stmt *tsr_window_place(const tsr_nest *made, const tsr_nest *summed, const tsr_lin *index);

/* A kernel that sums column by column, as reduce builds it: stores of a number, then loops that reduce around loops that do not, around updates,
 * none of which tiles would compute; `out` is that nest. */
bool tsr_nest_columns(const tsr_loops *l, const tsr_stmts *body, tsr_nest *out);

/* Buffer b becomes to[b] wherever the statement names it, its contractions included. */
void tsr_stmt_rename(tsr_pass *p, tsr_stmt *s, const tsr_buffer_id *to);

/* As what contraction the nest is seen, whoever will compute it, or NULL. */
const tsr_contraction *tsr_contract_seen(tsr_pass *p, const tsr_stmt *nest);
/* The engine would run this nest; as what, with a schedule, or NULL. */
const tsr_contraction *tsr_contract_of(tsr_pass *p, const tsr_stmt *nest);
/* Both operands are elements of bf16 in memory, which the target multiplies in pairs. */
bool tsr_pairs_as_they_lie(const tsr_loops *l, const tsr_contraction *c, const tsr_target *t);
bool tsr_contract_takes(tsr_pass *p, const tsr_stmt *nest);
/* The contraction stays the nest that it is (stays.c); `turning`: operands of groups may still be turned (groups.c). */
bool tsr_contract_stays(const tsr_pass *p, const tsr_contraction *k, const tsr_stmt *nest, bool turning);
/* It stays because its lanes are matrices. */
bool tsr_contract_of_lanes(const tsr_pass *p, const tsr_contraction *k);
/* The nest is no contraction, or one that stays a nest. */
bool tsr_contract_leaves(tsr_pass *p, const tsr_stmt *nest);
/* winograd.c will compute the kernel by tiles. */
bool tsr_winograd_takes(tsr_pass *p, tsr_loop_unit *unit, tsr_stmt *kernel);

/* ---- rows (rows.c) ------------------------------------------------------------------------------------------------------- */

/* Planes of a block of tiles, of which each thread can have its own, have no more bytes (winograd_cut.c). */
enum { TSR_MOST_PLANE_BYTES = 1 << 22 };
/* Nor what lives in one iteration of a loop that threads divide, as a head's keys that are turned (of 65,536 positions 17 MB): more would be computed by one thread. */
enum { TSR_MOST_OWN_BYTES = 1 << 25 };
/* The length of rows that do not meet in the same sets of a cache: a line more where they would. */
tsr_size tsr_row_apart(tsr_prec prec, tsr_size row);

/* ---- what code reads and writes ---------------------------------------------------------------------------------------- */

/* How code touches one buffer: LOADs; STOREs and random words; UPDATEs, which read and write. */
typedef struct tsr_use { tsr_buffer_id buffer; uint32_t loads, stores, updates; } tsr_use;
/* The buffers that a statement or expression touches, each once. */
typedef struct tsr_uses { TSR_VEC(tsr_use) v; } tsr_uses;
void tsr_stmt_uses(tsr_arena *a, const tsr_stmt *s, tsr_uses *out);
void tsr_expr_uses(tsr_arena *a, const tsr_expr *e, tsr_uses *out);
/* Zeros where the buffer is not touched. */
tsr_use tsr_uses_of(const tsr_uses *u, tsr_buffer_id b);
static inline bool tsr_use_writes(tsr_use u) { return u.stores || u.updates; }
/* One of the two writes what the other touches. */
bool tsr_uses_meet(const tsr_uses *x, const tsr_uses *y);

/* The uses of every statement of a unit, kept while statements are rewritten and removed. */
typedef struct tsr_body_uses { tsr_arena *a; tsr_stmts *body; tsr_uses *at; } tsr_body_uses;
void tsr_body_uses_make(tsr_body_uses *u, tsr_arena *a, tsr_stmts *body);
/* Per buffer that one touches: the first and the last statement that does. */
void tsr_body_uses_ends(const tsr_body_uses *u, uint32_t *first, uint32_t *last);
void tsr_body_uses_renew(tsr_body_uses *u, uint32_t at);                 /* the statement was rewritten */
void tsr_body_remove(tsr_body_uses *u, uint32_t at);                     /* removes the statement itself, too */
/* The place before `at` of a store of this number all over the buffer, after which nothing touches it until `at`; or -1. */
int64_t tsr_clearing_before(const tsr_loops *l, const tsr_body_uses *u, uint32_t at, tsr_buffer_id x, double neutral);
/* Per buffer: some unit reads an element of it before it has stored that in the same run (exposed.c). */
bool *tsr_exposed_of(const tsr_loops *l, tsr_arena *a);
/* Its contents matter outside the code of the units: stores into it always stay. */
bool tsr_buffer_kept(const tsr_buffer *b);
/* Some of them can stop the run (simplify.c). */
bool tsr_stmts_check(const tsr_stmts *body);
/* Operations that the statements take; *known is cleared where an extent is known only at run time (print.c). */
int64_t tsr_stmts_operations(const tsr_stmts *body, bool *known);
uint32_t tsr_expr_size(const tsr_expr *e);                        /* nodes */
double tsr_expr_time(const tsr_expr *e);                          /* nanoseconds, roughly: vectors and cached operands assumed (threads.c) */
bool tsr_worth_two_threads(tsr_pass *p, const tsr_stmts *body);   /* so far as is known now (threads.c) */
/* Whether the value may depend on a loop, as tsr_lin_mentions says it of an index; a local, which may change along it, does. */
bool tsr_expr_mentions(const tsr_loops *l, const tsr_expr *e, uint32_t sym);
/* The walk, an innermost loop of a row's, stores elements of a result's row, and not around the caches (stream.c). */
bool tsr_walk_leaves_row(const tsr_loops *l, const tsr_stmt *row, const tsr_stmt *walk);
/* The statement says something of a symbol that data gives (overlap.c). */
bool tsr_stmt_names(const tsr_loops *l, tsr_arena *scratch, tsr_stmt *s, uint32_t sym);

/* ---- accesses (access.c) ------------------------------------------------------------------------------------------------- */

typedef struct tsr_access { tsr_buffer_id buffer; const tsr_lin *index; bool write; } tsr_access;
/* `engine`: a scheduled contraction is among the statements, whose nest is listed too; `data`: LETSYMs or lookups are, so indices may follow
 * data; `unknown`: something whose accesses are not listed. */
typedef struct tsr_accesses { tsr_arena *a; TSR_VEC(tsr_access) v; bool engine, data, unknown; } tsr_accesses;
void tsr_stmt_accesses(const tsr_stmt *s, tsr_accesses *out);
/* It computes elementary functions, which take several times as long as a division. */
bool tsr_stmt_has_functions(tsr_stmt *s);
/* Iteration i of the one loop and of the other meet only where both are i: every buffer that one writes and the other touches has an axis
 * on which all accesses are these loops' bare symbols.  False where the engine or something unknown is among them. */
bool tsr_accesses_independent(const tsr_loops *l, const tsr_accesses *x, uint32_t xsym, const tsr_accesses *y, uint32_t ysym);
bool tsr_expr_is_local(const tsr_expr *e, tsr_local_id local);                   /* NULL is none */
/* What the accumulator starts from, in the precision of e. */
bool tsr_expr_is_neutral(const tsr_expr *e, tsr_acc acc);
/* The expression loads the element that the statement stores or updates. */
bool tsr_expr_is_element(const tsr_loops *l, const tsr_expr *e, const tsr_stmt *store);

/* ---- rewriting ---------------------------------------------------------------------------------------------------------- */

/* Calls f on every expression of a statement (children first); what f returns takes its place. */
typedef tsr_expr *(*tsr_rewrite)(void *user, tsr_expr *e);
tsr_expr *tsr_expr_rewrite(tsr_expr *e, tsr_rewrite f, void *user);
void tsr_stmt_rewrite(tsr_stmt *s, tsr_rewrite f, void *user);
void tsr_stmts_remove(tsr_stmts *body, uint32_t at);

/* ---- copies (place.c) ---------------------------------------------------------------------------------------------------- */

/* Copies with each loop symbol syms[i] replaced by index to[i]. */
tsr_lin tsr_lin_place(tsr_arena *a, const tsr_lin *x, uint32_t n, const uint32_t *syms, const tsr_lin *to);
tsr_expr *tsr_expr_place(tsr_arena *a, const tsr_loops *l, const tsr_expr *e, uint32_t n, const uint32_t *syms, const tsr_lin *to);

/* Copies of statements, whose loops and locals get names of their own. A listed loop vanishes and its symbol stands for an index, or,
 * where it is given an extent, stays and begins at that index. */
typedef struct tsr_placed { uint32_t sym; bool stays; tsr_size extent; } tsr_placed;
typedef struct tsr_local_pair { tsr_local_id from, to; } tsr_local_pair;
typedef struct tsr_placing {
	tsr_pass *p;
	tsr_loop_unit *unit;
	TSR_VEC(tsr_placed) loops;
	TSR_VEC(uint32_t) syms;      /* of the same loops, and what they stand for */
	TSR_VEC(tsr_lin) to;
	TSR_VEC(tsr_local_pair) locals;
} tsr_placing;
void tsr_place_loop(tsr_placing *x, uint32_t sym, tsr_lin to, const tsr_size *extent);
/* Behind what `out` holds. LETSYMs and what is outside of kernels cannot be copied; nor are notes of contractions. */
void tsr_stmts_place(tsr_placing *x, const tsr_stmts *body, tsr_stmts *out);

/* ---- contractions -------------------------------------------------------------------------------------------------------- */

/* Recognises and schedules those among the statements. */
void tsr_contractions_find(tsr_pass *p, const tsr_stmts *body);
void tsr_contractions_schedule(tsr_pass *p, const tsr_stmts *body);

/* The tail that the statements inside a contraction's outer loops have behind the sum. */
tsr_tail *tsr_tail_of(tsr_arena *a, const tsr_stmts *body);
/* The store makes something new of what is there, as an optimiser's state. */
static inline bool tsr_store_renews(const tsr_stmt *store) { return tsr_expr_reads(store->store.value, store->store.buffer); }

/* ---- lookups (gather.c) -------------------------------------------------------------------------------------------------- */

/* where(a == k, c, 0) or its like, with k the loop `sym` and a free of it. */
bool tsr_gather_one_hot(const tsr_loops *l, const tsr_expr *e, uint32_t sym);
/* `v` is a product in which X stands once, as a factor, at a bare loop along `axis`: with a one-hot in its place, a sum of such v
 * has one position. */
bool tsr_gather_factor(const tsr_loops *l, const tsr_expr *v, tsr_buffer_id x, uint32_t axis);

/* ---- questions at run time (finite.c) ------------------------------------------------------------------------------------ */

/* Sets the local where `bad`, which mentions x, holds at a place of x in some of these loops. */
void tsr_look_through(tsr_pass *p, uint32_t nloops, const tsr_contract_loop *loops, const tsr_expr *x, tsr_expr *bad, tsr_local_id flag, tsr_stmts *out);
/* Only where the symbol that data gives is that number. */
tsr_stmt *tsr_stmt_when(tsr_pass *p, uint32_t sym, int64_t is, tsr_stmt *what);

/* A line for --dump=schedule. */
void tsr_pass_note(tsr_pass *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#endif
