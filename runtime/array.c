/* One array of one file, whatever its format: checks that hold for all, and the entry points that need no context. */
#include "array.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool tsr_rt_wrong(tsr_rt_array *a, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(a->error, sizeof a->error, format, args);
	va_end(args);
	return false;
}

FILE *tsr_rt_open(tsr_rt_array *a, uint64_t *size)
{
	FILE *f = fopen(a->path, "rb");
	struct stat s;
	if (!f || fstat(fileno(f), &s)) {
		tsr_rt_wrong(a, "%s", strerror(errno));
	} else if (!S_ISREG(s.st_mode)) {
		tsr_rt_wrong(a, "is not a regular file");
	} else {
		*size = (uint64_t)s.st_size;
		return f;
	}
	if (f)
		fclose(f);
	return NULL;
}

/* A header whose sizes multiply to more than memory can hold never reaches an allocation. */
static bool measure(tsr_rt_array *a)
{
	int64_t bytes;
	if (!tsr_rt_bytes(a->header.prec, a->header.rank, a->header.dims, &bytes))
		return tsr_rt_wrong(a, "its sizes multiply to more than memory can hold");
	a->bytes = (size_t)bytes;
	return true;
}

bool tsr_rt_array_open(tsr_rt_array *a, const char *path, const char *key, const tsr_file_format *format)
{
	*a = (tsr_rt_array){.format = format, .path = path, .key = key};
	if (!format->open(a))
		return false;
	if (measure(a))
		return true;
	tsr_rt_array_close(a);
	return false;
}

/* Files may hold any byte as a bool; compiled code relies on 0 and 1. */
bool tsr_rt_array_read(tsr_rt_array *a, void *data)
{
	if (!a->format->read(a, data))
		return false;
	if (a->header.prec == TSR_BOOL)
		for (size_t i = 0; i < a->bytes; i++)
			((unsigned char *)data)[i] = ((unsigned char *)data)[i] != 0;
	return true;
}

void tsr_rt_array_close(tsr_rt_array *a)
{
	a->format->close(a);
}

void tsr_rt_shape_text(char *to, size_t size, int64_t rank, const int64_t *dims)
{
	size_t n = (size_t)snprintf(to, size, "(");
	for (int64_t k = 0; k < rank && n < size; k++) {
		const char *comma = k ? ", " : "";
		n += (size_t)(dims[k] < 0 ? snprintf(to + n, size - n, "%s?", comma)
								  : snprintf(to + n, size - n, "%s%lld", comma, (long long)dims[k]));
	}
	if (n < size)
		snprintf(to + n, size - n, rank == 1 ? ",)" : ")");
}

int32_t tsr_header_read(const char *path, const char *key, const tsr_file_format *format, tsr_header *header,
						char *error, size_t error_size)
{
	tsr_rt_array a;
	if (!tsr_rt_array_open(&a, path, key, format)) {
		snprintf(error, error_size, "%s", a.error);
		return -1;
	}
	*header = a.header;
	tsr_rt_array_close(&a);
	return 0;
}

int32_t tsr_array_read(const char *path, const char *key, const tsr_file_format *format, tsr_header *header,
					   void **data, char *error, size_t error_size)
{
	tsr_rt_array a;
	*data = NULL;
	if (!tsr_rt_array_open(&a, path, key, format)) {
		snprintf(error, error_size, "%s", a.error);
		return -1;
	}
	void *elements = malloc(a.bytes ? a.bytes : 1);
	bool good = elements ? tsr_rt_array_read(&a, elements) : tsr_rt_wrong(&a, "no memory for %zu bytes", a.bytes);
	tsr_rt_array_close(&a);
	if (!good) {
		free(elements);
		snprintf(error, error_size, "%s", a.error);
		return -1;
	}
	*header = a.header;
	*data = elements;
	return 0;
}
