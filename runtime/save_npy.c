/* One array in an npy file. */
#include "save.h"
#include <errno.h>

static int open_npy(tsr_rt_writer *w, const char *path)
{
	w->state = fopen(path, "wb");
	return w->state ? 0 : errno;
}

static int add_npy(tsr_rt_writer *w, const char *key, const char *header, size_t header_size, const void *data,
				   size_t size)
{
	(void)key;
	errno = EIO;
	return fwrite(header, 1, header_size, w->state) == header_size && fwrite(data, 1, size, w->state) == size ? 0
																											  : errno;
}

static int close_npy(tsr_rt_writer *w)
{
	return fclose(w->state) ? errno : 0;
}

const tsr_save_format tsr_save_npy = {true, open_npy, add_npy, close_npy};
