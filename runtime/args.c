/* The program's own arguments. */
#include "internal.h"
#include <string.h>

int64_t tsr_arg_count(tsr_ctx *ctx)
{
	return ctx->nargs;
}

/* NULL: the argument is missing and a fallback stands in for it. */
static const char *argument(tsr_ctx *ctx, const char *where, int64_t n, bool has_fallback)
{
	if (n >= 0 && n < ctx->nargs)
		return ctx->args[n];
	if (!has_fallback || n < 0)
		tsr_fail(ctx, where, "argument %lld is missing: %lld %s given", (long long)n + 1, (long long)ctx->nargs,
				 ctx->nargs == 1 ? "was" : "were");
	return NULL;
}

const tsr_str *tsr_arg_str(tsr_ctx *ctx, const char *where, int64_t n, const tsr_str *fallback)
{
	const char *text = argument(ctx, where, n, fallback != NULL);
	return text ? tsr_str_new(ctx, text, (int64_t)strlen(text)) : fallback;
}

int64_t tsr_arg_i64(tsr_ctx *ctx, const char *where, int64_t n, int32_t has_fallback, int64_t fallback)
{
	const char *text = argument(ctx, where, n, has_fallback);
	if (text && !tsr_rt_parse_i64(text, &fallback))
		tsr_fail(ctx, where, "argument %lld must be a whole number, not '%s'", (long long)n + 1, text);
	return fallback;
}

double tsr_arg_f64(tsr_ctx *ctx, const char *where, int64_t n, int32_t has_fallback, double fallback)
{
	const char *text = argument(ctx, where, n, has_fallback);
	if (text && !tsr_rt_parse_f64(text, &fallback))
		tsr_fail(ctx, where, "argument %lld must be a number, not '%s'", (long long)n + 1, text);
	return fallback;
}
