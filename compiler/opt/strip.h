/* Private to strip.c, which finds groups of kernels that run in strips, and strip_build.c, which makes one kernel of them. */
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

enum { TSR_STRIP_MEMBERS = 16 };
typedef TSR_VEC(tsr_buffer_id) tsr_ids;
typedef struct tsr_strip {
	tsr_pass *p;
	tsr_arena *a;
	tsr_loop_unit *unit;
	uint32_t from, n;            /* statements of the unit */
	tsr_strip_member member[TSR_STRIP_MEMBERS];
	tsr_strip_tags loops, axes;
	uint64_t shared;             /* tags of loops around all kernels */
	uint32_t cut;                /* the tag that is cut into strips */
	int64_t extent, rows;        /* of it, and of a strip */
	double saves;                /* nanoseconds */
	tsr_ids kept, passed;        /* what only the group touches, and what it writes for others, too, strip by strip */
	const struct tsr_mask *mask; /* hides positions of row i, as of a strip (masked.h); NULL: there is none */
	const tsr_stmt **only;       /* masked.h; or NULL as yet */
	uint32_t last;               /* the last member that touches what another wrote so */
} tsr_strip;

/* 0: none. */
uint32_t tsr_strip_loop_tag(const tsr_strip *g, uint32_t sym);
uint32_t tsr_strip_axis_tag(const tsr_strip *g, tsr_buffer_id b, uint32_t axis);

/* The second operand of a member's contraction, turned: its axes of N and K, N's loop, and their extents; or in panels of so many columns, of which a copy of the
 * member reads the one with the number `part` (strip_turn.c). */
typedef struct tsr_turned { tsr_buffer_id from; uint32_t n, k, loop, part; tsr_size width, depth; int64_t panel; const tsr_buffer *buffer; tsr_pass *pass; } tsr_turned;
bool tsr_strip_turns(const tsr_strip *g, const tsr_strip_member *m, tsr_turned *out);
/* Its nest; `index`: of the operand, without its loops of N and K. */
void tsr_strip_turn(tsr_strip *g, tsr_turned *t, tsr_lin *index, const tsr_stmt *like, tsr_stmts *out);
/* A copy of the member, which is placed so, reads it: panel by panel. */
void tsr_strip_part(tsr_strip *g, tsr_turned *t, tsr_placing *at);
void tsr_strip_read_turned(tsr_strip *g, tsr_turned *t, tsr_stmts *copy);
/* strip_order.c: how many kernels behind the product at this place, none of which has to do with it or is a product, it has now been put behind.
 * Back again. */
uint32_t tsr_strip_move(tsr_body_uses *u, uint32_t product);
void tsr_strip_move_back(tsr_body_uses *u, uint32_t product, uint32_t n);
/* strip_mask.c: what a mask hides of the group; the nanoseconds that it saves strips of g->rows. */
void tsr_strip_mask(tsr_strip *g);
double tsr_strip_hidden(const tsr_strip *g);
/* Puts one kernel in the place of the group's first; the others are left for the caller to remove. */
void tsr_strip_build(tsr_strip *g);
#endif
