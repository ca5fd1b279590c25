/* Shape inference: constraints in, solved shapes out.  The contract is the project's inference paper, sections 1 to 4; the
 * names here are its names.  This room knows no syntax tree and no tensors: a constraint carries a reason (tsr_why) with
 * places and words, and only explain.c turns facts into text.
 *
 *     store = tsr_store_new(tc);
 *     ... tsr_shape values are built, rules emitted as the program is elaborated (solving happens as constraints arrive)
 *     tsr_store_leaf(store, shape, ...) for every leaf
 *     tsr_store_close(store);              the closing policy; errors are reported
 *     tsr_store_solved(store, shape, &out) the result, closed */
#ifndef TSR_SHAPE_SHAPE_H
#define TSR_SHAPE_SHAPE_H
#include "../syntax/spec.h"
#include "../base/text.h"

typedef struct tsr_store tsr_store;

/* ---- sizes that are known when compiling, or when the program runs -------------------------------------------------- */

/* A size: k + sum of coef * symbol.  A symbol is a size known at run time: ?n of a file or an input, or derived from one
 * (see tsr_symbol). Constant sizes have nterms == 0. */
typedef struct tsr_size_term { int64_t coef; uint32_t symbol; } tsr_size_term;
typedef struct tsr_size { int64_t k; uint32_t nterms; const tsr_size_term *terms; } tsr_size;

static inline tsr_size tsr_size_const(int64_t k) { return (tsr_size){k, 0, NULL}; }
static inline bool tsr_size_is_const(tsr_size s) { return s.nterms == 0; }
bool tsr_size_equal(tsr_size a, tsr_size b);
tsr_size tsr_size_add(tsr_arena *a, tsr_size x, tsr_size y);
tsr_size tsr_size_scale(tsr_arena *a, tsr_size x, int64_t factor);

typedef struct tsr_symbol {
	tsr_name name;               /* "n" of ?n */
	tsr_span span;
	bool exported;               /* of an exported signature: rigid, met sizes become run-time conditions */
	bool given;                  /* by a file: there before any call, so no size of a signature solves it */
	bool config;                 /* a configuration value that is not known (scheme.c): written without the ? */
	bool derived;                /* value = floor(dividend / divisor), else given at run time */
	tsr_size dividend; int64_t divisor;
	bool solved; tsr_size value; /* a local ?n that inference found equal to something else */
} tsr_symbol;

/* ---- terms ------------------------------------------------------------------------------------------------------ */

typedef enum { TSR_DIM_VAR, TSR_DIM_ATOM, TSR_DIM_UNIT, TSR_DIM_ZERO, TSR_DIM_AFFINE, TSR_DIM_CONCAT,
	TSR_DIM_POISON       /* what an error touched: agrees with everything, silently */
} tsr_dim_kind;

typedef struct tsr_dim {
	tsr_dim_kind kind;
	uint32_t from;                                               /* the place that gave this size, as a store's id; 0: not known */
	union {
		uint32_t var;                                        /* VAR */
		struct { tsr_size size; tsr_name basis; } atom;      /* ATOM; basis NULL = default; a symbolic atom has terms */
		struct tsr_affine *affine;
		struct { uint32_t n; struct tsr_dim *at; } concat;
	};
} tsr_dim;

typedef struct tsr_affine {
	int64_t stride, dilation, offset;
	tsr_dim over;
	bool has_kernel;
	tsr_dim kernel;
	tsr_pad pad;
	bool runtime;        /* a runtime number is added: the size is only bounded, at_least = what the static part covers */
	bool open;           /* a coefficient or the offset is a configuration value that is not known: nothing is concluded */
	tsr_name stride_name, dilation_name, offset_name, runtime_name, times_name;   /* as written; NULL where there is none */
	int64_t times;       /* with times_name the coefficient of the runtime number */
} tsr_affine;

#define TSR_NO_ROW UINT32_MAX
typedef struct tsr_row {
	uint32_t nlead, ntrail;
	tsr_dim *lead, *trail;
	uint32_t var;                /* row variable at the marker, or TSR_NO_ROW */
	uint32_t from;               /* the leaf's row that stated it, as a store's id; 0: none */
} tsr_row;

typedef struct tsr_shape { tsr_row row[TSR_KINDS]; } tsr_shape;

/* ---- reasons ---------------------------------------------------------------------------------------------------- */

/* The applications inside which an operation stands, innermost first. */
typedef struct tsr_within { tsr_name name; tsr_span site; const struct tsr_within *up; } tsr_within;

/* Where a constraint comes from, in words a user knows. Strings are in the compiler's arena or literals. */
typedef struct tsr_why {
	tsr_span span;               /* the operation, literal, file or declaration */
	tsr_span other;              /* the spec's axis, the operand, or nowhere */
	tsr_span whole;              /* the operation with its operands, or nowhere */
	const char *what;            /* "`*`", "`+* \"i;j=>ij\"`", "the literal", "the file \"x.npz\"", "`set_dim h`", "`{ w }`" */
	tsr_name result;             /* names of the tensors as the user bound them, NULL where there is none */
	tsr_name operands[3];
	uint32_t noperands;          /* of the operation; filled by tsr_emit_rule */
	const tsr_within *within;    /* or NULL */
} tsr_why;

/* ---- building ---------------------------------------------------------------------------------------------------- */

tsr_store *tsr_store_new(tsr_compiler *tc);

tsr_dim tsr_dim_atom(int64_t n, tsr_name basis);
tsr_dim tsr_dim_unit(void);
tsr_dim tsr_dim_symbol(tsr_store *s, uint32_t symbol, tsr_name basis);
tsr_dim tsr_dim_fresh(tsr_store *s, tsr_name label, tsr_span span);
/* A row of known axes: empty leading flank (what literals, files and declarations have). */
tsr_row tsr_row_closed(tsr_store *s, uint32_t n, const tsr_dim *axes);
tsr_row tsr_row_fresh(tsr_store *s);                        /* <p> alone */
tsr_shape tsr_shape_fresh(tsr_store *s);                    /* three open rows */
uint32_t tsr_store_symbol(tsr_store *s, tsr_name name, tsr_span span, bool exported);
void tsr_store_symbol_given(tsr_store *s, uint32_t symbol);
uint32_t tsr_store_nsymbols(const tsr_store *s);
const tsr_symbol *tsr_store_symbol_get(const tsr_store *s, uint32_t symbol);

/* ---- constraints (section 3) -------------------------------------------------------------------------------------- */

void tsr_emit_dim_equal(tsr_store *s, tsr_dim a, tsr_dim b, tsr_why why);
void tsr_emit_dim_below(tsr_store *s, tsr_dim result, tsr_dim operand, tsr_why why);
void tsr_emit_row_equal(tsr_store *s, tsr_row a, tsr_row b, tsr_why why);
void tsr_emit_row_below(tsr_store *s, tsr_row result, tsr_row operand, tsr_why why);
void tsr_emit_at_least(tsr_store *s, tsr_dim d, int64_t n, tsr_why why);
/* Product of all axes of the rows = size (reshape, unpacking: = numerator_coef * d). */
void tsr_emit_total(tsr_store *s, uint32_t n, const tsr_row *rows, tsr_size size, tsr_why why);
void tsr_emit_total_of(tsr_store *s, uint32_t n, const tsr_row *rows, int64_t coef, tsr_dim d, tsr_why why);

typedef enum {
	TSR_LOGIC_POINTWISE, TSR_LOGIC_COMPOSE, TSR_LOGIC_COMPOSE_ACC, TSR_LOGIC_TRANSPOSE, TSR_LOGIC_SPEC,
	TSR_LOGIC_GATHER,            /* operands: what is looked up, the positions, and all positions along its axis */
	TSR_LOGIC_GATHER_ONE         /* the same where the position is one number: the axis is left out */
} tsr_logic;

/* A label of a spec and the dimension variable it became in one derivation; row variables likewise. */
typedef struct tsr_label { tsr_name name; bool is_row; tsr_dim dim; tsr_row row; } tsr_label;

/* One operation's constraints, which shape inference and projection inference both read.  In `spec` every named
 * coefficient and offset has been replaced by its number; runtime terms keep their names. */
typedef struct tsr_rule {
	tsr_logic logic;
	const tsr_spec *spec;            /* SPEC only */
	int64_t least;                   /* GATHER_ONE only: positions that the axis has at least; 0 where the number is one of the run */
	uint32_t noperands;
	tsr_why why;
	uint32_t nlabels;                /* filled by tsr_emit_rule: the labels and row variables of this derivation */
	tsr_label *labels;
} tsr_rule;

/* Emits the constraints of a rule between result and operands, and fills rule->labels.
 * Axes of a concatenation get their discardable components marked. */
void tsr_emit_rule(tsr_store *s, tsr_rule *rule, const tsr_shape *result, const tsr_shape *operands);
const tsr_label *tsr_rule_label(const tsr_rule *rule, tsr_name name);      /* NULL when the spec has no such label */

/* set_dim on a label: a dimension = n; on a row variable: total elements = n. */
void tsr_emit_set_label(tsr_store *s, const tsr_label *l, tsr_size n, tsr_why why);
void tsr_emit_equal_labels(tsr_store *s, const tsr_label *a, const tsr_label *b, tsr_why why);

/* Terms. The result of an expression `stride * over (+ dilation * kernel) (+ offset)`, and of a concatenation; the
 * components that may vanish are marked by tsr_dim_discardable. */
tsr_dim tsr_dim_affine(tsr_store *s, tsr_affine term);
tsr_dim tsr_dim_concat(tsr_store *s, uint32_t n, const tsr_dim *at);
void tsr_dim_discardable(tsr_store *s, tsr_dim component);

/* A leaf: its rows close to their lower bounds. A parameter's open axis is an error that names the hidden dimension. */
typedef enum { TSR_LEAF_PLAIN, TSR_LEAF_PARAM } tsr_leaf_kind;
/* To be called when the tensor is made, before it is used: the axes are stamped with the place. */
void tsr_store_leaf(tsr_store *s, tsr_shape *shape, tsr_leaf_kind kind, tsr_name name, tsr_span span);
/* What explanations call the leaf that was made last, "the literal", and the applications that made it; and its name, when it is
 * bound to one. */
void tsr_store_leaf_called(tsr_store *s, const char *what, const tsr_within *within);
void tsr_store_leaf_named(tsr_store *s, const tsr_shape *shape, tsr_name name);
/* Any other tensor whose solved shape will be asked for. */
void tsr_store_interior(tsr_store *s, const tsr_shape *shape, tsr_name name, tsr_span span);

/* Around an application: what waits outside for rows that it binds hears of them when it is complete (Note [Applications]). */
void tsr_store_enter(tsr_store *s);
void tsr_store_leave(tsr_store *s);

/* ---- regions: what is emitted once for several applications (region.c) ---------------------------------------------- */

typedef struct tsr_region tsr_region;
typedef TSR_VEC(tsr_row) tsr_row_list;
/* For a new store that will be thrown away if anything fails: mistakes are noted and not reported. */
void tsr_store_guess(tsr_store *s);
bool tsr_store_failed(const tsr_store *s);
/* All that is emitted from here to the end. */
tsr_region *tsr_region_begin(tsr_store *s);
void tsr_region_end(tsr_store *s, tsr_region *r);
/* Keeps the solved state as a scheme; false where it mentions what is outside of it. To be called at its end. */
bool tsr_region_keep(tsr_store *s, tsr_region *r);
/* An instance of the scheme: new variables, and nothing to solve. */
tsr_region *tsr_region_repeat(tsr_store *s, const tsr_region *of);
/* What a shape, a label of the one region are in the other; and the reason of what was emitted in [from, end) of the first. */
tsr_shape tsr_region_shape(tsr_store *s, const tsr_region *of, const tsr_region *to, const tsr_shape *shape);
tsr_label tsr_region_label(tsr_store *s, const tsr_region *of, const tsr_region *to, const tsr_label *l);
uint32_t tsr_store_emission(const tsr_store *s);            /* the next constraint's number */
uint32_t tsr_region_begins(const tsr_region *r);
uint32_t tsr_region_ends(const tsr_region *r);              /* the number of the constraint behind its last */
uint32_t tsr_region_why(tsr_store *s, const tsr_region *of, const tsr_region *to, uint32_t from, uint32_t end, const tsr_why *why);

/* Two instances of one scheme, the first of them untouched since, can become one; then every shape of the one is that of the
 * other. `holds`: the shapes stand at the same place of both. */
bool tsr_region_foldable(tsr_store *s, const tsr_region *r, const tsr_region *onto);
bool tsr_region_holds(const tsr_region *r, const tsr_shape *shape, const tsr_region *onto, const tsr_shape *other);
void tsr_region_fold(tsr_store *s, const tsr_region *r, const tsr_region *onto);
/* Now known to be the same; and the same but for what may yet be added to interior rows, which can be linked. */
bool tsr_rows_one(tsr_store *s, tsr_row a, tsr_row b);
bool tsr_dims_one(tsr_store *s, tsr_dim a, tsr_dim b);
bool tsr_shapes_linkable(tsr_store *s, const tsr_shape *a, const tsr_shape *b);
void tsr_shapes_link(tsr_store *s, const tsr_shape *a, const tsr_shape *b, tsr_row_list *links);
/* After closing: no variable of the regions got its value, or a candidate for it, from outside of them, but for those of shapes that
 * were given to every application alike; and nothing was added to linked rows. */
bool tsr_regions_made(uint32_t n, const tsr_region *const *regions, const tsr_shape *shape);     /* one of them made the shape */
bool tsr_region_alone(tsr_store *s, uint32_t n, const tsr_region *const *regions, uint32_t ngiven, const tsr_shape *given,
                      const tsr_row_list *links);

/* ---- schemes of applications (instance.c) --------------------------------------------------------------------------- */

typedef struct tsr_scheme tsr_scheme;
/* Beside `s`, a store of its own: what the application emits goes there, up to the end; then false: it is none, because something failed,
 * or is left to the run. */
tsr_scheme *tsr_scheme_new(tsr_store *s);
tsr_store *tsr_scheme_store(const tsr_scheme *k);
/* An argument as long as this one of `s`; false where there can be none. A size that each application states. */
bool tsr_scheme_argument(tsr_scheme *k, tsr_store *s, const tsr_shape *actual, tsr_shape *out);
tsr_dim tsr_scheme_size(tsr_scheme *k);
/* Before the end: what every instance would find by closing. Seen from outside are these shapes and labels, and leaves. */
void tsr_scheme_simplify(tsr_scheme *k, uint32_t nseen, const tsr_shape *seen, uint32_t nlabels, const tsr_label *labels);
bool tsr_scheme_end(tsr_scheme *k);
uint64_t tsr_scheme_steps(const tsr_scheme *k);
/* Since the end: what its store knows of a shape, in terms that an instance has; before the first one is made. How many constraints are
 * left of those emitted before this one. */
tsr_shape tsr_scheme_shape(tsr_scheme *k, const tsr_shape *shape);
tsr_label tsr_scheme_label(tsr_scheme *k, tsr_label l);
uint32_t tsr_scheme_left(const tsr_scheme *k, uint32_t emission);
/* The scheme, where it says of these arguments and sizes of `s`, as many as it has, what emission would find; where sizes are one in it that are
 * not here, what it is when these are kept apart (what made them one is left to its instances); else NULL. */
tsr_scheme *tsr_scheme_fitting(tsr_scheme *k, tsr_store *s, const tsr_shape *actual, const tsr_dim *sizes);
/* An instance in `s`: free variables of its own, and what is left of the constraints; and, when these have their reasons, these arguments and
 * sizes. */
typedef struct tsr_scheme_copy tsr_scheme_copy;
tsr_scheme_copy *tsr_scheme_instance(const tsr_scheme *k, tsr_store *s, const tsr_shape *actual, const tsr_dim *sizes, const tsr_why *why);
void tsr_scheme_settle(const tsr_scheme *k, tsr_store *s, const tsr_scheme_copy *copy, const tsr_shape *actual, const tsr_dim *sizes,
                       const tsr_why *why);
/* A number that shapes have in common whose rows are as long and open, and whose axes are of the same sort. */
uint64_t tsr_shapes_outline(tsr_store *s, uint32_t n, const tsr_shape *shapes);
tsr_shape tsr_copy_shape(const tsr_scheme_copy *copy, const tsr_shape *shape);
tsr_label tsr_copy_label(const tsr_scheme_copy *copy, tsr_label l);
/* The reason of the constraints [from, to) of those that are left; the number of the first. */
uint32_t tsr_copy_why(tsr_store *s, const tsr_scheme *k, const tsr_scheme_copy *copy, uint32_t from, uint32_t to, const tsr_why *why);
/* An argument as the instance has it. */
tsr_shape tsr_scheme_given(const tsr_scheme *k, const tsr_scheme_copy *copy, uint32_t argument);

/* What is open in the shape becomes poison: a mistake elsewhere keeps it from being known. */
void tsr_store_poison(tsr_store *s, const tsr_shape *shape);

/* ---- closing and results ------------------------------------------------------------------------------------------ */

typedef struct tsr_solved_axis { tsr_size size; tsr_name basis; bool unit; } tsr_solved_axis;   /* unit: claim-free 1 */
typedef struct tsr_solved_row { uint32_t n, marker; tsr_solved_axis *axes; } tsr_solved_row;    /* rank grows before axes[marker] */
typedef struct tsr_solved { tsr_solved_row row[TSR_KINDS]; } tsr_solved;

/* The five closing steps with solving in between; reports what fails. True when every constraint is satisfied. */
bool tsr_store_close(tsr_store *s);
/* After closing: the shape; false for the shape of something an error touched (poison). */
bool tsr_store_solved(tsr_store *s, const tsr_shape *shape, tsr_solved *out);
bool tsr_store_dim(tsr_store *s, tsr_dim d, tsr_solved_axis *out);
/* Of sizes that the conditions for the run make equal the one that says most: whichever of them a shape was found to have. */
void tsr_solved_given(tsr_store *s, tsr_solved *shape);
/* A captured label as a number: a dimension's size, or the product of a row's axes (symbolic products are not supported: false). */
bool tsr_store_label(tsr_store *s, const tsr_label *l, tsr_size *out);

/* Run-time conditions, to be tested on entry: left = right, because a symbol of an exported signature (or one that is derived
 * by a division) met another size; left >= right, because a fixed position, a window or a runtime number needs that much. */
typedef enum { TSR_CONDITION_EQUAL, TSR_CONDITION_AT_LEAST } tsr_condition_kind;
typedef struct tsr_condition { tsr_condition_kind kind; tsr_size left, right; tsr_why why; } tsr_condition;
uint32_t tsr_store_nconditions(const tsr_store *s);
const tsr_condition *tsr_store_condition(const tsr_store *s, uint32_t i);
/* A size with the solved symbols replaced. */
tsr_size tsr_store_size(tsr_store *s, tsr_size x);
const char *tsr_size_str(tsr_store *s, tsr_size x);         /* "?n-1" */

/* "12 | 5 -> rgb:3", with ?n for symbolic sizes and 1* where a claim-free unit must be told apart. */
const char *tsr_solved_str(tsr_store *s, const tsr_solved *shape);
/* The same for tsr_print_tensor, which knows the sizes: one that only the run knows is `mark` and 'A' + its axis in memory order. */
const char *tsr_solved_marked_str(tsr_store *s, const tsr_solved *shape, char mark);
/* Unsolved shapes, for dumps: variables as their labels or 'a. */
const char *tsr_shape_str(tsr_store *s, const tsr_shape *shape);
/* --dump=shape: all constraints with reasons, then bindings. */
void tsr_store_print(tsr_store *s, FILE *out);
/* Every emitted constraint holds in the closed store; a fault of ours when not. */
void tsr_store_check(tsr_store *s);

/* ---- schemes ------------------------------------------------------------------------------------------------------
 * The constraints of a function of which nobody has given the arguments are solved in a store that is never closed. */

/* A shape of another store: what is open there is a fresh variable here, the same for the same. */
typedef struct tsr_import { tsr_store *to, *from; struct tsr_map *dims, *rows, *symbols; } tsr_import;
tsr_import *tsr_import_new(tsr_store *to, tsr_store *from);
tsr_shape tsr_shape_import(tsr_import *im, const tsr_shape *shape);
/* A row: the configuration value `name` as a size. */
uint32_t tsr_store_config_symbol(tsr_store *s, tsr_name name, tsr_span span);

/* Reads the constraints as those of operands that do not broadcast (principal.c), but for the constraints named in `kept`. False when
 * they contradict each other then; `*failed` is the one to keep. */
typedef TSR_VEC(uint32_t) tsr_kept;
bool tsr_store_principal(tsr_store *s, const tsr_kept *kept, uint32_t *failed);
/* Text in spec notation in which each variable has a name. All shapes are announced first. */
typedef struct tsr_namer tsr_namer;
tsr_namer *tsr_namer_new(tsr_store *s);
void tsr_namer_announce(tsr_namer *n, const tsr_shape *shape);
const char *tsr_namer_shape(tsr_namer *n, const tsr_shape *shape);
/* What else holds of the variables that were announced: "n = 2*m, ..b.. <= ..c..", or "". */
const char *tsr_namer_where(tsr_namer *n);

/* ---- why ---------------------------------------------------------------------------------------------------------- */

/* The facts that an error, or a solved size, follows from: ids of emitted constraints and of leaves' rows, ascending. */
typedef struct tsr_chain {
	tsr_diag_code code;              /* of the error; TSR_DIAG_COUNT for a size */
	tsr_span span;
	bool closing;                    /* found by closing, not by the constraints alone */
	bool irredundant;                /* without any one of them it does not follow; false where that took too long to find out */
	uint32_t nfacts;
	const uint32_t *facts;
	tsr_dim start;                   /* of a size: the axis, whose way back is told first */
} tsr_chain;

uint32_t tsr_store_nchains(const tsr_store *s);              /* one per error */
const tsr_chain *tsr_store_chain(const tsr_store *s, uint32_t i);
/* Solves the facts of a chain again, in a fresh store, without its fact `except` (nfacts: with all): is the error there? */
bool tsr_chain_holds(tsr_store *s, const tsr_chain *chain, uint32_t except);
/* After closing: why axis `axis` of a shape's row has its size. */
tsr_chain tsr_store_why(tsr_store *s, const tsr_shape *shape, tsr_kind kind, uint32_t axis);
bool tsr_why_holds(tsr_store *s, const tsr_chain *chain, uint32_t except, const tsr_shape *shape, tsr_kind kind, uint32_t axis);
/* A chain in words, fact by fact. */
typedef TSR_VEC(tsr_note) tsr_notes;
void tsr_chain_words(tsr_store *s, const tsr_chain *chain, tsr_notes *out);

/* steps: visits of constraints; looks: places of lists that were looked at. Both are the cost, whatever the machine. */
typedef struct tsr_store_stats { uint64_t steps, looks, constraints, dim_vars, row_vars; } tsr_store_stats;
tsr_store_stats tsr_store_statistics(const tsr_store *s);
#endif
