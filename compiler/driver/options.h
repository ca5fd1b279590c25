/* The command line: every flag stands once, in a table that parsing and --help both read. */
#ifndef TSR_DRIVER_OPTIONS_H
#define TSR_DRIVER_OPTIONS_H
#include "../base/vec.h"
#include "../opt/opt.h"
#include <stdio.h>

typedef enum {
#define TSR_STAGE(NAME, text, help) TSR_STAGE_##NAME,
#include "stages.def"
	TSR_STAGES
} tsr_stage;

typedef enum {
	TSR_COMMAND_COMPILE, TSR_COMMAND_CHECK, TSR_COMMAND_EXPLAIN, TSR_COMMAND_RUN, TSR_COMMAND_PASSES, TSR_COMMAND_HELP, TSR_COMMAND_VERSION
} tsr_command;

typedef enum { TSR_OUTPUT_EXECUTABLE, TSR_OUTPUT_OBJECT, TSR_OUTPUT_ASSEMBLY, TSR_OUTPUT_LLVM } tsr_output_kind;

typedef struct tsr_options {
	tsr_command command;
	const char *input;
	const char *output;          /* -o, or NULL: the kind's own name for the input */
	tsr_output_kind kind;
	tsr_stage dump;              /* TSR_STAGES: none */
	int level;
	bool debug, interpret, dependencies, time, verbose, no_fuse, no_share, no_remat, sanitize, profile, bounds, tune, colour, seed_given;
	uint64_t seed;
	bool json;                   /* diagnostics, and what explain prints */
	uint32_t at_line;            /* explain: FILE:LINE:NAME; 0 and NULL where not given */
	const char *at_name;
	const char *triple, *cpu;    /* NULL: this machine's */
	const char *passes;
	const char *schedules;       /* file of schedules, or NULL */
	tsr_threads threads;
	int winograd;                /* places of a tile along each axis at most: 2 or 4; 0: none */
	int64_t memory_limit;        /* bytes; 0: none */
	const char *program;         /* argv[0], for finding the standard library and the runtime */
	const char *stdlib;
	TSR_VEC(const char *) include_dirs;
	TSR_VEC(const char *) calls; /* of exported functions, in order */
	int argc;                    /* of the program that `run` starts; argv[0] is the input */
	char **argv;
} tsr_options;

/* False after a wrong command line, which has been explained on standard error. */
bool tsr_options_parse(tsr_options *o, tsr_arena *a, int argc, char **argv);
void tsr_options_help(FILE *out);
const char *tsr_stage_name(tsr_stage s);
#endif
