/* shape/: one problem from elsewhere, as tests/conformance gives them.
 *     shape_problem WANT <PROBLEM     in the notation of shape_text.h; exit status 0 when every order of its lines gives WANT
 * Without arguments it tests that it notices what is wrong. */
#include "shape_text.h"

enum { MOST_TEXT = 4096 };

/* Whether a problem, in the order in which it stands, is judged to give what is wanted. */
static bool gives(const char *text, const char *want)
{
	uint32_t starts[MOST_LINES], order[MOST_LINES], n = split(text, starts);
	char why[512];
	problem p;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	run_lines(&p, text, n, starts, order);
	bool ok = judged(&p, want, why, sizeof why);
	tsr_compiler_free(p.tc);
	return ok;
}

static void test_judge(void)
{
	CHECK(gives("3 <= a\nleaf [a]", "a=3"));
	CHECK(!gives("3 <= a\nleaf [a]", "a=4"));
	CHECK(!gives("3 <= a\nleaf [a]", "E0401"));
	CHECK(gives("3 = 4", "E04"));
	CHECK(!gives("3 = 4", "E0402"));
	CHECK(!gives("3 = 4", ""));
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		static char text[MOST_TEXT];
		size_t n = fread(text, 1, sizeof text - 1, stdin);
		while (n && text[n - 1] == '\n')
			text[--n] = 0;
		const shape_case one = {"the problem", text, argv[1]};
		check_cases(&one, 1);
	} else {
		test_judge();
	}
	return check_end("shape_problem");
}
