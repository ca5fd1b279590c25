/* What is printed: numbers in every form, tensors of every rank, strings. */
#include "runtime_context.h"
#include "../../runtime/prec.h"
#include <math.h>

static tsr_ctx *ctx;

static const char *plain(double x)
{
	tsr_print_f64(ctx, x, 0, -1, 0);
	return printed(ctx);
}

static const char *single(float x)
{
	tsr_print_f32(ctx, x, 0, -1, 0);
	return printed(ctx);
}

static void test_floats(void)
{
	static const struct {
		double x;
		const char *want;
	} cases[] = {{0, "0."},      {-0.0, "-0."},      {1, "1."},          {7.5, "7.5"},       {100, "100."},
	             {0.1, "0.1"},   {1e-5, "0.00001"},  {9e-6, "9e-6"},     {1e15, "1000000000000000."},
	             {1e16, "1e16"}, {1.5e300, "1.5e300"}, {-2.5e-7, "-2.5e-7"}, {NAN, "nan"},   {-INFINITY, "-inf"},
	             {5e-324, "5e-324"}, {1.0 / 3, "0.3333333333333333"}, {123456.789, "123456.789"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		CHECK_STR(plain(cases[i].x), cases[i].want);
	CHECK_STR(single(0.1f), "0.1");
	CHECK_STR(single(1.0f / 3), "0.33333334");
	CHECK_STR(single(16777216), "16777216.");
	CHECK_STR(single(1e-45f), "1e-45");
}

/* The shortest text reads back as the same number, and is short: over many bit patterns. */
static void test_reads_back(void)
{
	uint32_t words[4000];
	const uint32_t key[4] = {9, 9, 9, 9};
	tsr_random_words(words, 4000, key, 0);
	int wrong = 0;
	for (int i = 0; i < 2000; i++) {
		float f;
		double d;
		memcpy(&f, &words[i], sizeof f);
		memcpy(&d, &words[2 * i], sizeof d);
		if (!isnan(f))
			wrong += strtof(single(f), NULL) != f;
		if (!isnan(d))
			wrong += strtod(plain(d), NULL) != d;
	}
	CHECK_INT(wrong, 0);
}

static const char *form(double x, int width, int precision, int style)
{
	tsr_print_f64(ctx, x, width, precision, style);
	return printed(ctx);
}

static const char *whole(int64_t x, int width, int style)
{
	tsr_print_i64(ctx, x, width, style);
	return printed(ctx);
}

static void test_forms(void)
{
	CHECK_STR(form(3.14159, 8, 3, 0), "   3.142");
	CHECK_STR(form(3.14159, -8, 3, 0), "3.142   ");
	CHECK_STR(form(-3.14159, 8, 3, TSR_STYLE_ZEROS), "-003.142");
	CHECK_STR(form(3, 0, 0, 0), "3");
	CHECK_STR(form(3, 0, 2, TSR_STYLE_SIGN), "+3.00");
	CHECK_STR(form(12345.678, 0, 2, 'e'), "1.23e+04");
	CHECK_STR(form(12345.678, 0, 3, 'g'), "1.23e+04");
	CHECK_STR(form(1500, 0, -1, 'e'), "1.5e3");
	CHECK_STR(form(1500, 0, -1, 'g'), "1500");
	CHECK_STR(form(1e20, 0, -1, 'f'), "100000000000000000000.");
	CHECK_STR(form(NAN, 6, 3, TSR_STYLE_ZEROS), "   nan");
	CHECK_STR(form(INFINITY, 0, 3, TSR_STYLE_SIGN), "+inf");
	CHECK_INT(strlen(form(-1.7976931348623157e308, 0, 100, 0)), 1 + 309 + 1 + 100);
	CHECK(strlen(form(1, 1000000, 3, 0)) < 1000);
	CHECK_STR(whole(0, 0, 0), "0");
	CHECK_STR(whole(-42, 6, 0), "   -42");
	CHECK_STR(whole(-42, -6, 0), "-42   ");
	CHECK_STR(whole(-42, 6, TSR_STYLE_ZEROS), "-00042");
	CHECK_STR(whole(255, 0, 'x'), "ff");
	CHECK_STR(whole(INT64_MIN, 0, 0), "-9223372036854775808");
	tsr_print_bool(ctx, 1);
	tsr_print_bool(ctx, 0);
	CHECK_STR(printed(ctx), "truefalse");
}

static const char *tensor(int prec, const char *shape, const void *data, int rank, const int64_t *dims)
{
	tsr_print_tensor(ctx, "t", prec, 0, rank, 0, dims, shape, data);
	return printed(ctx);
}

#define DIMS(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (const int64_t[]) { __VA_ARGS__ }

static void test_tensors(void)
{
	const float f[] = {0, 7.5f, -1, 100, 0.25f, 1e-9f};
	const uint8_t u[] = {1, 20, 255, 0};
	const int8_t i[] = {-1, 2};
	const double d[] = {0.1};
	CHECK_STR(tensor(TSR_F32, "2", f, DIMS(2)), "t : 2  [0. 7.5]\n");
	CHECK_STR(tensor(TSR_F32, "\1A", f, DIMS(2)), "t : 2  [0. 7.5]\n");
	CHECK_STR(tensor(TSR_U8, "1 | rgb:\1C -> \1B", u, DIMS(1, 1, 3)), "t : 1 | rgb:3 -> 1\n  [[[  1  20 255]]]\n");
	CHECK_STR(tensor(TSR_F64, "", d, 0, NULL), "t  0.1\n");
	CHECK_STR(tensor(TSR_F32, "3 -> 2", f, DIMS(2, 3)), "t : 3 -> 2\n"
	                                                    "  [[  0.     7.5   -1.  ]\n"
	                                                    "   [100.     0.25   1e-9]]\n");
	CHECK_STR(tensor(TSR_U8, "2, 2", u, DIMS(2, 2)), "t : 2, 2\n  [[  1  20]\n   [255   0]]\n");
	CHECK_STR(tensor(TSR_I8, "2", i, DIMS(2)), "t : 2  [-1 2]\n");
	CHECK_STR(tensor(TSR_BOOL, "2, 2", "\1\0\0\1", DIMS(2, 2)), "t : 2, 2\n  [[ true false]\n   [false  true]]\n");
	CHECK_STR(tensor(TSR_F32, "0", f, DIMS(0)), "t : 0  []\n");
	CHECK_STR(tensor(TSR_U8, "1, 2, 2", u, DIMS(1, 2, 2)), "t : 1, 2, 2\n  [[[  1  20]\n    [255   0]]]\n");
	const uint16_t half[] = {0x3C00, 0x7BFF, 0x0001}, brain[] = {0x3F80, 0x4049};
	CHECK_STR(tensor(TSR_F16, "3", half, DIMS(3)), "t : 3  [1. 65504. 5.9604645e-8]\n");
	CHECK_STR(tensor(TSR_BF16, "2", brain, DIMS(2)), "t : 2  [1. 3.140625]\n");
}

static void test_large(void)
{
	static int32_t n[40 * 40];
	for (int k = 0; k < 1600; k++)
		n[k] = k;
	CHECK_STR(tensor(TSR_I32, "1600", n, DIMS(1600)), "t : 1600  [0 1 2 ... 1597 1598 1599]\n");
	CHECK_STR(tensor(TSR_I32, "40, 40", n, DIMS(40, 40)), "t : 40, 40\n"
	                                                     "  [[   0    1    2 ...   37   38   39]\n"
	                                                     "   [  40   41   42 ...   77   78   79]\n"
	                                                     "   [  80   81   82 ...  117  118  119]\n"
	                                                     "   ...\n"
	                                                     "   [1480 1481 1482 ... 1517 1518 1519]\n"
	                                                     "   [1520 1521 1522 ... 1557 1558 1559]\n"
	                                                     "   [1560 1561 1562 ... 1597 1598 1599]]\n");
	CHECK(!strstr(tensor(TSR_I32, "1000", n, DIMS(1000)), "..."));
	const char *text = tensor(TSR_I32, "4, 300", n, DIMS(4, 300)), *line = text;
	CHECK(strstr(text, "[[   0    1    2 ...  297  298  299]") != NULL);
	for (text = line = tensor(TSR_I32, "300", n, DIMS(300)); *text; text++)
		if (*text == '\n') {
			CHECK(text - line <= 101);
			line = text + 1;
		}
}

static const struct {
	int64_t n;
	char s[8];
} hello = {5, "hello"}, help = {3, "hel"};

static void test_strings(void)
{
	const tsr_str *h = (const tsr_str *)&hello, *p = (const tsr_str *)&help;
	tsr_print_string(ctx, h, 8);
	tsr_print_string(ctx, h, -8);
	tsr_print_string(ctx, h, 2);
	CHECK_STR(printed(ctx), "   hellohello   hello");
	int64_t mark = tsr_str_mark(ctx);
	const tsr_str *s = h;
	for (int i = 0; i < 2000; i++)
		s = tsr_str_concat(ctx, s, p);
	CHECK_INT(tsr_str_length(s), 6005);
	CHECK_INT(strlen(s->bytes), 6005);
	tsr_str_release(ctx, mark);
	CHECK_INT(tsr_str_mark(ctx), mark);
	CHECK_STR(tsr_str_sub(ctx, "", h, 1, 3)->bytes, "ell");
	CHECK_STR(tsr_str_of_i64(ctx, 42, 5, 0)->bytes, "   42");
	CHECK_STR(tsr_str_of_f64(ctx, 0.1, 0, -1, 0)->bytes, "0.1");
	CHECK_STR(tsr_str_of_f32(ctx, 0.1f, 0, -1, 0)->bytes, "0.1");
	CHECK_STR(tsr_str_of_byte(ctx, "", 65)->bytes, "A");
	CHECK_STR(tsr_str_pad(ctx, p, -5)->bytes, "hel  ");
	CHECK_INT(tsr_str_compare(h, p), 1);
	CHECK_INT(tsr_str_compare(p, h), -1);
	CHECK_INT(tsr_str_compare(h, h), 0);
	CHECK_INT(tsr_str_byte(ctx, "", h, 4), 'o');
	CHECK_INT(tsr_str_find(h, tsr_str_new(ctx, "l", 1), 0), 2);
	CHECK_INT(tsr_str_find(h, tsr_str_new(ctx, "l", 1), 4), -1);
	CHECK_INT(tsr_str_to_i64(ctx, "", tsr_str_new(ctx, " -12 ", 5)), -12);
	CHECK(tsr_str_to_f64(ctx, "", tsr_str_new(ctx, "1.5e3", 5)) == 1500);
	CHECK_STR(FAILS(tsr_str_byte(ctx, "a:1:1", h, 5)), "a:1:1: index 5 is outside the string, which has 5 positions");
	CHECK_STR(FAILS(tsr_str_sub(ctx, "a", h, 3, 3)), "a: 3 bytes from position 3 on are not in a string of 5 bytes");
	CHECK_STR(FAILS(tsr_str_to_i64(ctx, "a", h)), "a: 'hello' is not a whole number");
	CHECK_STR(FAILS(tsr_str_to_f64(ctx, "a", h)), "a: 'hello' is not a number");
	CHECK_STR(FAILS(tsr_str_of_byte(ctx, "a", 256)), "a: a byte is 0 to 255, not 256");
}

/* More text than the buffer holds arrives whole and in order. */
static void test_much_text(void)
{
	static char long_text[30000];
	memset(long_text, 'x', sizeof long_text);
	printed(ctx);
	for (int i = 0; i < 3000; i++)
		tsr_print_str(ctx, "0123456789", 10);
	tsr_print_str(ctx, long_text, sizeof long_text);
	tsr_print_str(ctx, "end", 3);
	tsr_flush(ctx);
	CHECK_INT(the_caught->length, 60003);
	CHECK_STR(the_caught->text + 60000, "end");
	CHECK(the_caught->text[29999] == '9' && the_caught->text[30000] == 'x');
}

int main(void)
{
	static caught c;
	tsr_config config = caught_config(&c);
	static const tsr_program program = {.name = "test"};
	ctx = tsr_start_with(0, NULL, &program, &config);
	test_floats();
	test_reads_back();
	test_forms();
	test_tensors();
	test_large();
	test_strings();
	test_much_text();
	tsr_finish(ctx);
	return check_end("runtime_print");
}
