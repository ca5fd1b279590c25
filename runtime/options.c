/* The options that every compiled program understands; all other arguments belong to the program itself. */
#include "internal.h"
#include <string.h>

static const char help[] = "  --data DIR   look for data files in DIR first\n"
						   "  --seed N     begin the random numbers with seed N\n"
						   "  --help       print this text\n"
						   "  --           everything after this is an argument of the program\n";

static _Noreturn void print_help(tsr_ctx *ctx)
{
	const tsr_program *p = ctx->program;
	const char *const parts[] = {"usage: ", p->name ? p->name : "program", " [--data DIR] [--seed N] [arguments]\n",
								 help, p->usage ? p->usage : ""};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		tsr_rt_write(ctx, parts[i], strlen(parts[i]));
	tsr_exit(ctx, 0);
}

static uint64_t parse_seed(tsr_ctx *ctx, const char *text)
{
	uint64_t seed = 0;
	const char *s = text;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(seed, (uint64_t)10, &seed) ||
			__builtin_add_overflow(seed, (uint64_t)(*s - '0'), &seed))
			break;
	if (s == text || *s)
		tsr_fail(ctx, NULL, "--seed needs a whole number from 0 to 18446744073709551615, not '%s'", text);
	return seed;
}

/* The value of option `name` at argv[*i], written --name VALUE or --name=VALUE; NULL when argv[*i] is something else. */
static const char *option(tsr_ctx *ctx, const char *name, int argc, char **argv, int *i)
{
	size_t n = strlen(name);
	const char *arg = argv[*i];
	if (strncmp(arg, name, n) != 0)
		return NULL;
	if (arg[n] == '=')
		return arg + n + 1;
	if (arg[n])
		return NULL;
	if (*i + 1 >= argc)
		tsr_fail(ctx, NULL, "%s needs a value", name);
	return argv[++*i];
}

void tsr_rt_options(tsr_ctx *ctx, int argc, char **argv)
{
	ctx->args = tsr_rt_memory(ctx, NULL, sizeof *ctx->args * (size_t)(argc > 0 ? argc : 1));
	for (int i = 1; i < argc; i++) {
		const char *value;
		if (strcmp(argv[i], "--") == 0) {
			while (++i < argc)
				ctx->args[ctx->nargs++] = argv[i];
		} else if (strcmp(argv[i], "--help") == 0) {
			print_help(ctx);
		} else if ((value = option(ctx, "--data", argc, argv, &i))) {
			ctx->config.data_dir = value;
		} else if ((value = option(ctx, "--seed", argc, argv, &i))) {
			ctx->seed = parse_seed(ctx, value);
		} else {
			ctx->args[ctx->nargs++] = argv[i];
		}
	}
}
