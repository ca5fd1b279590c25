/* Files of several named npy arrays: a zip archive whose member "images.npy" is the array "images".  minizip reads the
 * archive, stored or deflated. */
#include "array.h"
#include <minizip/unzip.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 256 };

static bool from_member(tsr_rt_source *s, tsr_rt_array *a, void *to, size_t n)
{
	for (char *t = to; n;) {
		unsigned piece = n < 1u << 30 ? (unsigned)n : 1u << 30;
		int got = unzReadCurrentFile(s->from, t, piece);
		if (got < 0)
			return tsr_rt_wrong(a, "is damaged: its data does not unpack");
		if (got == 0)
			return tsr_rt_wrong(a, "is cut short");
		t += got;
		n -= (size_t)got;
	}
	return true;
}

/* The array's name of the current member, "" for a member that is none. */
static void member_key(unzFile zip, char key[LONGEST_NAME])
{
	key[0] = 0;
	if (unzGetCurrentFileInfo64(zip, NULL, key, LONGEST_NAME - 1, NULL, 0, NULL, 0) != UNZ_OK)
		return;
	key[LONGEST_NAME - 1] = 0;
	size_t n = strlen(key);
	key[n > 4 && strcmp(key + n - 4, ".npy") == 0 ? n - 4 : 0] = 0;
}

/* What the archive holds, for messages. */
static size_t list(unzFile zip, char *to, size_t size)
{
	size_t count = 0, n = 0;
	char key[LONGEST_NAME];
	to[0] = 0;
	for (int more = unzGoToFirstFile(zip); more == UNZ_OK; more = unzGoToNextFile(zip)) {
		member_key(zip, key);
		if (!key[0])
			continue;
		count++;
		if (n + strlen(key) + 8 < size)
			n += (size_t)snprintf(to + n, size - n, "%s%s", n ? ", " : "", key);
	}
	return count;
}

/* Makes the wanted member the current one: that of the key, or the only one. */
static bool locate(unzFile zip, tsr_rt_array *a)
{
	char key[LONGEST_NAME], names[200];
	int more = unzGoToFirstFile(zip);
	size_t count = 0;
	unz64_file_pos only;
	for (; more == UNZ_OK; more = unzGoToNextFile(zip)) {
		member_key(zip, key);
		if (a->key && strcmp(key, a->key) == 0)
			return true;
		if (!a->key && key[0] && ++count == 1)
			unzGetFilePos64(zip, &only);
	}
	if (count == 1 && unzGoToFilePos64(zip, &only) == UNZ_OK)
		return true;
	count = list(zip, names, sizeof names);
	if (count == 0)
		return tsr_rt_wrong(a, "holds no npy arrays");
	if (!a->key)
		return tsr_rt_wrong(a, "holds several arrays (%s): a key must name one", names);
	return tsr_rt_wrong(a, "holds no array '%.60s', but %s", a->key, names);
}

static bool open_member(unzFile zip, tsr_rt_array *a, tsr_rt_source *s)
{
	unz_file_info64 info;
	if (unzGetCurrentFileInfo64(zip, &info, NULL, 0, NULL, 0, NULL, 0) != UNZ_OK)
		return tsr_rt_wrong(a, "is a damaged archive");
	if (info.flag & 1)
		return tsr_rt_wrong(a, "is encrypted");
	if (info.compression_method != 0 && info.compression_method != Z_DEFLATED)
		return tsr_rt_wrong(a, "is packed by method %lu; stored and deflated arrays are read", info.compression_method);
	if (unzOpenCurrentFile(zip) != UNZ_OK)
		return tsr_rt_wrong(a, "is a damaged archive");
	*s = (tsr_rt_source){.read = from_member, .from = zip, .left = info.uncompressed_size};
	return tsr_rt_npy_header(s, a);
}

static void shut(tsr_rt_array *a)
{
	tsr_rt_source *s = a->state;
	unzCloseCurrentFile(s->from);
	unzClose(s->from);
	free(s);
}

/* An archive ends with a record of END bytes and a comment whose length stands last in it.  minizip overlooks a missing
 * byte there, so the end is looked at first. */
static bool whole(FILE *f, uint64_t size)
{
	enum { END = 22, TAIL = END + 65535 };
	size_t n = size < TAIL ? (size_t)size : TAIL;
	unsigned char *tail = malloc(n + 1);
	bool found = false;
	if (tail && fseeko(f, -(off_t)n, SEEK_END) == 0 && fread(tail, 1, n, f) == n)
		for (size_t comment = 0; !found && comment + END <= n; comment++) {
			const unsigned char *end = tail + n - comment - END;
			found = memcmp(end, "PK\5\6", 4) == 0 && (end[20] | (size_t)end[21] << 8) == comment;
		}
	free(tail);
	return found;
}

static bool open_npz(tsr_rt_array *a)
{
	uint64_t size;
	FILE *f = tsr_rt_open(a, &size);
	if (!f)
		return false;
	bool complete = whole(f, size);
	fclose(f);
	unzFile zip = complete ? unzOpen64(a->path) : NULL;
	if (!zip)
		return tsr_rt_wrong(a, "is not an npz archive, or is cut short");
	tsr_rt_source *s = a->state = malloc(sizeof *s);
	if (s && locate(zip, a) && open_member(zip, a, s))
		return true;
	if (!s)
		tsr_rt_wrong(a, "no memory");
	unzCloseCurrentFile(zip);
	unzClose(zip);
	free(s);
	return false;
}

/* Closing the member compares the checksum, when all of it was read. */
static bool read_npz(tsr_rt_array *a, void *data)
{
	tsr_rt_source *s = a->state;
	if (!tsr_rt_npy_data(s, a, data))
		return false;
	if (unzCloseCurrentFile(s->from) == UNZ_CRCERROR)
		return tsr_rt_wrong(a, "is damaged: its checksum is wrong");
	return true;
}

const tsr_file_format tsr_format_npz = {"tsr_format_npz", ".npz", open_npz, read_npz, shut, false};
