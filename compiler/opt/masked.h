/* Private to masked.c, which finds strips that a mask hides parts of, masked_value.c, which says what expressions are there, masked_hope.c, which says what has to be asked, and
 * masked_build.c, which leaves the parts out. */
#ifndef TSR_OPT_MASKED_H
#define TSR_OPT_MASKED_H
#include "pass.h"

/* What a value is at positions that the mask leaves out: anything; finite, if what its product reads is of moderate size; the same all along a row; 0. */
typedef enum { TSR_MASKED_ANY, TSR_MASKED_FINITE, TSR_MASKED_ALIKE, TSR_MASKED_ZERO } tsr_masked_class;
/* `of`: the buffer that holds ALIKE values, as they lie there; or TSR_NONE. */
typedef struct tsr_masked_value { tsr_masked_class cls; tsr_buffer_id of; } tsr_masked_value;

/* An element inside these loops of the strips, and of no more. */
typedef struct tsr_masked_operand { const tsr_expr *x; uint32_t n; const tsr_contract_loop *loops; } tsr_masked_operand;
/* `own`: of the strips alone.  Its axes of positions and of a strip's rows, or TSR_NONE; what was stored there last; `version` counts what is. */
typedef struct tsr_masked_buffer {
	bool own;
	uint32_t axis, rows, version;
	tsr_masked_value now;
	tsr_masked_operand product[2];       /* of what FINITE values are products */
} tsr_masked_buffer;
/* ALIKE values of a buffer that must turn out to be zero. */
typedef struct tsr_masked_hope { tsr_buffer_id b; uint32_t version; } tsr_masked_hope;
typedef struct tsr_masked_local { tsr_local_id id; tsr_masked_value is; } tsr_masked_local;
/* In statement `at` of the strips, of that contraction or NULL, a loop over so many positions each.  sums: nothing is wanted of what is left out, not even zeros. */
typedef struct tsr_masked_cut { tsr_stmt *loop; tsr_contraction *contraction; uint32_t at; int64_t each; bool sums; } tsr_masked_cut;

/* The loop over positions, or over panels of them, and how many there are (0: the run knows); of strip s all are hidden from step * s + first on (`upper`), and before step * s + low (`lower`); the number that stands for them. */
typedef struct tsr_mask { uint32_t along; int64_t step, first, low, extent; const tsr_expr *outside; bool upper, lower, panels; } tsr_mask;

/* Of a strip's blocks of so many positions, all of which hang on its loop: of strip s all positions are hidden from step * s + first on, and may be left out where each row has 0 in `shown`, which a nest
 * behind the first sweep stores; `second`: this is the second sweep. */
typedef struct tsr_hidden { int64_t step, first, block; tsr_buffer_id shown; bool second; } tsr_hidden;

typedef struct tsr_masked {
	tsr_pass *p;
	tsr_arena *a;                        /* of the search */
	const tsr_stmt **only;               /* per buffer: the store that alone writes it, all over, with its nest; or NULL */
	tsr_loop_unit *unit;
	tsr_stmt *strips;
	tsr_name kernel;
	tsr_mask mask;
	bool later;                          /* positions, and strips, may be as many as the run says */
	bool any, below;                     /* below: something else than 0 stands for what is hidden, of which a softmax makes 0 */
	TSR_VEC(uint32_t) along;             /* loops over those positions */
	uint32_t panel, within;              /* those of a mask inside panels of them, where `panels` */
	bool panels;
	tsr_masked_buffer *buffers;
	TSR_VEC(tsr_masked_local) locals;
	TSR_VEC(tsr_masked_operand) operands;  /* that must be of moderate size */
	TSR_VEC(tsr_masked_hope) hopes;
	TSR_VEC(tsr_masked_cut) cuts;
	int64_t beyond;                      /* positions behind a strip's limit that are computed all the same */
	uint32_t at, checked;                /* the statement of the strips that is looked at; the last one that a hope waits for */
	TSR_VEC(const tsr_stmt *) around;    /* loops between the strips and here */
} tsr_masked;

/* masked_value.c: of each buffer that one statement alone writes, all over, that statement; or NULL. */
const tsr_stmt **tsr_only_stores(const tsr_loops *l, tsr_arena *a);
/* The first mask in the statements sets the limit, and those like it say which loops are `along`. */
void tsr_masks_find(tsr_masked *m, tsr_stmts *body);
enum { TSR_MASKED_BEYOND = 16 };
/* Of the positions of so many strips those that are computed, so many hidden ones beside them. */
double tsr_masked_share(const tsr_mask *x, int64_t strips, int64_t beyond);
/* The expression is a choice between what is seen and a number, which stands for what is hidden. */
bool tsr_mask_of(const tsr_masked *m, const tsr_expr *x, tsr_mask *out);
/* Of an expression inside the loop with this symbol, one of `along`. */
tsr_masked_value tsr_masked_value_of(tsr_masked *m, const tsr_expr *x, uint32_t sym);
/* It is 0, or there is hope. */
bool tsr_masked_vanishes(tsr_masked *m, tsr_masked_value v);
bool tsr_masked_along(const tsr_masked *m, uint32_t sym);
/* The contraction's sums are finite where both operands are of moderate size; false: that cannot be asked. */
bool tsr_masked_finite(tsr_masked *m, const tsr_contraction *k, tsr_masked_operand operands[2]);
/* It must be of moderate size, in the loops that are around here; false: strips write it. */
bool tsr_masked_look_at(tsr_masked *m, const tsr_expr *operand);
/* masked_hope.c: what is hoped can be asked, after a statement (`checked`) up to which all can be done again. */
bool tsr_masked_hopes(tsr_masked *m);
bool tsr_mask_same(const tsr_mask *x, const tsr_mask *y);
/* masked_blocks.c: of the strips' blocks those that are hidden are left out; false: there are none, or something else touches what they do. */
bool tsr_masked_blocks(tsr_masked *m, tsr_stmts *body, uint32_t at);
/* masked_build.c: the statement of `body` that the strips are gets what has been found. */
void tsr_masked_build(tsr_masked *m, tsr_stmts *body, uint32_t at);
/* Its parts: a local that is false, or what another one (TSR_NONE: none) is, behind which comes what may set it, and a symbol that is its number; the operands of all strips, or each strip's own rows of
 * the others; the statement with all of its iterations. */
typedef struct tsr_masking { tsr_masked *m; tsr_pass *p; tsr_arena *a; uint32_t whole, again; } tsr_masking;
tsr_local_id tsr_masking_flag(const tsr_masking *x, tsr_local_id like, tsr_stmts *out);
uint32_t tsr_masking_number(const tsr_masking *x, tsr_local_id flag, tsr_stmts *out);
void tsr_masking_look(const tsr_masking *x, bool own, tsr_local_id flag, tsr_stmts *out);
tsr_stmt *tsr_masking_set(const tsr_masking *x, tsr_local_id flag, tsr_expr *bad);
tsr_stmt *tsr_masking_all(const tsr_masking *x, const tsr_stmt *s);
#endif
