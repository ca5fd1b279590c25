/* Reading the command line.  The table below is the only list of flags: getopt's strings and --help are made from it. */
#include "options.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum {
	FLAG_OUTPUT = 'o', FLAG_OBJECT = 'c', FLAG_ASSEMBLY = 'S', FLAG_LEVEL = 'O', FLAG_DEBUG = 'g', FLAG_INCLUDE = 'I',
	FLAG_DEPENDENCIES = 'M', FLAG_HELP = 'h', FLAG_VERBOSE = 'v',
	FLAG_EMIT = 256, FLAG_DUMP, FLAG_TARGET, FLAG_CPU, FLAG_SEED, FLAG_TIME, FLAG_VERSION, FLAG_NO_FUSE, FLAG_NO_SHARE, FLAG_NO_REMAT, FLAG_WINOGRAD, FLAG_PASSES,
	FLAG_STDLIB, FLAG_INTERP, FLAG_THREADS, FLAG_SANITIZE, FLAG_PROFILE, FLAG_BOUNDS, FLAG_MEMORY_LIMIT, FLAG_TUNE, FLAG_SCHEDULES, FLAG_DIAGNOSTICS, FLAG_JSON, FLAG_CALL
} flag;

typedef struct flag_row { flag id; const char *name; const char *argument; const char *help; } flag_row;

/* `name` without dashes, or NULL where there is only the letter; `argument` NULL: takes none. */
static const flag_row flags[] = {
	{FLAG_OUTPUT, NULL, "FILE", "write the result to FILE"},
	{FLAG_OBJECT, NULL, NULL, "compile to an object file and its header; do not link"},
	{FLAG_ASSEMBLY, NULL, NULL, "compile to assembly text"},
	{FLAG_EMIT, "emit", "llvm", "compile to LLVM IR, after LLVM's passes"},
	{FLAG_LEVEL, NULL, "0..3", "optimisation level; 2 unless given"},
	{FLAG_DEBUG, NULL, NULL, "line tables back to the source"},
	{FLAG_INCLUDE, NULL, "DIR", "look for modules and data files in DIR too"},
	{FLAG_DEPENDENCIES, NULL, "D", "write the files read to a makefile fragment beside the output"},
	{FLAG_TARGET, "target", "TRIPLE", "machine to compile for: x86_64-linux-gnu, aarch64-linux-gnu"},
	{FLAG_CPU, "cpu", "NAME", "processor to compile for, or several levels with commas; the machine's own for executables, x86-64-v2 for -c"},
	{FLAG_SEED, "seed", "N", "seed of random numbers unless the program is started with another"},
	{FLAG_STDLIB, "stdlib", "DIR", "folder of the standard library"},
	{FLAG_NO_FUSE, "no-fuse", NULL, "keep every tensor in memory: no fusion"},
	{FLAG_NO_SHARE, "no-share", NULL, "infer the shapes of every application by itself"},
	{FLAG_NO_REMAT, "no-remat", NULL, "keep every value until it was read last: nothing is computed again, unless --memory-limit demands it"},
	{FLAG_WINOGRAD, "winograd", "2|4", "convolutions of 3 x 3, 5 x 5, 3 and 5 places by tiles of 2, those of 3 by up to 4: 1.5 to 4 times fewer products, rounded otherwise than any order of the sums"},
	{FLAG_THREADS, "threads", "WHERE", "where kernels are divided among threads: none, auto (where it pays), all"},
	{FLAG_MEMORY_LIMIT, "memory-limit", "SIZE", "memory for all buffers, in bytes, KiB, MiB or GiB: what is cheap is computed again instead of kept"},
	{FLAG_SCHEDULES, "schedules", "FILE", "compute contractions as FILE says, which --tune has written"},
	{FLAG_TUNE, "tune", NULL, "time ways of computing each contraction on this machine; the best go into the --schedules file"},
	{FLAG_SANITIZE, "sanitize", NULL, "a program that stops where a kernel reads or writes outside an array; for tests"},
	{FLAG_PROFILE, "profile", NULL, "a program that says at its end, on standard error, what time each kernel took"},
	{FLAG_PASSES, "passes", "A,B", "run exactly these passes over the loops"},
	{FLAG_DUMP, "dump", "STAGE", "print the result of a stage, and stop"},
	{FLAG_INTERP, "interp", NULL, "with run: interpret instead of compiling"},
	{FLAG_BOUNDS, "bounds", NULL, "with run --interp: print tensors as how far other orders of computing may be from them"},
	{FLAG_CALL, "call", "\"F ARG..\"", "with run --interp: call an exported function; an .npy file or a number for each argument"},
	{FLAG_DIAGNOSTICS, "diagnostics", "FORM", "errors and warnings as text, or as json: one object a line"},
	{FLAG_JSON, "json", NULL, "with explain: print JSON, errors included"},
	{FLAG_TIME, "time", NULL, "print the time of each stage"},
	{FLAG_VERBOSE, "verbose", NULL, "print the commands that are run; with check, what the schemes pass over"},
	{FLAG_VERSION, "version", NULL, "print the version"},
	{FLAG_HELP, "help", NULL, "print this"},
};
enum { NFLAGS = sizeof flags / sizeof *flags };

static const struct { const char *name; tsr_command command; const char *usage, *help; } commands[] = {
	{NULL, TSR_COMMAND_COMPILE, "tsrc FILE.tsr -o PROGRAM", "compile and link"},
	{"check", TSR_COMMAND_CHECK, "tsrc check FILE.tsr", "print the scheme of every function and the shape of every tensor"},
	{"explain", TSR_COMMAND_EXPLAIN, "tsrc explain FILE.tsr[:LINE][:NAME]", "print why the tensor bound there has its shape"},
	{"run", TSR_COMMAND_RUN, "tsrc run [--interp] FILE.tsr [ARGUMENTS]", "compile and run"},
	{"passes", TSR_COMMAND_PASSES, "tsrc passes --passes=A,B FILE.loop", "run passes over loops written as text"},
};
enum { NCOMMANDS = sizeof commands / sizeof *commands };

static const char *const stage_names[] = {
#define TSR_STAGE(NAME, text, help) text,
#include "stages.def"
};

const char *tsr_stage_name(tsr_stage s)
{
	return stage_names[s];
}

void tsr_options_help(FILE *out)
{
	fprintf(out, "tsrc, the Tessera compiler\n\n");
	for (int i = 0; i < NCOMMANDS; i++)
		fprintf(out, "  %-42s %s\n", commands[i].usage, commands[i].help);
	fprintf(out, "\noptions:\n");
	for (int i = 0; i < NFLAGS; i++) {
		char left[64], letter[8] = "    ";
		if (flags[i].id < 256)
			snprintf(letter, sizeof letter, "-%c%s", (char)flags[i].id, flags[i].name ? ", " : "");
		if (flags[i].name)
			snprintf(left, sizeof left, "%s--%s%s%s", letter, flags[i].name, flags[i].argument ? "=" : "",
				flags[i].argument ? flags[i].argument : "");
		else
			snprintf(left, sizeof left, "%s%s%s", letter, flags[i].argument ? " " : "",
				flags[i].argument ? flags[i].argument : "");
		fprintf(out, "  %-22s %s\n", flags[i].id == FLAG_DEPENDENCIES ? "-MD" : left, flags[i].help);
	}
	fprintf(out, "\nstages for --dump:\n");
#define TSR_STAGE(NAME, text, help) fprintf(out, "  %-22s %s\n", text, help);
#include "stages.def"
	fprintf(out, "\nexit status: 0, 1 for a mistake in the program, 2 for a wrong command line, 70 for a fault of tsrc\n");
}

static bool wrong(const char *what, const char *argument)
{
	fprintf(stderr, "tsrc: %s%s%s (tsrc --help)\n", what, argument ? " " : "", argument ? argument : "");
	return false;
}

static bool parse_stage(const char *text, tsr_stage *out)
{
	for (int i = 0; i < TSR_STAGES; i++)
		if (!strcmp(stage_names[i], text)) {
			*out = (tsr_stage)i;
			return true;
		}
	return wrong("there is no stage", text);
}

static bool parse_level(const char *text, int *out)
{
	if (text[0] < '0' || text[0] > '3' || text[1])
		return wrong("-O takes 0, 1, 2 or 3, not", text);
	*out = text[0] - '0';
	return true;
}

static bool parse_threads(const char *text, tsr_threads *out)
{
	static const char *const words[] = {"none", "auto", "all"};
	for (int i = 0; i < 3; i++)
		if (!strcmp(text, words[i])) {
			*out = (tsr_threads)i;
			return true;
		}
	return wrong("--threads takes none, auto or all, not", text);
}

static bool parse_seed(const char *text, tsr_options *o)
{
	char *end;
	o->seed = strtoull(text, &end, 0);
	o->seed_given = true;
	return (*text && !*end) || wrong("--seed takes a number, not", text);
}

/* "4096", "512KiB", "1.5GiB" */
static bool parse_bytes(const char *text, int64_t *out)
{
	static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
	char *end;
	double n = strtod(text, &end);
	for (int i = 0; i < 5; i++)
		if (end != text && *text >= '0' && *text <= '9' && !strcmp(end, units[i]) && n >= 1 && n * (double)(1ll << 10 * i) < 0x1p60) {
			*out = (int64_t)(n * (double)(1ll << 10 * i));
			return true;
		}
	return wrong("--memory-limit takes a number of bytes, or one with KiB, MiB or GiB, not", text);
}

static bool apply(tsr_options *o, tsr_arena *a, flag f, const char *arg)
{
	switch (f) {
	case FLAG_OUTPUT:       o->output = arg; return true;
	case FLAG_OBJECT:       o->kind = TSR_OUTPUT_OBJECT; return true;
	case FLAG_ASSEMBLY:     o->kind = TSR_OUTPUT_ASSEMBLY; return true;
	case FLAG_EMIT:
		o->kind = TSR_OUTPUT_LLVM;
		return !strcmp(arg, "llvm") || wrong("--emit takes llvm, not", arg);
	case FLAG_LEVEL:        return parse_level(arg, &o->level);
	case FLAG_DEBUG:        o->debug = true; return true;
	case FLAG_INCLUDE:      tsr_push(a, &o->include_dirs, arg); return true;
	case FLAG_DEPENDENCIES:
		o->dependencies = true;
		return !strcmp(arg, "D") || wrong("unknown option: -M takes the form -MD, not -M", arg);
	case FLAG_TARGET:       o->triple = arg; return true;
	case FLAG_CPU:          o->cpu = arg; return true;
	case FLAG_SEED:         return parse_seed(arg, o);
	case FLAG_STDLIB:       o->stdlib = arg; return true;
	case FLAG_NO_FUSE:      o->no_fuse = true; return true;
	case FLAG_NO_SHARE:     o->no_share = true; return true;
	case FLAG_NO_REMAT:     o->no_remat = true; return true;
	case FLAG_WINOGRAD:
		o->winograd = *arg - '0';
		return !strcmp(arg, "2") || !strcmp(arg, "4") || wrong("--winograd takes 2 or 4, not", arg);
	case FLAG_MEMORY_LIMIT: return parse_bytes(arg, &o->memory_limit);
	case FLAG_TUNE:         o->tune = true; return true;
	case FLAG_SCHEDULES:    o->schedules = arg; return true;
	case FLAG_BOUNDS:       o->bounds = true; return true;
	case FLAG_SANITIZE:     o->sanitize = true; return true;
	case FLAG_PROFILE:      o->profile = true; return true;
	case FLAG_PASSES:       o->passes = arg; return true;
	case FLAG_THREADS:      return parse_threads(arg, &o->threads);
	case FLAG_DUMP:         return parse_stage(arg, &o->dump);
	case FLAG_INTERP:       o->interpret = true; return true;
	case FLAG_CALL:         tsr_push(a, &o->calls, arg); return true;
	case FLAG_DIAGNOSTICS:
		o->json = !strcmp(arg, "json");
		return o->json || !strcmp(arg, "text") || wrong("--diagnostics takes text or json, not", arg);
	case FLAG_JSON:         o->json = true; return true;
	case FLAG_TIME:         o->time = true; return true;
	case FLAG_VERBOSE:      o->verbose = true; return true;
	case FLAG_VERSION:      o->command = TSR_COMMAND_VERSION; return true;
	case FLAG_HELP:         o->command = TSR_COMMAND_HELP; return true;
	}
	return false;
}

/* FILE:LINE:NAME, FILE:LINE or FILE:NAME, taken apart from the end. */
static void take_apart(tsr_options *o, char *word)
{
	for (;;) {
		char *colon = strrchr(word, ':'), *end;
		if (!colon || colon == word || !colon[1] || strchr(colon, '/') || strstr(colon, ".tsr"))
			return;
		unsigned long line = strtoul(colon + 1, &end, 10);
		if (*end && (o->at_name || o->at_line))
			return;
		*colon = 0;
		if (*end)
			o->at_name = colon + 1;
		else
			o->at_line = (uint32_t)line;
		if (!*end)
			return;
	}
}

/* What stands where a command may stand; a file is input, and after it `run` leaves the rest to the program. */
static bool place(tsr_options *o, int argc, char **argv, int *at, bool *named)
{
	char *word = argv[*at];
	for (int i = 0; i < NCOMMANDS && !*named && !o->input; i++)
		if (commands[i].name && !strcmp(commands[i].name, word)) {
			o->command = commands[i].command;
			*named = true;
			++*at;
			return true;
		}
	if (o->input)
		return wrong("one input file at a time; unexpected", word);
	if (o->command == TSR_COMMAND_EXPLAIN)
		take_apart(o, word);
	o->input = word;
	o->argc = 1;
	o->argv = argv + *at;
	if (o->command == TSR_COMMAND_RUN) {
		o->argc = argc - *at;
		*at = argc;
	} else {
		++*at;
	}
	return true;
}

static void build_tables(struct option *longs, char *letters)
{
	char *to = letters;
	*to++ = '+';
	*to++ = ':';
	for (int i = 0; i < NFLAGS; i++) {
		if (flags[i].id < 256) {
			*to++ = (char)flags[i].id;
			if (flags[i].argument)
				*to++ = ':';
		}
		if (flags[i].name)
			*longs++ = (struct option){flags[i].name, flags[i].argument ? required_argument : no_argument, NULL, (int)flags[i].id};
	}
	*to = 0;
	*longs = (struct option){0};
}

bool tsr_options_parse(tsr_options *o, tsr_arena *a, int argc, char **argv)
{
	struct option longs[NFLAGS + 1];
	char letters[2 * NFLAGS + 3];
	bool named = false;
	*o = (tsr_options){.level = 2, .dump = TSR_STAGES, .threads = TSR_THREADS_AUTO, .program = argv[0], .colour = isatty(2)};
	build_tables(longs, letters);
	opterr = 0;
	optind = 1;
	for (;;) {
		int c = getopt_long(argc, argv, letters, longs, NULL);
		if (c == -1) {
			if (optind >= argc)
				break;
			if (!place(o, argc, argv, &optind, &named))
				return false;
			continue;
		}
		if (c == '?')
			return wrong("unknown option", argv[optind - 1]);
		if (c == ':')
			return wrong("an argument is missing after", argv[optind - 1]);
		if (!apply(o, a, (flag)c, optarg))
			return false;
	}
	if (o->calls.n && !(o->command == TSR_COMMAND_RUN && o->interpret))
		return wrong("--call goes with run --interp", NULL);
	if (!o->input && o->command != TSR_COMMAND_HELP && o->command != TSR_COMMAND_VERSION)
		return wrong("no input file", NULL);
	if (o->tune && (!o->schedules || o->command != TSR_COMMAND_COMPILE))
		return wrong("--tune takes a program, and --schedules FILE for its results", NULL);
	return true;
}
