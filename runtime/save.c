/* Saving without loss: the file is written under another name in the same folder, brought to the disk, and only then given
 * its name.  A full disk or an interruption leaves the former file as it was. */
#include "save.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tsr_save {
	const tsr_save_format *format;
	const char *where;
	char *path, *temporary;
	tsr_rt_writer writer;
	bool opened;
	int64_t count;
};

static void discard(tsr_ctx *ctx, tsr_save *s)
{
	if (s->opened)
		s->format->close(&s->writer);
	if (s->temporary)
		unlink(s->temporary);
	tsr_rt_memory(ctx, s->temporary, 0);
	free(s->path);
	tsr_rt_memory(ctx, s, 0);
}

static _Noreturn void failed(tsr_ctx *ctx, tsr_save *s, const char *why)
{
	char message[sizeof ctx->error];
	const char *where = s->where;
	snprintf(message, sizeof message, "%s could not be saved: %s", s->path, why);
	discard(ctx, s);
	tsr_fail(ctx, where, "%s", message);
}

static void check(tsr_ctx *ctx, tsr_save *s, int error)
{
	if (error)
		failed(ctx, s, strerror(error));
}

/* The file keeps the mode it has, or gets that of any new file. */
static int mode_of(const char *path)
{
	struct stat st;
	if (stat(path, &st) == 0)
		return (int)(st.st_mode & 0777);
	mode_t mask = umask(0);
	umask(mask);
	return (int)(0666 & ~mask);
}

tsr_save *tsr_save_open(tsr_ctx *ctx, const char *where, const char *path, const tsr_save_format *format)
{
	static const char suffix[] = ".XXXXXX";
	tsr_save *s = tsr_rt_memory(ctx, NULL, sizeof *s);
	*s = (tsr_save){.format = format, .where = where};
	s->path = realpath(path, NULL); /* through a link to what it names */
	if (!s->path)
		s->path = strdup(path);
	if (!s->path) {
		tsr_rt_memory(ctx, s, 0);
		tsr_fail(ctx, where, "no memory");
	}
	size_t n = strlen(s->path);
	char *temporary = tsr_rt_memory(ctx, NULL, n + sizeof suffix);
	memcpy(temporary, s->path, n);
	memcpy(temporary + n, suffix, sizeof suffix);
	int file = mkstemp(temporary), error = errno;
	if (file < 0) {
		tsr_rt_memory(ctx, temporary, 0);
		check(ctx, s, error);
	}
	s->temporary = temporary;
	error = fchmod(file, (mode_t)mode_of(s->path)) ? errno : 0;
	close(file);
	check(ctx, s, error);
	check(ctx, s, format->open(&s->writer, s->temporary));
	s->opened = true;
	return s;
}

/* ---- the npy header, which both formats use ---- */

static const char *descr(int prec)
{
	switch ((enum tsr_rt_prec)prec) {
	case TSR_BOOL:
		return "|b1";
	case TSR_U8:
		return "|u1";
	case TSR_I8:
		return "|i1";
	case TSR_I16:
		return "<i2";
	case TSR_I32:
		return "<i4";
	case TSR_U32:
		return "<u4";
	case TSR_I64:
		return "<i8";
	case TSR_F8:
		return "|V1";
	case TSR_F16:
		return "<f2";
	case TSR_BF16:
		return "|V2";
	case TSR_F32:
		return "<f4";
	case TSR_F64:
		return "<f8";
	case TSR_NO_PREC:
	case TSR_PREC_END:
		break;
	}
	return "";
}

enum { HEADER = 1024, STEP = 64 };

/* Magic, version 1, length, dictionary; filled with blanks so that the elements begin at a multiple of STEP. */
static size_t npy_header(char to[HEADER], int prec, int64_t rank, const int64_t *dims)
{
	size_t n = 10;
	memcpy(to, "\x93NUMPY\x01\x00", 8);
	n += (size_t)snprintf(to + n, HEADER - n, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr(prec));
	for (int64_t k = 0; k < rank; k++)
		n += (size_t)snprintf(to + n, HEADER - n, "%s%lld", k ? ", " : "", (long long)dims[k]);
	n += (size_t)snprintf(to + n, HEADER - n, rank == 1 ? ",), }" : "), }");
	while ((n + 1) % STEP)
		to[n++] = ' ';
	to[n++] = '\n';
	to[8] = (char)((n - 10) & 255);
	to[9] = (char)((n - 10) >> 8);
	return n;
}

void tsr_save_add(tsr_ctx *ctx, tsr_save *s, const char *key, int32_t prec, int64_t rank, const int64_t *dims,
				  const void *data)
{
	int64_t sizes[TSR_MAX_RANK];
	char header[HEADER];
	if (rank > TSR_MAX_RANK)
		failed(ctx, s, "an array has too many axes");
	if (s->format->single && s->count)
		failed(ctx, s, "an npy file holds one array");
	for (int64_t k = 0; k < rank; k++)
		sizes[k] = dims[k] >= 0 ? dims[k] : ctx->syms[-1 - dims[k]];
	size_t bytes = (size_t)tsr_array_bytes(ctx, s->where, prec, rank, dims);
	size_t n = npy_header(header, prec, rank, sizes);
	check(ctx, s, s->format->add(&s->writer, key, header, n, data, bytes));
	s->count++;
}

/* ---- committing ---- */

static int sync_path(const char *path, int flags)
{
	int file = open(path, flags), error = 0;
	if (file < 0)
		return errno;
	if (fsync(file))
		error = errno;
	close(file);
	return error;
}

/* The folder's entry is part of the promise; a file system that cannot sync a folder is not at fault. */
static void sync_folder(char *path)
{
	char *slash = strrchr(path, '/');
	if (!slash) {
		sync_path(".", O_RDONLY | O_DIRECTORY);
		return;
	}
	*slash = 0;
	sync_path(slash == path ? "/" : path, O_RDONLY | O_DIRECTORY);
	*slash = '/';
}

void tsr_save_close(tsr_ctx *ctx, tsr_save *s)
{
	if (s->format->single && !s->count)
		failed(ctx, s, "an npy file holds one array, and none was given");
	s->opened = false;
	check(ctx, s, s->format->close(&s->writer));
	check(ctx, s, sync_path(s->temporary, O_WRONLY));
	check(ctx, s, rename(s->temporary, s->path) ? errno : 0);
	sync_folder(s->path);
	tsr_rt_memory(ctx, s->temporary, 0);
	s->temporary = NULL;
	discard(ctx, s);
}
