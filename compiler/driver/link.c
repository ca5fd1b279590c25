/* Where things are on this machine, and turning object files into an executable, or into one object.
 *
 * The system's C compiler is asked to link: it knows the start-up files and the libraries of its system.  The runtime
 * archive stands beside tsrc in a build tree and in ../lib when installed. */
#include "private.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
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

bool tsr_drive_runs_here(const tsr_drive_state *d)
{
	struct utsname u;
	const char *triple = d->options->triple;
	return !triple || uname(&u) || (!strncmp(triple, u.machine, strlen(u.machine)) && triple[strlen(u.machine)] == '-');
}

/* ---- making files with the system's tools -------------------------------------------------------------------------------------- */

typedef TSR_VEC(char *) command;

/* Appends words up to a NULL. */
static void say(tsr_drive_state *d, command *c, ...)
{
	va_list words;
	va_start(words, c);
	for (char *w = va_arg(words, char *); w; w = va_arg(words, char *))
		tsr_push(d->tc->arena, c, w);
	va_end(words);
}

static void say_all(tsr_drive_state *d, command *c, uint32_t n, const char *const *words)
{
	for (uint32_t i = 0; i < n; i++)
		tsr_push(d->tc->arena, c, (char *)(uintptr_t)words[i]);
}

/* Runs a command that makes the file at `made`, in messages `path`; half a file is worse than none. */
static bool make(tsr_drive_state *d, command *c, const char *made, const char *path)
{
	tsr_push(d->tc->arena, c, NULL);
	int status = tsr_drive_spawn(d, c->at);
	struct stat there;
	if (status && !stat(made, &there) && S_ISREG(there.st_mode))
		unlink(made);
	if (status < 0)
		tsr_report(d->tc, TSR_E_LINK, TSR_NOWHERE, "cannot run %s: %s", c->at[0], strerror(errno));
	else if (status)
		tsr_report(d->tc, TSR_E_LINK, TSR_NOWHERE, "%s could not make %s (exit status %d)", c->at[0], path, status);
	return status == 0;
}

static void refuse(tsr_drive_state *d, const char *path, int why)
{
	tsr_report(d->tc, TSR_E_OUTPUT, TSR_NOWHERE, "%s: %s", path, strerror(why));
}

/* Where the tools make a file that is to stand at `path`: beside what was there, which stays until the new one is whole; at `path` itself if that
 * is a device or a link.  NULL if there cannot be a file, which is said here, not by the linker. */
static const char *place(tsr_drive_state *d, const char *path)
{
	struct stat there;
	bool old = !lstat(path, &there);
	bool folder = old && S_ISDIR(there.st_mode);
	if (old && !folder && !S_ISREG(there.st_mode))
		return path;
	const char *beside = tsr_format(d->tc->arena, "%s.%ld", path, (long)getpid());
	int fd = folder ? -1 : open(beside, O_WRONLY | O_CREAT | O_EXCL, 0666);
	if (fd < 0) {
		refuse(d, path, folder ? EISDIR : errno);
		return NULL;
	}
	close(fd);
	return beside;
}

static bool settle(tsr_drive_state *d, const char *made, const char *path)
{
	if (made == path || !rename(made, path))
		return true;
	int why = errno;
	unlink(made);
	refuse(d, path, why);
	return false;
}

static const char *runtime(tsr_drive_state *d)
{
	const char *found = beside(d, "libtessera.a", "../lib/libtessera.a");
	if (!found)
		tsr_report(d->tc, TSR_E_NO_FILE, TSR_NOWHERE, "libtessera.a is neither in %s nor in %s/../lib", d->home, d->home);
	return found;
}

bool tsr_drive_link(tsr_drive_state *d, uint32_t n, const char *const *objects, const char *executable)
{
	if (!tsr_drive_runs_here(d)) {
		tsr_diag *g = tsr_report(d->tc, TSR_E_LINK, TSR_NOWHERE, "a program for %s is not linked here", d->options->triple);
		tsr_hint(d->tc, g, "-c writes its object file, to be linked there with libtessera.a");
		return false;
	}
	const char *library = runtime(d);
	if (!library)
		return false;
	const char *made = place(d, executable);
	if (!made)
		return false;
	command c = {0};
	say(d, &c, "cc", "-o", made, NULL);
	say_all(d, &c, n, objects);
	say(d, &c, library, "-Wl,--gc-sections,--as-needed,-O1", NULL);
	if (d->options->sanitize)
		say(d, &c, "-fsanitize=address", NULL);
	else if (!d->options->debug)
		say(d, &c, "-s", NULL);
	if (tsr_llvm_needs_formats(d->llvm))
		say(d, &c, "-l:libminizip.a", "-l:libz.a", NULL);
	say(d, &c, "-lm", NULL);
	return make(d, &c, made, executable) && settle(d, made, executable);
}

bool tsr_drive_link_library(tsr_drive_state *d, const char *object, const char *path)
{
	const char *library = runtime(d);
	command c = {0};
	say(d, &c, "cc", "-shared", "-o", path, object, library, "-lm", NULL);
	return library && make(d, &c, path, path);
}

static bool on_path(tsr_drive_state *d, const char *tool)
{
	const char *at = getenv("PATH");
	for (size_t n; at && *at; at += n + (at[n] == ':')) {
		n = strcspn(at, ":");
		if (!access(tsr_format(d->tc->arena, "%.*s/%s", (int)n, at, tool), X_OK))
			return true;
	}
	return false;
}

bool tsr_drive_joins(tsr_drive_state *d, const char *object)
{
	struct stat there;
	bool device = !stat(object, &there) && !S_ISREG(there.st_mode);        /* binutils would replace it, or refuse */
	return !device && tsr_drive_runs_here(d) && on_path(d, "ld") && on_path(d, "objcopy");
}

static bool join(tsr_drive_state *d, uint32_t n, const char *const *objects, const char *object, const char *hidden)
{
	const char *made = place(d, object);
	if (!made)
		return false;
	command join = {0}, hide = {0};
	say(d, &join, "ld", "-r", "-o", made, NULL);
	say_all(d, &join, n, objects);
	say(d, &hide, "objcopy", "--wildcard", hidden, made, NULL);
	return make(d, &join, made, object) && make(d, &hide, made, object) && settle(d, made, object);
}

bool tsr_drive_join(tsr_drive_state *d, uint32_t n, const char *const *objects, const char *object)
{
	return join(d, n, objects, object, "--localize-hidden");
}

bool tsr_drive_join_several(tsr_drive_state *d, uint32_t n, const char *const *objects, const char *object)
{
	return join(d, n, objects, object, "--localize-symbol=*.x86-64*");
}
