/* proj/: index maps of single records, as text; facts about them; random specs against enumeration. */
#include "graph_kit.h"

/* The sizes behind each map are the test's own. */
static void drop_sizes(char *text)
{
	char *to = text;
	for (const char *from = text; *from;) {
		if (strncmp(from, "] of ", 5) == 0) {
			*to++ = ']';
			from = strchr(from, '\n');
		}
		*to++ = *from++;
	}
	*to = '\0';
}

static const char *maps(const char *spec, tsr_logic logic, const char *result, const char *a, const char *b, const char *label, int64_t size)
{
	static char text[4096];
	kit k = kit_new();
	kit_number(&k, "i");
	tsr_tensor *slots[3] = {kit_tensor(&k, TSR_TENSOR_OP, "y", result), kit_tensor(&k, TSR_TENSOR_PARAM, "a", a), NULL};
	if (b)
		slots[2] = kit_tensor(&k, TSR_TENSOR_PARAM, "b", b);
	tsr_record_id r = kit_record(&k, logic, spec, b ? 3 : 2, slots);
	if (label)
		kit_label(&k, r, label, size);
	snprintf(text, sizeof text, "%s", strchr(kit_proj_text(&k, r), '\n') + 1);
	drop_sizes(text);
	tsr_compiler_free(k.tc);
	return text;
}

static void test_maps(void)
{
	CHECK_STR(maps(NULL, TSR_LOGIC_COMPOSE, "5 -> 3", "4 -> 3", "5 -> 4", NULL, 0),
		"  loops a:3 b:5 c:4\n  lhs  [a, b]\n  rhs1 [a, c]\n  rhs2 [c, b]\n");
	CHECK_STR(maps(NULL, TSR_LOGIC_TRANSPOSE, "7 | 2 -> 3", "7 | 3 -> 2", NULL, NULL, 0),
		"  loops a:7 b:3 c:2\n  lhs  [a, b, c]\n  rhs1 [a, c, b]\n");
	/* broadcast in the middle: the operand's marker says where rank grows */
	CHECK_STR(maps(NULL, TSR_LOGIC_POINTWISE, "4 2 5", "4 ^ 5", "1* 2 1*", NULL, 0),
		"  loops a:4 b:2 c:5\n  lhs  [a, b, c]\n  rhs1 [a, c]\n  rhs2 [0, b, 0]\n");
	CHECK_STR(maps(NULL, TSR_LOGIC_POINTWISE, "4 2 5", "5", "1*", NULL, 0),
		"  loops a:4 b:2 c:5\n  lhs  [a, b, c]\n  rhs1 [c]\n  rhs2 [0]\n");
	/* a composition's summed axis against a claim-free unit */
	CHECK_STR(maps(NULL, TSR_LOGIC_COMPOSE, "3", "4 -> 3", "1*", NULL, 0), "  loops a:3 b:4\n  lhs  [a]\n  rhs1 [a, b]\n  rhs2 [0]\n");
	CHECK_STR(maps("ii => i", TSR_LOGIC_SPEC, "3", "3 3", NULL, NULL, 0), "  loops i:3\n  lhs  [i]\n  rhs1 [i, i]\n");
	CHECK_STR(maps("i => ii", TSR_LOGIC_SPEC, "3 3", "3", NULL, NULL, 0), "  loops i:3\n  lhs  [i, i]\n  rhs1 [i]\n");
	CHECK_STR(maps("2i => i", TSR_LOGIC_SPEC, "3", "4 3", NULL, NULL, 0), "  loops i:3\n  lhs  [i]\n  rhs1 [2, i]\n");
	CHECK_STR(maps("...j => j...", TSR_LOGIC_SPEC, "3 5 6", "5 6 3", NULL, NULL, 0),
		"  loops j:3 b:5 c:6\n  lhs  [j, b, c]\n  rhs1 [b, c, j]\n");
	CHECK_STR(maps("2*o<+3*k+1; k => o", TSR_LOGIC_SPEC, "4", "11", "2", NULL, 0),
		"  loops o:4 k:2\n  lhs  [o]\n  rhs1 [2*o + 3*k + 1]\n  rhs2 [k]\n");
	CHECK_STR(maps("2*o=+3*k; k => o", TSR_LOGIC_SPEC, "4", "8", "3", NULL, 0),
		"  loops o:4 k:3\n  lhs  [o]\n  rhs1 [2*o + 3*k - 3 guarded]\n  rhs2 [k]\n");
	CHECK_STR(maps("2*o<+w => o", TSR_LOGIC_SPEC, "4", "8", NULL, "w", 2), "  loops o:4 w:2\n  lhs  [o]\n  rhs1 [2*o + w]\n");
	CHECK_STR(maps("o=+k; k => o", TSR_LOGIC_SPEC, "4", "4", "1", NULL, 0), "  loops o:4\n  lhs  [o]\n  rhs1 [o]\n  rhs2 [0]\n");
	CHECK_STR(maps("5*@i+j, c => j, c", TSR_LOGIC_SPEC, "5 2", "30 2", NULL, NULL, 0),
		"  loops j:5 c:2\n  lhs  [j, c]\n  rhs1 [j + 5*@i checked, c]\n");
	CHECK_STR(maps("a; b => a^b", TSR_LOGIC_SPEC, "5", "2", "3", NULL, 0),
		"  loops a:2\n  lhs  [a]\n  rhs1 [a]\n  rhs2 not live\n  loops b:3\n  lhs  [b + 2]\n  rhs1 not live\n  rhs2 [b]\n");
	CHECK_STR(maps("1^h^1 => h", TSR_LOGIC_SPEC, "3", "5", NULL, NULL, 0),
		"  loops\n  lhs  not live\n  rhs1 [0]\n  loops h:3\n  lhs  [h]\n  rhs1 [h + 1]\n  loops\n  lhs  not live\n  rhs1 [4]\n");
	CHECK_STR(maps("a, b, c => b, (c, a)", TSR_LOGIC_SPEC, "3 8", "2 3 4", NULL, NULL, 0),
		"  loops b:3 c:4 a:2\n  lhs  [b, 2*c + a]\n  rhs1 [a, b, c]\n");
	CHECK_STR(maps("..o.., c => (..o..), c", TSR_LOGIC_SPEC, "6 5", "3 2 5", NULL, NULL, 0),
		"  loops a:3 b:2 c:5\n  lhs  [2*a + b, c]\n  rhs1 [a, b, c]\n");
	CHECK_STR(maps("(ab) => b", TSR_LOGIC_SPEC, "2", "6", NULL, "a", 3), "  loops b:2 a:3\n  lhs  [b]\n  rhs1 [2*a + b]\n");
	CHECK_STR(maps("a => a^a", TSR_LOGIC_SPEC, "4", "2", NULL, NULL, 0),
		"  loops a:2\n  lhs  [a]\n  rhs1 [a]\n  loops a:2\n  lhs  [a + 2]\n  rhs1 [a]\n");
}

/* ---- facts --------------------------------------------------------------------------------------------------------- */

typedef struct facts { bool injective, surjective; uint64_t omitted; } facts;

static facts facts_of(const char *spec, const char *result, const char *operand, const char *label, int64_t size)
{
	kit k = kit_new();
	tsr_tensor *slots[2] = {kit_tensor(&k, TSR_TENSOR_OP, "y", result), kit_tensor(&k, TSR_TENSOR_PARAM, "a", operand)};
	tsr_record_id r = kit_record(&k, TSR_LOGIC_SPEC, spec, 2, slots);
	if (label)
		kit_label(&k, r, label, size);
	tsr_proj *p = tsr_proj_derive(k.g, r);
	facts f = {true, tsr_proj_surjective(k.g, p, 0), 0};
	for (uint32_t i = 0; i < p->npieces; i++) {
		f.injective &= tsr_map_injective(&p->pieces[i], &p->pieces[i].maps[0]);
		f.omitted |= tsr_map_omitted(&p->pieces[i], &p->pieces[i].maps[0]);
	}
	tsr_compiler_free(k.tc);
	return f;
}

static void test_facts(void)
{
	static const struct { const char *spec, *result, *operand, *label; int64_t size; facts want; } cases[] = {
		{"ij => ji", "3 2", "2 3", NULL, 0, {true, true, 0}},
		{"ij => i", "2", "2 3", NULL, 0, {false, true, 2}},
		{"i => ii", "3 3", "3", NULL, 0, {true, false, 0}},
		{"i => i2", "3 4", "3", NULL, 0, {true, false, 0}},
		{"i => 2*i", "6", "3", NULL, 0, {true, false, 0}},
		{"i, j => 2*i<+j", "6", "3 2", NULL, 0, {true, true, 0}},
		{"i, j => 2*i<+j", "7", "3 3", NULL, 0, {false, true, 0}},
		{"i, j => 3*i<+j", "8", "3 2", NULL, 0, {true, false, 0}},
		{"i, j => 2*i=+j", "6", "3 2", NULL, 0, {true, false, 0}},
		{"i => 1^i", "4", "3", NULL, 0, {true, true, 0}},
		{"i, j => i<+j, j", "5 3", "3 3", NULL, 0, {true, false, 0}},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		facts f = facts_of(cases[i].spec, cases[i].result, cases[i].operand, cases[i].label, cases[i].size);
		bool good = f.injective == cases[i].want.injective && f.surjective == cases[i].want.surjective && f.omitted == cases[i].want.omitted;
		if (!CHECK(good))
			printf("    %s: injective %d surjective %d omitted %llx\n", cases[i].spec, f.injective, f.surjective, (unsigned long long)f.omitted);
	}
}

/* Facts against counting: a map over two loops and one or two axes. */
static void test_facts_by_counting(void)
{
	unsigned wrong = 0, right_yes = 0;
	for (int n = 0; n < 4 * 4 * 4 * 3 * 3; n++) {
		int64_t c1 = n % 4, c2 = n / 4 % 4, c3 = n / 16 % 4, e1 = 1 + n / 64 % 3, e2 = 1 + n / 192 % 3;
		tsr_loop_axis loops[2] = {{tsr_size_const(e1), NULL}, {tsr_size_const(e2), NULL}};
		tsr_index_term t1[2] = {{c1, {TSR_SYM_LOOP, 0}}, {c2, {TSR_SYM_LOOP, 1}}}, t2[1] = {{c3, {TSR_SYM_LOOP, 0}}};
		tsr_index axes[2] = {{.n = 2, .terms = t1}, {.n = 1, .terms = t2}};
		tsr_map_axes m = {2, axes};
		tsr_piece p = {2, loops, &m, NULL};
		int injective = 1;
		for (int64_t a = 0; a < e1 * e2; a++)
			for (int64_t b = 0; b < a; b++) {
				bool alike = c1 * (a / e2) + c2 * (a % e2) == c1 * (b / e2) + c2 * (b % e2) && c3 * (a / e2) == c3 * (b / e2);
				injective &= !alike;
			}
		bool claimed = tsr_map_injective(&p, &m);
		wrong += claimed && !injective;
		right_yes += claimed && injective;
	}
	CHECK_INT(wrong, 0);
	CHECK(right_yes > 200);
}

int main(void)
{
	test_maps();
	test_facts();
	test_facts_by_counting();
	return check_end("proj");
}
