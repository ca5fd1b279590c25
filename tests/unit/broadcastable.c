/* The `Broadcastable` trait of MLIR, under this language's reading of it: every cell of its two tables, the growth of ranks, its
 * 13 examples, and a comparison with the trait itself over all small shapes and all small run-time sizes.
 *
 * A type is written as there: "2x?x1", "" for no axes, "*" for unranked. It is read as
 *     static 1        the claim-free unit
 *     static n > 1    an atom
 *     ?               a size of an exported signature, each ? one of its own: what it must be is tested on entry
 *     *               a row variable
 * A row written without an ellipsis has an empty leading flank: so ranks grow on the left, as there.
 *
 * Where this language deviates, by decision:
 *     1 a ? that is 1 when the program runs does not stretch: the program stops, where the trait broadcasts
 *     2 where the trait says undefined behaviour, the program stops with a message
 *     3 a result's annotation is verified by closing the result without it and comparing flat, sizes with sizes; a static size
 *       against a ? is a check when it runs. The trait's table has that as undefined behaviour, its third incorrect example as
 *       an error: the table is followed
 *     4 unranked operands are row variables: with no ranked operand the result is one too, which the annotation then binds
 *
 * `tests/symbolic/check.py` has the programs that stop. */
#include "shape_text.h"

#define MOST_AXES 4
#define ANY (-1)                        /* ? */

typedef struct type { bool unranked; uint32_t n; int axis[MOST_AXES]; } type;

static type type_of(const char *text)
{
	type t = {.unranked = *text == '*'};
	while (*text && !t.unranked) {
		t.axis[t.n++] = *text == '?' ? ANY : atoi(text);
		text += strcspn(text, "x");
		text += *text == 'x';
	}
	return t;
}

/* ---- this language ----------------------------------------------------------------------------------------------- */

typedef struct answer {
	tsr_compiler *tc;
	tsr_store *s;
	uint32_t symbols;
	bool refused;                        /* while compiling */
	tsr_solved_row row;                  /* of the result */
} answer;

static tsr_dim dim_of(answer *a, int axis, bool exported)
{
	if (axis == ANY) {
		const char *name = tsr_format(a->tc->arena, "s%u", a->symbols++);
		return tsr_dim_symbol(a->s, tsr_store_symbol(a->s, tsr_intern(a->tc->names, name), TSR_NOWHERE, exported), NULL);
	}
	return axis == 1 ? tsr_dim_unit() : tsr_dim_atom(axis, NULL);
}

static tsr_row row_of(answer *a, const type *t, bool exported)
{
	tsr_dim axes[MOST_AXES];
	for (uint32_t i = 0; i < t->n; i++)
		axes[i] = dim_of(a, t->axis[i], exported);
	return t->unranked ? tsr_row_fresh(a->s) : tsr_row_closed(a->s, t->n, axes);
}

static tsr_shape output(answer *a, tsr_row row)
{
	tsr_shape shape;
	for (int k = 0; k < TSR_KINDS; k++)
		shape.row[k] = tsr_row_closed(a->s, 0, NULL);
	shape.row[TSR_OUTPUT] = row;
	return shape;
}

/* The pointwise operation over operands of these types; `bound` is stated of the result where it is not NULL. */
static answer infer(uint32_t n, const type *types, bool exported, const type *bound)
{
	answer a = {.tc = tsr_compiler_new()};
	a.s = tsr_store_new(a.tc);
	tsr_shape operands[4], result = output(&a, tsr_row_fresh(a.s));
	tsr_why why = {.what = "`op`"};
	for (uint32_t i = 0; i < n; i++) {
		operands[i] = output(&a, row_of(&a, &types[i], exported));
		if (!types[i].unranked)
			tsr_store_leaf(a.s, &operands[i], TSR_LEAF_PLAIN, NULL, TSR_NOWHERE);
	}
	tsr_rule rule = {.logic = TSR_LOGIC_POINTWISE, .noperands = n, .why = why};
	tsr_emit_rule(a.s, &rule, &result, operands);
	if (bound)
		tsr_emit_row_equal(a.s, result.row[TSR_OUTPUT], row_of(&a, bound, exported), why);
	tsr_store_close(a.s);
	tsr_store_check(a.s);
	tsr_solved solved;
	a.refused = a.tc->nerrors || !tsr_store_solved(a.s, &result, &solved);
	if (!a.refused)
		a.row = solved.row[TSR_OUTPUT];
	return a;
}

/* The annotation of a result: same rank, and each axis as long; a ? on either side leaves that to the run. */
static void verify(answer *a, uint32_t n, const type *types, const type *annotation)
{
	bool ranked = false;
	for (uint32_t i = 0; i < n; i++)
		ranked |= !types[i].unranked;
	if (annotation->unranked || a->refused)
		return;
	if (!ranked) {
		tsr_compiler_free(a->tc);
		*a = infer(n, types, true, annotation);
		return;
	}
	a->refused = a->row.n != annotation->n;
	for (uint32_t i = 0; i < annotation->n && !a->refused; i++) {
		tsr_size size = tsr_size_const(annotation->axis[i]), have = a->row.axes[i].size;
		tsr_dim held = tsr_size_is_const(have) ? tsr_dim_atom(have.k, NULL) : tsr_dim_symbol(a->s, have.terms[0].symbol, NULL);
		tsr_row axis = tsr_row_closed(a->s, 1, &held);
		if (annotation->axis[i] == ANY)
			continue;
		tsr_emit_total(a->s, 1, &axis, size, (tsr_why){.what = "the annotation"});
		tsr_store_close(a->s);
		a->refused = a->tc->nerrors > 0;
	}
}

/* "error", or the result's type as the trait writes it, and "; checked" where the run decides. */
static const char *verdict(answer *a, char text[64])
{
	if (a->refused)
		return "error";
	int at = 0;
	text[0] = 0;
	for (uint32_t i = 0; i < a->row.n; i++) {
		tsr_size size = tsr_store_size(a->s, a->row.axes[i].size);
		at += tsr_size_is_const(size) ? sprintf(text + at, "%s%lld", i ? "x" : "", (long long)size.k) : sprintf(text + at, "%s?", i ? "x" : "");
	}
	if (tsr_store_nconditions(a->s))
		strcpy(text + at, "; checked");
	return text;
}

/* ---- the tables -------------------------------------------------------------------------------------------------- */

/* Up to three operands; what the trait says, and what this language does. "?" in `ours` stands for a size that the run tells; where it
 * is also checked against a static one, either is it. */
typedef struct row { const char *name, *operands[3], *annotation, *trait, *ours; } row;

static const row inference[] = {
	{"? with ?", {"?", "?"}, NULL, "?", "?; checked"},
	{"? with 1", {"?", "1"}, NULL, "?", "?"},
	{"1 with ?", {"1", "?"}, NULL, "?", "?"},
	{"? with >1", {"?", "4"}, NULL, "4", "4; checked"},
	{">1 with ?", {"4", "?"}, NULL, "4", "4; checked"},
	{"1 with 1", {"1", "1"}, NULL, "1", "1"},
	{"1 with >1", {"1", "4"}, NULL, "4", "4"},
	{">1 with 1", {"4", "1"}, NULL, "4", "4"},
	{">1 with the same", {"4", "4"}, NULL, "4", "4"},
	{">1 with another", {"3", "4"}, NULL, "error", "error"},
};

static const row growth[] = {
	{"no axes and some", {"", "2x3"}, NULL, "2x3", "2x3"},
	{"no axes and none", {"", ""}, NULL, "", ""},
	{"one axis more", {"3", "2x3"}, NULL, "2x3", "2x3"},
	{"two axes more", {"4", "2x3x4"}, NULL, "2x3x4", "2x3x4"},
	{"on the left, not on the right", {"2", "2x3"}, NULL, "error", "error"},
	{"and stretching", {"3x1", "2x1x4"}, NULL, "2x3x4", "2x3x4"},
	{"a static 1 that stays", {"1", "1x1"}, NULL, "1x1", "1x1"},
	{"a ? over what grew", {"4", "?x1"}, NULL, "?x4", "?x4"},
	{"a ? under what is there", {"?", "2x3"}, NULL, "2x3", "2x3; checked"},
	{"three operands", {"4", "3x1", "2x1x1"}, NULL, "2x3x4", "2x3x4"},
	{"three operands, the last disagrees", {"4", "3x1", "2x1x5"}, NULL, "error", "error"},
	{"an unranked one says nothing", {"*", "2x3"}, NULL, "2x3", "2x3"},
	{"an unranked one between", {"3", "*", "2x3"}, NULL, "2x3", "2x3"},
	{"one operand", {"2x?"}, NULL, "2x?", "2x?"},
};

static const row verification[] = {
	{"? annotated ?", {"?"}, "?", "?", "?"},
	{"? annotated >1", {"?"}, "4", "undefined behaviour unless equal", "4; checked"},
	{"? annotated 1", {"?"}, "1", "undefined behaviour unless equal", "1; checked"},
	{"1 annotated ?", {"1"}, "?", "ok", "1"},
	{">1 annotated ?", {"4"}, "?", "ok", "4"},
	{"1 annotated 1", {"1"}, "1", "ok", "1"},
	{">1 annotated the same", {"4"}, "4", "ok", "4"},
	{">1 annotated another", {"4"}, "3", "error", "error"},
	{"1 annotated >1", {"1"}, "4", "error", "error"},
	{">1 annotated 1", {"4"}, "1", "error", "error"},
	{"a rank too many", {"4"}, "1x4", "error", "error"},
	{"a rank too few", {"1x4"}, "4", "error", "error"},
	{"a ? of a higher rank", {"?"}, "?x?", "error", "error"},
	{"an unranked result", {"2x?"}, "*", "ok", "2x?"},
	{"an unranked operand beside a ranked one", {"*", "4"}, "3", "error", "error"},
};

static const row examples[] = {
	{"correct 1: exact match of static sizes", {"1x2", "1x2"}, "1x2", "ok", "1x2"},
	{"correct 2: dynamic sizes match", {"?", "?"}, "?", "ok", "?; checked"},
	{"correct 3: 1 is broadcast to 4", {"1", "4"}, "4", "ok", "4"},
	{"correct 4: 4 where ? is annotated", {"4"}, "?", "ok", "4"},
	{"correct 5: ranks grow, then 1 is broadcast", {"4", "2x3x4"}, "2x3x4", "ok", "2x3x4"},
	{"correct 6: element types are no matter of shapes", {"2", "2"}, "2", "ok", "2"},
	{"correct 7: an unranked result", {"2"}, "*", "ok", "2"},
	{"correct 8: no ranked operand", {"*", "*"}, "2", "ok", "2"},
	{"incorrect 1: static and not equal", {"3", "2"}, "?", "error", "error"},
	{"incorrect 2: ranks differ", {"3", "3"}, "1x3", "error", "error"},
	{"incorrect 3: ? where 4 is annotated", {"?", "?"}, "4", "error, against its table", "4; checked"},
	{"incorrect 4: 2 where 4 is annotated", {"2", "2"}, "4", "error", "error"},
	{"incorrect 5: results are not broadcast", {"1", "1"}, "4", "error", "error"},
};

/* Whether `got` is `want`; where the run checks, a ? may stand for the static size that it is checked against. */
static bool agrees(const char *got, const char *want)
{
	bool checked = strstr(want, "checked") != NULL;
	while (*got && *want) {
		if (*got != *want && !(checked && *got == '?' && isdigit((unsigned char)*want)))
			return false;
		got++;
		want++;
	}
	return *got == *want;
}

/* In every order of the operands. */
static void check_row(const row *r)
{
	static const int orders[6][3] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	type given[3], types[3], annotation;
	uint32_t n = 0;
	while (n < 3 && r->operands[n]) {
		given[n] = type_of(r->operands[n]);
		n++;
	}
	if (r->annotation)
		annotation = type_of(r->annotation);
	for (int o = 0; o < (n == 1 ? 1 : n == 2 ? 2 : 6); o++) {
		char text[64];
		for (uint32_t i = 0; i < n; i++)
			types[i] = given[orders[o][i]];
		answer a = infer(n, types, true, NULL);
		if (r->annotation)
			verify(&a, n, types, &annotation);
		if (!check_that(agrees(verdict(&a, text), r->ours), __FILE__, __LINE__, r->name))
			printf("  %s, not %s (order %d)\n", verdict(&a, text), r->ours, o);
		tsr_compiler_free(a.tc);
	}
}

/* ---- the trait itself, with sizes known ------------------------------------------------------------------------------ */

typedef enum { FITS, UNDEFINED, STRETCHES_UNKNOWN } fate;   /* the last: a ? that is 1 is broadcast, deviation 1 */
typedef struct known { uint32_t n; int type[MOST_AXES], size[MOST_AXES]; } known;

static int axis_at(const int *axes, uint32_t n, uint32_t rank, uint32_t i) { return i < rank - n ? 1 : axes[i - (rank - n)]; }

/* One step of the trait's inference, on types and, where those agree, on sizes. False where the types do not. */
static bool trait_step(known *r, const known *x, fate *f)
{
	known old = *r;
	r->n = old.n > x->n ? old.n : x->n;
	for (uint32_t i = 0; i < r->n; i++) {
		int t0 = axis_at(old.type, old.n, r->n, i), t1 = axis_at(x->type, x->n, r->n, i);
		int s0 = axis_at(old.size, old.n, r->n, i), s1 = axis_at(x->size, x->n, r->n, i);
		if (t0 > 1 && t1 > 1 && t0 != t1)
			return false;
		r->type[i] = t0 > 1 || (t0 == ANY && t1 <= 1) ? t0 : t1;
		r->size[i] = s0 == 1 ? s1 : s0;
		if (s0 != s1 && s0 != 1 && s1 != 1)
			*f = UNDEFINED;
	}
	return true;
}

/* The whole of it; sizes[] are those of the ?, in order. */
static bool trait(uint32_t n, const type *types, const int *sizes, known *result, fate *f)
{
	known each[3] = {0};
	for (uint32_t i = 0, s = 0; i < n; i++) {
		each[i].n = types[i].n;
		for (uint32_t k = 0; k < types[i].n; k++) {
			each[i].type[k] = types[i].axis[k];
			each[i].size[k] = types[i].axis[k] == ANY ? sizes[s++] : types[i].axis[k];
		}
	}
	*f = FITS;
	*result = each[0];
	for (uint32_t i = 1; i < n; i++)
		if (!trait_step(result, &each[i], f))
			return false;
	for (uint32_t i = 0; i < n && *f == FITS; i++)
		for (uint32_t k = 0; k < each[i].n; k++)
			if (each[i].type[k] == ANY && each[i].size[k] == 1 && result->size[result->n - each[i].n + k] != 1)
				*f = STRETCHES_UNKNOWN;
	return true;
}

static int64_t value(tsr_size x, const int *sizes)
{
	int64_t v = x.k;
	for (uint32_t i = 0; i < x.nterms; i++)
		v += x.terms[i].coef * sizes[x.terms[i].symbol];
	return v;
}

/* The compiled program, run with these sizes: it stops, or its result has the trait's shape. */
static bool runs_alike(answer *a, const int *sizes, const known *want, fate f)
{
	bool stops = false;
	for (uint32_t i = 0; i < tsr_store_nconditions(a->s); i++) {
		const tsr_condition *c = tsr_store_condition(a->s, i);
		int64_t left = value(c->left, sizes), right = value(c->right, sizes);
		stops |= c->kind == TSR_CONDITION_EQUAL ? left != right : left < right;
	}
	if (stops || f != FITS)
		return stops && f != FITS;
	bool same = a->row.n == want->n;
	for (uint32_t i = 0; i < want->n && same; i++)
		same = value(a->row.axes[i].size, sizes) == want->size[i];
	return same;
}

/* Every assignment of run-time sizes to the ?; whether the first, of all ones, compiles says whether any does. */
static void compare(uint32_t n, const type *types, unsigned fates[3])
{
	answer a = infer(n, types, true, NULL);
	int sizes[3 * MOST_AXES];
	uint32_t unknown = a.symbols, total = 1;
	for (uint32_t i = 0; i < unknown; i++)
		total *= 3;
	bool alike = true;
	for (uint32_t code = 0; code < total && alike; code++) {
		known want;
		fate f;
		for (uint32_t i = 0, rest = code; i < unknown; i++, rest /= 3)
			sizes[i] = 1 + (int)(rest % 3);
		bool typed = trait(n, types, sizes, &want, &f);
		alike = typed == !a.refused && (!typed || runs_alike(&a, sizes, &want, f));
		fates[f] += typed;
	}
	if (!check_that(alike, __FILE__, __LINE__, "as the trait, but for the deviations")) {
		char text[64];
		printf("  %s for", verdict(&a, text));
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k <= types[i].n; k++)
				k < types[i].n ? printf(" %d", types[i].axis[k]) : printf(" ;");
		printf("\n");
	}
	tsr_compiler_free(a.tc);
}

/* All types of up to two axes over ?, 1, 2, 3. */
static uint32_t small_types(type *all, uint32_t most)
{
	static const int axes[] = {ANY, 1, 2, 3};
	uint32_t n = 0;
	all[n++] = (type){.n = 0};
	for (int i = 0; i < 4; i++)
		all[n++] = (type){.n = 1, .axis = {axes[i]}};
	for (int i = 0; i < 16 && most > 1; i++)
		all[n++] = (type){.n = 2, .axis = {axes[i / 4], axes[i % 4]}};
	return n;
}

static void all_small(void)
{
	type all[32];
	unsigned fates[3] = {0};
	uint32_t n = small_types(all, 2);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++)
			compare(2, (type[]){all[i], all[j]}, fates);
	n = small_types(all, 1);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++)
			for (uint32_t k = 0; k < n; k++)
				compare(3, (type[]){all[i], all[j], all[k]}, fates);
	CHECK(fates[FITS] > 100 && fates[UNDEFINED] > 100 && fates[STRETCHES_UNKNOWN] > 100);
}

/* A ? of a file is the program's own: what it meets solves it, and the file's header is held against that when it runs. */
static void solved_symbols(void)
{
	static const struct { const char *operands[2], *ours; } rows[] = {
		{{"?", "?"}, "?"}, {{"?", "4"}, "4"}, {{"4", "?"}, "4"}, {{"?", "1"}, "?"}, {{"2x?", "?x3"}, "2x3"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[64];
		type types[2] = {type_of(rows[i].operands[0]), type_of(rows[i].operands[1])};
		answer a = infer(2, types, false, NULL);
		CHECK_STR(verdict(&a, text), rows[i].ours);
		tsr_compiler_free(a.tc);
	}
}

int main(void)
{
	for (size_t i = 0; i < sizeof inference / sizeof *inference; i++)
		check_row(&inference[i]);
	for (size_t i = 0; i < sizeof growth / sizeof *growth; i++)
		check_row(&growth[i]);
	for (size_t i = 0; i < sizeof verification / sizeof *verification; i++)
		check_row(&verification[i]);
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
		check_row(&examples[i]);
	all_small();
	solved_symbols();
	return check_end("broadcastable");
}
