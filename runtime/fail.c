/* How a failure is worded and reported: one line, "where: error: message", after everything printed so far. */
#include "internal.h"
#include <string.h>

/* The default: one write to standard error. */
static void to_stderr(const char *where, const char *message)
{
	if (where[0])
		fprintf(stderr, "%s: error: %s\n", where, message);
	else
		fprintf(stderr, "error: %s\n", message);
}

void tsr_rt_report(tsr_ctx *ctx, const char *where, const char *message)
{
	if (!where)
		where = "";
	if (message != ctx->error)
		snprintf(ctx->error, sizeof ctx->error, "%s", message);
	tsr_rt_clear_bar(ctx);
	if (ctx->config.error)
		ctx->config.error(ctx->config.user, where, message);
	else
		to_stderr(where, message);
}

const char *tsr_last_error(const tsr_context *ctx)
{
	return ctx->error;
}

/* A message longer than the context's own space is cut there: it is one line for a person. */
_Noreturn void tsr_fail(tsr_ctx *ctx, const char *where, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(ctx->error, sizeof ctx->error, format, args);
	va_end(args);
	tsr_rt_drain(ctx);
	tsr_rt_report(ctx, where, ctx->error);
	tsr_exit(ctx, TSR_FAILED);
}

_Noreturn void tsr_fail_index(tsr_ctx *ctx, const char *where, const char *what, int64_t index, int64_t limit)
{
	tsr_fail(ctx, where, "index %lld is outside %s, which has %lld position%s", (long long)index, what,
			 (long long)limit, limit == 1 ? "" : "s");
}

void tsr_check_size(tsr_ctx *ctx, const char *where, const char *what, int64_t left, int64_t right, int32_t at_least)
{
	if (at_least ? left < right : left != right)
		tsr_fail(ctx, where, "%s is %lld here, and %s%lld is needed", what, (long long)left, at_least ? "at least " : "",
				 (long long)right);
}

_Noreturn void tsr_fail_size(tsr_ctx *ctx, const char *where, const char *what, int64_t got, int64_t wanted)
{
	tsr_fail(ctx, where, "%s is %lld here, and %lld is needed", what, (long long)got, (long long)wanted);
}
