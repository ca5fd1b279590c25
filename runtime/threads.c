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

enum { APART = 4096 + 64 }; /* between the memory of two threads: no line and no prefetched page in common */

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

void tsr_parallel(tsr_ctx *ctx, tsr_stint *stint, void *data, int64_t worth, int64_t shared_bytes, int64_t own_bytes)
{
	int64_t threads = worth > 1 ? at_most(openmp(ctx), worth) : 1;
	size_t shared = rounded(shared_bytes), each = own_bytes ? rounded(own_bytes) + APART : 0;
	reserve(ctx, shared + (size_t)threads * each);
	team t = {ctx->openmp, stint, data, ctx->work, ctx->work ? (char *)ctx->work + shared : NULL, each};
	memset(ctx->agreed, 0, sizeof ctx->agreed);
	if (threads > 1)
		t.openmp->parallel(seat, &t, (unsigned)threads, 0);
	else
		stint(data, 0, 1, t.shared, t.own);
}

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
