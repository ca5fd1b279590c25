/* Several named arrays in an npz file, stored.  The members carry the first date a zip file knows, so that the same arrays
 * give the same bytes. */
#include "save.h"
#include <errno.h>
#include <minizip/zip.h>

enum { FIRST_DATE = 1 << 21 | 1 << 16 };

/* minizip tells that something failed; errno tells what. */
static int outcome(int result)
{
	if (result == ZIP_OK)
		return 0;
	return errno ? errno : EIO;
}

static int open_npz(tsr_rt_writer *w, const char *path)
{
	errno = 0;
	w->state = zipOpen64(path, APPEND_STATUS_CREATE);
	return w->state ? 0 : outcome(ZIP_ERRNO);
}

static int write_all(zipFile zip, const char *data, size_t size)
{
	while (size) {
		unsigned piece = size < 1u << 30 ? (unsigned)size : 1u << 30;
		int result = zipWriteInFileInZip(zip, data, piece);
		if (result != ZIP_OK)
			return result;
		data += piece;
		size -= piece;
	}
	return ZIP_OK;
}

static int add_npz(tsr_rt_writer *w, const char *key, const char *header, size_t header_size, const void *data,
				   size_t size)
{
	zip_fileinfo info = {.dosDate = FIRST_DATE};
	char name[512];
	int n = snprintf(name, sizeof name, "%s.npy", key);
	if (n < 0 || (size_t)n >= sizeof name)
		return ENAMETOOLONG;
	errno = 0;
	int large = size > 0xF0000000u;
	int result = zipOpenNewFileInZip64(w->state, name, &info, NULL, 0, NULL, 0, NULL, 0, 0, large);
	if (result == ZIP_OK)
		result = write_all(w->state, header, header_size);
	if (result == ZIP_OK)
		result = write_all(w->state, data, size);
	if (result == ZIP_OK)
		result = zipCloseFileInZip(w->state);
	return outcome(result);
}

static int close_npz(tsr_rt_writer *w)
{
	errno = 0;
	return outcome(zipClose(w->state, NULL));
}

const tsr_save_format tsr_save_npz = {false, open_npz, add_npz, close_npz};
