/* Private to remat*.c: a unit as it is looked at when something in it may be computed again. */
#ifndef TSR_OPT_REMAT_H
#define TSR_OPT_REMAT_H
#include "pass.h"

typedef struct tsr_touch { uint32_t at; bool writes; } tsr_touch;
typedef struct tsr_touches { TSR_VEC(tsr_touch) v; } tsr_touches;

typedef struct tsr_remat {
	tsr_pass *p;
	tsr_loops *l;
	tsr_arena *a, *step;         /* of all of it, and of one look */
	bool *exposed;
	bool twice;                  /* what has to come sooner for others may be computed twice */
	uint32_t unit;
	tsr_body_uses *units;        /* per unit, what its statements touch */
	tsr_body_uses *uses;         /* of the one looked at */
	uint32_t room;               /* buffers that the tables below have room for */
	tsr_touches *of;             /* per buffer, in this unit */
	tsr_buffer_id *fresh;        /* per buffer: what it is computed again into, or TSR_NONE */
	tsr_buffer_id *origin;       /* and the other way round */
	bool *is_fresh;              /* made here */
	uint32_t *makers;            /* by so many kernels, which touch it first */
	int64_t *alive, *across;     /* per statement: bytes of the arena while it runs; of these, what was alive before it and is still */
	uint32_t *slot;              /* of the part looked at: per buffer, 1 + its place among what the kernel touches */
	uint32_t *local, locals;     /* of the same: locals with this number are needed */
} tsr_remat;

/* The part of a kernel that one buffer hangs on. Of its tables, one entry for each buffer that the kernel touches. */
typedef struct tsr_repeat {
	tsr_remat *r;
	const tsr_stmt *kernel;
	const tsr_uses *uses;
	bool *needed;                /* stored in it */
	bool *read;
	bool *there;                 /* also written by the kernel, but as it then was it is still there */
	bool drops, sums, changed, refused;
} tsr_repeat;

enum { TSR_REMAT_KERNELS = 4, TSR_REMAT_KEPT = 8 };
/* What has to be there for longer than it would be: alive in the statements from .. to - 1 too; or, where `sooner`, computed again earlier. */
typedef struct tsr_remat_kept { tsr_buffer_id b; uint32_t from, to; int64_t bytes; bool sooner; } tsr_remat_kept;
typedef struct tsr_remat_candidate {
	tsr_buffer_id x;
	uint32_t from, at;           /* where it is touched last before the fullest moment, and next */
	uint32_t n, kernels[TSR_REMAT_KERNELS];
	uint32_t nkept;
	tsr_remat_kept kept[TSR_REMAT_KEPT];
	bool twice;                  /* what is computed again sooner is so where it was, too, and not kept in between */
	int64_t bytes, fresh, net;   /* of X, of all that is stored anew for it, and what there is less of at the fullest moment */
	double time;
} tsr_remat_candidate;
typedef struct tsr_remat_fullest { int64_t bytes; uint32_t at; } tsr_remat_fullest;

/* remat.c: all units, as they are now; one of them, looked at until something is done to it, with its fullest statement; X around a statement, where that can be computed again after it without
 * as much being alive anywhere; and the doing. */
tsr_remat tsr_remat_begin(tsr_pass *p);
tsr_remat_fullest tsr_remat_look(tsr_remat *r, uint32_t unit);
bool tsr_remat_candidate_of(tsr_remat *r, tsr_buffer_id x, tsr_remat_fullest full, tsr_remat_candidate *c);
void tsr_remat_do(tsr_remat *r, const tsr_remat_candidate *c);
/* False where the kernel at `from` must not run again for x, to be read by the statement at `at`. What it says holds until the next part is
 * looked at. */
bool tsr_remat_part(tsr_remat *r, uint32_t from, tsr_buffer_id x, uint32_t at, tsr_repeat *q);
/* The statement is in the part. */
bool tsr_remat_stays(const tsr_repeat *q, const tsr_stmt *s);
/* Nanoseconds that the part, or the whole statement, takes one thread, memory included; it is meant for comparisons. */
double tsr_remat_part_time(const tsr_repeat *q);
double tsr_remat_time(const tsr_remat *r, const tsr_stmt *s, const tsr_uses *uses);

static inline int64_t tsr_remat_bytes(const tsr_remat *r, tsr_buffer_id b) { return tsr_buffer_bytes(r->l->buffers.at[b]); }
static inline bool tsr_remat_of_thread(const tsr_remat *r, tsr_buffer_id b) { return r->l->buffers.at[b]->home == TSR_HOME_THREAD; }
/* It lies in the arena. */
static inline bool tsr_remat_shares(const tsr_remat *r, tsr_buffer_id b)
{
	const tsr_buffer *x = r->l->buffers.at[b];
	return !tsr_buffer_kept(x) && !x->returned && !r->exposed[b] && tsr_remat_bytes(r, b) > 0 && !tsr_remat_of_thread(r, b);
}
static inline uint32_t tsr_remat_first(const tsr_remat *r, tsr_buffer_id b) { return r->of[b].v.at[0].at; }
static inline uint32_t tsr_remat_last(const tsr_remat *r, tsr_buffer_id b) { return r->of[b].v.at[r->of[b].v.n - 1].at; }
/* The buffer that holds at `at` what b held: b, or what it has been computed again into last before. */
static inline tsr_buffer_id tsr_remat_version(const tsr_remat *r, tsr_buffer_id b, uint32_t at)
{
	for (tsr_buffer_id f = r->fresh[b]; f != TSR_NONE && r->of[f].v.n && tsr_remat_first(r, f) < at; f = r->fresh[b])
		b = f;
	return b;
}

/* Runs the kernels at from[0 .. n), in this order, again for x before the statement that was at `at` in the last look and is at `place` now, for all
 * that touches it from there on. */
void tsr_remat_again(tsr_remat *r, tsr_buffer_id x, uint32_t n, const uint32_t *from, uint32_t at, uint32_t place);
/* Likewise moves the kernels that compute b again up there; how many they are. */
uint32_t tsr_remat_sooner(tsr_remat *r, tsr_buffer_id b, uint32_t at, uint32_t place);
#endif
