/* Beginning and end of a program, and the tables that compiled code reads.
 * The one place where the process is left is tsr_exit. */
#include "internal.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int tsr_version(void)
{
	return TSR_VERSION_NUMBER;
}

void tsr_config_init(tsr_config *config)
{
	memset(config, 0, sizeof *config);
}

double tsr_rt_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *zeroed(tsr_ctx *ctx, int64_t n, size_t size)
{
	size_t bytes = (size_t)(n > 0 ? n : 1) * size;
	return memset(tsr_rt_memory(ctx, NULL, bytes), 0, bytes);
}

static bool has_block(const tsr_buffer_info *b)
{
	return b->kind != TSR_ROLE_CONST && b->bytes >= 0;
}

/* Those of known size lie in one block, which stands on huge pages as a whole.  Their sizes come in a row first, each of which its address takes the
 * place of, and then these go to their places in the table from its end on, none before what is still to go. */
static void make_buffers(tsr_ctx *ctx)
{
	const tsr_program *p = ctx->program;
	int64_t n = 0;
	for (int64_t i = 0; i < p->nbuffers; i++)
		if (has_block(&p->buffers[i]))
			ctx->buffers[n++] = (void *)(intptr_t)p->buffers[i].bytes;
	tsr_rt_share_block(ctx, n, ctx->buffers);
	for (int64_t i = p->nbuffers; i-- > 0;) {
		const tsr_buffer_info *b = &p->buffers[i];
		ctx->buffers[i] = b->kind == TSR_ROLE_CONST ? (void *)b->init : has_block(b) ? ctx->buffers[--n] : NULL;
		if (has_block(b) && b->init)
			memcpy(ctx->buffers[i], b->init, (size_t)b->bytes);
	}
}

tsr_ctx *tsr_rt_new(const tsr_program *program, const tsr_config *config)
{
	tsr_config plain;
	if (!config) {
		tsr_config_init(&plain);
		config = &plain;
	}
	tsr_ctx *ctx = config->memory ? config->memory(config->user, NULL, sizeof *ctx) : malloc(sizeof *ctx);
	if (!ctx)
		return NULL;
	memset(ctx, 0, sizeof *ctx);
	ctx->program = program;
	ctx->config = *config;
	ctx->start_time = tsr_rt_now();
	ctx->progress_tenth = -1;
	ctx->seed = config->seed_given ? config->seed : program->seed;
	ctx->program_path = program->name;
	return ctx;
}

void tsr_rt_make_tables(tsr_ctx *ctx)
{
	const tsr_program *program = ctx->program;
	ctx->buffers = zeroed(ctx, program->nbuffers, sizeof *ctx->buffers);
	ctx->nums = zeroed(ctx, program->nnums, sizeof *ctx->nums);
	ctx->syms = zeroed(ctx, program->nsyms, sizeof *ctx->syms);
	for (int64_t s = 0; s < program->nsyms; s++)
		ctx->syms[s] = -1;
	make_buffers(ctx);
}

tsr_ctx *tsr_start_with(int32_t argc, char **argv, const tsr_program *program, const tsr_config *config)
{
	tsr_ctx *ctx = tsr_rt_new(program, config);
	if (!ctx)
		return NULL;
	if (argc > 0)
		ctx->program_path = argv[0];
	tsr_rt_options(ctx, argc, argv);
	tsr_rt_make_tables(ctx);
	return ctx;
}

/* A reader that goes away (`program | head`) shall be an error like a full disk, not a silent end: the signal is a setting
 * of the whole process, so only programs of our own change it. */
tsr_ctx *tsr_start(int32_t argc, char **argv, const tsr_program *program)
{
	signal(SIGPIPE, SIG_IGN);
	tsr_ctx *ctx = tsr_start_with(argc, argv, program, NULL);
	if (!ctx)
		exit(TSR_FAILED);
	return ctx;
}

void tsr_rt_free(tsr_ctx *ctx)
{
	if (ctx->end_profile)
		ctx->end_profile(ctx);
	tsr_rt_free_blocks(ctx);
	if (ctx->free_strings)
		ctx->free_strings(ctx);
	tsr_rt_memory(ctx, ctx->args, 0);
	tsr_rt_memory(ctx, ctx->buffers, 0);
	tsr_rt_memory(ctx, ctx->nums, 0);
	tsr_rt_memory(ctx, ctx->syms, 0);
	tsr_rt_memory(ctx, ctx->out, 0);
	if (ctx->config.memory)
		ctx->config.memory(ctx->config.user, ctx, 0);
	else
		free(ctx);
}

/* Writes what is left; a failure is reported once, here or earlier.  The status to end with. */
int32_t tsr_rt_close_output(tsr_ctx *ctx, int32_t status)
{
	bool reported = ctx->out_failed;
	tsr_rt_clear_bar(ctx);
	int error = tsr_rt_drain(ctx);
	if (error && !reported) {
		char message[128];
		snprintf(message, sizeof message, "the output could not be written: %s", strerror(error));
		tsr_rt_report(ctx, NULL, message);
	}
	return ctx->out_failed && status == 0 ? 1 : status;
}

int32_t tsr_finish(tsr_ctx *ctx)
{
	int32_t status = tsr_rt_close_output(ctx, 0);
	tsr_rt_free(ctx);
	return status;
}

/* With a stop callback the context stays alive, so that tsr_last_error works after a longjmp; its owner then calls
 * tsr_finish. */
_Noreturn void tsr_exit(tsr_ctx *ctx, int32_t status)
{
	if (ctx->leave)
		ctx->leave(ctx, status);
	if (!ctx->stopping) {
		ctx->stopping = true;
		status = tsr_rt_close_output(ctx, status);
	}
	if (ctx->config.stop) {
		ctx->stopping = false;
		ctx->config.stop(ctx->config.user, status == 0 ? TSR_OK : TSR_FAILED);
	}
	tsr_rt_free(ctx);
	exit(status);
}

void **tsr_buffers(tsr_ctx *ctx)
{
	return ctx->buffers;
}
int64_t *tsr_syms(tsr_ctx *ctx)
{
	return ctx->syms;
}
int64_t *tsr_nums(tsr_ctx *ctx)
{
	return ctx->nums;
}
uint64_t tsr_seed(tsr_ctx *ctx)
{
	return ctx->seed;
}
double tsr_time(tsr_ctx *ctx)
{
	return tsr_rt_now() - ctx->start_time;
}
