/* Where things are on this machine, and turning an object file into an executable.
 *
 * The system's C compiler is asked to link: it knows the start-up files and the libraries of its system.  The runtime
 * archive stands beside tsrc in a build tree and in ../lib when installed. */
#include "private.h"
#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool exists(const char *path)
{
	return access(path, R_OK) == 0;
}

static const char *folder_of_this_program(tsr_drive_state *d)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	if (n <= 0)
		return ".";
	path[n] = 0;
	char *slash = strrchr(path, '/');
	if (slash)
		*slash = 0;
	return tsr_strdup(d->tc->arena, path);
}

/* The first of the two that exists beside or above this program, or NULL. */
static const char *beside(tsr_drive_state *d, const char *built, const char *installed)
{
	const char *a = tsr_format(d->tc->arena, "%s/%s", d->home, built);
	const char *b = tsr_format(d->tc->arena, "%s/%s", d->home, installed);
	const char *found = exists(a) ? a : exists(b) ? b : NULL;
	char *plain = found ? realpath(found, NULL) : NULL;       /* messages show it: without `..` */
	if (plain)
		found = tsr_strdup(d->tc->arena, plain);
	free(plain);
	return found;
}

void tsr_drive_folders(tsr_drive_state *d)
{
	tsr_compiler *tc = d->tc;
	tc->options = d->options;
	d->home = folder_of_this_program(d);
	for (uint32_t i = 0; i < d->options->include_dirs.n; i++)
		tsr_push(tc->arena, &tc->include_dirs, d->options->include_dirs.at[i]);
	tc->stdlib_dir = d->options->stdlib ? d->options->stdlib : beside(d, "../stdlib", "../share/tessera/stdlib");
}

const char *tsr_drive_stem(tsr_drive_state *d, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
	return tsr_strndup(d->tc->arena, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

const char *tsr_drive_identifier(tsr_drive_state *d, const char *stem)
{
	char *id = tsr_format(d->tc->arena, "%s%s", *stem >= '0' && *stem <= '9' ? "_" : "", stem);
	for (char *c = id; *c; c++)
		if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9')))
			*c = '_';
	return id;
}

int tsr_drive_spawn(tsr_drive_state *d, char *const *argv)
{
	pid_t pid;
	int status;
	if (d->options->verbose)
		for (char *const *a = argv; *a; a++)
			fprintf(stderr, "%s%c", *a, a[1] ? ' ' : '\n');
	fflush(stdout);
	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ))
		return -1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool for_this_machine(tsr_drive_state *d)
{
	struct utsname u;
	const char *triple = d->options->triple;
	return !triple || uname(&u) || (!strncmp(triple, u.machine, strlen(u.machine)) && triple[strlen(u.machine)] == '-');
}

bool tsr_drive_link(tsr_drive_state *d, uint32_t n, const char *const *objects, const char *executable)
{
	tsr_compiler *tc = d->tc;
	const char *runtime = beside(d, "libtessera.a", "../lib/libtessera.a");
	TSR_VEC(char *) argv = {0};
	if (!for_this_machine(d)) {
		tsr_diag *g = tsr_report(tc, TSR_E_LINK, TSR_NOWHERE, "a program for %s is not linked here", d->options->triple);
		tsr_hint(tc, g, "-c writes its object file, to be linked there with libtessera.a");
		return false;
	}
#define ARG(s) tsr_push(tc->arena, &argv, (char *)(uintptr_t)(s))
	if (!runtime) {
		tsr_report(tc, TSR_E_NO_FILE, TSR_NOWHERE, "libtessera.a is neither in %s nor in %s/../lib", d->home, d->home);
		return false;
	}
	ARG("cc");
	ARG("-o");
	ARG(executable);
	for (uint32_t i = 0; i < n; i++)
		ARG(objects[i]);
	ARG(runtime);
	ARG("-Wl,--gc-sections,--as-needed,-O1");
	if (d->options->sanitize)
		ARG("-fsanitize=address");
	else if (!d->options->debug)
		ARG("-s");
	if (tsr_llvm_needs_formats(d->llvm)) {
		ARG("-l:libminizip.a");
		ARG("-l:libz.a");
	}
	ARG("-lm");
	ARG(NULL);
#undef ARG
	int status = tsr_drive_spawn(d, argv.at);
	struct stat made;
	if (status && !stat(executable, &made) && S_ISREG(made.st_mode))
		unlink(executable);              /* half a program is worse than none */
	if (status < 0)
		tsr_report(tc, TSR_E_LINK, TSR_NOWHERE, "cannot run cc: %s", strerror(errno));
	else if (status)
		tsr_report(tc, TSR_E_LINK, TSR_NOWHERE, "cc could not link %s (exit status %d)", executable, status);
	return status == 0;
}

bool tsr_drive_link_library(tsr_drive_state *d, const char *object, const char *library)
{
	const char *runtime = beside(d, "libtessera.a", "../lib/libtessera.a");
	const char *words[] = {"cc", "-shared", "-o", library, object, runtime, "-lm", NULL};
	char *argv[sizeof words / sizeof *words];
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		argv[i] = (char *)(uintptr_t)words[i];
	bool ok = runtime && tsr_drive_spawn(d, argv) == 0;
	if (!ok)
		tsr_report(d->tc, TSR_E_LINK, TSR_NOWHERE, "cc could not link %s", library);
	return ok;
}
