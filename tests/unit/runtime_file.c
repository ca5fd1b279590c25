/* Data files: what is saved reads back, what is malformed is refused with one line, whatever byte is wrong.
 *
 *   runtime_file show PATH [KEY]    prints precision, sizes and elements of an array, for tests/runtime/check.py
 *   runtime_file save PATH          saves sample arrays, npy or npz by the ending */
#include "runtime_context.h"
#include "../../runtime/prec.h"
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/tessera-files-XXXXXX";
static char path_text[200];
static char error[400];

static const char *at(const char *name)
{
	snprintf(path_text, sizeof path_text, "%s/%s", folder, name);
	return path_text;
}

static const char *write_file(const char *name, const void *bytes, size_t n)
{
	FILE *f = fopen(at(name), "wb");
	if (!f || fwrite(bytes, 1, n, f) != n || fclose(f))
		CHECK(!"a test file could not be written");
	return path_text;
}

static size_t read_whole(const char *path, unsigned char *to, size_t size)
{
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(to, 1, size, f) : 0;
	if (f)
		fclose(f);
	return n;
}

/* The error of reading a whole array, "" when there is none. */
static const char *reads(const char *path, const char *key, const tsr_file_format *format)
{
	tsr_header h;
	void *data;
	error[0] = 0;
	if (tsr_array_read(path, key, format, &h, &data, error, sizeof error) == 0)
		free(data);
	return error;
}

/* An npy file with this dictionary and `elements` zero bytes. */
static size_t npy(unsigned char *to, const char *dictionary, size_t elements)
{
	size_t n = strlen(dictionary);
	memcpy(to, "\x93NUMPY\1\0", 8);
	to[8] = (unsigned char)n;
	to[9] = (unsigned char)(n >> 8);
	memcpy(to + 10, dictionary, n);
	memset(to + 10 + n, 0, elements);
	return 10 + n + elements;
}

static const char *header_says(const char *dictionary, size_t elements)
{
	unsigned char bytes[1000];
	return reads(write_file("h.npy", bytes, npy(bytes, dictionary, elements)), NULL, &tsr_format_npy);
}

static void test_npy_headers(void)
{
	CHECK_STR(header_says("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24), "");
	CHECK_STR(header_says("{\"shape\":(2,3),'fortran_order':True,'descr':'<f4'}  \n", 24), "");
	CHECK_STR(header_says("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", 8), "");
	CHECK_STR(header_says("{'descr': '|b1', 'fortran_order': False, 'shape': (3L,), }", 3), "");
	CHECK_STR(header_says("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", 8),
	          "holds big-endian numbers ('>f4'); save it with .astype('<f4')");
	CHECK_STR(header_says("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", 16),
	          "holds elements of type 'c8', which is none of the precisions here");
	CHECK_STR(header_says("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", 8),
	          "holds records (a structured type), not numbers");
	CHECK_STR(header_says("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 23),
	          "is cut short: 1 bytes are missing");
	CHECK_STR(header_says("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 8),
	          "its sizes multiply to more than memory can hold");
	CHECK_STR(header_says("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 8),
	          "has an axis longer than any memory");
	static const char *const malformed[] = {
	    "", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)",
	    "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}", "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
	    "{'descr': '<f4', 'fortran_order': False, 'shape': 2}", "{'descr: '<f4', 'fortran_order': False, 'shape': (2,)}",
	    "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", "{'x': '<f4', 'fortran_order': False, 'shape': (2,)}",
	    "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}"};
	for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
		CHECK_STR(header_says(malformed[i], 100), "has a malformed npy header");
	char many[400] = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
	for (int k = 0; k < 33; k++)
		strcat(many, "1, ");
	CHECK_STR(header_says(strcat(many, ")}"), 4), "has more than 32 axes");
	CHECK_STR(reads(write_file("v.npy", "\x93NUMPY\7\0xxxxxxxx", 16), NULL, &tsr_format_npy),
	          "is an npy array of version 7.0; 1 to 3 are read");
	CHECK_STR(reads(write_file("v.npy", "no array at all", 15), NULL, &tsr_format_npy),
	          "is not an npy array: it does not begin like one");
	CHECK_STR(reads(write_file("v.npy", "", 0), NULL, &tsr_format_npy), "is not an npy array: it has only 0 bytes");
	CHECK_STR(reads(at("nothing"), NULL, &tsr_format_npy), "No such file or directory");
	CHECK_STR(reads(folder, NULL, &tsr_format_npy), "is not a regular file");
}

static void save_samples(tsr_ctx *ctx, const char *path, const tsr_save_format *format)
{
	static const float f[] = {1, 2.5f, -3, 0, 1e-30f, 7};
	static const uint8_t u[] = {0, 1, 255};
	static const int64_t d23[] = {2, 3}, d3[] = {3};
	tsr_save *s = tsr_save_open(ctx, "s.tsr:1:1", path, format);
	tsr_save_add(ctx, s, "f", TSR_F32, 2, d23, f);
	if (format == &tsr_save_npz) {
		tsr_save_add(ctx, s, "u", TSR_U8, 1, d3, u);
		tsr_save_add(ctx, s, "scalar", TSR_F64, 0, NULL, &(double){0.5});
		tsr_save_add(ctx, s, "b", TSR_BOOL, 1, d3, "\0\1\1");
		tsr_save_add(ctx, s, "h", TSR_BF16, 1, d3, "\0\1\2\3\4\5");
		tsr_save_add(ctx, s, "empty", TSR_I32, 1, &(int64_t){0}, u);
	}
	tsr_save_close(ctx, s);
}

static void check_array(const char *path, const char *key, const tsr_file_format *format, int prec, int rank, size_t bytes,
                        const void *want)
{
	tsr_header h;
	void *data;
	CHECK_STR(tsr_array_read(path, key, format, &h, &data, error, sizeof error) ? error : "", "");
	if (!data)
		return;
	CHECK_INT(h.prec, prec);
	CHECK_INT(h.rank, rank);
	CHECK(memcmp(data, want, bytes) == 0);
	free(data);
}

static void test_round_trip(tsr_ctx *ctx)
{
	static const float f[] = {1, 2.5f, -3, 0, 1e-30f, 7};
	static unsigned char first[8000], again[8000];
	save_samples(ctx, at("a.npy"), &tsr_save_npy);
	check_array(at("a.npy"), NULL, &tsr_format_npy, TSR_F32, 2, 24, f);
	save_samples(ctx, at("a.npz"), &tsr_save_npz);
	check_array(at("a.npz"), "f", &tsr_format_npz, TSR_F32, 2, 24, f);
	check_array(at("a.npz"), "u", &tsr_format_any, TSR_U8, 1, 3, "\0\1\377");
	check_array(at("a.npz"), "scalar", &tsr_format_npz, TSR_F64, 0, 8, &(double){0.5});
	check_array(at("a.npz"), "b", &tsr_format_npz, TSR_BOOL, 1, 3, "\0\1\1");
	check_array(at("a.npz"), "h", &tsr_format_npz, TSR_BF16, 1, 6, "\0\1\2\3\4\5");
	check_array(at("a.npz"), "empty", &tsr_format_npz, TSR_I32, 1, 0, "");
	size_t n = read_whole(at("a.npz"), first, sizeof first);
	save_samples(ctx, at("a.npz"), &tsr_save_npz);
	CHECK(n > 0 && read_whole(at("a.npz"), again, sizeof again) == n && memcmp(first, again, n) == 0);
	CHECK_STR(reads(at("a.npz"), "v", &tsr_format_npz), "holds no array 'v', but f, u, scalar, b, h, empty");
	CHECK_STR(reads(at("a.npz"), NULL, &tsr_format_npz),
	          "holds several arrays (f, u, scalar, b, h, empty): a key must name one");
	CHECK_STR(reads(at("a.npy"), "f", &tsr_format_npy), "holds one array without a name, so the key 'f' finds nothing");
	CHECK_STR(reads(at("a.npy"), NULL, &tsr_format_npz), "is not an npz archive, or is cut short");
}

/* Cut at every byte, and every byte replaced: an error of one line or an array, never anything else.  Under the sanitizers
 * this also shows that no byte is read that is not there. */
static void damage(const char *name, const char *key, const tsr_file_format *format, bool cut_is_error)
{
	static unsigned char good[8000];
	size_t n = read_whole(at(name), good, sizeof good);
	int silent = 0, lines = 0;
	CHECK(n > 100);
	for (size_t k = 0; k < n; k++) {
		const char *e = reads(write_file("bad", good, k), key, format);
		silent += cut_is_error && !e[0];
		lines += strchr(e, '\n') != NULL;
	}
	CHECK_INT(silent, 0);
	static const unsigned char by[] = {0x00, 0xFF, 0x80, '9', '('};
	for (size_t k = 0; k < n; k++)
		for (size_t j = 0; j < sizeof by; j++) {
			unsigned char was = good[k];
			good[k] = j == 2 ? was ^ by[j] : by[j];
			lines += strchr(reads(write_file("bad", good, n), key, format), '\n') != NULL;
			good[k] = was;
		}
	CHECK_INT(lines, 0);
}

static void test_csv(void)
{
	static const char plain[] = "1,2\n3,4\n5,6", named[] = "\"a\",b,label\r\n1.5,2,7\r\n\r\n-3e2, 4 ,8\r\n";
	check_array(write_file("p.csv", plain, strlen(plain)), NULL, &tsr_format_csv, TSR_I32, 2, 24,
	            (int32_t[]){1, 2, 3, 4, 5, 6});
	check_array(at("p.csv"), "1", &tsr_format_csv, TSR_I32, 1, 12, (int32_t[]){2, 4, 6});
	check_array(write_file("n.csv", named, strlen(named)), "label", &tsr_format_csv, TSR_I32, 1, 8, (int32_t[]){7, 8});
	check_array(at("n.csv"), "0..1", &tsr_format_csv, TSR_F32, 2, 16, (float[]){1.5f, 2, -300, 4});
	check_array(at("n.csv"), NULL, &tsr_format_any, TSR_F32, 2, 24, (float[]){1.5f, 2, 7, -300, 4, 8});
	check_array(write_file("s.csv", "1;2\n3;4\n", 8), NULL, &tsr_format_csv, TSR_I32, 2, 16, (int32_t[]){1, 2, 3, 4});
	check_array(write_file("t.csv", "x\n9000000000\n", 13), NULL, &tsr_format_csv, TSR_I64, 1, 8,
	            (int64_t[]){9000000000});
	static const struct {
		const char *text, *key, *want;
	} wrong[] = {{"", NULL, "is empty"},
	             {"\n \n", NULL, "is empty"},
	             {"1,2\n3\n", NULL, "line 2 has 1 fields, and the first line has 2"},
	             {"1,2\n\n3,4,5\n", NULL, "line 3 has 3 fields, and the first line has 2"},
	             {"a,b\n1,x\n", NULL, "line 2, column 2: 'x' is not a number"},
	             {"1,2\n3,\n4,5\n", NULL, "line 2, column 2: '' is not a number"},
	             {"a,b\n1,2\n", "c", "has no column 'c' among its 2"},
	             {"a,b\n1,2\n", "2", "has no column '2' among its 2"},
	             {"a,b\n1,2\n", "1..0", "has no column '1..0' among its 2"}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		CHECK_STR(reads(write_file("w.csv", wrong[i].text, strlen(wrong[i].text)), wrong[i].key, &tsr_format_csv),
		          wrong[i].want);
	CHECK_STR(reads(write_file("w.csv", "1,\0002\n", 5), NULL, &tsr_format_csv), "is not text: it holds a zero byte");
}

static const int64_t any_by_three[] = {-1, 3};
static const tsr_buffer_info buffers[] = {{"x", any_by_three, NULL, -1, 2, TSR_F32, TSR_ROLE_DATA}};
static const tsr_program program = {"files", NULL, 0, 1, 1, 0, buffers, NULL};

static const char *message(const char *rest)
{
	static char text[600];
	snprintf(text, sizeof text, "m.tsr:4:9: %s/%s", folder, rest);
	return text;
}

static void test_in_program(tsr_ctx *ctx)
{
	static const float f[] = {1, 2.5f, -3, 0, 1e-30f, 7};
	const char *where = "m.tsr:4:9";
	tsr_file_load(ctx, where, at("a.npz"), "f", &tsr_format_npz, 0);
	CHECK_INT(tsr_syms(ctx)[0], 2);
	CHECK(memcmp(tsr_buffers(ctx)[0], f, sizeof f) == 0);
	tsr_file *file = tsr_file_open(ctx, where, at("a.npz"), "u", &tsr_format_npz);
	CHECK_INT(tsr_file_prec(file), TSR_U8);
	CHECK_INT(tsr_file_rank(file), 1);
	CHECK_INT(tsr_file_dim(file, 0), 3);
	CHECK_STR(FAILS(tsr_file_check(ctx, file, TSR_F32, 2, any_by_three)),
	          message("a.npz[u]: holds u8 (3,), and the program was compiled for f32 (2, 3)"));
	file = tsr_file_open(ctx, where, at("a.npz"), "u", &tsr_format_npz);
	CHECK_STR(FAILS(tsr_file_read(ctx, file, path_text, 2)),
	          message("a.npz[u]: holds 3 bytes of elements, and there is room for 2"));
	write_file("t.txt", "four", 4);
	tsr_syms(ctx)[0] = -1;
	file = tsr_file_open(ctx, where, at("t.txt"), NULL, &tsr_format_any);
	tsr_file_check(ctx, file, TSR_U8, 1, any_by_three);
	char four[4];
	tsr_file_read(ctx, file, four, 4);
	tsr_file_close(ctx, file);
	CHECK(tsr_syms(ctx)[0] == 4 && memcmp(four, "four", 4) == 0);
	CHECK_STR(FAILS(tsr_file_open(ctx, where, at("none.npy"), NULL, &tsr_format_npy)),
	          message("none.npy: No such file or directory"));
	const char *e = FAILS(tsr_file_open(ctx, where, "none.npy", NULL, &tsr_format_npy));
	CHECK(!strncmp(e, "m.tsr:4:9: none.npy: no such file in the working directory or /", 60));
}

static void test_data_folder(void)
{
	caught c;
	tsr_config config = caught_config(&c);
	config.data_dir = folder;
	tsr_ctx *ctx = tsr_start_with(0, NULL, &program, &config);
	tsr_file_close(ctx, tsr_file_open(ctx, "", "a.npy", NULL, &tsr_format_npy));
	FAILS(tsr_file_open(ctx, "", "none.npy", NULL, &tsr_format_npy));
	CHECK(strstr(c.error, "no such file in /tmp/tessera-files-") != NULL);
	tsr_finish(ctx);
}

static const char *files_in_folder(void)
{
	static char text[400];
	char command[300];
	snprintf(command, sizeof command, "ls %s | grep -c 'keep'", folder);
	FILE *p = popen(command, "r");
	if (!p || !fgets(text, sizeof text, p))
		text[0] = 0;
	if (p)
		pclose(p);
	return text;
}

/* A disk that is full at byte `limit` of the new file: the old one stays, nothing else is left behind. */
static void full_disk(tsr_ctx *ctx, const tsr_save_format *format, rlim_t bytes)
{
	static unsigned char before[8000], after[8000];
	static float much[50000];
	save_samples(ctx, at("keep"), format);
	chmod(at("keep"), 0640);
	size_t n = read_whole(at("keep"), before, sizeof before);
	signal(SIGXFSZ, SIG_IGN);
	struct rlimit was, limit = {bytes, RLIM_INFINITY};
	getrlimit(RLIMIT_FSIZE, &was);
	limit.rlim_max = was.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
	tsr_save *volatile s = tsr_save_open(ctx, "m.tsr:4:9", at("keep"), format);
	FAILS((tsr_save_add(ctx, s, "much", TSR_F32, 1, &(int64_t){50000}, much), tsr_save_close(ctx, s)));
	setrlimit(RLIMIT_FSIZE, &was);
	CHECK_STR(the_caught->error, message("keep could not be saved: File too large"));
	CHECK(n > 0 && read_whole(at("keep"), after, sizeof after) == n && memcmp(before, after, n) == 0);
	CHECK_STR(files_in_folder(), "1\n");
	save_samples(ctx, at("keep"), format);
	struct stat st;
	CHECK(stat(at("keep"), &st) == 0 && (st.st_mode & 0777) == 0640);
}

static void test_full_disk(tsr_ctx *ctx)
{
	full_disk(ctx, &tsr_save_npy, 5000);
	full_disk(ctx, &tsr_save_npz, 100);
	FAILS(tsr_save_open(ctx, "m.tsr:4:9", at("no/such/folder"), &tsr_save_npy));
	CHECK_STR(the_caught->error, message("no/such/folder could not be saved: No such file or directory"));
}

static int show(const char *path, const char *key)
{
	tsr_header h;
	void *data;
	if (tsr_array_read(path, key, &tsr_format_any, &h, &data, error, sizeof error)) {
		printf("error: %s\n", error);
		return 1;
	}
	size_t bytes = tsr_rt_prec_bytes(h.prec);
	printf("%s", tsr_rt_prec_name(h.prec));
	for (int k = 0; k < h.rank; k++) {
		printf(" %lld", (long long)h.dims[k]);
		bytes *= (size_t)h.dims[k];
	}
	printf("\n");
	for (size_t i = 0; i < bytes; i++)
		printf("%02x", ((unsigned char *)data)[i]);
	printf("\n");
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "show"))
		return show(argv[2], argc > 3 ? argv[3] : NULL);
	static caught c;
	tsr_config config = caught_config(&c);
	tsr_ctx *ctx = tsr_start_with(0, NULL, &program, &config);
	if (argc > 2 && !strcmp(argv[1], "save")) {
		save_samples(ctx, argv[2], strstr(argv[2], ".npz") ? &tsr_save_npz : &tsr_save_npy);
		return tsr_finish(ctx);
	}
	if (!mkdtemp(folder))
		return 1;
	test_npy_headers();
	test_round_trip(ctx);
	damage("a.npy", NULL, &tsr_format_npy, true);
	damage("a.npz", "u", &tsr_format_npz, true);
	test_csv();
	damage("a.npy", NULL, &tsr_format_csv, false);
	test_in_program(ctx);
	test_data_folder();
	the_caught = &c;
	test_full_disk(ctx);
	tsr_finish(ctx);
	char command[200];
	snprintf(command, sizeof command, "rm -r %s", folder);
	CHECK(system(command) == 0);
	return check_end("runtime_file");
}
