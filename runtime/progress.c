/* Progress of a long loop on standard error: a bar that redraws itself on a terminal, at most one line for every tenth of
 * the way elsewhere. */
#include "internal.h"
#include <string.h>
#include <unistd.h>

enum { BAR = 30 };

static void draw_bar(tsr_ctx *ctx, const char *what, int64_t done, int64_t total)
{
	double now = tsr_rt_now();
	if (done < total && now - ctx->progress_shown < 0.1)
		return;
	ctx->progress_shown = now;
	char bar[BAR + 1];
	int64_t full = (int64_t)((double)done / (double)total * BAR);
	for (int64_t i = 0; i < BAR; i++)
		bar[i] = i < full ? '#' : '.';
	bar[BAR] = 0;
	fprintf(stderr, "\r%s [%s] %lld/%lld%s", what, bar, (long long)done, (long long)total, done >= total ? "\n" : "");
	ctx->bar_shown = done < total;
}

static void write_line(tsr_ctx *ctx, const char *what, int64_t done, int64_t total)
{
	int tenth = (int)((double)done / (double)total * 10);
	if (tenth < ctx->progress_tenth)
		ctx->progress_tenth = -1; /* another loop has begun */
	if (tenth == ctx->progress_tenth)
		return;
	ctx->progress_tenth = tenth;
	fprintf(stderr, "%s %lld/%lld\n", what, (long long)done, (long long)total);
}

void tsr_progress(tsr_ctx *ctx, const char *what, int64_t done, int64_t total)
{
	if (ctx->config.progress) {
		ctx->config.progress(ctx->config.user, what, done, total);
		return;
	}
	if (total <= 0 || done < 0)
		return;
	if (done > total)
		done = total;
	tsr_flush(ctx);
	if (isatty(STDERR_FILENO))
		draw_bar(ctx, what, done, total);
	else
		write_line(ctx, what, done, total);
}
