/* A program's life: options and arguments, buffers, symbols, elements, failures, a full disk, no memory. */
#include "runtime_context.h"
#include "../../runtime/prec.h"
#include <fcntl.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

/* A refused allocation is part of the test, not an error of it. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static const float weights[3] = {1, 2, 3};
static const int64_t three[] = {3}, unknown[] = {-1, 4};
static const tsr_buffer_info buffers[] = {
    {"w", three, weights, 12, 1, TSR_F32, TSR_ROLE_PARAM},
    {"c", three, weights, 12, 1, TSR_F32, TSR_ROLE_CONST},
    {"t", unknown, NULL, -1, 2, TSR_F32, TSR_ROLE_TENSOR},
    {"z", three, NULL, 12, 1, TSR_F32, TSR_ROLE_TENSOR},
};
static const char *const symbols[] = {"?n"};
static const tsr_program program = {"demo", "  FILE  a text\n", 5, 4, 1, 2, buffers, symbols};

static void test_arguments(void)
{
	caught c;
	tsr_config config = caught_config(&c);
	char *argv[] = {"demo", "words.txt", "--data=elsewhere", "-3", "--seed", "12", "2.5", "--", "--help", NULL};
	tsr_ctx *ctx = tsr_start_with(9, argv, &program, &config);
	static const struct {
		int64_t n;
		char s[8];
	} fallback = {2, "fb"};
	const tsr_str *f = (const tsr_str *)&fallback;
	CHECK_INT(tsr_arg_count(ctx), 4);
	CHECK_STR(tsr_arg_str(ctx, "w", 0, NULL)->bytes, "words.txt");
	CHECK_INT(tsr_arg_i64(ctx, "w", 1, 0, 0), -3);
	CHECK(tsr_arg_f64(ctx, "w", 2, 0, 0) == 2.5);
	CHECK_STR(tsr_arg_str(ctx, "w", 3, NULL)->bytes, "--help");
	CHECK_STR(tsr_arg_str(ctx, "w", 4, f)->bytes, "fb");
	CHECK_INT(tsr_arg_i64(ctx, "w", 4, 1, 77), 77);
	CHECK(tsr_arg_f64(ctx, "w", 4, 1, 0.5) == 0.5);
	CHECK_INT(tsr_seed(ctx), 12);
	CHECK_STR(FAILS(tsr_arg_str(ctx, "m.tsr:3:1", 4, NULL)), "m.tsr:3:1: argument 5 is missing: 4 were given");
	CHECK_STR(FAILS(tsr_arg_i64(ctx, "w", 0, 1, 0)), "w: argument 1 must be a whole number, not 'words.txt'");
	CHECK_STR(FAILS(tsr_arg_i64(ctx, "w", 2, 0, 0)), "w: argument 3 must be a whole number, not '2.5'");
	CHECK_STR(FAILS(tsr_arg_f64(ctx, "w", 0, 0, 0)), "w: argument 1 must be a number, not 'words.txt'");
	CHECK(tsr_time(ctx) >= 0 && tsr_time(ctx) < 60);
	tsr_finish(ctx);
}

static void test_buffers(void)
{
	caught c;
	tsr_config config = caught_config(&c);
	tsr_ctx *ctx = tsr_start_with(0, NULL, &program, &config);
	void **b = tsr_buffers(ctx);
	CHECK(b[0] != weights && memcmp(b[0], weights, 12) == 0);
	CHECK(b[1] == weights);
	CHECK(b[2] == NULL);
	CHECK(((float *)b[3])[2] == 0);
	CHECK((uintptr_t)b[0] % 64 == 0 && (uintptr_t)b[3] % 64 == 0);
	CHECK_INT(tsr_syms(ctx)[0], -1);
	CHECK_INT(tsr_nums(ctx)[1], 0);
	CHECK_STR(FAILS(tsr_array_bytes(ctx, "w", TSR_F32, 2, unknown)), "w: the size ?n is not known yet");
	tsr_syms(ctx)[0] = 1000;
	int64_t bytes = tsr_array_bytes(ctx, "w", TSR_F32, 2, unknown);
	CHECK_INT(bytes, 16000);
	char *t = tsr_alloc_buffer(ctx, 2, bytes);
	CHECK(b[2] == t && t[0] == 0 && t[bytes - 1] == 0);
	memset(t, 1, (size_t)bytes);
	t = tsr_alloc_buffer(ctx, 2, 5 << 20);
	CHECK((uintptr_t)t % 64 == 0 && (uintptr_t)t % (1 << 21) < 4096 && t[0] == 0 && t[(5 << 20) - 1] == 0);
	void *block = tsr_alloc_block(ctx, 0), *other = tsr_alloc_block(ctx, 100);
	CHECK(block && other && (uintptr_t)block % 64 == 0);
	tsr_release_block(ctx, block);
	tsr_release_block(ctx, NULL);
	const int64_t huge[] = {1ll << 40, 1ll << 40}, empty[] = {1ll << 40, 1ll << 40, 0};
	CHECK_STR(FAILS(tsr_array_bytes(ctx, "w", TSR_F32, 2, huge)), "w: an array of this size does not fit into memory");
	CHECK_INT(tsr_array_bytes(ctx, "w", TSR_F32, 3, empty), 0);
	CHECK_STR(FAILS(tsr_alloc_block(ctx, 1ll << 60)), ": no memory for 1152921504606846976 bytes");
	CHECK_STR(tsr_last_error(ctx), "no memory for 1152921504606846976 bytes");
	CHECK_STR(FAILS(tsr_fail_index(ctx, "a:1:2", "axis 0 of x", 7, 5)),
	          "a:1:2: index 7 is outside axis 0 of x, which has 5 positions");
	CHECK_STR(FAILS(tsr_fail_size(ctx, "a:1:2", "?n", 7, 5)), "a:1:2: ?n is 7 here, and 5 is needed");
	const int64_t sizes[] = {1, -7}, fits[] = {3, 4, 1 << 20}, wide[] = {TSR_MAX_SIZE, TSR_MAX_SIZE}, long_axis[] = {TSR_MAX_SIZE + 1};
	CHECK_INT(tsr_elements(0, NULL), 1);
	CHECK_INT(tsr_elements(3, fits), 12 << 20);
	CHECK_INT(tsr_elements(1, wide), TSR_MAX_SIZE);
	CHECK_INT(tsr_elements(2, wide), -1);
	CHECK_INT(tsr_elements(1, long_axis), -1);
	CHECK_INT(tsr_elements(2, sizes), -1);
	tsr_check_sizes(ctx, "a:1:2", "never", 1, 0, NULL);
	CHECK_STR(FAILS(tsr_check_sizes(ctx, "a:1:2", "x has \1 axis\2 and y has \1 axis\2", 0, 2, sizes)), "a:1:2: x has 1 axis and y has -7 axiss");
	CHECK_INT(c.status, TSR_FAILED);
	tsr_finish(ctx);
}

/* Arrays of whole pages that lie in one block begin so far from each other within their pages that what is written never lies a few lines before what is read next. */
static void test_gaps(void)
{
	enum { ARRAYS = 6, BYTES = 1 << 18, PAGE = 4096, FAR = 6 * 64 };
	static const int64_t dims[] = {BYTES / 4};
	tsr_buffer_info array[ARRAYS];
	for (int i = 0; i < ARRAYS; i++)
		array[i] = (tsr_buffer_info){"a", dims, NULL, BYTES, 1, TSR_F32, TSR_ROLE_TENSOR};
	const tsr_program of_arrays = {"arrays", "", 0, ARRAYS, 0, 0, array, symbols};
	caught c;
	tsr_config config = caught_config(&c);
	tsr_ctx *ctx = tsr_start_with(0, NULL, &of_arrays, &config);
	char **b = (char **)tsr_buffers(ctx);
	for (int i = 0; i < ARRAYS; i++) {
		memset(b[i], i, BYTES);
		for (int k = 0; k < i; k++) {
			uintptr_t between = ((uintptr_t)b[i] - (uintptr_t)b[k]) % PAGE;
			CHECK(between >= FAR && between <= PAGE - FAR);
			CHECK(b[k][0] == k && b[k][BYTES - 1] == k);
		}
	}
	tsr_finish(ctx);
}

/* Every allocation of a small life refused once: each time a clean failure. */
static void test_no_memory(void)
{
	caught c;
	for (volatile long k = 1; k < 40; k++) {
		tsr_config config = caught_config(&c);
		config.memory = catch_memory;
		tsr_ctx *volatile ctx = tsr_start_with(0, NULL, &program, &config);
		c.allocations_left = k - 1;
		const char *message = FAILS((tsr_str_of_i64(ctx, 3, 0, 0), tsr_alloc_block(ctx, 10), tsr_print_str(ctx, "x", 1)));
		CHECK(!strncmp(message, ": no memory", 11) || !strcmp(message, "no failure"));
		c.allocations_left = -1;
		tsr_finish(ctx);
		if (!strcmp(message, "no failure"))
			break;
	}
}

static void test_elements(void)
{
	static const int precs[] = {TSR_BOOL, TSR_U8, TSR_I8, TSR_I16, TSR_I32, TSR_U32, TSR_I64};
	static const double lowest[] = {0, 0, -128, -32768, -2147483648., 0}, highest[] = {1, 255, 127, 32767, 2147483647., 4294967295.};
	int64_t room[2] = {0};
	for (int k = 0; k < 6; k++) {
		tsr_element_set_f64(room, precs[k], 1, -1e30);
		CHECK(tsr_element_f64(room, precs[k], 1) == (k ? lowest[k] : 1));
		tsr_element_set_f64(room, precs[k], 1, 1e30);
		CHECK(tsr_element_f64(room, precs[k], 1) == highest[k]);
		tsr_element_set_f64(room, precs[k], 1, NAN);
		CHECK(tsr_element_f64(room, precs[k], 1) == (k == 0));
		tsr_element_set_f64(room, precs[k], 0, 1.9);
		CHECK(tsr_element_i64(room, precs[k], 0) == 1);
	}
	tsr_element_set_f64(room, TSR_I64, 0, 1e30);
	CHECK_INT(room[0], INT64_MAX);
	tsr_element_set_i64(room, TSR_U8, 0, 257);
	CHECK_INT(tsr_element_i64(room, TSR_U8, 0), 1);
	tsr_element_set_i64(room, TSR_F32, 0, 5);
	CHECK(tsr_element_f64(room, TSR_F32, 0) == 5);
}

/* Every f16, bf16 and f8 value reads back as its own bits; halfway cases go to even, as f32 to f16 in hardware. */
static void test_small_floats(void)
{
	static const int precs[] = {TSR_F16, TSR_BF16, TSR_F8};
	for (int k = 0; k < 3; k++) {
		int wrong = 0;
		for (uint32_t bits = 0; bits < (k == 2 ? 256u : 65536u); bits++) {
			uint16_t in = (uint16_t)bits, out = 0;
			double x = tsr_element_f64(&in, precs[k], 0);
			if (isnan(x))
				continue;
			tsr_element_set_f64(&out, precs[k], 0, x);
			wrong += in != out;
		}
		CHECK_INT(wrong, 0);
	}
	static const struct {
		int prec;
		double x;
		uint16_t bits;
	} cases[] = {{TSR_F16, 65519, 0x7BFF},  {TSR_F16, 65520, 0x7C00},   {TSR_F16, 1 + 0x1p-11, 0x3C00},
	             {TSR_F16, 1 + 3 * 0x1p-11, 0x3C02}, {TSR_F16, 0x1p-25, 0}, {TSR_F16, 0x1.8p-25, 1},
	             {TSR_F16, -INFINITY, 0xFC00}, {TSR_BF16, 1 + 0x1p-8, 0x3F80}, {TSR_BF16, 1e39, 0x7F80},
	             {TSR_F8, 57344, 0x7B},     {TSR_F8, 61440, 0x7C},      {TSR_F8, 1.25, 0x3D}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint16_t out = 0;
		tsr_element_set_f64(&out, cases[i].prec, 0, cases[i].x);
		CHECK_INT(out, cases[i].bits);
	}
}

/* Runs `life` in a process of its own with the default callbacks; the exit status, and both outputs together in `text`. */
static int in_process(void (*life)(void), const char *out, char *text, size_t size)
{
	int ends[2];
	if (pipe(ends))
		return -1;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		int to = out ? open(out, O_WRONLY) : ends[1];
		dup2(to, 1);
		dup2(ends[1], 2);
		close(ends[0]);
		life();
		_exit(99);
	}
	close(ends[1]);
	size_t n = 0;
	for (ssize_t got; n < size - 1 && (got = read(ends[0], text + n, size - 1 - n)) > 0;)
		n += (size_t)got;
	text[n] = 0;
	close(ends[0]);
	int status = 0;
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void print_and_fail(void)
{
	char *argv[] = {"demo", NULL};
	tsr_ctx *ctx = tsr_start(1, argv, &program);
	tsr_print_str(ctx, "before\n", 7);
	tsr_fail(ctx, "x.tsr:1:5", "wrong: %d", 3);
}

static void print_and_end(void)
{
	char *argv[] = {"demo", NULL};
	tsr_ctx *ctx = tsr_start(1, argv, &program);
	tsr_print_str(ctx, "text\n", 5);
	tsr_progress(ctx, "step", 1, 2);
	exit(tsr_finish(ctx));
}

static void only_print(void)
{
	char *argv[] = {"demo", NULL};
	tsr_ctx *ctx = tsr_start(1, argv, &program);
	tsr_print_str(ctx, "text\n", 5);
	exit(tsr_finish(ctx));
}

static void ask_help(void)
{
	char *argv[] = {"demo", "--help", NULL};
	tsr_start(2, argv, &program);
}

/* Standard output is a pipe that nobody reads any more. */
static void print_to_nobody(void)
{
	int ends[2];
	if (pipe(ends))
		_exit(98);
	close(ends[0]);
	dup2(ends[1], 1);
	only_print();
}

static void bad_seed(void)
{
	char *argv[] = {"demo", "--seed=1x", NULL};
	tsr_start(2, argv, &program);
}

static void no_value(void)
{
	char *argv[] = {"demo", "--data", NULL};
	tsr_start(2, argv, &program);
}

static void test_processes(void)
{
	char text[2000];
	CHECK_INT(in_process(print_and_fail, NULL, text, sizeof text), 1);
	CHECK_STR(text, "before\nx.tsr:1:5: error: wrong: 3\n");
	CHECK_INT(in_process(print_and_end, NULL, text, sizeof text), 0);
	CHECK_STR(text, "text\nstep 1/2\n");
	CHECK_INT(in_process(only_print, "/dev/full", text, sizeof text), 1);
	CHECK_STR(text, "error: the output could not be written: No space left on device\n");
	CHECK_INT(in_process(print_and_fail, "/dev/full", text, sizeof text), 1);
	CHECK_STR(text, "x.tsr:1:5: error: wrong: 3\n");
	CHECK_INT(in_process(print_to_nobody, NULL, text, sizeof text), 1);
	CHECK_STR(text, "error: the output could not be written: Broken pipe\n");
	CHECK_INT(in_process(ask_help, NULL, text, sizeof text), 0);
	CHECK(strstr(text, "usage: demo [") && strstr(text, "--data DIR") && strstr(text, "FILE  a text"));
	CHECK_INT(in_process(bad_seed, NULL, text, sizeof text), 1);
	CHECK_STR(text, "error: --seed needs a whole number from 0 to 18446744073709551615, not '1x'\n");
	CHECK_INT(in_process(no_value, NULL, text, sizeof text), 1);
	CHECK_STR(text, "error: --data needs a value\n");
}

int main(void)
{
	test_arguments();
	test_buffers();
	test_gaps();
	test_no_memory();
	test_elements();
	test_small_floats();
	test_processes();
	return check_end("runtime_program");
}
