/* The oracle of shape inference: small problems, their ground solutions by enumeration, and what the solver says of them.
 *
 *   problem.c   problems: terms, rows, constraints; printing; symmetries
 *   ground.c    the ground semantics of sections 1 to 3 on numbers alone
 *   search.c    the search for solutions: every rank and marker, then every assignment that pairs of axes leave
 *   solver.c    runs the solver on a problem, in a given order of arrival; the only file that sees its headers
 *   judge.c     compares the two: the statements of section 6; symbols.c for sizes known when the program runs
 *   dims.c rows.c   which problems: every small one, and samples of larger ones
 *
 * A ground dimension is a code: UNIT (claim-free), ZERO (the empty summand), or ATOM(size, basis). */
#ifndef TSR_ORACLE_H
#define TSR_ORACLE_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { UNIT = 0, ZERO = 1, NOTHING = -1 };
#define ATOM(size, basis) ((size) << 2 | (basis))       /* basis: 0 default, 1 and 2 named */
static inline int size_of(int code) { return code == UNIT ? 1 : code == ZERO ? 0 : code >> 2; }
static inline int basis_of(int code) { return code < 4 ? 0 : code & 3; }
/* In problems alone: the size that is symbol k, known when the program runs. */
#define SYMBOL(k, basis) (1 << 12 | (k) << 2 | (basis))
static inline bool is_symbol(int code) { return code >> 12 == 1; }
static inline int symbol_of(int code) { return code >> 2 & 63; }

enum { MAX_SYMBOLS = 2, MAX_DIMS = 4, MAX_ROWS = 4, MAX_FLANK = 3, MAX_CONS = 5, MAX_RANK = 16, MAX_PARTS = 3 };

/* ---- problems ---------------------------------------------------------------------------------------------------- */

typedef enum { T_CONST, T_VAR, T_AFFINE, T_CONCAT } term_kind;
typedef struct simple { bool is_var; int8_t at; int16_t code; } simple;   /* a variable, or a code */
typedef struct term {
	term_kind kind;
	simple part[MAX_PARTS];          /* CONST, VAR: part[0]; AFFINE: over, kernel; CONCAT: the components */
	int8_t nparts;
	int8_t stride, dilation, offset; /* AFFINE; nparts == 2 when it has a kernel */
	bool padded;
} term;

typedef struct flat_row { int8_t nlead, ntrail, var; term lead[MAX_FLANK], trail[MAX_FLANK]; } flat_row;   /* var -1: closed */

typedef enum { DIM_EQ, DIM_LE, ROW_EQ, ROW_LE, AT_LEAST, TOTAL, JOIN, LOOKUP } cons_kind;
/* LE: a (result) <= b (operand). TOTAL: the axes of the first `nrows` of ra, rb have n elements, or n * a where a has parts.
 * JOIN: ra is rb, then rc. LOOKUP: a is the leftmost axis of ra (batch), else all of rb (input); the rest of them is rc and rd. */
typedef struct cons { cons_kind kind; term a, b; flat_row ra, rb, rc, rd; int16_t n; int8_t nrows; } cons;
/* The rows of a constraint that lines up axes; 0 for the others. */
int rows_of(const cons *c, const flat_row **out);

typedef enum { INTERIOR, LEAF, PARAM } role;
typedef struct problem {
	int ndims, nrows, ncons;
	role dim_role[MAX_DIMS], row_role[MAX_ROWS];
	bool discardable[MAX_DIMS];
	int nsymbols;
	bool exported[MAX_SYMBOLS];
	cons at[MAX_CONS];
} problem;

term term_code(int code);
term term_var(int v);
void problem_print(const problem *p, FILE *out);
/* The problem with these values for its symbols. */
problem problem_at(const problem *p, const int *values);

/* ---- ground solutions -------------------------------------------------------------------------------------------- */

typedef struct ground_row { int n, marker, at[MAX_RANK]; } ground_row;
typedef struct ground { int dim[MAX_DIMS]; ground_row row[MAX_ROWS]; } ground;

bool code_below(int res, int op);
/* The value of a term, NOTHING where it has none; the rank of a row, and where its marker stands. */
int ground_term(const term *t, const int *dim);
int ground_rank(const flat_row *r, const ground *g);
int ground_marker(const flat_row *r, const ground *g);
bool ground_is_order(const cons *c);
/* Whether the ranks alone allow the constraint. */
bool ground_ranks_fit(const cons *c, const ground *g);
bool ground_holds(const problem *p, const cons *c, const ground *g);
/* Whether every constraint agrees on where the markers of its sides fall: what the marker policies keep. */
bool ground_markers_agree(const problem *p, const cons *c, const ground *g);

/* The same for what arithmetic makes known. */
bool ground_terms_agree(const problem *p, const ground *g);

/* A statement about a solution; the solver's bindings before closing are such. */
typedef enum { F_DIM, F_SAME, F_RANK_AT_LEAST, F_RANK, F_MARKER, F_LEAD, F_TRAIL } fact_kind;
typedef struct fact { fact_kind kind; int var, other, value; } fact;   /* LEAD, TRAIL: axis `other` from that end */

/* What is asked of a solution besides the constraints of the problem. */
typedef struct query {
	int max_rank;
	bool agree;                      /* only solutions whose markers and terms agree */
	bool markers;                    /* all markers are tried, also of fixed rows and where no constraint depends on them */
	const int *codes; int ncodes;    /* values of a dimension */
	/* Fixed beforehand: NULL, or for each variable whether `fixed` has its value. */
	const ground *fixed; bool fix_dim[MAX_DIMS], fix_row[MAX_ROWS];
	/* Strictly above `fixed` in some variable, and not below it in any. */
	bool higher, markers_stay;       /* and a row has no more axes than there on either side of the marker */
	const fact *against; int nagainst;   /* statements of which the solution contradicts one */
	long budget;                     /* assignments that are tried at most; 0: all */
	int *gave_up;                    /* counts the searches that reached it; or NULL */
	/* Called for each solution; true ends the search. NULL: the first one ends it. */
	bool (*found)(void *context, const ground *g);
	void *context;
} query;

/* True when the search was ended by a solution; `contradicted` (or NULL) is the place of the statement that it contradicts. */
bool ground_search(const problem *p, const query *q, ground *out, int *contradicted);
/* Collects all solutions over dimensions alone; returns their number, at most max. */
int ground_all_dims(const problem *p, const int *codes, int ncodes, int (*out)[MAX_DIMS], int max);
/* The codes that a problem needs: those that occur in it, the unit, and an atom that does not occur. */
int codes_of(const problem *p, int *out, int largest);

/* ---- the solver -------------------------------------------------------------------------------------------------- */

enum { MAX_FACTS = 48 };

typedef struct outcome {
	bool early_error, error;         /* before closing; in the end */
	bool exhausted;                  /* the step budget */
	bool unsolved;                   /* closing said yes, and something has no value */
	bool open_choice;                /* when closing began, a leaf, a term's size or a word equation was open */
	bool alignments;                 /* then an alignment waited for the rank of its result */
	bool words;                      /* then a word equation was */
	bool lookups;                    /* then a lookup or a join of rows was */
	int nfacts;
	fact facts[MAX_FACTS];
	ground result;
	unsigned long steps;
} outcome;

void solver_run(const problem *p, const int *order, outcome *out);

/* What an outcome says of one choice of values for the symbols: whether it may be, as far as known before closing and in the
 * end (solved symbols have these values, the conditions hold), and then the result. */
typedef struct at_values { int value[MAX_SYMBOLS]; bool early, holds, unsolved; ground result; } at_values;
void solver_run_at(const problem *p, const int *order, outcome *out, at_values *at, int n);

/* ---- judging ----------------------------------------------------------------------------------------------------- */

/* Policies that may make the outcome depend on the order: judge.c says when each is believed. */
typedef enum { BY_NOTHING, BY_MARKERS, BY_SIZES, BY_ALIGNMENTS, BY_WORDS, BY_LOOKUPS, POLICIES } policy;
extern const char *const policy_names[POLICIES];

typedef struct tally {
	unsigned long sets, runs, failed, unsatisfiable, early, closed, refused, ambiguous[POLICIES], most_steps;
	int gave_up;                     /* searches that were not brought to an end */
	int shown;                       /* disagreements that are still printed */
	int doubts[POLICIES];            /* ambiguous sets that are still printed */
} tally;

/* One problem in every order of arrival. The closing of dimensions without terms is foretold exactly. */
void judge_dims(const problem *p, tally *t);
void judge_rows(const problem *p, tally *t);
/* Dimensions with affine and concatenated terms: sizes beyond those that occur. */
void judge_terms(const problem *p, tally *t);
/* The same with symbols, for every choice of small values. */
void judge_symbols(const problem *p, tally *t);
bool next_order(int *order, int n);
void complain(const problem *p, tally *t, const char *what, const ground *g);
bool holds_all(const problem *p, const ground *g);
void judge_budget(const problem *p, tally *t, const outcome *out);

/* ---- generators: `every` n-th problem of what is enumerated, `samples` of what is sampled -------------------------- */

typedef struct plan {
	unsigned long every_dims4, every_dims, every_rows1, every_rows2, every_rows3, terms, symbols, rows, totals, lookups, maps;
	uint64_t seed;
	unsigned part, parts;            /* of these many shares of all problems this one is judged */
} plan;
void dims_every(const plan *plan, tally *t);
void dims_sampled(const plan *plan, tally *t);
void symbols_sampled(const plan *plan, tally *t);
void maps_sampled(const plan *plan, tally *t);
void rows_every(const plan *plan, tally *t);
void rows_sampled(const plan *plan, tally *t);
void lookups_sampled(const plan *plan, tally *t);

static inline uint64_t scrambled(uint64_t x)
{
	x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
	return (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
}

/* Whether problem i of a family is in the plan's share. */
static inline bool in_share(const plan *plan, unsigned long i) { return (scrambled(i) >> 40) % plan->parts == plan->part; }
/* The seed of sample i. */
static inline uint64_t seed_of(const plan *plan, unsigned long i) { return scrambled(plan->seed + scrambled(i + 1)) | 1; }

static inline uint32_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (uint32_t)(*seed >> 16);
}
static inline int pick(uint64_t *seed, int n) { return (int)(random_next(seed) % (uint32_t)n); }
#endif
