/* A program inside another: contexts that C opens, calls and closes.  Inside, a failure leaves through tsr_fail and tsr_exit as
 * everywhere; here it lands, and becomes the status of the call.  What is jumped over are frames of generated code and of
 * the runtime, which own nothing that the context does not. */
#include "internal.h"
#include <setjmp.h>
#include <string.h>

struct tsr_call {
	const tsr_function *function;
	const int64_t *sizes, *numbers;
	const void *const *inputs;
	void *const *results;
};

struct tsr_landing {
	jmp_buf at;
	volatile int32_t status; /* changed between setjmp and longjmp */
};

static void leave(tsr_ctx *ctx, int32_t status)
{
	ctx->landing->status = ctx->failure ? ctx->failure : status ? TSR_FAILED : TSR_OK;
	longjmp(ctx->landing->at, 1);
}

/* Runs `body` with failures landing here. */
static int32_t guard(tsr_ctx *ctx, void (*body)(tsr_ctx *ctx, const void *what), const void *what)
{
	tsr_landing here = {.status = TSR_OK};
	ctx->landing = &here;
	ctx->leave = leave;
	ctx->failure = TSR_OK;
	if (!setjmp(here.at))
		body(ctx, what);
	ctx->leave = NULL;
	ctx->landing = NULL;
	if (ctx->out_used && tsr_rt_close_output(ctx, 0) && !here.status)
		here.status = TSR_OUTPUT_FAILED;
	return here.status;
}

/* ---- opening and closing ---- */

typedef struct opening {
	void (*start)(tsr_ctx *ctx);
} opening;

static void open_body(tsr_ctx *ctx, const void *what)
{
	const opening *o = what;
	int nargs = ctx->config.nargs;
	ctx->args = tsr_rt_memory(ctx, NULL, sizeof *ctx->args * (size_t)(nargs > 0 ? nargs : 1));
	for (int i = 0; i < nargs; i++)
		ctx->args[ctx->nargs++] = (char *)(uintptr_t)ctx->config.args[i];
	tsr_rt_make_tables(ctx);
	o->start(ctx);
	ctx->opened = true;
}

int32_t tsr_open(tsr_ctx **out, const tsr_program *program, const tsr_config *config, void (*start)(tsr_ctx *ctx))
{
	opening o = {start};
	tsr_ctx *ctx = *out = tsr_rt_new(program, config);
	if (!ctx)
		return TSR_NO_MEMORY;
	ctx->embedded = true;
	return guard(ctx, open_body, &o);
}

tsr_status tsr_close(tsr_context *ctx)
{
	if (!ctx)
		return TSR_OK;
	return tsr_finish(ctx) ? TSR_OUTPUT_FAILED : TSR_OK;
}

/* ---- calls ---- */

static void check_sizes(tsr_ctx *ctx, const tsr_call *c)
{
	const tsr_function *f = c->function;
	for (int64_t i = 0; i < f->nsizes; i++) {
		const char *name = ctx->program->syms[f->sizes[i]];
		if (c->sizes[i] < 1)
			tsr_fail(ctx, f->where, "%s: the size ?%s is %lld, and an axis has at least one position", f->name, name, (long long)c->sizes[i]);
		if (c->sizes[i] > TSR_MAX_SIZE)
			tsr_fail(ctx, f->where, "%s: the size ?%s is %lld, and an axis has at most %lld positions", f->name, name,
					 (long long)c->sizes[i], (long long)TSR_MAX_SIZE);
		ctx->syms[f->sizes[i]] = c->sizes[i];
	}
}

static void call_body(tsr_ctx *ctx, const void *what)
{
	const tsr_call *c = what;
	const tsr_function *f = c->function;
	int64_t bytes[TSR_MAX_RESULTS];
	if (ctx->program != f->program)
		tsr_fail(ctx, f->where, "%s: this context was opened by %s, and the function belongs to %s", f->name, ctx->program->name,
				 f->program->name);
	if (!ctx->opened)
		tsr_fail(ctx, f->where, "%s: this context failed to open", f->name);
	check_sizes(ctx, c);
	for (int64_t i = 0; i < f->ninputs; i++) {
		if (!c->inputs[i])
			tsr_fail(ctx, f->where, "%s: %s is NULL", f->name, f->input_names[i]);
		ctx->buffers[f->inputs[i]] = (void *)(uintptr_t)c->inputs[i];
	}
	for (int64_t i = 0; i < f->nnumbers; i++)
		ctx->nums[f->numbers[i]] = c->numbers[i];
	ctx->call = c;
	f->run(ctx, bytes);
	for (int64_t i = 0; i < f->nresults; i++)
		if (c->results[i] && c->results[i] != ctx->buffers[f->results[i]])
			memmove(c->results[i], ctx->buffers[f->results[i]], (size_t)bytes[i]);
}

static bool overlap(const void *a, int64_t na, const void *b, int64_t nb)
{
	return a && b && (uintptr_t)a < (uintptr_t)b + (uintptr_t)nb && (uintptr_t)b < (uintptr_t)a + (uintptr_t)na;
}

void tsr_place_results(tsr_ctx *ctx, const int64_t *result_bytes, const int64_t *input_bytes)
{
	const tsr_call *c = ctx->call;
	const tsr_function *f = c->function;
	for (int64_t i = 0; i < f->nresults; i++) {
		bool free = c->results[i] != NULL;
		if (!(f->placed >> i & 1))
			continue;
		for (int64_t k = 0; k < f->ninputs; k++)
			free &= !overlap(c->results[i], result_bytes[i], c->inputs[k], input_bytes[k]);
		for (int64_t k = 0; k < f->nresults; k++)
			free &= k == i || !overlap(c->results[i], result_bytes[i], c->results[k], result_bytes[k]);
		ctx->buffers[f->results[i]] = free ? c->results[i] : tsr_rt_alloc_unset(ctx, result_bytes[i]);
	}
}

/* What was the caller's is forgotten, and what stood in for it given back. */
static void take_back(tsr_ctx *ctx, const tsr_call *c)
{
	const tsr_function *f = c->function;
	for (int64_t i = 0; i < f->ninputs; i++)
		ctx->buffers[f->inputs[i]] = NULL;
	for (int64_t i = 0; i < f->nresults; i++) {
		void **at = &ctx->buffers[f->results[i]];
		if (!(f->placed >> i & 1))
			continue;
		if (*at != c->results[i])
			tsr_release_block(ctx, *at);
		*at = NULL;
	}
	ctx->call = NULL;
}

int32_t tsr_invoke(tsr_ctx *ctx, const tsr_function *f, const int64_t *sizes, const void *const *inputs, const int64_t *numbers,
				 void *const *results)
{
	tsr_call c = {f, sizes, numbers, inputs, results};
	if (!ctx || ctx->leave) /* from a callback of a call that is under way */
		return TSR_FAILED;
	int32_t status = guard(ctx, call_body, &c);
	if (ctx->program == f->program && ctx->opened)
		take_back(ctx, &c);
	return status;
}
