/* Data files of a running program: where they are looked for, what a disagreement with the program says. */
#include "array.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

struct tsr_file {
	const char *where;
	char *path;
	tsr_rt_array array;
};

/* ---- looking up ---- */

static bool exists(char *to, size_t size, const char *folder, size_t n, const char *path)
{
	if (!folder)
		return false;
	if (n == 1 && folder[0] == '.')
		n = 0;
	int length = snprintf(to, size, "%.*s%s%s", (int)n, folder, n ? "/" : "", path);
	return length >= 0 && (size_t)length < size && access(to, F_OK) == 0;
}

/* Length of the folder part of the executable's path, which goes to `to`; 0 when the system does not tell. */
static size_t own_folder(char *to, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", to, size - 1);
	if (n <= 0)
		return 0;
	to[n] = 0;
	char *slash = strrchr(to, '/');
	return slash ? (size_t)(slash - to) : 0;
}

static void look_up(tsr_ctx *ctx, const char *where, const char *path, char *to, size_t size)
{
	char own[PATH_MAX];
	const char *data = ctx->config.data_dir;
	if (path[0] == '/') {
		if (exists(to, size, "", 0, path))
			return;
		tsr_fail(ctx, where, "%s: %s", path, strerror(errno));
	}
	if (exists(to, size, data, data ? strlen(data) : 0, path) || exists(to, size, "", 0, path))
		return;
	size_t n = own_folder(own, sizeof own);
	if (n && exists(to, size, own, n, path))
		return;
	tsr_fail(ctx, where, "%s: no such file in %s%sthe working directory%s%.*s (--data DIR names another place)", path,
			 data ? data : "", data ? ", " : "", n ? " or " : "", (int)n, own);
}

/* ---- opening ---- */

/* Closes first: the message is made before, and nothing of the file is left behind. */
static _Noreturn void refuse(tsr_ctx *ctx, tsr_file *file, const char *message)
{
	char text[sizeof ctx->error];
	const char *where = file->where, *key = file->array.key;
	snprintf(text, sizeof text, "%s%s%s%s: %s", file->path, key ? "[" : "", key ? key : "", key ? "]" : "", message);
	if (file->array.format)
		tsr_rt_array_close(&file->array);
	tsr_rt_memory(ctx, file->path, 0);
	tsr_rt_memory(ctx, file, 0);
	tsr_fail(ctx, where, "%s", text);
}

tsr_file *tsr_file_open(tsr_ctx *ctx, const char *where, const char *path, const char *key,
						const tsr_file_format *format)
{
	char found[PATH_MAX];
	tsr_flush(ctx);
	look_up(ctx, where, path, found, sizeof found);
	tsr_file *file = tsr_rt_memory(ctx, NULL, sizeof *file);
	size_t n = strlen(found) + 1;
	*file = (tsr_file){.where = where, .path = tsr_rt_memory(ctx, NULL, n)};
	memcpy(file->path, found, n);
	if (!tsr_rt_array_open(&file->array, file->path, key, format)) {
		char message[TSR_RT_ERROR];
		memcpy(message, file->array.error, sizeof message);
		file->array.format = NULL; /* closed already */
		refuse(ctx, file, message);
	}
	return file;
}

const tsr_header *tsr_file_header(const tsr_file *file)
{
	return &file->array.header;
}
int32_t tsr_file_prec(const tsr_file *file)
{
	return file->array.header.prec;
}
int64_t tsr_file_rank(const tsr_file *file)
{
	return file->array.header.rank;
}

int64_t tsr_file_dim(const tsr_file *file, int64_t axis)
{
	return axis >= 0 && axis < file->array.header.rank ? file->array.header.dims[axis] : 1;
}

/* ---- agreement with the program ---- */

/* Whole numbers in digits are read as floats where the program was compiled for floats, and so on. */
static void widen(tsr_rt_array *a, int32_t prec)
{
	int64_t bytes;
	int32_t from = a->header.prec;
	bool wider = ((from == TSR_I32 || from == TSR_I64) && (prec == TSR_F32 || prec == TSR_F64)) || (from == TSR_I32 && prec == TSR_I64)
				 || (from == TSR_F32 && prec == TSR_F64);
	if (!a->format->digits || !wider || !tsr_rt_bytes(prec, a->header.rank, a->header.dims, &bytes))
		return;
	a->header.prec = prec;
	a->bytes = (size_t)bytes;
}

static bool agrees(const tsr_ctx *ctx, const tsr_header *h, int32_t prec, int64_t rank, const int64_t *dims)
{
	if (h->prec != prec || h->rank != rank)
		return false;
	for (int64_t k = 0; k < rank; k++) {
		int64_t wanted = dims[k] >= 0 ? dims[k] : ctx->syms[-1 - dims[k]];
		if (wanted >= 0 && wanted != h->dims[k])
			return false;
	}
	return true;
}

void tsr_file_check(tsr_ctx *ctx, tsr_file *file, int32_t prec, int64_t rank, const int64_t *dims)
{
	const tsr_header *h = &file->array.header;
	widen(&file->array, prec);
	bool good = agrees(ctx, h, prec, rank, dims);
	int64_t wanted[TSR_MAX_RANK];
	if (rank > TSR_MAX_RANK)
		rank = TSR_MAX_RANK;
	for (int64_t k = 0; k < rank; k++)
		wanted[k] = dims[k] >= 0 ? dims[k] : ctx->syms[-1 - dims[k]];
	for (int64_t k = 0; good && k < rank; k++) {
		if (dims[k] >= 0)
			continue;
		int64_t *size = &ctx->syms[-1 - dims[k]];
		if (*size < 0)
			*size = h->dims[k];
		good = *size == h->dims[k] && *size > 0; /* one symbol may stand at two axes */
		wanted[k] = *size;
	}
	if (good)
		return;
	char theirs[120], ours[120], message[320];
	tsr_rt_shape_text(theirs, sizeof theirs, h->rank, h->dims);
	tsr_rt_shape_text(ours, sizeof ours, rank, wanted);
	snprintf(message, sizeof message, "holds %s %s, and the program was compiled for %s %s", tsr_rt_prec_name(h->prec),
			 theirs, tsr_rt_prec_name(prec), ours);
	refuse(ctx, file, message);
}

void tsr_file_read(tsr_ctx *ctx, tsr_file *file, void *data, int64_t bytes)
{
	char message[TSR_RT_ERROR];
	if (bytes < 0 || (size_t)bytes != file->array.bytes) {
		snprintf(message, sizeof message, "holds %zu bytes of elements, and there is room for %lld", file->array.bytes,
				 (long long)bytes);
		refuse(ctx, file, message);
	}
	if (tsr_rt_array_read(&file->array, data))
		return;
	memcpy(message, file->array.error, sizeof message);
	refuse(ctx, file, message);
}

void tsr_file_close(tsr_ctx *ctx, tsr_file *file)
{
	tsr_rt_array_close(&file->array);
	tsr_rt_memory(ctx, file->path, 0);
	tsr_rt_memory(ctx, file, 0);
}

void tsr_file_load(tsr_ctx *ctx, const char *where, const char *path, const char *key, const tsr_file_format *format,
				   int64_t buf)
{
	const tsr_buffer_info *info = &ctx->program->buffers[buf];
	tsr_file *file = tsr_file_open(ctx, where, path, key, format);
	tsr_file_check(ctx, file, info->prec, info->rank, info->dims);
	int64_t bytes = (int64_t)file->array.bytes;
	if (!ctx->buffers[buf] || info->bytes != bytes)
		tsr_alloc_buffer(ctx, buf, bytes);
	tsr_file_read(ctx, file, ctx->buffers[buf], bytes);
	tsr_file_close(ctx, file);
}
