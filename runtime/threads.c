/* Kernels that threads compute together, through the OpenMP runtime, so that its settings hold (OMP_NUM_THREADS and the rest).
 *
 * The functions used are those of the interface that GCC's libgomp and LLVM's libomp both have.  Inside another process they
 * are weak references: where the host is linked with OpenMP, its threads and settings are ours, and where it is not, one thread
 * computes.  A program of our own that is linked with neither loads one when the first kernel is worth it, so that small
 * programs do not start slower; there waiting threads soon sleep unless the environment says otherwise, since spinning ones
 * stop each other as soon as the machine has something else to do.
 *
 * Sources: the OpenMP API specification 5.2, chapter 18; the libgomp manual, "The libgomp ABI". */
#include "internal.h"
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define WEAK __attribute__((weak))
extern void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags) WEAK;
extern void GOMP_barrier(void) WEAK;
extern int omp_get_max_threads(void) WEAK;
extern int omp_get_thread_num(void) WEAK;
extern int omp_get_num_threads(void) WEAK;
extern int omp_in_parallel(void) WEAK;

struct tsr_openmp {
	void (*parallel)(void (*body)(void *), void *data, unsigned threads, unsigned flags);
	void (*barrier)(void);
	int (*max_threads)(void), (*thread_num)(void), (*num_threads)(void), (*in_parallel)(void);
	bool there;
};

/* A line of the caches: how many parts of a lane have been taken, and what a thread says of itself. */
typedef struct tsr_turn {
	int64_t next;
	int64_t at; /* where it works: a lane, and one more than a part of it that is its own or comes before that; 0: nowhere yet */
	int64_t apart[6];
} tsr_turn;

enum { SPINS = 4000, PART_BITS = 40 };
/* Between the memory of two threads: no line in common, and none that a core asks for ahead of what it walks: one that sees an instruction store at equal distances fetches up
 * to sixteen of them further, pages among them, and takes those lines from the thread that has written them.  Where there are few pages, so are they apart. */
enum { LINES_APART = 4096 + 64, PAGES_APART = (1 << 16) + 64, MANY_PAGES = 1 << 16 };

/* dlsym gives an object pointer; POSIX has it hold a function's address. */
static bool find(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);
	*(void **)function = found;
	return found != NULL;
}

static void load(tsr_openmp *o)
{
	if (!getenv("OMP_WAIT_POLICY"))
		setenv("GOMP_SPINCOUNT", "1000", 0);
	void *library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		library = dlopen("libomp.so.5", RTLD_NOW | RTLD_LOCAL);
	o->there = library && find(library, "GOMP_parallel", &o->parallel) && find(library, "GOMP_barrier", &o->barrier)
		&& find(library, "omp_get_max_threads", &o->max_threads) && find(library, "omp_get_thread_num", &o->thread_num)
		&& find(library, "omp_get_num_threads", &o->num_threads) && find(library, "omp_in_parallel", &o->in_parallel);
}

static const tsr_openmp *openmp(tsr_ctx *ctx)
{
	if (!ctx->openmp) {
		tsr_openmp *o = ctx->openmp = tsr_alloc_block(ctx, sizeof *o);
		*o = (tsr_openmp){GOMP_parallel, GOMP_barrier, omp_get_max_threads, omp_get_thread_num, omp_get_num_threads, omp_in_parallel, false};
		o->there = o->parallel && o->barrier && o->max_threads && o->thread_num && o->num_threads && o->in_parallel;
		if (!o->there && !ctx->embedded)
			load(o);
	}
	return ctx->openmp;
}

typedef struct team {
	const tsr_openmp *openmp;
	tsr_stint *stint;
	void *data;
	char *shared, *own;
	size_t each;
} team;

static void seat(void *p)
{
	const team *t = p;
	int64_t thread = t->openmp->thread_num();
	t->stint(t->data, thread, t->openmp->num_threads(), t->shared, t->own + (size_t)thread * t->each);
}

/* A thread of the host's own team is one of many already. */
static int64_t at_most(const tsr_openmp *o, int64_t worth)
{
	if (!o->there || o->in_parallel())
		return 1;
	int64_t most = o->max_threads();
	return worth < most ? worth : most;
}

static size_t rounded(int64_t bytes)
{
	return ((size_t)bytes + 63) & ~(size_t)63;
}

static void reserve(tsr_ctx *ctx, size_t bytes)
{
	if (bytes <= ctx->work_bytes)
		return;
	tsr_release_block(ctx, ctx->work);
	ctx->work = NULL; /* in case there is no memory for another */
	ctx->work_bytes = 0;
	ctx->work = tsr_alloc_block(ctx, (int64_t)bytes);
	ctx->work_bytes = bytes;
}

void tsr_parallel(tsr_ctx *ctx, tsr_stint *stint, void *data, int64_t worth, int64_t shared_bytes, int64_t own_bytes, int64_t queues)
{
	int64_t threads = worth > 1 ? at_most(openmp(ctx), worth) : 1;
	size_t shared = rounded(shared_bytes), apart = own_bytes < MANY_PAGES ? LINES_APART : PAGES_APART, each = own_bytes ? rounded(own_bytes) + apart : 0;
	size_t turns = (size_t)(queues * threads) * sizeof(tsr_turn);
	reserve(ctx, turns + shared + (each ? (size_t)threads * each - apart : 0));
	ctx->turns = ctx->work;
	char *behind = ctx->work ? (char *)ctx->work + turns : NULL;
	team t = {ctx->openmp, stint, data, behind, behind ? behind + shared : NULL, each};
	if (turns)
		memset(ctx->turns, 0, turns);
	memset(ctx->agreed, 0, sizeof ctx->agreed);
	if (threads > 1)
		t.openmp->parallel(seat, &t, (unsigned)threads, 0);
	else
		stint(data, 0, 1, t.shared, t.own);
}

/* ---- parts of the work, taken in turns ------------------------------------------------------------------------------------- */

static tsr_turn *turns_of(const tsr_ctx *ctx, int64_t queue, int64_t threads) { return ctx->turns + queue * threads; }

static int64_t place(int64_t lane, int64_t part) { return lane << PART_BITS | (part + 1); }

/* Who takes a part says before that where it may be: a part is not done as long as somebody may just have taken it.  Whoever has a later part
 * took it behind that, so that it sees what was said. */
int64_t tsr_take(tsr_ctx *ctx, int64_t queue, int64_t lane, int64_t thread, int64_t threads)
{
	tsr_turn *all = turns_of(ctx, queue, threads);
	__atomic_store_n(&all[thread].at, place(lane, __atomic_load_n(&all[lane].next, __ATOMIC_RELAXED)), __ATOMIC_RELEASE);
	int64_t part = __atomic_fetch_add(&all[lane].next, 1, __ATOMIC_ACQ_REL);
	__atomic_store_n(&all[thread].at, place(lane, part), __ATOMIC_RELEASE);
	return part;
}

/* Nor is one as long as somebody who has it is still at an earlier one. */
int64_t tsr_take_ahead(tsr_ctx *ctx, int64_t queue, int64_t lane, int64_t thread, int64_t threads, int64_t mine)
{
	tsr_turn *all = turns_of(ctx, queue, threads);
	__atomic_store_n(&all[thread].at, place(lane, mine), __ATOMIC_RELEASE);
	return __atomic_fetch_add(&all[lane].next, 1, __ATOMIC_ACQ_REL);
}

static bool may_be_at(const tsr_turn *t, int64_t lane, int64_t part)
{
	int64_t at = __atomic_load_n(&t->at, __ATOMIC_ACQUIRE);
	return at != 0 && at >> PART_BITS == lane && at <= place(lane, part);
}

void tsr_behind(tsr_ctx *ctx, int64_t queue, int64_t lane, int64_t threads, int64_t part)
{
	const tsr_turn *all = turns_of(ctx, queue, threads);
	for (int64_t t = 0; t < threads; t++)
		for (int tries = 0; may_be_at(&all[t], lane, part); tries++)
			if (tries >= SPINS)
				sched_yield();
}

/* ---- waiting for all ------------------------------------------------------------------------------------------------------- */

void tsr_wait(tsr_ctx *ctx, int64_t threads)
{
	if (threads > 1)
		ctx->openmp->barrier();
}

/* Three places in turns: when all have come for the second turn, nobody looks at the first one's place any more, and nobody writes there before all
 * have come for the third, so that one of them clears it in between. */
int64_t tsr_agree(tsr_ctx *ctx, int64_t threads, int64_t thread, int64_t turn, int64_t says)
{
	if (threads <= 1)
		return says;
	if (says)
		__atomic_store_n(&ctx->agreed[turn % 3], 1, __ATOMIC_RELAXED);
	ctx->openmp->barrier();
	if (thread == 0)
		__atomic_store_n(&ctx->agreed[(turn + 2) % 3], 0, __ATOMIC_RELAXED);
	return __atomic_load_n(&ctx->agreed[turn % 3], __ATOMIC_RELAXED);
}
