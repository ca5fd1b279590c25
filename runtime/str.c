/* Strings of the program level: immutable, in chunks of the context that are given up from the newest back to a mark. */
#include "internal.h"
#include <string.h>

enum { CHUNK = 1 << 12, ALIGN = 8 };

/* A mark is `start + used` of the newest chunk; a chunk starts where the one before it could at most have ended, so marks
 * grow with every allocation. */
struct tsr_chunk {
	tsr_chunk *older;
	int64_t start, used, size;
	_Alignas(ALIGN) char bytes[];
};

static void release_all(tsr_ctx *ctx)
{
	for (tsr_chunk *c = ctx->strings, *older; c; c = older) {
		older = c->older;
		tsr_rt_memory(ctx, c, 0);
	}
	ctx->strings = NULL;
}

/* A string of `length` bytes still to be written; the NUL is there. */
static tsr_str *make(tsr_ctx *ctx, int64_t length)
{
	int64_t need = ((int64_t)sizeof(tsr_str) + length + 1 + ALIGN - 1) / ALIGN * ALIGN;
	tsr_chunk *c = ctx->strings;
	if (!c || c->size - c->used < need) {
		int64_t size = need > CHUNK ? need : CHUNK;
		c = tsr_rt_memory(ctx, NULL, sizeof *c + (size_t)size);
		*c = (tsr_chunk){.older = ctx->strings, .size = size};
		if (c->older)
			c->start = c->older->start + c->older->size;
		ctx->strings = c;
		ctx->free_strings = release_all;
	}
	tsr_str *s = (tsr_str *)(void *)(c->bytes + c->used);
	c->used += need;
	s->length = length;
	s->bytes[length] = 0;
	return s;
}

int64_t tsr_str_mark(tsr_ctx *ctx)
{
	return ctx->strings ? ctx->strings->start + ctx->strings->used : 0;
}

void tsr_str_release(tsr_ctx *ctx, int64_t mark)
{
	tsr_chunk *c = ctx->strings;
	while (c && c->start > mark) {
		tsr_chunk *older = c->older;
		tsr_rt_memory(ctx, c, 0);
		c = older;
	}
	ctx->strings = c;
	if (c && mark - c->start < c->used)
		c->used = mark - c->start;
}

const tsr_str *tsr_str_new(tsr_ctx *ctx, const char *bytes, int64_t length)
{
	tsr_str *s = make(ctx, length);
	memcpy(s->bytes, bytes, (size_t)length);
	return s;
}

const tsr_str *tsr_str_concat(tsr_ctx *ctx, const tsr_str *a, const tsr_str *b)
{
	int64_t length;
	if (__builtin_add_overflow(a->length, b->length, &length))
		tsr_fail(ctx, NULL, "a string is too long");
	tsr_str *s = make(ctx, length);
	memcpy(s->bytes, a->bytes, (size_t)a->length);
	memcpy(s->bytes + a->length, b->bytes, (size_t)b->length);
	return s;
}

const tsr_str *tsr_str_of_i64(tsr_ctx *ctx, int64_t value, int64_t width, int32_t style)
{
	char text[TSR_RT_NUMBER];
	return tsr_str_new(ctx, text, (int64_t)tsr_rt_number_i64(text, value, width, style));
}

const tsr_str *tsr_str_of_f64(tsr_ctx *ctx, double value, int64_t width, int64_t precision, int32_t style)
{
	char text[TSR_RT_NUMBER];
	return tsr_str_new(ctx, text, (int64_t)tsr_rt_number_f64(text, value, width, precision, style, false));
}

const tsr_str *tsr_str_of_f32(tsr_ctx *ctx, double value, int64_t width, int64_t precision, int32_t style)
{
	char text[TSR_RT_NUMBER];
	return tsr_str_new(ctx, text, (int64_t)tsr_rt_number_f64(text, value, width, precision, style, true));
}

const tsr_str *tsr_str_of_byte(tsr_ctx *ctx, const char *where, int64_t byte)
{
	if (byte < 0 || byte > 255)
		tsr_fail(ctx, where, "a byte is 0 to 255, not %lld", (long long)byte);
	char c = (char)byte;
	return tsr_str_new(ctx, &c, 1);
}

const tsr_str *tsr_str_pad(tsr_ctx *ctx, const tsr_str *s, int64_t width)
{
	int64_t columns = width < 0 ? -width : width;
	if (columns <= s->length)
		return s;
	tsr_str *t = make(ctx, columns);
	memset(t->bytes, ' ', (size_t)columns);
	memcpy(t->bytes + (width > 0 ? columns - s->length : 0), s->bytes, (size_t)s->length);
	return t;
}

int32_t tsr_str_compare(const tsr_str *a, const tsr_str *b)
{
	int order = memcmp(a->bytes, b->bytes, (size_t)(a->length < b->length ? a->length : b->length));
	if (order)
		return order < 0 ? -1 : 1;
	return a->length < b->length ? -1 : a->length > b->length;
}

int64_t tsr_str_length(const tsr_str *s)
{
	return s->length;
}

int64_t tsr_str_byte(tsr_ctx *ctx, const char *where, const tsr_str *s, int64_t at)
{
	if (at < 0 || at >= s->length)
		tsr_fail_index(ctx, where, "the string", at, s->length);
	return (unsigned char)s->bytes[at];
}

const tsr_str *tsr_str_sub(tsr_ctx *ctx, const char *where, const tsr_str *s, int64_t from, int64_t length)
{
	if (from < 0 || length < 0 || from > s->length || length > s->length - from)
		tsr_fail(ctx, where, "%lld bytes from position %lld on are not in a string of %lld bytes", (long long)length,
				 (long long)from, (long long)s->length);
	return tsr_str_new(ctx, s->bytes + from, length);
}

int64_t tsr_str_find(const tsr_str *s, const tsr_str *part, int64_t from)
{
	if (from < 0)
		from = 0;
	if (from > s->length)
		return -1;
	const char *found = memmem(s->bytes + from, (size_t)(s->length - from), part->bytes, (size_t)part->length);
	return found ? found - s->bytes : -1;
}

int64_t tsr_str_to_i64(tsr_ctx *ctx, const char *where, const tsr_str *s)
{
	int64_t value;
	if (!tsr_rt_parse_i64(s->bytes, &value))
		tsr_fail(ctx, where, "'%s' is not a whole number", s->bytes);
	return value;
}

double tsr_str_to_f64(tsr_ctx *ctx, const char *where, const tsr_str *s)
{
	double value;
	if (!tsr_rt_parse_f64(s->bytes, &value))
		tsr_fail(ctx, where, "'%s' is not a number", s->bytes);
	return value;
}
