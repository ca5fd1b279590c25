/* Random draws of the program level, from the stream named "main". */
#include "internal.h"
#include <math.h>

static uint64_t next64(tsr_ctx *ctx)
{
	if (!ctx->draw_ready) {
		tsr_random_key("main", ctx->seed, ctx->draw_key);
		ctx->draw_ready = true;
	}
	uint32_t words[2];
	tsr_random_words(words, 2, ctx->draw_key, ctx->draw_next);
	ctx->draw_next += 2;
	return (uint64_t)words[1] << 32 | words[0];
}

double tsr_draw_uniform(tsr_ctx *ctx)
{
	return (double)(next64(ctx) >> 11) * 0x1p-53;
}

/* The upper half of word * n is uniform but for the first 2^64 mod n values of the lower half, which are drawn again. */
int64_t tsr_draw_int(tsr_ctx *ctx, const char *where, int64_t n)
{
	__extension__ typedef unsigned __int128 wide;
	if (n <= 0)
		tsr_fail(ctx, where, "a draw needs at least 1 possibility, and has %lld", (long long)n);
	uint64_t limit = (uint64_t)n, unfair = (0 - limit) % limit;
	wide product;
	do
		product = (wide)next64(ctx) * limit;
	while ((uint64_t)product < unfair);
	return (int64_t)(product >> 64);
}

/* Box and Muller; the second number of a pair is not kept, so that a draw depends on its position alone. */
double tsr_draw_normal(tsr_ctx *ctx)
{
	double u = 1 - tsr_draw_uniform(ctx), v = tsr_draw_uniform(ctx);
	return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

int64_t tsr_draw_choice(tsr_ctx *ctx, const char *where, const float *weights, int64_t n)
{
	double total = 0;
	for (int64_t i = 0; i < n; i++) {
		if (!(weights[i] >= 0) || isinf(weights[i]))
			tsr_fail(ctx, where, "weight %lld of a choice is %g", (long long)i, (double)weights[i]);
		total += (double)weights[i];
	}
	if (!(total > 0))
		tsr_fail(ctx, where, "a choice needs a weight above 0 among its %lld", (long long)n);
	double left = tsr_draw_uniform(ctx) * total;
	int64_t last = 0;
	for (int64_t i = 0; i < n; i++) {
		if (weights[i] == 0)
			continue;
		last = i;
		left -= (double)weights[i];
		if (left < 0)
			break;
	}
	return last;
}
