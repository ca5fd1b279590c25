/* Einsum and index specs: "... | h, 2*oh<+wh -> c ; k => ... | oh".
 *
 * A spec is slots separated by ';', then '=>', then the result's slot (absent in a type annotation, which is one slot).
 * A slot is three rows, a row is axes around at most one row variable.  Labels and row variables are plain names here;
 * they become fresh variables each time a rule is derived.  The identifier mode (language.md, "Specs") is decided here
 * and does not show in the result. */
#ifndef TSR_SYNTAX_SPEC_H
#define TSR_SYNTAX_SPEC_H
#include "../diag/diag.h"

typedef enum { TSR_BATCH, TSR_INPUT, TSR_OUTPUT, TSR_KINDS } tsr_kind;

typedef enum {
	TSR_AXIS_LABEL,      /* h */
	TSR_AXIS_WILD,       /* _   : an axis of its own */
	TSR_AXIS_FIXED,      /* 2   : a position in an operation's spec, a size in an annotation */
	TSR_AXIS_SYMBOL,     /* ?n  : a size known at run time (annotations) */
	TSR_AXIS_AFFINE,     /* 2*o<+3*k + 1, size*@i + j */
	TSR_AXIS_CONCAT,     /* a^3^b, row: a^3^b */
	TSR_AXIS_JOINT       /* (h, w), (..o.., c): several axes as one, the last one running fastest */
} tsr_axis_kind;

typedef enum { TSR_PAD_NONE, TSR_PAD_VALID, TSR_PAD_SAME } tsr_pad;   /* no kernel term;  <+  ;  =+ */

/* One term of an affine axis: coefficient (a number, or the name of a configuration value) times a label; or, with
 * `runtime`, times a runtime number of the program (written @i). */
typedef struct tsr_term {
	int64_t coef;            /* 1 where none is written */
	tsr_name coef_name;      /* or NULL */
	tsr_name label;
	bool runtime;
	tsr_span span;
} tsr_term;

typedef struct tsr_component {   /* of a concatenation or a joint axis */
	tsr_name label;          /* NULL: a constant size */
	bool row;                /* of a joint axis: the name of a row variable */
	int64_t size;
	tsr_span span;
} tsr_component;

typedef struct tsr_axis {
	tsr_axis_kind kind;
	tsr_span span;
	tsr_name label;                        /* LABEL, SYMBOL */
	tsr_name basis;                        /* annotations: (3 : rgb), (1 : bcast_if_1); NULL = default */
	int64_t size;                          /* FIXED */
	struct {
		tsr_term over;                 /* the strided term; label NULL when the axis is offset + runtime only */
		tsr_term kernel;               /* label NULL where there is none */
		tsr_pad pad;
		tsr_term runtime;              /* label NULL where there is none */
		int64_t offset;
		tsr_name offset_name;          /* a configuration value added to offset, or NULL */
	} affine;
	struct { uint32_t n; tsr_component *at; tsr_name name; } concat;    /* name: of the whole axis, NULL where none is written; JOINT, too, has its parts here */
} tsr_axis;

typedef struct tsr_spec_row {
	uint32_t nlead, ntrail;
	tsr_axis *lead, *trail;      /* a row without a variable has all its axes in trail */
	tsr_name var;            /* row variable, NULL when the row is closed; "..." is named "batch", "input" or "output" */
	tsr_span var_span;
} tsr_spec_row;

typedef struct tsr_spec_slot { tsr_spec_row row[TSR_KINDS]; tsr_span span; } tsr_spec_slot;

typedef struct tsr_spec {
	const char *text;
	tsr_span span;
	uint32_t noperands;          /* 0 in an annotation */
	tsr_spec_slot *operands;
	tsr_spec_slot result;        /* the only slot of an annotation */
} tsr_spec;

/* Parses `text`, whose first byte stands at `span.start` of its file. A malformed spec is reported (E_BAD_SPEC, with a
 * caret at the character) and gives NULL. */
tsr_spec *tsr_spec_parse(tsr_compiler *tc, const char *text, tsr_span span);
tsr_spec *tsr_annotation_parse(tsr_compiler *tc, const char *text, tsr_span span);
/* Back to text, in identifier mode. */
const char *tsr_spec_str(tsr_arena *a, const tsr_spec *s);
#endif
