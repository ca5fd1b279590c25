/* A function that nobody has called is elaborated with arguments that are not known.
 *
 * What an argument is shows in what is done with it: the operand of an operation is a tensor, a size or a condition is
 * configuration. Until then it is open. An argument that was taken for a tensor and is then needed as configuration makes
 * the attempt void, and the next attempt knows better (tsr_unknown_configure).
 *
 * A list that is not known is one of one element, which some caller may give.
 *
 * Whole numbers are kept as linear forms over the names of arguments, so that what they say of sizes can be said by name; other
 * arithmetic gives a value that has only its text. Where the way depends on an unknown value a choice is made; the
 * attempts go through all of them. A mistake on a way on which the choices do not hang together is a mistake of the
 * function: some call takes that way. */
#ifndef TSR_CONFIG_UNKNOWN_H
#define TSR_CONFIG_UNKNOWN_H
#include "config.h"

typedef enum { TSR_UNKNOWN_OPEN, TSR_UNKNOWN_TENSOR, TSR_UNKNOWN_CONFIG, TSR_UNKNOWN_LIST } tsr_unknown_kind;
typedef struct tsr_unknown_term { int64_t coef; tsr_name name; } tsr_unknown_term;

typedef struct tsr_unknown {
	tsr_name text;                   /* as it would be written: "d_k", "2*size-1" */
	uint64_t from;                   /* the arguments that it depends on, as bits */
	tsr_unknown_kind kind;
	uint32_t tensor;                 /* TENSOR: elab's id */
	tsr_value list;                  /* LIST: of one element */
	int64_t k;                       /* as a number: k + sum of coef * name, terms sorted by name */
	uint32_t nterms;
	const tsr_unknown_term *terms;
} tsr_unknown;

typedef enum { TSR_CHOICE_FLAG, TSR_CHOICE_GIVEN, TSR_CHOICE_IF, TSR_CHOICE_MATCH } tsr_choice_kind;
typedef struct tsr_choice { tsr_choice_kind kind; tsr_name what; uint64_t from; uint32_t n, first, turn; } tsr_choice;
typedef struct tsr_passed { tsr_span span; const char *text; } tsr_passed;

/* All attempts at one function. */
typedef struct tsr_guess {
	bool defaults;                   /* optional arguments with a default are left out */
	tsr_map config;                  /* texts of what must be configuration, as earlier attempts found out */
	TSR_VEC(tsr_choice) choices;
	/* of one attempt */
	uint32_t at;                     /* choices made so far */
	uint64_t decided;                /* arguments that they depend on */
	uint32_t narguments;
	uint64_t steps, most_steps;
	bool again;                      /* void: `config` has grown */
	bool unsure;                     /* the choices hang together, or a part of the way was not gone */
	bool given_up;
	TSR_VEC(tsr_passed) passed;      /* what was passed over, for --verbose */
} tsr_guess;

tsr_guess *tsr_guess_new(tsr_eval *ev);
/* One attempt lies between the two. */
void tsr_guess_begin(tsr_eval *ev, tsr_guess *g);
void tsr_guess_end(tsr_eval *ev, tsr_guess *g);
/* Another way is left to be gone. */
bool tsr_guess_next(tsr_guess *g);
tsr_guess *tsr_eval_guess(const tsr_eval *ev);       /* NULL outside attempts */

/* A parameter and what it was given. */
typedef struct tsr_guess_argument { tsr_arg_kind kind; tsr_name name; tsr_value value; bool unit; } tsr_guess_argument;
typedef TSR_VEC(tsr_guess_argument) tsr_guess_arguments;
/* f applied to arguments that are not known, which are added to `out`. */
tsr_value tsr_guess_apply(tsr_eval *ev, tsr_value f, tsr_span site, tsr_guess_arguments *out);
/* Of a closure: the syntax of its optional arguments has a default that is a number. */
bool tsr_guess_has_defaults(tsr_value f);

tsr_value tsr_unknown_value(tsr_eval *ev, tsr_unknown_kind kind, uint64_t from, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* It is a list; poison where it is a tensor already. */
tsr_value tsr_unknown_list(tsr_eval *ev, tsr_unknown *u);
/* It is configuration from here on; false where it is a tensor already. */
bool tsr_unknown_configure(tsr_eval *ev, tsr_unknown *u);
/* Something is not looked at, because it depends on what is not known. */
void tsr_unknown_pass(tsr_eval *ev, tsr_span span, const char *text);
/* The rest of this way is not gone. */
void tsr_unknown_give_up(tsr_eval *ev, tsr_span span, const char *text);
#endif
