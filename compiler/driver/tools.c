/* What the commands do at the end of the pipeline: write files, run the program, run passes over written loops. */
#include "private.h"
#include "../diag/output.h"
#include "../opt/opt.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *output_path(tsr_drive_state *d)
{
	static const char *const endings[] = {"", ".o", ".s", ".ll"};
	const tsr_options *o = d->options;
	if (o->output)
		return o->output;
	return tsr_format(d->tc->arena, "%s%s", tsr_drive_stem(d, o->input), endings[o->kind]);
}

static const char *with_ending(tsr_drive_state *d, const char *path, const char *ending)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
	size_t n = dot ? (size_t)(dot - path) : strlen(path);
	return tsr_format(d->tc->arena, "%.*s%s", (int)n, path, ending);
}

static void write_dependencies(tsr_drive_state *d, const char *output)
{
	tsr_output o;
	tsr_output_open(&o);
	fprintf(o.to, "%s:", output);
	for (uint32_t i = 1; i < d->tc->sources.n; i++)
		if (!strchr(d->tc->sources.at[i]->path, '<'))
			fprintf(o.to, " \\\n  %s", d->tc->sources.at[i]->path);
	for (uint32_t i = 0; i < d->tc->data_files.n; i++)
		fprintf(o.to, " \\\n  %s", d->tc->data_files.at[i]);
	fprintf(o.to, "\n");
	tsr_output_close(d->tc, &o, with_ending(d, output, ".d"));
}

static void write_header(tsr_drive_state *d, const char *output)
{
	const char *id = tsr_drive_identifier(d, tsr_drive_stem(d, d->options->input));
	tsr_header_text what = {.input = d->options->input, .prefix = id, .made_for = d->cpus.n > 1 ? d->options->cpu : tsr_llvm_cpu(d->llvm), .entry = tsr_drive_has_main(d)};
	tsr_output o;
	tsr_output_open(&o);
	tsr_host_header(d->host, &what, o.to);
	tsr_output_close(d->tc, &o, with_ending(d, output, ".h"));
}

/* An object in the folder of temporary files; its path ends in what mkstemps made unique. */
const char *tsr_drive_temporary(tsr_drive_state *d, const char *ending)
{
	const char *folder = getenv("TMPDIR");
	char *path = tsr_format(d->tc->arena, "%s/tsrc-XXXXXX%s", folder && *folder ? folder : "/tmp", ending);
	int fd = mkstemps(path, (int)strlen(ending));
	if (fd < 0) {
		tsr_report(d->tc, TSR_E_OUTPUT, TSR_NOWHERE, "%s: %s", path, strerror(errno));
		return NULL;
	}
	close(fd);
	return path;
}

bool tsr_drive_in_parts(const tsr_drive_state *d)
{
	const tsr_options *o = d->options;
	return o->command == TSR_COMMAND_RUN || (o->command == TSR_COMMAND_COMPILE && (o->kind == TSR_OUTPUT_EXECUTABLE || o->kind == TSR_OUTPUT_OBJECT));
}

bool tsr_drive_write_parts(tsr_drive_state *d, uint32_t n, tsr_put_together *together, const char *path)
{
	uint32_t made = 0;
	const char **objects = TSR_NEW_N(d->tc->arena, const char *, n + 1);
	while (made < n && (objects[made] = tsr_drive_temporary(d, ".o")))
		made++;
	bool ok = made == n && tsr_llvm_write_parts(d->llvm, objects);
	tsr_drive_lap(d, "object");
	ok = ok && together(d, n, objects, path);
	tsr_drive_lap(d, "link");
	for (uint32_t i = 0; i < made; i++)
		unlink(objects[i]);
	return ok;
}

static bool write_executable(tsr_drive_state *d, const char *path)
{
	if (d->cpus.n > 1)
		return tsr_drive_write_several(d, tsr_drive_link, path);
	return tsr_drive_write_parts(d, tsr_llvm_parts(d->llvm, false), tsr_drive_link, path);
}

static bool write_object(tsr_drive_state *d, const char *path)
{
	if (d->cpus.n > 1)
		return tsr_drive_write_several(d, tsr_drive_join_several, path);
	uint32_t n = tsr_llvm_parts(d->llvm, !tsr_drive_joins(d, path));
	if (n > 1)
		return tsr_drive_write_parts(d, n, tsr_drive_join, path);
	bool ok = tsr_llvm_write_parts(d->llvm, &path);
	tsr_drive_lap(d, "object");
	return ok;
}

int tsr_drive_write(tsr_drive_state *d)
{
	const char *path = output_path(d);
	bool ok = false;
	switch (d->options->kind) {
	case TSR_OUTPUT_EXECUTABLE:
		ok = write_executable(d, path);
		break;
	case TSR_OUTPUT_OBJECT:
		ok = write_object(d, path);
		if (ok)
			write_header(d, path);
		break;
	case TSR_OUTPUT_ASSEMBLY:
		ok = tsr_llvm_write(d->llvm, TSR_CODE_ASSEMBLY, path);
		break;
	case TSR_OUTPUT_LLVM:
		ok = tsr_llvm_write(d->llvm, TSR_CODE_LLVM, path);
		break;
	}
	if (ok && d->options->dependencies)
		write_dependencies(d, path);
	return ok ? TSR_EXIT_OK : TSR_EXIT_MISTAKE;
}

/* What a program that is run at once is started with: data files lie where they lay while compiling, beside the source,
 * unless the user's own --data, which comes later, says otherwise. */
static char **program_arguments(tsr_drive_state *d, const char *program, int *argc)
{
	TSR_VEC(char *) argv = {0};
	const char *slash = strrchr(d->options->input, '/');
	size_t n = slash ? (size_t)(slash - d->options->input) : 1;
	tsr_push(d->tc->arena, &argv, (char *)(uintptr_t)program);
	tsr_push(d->tc->arena, &argv, tsr_strdup(d->tc->arena, "--data"));
	tsr_push(d->tc->arena, &argv, slash && n == 0 ? tsr_strdup(d->tc->arena, "/") : tsr_strndup(d->tc->arena, slash ? d->options->input : ".", n));
	for (int i = 1; i < d->options->argc; i++)
		tsr_push(d->tc->arena, &argv, d->options->argv[i]);
	*argc = (int)argv.n;
	tsr_push(d->tc->arena, &argv, NULL);
	return argv.at;
}

int tsr_drive_run(tsr_drive_state *d)
{
	const char *path = tsr_drive_temporary(d, "");
	if (!path || !write_executable(d, path)) {
		if (path)
			unlink(path);
		return TSR_EXIT_MISTAKE;
	}
	int argc, status = tsr_drive_spawn(d, program_arguments(d, path, &argc));
	unlink(path);
	return status < 0 ? TSR_EXIT_FAULT : status;
}

int tsr_drive_interpret(tsr_drive_state *d)
{
	const tsr_options *o = d->options;
	tsr_host_start how = {.seed = o->seed, .bounds = o->bounds, .ncalls = o->calls.n, .calls = o->calls.at};
	how.argv = program_arguments(d, o->argv[0], &how.argc);
	return tsr_host_interpret(d->host, d->loops, &how);
}

/* An entry of the table, or the one of a processor; NULL after a message. */
static const tsr_target *target_of_passes(tsr_drive_state *d, const char *name)
{
	static const char *const archs[] = { "x86_64", "aarch64" };
	const tsr_target *entry = tsr_target_by_name(name);
	for (size_t i = 0; !entry && i < sizeof archs / sizeof *archs; i++)
		if (tsr_target_known_cpu(archs[i], name))
			entry = tsr_target_find(archs[i], name, NULL);
	if (!entry)
		tsr_report(d->tc, TSR_E_TARGET, TSR_NOWHERE, "tsrc knows no processor %s", name);
	return entry;
}

int tsr_drive_passes(tsr_drive_state *d)
{
	const tsr_options *o = d->options;
	const tsr_target *target = target_of_passes(d, o->cpu ? o->cpu : "generic");
	if (!target)
		return TSR_EXIT_MISTAKE;
	uint32_t file = tsr_source_load(d->tc, o->input);
	if (!file) {
		tsr_report(d->tc, TSR_E_NO_FILE, TSR_NOWHERE, "%s: %s", o->input, strerror(errno));
		return TSR_EXIT_MISTAKE;
	}
	tsr_loops *l = tsr_loops_read(d->tc, file);
	if (!l)
		return TSR_EXIT_MISTAKE;
	tsr_loops_check(l, "reading");
	tsr_opt_options opt = {.level = o->level, .fuse = !o->no_fuse, .passes = o->passes ? o->passes : "",
		.threads = o->threads, .sanitize = o->sanitize, .memory_limit = o->memory_limit, .keep = o->no_remat, .tile = o->winograd};
	if (!tsr_opt_run(l, target, &opt))
		return TSR_EXIT_MISTAKE;
	tsr_loops_print(l, stdout);
	return TSR_EXIT_OK;
}
