/* Source files and positions: reading a file whole, finding the line of a byte, counting columns in characters. */
#include "diag.h"
#include <errno.h>
#include <string.h>

uint32_t tsr_source_add(tsr_compiler *tc, const char *path, const char *text, size_t size)
{
	tsr_source *s = TSR_NEW(tc->arena, tsr_source);
	s->path = tsr_intern(tc->names, path);
	s->text = tsr_strndup(tc->arena, text, size);
	s->size = size;
	tsr_push(tc->arena, &s->lines, 0);
	for (size_t i = 0; i < size; i++)
		if (text[i] == '\n')
			tsr_push(tc->arena, &s->lines, (uint32_t)i + 1);
	tsr_push(tc->arena, &tc->sources, s);
	return tc->sources.n - 1;
}

/* The rest of `f` in the arena; NULL with errno set when reading fails or the file passes what a span can address. */
static char *read_all(tsr_arena *a, FILE *f, size_t *size)
{
	size_t cap = 1 << 14, n = 0;
	char *text = tsr_alloc(a, cap);
	for (;;) {
		size_t got = fread(text + n, 1, cap - n, f);
		n += got;
		if (ferror(f))
			return NULL;
		if (n >= UINT32_MAX / 2) {
			errno = EFBIG;
			return NULL;
		}
		if (n < cap) {
			*size = n;
			return text;
		}
		text = tsr_realloc(a, text, cap, cap * 2);
		cap *= 2;
	}
}

uint32_t tsr_source_load(tsr_compiler *tc, const char *path)
{
	tsr_name name = tsr_intern(tc->names, path);
	for (uint32_t i = 1; i < tc->sources.n; i++)
		if (tc->sources.at[i]->path == name)
			return i;
	FILE *f = fopen(path, "rb");
	if (!f)
		return 0;
	tsr_arena *scratch = tsr_arena_new();
	size_t size = 0;
	char *text = read_all(scratch, f, &size);
	int why = errno;
	uint32_t file = text ? tsr_source_add(tc, path, text, size) : 0;
	tsr_arena_free(scratch);
	fclose(f);
	errno = why;
	return file;
}

const tsr_source *tsr_source_get(tsr_compiler *tc, uint32_t file)
{
	TSR_ASSERT(file < tc->sources.n);
	return tc->sources.at[file];
}

bool tsr_source_in_library(tsr_compiler *tc, uint32_t file)
{
	const char *folder = tc->stdlib_dir;
	return folder && strncmp(tsr_source_get(tc, file)->path, folder, strlen(folder)) == 0;
}

tsr_position tsr_position_of(tsr_compiler *tc, tsr_span span)
{
	const tsr_source *s = tsr_source_get(tc, span.file);
	if (!span.file)
		return (tsr_position){s->path, 0, 0};
	uint32_t start = span.start < s->size ? span.start : (uint32_t)s->size;
	uint32_t low = 0, high = s->lines.n;     /* the line is in [low, high) */
	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;
		if (s->lines.at[mid] <= start)
			low = mid;
		else
			high = mid;
	}
	uint32_t column = 1;
	for (uint32_t i = s->lines.at[low]; i < start; i++)
		column += ((unsigned char)s->text[i] & 0xc0) != 0x80;
	return (tsr_position){s->path, low + 1, column};
}

tsr_span tsr_span_join(tsr_span a, tsr_span b)
{
	if (!a.file)
		return b;
	if (!b.file)
		return a;
	TSR_ASSERT(a.file == b.file);
	return (tsr_span){a.file, a.start < b.start ? a.start : b.start, a.end > b.end ? a.end : b.end};
}
