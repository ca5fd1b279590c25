/* Table tests in C: CHECK records, check_end() prints `name: N passed, N failed` and gives the exit status. */
#ifndef TSR_TESTS_CHECK_H
#define TSR_TESTS_CHECK_H
#include <stdio.h>
#include <string.h>

static unsigned check_passed, check_failed;

static inline int check_that(int holds, const char *file, int line, const char *what)
{
	if (holds) {
		check_passed++;
	} else {
		check_failed++;
		printf("%s:%d: failed: %s\n", file, line, what);
	}
	return holds;
}

static inline int check_strings(const char *got, const char *want, const char *file, int line)
{
	int same = got && want && !strcmp(got, want);
	if (same) {
		check_passed++;
	} else {
		check_failed++;
		printf("%s:%d: failed:\n  got  \"%s\"\n  want \"%s\"\n", file, line, got ? got : "(null)", want ? want : "(null)");
	}
	return same;
}

static inline int check_integers(long long got, long long want, const char *file, int line, const char *what)
{
	if (got == want) {
		check_passed++;
	} else {
		check_failed++;
		printf("%s:%d: failed: %s is %lld, not %lld\n", file, line, what, got, want);
	}
	return got == want;
}

#define CHECK(c)             check_that(!!(c), __FILE__, __LINE__, #c)
#define CHECK_STR(got, want) check_strings((got), (want), __FILE__, __LINE__)
#define CHECK_INT(got, want) check_integers((long long)(got), (long long)(want), __FILE__, __LINE__, #got)

static inline int check_end(const char *name)
{
	printf("%s: %u passed, %u failed\n", name, check_passed, check_failed);
	return check_failed ? 1 : 0;
}
#endif
