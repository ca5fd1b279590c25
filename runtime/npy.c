/* Files of one npy array. */
#include "array.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool from_file(tsr_rt_source *s, tsr_rt_array *a, void *to, size_t n)
{
	if (fread(to, 1, n, s->from) == n)
		return true;
	return ferror((FILE *)s->from) ? tsr_rt_wrong(a, "%s", strerror(errno)) : tsr_rt_wrong(a, "is cut short");
}

static void shut(tsr_rt_array *a)
{
	tsr_rt_source *s = a->state;
	fclose(s->from);
	free(s);
}

/* The elements are counted before anyone allocates room for them. */
static bool open_npy(tsr_rt_array *a)
{
	uint64_t size;
	if (a->key)
		return tsr_rt_wrong(a, "holds one array without a name, so the key '%.60s' finds nothing", a->key);
	FILE *f = tsr_rt_open(a, &size);
	if (!f)
		return false;
	tsr_rt_source *s = a->state = malloc(sizeof *s);
	if (!s) {
		fclose(f);
		return tsr_rt_wrong(a, "no memory");
	}
	*s = (tsr_rt_source){.read = from_file, .from = f, .left = size};
	if (tsr_rt_npy_header(s, a))
		return true;
	shut(a);
	return false;
}

static bool read_npy(tsr_rt_array *a, void *data)
{
	return tsr_rt_npy_data(a->state, a, data);
}

const tsr_file_format tsr_format_npy = {"tsr_format_npy", ".npy", open_npy, read_npy, shut, false};
