/* How many parts of their queues threads have taken, those behind the end among them: linked with --wrap=tsr_take. */
#include "tsr_abi.h"
#include <stdatomic.h>

int64_t __real_tsr_take(tsr_ctx *ctx, int64_t queue, int64_t lane, int64_t thread, int64_t threads);
static atomic_long taken;

int64_t __wrap_tsr_take(tsr_ctx *ctx, int64_t queue, int64_t lane, int64_t thread, int64_t threads)
{
	atomic_fetch_add(&taken, 1);
	return __real_tsr_take(ctx, queue, lane, thread, threads);
}

/* Since it was asked last. */
long takes(void) { return atomic_exchange(&taken, 0); }
