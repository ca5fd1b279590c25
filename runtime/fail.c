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
	else if (!ctx->embedded)
		to_stderr(where, message);
}

const char *tsr_last_error(const tsr_context *ctx)
{
	return ctx ? ctx->error : "no memory";
}

/* Whoever is called from C has one message, so the place stands in front of it. */
static void put_place(tsr_ctx *ctx, const char *where)
{
	size_t n = strlen(where), have = strlen(ctx->error);
	if (n + 2 + have >= sizeof ctx->error)
		return;
	memmove(ctx->error + n + 2, ctx->error, have + 1);
	memcpy(ctx->error, where, n);
	memcpy(ctx->error + n, ": ", 2);
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
	if (ctx->embedded && where && where[0])
		put_place(ctx, where);
	tsr_exit(ctx, TSR_FAILED);
}

_Noreturn void tsr_fail_index(tsr_ctx *ctx, const char *where, const char *what, int64_t index, int64_t limit)
{
	tsr_fail(ctx, where, "index %lld is outside %s, which has %lld position%s", (long long)index, what,
			 (long long)limit, limit == 1 ? "" : "s");
}

void tsr_check_sizes(tsr_ctx *ctx, const char *where, const char *text, int32_t holds, int64_t n, const int64_t *values)
{
	char message[sizeof ctx->error];
	size_t used = 0;
	int64_t next = 0;
	if (holds)
		return;
	for (const char *c = text; *c && used + 24 < sizeof message; c++) {
		if (*c == TSR_MESSAGE_NUMBER && next < n)
			used += (size_t)snprintf(message + used, sizeof message - used, "%lld", (long long)values[next++]);
		else if (*c != TSR_MESSAGE_PLURAL)
			message[used++] = *c;
		else if (next > 0 && values[next - 1] != 1)
			message[used++] = 's';
	}
	message[used] = 0;
	tsr_fail(ctx, where, "%s", message);
}

_Noreturn void tsr_fail_size(tsr_ctx *ctx, const char *where, const char *what, int64_t got, int64_t wanted)
{
	tsr_fail(ctx, where, "%s is %lld here, and %lld is needed", what, (long long)got, (long long)wanted);
}
