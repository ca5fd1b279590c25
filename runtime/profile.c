/* Where the time goes: a program compiled with --profile says what each kernel took, the slowest first, on standard error at its end.
 *
 * A kernel is known by the address of its name, which is a constant of its own for each place that calls it.  Places are entered in the
 * order in which they first run, and looked for behind the one that ran last. */
#include "internal.h"
#include <stdlib.h>

typedef struct entry {
	const char *name;
	int64_t calls;
	double seconds, least;
} entry;

struct tsr_profile {
	entry *at;
	int64_t n, room, last;
	double begin;
};

static int slower_first(const void *a, const void *b)
{
	const entry *x = a, *y = b;
	return x->seconds > y->seconds ? -1 : x->seconds < y->seconds;
}

static void report(tsr_ctx *ctx)
{
	tsr_profile *p = ctx->profile;
	double sum = 0;
	for (int64_t i = 0; i < p->n; i++)
		sum += p->at[i].seconds;
	qsort(p->at, (size_t)p->n, sizeof *p->at, slower_first);
	fprintf(stderr, "%12s %6s %10s %12s %12s  %s\n", "seconds", "share", "calls", "mean, ms", "least, ms", "kernel");
	for (int64_t i = 0; i < p->n; i++) {
		const entry *e = &p->at[i];
		fprintf(stderr, "%12.6f %5.1f%% %10lld %12.4f %12.4f  %s\n", e->seconds, sum > 0 ? 100 * e->seconds / sum : 0, (long long)e->calls,
			1e3 * e->seconds / (double)e->calls, 1e3 * e->least, e->name);
	}
	fprintf(stderr, "%12.6f 100.0%% of all kernels; %.6f since the start\n", sum, tsr_rt_now() - ctx->start_time);
	tsr_rt_memory(ctx, p->at, 0);
	tsr_rt_memory(ctx, p, 0);
}

void tsr_profile_begin(tsr_ctx *ctx)
{
	if (!ctx->profile) {
		ctx->profile = tsr_rt_memory(ctx, NULL, sizeof *ctx->profile);
		*ctx->profile = (tsr_profile){NULL, 0, 0, 0, 0};
		ctx->end_profile = report;
	}
	ctx->profile->begin = tsr_rt_now();
}

static entry *entry_of(tsr_ctx *ctx, const char *name)
{
	tsr_profile *p = ctx->profile;
	for (int64_t i = 0; i < p->n; i++) {
		int64_t k = (p->last + i) % p->n;
		if (p->at[k].name == name) {
			p->last = k + 1;
			return &p->at[k];
		}
	}
	if (p->n == p->room) {
		p->room = 2 * p->room + 64;
		p->at = tsr_rt_memory(ctx, p->at, (size_t)p->room * sizeof *p->at);
	}
	p->last = p->n + 1;
	p->at[p->n] = (entry){name, 0, 0, 0};
	return &p->at[p->n++];
}

void tsr_profile_end(tsr_ctx *ctx, const char *name)
{
	double now = tsr_rt_now(), taken = now - ctx->profile->begin;
	entry *e = entry_of(ctx, name);
	e->least = e->calls && e->least < taken ? e->least : taken;
	e->calls++;
	e->seconds += taken;
}
