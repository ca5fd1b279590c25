/* Printing of single values: text into the context's output buffer. */
#include "internal.h"
#include <string.h>

void tsr_print_str(tsr_ctx *ctx, const char *bytes, int64_t length)
{
	tsr_rt_write(ctx, bytes, (size_t)length);
}

static void blanks(tsr_ctx *ctx, int64_t n)
{
	static const char some[] = "                                ";
	for (int64_t k; n > 0; n -= k) {
		k = n < 32 ? n : 32;
		tsr_rt_write(ctx, some, (size_t)k);
	}
}

void tsr_print_string(tsr_ctx *ctx, const tsr_str *s, int64_t width)
{
	if (width > 0)
		blanks(ctx, width - s->length);
	tsr_rt_write(ctx, s->bytes, (size_t)s->length);
	if (width < 0)
		blanks(ctx, -width - s->length);
}

void tsr_print_i64(tsr_ctx *ctx, int64_t value, int64_t width, int32_t style)
{
	char text[TSR_RT_NUMBER];
	tsr_rt_write(ctx, text, tsr_rt_number_i64(text, value, width, style));
}

void tsr_print_f64(tsr_ctx *ctx, double value, int64_t width, int64_t precision, int32_t style)
{
	char text[TSR_RT_NUMBER];
	tsr_rt_write(ctx, text, tsr_rt_number_f64(text, value, width, precision, style, false));
}

void tsr_print_f32(tsr_ctx *ctx, double value, int64_t width, int64_t precision, int32_t style)
{
	char text[TSR_RT_NUMBER];
	tsr_rt_write(ctx, text, tsr_rt_number_f64(text, value, width, precision, style, true));
}

void tsr_print_bool(tsr_ctx *ctx, int32_t value)
{
	const char *text = value ? "true" : "false";
	tsr_rt_write(ctx, text, strlen(text));
}
