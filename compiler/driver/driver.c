/* THE pipeline: `compile` below is the whole way from a source text to machine code, top to bottom.  Everything else in
 * this file is how a command line enters it and what leaves it. */
#include "driver.h"
#include "private.h"
#include "../diag/output.h"
#include "../opt/opt.h"
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void tsr_drive_lap(tsr_drive_state *d, const char *what)
{
	double t = now();
	if (d->options->time)
		fprintf(stderr, "%-10s %8.2f ms\n", what, 1e3 * (t - d->last));
	d->last = t;
}

/* A stage is complete: true when the way ends here, because of errors or because its dump was asked for. */
static bool ends(tsr_drive_state *d, tsr_stage stage)
{
	tsr_drive_lap(d, tsr_stage_name(stage));
	return d->tc->nerrors || d->options->dump == stage;
}

/* Prints through `call` when this stage's dump is what was asked for; leaves the pipeline when it ends here. */
#define STAGE(name, call)                                                        \
	do {                                                                         \
		if (ends(d, TSR_STAGE_##name)) {                                         \
			if (!d->tc->nerrors)                                                 \
				call;                                                            \
			return false;                                                        \
		}                                                                        \
	} while (0)

/* The two stages of a single file, for their dumps; elaboration parses what it opens by itself. */
static bool parse(tsr_drive_state *d)
{
	tsr_compiler *tc = d->tc;
	uint32_t file = tsr_source_load(tc, d->options->input);
	if (!file) {
		tsr_report(tc, TSR_E_NO_FILE, TSR_NOWHERE, "%s: %s", d->options->input, strerror(errno));
		return false;
	}
	if (d->options->dump == TSR_STAGE_TOKENS) {
		tsr_tokens_print(tc, file, stdout);
		return false;
	}
	tsr_module_ast *m = tsr_parse(tc, file);
	if (!tc->nerrors)
		tsr_ast_check(tc, m);
	STAGE(AST, tsr_ast_print(tc, m, stdout));
	return true;
}

static void print_projections(tsr_graph *g)
{
	for (uint32_t r = 0; r < g->records.n; r++) {
		tsr_proj *p = tsr_proj_derive(g, r);
		if (p)
			tsr_proj_print(g, p, stdout);
	}
}

/* `tsrc check` reports what later stages would find: conflicts of index maps, also in operations that no code runs yet, and
 * mistakes of code and of the program level. */
static void check_rest(tsr_graph *g)
{
	tsr_host *host = tsr_host_lower(g);
	for (uint32_t r = 0; r < g->records.n; r++)
		tsr_proj_derive(g, r);
	tsr_code *code = tsr_code_build(g);
	tsr_host_numbers(host, code);
	tsr_host_call_sizes(host, code);
}

/* A function is solved once for all of its applications, unless constraints are to be shown; where that does not go, or there is
 * something to explain, each application is solved by itself. */
static tsr_graph *solved(tsr_drive_state *d)
{
	bool shows = d->options->command == TSR_COMMAND_EXPLAIN || d->options->dump <= TSR_STAGE_SHAPE;
	tsr_share_level level = shows || d->options->no_share ? TSR_SHARE_NONE : TSR_SHARE_ALL;
	while (level != TSR_SHARE_NONE) {
		tsr_graph *g = d->graph = tsr_elaborate(d->tc, d->options->input, level);
		if (!d->tc->nerrors)
			tsr_graph_check(g);
		tsr_drive_lap(d, "graph");
		tsr_graph_close(g);
		tsr_share_level well = tsr_graph_shares_well(g);
		if (well == level)
			return g;
		level = well;
		tsr_diags_clear(d->tc);
	}
	return NULL;
}

static void print_cost(const tsr_graph *g)
{
	tsr_store_stats cost = tsr_store_statistics(g->store);
	tsr_share_stats n = tsr_graph_shared(g);
	uint32_t solved = 0;
	for (uint32_t i = 0; i < TSR_AGAIN_COUNT; i++)
		solved += n.solved[i];
	fprintf(stderr, "           %llu solver steps; applications: %u solved, %u copied, %u shared, %u more instances of %u schemes\n",
	        (unsigned long long)(cost.steps + n.steps), solved, n.copied, n.same, n.instances, n.schemes);
	for (uint32_t i = 0; i < TSR_AGAIN_COUNT; i++)
		if (n.solved[i])
			fprintf(stderr, "           %u solved: %s\n", n.solved[i], tsr_again_str(i));
	fprintf(stderr, n.level == TSR_SHARE_NONE ? "           every application by itself\n" : "           %u solved twice\n", n.twice);
}

static void lower(tsr_drive_state *d)
{
	d->loops = tsr_loops_lower(d->code, d->host ? d->host->observed : NULL, d->host ? d->host->returned : NULL);
	tsr_loops_check(d->loops, "lowering");
}

/* Source text to loops and program level; true when both are there and nothing was to be dumped on the way. */
static bool to_loops(tsr_drive_state *d)
{
	tsr_compiler *tc = d->tc;
	tsr_graph *g = solved(d);
	if (!g) {
		g = d->graph = tsr_elaborate(tc, d->options->input, TSR_SHARE_NONE);
		if (tc->nerrors) {               /* what closing has to say, of the definitions without mistakes */
			tsr_graph_close(g);
			return false;
		}
		tsr_graph_check(g);
		STAGE(GRAPH, tsr_graph_print(g, stdout));
		tsr_graph_close(g);
	}
	tsr_store_check(g->store);
	STAGE(SHAPE, tsr_store_print(g->store, stdout));
	if (d->options->time)
		print_cost(g);
	if (d->options->command == TSR_COMMAND_CHECK) {
		tsr_graph_print_schemes(g, stdout, d->options->verbose ? stderr : NULL);
		tsr_graph_print_shapes(g, stdout);
		check_rest(g);
		return false;
	}
	if (d->options->command == TSR_COMMAND_EXPLAIN) {
		check_rest(g);
		if (!tc->nerrors)
			tsr_drive_explain(d);
		return false;
	}
	/* before the code is built: printing a tensor adds the code that computes it */
	d->host = tsr_host_lower(g);
	STAGE(PROJ, print_projections(g));
	tsr_code *code = tsr_code_build(g);
	if (!tc->nerrors)
		tsr_code_check(code);
	tsr_host_numbers(d->host, code);
	tsr_host_call_sizes(d->host, code);
	tsr_host_returns(d->host, code);
	STAGE(CODE, tsr_code_print(code, stdout));
	tsr_host_check(d->host);
	STAGE(HOST, tsr_host_print(d->host, stdout));
	d->code = code;
	lower(d);
	STAGE(LOOP, tsr_loops_print(d->loops, stdout));
	return true;
}

/* What is linked elsewhere, rather than a program of its own. */
static bool is_object(const tsr_drive_state *d)
{
	const tsr_options *o = d->options;
	return o->command == TSR_COMMAND_COMPILE && (o->kind == TSR_OUTPUT_OBJECT || (o->kind != TSR_OUTPUT_EXECUTABLE && d->graph->exports.n));
}

const char *tsr_drive_cpu(const tsr_drive_state *d) { return d->cpus.n ? d->cpus.at[d->which] : is_object(d) ? "baseline" : NULL; }

static tsr_llvm *machine(tsr_drive_state *d)
{
	const tsr_options *o = d->options;
	bool object = is_object(d);
	const char *stem = tsr_drive_stem(d, o->input);
	tsr_llvm_options l = {
		.level = o->level, .debug = o->debug, .triple = o->triple, .program = stem, .seed = o->seed_given ? o->seed : 0,
		.sanitize = o->sanitize, .profile = o->profile,
		.cpu = tsr_drive_cpu(d), .cpus = d->cpus.at, .ncpus = d->cpus.n, .which = d->which,
		.entry = !object ? "main" : tsr_drive_has_main(d) ? tsr_format(d->tc->arena, "%s_main", tsr_drive_identifier(d, stem)) : NULL,
		.exports = object ? tsr_drive_identifier(d, stem) : NULL,
	};
	return tsr_llvm_open(d->tc, &l);
}

/* The loops as code of one processor; true when d->llvm holds it. */
static bool build(tsr_drive_state *d)
{
	d->llvm = machine(d);
	if (!d->llvm)
		return false;
	const tsr_target *target = tsr_llvm_target(d->llvm);
	tsr_opt_options opt = {.level = d->options->level, .fuse = !d->options->no_fuse, .passes = d->options->passes,
		.threads = d->options->threads, .sanitize = d->options->sanitize, .memory_limit = d->options->memory_limit, .keep = d->options->no_remat, .tile = d->options->winograd};
	if (d->options->tune) {
		opt.schedules = tsr_schedules_new(d->tc, d->options->schedules);
		opt.whole = true;
	} else if (d->options->schedules) {
		opt.schedules = tsr_schedules_read(d->tc, d->options->schedules);
	}
	if (d->tc->nerrors)
		return false;
	if (opt.schedules && d->cpus.n < 2)          /* of several processors most are never those of the machine that was tuned for */
		tsr_schedules_suit(opt.schedules, target);
	tsr_opt_run(d->loops, target, &opt);
	STAGE(OPT, tsr_loops_print(d->loops, stdout));
	STAGE(SCHEDULE, tsr_opt_print_schedule(d->loops, target, stdout));
	STAGE(MEMORY, tsr_opt_print_memory(d->loops, stdout));
	STAGE(PICTURE, tsr_opt_print_memory_svg(d->loops, stdout));
	if (d->options->tune)
		return true;
	tsr_llvm_emit(d->llvm, d->loops, d->host);
	STAGE(LL, tsr_llvm_print(d->llvm, stdout));
	if (d->options->dump != TSR_STAGE_ASM && tsr_drive_in_parts(d))
		return true;
	tsr_llvm_optimise(d->llvm);
	tsr_drive_lap(d, "optimise");
	if (d->options->dump == TSR_STAGE_ASM)
		tsr_llvm_print_assembly(d->llvm, stdout);
	return d->options->dump != TSR_STAGE_ASM;
}

/* The whole way; true when d->llvm holds optimised code, or what is to be linked. */
static bool compile(tsr_drive_state *d)
{
	if (d->options->dump <= TSR_STAGE_AST)
		return parse(d);
	return to_loops(d) && tsr_drive_cpus(d) && build(d);
}

bool tsr_drive_build(tsr_drive_state *d, uint32_t which)
{
	tsr_llvm_close(d->llvm);         /* LLVM serves one module at a time */
	d->llvm = NULL;
	d->which = which;
	lower(d);
	return build(d);
}

static int tuned(tsr_drive_state *d)
{
	const tsr_target *target = tsr_llvm_target(d->llvm);
	tsr_llvm_close(d->llvm);
	d->llvm = NULL;
	return tsr_drive_tune(d, target);
}

static int finish(tsr_drive_state *d, int status)
{
	tsr_output_flush(d->tc);
	if (d->options->json)
		tsr_diags_render_json(d->tc, stderr);
	else
		tsr_diags_render(d->tc, stderr, d->options->colour);
	if (d->tc->nerrors)
		status = TSR_EXIT_MISTAKE;
	if (d->llvm)
		tsr_llvm_close(d->llvm);
	tsr_compiler_free(d->tc);
	return status;
}

int tsr_drive(const tsr_options *o)
{
	tsr_drive_state d = {.options = o};
	int status = TSR_EXIT_OK;
	d.last = now();
	d.tc = tsr_compiler_new();
	tsr_drive_folders(&d);
	switch (o->command) {
	case TSR_COMMAND_COMPILE:
		if (compile(&d))
			status = o->tune ? tuned(&d) : tsr_drive_write(&d);
		break;
	case TSR_COMMAND_CHECK:
	case TSR_COMMAND_EXPLAIN:
		to_loops(&d);
		break;
	case TSR_COMMAND_RUN:
		if (o->interpret)
			status = to_loops(&d) ? tsr_drive_interpret(&d) : TSR_EXIT_OK;
		else if (compile(&d))
			status = tsr_drive_run(&d);
		break;
	case TSR_COMMAND_PASSES:
		status = tsr_drive_passes(&d);
		break;
	case TSR_COMMAND_HELP:
		tsr_options_help(stdout);
		break;
	case TSR_COMMAND_VERSION:
		printf("tsrc %s\n", TSR_VERSION);
		break;
	}
	return finish(&d, status);
}
