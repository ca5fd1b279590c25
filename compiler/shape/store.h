/* The solver's state, private to shape/.  Constraints are data (tsr_cstr) with a reason; a constraint waits on the
 * variables that it mentions and is visited again only when one of them is bound or learns something.
 *
 * Variables: a union-find for equal variables (base/forest, with the constraint as the reason), then at the
 * representative either a value or what is known so far. A dimension's value is never a variable, an affine or a concat
 * term: such terms get a variable of their own and a condition (tsr_store_term), so that "derived" is a property of the
 * variable and holds whatever the order in which constraints arrive.
 *
 * Bindings go through tsr_bind_dim, tsr_bind_row, tsr_join_dims and tsr_join_rows alone; each records the constraint
 * that caused it. The solver reports facts (tsr_fault_*); explain.c words them. */
#ifndef TSR_SHAPE_STORE_H
#define TSR_SHAPE_STORE_H
#include "shape.h"
#include "../base/forest.h"
#include "../base/map.h"
#include "../base/plant.h"

#define TSR_NO_ID UINT32_MAX

typedef enum {
	TSR_C_DIM_EQUAL, TSR_C_DIM_BELOW, TSR_C_ROW_EQUAL, TSR_C_ROW_BELOW,
	TSR_C_AT_LEAST, TSR_C_TOTAL, TSR_C_AFFINE, TSR_C_CONCAT, TSR_C_LOOKUP, TSR_C_JOIN,
	TSR_C_SOURCE         /* no constraint: the place of a leaf or of a closing step, for explanations */
} tsr_cstr_kind;

typedef TSR_VEC(uint32_t) tsr_ids;

/* A list of constraints: `n` cells of the store's from `first` on, in the order in which they came. */
typedef struct tsr_list { uint32_t first, last, n; } tsr_list;
/* Of an inequality of rows: the side on which the variable stands; closing looks at one side at a time. */
typedef enum { TSR_SIDE_NONE, TSR_SIDE_RESULT, TSR_SIDE_OPERAND } tsr_row_side;
typedef struct tsr_cell { uint32_t cstr : 30; tsr_row_side side : 2; uint32_t next; } tsr_cell;
typedef TSR_VEC(tsr_cell) tsr_cells;
#define TSR_EACH(s, i, list) \
	for (uint32_t tsr_left = (list)->n, i = (list)->first; tsr_left; tsr_left--, i = (s)->cells.at[i].next)

/* There are ten of these for an operation: what few of them need stands behind a pointer, and the payload, which comes last, takes
 * the room of its kind alone: a constraint is never copied. */
typedef struct tsr_cstr {
	tsr_cstr_kind kind : 8;
	tsr_kind kind_a : 3, kind_b : 3;     /* the rows of both sides, TSR_KINDS where that says nothing */
	bool done : 1, queued : 1, visited : 1;
	int operand : 16;            /* which operand of the operation, -1 where that says nothing */
	uint32_t id;
	uint32_t parent;             /* the constraint that this one was derived from; itself where it was emitted */
	uint32_t axis, back;         /* of a derived dimension constraint: its position from the front, or (1, 2, ..) from the
	                              * end of the row; TSR_NO_ID where that is not known */
	uint32_t on[3];              /* unsolved variables whose lists hold this constraint, of rows (ROW_*, LOOKUP, JOIN) or of dimensions, + 1; 0: free */
	const tsr_why *why;          /* of the emitted constraint at the root; shared */
	union {
		struct { uint32_t leaf; } source;                         /* the row kind_b of the leaf */
		struct { tsr_dim a, b; } dim;                             /* a = b, or a (result) <= b (operand) */
		/* a and b as emitted; ROW_EQUAL: what is left of them; ROW_BELOW: flank axes of b that are aligned already. */
		struct { tsr_row a, b; union { tsr_row *rest; struct { uint32_t nlead, ntrail; }; }; } row;
		struct { tsr_dim d; int64_t n; } at_least;
		struct { uint32_t n; tsr_row *rows; tsr_size size; bool has_dim; int64_t coef; tsr_dim d; tsr_ids on_dims, on_rows; } total;
		struct { tsr_dim d; tsr_affine *term; } affine;
		struct { tsr_dim d; uint32_t n; tsr_dim *at; bool strict; tsr_ids on_dims; } concat;
		struct { tsr_row batch, input, rest_batch, rest_input; tsr_dim d; } lookup;   /* d: the leftmost of batch, else all of input */
		struct { tsr_row whole, front, back; } join;              /* whole = front back */
	};
} tsr_cstr;

typedef struct tsr_dim_var {
	union {
		tsr_dim value;       /* when bound: ATOM, UNIT, ZERO or POISON */
		tsr_dim lower;       /* else, when it has a lower bound: an atom that lies below */
	};
	uint32_t cause;              /* constraint that bound it */
	uint32_t lower_cause;
	bool bound : 1, has_lower : 1;
	bool in_leaf : 1, in_param : 1;      /* occurs in a leaf's, a parameter's row */
	bool by_use : 1;             /* part of a joint axis that an operation takes apart: closes like a leaf's */
	bool in_term : 1;            /* occurs inside an affine or a concat term */
	bool of_total : 1;           /* the elements of other axes together: waits for them when closing */
	bool discardable : 1;
	bool solid : 1;              /* of a scheme's argument: a size, not yet known which, and never the unit */
	uint32_t leaf;               /* index into leaves, TSR_NO_ID */
	tsr_list defs;               /* the AFFINE and CONCAT conditions that define it */
	tsr_list watchers;
	tsr_span span;
	tsr_name label;
} tsr_dim_var;

typedef enum { TSR_ROW_CLEAN, TSR_ROW_DIRTY, TSR_ROW_VISITED, TSR_ROW_REFRESHED } tsr_row_state;

typedef struct tsr_row_var {
	union {
		tsr_row value;       /* when bound */
		struct { uint32_t bound_lead, bound_trail; };     /* else, when it has a candidate, its flanks; see close.c */
	};
	bool bound : 1, poison : 1;
	bool in_leaf : 1, in_param : 1;
	bool in_data : 1, input : 1; /* of a leaf that is no parameter; of the input row of a leaf */
	bool by_use : 1;             /* as that of a dimension */
	bool from_template : 1;      /* introduced by rank growth */
	bool in_spec : 1;            /* used by a spec or a composition, not only pointwise */
	bool has_bound : 1;          /* closing: it has a candidate */
	tsr_row_state state : 2;     /* closing */
	uint32_t cause;
	tsr_name label;              /* of a spec, or NULL */
	uint32_t depth;              /* how many growths led here; see rank.c */
	uint32_t leaf;
	tsr_list watchers;
} tsr_row_var;

/* Closing: a row variable whose candidate is being computed. */
typedef struct tsr_refresh {
	uint32_t var;
	uint32_t left, cell;         /* the cell of its list that comes next, of those that are left */
	bool any;                    /* what the results before have left for it */
	uint32_t lead, trail;
	uint32_t low;                /* the shallowest visit that it leads back to */
} tsr_refresh;

typedef struct tsr_leaf { tsr_shape shape; tsr_leaf_kind kind; tsr_name name; tsr_span span; bool interior, reported; uint32_t source; } tsr_leaf;   /* source: the first of its TSR_KINDS source constraints */

/* A candidate that constraint `by` proposed for a row: axes, or none. Kept where applications share what they emit (region.c). */
typedef struct tsr_proposal { uint32_t row, by; bool axes; } tsr_proposal;

/* Closing: variables that may be open, of those before `listed`. */
typedef struct tsr_open { tsr_ids ids; uint32_t listed; } tsr_open;

struct tsr_store {
	tsr_compiler *tc;
	tsr_arena *arena;
	tsr_forest *dim_forest, *row_forest;
	TSR_VEC(tsr_dim_var) dims;
	TSR_VEC(tsr_row_var) rows;
	TSR_VEC(tsr_cstr *) cstrs;
	tsr_cells cells;             /* of lists */
	const tsr_why *last_why;     /* of the constraint that was emitted last, for the next one */
	tsr_ids of_kind[TSR_C_SOURCE];   /* those that closing looks through: all but the inequalities of rows and dimensions */
	tsr_ids emitted;             /* for the printer and the checker */
	TSR_VEC(tsr_leaf) leaves;
	TSR_VEC(tsr_symbol) symbols;
	TSR_VEC(tsr_condition) conditions;
	tsr_map noted;               /* their hashes (the next free one above, where two meet) -> place in the list + 1 */
	tsr_ids queue; uint32_t head;    /* the worklist: queue.at[head..] */
	tsr_ids entered;                 /* applications that are being solved, innermost last: the number of the first constraint of each */
	tsr_ids held;                    /* what waited outside of the innermost one for rows that it has bound */
	tsr_ids late;                    /* constraints whose sizes wait for the others, to be settled when nothing else is left to do */
	/* While they are visited, how far: sizes whose basis is certain, bears a name, might bear one (numbers; + 1: symbols); bounds that
	 * conditions may make equal; totals over symbols to which nothing has left one value. */
	enum { TSR_SETTLE_NONE, TSR_SETTLE_SURE, TSR_SETTLE_NAMED = 3, TSR_SETTLE_BARE = 5, TSR_SETTLE_BOUNDS = 7, TSR_SETTLE_TOTALS } settling;
	tsr_ids dirty_dims, dirty_rows;  /* closing: variables that learned something */
	tsr_open open_dims, open_rows;
	bool all_dirty;                  /* all unsolved rows are among them */
	tsr_ids dirty_now;               /* rows that are being refreshed, and the way to where that is */
	TSR_VEC(tsr_refresh) refreshing, in_circle;      /* visits, each within the one before; those done whose circle is not */
	bool closing, exhausted, solving;
	uint64_t steps, looks;
	uint64_t steps_base, steps_each;     /* the budget of steps, and what each emitted constraint adds to it */
	uint32_t nerrors;
	TSR_VEC(tsr_chain) chains;
	struct tsr_trial *trial;         /* of a store that solves some facts again: what fails is noted there, not reported */
	bool guess;                      /* applications share what they emit */
	bool generic;                    /* of a scheme: for sizes that it makes equal and an instance has not, */
	tsr_ids visits;                  /* the constraints in the order of their first visits */
	TSR_VEC(tsr_proposal) proposals;
	/* of the rule that is being emitted, copied into each constraint it emits */
	int operand;
	tsr_kind kind_a, kind_b;
};

/* ---- dim.c ------------------------------------------------------------------------------------------------------- */

tsr_dim tsr_dim_zero(void);
tsr_dim tsr_dim_poison(void);
int64_t tsr_floor_div(int64_t a, int64_t b);
/* Solved symbols replaced; terms sorted by symbol, none zero. */
tsr_size tsr_size_normal(tsr_store *s, tsr_size x);
/* The value of a dimension, or the representative of its variable. */
tsr_dim tsr_dim_find(tsr_store *s, tsr_dim d);
bool tsr_dim_is_var(tsr_dim d);
/* Size of a solved dimension: atoms, 1 for the unit, 0 for zero. */
bool tsr_dim_size(tsr_store *s, tsr_dim d, tsr_size *out);
/* Identical solved atoms, without solving a symbol for it. */
bool tsr_dim_same(tsr_store *s, tsr_dim a, tsr_dim b);
typedef enum { TSR_MEET_OK, TSR_MEET_SIZE, TSR_MEET_BASIS, TSR_MEET_UNIT } tsr_meet;
/* Meet of two solved dimensions that must be equal. A local symbol is solved here, an exported one becomes a condition. */
tsr_meet tsr_dim_meet(tsr_store *s, tsr_dim a, tsr_dim b, const tsr_why *why);
/* The same for two sizes. */
bool tsr_size_meet(tsr_store *s, tsr_size a, tsr_size b, const tsr_why *why);
/* A condition for the run, noted once. */
void tsr_require(tsr_store *s, tsr_condition_kind kind, tsr_size left, tsr_size right, const tsr_why *why);
/* A condition says that a = b. */
bool tsr_size_required(tsr_store *s, tsr_size a, tsr_size b);
/* x with each symbol replaced to which the conditions found so far leave one value, or which they give as the others. */
tsr_size tsr_size_given(tsr_store *s, tsr_size x);
/* x / d, where that may need a derived symbol: floor, with the condition that nothing remains when `exact`. */
bool tsr_size_divide(tsr_store *s, tsr_size x, int64_t d, bool exact, const tsr_why *why, tsr_size *out);
/* The basis of something derived from both: a name beats default; false when two names differ. */
bool tsr_basis_merge(tsr_name a, tsr_name b, tsr_name *out);

/* ---- row.c ------------------------------------------------------------------------------------------------------- */

/* Bound row variables replaced by their values: l.<p>.r or a closed row. `poison` is set when an error touched it. */
tsr_row tsr_row_find(tsr_store *s, tsr_row r, bool *poison);
/* As much of it as alignment asks for: how many axes, and the variable at the marker. */
typedef struct tsr_outline { uint32_t nlead, ntrail, var; } tsr_outline;
tsr_outline tsr_row_outline(tsr_store *s, const tsr_row *r, bool *poison);
static inline uint32_t tsr_row_flanks(tsr_row r) { return r.nlead + r.ntrail; }
static inline bool tsr_row_open(tsr_row r) { return r.var != TSR_NO_ROW; }
/* Axis i of the flat content of the flanks. */
static inline tsr_dim tsr_row_axis(tsr_row r, uint32_t i) { return i < r.nlead ? r.lead[i] : r.trail[i - r.nlead]; }
/* Axes [from, to) of the flat content of a closed row, as a closed row: the marker stays where it falls. */
tsr_row tsr_row_slice(tsr_store *s, tsr_row r, uint32_t from, uint32_t to);
tsr_row tsr_row_copy(tsr_store *s, tsr_row r);
tsr_row tsr_row_empty(void);

/* ---- store.c ----------------------------------------------------------------------------------------------------- */

/* An empty store on an arena of its own. */
tsr_store *tsr_store_on(tsr_compiler *tc, tsr_arena *arena);
uint32_t tsr_row_var_new(tsr_store *s);
/* A new constraint, emitted by the user (parent NULL) or derived from another. It is queued. */
tsr_cstr *tsr_cstr_new(tsr_store *s, tsr_cstr_kind kind, const tsr_cstr *parent, const tsr_why *why);
/* A copy, which is nowhere yet. */
tsr_cstr *tsr_cstr_copy(tsr_arena *a, const tsr_cstr *c);
/* The reason, kept: that of the constraint before where it is the same. */
const tsr_why *tsr_why_keep(tsr_store *s, const tsr_why *why);
/* The emitted constraint that c goes back to. */
const tsr_cstr *tsr_cstr_root(tsr_store *s, const tsr_cstr *c);
typedef struct tsr_place { uint32_t axis, back; } tsr_place;
void tsr_derive_dim(tsr_store *s, tsr_cstr *parent, tsr_cstr_kind kind, tsr_dim a, tsr_dim b, tsr_place at);
/* The two sides of a row constraint. */
void tsr_cstr_rows(tsr_store *s, tsr_cstr *c, tsr_row a, tsr_row b);
void tsr_derive_row_equal(tsr_store *s, tsr_cstr *parent, tsr_row a, tsr_row b);
/* Affine and concat terms replaced by variables with conditions. */
tsr_dim tsr_store_term(tsr_store *s, tsr_dim d, const tsr_cstr *parent, const tsr_why *why);

void tsr_bind_dim(tsr_store *s, uint32_t root, tsr_dim value, const tsr_cstr *cause);
void tsr_join_dims(tsr_store *s, uint32_t a, uint32_t b, const tsr_cstr *cause);
void tsr_lower_dim(tsr_store *s, uint32_t root, tsr_dim atom, const tsr_cstr *cause);
void tsr_bind_row(tsr_store *s, uint32_t root, tsr_row value, const tsr_cstr *cause);
void tsr_join_rows(tsr_store *s, uint32_t a, uint32_t b, const tsr_cstr *cause);
/* After an error: whatever d (the row) is, it becomes poison. */
void tsr_poison_dim(tsr_store *s, tsr_dim d);
void tsr_poison_row(tsr_store *s, tsr_row r);
/* Works the list off. */
void tsr_solve(tsr_store *s);

/* ---- application.c ----------------------------------------------------------------------------------------------- */

/* It waits until the application is complete that is being solved. */
bool tsr_holds(const tsr_store *s, const tsr_cstr *c);

/* ---- terms.c ----------------------------------------------------------------------------------------------------- */

bool tsr_cstr_waits_on_rows(const tsr_cstr *c);

/* ---- watch.c ----------------------------------------------------------------------------------------------------- */

void tsr_enqueue(tsr_store *s, tsr_cstr *c);
/* Of a scheme, the first time is noted. */
void tsr_visited(tsr_store *s, tsr_cstr *c);
void tsr_watch_dim(tsr_store *s, tsr_cstr *c, uint32_t root);
void tsr_watch_row(tsr_store *s, tsr_cstr *c, uint32_t root, tsr_row_side side);
void tsr_wake(tsr_store *s, const tsr_list *watchers);
/* Adds a constraint to a list of a variable; a cell to a list of any cells. */
void tsr_list_add(tsr_store *s, tsr_list *l, const tsr_cstr *c, tsr_row_side side);
void tsr_cells_add(tsr_arena *a, tsr_cells *cells, tsr_list *l, tsr_cell cell);
static inline tsr_cstr *tsr_cell_cstr(const tsr_store *s, uint32_t cell) { return s->cstrs.at[s->cells.at[cell].cstr]; }
/* What waits for a variable whose turn is soon: in a large program it lies far from the processor, which would wait for one after the other. */
enum { TSR_SOON = 8 };
static inline void tsr_list_soon(const tsr_store *s, const tsr_list *l)
{
	for (uint32_t i = l->first, n = 0; n < l->n && n < 4; n++, i = s->cells.at[i].next)
		__builtin_prefetch(tsr_cell_cstr(s, i));
}
/* b's cells behind a's. */
void tsr_list_append(tsr_store *s, tsr_list *a, const tsr_list *b);

/* ---- rules, one visit of one constraint each --------------------------------------------------------------------- */

void tsr_visit_dim_equal(tsr_store *s, tsr_cstr *c);      /* solve_dim.c */
void tsr_visit_dim_below(tsr_store *s, tsr_cstr *c);
/* d = x found by condition c: binds, unifies or reports. */
void tsr_dim_equate(tsr_store *s, tsr_cstr *c, tsr_dim a, tsr_dim b);
/* A variable that cannot be the claim-free unit, because a term defines it. */
bool tsr_dim_strict(tsr_store *s, uint32_t root);
void tsr_visit_row_equal(tsr_store *s, tsr_cstr *c);      /* solve_row.c */
void tsr_visit_row_below(tsr_store *s, tsr_cstr *c);
void tsr_visit_at_least(tsr_store *s, tsr_cstr *c);       /* cond.c */
void tsr_visit_total(tsr_store *s, tsr_cstr *c);
bool tsr_total_made(tsr_store *s, tsr_cstr *c);           /* by the axes that the rows have, were they closed */
void tsr_visit_affine(tsr_store *s, tsr_cstr *c);
void tsr_visit_concat(tsr_store *s, tsr_cstr *c);
bool tsr_rank_diverges(tsr_store *s, uint32_t row_var);   /* rank.c */
void tsr_word_resolve(tsr_store *s, tsr_cstr *c);         /* word.c */
bool tsr_word_deferred(tsr_store *s, const tsr_cstr *c);
bool tsr_pair_concats(tsr_store *s);                       /* pair.c, POLICY; false: none was to be paired */
void tsr_close_bounded(tsr_store *s);                      /* cond.c, POLICY */
void tsr_visit_lookup(tsr_store *s, tsr_cstr *c);         /* gather.c */
void tsr_visit_join(tsr_store *s, tsr_cstr *c);
void tsr_gather_resolve(tsr_store *s, tsr_cstr *c);       /* gather.c, POLICY */
/* After closing: conditions for the run that are decided already, or that no sizes satisfy. */
void tsr_settle_conditions(tsr_store *s);                 /* entry.c */

/* ---- fact.c: facts in words --------------------------------------------------------------------------------------- */

/* "output axis 2", "the last output axis", "axis `h`": where dimension constraint c stands. */
const char *tsr_axis_words(tsr_store *s, const tsr_cstr *c);
const char *tsr_spec_text(tsr_store *s, tsr_span span);        /* of the spec's axis, or of its slot */
/* "`x`", "the left operand", "the result": the tensor on the operand's side of c. */
const char *tsr_operand_words(tsr_store *s, const tsr_cstr *c);
/* Facts told in order, those of one place together. */
typedef struct tsr_telling {
	tsr_store *s;
	tsr_map facts;                   /* those of the chain -> 1, told: 2 */
	TSR_VEC(struct tsr_told { tsr_span span; const char *what; tsr_text text; }) told;
	tsr_map dims;                    /* variables that were followed */
} tsr_telling;
void tsr_telling_init(tsr_telling *t, tsr_store *s, uint32_t n, const uint32_t *facts);
/* Says nothing of the facts of the operation of c: a headline has named them. */
void tsr_tell_not(tsr_telling *t, const tsr_cstr *c);
/* The way of dimension d, which c mentions, back to the places that gave it its size; what is left of the chain. */
void tsr_tell_dim(tsr_telling *t, tsr_dim d);
void tsr_tell_cstr(tsr_telling *t, const tsr_cstr *c, tsr_dim value);
void tsr_tell_rest(tsr_telling *t);

/* ---- explain.c --------------------------------------------------------------------------------------------------- */

void tsr_fault_meet(tsr_store *s, tsr_cstr *c, tsr_dim a, tsr_dim b, tsr_meet how);
void tsr_fault_rank(tsr_store *s, tsr_cstr *c, tsr_row a, tsr_row b);
/* A row of n axes, which is more than there can be. */
void tsr_fault_long(tsr_store *s, const tsr_cstr *c, uint32_t n);
void tsr_fault_infinite(tsr_store *s, tsr_cstr *c);
void tsr_fault_affine(tsr_store *s, tsr_cstr *c, tsr_dim d, tsr_dim over, tsr_dim kernel);
void tsr_fault_unit_term(tsr_store *s, tsr_cstr *c);
void tsr_fault_total(tsr_store *s, tsr_cstr *c, tsr_size have, tsr_size want);
/* Of a total that no step of closing could compare. */
void tsr_fault_product(tsr_store *s, tsr_cstr *c);
void tsr_fault_concat(tsr_store *s, tsr_cstr *c, tsr_size have, tsr_size want);
void tsr_fault_at_least(tsr_store *s, tsr_cstr *c, tsr_size have);
/* A parameter's open axis (its variable), or open row (var TSR_NO_ID). */
void tsr_fault_hidden(tsr_store *s, uint32_t leaf, uint32_t var, tsr_kind kind);
/* A condition that the closed sizes decide, wrongly; left and right are what its sides come to. */
void tsr_fault_condition(tsr_store *s, const tsr_condition *c, tsr_size left, tsr_size right);
void tsr_fault_budget(tsr_store *s, tsr_cstr *c);

/* ---- simplify.c --------------------------------------------------------------------------------------------------- */

/* Of a store that is not closed: interiors that closing would make one are made one. */
void tsr_store_simplify(tsr_store *s, uint32_t nseen, const tsr_shape *seen, uint32_t nlabels, const tsr_label *labels);

/* ---- replay.c, chain.c ----------------------------------------------------------------------------------------------- */

/* What came of solving some facts again. */
typedef struct tsr_trial {
	tsr_store *store;                /* on an arena of its own; freed by tsr_trial_free */
	bool failed;                     /* an error of another kind than a hidden dimension */
	tsr_diag_code code;              /* of the first */
	bool hidden;                     /* a hidden dimension of the parameter at `hidden_at` */
	tsr_span hidden_at;
	uint64_t emitted;                /* constraints that were solved: the cost */
	tsr_shape shape;                 /* the copy of the shape that was asked about */
} tsr_trial;

/* Emits the facts, ids ascending, into a fresh store as they were emitted here, and closes it when `close`. Stops at the first
 * error. `shape` may be NULL. */
tsr_trial *tsr_trial_run(tsr_store *s, uint32_t n, const uint32_t *facts, bool close, const tsr_shape *shape);
void tsr_trial_free(tsr_trial *t);
/* Registers row k of a leaf, whose shape is known, with the source constraint `source`. */
void tsr_leaf_row(tsr_store *s, uint32_t leaf, uint32_t k, tsr_row *r, uint32_t source);

/* The irredundant facts of the error that constraint c found. */
tsr_chain tsr_chain_of(tsr_store *s, const tsr_cstr *c, tsr_diag_code code);
/* The same for a condition that closing decides wrongly, of the operation at `span`; and for a hidden dimension. */
tsr_chain tsr_chain_of_place(tsr_store *s, tsr_span span, tsr_diag_code code);
tsr_chain tsr_chain_of_hidden(tsr_store *s, uint32_t leaf, uint32_t var);

/* ---- print.c ----------------------------------------------------------------------------------------------------- */

void tsr_size_text(tsr_store *s, tsr_text *t, tsr_size x);
void tsr_dim_text(tsr_store *s, tsr_text *t, tsr_dim d);
/* The three rows, in the order of tsr_kind, as one shape. */
const char *tsr_shape_parts_str(tsr_store *s, const char *const *parts);
/* Affine terms, around a writer of their parts. */
typedef void tsr_dim_writer(void *ctx, tsr_text *t, tsr_dim d);
void tsr_affine_text(tsr_text *t, const tsr_affine *a, tsr_dim_writer *write, void *ctx);
void tsr_row_text(tsr_store *s, tsr_text *t, tsr_row r);
const char *tsr_dim_str(tsr_store *s, tsr_dim d);
const char *tsr_row_str(tsr_store *s, tsr_row r);
#endif
