/* Any file as its bytes: u8, one axis. */
#include "array.h"
#include <errno.h>
#include <string.h>

static bool open_text(tsr_rt_array *a)
{
	uint64_t size;
	if (a->key)
		return tsr_rt_wrong(a, "is read as text, which has no part named '%.60s'", a->key);
	if (!(a->state = tsr_rt_open(a, &size)))
		return false;
	a->header = (tsr_header){.prec = TSR_U8, .rank = 1, .dims = {(int64_t)size}};
	return true;
}

static bool read_text(tsr_rt_array *a, void *data)
{
	if (fread(data, 1, a->bytes, a->state) == a->bytes)
		return true;
	return ferror((FILE *)a->state) ? tsr_rt_wrong(a, "%s", strerror(errno)) : tsr_rt_wrong(a, "became shorter");
}

static void shut(tsr_rt_array *a)
{
	fclose(a->state);
}

const tsr_file_format tsr_format_text = {"tsr_format_text", "", open_text, read_text, shut, false};
