/* Standard output: one buffer for a context, handed over when it is full, at the end, and before anything else that a
 * person sees (an error message, a progress bar, a wait for a file).  Someone may be watching a long run: a finished line is
 * handed over at once on a terminal, and elsewhere when the last time was PATIENCE seconds ago. */
#include "internal.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static const double PATIENCE = 0.2;

static int to_stdout(const char *text, size_t length)
{
	while (length) {
		ssize_t n = write(STDOUT_FILENO, text, length);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return errno;
		}
		text += n;
		length -= (size_t)n;
	}
	return 0;
}

void tsr_rt_clear_bar(tsr_ctx *ctx)
{
	static const char clear[] = "\r\033[K";
	if (ctx->bar_shown && write(STDERR_FILENO, clear, sizeof clear - 1) < 0)
		return; /* the bar is an ornament */
	ctx->bar_shown = false;
}

static int hand_over(tsr_ctx *ctx, const char *text, size_t length)
{
	if (!length || ctx->out_failed)
		return 0;
	tsr_rt_clear_bar(ctx);
	int error = ctx->config.write ? ctx->config.write(ctx->config.user, text, length) : to_stdout(text, length);
	if (error)
		ctx->out_failed = true;
	return error;
}

int tsr_rt_drain(tsr_ctx *ctx)
{
	size_t used = ctx->out_used;
	ctx->out_used = 0;
	return hand_over(ctx, ctx->out, used);
}

static _Noreturn void output_failed(tsr_ctx *ctx, int error)
{
	tsr_fail(ctx, NULL, "the output could not be written: %s", strerror(error));
}

void tsr_flush(tsr_ctx *ctx)
{
	int error = tsr_rt_drain(ctx);
	if (error)
		output_failed(ctx, error);
}

static bool due(tsr_ctx *ctx)
{
	if (ctx->out_terminal)
		return true;
	double now = tsr_rt_now();
	if (now - ctx->out_time < PATIENCE)
		return false;
	ctx->out_time = now;
	return true;
}

void tsr_rt_write(tsr_ctx *ctx, const char *text, size_t length)
{
	if (!ctx->out) {
		ctx->out = tsr_rt_memory(ctx, NULL, TSR_RT_OUT_SIZE);
		ctx->out_terminal = !ctx->config.write && isatty(STDOUT_FILENO);
		ctx->out_time = ctx->start_time;
	}
	if (length > TSR_RT_OUT_SIZE - ctx->out_used) {
		tsr_flush(ctx);
		if (length > TSR_RT_OUT_SIZE) {
			int error = hand_over(ctx, text, length);
			if (error)
				output_failed(ctx, error);
			return;
		}
	}
	memcpy(ctx->out + ctx->out_used, text, length);
	ctx->out_used += length;
	if (length && text[length - 1] == '\n' && due(ctx))
		tsr_flush(ctx);
}
