/* Files that the compiler makes.
 *
 * A new file is written beside the one that it replaces and renamed once all of it is there: a full disk or an interruption leaves the
 * old one.  Devices, pipes and links are written to as they are. */
#include "output.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0 or the reason. */
static int fill(FILE *f, const void *bytes, size_t size)
{
	errno = 0;
	bool whole = fwrite(bytes, 1, size, f) == size;
	int why = whole ? 0 : errno ? errno : EIO;
	return fclose(f) && !why ? errno : why;
}

static int write_in_place(const char *path, const void *bytes, size_t size)
{
	FILE *f = fopen(path, "wb");
	return f ? fill(f, bytes, size) : errno;
}

static int replace(const char *beside, const char *path, const struct stat *there, const void *bytes, size_t size)
{
	FILE *f = fopen(beside, "wbx");
	if (!f)
		return errno;
	if (there)
		fchmod(fileno(f), there->st_mode & 07777);
	int why = fill(f, bytes, size);
	if (!why && rename(beside, path))
		why = errno;
	if (why)
		unlink(beside);
	return why;
}

bool tsr_output_write(tsr_compiler *tc, const char *path, const void *bytes, size_t size)
{
	struct stat there;
	bool old = !lstat(path, &there);
	int why = old && !S_ISREG(there.st_mode) ? write_in_place(path, bytes, size)
		: replace(tsr_format(tc->arena, "%s.%ld", path, (long)getpid()), path, old ? &there : NULL, bytes, size);
	if (why)
		tsr_report(tc, TSR_E_OUTPUT, TSR_NOWHERE, "%s: %s", path, strerror(why));
	return !why;
}

void tsr_output_open(tsr_output *o)
{
	*o = (tsr_output){0};
	o->to = open_memstream(&o->bytes, &o->size);
	if (!o->to)
		tsr_bug("no memory for a file");
}

bool tsr_output_close(tsr_compiler *tc, tsr_output *o, const char *path)
{
	if (fclose(o->to))
		tsr_bug("no memory for %s", path);
	bool ok = tsr_output_write(tc, path, o->bytes, o->size);
	free(o->bytes);
	return ok;
}

bool tsr_output_flush(tsr_compiler *tc)
{
	bool ok = !fflush(stdout) && !ferror(stdout);
	if (!ok)
		tsr_report(tc, TSR_E_OUTPUT, TSR_NOWHERE, "standard output: %s", strerror(errno ? errno : EIO));
	return ok;
}
