/* diag/: sources and positions, what is collected, and the rendered text. */
#include "../../compiler/diag/diag.h"
#include "check.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char *rendered(tsr_compiler *tc, bool colour)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	tsr_diags_render(tc, f, colour);
	fclose(f);
	return text;
}

static void check_rendered(tsr_compiler *tc, const char *want)
{
	char *text = rendered(tc, false);
	CHECK_STR(text, want);
	free(text);
}

static uint32_t add(tsr_compiler *tc, const char *path, const char *text)
{
	return tsr_source_add(tc, path, text, strlen(text));
}

static void test_positions(void)
{
	tsr_compiler *tc = tsr_compiler_new();
	uint32_t f = add(tc, "p.tsr", "ab\ncd\xc3\xa9" "e\n\nlast");
	static const struct { uint32_t at, line, column; } rows[] = {
		{0, 1, 1}, {1, 1, 2}, {2, 1, 3}, {3, 2, 1}, {5, 2, 3}, {7, 2, 4}, {8, 2, 5}, {9, 3, 1}, {10, 4, 1}, {14, 4, 5}, {900, 4, 5},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tsr_position p = tsr_position_of(tc, (tsr_span){f, rows[i].at, rows[i].at});
		CHECK_INT(p.line, rows[i].line);
		CHECK_INT(p.column, rows[i].column);
		CHECK_STR(p.path, "p.tsr");
	}
	tsr_span joined = tsr_span_join((tsr_span){f, 5, 6}, (tsr_span){f, 1, 3});
	CHECK(joined.file == f && joined.start == 1 && joined.end == 6);
	joined = tsr_span_join(TSR_NOWHERE, (tsr_span){f, 1, 3});
	CHECK(joined.file == f && joined.start == 1 && joined.end == 3);
	CHECK_INT(tsr_source_load(tc, "/nonexistent/file.tsr"), 0);
	tsr_compiler_free(tc);
}

static void test_load(void)
{
	char path[] = "/tmp/tsr-unit-XXXXXX";
	int fd = mkstemp(path);
	FILE *out = fdopen(fd, "w");
	for (int i = 0; i < 5000; i++)
		fprintf(out, "line %d\n", i);
	long size = ftell(out);
	fclose(out);
	tsr_compiler *tc = tsr_compiler_new();
	uint32_t f = tsr_source_load(tc, path);
	CHECK(f != 0);
	CHECK_INT(tsr_source_load(tc, path), f);
	CHECK_INT(tsr_source_get(tc, f)->size, size);
	CHECK_INT(tsr_source_get(tc, f)->lines.n, 5001);
	CHECK_INT(tsr_position_of(tc, (tsr_span){f, (uint32_t)size - 1, (uint32_t)size}).line, 5000);
	CHECK_INT(tsr_source_load(tc, "/tmp"), 0);              /* a folder opens, and cannot be read */
	tsr_compiler_free(tc);
	unlink(path);
}

static void test_layout(void)
{
	tsr_compiler *tc = tsr_compiler_new();
	uint32_t f = add(tc, "x.tsr", "let a = 1\n\nlet%op y = a * v\n");
	tsr_diag *d = tsr_report(tc, TSR_E_UNKNOWN_NAME, (tsr_span){f, 24, 25}, "the sizes %d and %d meet on one axis", 3, 4);
	tsr_note_at(tc, d, (tsr_span){f, 4, 5}, "one is from here");
	tsr_note_at(tc, d, TSR_NOWHERE, "and the rule is general");
	tsr_hint(tc, d, "write %s", "a *. v");
	check_rendered(tc,
	               "x.tsr:3:14: error[E0201]: the sizes 3 and 4 meet on one axis\n"
	               "  3 | let%op y = a * v\n"
	               "    |              ^\n"
	               "x.tsr:1:5: note: one is from here\n"
	               "note: and the rule is general\n"
	               "hint: write a *. v\n");
	CHECK_INT(tc->nerrors, 1);
	char *colour = rendered(tc, true);
	CHECK(strstr(colour, "\033[1;31merror[E0201]:\033[0m") != NULL);
	free(colour);
	tsr_compiler_free(tc);
}

static void test_odd_lines(void)
{
	tsr_compiler *tc = tsr_compiler_new();
	uint32_t f = add(tc, "t.tsr", "\tlet\tabc = d\r\n\xc3\xa9\xc3\xa9 = \xe2\x82\xac\xe2\x82\xac;\nopen [ 1;\n 2 ]");
	tsr_report(tc, TSR_E_SYNTAX, (tsr_span){f, 5, 8}, "tabs");
	tsr_report(tc, TSR_E_SYNTAX, (tsr_span){f, 21, 27}, "characters of several bytes");
	tsr_report(tc, TSR_E_SYNTAX, (tsr_span){f, 34, 43}, "more than a line");
	tsr_report(tc, TSR_E_SYNTAX, (tsr_span){f, 43, 43}, "the end of the file");
	check_rendered(tc,
	               "t.tsr:1:6: error[E0102]: tabs\n"
	               "  1 | \tlet\tabc = d\n"
	               "    | \t   \t^~~\n"
	               "t.tsr:2:6: error[E0102]: characters of several bytes\n"
	               "  2 | \xc3\xa9\xc3\xa9 = \xe2\x82\xac\xe2\x82\xac;\n"
	               "    |      ^~\n"
	               "t.tsr:3:6: error[E0102]: more than a line\n"
	               "  3 | open [ 1;\n"
	               "    |      ^~~~\n"
	               "t.tsr:4:5: error[E0102]: the end of the file\n"
	               "  4 |  2 ]\n"
	               "    |     ^\n");
	tsr_compiler_free(tc);
}

/* Of a long line only the neighbourhood of the caret is shown, and no byte reaches a terminal that it could take amiss. */
static void test_long_and_unprintable_lines(void)
{
	tsr_compiler *tc = tsr_compiler_new();
	char text[1000];
	memset(text, 'a', sizeof text);
	memcpy(text + 500, "!b\x1b\xff!", 5);
	uint32_t file = tsr_source_add(tc, "long.tsr", text, sizeof text);
	tsr_report(tc, TSR_E_SYNTAX, (tsr_span){file, 500, 505}, "here");
	char want[400], before[61], after[96];
	memset(before, 'a', 60);
	memset(after, 'a', 95);
	before[60] = after[95] = 0;
	snprintf(want, sizeof want,
		"long.tsr:1:501: error[E0102]: here\n  1 | ... %s!b?\?!%s ...\n    |     %60s^~~~~\n", before, after, "");
	check_rendered(tc, want);
	tsr_compiler_free(tc);
}

static void test_order_and_repetition(void)
{
	tsr_compiler *tc = tsr_compiler_new();
	uint32_t f = add(tc, "a.tsr", "one two");
	tsr_report(tc, TSR_E_SYNTAX, (tsr_span){f, 4, 7}, "second");
	tsr_report(tc, TSR_E_UNKNOWN_NAME, (tsr_span){f, 0, 3}, "first");
	CHECK(tsr_report(tc, TSR_E_UNKNOWN_NAME, (tsr_span){f, 0, 3}, "said again") != NULL);
	tsr_report(tc, TSR_E_BAD_SPEC, (tsr_span){f, 0, 3}, "another code at the same place");
	tsr_report(tc, TSR_E_NO_FILE, TSR_NOWHERE, "no place");
	tsr_report(tc, TSR_E_NO_FILE, TSR_NOWHERE, "no place");
	tsr_report(tc, TSR_E_NO_FILE, TSR_NOWHERE, "no place either");
	CHECK_INT(tc->nerrors, 5);
	check_rendered(tc,
	               "tsrc: error[E0801]: no place\n"
	               "tsrc: error[E0801]: no place either\n"
	               "a.tsr:1:1: error[E0201]: first\n"
	               "  1 | one two\n"
	               "    | ^~~\n"
	               "a.tsr:1:1: error[E0110]: another code at the same place\n"
	               "  1 | one two\n"
	               "    | ^~~\n"
	               "a.tsr:1:5: error[E0102]: second\n"
	               "  1 | one two\n"
	               "    |     ^~~\n");
	tsr_compiler_free(tc);
}

static void test_limit(void)
{
	tsr_compiler *tc = tsr_compiler_new();
	uint32_t f = add(tc, "many.tsr", "0123456789012345678901234567890");
	for (uint32_t i = 0; i < 27; i++) {
		tsr_diag *d = tsr_report(tc, TSR_E_SYNTAX, (tsr_span){f, i, i + 1}, "error %u", i);
		CHECK(d != NULL);
		tsr_hint(tc, d, "a hint");
	}
	CHECK_INT(tc->nerrors, 27);
	CHECK_INT(tc->diags.n, 20);
	char *text = rendered(tc, false);
	CHECK(strstr(text, "\n7 more errors are not shown\n") != NULL);
	free(text);
	tsr_compiler_free(tc);
}

static void test_bug(void)
{
	int ends[2];
	CHECK(pipe(ends) == 0);
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		dup2(ends[1], 2);
		tsr_bug("the number is %d", 7);
	}
	close(ends[1]);
	char text[400] = {0};
	int status;
	waitpid(child, &status, 0);              /* the message comes in pieces: read when it is whole */
	CHECK(read(ends[0], text, sizeof text - 1) > 0);
	close(ends[0]);
	CHECK_INT(WEXITSTATUS(status), 70);
	CHECK(strstr(text, "internal error") != NULL);
	CHECK(strstr(text, "the number is 7") != NULL);
}

int main(void)
{
	test_positions();
	test_load();
	test_layout();
	test_odd_lines();
	test_long_and_unprintable_lines();
	test_order_and_repetition();
	test_limit();
	test_bug();
	return check_end("diag");
}
