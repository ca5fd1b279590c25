/* Private to strip.c, which finds groups of kernels that run in strips, strip_cost.c, and strip_build.c, which makes one kernel of them. */
#ifndef TSR_OPT_STRIP_H
#define TSR_OPT_STRIP_H
#include "pass.h"

/* Axis `axis` of the first kernel's result is tag axis + 1; `id`: a loop (axis 0), or a buffer. */
typedef struct tsr_strip_tag { uint32_t id, axis, tag; } tsr_strip_tag;
typedef TSR_VEC(tsr_strip_tag) tsr_strip_tags;
typedef struct tsr_strip_member {
	tsr_stmt *kernel;
	tsr_nest nest;
	const tsr_contraction *contraction;      /* of the whole nest, or NULL */
	tsr_accesses x;
} tsr_strip_member;

enum { TSR_STRIP_MEMBERS = 16, TSR_STRIP_GIGAHERTZ = 3 };
typedef TSR_VEC(tsr_buffer_id) tsr_ids;
static inline bool tsr_ids_have(const tsr_ids *v, tsr_buffer_id b)
{
	uint32_t i = 0;
	while (i < v->n && v->at[i] != b)
		i++;
	return i < v->n;
}

/* strip_online.c: members before `last`, of which `rows` is the softmax, go by blocks of the positions with the tag `walk`, 0: none do; where a row goes on with the quotients, in two sweeps. */
typedef struct tsr_online {
	uint32_t walk, rows, last;
	bool twice, hides;
	double outside;                              /* where `hides`, a mask's blocks may be left out (strip_hidden.c): scores there, as the exponential has them */
	tsr_size positions;
	int64_t extent, each, block;                 /* as many positions, where the run alone knows as the guess is; bytes that each has of what is kept, a row; positions of a block, 0: all */
	tsr_buffer_id top, weights, total;           /* a row's maximum as what is subtracted, exponentials, and their sum (TSR_NONE: nobody asks) */
} tsr_online;
/* Statements of the softmax's row that have a place there. */
enum { TSR_ONLINE_TOP = 2, TSR_ONLINE_WEIGHTS = 3, TSR_ONLINE_TOTAL = 6, TSR_ONLINE_QUOTIENT = 7 };

typedef struct tsr_strip {
	tsr_pass *p;
	tsr_arena *a;
	tsr_loop_unit *unit;
	uint32_t from, n;            /* statements of the unit */
	tsr_strip_member member[TSR_STRIP_MEMBERS];
	tsr_strip_tags loops, axes;
	uint64_t shared;             /* tags of loops around all kernels */
	uint32_t cut;                /* the tag that is cut into strips */
	tsr_size size;               /* of it */
	int64_t extent, rows;        /* of it, where the run alone knows as the guess is, and of a strip */
	bool later;                  /* the run alone knows that, or how many positions there are */
	double saves;                /* nanoseconds */
	tsr_ids kept, passed;        /* what only the group touches, and what it writes for others, too, strip by strip */
	tsr_online online;
	const struct tsr_mask *mask; /* hides positions of row i, as of a strip (masked.h); NULL: there is none */
	const tsr_stmt **only;       /* masked.h; or NULL as yet */
	uint32_t last;               /* the last member that touches what another wrote so */
} tsr_strip;

/* What strips are made for where the run alone knows: strips and blocks as large as those of many rows and positions; few are what remains. */
enum { TSR_STRIP_MANY = 4096 };
static inline int64_t tsr_strip_guess(tsr_size s) { return tsr_size_is_const(s) ? s.k : TSR_STRIP_MANY; }
/* strip_cost.c: bytes of the buffer, and iterations of the loop, so guessed. */
int64_t tsr_strip_bytes(const tsr_strip *g, tsr_buffer_id b);
int64_t tsr_strip_loop_guess(const tsr_strip *g, const tsr_contract_loop *loop);
/* Nanoseconds that a byte travels beyond the caches, and in the third. */
#define TSR_STRIP_BYTE 0.1
#define TSR_STRIP_THIRD_BYTE 0.04
/* strip.c: the outer loop of the kernel with this tag, where no other loop of the kernel has it; NULL. */
tsr_stmt *tsr_strip_outer(const tsr_strip *g, const tsr_strip_member *m, uint32_t tag);
/* strip_cost.c: iterations of the shared loops, or (`all`) of those and all rows that are cut; strips; the nanoseconds that they cost. */
int64_t tsr_strip_iterations(const tsr_strip *g, bool all);
double tsr_strip_count(const tsr_strip *g);
double tsr_strip_cost(const tsr_strip *g);

/* strip_names.c: the tags of loops and axes, from the axes of the first product's result; a name is a guess.  0: none. */
void tsr_strip_name_members(tsr_strip *g);
uint32_t tsr_strip_loop_tag(const tsr_strip *g, uint32_t sym);
uint32_t tsr_strip_axis_tag(const tsr_strip *g, tsr_buffer_id b, uint32_t axis);
/* The loop whose bare symbol the index is, or TSR_NONE. */
uint32_t tsr_strip_bare(const tsr_lin *x);

/* The second operand of a member's contraction, turned: its axes of N and K, N's loop, and their extents; or in panels of so many columns, of which a copy of the
 * member reads `parts`, the one with the number `part` from the position `first` on (strip_turn.c). */
typedef struct tsr_turned { tsr_buffer_id from; uint32_t n, k, loop, part; tsr_size width, depth; int64_t panel, parts; tsr_lin first; const tsr_buffer *buffer; tsr_pass *pass; } tsr_turned;
bool tsr_strip_turns(const tsr_strip *g, const tsr_strip_member *m, tsr_turned *out);
/* Its nest; `index`: of the operand, without its loops of N and K. */
void tsr_strip_turn(tsr_strip *g, tsr_turned *t, tsr_lin *index, const tsr_stmt *like, tsr_stmts *out);
/* A copy of the member, which is placed so, reads it: panel by panel of those that a block of N's positions has, or (0) of all. */
void tsr_strip_part(tsr_strip *g, tsr_turned *t, tsr_lin first, int64_t block, tsr_placing *at);
void tsr_strip_read_turned(tsr_strip *g, tsr_turned *t, tsr_stmts *copy);
/* A name in this form, which takes the other's, that no buffer has yet. */
tsr_name tsr_strip_name(tsr_pass *p, const char *form, const tsr_buffer *from);
/* Matrix registers compute the member in thirds (engine/thirds.c), by strips of so many rows. */
bool tsr_strip_thirds(const tsr_strip *g, const tsr_strip_member *m, int64_t rows);
/* strip_order.c: how many kernels behind the product at this place, none of which has to do with it or is a product, it has now been put behind.
 * Back again. */
uint32_t tsr_strip_move(tsr_body_uses *u, uint32_t product);
void tsr_strip_move_back(tsr_body_uses *u, uint32_t product, uint32_t n);
/* strip_mask.c: what a mask hides of the group; the nanoseconds that it saves strips of g->rows. */
void tsr_strip_mask(tsr_strip *g);
double tsr_strip_hidden(const tsr_strip *g);
/* Nanoseconds of a product's multiply-adds. */
double tsr_strip_product(const tsr_strip *g, const tsr_contraction *k);
/* Where a group may go by blocks; how many positions a block of so many rows has, 0: all. */
void tsr_strip_online(tsr_strip *g);
int64_t tsr_online_block(const tsr_strip *g, int64_t rows);
bool tsr_online_sums(const tsr_strip *g, const tsr_strip_member *m);
/* Statement i of the softmax's row is the first sweep's, or the only one's; that sweep wants what the member computes, which stands before the softmax. */
bool tsr_online_first(const tsr_stmts *row, uint32_t i);
bool tsr_online_gathers(const tsr_stmts *row, uint32_t i);        /* it stores what one of the row's sums, or its maximum, is */
bool tsr_online_wanted(const tsr_strip *g, uint32_t m);

bool tsr_strip_hides(tsr_strip *g);

/* Where copies of members stand (strip_build.c). */
typedef struct tsr_strip_place {
	tsr_strip *g;
	uint32_t syms[64];           /* of the shared loops around all kernels, by tag; of the loop over strips at `cut` */
	tsr_stmts *inner;            /* what they hold */
	tsr_turned turned[TSR_STRIP_MEMBERS];        /* per member; no buffer: it is not */
	tsr_lin first;               /* row of the strips' end, for what remains */
	bool online, rest, by_block;         /* rows go by blocks; what remains of them; here by one block */
	tsr_size block;              /* positions of the block that they compute, and its first, where by_block */
	tsr_lin block_first;
	tsr_buffer_id factor, shown; /* per row: what the sums of earlier blocks are scaled by; the weight of hidden positions */
} tsr_strip_place;
/* A copy of the member for so many rows behind what `out` holds. */
void tsr_strip_member_copy(const tsr_strip_place *x, const tsr_strip_member *m, tsr_size rows, tsr_stmts *out);
/* The index counted from the first row of its strip. */
tsr_lin tsr_strip_row(const tsr_strip_place *x, tsr_lin row);
/* Where to put what is done only where most - least is one of the first `size` numbers. */
tsr_stmts *tsr_strip_where(const tsr_strip_place *x, tsr_size least, tsr_size most, tsr_size size, tsr_stmts *out);
/* strip_blocks.c: all members that go by blocks, block by block. */
void tsr_online_build(tsr_strip_place *x, tsr_size rows, tsr_stmts *out);
/* What holds the statements of a nest's innermost loop. */
tsr_stmts *tsr_strip_innermost(tsr_stmts *body);
/* Of a product's copy the loops of its result alone are left, around a store, for which the caller has a value; or which clears it. */
tsr_stmt *tsr_strip_result(tsr_stmts *copy);
void tsr_strip_cleared(const tsr_strip_place *x, const tsr_strip_member *m, tsr_stmts *copy);
/* Puts one kernel in the place of the group's first; the others are left for the caller to remove. */
void tsr_strip_build(tsr_strip *g);
#endif
