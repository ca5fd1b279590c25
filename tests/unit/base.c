/* base/: arenas, vectors, names, maps, text, and the union-find with reasons. */
#include "../../compiler/base/forest.h"
#include "../../compiler/base/map.h"
#include "../../compiler/base/names.h"
#include "../../compiler/base/text.h"
#include "../../compiler/base/vec.h"
#include "check.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void test_arena(void)
{
	tsr_arena *a = tsr_arena_new();
	int zero = 1, aligned = 1;
	for (size_t size = 0; size < 3000; size += 7) {
		unsigned char *p = tsr_alloc(a, size);
		for (size_t i = 0; i < size; i++)
			zero &= p[i] == 0;
		aligned &= (uintptr_t)p % 16 == 0;
		memset(p, 0xff, size);
	}
	CHECK(zero);
	CHECK(aligned);
	char *big = tsr_alloc(a, 5 << 20);
	CHECK(big[0] == 0 && big[(5 << 20) - 1] == 0);
	int *small = TSR_NEW_N(a, int, 4);
	for (int i = 0; i < 4; i++)
		small[i] = i + 1;
	int *grown = tsr_realloc(a, small, 4 * sizeof(int), 8 * sizeof(int));
	CHECK(grown[0] == 1 && grown[3] == 4 && grown[4] == 0 && grown[7] == 0);
	int *shrunk = tsr_realloc(a, grown, 8 * sizeof(int), 2 * sizeof(int));
	CHECK(shrunk[1] == 2);
	CHECK(tsr_realloc(a, NULL, 0, 16) != NULL);
	CHECK_STR(tsr_strdup(a, "abc"), "abc");
	CHECK_STR(tsr_strndup(a, "abcdef", 3), "abc");
	CHECK_STR(tsr_format(a, "%d-%s", 42, "x"), "42-x");
	CHECK(strlen(tsr_format(a, "%10000d", 7)) == 10000);
	tsr_arena_free(a);
	tsr_arena_free(NULL);
}

static void test_vec(void)
{
	tsr_arena *a = tsr_arena_new();
	TSR_VEC(int) v = {0};
	for (int i = 0; i < 1000; i++)
		tsr_push(a, &v, i * 3);
	CHECK_INT(v.n, 1000);
	int right = 1;
	for (int i = 0; i < 1000; i++)
		right &= v.at[i] == i * 3;
	CHECK(right);
	tsr_arena_free(a);
}

static void test_names(void)
{
	tsr_arena *a = tsr_arena_new();
	tsr_names *t = tsr_names_new(a);
	tsr_name seen[2000];
	char s[32];
	for (int i = 0; i < 2000; i++) {
		snprintf(s, sizeof s, "name%d", i);
		seen[i] = tsr_intern(t, s);
	}
	int same = 1;
	for (int i = 0; i < 2000; i++) {
		snprintf(s, sizeof s, "name%d", i);
		same &= tsr_intern(t, s) == seen[i] && !strcmp(seen[i], s);
	}
	CHECK(same);
	CHECK(seen[1] != seen[10]);
	CHECK(tsr_intern_n(t, "name12345", 5) == seen[1]);
	CHECK_STR(tsr_intern(t, ""), "");
	CHECK(tsr_intern(t, "") == tsr_intern_n(t, "x", 0));
	CHECK(tsr_intern_n(t, "a\0b", 3) != tsr_intern(t, "a"));
	tsr_arena_free(a);
}

static void test_map(void)
{
	tsr_arena *a = tsr_arena_new();
	tsr_map m;
	tsr_map_init(&m, a);
	CHECK(tsr_map_find(&m, 0) == NULL);
	uint64_t state = 88172645463325252u;
	uint64_t keys[3000];
	for (uint32_t i = 0; i < 3000; i++) {
		keys[i] = i % 3 ? next_random(&state) : i;          /* ids and pointers alike; 0 is a key */
		tsr_map_entry *e = tsr_map_put(&m, keys[i]);
		CHECK(e->value.i == 0);
		e->value.i = i + 1;
	}
	CHECK_INT(m.n, 3000);
	int found = 1, ordered = 1;
	for (uint32_t i = 0; i < 3000; i++) {
		tsr_map_entry *e = tsr_map_find(&m, keys[i]);
		found &= e && e->value.i == i + 1;
		ordered &= m.entries[i].key == keys[i];
	}
	CHECK(found);
	CHECK(ordered);
	CHECK(tsr_map_find(&m, 12345678901u) == NULL);
	CHECK(tsr_map_put(&m, keys[7])->value.i == 8);
	CHECK_INT(m.n, 3000);
	tsr_arena_free(a);
}

static const char *float_text(tsr_arena *a, double x)
{
	tsr_text t;
	tsr_text_init(&t, a);
	tsr_text_float(&t, x);
	return tsr_text_str(&t);
}

static void test_float_forms(tsr_arena *a)
{
	static const struct { double x; const char *want; } rows[] = {
		{0, "0."}, {-0.0, "-0."}, {1, "1."}, {-2.5, "-2.5"}, {7.5, "7.5"}, {0.1, "0.1"}, {100000, "100000."},
		{123456.75, "123456.75"}, {1e15, "1000000000000000."}, {1e16, "1e16"}, {1.5e300, "1.5e300"}, {1e-5, "0.00001"},
		{1.25e-6, "1.25e-6"}, {0.05, "0.05"}, {1.0 / 3, "0.3333333333333333"}, {(double)0.1f, "0.10000000149011612"},
		{5e-324, "5e-324"}, {DBL_MAX, "1.7976931348623157e308"}, {INFINITY, "inf"}, {-INFINITY, "-inf"}, {NAN, "nan"},
		{-NAN, "nan"}, {99.99, "99.99"}, {10, "10."}, {-1e9, "-1000000000."},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		CHECK_STR(float_text(a, rows[i].x), rows[i].want);
}

static void test_text(void)
{
	tsr_arena *a = tsr_arena_new();
	tsr_text t;
	tsr_text_init(&t, a);
	CHECK_STR(tsr_text_str(&t), "");
	tsr_text_add(&t, "ab");
	tsr_text_char(&t, 'c');
	tsr_text_add_n(&t, "defgh", 2);
	tsr_text_addf(&t, "%d", -5);
	CHECK_STR(tsr_text_str(&t), "abcde-5");
	for (int i = 0; i < 500; i++)
		tsr_text_addf(&t, "%d,", i);
	CHECK_INT(t.n, 7 + 10 * 2 + 90 * 3 + 400 * 4);
	CHECK(!strncmp(tsr_text_str(&t), "abcde-50,1,2,", 13));
	test_float_forms(a);
	uint64_t state = 88172645463325252u;
	int exact = 1, marked = 1;
	for (int i = 0; i < 20000; i++) {
		uint64_t bits = next_random(&state);
		double x;
		memcpy(&x, &bits, sizeof x);
		if (i % 2)
			x = (double)(int64_t)(bits % 2000001) / 1000 - 1000;
		if (isnan(x) || isinf(x))
			continue;
		const char *s = float_text(a, x);
		exact &= strtod(s, NULL) == x;
		marked &= strpbrk(s, ".e") != NULL;
	}
	CHECK(exact);
	CHECK(marked);
	tsr_arena_free(a);
}

static int path_is(tsr_forest *f, tsr_arena *a, uint32_t from, uint32_t to, const char *want)
{
	uint32_t *reasons;
	uint32_t n = tsr_forest_explain(f, from, to, a, &reasons);
	tsr_text t;
	tsr_text_init(&t, a);
	for (uint32_t i = 0; i < n; i++)
		tsr_text_addf(&t, i ? " %u" : "%u", reasons[i]);
	return CHECK_STR(tsr_text_str(&t), want);
}

static void test_forest(void)
{
	tsr_arena *a = tsr_arena_new();
	tsr_forest *f = tsr_forest_new(a);
	for (uint32_t i = 0; i < 10; i++)
		CHECK_INT(tsr_forest_add(f), i);
	CHECK_INT(tsr_forest_size(f), 10);
	CHECK(tsr_forest_union(f, 0, 1, 100));
	CHECK(tsr_forest_union(f, 2, 3, 101));
	CHECK(tsr_forest_union(f, 4, 5, 102));
	CHECK(tsr_forest_union(f, 1, 2, 103));
	CHECK(tsr_forest_union(f, 5, 3, 104));
	CHECK(!tsr_forest_union(f, 0, 4, 105));
	CHECK(!tsr_forest_union(f, 6, 6, 106));
	path_is(f, a, 0, 4, "100 103 101 104 102");
	path_is(f, a, 4, 0, "102 104 101 103 100");
	path_is(f, a, 3, 1, "101 103");
	path_is(f, a, 3, 3, "");
	path_is(f, a, 0, 9, "");
	CHECK_INT(tsr_forest_find(f, 1), 4);                    /* union(5, 3) keeps the representative of 5 */
	CHECK_INT(tsr_forest_find(f, 9), 9);
	tsr_arena_free(a);
}

/* Against the plain definition: unions as edges of a graph; every explained path must be a walk of real unions. */
static void test_forest_at_random(void)
{
	enum { N = 200 };
	tsr_arena *a = tsr_arena_new();
	tsr_forest *f = tsr_forest_new(a);
	uint32_t ends[N][2], made = 0;
	uint64_t state = 42;
	for (uint32_t i = 0; i < N; i++)
		tsr_forest_add(f);
	int kept = 1;
	while (made < N - 10) {
		uint32_t x = (uint32_t)(next_random(&state) % N), y = (uint32_t)(next_random(&state) % N);
		uint32_t rep = tsr_forest_find(f, x);
		if (tsr_forest_union(f, x, y, made)) {
			kept &= tsr_forest_find(f, y) == rep;
			ends[made][0] = x;
			ends[made++][1] = y;
		}
	}
	CHECK(kept);
	int walks = 1;
	for (uint32_t i = 0; i < 2000; i++) {
		uint32_t x = (uint32_t)(next_random(&state) % N), y = (uint32_t)(next_random(&state) % N);
		uint32_t *reasons, n = tsr_forest_explain(f, x, y, a, &reasons), at = x;
		bool joined = tsr_forest_find(f, x) == tsr_forest_find(f, y);
		for (uint32_t k = 0; k < n; k++) {
			uint32_t *e = ends[reasons[k]];
			walks &= e[0] == at || e[1] == at;
			at = e[0] == at ? e[1] : e[0];
		}
		walks &= joined ? at == y : n == 0;
	}
	CHECK(walks);
	tsr_arena_free(a);
}

static void test_json(void)
{
	static const struct { const char *text, *json; } rows[] = {
		{"", "\"\""}, {"plain", "\"plain\""}, {"a\"b\\c", "\"a\\\"b\\\\c\""}, {"\n\t\r\x01\x7f", "\"\\n\\t\\u000d\\u0001\\u007f\""},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82\""},
		{"\xff", "\"\\ufffd\""}, {"\xc3", "\"\\ufffd\""}, {"\xc0\x80", "\"\\ufffd\\ufffd\""},
		{"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, {"\xe2\x82", "\"\\ufffd\\ufffd\""},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tsr_arena *a = tsr_arena_new();
		tsr_text t;
		tsr_text_init(&t, a);
		tsr_text_json(&t, rows[i].text);
		CHECK_STR(tsr_text_str(&t), rows[i].json);
		tsr_arena_free(a);
	}
}

int main(void)
{
	test_json();
	test_arena();
	test_vec();
	test_names();
	test_map();
	test_text();
	test_forest();
	test_forest_at_random();
	return check_end("base");
}
